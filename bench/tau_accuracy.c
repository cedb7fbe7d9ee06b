/* How far tau-leaping is off: distributions at the end beside exact ones, by epsilon. The distance
 * of histograms and that of two exact ensembles, which is its floor, are those of Cao and Petzold,
 * J. Comput. Phys. 212 (2006) 6, doi:10.1016/j.jcp.2005.06.012. */
#include "bench/bench.h"

#include "core/memory.h"
#include "core/status.h"
#include "sweep/collect.h"
#include "bench/measure/example.h"

#include <math.h>

enum {
    RUNS = 10000,
    QUICK_RUNS = 200,
    MOST_BINS = 64, /* 2^k wide, from the least value of either exact ensemble to the greatest */
    FEW = 10        /* molecules: of fewer on average relative errors say nothing */
};
static const double epsilons[] = {0.1, 0.05, 0.03, 0.01};
static const double strict = 0.03; /* from this epsilon on errors are checked: */
static const double mean_aim = 0.01, sd_aim = 0.03, allowance = 5.0;

/* Final counts [run][species] of n runs. */
typedef struct ensemble {
    saltus_plan *plan;
    saltus_collection what;
    saltus_collector *runs;
    double seconds;
} ensemble;

/* Of one species. */
typedef struct moments {
    double mean, sd, mean_error, sd_error; /* standard errors */
} moments;

static void release(ensemble *e)
{
    saltus_collector_destroy(e->runs);
    saltus_plan_destroy(e->plan);
    *e = (ensemble){0};
}

static saltus_status simulate(const bench *b, const saltus_model *model, double t_end,
                              double epsilon, int64_t first, int64_t n, ensemble *e,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_run_report report = {0};
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_run_options run = saltus_run_options_default();
    wanted.n_threads = b->threads;
    wanted.method = epsilon > 0.0 ? "tau" : "direct";
    wanted.epsilon = epsilon > 0.0 ? epsilon : wanted.epsilon;
    run.times = &t_end;
    run.n_times = 1;
    run.first_trajectory = first;
    run.n_trajectories = n;
    release(e);
    SALTUS_TRY(saltus_plan_create(model, b->cpu, &wanted, &e->plan, err));
    e->what = (saltus_collection){.n_runs = n,
                                  .n_times = 1,
                                  .n_counts = saltus_plan_n_counts(e->plan),
                                  .n_observables = saltus_plan_n_observables(e->plan),
                                  .record = SALTUS_RECORD_FINAL};
    SALTUS_TRY(saltus_collector_create(&e->what, &e->runs, err));
    SALTUS_TRY(saltus_run(e->plan, &run, &e->runs->sink, &report, err));
    e->seconds = report.seconds;
done:
    return status;
}

static double value(const ensemble *e, int64_t run, int s)
{
    return (double)e->runs->counts[run * e->what.n_counts + s];
}

static moments moments_of(const ensemble *e, int s)
{
    const double n = (double)e->what.n_runs;
    double mean = 0.0, second = 0.0, fourth = 0.0;
    for (int64_t i = 0; i < e->what.n_runs; ++i) {
        mean += value(e, i, s) / n;
    }
    for (int64_t i = 0; i < e->what.n_runs; ++i) {
        const double d = value(e, i, s) - mean;
        second += d * d / n;
        fourth += d * d * d * d / n;
    }
    const double kurtosis = second > 0.0 ? fourth / (second * second) : 1.0;
    return (moments){.mean = mean,
                     .sd = sqrt(second),
                     .mean_error = sqrt(second / n),
                     .sd_error = sqrt(second * fmax(kurtosis - 1.0, 0.0) / (4.0 * n))};
}

static void count(const ensemble *e, int s, double low, double width, int64_t bins[MOST_BINS])
{
    for (int b = 0; b < MOST_BINS; ++b) {
        bins[b] = 0;
    }
    for (int64_t i = 0; i < e->what.n_runs; ++i) {
        const double b = floor((value(e, i, s) - low) / width);
        ++bins[b < 0.0 ? 0 : b < MOST_BINS ? (int)b : MOST_BINS - 1];
    }
}

/* Half the sum of |p - q|: 0 for equal distributions, 1 for ones that have nothing in common. */
static double distance(const ensemble *a, const ensemble *b, int s, double low, double width)
{
    int64_t p[MOST_BINS], q[MOST_BINS];
    double sum = 0.0;
    count(a, s, low, width, p);
    count(b, s, low, width, q);
    for (int i = 0; i < MOST_BINS; ++i) {
        sum += fabs((double)p[i] / (double)a->what.n_runs - (double)q[i] / (double)b->what.n_runs);
    }
    return 0.5 * sum;
}

/* Bins that hold both exact ensembles. */
static void find_bins(const ensemble exact[2], int s, double *low, double *width)
{
    double high = -INFINITY;
    *low = INFINITY;
    for (int k = 0; k < 2; ++k) {
        for (int64_t i = 0; i < exact[k].what.n_runs; ++i) {
            *low = fmin(*low, value(&exact[k], i, s));
            high = fmax(high, value(&exact[k], i, s));
        }
    }
    for (*width = 1.0; (high - *low + 1.0) / *width > MOST_BINS; *width *= 2.0) {
    }
}

/* The largest of a kind of error among the species; species -1: none was looked at. */
typedef struct worst {
    int species;
    double error, noise; /* noise: a standard error, or the distance of exact ensembles */
} worst;

static void keep_worst(worst *w, int species, double error, double noise)
{
    if (w->species < 0 || error - noise > w->error - w->noise) {
        *w = (worst){species, error, noise};
    }
}

typedef struct score {
    worst distance, few_distance; /* few: of species with few molecules */
    worst mean, sd;               /* relative errors, of the others */
    bool is_right;
} score;

static score compare(const ensemble exact[2], const ensemble *leaps)
{
    score s = {{.species = -1}, {.species = -1}, {.species = -1}, {.species = -1}, true};
    for (int c = 0; c < leaps->what.n_counts; ++c) {
        double low, width;
        const moments e = moments_of(&exact[0], c), l = moments_of(leaps, c);
        const bool few = e.mean < FEW;
        if (e.sd == 0.0 && l.sd == 0.0) {
            continue;
        }
        find_bins(exact, c, &low, &width);
        keep_worst(few ? &s.few_distance : &s.distance, c,
                   distance(&exact[0], leaps, c, low, width),
                   distance(&exact[0], &exact[1], c, low, width));
        if (few || e.sd == 0.0) {
            continue;
        }
        const double mean = fabs(l.mean - e.mean) / e.mean, sd = fabs(l.sd - e.sd) / e.sd;
        const double mean_noise = hypot(l.mean_error, e.mean_error) / e.mean;
        const double sd_noise = hypot(l.sd_error, e.sd_error) / e.sd;
        keep_worst(&s.mean, c, mean, mean_noise);
        keep_worst(&s.sd, c, sd, sd_noise);
        s.is_right = s.is_right && mean <= mean_aim + allowance * mean_noise &&
                     sd <= sd_aim + allowance * sd_noise;
    }
    return s;
}

static void put_worst(bench *b, const char *name, const char *noise_name, const worst *w,
                      const ensemble *leaps)
{
    char of[40];
    (void)snprintf(of, sizeof of, "%s_of", name);
    if (w->species >= 0) {
        bench_put(b, FIELD(name, w->error), FIELD(noise_name, w->noise),
                  FIELD(of, saltus_plan_count_name(leaps->plan, w->species)));
    }
}

static void print_row(bench *b, const bench_table *t, double epsilon, const ensemble exact[2],
                      const ensemble *leaps)
{
    const score s = compare(exact, leaps);
    bench_put(b, FIELD("model", bench_cell(t, "model")), FIELD("until", bench_number(t, "until")),
              FIELD("trajectories", leaps->what.n_runs), FIELD("epsilon", epsilon));
    put_worst(b, "distance", "self_distance", &s.distance, leaps);
    put_worst(b, "few_distance", "few_self_distance", &s.few_distance, leaps);
    put_worst(b, "mean_error", "mean_noise", &s.mean, leaps);
    put_worst(b, "sd_error", "sd_noise", &s.sd, leaps);
    bench_put(b, FIELD("seconds", leaps->seconds), FIELD("exact_seconds", exact[0].seconds));
    if (epsilon <= strict) {
        bench_end_checked(b, s.is_right);
    } else {
        bench_end(b);
    }
}

static saltus_status measure(bench *b, const bench_table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    ensemble exact[2] = {0}, leaps = {0};
    const char *set = bench_cell(t, "set");
    const double t_end = bench_number(t, "until");
    const int64_t n = b->quick ? QUICK_RUNS : (int64_t)ceil(b->part * RUNS);
    SALTUS_TRY(saltus_example_load(b->examples, bench_cell(t, "model"), &model, err));
    if (set[0]) {
        saltus_model_thaw(model);
        SALTUS_TRY(saltus_model_set(model, set, bench_number(t, "amount"), err));
        SALTUS_TRY(saltus_model_freeze(model, SALTUS_LAW_LITERAL, err));
    }
    for (int k = 0; k < 2; ++k) {
        SALTUS_TRY(simulate(b, model, t_end, 0.0, k * n, n, &exact[k], err));
    }
    for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; ++i) {
        SALTUS_TRY(simulate(b, model, t_end, epsilons[i], 0, n, &leaps, err));
        print_row(b, t, epsilons[i], exact, &leaps);
    }
done:
    release(&exact[0]);
    release(&exact[1]);
    release(&leaps);
    saltus_model_destroy(model);
    return status;
}

saltus_status bench_tau_accuracy(bench *b, saltus_error *err)
{
    return bench_each_row(b, b->name, measure, err);
}
