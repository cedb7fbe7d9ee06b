/** What this process may use of the machine, which in a container or a job is not all of it. Its
 * own limits are read once. */
#ifndef SALTUS_CORE_LIMITS_H
#define SALTUS_CORE_LIMITS_H

#include <stdbool.h>

/** Of a machine, or of the group of processes (cgroups, version 1 or 2) that this one is in. */
typedef struct saltus_limits {
    double memory; /**< bytes; infinity when there is no limit */
    double cores;  /**< processors' time per time, may be a fraction; infinity likewise */
} saltus_limits;

/**
 * The limits of this process's group and of all groups around it: `memory.max` and `cpu.max`, or of
 * version 1 `memory.limit_in_bytes` and `cpu.cfs_quota_us`. What cannot be read limits nothing.
 *
 * @param root  before the paths of /proc and of mount points: "" but in tests
 */
saltus_limits saltus_group_limits(const char *root);

/** Bytes that this process may have: the machine's memory, the limit of the address space or that
 * of its group, whichever is least; *is_limit: it is not the machine's. Infinity when unknown. */
double saltus_memory_most(bool *is_limit);

/** Threads that can compute at a time, at least 1: processors that this one may run on, no more
 * than its group's quota, rounded up. */
int saltus_cores(void);

#endif
