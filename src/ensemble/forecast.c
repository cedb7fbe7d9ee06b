/* What a run will take, reckoned by a pilot: a trajectory of its own, of which nothing is kept. It
 * leaps, also where the run does not, so that it comes far in the model's time; it counts the
 * reactions all the same. */
#include "core/clock.h"
#include "ensemble/pilot.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Of the time, the pilot's first part; shorter ones where that is too much. */
static const double first_part = 0x1p-30, shortest_part = 0x1p-1020;
static const double enough = 4096.0;      /* steps that tell a short run from a long one */
static const double few = 256.0;          /* that do where they have come far */
static const double short_run = 1e8;      /* so many steps take no hour, reactions no minute */
static const double many_molecules = 1e4; /* of which there are enough to do with fewer */
static const double stopped = 0.05;       /* s, a quarter of what a try may last */

/* What happened up to a time, and from the part before it to this one. */
typedef struct pilot {
    double events, leaps, exact_steps; /* per time, in the last stretch */
    double mean_before;                /* events per time up to that stretch */
    double until;
    saltus_run_report last;
} pilot;

/* Seconds of the processor so far. */
static double processor_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static double steps_of(const saltus_run_report *r)
{
    return (double)(r->leaps > 0 || r->exact_steps > 0 ? r->leaps + r->exact_steps : r->events);
}

static bool try_until(const saltus_plan *plan, double until, pilot *p)
{
    saltus_run_report report = {0};
    if (saltus_pilot(plan, NULL, 1, until, 0.0, &report) != SALTUS_OK) {
        return false;
    }
    const double length = until - p->until;
    p->mean_before = p->until > 0.0 ? (double)p->last.events / p->until : 0.0;
    /* the next part may have been stopped earlier */
    p->events = fmax(0.0, (double)(report.events - p->last.events)) / length;
    p->leaps = fmax(0.0, (double)(report.leaps - p->last.leaps)) / length;
    p->exact_steps = fmax(0.0, (double)(report.exact_steps - p->last.exact_steps)) / length;
    p->until = until;
    p->last = report;
    return true;
}

/* The same; again where a busy machine ended a try that had hardly begun. */
static bool arrive(const saltus_plan *plan, double until, pilot *p)
{
    for (int tries = 0; tries < 4; ++tries) {
        const double start = processor_seconds();
        if (try_until(plan, until, p)) {
            return true;
        }
        if (processor_seconds() - start > stopped) {
            return false;
        }
    }
    return false;
}

/* Whether what has happened so far tells, in proportion, that the run takes no hour: few steps do
 * if they have come to a quarter of the time, no more happens than before, and nothing yet was
 * too far. */
static bool is_short(const pilot *p, double t_end, double n_trajectories, bool all_arrived)
{
    const double steps = steps_of(&p->last), events = (double)p->last.events;
    const double share = t_end / p->until * n_trajectories;
    return (steps >= enough && steps * share < short_run) ||
           (steps >= few && all_arrived && t_end <= 4.0 * p->until && events * share < short_run &&
            events < 2.0 * p->mean_before * p->until);
}

/* Longer and longer parts: until the end, until a short run is known to be one, or as far as the
 * time goes. */
static bool pilot_run(const saltus_plan *plan, double t_end, double n_trajectories, pilot *p)
{
    double part = first_part, factor = 256.0, too_far = HUGE_VAL;
    while (p->until < t_end) {
        const double until = part < 1.0 ? t_end * part : t_end;
        const double before = steps_of(&p->last);
        if (until >= too_far) {
            break;
        }
        if (!(until > p->until)) { /* a time so short that it has no parts */
            part *= factor;
        } else if (arrive(plan, until, p)) {
            if (is_short(p, t_end, n_trajectories, too_far == HUGE_VAL)) {
                break;
            }
            factor = steps_of(&p->last) >= few && factor > 4.0 ? 4.0 : factor;
            part *= factor;
        } else if (p->until == 0.0 && part > shortest_part) {
            part = fmax(part * part, shortest_part);
        } else if (p->until > 0.0 && before < enough && factor > 2.0) {
            too_far = until;
            part /= factor; /* much begins to happen there: come nearer to it */
            factor = 2.0;
            part *= factor;
        } else {
            break;
        }
    }
    return p->until > 0.0;
}

/* A plan of some method on the CPU that serves to look ahead. */
static bool open_pilot(const saltus_plan *plan, const saltus_method_ops *method,
                       saltus_backend **cpu, saltus_plan **out)
{
    saltus_plan_options wanted = saltus_plan_options_default();
    wanted.method = method->name;
    wanted.layout = saltus_layout_of(SALTUS_LAYOUT_SCALAR)->name;
    wanted.n_threads = 1;
    if (saltus_plan_method_ops(plan)->leaps) {
        wanted.epsilon = plan->tau.epsilon;
        wanted.n_critical = (int)plan->tau.n_critical;
        wanted.n_exact = (int)plan->tau.n_exact;
    }
    if (method->is_timed) {
        wanted.rtol = plan->tolerance.rtol;
        wanted.atol = plan->tolerance.atol;
    }
    return saltus_backend_open("cpu", cpu, NULL) == SALTUS_OK &&
           saltus_plan_create(plan->model, *cpu, &wanted, out, NULL) == SALTUS_OK;
}

static double estimate(const saltus_plan *plan, saltus_method method, double n_trajectories,
                       double steps)
{
    saltus_setup setup = saltus_plan_setup(plan);
    setup.method = method;
    /* lanes are filled by many trajectories alone */
    if (setup.layout == SALTUS_LAYOUT_LANES && n_trajectories < 4.0 * plan->n_workers) {
        setup.layout = SALTUS_LAYOUT_SCALAR;
    }
    return plan->backend->ops->estimate(plan->backend, &setup, plan->n_workers, n_trajectories,
                                        steps);
}

/* ------------------------------------------------------------------------------------------------
 * What would help
 */

static void add(saltus_forecast *f, const char *text)
{
    const size_t used = strlen(f->advice);
    (void)snprintf(f->advice + used, sizeof f->advice - used, "%s%s", used > 0 ? ", " : "", text);
}

/* Fewer molecules, where there is a way to have them. */
static void advise_fewer(const saltus_model *m, saltus_forecast *f)
{
    double most = 0.0;
    int n = 0, last = -1;
    char text[200];
    for (size_t i = 0; i < m->n_variables; ++i) {
        const saltus_binding *b = &m->network->bindings[i];
        if (m->variables[i].kind == SALTUS_KIND_SPECIES && b->role == SALTUS_ROLE_COUNT) {
            most = fmax(most, b->value);
        }
        if (m->variables[i].kind == SALTUS_KIND_COMPARTMENT && !m->variables[i].rule) {
            ++n;
            last = (int)i;
        }
    }
    if (most < many_molecules) {
        return;
    }
    const double factor = 1000.0 / most;
    if (m->has_moles) {
        (void)snprintf(text, sizeof text, "`molecules_per_mole %.4g`", m->mole * factor);
        add(f, text);
    } else if (n == 1) {
        (void)snprintf(text, sizeof text, "`volume %.100s=%.4g`", m->variables[last].id,
                       m->network->bindings[last].value * factor);
        add(f, text);
    } else if (n > 1) {
        add(f, "smaller `volume`");
    }
}

static void advise(const saltus_plan *plan, double n_trajectories, bool leaps_help,
                   saltus_forecast *f)
{
    const bool in_space = saltus_plan_method_ops(plan)->in_space;
    const bool could_move = plan->backend->ops == &saltus_backend_cpu &&
                            saltus_backend_cuda.methods & SALTUS_METHOD_BIT(plan->method);
    if (leaps_help) {
        add(f, "`method tau`");
    }
    if (in_space) {
        add(f, "fewer and larger sites");
    } else {
        advise_fewer(plan->model, f);
    }
    if (n_trajectories > 1.0) {
        add(f, "fewer trajectories");
    }
    if (could_move && (in_space || n_trajectories >= 256.0)) {
        add(f, "a GPU");
    }
    if (!f->advice[0]) {
        add(f, "an earlier end");
    }
}

/* ------------------------------------------------------------------------------------------------
 * The whole
 */

/* Steps are known beforehand. */
static void forecast_known(const saltus_plan *plan, double t_end, double n_trajectories,
                           saltus_forecast *f)
{
    const saltus_method_ops *method = saltus_plan_method_ops(plan);
    const double steps = method->count_steps(plan->model->network->lattice, t_end);
    f->n = steps * n_trajectories;
    f->of = method->steps;
    f->seconds = estimate(plan, plan->method, n_trajectories, steps);
    advise(plan, n_trajectories, false, f);
}

static void forecast_by_pilot(const saltus_plan *plan, double t_end, double n_trajectories,
                              saltus_forecast *f)
{
    const bool is_leaping = saltus_plan_method_ops(plan)->leaps;
    const bool may_leap = !plan->model->network->tables.watches_state;
    saltus_backend *cpu = NULL;
    saltus_plan *ahead = NULL;
    pilot p = {0};
    bool leaps = may_leap;
    bool known =
        open_pilot(plan, leaps ? &saltus_method_tau : &saltus_method_direct, &cpu, &ahead) &&
        pilot_run(ahead, t_end, n_trajectories, &p);
    if (!known && leaps && !is_leaping) {
        saltus_plan_destroy(ahead);
        saltus_backend_close(cpu);
        ahead = NULL;
        cpu = NULL;
        p = (pilot){0};
        leaps = false;
        known = open_pilot(plan, &saltus_method_direct, &cpu, &ahead) &&
                pilot_run(ahead, t_end, n_trajectories, &p);
    }
    if (known) {
        const double rest = t_end - p.until;
        const double events = (double)p.last.events + p.events * rest;
        const double n_leaps = (double)p.last.leaps + p.leaps * rest;
        const double exact_steps = (double)p.last.exact_steps + p.exact_steps * rest;
        const double by_leaps = estimate(plan, SALTUS_METHOD_TAU, n_trajectories, n_leaps) +
                                estimate(plan, SALTUS_METHOD_DIRECT, n_trajectories, exact_steps);
        const double exactly = estimate(plan, SALTUS_METHOD_DIRECT, n_trajectories, events);
        f->n = events * n_trajectories;
        f->of = saltus_method_direct.steps;
        f->seconds = is_leaping ? by_leaps : exactly;
        advise(plan, n_trajectories, leaps && !is_leaping && 2.0 * by_leaps < exactly, f);
    }
    saltus_plan_destroy(ahead);
    saltus_backend_close(cpu);
}

/* Seconds of the processor until a time, the least of some tries if the first ones take long: a
 * busy machine may make a moment of nothing last, and end a try that had hardly begun. Negative: it
 * does not go so far. */
static double time_until(const saltus_plan *plan, double until, double long_enough)
{
    double least = HUGE_VAL;
    for (int tries = 0; tries < 4 && !(least < long_enough); ++tries) {
        const double start = processor_seconds();
        pilot p = {0};
        const bool arrives = try_until(plan, until, &p);
        const double own = processor_seconds() - start;
        if (!arrives && own > stopped) {
            return -1.0;
        }
        least = arrives ? fmin(least, own) : least;
    }
    return least < HUGE_VAL ? least : -1.0;
}

/* What parts of a trajectory took that were tried: the first, which sets up and hardly begins, and
 * the last two. */
typedef struct parts {
    double first, before, last; /* s */
    double length, ratio;       /* of the last one, and to the one before */
    int n;
} parts;

/* What all of a trajectory takes. Steps become longer where the system comes to rest, so that it
 * may be much less than in proportion: seconds go on to grow by the power of time by which they
 * have grown between the last two parts, without what setting up takes, unless that is most of it.
 */
static double extrapolate(const parts *p, double t_end)
{
    const double start = p->last > 3.0 * p->first ? p->first : 0.0;
    const double before = p->before - start, last = p->last - start;
    const double power = p->n > 1 && before > 0.0 ? log(last / before) / log(p->ratio) : 1.0;
    return start + last * pow(t_end / p->length, fmax(0.0, fmin(power, 1.0)));
}

/* Seconds that a trajectory takes a core, from parts of one; 0: it does not go far. */
static double try_parts(const saltus_plan *plan, double t_end, double n_trajectories)
{
    const double long_enough = 0.02, most = 0.4, soon = 100.0;
    double begun = processor_seconds();
    double part = first_part;
    parts p = {0};
    while (p.length < t_end && processor_seconds() - begun < most) {
        const double until = part < 1.0 ? t_end * part : t_end;
        if (until > 0.0) {
            const double own = time_until(plan, until, long_enough);
            if (own < 0.0 && p.n == 0 && part > shortest_part) {
                part = fmax(part * part, shortest_part);
                begun = processor_seconds();
                continue;
            }
            if (own < 0.0) {
                break;
            }
            p.first = p.n == 0 ? own : fmin(p.first, own);
            p.before = p.last;
            p.last = own;
            p.ratio = until / fmax(p.length, 0x1p-1000);
            p.length = until;
            ++p.n;
            if (own >= long_enough && own / until * t_end * n_trajectories < soon) {
                break; /* even in proportion */
            }
        }
        part *= 8.0;
    }
    return p.n > 0 ? extrapolate(&p, t_end) : 0.0;
}

/* Steps of integration follow from the course of a trajectory alone: what they take is tried. */
static void forecast_by_trying(const saltus_plan *plan, double t_end, double n_trajectories,
                               saltus_forecast *f)
{
    const saltus_method_ops *method = saltus_plan_method_ops(plan);
    saltus_backend *cpu = NULL;
    saltus_plan *ahead = NULL;
    const bool is_here = plan->backend->ops->kind == SALTUS_ON_CPU;
    if (is_here || open_pilot(plan, method, &cpu, &ahead)) {
        const double seconds = try_parts(is_here ? plan : ahead, t_end, n_trajectories);
        const double step = method->core_ns(&plan->model->network->tables, NULL, false);
        if (seconds > 0.0) {
            f->n = n_trajectories;
            f->of = n_trajectories == 1.0 ? "trajectory" : "trajectories";
            f->seconds = estimate(plan, plan->method, n_trajectories, 1e9 * seconds / step);
            advise(plan, n_trajectories, false, f);
        }
    }
    saltus_plan_destroy(ahead);
    saltus_backend_close(cpu);
}

saltus_forecast saltus_run_forecast(const saltus_plan *plan, const saltus_run_options *run)
{
    saltus_forecast f = {.of = saltus_method_direct.steps};
    saltus_error err = {0};
    if (!plan || !run || saltus_run_options_check(plan, run, &err) != SALTUS_OK) {
        return f;
    }
    const double t_end = run->times[run->n_times - 1];
    if (!(t_end > 0.0)) {
        return f;
    }
    if (saltus_plan_method_ops(plan)->count_steps) {
        forecast_known(plan, t_end, (double)run->n_trajectories, &f);
    } else if (saltus_plan_method_ops(plan)->is_timed || plan->model->network->tables.n_rates > 0) {
        forecast_by_trying(plan, t_end, (double)run->n_trajectories, &f);
    } else {
        forecast_by_pilot(plan, t_end, (double)run->n_trajectories, &f);
    }
    return f;
}
