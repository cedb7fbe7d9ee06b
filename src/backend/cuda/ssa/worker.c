#include "backend/cuda/ssa/worker.h"

#include "core/memory.h"
#include "kernel/base/stream.h"
#include "model/freeze/point.h"

enum {
    PENDING = 32, /* delayed events of a trajectory at the same time; a trajectory with more is
                     rerun on the CPU */
    MAX_HOST_BYTES = 256 << 20,
    /* Jobs of a batch for every thread, at most. More jobs wait longer for their delivery; fewer
     * leave the GPU idle while a batch ends. */
    ROUNDS = 4,
    REDUCED_ROUNDS = 16,
};

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(c->cu, c->cu->call, what, err))

/* Addresses of the device are kept in pointers that the host never follows. */
#define CUT(member, n) \
    a->member = (void *)(uintptr_t)saltus_cut(base, &at, (size_t)(n), sizeof *a->member)
#define CUT_OF_THREADS(type, part, name, n) CUT(name, threads *(size_t)(n));
/* Arrays of the parts that trajectories have between launches, and of the others. */
#define CUT_STATE(type, part, name, n) CUT_STATE_OF_##part(name, n)
#define CUT_STATE_OF_trajectory(name, n) CUT(name, threads *(size_t)(n));
#define CUT_STATE_OF_direct(name, n)
#define CUT_REST(type, part, name, n) CUT_REST_OF_##part(name, n)
#define CUT_REST_OF_trajectory(name, n)
#define CUT_REST_OF_direct(name, n) CUT(name, threads *(size_t)(n));

int saltus_gpu_worker_per_block(const saltus_gpu_worker *c)
{
    return c->layout.block / c->layout.threads_each;
}

/* What kernel/ode has beside; returns where it ends. */
static size_t place_integrator(saltus_launch *a, const saltus_task *task, uint64_t base, size_t at,
                               size_t threads)
{
    const saltus_tables *t = task->tables;
    const int64_t n = saltus_ode_components(t, task->amounts != NULL);
    SALTUS_ODE_ARRAYS(CUT_OF_THREADS)
    return at;
}

size_t saltus_gpu_worker_place_threads(saltus_launch *a, const saltus_gpu_worker *c, uint64_t base,
                                       int64_t n, size_t *state_bytes)
{
    const saltus_tables *t = c->task->tables;
    size_t at = 0;
    const size_t pending = t->n_triggers > 0 ? PENDING : 0;
    const size_t threads = (size_t)n;
    CUT(states, threads);
    CUT(jobs, threads);
    CUT(busy, 2 * threads);
    CUT(stream, threads * (size_t)c->layout.threads_each *
                    (size_t)saltus_stream_words(c->task->generator->rng));
    if (c->layout.has_arrays) {
        CUT(x, threads * (size_t)t->n_species);
        SALTUS_TRAJECTORY_ARRAYS(CUT_STATE)
        CUT(pending, threads * pending);
        CUT(pending_values, threads * pending * (size_t)t->largest_event);
        a->pending_capacity = (int32_t)pending;
    } else if (c->layout.state == SALTUS_STATE_REGISTERS) {
        CUT(v, threads * (size_t)t->n_species);
    } else { /* behind the counts of a warp may stand bounds */
        CUT(saved, threads * (size_t)t->n_species * (t->n_hubs > 0 ? 3 : 1));
    }
    *state_bytes = at;
    if (c->layout.workspace_doubles > 0 && !c->layout.workspace_is_shared) {
        CUT(workspaces,
            threads / (size_t)saltus_gpu_worker_per_block(c) * (size_t)c->layout.workspace_doubles);
    }
    if (c->layout.state != SALTUS_STATE_TREE) {
        return at;
    }
    SALTUS_TRAJECTORY_ARRAYS(CUT_REST)
    if (saltus_method_of(c->layout.needs.method)->leaps) {
        SALTUS_LEAP_ARRAYS(CUT_OF_THREADS)
    }
    if (c->task->tolerance) {
        at = place_integrator(a, c->task, base, at, threads);
    }
    return at;
}

int64_t saltus_gpu_worker_most_segments(const saltus_gpu_worker *c, int64_t n)
{
    /* blocks of a point are equally long, but for its last and those at a batch's ends */
    const int64_t most = 2 * n / c->task->segment + 4;
    return !c->task->varies ? 1 : most < n ? most : n;
}

/* The inputs are the numbers of trajectories, the points of the jobs, the rows of the points and
 * the bounds of the segments. */
size_t saltus_gpu_worker_input_bytes(const saltus_gpu_worker *c, int64_t n)
{
    const size_t jobs = (size_t)n, segments = (size_t)saltus_gpu_worker_most_segments(c, n);
    const size_t row = (size_t)saltus_point_of(c->task->tables).size;
    return jobs * (sizeof(uint64_t) + sizeof(int32_t)) + segments * row * sizeof(double) +
           (segments + 1) * sizeof(int64_t) + 64;
}

size_t saltus_gpu_worker_place_jobs(saltus_launch *a, saltus_reducer *reducer,
                                    const saltus_gpu_worker *c, uint64_t base, int64_t n,
                                    int64_t n_segments, size_t *result_bytes)
{
    const saltus_columns *columns = c->task->columns;
    size_t at = 0;
    const size_t jobs = (size_t)n, samples = jobs * (size_t)c->task->n_times;
    CUT(progress, 2);
    CUT(failures, jobs);
    CUT(events, jobs);
    if (saltus_method_of(c->layout.needs.method)->leaps) {
        CUT(leaps, 2 * jobs);
    }
    saltus_reducer_place(reducer, c->task, &c->model, n, n_segments, base, &at, result_bytes);
    CUT(counts, samples * (size_t)columns->n_counts);
    CUT(observables, samples * (size_t)columns->n_observables);
    reducer->derivation.counts = a->counts;
    reducer->derivation.observables = a->observables;
    if (c->task->reduction) {
        reducer->counts.counts = a->counts;
        reducer->reals.observables = a->observables;
        reducer->counts.of.failures = reducer->reals.of.failures = a->failures;
    } else {
        *result_bytes = at;
    }
    CUT(next, 1);
    CUT(trajectories, jobs);
    CUT(points, (size_t)n_segments * (size_t)a->at.size + (size_t)c->layout.packed.n_values);
    if (c->task->varies) {
        CUT(point_of, jobs);
    }
    return at;
}

static int64_t at_least(int64_t x, int64_t low)
{
    return x > low ? x : low;
}

static int64_t at_most(int64_t x, int64_t high)
{
    return x < high ? x : high;
}

/* As many threads as the GPU runs at the same time, and as its free memory, shared with other
 * workers, holds. */
static saltus_status choose_sizes(saltus_gpu_worker *c, const saltus_gpu *gpu, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task *task = c->task;
    int blocks = 0;
    size_t available = 0, total = 0, state_bytes = 0, result_bytes[2] = {0};
    const int block = saltus_gpu_worker_per_block(c);
    CU(occupancy(&blocks, c->kernel, c->layout.block, c->layout.shared_bytes),
       "asking how many threads fit");
    CU(memory_info(&available, &total), "asking for free GPU memory");
    saltus_launch scratch = c->launch;
    const size_t per_thread =
        saltus_gpu_worker_place_threads(&scratch, c, 0, block, &state_bytes) / block + 64;
    /* memory for one job, and for any batch; results of reductions are as large for one job */
    size_t placed[2], inputs[2];
    for (int i = 0; i < 2; ++i) {
        const int64_t n_jobs = 1 + 1024 * i;
        placed[i] = saltus_gpu_worker_place_jobs(&scratch, &c->reducer, c, 0, n_jobs,
                                                 saltus_gpu_worker_most_segments(c, n_jobs),
                                                 &result_bytes[i]);
        inputs[i] = saltus_gpu_worker_input_bytes(c, n_jobs);
    }
    const size_t fixed = placed[0], per_job = (placed[1] - placed[0]) / 1024 + 64;
    const size_t per_result =
        (result_bytes[1] - result_bytes[0] + inputs[1] - inputs[0]) / 1024 + 8;
    const int64_t share = (int64_t)(available / 6);
    int64_t n = (int64_t)at_least(blocks, 1) * gpu->n_multiprocessors * block;
    n = at_most(n, share / (int64_t)per_thread / block * block);
    if (c->layout.state == SALTUS_STATE_TABLE && !c->layout.workspace_is_shared) {
        /* workspaces are in use all the time: all fit into the cache, or it is of no use */
        n = at_most(n,
                    at_least(gpu->cache_bytes / 2 / (8 * c->layout.workspace_doubles), 1) * block);
    }
    n = at_most(n, (at_least(task->share, 1) + block - 1) / block * block);
    c->batch = at_most((task->reduction ? REDUCED_ROUNDS : ROUNDS) * n,
                       (share - (int64_t)fixed) / (int64_t)per_job);
    c->batch = at_most(c->batch, at_least(MAX_HOST_BYTES / (int64_t)per_result, 1));
    c->batch = at_most(c->batch, at_least(task->share, 1));
    c->batch = at_most(c->batch, INT32_MAX);
    if (n < block || c->batch < 1) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY,
                    "GPU %d (%s) has %.0f MiB free; %d trajectories of this model need %.0f MiB",
                    gpu->ordinal, gpu->name, (double)available / (1 << 20), block,
                    (double)(block * (per_thread + per_job) + fixed) / (1 << 20));
    }
    c->n_threads = n;
done:
    return status;
}

static saltus_status take_memory(saltus_gpu_worker *c, const saltus_gpu *gpu, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_launch *a = &c->launch;
    size_t results = 0, state_bytes = 0;
    void *pinned = NULL;
    const int64_t n_segments = saltus_gpu_worker_most_segments(c, c->batch);
    const size_t inputs = saltus_gpu_worker_input_bytes(c, c->batch);
    c->threads_bytes = saltus_gpu_worker_place_threads(a, c, 0, c->n_threads, &state_bytes);
    const size_t jobs_bytes =
        saltus_gpu_worker_place_jobs(a, &c->reducer, c, 0, c->batch, n_segments, &results);
    CU(memory_alloc(&c->threads_memory, c->threads_bytes), "taking GPU memory for trajectories");
    CU(memory_alloc(&c->jobs_memory, jobs_bytes), "taking GPU memory for samples");
    CU(fill(c->jobs_memory, 0, jobs_bytes, c->stream), "clearing GPU memory");
    SALTUS_TRY(saltus_cuda_host_alloc(c->cu, gpu->host_node, &pinned,
                                      results > inputs ? results : inputs,
                                      "taking pinned memory for samples", err));
    c->samples = pinned;
    c->taken = c->jobs = saltus_calloc((size_t)c->batch, sizeof *c->jobs);
    SALTUS_NEED(c->jobs);
    c->segments = saltus_calloc((size_t)n_segments + 1, sizeof *c->segments);
    SALTUS_NEED(c->segments);
    if (c->task->reduction) {
        const size_t n_times = (size_t)c->task->n_times;
        const saltus_columns *columns = c->task->columns;
        c->rest = saltus_calloc(n_times * (size_t)columns->n_counts, sizeof *c->rest);
        c->rest_observables =
            saltus_calloc(n_times * (size_t)columns->n_observables, sizeof *c->rest_observables);
        SALTUS_NEED(c->rest && c->rest_observables);
    }
done:
    return status;
}

void saltus_gpu_worker_free(saltus_gpu_worker *c)
{
    if (c->threads_memory) {
        (void)c->cu->memory_free(c->threads_memory);
    }
    if (c->jobs_memory) {
        (void)c->cu->memory_free(c->jobs_memory);
    }
    if (c->samples) {
        (void)c->cu->host_free(c->samples);
    }
    saltus_free(c->taken);
    saltus_free(c->segments);
    saltus_free(c->rest);
    saltus_free(c->rest_observables);
    c->threads_memory = c->jobs_memory = 0;
    c->samples = NULL;
    c->taken = c->jobs = NULL;
    c->segments = NULL;
    c->rest = NULL;
    c->rest_observables = NULL;
}

saltus_status saltus_gpu_worker_alloc(saltus_gpu_worker *c, const saltus_gpu *gpu,
                                      saltus_error *err)
{
    saltus_status status = choose_sizes(c, gpu, err);
    const int block = saltus_gpu_worker_per_block(c);
    while (status == SALTUS_OK) {
        saltus_error none = {0};
        status = take_memory(c, gpu, &none);
        if (status != SALTUS_E_NO_MEMORY || (c->n_threads <= block && c->batch <= 1)) {
            if (status != SALTUS_OK && err) {
                *err = none;
            }
            break;
        }
        saltus_gpu_worker_free(c);
        status = SALTUS_OK;
        c->n_threads = at_least(c->n_threads / 2 / block * block, block);
        c->batch = at_least(c->batch / 2, 1);
    }
    return status;
}
