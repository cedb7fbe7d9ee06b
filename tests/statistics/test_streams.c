/* The words of every generator as the direct method uses them: of one trajectory, of many in turn,
 * waits alone, choices alone, and the first of many trajectories. Every test of the battery is also
 * shown a sequence that it must find wanting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/battery.h"
#include "engine/generator.h"
#include "kernel/base/stream.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"philox", "xorwow", "mrg32k3a", "mt19937"};
enum { N_GENERATORS = 4 };

/* One trajectory's stream. */
typedef struct stream {
    uint64_t seed, trajectory, n_drawn;
    uint32_t state[SALTUS_MT19937_WORDS];
    saltus_u64 block[4];
} stream;

/* In which order words of many streams are taken. */
typedef struct order {
    const char *name;
    int n_streams; /* a word of each in turn */
    int step;      /* 1: every word; 2: every other */
    int skip;      /* words at the start */
    int shift;     /* of the trajectories' numbers, to the left */
    int n_words;   /* of each stream; then the next one starts. 0: all */
    bool by_seed;  /* one trajectory of seeds 1, 2, 3 … instead of many of one seed */
} order;

static const order orders[] = {
    {"one trajectory", 1, 1, 0, 0, 0, false},
    {"64 trajectories in turn", 64, 1, 0, 0, 0, false},
    {"their waits", 64, 2, 0, 0, 0, false},
    {"their choices", 64, 2, 1, 0, 0, false},
    {"distant trajectories in turn", 256, 1, 0, 40, 0, false},
    {"the first events of many trajectories", 1, 1, 0, 0, 8, false},
    {"the first events of many seeds", 1, 1, 0, 0, 8, true},
};
enum { N_ORDERS = sizeof orders / sizeof *orders };

typedef struct mixed {
    saltus_generator generator;
    const order *order;
    stream *streams;
    uint64_t n_started;
    int turn;
} mixed;

static void start(mixed *m, stream *s)
{
    const uint64_t number = m->n_started++ << m->order->shift;
    const uint64_t seed = m->order->by_seed ? number + 1 : 20261121;
    s->seed = seed;
    s->trajectory = m->order->by_seed ? 0 : number;
    s->n_drawn = 0;
    switch (m->generator.rng) {
    case SALTUS_RNG_XORWOW:
        saltus_xorwow_start(s->state, seed, s->trajectory, m->generator.jumps);
        break;
    case SALTUS_RNG_MRG32K3A:
        saltus_mrg32k3a_start(s->state, seed, s->trajectory, m->generator.jumps);
        break;
    case SALTUS_RNG_MT19937:
        saltus_mt19937_start(s->state, seed, s->trajectory);
        break;
    default:
        break;
    }
}

static uint32_t draw(const mixed *m, stream *s)
{
    const uint64_t n = s->n_drawn++;
    switch (m->generator.rng) {
    case SALTUS_RNG_XORWOW:
        return saltus_xorwow_next(s->state);
    case SALTUS_RNG_MRG32K3A:
        return saltus_mrg32k3a_next(s->state);
    case SALTUS_RNG_MT19937:
        return saltus_mt19937_next(s->state, (int)(n % SALTUS_MT19937_WORDS));
    default:
        if (n % 4 == 0) {
            saltus_philox(s->seed, SALTUS_PURPOSE_EVENT, s->trajectory, n / 4, s->block);
        }
        return (uint32_t)s->block[n % 4];
    }
}

static mixed open_mixed(const char *name, const order *o)
{
    saltus_error err = {0};
    mixed m = {.order = o};
    assert_int_equal(saltus_generator_create(name, &m.generator, &err), SALTUS_OK);
    m.streams = calloc((size_t)o->n_streams, sizeof *m.streams);
    assert_non_null(m.streams);
    for (int i = 0; i < o->n_streams; ++i) {
        start(&m, &m.streams[i]);
        for (int k = 0; k < o->skip; ++k) {
            (void)draw(&m, &m.streams[i]);
        }
    }
    return m;
}

static void close_mixed(mixed *m)
{
    saltus_generator_free(&m->generator);
    free(m->streams);
}

static uint32_t next_mixed(void *user)
{
    mixed *m = user;
    const order *o = m->order;
    stream *s = &m->streams[m->turn];
    if (o->n_words > 0 && s->n_drawn == (uint64_t)o->n_words) {
        start(m, s);
    }
    const uint32_t word = draw(m, s);
    for (int k = 1; k < o->step; ++k) {
        (void)draw(m, s);
    }
    m->turn = m->turn + 1 < o->n_streams ? m->turn + 1 : 0;
    return word;
}

/* XORWOW's lowest bit is linear, of order 160 and a little more for its counter's; that is seen in
 * one stream, not in several in turn, whose orders add up. */
static bool is_known(int generator, int o, int test)
{
    return generator == SALTUS_RNG_XORWOW && o == 0 && test == BATTERY_LOW_COMPLEXITY;
}

/* cuRAND makes states of neighbouring seeds that are neighbours: docs/numerics.md warns of it. */
static bool has_related_seeds(int generator)
{
    return generator == SALTUS_RNG_XORWOW || generator == SALTUS_RNG_MRG32K3A;
}

static void streams_look_random(void **state)
{
    (void)state;
    for (int g = 0; g < N_GENERATORS; ++g) {
        for (int o = 0; o < N_ORDERS; ++o) {
            mixed m = open_mixed(names[g], &orders[o]);
            if (orders[o].by_seed && has_related_seeds(g)) {
                assert_true(fabs(battery[BATTERY_PAIRS].run(next_mixed, &m)) > 10.0);
                close_mixed(&m);
                continue;
            }
            for (int t = 0; t < N_BATTERY; ++t) {
                const double z = battery[t].run(next_mixed, &m);
                if (is_known(g, o, t) ? fabs(z) < 100.0 : fabs(z) > 5.0) {
                    fail_msg("%s, %s: %s is %.1f standard deviations off", names[g], orders[o].name,
                             battery[t].name, z);
                }
            }
            close_mixed(&m);
        }
    }
}

/* ---- what is not random ---- */

static uint32_t next_good(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*x >> 32);
}

/* IBM's RANDU: triples lie in 15 planes. */
static uint32_t next_randu(void *user)
{
    uint64_t *x = user;
    *x = (*x | 1) * 65539 & 0x7fffffff;
    return (uint32_t)*x << 1;
}

/* 2^14 words over and over. */
static uint32_t next_short(void *user)
{
    uint64_t *n = user, x = (*n)++ % (1 << 14) * 0x9E3779B97F4A7C15u;
    (void)next_good(&x);
    return next_good(&x);
}

/* Bit 7 is 1 in 51 of 100. */
static uint32_t next_biased(void *user)
{
    const uint32_t w = next_good(user);
    return next_good(user) < 85899346 ? w | 1 << 7 : w;
}

/* Every other word is the one before turned over. */
static uint32_t next_even(void *user)
{
    uint64_t *x = user;
    static const uint64_t turned = UINT64_C(1) << 63;
    if (*x & turned) {
        *x ^= turned;
        return ~(uint32_t)(*x >> 20);
    }
    (void)next_good(x);
    *x |= turned;
    return (uint32_t)((*x ^ turned) >> 20);
}

/* 1 in 10 is from the middle half. */
static uint32_t next_humped(void *user)
{
    const uint32_t w = next_good(user);
    return next_good(user) < 429496730 ? w / 2 + (1 << 30) : w;
}

/* The stream of trajectory i + 1 is that of i, a word later; two trajectories in turn. */
static uint32_t next_overlapping(void *user)
{
    uint64_t *n = user, x = (*n + 1) / 2 * 0x9E3779B97F4A7C15u;
    ++*n;
    (void)next_good(&x);
    return next_good(&x);
}

/* After a word below 2^28 comes none. */
static uint32_t next_shy(void *user)
{
    uint64_t *x = user;
    const int was_low = *x >> 32 < UINT64_C(1) << 28;
    const uint32_t w = next_good(x);
    return was_low && w < UINT32_C(1) << 28 ? w | UINT32_C(1) << 31 : w;
}

/* Marsaglia's xorshift of 32 bits: linear. */
static uint32_t next_xorshift(void *user)
{
    uint64_t *x = user;
    uint32_t w = (uint32_t)*x | 1;
    w ^= w << 13;
    w ^= w >> 17;
    w ^= w << 5;
    return (uint32_t)(*x = w);
}

static void every_test_finds_what_it_is_for(void **state)
{
    static const struct {
        int test;
        word_source *next;
    } cases[] = {
        {BATTERY_BITS, next_biased},          {BATTERY_BLOCKS, next_even},
        {BATTERY_UNIFORM, next_humped},       {BATTERY_PAIRS, next_overlapping},
        {BATTERY_TRIPLES, next_randu},        {BATTERY_GAPS, next_shy},
        {BATTERY_COLLISIONS, next_short},     {BATTERY_BIRTHDAYS, next_randu},
        {BATTERY_RANKS, next_xorshift},       {BATTERY_COMPLEXITY, next_xorshift},
        {BATTERY_LOW_COMPLEXITY, next_randu},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        uint64_t x = 12345;
        const double z = battery[cases[i].test].run(cases[i].next, &x);
        if (fabs(z) < 8.0) {
            fail_msg("%s: only %.1f", battery[cases[i].test].name, z);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_look_random),
        cmocka_unit_test(every_test_finds_what_it_is_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
