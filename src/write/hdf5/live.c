#include "write/hdf5/live.h"
#include "write/hdf5/edge.h"
#include "write/hdf5/file.h"

#include "core/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static const off_t lock_at = INT64_C(1) << 62;
/* Of a file whose writer died: HDF5 tells the end before it is there. */
#define MOST_LENGTHENED (UINT64_C(1) << 40)

enum {
    READ_ATTEMPTS = 30, /* of HDF5, at metadata that are just being written */
    BEGIN_SECONDS = 1,  /* at a file that somebody begins to write */
    MARK_SWMR = 4,      /* in the superblock's flags: readers may look on */
};

int saltus_h5_lock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = lock_at, .l_len = 1};
    int rc;
    do {
        rc = fcntl(fd, F_OFD_SETLK, &lock);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno == EAGAIN || errno == EACCES ? EAGAIN : ENOTSUP;
}

bool saltus_h5_has_locks(const char *path)
{
    const int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    const bool has = fd < 0 || saltus_h5_lock(fd) != ENOTSUP;
    if (fd >= 0) {
        (void)close(fd);
    }
    return has;
}

bool saltus_h5_is_written(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = lock_at, .l_len = 1};
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool is = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is;
}

bool saltus_h5_is_at(const char *path, int fd)
{
    struct stat here, there;
    return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

void saltus_h5_remove(const char *path, int fd)
{
    if (saltus_h5_is_at(path, fd)) {
        (void)unlink(path);
    }
}

/* What the superblock says of a writer that has the file open, or 0. Only versions from 3 on can:
 * byte 8 is the version, byte 11 the flags (HDF5 File Format Specification 3.0, II.A). */
static unsigned marks_of(int fd)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char head[12];
    return pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
                   memcmp(head, signature, sizeof signature) == 0 && head[8] >= 3
               ? head[11]
               : 0;
}

/* Where the superblock says that the file ends: bytes 28 to 35, little-endian, where addresses have
 * 8 bytes. Metadata that is on the disk lies before it. */
void saltus_h5_lengthen(int fd)
{
    unsigned char head[36];
    uint64_t end = 0;
    struct stat about;
    if (marks_of(fd) == 0 || fstat(fd, &about) != 0 ||
        pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head || head[9] != 8) {
        return;
    }
    for (int i = 8; i-- > 0;) {
        end = end << 8 | head[28 + i];
    }
    if (end > (uint64_t)about.st_size && end - (uint64_t)about.st_size < MOST_LENGTHENED) {
        (void)!ftruncate(fd, (off_t)end);
    }
}

/* `is_own`: by the rules of the library's own files. HDF5 refuses a file that this process has open
 * by others, as by h5py. */
static hid_t try_to_open(const char *path, bool is_live, bool is_own)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (is_own) {
        (void)H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
        (void)H5Pset_file_locking(access, false, true);
    }
    if (is_live) { /* it waits twice as long before each attempt: a second in all, not for ever */
        (void)H5Pset_metadata_read_attempts(access, READ_ATTEMPTS);
    }
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY | (is_live ? H5F_ACC_SWMR_READ : 0), access);
    (void)H5Pclose(access);
    return file;
}

static hid_t open_to_read(const char *path, bool is_live)
{
    const hid_t file = try_to_open(path, is_live, true);
    return file >= 0 || is_live ? file : try_to_open(path, is_live, false);
}

/* Rows that the file says are there. */
static bool read_rows(hid_t file, hsize_t *rows)
{
    const char *name = H5Aexists(file, "sweep_points") > 0 ? "sweep_points" : "trajectories";
    const hid_t attribute = H5Aexists(file, name) > 0 ? H5Aopen(file, name, H5P_DEFAULT) : -1;
    int64_t n = -1;
    if (attribute >= 0) {
        (void)!H5Aread(attribute, H5T_NATIVE_INT64, &n);
        (void)H5Aclose(attribute);
    }
    *rows = n >= 0 ? (hsize_t)n : 0;
    return n >= 0;
}

/* Let a data set that grows end behind the last row that was delivered. Frames of a lattice belong
 * to trajectories that are not. */
static herr_t cut(hid_t file, const char *name, const H5O_info_t *info, void *user)
{
    const hsize_t *rows = user;
    hsize_t shape[H5S_MAX_RANK], most[H5S_MAX_RANK];
    if (info->type != H5O_TYPE_DATASET || strncmp(name, "space/frames/", 13) == 0) {
        return 0;
    }
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
    const int rank = H5Sget_simple_extent_dims(space, shape, most);
    if (rank > 0 && most[0] == H5S_UNLIMITED && shape[0] > *rows) {
        (void)saltus_h5_set_length(set, *rows);
    }
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    return 0;
}

/* Whether a writer may be at work on another machine, whose locks are not always seen here: the
 * file systems that are shared, by their numbers in statfs(2) and their own sources. */
static bool is_shared(int fd)
{
    static const uint32_t shared[] = {
        0x6969,     /* NFS */
        0x517b,     /* SMB */
        0xfe534d42, /* SMB 2 */
        0xff534d42, /* CIFS */
        0x65735546, /* FUSE: sshfs, Gluster */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0x19830326, /* BeeGFS */
        0x00c36400, /* Ceph */
        0x5346414f, /* AFS */
        0x01021997, /* 9P */
    };
    struct statfs about;
    bool is = fstatfs(fd, &about) != 0;
    for (size_t i = 0; !is && i < sizeof shared / sizeof *shared; ++i) {
        is = (uint32_t)about.f_type == shared[i];
    }
    return is;
}

/* End a file whose writer is dead as it would have. Whoever has no lock or may not write leaves it
 * as it is. */
static bool close_for_dead(const char *path)
{
    bool done = false;
    hsize_t rows;
    const int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && !is_shared(fd) && saltus_h5_lock(fd) == 0 && marks_of(fd) != 0) {
        saltus_h5_lengthen(fd);
        const hid_t file = saltus_h5_open_to_write(path);
        /* what was written since the superblock was lies behind the end that it tells */
        if (file >= 0 && H5Fincrement_filesize(file, 0) >= 0 && read_rows(file, &rows)) {
            (void)H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, cut, &rows);
            if (H5Lexists(file, "restart", H5P_DEFAULT) > 0 &&
                H5Lexists(file, "restart/state", H5P_DEFAULT) > 0) {
                (void)saltus_h5_set_int64(file, SALTUS_H5_TORN, 1);
            }
        }
        done = file >= 0 && H5Fclose(file) >= 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return done;
}

/* Open it once. *soon: a writer begins, or has died so lately that its lock is held by a child, and
 * readers may not look on yet. */
static hid_t try_to_read(const char *path, bool *soon)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const unsigned marks = fd >= 0 ? marks_of(fd) : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    const bool is_live = marks != 0 && !close_for_dead(path);
    *soon = is_live && !(marks & MARK_SWMR);
    return open_to_read(path, is_live);
}

hid_t saltus_h5_open_for_reading(const char *path)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    const double start = saltus_now();
    bool soon;
    hid_t file = try_to_read(path, &soon);
    while (file < 0 && soon && saltus_now() - start < BEGIN_SECONDS) {
        (void)nanosleep(&pause, NULL);
        file = try_to_read(path, &soon);
    }
    return file;
}
