/* Reading what a result file holds of a lattice. */
#include "core/memory.h"
#include "model/lattice/lattice.h"
#include "write/hdf5/read.h"

#include <math.h>
#include <string.h>

static const char *const split_names[SALTUS_N_SPLITS] = {"space/type_counts", "space/profile"};
static const char *const split_stats[SALTUS_N_SPLITS] = {"space/type_stats", "space/profile_stats"};

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

/* Sites, of which all types are in the file. */
static saltus_status find_types(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results_space *s = &r->space;
    hsize_t shape[3];
    const char *names = saltus_h5_either(r, "space/site_type", "space/type_names");
    SALTUS_TRY(saltus_h5_read_names(r, names, &s->n_types, &s->type_names, err));
    if (s->n_types < 1 || s->n_types > SALTUS_LATTICE_MOST_TYPES) {
        SALTUS_TRY(saltus_h5_damaged(r, names, "it is of another length", err));
    }
    if (s->n_types == 1) { /* sites of the only one are not stored */
        SALTUS_TRY(saltus_h5_check_sparse(r, "space/types", H5T_INTEGER, 3, shape, err));
    } else {
        SALTUS_TRY(saltus_h5_check(r, "space/types", H5T_INTEGER, 3, shape, NULL, err));
    }
    for (int i = 0; i < 3; ++i) {
        s->size[i] = (int64_t)shape[2 - i];
    }
    SALTUS_TRY(saltus_h5_read_number(r, "space", "spacing", H5T_NATIVE_DOUBLE, &s->spacing, err));
    if (!(s->spacing > 0.0 && isfinite(s->spacing)) || shape[0] * shape[1] * shape[2] == 0) {
        SALTUS_TRY(saltus_h5_damaged(r, "space", "it has no size", err));
    }
done:
    return status;
}

static saltus_status find_axis(saltus_results *r, const char *name, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char letter = 0;
    const hid_t type = saltus_h5_text_type(1);
    SALTUS_TRY(saltus_h5_read_number(r, name, "axis", type, &letter, err));
    if (letter < 'x' || letter > 'z') {
        SALTUS_TRY(saltus_h5_damaged(r, name, "its axis is none", err));
    }
    r->space.axis = letter - 'x';
done:
    (void)H5Tclose(type);
    return status;
}

/* Counts of parts: of every run, or their moments. */
static saltus_status find_split(saltus_results *r, saltus_split split, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results_space *s = &r->space;
    const char *runs = split_names[split], *stats = split_stats[split];
    const bool has_runs = saltus_h5_has(r, runs);
    hsize_t parts = (hsize_t)s->n_types;
    if (!has_runs && !saltus_h5_has(r, stats)) {
        goto done;
    }
    if (split == SALTUS_BY_PLANE) {
        SALTUS_TRY(find_axis(r, has_runs ? runs : stats, err));
        parts = (hsize_t)s->size[s->axis];
    }
    hsize_t shape[4] = {0, (hsize_t)r->n_points, parts, (hsize_t)r->n_counts};
    if (has_runs) {
        hsize_t found[4];
        SALTUS_TRY(saltus_h5_check(r, runs, H5T_INTEGER, 4, found, NULL, err));
        shape[0] = found[0];
        SALTUS_TRY(saltus_h5_expect(r, runs, H5T_INTEGER, 4, shape, err));
        r->runs = (int64_t)found[0] < r->runs ? (int64_t)found[0] : r->runs;
    } else {
        char mean[64];
        (void)snprintf(mean, sizeof mean, "%s/mean", stats);
        SALTUS_TRY(saltus_h5_expect(r, mean, H5T_FLOAT, 3, shape + 1, err));
    }
    s->has_runs[split] = has_runs;
    s->n_parts[split] = (int64_t)parts;
done:
    return status;
}

static saltus_status find_frames(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results_space *s = &r->space;
    const hsize_t start[1] = {0};
    hsize_t n[1], shape[2];
    if (!saltus_h5_has(r, "space/frames")) {
        return SALTUS_OK;
    }
    const char *times = saltus_h5_either(r, "space/frame", "space/frames/time");
    SALTUS_TRY(saltus_h5_check(r, times, H5T_FLOAT, 1, n, NULL, err));
    SALTUS_TRY(saltus_h5_check_sparse(r, "space/frames/there", H5T_INTEGER, 2, shape, err));
    if (shape[1] != n[0] || n[0] == 0) {
        SALTUS_TRY(saltus_h5_damaged(r, "space/frames/there", "its shape is wrong", err));
    }
    s->frame_times = saltus_calloc(n[0], sizeof *s->frame_times);
    SALTUS_NEED(s->frame_times);
    SALTUS_TRY(saltus_h5_read(r, times, H5T_NATIVE_DOUBLE, 1, start, n, s->frame_times, err));
    for (hsize_t i = 0; i < n[0]; ++i) {
        if (!isfinite(s->frame_times[i]) ||
            (i > 0 && !(s->frame_times[i] > s->frame_times[i - 1]))) {
            SALTUS_TRY(saltus_h5_damaged(r, times, "times do not rise", err));
        }
    }
    s->n_frames = (int64_t)n[0];
    s->n_frame_runs = (int64_t)shape[0];
done:
    return status;
}

saltus_status saltus_results_find_space(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!saltus_h5_has(r, "space")) {
        return SALTUS_OK;
    }
    SALTUS_TRY(saltus_h5_read_number(r, "/", "first_trajectory", H5T_NATIVE_INT64,
                                     &r->first_trajectory, err));
    SALTUS_TRY(find_types(r, err));
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        SALTUS_TRY(find_split(r, (saltus_split)i, err));
    }
    SALTUS_TRY(find_frames(r, err));
done:
    return status;
}

void saltus_results_free_space(saltus_results_space *s)
{
    saltus_results_free_names(s->type_names, s->n_types);
    saltus_free(s->frame_times);
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

saltus_site_box saltus_whole_lattice(const saltus_results *r)
{
    const int64_t *size = r->space.size;
    return (saltus_site_box){.count = {size[0], size[1], size[2]}};
}

saltus_status saltus_results_no_frames(const saltus_results *r, saltus_error *err)
{
    const saltus_status status =
        saltus_error_set(err, SALTUS_E_INVALID, "%s: holds no frames", r->path);
    saltus_error_hint(err, r->n_axes > 0
                               ? "a sweep's file has none: run a point of it alone, with `set`"
                               : "run a model with a lattice with `frame_times`");
    return status;
}

saltus_status saltus_results_types(const saltus_results *r, saltus_site_box box, uint8_t *out,
                                   saltus_error *err)
{
    hsize_t start[3], count[3];
    for (int i = 0; i < 3; ++i) {
        start[i] = (hsize_t)box.start[2 - i];
        count[i] = (hsize_t)box.count[2 - i];
    }
    return saltus_h5_read_quietly(r, "space/types", H5T_NATIVE_UINT8, 3, start, count, out, err);
}

saltus_status saltus_results_split(const saltus_results *r, saltus_split split, saltus_box box,
                                   int64_t *out, saltus_error *err)
{
    const hsize_t start[4] = {(hsize_t)box.run, (hsize_t)box.point, 0, 0};
    const hsize_t count[4] = {(hsize_t)box.n_runs, (hsize_t)box.n_points,
                              (hsize_t)r->space.n_parts[split], (hsize_t)r->n_counts};
    return saltus_h5_read_quietly(r, split_names[split], H5T_NATIVE_INT64, 4, start, count, out,
                                  err);
}

saltus_status saltus_results_frames_there(const saltus_results *r, int64_t row, uint8_t *out,
                                          saltus_error *err)
{
    const hsize_t start[2] = {(hsize_t)row, 0}, count[2] = {1, (hsize_t)r->space.n_frames};
    return saltus_h5_read_quietly(r, "space/frames/there", H5T_NATIVE_UINT8, 2, start, count, out,
                                  err);
}

/* A species' data set, whose shape is compared with what is known. */
static saltus_status check_frames(const saltus_results *r, const char *name, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results_space *s = &r->space;
    hsize_t shape[5];
    SALTUS_TRY(saltus_h5_check_sparse(r, name, H5T_INTEGER, 5, shape, err));
    if ((int64_t)shape[0] < s->n_frame_runs || (int64_t)shape[1] != s->n_frames ||
        (int64_t)shape[2] != s->size[2] || (int64_t)shape[3] != s->size[1] ||
        (int64_t)shape[4] != s->size[0]) {
        SALTUS_TRY(saltus_h5_damaged(r, name, "its shape is wrong", err));
    }
done:
    return status;
}

saltus_status saltus_results_frame(const saltus_results *r, int64_t row, int64_t frame, int species,
                                   saltus_site_box box, uint32_t *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t start[5] = {(hsize_t)row, (hsize_t)frame}, count[5] = {1, 1};
    char *name = saltus_h5_frames_name(r->count_names[species]);
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    SALTUS_NEED(name);
    SALTUS_TRY(check_frames(r, name, err));
    for (int i = 0; i < 3; ++i) {
        start[2 + i] = (hsize_t)box.start[2 - i];
        count[2 + i] = (hsize_t)box.count[2 - i];
    }
    SALTUS_TRY(saltus_h5_read(r, name, H5T_NATIVE_UINT32, 5, start, count, out, err));
done:
    saltus_h5_quiet_end(&quiet);
    saltus_free(name);
    return status;
}

saltus_status saltus_results_frame_bytes(const saltus_results *r, int species, int *out,
                                         saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *name = saltus_h5_frames_name(r->count_names[species]);
    hid_t set = H5I_INVALID_HID, type;
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    SALTUS_NEED(name);
    SALTUS_TRY(check_frames(r, name, err));
    set = H5Dopen2(r->file, name, H5P_DEFAULT);
    type = H5Dget_type(set);
    *out = (int)H5Tget_size(type);
    (void)H5Tclose(type);
done:
    saltus_h5_close_dataset(&set);
    saltus_h5_quiet_end(&quiet);
    saltus_free(name);
    return status;
}
