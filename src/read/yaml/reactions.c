/* The reactions of a YAML model. */
#include "model/network/model.h"
#include "read/yaml/units.h"

#include <string.h>

/* The first '@' outside backquotes, or NULL. */
static const char *find_at(const char *text)
{
    bool quoted = false;
    for (; *text && (quoted || *text != '@'); ++text) {
        quoted ^= *text == '`';
    }
    return *text ? text : NULL;
}

/* The first comma outside backquotes and parentheses, or NULL. */
static const char *find_comma(const char *text)
{
    int depth = 0;
    bool quoted = false;
    for (; *text && (quoted || depth > 0 || *text != ','); ++text) {
        quoted ^= *text == '`';
        depth += quoted ? 0 : (*text == '(') - (*text == ')');
    }
    return *text ? text : NULL;
}

typedef enum law_kind {
    LAW_BY_NAMES, /* the constant of mass action if it names no species, else the propensity */
    LAW_CONSTANT, /* of mass action, or it is a mistake */
    LAW_WRITTEN,  /* the propensity, also if it names no species */
} law_kind;

/* A reaction while it is read. */
typedef struct draft {
    const char *id;
    const char *what;
    const saltus_yaml_node *node; /* for failures of the whole */
    const char *equation;         /* parts of the texts of nodes, ended by zeros */
    saltus_parse_context equation_at;
    const char *rates[2];
    saltus_parse_context rate_at[2];
    int n_rates;
    law_kind kind;
    bool reversible; /* said so by a property */
    const saltus_expr *delay;
    bool consumes_late;
} draft;

/* A copy of n characters of a node's text and where it stands. */
static saltus_status cut(const saltus_yaml_reader *r, const draft *d, const saltus_yaml_node *node,
                         const char *start, size_t n, const char **out, saltus_parse_context *at)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    while (n > 0 && (*start == ' ' || *start == '\t')) {
        ++start;
        --n;
    }
    *at = saltus_yaml_context(r, node, (size_t)(start - node->text), d->what);
    *out = saltus_arena_strndup(&r->model->arena, start, n);
    SALTUS_NEED(*out);
done:
    return status;
}

/* "rate" or "forward rate, backward rate", from an offset in a node's text on. */
static saltus_status cut_rates(const saltus_yaml_reader *r, draft *d, const saltus_yaml_node *node,
                               const char *start)
{
    saltus_status status = SALTUS_OK;
    const char *comma = find_comma(start);
    d->n_rates = comma ? 2 : 1;
    const size_t n = comma ? (size_t)(comma - start) : strlen(start);
    SALTUS_TRY(cut(r, d, node, start, n, &d->rates[0], &d->rate_at[0]));
    if (comma) {
        SALTUS_TRY(cut(r, d, node, comma + 1, strlen(comma + 1), &d->rates[1], &d->rate_at[1]));
    }
done:
    return status;
}

/* "A -> B @ rate" */
static saltus_status draft_of_text(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                   draft *d)
{
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    SALTUS_TRY(saltus_yaml_text(r, node, d->what, &text));
    const char *at = find_at(text);
    if (!at && r->has_lattice) {
        SALTUS_TRY(cut(r, d, node, text, strlen(text), &d->equation, &d->equation_at));
        goto done;
    }
    if (!at) {
        status = saltus_yaml_fail(r, node, SALTUS_E_SYNTAX, "%s: the rate is missing", d->what);
        saltus_error_hint(r->err, "write 'A + B -> C @ rate'");
        goto done;
    }
    SALTUS_TRY(cut(r, d, node, text, (size_t)(at - text), &d->equation, &d->equation_at));
    SALTUS_TRY(cut_rates(r, d, node, at + 1));
done:
    return status;
}

/* How long it takes, and when what is consumed goes. */
static saltus_status draft_of_delay(const saltus_yaml_reader *r, const saltus_yaml_field *delay,
                                    const saltus_yaml_field *consume, draft *d)
{
    saltus_status status = SALTUS_OK;
    const char *text = "start";
    if (delay->entry) {
        SALTUS_TRY(saltus_yaml_time(r, delay->entry->value, d->what, &d->delay));
    }
    if (consume->entry) {
        SALTUS_TRY(saltus_yaml_text(r, consume->entry->value, d->what, &text));
    }
    d->consumes_late = strcmp(text, "end") == 0;
    if (consume->entry && (!d->delay || (!d->consumes_late && strcmp(text, "start") != 0))) {
        status = saltus_yaml_fail(r, consume->entry->value, SALTUS_E_SYNTAX,
                                  !d->delay ? "%s: 'consume' needs a 'delay'"
                                            : "%s: 'consume' must be start or end, not '%.40s'",
                                  d->what, text);
    }
done:
    return status;
}

/* {equation: A -> B, rate: …} */
static saltus_status draft_of_mapping(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                      draft *d)
{
    enum { EQUATION, RATE, CONSTANT_RATE, LAW, REVERSIBLE, DELAY, CONSUME, N };
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    saltus_yaml_field fields[N] = {{.key = "equation"}, {.key = "rate"},       {.key = "constant"},
                                   {.key = "law"},      {.key = "reversible"}, {.key = "delay"},
                                   {.key = "consume"}};
    SALTUS_TRY(saltus_yaml_fields(r, node, d->what, fields, N));
    const int n_given = !!fields[RATE].entry + !!fields[CONSTANT_RATE].entry + !!fields[LAW].entry;
    if (!fields[EQUATION].entry || n_given > 1 || (n_given == 0 && !r->has_lattice)) {
        status = saltus_yaml_fail(r, node, SALTUS_E_SYNTAX, "%s: %s", d->what,
                                  !fields[EQUATION].entry ? "'equation' is missing"
                                  : n_given == 0
                                      ? "one of 'rate', 'constant' and 'law' is missing"
                                      : "only one of 'rate', 'constant' and 'law' can be given");
        goto done;
    }
    d->kind = fields[RATE].entry            ? LAW_BY_NAMES
              : fields[CONSTANT_RATE].entry ? LAW_CONSTANT
                                            : LAW_WRITTEN;
    SALTUS_TRY(saltus_yaml_bool(r, &fields[REVERSIBLE], d->what, &d->reversible));
    SALTUS_TRY(draft_of_delay(r, &fields[DELAY], &fields[CONSUME], d));
    const saltus_yaml_node *equation = fields[EQUATION].entry->value;
    SALTUS_TRY(saltus_yaml_text(r, equation, d->what, &text));
    SALTUS_TRY(cut(r, d, equation, text, strlen(text), &d->equation, &d->equation_at));
    if (n_given == 0) {
        goto done;
    }
    const saltus_yaml_node *rate = fields[RATE + (int)d->kind].entry->value;
    SALTUS_TRY(saltus_yaml_text(r, rate, d->what, &text));
    SALTUS_TRY(cut_rates(r, d, rate, text));
done:
    return status;
}

static saltus_status push(const saltus_yaml_reader *r, const draft *d, const char *suffix,
                          saltus_reaction *x)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const size_t n = strlen(d->id), k = strlen(suffix);
    char *id = saltus_arena_alloc(&r->model->arena, n + k + 1);
    SALTUS_NEED(id);
    memcpy(id, d->id, n);
    memcpy(id + n, suffix, k);
    const int known = saltus_model_find_reaction(r->model, id);
    if (known >= 0) {
        status = saltus_yaml_fail(r, d->node, SALTUS_E_MODEL,
                                  "reaction '%.100s' is defined twice, first in line %d", id,
                                  r->model->reactions[known].line);
        goto done;
    }
    x->id = id;
    x->line = d->node->line;
    SALTUS_TRY(saltus_model_push_reaction(r->model, x, err));
done:
    return status;
}

/* A parameter with a volume in its unit is no constant per set of molecules. */
static saltus_status check_parameter(const saltus_yaml_reader *r, const draft *d,
                                     const saltus_expr *law)
{
    const saltus_variable *v =
        law->op == SALTUS_OP_VARIABLE ? &r->model->variables[law->variable] : NULL;
    if (!v || !v->unit || v->unit_volume == 0) {
        return SALTUS_OK;
    }
    const saltus_status status = saltus_yaml_fail(
        r, d->node, SALTUS_E_MODEL, "%s: its rate '%.60s' is in '%.40s': a volume is missing",
        d->what, v->id, v->unit);
    saltus_error_hint(r->err, "write the rate as '%.60s%scell', with the size of a compartment",
                      v->id, v->unit_volume > 0 ? "/" : "*");
    return status;
}

static saltus_status parse_law(const saltus_yaml_reader *r, const draft *d, int i,
                               saltus_reaction *x)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    if (d->n_rates == 0) { /* the lattice gives constants */
        x->law = saltus_expr_const(&r->model->arena, 0.0);
        SALTUS_NEED(x->law);
        x->mass_action = x->law_is_lattices = true;
        goto done;
    }
    const char *unit = NULL;
    double value = 0.0;
    if (saltus_yaml_has_unit(r, d->rates[i], &value, &unit)) {
        SALTUS_TRY(saltus_yaml_constant(r, d->node, d->what, d->rates[i], x));
    } else {
        SALTUS_TRY(saltus_expr_parse(&d->rate_at[i], d->rates[i], &x->law, r->err));
    }
    SALTUS_TRY(check_parameter(r, d, x->law));
    x->mass_action = false;
    if (d->kind != LAW_WRITTEN) {
        SALTUS_TRY(saltus_expr_is_constant_rate(r->model, x->law, &x->mass_action, r->err));
    }
    if (d->kind == LAW_CONSTANT && !x->mass_action) {
        status = saltus_yaml_fail(r, d->node, SALTUS_E_MODEL,
                                  "%s: the constant names a species or the time", d->what);
        saltus_error_hint(r->err, "write the whole propensity as 'law'");
        goto done;
    }
done:
    return status;
}

/* Turn a draft into one reaction, or into two: forward and backward. */
static saltus_status add_reaction(const saltus_yaml_reader *r, const draft *d)
{
    saltus_status status = SALTUS_OK;
    saltus_reaction x = {0};
    SALTUS_TRY(saltus_equation_parse(&d->equation_at, d->equation, &x, r->err));
    const bool two_way = x.reversible;
    if (d->delay && (two_way || d->reversible)) {
        status =
            saltus_yaml_fail(r, d->node, SALTUS_E_MODEL,
                             "%s: what takes a while goes one way, with the arrow '->'", d->what);
        goto done;
    }
    SALTUS_TRY(parse_law(r, d, 0, &x));
    if (d->n_rates < 2 && !(d->n_rates == 0 && two_way)) {
        x.reversible = two_way || d->reversible;
        if (x.reversible && x.mass_action) {
            status = saltus_yaml_fail(r, d->node, SALTUS_E_MODEL,
                                      "%s: a reversible reaction needs two constants", d->what);
            saltus_error_hint(r->err, "write 'A <-> B @ forward, backward'");
            goto done;
        }
        SALTUS_TRY(push(r, d, "", &x));
        SALTUS_TRY(d->delay ? saltus_model_delay_last(r->model, d->delay, d->consumes_late, r->err)
                            : SALTUS_OK);
        goto done;
    }
    if (!two_way || d->reversible) {
        status =
            saltus_yaml_fail(r, d->node, SALTUS_E_MODEL, "%s: two rates need the arrow '<->'%s",
                             d->what, two_way ? ", without 'reversible'" : "");
        goto done;
    }
    x.reversible = false;
    saltus_reaction back = {.reactants = x.products,
                            .n_reactants = x.n_products,
                            .products = x.reactants,
                            .n_products = x.n_reactants};
    SALTUS_TRY(parse_law(r, d, 1, &back));
    SALTUS_TRY(push(r, d, ".forward", &x));
    SALTUS_TRY(push(r, d, ".backward", &back));
done:
    return status;
}

saltus_status saltus_yaml_reactions(const saltus_yaml_reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    char what[200];
    SALTUS_TRY(saltus_yaml_mapping(r, node, "reactions"));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        draft d = {.id = e->key->text, .what = what, .node = e->key};
        (void)snprintf(what, sizeof what, "reaction '%.120s'", e->key->text);
        SALTUS_TRY(e->value->kind == SALTUS_YAML_MAPPING ? draft_of_mapping(r, e->value, &d)
                                                         : draft_of_text(r, e->value, &d));
        SALTUS_TRY(add_reaction(r, &d));
    }
done:
    return status;
}
