/* A lattice on the CPU, exactly: the next-subvolume method (J. Elf & M. Ehrenberg, Systems Biology
 * 1 (2004) 230, doi:10.1049/sb:20045021), a trajectory per thread. Every site that holds particles
 * has a slot, and every slot the time at which something happens there next. When a site changes
 * its time is drawn anew, which is exact, because exponential waits have no memory.
 *
 * The random words of event n belong to (seed, trajectory, n): one for the wait of the site where
 * it happened, one for that of the site to which a particle went, two for the choice. Sums are
 * recomputed from counts each time.
 *
 * Compiled once per instruction set, as lanes.c is. */
#include "backend/cpu/nsm_sites.h"

#include "backend/cpu/cpu.h"
#include "engine/record.h"
#include "core/memory.h"
#include "model/network/network.h"

#include <math.h>
#include <string.h>

enum {
    SOURCES = 0, /* the slot of all sources */
    BATCH = 64,  /* events drawn at a time */
};

/* The draws of a batch of events. */
typedef struct draws {
    double wait[BATCH];   /* of unit rate */
    double unit[BATCH];   /* in [0, 1) */
    uint32_t late[BATCH]; /* the word of the second wait */
} draws;

typedef struct nsm {
    const saltus_task *task;
    saltus_nsm_sites sites;
    int64_t *totals;         /* [species] */
    uint32_t *start_sites;   /* sites of the particles at time 0 */
    uint16_t *start_species; /* their species; one that is not the model's is an empty-site token */
    saltus_contents contents; /* for what is recorded */
    draws draws;
    double time;
    int64_t trajectory, event;
    saltus_tally tally;
} nsm;

/* Add to the particles of a slot, or take away; also in a slot that is empty, or becomes so. */
static saltus_status change(nsm *s, int32_t number, int species, int64_t amount, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t count = saltus_nsm_count(&s->sites, number, species) + amount;
    if (count < 0 || count > INT32_MAX) {
        SALTUS_FAIL(SALTUS_E_NUMERIC, "trajectory %lld, t = %g: site %lld would hold %lld of '%s'",
                    (long long)s->trajectory, s->time, (long long)s->sites.slots[number].site,
                    (long long)count, s->task->model->network->species_names[species]);
    }
    SALTUS_TRY(saltus_nsm_set_count(&s->sites, number, species, (int32_t)count, err));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Waits
 */

static uint32_t further_word(const nsm *s, int which)
{
    uint32_t w[4];
    saltus_philox_keyed(s->sites.t.mpd.m.keys, SALTUS_PURPOSE_LATE, (uint64_t)s->event,
                        (uint64_t)which, w);
    return w[0] | (w[0] == 0);
}

/* A wait of unit rate, from a word. Further bits, where they are needed, belong to the event and to
 * `which`. */
static double wait_of(const nsm *s, uint32_t word, int which)
{
    return word != 0 ? saltus_exponential32(word)
                     : 22.180709777918249 + /* 32 ln 2 */
                           saltus_exponential32(further_word(s, which));
}

/* Draw a batch, in loops of their own, which compilers turn into vectors. */
static void draw_batch(nsm *s)
{
    draws *d = &s->draws;
    uint32_t w[4][BATCH];
    const int64_t first = s->event;
    for (int i = 0; i < BATCH; ++i) {
        uint32_t block[4];
        saltus_philox_keyed(s->sites.t.mpd.m.keys, SALTUS_PURPOSE_NEXT, (uint64_t)(first + i), 0,
                            block);
        for (int k = 0; k < 4; ++k) {
            w[k][i] = block[k];
        }
    }
    for (int i = 0; i < BATCH; ++i) {
        d->wait[i] = saltus_exponential32(w[0][i]);
        d->unit[i] = (double)(int64_t)(((uint64_t)w[2][i] << 32 | w[3][i]) >> 11) * 0x1p-53;
    }
    for (int i = 0; i < BATCH; ++i) {
        d->late[i] = w[1][i];
        if (w[0][i] == 0) {
            s->event = first + i;
            d->wait[i] = wait_of(s, 0, 0);
        }
    }
    s->event = first;
}

/* Write a slot's counts, or zeros, into the rows. */
static void write_rows(nsm *s, const saltus_nsm_slot *here, bool counts)
{
    for (const saltus_nsm_group *g = &here->first;; g = &s->sites.groups[g->next]) {
        s->sites.t.mpd.rows[g->species] = counts ? g->count : 0.0;
        if (g->next == SALTUS_NSM_EMPTY) {
            return;
        }
    }
}

/* Compute the propensities of all reactions of a slot whose counts are in the rows, in
 * s->sites.t.a, and their sum. */
static saltus_status sum_propensities(nsm *s, const saltus_nsm_slot *here, double *total,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_nsm_tables *t = &s->sites.t;
    int bad = -1;
    *total = saltus_mpd_total(&t->mpd.m, t->mpd.of, here->kind / 2, t->mpd.rows, t->a, &bad);
    if (bad >= 0) {
        SALTUS_FAIL(SALTUS_E_NUMERIC,
                    "trajectory %lld, t = %g, site %lld: reaction '%s' has the propensity %g",
                    (long long)s->trajectory, s->time, (long long)here->site,
                    s->task->model->network->reaction_names[bad], t->a[bad]);
    }
done:
    return status;
}

/* The sum of the rates of a slot, with jumps at the largest rate that its kind may have. Reactions
 * are listed by first reactant; those that lack it are left out, unless there are laws other than
 * products. */
static saltus_status sum_rates(nsm *s, saltus_nsm_slot *here, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_mpd *m = &s->sites.t.mpd.m;
    const int type = here->kind / 2;
    const int32_t *segment = saltus_mpd_segments(m, type);
    const double *leave = s->sites.t.leave + (int64_t)here->kind * s->sites.t.lattice->n_species;
    double jumps = 0.0, reactions = 0.0;
    write_rows(s, here, true);
    for (const saltus_nsm_group *g = &here->first;; g = &s->sites.groups[g->next]) {
        jumps += SALTUS_NSM_DIRECTIONS * leave[g->species] * g->count;
        for (int i = segment[g->species + 1]; i < segment[g->species + 2]; ++i) {
            reactions += saltus_mpd_propensity(m, s->sites.t.mpd.of, type, m->active[i],
                                               s->sites.t.mpd.rows);
        }
        if (g->next == SALTUS_NSM_EMPTY) {
            break;
        }
    }
    if (segment[0] < segment[1]) {
        SALTUS_TRY(sum_propensities(s, here, &reactions, err));
    }
    here->total = jumps + reactions;
done:
    write_rows(s, here, false);
    return status;
}

/* Draw a slot's time anew, from a wait of unit rate; or free a slot that has become empty. */
static saltus_status draw_time(nsm *s, int32_t number, double wait, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_nsm_slot *here = &s->sites.slots[number];
    if (here->first.count == 0) {
        saltus_nsm_give_back(&s->sites, number);
        return SALTUS_OK;
    }
    if (saltus_nsm_is_lone(here)) {
        saltus_nsm_queue_set(&s->sites.queue, number,
                             s->time + wait * saltus_nsm_lone_of(&s->sites.t, here)->mean);
        return SALTUS_OK;
    }
    SALTUS_TRY(sum_rates(s, here, err));
    saltus_nsm_queue_set(&s->sites.queue, number,
                         here->total > 0.0 ? s->time + wait / here->total : INFINITY);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Events
 */

/* A particle arrives in a site. */
static saltus_status arrive(nsm *s, int64_t site, int species, double wait, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int32_t number = saltus_nsm_slot_at(&s->sites, site);
    if (number == SALTUS_NSM_EMPTY) {
        SALTUS_TRY(saltus_nsm_take_slot(&s->sites, site, &number, err));
    }
    SALTUS_TRY(change(s, number, species, 1, err));
    SALTUS_TRY(draw_time(s, number, wait, err));
done:
    return status;
}

/* A particle jumps, or, by the rest of the draw, which is in [0, 1), stays. */
static saltus_status jump(nsm *s, int32_t number, int species, int direction, double rest,
                          double wait, double late, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_nsm_tables *t = &s->sites.t;
    const saltus_nsm_slot here = s->sites.slots[number];
    int64_t to = here.site + t->stride[direction];
    if (here.kind % 2) {
        to = saltus_nsm_neighbour(t, here.site, direction);
        const int64_t type = here.kind / 2,
                      there = to >= 0 ? saltus_lattice_type(t->lattice, to) : type;
        const double rate =
            t->jump[(type * t->lattice->n_types + there) * t->lattice->n_species + species];
        const double leave = t->leave[(int64_t)here.kind * t->lattice->n_species + species];
        if (to == -2 || !(rest * leave < rate)) {
            return draw_time(s, number, wait, err);
        }
    }
    ++s->tally.moves;
    if (to >= 0 && saltus_nsm_slot_at(&s->sites, to) != SALTUS_NSM_EMPTY) {
        saltus_nsm_fetch(&s->sites, saltus_nsm_slot_at(&s->sites, to));
    }
    SALTUS_TRY(change(s, number, species, -1, err));
    SALTUS_TRY(draw_time(s, number, wait, err));
    if (to >= 0) {
        SALTUS_TRY(arrive(s, to, species, late, err));
    } else {
        --s->totals[species];
    }
done:
    return status;
}

static saltus_status fire(nsm *s, int32_t number, int reaction, double wait, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *n = s->sites.t.mpd.of;
    ++s->tally.events;
    for (int c = n->change_row[reaction]; c < n->change_row[reaction + 1]; ++c) {
        SALTUS_TRY(change(s, number, n->change_species[c], n->change_amount[c], err));
        s->totals[n->change_species[c]] += n->change_amount[c];
    }
    SALTUS_TRY(draw_time(s, number, wait, err));
done:
    return status;
}

/* A source makes a particle, or fires its reaction. */
static saltus_status fire_source(nsm *s, double unit, double wait, double late, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_nsm_source *source = s->sites.t.sources;
    double goal = unit * s->sites.t.source_rate;
    for (int i = 0; i + 1 < s->sites.t.n_sources && goal >= source->rate; ++i, ++source) {
        goal -= source->rate;
    }
    const int64_t k = (int64_t)(goal / source->rate * (double)source->n_sites);
    const int64_t rank = k < source->n_sites ? k : source->n_sites - 1,
                  site = source->sites ? source->sites[rank] : rank;
    int32_t number = saltus_nsm_slot_at(&s->sites, site);
    saltus_nsm_queue_set(&s->sites.queue, SOURCES, s->time + wait / s->sites.t.source_rate);
    if (source->only_empty && number != SALTUS_NSM_EMPTY) {
        return SALTUS_OK;
    }
    if (source->reaction < 0) {
        ++s->tally.moves;
        ++s->totals[source->species];
        return arrive(s, site, source->species, late, err);
    }
    if (number == SALTUS_NSM_EMPTY) {
        SALTUS_TRY(saltus_nsm_take_slot(&s->sites, site, &number, err));
    }
    SALTUS_TRY(fire(s, number, source->reaction, late, err));
done:
    return status;
}

/* Any event but those that `hop` takes. */
static saltus_status happen(nsm *s, int32_t number, double unit, double wait, uint32_t late,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_nsm_tables *t = &s->sites.t;
    const saltus_nsm_slot *here = &s->sites.slots[number];
    const double *leave = t->leave + (int64_t)here->kind * t->lattice->n_species;
    if (number == SOURCES) {
        return fire_source(s, unit, wait, wait_of(s, late, 1), err);
    }
    double goal =
        unit * (saltus_nsm_is_lone(here) ? 1.0 / saltus_nsm_lone_of(t, here)->mean : here->total);
    for (const saltus_nsm_group *g = &here->first;; g = &s->sites.groups[g->next]) {
        const double each = leave[g->species] * g->count; /* rate of jumps in one direction */
        if (goal < SALTUS_NSM_DIRECTIONS * each) {
            const double way = goal / each;
            const int direction =
                way < SALTUS_NSM_DIRECTIONS ? (int)way : SALTUS_NSM_DIRECTIONS - 1;
            return jump(s, number, g->species, direction, way - direction, wait,
                        wait_of(s, late, 1), err);
        }
        goal -= SALTUS_NSM_DIRECTIONS * each;
        if (g->next == SALTUS_NSM_EMPTY) {
            break;
        }
    }
    double total = 0.0;
    write_rows(s, here, true);
    status = sum_propensities(s, here, &total, err);
    write_rows(s, here, false);
    SALTUS_TRY(status);
    if (!(total > 0.0)) { /* rounding has left nothing to choose */
        return draw_time(s, number, wait, err);
    }
    SALTUS_TRY(
        fire(s, number, saltus_mpd_choose(&t->mpd.m, here->kind / 2, t->a, goal), wait, err));
done:
    return status;
}

/* The usual event: a particle that is alone jumps within its type into an empty site. False: it is
 * another event, and nothing has happened. */
static bool hop(nsm *s, int32_t number, double unit, double wait)
{
    saltus_nsm_slot *here = &s->sites.slots[number];
    if (!saltus_nsm_is_lone(here) || here->kind % 2) {
        return false;
    }
    const double x = unit * saltus_nsm_lone_of(&s->sites.t, here)->span;
    if (!(x < SALTUS_NSM_DIRECTIONS)) {
        return false;
    }
    const int64_t to = here->site + s->sites.t.stride[(int)x];
    const int mark = saltus_nsm_mark(&s->sites.t, to);
    if (mark & SALTUS_NSM_OCCUPIED) {
        return false;
    }
    saltus_nsm_flip(&s->sites.t, here->site, SALTUS_NSM_OCCUPIED);
    saltus_nsm_flip(&s->sites.t, to, SALTUS_NSM_OCCUPIED);
    s->sites.slot_of[to] = number;
    here->site = to;
    here->kind = (uint16_t)(here->kind + mark); /* 1 at an edge; the type is the same */
    ++s->tally.moves;
    saltus_nsm_queue_set(&s->sites.queue, number,
                         s->time + wait * saltus_nsm_lone_of(&s->sites.t, here)->mean);
    return true;
}

/* Run all events up to a time. */
static saltus_status advance(nsm *s, double until, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (double next; (next = saltus_nsm_queue_time(&s->sites.queue)) <= until; ++s->event) {
        const int32_t number = (int32_t)s->sites.queue.slots[1];
        const int i = (int)(s->event % BATCH);
        if (i == 0) {
            draw_batch(s);
            saltus_reached_store(s->task->reached, s->time, (uint64_t)s->tally.events);
            if (SALTUS_FLAG(s->task->stop)) {
                SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
            }
        }
        for (int k = 4; k < 8; ++k) { /* mostly one of these comes next */
            saltus_nsm_fetch(&s->sites, (int32_t)s->sites.queue.slots[k]);
        }
        s->time = next;
        if (!hop(s, number, s->draws.unit[i], s->draws.wait[i])) {
            SALTUS_TRY(
                happen(s, number, s->draws.unit[i], s->draws.wait[i], s->draws.late[i], err));
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Trajectories
 */

/* Put a particle of time 0 into a site. */
static saltus_status put(nsm *s, int64_t site, int species, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int32_t number = saltus_nsm_slot_at(&s->sites, site);
    if (number == SALTUS_NSM_EMPTY) {
        SALTUS_TRY(saltus_nsm_take_slot(&s->sites, site, &number, err));
    }
    SALTUS_TRY(change(s, number, species, 1, err));
    ++s->totals[species];
done:
    return status;
}

/* Start a trajectory; waits of the first slots are those of events 0, 1, … */
static saltus_status begin(nsm *s, int64_t trajectory, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->sites.t.lattice;
    saltus_nsm_sites_clear(&s->sites);
    s->trajectory = trajectory;
    s->event = 0;
    s->tally = (saltus_tally){0};
    s->time = 0.0;
    memset(s->totals, 0, (size_t)l->n_species * sizeof *s->totals);
    SALTUS_TRY(saltus_mpd_place(&s->sites.t.mpd, s->task->seed, trajectory, &s->sites.t.mpd.m,
                                s->start_sites, s->start_species, err));
    for (int64_t i = 0; i < s->sites.t.mpd.n_start; ++i) {
        if (s->start_species[i] < l->n_species) { /* empty-site tokens are left out */
            SALTUS_TRY(put(s, s->start_sites[i], s->start_species[i], err));
        }
    }
    for (; s->event < s->sites.n_slots; ++s->event) {
        const int i = (int)(s->event % BATCH);
        if (i == 0) {
            draw_batch(s);
        }
        if (s->event != SOURCES) {
            SALTUS_TRY(draw_time(s, (int32_t)s->event, s->draws.wait[i], err));
        } else if (s->sites.t.source_rate > 0.0) {
            saltus_nsm_queue_set(&s->sites.queue, SOURCES,
                                 s->draws.wait[i] / s->sites.t.source_rate);
        }
    }
done:
    return status;
}

/* Collect all particles in s->contents. */
static saltus_status collect(nsm *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_contents_clear(&s->contents);
    for (int32_t i = SOURCES + 1; i < s->sites.n_slots; ++i) {
        const saltus_nsm_slot *here = &s->sites.slots[i];
        const saltus_nsm_group *g = here->first.count > 0 ? &here->first : NULL;
        while (g) {
            SALTUS_TRY(saltus_contents_add(&s->contents, here->site, g->species, g->count, err));
            g = g->next != SALTUS_NSM_EMPTY ? &s->sites.groups[g->next] : NULL;
        }
    }
done:
    return status;
}

static saltus_status run(nsm *s, saltus_job *job, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task *task = s->task;
    SALTUS_TRY(begin(s, job->trajectory, err));
    for (saltus_stop at = saltus_stop_first(task); at.is_one; at = saltus_stop_next(task, &at)) {
        SALTUS_TRY(advance(s, at.time, err));
        if (at.needs_contents) {
            SALTUS_TRY(collect(s, err));
        }
        SALTUS_TRY(saltus_space_record(task, job, &at, s->totals, &s->contents, err));
    }
    job->tally = s->tally;
done:
    return status;
}

static saltus_status set_up(nsm *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_nsm_tables *t = &s->sites.t;
    SALTUS_TRY(saltus_nsm_sites_create(s->task, &s->sites, err));
    s->start_sites = saltus_calloc((size_t)t->mpd.n_start, sizeof *s->start_sites);
    s->start_species = saltus_calloc((size_t)t->mpd.n_start, sizeof *s->start_species);
    s->totals = saltus_calloc((size_t)t->lattice->n_species, sizeof *s->totals);
    SALTUS_NEED(s->start_sites && s->start_species && s->totals);
done:
    return status;
}

saltus_status SALTUS_SET_NAME(saltus_nsm_work)(const saltus_task *task, const saltus_source *source,
                                               saltus_error *err);

saltus_status SALTUS_SET_NAME(saltus_nsm_work)(const saltus_task *task, const saltus_source *source,
                                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    nsm s = {.task = task};
    saltus_job job;
    SALTUS_TRY(set_up(&s, err));
    while (source->take(source->user, &job, 1, true) == 1) {
        SALTUS_TRY(run(&s, &job, err));
        saltus_reached_store(task->reached, 0.0, 0);
        SALTUS_TRY(source->done(source->user, &job, err));
    }
done:
    saltus_nsm_sites_free(&s.sites);
    saltus_contents_free(&s.contents);
    saltus_free(s.start_sites);
    saltus_free(s.start_species);
    saltus_free(s.totals);
    return status;
}
