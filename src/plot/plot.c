#include "plot/plot.h"

#include "core/list.h"
#include "core/memory.h"
#include "write/numbers.h"

#include <math.h>
#include <string.h>

enum {
    MAX_HEAT = 3,    /* above each other */
    MAX_SERIES = 6,  /* chosen by itself; more would not be told apart */
    FEW_LINES = 18,  /* sample trajectories where they are not the matter */
    ENOUGH_RUNS = 50 /* for a distribution that is worth looking at */
};

/* ------------------------------------------------------------------------------------------------
 * Choosing and loading
 */

static saltus_status add_named(saltus_plot *p, const char *name, size_t length, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n = p->r->n_counts + p->r->n_observables;
    int c = 0;
    while (c < n && (strncmp(saltus_column_name(p->r, c), name, length) != 0 ||
                     saltus_column_name(p->r, c)[length] != '\0')) {
        ++c;
    }
    if (c == n) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no species '%.*s'", p->r->path,
                                  (int)(length < 200 ? length : 200), name);
        saltus_error_hint(err, "'saltus stats' lists them");
        goto done;
    }
    if (p->n == MAX_NAMED) {
        SALTUS_FAIL(SALTUS_E_INVALID, "more than %d species in one figure", MAX_NAMED);
    }
    p->columns[p->n++] = c;
done:
    return status;
}

static saltus_status choose_named(saltus_plot *p, const char *list, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *name;
    size_t length;
    while (saltus_list_next(&list, &name, &length)) {
        SALTUS_TRY(add_named(p, name, length, err));
    }
done:
    return status;
}

/* How far a species moves in the whole ensemble, as far as that is finite. */
static double span_of(const double *min, const double *max, int64_t n_points, int n, int c)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t p = 0; p < n_points; ++p) {
        low = isfinite(min[p * n + c]) ? fmin(low, min[p * n + c]) : low;
        high = isfinite(max[p * n + c]) ? fmax(high, max[p * n + c]) : high;
    }
    return high > low ? high - low : 0;
}

/* Those that change; when they are many, those that change most, in the file's order. */
static saltus_status choose_moving(saltus_plot *p, int most, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results *r = p->r;
    const bool observables = r->n_counts == 0;
    const int n = observables ? r->n_observables : r->n_counts;
    const size_t size = (size_t)r->n_points * (size_t)n;
    double *min = saltus_calloc(size, sizeof *min), *max = saltus_calloc(size, sizeof *max);
    double *span = saltus_calloc((size_t)n, sizeof *span);
    int n_moving = 0;

    SALTUS_NEED(min);
    SALTUS_NEED(max);
    SALTUS_NEED(span);
    SALTUS_TRY(saltus_results_moment(r, observables, SALTUS_MOMENT_MIN, min, err));
    SALTUS_TRY(saltus_results_moment(r, observables, SALTUS_MOMENT_MAX, max, err));
    for (int c = 0; c < n; ++c) {
        span[c] = span_of(min, max, r->n_points, n, c);
    }
    for (int c = 0; c < n; ++c) {
        int wider = 0;
        n_moving += span[c] > 0;
        for (int k = 0; k < n; ++k) {
            wider += span[k] > span[c] || (span[k] == span[c] && k < c);
        }
        if (wider < most && (span[c] > 0 || wider == 0)) {
            p->columns[p->n++] = c + (observables ? r->n_counts : 0);
        }
    }
    p->of = n_moving > p->n ? n : 0;
done:
    saltus_free(min);
    saltus_free(max);
    saltus_free(span);
    return status;
}

/* Of a run that was interrupted before there were statistics. */
static void choose_first(saltus_plot *p)
{
    const int n = p->r->n_counts;
    while (p->n < n && p->n < MAX_SERIES) {
        p->columns[p->n] = p->n;
        ++p->n;
    }
    p->of = p->n < n ? n : 0;
}

/* One moment of the chosen columns, [point][chosen]. */
static saltus_status load_moment(saltus_plot *p, saltus_moment moment, double **out,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results *r = p->r;
    const size_t points = (size_t)r->n_points;
    double *x = saltus_calloc(points, (size_t)r->n_counts * sizeof *x);
    double *y = saltus_calloc(points, (size_t)r->n_observables * sizeof *y);
    double *to = *out = saltus_calloc(points, (size_t)p->n * sizeof *to);

    SALTUS_NEED(x);
    SALTUS_NEED(y);
    SALTUS_NEED(to);
    SALTUS_TRY(saltus_results_moment(r, false, moment, x, err));
    SALTUS_TRY(saltus_results_moment(r, true, moment, y, err));
    for (size_t i = 0; i < points; ++i) {
        for (int k = 0; k < p->n; ++k) {
            const int o = p->columns[k] - r->n_counts;
            *to++ = o < 0 ? x[i * (size_t)r->n_counts + (size_t)p->columns[k]]
                          : y[i * (size_t)r->n_observables + (size_t)o];
        }
    }
done:
    saltus_free(x);
    saltus_free(y);
    return status;
}

static saltus_status load(saltus_plot *p, const saltus_plot_options *options, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    p->named = options->species != NULL;
    const bool heat = options->kind && strcmp(options->kind, "heatmap") == 0;
    if (p->named) {
        SALTUS_TRY(choose_named(p, options->species, err));
    } else if (p->r->stats_runs < 1) {
        choose_first(p);
    } else {
        SALTUS_TRY(choose_moving(p, heat ? MAX_HEAT : MAX_SERIES, err));
    }
    if (heat && p->n > MAX_HEAT) {
        p->of = p->n;
        p->n = MAX_HEAT;
    }
    SALTUS_TRY(load_moment(p, SALTUS_MOMENT_MEAN, &p->mean, err));
    SALTUS_TRY(load_moment(p, SALTUS_MOMENT_VARIANCE, &p->sd, err));
    SALTUS_TRY(load_moment(p, SALTUS_MOMENT_MIN, &p->min, err));
    SALTUS_TRY(load_moment(p, SALTUS_MOMENT_MAX, &p->max, err));
    for (int64_t i = 0; i < p->r->n_points * p->n; ++i) {
        p->sd[i] = sqrt(p->sd[i]);
    }
    if (p->r->has_counts || p->r->has_observables) {
        const int wanted = options->n_trajectories > 0 ? options->n_trajectories : 0;
        p->n_runs = wanted < p->r->runs ? wanted : p->r->runs;
        SALTUS_TRY(saltus_sample_runs(p->r, p->columns, p->n, p->n_runs, &p->runs, err));
    }
    p->point = saltus_nearest_point(p->r, options->time);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Figures
 */

static const struct place whole = {0.105, 0.97, 0.12, 0.86};

static saltus_status check_distribution(const saltus_plot *p, bool everywhere, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int k = 0; k < p->n; ++k) {
        if (p->columns[k] >= p->r->n_counts) {
            SALTUS_FAIL(SALTUS_E_INVALID, "%s: '%s' is no species, and has no histogram",
                        p->r->path, saltus_column_name(p->r, p->columns[k]));
        }
    }
    if (!(everywhere ? saltus_has_distribution(p->r)
                     : saltus_has_distribution_at(p->r, p->point))) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no distribution at this time",
                                  p->r->path);
        saltus_error_hint(err, "run with `record all` or `record histogram`");
    }
done:
    return status;
}

static saltus_status draw_histogram(saltus_plot *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_distribution d[MAX_NAMED] = {{0}};
    SALTUS_TRY(check_distribution(p, false, err));
    SALTUS_TRY(saltus_distributions(p->r, p->columns, p->n, &p->point, 1, d, err));
    saltus_plot_upright(p, d, whole);
done:
    saltus_distributions_free(d, p->n);
    return status;
}

/* Heat maps above each other share the axis of time. */
static saltus_status draw_heatmap(saltus_plot *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_distribution d[MAX_NAMED] = {{0}};
    int64_t points[SALTUS_HEAT_COLUMNS];
    const int64_t n = saltus_heat_points(p, points);

    SALTUS_TRY(check_distribution(p, true, err));
    SALTUS_TRY(saltus_distributions(p->r, p->columns, p->n, points, n, d, err));
    for (int k = 0; k < p->n; ++k) {
        const double height = (0.90 - 0.12) / p->n, top = 0.90 - k * height;
        struct place at = {whole.left, 0.9, top - height + (p->n > 1 ? 0.03 : 0), top};
        at.bottom = k == p->n - 1 ? 0.12 : at.bottom;
        saltus_plot_heat(p, k, &d[k], at, true, k == p->n - 1);
    }
done:
    saltus_distributions_free(d, p->n);
    return status;
}

/* Time on the left, the distribution at the end, sideways, on the right; they share the axis of
 * values. One species is shown as a heat map, because a mean hides a second state. */
static saltus_status draw_composite(saltus_plot *p, saltus_error *err)
{
    static const struct place left = {0.105, 0.735, 0.12, 0.86}, right = {0.755, 0.97, 0.12, 0.86};
    saltus_status status = SALTUS_OK;
    saltus_distribution last[MAX_NAMED] = {{0}}, heat = {0};
    int64_t points[SALTUS_HEAT_COLUMNS];
    const int64_t n = saltus_heat_points(p, points), few = 1 + FEW_LINES / p->n;

    SALTUS_TRY(saltus_distributions(p->r, p->columns, p->n, &p->point, 1, last, err));
    p->n_runs = p->n_runs < few ? p->n_runs : few;
    p->bands = p->lines = true;
    saltus_plot_find_range(p);
    if (p->n == 1 && p->r->n_points > 2 && saltus_has_distribution(p->r)) {
        SALTUS_TRY(saltus_distributions(p->r, p->columns, 1, points, n, &heat, err));
        saltus_plot_heat(p, 0, &heat, left, false, true);
    } else {
        for (int k = 0; k < p->n; ++k) {
            saltus_plot_include(p, &last[k]);
        }
        saltus_plot_series(p, left);
    }
    saltus_plot_sideways(p, last, right);
done:
    saltus_distributions_free(last, p->n);
    saltus_distributions_free(&heat, 1);
    return status;
}

static bool only_species(const saltus_plot *p)
{
    for (int k = 0; k < p->n; ++k) {
        if (p->columns[k] >= p->r->n_counts) {
            return false;
        }
    }
    return true;
}

static saltus_status draw(saltus_plot *p, const saltus_plot_options *options, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *kind = options->kind ? options->kind : "auto";
    const bool automatic = strcmp(kind, "auto") == 0;
    p->lines = !automatic || p->r->runs < ENOUGH_RUNS || p->n > 1;
    if (strcmp(kind, "histogram") == 0) {
        return draw_histogram(p, err);
    }
    if (strcmp(kind, "heatmap") == 0) {
        return draw_heatmap(p, err);
    }
    if (strcmp(kind, "kymograph") == 0) {
        return saltus_plot_kymograph(p, err);
    }
    if (strcmp(kind, "slice") == 0) {
        return saltus_plot_slice(p, options->slice, options->time, err);
    }
    if (strcmp(kind, "trajectories") == 0) {
        if (!p->runs || p->n_runs < 1) {
            status = saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no trajectories to draw",
                                      p->r->path);
            saltus_error_hint(err, "run with `record all` to keep every sample");
            goto done;
        }
        p->bands = false;
    }
    if (automatic && p->r->runs >= ENOUGH_RUNS && only_species(p) &&
        saltus_has_distribution_at(p->r, p->point)) {
        return draw_composite(p, err);
    }
    if (automatic && p->r->runs == 1) {
        p->bands = !p->runs;
    }
    saltus_plot_find_range(p);
    saltus_plot_series(p, whole);
done:
    return status;
}

static saltus_status check_kind(const char *kind, saltus_error *err)
{
    static const char *const kinds[] = {"auto",    "bands",     "trajectories", "histogram",
                                        "heatmap", "kymograph", "slice"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        if (strcmp(kind, kinds[i]) == 0) {
            return SALTUS_OK;
        }
    }
    const saltus_status status =
        saltus_error_set(err, SALTUS_E_INVALID, "'%.100s' is no kind of figure", kind);
    saltus_error_hint(err, "auto, bands, trajectories, histogram, heatmap, kymograph or slice");
    return status;
}

saltus_status saltus_results_plot(const saltus_results *results, const char *figure,
                                  const saltus_plot_options *options, saltus_error *err)
{
    if (!results || !figure) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_plot *p = saltus_calloc(1, sizeof *p);
    const saltus_plot_options defaults = saltus_plot_options_default();
    const saltus_plot_options *o = options ? options : &defaults;
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);

    SALTUS_NEED(p);
    p->r = results;
    p->bands = true;
    SALTUS_TRY(saltus_gnuplot_check(figure, err));
    SALTUS_TRY(check_kind(o->kind ? o->kind : "auto", err));
    const bool has_slice = results->space.n_frames > 0 && o->kind && strcmp(o->kind, "slice") == 0;
    if ((results->stats_runs < 1 && !has_slice) || results->n_counts + results->n_observables < 1) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: holds nothing to draw", results->path);
    }
    if (results->n_axes > 0) {
        SALTUS_TRY(saltus_gnuplot_begin(&p->gnuplot, figure, err));
        SALTUS_TRY(saltus_plot_sweep(&p->gnuplot, results, o, err));
        status = saltus_gnuplot_run(&p->gnuplot, err);
        goto done;
    }
    if (o->derived) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: derived quantities are of sweeps", results->path);
    }
    SALTUS_TRY(load(p, o, err));
    SALTUS_TRY(saltus_gnuplot_begin(&p->gnuplot, figure, err));
    saltus_plot_begin(p, o->title);
    SALTUS_TRY(draw(p, o, err));
    saltus_plot_end(p);
    SALTUS_TRY(saltus_gnuplot_run(&p->gnuplot, err));
done:
    if (p) {
        saltus_gnuplot_end(&p->gnuplot);
        saltus_free(p->mean);
        saltus_free(p->sd);
        saltus_free(p->min);
        saltus_free(p->max);
        saltus_free(p->runs);
        saltus_free(p);
    }
    saltus_usual_numbers(plain, saved);
    return status;
}
