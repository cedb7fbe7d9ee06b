/* Cells that grow and divide: sizes at birth and molecules by timer, sizer and adder, against exact
 * moments. Of a cell's 10th descendant, size at birth V, that of her mother and molecules at birth
 * are compared; descendants at one time would not do, as cells that live long are met more often.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/samples.h"

#include <math.h>
#include <stdlib.h>

enum { GENERATIONS = 10, N_CELLS = 20000, N_SHOWN = 5 };
/* Of each cell at the end: these, in the order in which they are recorded. */
enum { X_NOW, V_NOW, BIRTH, PARENT, PROTEIN };
static const double molecules = 40.0; /* per volume, in the mean */

static double of_cell(const samples *c, int64_t i, int k)
{
    return c->x[N_SHOWN * i + k];
}

/* Cells of a model, at a time at which all have a 10th descendant. */
static samples grown(const char *text, const char *columns, double until)
{
    const saltus_plan_options wanted = options(NULL, columns);
    const samples c = run(text, &wanted, &until, 1, scaled(N_CELLS));
    assert_int_equal(c.n_columns, N_SHOWN);
    for (int64_t i = 0; i < c.n; ++i) {
        assert_true(of_cell(&c, i, BIRTH) > 0.0); /* there is a 10th descendant */
    }
    return c;
}

static samples grown_example(const char *name)
{
    const char *source = getenv("SALTUS_SOURCE");
    char path[1000], text[4000];
    if (!source) {
        print_message("SKIP: SALTUS_SOURCE does not name the source folder\n");
        skip();
    }
    (void)snprintf(path, sizeof path, "%s/examples/%s.yaml", source, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    assert_int_equal(fclose(file), 0);
    text[size] = '\0';
    return grown(text, "X,V,birth,parent,protein", 370.0);
}

/* Powers of what is compared about its mean. */
typedef struct spread {
    double mean, variance, fourth;
} spread;

static spread spread_of(const double *x, int64_t n)
{
    spread s = {0};
    for (int64_t i = 0; i < n; ++i) {
        s.mean += x[i] / (double)n;
    }
    for (int64_t i = 0; i < n; ++i) {
        const double d = x[i] - s.mean;
        s.variance += d * d / (double)(n - 1);
        s.fourth += d * d * d * d / (double)n;
    }
    return s;
}

/* Mean and variance, within 5 standard errors by the sample's own moments. */
static void check_spread(const char *what, const double *x, int64_t n, double mean, double variance)
{
    const spread s = spread_of(x, n);
    const double of_mean = sqrt(s.variance / (double)n);
    const double of_variance = sqrt((s.fourth - s.variance * s.variance) / (double)n);
    if (!(fabs(s.mean - mean) <= 5.0 * of_mean)) {
        fail_msg("%s: mean %.6g, not %.6g +- %.2g", what, s.mean, mean, of_mean);
    }
    if (!(fabs(s.variance - variance) <= 5.0 * of_variance)) {
        fail_msg("%s: variance %.6g, not %.6g +- %.2g", what, s.variance, variance, of_variance);
    }
}

static void check_column(const char *what, const samples *c, int k, double mean, double variance)
{
    double *x = malloc((size_t)c->n * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < c->n; ++i) {
        x[i] = of_cell(c, i, k);
    }
    check_spread(what, x, c->n, mean, variance);
    free(x);
}

/* The correlation of sizes at birth of mother and daughter. Fisher's z has the standard deviation
 * 1/sqrt(n - 3) of normal sizes; these are near enough to normal for 6 of them. */
static void check_correlation(const samples *c, double expected)
{
    double xx = 0.0, xy = 0.0, yy = 0.0, x = 0.0, y = 0.0;
    const double n = (double)c->n;
    for (int64_t i = 0; i < c->n; ++i) {
        x += of_cell(c, i, PARENT) / n;
        y += of_cell(c, i, BIRTH) / n;
    }
    for (int64_t i = 0; i < c->n; ++i) {
        const double a = of_cell(c, i, PARENT) - x, b = of_cell(c, i, BIRTH) - y;
        xx += a * a;
        xy += a * b;
        yy += b * b;
    }
    const double r = xy / sqrt(xx * yy), off = atanh(r) - atanh(expected);
    if (!(fabs(off) * sqrt(n - 3.0) <= 6.0)) {
        fail_msg("correlation of mother and daughter %.5f, not %.5f", r, expected);
    }
}

/* Molecules at birth, of volumes with that mean and variance; and that given the volume they are
 * Poisson at any time: (X - 40 V)/sqrt(40 V) has the mean 0 and the variance 1. With m the mean of
 * X given all volumes, dm/dt = 40 V' between divisions and m is divided as V is, so m = 40 V. */
static void check_molecules(const samples *c, double mean, double variance)
{
    double *z = malloc((size_t)c->n * sizeof *z);
    assert_non_null(z);
    for (int64_t i = 0; i < c->n; ++i) {
        const double expected = molecules * of_cell(c, i, V_NOW);
        z[i] = (of_cell(c, i, X_NOW) - expected) / sqrt(expected);
    }
    check_spread("X given V", z, c->n, 0.0, 1.0);
    free(z);
    check_column("X at birth", c, PROTEIN, molecules * mean,
                 molecules * mean + molecules * molecules * variance);
}

/* ln V at birth is a sum of independent intervals, less ln 2 each (Amir, Phys. Rev. Lett. 112
 * (2014) 208102: without a control of size its variance grows without bound). By normal intervals V
 * is lognormal. */
static void a_timer_keeps_no_size(void **state)
{
    samples c = grown_example("timer");
    const double growth = log(2.0) / 20.0, of_log = GENERATIONS * growth * growth * 4.0;
    const double mean = exp(0.5 * of_log), square = exp(2.0 * of_log);
    double logs[N_CELLS] = {0};
    (void)state;
    for (int64_t i = 0; i < c.n; ++i) {
        logs[i] = log(of_cell(&c, i, BIRTH));
    }
    check_spread("ln V at birth", logs, c.n, 0.0, of_log);
    check_column("V at birth", &c, BIRTH, mean, square - mean * mean);
    check_molecules(&c, mean, square - mean * mean);
    free(c.x);
}

/* V at birth is a limit times a share, of this division alone. */
static void a_sizer_forgets_the_mother(void **state)
{
    samples c = grown_example("sizer");
    const double variance = (1.0 + 0.05 * 0.05) * (1.0 + 0.04 * 0.04) - 1.0;
    (void)state;
    check_column("V at birth", &c, BIRTH, 1.0, variance);
    check_column("V of the mother at birth", &c, PARENT, 1.0, variance);
    check_correlation(&c, 0.0);
    check_molecules(&c, 1.0, variance);
    free(c.x);
}

/* V' = (V + added)/2 with independent V and added: variance = (variance + that of added)/4, so it
 * is a third of that of what is added, and a mother's size counts half (Amir 2014; Taheri-Araghi et
 * al., Curr. Biol. 25 (2015) 385). What is added in 10 steps, at rates in proportion to V, is gamma
 * (Nieto et al., Phys. Rev. E 101 (2020) 022401). */
static void an_adder_halves_what_differs(void **state)
{
    samples c = grown_example("adder");
    const double variance = 0.1 / 3.0;
    (void)state;
    check_column("V at birth", &c, BIRTH, 1.0, variance);
    check_column("V of the mother at birth", &c, PARENT, 1.0, variance);
    check_correlation(&c, 0.5);
    check_molecules(&c, 1.0, variance);
    free(c.x);
}

/* Between the two: steps at rates in proportion to V^2 give V^2 a constant mean growth until
 * division, so W = V^2 at birth follows W' = (W + added)/4. Its mean is a third of that of what is
 * added, its variance a 15th, and mother and daughter have the correlation 1/4 (Nieto et al. 2020,
 * with exponent 2). `birth` and `parent` hold W. */
static void steps_may_follow_a_power_of_size(void **state)
{
    static const char text[] =
        "species: {X: 40, S: 0}\n"
        "parameters: {g: 0.0346573590279973, V: 1, born: 1, mother: 1, n: 0, birth: 0, parent: 0,\n"
        "             protein: 0}\n"
        "rate rules: {V: g*V}\n"
        "reactions:\n"
        "  make: {equation: 0 -> X, law: 40*g*V}\n"
        "  step: {equation: 0 -> S, law: 2*4/3*g*V^2}\n" /* 4 steps; what is added has mean 3 */
        "events:\n"
        "  divide:\n"
        "    when: S >= 4\n"
        "    set: {S: 0, mother: born, born: V*V/4, V: V/2, X: \"binomial(X, 0.5)\", n: n + 1}\n"
        "  tenth: {when: n >= 10, set: {birth: born, parent: mother, protein: X}}\n";
    (void)state;
    samples c = grown(text, "X,V,birth,parent,protein", 500.0);
    const double of_added = 3.0 * 3.0 / 4.0;
    check_column("V^2 at birth", &c, BIRTH, 1.0, of_added / 15.0);
    check_column("V^2 of the mother at birth", &c, PARENT, 1.0, of_added / 15.0);
    check_correlation(&c, 0.25);
    free(c.x);
}

/* With linear growth a timer adds what does not depend on the size, as an adder does. */
static void a_timer_with_linear_growth_is_an_adder(void **state)
{
    static const char text[] =
        "species: {X: 40}\n"
        "parameters: {next: \"normal(20, 4, 0, 40)\", V: 1, born: 1, mother: 1, n: 0, birth: 0,\n"
        "             parent: 0}\n"
        "rate rules: {V: 0.05}\n"
        "events:\n"
        "  divide:\n"
        "    at: next\n"
        "    set: {mother: born, born: V/2, V: V/2, n: n + 1, next: \"next + normal(20, 4, 0, "
        "40)\"}\n"
        "  tenth: {when: n >= 10, set: {birth: born, parent: mother}}\n";
    (void)state;
    samples c = grown(text, "X,V,birth,parent,n", 400.0);
    check_column("V at birth", &c, BIRTH, 1.0, 0.2 * 0.2 / 3.0);
    check_correlation(&c, 0.5);
    free(c.x);
}

/* Made at a constant rate k, whatever the size, between divisions by a timer. The mean L of X given
 * the intervals T follows L' = (L + k T)/2 at birth: mean k E(T), variance k^2 Var(T)/3, to which
 * Poisson's adds (Antunes and Singh, J. Math. Biol. 71 (2015) 437). Before a division there are
 * twice as many of what comes from the mean; with a clock that does not err X is Poisson at birth.
 */
static void a_timers_noise_is_in_molecules(void **state)
{
    for (int k = 0; k < 2; ++k) {
        const double sd = k == 0 ? 0.0 : 4.0, rate = 3.0;
        char text[600], next[40];
        (void)state;
        (void)snprintf(next, sizeof next, k == 0 ? "20" : "normal(20, %g, 0, 40)", sd);
        (void)snprintf(text, sizeof text,
                       "species: {X: 0}\n"
                       "parameters: {n: 0, next: \"%s\", V: 1, birth: 0, parent: 0, before: 0}\n"
                       "reactions: {make: 0 -> X @ %g}\n"
                       "events:\n"
                       "  divide: {at: next, set: {before: X, X: \"binomial(X, 0.5)\", n: n + 1,\n"
                       "           next: \"next + %s\"}}\n"
                       "  tenth: {when: n >= 10, set: {birth: X, parent: before}}\n",
                       next, rate, next);
        samples c = grown(text, "X,V,birth,parent,before", 400.0);
        const double rest = exp2(-GENERATIONS), mean = rate * 20.0 * (1.0 - rest);
        const double variance = rate * rate * sd * sd / 3.0 * (1.0 - rest * rest);
        check_column("X at birth", &c, BIRTH, mean, mean + variance);
        check_column("X before division", &c, PARENT, 2.0 * mean, 2.0 * mean + 4.0 * variance);
        free(c.x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_keeps_no_size),
        cmocka_unit_test(a_sizer_forgets_the_mother),
        cmocka_unit_test(an_adder_halves_what_differs),
        cmocka_unit_test(steps_may_follow_a_power_of_size),
        cmocka_unit_test(a_timer_with_linear_growth_is_an_adder),
        cmocka_unit_test(a_timers_noise_is_in_molecules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
