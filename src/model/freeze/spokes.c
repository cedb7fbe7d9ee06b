#include "model/freeze/spokes.h"

#include "core/order.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Constants that are so many times another one join its class. */
enum { MOST_WAYS = 8 };

/* Of a reaction whose propensity is a product of one count, of two, or of x (x - 1). */
bool saltus_spoke_find(const saltus_tables *t, int r, saltus_spoke *out)
{
    const saltus_pair *q = &t->pairs[r];
    if (q->first < 0 || q->first >= t->n_species) {
        return false; /* another law, or one without factors */
    }
    *out = (saltus_spoke){t->rate[r], q->first, q->second, r, (int16_t)q->offset, 1};
    if (q->second == t->row_one) {
        out->partner = -1;
        return q->offset == 0.0;
    }
    return q->second < t->n_species &&
           (q->second == q->first ? q->offset == 0.0 || q->offset == 1.0 : q->offset == 0.0);
}

static int least_of(const saltus_spoke *s)
{
    return s->hub < s->partner ? s->hub : s->partner;
}

/* Counts to first places. */
static void place_rows(int32_t *row, int n)
{
    int32_t sum = 0;
    for (int i = 0; i <= n; ++i) {
        const int32_t count = row[i];
        row[i] = sum;
        sum += count;
    }
}

/* How many different partners each species has. */
static saltus_status count_partners(const saltus_spokes *m, const saltus_tables *t,
                                    int32_t *partners, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t n = (size_t)t->n_species + 1;
    int32_t *row = saltus_calloc(n + 1, sizeof *row), *seen = saltus_calloc(n, sizeof *seen);
    int32_t *others = saltus_calloc((size_t)m->n + 1, sizeof *others);
    SALTUS_NEED(row && seen && others);
    for (int round = 0; round < 2; ++round) { /* in the first they are counted */
        for (int i = 0; i < m->n; ++i) {
            const saltus_spoke *s = &m->items[i];
            if (s->partner < 0 || s->partner == s->hub) {
                continue;
            }
            const int least = least_of(s);
            if (round == 1) {
                others[row[least]] = s->hub + s->partner - least;
            }
            ++row[least];
        }
        if (round == 0) {
            place_rows(row, t->n_species);
        }
    }
    for (int a = 0, i = 0; a < t->n_species; ++a) { /* row[a] is now where the next begins */
        for (; i < row[a]; ++i) {
            if (seen[others[i]] != a + 1) {
                seen[others[i]] = a + 1;
                ++partners[a];
                ++partners[others[i]];
            }
        }
    }
done:
    saltus_free(row);
    saltus_free(seen);
    saltus_free(others);
    return status;
}

/* Make the species with more different partners the hub of each pair; of equals the first. */
static saltus_status choose_hubs(saltus_spokes *m, const saltus_tables *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int32_t *partners = saltus_calloc((size_t)t->n_species + 1, sizeof *partners);
    SALTUS_NEED(partners);
    SALTUS_TRY(count_partners(m, t, partners, err));
    for (int i = 0; i < m->n; ++i) {
        saltus_spoke *s = &m->items[i];
        if (s->partner >= 0 &&
            (partners[s->partner] > partners[s->hub] ||
             (partners[s->partner] == partners[s->hub] && s->partner < s->hub))) {
            const int32_t hub = s->partner;
            s->partner = s->hub;
            s->hub = hub;
        }
    }
done:
    saltus_free(partners);
    return status;
}

/* Of one hub: those of order 1 first and in their own order, the others by constant. */
static int by_constant(const void *a, const void *b)
{
    const saltus_spoke *x = a, *y = b;
    const bool alone = x->partner < 0 && y->partner < 0;
    const int first = saltus_order(x->partner >= 0, y->partner >= 0);
    const int rate = alone || x->rate == y->rate ? 0 : x->rate < y->rate ? -1 : 1;
    return first != 0 ? first : rate != 0 ? rate : saltus_order(x->reaction, y->reaction);
}

/* The same with partners in a class in order. */
static int by_partner(const void *a, const void *b)
{
    const saltus_spoke *x = a, *y = b;
    const bool alone = x->partner < 0 && y->partner < 0;
    const int first = saltus_order(x->partner >= 0, y->partner >= 0);
    const int rate = alone || x->rate == y->rate ? 0 : x->rate < y->rate ? -1 : 1;
    const int partner = saltus_order(x->partner, y->partner),
              offset = saltus_order(x->offset, y->offset);
    return first != 0     ? first
           : rate != 0    ? rate
           : partner != 0 ? partner
           : offset != 0  ? offset
                          : saltus_order(x->reaction, y->reaction);
}

/* A constant that is a small multiple of another one of the same hub joins its class, in so many
 * ways. Constants stand in rising order. */
static void join_multiples(saltus_spoke *s, int n)
{
    for (int i = n - 1; i > 0; --i) {
        for (int ways = MOST_WAYS; ways > 1; --ways) {
            const double rate = s[i].rate / ways;
            int low = 0, high = i;
            while (low < high) {
                const int middle = (low + high) / 2;
                if (s[middle].rate < rate) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            if (low < i && s[low].rate == rate && rate * ways == s[i].rate) {
                s[i].rate = rate;
                s[i].ways = (int16_t)ways;
                break;
            }
        }
    }
}

/* Sort the spokes of each hub; those of one constant, or of multiples of it, then stand together.
 */
static saltus_status sort_spokes(saltus_spokes *m, const saltus_tables *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int n_species = t->n_species;
    int32_t *row = saltus_calloc((size_t)n_species + 1, sizeof *row);
    saltus_spoke *sorted = saltus_calloc((size_t)m->n + 1, sizeof *sorted);
    SALTUS_NEED(row && sorted);
    for (int i = 0; i < m->n; ++i) {
        ++row[m->items[i].hub];
    }
    place_rows(row, n_species);
    for (int i = 0; i < m->n; ++i) {
        sorted[row[m->items[i].hub]++] = m->items[i];
    }
    for (int hub = 0, first = 0; hub < n_species; first = row[hub++]) {
        const int n = row[hub] - first;
        saltus_spoke *s = sorted + first;
        int alone = 0;
        qsort(s, (size_t)n, sizeof *s, by_constant);
        while (alone < n && s[alone].partner < 0) {
            ++alone;
        }
        join_multiples(s + alone, n - alone);
        qsort(s, (size_t)n, sizeof *s, by_partner);
    }
    saltus_free(m->items);
    m->items = sorted;
    sorted = NULL;
done:
    saltus_free(row);
    saltus_free(sorted);
    return status;
}

/* A class has the inverse of its constant; with less than that, or 0, nothing ever happens. */
static bool has_inverse(double rate)
{
    return rate > 0.0 && 1.0 / rate <= DBL_MAX;
}

saltus_status saltus_spokes_collect(saltus_spokes *m, const saltus_tables *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    m->items = saltus_calloc((size_t)t->n_reactions + 1, sizeof *m->items);
    SALTUS_NEED(m->items);
    for (int r = 0; r < t->n_reactions; ++r) {
        if (saltus_spoke_find(t, r, &m->items[m->n]) && has_inverse(t->rate[r])) {
            ++m->n;
        }
    }
    SALTUS_TRY(choose_hubs(m, t, err));
    SALTUS_TRY(sort_spokes(m, t, err));
done:
    return status;
}

void saltus_spokes_free(saltus_spokes *m)
{
    saltus_free(m->items);
    *m = (saltus_spokes){0};
}
