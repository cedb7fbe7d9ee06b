/* Saltus YAML; docs/yaml-format.md describes it. First every name is declared, then every text is
 * parsed, so that a name can be used before the line that defines it. */
#include "core/memory.h"
#include "model/network/model.h"
#include "read/read.h"
#include "read/yaml/units.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * Variables
 */

/* What a section of variables is, and which properties they have there. */
typedef struct section {
    const char *key, *thing, *value_key;
    saltus_kind kind;
} section;

static const section compartments = {"compartments", "compartment", "size",
                                     SALTUS_KIND_COMPARTMENT};
static const section parameters = {"parameters", "parameter", "value", SALTUS_KIND_PARAMETER};
static const section species = {"species", "species", "initial", SALTUS_KIND_SPECIES};

/* Only species have the last two. */
enum { VALUE, CONSTANT, LABEL, OBSERVABLE, BOUNDARY, COMPARTMENT, N_PROPERTIES };

static void variable_fields(const section *s, saltus_yaml_field fields[N_PROPERTIES], int *n)
{
    static const char *const keys[] = {"",           "constant", "label",
                                       "observable", "boundary", "compartment"};
    for (int i = 0; i < N_PROPERTIES; ++i) {
        fields[i] = (saltus_yaml_field){.key = i == VALUE ? s->value_key : keys[i]};
    }
    *n = s->kind == SALTUS_KIND_SPECIES ? N_PROPERTIES : BOUNDARY;
}

static saltus_status declare(const saltus_yaml_reader *r, saltus_kind kind,
                             const saltus_yaml_node *key, int *index)
{
    const int known = saltus_model_find(r->model, key->text);
    if (known >= 0) {
        return saltus_yaml_fail(r, key, SALTUS_E_MODEL,
                                "'%.100s' is defined twice, first in line %d", key->text,
                                r->model->variables[known].line);
    }
    for (const char *c = key->text; *c; ++c) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            return saltus_yaml_fail(r, key, SALTUS_E_SYNTAX, "a name holds a control character");
        }
    }
    return saltus_model_add_variable(r->model, kind, key->text, key->line, index, r->err);
}

static saltus_status declare_section(const saltus_yaml_reader *r, const section *s,
                                     const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_yaml_mapping(r, node, s->key));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        SALTUS_TRY(declare(r, s->kind, e->key, NULL));
    }
done:
    return status;
}

/* Rules may define what nothing else does: parameters that are observed. */
static saltus_status declare_targets(const saltus_yaml_reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_yaml_mapping(r, node, "rules"));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        if (saltus_model_find(r->model, e->key->text) < 0) {
            SALTUS_TRY(declare(r, SALTUS_KIND_PARAMETER, e->key, NULL));
        }
    }
done:
    return status;
}

static saltus_status read_compartment(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                      const char *what, int *out)
{
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    SALTUS_TRY(saltus_yaml_text(r, node, what, &text));
    const int v = saltus_model_find(r->model, text);
    if (v < 0 || r->model->variables[v].kind != SALTUS_KIND_COMPARTMENT) {
        const char *nearest = saltus_model_nearest_of(r->model, text, SALTUS_KIND_COMPARTMENT);
        status = saltus_yaml_fail(r, node, SALTUS_E_MODEL, "%s: '%.100s' is not a compartment",
                                  what, text);
        if (v < 0 && nearest) {
            saltus_error_hint(r->err, "did you mean '%.100s'?", nearest);
        }
        goto done;
    }
    *out = v;
done:
    return status;
}

/* An amount that no double equals is told of, as one that is no whole number is when it is frozen:
 * 9007199254740993 is read as 9007199254740992. */
static void warn_of_digits(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                           const char *what, double value)
{
    enum { ALL_ARE_HELD = 15 };
    char nearest[400]; /* room for any double */
    const char *digits = node->text + (node->text[0] == '+');
    digits += strspn(digits, "0");
    const size_t n = strspn(digits, "0123456789");
    if (n <= ALL_ARE_HELD || digits[n] != '\0') {
        return;
    }
    (void)snprintf(nearest, sizeof nearest, "%.0f", value);
    if (strcmp(digits, nearest) != 0) {
        saltus_model_warn(r->model, "%.200s:%d: %s: initial amount %.60s is rounded to %.60s",
                          r->name, node->line, what, digits, nearest);
    }
}

/* The value at time 0, if there is one. Freezing looks at numbers of molecules, which method ode
 * takes below 0 too. */
static saltus_status read_initial(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                  const char *what, saltus_variable *v)
{
    saltus_status status = SALTUS_OK;
    if (saltus_yaml_is_nothing(node)) {
        goto done;
    }
    const char *unit = NULL;
    double value = 0.0;
    if (node->kind == SALTUS_YAML_SCALAR && saltus_yaml_has_unit(r, node->text, &value, &unit)) {
        SALTUS_TRY(saltus_yaml_initial(r, node, what, v));
    } else {
        SALTUS_TRY(saltus_yaml_expr(r, node, what, &v->initial));
    }
    value = v->initial->value;
    if (v->kind == SALTUS_KIND_SPECIES && v->initial->op == SALTUS_OP_CONST && !isfinite(value)) {
        status = saltus_yaml_fail(r, node, SALTUS_E_MODEL, "%s: %.40s is no number of molecules",
                                  what, node->text);
    } else if (v->kind == SALTUS_KIND_SPECIES && v->initial->op == SALTUS_OP_CONST) {
        warn_of_digits(r, node, what, value);
    }
done:
    return status;
}

static saltus_status read_variable(const saltus_yaml_reader *r, const section *s,
                                   const saltus_yaml_entry *e)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    char what[200];
    saltus_yaml_field fields[N_PROPERTIES];
    int n;
    saltus_variable *v = &r->model->variables[saltus_model_find(r->model, e->key->text)];
    (void)snprintf(what, sizeof what, "%s '%.120s'", s->thing, e->key->text);
    if (e->value->kind != SALTUS_YAML_MAPPING) {
        SALTUS_TRY(read_initial(r, e->value, what, v));
        goto done;
    }
    variable_fields(s, fields, &n);
    SALTUS_TRY(saltus_yaml_fields(r, e->value, what, fields, n));
    if (fields[COMPARTMENT].entry) {
        SALTUS_TRY(read_compartment(r, fields[COMPARTMENT].entry->value, what, &v->compartment));
    }
    SALTUS_TRY(saltus_yaml_bool(r, &fields[CONSTANT], what, &v->constant));
    SALTUS_TRY(saltus_yaml_bool(r, &fields[OBSERVABLE], what, &v->observable));
    SALTUS_TRY(saltus_yaml_bool(r, &fields[BOUNDARY], what, &v->boundary));
    if (fields[VALUE].entry) {
        SALTUS_TRY(read_initial(r, fields[VALUE].entry->value, what, v));
    }
    if (fields[LABEL].entry) {
        const char *text = NULL;
        SALTUS_TRY(saltus_yaml_text(r, fields[LABEL].entry->value, what, &text));
        v->label = saltus_arena_strndup(&r->model->arena, text, strlen(text));
        SALTUS_NEED(v->label);
    }
done:
    return status;
}

static saltus_status read_section(const saltus_yaml_reader *r, const section *s,
                                  const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        SALTUS_TRY(read_variable(r, s, e));
    }
done:
    return status;
}

static saltus_status read_rules(const saltus_yaml_reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    char what[200];
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        saltus_variable *v = &r->model->variables[saltus_model_find(r->model, e->key->text)];
        (void)snprintf(what, sizeof what, "rule '%.120s'", e->key->text);
        if (v->rule) {
            status =
                saltus_yaml_fail(r, e->key, SALTUS_E_MODEL, "%s: there is a second rule", what);
            goto done;
        }
        SALTUS_TRY(e->value->kind == SALTUS_YAML_MAPPING
                       ? saltus_yaml_input(r, e->value, what, &v->rule)
                       : saltus_yaml_expr(r, e->value, what, &v->rule));
        v->observable = true; /* a property says else */
    }
done:
    return status;
}

/* What they change has a value at time 0 of its own, so it is declared elsewhere. */
static saltus_status read_rate_rules(const saltus_yaml_reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    char what[200];
    SALTUS_TRY(saltus_yaml_mapping(r, node, "rate rules"));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        const int i = saltus_model_find(r->model, e->key->text);
        (void)snprintf(what, sizeof what, "rate rule '%.120s'", e->key->text);
        if (i < 0) {
            const char *nearest = saltus_model_nearest(r->model, e->key->text);
            status = saltus_yaml_fail(r, e->key, SALTUS_E_MODEL,
                                      "%s: there is no parameter, compartment or species of that "
                                      "name",
                                      what);
            if (nearest) {
                saltus_error_hint(r->err, "did you mean '%.100s'?", nearest);
            }
            goto done;
        }
        saltus_variable *v = &r->model->variables[i];
        if (v->rule || v->rate) {
            status =
                saltus_yaml_fail(r, e->key, SALTUS_E_MODEL, "%s: there is a second rule", what);
            goto done;
        }
        SALTUS_TRY(saltus_yaml_expr(r, e->value, what, &v->rate));
        v->observable = true; /* a property says else */
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The whole
 */

static saltus_status read_name(const saltus_yaml_reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const char *text = NULL;
    SALTUS_TRY(saltus_yaml_text(r, node, "model", &text));
    SALTUS_TRY(saltus_model_rename(r->model, text, err));
done:
    return status;
}

enum {
    MODEL,
    SBML,
    TIME,
    STOICHIOMETRY,
    COMPARTMENTS,
    PARAMETERS,
    SPECIES,
    RULES,
    RATE_RULES,
    REACTIONS,
    EVENTS,
    NEGATIVE,
    LACKING,
    METHODS,
    LATTICE,
    N_KEYS
};

/* All that an SBML file says may not be said again here. */
static saltus_status read_sbml(saltus_yaml_reader *r, const saltus_yaml_field f[N_KEYS])
{
    saltus_status status = SALTUS_OK;
    for (int i = TIME; i <= METHODS; ++i) {
        if (f[i].entry && i != STOICHIOMETRY) {
            status = saltus_yaml_fail(r, f[i].entry->key, SALTUS_E_UNSUPPORTED,
                                      "'%s' cannot stand beside 'sbml': the SBML file says it",
                                      f[i].key);
            goto done;
        }
    }
    SALTUS_TRY(saltus_yaml_sbml(r, f[SBML].entry->value));
done:
    return status;
}

/* One of two words; *is_second says which. */
static saltus_status read_choice(const saltus_yaml_reader *r, const saltus_yaml_field *f,
                                 const char *first, const char *second, bool *is_second)
{
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    if (!f->entry) {
        goto done;
    }
    SALTUS_TRY(saltus_yaml_text(r, f->entry->value, f->key, &text));
    *is_second = strcmp(text, second) == 0;
    if (!*is_second && strcmp(text, first) != 0) {
        status =
            saltus_yaml_fail(r, f->entry->value, SALTUS_E_SYNTAX,
                             "'%s' must be %s or %s, not '%.40s'", f->key, second, first, text);
    }
done:
    return status;
}

/* What becomes of parts of molecules, of laws below 0 and of reactions that lack reactants; methods
 * that have a meaning. */
static saltus_status read_choices(const saltus_yaml_reader *r, const saltus_yaml_field f[N_KEYS])
{
    saltus_status status = SALTUS_OK;
    saltus_model *m = r->model;
    bool is_mean = false;
    for (int i = NEGATIVE; i <= METHODS && r->has_lattice; ++i) {
        if (f[i].entry) {
            status = saltus_yaml_fail(r, f[i].entry->key, SALTUS_E_UNSUPPORTED,
                                      "'%s' is of models without a lattice", f[i].key);
            goto done;
        }
    }
    SALTUS_TRY(read_choice(r, &f[STOICHIOMETRY], "refuse", "draw", &m->draws_stoichiometry));
    SALTUS_TRY(read_choice(r, &f[NEGATIVE], "error", "backward", &m->goes_back));
    SALTUS_TRY(read_choice(r, &f[LACKING], "error", "idle", &m->idles));
    SALTUS_TRY(read_choice(r, &f[METHODS], "all", "ode", &is_mean));
    m->mean_only = is_mean ? "the model says that it is one of method ode alone" : NULL;
done:
    return status;
}

/* What there is and what happens: all but the name and the lattice. */
static saltus_status read_network(const saltus_yaml_reader *r, const saltus_yaml_field f[N_KEYS])
{
    saltus_status status = SALTUS_OK;
    const section *const sections[] = {&compartments, &parameters, &species};
    if (f[TIME].entry) {
        SALTUS_TRY(saltus_yaml_time_unit(r, f[TIME].entry->value));
    }
    for (int i = 0; i < 3; ++i) {
        if (f[COMPARTMENTS + i].entry) {
            SALTUS_TRY(declare_section(r, sections[i], f[COMPARTMENTS + i].entry->value));
        }
    }
    if (f[RULES].entry) {
        SALTUS_TRY(declare_targets(r, f[RULES].entry->value));
        SALTUS_TRY(read_rules(r, f[RULES].entry->value));
    }
    if (f[RATE_RULES].entry) {
        SALTUS_TRY(read_rate_rules(r, f[RATE_RULES].entry->value));
    }
    for (int i = 0; i < 3; ++i) {
        if (f[COMPARTMENTS + i].entry) {
            SALTUS_TRY(read_section(r, sections[i], f[COMPARTMENTS + i].entry->value));
        }
    }
    if (f[REACTIONS].entry) {
        SALTUS_TRY(saltus_yaml_reactions(r, f[REACTIONS].entry->value));
    }
    if (f[EVENTS].entry) {
        SALTUS_TRY(saltus_yaml_events(r, f[EVENTS].entry->value));
    }
done:
    return status;
}

static saltus_status read_root(saltus_yaml_reader *r, const saltus_yaml_node *root)
{
    saltus_status status = SALTUS_OK;
    saltus_yaml_field f[N_KEYS] = {{.key = "model"},
                                   {.key = "sbml"},
                                   {.key = "time"},
                                   {.key = "stoichiometry"},
                                   {.key = "compartments"},
                                   {.key = "parameters"},
                                   {.key = "species"},
                                   {.key = "rules"},
                                   {.key = "rate rules"},
                                   {.key = "reactions"},
                                   {.key = "events"},
                                   {.key = "negative laws"},
                                   {.key = "lacking reactants"},
                                   {.key = "methods"},
                                   {.key = "lattice"}};
    SALTUS_TRY(saltus_yaml_fields(r, root, "model", f, N_KEYS));
    for (int i = 0; i < N_KEYS; ++i) { /* "events:" with nothing behind it has nothing in it */
        if (f[i].entry && saltus_yaml_is_nothing(f[i].entry->value)) {
            f[i].entry = NULL;
        }
    }
    r->has_lattice = f[LATTICE].entry;
    r->has_sbml = f[SBML].entry;
    if (r->has_sbml) {
        SALTUS_TRY(read_sbml(r, f));
    } else {
        SALTUS_TRY(read_network(r, f));
    }
    if (f[MODEL].entry) {
        SALTUS_TRY(read_name(r, f[MODEL].entry->value));
    }
    SALTUS_TRY(read_choices(r, f));
    if (f[LATTICE].entry) {
        SALTUS_TRY(saltus_yaml_lattice(r, f[LATTICE].entry->value));
    }
done:
    return status;
}

static saltus_status parse_text(const saltus_source_text *source, saltus_model **out,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_arena arena = {0};
    const saltus_yaml_node *root = NULL;
    saltus_yaml_reader r = {
        .name = source->name, .mole = source->mole, .archive = source->archive, .err = err};
    SALTUS_TRY(saltus_model_begin(source, &r.model, err));
    SALTUS_TRY(saltus_yaml_load(source->text, source->size, source->name, &arena, &root, err));
    if (!root || saltus_yaml_is_nothing(root)) {
        SALTUS_FAIL(SALTUS_E_SYNTAX, "%s: there is no model in the file", source->name);
    }
    if (root->kind != SALTUS_YAML_MAPPING) {
        status = saltus_yaml_fail(&r, root, SALTUS_E_SYNTAX, "this is no model");
        saltus_error_hint(err, "a model starts with 'model:', 'species:' or 'reactions:'");
        goto done;
    }
    SALTUS_TRY(read_root(&r, root));
    SALTUS_TRY(saltus_check_mole(source, r.model, err));
    *out = r.model;
    r.model = NULL;
done:
    saltus_model_destroy(r.model);
    saltus_arena_free(&arena);
    return status;
}

saltus_status saltus_parse_yaml(const saltus_source_text *source, saltus_model **out,
                                saltus_error *err)
{
    return saltus_parse_on_stack(parse_text, source, out, err);
}
