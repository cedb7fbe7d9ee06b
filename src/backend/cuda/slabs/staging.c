/* Halos by way of the host, where GPUs do not reach each other's memory. Kernels add particles that
 * leave to memory of the slab's own GPU (`leaving`). Behind a phase that is copied to pinned
 * memory, on the NUMA node near the neighbour, and from there into the neighbour's halo before its
 * next phase:
 *
 *     GPU of slab 0                     host                      GPU of slab 1
 *     launch 6: adds to leaving[1]
 *               leaving[1] -----------> slab 0's sent[0][1]
 *               event done[0]
 *                                       sent[0][1] -------------> halo below, then launch 7
 *     launch 7: uses sent[1][1]
 *
 * Launches alternate between two buffers, so that launch 7 of slab 0 may send while slab 1 still
 * reads what launch 6 sent. */
#include "backend/cuda/slabs/slabs.h"

#define CU(s, call, what) SALTUS_TRY(saltus_cuda_check((s)->c.on.cu, (s)->c.on.cu->call, what, err))

/* Bytes of a halo with the most bits that a field can have. */
static size_t most_bytes(const saltus_gpu_slab *s)
{
    return (size_t)s->c.halo * (size_t)saltus_cuda_n_fields(&s->c.on.tables) * sizeof(uint32_t);
}

saltus_status saltus_gpu_slabs_stage(saltus_gpu_slabs *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = s->first; i < s->end; ++i) {
        saltus_gpu_slab *this = &s->slab[i];
        const size_t bytes = most_bytes(this);
        SALTUS_TRY(saltus_gpu_slab_use(this, err));
        for (int side = 0; side < 2; ++side) {
            saltus_gpu_slab *next = saltus_gpu_slabs_next(s, i, side);
            if (!next || this->leaving[side]) {
                continue;
            }
            SALTUS_TRY(saltus_gpu_lattice_alloc(&this->c.on, &this->leaving[side], bytes, err));
            CU(this, fill(this->leaving[side], 0, bytes, this->c.on.stream), "clearing GPU memory");
            for (int odd = 0; odd < 2; ++odd) {
                const int node = (next->is_remote ? this : next)->c.on.gpu->host_node;
                SALTUS_TRY(saltus_cuda_host_alloc(this->c.on.cu, node, &this->sent[odd][side],
                                                  bytes, "taking pinned memory", err));
                if (next->is_remote) { /* and room for what comes from there */
                    SALTUS_TRY(saltus_cuda_host_alloc(this->c.on.cu, node,
                                                      &next->sent[odd][1 - side], bytes,
                                                      "taking pinned memory", err));
                }
            }
        }
    }
done:
    return status;
}

saltus_status saltus_gpu_slabs_fetch(const saltus_gpu_slabs *s, int i, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_gpu_slab *this = &s->slab[i];
    for (int side = 0; side < 2; ++side) {
        const saltus_gpu_slab *next = saltus_gpu_slabs_next(s, i, side);
        if (next) {
            CU(this,
               upload(this->c.sets[this->c.on.a.set] + saltus_gpu_slab_halo(this, side),
                      next->sent[(s->n_launches + 1) % 2][1 - side],
                      saltus_gpu_slab_halo_bytes(this), this->c.on.stream),
               "copying arrivals from another slab");
        }
    }
done:
    return status;
}

saltus_status saltus_gpu_slabs_send(const saltus_gpu_slabs *s, int i, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_gpu_slab *this = &s->slab[i];
    const size_t bytes = saltus_gpu_slab_halo_bytes(this);
    for (int side = 0; side < 2; ++side) {
        if (saltus_gpu_slabs_next(s, i, side)) {
            CU(this,
               download(this->sent[s->n_launches % 2][side], this->leaving[side], bytes,
                        this->c.on.stream),
               "copying departures from a slab");
            CU(this, fill(this->leaving[side], 0, bytes, this->c.on.stream), "clearing GPU memory");
        }
    }
done:
    return status;
}

void saltus_gpu_slab_unstage(const saltus_driver *cu, saltus_gpu_slab *s)
{
    for (int side = 0; side < 2; ++side) {
        if (!s->is_remote) {
            saltus_gpu_lattice_free(&s->c.on, &s->leaving[side]);
        }
        for (int odd = 0; odd < 2; ++odd) {
            if (s->sent[odd][side]) {
                (void)cu->host_free(s->sent[odd][side]);
            }
        }
    }
}
