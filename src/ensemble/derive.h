/** Quantities of one trajectory, made of the samples of one of its columns. */
#ifndef SALTUS_ENSEMBLE_DERIVE_H
#define SALTUS_ENSEMBLE_DERIVE_H

#include "saltus/saltus.h"

#include "core/status.h"

typedef enum saltus_quantity {
    SALTUS_DERIVE_MEAN, /**< over the samples */
    SALTUS_DERIVE_MIN,
    SALTUS_DERIVE_MAX,
    SALTUS_DERIVE_TMIN,      /**< time of the first sample that is least */
    SALTUS_DERIVE_TMAX,      /**< greatest */
    SALTUS_DERIVE_FINAL,     /**< the last sample */
    SALTUS_DERIVE_AMPLITUDE, /**< mean height of a peak above the troughs beside it; 0: no peak */
    SALTUS_DERIVE_PERIOD,    /**< mean time from peak to peak; NaN with fewer than two */
    SALTUS_DERIVE_PASSAGE,   /**< time of the first sample at the threshold or above; NaN: none */
    SALTUS_DERIVE_ABOVE,     /**< share of the samples at the threshold or above */
} saltus_quantity;

typedef struct saltus_derived {
    saltus_quantity quantity;
    int column; /**< of the counts, or of the observables: -1 - column */
    double threshold;
    char *name; /**< as it was asked for */
} saltus_derived;

/**
 * Read "mean:X,period:Y,passage:X:50": quantity, name of a recorded column, threshold.
 *
 * @param[out] out to be freed with saltus_derived_free
 * @retval SALTUS_E_INVALID unknown quantity or column, or a threshold that is missing or too many
 */
SALTUS_MUST_CHECK saltus_status saltus_derived_parse(const char *text, const saltus_plan *plan,
                                                     saltus_derived **out, int *n,
                                                     saltus_error *err);
void saltus_derived_free(saltus_derived *derived, int n);

/**
 * @param x      [n] samples, stride apart
 * @param times  [n]
 * @param first  the first sample that counts (a burn-in lies before it), < n
 */
double saltus_derive_counts(const saltus_derived *d, const int64_t *x, int64_t stride,
                            const double *times, int64_t first, int64_t n, double *scratch);
double saltus_derive_reals(const saltus_derived *d, const double *x, int64_t stride,
                           const double *times, int64_t first, int64_t n, double *scratch);

#endif
