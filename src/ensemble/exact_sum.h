/**
 * Exact sums of real numbers and of their squares, for `width` columns at once.
 *
 * A double is a whole number of 53 bits times a power of 2, so a sum of doubles is a whole number
 * of 2^-1074, and one of squares a whole number of 2^-2148. They are kept as such, in words of 64
 * bits (after Neal, arXiv:1505.05571): nothing is rounded, so neither the order in which values
 * are added nor how they were cut into parts that are merged changes a bit. Mean and variance are
 * rounded once, when they are asked for.
 *
 * All columns keep the same window of words, which grows to hold what is added:
 *
 *     bit i of word w of a sum      is worth 2^(64 w + i - 1074)      words 0 … 33
 *     bit i of word w of squares    is worth 2^(64 w + i - 2148)      words 0 … 66
 *
 * A value whose lowest bit lies in word w needs the words w … w + 2 of sums and 2 w … 2 w + 4 of
 * squares, where the uppermost 63 bits are room for as many values as an int64_t can count.
 * Example: 5.0 is 5 · 2^50 times 2^-50, its lowest bit is bit 1024 = 64 · 16, and its words are 16
 * … 18 and 32 … 36. A column takes 64 bytes while all values are of one word, 40 more for each
 * further one.
 */
#ifndef SALTUS_ENSEMBLE_EXACT_SUM_H
#define SALTUS_ENSEMBLE_EXACT_SUM_H

#include "core/status.h"
#include "kernel/base/real_sums.h"

#include <stddef.h>
#include <stdint.h>

enum { SALTUS_EXACT_BYTES = 65 /**< that a column takes in memory, at least */ };

typedef struct saltus_exact_sums {
    size_t width;
    int first;        /**< first word of the sums' window */
    int n_words;      /**< words in which lowest bits may lie; 0: nothing but zeros was added */
    uint64_t *words;  /**< [width][n_words + 2 of the sum, 2 n_words + 3 of squares], lowest first,
                           in two's complement */
    uint8_t *special; /**< [width] SALTUS_HAD_… */
} saltus_exact_sums;

/** Start with sums of nothing. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_exact_sums_init(saltus_exact_sums *s, size_t width,
                                                       saltus_error *err);
void saltus_exact_sums_free(saltus_exact_sums *s);

/** Widen the window so that these n values of any columns can be added. SALTUS_E_NO_MEMORY; the
 * sums are as they were in any case. */
SALTUS_MUST_CHECK saltus_status saltus_exact_sums_fit(saltus_exact_sums *s, const double *x,
                                                      size_t n, saltus_error *err);
/** Add x[sample][width], which saltus_exact_sums_fit was given. Fewer than 2^63 samples may come
 * together. */
void saltus_exact_sums_add(saltus_exact_sums *s, const double *x, int64_t n_samples);

/** Widen the window so that all that `from` holds can be added. SALTUS_E_NO_MEMORY; the sums are as
 * they were in any case. */
SALTUS_MUST_CHECK saltus_status saltus_exact_sums_fit_sums(saltus_exact_sums *s,
                                                           const saltus_exact_sums *from,
                                                           saltus_error *err);
/** Add all that `from`, of the same width, holds. SALTUS_E_NO_MEMORY; s is as it was then. */
SALTUS_MUST_CHECK saltus_status saltus_exact_sums_merge(saltus_exact_sums *s,
                                                        const saltus_exact_sums *from,
                                                        saltus_error *err);

/** The sum of column q over n, correctly rounded (halves to even); n = 1 gives the sum. NaN when
 * n is 0, when there was a NaN, or both infinities; an infinity when there was that one. */
double saltus_exact_sums_mean(const saltus_exact_sums *s, size_t q, int64_t n);
/** (n Σx² - (Σx)²) / (n (n - 1)) of the n samples of column q, correctly rounded: nothing cancels.
 * 0 for one sample, NaN without samples or when one was not finite. */
double saltus_exact_sums_variance(const saltus_exact_sums *s, size_t q, int64_t n);

/**
 * Column q as numbers that do not depend on the window: `special`, the sum's words 0 … 33 and the
 * squares' words 0 … 66, all of two's complement, lowest word first. Equal sums have equal words.
 * In a file they are unsigned integers of 64 bits, little-endian.
 */
void saltus_exact_sums_store(const saltus_exact_sums *s, size_t q,
                             uint64_t words[SALTUS_EXACT_WORDS]);
/**
 * Add what was stored of every column: words[width][SALTUS_EXACT_WORDS]. Words that no numbers
 * have are refused where that can be seen.
 *
 * @retval SALTUS_E_INVALID   such words; s is as it was
 * @retval SALTUS_E_NO_MEMORY s is as it was
 */
SALTUS_MUST_CHECK saltus_status saltus_exact_sums_add_stored(saltus_exact_sums *s,
                                                             const uint64_t *words,
                                                             saltus_error *err);

#endif
