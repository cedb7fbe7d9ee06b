/* A lattice in a result file: its geometry, and what is said about counts of its parts. */
#include "write/hdf5/file.h"

#include "core/memory.h"

#include <string.h>

const char *const saltus_h5_split_names[SALTUS_N_SPLITS] = {"space/type_counts", "space/profile"};
const char *const saltus_h5_split_stats[SALTUS_N_SPLITS] = {"space/type_stats",
                                                            "space/profile_stats"};

/* ------------------------------------------------------------------------------------------------
 * Chunks of sites
 */

enum {
    TILE_SITES = 1 << 16, /* of a chunk aimed at, */
    MANY_TILES = 1024,    /* unless these would be more, */
    LARGE_TILE = 1 << 24  /* but not larger than that: it is made in memory */
};

/* Whole rows, whole planes as far as they go: what lies together in memory. */
saltus_h5_tiling saltus_h5_tile(const int32_t size[3])
{
    saltus_h5_tiling t = {.n = 1};
    const hsize_t n_sites = (hsize_t)size[0] * (hsize_t)size[1] * (hsize_t)size[2];
    const hsize_t each = n_sites / MANY_TILES;
    hsize_t left = each < TILE_SITES ? TILE_SITES : each < LARGE_TILE ? each : LARGE_TILE;
    for (int axis = 2; axis >= 0; --axis) {
        t.size[axis] = (hsize_t)size[2 - axis];
        t.chunk[axis] = left < t.size[axis] ? left : t.size[axis];
        t.n_chunks[axis] = (t.size[axis] + t.chunk[axis] - 1) / t.chunk[axis];
        t.n *= t.n_chunks[axis];
        left = left / t.chunk[axis] > 1 ? left / t.chunk[axis] : 1;
    }
    return t;
}

void saltus_h5_tile_start(const saltus_h5_tiling *t, hsize_t c, hsize_t start[3])
{
    for (int axis = 2; axis >= 0; --axis) {
        start[axis] = c % t->n_chunks[axis] * t->chunk[axis];
        c /= t->n_chunks[axis];
    }
}

size_t saltus_h5_tile_sites(const saltus_h5_tiling *t)
{
    return (size_t)t->chunk[0] * (size_t)t->chunk[1] * (size_t)t->chunk[2];
}

/* ------------------------------------------------------------------------------------------------
 * Geometry
 */

static hid_t create_types(hid_t space, const saltus_h5_tiling *t, int level)
{
    const hid_t shape = H5Screate_simple(3, t->size, NULL);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(how, 3, t->chunk);
    if (level > 0) {
        (void)H5Pset_shuffle(how);
        (void)H5Pset_deflate(how, (unsigned)level);
    }
    const hid_t set =
        H5Dcreate2(space, "types", H5T_STD_U8LE, shape, H5P_DEFAULT, how, H5P_DEFAULT);
    (void)H5Pclose(how);
    (void)H5Sclose(shape);
    return set;
}

/* The types of a chunk's sites; those beyond the lattice are 0. */
static void gather_types(const saltus_h5_tiling *t, const uint8_t *types, hsize_t c, uint64_t *out)
{
    hsize_t start[3];
    saltus_h5_tile_start(t, c, start);
    memset(out, 0, saltus_h5_tile_sites(t) * sizeof *out);
    for (hsize_t z = 0; z < t->chunk[0] && start[0] + z < t->size[0]; ++z) {
        for (hsize_t y = 0; y < t->chunk[1] && start[1] + y < t->size[1]; ++y) {
            const uint8_t *row =
                types + ((start[0] + z) * t->size[1] + start[1] + y) * t->size[2] + start[2];
            uint64_t *to = out + (z * t->chunk[1] + y) * t->chunk[2];
            for (hsize_t x = 0; x < t->chunk[2] && start[2] + x < t->size[2]; ++x) {
                to[x] = row[x];
            }
        }
    }
}

static saltus_status write_types(saltus_hdf5_sink *sink, hid_t space, const uint8_t *types,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_h5_tiling t = saltus_h5_tile(sink->layout.lattice->size);
    const int level = saltus_h5_level(&sink->layout);
    saltus_chunk chunk = {0};
    hid_t set = create_types(space, &t, level);
    uint64_t *values = saltus_calloc(saltus_h5_tile_sites(&t), sizeof *values);
    SALTUS_NEED(values);
    if (set < 0) {
        SALTUS_TRY(saltus_h5_fail(sink, 0, err));
    }
    for (hsize_t c = 0; c < t.n && types; ++c) { /* else all are 0, as what is not written */
        hsize_t at[3];
        const size_t n = saltus_h5_tile_sites(&t);
        saltus_h5_tile_start(&t, c, at);
        gather_types(&t, types, c, values);
        SALTUS_TRY(saltus_chunk_encode(values, n, n, 1, level, &chunk, err));
        SALTUS_TRY(saltus_h5_reserve(sink, (int64_t)chunk.size + 8192, err));
        if (H5Dwrite_chunk(set, H5P_DEFAULT, chunk.skipped, at, chunk.size, chunk.data) < 0) {
            SALTUS_TRY(saltus_h5_fail(sink, 0, err));
        }
        saltus_free(chunk.data);
        chunk = (saltus_chunk){0};
    }
done:
    saltus_h5_close_dataset(&set);
    saltus_free(chunk.data);
    saltus_free(values);
    return status;
}

static herr_t describe(hid_t space, const saltus_lattice *l)
{
    static const char *const words[] = {"periodic", "reflecting", "absorbing", "constant"};
    static const char *const faces[SALTUS_N_FACES] = {"x-", "x+", "y-", "y+", "z-", "z+"};
    static const char *const axes[] = {"size_x", "size_y", "size_z"};
    char text[200] = "";
    size_t at = 0;
    herr_t rc =
        saltus_h5_set_number(space, "spacing", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &l->spacing);
    for (int i = 0; i < 3; ++i) {
        rc |= saltus_h5_set_int64(space, axes[i], l->size[i]);
    }
    for (int f = 0; f < SALTUS_N_FACES; ++f) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %s", f > 0 ? ", " : "", faces[f],
                               words[l->faces[f]]);
    }
    return rc | saltus_h5_set_text(space, "faces", text);
}

herr_t saltus_h5_describe_profile(const saltus_hdf5_sink *sink)
{
    const saltus_hdf5_layout *l = &sink->layout;
    const char *name = l->options.record == SALTUS_RECORD_ALL
                           ? saltus_h5_split_names[SALTUS_BY_PLANE]
                           : saltus_h5_split_stats[SALTUS_BY_PLANE];
    if (!l->lattice || l->n_parts[SALTUS_BY_PLANE] == 0 || l->n_counts == 0) {
        return 0;
    }
    const hid_t object = H5Oopen(sink->file, name, H5P_DEFAULT);
    const hid_t letter = saltus_h5_text_type(1);
    herr_t rc = object < 0 ? -1 : 0;
    rc |= rc ? rc : saltus_h5_set_number(object, "axis", letter, letter, &"xyz"[l->axis]);
    rc |= rc ? rc
             : saltus_h5_set_number(object, "spacing", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                                    &l->lattice->spacing);
    (void)H5Tclose(letter);
    if (object >= 0) {
        (void)H5Oclose(object);
    }
    return rc;
}

saltus_status saltus_h5_create_space(saltus_hdf5_sink *sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = sink->layout.lattice;
    hid_t space = H5Gcreate2(sink->file, "space", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (space < 0 || describe(space, l) < 0) {
        SALTUS_TRY(saltus_h5_fail(sink, 0, err));
    }
    SALTUS_TRY(saltus_h5_write_names(space, "type_names", l->type_names, (size_t)l->n_types, err));
    SALTUS_TRY(write_types(sink, space, l->types, err));
    if (sink->layout.n_frames > 0) {
        SALTUS_TRY(saltus_h5_create_frames(sink, space, err));
    }
done:
    saltus_h5_close_group(&space);
    return status;
}
