/**
 * The flat tables of a frozen model, as the kernels read them.
 *
 * Values live in rows, v[row] or v[row][lane], all double:
 *
 *     species        counts of molecules, whole numbers
 *     variables      real values that only events change
 *     flags          clock conditions such as `time >= 25`: 1 or 0
 *     rules          targets of assignment rules, in an order in which they can be evaluated
 *     time           set before a program is run that may read it
 *     one            the number 1: the factor that is not there
 *     constants      of the programs
 *     temporaries    of the programs
 *
 * Lists of lists are compressed rows: the items of i are item[item_row[i]] … item[item_row[i+1]-1].
 */
#ifndef SALTUS_KERNEL_BASE_TABLES_H
#define SALTUS_KERNEL_BASE_TABLES_H

#include "kernel/base/target.h"

/** One operation of a program: v[dst] = op(v[a], v[b]). SELECT has a third operand, v[c]. */
typedef struct saltus_instruction {
    int32_t op; /**< a saltus_op, or SALTUS_OP_SELECT: a ? b : c */
    int32_t dst, a, b, c;
} saltus_instruction;

/** Instructions first … first + n - 1; the result is then in row `result`. n may be 0. */
typedef struct saltus_program {
    int32_t first, n, result;
} saltus_program;

/** A law of one or two factors or none, without a branch: (rate * v[first]) * (v[second] - offset),
 * where row_one stands for a factor that is not there. first < 0: the law has another shape. */
typedef struct saltus_pair {
    double rate, offset;
    int32_t first, second;
} saltus_pair;

/** A clock condition: flag `row` is 1 from the time that the program gives on (or up to it). */
typedef struct saltus_clock {
    saltus_program when; /**< the time at which the condition changes */
    int32_t row;
    int32_t after;  /**< 1: true after that time; 0: true before it */
    int32_t strict; /**< 1: changes just after that time; 0: at it */
} saltus_clock;

typedef struct saltus_trigger {
    saltus_program trigger, delay, priority;
    int32_t has_delay, has_priority, persistent, initial_value, use_trigger_values;
    int32_t first_assignment, n_assignments;
} saltus_trigger;

/** An event's assignment: row `row` takes the value of the program. */
typedef struct saltus_setting {
    saltus_program value;
    int32_t row;
} saltus_setting;

/* Up to this many children stand under a node of the propensity tree. */
enum { SALTUS_FANOUT = 8, SALTUS_MAX_LEVELS = 11 };

typedef struct saltus_tables {
    int32_t n_species, n_variables, n_flags, n_rules, n_constants, n_temporaries, n_rows;
    int32_t row_variables, row_flags, row_rules, row_time, row_one, row_constants, row_temporaries;
    const int64_t *initial_counts;   /* [species] */
    const double *initial_variables; /* [variable] */
    const double *constants;         /* [constant] */

    int32_t n_reactions;
    const int32_t *change_row;     /* [reaction + 1] */
    const int32_t *change_species; /* [change] */
    const int64_t *change_amount;  /* [change], never 0; a species once per reaction */

    /* Propensity of reaction r. Product laws (law_program[r] < 0) are
     * ((rate * f1) * f2) * f3 …, each factor being v[species] - offset. */
    const double *rate;            /* [reaction], >= 0 */
    const int32_t *factor_row;     /* [reaction + 1] */
    const int32_t *factor_species; /* [factor] */
    const double *factor_offset;   /* [factor] 0, 1, 2 … */
    const int32_t *law_program;    /* [reaction] index into laws, or -1 */
    const saltus_pair *pairs;      /* [reaction] the same, where it is that simple */
    const saltus_program *laws;
    int32_t n_laws;

    /* How laws follow a species: the highest order of the laws that read it (of a law that is no
     * product: a bound of d ln law / d ln counts when all that it reads change alike), 0 when there
     * are none; and how many of it, at most, such a reaction takes. */
    const double *order;      /* [species] */
    const int32_t *order_own; /* [species] */

    const saltus_instruction *code;
    int32_t n_code;
    const saltus_program *rules; /* [rule] */

    /* What firing reaction r changes, r itself included where it does: rules (in order), then
     * propensities: first those of pairs, in fours (the last may stand several times), then from
     * dependent_other[r] on the others. */
    const int32_t *rule_row, *rule_of;        /* [reaction + 1], [..] */
    const int32_t *dependent_row, *dependent; /* [reaction + 1], [..] */
    const int32_t *dependent_other;           /* [reaction] */

    /* The same for the tree of partial sums: level 0 are the groups of propensities. Propensities
     * and the values of nodes stand in one array, values[n_leaves + node], so that the children of
     * node k are the SALTUS_FANOUT values from values[children[k]] on. */
    int32_t n_leaves;         /* reactions, padded to whole nodes */
    const int32_t *children;  /* [node] */
    const int8_t *n_children; /* [node] 1 to SALTUS_FANOUT */
    int32_t n_levels;
    int32_t level_first[SALTUS_MAX_LEVELS + 1]; /* number of the first node of each level; all
                                                   levels but the last are padded with empty nodes
                                                   to a multiple of the fan-out */
    int32_t level_nodes[SALTUS_MAX_LEVELS];     /* nodes that are not padding */
    const int32_t *node_row, *node;             /* [reaction + 1], [..] level by level */

    const saltus_clock *clocks;     /* [flag] */
    const saltus_trigger *triggers; /* [event] */
    const saltus_setting *settings;
    int32_t n_triggers, n_settings;
    int32_t largest_event; /* assignments of the event that has most */
    int32_t watches_state; /* some trigger or clock depends on counts: look after every reaction */
    const int32_t *unsafe; /* species that some law does not keep from going negative */
    int32_t n_unsafe;
    int64_t largest_change;
} saltus_tables;

/** A row of the numbers in tables that other values of a model's parameters and initial amounts
 * change, one after the other: the rates, then from these places on the constants, the initial
 * variables, the initial counts; model/freeze/point.h. */
typedef struct saltus_point {
    int32_t constants, variables, counts, size;
} saltus_point;

/** A recorded real value: v[row] / v[divisor], where a row of -1 stands for the number beside it.
 */
typedef struct saltus_observable {
    int32_t row, divisor_row;
    double value, divisor;
} saltus_observable;

/** What is recorded at a sample: counts of some species, and real values. */
typedef struct saltus_columns {
    int32_t n_counts, n_observables;
    const int32_t *count_species;         /* [count] */
    const saltus_observable *observables; /* [observable] */
} saltus_columns;

#endif
