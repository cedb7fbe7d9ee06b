/**
 * The scheme of GPU simulators that generate a kernel for a model, as a baseline: a thread for a
 * trajectory, counts and propensities in local arrays, a dense constant matrix of changes, every
 * propensity recomputed at every event, a linear search, MRG32k3a, the hardware's logarithm. None
 * of the library's promises is kept but the distribution. Written from this description alone.
 *
 * Before this text stand, of the model,
 *
 *     SCHEME_SPECIES, SCHEME_REACTIONS
 *     SCHEME_START               counts at time 0, {…}
 *     SCHEME_CHANGES             [reaction][species], {…}
 *     SCHEME_PROPENSITIES(y, h)  a statement h[r] = …; for each reaction
 */
#ifndef SCHEME_H
#define SCHEME_H

#include "kernel/base/math.h"
#include "kernel/base/mrg32k3a.h"

/** What a launch works on; addresses are the device's. Thread i has trajectory i. */
typedef struct scheme_launch {
    int64_t n; /**< trajectories */
    uint64_t seed;
    const uint32_t *jumps; /**< of MRG32k3a */
    uint32_t *states;      /**< [word][thread]: where a stream starts */
    const double *times;   /**< [n_times] */
    int64_t n_times;
    int32_t *samples; /**< out: [time][species][trajectory] */
    uint64_t *events; /**< out: [trajectory] reactions that fired up to the last time */
} scheme_launch;

#ifdef SCHEME_SPECIES
#if defined(__CUDACC_RTC__)
#define SCHEME_CONSTANT static __constant__ const
#define SCHEME_EXPONENTIAL(word) ((double)-__logf((float)(word)*0x1p-32f))
#else
#define SCHEME_CONSTANT static const
#define SCHEME_EXPONENTIAL(word) saltus_exponential32(word)
#endif

SCHEME_CONSTANT int32_t scheme_start[SCHEME_SPECIES] = SCHEME_START;
SCHEME_CONSTANT int32_t scheme_changes[SCHEME_REACTIONS * SCHEME_SPECIES] = SCHEME_CHANGES;

/* All propensities from the counts; returns their sum. */
SALTUS_FN double scheme_propensities(const int32_t y[SCHEME_SPECIES], double h[SCHEME_REACTIONS])
{
    double total = 0.0;
    SCHEME_PROPENSITIES(y, h)
    for (int r = 0; r < SCHEME_REACTIONS; ++r) {
        total += h[r];
    }
    return total;
}

SALTUS_FN int scheme_find(const double h[SCHEME_REACTIONS], double goal)
{
    int r = 0;
    while (r < SCHEME_REACTIONS - 1 && goal >= h[r]) {
        goal -= h[r++];
    }
    return r;
}

SALTUS_KERNEL(scheme, scheme_launch, a)
{
    const int64_t i = SALTUS_THREAD;
    double h[SCHEME_REACTIONS], t = 0.0;
    int32_t y[SCHEME_SPECIES];
    uint32_t s[SALTUS_MRG32K3A_WORDS];
    uint64_t events = 0;
    if (i >= a.n) {
        return;
    }
    saltus_mrg32k3a_start(a.states + i, a.seed, (uint64_t)i, a.jumps);
    for (int k = 0; k < SALTUS_MRG32K3A_WORDS; ++k) {
        s[k] = a.states[i + SALTUS_AT(k)];
    }
    for (int k = 0; k < SCHEME_SPECIES; ++k) {
        y[k] = scheme_start[k];
    }
    for (int64_t point = 0;;) {
        const double total = scheme_propensities(y, h);
        const uint32_t word = saltus_mrg32k3a_next(s);
        t += total > 0.0 ? SCHEME_EXPONENTIAL(word) / total : SALTUS_INFINITY;
        for (; point < a.n_times && a.times[point] < t; ++point) {
            for (int k = 0; k < SCHEME_SPECIES; ++k) {
                a.samples[(point * SCHEME_SPECIES + k) * a.n + i] = y[k];
            }
        }
        if (point == a.n_times) {
            break;
        }
        const int r = scheme_find(h, (double)saltus_mrg32k3a_next(s) * 0x1p-32 * total);
        for (int k = 0; k < SCHEME_SPECIES; ++k) {
            y[k] += scheme_changes[r * SCHEME_SPECIES + k];
        }
        ++events;
    }
    a.events[i] = events;
}
#endif

#endif
