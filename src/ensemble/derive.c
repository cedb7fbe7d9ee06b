#include "ensemble/derive.h"

#include "core/list.h"
#include "core/memory.h"
#include "core/number.h"

#include <math.h>
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

/* An extremum counts when it stands out by this share of the whole range. */
static const double prominence = 0.25;

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

/* d->name is QUANTITY:COLUMN or QUANTITY:COLUMN:THRESHOLD. */
static saltus_status parse_one(saltus_derived *d, const saltus_plan *plan, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *copy = saltus_strdup(d->name), *colon = copy ? strchr(copy, ':') : NULL;
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
            "--derive '%.100s': mean, min, max, tmin, tmax, final, amplitude or period:NAME, "
            "or passage or above:NAME:THRESHOLD is needed",
            d->name);
    }
    d->quantity = (saltus_quantity)q;
    if (quantities[q].has_threshold) {
        char *last = strrchr(colon + 1, ':');
        if (!last || !saltus_number_read(last + 1, &d->threshold)) {
            SALTUS_FAIL(SALTUS_E_INVALID,
                        "--derive '%.100s': a threshold is needed behind the name", d->name);
        }
        *last = '\0';
    }
    d->column = find_column(plan, colon + 1, &found);
    if (!found) {
        SALTUS_FAIL(SALTUS_E_INVALID, "--derive '%.100s': '%.60s' is not recorded", d->name,
                    colon + 1);
    }
done:
    saltus_free(copy);
    return status;
}

saltus_status saltus_derived_parse(const char *text, const saltus_plan *plan, saltus_derived **out,
                                   int *n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_derived *list = NULL;
    size_t capacity = 0, length;
    const char *item;
    int count = 0;
    while (saltus_list_next(&text, &item, &length)) {
        saltus_derived *grown = saltus_grow(list, (size_t)count, &capacity, sizeof *list);
        SALTUS_NEED(grown);
        list = grown;
        list[count] = (saltus_derived){.name = saltus_calloc(length + 1, 1)};
        SALTUS_NEED(list[count].name);
        memcpy(list[count++].name, item, length);
        SALTUS_TRY(parse_one(&list[count - 1], plan, err));
        for (int i = 0; i + 1 < count; ++i) {
            if (strcmp(list[i].name, list[count - 1].name) == 0) {
                SALTUS_FAIL(SALTUS_E_INVALID, "--derive: '%.100s' is named twice", list[i].name);
            }
        }
    }
    *out = list;
    *n = count;
    list = NULL;
done:
    saltus_derived_free(list, count);
    return status;
}

void saltus_derived_free(saltus_derived *derived, int n)
{
    for (int i = 0; derived && i < n; ++i) {
        saltus_free(derived[i].name);
    }
    saltus_free(derived);
}

/* Sample of the least value, or of the greatest. */
static int64_t extreme(const double *x, int64_t n, double sign)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i) {
        best = sign * x[i] > sign * x[best] ? i : best;
    }
    return best;
}

/* Peaks and troughs take turns; one is found when the samples have left it by the prominence. What
 * is found first is none, because the samples before it did not come to it from so far. */
static double oscillation(const double *x, const double *t, int64_t n, bool wants_period)
{
    const double low = x[extreme(x, n, -1.0)], high = x[extreme(x, n, 1.0)];
    const double least = prominence * (high - low);
    int direction = 0; /* 1: upwards, a peak is to come */
    int64_t peak = 0, trough = 0, n_heights = 0, n_peaks = 0;
    double heights = 0.0, last = 0.0, first_peak = 0.0, last_peak = 0.0;
    bool has_last = false;
    for (int64_t i = 1; i < n && least > 0.0; ++i) {
        peak = x[i] > x[peak] ? i : peak;
        trough = x[i] < x[trough] ? i : trough;
        const bool left_peak = direction >= 0 && x[i] <= x[peak] - least;
        const bool left_trough = direction <= 0 && x[i] >= x[trough] + least;
        if (!left_peak && !left_trough) {
            continue;
        }
        const int64_t at = left_peak ? peak : trough;
        if (direction != 0) {
            heights += has_last ? fabs(x[at] - last) : 0.0;
            n_heights += has_last;
            last = x[at];
            has_last = true;
            if (left_peak) {
                first_peak = n_peaks == 0 ? t[at] : first_peak;
                last_peak = t[at];
                ++n_peaks;
            }
        }
        direction = left_peak ? -1 : 1;
        peak = trough = i;
    }
    if (wants_period) {
        return n_peaks > 1 ? (last_peak - first_peak) / (double)(n_peaks - 1) : (double)NAN;
    }
    return n_heights > 0 ? heights / (double)n_heights : 0.0;
}

static double derive(const saltus_derived *d, const double *x, const double *t, int64_t n)
{
    double sum = 0.0;
    switch (d->quantity) {
    case SALTUS_DERIVE_MEAN:
        for (int64_t i = 0; i < n; ++i) {
            sum += x[i];
        }
        return sum / (double)n;
    case SALTUS_DERIVE_MIN:
        return x[extreme(x, n, -1.0)];
    case SALTUS_DERIVE_MAX:
        return x[extreme(x, n, 1.0)];
    case SALTUS_DERIVE_TMIN:
        return t[extreme(x, n, -1.0)];
    case SALTUS_DERIVE_TMAX:
        return t[extreme(x, n, 1.0)];
    case SALTUS_DERIVE_FINAL:
        return x[n - 1];
    case SALTUS_DERIVE_AMPLITUDE:
    case SALTUS_DERIVE_PERIOD:
        return oscillation(x, t, n, d->quantity == SALTUS_DERIVE_PERIOD);
    case SALTUS_DERIVE_PASSAGE:
        for (int64_t i = 0; i < n; ++i) {
            if (x[i] >= d->threshold) {
                return t[i];
            }
        }
        return (double)NAN;
    default:
        for (int64_t i = 0; i < n; ++i) {
            sum += x[i] >= d->threshold;
        }
        return sum / (double)n;
    }
}

double saltus_derive_counts(const saltus_derived *d, const int64_t *x, int64_t stride,
                            const double *times, int64_t first, int64_t n, double *scratch)
{
    for (int64_t i = first; i < n; ++i) {
        scratch[i - first] = (double)x[i * stride];
    }
    return derive(d, scratch, times + first, n - first);
}

double saltus_derive_reals(const saltus_derived *d, const double *x, int64_t stride,
                           const double *times, int64_t first, int64_t n, double *scratch)
{
    for (int64_t i = first; i < n; ++i) {
        scratch[i - first] = x[i * stride];
    }
    return derive(d, scratch, times + first, n - first);
}
