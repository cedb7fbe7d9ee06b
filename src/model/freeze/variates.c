/* Random numbers in expressions: each becomes a variate that is drawn before the program runs that
 * reads it. Values at time 0 that come from one are computed when a trajectory starts. */
#include "model/freeze/freeze.h"

#include "kernel/base/variates.h"

#include <math.h>

/* What a distribution is worth where one number must stand for it: its mean, or where it lies. */
static double center(saltus_op op, const double *a)
{
    switch (op) {
    case SALTUS_OP_UNIFORM:
        return 0.5 * (a[0] + a[1]);
    case SALTUS_OP_EXPONENTIAL:
        return 1.0 / a[0];
    case SALTUS_OP_GAMMA:
    case SALTUS_OP_BINOMIAL:
        return a[0] * a[1];
    case SALTUS_OP_LOGNORMAL:
        return exp(a[0]);
    case SALTUS_OP_RAYLEIGH:
        return a[0] * 1.2533141373155003; /* sqrt(pi / 2) */
    default:
        return a[0];
    }
}

double saltus_variate_center(saltus_op op, int n, const double *a)
{
    const int n_parameters = saltus_variate_parameters((int)op);
    const double x = center(op, a);
    return n <= n_parameters         ? x
           : x < a[n_parameters]     ? a[n_parameters]
           : x > a[n_parameters + 1] ? a[n_parameters + 1]
                                     : x;
}

/* ---- where random numbers may stand ---- */

static saltus_status refuse(const saltus_freezer *f, const char *what, const char *id, int line,
                            const char *part, const saltus_expr *e, saltus_error *err)
{
    char place[160];
    if (!e || !saltus_expr_draws(e)) {
        return SALTUS_OK;
    }
    saltus_error_set(err, SALTUS_E_UNSUPPORTED, "%s%s '%s': %s draws a random number",
                     saltus_place(f->model, line, place), what, id, part);
    saltus_error_hint(err, "values at time 0, assignments of events and their delays may; give the "
                           "number a name there");
    return SALTUS_E_UNSUPPORTED;
}

static saltus_status refuse_in_space(const saltus_freezer *f, const saltus_variable *v,
                                     saltus_error *err)
{
    char place[160];
    return saltus_error_set(err, SALTUS_E_UNSUPPORTED,
                            "%s%s '%s': its value at time 0 is drawn, which a model with a lattice "
                            "cannot have",
                            saltus_place(f->model, v->line, place), saltus_kind_text(v), v->id);
}

saltus_status saltus_check_draws(const saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_model *m = f->model;
    for (size_t i = 0; i < m->n_reactions; ++i) {
        const saltus_reaction *r = &m->reactions[i];
        SALTUS_TRY(refuse(f, "reaction", r->id, r->line, "its rate law", r->law, err));
    }
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_variable *v = &m->variables[i];
        SALTUS_TRY(refuse(f, saltus_kind_text(v), v->id, v->line, "its rule", v->rule, err));
        if (m->space && v->initial && saltus_expr_draws(v->initial)) {
            SALTUS_TRY(refuse_in_space(f, v, err));
        }
    }
    for (size_t i = 0; i < m->n_events; ++i) {
        const saltus_event *e = &m->events[i];
        SALTUS_TRY(refuse(f, "event", e->id, e->line, "its trigger", e->trigger, err));
        SALTUS_TRY(refuse(f, "event", e->id, e->line, "its priority", e->priority, err));
    }
done:
    return status;
}

/* ---- species that are real values ---- */

/* What poisson and its like give is whole, whatever their parameters are. */
bool saltus_is_smooth(const saltus_freezer *f, const saltus_expr *e)
{
    if (e->op == SALTUS_OP_POISSON || e->op == SALTUS_OP_BINOMIAL || e->op == SALTUS_OP_BERNOULLI) {
        return false;
    }
    bool found =
        saltus_op_draws(e->op) || (e->op == SALTUS_OP_VARIABLE && f->is_smooth[e->variable]);
    for (int i = 0; i < e->n_args && !found; ++i) {
        found = saltus_is_smooth(f, e->args[i]);
    }
    return found;
}

/* A species that no reaction changes, and that is set to what a continuous distribution gives, is
 * no count of molecules. One that nothing changes at all need be none. */
void saltus_find_reals(saltus_freezer *f)
{
    const saltus_model *m = f->model;
    if (m->space) {
        return;
    }
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_variable *v = &m->variables[i];
        f->is_real[i] = v->kind == SALTUS_KIND_SPECIES && !v->rule &&
                        (v->rate || (v->initial && saltus_is_smooth(f, v->initial)));
        f->is_fixed[i] = v->kind == SALTUS_KIND_SPECIES && !v->rule && !v->rate;
    }
    for (size_t i = 0; i < m->n_events; ++i) {
        for (int k = 0; k < m->events[i].n_assignments; ++k) {
            const saltus_assignment *a = &m->events[i].assignments[k];
            const saltus_variable *v = &m->variables[a->variable];
            f->is_fixed[a->variable] = false;
            f->is_real[a->variable] |=
                v->kind == SALTUS_KIND_SPECIES && !v->rule && saltus_is_smooth(f, a->value);
        }
    }
    for (size_t i = 0; i < m->n_reactions; ++i) {
        const saltus_reaction *r = &m->reactions[i];
        for (int k = 0; k < r->n_reactants + r->n_products; ++k) {
            const int s = k < r->n_reactants ? r->reactants[k].variable
                                             : r->products[k - r->n_reactants].variable;
            f->is_real[s] &= m->variables[s].boundary || m->variables[s].constant;
            f->is_fixed[s] &= m->variables[s].boundary || m->variables[s].constant;
        }
    }
}

/* ---- variates of programs ---- */

/* An expression whose variates become variables, once they are compiled. A node that stands at
 * several places is one variate. */
typedef struct lifting {
    saltus_freezer *f;
    const saltus_expr **nodes; /* of the variates from `first` on */
    size_t first, capacity;
} lifting;

static bool find_lifted(const lifting *l, const saltus_expr *e, size_t *variate)
{
    for (*variate = l->first; *variate < l->f->n_variates; ++*variate) {
        if (l->nodes[*variate - l->first] == e) {
            return true;
        }
    }
    return false;
}

/* Compile a distribution whose arguments draw nothing any more. */
static saltus_status push_variate(lifting *l, const saltus_expr *e, const saltus_expr *const *args,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_freezer *f = l->f;
    saltus_variate variate = {.op = (int32_t)e->op, .n = e->n_args};
    for (int i = 0; i < e->n_args; ++i) {
        SALTUS_TRY(saltus_compile(f, args[i], &variate.args[i], err));
    }
    const saltus_expr **nodes =
        saltus_grow(l->nodes, f->n_variates - l->first, &l->capacity, sizeof(const saltus_expr *));
    SALTUS_NEED(nodes);
    l->nodes = nodes;
    saltus_variate *grown =
        saltus_grow(f->variates, f->n_variates, &f->variates_capacity, sizeof *f->variates);
    SALTUS_NEED(grown);
    f->variates = grown;
    l->nodes[f->n_variates - l->first] = e;
    f->variates[f->n_variates++] = variate;
done:
    return status;
}

static saltus_status lift(lifting *l, const saltus_expr *e, const saltus_expr **out,
                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_expr **args = NULL;
    size_t variate = 0;
    *out = e;
    if (!saltus_expr_draws(e)) {
        return SALTUS_OK;
    }
    const bool draws = saltus_op_draws(e->op);
    if (!draws || !find_lifted(l, e, &variate)) {
        args = saltus_calloc((size_t)e->n_args, sizeof *args);
        SALTUS_NEED(args);
        for (int i = 0; i < e->n_args; ++i) {
            SALTUS_TRY(lift(l, e->args[i], &args[i], err));
        }
        if (draws) {
            SALTUS_TRY(push_variate(l, e, args, err));
            variate = l->f->n_variates - 1;
        }
    }
    *out = draws ? saltus_expr_variable(l->f->arena, SALTUS_VARIATE_VARIABLE(l->f, (int)variate))
                 : saltus_expr_n(l->f->arena, e->op, e->n_args, args);
    SALTUS_NEED(*out);
done:
    saltus_free(args);
    return status;
}

saltus_status saltus_compile_drawing(saltus_freezer *f, const saltus_expr *e, saltus_program *out,
                                     int32_t *first_variate, int32_t *n_variates, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_expr *lifted = NULL;
    lifting l = {.f = f, .first = f->n_variates};
    *first_variate = (int32_t)f->n_variates;
    SALTUS_TRY(lift(&l, e, &lifted, err));
    *n_variates = (int32_t)f->n_variates - *first_variate;
    SALTUS_TRY(saltus_compile(f, lifted, out, err));
done:
    saltus_free(l.nodes);
    return status;
}

static bool reads_rule(const saltus_expr *node, void *user)
{
    const saltus_freezer *f = user;
    return node->op == SALTUS_OP_VARIABLE && node->variable < (int)f->model->n_variables &&
           f->net->bindings[node->variable].role == SALTUS_ROLE_RULE;
}

bool saltus_reads_rule(const saltus_freezer *f, const saltus_expr *e)
{
    return saltus_expr_any(e, reads_rule, (void *)(uintptr_t)f);
}

saltus_status saltus_fill_starts(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_tables *t = &f->net->tables;
    for (int i = 0; i < f->n_starts; ++i) {
        const saltus_variable *v = &f->model->variables[f->start_order[i]];
        saltus_setting *s = &f->settings[t->n_settings];
        SALTUS_TRY(saltus_compile_drawing(f, v->initial, &s->value, &s->first_variate,
                                          &s->n_variates, err));
        s->row = f->net->bindings[f->start_order[i]].row;
        s->size = -1;
        s->reads_rules = saltus_reads_rule(f, v->initial);
        f->net->setting_names[t->n_settings] = v->id;
        f->net->setting_events[t->n_settings] = NULL;
        ++t->n_settings;
    }
    t->n_starts = f->n_starts;
done:
    return status;
}
