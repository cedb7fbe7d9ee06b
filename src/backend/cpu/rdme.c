/* A lattice on the CPU by kernel/rdme/mpd.h: a trajectory per worker, whose phases the threads of a
 * team share. Compiled twice: with SALTUS_MPD_SLABS this process has a slab of the lattice, and
 * exchanges particles with those that have the slabs beside it. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/team.h"
#include "engine/keep.h"
#include "engine/rdme.h"
#include "core/memory.h"
#ifdef SALTUS_MPD_SLABS
#include "backend/cpu/halo.h"
#include "engine/slab.h"
#endif
#include "model/network/model.h"
#include "model/network/network.h"

#include <string.h>

enum {
    AHEAD = 16,           /* particles whose data are fetched ahead */
    MANY_PARTICLES = 500, /* particles that are worth a thread: some tens of microseconds */
    MANY_BRICKS = 1 << 12 /* bricks that are worth a thread */
};

/* What a thread of the team owns. */
typedef struct hand {
    saltus_mpd_scratch scratch;
    int64_t *totals; /* [species] */
    char gap[64];    /* no cache line is written by two threads */
} hand;

typedef struct mpd {
    const saltus_task *task;
    saltus_mpd_tables tables;
    saltus_mpd m; /* tables, and the particles */
    saltus_team *team;
    hand *hands;       /* [thread] */
    uint32_t *site[2]; /* [capacity] the particles now, and when they were gathered */
    uint16_t *species[2];
    int now;            /* which of these m has */
    int set;            /* the set that has the particles */
    int64_t n_bricks;   /* bricks of the lattice */
    int64_t used, kept; /* particle numbers in use now, and when they were gathered */
    uint64_t failure, made;
    saltus_mpd_phase phase; /* the phase that the team runs */
    int32_t n_left;         /* phases of a batch that were left out */
#ifdef SALTUS_MPD_SLABS
    saltus_slab slab;
    saltus_halo halo;
    bool is_void; /* the batch is given up */
#endif
} mpd;

/* ------------------------------------------------------------------------------------------------
 * Steps of the team
 */

/* A member's part of n items. */
static void share(const mpd *s, int member, int64_t n, int64_t *first, int64_t *end)
{
    const int64_t size = saltus_team_size(s->team);
    *first = n * member / size;
    *end = n * (member + 1) / size;
}

/* Let the team take a step on n items, unless it is too short for that. */
static void together(mpd *s, void (*step)(void *user, int member), int64_t n, int64_t grain)
{
    const int size = saltus_team_size(s->team);
    if (n >= grain * size) {
        saltus_team_step(s->team, step, s);
    } else {
        for (int member = 0; member < size; ++member) {
            step(s, member);
        }
    }
}

/* Prefetch the types of sites around a particle, which are seldom in the cache. */
static void fetch_types(const saltus_mpd *m, uint32_t site)
{
    const uint32_t plane = m->size[0] * m->size[1],
                   n = saltus_mpd_first_site(m) + plane * m->size[2];
    const uint32_t up = site + plane < n ? site + plane : site,
                   down = site >= plane ? site - plane : site;
    __builtin_prefetch(&m->types[site]);
    __builtin_prefetch(&m->types[up]);
    __builtin_prefetch(&m->types[down]);
}

static void run_phase(void *user, int member)
{
    mpd *s = user;
    const saltus_mpd m = s->m;
    saltus_mpd_scratch *scratch = &s->hands[member].scratch;
    int64_t first, end;
    share(s, member, s->used, &first, &end);
    for (int64_t i = first; i < end; ++i) {
        if (m.n_types > 1 && i + AHEAD < end) {
            const uint32_t site = SALTUS_PEEK(&m.site[i + AHEAD]);
            if (site != SALTUS_NOWHERE) {
                fetch_types(&m, site);
            }
        }
        saltus_mpd_particle(&m, s->tables.of, s->phase.step, s->phase.what, s->set, (int32_t)i,
                            scratch);
    }
    for (int o = member; (s->phase.what & SALTUS_MPD_MOVES) && o < m.n_sources;
         o += saltus_team_size(s->team)) {
        saltus_mpd_add_new(&m, s->tables.of, s->phase.step, 1 - s->set, o, 0, 1, scratch);
    }
}

static void clear_sites(void *user, int member)
{
    mpd *s = user;
    int64_t first, end;
    share(s, member, s->n_bricks, &first, &end);
    for (int set = 0; set < 2; ++set) {
        memset(s->m.head[set] + 32 * first, 0xff, 32 * (size_t)(end - first) * sizeof(int32_t));
        memset(s->m.held[set] + first, 0, (size_t)(end - first) * sizeof(uint32_t));
        memset(s->m.crowded[set] + first, 0, (size_t)(end - first) * sizeof(uint32_t));
    }
}

/* Insert particles that are in no site yet. */
static void insert_all(void *user, int member)
{
    mpd *s = user;
    int64_t first, end;
    share(s, member, s->used, &first, &end);
    for (int64_t i = first; i < end; ++i) {
        const saltus_mpd_site_pos to = saltus_mpd_site_pos_of(&s->m, s->m.site[i]);
        saltus_mpd_send(&s->m, s->set, (int32_t)i, &to);
    }
}

static void gather_bricks(void *user, int member)
{
    mpd *s = user;
    int64_t first, end;
    share(s, member, s->n_bricks, &first, &end);
    saltus_mpd_gather(&s->m, s->set, (uint32_t)first, (uint32_t)end, s->site[1 - s->now],
                      s->species[1 - s->now], &s->made);
}

static void gather_site_heads(void *user, int member)
{
    mpd *s = user;
    int64_t first, end;
    share(s, member, s->used, &first, &end);
    for (int64_t i = first; i < end; ++i) {
        saltus_mpd_gather_site_head(&s->m, s->set, (int32_t)i, s->site[1 - s->now],
                                    s->species[1 - s->now]);
    }
}

static void link_all(void *user, int member)
{
    mpd *s = user;
    int64_t first, end;
    share(s, member, s->used, &first, &end);
    for (int64_t i = first; i < end; ++i) {
        saltus_mpd_link(&s->m, s->set, (int32_t)i, s->used);
    }
}

static void count_species(void *user, int member)
{
    mpd *s = user;
    int64_t first, end, *totals = s->hands[member].totals;
    share(s, member, s->used, &first, &end);
    memset(totals, 0, (size_t)s->m.n_species * sizeof *totals);
    for (int64_t i = first; i < end; ++i) {
        if (s->m.site[i] != SALTUS_NOWHERE) {
            ++totals[s->m.species[i]];
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Memory of the particles
 */

/* Give m the particles of one of the two arrays. */
static void choose(mpd *s, int now)
{
    s->now = now;
    s->m.site = s->site[now];
    s->m.species = s->species[now];
}

static saltus_status grow(mpd *s, int64_t capacity, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = 0; i < 2; ++i) {
        uint32_t *site = saltus_realloc(s->site[i], (size_t)capacity, sizeof *site);
        s->site[i] = site ? site : s->site[i];
        uint16_t *species = saltus_realloc(s->species[i], (size_t)capacity, sizeof *species);
        s->species[i] = species ? species : s->species[i];
        SALTUS_NEED(site && species);
    }
    int32_t *next = saltus_realloc(s->m.next, (size_t)capacity, sizeof *next);
    s->m.next = next ? next : s->m.next;
    SALTUS_NEED(next);
    s->m.capacity = capacity;
    choose(s, s->now);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * What this process has of the lattice: a slab, or all of it
 */

static void run_one(mpd *s, const saltus_mpd_phase *phase)
{
    int64_t used = s->used;
    s->m.used = &used;
    s->phase = *phase;
    together(s, run_phase, s->used, MANY_PARTICLES);
    s->used = used;
    s->set = 1 - s->set;
}

#ifdef SALTUS_MPD_SLABS
/* The tables, and this process's part of the lattice. */
static saltus_status set_up_lattice(mpd *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task *task = s->task;
    const saltus_peers *peers = task->peers;
    SALTUS_TRY(saltus_mpd_tables_create(task->model, true, &s->tables, err));
    SALTUS_TRY(saltus_mpd_follow_rates(&s->tables, task, err));
    SALTUS_TRY(saltus_mpd_find_sets(&s->tables, err));
    const saltus_lattice *l = s->tables.lattice;
    const int64_t n_planes = l->size[2],
                  begin = saltus_slabs_begin(task->slabs, peers->n, peers->number, n_planes, 1),
                  end = saltus_slabs_begin(task->slabs, peers->n, peers->number + 1, n_planes, 1);
    s->m = s->tables.m;
    SALTUS_TRY(saltus_slab_create(&s->tables, begin, end, &s->m, &s->slab, err));
    SALTUS_TRY(saltus_halo_create(peers, l->faces[SALTUS_FACE_Z_HIGH] == SALTUS_FACE_PERIODIC,
                                  &s->halo, err));
    s->m.slab.departures = s->halo.departures;
    s->n_bricks = (int64_t)saltus_mpd_bricks(&s->m, 0) * saltus_mpd_bricks(&s->m, 1) *
                  ((end - begin + 1) / 2);
done:
    return status;
}

static void free_lattice(mpd *s)
{
    saltus_halo_free(&s->halo);
    saltus_slab_free(&s->slab);
    saltus_mpd_tables_free(&s->tables);
}

/* Particles that a slab begins with. */
static saltus_status put(void *user, uint32_t site, int species, int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd *s = user;
    if (s->used + n > s->m.capacity) {
        int64_t capacity;
        SALTUS_TRY(saltus_mpd_more_capacity(s->used + n, &capacity, err));
        SALTUS_TRY(grow(s, capacity, err));
    }
    for (int64_t k = 0; k < n; ++k, ++s->used) {
        s->m.site[s->used] = site;
        s->m.species[s->used] = (uint16_t)species;
    }
done:
    return status;
}

static saltus_status place(mpd *s, int64_t trajectory, const saltus_contents *from,
                           saltus_error *err)
{
    s->used = 0;
    return saltus_slab_place(&s->slab, &s->tables, s->task->seed, trajectory, from, &s->m, put, s,
                             err);
}

/* How many it may come to: those of the slab, if they are spread evenly. */
static int64_t expect(const mpd *s, const saltus_contents *from)
{
    const double part = (double)s->slab.n / (double)s->tables.lattice->n_sites;
    return (int64_t)(part * (double)saltus_mpd_n_placed(&s->tables, from));
}

/* Put particles that have come from the slabs beside this one into their sites. They get the
 * numbers of those that have left, then new ones. */
static void insert_arrivals(void *user, int member)
{
    mpd *s = user;
    const saltus_mpd *m = &s->m;
    const saltus_mpd_departures *left = s->halo.departures;
    const uint32_t plane = m->size[0] * m->size[1], to[2] = {m->slab.first, m->slab.end - plane};
    const int64_t n_below = saltus_halo_n_arrivals(&s->halo, 0),
                  n_above = saltus_halo_n_arrivals(&s->halo, 1), n_free = left[0].n + left[1].n;
    int64_t first, end;
    share(s, member, n_below + n_above, &first, &end);
    for (int64_t k = first; k < end; ++k) {
        const int side = k >= n_below;
        const saltus_mpd_departure *a = saltus_halo_arrival(&s->halo, side, k - side * n_below);
        const int64_t i = k < left[0].n ? left[0].number[k]
                          : k < n_free  ? left[1].number[k - left[0].n]
                                        : s->used + (k - n_free);
        const saltus_mpd_site_pos at = saltus_mpd_site_pos_of(m, to[side] + a->place);
        SALTUS_POKE(&m->species[i], a->species);
        saltus_mpd_insert(m, s->set, (int32_t)i, &at);
    }
}

/* Exchange those that have left the slab. */
static saltus_status exchange(mpd *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_departures *left = s->halo.departures;
    SALTUS_TRY(saltus_halo_exchange(&s->halo, &s->is_void, err));
    if (!s->is_void) {
        const int64_t n = saltus_halo_n_arrivals(&s->halo, 0) + saltus_halo_n_arrivals(&s->halo, 1),
                      n_free = left[0].n + left[1].n, more = n > n_free ? n - n_free : 0;
        s->is_void = s->used + more > s->m.capacity;
        if (!s->is_void) {
            together(s, insert_arrivals, n, MANY_PARTICLES);
        }
        s->used += more;
        left[0].n = left[1].n = 0;
    }
done:
    return status;
}

/* A batch that this process gives up, or one beside it, goes on to its end without particles. */
static saltus_status run(void *user, const saltus_mpd_phase *phases, int n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd *s = user;
    const bool leads = s->task->peers->number == 0;
    s->m.first_step = phases[0].step;
    for (int i = 0; i < n; ++i) {
        if (!s->is_void) {
            run_one(s, &phases[i]);
            s->is_void = s->used > s->m.capacity || (leads && saltus_keep_stops(s->task, false));
        }
        if (phases[i].what & SALTUS_MPD_MOVES) {
            SALTUS_TRY(exchange(s, err));
        }
    }
done:
    return status;
}

/* Whether a batch is to be done again; and room for that. */
static bool is_full(const mpd *s)
{
    return s->used > s->m.capacity || saltus_halo_is_full(&s->halo);
}

static saltus_status make_room(mpd *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int64_t capacity;
    s->is_void = false;
    SALTUS_TRY(saltus_halo_grow(&s->halo, err));
    if (s->used > s->m.capacity) {
        SALTUS_TRY(saltus_mpd_more_capacity(s->used, &capacity, err));
        SALTUS_TRY(grow(s, capacity, err));
    }
done:
    return status;
}
#else
static saltus_status set_up_lattice(mpd *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_mpd_tables_create(s->task->model, false, &s->tables, err));
    SALTUS_TRY(saltus_mpd_follow_rates(&s->tables, s->task, err));
    s->m = s->tables.m;
    s->n_bricks = saltus_mpd_n_bricks(&s->m);
done:
    return status;
}

static void free_lattice(mpd *s)
{
    saltus_mpd_tables_free(&s->tables);
}

static saltus_status place(mpd *s, int64_t trajectory, const saltus_contents *from,
                           saltus_error *err)
{
    s->used = saltus_mpd_n_placed(&s->tables, from);
    return saltus_mpd_place(&s->tables, s->task->seed, trajectory, from, &s->m, s->m.site,
                            s->m.species, err);
}

static int64_t expect(const mpd *s, const saltus_contents *from)
{
    return saltus_mpd_n_placed(&s->tables, from);
}

static saltus_status run(void *user, const saltus_mpd_phase *phases, int n, saltus_error *err)
{
    mpd *s = user;
    (void)err;
    s->m.first_step = phases[0].step;
    s->n_left = n;
    while (s->n_left > 0 && s->used <= s->m.capacity && !saltus_keep_stops(s->task, false) &&
           (s->n_left == n || !saltus_keep_is_asked(s->task))) {
        run_one(s, &phases[n - s->n_left--]);
    }
    return SALTUS_OK;
}

static bool is_full(const mpd *s)
{
    return s->used > s->m.capacity;
}

static saltus_status make_room(mpd *s, saltus_error *err)
{
    int64_t capacity;
    const saltus_status status = saltus_mpd_more_capacity(s->used, &capacity, err);
    return status == SALTUS_OK ? grow(s, capacity, err) : status;
}
#endif

/* ------------------------------------------------------------------------------------------------
 * The engine
 */

static void enlist(mpd *s)
{
    s->set = 0;
    together(s, clear_sites, s->n_bricks, MANY_BRICKS);
    together(s, insert_all, s->used, MANY_PARTICLES);
}

static saltus_status begin(void *user, int64_t trajectory, const saltus_contents *from,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd *s = user;
    const int64_t capacity = saltus_mpd_first_capacity(expect(s, from));
    if (capacity > s->m.capacity) {
        SALTUS_TRY(grow(s, capacity, err));
    }
    choose(s, 0);
    SALTUS_TRY(place(s, trajectory, from, err));
    enlist(s);
done:
    return status;
}

/* Reset the counter of reactions and the failure. */
static void forget(mpd *s)
{
    s->failure = UINT64_MAX;
    for (int i = 0; i < saltus_team_size(s->team); ++i) {
        s->hands[i].scratch.fired = 0;
    }
}

static saltus_status gather(void *user, saltus_error *err)
{
    mpd *s = user;
    (void)err;
    s->made = 0;
    together(s, gather_bricks, s->n_bricks, MANY_BRICKS);
    together(s, gather_site_heads, s->used, MANY_PARTICLES);
    s->kept = s->used;
    s->used = (int64_t)s->made;
    choose(s, 1 - s->now);
    together(s, link_all, s->used, MANY_PARTICLES);
    forget(s);
    return SALTUS_OK;
}

static saltus_status poll(void *user, saltus_mpd_batch_status *out, saltus_error *err)
{
    const mpd *s = user;
    (void)err;
    *out = (saltus_mpd_batch_status){.work = s->used,
                                     .failure = saltus_mpd_failure_of(s->failure, s->m.slab.zero),
                                     .is_full = is_full(s),
                                     .n_left = s->n_left};
    for (int i = 0; i < saltus_team_size(s->team); ++i) {
        out->fired += s->hands[i].scratch.fired;
    }
    return SALTUS_OK;
}

static saltus_status restore(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd *s = user;
    SALTUS_TRY(make_room(s, err));
    choose(s, 1 - s->now);
    s->used = s->kept;
    enlist(s);
    SALTUS_TRY(gather(s, err));
done:
    return status;
}

static saltus_status count(void *user, int64_t *totals, saltus_error *err)
{
    mpd *s = user;
    (void)err;
    together(s, count_species, s->used, MANY_PARTICLES);
    for (int x = 0; x < s->m.n_species; ++x) {
        totals[x] = 0;
        for (int i = 0; i < saltus_team_size(s->team); ++i) {
            totals[x] += s->hands[i].totals[x];
        }
    }
    return SALTUS_OK;
}

static saltus_status collect(void *user, saltus_contents *contents, saltus_error *err)
{
    const mpd *s = user;
    return saltus_mpd_collect(&s->m, s->m.site, s->m.species, s->used, contents, err);
}

/* ------------------------------------------------------------------------------------------------
 * Work
 */

static saltus_status set_up(mpd *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = s->task->tables;
    SALTUS_TRY(set_up_lattice(s, err));
    SALTUS_TRY(saltus_team_create(s->task->n_threads, &s->team, err));
    s->m.is_shared = saltus_team_size(s->team) > 1;
    s->m.failure = &s->failure;
    for (int set = 0; set < 2; ++set) {
        s->m.head[set] = saltus_calloc(32 * (size_t)s->n_bricks, sizeof(int32_t));
        s->m.held[set] = saltus_calloc((size_t)s->n_bricks, sizeof(uint32_t));
        s->m.crowded[set] = saltus_calloc((size_t)s->n_bricks, sizeof(uint32_t));
        SALTUS_NEED(s->m.head[set] && s->m.held[set] && s->m.crowded[set]);
    }
    s->m.gathered = saltus_calloc((size_t)s->n_bricks, sizeof(uint32_t));
    SALTUS_NEED(s->m.gathered);
    s->hands = saltus_calloc((size_t)saltus_team_size(s->team), sizeof *s->hands);
    SALTUS_NEED(s->hands);
    for (int i = 0; i < saltus_team_size(s->team); ++i) {
        hand *h = &s->hands[i];
        h->scratch.v = saltus_calloc((size_t)t->n_rows + 1, sizeof *h->scratch.v);
        h->scratch.a = saltus_calloc((size_t)t->n_reactions + 1, sizeof *h->scratch.a);
        h->totals = saltus_calloc((size_t)s->m.n_species, sizeof *h->totals);
        SALTUS_NEED(h->scratch.v && h->scratch.a && h->totals);
        memcpy(h->scratch.v, s->tables.rows, (size_t)t->n_rows * sizeof *h->scratch.v);
    }
done:
    return status;
}

static void tear_down(mpd *s)
{
    for (int i = 0; s->hands && i < saltus_team_size(s->team); ++i) {
        saltus_free(s->hands[i].scratch.v);
        saltus_free(s->hands[i].scratch.a);
        saltus_free(s->hands[i].totals);
    }
    saltus_free(s->hands);
    for (int i = 0; i < 2; ++i) {
        saltus_free(s->site[i]);
        saltus_free(s->species[i]);
        saltus_free(s->m.head[i]);
        saltus_free(s->m.held[i]);
        saltus_free(s->m.crowded[i]);
    }
    saltus_free(s->m.next);
    saltus_free(s->m.gathered);
    saltus_team_destroy(s->team);
    free_lattice(s);
}

#ifdef SALTUS_MPD_SLABS
saltus_status saltus_work_mpd_slab(const saltus_task *task, const saltus_source *source,
                                   saltus_error *err)
#else
saltus_status saltus_work_mpd(const saltus_task *task, const saltus_source *source,
                              saltus_error *err)
#endif
{
    saltus_status status = SALTUS_OK;
    mpd s = {.task = task};
    const saltus_mpd_engine engine = {&s,    begin, gather,  run,  poll, restore,
                                      count, NULL,  collect, NULL, NULL};
    SALTUS_TRY(set_up(&s, err));
    SALTUS_TRY(saltus_mpd_work(&s.tables, task, &engine, source, err));
done:
    tear_down(&s);
    return status;
}
