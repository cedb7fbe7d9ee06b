/** What is common to benchmarks of lattices on one device (lattices.c) and on several GPUs
 * (hallock_scaling.c). */
#ifndef SALTUS_BENCH_LATTICES_H
#define SALTUS_BENCH_LATTICES_H

#include "bench/bench.h"

/** A lattice with particles that are spread evenly, or an example. */
typedef struct bench_lattice {
    const char *name;
    const char
        *reactions; /**< "ab", "bcd", "abc" or "first"; or "" of an example, whose name it is */
    int size[3];
    double nm, step_us;
    int64_t particles;
    const char *constant; /**< of second order, 1/(M s) */
    int n_first;          /**< of "first": so many reactions of first order */
    bool is_inert;        /**< without the reactions */
    bool is_ring;         /**< behind its last plane comes the first */
} bench_lattice;

/** The row of a table: columns cell, reactions, second_order, x, y, z, spacing_nm, step_us,
 * particles, first_order. The texts stay the table's. */
bench_lattice bench_lattice_of(const bench_table *t);
SALTUS_MUST_CHECK saltus_status bench_lattice_model(const bench *b, const bench_lattice *c,
                                                    saltus_model **out, saltus_error *err);

/** How long a step takes, after how many, and whether particles are kept. */
typedef struct bench_steps {
    int64_t steps, events;
    double us;
    bool is_kept;
} bench_steps;
SALTUS_MUST_CHECK saltus_status bench_time_steps(const bench *b, const bench_lattice *c,
                                                 const saltus_plan *plan, bench_steps *out,
                                                 saltus_error *err);

/** What is timed; what came of it. */
void bench_put_lattice(bench *b, const bench_lattice *c);
void bench_put_steps(bench *b, const bench_steps *t);
/** How fast time passes in it. */
void bench_put_pace(bench *b, const bench_lattice *c, double us);

/** Whether a lattice is too large for a quick benchmark. */
bool bench_leaves_out(const bench *b, const bench_lattice *c);

#endif
