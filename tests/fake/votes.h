/* Before a kernel's text: a host plays every thread of a warp, as with warps.h, but those that are
 * at one place need not be together. Which of them a vote is among is drawn, as it hangs on timing
 * on a GPU; it waits for these alone. Threads that wait for one that does not come end the program.
 */
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

typedef enum played_state {
    PLAYED_RUNS,
    PLAYED_ASKS,  /* who is here */
    PLAYED_MEETS, /* those of its mask */
    PLAYED_ENDED,
} played_state;

static struct {
    ucontext_t host, lane[PLAYED_LANES];
    char *stacks;
    void (*thread)(void);
    int now; /* which lane is at work */
    played_state state[PLAYED_LANES];
    int where[PLAYED_LANES]; /* line at which it asks or meets */
    uint32_t mask[PLAYED_LANES];
    uint64_t says[PLAYED_LANES], said[PLAYED_LANES][PLAYED_LANES]; /* [who hears it][who] */
    uint64_t random;
} played;

static uint32_t played_random(void)
{
    played.random = played.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(played.random >> 32);
}

static void played_lane(void)
{
    played.thread();
    played.state[played.now] = PLAYED_ENDED;
    (void)swapcontext(&played.lane[played.now], &played.host);
}

static void played_stop(played_state state, int line)
{
    const int lane = played.now;
    played.state[lane] = state;
    played.where[lane] = line;
    (void)swapcontext(&played.lane[lane], &played.host);
}

/* Those of the mask meet; returns what each has said. */
static inline const uint64_t *played_meet(uint32_t mask, uint64_t x, int line)
{
    const int lane = played.now;
    played.mask[lane] = mask;
    played.says[lane] = x;
    played_stop(PLAYED_MEETS, line);
    return played.said[lane];
}

static inline uint32_t played_here(int line)
{
    played_stop(PLAYED_ASKS, line);
    return played.mask[played.now];
}

/* Let those meet for whom a lane waits, if all have come. */
static int played_join(int lane)
{
    const uint32_t mask = played.mask[lane];
    for (int i = 0; i < PLAYED_LANES; ++i) {
        if ((mask >> i & 1) && (played.state[i] != PLAYED_MEETS || played.mask[i] != mask ||
                                played.where[i] != played.where[lane])) {
            return 0;
        }
    }
    for (int i = 0; i < PLAYED_LANES; ++i) {
        for (int k = 0; k < PLAYED_LANES && (mask >> i & 1); ++k) {
            played.said[i][k] = (mask >> k & 1) ? played.says[k] : 0;
        }
        played.state[i] = (mask >> i & 1) ? PLAYED_RUNS : played.state[i];
    }
    return 1;
}

/* Tell some of those that ask at one line, often all, that they are here. */
static int played_answer(void)
{
    const int from = (int)(played_random() % PLAYED_LANES);
    const uint32_t drawn = played_random() % 4 == 0 ? played_random() : PLAYED_ALL;
    uint32_t mask = 0;
    int line = -1;
    for (int i = 0; i < PLAYED_LANES; ++i) {
        const int lane = (from + i) % PLAYED_LANES;
        if (played.state[lane] == PLAYED_ASKS && (line < 0 || played.where[lane] == line)) {
            mask |= line < 0 || (drawn >> lane & 1) ? 1u << lane : 0;
            line = played.where[lane];
        }
    }
    for (int i = 0; i < PLAYED_LANES; ++i) {
        if (mask >> i & 1) {
            played.mask[i] = mask;
            played.state[i] = PLAYED_RUNS;
        }
    }
    return mask != 0;
}

/* Run those that can, in turn; returns how many have ended. */
static int played_turn(int64_t first, int *goes_on)
{
    int n_ended = 0;
    *goes_on = 0;
    for (played.now = 0; played.now < PLAYED_LANES; ++played.now) {
        if (played.state[played.now] == PLAYED_RUNS) {
            saltus_thread = first + played.now;
            (void)swapcontext(&played.host, &played.lane[played.now]);
            *goes_on = 1;
        }
        n_ended += played.state[played.now] == PLAYED_ENDED;
    }
    for (int i = 0; i < PLAYED_LANES; ++i) {
        *goes_on |= played.state[i] == PLAYED_MEETS && played_join(i);
    }
    return n_ended;
}

static void played_give_up(void)
{
    for (int i = 0; i < PLAYED_LANES; ++i) {
        if (played.state[i] == PLAYED_MEETS) {
            (void)fprintf(stderr, "votes: lane %d waits at line %d for those of %08x\n", i,
                          played.where[i], played.mask[i]);
        }
    }
    abort();
}

static inline void saltus_play(void (*thread)(void), int64_t n_threads)
{
    if (!played.stacks) {
        played.stacks = (char *)malloc((size_t)PLAYED_LANES * PLAYED_STACK);
    }
    played.thread = thread;
    for (int64_t first = 0; first < n_threads; first += PLAYED_LANES) {
        for (int i = 0; i < PLAYED_LANES; ++i) {
            played.state[i] = PLAYED_RUNS;
            (void)getcontext(&played.lane[i]);
            played.lane[i].uc_stack.ss_sp = played.stacks + (size_t)i * PLAYED_STACK;
            played.lane[i].uc_stack.ss_size = PLAYED_STACK;
            makecontext(&played.lane[i], played_lane, 0);
        }
        for (int goes_on; played_turn(first, &goes_on) < PLAYED_LANES;) {
            if (!goes_on && !played_answer()) {
                played_give_up();
            }
        }
    }
}

static inline uint32_t played_ballot(uint32_t here, int x, int line)
{
    const uint64_t *said = played_meet(here, x != 0, line);
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
#define SALTUS_SHUFFLE(here, x, from)                                     \
    ({                                                                    \
        __typeof__(x) played_x = (x);                                     \
        uint64_t played_bits = 0;                                         \
        memcpy(&played_bits, &played_x, sizeof played_x);                 \
        played_bits = played_meet((here), played_bits, __LINE__)[(from)]; \
        memcpy(&played_x, &played_bits, sizeof played_x);                 \
        played_x;                                                         \
    })
#define SALTUS_SHUFFLE_UP(here, x, by) \
    SALTUS_SHUFFLE((here), (x), SALTUS_LANE_NUMBER - (SALTUS_LANE_NUMBER >= (by) ? (by) : 0))
#define SALTUS_WAIT_FOR(here) ((void)played_meet((here), 0, __LINE__))
#define SALTUS_HERE() played_here(__LINE__)

#endif
