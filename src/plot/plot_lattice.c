/* Planes of a lattice, and the geometry of a model. */
#include "plot/plot_lattice.h"

#include "core/memory.h"
#include "model/lattice/lattice.h"
#include "model/network/model.h"
#include "model/network/network.h"
#include "write/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIXELS = 512 /* along a side */ };

/* The first type is what is outside, as a rule. */
static const char *const colours[] = {"#f4f4f2", "#c6dbef", "#3b6ea5", "#e8a33d", "#5aa469",
                                      "#b04a5a", "#8e6bb0", "#6b6b6b", "#d7c9a7", "#84c5c9"};
enum { N_COLOURS = sizeof colours / sizeof *colours };

const char *saltus_type_colour(int type)
{
    return colours[type < N_COLOURS ? type : 1 + (type - 1) % (N_COLOURS - 1)];
}

saltus_plane saltus_plane_of(const int64_t size[3], double spacing, int normal, int64_t at)
{
    const int a = normal == 0 ? 1 : 0, b = normal == 2 ? 1 : 2;
    const bool lies = size[a] >= size[b];
    saltus_plane p = {.normal = normal,
                      .across = lies ? a : b,
                      .up = lies ? b : a,
                      .at = at,
                      .spacing = 1e6 * spacing};
    p.width = size[p.across];
    p.height = size[p.up];
    return saltus_plane_coarser(&p, MOST_PIXELS);
}

saltus_plane saltus_plane_coarser(const saltus_plane *plane, int64_t most)
{
    saltus_plane p = *plane;
    p.step = (p.width + most - 1) / most;
    return p;
}

int64_t saltus_plane_columns(const saltus_plane *p)
{
    return (p->width + p->step - 1) / p->step;
}

int64_t saltus_plane_rows(const saltus_plane *p)
{
    return (p->height + p->step - 1) / p->step;
}

void saltus_plane_types(FILE *out, const char *name, int k, const saltus_plane *p,
                        const uint8_t *types, bool pale)
{
    const double edge = p->spacing * (double)p->step;
    (void)fprintf(out, "$%s%d << SALTUS_END\n", name, k);
    for (int64_t row = 0; row < saltus_plane_rows(p); ++row) {
        for (int64_t column = 0; column < saltus_plane_columns(p); ++column) {
            const long rgb = strtol(saltus_type_colour(*types++) + 1, NULL, 16);
            (void)fprintf(out, "%.9g %.9g", ((double)column + 0.5) * edge,
                          ((double)row + 0.5) * edge);
            for (int shift = 16; shift >= 0; shift -= 8) {
                const long part = rgb >> shift & 255;
                (void)fprintf(out, " %ld", pale ? 255 - (255 - part) / 3 : part);
            }
            (void)fputc('\n', out);
        }
    }
    (void)fputs("SALTUS_END\n", out);
}

double saltus_round_step(double range, double length)
{
    const double rough = range / fmax(2.6, 13.0 * length);
    const double power = pow(10.0, floor(log10(rough))), rest = rough / power;
    return power * (rest <= 1.0 ? 1.0 : rest <= 2.0 ? 2.0 : rest <= 5.0 ? 5.0 : 10.0);
}

void saltus_panel_caption(FILE *out, char axis, const char *text, struct place at)
{
    char where[120];
    if (axis == 'x') {
        (void)snprintf(where, sizeof where, "at screen %g,%g center tc rgb '#404040'",
                       (at.left + at.right) / 2, at.bottom - 0.088);
        saltus_plot_label(out, "set label 103", text, where);
    } else {
        (void)snprintf(where, sizeof where, "at screen %g,%g center rotate by 90 tc rgb '#404040'",
                       at.left - 0.066, (at.bottom + at.top) / 2);
        saltus_plot_label(out, "set label 104", text, where);
    }
}

void saltus_plane_panel(FILE *out, const saltus_plane *p, struct place at, bool below, bool beside)
{
    const double width = p->spacing * (double)p->width, height = p->spacing * (double)p->height;
    char text[32];
    saltus_plot_place(out, at);
    (void)fprintf(out, "set xrange [0:%.9g]\nset yrange [0:%.9g]\nset xtics %.9g\nset ytics %.9g\n",
                  width, height, saltus_round_step(width, at.right - at.left),
                  saltus_round_step(height, SALTUS_PAGE * (at.top - at.bottom)));
    (void)fprintf(out, "set format x%s\nset format y%s\n", below ? "" : " ''", beside ? "" : " ''");
    if (below) {
        (void)snprintf(text, sizeof text, "%c (\xc2\xb5m)", 'x' + p->across);
        saltus_panel_caption(out, 'x', text, at);
    }
    if (beside) {
        (void)snprintf(text, sizeof text, "%c (\xc2\xb5m)", 'x' + p->up);
        saltus_panel_caption(out, 'y', text, at);
    }
}

/* ------------------------------------------------------------------------------------------------
 * The geometry of a model
 */

/* Three panels at one scale: beside each other, above each other, or two above each other and one
 * beside them, whatever makes them largest. */
enum { N_PANELS = 3 };
static const struct place page = {0.085, 0.98, 0.22, 0.88};
static const double gap_x = 0.1, gap_y = 0.16; /* between panels, for numbers and captions */

typedef struct arrangement {
    int column[N_PANELS], row[N_PANELS];
} arrangement;
static const arrangement arrangements[] = {
    {{0, 1, 2}, {0, 0, 0}}, {{0, 0, 0}, {0, 1, 2}}, {{0, 0, 1}, {0, 1, 0}}};

/* Sums of the widest of each column and the highest of each row, in um, and how many there are. */
static void measure(const arrangement *a, const saltus_plane planes[N_PANELS],
                    double width[N_PANELS], double height[N_PANELS])
{
    memset(width, 0, N_PANELS * sizeof *width);
    memset(height, 0, N_PANELS * sizeof *height);
    for (int i = 0; i < N_PANELS; ++i) {
        const double w = planes[i].spacing * (double)planes[i].width;
        const double h = planes[i].spacing * (double)planes[i].height;
        width[a->column[i]] = fmax(width[a->column[i]], w);
        height[a->row[i]] = fmax(height[a->row[i]], h);
    }
}

/* Width of the page per um. */
static double scale_of(const arrangement *a, const saltus_plane planes[N_PANELS])
{
    double width[N_PANELS], height[N_PANELS];
    double x = page.right - page.left + gap_x, y = page.top - page.bottom + gap_y;
    double wide = 0, high = 0;
    measure(a, planes, width, height);
    for (int i = 0; i < N_PANELS; ++i) {
        wide += width[i];
        high += height[i];
        x -= width[i] > 0 ? gap_x : 0;
        y -= height[i] > 0 ? gap_y : 0;
    }
    return fmin(x / wide, y * SALTUS_PAGE / high);
}

static void arrange(const saltus_plane planes[N_PANELS], struct place places[N_PANELS])
{
    double width[N_PANELS], height[N_PANELS], scale = 0;
    const arrangement *best = arrangements;
    for (size_t i = 0; i < sizeof arrangements / sizeof *arrangements; ++i) {
        const double s = scale_of(&arrangements[i], planes);
        best = s > scale ? &arrangements[i] : best;
        scale = fmax(scale, s);
    }
    measure(best, planes, width, height);
    double spare = page.top - page.bottom + gap_y; /* above and below */
    for (int i = 0; i < N_PANELS; ++i) {
        spare -= height[i] > 0 ? scale * height[i] / SALTUS_PAGE + gap_y : 0;
    }
    for (int i = 0; i < N_PANELS; ++i) {
        double left = page.left, top = page.top - spare / 2;
        for (int k = 0; k < best->column[i]; ++k) {
            left += scale * width[k] + gap_x;
        }
        for (int k = 0; k < best->row[i]; ++k) {
            top -= scale * height[k] / SALTUS_PAGE + gap_y;
        }
        const double w = scale * planes[i].spacing * (double)planes[i].width;
        const double h = scale * planes[i].spacing * (double)planes[i].height / SALTUS_PAGE;
        places[i] = (struct place){left, left + w, top - h, top};
    }
}

/* Types of a plane's pixels, to be freed. */
static uint8_t *cut(const saltus_lattice *l, const saltus_plane *p)
{
    const int64_t strides[3] = {1, l->size[0], (int64_t)l->size[0] * l->size[1]};
    const int64_t rows = saltus_plane_rows(p), columns = saltus_plane_columns(p);
    uint8_t *types = saltus_calloc((size_t)rows, (size_t)columns);
    for (int64_t row = 0; types && row < rows; ++row) {
        for (int64_t column = 0; column < columns; ++column) {
            types[row * columns + column] = (uint8_t)saltus_lattice_type(
                l, p->at * strides[p->normal] + row * p->step * strides[p->up] +
                       column * p->step * strides[p->across]);
        }
    }
    return types;
}

/* Types and their numbers of sites, at the foot of the page; letters are about as wide as that. */
static void legend(const saltus_gnuplot *g, const saltus_lattice *l)
{
    static const double letter = 0.0104;
    enum { MOST = 9 };
    FILE *out = g->script;
    double left = page.left, y = 0.078;
    for (int type = 0; type < l->n_types && type < MOST; ++type) {
        char text[120], where[120], command[32];
        const int n = snprintf(text, sizeof text, "%.60s: %lld", l->type_names[type],
                               (long long)l->sites_of[type]);
        if (left + 0.028 + letter * n > 1.0) {
            left = page.left;
            y = 0.028;
        }
        (void)fprintf(out,
                      "set object %d rectangle from screen %g,%g to screen %g,%g fc rgb '%s' "
                      "fs solid border lc rgb '#909090'\n",
                      type + 1, left, y - 0.017, left + 0.02, y + 0.017, saltus_type_colour(type));
        (void)snprintf(where, sizeof where, "at screen %g,%g left tc rgb '#202020'", left + 0.028,
                       y);
        (void)snprintf(command, sizeof command, "set label %d", 110 + type);
        saltus_plot_label(out, command, text, where);
        left += 0.055 + letter * n;
    }
}

static void head(const saltus_gnuplot *g, const char *title, const saltus_lattice *l)
{
    char text[160], where[120];
    (void)snprintf(where, sizeof where, "at screen %g,0.955 left font ',%d' tc rgb '#202020'",
                   page.left, g->font + g->font / 4);
    saltus_plot_label(g->script, "set label 101", title, where);
    (void)snprintf(text, sizeof text, "%d \xc3\x97 %d \xc3\x97 %d sites of %.4g nm", l->size[0],
                   l->size[1], l->size[2], 1e9 * l->spacing);
    (void)snprintf(where, sizeof where, "at screen %g,0.955 right tc rgb '#707070'", page.right);
    saltus_plot_label(g->script, "set label 102", text, where);
}

static saltus_status draw(const saltus_gnuplot *g, const char *title, const saltus_lattice *l,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    static const int normals[N_PANELS] = {1, 0, 2};
    const int64_t size[3] = {l->size[0], l->size[1], l->size[2]};
    saltus_plane planes[N_PANELS];
    struct place places[N_PANELS];
    uint8_t *types = NULL;
    FILE *out = g->script;
    for (int i = 0; i < N_PANELS; ++i) {
        planes[i] = saltus_plane_of(size, l->spacing, normals[i], size[normals[i]] / 2);
    }
    arrange(planes, places);
    saltus_plot_style(out);
    (void)fputs("set multiplot\nset border 15\nunset grid\n", out);
    head(g, title, l);
    legend(g, l);
    for (int i = 0; i < N_PANELS; ++i) {
        char text[80], where[120];
        types = cut(l, &planes[i]);
        SALTUS_NEED(types);
        saltus_plane_types(out, "types", i, &planes[i], types, false);
        saltus_free(types);
        types = NULL;
        saltus_plane_panel(out, &planes[i], places[i], true, true);
        (void)snprintf(text, sizeof text, "%c = %.4g \xc2\xb5m", 'x' + planes[i].normal,
                       ((double)planes[i].at + 0.5) * planes[i].spacing);
        (void)snprintf(where, sizeof where, "at screen %g,%g left tc rgb '#404040'", places[i].left,
                       places[i].top + 0.022);
        saltus_plot_label(out, "set label 105", text, where);
        (void)fprintf(out, "plot $types%d using 1:2:3:4:5 with rgbimage notitle\n", i);
        saltus_plot_clear(out);
    }
    (void)fputs("unset multiplot\n", out);
done:
    saltus_free(types);
    return status;
}

saltus_status saltus_model_plot(const saltus_model *model, const char *figure, const char *title,
                                saltus_error *err)
{
    if (!model || !figure) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_gnuplot g = {0};
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);
    SALTUS_TRY(saltus_gnuplot_check(figure, err));
    if (!model->network || !model->network->lattice) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "model '%s' has no lattice to draw",
                                  model->name);
        saltus_error_hint(err, "of a model without one, draw results: saltus run MODEL -o FILE.h5");
        goto done;
    }
    SALTUS_TRY(saltus_gnuplot_begin(&g, figure, err));
    SALTUS_TRY(draw(&g, title ? title : model->name, model->network->lattice, err));
    status = saltus_gnuplot_run(&g, err);
done:
    saltus_gnuplot_end(&g);
    saltus_usual_numbers(plain, saved);
    return status;
}
