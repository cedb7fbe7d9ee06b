/* Single lanes of vectors, and sets of lanes as bits, for lanes.c and rates.c. */
#ifndef SALTUS_BACKEND_CPU_ONE_LANE_H
#define SALTUS_BACKEND_CPU_ONE_LANE_H

#include "kernel/base/lanes.h"

#include <string.h>

/* The number of a lane in a vector, without the detour over the whole vector that a subscript
 * takes. */
SALTUS_FN double lane_of(const saltus_f64 *vector, int l)
{
    double x;
    memcpy(&x, (const char *)vector + (size_t)l * sizeof x, sizeof x);
    return x;
}

SALTUS_FN int64_t whole_of(const void *vector, int l)
{
    int64_t x;
    memcpy(&x, (const char *)vector + (size_t)l * sizeof x, sizeof x);
    return x;
}

SALTUS_FN void set_whole(void *vector, int l, int64_t x)
{
    memcpy((char *)vector + (size_t)l * sizeof x, &x, sizeof x);
}

SALTUS_FN void set_lane(saltus_f64 *vector, int l, double x)
{
    memcpy((char *)vector + (size_t)l * sizeof x, &x, sizeof x);
}

/* The mask whose lanes are these bits. */
SALTUS_FN saltus_mask mask_of(uint64_t bits)
{
    saltus_mask m;
#if defined(__AVX512DQ__) && SALTUS_LANES >= 8
    for (int i = 0; i < SALTUS_LANES / 8; ++i) {
        const __m512i part = _mm512_movm_epi64((__mmask8)(bits >> 8 * i));
        memcpy((char *)&m + 64 * i, &part, 64);
    }
#else
    for (int l = 0; l < SALTUS_LANES; ++l) { /* through memory: a subscript would cost a vector */
        set_whole(&m, l, -(int64_t)(bits >> l & 1));
    }
#endif
    return m;
}

/* The number of the lowest bit, which is taken away. */
SALTUS_FN int next_lane(uint64_t *bits)
{
    const int l = __builtin_ctzll(*bits);
    *bits &= *bits - 1;
    return l;
}

#endif
