/** The parts of the writer of a sweep's file: beginning (sweep_open.c), points and closing
 * (sweep.c), rows of data sets (sweep_rows.c). */
#ifndef SALTUS_WRITE_HDF5_SWEEP_H
#define SALTUS_WRITE_HDF5_SWEEP_H

#include "sweep/collect.h"
#include "sweep/sweep.h"
#include "write/hdf5/file.h"
#include "core/handle.h"

enum {
    SALTUS_RESCUED_BYTES = 3 * 1024 * 1024, /**< of rows that are gathered when writing fails */
    /** These, and attributes, indices at the end. */
    SALTUS_SWEEP_CLOSING_BYTES = SALTUS_RESCUED_BYTES + 1024 * 1024,
};

/** One data set [point of the sweep][…]. */
typedef struct saltus_row_set {
    hid_t set, memory_type;
    int rank;
    hsize_t shape[4]; /* [0]: rows in the file */
    size_t row_bytes;
    int64_t n_gathered, capacity;
    char *gathered;
} saltus_row_set;

struct saltus_sweep_file {
    saltus_handle handle;
    saltus_sweep_sink sink;
    saltus_collection what;
    saltus_reduction reduction;
    double *edges; /* of fixed bins, for the reduction */
    const saltus_sweep *sweep;
    char *path, started[32];
    saltus_reserve reserve;
    hid_t file;
    saltus_row_set *sets; /* in the order in which a point's rows come */
    size_t n_sets, capacity;
    size_t cursor; /* the set whose row is next */
    int64_t n_rows;
    void *scratch;
    saltus_derived derived;
    double *times;
    int level;
    bool broken;
    double last_flush; /* seconds */
};

/** Create a data set of rows [rest] of 8-byte values. */
SALTUS_MUST_CHECK saltus_status saltus_rows_add(saltus_sweep_file *f, hid_t parent,
                                                const char *name, hid_t file_type,
                                                hid_t memory_type, int rank, const hsize_t *rest,
                                                saltus_error *err);
/** Write what a data set has gathered. */
SALTUS_MUST_CHECK saltus_status saltus_rows_write(saltus_sweep_file *f, saltus_row_set *s,
                                                  saltus_error *err);
/** "FILE: writing failed: CAUSE"; what can be is saved, only closing is left. problem is an errno
 * value, or 0 to ask HDF5; failed the data set at which it happened, or NULL. Returns SALTUS_E_IO.
 */
saltus_status saltus_sweep_fail(saltus_sweep_file *f, const saltus_row_set *failed, int problem,
                                saltus_error *err);

/** Functions of its sink. */
saltus_status saltus_sweep_file_begin_point(void *user, int64_t point, const saltus_plan *plan,
                                            saltus_sink **sink, saltus_error *err);
saltus_status saltus_sweep_file_deliver(void *user, int64_t point, saltus_sink *sink,
                                        saltus_error *err);
void saltus_sweep_file_discard(void *user, saltus_sink *sink);
/** Close and free everything; NULL is allowed. */
void saltus_sweep_file_free(saltus_sweep_file *f);

#endif
