/**
 * A network while it is built. Readers fill it in; saltus_model_freeze makes
 * src/model/network/network.h's flat tables of it.
 *
 * Everything that has a name and a value is a variable: species, parameters, compartments. Species
 * count molecules: a reader whose format means concentrations or moles writes the conversion into
 * the expressions (S becomes S / cell), so nothing below the readers knows of units.
 */
#ifndef SALTUS_MODEL_NETWORK_MODEL_H
#define SALTUS_MODEL_NETWORK_MODEL_H

#include "core/handle.h"
#include "core/memory.h"
#include "model/network/expr.h"

typedef enum saltus_kind {
    SALTUS_KIND_PARAMETER,
    SALTUS_KIND_COMPARTMENT, /**< like a parameter; its value is the size */
    SALTUS_KIND_SPECIES,
} saltus_kind;

typedef struct saltus_variable {
    const char *id;    /**< unique; any text ("R(a,l!1)" in .net files); the first: saltus_index */
    const char *label; /**< the file's name for people, or NULL */
    saltus_kind kind;
    const saltus_expr *initial; /**< value at time 0; species: in molecules (rounded half to even,
                                     with a warning). NULL: not given, which freezing refuses if
                                     the value is needed and there is no rule */
    const saltus_expr *rule;    /**< assignment rule: the value at all times; a species with a rule
                                     is an observable, not a count. NULL: none */
    const saltus_expr *rate;    /**< rate rule: the derivative of the value with respect to time;
                                     species: in molecules per time. The value is then real, also
                                     a species' amount, and moves between reactions. NULL: none */
    int compartment;            /**< species: the variable that is its compartment, or -1 */
    int dimensions;             /**< compartment: of its size, 1 to 3; 0: it has none, or no file
                                     says */
    double size_unit;           /**< compartment with dimensions: the unit of its size in
                                     m^dimensions; 0: it is none of such a size */
    bool boundary;              /**< species: reactions do not change it */
    bool constant;              /**< nothing may change it */
    const char *unit;           /**< parameter, compartment: as its value was written; NULL: none */
    double unit_size;           /**< how many units of the model that is */
    int unit_volume;            /**< power of a volume in it */
    bool in_moles;              /**< species: its amount in the file is in mole */
    bool has_no_unit; /**< species: its amount is in molecules because nothing says of what
                           it is the number; told how many stand for a mole, a reader
                           takes it as moles */
    bool is_point;    /**< compartment: without a size, as the file says */
    const saltus_expr *size_was; /**< compartment: what its size was before it was changed with the
                                     amounts in it; NULL: as it was read */
    bool is_spent;               /**< stoichiometries were computed with its value */
    saltus_expr *set;            /**< the value that was last set, which is then `initial`, */
    const saltus_expr *unset;    /**< and what `initial` was before */
    bool observable;             /**< no count, but recorded unless --species says else */
    int line;                    /**< in the file, 0: unknown */
} saltus_variable;

/**
 * So many molecules of a species, more than 0; the same species may stand several times. They are
 * asked for by saltus_molecules. A whole number stands in `code`, unless it is too large for that;
 * any other stands in front of the list, as far as `code` says. 0.5 A + 2 B + 2.5 C with room for
 * three participants:
 *
 *     | 0.5 |     | 2.5 | A, -3 | B, 2 | C, -3 |
 *                         ^ list
 */
typedef struct saltus_participant {
    int variable, code;
} saltus_participant;

typedef struct saltus_reaction {
    const char *id; /**< unique; the first: saltus_index */
    const saltus_participant *reactants, *products;
    const saltus_expr *law; /**< propensity, 1/time; for mass action its constant */
    int n_reactants, n_products;
    int line;
    bool mass_action; /**< the propensity is law times the number of ways to choose the reactants:
                           k A (A-1)/2 for 2 A. Boundary species count too */
    bool reversible;  /**< the law may be a difference forward - backward, to be split */
    bool takes_long : 1;      /**< it has a saltus_reaction_delay */
    bool consumes_late : 1;   /**< at its end */
    bool law_is_lattices : 1; /**< there is no constant but those that the lattice gives per type */
} saltus_reaction;

/** From the beginning of a reaction, when it consumes, to its end, when it makes. */
typedef struct saltus_delay {
    size_t reaction;
    const saltus_expr *time;
} saltus_delay;

typedef struct saltus_assignment {
    int variable;  /**< species (in molecules), parameter or compartment */
    bool per_size; /**< value is that of a species per size of its compartment, as that is once all
                        else that the event sets has its value */
    const saltus_expr *value;
} saltus_assignment;

typedef struct saltus_event {
    const char *id;
    const saltus_expr *trigger;
    const saltus_expr *delay;    /**< NULL: none */
    const saltus_expr *priority; /**< NULL: none */
    bool persistent;
    bool initial_value;      /**< of the trigger before time 0 */
    bool use_trigger_values; /**< assignments are evaluated when the trigger fires */
    const saltus_assignment *assignments;
    int n_assignments;
    int line;
} saltus_event;

typedef struct saltus_warning {
    char *text;
    bool of_whole; /**< about molecules that are whole, which method ode does not have */
} saltus_warning;

/** With more reactions than these, what a reaction changes is listed by species, unless a law
 * drifts with time. The layouts of a GPU that pack tables take fewer (kernel/ssa/packed.h). */
enum { SALTUS_MOST_LISTS = 1 << 15 };

struct saltus_model {
    saltus_handle handle;
    char *name;
    char *path; /**< for messages: "model.xml"; NULL when built by calls */
    char sha256[65];
    saltus_arena arena; /**< everything below that is const lives here */
    saltus_variable *variables;
    size_t n_variables, variables_capacity;
    saltus_reaction *reactions;
    size_t n_reactions, reactions_capacity;
    saltus_delay *delays; /**< in the order of reactions, which few have */
    size_t n_delays, delays_capacity;
    saltus_event *events;
    size_t n_events, events_capacity;
    bool draws_stoichiometry;   /**< parts of molecules are drawn, whatever freezing is told */
    bool goes_back;             /**< a reaction whose law is below 0 goes backward, at as much above
                                     0; else that is an error */
    bool idles;                 /**< a reaction that lacks reactants when it is to happen does
                                     nothing; else that is an error */
    const char *mean_only;      /**< why the mean field alone has a meaning, a sentence; NULL: it
                                     has not */
    double mole;                /**< molecules that stand for a mole: Avogadro's number, unless the
                                     reader was told else */
    bool has_moles;             /**< something in the file is given in mole */
    const char *time_label;     /**< name of the unit of time for people; NULL: none is known */
    double time_unit;           /**< of rates, in s; 0: no file says, or it is no unit of time */
    struct saltus_space *space; /**< its lattice; NULL: well mixed */
    saltus_warning *warnings;
    size_t n_warnings, warnings_capacity;
    saltus_index names;             /**< of variables, by id */
    saltus_index reaction_names;    /**< of reactions, by id, but for those last appended */
    struct saltus_network *network; /**< NULL until frozen */
    size_t n_read_warnings;         /**< those from before it was frozen */
    saltus_law law;                 /**< how it was frozen */
    int most_lists; /**< with more reactions, frozen tables list what changes by species; tests
                         make it small */
};

/** Add a variable; the id is copied and must be new. Returns its index in *index (may be NULL).
 * The caller then fills in the rest through saltus_model_variable(). */
SALTUS_MUST_CHECK saltus_status saltus_model_add_variable(saltus_model *model, saltus_kind kind,
                                                          const char *id, int line, int *index,
                                                          saltus_error *err);
/** Give the model a name, one line: control characters become blanks. */
SALTUS_MUST_CHECK saltus_status saltus_model_rename(saltus_model *model, const char *name,
                                                    saltus_error *err);
/** Index of the variable, or of the reaction, with that id, or -1. */
int saltus_model_find(const saltus_model *model, const char *id);
int saltus_model_find_reaction(const saltus_model *model, const char *id);

/** Room for a list of n participants in the model's arena, to be filled by saltus_participant_set;
 * NULL: memory ran out. Whole: all will be whole numbers of molecules up to INT_MAX. */
saltus_participant *saltus_model_make_side(saltus_model *model, size_t n, bool whole);
/** Put participant i into a list that has room for n. */
void saltus_participant_set(saltus_participant *list, size_t n, size_t i, int variable,
                            double molecules);
/** Put one more behind the n of a list that has room for `most`; but a species with parts of
 * molecules stands once in a list, with their sum, as 0.5 A + 0.5 A is A. */
void saltus_participant_add(saltus_participant *list, size_t most, int *n, int variable,
                            double molecules);
/** How many molecules, whole or not, and without the part of one that is left. */
double saltus_molecules(const saltus_participant *participant);
int64_t saltus_whole_molecules(const saltus_participant *participant);

/** Add a reaction or an event. The struct is copied; arrays and strings in it must live in the
 * model's arena. Fails when the id is taken by another reaction (or event). */
SALTUS_MUST_CHECK saltus_status saltus_model_push_reaction(saltus_model *model,
                                                           const saltus_reaction *reaction,
                                                           saltus_error *err);
/** The same where the id is known to be new, without the memory to find it fast. */
SALTUS_MUST_CHECK saltus_status saltus_model_append_reaction(saltus_model *model,
                                                             const saltus_reaction *reaction,
                                                             saltus_error *err);
/** Let the reaction that was added last take a while. */
SALTUS_MUST_CHECK saltus_status saltus_model_delay_last(saltus_model *model,
                                                        const saltus_expr *time, bool consumes_late,
                                                        saltus_error *err);
/** How long a reaction of the model takes; NULL: it ends when it begins. */
const saltus_expr *saltus_reaction_delay(const saltus_model *model, const saltus_reaction *r);
SALTUS_MUST_CHECK saltus_status saltus_model_push_event(saltus_model *model,
                                                        const saltus_event *event,
                                                        saltus_error *err);

/** Parse "2 A + B -> C" ("->" or "<->"/"=" are told by *reversible; quoted `names` allowed; "0" or
 * nothing for no species) into the reaction's participants, allocated in the arena. */
SALTUS_MUST_CHECK saltus_status saltus_equation_parse(const saltus_parse_context *context,
                                                      const char *text, saltus_reaction *reaction,
                                                      saltus_error *err);

/** Whether a rate names no species and no time, also not through rules: in texts such a rate is
 * the constant of mass action, any other one the law itself. Rules may form a circle (freezing
 * refuses that later). Fails only with SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_expr_is_constant_rate(const saltus_model *model,
                                                             const saltus_expr *rate,
                                                             bool *is_constant, saltus_error *err);

/** Keep a warning: one sentence that names the thing. Losing one to lack of memory is ignored. */
__attribute__((format(printf, 2, 3))) void saltus_model_warn(saltus_model *model,
                                                             const char *format, ...);

/** The same of what was done so that molecules are whole. */
__attribute__((format(printf, 2, 3))) void saltus_model_warn_of_whole(saltus_model *model,
                                                                      const char *format, ...);

/** The variable name nearest to `name` by edit distance, or NULL: for hints. */
const char *saltus_model_nearest(const saltus_model *model, const char *name);
/** The same of one kind. */
const char *saltus_model_nearest_of(const saltus_model *model, const char *name, saltus_kind kind);

#endif
