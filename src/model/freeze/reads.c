/* What expressions read through rules. Rules are gone through in their order, each once: chains of
 * them may be long. */
#include "model/freeze/freeze.h"

typedef struct visit_counts {
    const saltus_freezer *f;
    void (*found)(void *user, int species);
    void *user;
} visit_counts;

static bool visit_node(const saltus_expr *node, void *user)
{
    const visit_counts *v = user;
    const saltus_freezer *f = v->f;
    if (node->op == SALTUS_OP_VARIABLE && node->variable < (int)f->model->n_variables) {
        const saltus_binding *b = &f->net->bindings[node->variable];
        if (b->role == SALTUS_ROLE_COUNT) {
            v->found(v->user, b->row);
        } else if (b->role == SALTUS_ROLE_RULE) {
            const saltus_counts_of_rule *of = &f->counts_of_rules[node->variable];
            for (size_t i = of->first; i < of->first + of->n; ++i) {
                v->found(v->user, f->rule_counts[i]);
            }
        }
    }
    return false;
}

void saltus_visit_counts(const saltus_freezer *f, const saltus_expr *e,
                         void (*found)(void *user, int species), void *user)
{
    visit_counts v = {f, found, user};
    (void)saltus_expr_any(e, visit_node, &v);
}

/* A rule's counts, each once. */
typedef struct collection {
    saltus_freezer *f;
    int64_t *seen; /* [species] the collection that has it, from 1 on */
    int64_t number;
    bool failed;
} collection;

static void collect(void *user, int species)
{
    collection *c = user;
    saltus_freezer *f = c->f;
    if (c->failed || c->seen[species] == c->number) {
        return;
    }
    c->seen[species] = c->number;
    int32_t *grown = saltus_grow(f->rule_counts, f->n_rule_counts, &f->rule_counts_capacity,
                                 sizeof *f->rule_counts);
    c->failed = !grown;
    if (grown) {
        f->rule_counts = grown;
        f->rule_counts[f->n_rule_counts++] = species;
    }
}

saltus_status saltus_collect_rule_counts(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    collection c = {.f = f};
    c.seen = saltus_calloc((size_t)f->net->tables.n_species + 1, sizeof *c.seen);
    SALTUS_NEED(c.seen);
    for (int r = 0; r < f->net->tables.n_rules; ++r) {
        const int i = f->net->rule_variables[r];
        const size_t first = f->n_rule_counts;
        c.number = r + 1;
        saltus_visit_counts(f, f->rules[i], collect, &c);
        f->counts_of_rules[i] = (saltus_counts_of_rule){first, f->n_rule_counts - first};
    }
    if (c.failed) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
done:
    saltus_free(c.seen);
    return status;
}

/* Rules still to be looked into. */
typedef struct search {
    saltus_freezer *f;
    bool (*visit)(const saltus_expr *node, void *user);
    void *user;
    int *rules;
    size_t n, capacity;
    bool failed;
} search;

static bool search_node(const saltus_expr *node, void *user)
{
    search *s = user;
    if (s->visit(node, s->user)) {
        return true;
    }
    if (saltus_rule_behind(s->f, node) && s->f->seen[node->variable] != s->f->n_visits) {
        s->f->seen[node->variable] = s->f->n_visits;
        int *grown = saltus_grow(s->rules, s->n, &s->capacity, sizeof *s->rules);
        s->failed = !grown;
        if (grown) {
            s->rules = grown;
            s->rules[s->n++] = node->variable;
        }
    }
    return s->failed;
}

saltus_status saltus_any_through_rules(saltus_freezer *f, const saltus_expr *e,
                                       bool (*visit)(const saltus_expr *node, void *user),
                                       void *user, bool *found, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    search s = {.f = f, .visit = visit, .user = user};
    ++f->n_visits;
    *found = saltus_expr_any(e, search_node, &s);
    while (!*found && s.n > 0) {
        *found = saltus_expr_any(f->rules[s.rules[--s.n]], search_node, &s);
    }
    if (s.failed) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
done:
    saltus_free(s.rules);
    return status;
}

static bool flows(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    if (node->op != SALTUS_OP_VARIABLE || node->variable >= (int)f->model->n_variables) {
        return node->op >= SALTUS_OP_FIRST_VARIATE;
    }
    return f->model->variables[node->variable].rate || f->reacts[node->variable];
}

saltus_status saltus_flows(saltus_freezer *f, const saltus_expr *e, bool *is_so, saltus_error *err)
{
    return saltus_any_through_rules(f, e, flows, f, is_so, err);
}
