/* Large networks on one core: what their events are like and what they cost, beside a plain program
 * whose moments ours must have. */
#include "bench/bench.h"

#include "bench/measure/plain_network.h"
#include "bench/measure/samples.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/status.h"
#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_TURNS = 3, IN_TURN = 8, QUICK_PART = 4, FEWEST_RUNS = 8 }; /* so many go two in turn */

/* A network while it is measured. */
typedef struct network_case {
    bench *bench;
    saltus_model *model;
    plain_network *plain;
    int64_t events;   /* that are measured: of one trajectory, unless its end is given */
    int64_t compared; /* of those whose moments are compared */
    int64_t runs;     /* how many these are, of each program */
    int64_t n;        /* trajectories that the plain program needs for them */
    double until;     /* their end */
} network_case;

/* Seconds that this process has had of processors: a machine with others' work is no obstacle. */
static double processor_time(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What the events of the plain program are like, and what they cost it. */
static saltus_status measure_rows(network_case *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &c->model->network->tables;
    plain_rows rows = {0};
    const double end = c->bench->until > 0.0 ? c->bench->until : INFINITY, start = processor_time();
    for (int64_t left = c->events, n; left > 0; left -= n) {
        n = plain_network_run(c->plain, (uint64_t)++c->n, end, left, &c->until);
        if (n == 0) {
            SALTUS_FAIL(SALTUS_E_INVALID, "model '%s': nothing happens", c->model->name);
        }
    }
    const double seconds = processor_time() - start;
    c->until = end < INFINITY ? end : c->until;
    SALTUS_TRY(plain_network_rows(c->plain, &rows, err));
    bench_put(c->bench, FIELD("species", t->n_species), FIELD("reactions", t->n_reactions),
              FIELD("trajectories", c->n), FIELD("until", c->until), FIELD("events", rows.events),
              FIELD("dependents", rows.dependents), FIELD("changes", rows.changes),
              FIELD("species_changed", rows.species), FIELD("entropy", rows.entropy),
              FIELD("frequent", rows.n_frequent), FIELD("constants", rows.n_constants),
              FIELD("classes", t->n_classes), FIELD("leaves", t->n_hubs + t->n_own),
              FIELD("ns_plain", 1e9 * seconds / (double)rows.events));
done:
    return status;
}

/* n trajectories to `until`, on one core. */
static bench_ensemble ensemble_of(const network_case *c, int64_t n, double until)
{
    return (bench_ensemble){.model = c->model,
                            .device = c->bench->cpu,
                            .layout = "scalar",
                            .n_threads = 1,
                            .until = until,
                            .n_times = 1,
                            .n = n};
}

/* The shortest time of n trajectories to `until`, and their events. */
static saltus_status time_them(const network_case *c, int64_t n, double until, double *seconds,
                               int64_t *events, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bench_ensemble e = ensemble_of(c, n, until);
    *seconds = INFINITY;
    for (int turn = 0; turn < (c->bench->quick ? 1 : N_TURNS); ++turn) {
        saltus_totals totals = {0};
        const saltus_sink sink = saltus_totals_sink(&totals, false);
        saltus_run_report report = {0};
        const double start = processor_time();
        status = bench_run(&e, &sink, &report, err);
        *seconds = fmin(*seconds, processor_time() - start);
        saltus_totals_free(&totals);
        SALTUS_TRY(status);
        *events = report.events;
    }
done:
    return status;
}

/* The second half of the trajectories alone, so that their start is no part of it. */
static saltus_status time_events(const network_case *c, int64_t n, const char *name,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double half = 0.0, whole = 0.0;
    int64_t events_half = 0, events = 0;
    SALTUS_TRY(time_them(c, n, 0.5 * c->until, &half, &events_half, err));
    SALTUS_TRY(time_them(c, n, c->until, &whole, &events, err));
    bench_put(c->bench, FIELD(name, 1e9 * (whole - half) / (double)(events - events_half)));
done:
    return status;
}

/* Compare the moments of both programs at the end. In large networks species are taken together: of
 * very many, the farthest is far by chance alone. */
static saltus_status check_moments(const network_case *c, bool *agree, saltus_error *err)
{
    enum { MOST_COLUMNS = 4096 };
    saltus_status status = SALTUS_OK;
    const int n_species = c->model->network->tables.n_species;
    const int n_columns = n_species < MOST_COLUMNS ? n_species : MOST_COLUMNS;
    saltus_samples ours = {.n_columns = n_columns, .most = c->runs}, plain = ours;
    const saltus_sink sink = saltus_samples_sink(&ours);
    saltus_run_report report = {0};
    double until = 0.0, ended = 0.0, worst[2];
    (void)plain_network_run(c->plain, 1, c->until, c->compared, &until);
    for (int64_t i = 0; i < c->runs; ++i) {
        (void)plain_network_run(c->plain, 2 + (uint64_t)i, until, INT64_MAX, &ended);
        SALTUS_TRY(saltus_samples_add(&plain, plain_network_counts(c->plain), n_species, err));
    }
    const bench_ensemble e = ensemble_of(c, c->runs, until);
    SALTUS_TRY(bench_run(&e, &sink, &report, err));
    saltus_samples_compare(&ours, &plain, worst);
    bench_put(c->bench, FIELD("runs", c->runs), FIELD("runs_until", until),
              FIELD("worst_mean", worst[0]), FIELD("worst_variance", worst[1]));
    *agree = ours.n == c->runs && worst[0] < 5.0 && worst[1] < 5.0;
done:
    saltus_samples_free(&ours);
    saltus_samples_free(&plain);
    return status;
}

static saltus_status measure_file(bench *b, const char *path, int64_t events, int64_t compared,
                                  int64_t runs, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    network_case c = {.bench = b, .events = events, .compared = compared, .runs = runs};
    bool agree = false;
    if (b->quick) {
        c.events = 1 + events / QUICK_PART;
        c.compared = 1 + compared / QUICK_PART;
        c.runs = FEWEST_RUNS;
    }
    const double start = saltus_now();
    SALTUS_TRY(saltus_model_read_net(path, &c.model, err));
    SALTUS_TRY(saltus_model_freeze(c.model, SALTUS_LAW_LITERAL, err));
    bench_put(b, FIELD("seconds_reading", saltus_now() - start));
    SALTUS_TRY(plain_network_create(c.model, &c.plain, err));
    SALTUS_TRY(measure_rows(&c, err));
    if (b->until == 0.0) {
        SALTUS_TRY(time_events(&c, 1, "ns_per_event", err));
    }
    SALTUS_TRY(time_events(&c, c.n > IN_TURN ? c.n : IN_TURN, "ns_in_turn", err));
    SALTUS_TRY(check_moments(&c, &agree, err));
    bench_end_checked(b, agree);
done:
    plain_network_free(c.plain);
    saltus_model_destroy(c.model);
    return status;
}

static saltus_status measure_row(bench *b, const bench_table *t, saltus_error *err)
{
    static const char *const wanted[] = {"wanted_dependents", "wanted_changes",  "wanted_species",
                                         "wanted_entropy",    "wanted_frequent", "wanted_constants",
                                         "published"};
    const char *folder = getenv("BIONETGEN_NETWORKS"), *name = bench_cell(t, "model");
    char path[1000];
    if (b->model && strcmp(b->model, name) != 0) {
        return SALTUS_OK;
    }
    (void)snprintf(path, sizeof path, "%s/%s.net", folder ? folder : ".", name);
    bench_put(b, FIELD("model", name));
    if (access(path, R_OK) != 0) {
        bench_put(b, FIELD("path", path));
        bench_end_skipped(b, "there is no such file");
        return SALTUS_OK;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
        bench_put(b, FIELD_IF(bench_cell(t, wanted[i])[0], wanted[i], bench_number(t, wanted[i])));
    }
    return measure_file(b, path, bench_whole(t, "events"), bench_whole(t, "compared"),
                        bench_whole(t, "runs"), err);
}

saltus_status bench_large_networks(bench *b, saltus_error *err)
{
    enum { EVENTS = 1000000, COMPARED = 20000, RUNS = 40 };
    if (b->model && access(b->model, R_OK) == 0) {
        bench_put(b, FIELD("model", b->model));
        return measure_file(b, b->model, EVENTS, COMPARED, RUNS, err);
    }
    return bench_each_row(b, b->name, measure_row, err);
}
