/* Slabs of other processes (task->peers): each process has one, and a GPU for it. Where the GPUs of
 * neighbours are of one host, and reach each other with atomics, a process opens its neighbours'
 * memory, and all goes on as between GPUs of one process: a launch is many phases, in which blocks
 * wait for those of the neighbour. The host waits for it but once in a batch, between the last
 * phase and the arrivals of that. Else halos are staged: what leaves in a phase is copied to pinned
 * memory, sent to the neighbour, and added there before the next phase.
 *
 *     process 0                                  process 1
 *     set, halo below | sites | halo above       set, halo below | sites | halo above
 *     opens process 1's sets, `ended`  <-------> opens process 0's
 *
 * What a process decides here depends on all of them, so numbers go round: a process tells both
 * neighbours the least that it knows of, n - 1 times. */
#include "backend/cuda/device/links.h"
#include "backend/cuda/slabs/slabs.h"
#include "engine/peers.h"

#include <string.h>
#include <unistd.h>

typedef saltus_gpu_slab slab;
typedef saltus_gpu_slabs slabs;

/* What a process tells its neighbours of its slab. */
typedef struct card {
    int32_t shares; /* its memory can be opened */
    cu_uuid gpu;
    char host[64];
    cu_shared sets[2], ended;
} card;

static slab *own_slab(const slabs *s)
{
    return &s->slab[s->first];
}

/* Send bytes to both neighbours and receive as many from them: out[side], in[side]. */
static saltus_status swap(const slabs *s, void *const out[2], void *const in[2], size_t size,
                          saltus_error *err)
{
    const saltus_peers *peers = own_slab(s)->c.on.task->peers;
    saltus_transfer all[4];
    int n = 0;
    for (int side = 0; side < 2; ++side) {
        const slab *next = saltus_gpu_slabs_next(s, s->first, side);
        if (next) {
            const int peer = (int)(next - s->slab);
            all[n++] = (saltus_transfer){peer, side ? SALTUS_PEER_DOWN : SALTUS_PEER_UP, false,
                                         in[side], size};
            all[n++] = (saltus_transfer){peer, side ? SALTUS_PEER_UP : SALTUS_PEER_DOWN, true,
                                         out[side], size};
        }
    }
    return n > 0 ? peers->exchange(peers->user, all, n, err) : SALTUS_OK;
}

static saltus_status find_least(const slabs *s, int32_t *number, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int k = 1; k < s->n; ++k) {
        int32_t others[2] = {*number, *number};
        void *const out[2] = {number, number}, *const in[2] = {&others[0], &others[1]};
        SALTUS_TRY(swap(s, out, in, sizeof *number, err));
        for (int side = 0; side < 2; ++side) {
            *number = others[side] < *number ? others[side] : *number;
        }
    }
done:
    return status;
}

/* All fail if one has failed. */
static saltus_status fail_together(const slabs *s, saltus_status own, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int32_t is_good = own == SALTUS_OK;
    SALTUS_TRY(find_least(s, &is_good, err));
    if (!is_good) {
        SALTUS_FAIL(SALTUS_E_DEVICE, "a slab of another process could not be set up");
    }
done:
    return own == SALTUS_OK ? status : own;
}

/* ------------------------------------------------------------------------------------------------
 * Reaching out
 */

/* What is known of the slab beside this one without asking. */
static void describe(const slabs *s, slab *other)
{
    const saltus_gpu_counts *c = &own_slab(s)->c;
    const double *heights = c->on.task->slabs;
    const int i = (int)(other - s->slab);
    const int64_t n_planes = c->on.tables.lattice->size[2],
                  begin = saltus_slabs_begin(heights, s->n, i, n_planes, s->unit),
                  end = saltus_slabs_begin(heights, s->n, i + 1, n_planes, s->unit);
    other->is_remote = true;
    other->c.bits = c->bits;
    other->c.words = c->words;
    other->c.sharers = c->sharers;
    other->c.halo = c->halo;
    other->c.on.a.first_site = c->halo;
    other->c.on.a.end_site = c->halo + s->plane * (end - begin);
}

static void fill_card(const slabs *s, card *out)
{
    const slab *this = own_slab(s);
    const saltus_driver *cu = this->c.on.cu;
    memset(out, 0, sizeof *out);
    out->shares = this->c.on.is_cooperative && !this->c.on.task->avoids_peers &&
                  gethostname(out->host, sizeof out->host - 1) == 0 &&
                  cu->device_uuid(&out->gpu, this->c.on.gpu->device) == CU_SUCCESS &&
                  cu->memory_share(&out->sets[0], this->c.sets[0]) == CU_SUCCESS &&
                  cu->memory_share(&out->sets[1], this->c.sets[1]) == CU_SUCCESS &&
                  cu->memory_share(&out->ended, this->ended) == CU_SUCCESS;
}

/* Whether this GPU adds to the memory of a neighbour's, which is another one of this host. */
static bool reaches(const slabs *s, const card *own, const card *other)
{
    const saltus_gpu_lattice *on = &own_slab(s)->c.on;
    const saltus_driver *cu = on->cu;
    saltus_error ignored = {0};
    int n = 0;
    if (!own->shares || !other->shares || strcmp(own->host, other->host) != 0 ||
        memcmp(&own->gpu, &other->gpu, sizeof own->gpu) == 0 ||
        cu->device_count(&n) != CU_SUCCESS) {
        return false;
    }
    for (int i = 0; i < n; ++i) {
        cu_device device;
        cu_uuid uuid;
        saltus_link link = {0};
        if (cu->device_get(&device, i) == CU_SUCCESS &&
            cu->device_uuid(&uuid, device) == CU_SUCCESS &&
            memcmp(&uuid, &other->gpu, sizeof uuid) == 0) {
            return saltus_link_query(cu, on->gpu->device, device, &link, &ignored) == SALTUS_OK &&
                   link.atomics;
        }
    }
    return false;
}

static void close_memory(const saltus_driver *cu, cu_pointer *memory)
{
    if (*memory) {
        (void)cu->memory_close(*memory);
    }
    *memory = 0;
}

static void close_slab(const slabs *s, slab *other)
{
    const saltus_driver *cu = own_slab(s)->c.on.cu;
    close_memory(cu, &other->c.sets[0]);
    close_memory(cu, &other->c.sets[1]);
    close_memory(cu, &other->ended);
}

/* Open a neighbour's memory; once, also where it is the slab on both sides. */
static bool open_slab(const slabs *s, slab *other, const card *of)
{
    const saltus_driver *cu = own_slab(s)->c.on.cu;
    return other->ended ||
           (cu->memory_open(&other->c.sets[0], of->sets[0], CU_SHARED_LAZY_PEERS) == CU_SUCCESS &&
            cu->memory_open(&other->c.sets[1], of->sets[1], CU_SHARED_LAZY_PEERS) == CU_SUCCESS &&
            cu->memory_open(&other->ended, of->ended, CU_SHARED_LAZY_PEERS) == CU_SUCCESS);
}

/* Open the neighbours' memory, if all processes can. */
static saltus_status open_neighbours(slabs *s, bool *are_open, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    card own, others[2];
    void *const out[2] = {&own, &own}, *const in[2] = {&others[0], &others[1]};
    int32_t can = 1;
    fill_card(s, &own);
    SALTUS_TRY(swap(s, out, in, sizeof own, err));
    for (int side = 0; side < 2; ++side) {
        slab *next = saltus_gpu_slabs_next(s, s->first, side);
        if (next) {
            describe(s, next);
            can = can && reaches(s, &own, &others[side]) && open_slab(s, next, &others[side]);
        }
    }
    SALTUS_TRY(find_least(s, &can, err));
    *are_open = can != 0;
    for (int side = 0; side < 2 && !can; ++side) {
        slab *next = saltus_gpu_slabs_next(s, s->first, side);
        if (next) {
            close_slab(s, next);
        }
    }
done:
    return status;
}

saltus_status saltus_gpu_slabs_reach_out(slabs *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    slab *this = own_slab(s);
    int32_t bits = -this->c.bits;
    bool are_open = false;
    SALTUS_TRY(saltus_gpu_slab_use(this, err));
    SALTUS_TRY(find_least(s, &bits, err));
    SALTUS_TRY(fail_together(s, saltus_gpu_slabs_widen(s, -bits, err), err));
    SALTUS_TRY(open_neighbours(s, &are_open, err));
    s->is_joint = are_open;
    s->is_staged = !are_open;
    this->c.on.is_cooperative = s->is_joint;
    if (s->is_staged) {
        SALTUS_TRY(fail_together(s, saltus_gpu_slabs_stage(s, err), err));
    }
    saltus_gpu_slabs_connect(s);
    s->is_connected = true;
done:
    return status;
}

saltus_status saltus_gpu_slabs_let_go(slabs *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char out[2] = {0, 0}, in[2];
    void *const to[2] = {&out[0], &out[1]}, *const from[2] = {&in[0], &in[1]};
    s->is_connected = false;
    SALTUS_TRY(saltus_gpu_slab_use(own_slab(s), err));
    for (int side = 0; side < 2; ++side) {
        slab *next = saltus_gpu_slabs_next(s, s->first, side);
        if (next) {
            close_slab(s, next);
        }
    }
    SALTUS_TRY(swap(s, to, from, 1, err)); /* all have */
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Within a batch
 */

saltus_status saltus_gpu_slabs_pass(slabs *s, saltus_status *own, saltus_error *err)
{
    const slab *this = own_slab(s);
    const int last = (int)(s->n_launches + 1) % 2;
    char out[2] = {0, 0}, in[2];
    void *to[2] = {&out[0], &out[1]}, *from[2] = {&in[0], &in[1]};
    size_t bytes = 1;
    if (!this->c.on.task->peers) {
        return SALTUS_OK; /* launches wait for each other by events */
    }
    if (*own == SALTUS_OK) {
        *own = saltus_cuda_check(this->c.on.cu, this->c.on.cu->stream_wait(this->c.on.stream),
                                 "running a kernel", err);
    }
    for (int side = 0; side < 2 && s->is_staged; ++side) {
        const slab *next = saltus_gpu_slabs_next(s, s->first, side);
        bytes = saltus_gpu_slab_halo_bytes(this);
        to[side] = this->sent[last][side];
        from[side] = next ? next->sent[last][1 - side] : NULL;
    }
    return swap(s, to, from, bytes, err);
}
