/* A lattice on the CPU by kernel/rdme/nsm.h, a trajectory per thread: the jobs, the memory, what is
 * recorded and what is said of failures. Compiled once per instruction set, as lanes.c is. */
#include "kernel/rdme/nsm.h"

#include "backend/cpu/cpu.h"
#include "backend/cpu/nsm_tables.h"
#include "core/memory.h"
#include "core/number.h"
#include "engine/keep.h"
#include "engine/record.h"
#include "model/network/network.h"

#include <stdio.h>
#include <string.h>

typedef struct nsm {
    const saltus_task *task;
    saltus_nsm_tables tables;
    saltus_nsm k;            /* the trajectory, as the kernel has it */
    size_t groups_capacity;  /* groups that there is room for */
    size_t batch_groups;     /* groups that a batch may take */
    uint32_t *start_sites;   /* sites of the particles at time 0 */
    uint16_t *start_species; /* their species; one that is not the model's is an empty-site token */
    saltus_contents contents; /* for what is recorded */
    saltus_job *job;          /* the trajectory */
    saltus_stop at;           /* where it stops next */
} nsm;

/* ------------------------------------------------------------------------------------------------
 * Room
 */

static void free_queue(saltus_nsm_queue *q)
{
    saltus_free(q->times);
    saltus_free(q->slots);
}

/* Double the capacity of a tournament. What there is becomes the left half of the tree as it
 * stands, so that times that are equal stay in the order in which they are. */
static saltus_status grow_queue(saltus_nsm_queue *q, int64_t capacity, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_nsm_queue more = {.capacity = capacity};
    more.times = saltus_calloc(2 * (size_t)capacity, sizeof *more.times);
    more.slots = saltus_calloc((size_t)capacity, sizeof *more.slots);
    SALTUS_NEED(more.times && more.slots);
    saltus_nsm_queue_clear(&more);
    for (int64_t level = 1; level <= q->capacity; level *= 2) {
        memcpy(more.times + 2 * level, q->times + level, (size_t)level * sizeof *q->times);
        if (level < q->capacity) {
            memcpy(more.slots + 2 * level, q->slots + level, (size_t)level * sizeof *q->slots);
        }
    }
    if (q->capacity > 0) {
        more.times[1] = q->times[1];
        more.slots[1] = q->slots[1];
    }
    free_queue(q);
    *q = more;
    more = (saltus_nsm_queue){.capacity = 0};
done:
    free_queue(&more);
    return status;
}

/* Make room for so many slots and groups, and a batch. */
static saltus_status make_room_for(nsm *s, int32_t n_slots, int32_t n_used, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_nsm_sites *sites = &s->k.sites;
    const size_t n_groups = (size_t)n_used + s->batch_groups;
    while (sites->queue.capacity - n_slots < SALTUS_NSM_BATCH) {
        const int64_t capacity = sites->queue.capacity;
        const int64_t more = capacity > 0 ? 2 * capacity : 2 * SALTUS_NSM_BATCH;
        saltus_nsm_slot *grown = NULL;
        if (more > INT32_MAX) {
            SALTUS_FAIL(SALTUS_E_NO_MEMORY, "particles in more than 2^30 sites");
        }
        grown = saltus_realloc(sites->slots, (size_t)more, sizeof *grown);
        SALTUS_NEED(grown);
        sites->slots = grown;
        SALTUS_TRY(grow_queue(&sites->queue, more, err));
    }
    if (n_groups > s->groups_capacity) {
        saltus_nsm_group *grown = saltus_realloc(sites->groups, 2 * n_groups, sizeof *grown);
        SALTUS_NEED(grown);
        sites->groups = grown;
        s->groups_capacity = 2 * n_groups;
    }
done:
    return status;
}

/* Make room for a batch. Slots and groups that are free again are not counted. */
static saltus_status make_room(nsm *s, saltus_error *err)
{
    return make_room_for(s, s->k.sites.n_slots, s->k.sites.n_groups, err);
}

/* ------------------------------------------------------------------------------------------------
 * Trajectories
 */

static saltus_status check_failure(const nsm *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_nsm_failure *f = &s->k.failure;
    const saltus_network *network = s->task->model->network;
    const int32_t *size = network->lattice->size;
    char where[120];
    (void)snprintf(where, sizeof where, "trajectory %lld, time %g, site (%lld, %lld, %lld)",
                   (long long)s->job->trajectory, s->k.time, (long long)(f->site % size[0]),
                   (long long)(f->site / size[0] % size[1]),
                   (long long)(f->site / size[0] / size[1]));
    if (f->what == SALTUS_NSM_COUNT) {
        const char *species = network->species_names[f->species];
        if (f->reaction < 0) { /* by a jump */
            SALTUS_FAIL(SALTUS_E_NUMERIC, "%s would hold %lld of '%s'", where, (long long)f->count,
                        species);
        }
        SALTUS_FAIL(SALTUS_E_NUMERIC, "%s: reaction '%s' would leave %lld of '%s'", where,
                    saltus_network_reaction(network, f->reaction), (long long)f->count, species);
    }
    if (f->what == SALTUS_NSM_PROPENSITY) {
        SALTUS_FAIL(SALTUS_E_NUMERIC, "%s: reaction '%s' has the propensity %g", where,
                    saltus_network_reaction(network, f->reaction),
                    saltus_without_nan_sign(f->propensity));
    }
done:
    return status;
}

/* All that is no function of the rest, which is the marks of sites, their slots, the tournament and
 * the draws. */
static void pack(saltus_packer *k, nsm *s)
{
    saltus_nsm *t = &s->k;
    saltus_nsm_sites *sites = &t->sites;
    saltus_pack_same(k, 1); /* the form */
    saltus_pack_same(k, sites->l.n_species);
    saltus_pack_same(k, s->tables.mpd.lattice->n_sites);
    SALTUS_PACK(k, s->at.frame);
    SALTUS_PACK(k, t->time);
    SALTUS_PACK(k, t->event);
    SALTUS_PACK(k, t->tally);
    saltus_pack_bytes(k, t->totals, sizeof *t->totals * (size_t)sites->l.n_species);
    SALTUS_PACK(k, sites->free_slot);
    SALTUS_PACK(k, sites->free_group);
    for (int32_t i = 0; i < sites->n_slots && !k->failed; ++i) {
        saltus_nsm_slot *slot = &sites->slots[i];
        SALTUS_PACK(k, slot->site);
        SALTUS_PACK(k, slot->total);
        SALTUS_PACK(k, slot->first.count);
        SALTUS_PACK(k, slot->first.next);
        SALTUS_PACK(k, slot->first.species);
        SALTUS_PACK(k, slot->kind);
        SALTUS_PACK(k, sites->queue.times[sites->queue.capacity + i]);
    }
    for (int32_t i = 0; i < sites->n_groups && !k->failed; ++i) {
        saltus_nsm_group *group = &sites->groups[i];
        SALTUS_PACK(k, group->count);
        SALTUS_PACK(k, group->next);
        SALTUS_PACK(k, group->species);
    }
}

static void keep(nsm *s)
{
    saltus_packer state = {0};
    SALTUS_PACK(&state, s->k.sites.n_slots);
    SALTUS_PACK(&state, s->k.sites.n_groups);
    pack(&state, s);
    saltus_keep(s->task, s->job, s->at.sample, &state);
    saltus_pack_free(&state);
}

/* What follows from the state: see pack. */
static void rebuild(nsm *s)
{
    saltus_nsm *t = &s->k;
    saltus_nsm_sites *sites = &t->sites;
    const int64_t ahead = t->event % SALTUS_NSM_BATCH;
    for (int32_t i = 0; i < sites->n_slots; ++i) {
        const double time = SALTUS_AS_F64(sites->queue.times[sites->queue.capacity + i]);
        if (i != SALTUS_NSM_SOURCES && sites->slots[i].first.count > 0) {
            sites->slot_of[sites->slots[i].site] = i;
            saltus_nsm_flip(&sites->l, sites->slots[i].site, SALTUS_NSM_OCCUPIED);
        }
        saltus_nsm_queue_set(&sites->queue, i, time);
    }
    t->event -= ahead;
    if (ahead > 0) {
        saltus_nsm_draw_batch(t);
    }
    t->event += ahead;
}

/* Go to where the job was when it was kept, if it was; *taken tells. */
static saltus_status take(nsm *s, bool *taken, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_nsm_sites *sites = &s->k.sites;
    saltus_packer state;
    int32_t n_slots = 0, n_groups = 0;
    *taken = false;
    if (!saltus_keep_open(s->job, &state)) {
        return SALTUS_OK;
    }
    saltus_nsm_clear(&s->k);
    saltus_mpd_start(&sites->l.m, s->task->seed, (uint64_t)s->job->trajectory);
    SALTUS_PACK(&state, n_slots);
    SALTUS_PACK(&state, n_groups);
    const size_t left = saltus_pack_left(&state);
    if (state.failed || n_slots < 1 || n_groups < 0 || (size_t)n_slots > left ||
        (size_t)n_groups > left) {
        return SALTUS_OK;
    }
    SALTUS_TRY(make_room_for(s, n_slots, n_groups, err));
    sites->n_slots = n_slots;
    sites->n_groups = n_groups;
    pack(&state, s);
    if (state.failed) {
        sites->n_slots = SALTUS_NSM_SOURCES + 1; /* no other is marked yet */
        sites->n_groups = 0;
        return SALTUS_OK;
    }
    rebuild(s);
    saltus_keep_samples(s->task, s->job);
    s->at = saltus_stop_at(s->task, s->job->kept->n_samples, s->at.frame);
    *taken = true;
done:
    return status;
}

static saltus_status begin(nsm *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n_start = s->tables.mpd.n_start;
    saltus_nsm_clear(&s->k);
    SALTUS_TRY(saltus_mpd_place(&s->tables.mpd, s->task->seed, s->job->trajectory, NULL,
                                &s->k.sites.l.m, s->start_sites, s->start_species, err));
    for (int64_t i = 0; i < n_start; i += SALTUS_NSM_BATCH) {
        const int64_t left = n_start - i;
        SALTUS_TRY(make_room(s, err));
        saltus_nsm_place(&s->k, s->start_sites + i, s->start_species + i,
                         left < SALTUS_NSM_BATCH ? (int)left : SALTUS_NSM_BATCH);
        SALTUS_TRY(check_failure(s, err));
    }
    saltus_nsm_start(&s->k);
    SALTUS_TRY(check_failure(s, err));
done:
    return status;
}

/* Run all events up to the next stop. */
static saltus_status advance(nsm *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int has_more;
    do {
        SALTUS_TRY(make_room(s, err));
        saltus_reached_store(s->task->reached, s->k.time, (uint64_t)s->k.tally.events);
        const bool is_due = saltus_keep_is_due(s->task);
        if (is_due) {
            keep(s);
        }
        if (saltus_keep_stops(s->task, is_due)) {
            SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
        }
        has_more = saltus_nsm_advance(&s->k, s->at.time);
        SALTUS_TRY(check_failure(s, err));
    } while (has_more);
done:
    return status;
}

/* Collect all particles in s->contents. */
static saltus_status collect(nsm *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_nsm_sites *sites = &s->k.sites;
    saltus_contents_clear(&s->contents);
    for (int32_t i = SALTUS_NSM_SOURCES + 1; i < sites->n_slots; ++i) {
        const saltus_nsm_slot *here = &sites->slots[i];
        const saltus_nsm_group *g = here->first.count > 0 ? &here->first : NULL;
        for (; g; g = saltus_nsm_next(sites, g)) {
            SALTUS_TRY(saltus_contents_add(&s->contents, here->site, g->species, g->count, err));
        }
    }
done:
    return status;
}

static saltus_status run(nsm *s, saltus_job *job, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task *task = s->task;
    bool taken;
    s->job = job;
    s->at = saltus_stop_at(task, 0, 0);
    SALTUS_TRY(take(s, &taken, err));
    if (!taken) {
        SALTUS_TRY(begin(s, err));
    }
    for (; s->at.is_one; s->at = saltus_stop_next(task, &s->at)) {
        SALTUS_TRY(advance(s, err));
        if (s->at.needs_contents) {
            SALTUS_TRY(collect(s, err));
        }
        SALTUS_TRY(saltus_space_record(task, job, &s->at, s->k.totals, &s->contents, err));
    }
#define COUNT(name) job->tally.name = s->k.tally.name;
    SALTUS_NSM_COUNTERS(COUNT)
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The worker
 */

static saltus_status set_up(nsm *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_mpd_tables *t = &s->tables.mpd;
    int most = 1; /* species that an event changes in a site */
    SALTUS_TRY(saltus_nsm_tables_create(s->task, &s->tables, err));
    for (int r = 0; r < t->of->n_reactions; ++r) {
        const int n = t->of->change_row[r + 1] - t->of->change_row[r];
        most = n > most ? n : most;
    }
    s->batch_groups = SALTUS_NSM_BATCH * (size_t)most;
    s->k.sites.l = s->tables.l;
    s->k.sites.slot_of = saltus_calloc((size_t)t->lattice->n_sites, sizeof *s->k.sites.slot_of);
    s->start_sites = saltus_calloc((size_t)t->n_start, sizeof *s->start_sites);
    s->start_species = saltus_calloc((size_t)t->n_start, sizeof *s->start_species);
    s->k.totals = saltus_calloc((size_t)t->lattice->n_species, sizeof *s->k.totals);
    SALTUS_NEED(s->k.sites.slot_of && s->start_sites && s->start_species && s->k.totals);
    SALTUS_TRY(make_room(s, err));
done:
    return status;
}

static void tear_down(nsm *s)
{
    saltus_nsm_tables_free(&s->tables);
    free_queue(&s->k.sites.queue);
    saltus_free(s->k.sites.slot_of);
    saltus_free(s->k.sites.slots);
    saltus_free(s->k.sites.groups);
    saltus_free(s->k.totals);
    saltus_free(s->start_sites);
    saltus_free(s->start_species);
    saltus_contents_free(&s->contents);
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
    while (saltus_source_take(source, &job, 1, true) == 1) {
        SALTUS_TRY(run(&s, &job, err));
        saltus_reached_store(task->reached, 0.0, 0);
        SALTUS_TRY(source->done(source->user, &job, 1, err));
    }
done:
    tear_down(&s);
    return status;
}
