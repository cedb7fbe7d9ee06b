/* A lattice around the model of an SBML file: `sbml` of a YAML model and `compartments` of its
 * lattice. A compartment is the sites of some types: its species start and move there, reactions
 * happen where the compartments of all that they read and change meet, and in laws the size of a
 * site stands for that of the compartment. */
#include "core/file.h"
#include "read/gzip.h"
#include "read/read.h"
#include "read/yaml/lattice.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * The file
 */

saltus_status saltus_yaml_sbml(saltus_yaml_reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err, problem = {0};
    saltus_model *model = NULL;
    const char *file = "";
    char *path = NULL, *text = NULL, hashes[129];
    size_t size = 0;
    SALTUS_TRY(saltus_yaml_text(r, node, "sbml", &file));
    path = saltus_path_beside(r->name, file);
    SALTUS_NEED(path);
    status = saltus_read_text(r->archive, path, &text, &size, &problem);
    if (status != SALTUS_OK) {
        (void)saltus_yaml_fail(r, node, status, "sbml: %.300s", problem.message);
        goto done;
    }
    const saltus_source_text source = {text, size, path, r->mole, r->archive};
    SALTUS_TRY(saltus_parse_sbml(&source, &model, err));
    (void)snprintf(hashes, sizeof hashes, "%s%s", r->model->sha256, model->sha256);
    saltus_sha256_hex(hashes, sizeof hashes - 1, model->sha256); /* of both files */
    saltus_model_destroy(r->model);
    r->model = model;
done:
    saltus_free(text);
    saltus_free(path);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Compartments
 */

/* A thing of the SBML file cannot be on a lattice. */
static saltus_status refuse(const saltus_lattice_reader *l, const char *id, int line,
                            const char *why)
{
    return saltus_error_set(l->yaml->err, SALTUS_E_UNSUPPORTED,
                            "%.180s:%d: compartment '%.100s': %s", l->yaml->model->path, line, id,
                            why);
}

/* What stands for sizes in a site: its volume; of a surface a face's area; of a line its edge. */
static saltus_status find_sizes(const saltus_lattice_reader *l)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_model *m = l->yaml->model;
    double *sizes = saltus_arena_alloc(&m->arena, (m->n_variables + 1) * sizeof *sizes);
    SALTUS_NEED(sizes);
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_variable *v = &m->variables[i];
        if (v->kind != SALTUS_KIND_COMPARTMENT || v->dimensions == 0) {
            continue;
        }
        if (v->rule) {
            status = refuse(l, v->id, v->line,
                            "a rule determines its size, which on a lattice is that of a site");
            goto done;
        }
        sizes[i] = pow(l->space->spacing, v->dimensions) / v->size_unit;
        if (!isfinite(sizes[i])) {
            status = refuse(l, v->id, v->line,
                            "its size has no unit that the size of a site could be told in");
            goto done;
        }
    }
    l->space->site_sizes = sizes;
done:
    return status;
}

static saltus_status read_compartment(saltus_lattice_reader *l, const saltus_yaml_entry *e)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_model *m = l->yaml->model;
    char what[200];
    const int v = saltus_model_find(m, e->key->text);
    (void)snprintf(what, sizeof what, "compartment '%.120s'", e->key->text);
    if (v < 0 || m->variables[v].kind != SALTUS_KIND_COMPARTMENT) {
        const char *nearest = saltus_model_nearest_of(m, e->key->text, SALTUS_KIND_COMPARTMENT);
        status = saltus_yaml_fail(l->yaml, e->key, SALTUS_E_MODEL,
                                  "compartments: '%.100s' is not a compartment", e->key->text);
        if (v < 0 && nearest) {
            saltus_error_hint(err, "did you mean '%.100s'?", nearest);
        }
        goto done;
    }
    if (l->space->compartments[v]) {
        status = saltus_yaml_fail(l->yaml, e->key, SALTUS_E_SYNTAX, "%s is given twice", what);
        goto done;
    }
    bool *in = saltus_arena_alloc(&m->arena, (size_t)l->space->n_types * sizeof *in);
    SALTUS_NEED(in);
    l->space->compartments[v] = in;
    SALTUS_TRY(saltus_read_types(l, e->value, what, in));
done:
    return status;
}

/* A compartment that is not named: the type of its name, or the only one. */
static saltus_status find_compartment(saltus_lattice_reader *l, const saltus_yaml_node *node, int v,
                                      bool has_sites)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_space *space = l->space;
    const char *id = l->yaml->model->variables[v].id;
    char what[200];
    const int type = has_sites ? saltus_find_type(space, id, strlen(id)) : 0;
    if (type < 0) {
        (void)snprintf(what, sizeof what, "compartment '%.120s'", id);
        status = saltus_no_type(l, node, what, id, (int)strlen(id));
        goto done;
    }
    bool *in = saltus_arena_alloc(&l->yaml->model->arena, (size_t)space->n_types * sizeof *in);
    SALTUS_NEED(in);
    in[type] = true;
    space->compartments[v] = in;
done:
    return status;
}

static bool is_time(const saltus_expr *node, void *user)
{
    (void)user;
    return node->op == SALTUS_OP_TIME;
}

/* Whether some law or rule, or the rate of a rate rule, reads the time. */
static bool reads_time(const saltus_model *m)
{
    bool found = false;
    for (size_t i = 0; i < m->n_reactions; ++i) {
        found |= saltus_expr_any(m->reactions[i].law, is_time, NULL);
    }
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_variable *v = &m->variables[i];
        found |= v->rule && saltus_expr_any(v->rule, is_time, NULL);
        found |= v->rate && saltus_expr_any(v->rate, is_time, NULL);
    }
    return found;
}

/* Rates are per the file's unit of time, and a lattice's per second. */
static saltus_status convert_rates(const saltus_lattice_reader *l)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_model *m = l->yaml->model;
    if (!(m->time_unit > 0.0)) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "%.180s: its unit of time is none that a lattice could tell in seconds",
                    m->path);
    }
    if (m->time_unit != 1.0 && reads_time(m)) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "%.180s: its unit of time is not the second, which a lattice has, and rates or "
                    "rules read the time",
                    m->path);
    }
    for (size_t i = 0; i < m->n_reactions && m->time_unit != 1.0; ++i) {
        saltus_reaction *r = &m->reactions[i];
        r->law = saltus_expr_2(&m->arena, SALTUS_OP_DIV, r->law,
                               saltus_expr_const(&m->arena, m->time_unit));
        SALTUS_NEED(r->law);
    }
    for (size_t i = 0; i < m->n_variables && m->time_unit != 1.0; ++i) {
        saltus_variable *v = &m->variables[i];
        if (v->rate) {
            v->rate = saltus_expr_2(&m->arena, SALTUS_OP_DIV, v->rate,
                                    saltus_expr_const(&m->arena, m->time_unit));
            SALTUS_NEED(v->rate);
        }
    }
done:
    return status;
}

saltus_status saltus_read_compartments(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                       const saltus_yaml_node *lattice, bool has_sites)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_model *m = l->yaml->model;
    if (!l->yaml->has_sbml) {
        return node ? saltus_yaml_fail(l->yaml, node, SALTUS_E_UNSUPPORTED,
                                       "compartments: they are those of a file that 'sbml' names")
                    : SALTUS_OK;
    }
    l->space->compartments =
        saltus_arena_alloc(&m->arena, (m->n_variables + 1) * sizeof *l->space->compartments);
    SALTUS_NEED(l->space->compartments);
    SALTUS_TRY(find_sizes(l));
    SALTUS_TRY(convert_rates(l));
    if (node) {
        SALTUS_TRY(saltus_yaml_mapping(l->yaml, node, "compartments"));
    }
    for (const saltus_yaml_entry *e = node ? node->first : NULL; e; e = e->next) {
        SALTUS_TRY(read_compartment(l, e));
    }
    for (size_t i = 0; i < m->n_variables; ++i) {
        saltus_variable *v = &m->variables[i];
        v->observable = false; /* numbers of particles are recorded alone */
        if (v->kind == SALTUS_KIND_SPECIES && !v->rule && !l->space->compartments[v->compartment]) {
            SALTUS_TRY(find_compartment(l, node ? node : lattice, v->compartment, has_sites));
        }
    }
done:
    return status;
}

const bool *saltus_types_of_species(const saltus_lattice_reader *l, int variable)
{
    return l->space->compartments
               ? l->space->compartments[l->yaml->model->variables[variable].compartment]
               : NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Reactions
 */

/* The types that the compartments of all species have in common that a reaction reads or changes;
 * rules that it reads are looked into once. */
typedef struct meeting {
    const saltus_lattice_reader *l;
    bool *in;   /* [type] */
    bool *seen; /* [variable] */
    int *rules; /* variables whose rules are to be looked into */
    int n_rules;
} meeting;

static void meet_variable(meeting *x, int variable)
{
    const saltus_variable *v = &x->l->yaml->model->variables[variable];
    if (x->seen[variable]) {
        return;
    }
    x->seen[variable] = true;
    if (v->rule) {
        x->rules[x->n_rules++] = variable;
    } else if (v->kind == SALTUS_KIND_SPECIES) {
        const bool *types = saltus_types_of_species(x->l, variable);
        for (int type = 0; type < x->l->space->n_types; ++type) {
            x->in[type] = x->in[type] && types[type];
        }
    }
}

static bool meet_reference(const saltus_expr *node, void *user)
{
    if (node->op == SALTUS_OP_VARIABLE) {
        meet_variable(user, node->variable);
    }
    return false;
}

static void meet_reaction(meeting *x, const saltus_reaction *r)
{
    const saltus_model *m = x->l->yaml->model;
    memset(x->seen, 0, m->n_variables * sizeof *x->seen);
    memset(x->in, true, SALTUS_LATTICE_MOST_TYPES);
    x->n_rules = 0;
    for (int i = 0; i < r->n_reactants; ++i) {
        meet_variable(x, r->reactants[i].variable);
    }
    for (int i = 0; i < r->n_products; ++i) {
        meet_variable(x, r->products[i].variable);
    }
    (void)saltus_expr_any(r->law, meet_reference, x);
    for (int i = 0; i < x->n_rules; ++i) {
        (void)saltus_expr_any(m->variables[x->rules[i]].rule, meet_reference, x);
    }
}

static saltus_status place_reaction(meeting *x, const saltus_yaml_node *node, size_t i)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = x->l->yaml->err;
    saltus_model *m = x->l->yaml->model;
    const saltus_reaction *r = &m->reactions[i];
    bool happens = false;
    saltus_site_rate *rates =
        saltus_arena_alloc(&m->arena, (size_t)x->l->space->n_types * sizeof *rates);
    SALTUS_NEED(rates);
    meet_reaction(x, r);
    for (int type = 0; type < x->l->space->n_types; ++type) {
        rates[type].happens = x->in[type];
        happens |= x->in[type];
    }
    if (!happens) {
        status = saltus_yaml_fail(x->l->yaml, node, SALTUS_E_MODEL,
                                  "reaction '%.120s': the compartments of its species have no site "
                                  "type in common",
                                  r->id);
        saltus_error_hint(err, "say in the lattice's 'reactions' where it happens: '%.80s: %.80s'",
                          r->id, x->l->space->type_names[x->l->space->n_types - 1]);
        goto done;
    }
    x->l->space->rates[i] = rates;
done:
    return status;
}

saltus_status saltus_place_reactions(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    const saltus_model *m = l->yaml->model;
    bool in[SALTUS_LATTICE_MOST_TYPES];
    meeting x = {.l = l, .in = in};
    if (!l->yaml->has_sbml) {
        return SALTUS_OK;
    }
    x.seen = saltus_calloc(m->n_variables, sizeof *x.seen);
    x.rules = saltus_calloc(m->n_variables, sizeof *x.rules);
    SALTUS_NEED(x.seen && x.rules);
    for (size_t i = 0; i < m->n_reactions; ++i) {
        if (!l->space->rates[i]) {
            SALTUS_TRY(place_reaction(&x, node, i));
        }
    }
done:
    saltus_free(x.seen);
    saltus_free(x.rules);
    return status;
}
