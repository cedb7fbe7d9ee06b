#include "ensemble/derive.h"
#include "model/freeze/point.h"
#include "model/network/network.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* ---- points ---- */

static saltus_sweep *make(const char *const *axes, const char *design, uint64_t seed)
{
    saltus_sweep *sweep;
    saltus_error err = {0};
    assert_int_equal(saltus_sweep_create(&sweep, &err), SALTUS_OK);
    for (; *axes; ++axes) {
        assert_int_equal(saltus_sweep_vary(sweep, *axes, &err), SALTUS_OK);
    }
    if (saltus_sweep_finish(sweep, design, seed, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    return sweep;
}

static void assert_values(const char *axis, int n, const double *expected, double tolerance)
{
    saltus_sweep *sweep = make((const char *const[]){axis, NULL}, NULL, 0);
    assert_int_equal(saltus_sweep_n_points(sweep), n);
    assert_int_equal(saltus_sweep_axis_length(sweep, 0), n);
    for (int i = 0; i < n; ++i) {
        const double x = saltus_sweep_value(sweep, 0, i);
        if (!(fabs(x - expected[i]) <= tolerance * fabs(expected[i]))) {
            fail_msg("%s: value %d is %.17g, not %.17g", axis, i, x, expected[i]);
        }
    }
    assert_true(saltus_sweep_value(sweep, 0, 0) == expected[0]); /* bounds exactly */
    assert_true(saltus_sweep_value(sweep, 0, n - 1) == expected[n - 1]);
    saltus_sweep_destroy(sweep);
}

static void axes_have_their_values(void **state)
{
    double whole[1001];
    (void)state;
    assert_values("k=lin:0:1:5", 5, (const double[]){0, 0.25, 0.5, 0.75, 1}, 0);
    assert_values("k=lin:-3:3:3", 3, (const double[]){-3, 0, 3}, 0);
    assert_values("k=lin:0.1:0.7:4", 4, (const double[]){0.1, 0.3, 0.5, 0.7}, 1e-15);
    assert_values("k=log:0.01:1000:6", 6, (const double[]){0.01, 0.1, 1, 10, 100, 1000}, 1e-14);
    assert_values("k=log:1e-200:1e200:3", 3, (const double[]){1e-200, 1, 1e200}, 1e-12);
    assert_values("k=list:3,1,1,-2.5e3", 4, (const double[]){3, 1, 1, -2500}, 0);
    for (int i = 0; i <= 1000; ++i) { /* numbers of molecules stay whole */
        whole[i] = i + 5;
    }
    assert_values("A=lin:5:105:101", 101, whole, 0);
    assert_values("A=lin:5:1005:1001", 1001, whole, 0);
    assert_values("k=list:7", 1, (const double[]){7}, 0);
    assert_values("k=lin:2:5:1", 1, (const double[]){2}, 0);
    assert_values("k=log:2:2:1", 1, (const double[]){2}, 0);
}

static void the_last_name_runs_fastest(void **state)
{
    (void)state;
    saltus_sweep *sweep =
        make((const char *const[]){"a=list:1,2", "x=y=lin:0:1:1", "b=list:5,6,7", NULL}, NULL, 0);
    assert_int_equal(saltus_sweep_n_axes(sweep), 3);
    assert_string_equal(saltus_sweep_name(sweep, 1), "x=y");
    assert_int_equal(saltus_sweep_n_points(sweep), 6);
    for (int g = 0; g < 6; ++g) {
        assert_true(saltus_sweep_value(sweep, 0, g) == 1 + g / 3);
        assert_true(saltus_sweep_value(sweep, 1, g) == 0);
        assert_true(saltus_sweep_value(sweep, 2, g) == 5 + g % 3);
    }
    saltus_sweep_destroy(sweep);
}

static void what_is_no_axis_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "k",
        "k=",
        "=lin:0:1:3",
        "k=lin",
        "k=3",
        "k=lin:",
        "k=lin:1",
        "k=lin:2:1:3",
        "k=lin:1:1:3",
        "k=lin:1:1",
        "k=lin:0:1:0",
        "k=lin:::",
        "k=log:1:2:",
        "k=lin:0:1:-3",
        "k=lin:0:1:2.5",
        "k=lin:0:1:1e12",
        "k=lin:0:1:x",
        "k=lin:0:1:nan",
        "k=lin:nan:1:3",
        "k=lin:0:inf:3",
        "k=lin:0:1:3:4",
        "k=log:0:1:3",
        "k=log:-1:1:3",
        "k=log:2:1:3",
        "k=log:0:1",
        "k=list:",
        "k=list:1,",
        "k=list:,1",
        "k=list:1,,2",
        "k=list:1,x",
        "k=list:nan",
        "k=cubic:0:1:3",
        "k=LIN:0:1:3",
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        saltus_sweep *sweep;
        saltus_error err = {0};
        assert_int_equal(saltus_sweep_create(&sweep, &err), SALTUS_OK);
        if (saltus_sweep_vary(sweep, wrong[i], &err) != SALTUS_E_INVALID) {
            fail_msg("'%s' is taken", wrong[i]);
        }
        assert_int_equal(strncmp(err.message, "`vary`", 6), 0);
        /* it is left out: others are varied as if it had not been named */
        assert_int_equal(saltus_sweep_n_axes(sweep), 0);
        assert_int_equal(saltus_sweep_vary(sweep, "k=list:1,2", NULL), SALTUS_OK);
        assert_int_equal(saltus_sweep_vary(sweep, "k=list:3", NULL), SALTUS_E_INVALID);
        assert_int_equal(saltus_sweep_vary(sweep, "l=list:3,4,5", NULL), SALTUS_OK);
        assert_int_equal(saltus_sweep_finish(sweep, NULL, 1, NULL), SALTUS_OK);
        assert_int_equal(saltus_sweep_n_points(sweep), 6);
        saltus_sweep_destroy(sweep);
    }
}

static void assert_no_points(const char *const *axes, const char *design, const char *part)
{
    saltus_sweep *sweep;
    saltus_error err = {0};
    saltus_status status;
    assert_int_equal(saltus_sweep_create(&sweep, &err), SALTUS_OK);
    status = SALTUS_OK;
    for (; *axes && status == SALTUS_OK; ++axes) {
        status = saltus_sweep_vary(sweep, *axes, &err);
    }
    status = status == SALTUS_OK ? saltus_sweep_finish(sweep, design, 0, &err) : status;
    assert_int_equal(status, SALTUS_E_INVALID);
    if (!strstr(err.message, part)) {
        fail_msg("'%s' lacks '%s'", err.message, part);
    }
    saltus_sweep_destroy(sweep);
}

static void what_makes_no_points_is_refused(void **state)
{
    static const char *const designs[] = {"lhs",   "lhs:",    "lhs:0",  "lhs:-1", "lhs:1.5",
                                          "lhs:x", "sobol:0", "sobol",  "grid:9", "sobol:1e12",
                                          "",      ":9",      "lhs:nan"};
    const char *many[SALTUS_SOBOL_AXES + 2] = {NULL};
    char names[SALTUS_SOBOL_AXES + 1][20];
    (void)state;
#define AXES(...) ((const char *const[]){__VA_ARGS__, NULL})
    assert_no_points((const char *const[]){NULL}, NULL, "`vary` is needed");
    assert_no_points(AXES("k=list:1", "m=list:1", "k=list:2"), NULL, "'k' is named twice");
    assert_no_points(AXES("k=lin:0:1"), NULL, "how many values");
    assert_no_points(AXES("k=lin:0:1:1e5", "m=lin:0:1:1e5"), NULL, "a sweep has at most");
    assert_no_points(AXES("k=lin:0:1:4"), "lhs:9", "with `design`");
    assert_no_points(AXES("k=list:1,2"), "sobol:9", "with `design`");
    for (size_t i = 0; i < sizeof designs / sizeof *designs; ++i) {
        assert_no_points(AXES("k=lin:0:1"), designs[i], "is needed");
    }
    for (int a = 0; a <= SALTUS_SOBOL_AXES; ++a) {
        (void)snprintf(names[a], sizeof names[a], "k%d=lin:0:1", a);
        many[a] = names[a];
    }
    assert_no_points(many, "sobol:9", "at most 21 names");
#undef AXES
}

/* ---- designs ---- */

static void designs_lie_between_their_bounds(void **state)
{
    static const char *const axes[] = {"k=lin:-1:3", "m=log:0.01:100", NULL};
    (void)state;
    for (int is_lhs = 0; is_lhs < 2; ++is_lhs) {
        saltus_sweep *sweep = make(axes, is_lhs ? "lhs:50" : "sobol:64", 3);
        const int64_t n = saltus_sweep_n_points(sweep);
        double share;
        assert_int_equal(n, is_lhs ? 50 : 64);
        assert_int_equal(saltus_sweep_axis_length(sweep, 0), 0);
        double *u = malloc((size_t)n * sizeof *u);
        for (int a = 0; a < 2; ++a) {
            if (is_lhs) {
                assert_int_equal(saltus_design_lhs(n, 3, a, u, NULL), SALTUS_OK);
            } else {
                saltus_design_sobol(n, a, u);
            }
            for (int64_t i = 0; i < n; ++i) {
                const double x = saltus_sweep_value(sweep, a, i);
                share = a == 0 ? (x + 1) / 4 : log(x / 0.01) / log(1e4);
                assert_true(fabs(share - u[i]) < 1e-14);
            }
        }
        free(u);
        saltus_sweep_destroy(sweep);
    }
}

static void every_stratum_of_a_latin_hypercube_holds_one(void **state)
{
    static const int64_t sizes[] = {1, 2, 7, 64, 1000};
    static double x[1000], other[1000];
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        const int64_t n = sizes[s];
        for (int axis = 0; axis < 5; ++axis) {
            bool taken[1000] = {false};
            assert_int_equal(saltus_design_lhs(n, 42, axis, x, NULL), SALTUS_OK);
            for (int64_t i = 0; i < n; ++i) {
                const int64_t stratum = (int64_t)floor(x[i] * (double)n);
                assert_true(x[i] >= 0.0 && x[i] < 1.0);
                assert_false(taken[stratum]);
                taken[stratum] = true;
            }
        }
    }
    /* the last is axis 4 of 1000 points */
    assert_int_equal(saltus_design_lhs(1000, 42, 4, other, NULL), SALTUS_OK);
    assert_memory_equal(x, other, sizeof x);
    assert_int_equal(saltus_design_lhs(1000, 43, 4, other, NULL), SALTUS_OK);
    assert_memory_not_equal(x, other, sizeof x);
}

/* Correlations of n points with independent orders have variance 1 / (n - 1). */
static void axes_of_a_latin_hypercube_are_independent(void **state)
{
    enum { N = 1000, AXES = 6 };
    static double x[AXES][N];
    (void)state;
    for (int a = 0; a < AXES; ++a) {
        assert_int_equal(saltus_design_lhs(N, 7, a, x[a], NULL), SALTUS_OK);
        for (int b = 0; b < a; ++b) {
            double sum = 0.0;
            for (int i = 0; i < N; ++i) {
                sum += (x[a][i] - 0.5) * (x[b][i] - 0.5);
            }
            assert_true(fabs(12.0 * sum / N) < 5.0 / sqrt(N));
        }
    }
}

/* As Joe and Kuo's program prints them, in the order of the Gray code: the first points of three
 * axes. */
static void sobol_begins_as_published(void **state)
{
    static const double published[8][3] = {
        {0, 0, 0},
        {0.5, 0.5, 0.5},
        {0.75, 0.25, 0.25},
        {0.25, 0.75, 0.75},
        {0.375, 0.375, 0.625},
        {0.875, 0.875, 0.125},
        {0.625, 0.125, 0.875},
        {0.125, 0.625, 0.375},
    };
    double x[8];
    (void)state;
    for (int axis = 0; axis < 3; ++axis) {
        saltus_design_sobol(8, axis, x);
        for (int n = 0; n < 8; ++n) {
            assert_true(x[n ^ n >> 1] == published[n][axis]);
        }
    }
}

/* Every run of 2^k points that begins at a multiple of 2^k has one in each of 2^k strata. */
static void blocks_of_sobol_fill_every_axis(void **state)
{
    enum { N = 1 << 12 };
    static double x[N];
    (void)state;
    for (int axis = 0; axis < SALTUS_SOBOL_AXES; ++axis) {
        saltus_design_sobol(N, axis, x);
        for (int size = 1; size <= N; size *= 2) {
            for (int first = 0; first < N; first += size) {
                bool taken[N] = {false};
                for (int i = first; i < first + size; ++i) {
                    const int stratum = (int)(x[i] * size);
                    assert_false(taken[stratum]);
                    taken[stratum] = true;
                }
            }
        }
    }
}

/* With primitive polynomials of degrees p and q, 2^m points of two axes are a (t, m, 2)-net with
 * t = (p - 1) + (q - 1): every rectangle of area 2^(t - m) with sides that are powers of 1/2 holds
 * 2^t of them (Sobol' 1967). */
static void pairs_of_axes_are_nets(void **state)
{
    enum { M = 14, N = 1 << M };
    static const int degrees[SALTUS_SOBOL_AXES] = {1, 1, 2, 3, 3, 4, 4, 5, 5, 5, 5,
                                                   5, 5, 6, 6, 6, 6, 6, 6, 7, 7};
    static double x[SALTUS_SOBOL_AXES][N];
    static int held[N];
    (void)state;
    for (int a = 0; a < SALTUS_SOBOL_AXES; ++a) {
        saltus_design_sobol(N, a, x[a]);
        for (int b = 0; b < a; ++b) {
            const int t = degrees[a] + degrees[b] - 2;
            for (int k = 0; k <= M - t; ++k) {
                memset(held, 0, sizeof held);
                for (int i = 0; i < N; ++i) {
                    const int column = (int)(x[a][i] * (1 << k));
                    ++held[(column << (M - t - k)) + (int)(x[b][i] * (1 << (M - t - k)))];
                }
                for (int c = 0; c < 1 << (M - t); ++c) {
                    assert_int_equal(held[c], 1 << t);
                }
            }
        }
    }
}

/* The numbers of Joe and Kuo have Sobol's property A: when each of d axes is halved, the first 2^d
 * points lie in different parts. So the first bits of points 1, 2, 4 … are linearly independent. */
static void sobol_has_property_a(void **state)
{
    enum { D = SALTUS_SOBOL_AXES, N = (1 << (D - 1)) + 1 };
    uint32_t rows[D] = {0}; /* bit k: the first of axis a at point 2^k */
    double *x = malloc(N * sizeof *x);
    (void)state;
    assert_non_null(x);
    for (int a = 0; a < D; ++a) {
        saltus_design_sobol(N, a, x);
        for (int k = 0; k < D; ++k) {
            rows[a] |= (uint32_t)(x[(size_t)1 << k] >= 0.5) << k;
        }
    }
    free(x);
    /* leading minors: elimination without exchange of rows finds a pivot in every column */
    for (int a = 0; a < D; ++a) {
        for (int b = 0; b < a; ++b) {
            rows[a] ^= rows[a] >> b & 1 ? rows[b] : 0;
        }
        assert_true(rows[a] >> a & 1);
    }
}

/* ---- quantities ---- */

enum { MOST = 4096 };

static double of(saltus_quantity quantity, double threshold, const double *x, int64_t first,
                 int64_t n)
{
    static double times[MOST], apart[3 * MOST];
    const saltus_derive wanted = {.quantity = quantity, .column = -1, .threshold = threshold};
    const saltus_derivation d = {&wanted, 1, 0, 3, times, first, n};
    for (int64_t i = 0; i < n; ++i) {
        times[i] = 0.1 * (double)i;
        apart[3 * i] = x[i];
        apart[3 * i + 1] = apart[3 * i + 2] = 1e9;
    }
    return saltus_derive_one(&d, 0, NULL, apart);
}

#define ASSERT_IS(value, expected)                                         \
    do {                                                                   \
        const double value_ = (value), expected_ = (expected);             \
        if (!(fabs(value_ - expected_) <= 1e-9)) {                         \
            fail_msg("%s is %.17g, not %.17g", #value, value_, expected_); \
        }                                                                  \
    } while (0)

static void simple_quantities(void **state)
{
    static const double x[] = {4, 1, 7, 1, 7, 2};
    static const int64_t counts[] = {4, 0, 1, 0, 7, 0, 1, 0, 7, 0, 2, 0};
    static const double times[] = {0, 0.1, 0.2, 0.3, 0.4, 0.5};
    (void)state;
    ASSERT_IS(of(SALTUS_DERIVE_MEAN, 0, x, 0, 6), 22.0 / 6);
    ASSERT_IS(of(SALTUS_DERIVE_MIN, 0, x, 0, 6), 1);
    ASSERT_IS(of(SALTUS_DERIVE_MAX, 0, x, 0, 6), 7);
    ASSERT_IS(of(SALTUS_DERIVE_TMIN, 0, x, 0, 6), 0.1);
    ASSERT_IS(of(SALTUS_DERIVE_TMAX, 0, x, 0, 6), 0.2);
    ASSERT_IS(of(SALTUS_DERIVE_FINAL, 0, x, 0, 6), 2);
    ASSERT_IS(of(SALTUS_DERIVE_PASSAGE, 4, x, 0, 6), 0);
    ASSERT_IS(of(SALTUS_DERIVE_PASSAGE, 4.5, x, 0, 6), 0.2);
    ASSERT_IS(of(SALTUS_DERIVE_ABOVE, 4, x, 0, 6), 0.5);
    ASSERT_IS(of(SALTUS_DERIVE_ABOVE, 7.5, x, 0, 6), 0);
    assert_true(isnan(of(SALTUS_DERIVE_PASSAGE, 7.5, x, 0, 6)));
    /* from the fourth sample on */
    ASSERT_IS(of(SALTUS_DERIVE_MEAN, 0, x, 3, 6), 10.0 / 3);
    ASSERT_IS(of(SALTUS_DERIVE_TMIN, 0, x, 3, 6), 0.3);
    ASSERT_IS(of(SALTUS_DERIVE_TMAX, 0, x, 3, 6), 0.4);
    ASSERT_IS(of(SALTUS_DERIVE_PASSAGE, 4, x, 3, 6), 0.4);
    ASSERT_IS(of(SALTUS_DERIVE_ABOVE, 4, x, 3, 6), 1.0 / 3);
    ASSERT_IS(of(SALTUS_DERIVE_MEAN, 0, x, 5, 6), 2); /* one sample */
    ASSERT_IS(of(SALTUS_DERIVE_AMPLITUDE, 0, x, 5, 6), 0);
    assert_true(isnan(of(SALTUS_DERIVE_PERIOD, 0, x, 5, 6)));
    const saltus_derive wanted = {.quantity = SALTUS_DERIVE_TMAX};
    const saltus_derivation d = {&wanted, 1, 2, 0, times, 0, 6};
    ASSERT_IS(saltus_derive_one(&d, 0, counts, NULL), 0.2);
}

static void waves_have_amplitude_and_period(void **state)
{
    double x[1001];
    (void)state;
    for (int phase = 0; phase < 100; phase += 5) { /* 10 periods of 100 samples */
        for (int i = 0; i <= 1000; ++i) {
            x[i] = 100 + 50 * sin(2 * acos(-1) * (i + phase) / 100.0);
        }
        ASSERT_IS(of(SALTUS_DERIVE_PERIOD, 0, x, 0, 1001), 10);
        ASSERT_IS(of(SALTUS_DERIVE_AMPLITUDE, 0, x, 0, 1001), 100);
        ASSERT_IS(of(SALTUS_DERIVE_PERIOD, 0, x, 333, 1001), 10);
    }
    for (int i = 0; i <= 1000; ++i) { /* rises for 40 samples and falls at once, to 0 */
        x[i] = i % 40;
    }
    ASSERT_IS(of(SALTUS_DERIVE_PERIOD, 0, x, 0, 1001), 4);
    ASSERT_IS(of(SALTUS_DERIVE_AMPLITUDE, 0, x, 0, 1001), 39);
    for (int i = 0; i <= 1000; ++i) { /* ripples of a fifth of the range are none */
        x[i] = (i / 100 % 2 ? 80 : 0) + (i % 2 ? 20 : 0);
    }
    ASSERT_IS(of(SALTUS_DERIVE_PERIOD, 0, x, 0, 1001), 20);
    ASSERT_IS(of(SALTUS_DERIVE_AMPLITUDE, 0, x, 0, 1001), 100);
}

/* Samples that are no numbers, wherever they stand, are passed over. */
static void what_is_no_number_is_passed_over(void **state)
{
    double x[300], y[300];
    (void)state;
    for (int i = 0; i < 300; ++i) {
        x[i] = sin(0.2 * i + 0.3);
        y[i] = i == 0 || i == 157 || i == 299 ? NAN : x[i];
    }
    for (int q = SALTUS_DERIVE_MIN; q <= SALTUS_DERIVE_PERIOD; ++q) {
        if (q != SALTUS_DERIVE_FINAL) {
            ASSERT_IS(of((saltus_quantity)q, 0, y, 0, 300), of((saltus_quantity)q, 0, x, 0, 300));
        }
    }
    assert_true(isnan(of(SALTUS_DERIVE_MEAN, 0, y, 0, 300)));
    assert_true(isnan(of(SALTUS_DERIVE_FINAL, 0, y, 0, 300)));
    ASSERT_IS(of(SALTUS_DERIVE_PASSAGE, -2, y, 0, 300), 0.1);
    ASSERT_IS(of(SALTUS_DERIVE_ABOVE, -2, y, 0, 300), 297.0 / 300);
    for (int q = SALTUS_DERIVE_MEAN; q <= SALTUS_DERIVE_PASSAGE; ++q) { /* all of them */
        assert_true(isnan(of((saltus_quantity)q, 0, y, 0, 1)));
    }
}

static void what_does_not_oscillate(void **state)
{
    double x[300];
    (void)state;
    for (int shape = 0; shape < 3; ++shape) { /* constant, rising, falling */
        for (int i = 0; i < 300; ++i) {
            x[i] = shape == 0 ? 5 : shape == 1 ? i : -i;
        }
        ASSERT_IS(of(SALTUS_DERIVE_AMPLITUDE, 0, x, 0, 300), 0);
        assert_true(isnan(of(SALTUS_DERIVE_PERIOD, 0, x, 0, 300)));
    }
    for (int i = 0; i < 300; ++i) { /* one peak */
        x[i] = i < 100 ? i : 200 - i;
    }
    ASSERT_IS(of(SALTUS_DERIVE_AMPLITUDE, 0, x, 0, 300), 0);
    assert_true(isnan(of(SALTUS_DERIVE_PERIOD, 0, x, 0, 300)));
}

/* On a ripple at the beginning, which is small, follows a wave that falls first: the ripple's top
 * is no peak. */
static void what_comes_before_the_first_extremum_is_none(void **state)
{
    double x[501];
    (void)state;
    for (int i = 0; i <= 500; ++i) {
        x[i] = i < 100 ? 100 + i % 2 : 100 - 50 * sin(2 * acos(-1) * (i - 100) / 100.0);
    }
    ASSERT_IS(of(SALTUS_DERIVE_PERIOD, 0, x, 0, 501), 10);
    ASSERT_IS(of(SALTUS_DERIVE_AMPLITUDE, 0, x, 0, 501), 100);
}

/* ---- rows ---- */

/* A model, what is varied, and of how many of 64 points the network is that of the first. */
typedef struct row_case {
    const char *model, *vary[4];
    int n_like;
} row_case;

static saltus_model *parse(const char *yaml)
{
    saltus_model *m = NULL;
    saltus_error err = {0};
    if (saltus_model_parse_yaml(yaml, strlen(yaml), "m", &m, &err) != SALTUS_OK) {
        fail_msg("%s", err.message);
    }
    return m;
}

static void assert_row(const row_case *c, saltus_rows_use use, const saltus_sweep *sweep,
                       int64_t point, const saltus_tables *like, const double *row)
{
    saltus_error err = {0};
    saltus_model *m = parse(c->model);
    double frozen[64];
    if (saltus_sweep_freeze(sweep, point, m, SALTUS_LAW_LITERAL, &err) != SALTUS_OK) {
        fail_msg("%.60s: %s", c->model, err.message);
    }
    const saltus_tables *t = &m->network->tables;
    const int size = saltus_point_of(t).size;
    assert_true(size <= 64 && saltus_point_is_like(like, t, false));
    saltus_point_read(t, use == SALTUS_ROWS_MEAN ? m->network->initial_amounts : NULL, frozen);
    for (int i = 0; i < size; ++i) {
        if (memcmp(&frozen[i], &row[i], sizeof *row) != 0) {
            fail_msg("%.40s, point %d: number %d is %.17g, frozen %.17g", c->model, (int)point, i,
                     row[i], frozen[i]);
        }
    }
    saltus_model_destroy(m);
}

static void check_rows(const row_case *c, saltus_rows_use use)
{
    saltus_error err = {0};
    saltus_sweep *sweep = make(c->vary, NULL, 0);
    saltus_model *m = parse(c->model);
    saltus_rows *rows = NULL;
    double row[64];
    int n_like = 0;
    assert_int_equal(saltus_sweep_n_points(sweep), 64);
    if (saltus_sweep_set(sweep, 0, m, &err) != SALTUS_OK) {
        fail_msg("%.60s: %s", c->model, err.message);
    }
    if (saltus_rows_create(m, SALTUS_LAW_LITERAL, use, &rows, &err) != SALTUS_OK) {
        fail_msg("%.60s: %s", c->model, err.message);
    }
    for (int64_t point = 0; rows && point < 64; ++point) {
        for (int a = 0; a < saltus_sweep_n_axes(sweep); ++a) {
            saltus_rows_set(rows, saltus_model_find(m, saltus_sweep_name(sweep, a)),
                            saltus_sweep_value(sweep, a, point));
        }
        if (saltus_rows_make(rows, row)) {
            assert_row(c, use, sweep, point, &m->network->tables, row);
            ++n_like;
        }
    }
    if (n_like != c->n_like) {
        fail_msg("%.60s: %d rows, not %d", c->model, n_like, c->n_like);
    }
    saltus_rows_free(rows);
    saltus_model_destroy(m);
    saltus_sweep_destroy(sweep);
}

static void rows_are_those_of_freezing(void **state)
{
    static const row_case cases[] = {
        {"species: {A: 40, B: 30}\nparameters: {k: 2, n: k/7}\nrules: {m: 3*k}\n"
         "reactions:\n  r: 2 A -> B @ m\n  s: B -> 0 @ k*n\n  t: 0 -> A @ 10*n/k\n",
         {"k=lin:0.1:3:8", "A=lin:0:7:8"},
         64},
        {"species: {X: 50, Y: 20}\nparameters: {k: 5, K: 30, h: 2}\nreactions:\n"
         "  r: 0 -> X @ k * K^h / (K^h + Y^h) + 1\n  s: X -> Y @ K/300\n",
         {"K=lin:10:50:8", "h=lin:1:4:8"},
         64},
        /* a power that is whole makes a product, others do not */
        {"species: {A: 50}\nparameters: {p: 1, k: 1}\nreactions: {r: A -> 0 @ 0.01*A^p}\n",
         {"p=list:1,1.5,2,1", "k=lin:1:16:16"},
         32},
        {"species: {A: 50}\nparameters: {p: 1, k: 1}\nreactions: {r: A -> 0 @ 0.01*A^p}\n",
         {"p=list:1.5,1,2,1", "k=lin:1:16:16"},
         0},
        /* so do whole offsets beside their smaller ones */
        {"species: {A: 50}\nparameters: {d: 1}\nreactions: {r: 2 A -> 0 @ 0.01*A*(A - d)}\n",
         {"d=list:1,1,2,0.5", "A=lin:1:16:16"},
         32},
        /* signs tell what goes there and what back */
        {"species: {A: 50, B: 3}\nparameters: {a: 1, b: 1}\n"
         "reactions: {r: A <-> B @ a*A - b*B}\n",
         {"b=list:1,0.5,-1,2", "a=lin:1:2:16"},
         48},
        /* and when a clock changes */
        {"species: {A: 50}\nparameters: {k: 1, m: 1}\n"
         "reactions:\n  r: 0 -> A @ k*piecewise(1, m*time < 3, 2)\n",
         {"m=list:1,-1,2,-2", "k=lin:1:2:16"},
         32},
        /* what makes a reaction impossible is told by freezing */
        {"species: {A: 50}\nparameters: {k: 1}\nreactions: {r: A -> 0 @ k}\n",
         {"k=list:1,-1", "A=lin:1:32:32"},
         32},
        /* switching times, events, and what they set */
        {"species: {A: 100, B: 0}\nparameters: {k: 1, when: 1.2, v: 3}\n"
         "reactions: {r: A -> B @ v*when}\nevents:\n"
         "  e: {at: when*2, set: {A: A + 10*k, v: v + when}}\n",
         {"k=lin:0:1:4", "when=lin:0.25:2:4", "v=lin:1:2:4"},
         64},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_rows(&cases[i], SALTUS_ROWS_EXACT);
        check_rows(&cases[i], SALTUS_ROWS_MEAN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_have_their_values),
        cmocka_unit_test(the_last_name_runs_fastest),
        cmocka_unit_test(what_is_no_axis_is_refused),
        cmocka_unit_test(what_makes_no_points_is_refused),
        cmocka_unit_test(designs_lie_between_their_bounds),
        cmocka_unit_test(every_stratum_of_a_latin_hypercube_holds_one),
        cmocka_unit_test(axes_of_a_latin_hypercube_are_independent),
        cmocka_unit_test(sobol_begins_as_published),
        cmocka_unit_test(blocks_of_sobol_fill_every_axis),
        cmocka_unit_test(pairs_of_axes_are_nets),
        cmocka_unit_test(sobol_has_property_a),
        cmocka_unit_test(simple_quantities),
        cmocka_unit_test(waves_have_amplitude_and_period),
        cmocka_unit_test(what_is_no_number_is_passed_over),
        cmocka_unit_test(what_does_not_oscillate),
        cmocka_unit_test(what_comes_before_the_first_extremum_is_none),
        cmocka_unit_test(rows_are_those_of_freezing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
