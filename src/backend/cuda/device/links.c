/* Measures links between GPUs. All times are taken by events of the receiver's stream. */
#include "backend/cuda/device/links.h"

#include "backend/cuda/device/kernels.h"
#include "core/memory.h"
#include "kernel/base/load.h"

#include <string.h>

enum {
    ALONE = 20,          /* transfers that are timed one by one */
    MOST_IN_ROW = 200,   /* transfers in a row, at most */
    LEAST_IN_ROW = 4,    /* transfers in a row, at least */
    ROW_BYTES = 1 << 28, /* bytes of a row together, within these bounds */
    BLOCK = 256,         /* threads of a block that loads */
    BLOCKS_EACH = 8      /* blocks of a multiprocessor */
};

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(cu, cu->call, what, err))

/* ------------------------------------------------------------------------------------------------
 * What the driver reports
 */

saltus_status saltus_link_query(const saltus_driver *cu, cu_device from, cu_device to,
                                saltus_link *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int can = 0, atomics = 0, rank = -1;
    if (from == to) {
        *out = (saltus_link){true, true, 0};
        return status;
    }
    CU(peers_can(&can, from, to), "asking whether GPUs reach each other");
    if (can) {
        CU(peers_tell(&atomics, CU_PEERS_ATOMICS, from, to), "asking how GPUs reach each other");
        CU(peers_tell(&rank, CU_PEERS_RANK, from, to), "asking how GPUs reach each other");
    }
    *out = (saltus_link){can != 0, atomics != 0, rank};
done:
    return status;
}

const char *saltus_link_text(const saltus_link *link)
{
    return !link->reaches  ? "no peer memory: by way of the host"
           : link->atomics ? "peer memory with atomics, as over NVLink"
                           : "peer memory without atomics, as over PCIe";
}

static bool are_alike(const saltus_link *a, const saltus_link *b)
{
    return a->reaches == b->reaches && a->atomics == b->atomics && a->rank == b->rank;
}

static void list_link(const char *pair, const saltus_link *link, FILE *out)
{
    fprintf(out, "  %s: %s", pair, saltus_link_text(link));
    if (link->rank >= 0) {
        fprintf(out, ", performance rank %d", link->rank);
    }
    fprintf(out, "\n");
}

static bool query_pair(const saltus_driver *cu, int i, int k, saltus_link *out)
{
    saltus_error err = {0};
    cu_device from, to;
    return cu->device_get(&from, i) == CU_SUCCESS && cu->device_get(&to, k) == CU_SUCCESS &&
           saltus_link_query(cu, from, to, out, &err) == SALTUS_OK;
}

/* Both directions are taken to be alike. */
void saltus_links_list(const saltus_driver *cu, int n, FILE *out)
{
    saltus_link first = {0}, link = {0};
    bool all_alike = n > 1 && query_pair(cu, 0, 1, &first);
    for (int i = 0; i < n && all_alike; ++i) {
        for (int k = i + 1; k < n && all_alike; ++k) {
            all_alike = query_pair(cu, i, k, &link) && are_alike(&first, &link);
        }
    }
    if (all_alike) {
        list_link("between them", &first, out);
        return;
    }
    for (int i = 0; i < n; ++i) {
        for (int k = i + 1; k < n; ++k) {
            char pair[60];
            (void)snprintf(pair, sizeof pair, "cuda:%d and cuda:%d", i, k);
            if (query_pair(cu, i, k, &link)) {
                list_link(pair, &link, out);
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------------
 * Times
 */

typedef struct end {
    const saltus_gpu *gpu;
    cu_pointer memory;
    cu_stream stream;
    cu_event passed; /* for the other end to wait for */
} end;

struct saltus_link_pair {
    const saltus_driver *cu;
    end from, to;
    saltus_link link;
    bool is_one; /* both ends are the same GPU */
    size_t most;
    char *sent, *come,
        *staged; /* memory of the host: what is sent, what has arrived; staged is pinned */
    cu_event start, stop;
    cu_module module;
    cu_function load;
};

const saltus_link *saltus_link_of(const saltus_link_pair *pair)
{
    return &pair->link;
}

static saltus_status use(const saltus_link_pair *p, const end *e, saltus_error *err)
{
    return saltus_cuda_check(p->cu, p->cu->context_use(e->gpu->context), "using a GPU", err);
}

static saltus_status open_end(saltus_link_pair *p, end *e, const saltus_gpu *gpu, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_driver *cu = p->cu;
    e->gpu = gpu;
    SALTUS_TRY(use(p, e, err));
    CU(memory_alloc(&e->memory, p->most), "taking GPU memory to measure links with");
    CU(stream_create(&e->stream, CU_STREAM_NON_BLOCKING), "making a stream");
    CU(event_create(&e->passed, CU_EVENT_NO_TIMING), "making an event");
done:
    return status;
}

/* Let the receiver read the sender's memory. */
static saltus_status reach(saltus_link_pair *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_driver *cu = p->cu;
    if (p->is_one) {
        p->link = (saltus_link){true, true, 0};
        return status;
    }
    SALTUS_TRY(saltus_link_query(cu, p->to.gpu->device, p->from.gpu->device, &p->link, err));
    if (p->link.reaches) {
        const cu_result result = cu->peer_use(p->from.gpu->context, 0);
        p->link.reaches = result == CU_SUCCESS || result == CU_PEERS_ALREADY;
    }
done:
    return status;
}

static saltus_status load_kernel(saltus_link_pair *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_driver *cu = p->cu;
    const saltus_limits *limits = &p->to.gpu->limits;
    saltus_image image = {0};
    SALTUS_TRY(saltus_kernel_compile("#include \"kernel/base/load.h\"\n", limits->major,
                                     limits->minor, &image, err));
    CU(module_load(&p->module, image.image), "loading a kernel");
    CU(module_function(&p->load, p->module, "saltus_load"), "loading a kernel");
done:
    saltus_free(image.image);
    return status;
}

saltus_status saltus_link_open(const saltus_backend *backend, int from, int to, size_t most,
                               saltus_link_pair **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_gpus *gpus = backend->device;
    saltus_link_pair *p = saltus_calloc(1, sizeof *p);
    SALTUS_NEED(p);
    p->cu = gpus->cu;
    p->most = most;
    p->is_one = from == to;
    const saltus_driver *cu = p->cu;
    p->sent = saltus_calloc(most, 1);
    p->come = saltus_calloc(most, 1);
    SALTUS_NEED(p->sent && p->come);
    for (size_t i = 0; i < most; ++i) {
        p->sent[i] = (char)((i * 2654435761u) >> 13);
    }
    SALTUS_TRY(open_end(p, &p->from, &gpus->gpu[from], err));
    CU(upload(p->from.memory, p->sent, most, p->from.stream), "copying to a GPU");
    CU(stream_wait(p->from.stream), "copying to a GPU");
    SALTUS_TRY(open_end(p, &p->to, &gpus->gpu[to], err));
    SALTUS_TRY(reach(p, err));
    CU(event_create(&p->start, 0), "making an event");
    CU(event_create(&p->stop, 0), "making an event");
    SALTUS_TRY(saltus_cuda_host_alloc(cu, p->to.gpu->host_node, (void **)&p->staged, most,
                                      "taking pinned memory", err));
    SALTUS_TRY(load_kernel(p, err));
    *out = p;
    p = NULL;
done:
    saltus_link_close(p);
    return status;
}

static void close_end(const saltus_link_pair *p, const end *e)
{
    const saltus_driver *cu = p->cu;
    if (e->gpu) {
        (void)cu->context_use(e->gpu->context);
    }
    if (e->stream) {
        (void)cu->stream_wait(e->stream);
        (void)cu->stream_destroy(e->stream);
    }
    if (e->passed) {
        (void)cu->event_destroy(e->passed);
    }
    if (e->memory) {
        (void)cu->memory_free(e->memory);
    }
}

void saltus_link_close(saltus_link_pair *p)
{
    if (!p) {
        return;
    }
    close_end(p, &p->from);
    close_end(p, &p->to); /* closed last, because the rest belongs to its GPU */
    if (p->start) {
        (void)p->cu->event_destroy(p->start);
    }
    if (p->stop) {
        (void)p->cu->event_destroy(p->stop);
    }
    if (p->module) {
        (void)p->cu->module_unload(p->module);
    }
    if (p->staged) {
        (void)p->cu->host_free(p->staged);
    }
    saltus_free(p->sent);
    saltus_free(p->come);
    saltus_free(p);
}

static saltus_status load(const saltus_link_pair *p, size_t bytes, saltus_error *err)
{
    const int64_t n = (int64_t)(bytes / sizeof(saltus_load_piece)),
                  wanted = (n + BLOCK - 1) / BLOCK,
                  most = (int64_t)BLOCKS_EACH * p->to.gpu->n_multiprocessors;
    saltus_load_launch a = {(void *)(uintptr_t)p->to.memory, (void *)(uintptr_t)p->from.memory, n};
    void *parameters[] = {&a};
    return saltus_cuda_check(p->cu,
                             p->cu->launch(p->load, (unsigned)(wanted < most ? wanted : most), 1, 1,
                                           BLOCK, 1, 1, 0, p->to.stream, parameters, NULL),
                             "reading another GPU's memory", err);
}

/* The sender waits until the buffer has been read, the receiver until it has been written. */
static saltus_status pass_by_host(const saltus_link_pair *p, size_t bytes, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_driver *cu = p->cu;
    SALTUS_TRY(use(p, &p->to, err));
    CU(event_record(p->to.passed, p->to.stream), "copying between GPUs");
    SALTUS_TRY(use(p, &p->from, err));
    CU(stream_wait_event(p->from.stream, p->to.passed, 0), "copying between GPUs");
    CU(download(p->staged, p->from.memory, bytes, p->from.stream), "copying from a GPU");
    CU(event_record(p->from.passed, p->from.stream), "copying between GPUs");
    SALTUS_TRY(use(p, &p->to, err));
    CU(stream_wait_event(p->to.stream, p->from.passed, 0), "copying between GPUs");
    CU(upload(p->to.memory, p->staged, bytes, p->to.stream), "copying to a GPU");
done:
    return status;
}

static saltus_status transfer(const saltus_link_pair *p, saltus_link_way way, size_t bytes,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_driver *cu = p->cu;
    if (way == SALTUS_LINK_LOAD) {
        SALTUS_TRY(load(p, bytes, err));
    } else if (way == SALTUS_LINK_HOST) {
        SALTUS_TRY(pass_by_host(p, bytes, err));
    } else {
        CU(peer_copy(p->to.memory, p->to.gpu->context, p->from.memory, p->from.gpu->context, bytes,
                     p->to.stream),
           "copying between GPUs");
    }
done:
    return status;
}

/* Time of each of n transfers in a row. */
static saltus_status time_row(const saltus_link_pair *p, saltus_link_way way, size_t bytes, int n,
                              double *us, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_driver *cu = p->cu;
    float ms = 0.0F;
    CU(event_record(p->start, p->to.stream), "timing a link");
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(transfer(p, way, bytes, err));
    }
    CU(event_record(p->stop, p->to.stream), "timing a link");
    CU(event_wait(p->stop), "timing a link");
    CU(event_elapsed(&ms, p->start, p->stop), "timing a link");
    *us = 1e3 * (double)ms / n;
done:
    return status;
}

saltus_status saltus_link_measure(saltus_link_pair *p, saltus_link_way way, size_t bytes,
                                  saltus_link_time *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_driver *cu = p->cu;
    const size_t row = ROW_BYTES / bytes;
    const int n = row > MOST_IN_ROW ? MOST_IN_ROW : row < LEAST_IN_ROW ? LEAST_IN_ROW : (int)row;
    double us = 0.0;
    *out = (saltus_link_time){.is_left_out = way == SALTUS_LINK_LOAD && !p->link.reaches};
    if (out->is_left_out) {
        return status;
    }
    SALTUS_TRY(use(p, &p->to, err));
    CU(fill(p->to.memory, 0, bytes, p->to.stream), "clearing GPU memory");
    SALTUS_TRY(time_row(p, way, bytes, 1, &us, err)); /* once to warm up */
    for (int i = 0; i < ALONE; ++i) {
        SALTUS_TRY(time_row(p, way, bytes, 1, &us, err));
        out->us_alone = i == 0 || us < out->us_alone ? us : out->us_alone;
    }
    SALTUS_TRY(time_row(p, way, bytes, n, &out->us_in_row, err));
    CU(fill(p->to.memory, 0, bytes, p->to.stream), "clearing GPU memory");
    SALTUS_TRY(transfer(p, way, bytes, err));
    CU(download(p->come, p->to.memory, bytes, p->to.stream), "copying from a GPU");
    CU(stream_wait(p->to.stream), "copying from a GPU");
    out->is_right = memcmp(p->come, p->sent, bytes) == 0;
done:
    return status;
}
