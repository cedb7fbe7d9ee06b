/**
 * XORWOW (Marsaglia, J. Stat. Softw. 8(14), 2003, doi:10.18637/jss.v008.i14) as cuRAND defines it:
 * curand_init(seed, trajectory, 0), then curand(). A trajectory has the sub-sequence of its number;
 * sub-sequences are 2^67 words apart.
 *
 * One step is linear over GF(2) in the five words v, so that many at once are a matrix: its row
 * 32 i + j is what bit j of word i becomes. The counter d takes the same values in every
 * sub-sequence, because 2^32 divides 2^67.
 */
#ifndef SALTUS_KERNEL_BASE_XORWOW_H
#define SALTUS_KERNEL_BASE_XORWOW_H

#include "kernel/base/target.h"

/** The state: v, then d. */
enum { SALTUS_XORWOW_WORDS = 6 };
enum {
    SALTUS_XORWOW_MATRIX = 160 * 5, /**< words of a matrix, [row][word] */
    SALTUS_XORWOW_SPACING = 67,     /**< log2 of the length of a sub-sequence */
};

/** One step of the linear part. */
SALTUS_FN void saltus_xorwow_step(uint32_t v[5])
{
    const uint32_t t = v[0] ^ v[0] >> 2;
    v[0] = v[1];
    v[1] = v[2];
    v[2] = v[3];
    v[3] = v[4];
    v[4] = (v[4] ^ v[4] << 4) ^ (t ^ t << 1);
}

SALTUS_FN uint32_t saltus_xorwow_next(uint32_t s[SALTUS_XORWOW_WORDS])
{
    saltus_xorwow_step(s);
    s[5] += 362437u;
    return s[4] + s[5];
}

/** v times a matrix. */
SALTUS_FN void saltus_xorwow_apply(const uint32_t *matrix, uint32_t v[5])
{
    uint32_t sum[5] = {0, 0, 0, 0, 0};
    for (int i = 0; i < 5; ++i) {
        for (int j = 0; j < 32; ++j) {
            const uint32_t *row = matrix + (32 * i + j) * 5, mask = 0u - (v[i] >> j & 1u);
            for (int k = 0; k < 5; ++k) {
                sum[k] ^= row[k] & mask;
            }
        }
    }
    for (int k = 0; k < 5; ++k) {
        v[k] = sum[k];
    }
}

/** The state before a trajectory's first word, to s[SALTUS_AT(i)]. jumps[k]: the matrix of 2^k
 * sub-sequences. */
SALTUS_OUTLINE void saltus_xorwow_start(uint32_t *s, uint64_t seed, uint64_t trajectory,
                                        const uint32_t *jumps)
{
    const uint32_t low = 1099087573u * ((uint32_t)seed ^ 0xaad26b49u);
    const uint32_t high = 2591861531u * ((uint32_t)(seed >> 32) ^ 0xf7dcefddu);
    uint32_t v[5] = {123456789u + low, 362436069u ^ low, 521288629u + high, 88675123u ^ high,
                     5783321u + low};
    for (; trajectory != 0; trajectory >>= 1, jumps += SALTUS_XORWOW_MATRIX) {
        if (trajectory & 1) {
            saltus_xorwow_apply(jumps, v);
        }
    }
    for (int i = 0; i < 5; ++i) {
        s[SALTUS_AT(i)] = v[i];
    }
    s[SALTUS_AT(5)] = 6615241u + high + low;
}

#endif
