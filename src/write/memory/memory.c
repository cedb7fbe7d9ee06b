/* Results in memory. Each point of a sweep, or the run, has a collector for what is made of its
 * trajectories; samples go straight to their place in the arrays of all. */
#include "write/memory/memory.h"

#include "core/limits.h"
#include "core/memory.h"
#include "core/number.h"
#include "ensemble/derive.h"
#include "ensemble/plan.h"
#include "ensemble/reduction.h"
#include "model/lattice/lattice.h"
#include "write/options.h"

#include <math.h>
#include <string.h>

saltus_memory_options saltus_memory_options_default(void)
{
    return (saltus_memory_options){.record = SALTUS_RECORD_ALL};
}

/* ------------------------------------------------------------------------------------------------
 * Filling
 */

/* Of each trajectory's samples[point][column], 8 bytes each, all or the last point's. */
static void keep(const saltus_memory *m, int64_t row, const void *to, const void *samples,
                 int64_t n_points, size_t columns, int64_t n)
{
    const size_t points = m->keeps_all ? (size_t)n_points : 1, bytes = points * columns * 8;
    const size_t skipped = ((size_t)n_points - points) * columns * 8;
    for (int64_t i = 0; to && samples && i < n; ++i) {
        memcpy((char *)to + (size_t)(row + i) * bytes,
               (const char *)samples + (size_t)i * (skipped + bytes) + skipped, bytes);
    }
}

static saltus_status begin(void *user, const saltus_plan *plan, const saltus_run_options *options,
                           saltus_error *err)
{
    const saltus_memory_part *p = user;
    return saltus_expected_check(&p->memory->expected, plan, options, p->n, err);
}

static saltus_status add(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_memory_part *p = user;
    const saltus_memory *m = p->memory;
    const saltus_memory_view *v = &m->view;
    const int64_t row = p->point * m->n_runs + p->n, n = b->n_trajectories;
    const size_t n_counts = (size_t)v->n_counts;
    SALTUS_TRY(p->collector->sink.deliver(p->collector->sink.user, b, prepared, err));
    memcpy((int64_t *)v->trajectories + row, b->trajectories, (size_t)n * sizeof *b->trajectories);
    keep(m, row, v->counts, b->counts, b->n_points, n_counts, n);
    keep(m, row, v->observables, b->observables, b->n_points, (size_t)v->n_observables, n);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        keep(m, row, v->splits[i], b->splits[i], b->n_points, n_counts * (size_t)v->n_parts[i], n);
    }
    if (p->n == p->n_ordered && b->trajectories[0] == m->first + p->n &&
        b->trajectories[n - 1] == m->first + p->n + n - 1) {
        p->n_ordered += n;
        p->events_ordered = p->collector->events;
    }
    p->n += n;
done:
    return status;
}

static saltus_status add_frame(void *user, const saltus_frame *f, saltus_error *err)
{
    const saltus_memory_part *p = user;
    const saltus_memory_view *v = &p->memory->view;
    const int64_t sites = v->size[0] * v->size[1] * v->size[2];
    const int64_t row = (f->trajectory - p->memory->first) * v->n_frames + f->number;
    int32_t *to = (int32_t *)v->frames + row * sites * v->n_counts;
    (void)err;
    for (int64_t i = 0; i < f->n; ++i) {
        const int32_t column = f->column_of[f->species[i]];
        if (column >= 0) {
            to[f->site[i] * v->n_counts + column] += f->count[i];
        }
    }
    return SALTUS_OK;
}

void saltus_memory_make(const saltus_memory_part *p)
{
    const saltus_memory *m = p->memory;
    const saltus_memory_view *v = &m->view;
    const saltus_collector *c = p->collector;
    const int n = m->n_columns;
    for (int64_t q = 0; v->mean && q < v->n_times * n; ++q) {
        const int64_t time = q / n, column = q % n, at = p->point * v->n_times * n + q;
        const bool is_count = column < v->n_counts;
        const size_t w = (size_t)(is_count ? time * v->n_counts + column
                                           : time * v->n_observables + column - v->n_counts);
        const bool none = p->n == 0;
        ((double *)v->mean)[at] = is_count ? saltus_statistics_mean(&c->statistics, w)
                                           : saltus_real_statistics_mean(&c->reals, w);
        ((double *)v->variance)[at] = is_count ? saltus_statistics_variance(&c->statistics, w)
                                               : saltus_real_statistics_variance(&c->reals, w);
        ((double *)v->min)[at] = none       ? (double)NAN
                                 : is_count ? (double)c->statistics.min[w]
                                            : c->reals.min[w];
        ((double *)v->max)[at] = none       ? (double)NAN
                                 : is_count ? (double)c->statistics.max[w]
                                            : c->reals.max[w];
    }
    for (int64_t i = 0; i < p->n * v->n_derived; ++i) {
        const int64_t run = i / v->n_derived, q = i % v->n_derived;
        ((double *)v->derived)[p->point * m->n_runs * v->n_derived + i] =
            c->derived[q * m->n_runs + run];
    }
    for (int column = 0; column < v->n_counts && v->n_bins > 0; ++column) {
        const int64_t at = p->point * v->n_counts + column;
        double *edges = (double *)v->edges + at * (v->n_bins + 1);
        uint64_t *counts = (uint64_t *)v->histogram + at * v->n_times * v->n_bins;
        const int64_t used = saltus_histogram_column(&c->histogram, column, edges, counts);
        for (int64_t t = v->n_times - 1; t >= 0 && used < v->n_bins; --t) { /* rows of n_bins */
            memmove(counts + t * v->n_bins, counts + t * used, (size_t)used * sizeof *counts);
            memset(counts + t * v->n_bins + used, 0, (size_t)(v->n_bins - used) * sizeof *counts);
        }
        for (int64_t b = used + 1; b <= v->n_bins; ++b) {
            edges[b] = (double)NAN;
        }
    }
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        for (size_t q = 0; v->split_mean[i] && q < c->splits[i].width; ++q) {
            ((double *)v->split_mean[i])[q] = saltus_statistics_mean(&c->splits[i], q);
            ((double *)v->split_variance[i])[q] = saltus_statistics_variance(&c->splits[i], q);
        }
    }
}

/* Trajectories of many points at once, of which no statistics are wanted. */
static saltus_status add_points(void *user, const saltus_block *b, saltus_error *err)
{
    saltus_memory *m = user;
    const saltus_memory_view *v = &m->view;
    const int64_t n = b->n_trajectories;
    if (b->first + n > m->n_points * m->n_runs) {
        return saltus_error_set(err, SALTUS_E_INVALID, "there is memory for %lld points only",
                                (long long)m->n_points);
    }
    memcpy((int64_t *)v->trajectories + b->first, b->trajectories,
           (size_t)n * sizeof *b->trajectories);
    keep(m, b->first, v->counts, b->counts, b->n_points, (size_t)v->n_counts, n);
    keep(m, b->first, v->observables, b->observables, b->n_points, (size_t)v->n_observables, n);
    for (int64_t i = 0; i < n * v->n_derived; ++i) {
        ((double *)v->derived)[b->first * v->n_derived + i] =
            saltus_derived_of(&m->what.derivation, b, i / v->n_derived, (int)(i % v->n_derived));
    }
    m->delivered = (b->first + n) / m->n_runs;
    return SALTUS_OK;
}

static void destroy_part(saltus_memory_part *p)
{
    if (p) {
        saltus_collector_destroy(p->collector);
        saltus_free(p);
    }
}

static saltus_status create_part(saltus_memory *m, int64_t point, saltus_memory_part **out,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_memory_part *p = saltus_calloc(1, sizeof *p);
    SALTUS_NEED(p);
    SALTUS_TRY(saltus_collector_create(&m->what, &p->collector, err));
    p->memory = m;
    p->point = point;
    p->sink = (saltus_sink){.user = p,
                            .deliver = add,
                            .reduction = p->collector->sink.reduction,
                            .derivation = p->collector->sink.derivation,
                            .frame = m->view.frames ? add_frame : NULL,
                            .begin = begin};
    *out = p;
    p = NULL;
done:
    destroy_part(p);
    return status;
}

static saltus_status open_point(void *user, int64_t point, const saltus_plan *plan,
                                saltus_sink **sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_memory *m = user;
    saltus_memory_part *p = NULL;
    if (saltus_plan_n_counts(plan) != m->view.n_counts ||
        saltus_plan_n_observables(plan) != m->view.n_observables) {
        SALTUS_FAIL(SALTUS_E_INVALID, "the model records other species here than elsewhere");
    }
    if (point >= m->n_points) {
        SALTUS_FAIL(SALTUS_E_INVALID, "there is memory for %lld points only",
                    (long long)m->n_points);
    }
    SALTUS_TRY(create_part(m, point, &p, err));
    *sink = &p->sink;
done:
    return status;
}

static saltus_status deliver_point(void *user, int64_t point, saltus_sink *sink, saltus_error *err)
{
    saltus_memory *m = user;
    (void)err;
    saltus_memory_make(sink->user);
    destroy_part(sink->user);
    m->delivered = point + 1;
    return SALTUS_OK;
}

static void discard_point(void *user, saltus_sink *sink)
{
    (void)user;
    destroy_part(sink->user);
}

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

/* What there is room for, but for the arrays. */
static saltus_status choose(saltus_memory *m, const saltus_plan *plan,
                            const saltus_run_options *run, bool is_sweep,
                            const saltus_memory_options *o, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_memory_view *v = &m->view;
    const saltus_lattice *lattice = plan->model->network->lattice;
    const bool has_bins = o->record == SALTUS_RECORD_HISTOGRAM;
    m->keeps_all = o->record == SALTUS_RECORD_ALL;
    m->has_statistics = !o->without_statistics;
    m->n_runs = v->n_runs = run->n_trajectories;
    m->first = run->first_trajectory;
    v->n_points = m->n_points;
    v->n_times = run->n_times;
    v->n_counts = saltus_plan_n_counts(plan);
    v->n_observables = saltus_plan_n_observables(plan);
    m->n_columns = v->n_counts + v->n_observables;
    v->n_frames = run->n_frames;
    for (int i = 0; i < 3; ++i) {
        v->size[i] = lattice ? lattice->size[i] : 0;
    }
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        v->n_parts[i] = m->keeps_all || !is_sweep ? plan->n_parts[i] : 0;
    }
    if (o->derive) {
        SALTUS_TRY(saltus_derived_parse(o->derive, plan, &m->derived, err));
    }
    v->n_derived = m->derived.n;
    if (has_bins) {
        if (v->n_counts == 0) {
            SALTUS_FAIL(SALTUS_E_INVALID,
                        "histograms are of counts, and no count of a species is recorded");
        }
        SALTUS_TRY(
            saltus_histogram_init(&m->bins, 1, 1, o->n_bins, o->range_low, o->range_high, err));
        v->n_bins = m->bins.n_bins;
    }
    m->times = saltus_calloc((size_t)run->n_times, sizeof *m->times);
    SALTUS_NEED(m->times);
    memcpy(m->times, run->times, (size_t)run->n_times * sizeof *m->times);
    m->reduction = (saltus_reduction){
        .finals = o->record == SALTUS_RECORD_FINAL, .n_bins = v->n_bins, .edges = m->bins.edges};
    m->what = (saltus_collection){.n_runs = m->n_runs,
                                  .n_times = v->n_times,
                                  .times = m->times,
                                  .n_counts = v->n_counts,
                                  .n_observables = v->n_observables,
                                  .n_parts = {v->n_parts[0], v->n_parts[1]},
                                  .record = has_bins ? o->record : SALTUS_RECORD_STATS,
                                  .n_bins = v->n_bins,
                                  .low = o->range_low,
                                  .high = o->range_high,
                                  .reduction = m->keeps_all ? NULL : &m->reduction};
    status = saltus_derivation_make(&m->derived, v->n_counts, v->n_observables, m->times,
                                    run->n_times, o->burn_in, &m->what.derivation, err);
done:
    return status;
}

/* An array of the view, and how many elements it is to have. */
typedef struct array {
    const void **to;
    double n;
    size_t size;
    bool is_wanted;
} array;

enum {
    MOST_ARRAYS = 13 + 2 * SALTUS_N_SPLITS,
    LITTLE = 1 << 26 /* bytes that any machine has: asking for its limits takes 0.3 ms */
};

static int list_arrays(saltus_memory *m, saltus_record record, array *out)
{
    saltus_memory_view *v = &m->view;
    const bool keeps = m->keeps_all || record == SALTUS_RECORD_FINAL;
    const double points = (double)m->n_points, rows = points * (double)m->n_runs;
    const double samples = rows * (m->keeps_all ? (double)v->n_times : 1.0);
    const double cells = points * (double)v->n_times * m->n_columns;
    const double sites = (double)v->size[0] * (double)v->size[1] * (double)v->size[2];
    const double frames = (double)m->n_runs * (double)v->n_frames * sites * v->n_counts;
    const double bins = points * v->n_counts * (double)v->n_bins;
    const double parts = (double)v->n_times * v->n_counts;
    const bool has_parts[] = {!m->keeps_all && v->n_parts[0] > 0,
                              !m->keeps_all && v->n_parts[1] > 0};
    const array all[MOST_ARRAYS] = {
        {(const void **)&v->trajectories, rows, 8, true},
        {(const void **)&v->counts, samples * v->n_counts, 8, keeps && v->n_counts > 0},
        {(const void **)&v->observables, samples * v->n_observables, 8,
         keeps && v->n_observables > 0},
        {(const void **)&v->splits[0], samples * v->n_counts * v->n_parts[0], 8,
         m->keeps_all && v->n_parts[0] > 0},
        {(const void **)&v->splits[1], samples * v->n_counts * v->n_parts[1], 8,
         m->keeps_all && v->n_parts[1] > 0},
        {(const void **)&v->frames, frames, 4, v->n_frames > 0},
        {(const void **)&v->mean, cells, 8, m->has_statistics},
        {(const void **)&v->variance, cells, 8, m->has_statistics},
        {(const void **)&v->min, cells, 8, m->has_statistics},
        {(const void **)&v->max, cells, 8, m->has_statistics},
        {(const void **)&v->derived, rows * v->n_derived, 8, v->n_derived > 0},
        {(const void **)&v->edges, bins + points * v->n_counts, 8, v->n_bins > 0},
        {(const void **)&v->histogram, bins * (double)v->n_times, 8, v->n_bins > 0},
        {(const void **)&v->split_mean[0], parts * v->n_parts[0], 8, has_parts[0]},
        {(const void **)&v->split_variance[0], parts * v->n_parts[0], 8, has_parts[0]},
        {(const void **)&v->split_mean[1], parts * v->n_parts[1], 8, has_parts[1]},
        {(const void **)&v->split_variance[1], parts * v->n_parts[1], 8, has_parts[1]}};
    memcpy(out, all, sizeof all);
    return MOST_ARRAYS;
}

static saltus_status allocate(saltus_memory *m, const saltus_plan *plan, saltus_record record,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    array arrays[MOST_ARRAYS];
    const int n = list_arrays(m, record, arrays);
    double bytes = saltus_run_memory(plan, m->view.n_times, m->n_runs), most = LITTLE;
    bool is_limit = false;
    for (int i = 0; i < n; ++i) {
        bytes += arrays[i].is_wanted ? arrays[i].n * (double)arrays[i].size : 0.0;
    }
    for (int i = 0; i < SALTUS_N_SPLITS && !m->keeps_all; ++i) {
        bytes += (double)m->view.n_times * m->view.n_counts * m->view.n_parts[i] *
                 SALTUS_STATISTICS_BYTES;
    }
    if (bytes > most) {
        most = saltus_memory_most(&is_limit);
    }
    if (!(bytes <= most)) {
        const bool is_run = m->run || m->n_points == 1;
        status = saltus_error_set(
            err, SALTUS_E_INVALID,
            "%lld %s%s at %lld %s of %d column%s%s take %.0f bytes (%.3g GB) of memory; %s %.3g GB",
            (long long)m->n_runs, saltus_plural(m->n_runs, "trajectory", "trajectories"),
            is_run ? "" : " at every point", (long long)m->view.n_times,
            saltus_plural(m->view.n_times, "time", "times"), m->n_columns,
            m->n_columns == 1 ? "" : "s", m->view.n_frames > 0 ? ", with frames," : "", bytes,
            bytes / 1e9, is_limit ? "this process is limited to" : "this machine has", most / 1e9);
        saltus_error_hint(err, m->view.n_frames > 0
                                   ? "fewer `frames` take less, and a result file takes all"
                                   : "`record` stats, final or histogram keeps less, fewer times "
                                     "or columns take less, and a result file takes all");
        goto done;
    }
    for (int i = 0; i < n; ++i) {
        if (arrays[i].is_wanted) {
            *arrays[i].to = saltus_calloc((size_t)arrays[i].n, arrays[i].size);
            SALTUS_NEED(*arrays[i].to);
        }
    }
done:
    return status;
}

static void free_memory(saltus_memory *m)
{
    array arrays[MOST_ARRAYS];
    const int n = list_arrays(m, SALTUS_RECORD_ALL, arrays);
    for (int i = 0; i < n; ++i) {
        saltus_free((void *)*arrays[i].to);
    }
    destroy_part(m->run);
    saltus_histogram_free(&m->bins);
    saltus_derived_free(&m->derived);
    saltus_expected_free(&m->expected);
    saltus_free(m->times);
    saltus_free(m);
}

saltus_status saltus_memory_open(const saltus_plan *plan, const saltus_run_options *run,
                                 int64_t n_points, const saltus_memory_options *options,
                                 saltus_memory **out, saltus_error *err)
{
    if (!plan || !run || !out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    const saltus_memory_options o = options ? *options : saltus_memory_options_default();
    saltus_memory *m = NULL;
    SALTUS_TRY(saltus_run_options_check(plan, run, err));
    SALTUS_TRY(saltus_check_kept(o.record, o.n_bins, o.burn_in, err));
    if (n_points < 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "memory for %lld points: it must be 0, for a run, or more",
                    (long long)n_points);
    }
    if (n_points > 0 && run->n_frames > 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "frames are kept of runs, not of sweeps");
    }
    m = saltus_calloc(1, sizeof *m);
    SALTUS_NEED(m);
    m->n_points = n_points > 0 ? n_points : 1;
    m->sweep_sink = (saltus_sweep_sink){
        .user = m, .open = open_point, .deliver = deliver_point, .discard = discard_point};
    if (o.without_statistics && o.record != SALTUS_RECORD_HISTOGRAM) {
        m->sweep_sink.add = add_points;
    }
    SALTUS_TRY(saltus_expected_init(&m->expected, "memory", plan, run, n_points > 0, err));
    SALTUS_TRY(choose(m, plan, run, n_points > 0, &o, err));
    SALTUS_TRY(allocate(m, plan, o.record, err));
    if (n_points == 0) {
        SALTUS_TRY(create_part(m, 0, &m->run, err));
    }
    saltus_handle_add(&m->handle, SALTUS_HANDLE_MEMORY);
    *out = m;
    m = NULL;
done:
    if (m) {
        free_memory(m);
    }
    return status;
}

const saltus_sink *saltus_memory_sink(saltus_memory *memory)
{
    return memory && memory->run ? &memory->run->sink : NULL;
}

const saltus_sweep_sink *saltus_memory_sweep_sink(saltus_memory *memory)
{
    return memory && !memory->run ? &memory->sweep_sink : NULL;
}

saltus_memory_view saltus_memory_get(saltus_memory *memory)
{
    if (!memory) {
        return (saltus_memory_view){0};
    }
    saltus_memory_view view = memory->view;
    if (memory->run) {
        saltus_memory_make(memory->run);
        view.n_runs = memory->run->n;
    } else {
        view.n_points = memory->delivered;
    }
    return view;
}

void saltus_memory_close(saltus_memory *memory)
{
    if (memory && saltus_handle_take(&memory->handle, SALTUS_HANDLE_MEMORY)) {
        free_memory(memory);
    }
}
