/* How a result file begins, is kept up to date, and ends. */
#include "write/hdf5/file.h"
#include "write/hdf5/live.h"
#include "write/hdf5/space.h"
#include "write/hdf5/state.h"

#include "core/clock.h"
#include "core/memory.h"
#include "core/number.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEAD_BYTES = 64 * 1024,     /* attributes, groups */
    SET_BYTES = 1536,           /* header of a data set, scales, its link */
    GROWING_BYTES = 4096,       /* likewise, with the index of its chunks */
    CLOSING_BYTES = 384 * 1024, /* attributes, indices, headers, cached chunks at the end */
    COLUMN_BYTES = 68 * 1024,   /* the last chunk of derived quantities */
    HISTOGRAM_BYTES = 16 * 1024,
    FLUSH_SECONDS = 5, /* a killed run loses at most about this much */
    FLUSH_SHARE = 10   /* but flushing takes at most 1 / 10 of the time */
};

saltus_h5_set *saltus_h5_find(saltus_h5_file *f, saltus_h5_id id)
{
    for (size_t i = 0; i < f->n_sets; ++i) {
        if (f->sets[i].kind->id == id) {
            return &f->sets[i];
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

static char **copy_names(const char *const *names, int n)
{
    char **copy = saltus_calloc((size_t)n + 1, sizeof *copy);
    for (int i = 0; copy && i < n; ++i) {
        copy[i] = saltus_strdup(names[i]);
        if (!copy[i]) {
            while (i > 0) {
                saltus_free(copy[--i]);
            }
            saltus_free(copy);
            return NULL;
        }
    }
    return copy;
}

static void free_names(const char *const *names, int n)
{
    for (int i = 0; names && i < n; ++i) {
        saltus_free((void *)names[i]);
    }
    saltus_free((void *)names);
}

/* Names, times and quantities; the other strings are only used while the file is created. */
static saltus_status copy_layout(saltus_h5_file *f, const saltus_hdf5_layout *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double *times;
    f->layout = *l;
    f->layout.derived = &f->derived;
    f->spacing = l->lattice ? l->lattice->spacing : 0.0;
    f->layout.times = times = saltus_calloc((size_t)l->n_points, sizeof *times);
    f->layout.count_names = (const char *const *)copy_names(l->count_names, l->n_counts);
    f->layout.observable_names =
        (const char *const *)copy_names(l->observable_names, l->n_observables);
    SALTUS_NEED(times && f->layout.count_names && f->layout.observable_names);
    memcpy(times, l->times, (size_t)l->n_points * sizeof *times);
    if (l->derived && l->derived->n > 0) {
        SALTUS_TRY(saltus_derived_copy(l->derived, &f->derived, err));
    }
done:
    return status;
}

static saltus_status check_layout(const saltus_hdf5_layout *l, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (l->n_points < 1 || l->n_trajectories < 1) {
        SALTUS_FAIL(SALTUS_E_INVALID, "a result file needs at least one time and one trajectory");
    }
    if (l->n_counts > 1 << 26 || l->n_observables > 1 << 26 || l->n_points > INT64_C(1) << 40) {
        SALTUS_FAIL(SALTUS_E_INVALID, "too many species, observables or times for a result file");
    }
done:
    return status;
}

/* What to make of an ensemble: of a run's, samples are written and not kept. */
static saltus_status choose(saltus_h5_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_hdf5_layout *l = &f->layout;
    saltus_collection *w = &f->what;
    saltus_histogram bins = {0};
    *w = (saltus_collection){.n_runs = l->sweep ? l->n_trajectories : 0,
                             .n_times = l->n_points,
                             .times = l->times,
                             .n_counts = l->n_counts,
                             .n_observables = l->n_observables,
                             .n_parts = {l->n_parts[0], l->n_parts[1]},
                             .record = l->options.record,
                             .low = l->options.range_low,
                             .high = l->options.range_high};
    SALTUS_TRY(saltus_derivation_make(&f->derived, l->n_counts, l->n_observables, l->times,
                                      l->n_points, l->options.burn_in, &w->derivation, err));
    if (w->record == SALTUS_RECORD_HISTOGRAM) {
        SALTUS_TRY(saltus_histogram_init(&bins, 1, 1, l->options.n_bins, w->low, w->high, err));
        l->options.n_bins = w->n_bins = bins.n_bins;
        f->bin_edges = bins.edges;
        bins.edges = NULL;
        f->filling.edges = saltus_calloc((size_t)w->n_bins + 1, sizeof(double));
        f->filling.packed = saltus_calloc((size_t)w->n_bins, (size_t)l->n_points * 8);
        SALTUS_NEED(f->filling.edges && f->filling.packed);
    }
    f->reduction = (saltus_reduction){
        .finals = w->record == SALTUS_RECORD_FINAL, .n_bins = w->n_bins, .edges = f->bin_edges};
    w->reduction = w->record == SALTUS_RECORD_ALL ? NULL : &f->reduction;
    if (!l->sweep) {
        SALTUS_TRY(saltus_collector_create(w, &f->ensemble, err));
    }
    f->filling.from = f->ensemble;
    f->filling.column = -1;
done:
    saltus_histogram_free(&bins);
    return status;
}

/* What the state of a run, or of each point of a part of a sweep's runs, takes. */
static saltus_status size_states(saltus_h5_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const unsigned has = saltus_h5_has_what(&f->layout);
    saltus_collector *c = NULL;
    if (has & SALTUS_H5_STATE) {
        f->layout.state_bytes = saltus_h5_state_bytes(f->ensemble);
    } else if (has & SALTUS_H5_STATES) {
        SALTUS_TRY(saltus_collector_create(&f->what, &c, err));
        f->layout.state_bytes = saltus_collector_most_bytes(c);
    }
done:
    saltus_collector_destroy(c);
    return status;
}

saltus_status saltus_h5_make_room(saltus_h5_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t most = 0;
    f->n_events_of = 2; /* one before and one behind those that are gathered */
    for (size_t i = 0; i < f->n_sets; ++i) {
        saltus_h5_set *s = &f->sets[i];
        f->n_events_of = s->capacity + 2 > f->n_events_of ? s->capacity + 2 : f->n_events_of;
        most = !s->grows && s->kind->fill && s->row_bytes > most ? s->row_bytes : most;
        if (s->capacity > 0) {
            s->gathered = saltus_calloc((size_t)s->capacity, s->row_bytes);
            SALTUS_NEED(s->gathered);
        }
    }
    f->scratch = saltus_calloc(most, 1);
    SALTUS_NEED(f->scratch);
    if (f->layout.sweep) {
        f->events_of = saltus_calloc((size_t)f->n_events_of, sizeof *f->events_of);
        SALTUS_NEED(f->events_of);
    }
done:
    return status;
}

/* Bytes that the file will take when nothing is in it yet, and those that closing adds. */
static void sizes(const saltus_h5_file *f, int64_t *now, int64_t *closing)
{
    const saltus_hdf5_layout *l = &f->layout;
    const size_t n_counts = (size_t)l->n_counts, n_observables = (size_t)l->n_observables;
    *now = HEAD_BYTES + (l->options.command ? (int64_t)strlen(l->options.command) : 0);
    *now += (int64_t)l->sources_size + (l->identity ? (int64_t)sizeof *l->identity : 0);
    *now += (int64_t)(n_counts * saltus_h5_longest(l->count_names, n_counts));
    *now += (int64_t)(n_observables * saltus_h5_longest(l->observable_names, n_observables));
    for (size_t i = 0; i < f->n_sets; ++i) {
        const saltus_h5_set *s = &f->sets[i];
        *now += s->grows ? GROWING_BYTES : SET_BYTES;
        *now += s->chunk[0] == 0 ? (int64_t)s->row_bytes : 0;
    }
    *closing = CLOSING_BYTES + 8 * (l->n_counts + (int64_t)l->n_observables) +
               (int64_t)f->derived.n * COLUMN_BYTES;
    if (f->what.n_bins > 0) {
        *closing += l->n_counts * (l->n_points * (f->what.n_bins + 2) * 8 + HISTOGRAM_BYTES);
    }
    *closing += 2 * (int64_t)l->state_bytes; /* at most */
    if (l->sweep) {
        *closing = SALTUS_RESCUED_BYTES + 1024 * 1024;
    }
}

saltus_status saltus_h5_open_file(saltus_h5_file *f, const char *path,
                                  const saltus_hdf5_layout *layout, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_birth birth = {.path = path};
    int64_t now, closing;
    *f = (saltus_h5_file){.file = H5I_INVALID_HID,
                          .state.newer = 1, /* the first is written first */
                          .reserve = {.fd = -1, .ballast = -1}};
    (void)pthread_mutex_init(&f->lock, NULL);
    SALTUS_TRY(check_layout(layout, err));
    f->path = saltus_strdup(path);
    SALTUS_NEED(f->path);
    SALTUS_TRY(copy_layout(f, layout, err));
    SALTUS_TRY(choose(f, err));
    SALTUS_TRY(size_states(f, err));
    SALTUS_TRY(saltus_h5_list_sets(&f->layout, &f->sets, &f->n_sets, err));
    const saltus_disk_need need = saltus_hdf5_need(&f->layout);
    const double free = layout->disk_free > 0.0 ? layout->disk_free : saltus_disk_free(path);
    SALTUS_TRY(saltus_disk_check(path, &need, layout->options.compress, free, err));
    sizes(f, &now, &closing);
    if (layout->options.extend) {
        SALTUS_TRY(saltus_h5_extend(f, closing, err));
    } else {
        SALTUS_TRY(saltus_h5_make_room(f, err));
        SALTUS_TRY(saltus_h5_start(&birth, layout->options.overwrite, now, closing, layout->reserve,
                                   &f->reserve, &f->file, err));
        SALTUS_TRY(saltus_h5_create(f, err));
        SALTUS_TRY(saltus_h5_appear(&birth, err));
    }
    if (!layout->has_no_readers && saltus_h5_go_live(f) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", path, saltus_h5_cause());
    }
    f->layout.lattice = NULL;
    f->layout.identity = NULL;
    f->layout.sources = NULL;
    f->last_flush = saltus_now();
done:
    saltus_h5_end_birth(&birth, status != SALTUS_OK, f->reserve.fd);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Space, failures, flushes
 */

/* What is safe, once a write has failed. */
static void tell_what_is_kept(saltus_h5_file *f, saltus_error *err)
{
    if (f->layout.has_no_readers) {
        return; /* nobody keeps it */
    }
    if (f->layout.sweep) {
        saltus_h5_rescue(f);
        saltus_error_hint(err, "%lld %s in the file", (long long)f->rows,
                          saltus_plural(f->rows, "point is", "points are"));
    } else if (f->closing) {
        saltus_error_hint(err, "the file may lack its end; what it holds up to there is valid");
    } else {
        saltus_error_hint(err, "everything delivered so far (%lld run%s) is in the file",
                          (long long)f->rows, f->rows == 1 ? "" : "s");
    }
}

saltus_status saltus_h5_fail(saltus_h5_file *f, int problem, saltus_error *err)
{
    saltus_error failure = {0};
    const char *cause = problem ? strerror(problem) : saltus_h5_cause();
    (void)saltus_error_set(&failure, SALTUS_E_IO, "%s: writing failed: %s", f->path, cause);
    f->broken = true;
    saltus_reserve_release(&f->reserve);
    tell_what_is_kept(f, &failure);
    if (f->failure.code == SALTUS_OK) {
        f->failure = failure;
    }
    return saltus_error_pass(err, &failure);
}

saltus_status saltus_h5_check_broken(const saltus_h5_file *f, saltus_error *err)
{
    if (!f->broken) {
        return SALTUS_OK;
    }
    return f->failure.code != SALTUS_OK
               ? saltus_error_pass(err, &f->failure)
               : saltus_error_set(err, SALTUS_E_IO, "%s: writing failed before", f->path);
}

saltus_status saltus_h5_reserve(saltus_h5_file *f, int64_t bytes, saltus_error *err)
{
    hsize_t end = 0;
    if (H5Fget_filesize(f->file, &end) < 0) {
        return saltus_h5_fail(f, 0, err);
    }
    const int problem = saltus_reserve_grow(&f->reserve, (int64_t)end, bytes);
    return problem ? saltus_h5_fail(f, problem, err) : SALTUS_OK;
}

/* HDF5 cuts a file behind its end then, with the space that is held there. */
saltus_status saltus_h5_flush(saltus_h5_file *f, saltus_error *err)
{
    hsize_t end = 0;
    if (H5Fflush(f->file, H5F_SCOPE_GLOBAL) < 0 || H5Fget_filesize(f->file, &end) < 0) {
        return saltus_h5_fail(f, 0, err);
    }
    saltus_reserve_cut(&f->reserve, (int64_t)end);
    return saltus_h5_reserve(f, 0, err);
}

/* A sweep's rows that were gathered, a run's statistics; then, behind them on the disk too, how
 * much is there. */
static saltus_status bring_up_to_date(saltus_h5_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    herr_t rc = 0;
    for (size_t i = 0; i < f->n_sets && !f->broken; ++i) {
        SALTUS_TRY(saltus_h5_write_gathered(f, &f->sets[i], err));
    }
    rc = f->layout.sweep ? 0 : saltus_h5_write_made(f, SALTUS_ROLE_MADE);
    if (rc >= 0 && f->closing && !f->layout.sweep) {
        rc = saltus_h5_write_made(f, SALTUS_ROLE_AT_END);
    }
    if (rc < 0) {
        SALTUS_TRY(saltus_h5_fail(f, 0, err));
    }
    if (!f->broken) {
        SALTUS_TRY(saltus_h5_flush(f, err));
        SALTUS_TRY(saltus_h5_write_state(f, f->closing, err));
    } else if (f->closing && !f->layout.sweep) { /* in the space that was held for it */
        SALTUS_TRY(saltus_h5_write_state(f, false, err));
    }
    rc |= saltus_h5_set_int64(f->file, "events", f->layout.sweep ? f->events : f->ensemble->events);
    if (f->layout.sweep) {
        rc |= saltus_h5_set_int64(f->file, "sweep_points", f->rows);
        rc |= saltus_h5_set_int64(f->file, "trajectories", f->rows * f->what.n_runs);
    } else {
        rc |= saltus_h5_set_int64(f->file, "trajectories", f->rows);
        rc |= saltus_h5_set_int64_of(f->file, "stats", "trajectories", f->rows);
    }
    if (rc < 0) {
        SALTUS_TRY(saltus_h5_fail(f, 0, err));
    }
done:
    return status;
}

saltus_status saltus_h5_update(saltus_h5_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(bring_up_to_date(f, err));
    SALTUS_TRY(saltus_h5_flush(f, err));
done:
    return status;
}

saltus_status saltus_h5_flush_sometimes(saltus_h5_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const double start = saltus_now();
    const double usual = f->layout.flush_seconds > 0.0 ? f->layout.flush_seconds : FLUSH_SECONDS;
    const double pause = usual < FLUSH_SECONDS ? 0.0 : FLUSH_SHARE * f->flush_cost;
    if (start - f->last_flush < (pause > usual ? pause : usual)) {
        return SALTUS_OK;
    }
    SALTUS_TRY(saltus_h5_update(f, err));
    const int problem = saltus_sync_begin(&f->sync, f->reserve.fd); /* power may be lost */
    if (problem) {
        SALTUS_TRY(saltus_h5_fail(f, problem, err));
    }
    f->last_flush = saltus_now();
    f->flush_cost = f->last_flush - start;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Closing
 */

static void close_sets(saltus_h5_file *f)
{
    for (size_t i = 0; i < f->n_sets; ++i) {
        saltus_h5_close_dataset(&f->sets[i].set);
    }
}

/* Close after a failure. The file is made as long as HDF5 has told it to be, or it would be taken
 * for truncated. */
static void close_anyhow(saltus_h5_file *f)
{
    hsize_t end = 0;
    close_sets(f);
    if (H5Fget_filesize(f->file, &end) >= 0 && f->reserve.fd >= 0 &&
        lseek(f->reserve.fd, 0, SEEK_END) < (off_t)end) {
        (void)!ftruncate(f->reserve.fd, (off_t)end);
    }
    (void)H5Fclose(f->file);
    f->file = H5I_INVALID_HID;
}

void saltus_h5_free_file(saltus_h5_file *f)
{
    if (f->file >= 0) {
        close_anyhow(f);
    }
    (void)saltus_sync_end(&f->sync);
    saltus_reserve_close(&f->reserve);
    saltus_h5_free_sets(f->sets, f->n_sets);
    saltus_collector_destroy(f->ensemble);
    saltus_derived_free(&f->derived);
    (void)pthread_mutex_destroy(&f->lock);
    free_names(f->layout.count_names, f->layout.n_counts);
    free_names(f->layout.observable_names, f->layout.n_observables);
    saltus_free((void *)f->layout.times);
    saltus_free(f->filling.edges);
    saltus_free(f->filling.packed);
    saltus_free(f->bin_edges);
    saltus_free(f->scratch);
    saltus_free(f->events_of);
    saltus_free(f->path);
}

bool saltus_h5_is_whole(const saltus_h5_file *f)
{
    const int64_t n = (int64_t)(f->layout.sweep ? saltus_h5_length(&f->layout, 'g')
                                                : (hsize_t)f->layout.n_trajectories);
    return f->rows == n && !f->broken;
}

static herr_t write_report(saltus_h5_file *f, const saltus_run_report *report)
{
    const int complete = saltus_h5_is_whole(f);
    herr_t rc = 0;
    if (report) {
        const double seconds = f->seconds_before + report->seconds;
        rc |= saltus_h5_set_number(f->file, "seconds", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &seconds);
    }
    return rc | saltus_h5_set_number(f->file, "complete", H5T_STD_I32LE, H5T_NATIVE_INT, &complete);
}

/* Whether no folder has the file any more. One that was moved is where it is now. */
static bool is_gone(const saltus_h5_file *f)
{
    struct stat st;
    return fstat(f->reserve.fd, &st) == 0 && st.st_nlink == 0;
}

saltus_status saltus_h5_close_file(saltus_h5_file *f, const saltus_run_report *report,
                                   saltus_error *err)
{
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    f->closing = true;
    const int problem = saltus_sync_end(&f->sync);
    saltus_status status = problem && !f->broken ? saltus_h5_fail(f, problem, err) : SALTUS_OK;
    if (f->broken) {
        saltus_h5_cut(f);
    }
    const bool was_broken = f->broken;
    const saltus_status last = bring_up_to_date(f, status == SALTUS_OK ? err : NULL);
    if (f->broken && !was_broken && !f->layout.sweep) { /* what is packed may fit all the same */
        saltus_h5_cut(f);
        if (bring_up_to_date(f, NULL) == SALTUS_OK && !f->layout.has_no_readers) {
            saltus_error_hint(err, "everything delivered (%lld run%s) is in the file",
                              (long long)f->rows, f->rows == 1 ? "" : "s");
        }
    }
    status = status == SALTUS_OK ? last : status;
    if (write_report(f, report) < 0 && status == SALTUS_OK) {
        status = saltus_h5_fail(f, 0, err);
    }
    saltus_reserve_release(&f->reserve);
    if (status == SALTUS_OK) {
        const hid_t file = f->file;
        close_sets(f);
        if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) {
            status = saltus_h5_fail(f, 0, err);
        } else {
            f->file = H5I_INVALID_HID;
            status = H5Fclose(file) < 0 ? saltus_h5_fail(f, 0, err) : SALTUS_OK;
        }
        if (status == SALTUS_OK && is_gone(f)) {
            status = saltus_error_set(err, SALTUS_E_IO,
                                      "%s: was removed or replaced while it was written", f->path);
        }
    }
    saltus_h5_free_file(f);
    saltus_h5_quiet_end(&quiet);
    return status;
}

/* Beside the file; NULL: there is no memory. */
static char *checkpoint_name(const char *path)
{
    const size_t size = strlen(path) + sizeof ".checkpoint";
    char *name = saltus_calloc(size, 1);
    if (name) {
        (void)snprintf(name, size, "%s.checkpoint", path);
    }
    return name;
}

saltus_status saltus_h5_open_checkpoint(const char *path, const saltus_hdf5_layout *layout,
                                        saltus_checkpoint **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_identity *id = layout->identity;
    *out = NULL;
    if (!(layout->options.checkpoint > 0.0) || !id) {
        return SALTUS_OK;
    }
    const size_t text_size = (size_t)id->n * (SALTUS_IDENTITY_SIZE + 1) + 1;
    char *name = checkpoint_name(path), *text = saltus_calloc(text_size, 1);
    SALTUS_NEED(name && text);
    for (int i = 0; i < id->n; ++i) {
        (void)strcat(strcat(text, id->lines[i]), "\n");
    }
    SALTUS_TRY(saltus_checkpoint_open(name, text, layout->options.checkpoint,
                                      !layout->options.extend, out, err));
done:
    saltus_free(name);
    saltus_free(text);
    return status;
}

saltus_status saltus_h5_close_with_checkpoint(saltus_h5_file *f, saltus_checkpoint *checkpoint,
                                              const saltus_run_report *report, saltus_error *err)
{
    const bool is_all = saltus_h5_is_whole(f);
    char *name = is_all && !checkpoint ? checkpoint_name(f->path) : NULL;
    const saltus_status status = saltus_h5_close_file(f, report, err);
    if (name && status == SALTUS_OK) { /* one that was stopped wanted some, and has left them */
        (void)!saltus_checkpoint_open(name, "", 60.0, true, &checkpoint, NULL);
    }
    saltus_checkpoint_close(checkpoint, !is_all || status != SALTUS_OK);
    saltus_free(name);
    return status;
}
