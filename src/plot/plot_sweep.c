/* Figures of sweeps: distributions side by side along one value, a map of two, slices of three, and
 * points in the plane of the first two of a design. */
#include "plot/plot.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

enum {
    MOST_VIOLINS = 48, /* beside each other; more make a band */
    MOST_SLICES = 9,
    MOST_TICS = 6,
    SLICE_TICS = 3,
    VIOLIN_BINS = 48,
};

/* What is drawn: a number for every point of the sweep. */
typedef struct quantity {
    const saltus_results *r;
    const char *name;
    int column;        /* -1: a derived quantity */
    int64_t sample;    /* at which a column is looked at */
    double *mean, *sd; /* [point] */
    double *runs;      /* [point][run] of a derived quantity, else NULL */
} quantity;

/* Mean and deviation of what is a number. */
static void summarise(const double *x, int64_t n, double *mean, double *sd)
{
    double sum = 0.0, square = 0.0;
    int64_t k = 0;
    for (int64_t i = 0; i < n; ++i) {
        k += isfinite(x[i]);
        sum += isfinite(x[i]) ? x[i] : 0.0;
    }
    *mean = k > 0 ? sum / (double)k : (double)NAN;
    for (int64_t i = 0; i < n; ++i) {
        square += isfinite(x[i]) ? (x[i] - *mean) * (x[i] - *mean) : 0.0;
    }
    *sd = k > 1 ? sqrt(square / (double)(k - 1)) : 0.0;
}

/* Means and deviations of every column at the sample, [point][column]. */
static saltus_status load_columns(const saltus_results *r, int64_t sample, double *mean, double *sd,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results view = *r;
    const int n[2] = {r->n_counts, r->n_observables}, columns = n[0] + n[1];
    const int most = n[0] > n[1] ? n[0] : n[1];
    double *x = saltus_calloc((size_t)r->n_points, (size_t)most * sizeof *x);
    SALTUS_NEED(x);
    for (; view.at < r->n_swept; ++view.at) {
        for (int k = 0, first = 0; k < 2; first += n[k++]) {
            double *to = mean + view.at * columns + first;
            double *to_sd = sd + view.at * columns + first;
            SALTUS_TRY(saltus_results_moment(&view, k, SALTUS_MOMENT_MEAN, x, err));
            memcpy(to, x + sample * n[k], (size_t)n[k] * sizeof *to);
            SALTUS_TRY(saltus_results_moment(&view, k, SALTUS_MOMENT_VARIANCE, x, err));
            for (int c = 0; c < n[k]; ++c) {
                to_sd[c] = sqrt(x[sample * n[k] + c]);
            }
        }
    }
done:
    saltus_free(x);
    return status;
}

/* The column whose mean moves most along the sweep, for its size. */
static int most_moving(const saltus_results *r, const double *mean, int columns)
{
    int best = 0;
    double most = -1.0;
    for (int c = 0; c < columns; ++c) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t g = 0; g < r->n_swept; ++g) {
            low = fmin(low, mean[g * columns + c]);
            high = fmax(high, mean[g * columns + c]);
        }
        const double span = (high - low) / (fabs(high) + fabs(low) + 1.0);
        if (span > most) {
            most = span;
            best = c;
        }
    }
    return best;
}

static saltus_status load_derived(quantity *q, const char *name, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    q->column = -1;
    q->name = name;
    SALTUS_TRY(saltus_results_derived(q->r, name, &q->runs, err));
    if (!q->runs) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no derived quantity '%.100s'",
                                  q->r->path, name);
        saltus_error_hint(err, "name it as `derive` had it, such as period:X");
        goto done;
    }
    for (int64_t g = 0; g < q->r->n_swept; ++g) {
        summarise(q->runs + g * q->r->runs, q->r->runs, &q->mean[g], &q->sd[g]);
    }
done:
    return status;
}

static saltus_status load_column(quantity *q, const char *name, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results *r = q->r;
    const int columns = r->n_counts + r->n_observables;
    double *mean = saltus_calloc((size_t)r->n_swept, (size_t)columns * sizeof *mean);
    double *sd = saltus_calloc((size_t)r->n_swept, (size_t)columns * sizeof *sd);
    SALTUS_NEED(mean && sd);
    SALTUS_TRY(load_columns(r, q->sample, mean, sd, err));
    q->column = name ? columns : most_moving(r, mean, columns);
    for (int c = 0; name && c < columns; ++c) {
        q->column = strcmp(saltus_column_name(r, c), name) == 0 ? c : q->column;
    }
    if (q->column == columns) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: holds no species '%.200s'", r->path, name);
    }
    q->name = saltus_column_name(r, q->column);
    for (int64_t g = 0; g < r->n_swept; ++g) {
        q->mean[g] = mean[g * columns + q->column];
        q->sd[g] = sd[g * columns + q->column];
    }
done:
    saltus_free(mean);
    saltus_free(sd);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Script
 */

static void label(FILE *out, const char *command, const char *text, const char *rest)
{
    (void)fprintf(out, "%s ", command);
    saltus_gnuplot_quote(out, text);
    (void)fprintf(out, " %s\n", rest);
}

#define TIC_STYLE "nomirror out scale 0.6 tc rgb '#404040'"

static void begin(FILE *out)
{
    (void)fputs("set border 3 lc rgb '#707070' lw 1\n"
                "set tics " TIC_STYLE "\nunset key\n"
                "set style fill solid noborder\n"
                "set palette defined (0 '#08285c', 0.3 '#1763a6', 0.55 '#4f9bcb', 0.8 '#f2d694', "
                "1 '#d55e00')\n",
                out);
}

/* From one value that is written to the next, with most of them at most: in equal steps from the
 * first to the last if there are such, shorter than all the way for more than three. */
static int64_t tic_step(int64_t n, int most)
{
    const int64_t least = most < 2 ? n : (n - 1 + most - 2) / (most - 1);
    for (int64_t step = least > 1 ? least : 1; step < n; ++step) {
        if ((n - 1) % step == 0 && (step < n - 1 || most <= 3)) {
            return step;
        }
    }
    return least > 1 ? least : 1;
}

/* Values stand side by side, at 0, 1, 2 …, with some of them written below. */
static void index_tics(FILE *out, char axis, const double *values, int64_t n, int most)
{
    const int64_t step = tic_step(n, most);
    (void)fprintf(out, "set %crange [-0.5:%lld.5]\n", axis, (long long)n - 1);
    if (most == 0) {
        (void)fprintf(out, "unset %ctics\n", axis);
        return;
    }
    (void)fprintf(out, "set %ctics " TIC_STYLE " (", axis);
    for (int64_t i = 0; i < n; i += step) {
        (void)fprintf(out, "%s'%.3g' %lld", i > 0 ? ", " : "", values[i], (long long)i);
    }
    (void)fputs(")\n", out);
}

/* A grid's axis: its values in turn; point i of it is point first + i * step of the sweep. */
static int64_t axis_step(const saltus_results *r, int axis)
{
    int64_t step = 1;
    for (int a = axis + 1; a < r->n_axes; ++a) {
        step *= r->axis_lengths[a];
    }
    return step;
}

static saltus_status put_axis_tics(FILE *out, const saltus_results *r, int axis, char letter,
                                   int most, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n = r->axis_lengths[axis], step = axis_step(r, axis);
    double *values = saltus_calloc((size_t)n, sizeof *values);
    SALTUS_NEED(values);
    for (int64_t i = 0; i < n; ++i) {
        values[i] = i * step < r->n_swept ? r->axis_values[axis][i * step] : (double)NAN;
    }
    index_tics(out, letter, values, n, most);
done:
    saltus_free(values);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * One value
 */

/* Where and how wide a distribution is, for one outline: middles of bins and heights. */
static void put_violin(FILE *out, const double *edges, const double *heights, int64_t n, int64_t at)
{
    double most = 0.0;
    int64_t first = n, last = -1;
    for (int64_t b = 0; b < n; ++b) {
        const double h = heights[b] / (edges[b + 1] - edges[b]);
        most = fmax(most, h);
        first = h > 0.0 && b < first ? b : first;
        last = h > 0.0 ? b : last;
    }
    /* up on the left, down on the right */
    for (int64_t b = first; b <= last; ++b) {
        const double h = 0.46 * heights[b] / (edges[b + 1] - edges[b]) / most;
        (void)fprintf(out, "%.4f %.9g\n%.4f %.9g\n", (double)at - h, edges[b], (double)at - h,
                      edges[b + 1]);
    }
    for (int64_t b = last; b >= first; --b) {
        const double h = 0.46 * heights[b] / (edges[b + 1] - edges[b]) / most;
        (void)fprintf(out, "%.4f %.9g\n%.4f %.9g\n", (double)at + h, edges[b + 1], (double)at + h,
                      edges[b]);
    }
    (void)fputs("\n\n", out);
}

static saltus_status put_counts(FILE *out, const quantity *q, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results view = *q->r;
    double *heights = NULL;
    saltus_distribution d = {0};
    for (; view.at < q->r->n_swept; ++view.at) {
        SALTUS_TRY(saltus_distributions(&view, &q->column, 1, &q->sample, 1, &d, err));
        heights = saltus_calloc((size_t)d.n_bins, sizeof *heights);
        SALTUS_NEED(heights);
        for (int64_t b = 0; b < d.n_bins; ++b) {
            heights[b] = (double)d.counts[b];
        }
        put_violin(out, d.edges, heights, d.n_bins, view.at);
        saltus_free(heights);
        heights = NULL;
        saltus_distributions_free(&d, 1);
        d = (saltus_distribution){0};
    }
done:
    saltus_free(heights);
    saltus_distributions_free(&d, 1);
    return status;
}

/* Of a derived quantity, all with the same bins. */
static void put_reals(FILE *out, const quantity *q)
{
    const int64_t n = q->r->n_swept * q->r->runs;
    double low = INFINITY, high = -INFINITY, edges[VIOLIN_BINS + 1];
    for (int64_t i = 0; i < n; ++i) {
        low = isfinite(q->runs[i]) ? fmin(low, q->runs[i]) : low;
        high = isfinite(q->runs[i]) ? fmax(high, q->runs[i]) : high;
    }
    high = high > low ? high : low + 1.0;
    for (int b = 0; b <= VIOLIN_BINS; ++b) {
        edges[b] = low + (high - low) * b / VIOLIN_BINS;
    }
    for (int64_t g = 0; g < q->r->n_swept; ++g) {
        double heights[VIOLIN_BINS] = {0};
        for (int64_t i = g * q->r->runs; i < (g + 1) * q->r->runs; ++i) {
            const int b =
                isfinite(q->runs[i]) ? (int)((q->runs[i] - low) / (high - low) * VIOLIN_BINS) : -1;
            if (b >= 0) {
                heights[b < VIOLIN_BINS ? b : VIOLIN_BINS - 1] += 1.0;
            }
        }
        put_violin(out, edges, heights, VIOLIN_BINS, g);
    }
}

static bool has_distributions(const quantity *q)
{
    const saltus_results *r = q->r;
    return r->n_swept <= MOST_VIOLINS && r->runs >= 20 &&
           (q->runs || (q->column < r->n_counts && saltus_has_distribution_at(r, q->sample)));
}

/* Whether values rise in equal ratios, as those of log: do. */
static bool rise_in_ratios(const double *values, int64_t n)
{
    bool is_log = n >= 3 && values[0] > 0.0 && values[1] > values[0];
    for (int64_t i = 2; is_log && i < n; ++i) {
        const double ratio = values[1] / values[0];
        is_log = fabs(values[i] - ratio * values[i - 1]) <= 1e-6 * values[i];
    }
    return is_log;
}

static saltus_status draw_line(FILE *out, const quantity *q, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results *r = q->r;
    const bool violins = has_distributions(q);
    (void)fputs("set grid y lc rgb '#e4e4e4' lt 1 lw 0.8\n", out);
    label(out, "set xlabel", r->axis_names[0], "tc rgb '#404040'");
    label(out, "set ylabel", q->name, "tc rgb '#404040'");
    (void)fputs("$mean << EOD\n", out);
    for (int64_t g = 0; g < r->n_swept; ++g) {
        (void)fprintf(out, "%lld %.9g %.9g %.9g\n", (long long)g, r->axis_values[0][g], q->mean[g],
                      q->sd[g]);
    }
    (void)fputs("EOD\n", out);
    if (!violins && rise_in_ratios(r->axis_values[0], r->n_swept)) {
        (void)fprintf(out, "set logscale x\nset xrange [%.9g:%.9g]\n", r->axis_values[0][0],
                      r->axis_values[0][r->n_swept - 1]);
    }
    if (!violins) {
        (void)fputs("plot $mean using 2:($3-$4):($3+$4) with filledcurves fc rgb '#a9cfe6', "
                    "$mean using 2:3 with linespoints lc rgb '#0072B2' lw 2 pt 7 ps 0.5\n",
                    out);
        return status;
    }
    index_tics(out, 'x', r->axis_values[0], r->n_swept, MOST_TICS + 2);
    (void)fputs("$violins << EOD\n", out);
    if (q->runs) {
        put_reals(out, q);
    } else {
        SALTUS_TRY(put_counts(out, q, err));
    }
    (void)fprintf(
        out,
        "EOD\nplot for [i=0:%lld] $violins index i using 1:2 with "
        "filledcurves closed fc rgb '#4f9bcb', $mean using 1:3 with points lc rgb '#D55E00' pt 7 "
        "ps 0.7\n",
        (long long)r->n_swept - 1);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Two values and more
 */

/* The map of two axes at the points from `first` on; an axis without tics has no name either. */
static saltus_status draw_map(FILE *out, const quantity *q, int x, int y, int64_t first, int x_tics,
                              int y_tics, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results *r = q->r;
    SALTUS_TRY(put_axis_tics(out, r, x, 'x', x_tics, err));
    SALTUS_TRY(put_axis_tics(out, r, y, 'y', y_tics, err));
    label(out, "set xlabel", x_tics > 0 ? r->axis_names[x] : "", "tc rgb '#404040'");
    label(out, "set ylabel", y_tics > 0 ? r->axis_names[y] : "", "tc rgb '#404040'");
    (void)fputs("$map << EOD\n", out);
    for (int64_t j = 0; j < r->axis_lengths[y]; ++j) {
        for (int64_t i = 0; i < r->axis_lengths[x]; ++i) {
            const int64_t g = first + i * axis_step(r, x) + j * axis_step(r, y);
            const double z = g < r->n_swept ? q->mean[g] : (double)NAN;
            if (isfinite(z)) {
                (void)fprintf(out, "%lld %lld %.9g\n", (long long)i, (long long)j, z);
            }
        }
    }
    /* an empty corner keeps gnuplot content when there is nothing else */
    (void)fprintf(out, "EOD\nplot $map using 1:2:3 with image\n");
done:
    return status;
}

static void find_colours(FILE *out, const quantity *q)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t g = 0; g < q->r->n_swept; ++g) {
        low = isfinite(q->mean[g]) ? fmin(low, q->mean[g]) : low;
        high = isfinite(q->mean[g]) ? fmax(high, q->mean[g]) : high;
    }
    if (!(low < high)) {
        low = isfinite(low) ? low : 0.0;
        high = low + 1.0;
    }
    (void)fprintf(out, "set cbrange [%.9g:%.9g]\n", low, high);
    label(out, "set cblabel", q->name, "tc rgb '#404040' offset 1.5,0");
}

/* A map of the last two values for some of the first one's. */
static saltus_status draw_slices(FILE *out, const quantity *q, const char *title, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char head[320];
    const saltus_results *r = q->r;
    const int64_t n = r->axis_lengths[0], shown = n < MOST_SLICES ? n : MOST_SLICES;
    const int columns = shown <= 3 ? (int)shown : shown <= 4 ? 2 : 3;
    const int rows = (int)((shown + columns - 1) / columns);
    (void)fprintf(out,
                  "set colorbox user origin 0.925,0.12 size 0.012,0.78\n"
                  "set multiplot layout %d,%d margins 0.15,0.9,0.13,0.88 spacing 0.07,%g\n",
                  rows, columns, rows > 1 ? 0.1 : 0.0);
    (void)snprintf(head, sizeof head, "%.200s: %.80s", title, q->name);
    label(out, "set label 1", head, "at screen 0.5,0.975 center tc rgb '#404040'");
    for (int64_t i = 0; i < shown; ++i) {
        const int64_t at = shown > 1 ? i * (n - 1) / (shown - 1) : 0;
        const int64_t first = at * axis_step(r, 0);
        char slice[120];
        if (first >= r->n_swept) {
            break;
        }
        (void)snprintf(slice, sizeof slice, "%.80s = %.4g", r->axis_names[0],
                       r->axis_values[0][first]);
        label(out, "set title", slice, "tc rgb '#404040'");
        SALTUS_TRY(draw_map(out, q, 2, 1, first, i + columns >= shown ? SLICE_TICS : 0,
                            i % columns == 0 ? SLICE_TICS : 0, err));
        (void)fputs("unset label 1\nunset colorbox\n", out); /* once is enough */
    }
    (void)fputs("unset multiplot\n", out);
done:
    return status;
}

static void draw_points(FILE *out, const quantity *q)
{
    const saltus_results *r = q->r;
    label(out, "set xlabel", r->axis_names[0], "tc rgb '#404040'");
    label(out, "set ylabel", r->axis_names[1], "tc rgb '#404040'");
    (void)fputs("$points << EOD\n", out);
    for (int64_t g = 0; g < r->n_swept; ++g) {
        (void)fprintf(out, "%.9g %.9g %.9g\n", r->axis_values[0][g], r->axis_values[1][g],
                      q->mean[g]);
    }
    (void)fputs("EOD\nset grid lc rgb '#e4e4e4' lt 1 lw 0.8\n"
                "set format xy '%.3g'\nset xtics autofreq\n"
                "plot $points using 1:2:3 with points palette pt 7 ps 1.3\n",
                out);
}

saltus_status saltus_plot_sweep(saltus_gnuplot *gnuplot, const saltus_results *r,
                                const saltus_plot_options *options, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    quantity q = {.r = r, .sample = saltus_nearest_point(r, options->time)};
    FILE *const out = gnuplot->script;
    char title[300];
    bool is_grid = true;
    for (int a = 0; a < r->n_axes; ++a) {
        is_grid = is_grid && r->axis_lengths[a] > 0;
    }
    q.mean = saltus_calloc((size_t)r->n_swept, sizeof *q.mean);
    q.sd = saltus_calloc((size_t)r->n_swept, sizeof *q.sd);
    SALTUS_NEED(q.mean && q.sd);
    status = options->derived ? load_derived(&q, options->derived, err)
                              : load_column(&q, options->species, err);
    SALTUS_TRY(status);
    begin(out);
    find_colours(out, &q);
    if (options->derived) {
        (void)snprintf(title, sizeof title, "%.200s", options->title ? options->title : r->model);
    } else {
        (void)snprintf(title, sizeof title, "%.200s, time %.6g",
                       options->title ? options->title : r->model, r->times[q.sample]);
    }
    if (is_grid && r->n_axes == 3) {
        SALTUS_TRY(draw_slices(out, &q, title, err));
        goto done;
    }
    label(out, "set title", title, "tc rgb '#404040'");
    if (r->n_axes == 1) {
        SALTUS_TRY(draw_line(out, &q, err));
        goto done;
    }
    (void)fputs("set rmargin at screen 0.82\n", out); /* room for the scale of colours */
    if (is_grid && r->n_axes == 2) {
        SALTUS_TRY(draw_map(out, &q, 1, 0, 0, MOST_TICS, MOST_TICS, err));
    } else {
        draw_points(out, &q);
    }
done:
    saltus_free(q.mean);
    saltus_free(q.sd);
    saltus_free(q.runs);
    return status;
}
