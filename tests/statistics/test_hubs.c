/* Networks whose reactions are in hubs and classes: every reaction has its share of the choices,
 * sums follow what has changed, moments are exact ones, and no layout, device or sample time
 * changes a bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/bits.h"
#include "../support/check.h"
#include "../support/gpu.h"
#include "kernel/ssa/hubs.h"
#include "model/network/network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the kernel by hand ---- */

/* A trajectory with all its memory. */
typedef struct hand {
    saltus_trajectory p;
    saltus_direct d;
} hand;

#define TAKE(type, part, name, n) h->IN_##part.name = calloc((size_t)(n) + 1, sizeof(type));
#define GIVE(type, part, name, n) free(h->IN_##part.name);
#define IN_trajectory p
#define IN_direct d

static hand *pick_up(const saltus_tables *t)
{
    hand *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->p.n = t;
    h->p.x = calloc((size_t)t->n_species + 1, sizeof *h->p.x);
    SALTUS_TRAJECTORY_ARRAYS(TAKE)
    h->p.v[t->row_one] = 1.0;
    for (int i = 0; i < t->n_constants; ++i) {
        h->p.v[t->row_constants + i] = t->constants[i];
    }
    return h;
}

static void put_down(hand *h)
{
    const saltus_tables *t = h->p.n;
    (void)t;
    free(h->p.x);
    SALTUS_TRAJECTORY_ARRAYS(GIVE)
    free(h);
}

static double total_of(const hand *h)
{
    const saltus_tables *t = h->p.n;
    return h->d.values[t->n_hub_leaves + t->hub_first[t->n_hub_levels - 1]];
}

/* Random numbers of the test's own. */
static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void set_count(hand *h, int s, int64_t x)
{
    h->p.x[s] = x;
    h->p.v[s] = (double)x;
}

/* Counts of all sizes, many of them 0. */
static void scatter(hand *h, uint64_t *random)
{
    for (int s = 0; s < h->p.n->n_species; ++s) {
        const uint32_t size = draw(random) % 5;
        set_count(h, s, size == 0 ? 0 : size < 4 ? draw(random) % 30 : draw(random) % 3000);
    }
    h->p.has_bounds = 0;
    assert_int_equal(saltus_hubs_rebuild(&h->p, &h->d), SALTUS_FINE);
}

/* Let reactions fire that can, and see that what follows them is what would be made anew. */
static void wander(hand *h, int n, uint64_t *random)
{
    const saltus_tables *t = h->p.n;
    const size_t n_values = (size_t)(t->n_hub_leaves + t->hub_first[t->n_hub_levels]);
    double *values = malloc(n_values * sizeof *values);
    int64_t *weights = malloc(((size_t)t->n_weights + 1) * sizeof *weights);
    int n_moved = 0;
    while (n > 0) {
        const saltus_spot spot = {total_of(h) * draw(random) * 0x1p-31, 0.0};
        int near = 0;
        const int r = saltus_hubs_find(&h->p, &h->d, spot, &near);
        --n;
        if (r < 0) {
            continue;
        }
        const double before = total_of(h);
        assert_int_equal(saltus_hubs_react(&h->p, &h->d, r), SALTUS_FINE);
        n_moved += total_of(h) != before;
        memcpy(values, h->d.values, n_values * sizeof *values);
        memcpy(weights, h->d.weights, (size_t)t->n_weights * sizeof *weights);
        assert_int_equal(saltus_hubs_rebuild(&h->p, &h->d), SALTUS_FINE);
        assert_memory_equal(values, h->d.values, n_values * sizeof *values);
        assert_memory_equal(weights, h->d.weights, (size_t)t->n_weights * sizeof *weights);
    }
    assert_true(n_moved > 0);
    free(values);
    free(weights);
}

/* Of spots all over the total each reaction gets its propensity's share, and the rest gets nothing.
 * It may stand in some places, each of which gains or loses one spot at either end. */
static void check_shares(hand *h)
{
    enum { N = 400000, PLACES = 12 };
    const saltus_tables *t = h->p.n;
    const double total = total_of(h);
    int64_t *found = calloc((size_t)t->n_reactions + 1, sizeof *found);
    for (int i = 0; i < N; ++i) {
        const saltus_spot spot = {total * (i + 0.5) / N, 0.0};
        int near = 0;
        ++found[1 + saltus_hubs_find(&h->p, &h->d, spot, &near)];
    }
    double sum = 0.0;
    for (int r = 0; r < t->n_reactions; ++r) {
        const double a = saltus_propensity(&h->p, r), expected = a / total * N;
        sum += a;
        if (!(fabs((double)found[1 + r] - expected) <= PLACES) || (a == 0.0 && found[1 + r] > 0)) {
            fail_msg("reaction %d: %lld of %d spots, and %g are its share", r,
                     (long long)found[1 + r], (int)N, expected);
        }
    }
    assert_true(total >= sum * (1.0 - 1e-12) && total < 1.5 * sum);
    free(found);
}

/* Where the ends of an interval are said to decide, all between them is chosen alike. */
static void check_intervals(hand *h, uint64_t *random)
{
    const double total = total_of(h), width = total / 20000.0;
    int n_near = 0;
    for (int i = 0; i < 20000; ++i) {
        const double low = (total - width) * draw(random) * 0x1p-31;
        int near = 0, ignored = 0;
        const int r = saltus_hubs_find(&h->p, &h->d, (saltus_spot){low, low + width}, &near);
        n_near += near;
        for (int k = 1; k < 8 && !near; ++k) {
            const saltus_spot spot = {low + width * k / 8.0, 0.0};
            assert_int_equal(saltus_hubs_find(&h->p, &h->d, spot, &ignored), r);
        }
    }
    assert_true(n_near > 0 && n_near < 20000);
}

/* Laws of every kind: hubs with classes of many partners and constants, some of them multiples,
 * pairs of one species, laws that are leaves of their own. */
static saltus_model *mixed_network(bool has_programs)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "species:\n");
    for (int s = 0; s < 120; ++s) {
        fprintf(out, "  X%d: %d\n", s, s % 40);
    }
    fprintf(out, "reactions:\n");
    for (int s = 2; s < 120; ++s) { /* two hubs with blocks, constants 1, 2, 3 and others */
        fprintf(out, "  h%d: X0 + X%d -> X0 + X%d @ 0.001*%d\n", s, s, (s + 1) % 120, 1 + s % 3);
        fprintf(out, "  g%d: X1 + X%d -> X1 + X%d @ %.17g\n", s, s, (s + 7) % 120,
                s % 5 ? 0.002 : 0.001 + s * 1e-5);
        fprintf(out, "  u%d: X%d -> X%d @ %.17g\n", s, s, (s * 7) % 120, 0.01 + 0.003 * s);
    }
    for (int s = 2; s < 40; ++s) {
        fprintf(out, "  p%d: 2 X%d -> X%d @ 0.003\n", s, s, s + 1);
        fprintf(out, "  b%d: X0 + X%d -> X%d @ 0.002\n", s, s, s + 2);
    }
    fprintf(out, "  z: 0 -> X3 @ 4\n"
                 "  y: 3 X5 -> X6 @ 1e-4\n"
                 "  d: 2 X0 -> X0 @ 1e-3\n");
    if (has_programs) {
        fprintf(out, "  m: {equation: X7 -> X8, law: 5*X7/(10 + X7 + X9)}\n");
    }
    return bits_parse_stream(out, &text);
}

/* A rule of binding: every state of a receptor with every ligand, few of which are there; receptors
 * in so many states. The last receptor binds one ligand less, and some bind twice as fast. */
enum { RECEPTORS = 40, LIGANDS = 42 };
static saltus_model *binding(int n_there)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "species:\n");
    for (int l = 0; l < LIGANDS; ++l) {
        fprintf(out, "  L%d: %d\n", l, l % 4 == 0 ? 2 : 0);
    }
    for (int r = 0; r < RECEPTORS; ++r) {
        fprintf(out, "  R%d: %d\n", r, r < n_there ? 3 : 0);
    }
    fprintf(out, "reactions:\n");
    for (int r = 0; r < RECEPTORS; ++r) {
        fprintf(out, "  u%d: R%d -> R%d @ 0.5\n", r, r, (r + 5) % RECEPTORS);
        for (int l = 0; l < LIGANDS - (r == RECEPTORS - 1); ++l) {
            fprintf(out, "  b%d_%d: R%d + L%d -> R%d + L%d @ %s\n", r, l, r, l, (r + 1) % RECEPTORS,
                    (l + 3) % LIGANDS, r < 8 ? "0.1" : "0.2");
        }
    }
    return bits_parse_stream(out, &text);
}

/* Their classes differ in constants and reactions; what they sum is the same. */
static void hubs_of_the_same_partners_share_a_weight(void **state)
{
    (void)state;
    saltus_model *m = binding(1);
    const saltus_tables *t = &m->network->tables;
    assert_int_equal(t->n_hubs, RECEPTORS);
    assert_int_equal(t->n_classes, RECEPTORS);
    assert_int_equal(t->n_weighed, 2);
    assert_int_equal(t->n_weights, 2 + 2 * 3); /* of blocks of 16 of 42 and of 41 */
    for (int c = 1; c < RECEPTORS; ++c) {
        const saltus_class *k = &t->classes[c];
        assert_int_equal(k->weight == t->classes[0].weight, c < RECEPTORS - 1);
        assert_int_equal(k->block == t->classes[0].block, c < RECEPTORS - 1);
        assert_true(k->rate == (c < 8 ? 0.1 : 0.2));
    }
    saltus_model_destroy(m);
}

/* Marks of nodes that a trajectory left as it failed do not keep the next one's sums from being
 * made. */
static void what_a_failed_trajectory_left_is_forgotten(void **state)
{
    (void)state;
    saltus_model *m = binding(1);
    const saltus_tables *t = &m->network->tables;
    hand *h = pick_up(t);
    uint64_t random = 1;
    for (int i = 0; i < t->hub_first[t->n_hub_levels]; ++i) {
        h->d.marks[i] = 1;
    }
    scatter(h, &random);
    wander(h, 300, &random);
    put_down(h);
    saltus_model_destroy(m);
}

static void reactions_have_their_shares(void **state)
{
    (void)state;
    for (int i = 0; i < 4; ++i) {
        saltus_model *m = i == 0   ? mixed_network(true)
                          : i == 3 ? binding(1)
                                   : bits_motifs(60, 6, 20, (uint64_t)i);
        const saltus_tables *t = &m->network->tables;
        hand *h = pick_up(t);
        uint64_t random = (uint64_t)i;
        assert_true(t->n_hubs > 0 && t->n_classes > 0);
        assert_true(i > 0 || (t->n_own >= 3 && t->n_weights > t->n_classes));
        for (int k = 0; k < 4; ++k) {
            scatter(h, &random);
            check_shares(h);
            wander(h, 300, &random);
            check_shares(h);
            check_intervals(h, &random);
        }
        put_down(h);
        saltus_model_destroy(m);
    }
}

/* n reactions of one species each, with one constant. */
static saltus_model *dormant(int n, const char *constant, const char *more)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "species: {A: 10, B: 20, C: 0}\nreactions:\n");
    for (int i = 0; i < n; ++i) {
        fprintf(out, "  r%d: %s @ %s\n", i, i % 2 ? "A -> B" : "A + B -> C", constant);
    }
    fprintf(out, "%s", more);
    return bits_parse_stream(out, &text);
}

/* Constants that are 0, or as good as 0, leave no hub, and then there is no tree of hubs. */
static void networks_may_be_dormant(void **state)
{
    static const double times[] = {1.0};
    (void)state;
    for (int i = 0; i < 4; ++i) {
        saltus_error err = {0};
        saltus_model *m =
            dormant(300, i % 2 ? "1e-310" : "0.0", i < 2 ? "" : "  c: A + 2 B -> C + 2 B @ 1000\n");
        assert_int_equal(m->network->tables.n_hubs, 0);
        saltus_plan_options plan = saltus_plan_options_default();
        saltus_run_options run = saltus_run_options_default();
        moments last = {.keep_last = true};
        run.times = times;
        run.n_times = 1;
        OK(run_plan(m, "cpu", &plan, &run, &last, &err));
        assert_int_equal(last.last[0], i < 2 ? 10 : 0);
        assert_int_equal(last.last[1], 20);
        assert_int_equal(last.last[2], i < 2 ? 0 : 10);
        moments_free(&last);
        saltus_model_destroy(m);
    }
}

/* Where 32 bits do not decide, 53 more do, and only there. */
static void further_bits_are_drawn_where_needed(void **state)
{
    enum { N = 200000 };
    (void)state;
    saltus_model *m = mixed_network(true);
    hand *h = pick_up(&m->network->tables);
    uint64_t random = 5;
    scatter(h, &random);
    const double total = total_of(h), unit = total * SALTUS_TWO_M32;
    int n_near = 0;
    for (int i = 0; i < N; ++i) {
        /* the last word below a boundary, or any */
        double word = draw(&random) * 2.0;
        if (i % 2 == 0) {
            const uint32_t leaf = draw(&random) % (uint32_t)m->network->tables.n_hubs;
            double sum = 0.0;
            for (uint32_t k = 0; k <= leaf; ++k) {
                sum += h->d.values[k];
            }
            word = floor(sum / unit);
        }
        int near = 0, ignored = 0;
        const saltus_spot spot = {word * unit, word * unit + unit};
        const int r = saltus_hubs_find(&h->p, &h->d, spot, &near);
        const double goal = saltus_choice_refined(total, word, 0, 0, (uint64_t)i);
        const int refined = saltus_hubs_find(&h->p, &h->d, (saltus_spot){goal, 0.0}, &ignored);
        n_near += near;
        saltus_hubs_next next = {.proposal = {0.0, total, word}, .spot = spot};
        h->p.event = (uint64_t)i;
        next.leaf = saltus_hubs_descend(h->p.n, &h->d, &next.spot, &next.near);
        saltus_hubs_choose(&h->p, &h->d, &next);
        assert_int_equal(next.reaction, near ? refined : r);
        assert_true(near || refined == r);
    }
    assert_true(n_near > N / 4 && n_near <= N * 3 / 4);
    put_down(h);
    saltus_model_destroy(m);
}

/* Reactions of one pair and one constant: a class of as many ways. */
static saltus_model *crowd(int n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "species: {A: 3, B: 4");
    for (int s = 0; s < 100; ++s) {
        fprintf(out, ", X%d: 0", s);
    }
    fprintf(out, "}\nreactions:\n");
    for (int r = 0; r < n; ++r) {
        fprintf(out, "  r%d: A + B -> A + B + X%d @ 1e-12\n", r, r % 100);
    }
    return bits_parse_stream(out, &text);
}

/* No weight leaves 64 bits, however many reactions have the same reactants and constant. */
static void weights_hold_the_largest_counts(void **state)
{
    enum { N = 40000 };
    (void)state;
    saltus_model *m = crowd(N);
    const saltus_tables *t = &m->network->tables;
    hand *h = pick_up(t);
    for (int s = 0; s < t->n_species; ++s) {
        set_count(h, s, SALTUS_HUB_LARGEST);
    }
    assert_int_equal(saltus_hubs_rebuild(&h->p, &h->d), SALTUS_FINE);
    const double sum = N * 1e-12 * 0x1p96;
    if (!(total_of(h) >= sum && total_of(h) < 1.001 * sum)) {
        fail_msg("the total is %g, and %g the propensities' sum", total_of(h), sum);
    }
    int64_t found[100] = {0};
    for (int i = 0; i < 10 * N; ++i) {
        const saltus_spot spot = {total_of(h) * (i + 0.5) / (10 * N), 0.0};
        int near = 0;
        const int r = saltus_hubs_find(&h->p, &h->d, spot, &near);
        found[r < 0 ? 0 : r % 100] += r >= 0;
    }
    for (int k = 0; k < 100; ++k) { /* 400 reactions have 10 spots each, and one at the ends */
        assert_in_range(found[k], 3600, 4400);
    }
    put_down(h);
    saltus_model_destroy(m);
}

/* A way is found as by passing one after the other, to the same bits. */
static void ways_are_as_if_passed_one_by_one(void **state)
{
    static const int sizes[] = {1, 2, 3, 7, 8, 9, 10, 100, 4000};
    static const double widths[] = {1.0, 3.0, 7.0, 1000003.0, 0x1p40};
    (void)state;
    uint64_t random = 3;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        for (size_t k = 0; k < sizeof widths / sizeof *widths; ++k) {
            const int n = sizes[i];
            const double each = widths[k];
            for (int trial = 0; trial < 2000; ++trial) {
                const double at = (double)(draw(&random) % (uint32_t)(n + 1)) * each;
                const double low = trial % 4 == 0   ? at
                                   : trial % 4 == 1 ? nextafter(at, 0.0)
                                   : trial % 4 == 2 ? nextafter(at, INFINITY)
                                                    : n * each * draw(&random) * 0x1p-31;
                saltus_spot spot = {low, low + 0.25 * each}, passed = spot;
                int way = 0;
                for (; way + 1 < n && !(passed.low < each); ++way) {
                    saltus_spot_leave(&passed, each);
                }
                assert_int_equal(saltus_hub_find_way(&spot, n, each), way);
                assert_memory_equal(&spot, &passed, sizeof spot);
            }
        }
    }
}

/* ---- moments ---- */

enum { PLACES = 17, MOLECULES = 1700, CATALYST = 60 };

/* Molecules that hop from any of 17 places to any other, each hop catalysed by E: 272 reactions of
 * order 2. With `turnover` E is born and dies. */
static saltus_model *hopping_with(bool turnover, const char *keywords, const char *reactions)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "%sspecies:\n  E: %d\n", keywords, CATALYST);
    for (int i = 0; i < PLACES; ++i) {
        fprintf(out, "  X%d: %d\n", i, i == 0 ? MOLECULES : 0);
    }
    fprintf(out, "reactions:\n");
    for (int i = 0; i < PLACES; ++i) {
        for (int k = 0; k < PLACES; ++k) {
            if (i != k) {
                fprintf(out, "  r%d_%d: E + X%d -> E + X%d @ 0.001\n", i, k, i, k);
            }
        }
    }
    if (turnover) {
        fprintf(out, "  birth: 0 -> E @ %d\n  death: E -> 0 @ 1\n", CATALYST);
    }
    fprintf(out, "%s", reactions);
    saltus_model *m = bits_parse_stream(out, &text);
    assert_true(m->network->tables.n_hubs > 0);
    return m;
}

static saltus_model *hopping(bool turnover)
{
    return hopping_with(turnover, "", "");
}

/* Mean and variance of a column at a point, about whose exact mean the sums are. The variance's own
 * error is that of a normal variate, to which these binomials are near. */
static void check_column(const moments *m, int64_t point, int column, double variance,
                         const char *what)
{
    const int64_t at = point * m->n_counts + column;
    check_mean(m->sum[at], (double)m->n, 0.0, variance, what);
    check_mean(m->squares[at], (double)m->n, variance, 2.1 * variance * variance, what);
}

/* Without turnover each molecule is where it was at first with probability 1/17 + 16/17 exp(-17 k E
 * t), so counts are binomial at every time. With turnover E is Poisson, and places are alike in the
 * end. */
static void hops_are_binomial(void **state)
{
    static const double times[] = {0.2, 1.0, 10.0};
    (void)state;
    for (int turnover = 0; turnover < 2; ++turnover) {
        saltus_error err = {0};
        saltus_model *model = hopping(turnover);
        saltus_plan_options plan = saltus_plan_options_default();
        saltus_run_options run = saltus_run_options_default();
        double center[3 * (PLACES + 1)], share[3][PLACES];
        for (int i = 0; i < 3; ++i) {
            const double stays = turnover ? 0.0 : exp(-PLACES * 0.001 * CATALYST * times[i]);
            center[i * (PLACES + 1)] = CATALYST;
            for (int k = 0; k < PLACES; ++k) {
                share[i][k] =
                    k == 0 ? 1.0 / PLACES + (1.0 - 1.0 / PLACES) * stays : (1.0 - stays) / PLACES;
                center[i * (PLACES + 1) + 1 + k] = MOLECULES * share[i][k];
            }
        }
        moments m = {.center = center};
        run.seed = 77;
        run.n_trajectories = scaled(2000);
        run.times = times;
        run.n_times = 3;
        OK(run_plan(model, "cpu", &plan, &run, &m, &err));
        assert_int_equal(m.n_counts, PLACES + 1);
        for (int i = turnover ? 2 : 0; i < 3; ++i) {
            for (int k = 0; k < PLACES; ++k) {
                const double p = share[i][k];
                check_column(&m, i, 1 + k, MOLECULES * p * (1.0 - p), "a place");
            }
        }
        if (turnover) { /* in the end it is Poisson, whatever it catalyses */
            check_column(&m, 2, 0, CATALYST, "the catalyst");
        }
        m.center = NULL;
        moments_free(&m);
        saltus_model_destroy(model);
    }
}

/* Molecules of a place that vanish three at a time, by a law that does not know: the last few stay.
 * A hop into that place brings more, so it is full, then waits, and so on. */
static void reactions_that_lack_reactants_idle(void **state)
{
    static const double times[] = {20.0};
    (void)state;
    saltus_error err = {0};
    saltus_model *model = hopping_with(false, "lacking reactants: idle\n",
                                       "  vanish: {equation: 3 X5 -> 0, law: 1000*X5}\n");
    saltus_plan_options plan = saltus_plan_options_default();
    saltus_run_options run = saltus_run_options_default();
    moments m = {.keep_last = true};
    run.n_trajectories = 40;
    run.times = times;
    run.n_times = 1;
    OK(run_plan(model, "cpu", &plan, &run, &m, &err));
    int found[3] = {0};
    for (int64_t i = 0; i < run.n_trajectories; ++i) {
        const int64_t *x = m.last + i * m.n_counts;
        int64_t sum = 0;
        for (int k = 1; k <= PLACES; ++k) {
            sum += x[k];
        }
        assert_in_range(x[1 + 5], 0, 2);
        assert_int_equal((MOLECULES - sum) % 3, 0);
        assert_true(sum < MOLECULES / 2);
        ++found[x[1 + 5]];
    }
    assert_true(found[0] > 0 && found[1] > 0 && found[2] > 0);
    moments_free(&m);
    saltus_model_destroy(model);
}

/* ---- bits ---- */

/* n species in a ring, each a hub: a tree of several levels. */
static saltus_model *ring(int n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "species:\n  E: 30\n");
    for (int i = 0; i < n; ++i) {
        fprintf(out, "  X%d: %d\n", i, i % 60);
    }
    fprintf(out, "reactions:\n");
    for (int i = 0; i < n; ++i) {
        fprintf(out, "  a%d: X%d -> X%d @ 0.001\n", i, i, (i + 1) % n);
        fprintf(out, "  b%d: E + X%d -> E + X%d @ 0.0001\n", i, i, (i + 2) % n);
    }
    saltus_model *m = bits_parse_stream(out, &text);
    assert_true(m->network->tables.n_hub_leaves >= n);
    return m;
}

static const double fine[] = {0.0, 0.01, 0.5, 0.77, 1.0};

static void devices_and_layouts_change_no_bit(void **state)
{
    static const char *const layouts[] = {"auto", "shared", "warp", "global"};
    (void)state;
    if (is_fake()) {
        need_gpu("cuda");
    }
    saltus_backend *gpu = NULL;
    saltus_error err = {0};
    const bool has_gpu = saltus_backend_open("cuda", &gpu, &err) == SALTUS_OK;
    saltus_backend_close(gpu);
    if (!has_gpu) {
        print_message("SKIP of layouts of a GPU: %s\n", err.message);
    }
    for (int i = 0; i < 8; ++i) {
        saltus_model *m = i == 0   ? bits_motifs(60, 6, 20, 2)
                          : i >= 6 ? binding(i == 6 ? 1 : RECEPTORS)
                          : i == 1 ? mixed_network(false)
                          : i == 2 ? hopping(true)
                          : i == 4 ? ring(700)
                          : i == 5 ? ring(5000)
                                   : hopping_with(true, "lacking reactants: idle\n",
                                                  "  r: {equation: 3 X5 -> X0, law: 100*X5}\n");
        const int64_t n = plays_warps() ? 2 : 20; /* so that a core has two in turn */
        const uint64_t hash = bits_hash(m, "cpu:generic", "scalar", 1, 3, n, fine, 5);
        for (int k = 0; k < N_BITS_DEVICES; ++k) {
            if (bits_has(bits_devices[k])) {
                assert_true(bits_hash(m, bits_devices[k], "auto", 2, 3, n, fine, 5) == hash);
            }
        }
        for (int k = 0; k < 4 && has_gpu; ++k) {
            const bool is_large = (i == 4 || i == 5) && k == 1;
            if ((!plays_warps() || k != 3) && !is_large) {
                assert_true(bits_hash(m, "cuda", layouts[k], 1, 3, n, fine, 5) == hash);
            }
        }
        for (int k = 1; k < N_BITS_GENERATORS && !plays_warps(); ++k) {
            const char *rng = bits_generators[k];
            const uint64_t other = bits_hash_rng(m, rng, "cpu", "auto", 1, 3, n, fine, 5);
            assert_true(other != hash);
            assert_true(!has_gpu ||
                        bits_hash_rng(m, rng, "cuda", "auto", 1, 3, n, fine, 5) == other);
        }
        saltus_model_destroy(m);
    }
}

/* A count leaves the bits that a thread has for it; the trajectory begins again on the CPU. */
static void counts_beyond_a_layout_change_no_bit(void **state)
{
    static const char *const layouts[] = {"shared", "warp", "global"};
    char *text = NULL;
    size_t size = 0;
    (void)state;
    need_gpu("cuda");
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "species:\n  A: %d\n", SALTUS_HUB_LARGEST_16 - 40);
    for (int i = 0; i < 20; ++i) {
        fprintf(out, "  S%d: 10\n", i);
    }
    fprintf(out, "reactions:\n  birth: 0 -> A @ 100\n");
    for (int i = 0; i < 20; ++i) {
        for (int k = 0; k < 20; ++k) {
            if (i != k) {
                fprintf(out, "  r%d_%d: A + S%d -> A + S%d @ 1e-9\n", i, k, i, k);
            }
        }
    }
    saltus_model *m = bits_parse_stream(out, &text);
    assert_true(m->network->tables.n_hubs > 0);
    const uint64_t hash = bits_hash(m, "cpu", "scalar", 1, 3, 20, fine, 5);
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; ++k) {
        assert_true(bits_hash(m, "cuda", layouts[k], 1, 3, 20, fine, 5) == hash);
    }
    saltus_model_destroy(m);
}

/* A count and what a reaction adds have 31 bits each, and their sum 32. */
static void amounts_beyond_a_layout_change_no_bit(void **state)
{
    static const char *const layouts[] = {"shared", "warp", "global"};
    (void)state;
    need_gpu("cuda");
    saltus_model *m = dormant(300, "1e-12", "  c: B -> B + 2147483647 A @ 0.05\n");
    assert_true(m->network->tables.n_hubs > 0);
    const uint64_t hash = bits_hash(m, "cpu", "scalar", 1, 3, 20, fine, 5);
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; ++k) {
        assert_true(bits_hash(m, "cuda", layouts[k], 1, 3, 20, fine, 5) == hash);
    }
    saltus_model_destroy(m);
}

/* Threads have the states of large networks in global memory alone, and none of their programs. */
static void other_layouts_are_refused(void **state)
{
    (void)state;
    need_gpu("cuda");
    saltus_model *m = bits_motifs(1200, 6, 20, 2), *other = mixed_network(true);
    const saltus_plan_options shared = bits_plan("direct", "philox", "shared", 1),
                              warp = bits_plan("direct", "philox", "warp", 1);
    bits_refused(m, "cuda", &shared);
    bits_refused(other, "cuda", &warp); /* it has a law that is no product */
    saltus_model_destroy(m);
    saltus_model_destroy(other);
}

/* Bounds do not hang on the times of samples. */
static void sample_times_change_no_bit(void **state)
{
    const double last[] = {1.0};
    (void)state;
    for (int i = 0; i < 2; ++i) {
        saltus_error err = {0};
        saltus_model *model = i == 0 ? mixed_network(true) : hopping(true);
        saltus_plan_options plan = saltus_plan_options_default();
        saltus_run_options run = saltus_run_options_default();
        moments a = {.keep_last = true}, b = {.keep_last = true};
        run.n_trajectories = 20;
        run.times = last;
        run.n_times = 1;
        OK(run_plan(model, "cpu", &plan, &run, &a, &err));
        run.times = fine;
        run.n_times = 5;
        OK(run_plan(model, "cpu", &plan, &run, &b, &err));
        assert_memory_equal(a.last, b.last, (size_t)(20 * a.n_counts) * sizeof *a.last);
        moments_free(&a);
        moments_free(&b);
        saltus_model_destroy(model);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reactions_have_their_shares),
        cmocka_unit_test(hubs_of_the_same_partners_share_a_weight),
        cmocka_unit_test(what_a_failed_trajectory_left_is_forgotten),
        cmocka_unit_test(networks_may_be_dormant),
        cmocka_unit_test(further_bits_are_drawn_where_needed),
        cmocka_unit_test(weights_hold_the_largest_counts),
        cmocka_unit_test(ways_are_as_if_passed_one_by_one),
        cmocka_unit_test(hops_are_binomial),
        cmocka_unit_test(reactions_that_lack_reactants_idle),
        cmocka_unit_test(devices_and_layouts_change_no_bit),
        cmocka_unit_test(counts_beyond_a_layout_change_no_bit),
        cmocka_unit_test(amounts_beyond_a_layout_change_no_bit),
        cmocka_unit_test(other_layouts_are_refused),
        cmocka_unit_test(sample_times_change_no_bit),
    };
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, set_up, NULL);
}
