#include "ensemble/derive.h"

#include "core/list.h"
#include "core/memory.h"
#include "core/number.h"

#include <string.h>

static const struct {
    const char *name;
    bool has_threshold;
} quantities[] = {
    [SALTUS_DERIVE_MEAN] = {"mean", false},
    [SALTUS_DERIVE_MIN] = {"min", false},
    [SALTUS_DERIVE_MAX] = {"max", false},
    [SALTUS_DERIVE_TMIN] = {"tmin", false},
    [SALTUS_DERIVE_TMAX] = {"tmax", false},
    [SALTUS_DERIVE_FINAL] = {"final", false},
    [SALTUS_DERIVE_AMPLITUDE] = {"amplitude", false},
    [SALTUS_DERIVE_PERIOD] = {"period", false},
    [SALTUS_DERIVE_PASSAGE] = {"passage", true},
    [SALTUS_DERIVE_ABOVE] = {"above", true},
};
enum { N_QUANTITIES = sizeof quantities / sizeof *quantities };

static int find_column(const saltus_plan *plan, const char *name, bool *found)
{
    *found = true;
    for (int c = 0; c < saltus_plan_n_counts(plan); ++c) {
        if (strcmp(saltus_plan_count_name(plan, c), name) == 0) {
            return c;
        }
    }
    for (int o = 0; o < saltus_plan_n_observables(plan); ++o) {
        if (strcmp(saltus_plan_observable_name(plan, o), name) == 0) {
            return -1 - o;
        }
    }
    *found = false;
    return 0;
}

/* The name is QUANTITY:COLUMN or QUANTITY:COLUMN:THRESHOLD. */
static saltus_status parse_one(const char *name, const saltus_plan *plan, saltus_derive *d,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *copy = saltus_strdup(name), *colon = copy ? strchr(copy, ':') : NULL;
    bool found = false;
    int q = 0;
    SALTUS_NEED(copy);
    if (colon) {
        *colon = '\0';
    }
    while (q < N_QUANTITIES && strcmp(copy, quantities[q].name) != 0) {
        ++q;
    }
    if (!colon || q == N_QUANTITIES) {
        SALTUS_FAIL(
            SALTUS_E_INVALID,
            "`derive` '%.100s': mean, min, max, tmin, tmax, final, amplitude or period:NAME, "
            "or passage or above:NAME:THRESHOLD is needed",
            name);
    }
    d->quantity = q;
    if (quantities[q].has_threshold) {
        char *last = strrchr(colon + 1, ':');
        if (!last || !saltus_number_read(last + 1, &d->threshold)) {
            SALTUS_FAIL(SALTUS_E_INVALID,
                        "`derive` '%.100s': a threshold is needed behind the name", name);
        }
        *last = '\0';
    }
    d->column = find_column(plan, colon + 1, &found);
    if (!found) {
        SALTUS_FAIL(SALTUS_E_INVALID, "`derive` '%.100s': '%.60s' is not recorded", name,
                    colon + 1);
    }
done:
    saltus_free(copy);
    return status;
}

saltus_status saltus_derived_parse(const char *text, const saltus_plan *plan, saltus_derived *out,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *item, *rest = text;
    size_t length, n = 0;
    saltus_derived d = {0};
    while (saltus_list_next(&rest, &item, &length)) {
        ++n;
    }
    d.wanted = saltus_calloc(n, sizeof *d.wanted);
    d.names = saltus_calloc(n, sizeof *d.names);
    SALTUS_NEED(d.wanted && d.names);
    while (saltus_list_next(&text, &item, &length)) {
        char *name = d.names[d.n] = saltus_calloc(length + 1, 1);
        SALTUS_NEED(name);
        ++d.n;
        memcpy(name, item, length);
        for (int i = 0; i < d.n - 1; ++i) {
            if (strcmp(d.names[i], name) == 0) {
                SALTUS_FAIL(SALTUS_E_INVALID, "`derive`: '%.100s' is named twice", name);
            }
        }
        SALTUS_TRY(parse_one(name, plan, &d.wanted[d.n - 1], err));
    }
    *out = d;
    d = (saltus_derived){0};
done:
    saltus_derived_free(&d);
    return status;
}

saltus_status saltus_derived_copy(const saltus_derived *from, saltus_derived *out,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_derived d = {.wanted = saltus_calloc((size_t)from->n, sizeof *d.wanted),
                        .names = saltus_calloc((size_t)from->n, sizeof *d.names)};
    SALTUS_NEED(d.wanted && d.names);
    for (; d.n < from->n; ++d.n) {
        d.wanted[d.n] = from->wanted[d.n];
        d.names[d.n] = saltus_strdup(from->names[d.n]);
        SALTUS_NEED(d.names[d.n]);
    }
    *out = d;
    d = (saltus_derived){0};
done:
    saltus_derived_free(&d);
    return status;
}

saltus_status saltus_derivation_make(const saltus_derived *derived, int n_counts, int n_observables,
                                     const double *times, int64_t n_times, double burn_in,
                                     saltus_derivation *out, saltus_error *err)
{
    if (burn_in > times[n_times - 1]) {
        return saltus_error_set(err, SALTUS_E_INVALID,
                                "`burn_in %g`: the last sample is at time %g", burn_in,
                                times[n_times - 1]);
    }
    *out = (saltus_derivation){.wanted = derived->wanted,
                               .n = derived->n,
                               .n_counts = n_counts,
                               .n_observables = n_observables,
                               .times = times,
                               .n_times = n_times};
    while (out->first + 1 < n_times && times[out->first] < burn_in) {
        ++out->first;
    }
    return SALTUS_OK;
}

double saltus_derived_of(const saltus_derivation *d, const saltus_block *b, int64_t i, int q)
{
    return b->derived ? b->derived[i * d->n + q]
                      : saltus_derive_one(d, q, b->counts + i * d->n_times * d->n_counts,
                                          b->observables + i * d->n_times * d->n_observables);
}

void saltus_derived_free(saltus_derived *derived)
{
    for (int i = 0; i < derived->n; ++i) {
        saltus_free(derived->names[i]);
    }
    saltus_free(derived->names);
    saltus_free(derived->wanted);
    *derived = (saltus_derived){0};
}
