/* Which data sets a file has, and how they are cut into chunks. */
#include "write/hdf5/sets.h"

#include "core/memory.h"
#include "write/hdf5/space.h"

#include <string.h>

enum {
    COLUMN_ROWS = 4096,            /* in chunks of a value per run */
    FINAL_BYTES = 64 * 1024,       /* raw size of a chunk of last samples */
    CHUNK_BYTES = 512 * 1024,      /* of samples, aimed at */
    BLOCKS_OF_SHARD = 32,          /* so many threads are busy with it */
    SPLIT_BYTES = 4 * 1024 * 1024, /* a run above this is cut into several chunks */
    BINS_BYTES = 1024 * 1024,      /* of a run's histogram */
    PLAIN_BYTES = 64 * 1024,       /* of what is written byte by byte */
    ROWS_BYTES = 256 * 1024 /* gathered of a sweep's data set; a chunk, if a row is not more */
};

static const saltus_h5_entry kinds[SALTUS_N_SETS] = {
#define KIND(id, path, each, type, axes, unit, role, fill, part, needs) \
    {SALTUS_SET_##id,                                                   \
     path,                                                              \
     SALTUS_EACH_##each,                                                \
     SALTUS_TYPE_##type,                                                \
     axes,                                                              \
     SALTUS_UNIT_##unit,                                                \
     SALTUS_ROLE_##role,                                                \
     fill,                                                              \
     part,                                                              \
     needs},
    SALTUS_H5_SETS(KIND)
#undef KIND
};

int saltus_h5_level(const saltus_hdf5_layout *l)
{
    const saltus_compress compress = l->options.compress;
    return compress == SALTUS_COMPRESS_NONE ? 0 : compress == SALTUS_COMPRESS_SMALL ? 9 : 1;
}

unsigned saltus_h5_has_what(const saltus_hdf5_layout *l)
{
    const saltus_record record = l->options.record;
    unsigned has = record == SALTUS_RECORD_ALL ? SALTUS_H5_ALL : SALTUS_H5_FEW;
    has |= l->n_counts > 0 ? SALTUS_H5_COUNTS : 0;
    has |= l->n_observables > 0 ? SALTUS_H5_REALS : 0;
    has |= record == SALTUS_RECORD_FINAL ? SALTUS_H5_LAST : 0;
    has |= record == SALTUS_RECORD_HISTOGRAM ? SALTUS_H5_BINS : 0;
    has |= l->options.range_high > l->options.range_low ? SALTUS_H5_RANGE : 0;
    has |= l->time_unit ? SALTUS_H5_UNIT : 0;
    has |= l->sweep ? SALTUS_H5_SWEEP : 0;
    has |= l->derived && l->derived->n > 0 ? SALTUS_H5_DERIVED : 0;
    has |= l->lattice ? SALTUS_H5_SPACE : 0;
    has |= l->n_frames > 0 ? SALTUS_H5_FRAMES : 0;
    has |= l->identity ? SALTUS_H5_RESTART : 0;
    has |= l->identity && !l->sweep ? SALTUS_H5_STATE : 0;
    has |= l->sweep && l->options.by_runs ? SALTUS_H5_STATES : 0;
    if (l->lattice && l->n_counts > 0) {
        has |= l->n_parts[SALTUS_BY_TYPE] > 0 ? SALTUS_H5_TYPES : 0;
        has |= l->n_parts[SALTUS_BY_PLANE] > 0 ? SALTUS_H5_PLANES : 0;
    }
    return has;
}

size_t saltus_h5_n_of(const saltus_hdf5_layout *l, saltus_h5_each each)
{
    return each == SALTUS_EACH_FILE      ? 1
           : each == SALTUS_EACH_DERIVED ? (size_t)(l->derived ? l->derived->n : 0)
           : each == SALTUS_EACH_VARIED  ? (size_t)(l->sweep ? saltus_sweep_n_axes(l->sweep) : 0)
                                         : (size_t)l->n_counts;
}

hsize_t saltus_h5_length(const saltus_hdf5_layout *l, char axis)
{
    const int64_t lengths[] = {
        ['a'] = SALTUS_H5_N_ABOUT,
        ['B'] = (int64_t)l->sources_size,
        ['I'] = l->identity ? l->identity->n : 0,
        ['S'] = 2,
        ['T'] = (int64_t)l->state_bytes,
        ['U'] = 1 + (int64_t)(l->state_bytes / sizeof(uint64_t)),
        ['b'] = l->options.n_bins,
        ['d'] = l->derived ? l->derived->n : 0,
        ['e'] = l->options.n_bins + 1,
        ['f'] = l->n_frames,
        ['G'] = l->sweep ? saltus_sweep_n_points(l->sweep) : 1,
        ['g'] = l->n_swept > 0 ? l->n_swept
                : l->sweep     ? saltus_sweep_n_points(l->sweep)
                               : 1,
        ['k'] = l->lattice ? l->lattice->n_types : 0,
        ['o'] = l->n_observables,
        ['p'] = l->n_parts[SALTUS_BY_PLANE],
        ['R'] = l->n_trajectories,
        ['r'] = l->n_trajectories,
        ['s'] = l->n_counts,
        ['t'] = l->n_points,
        ['u'] = 1,
        ['v'] = l->sweep ? saltus_sweep_n_axes(l->sweep) : 0,
        ['w'] = 2,
        ['x'] = l->lattice ? l->lattice->size[0] : 0,
        ['y'] = l->lattice ? l->lattice->size[1] : 0,
        ['z'] = l->lattice ? l->lattice->size[2] : 0,
    };
    return (hsize_t)lengths[(unsigned char)axis];
}

/* ------------------------------------------------------------------------------------------------
 * Types
 */

size_t saltus_h5_value_bytes(saltus_h5_type type)
{
    return type == SALTUS_TYPE_TEXT || type == SALTUS_TYPE_NONE ? 0
           : type == SALTUS_TYPE_BYTE                           ? 1
                                                                : 8;
}

hid_t saltus_h5_memory_type(const saltus_h5_set *s)
{
    return s->kind->type == SALTUS_TYPE_REAL     ? H5T_NATIVE_DOUBLE
           : s->kind->type == SALTUS_TYPE_NUMBER ? H5T_NATIVE_UINT64
                                                 : H5T_NATIVE_INT64;
}

hid_t saltus_h5_file_type(const saltus_h5_set *s)
{
    switch (s->kind->type) {
    case SALTUS_TYPE_REAL:
        return H5T_IEEE_F64LE;
    case SALTUS_TYPE_NUMBER:
        return H5T_STD_U64LE;
    case SALTUS_TYPE_INTEGER:
        return H5T_STD_I64LE;
    case SALTUS_TYPE_COUNT:
        return s->value_size == 4 ? H5T_STD_I32LE : H5T_STD_I64LE;
    default:
        return s->value_size == 1   ? H5T_STD_U8LE
               : s->value_size == 2 ? H5T_STD_U16LE
                                    : H5T_STD_U32LE;
    }
}

/* ------------------------------------------------------------------------------------------------
 * Chunks
 */

/* Runs per chunk, of all samples alike: as many as make a chunk of good size, but not so
 * many that a small ensemble or shard would end up on few threads, because a block of runs is a
 * chunk. Shards of one size cut at the edges of such chunks are about equal, and a merge takes
 * their chunks as they are. Some power of two or a multiple of 16, so that vector lanes come out
 * even. */
hsize_t saltus_h5_runs_per_chunk(const saltus_hdf5_layout *l)
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
    const int64_t n_shards = l->options.n_shards;
    const int64_t runs = n_shards > 0 ? l->options.whole_runs : l->n_trajectories;
    const int64_t in_shard = n_shards > 0 ? runs / n_shards / BLOCKS_OF_SHARD : runs;
    int64_t n = target / run_bytes;
    n = n < runs / 128 ? n : runs / 128;
    n = n < in_shard ? n : in_shard;
    if (n >= 16) {
        return (hsize_t)(n < 65536 ? n / 16 * 16 : 65536);
    }
    return n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1;
}

/* Samples [run][time][...]: whole runs, or parts of one. */
static void chunk_samples(const saltus_hdf5_layout *l, saltus_h5_set *s)
{
    const int64_t target = l->chunk_bytes ? l->chunk_bytes : 2 * (int64_t)CHUNK_BYTES;
    const int64_t split = l->chunk_bytes ? 4 * l->chunk_bytes : SPLIT_BYTES;
    int64_t point_bytes = s->value_size;
    for (int i = 2; i < s->rank; ++i) {
        point_bytes *= (int64_t)s->shape[i];
    }
    s->chunk[0] = saltus_h5_runs_per_chunk(l);
    if (point_bytes * l->n_points > split) { /* then these are chunks of one run */
        s->chunk[1] = (hsize_t)(point_bytes < target ? target / point_bytes : 1);
    }
}

/* Whole rows of grid points, or as many items of a row's first axis as make a good size. */
static void chunk_points(const saltus_hdf5_layout *l, saltus_h5_set *s)
{
    const int64_t fit = s->row_bytes > 0 ? (int64_t)(ROWS_BYTES / s->row_bytes) : 1;
    const int64_t n_points = saltus_sweep_n_points(l->sweep);
    size_t item = s->row_bytes;
    s->capacity = fit < 1 ? 1 : fit < n_points ? fit : n_points;
    s->chunk[0] = (hsize_t)s->capacity;
    for (int i = 1; i < s->rank && item > ROWS_BYTES; ++i) {
        item /= (size_t)s->shape[i];
        const size_t n = item > 0 ? ROWS_BYTES / item : 1;
        s->chunk[i] = n < 1 ? 1 : n < s->shape[i] ? n : s->shape[i];
        if (item <= ROWS_BYTES) {
            break;
        }
    }
}

/* Chunks of sites where there are any. */
static void chunk_sites(const saltus_hdf5_layout *l, saltus_h5_set *s)
{
    const char *sites = strstr(s->axes, "zyx");
    const saltus_h5_tiling tiling = saltus_h5_tile(l->lattice->size);
    for (int i = 0; i < s->rank; ++i) {
        s->chunk[i] = sites && s->axes + i >= sites ? tiling.chunk[s->axes + i - sites]
                      : s->axes[i] == 'f' && !sites && s->shape[i] < 65536 ? s->shape[i]
                      : s->axes[i] == 'f' && !sites                        ? 65536
                                                                           : 1;
    }
}

static void choose_chunk(const saltus_hdf5_layout *l, saltus_h5_set *s)
{
    const saltus_h5_role role = s->kind->role;
    const hsize_t width = s->rank > 1 ? s->shape[1] : 1;
    memcpy(s->chunk, s->shape, sizeof s->chunk);
    s->level = saltus_h5_level(l);
    if (s->kind->id == SALTUS_SET_SOURCES || role == SALTUS_ROLE_STATE) {
        const int bytes = s->rank - 1;
        s->chunk[0] = s->rank > 1 ? 1 : s->chunk[0];
        s->chunk[bytes] = s->shape[bytes] < 1             ? 1
                          : s->shape[bytes] < PLAIN_BYTES ? s->shape[bytes]
                                                          : PLAIN_BYTES;
        s->level = role == SALTUS_ROLE_STATE ? 0 : s->level;
    } else if (role == SALTUS_ROLE_SITES && s->rank > 1) {
        chunk_sites(l, s);
        s->level = s->kind->id == SALTUS_SET_THERE ? 0 : s->level;
    } else if (s->axes[0] == 'g') {
        chunk_points(l, s);
        s->level = s->kind->id == SALTUS_SET_STATES ? 1 : s->level; /* most of it is zeros */
    } else if (s->grows && s->rank > 2) {
        chunk_samples(l, s);
    } else if (s->grows) {
        const hsize_t rows = s->rank == 1 ? COLUMN_ROWS : FINAL_BYTES / (8 * width);
        s->chunk[0] = rows > 1 ? rows : 1;
        s->capacity = (int64_t)s->chunk[0];
    } else if (role == SALTUS_ROLE_AT_END && s->axes[s->rank - 1] != 't' && !l->sweep) {
        const hsize_t rows = BINS_BYTES / (8 * width);
        if (s->rank == 2) {
            s->chunk[0] = rows < 1 ? 1 : rows < s->shape[0] ? rows : s->shape[0];
        }
        s->level = 1; /* because most bins are empty */
    } else {
        s->chunk[0] = 0;
    }
}

/* ------------------------------------------------------------------------------------------------
 * The list
 */

static char *path_of(const saltus_hdf5_layout *l, const saltus_h5_entry *k, int index)
{
    const char *name = k->each == SALTUS_EACH_DERIVED  ? l->derived->names[index]
                       : k->each == SALTUS_EACH_VARIED ? saltus_sweep_name(l->sweep, index)
                                                       : l->count_names[index];
    if (k->each == SALTUS_EACH_FRAMED) {
        return saltus_h5_frames_name(name);
    }
    return saltus_h5_named(k->path, name);
}

static saltus_status make(const saltus_hdf5_layout *l, const saltus_h5_entry *k, int index,
                          saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *axes = k->axes + (k->axes[0] == 'g' && !l->sweep);
    *s = (saltus_h5_set){.kind = k, .set = H5I_INVALID_HID, .index = index};
    s->path = k->each == SALTUS_EACH_FILE ? saltus_strdup(k->path) : path_of(l, k, index);
    SALTUS_NEED(s->path);
    s->rank = (int)strlen(axes);
    memcpy(s->axes, axes, strlen(axes));
    s->grows = axes[0] == 'g' || axes[0] == 'R' || (axes[0] == 'r' && !l->sweep);
    s->value_size = k->type == SALTUS_TYPE_COUNT && !l->sweep                    ? 4
                    : k->type == SALTUS_TYPE_BYTE || k->type == SALTUS_TYPE_NONE ? 1
                                                                                 : 8;
    s->row_bytes = saltus_h5_value_bytes(k->type);
    for (int i = 0; i < s->rank; ++i) {
        s->shape[i] = saltus_h5_length(l, axes[i]);
        s->row_bytes *= i > 0 || !s->grows ? (size_t)s->shape[i] : 1;
    }
    choose_chunk(l, s);
    if (s->grows) {
        s->shape[0] = 0;
    }
done:
    return status;
}

/* The scales of its axes, which are among those before it. */
static void find_scales(saltus_h5_set *sets, size_t at, size_t last[128])
{
    saltus_h5_set *s = &sets[at];
    const int first = (unsigned char)(s->axes[0] == 'G' ? 'g' : s->axes[0]);
    if (s->rank == 1 && strlen(s->kind->axes) == 1 &&
        (last[first] == SIZE_MAX || sets[last[first]].kind == s->kind)) {
        s->is_scale = true;
        last[first] = at;
        return;
    }
    for (int i = 0; i < s->rank; ++i) {
        s->scale[i] = last[(unsigned char)(s->axes[i] == 'G' ? 'g' : s->axes[i])];
    }
}

saltus_status saltus_h5_list_sets(const saltus_hdf5_layout *l, saltus_h5_set **sets, size_t *n,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const unsigned has = saltus_h5_has_what(l);
    size_t capacity = 0, last[128], end;
    memset(last, 0xff, sizeof last);
    for (size_t k = 0; k < SALTUS_N_SETS; k = end) { /* those of a species lie side by side */
        for (end = k + 1; end < SALTUS_N_SETS && kinds[end].each == kinds[k].each; ++end) {
        }
        for (size_t i = 0; i < saltus_h5_n_of(l, kinds[k].each); ++i) {
            for (size_t j = k; j < end; ++j) {
                if ((kinds[j].needs & ~has) != 0) {
                    continue;
                }
                saltus_h5_set *grown = saltus_grow(*sets, *n, &capacity, sizeof **sets);
                SALTUS_NEED(grown);
                *sets = grown;
                SALTUS_TRY(make(l, &kinds[j], (int)i, &grown[(*n)++], err));
                find_scales(grown, *n - 1, last);
            }
        }
    }
done:
    return status;
}

void saltus_h5_free_sets(saltus_h5_set *sets, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        saltus_free(sets[i].path);
        saltus_free(sets[i].gathered);
        saltus_free(sets[i].tail);
    }
    saltus_free(sets);
}

/* ------------------------------------------------------------------------------------------------
 * What they take
 */

/* Values of all of a kind, times their size. Counts stand in 4 bytes as long as they can; of those
 * of sweeps, which are 8 bytes wide, packing loses a half at once. */
static double bytes_of(const saltus_hdf5_layout *l, const saltus_h5_entry *k)
{
    const bool is_plain = l->options.compress == SALTUS_COMPRESS_NONE;
    double bytes = k->type == SALTUS_TYPE_COUNT && !(l->sweep && is_plain)
                       ? 4.0
                       : (double)saltus_h5_value_bytes(k->type);
    for (const char *axis = k->axes; *axis; ++axis) {
        bytes *= (double)saltus_h5_length(l, *axis);
    }
    return bytes * (double)saltus_h5_n_of(l, k->each);
}

saltus_disk_need saltus_hdf5_need(const saltus_hdf5_layout *l)
{
    const unsigned has = saltus_h5_has_what(l);
    const bool is_plain = l->options.compress == SALTUS_COMPRESS_NONE;
    saltus_disk_need need = {0};
    for (size_t k = 0; k < SALTUS_N_SETS; ++k) {
        const saltus_h5_role role = kinds[k].role;
        if ((kinds[k].needs & ~has) != 0) {
            continue;
        }
        const bool is_sparse = role == SALTUS_ROLE_STATE || kinds[k].id == SALTUS_SET_STATES ||
                               (role == SALTUS_ROLE_AT_END && !(l->sweep && is_plain)) ||
                               kinds[k].each == SALTUS_EACH_FRAMED;
        double *part = role == SALTUS_ROLE_HEAD || (role == SALTUS_ROLE_MADE && !l->sweep)
                           ? &need.plain
                       : is_sparse ? &need.sparse
                                   : &need.packed;
        *part += bytes_of(l, &kinds[k]);
    }
    return need;
}

/* ------------------------------------------------------------------------------------------------
 * Creating one
 */

/* HDF5 keeps no more than one chunk of what grows in memory: more would need space on the disk that
 * nobody has asked for. What is written again and again has its place from the beginning. */
static void set_properties(const saltus_h5_set *s, hid_t how, hid_t access)
{
    size_t chunk_bytes = 8;
    if (s->chunk[0] == 0) {
        if (s->kind->role == SALTUS_ROLE_MADE || s->kind->fill) {
            (void)H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY);
            (void)H5Pset_fill_time(how, H5D_FILL_TIME_ALLOC);
        }
        return;
    }
    for (int i = 0; i < s->rank; ++i) {
        chunk_bytes *= s->chunk[i];
    }
    (void)H5Pset_chunk_cache(access, 7, chunk_bytes, 1.0);
    (void)H5Pset_chunk(how, s->rank, s->chunk);
    if (s->grows || s->kind->role == SALTUS_ROLE_STATE) {
        (void)H5Pset_fill_time(how, H5D_FILL_TIME_IFSET);
    }
    if (s->level > 0) {
        (void)H5Pset_shuffle(how);
        (void)H5Pset_deflate(how, (unsigned)s->level);
    }
}

hid_t saltus_h5_create_set(hid_t file, const saltus_h5_set *s, const char *path)
{
    hsize_t shape[SALTUS_H5_MOST_AXES], most[SALTUS_H5_MOST_AXES];
    const bool is_trimmed = s->kind->role == SALTUS_ROLE_AT_END && s->chunk[0] > 0 && !s->grows;
    memcpy(shape, s->shape, sizeof shape);
    memcpy(most, s->shape, sizeof most);
    if (s->grows) {
        most[0] = H5S_UNLIMITED;
    } else if (is_trimmed) {
        shape[s->rank - 1] = 0;
    }
    const hid_t space =
        s->rank > 0 ? H5Screate_simple(s->rank, shape, most) : H5Screate(H5S_SCALAR);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE), access = H5Pcreate(H5P_DATASET_ACCESS);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    (void)H5Pset_create_intermediate_group(links, 1);
    set_properties(s, how, access);
    const hid_t set =
        path ? H5Dcreate2(file, path, saltus_h5_file_type(s), space, links, how, access)
             : H5Dcreate_anon(file, saltus_h5_file_type(s), space, how, access);
    (void)H5Pclose(links);
    (void)H5Pclose(access);
    (void)H5Pclose(how);
    (void)H5Sclose(space);
    return set;
}

hid_t saltus_h5_open_set(hid_t file, const saltus_h5_set *s)
{
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE), access = H5Pcreate(H5P_DATASET_ACCESS);
    set_properties(s, how, access);
    const hid_t set = H5Dopen2(file, s->path, access);
    (void)H5Pclose(access);
    (void)H5Pclose(how);
    return set;
}
