/** What figures need of a result file, reduced to a size that can be drawn. */
#ifndef SALTUS_PLOT_PLOT_DATA_H
#define SALTUS_PLOT_PLOT_DATA_H

#include "write/results.h"

/** Distribution of one species at some points. */
typedef struct saltus_distribution {
    int64_t n_bins, n_points;
    double *edges;    /**< [bin + 1] */
    uint64_t *counts; /**< [point][bin] */
} saltus_distribution;

/** Whether distributions can be had at all points, and at this one. */
bool saltus_has_distribution(const saltus_results *r);
bool saltus_has_distribution_at(const saltus_results *r, int64_t point);

/** Distributions of species[n] at points[n_points], in out[n]: those recorded, or made from the
 * samples. Free with saltus_distributions_free, also after a failure. */
SALTUS_MUST_CHECK saltus_status saltus_distributions(const saltus_results *r, const int *species,
                                                     int n, const int64_t *points, int64_t n_points,
                                                     saltus_distribution *out, saltus_error *err);
void saltus_distributions_free(saltus_distribution *d, int n);

/** All samples of the first n_runs runs of the given columns (species, then observables), as
 * (*out)[run][point][column]; to be freed with saltus_free. */
SALTUS_MUST_CHECK saltus_status saltus_sample_runs(const saltus_results *r, const int *columns,
                                                   int n, int64_t n_runs, double **out,
                                                   saltus_error *err);

/** Index of the sample nearest to a time; the last for NaN. */
int64_t saltus_nearest_point(const saltus_results *r, double time);

#endif
