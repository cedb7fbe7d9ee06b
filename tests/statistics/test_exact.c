/* Ensembles against exact answers: closed forms and the master equation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/master_equation.h"
#include "../support/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const layouts[] = {"lanes", "scalar"};
enum { N_LAYOUTS = 2 };
static const char *const generators[] = {"philox", "xorwow", "mrg32k3a", "mt19937"};
enum { N_GENERATORS = 4 };

/* The counts of n trajectories at time t, [trajectory][species]. */
static int64_t *final_counts_rng(saltus_model *model, const char *rng, const char *layout, double t,
                                 int64_t n)
{
    saltus_plan_options plan = saltus_plan_options_default();
    plan.rng = rng;
    plan.layout = layout;
    plan.n_threads = 2;
    saltus_error err = {0};
    moments m = {.keep_last = true};
    saltus_run_options run = saltus_run_options_default();
    run.seed = 20261120;
    run.n_trajectories = n;
    run.times = &t;
    run.n_times = 1;
    OK(run_plan(model, "auto", &plan, &run, &m, &err));
    assert_int_equal(m.n, n);
    int64_t *last = m.last;
    m.last = NULL;
    moments_free(&m);
    return last;
}

static int64_t *final_counts(saltus_model *model, const char *layout, double t, int64_t n)
{
    return final_counts_rng(model, "philox", layout, t, n);
}

static saltus_model *new_model(void)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    OK(saltus_model_create("test", &m, &err));
    return m;
}

static void add_species(saltus_model *m, const char *id, double amount)
{
    saltus_error err = {0};
    OK(saltus_model_add_species(m, id, amount, &err));
}

static void add_reaction(saltus_model *m, const char *id, const char *equation, const char *rate)
{
    saltus_error err = {0};
    OK(saltus_model_add_reaction(m, id, equation, rate, &err));
}

static void freeze(saltus_model *m)
{
    saltus_error err = {0};
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
}

/* 0 -> A at k per second, A -> 0 at g per second and molecule: from no molecules, the count at
 * time t is Poisson with mean (k/g)(1 - exp(-g t)). */
static saltus_model *birth_death(void)
{
    saltus_model *m = new_model();
    add_species(m, "A", 0);
    add_reaction(m, "birth", "0 -> A", "20");
    add_reaction(m, "death", "A -> 0", "0.5");
    freeze(m);
    return m;
}

static void birth_death_is_poisson(void **state)
{
    const double t = 4.0, mean = 20.0 / 0.5 * (1.0 - exp(-0.5 * t));
    enum { MOST = 200 };
    double p[MOST + 1];
    (void)state;
    for (int k = 0; k <= MOST; ++k) {
        p[k] = exp(k * log(mean) - mean - lgamma(k + 1.0));
    }
    for (int l = 0; l < N_LAYOUTS; ++l) {
        saltus_model *m = birth_death();
        const int64_t n = scaled(200000);
        int64_t *x = final_counts(m, layouts[l], t, n);
        assert_moments(x, n, 1, p, MOST);
        assert_distribution(x, n, 1, p, MOST);
        free(x);
        saltus_model_destroy(m);
    }
    for (int g = 1; g < N_GENERATORS; ++g) {
        saltus_model *m = birth_death();
        const int64_t n = scaled(50000);
        int64_t *x = final_counts_rng(m, generators[g], "scalar", t, n);
        assert_moments(x, n, 1, p, MOST);
        assert_distribution(x, n, 1, p, MOST);
        free(x);
        saltus_model_destroy(m);
    }
}

/* 2 A <-> B. */
static double dimerisation_rates(int r, const int *x)
{
    return r == 0 ? 0.01 * x[0] * (x[0] - 1) / 2.0 : 0.3 * x[1];
}

static void dimerisation_follows_its_master_equation(void **state)
{
    const master_network network = {.n_species = 2,
                                    .n_reactions = 2,
                                    .start = {60, 0},
                                    .most = {60, 30},
                                    .change = {{-2, 1}, {2, -1}},
                                    .propensity = dimerisation_rates};
    const double t = 1.5;
    (void)state;
    double *p = master_solve(&network, t);
    double *b = master_marginal(&network, p, 1);
    for (int l = 0; l < N_LAYOUTS; ++l) {
        saltus_model *m = new_model();
        add_species(m, "A", 60);
        add_species(m, "B", 0);
        add_reaction(m, "bind", "2 A -> B", "0.01");
        add_reaction(m, "part", "B -> 2 A", "0.3");
        freeze(m);
        const int64_t n = scaled(200000);
        int64_t *x = final_counts(m, layouts[l], t, n);
        assert_moments(x + 1, n, 2, b, network.most[1]);
        assert_distribution(x + 1, n, 2, b, network.most[1]);
        free(x);
        saltus_model_destroy(m);
    }
    free(p);
    free(b);
}

/* Schloegl's network, small enough to solve: 2 X -> 3 X, 3 X -> 2 X, 0 -> X, X -> 0. */
static double bistable_rates(int r, const int *x)
{
    const double n = x[0];
    switch (r) {
    case 0:
        return 0.18 * n * (n - 1.0) / 2.0;
    case 1:
        return 2.4e-3 * n * (n - 1.0) * (n - 2.0) / 6.0;
    case 2:
        return 22.0;
    default:
        return 3.8 * n;
    }
}

static const master_network bistable_network = {.n_species = 1,
                                                .n_reactions = 4,
                                                .start = {25},
                                                .most = {400},
                                                .change = {{1}, {-1}, {1}, {-1}},
                                                .propensity = bistable_rates};

static saltus_model *bistable_with_death(const char *rate)
{
    saltus_model *m = new_model();
    add_species(m, "X", 25);
    add_reaction(m, "r1", "2 X -> 3 X", "0.18");
    add_reaction(m, "r2", "3 X -> 2 X", "2.4e-3");
    add_reaction(m, "r3", "0 -> X", "22");
    add_reaction(m, "r4", "X -> 0", rate);
    freeze(m);
    return m;
}

static saltus_model *bistable(void)
{
    return bistable_with_death("3.8");
}

static void bistable_network_follows_its_master_equation(void **state)
{
    const double t = 3.0;
    (void)state;
    double *p = master_solve(&bistable_network, t);
    for (int l = 0; l < N_LAYOUTS; ++l) {
        saltus_model *m = bistable();
        const int64_t n = scaled(l == 0 ? 100000 : 30000);
        int64_t *x = final_counts(m, layouts[l], t, n);
        assert_moments(x, n, 1, p, bistable_network.most[0]);
        assert_distribution(x, n, 1, p, bistable_network.most[0]);
        free(x);
        saltus_model_destroy(m);
    }
    free(p);
}

/* The distribution function of counts at 0 … most. */
static void accumulate(const int64_t *x, int64_t n, int most, double *f)
{
    memset(f, 0, ((size_t)most + 1) * sizeof *f);
    for (int64_t i = 0; i < n; ++i) {
        assert_in_range(x[i], 0, most);
        f[x[i]] += 1.0 / (double)n;
    }
    for (int k = 1; k <= most; ++k) {
        f[k] += f[k - 1];
    }
}

static double greatest_distance(const double *f, const double *g, int most)
{
    double distance = 0.0;
    for (int k = 0; k <= most; ++k) {
        distance = fmax(distance, fabs(f[k] - g[k]));
    }
    return distance;
}

/* Kolmogorov and Smirnov on Schloegl's network (Nobile et al. 2014 compare generators so): each
 * generator with the exact distribution and with each other. 2.74 is exceeded as seldom as 5
 * standard deviations; a death rate that is 2 % larger does exceed it. */
static void generators_give_one_bistable_distribution(void **state)
{
    enum { MOST = 400 };
    static double f[N_GENERATORS][MOST + 1], exact[MOST + 1];
    const int64_t n = scaled(20000);
    const double t = 3.0, bound = 2.74 / sqrt((double)n);
    (void)state;
    double *p = master_solve(&bistable_network, t);
    for (int k = 0; k <= MOST; ++k) {
        exact[k] = p[k] + (k > 0 ? exact[k - 1] : 0.0);
    }
    free(p);
    saltus_model *m = bistable();
    for (int g = 0; g < N_GENERATORS; ++g) {
        int64_t *x = final_counts_rng(m, generators[g], "auto", t, n);
        accumulate(x, n, MOST, f[g]);
        free(x);
        assert_true(greatest_distance(f[g], exact, MOST) < bound);
        for (int other = 0; other < g; ++other) {
            assert_true(greatest_distance(f[g], f[other], MOST) < sqrt(2.0) * bound);
        }
    }
    saltus_model_destroy(m);
    m = bistable_with_death("4.18");
    int64_t *x = final_counts(m, "auto", t, n);
    accumulate(x, n, MOST, f[0]);
    free(x);
    assert_true(greatest_distance(f[0], exact, MOST) > bound);
    saltus_model_destroy(m);
}

/* A self-repressing gene's message and protein with a saturated decay: general laws. */
static double gene_rates(int r, const int *x)
{
    switch (r) {
    case 0:
        return 8.0 / (1.0 + pow(x[1] / 10.0, 2.0));
    case 1:
        return 1.0 * x[0];
    case 2:
        return 2.0 * x[0];
    default:
        return 6.0 * x[1] / (5.0 + x[1]);
    }
}

static void two_species_network_follows_its_master_equation(void **state)
{
    const master_network network = {.n_species = 2,
                                    .n_reactions = 4,
                                    .start = {0, 4},
                                    .most = {40, 90},
                                    .change = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}},
                                    .propensity = gene_rates};
    const double t = 4.0;
    (void)state;
    double *p = master_solve(&network, t);
    for (int l = 0; l < N_LAYOUTS; ++l) {
        saltus_model *m = new_model();
        add_species(m, "M", 0);
        add_species(m, "P", 4);
        add_reaction(m, "transcribe", "0 -> M", "8/(1 + (P/10)^2)");
        add_reaction(m, "forget", "M -> 0", "1");
        add_reaction(m, "translate", "M -> M + P", "2");
        add_reaction(m, "decay", "P -> 0", "6*P/(5 + P)");
        freeze(m);
        const int64_t n = scaled(100000);
        int64_t *x = final_counts(m, layouts[l], t, n);
        for (int s = 0; s < 2; ++s) {
            double *marginal = master_marginal(&network, p, s);
            assert_moments(x + s, n, 2, marginal, network.most[s]);
            assert_distribution(x + s, n, 2, marginal, network.most[s]);
            free(marginal);
        }
        free(x);
        saltus_model_destroy(m);
    }
    free(p);
}

/* A reaction a million times rarer than the rest: A <-> B make 2e7 events per second, C counts a
 * source of 20 per second. (Rarer ones are shown on the choice itself, in test_choice.c.) */
static void rare_reaction_fires_at_its_rate(void **state)
{
    const double t = 1e-3;
    (void)state;
    saltus_model *m = new_model();
    add_species(m, "A", 10);
    add_species(m, "B", 10);
    add_species(m, "C", 0);
    add_reaction(m, "there", "A -> B", "1e6");
    add_reaction(m, "back", "B -> A", "1e6");
    add_reaction(m, "rare", "0 -> C", "20");
    freeze(m);
    const int64_t n = scaled(10000);
    int64_t *x = final_counts(m, "lanes", t, n);
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        sum += x[3 * i + 2];
    }
    free(x);
    const double expected = 20.0 * t * (double)n;
    assert_true(fabs((double)sum - expected) <= 5.0 * sqrt(expected));
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(birth_death_is_poisson),
        cmocka_unit_test(dimerisation_follows_its_master_equation),
        cmocka_unit_test(bistable_network_follows_its_master_equation),
        cmocka_unit_test(generators_give_one_bistable_distribution),
        cmocka_unit_test(two_species_network_follows_its_master_equation),
        cmocka_unit_test(rare_reaction_fires_at_its_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
