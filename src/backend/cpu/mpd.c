/* Space on the CPU: kernel/mpd.h, a trajectory per thread. Particles stand in linked lists by site,
 * so a site holds any number of them, and empty space costs nothing. */
#include "backend/cpu/cpu.h"
#include "backend/record.h"
#include "core/memory.h"
#include "kernel/mpd.h"
#include "kernel/poisson.h"
#include "model/lattice.h"
#include "model/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 8 /* sites */ };

/* A particle; the next one in its site, or -1. */
typedef struct particle {
    int32_t next;
    uint16_t species;
} particle;

/* The particles of a lattice: those of a site from head[site] on; -1: there are none. */
typedef struct content {
    int32_t *head;          /* [site] */
    particle *all;          /* [capacity] */
    saltus_place *occupied; /* [capacity] sites that have, or had, particles; each once */
    int32_t n, n_occupied;
} content;

typedef struct mpd {
    const saltus_task *task;
    const saltus_tables *tables;
    const saltus_lattice *lattice;
    saltus_mpd m;
    uint32_t *jump;
    int32_t *active;
    double *alone;   /* [type][species] sum of the propensities of one particle alone */
    int64_t **sites; /* [type] sites of it, for types that something comes from nothing in */
    content now, next;
    saltus_contents contents; /* for what is recorded */
    int32_t capacity;         /* of particles */
    uint16_t *here;           /* [capacity] the species in the present site, sorted */
    int64_t *totals;          /* [species] */
    double *v, *a;            /* rows, propensities */
    int64_t step, fired;
    int64_t trajectory;
} mpd;

/* ------------------------------------------------------------------------------------------------
 * Particles
 */

static bool grow_content(content *c, int32_t capacity)
{
    particle *all = saltus_realloc(c->all, (size_t)capacity, sizeof *all);
    c->all = all ? all : c->all;
    saltus_place *occupied = saltus_realloc(c->occupied, (size_t)capacity, sizeof *occupied);
    c->occupied = occupied ? occupied : c->occupied;
    return all && occupied;
}

/* Room for n more particles in either content. */
static saltus_status make_room(mpd *s, int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t most = s->now.n > s->next.n ? s->now.n : s->next.n;
    int64_t capacity = s->capacity;
    if (most + n <= capacity) {
        return SALTUS_OK;
    }
    while (capacity < most + n) {
        capacity = capacity > 0 ? 2 * capacity : 1 << 12;
    }
    if (capacity > INT32_MAX) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "more than 2^31 particles on a lattice");
    }
    uint16_t *here = saltus_realloc(s->here, (size_t)capacity, sizeof *here);
    s->here = here ? here : s->here;
    SALTUS_NEED(here && grow_content(&s->now, (int32_t)capacity) &&
                grow_content(&s->next, (int32_t)capacity));
    s->capacity = (int32_t)capacity;
done:
    return status;
}

/* There is room. */
static void add(content *c, const saltus_place *place, int species)
{
    int32_t *head = &c->head[place->site];
    if (*head < 0) {
        c->occupied[c->n_occupied++] = *place;
    }
    c->all[c->n] = (particle){*head, (uint16_t)species};
    *head = c->n++;
}

static saltus_place place_of(const mpd *s, int64_t site)
{
    const int64_t x = s->m.size[0], y = s->m.size[1];
    return (saltus_place){site,
                          {(int32_t)(site % x), (int32_t)(site / x % y), (int32_t)(site / x / y)}};
}

static int compare(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* Take a site's particles out, s->here[n], sorted by species. */
static int32_t take_out(mpd *s, int64_t site)
{
    content *c = &s->now;
    int32_t n = 0;
    for (int32_t i = c->head[site]; i >= 0; i = c->all[i].next) {
        const uint16_t species = c->all[i].species;
        int32_t at = n++;
        for (; at > 0 && n <= 32 && s->here[at - 1] > species; --at) {
            s->here[at] = s->here[at - 1];
        }
        s->here[at] = species;
    }
    if (n > 32) {
        qsort(s->here, (size_t)n, sizeof *s->here, compare);
    }
    c->head[site] = -1;
    return n;
}

/* ------------------------------------------------------------------------------------------------
 * Steps
 */

static void count_fired(void *user, int r)
{
    mpd *s = user;
    const saltus_tables *t = s->tables;
    ++s->fired;
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        s->totals[t->change_species[c]] += t->change_amount[c];
    }
}

static saltus_status report(const mpd *s, int reaction, int64_t site, saltus_error *err)
{
    const saltus_place place = place_of(s, site);
    return saltus_error_set(err, SALTUS_E_NUMERIC,
                            "trajectory %lld, step %lld, site (%d, %d, %d): reaction '%s' has a "
                            "propensity that is negative or no number, or takes what is not there",
                            (long long)s->trajectory, (long long)s->step, place.at[0], place.at[1],
                            place.at[2], s->task->model->network->reaction_names[reaction]);
}

/* Let the particles s->here[*n] of a site react. */
static saltus_status react(mpd *s, int64_t site, int32_t *n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int type = s->m.types[site];
    if (s->m.active[(int64_t)type * (s->tables->n_reactions + 1)] < 0 ||
        (*n == 1 && s->alone[(int64_t)type * s->m.n_species + s->here[0]] == 0.0)) {
        return SALTUS_OK;
    }
    for (int32_t i = 0; i < *n; ++i) {
        s->v[s->here[i]] += 1.0;
    }
    s->v[s->tables->row_time] = (double)s->step * s->m.step;
    const saltus_mpd_outcome out =
        saltus_mpd_react(&s->m, s->tables, s->step, site, s->v, s->a, count_fired, s);
    if (out.bad >= 0) {
        SALTUS_TRY(report(s, out.bad, site, err));
    }
    if (out.n_fired > 0) {
        double sum = 0.0;
        for (int i = 0; i < s->m.n_species; ++i) {
            sum += s->v[i];
        }
        SALTUS_TRY(make_room(s, (int64_t)sum, err));
        *n = 0;
        for (int i = 0; i < s->m.n_species; ++i) {
            for (double k = s->v[i]; k > 0.0; k -= 1.0) {
                s->here[(*n)++] = (uint16_t)i;
            }
        }
    }
    memset(s->v, 0, (size_t)s->m.n_species * sizeof *s->v);
done:
    return status;
}

/* Move the particles s->here[n] of a site, of the present step. */
static saltus_status move(mpd *s, const saltus_place *place, int32_t n, saltus_error *err)
{
    saltus_status status = make_room(s, n, err);
    int64_t rank = 0;
    for (int32_t i = 0; i < n && status == SALTUS_OK; ++i) {
        const int species = s->here[i];
        uint32_t w[4];
        rank = i > 0 && s->here[i - 1] == species ? rank + 1 : 0;
        saltus_place to = *place;
        bool stays = true;
        if (s->lattice->largest_jump[species] > 0.0) {
            saltus_mpd_words(&s->m, SALTUS_PURPOSE_MOVE, s->step, place->site, species, rank, w);
            stays = saltus_mpd_move(&s->m, &to, species, w);
        }
        if (stays) {
            add(&s->next, &to, species);
        } else {
            --s->totals[species];
        }
    }
    return status;
}

/* A site's surroundings are seldom in the cache: ask for them early. */
static void fetch(const mpd *s, int64_t site)
{
    const int64_t y = s->m.size[0], z = y * s->m.size[1], last = s->lattice->n_sites - 1;
    const int64_t up = site + z < last ? site + z : last, down = site > z ? site - z : 0;
    __builtin_prefetch(&s->now.head[site]);
    __builtin_prefetch(&s->next.head[site]);
    __builtin_prefetch(&s->next.head[up]);
    __builtin_prefetch(&s->next.head[down]);
    __builtin_prefetch(&s->m.types[site]);
    __builtin_prefetch(&s->m.types[up]);
    __builtin_prefetch(&s->m.types[down]);
    __builtin_prefetch(&s->next.head[site + y < last ? site + y : last]);
    __builtin_prefetch(&s->next.head[site > y ? site - y : 0]);
}

/* Go over all sites with particles and let them react, or move, or both: first the end of a step,
 * then the beginning of the next. */
static saltus_status pass(mpd *s, bool reacts, bool moves, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    content *c = &s->now;
    s->next.n = s->next.n_occupied = 0;
    for (int32_t i = 0; i < c->n_occupied; ++i) {
        const saltus_place place = c->occupied[i];
        if (i + AHEAD < c->n_occupied) {
            fetch(s, c->occupied[i + AHEAD].site);
        }
        int32_t n = take_out(s, place.site);
        if (reacts && n > 0) {
            SALTUS_TRY(react(s, place.site, &n, err));
        }
        if (moves) {
            s->step += reacts;
            status = move(s, &place, n, err);
            s->step -= reacts;
            SALTUS_TRY(status);
        } else {
            SALTUS_TRY(make_room(s, n, err));
            for (int32_t k = 0; k < n; ++k) {
                add(&s->next, &place, s->here[k]);
            }
        }
    }
    const content swap = s->now;
    s->now = s->next;
    s->next = swap;
done:
    return status;
}

/* Reactions without reactants, in all sites of a type together. */
static saltus_status come_from_nothing(mpd *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = s->tables;
    for (int type = 0; type < s->m.n_types; ++type) {
        for (int r = 0; r < t->n_reactions && s->sites[type]; ++r) {
            const double rate = s->lattice->rate[(int64_t)type * t->n_reactions + r];
            const int64_t n_sites = s->lattice->sites_of[type], place = (int64_t)type << 16 | r;
            if (t->law_program[r] >= 0 || t->factor_row[r] < t->factor_row[r + 1] || rate == 0.0) {
                continue;
            }
            uint32_t w[4];
            const double mean = rate * s->m.step * (double)n_sites;
            const saltus_poisson law = saltus_poisson_of(mean < 10.0 ? 10.0 : mean);
            double k = 0.0;
            int64_t drawn = 0;
            bool good = false;
            while (!good) {
                saltus_mpd_words(&s->m, SALTUS_PURPOSE_SOURCE, s->step, place, 0, drawn++, w);
                good = mean < saltus_poisson_inversion;
                if (good) {
                    k = saltus_poisson_invert(mean, saltus_unit53(w[0], w[1]));
                } else {
                    good = saltus_poisson_attempt(&law, saltus_unit53(w[0], w[1]),
                                                  saltus_unit53(w[2], w[3]), &k) != 0;
                }
            }
            for (double i = 0.0; i < k; i += 1.0) {
                saltus_mpd_words(&s->m, SALTUS_PURPOSE_SOURCE, s->step, place, 1, (int64_t)i, w);
                const saltus_place at = place_of(
                    s, s->sites[type][(int64_t)(saltus_unit53(w[0], w[1]) * (double)n_sites)]);
                for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
                    SALTUS_TRY(make_room(s, t->change_amount[c], err));
                    for (int64_t p = 0; p < t->change_amount[c]; ++p) {
                        add(&s->now, &at, t->change_species[c]);
                    }
                }
                count_fired(s, r);
            }
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Trajectories
 */

static saltus_status place_at_random(mpd *s, int number, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->lattice;
    const saltus_scatter *scatter = &l->scatters[number];
    int64_t n = 0, *sites = NULL;
    for (int type = 0; type < l->n_types; ++type) {
        n += scatter->in[type] ? l->sites_of[type] : 0;
    }
    sites = saltus_calloc((size_t)n, sizeof *sites);
    SALTUS_NEED(sites);
    n = 0;
    for (int64_t site = 0; site < l->n_sites; ++site) {
        if (scatter->in[l->types[site]]) {
            sites[n++] = site;
        }
    }
    SALTUS_TRY(make_room(s, scatter->count, err));
    for (int64_t i = 0; i < scatter->count; ++i) {
        uint32_t w[4];
        saltus_mpd_words(&s->m, SALTUS_PURPOSE_PLACE, i, number, scatter->species, 0, w);
        const saltus_place place =
            place_of(s, sites[(int64_t)(saltus_unit53(w[0], w[1]) * (double)n)]);
        add(&s->now, &place, scatter->species);
    }
    s->totals[scatter->species] += scatter->count;
done:
    saltus_free(sites);
    return status;
}

static saltus_status begin(mpd *s, int64_t trajectory, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->lattice;
    s->trajectory = trajectory;
    s->step = s->fired = 0;
    s->now.n = s->now.n_occupied = 0;
    memset(s->now.head, 0xff, (size_t)l->n_sites * sizeof *s->now.head);
    memset(s->next.head, 0xff, (size_t)l->n_sites * sizeof *s->next.head);
    memset(s->totals, 0, (size_t)s->m.n_species * sizeof *s->totals);
    memset(s->v, 0, (size_t)s->m.n_species * sizeof *s->v);
    saltus_mpd_start(&s->m, s->task->seed, (uint64_t)trajectory);
    for (int i = 0; i < l->n_scatters; ++i) {
        SALTUS_TRY(place_at_random(s, i, err));
    }
    for (int64_t i = 0; i < l->n_deposits; ++i) {
        SALTUS_TRY(make_room(s, l->deposits[i].n, err));
        const saltus_place place = place_of(s, l->deposits[i].site);
        for (int64_t k = 0; k < l->deposits[i].n; ++k) {
            add(&s->now, &place, l->deposits[i].species);
        }
        s->totals[l->deposits[i].species] += l->deposits[i].n;
    }
done:
    return status;
}

/* The first step that has not ended at a time; one that ends then has. */
static int64_t step_at(const mpd *s, double time)
{
    return (int64_t)floor(time / s->m.step * (1.0 + 1e-12) + 1e-9);
}

static saltus_status tell(mpd *s, saltus_contents *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_contents_clear(out);
    for (int32_t i = 0; i < s->now.n_occupied; ++i) {
        const int64_t site = s->now.occupied[i].site;
        for (int32_t p = s->now.head[site]; p >= 0; p = s->now.all[p].next) {
            SALTUS_TRY(saltus_contents_add(out, site, s->now.all[p].species, 1, err));
        }
    }
done:
    return status;
}

static saltus_status run(mpd *s, saltus_job *job, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task *task = s->task;
    bool has_moved = false; /* the present step has; it has still to react */
    SALTUS_TRY(begin(s, job->trajectory, err));
    for (saltus_stop at = saltus_stop_first(task); at.is_one; at = saltus_stop_next(task, &at)) {
        const int64_t end = step_at(s, at.time);
        while (s->step < end) {
            const bool is_last = s->step + 1 == end;
            if (!has_moved) {
                SALTUS_TRY(pass(s, false, true, err));
            }
            SALTUS_TRY(come_from_nothing(s, err));
            SALTUS_TRY(
                pass(s, true, !is_last, err)); /* and on to the next, unless a sample comes */
            has_moved = !is_last;
            ++s->step;
            if (SALTUS_FLAG(task->stop)) {
                SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
            }
        }
        if (at.needs_contents) {
            SALTUS_TRY(tell(s, &s->contents, err));
        }
        SALTUS_TRY(saltus_space_record(task, job, &at, s->totals, &s->contents, err));
    }
    job->events = s->fired;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Tables
 */

/* Reactions that sites of a type are looked at for, and what a particle does alone. */
static saltus_status fill_reactions(mpd *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = s->tables;
    const saltus_lattice *l = s->lattice;
    for (int type = 0; type < l->n_types; ++type) {
        int32_t *active = s->active + (int64_t)type * (t->n_reactions + 1);
        bool from_nothing = false;
        for (int r = 0; r < t->n_reactions; ++r) {
            const bool is_product = t->law_program[r] < 0;
            const bool has_factors = t->factor_row[r] < t->factor_row[r + 1];
            if (l->rate[(int64_t)type * t->n_reactions + r] == 0.0) {
                continue;
            }
            if (is_product && !has_factors) {
                from_nothing = true;
                continue;
            }
            *active++ = r;
            saltus_mpd_rules(t, s->v);
            if (!is_product && saltus_mpd_propensity(&s->m, t, type, r, s->v) != 0.0) {
                SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                            "reaction '%s': a law that is not 0 in an empty site is not simulated "
                            "on a lattice",
                            s->task->model->network->reaction_names[r]);
            }
            for (int x = 0; x < l->n_species; ++x) {
                s->v[x] = 1.0;
                saltus_mpd_rules(t, s->v);
                s->alone[(int64_t)type * l->n_species + x] +=
                    fabs(saltus_mpd_propensity(&s->m, t, type, r, s->v));
                s->v[x] = 0.0;
            }
        }
        *active = -1;
        if (from_nothing) {
            int64_t n = 0;
            s->sites[type] = saltus_calloc((size_t)l->sites_of[type], sizeof(int64_t));
            SALTUS_NEED(s->sites[type]);
            for (int64_t site = 0; site < l->n_sites; ++site) {
                if (l->types[site] == type) {
                    s->sites[type][n++] = site;
                }
            }
        }
    }
done:
    return status;
}

static saltus_status set_up(mpd *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = s->tables;
    const saltus_lattice *l = s->lattice;
    const size_t types = (size_t)l->n_types, species = (size_t)l->n_species;
    if (l->n_species > UINT16_MAX) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "%d species: on a lattice there are at most 65535",
                    l->n_species);
    }
    s->jump = saltus_calloc(types * types * species, sizeof *s->jump);
    s->active = saltus_calloc(types * ((size_t)t->n_reactions + 1), sizeof *s->active);
    s->alone = saltus_calloc(types * species, sizeof *s->alone);
    s->sites = saltus_calloc(types, sizeof *s->sites);
    s->totals = saltus_calloc(species, sizeof *s->totals);
    s->v = saltus_calloc((size_t)t->n_rows, sizeof *s->v);
    s->a = saltus_calloc((size_t)t->n_reactions, sizeof *s->a);
    s->now.head = saltus_calloc((size_t)l->n_sites, sizeof *s->now.head);
    s->next.head = saltus_calloc((size_t)l->n_sites, sizeof *s->next.head);
    SALTUS_NEED(s->jump && s->active && s->alone && s->sites && s->totals && s->v && s->a &&
                s->now.head && s->next.head);
    for (size_t i = 0; i < types * types * species; ++i) {
        s->jump[i] = (uint32_t)nearbyint(l->jump[i] * 0x1p32);
    }
    s->m = (saltus_mpd){.n_types = l->n_types,
                        .n_species = l->n_species,
                        .types = l->types,
                        .jump = s->jump,
                        .step = l->step,
                        .rate = l->rate,
                        .active = s->active};
    memcpy(s->m.size, l->size, sizeof s->m.size);
    for (int f = 0; f < SALTUS_N_FACES; ++f) {
        if (l->faces[f] == SALTUS_FACE_CONSTANT) {
            SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                        "faces of constant concentration are not simulated yet");
        }
        s->m.faces[f] = (int32_t)l->faces[f];
    }
    s->v[t->row_one] = 1.0;
    for (int i = 0; i < t->n_variables; ++i) {
        s->v[t->row_variables + i] = t->initial_variables[i];
    }
    for (int i = 0; i < t->n_constants; ++i) {
        s->v[t->row_constants + i] = t->constants[i];
    }
    SALTUS_TRY(fill_reactions(s, err));
done:
    return status;
}

static void free_content(content *c)
{
    saltus_free(c->head);
    saltus_free(c->all);
    saltus_free(c->occupied);
}

saltus_status saltus_work_mpd(const saltus_task *task, const saltus_source *source,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd s = {.task = task, .tables = task->tables, .lattice = task->model->network->lattice};
    saltus_job job;
    SALTUS_TRY(set_up(&s, err));
    while (source->take(source->user, &job, 1, true) == 1) {
        SALTUS_TRY(run(&s, &job, err));
        SALTUS_TRY(source->done(source->user, &job, err));
    }
done:
    for (int type = 0; s.sites && type < s.lattice->n_types; ++type) {
        saltus_free(s.sites[type]);
    }
    saltus_free(s.sites);
    saltus_free(s.jump);
    saltus_free(s.active);
    saltus_free(s.alone);
    saltus_free(s.totals);
    saltus_free(s.v);
    saltus_free(s.a);
    saltus_free(s.here);
    saltus_contents_free(&s.contents);
    free_content(&s.now);
    free_content(&s.next);
    return status;
}
