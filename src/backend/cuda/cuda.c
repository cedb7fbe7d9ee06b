/* The CUDA backend: what is here, and whose turn it is. */
#include "backend/cuda/cuda.h"

#include "backend/cuda/device/links.h"
#include "backend/cuda/slabs/slabs.h"
#include "backend/cuda/ssa/worker.h"
#include "core/memory.h"
#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Host threads per GPU: while one prepares samples, another's kernel runs. */
enum { WORKERS_PER_GPU = 4 };

/* Samples that may wait for their delivery: a GPU is busy only with tens of thousands of
 * trajectories. */
enum { AHEAD_BYTES = 384 << 20 };

static bool claims(const char *specification)
{
    return strcmp(specification, "cuda") == 0 || strncmp(specification, "cuda:", 5) == 0;
}

/* The context may live on, as others have it too. */
static void unload(const saltus_driver *cu, const saltus_gpu *gpu)
{
    for (int i = 0; i < 2; ++i) {
        if (gpu->reduce[i].module && cu->context_use(gpu->context) == CU_SUCCESS) {
            (void)cu->module_unload(gpu->reduce[i].module);
        }
    }
}

static void close_cuda(saltus_backend *backend)
{
    saltus_gpus *gpus = (saltus_gpus *)backend->device;
    const saltus_driver *cu = NULL;
    const bool is_ours = gpus->cu && saltus_cuda_driver(&cu, NULL) == SALTUS_OK;
    for (int i = 0; i < gpus->n && is_ours; ++i) {
        unload(cu, &gpus->gpu[i]);
        (void)cu->context_release(gpus->gpu[i].device);
    }
    (void)pthread_mutex_destroy(&gpus->compiling);
    (void)pthread_mutex_destroy(&gpus->joint);
    (void)pthread_mutex_destroy(&gpus->setting_up);
    (void)pthread_cond_destroy(&gpus->are_set_up);
    saltus_free(gpus);
}

static saltus_status query(const saltus_driver *cu, const saltus_gpu *gpu, int attribute, int *out,
                           saltus_error *err)
{
    return saltus_cuda_check(cu, cu->device_attribute(out, attribute, gpu->device), "opening a GPU",
                             err);
}

static saltus_status open_gpu(saltus_gpus *gpus, int ordinal, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int major = 0, minor = 0, block_bytes = 0, bytes = 0;
    const saltus_driver *cu = gpus->cu;
    saltus_gpu *gpu = &gpus->gpu[gpus->n];
    int n = 0;
    SALTUS_TRY(saltus_cuda_check(cu, cu->device_count(&n), "counting the GPUs", err));
    if (ordinal >= n) {
        SALTUS_FAIL(SALTUS_E_UNAVAILABLE, "device 'cuda:%d': there %s %d GPU%s here", ordinal,
                    n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
    }
    gpu->ordinal = ordinal;
    SALTUS_TRY(saltus_cuda_check(cu, cu->device_get(&gpu->device, ordinal), "opening a GPU", err));
    SALTUS_TRY(saltus_cuda_check(cu, cu->device_name(gpu->name, (int)sizeof gpu->name, gpu->device),
                                 "opening a GPU", err));
    SALTUS_TRY(query(cu, gpu, CU_ATTRIBUTE_MAJOR, &major, err));
    SALTUS_TRY(query(cu, gpu, CU_ATTRIBUTE_MINOR, &minor, err));
    SALTUS_TRY(query(cu, gpu, CU_ATTRIBUTE_MULTIPROCESSORS, &gpu->n_multiprocessors, err));
    SALTUS_TRY(query(cu, gpu, CU_ATTRIBUTE_CACHE, &gpu->cache_bytes, err));
    SALTUS_TRY(query(cu, gpu, CU_ATTRIBUTE_SHARED_MEMORY_PER_BLOCK_OPTIN, &block_bytes, err));
    SALTUS_TRY(query(cu, gpu, CU_ATTRIBUTE_SHARED_MEMORY, &bytes, err));
    gpu->limits = (saltus_limits){major, minor, block_bytes, bytes};
    if (cu->device_attribute(&gpu->host_node, CU_ATTRIBUTE_HOST_NODE, gpu->device) != CU_SUCCESS) {
        gpu->host_node = -1; /* an older driver */
    }
    SALTUS_TRY(saltus_cuda_check(cu, cu->context_retain(&gpu->context, gpu->device),
                                 "starting a GPU", err));
    ++gpus->n;
done:
    return status;
}

/* "sm_90": a compute capability in place of a GPU; kernels can be compiled for it. */
static saltus_status open_architecture(saltus_gpus *gpus, const char *text, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t n = strspn(text + 3, "0123456789");
    const long number = strtol(text + 3, NULL, 10);
    if (text[3 + n] != '\0' || n < 2 || n > 3) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "device 'cuda:%s': a compute capability such as sm_90 is needed", text);
    }
    gpus->gpu[0].limits = saltus_limits_of((int)(number / 10), (int)(number % 10));
    gpus->n = 1;
done:
    return status;
}

/* A GPU that is named several times plays as many, each with a part of its multiprocessors. */
static void share_multiprocessors(saltus_gpus *gpus)
{
    for (int i = 0; i < gpus->n; ++i) {
        saltus_gpu *gpu = &gpus->gpu[i];
        int all = 0;
        for (int k = 0; k < gpus->n; ++k) {
            all += saltus_gpu_is_same(gpu, &gpus->gpu[k]);
        }
        gpu->n_multiprocessors = gpu->n_multiprocessors > all ? gpu->n_multiprocessors / all : 1;
    }
}

/* Whether there is a compiler is told to who needs one. */
static void *load_compiler(void *unused)
{
    const saltus_nvrtc *rtc = NULL;
    saltus_error none = {0};
    return saltus_cuda_nvrtc(&rtc, &none) == SALTUS_OK ? unused : NULL;
}

/* "cuda", "cuda:1", "cuda:0,1"; "cuda:sm_90". */
static saltus_status open_cuda(const char *specification, saltus_backend *backend,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *list = specification[4] == ':' ? specification + 5 : "0";
    pthread_t loader;
    bool is_loading = false;
    saltus_gpus *gpus = saltus_calloc(1, sizeof *gpus);
    SALTUS_NEED(gpus);
    (void)pthread_mutex_init(&gpus->compiling, NULL);
    (void)pthread_mutex_init(&gpus->joint, NULL);
    (void)pthread_mutex_init(&gpus->setting_up, NULL);
    (void)pthread_cond_init(&gpus->are_set_up, NULL);
    backend->device = gpus;
    (void)snprintf(backend->name, sizeof backend->name, "%s", specification);
    if (strncmp(list, "sm_", 3) == 0) {
        SALTUS_TRY(open_architecture(gpus, list, err));
        goto done;
    }
    SALTUS_TRY(saltus_cuda_driver(&gpus->cu, err));
    /* It is large: some 10 ms, while the GPU starts. */
    is_loading = pthread_create(&loader, NULL, load_compiler, NULL) == 0;
    do {
        char *end;
        const long ordinal = strtol(list, &end, 10);
        if (end == list || (*end != ',' && *end != '\0') || *list < '0' || *list > '9' ||
            ordinal > 10000 || gpus->n == SALTUS_MAX_GPUS) {
            SALTUS_FAIL(SALTUS_E_INVALID,
                        "device '%s': cuda, cuda:N or cuda:N,M… is needed, of at most %d GPUs",
                        specification, SALTUS_MAX_GPUS);
        }
        SALTUS_TRY(open_gpu(gpus, (int)ordinal, err));
        list = *end == ',' ? end + 1 : end;
    } while (*list);
    share_multiprocessors(gpus);
done:
    if (is_loading) {
        (void)pthread_join(loader, NULL);
    }
    if (status != SALTUS_OK && gpus) {
        close_cuda(backend);
        backend->device = NULL;
    }
    return status;
}

static void list_cuda(FILE *out)
{
    const saltus_driver *cu = NULL;
    const saltus_nvrtc *rtc = NULL;
    saltus_error err = {0};
    int n = 0;
    if (saltus_cuda_driver(&cu, &err) != SALTUS_OK) {
        fprintf(out, "cuda: %s\n", err.message);
        if (err.hint[0]) {
            fprintf(out, "  %s\n", err.hint);
        }
    } else {
        (void)cu->device_count(&n);
        fprintf(out, "cuda: %d GPU%s, driver for CUDA %d.%d\n", n, n == 1 ? "" : "s",
                cu->version / 1000, cu->version % 1000 / 10);
    }
    for (int i = 0; i < n; ++i) {
        cu_device device;
        char name[100] = "?";
        size_t bytes = 0;
        int major = 0, minor = 0, sms = 0;
        if (cu->device_get(&device, i) == CU_SUCCESS) {
            (void)cu->device_name(name, (int)sizeof name, device);
            (void)cu->device_memory(&bytes, device);
            (void)cu->device_attribute(&major, CU_ATTRIBUTE_MAJOR, device);
            (void)cu->device_attribute(&minor, CU_ATTRIBUTE_MINOR, device);
            (void)cu->device_attribute(&sms, CU_ATTRIBUTE_MULTIPROCESSORS, device);
        }
        fprintf(out, "  cuda:%-7d %s, %.1f GiB, %d multiprocessors, compute capability %d.%d\n", i,
                name, (double)bytes / (1 << 30), sms, major, minor);
    }
    if (n > 1) {
        saltus_links_list(cu, n, out);
    }
    err = (saltus_error){0};
    if (saltus_cuda_nvrtc(&rtc, &err) == SALTUS_OK) {
        fprintf(out, "  NVRTC %d.%d (%s)\n", rtc->major, rtc->minor, rtc->path);
    } else {
        fprintf(out, "  %s\n  %s\n", err.message, err.hint);
    }
}

enum { START_MS = 600 /* and to load a kernel */ };

/* What a GPU integrates: rate rules, and by method ode species with them, whose trajectories are
 * long ones and may be few. The Jacobian of a thread is a square of so many numbers. */
enum { MOST_RATES = 32, MOST_MEAN = SALTUS_MOST_DENSE };

/* Of tau-leaping, wherever its state is, per leap and reaction. */
static const double leap_gpu_ns = 0.1, leap_thread_ns = 3500.0;
/* Of what is integrated, a GPU does what so many cores do, and a thread of it takes so many times
 * the time of a core. */
static const double mean_cores = 50.0, mean_thread = 100.0;

static saltus_needs needs_of(const saltus_gpus *gpus, const saltus_setup *setup)
{
    return (saltus_needs){setup->generator->rng, setup->method, NULL,
                          setup->model->network->set_numbers,
                          saltus_gpus_share(gpus, setup->n_expected)};
}

static saltus_status choose_mixed(const saltus_gpus *gpus, const saltus_setup *setup,
                                  saltus_layout *layout, char why[200], saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_limits *limits = &gpus->gpu[0].limits;
    const saltus_needs needs = needs_of(gpus, setup);
    const char *why_not = "";
    saltus_layout before = SALTUS_LAYOUT_AUTO;
    saltus_ssa_layout made = {0};
    if (setup->tables->n_delayed > 0) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "reactions that take a while wait in a queue, which a GPU does not have");
    }
    if (setup->tables->n_turning > 0) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "a trigger compares what drifts with time, whose changes a CPU alone searches "
                    "for");
    }
    *layout = setup->layout == SALTUS_LAYOUT_AUTO
                  ? saltus_layout_choose(setup->tables, needs, limits, &before, &why_not)
                  : setup->layout;
    SALTUS_TRY(saltus_layout_make(*layout, setup->tables, needs, limits, setup->block, &made, err));
    const bool is_second = before != SALTUS_LAYOUT_AUTO;
    (void)snprintf(why, 200, "%s, blocks of %d threads%s%s%s%s", saltus_layout_of(*layout)->about,
                   made.block, is_second ? "; not " : "",
                   is_second ? saltus_layout_of(before)->name : "", is_second ? ": " : "",
                   is_second ? why_not : "");
done:
    saltus_layout_free(&made);
    return status;
}

static saltus_status choose_in_space(const saltus_gpus *gpus, const saltus_setup *setup,
                                     saltus_layout *layout, char why[200], saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n = setup->model->network->lattice->n_species;
    const saltus_driver *cu = NULL;
    const bool is_cut = setup->in_slabs && setup->layout == SALTUS_LAYOUT_AUTO;
    size_t memory = SIZE_MAX; /* of a GPU that is not here */
    if (is_cut && n >= SALTUS_CUDA_MOST_FIELDS) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "`split`: a lattice in slabs has at most %d species on a "
                    "GPU, and model '%s' has %d",
                    SALTUS_CUDA_MOST_FIELDS - 1, setup->model->name, n);
    }
    if (gpus->cu) {
        SALTUS_TRY(saltus_cuda_driver(&cu, err));
        SALTUS_TRY(saltus_cuda_check(cu, cu->device_memory(&memory, gpus->gpu[0].device),
                                     "asking for the memory of a GPU", err));
    }
    SALTUS_TRY(saltus_cuda_choose_lattice(
        setup->model->network->lattice,
        setup->in_slabs ? INFINITY : (double)memory, /* looked at later */
        is_cut ? SALTUS_LAYOUT_COUNTS : setup->layout, layout, why, err));
done:
    return status;
}

static saltus_status choose_layout(const saltus_backend *backend, const saltus_setup *setup,
                                   saltus_layout *layout, char why[200], saltus_error *err)
{
    const bool is_mean = setup->method == SALTUS_METHOD_ODE;
    const int n = saltus_ode_components(setup->tables, is_mean);
    if (is_mean && n > MOST_MEAN) {
        saltus_error_set(err, SALTUS_E_UNSUPPORTED,
                         "model '%s' has %d species and rate rules: a GPU integrates up to %d by "
                         "method ode",
                         setup->model->name, n, (int)MOST_MEAN);
        saltus_error_hint(err, "device cpu integrates more");
        return SALTUS_E_UNSUPPORTED;
    }
    const bool in_space = saltus_method_of(setup->method)->in_space;
    if (!is_mean && !in_space && setup->tables->n_rates > MOST_RATES) {
        return saltus_error_set(err, SALTUS_E_UNSUPPORTED,
                                "model '%s' has %d rate rules: a GPU integrates up to %d",
                                setup->model->name, setup->tables->n_rates, (int)MOST_RATES);
    }
    return in_space ? choose_in_space(backend->device, setup, layout, why, err)
                    : choose_mixed(backend->device, setup, layout, why, err);
}

static int n_workers(const saltus_backend *backend, const saltus_plan_options *wanted)
{
    const saltus_gpus *gpus = backend->device;
    const int per_gpu = wanted->n_streams > 0 ? wanted->n_streams : WORKERS_PER_GPU;
    return !gpus->cu ? 0 : wanted->n_threads > 0 ? wanted->n_threads : per_gpu * gpus->n;
}

static double estimate(const saltus_backend *backend, const saltus_setup *setup, int n_workers,
                       double n_trajectories, double steps_each)
{
    const saltus_gpus *gpus = backend->device;
    const double start = 1e-3 * START_MS;
    (void)n_workers;
    if (saltus_method_of(setup->method)->in_space) {
        return start + 1e-6 *
                           saltus_cuda_step_us(setup->model->network->lattice, setup->layout,
                                               setup->n_slabs > 1) *
                           steps_each * n_trajectories / gpus->n;
    }
    const double n = setup->tables->n_reactions; /* a leap computes all of them */
    const bool leaps = saltus_method_of(setup->method)->leaps;
    if (setup->method == SALTUS_METHOD_ODE) {
        const double core = saltus_method_of(setup->method)->core_ns(setup->tables, NULL, false);
        const double by_all = n_trajectories / mean_cores / gpus->n;
        return start + 1e-9 * core * steps_each * (by_all > mean_thread ? by_all : mean_thread);
    }
    const saltus_layout_cost cost = saltus_layout_cost_of(setup->layout, setup->tables);
    const double all =
        (leaps ? leap_gpu_ns * n : cost.gpu_ns) * steps_each * n_trajectories / gpus->n;
    const double one = (leaps ? leap_thread_ns * n : cost.thread_ns) * steps_each;
    return start + 1e-9 * (all > one ? all : one);
}

static int choose_slabs(const saltus_backend *backend, const saltus_lattice *lattice)
{
    return saltus_cuda_choose_slabs(backend->device, lattice);
}

static void explain_slabs(const saltus_backend *backend, const saltus_lattice *lattice,
                          const saltus_slab_plan *slabs, FILE *out)
{
    saltus_slabs_explain(backend->device, lattice, slabs, out);
}

/* How many workers of a GPU have trajectories that fit into its memory together, at least one. */
static saltus_status count_places(const saltus_gpu_lattice *s, int64_t bytes, int64_t *places,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t total = 0;
    SALTUS_TRY(saltus_cuda_check(s->cu, s->cu->device_memory(&total, s->gpu->device),
                                 "asking for the memory of a GPU", err));
    *places = (int64_t)total / 10 * 9 / bytes;
    *places = *places < 1 ? 1 : *places;
done:
    return status;
}

/* Work off jobs of a model with a lattice on one GPU, as worker number `worker` there. */
static saltus_status work_in_space(saltus_gpus *gpus, const saltus_gpu *gpu, int worker,
                                   const saltus_task *task, const saltus_source *source,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool counts = task->layout == SALTUS_LAYOUT_COUNTS;
    saltus_gpu_lattice s = {.gpus = gpus, .cu = gpus->cu, .gpu = gpu, .task = task};
    int64_t places = 0;
    if (task->n_slabs > 1 && task->worker != 0) {
        return status; /* the first worker has all GPUs */
    }
    SALTUS_TRY(saltus_mpd_tables_create(task->model, task->n_slabs > 1, &s.tables, err));
    SALTUS_TRY(saltus_mpd_follow_rates(&s.tables, task, err));
    if (counts) {
        SALTUS_TRY(saltus_mpd_find_sets(&s.tables, err));
    }
    SALTUS_TRY(count_places(
        &s, counts ? saltus_cuda_bytes_of_counts(&s.tables) : saltus_cuda_bytes_of_lists(&s.tables),
        &places, err));
    if (task->n_slabs > 1) {
        SALTUS_TRY(saltus_cuda_work_slabs(&s, source, err));
    } else if (worker < places) { /* else the other workers do all of it */
        SALTUS_TRY(counts ? saltus_cuda_work_counts(&s, source, err)
                          : saltus_cuda_work_lists(&s, source, err));
    }
done:
    saltus_mpd_tables_free(&s.tables);
    return status;
}

static saltus_status work(const saltus_backend *backend, const saltus_task *task,
                          const saltus_source *source, saltus_error *err)
{
    saltus_gpus *gpus = (saltus_gpus *)backend->device;
    const saltus_driver *cu = NULL;
    const saltus_status status = saltus_cuda_driver(&cu, err);
    if (status != SALTUS_OK) {
        return status;
    }
    if (saltus_method_of(task->method)->in_space) {
        /* worker after worker on each, because a GPU has room for few */
        const int i = task->worker % gpus->n;
        int before = 0, all = 0; /* that are the same GPU */
        for (int k = 0; k < gpus->n; ++k) {
            const bool is_same = saltus_gpu_is_same(&gpus->gpu[i], &gpus->gpu[k]);
            before += is_same && k < i;
            all += is_same;
        }
        return work_in_space(gpus, &gpus->gpu[i], task->worker / gpus->n * all + before, task,
                             source, err);
    }
    const int number = __atomic_fetch_add(&gpus->next_worker, 1, __ATOMIC_RELAXED);
    return saltus_cuda_work_threads(gpus, &gpus->gpu[number % gpus->n], task, source, err);
}

static saltus_status compile_mixed(const saltus_gpus *gpus, const saltus_setup *setup,
                                   saltus_kernel_report *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_limits *limits = &gpus->gpu[0].limits;
    const saltus_needs needs = needs_of(gpus, setup);
    saltus_ssa_layout layout = {0};
    saltus_image image = {0}, reducer = {0};
    const char *entry = NULL;
    SALTUS_TRY(saltus_layout_make(setup->layout, setup->tables, needs, limits, setup->block,
                                  &layout, err));
    SALTUS_TRY(
        saltus_layout_compile(&layout, setup->tables, setup->columns, limits, &image, &entry, err));
    *out = (saltus_kernel_report){image.usage.registers, image.usage.spill_bytes,
                                  image.usage.shared_bytes + (int)layout.shared_bytes,
                                  image.seconds, image.is_cached};
    /* a run may want it too */
    SALTUS_TRY(saltus_reducer_compile(limits, setup->columns->n_observables > 0, &reducer, err));
done:
    saltus_layout_free(&layout);
    saltus_free(image.image);
    saltus_free(reducer.image);
    return status;
}

static saltus_status compile_in_space(const saltus_limits *limits, const saltus_setup *setup,
                                      saltus_kernel_report *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n_slabs = setup->n_slabs > 1 ? setup->n_slabs : 1;
    const int bits = setup->layout == SALTUS_LAYOUT_COUNTS ? SALTUS_CUDA_LEAST_BITS : 0;
    saltus_mpd_tables tables = {0};
    saltus_image image = {0};
    SALTUS_TRY(saltus_mpd_tables_create(setup->model, n_slabs > 1, &tables, err));
    SALTUS_TRY(saltus_cuda_compile_mpd(&tables, bits, n_slabs, limits, &image, err));
    *out = (saltus_kernel_report){image.usage.registers, image.usage.spill_bytes,
                                  image.usage.shared_bytes, image.seconds, image.is_cached};
done:
    saltus_mpd_tables_free(&tables);
    saltus_free(image.image);
    return status;
}

/* For the first GPU. */
static saltus_status compile(const saltus_backend *backend, const saltus_setup *setup,
                             saltus_kernel_report *out, saltus_error *err)
{
    const saltus_gpus *gpus = backend->device;
    return saltus_method_of(setup->method)->in_space
               ? compile_in_space(&gpus->gpu[0].limits, setup, out, err)
               : compile_mixed(gpus, setup, out, err);
}

void saltus_cuda_halve(saltus_backend *backend, int i)
{
    saltus_gpus *gpus = (saltus_gpus *)backend->device;
    gpus->gpu[i].n_multiprocessors = (gpus->gpu[i].n_multiprocessors + 1) / 2;
}

saltus_status saltus_cuda_copy_rate(const saltus_backend *backend, double *out, saltus_error *err)
{
    enum { TIMES = 20 };
    saltus_status status = SALTUS_OK;
    const saltus_gpus *gpus = backend->device;
    const saltus_driver *cu = gpus->cu;
    size_t available = 0, total = 0, bytes = (size_t)1 << 30;
    cu_pointer memory = 0;
    cu_event start = NULL, end = NULL;
    float ms = 0.0F;
#define CU(call) SALTUS_TRY(saltus_cuda_check(cu, cu->call, "timing copies", err))
    CU(context_use(gpus->gpu[0].context));
    CU(memory_info(&available, &total));
    bytes = bytes > available / 4 ? available / 4 : bytes;
    CU(memory_alloc(&memory, 2 * bytes));
    CU(event_create(&start, 0));
    CU(event_create(&end, 0));
    CU(copy(memory, memory + bytes, bytes, NULL));
    CU(event_record(start, NULL));
    for (int i = 0; i < TIMES; ++i) {
        CU(copy(memory, memory + bytes, bytes, NULL));
    }
    CU(event_record(end, NULL));
    CU(event_wait(end));
    CU(event_elapsed(&ms, start, end));
#undef CU
    *out = 2.0 * TIMES * (double)bytes / (1e-3 * (double)ms);
done:
    if (start) {
        (void)cu->event_destroy(start);
    }
    if (end) {
        (void)cu->event_destroy(end);
    }
    if (memory) {
        (void)cu->memory_free(memory);
    }
    return status;
}

const saltus_backend_ops saltus_backend_cuda = {
    .name = "cuda",
    .kind = SALTUS_ON_GPU,
    .methods = SALTUS_METHOD_BIT(SALTUS_METHOD_DIRECT) | SALTUS_METHOD_BIT(SALTUS_METHOD_TAU) |
               SALTUS_METHOD_BIT(SALTUS_METHOD_ODE) | SALTUS_METHOD_BIT(SALTUS_METHOD_MPD),
    .claims = claims,
    .open = open_cuda,
    .close = close_cuda,
    .list = list_cuda,
    .choose_layout = choose_layout,
    .choose_slabs = choose_slabs,
    .explain_slabs = explain_slabs,
    .ahead_bytes = AHEAD_BYTES,
    .reduces = true,
    .point_methods = SALTUS_METHOD_BIT(SALTUS_METHOD_DIRECT) |
                     SALTUS_METHOD_BIT(SALTUS_METHOD_TAU) | SALTUS_METHOD_BIT(SALTUS_METHOD_ODE),
    .n_workers = n_workers,
    .estimate = estimate,
    .compile = compile,
    .work = work,
};
