/* Before a kernel's text: a host plays every thread of a warp, one after the other, each until it
 * comes to where all must meet. Threads that meet at different places end the program. */
#ifndef SALTUS_PLAYED_WARPS
#define SALTUS_PLAYED_WARPS

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { PLAYED_LANES = 32, PLAYED_STACK = 1 << 18 };

static int64_t saltus_thread;

static struct {
    ucontext_t host, lane[PLAYED_LANES];
    char *stacks;
    void (*thread)(void);
    int now; /* which lane is at work */
    uint32_t ended;
    int where[PLAYED_LANES];          /* line at which it waits, */
    int64_t n_meetings[PLAYED_LANES]; /* for the how many-th time */
    uint64_t said[2][PLAYED_LANES];   /* at even and odd meetings */
} played;

static void played_lane(void)
{
    played.thread();
    played.ended |= 1u << played.now;
    (void)swapcontext(&played.lane[played.now], &played.host);
}

/* All meet; returns what each has said. */
static inline const uint64_t *played_meet(uint64_t x, int line)
{
    const int lane = played.now;
    uint64_t *said = played.said[played.n_meetings[lane]++ % 2];
    said[lane] = x;
    played.where[lane] = line;
    (void)swapcontext(&played.lane[lane], &played.host);
    return said;
}

static void played_check(void)
{
    for (int i = 1; i < PLAYED_LANES; ++i) {
        const int same = played.n_meetings[i] == played.n_meetings[0] &&
                         played.where[i] == played.where[0] &&
                         (played.ended >> i & 1) == (played.ended & 1);
        if (!same) {
            (void)fprintf(stderr, "warp: lane 0 is at line %d%s, lane %d at line %d%s\n",
                          played.where[0], played.ended & 1 ? " and has ended" : "", i,
                          played.where[i], played.ended >> i & 1 ? " and has ended" : "");
            abort();
        }
    }
}

static inline void saltus_play(void (*thread)(void), int64_t n_threads)
{
    if (!played.stacks) {
        played.stacks = (char *)malloc((size_t)PLAYED_LANES * PLAYED_STACK);
    }
    played.thread = thread;
    for (int64_t first = 0; first < n_threads; first += PLAYED_LANES) {
        played.ended = 0;
        for (int i = 0; i < PLAYED_LANES; ++i) {
            played.n_meetings[i] = played.where[i] = 0;
            (void)getcontext(&played.lane[i]);
            played.lane[i].uc_stack.ss_sp = played.stacks + (size_t)i * PLAYED_STACK;
            played.lane[i].uc_stack.ss_size = PLAYED_STACK;
            makecontext(&played.lane[i], played_lane, 0);
        }
        while (played.ended != 0xffffffffu) {
            for (played.now = 0; played.now < PLAYED_LANES; ++played.now) {
                saltus_thread = first + played.now;
                (void)swapcontext(&played.host, &played.lane[played.now]);
            }
            played_check();
        }
    }
}

/* Who is alone meets nobody. */
static inline uint32_t played_ballot(uint32_t here, int x, int line)
{
    const uint64_t *said;
    uint32_t bits = 0;
    if (here != 0xffffffffu) {
        return x ? here : 0;
    }
    said = played_meet(x != 0, line);
    for (int i = 0; i < PLAYED_LANES; ++i) {
        bits |= (uint32_t)said[i] << i;
    }
    return bits;
}

static inline uint64_t played_shuffle(uint32_t here, uint64_t x, int from, int line)
{
    return here == 0xffffffffu ? played_meet(x, line)[from] : x;
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
#define SALTUS_HERE() (1u << SALTUS_LANE_NUMBER)

#endif
