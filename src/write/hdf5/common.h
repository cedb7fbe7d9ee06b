/** What writing and reading result files share: small calls to HDF5, and its errors condensed. */
#ifndef SALTUS_WRITE_HDF5_COMMON_H
#define SALTUS_WRITE_HDF5_COMMON_H

#include "core/status.h"

#include <hdf5.h>

/** HDF5 prints its errors unless told not to; these two stand around every use of it, so that a
 * program that uses HDF5 itself keeps its own setting. The first failure in between is kept. */
typedef struct saltus_h5_quiet {
    H5E_auto2_t function;
    void *data;
    char cause[200];
} saltus_h5_quiet;
void saltus_h5_quiet_begin(saltus_h5_quiet *quiet);
void saltus_h5_quiet_end(const saltus_h5_quiet *quiet);

/** The cause of the first failure since saltus_h5_quiet_begin in a few words, such as "No space
 * left on device". Valid until the end of quiet. */
const char *saltus_h5_cause(void);

/** Identifiers are >= 0 while open; these close and forget, and take what was never open. */
void saltus_h5_close_dataset(hid_t *id);
void saltus_h5_close_group(hid_t *id);

/** Attributes; a negative result is a failure. */
herr_t saltus_h5_set_text(hid_t object, const char *name, const char *text);
herr_t saltus_h5_set_number(hid_t object, const char *name, hid_t file_type, hid_t memory_type,
                            const void *value);
herr_t saltus_h5_set_int64(hid_t object, const char *name, int64_t value);
/** A text that stands in the object's header, which has a checksum. */
herr_t saltus_h5_set_fixed(hid_t object, const char *name, const char *text);
/** An attribute of what stands at the path. */
herr_t saltus_h5_set_int64_of(hid_t file, const char *path, const char *name, int64_t value);

/** Utf-8 of a size of at least 1, padded with zeros, or H5T_VARIABLE. To be closed. */
hid_t saltus_h5_text_type(size_t size);

/** The data set "about" repeats in texts of a fixed size what attributes say: version, model,
 * method, device, time of the start. */
enum { SALTUS_H5_N_ABOUT = 5 };

/** A one-dimensional data set of texts, as long as the longest; *set is left open, also after a
 * failure. */
SALTUS_MUST_CHECK saltus_status saltus_h5_write_names(hid_t file, const char *path,
                                                      const char *const *names, size_t n,
                                                      hid_t *set, saltus_error *err);
/** Bytes that each of them takes there. */
size_t saltus_h5_longest(const char *const *names, size_t n);

/** The group of a species under /histogram: '%' and '/' and a leading '.' stand as %25, %2F, %2E.
 * To be freed with saltus_free; NULL when memory ran out. */
char *saltus_h5_escape(const char *name);
/** A path with an escaped name in place of its %s, likewise. */
char *saltus_h5_named(const char *pattern, const char *name);
/** The path of a species' frames; where another data set would have the same path its first letter
 * is escaped too. */
char *saltus_h5_frames_name(const char *species);

#endif
