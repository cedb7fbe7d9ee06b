/**
 * Statistics of an ensemble at every (point, column), which are flattened to one index q below
 * `width`.
 *
 * Sums are exact, of counts as integers, of real values as ensemble/exact_sum.h says: the result
 * does not depend on the order in which blocks are added or merged.
 */
#ifndef SALTUS_ENSEMBLE_STATISTICS_H
#define SALTUS_ENSEMBLE_STATISTICS_H

#include "core/status.h"
#include "ensemble/exact_sum.h"
#include "kernel/base/sums.h"

/** Exact sums of counts. */
typedef struct saltus_statistics {
    int64_t n; /**< samples added */
    size_t width;
    __int128 *sum;             /**< [width] */
    unsigned __int128 *square; /**< [width] sums of squares */
    int64_t *min, *max;        /**< [width] meaningless while n is 0 */
} saltus_statistics;

/** What they take per column, and what those of real values take at least. */
enum { SALTUS_STATISTICS_BYTES = 48, SALTUS_REAL_STATISTICS_BYTES = SALTUS_EXACT_BYTES + 16 };

/** Start with no samples. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_statistics_init(saltus_statistics *s, size_t width,
                                                       saltus_error *err);
void saltus_statistics_free(saltus_statistics *s);

/** Add x[sample][width]. SALTUS_E_NUMERIC when a sum of squares passes 128 bits; s is then only
 * good for freeing. Vectorised while counts are below 2^31. */
SALTUS_MUST_CHECK saltus_status saltus_statistics_add(saltus_statistics *s, const int64_t *x,
                                                      int64_t n_samples, saltus_error *err);

/** Add n_samples counts of each column as their sums[width]. SALTUS_E_NUMERIC as above. */
SALTUS_MUST_CHECK saltus_status saltus_statistics_add_sums(saltus_statistics *s,
                                                           const saltus_sum *sums,
                                                           int64_t n_samples, saltus_error *err);

/** The bits of all counts together, of the largest magnitude if they are negative. */
uint64_t saltus_statistics_bits(const int64_t *x, size_t n);
/** Whether no sum can overflow when n_samples counts of at most these bits are added to each
 * column; false when it might. */
bool saltus_statistics_have_room(const saltus_statistics *s, uint64_t bits, int64_t n_samples);

/** Whether `from` can be merged into s. SALTUS_E_NUMERIC when a sum would pass 128 bits. */
SALTUS_MUST_CHECK saltus_status saltus_statistics_check(const saltus_statistics *s,
                                                        const saltus_statistics *from,
                                                        saltus_error *err);
/** Add the samples of `from`, of the same width, which saltus_statistics_check has accepted. */
void saltus_statistics_merge(saltus_statistics *s, const saltus_statistics *from);

/** Mean; NaN without samples. */
double saltus_statistics_mean(const saltus_statistics *s, size_t q);
/** Sample variance (n - 1), free of cancellation; 0 for one sample, NaN without samples. */
double saltus_statistics_variance(const saltus_statistics *s, size_t q);

/** Exact sums of real values, so that their order does not matter either. */
typedef struct saltus_real_statistics {
    int64_t n; /**< samples added */
    size_t width;
    saltus_exact_sums sums;
    double *min, *max; /**< [width] NaN values are passed over; 0 has no sign */
} saltus_real_statistics;

SALTUS_MUST_CHECK saltus_status saltus_real_statistics_init(saltus_real_statistics *s, size_t width,
                                                            saltus_error *err);
void saltus_real_statistics_free(saltus_real_statistics *s);
/** Make room for x[sample][width], before it is added. SALTUS_E_NO_MEMORY; nothing else changes. */
SALTUS_MUST_CHECK saltus_status saltus_real_statistics_fit(saltus_real_statistics *s,
                                                           const double *x, int64_t n_samples,
                                                           saltus_error *err);
/** Add x[sample][width], for which there is room. */
void saltus_real_statistics_add(saltus_real_statistics *s, const double *x, int64_t n_samples);
/** Add the samples of `from`, of the same width. SALTUS_E_NO_MEMORY; s is as it was then. */
SALTUS_MUST_CHECK saltus_status saltus_real_statistics_merge(saltus_real_statistics *s,
                                                             const saltus_real_statistics *from,
                                                             saltus_error *err);
/**
 * Add n_samples values of each column, as their sums[width][SALTUS_EXACT_WORDS] in the form that is
 * stored, least and most of each.
 *
 * @retval SALTUS_E_INVALID   no numbers have such sums; s is as it was
 * @retval SALTUS_E_NO_MEMORY s is as it was
 */
SALTUS_MUST_CHECK saltus_status saltus_real_statistics_add_sums(
    saltus_real_statistics *s, const uint64_t *sums, const double *least, const double *most,
    int64_t n_samples, saltus_error *err);
/** Mean, correctly rounded; NaN without samples. */
double saltus_real_statistics_mean(const saltus_real_statistics *s, size_t q);
/** Sample variance (n - 1), correctly rounded; 0 for one sample, NaN without samples. */
double saltus_real_statistics_variance(const saltus_real_statistics *s, size_t q);

#endif
