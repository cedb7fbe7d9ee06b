/* The CUDA backend: what is here, and whose turn it is. */
#include "backend/cuda/cuda.h"

#include "backend/cuda/registers.h"

#include "core/memory.h"
#include "kernel/stream.h"

#include <stdlib.h>
#include <string.h>

/* Host threads per GPU: while one prepares samples, another's kernel runs. */
enum { WORKERS_PER_GPU = 4 };

/* A GPU is busy only with tens of thousands of trajectories. */
enum { AHEAD_BYTES = 384 << 20 };

static bool claims(const char *specification)
{
    return strcmp(specification, "cuda") == 0 || strncmp(specification, "cuda:", 5) == 0;
}

static void close_cuda(saltus_backend *backend)
{
    saltus_gpus *gpus = (saltus_gpus *)backend->device;
    for (int i = 0; i < gpus->n; ++i) {
        (void)gpus->cu->context_release(gpus->gpu[i].device);
    }
    (void)pthread_mutex_destroy(&gpus->compiling);
    saltus_free(gpus);
}

static saltus_status open_gpu(saltus_gpus *gpus, int ordinal, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
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
    SALTUS_TRY(saltus_cuda_check(cu,
                                 cu->device_attribute(&gpu->major, CU_ATTRIBUTE_MAJOR, gpu->device),
                                 "opening a GPU", err));
    SALTUS_TRY(saltus_cuda_check(cu,
                                 cu->device_attribute(&gpu->minor, CU_ATTRIBUTE_MINOR, gpu->device),
                                 "opening a GPU", err));
    SALTUS_TRY(saltus_cuda_check(
        cu,
        cu->device_attribute(&gpu->n_multiprocessors, CU_ATTRIBUTE_MULTIPROCESSORS, gpu->device),
        "opening a GPU", err));
    SALTUS_TRY(saltus_cuda_check(cu, cu->context_retain(&gpu->context, gpu->device),
                                 "starting a GPU", err));
    ++gpus->n;
done:
    return status;
}

/* "cuda", "cuda:1", "cuda:0,1". */
static saltus_status open_cuda(const char *specification, saltus_backend *backend,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *list = specification[4] == ':' ? specification + 5 : "0";
    saltus_gpus *gpus = saltus_calloc(1, sizeof *gpus);
    SALTUS_NEED(gpus);
    (void)pthread_mutex_init(&gpus->compiling, NULL);
    backend->device = gpus;
    SALTUS_TRY(saltus_cuda_driver(&gpus->cu, err));
    do {
        char *end;
        const long ordinal = strtol(list, &end, 10);
        bool is_double = false;
        for (int i = 0; i < gpus->n; ++i) {
            is_double |= gpus->gpu[i].ordinal == ordinal;
        }
        if (end == list || (*end != ',' && *end != '\0') || *list < '0' || *list > '9' ||
            ordinal > 10000 || is_double || gpus->n == SALTUS_MAX_GPUS) {
            SALTUS_FAIL(SALTUS_E_INVALID,
                        "device '%s': cuda, cuda:N or cuda:N,M… with different numbers is needed",
                        specification);
        }
        SALTUS_TRY(open_gpu(gpus, (int)ordinal, err));
        list = *end == ',' ? end + 1 : end;
    } while (*list);
    (void)snprintf(backend->name, sizeof backend->name, "%s", specification);
done:
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
    err = (saltus_error){0};
    if (saltus_cuda_nvrtc(&rtc, &err) == SALTUS_OK) {
        fprintf(out, "  NVRTC %d.%d (%s)\n", rtc->major, rtc->minor, rtc->path);
    } else {
        fprintf(out, "  %s\n  %s\n", err.message, err.hint);
    }
}

static saltus_status choose_layout(const saltus_backend *backend, const saltus_tables *tables,
                                   const saltus_generator *generator, const char *wanted,
                                   const char **layout, char why[200], saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *against = generator->rng == SALTUS_RNG_MT19937
                              ? "mt19937 keeps 624 words for every trajectory"
                              : saltus_registers_against(tables);
    const bool is_auto = strcmp(wanted, "auto") == 0;
    (void)backend;
    if (!is_auto && strcmp(wanted, "global") != 0 && strcmp(wanted, "registers") != 0) {
        SALTUS_FAIL(SALTUS_E_INVALID, "layout '%s': a GPU has auto, registers and global", wanted);
    }
    if (strcmp(wanted, "registers") == 0 && against) {
        SALTUS_FAIL(SALTUS_E_INVALID, "layout 'registers' does not fit: %s", against);
    }
    *layout = strcmp(wanted, "global") == 0 || against ? "global" : "registers";
    (void)snprintf(why, 200, "a thread per trajectory, state in %s%s%s",
                   strcmp(*layout, "global") == 0 ? "global memory" : "registers",
                   is_auto && against ? ": " : "", is_auto && against ? against : "");
done:
    return status;
}

static int n_workers(const saltus_backend *backend, int wanted)
{
    const saltus_gpus *gpus = backend->device;
    return wanted > 0 ? wanted : WORKERS_PER_GPU * gpus->n;
}

static saltus_status work(const saltus_backend *backend, const saltus_task *task,
                          const saltus_source *source, saltus_error *err)
{
    saltus_gpus *gpus = (saltus_gpus *)backend->device;
    const int number = __atomic_fetch_add(&gpus->next_worker, 1, __ATOMIC_RELAXED);
    return saltus_cuda_work_threads(gpus, &gpus->gpu[number % gpus->n], task, source, err);
}

const saltus_backend_ops saltus_backend_cuda = {
    "cuda", claims, open_cuda, close_cuda, list_cuda, choose_layout, AHEAD_BYTES, n_workers, work};
