/* Before a kernel's text: a host plays every thread of a warp, one after the other, each until it
 * comes to where all must meet. Threads that meet at different places end the program. */
#ifndef SALTUS_PLAYED_WARPS
#include "lanes.h"

static struct {
    int where[PLAYED_LANES];          /* line at which it waits, */
    int64_t n_meetings[PLAYED_LANES]; /* for the how many-th time */
    uint64_t said[2][PLAYED_LANES];   /* at even and odd meetings */
} played;

/* All meet; returns what each has said. */
static inline const uint64_t *played_meet(uint64_t x, int line)
{
    const int lane = lanes.now;
    uint64_t *said = played.said[played.n_meetings[lane]++ % 2];
    said[lane] = x;
    played.where[lane] = line;
    lanes_stop();
    return said;
}

static void played_check(void)
{
    for (int i = 1; i < PLAYED_LANES; ++i) {
        const int same = played.n_meetings[i] == played.n_meetings[0] &&
                         played.where[i] == played.where[0] &&
                         (lanes.ended >> i & 1) == (lanes.ended & 1);
        if (!same) {
            (void)fprintf(stderr, "warp: lane 0 is at line %d%s, lane %d at line %d%s\n",
                          played.where[0], lanes.ended & 1 ? " and has ended" : "", i,
                          played.where[i], lanes.ended >> i & 1 ? " and has ended" : "");
            abort();
        }
    }
}

static inline void saltus_play(void (*thread)(void), int64_t n_threads)
{
    for (int64_t first = 0; first < n_threads; first += PLAYED_LANES) {
        memset(played.n_meetings, 0, sizeof played.n_meetings);
        memset(played.where, 0, sizeof played.where);
        lanes_begin(thread);
        while (lanes.ended != PLAYED_ALL) {
            for (lanes.now = 0; lanes.now < PLAYED_LANES; ++lanes.now) {
                lanes_run(first);
            }
            played_check();
        }
    }
}

/* Who is alone meets nobody. */
static inline uint32_t played_ballot(uint32_t here, int x, int line)
{
    return here == PLAYED_ALL ? lanes_bits(played_meet(x != 0, line)) : x ? here : 0;
}

static inline uint64_t played_shuffle(uint32_t here, uint64_t x, int from, int line)
{
    return here == PLAYED_ALL ? played_meet(x, line)[from] : x;
}

#define SALTUS_HERE() (1u << SALTUS_LANE_NUMBER)

#endif
