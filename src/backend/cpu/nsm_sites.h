/**
 * Sites that hold particles, for the next-subvolume method (nsm.c): each has a slot, by number,
 * with its contents and the time at which something happens there next.
 */
#ifndef SALTUS_BACKEND_CPU_NSM_SITES_H
#define SALTUS_BACKEND_CPU_NSM_SITES_H

#include "backend/cpu/nsm_queue.h"
#include "backend/cpu/nsm_tables.h"
#include "core/status.h"

#include <math.h>

enum { SALTUS_NSM_EMPTY = -1 }; /* the slot of a site without particles; the end of a list */

/** Particles of a species in a site. */
typedef struct saltus_nsm_group {
    int32_t count, next; /**< the site's next group, or SALTUS_NSM_EMPTY */
    uint16_t species;
} saltus_nsm_group;

/** A site that holds particles. Its first group stands in it, as most sites hold one particle. */
typedef struct saltus_nsm_slot {
    int64_t site;
    double total; /**< the sum of its rates, 1/s; of one particle alone it is in the tables */
    saltus_nsm_group first;
    uint16_t kind;
} saltus_nsm_slot;

typedef struct saltus_nsm_sites {
    saltus_nsm_tables t;
    saltus_nsm_queue queue;
    int32_t *slot_of;       /**< [site] of those that are marked as occupied */
    saltus_nsm_slot *slots; /**< [capacity of the queue] */
    int32_t n_slots, free_slot;
    saltus_nsm_group *groups; /**< [groups_capacity] those that are not the first */
    size_t groups_capacity;
    int32_t n_groups, free_group;
} saltus_nsm_sites;

/** Its row in the tables. */
static inline uint16_t saltus_nsm_kind(const saltus_nsm_sites *s, int64_t site)
{
    return (uint16_t)(2 * saltus_lattice_type(s->t.lattice, site) +
                      (saltus_nsm_mark(&s->t, site) & SALTUS_NSM_EDGE));
}

/** Its slot, or SALTUS_NSM_EMPTY. */
static inline int32_t saltus_nsm_slot_at(const saltus_nsm_sites *s, int64_t site)
{
    return saltus_nsm_mark(&s->t, site) & SALTUS_NSM_OCCUPIED ? s->slot_of[site] : SALTUS_NSM_EMPTY;
}

/** A slot is seldom in the cache: ask for it early. */
static inline void saltus_nsm_fetch(const saltus_nsm_sites *s, int32_t number)
{
    const int64_t leaf = s->queue.capacity + number;
    __builtin_prefetch(&s->slots[number]);
    __builtin_prefetch(&s->queue.times[leaf]);
    __builtin_prefetch(&s->queue.times[leaf / 2]);
    __builtin_prefetch(&s->queue.slots[leaf / 2]);
    __builtin_prefetch(&s->queue.times[leaf / 4]);
}

/** An empty slot for a site that has none. */
static inline saltus_status saltus_nsm_take_slot(saltus_nsm_sites *s, int64_t site, int32_t *out,
                                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int32_t number = s->free_slot;
    if (number != SALTUS_NSM_EMPTY) {
        s->free_slot = s->slots[number].first.next;
    } else {
        if (s->n_slots == s->queue.capacity) {
            saltus_nsm_slot *grown = NULL;
            if (s->n_slots > INT32_MAX / 2) {
                SALTUS_FAIL(SALTUS_E_NO_MEMORY, "particles in more than 2^30 sites");
            }
            grown = saltus_realloc(s->slots, 2 * (size_t)s->queue.capacity, sizeof *grown);
            SALTUS_NEED(grown);
            s->slots = grown;
            SALTUS_NEED(saltus_nsm_queue_grow(&s->queue));
        }
        number = s->n_slots++;
    }
    s->slots[number] =
        (saltus_nsm_slot){site, 0.0, {0, SALTUS_NSM_EMPTY, 0}, saltus_nsm_kind(s, site)};
    s->slot_of[site] = number;
    saltus_nsm_flip(&s->t, site, SALTUS_NSM_OCCUPIED);
    *out = number;
done:
    return status;
}

/** A slot is empty: it is free, and nothing happens there. */
static inline void saltus_nsm_give_back(saltus_nsm_sites *s, int32_t number)
{
    saltus_nsm_flip(&s->t, s->slots[number].site, SALTUS_NSM_OCCUPIED);
    s->slots[number].first = (saltus_nsm_group){0, s->free_slot, 0};
    s->free_slot = number;
    saltus_nsm_queue_set(&s->queue, number, INFINITY);
}

static inline bool saltus_nsm_is_lone(const saltus_nsm_slot *here)
{
    return here->first.count == 1 && here->first.next == SALTUS_NSM_EMPTY;
}

static inline const saltus_nsm_lone *saltus_nsm_lone_of(const saltus_nsm_tables *t,
                                                        const saltus_nsm_slot *here)
{
    return &t->lone[(int64_t)here->kind * t->lattice->n_species + here->first.species];
}

static inline saltus_nsm_group *saltus_nsm_find(saltus_nsm_sites *s, int32_t number, int species)
{
    saltus_nsm_group *g = &s->slots[number].first;
    while (g->species != species && g->next != SALTUS_NSM_EMPTY) {
        g = &s->groups[g->next];
    }
    return g->species == species ? g : NULL;
}

/* There is none of it yet, but particles of other species. */
static inline saltus_status saltus_nsm_add_group(saltus_nsm_sites *s, int32_t number, int species,
                                                 int32_t count, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int32_t new = s->free_group;
    if (new != SALTUS_NSM_EMPTY) {
        s->free_group = s->groups[new].next;
    } else {
        saltus_nsm_group *grown =
            saltus_grow(s->groups, (size_t)s->n_groups, &s->groups_capacity, sizeof *grown);
        SALTUS_NEED(grown);
        s->groups = grown;
        new = s->n_groups++;
    }
    saltus_nsm_group *first = &s->slots[number].first;
    s->groups[new] = (saltus_nsm_group){count, first->next, (uint16_t)species};
    first->next = new;
done:
    return status;
}

static inline void saltus_nsm_remove_group(saltus_nsm_sites *s, int32_t number, int species)
{
    saltus_nsm_group *first = &s->slots[number].first;
    int32_t *link = &first->next;
    if (first->next == SALTUS_NSM_EMPTY) {
        return; /* the slot is empty */
    }
    if (first->species == species) { /* the next takes its place */
        const int32_t next = first->next;
        *first = s->groups[next];
        s->groups[next].next = s->free_group;
        s->free_group = next;
        return;
    }
    while (s->groups[*link].species != species) {
        link = &s->groups[*link].next;
    }
    const int32_t gone = *link;
    *link = s->groups[gone].next;
    s->groups[gone].next = s->free_group;
    s->free_group = gone;
}

/** Particles of a species in a slot. */
static inline int64_t saltus_nsm_count(saltus_nsm_sites *s, int32_t number, int species)
{
    const saltus_nsm_group *g = saltus_nsm_find(s, number, species);
    return g ? g->count : 0;
}

/** Set that number, which differs; also in a slot that is empty, or becomes so. */
static inline saltus_status saltus_nsm_set_count(saltus_nsm_sites *s, int32_t number, int species,
                                                 int32_t count, saltus_error *err)
{
    saltus_nsm_group *first = &s->slots[number].first;
    if (first->count == 0) {
        first->species = (uint16_t)species;
    }
    saltus_nsm_group *g = saltus_nsm_find(s, number, species);
    if (!g) {
        return saltus_nsm_add_group(s, number, species, count, err);
    }
    g->count = count;
    if (count == 0) {
        saltus_nsm_remove_group(s, number, species);
    }
    return SALTUS_OK;
}

/** No site holds anything; slot 0, which is of no site, is taken. */
static inline void saltus_nsm_sites_clear(saltus_nsm_sites *s)
{
    for (int32_t i = 1; i < s->n_slots; ++i) {
        if (s->slots[i].first.count > 0) {
            saltus_nsm_flip(&s->t, s->slots[i].site, SALTUS_NSM_OCCUPIED);
        }
    }
    s->slots[0] = (saltus_nsm_slot){.first = {.next = SALTUS_NSM_EMPTY}};
    s->n_slots = 1;
    s->n_groups = 0;
    s->free_slot = s->free_group = SALTUS_NSM_EMPTY;
    saltus_nsm_queue_clear(&s->queue);
}

/** On failure they are still to be freed. */
static inline saltus_status saltus_nsm_sites_create(const saltus_task *task, saltus_nsm_sites *s,
                                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *s = (saltus_nsm_sites){.n_slots = 0};
    SALTUS_TRY(saltus_nsm_tables_create(task, &s->t, err));
    s->slot_of = saltus_calloc((size_t)s->t.lattice->n_sites, sizeof *s->slot_of);
    SALTUS_NEED(s->slot_of && saltus_nsm_queue_grow(&s->queue));
    s->slots = saltus_calloc((size_t)s->queue.capacity, sizeof *s->slots);
    SALTUS_NEED(s->slots);
done:
    return status;
}

static inline void saltus_nsm_sites_free(saltus_nsm_sites *s)
{
    saltus_nsm_tables_free(&s->t);
    saltus_nsm_queue_free(&s->queue);
    saltus_free(s->slot_of);
    saltus_free(s->slots);
    saltus_free(s->groups);
}

#endif
