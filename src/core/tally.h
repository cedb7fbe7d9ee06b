/** The counters of a report (SALTUS_COUNTERS in saltus_run.h) on their way there: of a trajectory,
 * then of a block, then of all that was delivered. */
#ifndef SALTUS_CORE_TALLY_H
#define SALTUS_CORE_TALLY_H

#include "saltus/saltus.h"

/** What was counted in some trajectories, one member for each counter. */
typedef struct saltus_tally {
#define SALTUS_MEMBER(name, which) int64_t name;
    SALTUS_COUNTERS(SALTUS_MEMBER)
#undef SALTUS_MEMBER
} saltus_tally;

/** The sum of two counters, or the largest number: leaps may fire more than 2^63 reactions. */
static inline int64_t saltus_count_sum(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

#define SALTUS_ADD(name, which) to->name = saltus_count_sum(to->name, from->name);

static inline void saltus_tally_add(saltus_tally *to, const saltus_tally *from)
{
    SALTUS_COUNTERS(SALTUS_ADD)
}

/** Add what was counted to a report. */
static inline void saltus_report_count(saltus_run_report *to, const saltus_tally *from)
{
    SALTUS_COUNTERS(SALTUS_ADD)
}

/** Add the report of a part of a sweep, but for the seconds, as parts may run side by side. */
static inline void saltus_report_add(saltus_run_report *to, const saltus_run_report *from)
{
    SALTUS_COUNTERS(SALTUS_ADD)
    to->trajectories += from->trajectories;
    to->kernel_seconds += from->kernel_seconds;
    to->lost_gpu = to->lost_gpu > 0 ? to->lost_gpu : from->lost_gpu;
}

#undef SALTUS_ADD

#endif
