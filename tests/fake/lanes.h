/* What warps.h and votes.h have in common: the threads of a warp as coroutines of a host, which
 * each of them lets meet in its own way. Each defines played_ballot(here, x, line),
 * played_shuffle(here, x, from, line) and SALTUS_HERE(). */
#ifndef SALTUS_PLAYED_WARPS
#define SALTUS_PLAYED_WARPS

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { PLAYED_LANES = 32, PLAYED_STACK = 1 << 18 };
#define PLAYED_ALL 0xffffffffu

static int64_t saltus_thread;

static struct {
    ucontext_t host, context[PLAYED_LANES];
    char *stacks;
    void (*thread)(void);
    int now; /* which lane is at work */
    uint32_t ended;
} lanes;

static void lanes_stop(void)
{
    (void)swapcontext(&lanes.context[lanes.now], &lanes.host);
}

static void lanes_thread(void)
{
    lanes.thread();
    lanes.ended |= 1u << lanes.now;
    lanes_stop();
}

/* Let all lanes begin anew. */
static void lanes_begin(void (*thread)(void))
{
    if (!lanes.stacks) {
        lanes.stacks = (char *)malloc((size_t)PLAYED_LANES * PLAYED_STACK);
    }
    lanes.thread = thread;
    lanes.ended = 0;
    for (int i = 0; i < PLAYED_LANES; ++i) {
        (void)getcontext(&lanes.context[i]);
        lanes.context[i].uc_stack.ss_sp = lanes.stacks + (size_t)i * PLAYED_STACK;
        lanes.context[i].uc_stack.ss_size = PLAYED_STACK;
        makecontext(&lanes.context[i], lanes_thread, 0);
    }
}

/* Run lanes.now, which has thread number first + lanes.now, until it stops. */
static void lanes_run(int64_t first)
{
    saltus_thread = first + lanes.now;
    (void)swapcontext(&lanes.host, &lanes.context[lanes.now]);
}

/* The lanes that have said 1, as bits. */
static uint32_t lanes_bits(const uint64_t *said)
{
    uint32_t bits = 0;
    for (int i = 0; i < PLAYED_LANES; ++i) {
        bits |= (uint32_t)said[i] << i;
    }
    return bits;
}

#define SALTUS_LANE_NUMBER ((int)(saltus_thread & 31))
#define SALTUS_WARP_IN_BLOCK ((int64_t)0)
#define SALTUS_BALLOT(here, x) played_ballot((here), (x), __LINE__)
#define SALTUS_ANY(here, x) (played_ballot((here), (x), __LINE__) != 0)
#define SALTUS_SHUFFLE(here, x, from)                                        \
    ({                                                                       \
        __typeof__(x) played_x = (x);                                        \
        uint64_t played_bits = 0;                                            \
        memcpy(&played_bits, &played_x, sizeof played_x);                    \
        played_bits = played_shuffle((here), played_bits, (from), __LINE__); \
        memcpy(&played_x, &played_bits, sizeof played_x);                    \
        played_x;                                                            \
    })
#define SALTUS_SHUFFLE_UP(here, x, by) \
    SALTUS_SHUFFLE((here), (x), SALTUS_LANE_NUMBER - (SALTUS_LANE_NUMBER >= (by) ? (by) : 0))
#define SALTUS_WAIT_FOR(here) ((void)played_shuffle((here), 0, 0, __LINE__))

#endif
