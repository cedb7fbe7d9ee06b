/* The cases of the SBML Test Suite that draw from distributions (package distrib): means and
 * standard deviations at t = 0 … 50 against exact ones. The folder of cases comes from the
 * environment variable SBML_DISTRIB_CASES; without it the test is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/moments.h"

#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_TIMES = 51 };

/* Of one value at every time, about the expected mean. */
typedef struct sums {
    int64_t n;
    int column; /* among the observables, or ~column among the counts */
    bool has_sd;
    double mean[N_TIMES], sd[N_TIMES];
    double s1[N_TIMES], s2[N_TIMES], s4[N_TIMES], below[N_TIMES], largest[N_TIMES];
    double equal[N_TIMES]; /* to the value before */
} sums;

static saltus_status deliver(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    sums *m = user;
    (void)prepared, (void)err;
    double before = 0.0;
    for (int64_t i = 0; i < b->n_trajectories * b->n_points; ++i) {
        const double x = m->column < 0 ? (double)b->counts[i * b->n_counts + ~m->column]
                                       : b->observables[i * b->n_observables + m->column];
        const int t = (int)(i % b->n_points);
        const double d = x - m->mean[t];
        m->s1[t] += d;
        m->s2[t] += d * d;
        m->s4[t] += d * d * d * d;
        m->below[t] += d < 0.0 ? 1.0 : d == 0.0 ? 0.5 : 0.0;
        m->largest[t] = fmax(m->largest[t], fabs(d));
        m->equal[t] += t > 0 && x == before;
        before = x;
    }
    m->n += b->n_trajectories;
    return SALTUS_OK;
}

/* The file, with a zero at its end. Inline, gcc 12 takes it for the address of a local variable. */
__attribute__((noinline)) static char *read_file(const char *path)
{
    size_t size = 0;
    char *text = NULL;
    FILE *f = fopen(path, "r");
    if (!f || getdelim(&text, &size, '\0', f) < 0) {
        fail_msg("%s cannot be read", path);
    }
    (void)fclose(f);
    return text;
}

/* "time,X-mean,X-sd" and rows; the name of the one value. */
static void read_expected(const char *path, sums *m, char name[40])
{
    char *text = read_file(path), *line = strtok(text, "\r\n");
    assert_true(line && strncmp(line, "time,", 5) == 0);
    (void)snprintf(name, 40, "%.*s", (int)strcspn(line + 5, "-"), line + 5);
    m->has_sd = strstr(line, "-sd") != NULL;
    for (int t = 0; t < N_TIMES; ++t) {
        line = strtok(NULL, "\r\n");
        assert_non_null(line);
        assert_true(strtod(line, &line) == t);
        m->mean[t] = strtod(line + 1, &line);
        m->sd[t] = m->has_sd ? strtod(line + 1, NULL) : 0.0;
    }
    free(text);
}

/* All of `from` becomes `to`. */
__attribute__((noinline)) static char *replace(char *text, const char *from, const char *to)
{
    char *out = NULL, *next;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    for (const char *p = text;; p = next + strlen(from)) {
        next = strstr(p, from);
        (void)fprintf(f, "%.*s", next ? (int)(next - p) : (int)strlen(p), p);
        if (!next) {
            break;
        }
        (void)fputs(to, f);
    }
    (void)fclose(f);
    free(text);
    return out;
}

/* The cases have a clock, t' = 1, that an event sets back to -0.5 when it is at 0.5. The same told
 * by the time: t is when the clock was at 0. */
static char *without_rate_rule(char *read)
{
    static const char time[] =
        "<csymbol encoding=\"text\" definitionURL=\"http://www.sbml.org/sbml/symbols/time\"> t "
        "</csymbol>";
    char clock[300], *out = NULL;
    char *const rules = strstr(read, "<listOfRules>"), *const end = strstr(read, "</listOfRules>");
    if (!rules || !end || !strstr(rules, "<rateRule variable=\"t\">")) {
        fail_msg("the clock is not found");
    }
    memset(rules, ' ', (size_t)(end + strlen("</listOfRules>") - rules));
    (void)snprintf(clock, sizeof clock, "<apply> <minus/> %s <ci> t </ci> </apply>", time);
    char *const text = replace(read, "<ci> t </ci>", clock);
    const char *const set = strstr(text, "<eventAssignment variable=\"t\">");
    assert_non_null(set);
    const char *const from = strchr(strstr(set, "<math"), '>') + 1;
    const char *const to = strstr(from, "</math>");
    assert_non_null(to);
    assert_true(asprintf(&out, "%.*s<apply> <minus/> %s %.*s </apply>%s", (int)(from - text), text,
                         time, (int)(to - from), from, to) > 0);
    free(text);
    return out;
}

static saltus_model *read_case(const char *path, int number)
{
    saltus_error err = {0};
    saltus_model *model = NULL;
    saltus_status status = saltus_model_read(path, &model, &err);
    if (status == SALTUS_E_UNSUPPORTED && strstr(err.message, "rate rule")) {
        char *text = without_rate_rule(read_file(path));
        memset(&err, 0, sizeof err);
        status = saltus_model_parse_sbml(text, strlen(text), "case.xml", &model, &err);
        free(text);
    }
    if (status != SALTUS_OK || saltus_model_freeze(model, SALTUS_LAW_LITERAL, &err) != SALTUS_OK) {
        fail_msg("case %05d: %s", number, err.message);
    }
    return model;
}

static int column_of(const saltus_plan *plan, const char *name)
{
    for (int c = 0; c < saltus_plan_n_counts(plan); ++c) {
        if (strcmp(saltus_plan_count_name(plan, c), name) == 0) {
            return ~c;
        }
    }
    for (int o = 0; o < saltus_plan_n_observables(plan); ++o) {
        if (strcmp(saltus_plan_observable_name(plan, o), name) == 0) {
            return o;
        }
    }
    fail_msg("'%s' is not recorded", name);
    return 0;
}

/* Standard errors of variances come from the sample's fourth moment, since few of these
 * distributions are normal. Where no standard deviation is published it is the sample's, and where
 * there is none, as of Cauchy's distribution, what is published is the median. */
static void judge(const sums *m, int number, int t)
{
    const double n = (double)m->n, mean = m->s1[t] / n, variance = m->s2[t] / n - mean * mean;
    const double sd = m->has_sd ? m->sd[t] : sqrt(variance);
    double z, y = 0.0;
    if (m->largest[t] == 0.0) { /* before the first event */
        assert_true(t == 0);
        return;
    }
    if (!m->has_sd && m->largest[t] > 100.0 * fabs(m->mean[t])) {
        z = (m->below[t] / n - 0.5) * 2.0 * sqrt(n);
    } else {
        z = mean / (sd / sqrt(n));
        y = m->has_sd ? (variance - sd * sd) / sqrt((m->s4[t] / n - variance * variance) / n) : 0.0;
    }
    if (!(fabs(z) < 5.0 && fabs(y) < 5.0)) {
        fail_msg("case %05d at t = %d: mean %g, sd %g, expected %g and %g: Z = %.2f, Y = %.2f",
                 number, t, m->mean[t] + mean, sqrt(variance), m->mean[t], sd, z, y);
    }
}

/* Each value is a new one: an event that comes once in place of every time would pass for the rest.
 */
static void judge_changes(const sums *m, int number)
{
    const double n = (double)m->n, share = m->equal[2] / n;
    assert_true(share < 0.9);
    for (int t = 3; t < N_TIMES; ++t) {
        if (fabs(m->equal[t] / n - share) > 5.0 * sqrt(2.0 * share * (1.0 - share) / n) + 1.0 / n) {
            fail_msg("case %05d: %g of %g values at t = %d are those before; %g at t = 2", number,
                     m->equal[t], n, t, m->equal[2]);
        }
    }
}

static void run_case(const char *folder, int number)
{
    char path[1000], name[40];
    double times[N_TIMES];
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    sums m = {0};
    (void)snprintf(path, sizeof path, "%s/%05d/%05d-results.csv", folder, number, number);
    read_expected(path, &m, name);
    (void)snprintf(path, sizeof path, "%s/%05d/%05d-sbml-l3v2.xml", folder, number, number);
    saltus_model *model = read_case(path, number);
    if (saltus_backend_open("auto", &backend, &err) != SALTUS_OK ||
        saltus_plan_create(model, backend, NULL, &plan, &err) != SALTUS_OK) {
        fail_msg("case %05d: %s", number, err.message);
    }
    m.column = column_of(plan, name);
    for (int t = 0; t < N_TIMES; ++t) {
        times[t] = t;
    }
    saltus_run_options run = saltus_run_options_default();
    run.seed = 2026;
    run.n_trajectories = scaled(20000); /* `make test` takes 10^4: errors of variances need them */
    run.times = times;
    run.n_times = N_TIMES;
    const saltus_sink sink = {.user = &m, .deliver = deliver};
    if (saltus_run(plan, &run, &sink, NULL, &err) != SALTUS_OK) {
        fail_msg("case %05d: %s", number, err.message);
    }
    for (int t = 0; t < N_TIMES; ++t) {
        judge(&m, number, t);
    }
    judge_changes(&m, number);
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    saltus_model_destroy(model);
}

static void all_cases_hold(void **state)
{
    (void)state;
    const char *folder = getenv("SBML_DISTRIB_CASES");
    int n = 0;
    if (!folder || !*folder) {
        print_message("SKIP: SBML_DISTRIB_CASES does not name a folder of cases\n");
        skip();
    }
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        const int number = atoi(e->d_name);
        if (number > 0 && strlen(e->d_name) == 5) {
            run_case(folder, number);
            ++n;
        }
    }
    (void)closedir(dir);
    print_message("%d cases\n", n);
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_cases_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
