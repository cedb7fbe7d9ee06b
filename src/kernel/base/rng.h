/**
 * Counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011,
 * doi:10.1145/2063384.2063405).
 *
 * key = seed, counter = (trajectory, purpose, block): any number can be had at any time, alone, on
 * any target. Words are 32 bits wide and stand in the low halves of 64-bit lanes, which is how
 * the widening multiplication of every target wants them.
 */
#ifndef SALTUS_KERNEL_BASE_RNG_H
#define SALTUS_KERNEL_BASE_RNG_H

#include "kernel/base/target.h"

enum { SALTUS_PHILOX_KEYS = 20 };

#define SALTUS_TWO_M32 2.3283064365386962890625e-10 /* 2^-32: the weight of a word */

/** What a block of random words is for. A number is never reused for something else. */
enum {
    SALTUS_PURPOSE_EVENT = 0,  /**< block n / 2: wait and choice of events n and n + 1 */
    SALTUS_PURPOSE_WAIT = 1,   /**< block n: more bits of event n's wait */
    SALTUS_PURPOSE_CHOICE = 2, /**< block n: more bits of event n's choice */
    SALTUS_PURPOSE_TIE = 3,    /**< block k: the k-th choice among model events of equal priority */
    SALTUS_PURPOSE_LEAP = 4,   /**< block k: the k-th of tau-leaping, whatever it is for */
    SALTUS_PURPOSE_DESIGN = 5, /**< not of a trajectory: a random design of a sweep */
    SALTUS_PURPOSE_NETWORK = 6,  /**< nor of one: a random network to measure with */
    SALTUS_PURPOSE_SPACE = 7,    /**< block 0: the key of a trajectory on a lattice, under which: */
    SALTUS_PURPOSE_MOVE = 8,     /**< kernel/rdme/mpd.h: a particle's three moves in a step */
    SALTUS_PURPOSE_SITE = 9,     /**< the waits and choices of a site in a step */
    SALTUS_PURPOSE_PLACE = 10,   /**< block i: where particle i starts */
    SALTUS_PURPOSE_SOURCE = 11,  /**< what comes from nothing in a step */
    SALTUS_PURPOSE_NEXT = 12,    /**< kernel/rdme/nsm.h: waits and choice of an event */
    SALTUS_PURPOSE_LATE = 13,    /**< block k: more bits of its k-th wait */
    SALTUS_PURPOSE_KICK = 14,    /**< from block k 2^24 on: kick or rounding k of method hybrid */
    SALTUS_PURPOSE_VARIATE = 20, /**< from block n 2^20 on: variate n of a trajectory's values */
};

/**
 * Four words for every lane.
 *
 * @param seed       any 64 bits
 * @param purpose    0 … 255
 * @param trajectory 64 bits
 * @param block      0 … 2^56 - 1
 * @param[out] w     w[0 … 3], 32 bits each, upper halves zero
 */
SALTUS_FN void saltus_philox(uint64_t seed, uint32_t purpose, saltus_u64 trajectory,
                             saltus_u64 block, saltus_u64 w[4])
{
    const uint64_t low = 0xffffffffu;
    saltus_u64 c0 = block & low;
    saltus_u64 c1 = (block >> 32) << 8 | purpose;
    saltus_u64 c2 = trajectory & low;
    saltus_u64 c3 = trajectory >> 32;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (int round = 0; round < 10; ++round) {
        /* only the low halves of c0 and c2 enter; what is left in the upper halves of the others
         * never comes down */
        const saltus_u64 p0 = (c0 & low) * (uint64_t)0xD2511F53u;
        const saltus_u64 p1 = (c2 & low) * (uint64_t)0xCD9E8D57u;
        c0 = (p1 >> 32) ^ c1 ^ (uint64_t)k0;
        c2 = (p0 >> 32) ^ c3 ^ (uint64_t)k1;
        c1 = p1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    w[0] = c0 & low;
    w[1] = c1 & low;
    w[2] = c2 & low;
    w[3] = c3 & low;
}

/** A uniform number of 52 bits, above 0 and below 1, of two words. */
SALTUS_FN double saltus_uniform52(uint64_t high, uint64_t low)
{
    return ((double)(int64_t)((high << 32 | low) >> 12) + 0.5) * 0x1p-52;
}

/** The keys of all rounds, for saltus_philox_keyed. */
SALTUS_FN void saltus_philox_keys(uint64_t seed, uint32_t keys[SALTUS_PHILOX_KEYS])
{
    for (int round = 0; round < SALTUS_PHILOX_KEYS / 2; ++round) {
        keys[2 * round] = (uint32_t)seed + (uint32_t)round * 0x9E3779B9u;
        keys[2 * round + 1] = (uint32_t)(seed >> 32) + (uint32_t)round * 0xBB67AE85u;
    }
}

/** saltus_philox of one trajectory, in 32-bit words, with keys made before: what a GPU does in two
 * multiplications and two exclusive ors per round. */
SALTUS_FN void saltus_philox_keyed(const uint32_t keys[SALTUS_PHILOX_KEYS], uint32_t purpose,
                                   uint64_t trajectory, uint64_t block, uint32_t w[4])
{
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32) << 8 | purpose;
    uint32_t c2 = (uint32_t)trajectory, c3 = (uint32_t)(trajectory >> 32);

    SALTUS_UNROLL
    for (int round = 0; round < SALTUS_PHILOX_KEYS / 2; ++round) {
        const uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ keys[2 * round];
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ keys[2 * round + 1];
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
    }
    w[0] = c0;
    w[1] = c1;
    w[2] = c2;
    w[3] = c3;
}

#endif
