/* Parts of a sweep that have some runs of all points become the file of all runs: a new one,
 * because the axis of runs is longer. Some points at a time are put together in memory: of every
 * part the samples and quantities of its runs, and the state of its statistics. */
#include "write/hdf5/merge.h"
#include "write/hdf5/read.h"
#include "write/hdf5/state.h"

#include "core/memory.h"

#include <string.h>

enum { TOGETHER_BYTES = 64 << 20, MOST_TOGETHER = 4096 };

/* Points that are put together. */
typedef struct points {
    int64_t first, n, most;
    saltus_collector **all; /* [most] */
    uint64_t *words;        /* a state */
} points;

saltus_status saltus_h5_sweep_of(const saltus_results *r, int64_t n_points, saltus_sweep *out,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int64_t behind = n_points; /* points of the axes behind, which run faster */
    *out = (saltus_sweep){
        .n_points = n_points, .has_design = r->axis_lengths[0] == 0, .is_finished = true};
    out->axes = saltus_calloc((size_t)r->n_axes, sizeof *out->axes);
    SALTUS_NEED(out->axes);
    for (int a = 0; a < r->n_axes; ++a) {
        const int64_t length = r->axis_lengths[a];
        saltus_axis *x = &out->axes[out->n_axes++];
        if (!out->has_design && (length < 1 || behind % length != 0)) {
            SALTUS_TRY(saltus_h5_damaged(r, "sweep_shape", "it is of another sweep", err));
        }
        behind = out->has_design ? 1 : behind / length;
        x->n = out->has_design ? n_points : length;
        x->name = saltus_strdup(r->axis_names[a]);
        x->values = saltus_calloc((size_t)x->n, sizeof *x->values);
        SALTUS_NEED(x->name && x->values);
        for (int64_t i = 0; i < x->n; ++i) {
            x->values[i] = r->axis_values[a][i * behind];
        }
    }
done:
    return status;
}

void saltus_h5_free_sweep(saltus_sweep *sweep)
{
    for (size_t a = 0; a < sweep->n_axes; ++a) {
        saltus_free(sweep->axes[a].name);
        saltus_free(sweep->axes[a].values);
    }
    saltus_free(sweep->axes);
    *sweep = (saltus_sweep){0};
}

/* ------------------------------------------------------------------------------------------------
 * The file
 */

static herr_t copy_attribute(hid_t from, hid_t to, const char *name)
{
    if (H5Aexists(from, name) <= 0) {
        return 0;
    }
    const hid_t a = H5Aopen(from, name, H5P_DEFAULT), type = H5Aget_type(a),
                space = H5Aget_space(a);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    char *value = n > 0 ? saltus_calloc((size_t)n, H5Tget_size(type)) : NULL;
    herr_t rc = value && H5Aread(a, type, value) >= 0 ? 0 : -1;
    if (rc >= 0 && H5Aexists(to, name) > 0) {
        rc = H5Adelete(to, name);
    }
    const hid_t copy = rc < 0 ? -1 : H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    rc = copy < 0 ? -1 : H5Awrite(copy, type, value);
    if (value && H5Tis_variable_str(type) > 0) {
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, value);
    }
    saltus_free(value);
    if (copy >= 0) {
        (void)H5Aclose(copy);
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Aclose(a);
    return rc;
}

/* What the file says of itself, and the units of quantities. */
static saltus_status copy_attributes(saltus_h5_merging *m, const saltus_results *r,
                                     saltus_error *err)
{
    static const char *const names[] = {
        "saltus_version", "model",   "model_sha256",       "method", "device", "layout", "rng",
        "options",        "volumes", "molecules_per_mole", "seed"};
    saltus_status status = SALTUS_OK;
    const saltus_h5_file *f = &m->file;
    herr_t rc = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && rc >= 0; ++i) {
        rc = copy_attribute((hid_t)r->file, f->file, names[i]);
    }
    for (size_t i = 0; i < f->n_sets && rc >= 0; ++i) {
        if (f->sets[i].kind->unit == SALTUS_UNIT_DERIVED) {
            hid_t from = H5Dopen2((hid_t)r->file, f->sets[i].path, H5P_DEFAULT);
            rc = from < 0 ? -1 : copy_attribute(from, f->sets[i].set, "units");
            saltus_h5_close_dataset(&from);
        }
    }
    if (rc < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", m->temporary, saltus_h5_cause());
    }
done:
    return status;
}

/* How it is compressed: as the data set is that every sweep has. */
static saltus_compress compression_of(const saltus_results *r)
{
    hid_t set = H5Dopen2((hid_t)r->file, "stats/n", H5P_DEFAULT);
    const int level = set < 0 ? 0 : saltus_h5_level_of(set);
    saltus_h5_close_dataset(&set);
    return level == 0   ? SALTUS_COMPRESS_NONE
           : level == 9 ? SALTUS_COMPRESS_SMALL
                        : SALTUS_COMPRESS_FAST;
}

static saltus_status begin_file(saltus_h5_merging *m, const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *sources = NULL;
    saltus_h5_again all = {.first = m->first,
                           .runs = m->runs,
                           .sweep = &m->sweep,
                           .is_new = true,
                           .compress = compression_of(r)};
    SALTUS_TRY(saltus_h5_sweep_of(r, m->parts[0].n_points, &m->sweep, err));
    SALTUS_TRY(saltus_h5_read_sources(r, &sources, &all.sources_size, err));
    all.sources = sources;
    SALTUS_TRY(saltus_h5_open_merged(m, r, all, err));
    SALTUS_TRY(copy_attributes(m, r, err));
done:
    saltus_free(sources);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Points
 */

/* Where a data set's values of a run of a point are kept; NULL: they are made of statistics. */
static char *samples_of(const saltus_h5_set *s, const saltus_collector *c, int64_t run)
{
    const size_t run_bytes = s->row_bytes / (size_t)c->what->n_runs;
    char *from = s->kind->role != SALTUS_ROLE_RUNS     ? NULL
                 : s->kind->fill == saltus_fill_counts ? (char *)c->counts
                 : s->kind->fill == saltus_fill_observables
                     ? (char *)c->observables
                     : (char *)(c->derived + s->index * c->what->n_runs);
    return from ? from + (size_t)run * run_bytes : NULL;
}

static saltus_status take_samples(saltus_h5_merging *m, const saltus_h5_part *p,
                                  const saltus_results *r, const saltus_h5_set *s, const points *of,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_set there = *s; /* with its part of the runs */
    hid_t set;
    there.shape[0] = (hsize_t)p->n_points;
    there.shape[1] = (hsize_t)p->n;
    SALTUS_TRY(saltus_h5_open_part_set(m, p, r, s->path, there.rank, there.shape, &set, err));
    for (int64_t i = 0; i < of->n; ++i) {
        if (saltus_h5_get_rows(&there, set, (hsize_t)of->first + (hsize_t)i, 1,
                               samples_of(s, of->all[i], p->first)) < 0) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: %s cannot be read: %s", p->path, s->path,
                        saltus_h5_cause());
        }
    }
done:
    saltus_h5_close_dataset(&set);
    return status;
}

/* Add the statistics that a part has of a point, whose state was read. */
static saltus_status add_state(const saltus_h5_part *p, const uint64_t *words, size_t n_words,
                               saltus_collector *whole, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_collection bare = *whole->what;
    saltus_collector *c = NULL;
    bare.n_runs = 0; /* a state is without samples */
    SALTUS_TRY(saltus_collector_create(&bare, &c, err));
    if (words[0] > 8 * (n_words - 1) ||
        saltus_collector_load(c, words + 1, (size_t)words[0], NULL) != SALTUS_OK || c->n != p->n) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: the state of its statistics is damaged", p->path);
    }
    SALTUS_TRY(saltus_collector_merge(whole, c, err));
done:
    saltus_collector_destroy(c);
    return status;
}

static saltus_status take_states(saltus_h5_merging *m, const saltus_h5_part *p,
                                 const saltus_results *r, const points *of, saltus_error *err)
{
    static const saltus_h5_entry kind = {.type = SALTUS_TYPE_NUMBER};
    static const char path[] = "restart/states";
    saltus_status status = SALTUS_OK;
    const size_t n_words = 1 + saltus_collector_most_bytes(of->all[0]) / sizeof *of->words;
    const saltus_h5_set states = {
        .kind = &kind, .rank = 2, .shape = {(hsize_t)p->n_points, (hsize_t)n_words}};
    hid_t set;
    SALTUS_TRY(saltus_h5_open_part_set(m, p, r, path, 2, states.shape, &set, err));
    for (int64_t i = 0; i < of->n; ++i) {
        if (saltus_h5_get_rows(&states, set, (hsize_t)of->first + (hsize_t)i, 1, of->words) < 0) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: %s cannot be read: %s", p->path, path, saltus_h5_cause());
        }
        SALTUS_TRY(add_state(p, of->words, n_words, of->all[i], err));
    }
done:
    saltus_h5_close_dataset(&set);
    return status;
}

static saltus_status take_part(saltus_h5_merging *m, const saltus_h5_part *p, const points *of,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_h5_file *f = &m->file;
    saltus_results *r = NULL;
    SALTUS_TRY(saltus_results_open_head(p->path, &p->kind, &r, err));
    for (size_t i = 0; i < f->n_sets; ++i) {
        const saltus_h5_set *s = &f->sets[i];
        if (s->grows && samples_of(s, of->all[0], 0)) {
            SALTUS_TRY(take_samples(m, p, r, s, of, err));
        }
    }
    SALTUS_TRY(take_states(m, p, r, of, err));
done:
    saltus_results_close(r);
    return status;
}

static saltus_status add_points(saltus_h5_merging *m, const points *of, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = 0; i < m->n; ++i) {
        SALTUS_TRY(saltus_h5_copying_stops(&m->copying, err));
        SALTUS_TRY(take_part(m, &m->parts[i], of, err));
    }
    for (int64_t i = 0; i < of->n; ++i) {
        SALTUS_TRY(saltus_h5_add_point(&m->file, of->all[i], err));
    }
done:
    return status;
}

/* How many points are in memory at once. */
static int64_t how_many(const saltus_h5_file *f, size_t state_bytes)
{
    size_t each = 2 * state_bytes;
    for (size_t i = 0; i < f->n_sets; ++i) {
        each += f->sets[i].grows ? f->sets[i].row_bytes : 0;
    }
    const size_t n = TOGETHER_BYTES / each;
    return n < 1 ? 1 : n < MOST_TOGETHER ? (int64_t)n : MOST_TOGETHER;
}

saltus_status saltus_h5_merge_runs(saltus_h5_merging *m, const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_file *f = &m->file;
    const int64_t n_points = m->parts[0].n_points;
    saltus_collector *first = NULL;
    points of = {0};
    SALTUS_TRY(begin_file(m, r, err));
    SALTUS_TRY(saltus_collector_create(&f->what, &first, err));
    const size_t state_bytes = saltus_collector_most_bytes(first);
    saltus_collector_destroy(first);
    of.most = how_many(f, state_bytes);
    of.all = saltus_calloc((size_t)of.most, sizeof(saltus_collector *));
    of.words = saltus_calloc(1, state_bytes + sizeof *of.words);
    SALTUS_NEED(of.all && of.words);
    for (of.first = 0; of.first < n_points; of.first += of.n) {
        of.n = n_points - of.first < of.most ? n_points - of.first : of.most;
        for (int64_t i = 0; i < of.n; ++i) {
            saltus_collector_destroy(of.all[i]);
            of.all[i] = NULL;
            SALTUS_TRY(saltus_collector_create(&f->what, &of.all[i], err));
        }
        SALTUS_TRY(add_points(m, &of, err));
    }
done:
    for (int64_t i = 0; of.all && i < of.most; ++i) {
        saltus_collector_destroy(of.all[i]);
    }
    saltus_free(of.all);
    saltus_free(of.words);
    return status;
}
