/**
 * Disk space held for a file that another library writes, so that this library never meets a full
 * disk: HDF5 cannot close a file whose last writes failed.
 *
 * Space is asked for before it is used, behind the end of the file, where only this process sees
 * it. Besides what the next step needs there is always some left for closing the file. On file
 * systems that cannot allocate ahead the space for closing is a file of its own without a name,
 * given back when a write has failed.
 */
#ifndef SALTUS_WRITE_HDF5_RESERVE_H
#define SALTUS_WRITE_HDF5_RESERVE_H

#include "core/status.h"

typedef enum saltus_reserve_mode {
    SALTUS_RESERVE_AHEAD = 0, /**< allocate ahead, where the file system can; else BALLAST */
    SALTUS_RESERVE_BALLAST,   /**< a file without a name, and a look at the free space */
    SALTUS_RESERVE_BLIND,     /**< the same without the look; for tests of what remains */
} saltus_reserve_mode;

typedef struct saltus_reserve {
    int fd;           /**< the file, or -1 */
    int ballast;      /**< the file without a name, or -1 */
    int64_t reserved; /**< the file's blocks below this exist */
    int64_t closing;  /**< bytes that closing may need */
    saltus_reserve_mode mode;
} saltus_reserve;

/** Take over fd, an open file at path; hold `closing` bytes. Returns 0 or an errno value; then the
 * reserve still has to be closed. */
int saltus_reserve_open(saltus_reserve *r, int fd, const char *path, int64_t closing,
                        saltus_reserve_mode mode);
/** The file was cut at its end behind our back: what was allocated there may be gone. */
void saltus_reserve_cut(saltus_reserve *r, int64_t end);
/** See that a file that ends at `end` can grow by `bytes`. Returns 0, or an errno value such as
 * ENOSPC; nothing is lost then. */
int saltus_reserve_grow(saltus_reserve *r, int64_t end, int64_t bytes);
/** A write has failed: give the file without a name back to the disk. */
void saltus_reserve_release(saltus_reserve *r);
/** The file is closed: give back what lies behind its end, and close fd. */
void saltus_reserve_close(saltus_reserve *r);

#endif
