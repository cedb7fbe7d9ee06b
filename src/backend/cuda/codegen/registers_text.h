/** Between the files that write kernels for layout `registers`. */
#ifndef SALTUS_BACKEND_CUDA_CODEGEN_REGISTERS_TEXT_H
#define SALTUS_BACKEND_CUDA_CODEGEN_REGISTERS_TEXT_H

#include "backend/cuda/device/kernels.h"
#include "backend/cuda/codegen/registers.h"

#include <stdio.h>

/* A function that draws further bits for a choice. */
#define SALTUS_REFINE_FUNCTION                                                                \
    "SALTUS_OUTLINE double saltus_state_refine(const saltus_launch *a, double total, double " \
    "word,\n"                                                                                 \
    "                                          uint64_t trajectory, uint64_t block, int h)\n" \
    "{\n    return saltus_choice_refined(total, word, *(const volatile uint64_t *)&a->seed, " \
    "trajectory,\n"                                                                           \
    "                                 2 * block + (uint64_t)h);\n}\n"
/* How saltus_state_fire begins, and how it draws further bits for `low`. */
#define SALTUS_FIRE_HEAD                                                                   \
    SALTUS_REFINE_FUNCTION                                                                 \
    "SALTUS_FN int saltus_state_fire(saltus_worker_state *s, double total, double word,\n" \
    "                                const saltus_launch *a, uint64_t trajectory,\n"       \
    "                                uint64_t block, int event_half)\n"                    \
    "{\n    const double unit = total * SALTUS_TWO_M32;\n"                                 \
    "    double low = word * unit, high = low + unit;\n"
#define SALTUS_REFINE                                                           \
    "            low = saltus_state_refine(a, total, word, trajectory, block, " \
    "event_half);\n"

typedef struct saltus_writer {
    const saltus_tables *t;
    const saltus_columns *columns;
    const uint8_t *varies; /**< saltus_needs */
    const int *leaves;     /**< [n_leaves] rows that are arguments l0, l1 … of the function */
    int n_leaves;
    bool is_table; /**< state is a saltus_table, kernel/ssa/table.h, with its point's row */
    FILE *out;
} saltus_writer;

/** Whether number i of a point's row varies. */
bool saltus_varies(const saltus_writer *w, int i);
/** Which of the varying rates, constants and variables number i is: SALTUS_K(that) is its value. */
int saltus_varying(const saltus_writer *w, int i);
/** How many of them there are. */
int saltus_n_varying(const saltus_tables *t, const uint8_t *varies);

/** The operations of a program, one behind the other. */
void saltus_put_code(const saltus_writer *w, saltus_program p);
/** A function of the state, of this name and number, that runs a program. What it reads of rules is
 * saltus_ruleN. */
void saltus_put_program(const saltus_writer *w, const char *name, int number, saltus_program p);
/** The value of a row. A program's own results are w0, w1 … */
void saltus_put_row(const saltus_writer *w, int row);
/** The name of an operation in kernel/base/ops.h. */
const char *saltus_op_name(int op);

/** The rate of product law r. */
void saltus_put_rate(const saltus_writer *w, int r);
/** The rate of reaction r in a table: 0 where it varies, or there is no such reaction. */
void saltus_put_table_rate(const saltus_writer *w, int r);

/** Groups of SALTUS_FANOUT reactions: the nodes above the propensities. */
int saltus_n_groups(const saltus_tables *t);
/** The reaction after the last of group g. */
int saltus_group_end(const saltus_tables *t, int g);
/** The amount by which reaction r changes species s. */
int64_t saltus_change_of(const saltus_tables *t, int r, int s);
/** Whether some law does not keep species s from going negative. */
bool saltus_is_unsafe(const saltus_tables *t, int s);
/** Whether a reaction may lack what it takes, and does nothing then: SALTUS_IDLES of the kernel. */
bool saltus_may_idle(const saltus_tables *t);
/** Whether reaction r takes something that it may lack, and does nothing then. */
bool saltus_may_lack(const saltus_tables *t, int r);
/** Write whether reaction r lacks what it takes. */
void saltus_put_lacks(const saltus_writer *w, int r);
/** Whether a firing of some reaction of group g changes a propensity of group h. */
bool saltus_touches(const saltus_tables *t, int g, int h);

/** The three forms of kernel. */
typedef enum saltus_form { SALTUS_FLAT, SALTUS_GROUPED, SALTUS_UNIFORM } saltus_form;
saltus_form saltus_registers_form(const saltus_tables *t);

/** They define what kernel/ssa/direct_driver.h needs, and SALTUS_X(i), count i of state *s. The
 * state is written before the laws (saltus_law0(s) …), the rest after them. */
void saltus_put_flat_state(const saltus_writer *w);
void saltus_put_flat(const saltus_writer *w);
/** Of a model with the flat form: all that kernel/ssa/direct_driver.h needs, but how a trajectory
 * begins, is kept and is recorded. */
void saltus_put_reactions(const saltus_writer *w);
/** What the reaction that pg and isk0, isk1 … choose has of a value for each, whose texts end in
 * `suffix`; without a branch. */
void saltus_put_chosen(const saltus_writer *w, const int64_t *values, const char *suffix);
/** The change of every species by the reaction that pg and isk0, isk1 … choose, where `fires`
 * holds. */
void saltus_put_changes(const saltus_writer *w);
enum { SALTUS_MAX_SHAPES = SALTUS_FANOUT, SALTUS_MAX_LEAVES = 12 };

/** Laws of a flat kernel that do the same to other numbers. */
typedef struct saltus_shape {
    int n_laws, laws[2 * SALTUS_FANOUT];                        /**< reactions */
    int n_leaves, leaves[2 * SALTUS_FANOUT][SALTUS_MAX_LEAVES]; /**< [law] rows that it reads */
    int cost;                                                   /**< of one of them */
    int n_changed; /**< that an event changes, at most */
} saltus_shape;

/** The shapes of which it pays to compute only what an event has changed; returns their number. */
int saltus_find_shapes(const saltus_writer *w, saltus_shape shapes[SALTUS_MAX_SHAPES]);
/** Whether the value of law r, which is of such a shape, is kept, as s->aR. */
bool saltus_is_kept(const saltus_writer *w, int r);
/** Their values in the state; functions, the last of which, saltus_renew, computes them all; what
 * is computed behind the change by a reaction. */
void saltus_put_shape_state(const saltus_writer *w);
void saltus_put_shapes(const saltus_writer *w);
void saltus_put_shape_changes(const saltus_writer *w);

/** Of laws that drift with time, which are in flat kernels: what comes first; their part of the
 * state; their bounds; the choice of a candidate. */
void saltus_put_drift_head(const saltus_writer *w);
void saltus_put_drift_state(const saltus_writer *w);
void saltus_put_drifts(const saltus_writer *w);
void saltus_put_take(const saltus_writer *w);
/** Of variables with rate rules: whether a row is of one, whether a propensity follows them, which
 * is then given; their part of the state; all of the kernel behind its head. */
bool saltus_is_rate_row(const saltus_tables *t, int row);
bool saltus_is_moving(const saltus_tables *t, int r);
void saltus_put_rate_state(const saltus_writer *w);
void saltus_put_rate_thread(const saltus_writer *w);
/** Of events, clocks and values that are drawn, in kernels of any form and from tables: what comes
 * first; whether triggers turn. Of those in registers: their part of the state, and how it is read
 * after something has happened. */
void saltus_put_event_head(const saltus_writer *w);
void saltus_put_event_state(const saltus_writer *w);
void saltus_put_event_load(const saltus_writer *w);
void saltus_put_turns(const saltus_writer *w);
/** What kernel/tau/tau_thread.h needs, behind all that the direct method does. */
void saltus_put_leaps(const saltus_writer *w);
void saltus_put_grouped_state(const saltus_writer *w);
void saltus_put_grouped(const saltus_writer *w);
void saltus_put_uniform_state(const saltus_writer *w);
void saltus_put_uniform(const saltus_writer *w);

/** Whether the uniform form's tables can describe a model; their bytes. */
bool saltus_uniform_fits(const saltus_tables *t);
int saltus_uniform_table_bytes(const saltus_tables *t);

/** The group that holds `low`, by the running sums s->t0, s->t1 …: the first of isg0, isg1 … that
 * holds, else the last; g is its number, base the sum before it. */
void saltus_put_choose_group(const saltus_writer *w);
/** The reaction that holds `l`, by n running sums c0, c1 …: the first of is0, is1 … that holds,
 * else the last. Where a boundary may lie between low and high, `check` is run, and further bits
 * are drawn. */
void saltus_put_choose(const saltus_writer *w, int n, const char *check);

#endif
