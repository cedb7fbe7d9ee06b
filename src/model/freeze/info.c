/* What a frozen model holds, for people. */
#include "core/file.h"
#include "core/stack.h"
#include "model/freeze/freeze.h"
#include "model/lattice/lattice.h"
#include "model/lattice/space.h"

#include <math.h>
#include <string.h>

static void print_side(const saltus_model *m, const saltus_participant *side, int n, FILE *out)
{
    if (n == 0) {
        fputs("0", out);
    }
    for (int i = 0; i < n; ++i) {
        fputs(i > 0 ? " + " : "", out);
        if (saltus_molecules(&side[i]) != 1.0) {
            fprintf(out, "%.10g ", saltus_molecules(&side[i]));
        }
        fputs(m->variables[side[i].variable].id, out);
    }
}

/* Whether the lattice gives a constant wherever the reaction happens, so that nothing reads its
 * own.
 */
static bool is_replaced(const saltus_model *m, const saltus_reaction *q)
{
    const saltus_site_rate *rates = m->space ? m->space->rates[q - m->reactions] : NULL;
    bool is_given = false, uses_own = !rates;
    for (int type = 0; rates && type < m->space->n_types; ++type) {
        is_given |= rates[type].is_given;
        uses_own |= rates[type].happens && !rates[type].is_given;
    }
    return is_given && !uses_own;
}

/* "2 A + B -> C @ law". */
static void print_reaction(const saltus_model *m, const saltus_reaction *q, bool is_split,
                           FILE *out)
{
    print_side(m, q->reactants, q->n_reactants, out);
    fputs(q->n_reactants + q->n_products > 0 ? is_split ? " <-> " : " -> " : "", out);
    print_side(m, q->products, q->n_products, out);
    if (q->law_is_lattices) {
        fputs(" (constants of the lattice)", out);
    } else {
        fputs(" @ ", out);
        saltus_expr_print(m, q->law, out);
        fputs(is_replaced(m, q) ? " (replaced by constants of the lattice)" : "", out);
    }
    if (q->takes_long) {
        fputs(q->consumes_late ? ", consumes and makes after " : ", makes after ", out);
        saltus_expr_print(m, saltus_reaction_delay(m, q), out);
    }
}

/* By the name of the last step of a reaction. */
static bool is_two_way(const char *name)
{
    return strstr(name, ".backward") != NULL;
}

static const char *const law_forms[] = {
#define KIND(name, text) [SALTUS_LAW_FORM_##name] = text,
    SALTUS_LAW_FORMS(KIND)
#undef KIND
};

static void print_reactions(const saltus_model *m, int most, FILE *out)
{
    fprintf(out, "\nreactions (%zu)\n", m->n_reactions);
    int shown = 0, r = 0;
    for (size_t i = 0; i < m->n_reactions; ++i) {
        const saltus_reaction *q = &m->reactions[i];
        const char *form = law_forms[m->network->law_forms[r]];
        const int n = saltus_network_steps(m->network, i);
        const bool is_split = n > 1 && is_two_way(saltus_network_reaction(m->network, r + n - 1));
        r += n;
        if (shown++ >= most) {
            continue;
        }
        fprintf(out, "  %s: ", q->id);
        print_reaction(m, q, is_split, out);
        fprintf(out, "   [%s%s", n > 0 ? form : "nothing changes",
                is_split ? ", split into forward and backward" : "");
        if (n > (is_split ? 2 : 1) && !m->network->mean_only) {
            fprintf(out, ", stoichiometries drawn: %d ways", n);
        }
        fputs("]\n", out);
    }
    if (shown > most) {
        fprintf(out, "  … and %d more\n", shown - most);
    }
}

/* Of a value that is drawn. */
static void print_draw(const saltus_model *m, const saltus_variable *v, FILE *out)
{
    if (v->initial && saltus_expr_draws(v->initial)) {
        fputs("   (drawn: ", out);
        saltus_expr_print(m, v->initial, out);
        fputc(')', out);
    }
}

/* Counts, and species that are real values. */
static int n_species(const saltus_model *m)
{
    int n = m->network->tables.n_species;
    for (size_t i = 0; i < m->n_variables; ++i) {
        n += saltus_species_is_real(m, (int)i);
    }
    return n;
}

/* What a species starts with: a count, or an amount that is none. */
static bool is_no_count(const saltus_network *n, int row)
{
    double count;
    return !saltus_start_count(n->initial_amounts[row], &count);
}

static double start_of(const saltus_network *n, int row)
{
    return is_no_count(n, row) ? n->initial_amounts[row] : (double)n->tables.initial_counts[row];
}

static void print_species(const saltus_model *m, int most, FILE *out)
{
    int shown = 0;
    fprintf(out, "\nspecies (%d)\n", n_species(m));
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_variable *v = &m->variables[i];
        const saltus_binding *b = &m->network->bindings[i];
        if (v->kind != SALTUS_KIND_SPECIES || v->rule || v->rate || shown++ >= most) {
            continue;
        }
        if (saltus_species_is_real(m, (int)i)) {
            fprintf(out, "  %-24s %.10g   (%s)", v->id, b->value,
                    b->role == SALTUS_ROLE_CONSTANT ? "never changes; a real value, not a count"
                                                    : "a real value, not a count");
        } else {
            fprintf(out, "  %-24s ", v->id);
            fprintf(out, is_no_count(m->network, b->row) ? "%.10g" : "%.0f",
                    start_of(m->network, b->row));
            fputs(b->role == SALTUS_ROLE_CONSTANT ? "   (never changes)" : "", out);
        }
        print_draw(m, v, out);
        fputc('\n', out);
    }
    if (shown > most) {
        fprintf(out, "  … and %d more\n", shown - most);
    }
}

/* Of a compartment that was resized. */
static void print_old_size(const saltus_variable *v, FILE *out)
{
    if (v->size_was && v->size_was->op == SALTUS_OP_CONST) {
        fprintf(out, "   (was %.10g; concentrations are kept)", v->size_was->value);
    } else if (v->size_was) {
        fputs("   (changed; concentrations are kept)", out);
    }
    fputc('\n', out);
}

static bool is_assigned(const saltus_model *m, int variable)
{
    for (size_t i = 0; i < m->n_events; ++i) {
        for (int k = 0; k < m->events[i].n_assignments; ++k) {
            if (m->events[i].assignments[k].variable == variable) {
                return true;
            }
        }
    }
    return false;
}

static void print_values(const saltus_model *m, int most, FILE *out)
{
    int shown = 0;
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_variable *v = &m->variables[i];
        const saltus_binding *b = &m->network->bindings[i];
        if (v->kind == SALTUS_KIND_SPECIES && !v->rule && !v->rate) {
            continue;
        }
        if (shown == 0) {
            fprintf(out, "\nparameters, compartments and rules\n");
        }
        if (shown++ >= most) {
            continue;
        }
        if (v->rule) {
            fprintf(out, "  %-24s = ", v->id);
            saltus_expr_print(m, v->rule, out);
            fputs(b->role == SALTUS_ROLE_CONSTANT ? "   (never changes)\n" : "\n", out);
        } else {
            const bool is_set = b->role == SALTUS_ROLE_VARIABLE && is_assigned(m, (int)i);
            fprintf(out, "  %-24s %.10g", v->id, b->value);
            if (v->rate) {
                fputs("   (integrated, rate ", out);
                saltus_expr_print(m, v->rate, out);
                fputc(')', out);
            } else if (is_set) {
                fputs("   (events change it)", out);
            }
            print_draw(m, v, out);
            if (v->unit && v->unit_size > 0.0) {
                fprintf(out, "   (%.10g %s)", b->value / v->unit_size, v->unit);
            }
            print_old_size(v, out);
        }
    }
    if (shown > most) {
        fprintf(out, "  … and %d more\n", shown - most);
    }
}

static void print_events(const saltus_model *m, FILE *out)
{
    if (m->n_events == 0) {
        return;
    }
    fprintf(out, "\nevents (%zu)\n", m->n_events);
    for (size_t i = 0; i < m->n_events; ++i) {
        const saltus_event *e = &m->events[i];
        fprintf(out, "  %s: when ", e->id);
        saltus_expr_print(m, e->trigger, out);
        if (e->delay) {
            fputs(", after ", out);
            saltus_expr_print(m, e->delay, out);
        }
        for (int k = 0; k < e->n_assignments; ++k) {
            const saltus_assignment *a = &e->assignments[k];
            fprintf(out, a->per_size ? "%s[%s] = " : "%s%s = ", k > 0 ? ", " : ": ",
                    m->variables[a->variable].id);
            saltus_expr_print(m, a->value, out);
        }
        fputc('\n', out);
    }
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

typedef struct printing {
    const saltus_model *model;
    FILE *out;
    int reaction; /* the only one to print */
} printing;

static saltus_status print(void *user, saltus_error *err)
{
    const printing *wanted = user;
    const saltus_model *model = wanted->model;
    FILE *out = wanted->out;
    saltus_status status = SALTUS_OK;
    enum { MOST = 200 };
    if (!model->network) {
        SALTUS_FAIL(SALTUS_E_INVALID, "model '%s' is not frozen", model->name);
    }
    const saltus_tables *t = &model->network->tables;
    int n_products = 0;
    for (int r = 0; r < t->n_reactions; ++r) {
        n_products += t->law_program[r] < 0;
    }
    fprintf(out, "model %s: %d species, %d reaction%s (%d mass action, %d expression%s)",
            model->name, n_species(model), t->n_reactions, plural(t->n_reactions), n_products,
            t->n_reactions - n_products, plural(t->n_reactions - n_products));
    if (t->n_rules > 0) {
        fprintf(out, ", %d rule%s", t->n_rules, plural(t->n_rules));
    }
    if (model->network->follows_triggers) {
        fputs(", triggers that drift with time", out);
    } else if (t->n_rates > 0) {
        const int n = model->network->n_rate_rules;
        fprintf(out, ", %d rate rule%s", n, plural(n));
    }
    if (t->n_triggers > 0) {
        fprintf(out, ", %d event%s", t->n_triggers, plural(t->n_triggers));
    }
    fputc('\n', out);
    if (model->time_label) {
        fprintf(out, "time in %s\n", model->time_label);
    }
    if (model->has_moles && model->mole != SALTUS_AVOGADRO) {
        fprintf(out, "a mole stands for %.10g molecules\n", model->mole);
    }
    if (model->network->mean_only) {
        fprintf(out, "by method ode alone: %s\n", model->network->mean_only);
    }
    print_species(model, MOST, out);
    print_values(model, MOST, out);
    print_reactions(model, MOST, out);
    print_events(model, out);
    if (model->network->lattice) {
        SALTUS_TRY(saltus_print_lattice(model, MOST, out, err));
    }
    status = saltus_check_written(out, err);
done:
    return status;
}

saltus_status saltus_model_print_info(const saltus_model *model, FILE *out, saltus_error *err)
{
    if (!model || !out) {
        return saltus_no_argument(err, __func__);
    }
    if (!model->network) {
        return saltus_error_set(err, SALTUS_E_INVALID, "model '%s' is not frozen", model->name);
    }
    printing wanted = {.model = model, .out = out};
    return saltus_with_stack(print, &wanted, err);
}

static saltus_status print_one(void *user, saltus_error *err)
{
    const printing *wanted = user;
    const saltus_model *m = wanted->model;
    int r = 0; /* of the frozen model, where a law that was split has two */
    bool is_split = false;
    for (int i = 0; i <= wanted->reaction; ++i) {
        const int n = saltus_network_steps(m->network, i);
        is_split = n > 1 && is_two_way(saltus_network_reaction(m->network, r + n - 1));
        r += n;
    }
    print_reaction(m, &m->reactions[wanted->reaction], is_split, wanted->out);
    return saltus_check_written(wanted->out, err);
}

saltus_status saltus_model_print_reaction(const saltus_model *model, int r, FILE *out,
                                          saltus_error *err)
{
    if (!model || !out) {
        return saltus_no_argument(err, __func__);
    }
    if (!model->network || r < 0 || (size_t)r >= model->n_reactions) {
        return saltus_error_set(err, SALTUS_E_INVALID,
                                "model '%s' has no reaction %d, or is not frozen", model->name, r);
    }
    printing wanted = {.model = model, .out = out, .reaction = r};
    return saltus_with_stack(print_one, &wanted, err);
}

saltus_model_value saltus_model_value_at(const saltus_model *model, int i)
{
    static const char *const kinds[] = {[SALTUS_KIND_PARAMETER] = "parameter",
                                        [SALTUS_KIND_COMPARTMENT] = "compartment",
                                        [SALTUS_KIND_SPECIES] = "species"};
    if (!model || !model->network || i < 0 || (size_t)i >= model->n_variables) {
        return (saltus_model_value){.value = (double)NAN};
    }
    const saltus_variable *v = &model->variables[i];
    const saltus_binding *b = &model->network->bindings[i];
    const bool is_count =
        v->kind == SALTUS_KIND_SPECIES && !v->rule && !saltus_species_is_real(model, i);
    return (saltus_model_value){.name = v->id,
                                .kind = v->rule ? "rule" : kinds[v->kind],
                                .unit = v->unit,
                                .value = is_count ? start_of(model->network, b->row)
                                         : b->role == SALTUS_ROLE_RULE ? (double)NAN
                                                                       : b->value};
}

static const saltus_lattice *lattice_of(const saltus_model *model)
{
    return model && model->network ? model->network->lattice : NULL;
}

double saltus_model_lattice(const saltus_model *model, int64_t size[3])
{
    const saltus_lattice *l = lattice_of(model);
    for (int i = 0; size && i < 3; ++i) {
        size[i] = l ? l->size[i] : 0;
    }
    return l ? l->spacing : 0.0;
}

const char *saltus_model_site_type(const saltus_model *model, int type, int64_t *n_sites)
{
    const saltus_lattice *l = lattice_of(model);
    const bool is_one = l && type >= 0 && type < l->n_types;
    if (n_sites) {
        *n_sites = is_one ? l->sites_of[type] : 0;
    }
    return is_one ? l->type_names[type] : NULL;
}

saltus_status saltus_model_site_types(const saltus_model *model, const int64_t first[3],
                                      const int64_t size[3], uint8_t *types, saltus_error *err)
{
    const saltus_lattice *l = lattice_of(model);
    if (!first || !size || !types) {
        return saltus_no_argument(err, __func__);
    }
    if (!l) {
        return saltus_error_set(err, SALTUS_E_INVALID, "this model has no lattice");
    }
    for (int a = 0; a < 3; ++a) {
        if (first[a] < 0 || size[a] < 0 || size[a] > l->size[a] - first[a]) {
            return saltus_error_set(err, SALTUS_E_INVALID,
                                    "sites %lld to %lld along %c: the lattice has 0 to %lld",
                                    (long long)first[a], (long long)(first[a] + size[a] - 1),
                                    'x' + a, (long long)l->size[a] - 1);
        }
    }
    for (int64_t z = first[2]; z < first[2] + size[2]; ++z) {
        for (int64_t y = first[1]; y < first[1] + size[1]; ++y) {
            const int64_t row = z * saltus_lattice_plane(l) + y * l->size[0];
            for (int64_t x = first[0]; x < first[0] + size[0]; ++x) {
                *types++ = (uint8_t)saltus_lattice_type(l, row + x);
            }
        }
    }
    return SALTUS_OK;
}
