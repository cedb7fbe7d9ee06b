#include "write/hdf5_file.h"

#include "core/memory.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CLOSING_BYTES = 384 * 1024,   /* attributes, indices, headers, cached chunks at the end */
    FINAL_BYTES = 64 * 1024,      /* raw size of a chunk of last samples */
    CHUNK_BYTES = 512 * 1024,     /* raw size of a chunk aimed at */
    SPLIT_BYTES = 4 * 1024 * 1024 /* a run above this is cut into several chunks */
};

/* Refuse to overwrite what is no result file, or what another process is writing. */
static saltus_status check_existing(int fd, const char *path, saltus_error *err)
{
    static const char signature[8] = "\211HDF\r\n\032\n";
    saltus_status status = SALTUS_OK;
    char head[8];
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: exists and is no regular file", path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: another process is writing this file", path);
    }
    (void)flock(fd, LOCK_UN); /* HDF5 takes its own */
    if (st.st_size > 0 && (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head ||
                           memcmp(head, signature, sizeof head) != 0)) {
        status = saltus_error_set(err, SALTUS_E_IO, "%s: exists and is no HDF5 file", path);
        saltus_error_hint(err, "choose another name, or remove it first");
    }
done:
    return status;
}

static saltus_status open_target(const char *path, int *fd, bool *created, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *created = *fd >= 0;
    if (*fd < 0 && errno == EEXIST) {
        *fd = open(path, O_RDWR | O_CLOEXEC);
        if (*fd >= 0) {
            SALTUS_TRY(check_existing(*fd, path, err));
        }
    }
    if (*fd < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", path, strerror(errno));
    }
done:
    if (status != SALTUS_OK && *fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
    return status;
}

/* Metadata stays in memory between flushes (up to 32 MiB), so that what is on the disk is the state
 * of the last flush when the process is killed. */
static hid_t access_properties(void)
{
    H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    (void)H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    (void)H5Pset_file_locking(access, true, true);
    (void)H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
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

static herr_t write_attributes(saltus_hdf5_sink *sink)
{
    const saltus_hdf5_layout *l = &sink->layout;
    const hid_t file = sink->file;
    const time_t now = time(NULL);
    const double zero = 0.0;
    const int incomplete = 0;
    struct tm utc;
    herr_t rc = 0;

    (void)gmtime_r(&now, &utc);
    (void)strftime(sink->started, sizeof sink->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
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
                 {"started", sink->started}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        rc |= saltus_h5_set_text(file, texts[i].name, texts[i].text ? texts[i].text : "");
    }
    rc |= saltus_h5_set_number(file, "seed", H5T_STD_U64LE, H5T_NATIVE_UINT64, &l->seed);
    rc |= saltus_h5_set_int64(file, "first_trajectory", l->first_trajectory);
    rc |= saltus_h5_set_int64(file, "requested", l->n_trajectories);
    rc |= saltus_h5_set_int64(file, "trajectories", 0);
    rc |= saltus_h5_set_int64(file, "events", 0);
    rc |= saltus_h5_set_number(file, "seconds", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &zero);
    rc |= saltus_h5_set_number(file, "complete", H5T_STD_I32LE, H5T_NATIVE_INT, &incomplete);
    return rc;
}

static int deflate_level(saltus_compress compress)
{
    return compress == SALTUS_COMPRESS_NONE ? 0 : compress == SALTUS_COMPRESS_SMALL ? 9 : 1;
}

/* A data set that grows along its first axis. HDF5 keeps no more than one chunk of it in memory:
 * more would need space on the disk that nobody has asked for. */
static hid_t create_growing(hid_t file, const char *name, hid_t type, int rank,
                            const hsize_t *shape, const hsize_t *chunk, int level)
{
    hsize_t most[3] = {H5S_UNLIMITED};
    size_t chunk_bytes = 8 * chunk[0];
    for (int i = 1; i < rank; ++i) {
        most[i] = shape[i];
        chunk_bytes *= chunk[i];
    }
    const hid_t space = H5Screate_simple(rank, shape, most);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE), access = H5Pcreate(H5P_DATASET_ACCESS);
    (void)H5Pset_chunk_cache(access, 7, chunk_bytes, 1.0);
    (void)H5Pset_chunk(how, rank, chunk);
    (void)H5Pset_fill_time(how, H5D_FILL_TIME_IFSET);
    if (level > 0) {
        (void)H5Pset_shuffle(how);
        (void)H5Pset_deflate(how, (unsigned)level);
    }
    const hid_t set = name ? H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, access)
                           : H5Dcreate_anon(file, type, space, how, access);
    (void)H5Pclose(access);
    (void)H5Pclose(how);
    (void)H5Sclose(space);
    return set;
}

int saltus_h5_create_samples(hid_t file, saltus_h5_samples *s, const char *name)
{
    const hsize_t columns = (hsize_t)s->n_columns;
    const hsize_t shape[3] = {0, s->n_points, columns};
    const hsize_t chunk[3] = {s->chunk_runs, s->chunk_points, columns};
    const hid_t type = s->memory_type == H5T_NATIVE_DOUBLE ? H5T_IEEE_F64LE
                       : s->value_size == 4                ? H5T_STD_I32LE
                                                           : H5T_STD_I64LE;
    s->set = create_growing(file, name, type, 3, shape, chunk, s->level);
    return s->set < 0 ? -1 : 0;
}

/* Runs per chunk, of counts and observables alike: as many as make a chunk of good size, but not so
 * many that a small ensemble would end up on few threads, because a block of runs is a chunk. Some
 * power of two or a multiple of 16, so that vector lanes come out even. */
static hsize_t runs_per_chunk(const saltus_hdf5_layout *l)
{
    const int64_t target = l->chunk_bytes ? l->chunk_bytes : CHUNK_BYTES;
    const int64_t width = l->n_counts * INT64_C(4) > l->n_observables * INT64_C(8)
                              ? l->n_counts * INT64_C(4)
                              : l->n_observables * INT64_C(8);
    const int64_t run_bytes = width > 0 ? width * l->n_points : 1;
    int64_t n = target / run_bytes;
    n = n < l->n_trajectories / 128 ? n : l->n_trajectories / 128;
    if (n >= 16) {
        return (hsize_t)(n < 65536 ? n / 16 * 16 : 65536);
    }
    return n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1;
}

static saltus_h5_samples samples_of(const saltus_hdf5_layout *l, int n_columns, int value_size,
                                    hid_t memory_type)
{
    const int64_t row_bytes = (int64_t)n_columns * value_size;
    const int64_t target = l->chunk_bytes ? l->chunk_bytes : 2 * (int64_t)CHUNK_BYTES;
    const int64_t split = l->chunk_bytes ? 4 * l->chunk_bytes : SPLIT_BYTES;
    saltus_h5_samples s = {.set = H5I_INVALID_HID,
                           .n_columns = n_columns,
                           .value_size = value_size,
                           .memory_type = memory_type,
                           .n_points = (hsize_t)l->n_points,
                           .chunk_runs = runs_per_chunk(l),
                           .chunk_points = (hsize_t)l->n_points,
                           .level = deflate_level(l->options.compress)};
    if (row_bytes * l->n_points > split) { /* then chunk_runs is 1 */
        s.chunk_points = (hsize_t)(row_bytes < target ? target / row_bytes : 1);
    }
    return s;
}

static int create_moments(hid_t group, saltus_h5_moments *m, int64_t n_points, int n_columns)
{
    const hsize_t shape[2] = {(hsize_t)n_points, (hsize_t)n_columns};
    const char *const names[4] = {"mean", "variance", "min", "max"};
    hid_t *const sets[4] = {&m->mean, &m->variance, &m->min, &m->max};
    for (int i = 0; i < 4; ++i) {
        *sets[i] = saltus_h5_write_array(group, names[i], H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 2,
                                         shape, NULL);
        if (*sets[i] < 0) {
            return -1;
        }
    }
    return 0;
}

static hid_t create_final(const saltus_hdf5_sink *sink, const char *name, hid_t type, int columns)
{
    const hsize_t shape[2] = {0, (hsize_t)columns};
    const int64_t rows = FINAL_BYTES / (8 * (int64_t)columns);
    const hsize_t chunk[2] = {rows > 1 ? (hsize_t)rows : 1, (hsize_t)columns};
    return create_growing(sink->file, name, type, 2, shape, chunk,
                          deflate_level(sink->layout.options.compress));
}

static int create_sets(saltus_hdf5_sink *sink)
{
    const saltus_hdf5_layout *l = &sink->layout;
    const hsize_t points[1] = {(hsize_t)l->n_points};
    const hsize_t none[1] = {0}, chunk[1] = {4096};
    int rc = 0;

    hid_t time = saltus_h5_write_array(sink->file, "time", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1,
                                       points, l->times);
    rc |= time < 0 ? -1 : 0;
    saltus_h5_close_dataset(&time);
    sink->trajectories = create_growing(sink->file, "trajectories", H5T_STD_I64LE, 1, none, chunk,
                                        deflate_level(l->options.compress));
    sink->stats = H5Gcreate2(sink->file, "stats", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    rc |= sink->trajectories < 0 || sink->stats < 0 ? -1 : 0;
    rc |= saltus_h5_set_int64(sink->stats, "trajectories", 0);
    if (l->n_counts > 0) {
        rc |= create_moments(sink->stats, &sink->count_moments, l->n_points, l->n_counts);
    }
    if (l->n_observables > 0) {
        hid_t group = H5Gcreate2(sink->stats, "observables", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        rc |= create_moments(group, &sink->observable_moments, l->n_points, l->n_observables);
        saltus_h5_close_group(&group);
    }
    return rc;
}

static saltus_status write_names(const saltus_hdf5_sink *sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_hdf5_layout *l = &sink->layout;
    const char *const about[SALTUS_H5_N_ABOUT] = {saltus_version(), l->model_name, l->method,
                                                  l->device, sink->started};
    SALTUS_TRY(saltus_h5_write_names(sink->file, "about", about, SALTUS_H5_N_ABOUT, err));
    SALTUS_TRY(
        saltus_h5_write_names(sink->file, "species", l->count_names, (size_t)l->n_counts, err));
    if (l->n_observables > 0) {
        SALTUS_TRY(saltus_h5_write_names(sink->file, "observable_names", l->observable_names,
                                         (size_t)l->n_observables, err));
    }
done:
    return status;
}

static int create_recorded(saltus_hdf5_sink *sink)
{
    const saltus_hdf5_layout *l = &sink->layout;
    int rc = 0;
    if (l->options.record == SALTUS_RECORD_ALL && l->n_counts > 0) {
        sink->counts = samples_of(l, l->n_counts, 4, H5T_NATIVE_INT64);
        rc |= saltus_h5_create_samples(sink->file, &sink->counts, "counts");
    }
    if (l->options.record == SALTUS_RECORD_ALL && l->n_observables > 0) {
        sink->observables = samples_of(l, l->n_observables, 8, H5T_NATIVE_DOUBLE);
        rc |= saltus_h5_create_samples(sink->file, &sink->observables, "observables");
    }
    if (l->options.record == SALTUS_RECORD_FINAL && l->n_counts > 0) {
        sink->final = create_final(sink, "final", H5T_STD_I64LE, l->n_counts);
        rc |= sink->final < 0 ? -1 : 0;
    }
    if (l->options.record == SALTUS_RECORD_FINAL && l->n_observables > 0) {
        sink->final_observables =
            create_final(sink, "final_observables", H5T_IEEE_F64LE, l->n_observables);
        rc |= sink->final_observables < 0 ? -1 : 0;
    }
    sink->sink.block_trajectories =
        l->options.record == SALTUS_RECORD_ALL ? (int64_t)runs_per_chunk(l) : 0;
    return rc;
}

/* Bytes that the file will take when nothing is in it yet, and those that closing adds. */
static void sizes(const saltus_hdf5_sink *sink, int64_t *now, int64_t *closing)
{
    const saltus_hdf5_layout *l = &sink->layout;
    const saltus_histogram *h = &sink->histogram;
    const int64_t columns = (int64_t)l->n_counts + l->n_observables;
    const size_t n_counts = (size_t)l->n_counts, n_observables = (size_t)l->n_observables;
    *now = 64 * 1024 + l->n_points * 8 + columns * 4 * 8 * l->n_points;
    *now += (int64_t)(n_counts * saltus_h5_longest(l->count_names, n_counts));
    *now += (int64_t)(n_observables * saltus_h5_longest(l->observable_names, n_observables));
    *now += l->options.command ? (int64_t)strlen(l->options.command) : 0;
    *closing = CLOSING_BYTES + columns * 8 +
               h->n_columns * (h->n_points * (h->n_bins + 2) * 8 + 16 * 1024);
}

/* A superblock of version 2, everything else from HDF5 1.10: then all metadata have checksums, also
 * the indices of chunks. A superblock of version 3 would mark the file as open for writing, and one
 * whose writer was killed could not be opened again. */
static hid_t create_file(const char *path)
{
    const hid_t access = access_properties(), how = creation_properties();
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, how, access);
    if (file >= 0 && H5Fset_libver_bounds(file, H5F_LIBVER_V110, H5F_LIBVER_LATEST) < 0) {
        (void)H5Fclose(file);
        file = H5I_INVALID_HID;
    }
    (void)H5Pclose(how);
    (void)H5Pclose(access);
    return file;
}

saltus_status saltus_h5_create(saltus_hdf5_sink *sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bool created = false;
    int64_t now, closing;
    int fd, problem;

    sizes(sink, &now, &closing);
    SALTUS_TRY(open_target(sink->path, &fd, &created, err));
    problem = saltus_reserve_open(&sink->reserve, fd, sink->path, closing, sink->layout.reserve);
    problem = problem ? problem : saltus_reserve_grow(&sink->reserve, 0, now);
    if (problem) {
        status = saltus_error_set(err, SALTUS_E_IO, "%s: cannot be created: %s", sink->path,
                                  strerror(problem));
        saltus_error_hint(err, "at least %.1f MiB are needed", (double)(now + closing) / (1 << 20));
        goto done;
    }
    sink->file = create_file(sink->path);
    saltus_reserve_reset(&sink->reserve);
    problem = saltus_reserve_grow(&sink->reserve, 0, now);
    if (sink->file < 0 || problem || create_sets(sink) < 0 || create_recorded(sink) < 0 ||
        write_attributes(sink) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", sink->path,
                    problem ? strerror(problem) : saltus_h5_cause());
    }
    SALTUS_TRY(write_names(sink, err));
    if (H5Fflush(sink->file, H5F_SCOPE_GLOBAL) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", sink->path, saltus_h5_cause());
    }
done:
    if (status != SALTUS_OK && created) {
        (void)unlink(sink->path);
    }
    return status;
}
