#include "write/results.h"

#include "core/file.h"
#include "core/list.h"
#include "core/memory.h"
#include "core/number.h"
#include "write/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { READ_VALUES = 1 << 20 };

/* In quotes where CSV needs them (RFC 4180). A spreadsheet takes what begins with one of some signs
 * as a formula, in quotes too: an apostrophe in front makes it text (OWASP, "CSV Injection"). */
void saltus_results_put_name(FILE *out, const char *prefix, const char *name, const char *suffix)
{
    const char first = prefix[0] ? prefix[0] : name[0];
    const bool is_formula = first && strchr("=+-@\t\r", first);
    if (!is_formula && !strpbrk(name, ",\"\r\n")) {
        (void)fprintf(out, "%s%s%s", prefix, name, suffix);
        return;
    }
    (void)fprintf(out, "\"%s%s", is_formula ? "'" : "", prefix);
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

static bool is_column(const saltus_results *r, const char *own, const char *name)
{
    bool found = false;
    const char *item;
    size_t length;
    while (saltus_list_next(&own, &item, &length)) {
        found = found || (strlen(name) == length && memcmp(name, item, length) == 0);
    }
    for (int c = 0; c < r->n_counts; ++c) {
        found = found || strcmp(r->count_names[c], name) == 0;
    }
    for (int o = 0; o < r->n_observables; ++o) {
        found = found || strcmp(r->observable_names[o], name) == 0;
    }
    return found;
}

void saltus_results_put_axes(const saltus_results *r, const char *own, FILE *out)
{
    for (int a = 0; a < r->n_axes; ++a) {
        saltus_results_put_name(out, is_column(r, own, r->axis_names[a]) ? "varied:" : "",
                                r->axis_names[a], "");
        (void)fputc(',', out);
    }
}

char *saltus_results_point_prefix(const saltus_results *r)
{
    char *text = saltus_calloc((size_t)r->n_axes, SALTUS_NUMBER_SIZE + 1), *at = text;
    text = text ? text : saltus_calloc(1, 1);
    for (int a = 0; at && a < r->n_axes; ++a) {
        char number[SALTUS_NUMBER_SIZE];
        at += sprintf(at, "%s,", saltus_number_format(r->axis_values[a][r->at], number));
    }
    return text;
}

/* In a damaged file anything may stand there. */
const char *saltus_results_time_unit(const saltus_results *r)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *unit = r->n_time_units == 1 ? r->time_unit[0] : "";
    return unit[strspn(unit, letters)] == '\0' ? unit : "";
}

void saltus_results_put_time(const saltus_results *r, FILE *out)
{
    const char *unit = saltus_results_time_unit(r);
    (void)fputs("time", out);
    if (*unit) {
        (void)fprintf(out, " (%s)", unit);
    }
}

int64_t saltus_results_n_swept(const saltus_results *r)
{
    return r->n_axes > 0 ? r->n_swept : 1;
}

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
            for (int c = 0; c < r->n_counts; ++c) {
                put_text(b, ",", 1);
                put_integer(b, *x++);
            }
            for (int o = 0; o < r->n_observables; ++o) {
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
    if (r->n_counts > 0) {
        SALTUS_TRY(r->has_counts
                       ? saltus_results_counts(r, box, piece->counts, err)
                       : saltus_results_final(r, box.run, box.n_runs, piece->counts, err));
    }
    if (r->n_observables > 0) {
        SALTUS_TRY(r->has_observables ? saltus_results_observables(r, box, piece->observables, err)
                                      : saltus_results_final_observables(r, box.run, box.n_runs,
                                                                         piece->observables, err));
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
    piece->prefix = saltus_results_point_prefix(r);
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

/* Where the last samples alone were kept, there is one point. */
static saltus_status take_final(saltus_results *view, saltus_error *err)
{
    if (!view->has_final && !view->has_final_observables) {
        (void)saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no trajectories", view->path);
        saltus_error_hint(err, "run with `record all` to keep every sample, or with final for the "
                               "last ones");
        return SALTUS_E_INVALID;
    }
    view->times += view->n_points - 1;
    view->n_points = 1;
    return SALTUS_OK;
}

saltus_status saltus_results_print_csv(const saltus_results *r, FILE *out, saltus_error *err)
{
    if (!r || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    struct piece piece = {0};
    struct buffer *buffer = saltus_calloc(1, sizeof *buffer);
    saltus_results view = *r;
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);

    SALTUS_NEED(buffer);
    const bool has_columns = r->n_counts > 0 || r->n_observables > 0;
    if (has_columns && !r->has_counts && !r->has_observables) {
        SALTUS_TRY(take_final(&view, err));
    }
    const saltus_box size = piece_size(&view);
    SALTUS_TRY(allocate_piece(&view, &piece, size, err));
    saltus_results_put_axes(r, "run,time", out);
    (void)fputs("run,", out);
    saltus_results_put_time(r, out);
    saltus_results_put_names(r, out, "");
    (void)fputc('\n', out);
    buffer->out = out;
    for (; view.at < saltus_results_n_swept(r); ++view.at) {
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
