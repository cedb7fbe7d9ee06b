/**
 * The queues of a warp that updates the sites of a lattice (kernel/rdme/sites.h), and how particles
 * get into and out of them. They are in shared memory.
 */
#ifndef SALTUS_KERNEL_RDME_QUEUES_H
#define SALTUS_KERNEL_RDME_QUEUES_H

#include "kernel/rdme/tiles.h"
#include "kernel/rdme/move.h"

#if SALTUS_DEVICE

enum {
    SALTUS_MPD_ENOUGH =
        SALTUS_MPD_ENOUGH_OF(SALTUS_MPD_WORDS), /* from so many on, the queue is worked off */
    SALTUS_MPD_OCCUPIED = SALTUS_MPD_TILE + SALTUS_MPD_ENOUGH
};

/* The queues of a warp, in shared memory. */
typedef struct saltus_mpd_warp_queues {
    /* Sites with particles, then the first word of each, then the second, and so on. */
    uint32_t occupied[SALTUS_MPD_OCCUPIED * (1 + SALTUS_MPD_WORDS)];
    /* For each reactive site, the word of its first wait. */
    uint32_t waits[SALTUS_MPD_OCCUPIED];
    /* Particles that are still to move, packed by saltus_mpd_other. */
    uint32_t pending_moves[SALTUS_MPD_PENDING_MOVES];
    /* Entries of `reactive`; and of `pending_moves`, those that found no room there too. */
    int32_t n_reactive, n_pending_moves;
    uint16_t reactive[SALTUS_MPD_OCCUPIED]; /* numbers in `occupied` of sites where a reaction may
                                               fire */
} saltus_mpd_warp_queues;
typedef char saltus_mpd_warp_queues_fit
    [sizeof(saltus_mpd_warp_queues) <= SALTUS_MPD_WARP_QUEUES_BYTES(SALTUS_MPD_WORDS) ? 1 : -1];

/* Read the words of occupied site i. */
SALTUS_FN void saltus_mpd_read_occupied(uint32_t v[SALTUS_MPD_WORDS],
                                        const saltus_mpd_warp_queues *b, int i)
{
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_WORDS; ++k) {
        v[k] = b->occupied[SALTUS_MPD_OCCUPIED * (1 + k) + i];
    }
}

/* What the threads of a warp know of the phase. */
typedef struct saltus_mpd_now {
    const saltus_mpd *m;
    saltus_mpd_warp_queues *queues;
    int64_t step;
    int what, set; /* the set that holds the particles; they go to the other one */
} saltus_mpd_now;

/* Read the words of occupied site i for the first time. That of a site that is marked is in the set
 * that holds the particles still, where it is cleared. */
SALTUS_FN void saltus_mpd_fetch_occupied(const saltus_mpd_now *p, int i,
                                         uint32_t v[SALTUS_MPD_WORDS])
{
#ifdef SALTUS_MPD_MARKED
    const uint32_t site = p->queues->occupied[i];
    uint32_t *const word = saltus_mpd_words_at(p->m, p->set, site);
    v[0] = *word >> saltus_mpd_shift_of(site) & SALTUS_MPD_LAST_WORD;
    if (!v[0]) { /* cleared when it has come: behind its load at once the store would wait for long
                  */
        return;
    }
    if (SALTUS_MPD_SHARERS == 4) {
        ((uint8_t *)word)[site % 4] = 0;
    } else if (SALTUS_MPD_SHARERS == 2) {
        ((uint16_t *)(void *)word)[site % 2] = 0;
    } else {
        *word = 0;
    }
    p->queues->occupied[SALTUS_MPD_OCCUPIED + i] = v[0];
#else
    saltus_mpd_read_occupied(v, p->queues, i);
#endif
}

/* A particle packed into an entry of `pending_moves`:
 *
 *     bits 31 ... 16                             15 ... 9   8 ... 0
 *          number among those of the species     species    number of the site in `occupied`
 *
 * Example: particle 2 of species 5 in occupied site 300: 2 << 16 | 5 << 9 | 300 = 0x00020B2C. */
SALTUS_FN uint32_t saltus_mpd_other(int occupied, int species, uint32_t rank)
{
    return (uint32_t)occupied | (uint32_t)species << 9 | rank << 16;
}

/* The answer where memory was not asked. */
SALTUS_FN saltus_mpd_answer saltus_mpd_no_answer(void)
{
    const saltus_mpd_answer none = {0, 0, 0};
    return none;
}

/* Move a particle whose words are known. */
SALTUS_FN saltus_mpd_answer saltus_mpd_hop(const saltus_mpd_now *p, const saltus_mpd_site_pos *here,
                                           int species, const uint32_t w[4])
{
    const saltus_mpd_site_pos to = saltus_mpd_move(p->m, here, species, w);
    saltus_mpd_answer answer = saltus_mpd_no_answer();
    if (to.site != SALTUS_NOWHERE) {
        answer = saltus_mpd_put(p->m, 1 - p->set, to.site, species, 1);
    }
    if (!SALTUS_MPD_IS_LATE) {
        saltus_mpd_settle(p->m, answer);
        answer = saltus_mpd_no_answer();
    }
    return answer;
}

/* Draw the words of a particle, and move it. */
SALTUS_FN saltus_mpd_answer saltus_mpd_start_and_hop(const saltus_mpd_now *p, uint32_t site,
                                                     int species, uint32_t rank)
{
    const saltus_mpd_site_pos here = saltus_mpd_site_pos_of(p->m, site);
    uint32_t w[4];
    saltus_mpd_words(p->m, SALTUS_PURPOSE_MOVE, p->step, saltus_mpd_global_of(p->m, site), species,
                     rank, w);
    return saltus_mpd_hop(p, &here, species, w);
}

/* Whether particles of a species move in this phase. */
SALTUS_FN int saltus_mpd_goes(const saltus_mpd_now *p, int species)
{
    return (p->what & SALTUS_MPD_MOVES) && SALTUS_MPD_OF(p->m, moves)[species];
}

/* Move a particle when pending_moves has no room. p is a copy, so that what is known of the phase
 * can stay in registers. */
SALTUS_RARE_FN void saltus_mpd_hop_at_once(saltus_mpd_now p, uint32_t site, int species,
                                           uint32_t rank)
{
    saltus_mpd_settle(p.m, saltus_mpd_start_and_hop(&p, site, species, rank));
}

/* Queue the particles v of occupied site i, or put them into the other set if they stand still.
 * Particle number 0 of species `gone` has moved already. */
SALTUS_FN void saltus_mpd_list(const saltus_mpd_now *p, int i, uint32_t v[SALTUS_MPD_WORDS],
                               int gone)
{
    saltus_mpd_warp_queues *const b = p->queues;
    const uint32_t site = b->occupied[i];
    for (int x = saltus_mpd_first(v); x >= 0; x = saltus_mpd_first(v)) {
        const uint32_t n = saltus_mpd_number(v, x), from = x == gone;
        saltus_mpd_change(v, x, 0u - n);
        if (!saltus_mpd_goes(p, x)) {
            saltus_mpd_settle(p->m, saltus_mpd_put(p->m, 1 - p->set, site, x, n));
            continue;
        }
        const uint32_t at = (uint32_t)SALTUS_FETCH_ADD(&b->n_pending_moves, (int32_t)n);
        SALTUS_ONE_BY_ONE
        for (uint32_t k = 0; k < n; ++k) {
            if (at + k < SALTUS_MPD_PENDING_MOVES) {
                b->pending_moves[at + k] = saltus_mpd_other(i, x, from + k);
            } else {
                saltus_mpd_hop_at_once(*p, site, x, from + k);
            }
        }
    }
}

#endif
#endif
