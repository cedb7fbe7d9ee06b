#include "backend/cuda/ssa/reduce.h"

#include "core/memory.h"

enum {
    BLOCK = 256,
    THREADS = 1 << 17, /* that read at the same time, to use all of a GPU's bandwidth */
    JOBS_EACH = 16,    /* of a strip, at least */
    FOLD = 32          /* strips that a thread adds up */
};

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(cu, cu->call, what, err))

saltus_status saltus_reducer_compile(const saltus_limits *limits, saltus_image *out,
                                     saltus_error *err)
{
    return saltus_kernel_compile(
        "#include \"kernel/ssa/reduce.h\"\n#include \"kernel/base/derive.h\"\n", limits->major,
        limits->minor, out, err);
}

saltus_status saltus_reducer_load(const saltus_driver *cu, const saltus_limits *limits,
                                  saltus_reducer *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_image image = {0};
    SALTUS_TRY(saltus_reducer_compile(limits, &image, err));
    CU(module_load(&out->module, image.image), "loading a kernel");
    CU(module_function(&out->jobs, out->module, "saltus_reduce_jobs"), "loading a kernel");
    CU(module_function(&out->strips, out->module, "saltus_reduce_strips"), "loading a kernel");
    CU(module_function(&out->bins, out->module, "saltus_reduce_bins"), "loading a kernel");
    CU(module_function(&out->derive, out->module, "saltus_derive_jobs"), "loading a kernel");
done:
    saltus_free(image.image);
    return status;
}

void saltus_reducer_unload(const saltus_driver *cu, saltus_reducer *reducer)
{
    if (reducer->module) {
        (void)cu->module_unload(reducer->module);
    }
}

/* Addresses of the device are kept in pointers that the host never follows. */
#define CUT(member, n) \
    a->member = (void *)(uintptr_t)saltus_cut(base, at, (size_t)(n), sizeof *a->member)

/* The sums of the first strip are the result, those of the others stand behind it. */
static void place_reduction(saltus_reducer *reducer, const saltus_task *task,
                            const saltus_uploaded *model, int64_t n, int64_t n_segments,
                            uint64_t base, size_t *at, size_t *results)
{
    const saltus_reduction *wanted = task->reduction;
    saltus_reduce_launch *a = &reducer->launch;
    const int64_t n_counts = task->columns->n_counts, width = task->n_times * n_counts;
    const int64_t all = width * n_segments, each = n / n_segments;
    const int64_t most = (each + JOBS_EACH - 1) / JOBS_EACH, enough = THREADS / all;
    *a = (saltus_reduce_launch){.width = width,
                                .n_counts = n_counts,
                                .n_segments = n_segments,
                                .n_strips = enough < 1 || most < 1 ? 1
                                            : enough < most        ? enough
                                                                   : most,
                                .n_bins = wanted->n_bins,
                                .edges = (void *)(uintptr_t)model->edges};
    if (wanted->finals) {
        CUT(finals, n * n_counts);
    }
    if (wanted->n_bins > 0) {
        CUT(shifts, all);
        CUT(bins, all * wanted->n_bins);
        CUT(below, all);
        CUT(above, all);
    }
    CUT(sums, all);
    *results = *at;
    *at += (size_t)((a->n_strips - 1) * all) * sizeof *a->sums;
    CUT(first, n_segments + 1);
}

void saltus_reducer_place(saltus_reducer *reducer, const saltus_task *task,
                          const saltus_uploaded *model, int64_t n, int64_t n_segments,
                          uint64_t base, size_t *at, size_t *results)
{
    saltus_derive_launch *a = &reducer->derivation;
    *a = (saltus_derive_launch){0};
    if (task->derivation) {
        a->of = *task->derivation;
        a->of.wanted = (void *)(uintptr_t)model->wanted;
        a->of.times = (void *)(uintptr_t)model->times;
        a->n_jobs = n;
        CUT(derived, n * a->of.n);
    }
    if (task->reduction) {
        place_reduction(reducer, task, model, n, n_segments, base, at, results);
    }
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

static saltus_status reduce(const saltus_driver *cu, const saltus_reducer *reducer,
                            cu_stream stream, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_reduce_launch a = reducer->launch;
    const int64_t all = a.n_segments * a.width;
    SALTUS_TRY(launch(cu, reducer->jobs, stream, &a, a.n_strips * all, err));
    while (a.n_strips > 1) {
        a.n_left = (a.n_strips + FOLD - 1) / FOLD;
        SALTUS_TRY(launch(cu, reducer->strips, stream, &a, a.n_left * all, err));
        a.n_strips = a.n_left;
    }
    if (a.n_bins > 0) {
        const uintptr_t start = (uintptr_t)a.bins;
        CU(fill(start, 0, (uintptr_t)(a.above + a.n_segments * a.width) - start, stream),
           "clearing GPU memory");
        SALTUS_TRY(launch(cu, reducer->bins, stream, &reducer->launch,
                          reducer->launch.n_strips * all, err));
    }
done:
    return status;
}

saltus_status saltus_reducer_run(const saltus_driver *cu, const saltus_reducer *reducer,
                                 const saltus_task *task, cu_stream stream, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_derive_launch *d = &reducer->derivation;
    if (task->derivation) {
        SALTUS_TRY(launch(cu, reducer->derive, stream, d, d->n_jobs * d->of.n, err));
    }
    if (task->reduction) {
        SALTUS_TRY(reduce(cu, reducer, stream, err));
    }
done:
    return status;
}
