/* BioNetGen's .net: a reaction network that BioNetGen made of rules, line by line in blocks.
 * Species are named by their patterns, reactions r1, r2 … by their numbers. First every name is
 * declared, then every expression is parsed, because functions stand before the groups that they
 * use.
 *
 * Constants are per molecule: k X1 X2 … with X for two of a kind. Where mass action counts
 * pairs, X (X-1)/2, the constant is doubled; BioNetGen has written the half into it. The other laws
 * are those of its own simulator. */
#include "core/memory.h"
#include "core/order.h"
#include "core/utf8.h"
#include "model/network/model.h"
#include "read/net/laws.h"
#include "read/net/lines.h"
#include "read/read.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * Names
 */

static bool is_text(const char *name)
{
    int n;
    for (const unsigned char *c = (const unsigned char *)name; *c; c += n) {
        n = saltus_utf8_length(c);
        if (n == 0 || *c < ' ' || *c == 0x7f) {
            return false;
        }
    }
    return true;
}

static saltus_status declare(const saltus_net_reader *r, saltus_net_line *l, saltus_kind kind,
                             const char *name)
{
    saltus_status status = SALTUS_OK;
    const int known = saltus_model_find(r->model, name);
    if (name[0] == '\0' || !is_text(name)) {
        status = saltus_net_fail(r, l->number, SALTUS_E_SYNTAX,
                                 name[0] ? "a name is no text" : "a name is missing");
        goto done;
    }
    if (known >= 0) {
        status = saltus_net_fail(r, l->number, SALTUS_E_MODEL,
                                 "'%.100s' is defined twice, first in line %d", name,
                                 r->model->variables[known].line);
        goto done;
    }
    SALTUS_TRY(saltus_model_add_variable(r->model, kind, name, l->number, &l->variable, r->err));
done:
    return status;
}

/* "name value", "name = value" */
static saltus_status declare_parameter(const saltus_net_reader *r, saltus_net_line *l)
{
    const char *name = saltus_net_cut_word(&l->text);
    if (l->text[0] == '=' && l->text[1] != '=') {
        l->text = saltus_net_skip_blanks(l->text + 1);
    }
    return declare(r, l, SALTUS_KIND_PARAMETER, name);
}

/* "name 1,2*5,7". In expressions the name of a parameter or function means that one; a group of
 * this name is recorded under another. */
static saltus_status declare_group(const saltus_net_reader *r, saltus_net_line *l)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    char *longer = NULL;
    char *name = saltus_net_cut_word(&l->text);
    const int known = saltus_model_find(r->model, name);
    if (known >= 0 && !r->model->variables[known].observable) {
        const size_t size = strlen(name) + sizeof "_group";
        longer = saltus_calloc(size, 1);
        SALTUS_NEED(longer);
        (void)snprintf(longer, size, "%s_group", name);
        saltus_model_warn(
            r->model,
            "%.180s:%d: group '%.100s' has the name of a parameter or function, which is "
            "what the name means in expressions; the group is recorded as '%.100s'",
            r->name, l->number, name, longer);
        name = longer;
    }
    SALTUS_TRY(declare(r, l, SALTUS_KIND_PARAMETER, name));
    r->model->variables[l->variable].observable = true;
done:
    saltus_free(longer);
    return status;
}

/* "name() value" */
static saltus_status declare_function(const saltus_net_reader *r, saltus_net_line *l)
{
    char *open = strchr(l->text, '('), *close = open ? strchr(open, ')') : NULL;
    if (!close) {
        return saltus_net_fail(r, l->number, SALTUS_E_SYNTAX, "'name() expression' is wanted here");
    }
    if (saltus_net_skip_blanks(open + 1) != close) {
        return saltus_net_fail(r, l->number, SALTUS_E_UNSUPPORTED, "a function has arguments");
    }
    *open = '\0';
    const char *name = saltus_net_cut_word(&(char *){l->text});
    l->text = saltus_net_skip_blanks(close + 1);
    if (l->text[0] == '=' && l->text[1] != '=') {
        l->text = saltus_net_skip_blanks(l->text + 1);
    }
    return declare(r, l, SALTUS_KIND_PARAMETER, name);
}

/* "pattern amount". A $ before the pattern, also behind its compartment, fixes the number of
 * molecules. In expressions a name means a parameter, function or group; a species of that name
 * keeps the empty parentheses that BioNetGen gives to molecules without components. */
static saltus_status declare_species(saltus_net_reader *r, saltus_net_line *l)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    char *longer = NULL;
    char *name = saltus_net_cut_word(&l->text);
    char *dollar = name[0] == '@' ? strstr(name, "::") : name;
    dollar = dollar && dollar != name ? dollar + 2 : dollar;
    const bool is_fixed = dollar && *dollar == '$';
    if (is_fixed) {
        memmove(dollar, dollar + 1, strlen(dollar));
    }
    const int known = saltus_model_find(r->model, name);
    if (known >= 0 && r->model->variables[known].kind != SALTUS_KIND_SPECIES) {
        const size_t n = strlen(name);
        longer = saltus_calloc(n + 3, 1);
        SALTUS_NEED(longer);
        memcpy(longer, name, n);
        memcpy(longer + n, "()", 2);
        name = longer;
    }
    SALTUS_TRY(declare(r, l, SALTUS_KIND_SPECIES, name));
    r->model->variables[l->variable].boundary = is_fixed;
    r->species[r->n_species++] = l->variable;
done:
    saltus_free(longer);
    return status;
}

/* Groups and species come last, for the sake of names that are taken. */
static saltus_status declare_all(saltus_net_reader *r)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    r->species = saltus_calloc(r->n_of[SALTUS_NET_SPECIES], sizeof *r->species);
    SALTUS_NEED(r->species);
    for (size_t i = 0; i < r->n_lines; ++i) {
        saltus_net_line *l = &r->lines[i];
        if (l->block == SALTUS_NET_FUNCTIONS) {
            SALTUS_TRY(declare_function(r, l));
        } else if (l->block == SALTUS_NET_PARAMETERS) {
            SALTUS_TRY(declare_parameter(r, l));
        }
    }
    for (size_t i = 0; i < r->n_lines; ++i) {
        if (r->lines[i].block == SALTUS_NET_GROUPS) {
            SALTUS_TRY(declare_group(r, &r->lines[i]));
        }
    }
    for (size_t i = 0; i < r->n_lines; ++i) {
        if (r->lines[i].block == SALTUS_NET_SPECIES) {
            SALTUS_TRY(declare_species(r, &r->lines[i]));
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Values
 */

static saltus_status parse_expr(const saltus_net_reader *r, const saltus_net_line *l,
                                const char *what, const char *text, const saltus_expr **out)
{
    const saltus_parse_context context = {
        .model = r->model, .what = what, .path = r->name, .line = l->number};
    return saltus_expr_parse(&context, text, out, r->err);
}

static saltus_status read_value(const saltus_net_reader *r, const saltus_net_line *l)
{
    saltus_status status = SALTUS_OK;
    char what[200];
    saltus_variable *v = &r->model->variables[l->variable];
    (void)snprintf(what, sizeof what, "%s '%.120s'",
                   l->block == SALTUS_NET_SPECIES     ? "species"
                   : l->block == SALTUS_NET_FUNCTIONS ? "function"
                                                      : "parameter",
                   v->id);
    const saltus_expr **out = l->block == SALTUS_NET_FUNCTIONS ? &v->rule : &v->initial;
    SALTUS_TRY(parse_expr(r, l, what, l->text, out));
    if (v->kind == SALTUS_KIND_SPECIES && v->initial->op == SALTUS_OP_CONST &&
        !(v->initial->value >= 0 && isfinite(v->initial->value))) {
        status = saltus_net_fail(r, l->number, SALTUS_E_MODEL,
                                 "%s: %.40s is no number of molecules", what, l->text);
    }
done:
    return status;
}

/* The number at *c, which is moved behind it; -1 if there is none or it is too large. */
static int cut_number(char **c)
{
    long long n = -1;
    for (; **c >= '0' && **c <= '9' && n <= INT_MAX; ++*c) {
        n = (n < 0 ? 0 : 10 * n) + (**c - '0');
    }
    return n <= INT_MAX ? (int)n : -1;
}

/* The species of a number from 1 on. */
static saltus_status find_species(const saltus_net_reader *r, const saltus_net_line *l, int number,
                                  int *variable)
{
    if (number < 1 || (size_t)number > r->n_species) {
        return saltus_net_fail(r, l->number, SALTUS_E_MODEL,
                               "species %d does not exist, there are %zu", number, r->n_species);
    }
    *variable = r->species[number - 1];
    return SALTUS_OK;
}

/* A sum in a tree of small depth: groups can have thousands of species. Whole numbers give the same
 * sum in any order. */
static const saltus_expr *balanced_sum(saltus_arena *arena, const saltus_expr *const *terms,
                                       size_t n)
{
    return n == 1 ? terms[0]
                  : saltus_expr_2(arena, SALTUS_OP_ADD, balanced_sum(arena, terms, n / 2),
                                  balanced_sum(arena, terms + n / 2, n - n / 2));
}

/* "5" or "2*5" */
static saltus_status read_term(const saltus_net_reader *r, const saltus_net_line *l, char **c,
                               const saltus_expr **out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    int variable = -1, factor = 1;
    char *start = *c;
    int number = cut_number(c);
    if (number >= 0 && **c == '*') {
        ++*c;
        factor = number;
        number = cut_number(c);
    }
    if (number < 0 || (**c && **c != ',' && !saltus_net_is_blank(**c))) {
        status = saltus_net_fail(r, l->number, SALTUS_E_SYNTAX,
                                 "'5' or '2*5' is wanted in a group, not '%.40s'", start);
        goto done;
    }
    SALTUS_TRY(find_species(r, l, number, &variable));
    const saltus_expr *e = saltus_expr_variable(arena, variable);
    *out =
        factor == 1 ? e : saltus_expr_2(arena, SALTUS_OP_MUL, saltus_expr_const(arena, factor), e);
    SALTUS_NEED(*out);
done:
    return status;
}

/* "1,2*5,7", or nothing. */
static saltus_status read_group(const saltus_net_reader *r, const saltus_net_line *l)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    const saltus_expr **terms = NULL;
    size_t n = 0, capacity = 0;
    saltus_variable *v = &r->model->variables[l->variable];
    for (char *c = l->text; *c;) {
        const saltus_expr **grown = saltus_grow(terms, n, &capacity, sizeof *terms);
        SALTUS_NEED(grown);
        terms = grown;
        SALTUS_TRY(read_term(r, l, &c, &terms[n]));
        ++n;
        while (*c == ',' || saltus_net_is_blank(*c)) {
            ++c;
        }
    }
    v->rule = n > 0 ? balanced_sum(arena, terms, n) : saltus_expr_const(arena, 0.0);
    v->observable = true;
    SALTUS_NEED(v->rule);
done:
    saltus_free(terms);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Reactions
 */

static saltus_status read_list(const saltus_net_reader *r, const saltus_net_line *l, char *c,
                               saltus_net_list *list)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    list->n = 0;
    for (;;) {
        char *start = c;
        const int number = cut_number(&c);
        if (number < 0 || (*c && *c != ',')) {
            status = saltus_net_fail(r, l->number, SALTUS_E_SYNTAX,
                                     "numbers of species are wanted here, not '%.40s'", start);
            goto done;
        }
        if (number > 0) { /* 0 is no species */
            int *grown =
                saltus_grow(list->variables, list->n, &list->capacity, sizeof *list->variables);
            SALTUS_NEED(grown);
            list->variables = grown;
            SALTUS_TRY(find_species(r, l, number, &list->variables[list->n]));
            ++list->n;
        }
        if (!*c) {
            break;
        }
        ++c;
    }
done:
    return status;
}

/* Participants of a list: equal ones are counted. Up to a few, the order of the list is kept. */
static saltus_status count_list(const saltus_net_reader *r, const saltus_net_list *list,
                                const saltus_participant **items, int *n_items)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    enum { FEW = 8 };
    *items = NULL;
    *n_items = 0;
    if (list->n == 0) {
        goto done;
    }
    if (list->n == 1) {
        *items = &r->singles[list->variables[0]];
        *n_items = 1;
        goto done;
    }
    if (list->n > FEW) {
        qsort(list->variables, list->n, sizeof *list->variables, saltus_order_ints);
    }
    saltus_participant *p = saltus_model_make_side(r->model, list->n, true);
    SALTUS_NEED(p);
    int n = 0;
    for (size_t i = 0; i < list->n; ++i) {
        int k = list->n > FEW && n > 0 ? n - 1 : 0;
        while (k < n && p[k].variable != list->variables[i]) {
            ++k;
        }
        p[k] = (saltus_participant){list->variables[i], k < n ? p[k].code + 1 : 1};
        n += k == n;
    }
    *items = p;
    *n_items = n;
done:
    return status;
}

typedef enum law { LAW_NONE, LAW_SAT, LAW_MM, LAW_HILL, LAW_OTHER } law;

/* The law that a rate names, "Sat k K" or "2*Sat k K"; *rest is then moved to its constants and the
 * factor, "2" or "", is cut off. */
static law cut_law(char **rest, char **factor)
{
    static const struct {
        const char *name;
        law law;
    } laws[] = {{"Sat", LAW_SAT},
                {"MM", LAW_MM},
                {"Hill", LAW_HILL},
                {"Arrhenius", LAW_OTHER},
                {"FunctionProduct", LAW_OTHER}};
    char *end = *rest;
    while (*end && !saltus_net_is_blank(*end)) {
        ++end;
    }
    char *star = memchr(*rest, '*', (size_t)(end - *rest));
    char *name = star ? star + 1 : *rest;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; ++i) {
        const size_t n = strlen(laws[i].name);
        if (*end && (size_t)(end - name) == n && strncmp(name, laws[i].name, n) == 0) {
            *factor = star ? *rest : end;
            *(star ? star : end) = '\0';
            *rest = saltus_net_skip_blanks(end + 1);
            return laws[i].law;
        }
    }
    return LAW_NONE;
}

/* The law "Sat …", "MM …" or "Hill …" from its constants. */
static saltus_status read_law(const saltus_net_reader *r, const saltus_net_line *l,
                              const char *what, law kind, const char *factor, char *rest,
                              const saltus_net_list *list, saltus_reaction *x)
{
    enum { MOST = 16 };
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    const saltus_expr *p[MOST] = {NULL}, *times = NULL;
    size_t n = 0;
    if (kind == LAW_OTHER) {
        status =
            saltus_net_fail(r, l->number, SALTUS_E_UNSUPPORTED,
                            "%s: of BioNetGen's laws only Sat, MM and Hill are supported", what);
        goto done;
    }
    while (*rest && n < MOST) {
        SALTUS_TRY(parse_expr(r, l, what, saltus_net_cut_word(&rest), &p[n]));
        ++n;
    }
    const bool fits = kind == LAW_SAT  ? n >= 1 && n <= list->n + 1
                      : kind == LAW_MM ? n == 2 && list->n >= 2
                                       : n == 3 && list->n >= 1;
    if (*rest || !fits) {
        status = saltus_net_fail(r, l->number, SALTUS_E_MODEL,
                                 "%s: %zu constants and %zu reactants do not fit the law", what, n,
                                 list->n);
        goto done;
    }
    x->law = kind == LAW_SAT  ? saltus_net_saturation(arena, p, n, list)
             : kind == LAW_MM ? saltus_net_michaelis_menten(arena, p, list)
                              : saltus_net_hill(arena, p, list);
    if (factor[0]) {
        SALTUS_TRY(parse_expr(r, l, what, factor, &times));
        x->law = saltus_expr_2(arena, SALTUS_OP_MUL, times, x->law);
    }
    SALTUS_NEED(x->law);
done:
    return status;
}

/* Write "r12" with its zero, unless `to` is NULL; returns how many bytes that is. */
static size_t write_id(size_t number, char *to)
{
    size_t n = 2;
    for (size_t rest = number; rest > 0; rest /= 10) {
        ++n;
    }
    for (size_t i = n - 1, rest = number; to && i-- > 1; rest /= 10) {
        to[i] = (char)('0' + rest % 10);
    }
    if (to) {
        to[0] = 'r';
        to[n - 1] = '\0';
    }
    return n;
}

/* A rate as it was read before, or read now. Large networks repeat a few dozen. */
static saltus_status find_rate(saltus_net_reader *r, const saltus_net_line *l, const char *what,
                               const char *text, const saltus_net_rate **out)
{
    enum { MOST = 1000 }; /* of those that are kept */
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    const int known = saltus_map_get(&r->rate_of, text);
    saltus_net_rate *rate = known >= 0 ? &r->rates[known] : NULL;
    if (!rate) {
        saltus_net_rate *grown =
            saltus_grow(r->rates, r->n_rates, &r->rates_capacity, sizeof *r->rates);
        SALTUS_NEED(grown);
        r->rates = grown;
        rate = &r->rates[r->n_rates];
        SALTUS_TRY(parse_expr(r, l, what, text, &rate->e));
        SALTUS_TRY(saltus_expr_is_constant_rate(r->model, rate->e, &rate->is_constant, err));
        if (r->n_rates < MOST) {
            SALTUS_NEED(saltus_map_put(&r->rate_of, text, (int)r->n_rates) == 0);
            ++r->n_rates;
        }
    }
    *out = rate;
done:
    return status;
}

/* A constant, or a function whose value is multiplied by the reactants as a constant is. */
static saltus_status read_rate(saltus_net_reader *r, const saltus_net_line *l, const char *what,
                               const char *rest, const saltus_net_list *list, saltus_reaction *x)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_arena *arena = &r->model->arena;
    const saltus_net_rate *rate = NULL;
    SALTUS_TRY(find_rate(r, l, what, rest, &rate));
    x->mass_action = rate->is_constant;
    x->law = x->mass_action ? saltus_net_per_combination(arena, rate->e, x)
                            : saltus_net_times_reactants(arena, rate->e, list, 0);
    SALTUS_NEED(x->law);
done:
    return status;
}

/* "1,2 3 rate". More molecules of one kind than this are no reaction, and their factorial is no
 * number. The reaction's name is written to *id, which is moved behind it. */
static saltus_status read_reaction(saltus_net_reader *r, const saltus_net_line *l, size_t number,
                                   char **id, saltus_net_list *reactants, saltus_net_list *products)
{
    enum { MOST_REACTANTS = 100 };
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_reaction x = {.id = *id, .line = l->number};
    char what[40], *rest = l->text, *factor = NULL;
    (void)snprintf(what, sizeof what, "reaction 'r%zu'", number);
    *id += write_id(number, *id);
    SALTUS_TRY(read_list(r, l, saltus_net_cut_word(&rest), reactants));
    SALTUS_TRY(read_list(r, l, saltus_net_cut_word(&rest), products));
    if (reactants->n > MOST_REACTANTS) {
        status = saltus_net_fail(r, l->number, SALTUS_E_UNSUPPORTED,
                                 "%s: %zu reactants are too many", what, reactants->n);
        goto done;
    }
    const law kind = cut_law(&rest, &factor);
    SALTUS_TRY(count_list(r, products, &x.products, &x.n_products));
    if (kind != LAW_NONE) { /* before the reactants are sorted */
        SALTUS_TRY(read_law(r, l, what, kind, factor, rest, reactants, &x));
    }
    SALTUS_TRY(count_list(r, reactants, &x.reactants, &x.n_reactants));
    if (kind == LAW_NONE) {
        SALTUS_TRY(read_rate(r, l, what, rest, reactants, &x));
    }
    SALTUS_TRY(saltus_model_append_reaction(r->model, &x, err)); /* ids are numbers in order */
done:
    return status;
}

static saltus_status read_all(saltus_net_reader *r)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_net_list reactants = {0}, products = {0};
    const size_t n = r->n_of[SALTUS_NET_REACTIONS];
    size_t n_reactions = 0;
    size_t id_bytes = 0;
    for (size_t i = 1; i <= n; ++i) {
        id_bytes += write_id(i, NULL);
    }
    char *ids = saltus_arena_alloc(&r->model->arena, id_bytes);
    const size_t n_variables = r->model->n_variables;
    r->singles = saltus_model_make_side(r->model, n_variables, true);
    SALTUS_NEED(ids && r->singles);
    for (size_t i = 0; i < n_variables; ++i) {
        saltus_participant_set(r->singles, n_variables, i, (int)i, 1.0);
    }
    for (size_t i = 0; i < r->n_lines; ++i) {
        const saltus_net_line *l = &r->lines[i];
        if (l->block == SALTUS_NET_GROUPS) {
            SALTUS_TRY(read_group(r, l));
        } else if (l->block != SALTUS_NET_REACTIONS) {
            SALTUS_TRY(read_value(r, l));
        }
    }
    for (size_t i = 0; i < r->n_lines; ++i) { /* every rule is known now */
        const saltus_net_line *l = &r->lines[i];
        if (l->block == SALTUS_NET_REACTIONS) {
            SALTUS_TRY(read_reaction(r, l, ++n_reactions, &ids, &reactants, &products));
        }
    }
done:
    saltus_free(reactants.variables);
    saltus_free(products.variables);
    return status;
}

static saltus_status parse_text(const saltus_source_text *source, saltus_model **out,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_net_reader r = {.name = source->name, .err = err};
    SALTUS_TRY(saltus_model_begin(source, &r.model, err));
    r.text = saltus_calloc(source->size + 1, 1);
    SALTUS_NEED(r.text);
    memcpy(r.text, source->text, source->size);
    SALTUS_TRY(saltus_net_split(&r, source->size));
    if (r.n_of[SALTUS_NET_SPECIES] == 0) {
        status = saltus_error_set(err, SALTUS_E_SYNTAX, "%.180s: there is no block of species",
                                  source->name);
        saltus_error_hint(err, "BioNetGen makes the network of a .bngl file: generate_network()");
        goto done;
    }
    SALTUS_TRY(declare_all(&r));
    SALTUS_TRY(read_all(&r));
    if (!r.begun[SALTUS_NET_REACTIONS]) {
        status = saltus_error_set(err, SALTUS_E_SYNTAX, "%.180s: there is no block of reactions",
                                  source->name);
        saltus_error_hint(err, "BioNetGen makes the network of a .bngl file: generate_network()");
        goto done;
    }
    SALTUS_TRY(saltus_check_mole(source, r.model, err));
    *out = r.model;
    r.model = NULL;
done:
    saltus_model_destroy(r.model);
    saltus_free(r.text);
    saltus_free(r.lines);
    saltus_free(r.species);
    saltus_free(r.rates);
    saltus_map_free(&r.rate_of);
    return status;
}

saltus_status saltus_parse_net(const saltus_source_text *source, saltus_model **out,
                               saltus_error *err)
{
    return saltus_parse_on_stack(parse_text, source, out, err);
}
