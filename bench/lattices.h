/** What is common to benchmarks of lattices on one device (bench_space.c) and on several GPUs
 * (bench_scaling.c). */
#ifndef SALTUS_BENCH_LATTICES_H
#define SALTUS_BENCH_LATTICES_H

#include "bench/bench.h"

/** A lattice with particles that are spread evenly, or an example. */
typedef struct saltus_bench_cell {
    const char *name;
    const char
        *reactions; /**< "ab", "bcd", "abc" or "first"; or "" of an example, whose name it is */
    int size[3];
    double nm, step_us;
    int64_t particles;
    double peer_us, goal_us; /**< 0: none is known */
    const char *constant;    /**< of second order, 1/(M s) */
    int n_first;             /**< of "first": so many reactions of first order */
    bool is_inert;           /**< without the reactions */
    bool is_ring;            /**< behind its last plane comes the first */
} saltus_bench_cell;

/** Those on which Lattice Microbes was timed, and the paper's. */
extern const saltus_bench_cell saltus_bench_lattices[], saltus_bench_cells[];
extern const int saltus_bench_n_lattices, saltus_bench_n_cells;

SALTUS_MUST_CHECK saltus_status saltus_bench_cell_model(const saltus_bench *b,
                                                        const saltus_bench_cell *c,
                                                        saltus_model **out, saltus_error *err);

/** How long a step takes, after how many, and whether particles are kept. */
typedef struct saltus_bench_steps {
    int64_t steps, events;
    double us;
    bool is_kept;
} saltus_bench_steps;
SALTUS_MUST_CHECK saltus_status saltus_bench_time_steps(const saltus_bench *b,
                                                        const saltus_bench_cell *c,
                                                        const saltus_plan *plan,
                                                        saltus_bench_steps *out, saltus_error *err);

/** What is timed, as fields of a line that is not ended; how fast time passes in it; its end. */
void saltus_bench_print_cell(const saltus_bench *b, const saltus_bench_cell *c);
void saltus_bench_print_pace(const saltus_bench_cell *c, double us);
void saltus_bench_end_line(saltus_bench *b, bool is_kept);

/** Whether a cell is too large for a quick benchmark. */
bool saltus_bench_leaves_out(const saltus_bench *b, const saltus_bench_cell *c);

#endif
