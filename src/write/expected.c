#include "write/expected.h"

#include "core/memory.h"
#include "core/number.h"

#include <string.h>

static void copy_times(double *to, const double *from, int64_t n)
{
    if (n > 0) {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

saltus_status saltus_expected_init(saltus_expected *out, const char *name, const saltus_plan *plan,
                                   const saltus_run_options *run, bool is_sweep, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *out = (saltus_expected){.is_sweep = is_sweep,
                             .plan = plan->handle.number,
                             .seed = run->seed,
                             .first = run->first_trajectory,
                             .n = run->n_trajectories,
                             .n_done = run->n_done,
                             .n_times = run->n_times,
                             .n_frames = run->n_frames};
    (void)snprintf(out->name, sizeof out->name, "%s", name);
    out->times = saltus_calloc((size_t)run->n_times + (size_t)run->n_frames, sizeof *out->times);
    SALTUS_NEED(out->times);
    copy_times(out->times, run->times, run->n_times);
    copy_times(out->times + run->n_times, run->frame_times, run->n_frames);
done:
    return status;
}

void saltus_expected_free(saltus_expected *e)
{
    saltus_free(e->times);
    e->times = NULL;
}

static saltus_status check_times(const saltus_expected *e, const char *what, const double *mine,
                                 int64_t n_mine, const double *times, int64_t n, saltus_error *err)
{
    if (n_mine != n) {
        return saltus_error_set(
            err, SALTUS_E_INVALID, "%s was opened for a run of %lld %s%s, and this one has %lld",
            e->name, (long long)n_mine, what, saltus_plural(n_mine, "", "s"), (long long)n);
    }
    for (int64_t i = 0; i < n; ++i) {
        if (mine[i] != times[i]) {
            return saltus_error_set(
                err, SALTUS_E_INVALID,
                "%s was opened for a run whose %s %lld is %s, and this one's is %s", e->name, what,
                (long long)i, SALTUS_NUMBER(mine[i]), SALTUS_NUMBER(times[i]));
        }
    }
    return SALTUS_OK;
}

saltus_status saltus_expected_check(const saltus_expected *e, const saltus_plan *plan,
                                    const saltus_run_options *run, int64_t n_had, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!e->is_sweep && plan->handle.number != e->plan) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s was opened for a run of another plan", e->name);
    }
    if (run->seed != e->seed) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s was opened for a run of seed %llu, and this one has %llu",
                    e->name, (unsigned long long)e->seed, (unsigned long long)run->seed);
    }
    if (run->n_trajectories != e->n) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s was opened for %lld %s%s, and this run has %lld", e->name,
                    (long long)e->n, saltus_plural(e->n, "trajectory", "trajectories"),
                    e->is_sweep ? " at each point" : "", (long long)run->n_trajectories);
    }
    if (!e->is_sweep && run->first_trajectory != e->first) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "%s was opened for trajectories from number %lld on, and this run begins with "
                    "%lld",
                    e->name, (long long)e->first, (long long)run->first_trajectory);
    }
    SALTUS_TRY(check_times(e, "sample time", e->times, e->n_times, run->times, run->n_times, err));
    SALTUS_TRY(check_times(e, "frame", e->times + e->n_times, e->n_frames, run->frame_times,
                           run->n_frames, err));
    if (!e->is_sweep && run->n_done != e->n_done + n_had) {
        SALTUS_FAIL(
            SALTUS_E_INVALID, "%s has %lld %s already, and this run says that %lld are done",
            e->name, (long long)(e->n_done + n_had),
            saltus_plural(e->n_done + n_had, "trajectory", "trajectories"), (long long)run->n_done);
    }
done:
    return status;
}
