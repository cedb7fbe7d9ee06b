/* What a result file keeps to go on from, for those who have it read. */
#include "write/hdf5/live.h"
#include "write/hdf5/read.h"
#include "write/hdf5/state.h"

#include "core/archive.h"
#include "core/memory.h"

#include <string.h>

/* Rows of the newest state. */
static saltus_status find_state(const saltus_results *r, int64_t *rows, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_set set = {.rank = 2, .set = H5I_INVALID_HID};
    saltus_h5_entry kind = {.id = SALTUS_SET_STATE};
    saltus_h5_file f = {.sets = &set, .n_sets = 1};
    bool found = false;
    *rows = -1;
    if (!saltus_h5_has(r, "restart/state")) {
        return SALTUS_OK;
    }
    SALTUS_TRY(saltus_h5_check_sparse(r, "restart/state", H5T_INTEGER, 2, set.shape, err));
    set.kind = &kind;
    set.set = H5Dopen2((hid_t)r->file, "restart/state", H5P_DEFAULT);
    if (set.set >= 0 && set.shape[0] == 2) {
        SALTUS_TRY(saltus_h5_read_state(&f, (hsize_t)r->runs, NULL, &found, err));
    }
    *rows = f.rows;
done:
    saltus_h5_close_dataset(&set.set);
    return status;
}

saltus_status saltus_file_state_read(const char *path, saltus_file_state *out, saltus_error *err)
{
    if (!path || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_results *r = NULL;
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    SALTUS_TRY(saltus_results_open(path, &r, err));
    *out = (saltus_file_state){.is_sweep = r->n_axes > 0,
                               .complete = r->complete,
                               .requested = r->n_axes > 0 ? r->stats_runs : r->requested,
                               .n_done = r->n_swept};
    SALTUS_TRY(saltus_h5_read_number(r, "/", "first_trajectory", H5T_NATIVE_INT64,
                                     &out->first_trajectory, err));
    if (!out->is_sweep) {
        SALTUS_TRY(find_state(r, &out->n_done, err));
    } else if (!saltus_h5_has(r, "restart/identity")) {
        out->n_done = -1;
    }
done:
    saltus_results_close(r);
    saltus_h5_quiet_end(&quiet);
    return status;
}

saltus_status saltus_archive_open(const char *path, saltus_archive **out, saltus_error *err)
{
    if (!path || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    saltus_results *r = NULL;
    char *bytes = NULL;
    hsize_t size = 0;
    const hsize_t start = 0;
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    SALTUS_TRY(saltus_results_open(path, &r, err));
    if (saltus_h5_has(r, "restart/sources")) {
        SALTUS_TRY(saltus_h5_check_sparse(r, "restart/sources", H5T_INTEGER, 1, &size, err));
    }
    if (size == 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: does not hold the model that it was made of", path);
    }
    if (size > (hsize_t)1 << 34) {
        SALTUS_TRY(saltus_h5_damaged(r, "restart/sources", "it is too long", err));
    }
    bytes = saltus_calloc(size, 1);
    SALTUS_NEED(bytes);
    SALTUS_TRY(
        saltus_h5_read(r, "restart/sources", H5T_NATIVE_UINT8, 1, &start, &size, bytes, err));
    SALTUS_TRY(saltus_archive_unpack(bytes, size, out, err));
done:
    saltus_free(bytes);
    saltus_results_close(r);
    saltus_h5_quiet_end(&quiet);
    return status;
}
