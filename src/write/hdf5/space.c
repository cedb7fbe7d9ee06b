/* A lattice in a result file: its geometry, and what is said about counts of its parts. */
#include "write/hdf5/space.h"

#include "core/memory.h"
#include "write/hdf5/chunk.h"

#include <string.h>

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

static saltus_status write_types(saltus_h5_file *f, const uint8_t *types, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_h5_tiling t = saltus_h5_tile(f->layout.lattice->size);
    const saltus_h5_set *s = saltus_h5_find(f, SALTUS_SET_TYPES);
    const size_t n = saltus_h5_tile_sites(&t);
    saltus_chunk chunk = {0};
    uint64_t *values = saltus_calloc(n, sizeof *values);
    SALTUS_NEED(values);
    for (hsize_t c = 0; c < t.n && types; ++c) { /* else all are 0, as what is not written */
        hsize_t at[3];
        saltus_h5_tile_start(&t, c, at);
        gather_types(&t, types, c, values);
        SALTUS_TRY(saltus_chunk_encode(values, n, n, 1, s->level, &chunk, err));
        SALTUS_TRY(saltus_h5_reserve(f, (int64_t)chunk.size + 8192, err));
        if (H5Dwrite_chunk(s->set, H5P_DEFAULT, chunk.skipped, at, chunk.size, chunk.data) < 0) {
            SALTUS_TRY(saltus_h5_fail(f, 0, err));
        }
        saltus_free(chunk.data);
        chunk = (saltus_chunk){0};
    }
done:
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

herr_t saltus_h5_describe_profile(const saltus_h5_file *f, hid_t object)
{
    const hid_t letter = saltus_h5_text_type(1);
    const herr_t rc =
        saltus_h5_set_number(object, "axis", letter, letter, &"xyz"[f->layout.axis]) |
        saltus_h5_set_number(object, "spacing", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &f->spacing);
    (void)H5Tclose(letter);
    return rc;
}

saltus_status saltus_h5_write_lattice(saltus_h5_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hid_t space = H5Gopen2(f->file, "space", H5P_DEFAULT);
    if (space < 0 || describe(space, f->layout.lattice) < 0) {
        SALTUS_TRY(saltus_h5_fail(f, 0, err));
    }
    SALTUS_TRY(write_types(f, f->layout.lattice->types, err));
done:
    saltus_h5_close_group(&space);
    return status;
}
