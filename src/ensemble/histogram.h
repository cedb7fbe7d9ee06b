/**
 * Histograms of counts at every (point, column).
 *
 * Without a range the data define the bins: width 2^k from 0, k as small as the largest value
 * allows with the given number of bins. Neighbours are merged when a value leaves the range, so
 * the result depends on the values alone and not on their order. With a range [low, high) the bins
 * are of equal width and values outside are counted apart.
 */
#ifndef SALTUS_ENSEMBLE_HISTOGRAM_H
#define SALTUS_ENSEMBLE_HISTOGRAM_H

#include "core/status.h"

enum { SALTUS_HISTOGRAM_BINS = 128 }; /* the default */

typedef struct saltus_histogram {
    int64_t n_points;
    int n_columns;
    int64_t n_bins;
    double *edges;           /**< [bin + 1] with a fixed range, else NULL */
    uint8_t *shift;          /**< [point][column] log2 of the bins' width */
    uint64_t *counts;        /**< [point][column][bin] */
    uint64_t *below, *above; /**< [point][column] outside a fixed range; else zeros */
} saltus_histogram;

/** n_bins 0 takes SALTUS_HISTOGRAM_BINS; a fixed range when high > low. SALTUS_E_INVALID,
 * SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_histogram_init(saltus_histogram *h, int64_t n_points,
                                                      int n_columns, int64_t n_bins, double low,
                                                      double high, saltus_error *err);
/** An empty histogram of the same shape as h. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_histogram_like(saltus_histogram *out,
                                                      const saltus_histogram *h, saltus_error *err);
void saltus_histogram_free(saltus_histogram *h);

/** Count x[sample][point][column]; counts are never negative. */
void saltus_histogram_add(saltus_histogram *h, const int64_t *x, int64_t n_samples);
/** Add what `from`, of the same shape and range, has counted. */
void saltus_histogram_merge(saltus_histogram *h, const saltus_histogram *from);

/**
 * One column with edges that are common to all its points: those of the widest bins, and without a
 * fixed range no further than the last bin that is occupied at any point.
 *
 * @param[out] edges  room for n_bins + 1
 * @param[out] counts room for n_points * n_bins; filled as [point][bin]
 * @return the number of bins
 */
int64_t saltus_histogram_column(const saltus_histogram *h, int column, double *edges,
                                uint64_t *counts);

#endif
