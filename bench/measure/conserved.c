#include "bench/measure/conserved.h"

#include "core/memory.h"
#include "model/network/network.h"

#include <math.h>

static const double zero = 1e-9; /* what is left of a coefficient by rounding */

/* Changes as a[reaction][species], reduced to rows of echelon form; pivot[row] is its species.
 * Returns the rank. */
static int reduce(double *a, int n_rows, int n, int *pivot)
{
    int rank = 0;
    for (int s = 0; s < n && rank < n_rows; ++s) {
        int best = rank;
        for (int r = rank + 1; r < n_rows; ++r) {
            best = fabs(a[r * n + s]) > fabs(a[best * n + s]) ? r : best;
        }
        const double largest = a[best * n + s];
        if (fabs(largest) < zero) {
            continue;
        }
        for (int c = 0; c < n; ++c) {
            const double swapped = a[rank * n + c];
            a[rank * n + c] = a[best * n + c] / largest;
            a[best * n + c] = best == rank ? a[rank * n + c] : swapped;
        }
        for (int r = 0; r < n_rows; ++r) {
            const double factor = a[r * n + s];
            for (int c = 0; c < n && r != rank && factor != 0.0; ++c) {
                a[r * n + c] -= factor * a[rank * n + c];
            }
        }
        pivot[rank++] = s;
    }
    return rank;
}

/* The sum of species s, which is no pivot, and of those pivots that follow it. */
static bool is_kept_by(const double *a, int n, const int *pivot, int rank, int s,
                       const saltus_totals *t)
{
    const size_t last = (size_t)(t->n_points - 1) * (size_t)t->n_counts;
    double change = 0.0, scale = 1.0;
    for (int r = -1; r < rank; ++r) {
        const size_t c = (size_t)(r < 0 ? s : pivot[r]);
        const double weight = r < 0 ? 1.0 : -a[r * n + s];
        const double start = saltus_statistics_mean(&t->statistics, c);
        const double end = saltus_statistics_mean(&t->statistics, last + c);
        change += weight * (end - start);
        scale += fabs(weight) * (start + end);
    }
    return fabs(change) <= zero * scale;
}

saltus_status saltus_conserved_check(const saltus_model *model, const saltus_totals *totals, int *n,
                                     bool *is_kept, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &model->network->tables;
    const int n_species = t->n_species;
    double *a = saltus_calloc((size_t)t->n_reactions * (size_t)n_species, sizeof *a);
    int *pivot = saltus_calloc((size_t)n_species, sizeof *pivot), rank, next = 0;
    SALTUS_NEED(a && pivot);
    for (int r = 0; r < t->n_reactions; ++r) {
        for (int c = t->change_row[r]; c < t->change_row[r + 1]; ++c) {
            a[r * n_species + t->change_species[c]] = (double)t->change_amount[c];
        }
    }
    rank = reduce(a, t->n_reactions, n_species, pivot);
    *n = n_species - rank;
    *is_kept = true;
    for (int s = 0; s < n_species; ++s) {
        if (next < rank && pivot[next] == s) {
            ++next;
        } else {
            *is_kept = *is_kept && is_kept_by(a, n_species, pivot, rank, s, totals);
        }
    }
done:
    saltus_free(a);
    saltus_free(pivot);
    return status;
}
