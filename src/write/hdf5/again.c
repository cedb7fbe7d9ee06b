/* A result file that is extended by what it says itself: for a merge, and to mend one whose writer
 * died. */
#include "write/hdf5/file.h"
#include "write/hdf5/live.h"
#include "write/hdf5/probe.h"
#include "write/hdf5/read.h"
#include "write/identity.h"

#include "core/memory.h"

saltus_status saltus_h5_open_again(saltus_h5_file *f, const char *path, const saltus_results *r,
                                   const saltus_identity *identity, saltus_h5_again how,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_results_space *space = &r->space;
    saltus_lattice lattice = {.n_types = space->n_types, .spacing = space->spacing};
    saltus_derived derived = {.n = r->n_derived, .names = r->derived_names};
    *f = (saltus_h5_file){.file = H5I_INVALID_HID, .reserve = {.fd = -1, .ballast = -1}};
    derived.wanted = saltus_calloc((size_t)r->n_derived, sizeof *derived.wanted);
    SALTUS_NEED(derived.wanted);
    saltus_hdf5_layout l = {.time_unit = r->n_time_units > 0 ? r->time_unit[0] : NULL,
                            .model_name = r->model,
                            .method = r->method,
                            .device = r->device,
                            .sweep = how.sweep,
                            .common_random_numbers = r->common_random_numbers,
                            .first_trajectory = how.first,
                            .n_trajectories = how.runs,
                            .times = r->times,
                            .n_points = r->n_points,
                            .n_counts = r->n_counts,
                            .n_observables = r->n_observables,
                            .count_names = (const char *const *)r->count_names,
                            .observable_names = (const char *const *)r->observable_names,
                            .lattice = space->n_types > 0 ? &lattice : NULL,
                            .axis = space->axis,
                            .frame_times = space->frame_times,
                            .n_frames = space->n_frames,
                            .derived = &derived,
                            .options = saltus_hdf5_options_default(),
                            .identity = identity,
                            .sources = how.sources,
                            .sources_size = how.sources_size,
                            .n_done = how.n_done,
                            .has_no_readers = true};
    for (int i = 0; i < 3; ++i) {
        lattice.size[i] = (int32_t)space->size[i];
    }
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        l.n_parts[i] = (int)space->n_parts[i];
    }
    l.options.extend = !how.is_new;
    l.options.compress = how.is_new ? how.compress : l.options.compress;
    saltus_identity_read(identity, &l.options);
    status = saltus_h5_open_file(f, path, &l, err);
done:
    saltus_free(derived.wanted);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Mending
 */

/* Statistics and histograms from the newest state, in a file that is open nowhere else. */
static saltus_status mend(saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_identity *identity = saltus_calloc(1, sizeof *identity);
    saltus_h5_file *f = saltus_calloc(1, sizeof *f);
    char **lines = NULL;
    int n = 0;
    saltus_h5_again how = {.runs = r->requested, .n_done = -1};
    SALTUS_NEED(identity && f);
    SALTUS_TRY(saltus_h5_read_names(r, "restart/identity", &n, &lines, err));
    SALTUS_TRY(
        saltus_h5_read_number(r, "/", "first_trajectory", H5T_NATIVE_INT64, &how.first, err));
    SALTUS_TRY(saltus_identity_take(r->path, lines, n, identity, err));
    (void)H5Fclose((hid_t)r->file); /* or it could not be opened to be written */
    r->file = H5I_INVALID_HID;
    status = saltus_h5_open_again(f, r->path, r, identity, how, err);
    if (status == SALTUS_OK) {
        SALTUS_TRY(saltus_h5_close_file(f, NULL, err));
    } else {
        saltus_h5_free_file(f);
    }
done:
    saltus_results_free_names(lines, n);
    saltus_free(identity);
    saltus_free(f);
    return status;
}

bool saltus_h5_is_torn(const saltus_results *r)
{
    int64_t torn = 0;
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    if (H5Aexists((hid_t)r->file, SALTUS_H5_TORN) > 0) {
        (void)!saltus_h5_read_number(r, "/", SALTUS_H5_TORN, H5T_NATIVE_INT64, &torn, NULL);
    }
    saltus_h5_quiet_end(&quiet);
    return torn != 0;
}

void saltus_h5_mend(saltus_results *r)
{
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    (void)!mend(r, NULL);
    saltus_h5_quiet_end(&quiet);
}
