/* Saltus from C: build a model by calls, run it, take the samples as they come.
 *
 * Molecules arrive at the rate k and each leaves at the rate g. From none, their number at time t
 * has Poisson's distribution with mean m = k/g (1 - exp(-g t)): here 39.27, standard
 * deviation 6.27. */
#include <saltus/saltus.h>

#include <math.h>
#include <stdio.h>

/* What the sink below keeps: exact sums over all trajectories. */
typedef struct sums {
    int64_t n, x, xx;
} sums;

/* Called with blocks of trajectories, by rising number, one at a time. */
static saltus_status add_block(void *user, const saltus_block *block, void *prepared,
                               saltus_error *err)
{
    sums *s = user;
    (void)prepared;
    (void)err;
    for (int64_t i = 0; i < block->n_trajectories; ++i) {
        const int64_t last = ((i + 1) * block->n_points - 1) * block->n_counts;
        const int64_t x = block->counts[last]; /* the first, and only, species */
        s->n += 1;
        s->x += x;
        s->xx += x * x;
    }
    return SALTUS_OK;
}

int main(void)
{
    saltus_error err = {0}; /* keeps the first failure; the calls after it are not made */
    saltus_model *model = NULL;
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_run_report report = {0};
    sums s = {0};

    const double times[] = {8.0};
    saltus_run_options run = saltus_run_options_default();
    run.seed = 1;
    run.n_trajectories = 1000;
    run.times = times;
    run.n_times = 1;
    const saltus_plan_options wanted = saltus_plan_options_default();
    const saltus_sink sink = {.user = &s, .deliver = add_block};

    const bool done = !saltus_model_create("arrive and leave", &model, &err) &&
                      !saltus_model_add_species(model, "X", 0.0, &err) &&
                      !saltus_model_add_parameter(model, "k", 20.0, &err) &&
                      !saltus_model_add_parameter(model, "g", 0.5, &err) &&
                      !saltus_model_add_reaction(model, "arrive", "0 -> X", "k", &err) &&
                      !saltus_model_add_reaction(model, "leave", "X -> 0", "g", &err) &&
                      !saltus_model_freeze(model, SALTUS_LAW_LITERAL, &err) &&
                      !saltus_backend_open("auto", &backend, &err) &&
                      !saltus_plan_create(model, backend, &wanted, &plan, &err) &&
                      !saltus_run(plan, &run, &sink, &report, &err);
    if (done) {
        const double n = (double)s.n, mean = (double)s.x / n;
        const double variance = ((double)s.xx - n * mean * mean) / (n - 1.0);
        printf("%s: %lld trajectories, %lld events\n", saltus_backend_name(backend),
               (long long)report.trajectories, (long long)report.events);
        printf("X at time %g: mean %.2f, sd %.2f\n", times[0], mean, sqrt(variance));
    } else {
        fprintf(stderr, "%s%s%s\n", err.message, *err.hint ? "\n" : "", err.hint);
    }
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    saltus_model_destroy(model);
    return done ? 0 : 1;
}
