/* Numbers with units outside lattices: parameters, amounts, sizes, times and constants of
 * reactions. A model counts in molecules, litres and its own unit of time. */
#include "core/number.h"
#include "model/network/model.h"
#include "model/network/syntax.h"
#include "read/units.h"
#include "read/yaml/units.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* What numbers measure: powers of an amount, a volume and a time, the usual ones first. */
static const struct {
    int amount, volume, time;
} dimensions[] = {
    {0, 0, -1},  {0, 0, 1},  {0, 0, 0},   {1, -1, 0},  {-1, 1, -1}, {1, 0, 0},
    {0, 1, 0},   {0, -1, 0}, {0, 1, -1},  {1, -1, -1}, {0, -1, -1}, {1, 0, -1},
    {-2, 2, -1}, {0, 2, -1}, {-1, 1, 0},  {-2, 2, 0},  {2, -2, 0},  {-3, 3, -1},
    {0, 3, -1},  {-1, 0, 0}, {-1, 0, -1}, {0, 0, -2},  {0, 0, 2},
};
enum { N_DIMENSIONS = sizeof dimensions / sizeof *dimensions };

/* The first of the letters from c on that a name may hold. */
static size_t name_length(const char *c)
{
    size_t n = 0;
    while (isalnum((unsigned char)c[n]) || c[n] == '_' || c[n] == '.') {
        ++n;
    }
    return n;
}

/* Whether a text behind a number may be "/s": the names in it are not those of the model, nor of
 * constants. */
static bool divides_by_unit(const saltus_yaml_reader *r, const char *text)
{
    char name[40];
    bool any = false;
    for (const char *c = text; *c;) {
        size_t digits = 0;
        double number = 0.0;
        if (saltus_number_parse(c, &number, &digits) != SALTUS_NUMBER_NONE) {
            c += digits; /* with its exponent, 7e-3, which is no unit */
            continue;
        }
        const size_t n = isalpha((unsigned char)*c) ? name_length(c) : 0;
        if (n >= sizeof name || *c == '`') {
            return false;
        }
        memcpy(name, c, n);
        name[n] = '\0';
        if (n > 0 && (saltus_model_find(r->model, name) >= 0 || saltus_constant_named(name) ||
                      c[n] == '(')) {
            return false;
        }
        any |= n > 0;
        c += n > 0 ? n : 1;
    }
    return any;
}

bool saltus_yaml_has_unit(const saltus_yaml_reader *r, const char *text, double *value,
                          const char **unit)
{
    size_t length = 0;
    const bool negative = *text == '-';
    text += negative || *text == '+';
    text += strspn(text, " \t");
    if (saltus_number_parse(text, value, &length) != SALTUS_NUMBER_OK) {
        return false;
    }
    *value = negative ? -*value : *value;
    const char *rest = text + length + strspn(text + length, " \t");
    const size_t n = name_length(rest);
    *unit = rest;
    if (*rest == '/') {
        return divides_by_unit(r, rest);
    }
    const bool per = rest[0] == '1' && rest[1] == '/' && rest > text + length;
    if (strchr("0123456789.", *rest) && !per) { /* two numbers, or one that is none */
        return false;
    }
    return *rest != '\0' && strchr("+-*^<>=!&|,)", *rest) == NULL && !saltus_infix_named(rest, n);
}

static saltus_status refuse(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                            const char *what, const char *text, saltus_unit_fit fit)
{
    const saltus_status status = saltus_yaml_fail(
        r, node, SALTUS_E_MODEL, "%s: '%.60s': %s", what, text,
        fit == SALTUS_UNIT_UNKNOWN ? "its unit is not known"
                                   : "its unit is none of times, amounts and volumes");
    saltus_error_hint(r->err, "write it like '0.5 1/s', '10 nM', '1e6 1/(M s)', '1 fL'; an "
                              "expression has operators, 2*k");
    return status;
}

static void print_power(char *text, size_t size, const char *unit, int power)
{
    const size_t used = strlen(text);
    if (power != 0) {
        (void)snprintf(text + used, size - used, "%s(%s)^%d", used > 0 ? "." : "", unit, power);
    }
}

saltus_status saltus_yaml_measure(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                  const char *what, const char *text, saltus_yaml_quantity *out)
{
    saltus_status status = SALTUS_OK;
    saltus_model *m = r->model;
    const char *time = m->time_label ? m->time_label : "s", *unit = "";
    saltus_unit_fit fit = SALTUS_UNIT_UNKNOWN;
    double factor = 0.0;
    *out = (saltus_yaml_quantity){0};
    (void)saltus_yaml_has_unit(r, text, &out->value, &unit);
    for (int i = 0; i < N_DIMENSIONS && fit != SALTUS_UNIT_FITS; ++i) {
        saltus_error problem = {0};
        char own[200] = "";
        out->amount = dimensions[i].amount;
        out->volume = dimensions[i].volume;
        out->time = dimensions[i].time;
        print_power(own, sizeof own, "mol", out->amount);
        print_power(own, sizeof own, "L", out->volume);
        print_power(own, sizeof own, time, out->time);
        status = saltus_units_factor(unit, own[0] ? own : "1", &fit, &factor, &problem);
        if (status != SALTUS_OK) {
            (void)saltus_yaml_fail(r, node, status, "%s: %.200s", what, problem.message);
            saltus_error_hint(r->err, "%s", problem.hint);
            goto done;
        }
        if (fit == SALTUS_UNIT_UNKNOWN) {
            break;
        }
    }
    out->unit_size = factor * (out->amount == 0 ? 1.0 : pow(m->mole, out->amount));
    out->value *= out->unit_size;
    if (fit != SALTUS_UNIT_FITS || !isfinite(out->value)) {
        status = refuse(r, node, what, text, fit);
        goto done;
    }
    out->unit = saltus_arena_strndup(&m->arena, unit, strlen(unit));
    saltus_error *err = r->err;
    SALTUS_NEED(out->unit);
    m->has_moles |= out->amount != 0;
    if (out->time != 0 && !m->time_label) {
        m->time_label = "s";
        m->time_unit = 1.0;
    }
done:
    return status;
}

saltus_status saltus_yaml_time_unit(const saltus_yaml_reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err, problem = {0};
    const char *text = NULL;
    saltus_unit_fit fit = SALTUS_UNIT_UNKNOWN;
    double factor = 0.0;
    SALTUS_TRY(saltus_yaml_text(r, node, "time", &text));
    const bool is_name = isalpha((unsigned char)text[0]) && text[name_length(text)] == '\0';
    if (is_name) {
        status = saltus_units_factor(text, "s", &fit, &factor, &problem);
    }
    if (status != SALTUS_OK) {
        (void)saltus_yaml_fail(r, node, status, "time: %.200s", problem.message);
        saltus_error_hint(r->err, "%s", problem.hint);
        goto done;
    }
    if (fit != SALTUS_UNIT_FITS || (r->has_lattice && factor != 1.0)) {
        status = saltus_yaml_fail(r, node, SALTUS_E_MODEL, "time: '%.60s' %s", text,
                                  fit == SALTUS_UNIT_FITS ? "cannot be: a lattice counts in s"
                                                          : "is no unit of time");
        saltus_error_hint(r->err, r->has_lattice ? "leave 'time' out, or write 'time: s'"
                                                 : "write it like 'time: min'");
        goto done;
    }
    r->model->time_label = saltus_arena_strndup(&r->model->arena, text, strlen(text));
    SALTUS_NEED(r->model->time_label);
    r->model->time_unit = factor;
done:
    return status;
}

saltus_status saltus_yaml_time(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                               const char *what, const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_yaml_quantity q = {0};
    const char *unit = NULL;
    double value = 0.0;
    if (node->kind != SALTUS_YAML_SCALAR || !saltus_yaml_has_unit(r, node->text, &value, &unit)) {
        SALTUS_TRY(saltus_yaml_expr(r, node, what, out));
        goto done;
    }
    SALTUS_TRY(saltus_yaml_measure(r, node, what, node->text, &q));
    if (q.time != 1 || q.amount != 0 || q.volume != 0) {
        status =
            saltus_yaml_fail(r, node, SALTUS_E_MODEL, "%s: '%.60s' is no time", what, node->text);
        saltus_error_hint(r->err, "write it like '5 min'");
        goto done;
    }
    *out = saltus_expr_const(&r->model->arena, q.value);
    SALTUS_NEED(*out);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Variables
 */

static saltus_status misfit(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                            const char *what, const char *problem, const char *hint)
{
    const saltus_status status =
        saltus_yaml_fail(r, node, SALTUS_E_MODEL, "%s: '%.60s' %s", what, node->text, problem);
    saltus_error_hint(r->err, "%s", hint);
    return status;
}

/* An amount, or a concentration times the size of the compartment. */
static saltus_status read_amount(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                 const char *what, const saltus_yaml_quantity *q,
                                 saltus_variable *v)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    const bool is_amount = q->amount == 1 && q->volume == 0 && q->time == 0;
    const bool is_concentration =
        q->volume == -1 && q->time == 0 && (q->amount == 1 || q->amount == 0);
    if (!is_amount && !is_concentration) {
        status = misfit(r, node, what, "is no amount",
                        "write it like '100' (molecules), '2 fmol' or '10 nM'");
        goto done;
    }
    if (is_concentration && r->has_lattice) {
        status = misfit(r, node, what, "is a concentration, which on a lattice stands in 'place'",
                        "write 'place: {species: {type: 10 nM}}'");
        goto done;
    }
    if (is_concentration &&
        (v->compartment < 0 || !r->model->variables[v->compartment].size_unit)) {
        status =
            misfit(r, node, what, "is a concentration, and no compartment with a volume is said",
                   "write '{initial: 10 nM, compartment: cell}', and 'compartments: {cell: 1 "
                   "fL}'");
        goto done;
    }
    v->initial = saltus_expr_const(arena, q->value);
    if (is_concentration) {
        v->initial = saltus_expr_2(arena, SALTUS_OP_MUL, v->initial,
                                   saltus_expr_variable(arena, v->compartment));
    }
    SALTUS_NEED(v->initial);
    v->in_moles = q->amount == 1;
done:
    return status;
}

saltus_status saltus_yaml_initial(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                  const char *what, saltus_variable *v)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_yaml_quantity q = {0};
    SALTUS_TRY(saltus_yaml_measure(r, node, what, node->text, &q));
    if (v->kind == SALTUS_KIND_SPECIES) {
        SALTUS_TRY(read_amount(r, node, what, &q, v));
        goto done;
    }
    if (v->kind == SALTUS_KIND_COMPARTMENT) {
        if (q.volume != 1 || q.amount != 0 || q.time != 0) {
            status = misfit(r, node, what, "is no volume", "write it like '1 fL' or '0.5 um^3'");
            goto done;
        }
        v->dimensions = 3;
        v->size_unit = 1e-3; /* litres */
    } else if (r->has_lattice && q.volume != 0) {
        status = misfit(r, node, what,
                        "has a unit with a volume in it, which on a lattice is a "
                        "site's",
                        "write such constants in the lattice's 'reactions'");
        goto done;
    }
    v->unit = q.unit;
    v->unit_size = q.unit_size;
    v->unit_volume = q.volume;
    v->initial = saltus_expr_const(&r->model->arena, q.value);
    SALTUS_NEED(v->initial);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Constants of reactions
 */

/* The compartment that all of a side are in, or -1. */
static int compartment_of(const saltus_yaml_reader *r, const saltus_participant *side, int n)
{
    int c = -1;
    for (int i = 0; i < n; ++i) {
        const int own = r->model->variables[side[i].variable].compartment;
        if (own < 0 || (i > 0 && own != c)) {
            return -1;
        }
        c = own;
    }
    return c;
}

saltus_status saltus_yaml_constant(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                   const char *what, const char *text, saltus_reaction *x)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    saltus_yaml_quantity q = {0};
    int order = 0;
    SALTUS_TRY(saltus_yaml_measure(r, node, what, text, &q));
    for (int i = 0; i < x->n_reactants; ++i) {
        order += (int)fmin((double)saltus_whole_molecules(&x->reactants[i]), 100.0);
    }
    const bool is_plain = q.time == -1 && q.volume == 0 && q.amount == 0;
    const bool fits = q.time == -1 && q.volume == order - 1 &&
                      (q.amount == 0 || q.amount == 1 - order) && order != 1;
    if (!is_plain && !fits) {
        status = saltus_yaml_fail(r, node, SALTUS_E_MODEL,
                                  "%s: '%.60s' is no constant of its order, %d", what, text, order);
        saltus_error_hint(r->err, "write it like '%s'; '1/s' is per set of molecules",
                          order == 0   ? "1e-9 M/s"
                          : order == 1 ? "0.5 1/s"
                          : order == 2 ? "9e6 1/(M s)"
                                       : "1e3 1/(M2 s)");
        goto done;
    }
    const int c = x->n_reactants > 0 ? compartment_of(r, x->reactants, x->n_reactants)
                                     : compartment_of(r, x->products, x->n_products);
    if (!is_plain && (r->has_lattice || c < 0 || !r->model->variables[c].size_unit)) {
        status = saltus_yaml_fail(r, node, SALTUS_E_MODEL, "%s: '%.60s' needs %s", what, text,
                                  r->has_lattice ? "a place in the lattice's 'reactions'"
                                                 : "one compartment with a volume");
        saltus_error_hint(r->err, r->has_lattice
                                      ? "write 'reactions: {name: {type: 9e6 1/(M s)}}' there"
                                      : "write 'compartments: {cell: 1 fL}', and "
                                        "'{initial: 100, compartment: cell}' of its species");
        goto done;
    }
    x->law = saltus_expr_const(arena, q.value);
    for (int i = 0; i < (order > 1 ? order - 1 : 0) && !is_plain; ++i) {
        x->law = saltus_expr_2(arena, SALTUS_OP_DIV, x->law, saltus_expr_variable(arena, c));
    }
    if (order == 0 && !is_plain) {
        x->law = saltus_expr_2(arena, SALTUS_OP_MUL, x->law, saltus_expr_variable(arena, c));
    }
    SALTUS_NEED(x->law);
done:
    return status;
}
