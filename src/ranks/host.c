/* What the ranks of a host share: its cores and GPUs. */
#include "ranks/ranks.h"

#include "backend/cuda/device/driver.h"
#include "core/limits.h"

#include <stdio.h>
#include <string.h>

static bool is_beside(const saltus_ranks *r, int rank)
{
    return strcmp(r->cards[rank].host, r->cards[r->rank].host) == 0;
}

/* A core that several ranks may run on is shared out, the first of them takes what is left over. */
int saltus_ranks_cores(const saltus_ranks *r)
{
    int n_mine = 0, n_shared = 0, n_before = 0, n_beside = 0;
    if (!r) {
        return 0;
    }
    for (int i = 0; i < 64 * 32; ++i) {
        int n = 0;
        for (int k = 0; k < r->n; ++k) {
            n += is_beside(r, k) && (r->cards[k].cores[i / 64] >> i % 64 & 1);
        }
        if (r->cards[r->rank].cores[i / 64] >> i % 64 & 1) {
            n_mine += n == 1;
            n_shared += n > 1;
            n_beside = n > n_beside ? n : n_beside;
        }
    }
    for (int k = 0; k < r->rank; ++k) {
        n_before += is_beside(r, k);
    }
    const int share = n_beside > 0 ? (n_shared + n_beside - 1 - n_before % n_beside) / n_beside : 0;
    const int n = n_mine + share, most = saltus_cores();
    return n < 1 ? 1 : n < most ? n : most;
}

void saltus_ranks_device(const saltus_ranks *r, const char *device, char *out, size_t size)
{
    const saltus_driver *cu = NULL;
    int n = 0, before = 0;
    (void)snprintf(out, size, "%s", device);
    if (!r || strncmp(device, "cuda", 4) != 0 || strncmp(device, "cuda:sm_", 8) == 0) {
        return;
    }
    for (int k = 0; k < r->rank; ++k) {
        before += is_beside(r, k);
    }
    if (device[4] == '\0') {
        if (saltus_cuda_driver(&cu, NULL) == SALTUS_OK && cu->device_count(&n) == 0 && n > 0) {
            (void)snprintf(out, size, "cuda:%d", before % n);
        }
        return;
    }
    for (const char *at = device + 4; *at; ++at) { /* ":0,1" */
        n += *at == ':' || *at == ',';
    }
    if (n == 0) { /* no such device, which whoever opens it will say */
        return;
    }
    const char *at = device + 5;
    for (int i = 0; i < before % n; ++i) {
        at = strchr(at, ',') + 1;
    }
    (void)snprintf(out, size, "cuda:%.*s", (int)strcspn(at, ","), at);
}
