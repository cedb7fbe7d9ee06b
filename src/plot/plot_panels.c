#include "plot/plot.h"

#include <math.h>
#include <string.h>

enum { LINE_POINTS = 1200 }; /* along a curve */

#define LARGEST 1e300 /* that is drawn: margins must not overflow */

/* Okabe and Ito's colours, which colour-blind people can tell apart. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#444444"};
enum { N_COLOURS = sizeof colours / sizeof *colours };

const char *saltus_column_name(const saltus_results *r, int column)
{
    return column < r->n_counts ? r->count_names[column]
                                : r->observable_names[column - r->n_counts];
}

/* Widen a range to a finite value that can be drawn. */
static void widen(double *low, double *high, double x)
{
    if (fabs(x) < LARGEST) {
        *low = fmin(*low, x);
        *high = fmax(*high, x);
    }
}

/* What gnuplot takes for a missing value stands for every one that is not finite. */
static void put_value(FILE *out, double x, char end)
{
    if (fabs(x) < LARGEST) {
        (void)fprintf(out, "%.9g%c", x, end);
    } else {
        (void)fprintf(out, "NaN%c", end);
    }
}

/* The axis of values starts at 0 unless all that is shown lies far from it. */
void saltus_plot_find_range(saltus_plot *p)
{
    const int64_t n = p->r->n_points * p->n;
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n && p->bands; ++i) {
        widen(&low, &high, fmax(p->mean[i] - p->sd[i], p->min[i]));
        widen(&low, &high, fmin(p->mean[i] + p->sd[i], p->max[i]));
    }
    for (int64_t i = 0; i < n * p->n_runs && p->runs; ++i) {
        widen(&low, &high, p->runs[i]);
    }
    if (!(low <= high)) {
        low = high = 0;
    }
    const double margin = high > low ? 0.04 * (high - low) : 1;
    p->high = high + margin;
    p->low = low >= 0 && low < 0.6 * high ? 0 : low - margin;
    p->low = low >= 0 && p->low < 0 ? 0 : p->low;
}

void saltus_plot_style(FILE *out)
{
    (void)fputs("set border 3 lc rgb '#707070' lw 1\n"
                "set tics nomirror out scale 0.6 tc rgb '#404040'\n"
                "set grid lc rgb '#e4e4e4' lt 1 lw 0.8\n"
                "set style fill solid noborder\n"
                "set palette defined (0 '#ffffff', 0.08 '#e6f0f8', 0.25 '#a9cfe6', 0.5 '#4f9bcb', "
                "0.75 '#1763a6', 1 '#08285c')\n"
                "unset key\n",
                out);
}

void saltus_plot_place(FILE *out, struct place at)
{
    (void)fprintf(out,
                  "set lmargin at screen %g\nset rmargin at screen %g\n"
                  "set bmargin at screen %g\nset tmargin at screen %g\n",
                  at.left, at.right, at.bottom, at.top);
}

void saltus_plot_label(FILE *out, const char *command, const char *text, const char *rest)
{
    (void)fprintf(out, "%s ", command);
    saltus_gnuplot_quote(out, text);
    (void)fprintf(out, " %s\n", rest);
}

void saltus_plot_caption(FILE *out, const char *axis, const char *text, struct place at)
{
    char where[120];
    if (axis[0] == 'x') {
        (void)snprintf(where, sizeof where, "at screen %g,0.028 center tc rgb '#404040'",
                       (at.left + at.right) / 2);
        saltus_plot_label(out, "set label 103", text, where);
    } else {
        (void)snprintf(where, sizeof where,
                       "at screen 0.017,%g center rotate by 90 tc rgb '#404040'",
                       (at.bottom + at.top) / 2);
        saltus_plot_label(out, "set label 104", text, where);
    }
}

void saltus_plot_clear(FILE *out)
{
    for (int i = 101; i <= 119; ++i) {
        (void)fprintf(out, "unset label %d\n", i);
    }
    (void)fputs("unset key\n", out);
}

/* The model on the left, what was run on the right; in the corner below, what is left out. */
static void head(saltus_plot *p, const char *title, struct place at)
{
    char text[160], where[160];
    (void)snprintf(text, sizeof text, "%lld trajector%s, %s method%s", (long long)p->r->runs,
                   p->r->runs == 1 ? "y" : "ies", p->r->method,
                   p->r->complete ? "" : " (incomplete)");
    (void)snprintf(where, sizeof where, "at screen %g,0.955 left font ',%d' tc rgb '#202020'",
                   at.left, p->gnuplot.font + p->gnuplot.font / 4);
    saltus_plot_label(p->gnuplot.script, "set label 101", title ? title : p->r->model, where);
    (void)snprintf(where, sizeof where, "at screen %g,0.955 right tc rgb '#707070'", at.right);
    saltus_plot_label(p->gnuplot.script, "set label 102", text, where);
    if (p->of > 0) {
        (void)snprintf(text, sizeof text, "%d of %d species%s", p->n, p->of,
                       p->named ? " named" : "");
        saltus_plot_label(p->gnuplot.script, "set label 106", text,
                          "at screen 0.012,0.028 left tc rgb '#707070'");
    }
}

void saltus_plot_time_axis(const saltus_plot *p, struct place at, bool shown)
{
    FILE *out = p->gnuplot.script;
    const double first = p->r->times[0], last = p->r->times[p->r->n_points - 1];
    (void)fprintf(out, "set xrange [%.17g:%.17g]\n", first, last > first ? last : first + 1);
    (void)fputs(shown ? "set format x\n" : "set format x ''\n", out);
    if (shown) {
        char text[80] = "time";
        if (p->r->n_time_units > 0 && strlen(p->r->time_unit[0]) < 40) {
            (void)snprintf(text, sizeof text, "time (%s)", p->r->time_unit[0]);
        }
        saltus_plot_caption(out, "x", text, at);
    }
}

/* Numbers at an axis of counts are whole. Where less than one molecule is shown, means are. */
static void count_tics(const saltus_plot *p, const char *axis, double range)
{
    bool counts = true;
    for (int k = 0; k < p->n; ++k) {
        counts &= p->columns[k] < p->r->n_counts;
    }
    (void)fprintf(p->gnuplot.script, "set %stics %s\n", axis,
                  counts && range >= 2 && range < 8 ? "1" : "autofreq");
}

/* A round distance of about `rough`, whole. */
static double whole_step(double rough)
{
    double step = 1;
    for (int i = 0; step < rough; ++i) {
        step *= i % 3 == 1 ? 2.5 : 2; /* 1, 2, 5, 10 … */
    }
    return step;
}

/* What the axis counts; with the name of series k if the panel has no other. */
static void value_axis(const saltus_plot *p, int k, const char *axis, struct place at, bool named)
{
    char text[300];
    const bool species = p->columns[k] < p->r->n_counts;
    (void)snprintf(text, sizeof text, "%s", species ? "molecules" : "value");
    if (named) {
        (void)snprintf(text, sizeof text, "%.200s%s", saltus_column_name(p->r, p->columns[k]),
                       species ? " (molecules)" : "");
    }
    saltus_plot_caption(p->gnuplot.script, axis, text, at);
}

/* A key in one row above the panel, outside it. */
static void key(const saltus_plot *p, struct place at)
{
    if (p->n > 1) {
        (void)fprintf(p->gnuplot.script,
                      "set key at screen %g,%g left top horizontal Left reverse samplen 1.6 "
                      "width 0 tc rgb '#202020' maxrows %d\n",
                      at.left - 0.012, at.top + 0.068, p->n > 8 ? 2 : 1);
    }
}

/* End a plot command with the entries of the key. */
static void key_entries(const saltus_plot *p, const char *with)
{
    FILE *out = p->gnuplot.script;
    for (int k = 0; k < p->n && p->n > 1; ++k) {
        (void)fprintf(out, "keyentry with %s rgb '%s' title ", with, colours[k % N_COLOURS]);
        saltus_gnuplot_quote(out, saltus_column_name(p->r, p->columns[k]));
        (void)fputs(", ", out);
    }
    (void)fputs("NaN notitle\n", out);
}

static int64_t stride_of(const saltus_plot *p)
{
    return (p->r->n_points + LINE_POINTS - 1) / LINE_POINTS;
}

/* Every stride-th point, and the last. */
static int64_t next_point(const saltus_plot *p, int64_t i)
{
    const int64_t last = p->r->n_points - 1, next = i + stride_of(p);
    return i == last || next < last ? next : last;
}

static void band_data(const saltus_plot *p, int k)
{
    (void)fprintf(p->gnuplot.script, "$band%d << SALTUS_END\n", k);
    for (int64_t i = 0; i < p->r->n_points; i = next_point(p, i)) {
        const int64_t q = i * p->n + k;
        const double low = p->mean[q] - p->sd[q], high = p->mean[q] + p->sd[q];
        (void)fprintf(p->gnuplot.script, "%.17g ", p->r->times[i]);
        put_value(p->gnuplot.script, p->mean[q], ' ');
        put_value(p->gnuplot.script, low < p->low && isfinite(low) ? p->low : low, ' ');
        put_value(p->gnuplot.script, high, '\n');
    }
    (void)fputs("SALTUS_END\n", p->gnuplot.script);
}

static void run_data(const saltus_plot *p, int k, int64_t most)
{
    (void)fprintf(p->gnuplot.script, "$runs%d << SALTUS_END\n", k);
    for (int64_t run = 0; run < p->n_runs && run < most; ++run) {
        for (int64_t i = 0; i < p->r->n_points; i = next_point(p, i)) {
            (void)fprintf(p->gnuplot.script, "%.17g ", p->r->times[i]);
            put_value(p->gnuplot.script, p->runs[(run * p->r->n_points + i) * p->n + k], '\n');
        }
        (void)fputc('\n', p->gnuplot.script);
    }
    (void)fputs("SALTUS_END\n", p->gnuplot.script);
}

void saltus_plot_series(saltus_plot *p, struct place at)
{
    FILE *out = p->gnuplot.script;
    const bool lines = p->lines && p->runs && p->n_runs > 0;
    const int64_t many = p->n_runs * p->n;
    const char *faint = p->bands ? "a8" : many > 40 ? "a0" : many > 8 ? "60" : "00";

    for (int k = 0; k < p->n; ++k) {
        if (p->bands) {
            band_data(p, k);
        }
        if (lines) {
            run_data(p, k, p->n_runs);
        }
    }
    saltus_plot_place(out, at);
    saltus_plot_time_axis(p, at, true);
    value_axis(p, 0, "y", at, p->n == 1);
    key(p, at);
    count_tics(p, "y", p->high - p->low);
    (void)fprintf(out, "set yrange [%.9g:%.9g]\nplot ", p->low, p->high);
    for (int k = 0; k < p->n && p->bands; ++k) {
        (void)fprintf(out, "$band%d using 1:3:4 with filledcurves fc rgb '#c8%s' notitle, ", k,
                      colours[k % N_COLOURS] + 1);
    }
    for (int k = 0; k < p->n && lines; ++k) {
        (void)fprintf(out, "$runs%d using 1:2 with lines lw 1 lc rgb '#%s%s' notitle, ", k, faint,
                      colours[k % N_COLOURS] + 1);
    }
    for (int k = 0; k < p->n && p->bands; ++k) {
        (void)fprintf(out, "$band%d using 1:2 with lines lw 2.6 lc rgb '%s' notitle, ", k,
                      colours[k % N_COLOURS]);
    }
    key_entries(p, "lines lw 2.6 lc");
}

/* ------------------------------------------------------------------------------------------------
 * Distributions
 */

void saltus_plot_include(saltus_plot *p, const saltus_distribution *d)
{
    for (int64_t b = 0; b < d->n_bins; ++b) {
        bool used = false;
        for (int64_t i = 0; i < d->n_points; ++i) {
            used |= d->counts[i * d->n_bins + b] > 0;
        }
        if (used) {
            p->low = fmin(p->low, d->edges[b]);
            p->high = fmax(p->high, d->edges[b + 1] + 0.02 * (d->edges[b + 1] - p->low));
        }
    }
    p->low = p->low > 0 && p->low < 0.6 * p->high ? 0 : p->low;
}

int64_t saltus_heat_points(const saltus_plot *p, int64_t points[SALTUS_HEAT_COLUMNS])
{
    const saltus_results *r = p->r;
    const int64_t n = r->n_points < SALTUS_HEAT_COLUMNS ? r->n_points : SALTUS_HEAT_COLUMNS;
    const double first = r->times[0], last = r->times[r->n_points - 1];
    for (int64_t i = 0; i < n; ++i) {
        points[i] = saltus_nearest_point(
            r, n > 1 ? first + (last - first) * (double)i / (double)(n - 1) : first);
    }
    return n;
}

/* Colours span what most columns reach: the first ones, where all runs still are in one bin, would
 * leave the rest pale. */
static double scale_top(const saltus_distribution *d)
{
    double tops[SALTUS_HEAT_COLUMNS];
    for (int64_t i = 0; i < d->n_points; ++i) {
        uint64_t total = 0, top = 0;
        for (int64_t b = 0; b < d->n_bins; ++b) {
            const uint64_t n = d->counts[i * d->n_bins + b];
            total += n;
            top = n > top ? n : top;
        }
        tops[i] = total ? (double)top / (double)total : 0;
        for (int64_t j = i; j > 0 && tops[j] < tops[j - 1]; --j) {
            const double swap = tops[j];
            tops[j] = tops[j - 1];
            tops[j - 1] = swap;
        }
    }
    const double top = 1.15 * tops[d->n_points / 2];
    return top < 1 ? top : 1;
}

static void heat_data(const saltus_plot *p, int k, const saltus_distribution *d)
{
    FILE *out = p->gnuplot.script;
    const double first = p->r->times[0], last = p->r->times[p->r->n_points - 1];
    const double step = d->n_points > 1 ? (last - first) / (double)(d->n_points - 1) : 1;
    (void)fprintf(out, "$heat%d << SALTUS_END\n", k);
    for (int64_t i = 0; i < d->n_points; ++i) {
        uint64_t total = 0;
        for (int64_t b = 0; b < d->n_bins; ++b) {
            total += d->counts[i * d->n_bins + b];
        }
        for (int64_t b = 0; b < d->n_bins; ++b) {
            (void)fprintf(out, "%.9g %.9g %.4g\n", first + step * (double)i,
                          (d->edges[b] + d->edges[b + 1]) / 2,
                          total ? (double)d->counts[i * d->n_bins + b] / (double)total : 0);
        }
    }
    (void)fputs("SALTUS_END\n", out);
}

static void caption_scale(FILE *out, struct place at)
{
    char where[120];
    (void)snprintf(where, sizeof where, "at screen 0.985,%g center rotate by 90 tc rgb '#404040'",
                   (at.bottom + at.top) / 2);
    saltus_plot_label(out, "set label 105", "share of runs", where);
}

/* A few runs over a heat map show how they move within it. */
static void plot_heat(const saltus_plot *p, int k, bool lines)
{
    FILE *out = p->gnuplot.script;
    if (lines) {
        run_data(p, k, SALTUS_HEAT_RUNS);
    }
    (void)fprintf(out, "plot $heat%d using 1:2:3 with image notitle", k);
    if (lines) {
        (void)fprintf(out, ", $runs%d using 1:2 with lines lw 1 lc rgb '#50D55E00' notitle", k);
    }
    (void)fputc('\n', out);
}

void saltus_plot_heat(saltus_plot *p, int k, const saltus_distribution *d, struct place at,
                      bool alone, bool time)
{
    FILE *out = p->gnuplot.script;
    const double top = scale_top(d);
    heat_data(p, k, d);
    saltus_plot_place(out, at);
    if (k > 0) {
        saltus_plot_clear(out);
    }
    saltus_plot_time_axis(p, at, time);
    if (p->n > 1) { /* short panels: the name alone, and few numbers */
        saltus_plot_caption(out, "y", saltus_column_name(p->r, p->columns[k]), at);
        p->low = p->high = 0;
    } else {
        value_axis(p, k, "y", at, true);
    }
    saltus_plot_include(p, d);
    (void)fprintf(out, "set yrange [%.9g:%.9g]\nset cbrange [0:%.6g]\n", p->low, p->high, top);
    if (alone) {
        (void)fprintf(out,
                      "set colorbox user origin %g,%g size 0.014,%g noborder\n"
                      "set cbtics scale 0.4 ('0' 0, '%.2g' %.6g)\n"
                      "set ytics %.9g\n",
                      at.right + 0.015, at.bottom, at.top - at.bottom, top, top,
                      whole_step((p->high - p->low) / (p->n > 1 ? 4 : 8)));
        if (p->n == 1) {
            caption_scale(out, at);
        }
    } else {
        count_tics(p, "y", p->high - p->low);
        (void)fputs("unset colorbox\n", out);
    }
    (void)fputs("set grid front lc rgb '#d8e4e4e4'\n", out);
    plot_heat(p, k, !alone && p->runs && p->n_runs > 0);
    (void)fputs("set grid back lc rgb '#e4e4e4'\n", out);
}

/* Share of runs per molecule in a bin. */
static double height_of(const saltus_distribution *d, double total, int64_t b)
{
    return total > 0 ? (double)d->counts[b] / (total * (d->edges[b + 1] - d->edges[b])) : 0;
}

/* The outline of the bars, from nothing to nothing; sideways it is lying, and as wide as the panel,
 * because there only shapes count. Returns the greatest height. */
static double outline(const saltus_plot *p, int k, const saltus_distribution *d, bool sideways)
{
    FILE *out = p->gnuplot.script;
    double total = 0, top = 0, last = 0;
    for (int64_t b = 0; b < d->n_bins; ++b) {
        total += (double)d->counts[b];
    }
    for (int64_t b = 0; b < d->n_bins; ++b) {
        top = fmax(top, height_of(d, total, b));
    }
    const double scale = sideways && top > 0 ? 1 / top : 1;
    (void)fprintf(out, "$bars%d << SALTUS_END\n", k);
    for (int64_t b = 0; b <= d->n_bins; ++b) {
        const double next = b < d->n_bins ? scale * height_of(d, total, b) : 0;
        if (sideways) {
            (void)fprintf(out, "%.9g %.9g\n%.9g %.9g\n", last, d->edges[b], next, d->edges[b]);
        } else {
            (void)fprintf(out, "%.9g %.9g\n%.9g %.9g\n", d->edges[b], last, d->edges[b], next);
        }
        last = next;
    }
    (void)fputs("SALTUS_END\n", out);
    return top;
}

static void plot_bars(const saltus_plot *p)
{
    FILE *out = p->gnuplot.script;
    (void)fputs("plot ", out);
    for (int k = 0; k < p->n; ++k) {
        const char *colour = colours[k % N_COLOURS];
        (void)fprintf(out,
                      "$bars%d using 1:2 with filledcurves closed fc rgb '#%s%s' notitle, "
                      "$bars%d using 1:2 with lines lw 1.6 lc rgb '%s' notitle, ",
                      k, p->n > 1 ? "b0" : "90", colour + 1, k, colour);
    }
}

void saltus_plot_upright(saltus_plot *p, const saltus_distribution *d, struct place at)
{
    FILE *out = p->gnuplot.script;
    char text[64];
    double low = INFINITY, high = -INFINITY, top = 0;
    for (int k = 0; k < p->n; ++k) {
        top = fmax(top, outline(p, k, &d[k], false));
        for (int64_t b = 0; b < d[k].n_bins; ++b) {
            if (d[k].counts[b] > 0) {
                low = fmin(low, d[k].edges[b]);
                high = fmax(high, d[k].edges[b + 1]);
            }
        }
    }
    low = low < 0.6 * high ? fmin(low, 0) : low;
    saltus_plot_place(out, at);
    key(p, at);
    (void)snprintf(text, sizeof text, "probability per molecule at time %.6g",
                   p->r->times[p->point]);
    saltus_plot_caption(out, "y", text, at);
    value_axis(p, 0, "x", at, p->n == 1);
    count_tics(p, "x", high - low);
    (void)fprintf(out, "set xrange [%.9g:%.9g]\nset yrange [0:%.9g]\n", low,
                  high > low ? high : low + 1, top > 0 ? 1.06 * top : 1);
    plot_bars(p);
    key_entries(p, "lines lw 2.6 lc");
}

void saltus_plot_sideways(saltus_plot *p, const saltus_distribution *d, struct place at)
{
    FILE *out = p->gnuplot.script;
    char text[64];
    for (int k = 0; k < p->n; ++k) {
        (void)outline(p, k, &d[k], true);
    }
    saltus_plot_place(out, at);
    (void)snprintf(text, sizeof text, "distribution at time %.6g", p->r->times[p->point]);
    saltus_plot_clear(out);
    saltus_plot_caption(out, "x", text, at);
    (void)fprintf(out,
                  "set format x ''\nset format y ''\nset border 2\nunset xtics\n"
                  "set ytics scale 0\nset xrange [0:1.06]\nset yrange [%.9g:%.9g]\n",
                  p->low, p->high);
    plot_bars(p);
    (void)fputs("NaN notitle\n", out);
}

/* ------------------------------------------------------------------------------------------------
 * The page
 */

void saltus_plot_begin(saltus_plot *p, const char *title)
{
    const struct place page = {0.105, 0.97, 0, 1};
    saltus_plot_style(p->gnuplot.script);
    (void)fputs("set multiplot\n", p->gnuplot.script);
    head(p, title, page);
}

void saltus_plot_end(saltus_plot *p)
{
    (void)fputs("unset multiplot\n", p->gnuplot.script);
}
