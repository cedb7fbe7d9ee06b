#include "ensemble/pilot.h"

typedef struct watch {
    double most; /* seconds */
    volatile int stop;
} watch;

static void look(void *user, const saltus_progress *progress)
{
    watch *w = user;
    if (progress->seconds >= w->most) {
        __atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
    }
}

static saltus_status forget(void *user, const saltus_block *block, void *prepared,
                            saltus_error *err)
{
    (void)user, (void)block, (void)prepared, (void)err;
    return SALTUS_OK;
}

/* Who is told of progress has a thread that watches the workers. */
saltus_status saltus_pilot(const saltus_plan *plan, const saltus_run_options *run, int n,
                           double until, double most, saltus_run_report *report)
{
    const saltus_sink sink = {.deliver = forget};
    watch w = {.most = most, .stop = !(most > 0.0)};
    saltus_run_options options = run ? *run : saltus_run_options_default();
    options.n_trajectories = n;
    options.n_times = 1;
    options.times = &until;
    options.stop = &w.stop;
    options.progress = look;
    options.progress_user = &w;
    options.warn = NULL;
    options.trace = NULL;
    options.ranks = NULL;
    return saltus_run(plan, &options, &sink, report, NULL);
}
