/* What moves, in all lanes together: slopes, and what triggers compare. A part of rates.c, which
 * includes it. */
#ifndef SALTUS_BACKEND_CPU_MOTION_H
#define SALTUS_BACKEND_CPU_MOTION_H

/* What slopes are computed from. */
typedef struct saltus_ode_context {
    const saltus_tables *n;
    saltus_f64 *v;                                   /* [row] */
    saltus_f64 still, negative, from, until, before; /* as in saltus_ode */
    saltus_mask *on;                                 /* [trigger] as in saltus_trajectory */
} saltus_ode_context;

static void put_rates(saltus_ode_context *c, saltus_f64 time, const saltus_f64 *y)
{
    const saltus_tables *n = c->n;
    for (int i = 0; i < n->n_rates; ++i) {
        c->v[n->rate_rows[i]] = y[i];
    }
    c->v[n->row_time] = time;
}

/* Compute what moves, at times and states of the lanes. */
SALTUS_FN void run_motion(saltus_ode_context *c, saltus_f64 time, const saltus_f64 *y)
{
    put_rates(c, time, y);
    saltus_program_run(c->n->code, c->n->motion, c->v);
}

/* As saltus_ode_slope does it, in the same order. */
SALTUS_FN void saltus_ode_slope_of(saltus_ode_context *c, saltus_f64 time, const saltus_f64 *y,
                                   saltus_f64 *slope)
{
    const saltus_tables *n = c->n;
    const saltus_f64 late = saltus_select(SALTUS_LT(c->from, time), time, c->from);
    run_motion(c, saltus_select(SALTUS_LT(late, c->until), late, c->before), y);
    for (int i = 0; i < n->n_rates; ++i) {
        slope[i] = c->v[n->motion_rows[i]];
    }
    saltus_f64 sum = c->still;
    c->negative = saltus_splat(0.0);
    saltus_mask bad = SALTUS_AS_I64(sum) & 0;
    for (int i = 0; i < n->n_moving_laws; ++i) {
        const saltus_f64 a = saltus_lanes_checked(n, c->v, n->moving_laws[i],
                                                  c->v[n->motion_rows[n->n_rates + i]], &bad);
        const saltus_mask below = SALTUS_LT(a, saltus_splat(0.0));
        c->negative = saltus_select(below, c->negative - a, c->negative);
        sum = saltus_select(below, sum, sum + a);
    }
    slope[n->n_rates] = sum;
}

/* As saltus_ode_turns does it, and what triggers compare. */
SALTUS_FN saltus_mask saltus_ode_roots_of(saltus_ode_context *c, saltus_f64 time,
                                          const saltus_f64 *y, saltus_f64 *now)
{
    const saltus_tables *n = c->n;
    put_rates(c, time, y);
    for (int i = 0; i < n->n_moving_rules; ++i) {
        saltus_lanes_run_rule(n, n->moving_rules[i], c->v);
    }
    const saltus_mask turned = saltus_lanes_turned(n, c->v, c->on);
    for (int j = 0; j < n->n_roots; ++j) {
        saltus_program_run(n->code, n->roots[j], c->v);
        now[j] = c->v[n->roots[j].result];
    }
    return turned;
}

#endif
