/**
 * Reaction and diffusion on a lattice as in kernel/rdme/mpd.h, of particles that are counts
 * (kernel/rdme/counts.h), on a GPU. Random words of a particle are those of kernel/rdme/mpd.h, so
 * results are the same bits.
 *
 * A warp goes over its tiles of sites, and three queues in shared memory keep all of its threads
 * busy:
 *
 *     tile of sites --> occupied sites --> no reaction: the first particle hops at once,
 *     (32 threads x        queue                        the others --> pending_moves --> hop
 *      some sites)           |                                               ^
 *                            +-------> may react --> reactive --> react -----+
 *
 * The threads load tiles and queue sites with particles until there are SALTUS_MPD_ENOUGH. Then
 * each thread takes one of these sites. When pending_moves is half used up, or the occupied sites
 * are done, each thread takes a reactive site, and then each takes a pending move.
 *
 * Where particles are few for the sites, which have a word at most (SALTUS_MPD_MARKED), a set also
 * has marks, a bit for each site, which is set by whoever puts a particle there. Then threads load
 * marks in place of tiles, 64 each, and the word of a site when its turn has come:
 *
 *     marks of 64 sites --> marked sites --> each thread loads the
 *     (each thread)         queue            word of one, and clears it
 *
 * If sites with two particles are to be expected there (SALTUS_MPD_PAIRED), threads that get no
 * site move second particles in the same turn.
 */
#ifndef SALTUS_KERNEL_RDME_SITES_H
#define SALTUS_KERNEL_RDME_SITES_H

#include "kernel/rdme/halo_sync.h"
#include "kernel/rdme/queues.h"

#if SALTUS_DEVICE

/* ------------------------------------------------------------------------------------------------
 * Sites
 */

/* Whether a word surely lets no reaction fire in a site. `first` is the first species of which it
 * holds particles, v has all particles but one of these. */
SALTUS_FN int saltus_mpd_no_reaction_soon(const saltus_mpd *m, int type, int first,
                                          const uint32_t v[SALTUS_MPD_WORDS], uint32_t word)
{
    const uint32_t n = 1 + saltus_mpd_sum(v);
    const int64_t at = (int64_t)type * SALTUS_MPD_N_SPECIES(m) + first;
    uint32_t no_reaction = saltus_mpd_is_reactive(m, type) ? 0 : SALTUS_NEVER_REACTS;
    if (n == 1) {
        no_reaction = SALTUS_MPD_OF(m, no_reaction)[at];
    } else if (n == 2 && SALTUS_MPD_OF(m, no_reaction_two)) {
        no_reaction =
            SALTUS_MPD_OF(m, no_reaction_two)[at * SALTUS_MPD_N_SPECIES(m) + saltus_mpd_first(v)];
    } else if (n < SALTUS_MPD_MANY) {
        no_reaction = SALTUS_MPD_OF(m, no_reaction_many)[(int64_t)type * SALTUS_MPD_MANY + n];
    }
    return saltus_mpd_is_below(word, no_reaction);
}

/* Queue occupied site number i, whose first particle is x and others are v, unless no reaction
 * fires in it by this word. Returns 1 if it is in the queue. */
SALTUS_FN int saltus_mpd_queue_reactive(const saltus_mpd_now *p, int i, uint32_t site, int x,
                                        const uint32_t *v, uint32_t wait)
{
    saltus_mpd_warp_queues *const b = p->queues;
    if (!(p->what & SALTUS_MPD_REACTS) ||
        saltus_mpd_no_reaction_soon(p->m, saltus_mpd_type(p->m, site), x, v, wait)) {
        return 0;
    }
    const int at = SALTUS_FETCH_ADD(&b->n_reactive, 1);
    b->reactive[at] = (uint16_t)i;
    b->waits[at] = wait;
    return 1;
}

#ifdef SALTUS_MPD_PAIRED
/* What a thread does in a turn of its warp. */
typedef struct saltus_mpd_turn {
    int owner;      /* the thread whose site it is */
    int is_helped;  /* another thread takes the second particle of this thread's site */
    uint32_t pairs; /* the threads whose sites have two particles, if others are free to help */
} saltus_mpd_turn;

/* Let the threads from number n_here on, which have no site, take the second particles of sites
 * that have two. They get the word of such a site. */
SALTUS_FN saltus_mpd_turn saltus_mpd_turn_of(uint32_t v[SALTUS_MPD_WORDS], int n_here)
{
    saltus_mpd_turn t = {SALTUS_LANE_NUMBER, 0, 0};
    t.pairs = n_here < SALTUS_WARP ? saltus_warp_bits(saltus_mpd_sum(v) == 2) : 0;
    if (t.pairs) {
        uint32_t left = t.pairs;
        for (int helper = n_here; left && helper < SALTUS_WARP; ++helper) {
            const int owner = saltus_warp_lowest(left);
            t.owner = SALTUS_LANE_NUMBER == helper ? owner : t.owner;
            t.is_helped |= SALTUS_LANE_NUMBER == owner;
            left &= left - 1;
        }
        v[0] = saltus_warp_get_word(v[0], t.owner);
    }
    return t;
}

/* As below, and threads without a site move second particles, which would need a turn of their own
 * else, for which the other warps wait. */
SALTUS_FN saltus_mpd_answer saltus_mpd_visit(const saltus_mpd_now *p, int first, int n_occupied)
{
    saltus_mpd_warp_queues *const b = p->queues;
    const saltus_mpd *m = p->m;
    saltus_mpd_answer answer = saltus_mpd_no_answer();
    const int n_here = n_occupied - first, is_owner = SALTUS_LANE_NUMBER < n_here;
    uint32_t v[SALTUS_MPD_WORDS] = {0}, w[4], waits = 0;
    if (is_owner) {
        saltus_mpd_fetch_occupied(p, first + SALTUS_LANE_NUMBER, v);
    }
    const saltus_mpd_turn t = saltus_mpd_turn_of(v, n_here);
    const int i = first + t.owner;
    int x = saltus_mpd_first(v);
    const int has_one = x >= 0;
    saltus_mpd_site_pos here = {0};
    if (has_one) {
        uint32_t rank = 0;
        saltus_mpd_change(v, x, 0u - 1u);
        if (!is_owner) {
            const int second = saltus_mpd_first(v);
            saltus_mpd_change(v, second, 0u - 1u);
            rank = second == x;
            x = second;
        }
        here = saltus_mpd_site_pos_of(m, b->occupied[i]);
        saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, p->step, saltus_mpd_global_of(m, here.site), x,
                         rank, w);
        waits = is_owner && saltus_mpd_queue_reactive(p, i, here.site, x, v, w[3]);
    }
    if (t.pairs) { /* who helps needs to know */
        waits = saltus_warp_bits((int)waits) >> t.owner & 1;
    }
    if (!has_one || waits) {
        return answer;
    }
    const int goes = saltus_mpd_goes(p, x);
    if (goes) {
        answer = saltus_mpd_hop(p, &here, x, w);
    }
    v[0] = t.is_helped ? 0 : v[0];
    saltus_mpd_change(v, x, !goes);
    saltus_mpd_list(p, i, v, goes ? x : -1);
    return answer;
}
#else
/* Update the occupied sites from number `first` on, one for each thread. If no reaction fires, a
 * site's first particle moves and the others are queued; else the site is queued. */
SALTUS_FN saltus_mpd_answer saltus_mpd_visit(const saltus_mpd_now *p, int first, int n_occupied)
{
    saltus_mpd_warp_queues *const b = p->queues;
    const saltus_mpd *m = p->m;
    saltus_mpd_answer answer = saltus_mpd_no_answer();
    const int i = first + SALTUS_LANE_NUMBER;
    if (i >= n_occupied) {
        return answer;
    }
    const saltus_mpd_site_pos here = saltus_mpd_site_pos_of(m, b->occupied[i]);
    uint32_t v[SALTUS_MPD_WORDS], w[4];
    saltus_mpd_fetch_occupied(p, i, v);
    const int x = saltus_mpd_first(v);
    if (SALTUS_RARE(x < 0)) {
        return answer;
    }
    saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, p->step, saltus_mpd_global_of(m, here.site), x, 0, w);
    saltus_mpd_change(v, x, 0u - 1u);
    if (saltus_mpd_queue_reactive(p, i, here.site, x, v, w[3])) {
        return answer;
    }
    const int goes = saltus_mpd_goes(p, x);
    if (goes) {
        answer = saltus_mpd_hop(p, &here, x, w);
    }
    saltus_mpd_change(v, x, !goes);
    saltus_mpd_list(p, i, v, goes ? x : -1);
    return answer;
}
#endif

/* Reactions of counts in general. */
SALTUS_RARE_FN int32_t saltus_mpd_counts_react(const saltus_mpd *m, const saltus_tables *n,
                                               int64_t step, uint32_t site, uint32_t word,
                                               saltus_mpd_scratch *s, uint32_t *v)
{
    const int empty_site_token = SALTUS_MPD_N_SPECIES(m) - 1;
    saltus_mpd_start_rows(s);
    for (int x = 0; x < SALTUS_MPD_FIELDS && x < empty_site_token; ++x) {
        s->v[x] = (double)saltus_mpd_number_in(v, x);
    }
    const int32_t n_fired = saltus_mpd_react(m, n, step, site, word, s);
    for (int x = 0; x < SALTUS_MPD_FIELDS && x < empty_site_token; ++x) {
        const int shift = x % SALTUS_MPD_PER_WORD * SALTUS_MPD_BITS;
        uint32_t *const to = &v[x / SALTUS_MPD_PER_WORD];
        if (!(s->v[x] <= (double)SALTUS_MPD_MOST)) {
            SALTUS_POKE(m->used, (int64_t)SALTUS_MPD_MOST + 1);
        } else if (s->v[x] >= 0.0) { /* a count below 0 has been noted */
            *to = (*to & ~(SALTUS_MPD_FIELD << shift)) | (uint32_t)(int64_t)s->v[x] << shift;
        }
        s->v[x] = 0.0;
    }
    return n_fired;
}

/* Reactions of a few particles; v becomes the counts afterwards. Returns a number below 0 if it is
 * to be done with saltus_mpd_counts_react. */
SALTUS_FN int32_t saltus_mpd_few_counts_react(const saltus_mpd *m, const saltus_tables *n,
                                              int64_t step, uint32_t site, uint32_t word,
                                              uint32_t v[SALTUS_MPD_WORDS])
{
    int species[SALTUS_MPD_MOST_FEW];
    uint32_t rest[SALTUS_MPD_WORDS];
    saltus_mpd_read(rest, v);
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        const int x = saltus_mpd_first(rest);
        species[k] = x >= 0 ? x : SALTUS_MPD_NO_SPECIES;
        saltus_mpd_change(rest, species[k], 0u - 1u);
    }
    const int32_t n_fired =
        saltus_mpd_few_react(m, n, saltus_mpd_type(m, site), step, site, word, species);
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_WORDS; ++k) {
        v[k] = n_fired > 0 ? 0 : v[k];
    }
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_MOST_FEW; ++k) {
        saltus_mpd_change(v, n_fired > 0 ? species[k] : SALTUS_MPD_NO_SPECIES, 1);
    }
    return n_fired;
}

/* Update an occupied site in which a reaction may fire. */
SALTUS_RARE_FN void saltus_mpd_work_at(saltus_mpd_now p, const saltus_tables *n, int i,
                                       uint32_t wait, saltus_mpd_scratch *s)
{
    saltus_mpd_warp_queues *const b = p.queues;
    const uint32_t site = b->occupied[i];
    int32_t n_fired = -1;
    uint32_t v[SALTUS_MPD_WORDS];
    saltus_mpd_read_occupied(v, b, i);
    if (saltus_mpd_sum(v) <= SALTUS_MPD_MOST_FEW) {
        n_fired = saltus_mpd_few_counts_react(p.m, n, p.step, site, wait, v);
    }
    if (n_fired < 0) {
        uint32_t words[SALTUS_MPD_WORDS]; /* a copy, so that v may stay in registers */
        saltus_mpd_read(words, v);
        n_fired = saltus_mpd_counts_react(p.m, n, p.step, site, wait, s, words);
        saltus_mpd_read(v, words);
    }
    s->fired += n_fired;
    saltus_mpd_list(&p, i, v, -1);
}

/* ------------------------------------------------------------------------------------------------
 * Phases
 */

/* Empty a row of sites that begins with `site`, in the set that holds the particles. */
SALTUS_FN void saltus_mpd_clear(const saltus_mpd_now *p, uint32_t site, const saltus_mpd_row *v)
{
    const saltus_mpd_row none = {{{0}}};
    uint32_t any = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_TILES; ++k) {
        any |= (uint32_t)saltus_mpd_is_occupied(v->of[k]);
    }
    if (any) {
        *saltus_mpd_row_at(p->m, p->set, site) = none;
    }
}

/* Number of sites of a row that hold particles. */
SALTUS_FN int saltus_mpd_n_occupied(const saltus_mpd_row *v)
{
    enum { WIDE = SALTUS_MPD_WIDE };
    const uint32_t each =
                       0xffffffffu / (0xffffffffu >> (32 - WIDE)), /* 1 for each site of a word */
        top = each << (WIDE - 1), pending_moves = top - each;
    uint32_t occupied =
        0; /* highest bits of the sites of a first word, lower ones of the next words */
    int n = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_TILES; ++k) {
        uint32_t any = v->of[k][SALTUS_MPD_WORDS - 1] & SALTUS_MPD_LAST_WORD * each;
        SALTUS_UNROLL
        for (int j = 0; j < SALTUS_MPD_WORDS - 1; ++j) {
            any |= v->of[k][j];
        }
        occupied |= (((any & pending_moves) + pending_moves | any) & top) >> k % WIDE;
        if (k % WIDE == WIDE - 1 || k == SALTUS_MPD_TILES - 1) {
            n += SALTUS_POPCOUNT(occupied);
            occupied = 0;
        }
    }
    return n;
}

/* Put the occupied sites of a row behind the *n_occupied that are in the queue. Bits that an
 * overflow left behind a last word's fields are cleared. */
SALTUS_FN void saltus_mpd_keep(const saltus_mpd_now *p, uint32_t site, const saltus_mpd_row *v,
                               int *n_occupied)
{
    uint32_t *to = &p->queues->occupied[saltus_warp_number(n_occupied, saltus_mpd_n_occupied(v))];
    SALTUS_UNROLL
    for (int i = 0; i < SALTUS_MPD_ROW; ++i) {
        const int k = i / SALTUS_MPD_SHARERS, shift = i % SALTUS_MPD_SHARERS * SALTUS_MPD_WIDE;
        uint32_t of[SALTUS_MPD_WORDS];
        saltus_mpd_read(of, v->of[k]);
        of[SALTUS_MPD_WORDS - 1] &= SALTUS_MPD_LAST_WORD << shift;
        if (saltus_mpd_is_occupied(of)) {
            of[SALTUS_MPD_WORDS - 1] >>= shift;
            *to = site + (uint32_t)i;
            SALTUS_UNROLL
            for (int j = 0; j < SALTUS_MPD_WORDS; ++j) {
                to[SALTUS_MPD_OCCUPIED * (1 + j)] = of[j];
            }
            ++to;
        }
    }
}

/* Work off the queues of reactive sites and of pending moves. */
SALTUS_FN void saltus_mpd_clear_lists(const saltus_mpd_now *p, const saltus_tables *n,
                                      saltus_mpd_scratch *s)
{
    saltus_mpd_warp_queues *const b = p->queues;
    saltus_mpd_answer last = saltus_mpd_no_answer();
    for (int i = SALTUS_LANE_NUMBER; i < b->n_reactive; i += SALTUS_WARP) {
        saltus_mpd_work_at(*p, n, b->reactive[i], b->waits[i], s);
    }
    SALTUS_WARP_WAIT();
    for (int i = SALTUS_LANE_NUMBER; i < b->n_pending_moves && i < SALTUS_MPD_PENDING_MOVES;
         i += SALTUS_WARP) {
        const uint32_t other = b->pending_moves[i];
        const saltus_mpd_answer answer = saltus_mpd_start_and_hop(
            p, b->occupied[other & 511], (int)(other >> 9 & 127), other >> 16);
        saltus_mpd_settle(p->m, last);
        last = answer;
    }
    SALTUS_WARP_WAIT();
    if (SALTUS_LANE_NUMBER == 0) {
        b->n_reactive = b->n_pending_moves = 0;
    }
    SALTUS_WARP_WAIT();
    saltus_mpd_settle(p->m, last);
}

/* Work off the queue of occupied sites, as many at a time as there are threads. */
SALTUS_FN void saltus_mpd_work_off(const saltus_mpd_now *p, const saltus_tables *n, int n_occupied,
                                   saltus_mpd_scratch *s)
{
    saltus_mpd_answer last = saltus_mpd_no_answer();
    SALTUS_WARP_WAIT();
    for (int first = 0; first < n_occupied; first += SALTUS_WARP) {
        const saltus_mpd_answer answer = saltus_mpd_visit(p, first, n_occupied);
        SALTUS_WARP_WAIT();
        /* All threads take the same way, because those that go on add to the queue that others may
         * still read. */
        if (saltus_warp_any(p->queues->n_pending_moves > SALTUS_MPD_PENDING_MOVES / 2) ||
            first + SALTUS_WARP >= n_occupied) {
            saltus_mpd_clear_lists(p, n, s);
        }
        saltus_mpd_settle(p->m, last);
        last = answer;
    }
    saltus_mpd_settle(p->m, last);
}

#ifdef SALTUS_MPD_MARKED
/* Queue marked sites behind the *n_occupied that are in the queue, those of as many threads as
 * there is room for, and take their marks away. */
SALTUS_FN void saltus_mpd_queue_marked(const saltus_mpd_now *p, saltus_mpd_marks *t,
                                       int *n_occupied)
{
    const int i = t->next + SALTUS_LANE_NUMBER;
    const uint32_t site = saltus_mpd_marked_site(t, i < t->n ? i : 0);
    uint64_t *const at = (p->set ? p->m->marks[1] : p->m->marks[0]) + site / SALTUS_MPD_MARKS;
    uint64_t marks = i < t->n ? *at : 0;
    const int n = SALTUS_POPCOUNT((uint32_t)marks) + SALTUS_POPCOUNT((uint32_t)(marks >> 32));
    int k = saltus_warp_number(n_occupied, n);
    const int end = k + n, has_room = end <= SALTUS_MPD_OCCUPIED;
    const int n_done = saltus_warp_size(saltus_warp_bits(has_room));
    if (has_room && marks) {
        *at = 0;
        for (; marks; marks &= marks - 1) {
            p->queues->occupied[k++] = site + (uint32_t)SALTUS_LOWEST_64(marks);
        }
    }
    *n_occupied = (int)saltus_warp_get_word((uint32_t)end, n_done - 1);
    t->next += n_done;
}

/* The work of a warp in a phase, whose sites are marked. */
SALTUS_FN void saltus_mpd_share(const saltus_mpd_now *p, const saltus_mpd_launch *a, uint64_t ended,
                                saltus_mpd_scratch *s)
{
    saltus_mpd_marks t = saltus_mpd_marks_of(a);
    int n_occupied = 0, goes_on = t.n > 0;
    (void)ended;
    if (SALTUS_LANE_NUMBER == 0) {
        p->queues->n_reactive = p->queues->n_pending_moves = 0;
    }
    while (goes_on) {
        saltus_mpd_queue_marked(p, &t, &n_occupied);
        goes_on = t.next < t.n;
        if (n_occupied > SALTUS_MPD_ENOUGH || !goes_on) {
            saltus_mpd_work_off(p, a->tables, n_occupied, s);
            n_occupied = 0;
        }
    }
}
#else
/* The work of a warp in a phase, which is number `ended` of the launch; 0: the launch ends with it.
 */
SALTUS_FN void saltus_mpd_share(const saltus_mpd_now *p, const saltus_mpd_launch *a, uint64_t ended,
                                saltus_mpd_scratch *s)
{
    const uint32_t end = (uint32_t)a->end_site;
    int n_occupied = 0;
    if (SALTUS_LANE_NUMBER == 0) {
        p->queues->n_reactive = p->queues->n_pending_moves = 0;
    }
    for (int part = saltus_mpd_first_part(p->m); part < SALTUS_MPD_PARTS; ++part) {
        const saltus_mpd_tiles tiles = saltus_mpd_tiles_of(a, part);
        uint32_t site = tiles.site;
        int goes_on = 1;
        saltus_mpd_row next = saltus_mpd_load_tile(
            p->m, p->set, SALTUS_MPD_IS_LATE && site < tiles.until ? site : end, end);
        while (goes_on) {
            goes_on = site < tiles.until;
            if (goes_on) {
                const uint32_t here = site;
                const saltus_mpd_row v =
                    SALTUS_MPD_IS_LATE ? next : saltus_mpd_load_tile(p->m, p->set, here, end);
                site += tiles.jump;
                if (SALTUS_MPD_IS_LATE) { /* memory answers while these sites are worked off */
                    next = saltus_mpd_load_tile(p->m, p->set, site < tiles.until ? site : end, end);
                }
                saltus_mpd_clear(p, here, &v);
                saltus_mpd_keep(p, here, &v, &n_occupied);
            }
            if (n_occupied > SALTUS_MPD_ENOUGH || (!goes_on && saltus_mpd_ends_list(part))) {
                saltus_mpd_work_off(p, a->tables, n_occupied, s);
                n_occupied = 0;
            }
        }
#ifdef SALTUS_MPD_SLABS
        if (part == SALTUS_MPD_ABOVE && ended > 0) {
            saltus_block_wait();
            saltus_mpd_halo_signal(&p->m->slab.halo_flags, ended);
        }
#endif
        (void)ended;
    }
}
#endif

/** Some phases in one launch. If there is more than one, all blocks run at the same time. */
SALTUS_KERNEL_OF(SALTUS_MPD_WARPS * 32, 1, saltus_mpd_run_sites, saltus_mpd_launch, a)
{
    saltus_mpd_warp_queues *const queues =
        (saltus_mpd_warp_queues *)saltus_shared + SALTUS_WARP_IN_BLOCK;
    double v[SALTUS_MPD_ROWS], propensities[SALTUS_MPD_REACTIONS + 1];
    saltus_mpd_scratch s = {v, propensities, 0, a.rows, SALTUS_MPD_ROWS};
    if (SALTUS_LANE_NUMBER >= SALTUS_WARP) {
        return; /* on a host the first thread does the work of its warp */
    }
#ifdef SALTUS_MPD_SLABS
    saltus_mpd_pass(&a.m, 0 - SALTUS_CYCLES());
#endif
    for (int i = 0; i < a.n_phases; ++i) {
        const int what = saltus_mpd_what(&a, i);
        const saltus_mpd_now p = {&a.m, queues, a.step + i, what, (a.set + i) & 1};
        saltus_mpd_share(&p, &a, i + 1 < a.n_phases ? (uint64_t)(i + 1) : 0, &s);
        for (int64_t o = SALTUS_WARP_NUMBER; (what & SALTUS_MPD_MOVES) && o < SALTUS_MPD_SOURCES;
             o += SALTUS_STRIDE / 32) {
            saltus_mpd_add_new(&a.m, a.tables, p.step, 1 - p.set, (int)o, SALTUS_LANE_NUMBER,
                               SALTUS_WARP, &s);
        }
        if (i + 1 < a.n_phases) {
            saltus_mpd_end_phase(&a, (uint64_t)(i + 1));
        }
    }
#ifdef SALTUS_MPD_SLABS
    saltus_mpd_pass(&a.m, SALTUS_CYCLES());
#endif
    if (s.fired > 0) {
        (void)SALTUS_NEXT_NUMBERS(a.fired, s.fired);
    }
}

#endif
#endif
