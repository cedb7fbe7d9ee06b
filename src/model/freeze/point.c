#include "model/freeze/point.h"

#include <string.h>

saltus_point saltus_point_of(const saltus_tables *t)
{
    saltus_point p = {.constants = t->n_reactions};
    p.variables = p.constants + t->n_constants;
    p.counts = p.variables + t->n_variables;
    p.size = p.counts + t->n_species;
    return p;
}

/* An array of nothing may not be there. */
static void copy(double *to, const double *from, int n)
{
    if (n > 0) {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

void saltus_point_read(const saltus_tables *t, const double *amounts, double *row)
{
    const saltus_point p = saltus_point_of(t);
    copy(row, t->rate, t->n_reactions);
    copy(row + p.constants, t->constants, t->n_constants);
    copy(row + p.variables, t->initial_variables, t->n_variables);
    for (int s = 0; s < t->n_species; ++s) {
        /* exact: it was made of a double */
        row[p.counts + s] = amounts ? amounts[s] : (double)t->initial_counts[s];
    }
}

saltus_tables saltus_point_apply(const saltus_tables *like, const double *row, int64_t *counts)
{
    const saltus_point p = saltus_point_of(like);
    saltus_tables t = *like;
    for (int s = 0; s < t.n_species; ++s) {
        counts[s] = (int64_t)row[p.counts + s];
    }
    t.rate = row;
    t.constants = row + p.constants;
    t.initial_variables = row + p.variables;
    t.initial_counts = counts;
    return t;
}

static bool same(const void *a, const void *b, int64_t n, size_t size)
{
    return n == 0 || memcmp(a, b, (size_t)n * size) == 0;
}

static bool same_numbers(const saltus_tables *a, const saltus_tables *b)
{
    return a->n_species == b->n_species && a->n_variables == b->n_variables &&
           a->n_flags == b->n_flags && a->n_rules == b->n_rules &&
           a->n_constants == b->n_constants && a->n_rows == b->n_rows &&
           a->n_reactions == b->n_reactions && a->n_laws == b->n_laws && a->n_code == b->n_code &&
           a->n_triggers == b->n_triggers && a->n_settings == b->n_settings &&
           a->n_variates == b->n_variates && a->n_starts == b->n_starts &&
           a->n_delayed == b->n_delayed && a->n_late == b->n_late && a->n_thinned == b->n_thinned &&
           a->n_drifts == b->n_drifts && a->n_intervals == b->n_intervals &&
           a->n_bound_code == b->n_bound_code && a->n_thinned_nodes == b->n_thinned_nodes &&
           a->n_rates == b->n_rates && a->n_roots == b->n_roots && a->n_kinks == b->n_kinks &&
           a->n_bending == b->n_bending && a->n_wavering == b->n_wavering &&
           a->n_bends == b->n_bends;
}

static bool same_hubs(const saltus_tables *a, const saltus_tables *b)
{
    return a->n_hubs == b->n_hubs && a->n_alone == b->n_alone && a->n_classes == b->n_classes &&
           a->n_weighed == b->n_weighed && a->n_weights == b->n_weights &&
           a->n_entries == b->n_entries && a->n_entry_reactions == b->n_entry_reactions &&
           a->n_members == b->n_members && a->n_reach == b->n_reach && a->n_own == b->n_own &&
           a->n_own_of == b->n_own_of;
}

#define SAME(type, name, n) alike = alike && same(a->name, b->name, (n), sizeof(type));

/* What follows from these, dependents and trees, is then the same too. */
bool saltus_point_is_like(const saltus_tables *a, const saltus_tables *b, bool leaps)
{
    const saltus_tables *const t = a;
    bool alike = same_numbers(a, b);
    SALTUS_REACTION_ARRAYS(SAME)
    SALTUS_PROGRAM_ARRAYS(SAME)
    SALTUS_THINNED_ARRAYS(SAME)
    if (leaps) {
        SALTUS_ORDER_ARRAYS(SAME)
    } else {
        alike = alike && same_hubs(a, b);
        SALTUS_HUB_ARRAYS(SAME)
    }
    return alike;
}
