/* The semantic cases of the SBML Test Suite, whose results are those of ordinary differential
 * equations, by method ode: every case that is not refused agrees with them within 1 %. Those
 * without reactions, in which nothing is left to chance, agree by the direct method too. Amounts
 * that are too many molecules are those of a mole of 1e14. The folder of cases comes from the
 * environment variable SBML_SEMANTIC_CASES; without it the test is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/moments.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 100, LINE = 20000 };
static const double molecules_per_mole = 1e14;

/* What a case asks for, from its NNNNN-settings.txt. */
typedef struct settings {
    double start, duration;
    int steps;
    char variables[LINE], concentrations[LINE];
} settings;

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    text[strcspn(text, "\r\n")] = '\0';
    return text;
}

static bool read_settings(const char *path, settings *s)
{
    char line[LINE];
    FILE *f = fopen(path, "r");
    *s = (settings){0};
    while (f && fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (!value) {
            continue;
        }
        *value = '\0';
        value = trimmed(value + 1);
        if (strcmp(line, "start") == 0) {
            s->start = strtod(value, NULL);
        } else if (strcmp(line, "duration") == 0) {
            s->duration = strtod(value, NULL);
        } else if (strcmp(line, "steps") == 0) {
            s->steps = (int)strtol(value, NULL, 10);
        } else if (strcmp(line, "variables") == 0) {
            (void)strcpy(s->variables, value);
        } else if (strcmp(line, "concentration") == 0) {
            (void)strcpy(s->concentrations, value);
        }
    }
    if (f) {
        (void)fclose(f);
    }
    return s->steps > 0 && s->duration > 0.0 && s->variables[0];
}

static bool is_listed(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ",")) {
        at += strspn(at, ", ");
        const size_t length = strcspn(at, ", ");
        if (length == n && strncmp(at, name, n) == 0) {
            return true;
        }
    }
    return false;
}

/* The columns of a run, in the order of the settings: "[S1],k". Returns their number. */
static int make_columns(const settings *s, char names[MOST_COLUMNS][100], char *columns)
{
    int n = 0;
    columns[0] = '\0';
    for (const char *at = s->variables; *at && n < MOST_COLUMNS; at += strcspn(at, ",")) {
        at += strspn(at, ", ");
        const int length = (int)strcspn(at, ", ");
        if (length == 0) {
            break;
        }
        (void)snprintf(names[n], sizeof names[n], "%.*s", length, at);
        const bool of_size = is_listed(s->concentrations, names[n]);
        char one[110];
        (void)snprintf(one, sizeof one, "%s%s%s%s", n > 0 ? "," : "", of_size ? "[" : "", names[n],
                       of_size ? "]" : "");
        (void)strcat(columns, one);
        ++n;
    }
    return n;
}

/* Expected results, expected[point][column] in the order of names. */
static bool read_results(const char *path, char names[MOST_COLUMNS][100], int n, int n_points,
                         double *expected)
{
    char line[LINE];
    int column_of[MOST_COLUMNS + 1] = {0}, n_read = 0, n_found = 0;
    FILE *f = fopen(path, "r");
    if (!f || !fgets(line, sizeof line, f)) {
        return false;
    }
    char *save = NULL;
    for (char *name = strtok_r(line, ",\r\n", &save); name; name = strtok_r(NULL, ",\r\n", &save)) {
        name += strspn(name, " ");
        column_of[n_read] = -1;
        for (int c = 0; c < n; ++c) {
            if (strcmp(names[c], name) == 0) {
                column_of[n_read] = c;
                ++n_found;
            }
        }
        n_read += n_read < MOST_COLUMNS;
    }
    for (int t = 0; t < n_points && fgets(line, sizeof line, f); ++t) {
        char *at = line;
        for (int c = 0; c < n_read; ++c) {
            const double value = strtod(at, &at);
            at += *at == ',';
            if (column_of[c] >= 0) {
                expected[t * n + column_of[c]] = value;
            }
        }
    }
    (void)fclose(f);
    return n_found == n;
}

static saltus_status read_frozen(const char *path, saltus_model **out, saltus_error *err)
{
    saltus_read_options read = saltus_read_options_default();
    saltus_status status = SALTUS_OK;
    for (int pass = 0; pass < 2; ++pass) {
        saltus_error here = {0};
        read.molecules_per_mole = pass == 0 ? 0.0 : molecules_per_mole;
        status = saltus_model_read_with(path, &read, out, &here);
        if (status == SALTUS_OK) {
            status = saltus_model_freeze(*out, SALTUS_LAW_LITERAL, &here);
        }
        if (pass == 0 || status == SALTUS_OK) {
            *err = here;
        }
        if (status == SALTUS_OK || pass == 1) {
            break;
        }
        saltus_model_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* Where the columns of the settings stand among those of a plan, which has counts first. */
typedef struct course {
    double *x; /* [point][column] */
    int n, from[MOST_COLUMNS];
} course;

static void find_columns(course *to, const saltus_plan *plan, char names[MOST_COLUMNS][100])
{
    const int n_counts = saltus_plan_n_counts(plan), n = n_counts + saltus_plan_n_observables(plan);
    assert_int_equal(n, to->n);
    for (int c = 0; c < n; ++c) {
        to->from[c] = -1;
        for (int i = 0; i < n; ++i) {
            const char *name = i < n_counts ? saltus_plan_count_name(plan, i)
                                            : saltus_plan_observable_name(plan, i - n_counts);
            const size_t bracket = name[0] == '[', length = strlen(name) - 2 * bracket;
            if (strlen(names[c]) == length && memcmp(names[c], name + bracket, length) == 0) {
                to->from[c] = i;
            }
        }
        assert_true(to->from[c] >= 0);
    }
}

static saltus_status deliver(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    const course *to = user;
    (void)prepared, (void)err;
    for (int64_t t = 0; t < b->n_points; ++t) {
        for (int c = 0; c < to->n; ++c) {
            const int i = to->from[c];
            to->x[t * to->n + c] = i < b->n_counts
                                       ? (double)b->counts[t * b->n_counts + i]
                                       : b->observables[t * b->n_observables + i - b->n_counts];
        }
    }
    return SALTUS_OK;
}

/* Whether a column agrees within 1 % of each value, and a millionth of the largest; amounts may be
 * in molecules of a mole. */
static bool agrees(const double *x, const double *expected, int n_points, int n, int c)
{
    const double scales[] = {1.0, molecules_per_mole, 6.02214076e23};
    double largest = 0.0;
    for (int t = 0; t < n_points; ++t) {
        const double e = fabs(expected[t * n + c]);
        largest = isfinite(e) && e > largest ? e : largest;
    }
    for (int k = 0; k < 3; ++k) {
        int n_agree = 0;
        for (int t = 0; t < n_points; ++t) {
            const double is = x[t * n + c] / scales[k], should = expected[t * n + c];
            n_agree += is == should || (isnan(is) && isnan(should)) ||
                       fabs(is - should) <= 0.01 * fabs(should) + 1e-6 * largest;
        }
        if (n_agree == n_points) {
            return true;
        }
    }
    return false;
}

typedef enum verdict { REFUSED, AGREES, DIFFERS, NO_COURSE, HAS_CHANCE, N_VERDICTS } verdict;

static verdict run_case(const char *folder, const char *number, const char *method, char why[500])
{
    static char path[1000], columns[LINE];
    static char names[MOST_COLUMNS][100];
    settings s;
    saltus_error err = {0};
    saltus_model *m = NULL;
    saltus_backend *b = NULL;
    saltus_plan *plan = NULL;
    verdict result = REFUSED;
    why[0] = '\0';
    (void)snprintf(path, sizeof path, "%s/%s/%s-settings.txt", folder, number, number);
    if (!read_settings(path, &s)) {
        return NO_COURSE;
    }
    const int n = make_columns(&s, names, columns), n_points = s.steps + 1;
    double *times = calloc((size_t)n_points, sizeof *times);
    course got = {.x = calloc((size_t)n_points * MOST_COLUMNS, sizeof *got.x), .n = n};
    double *expected = calloc((size_t)n_points * MOST_COLUMNS, sizeof *expected);
    for (int t = 0; t < n_points; ++t) {
        times[t] = s.start + s.duration * t / s.steps;
    }
    (void)snprintf(path, sizeof path, "%s/%s/%s-results.csv", folder, number, number);
    assert_true(read_results(path, names, n, n_points, expected));
    (void)snprintf(path, sizeof path, "%s/%s/%s-sbml-l3v2.xml", folder, number, number);
    saltus_plan_options o = saltus_plan_options_default();
    o.method = method;
    o.columns = columns;
    saltus_run_options run = saltus_run_options_default();
    run.times = times;
    run.n_times = n_points;
    run.n_trajectories = 1;
    const saltus_sink sink = {.user = &got, .deliver = deliver};
    saltus_status status = read_frozen(path, &m, &err);
    const bool has_chance = status == SALTUS_OK && saltus_model_n_reactions(m) > 0;
    if (status == SALTUS_OK && has_chance && strcmp(method, "ode") != 0) {
        result = HAS_CHANCE;
    } else if (status == SALTUS_OK && saltus_backend_open("cpu", &b, &err) == SALTUS_OK &&
               saltus_plan_create(m, b, &o, &plan, &err) == SALTUS_OK) {
        find_columns(&got, plan, names);
        status = saltus_run(plan, &run, &sink, NULL, &err);
        result = status == SALTUS_OK ? AGREES : REFUSED;
    }
    if (result == AGREES) {
        for (int c = 0; c < n; ++c) {
            if (!agrees(got.x, expected, n_points, n, c)) {
                result = DIFFERS;
                (void)snprintf(why, 500, "%.90s", names[c]);
            }
        }
    } else {
        (void)snprintf(why, 500, "%.490s", err.message);
    }
    saltus_plan_destroy(plan);
    saltus_backend_close(b);
    saltus_model_destroy(m);
    free(times);
    free(got.x);
    free(expected);
    return result;
}

static void check_cases(const char *method, int n[N_VERDICTS])
{
    const char *folder = getenv("SBML_SEMANTIC_CASES");
    char pattern[1000], why[500];
    glob_t found;
    if (!folder) {
        print_message("SKIP: SBML_SEMANTIC_CASES names no folder of semantic cases\n");
        skip();
    }
    (void)snprintf(pattern, sizeof pattern, "%s/[0-9][0-9][0-9][0-9][0-9]", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; ++i) {
        const char *number = strrchr(found.gl_pathv[i], '/') + 1;
        const verdict v = run_case(folder, number, method, why);
        ++n[v];
        if (v == DIFFERS || (v == REFUSED && takes_all())) {
            print_message("%s %s: %s\n", number, v == DIFFERS ? "differs" : "is refused", why);
        }
    }
    print_message("%d cases: %d agree, %d differ, %d are refused, %d have no course\n",
                  (int)found.gl_pathc, n[AGREES], n[DIFFERS], n[REFUSED], n[NO_COURSE]);
    globfree(&found);
}

static void semantic_cases_agree(void **state)
{
    int n[N_VERDICTS] = {0};
    (void)state;
    check_cases("ode", n);
    /* of the whole suite and of a tenth of it alike */
    assert_true(n[DIFFERS] == 0 || n[DIFFERS] * 200 < n[AGREES]);
    assert_true(n[AGREES] * 10 > (n[AGREES] + n[DIFFERS] + n[REFUSED] + n[NO_COURSE]) * 6);
}

static void cases_without_chance_agree_by_direct(void **state)
{
    int n[N_VERDICTS] = {0};
    (void)state;
    check_cases("direct", n);
    assert_true(n[DIFFERS] == 0 || n[DIFFERS] * 200 < n[AGREES]);
    assert_true(n[AGREES] * 3 > n[HAS_CHANCE]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(semantic_cases_agree),
        cmocka_unit_test(cases_without_chance_agree_by_direct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
