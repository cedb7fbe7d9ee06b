/**
 * MRG32k3a (L'Ecuyer, Oper. Res. 47, 1999, doi:10.1287/opre.47.1.159) as cuRAND defines it:
 * curand_init(seed, trajectory, 0), then curand(). A trajectory has the sub-sequence of its number;
 * sub-sequences are 2^76 words apart (L'Ecuyer's sub-streams).
 *
 * The published generator gives whole numbers r of 1 … m1; cuRAND's word is r * 1.000000048662,
 * rounded to double, cut to a whole number, at most 2^32 - 1. So 210 of the 2^32 words never
 * occur, 0 among them.
 */
#ifndef SALTUS_KERNEL_BASE_MRG32K3A_H
#define SALTUS_KERNEL_BASE_MRG32K3A_H

#include "kernel/base/target.h"

#define SALTUS_MRG32K3A_M1 4294967087u /* 2^32 - 209 */
#define SALTUS_MRG32K3A_M2 4294944443u /* 2^32 - 22853 */

/** The state: the last three numbers of a recurrence modulo m1, of one modulo m2; the oldest first.
 */
enum { SALTUS_MRG32K3A_WORDS = 6 };
enum {
    SALTUS_MRG32K3A_MATRIX = 9,   /**< words of a matrix, [row][column] */
    SALTUS_MRG32K3A_SPACING = 76, /**< log2 of the length of a sub-sequence */
};

/* x, below 2^55, modulo 2^32 - c, where c is small: 2^32 is c. */
SALTUS_FN uint32_t saltus_mrg32k3a_fold(uint64_t x, uint32_t c)
{
    const uint32_t m = 0u - c;
    x = (x >> 32) * c + (uint32_t)x; /* below 2^38 */
    x = (x >> 32) * c + (uint32_t)x; /* below 2 m */
    return x >= m ? (uint32_t)(x - m) : (uint32_t)x;
}

/** The next number of a, which is a[2] then. */
SALTUS_FN void saltus_mrg32k3a_step_a(uint32_t a[3])
{
    const uint64_t x = 1403580ull * a[1] + 810728ull * (SALTUS_MRG32K3A_M1 - a[0]);
    a[0] = a[1];
    a[1] = a[2];
    a[2] = saltus_mrg32k3a_fold(x, 0u - SALTUS_MRG32K3A_M1);
}

SALTUS_FN void saltus_mrg32k3a_step_b(uint32_t b[3])
{
    const uint64_t x = 527612ull * b[2] + 1370589ull * (SALTUS_MRG32K3A_M2 - b[0]);
    b[0] = b[1];
    b[1] = b[2];
    b[2] = saltus_mrg32k3a_fold(x, 0u - SALTUS_MRG32K3A_M2);
}

SALTUS_FN uint32_t saltus_mrg32k3a_next(uint32_t s[SALTUS_MRG32K3A_WORDS])
{
    saltus_mrg32k3a_step_a(s);
    saltus_mrg32k3a_step_b(s + 3);
    const uint32_t r = s[2] - s[5] + (s[2] > s[5] ? 0u : SALTUS_MRG32K3A_M1);
    const double word = (double)r * 1.000000048662;
    return word < 4294967296.0 ? (uint32_t)word : 0xffffffffu;
}

/** A matrix times v, modulo m. */
SALTUS_FN void saltus_mrg32k3a_apply(const uint32_t *matrix, uint32_t v[3], uint32_t m)
{
    uint32_t product[3];
    for (int i = 0; i < 3; ++i) {
        uint64_t sum = 0;
        for (int k = 0; k < 3; ++k) {
            sum += (uint64_t)matrix[3 * i + k] * v[k] % m;
        }
        product[i] = (uint32_t)(sum % m);
    }
    for (int i = 0; i < 3; ++i) {
        v[i] = product[i];
    }
}

/** The state that a seed stands for. Some seeds make all of a or all of b zero, for ever. */
SALTUS_FN void saltus_mrg32k3a_seed(uint32_t s[SALTUS_MRG32K3A_WORDS], uint64_t seed)
{
    const uint32_t x[2] = {(uint32_t)seed ^ 0x55555555u, (uint32_t)(seed >> 32) ^ 0xaaaaaaaau};
    for (int i = 0; i < 3; ++i) {
        s[i] = (uint32_t)(12345ull * (seed == 0 ? 1u : x[i & 1]) % SALTUS_MRG32K3A_M1);
        s[3 + i] = (uint32_t)(12345ull * (seed == 0 ? 1u : x[~i & 1]) % SALTUS_MRG32K3A_M2);
    }
}

/** The state before a trajectory's first word, to words[SALTUS_AT(i)]. jumps[k][2]: the matrices,
 * of a and of b, of 2^k sub-sequences. */
SALTUS_OUTLINE void saltus_mrg32k3a_start(uint32_t *words, uint64_t seed, uint64_t trajectory,
                                          const uint32_t *jumps)
{
    uint32_t s[SALTUS_MRG32K3A_WORDS];
    saltus_mrg32k3a_seed(s, seed);
    for (; trajectory != 0; trajectory >>= 1, jumps += 2 * SALTUS_MRG32K3A_MATRIX) {
        if (trajectory & 1) {
            saltus_mrg32k3a_apply(jumps, s, SALTUS_MRG32K3A_M1);
            saltus_mrg32k3a_apply(jumps + SALTUS_MRG32K3A_MATRIX, s + 3, SALTUS_MRG32K3A_M2);
        }
    }
    for (int i = 0; i < SALTUS_MRG32K3A_WORDS; ++i) {
        words[SALTUS_AT(i)] = s[i];
    }
}

#endif
