/* Method "auto": exact, unless leaps are much faster; never taken unless it is named. Device
 * "auto": the CPU, unless a GPU that is here will be done sooner. How much there is to simulate is
 * found out by simulating a little of it. */
#include "ensemble/pilot.h"

#include <math.h>
#include <string.h>

enum {
    PILOT_EVENTS = 1 << 14, /* that tell enough of a trajectory */
    PILOT_LEAPS = 1 << 11,
    PILOT_PARTS = 100, /* the first pilot takes 2^-100 of the time, whatever rates are */
    FEW = 256,         /* trajectories: too few to fill a GPU */
};
/* Seconds: what takes the CPU less never needs a GPU, and compiling for a lattice takes some. */
static const double worth_asking = 1.0, worth_asking_in_space = 5.0;

/* Steps of the first trajectory, reactions or leaps, from as long a part of it as is needed, or as
 * is simulated soon. Negative: it fails, or no part is. */
static double count_steps(const saltus_plan *plan, const saltus_run_options *run)
{
    const bool leaps = saltus_plan_method_ops(plan)->leaps;
    const int64_t enough = leaps ? PILOT_LEAPS : PILOT_EVENTS;
    double part = ldexp(1.0, -PILOT_PARTS), per_run = -1.0;
    for (int64_t steps = 0; steps < enough && part <= 1.0; part *= steps > 0 ? 2.0 : 1024.0) {
        const double until = run->times[run->n_times - 1] * part;
        saltus_run_report report = {0};
        const saltus_status status = saltus_pilot(plan, run, 1, until, 0.0, &report);
        if (status != SALTUS_OK) {
            return status == SALTUS_E_CANCELLED ? per_run : -1.0;
        }
        steps = leaps ? report.leaps : report.events;
        per_run = (double)steps / part;
    }
    return per_run;
}

/* ------------------------------------------------------------------------------------------------
 * Methods
 */

enum {
    PILOT_RUNS = 2,
    PILOT_STEPS = 50000,     /* leaps and exact steps of a small network, */
    PILOT_UPDATES = 1 << 24, /* fewer of one so large that they are this many propensities */
    PILOT_DOUBLINGS = 200,   /* from 10^-12 to 10^48: nothing happens that late */
    PILOT_SECONDS = 10,      /* far more than these steps take: the choice is no machine's */
};
/* A pilot begins with this time and doubles it, so that it ends soon whatever the rates are. */
static const double first_pilot = 1e-12;
/* Nanoseconds of a core, as bench/RESULTS.md has them for vector lanes; what counts is how they
 * compare: an exact event, a leap and an exact step between leaps, of so many reactions. */
static double exact_ns(double n)
{
    return n <= 64.0 ? 2.5 + 0.3 * n : 35.0 + 0.1 * n;
}
static double leap_ns(double n)
{
    return 20.0 + 15.0 * n;
}
static double single_ns(double n)
{
    return 15.0 + 0.7 * n;
}
static const double much_faster = 2.0;

/* Leap from time 0 until there are enough steps, or nothing happens any more, or a trajectory
 * fails: its time has not come in a run that ends earlier. False when not even the first stretch
 * can be simulated. */
static bool pilot_leaps(const saltus_plan *plan, saltus_run_report *pilot)
{
    const int64_t updates = PILOT_UPDATES / (plan->model->network->tables.n_reactions + 1) + 100;
    const int64_t enough = updates < PILOT_STEPS ? updates : PILOT_STEPS;
    double until = first_pilot;
    bool has_run = false;
    for (int i = 0; i < PILOT_DOUBLINGS && pilot->leaps + pilot->exact_steps < enough; ++i) {
        saltus_run_report report = {0};
        if (saltus_pilot(plan, NULL, PILOT_RUNS, until, PILOT_SECONDS, &report) != SALTUS_OK) {
            break;
        }
        *pilot = report;
        has_run = true;
        until *= 2.0;
    }
    return has_run;
}

saltus_method_choice saltus_method_choose(const saltus_model *model,
                                          const saltus_plan_options *options)
{
    saltus_method_choice choice = {.method = saltus_method_direct.name};
    saltus_plan_options wanted = saltus_plan_options_given(options);
    if (!model || !model->network) {
        (void)snprintf(choice.why, sizeof choice.why, "there is no frozen model");
        return choice;
    }
    const saltus_tables *t = &model->network->tables;
    const double n = t->n_reactions;
    saltus_backend *cpu = NULL;
    saltus_plan *plan = NULL;
    saltus_run_report pilot = {0};
    wanted.method = saltus_method_tau.name;
    wanted.layout = saltus_layout_of(SALTUS_LAYOUT_SCALAR)->name;
    wanted.rng = "philox";
    wanted.n_threads = 1;
    wanted.block = wanted.n_streams = 0;
    if (model->network->lattice) {
        choice.method = saltus_method_of(saltus_method_usual(model))->name;
        (void)snprintf(choice.why, sizeof choice.why, "the model has a lattice");
    } else if (t->n_rates > 0) {
        (void)snprintf(choice.why, sizeof choice.why, "no leaps: the model has %s",
                       model->network->follows_triggers ? "triggers that drift with time"
                                                        : "rate rules");
    } else if (t->watches_state) {
        (void)snprintf(choice.why, sizeof choice.why, "no leaps: events watch the state");
    } else if (saltus_backend_open("cpu", &cpu, NULL) == SALTUS_OK &&
               saltus_plan_create(model, cpu, &wanted, &plan, NULL) == SALTUS_OK &&
               pilot_leaps(plan, &pilot)) {
        const double exact = exact_ns(n) * (double)pilot.events;
        const double tau =
            leap_ns(n) * (double)pilot.leaps + single_ns(n) * (double)pilot.exact_steps;
        choice.method =
            tau * much_faster < exact ? saltus_method_tau.name : saltus_method_direct.name;
        (void)snprintf(choice.why, sizeof choice.why,
                       "by a pilot, two trajectories make %.3g reactions in %.3g leaps and %.3g "
                       "exact steps, about %.2g of the exact method's cost",
                       (double)pilot.events, (double)pilot.leaps, (double)pilot.exact_steps,
                       exact > 0.0 ? tau / exact : 1.0);
    } else {
        (void)snprintf(choice.why, sizeof choice.why, "no leaps: a pilot of them fails");
    }
    saltus_plan_destroy(plan);
    saltus_backend_close(cpu);
    return choice;
}

/* ------------------------------------------------------------------------------------------------
 * Backends
 */

static double estimate(const saltus_plan *plan, const saltus_run_options *run, double steps_each)
{
    const saltus_setup setup = saltus_plan_setup(plan);
    return plan->backend->ops->estimate(plan->backend, &setup, plan->n_workers,
                                        (double)run->n_trajectories, steps_each);
}

/* Seconds that the run takes this backend; infinity when it cannot do it, for which err has the
 * reason. steps_each: found out if it is negative. */
static double time_on(const saltus_backend *backend, const saltus_model *model,
                      const saltus_plan_options *options, const saltus_run_options *run,
                      double *steps_each, saltus_error *err)
{
    saltus_plan *plan = NULL;
    saltus_kernel_report kernel;
    double seconds = INFINITY;
    saltus_status status = saltus_plan_create(model, backend, options, &plan, err);
    if (status == SALTUS_OK && backend->ops->compile) {
        status = saltus_plan_compile(plan, &kernel, err);
    }
    if (status == SALTUS_OK && saltus_plan_method_ops(plan)->count_steps) {
        seconds = estimate(plan, run,
                           saltus_plan_method_ops(plan)->count_steps(model->network->lattice,
                                                                     run->times[run->n_times - 1]));
    } else if (status == SALTUS_OK) {
        *steps_each = *steps_each < 0.0 ? count_steps(plan, run) : *steps_each;
        /* a run that fails at once is the CPU's, which says why */
        seconds = *steps_each < 0.0 ? 0.0 : estimate(plan, run, *steps_each);
    }
    saltus_plan_destroy(plan);
    return seconds;
}

/* Whether nothing was asked for that one backend alone has. */
static bool is_free(const saltus_plan_options *o)
{
    return o->block == 0 && o->n_streams == 0 &&
           strcmp(o->layout, saltus_layout_of(SALTUS_LAYOUT_AUTO)->name) == 0;
}

/* The reason where both can do it: seconds on either, and what there is to do, unless n < 0. */
static void say_times(saltus_backend *chosen, bool is_gpu, double on_cpu, double on_gpu, double n,
                      const char *steps)
{
    char of[60] = "";
    if (n >= 0.0) {
        (void)snprintf(of, sizeof of, "; %.2g %s expected", n, steps);
    }
    (void)snprintf(chosen->why, sizeof chosen->why, "about %.2g s, %s about %.2g s%s",
                   is_gpu ? on_gpu : on_cpu, is_gpu ? "on the CPU" : "on the GPU",
                   is_gpu ? on_cpu : on_gpu, of);
}

saltus_status saltus_backend_choose(const saltus_model *model, const saltus_plan_options *options,
                                    const saltus_run_options *run, saltus_backend **out,
                                    saltus_error *err)
{
    if (!model || !run || !out) {
        return saltus_no_argument(err, __func__);
    }
    if (!model->network) {
        return saltus_error_set(err, SALTUS_E_INVALID, "model '%s' is not frozen", model->name);
    }
    saltus_status status = SALTUS_OK;
    saltus_plan_options o = saltus_plan_options_given(options);
    o.n_expected = run->n_trajectories;
    saltus_backend *cpu = NULL, *gpu = NULL;
    saltus_error no_cpu = {0}, no_gpu = {0};
    double steps = -1.0;
    SALTUS_TRY(saltus_backend_open("cpu", &cpu, err));
    const bool in_space = model->network->lattice != NULL;
    saltus_method method = saltus_method_usual(model); /* which `auto`, and what is wrong, stays */
    (void)(o.method && saltus_method_find(o.method, &method));
    const bool few = in_space ? !(saltus_backend_cuda.methods & SALTUS_METHOD_BIT(method))
                              : run->n_trajectories < FEW;
    const bool alike = method == SALTUS_METHOD_ODE;
    const double on_cpu =
        (few || alike) && is_free(&o) ? 0.0 : time_on(cpu, model, &o, run, &steps, &no_cpu);
    if (on_cpu < (in_space ? worth_asking_in_space : worth_asking)) {
        (void)snprintf(cpu->why, sizeof cpu->why, "%s",
                       few && in_space ? "the method is the CPU's alone"
                       : alike         ? "without chance all trajectories are alike"
                       : few           ? "too few trajectories for a GPU"
                       : in_space      ? "done within seconds"
                       : steps < 0.0   ? "the first trajectory does not go far"
                                       : "done within a second");
    } else if (saltus_backend_open("cuda", &gpu, &no_gpu) != SALTUS_OK) {
        (void)snprintf(cpu->why, sizeof cpu->why, "no GPU: %.140s", no_gpu.message);
    } else {
        const double on_gpu = time_on(gpu, model, &o, run, &steps, &no_gpu);
        saltus_backend *chosen = on_gpu < on_cpu ? gpu : cpu;
        if (isinf(on_cpu) && isinf(on_gpu)) {
            if (err) {
                *err = no_gpu;
            }
            status = no_gpu.code;
            goto done;
        }
        if (isinf(on_cpu)) {
            (void)snprintf(gpu->why, sizeof gpu->why, "as asked");
        } else if (isinf(on_gpu)) {
            (void)snprintf(cpu->why, sizeof cpu->why, "not the GPU: %.140s", no_gpu.message);
        } else {
            const double n = in_space ? -1.0 : steps * (double)run->n_trajectories;
            say_times(chosen, chosen == gpu, on_cpu, on_gpu, n, saltus_method_of(method)->steps);
        }
        if (chosen == gpu) {
            *out = gpu;
            gpu = NULL;
            goto done;
        }
    }
    *out = cpu;
    cpu = NULL;
done:
    saltus_backend_close(cpu);
    saltus_backend_close(gpu);
    return status;
}
