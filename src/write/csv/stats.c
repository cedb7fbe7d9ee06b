/* Statistics of a result file: as a table for people, and as CSV. */
#include "core/file.h"
#include "core/memory.h"
#include "core/number.h"
#include "write/numbers.h"
#include "write/results.h"

#include <math.h>
#include <string.h>

enum { SUMMARY_ROWS = 20 };

/* One moment of species and observables, [point][column]. */
struct moments {
    double *counts, *observables;
};

static saltus_status load(const saltus_results *r, saltus_moment moment, struct moments *m,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    m->counts = saltus_calloc((size_t)r->n_points, (size_t)r->n_counts * sizeof(double));
    m->observables = saltus_calloc((size_t)r->n_points, (size_t)r->n_observables * sizeof(double));
    SALTUS_NEED(m->counts);
    SALTUS_NEED(m->observables);
    SALTUS_TRY(saltus_results_moment(r, false, moment, m->counts, err));
    SALTUS_TRY(saltus_results_moment(r, true, moment, m->observables, err));
done:
    return status;
}

static void unload(struct moments *m)
{
    saltus_free(m->counts);
    saltus_free(m->observables);
}

/* Column c counts species first, then observables. */
static double moment_at(const saltus_results *r, const struct moments *m, int64_t point, int c)
{
    const double x = c < r->n_counts ? m->counts[point * r->n_counts + c]
                                     : m->observables[point * r->n_observables + c - r->n_counts];
    return isnan(x) ? NAN : x; /* that of 0/0 is printed as "-nan" */
}

static saltus_status check_stats(const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (r->stats_runs < 1) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no statistics yet", r->path);
        saltus_error_hint(err, r->is_written
                                   ? "the run goes on; its first trajectories are not written yet"
                                   : "the run was stopped before its first trajectories were "
                                     "written");
    }
    return status;
}

double saltus_fano(double mean, double variance)
{
    return mean == 0.0 ? (double)NAN : variance / mean;
}

/* Columns of a table, and what is to be printed of them. */
struct table {
    const saltus_results *r;
    const saltus_table_options *options;
    struct moments mean, variance;
    double *quantiles; /* [point][column][quantile] */
    int n;             /* columns */
};

static void put_value(FILE *out, double x)
{
    char text[SALTUS_NUMBER_SIZE];
    (void)fprintf(out, ",%s", saltus_number_format(x, text));
}

static void put_line(const struct table *t, int64_t point, FILE *out)
{
    const saltus_table_options *o = t->options;
    for (int c = 0; c < t->n; ++c) {
        put_value(out, moment_at(t->r, &t->mean, point, c));
    }
    for (int c = 0; c < t->n; ++c) {
        put_value(out, sqrt(moment_at(t->r, &t->variance, point, c)));
    }
    for (int c = 0; c < t->n && o->variance; ++c) {
        put_value(out, moment_at(t->r, &t->variance, point, c));
    }
    for (int c = 0; c < t->n && o->fano; ++c) {
        put_value(out, saltus_fano(moment_at(t->r, &t->mean, point, c),
                                   moment_at(t->r, &t->variance, point, c)));
    }
    for (int q = 0; q < o->n_quantiles; ++q) {
        for (int c = 0; c < t->n; ++c) {
            put_value(out, t->quantiles[(point * t->n + c) * o->n_quantiles + q]);
        }
    }
}

/* The lines of one point of a sweep, or all there are. */
static saltus_status print_point_stats(const saltus_results *r, const saltus_table_options *options,
                                       double *too_small, FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    struct table t = {.r = r, .options = options, .n = r->n_counts + r->n_observables};
    char text[SALTUS_NUMBER_SIZE], *prefix = saltus_results_point_prefix(r);
    SALTUS_NEED(prefix);
    SALTUS_TRY(load(r, SALTUS_MOMENT_MEAN, &t.mean, err));
    SALTUS_TRY(load(r, SALTUS_MOMENT_VARIANCE, &t.variance, err));
    if (options->n_quantiles > 0) {
        t.quantiles = saltus_calloc((size_t)r->n_points * (size_t)t.n,
                                    (size_t)options->n_quantiles * sizeof *t.quantiles);
        SALTUS_NEED(t.quantiles);
        SALTUS_TRY(saltus_results_quantiles(r, options, t.quantiles, too_small, err));
    }
    for (int64_t p = 0; p < r->n_points; ++p) {
        (void)fprintf(out, "\n%s%s", prefix, saltus_number_format(r->times[p], text));
        put_line(&t, p, out);
    }
done:
    saltus_free(prefix);
    saltus_free(t.quantiles);
    unload(&t.mean);
    unload(&t.variance);
    return status;
}

saltus_table_options saltus_table_options_default(void)
{
    return (saltus_table_options){0};
}

saltus_status saltus_table_options_check(const saltus_table_options *o, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (o->n_quantiles < 0 || (o->n_quantiles > 0 && !o->quantiles)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%d quantiles: %s", o->n_quantiles,
                    o->n_quantiles < 0 ? "it must be 0 or more" : "there are no numbers for them");
    }
    for (int q = 0; q < o->n_quantiles; ++q) {
        if (!(o->quantiles[q] >= 0.0 && o->quantiles[q] <= 1.0)) {
            SALTUS_FAIL(SALTUS_E_INVALID, "quantile %g: it must be from 0 to 1", o->quantiles[q]);
        }
    }
done:
    return status;
}

void saltus_results_put_heads(const saltus_table_options *o, FILE *out)
{
    char text[SALTUS_NUMBER_SIZE];
    (void)fprintf(out, "%s%s", o->variance ? ",variance" : "", o->fano ? ",fano" : "");
    for (int q = 0; q < o->n_quantiles; ++q) {
        (void)fprintf(out, ",q%s", saltus_number_format(o->quantiles[q], text));
    }
}

static void put_heads(const saltus_results *r, const saltus_table_options *o, FILE *out)
{
    saltus_results_put_axes(r, "time", out);
    saltus_results_put_time(r, out);
    saltus_results_put_names(r, out, "-mean");
    saltus_results_put_names(r, out, "-sd");
    if (o->variance) {
        saltus_results_put_names(r, out, "-variance");
    }
    if (o->fano) {
        saltus_results_put_names(r, out, "-fano");
    }
    for (int q = 0; q < o->n_quantiles; ++q) {
        char text[SALTUS_NUMBER_SIZE], head[SALTUS_NUMBER_SIZE + 4];
        (void)snprintf(head, sizeof head, "-q%s", saltus_number_format(o->quantiles[q], text));
        saltus_results_put_names(r, out, head);
    }
}

static void warn_of_bins(const saltus_table_options *o, double too_small)
{
    char text[200];
    if (too_small > 0.0 && o->warn) {
        (void)snprintf(
            text, sizeof text,
            "quantiles are of histograms with bins wider than 1: each is the least count "
            "of its bin, and at most %g below the true one",
            too_small);
        o->warn(o->warn_user, text);
    }
}

saltus_status saltus_results_print_table(const saltus_results *r,
                                         const saltus_table_options *options, FILE *out,
                                         saltus_error *err)
{
    if (!r || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    const saltus_table_options o = options ? *options : saltus_table_options_default();
    saltus_results view = *r;
    double too_small = 0.0;
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);

    SALTUS_TRY(saltus_table_options_check(&o, err));
    SALTUS_TRY(check_stats(r, err));
    if (o.n_quantiles > 0) {
        SALTUS_TRY(saltus_results_check_quantiles(r, err));
    }
    put_heads(r, &o, out);
    for (; view.at < saltus_results_n_swept(r) && !ferror(out); ++view.at) {
        SALTUS_TRY(print_point_stats(&view, &o, &too_small, out, err));
    }
    (void)fputc('\n', out);
    status = saltus_check_written(out, err);
    warn_of_bins(&o, too_small);
done:
    saltus_usual_numbers(plain, saved);
    return status;
}

saltus_status saltus_results_print_stats(const saltus_results *r, FILE *out, saltus_error *err)
{
    return saltus_results_print_table(r, NULL, out, err);
}

int saltus_width_of(const char *text)
{
    int n = 0;
    for (; *text; ++text) {
        n += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return n;
}

static void print_head(const saltus_results *r, FILE *out)
{
    (void)fprintf(out, "%s: ", *r->model ? r->model : "model");
    if (r->n_axes > 0) {
        (void)fprintf(out, "%lld point%s of %d value%s, at each ", (long long)r->n_swept,
                      r->n_swept == 1 ? "" : "s", r->n_axes, r->n_axes == 1 ? "" : "s");
    }
    (void)fprintf(out, "%lld %s, %s on %s", (long long)r->runs,
                  saltus_plural(r->runs, "trajectory", "trajectories"), r->method, r->device);
    if (r->events > 0) {
        (void)fprintf(out, ", %.4g events", (double)r->events);
    }
    if (r->seconds > 0) {
        (void)fprintf(out, ", %.3g s", r->seconds);
    }
    (void)fputc('\n', out);
    if (!r->complete) {
        const int64_t there = r->runs * saltus_results_n_swept(r);
        (void)fprintf(out, "incomplete: %lld of %lld %s", (long long)there, (long long)r->requested,
                      saltus_plural(r->requested, "trajectory", "trajectories"));
        if (r->stats_runs != r->runs) {
            (void)fprintf(out, "; statistics of the first %lld", (long long)r->stats_runs);
        }
        (void)fputc('\n', out);
    }
}

/* A line per point of a sweep: its values, and means and deviations of some columns at the end. */
static saltus_status print_points(const saltus_results *r, FILE *out, saltus_error *err)
{
    enum { SOME = 4 };
    saltus_status status = SALTUS_OK;
    saltus_results view = *r;
    struct moments m[2] = {{0}};
    const int n = r->n_counts + r->n_observables, shown = n < SOME ? n : SOME;
    const char *unit = saltus_results_time_unit(r);
    (void)fprintf(out, "at time %.6g%s%s, mean (sd):\n", r->times[r->n_points - 1],
                  *unit ? " " : "", unit);
    for (int a = 0; a < r->n_axes; ++a) {
        (void)fprintf(out, "  %12s", r->axis_names[a]);
    }
    for (int c = 0; c < shown; ++c) {
        (void)fprintf(out, "  %22s",
                      c < r->n_counts ? r->count_names[c] : r->observable_names[c - r->n_counts]);
    }
    for (; view.at < r->n_swept && view.at < SUMMARY_ROWS; ++view.at) {
        SALTUS_TRY(load(&view, SALTUS_MOMENT_MEAN, &m[0], err));
        SALTUS_TRY(load(&view, SALTUS_MOMENT_VARIANCE, &m[1], err));
        (void)fputc('\n', out);
        for (int a = 0; a < r->n_axes; ++a) {
            (void)fprintf(out, "  %12.6g", r->axis_values[a][view.at]);
        }
        for (int c = 0; c < shown; ++c) {
            (void)fprintf(out, "  %11.6g (%8.4g)", moment_at(r, &m[0], r->n_points - 1, c),
                          sqrt(moment_at(r, &m[1], r->n_points - 1, c)));
        }
        unload(&m[0]);
        unload(&m[1]);
        m[0] = m[1] = (struct moments){0};
    }
    (void)fputc('\n', out);
    if (r->n_swept > SUMMARY_ROWS || n > shown) {
        (void)fprintf(out, "  … all of them as CSV\n");
    }
    status = saltus_check_written(out, err);
done:
    unload(&m[0]);
    unload(&m[1]);
    return status;
}

saltus_status saltus_results_print_summary(const saltus_results *r, FILE *out, saltus_error *err)
{
    if (!r || !out) {
        return saltus_no_argument(err, __func__);
    }
    static const char *const titles[4] = {"mean", "sd", "min", "max"};
    static const saltus_moment moments[4] = {SALTUS_MOMENT_MEAN, SALTUS_MOMENT_VARIANCE,
                                             SALTUS_MOMENT_MIN, SALTUS_MOMENT_MAX};
    saltus_status status = SALTUS_OK;
    struct moments m[4] = {{0}};
    const int n = r->n_counts + r->n_observables;
    const int rows = n > SUMMARY_ROWS + 1 ? SUMMARY_ROWS : n;
    int width = 4;
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);

    print_head(r, out);
    SALTUS_TRY(check_stats(r, err));
    if (r->n_axes > 0) {
        status = print_points(r, out, err);
        goto done;
    }
    for (int i = 0; i < 4; ++i) {
        SALTUS_TRY(load(r, moments[i], &m[i], err));
    }
    for (int c = 0; c < rows; ++c) {
        const int w = saltus_width_of(c < r->n_counts ? r->count_names[c]
                                                      : r->observable_names[c - r->n_counts]);
        width = w > width ? w : width;
    }
    const char *unit = saltus_results_time_unit(r);
    (void)fprintf(out, "at time %.6g%s%s:\n  %-*s", r->times[r->n_points - 1], *unit ? " " : "",
                  unit, width, "");
    for (int i = 0; i < 4; ++i) {
        (void)fprintf(out, "  %12s", titles[i]);
    }
    for (int c = 0; c < rows; ++c) {
        const char *name =
            c < r->n_counts ? r->count_names[c] : r->observable_names[c - r->n_counts];
        (void)fprintf(out, "\n  %s%*s", name, width - saltus_width_of(name), "");
        for (int i = 0; i < 4; ++i) {
            const double x = moment_at(r, &m[i], r->n_points - 1, c);
            (void)fprintf(out, "  %12.*g", i < 2 ? 6 : 12, i == 1 ? sqrt(x) : x);
        }
    }
    (void)fputc('\n', out);
    if (rows < n) {
        (void)fprintf(out, "  … and %d more\n", n - rows);
    }
    SALTUS_TRY(saltus_results_summarise_derived(r, out, err));
    status = saltus_check_written(out, err);
done:
    for (int i = 0; i < 4; ++i) {
        unload(&m[i]);
    }
    saltus_usual_numbers(plain, saved);
    return status;
}
