#include "write/results.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/number.h"
#include "write/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUMMARY_ROWS = 20, READ_VALUES = 1 << 20 };

/* In quotes where CSV needs them (RFC 4180). */
void saltus_results_put_name(FILE *out, const char *prefix, const char *name, const char *suffix)
{
    if (!strpbrk(name, ",\"\r\n")) {
        (void)fprintf(out, "%s%s%s", prefix, name, suffix);
        return;
    }
    (void)fprintf(out, "\"%s", prefix);
    for (const char *c = name; *c; ++c) {
        if (*c == '"') {
            (void)fputc('"', out);
        }
        (void)fputc(*c, out);
    }
    (void)fprintf(out, "%s\"", suffix);
}

static void put_name(FILE *out, const char *name, const char *suffix)
{
    (void)fputc(',', out);
    saltus_results_put_name(out, "", name, suffix);
}

void saltus_results_put_names(const saltus_results *r, FILE *out, const char *suffix)
{
    for (int c = 0; c < r->n_counts; ++c) {
        put_name(out, r->count_names[c], suffix);
    }
    for (int o = 0; o < r->n_observables; ++o) {
        put_name(out, r->observable_names[o], suffix);
    }
}

static bool is_recorded(const saltus_results *r, const char *name)
{
    bool found = false;
    for (int c = 0; c < r->n_counts; ++c) {
        found = found || strcmp(r->count_names[c], name) == 0;
    }
    for (int o = 0; o < r->n_observables; ++o) {
        found = found || strcmp(r->observable_names[o], name) == 0;
    }
    return found;
}

/* "NAME," of every axis of a sweep; "varied:NAME," when there is a column of that name as well. */
static void put_axes(const saltus_results *r, FILE *out)
{
    for (int a = 0; a < r->n_axes; ++a) {
        saltus_results_put_name(out, is_recorded(r, r->axis_names[a]) ? "varied:" : "",
                                r->axis_names[a], "");
        (void)fputc(',', out);
    }
}

/* "VALUE," of every axis at the point; to be freed. */
static char *point_prefix(const saltus_results *r)
{
    char *text = saltus_calloc((size_t)r->n_axes, SALTUS_NUMBER_SIZE + 1), *at = text;
    text = text ? text : saltus_calloc(1, 1);
    for (int a = 0; at && a < r->n_axes; ++a) {
        char number[SALTUS_NUMBER_SIZE];
        at += sprintf(at, "%s,", saltus_number_format(r->axis_values[a][r->at], number));
    }
    return text;
}

static int64_t n_points_of_sweep(const saltus_results *r)
{
    return r->n_axes > 0 ? r->n_swept : 1;
}

/* ------------------------------------------------------------------------------------------------
 * Statistics
 */

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
    return c < r->n_counts ? m->counts[point * r->n_counts + c]
                           : m->observables[point * r->n_observables + c - r->n_counts];
}

static saltus_status check_stats(const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (r->stats_runs < 1) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no statistics yet", r->path);
        saltus_error_hint(err, "the run was stopped before its first trajectories were written");
    }
    return status;
}

/* The lines of one point of a sweep, or all there are. */
static saltus_status print_point_stats(const saltus_results *r, FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    struct moments mean = {0}, variance = {0};
    const int n = r->n_counts + r->n_observables;
    char text[32], *prefix = point_prefix(r);
    SALTUS_NEED(prefix);
    SALTUS_TRY(load(r, SALTUS_MOMENT_MEAN, &mean, err));
    SALTUS_TRY(load(r, SALTUS_MOMENT_VARIANCE, &variance, err));
    for (int64_t p = 0; p < r->n_points; ++p) {
        (void)saltus_number_format(r->times[p], text);
        (void)fprintf(out, "\n%s%s", prefix, text);
        for (int c = 0; c < 2 * n; ++c) {
            const double x =
                c < n ? moment_at(r, &mean, p, c) : sqrt(moment_at(r, &variance, p, c - n));
            (void)fprintf(out, ",%s", saltus_number_format(x, text));
        }
    }
done:
    saltus_free(prefix);
    unload(&mean);
    unload(&variance);
    return status;
}

/* The name of the unit of time, or "": in a damaged file anything may stand there. */
static const char *time_unit(const saltus_results *r)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *unit = r->n_time_units == 1 ? r->time_unit[0] : "";
    return unit[strspn(unit, letters)] == '\0' ? unit : "";
}

/* The heading of times. */
static void put_time(const saltus_results *r, FILE *out)
{
    const char *unit = time_unit(r);
    (void)fputs("time", out);
    if (*unit) {
        (void)fprintf(out, " (%s)", unit);
    }
}

saltus_status saltus_results_print_stats(const saltus_results *r, FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results view = *r;
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);

    SALTUS_TRY(check_stats(r, err));
    put_axes(r, out);
    put_time(r, out);
    saltus_results_put_names(r, out, "-mean");
    saltus_results_put_names(r, out, "-sd");
    for (; view.at < n_points_of_sweep(r) && !ferror(out); ++view.at) {
        SALTUS_TRY(print_point_stats(&view, out, err));
    }
    (void)fputc('\n', out);
    status = saltus_check_written(out, err);
done:
    saltus_usual_numbers(plain, saved);
    return status;
}

/* Columns that a terminal needs: code points of utf-8. */
static int width_of(const char *text)
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
        (void)fprintf(out, "%lld points of %d value%s, at each ", (long long)r->n_swept, r->n_axes,
                      r->n_axes == 1 ? "" : "s");
    }
    (void)fprintf(out, "%lld trajector%s, %s on %s", (long long)r->runs, r->runs == 1 ? "y" : "ies",
                  r->method, r->device);
    if (r->events > 0) {
        (void)fprintf(out, ", %.4g events", (double)r->events);
    }
    if (r->seconds > 0) {
        (void)fprintf(out, ", %.3g s", r->seconds);
    }
    (void)fputc('\n', out);
    if (!r->complete) {
        const int64_t there = r->runs * n_points_of_sweep(r);
        (void)fprintf(out, "incomplete: %lld of %lld trajectories", (long long)there,
                      (long long)r->requested);
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
    (void)fprintf(out, "at time %.6g%s%s, mean (sd):\n", r->times[r->n_points - 1],
                  *time_unit(r) ? " " : "", time_unit(r));
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
        (void)fprintf(out, "  … all of them: saltus stats --csv\n");
    }
    status = saltus_check_written(out, err);
done:
    unload(&m[0]);
    unload(&m[1]);
    return status;
}

saltus_status saltus_results_print_summary(const saltus_results *r, FILE *out, saltus_error *err)
{
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
        const int w =
            width_of(c < r->n_counts ? r->count_names[c] : r->observable_names[c - r->n_counts]);
        width = w > width ? w : width;
    }
    (void)fprintf(out, "at time %.6g%s%s:\n  %-*s", r->times[r->n_points - 1],
                  *time_unit(r) ? " " : "", time_unit(r), width, "");
    for (int i = 0; i < 4; ++i) {
        (void)fprintf(out, "  %12s", titles[i]);
    }
    for (int c = 0; c < rows; ++c) {
        const char *name =
            c < r->n_counts ? r->count_names[c] : r->observable_names[c - r->n_counts];
        (void)fprintf(out, "\n  %s%*s", name, width - width_of(name), "");
        for (int i = 0; i < 4; ++i) {
            const double x = moment_at(r, &m[i], r->n_points - 1, c);
            (void)fprintf(out, "  %12.*g", i < 2 ? 6 : 12, i == 1 ? sqrt(x) : x);
        }
    }
    (void)fputc('\n', out);
    if (rows < n) {
        (void)fprintf(out, "  … and %d more\n", n - rows);
    }
    status = saltus_check_written(out, err);
done:
    for (int i = 0; i < 4; ++i) {
        unload(&m[i]);
    }
    saltus_usual_numbers(plain, saved);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Trajectories
 */

/* Text on its way to a file; fwrite for every number would take most of the time. */
struct buffer {
    FILE *out;
    size_t used;
    char text[1 << 16];
};

static void put_text(struct buffer *b, const char *text, size_t n)
{
    if (n > sizeof b->text - b->used) {
        (void)fwrite(b->text, 1, b->used, b->out);
        b->used = 0;
    }
    if (n > sizeof b->text) {
        (void)fwrite(text, 1, n, b->out);
        return;
    }
    memcpy(b->text + b->used, text, n);
    b->used += n;
}

static void put_integer(struct buffer *b, int64_t x)
{
    char digits[24];
    char *c = digits + sizeof digits;
    uint64_t rest = x < 0 ? -(uint64_t)x : (uint64_t)x;
    do {
        *--c = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (x < 0) {
        *--c = '-';
    }
    put_text(b, c, (size_t)(digits + sizeof digits - c));
}

/* What is read at once. */
struct piece {
    int64_t *numbers;                      /* [run] */
    int64_t *counts;                       /* [run][point][species] */
    double *observables;                   /* [run][point][observable] */
    char (*times)[SALTUS_NUMBER_SIZE + 1]; /* [point], with a comma on both sides; of all points */
    char *prefix;                          /* of every line: the values of a sweep's point */
};

static void put_piece(const saltus_results *r, struct buffer *b, const struct piece *piece,
                      saltus_box box)
{
    const int64_t *x = piece->counts;
    const double *y = piece->observables;
    char text[32];
    for (int64_t i = 0; i < box.n_runs; ++i) {
        for (int64_t p = 0; p < box.n_points; ++p) {
            const char *time = piece->times[box.point + p];
            put_text(b, piece->prefix, strlen(piece->prefix));
            put_integer(b, piece->numbers[i]);
            put_text(b, time, strlen(time));
            for (int c = 0; r->has_counts && c < r->n_counts; ++c) {
                put_text(b, ",", 1);
                put_integer(b, *x++);
            }
            for (int o = 0; r->has_observables && o < r->n_observables; ++o) {
                (void)saltus_number_format(*y++, text);
                put_text(b, ",", 1);
                put_text(b, text, strlen(text));
            }
            put_text(b, "\n", 1);
        }
    }
}

static saltus_status read_piece(const saltus_results *r, struct piece *piece, saltus_box box,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_results_numbers(r, box.run, box.n_runs, piece->numbers, err));
    if (r->has_counts) {
        SALTUS_TRY(saltus_results_counts(r, box, piece->counts, err));
    }
    if (r->has_observables) {
        SALTUS_TRY(saltus_results_observables(r, box, piece->observables, err));
    }
done:
    return status;
}

/* Whole chunks of runs at once, or when one run is very long, some of its points. */
static saltus_box piece_size(const saltus_results *r)
{
    const int64_t columns = (int64_t)r->n_counts + r->n_observables + 1;
    const int64_t run_values = columns * r->n_points;
    saltus_box size = {.n_runs = 1, .n_points = r->n_points};
    if (run_values > 8 * (int64_t)READ_VALUES) {
        size.n_points = columns < READ_VALUES ? READ_VALUES / columns : 1;
        return size;
    }
    size.n_runs = READ_VALUES / run_values;
    size.n_runs = size.n_runs / r->chunk_runs * r->chunk_runs;
    size.n_runs = size.n_runs < r->chunk_runs ? r->chunk_runs : size.n_runs;
    return size;
}

static saltus_status allocate_piece(const saltus_results *r, struct piece *piece, saltus_box size,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t samples = (size_t)(size.n_runs * size.n_points);
    char text[SALTUS_NUMBER_SIZE];
    piece->numbers = saltus_calloc((size_t)size.n_runs, sizeof *piece->numbers);
    piece->counts = saltus_calloc(samples, (size_t)r->n_counts * sizeof *piece->counts);
    piece->observables =
        saltus_calloc(samples, (size_t)r->n_observables * sizeof *piece->observables);
    piece->times = saltus_calloc((size_t)r->n_points, sizeof *piece->times);
    SALTUS_NEED(piece->numbers);
    SALTUS_NEED(piece->counts);
    SALTUS_NEED(piece->observables);
    SALTUS_NEED(piece->times);
    for (int64_t p = 0; p < r->n_points; ++p) {
        (void)saltus_number_format(r->times[p], text);
        (void)snprintf(piece->times[p], sizeof piece->times[p], ",%s", text);
    }
done:
    return status;
}

/* The lines of one point of a sweep, or all there are. */
static saltus_status print_runs(const saltus_results *r, struct buffer *buffer, struct piece *piece,
                                saltus_box size, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_box box = size;
    piece->prefix = point_prefix(r);
    SALTUS_NEED(piece->prefix);
    for (box.run = 0; box.run < r->runs && !ferror(buffer->out); box.run += size.n_runs) {
        box.n_runs = r->runs - box.run < size.n_runs ? r->runs - box.run : size.n_runs;
        for (box.point = 0; box.point < r->n_points; box.point += size.n_points) {
            const int64_t left = r->n_points - box.point;
            box.n_points = left < size.n_points ? left : size.n_points;
            SALTUS_TRY(read_piece(r, piece, box, err));
            put_piece(r, buffer, piece, box);
        }
    }
done:
    saltus_free(piece->prefix);
    piece->prefix = NULL;
    return status;
}

saltus_status saltus_results_print_csv(const saltus_results *r, FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    struct piece piece = {0};
    struct buffer *buffer = saltus_calloc(1, sizeof *buffer);
    const saltus_box size = piece_size(r);
    saltus_results view = *r;
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);

    SALTUS_NEED(buffer);
    if (!r->has_counts && !r->has_observables) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no trajectories", r->path);
        saltus_error_hint(err, "run with --record all to keep every sample");
        goto done;
    }
    SALTUS_TRY(allocate_piece(r, &piece, size, err));
    put_axes(r, out);
    (void)fputs("run,", out);
    put_time(r, out);
    saltus_results_put_names(r, out, "");
    (void)fputc('\n', out);
    buffer->out = out;
    for (; view.at < n_points_of_sweep(r); ++view.at) {
        SALTUS_TRY(print_runs(&view, buffer, &piece, size, err));
    }
    (void)fwrite(buffer->text, 1, buffer->used, out);
    status = saltus_check_written(out, err);
done:
    saltus_free(piece.numbers);
    saltus_free(piece.counts);
    saltus_free(piece.observables);
    saltus_free(piece.times);
    saltus_free(buffer);
    saltus_usual_numbers(plain, saved);
    return status;
}
