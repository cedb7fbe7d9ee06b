/* Saltus YAML; docs/yaml-format.md describes it. First every name is declared, then every text is
 * parsed, so that a name can be used before the line that defines it. */
#include "read/yaml_tree.h"

#include "core/memory.h"
#include "model/model.h"
#include "read/read.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

typedef struct reader {
    saltus_model *model;
    const char *name; /* of the file */
    saltus_error *err;
} reader;

__attribute__((format(printf, 4, 5))) static saltus_status
complain(const reader *r, const saltus_yaml_node *node, saltus_status code, const char *format, ...)
{
    char body[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(body, sizeof body, format, args);
    va_end(args);
    return saltus_error_set(r->err, code, "%.180s:%d:%d: %s", r->name, node->line, node->column,
                            body);
}

/* ------------------------------------------------------------------------------------------------
 * Mappings with known keys
 */

typedef struct field {
    const char *key;
    const saltus_yaml_entry *entry; /* NULL: not given */
} field;

static bool is_near(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    size_t head = 0, tail = 0;
    while (head < n && head < m && a[head] == b[head]) {
        ++head;
    }
    while (tail < n - head && tail < m - head && a[n - 1 - tail] == b[m - 1 - tail]) {
        ++tail;
    }
    const size_t longer = n > m ? n : m;
    return longer - head - tail <= 2 && head + tail > 0; /* a letter or two differ, in one place */
}

static saltus_status unknown_key(const reader *r, const saltus_yaml_node *key, const char *what,
                                 const field *fields, int n)
{
    const saltus_status status =
        complain(r, key, SALTUS_E_SYNTAX, "%s: '%.80s' is not known here", what, key->text);
    char list[200] = "";
    size_t used = 0;
    for (int i = 0; i < n; ++i) {
        if (is_near(key->text, fields[i].key)) {
            saltus_error_hint(r->err, "did you mean '%s'?", fields[i].key);
        }
        const int length =
            snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", fields[i].key);
        used += length > 0 && (size_t)length < sizeof list - used ? (size_t)length : 0;
    }
    saltus_error_hint(r->err, "known are %s", list);
    return status;
}

/* Sort the entries of a mapping into fields. `what` names the thing in messages. */
static saltus_status read_fields(const reader *r, const saltus_yaml_node *node, const char *what,
                                 field *fields, int n)
{
    if (node->kind != SALTUS_YAML_MAPPING) {
        return complain(r, node, SALTUS_E_SYNTAX, "%s: 'name: value' pairs are wanted here", what);
    }
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        int i = 0;
        while (i < n && strcmp(fields[i].key, e->key->text) != 0) {
            ++i;
        }
        if (i == n) {
            return unknown_key(r, e->key, what, fields, n);
        }
        if (fields[i].entry) {
            return complain(r, e->key, SALTUS_E_SYNTAX, "%s: '%s' is given twice, first in line %d",
                            what, e->key->text, fields[i].entry->key->line);
        }
        fields[i].entry = e;
    }
    return SALTUS_OK;
}

/* Nothing behind the colon: a value that is not given. */
static bool is_nothing(const saltus_yaml_node *node)
{
    return node->kind == SALTUS_YAML_SCALAR && node->plain &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0);
}

static saltus_status read_text(const reader *r, const saltus_yaml_node *node, const char *what,
                               const char **out)
{
    if (node->kind != SALTUS_YAML_SCALAR) {
        return complain(r, node, SALTUS_E_SYNTAX, "%s: one value is wanted here", what);
    }
    *out = node->text;
    return SALTUS_OK;
}

/* A boolean, if it is given. */
static saltus_status read_bool(const reader *r, const field *f, const char *what, bool *out)
{
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    if (!f->entry) {
        goto done;
    }
    SALTUS_TRY(read_text(r, f->entry->value, what, &text));
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        status = complain(r, f->entry->value, SALTUS_E_SYNTAX,
                          "%s: '%s' must be true or false, not "
                          "'%.40s'",
                          what, f->key, text);
        goto done;
    }
    *out = text[0] == 't';
done:
    return status;
}

/* The context for a part of a node's text, which starts `offset` bytes into it. */
static saltus_parse_context context_at(const reader *r, const saltus_yaml_node *node, size_t offset,
                                       const char *what)
{
    int column = node->column;
    for (size_t i = 0; i < offset && !node->folded; ++i) {
        column += ((unsigned char)node->text[i] & 0xc0) != 0x80;
    }
    return (saltus_parse_context){.model = r->model,
                                  .what = what,
                                  .path = r->name,
                                  .line = node->line,
                                  .column = column,
                                  .folded = node->folded};
}

static saltus_status read_expr(const reader *r, const saltus_yaml_node *node, const char *what,
                               const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    SALTUS_TRY(read_text(r, node, what, &text));
    const saltus_parse_context context = context_at(r, node, 0, what);
    SALTUS_TRY(saltus_expr_parse(&context, text, out, r->err));
done:
    return status;
}

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

static void variable_fields(const section *s, field fields[N_PROPERTIES], int *n)
{
    static const char *const keys[] = {"",           "constant", "label",
                                       "observable", "boundary", "compartment"};
    for (int i = 0; i < N_PROPERTIES; ++i) {
        fields[i] = (field){.key = i == VALUE ? s->value_key : keys[i]};
    }
    *n = s->kind == SALTUS_KIND_SPECIES ? N_PROPERTIES : BOUNDARY;
}

static saltus_status declare(const reader *r, saltus_kind kind, const saltus_yaml_node *key,
                             int *index)
{
    const int known = saltus_model_find(r->model, key->text);
    if (known >= 0) {
        return complain(r, key, SALTUS_E_MODEL, "'%.100s' is defined twice, first in line %d",
                        key->text, r->model->variables[known].line);
    }
    for (const char *c = key->text; *c; ++c) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            return complain(r, key, SALTUS_E_SYNTAX, "a name holds a control character");
        }
    }
    return saltus_model_add_variable(r->model, kind, key->text, key->line, index, r->err);
}

static saltus_status check_mapping(const reader *r, const saltus_yaml_node *node, const char *what)
{
    return node->kind == SALTUS_YAML_MAPPING
               ? SALTUS_OK
               : complain(r, node, SALTUS_E_SYNTAX, "%s: 'name: value' pairs are wanted here",
                          what);
}

static saltus_status declare_section(const reader *r, const section *s,
                                     const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(check_mapping(r, node, s->key));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        SALTUS_TRY(declare(r, s->kind, e->key, NULL));
    }
done:
    return status;
}

/* Rules may define what nothing else does: parameters that are observed. */
static saltus_status declare_targets(const reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(check_mapping(r, node, "rules"));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        if (saltus_model_find(r->model, e->key->text) < 0) {
            SALTUS_TRY(declare(r, SALTUS_KIND_PARAMETER, e->key, NULL));
        }
    }
done:
    return status;
}

static saltus_status read_compartment(const reader *r, const saltus_yaml_node *node,
                                      const char *what, int *out)
{
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    SALTUS_TRY(read_text(r, node, what, &text));
    const int v = saltus_model_find(r->model, text);
    if (v < 0 || r->model->variables[v].kind != SALTUS_KIND_COMPARTMENT) {
        const char *nearest = saltus_model_nearest(r->model, text);
        status = complain(r, node, SALTUS_E_MODEL, "%s: '%.100s' is not a compartment", what, text);
        if (v < 0 && nearest) {
            saltus_error_hint(r->err, "did you mean '%.100s'?", nearest);
        }
        goto done;
    }
    *out = v;
done:
    return status;
}

/* The value at time 0, if there is one. Numbers of molecules are looked at here, where their place
 * is known; freezing looks at those that are computed. */
static saltus_status read_initial(const reader *r, const saltus_yaml_node *node, const char *what,
                                  saltus_variable *v)
{
    saltus_status status = SALTUS_OK;
    if (is_nothing(node)) {
        goto done;
    }
    SALTUS_TRY(read_expr(r, node, what, &v->initial));
    const double value = v->initial->value;
    if (v->kind == SALTUS_KIND_SPECIES && v->initial->op == SALTUS_OP_CONST &&
        (!isfinite(value) || value < 0)) {
        status = complain(r, node, SALTUS_E_MODEL, "%s: %.40s is no number of molecules", what,
                          node->text);
    }
done:
    return status;
}

static saltus_status read_variable(const reader *r, const section *s, const saltus_yaml_entry *e)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    char what[200];
    field fields[N_PROPERTIES];
    int n;
    saltus_variable *v = &r->model->variables[saltus_model_find(r->model, e->key->text)];
    (void)snprintf(what, sizeof what, "%s '%.120s'", s->thing, e->key->text);
    if (e->value->kind != SALTUS_YAML_MAPPING) {
        SALTUS_TRY(read_initial(r, e->value, what, v));
        goto done;
    }
    variable_fields(s, fields, &n);
    SALTUS_TRY(read_fields(r, e->value, what, fields, n));
    if (fields[VALUE].entry) {
        SALTUS_TRY(read_initial(r, fields[VALUE].entry->value, what, v));
    }
    SALTUS_TRY(read_bool(r, &fields[CONSTANT], what, &v->constant));
    SALTUS_TRY(read_bool(r, &fields[OBSERVABLE], what, &v->observable));
    SALTUS_TRY(read_bool(r, &fields[BOUNDARY], what, &v->boundary));
    if (fields[LABEL].entry) {
        const char *text = NULL;
        SALTUS_TRY(read_text(r, fields[LABEL].entry->value, what, &text));
        v->label = saltus_arena_strndup(&r->model->arena, text, strlen(text));
        SALTUS_NEED(v->label);
    }
    if (fields[COMPARTMENT].entry) {
        SALTUS_TRY(read_compartment(r, fields[COMPARTMENT].entry->value, what, &v->compartment));
    }
done:
    return status;
}

static saltus_status read_section(const reader *r, const section *s, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        SALTUS_TRY(read_variable(r, s, e));
    }
done:
    return status;
}

static saltus_status read_rules(const reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    char what[200];
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        saltus_variable *v = &r->model->variables[saltus_model_find(r->model, e->key->text)];
        (void)snprintf(what, sizeof what, "rule '%.120s'", e->key->text);
        if (v->rule) {
            status = complain(r, e->key, SALTUS_E_MODEL, "%s: there is a second rule", what);
            goto done;
        }
        SALTUS_TRY(read_expr(r, e->value, what, &v->rule));
        v->observable = true; /* a property says else */
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Reactions
 */

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
} draft;

/* A copy of n characters of a node's text and where it stands. */
static saltus_status cut(const reader *r, const draft *d, const saltus_yaml_node *node,
                         const char *start, size_t n, const char **out, saltus_parse_context *at)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    while (n > 0 && (*start == ' ' || *start == '\t')) {
        ++start;
        --n;
    }
    *at = context_at(r, node, (size_t)(start - node->text), d->what);
    *out = saltus_arena_strndup(&r->model->arena, start, n);
    SALTUS_NEED(*out);
done:
    return status;
}

/* "rate" or "forward rate, backward rate", from an offset in a node's text on. */
static saltus_status cut_rates(const reader *r, draft *d, const saltus_yaml_node *node,
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
static saltus_status draft_of_text(const reader *r, const saltus_yaml_node *node, draft *d)
{
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    SALTUS_TRY(read_text(r, node, d->what, &text));
    const char *at = find_at(text);
    if (!at) {
        status = complain(r, node, SALTUS_E_SYNTAX, "%s: the rate is missing", d->what);
        saltus_error_hint(r->err, "write 'A + B -> C @ rate'");
        goto done;
    }
    SALTUS_TRY(cut(r, d, node, text, (size_t)(at - text), &d->equation, &d->equation_at));
    SALTUS_TRY(cut_rates(r, d, node, at + 1));
done:
    return status;
}

/* {equation: A -> B, rate: …} */
static saltus_status draft_of_mapping(const reader *r, const saltus_yaml_node *node, draft *d)
{
    enum { EQUATION, RATE, CONSTANT_RATE, LAW, REVERSIBLE, N };
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    field fields[N] = {{.key = "equation"},
                       {.key = "rate"},
                       {.key = "constant"},
                       {.key = "law"},
                       {.key = "reversible"}};
    SALTUS_TRY(read_fields(r, node, d->what, fields, N));
    const int n_given = !!fields[RATE].entry + !!fields[CONSTANT_RATE].entry + !!fields[LAW].entry;
    if (!fields[EQUATION].entry || n_given != 1) {
        status = complain(r, node, SALTUS_E_SYNTAX, "%s: %s", d->what,
                          !fields[EQUATION].entry ? "'equation' is missing"
                          : n_given == 0          ? "one of 'rate', 'constant' and 'law' is missing"
                                         : "only one of 'rate', 'constant' and 'law' can be given");
        goto done;
    }
    d->kind = fields[RATE].entry            ? LAW_BY_NAMES
              : fields[CONSTANT_RATE].entry ? LAW_CONSTANT
                                            : LAW_WRITTEN;
    SALTUS_TRY(read_bool(r, &fields[REVERSIBLE], d->what, &d->reversible));
    const saltus_yaml_node *equation = fields[EQUATION].entry->value;
    SALTUS_TRY(read_text(r, equation, d->what, &text));
    SALTUS_TRY(cut(r, d, equation, text, strlen(text), &d->equation, &d->equation_at));
    const saltus_yaml_node *rate = fields[RATE + (int)d->kind].entry->value;
    SALTUS_TRY(read_text(r, rate, d->what, &text));
    SALTUS_TRY(cut_rates(r, d, rate, text));
done:
    return status;
}

static saltus_status push(const reader *r, const draft *d, const char *suffix, saltus_reaction *x)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const size_t n = strlen(d->id), k = strlen(suffix);
    char *id = saltus_arena_alloc(&r->model->arena, n + k + 1);
    SALTUS_NEED(id);
    memcpy(id, d->id, n);
    memcpy(id + n, suffix, k);
    const int known = saltus_map_get(&r->model->reaction_names, id);
    if (known >= 0) {
        status = complain(r, d->node, SALTUS_E_MODEL,
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

static saltus_status parse_law(const reader *r, const draft *d, int i, saltus_reaction *x)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_expr_parse(&d->rate_at[i], d->rates[i], &x->law, r->err));
    x->mass_action = false;
    if (d->kind != LAW_WRITTEN) {
        SALTUS_TRY(saltus_expr_is_constant_rate(r->model, x->law, &x->mass_action, r->err));
    }
    if (d->kind == LAW_CONSTANT && !x->mass_action) {
        status = complain(r, d->node, SALTUS_E_MODEL,
                          "%s: the constant names a species or the time", d->what);
        saltus_error_hint(r->err, "write the whole propensity as 'law'");
        goto done;
    }
done:
    return status;
}

/* Turn a draft into one reaction, or into two: forward and backward. */
static saltus_status add_reaction(const reader *r, const draft *d)
{
    saltus_status status = SALTUS_OK;
    saltus_reaction x = {0};
    SALTUS_TRY(saltus_equation_parse(&d->equation_at, d->equation, &x, r->err));
    const bool two_way = x.reversible;
    SALTUS_TRY(parse_law(r, d, 0, &x));
    if (d->n_rates == 1) {
        x.reversible = two_way || d->reversible;
        if (x.reversible && x.mass_action) {
            status = complain(r, d->node, SALTUS_E_MODEL,
                              "%s: a reversible reaction needs two constants", d->what);
            saltus_error_hint(r->err, "write 'A <-> B @ forward, backward'");
            goto done;
        }
        SALTUS_TRY(push(r, d, "", &x));
        goto done;
    }
    if (!two_way || d->reversible) {
        status = complain(r, d->node, SALTUS_E_MODEL, "%s: two rates need the arrow '<->'%s",
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

static saltus_status read_reactions(const reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    char what[200];
    SALTUS_TRY(check_mapping(r, node, "reactions"));
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

/* ------------------------------------------------------------------------------------------------
 * Events
 */

static saltus_status find_target(const reader *r, const saltus_yaml_node *key, const char *what,
                                 int *out)
{
    const int v = saltus_model_find(r->model, key->text);
    if (v < 0) {
        const saltus_status status =
            complain(r, key, SALTUS_E_MODEL, "%s: '%.100s' is not defined", what, key->text);
        const char *nearest = saltus_model_nearest(r->model, key->text);
        if (nearest) {
            saltus_error_hint(r->err, "did you mean '%.100s'?", nearest);
        }
        return status;
    }
    const saltus_variable *x = &r->model->variables[v];
    *out = v;
    return x->constant || x->rule
               ? complain(r, key, SALTUS_E_MODEL, "%s: '%.100s' cannot be set: %s", what, key->text,
                          x->rule ? "a rule determines it" : "it is constant")
               : SALTUS_OK;
}

static saltus_status read_assignments(const reader *r, const saltus_yaml_node *node,
                                      const char *what, saltus_event *event)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_map seen = {0};
    SALTUS_TRY(check_mapping(r, node, what));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        ++event->n_assignments;
    }
    saltus_assignment *list = saltus_arena_alloc(&r->model->arena, (size_t)event->n_assignments *
                                                                       sizeof *event->assignments);
    SALTUS_NEED(list);
    event->assignments = list;
    for (const saltus_yaml_entry *e = node->first; e; e = e->next, ++list) {
        if (saltus_map_get(&seen, e->key->text) >= 0) {
            status = complain(r, e->key, SALTUS_E_SYNTAX, "%s: '%.100s' is set twice", what,
                              e->key->text);
            goto done;
        }
        if (saltus_map_put(&seen, e->key->text, 0) != 0) {
            SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
        }
        SALTUS_TRY(find_target(r, e->key, what, &list->variable));
        SALTUS_TRY(read_expr(r, e->value, what, &list->value));
    }
done:
    saltus_map_free(&seen);
    return status;
}

enum { AT, WHEN, SET, DELAY, PRIORITY, PERSISTENT, INITIAL, VALUES_FROM, N_EVENT_FIELDS };

/* The condition, from `at` or `when`. One that is given by a time is false before time 0, so that
 * what is to happen at time 0 does. */
static saltus_status read_trigger(const reader *r, const saltus_yaml_node *node,
                                  const field fields[N_EVENT_FIELDS], const char *what,
                                  saltus_event *event)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    const saltus_expr *e = NULL;
    if (!fields[AT].entry == !fields[WHEN].entry) {
        status = complain(r, node, SALTUS_E_SYNTAX, "%s: one of 'at' and 'when' is wanted", what);
        goto done;
    }
    if (fields[WHEN].entry) {
        SALTUS_TRY(read_expr(r, fields[WHEN].entry->value, what, &event->trigger));
        event->initial_value = true;
        goto done;
    }
    SALTUS_TRY(read_expr(r, fields[AT].entry->value, what, &e));
    event->trigger = saltus_expr_2(arena, SALTUS_OP_GE, saltus_expr_time(arena), e);
    SALTUS_NEED(event->trigger);
done:
    return status;
}

static saltus_status read_values_from(const reader *r, const field *f, const char *what, bool *out)
{
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    if (!f->entry) {
        goto done;
    }
    SALTUS_TRY(read_text(r, f->entry->value, what, &text));
    *out = strcmp(text, "trigger") == 0;
    if (!*out && strcmp(text, "assignment") != 0) {
        status =
            complain(r, f->entry->value, SALTUS_E_SYNTAX,
                     "%s: 'values_from' must be trigger or assignment, not '%.40s'", what, text);
    }
done:
    return status;
}

static saltus_status read_event(const reader *r, const saltus_yaml_entry *entry, const char *what)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_event event = {.persistent = true, .use_trigger_values = true, .line = entry->key->line};
    field fields[N_EVENT_FIELDS] = {
        {.key = "at"},       {.key = "when"},       {.key = "set"},     {.key = "delay"},
        {.key = "priority"}, {.key = "persistent"}, {.key = "initial"}, {.key = "values_from"}};
    SALTUS_TRY(read_fields(r, entry->value, what, fields, N_EVENT_FIELDS));
    SALTUS_TRY(read_trigger(r, entry->value, fields, what, &event));
    if (!fields[SET].entry) {
        status = complain(r, entry->value, SALTUS_E_SYNTAX, "%s: 'set' is missing", what);
        goto done;
    }
    SALTUS_TRY(read_assignments(r, fields[SET].entry->value, what, &event));
    if (fields[DELAY].entry) {
        SALTUS_TRY(read_expr(r, fields[DELAY].entry->value, what, &event.delay));
    }
    if (fields[PRIORITY].entry) {
        SALTUS_TRY(read_expr(r, fields[PRIORITY].entry->value, what, &event.priority));
    }
    SALTUS_TRY(read_bool(r, &fields[PERSISTENT], what, &event.persistent));
    SALTUS_TRY(read_bool(r, &fields[INITIAL], what, &event.initial_value));
    SALTUS_TRY(read_values_from(r, &fields[VALUES_FROM], what, &event.use_trigger_values));
    event.id = saltus_arena_strndup(&r->model->arena, entry->key->text, strlen(entry->key->text));
    SALTUS_NEED(event.id);
    SALTUS_TRY(saltus_model_push_event(r->model, &event, err));
done:
    return status;
}

static saltus_status read_events(const reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_map seen = {0};
    char what[200];
    SALTUS_TRY(check_mapping(r, node, "events"));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        (void)snprintf(what, sizeof what, "event '%.120s'", e->key->text);
        if (saltus_map_get(&seen, e->key->text) >= 0) {
            status = complain(r, e->key, SALTUS_E_MODEL, "%s is defined twice", what);
            goto done;
        }
        if (saltus_map_put(&seen, e->key->text, 0) != 0) {
            SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
        }
        SALTUS_TRY(read_event(r, e, what));
    }
done:
    saltus_map_free(&seen);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The whole
 */

static saltus_status read_name(const reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const char *text = NULL;
    SALTUS_TRY(read_text(r, node, "model", &text));
    char *name = saltus_strdup(text);
    SALTUS_NEED(name);
    saltus_free(r->model->name);
    r->model->name = name;
done:
    return status;
}

static saltus_status read_root(const reader *r, const saltus_yaml_node *root)
{
    enum { MODEL, COMPARTMENTS, PARAMETERS, SPECIES, RULES, REACTIONS, EVENTS, N };
    saltus_status status = SALTUS_OK;
    field f[N] = {{.key = "model"},   {.key = "compartments"}, {.key = "parameters"},
                  {.key = "species"}, {.key = "rules"},        {.key = "reactions"},
                  {.key = "events"}};
    const section *const sections[] = {&compartments, &parameters, &species};
    SALTUS_TRY(read_fields(r, root, "model", f, N));
    for (int i = 0; i < N; ++i) { /* "events:" with nothing behind it has nothing in it */
        if (f[i].entry && is_nothing(f[i].entry->value)) {
            f[i].entry = NULL;
        }
    }
    if (f[MODEL].entry) {
        SALTUS_TRY(read_name(r, f[MODEL].entry->value));
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
    for (int i = 0; i < 3; ++i) {
        if (f[COMPARTMENTS + i].entry) {
            SALTUS_TRY(read_section(r, sections[i], f[COMPARTMENTS + i].entry->value));
        }
    }
    if (f[REACTIONS].entry) {
        SALTUS_TRY(read_reactions(r, f[REACTIONS].entry->value));
    }
    if (f[EVENTS].entry) {
        SALTUS_TRY(read_events(r, f[EVENTS].entry->value));
    }
done:
    return status;
}

saltus_status saltus_model_parse_yaml(const char *text, size_t size, const char *name,
                                      saltus_model **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_arena arena = {0};
    const saltus_yaml_node *root = NULL;
    reader r = {.name = name, .err = err};
    SALTUS_TRY(saltus_model_begin(text, size, name, &r.model, err));
    SALTUS_TRY(saltus_yaml_load(text, size, name, &arena, &root, err));
    if (!root || is_nothing(root)) {
        SALTUS_FAIL(SALTUS_E_SYNTAX, "%s: there is no model in the file", name);
    }
    if (root->kind != SALTUS_YAML_MAPPING) {
        status = complain(&r, root, SALTUS_E_SYNTAX, "this is no model");
        saltus_error_hint(err, "a model starts with 'model:', 'species:' or 'reactions:'");
        goto done;
    }
    SALTUS_TRY(read_root(&r, root));
    *out = r.model;
    r.model = NULL;
done:
    saltus_model_destroy(r.model);
    saltus_arena_free(&arena);
    return status;
}
