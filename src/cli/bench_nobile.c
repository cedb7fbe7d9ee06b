/* Nobile, Cazzaniga, Besozzi, Pescini, Mauri, PLoS ONE 9 (2014) e91963 (cuTauLeaping): ensembles of
 * 2^6 to 2^18 simulations, and sweeps. The method is what auto chooses: leaps only where they are
 * faster. The paper's times are of a GTX 590, COPASI's of one core of an i7, in seconds. */
#include "cli/bench.h"

#include "core/memory.h"
#include "core/status.h"
#include "measure/example.h"

#include <math.h>
#include <string.h>

enum { N_SIZES = 7, N_TIMES = 100, LARGEST = 18, REFERENCE = 4096, QUICK_LARGEST = 8 };
static const double too_long = 60.0; /* seconds: larger ensembles are left out */

static const struct model {
    const char *file;
    double t_end, quick_end;
    int64_t reference; /* trajectories of the exact method to check against */
    double paper[N_SIZES], copasi;
} models[] = {
    {"michaelis-menten",
     5.0,
     5.0,
     REFERENCE,
     {0.038, 0.046, 0.047, 0.051, 0.073, 0.172, 0.530},
     309.0},
    {"gene-network",
     50.0,
     50.0,
     REFERENCE,
     {0.120, 0.121, 0.124, 0.128, 0.175, 0.591, 2.18},
     2095.0},
    {"schlogl", 10.0, 1.0, REFERENCE, {0.723, 0.875, 0.979, 1.156, 1.578, 3.534, 10.163}, 906.0},
    {"ras-camp-pka", 150.0, 0.2, 64, {320, 322, 372, 551, 1530, 5482, 21470}, 534932.0},
};
enum { N_MODELS = sizeof models / sizeof *models };

typedef struct ensemble {
    saltus_bench *bench;
    const struct model *m;
    saltus_model *model;
    saltus_method_choice choice;
    saltus_totals reference;
    double times[N_TIMES];
} ensemble;

/* Run n trajectories; what is added up is compared with the exact method's. */
static saltus_status run(const ensemble *e, const saltus_backend *device, const char *method,
                         int64_t n, saltus_totals *totals, double *seconds, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_plan *plan = NULL;
    saltus_run_report report = {0};
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_run_options options = saltus_run_options_default();
    const saltus_sink sink = saltus_totals_sink(totals, false);
    wanted.method = method;
    wanted.n_threads = e->bench->threads;
    options.times = e->times;
    options.n_times = N_TIMES;
    options.n_trajectories = n;
    SALTUS_TRY(saltus_plan_create(e->model, device, &wanted, &plan, err));
    if (device == e->bench->gpu) {
        saltus_kernel_report kernel;
        SALTUS_TRY(saltus_plan_compile(plan, &kernel, err));
    }
    SALTUS_TRY(saltus_run(plan, &options, &sink, &report, err));
    *seconds = report.seconds;
done:
    saltus_plan_destroy(plan);
    return status;
}

static void print_row(const ensemble *e, const saltus_backend *device, int size, double seconds,
                      bool is_right)
{
    const double paper = e->m->paper[size];
    printf("{\"bench\": \"%s\", \"model\": \"%s\", \"until\": %g, \"points\": %d, \"engine\": "
           "\"%s\", \"method\": \"%s\", \"trajectories\": %lld",
           e->bench->name, e->m->file, e->times[N_TIMES - 1], N_TIMES,
           device == e->bench->gpu ? "gpu" : "cores", e->choice.method,
           1LL << (LARGEST - 2 * (N_SIZES - 1 - size)));
    if (seconds > 0.0) {
        printf(", \"seconds\": %.4g, \"check\": \"%s\"", seconds, is_right ? "ok" : "failed");
    } else {
        printf(", \"skipped\": \"it would take about %.3g s\"", -seconds);
    }
    if (e->bench->quick) {
        printf("}\n");
    } else {
        printf(", \"paper_seconds\": %g", paper);
        if (size == N_SIZES - 1) {
            printf(", \"copasi_seconds\": %g", e->m->copasi);
        }
        printf(seconds > 0.0 ? ", \"over_paper\": %.4g}\n" : "}\n", paper / seconds);
    }
    (void)fflush(stdout);
    e->bench->has_failed |= !is_right;
}

static saltus_status time_device(ensemble *e, const saltus_backend *device, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double last = 0.0;
    for (int size = 0; size < N_SIZES; ++size) {
        const int log2 = LARGEST - 2 * (N_SIZES - 1 - size);
        saltus_totals totals = {0};
        double seconds = 0.0;
        if (e->bench->quick && log2 > QUICK_LARGEST) {
            break;
        }
        if (4.0 * last > too_long) {
            last *= 4.0;
            print_row(e, device, size, -last, true);
            continue;
        }
        SALTUS_TRY(run(e, device, e->choice.method, INT64_C(1) << log2, &totals, &seconds, err));
        const bool is_right = saltus_totals_near(&totals, &e->reference, 0.0);
        saltus_totals_free(&totals);
        print_row(e, device, size, seconds, is_right);
        last = seconds;
    }
done:
    return status;
}

static saltus_status time_model(saltus_bench *bench, const struct model *m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    ensemble e = {.bench = bench, .m = m};
    double seconds;
    const double end = bench->quick ? m->quick_end : m->t_end;
    for (int i = 0; i < N_TIMES; ++i) {
        e.times[i] = end * i / (N_TIMES - 1);
    }
    const saltus_run_options whole = {.times = &end, .n_times = 1};
    SALTUS_TRY(saltus_example_load(bench->examples, m->file, &e.model, err));
    e.choice = saltus_method_choose(e.model, NULL, &whole);
    SALTUS_TRY(run(&e, bench->cpu, "direct", bench->quick ? 256 : m->reference, &e.reference,
                   &seconds, err));
    SALTUS_TRY(time_device(&e, bench->cpu, err));
    if (bench->gpu) {
        SALTUS_TRY(time_device(&e, bench->gpu, err));
    }
done:
    saltus_totals_free(&e.reference);
    saltus_model_destroy(e.model);
    return status;
}

saltus_status saltus_bench_nobile_table1(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int m = 0; m < N_MODELS; ++m) {
        SALTUS_TRY(time_model(bench, &models[m], err));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Sweeps
 */

static const struct sweep_case {
    const char *name, *vary[3], *quick_vary[3];
    double t_end;
    int64_t runs, quick_runs;
    double paper, copasi; /* 0: not published */
} sweeps[] = {
    {"schlogl, c3",
     {"c3=lin:6.9e-4:1.4e-3:10"},
     {"c3=lin:6.9e-4:1.4e-3:3"},
     10.0,
     26214,
     20,
     34.92,
     1013.0},
    {"schlogl, c1 x c2 x c3",
     {"c1=lin:2.9e-7:3.1e-7:16", "c2=lin:8e-5:1.1e-4:16", "c3=lin:6e-4:1.2e-3:16"},
     {"c1=lin:2.9e-7:3.1e-7:2", "c2=lin:8e-5:1.1e-4:2", "c3=lin:6e-4:1.2e-3:2"},
     10.0,
     256,
     10,
     0.0,
     0.0},
};
enum { N_SWEEPS = sizeof sweeps / sizeof *sweeps };

/* The means of X at the end, point by point. */
typedef struct means {
    double *x;
    int64_t n;
} means;

typedef struct point_totals {
    saltus_totals totals;
    saltus_sink sink;
} point_totals;

static saltus_status open_point(void *user, int64_t point, const saltus_plan *plan,
                                saltus_sink **sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    point_totals *p = saltus_calloc(1, sizeof *p);
    (void)user, (void)point, (void)plan;
    SALTUS_NEED(p);
    p->sink = saltus_totals_sink(&p->totals, false);
    *sink = &p->sink;
done:
    return status;
}

static void discard(void *user, saltus_sink *sink)
{
    point_totals *p = (point_totals *)((char *)sink - offsetof(point_totals, sink));
    (void)user;
    saltus_totals_free(&p->totals);
    saltus_free(p);
}

static saltus_status deliver(void *user, int64_t point, saltus_sink *sink, saltus_error *err)
{
    means *m = user;
    const point_totals *p = (point_totals *)((char *)sink - offsetof(point_totals, sink));
    const saltus_statistics *s = &p->totals.statistics;
    (void)err;
    m->x[point] = saltus_statistics_mean(s, s->width - (size_t)p->totals.n_counts);
    ++m->n;
    discard(user, sink);
    return SALTUS_OK;
}

typedef struct source {
    char path[1200];
} source;

static saltus_model *load(void *user, saltus_error *err)
{
    const source *from = user;
    saltus_model *model = NULL;
    return saltus_model_read(from->path, &model, err) == SALTUS_OK ? model : NULL;
}

static saltus_status time_sweep(saltus_bench *bench, const struct sweep_case *c, const char *device,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const double times[2] = {c->t_end / 2.0, c->t_end};
    saltus_sweep *sweep = NULL;
    saltus_run_report report = {0};
    saltus_sweep_options o = saltus_sweep_options_default();
    means m = {0};
    source from;
    const saltus_sweep_sink sink = {&m, open_point, deliver, discard};
    (void)snprintf(from.path, sizeof from.path, "%s/schlogl.yaml", bench->examples);
    SALTUS_TRY(saltus_sweep_create(&sweep, err));
    for (int v = 0; v < 3 && c->vary[v]; ++v) {
        SALTUS_TRY(saltus_sweep_vary(sweep, bench->quick ? c->quick_vary[v] : c->vary[v], err));
    }
    SALTUS_TRY(saltus_sweep_finish(sweep, NULL, 1, err));
    const int64_t n = saltus_sweep_n_points(sweep);
    m.x = saltus_calloc((size_t)n, sizeof *m.x);
    SALTUS_NEED(m.x);
    o.load = load;
    o.load_user = &from;
    o.device = device;
    o.plan.n_threads = strcmp(device, "cpu") == 0 ? bench->threads : 0;
    o.run.n_trajectories = bench->quick ? c->quick_runs : c->runs;
    o.run.times = times;
    o.run.n_times = 2;
    SALTUS_TRY(saltus_sweep_run(sweep, &o, &sink, &report, err));
    /* more is made of X the larger c3 is, which varies fastest */
    const bool is_right = m.n == n && m.x[n - 1] > m.x[n - (n > 16 ? 16 : n)];
    printf(
        "{\"bench\": \"%s\", \"sweep\": \"%s\", \"until\": %g, \"points\": %lld, \"runs\": %lld, "
        "\"engine\": \"%s\", \"method\": \"direct\", \"seconds\": %.4g",
        bench->name, c->name, c->t_end, (long long)n, (long long)o.run.n_trajectories,
        strcmp(device, "cpu") == 0 ? "cores" : "gpu", report.seconds);
    if (c->paper > 0.0 && !bench->quick) {
        printf(", \"paper_seconds\": %g, \"copasi_seconds\": %g, \"over_paper\": %.4g", c->paper,
               c->copasi, c->paper / report.seconds);
    }
    printf(", \"check\": \"%s\"}\n", is_right ? "ok" : "failed");
    (void)fflush(stdout);
    bench->has_failed |= !is_right;
done:
    saltus_sweep_destroy(sweep);
    saltus_free(m.x);
    return status;
}

saltus_status saltus_bench_nobile_sweeps(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = 0; i < N_SWEEPS; ++i) {
        SALTUS_TRY(time_sweep(bench, &sweeps[i], "cpu", err));
        if (bench->gpu && i == 0) { /* on a GPU every point is a run of its own: not for many */
            SALTUS_TRY(time_sweep(bench, &sweeps[i], "cuda", err));
        }
    }
done:
    return status;
}
