#include "backend/cuda/ssa/reduce.h"

#include "core/memory.h"

enum {
    BLOCK = 256,
    THREADS = 1 << 17,      /* that read at the same time, to use all of a GPU's bandwidth */
    REAL_THREADS = 1 << 15, /* of observables, each of which has 0.8 kB of memory */
    JOBS_EACH = 16,         /* of a strip, at least */
    FOLD = 32               /* strips that a thread adds up */
};

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(cu, cu->call, what, err))

#define KERNELS "#include \"kernel/ssa/reduce.h\"\n#include \"kernel/base/derive.h\"\n"

saltus_status saltus_reducer_compile(const saltus_limits *limits, bool has_reals, saltus_image *out,
                                     saltus_error *err)
{
    return saltus_kernel_compile(has_reals ? KERNELS : "#define SALTUS_REDUCES_REALS 0\n" KERNELS,
                                 limits->major, limits->minor, out, err);
}

#define LOAD(member, name) CU(module_function(&k.member, k.module, name), "loading a kernel")

saltus_status saltus_reducer_load(const saltus_driver *cu, saltus_gpu *gpu, bool has_reals,
                                  saltus_reducer *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_image image = {0};
    saltus_reduce_kernels k = {0}, *kept = &gpu->reduce[has_reals];
    out->kernels = kept;
    if (kept->module) {
        goto done;
    }
    SALTUS_TRY(saltus_reducer_compile(&gpu->limits, has_reals, &image, err));
    CU(module_load(&k.module, image.image), "loading a kernel");
    LOAD(jobs, "saltus_reduce_jobs");
    LOAD(strips, "saltus_reduce_strips");
    LOAD(bins, "saltus_reduce_bins");
    LOAD(derive, "saltus_derive_jobs");
    if (has_reals) {
        LOAD(reduce_reals, "saltus_reduce_reals");
        LOAD(fold_reals, "saltus_fold_reals");
        LOAD(store_reals, "saltus_store_reals");
    }
    *kept = k;
    k.module = NULL;
done:
    if (k.module) {
        (void)cu->module_unload(k.module);
    }
    saltus_free(image.image);
    return status;
}

/* Addresses of the device are kept in pointers that the host never follows. */
#define CUT(member, n) \
    a->member = (void *)(uintptr_t)saltus_cut(base, at, (size_t)(n), sizeof *a->member)

/* Strips of so many columns by at most so many threads. */
static saltus_strips strips_of(const saltus_task *task, int n_columns, int64_t n,
                               int64_t n_segments, int64_t n_threads)
{
    const int64_t width = task->n_times * n_columns, all = width * n_segments;
    const int64_t most = (n / n_segments + JOBS_EACH - 1) / JOBS_EACH;
    const int64_t enough = n_threads / (all > 0 ? all : 1);
    return (saltus_strips){.width = width,
                           .n_columns = n_columns,
                           .n_segments = n_segments,
                           .n = enough < 1 || most < 1 ? 1
                                : enough < most        ? enough
                                                       : most};
}

/* Strips of all segments together that there is memory for. Fewer segments of as many jobs may have
 * more strips, as 2 of 75 jobs have 6 and 5 have 5; none of at most these jobs and segments has
 * more than this. */
static int64_t most_strips(const saltus_strips *of, int64_t n, int64_t n_threads)
{
    const int64_t by_threads = of->width > 0 ? n_threads / of->width : 0;
    const int64_t by_jobs = (n + JOBS_EACH - 1) / JOBS_EACH;
    return of->n_segments + (by_threads < by_jobs ? by_threads : by_jobs);
}

/* Numbers that have sums: of all segments. */
static int64_t n_sums(const saltus_strips *of)
{
    return of->n_segments * of->width;
}

/* The sums of the first strip are the result, those of the others stand behind them. */
static void place_counts(saltus_reduce_launch *a, const saltus_reduction *wanted,
                         const saltus_uploaded *model, int64_t n, uint64_t base, size_t *at)
{
    const int64_t all = n_sums(&a->of);
    a->n_bins = wanted->n_bins;
    a->edges = (void *)(uintptr_t)model->edges;
    if (wanted->finals) {
        CUT(finals, n * a->of.n_columns);
    }
    if (wanted->n_bins > 0) {
        CUT(shifts, all);
        CUT(bins, all * wanted->n_bins);
        CUT(below, all);
        CUT(above, all);
    }
    CUT(sums, all);
}

static void place_reals(saltus_reals_launch *a, const saltus_reduction *wanted, int64_t n,
                        uint64_t base, size_t *at)
{
    const int64_t all = n_sums(&a->of);
    if (wanted->finals) {
        CUT(finals, n * a->of.n_columns);
    }
    CUT(sums, all * SALTUS_EXACT_WORDS);
    CUT(least, all);
    CUT(most, all);
}

/* What makes them. */
static void place_real_strips(saltus_reals_launch *a, int64_t n, uint64_t base, size_t *at)
{
    const int64_t most = most_strips(&a->of, n, REAL_THREADS) * a->of.width;
    CUT(words, most * SALTUS_EXACT_WORDS);
    CUT(carries, n_sums(&a->of) * SALTUS_EXACT_WORDS);
    CUT(lows, most);
    CUT(highs, most);
}

void saltus_reducer_place(saltus_reducer *reducer, const saltus_task *task,
                          const saltus_uploaded *model, int64_t n, int64_t n_segments,
                          uint64_t base, size_t *at, size_t *results)
{
    saltus_derive_launch *a = &reducer->derivation;
    saltus_reduce_launch *counts = &reducer->counts;
    saltus_reals_launch *reals = &reducer->reals;
    *a = (saltus_derive_launch){0};
    if (task->derivation) {
        a->of = *task->derivation;
        a->of.wanted = (void *)(uintptr_t)model->wanted;
        a->of.times = (void *)(uintptr_t)model->times;
        a->n_jobs = n;
        CUT(derived, n * a->of.n);
    }
    if (!task->reduction) {
        return;
    }
    *counts = (saltus_reduce_launch){
        .of = strips_of(task, task->columns->n_counts, n, n_segments, THREADS)};
    *reals = (saltus_reals_launch){
        .of = strips_of(task, task->columns->n_observables, n, n_segments, REAL_THREADS)};
    place_reals(reals, task->reduction, n, base, at);
    place_counts(counts, task->reduction, model, n, base, at);
    *results = *at;
    *at += (size_t)(most_strips(&counts->of, n, THREADS) * counts->of.width - n_sums(&counts->of)) *
           sizeof *counts->sums;
    place_real_strips(reals, n, base, at);
    counts->of.first = reals->of.first =
        (void *)(uintptr_t)saltus_cut(base, at, (size_t)n_segments + 1, sizeof *counts->of.first);
}

static saltus_status launch(const saltus_driver *cu, cu_function kernel, cu_stream stream,
                            const void *a, int64_t n_threads, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    void *parameters[] = {(void *)(uintptr_t)a};
    const int64_t n_blocks = (n_threads + BLOCK - 1) / BLOCK;
    CU(launch(kernel, (unsigned)n_blocks, 1, 1, BLOCK, 1, 1, 0, stream, parameters, NULL),
       "starting a kernel");
done:
    return status;
}

static saltus_status reduce_counts(const saltus_driver *cu, const saltus_reducer *reducer,
                                   cu_stream stream, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_reduce_launch a = reducer->counts;
    const int64_t all = n_sums(&a.of);
    SALTUS_TRY(launch(cu, reducer->kernels->jobs, stream, &a, a.of.n * all, err));
    while (a.of.n > 1) {
        a.of.n_left = (a.of.n + FOLD - 1) / FOLD;
        SALTUS_TRY(launch(cu, reducer->kernels->strips, stream, &a, a.of.n_left * all, err));
        a.of.n = a.of.n_left;
    }
    if (a.n_bins > 0) {
        const uintptr_t start = (uintptr_t)a.bins;
        CU(fill(start, 0, (uintptr_t)(a.above + all) - start, stream), "clearing GPU memory");
        SALTUS_TRY(launch(cu, reducer->kernels->bins, stream, &reducer->counts,
                          reducer->counts.of.n * all, err));
    }
done:
    return status;
}

static saltus_status reduce_reals(const saltus_driver *cu, const saltus_reducer *reducer,
                                  cu_stream stream, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_reals_launch *a = &reducer->reals;
    const int64_t all = n_sums(&a->of), n_words = all * SALTUS_EXACT_WORDS;
    CU(fill((uintptr_t)a->words, 0, (size_t)(n_words * a->of.n) * sizeof *a->words, stream),
       "clearing GPU memory");
    SALTUS_TRY(launch(cu, reducer->kernels->reduce_reals, stream, a, a->of.n * all, err));
    SALTUS_TRY(launch(cu, reducer->kernels->fold_reals, stream, a, n_words, err));
    SALTUS_TRY(launch(cu, reducer->kernels->store_reals, stream, a, all, err));
done:
    return status;
}

saltus_status saltus_reducer_run(const saltus_driver *cu, const saltus_reducer *reducer,
                                 const saltus_task *task, cu_stream stream, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_derive_launch *d = &reducer->derivation;
    if (task->derivation) {
        SALTUS_TRY(launch(cu, reducer->kernels->derive, stream, d, d->n_jobs * d->of.n, err));
    }
    if (task->reduction && reducer->counts.of.width > 0) {
        SALTUS_TRY(reduce_counts(cu, reducer, stream, err));
    }
    if (task->reduction && reducer->reals.of.width > 0) {
        SALTUS_TRY(reduce_reals(cu, reducer, stream, err));
    }
done:
    return status;
}
