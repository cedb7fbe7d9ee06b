/* `place` and `reactions` of a lattice: what is where, and what happens where. */
#include "core/number.h"
#include "read/yaml/lattice.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Numbers of particles are exact up to here. */
#define MOST_PARTICLES 0x1p53

/* ------------------------------------------------------------------------------------------------
 * Amounts
 */

static saltus_status add_placement(const saltus_lattice_reader *l, int variable, int64_t count,
                                   int line, bool **in)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_space *s = l->space;
    saltus_placement *grown =
        saltus_grow(s->placements, s->n_placements, &s->placements_capacity, sizeof *grown);
    SALTUS_NEED(grown);
    s->placements = grown;
    *in = saltus_arena_alloc(&l->yaml->model->arena, (size_t)s->n_types * sizeof **in);
    SALTUS_NEED(*in);
    s->placements[s->n_placements++] = (saltus_placement){variable, count, *in, line};
done:
    return status;
}

static saltus_status too_many(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                              const char *what, double n)
{
    return saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL,
                            "%s: %.4g particles per site; there can be %.0f", what, n,
                            SALTUS_MOST_PER_SITE);
}

/* "type: amount": a number of particles, or a concentration in the type's sites. */
static saltus_status place_in_type(saltus_lattice_reader *l, const saltus_yaml_entry *e,
                                   const char *what, int variable, double *sum)
{
    saltus_status status = SALTUS_OK;
    saltus_quantity concentration = saltus_concentration(l->space);
    int type = 0;
    double n = 0.0;
    bool *in = NULL;
    SALTUS_TRY(saltus_read_type(l, e->key, what, &type));
    const double n_sites = (double)l->space->sites_of[type];
    if (e->value->kind == SALTUS_YAML_SCALAR && saltus_number_read(e->value->text, &n)) {
        SALTUS_TRY(saltus_read_whole(l, e->value, what, 0.0, MOST_PARTICLES, &n));
    } else {
        concentration.bare = 0.0;
        SALTUS_TRY(saltus_read_quantity(l, e->value, what, &concentration, &n));
        n = n < 0.0 ? n * n_sites : nearbyint(n * n_sites); /* what is negative stays so */
    }
    if (!(n >= 0.0 && n <= MOST_PARTICLES && n <= SALTUS_MOST_PER_SITE * n_sites)) {
        status = n < 0.0 ? saltus_yaml_fail(l->yaml, e->value, SALTUS_E_MODEL,
                                            "%s: '%.60s' is negative", what, e->value->text)
                         : too_many(l, e->value, what, n / n_sites);
        goto done;
    }
    *sum += n;
    SALTUS_TRY(add_placement(l, variable, (int64_t)n, e->key->line, &in));
    in[type] = true;
done:
    return status;
}

/* "[x, y, z, n]" */
static saltus_status place_in_site(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                   const char *what, int variable, double *sum)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_space *s = l->space;
    const saltus_yaml_node *items[4];
    int n_items = 0;
    double x[4];
    SALTUS_TRY(saltus_read_items(l, node, what, 4, items, &n_items));
    if (n_items != 4) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX,
                                  "%s: a site and a number are wanted here: [x, y, z, n]", what);
        goto done;
    }
    for (int i = 0; i < 4; ++i) {
        SALTUS_TRY(saltus_read_whole(l, items[i], what, 0.0,
                                     i < 3 ? s->size[i] - 1.0 : SALTUS_MOST_PER_SITE, &x[i]));
    }
    saltus_deposit *grown =
        saltus_grow(s->deposits, s->n_deposits, &s->deposits_capacity, sizeof *grown);
    SALTUS_NEED(grown);
    s->deposits = grown;
    s->deposits[s->n_deposits++] = (saltus_deposit){
        (int64_t)(x[0] + s->size[0] * (x[1] + s->size[1] * x[2])), variable, (int64_t)x[3]};
    *sum += x[3];
done:
    return status;
}

static saltus_status place_in_sites(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                    const char *what, int variable, double *sum)
{
    saltus_status status = SALTUS_OK;
    if (node->kind != SALTUS_YAML_SEQUENCE) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX,
                                  "%s: a list of sites, [[x, y, z, n], …], is wanted here", what);
        goto done;
    }
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        SALTUS_TRY(place_in_site(l, e->value, what, variable, sum));
    }
done:
    return status;
}

/* "{type: amount, sites: [[x, y, z, n], …]}", whose sum is the initial amount. */
static saltus_status place_amounts(saltus_lattice_reader *l, const saltus_yaml_entry *species,
                                   const char *what, int variable)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_model *m = l->yaml->model;
    saltus_variable *v = &m->variables[variable];
    double sum = 0.0;
    if (v->initial && !(v->initial->op == SALTUS_OP_CONST && v->initial->value == 0.0) &&
        !l->yaml->has_sbml) {
        status = saltus_yaml_fail(l->yaml, species->key, SALTUS_E_MODEL,
                                  "%s: its amount is given already, in line %d", what, v->line);
        saltus_error_hint(err,
                          "name site types alone, as in '%.60s: %.60s', or give no amount "
                          "there ('%.60s:')",
                          v->id, l->space->type_names[0], v->id);
        goto done;
    }
    SALTUS_TRY(saltus_yaml_no_key_twice(l->yaml, species->value, what));
    for (const saltus_yaml_entry *e = species->value->first; e; e = e->next) {
        const bool is_list = strcmp(e->key->text, "sites") == 0;
        SALTUS_TRY(is_list ? place_in_sites(l, e->value, what, variable, &sum)
                           : place_in_type(l, e, what, variable, &sum));
    }
    if (sum > MOST_PARTICLES) {
        status = saltus_yaml_fail(l->yaml, species->key, SALTUS_E_MODEL,
                                  "%s: there can be 2^53 particles", what);
        goto done;
    }
    v->initial = saltus_expr_const(&m->arena, sum);
    SALTUS_NEED(v->initial);
    l->space->has_amounts[variable] = true;
done:
    return status;
}

static saltus_status place_species(saltus_lattice_reader *l, const saltus_yaml_entry *e,
                                   bool *placed)
{
    saltus_status status = SALTUS_OK;
    char what[200];
    int v = 0;
    bool *in = NULL;
    (void)snprintf(what, sizeof what, "place of '%.120s'", e->key->text);
    SALTUS_TRY(saltus_read_species(l, e->key, "place", &v));
    if (placed[v]) {
        status = saltus_yaml_fail(l->yaml, e->key, SALTUS_E_SYNTAX, "%s is given twice", what);
        goto done;
    }
    placed[v] = true;
    if (e->value->kind == SALTUS_YAML_MAPPING) {
        SALTUS_TRY(place_amounts(l, e, what, v));
    } else {
        SALTUS_TRY(add_placement(l, v, -1, e->key->line, &in));
        SALTUS_TRY(saltus_read_types(l, e->value, what, in));
    }
done:
    return status;
}

/* Where a species with an amount starts that `place` does not name: in its compartment, or where it
 * has a constant of diffusion. */
static saltus_status place_the_rest(saltus_lattice_reader *l, const bool *placed)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *m = l->yaml->model;
    bool *in = NULL;
    for (size_t v = 0; v < m->n_variables; ++v) {
        const bool *given = l->space->has_diffusion[v];
        if (!given || placed[v]) {
            continue;
        }
        const bool *compartment = saltus_types_of_species(l, (int)v);
        SALTUS_TRY(add_placement(l, (int)v, -1, 0, &in));
        memcpy(in, compartment ? compartment : given, (size_t)l->space->n_types * sizeof *in);
    }
done:
    return status;
}

saltus_status saltus_read_place(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    bool *placed = saltus_calloc(l->yaml->model->n_variables, sizeof *placed);
    SALTUS_NEED(placed);
    if (node) {
        SALTUS_TRY(saltus_yaml_mapping(l->yaml, node, "place"));
    }
    for (const saltus_yaml_entry *e = node ? node->first : NULL; e; e = e->next) {
        SALTUS_TRY(place_species(l, e, placed));
    }
    SALTUS_TRY(place_the_rest(l, placed));
done:
    saltus_free(placed);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Reactions
 */

/* The sum of a reaction's molecules. */
static int order_of(const saltus_reaction *r)
{
    double n = 0.0;
    for (int i = 0; i < r->n_reactants; ++i) {
        n += (double)saltus_whole_molecules(&r->reactants[i]);
    }
    return n < 100.0 ? (int)n : 100; /* freezing refuses more */
}

static saltus_status read_constant(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                   const char *what, const saltus_reaction *r,
                                   saltus_site_rate *rate)
{
    saltus_status status = SALTUS_OK;
    const saltus_quantity constant = saltus_rate_constant(l->space, order_of(r));
    rate->happens = true;
    if (saltus_yaml_is_nothing(node)) {
        goto done;
    }
    if (!r->mass_action && !l->yaml->has_sbml) { /* freezing knows what SBML's laws are */
        status =
            saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL,
                             "%s: its rate is a law, which has no constant to be given here", what);
        saltus_error_hint(l->yaml->err, "name the site types alone: [a, b]");
        goto done;
    }
    SALTUS_TRY(saltus_read_quantity(l, node, what, &constant, &rate->constant));
    if (!(rate->constant >= 0.0)) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL, "%s: '%.60s' is negative", what,
                                  node->text);
    }
    rate->is_given = true;
done:
    return status;
}

static saltus_status read_types(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                const char *what, saltus_site_rate *rates)
{
    saltus_status status = SALTUS_OK;
    bool in[SALTUS_LATTICE_MOST_TYPES] = {false};
    SALTUS_TRY(saltus_read_types(l, node, what, in));
    for (int type = 0; type < l->space->n_types; ++type) {
        rates[type].happens = in[type];
    }
done:
    return status;
}

static saltus_status read_reaction(saltus_lattice_reader *l, const saltus_yaml_entry *e,
                                   const char *what, int reaction)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_space *space = l->space;
    const saltus_reaction *r = &l->yaml->model->reactions[reaction];
    const saltus_yaml_node *node = e->value;
    const bool is_number = node->kind == SALTUS_YAML_SCALAR && node->text[0] != '\0' &&
                           (isdigit((unsigned char)node->text[0]) || strchr(".+-", node->text[0]));
    int type = 0;
    if (space->rates[reaction]) {
        status = saltus_yaml_fail(l->yaml, e->key, SALTUS_E_SYNTAX, "%s is given twice", what);
        goto done;
    }
    saltus_site_rate *rates =
        saltus_arena_alloc(&l->yaml->model->arena, (size_t)space->n_types * sizeof *rates);
    SALTUS_NEED(rates);
    space->rates[reaction] = rates;
    if (is_number) {
        SALTUS_TRY(read_constant(l, node, what, r, &rates[0]));
        for (type = 1; type < space->n_types; ++type) {
            rates[type] = rates[0];
        }
    } else if (node->kind == SALTUS_YAML_MAPPING) {
        SALTUS_TRY(saltus_yaml_no_key_twice(l->yaml, node, what));
        for (const saltus_yaml_entry *t = node->first; t; t = t->next) {
            SALTUS_TRY(saltus_read_type(l, t->key, what, &type));
            SALTUS_TRY(read_constant(l, t->value, what, r, &rates[type]));
        }
    } else {
        SALTUS_TRY(read_types(l, node, what, rates));
    }
done:
    return status;
}

/* "A <-> B @ kf, kr" has become two: its name alone stands for both where there is no constant. */
static saltus_status read_both(saltus_lattice_reader *l, const saltus_yaml_entry *e,
                               const char *what)
{
    static const char *const suffixes[] = {".forward", ".backward"};
    saltus_status status = SALTUS_OK;
    const saltus_model *m = l->yaml->model;
    for (int i = 0; i < 2; ++i) {
        char id[300];
        (void)snprintf(id, sizeof id, "%.200s%s", e->key->text, suffixes[i]);
        const int reaction = saltus_model_find_reaction(m, id);
        if (reaction < 0) {
            status = saltus_yaml_fail(l->yaml, e->key, SALTUS_E_MODEL,
                                      "there is no reaction '%.120s'", e->key->text);
            goto done;
        }
        SALTUS_TRY(read_reaction(l, e, what, reaction));
        for (int type = 0; type < l->space->n_types; ++type) {
            if (l->space->rates[reaction][type].is_given) {
                status = saltus_yaml_fail(l->yaml, e->value, SALTUS_E_MODEL,
                                          "%s: it has two constants", what);
                saltus_error_hint(l->yaml->err,
                                  "give them to '%.80s.forward' and "
                                  "'%.80s.backward'",
                                  e->key->text, e->key->text);
                goto done;
            }
        }
    }
done:
    return status;
}

/* Reactions whose rates were left to the lattice have one wherever they happen. */
static saltus_status check_rates(const saltus_lattice_reader *l)
{
    const saltus_model *m = l->yaml->model;
    for (size_t i = 0; i < m->n_reactions; ++i) {
        const saltus_reaction *r = &m->reactions[i];
        const saltus_site_rate *rates = l->space->rates[i];
        bool is_missing = r->law_is_lattices && !rates;
        for (int type = 0; r->law_is_lattices && rates && type < l->space->n_types; ++type) {
            is_missing |= rates[type].happens && !rates[type].is_given;
        }
        if (is_missing) {
            (void)saltus_error_set(l->yaml->err, SALTUS_E_MODEL,
                                   "%.180s:%d: reaction '%.120s': the rate is missing",
                                   l->yaml->name, r->line, r->id);
            saltus_error_hint(l->yaml->err, "write 'A + B -> C @ rate', or give its constants in "
                                            "the lattice's 'reactions'");
            return SALTUS_E_MODEL;
        }
    }
    return SALTUS_OK;
}

saltus_status saltus_read_rates(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    char what[200];
    if (node) {
        SALTUS_TRY(saltus_yaml_mapping(l->yaml, node, "reactions"));
    }
    for (const saltus_yaml_entry *e = node ? node->first : NULL; e; e = e->next) {
        const int reaction = saltus_model_find_reaction(l->yaml->model, e->key->text);
        (void)snprintf(what, sizeof what, "reaction '%.120s'", e->key->text);
        SALTUS_TRY(reaction >= 0 ? read_reaction(l, e, what, reaction) : read_both(l, e, what));
    }
    SALTUS_TRY(check_rates(l));
done:
    return status;
}
