/* Values at time 0, and rules in an order of evaluation. */
#include "model/freeze/freeze.h"
#include "model/lattice/space.h"

#include <math.h>

enum { UNVISITED, IN_PROGRESS, DONE };

/* A variable whose value is wanted, and those of its references that come before it. */
typedef struct frame {
    int variable;
    size_t first, next, end; /* in the references */
} frame;

/* Values wait for those that they come from on a stack of its own: chains of rules may be long. */
typedef struct evaluation {
    saltus_freezer *f;
    char *state; /* [variable] */
    saltus_error *err;
    saltus_status status;
    frame *frames;
    size_t n_frames, frames_capacity;
    int *references;
    size_t n_references, references_capacity;
    bool is_rough;  /* an amount was changed by much when it was rounded */
    bool is_search; /* for the largest amount: amounts stay as they are computed */
    double largest;
    int largest_variable;
} evaluation;

static void run_out(evaluation *v)
{
    v->status = saltus_error_set(v->err, SALTUS_E_NO_MEMORY, "memory ran out");
}

static bool note_reference(const saltus_expr *node, void *user)
{
    evaluation *v = user;
    if (node->op == SALTUS_OP_VARIABLE) {
        int *grown = saltus_grow(v->references, v->n_references, &v->references_capacity,
                                 sizeof *v->references);
        if (!grown) {
            run_out(v);
            return true;
        }
        v->references = grown;
        v->references[v->n_references++] = node->variable;
    }
    return false;
}

bool saltus_start_count(double amount, double *count)
{
    *count = nearbyint(amount) + 0.0; /* -0 becomes 0 */
    return *count >= 0.0 && *count < 9223372036854775808.0;
}

/* A species without a rule starts with a whole number of molecules. */
static double start_count(evaluation *v, const saltus_variable *var, double value)
{
    char place[160];
    saltus_model *m = v->f->model;
    const bool is_drawn = v->f->is_drawn[var - m->variables];
    if (is_drawn && !(value >= 0.0)) {
        value = 0.0; /* trajectories that draw what cannot be say so */
    }
    double whole;
    if (isfinite(value) && value > v->largest) {
        v->largest = value;
        v->largest_variable = (int)(var - m->variables);
    }
    if (v->is_search) {
        return value;
    }
    saltus_freezer *f = v->f;
    const bool is_real = f->law_mode & SALTUS_AMOUNTS_REAL && isfinite(value);
    const bool fits = saltus_start_count(value, &whole);
    if (!fits || (is_real && fabs(whole - value) > 1e-9 * whole)) {
        if (!f->misfit[0]) {
            (void)snprintf(f->misfit, sizeof f->misfit, "%sspecies '%.150s': initial amount %g %s",
                           saltus_place(m, var->line, place), var->id, value,
                           value < 0.0 ? "is negative" : "is no number of molecules");
        }
        f->is_too_large |= value >= 9223372036854775808.0;
        if (!isfinite(value) || m->space) {
            v->status = saltus_error_set(v->err, SALTUS_E_MODEL, "%s", f->misfit);
        }
        return value; /* of the mean field, which has real amounts */
    }
    if (is_real) {
        return value;
    }
    if (!is_drawn && fabs(whole - value) > 1e-9 * whole) { /* 0.1 * 30 is no reason to speak */
        saltus_model_warn_of_whole(m, "%sspecies '%s': initial amount %.10g is rounded to %.0f",
                                   saltus_place(m, var->line, place), var->id, value, whole);
        v->is_rough |= fabs(whole - value) > 0.1 * value;
    }
    return whole;
}

const saltus_expr *saltus_value_of(const saltus_variable *v)
{
    return v->rule ? v->rule : v->initial;
}

static bool is_named(const saltus_expr *node, void *user)
{
    return node->op == SALTUS_OP_VARIABLE && node->variable == *(int *)user;
}

static bool names(const saltus_expr *e, int i)
{
    return e && saltus_expr_any(e, is_named, &i);
}

/* Whether a formula of the model, or mass action, reads a species. */
static bool is_read(const saltus_model *m, int i)
{
    bool is = false;
    for (size_t k = 0; k < m->n_variables; ++k) {
        const saltus_variable *v = &m->variables[k];
        is |= names(v->initial, i) || names(v->rule, i) || names(v->rate, i);
    }
    for (size_t r = 0; r < m->n_reactions; ++r) {
        const saltus_reaction *x = &m->reactions[r];
        is |= names(x->law, i) || names(saltus_reaction_delay(m, x), i) ||
              (x->mass_action && saltus_side_count(x->reactants, x->n_reactants, i) > 0);
    }
    for (size_t e = 0; e < m->n_events; ++e) {
        const saltus_event *x = &m->events[e];
        is |= names(x->trigger, i) || names(x->delay, i) || names(x->priority, i);
        for (int k = 0; k < x->n_assignments; ++k) {
            is |= names(x->assignments[k].value, i);
        }
    }
    return is;
}

/* A variable's value is wanted: note what it comes from. */
static void begin(evaluation *v, int i)
{
    char place[160];
    saltus_model *m = v->f->model;
    const saltus_variable *var = &m->variables[i];
    if (v->state[i] == IN_PROGRESS) {
        v->status =
            saltus_error_set(v->err, SALTUS_E_MODEL, "%s%s '%s': its value depends on itself",
                             saltus_place(m, var->line, place), saltus_kind_text(var), var->id);
        return;
    }
    if (!saltus_value_of(var) && var->kind == SALTUS_KIND_SPECIES && var->boundary && !m->space &&
        !is_read(m, i)) {
        saltus_model_warn(m, "%sspecies '%s' has no initial amount, and nothing reads it: 0",
                          saltus_place(m, var->line, place), var->id);
    } else if (!saltus_value_of(var) && var->kind == SALTUS_KIND_SPECIES) {
        v->status = saltus_error_set(v->err, SALTUS_E_MODEL, "%sspecies '%s' has no initial amount",
                                     saltus_place(m, var->line, place), var->id);
        saltus_error_hint(v->err, "`set` gives it one");
        return;
    }
    frame *grown = saltus_grow(v->frames, v->n_frames, &v->frames_capacity, sizeof *v->frames);
    if (!grown) {
        run_out(v);
        return;
    }
    v->frames = grown;
    v->state[i] = IN_PROGRESS;
    const size_t first = v->n_references;
    if (saltus_value_of(var)) {
        (void)saltus_expr_any(saltus_value_of(var), note_reference, v);
    }
    v->frames[v->n_frames++] = (frame){i, first, first, v->n_references};
}

/* What nothing changes is a constant of laws, and need be no whole number of molecules; but points
 * of a sweep, whose values may be whole and not, are all alike. */
static bool may_be_part(const evaluation *v, int i)
{
    const saltus_variable *var = &v->f->model->variables[i];
    const double value = v->f->values[i];
    /* one that is said to be fixed may be below 0: then it is a voltage, say */
    const bool is_said = var->boundary || var->constant;
    return v->f->is_fixed[i] && !v->is_search && !v->f->is_drawn[i] && isfinite(value) &&
           !(v->f->reads[i] & SALTUS_READS_SET) &&
           (is_said || (v->f->model->goes_back && value >= 0.0)) &&
           !(fabs(nearbyint(value) - value) <= 1e-9 * value);
}

/* All that a variable's value comes from is known. */
static void end(evaluation *v, const frame *x)
{
    const int i = x->variable;
    const saltus_variable *var = &v->f->model->variables[i];
    const saltus_expr *e = saltus_value_of(var);
    unsigned reads = 0;
    bool is_drawn = e && saltus_expr_draws(e);
    for (size_t k = x->first; k < x->end; ++k) {
        reads |= v->f->reads[v->references[k]];
        is_drawn |= v->f->is_drawn[v->references[k]];
    }
    v->f->is_drawn[i] = is_drawn;
    if (is_drawn && !var->rule) {
        v->f->start_order[v->f->n_starts++] = i;
    }
    const unsigned set = e && e == var->set ? SALTUS_READS_SET : reads & SALTUS_READS_SET;
    v->f->reads[i] =
        (unsigned char)(set |
                        (var->kind == SALTUS_KIND_COMPARTMENT             ? SALTUS_READS_SIZES
                         : var->kind == SALTUS_KIND_SPECIES && !var->rule ? SALTUS_READS_AMOUNTS
                                                                          : reads));
    v->f->values[i] = e                                  ? saltus_expr_value(e, v->f->values, 0.0)
                      : var->kind == SALTUS_KIND_SPECIES ? 0.0 /* nothing reads it */
                                                         : __builtin_nan("");
    v->f->is_smooth[i] = e && saltus_is_smooth(v->f, e);
    v->f->is_real[i] |=
        may_be_part(v, i) || (v->f->is_fixed[i] && v->f->is_smooth[i] && !v->is_search);
    if (var->kind == SALTUS_KIND_SPECIES && !var->rule && !v->f->is_real[i]) {
        v->f->amounts[i] = v->f->values[i];
        v->f->values[i] = start_count(v, var, v->f->values[i]);
    }
    v->f->order[v->f->n_order++] = i;
    v->state[i] = DONE;
    v->n_references = x->first;
    --v->n_frames;
}

static void evaluate_variable(evaluation *v, int i)
{
    if (v->status == SALTUS_OK && v->state[i] != DONE) {
        begin(v, i);
    }
    while (v->status == SALTUS_OK && v->n_frames > 0) {
        frame *x = &v->frames[v->n_frames - 1];
        if (x->next == x->end) {
            end(v, x);
        } else if (v->state[v->references[x->next++]] != DONE) {
            begin(v, v->references[x->next - 1]);
        }
    }
}

/* Amounts are those of whole compartments; everything else is what it is when a site is all that
 * there is of a compartment. */
static void evaluate_in_site(evaluation *v)
{
    char place[160];
    const saltus_model *m = v->f->model;
    const double *sizes = m->space->site_sizes;
    v->f->n_order = 0;
    for (size_t i = 0; i < m->n_variables && v->status == SALTUS_OK; ++i) {
        const saltus_variable *var = &m->variables[i];
        if (var->kind == SALTUS_KIND_COMPARTMENT) {
            v->f->values[i] = sizes[i] > 0.0 ? sizes[i] : v->f->values[i];
        } else if (var->kind == SALTUS_KIND_PARAMETER || var->rule) {
            v->state[i] = UNVISITED;
        }
        const unsigned both = SALTUS_READS_SIZES | SALTUS_READS_AMOUNTS;
        if (!var->rule && (v->f->reads[i] & both) == both) {
            v->status = saltus_error_set(
                v->err, SALTUS_E_UNSUPPORTED,
                "%s%s '%s': its initial value comes from amounts and from sizes of compartments, "
                "which on a lattice are those of a site",
                saltus_place(m, var->line, place), saltus_kind_text(var), var->id);
        }
    }
    for (size_t i = 0; i < m->n_variables; ++i) {
        evaluate_variable(v, (int)i);
    }
}

double saltus_largest_amount(saltus_freezer *f, int *variable)
{
    evaluation v = {.f = f, .is_search = true, .largest_variable = -1};
    v.state = saltus_calloc(f->model->n_variables, 1);
    f->n_order = f->n_starts = 0;
    for (size_t i = 0; i < f->model->n_variables && v.state; ++i) {
        evaluate_variable(&v, (int)i);
    }
    saltus_free(v.frames);
    saltus_free(v.references);
    saltus_free(v.state);
    *variable = v.largest_variable;
    return v.status == SALTUS_OK ? v.largest : 0.0;
}

/* Amounts are so few that they are not what the file gives: say with which option they would be. */
static void warn_of_few(const evaluation *v)
{
    char place[160], option[100];
    saltus_model *m = v->f->model;
    if (!m->space && v->largest > 0.0 && v->largest < 1000.0 &&
        saltus_suggest_mole(v->f, v->largest_variable, v->largest, option, sizeof option)) {
        saltus_model_warn_of_whole(
            m, "%samounts are few molecules: %s makes about 1000 of the largest amount",
            saltus_place(m, 0, place), option);
    }
}

/* A size below 0 or without end makes concentrations that no law means. One of 0 is no more than a
 * size that laws and concentrations cannot use; they tell when they do. */
static void check_sizes(evaluation *v)
{
    char place[160];
    saltus_freezer *f = v->f;
    const saltus_model *m = f->model;
    for (size_t i = 0; i < m->n_variables && v->status == SALTUS_OK; ++i) {
        const saltus_variable *var = &m->variables[i];
        if (var->kind != SALTUS_KIND_COMPARTMENT || var->is_point || f->is_drawn[i]) {
            continue;
        }
        if (f->values[i] < 0.0 || isinf(f->values[i])) {
            v->status =
                saltus_error_set(v->err, SALTUS_E_MODEL, "%scompartment '%s': its size is %g",
                                 saltus_place(m, var->line, place), var->id, f->values[i]);
        } else if (var->initial && !var->rule) {
            (void)saltus_deciding_value(f, var->initial,
                                        true); /* points of a sweep are asked, too */
        }
    }
}

saltus_status saltus_evaluate(saltus_freezer *f, saltus_error *err)
{
    evaluation v = {.f = f, .err = err};
    v.state = saltus_calloc(f->model->n_variables, 1);
    if (!v.state) {
        return saltus_error_set(err, SALTUS_E_NO_MEMORY, "memory ran out");
    }
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        evaluate_variable(&v, (int)i);
    }
    if (v.status == SALTUS_OK) {
        check_sizes(&v);
    }
    if (v.status == SALTUS_OK && f->model->space && f->model->space->site_sizes) {
        evaluate_in_site(&v);
    }
    if (v.status == SALTUS_OK && v.is_rough) {
        warn_of_few(&v);
    }
    saltus_free(v.frames);
    saltus_free(v.references);
    saltus_free(v.state);
    return v.status;
}
