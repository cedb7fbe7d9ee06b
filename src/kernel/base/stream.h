/**
 * A trajectory's main stream: the 32-bit words from which the direct method takes the wait and the
 * choice of event n, words 2n and 2n + 1. Block b is words 4b … 4b + 3, for two events.
 *
 * SALTUS_RNG says which generator the stream comes from. Philox gives any block at any time and has
 * no state. The others give the blocks in order, from 0 on; their state is saltus_stream_words(rng)
 * words in memory, words[SALTUS_AT(i)]. A small one is taken into registers while words are drawn.
 *
 * Bits beyond the main stream (the purposes WAIT, CHOICE and TIE of rng.h) are always Philox's.
 */
#ifndef SALTUS_KERNEL_BASE_STREAM_H
#define SALTUS_KERNEL_BASE_STREAM_H

#include "kernel/base/mrg32k3a.h"
#include "kernel/base/mt19937.h"
#include "kernel/base/rng.h"
#include "kernel/base/xorwow.h"

#define SALTUS_RNG_PHILOX 0
#define SALTUS_RNG_XORWOW 1
#define SALTUS_RNG_MRG32K3A 2
#define SALTUS_RNG_MT19937 3

#ifndef SALTUS_RNG
#define SALTUS_RNG SALTUS_RNG_PHILOX
#endif

/** Words of state. */
SALTUS_FN int saltus_stream_words(int rng)
{
    return rng == SALTUS_RNG_PHILOX    ? 0
           : rng == SALTUS_RNG_XORWOW  ? SALTUS_XORWOW_WORDS
           : rng == SALTUS_RNG_MT19937 ? SALTUS_MT19937_WORDS
                                       : SALTUS_MRG32K3A_WORDS;
}

enum {
    SALTUS_STREAM_REGISTERS =
        SALTUS_RNG == SALTUS_RNG_XORWOW || SALTUS_RNG == SALTUS_RNG_MRG32K3A ? 6 : 0
};

typedef struct saltus_stream {
    uint32_t *words;   /* in memory */
    uint32_t state[6]; /* the first SALTUS_STREAM_REGISTERS of them */
} saltus_stream;

/** Go on from what is in memory. */
SALTUS_FN void saltus_stream_load(saltus_stream *s, uint32_t *words)
{
    s->words = words;
    for (int i = 0; i < SALTUS_STREAM_REGISTERS; ++i) {
        s->state[i] = words[SALTUS_AT(i)];
    }
}

/** Leave the state in memory. */
SALTUS_FN void saltus_stream_save(const saltus_stream *s)
{
    for (int i = 0; i < SALTUS_STREAM_REGISTERS; ++i) {
        s->words[SALTUS_AT(i)] = s->state[i];
    }
}

/** To block 0 of a trajectory. @param words where the state is to stand
 * @param jumps the generator's tables, as in xorwow.h and mrg32k3a.h */
SALTUS_FN void saltus_stream_start(saltus_stream *s, uint32_t *words, uint64_t seed,
                                   uint64_t trajectory, const uint32_t *jumps)
{
    (void)seed, (void)trajectory, (void)jumps;
#if SALTUS_RNG == SALTUS_RNG_XORWOW
    saltus_xorwow_start(words, seed, trajectory, jumps);
#elif SALTUS_RNG == SALTUS_RNG_MRG32K3A
    saltus_mrg32k3a_start(words, seed, trajectory, jumps);
#elif SALTUS_RNG == SALTUS_RNG_MT19937
    saltus_mt19937_start(words, seed, trajectory);
#endif
    saltus_stream_load(s, words);
}

/** The four words of a block, which must be the next one unless the generator is Philox.
 * @param keys Philox's */
SALTUS_FN void saltus_stream_next(saltus_stream *s, const uint32_t keys[SALTUS_PHILOX_KEYS],
                                  uint64_t trajectory, uint64_t block, uint32_t w[4])
{
    (void)s, (void)keys, (void)trajectory, (void)block;
#if SALTUS_RNG == SALTUS_RNG_PHILOX
    uint32_t t = (uint32_t)trajectory, b = (uint32_t)block;
    SALTUS_OPAQUE(t); /* else the compiler multiplies 64 bits */
    SALTUS_OPAQUE(b);
    saltus_philox_keyed(keys, SALTUS_PURPOSE_EVENT, (trajectory >> 32 << 32) | t,
                        (block >> 32 << 32) | b, w);
#else
    for (int i = 0; i < 4; ++i) {
#if SALTUS_RNG == SALTUS_RNG_XORWOW
        w[i] = saltus_xorwow_next(s->state);
#elif SALTUS_RNG == SALTUS_RNG_MRG32K3A
        w[i] = saltus_mrg32k3a_next(s->state);
#else
        w[i] = saltus_mt19937_next(s->words, (int)(block % (SALTUS_MT19937_WORDS / 4)) * 4 + i);
#endif
    }
#endif
}

#endif
