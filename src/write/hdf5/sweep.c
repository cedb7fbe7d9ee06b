/* The result file of a sweep: a point after the other, each from an ensemble that was collected in
 * memory. */
#include "write/hdf5/file.h"

#include "core/handle.h"
#include "core/memory.h"
#include "core/tally.h"

struct saltus_sweep_file {
    saltus_handle handle;
    saltus_sweep_sink sink;
    saltus_h5_file file;
    saltus_checkpoint *checkpoint; /* NULL: there is none */
};

static saltus_status begin_point(void *user, int64_t point, const saltus_plan *plan,
                                 saltus_sink **sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_sweep_file *sweep = user;
    const saltus_collection *what = &sweep->file.what;
    saltus_collector *c = NULL;
    (void)point;
    if (saltus_plan_n_counts(plan) != what->n_counts ||
        saltus_plan_n_observables(plan) != what->n_observables) {
        SALTUS_FAIL(SALTUS_E_INVALID, "the model records other species here than elsewhere");
    }
    SALTUS_TRY(saltus_collector_create(what, &c, err));
    *sink = &c->sink;
done:
    return status;
}

saltus_status saltus_h5_add_point(saltus_h5_file *f, const saltus_collector *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_h5_check_broken(f, err));
    const int64_t events = saltus_count_sum(f->events, c->events);
    f->events_of[(f->rows + 1) % f->n_events_of] = events;
    f->filling.from = c;
    f->filling.column = -1;
    for (size_t i = 0; i < f->n_sets; ++i) { /* all have the row before one is written */
        saltus_h5_set *s = &f->sets[i];
        if (s->grows) {
            s->kind->fill(&f->filling, s, saltus_h5_next_row(s));
            ++s->n_gathered;
        }
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        if (f->sets[i].grows && f->sets[i].n_gathered == f->sets[i].capacity) {
            SALTUS_TRY(saltus_h5_write_gathered(f, &f->sets[i], err));
        }
    }
    ++f->rows;
    f->events = events;
    status = saltus_h5_flush_sometimes(f, err);
done:
    return status;
}

static saltus_status deliver(void *user, int64_t point, saltus_sink *sink, saltus_error *err)
{
    saltus_sweep_file *sweep = user;
    saltus_h5_quiet quiet;
    (void)point;
    saltus_h5_quiet_begin(&quiet);
    const saltus_status status = saltus_h5_add_point(&sweep->file, sink->user, err);
    saltus_collector_destroy(sink->user);
    saltus_h5_quiet_end(&quiet);
    return status;
}

static void discard(void *user, saltus_sink *sink)
{
    (void)user;
    saltus_collector_destroy(sink->user);
}

static saltus_status flush(void *user, saltus_error *err)
{
    saltus_sweep_file *sweep = user;
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    const saltus_status status = saltus_h5_update(&sweep->file, err);
    saltus_h5_quiet_end(&quiet);
    return status;
}

saltus_status saltus_sweep_file_create(const char *path, const saltus_hdf5_layout *layout,
                                       saltus_sweep_file **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_quiet quiet;
    saltus_sweep_file *sweep = saltus_calloc(1, sizeof *sweep);
    saltus_h5_quiet_begin(&quiet);
    SALTUS_NEED(sweep);
    sweep->sink = (saltus_sweep_sink){
        .user = sweep, .open = begin_point, .deliver = deliver, .discard = discard, .flush = flush};
    SALTUS_TRY(saltus_h5_open_checkpoint(path, layout, &sweep->checkpoint, err));
    SALTUS_TRY(saltus_h5_open_file(&sweep->file, path, layout, err));
    saltus_handle_add(&sweep->handle, SALTUS_HANDLE_SWEEP_FILE);
    *out = sweep;
    sweep = NULL;
done:
    if (sweep) {
        saltus_checkpoint_close(sweep->checkpoint, true);
        saltus_h5_free_file(&sweep->file);
        saltus_free(sweep);
    }
    saltus_h5_quiet_end(&quiet);
    return status;
}

const saltus_sweep_sink *saltus_sweep_file_sink(saltus_sweep_file *file)
{
    return file ? &file->sink : NULL;
}

saltus_checkpoint *saltus_sweep_file_checkpoint(saltus_sweep_file *file)
{
    return file ? file->checkpoint : NULL;
}

saltus_status saltus_sweep_file_close(saltus_sweep_file *sweep, const saltus_run_report *report,
                                      saltus_error *err)
{
    if (!sweep || !saltus_handle_take(&sweep->handle, SALTUS_HANDLE_SWEEP_FILE)) {
        return saltus_no_argument(err, __func__);
    }
    const saltus_status status =
        saltus_h5_close_with_checkpoint(&sweep->file, sweep->checkpoint, report, err);
    saltus_free(sweep);
    return status;
}
