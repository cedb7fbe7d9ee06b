#include "moments.h"

#include <stdlib.h>
#include <string.h>

static void add_to_hash(moments *m, uint64_t bits)
{
    m->hash = (m->hash ^ bits) * 0x9E3779B97F4A7C15u;
    m->hash ^= m->hash >> 29;
}

static saltus_status deliver(void *user, const saltus_block *b, void *prepared, saltus_error *err)
{
    moments *m = user;
    const int64_t n_columns = b->n_counts + b->n_observables, size = b->n_points * n_columns;
    (void)prepared;
    (void)err;
    if (!m->sum) {
        m->n_points = b->n_points;
        m->n_counts = b->n_counts;
        m->n_observables = b->n_observables;
        m->sum = calloc((size_t)size, sizeof *m->sum);
        m->squares = calloc((size_t)size, sizeof *m->squares);
    }
    if (m->keep_last) {
        m->last = realloc(m->last, (size_t)((m->n + b->n_trajectories) * b->n_counts) * 8);
    }
    for (int64_t i = 0; i < b->n_trajectories; ++i) {
        const int64_t *counts = b->counts + i * b->n_points * b->n_counts;
        const double *observables =
            b->n_observables ? b->observables + i * b->n_points * b->n_observables : NULL;
        for (int64_t k = 0; k < size; ++k) {
            const int64_t point = k / n_columns, c = k % n_columns;
            double x;
            uint64_t bits;
            if (c < b->n_counts) {
                bits = (uint64_t)counts[point * b->n_counts + c];
                x = (double)counts[point * b->n_counts + c];
            } else {
                x = observables[point * b->n_observables + c - b->n_counts];
                memcpy(&bits, &x, sizeof bits);
            }
            add_to_hash(m, bits);
            const double d = m->center ? x - m->center[k] : x;
            m->sum[k] += d;
            m->squares[k] += d * d;
        }
        for (int k = 0; k < SALTUS_N_SPLITS; ++k) {
            const int64_t n = b->n_points * b->n_parts[k] * b->n_counts;
            for (int64_t part = i * n; b->splits[k] && part < (i + 1) * n; ++part) {
                add_to_hash(m, (uint64_t)b->splits[k][part]);
            }
        }
        if (m->keep_last) {
            memcpy(m->last + (m->n + i) * b->n_counts, counts + (b->n_points - 1) * b->n_counts,
                   (size_t)b->n_counts * 8);
        }
    }
    m->n += b->n_trajectories;
    return SALTUS_OK;
}

saltus_sink moments_sink(moments *m)
{
    return (saltus_sink){.user = m, .deliver = deliver};
}

void moments_free(moments *m)
{
    free(m->sum);
    free(m->squares);
    free(m->last);
    m->sum = m->squares = NULL;
    m->last = NULL;
}

saltus_status run_plan(saltus_model *model, const char *device, const saltus_plan_options *wanted,
                       const saltus_run_options *options, moments *m, saltus_error *err)
{
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    const saltus_sink sink = moments_sink(m);
    saltus_status status = saltus_backend_open(device, &backend, err);
    if (status == SALTUS_OK) {
        status = saltus_plan_create(model, backend, wanted, &plan, err);
    }
    if (status == SALTUS_OK) {
        status = saltus_run(plan, options, &sink, &m->report, err);
    }
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    return status;
}

saltus_status run_model(saltus_model *model, const char *device, const char *layout, int threads,
                        const saltus_run_options *options, moments *m, saltus_error *err)
{
    saltus_plan_options wanted = saltus_plan_options_default();
    wanted.layout = layout;
    wanted.n_threads = threads;
    return run_plan(model, device, &wanted, options, m, err);
}
