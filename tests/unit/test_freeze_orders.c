/* How laws follow species, for tau-leaping: orders of products, bounds of the elasticity of other
 * laws, and the function g and the step of Cao, Gillespie and Petzold 2006 that come of them. */
#include "../support/random.h"
#include "frozen.h"

#include "kernel/tau/tau.h"

#include <math.h>
#include <stdio.h>

/* Order of X in a model of species X, Y, Z with these reactions, and how many X are of it. */
static void find_order(const char *reactions, double *order, int *own)
{
    char text[1000];
    (void)snprintf(text, sizeof text,
                   "species: {X: 50, Y: 60, Z: 70}\nparameters: {n: 3, w: 2}\n"
                   "rules: {half: X/2, mixed: half*Y, flat: 2 + Y}\n"
                   "reactions:\n  in: 0 -> X + Y + Z @ 1\n%s"
                   "events: {e: {at: 1, set: {w: 3}}}\n",
                   reactions);
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    *order = m->network->tables.order[m->network->bindings[saltus_model_find(m, "X")].row];
    *own = m->network->tables.order_own[m->network->bindings[saltus_model_find(m, "X")].row];
    saltus_model_destroy(m);
}

static void check(const char *reactions, double order, int own)
{
    double found;
    int found_own;
    find_order(reactions, &found, &found_own);
    if (found != order || found_own != own) {
        fail_msg("order %g with %d of its own, not %g with %d:\n%s", found, found_own, order, own,
                 reactions);
    }
}

static void products_have_their_order(void **state)
{
    (void)state;
    check("  r: Y -> Z @ 1\n", 0, 0); /* nobody reads it */
    check("  r: Y -> X @ 1\n", 0, 0);
    check("  r: 0 -> X @ 1\n", 0, 0);
    check("  r: {equation: X -> Y, law: w}\n", 0, 0);
    check("  r: X -> Y @ 1\n", 1, 1);
    check("  r: X + Y -> Z @ 1\n", 2, 1);
    check("  r: X + Y -> X + Z @ 1\n", 2, 1); /* a catalyst */
    check("  r: 2 X -> Y @ 1\n", 2, 2);
    check("  r: X + Y + Z -> 0 @ 1\n", 3, 1);
    check("  r: X + 2 Y -> 0 @ 1\n", 3, 1);
    check("  r: 2 X + Y -> 0 @ 1\n", 3, 2);
    check("  r: 3 X -> 0 @ 1\n", 3, 3);
    check("  r: X -> 0 @ w\n", 1, 1);
}

/* The highest order counts; of equal orders that with most of its own. */
static void highest_order_counts(void **state)
{
    (void)state;
    check("  a: X -> 0 @ 1\n  b: X + Y -> 0 @ 1\n", 2, 1);
    check("  a: 2 X -> 0 @ 1\n  b: X + Y -> 0 @ 1\n", 2, 2);
    check("  a: X + Y -> 0 @ 1\n  b: 2 X -> 0 @ 1\n", 2, 2);
    check("  a: 2 X -> 0 @ 1\n  b: X + Y + Z -> 0 @ 1\n", 3, 1);
    check("  a: 3 X -> 0 @ 1\n  b: X + Y + Z -> 0 @ 1\n  c: 2 X + Y -> 0 @ 1\n", 3, 3);
}

/* As written: powers are factors. Through rules a product is a program, of the same order. */
static void laws_that_are_products_have_their_order(void **state)
{
    (void)state;
    check("  r: 2 X -> Y @ 0.1*X^2\n", 2, 2);
    check("  r: 2 X -> Y @ 0.1*X*(X - 1)/2\n", 2, 2);
    check("  r: X -> Y @ 0.1*X*Y\n", 2, 1);
    check("  r: X -> Y @ half*Y*Z\n", 3, 1);
    check("  r: Y -> Z @ half*Y\n", 2, 1);
}

/* When X, Y and Z change alike; Y alone counts 1. */
static void other_laws_have_a_bound(void **state)
{
    (void)state;
    check("  r: X -> Y @ 5*X/(10 + X)\n", 2, 1);       /* Michaelis and Menten */
    check("  r: X -> Y @ 5*X*Y/(10 + X)\n", 3, 1);     /* factors add theirs */
    check("  r: Y -> Z @ 5*Y/(1 + (X/10)^2)\n", 3, 1); /* Hill, repressing */
    check("  r: Y -> Z @ Y*X^3/(10^3 + X^3)\n", 7, 1); /* Hill, activating */
    check("  r: Y -> Z @ Y*X^n/(10^n + X^n)\n", 7, 1); /* by a parameter */
    check("  r: Y -> Z @ Y/(1 + X^w)\n", 5, 1);        /* that changes */
    check("  r: Y -> Z @ Y*sqrt(1 + X)\n", 1.5, 1);
    check("  r: Y -> Z @ Y*(1 + X^0.5)\n", 1.5, 1);
    check("  r: Y -> Z @ 2 + X^0.5\n", 1, 1);                /* not below 1 */
    check("  r: Y -> Z @ Y*exp(-X/40)\n", 5, 1);             /* of which nothing is known */
    check("  r: Y -> Z @ Y*piecewise(1, X > 3, 2)\n", 1, 1); /* steps */
    check("  r: Y -> Z @ Y*piecewise(X, Y > 3, X*X)\n", 3, 1);
    check("  r: Y -> Z @ Y*max(X, 3)\n", 2, 1);
    check("  r: Y -> Z @ Y/(3 + mixed)\n", 3, 1); /* through two rules */
    check("  r: Y -> Z @ Y/(3 + mixed*X)\n", 4, 1);
    check("  r: Y -> Z @ Y/(3 + flat)\n", 0, 0); /* does not read X */
    check("  r: Y -> Z @ X/(2 + X)\n  s: 2 X -> 0 @ 1\n", 2, 2);
    check("  r: Y -> Z @ X*Y/(2 + X)\n  s: 2 X -> 0 @ 1\n", 3, 1);
}

/* A bound is a bound: how fast these laws follow X, at many counts. */
static double hill(double x)
{
    return pow(x, 3) / (1000.0 + pow(x, 3));
}
static double saturated(double x)
{
    return x / (10.0 + x);
}
static double repressed(double x)
{
    return 1.0 / (1.0 + x * x / 100.0);
}

static void check_bound(const char *reactions, double (*law)(double))
{
    double order;
    int own;
    find_order(reactions, &order, &own);
    for (double x = 1.0; x < 1e6; x *= 1.5) {
        const double h = 1e-4;
        const double slope = (log(law(x * (1.0 + h))) - log(law(x * (1.0 - h)))) / (2.0 * h);
        assert_true(fabs(slope) < order + 1e-6);
    }
}

static void elasticities_stay_below_their_bounds(void **state)
{
    (void)state;
    check_bound("  r: Y -> Z @ Y*X^3/(10^3 + X^3)\n", hill);
    check_bound("  r: X -> Y @ 5*X/(10 + X)\n", saturated);
    check_bound("  r: Y -> Z @ 5*Y/(1 + (X/10)^2)\n", repressed);
}

/* g of equation 27 and the text below it. */
static void g_is_that_of_the_paper(void **state)
{
    static const struct {
        double order;
        int own;
    } cases[] = {{1, 1}, {2, 1}, {2, 2}, {3, 1}, {3, 2}, {3, 3}};
    (void)state;
    for (double x = 4.0; x < 1e5; x *= 3.0) {
        const double expected[] = {1.0,
                                   2.0,
                                   2.0 + 1.0 / (x - 1.0),
                                   3.0,
                                   1.5 * (2.0 + 1.0 / (x - 1.0)),
                                   3.0 + 1.0 / (x - 1.0) + 2.0 / (x - 2.0)};
        for (int i = 0; i < 6; ++i) {
            const int32_t own = cases[i].own;
            const saltus_tables t = {.order = &cases[i].order, .order_own = &own};
            assert_true(fabs(saltus_tau_order(t.order[0], t.order_own[0], x) - expected[i]) <
                        1e-12 * expected[i]);
        }
    }
    for (int i = 0; i < 6; ++i) { /* few molecules: finite, and not less */
        const int32_t own = cases[i].own;
        const saltus_tables t = {.order = &cases[i].order, .order_own = &own};
        for (double x = 0.0; x < 4.0; x += 1.0) {
            const double g = saltus_tau_order(t.order[0], t.order_own[0], x);
            assert_true(g >= saltus_tau_order(t.order[0], t.order_own[0], 100.0) && g < 7.0);
        }
    }
}

/* ---- the step ---- */

enum { MOST = 8 };

/* Firings of reaction r that exhaust a species, or double one that a law reads. */
static double firings_that_matter(const saltus_tables *t, int r, const double *x)
{
    double left = INFINITY;
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        const double v = (double)t->change_amount[c];
        const int s = t->change_species[c];
        left = v < 0.0 || t->order[s] > 0.0 ? fmin(left, floor(x[s] / fabs(v))) : left;
    }
    return left;
}

/* Whether reaction r changes species s. */
static bool changes(const saltus_tables *t, int r, int s)
{
    bool found = false;
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        found |= t->change_species[c] == s;
    }
    return found;
}

/* Equations 32 and 33, over a dense matrix of changes, and the bound by relaxation. */
static double expected_step(const saltus_tables *t, const double *x, const double *a,
                            const saltus_tau *tau, double *critical_total)
{
    double step = INFINITY, relaxation[MOST] = {0};
    *critical_total = 0.0;
    for (int r = 0; r < t->n_reactions; ++r) {
        *critical_total += firings_that_matter(t, r, x) < tau->n_critical ? a[r] : 0.0;
    }
    for (int s = 0; s < t->n_species; ++s) {
        double mean = 0.0, variance = 0.0;
        for (int r = 0; r < t->n_reactions; ++r) {
            for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
                if (t->change_species[c] == s && firings_that_matter(t, r, x) >= tau->n_critical) {
                    const double v = (double)t->change_amount[c];
                    mean += v * a[r];
                    variance += v * v * a[r];
                }
            }
        }
        if (t->order[s] > 0.0 && variance > 0.0) {
            const double most = fmax(
                tau->epsilon * x[s] / saltus_tau_order(t->order[s], t->order_own[s], x[s]), 1.0);
            step = fmin(step, fmin(most / fabs(mean), most * most / variance));
            const double loss = (variance - mean) / 2.0;
            for (int r = 0; r < t->n_reactions; ++r) {
                const bool leaps = a[r] > 0.0 && firings_that_matter(t, r, x) >= tau->n_critical;
                relaxation[r] += leaps && changes(t, r, s) ? fmax(loss, 0.0) / most : 0.0;
            }
        }
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        step = fmin(step, SALTUS_RELAXED / relaxation[r]);
    }
    return step;
}

static void steps_are_those_of_the_paper(void **state)
{
    uint64_t random = 5;
    (void)state;
    saltus_model *m = freeze_text("species: {A: 1, B: 1, C: 1, D: 1, E: 1}\nreactions:\n"
                                  "  a: A -> B @ 1\n  b: 2 B -> A + C @ 1\n  c: 3 C -> D @ 1\n"
                                  "  d: A + C -> 2 D @ 1\n  e: D -> E @ 1\n"
                                  "  f: 0 -> A @ 1\n  g: B + 2 C -> B + 5 A @ 1\n"
                                  "  h: D -> A @ D/(3 + A)\n",
                                  SALTUS_LAW_LITERAL);
    const saltus_tables *t = &m->network->tables;
    int n_bounded = 0, n_critical = 0;
    assert_true(t->n_reactions == MOST && t->n_species == 5);
    for (int i = 0; i < 20000; ++i) {
        double x[MOST], a[MOST], drift[MOST], spread[MOST], total, expected_total;
        int64_t change[MOST];
        uint8_t critical[MOST] = {0};
        saltus_trajectory p = {.n = t, .v = x};
        saltus_direct d = {.values = a};
        saltus_leap l = {.tau = {0.01 * (1 + below(&random, 90)), below(&random, 20), 1},
                         .drift = drift,
                         .spread = spread,
                         .change = change,
                         .critical = critical};
        for (int s = 0; s < t->n_species; ++s) {
            x[s] = below(&random, below(&random, 2) ? 40 : 4000);
        }
        for (int r = 0; r < t->n_reactions; ++r) {
            a[r] = below(&random, 3) * exp(0.1 * below(&random, 100));
        }
        const double step = saltus_leap_bound(&p, &d, &l, &total);
        const double expected = expected_step(t, x, a, &l.tau, &expected_total);
        assert_true(step == expected || fabs(step - expected) < 1e-9 * expected);
        assert_true(fabs(total - expected_total) <= 1e-12 * expected_total);
        for (int r = 0; r < t->n_reactions; ++r) {
            assert_true(a[r] == 0.0 ||
                        critical[r] == (firings_that_matter(t, r, x) < l.tau.n_critical));
        }
        n_bounded += step < INFINITY;
        n_critical += total > 0.0;
    }
    assert_true(n_bounded > 1000 && n_critical > 1000);
    saltus_model_destroy(m);
}

/* Whether the law of X -> 0 may bend, and the ways in which X and Y raise it. */
static void check_bend(const char *law, bool bends, double x, double y)
{
    char text[400];
    (void)snprintf(text, sizeof text,
                   "species: {X: 50, Y: 60}\nparameters: {n: 3, w: 2}\n"
                   "rules: {rest: 100 - X, share: X/(X + Y)}\nreactions:\n"
                   "  in: 0 -> X + Y @ 1\n  r: {equation: X -> 0, law: \"%s\"}\n",
                   law);
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    const saltus_tables *t = &m->network->tables;
    if (t->n_bending != bends) {
        fail_msg("%s: %d laws may bend", law, (int)t->n_bending);
    }
    if (bends) {
        assert_true(t->bending[0] == 1 && t->bending_of[0] == -1 && t->bending_of[1] == 0);
        assert_true(t->bend[m->network->bindings[saltus_model_find(m, "X")].row] == x);
        assert_true(t->bend[m->network->bindings[saltus_model_find(m, "Y")].row] == y);
    }
    saltus_model_destroy(m);
}

static void laws_that_may_bend_are_found(void **state)
{
    static const char *const steady[] = {"X",
                                         "0.1*X*Y",
                                         "n*X/(w + X)",
                                         "X^3/(w^3 + X^3)",
                                         "sqrt(X)*Y",
                                         "X*min(Y, 7)",
                                         "share*Y",
                                         "X*(n - w)",
                                         "X*exp(-n)",
                                         "X*(1 + sin(time))",
                                         "X*piecewise(2, time > 1, 1)"};
    (void)state;
    for (size_t i = 0; i < sizeof steady / sizeof *steady; ++i) {
        check_bend(steady[i], false, 0, 0);
    }
    check_bend("max(0, X - 30)", true, 1, 0);
    check_bend("max(0, X - Y)", true, 1, -1);
    check_bend("X + max(0, 5 - (X - Y))", true, 1, 1);
    check_bend("X*max(0, rest)", true, 1, 0);
    check_bend("Y*max(0, rest)", true, -1, 1);
    check_bend("X*piecewise(2, Y < 40, 1)", true, 1, -1);
    check_bend("piecewise(2, Y >= X, 1)", true, -1, 1);
    check_bend("piecewise(2, X, 1)", true, 1, 0);
    check_bend("Y*!X", true, -1, 1);
    check_bend("piecewise(2, Y && X > 3, 1)", true, 1, 1);
    check_bend("exp(-X/Y)", true, -1, -1);
    check_bend("exp(-(X/Y))", true, -1, 1);
    check_bend("floor(X/10)", true, 1, 0);
    check_bend("Y/(1 + exp(X))", true, -1, 1);
    check_bend("abs(Y + -1*X)", true, -1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_that_may_bend_are_found),
        cmocka_unit_test(products_have_their_order),
        cmocka_unit_test(highest_order_counts),
        cmocka_unit_test(laws_that_are_products_have_their_order),
        cmocka_unit_test(other_laws_have_a_bound),
        cmocka_unit_test(elasticities_stay_below_their_bounds),
        cmocka_unit_test(g_is_that_of_the_paper),
        cmocka_unit_test(steps_are_those_of_the_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
