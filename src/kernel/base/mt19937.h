/**
 * MT19937 (Matsumoto and Nishimura, ACM TOMACS 8, 1998, doi:10.1145/272991.272995), seeded by its
 * authors' init_by_array (2002) with four words: seed and trajectory, the low halves first.
 *
 * The state is renewed a word at a time, when it is needed, which gives the sequence of renewing
 * all 624 at once.
 */
#ifndef SALTUS_KERNEL_BASE_MT19937_H
#define SALTUS_KERNEL_BASE_MT19937_H

#include "kernel/base/target.h"

enum { SALTUS_MT19937_WORDS = 624, SALTUS_MT19937_LAG = 397 };

/** State s[SALTUS_AT(i)] from a key of n words. */
SALTUS_FN void saltus_mt19937_seed(uint32_t *s, const uint32_t *key, int n)
{
    uint32_t last = 19650218u;
    int i = 1, j = 0;
    s[0] = last;
    for (; i < SALTUS_MT19937_WORDS; ++i) {
        last = 1812433253u * (last ^ last >> 30) + (uint32_t)i;
        s[SALTUS_AT(i)] = last;
    }
    i = 1;
    last = s[0];
    for (int k = SALTUS_MT19937_WORDS > n ? SALTUS_MT19937_WORDS : n; k > 0; --k) {
        last = (s[SALTUS_AT(i)] ^ (last ^ last >> 30) * 1664525u) + key[j] + (uint32_t)j;
        s[SALTUS_AT(i)] = last;
        i = i + 1 < SALTUS_MT19937_WORDS ? i + 1 : 1;
        j = j + 1 < n ? j + 1 : 0;
    }
    for (int k = SALTUS_MT19937_WORDS - 1; k > 0; --k) {
        last = (s[SALTUS_AT(i)] ^ (last ^ last >> 30) * 1566083941u) - (uint32_t)i;
        s[SALTUS_AT(i)] = last;
        i = i + 1 < SALTUS_MT19937_WORDS ? i + 1 : 1;
    }
    s[0] = 0x80000000u;
}

SALTUS_OUTLINE void saltus_mt19937_start(uint32_t *s, uint64_t seed, uint64_t trajectory)
{
    const uint32_t key[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)trajectory,
                             (uint32_t)(trajectory >> 32)};
    saltus_mt19937_seed(s, key, 4);
}

/** The word whose number is `at` modulo 624; words come in order. */
SALTUS_FN uint32_t saltus_mt19937_next(uint32_t *s, int at)
{
    const int after = at + 1 < SALTUS_MT19937_WORDS ? at + 1 : 0;
    const int other = at + SALTUS_MT19937_LAG < SALTUS_MT19937_WORDS
                          ? at + SALTUS_MT19937_LAG
                          : at + SALTUS_MT19937_LAG - SALTUS_MT19937_WORDS;
    const uint32_t y = (s[SALTUS_AT(at)] & 0x80000000u) | (s[SALTUS_AT(after)] & 0x7fffffffu);
    uint32_t x = s[SALTUS_AT(other)] ^ y >> 1 ^ (y & 1u ? 0x9908b0dfu : 0u);
    s[SALTUS_AT(at)] = x;
    x ^= x >> 11;
    x ^= x << 7 & 0x9d2c5680u;
    x ^= x << 15 & 0xefc60000u;
    return x ^ x >> 18;
}

#endif
