/* The tables of frozen models: what depends on what, against brute force; the tree of sums; clock
 * conditions, and the dependence on time that is refused. */
#include "../support/random.h"
#include "frozen.h"

#include "kernel/ssa/direct_tree.h"

#include <math.h>
#include <stdlib.h>

/* ---- random networks ---- */

static void print_law(FILE *out, uint64_t *random, int n_species)
{
    const int a = below(random, n_species), b = below(random, n_species);
    const int c = below(random, n_species), rule = below(random, 6);
    static const double rates[] = {1.0, 0.3, 1e-3, 70.0};
    fprintf(out, "%g*", rates[below(random, 4)]);
    switch (below(random, 8)) {
    case 0:
        fprintf(out, "X%d*X%d", a, b);
        break;
    case 1:
        fprintf(out, "X%d*X%d*X%d", a, b, c);
        break;
    case 2:
        fprintf(out, "X%d/(1 + X%d + X%d)", a, b, c);
        break;
    case 3:
        fprintf(out, "X%d*R%d", a, rule);
        break;
    case 4:
        fprintf(out, "R%d", rule);
        break;
    case 5:
        fprintf(out, "X%d*piecewise(1, time < 3, R%d > 5, 2, 4)", a, rule);
        break;
    case 6:
        fprintf(out, "w*X%d", a);
        break;
    default:
        fprintf(out, "(X%d - 1)*X%d", a, a);
        break;
    }
}

static void print_side(FILE *out, uint64_t *random, int n_species)
{
    for (int i = below(random, 3); i > 0; --i) {
        fprintf(out, "%dX%d %s", 1 + below(random, 2), below(random, n_species), i > 1 ? "+ " : "");
    }
}

/* n reactions, rules that read each other, a species that reactions do not change, one that an
 * event does. */
static saltus_model *make_network(int n, uint64_t seed)
{
    uint64_t random = seed;
    const int n_species = 4 + n / 2;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fprintf(out, "parameters: {w: 2}\nspecies:\n");
    for (int s = 0; s < n_species; ++s) {
        fprintf(out, "  X%d: {initial: %d, boundary: %s}\n", s, 20 + s % 5,
                s % 7 == 3 ? "true" : "false");
    }
    fprintf(out, "rules:\n"
                 "  R5: R4 + R2\n  R4: R3*w\n  R3: tanh(R1/50)\n  R2: R0*X1\n  R1: X0 + X2\n"
                 "  R0: 3\n"
                 "events:\n  e: {at: 100, set: {w: 3, X3: 1}}\n"
                 "reactions:\n");
    for (int r = 0; r < n; ++r) {
        fprintf(out, "  r%d: {equation: \"", r);
        print_side(out, &random, n_species);
        fprintf(out, "-> ");
        print_side(out, &random, n_species);
        if (below(&random, 3) > 0) {
            fprintf(out, "\", constant: 0.5}\n");
        } else {
            fprintf(out, "\", law: \"");
            print_law(out, &random, n_species);
            fprintf(out, "\"}\n");
        }
    }
    assert_int_equal(fclose(out), 0);
    saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
    assert_int_equal(m->network->tables.n_reactions, n);
    free(text);
    return m;
}

static const int sizes[] = {1, 2, 7, 8, 9, 63, 64, 65, 150, 512, 600};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

/* ---- dependencies by brute force ---- */

/* Note in reads[species row] every count that e names, also through rules. */
static void note_reads(const saltus_model *m, const saltus_expr *e, bool *reads)
{
    if (e->op == SALTUS_OP_VARIABLE) {
        const saltus_variable *v = &m->variables[e->variable];
        if (v->rule) {
            note_reads(m, v->rule, reads);
        } else if (v->kind == SALTUS_KIND_SPECIES) {
            reads[m->network->bindings[e->variable].row] = true;
        }
    }
    for (int i = 0; i < e->n_args; ++i) {
        note_reads(m, e->args[i], reads);
    }
}

static void note_reads_of_reaction(const saltus_model *m, int r, bool *reads)
{
    const saltus_reaction *q = &m->reactions[r];
    memset(reads, 0, (size_t)m->network->tables.n_species * sizeof *reads);
    note_reads(m, q->law, reads);
    for (int i = 0; q->mass_action && i < q->n_reactants; ++i) {
        reads[m->network->bindings[q->reactants[i].variable].row] = true;
    }
}

static bool changes_any(const saltus_tables *t, int r, const bool *reads)
{
    for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
        if (reads[t->change_species[c]]) {
            return true;
        }
    }
    return false;
}

/* Pairs first, in fours, the last repeated; then the others; both rising. */
static void check_order_of_dependents(const saltus_tables *t, int r)
{
    const int first = t->dependent_row[r], other = t->dependent_other[r];
    const int end = t->dependent_row[r + 1];
    assert_true(first <= other && other <= end && (other - first) % 4 == 0);
    for (int i = first; i < other; ++i) {
        assert_true(t->pairs[t->dependent[i]].first >= 0);
        if (i > first && t->dependent[i] == t->dependent[i - 1]) {
            assert_true(other - i < 4 && t->dependent[i] == t->dependent[other - 1]);
        } else if (i > first) {
            assert_true(t->dependent[i] > t->dependent[i - 1]);
        }
    }
    for (int i = other; i < end; ++i) {
        assert_true(t->pairs[t->dependent[i]].first < 0);
        assert_true(i == other || t->dependent[i] > t->dependent[i - 1]);
    }
}

static void check_dependents(const saltus_model *m)
{
    const saltus_tables *t = &m->network->tables;
    const int n = t->n_reactions;
    bool *listed = calloc((size_t)n * (size_t)n, sizeof *listed);
    bool *reads = calloc((size_t)t->n_species, sizeof *reads);
    for (int r = 0; r < n; ++r) {
        check_order_of_dependents(t, r);
        for (int i = t->dependent_row[r]; i < t->dependent_row[r + 1]; ++i) {
            listed[r * n + t->dependent[i]] = true;
        }
    }
    for (int reader = 0; reader < n; ++reader) {
        note_reads_of_reaction(m, reader, reads);
        for (int r = 0; r < n; ++r) {
            if (listed[r * n + reader] != changes_any(t, r, reads)) {
                fail_msg("%d reactions: law %d is %sa dependent of reaction %d", n, reader,
                         listed[r * n + reader] ? "" : "not ", r);
            }
        }
    }
    free(listed);
    free(reads);
}

/* Rules that laws read, also through others; there are no events. */
typedef struct live_rules {
    const saltus_model *m;
    bool *is_live; /* [variable] */
} live_rules;

static bool note_live(const saltus_expr *e, void *user)
{
    const live_rules *l = user;
    if (e->op == SALTUS_OP_VARIABLE && e->variable < (int)l->m->n_variables &&
        l->m->variables[e->variable].rule && !l->is_live[e->variable]) {
        l->is_live[e->variable] = true;
        (void)saltus_expr_any(l->m->variables[e->variable].rule, note_live, user);
    }
    return false;
}

static void check_rules(const saltus_model *m)
{
    const saltus_tables *t = &m->network->tables;
    bool *reads = calloc((size_t)t->n_species, sizeof *reads);
    live_rules l = {m, calloc(m->n_variables, sizeof *l.is_live)};
    int n_live = 0;
    for (size_t r = 0; r < m->n_reactions; ++r) {
        (void)saltus_expr_any(m->reactions[r].law, note_live, &l);
    }
    for (int rule = 0; rule < t->n_rules; ++rule) {
        if (l.is_live[m->network->rule_variables[rule]]) {
            assert_true(n_live < t->n_live_rules && t->live_rules[n_live] == rule);
            ++n_live;
        }
    }
    assert_int_equal(n_live, t->n_live_rules);
    for (int r = 0; r < t->n_reactions; ++r) {
        int at = t->rule_row[r];
        for (int rule = 0; rule < t->n_rules; ++rule) {
            memset(reads, 0, (size_t)t->n_species * sizeof *reads);
            note_reads(m, m->variables[m->network->rule_variables[rule]].rule, reads);
            if (l.is_live[m->network->rule_variables[rule]] && changes_any(t, r, reads)) {
                assert_true(at < t->rule_row[r + 1] && t->rule_of[at] == rule);
                ++at;
            }
        }
        assert_int_equal(at, t->rule_row[r + 1]);
    }
    free(l.is_live);
    free(reads);
}

/* The nodes above the dependents: each once, and level by level, so that children come first. */
static void check_nodes(const saltus_tables *t)
{
    const int n_nodes = t->level_first[t->n_levels];
    bool *above = calloc((size_t)n_nodes, sizeof *above);
    for (int r = 0; r < t->n_reactions; ++r) {
        int n_above = 0, level_before = 0;
        memset(above, 0, (size_t)n_nodes * sizeof *above);
        for (int i = t->dependent_row[r]; i < t->dependent_row[r + 1]; ++i) {
            int k = t->dependent[i];
            for (int level = 0; level < t->n_levels; ++level) {
                k /= SALTUS_FANOUT;
                n_above += !above[t->level_first[level] + k];
                above[t->level_first[level] + k] = true;
            }
        }
        assert_int_equal(t->node_row[r + 1] - t->node_row[r], n_above);
        for (int i = t->node_row[r]; i < t->node_row[r + 1]; ++i) {
            int level = 0;
            while (t->node[i] >= t->level_first[level + 1]) {
                ++level;
            }
            assert_true(above[t->node[i]] && level >= level_before);
            above[t->node[i]] = false;
            level_before = level;
        }
    }
    free(above);
}

static void dependents_are_complete_and_stand_once(void **state)
{
    (void)state;
    for (int i = 0; i < N_SIZES; ++i) {
        for (uint64_t seed = 1; seed <= 5; ++seed) {
            saltus_model *m = make_network(sizes[i], seed);
            check_dependents(m);
            check_rules(m);
            check_nodes(&m->network->tables);
            saltus_model_destroy(m);
        }
    }
}

static void rules_stand_behind_what_they_read(void **state)
{
    (void)state;
    saltus_model *m = make_network(64, 1);
    const saltus_network *net = m->network;
    char order[40] = "";
    for (int r = 0; r < net->tables.n_rules; ++r) {
        strcat(order, m->variables[net->rule_variables[r]].id);
        assert_int_equal(net->bindings[net->rule_variables[r]].row, net->tables.row_rules + r);
    }
    assert_string_equal(order, "R1R3R4R2R5"); /* R0 never changes */
    saltus_model_destroy(m);
}

/* ---- one trajectory by hand ---- */

typedef struct walk {
    saltus_trajectory path;
    saltus_direct direct;
    double *v, *values, *sums, *fresh_values, *fresh_sums;
    int64_t *x;
    saltus_pending pending[8];
    double pending_values[16];
    uint8_t on[8], rounded[8];
    size_t n_values, n_sums;
} walk;

static int no_room(saltus_trajectory *path)
{
    (void)path;
    return 0;
}

static void walk_start(walk *w, const saltus_tables *t)
{
    memset(w, 0, sizeof *w);
    w->n_sums = (size_t)t->level_first[t->n_levels] * SALTUS_FANOUT;
    w->n_values = (size_t)t->n_leaves + (size_t)t->level_first[t->n_levels];
    w->v = calloc((size_t)t->n_rows, sizeof *w->v);
    w->x = calloc((size_t)t->n_species + 1, sizeof *w->x);
    w->values = calloc(w->n_values, sizeof *w->values);
    w->fresh_values = calloc(w->n_values, sizeof *w->values);
    w->sums = calloc(w->n_sums, sizeof *w->sums);
    w->fresh_sums = calloc(w->n_sums, sizeof *w->sums);
    assert_true(t->n_triggers <= 8 && t->n_settings <= 8);
    w->v[t->row_one] = 1.0;
    memcpy(w->v + t->row_constants, t->constants, (size_t)t->n_constants * sizeof *w->v);
    w->path = (saltus_trajectory){.n = t,
                                  .x = w->x,
                                  .v = w->v,
                                  .on = w->on,
                                  .rounded = w->rounded,
                                  .pending = w->pending,
                                  .pending_values = w->pending_values,
                                  .pending_capacity = 8,
                                  .make_room = no_room};
    w->direct.values = w->values;
    w->direct.sums = w->sums;
    assert_int_equal(saltus_trajectory_start(&w->path, 0), SALTUS_FINE);
    assert_int_equal(saltus_direct_rebuild(&w->path, &w->direct), SALTUS_FINE);
}

static void walk_free(walk *w)
{
    free(w->v);
    free(w->x);
    free(w->values);
    free(w->fresh_values);
    free(w->sums);
    free(w->fresh_sums);
}

/* The canonical sum: groups of eight, left to right, then groups of groups. */
static double canonical_sum(const double *a, int n)
{
    double sums[100] = {0};
    int n_groups = 0;
    if (n <= SALTUS_FANOUT) {
        double sum = a[0];
        for (int i = 1; i < n; ++i) {
            sum += a[i];
        }
        return sum;
    }
    for (int i = 0; i < n; i += SALTUS_FANOUT) {
        sums[n_groups++] = canonical_sum(a + i, n - i < SALTUS_FANOUT ? n - i : SALTUS_FANOUT);
    }
    return canonical_sum(sums, n_groups);
}

static void sums_follow_the_canonical_tree(void **state)
{
    static const int levels[N_SIZES] = {1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4};
    (void)state;
    for (int i = 0; i < N_SIZES; ++i) {
        saltus_model *m = make_network(sizes[i], 17);
        const saltus_tables *t = &m->network->tables;
        walk w;
        assert_int_equal(t->n_levels, levels[i]);
        walk_start(&w, t);
        const double total = w.values[t->n_leaves + t->level_first[t->n_levels - 1]];
        assert_true(total > 0.0 && total == canonical_sum(w.values, t->n_reactions));
        for (int level = 0; level < t->n_levels; ++level) {
            for (int k = 0; k < t->level_nodes[level]; ++k) {
                const int node = t->level_first[level] + k;
                const double *children = w.values + t->children[node];
                double sum = 0.0;
                for (int c = 0; c < SALTUS_FANOUT; ++c) {
                    sum += c < t->n_children[node] ? children[c] : 0.0;
                    assert_true(w.sums[node * SALTUS_FANOUT + c] == sum);
                }
                assert_true(w.values[t->n_leaves + node] == sum);
            }
        }
        walk_free(&w);
        saltus_model_destroy(m);
    }
}

static bool can_fire(const saltus_trajectory *p, int r)
{
    for (int c = p->n->change_row[r]; c < p->n->change_row[r + 1]; ++c) {
        if (p->x[p->n->change_species[c]] + p->n->change_amount[c] < 0) {
            return false;
        }
    }
    return true;
}

/* Recomputing what a reaction has changed gives the bits of recomputing all. */
static void following_a_reaction_equals_rebuilding(void **state)
{
    (void)state;
    for (int i = 0; i < N_SIZES; ++i) {
        saltus_model *m = make_network(sizes[i], 23);
        const saltus_tables *t = &m->network->tables;
        uint64_t random = 5;
        walk w;
        walk_start(&w, t);
        for (int step = 0; step < 300; ++step) {
            const int r = below(&random, t->n_reactions);
            if (!can_fire(&w.path, r)) {
                continue;
            }
            assert_int_equal(saltus_direct_fire(&w.path, r), SALTUS_FINE);
            assert_int_equal(saltus_direct_follow(&w.path, &w.direct, r), SALTUS_FINE);
            w.direct.values = w.fresh_values;
            w.direct.sums = w.fresh_sums;
            saltus_trajectory_refresh(&w.path);
            assert_int_equal(saltus_direct_rebuild(&w.path, &w.direct), SALTUS_FINE);
            assert_memory_equal(w.values, w.fresh_values, w.n_values * sizeof *w.values);
            assert_memory_equal(w.sums, w.fresh_sums, w.n_sums * sizeof *w.sums);
            w.direct.values = w.values;
            w.direct.sums = w.sums;
        }
        walk_free(&w);
        saltus_model_destroy(m);
    }
}

/* What the tables compute is the law as the model has it, up to rounding. */
static void propensities_are_those_of_the_laws(void **state)
{
    (void)state;
    saltus_model *m = make_network(150, 31);
    const saltus_tables *t = &m->network->tables;
    double *values = calloc(m->n_variables, sizeof *values);
    walk w;
    walk_start(&w, t);
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_binding *b = &m->network->bindings[i];
        values[i] = b->row >= 0 ? w.v[b->row] : b->value;
    }
    for (int r = 0; r < t->n_reactions; ++r) {
        const saltus_reaction *q = &m->reactions[r];
        double expected = saltus_expr_value(q->law, values, 0.0);
        for (int i = 0; q->mass_action && i < q->n_reactants; ++i) {
            double x = values[q->reactants[i].variable], ways = 1.0;
            for (int j = 0; j < i; ++j) {
                const bool same = q->reactants[j].variable == q->reactants[i].variable;
                x -= same ? (double)saltus_whole_molecules(&q->reactants[j]) : 0.0;
                ways += same ? (double)saltus_whole_molecules(&q->reactants[j]) : 0.0;
            }
            for (int64_t k = 0; k < saltus_whole_molecules(&q->reactants[i]); ++k) {
                expected *= (x - (double)k) / (ways + (double)k);
            }
        }
        assert_true(fabs(w.values[r] - expected) <= 1e-14 * expected);
    }
    walk_free(&w);
    free(values);
    saltus_model_destroy(m);
}

/* ---- clocks ---- */

static const char timed[] = "parameters: {k: 0.5, last: 1}\n"
                            "species: {A: 4, B: 0}\n"
                            "rules: {elapsed: time - 2, on: \"piecewise(1, time < 5, 0)\",\n"
                            "        slow: 1 + time/2, wave: sin(time)}\n"
                            "events:\n"
                            "  e: {when: \"%s\", set: {last: last + 1}}\n"
                            "reactions:\n"
                            "  r: A -> B @ %s\n";

static saltus_model *freeze_timed(const char *trigger, const char *law)
{
    char text[600];
    (void)snprintf(text, sizeof text, timed, trigger, law);
    return freeze_text(text, SALTUS_LAW_LITERAL);
}

static double value_of(walk *w, saltus_program program)
{
    return saltus_trajectory_value(&w->path, program);
}

static void comparisons_with_time_become_clocks(void **state)
{
    static const struct {
        const char *condition;
        double when;
        int after, strict, watches_state;
    } cases[] = {
        {"time >= 5", 5, 1, 0, 0},          {"time > 5", 5, 1, 1, 0},
        {"time < 5", 5, 0, 0, 0},           {"time <= 5", 5, 0, 1, 0},
        {"5 <= time", 5, 1, 0, 0},          {"5 < time", 5, 1, 1, 0},
        {"5 > time", 5, 0, 0, 0},           {"5 >= time", 5, 0, 1, 0},
        {"time - 2 >= 3", 5, 1, 0, 0},      {"2 + time > 7", 5, 1, 1, 0},
        {"10 - time > 5", 5, 0, 0, 0},      {"10 - time <= 5", 5, 1, 0, 0},
        {"2*time >= 10", 5, 1, 0, 0},       {"time*2 < 10", 5, 0, 0, 0},
        {"time/2 < 4", 8, 0, 0, 0},         {"-time > -5", 5, 0, 0, 0},
        {"-2*time <= -10", 5, 1, 0, 0},     {"(time - 1)/k - 2 > 6", 5, 1, 1, 0},
        {"time >= 10*k", 5, 1, 0, 0},       {"elapsed >= 3", 5, 1, 0, 0},
        {"10 - 2*elapsed < 4", 5, 1, 1, 0}, {"slow > 3.5", 5, 1, 1, 0},
        {"time - last > 4", 5, 1, 1, 0}, /* an event changes `last` */
        {"time >= A + 1", 5, 1, 0, 1},      {"time - A/2 < 3", 5, 0, 0, 1},
        {"time >= -5", -5, 1, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char law[200];
        (void)snprintf(law, sizeof law, "A*piecewise(2, %s, 1)", cases[i].condition);
        for (int in_law = 0; in_law < 2; ++in_law) {
            saltus_model *m =
                freeze_timed(in_law ? "last < 0" : cases[i].condition, in_law ? law : "k*A");
            const saltus_tables *t = &m->network->tables;
            walk w;
            walk_start(&w, t);
            assert_int_equal(t->n_flags, 2); /* and the one of `on` */
            const saltus_clock *c = &t->clocks[1];
            if (value_of(&w, c->when) != cases[i].when || c->after != cases[i].after ||
                c->strict != cases[i].strict || t->watches_state != cases[i].watches_state) {
                fail_msg("%s: when %g, after %d, strict %d, watches the state %d",
                         cases[i].condition, value_of(&w, c->when), c->after, c->strict,
                         t->watches_state);
            }
            walk_free(&w);
            saltus_model_destroy(m);
        }
    }
}

/* A trigger of clocks has the value of the condition at any time, and just after it. */
static void clocks_have_the_value_of_their_condition(void **state)
{
    static const char *const conditions[] = {
        "time >= 2",
        "time > 2",
        "time < 2",
        "time <= 2",
        "!(time < 2)",
        "time >= 2 && time < 3",
        "time < 2 || time > 3",
        "xor(time >= 2, time >= 3)",
        "time >= 2 && A > 3",
        "time >= 2 && A > 4",
        "piecewise(time < 2, A > 3, time < 3)",
        "on < time - 2 || time > 7", /* the rule has a clock of its own */
        "6 - time > on",
    };
    const double times[] = {0, 1, 2, 2.5, 3, 4, 5, 5.5, 6, 7, 8};
    (void)state;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; ++i) {
        saltus_model *m = freeze_timed(conditions[i], "k*A");
        const saltus_tables *t = &m->network->tables;
        double values[16];
        walk w;
        walk_start(&w, t);
        for (size_t k = 0; k < sizeof times / sizeof *times; ++k) {
            for (w.path.after = 0; w.path.after < 2; ++w.path.after) {
                const double now = times[k] + (w.path.after ? 1e-9 : 0.0);
                w.path.t = times[k];
                saltus_trajectory_refresh(&w.path);
                for (size_t v = 0; v < m->n_variables; ++v) {
                    const saltus_variable *x = &m->variables[v];
                    const saltus_binding *b = &m->network->bindings[v];
                    values[v] = b->row >= 0 ? w.v[b->row] : b->value;
                    values[v] = strcmp(x->id, "on") == 0 ? now < 5 : values[v];
                }
                const double expected = saltus_expr_value(m->events[0].trigger, values, now);
                if (value_of(&w, t->triggers[0].trigger) != expected) {
                    fail_msg("%s at %.10g: not %g", conditions[i], now, expected);
                }
            }
        }
        walk_free(&w);
        saltus_model_destroy(m);
    }
}

/* Beside rate rules, too: a value that something takes in no time is never seen. */
static void what_moves_equals_nothing(void **state)
{
    static const char *const triggers[] = {"y == 2", "time > 1 and y != A", "sin(time) == 0.5",
                                           "double - 4 == 0"};
    (void)state;
    for (size_t i = 0; i < sizeof triggers / sizeof *triggers; ++i) {
        char text[300];
        (void)snprintf(text, sizeof text,
                       "parameters: {y: 0, z: 1}\nspecies: {A: 2}\nrules: {double: 2*y}\n"
                       "rate rules: {y: 1}\nevents:\n  e: {when: \"%s\", set: {z: 2}}\n",
                       triggers[i]);
        check_not_frozen(text, SALTUS_E_UNSUPPORTED,
                         "model.yaml:6: event 'e': its trigger compares by == or != what changes "
                         "between reactions, which passes every value in no time");
    }
    saltus_model_destroy(freeze_text("parameters: {y: 0, z: 1}\nspecies: {A: 2}\n"
                                     "rate rules: {y: 1}\nevents:\n"
                                     "  e: {when: \"time == 5 and z == A\", set: {z: 2}}\n",
                                     SALTUS_LAW_LITERAL));
    /* truths are equal for a while */
    saltus_model_destroy(freeze_text("parameters: {y: 0, z: 1}\nspecies: {A: 2}\n"
                                     "rate rules: {y: 1}\nevents:\n"
                                     "  e: {when: \"(y > 2) == (time < 5)\", set: {z: 2}}\n",
                                     SALTUS_LAW_LITERAL));
}

/* A law that drifts becomes a thinned one, a trigger that does is refused, but for comparisons. */
static void other_dependence_on_time_is_drift(void **state)
{
    static const char *const drifting[] = {"time",
                                           "sin(time)",
                                           "exp(-time)",
                                           "wave",
                                           "1 + slow",
                                           "piecewise(time, time < 5, 5)",
                                           "time == 5 and A > 0",
                                           "time == A + sin(time)",
                                           "piecewise(1, time != 5, 2)",
                                           "piecewise(1, A*time > 8, 2)",
                                           "floor(time)",
                                           "abs(time - 5)",
                                           "piecewise(1, time^2 > 4, 2)",
                                           "piecewise(1, time*time > 4, 2)",
                                           "piecewise(1, 0*time > 8, 2)",
                                           "piecewise(1, time > 10 - time, 2)",
                                           "piecewise(1, 1/time > 2, 2)",
                                           "piecewise(1, sin(time) > 0.5, 2)",
                                           "piecewise(1, max(time, 5) > 6, 2)",
                                           "piecewise(1, wave > 0, 2)"};
    const size_t n = sizeof drifting / sizeof *drifting;
    (void)state;
    for (size_t i = 0; i < n; ++i) {
        char text[600], law[200];
        saltus_model *m = NULL;
        if (strstr(drifting[i], "time == 5")) { /* a moment */
            m = freeze_timed(drifting[i], "k*A");
            assert_int_equal(m->network->tables.n_rates, 0);
            assert_int_equal(m->network->tables.n_flags, 3); /* and that of the rule */
            saltus_model_destroy(m);
        } else if (strstr(drifting[i], "A*time >")) { /* what a trigger compares is followed */
            m = freeze_timed(drifting[i], "k*A");
            assert_int_equal(m->network->tables.n_rates, 1);
            assert_int_equal(m->network->tables.n_roots, 1);
            assert_int_equal(m->network->tables.n_thinned, 0);
            assert_true(m->network->follows_triggers);
            saltus_model_destroy(m);
        } else if (strchr(drifting[i], '>')) { /* its turns are searched for */
            m = freeze_timed(drifting[i], "k*A");
            assert_int_equal(m->network->tables.n_turning, 1); /* behind the clock of `on` */
            assert_int_equal(m->network->tables.clocks[1].kind, SALTUS_CLOCK_TURNS);
            assert_int_equal(m->network->tables.clocks[2].kind, SALTUS_CLOCK_NEXT);
            assert_false(m->network->follows_triggers);
            saltus_model_destroy(m);
        } else {
            (void)snprintf(text, sizeof text, timed, drifting[i], "k*A");
            check_not_frozen(text, SALTUS_E_UNSUPPORTED,
                             "model.yaml:6: event 'e': its trigger depends on time other than "
                             "through comparisons with the time such as 'time >= 25' or 'sin(time) "
                             "> 0.5', of what reactions do not change");
        }
        (void)snprintf(law, sizeof law, "A*(%s)", drifting[i]);
        m = freeze_timed("last < 0", law);
        const saltus_tables *t = &m->network->tables;
        assert_int_equal(m->network->law_forms[0], SALTUS_LAW_FORM_THINNED);
        assert_int_equal(t->n_thinned, 1);
        assert_int_equal(t->thinned[0], 0);
        assert_int_equal(t->thinned_of[0], 0);
        assert_true(t->n_drifts > 0 || t->bounds[0].n > 0);
        saltus_model_destroy(m);
    }
    saltus_model *m = freeze_timed("last < 0", "k*A*on");
    assert_int_equal(m->network->tables.n_thinned, 0);
    assert_int_equal(m->network->tables.n_intervals, 0);
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dependents_are_complete_and_stand_once),
        cmocka_unit_test(rules_stand_behind_what_they_read),
        cmocka_unit_test(sums_follow_the_canonical_tree),
        cmocka_unit_test(following_a_reaction_equals_rebuilding),
        cmocka_unit_test(propensities_are_those_of_the_laws),
        cmocka_unit_test(comparisons_with_time_become_clocks),
        cmocka_unit_test(clocks_have_the_value_of_their_condition),
        cmocka_unit_test(what_moves_equals_nothing),
        cmocka_unit_test(other_dependence_on_time_is_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
