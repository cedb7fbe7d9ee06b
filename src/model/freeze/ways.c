/* Stoichiometries that are not whole. A reaction that changes parts of molecules becomes one or
 * more that change whole ones, so that nothing behind freezing knows of parts.
 *
 * Scaled: 0.5 A -> 0.5 B at rate v is A -> B at rate v / 2. Only where nothing is used up in larger
 * portions than before, rounded up: A -> 0.5 B at rate k A as 2 A -> B would fire where one A is
 * left.
 *
 * Drawn: with one uniform number u for a firing, n + p molecules are n + 1 if u < p, else n. Each
 * has its mean, and what is used up and what is made of it go together. Between two neighbouring
 * values of p nothing changes with u, so each such interval is a reaction of its own, whose rate
 * has the interval's length as a factor (a Poisson process is thinned), and which every method and
 * layout takes like any other. It is drawn if the user says so; else the ways are those of the mean
 * field, and no other method takes the model. */
#include "core/number.h"
#include "model/freeze/freeze.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_TIMES = 100 };

static int n_participants(const saltus_reaction *r)
{
    return r->n_reactants + r->n_products;
}

static const saltus_participant *participant(const saltus_reaction *r, int i)
{
    return i < r->n_reactants ? &r->reactants[i] : &r->products[i - r->n_reactants];
}

/* What is left of its molecules beside whole ones. */
static double part_of(const saltus_participant *p)
{
    return saltus_molecules(p) - floor(saltus_molecules(p));
}

/* Whether a participant's part matters: what reactions do not change has none. */
static bool has_part(const saltus_freezer *f, const saltus_participant *p)
{
    return part_of(p) > 0.0 && f->reacts[p->variable];
}

int64_t saltus_way_count(const saltus_way *w, const saltus_participant *p)
{
    return w->times > 1 ? (int64_t)nearbyint(saltus_molecules(p) * w->times)
                        : saltus_whole_molecules(p) + (w->u < part_of(p));
}

/* What a firing changes of a species, in molecules. */
static double net_change(const saltus_reaction *r, int variable)
{
    double net = 0.0;
    for (int i = 0; i < n_participants(r); ++i) {
        const saltus_participant *p = participant(r, i);
        if (p->variable == variable) {
            net += (i < r->n_reactants ? -1.0 : 1.0) * saltus_molecules(p);
        }
    }
    return net;
}

/* Whether all is whole when it is taken so many times, and portions that are used up are not larger
 * than before; nor those that are made, where a draw is asked for, which makes no larger ones. */
static bool is_scale(const saltus_freezer *f, const saltus_reaction *r, bool backward, bool draws,
                     int times)
{
    for (int i = 0; i < n_participants(r); ++i) {
        const saltus_participant *p = participant(r, i);
        const double n = saltus_molecules(p) * times;
        const double made =
            f->reacts[p->variable] ? net_change(r, p->variable) * (backward ? -1.0 : 1.0) : 0.0;
        const double portion = made < 0.0 || draws ? fabs(made) : 0.0;
        if ((f->reacts[p->variable] && fabs(n - nearbyint(n)) > 1e-9 * times) ||
            portion * times > ceil(portion) + 1e-9 * times) {
            return false;
        }
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool changes_something(const saltus_freezer *f, const saltus_reaction *r,
                              const saltus_way *w)
{
    for (int i = 0; i < n_participants(r); ++i) {
        int64_t net = 0;
        for (int k = 0; k < n_participants(r); ++k) {
            if (participant(r, k)->variable == participant(r, i)->variable) {
                net += (k < r->n_reactants ? -1 : 1) * saltus_way_count(w, participant(r, k));
            }
        }
        if (net != 0 && f->reacts[participant(r, i)->variable]) {
            return true;
        }
    }
    return false;
}

/* One way for each interval between the parts, parts[n], 0 and 1; the likeliest molecules first. */
static int divide(const saltus_freezer *f, const saltus_reaction *r, double *parts, int n,
                  saltus_way *ways)
{
    int n_ways = 0;
    double before = 0.0;
    qsort(parts, (size_t)n, sizeof *parts, compare);
    for (int i = 0; i <= n; ++i) {
        const double end = i < n ? parts[i] : 1.0;
        const saltus_way way = {.u = before, .share = end - before, .times = 1};
        if (end > before && changes_something(f, r, &way)) {
            ways[n_ways++] = way;
        }
        before = end;
    }
    return n_ways;
}

/* Nobody has said that parts may be drawn: the mean field alone takes them as they are, and has the
 * same slopes with all ways. */
static saltus_status leave_to_mean(saltus_freezer *f, const saltus_reaction *r,
                                   const saltus_participant *p, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char text[700], place[160];
    (void)snprintf(
        text, sizeof text,
        "%sreaction '%.200s': stoichiometry %s of '%.200s' is not a whole number of molecules",
        saltus_place(f->model, r->line, place), r->id, SALTUS_NUMBER(saltus_molecules(p)),
        f->model->variables[p->variable].id);
    if (f->model->space) {
        saltus_error_set(err, SALTUS_E_UNSUPPORTED, "%s", text);
        saltus_error_hint(err, "on a lattice molecules are whole");
        return SALTUS_E_UNSUPPORTED;
    }
    SALTUS_TRY(saltus_note_mean_only(f, text,
                                     "`stoichiometry draw` draws one of the two whole numbers "
                                     "beside it at every firing; `method "
                                     "ode` takes it as it is",
                                     err));
done:
    return status;
}

/* Mass action counts ways to choose molecules. */
static saltus_status check_constant(const saltus_freezer *f, const saltus_reaction *r,
                                    saltus_error *err)
{
    char place[160];
    for (int i = 0; i < r->n_reactants && r->mass_action; ++i) {
        if (part_of(&r->reactants[i]) > 0.0) {
            saltus_error_set(err, SALTUS_E_MODEL,
                             "%sreaction '%s': mass action of %s molecules of '%s'",
                             saltus_place(f->model, r->line, place), r->id,
                             SALTUS_NUMBER(saltus_molecules(&r->reactants[i])),
                             f->model->variables[r->reactants[i].variable].id);
            saltus_error_hint(err, "give the propensity as a law");
            return SALTUS_E_MODEL;
        }
    }
    return SALTUS_OK;
}

saltus_status saltus_find_ways(saltus_freezer *f, const saltus_reaction *r, bool backward,
                               const saltus_way **ways, int *n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool draws = !f->model->space &&
                       (f->law_mode & SALTUS_STOICHIOMETRY_DRAW || f->model->draws_stoichiometry);
    char place[160];
    double *parts = NULL;
    int n_parts = 0, times = 2;
    const saltus_participant *first = NULL;
    saltus_way *found = NULL;
    *ways = NULL;
    *n = 0;
    SALTUS_TRY(check_constant(f, r, err));
    for (int i = n_participants(r) - 1; i >= 0; --i) {
        if (has_part(f, participant(r, i))) {
            first = participant(r, i);
            ++n_parts;
        }
    }
    if (!first) {
        static const saltus_way whole = {.u = 1.0, .share = 1.0, .times = 1};
        *ways = &whole;
        *n = 1;
        goto done;
    }
    found = saltus_arena_alloc(f->arena, ((size_t)n_parts + 1) * sizeof *found);
    SALTUS_NEED(found);
    *ways = found;
    while (times <= MOST_TIMES && !is_scale(f, r, backward, draws, times)) {
        ++times;
    }
    if (times <= MOST_TIMES && !f->model->space) {
        found[(*n)++] = (saltus_way){.u = 1.0, .share = 1.0 / times, .times = times};
        saltus_model_warn_of_whole(
            f->model,
            "%sreaction '%s': its stoichiometries are taken %d times and its rate "
            "divided by as much, so that molecules are whole",
            saltus_place(f->model, r->line, place), r->id, times);
        goto done;
    }
    if (!draws) {
        SALTUS_TRY(leave_to_mean(f, r, first, err));
    }
    parts = saltus_calloc((size_t)n_parts, sizeof *parts);
    SALTUS_NEED(parts);
    for (int i = 0, k = 0; i < n_participants(r); ++i) {
        if (has_part(f, participant(r, i))) {
            parts[k++] = part_of(participant(r, i));
        }
    }
    *n = divide(f, r, parts, n_parts, found);
done:
    saltus_free(parts);
    return status;
}
