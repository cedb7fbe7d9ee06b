/** Lane values: vectors of SALTUS_LANES numbers, or, with one lane, plain numbers; comparisons,
 * choices and conversions of them. Included by target.h. */
#ifndef SALTUS_KERNEL_BASE_LANES_H
#define SALTUS_KERNEL_BASE_LANES_H

#include "kernel/base/target.h"

#if SALTUS_LANES > 1

typedef double saltus_f64 __attribute__((vector_size(SALTUS_LANES * 8)));
typedef float saltus_f32 __attribute__((vector_size(SALTUS_LANES * 4)));
typedef int64_t saltus_i64 __attribute__((vector_size(SALTUS_LANES * 8)));
typedef uint64_t saltus_u64 __attribute__((vector_size(SALTUS_LANES * 8)));
typedef int32_t saltus_i32 __attribute__((vector_size(SALTUS_LANES * 4)));
typedef uint32_t saltus_u32 __attribute__((vector_size(SALTUS_LANES * 4)));
typedef saltus_i64 saltus_mask;

/* Reinterpret: the same bits under another type of the same width. */
#define SALTUS_AS_I64(x) ((saltus_i64)(x))
#define SALTUS_AS_U64(x) ((saltus_u64)(x))
#define SALTUS_AS_F64(x) ((saltus_f64)(x))
#define SALTUS_AS_I32(x) ((saltus_i32)(x))
#define SALTUS_AS_F32(x) ((saltus_f32)(x))

/* Convert the value, lane by lane: exact, rounded to nearest, or truncated toward zero as in C. */
#define SALTUS_TO_F64(x) __builtin_convertvector((x), saltus_f64)
#define SALTUS_SMALL_TO_F64(x) SALTUS_TO_F64(SALTUS_TO_I32(x)) /* of a saltus_u32 below 2^31 */
#define SALTUS_TO_F32(x) __builtin_convertvector((x), saltus_f32)
#define SALTUS_TO_I64(x) __builtin_convertvector((x), saltus_i64)
#define SALTUS_TO_U64(x) __builtin_convertvector((x), saltus_u64)
#define SALTUS_TO_I32(x) __builtin_convertvector((x), saltus_i32)
#define SALTUS_TO_U32(x) __builtin_convertvector((x), saltus_u32)

/* Masks of 64-bit lanes from comparisons of saltus_f64, saltus_i64 or saltus_u64. */
#define SALTUS_LT(a, b) ((saltus_mask)((a) < (b)))
#define SALTUS_LE(a, b) ((saltus_mask)((a) <= (b)))
#define SALTUS_EQ(a, b) ((saltus_mask)((a) == (b)))
#define SALTUS_NE(a, b) ((saltus_mask)((a) != (b)))

/* Masks of 32-bit lanes (saltus_i32, 0 or -1) from comparisons of 32-bit values. */
#define SALTUS_LT32(a, b) ((saltus_i32)((a) < (b)))

#define SALTUS_LANE(x, l) ((x)[l])

#else /* one lane: a GPU thread, or the plain CPU path */

typedef double saltus_f64;
typedef float saltus_f32;
typedef int64_t saltus_i64;
typedef uint64_t saltus_u64;
typedef int32_t saltus_i32;
typedef uint32_t saltus_u32;
typedef saltus_i64 saltus_mask;

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SALTUS_AS_I64(x) saltus_as_i64(x)
#define SALTUS_AS_U64(x) ((saltus_u64)saltus_as_i64(x))
#define SALTUS_AS_F64(x) __longlong_as_double((long long)(x))
#define SALTUS_AS_I32(x) saltus_as_i32(x)
#define SALTUS_AS_F32(x) __int_as_float((int)(x))
SALTUS_FN int64_t saltus_as_i64(double x)
{
    return __double_as_longlong(x);
}
SALTUS_FN int64_t saltus_as_i64(int64_t x)
{
    return x;
}
SALTUS_FN int64_t saltus_as_i64(uint64_t x)
{
    return (int64_t)x;
}
SALTUS_FN int32_t saltus_as_i32(float x)
{
    return __float_as_int(x);
}
SALTUS_FN int32_t saltus_as_i32(uint32_t x)
{
    return (int32_t)x;
}
#else
SALTUS_FN int64_t saltus_bits_f64(double x)
{
    int64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}
SALTUS_FN double saltus_f64_bits(int64_t b)
{
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}
SALTUS_FN int32_t saltus_bits_f32(float x)
{
    int32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}
SALTUS_FN float saltus_f32_bits(int32_t b)
{
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}
#ifdef __cplusplus
SALTUS_FN int64_t saltus_as_i64(double x)
{
    return saltus_bits_f64(x);
}
SALTUS_FN int64_t saltus_as_i64(int64_t x)
{
    return x;
}
SALTUS_FN int64_t saltus_as_i64(uint64_t x)
{
    return (int64_t)x;
}
SALTUS_FN int32_t saltus_as_i32(float x)
{
    return saltus_bits_f32(x);
}
SALTUS_FN int32_t saltus_as_i32(uint32_t x)
{
    return (int32_t)x;
}
#define SALTUS_AS_I64(x) saltus_as_i64(x)
#define SALTUS_AS_U64(x) ((saltus_u64)saltus_as_i64(x))
#define SALTUS_AS_I32(x) saltus_as_i32(x)
#else
/* clang-format off */
#define SALTUS_AS_I64(x)                                                                           \
    _Generic((x), double: saltus_bits_f64, int64_t: saltus_id_i64, uint64_t: saltus_id_u64)(x)
#define SALTUS_AS_U64(x) ((uint64_t)SALTUS_AS_I64(x))
#define SALTUS_AS_I32(x)                                                                           \
    _Generic((x), float: saltus_bits_f32, int32_t: saltus_id_i32, uint32_t: saltus_id_u32)(x)
/* clang-format on */
SALTUS_FN int64_t saltus_id_i64(int64_t x)
{
    return x;
}
SALTUS_FN int64_t saltus_id_u64(uint64_t x)
{
    return (int64_t)x;
}
SALTUS_FN int32_t saltus_id_i32(int32_t x)
{
    return x;
}
SALTUS_FN int32_t saltus_id_u32(uint32_t x)
{
    return (int32_t)x;
}
#endif
#define SALTUS_AS_F64(x) saltus_f64_bits((int64_t)(x))
#define SALTUS_AS_F32(x) saltus_f32_bits((int32_t)(x))
#endif

#define SALTUS_TO_F64(x) ((saltus_f64)(x))
#define SALTUS_SMALL_TO_F64(x) saltus_from_word(x)
#define SALTUS_TO_F32(x) ((saltus_f32)(x))
#define SALTUS_TO_I64(x) ((saltus_i64)(x))
#define SALTUS_TO_U64(x) ((saltus_u64)(x))
#define SALTUS_TO_I32(x) ((saltus_i32)(x))
#define SALTUS_TO_U32(x) ((saltus_u32)(x))

#define SALTUS_LT(a, b) (-(saltus_mask)((a) < (b)))
#define SALTUS_LE(a, b) (-(saltus_mask)((a) <= (b)))
#define SALTUS_EQ(a, b) (-(saltus_mask)((a) == (b)))
#define SALTUS_NE(a, b) (-(saltus_mask)((a) != (b)))
#define SALTUS_LT32(a, b) (-(saltus_i32)((a) < (b)))

#define SALTUS_LANE(x, l) (x)

#endif

/* The same number in every lane. */
SALTUS_FN saltus_f64 saltus_splat(double x)
{
#if SALTUS_LANES > 1
    return x - (saltus_f64){0}; /* x - 0 keeps the sign of zero */
#else
    return x;
#endif
}

SALTUS_FN saltus_i64 saltus_splat_i64(int64_t x)
{
#if SALTUS_LANES > 1
    return x - (saltus_i64){0};
#else
    return x;
#endif
}

/* Lane by lane: a where the mask is -1, b where it is 0. */
SALTUS_FN saltus_f64 saltus_select(saltus_mask m, saltus_f64 a, saltus_f64 b)
{
#if SALTUS_LANES > 1
    return SALTUS_AS_F64((SALTUS_AS_I64(a) & m) | (SALTUS_AS_I64(b) & ~m));
#else
    return m ? a : b;
#endif
}

SALTUS_FN saltus_i64 saltus_select_i64(saltus_mask m, saltus_i64 a, saltus_i64 b)
{
    return (a & m) | (b & ~m);
}

#if SALTUS_LANES > 1
/* Bit l is set where lane l of the mask is. */
SALTUS_FN uint64_t saltus_bits(saltus_mask m)
{
    uint64_t bits = 0;
#if defined(__AVX512DQ__) && SALTUS_LANES >= 8
    __m512i part;
    for (int i = 0; i < SALTUS_LANES / 8; ++i) {
        memcpy(&part, (const char *)&m + 64 * i, 64);
        bits |= (uint64_t)_mm512_movepi64_mask(part) << 8 * i;
    }
#elif defined(__AVX2__) && SALTUS_LANES >= 4
    __m256d part;
    for (int i = 0; i < SALTUS_LANES / 4; ++i) {
        memcpy(&part, (const char *)&m + 32 * i, 32);
        bits |= (uint64_t)(unsigned)_mm256_movemask_pd(part) << 4 * i;
    }
#else
    for (int l = 0; l < SALTUS_LANES; ++l) {
        bits |= (uint64_t)(m[l] & 1) << l;
    }
#endif
    return bits;
}

/* from[at[l]] in lane l: numbers of 64 bits, whatever they are. */
SALTUS_FN saltus_i64 saltus_gather(const void *from, const int32_t *at)
{
    saltus_i64 x;
#if defined(__AVX512DQ__) && SALTUS_LANES >= 8
    for (int i = 0; i < SALTUS_LANES / 8; ++i) {
        const __m256i places = _mm256_loadu_si256((const __m256i *)(at + 8 * i));
        const __m512i part = _mm512_i32gather_epi64(places, from, 8);
        memcpy((char *)&x + 64 * i, &part, 64);
    }
#else
    for (int l = 0; l < SALTUS_LANES; ++l) {
        x[l] = ((const int64_t *)from)[at[l]];
    }
#endif
    return x;
}

/* The inverse: to[at[l]] becomes x[l]; of equal places any lane's. */
SALTUS_FN void saltus_scatter(void *to, const int32_t *at, saltus_i64 x)
{
#if defined(__AVX512DQ__) && SALTUS_LANES >= 8
    for (int i = 0; i < SALTUS_LANES / 8; ++i) {
        const __m256i places = _mm256_loadu_si256((const __m256i *)(at + 8 * i));
        __m512i part;
        memcpy(&part, (const char *)&x + 64 * i, 64);
        _mm512_i32scatter_epi64(to, places, part, 8);
    }
#else
    for (int l = 0; l < SALTUS_LANES; ++l) {
        ((int64_t *)to)[at[l]] = x[l];
    }
#endif
}

/* Those of SALTUS_LANES numbers whose bit is set, side by side; returns how many they are. There is
 * room for all of them, and `to` may be `from` or come before it. No branches: nobody could foresee
 * them. */
SALTUS_FN int saltus_pick(int32_t *to, const int32_t *from, uint64_t bits)
{
    int n = 0;
#if defined(__AVX512VL__) && SALTUS_LANES == 8
    const __m256i x = _mm256_loadu_si256((const __m256i *)from);
    _mm256_storeu_si256((__m256i *)to, _mm256_maskz_compress_epi32((__mmask8)bits, x));
    n = __builtin_popcountll(bits);
#else
    for (int l = 0; l < SALTUS_LANES; ++l) {
        to[n] = from[l];
        n += (int)(bits >> l & 1);
    }
#endif
    return n;
}
#endif

/* Whether any lane's mask is set: a way around work that few arguments need. */
SALTUS_FN int saltus_any(saltus_mask m)
{
#if SALTUS_LANES > 1
    return saltus_bits(m) != 0;
#else
    return m != 0;
#endif
}

/* Correctly rounded square root; NaN below zero. */
SALTUS_FN saltus_f64 saltus_sqrt(saltus_f64 x)
{
#if SALTUS_LANES > 1
    saltus_f64 y;
    for (int l = 0; l < SALTUS_LANES; ++l) {
        y[l] = __builtin_sqrt(x[l]);
    }
    return y;
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
    return __dsqrt_rn(x);
#else
    return __builtin_sqrt(x);
#endif
}

#if SALTUS_LANES == 1
/* Write eight numbers as saltus_count_le reads them: a wide load waits long for narrow stores. */
SALTUS_FN void saltus_store_eight(double *s, double a, double b, double c, double d, double e,
                                  double f, double g, double h)
{
#if defined(__AVX512F__)
    _mm512_storeu_pd(s, _mm512_setr_pd(a, b, c, d, e, f, g, h));
#elif defined(__AVX2__)
    _mm256_storeu_pd(s, _mm256_setr_pd(a, b, c, d));
    _mm256_storeu_pd(s + 4, _mm256_setr_pd(e, f, g, h));
#else
    s[SALTUS_AT(0)] = a, s[SALTUS_AT(1)] = b, s[SALTUS_AT(2)] = c, s[SALTUS_AT(3)] = d;
    s[SALTUS_AT(4)] = e, s[SALTUS_AT(5)] = f, s[SALTUS_AT(6)] = g, s[SALTUS_AT(7)] = h;
#endif
}

/* How many of the first seven of eight rising numbers do not exceed x. */
SALTUS_FN int saltus_count_le(const double *s, double x)
{
#if defined(__AVX512F__)
    return __builtin_popcount(
        0x7fu & _mm512_cmp_pd_mask(_mm512_loadu_pd(s), _mm512_set1_pd(x), _CMP_LE_OQ));
#elif defined(__AVX2__)
    const __m256d y = _mm256_set1_pd(x);
    const int low = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(s), y, _CMP_LE_OQ));
    const int high = _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(s + 4), y, _CMP_LE_OQ));
    return __builtin_popcount((unsigned)(low | (high & 7) << 4));
#else
    int n = 0;
    for (int k = 0; k < 7; ++k) {
        n += s[SALTUS_AT(k)] <= x;
    }
    return n;
#endif
}
#endif

#endif
