/* Lanes of a model with laws that drift with time: steps of kernel/ssa/thinned_lanes.h, and the
 * windows' begins and ends. A part of lanes.c, which includes it. */
#ifndef SALTUS_BACKEND_CPU_WINDOWS_H
#define SALTUS_BACKEND_CPU_WINDOWS_H

/* Windows are begun together when the lanes that wait have lost so many steps, all lanes together,
 * as bounding costs, for few lanes as for many: about a step and a half of all. Whatever the rate
 * at which windows end, what bounding and waiting cost is then least. */
enum { BOUNDING_STEPS = 3 * SALTUS_LANES / 2 };
/* Cells are made when windows have found their length, and short runs have ended. For each that is
 * computed there are so many steps at least, which take ten times as long. */
enum { STEPS_BEFORE_CELLS = 512, STEPS_PER_CELL = 8 };

/* One operation on intervals in lane l. */
static void interval_singly(void *user, int l, const saltus_instruction *i, double ends[3][2],
                            double y[2])
{
    const lane_group *c = user;
    SALTUS_SET_NAME(saltus_scalar_interval)(c->scalars[l], i, ends, y);
}

/* Compute the cells of some lanes' times, the more of them the longer the run already is, so that a
 * short one does not pay for what it does not use. */
static void fill_cells(lane_group *c, uint64_t lanes, const int32_t *cell)
{
    saltus_cells *e = c->cells;
    while (lanes && c->steps_of_windows >= STEPS_PER_CELL * e->n_known) {
        const int32_t i = cell[next_lane(&lanes)];
        const double start = i / e->per_time, end = (i + 1) / e->per_time;
        double *ends = e->ends + 2 * (size_t)i * (size_t)c->task->tables->n_drifts;
        if (!e->are_known[i]) {
            SALTUS_SET_NAME(saltus_scalar_drifts)(c->single, start, end, ends);
            e->are_known[i] = true;
            ++e->n_known;
        }
    }
}

/* Where a law lies in the cells of the given lanes' times. */
static int law_in_cells(void *user, int i, saltus_mask lanes, saltus_spans *law)
{
    lane_group *c = user;
    const saltus_tables *n = c->task->tables;
    const saltus_cells *e = c->cells;
    const saltus_program bound = n->bounds[i];
    if (e->row[i] == e->row[i + 1]) {
        return 0;
    }
    const saltus_f64 time = saltus_select(lanes, c->lanes.t_next, saltus_splat(0.0));
    const saltus_i32 cell = SALTUS_TO_I32(time * e->per_time), first = cell * (2 * n->n_drifts);
    const int32_t *at = (const int32_t *)&first;
    for (int k = e->row[i]; k < e->row[i + 1]; ++k) {
        const double *ends = e->ends + 2 * (size_t)e->drift_of[k];
        c->cell_slots[1 + e->drift_of[k]] = (saltus_spans){
            SALTUS_AS_F64(saltus_gather(ends, at)), SALTUS_AS_F64(saltus_gather(ends + 1, at))};
    }
    *law = bound.n == 0 ? c->cell_slots[bound.result]
                        : saltus_spans_run(n->bound_code, bound, c->cell_slots, c->lanes.v,
                                           saltus_bits(lanes), c->thinned.fallback, c);
    const uint64_t unknown = saltus_bits(lanes & SALTUS_NE(law->lo, law->lo));
    if (unknown) {
        fill_cells(c, unknown, (const int32_t *)&cell);
    }
    return 1;
}

/* Make cells for the windows that lanes have now. */
static void make_cells(lane_group *c)
{
    double length = 0.0;
    for (uint64_t bits = c->busy; bits;) {
        length += lane_of(&c->thinned.length, next_lane(&bits));
    }
    length /= __builtin_popcountll(c->busy);
    c->cells = saltus_cells_create(c->task->tables, c->task->times[c->task->n_times - 1], length);
    c->thinned.closer = c->cells ? law_in_cells : NULL;
}

/* Tell what drifts, and where intervals stand: behind the rows. */
static void prepare_windows(lane_group *c)
{
    const saltus_tables *n = c->task->tables;
    saltus_thinned_lanes *d = &c->thinned;
    c->lanes.given_of = n->n_thinned > 0 ? n->thinned_of : NULL;
    d->slots = (saltus_spans *)(c->lanes.v + n->n_rows);
    c->lanes.given = (saltus_f64 *)(d->slots + n->n_intervals);
    c->lanes.lower = c->lanes.given + n->n_thinned;
    c->cell_slots = (saltus_spans *)(c->lanes.lower + n->n_thinned);
    d->fallback = interval_singly;
    d->user = c;
    for (int k = 0; k < n->n_drifts; ++k) {
        d->follows |= n->drifts[k].has_counts;
    }
    for (int i = 0; i < n->n_thinned; ++i) {
        d->follows |= n->bounds[i].n > 0;
    }
}

/* The window of a trajectory that was begun, if any, goes on. */
static void window_to_lane(lane_group *c, int l)
{
    const saltus_trajectory *p = &c->scalars[l]->trajectory;
    saltus_thinned_lanes *d = &c->thinned;
    d->length[l] = p->window;
    d->start[l] = p->window_start;
    d->end[l] = p->window_end;
    d->missed[l] = p->window_missed;
}

/* Let the scalar engine begin windows, shorter ones than the lanes have tried. */
static saltus_status open_singly(lane_group *c, uint64_t bits, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    while (bits && status == SALTUS_OK) {
        const int l = next_lane(&bits);
        settle_lane(c, l);
        if (SALTUS_SET_NAME(saltus_scalar_open_window)(c->scalars[l]) == SALTUS_FINE) {
            window_to_lane(c, l);
        } else {
            status = rerun_lane(c, l, err);
        }
    }
    return status;
}

/* Bound laws in lanes whose windows or, not `is_new`, whose counts have changed. */
static saltus_status bound_lanes(lane_group *c, saltus_mask lanes, int is_new, saltus_mask *bad,
                                 saltus_error *err)
{
    const saltus_tables *n = c->task->tables;
    saltus_mask unbounded;
    *bad = saltus_thinned_lanes_bound(n, &c->lanes, &c->thinned, lanes, is_new, &unbounded);
    if (!SALTUS_RARE(saltus_any(unbounded))) {
        return SALTUS_OK;
    }
    const saltus_status status = open_singly(c, saltus_bits(unbounded), err);
    lanes = unbounded & c->alive;
    *bad |= saltus_thinned_lanes_bound(n, &c->lanes, &c->thinned, lanes, 1, &unbounded);
    *bad |= unbounded;
    return status;
}

static saltus_status rerun_lanes(lane_group *c, saltus_mask lanes, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (uint64_t bits = saltus_bits(lanes & c->alive); bits && status == SALTUS_OK;) {
        status = rerun_lane(c, next_lane(&bits), err);
    }
    return status;
}

/* Begin the windows that wait; one that was kept goes on. */
static saltus_status open_windows(lane_group *c, saltus_error *err)
{
    saltus_thinned_lanes *d = &c->thinned;
    saltus_status status = SALTUS_OK;
    const saltus_mask lanes = d->waits & c->alive;
    const saltus_mask begin = lanes & SALTUS_LT(d->end, saltus_splat(0.0));
    const saltus_f64 end = c->lanes.t + d->length;
    const saltus_f64 cut = saltus_select(SALTUS_LT(end, d->special), end, d->special);
    saltus_mask bad;
    d->start = saltus_select(begin, c->lanes.t, d->start);
    d->end = saltus_select(begin, cut, d->end);
    d->missed = saltus_select(begin, saltus_splat(0.0), d->missed);
    d->waits &= ~lanes;
    SALTUS_TRY(bound_lanes(c, lanes, 1, &bad, err));
    bad |= saltus_thinned_lanes_check(c->task->tables, &c->lanes, begin, c->lanes.t);
    SALTUS_TRY(rerun_lanes(c, bad, err));
done:
    return status;
}

/* Bound laws anew where reactions have fired. */
static saltus_status follow_windows(lane_group *c, saltus_mask fired, saltus_error *err)
{
    saltus_mask bad;
    const saltus_status status = bound_lanes(c, fired, 0, &bad, err);
    return status == SALTUS_OK ? rerun_lanes(c, bad, err) : status;
}

/* Whether a law of lane l is no propensity at the run's end. */
static bool ends_badly(lane_group *c, int l, double time)
{
    saltus_mask lane = c->alive & 0;
    lane[l] = -1;
    return saltus_any(
        saltus_thinned_lanes_check(c->task->tables, &c->lanes, lane, saltus_splat(time)));
}

/* Lane l has reached a sample or special time before its event at `until`, where a candidate is or
 * its window ends. Returns whether it goes on to that. */
static bool stop_window(lane_group *c, int l, double until, bool is_candidate,
                        saltus_status *status, saltus_error *err)
{
    saltus_trajectory *p = &c->scalars[l]->trajectory;
    for (;;) {
        const double sample = c->task->times[p->sample];
        const double first = sample < until ? sample : until;
        const bool ends = !is_candidate && sample > until && p->special <= until;
        if (p->special < first || (p->special == first && !p->special_strict) || ends) {
            lane_to_trajectory(c, l);
            if (saltus_scalar_pass_special(c->scalars[l]) != SALTUS_FINE) {
                *status = saltus_scalar_report(c->scalars[l], c->task, err);
                return false;
            }
            ++c->void_events[l];
            c->lanes.block[l] += c->thinned.odd[l] != 0;
            c->thinned.odd[l] = ~c->thinned.odd[l];
            c->thinned.waits[l] = -1;
            c->thinned.end[l] = -1.0;
            *status = return_to_lane(c, l, err);
            return false;
        }
        if (sample > until) {
            c->lanes.stop[l] = next_stop(c, p);
            return true;
        }
        if (p->sample + 1 == c->task->n_times && ends_badly(c, l, sample)) {
            *status = rerun_lane(c, l, err);
            return false;
        }
        record_lane(c, l, sample);
        if (p->sample == c->task->n_times) {
            c->jobs[l].tally.events = (int64_t)(event_of(c, l) - void_events(c, l));
            *status = finish_lane(c, l, err);
            return false;
        }
    }
}

/* Lanes that reach a sample or a special time; takes those that do not go on out of *lanes. */
static saltus_status stop_windows(lane_group *c, uint64_t bits, saltus_mask bad, saltus_f64 until,
                                  saltus_mask is_candidate, saltus_mask *lanes, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    while (bits && status == SALTUS_OK) {
        const int l = next_lane(&bits);
        if (bad[l]) {
            (*lanes)[l] = 0;
            status = rerun_lane(c, l, err);
        } else if (!stop_window(c, l, until[l], is_candidate[l] != 0, &status, err)) {
            (*lanes)[l] = 0;
        }
    }
    return status;
}

/* One event number in every busy lane that is at the first or second of its block, h, and has a
 * window. */
static saltus_status step_windows(lane_group *c, int h, saltus_error *err)
{
    const saltus_tables *n = c->task->tables;
    saltus_lanes *b = &c->lanes;
    saltus_thinned_lanes *d = &c->thinned;
    saltus_status status = SALTUS_OK;
    if (++c->steps_of_windows == STEPS_BEFORE_CELLS && !c->task->varies) {
        make_cells(c);
    }
    const uint64_t waiting = saltus_bits(d->waits & c->alive);
    c->steps_lost += __builtin_popcountll(waiting);
    if (c->steps_lost >= BOUNDING_STEPS || (waiting && waiting == c->busy)) {
        c->steps_lost = 0;
        SALTUS_TRY(open_windows(c, err));
    }
    saltus_mask lanes = c->alive & ~d->waits & (h ? d->odd : ~d->odd);
    const saltus_mask bad = saltus_lanes_propose(n, b, h) & lanes;
    const saltus_mask is_candidate = SALTUS_LT(b->t_next, d->end);
    const saltus_f64 until = saltus_select(is_candidate, b->t_next, d->end);
    const uint64_t stopped = saltus_bits((~SALTUS_LT(until, b->stop) & lanes) | bad);
    if (stopped) {
        SALTUS_TRY(stop_windows(c, stopped, bad, until, is_candidate, &lanes, err));
    }
    saltus_lanes_note(n, b);
    const saltus_candidates k = saltus_thinned_lanes_fire(n, b, d, lanes & is_candidate);
    lanes &= ~(k.undecided | k.bad);
    saltus_thinned_lanes_pass(b, d, lanes, &k, lanes & ~is_candidate);
    d->voids -= SALTUS_AS_U64(undo_idle(c, k.fired));
    if (SALTUS_RARE(saltus_any(k.bad | k.undecided))) {
        SALTUS_TRY(rerun_lanes(c, k.bad, err));
        for (uint64_t bits = saltus_bits(k.undecided); bits;) {
            SALTUS_TRY(leave_lane(c, next_lane(&bits), err));
        }
    }
    if (n->n_unsafe > 0) {
        SALTUS_TRY(check_counts(c, n->unsafe, n->n_unsafe, 0.0, saltus_lanes_largest, err));
    }
    if (d->follows) {
        SALTUS_TRY(follow_windows(c, k.fired & c->alive, err));
    }
    if (c->on) {
        SALTUS_TRY(let_happen(c, err));
    }
done:
    return status;
}

#endif
