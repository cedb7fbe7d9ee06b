#include "write/hdf5/file.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    CLOSING_BYTES = 384 * 1024,   /* attributes, indices, headers, cached chunks at the end */
    FINAL_BYTES = 64 * 1024,      /* raw size of a chunk of last samples */
    CHUNK_BYTES = 512 * 1024,     /* raw size of a chunk aimed at */
    SPLIT_BYTES = 4 * 1024 * 1024 /* a run above this is cut into several chunks */
};

int saltus_h5_level(const saltus_hdf5_layout *l)
{
    const saltus_compress compress = l->options.compress;
    return compress == SALTUS_COMPRESS_NONE ? 0 : compress == SALTUS_COMPRESS_SMALL ? 9 : 1;
}

/* HDF5 keeps no more than one chunk of it in memory: more would need space on the disk that nobody
 * has asked for. */
hid_t saltus_h5_create_growing(hid_t file, const char *name, hid_t type, int rank,
                               const hsize_t *shape, const hsize_t *chunk, int level)
{
    hsize_t most[5] = {H5S_UNLIMITED};
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

int saltus_h5_shape(const saltus_h5_samples *s, hsize_t n_runs, hsize_t shape[4])
{
    const hsize_t parts = s->n_parts > 0 ? (hsize_t)s->n_parts : 1;
    shape[0] = n_runs;
    shape[1] = s->n_points;
    shape[s->n_parts > 0 ? 2 : 3] = parts;
    shape[s->n_parts > 0 ? 3 : 2] = (hsize_t)s->n_columns / parts;
    return s->n_parts > 0 ? 4 : 3;
}

int saltus_h5_create_samples(hid_t file, saltus_h5_samples *s, bool nameless)
{
    hsize_t shape[4], chunk[4];
    const int rank = saltus_h5_shape(s, 0, shape);
    memcpy(chunk, shape, sizeof chunk);
    chunk[0] = s->chunk_runs;
    chunk[1] = s->chunk_points;
    const hid_t type = s->memory_type == H5T_NATIVE_DOUBLE ? H5T_IEEE_F64LE
                       : s->value_size == 4                ? H5T_STD_I32LE
                                                           : H5T_STD_I64LE;
    s->set = saltus_h5_create_growing(file, nameless ? NULL : s->name, type, rank, shape, chunk,
                                      s->level);
    return s->set < 0 ? -1 : 0;
}

/* Runs per chunk, of all samples alike: as many as make a chunk of good size, but not so
 * many that a small ensemble would end up on few threads, because a block of runs is a chunk. Some
 * power of two or a multiple of 16, so that vector lanes come out even. */
static hsize_t runs_per_chunk(const saltus_hdf5_layout *l)
{
    const int64_t target = l->chunk_bytes ? l->chunk_bytes : CHUNK_BYTES;
    int64_t parts = 1;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        parts = l->n_parts[i] > parts ? l->n_parts[i] : parts;
    }
    const int64_t width = l->n_counts * parts * 4 > l->n_observables * INT64_C(8)
                              ? l->n_counts * parts * 4
                              : l->n_observables * INT64_C(8);
    const int64_t run_bytes = width > 0 ? width * l->n_points : 1;
    int64_t n = target / run_bytes;
    n = n < l->n_trajectories / 128 ? n : l->n_trajectories / 128;
    if (n >= 16) {
        return (hsize_t)(n < 65536 ? n / 16 * 16 : 65536);
    }
    return n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1;
}

static saltus_h5_samples samples_of(const saltus_hdf5_layout *l, const char *name, int n_columns,
                                    int value_size, hid_t memory_type)
{
    const int64_t row_bytes = (int64_t)n_columns * value_size;
    const int64_t target = l->chunk_bytes ? l->chunk_bytes : 2 * (int64_t)CHUNK_BYTES;
    const int64_t split = l->chunk_bytes ? 4 * l->chunk_bytes : SPLIT_BYTES;
    saltus_h5_samples s = {.set = H5I_INVALID_HID,
                           .name = name,
                           .n_columns = n_columns,
                           .value_size = value_size,
                           .memory_type = memory_type,
                           .n_points = (hsize_t)l->n_points,
                           .chunk_runs = runs_per_chunk(l),
                           .chunk_points = (hsize_t)l->n_points,
                           .level = saltus_h5_level(l)};
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
    return saltus_h5_create_growing(sink->file, name, type, 2, shape, chunk,
                                    saltus_h5_level(&sink->layout));
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
    sink->trajectories = saltus_h5_create_growing(sink->file, "trajectories", H5T_STD_I64LE, 1,
                                                  none, chunk, saltus_h5_level(l));
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
    if (l->time_unit) {
        SALTUS_TRY(saltus_h5_write_names(sink->file, "time_unit", &l->time_unit, 1, err));
    }
    SALTUS_TRY(
        saltus_h5_write_names(sink->file, "species", l->count_names, (size_t)l->n_counts, err));
    if (l->n_observables > 0) {
        SALTUS_TRY(saltus_h5_write_names(sink->file, "observable_names", l->observable_names,
                                         (size_t)l->n_observables, err));
    }
done:
    return status;
}

/* Counts by site type and by plane: all of them, or their mean and variance. */
static int create_splits(saltus_hdf5_sink *sink)
{
    const saltus_hdf5_layout *l = &sink->layout;
    int rc = 0;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        const int parts = l->n_parts[i];
        const hsize_t shape[3] = {(hsize_t)l->n_points, (hsize_t)parts, (hsize_t)l->n_counts};
        saltus_h5_moments *m = &sink->split_moments[i];
        if (parts == 0 || l->n_counts == 0) {
            continue;
        }
        if (l->options.record == SALTUS_RECORD_ALL) {
            sink->splits[i] =
                samples_of(l, saltus_h5_split_names[i], parts * l->n_counts, 4, H5T_NATIVE_INT64);
            sink->splits[i].n_parts = parts;
            rc |= saltus_h5_create_samples(sink->file, &sink->splits[i], false);
            continue;
        }
        hid_t group =
            H5Gcreate2(sink->file, saltus_h5_split_stats[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        m->mean =
            saltus_h5_write_array(group, "mean", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 3, shape, NULL);
        m->variance = saltus_h5_write_array(group, "variance", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 3,
                                            shape, NULL);
        saltus_h5_close_group(&group);
        rc |= m->mean < 0 || m->variance < 0 ? -1 : 0;
    }
    return rc | saltus_h5_describe_profile(sink);
}

static int create_recorded(saltus_hdf5_sink *sink)
{
    const saltus_hdf5_layout *l = &sink->layout;
    int rc = 0;
    if (l->options.record == SALTUS_RECORD_ALL && l->n_counts > 0) {
        sink->counts = samples_of(l, "counts", l->n_counts, 4, H5T_NATIVE_INT64);
        rc |= saltus_h5_create_samples(sink->file, &sink->counts, false);
    }
    if (l->options.record == SALTUS_RECORD_ALL && l->n_observables > 0) {
        sink->observables = samples_of(l, "observables", l->n_observables, 8, H5T_NATIVE_DOUBLE);
        rc |= saltus_h5_create_samples(sink->file, &sink->observables, false);
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
    for (int i = 0; i < SALTUS_N_SPLITS && l->options.record != SALTUS_RECORD_ALL; ++i) {
        *now += 2 * 8 * l->n_points * l->n_parts[i] * l->n_counts;
    }
    *now += l->n_frames * 8 + l->n_counts * (l->n_frames > 0 ? 4096 : 0);
    *closing = CLOSING_BYTES + columns * 8 + saltus_h5_derived_bytes(sink, 0) +
               h->n_columns * (h->n_points * (h->n_bins + 2) * 8 + 16 * 1024);
}

saltus_disk_need saltus_hdf5_need(const saltus_hdf5_layout *l)
{
    const saltus_record record = l->options.record;
    const double runs = (double)l->n_trajectories, points = (double)l->n_points;
    const double columns = (double)l->n_counts + l->n_observables;
    const bool all = record == SALTUS_RECORD_ALL, final = record == SALTUS_RECORD_FINAL;
    double parts = 1.0, frame = l->n_counts; /* counts stand in 4 bytes as long as they can */
    saltus_disk_need need = {.plain = points * columns * 4.0 * sizeof(double)};
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        parts += l->n_parts[i];
    }
    for (int i = 0; i < 3 && l->lattice; ++i) {
        frame *= l->lattice->size[i];
    }
    need.packed = runs * (8.0 + 8.0 * (l->derived ? l->derived->n : 0));
    need.packed += all ? runs * points * (4.0 * l->n_counts * parts + 8.0 * l->n_observables) : 0.0;
    need.packed += final ? runs * 8.0 * columns : 0.0;
    need.plain += all ? 0.0 : points * l->n_counts * (parts - 1.0) * 2.0 * sizeof(double);
    need.sparse = runs * (double)l->n_frames * frame;
    return need;
}

static saltus_status check_disk(const saltus_hdf5_sink *sink, saltus_error *err)
{
    const saltus_hdf5_layout *l = &sink->layout;
    const saltus_disk_need need = saltus_hdf5_need(l);
    const double free = l->disk_free > 0.0 ? l->disk_free : saltus_disk_free(sink->path);
    return saltus_disk_check(sink->path, &need, l->options.compress, free, err);
}

saltus_status saltus_h5_create(saltus_hdf5_sink *sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bool created = false;
    int64_t now, closing;
    SALTUS_TRY(check_disk(sink, err));
    sizes(sink, &now, &closing);
    SALTUS_TRY(saltus_h5_start(sink->path, sink->layout.options.overwrite, now, closing,
                               sink->layout.reserve, &sink->reserve, &sink->file, &created, err));
    if (create_sets(sink) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", sink->path, saltus_h5_cause());
    }
    if (sink->layout.lattice) {
        SALTUS_TRY(saltus_h5_create_space(sink, err));
    }
    if (create_recorded(sink) < 0 || create_splits(sink) < 0 ||
        saltus_h5_describe(sink->file, &sink->layout, sink->started) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", sink->path, saltus_h5_cause());
    }
    SALTUS_TRY(write_names(sink, err));
    SALTUS_TRY(saltus_h5_derived_create(sink, err));
    if (H5Fflush(sink->file, H5F_SCOPE_GLOBAL) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", sink->path, saltus_h5_cause());
    }
done:
    if (status != SALTUS_OK && created) {
        (void)unlink(sink->path);
    }
    return status;
}
