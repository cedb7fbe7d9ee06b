/* Lattices on a GPU: a trajectory per stream, as lists or as counts. */
#include "backend/cuda/rdme/rdme.h"

#include "core/memory.h"
#include "model/network/model.h"
#include "model/network/network.h"

#include <math.h>
#include <stdio.h>

enum {
    MOST_THREADS =
        1 << 30, /* threads that are started; each goes over several items if there are more */
    THREADS_AT_ONCE = 2048 /* of a multiprocessor */
};

/* What the host reads after a batch, in one piece of the GPU's memory. */
typedef struct answers {
    int64_t used;
    uint64_t fired, failure, made, arrived, lost, passed[2], waited[2];
} answers;

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(s->cu, s->cu->call, what, err))

/* ------------------------------------------------------------------------------------------------
 * Kernels
 */

saltus_status saltus_gpu_lattice_function(const saltus_gpu_lattice *s, const char *name,
                                          cu_function *out, saltus_error *err)
{
    return saltus_cuda_check(s->cu, s->cu->module_function(out, s->module, name),
                             "loading a kernel", err);
}

int saltus_gpu_lattice_slabs(const saltus_gpu_lattice *s)
{
    return s->task->n_slabs > 1 ? s->task->n_slabs : 1;
}

saltus_status saltus_gpu_lattice_load(saltus_gpu_lattice *s, int bits, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_image image = {0};
    (void)pthread_mutex_lock(
        &s->gpus->compiling); /* one thread compiles, the others find the kernel in the cache */
    status = saltus_cuda_compile_mpd(&s->tables, bits, saltus_gpu_lattice_slabs(s), &s->gpu->limits,
                                     &image, err);
    (void)pthread_mutex_unlock(&s->gpus->compiling);
    SALTUS_TRY(status);
    if (s->module) {
        CU(module_unload(s->module), "unloading a kernel");
        s->module = NULL;
    }
    CU(module_load(&s->module, image.image), "loading a kernel");
    SALTUS_TRY(saltus_gpu_lattice_function(s, "saltus_mpd_count", &s->count, err));
    SALTUS_TRY(saltus_gpu_lattice_function(s, "saltus_mpd_split", &s->split, err));
done:
    saltus_free(image.image);
    return status;
}

saltus_status saltus_gpu_lattice_blocks(const saltus_gpu_lattice *s, cu_function kernel, int block,
                                        size_t shared, int64_t *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int blocks = 0;
    CU(occupancy(&blocks, kernel, block, shared), "asking about a kernel");
    *out = (int64_t)blocks * s->gpu->n_multiprocessors;
done:
    return status;
}

int64_t saltus_gpu_lattice_n_blocks(int64_t n, int block)
{
    return n > 0 ? (n + block - 1) / block : 1;
}

saltus_status saltus_gpu_lattice_launch(const saltus_gpu_lattice *s, cu_function kernel, int block,
                                        int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_launch a = s->a;
    void *parameters[] = {&a};
    const int64_t n_blocks =
        saltus_gpu_lattice_n_blocks(n < MOST_THREADS ? n : MOST_THREADS, block);
    CU(launch(kernel, (unsigned)n_blocks, 1, 1, (unsigned)block, 1, 1, 0, s->stream, parameters,
              NULL),
       "starting a kernel");
done:
    return status;
}

saltus_status saltus_gpu_lattice_launch_phases(const saltus_gpu_lattice *s, cu_function kernel,
                                               int block, size_t shared, int64_t n_blocks,
                                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_launch a = s->a;
    void *parameters[] = {&a};
    if (s->is_cooperative) {
        CU(fill((uintptr_t)a.arrived, 0, s->arrived_bytes, s->stream), "clearing GPU memory");
        CU(launch_together(kernel, (unsigned)n_blocks, 1, 1, (unsigned)block, 1, 1,
                           (unsigned)shared, s->stream, parameters),
           "starting a kernel");
    } else {
        CU(launch(kernel, (unsigned)n_blocks, 1, 1, (unsigned)block, 1, 1, (unsigned)shared,
                  s->stream, parameters, NULL),
           "starting a kernel");
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The engine
 */

saltus_status saltus_gpu_lattice_begin_batch(const saltus_gpu_lattice *s, int64_t used,
                                             saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const answers none = {.used = used, .failure = UINT64_MAX};
    SALTUS_TRY(saltus_stopwatch_mark(&s->watch, 0, err));
    CU(event_record(s->start, s->stream), "running a kernel");
    CU(upload(s->answers, &none, sizeof none, s->stream), "clearing GPU memory");
done:
    return status;
}

saltus_status saltus_gpu_lattice_place(saltus_gpu_lattice *s, int64_t trajectory,
                                       const saltus_contents *from, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd *m = &s->a.m;
    const size_t n = (size_t)saltus_mpd_n_placed(&s->tables, from);
    uint32_t *site = saltus_calloc(n, sizeof *site);
    uint16_t *species = saltus_calloc(n, sizeof *species);
    SALTUS_NEED(site && species);
    SALTUS_TRY(
        saltus_mpd_place(&s->tables, s->task->seed, trajectory, from, m, site, species, err));
    CU(upload((uintptr_t)m->site, site, n * sizeof *site, s->stream), "copying particles");
    CU(upload((uintptr_t)m->species, species, n * sizeof *species, s->stream), "copying particles");
    CU(stream_wait(s->stream), "copying particles");
done:
    saltus_free(site);
    saltus_free(species);
    return status;
}

void saltus_gpu_lattice_trace_phases(saltus_gpu_lattice *s, const saltus_mpd_phase *phases, int n)
{
    s->a.step = phases[0].step;
    s->a.n_phases = n;
    s->a.first_what = phases[0].what;
    s->a.last_what = phases[n - 1].what;
}

saltus_status saltus_gpu_lattice_end_batch(const saltus_gpu_lattice *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    CU(event_record(s->end, s->stream), "running a kernel");
    SALTUS_TRY(saltus_stopwatch_mark(&s->watch, 1, err));
done:
    return status;
}

saltus_status saltus_gpu_lattice_run(void *user, const saltus_mpd_phase *phases, int n,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_gpu_lattice *s = user;
    s->a.m.first_step = phases[0].step;
    s->batch = n;
    for (int i = 0, launched; i < n; i += launched) {
        SALTUS_TRY(s->launch_phases(user, phases + i, n - i, &launched, err));
        s->a.set = (s->a.set + launched) & 1;
    }
    SALTUS_TRY(saltus_gpu_lattice_end_batch(s, err));
done:
    return status;
}

static saltus_status query(saltus_gpu_lattice *s, answers *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    CU(download(out, s->answers, sizeof *out, s->stream), "running a kernel");
    CU(stream_wait(s->stream), "running a kernel");
    s->used = out->used;
    s->is_lost = out->lost != 0;
    for (int side = 0; side < 2; ++side) {
        s->passed[side] = (double)out->passed[side];
        s->waited[side] = (double)out->waited[side];
    }
done:
    return status;
}

saltus_status saltus_gpu_lattice_query(saltus_gpu_lattice *s, saltus_error *err)
{
    answers a = {0};
    return query(s, &a, err);
}

saltus_status saltus_gpu_lattice_poll(void *user, saltus_mpd_batch_status *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_gpu_lattice *s = user;
    answers a = {0};
    float ms = 0.0F;
    SALTUS_TRY(query(s, &a, err));
    SALTUS_TRY(saltus_stopwatch_record(&s->watch, 0, "kernel", err));
    CU(event_elapsed(&ms, s->start, s->end), "running a kernel");
    s->batch_us = 1e3 * (double)ms;
    (void)__atomic_fetch_add(s->task->kernel_ns, (int64_t)(1e6 * (double)ms), __ATOMIC_RELAXED);
    *out = (saltus_mpd_batch_status){.work = s->work,
                                     .fired = (int64_t)a.fired,
                                     .failure = saltus_mpd_failure_of(a.failure, s->a.m.slab.zero),
                                     .is_full = a.used > s->a.m.capacity};
done:
    return status;
}

/* Start a kernel that adds up n sums, with no more threads than run at the same time, because each
 * has sums of its own at first. */
static saltus_status start_sums(const saltus_gpu_lattice *s, cu_function kernel, cu_pointer sums,
                                size_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t most = (int64_t)THREADS_AT_ONCE * s->gpu->n_multiprocessors;
    CU(fill(sums, 0, n * sizeof(int64_t), s->stream), "clearing GPU memory");
    SALTUS_TRY(
        saltus_gpu_lattice_launch(s, kernel, s->block, s->work < most ? s->work : most, err));
done:
    return status;
}

static saltus_status end_sums(const saltus_gpu_lattice *s, cu_pointer sums, size_t n, int64_t *out,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    CU(download(out, sums, n * sizeof *out, s->stream), "counting particles");
    CU(stream_wait(s->stream), "counting particles");
done:
    return status;
}

static size_t n_parts(const saltus_gpu_lattice *s, saltus_split how)
{
    return (size_t)s->task->space.n_parts[how] * (size_t)s->a.n_counts;
}

saltus_status saltus_gpu_lattice_start_count(const saltus_gpu_lattice *s, saltus_error *err)
{
    return start_sums(s, s->count, s->totals, (size_t)s->a.m.n_species, err);
}

saltus_status saltus_gpu_lattice_end_count(const saltus_gpu_lattice *s, int64_t *totals,
                                           saltus_error *err)
{
    return end_sums(s, s->totals, (size_t)s->a.m.n_species, totals, err);
}

saltus_status saltus_gpu_lattice_count(void *user, int64_t *totals, saltus_error *err)
{
    saltus_status status = saltus_gpu_lattice_start_count(user, err);
    return status == SALTUS_OK ? saltus_gpu_lattice_end_count(user, totals, err) : status;
}

saltus_status saltus_gpu_lattice_start_split(saltus_gpu_lattice *s, saltus_split how,
                                             saltus_error *err)
{
    s->a.axis = how == SALTUS_BY_TYPE ? -1 : s->task->space.axis;
    return start_sums(s, s->split, s->parts, n_parts(s, how), err);
}

saltus_status saltus_gpu_lattice_end_split(const saltus_gpu_lattice *s, saltus_split how,
                                           int64_t *out, saltus_error *err)
{
    return end_sums(s, s->parts, n_parts(s, how), out, err);
}

saltus_status saltus_gpu_lattice_split(void *user, saltus_split how, int64_t *out,
                                       saltus_error *err)
{
    saltus_status status = saltus_gpu_lattice_start_split(user, how, err);
    return status == SALTUS_OK ? saltus_gpu_lattice_end_split(user, how, out, err) : status;
}

/* ------------------------------------------------------------------------------------------------
 * Work
 */

saltus_status saltus_gpu_lattice_alloc(const saltus_gpu_lattice *s, cu_pointer *out, size_t bytes,
                                       saltus_error *err)
{
    return saltus_cuda_check(s->cu, s->cu->memory_alloc(out, bytes),
                             "taking GPU memory for a lattice", err);
}

void saltus_gpu_lattice_free(const saltus_gpu_lattice *s, cu_pointer *memory)
{
    if (*memory) {
        (void)s->cu->memory_free(*memory);
    }
    *memory = 0;
}

/* Size of the counts by part, for the kind of part that has most. */
static size_t most_parts(const saltus_gpu_lattice *s)
{
    int most = 0;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        const int n = s->task->space.n_parts[i];
        most = n > most ? n : most;
    }
    return (size_t)most * (size_t)s->task->columns->n_counts;
}

saltus_status saltus_gpu_lattice_set_up(saltus_gpu_lattice *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_packed none = {0};
    saltus_mpd_launch *a = &s->a;
    int together = 0;
    CU(context_use(s->gpu->context), "using a GPU");
    CU(device_attribute(&together, CU_ATTRIBUTE_COOPERATIVE_LAUNCH, s->gpu->device),
       "asking about a GPU");
    s->is_cooperative = together != 0;
    CU(stream_create(&s->stream, CU_STREAM_NON_BLOCKING), "making a stream");
    CU(event_create(&s->start, 0), "making an event");
    CU(event_create(&s->end, 0), "making an event");
    SALTUS_TRY(saltus_stopwatch_start(s->cu, s->task, s->stream, &s->watch, err));
    SALTUS_TRY(saltus_upload(s->cu, s->task, &none, &s->tables, &s->model, err));
    SALTUS_TRY(saltus_gpu_lattice_alloc(s, &s->answers, sizeof(answers), err));
    SALTUS_TRY(saltus_gpu_lattice_alloc(s, &s->totals,
                                        (size_t)s->tables.m.n_species * sizeof(uint64_t), err));
    if (most_parts(s) > 0) {
        SALTUS_TRY(saltus_gpu_lattice_alloc(s, &s->parts, most_parts(s) * sizeof(uint64_t), err));
    }
    a->m = s->model.space;
    a->m.is_shared = 1;
    a->m.used = (void *)(uintptr_t)(s->answers + offsetof(answers, used));
    a->m.failure = (void *)(uintptr_t)(s->answers + offsetof(answers, failure));
    a->tables = (void *)(uintptr_t)s->model.tables;
    a->rows = (void *)(uintptr_t)s->model.rows;
    a->fired = (void *)(uintptr_t)(s->answers + offsetof(answers, fired));
    a->made = (void *)(uintptr_t)(s->answers + offsetof(answers, made));
    a->arrived = (void *)(uintptr_t)(s->answers + offsetof(answers, arrived));
    s->arrived_bytes = sizeof *a->arrived;
    a->m.slab.halo_flags.lost = (void *)(uintptr_t)(s->answers + offsetof(answers, lost));
    a->m.slab.halo_flags.passed = (void *)(uintptr_t)(s->answers + offsetof(answers, passed));
    a->m.slab.halo_flags.waited = (void *)(uintptr_t)(s->answers + offsetof(answers, waited));
    a->totals = (void *)(uintptr_t)s->totals;
    a->parts = (void *)(uintptr_t)s->parts;
    a->column_of = (void *)(uintptr_t)s->model.column_of;
    a->n_counts = s->task->columns->n_counts;
done:
    return status;
}

void saltus_gpu_lattice_tear_down(saltus_gpu_lattice *s)
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
    saltus_gpu_lattice_free(s, &s->answers);
    saltus_gpu_lattice_free(s, &s->totals);
    saltus_gpu_lattice_free(s, &s->parts);
    saltus_upload_free(s->cu, &s->model);
    if (s->module) {
        (void)s->cu->module_unload(s->module);
    }
}

double saltus_cuda_site_bytes(int n_fields)
{
    const int words = SALTUS_MPD_WORDS_OF(n_fields, SALTUS_CUDA_LEAST_BITS),
              sharers = SALTUS_MPD_SHARERS_OF(n_fields, SALTUS_CUDA_LEAST_BITS);
    return (double)sizeof(uint32_t) * words / sharers;
}

/* Where sites are fewer, a warp has seen all of its tiles sooner than their marks and then some
 * sites; where they have more words, memory is asked as often either way. Sets that stay in the
 * second-level cache are searched by marks for more particles. */
bool saltus_cuda_is_sparse(const saltus_lattice *lattice)
{
    const int64_t many = 1 << 20,
                  sites_each = lattice->n_sites <= SALTUS_CUDA_SMALL_LATTICE ? 8 : 64;
    return SALTUS_MPD_WORDS_OF(lattice->n_species, SALTUS_CUDA_LEAST_BITS) == 1 &&
           lattice->n_sites > many &&
           saltus_lattice_n_placed(lattice) < lattice->n_sites / sites_each;
}

/* Time of a step, fitted to what was measured on one H100 or H200: bench/RESULTS.md, "Space on a
 * GPU" and "A lattice on several GPUs". Lists are longer where lattices are denser, and what they
 * touch is far apart where lattices are large, until all of it is touched. Of counts all words are
 * read, or marks. */
double saltus_cuda_step_us(const saltus_lattice *lattice, saltus_layout layout, bool in_slabs)
{
    const int words_each = SALTUS_MPD_WORDS_OF(lattice->n_species, SALTUS_CUDA_LEAST_BITS);
    const double n = (double)saltus_lattice_n_placed(lattice), sites = (double)lattice->n_sites,
                 words = sites * words_each;
    const bool is_small = lattice->n_sites <= SALTUS_CUDA_SMALL_LATTICE;
    if (layout == SALTUS_LAYOUT_COUNTS && !in_slabs && saltus_cuda_is_sparse(lattice)) {
        return is_small ? 3.2 + 0.1e-6 * sites + 19e-6 * n : 3.5 + 0.15e-6 * sites + 90e-6 * n;
    }
    if (layout == SALTUS_LAYOUT_COUNTS) {
        return 2.7 + 0.9e-6 * words +
               (is_small ? 22e-6 * n : 28e-6 * n + fmin(24e-6 * n, 0.3e-6 * sites));
    }
    return 6.5 + 34e-6 * n + (sites < 1e8 ? 0.0 : fmin(55e-6 * n, 0.9e-6 * sites)) +
           50e-6 * n * n / sites;
}

saltus_status saltus_cuda_choose_lattice(const saltus_lattice *lattice, double memory,
                                         saltus_layout wanted, saltus_layout *layout, char why[200],
                                         saltus_error *err)
{
    const double needs =
        3.0 * saltus_cuda_site_bytes(lattice->n_species) * (double)lattice->n_sites;
    const bool is_auto = wanted == SALTUS_LAYOUT_AUTO,
               fits = lattice->n_species < SALTUS_CUDA_MOST_FIELDS && needs <= 0.9 * memory,
               is_sooner = saltus_cuda_step_us(lattice, SALTUS_LAYOUT_COUNTS, false) <
                           saltus_cuda_step_us(lattice, SALTUS_LAYOUT_PARTICLES, false),
               counts = is_auto ? fits && is_sooner : wanted == SALTUS_LAYOUT_COUNTS;
    if (counts && !fits) {
        return saltus_error_set(err, SALTUS_E_UNSUPPORTED,
                                "layout 'counts' is for %d species at most, here are %d, and takes "
                                "%.3g bytes, of %.3g",
                                SALTUS_CUDA_MOST_FIELDS - 1, lattice->n_species, needs, memory);
    }
    *layout = counts ? SALTUS_LAYOUT_COUNTS : SALTUS_LAYOUT_PARTICLES;
    (void)snprintf(why, 200, "%s%s", saltus_layout_of(*layout)->about,
                   !is_auto ? ""
                   : counts ? ": particles are many for the sites"
                   : fits   ? ": particles are few for the sites"
                            : ": counts of all species would not fit");
    return SALTUS_OK;
}
