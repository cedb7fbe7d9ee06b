/* Steps of lattices by multiparticle diffusion: the paper's cells, and lattices on which Lattice
 * Microbes was timed. */
#include "bench/lattices.h"

#include "backend/cuda/cuda.h"
#include "backend/cuda/rdme/rdme.h"
#include "bench/measure/conserved.h"
#include "core/status.h"
#include "model/network/model.h"
#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 10000, /* that are timed, */
    QUICK_STEPS = 16,
    LEAST_STEPS = 128,          /* or fewer, where they take too long; */
    LARGEST_ON_CORES = 20000000 /* sites or particles */
};
static const double budget = 20.0, quick_budget = 0.1; /* s */

bench_lattice bench_lattice_of(const bench_table *t)
{
    return (bench_lattice){
        .name = bench_cell(t, "cell"),
        .reactions = bench_cell(t, "reactions"),
        .size = {(int)bench_whole(t, "x"), (int)bench_whole(t, "y"), (int)bench_whole(t, "z")},
        .nm = bench_number(t, "spacing_nm"),
        .step_us = bench_number(t, "step_us"),
        .particles = bench_whole(t, "particles"),
        .constant = bench_cell(t, "second_order"),
        .n_first = (int)bench_whole(t, "first_order")};
}

/* "there" and "back" in turn. */
static void write_first_order(const bench_lattice *c, FILE *out)
{
    fprintf(out, c->n_first > 0 ? "reactions:\n" : "");
    for (int i = 0; i < c->n_first; ++i) {
        fprintf(out, "  r%d: %s @ 1\n", i, i % 2 == 0 ? "A -> B" : "B -> A");
    }
}

static void write_reactions(const bench_lattice *c, const char *a, const char *b, const char *d,
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

static void write_model(const bench_lattice *c, FILE *out)
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

saltus_status bench_lattice_model(const bench *b, const bench_lattice *c, saltus_model **out,
                                  saltus_error *err)
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
static saltus_status run(const bench_lattice *c, const saltus_plan *plan, int64_t steps,
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

static double n_sites(const bench_lattice *c)
{
    return (double)c->size[0] * c->size[1] * c->size[2];
}

/* What a step reads and writes, roughly. Particles: of every one its site, species and place in a
 * list; of the bits of both sets, the stretches of 32 bytes, 256 sites, in which there is one: one
 * set is read and cleared, the other read and marked. Counts: all words of a set, or the marks of
 * both; and of the stretches of 32 bytes in which there is a particle those that are cleared, read
 * and written. */
static double bytes_of_step(const bench_lattice *c, const saltus_plan *plan)
{
    const double sites = n_sites(c), n = (double)c->particles;
    const bool is_counts = strcmp(saltus_plan_layout(plan), "counts") == 0;
    const saltus_model *model = saltus_plan_model(plan);
    const bool is_marked = saltus_cuda_is_sparse(model->network->lattice);
    const double bytes = saltus_cuda_site_bytes(saltus_model_n_species(model)),
                 sites_each = is_counts ? 32.0 / bytes : 256.0,
                 touched = 32.0 * sites / sites_each * (1.0 - exp(-sites_each * n / sites));
    return is_counts ? (is_marked ? 2.0 / 8.0 : bytes) * sites + 3.0 * touched
                     : 18.0 * n + 4.0 * touched;
}

/* The difference of two run lengths over that of their steps. */
saltus_status bench_time_steps(const bench *b, const bench_lattice *c, const saltus_plan *plan,
                               bench_steps *out, saltus_error *err)
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

void bench_put_lattice(bench *b, const bench_lattice *c)
{
    char size[60];
    (void)snprintf(size, sizeof size, "%dx%dx%d", c->size[0], c->size[1], c->size[2]);
    bench_put(b, FIELD("cell", c->name), FIELD("reactions", c->reactions),
              FIELD("second_order", c->constant), FIELD("size", size),
              FIELD("particles", c->particles),
              FIELD("per_site", (double)c->particles / n_sites(c)));
}

void bench_put_steps(bench *b, const bench_steps *t)
{
    bench_put(b, FIELD("steps", t->steps), FIELD("events", t->events), FIELD("us_per_step", t->us));
}

void bench_put_pace(bench *b, const bench_lattice *c, double us)
{
    bench_put(b, FIELD("simulated_seconds_per_hour", bench_ratio(3600.0 * c->step_us, us)),
              FIELD("hours_per_simulated_hour", bench_ratio(us, c->step_us)));
}

static double sites_and_particles(const bench_lattice *c)
{
    return n_sites(c) + (double)c->particles;
}

bool bench_leaves_out(const bench *b, const bench_lattice *c)
{
    return b->quick && sites_and_particles(c) > LARGEST_ON_CORES / 25.0;
}

/* Time one layout of a row. copy_rate: of a GPU, B/s, else 0. */
static saltus_status time_layout(bench *b, const bench_table *t, const saltus_backend *device,
                                 const char *layout, double copy_rate, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    saltus_plan *plan = NULL;
    saltus_plan_options o = saltus_plan_options_default();
    const bench_lattice c = bench_lattice_of(t);
    const double peer = bench_number(t, "peer_us"), goal = bench_number(t, "goal_us");
    bench_steps s = {0};
    SALTUS_TRY(bench_lattice_model(b, &c, &m, err));
    o.method = "mpd";
    o.n_threads = device == b->cpu ? b->threads : 0;
    o.layout = layout;
    SALTUS_TRY(saltus_plan_create(m, device, &o, &plan, err));
    SALTUS_TRY(bench_time_steps(b, &c, plan, &s, err));
    const double bytes = bytes_of_step(&c, plan);
    bench_put_lattice(b, &c);
    bench_put(b, FIELD("engine", bench_engine(b, device)), FIELD("layout", layout));
    bench_put_steps(b, &s);
    bench_put(b, FIELD("bytes_per_step", bytes),
              FIELD("moves_per_second", bench_ratio(1e6 * (double)c.particles, s.us)));
    bench_put_pace(b, &c, s.us);
    bench_put(b,
              FIELD_IF(copy_rate > 0.0, "of_copy_rate", bench_ratio(1e6 * bytes, s.us * copy_rate)),
              FIELD_IF(copy_rate > 0.0, "copy_bytes_per_second", copy_rate),
              FIELD_IF(peer > 0.0, "peer_us", peer),
              FIELD_IF(peer > 0.0, "over_peer", bench_ratio(peer, s.us)),
              FIELD_IF(goal > 0.0, "goal_us", goal));
    bench_end_checked(b, s.is_kept);
done:
    saltus_plan_destroy(plan);
    saltus_model_destroy(m);
    return status;
}

static saltus_status time_lattices(bench *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double copy_rate = 0.0;
    bench_table t;
    SALTUS_TRY(bench_table_open(b->name, &t, err));
    if (b->gpu) {
        SALTUS_TRY(saltus_cuda_copy_rate(b->gpu, &copy_rate, err));
    }
    while (bench_next(&t)) {
        const bench_lattice c = bench_lattice_of(&t);
        if (bench_leaves_out(b, &c)) {
            continue;
        }
        if (sites_and_particles(&c) <= LARGEST_ON_CORES) {
            SALTUS_TRY(time_layout(b, &t, b->cpu, "particles", 0.0, err));
        }
        if (b->gpu) {
            SALTUS_TRY(time_layout(b, &t, b->gpu, "particles", copy_rate, err));
            SALTUS_TRY(time_layout(b, &t, b->gpu, "counts", copy_rate, err));
        }
    }
done:
    bench_table_close(&t);
    return status;
}

saltus_status bench_lm_lattices(bench *b, saltus_error *err)
{
    return time_lattices(b, err);
}

saltus_status bench_hallock_cells(bench *b, saltus_error *err)
{
    return time_lattices(b, err);
}
