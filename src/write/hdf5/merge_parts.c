/* Which parts of a run or a sweep there are, and whether they make a whole. */
#include "write/hdf5/merge.h"
#include "write/hdf5/read.h"

#include "core/memory.h"
#include "core/order.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 5 };

static const struct {
    const char *one, *many;
} names[] = {{"trajectory", "trajectories"}, {"point", "points"}, {"run", "runs"}};

static int64_t optional(const saltus_results *r, const char *name)
{
    int64_t value = 0;
    return H5Aexists((hid_t)r->file, name) > 0 &&
                   saltus_h5_read_number(r, "/", name, H5T_NATIVE_INT64, &value, NULL) == SALTUS_OK
               ? value
               : 0;
}

static saltus_status take_identity(saltus_h5_merging *m, const saltus_results *r, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char **lines = NULL;
    int n = 0;
    SALTUS_TRY(saltus_h5_read_names(r, "restart/identity", &n, &lines, err));
    if (m->lines) {
        SALTUS_TRY(saltus_identity_compare(r->path, &m->identity, n, lines, err));
        goto done;
    }
    SALTUS_TRY(saltus_identity_take(r->path, lines, n, &m->identity, err));
    m->lines = lines;
    m->n_lines = n;
    lines = NULL;
    n = 0;
done:
    saltus_results_free_names(lines, n);
    return status;
}

/* Of a sweep: its points, or the runs at each, that are in the file. */
static saltus_status find_part_of_sweep(saltus_h5_part *p, const saltus_results *r,
                                        saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t n_points = 0;
    int64_t n_there = 0;
    SALTUS_TRY(saltus_h5_check_sparse(r, "grid_point", H5T_INTEGER, 1, &n_points, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "sweep_points", H5T_NATIVE_INT64, &n_there, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "runs_per_point", H5T_NATIVE_INT64, &p->n_runs, err));
    const bool by_runs = H5Aexists((hid_t)r->file, "first_run") > 0;
    p->n_points = (int64_t)n_points;
    p->cut = by_runs ? SALTUS_CUT_RUNS : SALTUS_CUT_POINTS;
    p->first = optional(r, by_runs ? "first_run" : "first_point");
    p->n = by_runs ? p->n_runs : n_there;
    p->whole_n = by_runs ? p->whole_n : p->n_points;
    if (p->n_shards == 0) {
        SALTUS_TRY(saltus_h5_read_number(r, "/", "first_trajectory", H5T_NATIVE_INT64,
                                         &p->whole_first, err));
    }
    if (p->n_points < 1 || p->n_runs < 1 || p->first < 0 || p->n > p->whole_n ||
        p->first > p->whole_n - p->n || (by_runs && n_there != p->n_points)) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: is damaged: %lld %s from %lld on of %lld", p->path,
                    (long long)p->n, names[p->cut].many, (long long)p->first,
                    (long long)p->whole_n);
    }
done:
    return status;
}

static saltus_status look_at(saltus_h5_merging *m, saltus_h5_part *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results *r = NULL;
    int complete = 0;
    SALTUS_TRY(saltus_results_open_head(p->path, &p->kind, &r, err));
    p->is_of_sweep = saltus_h5_has(r, "sweep_names");
    if (m->n > 0 && p->is_of_sweep != m->parts[0].is_of_sweep) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s is of a run, and %s of a sweep",
                    m->parts[p->is_of_sweep ? 0 : m->n].path,
                    m->parts[p->is_of_sweep ? m->n : 0].path);
    }
    SALTUS_TRY(take_identity(m, r, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "complete", H5T_NATIVE_INT, &complete, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "first_trajectory", H5T_NATIVE_INT64, &p->first, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "requested", H5T_NATIVE_INT64, &p->n, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "events", H5T_NATIVE_INT64, &p->events, err));
    SALTUS_TRY(saltus_h5_read_number(r, "/", "seconds", H5T_NATIVE_DOUBLE, &p->seconds, err));
    if (!complete) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "%s: is not complete", p->path);
        saltus_error_hint(err, "saltus resume %.200s goes on with it", p->path);
        goto done;
    }
    if (p->n < 1 || p->first < 0 || p->first > INT64_MAX - p->n) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: is damaged: %lld trajectories from %lld on", p->path,
                    (long long)p->n, (long long)p->first);
    }
    p->shard = optional(r, "shard");
    p->n_shards = optional(r, "n_shards");
    p->whole_first = optional(r, "whole_first");
    p->whole_n = optional(r, "whole_runs");
    if (p->is_of_sweep) {
        SALTUS_TRY(find_part_of_sweep(p, r, err));
    }
done:
    saltus_results_close(r);
    return status;
}

static int by_first(const void *a, const void *b)
{
    return saltus_order(((const saltus_h5_part *)a)->first, ((const saltus_h5_part *)b)->first);
}

/* "shards 3, 7 of 1000", or which trajectories, points or runs. */
static saltus_status say_missing(const saltus_h5_merging *m, int64_t first, int64_t end,
                                 saltus_error *err)
{
    char text[200] = "";
    const int64_t n_shards = m->parts[0].n_shards;
    size_t at = 0;
    int64_t n_missing = m->parts[0].whole_n;
    int n = 0;
    for (int64_t s = 0; s < n_shards && n <= MOST_NAMED; ++s) {
        int i = 0;
        while (i < m->n && m->parts[i].shard % n_shards != s) {
            ++i;
        }
        if (i == m->n && n++ < MOST_NAMED) {
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%lld", n > 1 ? ", " : "",
                                   (long long)s);
        } else if (i == m->n) {
            (void)snprintf(text + at, sizeof text - at, " …");
        }
    }
    for (int i = 0; i < m->n; ++i) {
        n_missing -= m->parts[i].n;
    }
    const char *what = names[m->parts[0].cut].many;
    return n > 0
               ? saltus_error_set(err, SALTUS_E_INVALID,
                                  "shard%s %s of %lld %s missing: %s %lld to %lld%s",
                                  n > 1 ? "s" : "", text, (long long)n_shards, n > 1 ? "are" : "is",
                                  what, (long long)first, (long long)end - 1,
                                  n_missing > end - first ? " and others" : "")
               : saltus_error_set(err, SALTUS_E_INVALID,
                                  "%s %lld to %lld are missing: no file has them", what,
                                  (long long)first, (long long)end - 1);
}

static bool are_of_one_whole(const saltus_h5_part *a, const saltus_h5_part *b)
{
    return a->cut == b->cut && a->n_shards == b->n_shards && a->whole_first == b->whole_first &&
           a->whole_n == b->whole_n && a->n_points == b->n_points;
}

/* The parts have each trajectory, point or run once. */
static saltus_status check_parts(saltus_h5_merging *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_h5_part *first = &m->parts[0], *last = &m->parts[m->n - 1];
    const bool is_run = first->cut == SALTUS_CUT_TRAJECTORIES;
    const bool knows_whole = first->n_shards > 0 || !is_run;
    m->first = knows_whole ? first->whole_first : first->first;
    const int64_t begin = is_run ? m->first : 0;
    int64_t next = begin;
    for (int i = 0; i < m->n; ++i) {
        const saltus_h5_part *p = &m->parts[i];
        if (!are_of_one_whole(first, p)) {
            SALTUS_FAIL(SALTUS_E_INVALID, "%s and %s: are parts of different runs%s", first->path,
                        p->path,
                        first->cut != p->cut && !is_run ? ", or cut in different ways" : "");
        }
        if (p->first > next) {
            SALTUS_TRY(say_missing(m, next, p->first, err));
        }
        if (p->first < next) {
            SALTUS_FAIL(SALTUS_E_INVALID, "%s and %s: both have %s %lld",
                        m->parts[i > 0 ? i - 1 : 0].path, p->path, names[p->cut].one,
                        (long long)p->first);
        }
        next = p->first + p->n;
    }
    const int64_t n = knows_whole ? first->whole_n : last->first + last->n - begin;
    if (next < begin + n) {
        SALTUS_TRY(say_missing(m, next, begin + n, err));
    }
    if (next > begin + n) { /* a part was extended */
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: has %s up to %lld, and those of the whole end at %lld",
                    last->path, names[last->cut].many, (long long)next - 1,
                    (long long)(begin + n - 1));
    }
    m->runs = first->cut == SALTUS_CUT_POINTS ? first->n_runs : n;
done:
    return status;
}

saltus_status saltus_h5_find_parts(saltus_h5_merging *m, const char *const *paths, int n,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_h5_kind *kinds = saltus_calloc((size_t)n, sizeof *kinds);
    m->parts = saltus_calloc((size_t)n, sizeof *m->parts);
    SALTUS_NEED(kinds && m->parts);
    SALTUS_TRY(saltus_h5_probe_all(paths, n, kinds, err));
    for (m->n = 0; m->n < n; ++m->n) {
        m->parts[m->n].path = paths[m->n];
        m->parts[m->n].kind = kinds[m->n];
        SALTUS_TRY(look_at(m, &m->parts[m->n], err));
    }
    qsort(m->parts, (size_t)n, sizeof *m->parts, by_first);
    SALTUS_TRY(check_parts(m, err));
done:
    saltus_free(kinds);
    return status;
}

saltus_status saltus_h5_open_part_set(const saltus_h5_merging *m, const saltus_h5_part *p,
                                      const saltus_results *r, const char *path, int rank,
                                      const hsize_t *shape, hid_t *set, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t found[H5S_MAX_RANK] = {0};
    *set = H5Dopen2((hid_t)r->file, path, H5P_DEFAULT);
    const hid_t space = *set < 0 ? -1 : H5Dget_space(*set);
    bool is_alike = space >= 0 && H5Sget_simple_extent_dims(space, found, NULL) == rank;
    for (int i = 0; i < rank && is_alike; ++i) {
        is_alike = found[i] == shape[i];
    }
    if (space >= 0) {
        (void)H5Sclose(space);
    }
    if (!is_alike) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: %s is missing, or has another shape than in %s", p->path,
                    path, m->parts[0].path);
    }
done:
    return status;
}
