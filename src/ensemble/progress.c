#include "ensemble/progress.h"
#include "core/clock.h"
#include "core/memory.h"
#include "core/status.h"

#include <math.h>

static const double tell_every = 0.15; /* seconds, so that a look that is soon is left out */

enum { MANY_LOOKS = 25 }; /* some seconds */

static const double standing = 1e-12; /* of the time that is simulated, within a look: years */

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
 * Gives the sum of their times, and how often workers told theirs. */
static double add_unfinished(saltus_monitor *m, saltus_progress *p, uint64_t *written)
{
    double times = 0.0;
    *written = 0;
    for (int i = 0; i < m->n_workers; ++i) {
        double t;
        __atomic_load(&m->reached[i].t, &t, __ATOMIC_RELAXED);
        times += t;
        p->events += (int64_t)__atomic_load_n(&m->reached[i].fired, __ATOMIC_RELAXED);
        *written += __atomic_load_n(&m->reached[i].written, __ATOMIC_RELAXED);
    }
    p->fraction =
        ((double)p->trajectories + (p->until > 0.0 ? times / p->until : 0.0)) / (double)p->total;
    p->fraction = p->fraction < 1.0 ? p->fraction : 1.0; /* one may just have ended */
    p->fraction = m->fraction = p->fraction > m->fraction ? p->fraction : m->fraction;
    return times;
}

/* Where the total propensity is so large that a wait changes the time no longer, or by next to
 * nothing, a trajectory that feeds itself stalls, or one whose reactions lack reactants: it never
 * ends. A look may come between the numbers that a worker writes, and sees once that it went on at
 * one time; not again and again. */
static bool is_to_warn(saltus_monitor *m, const saltus_progress *p, double t, uint64_t written)
{
    const bool is_stalled =
        fabs(t - m->t) <= standing * p->until && p->trajectories == m->n_finished;
    m->n_stalled = is_stalled ? m->n_stalled + (written != m->written) : 0;
    m->t = t;
    m->written = written;
    m->n_finished = p->trajectories;
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
    uint64_t written;
    const double t = add_unfinished(m, &p, &written);
    const bool tells = o->progress && saltus_now() - m->told_at > tell_every;
    const bool warns = is_to_warn(m, &p, t, written);
    if (!tells && !warns) {
        return;
    }
    (void)pthread_mutex_unlock(lock);
    if (tells) {
        o->progress(o->progress_user, &p);
        m->told_at = saltus_now();
    }
    if (warns) {
        o->warn(o->warn_user,
                "time stands still: event follows event for seconds, and no trajectory "
                "gets further; propensities that grow without bound, as of a "
                "reaction that feeds itself, never let it end");
    }
    (void)pthread_mutex_lock(lock);
}
