/** What a run goes on from, in its file. */
#ifndef SALTUS_WRITE_HDF5_STATE_H
#define SALTUS_WRITE_HDF5_STATE_H

#include "write/hdf5/file.h"

/** The most that a slot takes. */
size_t saltus_h5_state_bytes(const saltus_collector *ensemble);

/** Write the ensemble as it stands, f->rows trajectories, unless f->keeps_state; is_last: and
 * nothing else is left there. */
SALTUS_MUST_CHECK saltus_status saltus_h5_write_state(saltus_h5_file *f, bool is_last,
                                                      saltus_error *err);
/** Read the newest state that is whole and of at most so many rows; into may be NULL. */
SALTUS_MUST_CHECK saltus_status saltus_h5_read_state(const saltus_h5_set *state, hsize_t most,
                                                     saltus_collector *into, saltus_h5_slots *out,
                                                     saltus_error *err);

/** The newest state of at most so many rows of a file that is open for reading; rows is 0 when
 * there is none. `into` may be NULL. */
SALTUS_MUST_CHECK saltus_status saltus_h5_load_state(const struct saltus_results *r, int64_t most,
                                                     saltus_collector *into, int64_t *rows,
                                                     saltus_error *err);

/** The packed archive of a file that is open for reading, to be freed also after a failure; NULL:
 * there is none. */
SALTUS_MUST_CHECK saltus_status saltus_h5_read_sources(const struct saltus_results *r, char **out,
                                                       size_t *size, saltus_error *err);

#endif
