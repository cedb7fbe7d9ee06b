/* Reactions that end a step, in all lanes together: as saltus_ode_fire does it, to the same bits.
 * Lanes in which something is rare are left to their engines. A part of rates.c, which includes it.
 */
#ifndef SALTUS_BACKEND_CPU_FIRING_H
#define SALTUS_BACKEND_CPU_FIRING_H

/* Whether reactions can fire in lanes: these recompute all propensities, and nothing may follow
 * from counts but propensities and triggers. */
static bool fires_in_lanes(const saltus_tables *n)
{
    return n->n_reactions > 0 && n->n_reactions <= SALTUS_LANES_MAX_REACTIONS &&
           (double)n->largest_change < saltus_lanes_most_change && n->n_delayed == 0 &&
           !saltus_cpu_follows_times(n);
}

/* Number the propensities that move, and give each its place. */
static void prepare_firing(lane_group *c, saltus_f64 *given, saltus_f64 *counts)
{
    const saltus_tables *n = c->slopes.n;
    for (int r = 0; r < SALTUS_LANES_MAX_REACTIONS; ++r) {
        c->moving_of[r] = -1;
    }
    for (int i = 0; i < n->n_moving_laws; ++i) {
        c->moving_of[n->moving_laws[i]] = i;
    }
    c->lanes.given_of = c->moving_of;
    c->lanes.given = given;
    c->lanes.counts = counts;
}

/* The propensities that move, at `end`, where the state is in memory.e: one below 0 counts 0.
 * Returns the lanes where one is not a number. */
static saltus_mask move_to(lane_group *c, saltus_f64 end)
{
    const saltus_tables *n = c->slopes.n;
    const saltus_f64 *v = c->slopes.v;
    saltus_mask odd = SALTUS_AS_I64(end) & 0;
    run_motion(&c->slopes, end, c->memory.e);
    for (int i = 0; i < n->n_moving_laws; ++i) {
        saltus_mask bad = odd & 0;
        const saltus_f64 zero = saltus_splat(0.0);
        const saltus_f64 a =
            saltus_lanes_checked(n, v, n->moving_laws[i], v[n->motion_rows[n->n_rates + i]], &bad);
        odd |= SALTUS_NE(a, a);
        c->lanes.given[i] = saltus_select(SALTUS_LE(zero, a), a, zero);
    }
    return odd;
}

/* The sum of the propensities that do not move, once counts have changed in the lanes of `fired`.
 * Where one is no propensity the engine knows whether that is a failure. */
static saltus_status sum_still(lane_group *c, saltus_mask fired, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *n = c->slopes.n;
    saltus_mask odd = fired & 0;
    for (int i = 0; i < n->n_moving_laws; ++i) {
        c->lanes.given[i] = saltus_splat(0.0);
    }
    saltus_lanes_run_rules(n, c->slopes.v);
    c->slopes.still = saltus_select(fired, saltus_lanes_sum(n, &c->lanes, &odd), c->slopes.still);
    for (uint64_t bits = saltus_bits(odd & fired); SALTUS_RARE(bits) && status == SALTUS_OK;) {
        const int l = next_lane(&bits);
        catch_up(c, l);
        if (c->scalars[l]->trajectory.failure != SALTUS_FINE) {
            status = end_lane(c, l, err);
        }
    }
    return status;
}

/* Choose reactions in the lanes of `lanes` at their times `end`, where the state is in memory.e,
 * and fire them. Returns the lanes in which that is done; in the others nothing has changed. */
static saltus_mask fire_lanes(lane_group *c, saltus_mask lanes, saltus_f64 end)
{
    const saltus_tables *n = c->slopes.n;
    saltus_lanes *b = &c->lanes;
    const saltus_f64 *v = c->slopes.v;
    saltus_mask missed, odd = move_to(c, end);
    saltus_lanes_note(n, b);
    for (int s = 0; s < n->n_species; ++s) {
        odd |= SALTUS_LT(saltus_splat(saltus_lanes_largest), v[s]);
    }
    const saltus_f64 total = saltus_lanes_sum(n, b, &odd);
    saltus_lanes_place(b, 0, total);
    odd |= ~(SALTUS_LT(saltus_splat(0.0), total) & SALTUS_LT(total, saltus_splat(SALTUS_INFINITY)));
    odd |= saltus_lanes_fire(n, b, lanes & ~odd, &missed);
    odd |= saltus_lanes_lack(n, b);
    if (n->watches_state) {
        saltus_lanes_run_rules(n, c->slopes.v);
        odd |= saltus_lanes_turned(n, c->slopes.v, c->slopes.on);
    }
    saltus_lanes_undo(n, b, odd & lanes);
    return lanes & ~odd;
}

/* Go to where reactions have fired, and aim at the next ones. */
static saltus_status pass_reactions(lane_group *c, saltus_mask fired, saltus_f64 end,
                                    saltus_f64 step, saltus_error *err)
{
    const int n = c->memory.n;
    const uint64_t all = saltus_bits(fired);
    c->step = saltus_select(fired, step, c->step);
    c->t = saltus_select(fired, end, c->t);
    for (int i = 0; i < n - 1; ++i) {
        c->y[i] = saltus_select(fired, c->memory.e[i], c->y[i]);
    }
    c->y[n - 1] = saltus_select(fired, saltus_splat(0.0), c->y[n - 1]);
    c->n_plain -= SALTUS_AS_U64(fired);
    c->ahead |= all;
    c->stale |= all;
    for (uint64_t bits = all; bits;) {
        const int l = next_lane(&bits);
        saltus_scalar_engine *w = c->scalars[l];
        SALTUS_SET_NAME(saltus_scalar_pass_event)(w);
        set_lane(&c->target, l, w->ode.target);
        set_lane(&c->lanes.word[0], l, w->ode.word);
    }
    return sum_still(c, fired, err);
}

/* Take the steps that end with a reaction, after share theta, and nothing else, and return their
 * lanes: as saltus_ode_land does it. */
static uint64_t react_steps(lane_group *c, saltus_mask taken, saltus_f64 step, saltus_f64 theta,
                            saltus_status *status, saltus_error *err)
{
    const saltus_ode_memory *m = &c->memory;
    const int n = m->n;
    saltus_mask lanes = taken & SALTUS_LE(c->target, m->z[n - 1]);
    if (!saltus_any(lanes)) {
        return 0;
    }
    const saltus_f64 end = c->t + theta * c->size;
    lanes &= SALTUS_LT(end, c->special) & ~SALTUS_LT(c->sample, end);
    saltus_ode_interpolate(m, c->size, theta, m->e);
    saltus_mask fired = lanes & 0;
    if (c->fires) {
        fired = fire_lanes(c, lanes, end);
        *status = pass_reactions(c, fired, end, step, err);
    }
    for (uint64_t bits = saltus_bits(lanes & ~fired); bits && *status == SALTUS_OK;) {
        const int l = next_lane(&bits);
        saltus_scalar_engine *w = c->scalars[l];
        catch_up(c, l);
        w->trajectory.carried.step = lane_of(&step, l);
        for (int i = 0; i < n; ++i) {
            w->ode.w[i] = lane_of(&m->e[i], l);
        }
        if (SALTUS_SET_NAME(saltus_scalar_react)(w, lane_of(&end, l))) {
            rows_to_lane(c, l);
        } else {
            *status = end_lane(c, l, err);
        }
    }
    return saltus_bits(lanes);
}

#endif
