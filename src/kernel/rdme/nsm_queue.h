/**
 * When what is next, for kernel/rdme/nsm.h: a tournament of times. Every slot has a time, the least
 * of all stands at the root, and to change a slot's time takes one comparison per level, none of
 * which is a branch: times are random, so a heap would have half of its branches mispredicted.
 *
 * Nodes 2 i and 2 i + 1 play for node i; slot k stands at node capacity + k. A node has the lesser
 * of the two times, and the slot whose time it is. With a capacity of 4:
 *
 *     node 1                     0.3, slot 2
 *                       /                        \
 *     nodes 2, 3    0.5, slot 1              0.3, slot 2
 *                   /         \              /         \
 *     nodes 4 to 7  0.9       0.5            0.3       infinity
 *     slots         0         1              2         3
 *
 * Example: the time of slot 2 becomes 0.7, so node 6 has 0.7. It wins node 3 against infinity, and
 * loses node 1 against the 0.5 of node 2: slot 1 is next. Nodes 4, 5 and 7 are not touched.
 */
#ifndef SALTUS_KERNEL_RDME_NSM_QUEUE_H
#define SALTUS_KERNEL_RDME_NSM_QUEUE_H

#include "kernel/base/target.h"

#if SALTUS_LANES != 1
#error "a tournament is one lane wide"
#endif

typedef struct saltus_nsm_queue {
    /** [2 capacity] bits of doubles that are not negative, which are ordered as the doubles are */
    uint64_t *times;
    /** [capacity] the slot whose time it is */
    uint32_t *slots;
    /** Number of slots that there is room for, a power of 2. */
    int64_t capacity;
} saltus_nsm_queue;

/** The time of the next event, which is in slot slots[1]; infinity: there is none. */
SALTUS_FN double saltus_nsm_queue_time(const saltus_nsm_queue *q)
{
    return SALTUS_AS_F64(q->times[1]);
}

/** Set the time of a slot; infinity: nothing happens there. */
SALTUS_FN void saltus_nsm_queue_set(const saltus_nsm_queue *q, int64_t slot, double when)
{
    uint64_t *times = q->times, i = (uint64_t)(q->capacity + slot), time = SALTUS_AS_U64(when);
    uint32_t *slots = q->slots, first = (uint32_t)slot, other = first ^ 1;
    times[i] = time;
    do {
        const uint64_t rival = times[i ^ 1];
        const uint64_t is_earlier = 0 - (uint64_t)(rival < time); /* all bits or none */
        time ^= (time ^ rival) & is_earlier;
        first ^= (first ^ other) & (uint32_t)is_earlier;
        i >>= 1;
        times[i] = time;
        slots[i] = first;
        other = slots[i ^ 1];
    } while (i > 1);
}

/** No slot has an event. */
SALTUS_FN void saltus_nsm_queue_clear(const saltus_nsm_queue *q)
{
    for (int64_t i = 0; i < 2 * q->capacity; ++i) {
        q->times[i] = SALTUS_AS_U64(SALTUS_INFINITY);
    }
    for (int64_t i = 0; i < q->capacity; ++i) {
        q->slots[i] = 0;
    }
}

#endif
