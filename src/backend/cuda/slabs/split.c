/* Into which slabs a lattice is split, which GPUs have them, whether there is memory, and which
 * launches they can run. */
#include "backend/cuda/device/links.h"
#include "backend/cuda/slabs/slabs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETS = 3,     /* sets of counts: two, and the one kept to go back to */
    SYNC_US = 5,  /* longer time of a phase where slabs wait for each other, each on its own GPU */
    START_US = 6, /* time to start a phase of a slab, where slabs share GPUs */
    UNIT = 4,     /* planes that move together, at most */
    ORDERED = 8,  /* GPUs, at most, whose orders are all tried */
    MOST_AT_ONCE =
        4 /* slabs on one GPU that run at the same time, at most: a context has 8 queues, and a
             kernel behind another in a queue does not start before that has ended */
};

static const double SOONER =
    0.999; /* the ratio by which a step must be shorter, or fewer slabs are taken */

int saltus_slabs_unit(int64_t plane, int n_fields)
{
    const int sharers = SALTUS_MPD_SHARERS_OF(n_fields, SALTUS_CUDA_LEAST_BITS);
    int unit = 1;
    while (unit * plane % sharers != 0) {
        ++unit;
    }
    return unit;
}

/* ------------------------------------------------------------------------------------------------
 * Memory of slabs
 */

bool saltus_cuda_slab_has_numbers(int64_t plane, int64_t n_planes)
{
    return saltus_mpd_whole(n_planes * plane) + 2 * saltus_mpd_halo(plane) <= SALTUS_MPD_MOST_SITES;
}

int64_t saltus_cuda_least_slabs(const saltus_lattice *l)
{
    const int64_t plane = saltus_lattice_plane(l);
    int64_t most =
        (SALTUS_MPD_MOST_SITES - 2 * saltus_mpd_halo(plane)) / plane; /* planes of a slab */
    while (most > 0 && !saltus_cuda_slab_has_numbers(plane, most)) {
        --most;
    }
    return most > 0 ? (l->size[2] + most - 1) / most : 0;
}

double saltus_cuda_slab_bytes(const saltus_lattice *l, int n_fields, int n_sets, int64_t n_planes)
{
    const int64_t plane = saltus_lattice_plane(l), n = n_planes * plane,
                  places = saltus_mpd_whole(n) + 2 * saltus_mpd_halo(plane);
    const double set = saltus_cuda_site_bytes(n_fields) * (double)places,
                 ranks = l->n_types > 1 ? (double)n_sets * (double)n / SALTUS_MPD_SEGMENT *
                                              (double)sizeof(uint32_t)
                                        : 0.0,
                 types = l->n_types > 1 ? (double)(n + 2 * plane) : 0.0;
    return SETS * set + ranks + types;
}

/* ------------------------------------------------------------------------------------------------
 * On which GPUs
 */

typedef struct orders {
    int64_t costs[ORDERED][ORDERED], least;
    int n, n_used;
    int beside_first[2]; /* Places beside the first slab, by periodicity or because slabs go round
                            the GPUs again; 0: none. */
    int order[ORDERED], *best;
} orders;

/* Cost of a link; more than the costs of all better links together. Where a GPU does not reach the
 * other, or not with atomics, all particles go by way of the host, which costs most. */
static int64_t link_cost(const saltus_gpus *gpus, int from, int to)
{
    enum { BITS = 5, WORST = 10 };
    saltus_error err = {0};
    saltus_link link = {0};
    const bool is_told = saltus_link_query(gpus->cu, gpus->gpu[from].device, gpus->gpu[to].device,
                                           &link, &err) == SALTUS_OK;
    const int rank = !is_told || !link.atomics ? WORST : link.rank < WORST ? link.rank : WORST - 1;
    return rank > 0 ? INT64_C(1) << BITS * rank : 0;
}

/* Try all orders in which the places before `at` keep their GPUs. The first of the best orders is
 * kept, if it is better than the best so far. */
static void try_orders(orders *o, int at, int64_t cost)
{
    if (at > 1) {
        cost += o->costs[o->order[at - 2]][o->order[at - 1]];
    }
    for (int i = 0; i < 2 && at == o->n_used; ++i) {
        cost += o->costs[o->order[o->beside_first[i]]][o->order[0]];
    }
    if (cost >= o->least) {
        return;
    }
    if (at == o->n_used) {
        o->least = cost;
        memcpy(o->best, o->order, (size_t)o->n * sizeof *o->best);
        return;
    }
    for (int k = at; k < o->n; ++k) {
        const int here = o->order[at];
        o->order[at] = o->order[k];
        o->order[k] = here;
        try_orders(o, at + 1, cost);
        o->order[k] = o->order[at];
        o->order[at] = here;
    }
}

void saltus_gpu_slabs_order(const saltus_gpus *gpus, const saltus_lattice *l, const double *heights,
                            int n, int order[SALTUS_MAX_GPUS])
{
    bool is_free = gpus->cu && gpus->n <= ORDERED;
    orders o = {
        .least = INT64_MAX, .n = gpus->n, .n_used = n < gpus->n ? n : gpus->n, .best = order};
    o.beside_first[0] = n > gpus->n ? gpus->n - 1 : 0;
    o.beside_first[1] =
        l->faces[SALTUS_FACE_Z_HIGH] == SALTUS_FACE_PERIODIC ? (n - 1) % gpus->n : 0;
    for (int i = 0; i < gpus->n; ++i) {
        order[i] = i;
    }
    for (int i = 1; i < n && heights; ++i) {
        is_free &= heights[i] == heights[0];
    }
    if (!is_free) {
        return;
    }
    for (int i = 0; i < o.n; ++i) {
        o.order[i] = i;
        for (int k = 0; k < i; ++k) {
            o.costs[i][k] = o.costs[k][i] = link_cost(gpus, i, k) + link_cost(gpus, k, i);
        }
    }
    try_orders(&o, 0, 0);
}

/* ------------------------------------------------------------------------------------------------
 * How many
 */

/* Whether so many slabs of equal height have numbers and memory; one is the whole lattice. */
static bool fit(const saltus_gpus *gpus, const saltus_lattice *l, int n)
{
    const int64_t plane = saltus_lattice_plane(l), more = n > 1 && plane % UNIT != 0 ? UNIT : 0,
                  height = (l->size[2] + n - 1) / n + more,
                  n_planes = height < l->size[2] ? height : l->size[2];
    const double bytes = saltus_cuda_slab_bytes(l, l->n_species, l->n_scatters, n_planes);
    if (n == 1 ? l->n_sites > SALTUS_MPD_MOST_SITES || saltus_lattice_n_placed(l) > INT32_MAX / 2
               : !saltus_cuda_slab_has_numbers(plane, n_planes)) {
        return false;
    }
    int order[SALTUS_MAX_GPUS];
    saltus_gpu_slabs_order(gpus, l, NULL, n, order);
    for (int g = 0; g < gpus->n && g < n && gpus->cu; ++g) {
        size_t memory = 0;
        int n_slabs = 0;
        for (int i = 0; i < n; ++i) {
            n_slabs += saltus_gpu_is_same(&gpus->gpu[order[g]], &gpus->gpu[order[i % gpus->n]]);
        }
        if (gpus->cu->device_memory(&memory, gpus->gpu[order[g]].device) != CU_SUCCESS ||
            n_slabs * bytes > 0.9 * (double)memory) {
            return false;
        }
    }
    return true;
}

/* Time of a step with so many slabs, in us. */
static double step_us(const saltus_gpus *gpus, const saltus_lattice *l, int n)
{
    const int rounds = (n + gpus->n - 1) / gpus->n;
    const double whole = saltus_cuda_step_us(l, SALTUS_LAYOUT_COUNTS, n > 1);
    return n == 1        ? whole
           : rounds == 1 ? whole / n + SYNC_US
                         : fmax(rounds * whole / n, START_US * n) + START_US;
}

/* As many slabs as there are GPUs, or fewer if a step takes less time then. More if the numbers of
 * sites or the GPUs' memory ask for it. If nothing fits, as many as are allowed, and setting up
 * says why not. */
int saltus_cuda_choose_slabs(const saltus_gpus *gpus, const saltus_lattice *l)
{
    const int64_t numbered = saltus_cuda_least_slabs(l);
    const int most = l->size[2] < SALTUS_MOST_SLABS ? l->size[2] : SALTUS_MOST_SLABS,
              wanted = numbered > gpus->n ? (int)fmin((double)numbered, most) : gpus->n;
    double least = INFINITY;
    int best = 0;
    for (int n = 1; n <= most; ++n) {
        const double us = step_us(gpus, l, n);
        if (us < SOONER * least && fit(gpus, l, n)) {
            best = n;
            least = us;
        }
    }
    return best > 0 ? best : wanted < 2 && most > 1 ? 2 : wanted < most ? wanted : most;
}

/* ------------------------------------------------------------------------------------------------
 * Checks
 */

static saltus_status check_numbers(const saltus_lattice *l, int i, int n, int64_t n_planes,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t plane = saltus_lattice_plane(l), least = saltus_cuda_least_slabs(l);
    if (least == 0) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "a plane of %lld sites: a slab of one, with one on each side, has more than "
                    "2^32 sites, which are numbered; let z be the longest axis",
                    (long long)plane);
    }
    if (!saltus_cuda_slab_has_numbers(plane, n_planes)) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "slab %d of %d has %lld planes of %lld sites: with one on each side it has "
                    "more than 2^32, which are numbered; %lld slabs of equal height would do%s",
                    i + 1, n, (long long)n_planes, (long long)plane, (long long)least,
                    least > SALTUS_MOST_SLABS ? ", but that is more than there can be" : "");
    }
done:
    return status;
}

saltus_status saltus_gpu_slabs_check(const saltus_gpu_slabs *s, const saltus_gpu_lattice *start,
                                     const int *order, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task *task = start->task;
    const saltus_lattice *l = start->tables.lattice;
    const saltus_gpus *gpus = start->gpus;
    for (int g = 0; g < gpus->n && g < task->n_slabs; ++g) {
        const saltus_gpu *gpu = &gpus->gpu[order[g]];
        size_t available = 0, total = 0;
        double needed = 0.0;
        int64_t n_sites = 0;
        int n_slabs = 0;
        for (int i = s->first; i < s->end; ++i) {
            if (!saltus_gpu_is_same(gpu, &gpus->gpu[order[i % gpus->n]])) {
                continue;
            }
            const int64_t n = saltus_slabs_begin(task->slabs, s->n, i + 1, l->size[2], s->unit) -
                              saltus_slabs_begin(task->slabs, s->n, i, l->size[2], s->unit);
            SALTUS_TRY(check_numbers(l, i, task->n_slabs, n, err));
            needed += saltus_cuda_slab_bytes(l, saltus_cuda_n_fields(&start->tables),
                                             start->tables.n_sets, n);
            n_sites += n * saltus_lattice_plane(l);
            ++n_slabs;
        }
        SALTUS_TRY(
            saltus_cuda_check(gpus->cu, gpus->cu->context_use(gpu->context), "using a GPU", err));
        SALTUS_TRY(saltus_cuda_check(gpus->cu, gpus->cu->memory_info(&available, &total),
                                     "asking for free GPU memory", err));
        if (needed > (double)available) {
            SALTUS_FAIL(SALTUS_E_NO_MEMORY,
                        "GPU %d (%s) has %.3f GB of memory left, and %lld sites of %lld, in %d of "
                        "%d slabs, need %.3f GB: take more GPUs, or other heights (`split`)",
                        gpu->ordinal, gpu->name, 1e-9 * (double)available, (long long)n_sites,
                        (long long)l->n_sites, n_slabs, task->n_slabs, 1e-9 * needed);
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Which launches
 */

/* Let the GPU of slab i add to its neighbours' memory; if it cannot, halos are staged. */
static saltus_status reach(saltus_gpu_slabs *s, int i, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_gpu_slab *this = &s->slab[i];
    for (int side = 0; side < 2 && !s->is_staged; ++side) {
        const saltus_gpu_slab *other = saltus_gpu_slabs_next(s, i, side);
        saltus_link link = {0};
        if (!other || saltus_gpu_is_same(other->c.on.gpu, this->c.on.gpu)) {
            continue;
        }
        SALTUS_TRY(saltus_link_query(this->c.on.cu, this->c.on.gpu->device, other->c.on.gpu->device,
                                     &link, err));
        if (link.atomics) {
            const cu_result result =
                this->c.on.cu->peer_use((cu_context)other->c.on.gpu->context, 0);
            link.atomics = result == CU_SUCCESS || result == CU_PEERS_ALREADY;
        }
        s->is_staged |= !link.atomics;
    }
done:
    return status;
}

/* Whether launches for the slabs of a GPU are under way at the same time. */
static bool starts_at_once(const saltus_gpu_slabs *s, const saltus_gpu_slab *this)
{
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING"), /* a launch returns when it has ended */
        *queues = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const int n_queues = queues ? atoi(queues) : MOST_AT_ONCE,
              most = n_queues < MOST_AT_ONCE ? n_queues : MOST_AT_ONCE;
    int n_here = 0;
    for (int i = s->first; i < s->end; ++i) {
        n_here += saltus_gpu_is_same(s->slab[i].c.on.gpu, this->c.on.gpu);
    }
    return this->c.on.is_cooperative && (!blocking || strcmp(blocking, "0") == 0) &&
           (n_here == 1 || n_here <= most);
}

saltus_status saltus_gpu_slabs_choose_launches(saltus_gpu_slabs *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = s->first; i < s->end; ++i) {
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(reach(s, i, err));
    }
    s->is_joint = !s->is_staged && s->n <= s->slab[0].c.on.gpus->n;
    for (int i = s->first; i < s->end; ++i) {
        s->is_joint &= starts_at_once(s, &s->slab[i]);
    }
    for (int i = s->first; i < s->end; ++i) {
        s->slab[i].c.on.is_cooperative = s->is_joint;
    }
done:
    return status;
}
