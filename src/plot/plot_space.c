/* Figures of lattices: profiles over time (kymographs), and planes of frames. */
#include "core/memory.h"
#include "plot/plot_lattice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PANELS = 12, MOST_POSITIONS = 128, MOST_CELLS = 128 };

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The top of a scale: what one in a hundred values above 0 passes; sorts them. */
static double scale_top(double *values, int64_t n)
{
    int64_t above = 0;
    qsort(values, (size_t)n, sizeof *values, descending);
    while (above < n && values[above] > 0.0) {
        ++above;
    }
    return above > 0 ? values[above / 100] : 1.0;
}

/* A scale of colours beside a panel. */
static void colour_scale(FILE *out, struct place at, double top)
{
    char text[32];
    (void)snprintf(text, sizeof text, top < 1000 ? "%.3g" : "%.0f", top);
    (void)fprintf(out,
                  "set cbrange [0:%.6g]\n"
                  "set colorbox user origin %g,%g size 0.010,%g noborder\n"
                  "set cbtics scale 0.4 offset -0.6,0 ('0' 0, '%s' %.6g)\n",
                  top, at.right + 0.008, at.bottom, at.top - at.bottom, text, top);
}

static void panel_title(const saltus_plot *p, int k, struct place at)
{
    char where[120];
    (void)snprintf(where, sizeof where, "at screen %g,%g left tc rgb '#202020'", at.left,
                   at.top + 0.022);
    saltus_plot_label(p->gnuplot.script, "set label 105", saltus_column_name(p->r, p->columns[k]),
                      where);
}

/* What the numbers are, in the corner below. */
static void foot(const saltus_plot *p, const char *text)
{
    saltus_plot_label(p->gnuplot.script, "set label 107", text,
                      "at screen 0.97,0.028 right tc rgb '#707070'");
}

static saltus_status check_species(const saltus_plot *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (p->n > MOST_PANELS) {
        SALTUS_FAIL(SALTUS_E_INVALID, "more than %d species beside each other", MOST_PANELS);
    }
    for (int k = 0; k < p->n; ++k) {
        if (p->columns[k] >= p->r->n_counts) {
            SALTUS_FAIL(SALTUS_E_INVALID, "'%s' is no species, and in no place",
                        saltus_column_name(p->r, p->columns[k]));
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Kymographs
 */

/* Profiles reduced to what can be drawn: cells of some points and some planes, averaged. */
typedef struct kymograph {
    int64_t n_times, n_positions;
    double *mean;  /* [point][plane][species] of the file */
    double *cells; /* [time][position] of one species, in particles of a plane */
    double *sorted;
} kymograph;

static void reduce(const saltus_results *r, kymograph *m, int species)
{
    const int64_t planes = r->space.n_parts[SALTUS_BY_PLANE];
    for (int64_t t = 0; t < m->n_times; ++t) {
        for (int64_t q = 0; q < m->n_positions; ++q) {
            const int64_t first = t * r->n_points / m->n_times;
            const int64_t last = (t + 1) * r->n_points / m->n_times;
            const int64_t low = q * planes / m->n_positions;
            const int64_t high = (q + 1) * planes / m->n_positions;
            double sum = 0;
            for (int64_t i = first; i < last; ++i) {
                for (int64_t j = low; j < high; ++j) {
                    sum += m->mean[(i * planes + j) * r->n_counts + species];
                }
            }
            m->cells[t * m->n_positions + q] = sum / (double)((last - first) * (high - low));
        }
    }
}

static void put_cells(const saltus_plot *p, const kymograph *m, int k)
{
    FILE *out = p->gnuplot.script;
    const saltus_results *r = p->r;
    const double first = r->times[0], last = r->times[r->n_points - 1];
    const double length = 1e6 * r->space.spacing * (double)r->space.n_parts[SALTUS_BY_PLANE];
    const double step = m->n_times > 1 ? (last - first) / (double)(m->n_times - 1) : 1;
    (void)fprintf(out, "$cells%d << SALTUS_END\n", k);
    for (int64_t t = 0; t < m->n_times; ++t) {
        for (int64_t q = 0; q < m->n_positions; ++q) {
            (void)fprintf(out, "%.9g %.9g %.5g\n", first + step * (double)t,
                          length * ((double)q + 0.5) / (double)m->n_positions,
                          m->cells[t * m->n_positions + q]);
        }
    }
    (void)fputs("SALTUS_END\n", out);
}

/* Above each other, in two columns when they are many; the lowest have the axis of time. */
static struct place place_of(const saltus_plot *p, int k, bool *lowest, bool *leftmost)
{
    static const double gap_x = 0.085, gap_y = 0.065;
    const int columns = p->n > 3 ? 2 : 1, rows = (p->n + columns - 1) / columns;
    const double width = (0.985 - 0.105) / columns, height = (0.87 - 0.12 + gap_y) / rows;
    const int column = k / rows, row = k % rows;
    const double left = 0.105 + column * width, top = 0.87 - row * height;
    *lowest = row == rows - 1 || k == p->n - 1;
    *leftmost = column == 0;
    return (struct place){left, left + width - gap_x, top - height + gap_y, top};
}

static void plot_cells(saltus_plot *p, kymograph *m, int k)
{
    FILE *out = p->gnuplot.script;
    const saltus_results *r = p->r;
    const int64_t n = m->n_times * m->n_positions;
    const double first = r->times[0], last = r->times[r->n_points - 1];
    const double length = 1e6 * r->space.spacing * (double)r->space.n_parts[SALTUS_BY_PLANE];
    char text[80];
    bool lowest, leftmost;
    const struct place at = place_of(p, k, &lowest, &leftmost);
    reduce(r, m, p->columns[k]);
    put_cells(p, m, k);
    memcpy(m->sorted, m->cells, (size_t)n * sizeof *m->sorted);
    if (k > 0) {
        saltus_plot_clear(out);
    }
    saltus_plot_place(out, at);
    (void)fprintf(out,
                  "set xrange [%.17g:%.17g]\nset yrange [0:%.9g]\nset ytics %.9g\n"
                  "set format x%s\nset format y%s\n",
                  first, last > first ? last : first + 1, length,
                  saltus_round_step(length, SALTUS_PAGE * (at.top - at.bottom)),
                  lowest ? "" : " ''", leftmost ? "" : " ''");
    if (lowest) {
        saltus_panel_caption(out, 'x', "time", at);
    }
    (void)snprintf(text, sizeof text, "%c (\xc2\xb5m)", 'x' + r->space.axis);
    if (leftmost) {
        saltus_panel_caption(out, 'y', text, at);
    }
    panel_title(p, k, at);
    colour_scale(out, at, scale_top(m->sorted, n));
    (void)fprintf(out, "plot $cells%d using 1:2:3 with image notitle\n", k);
}

saltus_status saltus_plot_kymograph(saltus_plot *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results *r = p->r;
    const int64_t planes = r->space.n_parts[SALTUS_BY_PLANE];
    kymograph m = {0};
    if (planes == 0) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no profiles", r->path);
        saltus_error_hint(err, "run a model with a lattice with `profile` x, y or z");
        goto done;
    }
    SALTUS_TRY(check_species(p, err));
    m.n_times = r->n_points < SALTUS_HEAT_COLUMNS ? r->n_points : SALTUS_HEAT_COLUMNS;
    m.n_positions = planes < MOST_POSITIONS ? planes : MOST_POSITIONS;
    m.mean = saltus_calloc((size_t)(r->n_points * planes), (size_t)r->n_counts * sizeof *m.mean);
    m.cells = saltus_calloc((size_t)m.n_times, (size_t)m.n_positions * sizeof *m.cells);
    m.sorted = saltus_calloc((size_t)m.n_times, (size_t)m.n_positions * sizeof *m.sorted);
    SALTUS_NEED(m.mean && m.cells && m.sorted);
    SALTUS_TRY(saltus_results_split_mean(r, SALTUS_BY_PLANE, m.mean, err));
    (void)fputs("set border 15\nunset grid\n", p->gnuplot.script);
    foot(p, r->runs > 1 ? "particles per plane, mean of runs" : "particles per plane");
    for (int k = 0; k < p->n; ++k) {
        plot_cells(p, &m, k);
    }
done:
    saltus_free(m.mean);
    saltus_free(m.cells);
    saltus_free(m.sorted);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Slices
 */

/* A plane of a frame: its pixels [row][column]. */
typedef struct slice {
    saltus_plane plane, cells; /* the same, cells coarser, so that one particle is seen */
    int64_t frame, n_runs;     /* n_runs: over which counts are averaged */
    uint8_t *site_types;       /* [site of the plane] */
    uint32_t *site_counts;
    uint8_t *types;          /* of the plane's pixels, */
    double *counts, *sorted; /* of the cells' */
} slice;

/* "z=12", "z", or nothing: then across the shortest axis. */
static saltus_status choose_plane(const saltus_results *r, const char *text, slice *s,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t *size = r->space.size;
    int normal = 2;
    char *end = NULL;
    for (int axis = 1; axis >= 0; --axis) {
        normal = size[axis] < size[normal] ? axis : normal;
    }
    if (text && (text[0] < 'x' || text[0] > 'z' || (text[1] != '\0' && text[1] != '='))) {
        SALTUS_FAIL(SALTUS_E_INVALID, "slice '%.60s': an axis is needed, as z, or a plane, as z=12",
                    text);
    }
    normal = text ? text[0] - 'x' : normal;
    int64_t at = size[normal] / 2;
    if (text && text[1] == '=') {
        at = strtoll(text + 2, &end, 10);
        if (end == text + 2 || *end != '\0' || at < 0 || at >= size[normal]) {
            SALTUS_FAIL(SALTUS_E_INVALID, "slice '%.60s': planes are numbered from 0 to %lld", text,
                        (long long)size[normal] - 1);
        }
    }
    s->plane = saltus_plane_of(size, r->space.spacing, normal, at);
    s->cells = saltus_plane_coarser(&s->plane, MOST_CELLS);
done:
    return status;
}

/* Whole planes are read along x, then y, then z: where `across` lies depends on the axes. */
static int64_t site_of(const slice *s, int64_t column, int64_t row)
{
    return s->plane.across < s->plane.up ? row * s->plane.width + column
                                         : column * s->plane.height + row;
}

static saltus_site_box box_of(const saltus_results *r, const slice *s)
{
    saltus_site_box box = saltus_whole_lattice(r);
    box.start[s->plane.normal] = s->plane.at;
    box.count[s->plane.normal] = 1;
    return box;
}

static void add_counts(slice *s)
{
    const saltus_plane *p = &s->cells;
    for (int64_t row = 0; row < p->height; ++row) {
        for (int64_t column = 0; column < p->width; ++column) {
            const int64_t pixel = row / p->step * saltus_plane_columns(p) + column / p->step;
            s->counts[pixel] += (double)s->site_counts[site_of(s, column, row)] / (double)s->n_runs;
        }
    }
}

static saltus_status load_types(const saltus_results *r, slice *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_plane *p = &s->plane;
    SALTUS_TRY(saltus_results_types(r, box_of(r, s), s->site_types, err));
    for (int64_t row = 0; row < saltus_plane_rows(p); ++row) {
        for (int64_t column = 0; column < saltus_plane_columns(p); ++column) {
            s->types[row * saltus_plane_columns(p) + column] =
                s->site_types[site_of(s, column * p->step, row * p->step)];
        }
    }
done:
    return status;
}

/* The frame nearest to a time, or the last one, of those that some run has; which runs have it. */
static saltus_status find_frame(const saltus_results *r, double time, slice *s, uint8_t **has,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n = r->space.n_frames;
    const double *times = r->space.frame_times, wanted = isnan(time) ? times[n - 1] : time;
    uint8_t *there = saltus_calloc((size_t)n, 1), *anywhere = saltus_calloc((size_t)n, 1);
    *has = saltus_calloc((size_t)r->space.n_frame_runs, 1);
    SALTUS_NEED(there && anywhere && *has);
    s->frame = -1;
    for (int64_t row = 0; row < r->space.n_frame_runs; ++row) {
        SALTUS_TRY(saltus_results_frames_there(r, row, there, err));
        for (int64_t i = 0; i < n; ++i) {
            anywhere[i] |= there[i];
        }
    }
    for (int64_t i = 0; i < n; ++i) {
        if (anywhere[i] &&
            (s->frame < 0 || fabs(times[i] - wanted) < fabs(times[s->frame] - wanted))) {
            s->frame = i;
        }
    }
    if (s->frame < 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: no frame is there yet", r->path);
    }
    for (int64_t row = 0; row < r->space.n_frame_runs; ++row) {
        SALTUS_TRY(saltus_results_frames_there(r, row, there, err));
        (*has)[row] = there[s->frame] > 0;
        s->n_runs += (*has)[row];
    }
done:
    saltus_free(there);
    saltus_free(anywhere);
    return status;
}

/* One panel for each species, as large as they can be at the shape of the plane. */
static struct place panel_of(const slice *s, int n, int k, bool *lowest, bool *leftmost)
{
    static const struct place page = {0.105, 0.985, 0.13, 0.89};
    static const double gap_x = 0.085, gap_y = 0.065;
    const double ratio = (double)s->plane.height / (double)s->plane.width / SALTUS_PAGE;
    double best = 0;
    int columns = 1;
    for (int c = 1; c <= n; ++c) {
        const int rows = (n + c - 1) / c;
        const double width = (page.right - page.left) / c - gap_x;
        const double height = (page.top - page.bottom + gap_y) / rows - gap_y;
        const double fits = fmin(width, height / ratio);
        columns = fits > best * 1.0001 ? c : columns;
        best = fmax(best, fits);
    }
    const int rows = (n + columns - 1) / columns, row = k / columns, column = k % columns;
    const double spare = page.top - page.bottom + gap_y - rows * (best * ratio + gap_y);
    const double left = page.left + column * (best + gap_x);
    const double top = page.top - spare / 2 - row * (best * ratio + gap_y);
    *lowest = k + columns >= n;
    *leftmost = column == 0;
    return (struct place){left, left + best, top - best * ratio, top};
}

static saltus_status draw_slice(saltus_plot *p, slice *s, const uint8_t *has, int k,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results *r = p->r;
    FILE *out = p->gnuplot.script;
    const saltus_plane *cells = &s->cells;
    const int64_t columns = saltus_plane_columns(cells), n = columns * saltus_plane_rows(cells);
    const double edge = cells->spacing * (double)cells->step;
    bool lowest, leftmost;
    const struct place at = panel_of(s, p->n, k, &lowest, &leftmost);
    memset(s->counts, 0, (size_t)n * sizeof *s->counts);
    for (int64_t row = 0; row < r->space.n_frame_runs; ++row) {
        if (has[row]) {
            SALTUS_TRY(saltus_results_frame(r, row, s->frame, p->columns[k], box_of(r, s),
                                            s->site_counts, err));
            add_counts(s);
        }
    }
    (void)fprintf(out, "$counts%d << SALTUS_END\n", k);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t column = i % columns, row = i / columns;
        (void)fprintf(out, "%.9g %.9g ", ((double)column + 0.5) * edge, ((double)row + 0.5) * edge);
        (void)fprintf(out, s->counts[i] > 0.0 ? "%.5g\n" : "NaN\n", s->counts[i]);
    }
    (void)fputs("SALTUS_END\n", out);
    if (k > 0) {
        saltus_plot_clear(out);
    }
    saltus_plane_panel(out, &s->plane, at, lowest, leftmost);
    panel_title(p, k, at);
    memcpy(s->sorted, s->counts, (size_t)n * sizeof *s->sorted);
    colour_scale(out, at, scale_top(s->sorted, n));
    (void)fprintf(out,
                  "plot $types0 using 1:2:3:4:5 with rgbimage notitle, "
                  "$counts%d using 1:2:3 with image pixels notitle\n",
                  k);
done:
    return status;
}

static void tell_what(const saltus_plot *p, const slice *s)
{
    char text[200];
    (void)snprintf(text, sizeof text,
                   "time %.6g, %c = %.4g \xc2\xb5m; particles in %lld \xc3\x97 %lld sites%s",
                   p->r->space.frame_times[s->frame], 'x' + s->plane.normal,
                   ((double)s->plane.at + 0.5) * s->plane.spacing, (long long)s->cells.step,
                   (long long)s->cells.step, s->n_runs > 1 ? ", mean of runs" : "");
    foot(p, text);
}

static saltus_status allocate(slice *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_plane *p = &s->plane;
    const size_t sites = (size_t)(p->width * p->height);
    const size_t pixels = (size_t)(saltus_plane_columns(p) * saltus_plane_rows(p));
    const size_t cells = (size_t)(saltus_plane_columns(&s->cells) * saltus_plane_rows(&s->cells));
    s->site_types = saltus_calloc(sites, sizeof *s->site_types);
    s->site_counts = saltus_calloc(sites, sizeof *s->site_counts);
    s->types = saltus_calloc(pixels, sizeof *s->types);
    s->counts = saltus_calloc(cells, sizeof *s->counts);
    s->sorted = saltus_calloc(cells, sizeof *s->sorted);
    SALTUS_NEED(s->site_types && s->site_counts && s->types && s->counts && s->sorted);
done:
    return status;
}

saltus_status saltus_plot_slice(saltus_plot *p, const char *text, double time, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results *r = p->r;
    slice s = {0};
    uint8_t *has = NULL;
    if (r->space.n_frames == 0) {
        SALTUS_TRY(saltus_results_no_frames(r, err));
    }
    SALTUS_TRY(check_species(p, err));
    SALTUS_TRY(choose_plane(r, text, &s, err));
    SALTUS_TRY(allocate(&s, err));
    SALTUS_TRY(find_frame(r, time, &s, &has, err));
    SALTUS_TRY(load_types(r, &s, err));
    saltus_plane_types(p->gnuplot.script, "types", 0, &s.plane, s.types, true);
    (void)fputs("set border 15\nunset grid\nset palette defined (0 '#f7c873', 0.5 '#d9552b', "
                "1 '#5c0a1e')\n",
                p->gnuplot.script);
    tell_what(p, &s);
    for (int k = 0; k < p->n; ++k) {
        SALTUS_TRY(draw_slice(p, &s, has, k, err));
    }
done:
    saltus_free(has);
    saltus_free(s.site_types);
    saltus_free(s.site_counts);
    saltus_free(s.types);
    saltus_free(s.counts);
    saltus_free(s.sorted);
    return status;
}
