/* What a result file keeps to go on from, for those who have it read. */
#include "write/hdf5/live.h"
#include "write/hdf5/probe.h"
#include "write/hdf5/read.h"
#include "write/hdf5/state.h"

#include "core/archive.h"
#include "core/memory.h"

#include <string.h>

saltus_status saltus_h5_load_state(const saltus_results *r, int64_t most, saltus_collector *into,
                                   int64_t *rows, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_set set = {.rank = 2, .set = H5I_INVALID_HID};
    saltus_h5_slots slots = {0};
    *rows = 0;
    if (!saltus_h5_has(r, "restart/state")) {
        return SALTUS_OK;
    }
    SALTUS_TRY(saltus_h5_check_sparse(r, "restart/state", H5T_INTEGER, 2, set.shape, err));
    set.set = H5Dopen2((hid_t)r->file, "restart/state", H5P_DEFAULT);
    if (set.set >= 0 && set.shape[0] == 2) {
        SALTUS_TRY(saltus_h5_read_state(&set, (hsize_t)most, into, &slots, err));
    }
    *rows = slots.rows;
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
    int complete = 0;
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    SALTUS_TRY(saltus_results_open_head(path, NULL, &r, err));
    *out = (saltus_file_state){.is_sweep = saltus_h5_has(r, "sweep_names")};
    const char *requested = out->is_sweep ? "runs_per_point" : "requested";
    const char *rows = out->is_sweep ? "sweep_points" : "trajectories";
    SALTUS_TRY(saltus_h5_read_number(r, "/", "complete", H5T_NATIVE_INT, &complete, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", requested, H5T_NATIVE_INT64, &out->requested, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", rows, H5T_NATIVE_INT64, &out->n_done, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "first_trajectory", H5T_NATIVE_INT64,
                                     &out->first_trajectory, err));
    out->complete = complete != 0;
    out->is_written = !out->complete && saltus_h5_is_written(path);
    if (H5Aexists((hid_t)r->file, "n_shards") > 0) {
        SALTUS_TRY(
            saltus_h5_read_number(r, "/", "n_shards", H5T_NATIVE_INT64, &out->n_shards, err));
        SALTUS_TRY(saltus_h5_read_number(r, "/", "shard", H5T_NATIVE_INT64, &out->shard, err));
    }
    if (out->is_sweep && out->n_shards > 0) {
        SALTUS_TRY(
            saltus_h5_read_number(r, "/", "whole_runs", H5T_NATIVE_INT64, &out->requested, err));
        SALTUS_TRY(saltus_h5_read_number(r, "/", "whole_first", H5T_NATIVE_INT64,
                                         &out->first_trajectory, err));
    }
    if (!saltus_h5_has(r, "restart/identity")) {
        out->n_done = -1;
    } else if (!out->is_sweep) {
        SALTUS_TRY(saltus_h5_load_state(r, out->n_done, NULL, &out->n_done, err));
    }
    if (out->complete && saltus_h5_is_torn(r)) { /* nobody goes on, who would mend it */
        saltus_results_close(r);
        r = NULL;
        SALTUS_TRY(saltus_results_open(path, &r, err));
    }
done:
    saltus_results_close(r);
    saltus_h5_quiet_end(&quiet);
    return status;
}

saltus_status saltus_h5_read_sources(const saltus_results *r, char **out, size_t *size,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t n = 0;
    const hsize_t start = 0;
    *out = NULL;
    if (saltus_h5_has(r, "restart/sources")) {
        SALTUS_TRY(saltus_h5_check_sparse(r, "restart/sources", H5T_INTEGER, 1, &n, err));
    }
    if (n > (hsize_t)1 << 34) {
        SALTUS_TRY(saltus_h5_damaged(r, "restart/sources", "it is too long", err));
    }
    if (n > 0) {
        *out = saltus_calloc(n, 1);
        SALTUS_NEED(*out);
        SALTUS_TRY(
            saltus_h5_read(r, "restart/sources", H5T_NATIVE_UINT8, 1, &start, &n, *out, err));
    }
    *size = n;
done:
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
    size_t size = 0;
    saltus_h5_quiet quiet;
    saltus_h5_quiet_begin(&quiet);
    SALTUS_TRY(saltus_results_open_head(path, NULL, &r, err));
    SALTUS_TRY(saltus_h5_read_sources(r, &bytes, &size, err));
    if (size == 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: does not hold the model that it was made of", path);
    }
    SALTUS_TRY(saltus_archive_unpack(bytes, size, out, err));
done:
    saltus_free(bytes);
    saltus_results_close(r);
    saltus_h5_quiet_end(&quiet);
    return status;
}
