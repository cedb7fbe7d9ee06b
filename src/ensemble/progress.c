#include "ensemble/progress.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/status.h"

static const double tell_every = 0.15; /* seconds, so that a look that is soon is left out */

enum { MANY_LOOKS = 25 }; /* some seconds */

saltus_status saltus_monitor_begin(saltus_monitor *m, const saltus_run_options *options,
                                   int n_workers, double start, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *m = (saltus_monitor){
        .options = options, .n_workers = n_workers, .start = start, .told_at = saltus_now()};
    m->reached = saltus_calloc((size_t)n_workers, sizeof *m->reached);
    SALTUS_NEED(m->reached);
done:
    return status;
}

void saltus_monitor_free(saltus_monitor *m)
{
    saltus_free(m->reached);
    m->reached = NULL;
}

/* Trajectories that are under way count with the part of their time that they have behind them.
 * Gives the sum of their times. */
static double add_unfinished(saltus_monitor *m, saltus_progress *p)
{
    double times = 0.0;
    for (int i = 0; i < m->n_workers; ++i) {
        double t;
        __atomic_load(&m->reached[i].t, &t, __ATOMIC_RELAXED);
        times += t;
        p->events += (int64_t)__atomic_load_n(&m->reached[i].fired, __ATOMIC_RELAXED);
    }
    p->fraction =
        ((double)p->trajectories + (p->until > 0.0 ? times / p->until : 0.0)) / (double)p->total;
    p->fraction = p->fraction < 1.0 ? p->fraction : 1.0; /* one may just have ended */
    p->fraction = m->fraction = p->fraction > m->fraction ? p->fraction : m->fraction;
    return times;
}

/* Where the total propensity is so large that a wait no longer changes the time, a trajectory that
 * feeds itself stalls: it never ends. A look may come between the two numbers that a worker writes,
 * and sees once that reactions fired at one time; not again and again. */
static bool is_to_warn(saltus_monitor *m, const saltus_progress *p, double t)
{
    const bool is_stalled = t == m->t && p->trajectories == m->last.trajectories;
    m->n_stalled = is_stalled ? m->n_stalled + (p->events != m->last.events) : 0;
    m->t = t;
    m->last = *p;
    return m->n_stalled == MANY_LOOKS && m->options->warn;
}

void saltus_monitor_look(saltus_monitor *m, int64_t n_finished, int64_t events,
                         pthread_mutex_t *lock)
{
    const saltus_run_options *o = m->options;
    saltus_progress p = {.trajectories = n_finished,
                         .total = o->n_trajectories,
                         .events = events,
                         .seconds = saltus_now() - m->start,
                         .until = o->times[o->n_times - 1]};
    const double t = add_unfinished(m, &p);
    const bool tells = o->progress && saltus_now() - m->told_at > tell_every;
    const bool warns = is_to_warn(m, &p, t);
    if (!tells && !warns) {
        return;
    }
    (void)pthread_mutex_unlock(lock);
    if (tells) {
        o->progress(o->progress_user, &p);
        m->told_at = saltus_now();
    }
    if (warns) {
        o->warn(o->warn_user, "time stands still: reactions fire for seconds, and no trajectory "
                              "gets further; propensities that grow without bound, as of a "
                              "reaction that feeds itself, never let it end");
    }
    (void)pthread_mutex_lock(lock);
}
