/* A model as Saltus YAML. Block style for lists, flow style for the properties of one thing; what
 * has its default is left out. Reading it back gives the same model, bit for bit. */
#include "core/file.h"
#include "core/number.h"
#include "core/stack.h"
#include "model/network/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    const saltus_model *model;
    FILE *out;
    saltus_error *err;
} writer;

/* libyaml takes a key only on one line and of at most 1024 characters, unless it is announced. */
enum { LONG_KEY = 1000 };

/* Whether a text can stand without quotes, also between braces. Errs on the side of quotes. */
static bool is_plain(const char *text)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_(";
    static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_()"
                               " .+-*/^<>=@&|!`";
    const size_t n = strlen(text);
    const char *c = text + (text[0] == '-');
    return *c && strchr(first, *c) && c[strspn(c, rest)] == '\0' && text[n - 1] != ' ' &&
           strcmp(text, "null") != 0;
}

/* The code point at c and its length; texts of models are UTF-8. */
static unsigned decode(const unsigned char *c, int *length)
{
    *length = *c < 0x80 ? 1 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : 4;
    unsigned code = *length == 1 ? *c : *c & (0x7fu >> *length);
    for (int i = 1; i < *length; ++i) {
        if ((c[i] & 0xc0) != 0x80) { /* not UTF-8, and so not written by a reader */
            *length = i;
            break;
        }
        code = code << 6 | (c[i] & 0x3f);
    }
    return code;
}

/* What YAML does not let stand as it is, also in quotes. */
static bool needs_escape(unsigned code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
           code == 0xfeff || code == 0xfffe || code == 0xffff;
}

static void write_text(const char *text, FILE *out)
{
    if (is_plain(text)) {
        (void)fputs(text, out);
        return;
    }
    int length;
    (void)fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c += length) {
        const unsigned code = decode(c, &length);
        if (code == '"' || code == '\\') {
            (void)fprintf(out, "\\%c", (char)code);
        } else if (needs_escape(code)) {
            (void)fprintf(out, "\\u%04X", code);
        } else {
            (void)fwrite(c, 1, (size_t)length, out);
        }
    }
    (void)fputc('"', out);
}

/* "key:", as the first on a line. */
static void write_key(const char *indent, const char *key, FILE *out)
{
    const bool is_long = strlen(key) > LONG_KEY;
    (void)fprintf(out, "%s%s", indent, is_long ? "? " : "");
    write_text(key, out);
    if (is_long) {
        (void)fprintf(out, "\n%s", indent);
    }
    (void)fputc(':', out);
}

/* A text that is put together before it is written, because only the whole tells whether it needs
 * quotes. */
typedef struct piece {
    char *text;
    size_t size;
    FILE *out;
} piece;

static saltus_status piece_open(piece *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *p = (piece){0};
    p->out = open_memstream(&p->text, &p->size);
    SALTUS_NEED(p->out);
done:
    return status;
}

/* Finish the text and write it. */
static saltus_status piece_write(const writer *w, piece *p)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = w->err;
    const bool failed = ferror(p->out) != 0;
    if (fclose(p->out) != 0 || failed) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    write_text(p->text, w->out);
done:
    free(p->text);
    return status;
}

static saltus_status write_expr(const writer *w, const saltus_expr *e)
{
    saltus_status status = SALTUS_OK;
    piece p;
    SALTUS_TRY(piece_open(&p, w->err));
    saltus_expr_print(w->model, e, p.out);
    SALTUS_TRY(piece_write(w, &p));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Variables
 */

/* A parameter of which a rule says everything need not stand among the parameters. */
static bool is_told_by_rule(const saltus_variable *v)
{
    return v->kind == SALTUS_KIND_PARAMETER && v->rule && v->observable && !v->initial &&
           !v->label && !v->constant;
}

/* Whether it is recorded when no property says else. */
static bool is_observed(const saltus_variable *v)
{
    return v->rule || v->rate;
}

static bool needs_properties(const saltus_variable *v)
{
    return !v->initial || v->label || v->constant || v->boundary || v->compartment >= 0 ||
           v->observable != is_observed(v);
}

/* Start a property within braces. */
static void write_property(const char *key, int *n, FILE *out)
{
    (void)fprintf(out, "%s%s: ", (*n)++ > 0 ? ", " : "", key);
}

static saltus_status write_properties(const writer *w, const saltus_variable *v,
                                      const char *value_key)
{
    saltus_status status = SALTUS_OK;
    int n = 0;
    (void)fputs(" {", w->out);
    if (v->initial) {
        write_property(value_key, &n, w->out);
        SALTUS_TRY(write_expr(w, v->initial));
    }
    if (v->boundary) {
        write_property("boundary", &n, w->out);
        (void)fputs("true", w->out);
    }
    if (v->constant) {
        write_property("constant", &n, w->out);
        (void)fputs("true", w->out);
    }
    if (v->compartment >= 0) {
        write_property("compartment", &n, w->out);
        write_text(w->model->variables[v->compartment].id, w->out);
    }
    if (v->observable != is_observed(v)) {
        write_property("observable", &n, w->out);
        (void)fputs(v->observable ? "true" : "false", w->out);
    }
    if (v->label) {
        write_property("label", &n, w->out);
        write_text(v->label, w->out);
    }
    (void)fputc('}', w->out);
done:
    return status;
}

static saltus_status write_variables(const writer *w, saltus_kind kind, const char *section,
                                     const char *value_key)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *m = w->model;
    size_t end =
        m->n_variables; /* the order is kept: only the last ones can be left to the rules */
    while (end > 0 &&
           (m->variables[end - 1].kind != kind || is_told_by_rule(&m->variables[end - 1]))) {
        --end;
    }
    if (end > 0) {
        (void)fprintf(w->out, "%s:\n", section);
    }
    for (size_t i = 0; i < end; ++i) {
        const saltus_variable *v = &m->variables[i];
        if (v->kind != kind) {
            continue;
        }
        write_key("  ", v->id, w->out);
        if (needs_properties(v)) {
            SALTUS_TRY(write_properties(w, v, value_key));
        } else {
            (void)fputc(' ', w->out);
            SALTUS_TRY(write_expr(w, v->initial));
        }
        (void)fputc('\n', w->out);
    }
done:
    return status;
}

/* Assignment rules, or rate rules. */
static saltus_status write_rules(const writer *w, bool of_rates, const char *section)
{
    saltus_status status = SALTUS_OK;
    bool any = false;
    for (size_t i = 0; i < w->model->n_variables; ++i) {
        const saltus_variable *v = &w->model->variables[i];
        const saltus_expr *rule = of_rates ? v->rate : v->rule;
        if (!rule) {
            continue;
        }
        if (!any) {
            (void)fprintf(w->out, "%s:\n", section);
        }
        any = true;
        write_key("  ", v->id, w->out);
        (void)fputc(' ', w->out);
        SALTUS_TRY(write_expr(w, rule));
        (void)fputc('\n', w->out);
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Reactions and events
 */

/* All digits of a number of molecules that is not whole, without an exponent. */
static void print_part(double x, FILE *out)
{
    char text[SALTUS_NUMBER_SIZE];
    if (strchr(saltus_number_format(x, text), 'e')) {
        (void)fprintf(out, "%.30f ", x);
    } else {
        (void)fprintf(out, "%s ", text);
    }
}

static void print_side(const saltus_model *m, const saltus_participant *p, int n, FILE *out)
{
    (void)fputs(n == 0 ? "0" : "", out);
    for (int i = 0; i < n; ++i) {
        (void)fputs(i > 0 ? " + " : "", out);
        const double molecules = saltus_molecules(&p[i]);
        if (molecules != floor(molecules)) {
            print_part(molecules, out);
        } else if (molecules != 1.0) {
            (void)fprintf(out, "%.0f ", molecules);
        }
        saltus_name_print(m->variables[p[i].variable].id, out);
    }
}

static void print_equation(const saltus_model *m, const saltus_reaction *r, FILE *out)
{
    print_side(m, r->reactants, r->n_reactants, out);
    (void)fputs(r->reversible ? " <-> " : " -> ", out);
    print_side(m, r->products, r->n_products, out);
}

static saltus_status write_reaction(const writer *w, const saltus_reaction *r)
{
    saltus_status status = SALTUS_OK;
    piece p;
    bool is_constant;
    write_key("  ", r->id, w->out);
    SALTUS_TRY(saltus_expr_is_constant_rate(w->model, r->law, &is_constant, w->err));
    /* In one text a rate is taken for what its names say. */
    const bool in_one_text = r->mass_action == is_constant && !r->takes_long;
    (void)fputs(in_one_text ? " " : " {equation: ", w->out);
    SALTUS_TRY(piece_open(&p, w->err));
    print_equation(w->model, r, p.out);
    if (in_one_text) {
        (void)fputs(" @ ", p.out);
        saltus_expr_print(w->model, r->law, p.out);
        SALTUS_TRY(piece_write(w, &p));
    } else {
        SALTUS_TRY(piece_write(w, &p));
        (void)fprintf(w->out, ", %s: ", r->mass_action ? "constant" : "law");
        SALTUS_TRY(write_expr(w, r->law));
        if (r->takes_long) {
            (void)fputs(", delay: ", w->out);
            SALTUS_TRY(write_expr(w, saltus_reaction_delay(w->model, r)));
            (void)fputs(r->consumes_late ? ", consume: end" : "", w->out);
        }
        (void)fputc('}', w->out);
    }
    (void)fputc('\n', w->out);
done:
    return status;
}

static saltus_status write_event_expr(const writer *w, const char *key, const saltus_expr *e)
{
    saltus_status status = SALTUS_OK;
    if (e) {
        (void)fprintf(w->out, "    %s: ", key);
        SALTUS_TRY(write_expr(w, e));
        (void)fputc('\n', w->out);
    }
done:
    return status;
}

static saltus_status write_event(const writer *w, const saltus_event *e)
{
    saltus_status status = SALTUS_OK;
    const bool by_time =
        e->trigger->op == SALTUS_OP_GE && e->trigger->args[0]->op == SALTUS_OP_TIME;
    write_key("  ", e->id, w->out);
    (void)fputc('\n', w->out);
    SALTUS_TRY(
        write_event_expr(w, by_time ? "at" : "when", by_time ? e->trigger->args[1] : e->trigger));
    SALTUS_TRY(write_event_expr(w, "delay", e->delay));
    SALTUS_TRY(write_event_expr(w, "priority", e->priority));
    if (!e->persistent) {
        (void)fputs("    persistent: false\n", w->out);
    }
    if (e->initial_value == by_time) {
        (void)fprintf(w->out, "    initial: %s\n", e->initial_value ? "true" : "false");
    }
    if (!e->use_trigger_values) {
        (void)fputs("    values_from: assignment\n", w->out);
    }
    (void)fputs(e->n_assignments > 0 ? "    set:\n" : "    set: {}\n", w->out);
    for (int i = 0; i < e->n_assignments; ++i) {
        const saltus_assignment *a = &e->assignments[i];
        if (a->per_size) {
            (void)fprintf(w->out, "      \"[%s]\":", w->model->variables[a->variable].id);
        } else {
            write_key("      ", w->model->variables[a->variable].id, w->out);
        }
        (void)fputc(' ', w->out);
        SALTUS_TRY(write_expr(w, a->value));
        (void)fputc('\n', w->out);
    }
done:
    return status;
}

/* What is drawn once and used several times has no spelling. */
static saltus_status check_draw(const char *kind, const char *id, const saltus_expr *e,
                                saltus_error *err)
{
    return e && saltus_expr_repeats_draw(e)
               ? saltus_error_set(err, SALTUS_E_UNSUPPORTED,
                                  "%s '%s': a number that is drawn once and used several times "
                                  "cannot be written as YAML",
                                  kind, id)
               : SALTUS_OK;
}

static saltus_status check_draws(const saltus_model *model, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (size_t i = 0; i < model->n_variables; ++i) {
        const saltus_variable *v = &model->variables[i];
        SALTUS_TRY(check_draw("initial value of", v->id, v->initial, err));
    }
    for (size_t i = 0; i < model->n_events; ++i) {
        const saltus_event *e = &model->events[i];
        SALTUS_TRY(check_draw("delay of event", e->id, e->delay, err));
        for (int k = 0; k < e->n_assignments; ++k) {
            SALTUS_TRY(check_draw("event", e->id, e->assignments[k].value, err));
        }
    }
done:
    return status;
}

typedef struct printing {
    const saltus_model *model;
    FILE *out;
} printing;

static saltus_status write_model(void *user, saltus_error *err)
{
    const printing *wanted = user;
    const saltus_model *model = wanted->model;
    FILE *out = wanted->out;
    saltus_status status = SALTUS_OK;
    const writer w = {.model = model, .out = out, .err = err};
    if (model->space) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "model '%s': a lattice cannot be written as YAML",
                    model->name);
    }
    SALTUS_TRY(check_draws(model, err));
    (void)fputs("model: ", out);
    write_text(model->name, out);
    (void)fputc('\n', out);
    if (model->time_label) {
        (void)fprintf(out, "time: %s\n", model->time_label);
    }
    if (model->draws_stoichiometry || model->law & SALTUS_STOICHIOMETRY_DRAW) {
        (void)fputs("stoichiometry: draw\n", out);
    }
    (void)fputs(model->goes_back ? "negative laws: backward\n" : "", out);
    (void)fputs(model->idles ? "lacking reactants: idle\n" : "", out);
    (void)fputs(model->mean_only ? "methods: ode\n" : "", out);
    SALTUS_TRY(write_variables(&w, SALTUS_KIND_COMPARTMENT, "compartments", "size"));
    SALTUS_TRY(write_variables(&w, SALTUS_KIND_PARAMETER, "parameters", "value"));
    SALTUS_TRY(write_variables(&w, SALTUS_KIND_SPECIES, "species", "initial"));
    SALTUS_TRY(write_rules(&w, false, "rules"));
    SALTUS_TRY(write_rules(&w, true, "rate rules"));
    (void)fputs(model->n_reactions > 0 ? "reactions:\n" : "", out);
    for (size_t i = 0; i < model->n_reactions; ++i) {
        SALTUS_TRY(write_reaction(&w, &model->reactions[i]));
    }
    (void)fputs(model->n_events > 0 ? "events:\n" : "", out);
    for (size_t i = 0; i < model->n_events; ++i) {
        SALTUS_TRY(write_event(&w, &model->events[i]));
    }
    status = saltus_check_written(out, err);
done:
    return status;
}

saltus_status saltus_model_write_yaml(const saltus_model *model, FILE *out, saltus_error *err)
{
    if (!model || !out) {
        return saltus_no_argument(err, __func__);
    }
    printing wanted = {model, out};
    return saltus_with_stack(write_model, &wanted, err);
}
