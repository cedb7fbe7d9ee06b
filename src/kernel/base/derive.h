/**
 * Quantities of one trajectory, made of the samples of one of its columns: on the host, and as a
 * kernel where the samples are on a GPU. docs/file-format.md defines them.
 */
#ifndef SALTUS_KERNEL_BASE_DERIVE_H
#define SALTUS_KERNEL_BASE_DERIVE_H

#include "kernel/base/math.h"

#if SALTUS_LANES != 1
#error "a trajectory is one lane wide"
#endif

typedef enum saltus_quantity {
    SALTUS_DERIVE_MEAN, /**< over the samples */
    SALTUS_DERIVE_MIN,
    SALTUS_DERIVE_MAX,
    SALTUS_DERIVE_TMIN,      /**< time of the first sample that is least */
    SALTUS_DERIVE_TMAX,      /**< greatest */
    SALTUS_DERIVE_FINAL,     /**< the last sample */
    SALTUS_DERIVE_AMPLITUDE, /**< mean height of a peak above the troughs beside it; 0: no peak */
    SALTUS_DERIVE_PERIOD,    /**< mean time from peak to peak; NaN with fewer than two */
    SALTUS_DERIVE_PASSAGE,   /**< time of the first sample at the threshold or above; NaN: none */
    SALTUS_DERIVE_ABOVE,     /**< share of the samples at the threshold or above */
} saltus_quantity;

typedef struct saltus_derive {
    int32_t quantity; /**< a saltus_quantity */
    int32_t column;   /**< of the counts, or of the observables: -1 - column */
    double threshold;
} saltus_derive;

/** The samples of one column that count. */
typedef struct saltus_series {
    int32_t is_count;
    const int64_t *counts; /**< where is_count */
    const double *reals;   /**< elsewhere */
    int64_t stride;        /**< from sample to sample */
    const double *times;   /**< [n] */
    int64_t n;             /**< at least 1 */
} saltus_series;

/* An extremum counts when it stands out by this share of the whole range. */
static const double saltus_prominence = 0.25;

SALTUS_FN double saltus_series_at(const saltus_series *x, int64_t i)
{
    return x->is_count ? (double)x->counts[i * x->stride] : x->reals[i * x->stride];
}

/* The first sample that is a number; the last one when none is. */
SALTUS_FN int64_t saltus_series_begin(const saltus_series *x)
{
    int64_t i = 0;
    while (i + 1 < x->n && saltus_series_at(x, i) != saltus_series_at(x, i)) {
        ++i;
    }
    return i;
}

/* Sample of the least value, or of the greatest; NaN is passed over. */
SALTUS_FN int64_t saltus_series_extreme(const saltus_series *x, double sign)
{
    int64_t best = saltus_series_begin(x);
    double most = sign * saltus_series_at(x, best);
    for (int64_t i = best + 1; i < x->n; ++i) {
        const double here = sign * saltus_series_at(x, i);
        best = here > most ? i : best;
        most = here > most ? here : most;
    }
    return best;
}

SALTUS_FN double saltus_series_time(const saltus_series *x, int64_t i)
{
    const double here = saltus_series_at(x, i);
    return here == here ? x->times[i] : SALTUS_NAN;
}

/* Peaks and troughs take turns; one is found when the samples have left it by the prominence. What
 * is found first is none, because the samples before it did not come to it from so far. */
SALTUS_FN double saltus_series_oscillation(const saltus_series *x, int wants_period)
{
    const double low = saltus_series_at(x, saltus_series_extreme(x, -1.0)),
                 high = saltus_series_at(x, saltus_series_extreme(x, 1.0));
    const double least = saltus_prominence * (high - low);
    const int64_t begin = saltus_series_begin(x);
    double peak = saltus_series_at(x, begin), trough = peak;
    int64_t peak_at = begin, n_heights = 0, n_peaks = 0;
    double heights = 0.0, last = 0.0, first_peak = 0.0, last_peak = 0.0;
    int direction = 0, has_last = 0; /* 1: upwards, a peak is to come */
    for (int64_t i = begin + 1; i < x->n && least > 0.0; ++i) {
        const double here = saltus_series_at(x, i); /* NaN compares with nothing */
        peak_at = here > peak ? i : peak_at;
        peak = here > peak ? here : peak;
        trough = here < trough ? here : trough;
        const int left_peak = direction >= 0 && here <= peak - least;
        const int left_trough = direction <= 0 && here >= trough + least;
        if (!left_peak && !left_trough) {
            continue;
        }
        const double at = left_peak ? peak : trough;
        if (direction != 0) {
            heights += has_last ? saltus_abs(at - last) : 0.0;
            n_heights += has_last;
            last = at;
            has_last = 1;
            if (left_peak) {
                first_peak = n_peaks == 0 ? x->times[peak_at] : first_peak;
                last_peak = x->times[peak_at];
                ++n_peaks;
            }
        }
        direction = left_peak ? -1 : 1;
        peak = trough = here;
        peak_at = i;
    }
    if (wants_period) {
        return n_peaks > 1 ? (last_peak - first_peak) / (double)(n_peaks - 1) : SALTUS_NAN;
    }
    return n_heights > 0 ? heights / (double)n_heights : peak == peak ? 0.0 : SALTUS_NAN;
}

/* The first sample at the threshold or above; n when there is none. */
SALTUS_FN int64_t saltus_series_passage(const saltus_series *x, double threshold)
{
    int64_t i = 0;
    while (i < x->n && !(saltus_series_at(x, i) >= threshold)) {
        ++i;
    }
    return i;
}

/* The sum of all samples, or the number of those at the threshold or above. */
SALTUS_FN double saltus_series_sum(const saltus_series *x, int is_above, double threshold)
{
    double sum = 0.0;
    for (int64_t i = 0; i < x->n; ++i) {
        const double here = saltus_series_at(x, i);
        sum += is_above ? (here >= threshold ? 1.0 : 0.0) : here;
    }
    return sum;
}

SALTUS_FN double saltus_derive_series(const saltus_derive *d, const saltus_series *x)
{
    int64_t i;
    switch (d->quantity) {
    case SALTUS_DERIVE_MIN:
        return saltus_series_at(x, saltus_series_extreme(x, -1.0));
    case SALTUS_DERIVE_MAX:
        return saltus_series_at(x, saltus_series_extreme(x, 1.0));
    case SALTUS_DERIVE_TMIN:
        return saltus_series_time(x, saltus_series_extreme(x, -1.0));
    case SALTUS_DERIVE_TMAX:
        return saltus_series_time(x, saltus_series_extreme(x, 1.0));
    case SALTUS_DERIVE_FINAL:
        return saltus_series_at(x, x->n - 1);
    case SALTUS_DERIVE_AMPLITUDE:
    case SALTUS_DERIVE_PERIOD:
        return saltus_series_oscillation(x, d->quantity == SALTUS_DERIVE_PERIOD);
    case SALTUS_DERIVE_PASSAGE:
        i = saltus_series_passage(x, d->threshold);
        return i < x->n ? x->times[i] : SALTUS_NAN;
    default: /* MEAN, ABOVE */
        return saltus_series_sum(x, d->quantity == SALTUS_DERIVE_ABOVE, d->threshold) /
               (double)x->n;
    }
}

/** What trajectories have, and which quantities are wanted of each. */
typedef struct saltus_derivation {
    const saltus_derive *wanted; /**< [n] */
    int32_t n;
    int32_t n_counts, n_observables; /**< columns */
    const double *times;             /**< [n_times] */
    int64_t first, n_times;          /**< samples first … n_times - 1 count */
} saltus_derivation;

/** Quantity number i of a trajectory with counts[point][count] and observables[point][observable].
 */
SALTUS_FN double saltus_derive_one(const saltus_derivation *d, int i, const int64_t *counts,
                                   const double *observables)
{
    const saltus_derive *w = &d->wanted[i];
    const int is_count = w->column >= 0;
    saltus_series x;
    x.is_count = is_count;
    x.counts = is_count ? counts + d->first * d->n_counts + w->column : (const int64_t *)0;
    x.reals =
        is_count ? (const double *)0 : observables + d->first * d->n_observables - 1 - w->column;
    x.stride = is_count ? d->n_counts : d->n_observables;
    x.times = d->times + d->first;
    x.n = d->n_times - d->first;
    return saltus_derive_series(w, &x);
}

/** What a launch works on; addresses are the device's. A thread makes one quantity of a job. */
typedef struct saltus_derive_launch {
    saltus_derivation of;
    int64_t n_jobs;
    const int64_t *counts;     /**< [job][point][count] */
    const double *observables; /**< [job][point][observable] */
    double *derived;           /**< out: [job][quantity]; of jobs that failed, of no account */
} saltus_derive_launch;

#if SALTUS_DEVICE
SALTUS_KERNEL(saltus_derive_jobs, saltus_derive_launch, a)
{
    const int64_t job = SALTUS_THREAD / a.of.n;
    if (job >= a.n_jobs) {
        return;
    }
    a.derived[SALTUS_THREAD] = saltus_derive_one(
        &a.of, (int)(SALTUS_THREAD % a.of.n), a.counts + job * a.of.n_times * a.of.n_counts,
        a.observables + job * a.of.n_times * a.of.n_observables);
}
#endif

#endif
