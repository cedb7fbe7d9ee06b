#include "ensemble/statistics.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

typedef __int128 i128;
typedef unsigned __int128 u128;

enum { TILE = 256 }; /* columns reduced together: their accumulators stay in the first cache */

saltus_status saltus_statistics_init(saltus_statistics *s, size_t width, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *s = (saltus_statistics){.width = width};
    s->sum = saltus_calloc(width, sizeof *s->sum);
    s->square = saltus_calloc(width, sizeof *s->square);
    s->min = saltus_calloc(width, sizeof *s->min);
    s->max = saltus_calloc(width, sizeof *s->max);
    if (!s->sum || !s->square || !s->min || !s->max) {
        saltus_statistics_free(s);
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "no memory for statistics of %zu values", width);
    }
done:
    return status;
}

void saltus_statistics_free(saltus_statistics *s)
{
    saltus_free(s->sum);
    saltus_free(s->square);
    saltus_free(s->min);
    saltus_free(s->max);
    *s = (saltus_statistics){0};
}

/* The sums of one tile of columns over one block. */
struct tile {
    uint64_t sum[TILE], square[TILE];
    int32_t min[TILE], max[TILE];
};

/* Reduce m columns in 64 bits as if every count fitted 31. Says whether that was true and no sum of
 * squares can have wrapped; the range is known only afterwards, so that the block is read once. */
static bool reduce_narrow(struct tile *restrict tile, const int64_t *restrict x, size_t stride,
                          size_t m, int64_t n_samples)
{
    int32_t v[TILE];
    uint64_t bits = 0;
    memset(tile->sum, 0, sizeof tile->sum);
    memset(tile->square, 0, sizeof tile->square);
    for (size_t i = 0; i < m; ++i) {
        tile->min[i] = INT32_MAX;
        tile->max[i] = 0;
    }
    for (int64_t t = 0; t < n_samples; ++t, x += stride) {
        for (size_t i = 0; i < m; ++i) {
            bits |= (uint64_t)x[i];
            v[i] = (int32_t)(uint32_t)x[i];
        }
        for (size_t i = 0; i < m; ++i) {
            tile->min[i] = v[i] < tile->min[i] ? v[i] : tile->min[i];
            tile->max[i] = v[i] > tile->max[i] ? v[i] : tile->max[i];
        }
        for (size_t i = 0; i < m; ++i) {
            tile->sum[i] += (uint32_t)v[i];
            tile->square[i] += (uint64_t)(uint32_t)v[i] * (uint32_t)v[i];
        }
        if (bits >> 31) {
            return false;
        }
    }
    return (u128)(bits * bits) * (u128)n_samples <= UINT64_MAX;
}

/* Add the sums of one column; false when the squares pass 128 bits. */
static bool fold(saltus_statistics *s, size_t q, i128 sum, u128 square, int64_t min, int64_t max)
{
    const bool first = s->n == 0;
    s->sum[q] += sum;
    s->min[q] = first || min < s->min[q] ? min : s->min[q];
    s->max[q] = first || max > s->max[q] ? max : s->max[q];
    return !__builtin_add_overflow(s->square[q], square, &s->square[q]);
}

/* In two steps, because clang 14's analyzer takes a shift by 64 for one beyond the type. */
static u128 join(const uint64_t words[2])
{
    return (u128)words[1] << 32 << 32 | words[0];
}

static bool fold_sum(saltus_statistics *s, size_t q, const saltus_sum *sum)
{
    return fold(s, q, (i128)join(sum->sum), join(sum->square), sum->min, sum->max) &&
           sum->square[2] == 0;
}

/* Reduce one column in full width. */
static saltus_sum reduce_wide(const int64_t *x, size_t stride, int64_t n_samples)
{
    saltus_sum sum = saltus_sum_none();
    for (int64_t t = 0; t < n_samples; ++t, x += stride) {
        saltus_sum_add(&sum, *x);
    }
    return sum;
}

static saltus_status overflow(saltus_error *err)
{
    return saltus_error_set(err, SALTUS_E_NUMERIC,
                            "the sum of squares of a count over the ensemble passes 128 bits");
}

saltus_status saltus_statistics_add(saltus_statistics *s, const int64_t *x, int64_t n_samples,
                                    saltus_error *err)
{
    struct tile tile;
    bool good = true;
    for (size_t q = 0; n_samples > 0 && q < s->width; q += TILE) {
        const size_t m = s->width - q < TILE ? s->width - q : TILE;
        if (reduce_narrow(&tile, x + q, s->width, m, n_samples)) {
            for (size_t i = 0; i < m; ++i) {
                good &= fold(s, q + i, tile.sum[i], tile.square[i], tile.min[i], tile.max[i]);
            }
            continue;
        }
        for (size_t i = 0; i < m; ++i) {
            const saltus_sum sum = reduce_wide(x + q + i, s->width, n_samples);
            good &= fold_sum(s, q + i, &sum);
        }
    }
    s->n += n_samples;
    return good ? SALTUS_OK : overflow(err);
}

saltus_status saltus_statistics_add_sums(saltus_statistics *s, const saltus_sum *sums,
                                         int64_t n_samples, saltus_error *err)
{
    bool good = true;
    for (size_t q = 0; n_samples > 0 && q < s->width; ++q) {
        good &= fold_sum(s, q, &sums[q]);
    }
    s->n += n_samples;
    return good ? SALTUS_OK : overflow(err);
}

uint64_t saltus_statistics_bits(const int64_t *x, size_t n)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < n; ++i) {
        bits |= (uint64_t)(x[i] ^ (x[i] >> 63));
    }
    return bits;
}

bool saltus_statistics_have_room(const saltus_statistics *s, uint64_t bits, int64_t n_samples)
{
    const u128 largest = (u128)bits + 1; /* the magnitude of a negative one is more than its bits */
    u128 most;
    bool good = !__builtin_mul_overflow(largest * largest, (u128)n_samples, &most);
    for (size_t q = 0; good && q < s->width; ++q) {
        good = s->square[q] <= ~most;
    }
    return good;
}

saltus_status saltus_statistics_check(const saltus_statistics *s, const saltus_statistics *from,
                                      saltus_error *err)
{
    bool bad = false;
    for (size_t q = 0; q < s->width; ++q) {
        bad |= s->square[q] + from->square[q] < s->square[q];
    }
    return bad ? overflow(err) : SALTUS_OK;
}

void saltus_statistics_merge(saltus_statistics *s, const saltus_statistics *from)
{
    if (from->n == 0) {
        return;
    }
    for (size_t q = 0; q < s->width; ++q) {
        (void)fold(s, q, from->sum[q], from->square[q], from->min[q], from->max[q]);
    }
    s->n += from->n;
}

double saltus_statistics_mean(const saltus_statistics *s, size_t q)
{
    return s->n ? (double)s->sum[q] / (double)s->n : (double)NAN;
}

/* 256 bits, the lower half first. */
struct u256 {
    u128 low, high;
};

static struct u256 multiply(u128 a, u128 b)
{
    const uint64_t a0 = (uint64_t)a, a1 = (uint64_t)(a >> 64);
    const uint64_t b0 = (uint64_t)b, b1 = (uint64_t)(b >> 64);
    const u128 low = (u128)a0 * b0, high = (u128)a1 * b1;
    const u128 cross0 = (u128)a0 * b1, cross1 = (u128)a1 * b0;
    const u128 middle = (low >> 64) + (uint64_t)cross0 + (uint64_t)cross1;
    return (struct u256){.low = (middle << 64) | (uint64_t)low,
                         .high = high + (cross0 >> 64) + (cross1 >> 64) + (middle >> 64)};
}

static int leading_zeros(u128 a)
{
    const uint64_t high = (uint64_t)(a >> 64), low = (uint64_t)a;
    return high ? __builtin_clzll(high) : low ? 64 + __builtin_clzll(low) : 128;
}

/* The nearest double: the leading 128 bits, with the rest of the number, if any, kept in the last
 * of them, which is far below the rounding. */
static double to_double(struct u256 a)
{
    if (a.high == 0) {
        return (double)a.low;
    }
    const int shift = leading_zeros(a.high);
    u128 lead = a.high, rest = a.low;
    if (shift) {
        lead = (a.high << shift) | (a.low >> (128 - shift));
        rest = a.low << shift;
    }
    return ldexp((double)(lead | (rest != 0)), 128 - shift);
}

/* (n sum x^2 - (sum x)^2) / (n (n - 1)): the numerator is an exact integer that is never negative
 * (Cauchy and Schwarz), and both are rounded once. */
double saltus_statistics_variance(const saltus_statistics *s, size_t q)
{
    if (s->n < 2) {
        return s->n ? 0.0 : (double)NAN;
    }
    const u128 n = (u128)s->n;
    const u128 magnitude = s->sum[q] < 0 ? -(u128)s->sum[q] : (u128)s->sum[q];
    const struct u256 a = multiply(n, s->square[q]), b = multiply(magnitude, magnitude);
    const struct u256 difference = {.low = a.low - b.low,
                                    .high = a.high - b.high - (a.low < b.low)};
    return to_double(difference) / (double)(n * (n - 1));
}

saltus_status saltus_real_statistics_init(saltus_real_statistics *s, size_t width,
                                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *s = (saltus_real_statistics){.width = width};
    s->min = saltus_calloc(width, sizeof *s->min);
    s->max = saltus_calloc(width, sizeof *s->max);
    SALTUS_NEED(s->min && s->max);
    SALTUS_TRY(saltus_exact_sums_init(&s->sums, width, err));
    for (size_t q = 0; q < width; ++q) {
        s->min[q] = s->max[q] = (double)NAN;
    }
done:
    if (status != SALTUS_OK) {
        saltus_real_statistics_free(s);
    }
    return status;
}

void saltus_real_statistics_free(saltus_real_statistics *s)
{
    saltus_exact_sums_free(&s->sums);
    saltus_free(s->min);
    saltus_free(s->max);
    *s = (saltus_real_statistics){0};
}

saltus_status saltus_real_statistics_fit(saltus_real_statistics *s, const double *x,
                                         int64_t n_samples, saltus_error *err)
{
    return saltus_exact_sums_fit(&s->sums, x, (size_t)n_samples * s->width, err);
}

static void add_range(saltus_real_statistics *s, const double *least, const double *most)
{
    for (size_t q = 0; q < s->width; ++q) {
        s->min[q] = saltus_real_min(s->min[q], least[q]);
        s->max[q] = saltus_real_max(s->max[q], most[q]);
    }
}

void saltus_real_statistics_add(saltus_real_statistics *s, const double *x, int64_t n_samples)
{
    saltus_exact_sums_add(&s->sums, x, n_samples);
    for (int64_t t = 0; t < n_samples; ++t, x += s->width) {
        add_range(s, x, x);
    }
    s->n += n_samples;
}

saltus_status saltus_real_statistics_merge(saltus_real_statistics *s,
                                           const saltus_real_statistics *from, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_exact_sums_merge(&s->sums, &from->sums, err));
    add_range(s, from->min, from->max);
    s->n += from->n;
done:
    return status;
}

saltus_status saltus_real_statistics_add_sums(saltus_real_statistics *s, const uint64_t *sums,
                                              const double *least, const double *most,
                                              int64_t n_samples, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_exact_sums_add_stored(&s->sums, sums, err));
    add_range(s, least, most);
    s->n += n_samples;
done:
    return status;
}

double saltus_real_statistics_mean(const saltus_real_statistics *s, size_t q)
{
    return saltus_exact_sums_mean(&s->sums, q, s->n);
}

double saltus_real_statistics_variance(const saltus_real_statistics *s, size_t q)
{
    return saltus_exact_sums_variance(&s->sums, q, s->n);
}
