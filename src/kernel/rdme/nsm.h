/**
 * Reaction and diffusion on a lattice, exactly, by the next-subvolume method (J. Elf & M.
 * Ehrenberg, Systems Biology 1 (2004) 230, doi:10.1049/sb:20045021). Every site that holds
 * particles has a slot (kernel/rdme/nsm_sites.h), and every slot the time of its next event, in a
 * tournament (kernel/rdme/nsm_queue.h). When a site changes its time is drawn anew, which is exact,
 * because exponential waits have no memory.
 *
 * The random words of event n belong to (seed, trajectory, n): one for the wait of the site where
 * it happened, one for that of the site to which a particle went, two for the choice. Sums are
 * recomputed from counts each time.
 *
 * Nothing is allocated here. An event takes at most one slot, and as many groups as its reaction
 * changes species, at least one. So the host makes room for SALTUS_NSM_BATCH such events, then
 * calls saltus_nsm_advance, which returns after a batch at the latest.
 */
#ifndef SALTUS_KERNEL_RDME_NSM_H
#define SALTUS_KERNEL_RDME_NSM_H

#include "kernel/rdme/nsm_sites.h"

#if SALTUS_LANES != 1
#error "a trajectory is one lane wide"
#endif

/** Events whose random words are drawn together; and particles that are placed together. */
enum { SALTUS_NSM_BATCH = 64 };

/** Draws for the events of a batch. */
typedef struct saltus_nsm_draws {
    double wait[SALTUS_NSM_BATCH];          /**< of unit rate */
    double unit[SALTUS_NSM_BATCH];          /**< the choice, in [0, 1) */
    uint32_t word_of_2nd[SALTUS_NSM_BATCH]; /**< the word of the second wait */
} saltus_nsm_draws;

/** Why a trajectory cannot go on. COUNT: a site would hold fewer than 0 particles of a species, or
 * more than SALTUS_NSM_MOST, by a reaction or, -1, by a jump. PROPENSITY: that of a reaction is
 * negative, infinite or not a number. */
enum { SALTUS_NSM_NO_FAILURE, SALTUS_NSM_COUNT, SALTUS_NSM_PROPENSITY };

typedef struct saltus_nsm_failure {
    int32_t what;
    int32_t reaction, species;
    int64_t site;
    int64_t count;
    double propensity;
} saltus_nsm_failure;

/** What is counted, by the names of the report's counters: reactions, and jumps. */
#define SALTUS_NSM_COUNTERS(X) X(events) X(moves)

typedef struct saltus_nsm_tally {
#define SALTUS_MEMBER(name) int64_t name;
    SALTUS_NSM_COUNTERS(SALTUS_MEMBER)
#undef SALTUS_MEMBER
} saltus_nsm_tally;

/** A trajectory. */
typedef struct saltus_nsm {
    saltus_nsm_sites sites;
    /** [species] particles in all sites */
    int64_t *totals;
    saltus_nsm_draws draws;
    /** The time of the last event, in s. */
    double time;
    /** The number of the next event. The first ones are the waits of the first slots. */
    int64_t event;
    saltus_nsm_tally tally;
    /** The first failure, at `time`. */
    saltus_nsm_failure failure;
} saltus_nsm;

SALTUS_OUTLINE void saltus_nsm_fail(saltus_nsm *s, saltus_nsm_failure failure)
{
    if (s->failure.what == SALTUS_NSM_NO_FAILURE) {
        s->failure = failure;
    }
}

/* Add particles of a species to a slot, or take some away: a reaction, or -1. */
SALTUS_LARGE_FN void saltus_nsm_change(saltus_nsm *s, int32_t number, int species, int64_t amount,
                                       int reaction)
{
    const int64_t count = saltus_nsm_add(&s->sites, number, species, amount);
    if (SALTUS_RARE(count < 0 || count > SALTUS_NSM_MOST)) {
        const saltus_nsm_failure failure = {
            SALTUS_NSM_COUNT, reaction, species, s->sites.slots[number].site, count, 0.0};
        saltus_nsm_fail(s, failure);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Waits
 */

/* A wait of unit rate, of a word that is 0: further bits belong to the event and to which of its
 * waits it is, 0 or 1. */
SALTUS_OUTLINE double saltus_nsm_long_wait(const saltus_nsm *s, int64_t event, int which)
{
    uint32_t w[4];
    saltus_philox_keyed(s->sites.l.m.keys, SALTUS_PURPOSE_LATE, (uint64_t)event, (uint64_t)which,
                        w);
    return 22.180709777918249 + /* 32 ln 2 */ saltus_exponential32(w[0] | (w[0] == 0));
}

/* The second wait of the present event, of unit rate, from its word. */
SALTUS_FN double saltus_nsm_2nd_wait(const saltus_nsm *s, uint32_t word)
{
    return word != 0 ? saltus_exponential32(word) : saltus_nsm_long_wait(s, s->event, 1);
}

/* Draw a batch, in loops of their own, which compilers turn into vectors. */
SALTUS_LARGE_FN void saltus_nsm_draw_batch(saltus_nsm *s)
{
    saltus_nsm_draws *d = &s->draws;
    uint32_t w[4][SALTUS_NSM_BATCH];
    const int64_t first = s->event;
    for (int i = 0; i < SALTUS_NSM_BATCH; ++i) {
        uint32_t block[4];
        saltus_philox_keyed(s->sites.l.m.keys, SALTUS_PURPOSE_NEXT, (uint64_t)(first + i), 0,
                            block);
        for (int k = 0; k < 4; ++k) {
            w[k][i] = block[k];
        }
    }
    for (int i = 0; i < SALTUS_NSM_BATCH; ++i) {
        d->wait[i] = saltus_exponential32(w[0][i]);
        d->unit[i] = (double)(int64_t)(((uint64_t)w[2][i] << 32 | w[3][i]) >> 11) * 0x1p-53;
    }
    for (int i = 0; i < SALTUS_NSM_BATCH; ++i) {
        d->word_of_2nd[i] = w[1][i];
        if (w[0][i] == 0) {
            d->wait[i] = saltus_nsm_long_wait(s, first + i, 0);
        }
    }
}

/* Write a slot's counts, or zeros, into the rows. */
SALTUS_FN void saltus_nsm_write_rows(saltus_nsm *s, const saltus_nsm_slot *here, int is_count)
{
    for (const saltus_nsm_group *g = &here->first; g; g = saltus_nsm_next(&s->sites, g)) {
        s->sites.l.v[g->species] = is_count ? g->count : 0.0;
    }
}

/* The sum of the propensities of a slot whose counts are in the rows; l.a[reaction] is set to each.
 */
SALTUS_LARGE_FN double saltus_nsm_sum_propensities(saltus_nsm *s, const saltus_nsm_slot *here)
{
    const saltus_nsm_lattice *l = &s->sites.l;
    int bad = -1;
    const double total = saltus_mpd_total(&l->m, l->of, here->kind / 2, l->v, l->a, &bad);
    if (SALTUS_RARE(bad >= 0)) {
        const saltus_nsm_failure failure = {SALTUS_NSM_PROPENSITY,
                                            bad,
                                            -1,
                                            here->site,
                                            0,
                                            total < SALTUS_INFINITY ? l->a[bad] : total};
        saltus_nsm_fail(s, failure);
    }
    return total;
}

/* The sum of the rates of a slot, with jumps at the largest rate that its kind may have. Reactions
 * are listed by first reactant; those that lack it are left out, unless there are laws other than
 * products. */
SALTUS_FN double saltus_nsm_sum_rates(saltus_nsm *s, const saltus_nsm_slot *here)
{
    const saltus_nsm_lattice *l = &s->sites.l;
    const int type = here->kind / 2;
    const int32_t *segment = saltus_mpd_segments(&l->m, type);
    const double *leave = saltus_nsm_leave(l, here->kind);
    double jumps = 0.0, reactions = 0.0;
    saltus_nsm_write_rows(s, here, 1);
    for (const saltus_nsm_group *g = &here->first; g; g = saltus_nsm_next(&s->sites, g)) {
        jumps += SALTUS_NSM_DIRECTIONS * leave[g->species] * g->count;
        for (int i = segment[g->species + 1]; i < segment[g->species + 2]; ++i) {
            reactions += saltus_mpd_propensity(&l->m, l->of, type, l->m.active[i], l->v);
        }
    }
    if (segment[0] < segment[1]) {
        reactions = saltus_nsm_sum_propensities(s, here);
    }
    saltus_nsm_write_rows(s, here, 0);
    return jumps + reactions;
}

/* Draw a slot's time anew, from a wait of unit rate; or free a slot that has become empty. */
SALTUS_LARGE_FN void saltus_nsm_draw_time(saltus_nsm *s, int32_t number, double wait)
{
    saltus_nsm_slot *here = &s->sites.slots[number];
    double time = SALTUS_INFINITY;
    if (here->first.count == 0) {
        saltus_nsm_free_slot(&s->sites, number);
    } else if (saltus_nsm_is_lone(here)) {
        time = s->time + wait * saltus_nsm_lone_of(&s->sites.l, here)->mean_wait;
    } else {
        here->total = saltus_nsm_sum_rates(s, here);
        time = here->total > 0.0 ? s->time + wait / here->total : time;
    }
    saltus_nsm_queue_set(&s->sites.queue, number, time);
}

/* ------------------------------------------------------------------------------------------------
 * Events
 */

/* A particle arrives in a site. */
SALTUS_LARGE_FN void saltus_nsm_arrive(saltus_nsm *s, int64_t site, int species, double wait)
{
    const int32_t number = saltus_nsm_alloc_slot(&s->sites, site);
    saltus_nsm_change(s, number, species, 1, -1);
    saltus_nsm_draw_time(s, number, wait);
}

/* A particle jumps; or stays, by the rest of the draw, which is in [0, 1). */
SALTUS_FN void saltus_nsm_jump(saltus_nsm *s, int32_t number, int species, int direction,
                               double rest, double wait, double wait_there)
{
    const saltus_nsm_lattice *l = &s->sites.l;
    const saltus_nsm_slot *here = &s->sites.slots[number];
    int64_t to = here->site + l->stride[direction];
    if (here->kind & SALTUS_NSM_EDGE) {
        const int type = here->kind / 2;
        to = saltus_nsm_neighbour(l, here->site, direction);
        const int there = to >= 0 ? saltus_mpd_type(&l->m, (uint32_t)to) : type;
        if (to == SALTUS_NSM_STAYS || !(rest * saltus_nsm_leave(l, here->kind)[species] <
                                        saltus_nsm_jump_rates(l, type, there)[species])) {
            saltus_nsm_draw_time(s, number, wait);
            return;
        }
    }
    ++s->tally.moves;
    if (to >= 0 && saltus_nsm_slot_at(&s->sites, to) != SALTUS_NSM_EMPTY) {
        saltus_nsm_prefetch(&s->sites, saltus_nsm_slot_at(&s->sites, to));
    }
    saltus_nsm_change(s, number, species, -1, -1);
    saltus_nsm_draw_time(s, number, wait);
    if (to >= 0) {
        saltus_nsm_arrive(s, to, species, wait_there);
    } else {
        --s->totals[species];
    }
}

SALTUS_LARGE_FN void saltus_nsm_fire(saltus_nsm *s, int32_t number, int reaction, double wait)
{
    const saltus_tables *n = s->sites.l.of;
    ++s->tally.events;
    for (int c = n->change_row[reaction]; c < n->change_row[reaction + 1]; ++c) {
        saltus_nsm_change(s, number, n->change_species[c], n->change_amount[c], reaction);
        s->totals[n->change_species[c]] += n->change_amount[c];
    }
    saltus_nsm_draw_time(s, number, wait);
}

/* A source makes a particle, or fires its reaction. */
SALTUS_FN void saltus_nsm_fire_source(saltus_nsm *s, double unit, double wait, double wait_there)
{
    const saltus_nsm_lattice *l = &s->sites.l;
    const saltus_nsm_source *source = l->sources;
    double target = unit * l->source_rate;
    for (int i = 0; i + 1 < l->n_sources && target >= source->rate; ++i, ++source) {
        target -= source->rate;
    }
    const int64_t k = (int64_t)(target / source->rate * (double)source->n_sites);
    const int64_t rank = k < source->n_sites ? k : source->n_sites - 1,
                  site = source->sites ? source->sites[rank] : rank;
    saltus_nsm_queue_set(&s->sites.queue, SALTUS_NSM_SOURCES, s->time + wait / l->source_rate);
    if (source->only_empty && saltus_nsm_slot_at(&s->sites, site) != SALTUS_NSM_EMPTY) {
        return;
    }
    if (source->reaction >= 0) {
        saltus_nsm_fire(s, saltus_nsm_alloc_slot(&s->sites, site), source->reaction, wait_there);
        return;
    }
    ++s->tally.moves;
    ++s->totals[source->species];
    saltus_nsm_arrive(s, site, source->species, wait_there);
}

/* Any event but those of saltus_nsm_hop. */
SALTUS_LARGE_FN void saltus_nsm_any_event(saltus_nsm *s, int32_t number, double unit, double wait,
                                          uint32_t word)
{
    const saltus_nsm_lattice *l = &s->sites.l;
    const saltus_nsm_slot *here = &s->sites.slots[number];
    const double *leave = saltus_nsm_leave(l, here->kind);
    if (number == SALTUS_NSM_SOURCES) {
        saltus_nsm_fire_source(s, unit, wait, saltus_nsm_2nd_wait(s, word));
        return;
    }
    double target = unit * (saltus_nsm_is_lone(here) ? 1.0 / saltus_nsm_lone_of(l, here)->mean_wait
                                                     : here->total);
    for (const saltus_nsm_group *g = &here->first; g; g = saltus_nsm_next(&s->sites, g)) {
        const double each = leave[g->species] * g->count; /* rate of jumps in one direction */
        if (target < SALTUS_NSM_DIRECTIONS * each) {
            const double x = target / each;
            const int direction = x < SALTUS_NSM_DIRECTIONS ? (int)x : SALTUS_NSM_DIRECTIONS - 1;
            saltus_nsm_jump(s, number, g->species, direction, x - direction, wait,
                            saltus_nsm_2nd_wait(s, word));
            return;
        }
        target -= SALTUS_NSM_DIRECTIONS * each;
    }
    saltus_nsm_write_rows(s, here, 1);
    const double total = saltus_nsm_sum_propensities(s, here);
    saltus_nsm_write_rows(s, here, 0);
    if (s->failure.what != SALTUS_NSM_NO_FAILURE) {
        return;
    }
    if (!(total > 0.0)) { /* rounding has left nothing to choose */
        saltus_nsm_draw_time(s, number, wait);
        return;
    }
    saltus_nsm_fire(s, number, saltus_mpd_choose(&l->m, here->kind / 2, l->a, target), wait);
}

/* The usual event: a particle that is alone jumps within its type into an empty site. Returns 0 if
 * it is another event; then nothing has happened. */
SALTUS_FN int saltus_nsm_hop(saltus_nsm *s, int32_t number, double unit, double wait)
{
    const saltus_nsm_lattice *l = &s->sites.l;
    saltus_nsm_slot *here = &s->sites.slots[number];
    if (!saltus_nsm_is_lone(here) || here->kind & SALTUS_NSM_EDGE) {
        return 0;
    }
    const double x = unit * saltus_nsm_lone_of(l, here)->span;
    if (!(x < SALTUS_NSM_DIRECTIONS)) {
        return 0;
    }
    const int64_t to = here->site + l->stride[(int)x];
    const int mark = saltus_nsm_mark(l, to);
    if (mark & SALTUS_NSM_OCCUPIED) {
        return 0;
    }
    saltus_nsm_flip(l, here->site, SALTUS_NSM_OCCUPIED);
    saltus_nsm_flip(l, to, SALTUS_NSM_OCCUPIED);
    s->sites.slot_of[to] = number;
    here->site = to;
    here->kind = (uint16_t)(here->kind + mark); /* 1 at an edge; the type is the same */
    ++s->tally.moves;
    saltus_nsm_queue_set(&s->sites.queue, number,
                         s->time + wait * saltus_nsm_lone_of(l, here)->mean_wait);
    return 1;
}

/** Run the events up to a time, or as many of them as there is room for. Returns whether it is to
 * be called again, with more room. */
SALTUS_FN int saltus_nsm_advance(saltus_nsm *s, double until)
{
    const saltus_nsm_queue *queue = &s->sites.queue;
    int i = (int)((uint64_t)s->event % SALTUS_NSM_BATCH);
    if (i == 0) {
        saltus_nsm_draw_batch(s);
    }
    for (; i < SALTUS_NSM_BATCH; ++i, ++s->event) {
        const int32_t number = (int32_t)queue->slots[1];
        const double time = saltus_nsm_queue_time(queue);
        if (!(time <= until)) {
            return 0;
        }
        for (int k = 4; k < 8; ++k) { /* mostly one of these comes next */
            saltus_nsm_prefetch(&s->sites, (int32_t)queue->slots[k]);
        }
        s->time = time;
        if (!saltus_nsm_hop(s, number, s->draws.unit[i], s->draws.wait[i])) {
            saltus_nsm_any_event(s, number, s->draws.unit[i], s->draws.wait[i],
                                 s->draws.word_of_2nd[i]);
            if (SALTUS_RARE(s->failure.what != SALTUS_NSM_NO_FAILURE)) {
                return 0;
            }
        }
    }
    return 1;
}

/* ------------------------------------------------------------------------------------------------
 * The start
 */

/** Begin a trajectory at time 0, without particles. */
SALTUS_FN void saltus_nsm_clear(saltus_nsm *s)
{
    const saltus_nsm_failure failure = {SALTUS_NSM_NO_FAILURE, 0, 0, 0, 0, 0.0};
    saltus_nsm_sites_clear(&s->sites);
    for (int i = 0; i < s->sites.l.n_species; ++i) {
        s->totals[i] = 0;
    }
    s->time = 0.0;
    s->event = 0;
    s->failure = failure;
#define SALTUS_CLEAR(name) s->tally.name = 0;
    SALTUS_NSM_COUNTERS(SALTUS_CLEAR)
#undef SALTUS_CLEAR
}

/** Place n <= SALTUS_NSM_BATCH particles; empty-site tokens are left out. */
SALTUS_FN void saltus_nsm_place(saltus_nsm *s, const uint32_t *sites, const uint16_t *species,
                                int n)
{
    for (int i = 0; i < n; ++i) {
        if (species[i] < s->sites.l.n_species) {
            saltus_nsm_change(s, saltus_nsm_alloc_slot(&s->sites, sites[i]), species[i], 1, -1);
            ++s->totals[species[i]];
        }
    }
}

/** Draw the first waits, when all particles are placed. */
SALTUS_FN void saltus_nsm_start(saltus_nsm *s)
{
    for (; s->event < s->sites.n_slots; ++s->event) {
        const int i = (int)(s->event % SALTUS_NSM_BATCH);
        if (i == 0) {
            saltus_nsm_draw_batch(s);
        }
        if (s->event != SALTUS_NSM_SOURCES) {
            saltus_nsm_draw_time(s, (int32_t)s->event, s->draws.wait[i]);
        } else if (s->sites.l.source_rate > 0.0) {
            saltus_nsm_queue_set(&s->sites.queue, SALTUS_NSM_SOURCES,
                                 s->draws.wait[i] / s->sites.l.source_rate);
        }
    }
}

#endif
