/* Volumes and amounts: what a change of sizes does to rates, and which would make amounts fit. */
#include "model/freeze/freeze.h"
#include "model/network/volume.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------
 * Laws that do not grow with their volume
 *
 * Twice the volume with twice the molecules of everything in it makes twice the reactions in a
 * time, in any model whose laws have their sizes in them. Whether they do is found out by trying.
 */

typedef struct trial {
    const saltus_freezer *f;
    double *values; /* [variable] */
    bool has_other; /* something it reads is neither resized nor in what is */
} trial;

static bool is_resized(const saltus_model *m, int compartment)
{
    return compartment >= 0 && m->variables[compartment].size_was;
}

/* What a law reads directly: does it follow the sizes as the trial changes them? */
static bool note_other(const saltus_expr *node, void *user)
{
    trial *x = user;
    if (node->op != SALTUS_OP_VARIABLE) {
        return false;
    }
    const saltus_variable *v = &x->f->model->variables[node->variable];
    if (v->kind == SALTUS_KIND_SPECIES && !v->rule) {
        x->has_other |= !is_resized(x->f->model, v->compartment);
    } else if (v->kind == SALTUS_KIND_COMPARTMENT) {
        x->has_other |= !v->size_was;
    } else { /* a parameter's initial value would have to be computed anew */
        x->has_other |= !v->rule && (x->f->reads[node->variable] & ~SALTUS_READS_SET) != 0;
    }
    return x->has_other;
}

/* All values for counts that no law finds special, in volumes `times` as large. */
static void fill_values(trial *x, double times)
{
    const saltus_model *m = x->f->model;
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_variable *v = &m->variables[i];
        x->values[i] = x->f->values[i];
        if (v->kind == SALTUS_KIND_SPECIES) {
            x->values[i] = (1009.0 + 37.0 * (double)(i % 100)) * times;
        } else if (v->size_was) {
            x->values[i] *= times;
        }
    }
    for (int k = 0; k < x->f->n_order; ++k) {
        const int i = x->f->order[k];
        if (m->variables[i].rule) {
            x->values[i] = saltus_expr_value(m->variables[i].rule, x->values, 0.0);
        }
    }
}

static bool reads_other(trial *x, const saltus_reaction *r)
{
    const saltus_model *m = x->f->model;
    x->has_other = false;
    for (int i = 0; i < r->n_reactants + r->n_products; ++i) {
        const saltus_participant *p =
            i < r->n_reactants ? &r->reactants[i] : &r->products[i - r->n_reactants];
        x->has_other |= !is_resized(m, m->variables[p->variable].compartment);
    }
    (void)saltus_expr_any(r->law, note_other, x);
    for (int k = 0; k < x->f->n_order && !x->has_other; ++k) {
        const saltus_variable *v = &m->variables[x->f->order[k]];
        if (v->rule) {
            (void)saltus_expr_any(v->rule, note_other, x);
        }
    }
    return x->has_other;
}

static double order_of(const saltus_reaction *r)
{
    double n = 0.0;
    for (int i = 0; i < r->n_reactants && r->mass_action; ++i) {
        n += (double)saltus_whole_molecules(&r->reactants[i]);
    }
    return n;
}

saltus_status saltus_check_volumes(saltus_freezer *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *m = f->model;
    const saltus_reaction *first = NULL;
    trial x = {.f = f};
    double *once = NULL;
    char place[160];
    int n = 0;
    bool any = false;
    for (size_t i = 0; i < m->n_variables; ++i) {
        any |= m->variables[i].size_was != NULL;
    }
    if (!any) {
        goto done;
    }
    once = saltus_calloc(m->n_variables, sizeof *once);
    x.values = saltus_calloc(m->n_variables, sizeof *x.values);
    SALTUS_NEED(once && x.values);
    fill_values(&x, 1.0);
    memcpy(once, x.values, m->n_variables * sizeof *once);
    fill_values(&x, 2.0);
    for (size_t i = 0; i < m->n_reactions; ++i) {
        const saltus_reaction *r = &m->reactions[i];
        if (reads_other(&x, r)) {
            continue;
        }
        const double low = saltus_expr_value(r->law, once, 0.0);
        const double high = saltus_expr_value(r->law, x.values, 0.0) * pow(2.0, order_of(r));
        if (isfinite(low) && isfinite(high) && fabs(high - 2.0 * low) > 0.02 * fabs(low)) {
            first = first ? first : r;
            ++n;
        }
    }
    if (first) {
        saltus_model_warn(
            m,
            "%sreaction '%.100s'%s: with the volume its rate does not change as the "
            "amounts do, so that concentrations will not be those of before; is the "
            "size missing in the law?%s",
            saltus_place(m, first->line, place), first->id, n > 1 ? " and others" : "",
            m->has_moles ? " `molecules_per_mole` changes amounts and rates alike" : "");
    }
done:
    saltus_free(x.values);
    saltus_free(once);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * What would make amounts fit
 */

static const double aim = 1000.0; /* molecules of the largest species */

/* Every compartment that holds species: `factor` times as large, or all of one size. */
static saltus_status resize_all(saltus_freezer *f, const double *sizes, double factor, double same)
{
    saltus_model *m = f->model;
    saltus_status status = SALTUS_OK;
    for (size_t i = 0; i < m->n_variables && status == SALTUS_OK; ++i) {
        if (sizes[i] > 0.0) {
            status = saltus_model_resize(m, (int)i, same > 0.0 ? same : sizes[i] * factor, NULL);
        }
    }
    return status;
}

/* The largest amount after that, with the model left as it was; 0: there is none. */
static double try_sizes(saltus_freezer *f, const double *sizes, double factor, double same)
{
    saltus_model *m = f->model;
    double most = 0.0;
    int which = -1;
    saltus_variable *kept = saltus_calloc(m->n_variables, sizeof *kept);
    if (!kept) {
        return 0.0;
    }
    memcpy(kept, m->variables, m->n_variables * sizeof *kept);
    if (resize_all(f, sizes, factor, same) == SALTUS_OK) {
        most = saltus_largest_amount(f, &which);
    }
    memcpy(m->variables, kept, m->n_variables * sizeof *kept);
    saltus_free(kept);
    return most;
}

static bool is_near_aim(double amount)
{
    return amount > 0.5 * aim && amount < 2.0 * aim;
}

/* "`volume a=1` `volume b=2`"; false when there is no room. */
static bool print_sizes(const saltus_freezer *f, const double *sizes, double factor, char *text,
                        size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        if (sizes[i] > 0.0) {
            const int n =
                snprintf(text + used, room - used, "%s`volume %s=%.4g`", used > 0 ? " " : "",
                         f->model->variables[i].id, sizes[i] * factor);
            if (n < 0 || (size_t)n >= room - used) {
                return false;
            }
            used += (size_t)n;
        }
    }
    return used > 0;
}

/* Sizes of compartments that hold species and can be changed; the number of them, and whether all
 * volumes are among them and alike. */
static int list_sizes(const saltus_freezer *f, double *sizes, bool *alike)
{
    const saltus_model *m = f->model;
    double first = 0.0;
    int n = 0;
    *alike = true;
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_variable *v = &m->variables[i];
        const int c = v->compartment;
        if (v->kind != SALTUS_KIND_SPECIES || v->rule || c < 0 || sizes[c] > 0.0 ||
            m->variables[c].rule || m->variables[c].is_point || !(f->values[c] > 0.0) ||
            !isfinite(f->values[c])) {
            continue;
        }
        sizes[c] = f->values[c];
        first = n == 0 ? sizes[c] : first;
        *alike &= sizes[c] == first;
        ++n;
    }
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_variable *v = &m->variables[i];
        const bool is_volume = v->kind == SALTUS_KIND_COMPARTMENT && !v->is_point && !v->rule &&
                               (v->dimensions == 0 || v->dimensions == 3);
        *alike &= is_volume == (sizes[i] > 0.0) || v->kind != SALTUS_KIND_COMPARTMENT;
    }
    return n;
}

/* Options that change sizes so that the largest amount is about what is aimed at. */
static bool suggest_volume(saltus_freezer *f, double most, char *text, size_t room)
{
    bool alike = false, is_done = false;
    double *sizes = saltus_calloc(f->model->n_variables, sizeof *sizes), one = 0.0;
    if (!sizes) {
        return false;
    }
    const int n = list_sizes(f, sizes, &alike);
    double factor = aim / most;
    double reached = n > 0 && !f->model->space ? try_sizes(f, sizes, factor, 0.0) : 0.0;
    if (reached > 0.0 && !is_near_aim(reached)) {
        factor *= aim / reached;
        reached = try_sizes(f, sizes, factor, 0.0);
    }
    for (size_t i = 0; i < f->model->n_variables; ++i) {
        one = sizes[i] > 0.0 ? sizes[i] : one;
    }
    if (is_near_aim(reached) && n > 1 && alike) {
        is_done = snprintf(text, room, "`volume all=%.4g`", one * factor) < (int)room;
    } else if (is_near_aim(reached)) {
        is_done = print_sizes(f, sizes, factor, text, room);
    }
    if (!is_done && n > 1) {
        const double size = one * factor;
        const double at_one = try_sizes(f, sizes, 1.0, size);
        const double same = at_one > 0.0 ? size * aim / at_one : 0.0;
        is_done = same > 0.0 && is_near_aim(try_sizes(f, sizes, 1.0, same)) &&
                  snprintf(text, room, "`volume all=%.4g`", same) < (int)room;
    }
    saltus_free(sizes);
    return is_done;
}

bool saltus_suggest_amounts(saltus_freezer *f, char *text, size_t room)
{
    int which = -1;
    const double most = saltus_largest_amount(f, &which);
    if (!(most > aim)) {
        return false;
    }
    return (!f->model->variables[which].in_moles && suggest_volume(f, most, text, room)) ||
           saltus_suggest_mole(f, which, most, text, room);
}

bool saltus_suggest_mole(const saltus_freezer *f, int variable, double amount, char *text,
                         size_t room)
{
    const saltus_variable *v = &f->model->variables[variable];
    const double mole = v->in_moles ? f->model->mole : 1.0;
    return (v->in_moles || v->has_no_unit) &&
           snprintf(text, room, "`molecules_per_mole %.4g`", mole * (aim / amount)) < (int)room;
}
