/** The slots of tau_lanes.h, in which many trajectories leap side by side. */
#ifndef SALTUS_KERNEL_TAU_SLOTS_H
#define SALTUS_KERNEL_TAU_SLOTS_H

#include "kernel/base/lanes.h"

#if SALTUS_LANES == 1
#error "tau.h is for one lane"
#endif

enum {
    SALTUS_LEAP_CHUNKS = 32,
    SALTUS_LEAP_SLOTS = SALTUS_LEAP_CHUNKS * SALTUS_LANES,
    SALTUS_IDLE_SLOT = SALTUS_LEAP_SLOTS, /* lanes of a list that is not a whole chunk; mean 0 */
    SALTUS_IDLE_LARGE_SLOT,               /* the same; the mean is large */
};

/** State of the slots. */
typedef struct saltus_leaps {
    saltus_f64 *v;              /* [chunk][row] as in tables.h */
    saltus_f64 *a;              /* [chunk][reaction] propensities; negative: it is critical */
    saltus_f64 *change;         /* [chunk][species] by a leap */
    saltus_f64 *second;         /* [chunk][reaction] drawn for the second half of a leap */
    saltus_f64 *middle;         /* [row] in the middle of a chunk's leap */
    saltus_f64 *drift, *spread; /* [species] mean, later relaxation, and variance, as in state.h */
    saltus_f64 *trend;          /* [species] that mean */
    saltus_f64 *sway;           /* [row of directions][species] as in state.h */
    saltus_f64 *peak, *trough;  /* [chunk][bending], [bending] as in state.h; -1: not critical */
    saltus_f64 *first;          /* [chunk][bending] firings in the first half of a leap */
    saltus_f64 t[SALTUS_LEAP_CHUNKS];
    saltus_f64 stop[SALTUS_LEAP_CHUNKS]; /* the next sample or special time */
    saltus_i64 exact[SALTUS_LEAP_CHUNKS];
    saltus_i64 leaps[SALTUS_LEAP_CHUNKS], exact_steps[SALTUS_LEAP_CHUNKS],
        fired[SALTUS_LEAP_CHUNKS];
    saltus_u64 trajectory[SALTUS_LEAP_CHUNKS + 1], block[SALTUS_LEAP_CHUNKS + 1];
    /* of the leap under way */
    saltus_f64 total[SALTUS_LEAP_CHUNKS], critical_total[SALTUS_LEAP_CHUNKS];
    saltus_f64 step[SALTUS_LEAP_CHUNKS], length[SALTUS_LEAP_CHUNKS], t_next[SALTUS_LEAP_CHUNKS];
    saltus_f64 goal[SALTUS_LEAP_CHUNKS]; /* a critical reaction's, */
    saltus_u64 word[SALTUS_LEAP_CHUNKS]; /* and what decides whether it fires */
    saltus_f64 sum[SALTUS_LEAP_CHUNKS];  /* reactions */
    /* of one reaction: k firings, and where they are few, those of the first half */
    saltus_f64 mean[SALTUS_LEAP_CHUNKS + 1], k[SALTUS_LEAP_CHUNKS + 1],
        half[SALTUS_LEAP_CHUNKS + 1];
    saltus_f64 u[SALTUS_LEAP_CHUNKS], u2[SALTUS_LEAP_CHUNKS];  /* of a list's slots */
    saltus_u64 w2[SALTUS_LEAP_CHUNKS], w3[SALTUS_LEAP_CHUNKS]; /* the words of u2 */
    saltus_mask one[SALTUS_LEAP_CHUNKS];                       /* a critical reaction ends it */
    saltus_i64 fires[SALTUS_LEAP_CHUNKS];                      /* which one does; -1: none */
    saltus_mask left[SALTUS_LEAP_CHUNKS];                      /* they have not leapt yet */
    saltus_mask brief[SALTUS_LEAP_CHUNKS];                     /* their leap is not worth while */
    saltus_mask bad[SALTUS_LEAP_CHUNKS]; /* only tau.h can tell what becomes of them */
} saltus_leaps;

/** The lanes of a chunk that are slots first … end - 1. */
SALTUS_FN saltus_mask saltus_leaps_within(int chunk, int first, int end)
{
    saltus_i64 slot;
    for (int l = 0; l < SALTUS_LANES; ++l) {
        slot[l] = chunk * SALTUS_LANES + l;
    }
    return SALTUS_LE(saltus_splat_i64(first), slot) & SALTUS_LT(slot, saltus_splat_i64(end));
}

#endif
