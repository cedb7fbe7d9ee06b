/* Lattices by multiparticle diffusion: the cells of Hallock, Stone, Roberts, Fry & Luthey-Schulten,
 * Parallel Computing 40 (2014) 86, tables 1 and 2 (their times are of one GTX 680), and lattices on
 * which Lattice Microbes 2.5 was timed (on one H200, differences of two run lengths). */
#include "bench/lattices.h"

#include "backend/cuda/cuda.h"
#include "core/status.h"
#include "bench/measure/conserved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const saltus_bench_cell saltus_bench_lattices[] = {
    {"64x64x64", "abc", {64, 64, 64}, 16, 50, 2000, 46.5, 4, "1e6", 0, false, false},
    {"64x64x128", "abc", {64, 64, 128}, 16, 50, 40000, 83.5, 5, "1e6", 0, false, false},
    {"64x64x128", "abc", {64, 64, 128}, 16, 50, 200000, 0, 11, "1e6", 0, false, false},
    {"64x64x256", "abc", {64, 64, 256}, 16, 50, 80000, 141, 7, "1e6", 0, false, false},
    {"128x128x256", "abc", {128, 128, 256}, 16, 50, 40000, 456, 5.5, "1e6", 0, false, false},
    {"min-system", "", {64, 64, 256}, 16, 50, 4430, 163, 6, "", 0, false, false},
    {"256x256x256", "abc", {256, 256, 256}, 16, 50, 1280000, 2310, 100, "1e6", 0, false, false},
    {"256x256x256", "abc", {256, 256, 256}, 16, 50, 16777216, 0, 0, "1e6", 0, false, false},
    {"256x256x256", "abc", {256, 256, 256}, 16, 50, 67108864, 0, 0, "1e6", 0, false, false},
    {"512x512x512", "abc", {512, 512, 512}, 16, 50, 10240000, 0, 900, "1e6", 0, false, false},
    {"1024x1024x1024",
     "abc",
     {1024, 1024, 1024},
     16,
     50,
     81920000,
     0,
     8000,
     "1e6",
     0,
     false,
     false},
};
const int saltus_bench_n_lattices = sizeof saltus_bench_lattices / sizeof *saltus_bench_lattices;

/* The second order constant as it is printed, with which B and C hardly ever react, and one with
 * which they do. */
#define CELL(name, x, y, z, nm, us, n, peer)                                    \
    {name, "ab", {x, y, z}, nm, us, n, peer, 0, "", 0, false, false},           \
        {name, "bcd", {x, y, z}, nm, us, n, peer, 0, "1e-11", 0, false, false}, \
    {                                                                           \
        name, "bcd", {x, y, z}, nm, us, n, peer, 0, "1e7", 0, false, false      \
    }
const saltus_bench_cell saltus_bench_cells[] = {
    CELL("E. coli", 64, 64, 128, 16, 50, 40000, 1110),
    CELL("E. coli", 128, 128, 256, 8, 12.5, 40000, 5820),
    CELL("dividing E. coli", 64, 64, 256, 16, 50, 80000, 0),
    CELL("dividing E. coli", 128, 128, 512, 8, 12.5, 80000, 0),
    CELL("yeast", 256, 256, 256, 16, 50, 1280000, 0),
    CELL("yeast", 512, 512, 512, 8, 12.5, 1280000, 0),
    CELL("red blood cell", 512, 512, 512, 16, 50, 10240000, 0),
    CELL("red blood cell", 1024, 1024, 1024, 8, 12.5, 10240000, 0),
};
const int saltus_bench_n_cells = sizeof saltus_bench_cells / sizeof *saltus_bench_cells;

enum {
    STEPS = 10000, /* that are timed, */
    QUICK_STEPS = 16,
    LEAST_STEPS = 128,          /* or fewer, where they take too long; */
    LARGEST_ON_CORES = 20000000 /* sites or particles */
};
static const double budget = 20.0, quick_budget = 0.1; /* s */

/* "there" and "back" in turn. */
static void write_first_order(const saltus_bench_cell *c, FILE *out)
{
    fprintf(out, c->n_first > 0 ? "reactions:\n" : "");
    for (int i = 0; i < c->n_first; ++i) {
        fprintf(out, "  r%d: %s @ 1\n", i, i % 2 == 0 ? "A -> B" : "B -> A");
    }
}

static void write_reactions(const saltus_bench_cell *c, const char *a, const char *b, const char *d,
                            FILE *out)
{
    if (strcmp(c->reactions, "first") == 0) {
        write_first_order(c, out);
    } else if (strcmp(c->reactions, "ab") == 0) {
        fprintf(out, "reactions: {there: A -> B @ 1, back: B -> A @ 1}\n");
    } else {
        fprintf(out, "reactions: {bind: %s + %s -> %s, part: %s -> %s + %s @ 1}\n", a, b, d, d, a,
                b);
    }
}

static void write_model(const saltus_bench_cell *c, FILE *out)
{
    const long long half = c->particles / 2;
    const bool bcd = strcmp(c->reactions, "bcd") == 0,
               ab = strcmp(c->reactions, "first") == 0 || strcmp(c->reactions, "ab") == 0;
    const char *a = bcd ? "B" : "A", *b = bcd ? "C" : "B", *d = bcd ? "D" : "C";
    fprintf(out, "model: %s\nspecies: {%s: %lld, %s: %lld%s%s%s}\n", c->name, a, half, b, half,
            ab ? "" : ", ", ab ? "" : d, ab ? "" : ": 0");
    if (!c->is_inert) {
        write_reactions(c, a, b, d, out);
    }
    fprintf(out,
            "lattice:\n  size: [%d, %d, %d]\n  spacing: %g nm\n  step: %g us\n"
            "  diffusion: {%s: 1 um2/s, %s: 1 um2/s%s%s%s}\n",
            c->size[0], c->size[1], c->size[2], c->nm, c->step_us, a, b, ab ? "" : ", ",
            ab ? "" : d, ab ? "" : ": 1 um2/s");
    if (!ab && !c->is_inert) {
        fprintf(out, "  reactions: {bind: %s 1/(M s)}\n", c->constant);
    }
    if (c->is_ring) {
        fprintf(out, "  faces: {z: periodic}\n");
    }
}

saltus_status saltus_bench_cell_model(const saltus_bench *b, const saltus_bench_cell *c,
                                      saltus_model **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char path[1300], *text = NULL;
    size_t size = 0;
    if (!c->reactions[0]) {
        (void)snprintf(path, sizeof path, "%s/%s.yaml", b->examples, c->name);
        SALTUS_TRY(saltus_model_read(path, out, err));
    } else {
        FILE *stream = open_memstream(&text, &size);
        SALTUS_NEED(stream);
        write_model(c, stream);
        SALTUS_NEED(fclose(stream) == 0);
        SALTUS_TRY(saltus_model_parse_yaml(text, size, c->name, out, err));
    }
    SALTUS_TRY(saltus_model_freeze(*out, SALTUS_LAW_LITERAL, err));
done:
    free(text);
    return status;
}

/* Simulate so many steps of a plan; *seconds without compiling, and on a GPU by its own clock,
 * without the host's placing of particles. */
static saltus_status run(const saltus_bench_cell *c, const saltus_plan *plan, int64_t steps,
                         saltus_totals *totals, double *seconds, int64_t *events, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_run_report report = {0};
    saltus_run_options o = saltus_run_options_default();
    const double times[] = {0.0, 1e-6 * c->step_us * (double)steps};
    const saltus_sink sink = saltus_totals_sink(totals, false);
    o.times = times;
    o.n_times = 2;
    SALTUS_TRY(saltus_run(plan, &o, &sink, &report, err));
    const int n_slabs = saltus_plan_slabs(plan) > 1 ? saltus_plan_slabs(plan) : 1;
    *seconds = report.kernel_seconds > 0.0 ? report.kernel_seconds / n_slabs : report.seconds;
    *events = report.events;
done:
    return status;
}

/* What a step reads and writes, roughly. Particles: of every one its site, species and place in a
 * list; of the bits of both sets, the stretches of 32 bytes, 256 sites, in which there is one: one
 * set is read and cleared, the other read and marked. Counts: all words of a set, and of the
 * stretches of 32 bytes in which there is a particle those that are cleared, read and written. */
static double bytes_of_step(const saltus_bench_cell *c, const saltus_plan *plan)
{
    const double n_sites = (double)c->size[0] * c->size[1] * c->size[2], n = (double)c->particles;
    const bool is_counts = strcmp(saltus_plan_layout(plan), "counts") == 0;
    const int n_species = saltus_model_n_species(saltus_plan_model(plan));
    const double bytes = saltus_cuda_site_bytes(n_species),
                 sites_each = is_counts ? 32.0 / bytes : 256.0,
                 touched = 32.0 * n_sites / sites_each * (1.0 - exp(-sites_each * n / n_sites));
    return is_counts ? bytes * n_sites + 3.0 * touched : 18.0 * n + 4.0 * touched;
}

/* The difference of two run lengths over that of their steps. */
saltus_status saltus_bench_time_steps(const saltus_bench *b, const saltus_bench_cell *c,
                                      const saltus_plan *plan, saltus_bench_steps *out,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_totals brief = {0}, whole = {0};
    double seconds[2];
    const int64_t least = b->quick ? QUICK_STEPS : LEAST_STEPS;
    int64_t few = least / 2, steps = 2 * least, n_events;
    int n_sums;
    SALTUS_TRY(run(c, plan, few, &brief, &seconds[0], &n_events, err));
    saltus_totals_free(&brief);
    SALTUS_TRY(run(c, plan, steps, &brief, &seconds[1], &n_events, err));
    saltus_totals_free(&brief);
    /* By their difference, unless something has disturbed it. */
    const double each = fmax((seconds[1] - seconds[0]) / (double)(steps - few),
                             fmax(0.1 * seconds[1] / (double)steps, 1e-7)),
                 wanted = (b->quick ? quick_budget : budget * b->part) / each;
    steps = wanted > STEPS ? STEPS : wanted < 2.0 * (double)least ? 2 * least : (int64_t)wanted;
    few = steps / 4;
    SALTUS_TRY(run(c, plan, few, &brief, &seconds[0], &n_events, err));
    SALTUS_TRY(run(c, plan, steps, &whole, &seconds[1], &out->events, err));
    out->steps = steps;
    out->us = 1e6 * (seconds[1] - seconds[0]) / (double)(steps - few);
    SALTUS_TRY(
        saltus_conserved_check(saltus_plan_model(plan), &whole, &n_sums, &out->is_kept, err));
done:
    saltus_totals_free(&brief);
    saltus_totals_free(&whole);
    return status;
}

void saltus_bench_print_cell(const saltus_bench *b, const saltus_bench_cell *c)
{
    printf("{\"bench\": \"%s\", \"cell\": \"%s\", \"reactions\": \"%s\", \"second_order\": \"%s\", "
           "\"size\": \"%dx%dx%d\", \"particles\": %lld, \"per_site\": %.4g",
           b->name, c->name, c->reactions, c->constant, c->size[0], c->size[1], c->size[2],
           (long long)c->particles,
           (double)c->particles / ((double)c->size[0] * c->size[1] * c->size[2]));
}

void saltus_bench_print_pace(const saltus_bench_cell *c, double us)
{
    saltus_bench_print_ratio("simulated_seconds_per_hour", 3600.0 * c->step_us, us);
    saltus_bench_print_ratio("hours_per_simulated_hour", us, c->step_us);
}

void saltus_bench_end_line(saltus_bench *b, bool is_kept)
{
    printf(", \"check\": \"%s\"}\n", is_kept ? "ok" : "failed");
    (void)fflush(stdout);
    b->has_failed |= !is_kept;
}

static int64_t sites_and_particles(const saltus_bench_cell *c)
{
    return (int64_t)c->size[0] * c->size[1] * c->size[2] + c->particles;
}

bool saltus_bench_leaves_out(const saltus_bench *b, const saltus_bench_cell *c)
{
    return b->quick && sites_and_particles(c) > LARGEST_ON_CORES / 25;
}

static saltus_status time_cell(saltus_bench *b, const saltus_bench_cell *c,
                               const saltus_backend *device, const char *layout, double copy_rate,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    saltus_plan *plan = NULL;
    saltus_plan_options o = saltus_plan_options_default();
    saltus_bench_steps t = {0};
    SALTUS_TRY(saltus_bench_cell_model(b, c, &m, err));
    o.method = "mpd";
    o.n_threads = device == b->cpu ? b->threads : 0;
    o.layout = layout;
    SALTUS_TRY(saltus_plan_create(m, device, &o, &plan, err));
    SALTUS_TRY(saltus_bench_time_steps(b, c, plan, &t, err));
    const double bytes = bytes_of_step(c, plan);
    saltus_bench_print_cell(b, c);
    printf(", \"engine\": \"%s\", \"layout\": \"%s\", \"steps\": %lld, \"events\": %lld, "
           "\"us_per_step\": %.4g, \"bytes_per_step\": %.4g",
           device == b->cpu ? "cores" : "gpu", layout, (long long)t.steps, (long long)t.events,
           t.us, bytes);
    saltus_bench_print_ratio("moves_per_second", 1e6 * (double)c->particles, t.us);
    saltus_bench_print_pace(c, t.us);
    if (copy_rate > 0.0) {
        saltus_bench_print_ratio("of_copy_rate", 1e6 * bytes, t.us * copy_rate);
        printf(", \"copy_bytes_per_second\": %.4g", copy_rate);
    }
    if (c->peer_us > 0.0) {
        printf(", \"peer_us\": %g", c->peer_us);
        saltus_bench_print_ratio("over_peer", c->peer_us, t.us);
    }
    if (c->goal_us > 0.0) {
        printf(", \"goal_us\": %g", c->goal_us);
    }
    saltus_bench_end_line(b, t.is_kept);
done:
    saltus_plan_destroy(plan);
    saltus_model_destroy(m);
    return status;
}

static saltus_status time_cells(saltus_bench *b, const saltus_bench_cell *list, int n,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double copy_rate = 0.0;
    if (b->gpu) {
        SALTUS_TRY(saltus_cuda_copy_rate(b->gpu, &copy_rate, err));
    }
    for (int i = 0; i < n; ++i) {
        const saltus_bench_cell *c = &list[i];
        if (saltus_bench_leaves_out(b, c)) {
            continue;
        }
        if (sites_and_particles(c) <= LARGEST_ON_CORES) {
            SALTUS_TRY(time_cell(b, c, b->cpu, "particles", 0.0, err));
        }
        if (b->gpu) {
            SALTUS_TRY(time_cell(b, c, b->gpu, "particles", copy_rate, err));
            SALTUS_TRY(time_cell(b, c, b->gpu, "counts", copy_rate, err));
        }
    }
done:
    return status;
}

saltus_status saltus_bench_lm_lattices(saltus_bench *bench, saltus_error *err)
{
    return time_cells(bench, saltus_bench_lattices, saltus_bench_n_lattices, err);
}

saltus_status saltus_bench_hallock_cells(saltus_bench *bench, saltus_error *err)
{
    return time_cells(bench, saltus_bench_cells, saltus_bench_n_cells, err);
}
