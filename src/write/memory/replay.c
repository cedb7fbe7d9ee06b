/* Results in memory are handed on to another sink, as if their trajectories were simulated now. */
#include "write/memory/memory.h"

#include "core/memory.h"
#include "ensemble/derive.h"
#include "ensemble/reduction.h"

#include <string.h>

/* Hand on the frames of some trajectories, of each the sites where something is. */
static saltus_status replay_frames(const saltus_memory *m, const saltus_sink *sink, int64_t row,
                                   int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_memory_view *v = &m->view;
    const int64_t cells = v->size[0] * v->size[1] * v->size[2] * v->n_counts;
    int64_t *site = saltus_calloc((size_t)cells, sizeof *site);
    uint16_t *species = saltus_calloc((size_t)cells, sizeof *species);
    int32_t *count = saltus_calloc((size_t)cells, sizeof *count);
    int32_t *column_of = saltus_calloc((size_t)v->n_counts, sizeof *column_of);
    SALTUS_NEED(site && species && count && column_of);
    for (int c = 0; c < v->n_counts; ++c) {
        column_of[c] = c;
    }
    for (int64_t i = 0; i < n * v->n_frames; ++i) {
        saltus_frame f = {.trajectory = v->trajectories[row + i / v->n_frames],
                          .number = i % v->n_frames,
                          .site = site,
                          .species = species,
                          .count = count,
                          .column_of = column_of};
        const int32_t *from =
            v->frames + ((f.trajectory - m->first) * v->n_frames + f.number) * cells;
        for (int64_t q = 0; q < cells; ++q) {
            if (from[q] != 0) {
                site[f.n] = q / v->n_counts;
                species[f.n] = (uint16_t)(q % v->n_counts);
                count[f.n++] = from[q];
            }
        }
        SALTUS_TRY(sink->frame(sink->user, &f, err));
    }
done:
    saltus_free(site);
    saltus_free(species);
    saltus_free(count);
    saltus_free(column_of);
    return status;
}

/* Hand on trajectories, of which there may be none, behind their frames. */
static saltus_status replay_block(const saltus_memory *m, const saltus_sink *sink, saltus_block *b,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    void *prepared = NULL;
    if (b->n_trajectories == 0) {
        return SALTUS_OK;
    }
    b->trajectories = m->view.trajectories + b->first;
    b->n_counts = m->view.n_counts;
    b->n_observables = m->view.n_observables;
    if (m->view.frames && sink->frame) {
        SALTUS_TRY(replay_frames(m, sink, b->first, b->n_trajectories, err));
    }
    if (sink->prepare) {
        SALTUS_TRY(sink->prepare(sink->user, b, &prepared, err));
    }
    status = sink->deliver(sink->user, b, prepared, err);
done:
    return status;
}

static saltus_status replay_samples(const saltus_memory *m, const saltus_sink *sink,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_memory_view *v = &m->view;
    const saltus_memory_part *run = m->run;
    const int64_t n_all = run->n, few = 1024, behind = run->n_ordered;
    const int64_t size = sink->block_trajectories > 0 ? sink->block_trajectories : few;
    for (int64_t row = 0, n; row < n_all; row += n) {
        const int64_t samples = row * v->n_times, end = row < behind ? behind : n_all;
        n = end - row < size ? end - row : size;
        saltus_block b = {.n_trajectories = n,
                          .is_behind_gap = row >= behind,
                          .events = row == behind ? run->collector->events - run->events_ordered
                                    : row == 0    ? run->events_ordered
                                                  : 0,
                          .n_points = v->n_times,
                          .counts = v->counts ? v->counts + samples * v->n_counts : NULL,
                          .first = row};
        b.observables = v->observables ? v->observables + samples * v->n_observables : NULL;
        for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
            b.n_parts[i] = v->n_parts[i];
            b.splits[i] =
                v->splits[i] ? v->splits[i] + samples * v->n_counts * v->n_parts[i] : NULL;
        }
        SALTUS_TRY(replay_block(m, sink, &b, err));
    }
done:
    return status;
}

/* Whether memory has what a sink makes of samples that it needs not. */
static bool has_what(const saltus_memory *m, const saltus_sink *sink)
{
    const saltus_reduction *mine = &m->reduction, *wanted = sink->reduction;
    if (!wanted || (wanted->finals && !mine->finals) || wanted->n_bins != mine->n_bins ||
        (wanted->n_bins > 0 && !wanted->edges != !mine->edges) ||
        (sink->derivation && sink->derivation->n != m->view.n_derived)) {
        return false;
    }
    return wanted->n_bins == 0 || !mine->edges ||
           memcmp(wanted->edges, mine->edges, (size_t)(mine->n_bins + 1) * sizeof(double)) == 0;
}

/* Hand on what was made of all trajectories, as a device does of those that it has reduced. */
static saltus_status replay_reduced(const saltus_memory *m, const saltus_sink *sink,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_memory_view *v = &m->view;
    const saltus_reduced reduced = saltus_collector_reduced(m->run->collector);
    saltus_block b = {.n_trajectories = m->run->n,
                      .events = m->run->collector->events,
                      .n_points = m->reduction.finals ? 1 : 0,
                      .counts = v->counts,
                      .observables = v->observables,
                      .reduced = &reduced,
                      .derived = v->derived};
    if (!has_what(m, sink)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "only a run with every sample can be handed on to a sink "
                                      "that keeps other things of them");
    }
    saltus_memory_make(m->run);
    status = replay_block(m, sink, &b, err);
done:
    return status;
}

saltus_status saltus_memory_replay(const saltus_memory *memory, const saltus_sink *sink,
                                   saltus_error *err)
{
    if (!memory || !sink || !sink->deliver) {
        return saltus_no_argument(err, __func__);
    }
    if (!memory->run) {
        return saltus_error_set(err, SALTUS_E_INVALID, "a sweep cannot be handed on");
    }
    return memory->keeps_all ? replay_samples(memory, sink, err)
                             : replay_reduced(memory, sink, err);
}
