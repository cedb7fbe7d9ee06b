/** A frozen model: flat tables, and the names that belong to their indices. */
#ifndef SALTUS_MODEL_NETWORK_NETWORK_H
#define SALTUS_MODEL_NETWORK_NETWORK_H

#include "kernel/base/tables.h"
#include "model/lattice/lattice.h"
#include "model/network/model.h"

/** What a model's variable has become. */
typedef enum saltus_role {
    SALTUS_ROLE_CONSTANT, /**< its value; also species that nothing changes (row >= 0 as well) */
    SALTUS_ROLE_COUNT,
    SALTUS_ROLE_VARIABLE,
    SALTUS_ROLE_RULE,
} saltus_role;

typedef struct saltus_binding {
    saltus_role role;
    int row;      /**< row of values, or -1 */
    double value; /**< at time 0 */
} saltus_binding;

/* Forms of laws: X(enumerator, text). */
#define SALTUS_LAW_FORMS(X)                   \
    X(MASS_ACTION, "mass action")             \
    X(CONSTANT, "constant")                   \
    X(EXPRESSION, "expression")               \
    X(THINNED, "thinned")                     \
    X(INTEGRATED, "integrated")               \
    X(NET, "net rate")                        \
    X(NET_THINNED, "net rate, thinned")       \
    X(NET_INTEGRATED, "net rate, integrated") \
    X(STEPPED, "at the middle of steps")

typedef enum saltus_law_form {
#define SALTUS_FORM(name, text) SALTUS_LAW_FORM_##name,
    SALTUS_LAW_FORMS(SALTUS_FORM)
#undef SALTUS_FORM
} saltus_law_form;

typedef struct saltus_network {
    saltus_tables tables;
    const saltus_model *model;   /**< whose it is */
    const char **species_names;  /**< [species] */
    const char **step_names;     /**< [reaction]; NULL: they are the model's, and have its names */
    const char **event_names;    /**< [trigger] */
    const char **setting_names;  /**< [setting] what it sets */
    const char **setting_events; /**< [setting] whose it is; NULL: of time 0 */
    int *model_steps;            /**< [reaction of the model] how many it has become; NULL: one */
    const double *initial_amounts; /**< [species] before they were rounded to counts */
    const char **rate_names;       /**< [rate] variable with a rate rule */
    int n_rate_rules;              /**< rates of the model; one more is of a variable whose steps
                                        follow what triggers compare */
    bool follows_triggers;         /**< there are no rate rules, but that variable's, since triggers
                                        drift with time */
    const char *mean_only; /**< why the mean field alone has a meaning here, a sentence; NULL: it
                                has not */
    const char *mean_only_hint;
    bool has_moving_clocks;   /**< a clock's time follows from counts that reactions change */
    unsigned char *law_forms; /**< [reaction] saltus_law_form, for people */
    uint8_t *set_numbers; /**< [number of a point's row, but counts] whether it comes from values
                               that saltus_model_set gave; NULL: none does, or on a lattice */
    saltus_binding *bindings;      /**< [variable of the model] */
    int *rule_variables;           /**< [rule] variable of the model */
    const saltus_lattice *lattice; /**< NULL: well mixed */
    saltus_arena arena;            /**< all of the above */
} saltus_network;

/** How many rows an operation of a program reads: of a table its argument alone. */
int saltus_program_arity(int op);

/** Call found for every row that a program reads, its result among them, for some more than once.
 */
void saltus_program_reads(const saltus_tables *tables, saltus_program program,
                          void (*found)(void *user, int row), void *user);

void saltus_network_destroy(saltus_network *network);

/** Whether reaction r makes particles of nothing, whatever there is: its law is a constant number,
 * and it takes none. */
static inline bool saltus_network_is_source(const saltus_tables *t, int r)
{
    bool is = t->law_program[r] < 0 && t->factor_row[r] == t->factor_row[r + 1];
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        is = is && t->change_amount[c] >= 0;
    }
    return is;
}

/** The name of reaction r, and how many reaction i of the model has become. */
static inline const char *saltus_network_reaction(const saltus_network *network, int r)
{
    return network->step_names ? network->step_names[r] : network->model->reactions[r].id;
}

static inline int saltus_network_steps(const saltus_network *network, size_t i)
{
    return network->model_steps ? network->model_steps[i] : 1;
}

/** Whether variable i of a frozen model is a species whose amount is a real value: no count, and no
 * rule determines it. */
static inline bool saltus_species_is_real(const saltus_model *model, int i)
{
    const saltus_variable *v = &model->variables[i];
    const int row = model->network->bindings[i].row;
    return v->kind == SALTUS_KIND_SPECIES && !v->rule &&
           !(row >= 0 && row < model->network->tables.n_species);
}

#endif
