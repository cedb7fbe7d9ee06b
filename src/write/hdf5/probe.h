/** What a file that somebody else may have made does to HDF5, before this process opens it. */
#ifndef SALTUS_WRITE_HDF5_PROBE_H
#define SALTUS_WRITE_HDF5_PROBE_H

#include "write/results.h"

/** What a file is. */
typedef enum saltus_h5_kind {
    SALTUS_H5_RESULT,    /**< a result of Saltus, perhaps an incomplete one */
    SALTUS_H5_FOREIGN,   /**< an HDF5 file, but no result */
    SALTUS_H5_NO_RESULT, /**< nothing that can be opened, or a result that cannot be read */
    SALTUS_H5_DEADLY,    /**< HDF5 dies of it, or needs over 3 s of a processor */
} saltus_h5_kind;

/**
 * Open a file in a child process, which looks at all that a reader would: groups, headers,
 * attributes, indices of chunks and some of what is in them. Headers that were changed so that
 * their checksums fit make libhdf5 1.10 crash; that is the child's end then, not the caller's.
 *
 * Costs a fork and reading headers, some ms, 0.1 ms more for each of up to 3000 data sets.
 * SALTUS_E_NO_MEMORY when no process can be had.
 */
SALTUS_MUST_CHECK saltus_status saltus_h5_probe(const char *path, saltus_h5_kind *kind,
                                                saltus_error *err);

/** Likewise many files, in few children: kinds[n]. All objects and attributes of the file are
 * looked at, but saltus_results_open_here needs more: saltus_h5_probe. */
SALTUS_MUST_CHECK saltus_status saltus_h5_probe_all(const char *const *paths, int n,
                                                    saltus_h5_kind *kinds, saltus_error *err);

/** Open, without a probe; saltus_results_open is this behind one. */
SALTUS_MUST_CHECK saltus_status saltus_results_open_here(const char *path, saltus_results **out,
                                                         saltus_error *err);
/* ---- again.c ---- */

/** Whether the file's writer died, and its statistics are still those of several flushes. */
bool saltus_h5_is_torn(const saltus_results *results);
/** Make them of the state that the file keeps; what fails is left as it is. The file is closed
 * then, and was open nowhere else in this process. */
void saltus_h5_mend(saltus_results *results);

/* ---- results.c ---- */

/** Open and read nothing: not even a point of a sweep need be there. `known` is what a probe has
 * said; NULL: that is asked first. */
SALTUS_MUST_CHECK saltus_status saltus_results_open_head(const char *path,
                                                         const saltus_h5_kind *known,
                                                         saltus_results **out, saltus_error *err);

#endif
