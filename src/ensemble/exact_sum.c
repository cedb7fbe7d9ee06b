#include "ensemble/exact_sum.h"

#include "core/memory.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef unsigned __int128 u128;

enum {
    LOWEST = -1074, /* the exponent of the last bit of the smallest double */
    SPECIAL = 0x7ff,
    HIGHEST = 2045 /* the place of the lowest bit of the largest double */
};

/* ------------------------------------------------------------------------------------------------
 * The window
 */

static int sum_words(const saltus_exact_sums *s)
{
    return s->n_words + 2;
}

static int square_words(const saltus_exact_sums *s)
{
    return 2 * s->n_words + 3;
}

/* Words of a column. */
static size_t stride(const saltus_exact_sums *s)
{
    return s->n_words ? (size_t)(sum_words(s) + square_words(s)) : 0;
}

saltus_status saltus_exact_sums_init(saltus_exact_sums *s, size_t width, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *s = (saltus_exact_sums){.width = width};
    s->special = saltus_calloc(width, sizeof *s->special);
    SALTUS_NEED(s->special);
done:
    return status;
}

void saltus_exact_sums_free(saltus_exact_sums *s)
{
    saltus_free(s->words);
    saltus_free(s->special);
    *s = (saltus_exact_sums){0};
}

/* All ones for a number below 0. */
static uint64_t sign_of(const uint64_t *words, int n)
{
    return words[n - 1] >> 63 ? ~UINT64_C(0) : 0;
}

/* Copy a number of n words to word `at` of a longer one of `n_to` words. */
static void extend(uint64_t *to, int n_to, int at, const uint64_t *from, int n)
{
    memset(to, 0, (size_t)at * sizeof *to);
    memcpy(to + at, from, (size_t)n * sizeof *to);
    memset(to + at + n, sign_of(from, n) ? 0xff : 0, (size_t)(n_to - at - n) * sizeof *to);
}

/* Widen the window to hold lowest bits in the words first … last, too. */
static saltus_status widen(saltus_exact_sums *s, int first, int last, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_exact_sums wide = *s;
    if (s->n_words > 0) {
        const int end = s->first + s->n_words - 1;
        first = first < s->first ? first : s->first;
        last = last > end ? last : end;
    }
    wide.first = first;
    wide.n_words = last - first + 1;
    if (wide.n_words == s->n_words) {
        return SALTUS_OK;
    }
    wide.words = saltus_calloc(s->width, stride(&wide) * sizeof *wide.words);
    SALTUS_NEED(wide.words);
    for (size_t q = 0; s->n_words > 0 && q < s->width; ++q) {
        uint64_t *to = wide.words + q * stride(&wide);
        const uint64_t *from = s->words + q * stride(s);
        extend(to, sum_words(&wide), s->first - first, from, sum_words(s));
        extend(to + sum_words(&wide), square_words(&wide), 2 * (s->first - first),
               from + sum_words(s), square_words(s));
    }
    saltus_free(s->words);
    *s = wide;
done:
    return status;
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The place of the lowest bit of a double with this exponent: subnormal ones are as the smallest
 * normal ones. */
static int place_of(uint64_t exponent)
{
    return (int)exponent - (exponent > 0);
}

saltus_status saltus_exact_sums_fit(saltus_exact_sums *s, const double *x, size_t n,
                                    saltus_error *err)
{
    const uint64_t infinity = (uint64_t)SPECIAL << 53;
    uint64_t most = 0, least = UINT64_MAX; /* twice the bits, which leaves out the sign */
    for (size_t i = 0; i < n; ++i) {
        const uint64_t twice = bits_of(x[i]) << 1;
        const uint64_t finite = twice < infinity ? twice : 0;
        most = finite > most ? finite : most;
        least = finite - 1 < least ? finite - 1 : least; /* 0 becomes the largest number */
    }
    if (most == 0) {
        return SALTUS_OK;
    }
    return widen(s, place_of((least + 1) >> 53) >> 6, place_of(most >> 53) >> 6, err);
}

/* ------------------------------------------------------------------------------------------------
 * Adding
 */

/* Add 1 to a number that begins at w. What leaves its last word is right to be lost in two's
 * complement. */
static void carry_on(uint64_t *w, const uint64_t *end)
{
    while (w < end && ++*w == 0) {
        ++w;
    }
}

static void borrow_on(uint64_t *w, const uint64_t *end)
{
    while (w < end && (*w)-- == 0) {
        ++w;
    }
}

/* Add v · 2^shift, with shift below 64. */
static inline void add_up(uint64_t *w, const uint64_t *end, u128 v, int shift)
{
    const uint64_t high = (uint64_t)(v >> 64) >> 1 >> (63 - shift);
    u128 pair;
    memcpy(&pair, w, sizeof pair);
    const uint64_t carry = __builtin_add_overflow(pair, v << shift, &pair);
    memcpy(w, &pair, sizeof pair);
    if (__builtin_expect(__builtin_add_overflow(w[2], high + carry, &w[2]), 0)) {
        carry_on(w + 3, end);
    }
}

/* Add or take off m · 2^shift, likewise. */
static inline void add_signed(uint64_t *w, const uint64_t *end, uint64_t m, int shift, bool minus)
{
    u128 pair;
    memcpy(&pair, w, sizeof pair);
    const u128 v = (u128)m << shift;
    const bool carry =
        minus ? __builtin_sub_overflow(pair, v, &pair) : __builtin_add_overflow(pair, v, &pair);
    memcpy(w, &pair, sizeof pair);
    if (__builtin_expect(carry, 0)) {
        if (minus) {
            borrow_on(w + 2, end);
        } else {
            carry_on(w + 2, end);
        }
    }
}

/* Add the finite number m · 2^place, in units of the lowest bit of the window. */
static inline void add_number(uint64_t *sum, uint64_t *square, const uint64_t *end, uint64_t m,
                              unsigned place, bool is_negative)
{
    add_signed(sum + (place >> 6), square, m, (int)(place & 63), is_negative);
    add_up(square + (place >> 5), end, (u128)m * m, (int)(2 * place & 63));
}

static void add_special(saltus_exact_sums *s, size_t q, double x)
{
    s->special[q] |= (uint8_t)(isnan(x)  ? SALTUS_HAD_NAN
                               : x > 0.0 ? SALTUS_HAD_INF
                                         : SALTUS_HAD_MINUS_INF);
}

/* Add one row, x[width]. */
static void add_row(saltus_exact_sums *s, const double *x)
{
    const size_t width = s->width, n_sum = (size_t)sum_words(s), n_all = stride(s);
    const unsigned base = 64 * (unsigned)s->first;
    uint64_t *sum = s->words;
    for (size_t q = 0; q < width; ++q, sum += n_all) {
        const uint64_t bits = bits_of(x[q]), fraction = bits & (UINT64_MAX >> 12);
        const unsigned exponent = bits >> 52 & SPECIAL;
        if (exponent - 1 < SPECIAL - 1) {
            add_number(sum, sum + n_sum, sum + n_all, fraction | UINT64_C(1) << 52,
                       exponent - 1 - base, bits >> 63);
        } else if (exponent == SPECIAL) {
            add_special(s, q, x[q]);
        } else if (fraction > 0) {
            add_number(sum, sum + n_sum, sum + n_all, fraction, 0, bits >> 63);
        }
    }
}

void saltus_exact_sums_add(saltus_exact_sums *s, const double *x, int64_t n_samples)
{
    for (int64_t t = 0; t < n_samples; ++t, x += s->width) {
        if (s->n_words > 0) {
            add_row(s, x);
            continue;
        }
        for (size_t q = 0; q < s->width; ++q) { /* nothing but these and zeros */
            if (!isfinite(x[q])) {
                add_special(s, q, x[q]);
            }
        }
    }
}

/* Add a number of n words to the one at `to`, of n_to words. */
static void add_words(uint64_t *to, int n_to, const uint64_t *from, int n)
{
    const uint64_t sign = sign_of(from, n);
    uint64_t carry = 0;
    for (int i = 0; i < n_to; ++i) {
        const u128 t = (u128)to[i] + (i < n ? from[i] : sign) + carry;
        to[i] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
}

saltus_status saltus_exact_sums_fit_sums(saltus_exact_sums *s, const saltus_exact_sums *from,
                                         saltus_error *err)
{
    return from->n_words > 0 ? widen(s, from->first, from->first + from->n_words - 1, err)
                             : SALTUS_OK;
}

saltus_status saltus_exact_sums_merge(saltus_exact_sums *s, const saltus_exact_sums *from,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_exact_sums_fit_sums(s, from, err));
    for (size_t q = 0; q < s->width; ++q) {
        s->special[q] |= from->special[q];
    }
    for (size_t q = 0; from->n_words > 0 && q < s->width; ++q) {
        const int at = from->first - s->first;
        const uint64_t *add = from->words + q * stride(from);
        uint64_t *to = s->words + q * stride(s) + at;
        add_words(to, sum_words(s) - at, add, sum_words(from));
        to += sum_words(s) + at;
        add_words(to, square_words(s) - 2 * at, add + sum_words(from), square_words(from));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Rounding
 */

/* The number of n words without its sign; returns whether it was below 0. */
static bool magnitude(uint64_t *to, const uint64_t *from, int n)
{
    const uint64_t sign = sign_of(from, n);
    uint64_t carry = sign & 1;
    for (int i = 0; i < n; ++i) {
        to[i] = (from[i] ^ sign) + carry;
        carry &= to[i] == 0;
    }
    return sign != 0;
}

/* Divide n words; returns whether there is a rest. */
static bool divide(uint64_t *words, int n, uint64_t by)
{
    uint64_t rest = 0;
    for (int i = n - 1; i >= 0; --i) {
        const u128 all = (u128)rest << 64 | words[i];
        words[i] = (uint64_t)(all / by);
        rest = (uint64_t)(all - (u128)words[i] * by);
    }
    return rest != 0;
}

/* The nearest double, halves to even, of lead · 2^exponent and something less than 2^exponent more
 * if has_rest, where the first bit of lead is 1. */
static double nearest(uint64_t lead, bool has_rest, int exponent)
{
    int n_kept = exponent + 64 - LOWEST; /* of the 64 bits: below the normal doubles, fewer */
    if (n_kept < 0) {
        return 0.0;
    }
    n_kept = n_kept < 53 ? n_kept : 53;
    uint64_t kept = n_kept > 0 ? lead >> (64 - n_kept) : 0;
    const uint64_t half = UINT64_C(1) << 63, rest = lead << n_kept;
    kept += rest > half || (rest == half && (has_rest || (kept & 1)));
    return ldexp((double)kept, exponent + 64 - n_kept);
}

/* The n words, whose first bit is worth 2^exponent, over a and over b, rounded once. Four words, or
 * what a division by 128 bits leaves of them, are more than a double takes: of those behind them
 * only whether they are 0 matters. */
static double quotient(const uint64_t *words, int n, int exponent, uint64_t a, uint64_t b)
{
    enum { KEPT = 4 };
    uint64_t lead[KEPT] = {0};
    bool has_rest = false;
    int end = n, top = KEPT - 1;
    while (end > 0 && words[end - 1] == 0) {
        --end;
    }
    if (end == 0) {
        return 0.0;
    }
    for (int i = 0; i < end; ++i) {
        if (i - end + KEPT >= 0) {
            lead[i - end + KEPT] = words[i];
        } else {
            has_rest |= words[i] != 0;
        }
    }
    has_rest |= divide(lead, KEPT, a);
    has_rest |= divide(lead, KEPT, b);
    while (lead[top] == 0) { /* the first word is not 0, and a and b take two at most */
        --top;
    }
    for (int i = 0; i + 1 < top; ++i) {
        has_rest |= lead[i] != 0;
    }
    const int shift = __builtin_clzll(lead[top]);
    const u128 pair = ((u128)lead[top] << 64 | lead[top - 1]) << shift;
    return nearest((uint64_t)(pair >> 64), has_rest || (uint64_t)pair != 0,
                   exponent + 64 * (end - KEPT + top) - shift);
}

double saltus_exact_sums_mean(const saltus_exact_sums *s, size_t q, int64_t n)
{
    uint64_t sum[SALTUS_EXACT_SUM_WORDS];
    const int special = s->special[q];
    if (n == 0 || (special & SALTUS_HAD_NAN) ||
        special == (SALTUS_HAD_INF | SALTUS_HAD_MINUS_INF)) {
        return (double)NAN;
    }
    if (special) {
        return special == SALTUS_HAD_INF ? (double)INFINITY : -(double)INFINITY;
    }
    if (s->n_words == 0) {
        return 0.0;
    }
    const bool is_negative = magnitude(sum, s->words + q * stride(s), sum_words(s));
    const double mean = quotient(sum, sum_words(s), LOWEST + 64 * s->first, (uint64_t)n, 1);
    return is_negative ? -mean : mean;
}

/* to = n times the number of n_words, which is one word longer. */
static void multiply(uint64_t *to, const uint64_t *words, int n_words, uint64_t n)
{
    uint64_t carry = 0;
    for (int i = 0; i < n_words; ++i) {
        const u128 t = (u128)words[i] * n + carry;
        to[i] = (uint64_t)t;
        carry = (uint64_t)(t >> 64);
    }
    to[n_words] = carry;
}

/* Take the square of n words off 2 n words. */
static void take_square_off(uint64_t *from, const uint64_t *words, int n)
{
    for (int i = 0; i < n; ++i) {
        uint64_t carry = 0, borrow = 0;
        for (int k = 0; i + k < 2 * n; ++k) {
            const u128 t = (k < n ? (u128)words[i] * words[k] : 0) + carry;
            const u128 left = (u128)from[i + k] - (uint64_t)t - borrow;
            from[i + k] = (uint64_t)left;
            carry = (uint64_t)(t >> 64);
            borrow = (uint64_t)(left >> 64) & 1;
        }
    }
}

double saltus_exact_sums_variance(const saltus_exact_sums *s, size_t q, int64_t n)
{
    uint64_t sum[SALTUS_EXACT_SUM_WORDS], all[2 * SALTUS_EXACT_SUM_WORDS];
    if (n < 1 || (n > 1 && s->special[q])) {
        return (double)NAN;
    }
    if (n == 1 || s->n_words == 0) {
        return 0.0;
    }
    const uint64_t *words = s->words + q * stride(s);
    (void)magnitude(sum, words, sum_words(s));
    multiply(all, words + sum_words(s), square_words(s), (uint64_t)n);
    take_square_off(all, sum, sum_words(s)); /* never below 0, after Cauchy and Schwarz */
    return quotient(all, 2 * sum_words(s), 2 * (LOWEST + 64 * s->first), (uint64_t)n,
                    (uint64_t)n - 1);
}

/* ------------------------------------------------------------------------------------------------
 * Storing
 */

void saltus_exact_sums_store(const saltus_exact_sums *s, size_t q,
                             uint64_t words[SALTUS_EXACT_WORDS])
{
    memset(words, 0, SALTUS_EXACT_WORDS * sizeof *words);
    words[0] = s->special[q];
    if (s->n_words > 0) {
        const uint64_t *from = s->words + q * stride(s);
        extend(words + 1, SALTUS_EXACT_SUM_WORDS, s->first, from, sum_words(s));
        extend(words + 1 + SALTUS_EXACT_SUM_WORDS, SALTUS_EXACT_SQUARE_WORDS, 2 * s->first,
               from + sum_words(s), square_words(s));
    }
}

/* The number of bits of a number above 0; 0 has none. */
static int length(const uint64_t *words, int n)
{
    while (n > 0 && words[n - 1] == 0) {
        --n;
    }
    return n > 0 ? 64 * n - __builtin_clzll(words[n - 1]) : 0;
}

/* Words below the first that is not 0. */
static int zeros(const uint64_t *words, int n)
{
    int i = 0;
    while (i < n && words[i] == 0) {
        ++i;
    }
    return i;
}

/* Stretch first … last to the window that a stored column needs. Says whether some numbers, fewer
 * than 2^63, may have such sums: (sum x)^2 is at most n sum x^2. */
static bool find_window(const uint64_t *words, int *first, int *last)
{
    const uint64_t *sum = words + 1, *square = sum + SALTUS_EXACT_SUM_WORDS;
    uint64_t size[SALTUS_EXACT_SUM_WORDS];
    (void)magnitude(size, sum, SALTUS_EXACT_SUM_WORDS);
    const int n_sum = length(size, SALTUS_EXACT_SUM_WORDS);
    const int n_square = length(square, SALTUS_EXACT_SQUARE_WORDS);
    if (n_square == 0) {
        return n_sum == 0;
    }
    /* no square of 53 bits is larger than their sum */
    const int bound = (n_square - 1) / 2 - 52, place = bound < HIGHEST ? bound : HIGHEST;
    const int word = place > 0 ? place >> 6 : 0;
    const int low = zeros(sum, SALTUS_EXACT_SUM_WORDS);
    const int square_low = zeros(square, SALTUS_EXACT_SQUARE_WORDS) / 2;
    *last = word > *last ? word : *last;
    *first = low < *first ? low : *first;
    *first = square_low < *first ? square_low : *first;
    return n_square <= 2 * (HIGHEST + 53) + 63 && 2 * n_sum <= n_square + 65;
}

saltus_status saltus_exact_sums_add_stored(saltus_exact_sums *s, const uint64_t *words,
                                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int first = SALTUS_EXACT_SUM_WORDS, last = -1;
    for (size_t q = 0; q < s->width; ++q) {
        const uint64_t *from = words + q * SALTUS_EXACT_WORDS;
        if (!find_window(from, &first, &last) ||
            from[0] > (SALTUS_HAD_NAN | SALTUS_HAD_INF | SALTUS_HAD_MINUS_INF)) {
            SALTUS_FAIL(SALTUS_E_INVALID, "no numbers have the sums of column %zu", q);
        }
    }
    if (last >= 0) {
        SALTUS_TRY(widen(s, first < last ? first : last, last, err));
    }
    for (size_t q = 0; q < s->width; ++q) {
        const uint64_t *from = words + q * SALTUS_EXACT_WORDS;
        s->special[q] |= (uint8_t)from[0];
        if (last >= 0) {
            uint64_t *to = s->words + q * stride(s);
            add_words(to, sum_words(s), from + 1 + s->first, SALTUS_EXACT_SUM_WORDS - s->first);
            add_words(to + sum_words(s), square_words(s),
                      from + 1 + SALTUS_EXACT_SUM_WORDS + 2 * s->first,
                      SALTUS_EXACT_SQUARE_WORDS - 2 * s->first);
        }
    }
done:
    return status;
}
