/* Reports on slabs: where they begin, what memory they take, and what crosses between them in a
 * step. */
#include "backend/cuda/device/links.h"
#include "backend/cuda/slabs/slabs.h"

/* ------------------------------------------------------------------------------------------------
 * Of a plan
 */

static void print_bytes(double bytes, FILE *out)
{
    const char *const units[] = {"bytes", "kB", "MB", "GB"};
    int unit = 0;
    for (; unit < 3 && bytes >= 1e3; ++unit) {
        bytes *= 1e-3;
    }
    fprintf(out, "%.3g %s", bytes, units[unit]);
}

/* Print how particles get from the next slab to slab i. */
static void print_link(const saltus_gpus *gpus, const int *order, const saltus_slab_plan *slabs,
                       int i, FILE *out)
{
    const saltus_gpu *gpu = &gpus->gpu[order[i % gpus->n]],
                     *next = &gpus->gpu[order[(i + 1) % slabs->n % gpus->n]];
    saltus_link link = {0};
    saltus_error err = {0};
    fprintf(out, "; the next one: ");
    if (slabs->by_host) {
        fprintf(out, "by way of the host");
    } else if (saltus_gpu_is_same(gpu, next)) {
        fprintf(out, "on the same GPU");
    } else if (saltus_link_query(gpus->cu, gpu->device, next->device, &link, &err) == SALTUS_OK) {
        fprintf(out, "%s", saltus_link_text(&link));
    } else {
        fprintf(out, "not known");
    }
}

void saltus_slabs_explain(const saltus_gpus *gpus, const saltus_lattice *l,
                          const saltus_slab_plan *slabs, FILE *out)
{
    const int64_t plane = saltus_lattice_plane(l), n_planes = l->size[2];
    const int most = saltus_slabs_unit(plane, l->n_species),
              unit = slabs->move && (int64_t)most * slabs->n <= n_planes ? most : 1;
    const bool is_ring = l->faces[SALTUS_FACE_Z_HIGH] == SALTUS_FACE_PERIODIC;
    int order[SALTUS_MAX_GPUS];
    saltus_gpu_slabs_order(gpus, l, slabs->heights, slabs->n, order);
    for (int i = 0; i < slabs->n && gpus->cu; ++i) {
        const int64_t first = saltus_slabs_begin(slabs->heights, slabs->n, i, n_planes, unit),
                      end = saltus_slabs_begin(slabs->heights, slabs->n, i + 1, n_planes, unit);
        fprintf(out, "          cuda:%d: planes %lld to %lld, ",
                gpus->gpu[order[i % gpus->n]].ordinal, (long long)first, (long long)end - 1);
        print_bytes(saltus_cuda_slab_bytes(l, l->n_species, l->n_scatters, end - first), out);
        if (i + 1 < slabs->n || is_ring) {
            print_link(gpus, order, slabs, i, out);
        }
        fprintf(out, "\n");
    }
    fprintf(out, "          between two, in each direction: ");
    print_bytes(saltus_cuda_site_bytes(l->n_species) *
                    (double)(slabs->by_host ? saltus_mpd_halo(plane) : plane),
                out);
    fprintf(out, " in a step\n");
}

/* ------------------------------------------------------------------------------------------------
 * Of a run
 */

void saltus_gpu_slabs_report(const saltus_gpu_slabs *s)
{
    saltus_run_report *report = s->slab[s->first].c.on.task->report;
    bool is_apart = false;
    double passed = 0.0, waited = 0.0;
    report->halo_bytes = 0;
    for (int i = s->first; i < s->end; ++i) {
        const saltus_gpu_slab *this = &s->slab[i];
        const saltus_gpu_counts *c = &this->c;
        passed += this->passed;
        waited += this->waited;
        const size_t plane = (size_t)(s->plane * c->words / c->sharers) * sizeof(uint32_t);
        for (int side = 0; side < 2; ++side) {
            const saltus_gpu_slab *next = saltus_gpu_slabs_next(s, i, side);
            const bool crosses = next && (s->is_staged || next->is_remote ||
                                          !saltus_gpu_is_same(next->c.on.gpu, c->on.gpu));
            is_apart |= crosses;
            report->halo_bytes +=
                crosses ? (int64_t)(s->is_staged ? saltus_gpu_slab_halo_bytes(this) : plane) : 0;
        }
    }
    if (s->end - s->first <
        s->n) { /* other processes have the others, between which it is as much */
        const int n_here = 1 + (s->is_ring || (s->first > 0 && s->end < s->n)),
                  n_all = 2 * (s->n - !s->is_ring);
        report->halo_bytes = report->halo_bytes / n_here * n_all;
    }
    report->halo_wait = passed > 0.0 ? waited / passed : -1.0;
    report->halo_path = s->is_staged ? "host" : is_apart ? "peer" : "same GPU";
}
