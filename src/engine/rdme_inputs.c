/* Parameters with rate rules on a lattice: they follow the time alone, so they are integrated once,
 * before anything moves, and every step reads their values at its middle. */
#include "core/memory.h"
#include "engine/rdme.h"
#include "engine/scalar.h"
#include "model/network/network.h"

#include <math.h>

/* What is below 0 by no more absolute tolerances than this is 0. Errors of many steps add up, and
 * what decays would be no propensity sooner or later. */
static const double most_below = 1000.0;

/* Values of a run, at most: 256 MiB. */
static const int64_t most_values = (int64_t)1 << 25;

int64_t saltus_mpd_step_at(const saltus_mpd_tables *tables, double time)
{
    return (int64_t)floor(saltus_lattice_steps_until(tables->m.step, time));
}

/* Steps until the last sample and the last frame. */
static int64_t count_steps(const saltus_mpd_tables *s, const saltus_task *task)
{
    const int64_t n_frames = task->space.n_frames;
    const double of_frames = n_frames > 0 ? task->space.frame_times[n_frames - 1] : 0.0;
    return saltus_mpd_step_at(s, fmax(task->times[task->n_times - 1], of_frames));
}

/* The well-mixed part without all that counts: its mean field is the parameters alone. */
static saltus_tables parameters_alone(const saltus_tables *t)
{
    saltus_tables alone = *t;
    alone.n_species = alone.n_reactions = alone.n_rules = 0;
    return alone;
}

/* Fill inputs[n][rate]. Columns are the parameters, times the middles of steps. */
static saltus_status integrate(saltus_mpd_tables *s, const saltus_task *task,
                               const saltus_columns *columns, const double *times, int64_t n,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables tables = parameters_alone(s->of);
    const double no_amounts[1] = {0.0};
    const saltus_task alone = {.model = task->model,
                               .tables = &tables,
                               .columns = columns,
                               .generator = task->generator,
                               .method = SALTUS_METHOD_ODE,
                               .amounts = no_amounts,
                               .tolerance = task->tolerance,
                               .times = times,
                               .n_times = n,
                               .stop = task->stop};
    saltus_job job = {.observables = s->inputs};
    saltus_scalar_engine *scalar = NULL;
    SALTUS_TRY(saltus_scalar_create(&alone, saltus_instruction_set_widest(), &scalar, err));
    SALTUS_TRY(saltus_scalar_run_job(scalar, &alone, &job, err));
done:
    saltus_scalar_destroy(scalar, &alone);
    return status;
}

saltus_status saltus_mpd_follow_rates(saltus_mpd_tables *s, const saltus_task *task,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int32_t n_rates = s->of->n_rates;
    const int64_t n = n_rates > 0 ? count_steps(s, task) : 0;
    saltus_observable *observables = NULL;
    double *times = NULL;
    if (n == 0) {
        return SALTUS_OK;
    }
    if (n > most_values / n_rates) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "%lld steps of a lattice and %d rate rule%s: a run keeps the values of all "
                    "steps, at most %lld",
                    (long long)n, n_rates, n_rates == 1 ? "" : "s", (long long)most_values);
    }
    s->inputs = saltus_calloc((size_t)(n * n_rates), sizeof *s->inputs);
    times = saltus_calloc((size_t)n, sizeof *times);
    observables = saltus_calloc((size_t)n_rates, sizeof *observables);
    SALTUS_NEED(s->inputs && times && observables);
    s->m.inputs = s->inputs;
    s->n_inputs = n * n_rates;
    for (int i = 0; i < n_rates; ++i) {
        observables[i] = (saltus_observable){s->of->rate_rows[i], -1, 0.0, 1.0};
    }
    for (int64_t k = 0; k < n; ++k) {
        times[k] = ((double)k + 0.5) * s->m.step; /* as kernel/rdme/react.h has it */
    }
    const saltus_columns columns = {.n_observables = n_rates, .observables = observables};
    SALTUS_TRY(integrate(s, task, &columns, times, n, err));
    for (int64_t i = 0; i < s->n_inputs; ++i) {
        const bool is_none =
            s->inputs[i] < 0.0 && s->inputs[i] >= -most_below * task->tolerance->atol;
        s->inputs[i] = is_none ? 0.0 : s->inputs[i];
    }
done:
    saltus_free(times);
    saltus_free(observables);
    return status;
}
