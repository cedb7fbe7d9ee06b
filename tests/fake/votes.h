/* Before a kernel's text: a host plays every thread of a warp, as with warps.h, but those that are
 * at one place need not be together. Which of them a vote is among is drawn, as it hangs on timing
 * on a GPU; it waits for these alone. A place is where the compiled kernel asks, as one line of it
 * may be inlined at many. Threads that wait for one that does not come end the program.
 */
#ifndef SALTUS_PLAYED_WARPS
#include "lanes.h"

typedef enum played_state {
    PLAYED_RUNS,
    PLAYED_ASKS,  /* who is here */
    PLAYED_MEETS, /* those of its mask */
} played_state;

static struct {
    played_state state[PLAYED_LANES];
    const void *asks[PLAYED_LANES]; /* from where */
    int where[PLAYED_LANES];        /* line at which it meets */
    uint32_t mask[PLAYED_LANES];
    uint64_t says[PLAYED_LANES], said[PLAYED_LANES][PLAYED_LANES]; /* [who hears it][who] */
    uint64_t random;
} played;

static uint32_t played_random(void)
{
    played.random = played.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(played.random >> 32);
}

static void played_stop(played_state state)
{
    played.state[lanes.now] = state;
    lanes_stop();
}

/* Those of the mask meet; returns what each has said. */
static inline const uint64_t *played_meet(uint32_t mask, uint64_t x, int line)
{
    const int lane = lanes.now;
    played.mask[lane] = mask;
    played.says[lane] = x;
    played.where[lane] = line;
    played_stop(PLAYED_MEETS);
    return played.said[lane];
}

__attribute__((noinline, unused)) static uint32_t played_here(void)
{
    played.asks[lanes.now] = __builtin_return_address(0);
    played_stop(PLAYED_ASKS);
    return played.mask[lanes.now];
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

/* Tell some of those that ask at one place, often all, that they are here. */
static int played_answer(void)
{
    const int from = (int)(played_random() % PLAYED_LANES);
    const uint32_t drawn = played_random() % 4 == 0 ? played_random() : PLAYED_ALL;
    const void *place = NULL;
    uint32_t mask = 0;
    for (int i = 0; i < PLAYED_LANES; ++i) {
        const int lane = (from + i) % PLAYED_LANES;
        if (played.state[lane] == PLAYED_ASKS && (!place || played.asks[lane] == place)) {
            mask |= !place || (drawn >> lane & 1) ? 1u << lane : 0;
            place = played.asks[lane];
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

/* Run those that can, in turn. Returns 0 where all that have not ended wait. */
static int played_turn(int64_t first)
{
    int goes_on = 0;
    for (lanes.now = 0; lanes.now < PLAYED_LANES; ++lanes.now) {
        if (played.state[lanes.now] == PLAYED_RUNS && !(lanes.ended >> lanes.now & 1)) {
            lanes_run(first);
            goes_on = 1;
        }
    }
    for (int i = 0; i < PLAYED_LANES; ++i) {
        goes_on |= played.state[i] == PLAYED_MEETS && played_join(i);
    }
    return goes_on;
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
    for (int64_t first = 0; first < n_threads; first += PLAYED_LANES) {
        for (int i = 0; i < PLAYED_LANES; ++i) {
            played.state[i] = PLAYED_RUNS;
        }
        lanes_begin(thread);
        while (lanes.ended != PLAYED_ALL) {
            if (!played_turn(first) && !played_answer()) {
                played_give_up();
            }
        }
    }
}

static inline uint32_t played_ballot(uint32_t here, int x, int line)
{
    return lanes_bits(played_meet(here, x != 0, line));
}

static inline uint64_t played_shuffle(uint32_t here, uint64_t x, int from, int line)
{
    return played_meet(here, x, line)[from];
}

#define SALTUS_HERE() played_here()

#endif
