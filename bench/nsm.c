/* Space on one core: the exact method beside multiparticle diffusion, A + B <-> C. */
#include "bench/lattices.h"

#include "bench/measure/conserved.h"
#include "core/status.h"

enum { N_TIMES = 11, N_TURNS = 3 };

/* A run of one trajectory. */
static saltus_status time_row(bench *b, const bench_table *t, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bench_lattice lattice = bench_lattice_of(t);
    saltus_model *model = NULL;
    saltus_totals totals = {0};
    const saltus_sink sink = saltus_totals_sink(&totals, false);
    const double until = bench_number(t, "until"), step = 1e-6 * lattice.step_us,
                 part = until / 100.0 > step ? until / 100.0 : step;
    saltus_run_report report = {0};
    double seconds = 0.0;
    int n_sums;
    bool is_kept;
    SALTUS_TRY(bench_lattice_model(b, &lattice, &model, err));
    const bench_ensemble e = {.model = model,
                              .device = b->cpu,
                              .method = bench_cell(t, "method"),
                              .n_threads = 1,
                              .until = b->quick ? part : until,
                              .n_times = N_TIMES,
                              .n = 1};
    for (int turn = 0; turn < (b->quick ? 1 : N_TURNS); ++turn) {
        SALTUS_TRY(bench_run(&e, &sink, &report, err));
        seconds = turn == 0 || report.seconds < seconds ? report.seconds : seconds;
    }
    SALTUS_TRY(saltus_conserved_check(model, &totals, &n_sums, &is_kept, err));
    const bool has_moves = report.moves > 0;
    bench_put(
        b, FIELD("model", lattice.name), FIELD("particles", lattice.particles),
        FIELD("method", e.method), FIELD("threads", e.n_threads), FIELD("simulated", e.until),
        FIELD("seconds", seconds), FIELD("simulated_per_second", e.until / seconds),
        FIELD("reactions", report.events), FIELD_IF(has_moves, "moves", report.moves),
        FIELD_IF(has_moves, "events_per_second", (double)(report.moves + report.events) / seconds));
    bench_end_checked(b, is_kept);
done:
    saltus_totals_free(&totals);
    saltus_model_destroy(model);
    return status;
}

saltus_status bench_lm_nsm(bench *b, saltus_error *err)
{
    return bench_each_row(b, b->name, time_row, err);
}
