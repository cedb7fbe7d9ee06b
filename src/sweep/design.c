#include "core/memory.h"
#include "sweep/sweep.h"
#include "kernel/base/rng.h"

/* Four words for one purpose of a design: axis and point. */
static void draw(uint64_t seed, int axis, int64_t i, uint32_t w[4])
{
    uint32_t keys[SALTUS_PHILOX_KEYS];
    saltus_philox_keys(seed, keys);
    saltus_philox_keyed(keys, SALTUS_PURPOSE_DESIGN, (uint64_t)axis, (uint64_t)i, w);
}

/* A whole number below n from 64 bits; n is far below 2^64, so that the bias is too. */
static int64_t below(const uint32_t w[4], int64_t n)
{
    const uint64_t bits = (uint64_t)w[0] << 32 | w[1];
    return (int64_t)((unsigned __int128)bits * (uint64_t)n >> 64);
}

saltus_status saltus_design_lhs(int64_t n, uint64_t seed, int axis, double *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    uint32_t w[4];
    int64_t *stratum = saltus_calloc((size_t)n, sizeof *stratum);
    SALTUS_NEED(stratum);
    for (int64_t i = 0; i < n; ++i) { /* Fisher and Yates, inside out */
        draw(seed, axis, i, w);
        const int64_t j = below(w, i + 1);
        stratum[i] = stratum[j];
        stratum[j] = i;
    }
    for (int64_t i = 0; i < n; ++i) {
        draw(seed, axis, i, w);
        const double within = (double)(((uint64_t)w[2] << 32 | w[3]) >> 11) * 0x1p-53;
        out[i] = ((double)stratum[i] + within) / (double)n;
    }
done:
    saltus_free(stratum);
    return status;
}

/* Primitive polynomials (degree, coefficients) and initial direction numbers of axes 2 … 21, new-
 * joe-kuo-6; the first axis is van der Corput's sequence. */
static const struct {
    int degree;
    uint32_t coefficients, m[7];
} polynomials[SALTUS_SOBOL_AXES - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
};

void saltus_design_sobol(int64_t n, int axis, double *out)
{
    uint32_t v[32];
    const int s = axis > 0 ? polynomials[axis - 1].degree : 32;
    for (int k = 0; k < 32; ++k) {
        const uint32_t m = axis > 0 && k < s ? polynomials[axis - 1].m[k] : 1;
        v[k] = m << (31 - k);
        if (k >= s) {
            v[k] = v[k - s] ^ v[k - s] >> s;
            for (int j = 1; j < s; ++j) {
                v[k] ^= (polynomials[axis - 1].coefficients >> (s - 1 - j) & 1) * v[k - j];
            }
        }
    }
    for (int64_t i = 0; i < n; ++i) {
        uint32_t x = 0;
        for (int k = 0; k < 32; ++k) {
            x ^= (uint32_t)(i >> k & 1) * v[k];
        }
        out[i] = (double)x * 0x1p-32;
    }
}
