/** Between the files that freeze a model, and print a frozen one. */
#ifndef SALTUS_MODEL_FREEZE_FREEZE_H
#define SALTUS_MODEL_FREEZE_FREEZE_H

#include "model/network/network.h"

/** A law as a product: rate * (x[species[0]] - offset[0]) * …, in that order. */
enum { SALTUS_MAX_FACTORS = 16 };
typedef struct saltus_product {
    double rate;
    int n;
    int species[SALTUS_MAX_FACTORS];
    double offset[SALTUS_MAX_FACTORS];
} saltus_product;

/** What a firing of a reaction may change: a participant's n + part molecules are n + 1 where u is
 * below the part, else n; or both a whole number of times. It happens in that share of firings. */
typedef struct saltus_way {
    double u, share;
    int times;
} saltus_way;

/** A reaction on its way into the tables; a reversible one that is split makes two, and one with
 * stoichiometries that are drawn one for each way. */
typedef struct saltus_step {
    const char *id;
    const saltus_reaction *reaction;
    const saltus_way *way;
    const saltus_expr *law; /**< NULL: a product that comes from nothing that was set */
    saltus_law_form form;
    double rate;   /**< of a product, */
    int n_factors; /**< and how many it has; they stand behind those of the steps before it */
    bool is_product;
    bool backward;
    bool is_net; /**< its law is the reaction's where that has one sign, else 0 */
    bool drifts; /**< its law reads the time other than through flags */
} saltus_step;

/** A constant of programs, and what it is the value of. */
typedef struct saltus_constant {
    const saltus_expr *e;
    double value;
} saltus_constant;

/** What a value comes from, directly or through other values. */
enum saltus_reads {
    SALTUS_READS_SIZES = 1,   /**< of compartments */
    SALTUS_READS_AMOUNTS = 2, /**< initial ones */
    SALTUS_READS_SET = 4,     /**< values that saltus_model_set gave, as a sweep does */
};

/** What a constant that comes from such values has decided about the network: it is the same as
 * long as the constant is, or only its sign. */
typedef struct saltus_decision {
    const saltus_expr *e;
    double value;
    bool by_sign;
} saltus_decision;

/** The counts that a rule reads, also through other rules: a stretch of rule_counts. */
typedef struct saltus_counts_of_rule {
    size_t first, n;
} saltus_counts_of_rule;

typedef struct saltus_freezer {
    saltus_model *model;
    saltus_network *net;
    saltus_arena *arena; /**< the network's: its tables */
    saltus_law law_mode;
    double *values;       /**< [variable] at time 0; on a lattice those of a site */
    double *amounts;      /**< [variable] of species, before they were rounded to counts */
    char misfit[400];     /**< what is wrong with an amount that is no count, a sentence; or "" */
    bool is_too_large;    /**< it has too many molecules */
    unsigned char *reads; /**< [variable] what its value comes from: saltus_reads */
    bool *reacts;         /**< [variable] reactions change it */
    bool *is_assigned;    /**< [variable] events change it */
    const saltus_expr **rules; /**< [variable] rule with clock conditions as flags, or NULL */
    const saltus_expr **rates; /**< [variable] rate rule with clock conditions as flags, or NULL */
    bool *has_time;            /**< [variable] its rule reads the time other than through flags */
    int *order;                /**< variables in an order of evaluation */
    int n_order;
    bool may_turn;      /**< comparisons that drift with time become flags that turn */
    bool is_continuous; /**< laws are integrated, also those of time: there are rate rules, or
                             triggers that drift with time */
    const saltus_expr *follower; /**< the rate of the variable that follows triggers, or NULL */
    int follower_row;
    bool *moves;   /**< [variable] it changes between reactions, by itself: it has a
                        rate rule, or a rule that reads such a variable or the time */
    int64_t *seen; /**< [variable] number of the visit that has looked into its rule */
    int64_t n_visits;
    saltus_counts_of_rule *counts_of_rules; /**< [variable] of those with rules that change */
    int32_t *rule_counts;
    size_t n_rule_counts, rule_counts_capacity;

    saltus_clock *clocks;
    const saltus_expr **clock_when; /**< [flag] */
    size_t n_clocks, clocks_capacity, clock_when_capacity;

    bool *is_real;    /**< [variable] a species that is no count of molecules */
    bool *is_fixed;   /**< [variable] a species that nothing changes, in a model without lattice */
    bool *is_drawn;   /**< [variable] its value at time 0 differs from trajectory to trajectory */
    bool *is_smooth;  /**< [variable] a continuous distribution gives it, once it is evaluated */
    int *start_order; /**< those of them that have no rule, in an order of evaluation */
    int n_starts;
    saltus_variate *variates;
    size_t n_variates, variates_capacity;

    saltus_step *steps;
    size_t n_steps, steps_capacity;
    int32_t *factor_species; /**< [factor] of products, step by step: a row, */
    double *factor_offset;   /**< and what is taken off its value; until the tables have both */
    size_t n_factors, factor_species_capacity, factor_offset_capacity;

    saltus_instruction *code;
    size_t n_code, code_capacity;
    saltus_constant *constants;
    size_t n_constants, constants_capacity;
    saltus_program *laws;
    size_t n_laws, laws_capacity;
    int n_temporaries;
    bool has_tables; /**< some program has one */

    saltus_instruction *bound_code; /**< on intervals: saltus_fill_thinned */
    size_t n_bound_code, bound_code_capacity;
    int n_bound_temporaries; /**< slots that its programs need beside the time and drifts */
    saltus_drift *drifts;
    size_t n_drifts, drifts_capacity;
    saltus_program *bounds;

    saltus_decision *decisions;
    size_t n_decisions, decisions_capacity;
    bool may_have_hubs; /**< constants decide about its classes, counts whether there are any */
    bool is_rigid; /**< something else was decided by values that were set, or memory ran out */

    saltus_delayed *delayed;
    const saltus_expr **slopes; /**< of what is integrated, in its order */
    saltus_program *rate_programs, *root_programs;
    int32_t *motion_rows;
    saltus_kink *kinks;
    saltus_program *rule_programs; /* these stand in the tables, in the network's arena */
    saltus_trigger *triggers;
    saltus_program *wavering;       /* [n_wavering], in the arena, */
    const saltus_expr **conditions; /* of these */
    saltus_setting *settings;
} saltus_freezer;

/** Variables from here on are flags: n_variables + f. */
#define SALTUS_FLAG_VARIABLE(f, flag) ((int)(f)->model->n_variables + (flag))
/** And from here on variates. */
enum { SALTUS_FIRST_VARIATE = 1 << 30 };
#define SALTUS_VARIATE_VARIABLE(f, variate) (SALTUS_FIRST_VARIATE + (variate))

/** "model.xml:31: " for messages, or "". The text is in `buffer`. */
const char *saltus_place(const saltus_model *model, int line, char buffer[160]);
/** The same for a line of another file than the model's. */
const char *saltus_place_in(const char *path, int line, char buffer[160]);

/** "species", "compartment" or "parameter". */
const char *saltus_kind_text(const saltus_variable *v);

/** True when e's value never changes: no counts that change, variables, flags, changing rules or
 * time. */
bool saltus_is_constant(const saltus_freezer *f, const saltus_expr *e);
double saltus_constant_value(const saltus_freezer *f, const saltus_expr *e);
/** The same, where the network will depend on the value, or on its sign: it is noted. */
double saltus_deciding_value(saltus_freezer *f, const saltus_expr *e, bool by_sign);
/** Whether a variable that a rule determines stands in e. */
bool saltus_reads_rule(const saltus_freezer *f, const saltus_expr *e);
/** Whether e comes from values that were set. */
bool saltus_reads_set(const saltus_freezer *f, const saltus_expr *e);

/** Note which numbers of a row come from values that were set. */
SALTUS_MUST_CHECK saltus_status saltus_note_set(saltus_freezer *f, saltus_error *err);

/** SALTUS_E_INVALID when it is no sum of what saltus_law has. */
SALTUS_MUST_CHECK saltus_status saltus_law_check(saltus_law law, saltus_error *err);

/** Freeze, and keep the freezer, whose `net` then belongs to the model: point.c. To be freed with
 * saltus_freezer_free while the model is frozen. */
SALTUS_MUST_CHECK saltus_status saltus_freeze_and_keep(saltus_model *model, saltus_law law,
                                                       saltus_freezer *out, saltus_error *err);
void saltus_freezer_free(saltus_freezer *f);
/** Note why the mean field alone has a meaning; the first reason stays. Both texts may be the
 * caller's. */
SALTUS_MUST_CHECK saltus_status saltus_note_mean_only(saltus_freezer *f, const char *why,
                                                      const char *hint, saltus_error *err);
/** What a variable starts from: its rule, or its initial value; NULL: nothing is given. */
const saltus_expr *saltus_value_of(const saltus_variable *v);
/** Molecules at the start of an amount, which need not be whole; false when there can be none. */
bool saltus_start_count(double amount, double *count);

/* values.c */
/** Values at time 0, what they come from, and the order of rules; counts are whole. */
SALTUS_MUST_CHECK saltus_status saltus_evaluate(saltus_freezer *f, saltus_error *err);

/** The largest initial amount of all, not rounded, and whose it is; 0: there is none that is a
 * number. Values of the freezer are those of the model as it is now, also where they are none that
 * freezing takes. */
double saltus_largest_amount(saltus_freezer *f, int *variable);

/* volume.c */
/** Warn of laws that do not grow with compartments whose sizes were changed. */
SALTUS_MUST_CHECK saltus_status saltus_check_volumes(saltus_freezer *f, saltus_error *err);
/** Options of the command, "--mole 1e6" or "--volume cell=1e-15", with which the largest species
 * has about 1000 molecules; false when there are none or they are not needed. */
bool saltus_suggest_amounts(saltus_freezer *f, char *text, size_t room);
/** The option with which an amount of a species is about 1000 molecules; false where it is given in
 * molecules. */
bool saltus_suggest_mole(const saltus_freezer *f, int variable, double amount, char *text,
                         size_t room);

/* events.c */
/** Triggers of all events without time, before rows are placed because they may add flags. */
SALTUS_MUST_CHECK saltus_status saltus_free_triggers(saltus_freezer *f,
                                                     const saltus_expr **triggers,
                                                     saltus_error *err);
/** Compile them, and what events set. */
SALTUS_MUST_CHECK saltus_status saltus_fill_events(saltus_freezer *f, const saltus_expr **triggers,
                                                   saltus_error *err);

/* time.c */
/** Replace comparisons with time by flags. With `must`, anything else that reads the time fails,
 * with `hint` unless that is NULL. */
SALTUS_MUST_CHECK saltus_status saltus_free_of_time(saltus_freezer *f, const saltus_expr *e,
                                                    bool must, const char *what, const char *hint,
                                                    const saltus_expr **out, saltus_error *err);
/** A condition in which what is true at moments alone is so in ways that are followed: `time == c`
 * is `time >= c and time <= c`, and `rem(time, c) == 0` a flag of the times at which floor(time /
 * c) jumps. */
SALTUS_MUST_CHECK saltus_status saltus_compare_moments(saltus_freezer *f, const saltus_expr *e,
                                                       const saltus_expr **out, saltus_error *err);
/** Whether two expressions are written alike. */
bool saltus_same_expr(const saltus_expr *a, const saltus_expr *b);
/** Compile the times of flags, and the comparisons of those that turn. */
SALTUS_MUST_CHECK saltus_status saltus_compile_clocks(saltus_freezer *f, saltus_error *err);
/** Whether e reads the time, also through rules, other than through flags. */
bool saltus_reads_time(const saltus_freezer *f, const saltus_expr *e);

/** Whether e changes between reactions by itself, other than through flags. */
bool saltus_moves(const saltus_freezer *f, const saltus_expr *e);

/* rates.c */
/** Refuse rate rules that cannot be simulated, and note what they move. */
SALTUS_MUST_CHECK saltus_status saltus_note_rates(saltus_freezer *f, saltus_error *err);
/** Whether e is true at moments that no comparison shows: it reads the time elsewhere than within
 * <, <=, > and >=. */
bool saltus_turns_unseen(const saltus_freezer *f, const saltus_expr *e);
/** Whether e says that numbers are equal, or that they are not, and no truths. */
bool saltus_equates_numbers(const saltus_expr *e);
/** Where triggers still read the time and there are no rate rules, make the model continuous all
 * the same: it gets a variable that lets steps follow what the triggers compare. So does a model
 * with rate rules where that may swing to and fro while the variables hardly bend. */
SALTUS_MUST_CHECK saltus_status saltus_follow_triggers(saltus_freezer *f,
                                                       const saltus_expr *const *triggers,
                                                       saltus_error *err);
/** Replace comparisons with time in rate rules by flags. */
SALTUS_MUST_CHECK saltus_status saltus_free_rates(saltus_freezer *f, saltus_error *err);
/** Compile rate rules, and what crosses zero when a trigger that moves changes. */
SALTUS_MUST_CHECK saltus_status saltus_compile_rates(saltus_freezer *f,
                                                     const saltus_expr *const *triggers,
                                                     saltus_error *err);
/** List rules and laws that move, when reactions and their tree are known. */
SALTUS_MUST_CHECK saltus_status saltus_fill_moving(saltus_freezer *f, saltus_error *err);

/* kinks.c */
/** List what changes with the time in pieces: tables, comparisons, floor and its like, the
 * remainder, min, max and abs, in rules, rates, laws and [event] triggers. On a lattice only where
 * there are rates. */
SALTUS_MUST_CHECK saltus_status saltus_fill_kinks(saltus_freezer *f,
                                                  const saltus_expr *const *triggers,
                                                  saltus_error *err);

/* variates.c */
/** Refuse random numbers where there can be none. */
SALTUS_MUST_CHECK saltus_status saltus_check_draws(const saltus_freezer *f, saltus_error *err);
/** Whether a continuous distribution gives an expression its value, by itself or through variables
 * that are evaluated. */
bool saltus_is_smooth(const saltus_freezer *f, const saltus_expr *e);
/** Find species that are real values. */
void saltus_find_reals(saltus_freezer *f);
/** What a distribution with n arguments is worth where one number must stand for it. */
double saltus_variate_center(saltus_op op, int n, const double *args);
/** Compile an expression, and before it the variates that it draws, one for each of its nodes. */
SALTUS_MUST_CHECK saltus_status saltus_compile_drawing(saltus_freezer *f, const saltus_expr *e,
                                                       saltus_program *out, int32_t *first_variate,
                                                       int32_t *n_variates, saltus_error *err);
/** Compile the values at time 0 that differ from trajectory to trajectory, behind all settings. */
SALTUS_MUST_CHECK saltus_status saltus_fill_starts(saltus_freezer *f, saltus_error *err);

/* law.c */
/** e as rate * product of (x - offset). The rate is what the tree gives with every factor taken as
 * 1, so its bits depend on the spelling alone. false: it is none. */
bool saltus_find_product(saltus_freezer *f, const saltus_expr *e, saltus_product *out);
/** Turn every reaction into one or two steps. */
SALTUS_MUST_CHECK saltus_status saltus_make_steps(saltus_freezer *f, saltus_error *err);

/* delays.c */
/** Whether a net change of a reaction happens when it begins. */
bool saltus_changes_at_once(const saltus_reaction *r, int64_t net);
/** Reactions that take a while, once steps are known. */
SALTUS_MUST_CHECK saltus_status saltus_fill_delays(saltus_freezer *f, saltus_error *err);

/* ways.c */
/** The ways of a reaction, (*ways)[*n] in the freezer's arena or constant: one where all is whole.
 * Fails where stoichiometries are not, and neither scaling nor the user allows that. */
SALTUS_MUST_CHECK saltus_status saltus_find_ways(saltus_freezer *f, const saltus_reaction *r,
                                                 bool backward, const saltus_way **ways, int *n,
                                                 saltus_error *err);
/** How many molecules of a participant a firing in this way takes or makes. */
int64_t saltus_way_count(const saltus_way *way, const saltus_participant *p);

/* split.c */
/** The rates there and back of a reaction. A reversible one's law is their difference. Where it is
 * none, or the reaction is not reversible, and it may go back: the law where it is above 0, and
 * below 0; *is_net says so. NULL both when the reaction goes one way, with a warning when the law
 * of a reversible one may fall below 0 all the same. */
SALTUS_MUST_CHECK saltus_status saltus_split_law(saltus_freezer *f, const saltus_reaction *r,
                                                 const saltus_expr *law,
                                                 const saltus_expr **forward,
                                                 const saltus_expr **backward, bool *is_net,
                                                 saltus_error *err);

/** The rule behind a variable that reactions change, or NULL. */
const saltus_expr *saltus_rule_behind(const saltus_freezer *f, const saltus_expr *e);
/** How many of a variable stand on a side of an equation. */
int64_t saltus_side_count(const saltus_participant *side, int n_side, int variable);
/** Whether e is x - 1, or x - 2 …, where more x than that stand on one side of the equation: the
 * molecules that are left to choose from. */
bool saltus_counts_ways(saltus_freezer *f, const saltus_reaction *r, const saltus_expr *e);

/* terms.c */
/** The same rates of a law that is such a difference only once it is multiplied out and what stands
 * above and below the line is cancelled, as in V A (1 - B / (K A)) / (Km + A + B); NULL both where
 * it is none. At most 256 terms are looked at. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_expand_law(saltus_freezer *f, const saltus_reaction *r,
                                                  const saltus_expr *law,
                                                  const saltus_expr **forward,
                                                  const saltus_expr **backward, saltus_error *err);

/* program.c */
/** Compile an expression; rows are final only after saltus_place_rows. */
SALTUS_MUST_CHECK saltus_status saltus_compile(saltus_freezer *f, const saltus_expr *e,
                                               saltus_program *out, saltus_error *err);
/** The row of a constant expression, and that of a variable or a flag; final only after
 * saltus_place_rows, by saltus_final_row. */
SALTUS_MUST_CHECK saltus_status saltus_constant_row(saltus_freezer *f, const saltus_expr *e,
                                                    int *row, saltus_error *err);
int saltus_variable_row(const saltus_freezer *f, int variable);
/** The rows of a table's numbers, which stand together once, the first of them, and of its length.
 */
SALTUS_MUST_CHECK saltus_status saltus_table_rows(saltus_freezer *f, const saltus_expr *e,
                                                  int *first, int *length, saltus_error *err);
int saltus_final_row(const saltus_tables *n, int row);
/** What a piecewise without an otherwise is where no condition holds: NaN. */
extern const saltus_expr saltus_undefined;
/** Compile an expression behind another one that is run before it in the same program, whose values
 * are to stay. The value goes to the row `target`; -1: to a temporary from *free_temporary on,
 * which is raised behind it, or it is where it stands already. *row says where. */
SALTUS_MUST_CHECK saltus_status saltus_compile_behind(saltus_freezer *f, const saltus_expr *e,
                                                      int target, int *free_temporary, int *row,
                                                      saltus_error *err);
/* share.c */
/** Compute what stands twice in the code from `first` on once. Its temporaries are rows from `base`
 * to 2 * base - 1, and *row is that of its result; *n_temporaries is raised to how many it needs.
 */
SALTUS_MUST_CHECK saltus_status saltus_share(saltus_freezer *f, size_t first, int base, int *row,
                                             int *n_temporaries, saltus_error *err);
/** Put constants and temporaries behind the other rows and patch all programs. */
void saltus_place_rows(saltus_freezer *f);

/* tables.c */
/** Reactions, laws, dependencies, the tree. */
SALTUS_MUST_CHECK saltus_status saltus_fill_reactions(saltus_freezer *f, saltus_error *err);
/** Whether a count, directly or through rules, enters e. */
bool saltus_reads_counts(const saltus_freezer *f, const saltus_expr *e);

/* dependents.c */
/** What depends on what, and the tree of sums; behind changes and laws. */
SALTUS_MUST_CHECK saltus_status saltus_fill_dependents(saltus_freezer *f, saltus_error *err);
/** The nodes of the tree above some of the reactions, level by level; the tree is there. */
SALTUS_MUST_CHECK saltus_status saltus_nodes_above(saltus_freezer *f, const int32_t *reactions,
                                                   int n_reactions, const int32_t **nodes,
                                                   int32_t *n_nodes, saltus_error *err);

/* thinned.c */
/** Bounds of the laws that drift with time; behind rules and reactions. */
SALTUS_MUST_CHECK saltus_status saltus_fill_thinned(saltus_freezer *f, saltus_error *err);
/** Compile an expression on intervals that reads no rules of the time. */
SALTUS_MUST_CHECK saltus_status saltus_compile_interval(saltus_freezer *f, const saltus_expr *e,
                                                        saltus_program *out, saltus_error *err);
/** How many slots programs on intervals have, once all are compiled. */
int saltus_interval_slots(const saltus_freezer *f);
/** The same for programs on intervals as saltus_place_rows, and after it. */
void saltus_place_intervals(saltus_freezer *f);

/* hubs.c */
/** Put the reactions of a large network into hubs and classes, when all else is in the tables. */
SALTUS_MUST_CHECK saltus_status saltus_fill_hubs(saltus_freezer *f, saltus_error *err);

/* live.c */
/** Find the live rules (kernel/base/tables.h), when all programs are compiled and placed. */
SALTUS_MUST_CHECK saltus_status saltus_find_live_rules(saltus_freezer *f, saltus_error *err);

/* reads.c */
/** Which counts each rule reads, once rules are bound. */
SALTUS_MUST_CHECK saltus_status saltus_collect_rule_counts(saltus_freezer *f, saltus_error *err);
/** Call found for every count that e reads, also through rules, for some more than once. */
void saltus_visit_counts(const saltus_freezer *f, const saltus_expr *e,
                         void (*found)(void *user, int species), void *user);
/** Whether visit is true for some node of e or of a rule behind it; each rule is looked into once.
 */
SALTUS_MUST_CHECK saltus_status saltus_any_through_rules(
    saltus_freezer *f, const saltus_expr *e, bool (*visit)(const saltus_expr *node, void *user),
    void *user, bool *found, saltus_error *err);
/** Whether something but the time changes e between events: reactions or rate rules. */
SALTUS_MUST_CHECK saltus_status saltus_flows(saltus_freezer *f, const saltus_expr *e, bool *is_so,
                                             saltus_error *err);

/* lattice.c */
/** Refuse what was set but cannot be, before anything is frozen. */
SALTUS_MUST_CHECK saltus_status saltus_check_space(const saltus_model *model, saltus_error *err);
/** The lattice of a model with space, once reactions and initial counts are known. */
SALTUS_MUST_CHECK saltus_status saltus_freeze_lattice(saltus_freezer *f, saltus_error *err);

/* orders.c */
/** How laws and triggers follow counts, for tau-leaping; the last, when all rows are final. */
SALTUS_MUST_CHECK saltus_status saltus_freeze_orders(saltus_freezer *f,
                                                     const saltus_expr *const *triggers,
                                                     saltus_error *err);

/* bending.c */
/** The conditions of triggers that read counts, compiled; before rows are final. */
SALTUS_MUST_CHECK saltus_status saltus_list_wavering(saltus_freezer *f,
                                                     const saltus_expr *const *triggers,
                                                     saltus_error *err);
/** Which laws may bend within a leap, and the counts that these and conditions read; behind orders.
 */
SALTUS_MUST_CHECK saltus_status saltus_find_bending(saltus_freezer *f, saltus_error *err);

/* info_lattice.c */
/** Print size, step, faces, compartments, site types, particles, reactions and warnings of a frozen
 * model's lattice; at most `most` compartments, species and reactions. */
SALTUS_MUST_CHECK saltus_status saltus_print_lattice(const saltus_model *model, int most, FILE *out,
                                                     saltus_error *err);

#endif
