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

/** Node 1 is the root, nodes 2 i and 2 i + 1 play for node i, slots stand from node `capacity` on.
 */
typedef struct saltus_nsm_queue {
    uint64_t *times;  /* [2 capacity] bits of doubles that are not negative: ordered as these are */
    uint32_t *slots;  /* [capacity] whose time it is */
    int64_t capacity; /* of slots, a power of 2 */
} saltus_nsm_queue;

/** The time at which something happens next, in slot slots[1]; INFINITY: never. */
static inline double saltus_nsm_queue_time(const saltus_nsm_queue *q)
{
    double time;
    memcpy(&time, &q->times[1], sizeof time);
    return time;
}

/** Set the time of a slot below the capacity; INFINITY: nothing happens there. */
static inline void saltus_nsm_queue_set(const saltus_nsm_queue *q, int64_t slot, double when)
{
    uint64_t *times = q->times, i = (uint64_t)(q->capacity + slot), time;
    uint32_t *slots = q->slots, first = (uint32_t)slot, other = first ^ 1;
    memcpy(&time, &when, sizeof time);
    times[i] = time;
    do {
        const uint64_t rival = times[i ^ 1];
        const uint64_t is_earlier = -(uint64_t)(rival < time); /* all bits or none */
        time ^= (time ^ rival) & is_earlier;
        first ^= (first ^ other) & (uint32_t)is_earlier;
        i >>= 1;
        times[i] = time;
        slots[i] = first;
        other = slots[i ^ 1];
    } while (i > 1);
}

static inline void saltus_nsm_queue_clear(const saltus_nsm_queue *q)
{
    for (int64_t i = 0; i < 2 * q->capacity; ++i) {
        q->times[i] = 0x7ff0000000000000u; /* INFINITY */
    }
    memset(q->slots, 0, (size_t)q->capacity * sizeof *q->slots);
}

static inline void saltus_nsm_queue_free(saltus_nsm_queue *q)
{
    saltus_free(q->times);
    saltus_free(q->slots);
}

/** Twice the capacity; what there is becomes the left half of the tree as it stands, so that times
 * that are equal stay in the order in which they are. Returns whether there was memory. */
static inline bool saltus_nsm_queue_grow(saltus_nsm_queue *q)
{
    const int64_t half = q->capacity;
    saltus_nsm_queue more = {.capacity = half > 0 ? 2 * half : 64};
    more.times = saltus_calloc(2 * (size_t)more.capacity, sizeof *more.times);
    more.slots = saltus_calloc((size_t)more.capacity, sizeof *more.slots);
    if (!more.times || !more.slots) {
        saltus_nsm_queue_free(&more);
        return false;
    }
    saltus_nsm_queue_clear(&more);
    for (int64_t level = 1; level <= half; level *= 2) {
        memcpy(more.times + 2 * level, q->times + level, (size_t)level * sizeof *q->times);
        if (level < half) {
            memcpy(more.slots + 2 * level, q->slots + level, (size_t)level * sizeof *q->slots);
        }
    }
    if (half > 0) {
        more.times[1] = q->times[1];
        more.slots[1] = q->slots[1];
    }
    saltus_nsm_queue_free(q);
    *q = more;
    return true;
}

#endif
