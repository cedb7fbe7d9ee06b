/** Runs of a model given as text, with all of their samples. */
#ifndef SALTUS_TESTS_SAMPLES_H
#define SALTUS_TESTS_SAMPLES_H

#include "check.h"

/** All samples of a run, [trajectory][point][column], counts first. */
typedef struct samples {
    double *x; /**< to be freed */
    int64_t n, n_points, n_columns;
    saltus_run_report report;
} samples;

/** Run n trajectories of a model in YAML on a device. */
saltus_status try_run(const char *text, const char *device, const saltus_plan_options *wanted,
                      const double *times, int64_t n_times, int64_t n, samples *s,
                      saltus_error *err);
/** The same of a model that is frozen. */
saltus_status try_run_model(saltus_model *m, const char *device, const saltus_plan_options *wanted,
                            const double *times, int64_t n_times, int64_t n, samples *s,
                            saltus_error *err);
/** The same of a text on the CPU, where nothing may fail. */
samples run(const char *text, const saltus_plan_options *wanted, const double *times,
            int64_t n_times, int64_t n);

/** The usual options, on two threads. */
saltus_plan_options options(const char *method, const char *columns);

/** The last sample of n trajectories, at time `until`, has the same bits as the only one and as the
 * last of equidistant ones, as many as each of four sizes says, the first of which is 1. */
void check_times_change_no_bit(const char *text, const saltus_plan_options *wanted, double until,
                               const int64_t sizes[4], int64_t n);

void check_near(double x, double expected, double within, const char *what);

#endif
