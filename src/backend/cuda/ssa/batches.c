/* Layouts with a thread per trajectory, or a warp, on the host's side: batches of jobs, launches
 * until all have ended, samples back, or what the GPU has made of them. */
#include "backend/cuda/ssa/resting.h"

#include "core/memory.h"
#include "engine/keep.h"
#include "kernel/ssa/tree_thread.h"
#include "model/freeze/point.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Reactions of a thread per launch, some milliseconds: while threads find new trajectories, and
     * when no more are waiting, so that those at work are soon packed anew. */
    LONG_SLICE = 1 << 15,
    SHORT_SLICE = 1 << 12,
    STEP_LAWS = 2, /* of method ode, whose step computes all laws several times: what takes about as
                      long as a reaction */
    NOT_DONE = -1, /* a job's failure until it has ended */
};

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(c->cu, c->cu->call, what, err))

static saltus_status load_kernel(saltus_gpu_worker *c, saltus_gpus *gpus, saltus_gpu *gpu,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_image image = {0};
    const char *entry = NULL;
    /* one worker compiles, the others find it in the cache */
    (void)pthread_mutex_lock(&gpus->compiling);
    status = saltus_layout_compile(&c->layout, c->task->tables, c->task->columns, &gpu->limits,
                                   &image, &entry, err);
    if (status == SALTUS_OK && (c->task->reduction || c->task->derivation)) {
        status =
            saltus_reducer_load(c->cu, gpu, c->task->columns->n_observables > 0, &c->reducer, err);
    }
    (void)pthread_mutex_unlock(&gpus->compiling);
    SALTUS_TRY(status);
    CU(module_load(&c->module, image.image), "loading a kernel");
    CU(module_function(&c->kernel, c->module, entry), "loading a kernel");
    if (c->layout.shared_bytes > 0) {
        CU(function_set(c->kernel, CU_FUNCTION_MAX_DYNAMIC_SHARED_BYTES,
                        (int)c->layout.shared_bytes),
           "asking for shared memory");
    }
done:
    saltus_free(image.image);
    return status;
}

/* The layout, in a form that holds the largest counts of all points. */
static saltus_status make_layout(saltus_gpu_worker *c, const saltus_gpus *gpus,
                                 const saltus_gpu *gpu, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task *task = c->task;
    const saltus_needs needs = {task->generator->rng, task->method, task->varies,
                                task->model->network->set_numbers,
                                saltus_gpus_share(gpus, task->n_expected)};
    saltus_tables tables = *task->tables;
    int64_t *counts = NULL;
    if (task->largest) {
        counts = saltus_calloc((size_t)tables.n_species, sizeof *counts);
        SALTUS_NEED(counts);
        tables = saltus_point_apply(task->tables, task->largest, counts);
    }
    SALTUS_TRY(saltus_layout_make(task->layout, &tables, needs, &gpu->limits, task->block,
                                  &c->layout, err));
done:
    saltus_free(counts);
    return status;
}

static saltus_status set_up(saltus_gpu_worker *c, saltus_gpus *gpus, saltus_gpu *gpu,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task *task = c->task;
    if (task->n_times > INT32_MAX) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%lld sample times: a GPU takes at most 2^31 - 1",
                    (long long)task->n_times);
    }
    CU(context_use(gpu->context), "using a GPU");
    CU(stream_create(&c->stream, CU_STREAM_NON_BLOCKING), "making a stream");
    CU(event_create(&c->start, 0), "making an event");
    CU(event_create(&c->end, 0), "making an event");
    SALTUS_TRY(saltus_stopwatch_start(c->cu, task, c->stream, &c->watch, err));
    SALTUS_TRY(make_layout(c, gpus, gpu, err));
    SALTUS_TRY(load_kernel(c, gpus, gpu, err));
    SALTUS_TRY(saltus_upload(c->cu, task, &c->layout.packed, NULL, &c->model, err));
    c->launch.packed = c->layout.packed;
    c->launch.packed.tables = (void *)(uintptr_t)c->model.packed;
    c->launch.hubs = c->model.hubs;
    c->launch.workspace_doubles = c->layout.workspace_doubles;
    c->launch.tables = (void *)(uintptr_t)c->model.tables;
    c->launch.columns = c->model.columns;
    c->launch.times = (void *)(uintptr_t)c->model.times;
    c->launch.jumps = (void *)(uintptr_t)c->model.jumps;
    c->launch.n_times = task->n_times;
    c->launch.at = saltus_point_of(task->tables);
    c->launch.seed = task->seed;
    c->launch.tau = task->tau ? *task->tau : (saltus_tau){0};
    c->launch.tolerance = task->tolerance ? *task->tolerance : (saltus_tolerance){0};
    saltus_philox_keys(task->seed, c->launch.keys);
    SALTUS_TRY(saltus_gpu_worker_alloc(c, gpu, err));
    SALTUS_TRY(saltus_scalar_create(task, saltus_instruction_set_widest(), &c->scalar, err));
done:
    return status;
}

/* A GPU may be lost when its worker has ended; others notice it later. */
static void tear_down(saltus_gpu_worker *c, const saltus_gpu *gpu)
{
    if (c->stream) {
        if (c->cu->stream_wait(c->stream) != CU_SUCCESS) {
            saltus_gpu_note_loss(gpu, c->task, SALTUS_E_DEVICE);
        }
        (void)c->cu->stream_destroy(c->stream);
    }
    if (c->start) {
        (void)c->cu->event_destroy(c->start);
    }
    if (c->end) {
        (void)c->cu->event_destroy(c->end);
    }
    saltus_stopwatch_free(&c->watch);
    saltus_gpu_worker_free(c);
    saltus_upload_free(c->cu, &c->model);
    if (c->module) {
        (void)c->cu->module_unload(c->module);
    }
    saltus_scalar_destroy(c->scalar, c->task);
    saltus_layout_free(&c->layout);
}

/* Find the segments of the batch: jobs of one point each, and, if it is reduced, of one block.
 * Without points all jobs are one segment, because what is reduced is of one block, and else blocks
 * do not matter. */
static void find_segments(saltus_gpu_worker *c, int64_t n)
{
    c->n_segments = 0;
    for (int64_t j = 0; j < n; ++j) {
        const saltus_ticket *a = &c->jobs[j > 0 ? j - 1 : 0], *b = &c->jobs[j];
        const bool is_split = c->task->reduction && a->block != b->block;
        if (j == 0 || (c->task->varies && (is_split || a->point != b->point))) {
            c->segments[c->n_segments++] = j;
        }
    }
    c->segments[c->n_segments] = n;
}

/* Copy n bytes of pinned memory to the GPU. */
static saltus_status send(const saltus_gpu_worker *c, const void *to, const char *from, size_t n,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    CU(upload((uintptr_t)to, from, n, c->stream), "copying jobs to the GPU");
done:
    return status;
}

/* Copy to the GPU the numbers of the trajectories, the points of the jobs, the rows of the points
 * and the bounds of the segments. They pass through the pinned memory for results, which is not in
 * use yet. */
static saltus_status send_inputs(saltus_gpu_worker *c, int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_launch *a = &c->launch;
    const size_t row = (size_t)a->at.size, n_segments = (size_t)c->n_segments;
    uint64_t *numbers = (uint64_t *)(void *)c->samples;
    int64_t *first = (int64_t *)(void *)(numbers + n);
    double *rows = (double *)(void *)(first + n_segments + 1);
    int32_t *point_of = (int32_t *)(void *)(rows + n_segments * row);
    for (int64_t i = 0; i < n; ++i) {
        numbers[i] = (uint64_t)c->jobs[i].trajectory;
    }
    memcpy(first, c->segments, (n_segments + 1) * sizeof *first);
    for (size_t s = 0; s < n_segments; ++s) {
        const double *point = c->jobs[first[s]].point;
        if (point) {
            memcpy(rows + s * row, point, row * sizeof *rows);
        } else {
            saltus_point_read(c->task->tables, c->task->amounts, rows + s * row);
        }
        for (int64_t j = first[s]; a->point_of && j < first[s + 1]; ++j) {
            point_of[j] = (int32_t)s;
        }
    }
    SALTUS_TRY(send(c, a->trajectories, (char *)numbers, (size_t)n * sizeof *numbers, err));
    SALTUS_TRY(send(c, a->points, (char *)rows, n_segments * row * sizeof *rows, err));
    if (a->point_of) {
        SALTUS_TRY(send(c, a->point_of, (char *)point_of, (size_t)n * sizeof *point_of, err));
    }
    if (c->task->reduction) {
        SALTUS_TRY(send(c, c->reducer.counts.of.first, (char *)first,
                        (n_segments + 1) * sizeof *first, err));
    }
done:
    return status;
}

/* Threads for a batch of n jobs. Every thread gets the same number of jobs, so that a few do not
 * run alone at the end, and each of n_kept, which go on, has one. */
static int64_t threads_for(const saltus_gpu_worker *c, int64_t n, int64_t n_kept)
{
    const int64_t rounds = (n + c->n_threads - 1) / c->n_threads;
    const int64_t fair = (n + rounds - 1) / rounds, wanted = fair > n_kept ? fair : n_kept;
    const int block = saltus_gpu_worker_per_block(c);
    return (wanted + block - 1) / block * block;
}

/* Copy n jobs to the GPU, of which the first n_kept go on, and clear the memory that they need. */
static saltus_status start_batch(saltus_gpu_worker *c, int64_t n, int64_t n_kept,
                                 size_t *result_bytes, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_launch *a = &c->launch;
    const int64_t n_threads = threads_for(c, n, n_kept);
    size_t state_bytes = 0;
    a->n_jobs = n;
    c->n_running = n_threads;
    (void)saltus_gpu_worker_place_threads(a, c, c->threads_memory, n_threads, &state_bytes);
    find_segments(c, n);
    (void)saltus_gpu_worker_place_jobs(a, &c->reducer, c, c->jobs_memory, n, c->n_segments,
                                       result_bytes);
    SALTUS_TRY(send_inputs(c, n, err));
    CU(fill(c->threads_memory, 0, c->threads_bytes, c->stream), "clearing GPU memory");
    CU(fill((uintptr_t)a->jobs, 0xff, (size_t)n_threads * sizeof *a->jobs, c->stream),
       "clearing GPU memory");
    CU(fill((uintptr_t)a->failures, 0xff, (size_t)n * sizeof *a->failures, c->stream),
       "clearing GPU memory");
    CU(fill((uintptr_t)a->progress, 0, 16, c->stream), "clearing GPU memory");
    CU(fill((uintptr_t)a->next, 0, sizeof *a->next, c->stream), "clearing GPU memory");
    a->n_slots = n_threads;
    a->slots = NULL;
    if (n_kept > 0) {
        SALTUS_TRY(saltus_resting_put(c, n_kept, err));
    }
done:
    return status;
}

static saltus_status launch_once(saltus_gpu_worker *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const unsigned n_blocks = (unsigned)(c->n_running / saltus_gpu_worker_per_block(c)),
                   block = (unsigned)c->layout.block, shared = (unsigned)c->layout.shared_bytes;
    void *parameters[] = {&c->launch};
    CU(launch(c->kernel, n_blocks, 1, 1, block, 1, 1, shared, c->stream, parameters, NULL),
       "starting a kernel");
done:
    return status;
}

/* So many reactions, or steps that take as long. */
static uint64_t slice_of(const saltus_task *task, uint64_t reactions)
{
    const saltus_tables *t = task->tables;
    const int laws = t->n_reactions + t->n_rates + t->n_rules;
    return task->amounts ? reactions / (1 + (uint64_t)laws / STEP_LAWS) + 1 : reactions;
}

/* Launch until every job has ended or the run is to stop, and keep what is under way when asked. */
static saltus_status launch_all(saltus_gpu_worker *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_launch *a = &c->launch;
    const uint64_t n = (uint64_t)a->n_jobs;
    const int64_t n_threads = c->n_running;
    uint64_t progress[2] = {0}; /* as saltus_launch.progress */
    int32_t *const lists = a->busy;
    while (progress[0] < n) {
        const bool is_due = saltus_keep_is_due(c->task);
        if (is_due) {
            SALTUS_TRY(saltus_resting_keep(c, err));
        }
        if (saltus_keep_stops(c->task, is_due)) {
            break;
        }
        const bool some_wait = progress[0] + (uint64_t)(a->n_slots) < n;
        a->slice = slice_of(c->task, some_wait ? LONG_SLICE : SHORT_SLICE);
        CU(fill((uintptr_t)a->progress + 8, 0, 8, c->stream), "clearing GPU memory");
        SALTUS_TRY(saltus_stopwatch_mark(&c->watch, 0, err));
        SALTUS_TRY(launch_once(c, err));
        SALTUS_TRY(saltus_stopwatch_mark(&c->watch, 1, err));
        CU(download(progress, (uintptr_t)a->progress, sizeof progress, c->stream),
           "running a kernel");
        CU(stream_wait(c->stream), "running a kernel");
        SALTUS_TRY(saltus_stopwatch_record(&c->watch, 0, "kernel", err));
        (void)__atomic_fetch_add(c->task->ended, (int64_t)progress[0] - c->n_reported,
                                 __ATOMIC_RELAXED);
        c->n_reported = (int64_t)progress[0];
        a->n_slots = (int64_t)progress[1];
        a->slots = a->busy;
        a->busy = a->busy == lists ? lists + n_threads : lists;
    }
done:
    return status;
}

/* Simulate a batch of n jobs, of which the first n_kept go on, and fetch its results. */
static saltus_status simulate(saltus_gpu_worker *c, int64_t n, int64_t n_kept, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t result_bytes = 0;
    float ms = 0.0F;
    SALTUS_TRY(start_batch(c, n, n_kept, &result_bytes, err));
    CU(event_record(c->start, c->stream), "running a kernel");
    SALTUS_TRY(launch_all(c, err));
    SALTUS_TRY(saltus_stopwatch_mark(&c->watch, 0, err));
    SALTUS_TRY(saltus_reducer_run(c->cu, &c->reducer, c->task, c->stream, err));
    CU(event_record(c->end, c->stream), "running a kernel");
    SALTUS_TRY(saltus_stopwatch_mark(&c->watch, 1, err));
    CU(download(c->samples, c->jobs_memory, result_bytes, c->stream), "copying samples");
    SALTUS_TRY(saltus_stopwatch_mark(&c->watch, 2, err));
    CU(stream_wait(c->stream), "copying samples");
    if (c->task->reduction) {
        SALTUS_TRY(saltus_stopwatch_record(&c->watch, 0, "reduce", err));
    }
    SALTUS_TRY(saltus_stopwatch_record(&c->watch, 1, "copy", err));
    CU(event_elapsed(&ms, c->start, c->end), "running a kernel");
    (void)__atomic_fetch_add(c->task->kernel_ns, (int64_t)(1e6 * (double)ms), __ATOMIC_RELAXED);
done:
    return status;
}

/* Where an array of the device's results has come to on the host; NULL when there is none. */
static void *on_host(const saltus_gpu_worker *c, const void *address)
{
    return address ? c->samples + ((uintptr_t)address - c->jobs_memory) : NULL;
}

/* What was counted in job j. */
static saltus_tally tally_of(const saltus_gpu_worker *c, int64_t j)
{
    const uint64_t *events = on_host(c, c->launch.events), *leaps = on_host(c, c->launch.leaps);
    return (saltus_tally){.events = (int64_t)events[j],
                          .leaps = leaps ? (int64_t)leaps[2 * j] : 0,
                          .exact_steps = leaps ? (int64_t)leaps[2 * j + 1] : 0};
}

/* Whether something is copied of jobs that are reduced. */
static bool keeps_some(const saltus_task *task)
{
    return task->reduction->finals || task->derivation;
}

/* Job j with its results. */
static saltus_job copy_results(const saltus_gpu_worker *c, int64_t j)
{
    const saltus_reduction *reduction = c->task->reduction;
    const bool is_reduced = reduction != NULL, is_kept = !is_reduced || reduction->finals;
    const int64_t n_points = is_reduced ? 1 : c->task->n_times;
    const int64_t n = n_points * c->task->columns->n_counts;
    const int64_t m = n_points * c->task->columns->n_observables;
    saltus_job job = c->source->open(c->source->user, &c->jobs[j]);
    job.tally = tally_of(c, j);
    if (c->task->derivation) {
        const size_t n_derived = (size_t)c->task->derivation->n;
        const double *derived = on_host(c, c->reducer.derivation.derived);
        memcpy(job.derived, derived + (size_t)j * n_derived, n_derived * sizeof *derived);
    }
    if (is_kept) {
        const int64_t *counts =
            on_host(c, is_reduced ? c->reducer.counts.finals : c->launch.counts);
        const double *observables =
            on_host(c, is_reduced ? c->reducer.reals.finals : c->launch.observables);
        memcpy(job.counts, counts + j * n, (size_t)n * sizeof *counts);
        memcpy(job.observables, observables + j * m, (size_t)m * sizeof *observables);
    }
    return job;
}

/* What was made of a segment. */
static saltus_partial partial_of(const saltus_gpu_worker *c, int64_t segment)
{
    const saltus_reduce_launch *r = &c->reducer.counts;
    const saltus_reals_launch *reals = &c->reducer.reals;
    const int64_t q = segment * r->of.width, at = segment * reals->of.width;
    saltus_partial p = {.sums = (saltus_sum *)on_host(c, r->sums) + q,
                        .real_sums = (uint64_t *)on_host(c, reals->sums) + at * SALTUS_EXACT_WORDS,
                        .least = (double *)on_host(c, reals->least) + at,
                        .most = (double *)on_host(c, reals->most) + at};
    if (r->n_bins > 0) {
        p.shifts = (uint8_t *)on_host(c, r->shifts) + q;
        p.bins = (uint64_t *)on_host(c, r->bins) + q * r->n_bins;
        p.below = (uint64_t *)on_host(c, r->below) + q;
        p.above = (uint64_t *)on_host(c, r->above) + q;
    }
    return p;
}

/* Hand over those jobs that have ended on the GPU, all of a block together. */
static saltus_status deliver_samples(const saltus_gpu_worker *c, int64_t n, saltus_error *err)
{
    enum { AT_ONCE = 64 };
    const int32_t *failures = on_host(c, c->launch.failures);
    saltus_status status = SALTUS_OK;
    saltus_job jobs[AT_ONCE];
    int n_here = 0;
    for (int64_t j = 0; j < n; ++j) {
        if (failures[j] == SALTUS_FINE) {
            jobs[n_here++] = copy_results(c, j);
        }
        if (n_here == AT_ONCE ||
            (n_here > 0 && (j + 1 == n || c->jobs[j + 1].block != c->jobs[j].block))) {
            const saltus_status done = c->source->done(c->source->user, jobs, n_here, err);
            status = status == SALTUS_OK ? done : status;
            n_here = 0;
        }
    }
    return status;
}

/* Hand over what was made of the jobs of one segment that have ended on the GPU. */
static saltus_status deliver_segment(const saltus_gpu_worker *c, int64_t segment, saltus_error *err)
{
    const int32_t *failures = on_host(c, c->launch.failures);
    const int64_t begin = c->segments[segment], end = c->segments[segment + 1];
    const bool keeps = keeps_some(c->task);
    saltus_partial partial = partial_of(c, segment);
    for (int64_t j = begin; j < end; ++j) {
        c->jobs[j].is_reduced = failures[j] == SALTUS_FINE;
        if (c->jobs[j].is_reduced) {
            const saltus_tally tally = keeps ? copy_results(c, j).tally : tally_of(c, j);
            saltus_tally_add(&partial.tally, &tally);
        }
    }
    return c->source->reduced(c->source->user, c->jobs + begin, (int)(end - begin), &partial, err);
}

/* Deliver all jobs that have ended on the GPU: also in a run that is to stop, a job that is reduced
 * counts. */
static saltus_status deliver(const saltus_gpu_worker *c, int64_t n, saltus_error *err)
{
    if (!c->task->reduction) {
        return deliver_samples(c, n, err);
    }
    saltus_status status = SALTUS_OK;
    for (int64_t s = 0; s < c->n_segments; ++s) {
        const saltus_status done = deliver_segment(c, s, err);
        status = status == SALTUS_OK ? done : status;
    }
    return status;
}

/* What the host's thread has done since `start`. */
static void record_work(const saltus_task *task, const char *what, double start)
{
    saltus_tracer_end(task->tracer, what, SALTUS_TRACK_WORKER, task->worker, start);
}

/* Trajectories that the GPU gave up run again here, with the same bits. Each either ends or gives
 * an error in words. */
static saltus_status run_rest(saltus_gpu_worker *c, int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_reduction *reduction = c->task->reduction;
    const int32_t *failures = on_host(c, c->launch.failures);
    for (int64_t j = 0; j < n; ++j) {
        if (failures[j] == SALTUS_FINE || failures[j] == NOT_DONE) {
            continue;
        }
        const double start = saltus_tracer_now(c->task->tracer);
        const saltus_job whole = c->source->open(c->source->user, &c->jobs[j]);
        saltus_job job = whole;
        job.counts = reduction ? c->rest : whole.counts;
        job.observables = reduction ? c->rest_observables : whole.observables;
        SALTUS_TRY(saltus_scalar_run_job(c->scalar, c->task, &job, err));
        const int64_t *samples = job.counts;
        const double *of_observables = job.observables;
        job.counts = whole.counts;
        job.observables = whole.observables;
        saltus_job_reduce(c->task, &job, samples, of_observables);
        record_work(c->task, "run again", start);
        SALTUS_TRY(c->source->done(c->source->user, &job, 1, err));
    }
    if (SALTUS_FLAG(c->task->stop)) {
        SALTUS_FAIL(SALTUS_E_CANCELLED, "stopped on request");
    }
done:
    return status;
}

/* Find the assignments of events that were rounded, in any thread. */
static saltus_status find_rounding(saltus_gpu_worker *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n = c->task->tables->n_settings;
    const size_t size = (size_t)(n * c->n_running);
    uint8_t *rounded = saltus_calloc(size, 1);
    SALTUS_NEED(rounded);
    CU(download(rounded, (uintptr_t)c->launch.rounded, size, c->stream), "copying from the GPU");
    CU(stream_wait(c->stream), "copying from the GPU");
    for (size_t i = 0; i < size; ++i) {
        if (rounded[i]) {
            __atomic_store_n(&c->task->rounded[i / (size_t)c->n_running], 1, __ATOMIC_RELAXED);
        }
    }
done:
    saltus_free(rounded);
    return status;
}

/* One batch, from its jobs to their results. */
static saltus_status run_batch(saltus_gpu_worker *c, int64_t n, int64_t n_kept, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task *task = c->task;
    SALTUS_TRY(simulate(c, n, n_kept, err));
    (void)__atomic_fetch_sub(task->ended, c->n_reported, __ATOMIC_RELAXED);
    c->n_reported = 0;
    const double start = saltus_tracer_now(task->tracer);
    SALTUS_TRY(deliver(c, n, err));
    SALTUS_TRY(run_rest(c, n, err));
    record_work(task, "hand over", start);
    if (task->tables->n_settings > 0) {
        SALTUS_TRY(find_rounding(c, err));
    }
done:
    return status;
}

saltus_status saltus_cuda_work_threads(saltus_gpus *gpus, saltus_gpu *gpu, const saltus_task *task,
                                       const saltus_source *source, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_gpu_worker c = {.cu = gpus->cu, .task = task, .source = source};
    double start = saltus_tracer_now(task->tracer);
    saltus_gpus_begin_set_up(gpus);
    status = set_up(&c, gpus, gpu, err);
    saltus_gpus_end_set_up(gpus, status);
    SALTUS_TRY(status);
    record_work(task, "set up", start);
    for (;;) {
        start = saltus_tracer_now(task->tracer);
        const int64_t n = source->take(source->user, c.taken, (int)c.batch, true);
        if (n == 0) {
            break;
        }
        record_work(task, "take", start);
        int64_t n_kept = saltus_resting_sort(task, c.taken, n);
        for (int64_t first = 0, some; first < n; first += some) {
            /* Where more go on than there are threads, all threads begin with one. */
            const int64_t now = n_kept < c.n_threads ? n_kept : c.n_threads;
            some = now < n_kept ? now : n - first;
            c.jobs = c.taken + first;
            SALTUS_TRY(run_batch(&c, some, now, err));
            n_kept -= now;
        }
    }
done:
    saltus_gpu_note_loss(gpu, task, status);
    tear_down(&c, gpu);
    return status;
}
