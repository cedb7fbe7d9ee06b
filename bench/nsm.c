/* Space on one core: the exact method beside multiparticle diffusion, A + B <-> C. */
#include "bench/bench.h"

#include "core/memory.h"
#include "core/status.h"

#include <string.h>

enum { N_POINTS = 11, N_TURNS = 3, N_SPECIES = 3 };

/* A run of one trajectory. */
typedef struct lattice_case {
    const char *method;
    int64_t particles; /* A and B together, at first */
    double until;      /* s */
} lattice_case;

/* examples/abc-lattice.yaml, with other numbers of particles. */
static saltus_status make_model(int64_t particles, saltus_model **m, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char text[600];
    (void)snprintf(text, sizeof text,
                   "model: abc-lattice\nspecies: {A: %lld, B: %lld, C: 0}\n"
                   "reactions: {bind: A + B -> C, part: C -> A + B}\n"
                   "lattice:\n  size: [64, 64, 64]\n  spacing: 16 nm\n  step: 50 us\n"
                   "  faces: reflecting\n  diffusion: {A: 1 um2/s, B: 1 um2/s, C: 1 um2/s}\n"
                   "  reactions: {bind: 1e6 1/(M s), part: 1 1/s}\n",
                   (long long)(particles / 2), (long long)(particles / 2));
    SALTUS_TRY(saltus_model_parse_yaml(text, strlen(text), "abc-lattice", m, err));
    SALTUS_TRY(saltus_model_freeze(*m, SALTUS_LAW_LITERAL, err));
done:
    return status;
}

/* Whether A + C and B + C are kept, to the last particle. */
typedef struct sums {
    int64_t expected;
    bool are_kept;
} sums;

static saltus_status look(void *user, const saltus_block *block, void *prepared, saltus_error *err)
{
    sums *s = user;
    (void)prepared;
    (void)err;
    for (int64_t i = 0; i < block->n_trajectories * block->n_points; ++i) {
        const int64_t *x = block->counts + i * N_SPECIES;
        s->are_kept &= x[0] + x[2] == s->expected && x[1] + x[2] == s->expected;
    }
    return SALTUS_OK;
}

static saltus_status time_case(saltus_bench *b, const lattice_case *c, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    saltus_plan *plan = NULL;
    double times[N_POINTS], seconds = 0.0;
    sums s = {c->particles / 2, true};
    const saltus_sink sink = {.user = &s, .deliver = look};
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_run_options run = saltus_run_options_default();
    saltus_run_report report;
    const double until = b->quick ? c->until / 100.0 : c->until;
    for (int i = 0; i < N_POINTS; ++i) {
        times[i] = until * i / (N_POINTS - 1);
    }
    wanted.method = c->method;
    wanted.n_threads = 1;
    run.times = times;
    run.n_times = N_POINTS;
    SALTUS_TRY(make_model(c->particles, &m, err));
    SALTUS_TRY(saltus_plan_create(m, b->cpu, &wanted, &plan, err));
    for (int turn = 0; turn < (b->quick ? 1 : N_TURNS); ++turn) {
        SALTUS_TRY(saltus_run(plan, &run, &sink, &report, err));
        seconds = turn == 0 || report.seconds < seconds ? report.seconds : seconds;
    }
    printf("{\"bench\": \"%s\", \"model\": \"abc-lattice\", \"particles\": %lld, \"method\": "
           "\"%s\", \"threads\": 1, \"simulated\": %.4g, \"seconds\": %.4g, "
           "\"simulated_per_second\": %.4g, \"reactions\": %lld",
           b->name, (long long)c->particles, c->method, until, seconds, until / seconds,
           (long long)report.events);
    if (report.moves > 0) {
        printf(", \"moves\": %lld, \"events_per_second\": %.4g", (long long)report.moves,
               (double)(report.moves + report.events) / seconds);
    }
    printf(", \"check\": \"%s\"}\n", s.are_kept ? "ok" : "failed");
    (void)fflush(stdout);
    b->has_failed |= !s.are_kept;
done:
    saltus_plan_destroy(plan);
    saltus_model_destroy(m);
    return status;
}

saltus_status saltus_bench_lm_nsm(saltus_bench *bench, saltus_error *err)
{
    static const lattice_case cases[] = {
        {"nsm", 2000, 0.5},   {"mpd", 2000, 0.5},     {"nsm", 40000, 0.02},
        {"mpd", 40000, 0.02}, {"nsm", 400000, 0.001}, {"mpd", 400000, 0.001},
    };
    saltus_status status = SALTUS_OK;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        SALTUS_TRY(time_case(bench, &cases[i], err));
    }
done:
    return status;
}
