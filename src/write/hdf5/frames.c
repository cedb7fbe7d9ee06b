/* Frames of a lattice: for each species a data set [run][frame][z][y][x], written by the threads
 * that simulate. Chunks that hold no particle are not written. Values have a byte each; when a site
 * holds more, the data set is rewritten with 2 or 4. */
#include "write/hdf5/chunk.h"
#include "write/hdf5/merge_rows.h"
#include "write/hdf5/space.h"

#include "core/memory.h"

#include <stdatomic.h>
#include <string.h>

enum {
    INDEX_BYTES = 512,            /* per chunk, for HDF5's index, generously */
    FRAME_BYTES = 2 * 1024 * 1024 /* per frame, for pages of the index and the rest */
};

/* A species. */
typedef struct film {
    saltus_h5_set *s;
    _Atomic int value_size; /* 1, 2 or 4; rises */
} film;

typedef struct saltus_h5_frames {
    saltus_h5_tiling tiling;
    int n_films;
    film *films; /* [count] */
    saltus_h5_set *rows, *there;
    int level;
} saltus_h5_frames;

/* A chunk on its way. */
typedef struct cut {
    int column;
    hsize_t chunk;
    saltus_chunk data;
} cut;

/* A frame on its way: its entries in lists by column and chunk, then its chunks. */
typedef struct reel {
    const saltus_frame *frame;
    int64_t *head; /* [column][chunk] the first entry, or -1 */
    int64_t *next; /* [entry] */
    uint64_t *values;
    cut *cuts;
    size_t n, capacity;
    int *value_size; /* [column] */
} reel;

saltus_status saltus_h5_open_frames(saltus_h5_file *file, const int32_t size[3],
                                    saltus_h5_frames **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_set *first = saltus_h5_find(file, SALTUS_SET_FRAMES); /* they lie side by side */
    saltus_h5_frames *f = *out = saltus_calloc(1, sizeof *f);
    SALTUS_NEED(f);
    f->tiling = saltus_h5_tile(size);
    f->rows = saltus_h5_find(file, SALTUS_SET_ROW);
    f->there = saltus_h5_find(file, SALTUS_SET_THERE);
    f->level = saltus_h5_level(&file->layout);
    f->n_films = file->layout.n_counts;
    f->films = saltus_calloc((size_t)f->n_films, sizeof *f->films);
    SALTUS_NEED(f->films);
    for (int c = 0; c < f->n_films; ++c) {
        f->films[c].s = &first[c];
        f->films[c].value_size = first[c].value_size; /* wider in a file that goes on */
    }
done:
    return status;
}

void saltus_h5_free_frames(saltus_h5_frames *f)
{
    saltus_free(f ? f->films : NULL);
    saltus_free(f);
}

/* ------------------------------------------------------------------------------------------------
 * Cutting a frame into chunks: no HDF5 here, many threads at once
 */

/* The chunk of a site, and where in it the site is. */
static hsize_t place(const saltus_h5_tiling *t, int64_t site, size_t *within)
{
    const hsize_t s = (hsize_t)site;
    const hsize_t at[3] = {s / (t->size[1] * t->size[2]), s / t->size[2] % t->size[1],
                           s % t->size[2]};
    hsize_t chunk = 0;
    *within = 0;
    for (int axis = 0; axis < 3; ++axis) {
        chunk = chunk * t->n_chunks[axis] + at[axis] / t->chunk[axis];
        *within = *within * (size_t)t->chunk[axis] + (size_t)(at[axis] % t->chunk[axis]);
    }
    return chunk;
}

static void sort(reel *r, const saltus_h5_tiling *t)
{
    const saltus_frame *f = r->frame;
    for (int64_t i = 0; i < f->n; ++i) {
        size_t within;
        const int32_t column = f->column_of[f->species[i]];
        if (column >= 0) {
            int64_t *head = &r->head[(hsize_t)column * t->n + place(t, f->site[i], &within)];
            r->next[i] = *head;
            *head = i;
        }
    }
}

static saltus_status prepare(const saltus_h5_frames *f, const saltus_frame *frame, reel *r,
                             saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_h5_tiling *t = &f->tiling;
    const size_t n_counts = (size_t)f->n_films, n_heads = n_counts * (size_t)t->n;
    r->frame = frame;
    r->head = saltus_calloc(n_heads, sizeof *r->head);
    r->next = saltus_calloc((size_t)frame->n, sizeof *r->next);
    r->values = saltus_calloc(saltus_h5_tile_sites(t), sizeof *r->values);
    r->value_size = saltus_calloc(n_counts, sizeof *r->value_size);
    SALTUS_NEED(r->head && r->next && r->values && r->value_size);
    memset(r->head, 0xff, n_heads * sizeof *r->head);
    sort(r, t);
done:
    return status;
}

static void drop_cuts(reel *r)
{
    while (r->n > 0) {
        saltus_free(r->cuts[--r->n].data.data);
    }
}

static void free_reel(reel *r)
{
    drop_cuts(r);
    saltus_free(r->cuts);
    saltus_free(r->head);
    saltus_free(r->next);
    saltus_free(r->values);
    saltus_free(r->value_size);
}

/* Bytes that a value of the chunk needs at most; its values are in r->values. */
static int gather(reel *r, const saltus_h5_tiling *t, int64_t entry)
{
    uint64_t most = 0;
    memset(r->values, 0, saltus_h5_tile_sites(t) * sizeof *r->values);
    for (; entry >= 0; entry = r->next[entry]) {
        size_t within;
        (void)place(t, r->frame->site[entry], &within);
        r->values[within] += (uint64_t)r->frame->count[entry];
        most = r->values[within] > most ? r->values[within] : most;
    }
    return most <= UINT8_MAX ? 1 : most <= UINT16_MAX ? 2 : 4;
}

/* Encode a species' chunks with r->value_size, or with more where one of them needs more: then
 * once again. */
static saltus_status cut_column(const saltus_h5_frames *f, reel *r, int column, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_h5_tiling *t = &f->tiling;
    const size_t before = r->n, sites = saltus_h5_tile_sites(t);
    for (hsize_t c = 0; c < t->n; ++c) {
        const int64_t entry = r->head[(hsize_t)column * t->n + c];
        if (entry < 0) {
            continue;
        }
        const int needed = gather(r, t, entry);
        if (needed > r->value_size[column]) {
            r->value_size[column] = needed;
            while (r->n > before) {
                saltus_free(r->cuts[--r->n].data.data);
            }
            return cut_column(f, r, column, err);
        }
        cut *cuts = saltus_grow(r->cuts, r->n, &r->capacity, sizeof *cuts);
        SALTUS_NEED(cuts);
        r->cuts = cuts;
        cuts[r->n] = (cut){.column = column, .chunk = c};
        SALTUS_TRY(saltus_chunk_encode(r->values, sites, sites, r->value_size[column], f->level,
                                       &cuts[r->n].data, err));
        ++r->n;
    }
done:
    return status;
}

static saltus_status cut_all(saltus_h5_frames *f, reel *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    drop_cuts(r);
    for (int c = 0; c < f->n_films; ++c) {
        const int in_file = atomic_load(&f->films[c].value_size);
        r->value_size[c] = in_file > r->value_size[c] ? in_file : r->value_size[c];
        SALTUS_TRY(cut_column(f, r, c, err));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Writing, with the lock held
 */

static herr_t lengthen(saltus_h5_set *s, hsize_t n_rows)
{
    return s->shape[0] < n_rows ? saltus_h5_resize(s, n_rows) : 0;
}

/* In a file that goes on some may be longer than others, as they were when its writer died. */
static herr_t resize(saltus_h5_frames *f, hsize_t n_rows)
{
    n_rows = n_rows > f->there->shape[0] ? n_rows : f->there->shape[0];
    herr_t rc = lengthen(f->rows, n_rows) | lengthen(f->there, n_rows);
    for (int c = 0; c < f->n_films && rc >= 0; ++c) {
        rc = lengthen(f->films[c].s, n_rows);
    }
    return rc;
}

/* Copy a chunk, so many rows further down, to a data set with values of another width. */
static saltus_status copy_chunk(saltus_h5_file *file, const saltus_h5_tiling *t, hid_t from,
                                const saltus_h5_set *to, const hsize_t at[5], hsize_t rows,
                                uint64_t *values, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t sites = saltus_h5_tile_sites(t);
    const hsize_t whole[5] = {1, 1, t->chunk[0], t->chunk[1], t->chunk[2]};
    hsize_t count[5] = {1, 1, 0, 0, 0};
    const hsize_t start[5] = {0};
    const hsize_t place[5] = {at[0] + rows, at[1], at[2], at[3], at[4]};
    saltus_chunk chunk = {0};
    for (int axis = 0; axis < 3; ++axis) { /* the lattice may end within the chunk */
        const hsize_t left = t->size[axis] - at[2 + axis];
        count[2 + axis] = left < t->chunk[axis] ? left : t->chunk[axis];
    }
    const hid_t in = H5Screate_simple(5, whole, NULL), out = H5Dget_space(from);
    herr_t rc = H5Sselect_hyperslab(in, H5S_SELECT_SET, start, NULL, count, NULL);
    rc |= H5Sselect_hyperslab(out, H5S_SELECT_SET, at, NULL, count, NULL);
    memset(values, 0, sites * sizeof *values);
    rc = rc < 0 ? rc : H5Dread(from, H5T_NATIVE_UINT64, in, out, H5P_DEFAULT, values);
    (void)H5Sclose(in);
    (void)H5Sclose(out);
    if (rc < 0) {
        SALTUS_TRY(saltus_h5_fail(file, 0, err));
    }
    SALTUS_TRY(saltus_chunk_encode(values, sites, sites, to->value_size, to->level, &chunk, err));
    SALTUS_TRY(saltus_h5_reserve(file, (int64_t)chunk.size + FRAME_BYTES, err));
    if (H5Dwrite_chunk(to->set, H5P_DEFAULT, chunk.skipped, place, chunk.size, chunk.data) < 0) {
        SALTUS_TRY(saltus_h5_fail(file, 0, err));
    }
done:
    saltus_free(chunk.data);
    return status;
}

/* Rewrite a species with wider values: the copy has no name until it is whole, and then takes the
 * other's place. */
static saltus_status widen(saltus_h5_file *file, saltus_h5_frames *f, int column, int value_size,
                           uint64_t *values, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    film *of = &f->films[column];
    saltus_h5_set wide = *of->s;
    hsize_t n = 0, at[5], bytes;
    unsigned skipped;
    haddr_t address;
    const hid_t old = of->s->set, all = H5Dget_space(old);
    wide.value_size = value_size;
    wide.set = saltus_h5_create_set(file->file, &wide, NULL);
    if (wide.set < 0 || H5Dget_num_chunks(old, all, &n) < 0) {
        SALTUS_TRY(saltus_h5_fail(file, 0, err));
    }
    for (hsize_t i = 0; i < n; ++i) {
        if (H5Dget_chunk_info(old, all, i, at, &skipped, &address, &bytes) < 0) {
            SALTUS_TRY(saltus_h5_fail(file, 0, err));
        }
        SALTUS_TRY(copy_chunk(file, &f->tiling, old, &wide, at, 0, values, err));
    }
    SALTUS_TRY(saltus_h5_replace(file, of->s, wide.set, value_size, err));
    atomic_store(&of->value_size, value_size);
done:
    (void)H5Sclose(all);
    if (wide.set != of->s->set) {
        saltus_h5_close_dataset(&wide.set);
    }
    return status;
}

/* Whether chunks are as wide as the file's values; those are made wider where they must. */
static saltus_status match_widths(saltus_h5_file *file, saltus_h5_frames *f, reel *r, bool *match,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *match = true;
    for (int c = 0; c < f->n_films; ++c) {
        const int in_file = f->films[c].value_size;
        if (r->value_size[c] > in_file) {
            SALTUS_TRY(saltus_h5_update(file, err));
            if (saltus_h5_go_plain(file) < 0) {
                SALTUS_TRY(saltus_h5_fail(file, 0, err));
            }
            SALTUS_TRY(widen(file, f, c, r->value_size[c], r->values, err));
        }
        *match &= r->value_size[c] >= in_file;
    }
    if (saltus_h5_go_live(file) < 0) {
        SALTUS_TRY(saltus_h5_fail(file, 0, err));
    }
done:
    return status;
}

static herr_t put(const saltus_h5_frames *f, const reel *r, hsize_t row)
{
    const hsize_t frame = (hsize_t)r->frame->number, at[2] = {row, frame}, one[2] = {1, 1};
    const uint8_t yes = 1;
    for (size_t i = 0; i < r->n; ++i) {
        const saltus_chunk *data = &r->cuts[i].data;
        hsize_t start[5] = {row, frame};
        saltus_h5_tile_start(&f->tiling, r->cuts[i].chunk, start + 2);
        if (H5Dwrite_chunk(f->films[r->cuts[i].column].s->set, H5P_DEFAULT, data->skipped, start,
                           data->size, data->data) < 0) {
            return -1;
        }
    }
    const hid_t in = H5Screate_simple(2, one, NULL), out = H5Dget_space(f->there->set);
    herr_t rc = H5Sselect_hyperslab(out, H5S_SELECT_SET, at, NULL, one, NULL);
    rc = rc < 0 ? rc : H5Dwrite(f->there->set, H5T_NATIVE_UINT8, in, out, H5P_DEFAULT, &yes);
    (void)H5Sclose(in);
    (void)H5Sclose(out);
    return rc < 0 ? rc : H5Dflush(f->there->set); /* what is kept in memory has no disk space yet */
}

static saltus_status append(saltus_h5_file *file, saltus_h5_frames *f, const reel *r,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t row = (hsize_t)(r->frame->trajectory - file->layout.first_trajectory);
    int64_t bytes = FRAME_BYTES + (int64_t)f->there->shape[1];
    for (size_t i = 0; i < r->n; ++i) {
        bytes += (int64_t)r->cuts[i].data.size + INDEX_BYTES;
    }
    SALTUS_TRY(saltus_h5_reserve(file, bytes, err));
    if (resize(f, row + 1) < 0 || put(f, r, row) < 0) {
        SALTUS_TRY(saltus_h5_fail(file, 0, err));
    }
    status = saltus_h5_flush_sometimes(file, err);
done:
    return status;
}

/* Another thread may have widened a species since the frame was cut: then *done stays false. */
static saltus_status write(saltus_h5_file *file, saltus_h5_frames *f, reel *r, bool *done,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_quiet quiet;
    bool match;
    (void)pthread_mutex_lock(&file->lock);
    saltus_h5_quiet_begin(&quiet);
    SALTUS_TRY(saltus_h5_check_broken(file, err));
    SALTUS_TRY(match_widths(file, f, r, &match, err));
    if (match) {
        SALTUS_TRY(append(file, f, r, err));
        *done = true;
    }
done:
    saltus_h5_quiet_end(&quiet);
    (void)pthread_mutex_unlock(&file->lock);
    return status;
}

saltus_status saltus_h5_put_frame(saltus_h5_file *file, saltus_h5_frames *f,
                                  const saltus_frame *frame, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    reel r = {0};
    bool is_done = false;
    SALTUS_TRY(prepare(f, frame, &r, err));
    while (!is_done) {
        SALTUS_TRY(cut_all(f, &r, err));
        SALTUS_TRY(write(file, f, &r, &is_done, err));
    }
done:
    free_reel(&r);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Merging
 */

/* Chunk by chunk: values of another width, or packed in another way. Those that are not there have
 * no bytes. */
static saltus_status recode(saltus_h5_file *file, const saltus_h5_tiling *t,
                            const saltus_h5_copying *c, saltus_h5_set *s, uint64_t *values,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t rows = s->shape[0], n = (hsize_t)c->n * s->shape[1] * t->n;
    if (saltus_h5_resize(s, rows + (hsize_t)c->n) < 0) {
        SALTUS_TRY(saltus_h5_fail(file, 0, err));
    }
    for (hsize_t i = 0; i < n; ++i) {
        hsize_t at[5] = {i / t->n / s->shape[1], i / t->n % s->shape[1]}, bytes = 0;
        saltus_h5_tile_start(t, i % t->n, at + 2);
        SALTUS_TRY(saltus_h5_copying_stops(c, err));
        if (saltus_h5_chunk_bytes(c->from, at, &bytes) < 0) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: %s cannot be read: %s", c->path, s->path,
                        saltus_h5_cause());
        }
        if (bytes > 0) {
            SALTUS_TRY(copy_chunk(file, t, c->from, s, at, rows, values, err));
        }
    }
done:
    return status;
}

saltus_status saltus_h5_add_frames(saltus_h5_file *file, saltus_h5_frames *f, saltus_h5_copying *c,
                                   int species, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_set *s = f->films[species].s;
    const hid_t type = H5Dget_type(c->from);
    const int value_size = (int)H5Tget_size(type);
    uint64_t *values = saltus_calloc(saltus_h5_tile_sites(&f->tiling), sizeof *values);
    (void)H5Tclose(type);
    SALTUS_NEED(values);
    if (value_size > s->value_size) {
        SALTUS_TRY(widen(file, f, species, value_size, values, err));
    }
    status = saltus_h5_takes_chunks(s, c->from) ? saltus_h5_copy_rows(file, c, s, err)
                                                : recode(file, &f->tiling, c, s, values, err);
done:
    saltus_free(values);
    return status;
}
