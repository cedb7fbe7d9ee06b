/* The stochastic cases of the SBML Test Suite (Evans et al., Bioinformatics 24 (2008) 285): means
 * and standard deviations at t = 0 … 50 against exact ones. The folder of cases comes from the
 * environment variable SBML_STOCHASTIC_CASES; without it the test is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/gpu.h"
#include "../support/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_CASES = 39, N_TIMES = 51, MAX_COLUMNS = 8 };

/* The criterion for the standard deviation, |Y| < 5, supposes a normal population. These are the
 * largest standard deviations that Y has in each case for a correct simulator. */
static const double sd_of_y[N_CASES] = {1.10, 1.10, 6.88, 1.74, 1.00, 1.10, 1.10, 1.10, 1.10, 1.10,
                                        1.04, 1.10, 1.10, 1.10, 1.10, 1.10, 1.10, 1.04, 1.10, 1.24,
                                        1.03, 1.05, 1.00, 1.03, 1.03, 1.03, 1.24, 1.24, 1.24, 1.02,
                                        1.00, 1.02, 2.86, 1.02, 1.02, 1.02, 1.24, 1.25, 1.73};

/* The ten with the fewest events, run a hundred times as often. */
static const int cheapest[10] = {4, 20, 27, 28, 29, 30, 32, 34, 35, 36};

typedef struct expected {
    int n_columns; /* names, then means and sds, [time][column] */
    char names[MAX_COLUMNS][40];
    double mean[N_TIMES][MAX_COLUMNS], sd[N_TIMES][MAX_COLUMNS];
} expected;

static bool read_expected(const char *path, expected *e)
{
    char line[2000];
    FILE *f = fopen(path, "r");
    if (!f) {
        return false;
    }
    memset(e, 0, sizeof *e);
    int columns[2 * MAX_COLUMNS] = {0}, n = 0; /* column c holds 2 * index (+ 1 for the sd) */
    if (fgets(line, sizeof line, f)) {
        char *save = NULL;
        (void)strtok_r(line, ",\r\n", &save);
        for (char *name = strtok_r(NULL, ",\r\n", &save); name;
             name = strtok_r(NULL, ",\r\n", &save)) {
            char *dash = strrchr(name, '-');
            const bool is_sd = strcmp(dash, "-sd") == 0;
            int index = 0;
            *dash = '\0';
            while (index < e->n_columns && strcmp(e->names[index], name) != 0) {
                ++index;
            }
            if (index == e->n_columns) {
                (void)snprintf(e->names[e->n_columns++], sizeof *e->names, "%s", name);
            }
            columns[n++] = 2 * index + is_sd;
        }
    }
    for (int t = 0; t < N_TIMES && fgets(line, sizeof line, f); ++t) {
        char *at = strchr(line, ',');
        for (int c = 0; c < n; ++c) {
            const double value = strtod(at + 1, &at);
            *(columns[c] % 2 ? &e->sd[t][columns[c] / 2] : &e->mean[t][columns[c] / 2]) = value;
        }
    }
    (void)fclose(f);
    return n > 0;
}

/* Index of a column among the recorded ones. */
static int find_column(const saltus_plan *plan, const char *name)
{
    for (int c = 0; c < saltus_plan_n_counts(plan); ++c) {
        if (strcmp(saltus_plan_count_name(plan, c), name) == 0) {
            return c;
        }
    }
    for (int o = 0; o < saltus_plan_n_observables(plan); ++o) {
        if (strcmp(saltus_plan_observable_name(plan, o), name) == 0) {
            return saltus_plan_n_counts(plan) + o;
        }
    }
    return -1;
}

/* What is asked of a method that is not exact: mean and standard deviation within 2 % and 5
 * standard errors; where few molecules are expected, the mean as it is asked of an exact one. */
static void judge_leaps(int number, const char *name, int t, double n, double sum, double squares,
                        double mu, double sigma)
{
    const double off = sum / n, error = sigma / sqrt(n);
    const double sd_error = sd_of_y[number - 1] / sqrt(2.0 * n); /* relative */
    const double sd = sqrt(squares / n - off * off);
    const double most = mu < 1.0 ? 5.0 * error : 0.02 * mu + 5.0 * error;
    if (fabs(off) > most || (mu >= 1.0 && fabs(sd / sigma - 1.0) > 0.02 + 5.0 * sd_error)) {
        fail_msg("case %05d by leaps, %s at t = %d: mean %g, sd %g; exactly %g and %g", number,
                 name, t, mu + off, sd, mu, sigma);
    }
}

/* Judge one column at one time. Returns 1 for a mean beyond 3 standard errors; fails beyond 5. */
static int judge(int number, const char *name, int t, double n, double sum, double squares,
                 double mu, double sigma)
{
    if (sigma == 0.0) {
        assert_true(sum == 0.0 && squares == 0.0);
        return 0;
    }
    const double z = sqrt(n) * (sum / n) / sigma;
    const double y = sqrt(n / 2.0) * (squares / n / (sigma * sigma) - 1.0) / sd_of_y[number - 1];
    if (fabs(z) >= 5.0 || fabs(y) >= 5.0) {
        fail_msg("case %05d, %s at t = %d, mu = %g: Z = %.2f, Y = %.2f", number, name, t, mu, z, y);
    }
    return fabs(z) >= 3.0;
}

/* The first warning about leaps stays. */
static void keep_warning(void *user, const char *text)
{
    if (strstr(text, "watch the state")) {
        (void)snprintf(user, 300, "%s", text);
    }
}

/* Returns the number of means beyond 3 standard errors; of leaps, with events that watch the state,
 * -1: they are not judged. */
static int run_case(const char *folder, int number, const char *method, const char *device,
                    int64_t n)
{
    const bool leaps = strcmp(method, "tau") == 0;
    saltus_plan_options options = saltus_plan_options_default();
    char warning[300] = "";
    char path[1000];
    expected e;
    saltus_error err = {0};
    saltus_model *model = NULL;
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    moments m = {0};
    double times[N_TIMES];
    int n_far = 0;
    options.method = method;

    (void)snprintf(path, sizeof path, "%s/%05d/%05d-results.csv", folder, number, number);
    if (!read_expected(path, &e)) {
        fail_msg("%s cannot be read", path);
    }
    (void)snprintf(path, sizeof path, "%s/%05d/%05d-sbml-l3v2.xml", folder, number, number);
    if (saltus_model_read(path, &model, &err) != SALTUS_OK ||
        saltus_model_freeze(model, SALTUS_LAW_LITERAL, &err) != SALTUS_OK ||
        saltus_backend_open(device, &backend, &err) != SALTUS_OK ||
        saltus_plan_create(model, backend, &options, &plan, &err) != SALTUS_OK) {
        fail_msg("case %05d: %s", number, err.message);
    }
    const int n_recorded = saltus_plan_n_counts(plan) + saltus_plan_n_observables(plan);
    m.center = calloc((size_t)(N_TIMES * n_recorded), sizeof(double));
    for (int c = 0; c < e.n_columns; ++c) {
        const int column = find_column(plan, e.names[c]);
        assert_true(column >= 0);
        for (int t = 0; t < N_TIMES; ++t) {
            m.center[t * n_recorded + column] = e.mean[t][c];
        }
    }
    for (int t = 0; t < N_TIMES; ++t) {
        times[t] = t;
    }
    saltus_run_options run = saltus_run_options_default();
    run.seed = 2026;
    run.n_trajectories = n;
    run.times = times;
    run.n_times = N_TIMES;
    run.warn = keep_warning;
    run.warn_user = warning;
    const saltus_sink sink = moments_sink(&m);
    if (saltus_run(plan, &run, &sink, NULL, &err) != SALTUS_OK) {
        fail_msg("case %05d: %s", number, err.message);
    }
    for (int c = 0; c < e.n_columns && !warning[0]; ++c) {
        for (int t = 0; t < N_TIMES; ++t) {
            const int k = t * n_recorded + find_column(plan, e.names[c]);
            const double mu = e.mean[t][c], sigma = e.sd[t][c];
            if (leaps && sigma > 0.0) {
                judge_leaps(number, e.names[c], t, (double)n, m.sum[k], m.squares[k], mu, sigma);
            } else {
                n_far += judge(number, e.names[c], t, (double)n, m.sum[k], m.squares[k], mu, sigma);
            }
        }
    }
    free(m.center);
    moments_free(&m);
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    saltus_model_destroy(model);
    return warning[0] ? -1 : n_far;
}

static const char *folder_or_skip(void)
{
    const char *folder = getenv("SBML_STOCHASTIC_CASES");
    if (!folder || !*folder) {
        print_message("SKIP: SBML_STOCHASTIC_CASES does not name a folder of cases\n");
        skip();
    }
    return folder;
}

static void all_cases_hold_at_10_000(void **state)
{
    (void)state;
    const char *folder = folder_or_skip();
    int n_far = 0;
    for (int number = 1; number <= N_CASES; ++number) {
        const int far = run_case(folder, number, "direct", "auto", scaled(10000));
        if (far > 3) {
            fail_msg("case %05d: %d means are beyond 3 standard errors", number, far);
        }
        n_far += far;
    }
    print_message("%d of about 2297 means beyond 3 standard errors; 6 are expected\n", n_far);
    assert_true(n_far <= 18);
}

static void cheapest_cases_hold_at_1_000_000(void **state)
{
    (void)state;
    const char *folder = folder_or_skip();
    for (size_t i = 0; i < sizeof cheapest / sizeof *cheapest; ++i) {
        const int far = run_case(folder, cheapest[i], "direct", "auto", scaled(1000000));
        if (far > 3) {
            fail_msg("case %05d: %d means are beyond 3 standard errors", cheapest[i], far);
        }
    }
}

static void check_leaps(const char *device, int64_t n)
{
    const char *folder = folder_or_skip();
    int n_judged = 0;
    for (int number = 1; number <= N_CASES; ++number) {
        n_judged += run_case(folder, number, "tau", device, n) == 0;
    }
    /* one has an event that watches the state */
    assert_int_equal(n_judged, N_CASES - 1);
}

static void cases_hold_by_leaps(void **state)
{
    (void)state;
    check_leaps("cpu", scaled(10000));
}

static void cases_hold_by_leaps_on_a_gpu(void **state)
{
    (void)state;
    need_gpu("cuda");
    check_leaps("cuda", scaled(1000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cases_hold_at_10_000),
        cmocka_unit_test(cheapest_cases_hold_at_1_000_000),
        cmocka_unit_test(cases_hold_by_leaps),
        cmocka_unit_test(cases_hold_by_leaps_on_a_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
