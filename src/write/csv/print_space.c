/* What a result file holds of a lattice, as CSV. */
#include "core/file.h"
#include "core/memory.h"
#include "core/number.h"
#include "write/numbers.h"
#include "write/results.h"

#include <inttypes.h>
#include <string.h>

static saltus_status print_run(const saltus_results *r, saltus_split split, saltus_box box,
                               int64_t *x, FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int64_t number;
    char text[SALTUS_NUMBER_SIZE];
    SALTUS_TRY(saltus_results_numbers(r, box.run, 1, &number, err));
    for (box.point = 0; box.point < r->n_points && !ferror(out); ++box.point) {
        const int64_t *value = x;
        SALTUS_TRY(saltus_results_split(r, split, box, x, err));
        (void)saltus_number_format(r->times[box.point], text);
        for (int64_t part = 0; part < r->space.n_parts[split]; ++part) {
            (void)fprintf(out, "%" PRId64 ",%s,", number, text);
            if (split == SALTUS_BY_TYPE) {
                saltus_results_put_name(out, "", r->space.type_names[part], "");
            } else {
                (void)fprintf(out, "%" PRId64, part);
            }
            for (int c = 0; c < r->n_counts; ++c) {
                (void)fprintf(out, ",%" PRId64, *value++);
            }
            (void)fputc('\n', out);
        }
    }
done:
    return status;
}

saltus_status saltus_results_print_split(const saltus_results *r, saltus_split split, FILE *out,
                                         saltus_error *err)
{
    if (!r || !out || (int)split < 0 || split >= SALTUS_N_SPLITS) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_box box = {.n_runs = 1, .n_points = 1};
    int64_t *x = saltus_calloc((size_t)r->space.n_parts[split], (size_t)r->n_counts * sizeof *x);
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);
    SALTUS_NEED(x);
    if (!r->space.has_runs[split]) {
        const bool types = split == SALTUS_BY_TYPE;
        status = saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no %s of trajectories", r->path,
                                  types ? "counts by site type" : "profiles");
        saltus_error_hint(err, r->n_axes > 0
                                   ? "a sweep's file has none: run a point of it alone, with `set`"
                               : types ? "run a model with several site types, with `record all`"
                                       : "run with `profile` x, y or z, with `record all`");
        goto done;
    }
    (void)fprintf(out, "run,time,%s", split == SALTUS_BY_TYPE ? "type" : "plane");
    saltus_results_put_names(r, out, "");
    (void)fputc('\n', out);
    for (; box.run < r->runs && !ferror(out); ++box.run) {
        SALTUS_TRY(print_run(r, split, box, x, out, err));
    }
    status = saltus_check_written(out, err);
done:
    saltus_free(x);
    saltus_usual_numbers(plain, saved);
    return status;
}

/* A plane of a frame on its way: types[y][x], counts[species][y][x]. */
typedef struct plane {
    uint8_t *types;
    uint32_t *counts;
} plane;

static void print_plane(const saltus_results *r, const plane *p, int64_t z, const char *prefix,
                        FILE *out)
{
    const int64_t width = r->space.size[0], n = width * r->space.size[1];
    for (int64_t i = 0; i < n; ++i) {
        bool holds = false;
        for (int c = 0; c < r->n_counts; ++c) {
            holds |= p->counts[c * n + i] > 0;
        }
        if (!holds) {
            continue;
        }
        (void)fprintf(out, "%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",", prefix, i % width, i / width,
                      z);
        saltus_results_put_name(
            out, "", p->types[i] < r->space.n_types ? r->space.type_names[p->types[i]] : "", "");
        for (int c = 0; c < r->n_counts; ++c) {
            (void)fprintf(out, ",%" PRIu32, p->counts[c * n + i]);
        }
        (void)fputc('\n', out);
    }
}

static saltus_status print_frame(const saltus_results *r, const plane *p, int64_t row,
                                 int64_t frame, FILE *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t n = r->space.size[0] * r->space.size[1];
    char text[SALTUS_NUMBER_SIZE], prefix[SALTUS_NUMBER_SIZE + 32];
    saltus_site_box box = saltus_whole_lattice(r);
    box.count[2] = 1;
    (void)snprintf(prefix, sizeof prefix, "%" PRId64 ",%s", r->first_trajectory + row,
                   saltus_number_format(r->space.frame_times[frame], text));
    for (; box.start[2] < r->space.size[2] && !ferror(out); ++box.start[2]) {
        SALTUS_TRY(saltus_results_types(r, box, p->types, err));
        for (int c = 0; c < r->n_counts; ++c) {
            SALTUS_TRY(saltus_results_frame(r, row, frame, c, box, p->counts + c * n, err));
        }
        print_plane(r, p, box.start[2], prefix, out);
    }
done:
    return status;
}

saltus_status saltus_results_print_frames(const saltus_results *r, FILE *out, saltus_error *err)
{
    if (!r || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    const saltus_results_space *s = &r->space;
    const size_t sites = (size_t)(s->size[0] * s->size[1]);
    plane p = {.types = saltus_calloc(sites, 1),
               .counts = saltus_calloc(sites, (size_t)r->n_counts * sizeof(uint32_t))};
    uint8_t *there = saltus_calloc((size_t)s->n_frames, 1);
    locale_t saved;
    const locale_t plain = saltus_plain_numbers(&saved);
    SALTUS_NEED(p.types && p.counts && there);
    if (s->n_frames == 0) {
        SALTUS_TRY(saltus_results_no_frames(r, err));
    }
    (void)fputs("run,time,x,y,z,type", out);
    saltus_results_put_names(r, out, "");
    (void)fputc('\n', out);
    for (int64_t row = 0; row < s->n_frame_runs; ++row) {
        SALTUS_TRY(saltus_results_frames_there(r, row, there, err));
        for (int64_t frame = 0; frame < s->n_frames; ++frame) {
            if (there[frame]) {
                SALTUS_TRY(print_frame(r, &p, row, frame, out, err));
            }
        }
    }
    status = saltus_check_written(out, err);
done:
    saltus_free(there);
    saltus_free(p.types);
    saltus_free(p.counts);
    saltus_usual_numbers(plain, saved);
    return status;
}
