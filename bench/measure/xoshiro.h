/** The random numbers of programs that the library is measured against: xoshiro256** (Blackman,
 * Vigna 2018), seeded by splitmix64. */
#ifndef SALTUS_BENCH_XOSHIRO_H
#define SALTUS_BENCH_XOSHIRO_H

#include <stdint.h>

typedef struct xoshiro {
    uint64_t s[4];
} xoshiro;

static inline void xoshiro_seed(xoshiro *g, uint64_t seed)
{
    for (int i = 0; i < 4; ++i) {
        uint64_t z = (seed += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        g->s[i] = z ^ (z >> 31);
    }
}

static inline uint64_t xoshiro_rotate(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

static inline uint64_t xoshiro_next(xoshiro *g)
{
    uint64_t *s = g->s;
    const uint64_t result = xoshiro_rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = xoshiro_rotate(s[3], 45);
    return result;
}

/** In (0, 1]. */
static inline double xoshiro_uniform(xoshiro *g)
{
    return (double)((xoshiro_next(g) >> 11) + 1) * 0x1p-53;
}

#endif
