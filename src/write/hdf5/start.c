/* How a result file begins: who may be overwritten, HDF5's settings, space, attributes. */
#include "write/hdf5/file.h"
#include "write/hdf5/live.h"
#include "write/hdf5/probe.h"

#include "core/memory.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SUPERBLOCK = 48,    /* bytes of one of version 3 */
    FIRST_BLOCK = 2048, /* HDF5's first block of metadata, where the root is */
    HEAD_BYTES = 4096   /* with the root, and so with our mark */
};

/* Whether n bytes from its begin are as ours. */
static bool bears_mark(const unsigned char *head, ssize_t n)
{
    return n > 0 && memmem(head, (size_t)n, SALTUS_H5_MARK, sizeof SALTUS_H5_MARK - 1);
}

/* Whether its writer was killed while it was made, in the place of another: the superblock tells of
 * the first block alone, which is empty, or begins with what we begin with. Byte 11 tells by a bit,
 * 1, that it was open; bytes 28 to 35 are the end, little-endian (HDF5 File Format Specification
 * 3.0, II.A). */
static bool has_nothing(int fd, off_t size)
{
    unsigned char head[HEAD_BYTES];
    static const unsigned char none[FIRST_BLOCK];
    uint64_t end = 0;
    const ssize_t n = pread(fd, head, sizeof head, 0);
    if (size <= SUPERBLOCK || n <= SUPERBLOCK) {
        return n == size;
    }
    for (int i = 8; i-- > 0;) {
        end = end << 8 | head[28 + i];
    }
    const size_t block = (size_t)n < FIRST_BLOCK ? (size_t)n : FIRST_BLOCK;
    return head[8] == 3 && head[11] < 2 && end <= FIRST_BLOCK + SUPERBLOCK &&
           (memcmp(head + SUPERBLOCK, none, block - SUPERBLOCK) == 0 ||
            (end < (uint64_t)size && bears_mark(head, n)));
}

/* Whether it begins as ours do. */
static bool has_mark(int fd)
{
    unsigned char head[HEAD_BYTES];
    return bears_mark(head, pread(fd, head, sizeof head, 0));
}

static saltus_status refuse(const char *path, const char *what, const char *hint, saltus_error *err)
{
    const saltus_status status =
        saltus_error_set(err, SALTUS_E_IO, "%s: exists and %s", path, what);
    saltus_error_hint(err, "%s", hint);
    return status;
}

/* Refuse to replace what HDF5 has open elsewhere, what Saltus has not written, and without
 * `overwrite` also what it has. An empty file is nobody's. What lies beside a place is of one who
 * was killed, and need not be whole. */
static saltus_status check_existing(int fd, const char *path, bool is_beside, bool overwrite,
                                    saltus_error *err)
{
    static const char signature[8] = "\211HDF\r\n\032\n", other[] = "choose another name",
                      remove_it[] = "choose another name, or remove it first";
    saltus_status status = SALTUS_OK;
    saltus_h5_kind kind;
    char head[8];
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        SALTUS_TRY(refuse(path, "is no regular file", other, err));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) { /* by HDF5's own locks */
        SALTUS_FAIL(SALTUS_E_IO, "%s: another process has this file open", path);
    }
    (void)flock(fd, LOCK_UN);
    if (st.st_size == 0) {
        goto done;
    }
    if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head, signature, sizeof head) != 0) {
        SALTUS_TRY(refuse(path, "is no HDF5 file", remove_it, err));
    }
    if (has_nothing(fd, st.st_size) || (is_beside && has_mark(fd))) {
        goto done;
    }
    SALTUS_TRY(saltus_h5_probe(path, &kind, err));
    if (kind != SALTUS_H5_RESULT) {
        SALTUS_TRY(refuse(path,
                          kind == SALTUS_H5_FOREIGN ? "is no result of Saltus"
                                                    : "is no result that can be read",
                          remove_it, err));
    }
    if (!overwrite) {
        SALTUS_TRY(
            refuse(path, "is a result", "choose another name, or replace it: `overwrite`", err));
    }
done:
    return status;
}

/* What stands there is looked at under the lock: who has made it may come second to who opened it
 * then and has written it whole. */
static saltus_status claim(const char *at, const char *path, bool is_beside, bool overwrite,
                           int *fd, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int make = is_beside ? O_CREAT | O_NOFOLLOW : 0;
    int opened = open(at, O_RDWR | O_NONBLOCK | O_CLOEXEC | make, 0666);
    if (opened < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", path, strerror(errno));
    }
    if (saltus_h5_lock(opened) == EAGAIN || !saltus_h5_is_at(at, opened)) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: another process is writing this file", path);
    }
    SALTUS_TRY(check_existing(opened, at, is_beside, overwrite, err));
    *fd = opened;
    opened = -1;
done:
    if (opened >= 0) {
        (void)close(opened);
    }
    return status;
}

saltus_status saltus_h5_claim(const char *path, bool overwrite, int *fd, saltus_error *err)
{
    return claim(path, path, false, overwrite, fd, err);
}

saltus_status saltus_h5_claim_beside(const char *beside, const char *path, int *fd,
                                     saltus_error *err)
{
    return claim(beside, path, true, true, fd, err);
}

/* Open the file, or make it beside its place. */
static saltus_status open_target(saltus_h5_birth *birth, bool overwrite, int *fd, saltus_error *err)
{
    saltus_status status;
    struct stat there;
    const bool is_free = lstat(birth->path, &there) != 0 && errno == ENOENT;
    if (!is_free && stat(birth->path, &there) != 0 && errno == ENOENT) {
        return saltus_error_set(err, SALTUS_E_IO, "%s: is a link to no file", birth->path);
    }
    if (!is_free) {
        return saltus_h5_claim(birth->path, overwrite, fd, err);
    }
    status = saltus_h5_claim_beside(birth->beside, birth->path, fd, err);
    birth->is_beside = status == SALTUS_OK; /* then it is ours */
    return status;
}

/* Metadata stays in memory between flushes (up to 32 MiB), so that what is on the disk is the state
 * of the last flush when the process is killed. */
static hid_t access_properties(void)
{
    H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    (void)H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    (void)H5Pset_file_locking(access, false, true); /* the file has our own lock */
    (void)H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST);
    if (H5Pget_mdc_config(access, &cache) >= 0) {
        cache.set_initial_size = true;
        cache.initial_size = cache.max_size = 32 * 1024 * 1024;
        cache.incr_mode = H5C_incr__off;
        cache.flash_incr_mode = H5C_flash_incr__off;
        cache.decr_mode = H5C_decr__off;
        (void)H5Pset_mdc_config(access, &cache);
    }
    return access;
}

/* Few enough attributes and links to stand in one block with a checksum. */
static hid_t creation_properties(void)
{
    const hid_t how = H5Pcreate(H5P_FILE_CREATE);
    (void)H5Pset_attr_phase_change(how, 32, 24);
    (void)H5Pset_link_phase_change(how, 32, 24);
    return how;
}

/* All metadata of this format have checksums, also the indices of chunks. */
static hid_t create_file(const char *path)
{
    const hid_t access = access_properties(), how = creation_properties();
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, how, access);
    (void)H5Pclose(how);
    (void)H5Pclose(access);
    return file;
}

/* A file that has come under the name meanwhile stays, where the file system can do that. */
int saltus_h5_publish(const char *from, const char *to, bool replaces)
{
    if (!replaces) {
        if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
            return 0;
        }
        if (errno != EINVAL && errno != ENOSYS) {
            return errno;
        }
    }
    return rename(from, to) == 0 ? 0 : errno;
}

saltus_status saltus_h5_appear(saltus_h5_birth *birth, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int problem = birth->is_beside ? saltus_h5_publish(birth->beside, birth->path, false) : 0;
    if (problem == EEXIST) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: another process is writing this file", birth->path);
    }
    if (problem) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", birth->path, strerror(problem));
    }
    birth->is_at_place = birth->is_beside;
    birth->is_beside = false;
done:
    return status;
}

void saltus_h5_end_birth(saltus_h5_birth *birth, bool has_failed, int fd)
{
    if (has_failed && birth->is_beside) {
        saltus_h5_remove(birth->beside, fd);
    }
    if (has_failed && birth->is_at_place) {
        saltus_h5_remove(birth->path, fd);
    }
    saltus_free(birth->beside);
    *birth = (saltus_h5_birth){0};
}

saltus_status saltus_h5_start(saltus_h5_birth *birth, bool overwrite, int64_t now, int64_t closing,
                              saltus_reserve_mode mode, saltus_reserve *reserve, hid_t *file,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *path = birth->path;
    const size_t size = strlen(path) + sizeof ".new";
    int fd = -1;
    birth->beside = saltus_calloc(size, 1);
    SALTUS_NEED(birth->beside);
    (void)snprintf(birth->beside, size, "%s.new", path);
    SALTUS_TRY(open_target(birth, overwrite, &fd, err));
    int problem = saltus_reserve_open(reserve, fd, path, closing, mode);
    problem = problem ? problem : saltus_reserve_grow(reserve, 0, now);
    if (problem) {
        status = saltus_error_set(err, SALTUS_E_IO, "%s: cannot be created: %s", path,
                                  strerror(problem));
        saltus_error_hint(err, "at least %.1f MiB are needed", (double)(now + closing) / (1 << 20));
        goto done;
    }
    *file = create_file(birth->is_beside ? birth->beside : path);
    saltus_reserve_cut(reserve, 0);
    problem = saltus_reserve_grow(reserve, 0, now);
    if (*file < 0 || problem) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", path,
                    problem ? strerror(problem) : saltus_h5_cause());
    }
done:
    return status;
}

herr_t saltus_h5_go_live(saltus_h5_file *f)
{
    const herr_t rc = f->is_live ? 0 : H5Fstart_swmr_write(f->file);
    f->is_live = rc >= 0;
    return rc;
}

hid_t saltus_h5_open_to_write(const char *path)
{
    const hid_t access = access_properties();
    const bool clear = true;
    hid_t file = H5I_INVALID_HID;
    if (H5Pset(access, "clear_status_flags", &clear) >= 0) { /* as h5clear does its work */
        file = H5Fopen(path, H5F_ACC_RDWR, access);
    }
    (void)H5Pclose(access);
    return file;
}

herr_t saltus_h5_go_plain(saltus_h5_file *f)
{
    if (!f->is_live) {
        return f->file < 0 ? -1 : 0;
    }
    f->is_live = false;
    for (size_t i = 0; i < f->n_sets; ++i) {
        saltus_h5_close_dataset(&f->sets[i].set);
    }
    const hid_t old = f->file;
    f->file = H5I_INVALID_HID;
    if (H5Fclose(old) < 0 || !saltus_h5_is_at(f->path, f->reserve.fd)) {
        return -1;
    }
    f->file = saltus_h5_open_to_write(f->path);
    herr_t rc = f->file < 0 ? -1 : 0;
    for (size_t i = 0; i < f->n_sets && rc >= 0; ++i) {
        f->sets[i].set = saltus_h5_open_set(f->file, &f->sets[i]);
        rc = f->sets[i].set < 0 ? -1 : 0;
    }
    saltus_reserve_cut(&f->reserve, 0); /* closing has cut the file behind its end */
    return rc;
}

herr_t saltus_h5_describe(saltus_h5_file *f)
{
    const saltus_hdf5_layout *l = &f->layout;
    const hid_t file = f->file;
    const int common = l->common_random_numbers;
    const time_t now = time(NULL);
    const double zero = 0.0;
    const int incomplete = 0;
    struct tm utc;
    herr_t rc = 0;

    (void)gmtime_r(&now, &utc);
    (void)strftime(f->started, sizeof f->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const struct {
        const char *name, *text;
    } texts[] = {{"saltus_version", saltus_version()},
                 {"model", l->model_name},
                 {"model_sha256", l->model_sha256},
                 {"method", l->method},
                 {"device", l->device},
                 {"layout", l->layout},
                 {"rng", l->rng},
                 {"options", l->options.command},
                 {"started", f->started}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        rc |= saltus_h5_set_text(file, texts[i].name, texts[i].text ? texts[i].text : "");
    }
    if (l->volumes && l->volumes[0]) {
        rc |= saltus_h5_set_text(file, "volumes", l->volumes);
    }
    if (l->molecules_per_mole > 0.0) {
        rc |= saltus_h5_set_number(file, "molecules_per_mole", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                                   &l->molecules_per_mole);
    }
    rc |= saltus_h5_set_number(file, "seed", H5T_STD_U64LE, H5T_NATIVE_UINT64, &l->seed);
    rc |= saltus_h5_set_int64(file, "first_trajectory", l->first_trajectory);
    rc |= saltus_h5_set_int64(file, "requested",
                              l->n_trajectories * (int64_t)saltus_h5_length(l, 'g'));
    rc |= saltus_h5_set_int64(file, "trajectories", 0);
    rc |= saltus_h5_set_int64(file, "events", 0);
    rc |= saltus_h5_set_number(file, "seconds", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &zero);
    rc |= saltus_h5_set_number(file, "complete", H5T_STD_I32LE, H5T_NATIVE_INT, &incomplete);
    if (l->options.n_shards > 0) {
        rc |= saltus_h5_set_int64(file, "shard", l->options.shard);
        rc |= saltus_h5_set_int64(file, "n_shards", l->options.n_shards);
        rc |= saltus_h5_set_int64(file, "whole_first", l->options.whole_first);
        rc |= saltus_h5_set_int64(file, "whole_runs", l->options.whole_runs);
        if (l->sweep) {
            rc |= l->options.by_runs ? saltus_h5_set_int64(file, "first_run", l->first_run)
                                     : saltus_h5_set_int64(file, "first_point", l->first_point);
        }
    }
    if (l->sweep) {
        rc |= saltus_h5_set_int64(file, "runs_per_point", l->n_trajectories);
        rc |= saltus_h5_set_int64(file, "sweep_points", 0);
        rc |= saltus_h5_set_number(file, "common_random_numbers", H5T_STD_I32LE, H5T_NATIVE_INT,
                                   &common);
    }
    return rc;
}
