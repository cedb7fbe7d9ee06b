/**
 * The flat tables of a frozen model, as the kernels read them.
 *
 * Values live in rows, v[row] or v[row][lane], all double:
 *
 *     species        counts of molecules, whole numbers
 *     variables      real values that events or rate rules change, or that are drawn at time 0
 *     flags          clock conditions such as `time >= 25`: 1 or 0
 *     rules          targets of assignment rules, in an order in which they can be evaluated
 *     time           set before a program is run that may read it
 *     one            the number 1: the factor that is not there
 *     constants      of the programs
 *     temporaries    of the programs
 *     variates       random numbers that were drawn for a program
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
    double offset;
    int32_t first, second;
} saltus_pair;

/** What a flag is. */
typedef enum saltus_clock_kind {
    SALTUS_CLOCK_STEPS, /**< 1 from a time on, or up to it */
    SALTUS_CLOCK_TURNS, /**< 1 while a comparison holds that drifts with time; the next flag is */
    SALTUS_CLOCK_NEXT,  /**< the time of its next change, or of another look (ssa/turning.h) */
    SALTUS_CLOCK_JUMPS  /**< 1 at the moments at which a value jumps; the next flag likewise */
} saltus_clock_kind;

/** A clock condition: flag `row` is 1 from the time that the program gives on (or up to it). */
typedef struct saltus_clock {
    saltus_program when;            /**< the time at which the condition changes */
    saltus_program holds, interval; /**< of one that turns: 1 or 0, and the same on intervals; of
                                         one that jumps: the value */
    int32_t kind;                   /**< a saltus_clock_kind */
    int32_t row;
    int32_t after;  /**< 1: true after that time; 0: true before it */
    int32_t strict; /**< 1: changes just after that time; 0: at it */
} saltus_clock;

/** Whether its next change is searched for, and stands in the next flag. */
SALTUS_FN int saltus_clock_is_searched(const saltus_clock *c)
{
    return c->kind == SALTUS_CLOCK_TURNS || c->kind == SALTUS_CLOCK_JUMPS;
}

/* Rows of directions of laws that may bend, and of conditions that may waver. What finds no row of
 * its directions among so many shares the first. */
enum { SALTUS_MOST_BENDS = 8 };

typedef struct saltus_trigger {
    saltus_program trigger, delay, priority;
    int32_t has_delay, has_priority, persistent, initial_value, use_trigger_values;
    int32_t first_assignment, n_assignments;
    int32_t first_variate, n_variates; /**< drawn before the delay is computed */
} saltus_trigger;

/** An event's assignment: row `row` takes the value of the program, times that of row `size` once
 * the event's others are made, if that is not -1. Or a value at time 0 that differs from trajectory
 * to trajectory. */
typedef struct saltus_setting {
    saltus_program value;
    int32_t row, size;
    int32_t first_variate, n_variates; /**< drawn before the value is computed */
    int32_t reads_rules;               /**< of a value at time 0 */
} saltus_setting;

/** A random number that an expression asks for: v[row] takes a variate of the distribution `op`
 * with the values of n programs, parameters and bounds (variates.h), as arguments. */
typedef struct saltus_variate {
    int32_t op, n, row;
    saltus_program args[4];
} saltus_variate;

/** A reaction that takes a while. Its changes are those of its beginning. */
typedef struct saltus_delayed {
    saltus_program delay;
    int32_t reaction;
    int32_t first_variate, n_variates; /**< drawn before the delay is computed */
    int32_t first_change, n_changes;   /**< late changes, of its end */
    int32_t reads_rules;               /**< the delay does */
} saltus_delayed;

/** What drifts with time and laws read: a rule, or a part of a law that reads no count. */
typedef struct saltus_drift {
    saltus_program interval; /**< on intervals; the result goes to slot 1 + its own number */
    int32_t rule;            /**< number of the rule; -1: a part of a law */
    int32_t has_counts;      /**< 1: it reads counts, and changes when they do */
} saltus_drift;

/** What only the time changes, and changes in pieces: rates may jump or bend where it goes from one
 * to the next. `row` has its value once the program `pieces` was run. Without entries that is the
 * piece; else the piece is the place of the value in a table of so many, which begins in row
 * `table`. */
typedef struct saltus_kink {
    int32_t row, table, n_entries;
} saltus_kink;

/* Of a network with hubs (kernel/ssa/hubs.h); what an event reads together stands together, where a
 * GPU reads it at once. */

/** A hub: a leaf of the tree. */
typedef struct SALTUS_ALIGNED(16) saltus_hub {
    double alone; /**< sum of the constants of its reactions of order 1 */
    int32_t species;
    uint32_t n_classes : 4, class_first : 28;
} saltus_hub;

/** A reaction of order 1 of a hub, and the sum of the constants up to it. */
typedef struct SALTUS_ALIGNED(16) saltus_alone {
    double sum;
    int32_t reaction, spare;
} saltus_alone;

/** Reactions of order 2 of a hub with one constant, > 0. `weight`: which weight is its own, and
 * that of other classes with the same partners; `block`: that of the first block of its entries;
 * -1: it has none. */
typedef struct SALTUS_ALIGNED(16) saltus_class {
    double rate, inverse;
    int32_t entry_first, entry_end, block, weight;
} saltus_class;

/** A partner of a hub in a class: `ways` times (count - offset) in the class's weight. `reaction`
 * is that of one way; of several, they stand from entry_reaction[reaction] on, one that counts
 * several times as often. */
typedef struct SALTUS_ALIGNED(16) saltus_entry {
    int32_t species, offset, ways, reaction;
} saltus_entry;

/** A weight that a species enters, so many times. */
typedef struct SALTUS_ALIGNED(8) saltus_member {
    int32_t weight, ways;
} saltus_member;

/** A hub that is a leaf, and its species. */
typedef struct SALTUS_ALIGNED(8) saltus_follower {
    int32_t leaf, hub;
} saltus_follower;

/** What follows the bounds of a species: members, and leaves in `reach`. member_first is -1 where
 * no reaction changes it as it fires. */
typedef struct SALTUS_ALIGNED(16) saltus_reach {
    int32_t member_first, member_end, leaf_first, leaf_end;
} saltus_reach;

/** What a reaction changes: counts, if they are so few, and leaves that are reactions in `own_of`.
 */
enum { SALTUS_FIRING_CHANGES = 4 };
typedef struct SALTUS_ALIGNED(16) saltus_firing {
    int32_t n, own_first, own_end, has_rules;
    int32_t species[SALTUS_FIRING_CHANGES], amount[SALTUS_FIRING_CHANGES];
} saltus_firing;

/* Up to this many children stand under a node of the propensity tree. */
enum { SALTUS_FANOUT = 8, SALTUS_MAX_LEVELS = 11 };

/* The arrays of a frozen network: X(type of an element, name, how many elements), where `t` are the
 * tables on the host. The struct, the copy on a GPU, the text of a lattice's kernels and the
 * comparison of models are made from these lists, so that a new array is a line here, what fills it
 * and what reads it. A comment says what the indices of an array are and what it holds. */
/* clang-format off */

/* Numbers that differ from point to point of a sweep (model/freeze/point.h). */
#define SALTUS_POINT_ARRAYS(X)                                                                     \
    X(int64_t, initial_counts, t->n_species)                  /* [species] molecules at time 0 */  \
    X(double, initial_variables, t->n_variables)              /* [variable] */                     \
    X(double, constants, t->n_constants)                      /* [constant] */                     \
    X(double, rate, t->n_reactions)                           /* [reaction] of products, >= 0 */

/* What reactions change, and their laws: those that are products, ((rate * f1) * f2) * f3 … with
 * factors v[species] - offset, and the numbers of the others' programs in `laws`. */
#define SALTUS_REACTION_ARRAYS(X)                                                                  \
    X(int32_t, change_row, t->n_reactions + 1)                /* [reaction + 1] first change */    \
    X(int32_t, change_species, t->change_row[t->n_reactions]) /* [change] once per reaction */    \
    X(int64_t, change_amount, t->change_row[t->n_reactions])  /* [change] molecules, never 0 */    \
    X(int32_t, factor_row, t->n_reactions + 1)                /* [reaction + 1] first factor */    \
    X(int32_t, factor_species, t->factor_row[t->n_reactions]) /* [factor] */                       \
    X(double, factor_offset, t->factor_row[t->n_reactions])   /* [factor] molecules: 0, 1, 2 … */  \
    X(int32_t, law_program, t->n_reactions)                   /* [reaction] -1: a product */

/* Programs: of laws, rules, clock conditions and events. */
#define SALTUS_PROGRAM_ARRAYS(X)                                                                   \
    X(saltus_program, laws, t->n_laws)                        /* [law] of no products */           \
    X(saltus_instruction, code, t->n_code)                    /* [instruction] */                  \
    X(saltus_program, rules, t->n_rules)                      /* [rule] */                         \
    X(int32_t, rate_rows, t->n_rates)                         /* [rate] row of its variable */     \
    X(saltus_program, rates, t->n_rates)                      /* [rate] derivative, per time */    \
    X(saltus_program, roots, t->n_roots)                      /* [root] what a trigger compares */ \
    X(saltus_kink, kinks, t->n_kinks)                         /* [kink] of rules, rates and laws */ \
    X(saltus_clock, clocks, t->n_flags)                       /* [flag] */                         \
    X(saltus_trigger, triggers, t->n_triggers)                /* [event] */                        \
    X(saltus_setting, settings, t->n_settings) /* [setting] by event; the last: at time 0 */       \
    X(saltus_variate, variates, t->n_variates)                /* [variate] in order */             \
    X(saltus_delayed, delayed, t->n_delayed)                  /* [delayed reaction] */             \
    X(int32_t, delayed_of, t->n_delayed > 0 ? t->n_reactions : 0) /* [reaction] -1: takes no time */ \
    X(int32_t, late_species, t->n_late)                       /* [late change] */                  \
    X(int64_t, late_amount, t->n_late)                        /* [late change] molecules */

/* Laws that drift with time, and programs on intervals for their bounds (kernel/ssa/thinned.h). In
 * these, slot 0 is the time, slots 1 to n_drifts are what drifts, then come temporaries. */
#define SALTUS_THINNED_ARRAYS(X)                                                                   \
    X(int32_t, thinned, t->n_thinned)                         /* [thinned] reactions, rising */    \
    X(int32_t, thinned_of, t->n_thinned > 0 ? t->n_reactions : 0) /* [reaction] thinned, or -1 */  \
    X(saltus_program, bounds, t->n_thinned)                   /* [thinned] the law's interval */   \
    X(saltus_drift, drifts, t->n_drifts)                      /* [drift] in order */               \
    X(int32_t, drift_row, t->n_thinned + 1)                   /* [thinned + 1] first drift */      \
    X(int32_t, drift_of, t->drift_row[t->n_thinned])          /* [..] that the law reads */        \
    X(saltus_instruction, bound_code, t->n_bound_code)        /* [instruction] on intervals */     \
    X(int32_t, thinned_node, t->n_thinned_nodes)              /* [..] nodes above them, by level */

/* How laws follow a species, for tau-leaping. */
#define SALTUS_ORDER_ARRAYS(X)                                                                     \
    /* [species] the highest order of the laws that read it, 1 at least if a trigger does; 0: there \
     * are none. That of a law that is no product is a bound of d ln law / d ln counts when all     \
     * that it reads change alike */                                                               \
    X(double, order, t->n_species)                                                                 \
    /* [species] how many of it, at most, a reaction of that order takes */                        \
    X(int32_t, order_own, t->n_species)                                                            \
    /* Laws that may bend within a leap: of what they do orders tell nothing. */                   \
    X(int32_t, bending, t->n_bending)                         /* [bending] reactions, rising */    \
    X(int32_t, bending_of, t->n_bending > 0 ? t->n_reactions : 0) /* [reaction] bending, or -1 */  \
    /* [bending] a row of bend[row][species]: 1 or -1, the way in which a species raises the laws   \
     * of that row; or 0, if they do not read it */                                                \
    X(int32_t, bend_of, t->n_bending)                                                              \
    /* Conditions of triggers that read counts, which may turn and turn back within a leap; their  \
     * rows. */                                                                                    \
    X(saltus_program, wavering, t->n_wavering)                                                     \
    X(int32_t, waver_of, t->n_wavering)                                                            \
    X(double, bend, (int64_t)t->n_bends * t->n_species)                                            \
    /* [row][reaction] 1, or -1 if fewer firings of it raise the laws of that row; 0: none do */   \
    X(int8_t, bend_way, (int64_t)t->n_bends * t->n_reactions)

/* What follows from the others: which live rules, propensities and nodes change when a reaction
 * fires, itself included where it does. Live are rules that a law, a clock or an event reads, also
 * through others; the rest are computed where a sample is recorded. Rules and dependents stand in
 * lists for each reaction, or, by_species, in lists for each species whose count a reaction changes.
 * Dependents are first those of pairs, in fours (the last may stand several times), then the
 * others. The nodes above them are listed for each reaction; by_species they are found. Moving are rules and laws that change between reactions, because they read a variable
 * with a rate rule, or the time. Level 0 of the tree of partial sums has groups of propensities.
 * Propensities and the values of nodes stand in one array, values[n_leaves + node], so that the
 * children of node k are the SALTUS_FANOUT values from values[children[k]] on. Unsafe are species
 * that some law does not keep from going negative. */
#define SALTUS_DERIVED_ARRAYS(X)                                                                   \
    X(saltus_pair, pairs, t->n_reactions)                     /* [reaction] law, if so simple */   \
    X(int32_t, rule_row, t->n_lists + 1)                      /* [list + 1] first rule */          \
    X(int32_t, rule_of, t->rule_row[t->n_lists])              /* [..] live rules, in order */      \
    X(int32_t, dependent_row, t->n_lists + 1)                 /* [list + 1] first dependent */     \
    X(int32_t, dependent, t->dependent_row[t->n_lists])       /* [..] reactions */                 \
    X(int32_t, dependent_other, t->n_lists)                   /* [list] first of no pair */        \
    X(int32_t, children, t->level_first[t->n_levels])         /* [node] first child in values */   \
    X(int8_t, n_children, t->level_first[t->n_levels])        /* [node] 1 to SALTUS_FANOUT */      \
    X(int32_t, node_row, t->by_species ? 0 : t->n_lists + 1)  /* [list + 1] first node */          \
    X(int32_t, node, t->by_species ? 0 : t->node_row[t->n_lists]) /* [..] nodes, level by level */ \
    X(int32_t, unsafe, t->n_unsafe)                           /* [..] species */                   \
    X(int32_t, live_rules, t->n_live_rules)                   /* [..] rules, in order */           \
    X(int32_t, moving_rules, t->n_moving_rules)               /* [..] rules, in order */           \
    X(int32_t, moving_laws, t->n_moving_laws)                 /* [..] reactions */                 \
    X(int32_t, moving_nodes, t->n_moving_nodes)               /* [..] above them, by level */      \
    /* [rate, then moving law] the row where `motion` leaves its value */                          \
    X(int32_t, motion_rows, t->n_rates + t->n_moving_laws)

/* Reactions of a large network in hubs and classes (kernel/ssa/hubs.h); empty where each has a
 * propensity of its own. Leaf i of the tree is hub i, or, from n_hubs on, one reaction. */
#define SALTUS_HUB_ARRAYS(X)                                                                       \
    X(saltus_hub, hubs, t->n_hubs)                            /* [hub] */                          \
    X(int32_t, alone_row, t->n_hubs > 0 ? t->n_hubs + 1 : 0)  /* [hub + 1] first of order 1 */     \
    X(saltus_alone, alone, t->n_alone)                        /* [..] by hub */                    \
    X(saltus_class, classes, t->n_classes)                    /* [class] by hub */                 \
    X(int32_t, weighed, t->n_weighed)                         /* [weight] the first class of it */ \
    X(saltus_entry, entries, t->n_entries)                    /* [entry] by class */               \
    X(int32_t, entry_reaction, t->n_entry_reactions)          /* [..] of entries of many ways */   \
    X(saltus_reach, reaches, t->n_hubs > 0 ? t->n_species : 0) /* [species] */                     \
    X(saltus_member, members, t->n_members)                   /* [..] by species */                \
    X(saltus_follower, reach, t->n_reach)                     /* [..] by species */                \
    X(int32_t, own, t->n_own)                                 /* [leaf - n_hubs] its reaction */   \
    X(int32_t, own_of, t->n_own_of)                           /* [..] leaves, by reaction */       \
    X(saltus_firing, firings, t->n_hubs > 0 ? t->n_reactions : 0) /* [reaction] */

#define SALTUS_FIXED_ARRAYS(X)                                                                     \
    SALTUS_REACTION_ARRAYS(X) SALTUS_PROGRAM_ARRAYS(X) SALTUS_THINNED_ARRAYS(X)                    \
    SALTUS_ORDER_ARRAYS(X) SALTUS_DERIVED_ARRAYS(X) SALTUS_HUB_ARRAYS(X)
/* clang-format on */

typedef struct saltus_tables {
    int32_t n_species, n_variables, n_flags, n_rules, n_constants, n_temporaries, n_rows;
    int32_t row_variables, row_flags, row_rules, row_time, row_one, row_constants, row_temporaries;
    int32_t n_reactions, n_laws, n_code, n_triggers, n_settings, n_unsafe;
    int32_t n_variates, row_variates;
    int32_t n_delayed, n_late;
    int32_t idles;      /**< a reaction that lacks reactants does nothing; else that is a failure */
    int32_t n_starts;   /**< of the settings, the last ones: values at time 0, in their order */
    int32_t has_tables; /**< some program has one: held, linear, spline */
    int32_t n_bending, n_wavering; /**< laws, and conditions, to be looked at within a leap */
    int32_t n_bends;               /**< rows of directions */
    int32_t n_thinned, n_drifts, n_bound_code, n_thinned_nodes;
    int32_t row_slots, n_turning; /**< intervals of clocks that turn, two numbers each; how many */
    int32_t n_intervals;          /**< slots of programs on intervals; 0: no law drifts with time */
    int32_t n_rates, n_roots;     /**< variables with a rate rule; roots of triggers that move */
    int32_t n_live_rules;
    int32_t n_lists, by_species; /**< one for each species, else for each reaction */
    int32_t n_kinks;
    int32_t n_moving_rules, n_moving_laws, n_moving_nodes, n_moving_triggers;
    int32_t n_hubs; /**< 0: each reaction has a propensity of its own */
    int32_t n_alone, n_classes, n_weighed, n_weights, n_entries, n_entry_reactions;
    int32_t n_members, n_reach, n_own, n_own_of;
    /** The tree over hubs and own reactions, as the three below are that over reactions. */
    int32_t n_hub_leaves, n_hub_levels, hub_first[SALTUS_MAX_LEVELS + 1];
    int32_t n_leaves; /**< reactions, padded to whole nodes */
    int32_t n_levels;
    /** The number of the first node of each level. All levels but the last are padded with empty
     * nodes to a multiple of the fan-out. */
    int32_t level_first[SALTUS_MAX_LEVELS + 1];
    int32_t level_nodes[SALTUS_MAX_LEVELS]; /**< nodes that are not padding */
    int32_t largest_event;                  /**< assignments of the event that has most */
    saltus_program motion;                  /**< moving rules, rates and moving laws in one */
    saltus_program pieces;                  /**< values of kinks, and before them rules of time */
    /** Some trigger or clock depends on counts, and is evaluated after every reaction. */
    int32_t watches_state;
    int32_t watched_clocks; /**< clocks that depend on counts */
    int64_t largest_change; /**< molecules of a species by one firing, 1 at least */
#define SALTUS_MEMBER(type, name, n) const type *name;
    SALTUS_POINT_ARRAYS(SALTUS_MEMBER)
    SALTUS_FIXED_ARRAYS(SALTUS_MEMBER)
#undef SALTUS_MEMBER
} saltus_tables;

/** The arrays of hubs alone. */
typedef struct saltus_hub_arrays {
#define SALTUS_MEMBER(type, name, n) const type *name;
    SALTUS_HUB_ARRAYS(SALTUS_MEMBER)
#undef SALTUS_MEMBER
} saltus_hub_arrays;

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

/* Whether something happens beside reactions, or trajectories do not start alike. */
SALTUS_FN int saltus_has_events(const saltus_tables *t)
{
    return t->n_triggers > 0 || t->n_flags > 0 || t->n_starts > 0;
}

#endif
