/**
 * Sites that hold particles, for kernel/rdme/nsm.h: each has a slot, by number, with its contents.
 * Who calls these functions has made room: slots below the queue's capacity, and groups.
 */
#ifndef SALTUS_KERNEL_RDME_NSM_SITES_H
#define SALTUS_KERNEL_RDME_NSM_SITES_H

#include "kernel/rdme/nsm_lattice.h"
#include "kernel/rdme/nsm_queue.h"

#if SALTUS_LANES != 1
#error "a trajectory is one lane wide"
#endif

/** EMPTY: the slot of a site without particles, and the end of a list. SOURCES: the slot of all
 * sources, which is of no site. */
enum { SALTUS_NSM_EMPTY = -1, SALTUS_NSM_SOURCES = 0 };

/** Particles of one species in a site. */
typedef struct saltus_nsm_group {
    int32_t count;
    /** The site's next group, or SALTUS_NSM_EMPTY. */
    int32_t next;
    uint16_t species;
} saltus_nsm_group;

/** A site that holds particles. Its first group stands in it, as most sites hold one particle. */
typedef struct saltus_nsm_slot {
    int64_t site;
    /** The sum of its rates in 1/s, unless it holds one particle, whose rates are in the tables. */
    double total;
    /** In a slot that is free, `next` is the next such slot. */
    saltus_nsm_group first;
    uint16_t kind;
} saltus_nsm_slot;

typedef struct saltus_nsm_sites {
    saltus_nsm_lattice l;
    saltus_nsm_queue queue;
    /** [site] the slots of those that are marked as occupied */
    int32_t *slot_of;
    /** [capacity of the queue] */
    saltus_nsm_slot *slots;
    /** Slots in use, or free again; and the first of the list of these. */
    int32_t n_slots, free_slot;
    /** Groups that are not the first of their site; likewise. */
    saltus_nsm_group *groups;
    int32_t n_groups, free_group;
} saltus_nsm_sites;

/** No site holds anything. */
SALTUS_FN void saltus_nsm_sites_clear(saltus_nsm_sites *s)
{
    const saltus_nsm_slot sources = {0, 0.0, {0, SALTUS_NSM_EMPTY, 0}, 0};
    for (int32_t i = SALTUS_NSM_SOURCES + 1; i < s->n_slots; ++i) {
        if (s->slots[i].first.count > 0) {
            saltus_nsm_flip(&s->l, s->slots[i].site, SALTUS_NSM_OCCUPIED);
        }
    }
    s->slots[SALTUS_NSM_SOURCES] = sources;
    s->n_slots = SALTUS_NSM_SOURCES + 1;
    s->n_groups = 0;
    s->free_slot = s->free_group = SALTUS_NSM_EMPTY;
    saltus_nsm_queue_clear(&s->queue);
}

/** The slot of a site, or SALTUS_NSM_EMPTY. */
SALTUS_FN int32_t saltus_nsm_slot_at(const saltus_nsm_sites *s, int64_t site)
{
    return saltus_nsm_mark(&s->l, site) & SALTUS_NSM_OCCUPIED ? s->slot_of[site] : SALTUS_NSM_EMPTY;
}

/** Prefetch a slot and its time, which are seldom in the cache; nodes above are more often. */
SALTUS_FN void saltus_nsm_prefetch(const saltus_nsm_sites *s, int32_t number)
{
    SALTUS_PREFETCH(&s->slots[number]);
    SALTUS_PREFETCH(&s->queue.times[s->queue.capacity + number]);
}

/** The slot of a site, which is allocated, and empty, if the site has none. */
SALTUS_FN int32_t saltus_nsm_alloc_slot(saltus_nsm_sites *s, int64_t site)
{
    int32_t number = saltus_nsm_slot_at(s, site);
    if (number != SALTUS_NSM_EMPTY) {
        return number;
    }
    const saltus_nsm_slot slot = {
        site, 0.0, {0, SALTUS_NSM_EMPTY, 0}, saltus_nsm_kind(&s->l, site)};
    number = s->free_slot;
    if (number != SALTUS_NSM_EMPTY) {
        s->free_slot = s->slots[number].first.next;
    } else {
        number = s->n_slots++;
    }
    s->slots[number] = slot;
    s->slot_of[site] = number;
    saltus_nsm_flip(&s->l, site, SALTUS_NSM_OCCUPIED);
    return number;
}

/** Free a slot that has become empty. */
SALTUS_FN void saltus_nsm_free_slot(saltus_nsm_sites *s, int32_t number)
{
    saltus_nsm_flip(&s->l, s->slots[number].site, SALTUS_NSM_OCCUPIED);
    s->slots[number].first.next = s->free_slot;
    s->free_slot = number;
}

SALTUS_FN int saltus_nsm_is_lone(const saltus_nsm_slot *here)
{
    return here->first.count == 1 && here->first.next == SALTUS_NSM_EMPTY;
}

/** What the only particle of a slot does. */
SALTUS_FN const saltus_nsm_lone *saltus_nsm_lone_of(const saltus_nsm_lattice *l,
                                                    const saltus_nsm_slot *here)
{
    return &l->lone[(int64_t)here->kind * l->n_species + here->first.species];
}

/** The group of a site after this one; NULL: it is the last. */
SALTUS_FN saltus_nsm_group *saltus_nsm_next(const saltus_nsm_sites *s, const saltus_nsm_group *g)
{
    return g->next != SALTUS_NSM_EMPTY ? &s->groups[g->next] : (saltus_nsm_group *)0;
}

/* Add a group of a species of which there is none yet, behind the first. */
SALTUS_FN void saltus_nsm_add_group(saltus_nsm_sites *s, saltus_nsm_group *first, int species,
                                    int32_t count)
{
    const saltus_nsm_group group = {count, first->next, (uint16_t)species};
    int32_t number = s->free_group;
    if (number != SALTUS_NSM_EMPTY) {
        s->free_group = s->groups[number].next;
    } else {
        number = s->n_groups++;
    }
    s->groups[number] = group;
    first->next = number;
}

/* Free the group of a species. If it is the first, the next takes its place; if there is no other,
 * the slot is empty. */
SALTUS_FN void saltus_nsm_remove_group(saltus_nsm_sites *s, saltus_nsm_group *first, int species)
{
    int32_t *link = &first->next, gone = *link;
    if (gone == SALTUS_NSM_EMPTY) {
        return;
    }
    if (first->species == species) {
        *first = s->groups[gone];
    } else {
        while (s->groups[gone].species != species) {
            link = &s->groups[gone].next;
            gone = *link;
        }
        *link = s->groups[gone].next;
    }
    s->groups[gone].next = s->free_group;
    s->free_group = gone;
}

/** The most particles of a species in a site. */
enum { SALTUS_NSM_MOST = 0x7fffffff };

/** Add particles of a species to a slot, or take some away; the slot may be empty, or become so.
 * Returns how many there are then. Below 0 or above SALTUS_NSM_MOST nothing has changed. */
SALTUS_FN int64_t saltus_nsm_add(saltus_nsm_sites *s, int32_t number, int species, int64_t amount)
{
    saltus_nsm_group *first = &s->slots[number].first, *g = first;
    if (first->count == 0) {
        first->species = (uint16_t)species;
    }
    while (g && g->species != species) {
        g = saltus_nsm_next(s, g);
    }
    const int64_t count = (g ? g->count : 0) + amount;
    if (count < 0 || count > SALTUS_NSM_MOST) {
        return count;
    }
    if (!g) {
        saltus_nsm_add_group(s, first, species, (int32_t)count);
        return count;
    }
    g->count = (int32_t)count;
    if (count == 0) {
        saltus_nsm_remove_group(s, first, species);
    }
    return count;
}

#endif
