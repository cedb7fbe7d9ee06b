/** A file that is forced to its disk while more is written to it: a slow disk holds nobody up. */
#ifndef SALTUS_WRITE_HDF5_SYNC_H
#define SALTUS_WRITE_HDF5_SYNC_H

#include "core/parallel.h"

#include <stdbool.h>

typedef struct saltus_sync {
    saltus_thread thread;
    int fd, problem;
    bool is_under_way; /**< the thread is to be joined */
    bool is_done;      /**< atomic: and will not take long to be */
} saltus_sync;

/** Force what has been written to fd, and return meanwhile; nothing where an earlier call is not
 * done yet. Returns 0, or the errno value of an earlier call that has failed. *s stays in place,
 * and fd open, until saltus_sync_end. */
int saltus_sync_begin(saltus_sync *s, int fd);
/** Wait until it is done. Returns as above. */
int saltus_sync_end(saltus_sync *s);

#endif
