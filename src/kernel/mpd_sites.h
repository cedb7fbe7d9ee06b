/**
 * Reaction and diffusion on a lattice as in kernel/mpd.h, of particles that are counts
 * (kernel/mpd_counts.h), on a GPU: warps go over the sites. The threads of one look for sites with
 * particles until there are enough; then each moves the first particle of such a site, or lets it
 * react, then each moves one of the others: lists in shared memory keep all of them busy. The words
 * of a particle are those of kernel/mpd.h, so results are the same bits.
 */
#ifndef SALTUS_KERNEL_MPD_SITES_H
#define SALTUS_KERNEL_MPD_SITES_H

#include "kernel/mpd_counts.h"
#include "kernel/mpd_move.h"
#include "kernel/mpd_launch.h"

#if SALTUS_LANES != 1
#error "a site is one lane wide"
#endif

#if SALTUS_DEVICE

/* Warps of a block, at most, and whether memory's answers are waited for as late as possible, which
 * takes registers. */
#ifndef SALTUS_MPD_WARPS
#define SALTUS_MPD_WARPS SALTUS_MPD_MOST_WARPS
#endif
#define SALTUS_MPD_IS_LATE (SALTUS_MPD_WARPS < SALTUS_MPD_MOST_WARPS)

enum {
    SALTUS_MPD_LOOK = SALTUS_MPD_LOOK_OF(SALTUS_MPD_WORDS),
    SALTUS_MPD_ENOUGH = SALTUS_MPD_ENOUGH_OF(SALTUS_MPD_WORDS), /* then no more are looked for */
    SALTUS_MPD_FULL = SALTUS_MPD_LOOK + SALTUS_MPD_ENOUGH,
    SALTUS_MPD_ROW = SALTUS_MPD_LOOK / SALTUS_WARP, /* of these, the sites of a thread, */
    SALTUS_MPD_LOOKS = SALTUS_MPD_ROW / SALTUS_MPD_SHARERS
};
#define SALTUS_MPD_ROW_BYTES                             \
    (SALTUS_MPD_LOOKS * SALTUS_MPD_WORDS % 4 == 0   ? 16 \
     : SALTUS_MPD_LOOKS * SALTUS_MPD_WORDS % 2 == 0 ? 8  \
                                                    : 4)

/* What the threads of a warp share. */
typedef struct saltus_mpd_board {
    uint32_t full[SALTUS_MPD_FULL]; /* sites with particles, */
    uint32_t counts[SALTUS_MPD_FULL * SALTUS_MPD_WORDS];
    uint32_t waits[SALTUS_MPD_FULL];    /* what the first wait of a busy one is made of */
    uint32_t others[SALTUS_MPD_OTHERS]; /* saltus_mpd_other */
    int32_t n_busy, n_others;           /* n_others: also those that find no place */
    uint16_t busy[SALTUS_MPD_FULL];     /* of these sites, those in which something may happen */
} saltus_mpd_board;
typedef char saltus_mpd_board_fits
    [sizeof(saltus_mpd_board) <= SALTUS_MPD_BOARD_BYTES(SALTUS_MPD_WORDS) ? 1 : -1];

/* Words of the sites of a thread, in a row, which are read together. */
typedef struct SALTUS_ALIGNED(SALTUS_MPD_ROW_BYTES) saltus_mpd_row {
    uint32_t of[SALTUS_MPD_LOOKS][SALTUS_MPD_WORDS];
} saltus_mpd_row;

/* What a phase is. */
typedef struct saltus_mpd_now {
    const saltus_mpd *m;
    saltus_mpd_board *board;
    int64_t step;
    int what, set; /* the particles go to the other set */
} saltus_mpd_now;

/* An entry of the list of particles: which full site (9 bits), species (7), number of these (16).
 */
SALTUS_FN uint32_t saltus_mpd_other(int full, int species, uint32_t rank)
{
    return (uint32_t)full | (uint32_t)species << 9 | rank << 16;
}

/* ------------------------------------------------------------------------------------------------
 * Particles
 */

/* No memory was asked for anything. */
SALTUS_FN saltus_mpd_answer saltus_mpd_no_answer(void)
{
    const saltus_mpd_answer none = {0, 0, 0};
    return none;
}

/* A particle that has its words. */
SALTUS_FN saltus_mpd_answer saltus_mpd_go(const saltus_mpd_now *p, const saltus_mpd_spot *here,
                                          int species, const uint32_t w[4])
{
    const saltus_mpd_spot to = saltus_mpd_move(p->m, here, species, w);
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

/* One that has not. */
SALTUS_FN saltus_mpd_answer saltus_mpd_start_and_go(const saltus_mpd_now *p, uint32_t site,
                                                    int species, uint32_t rank)
{
    const saltus_mpd_spot here = saltus_mpd_spot_of(p->m, site);
    uint32_t w[4];
    saltus_mpd_words(p->m, SALTUS_PURPOSE_MOVE, p->step, saltus_mpd_global_of(p->m, site), species,
                     rank, w);
    return saltus_mpd_go(p, &here, species, w);
}

/* Whether particles of a species move in this phase. */
SALTUS_FN int saltus_mpd_goes(const saltus_mpd_now *p, int species)
{
    return (p->what & SALTUS_MPD_MOVES) && SALTUS_MPD_OF(p->m, moves)[species];
}

/* Where the list is full. A copy, so that what is known of the phase can stay in registers. */
SALTUS_RARE_FN void saltus_mpd_go_at_once(saltus_mpd_now p, uint32_t site, int species,
                                          uint32_t rank)
{
    saltus_mpd_settle(p.m, saltus_mpd_start_and_go(&p, site, species, rank));
}

/* The particles v of full site i are put on the list, or, if they stand still, into the other set.
 * Particle number 0 of species `gone` has gone already. */
SALTUS_FN void saltus_mpd_list(const saltus_mpd_now *p, int i, uint32_t v[SALTUS_MPD_WORDS],
                               int gone)
{
    saltus_mpd_board *const b = p->board;
    const uint32_t site = b->full[i];
    for (int x = saltus_mpd_first(v); x >= 0; x = saltus_mpd_first(v)) {
        const uint32_t n = saltus_mpd_number(v, x), from = x == gone;
        saltus_mpd_change(v, x, 0u - n);
        if (!saltus_mpd_goes(p, x)) {
            saltus_mpd_settle(p->m, saltus_mpd_put(p->m, 1 - p->set, site, x, n));
            continue;
        }
        const uint32_t at = (uint32_t)SALTUS_FETCH_ADD(&b->n_others, (int32_t)n);
        SALTUS_ONE_BY_ONE
        for (uint32_t k = 0; k < n; ++k) {
            if (at + k < SALTUS_MPD_OTHERS) {
                b->others[at + k] = saltus_mpd_other(i, x, from + k);
            } else {
                saltus_mpd_go_at_once(*p, site, x, from + k);
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Sites
 */

/* Whether a word surely lets nothing happen in a site: `first` is the first species of which there
 * is any, v the others. */
SALTUS_FN int saltus_mpd_is_calm(const saltus_mpd *m, int type, int first,
                                 const uint32_t v[SALTUS_MPD_WORDS], uint32_t word)
{
    const uint32_t n = 1 + saltus_mpd_sum(v);
    const int64_t at = (int64_t)type * SALTUS_MPD_N_SPECIES(m) + first;
    uint32_t quiet = saltus_mpd_is_reactive(m, type) ? 0 : SALTUS_ALWAYS_QUIET;
    if (n == 1) {
        quiet = SALTUS_MPD_OF(m, quiet)[at];
    } else if (n == 2 && SALTUS_MPD_OF(m, quiet_two)) {
        quiet = SALTUS_MPD_OF(m, quiet_two)[at * SALTUS_MPD_N_SPECIES(m) + saltus_mpd_first(v)];
    } else if (n < SALTUS_MPD_MANY) {
        quiet = SALTUS_MPD_OF(m, quiet_many)[(int64_t)type * SALTUS_MPD_MANY + n];
    }
    return saltus_mpd_is_below(word, quiet);
}

/* A full site: if nothing happens there, its first particle goes, and the others are listed. */
SALTUS_FN saltus_mpd_answer saltus_mpd_visit(const saltus_mpd_now *p, int i)
{
    saltus_mpd_board *const b = p->board;
    const saltus_mpd *m = p->m;
    saltus_mpd_answer answer = saltus_mpd_no_answer();
    const saltus_mpd_spot here = saltus_mpd_spot_of(m, b->full[i]);
    uint32_t v[SALTUS_MPD_WORDS], w[4];
    saltus_mpd_read(v, &b->counts[i * SALTUS_MPD_WORDS]);
    const int x = saltus_mpd_first(v);
    saltus_mpd_words(m, SALTUS_PURPOSE_MOVE, p->step, saltus_mpd_global_of(m, here.site), x, 0, w);
    saltus_mpd_change(v, x, 0u - 1u);
    if ((p->what & SALTUS_MPD_REACTS) &&
        !saltus_mpd_is_calm(m, saltus_mpd_type(m, here.site), x, v, w[3])) {
        const int at = SALTUS_FETCH_ADD(&b->n_busy, 1);
        b->busy[at] = (uint16_t)i;
        b->waits[at] = w[3];
        return answer;
    }
    const int goes = saltus_mpd_goes(p, x);
    if (goes) {
        answer = saltus_mpd_go(p, &here, x, w);
    }
    saltus_mpd_change(v, x, !goes);
    saltus_mpd_list(p, i, v, goes ? x : -1);
    return answer;
}

/* Reactions of counts in general. */
SALTUS_RARE_FN int32_t saltus_mpd_counts_react(const saltus_mpd *m, const saltus_tables *n,
                                               int64_t step, uint32_t site, uint32_t word,
                                               saltus_mpd_scratch *s, uint32_t *v)
{
    const int watcher = SALTUS_MPD_N_SPECIES(m) - 1;
    saltus_mpd_start_rows(s);
    for (int x = 0; x < SALTUS_MPD_FIELDS && x < watcher; ++x) {
        s->v[x] = (double)saltus_mpd_number_in(v, x);
    }
    const int32_t n_fired = saltus_mpd_react(m, n, step, site, word, s);
    for (int x = 0; x < SALTUS_MPD_FIELDS && x < watcher; ++x) {
        const int shift = x % SALTUS_MPD_PER_WORD * SALTUS_MPD_BITS;
        uint32_t *const to = &v[x / SALTUS_MPD_PER_WORD];
        if (!(s->v[x] <= (double)SALTUS_MPD_MOST)) {
            SALTUS_POKE(m->used, (int64_t)SALTUS_MPD_MOST + 1);
        } else if (s->v[x] >= 0.0) { /* else it has been noted */
            *to = (*to & ~(SALTUS_MPD_FIELD << shift)) | (uint32_t)(int64_t)s->v[x] << shift;
        }
        s->v[x] = 0.0;
    }
    return n_fired;
}

/* Reactions of a few particles; v becomes what they make of it. Below 0: it is to be done in
 * another way. */
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

/* A full site in which something may happen. */
SALTUS_RARE_FN void saltus_mpd_work_at(saltus_mpd_now p, const saltus_tables *n, int i,
                                       uint32_t wait, saltus_mpd_scratch *s)
{
    saltus_mpd_board *const b = p.board;
    const uint32_t site = b->full[i];
    int32_t n_fired = -1;
    uint32_t v[SALTUS_MPD_WORDS];
    saltus_mpd_read(v, &b->counts[i * SALTUS_MPD_WORDS]);
    if (saltus_mpd_sum(v) <= SALTUS_MPD_MOST_FEW) {
        n_fired = saltus_mpd_few_counts_react(p.m, n, p.step, site, wait, v);
    }
    if (n_fired < 0) {
        n_fired = saltus_mpd_counts_react(p.m, n, p.step, site, wait, s,
                                          &b->counts[i * SALTUS_MPD_WORDS]);
        saltus_mpd_read(v, &b->counts[i * SALTUS_MPD_WORDS]);
    }
    s->fired += n_fired;
    saltus_mpd_list(&p, i, v, -1);
}

/* ------------------------------------------------------------------------------------------------
 * Phases
 */

#ifdef SALTUS_MPD_SLABS
/* Those join a row who have come to a margin, from a place of it on, which they leave. */
SALTUS_FN void saltus_mpd_take(const saltus_mpd *m, uint32_t *margin, uint32_t place,
                               saltus_mpd_row *v)
{
    const saltus_mpd_row none = {{{0}}};
    saltus_mpd_row *const from = (saltus_mpd_row *)(void *)saltus_mpd_words_of(margin, place);
    const saltus_mpd_row more = *from;
    uint32_t any = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_LOOKS; ++k) {
        SALTUS_UNROLL
        for (int j = 0; j < SALTUS_MPD_WORDS; ++j) {
            v->of[k][j] = saltus_mpd_join(m, v->of[k][j], more.of[k][j]);
            any |= more.of[k][j];
        }
    }
    if (any) {
        *from = none;
    }
}

/* Sites of a plane. */
SALTUS_FN uint32_t saltus_mpd_plane(const saltus_mpd *m)
{
    return saltus_mpd_size(m, 0) * saltus_mpd_size(m, 1);
}

/* Those join a row who come from other slabs. */
SALTUS_FN void saltus_mpd_receive(const saltus_mpd *m, int set, uint32_t site, saltus_mpd_row *v)
{
    const uint32_t i = site - m->slab.first;
    if (i < saltus_mpd_plane(m)) {
        saltus_mpd_take(m, set ? m->slab.coming[1][0] : m->slab.coming[0][0], i, v);
    }
    if (i >= m->slab.from_above) {
        saltus_mpd_take(m, set ? m->slab.coming[1][1] : m->slab.coming[0][1],
                        i - m->slab.from_above, v);
    }
}
#endif

/* Where the words of sites in a row stand. */
SALTUS_FN saltus_mpd_row *saltus_mpd_row_at(const saltus_mpd *m, int set, uint32_t site)
{
    return (saltus_mpd_row *)(void *)saltus_mpd_words_at(m, set, site);
}

/* The words of a thread's sites, which stand in a row from `site` on; of none from `end` on. */
SALTUS_FN saltus_mpd_row saltus_mpd_look(const saltus_mpd *m, int set, uint32_t site, uint32_t end)
{
    saltus_mpd_row v = {{{0}}};
    if (site < end) {
        v = *saltus_mpd_row_at(m, set, site);
#ifdef SALTUS_MPD_SLABS
        saltus_mpd_receive(m, set, site, &v);
#endif
    }
    return v;
}

/* Whoever is there leaves this set. */
SALTUS_FN void saltus_mpd_clear(const saltus_mpd_now *p, uint32_t site, const saltus_mpd_row *v)
{
    const saltus_mpd_row none = {{{0}}};
    uint32_t any = 0;
    SALTUS_UNROLL
    for (int k = 0; k < SALTUS_MPD_LOOKS; ++k) {
        any |= (uint32_t)saltus_mpd_is_full(v->of[k]);
    }
    if (any) {
        *saltus_mpd_row_at(p->m, p->set, site) = none;
    }
}

/* The fields of site number i of a row. */
SALTUS_FN void saltus_mpd_pick(const saltus_mpd_row *v, int i, uint32_t of[SALTUS_MPD_WORDS])
{
    saltus_mpd_read(of, v->of[i / SALTUS_MPD_SHARERS]);
    of[SALTUS_MPD_WORDS - 1] = of[SALTUS_MPD_WORDS - 1] >> saltus_mpd_shift_of((uint32_t)i) &
                               SALTUS_MPD_LAST_WORD; /* without what a full field left behind */
}

/* Put those of them with particles behind n_full others. */
SALTUS_FN void saltus_mpd_keep(const saltus_mpd_now *p, uint32_t site, const saltus_mpd_row *v,
                               int *n_full)
{
    enum { N = SALTUS_MPD_LOOKS * SALTUS_MPD_SHARERS };
    saltus_mpd_board *const b = p->board;
    uint32_t of[SALTUS_MPD_WORDS];
    int n = 0;
    SALTUS_UNROLL
    for (int i = 0; i < N; ++i) {
        saltus_mpd_pick(v, i, of);
        n += saltus_mpd_is_full(of);
    }
    int at = saltus_warp_number(n_full, n, N);
    SALTUS_UNROLL
    for (int i = 0; i < N; ++i) {
        saltus_mpd_pick(v, i, of);
        if (saltus_mpd_is_full(of)) {
            b->full[at] = site + (uint32_t)i;
            SALTUS_UNROLL
            for (int j = 0; j < SALTUS_MPD_WORDS; ++j) {
                b->counts[at * SALTUS_MPD_WORDS + j] = of[j];
            }
            ++at;
        }
    }
}

/* Work off both lists. */
SALTUS_FN void saltus_mpd_clear_lists(const saltus_mpd_now *p, const saltus_tables *n,
                                      saltus_mpd_scratch *s)
{
    saltus_mpd_board *const b = p->board;
    saltus_mpd_answer last = saltus_mpd_no_answer();
    for (int i = SALTUS_LANE_NUMBER; i < b->n_busy; i += SALTUS_WARP) {
        saltus_mpd_work_at(*p, n, b->busy[i], b->waits[i], s);
    }
    SALTUS_WARP_WAIT();
    for (int i = SALTUS_LANE_NUMBER; i < b->n_others && i < SALTUS_MPD_OTHERS; i += SALTUS_WARP) {
        const uint32_t other = b->others[i];
        const saltus_mpd_answer answer =
            saltus_mpd_start_and_go(p, b->full[other & 511], (int)(other >> 9 & 127), other >> 16);
        saltus_mpd_settle(p->m, last);
        last = answer;
    }
    SALTUS_WARP_WAIT();
    if (SALTUS_LANE_NUMBER == 0) {
        b->n_busy = b->n_others = 0;
    }
    SALTUS_WARP_WAIT();
    saltus_mpd_settle(p->m, last);
}

/* Full sites, as many at a time as there are threads. */
SALTUS_FN void saltus_mpd_work_off(const saltus_mpd_now *p, const saltus_tables *n, int n_full,
                                   saltus_mpd_scratch *s)
{
    saltus_mpd_answer last = saltus_mpd_no_answer();
    SALTUS_WARP_WAIT();
    for (int first = 0; first < n_full; first += SALTUS_WARP) {
        saltus_mpd_answer answer = saltus_mpd_no_answer();
        if (first + SALTUS_LANE_NUMBER < n_full) {
            answer = saltus_mpd_visit(p, first + SALTUS_LANE_NUMBER);
        }
        SALTUS_WARP_WAIT();
        /* one answer for all: who goes on adds to the list that others may still look at */
        if (saltus_warp_any(p->board->n_others > SALTUS_MPD_OTHERS / 2) ||
            first + SALTUS_WARP >= n_full) {
            saltus_mpd_clear_lists(p, n, s);
        }
        saltus_mpd_settle(p->m, last);
        last = answer;
    }
    saltus_mpd_settle(p->m, last);
}

#ifdef SALTUS_MPD_SLABS
/* Whether this thread speaks for its block on a side where that has sites beside another slab. */
SALTUS_FN int saltus_mpd_speaks(const saltus_mpd_meeting *with, int side)
{
    const int first_of_warp = 32 * (1 + side) % SALTUS_THREADS_OF_BLOCK;
    return with->ended[side] && SALTUS_THREAD_IN_BLOCK == first_of_warp &&
           SALTUS_BLOCK_NUMBER >= with->begin[side] && SALTUS_BLOCK_NUMBER < with->end[side];
}

/* Blocks tell the slabs beside them that they are done, in so many phases of the launch, with sites
 * there. */
SALTUS_FN void saltus_mpd_tell(const saltus_mpd_meeting *with, uint64_t ended)
{
    for (int side = 0; side < 2; ++side) {
        const uint64_t n = (uint64_t)(with->end[side] - with->begin[side]);
        if (saltus_mpd_speaks(with, side)) {
            saltus_gpu_tell(with->done[side] + ended % 2, (ended + 1) / 2 * n, with->ends[side],
                            with->phases + ended);
        }
    }
}

/* Whether this block looks first at sites beside another slab. */
SALTUS_FN int saltus_mpd_meets_first(const saltus_mpd *m)
{
    const saltus_mpd_meeting *const with = &m->slab.meeting;
    return with->first_looks[0] + with->first_looks[1] > 0 &&
           (SALTUS_BLOCK_NUMBER < with->end[0] || SALTUS_BLOCK_NUMBER < with->end[1]);
}

/* And, at the end of such a phase, wait for these to be done with theirs. */
SALTUS_FN void saltus_mpd_meet(const saltus_mpd *m, uint64_t ended)
{
    const saltus_mpd_meeting *const with = &m->slab.meeting;
    if (!saltus_mpd_meets_first(m)) {
        saltus_mpd_tell(with, ended);
    }
    for (int side = 0; side < 2; ++side) {
        if (saltus_mpd_speaks(with, side)) {
            const uint64_t since = SALTUS_CYCLES();
            saltus_gpu_await(with->ended[side], with->phases + ended, with->lost);
            (void)SALTUS_TAKE_NUMBERS(&with->waited[side], SALTUS_CYCLES() - since);
        }
    }
}

/* At the begin of a launch n is 0 - the time, at its end the time. */
SALTUS_FN void saltus_mpd_pass(const saltus_mpd *m, uint64_t n)
{
    for (int side = 0; side < 2; ++side) {
        if (saltus_mpd_speaks(&m->slab.meeting, side)) {
            (void)SALTUS_TAKE_NUMBERS(&m->slab.meeting.passed[side], n);
        }
    }
}
#endif

/* A phase has parts, each of some looks that stand in a row, which warps share. If other slabs wait
 * for what lies beside them, that comes first, of some blocks, while the others have a few looks
 * more, because what crosses takes longer; then come all others. */
enum { SALTUS_MPD_BELOW, SALTUS_MPD_ABOVE, SALTUS_MPD_INNER, SALTUS_MPD_REST, SALTUS_MPD_PARTS };
typedef struct saltus_mpd_looks {
    uint32_t site, jump; /* where a warp begins, and from the last of a row to the next row */
    int left, each;      /* looks of the warp, and how many it has in a row */
} saltus_mpd_looks;

/* Of n looks from a site on: rows of `each`, one for each of so many warps, of which this is number
 * `warp`. */
SALTUS_FN saltus_mpd_looks saltus_mpd_looks_among(int64_t site, int n, int each, int warp,
                                                  int warps)
{
    const int begin = warp * each, round = warps * each, behind = n > begin ? n - begin : 0,
              last = behind % round;
    const saltus_mpd_looks looks = {(uint32_t)site + (uint32_t)begin * SALTUS_MPD_LOOK,
                                    (uint32_t)(round - each + 1) * SALTUS_MPD_LOOK,
                                    behind / round * each + (last < each ? last : each), each};
    return looks;
}

SALTUS_FN saltus_mpd_looks saltus_mpd_looks_of(const saltus_mpd_launch *a, int part)
{
    const int warp = (int)SALTUS_WARP_NUMBER, warps = (int)(SALTUS_STRIDE / 32),
              all = (int)((a->end_site - a->first_site + SALTUS_MPD_LOOK - 1) / SALTUS_MPD_LOOK);
    int64_t first = 0;
    int n = all, number = warp, among = warps;
#ifdef SALTUS_MPD_SLABS
    const saltus_mpd_meeting *const with = &a->m.slab.meeting;
    const int below = with->first_looks[0], above = with->first_looks[1], inner = with->inner_looks;
    if (part == SALTUS_MPD_BELOW) {
        n = below;
    } else if (part == SALTUS_MPD_ABOVE) {
        first = a->m.slab.from_above / SALTUS_MPD_LOOK;
        n = above;
        number += warps - below % warps;
        number -= number < warps ? 0 : warps;
    } else if (part == SALTUS_MPD_INNER) {
        first = below;
        n = number < with->first_warps ? 0 : inner;
        number -= n > 0 ? with->first_warps : 0;
        among -= n > 0 ? with->first_warps : 0;
    } else {
        first = below + inner;
        n = all - below - inner - above;
    }
#endif
    (void)part;
    return saltus_mpd_looks_among(a->first_site + first * SALTUS_MPD_LOOK, n,
                                  (int)a->stretch / SALTUS_MPD_LOOK, number, among);
}

/* With which part a block begins, and whether a list is worked off at the end of one. */
SALTUS_FN int saltus_mpd_first_part(const saltus_mpd *m)
{
#ifdef SALTUS_MPD_SLABS
    return saltus_mpd_meets_first(m)         ? SALTUS_MPD_BELOW
           : m->slab.meeting.inner_looks > 0 ? SALTUS_MPD_INNER
                                             : SALTUS_MPD_REST;
#else
    (void)m;
    return SALTUS_MPD_REST;
#endif
}
SALTUS_FN int saltus_mpd_ends_list(int part)
{
    return part == SALTUS_MPD_ABOVE || part == SALTUS_MPD_REST;
}

/* The part of a warp in a phase, which ends as number `ended` of the launch; 0: as the last. */
SALTUS_FN void saltus_mpd_share(const saltus_mpd_now *p, const saltus_mpd_launch *a, uint64_t ended,
                                saltus_mpd_scratch *s)
{
    const uint32_t end = (uint32_t)a->end_site;
    int n_full = 0;
    if (SALTUS_LANE_NUMBER == 0) {
        p->board->n_busy = p->board->n_others = 0;
    }
    for (int part = saltus_mpd_first_part(p->m); part < SALTUS_MPD_PARTS; ++part) {
        saltus_mpd_looks looks = saltus_mpd_looks_of(a, part);
        uint32_t site = looks.site + (uint32_t)(SALTUS_LANE_NUMBER * SALTUS_MPD_ROW);
        int in_row = 0, goes_on = 1;
        saltus_mpd_row next =
            saltus_mpd_look(p->m, p->set, SALTUS_MPD_IS_LATE && looks.left > 0 ? site : end, end);
        while (goes_on) {
            goes_on = looks.left > 0;
            if (goes_on) {
                const uint32_t here = site;
                const saltus_mpd_row v =
                    SALTUS_MPD_IS_LATE ? next : saltus_mpd_look(p->m, p->set, here, end);
                --looks.left;
                in_row = in_row + 1 < looks.each ? in_row + 1 : 0;
                site += in_row > 0 ? SALTUS_MPD_LOOK : looks.jump;
                if (SALTUS_MPD_IS_LATE) { /* it comes while these are worked off */
                    next = saltus_mpd_look(p->m, p->set, looks.left > 0 ? site : end, end);
                }
                saltus_mpd_clear(p, here, &v);
                saltus_mpd_keep(p, here, &v, &n_full);
            }
            if (n_full > SALTUS_MPD_ENOUGH || (!goes_on && saltus_mpd_ends_list(part))) {
                saltus_mpd_work_off(p, a->tables, n_full, s);
                n_full = 0;
            }
        }
#ifdef SALTUS_MPD_SLABS
        if (part == SALTUS_MPD_ABOVE && ended > 0) {
            saltus_block_wait();
            saltus_mpd_tell(&p->m->slab.meeting, ended);
        }
#endif
        (void)ended;
    }
}

/* After so many phases of the launch. */
SALTUS_FN void saltus_mpd_end_phase(const saltus_mpd_launch *a, uint64_t ended)
{
    if (a->reach > 0) {
        saltus_near_blocks_tell(a->arrived, ended);
    } else {
        saltus_all_blocks_tell(a->arrived);
    }
#ifdef SALTUS_MPD_SLABS
    saltus_mpd_meet(&a->m, ended);
#endif
    if (a->reach > 0) {
        saltus_near_blocks_await(a->arrived, a->reach, ended);
    } else {
        saltus_all_blocks_await(a->arrived, ended);
    }
}

/** Some phases: all blocks run at once if they are more than one. */
SALTUS_KERNEL_OF(SALTUS_MPD_WARPS * 32, 1, saltus_mpd_run_sites, saltus_mpd_launch, a)
{
    saltus_mpd_board *const board = (saltus_mpd_board *)saltus_shared + SALTUS_WARP_IN_BLOCK;
    double v[SALTUS_MPD_ROWS], propensities[SALTUS_MPD_REACTIONS + 1];
    saltus_mpd_scratch s = {v, propensities, 0, a.rows, SALTUS_MPD_ROWS};
    if (SALTUS_LANE_NUMBER >= SALTUS_WARP) {
        return; /* on a host the first of a warp has the work of all */
    }
#ifdef SALTUS_MPD_SLABS
    saltus_mpd_pass(&a.m, 0 - SALTUS_CYCLES());
#endif
    for (int i = 0; i < a.n_phases; ++i) {
        const int what = saltus_mpd_what(&a, i);
        const saltus_mpd_now p = {&a.m, board, a.step + i, what, (a.set + i) & 1};
        saltus_mpd_share(&p, &a, i + 1 < a.n_phases ? (uint64_t)(i + 1) : 0, &s);
        for (int64_t o = SALTUS_WARP_NUMBER; (what & SALTUS_MPD_MOVES) && o < SALTUS_MPD_ORIGINS;
             o += SALTUS_STRIDE / 32) {
            saltus_mpd_come(&a.m, a.tables, p.step, 1 - p.set, (int)o, SALTUS_LANE_NUMBER,
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
        (void)SALTUS_TAKE_NUMBERS(a.fired, s.fired);
    }
}

/* ------------------------------------------------------------------------------------------------
 * Beside them
 */

/** Scatter particles number 0 to n_known - 1 of a species over some sites. */
SALTUS_KERNEL(saltus_mpd_scatter, saltus_mpd_launch, a)
{
    for (int64_t i = SALTUS_THREAD; i < a.n_known; i += SALTUS_STRIDE) {
        const uint32_t site = saltus_mpd_scattered(&a.m, &a.sites, a.scatter, a.species, i);
        if (site != SALTUS_NOWHERE) {
            saltus_mpd_settle(&a.m, saltus_mpd_put(&a.m, a.set, site, a.species, 1));
        }
    }
}

/** Put deposits[n_known] into their sites. */
SALTUS_KERNEL(saltus_mpd_fill, saltus_mpd_launch, a)
{
    for (int64_t i = SALTUS_THREAD; i < a.n_known; i += SALTUS_STRIDE) {
        const saltus_mpd_deposit d = a.deposits[i];
        saltus_mpd_settle(&a.m, saltus_mpd_put(&a.m, a.set, d.site, d.species, d.n));
    }
}

/** Put one that watches into each site of some types. */
SALTUS_KERNEL(saltus_mpd_watch, saltus_mpd_launch, a)
{
    for (int64_t site = a.first_site + SALTUS_THREAD; site < a.end_site; site += SALTUS_STRIDE) {
        if (a.sites.in[saltus_mpd_type(&a.m, (uint32_t)site)]) {
            saltus_mpd_settle(&a.m, saltus_mpd_put(&a.m, a.set, (uint32_t)site, a.species, 1));
        }
    }
}

#ifdef SALTUS_MPD_SLABS
/** Take in who has come from other slabs: to the first plane, and to all from `from_above` on. */
SALTUS_KERNEL(saltus_mpd_arrive, saltus_mpd_launch, a)
{
    const int64_t n = a.end_site - a.first_site, whole = saltus_mpd_whole(saltus_mpd_plane(&a.m)),
                  low = whole < n ? whole : n, from = a.m.slab.from_above,
                  high = from > low ? from : low;
    for (int64_t k = SALTUS_THREAD * SALTUS_MPD_ROW; k < low + n - high;
         k += SALTUS_STRIDE * SALTUS_MPD_ROW) {
        const int64_t site = a.first_site + (k < low ? k : k - low + high);
        *saltus_mpd_row_at(&a.m, a.set, (uint32_t)site) =
            saltus_mpd_look(&a.m, a.set, (uint32_t)site, (uint32_t)a.end_site);
    }
}
#endif

/** Write counts of a.bits bits anew, with more, into an empty set. */
SALTUS_KERNEL(saltus_mpd_widen, saltus_mpd_launch, a)
{
    const int words = SALTUS_MPD_WORDS_OF(SALTUS_MPD_FIELDS, a.bits),
              sharers = SALTUS_MPD_SHARERS_OF(SALTUS_MPD_FIELDS, a.bits), per_word = 32 / a.bits;
    for (int64_t site = a.first_site + SALTUS_THREAD; site < a.end_site; site += SALTUS_STRIDE) {
        for (int x = 0; x < SALTUS_MPD_FIELDS; ++x) {
            const int shift = (int)(site % sharers) * (32 / sharers) + x % per_word * a.bits;
            const uint32_t n = a.narrow[site / sharers * words + x / per_word] >> shift &
                               0xffffffffu >> (32 - a.bits);
            if (n > 0) {
                (void)saltus_mpd_put(&a.m, a.set, (uint32_t)site, x, n);
            }
        }
    }
}

/* The words of a site of the set that holds particles; returns the first species. */
SALTUS_FN int saltus_mpd_read_site(const saltus_mpd_launch *a, int64_t site,
                                   uint32_t v[SALTUS_MPD_WORDS])
{
    saltus_mpd_read(v, saltus_mpd_words_at(&a->m, a->set, (uint32_t)site));
    v[SALTUS_MPD_WORDS - 1] =
        v[SALTUS_MPD_WORDS - 1] >> saltus_mpd_shift_of((uint32_t)site) & SALTUS_MPD_LAST_WORD;
    return saltus_mpd_first(v);
}

SALTUS_KERNEL(saltus_mpd_count, saltus_mpd_launch, a)
{
    uint64_t sums[SALTUS_MPD_FIELDS] = {0};
    for (int64_t site = a.first_site + SALTUS_THREAD; site < a.end_site; site += SALTUS_STRIDE) {
        uint32_t v[SALTUS_MPD_WORDS];
        (void)saltus_mpd_read_site(&a, site, v);
        SALTUS_UNROLL
        for (int x = 0; x < SALTUS_MPD_FIELDS; ++x) {
            sums[x] += saltus_mpd_number(v, x);
        }
    }
    SALTUS_UNROLL
    for (int x = 0; x < SALTUS_MPD_FIELDS; ++x) {
        saltus_warp_add(&a.totals[x], sums[x]);
    }
}

/** The same in each of the parts of the lattice. */
SALTUS_KERNEL(saltus_mpd_split, saltus_mpd_launch, a)
{
    for (int64_t site = a.first_site + SALTUS_THREAD; site < a.end_site; site += SALTUS_STRIDE) {
        uint32_t v[SALTUS_MPD_WORDS];
        for (int x = saltus_mpd_read_site(&a, site, v); x >= 0; x = saltus_mpd_first(v)) {
            const uint32_t n = saltus_mpd_number(v, x);
            const int column = x < SALTUS_MPD_N_SPECIES(&a.m) - 1 ? a.column_of[x] : -1;
            saltus_mpd_change(v, x, 0u - n);
            if (column >= 0) {
                const int64_t part = saltus_mpd_part_of(&a, (uint32_t)site);
                (void)SALTUS_TAKE_NUMBERS(&a.parts[part * a.n_counts + column], n);
            }
        }
    }
}

#endif
#endif
