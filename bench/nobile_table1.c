/* Nobile et al. 2014, table 1: ensembles of 2^6 to 2^18 simulations. The method is what auto
 * chooses: leaps only where they are faster. */
#include "bench/bench.h"

#include "bench/measure/example.h"
#include "core/status.h"

enum { N_TIMES = 100, SMALLEST = 1 << 6, LARGEST = 1 << 18, QUICK_LARGEST = 1 << 8 };
static const double too_long = 60.0; /* seconds: larger ensembles are left out */

/* One model while it is timed. */
typedef struct row {
    bench *bench;
    const bench_table *table;
    saltus_totals reference; /* of the exact method */
    bench_ensemble e;
} row;

static void print_row(const row *r, double seconds, bool is_right)
{
    bench *b = r->bench;
    char column[40], why[60];
    (void)snprintf(column, sizeof column, "%lld", (long long)r->e.n);
    (void)snprintf(why, sizeof why, "it would take about %.3g s", -seconds);
    const double paper = bench_number(r->table, column);
    bench_put(b, FIELD("model", bench_cell(r->table, "model")), FIELD("until", r->e.until),
              FIELD("points", N_TIMES), FIELD("engine", bench_engine(b, r->e.device)),
              FIELD("method", r->e.method), FIELD("trajectories", r->e.n),
              FIELD_IF(seconds > 0.0, "seconds", seconds),
              FIELD_IF(!b->quick, "paper_seconds", paper),
              FIELD_IF(!b->quick && r->e.n == LARGEST, "copasi_seconds",
                       bench_number(r->table, "copasi")),
              FIELD_IF(!b->quick && seconds > 0.0, "over_paper", paper / seconds));
    if (seconds > 0.0) {
        bench_end_checked(b, is_right);
    } else {
        bench_end_skipped(b, why);
    }
}

static saltus_status time_device(row *r, const saltus_backend *device, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double last = 0.0;
    r->e.device = device;
    for (r->e.n = SMALLEST; r->e.n <= (r->bench->quick ? QUICK_LARGEST : LARGEST); r->e.n *= 4) {
        saltus_totals totals = {0};
        double seconds = 0.0;
        if (4.0 * last > too_long) {
            last *= 4.0;
            print_row(r, -last, true);
            continue;
        }
        SALTUS_TRY(bench_add_up(&r->e, &totals, &seconds, err));
        print_row(r, seconds, saltus_totals_near(&totals, &r->reference, 0.01, 0.0));
        saltus_totals_free(&totals);
        last = seconds;
    }
done:
    return status;
}

static saltus_status time_model(bench *b, const bench_table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *model = NULL;
    row r = {.bench = b, .table = t};
    double seconds;
    SALTUS_TRY(saltus_example_load(b->examples, bench_cell(t, "model"), &model, err));
    r.e = (bench_ensemble){.model = model,
                           .device = b->cpu,
                           .n_threads = b->threads,
                           .until = bench_sized(b, t, "until"),
                           .n_times = N_TIMES,
                           .n = b->quick ? 256 : bench_whole(t, "reference")};
    SALTUS_TRY(bench_add_up(&r.e, &r.reference, &seconds, err));
    r.e.method = saltus_method_choose(model, NULL).method;
    SALTUS_TRY(time_device(&r, b->cpu, err));
    if (b->gpu) {
        SALTUS_TRY(time_device(&r, b->gpu, err));
    }
done:
    saltus_totals_free(&r.reference);
    saltus_model_destroy(model);
    return status;
}

saltus_status bench_nobile_table1(bench *b, saltus_error *err)
{
    return bench_each_row(b, b->name, time_model, err);
}
