/* `diffusion` and `step` of a lattice. */
#include "read/yaml/lattice.h"

#include <math.h>
#include <string.h>

/* What rounding may add to a probability of 1/2. */
#define SLACK (1.0 + 1e-12)

/* A constant in m2/s, which the step must suit. */
static saltus_status read_constant(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                   const char *what, double *out)
{
    static const saltus_quantity diffusion = {
        "diffusion constant", "2.5 um2/s", {{"m2 s-1", 1.0}}, 1, 1.0};
    saltus_status status = SALTUS_OK;
    const saltus_space *space = l->space;
    const double area = space->spacing * space->spacing;
    SALTUS_TRY(saltus_read_quantity(l, node, what, &diffusion, out));
    if (!(*out >= 0.0)) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL, "%s: '%.60s' is negative", what,
                                  node->text);
    } else if (space->step > 0.0 && *out * space->step / area > 0.5 * SLACK) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL,
                                  "%s: q = D step/spacing^2 = %.4g is above 1/2", what,
                                  *out * space->step / area);
        saltus_error_hint(l->yaml->err, "the step can be %.4g s at most, or 'largest'",
                          0.5 * area / *out);
    }
done:
    return status;
}

/* "a-b" or "a->b": where it is split and how long the separator is. */
static const char *find_pair(const char *key, size_t *separator)
{
    const char *dash = strchr(key, '-');
    *separator = dash && dash[1] == '>' ? 2 : 1;
    return dash;
}

static saltus_status read_pair(saltus_lattice_reader *l, const saltus_yaml_entry *e,
                               const char *dash, size_t separator, const char *what, double *d,
                               bool *said)
{
    saltus_status status = SALTUS_OK;
    double value = 0.0;
    const int n = l->space->n_types;
    const char *name[2] = {e->key->text, dash + separator};
    const size_t length[2] = {(size_t)(dash - name[0]), strlen(name[1])};
    int type[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
        type[i] = saltus_find_type(l->space, name[i], length[i]);
        if (type[i] < 0) {
            status = saltus_no_type(l, e->key, what, name[i], (int)length[i]);
            goto done;
        }
    }
    if (type[0] == type[1]) {
        status = saltus_yaml_fail(l->yaml, e->key, SALTUS_E_MODEL,
                                  "%s: '%.100s' is no pair of different types", what, e->key->text);
        goto done;
    }
    SALTUS_TRY(read_constant(l, e->value, what, &value));
    const int there = type[0] * n + type[1], back = type[1] * n + type[0];
    if (said[there] || (separator == 1 && said[back])) {
        status = saltus_yaml_fail(l->yaml, e->key, SALTUS_E_SYNTAX,
                                  "%s: '%.100s': there is a constant of this way already", what,
                                  e->key->text);
        saltus_error_hint(l->yaml->err, "'a-b' is both ways, 'a->b' and 'b->a' are one each");
        goto done;
    }
    d[there] = value;
    said[there] = true;
    if (separator == 1) {
        d[back] = value;
        said[back] = true;
    }
done:
    return status;
}

/* Constants per type and per pair; `said` is of pairs. Between two types that have one each it is
 * the smaller one, with a type that has none it is 0, unless the pair says else. */
static saltus_status read_types(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                const char *what, double *d, bool *given, bool *said)
{
    saltus_status status = SALTUS_OK;
    const int n = l->space->n_types;
    size_t separator;
    int type = 0;
    SALTUS_TRY(saltus_yaml_no_key_twice(l->yaml, node, what));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        if (!find_pair(e->key->text, &separator)) {
            SALTUS_TRY(saltus_read_type(l, e->key, what, &type));
            SALTUS_TRY(read_constant(l, e->value, what, &d[type * n + type]));
            given[type] = true;
        }
    }
    for (int i = 0; i < n * n; ++i) {
        d[i] = fmin(d[i / n * (n + 1)], d[i % n * (n + 1)]);
    }
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        const char *dash = find_pair(e->key->text, &separator);
        if (dash) {
            SALTUS_TRY(read_pair(l, e, dash, separator, what, d, said));
        }
    }
done:
    return status;
}

static saltus_status read_species(saltus_lattice_reader *l, const saltus_yaml_entry *e)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_arena *arena = &l->yaml->model->arena;
    saltus_space *space = l->space;
    const size_t n = (size_t)space->n_types;
    char what[200];
    bool *said = NULL;
    int v = 0;
    (void)snprintf(what, sizeof what, "diffusion of '%.120s'", e->key->text);
    SALTUS_TRY(saltus_read_species(l, e->key, "diffusion", &v));
    if (space->diffusion[v]) {
        status = saltus_yaml_fail(l->yaml, e->key, SALTUS_E_SYNTAX, "%s is given twice", what);
        goto done;
    }
    double *d = saltus_arena_alloc(arena, n * n * sizeof *d);
    bool *given = saltus_arena_alloc(arena, n * sizeof *given);
    SALTUS_NEED(d);
    SALTUS_NEED(given);
    if (e->value->kind == SALTUS_YAML_MAPPING) {
        said = saltus_calloc(n * n, sizeof *said);
        SALTUS_NEED(said);
        SALTUS_TRY(read_types(l, e->value, what, d, given, said));
    } else {
        const bool *in = saltus_types_of_species(l, v); /* NULL: everywhere */
        double constant = 0.0;
        SALTUS_TRY(read_constant(l, e->value, what, &constant));
        for (size_t i = 0; i < n * n; ++i) {
            given[i % n] = !in || in[i % n];
            d[i] = !in || (in[i / n] && in[i % n]) ? constant : 0.0;
        }
    }
    space->diffusion[v] = d;
    space->has_diffusion[v] = given;
done:
    saltus_free(said);
    return status;
}

saltus_status saltus_read_diffusion(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    enum { MOST = 1 << 27 };
    saltus_status status = SALTUS_OK;
    const saltus_model *m = l->yaml->model;
    const double n_pairs = (double)l->space->n_types * l->space->n_types;
    SALTUS_TRY(saltus_yaml_mapping(l->yaml, node, "diffusion"));
    if (n_pairs * (double)m->n_variables > MOST) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_UNSUPPORTED,
                                  "diffusion: %zu species with %d site types are too many",
                                  m->n_variables, l->space->n_types);
        goto done;
    }
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        SALTUS_TRY(read_species(l, e));
    }
    for (size_t v = 0; v < m->n_variables; ++v) {
        const saltus_variable *var = &m->variables[v];
        if (var->kind == SALTUS_KIND_SPECIES && !var->rule && !l->space->diffusion[v]) {
            status = saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL,
                                      "species '%.100s' has no diffusion constant", var->id);
            saltus_error_hint(l->yaml->err, "write '%.100s: 0' if it never moves", var->id);
            goto done;
        }
    }
done:
    return status;
}

saltus_status saltus_read_step(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    static const saltus_quantity time = {"time", "50 us' or 'largest", {{"s", 1.0}}, 1, 1.0};
    saltus_status status = SALTUS_OK;
    if (node->kind == SALTUS_YAML_SCALAR && strcmp(node->text, "largest") == 0) {
        goto done; /* once the constants are known */
    }
    SALTUS_TRY(saltus_read_quantity(l, node, "step", &time, &l->space->step));
    if (!(l->space->step > 0.0)) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL, "step: '%.60s' must be above 0",
                                  node->text);
    }
done:
    return status;
}

/* The most that a step may be has q = 1/2: all particles then jump along all axes in every step,
 * and two that are an odd number of sites apart stay so, and never meet. */
static const double largest_q = 0.45;

saltus_status saltus_largest_step(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    saltus_space *space = l->space;
    const int n = space->n_types * space->n_types;
    double largest = 0.0;
    for (size_t v = 0; v < l->yaml->model->n_variables; ++v) {
        for (int i = 0; space->diffusion[v] && i < n; ++i) {
            largest = fmax(largest, space->diffusion[v][i]);
        }
    }
    space->step = largest_q * space->spacing * space->spacing / largest;
    return largest > 0.0 && isnormal(space->step)
               ? SALTUS_OK
               : saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL,
                                  largest > 0.0
                                      ? "step: the largest cannot be told as a number; give a time"
                                      : "step: nothing moves, so no step is the largest; give a "
                                        "time");
}
