/* Space on a GPU: kernel/mpd_phases.h, a trajectory per stream. */
#include "backend/mpd.h"

#include "backend/cuda/cuda.h"
#include "backend/cuda/stopwatch.h"
#include "backend/cuda/upload.h"
#include "core/memory.h"
#include "kernel/mpd_phases.h"
#include "model/model.h"
#include "model/network.h"

#include <string.h>

enum {
    LEAST_STRETCH = 2,
    MOST_STRETCH = 64,  /* bricks that a thread gathers */
    GATHERERS = 1 << 17 /* threads that keep a GPU busy with gathering */
};

/* What the host asks for after a batch; one stretch of the GPU's memory. */
typedef struct answers {
    int64_t used;
    uint64_t fired, trouble, made, arrived;
} answers;

typedef struct mpd {
    const saltus_driver *cu;
    const saltus_gpu *gpu;
    const saltus_task *task;
    saltus_mpd_tables tables;
    saltus_uploaded model;
    saltus_mpd_launch a;
    cu_stream stream;
    cu_event start, end; /* of a batch */
    cu_module module;
    cu_function run_many, run_few, enlist, gather, gather_keepers, link, count, split;
    saltus_stopwatch watch;
    int64_t n_sites, used; /* particles, as far as the host knows */
    int64_t most_few;      /* threads of run_few that run at once */
    bool is_cooperative;   /* and may wait for each other */
    cu_pointer heads, bits, particles[2], next, answers, totals, parts;
    int now; /* which particles */
} mpd;

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(s->cu, s->cu->call, what, err))

/* ------------------------------------------------------------------------------------------------
 * Kernels
 */

static saltus_status load_kernels(mpd *s, saltus_gpus *gpus, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_image image = {0};
    int together = 0, blocks = 0;
    (void)pthread_mutex_lock(&gpus->compiling); /* one compiles, the others find it in the cache */
    status = saltus_cuda_compile_mpd(&s->tables, &s->gpu->limits, &image, err);
    (void)pthread_mutex_unlock(&gpus->compiling);
    SALTUS_TRY(status);
    CU(module_load(&s->module, image.image), "loading a kernel");
    CU(module_function(&s->run_many, s->module, "saltus_mpd_run_many"), "loading a kernel");
    CU(module_function(&s->run_few, s->module, "saltus_mpd_run_few"), "loading a kernel");
    CU(module_function(&s->enlist, s->module, "saltus_mpd_enlist"), "loading a kernel");
    CU(module_function(&s->gather, s->module, "saltus_mpd_gather_all"), "loading a kernel");
    CU(module_function(&s->gather_keepers, s->module, "saltus_mpd_gather_keepers"),
       "loading a kernel");
    CU(module_function(&s->link, s->module, "saltus_mpd_link_all"), "loading a kernel");
    CU(module_function(&s->count, s->module, "saltus_mpd_count"), "loading a kernel");
    CU(module_function(&s->split, s->module, "saltus_mpd_split"), "loading a kernel");
    CU(device_attribute(&together, CU_ATTRIBUTE_COOPERATIVE_LAUNCH, s->gpu->device),
       "asking about a GPU");
    CU(occupancy(&blocks, s->run_few, SALTUS_MPD_FEW_BLOCK, 0), "asking about a kernel");
    s->is_cooperative = together != 0;
    s->most_few = (int64_t)blocks * SALTUS_MPD_FEW_BLOCK * s->gpu->n_multiprocessors;
done:
    saltus_free(image.image);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Memory
 */

static size_t bytes_each(void)
{
    return sizeof(uint32_t) + sizeof(uint16_t);
}

/* Particle memory i holds sites, then species. */
static void choose(mpd *s, int now)
{
    const int64_t capacity = s->a.m.capacity;
    s->now = now;
    s->a.m.site = (void *)(uintptr_t)s->particles[now];
    s->a.m.species = (void *)(uintptr_t)(s->particles[now] + (size_t)capacity * sizeof(uint32_t));
    s->a.new_site = (void *)(uintptr_t)s->particles[1 - now];
    s->a.new_species =
        (void *)(uintptr_t)(s->particles[1 - now] + (size_t)capacity * sizeof(uint32_t));
}

static void give(mpd *s, cu_pointer *memory)
{
    if (*memory) {
        (void)s->cu->memory_give(*memory);
    }
    *memory = 0;
}

/* Room for more particles; those that are there stay in memory `now`. */
static saltus_status grow(mpd *s, int64_t capacity, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t had = (size_t)s->a.m.capacity, wants = (size_t)capacity;
    cu_pointer old = s->particles[s->now];
    s->particles[s->now] = 0;
    CU(stream_wait(s->stream), "running a kernel");
    give(s, &s->particles[1 - s->now]);
    give(s, &s->next);
    CU(memory_take(&s->next, wants * sizeof(int32_t)), "taking GPU memory for particles");
    for (int i = 0; i < 2; ++i) {
        CU(memory_take(&s->particles[i], wants * bytes_each()), "taking GPU memory for particles");
    }
    CU(fill(s->particles[s->now], 0xff, wants * bytes_each(), s->stream), "clearing GPU memory");
    if (old) {
        CU(copy(s->particles[s->now], old, had * sizeof(uint32_t), s->stream), "copying particles");
        CU(copy(s->particles[s->now] + wants * sizeof(uint32_t), old + had * sizeof(uint32_t),
                had * sizeof(uint16_t), s->stream),
           "copying particles");
        CU(stream_wait(s->stream), "copying particles");
    }
    s->a.m.capacity = capacity;
    s->a.m.next = (void *)(uintptr_t)s->next;
    choose(s, s->now);
done:
    give(s, &old);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The engine
 */

static unsigned n_blocks(int64_t n_threads, int block)
{
    return n_threads > 0 ? (unsigned)((n_threads + block - 1) / block) : 1;
}

static saltus_status launch(mpd *s, cu_function kernel, int64_t n_threads, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int block = SALTUS_MPD_MANY_BLOCK;
    saltus_mpd_launch a = s->a;
    void *parameters[] = {&a};
    CU(launch(kernel, n_blocks(n_threads, block), 1, 1, block, 1, 1, 0, s->stream, parameters,
              NULL),
       "starting a kernel");
done:
    return status;
}

/* Lists of particles that stand in none. */
static saltus_status enlist(mpd *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    s->a.set = 0;
    CU(fill(s->heads, 0xff, 64 * (size_t)s->a.n_bricks * sizeof(int32_t), s->stream),
       "clearing GPU memory");
    CU(fill(s->bits, 0, 4 * (size_t)s->a.n_bricks * sizeof(uint32_t), s->stream),
       "clearing GPU memory");
    SALTUS_TRY(launch(s, s->enlist, s->a.m.capacity, err));
done:
    return status;
}

static saltus_status begin(void *user, int64_t trajectory, int64_t *capacity, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd *s = user;
    const size_t n = (size_t)s->tables.n_start;
    uint32_t *site = saltus_calloc(n, sizeof *site);
    uint16_t *species = saltus_calloc(n, sizeof *species);
    SALTUS_NEED(site && species);
    if (*capacity > s->a.m.capacity) {
        s->now = 0;
        give(s, &s->particles[0]);
        SALTUS_TRY(grow(s, *capacity, err));
    }
    *capacity = s->a.m.capacity;
    choose(s, 0);
    SALTUS_TRY(
        saltus_mpd_place(&s->tables, s->task->seed, trajectory, &s->a.m, site, species, err));
    CU(fill(s->particles[0], 0xff, (size_t)s->a.m.capacity * sizeof *site, s->stream),
       "clearing GPU memory");
    CU(upload((uintptr_t)s->a.m.site, site, n * sizeof *site, s->stream), "copying particles");
    CU(upload((uintptr_t)s->a.m.species, species, n * sizeof *species, s->stream),
       "copying particles");
    s->used = s->tables.n_start;
    CU(upload((uintptr_t)s->a.m.used, &s->used, sizeof s->used, s->stream), "copying particles");
    CU(stream_wait(s->stream), "copying particles");
    SALTUS_TRY(enlist(s, err));
done:
    saltus_free(site);
    saltus_free(species);
    return status;
}

static saltus_status gather(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd *s = user;
    const int64_t share = s->a.n_bricks / GATHERERS;
    s->a.n_known = s->used;
    s->a.stretch = share < LEAST_STRETCH  ? LEAST_STRETCH
                   : share > MOST_STRETCH ? MOST_STRETCH
                                          : share;
    CU(fill(s->answers, 0, sizeof(answers), s->stream), "clearing GPU memory");
    CU(fill(s->answers + offsetof(answers, trouble), 0xff, sizeof(uint64_t), s->stream),
       "clearing GPU memory");
    CU(fill((uintptr_t)s->a.new_site, 0xff, (size_t)s->a.m.capacity * sizeof(uint32_t), s->stream),
       "clearing GPU memory");
    SALTUS_TRY(launch(s, s->gather, (s->a.n_bricks + s->a.stretch - 1) / s->a.stretch, err));
    SALTUS_TRY(launch(s, s->gather_keepers, s->used, err));
    choose(s, 1 - s->now);
    SALTUS_TRY(launch(s, s->link, s->a.m.capacity, err));
done:
    return status;
}

/* As many phases as one launch takes, at least one. */
static saltus_status launch_phases(mpd *s, const saltus_mpd_phase *phases, int n, int *launched,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int block = SALTUS_MPD_FEW_BLOCK;
    const bool is_small = s->used <= s->most_few && s->is_cooperative;
    saltus_mpd_launch *a = &s->a;
    void *parameters[] = {a};
    *launched = is_small ? n : 1;
    a->step = phases[0].step;
    a->n_phases = *launched;
    a->n_known = s->used;
    a->first_what = phases[0].what;
    a->last_what = phases[*launched - 1].what;
    if (is_small) {
        CU(fill((uintptr_t)a->arrived, 0, sizeof *a->arrived, s->stream), "clearing GPU memory");
        CU(launch_together(s->run_few, n_blocks(s->used, block), 1, 1, block, 1, 1, 0, s->stream,
                           parameters),
           "starting a kernel");
    } else {
        SALTUS_TRY(launch(s, s->run_many, s->used / SALTUS_MPD_EACH, err));
    }
    a->set = (a->set + *launched) & 1;
done:
    return status;
}

static saltus_status run(void *user, const saltus_mpd_phase *phases, int n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd *s = user;
    s->a.m.first_step = phases[0].step;
    SALTUS_TRY(saltus_stopwatch_mark(&s->watch, 0, err));
    CU(event_record(s->start, s->stream), "running a kernel");
    for (int i = 0, launched; i < n; i += launched) {
        SALTUS_TRY(launch_phases(s, phases + i, n - i, &launched, err));
    }
    CU(event_record(s->end, s->stream), "running a kernel");
    SALTUS_TRY(saltus_stopwatch_mark(&s->watch, 1, err));
done:
    return status;
}

static saltus_status look(void *user, int64_t *used, int64_t *fired, uint64_t *trouble,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd *s = user;
    answers a = {0};
    float ms = 0.0F;
    CU(download(&a, s->answers, sizeof a, s->stream), "running a kernel");
    CU(stream_wait(s->stream), "running a kernel");
    SALTUS_TRY(saltus_stopwatch_tell(&s->watch, 0, "kernel", err));
    CU(event_elapsed(&ms, s->start, s->end), "running a kernel");
    (void)__atomic_fetch_add(s->task->kernel_ns, (int64_t)(1e6 * (double)ms), __ATOMIC_RELAXED);
    *used = s->used = a.used;
    *fired = (int64_t)a.fired;
    *trouble = a.trouble;
done:
    return status;
}

static saltus_status restore(void *user, int64_t capacity, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd *s = user;
    choose(s, 1 - s->now);
    SALTUS_TRY(grow(s, capacity, err));
    s->used = capacity;
    SALTUS_TRY(enlist(s, err));
    SALTUS_TRY(gather(s, err));
done:
    return status;
}

/* n sums that a kernel adds up over all particles. */
static saltus_status add_up(mpd *s, cu_function kernel, cu_pointer sums, size_t n, int64_t *out,
                            saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    CU(fill(sums, 0, n * sizeof *out, s->stream), "clearing GPU memory");
    SALTUS_TRY(launch(s, kernel, s->used, err));
    CU(download(out, sums, n * sizeof *out, s->stream), "counting particles");
    CU(stream_wait(s->stream), "counting particles");
done:
    return status;
}

static saltus_status count(void *user, int64_t *totals, saltus_error *err)
{
    mpd *s = user;
    return add_up(s, s->count, s->totals, (size_t)s->a.m.n_species, totals, err);
}

static saltus_status split(void *user, saltus_split how, int64_t *out, saltus_error *err)
{
    mpd *s = user;
    const saltus_recording *space = &s->task->space;
    s->a.axis = how == SALTUS_BY_TYPE ? -1 : space->axis;
    return add_up(s, s->split, s->parts, (size_t)space->n_parts[how] * (size_t)s->a.n_counts, out,
                  err);
}

static saltus_status tell(void *user, saltus_contents *contents, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd *s = user;
    const size_t n = (size_t)s->used;
    uint32_t *site = saltus_calloc(n, sizeof *site);
    uint16_t *species = saltus_calloc(n, sizeof *species);
    SALTUS_NEED(site && species);
    CU(download(site, (uintptr_t)s->a.m.site, n * sizeof *site, s->stream), "copying particles");
    CU(download(species, (uintptr_t)s->a.m.species, n * sizeof *species, s->stream),
       "copying particles");
    CU(stream_wait(s->stream), "copying particles");
    SALTUS_TRY(saltus_mpd_tell(&s->a.m, site, species, s->used, contents, err));
done:
    saltus_free(site);
    saltus_free(species);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Work
 */

/* Counts of the parts of the lattice, where they are most. */
static size_t most_parts(const mpd *s)
{
    int most = 0;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        const int n = s->task->space.n_parts[i];
        most = n > most ? n : most;
    }
    return (size_t)most * (size_t)s->task->columns->n_counts;
}

static saltus_status set_up(mpd *s, saltus_gpus *gpus, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_packed none = {0};
    saltus_mpd_launch *a = &s->a;
    CU(context_use(s->gpu->context), "using a GPU");
    CU(stream_create(&s->stream, CU_STREAM_NON_BLOCKING), "making a stream");
    CU(event_create(&s->start, 0), "making an event");
    CU(event_create(&s->end, 0), "making an event");
    SALTUS_TRY(saltus_stopwatch_start(s->cu, s->task, s->stream, &s->watch, err));
    SALTUS_TRY(load_kernels(s, gpus, err));
    SALTUS_TRY(saltus_upload(s->cu, s->task, &none, &s->tables, &s->model, err));
    a->n_bricks = saltus_mpd_n_bricks(&s->tables.m);
    CU(memory_take(&s->heads, 64 * (size_t)a->n_bricks * sizeof(int32_t)),
       "taking GPU memory for the lattice");
    CU(memory_take(&s->bits, 5 * (size_t)a->n_bricks * sizeof(uint32_t)),
       "taking GPU memory for the lattice");
    CU(memory_take(&s->answers, sizeof(answers)), "taking GPU memory");
    CU(memory_take(&s->totals, (size_t)s->tables.m.n_species * sizeof(uint64_t)),
       "taking GPU memory");
    if (most_parts(s) > 0) {
        CU(memory_take(&s->parts, most_parts(s) * sizeof(uint64_t)), "taking GPU memory");
    }
    a->m = s->model.space;
    a->tables = (void *)(uintptr_t)s->model.tables;
    a->rows = (void *)(uintptr_t)s->model.rows;
    for (int set = 0; set < 2; ++set) {
        a->m.head[set] = (int32_t *)(uintptr_t)s->heads + set * 32 * a->n_bricks;
        a->m.held[set] = (uint32_t *)(uintptr_t)s->bits + set * a->n_bricks;
        a->m.crowded[set] = (uint32_t *)(uintptr_t)s->bits + (2 + set) * a->n_bricks;
    }
    a->m.gathered = (uint32_t *)(uintptr_t)s->bits + 4 * a->n_bricks;
    a->m.used = (void *)(uintptr_t)(s->answers + offsetof(answers, used));
    a->m.trouble = (void *)(uintptr_t)(s->answers + offsetof(answers, trouble));
    a->m.is_shared = 1;
    a->fired = (void *)(uintptr_t)(s->answers + offsetof(answers, fired));
    a->made = (void *)(uintptr_t)(s->answers + offsetof(answers, made));
    a->arrived = (void *)(uintptr_t)(s->answers + offsetof(answers, arrived));
    a->totals = (void *)(uintptr_t)s->totals;
    a->parts = (void *)(uintptr_t)s->parts;
    a->column_of = (void *)(uintptr_t)s->model.column_of;
    a->n_counts = s->task->columns->n_counts;
done:
    return status;
}

static void tear_down(mpd *s)
{
    if (s->stream) {
        (void)s->cu->stream_wait(s->stream);
        (void)s->cu->stream_destroy(s->stream);
    }
    if (s->start) {
        (void)s->cu->event_destroy(s->start);
    }
    if (s->end) {
        (void)s->cu->event_destroy(s->end);
    }
    saltus_stopwatch_free(&s->watch);
    give(s, &s->heads);
    give(s, &s->bits);
    give(s, &s->particles[0]);
    give(s, &s->particles[1]);
    give(s, &s->next);
    give(s, &s->answers);
    give(s, &s->totals);
    give(s, &s->parts);
    saltus_upload_free(s->cu, &s->model);
    if (s->module) {
        (void)s->cu->module_unload(s->module);
    }
    saltus_mpd_tables_free(&s->tables);
}

/* Workers of a GPU whose trajectories fit into its memory together, at least one. */
static saltus_status count_places(const mpd *s, int *places, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t total = 0;
    const int64_t bytes = 320 * saltus_mpd_n_bricks(&s->tables.m) + 32 * s->tables.n_start;
    CU(device_memory(&total, s->gpu->device), "asking for the memory of a GPU");
    *places = (int64_t)total / 10 * 9 / bytes < 1 ? 1 : (int)((int64_t)total / 10 * 9 / bytes);
done:
    return status;
}

saltus_status saltus_cuda_work_mpd(saltus_gpus *gpus, const saltus_gpu *gpu, int worker,
                                   const saltus_task *task, const saltus_source *source,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    mpd s = {.cu = gpus->cu,
             .gpu = gpu,
             .task = task,
             .n_sites = task->model->network->lattice->n_sites};
    const saltus_mpd_engine engine = {&s, begin, gather, run, look, restore, count, split, tell};
    int places = 0;
    SALTUS_TRY(saltus_mpd_tables_create(task->model, &s.tables, err));
    SALTUS_TRY(count_places(&s, &places, err));
    if (worker >= places) {
        goto done; /* the others do all of it */
    }
    SALTUS_TRY(set_up(&s, gpus, err));
    SALTUS_TRY(saltus_mpd_work(&s.tables, task, &engine, source, err));
done:
    tear_down(&s);
    return status;
}
