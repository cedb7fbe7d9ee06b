#include "engine/record.h"

#include "model/lattice/lattice.h"
#include "model/network/network.h"

#include <assert.h>
#include <math.h>
#include <string.h>

saltus_stop saltus_stop_at(const saltus_task *task, int64_t sample, int64_t frame)
{
    const saltus_recording *space = &task->space;
    const double of_sample = sample < task->n_times ? task->times[sample] : INFINITY;
    const double of_frame = frame < space->n_frames ? space->frame_times[frame] : INFINITY;
    saltus_stop at = {.is_one = sample < task->n_times || frame < space->n_frames,
                      .time = fmin(of_sample, of_frame),
                      .sample = sample,
                      .frame = frame};
    at.is_sample = at.is_one && of_sample == at.time;
    at.is_frame = at.is_one && of_frame == at.time;
    at.needs_contents = at.is_frame;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        at.needs_contents |= at.is_sample && space->n_parts[i] > 0;
    }
    return at;
}

saltus_stop saltus_stop_next(const saltus_task *task, const saltus_stop *at)
{
    return saltus_stop_at(task, at->sample + at->is_sample, at->frame + at->is_frame);
}

void saltus_space_split(const saltus_task *task, const saltus_contents *c, saltus_split how,
                        int64_t *out)
{
    const saltus_lattice *l = task->model->network->lattice;
    const saltus_recording *space = &task->space;
    const int64_t n_counts = task->columns->n_counts, size = l->size[space->axis];
    memset(out, 0, (size_t)(space->n_parts[how] * n_counts) * sizeof *out);
    const int64_t stride = space->axis == 0   ? 1
                           : space->axis == 1 ? l->size[0]
                                              : (int64_t)l->size[0] * l->size[1];
    for (int64_t i = 0; i < c->n; ++i) {
        const int32_t column = space->column_of[c->species[i]];
        const int64_t part =
            how == SALTUS_BY_TYPE ? saltus_lattice_type(l, c->site[i]) : c->site[i] / stride % size;
        if (column >= 0) {
            out[part * n_counts + column] += c->count[i];
        }
    }
}

saltus_status saltus_space_record(const saltus_task *task, saltus_job *job, const saltus_stop *at,
                                  const int64_t *totals, const saltus_contents *contents,
                                  saltus_error *err)
{
    const saltus_columns *columns = task->columns;
    const saltus_recording *space = &task->space;
    for (int c = 0; at->is_sample && c < columns->n_counts; ++c) {
        job->counts[at->sample * columns->n_counts + c] = totals[columns->count_species[c]];
    }
    for (int i = 0; at->is_sample && i < SALTUS_N_SPLITS; ++i) {
        const int64_t size = (int64_t)space->n_parts[i] * columns->n_counts;
        if (size > 0 && contents) {
            saltus_space_split(task, contents, (saltus_split)i, job->splits[i] + at->sample * size);
        }
    }
    if (!at->is_frame) {
        return SALTUS_OK;
    }
    assert(contents);
    const saltus_frame frame = {.trajectory = job->trajectory,
                                .number = at->frame,
                                .n = contents->n,
                                .site = contents->site,
                                .species = contents->species,
                                .count = contents->count,
                                .column_of = space->column_of};
    return space->sink->frame(space->sink->user, &frame, err);
}
