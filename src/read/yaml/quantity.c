/* Numbers with units, and names, in the section `lattice`. */
#include "core/number.h"
#include "read/units.h"
#include "read/yaml/lattice.h"

#include <math.h>
#include <string.h>

static saltus_status misfit(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                            const char *what, const saltus_quantity *q, const char *problem)
{
    const saltus_status status =
        saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL, "%s: '%.60s' is no %s: %s", what,
                         node->text, q->noun, problem);
    saltus_error_hint(l->yaml->err, "write it like '%s'", q->example);
    return status;
}

saltus_status saltus_read_quantity(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                   const char *what, const saltus_quantity *q, double *out)
{
    saltus_status status = SALTUS_OK;
    const char *text = "";
    double value = 0.0, factor = 0.0;
    size_t length = 0;
    saltus_unit_fit fit = SALTUS_UNIT_UNKNOWN;
    SALTUS_TRY(saltus_yaml_text(l->yaml, node, what, &text));
    const bool negative = *text == '-';
    text += negative || *text == '+';
    if (saltus_number_parse(text, &value, &length) != SALTUS_NUMBER_OK) {
        status = misfit(l, node, what, q, "it does not start with a number");
        goto done;
    }
    value = negative ? -value : value;
    text += length;
    text += strspn(text, " \t");
    if (*text == '\0') {
        *out = value * q->bare;
        if (q->bare == 0.0 && value != 0.0) {
            status = misfit(l, node, what, q, "its unit is missing");
        }
        goto done;
    }
    for (int i = 0; i < q->n_measures && fit != SALTUS_UNIT_FITS; ++i) {
        saltus_error problem = {0};
        status = saltus_units_factor(text, q->measures[i].si, &fit, &factor, &problem);
        if (status != SALTUS_OK) {
            (void)saltus_yaml_fail(l->yaml, node, status, "%s: %.200s", what, problem.message);
            saltus_error_hint(l->yaml->err, "%s", problem.hint);
            goto done;
        }
        *out = value * (factor * q->measures[i].scale);
        l->yaml->model->has_moles |=
            fit == SALTUS_UNIT_FITS && strstr(q->measures[i].si, "mol") != NULL;
    }
    if (fit != SALTUS_UNIT_FITS) {
        status =
            misfit(l, node, what, q,
                   fit == SALTUS_UNIT_UNKNOWN ? "its unit is not known" : "its unit does not fit");
    } else if (!isfinite(*out)) {
        status = misfit(l, node, what, q, "it is too large");
    }
done:
    return status;
}

/* Lengths up to here, in sites, leave room for parts of a site when they are computed with. */
#define FARTHEST 1e11

/* "16 sites", "1 site" */
static bool is_in_sites(const saltus_yaml_node *node, double *out)
{
    const char *text = node->kind == SALTUS_YAML_SCALAR ? node->text : "";
    double value = 0.0;
    size_t length = 0;
    const bool negative = *text == '-';
    text += negative || *text == '+';
    if (saltus_number_parse(text, &value, &length) != SALTUS_NUMBER_OK) {
        return false;
    }
    text += length;
    text += strspn(text, " \t");
    if (strcmp(text, "sites") != 0 && strcmp(text, "site") != 0) {
        return false;
    }
    *out = negative ? -value : value;
    return true;
}

saltus_status saltus_read_length(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                 const char *what, double *out)
{
    const saltus_quantity q = {
        "length", "0.5 um' or '16 sites", {{"m", 1.0 / l->space->spacing}}, 1, 0.0};
    saltus_status status = SALTUS_OK;
    if (!is_in_sites(node, out)) {
        SALTUS_TRY(saltus_read_quantity(l, node, what, &q, out));
    }
    if (!(fabs(*out) <= FARTHEST)) {
        status =
            saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL, "%s: '%.60s' is more than %.0e sites",
                             what, node->text, FARTHEST);
    }
done:
    return status;
}

saltus_status saltus_read_lengths(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                  const char *what, double out[3])
{
    saltus_status status = SALTUS_OK;
    const saltus_yaml_node *items[3];
    int n = 0;
    SALTUS_TRY(saltus_read_items(l, node, what, 3, items, &n));
    if (n != 3) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX,
                                  "%s: three lengths are wanted here: [x, y, z]", what);
        goto done;
    }
    for (int i = 0; i < 3; ++i) {
        SALTUS_TRY(saltus_read_length(l, items[i], what, &out[i]));
    }
done:
    return status;
}

static double volume_of(const saltus_space *space)
{
    return space->spacing * space->spacing * space->spacing;
}

saltus_quantity saltus_concentration(const saltus_space *space)
{
    const double volume = volume_of(space);
    return (saltus_quantity){
        "concentration", "12.3 nM", {{"mol m-3", space->mole * volume}, {"m-3", volume}}, 2, 1.0};
}

saltus_quantity saltus_rate_constant(const saltus_space *space, int order)
{
    const double volume = volume_of(space);
    saltus_quantity q = {"constant of order 0",
                         "1e-9 M/s",
                         {{"mol m-3 s-1", space->mole * volume}, {"m-3 s-1", volume}},
                         2,
                         1.0};
    if (order == 1) {
        q = (saltus_quantity){"constant of order 1",
                              "0.5 1/s",
                              {{"s-1", 1.0}, {"m s-1", 1.0 / space->spacing}},
                              2,
                              1.0};
    } else if (order > 1) {
        static const char *const nouns[] = {"constant of order 2", "constant of order 3",
                                            "constant of its order"};
        static const char *const examples[] = {"9e6 1/(M s)", "1e3 1/(M2 s)", "1 1/(M3 s)"};
        const int known = order < 4 ? order - 2 : 2, power = order - 1;
        q.noun = nouns[known];
        q.example = examples[known];
        (void)snprintf(q.measures[0].si, sizeof q.measures[0].si, "m%d mol-%d s-1", 3 * power,
                       power);
        (void)snprintf(q.measures[1].si, sizeof q.measures[1].si, "m%d s-1", 3 * power);
        q.measures[0].scale = pow(space->mole * volume, -power);
        q.measures[1].scale = pow(volume, -power);
    }
    return q;
}

/* ---- numbers and names ---- */

saltus_status saltus_read_whole(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                                const char *what, double least, double most, double *out)
{
    saltus_status status = SALTUS_OK;
    const char *text = "";
    SALTUS_TRY(saltus_yaml_text(l->yaml, node, what, &text));
    if (!saltus_number_read(text, out) || *out != nearbyint(*out) ||
        !(*out >= least && *out <= most)) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL,
                                  "%s: '%.60s' is no whole number from %.0f to %.0f", what, text,
                                  least, most);
    }
done:
    return status;
}

saltus_status saltus_read_items(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                                const char *what, int n_most, const saltus_yaml_node **out, int *n)
{
    *n = 0;
    if (node->kind == SALTUS_YAML_MAPPING) {
        return saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX,
                                "%s: a value or a list, [a, b, c], is wanted here", what);
    }
    if (node->kind == SALTUS_YAML_SCALAR) {
        out[(*n)++] = node;
        return SALTUS_OK;
    }
    for (const saltus_yaml_entry *e = node->first; e; e = e->next, ++*n) {
        if (*n < n_most) {
            out[*n] = e->value;
        }
    }
    return SALTUS_OK;
}

int saltus_find_type(const saltus_space *space, const char *name, size_t length)
{
    for (int i = 0; i < space->n_types; ++i) {
        if (strlen(space->type_names[i]) == length &&
            memcmp(space->type_names[i], name, length) == 0) {
            return i;
        }
    }
    return -1;
}

saltus_status saltus_no_type(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                             const char *what, const char *name, int length)
{
    char list[200] = "";
    size_t used = 0;
    const saltus_status status =
        saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL, "%s: there are no sites of type '%.*s'",
                         what, length < 80 ? length : 80, name);
    for (int i = 0; i < l->space->n_types; ++i) {
        const int n = snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                               l->space->type_names[i]);
        used += n > 0 && (size_t)n < sizeof list - used ? (size_t)n : 0;
    }
    if (l->space->n_types > 0) {
        saltus_error_hint(l->yaml->err, "known are %s", list);
    }
    return status;
}

saltus_status saltus_read_type(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                               const char *what, int *type)
{
    saltus_status status = SALTUS_OK;
    const char *text = "";
    SALTUS_TRY(saltus_yaml_text(l->yaml, node, what, &text));
    *type = saltus_find_type(l->space, text, strlen(text));
    if (*type < 0) {
        status = saltus_no_type(l, node, what, text, (int)strlen(text));
    }
done:
    return status;
}

saltus_status saltus_read_types(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                                const char *what, bool *in)
{
    saltus_status status = SALTUS_OK;
    const saltus_yaml_node *items[SALTUS_LATTICE_MOST_TYPES];
    int n = 0, type = 0;
    SALTUS_TRY(saltus_read_items(l, node, what, SALTUS_LATTICE_MOST_TYPES, items, &n));
    if (n == 0 || n > SALTUS_LATTICE_MOST_TYPES) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX,
                                  "%s: site types are wanted here: [a, b, c]", what);
        goto done;
    }
    for (int i = 0; i < n; ++i) {
        SALTUS_TRY(saltus_read_type(l, items[i], what, &type));
        in[type] = true;
    }
done:
    return status;
}

saltus_status saltus_read_species(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                                  const char *what, int *variable)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *m = l->yaml->model;
    const int v = saltus_model_find(m, node->text);
    const bool is_species = v >= 0 && m->variables[v].kind == SALTUS_KIND_SPECIES;
    if (!is_species || m->variables[v].rule) {
        const char *nearest = saltus_model_nearest_of(m, node->text, SALTUS_KIND_SPECIES);
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL, "%s: '%.100s' is not a species%s",
                                  what, node->text, is_species ? " whose molecules count" : "");
        if (v < 0 && nearest) {
            saltus_error_hint(l->yaml->err, "did you mean '%.100s'?", nearest);
        }
    }
    *variable = v;
    return status;
}
