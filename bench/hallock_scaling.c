/* Lattices in slabs on 1, 2, 4 and 8 GPUs, as many as are here: Hallock et al. 2014, tables 2
 * and 3 (what a step consists of) and figures 5 (seconds of a cell in an hour), 6 (against
 * particles) and 7 (against reactions). */
#include "bench/lattices.h"

#include "core/status.h"

#include <string.h>

enum {
    MOST_LEVELS = 4, /* 1, 2, 4, 8 GPUs */
    MOST_GPUS = 1 << (MOST_LEVELS - 1),
    SMALLER = 4 /* sides of a lattice in a quick benchmark, by this */
};

/* A cell as slabs on GPUs, and what its time is compared with. */
typedef struct division {
    const saltus_bench_cell *cell;
    int n_gpus, n_slabs;
    int plays;              /* so many GPUs, by a part of the lattice; 0: no others */
    const double *one_us;   /* of one GPU with all of it; NULL: this is it */
    const double *inert_us; /* of the same without reactions; NULL: none are told apart */
    double peer_of_one;     /* the paper's us for a reaction; 0: none */
} division;

/* Simulated seconds of the Min system in an hour, on 1, 2 and 4 GPUs. */
static const double min_system[] = {134.0, 249.0, 384.0};

static void print_division(saltus_bench *b, const division *d, const saltus_bench_steps *t)
{
    saltus_bench_print_cell(b, d->cell);
    printf(", \"gpus\": %d, \"slabs\": %d, \"steps\": %lld, \"events\": %lld, \"us_per_step\": "
           "%.4g",
           d->n_gpus, d->n_slabs, (long long)t->steps, (long long)t->events, t->us);
    saltus_bench_print_pace(d->cell, t->us);
    for (int level = 0; level < 3 && strcmp(d->cell->name, "min-system") == 0; ++level) {
        if (d->n_gpus == 1 << level && d->n_slabs == d->n_gpus) {
            printf(", \"paper_seconds_per_hour\": %g", min_system[level]);
        }
    }
    if (strcmp(d->cell->reactions, "first") == 0) {
        printf(", \"first_order\": %d", d->cell->n_first);
    }
    if (d->inert_us) {
        printf(", \"us_per_reaction\": %.3g, \"paper_us_per_reaction\": %g",
               (t->us - *d->inert_us) / d->cell->n_first, d->peer_of_one);
    }
    if (d->plays > 0) {
        printf(", \"plays_gpus\": %d", d->plays);
    }
    if (d->one_us) {
        saltus_bench_print_ratio("speed_up", *d->one_us, t->us);
        saltus_bench_print_ratio("efficiency", *d->one_us,
                                 t->us * (d->plays > 0 ? d->plays : d->n_gpus));
    }
    saltus_bench_end_line(b, t->is_kept);
}

/* In slabs as high as each other, as many on each GPU. */
static saltus_status time_slabs(const saltus_bench *b, const saltus_bench_cell *c, int n_gpus,
                                int n_slabs, saltus_bench_steps *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_backend *device = NULL;
    saltus_model *m = NULL;
    saltus_plan *plan = NULL;
    saltus_plan_options o = saltus_plan_options_default();
    char split[60] = "1";
    for (int i = 1; i < n_slabs; ++i) {
        (void)snprintf(split + strlen(split), sizeof split - strlen(split), ":1");
    }
    SALTUS_TRY(saltus_bench_open_gpus(n_gpus, &device, err));
    SALTUS_TRY(saltus_bench_cell_model(b, c, &m, err));
    o.method = "mpd";
    o.layout = "counts";
    o.split = n_slabs > 1 ? split : NULL;
    SALTUS_TRY(saltus_plan_create(m, device, &o, &plan, err));
    SALTUS_TRY(saltus_bench_time_steps(b, c, plan, out, err));
done:
    saltus_plan_destroy(plan);
    saltus_model_destroy(m);
    saltus_backend_close(device);
    return status;
}

static saltus_status time_division(saltus_bench *b, const division *d, double *us,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_bench_steps t = {0};
    SALTUS_TRY(time_slabs(b, d->cell, d->n_gpus, d->n_slabs, &t, err));
    *us = t.us;
    print_division(b, d, &t);
done:
    return status;
}

/* What n GPUs would take, by fewer: as much of the lattice as those would have, in a ring, so that
 * each has another slab below and above, as all of the n but the first and the last. */
static saltus_status play(saltus_bench *b, division d, int n, saltus_error *err)
{
    double us = 0.0;
    saltus_bench_cell part = *d.cell;
    part.size[2] = part.size[2] / n * b->n_gpus;
    part.particles = part.particles / n * b->n_gpus;
    part.is_ring = true;
    d.cell = &part;
    d.n_gpus = d.n_slabs = b->n_gpus;
    d.plays = n;
    return time_division(b, &d, &us, err);
}

/* On one GPU, then on 2, 4, 8, as many as there are, and what more would take; where there is but
 * one, as two slabs on it, which tells what slabs cost. */
static saltus_status scale(saltus_bench *b, const saltus_bench_cell *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    division d = {.cell = c, .n_gpus = 1, .n_slabs = 1};
    double one = 0.0, us = 0.0;
    if (saltus_bench_leaves_out(b, c)) {
        return status;
    }
    SALTUS_TRY(time_division(b, &d, &one, err));
    d.one_us = &one;
    if (b->n_gpus == 1) {
        d.n_slabs = 2;
        SALTUS_TRY(time_division(b, &d, &us, err));
    }
    for (d.n_gpus = 2; d.n_gpus <= b->n_gpus; d.n_gpus *= 2) {
        d.n_slabs = d.n_gpus;
        SALTUS_TRY(time_division(b, &d, &us, err));
    }
    for (int n = 2 * b->n_gpus; b->n_gpus > 1 && c->reactions[0] && n <= MOST_GPUS; n *= 2) {
        SALTUS_TRY(c->size[2] % n == 0 ? play(b, d, n, err) : SALTUS_OK);
    }
done:
    return status;
}

saltus_status saltus_bench_hallock_scaling(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    static const char *const chosen[] = {"64x64x256", "min-system", "512x512x512",
                                         "1024x1024x1024"};
    for (int i = 0; i < saltus_bench_n_lattices; ++i) {
        for (size_t k = 0; k < sizeof chosen / sizeof *chosen; ++k) {
            if (strcmp(saltus_bench_lattices[i].name, chosen[k]) == 0) {
                SALTUS_TRY(scale(bench, &saltus_bench_lattices[i], err));
            }
        }
    }
    for (int i = 0; i < saltus_bench_n_cells; ++i) {
        if (strcmp(saltus_bench_cells[i].constant, "1e-11") != 0) {
            SALTUS_TRY(scale(bench, &saltus_bench_cells[i], err));
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Against particles, and against reactions
 */

static saltus_bench_cell make_smaller(const saltus_bench *b, saltus_bench_cell cell)
{
    for (int i = 0; i < 3 && b->quick; ++i) {
        cell.size[i] /= SMALLER;
        cell.particles /= SMALLER;
    }
    return cell;
}

/* On 1, 2, 4, 8 GPUs, us[level] of each. */
static saltus_status time_levels(saltus_bench *b, division d, const double *inert_us, double *us,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int level = 0; 1 << level <= b->n_gpus; ++level) {
        d.n_gpus = d.n_slabs = 1 << level;
        d.one_us = level > 0 ? us : NULL;
        d.inert_us = inert_us ? &inert_us[level] : NULL;
        SALTUS_TRY(time_division(b, &d, &us[level], err));
    }
done:
    return status;
}

saltus_status saltus_bench_hallock_particles(saltus_bench *bench, saltus_error *err)
{
    static const saltus_bench_cell places[] = {
        {"particles", "ab", {64, 64, 128}, 16, 50, 0, 0, 0, "", 0, false, false},
        {"particles", "ab", {128, 128, 256}, 8, 12.5, 0, 0, 0, "", 0, false, false},
    };
    static const int64_t numbers[] = {10000, 40000, 160000, 640000, 2560000};
    saltus_status status = SALTUS_OK;
    double us[MOST_LEVELS];
    const int n_numbers = bench->quick ? 2 : (int)(sizeof numbers / sizeof *numbers);
    for (int i = 0; i < (bench->quick ? 1 : 2); ++i) {
        for (int k = 0; k < n_numbers; ++k) {
            saltus_bench_cell cell = places[i];
            cell.particles = numbers[k];
            cell = make_smaller(bench, cell);
            SALTUS_TRY(time_levels(bench, (division){.cell = &cell}, NULL, us, err));
        }
    }
done:
    return status;
}

/* Reactions A -> B and B -> A are added in turn. */
saltus_status saltus_bench_hallock_reactions(saltus_bench *bench, saltus_error *err)
{
    static const int64_t numbers[] = {10000, 100000};
    static const int reactions[] = {0, 1, 2, 4, 6, 8, 10};
    saltus_status status = SALTUS_OK;
    double inert[MOST_LEVELS] = {0}, us[MOST_LEVELS];
    const int n_reactions = bench->quick ? 2 : (int)(sizeof reactions / sizeof *reactions);
    for (int i = 0; i < (bench->quick ? 1 : 2); ++i) {
        for (int k = 0; k < n_reactions; ++k) {
            const saltus_bench_cell cell =
                make_smaller(bench, (saltus_bench_cell){.name = "reactions",
                                                        .reactions = "first",
                                                        .size = {64, 64, 128},
                                                        .nm = 16,
                                                        .step_us = 50,
                                                        .particles = numbers[i],
                                                        .constant = "",
                                                        .n_first = reactions[k]});
            SALTUS_TRY(time_levels(bench, (division){.cell = &cell, .peer_of_one = 40.0},
                                   k > 0 ? inert : NULL, k > 0 ? us : inert, err));
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * What a step consists of
 */

static void print_phases_start(const saltus_bench *b, const saltus_bench_cell *c, int n_gpus,
                               const saltus_bench_steps *t)
{
    saltus_bench_print_cell(b, c);
    printf(", \"table\": 3, \"gpus\": %d, \"steps\": %lld, \"events\": %lld, \"us_per_step\": %.4g",
           n_gpus, (long long)t->steps, (long long)t->events, t->us);
}

/* Particles react and move along all axes in one kernel, parts of which have no times of their own.
 * What each takes is by how much longer a step is with it. */
static saltus_status time_parts(saltus_bench *b, const saltus_bench_cell *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_bench_cell inert = *c, empty = *c;
    saltus_bench_steps looks = {0}, moves = {0}, all = {0};
    inert.is_inert = empty.is_inert = true;
    empty.particles = 0;
    SALTUS_TRY(time_slabs(b, &empty, 1, 1, &looks, err));
    SALTUS_TRY(time_slabs(b, &inert, 1, 1, &moves, err));
    SALTUS_TRY(time_slabs(b, c, 1, 1, &all, err));
    print_phases_start(b, c, 1, &all);
    printf(", \"us_looking\": %.4g, \"us_moving\": %.4g, \"us_reacting\": %.4g", looks.us,
           moves.us - looks.us, all.us - moves.us);
    saltus_bench_end_line(b, looks.is_kept && moves.is_kept && all.is_kept && looks.events == 0 &&
                                 moves.events == 0);
done:
    return status;
}

/* Slabs on n GPUs wait for each other and pass particles on; one of them, as a lattice of its own,
 * does not. */
static saltus_status time_meeting(saltus_bench *b, const saltus_bench_cell *c, int n,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_bench_cell part = *c;
    saltus_bench_steps alone = {0}, all = {0};
    part.size[2] /= n;
    part.particles /= n;
    SALTUS_TRY(time_slabs(b, &part, 1, 1, &alone, err));
    SALTUS_TRY(time_slabs(b, c, n, n, &all, err));
    print_phases_start(b, c, n, &all);
    printf(", \"us_alone\": %.4g, \"us_meeting\": %.4g", alone.us, all.us - alone.us);
    saltus_bench_end_line(b, alone.is_kept && all.is_kept);
done:
    return status;
}

static saltus_status time_phases(saltus_bench *b, const saltus_bench_cell *whole, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_bench_cell cell = make_smaller(b, *whole);
    /* So that hardly any bind, and particles do not become fewer. */
    cell.constant = cell.constant[0] ? "1e-11" : "";
    SALTUS_TRY(time_parts(b, &cell, err));
    for (int n = 2; n <= b->n_gpus; n *= 2) {
        SALTUS_TRY(time_meeting(b, &cell, n, err));
    }
done:
    return status;
}

/* Table 1 at 16 nm, and of the lattices a small one and the largest. */
saltus_status saltus_bench_hallock_phases(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = 0; i < saltus_bench_n_cells; ++i) {
        const saltus_bench_cell *c = &saltus_bench_cells[i];
        if (c->nm == 16 && strcmp(c->constant, "1e7") != 0 && !saltus_bench_leaves_out(bench, c)) {
            SALTUS_TRY(time_phases(bench, c, err));
        }
    }
    for (int i = 0; i < saltus_bench_n_lattices; ++i) {
        const saltus_bench_cell *c = &saltus_bench_lattices[i];
        if ((strcmp(c->name, "64x64x256") == 0 || strcmp(c->name, "1024x1024x1024") == 0) &&
            !saltus_bench_leaves_out(bench, c)) {
            SALTUS_TRY(time_phases(bench, c, err));
        }
    }
done:
    return status;
}
