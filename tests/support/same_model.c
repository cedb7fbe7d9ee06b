#include "same_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool same_name(const saltus_model *ma, int a, const saltus_model *mb, int b)
{
    return a < 0 || b < 0 ? a == b : strcmp(ma->variables[a].id, mb->variables[b].id) == 0;
}

bool same_expr(const saltus_model *ma, const saltus_expr *a, const saltus_model *mb,
               const saltus_expr *b)
{
    if (!a || !b) {
        return a == b;
    }
    if (a->op != b->op || a->n_args != b->n_args || !same_name(ma, a->variable, mb, b->variable)) {
        return false;
    }
    if (a->op == SALTUS_OP_CONST && memcmp(&a->value, &b->value, sizeof a->value) != 0 &&
        !(isnan(a->value) && isnan(b->value))) {
        return false;
    }
    for (int i = 0; i < a->n_args; ++i) {
        if (!same_expr(ma, a->args[i], mb, b->args[i])) {
            return false;
        }
    }
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_variable(const saltus_model *ma, const saltus_variable *a, const saltus_model *mb,
                          const saltus_variable *b)
{
    return same_text(a->id, b->id) && same_text(a->label, b->label) &&
           same_expr(ma, a->initial, mb, b->initial) && same_expr(ma, a->rule, mb, b->rule) &&
           same_expr(ma, a->rate, mb, b->rate) &&
           same_name(ma, a->compartment, mb, b->compartment) && a->boundary == b->boundary &&
           a->constant == b->constant && a->observable == b->observable;
}

static bool same_side(const saltus_model *ma, const saltus_participant *a, int n_a,
                      const saltus_model *mb, const saltus_participant *b, int n_b)
{
    bool same = n_a == n_b;
    for (int i = 0; same && i < n_a; ++i) {
        same = saltus_molecules(&a[i]) == saltus_molecules(&b[i]) &&
               same_name(ma, a[i].variable, mb, b[i].variable);
    }
    return same;
}

static bool same_reaction(const saltus_model *ma, const saltus_reaction *a, const saltus_model *mb,
                          const saltus_reaction *b)
{
    const saltus_expr *delay = saltus_reaction_delay(ma, a), *other = saltus_reaction_delay(mb, b);
    return same_text(a->id, b->id) && a->mass_action == b->mass_action &&
           a->reversible == b->reversible && same_expr(ma, a->law, mb, b->law) &&
           a->consumes_late == b->consumes_late && !delay == !other &&
           (!delay || same_expr(ma, delay, mb, other)) &&
           same_side(ma, a->reactants, a->n_reactants, mb, b->reactants, b->n_reactants) &&
           same_side(ma, a->products, a->n_products, mb, b->products, b->n_products);
}

static bool same_event(const saltus_model *ma, const saltus_event *a, const saltus_model *mb,
                       const saltus_event *b)
{
    bool same =
        same_text(a->id, b->id) && same_expr(ma, a->trigger, mb, b->trigger) &&
        same_expr(ma, a->delay, mb, b->delay) && same_expr(ma, a->priority, mb, b->priority) &&
        a->persistent == b->persistent && a->initial_value == b->initial_value &&
        a->use_trigger_values == b->use_trigger_values && a->n_assignments == b->n_assignments;
    for (int i = 0; same && i < a->n_assignments; ++i) {
        same = same_name(ma, a->assignments[i].variable, mb, b->assignments[i].variable) &&
               a->assignments[i].per_size == b->assignments[i].per_size &&
               same_expr(ma, a->assignments[i].value, mb, b->assignments[i].value);
    }
    return same;
}

/* The next variable of a kind from i on, or NULL. */
static const saltus_variable *next_of_kind(const saltus_model *m, saltus_kind kind, size_t *i)
{
    while (*i < m->n_variables) {
        const saltus_variable *v = &m->variables[(*i)++];
        if (v->kind == kind) {
            return v;
        }
    }
    return NULL;
}

const char *model_difference(const saltus_model *a, const saltus_model *b)
{
    static char text[300];
    if (!same_text(a->name, b->name)) {
        return "the name";
    }
    if (a->goes_back != b->goes_back || a->idles != b->idles || !a->mean_only != !b->mean_only) {
        return "what laws below 0 mean, or reactions that lack reactants, or methods";
    }
    for (int kind = SALTUS_KIND_PARAMETER; kind <= SALTUS_KIND_SPECIES; ++kind) {
        size_t i = 0, j = 0;
        const saltus_variable *x, *y;
        do {
            x = next_of_kind(a, (saltus_kind)kind, &i);
            y = next_of_kind(b, (saltus_kind)kind, &j);
            if (!x != !y || (x && !same_variable(a, x, b, y))) {
                (void)snprintf(text, sizeof text, "variable '%.200s'", x ? x->id : y->id);
                return text;
            }
        } while (x);
    }
    if (a->n_reactions != b->n_reactions || a->n_events != b->n_events) {
        return "the number of reactions or events";
    }
    for (size_t r = 0; r < a->n_reactions; ++r) {
        if (!same_reaction(a, &a->reactions[r], b, &b->reactions[r])) {
            (void)snprintf(text, sizeof text, "reaction '%.200s'", a->reactions[r].id);
            return text;
        }
    }
    for (size_t e = 0; e < a->n_events; ++e) {
        if (!same_event(a, &a->events[e], b, &b->events[e])) {
            (void)snprintf(text, sizeof text, "event '%.200s'", a->events[e].id);
            return text;
        }
    }
    return NULL;
}

char *model_to_yaml(const saltus_model *m)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        return NULL;
    }
    const saltus_status status = saltus_model_write_yaml(m, out, NULL);
    if (fclose(out) != 0 || status != SALTUS_OK) {
        free(text);
        return NULL;
    }
    return text;
}
