/* Lattices by multiparticle diffusion: the cells of Hallock, Stone, Roberts, Fry & Luthey-Schulten,
 * Parallel Computing 40 (2014) 86, tables 1 and 2 (their times are of one GTX 680), and lattices on
 * which Lattice Microbes 2.5 was timed (on one H200, differences of two run lengths). */
#include "cli/bench.h"

#include "backend/cuda/cuda.h"
#include "core/status.h"
#include "measure/conserved.h"

#include <math.h>
#include <string.h>

/* A lattice with particles that are spread evenly, or an example. */
typedef struct cell {
    const char *name, *reactions; /* "ab", "bcd" or "abc"; or "" of an example, whose name it is */
    int size[3];
    double nm, step_us;
    int64_t particles;
    double peer_us, goal_us; /* 0: none is known */
    const char *constant;    /* of second order, 1/(M s) */
} cell;

static const cell lattices[] = {
    {"64x64x64", "abc", {64, 64, 64}, 16, 50, 2000, 46.5, 4, "1e6"},
    {"64x64x128", "abc", {64, 64, 128}, 16, 50, 40000, 83.5, 5, "1e6"},
    {"64x64x128", "abc", {64, 64, 128}, 16, 50, 200000, 0, 11, "1e6"},
    {"64x64x256", "abc", {64, 64, 256}, 16, 50, 80000, 141, 7, "1e6"},
    {"128x128x256", "abc", {128, 128, 256}, 16, 50, 40000, 456, 5.5, "1e6"},
    {"min-system", "", {64, 64, 256}, 16, 50, 4430, 163, 6, ""},
    {"256x256x256", "abc", {256, 256, 256}, 16, 50, 1280000, 2310, 100, "1e6"},
    {"256x256x256", "abc", {256, 256, 256}, 16, 50, 16777216, 0, 0, "1e6"},
    {"256x256x256", "abc", {256, 256, 256}, 16, 50, 67108864, 0, 0, "1e6"},
    {"512x512x512", "abc", {512, 512, 512}, 16, 50, 10240000, 0, 900, "1e6"},
    {"1024x1024x1024", "abc", {1024, 1024, 1024}, 16, 50, 81920000, 0, 8000, "1e6"},
};

/* The second order constant as it is printed, with which B and C hardly ever react, and one with
 * which they do. */
#define CELL(name, x, y, z, nm, us, n, peer)                   \
    {name, "ab", {x, y, z}, nm, us, n, peer, 0, ""},           \
        {name, "bcd", {x, y, z}, nm, us, n, peer, 0, "1e-11"}, \
    {                                                          \
        name, "bcd", {x, y, z}, nm, us, n, peer, 0, "1e7"      \
    }
static const cell cells[] = {
    CELL("E. coli", 64, 64, 128, 16, 50, 40000, 1110),
    CELL("E. coli", 128, 128, 256, 8, 12.5, 40000, 5820),
    CELL("dividing E. coli", 64, 64, 256, 16, 50, 80000, 0),
    CELL("dividing E. coli", 128, 128, 512, 8, 12.5, 80000, 0),
    CELL("yeast", 256, 256, 256, 16, 50, 1280000, 0),
    CELL("yeast", 512, 512, 512, 8, 12.5, 1280000, 0),
    CELL("red blood cell", 512, 512, 512, 16, 50, 10240000, 0),
    CELL("red blood cell", 1024, 1024, 1024, 8, 12.5, 10240000, 0),
};

enum {
    STEPS = 10000, /* that are timed, */
    QUICK_STEPS = 16,
    LEAST_STEPS = 128,          /* or fewer, where they take too long; */
    LARGEST_ON_CORES = 20000000 /* sites or particles */
};
static const double budget = 20.0, quick_budget = 0.1; /* s */

static void write_model(const cell *c, char *text, size_t size)
{
    const long long half = c->particles / 2;
    const bool ab = strcmp(c->reactions, "ab") == 0, bcd = strcmp(c->reactions, "bcd") == 0;
    const char *a = bcd ? "B" : "A", *b = bcd ? "C" : "B", *d = bcd ? "D" : "C";
    int at =
        snprintf(text, size, "model: %s\nspecies: {%s: %lld, %s: %lld%s%s%s}\nreactions: ", c->name,
                 a, half, b, half, ab ? "" : ", ", ab ? "" : d, ab ? "" : ": 0");
    at += ab ? snprintf(text + at, size - (size_t)at, "{there: A -> B @ 1, back: B -> A @ 1}\n")
             : snprintf(text + at, size - (size_t)at,
                        "{bind: %s + %s -> %s, part: %s -> %s + %s @ 1}\n", a, b, d, d, a, b);
    at += snprintf(text + at, size - (size_t)at,
                   "lattice:\n  size: [%d, %d, %d]\n  spacing: %g nm\n  step: %g us\n"
                   "  diffusion: {%s: 1 um2/s, %s: 1 um2/s%s%s%s}\n",
                   c->size[0], c->size[1], c->size[2], c->nm, c->step_us, a, b, ab ? "" : ", ",
                   ab ? "" : d, ab ? "" : ": 1 um2/s");
    if (!ab) {
        (void)snprintf(text + at, size - (size_t)at, "  reactions: {bind: %s 1/(M s)}\n",
                       c->constant);
    }
}

static saltus_status make_model(const saltus_bench *b, const cell *c, saltus_model **out,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char text[1000];
    if (!c->reactions[0]) {
        (void)snprintf(text, sizeof text, "%s/%s.yaml", b->examples, c->name);
        SALTUS_TRY(saltus_model_read(text, out, err));
    } else {
        write_model(c, text, sizeof text);
        SALTUS_TRY(saltus_model_parse_yaml(text, strlen(text), c->name, out, err));
    }
    SALTUS_TRY(saltus_model_freeze(*out, SALTUS_LAW_LITERAL, err));
done:
    return status;
}

/* Simulate so many steps of a plan; *seconds without compiling, and on a GPU by its own clock,
 * without the host's placing of particles. */
static saltus_status run(const cell *c, const saltus_plan *plan, int64_t steps,
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
static double bytes_of_step(const cell *c, const saltus_plan *plan)
{
    const double n_sites = (double)c->size[0] * c->size[1] * c->size[2], n = (double)c->particles;
    const bool is_counts = strcmp(saltus_plan_layout(plan), "counts") == 0;
    const int n_species = saltus_model_n_species(saltus_plan_model(plan));
    const double bytes = n_species <= 2   ? 1.0 /* 4 bits of a species */
                         : n_species <= 4 ? 2.0
                                          : 4.0 * ceil(n_species / 8.0),
                 sites_each = is_counts ? 32.0 / bytes : 256.0,
                 touched = 32.0 * n_sites / sites_each * (1.0 - exp(-sites_each * n / n_sites));
    return is_counts ? bytes * n_sites + 3.0 * touched : 18.0 * n + 4.0 * touched;
}

/* The time of a step is the difference of two run lengths over that of their steps. */
static saltus_status time_steps(const saltus_bench *b, const cell *c, const saltus_plan *plan,
                                int64_t *steps, double *us, int64_t *events, bool *is_kept,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_totals brief = {0}, whole = {0};
    double seconds[2];
    const int64_t least = b->quick ? QUICK_STEPS : LEAST_STEPS;
    int64_t few = least / 2, n_events;
    int n_sums;
    *steps = 2 * least;
    SALTUS_TRY(run(c, plan, few, &brief, &seconds[0], &n_events, err));
    saltus_totals_free(&brief);
    SALTUS_TRY(run(c, plan, *steps, &brief, &seconds[1], &n_events, err));
    saltus_totals_free(&brief);
    const double each = (seconds[1] - seconds[0]) / (double)(*steps - few);
    const double wanted =
        (b->quick ? quick_budget : budget * b->part) / (each > 1e-7 ? each : 1e-7);
    *steps = wanted > STEPS ? STEPS : wanted < 2.0 * (double)least ? 2 * least : (int64_t)wanted;
    few = *steps / 4;
    SALTUS_TRY(run(c, plan, few, &brief, &seconds[0], &n_events, err));
    SALTUS_TRY(run(c, plan, *steps, &whole, &seconds[1], events, err));
    *us = 1e6 * (seconds[1] - seconds[0]) / (double)(*steps - few);
    SALTUS_TRY(saltus_conserved_check(saltus_plan_model(plan), &whole, &n_sums, is_kept, err));
done:
    saltus_totals_free(&brief);
    saltus_totals_free(&whole);
    return status;
}

/* What is timed, as fields of a line that is not ended. */
static void print_cell(const saltus_bench *b, const cell *c)
{
    printf("{\"bench\": \"%s\", \"cell\": \"%s\", \"reactions\": \"%s\", \"second_order\": \"%s\", "
           "\"size\": \"%dx%dx%d\", \"particles\": %lld, \"per_site\": %.4g",
           b->name, c->name, c->reactions, c->constant, c->size[0], c->size[1], c->size[2],
           (long long)c->particles,
           (double)c->particles / ((double)c->size[0] * c->size[1] * c->size[2]));
}

static void end_line(saltus_bench *b, bool is_kept)
{
    printf(", \"check\": \"%s\"}\n", is_kept ? "ok" : "failed");
    (void)fflush(stdout);
    b->has_failed |= !is_kept;
}

static int64_t sites_and_particles(const cell *c)
{
    return (int64_t)c->size[0] * c->size[1] * c->size[2] + c->particles;
}

static bool is_left_out(const saltus_bench *b, const cell *c)
{
    return b->quick && sites_and_particles(c) > LARGEST_ON_CORES / 25;
}

static saltus_status time_cell(saltus_bench *b, const cell *c, const saltus_backend *device,
                               const char *layout, double copy_rate, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    saltus_plan *plan = NULL;
    saltus_plan_options o = saltus_plan_options_default();
    double us = 0.0;
    int64_t steps = 0, events = 0;
    bool is_kept = false;
    SALTUS_TRY(make_model(b, c, &m, err));
    o.n_threads = device == b->cpu ? b->threads : 0;
    o.layout = layout;
    SALTUS_TRY(saltus_plan_create(m, device, &o, &plan, err));
    SALTUS_TRY(time_steps(b, c, plan, &steps, &us, &events, &is_kept, err));
    const double bytes = bytes_of_step(c, plan);
    print_cell(b, c);
    printf(", \"engine\": \"%s\", \"layout\": \"%s\", \"steps\": %lld, \"events\": %lld, "
           "\"us_per_step\": %.4g, \"moves_per_second\": %.4g, \"bytes_per_step\": %.4g",
           device == b->cpu ? "cores" : "gpu", layout, (long long)steps, (long long)events, us,
           1e6 * (double)c->particles / us, bytes);
    if (copy_rate > 0.0) {
        printf(", \"of_copy_rate\": %.3g, \"copy_bytes_per_second\": %.4g",
               1e6 * bytes / us / copy_rate, copy_rate);
    }
    if (c->peer_us > 0.0) {
        printf(", \"peer_us\": %g, \"over_peer\": %.4g", c->peer_us, c->peer_us / us);
    }
    if (c->goal_us > 0.0) {
        printf(", \"goal_us\": %g", c->goal_us);
    }
    end_line(b, is_kept);
done:
    saltus_plan_destroy(plan);
    saltus_model_destroy(m);
    return status;
}

static saltus_status time_cells(saltus_bench *b, const cell *list, int n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double copy_rate = 0.0;
    if (b->gpu) {
        SALTUS_TRY(saltus_cuda_copy_rate(b->gpu, &copy_rate, err));
    }
    for (int i = 0; i < n; ++i) {
        const cell *c = &list[i];
        if (is_left_out(b, c)) {
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

/* ------------------------------------------------------------------------------------------------
 * Several GPUs
 */

enum { MOST_GPUS = 8 };

/* A cell as n_slabs slabs on n_gpus GPUs: us a step. `of_one`: of one GPU with all of it; 0: this
 * is it. */
static saltus_status time_split(saltus_bench *b, const cell *c, int n_gpus, int n_slabs,
                                double of_one, double *us, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_backend *device = NULL;
    saltus_model *m = NULL;
    saltus_plan *plan = NULL;
    saltus_plan_options o = saltus_plan_options_default();
    char name[60] = "cuda:0", split[60] = "1";
    int64_t steps = 0, events = 0;
    bool is_kept = false;
    for (int i = 1; i < n_gpus; ++i) {
        (void)snprintf(name + strlen(name), sizeof name - strlen(name), ",%d", i);
    }
    for (int i = 1; i < n_slabs; ++i) {
        (void)snprintf(split + strlen(split), sizeof split - strlen(split), ":1");
    }
    SALTUS_TRY(saltus_backend_open(name, &device, err));
    SALTUS_TRY(make_model(b, c, &m, err));
    o.layout = "counts";
    o.split = n_slabs > 1 ? split : NULL;
    SALTUS_TRY(saltus_plan_create(m, device, &o, &plan, err));
    SALTUS_TRY(time_steps(b, c, plan, &steps, us, &events, &is_kept, err));
    print_cell(b, c);
    printf(", \"gpus\": %d, \"slabs\": %d, \"steps\": %lld, \"events\": %lld, \"us_per_step\": "
           "%.4g",
           n_gpus, n_slabs, (long long)steps, (long long)events, *us);
    if (of_one > 0.0) {
        printf(", \"speed_up\": %.3g, \"efficiency\": %.3g", of_one / *us, of_one / *us / n_gpus);
    }
    end_line(b, is_kept);
done:
    saltus_plan_destroy(plan);
    saltus_model_destroy(m);
    saltus_backend_close(device);
    return status;
}

static int count_gpus(void)
{
    char name[20];
    int n = 0;
    for (; n < MOST_GPUS; ++n) {
        saltus_backend *device = NULL;
        saltus_error ignored = {0};
        (void)snprintf(name, sizeof name, "cuda:%d", n);
        if (saltus_backend_open(name, &device, &ignored) != SALTUS_OK) {
            break;
        }
        saltus_backend_close(device);
    }
    return n;
}

/* On one GPU, then on 2, 4, 8; where there is but one, as two slabs on it, which tells what slabs
 * cost. */
static saltus_status scale(saltus_bench *b, const cell *c, int n_gpus, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double one = 0.0, us = 0.0;
    if (is_left_out(b, c)) {
        return status;
    }
    SALTUS_TRY(time_split(b, c, 1, 1, 0.0, &one, err));
    if (n_gpus == 1) {
        SALTUS_TRY(time_split(b, c, 1, 2, one, &us, err));
    }
    for (int n = 2; n <= n_gpus; n *= 2) {
        SALTUS_TRY(time_split(b, c, n, n, one, &us, err));
    }
done:
    return status;
}

saltus_status saltus_bench_hallock_scaling(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    static const char *const chosen[] = {"64x64x256", "min-system", "512x512x512",
                                         "1024x1024x1024"};
    const int n_gpus = bench->gpu ? count_gpus() : 0;
    if (n_gpus == 0) {
        printf("{\"bench\": \"%s\", \"skipped\": ", bench->name);
        saltus_cli_print_text(bench->no_gpu);
        printf("}\n");
    }
    for (size_t i = 0; n_gpus > 0 && i < sizeof lattices / sizeof *lattices; ++i) {
        for (size_t k = 0; k < sizeof chosen / sizeof *chosen; ++k) {
            if (strcmp(lattices[i].name, chosen[k]) == 0) {
                SALTUS_TRY(scale(bench, &lattices[i], n_gpus, err));
            }
        }
    }
    for (size_t i = 0; n_gpus > 0 && i < sizeof cells / sizeof *cells; ++i) {
        if (strcmp(cells[i].constant, "1e-11") != 0) {
            SALTUS_TRY(scale(bench, &cells[i], n_gpus, err));
        }
    }
done:
    return status;
}

saltus_status saltus_bench_lm_lattices(saltus_bench *bench, saltus_error *err)
{
    return time_cells(bench, lattices, sizeof lattices / sizeof *lattices, err);
}

saltus_status saltus_bench_hallock_cells(saltus_bench *bench, saltus_error *err)
{
    return time_cells(bench, cells, sizeof cells / sizeof *cells, err);
}
