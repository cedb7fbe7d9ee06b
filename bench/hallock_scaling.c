/* Lattices in slabs on 1, 2, 4 and 8 GPUs, as many as are here: Hallock et al. 2014, tables 2
 * and 3 (what a step consists of) and figures 5 (seconds of a cell in an hour), 6 (against
 * particles) and 7 (against reactions). */
#include "bench/lattices.h"

#include "core/status.h"

#include <string.h>

enum {
    MOST_LEVELS = 4, /* 1, 2, 4, 8 GPUs */
    MOST_GPUS = 1 << (MOST_LEVELS - 1),
    SMALLER = 4, /* sides of a lattice in a quick benchmark, by this */
    QUICK_ROWS = 2
};

/* A lattice as slabs on GPUs, and what its time is compared with. */
typedef struct division {
    const bench_lattice *lattice;
    const bench_table *table; /* its row */
    int n_gpus, n_slabs;
    int plays;              /* so many GPUs, by a part of the lattice; 0: no others */
    const double *one_us;   /* of one GPU with all of it; NULL: this is it */
    const double *inert_us; /* of the same without reactions; NULL: none are told apart */
} division;

static void print_division(bench *b, const division *d, const bench_steps *t)
{
    const bench_lattice *c = d->lattice;
    char column[20];
    (void)snprintf(column, sizeof column, "paper_%d", d->n_slabs == d->n_gpus ? d->n_gpus : 0);
    const double paper = bench_number(d->table, column);
    bench_put_lattice(b, c);
    bench_put(b, FIELD("gpus", d->n_gpus), FIELD("slabs", d->n_slabs));
    bench_put_steps(b, t);
    bench_put_pace(b, c, t->us);
    bench_put(b, FIELD_IF(paper > 0.0, "paper_seconds_per_hour", paper),
              FIELD_IF(strcmp(c->reactions, "first") == 0, "first_order", c->n_first),
              FIELD_IF(d->inert_us, "us_per_reaction", (t->us - *d->inert_us) / c->n_first),
              FIELD_IF(d->inert_us, "paper_us_per_reaction", bench_number(d->table, "paper_us")),
              FIELD_IF(d->plays > 0, "plays_gpus", d->plays),
              FIELD_IF(d->one_us, "speed_up", bench_ratio(*d->one_us, t->us)),
              FIELD_IF(d->one_us, "efficiency",
                       bench_ratio(*d->one_us, t->us * (d->plays > 0 ? d->plays : d->n_gpus))));
    bench_end_checked(b, t->is_kept);
}

/* In slabs as high as each other, as many on each GPU. */
static saltus_status time_slabs(const bench *b, const bench_lattice *c, int n_gpus, int n_slabs,
                                bench_steps *out, saltus_error *err)
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
    SALTUS_TRY(bench_open_gpus(n_gpus, &device, err));
    SALTUS_TRY(bench_lattice_model(b, c, &m, err));
    o.method = "mpd";
    o.layout = "counts";
    o.split = n_slabs > 1 ? split : NULL;
    SALTUS_TRY(saltus_plan_create(m, device, &o, &plan, err));
    SALTUS_TRY(bench_time_steps(b, c, plan, out, err));
done:
    saltus_plan_destroy(plan);
    saltus_model_destroy(m);
    saltus_backend_close(device);
    return status;
}

static saltus_status time_division(bench *b, const division *d, double *us, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bench_steps t = {0};
    SALTUS_TRY(time_slabs(b, d->lattice, d->n_gpus, d->n_slabs, &t, err));
    *us = t.us;
    print_division(b, d, &t);
done:
    return status;
}

/* What n GPUs would take, by fewer: as much of the lattice as those would have, in a ring, so that
 * each has another slab below and above, as all of the n but the first and the last. */
static saltus_status play(bench *b, division d, int n, saltus_error *err)
{
    double us = 0.0;
    bench_lattice part = *d.lattice;
    part.size[2] = part.size[2] / n * b->n_gpus;
    part.particles = part.particles / n * b->n_gpus;
    part.is_ring = true;
    d.lattice = &part;
    d.n_gpus = d.n_slabs = b->n_gpus;
    d.plays = n;
    return time_division(b, &d, &us, err);
}

/* On one GPU, then on 2, 4, 8, as many as there are, and what more would take; where there is but
 * one, as two slabs on it, which tells what slabs cost. */
static saltus_status scale(bench *b, const bench_table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bench_lattice c = bench_lattice_of(t);
    division d = {.lattice = &c, .table = t, .n_gpus = 1, .n_slabs = 1};
    double one = 0.0, us = 0.0;
    if (!strstr(bench_cell(t, "in"), "scaling") || bench_leaves_out(b, &c)) {
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
    for (int n = 2 * b->n_gpus; b->n_gpus > 1 && c.reactions[0] && n <= MOST_GPUS; n *= 2) {
        SALTUS_TRY(c.size[2] % n == 0 ? play(b, d, n, err) : SALTUS_OK);
    }
done:
    return status;
}

saltus_status bench_hallock_scaling(bench *b, saltus_error *err)
{
    const saltus_status status = bench_each_row(b, "lm-lattices", scale, err);
    return status == SALTUS_OK ? bench_each_row(b, "hallock-cells", scale, err) : status;
}

/* ------------------------------------------------------------------------------------------------
 * Against particles, and against reactions
 */

static bench_lattice make_smaller(const bench *b, bench_lattice cell)
{
    for (int i = 0; i < 3 && b->quick; ++i) {
        cell.size[i] /= SMALLER;
        cell.particles /= SMALLER;
    }
    return cell;
}

/* On 1, 2, 4, 8 GPUs, us[level] of each. */
static saltus_status time_levels(bench *b, division d, const double *inert_us, double *us,
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

/* Every row of the benchmark's own table; what follows one without reactions is compared with it.
 */
static saltus_status time_rows(bench *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double inert[MOST_LEVELS] = {0}, us[MOST_LEVELS];
    bench_table t;
    SALTUS_TRY(bench_table_open(b->name, &t, err));
    while (bench_next(&t) && !(b->quick && t.row > QUICK_ROWS)) {
        const bench_lattice cell = make_smaller(b, bench_lattice_of(&t));
        const bool tells = strcmp(cell.reactions, "first") == 0, reacts = cell.n_first > 0;
        SALTUS_TRY(time_levels(b, (division){.lattice = &cell, .table = &t}, reacts ? inert : NULL,
                               tells && !reacts ? inert : us, err));
    }
done:
    bench_table_close(&t);
    return status;
}

saltus_status bench_hallock_particles(bench *b, saltus_error *err)
{
    return time_rows(b, err);
}

saltus_status bench_hallock_reactions(bench *b, saltus_error *err)
{
    return time_rows(b, err);
}

/* ------------------------------------------------------------------------------------------------
 * What a step consists of
 */

static void put_phases(bench *b, const bench_lattice *c, int n_gpus, const bench_steps *t)
{
    bench_put_lattice(b, c);
    bench_put(b, FIELD("table", 3), FIELD("gpus", n_gpus));
    bench_put_steps(b, t);
}

/* Particles react and move along all axes in one kernel, parts of which have no times of their own.
 * What each takes is by how much longer a step is with it. */
static saltus_status time_parts(bench *b, const bench_lattice *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bench_lattice inert = *c, empty = *c;
    bench_steps looks = {0}, moves = {0}, all = {0};
    inert.is_inert = empty.is_inert = true;
    empty.particles = 0;
    SALTUS_TRY(time_slabs(b, &empty, 1, 1, &looks, err));
    SALTUS_TRY(time_slabs(b, &inert, 1, 1, &moves, err));
    SALTUS_TRY(time_slabs(b, c, 1, 1, &all, err));
    put_phases(b, c, 1, &all);
    bench_put(b, FIELD("us_looking", looks.us), FIELD("us_moving", moves.us - looks.us),
              FIELD("us_reacting", all.us - moves.us));
    bench_end_checked(b, looks.is_kept && moves.is_kept && all.is_kept && looks.events == 0 &&
                             moves.events == 0);
done:
    return status;
}

/* Slabs on n GPUs wait for each other and pass particles on; one of them, as a lattice of its own,
 * does not. */
static saltus_status time_meeting(bench *b, const bench_lattice *c, int n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bench_lattice part = *c;
    bench_steps alone = {0}, all = {0};
    part.size[2] /= n;
    part.particles /= n;
    SALTUS_TRY(time_slabs(b, &part, 1, 1, &alone, err));
    SALTUS_TRY(time_slabs(b, c, n, n, &all, err));
    put_phases(b, c, n, &all);
    bench_put(b, FIELD("us_alone", alone.us), FIELD("us_meeting", all.us - alone.us));
    bench_end_checked(b, alone.is_kept && all.is_kept);
done:
    return status;
}

static saltus_status time_phases(bench *b, const bench_table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bench_lattice cell = bench_lattice_of(t);
    if (!strstr(bench_cell(t, "in"), "phases") || bench_leaves_out(b, &cell)) {
        return status;
    }
    cell = make_smaller(b, cell);
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
saltus_status bench_hallock_phases(bench *b, saltus_error *err)
{
    const saltus_status status = bench_each_row(b, "hallock-cells", time_phases, err);
    return status == SALTUS_OK ? bench_each_row(b, "lm-lattices", time_phases, err) : status;
}
