/** A sink for tests: sums over the trajectories at every point, and a hash of all samples. */
#ifndef SALTUS_TESTS_MOMENTS_H
#define SALTUS_TESTS_MOMENTS_H

#include "effort.h"

#include "saltus/saltus.h"

/** Fail with the message in `err`. */
#define OK(call)                         \
    do {                                 \
        if ((call) != SALTUS_OK) {       \
            fail_msg("%s", err.message); \
        }                                \
    } while (0)

typedef struct moments {
    int64_t n_points, n_counts, n_observables; /* set by the first block */
    int64_t n;                                 /* trajectories */
    double *center;  /* NULL, or [point][column]: squares are taken about it */
    double *sum;     /* [point][column], counts first, then observables */
    double *squares; /* [point][column] */
    int64_t *last;   /* [trajectory][count] at the last point, grows; NULL unless keep_last */
    bool keep_last;
    saltus_run_report report; /* of run_plan */
    uint64_t hash;            /* of all samples in order, and of what they are split into */
} moments;

/** The sink; *m starts as zeros (but for center and keep_last) and is freed by moments_free. */
saltus_sink moments_sink(moments *m);
void moments_free(moments *m);

/** Plan and run in one go on `device`. */
saltus_status run_plan(saltus_model *model, const char *device, const saltus_plan_options *plan,
                       const saltus_run_options *options, moments *m, saltus_error *err);
/** The same with `layout` and `threads`. */
saltus_status run_model(saltus_model *model, const char *device, const char *layout, int threads,
                        const saltus_run_options *options, moments *m, saltus_error *err);

#endif
