/**
 * Result files that are being written, and those whose writer was killed.
 *
 * A file is written in HDF5's mode of a single writer and many readers (SWMR): what the disk holds
 * can be read at any moment, because metadata go to it behind what they point at. Two bits of the
 * superblock say that a writer is at work; a plain H5Fopen refuses such a file, one with
 * H5F_ACC_SWMR_READ (in h5py swmr=True) reads it. A killed writer leaves the bits behind. Whether
 * one is alive its lock tells, which ends with the process: on one byte far behind the end of the
 * file, so that readers, who lock whole files, meet nothing.
 */
#ifndef SALTUS_WRITE_HDF5_LIVE_H
#define SALTUS_WRITE_HDF5_LIVE_H

#include "write/hdf5/common.h"

/** Lock an open file for writing, until it is closed. Returns 0, EAGAIN when another process (or
 * another open file of this one) has the lock, or ENOTSUP on file systems without locks. */
int saltus_h5_lock(int fd);

/** Whether the file system of a file that exists has locks. */
bool saltus_h5_has_locks(const char *path);

/** Whether the path still leads to the open file. */
bool saltus_h5_is_at(const char *path, int fd);

/** Remove the open file's name, unless another file stands there now. */
void saltus_h5_remove(const char *path, int fd);

/** Open for reading: a file that is being written as it stands. One whose writer was killed is
 * closed in its place first, where this process may write it and nobody else can be at work (not on
 * a network's file system); h5clear -s does the same. Negative on failure. */
hid_t saltus_h5_open_for_reading(const char *path);

/** Whether a process writes the file now, as far as locks tell. */
bool saltus_h5_is_written(const char *path);

/** Let a file whose writer died be as long as it says, or HDF5 takes it for truncated: its end is
 * told first and made later. What was there keeps its place. fd is locked. */
void saltus_h5_lengthen(int fd);

/** The first attribute of each file that Saltus writes. */
#define SALTUS_H5_MARK "saltus_version"
/** An attribute, 1: the writer died, so that statistics may be of several flushes. */
#define SALTUS_H5_TORN "torn"

#endif
