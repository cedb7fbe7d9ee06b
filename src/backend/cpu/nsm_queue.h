/**
 * When what is next: a tournament of times. Every slot has a time, the least of all stands at the
 * root, and to change a slot's time takes one comparison per level, none of which is a branch:
 * times are random, so a heap would have half of its branches mispredicted.
 */
#ifndef SALTUS_BACKEND_CPU_NSM_QUEUE_H
#define SALTUS_BACKEND_CPU_NSM_QUEUE_H

#include "core/memory.h"

#include <stdint.h>
#include <string.h>

/** The earlier of two nodes. */
typedef struct saltus_nsm_next {
    uint64_t time; /**< the bits of a double that is not negative: they are ordered as it is */
    uint64_t slot;
} saltus_nsm_next;

/** Node 1 is the root, nodes 2 i and 2 i + 1 play for node i, slots begin at node `capacity`. */
typedef struct saltus_nsm_queue {
    saltus_nsm_next *nodes; /* [2 capacity] */
    int64_t capacity;       /* of slots, a power of 2 */
} saltus_nsm_queue;

/** The time at which something happens next; INFINITY: never. */
static inline double saltus_nsm_queue_time(const saltus_nsm_queue *q)
{
    double time;
    memcpy(&time, &q->nodes[1].time, sizeof time);
    return time;
}

/** Set the time of a slot below the capacity; INFINITY: nothing happens there. */
static inline void saltus_nsm_queue_set(const saltus_nsm_queue *q, int64_t slot, double time)
{
    saltus_nsm_next *nodes = q->nodes, next = {0, (uint64_t)slot};
    uint64_t i = (uint64_t)(q->capacity + slot);
    memcpy(&next.time, &time, sizeof time);
    nodes[i] = next;
    for (; i > 1; i >>= 1) {
        const saltus_nsm_next other = nodes[i ^ 1];
        const uint64_t is_earlier = -(uint64_t)(other.time < next.time); /* all bits or none */
        next.time ^= (next.time ^ other.time) & is_earlier;
        next.slot ^= (next.slot ^ other.slot) & is_earlier;
        nodes[i >> 1] = next;
    }
}

static inline void saltus_nsm_queue_clear(const saltus_nsm_queue *q)
{
    const uint64_t never = 0x7ff0000000000000u; /* INFINITY */
    for (int64_t i = 0; i < 2 * q->capacity; ++i) {
        q->nodes[i] = (saltus_nsm_next){never, 0};
    }
}

/** Twice the capacity; what there is becomes the left half of the tree as it stands, so that times
 * that are equal stay in the order in which they are. Returns whether there was memory. */
static inline bool saltus_nsm_queue_grow(saltus_nsm_queue *q)
{
    saltus_nsm_queue more = {.capacity = q->capacity > 0 ? 2 * q->capacity : 64};
    more.nodes = saltus_calloc(2 * (size_t)more.capacity, sizeof *more.nodes);
    if (!more.nodes) {
        return false;
    }
    saltus_nsm_queue_clear(&more);
    for (int64_t level = 1; level <= q->capacity; level *= 2) {
        memcpy(more.nodes + 2 * level, q->nodes + level, (size_t)level * sizeof *more.nodes);
    }
    if (q->capacity > 0) {
        more.nodes[1] = q->nodes[1];
    }
    saltus_free(q->nodes);
    *q = more;
    return true;
}

#endif
