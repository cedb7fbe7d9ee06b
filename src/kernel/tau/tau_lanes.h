/**
 * Tau-leaping, many trajectories at once: the steps and the bits of tau.h, for the networks of
 * direct_lanes.h.
 *
 * Trajectories stand in slots, SALTUS_LANES of them side by side in a chunk. Those that leap fill
 * the slots from the first on, those that take exact steps from the last on; so all lanes of nearly
 * every chunk do the same. Slots that need a variate are listed, reaction by reaction, and those
 * whose attempt fails are listed again, so that attempts fill their lanes too.
 */
#ifndef SALTUS_KERNEL_TAU_TAU_LANES_H
#define SALTUS_KERNEL_TAU_TAU_LANES_H

#include "kernel/tau/bends_lanes.h"

/* Whole numbers below 2^52. */
SALTUS_FN saltus_i64 saltus_leaps_whole(saltus_f64 x)
{
    return SALTUS_AS_I64(x + 0x1p52) & 0xfffffffffffff;
}

/* The step that the species' drifts and spreads allow. */
SALTUS_FN saltus_f64 saltus_leaps_step(const saltus_tables *n, const saltus_tau *tau,
                                       saltus_leaps *b, const saltus_f64 *v, const saltus_f64 *a)
{
    saltus_f64 fastest = saltus_splat(0.0), relaxation = fastest;
    for (int s = 0; s < n->n_species && n->n_bending > 0; ++s) {
        b->trend[s] = b->drift[s];
    }
    for (int s = 0; s < n->n_species; ++s) {
        if (n->order[s] > 0.0) {
            const saltus_f64 g = saltus_tau_order(n->order[s], n->order_own[s], v[s]);
            fastest = saltus_tau_bound(tau, g, v[s], b->spread[s], &b->drift[s], fastest);
        } else {
            b->drift[s] = saltus_splat(0.0);
        }
    }
    for (int r = 0; r < n->n_reactions; ++r) {
        const saltus_f64 sum = saltus_tau_relaxation(n, r, b->drift);
        const saltus_mask fires = SALTUS_LT(saltus_splat(0.0), a[r]);
        relaxation = saltus_select(fires & SALTUS_LT(relaxation, sum), sum, relaxation);
    }
    return saltus_tau_step(fastest, relaxation);
}

/* Reaction r of propensity a: marked when it is critical, else added to drifts and spreads. */
SALTUS_FN saltus_f64 saltus_leaps_mark(const saltus_tables *n, const saltus_tau *tau,
                                       saltus_leaps *b, const saltus_f64 *v, int r, saltus_f64 a,
                                       saltus_f64 *critical_total)
{
    const saltus_mask fires = SALTUS_LT(saltus_splat(0.0), a);
    const saltus_mask critical = saltus_tau_critical(n, tau->n_critical, v, r, fires);
    const saltus_mask free = fires & ~critical;
    saltus_tau_add(n, r, SALTUS_AS_F64(SALTUS_AS_I64(a) & free), b->drift, b->spread);
    *critical_total = *critical_total + SALTUS_AS_F64(SALTUS_AS_I64(a) & critical);
    return saltus_select(critical, -a, a);
}

/* Propensities and the step that they allow, in the lanes `here` of a chunk. Where nothing can
 * happen time goes on to the stop. */
SALTUS_FN void saltus_leaps_bound(const saltus_tables *n, const saltus_tau *tau, saltus_leaps *b,
                                  int chunk, saltus_mask here)
{
    saltus_f64 *v = b->v + chunk * n->n_rows, *a = b->a + chunk * n->n_reactions;
    saltus_f64 total = saltus_splat(0.0), critical_total = total, sum = total;
    saltus_mask bad = here & 0;
    for (int s = 0; s < n->n_species; ++s) {
        b->drift[s] = b->spread[s] = saltus_splat(0.0);
    }
    saltus_lanes_run_rules(n, v);
    for (int r = 0; r < n->n_reactions; ++r) {
        const saltus_f64 x = saltus_lanes_propensity(n, saltus_splat(n->rate[r]), v, r, &bad);
        a[r] = saltus_leaps_mark(n, tau, b, v, r, x, &critical_total);
        sum = r % SALTUS_FANOUT == 0 ? x : sum + x;
        if (r % SALTUS_FANOUT == SALTUS_FANOUT - 1 || r == n->n_reactions - 1) {
            total = r < SALTUS_FANOUT ? sum : total + sum;
        }
    }
    bad |= ~SALTUS_LT(total, saltus_splat(SALTUS_INFINITY));
    const saltus_mask still = here & ~bad & ~SALTUS_LT(saltus_splat(0.0), total);
    b->t[chunk] = saltus_select(still, b->stop[chunk], b->t[chunk]);
    b->total[chunk] = total;
    b->critical_total[chunk] = critical_total;
    b->step[chunk] = saltus_leaps_step(n, tau, b, v, a);
    b->bad[chunk] = bad & here;
    b->brief[chunk] = here & 0;
    b->left[chunk] = here & ~bad & ~still;
    if (n->n_bending > 0) {
        saltus_leaps_unbend(n, tau, b, chunk);
    }
}

/* How far the lanes that are left leap, and whether a critical reaction ends it. */
SALTUS_FN void saltus_leaps_begin(const saltus_tables *n, uint64_t seed, saltus_leaps *b, int chunk)
{
    const saltus_f64 step = b->step[chunk], critical_total = b->critical_total[chunk];
    const saltus_mask brief =
        b->left[chunk] & SALTUS_LT(step * b->total[chunk], saltus_splat(SALTUS_SHORT_LEAP));
    const saltus_mask go = b->left[chunk] & ~brief;
    const saltus_mask risk = go & SALTUS_LT(saltus_splat(0.0), critical_total);
    saltus_f64 length = step, goal = saltus_splat(0.0);
    saltus_mask one = go & 0;
    if (saltus_any(risk)) {
        saltus_u64 w[4];
        saltus_philox(seed, SALTUS_PURPOSE_LEAP, b->trajectory[chunk], b->block[chunk], w);
        b->block[chunk] -= SALTUS_AS_U64(risk);
        b->bad[chunk] |= risk & SALTUS_EQ(w[0], w[0] & 0);
        const saltus_f64 wait =
            saltus_exponential32(w[0]) / (SALTUS_CRITICAL_MARGIN * critical_total);
        b->word[chunk] = w[1];
        one = risk & SALTUS_LE(wait, step);
        length = saltus_select(one, wait, step);
        goal = saltus_unit53(w[2], w[3]) * critical_total;
    }
    const saltus_f64 t_next = b->t[chunk] + length;
    const saltus_mask late = ~SALTUS_LT(t_next, b->stop[chunk]);
    b->t_next[chunk] = saltus_select(late, b->stop[chunk], t_next);
    b->length[chunk] = saltus_select(late, b->stop[chunk] - b->t[chunk], length);
    b->one[chunk] = one & ~late;
    b->goal[chunk] = goal;
    for (int s = 0; s < n->n_species; ++s) {
        b->change[chunk * n->n_species + s] = saltus_splat(0.0);
    }
    b->sum[chunk] = saltus_splat(0.0);
    b->brief[chunk] |= brief;
    b->left[chunk] = go & ~b->bad[chunk];
}

/* Two uniform numbers for each of the n slots of a list, which is filled up to whole chunks. Loops
 * are short here and below, so that a processor has several chunks at hand. */
SALTUS_FN void saltus_leaps_draw(uint64_t seed, saltus_leaps *b, int32_t *slots, int n,
                                 int32_t idle)
{
    for (int i = n; i % SALTUS_LANES != 0; ++i) {
        slots[i] = idle;
    }
    for (int i = 0; i < n; i += SALTUS_LANES) {
        saltus_u64 w[4];
        saltus_philox(seed, SALTUS_PURPOSE_LEAP,
                      SALTUS_AS_U64(saltus_gather(b->trajectory, slots + i)),
                      SALTUS_AS_U64(saltus_gather(b->block, slots + i)), w);
        b->u[i / SALTUS_LANES] = saltus_unit53(w[0], w[1]);
        b->u2[i / SALTUS_LANES] = saltus_unit53(w[2], w[3]);
        b->w2[i / SALTUS_LANES] = w[2];
        b->w3[i / SALTUS_LANES] = w[3];
    }
    for (int i = 0; i < n; ++i) {
        ++((uint64_t *)b->block)[slots[i]];
    }
}

/* Variates of small means. */
SALTUS_OUTLINE void saltus_leaps_invert(uint64_t seed, saltus_leaps *b, int32_t *slots, int n)
{
    saltus_leaps_draw(seed, b, slots, n, SALTUS_IDLE_SLOT);
    for (int i = 0; i < n; i += SALTUS_LANES) {
        const saltus_f64 mean = SALTUS_AS_F64(saltus_gather(b->mean, slots + i));
        const saltus_f64 k = saltus_poisson_invert(mean, b->u[i / SALTUS_LANES]);
        const saltus_f64 half =
            saltus_poisson_half_of_few(k, b->w2[i / SALTUS_LANES], b->w3[i / SALTUS_LANES]);
        saltus_scatter(b->half, slots + i, SALTUS_AS_I64(half));
        saltus_scatter(b->k, slots + i, SALTUS_AS_I64(k));
    }
}

/* Lists the slots of some lanes; returns how many there are then. */
SALTUS_FN int saltus_leaps_list(int32_t *slots, int n, int chunk, saltus_mask lanes)
{
    int32_t all[SALTUS_LANES];
    for (int l = 0; l < SALTUS_LANES; ++l) {
        all[l] = chunk * SALTUS_LANES + l;
    }
    return n + saltus_pick(slots + n, all, saltus_bits(lanes));
}

/* Attempts that are open: the slots, and where in the list that was drawn for they stood. */
typedef struct saltus_leaps_open {
    int32_t slots[SALTUS_LEAP_SLOTS + SALTUS_LANES], places[SALTUS_LEAP_SLOTS + SALTUS_LANES];
    int n;
} saltus_leaps_open;

/* What becomes of them. Those that have failed are listed behind the first n of `slots`; returns
 * how many there are then. */
SALTUS_FN int saltus_leaps_settle(const saltus_leaps *b, saltus_leaps_open *o, int32_t *slots,
                                  int n)
{
    for (int i = o->n; i % SALTUS_LANES != 0; ++i) {
        o->slots[i] = SALTUS_IDLE_LARGE_SLOT;
        o->places[i] = 0;
    }
    for (int i = 0; i < o->n; i += SALTUS_LANES) {
        const saltus_poisson law =
            saltus_poisson_of(SALTUS_AS_F64(saltus_gather(b->mean, o->slots + i)));
        const saltus_mask open = saltus_leaps_within(i / SALTUS_LANES, 0, o->n);
        const saltus_mask good = saltus_poisson_settle(
            &law, saltus_poisson_edge(SALTUS_AS_F64(saltus_gather(b->u, o->places + i))),
            SALTUS_AS_F64(saltus_gather(b->u2, o->places + i)),
            SALTUS_AS_F64(saltus_gather(b->k, o->slots + i)), open);
        n += saltus_pick(slots + n, o->slots + i, saltus_bits(open & ~good));
    }
    return n;
}

/* Variates of large means, by as many attempts as it takes. Few are open, which take longest: they
 * are listed too. */
SALTUS_OUTLINE void saltus_leaps_reject(uint64_t seed, saltus_leaps *b, int32_t *slots, int n)
{
    saltus_leaps_open o;
    while (n > 0) {
        int again = 0;
        o.n = 0;
        saltus_leaps_draw(seed, b, slots, n, SALTUS_IDLE_LARGE_SLOT);
        for (int i = 0; i < n; i += SALTUS_LANES) {
            saltus_f64 k;
            saltus_mask open;
            const saltus_poisson law =
                saltus_poisson_of(SALTUS_AS_F64(saltus_gather(b->mean, slots + i)));
            const saltus_mask good = saltus_poisson_propose(&law, b->u[i / SALTUS_LANES],
                                                            b->u2[i / SALTUS_LANES], &k, &open);
            const saltus_mask drawn = saltus_leaps_within(i / SALTUS_LANES, 0, n);
            saltus_scatter(b->k, slots + i, SALTUS_AS_I64(k));
            (void)saltus_pick(o.slots + o.n, slots + i, saltus_bits(drawn & open));
            o.n = saltus_leaps_list(o.places, o.n, i / SALTUS_LANES, drawn & open);
            again += saltus_pick(slots + again, slots + i, saltus_bits(drawn & ~good & ~open));
        }
        n = saltus_leaps_settle(b, &o, slots, again);
    }
}

/* Let reaction r fire k times in the lanes of a chunk; fewer than 0: take back so many. */
SALTUS_FN void saltus_leaps_add(const saltus_tables *n, saltus_leaps *b, int chunk, int r,
                                saltus_f64 k)
{
    b->sum[chunk] = b->sum[chunk] + k;
    for (int c = n->change_row[r]; c < n->change_row[r + 1]; ++c) {
        saltus_f64 *change = b->change + chunk * n->n_species + n->change_species[c];
        *change = *change + (double)n->change_amount[c] * k;
    }
}

/* Firings of reaction r by the propensities before the leap, in the lanes that are left. */
SALTUS_FN void saltus_leaps_fire(const saltus_tables *n, uint64_t seed, saltus_leaps *b, int r,
                                 int n_chunks)
{
    int32_t small[SALTUS_LEAP_SLOTS + SALTUS_LANES], large[SALTUS_LEAP_SLOTS + SALTUS_LANES];
    int n_small = 0, n_large = 0;
    for (int chunk = 0; chunk < n_chunks; ++chunk) {
        const saltus_f64 mean = b->a[chunk * n->n_reactions + r] * b->length[chunk];
        const saltus_mask fires = b->left[chunk] & SALTUS_LT(saltus_splat(0.0), mean);
        const saltus_mask bounded =
            SALTUS_LT(mean * (double)n->largest_change, saltus_splat(0x1p44));
        const saltus_mask few = SALTUS_LT(mean, saltus_splat(saltus_poisson_inversion));
        b->mean[chunk] = mean;
        b->k[chunk] = b->half[chunk] = saltus_splat(0.0);
        b->bad[chunk] |= fires & ~bounded;
        b->left[chunk] &= ~b->bad[chunk];
        n_small = saltus_leaps_list(small, n_small, chunk, fires & few);
        n_large = saltus_leaps_list(large, n_large, chunk, fires & bounded & ~few);
    }
    saltus_leaps_invert(seed, b, small, n_small);
    saltus_leaps_reject(seed, b, large, n_large);
    for (int chunk = 0; chunk < n_chunks; ++chunk) {
        const saltus_mask few = SALTUS_LT(b->mean[chunk], saltus_splat(saltus_poisson_inversion));
        const saltus_f64 k = b->k[chunk];
        saltus_f64 first = b->half[chunk];
        if (saltus_any(~few)) {
            const saltus_f64 many = saltus_poisson_half(k, saltus_sqrt(b->mean[chunk]));
            first = saltus_select(few, first, many);
        }
        b->second[chunk * n->n_reactions + r] = k - first;
        if (n->n_bending > 0 && n->bending_of[r] >= 0) {
            b->first[chunk * n->n_bending + n->bending_of[r]] = first;
        }
        saltus_leaps_add(n, b, chunk, r, first);
    }
}

/* Rows in the middle of the leap in lanes where no count is negative; returns those of the lanes
 * that are left. */
SALTUS_FN saltus_mask saltus_leaps_attempt(const saltus_tables *n, saltus_leaps *b, int chunk)
{
    const saltus_f64 *v = b->v + chunk * n->n_rows, *change = b->change + chunk * n->n_species;
    saltus_mask good = b->left[chunk];
    for (int s = 0; s < n->n_species; ++s) {
        good &= SALTUS_LE(saltus_splat(0.0), v[s] + change[s]);
    }
    if (saltus_any(good)) {
        for (int s = 0; s < n->n_species; ++s) {
            b->middle[s] = v[s] + SALTUS_AS_F64(SALTUS_AS_I64(change[s]) & good);
        }
        for (int row = n->n_species; row < n->n_rows; ++row) {
            b->middle[row] = v[row];
        }
        saltus_lanes_run_rules(n, b->middle);
    }
    return good;
}

/* Let critical reaction r end the leap in these lanes. */
SALTUS_FN void saltus_leaps_let(const saltus_tables *n, saltus_leaps *b, int chunk, int r,
                                saltus_mask lanes)
{
    saltus_leaps_add(n, b, chunk, r, SALTUS_AS_F64(SALTUS_AS_I64(saltus_splat(1.0)) & lanes));
    b->fires[chunk] = saltus_select_i64(lanes, saltus_splat_i64(r), b->fires[chunk]);
}

/* Take that back where it lacks reactants. */
SALTUS_OUTLINE void saltus_leaps_take_back(const saltus_tables *n, saltus_leaps *b, int chunk)
{
    const saltus_f64 *v = b->v + chunk * n->n_rows, *change = b->change + chunk * n->n_species;
    saltus_mask lacks = b->left[chunk] & 0;
    for (int s = 0; s < n->n_species; ++s) {
        lacks |= SALTUS_LT(v[s] + change[s], saltus_splat(0.0));
    }
    lacks &= b->left[chunk];
    for (int r = 0; r < n->n_reactions && saltus_any(lacks); ++r) {
        const saltus_mask here = lacks & SALTUS_EQ(b->fires[chunk], saltus_splat_i64(r));
        saltus_leaps_add(n, b, chunk, r, SALTUS_AS_F64(SALTUS_AS_I64(saltus_splat(-1.0)) & here));
    }
}

/* saltus_leap_finish, in the lanes `hit`, of reactions `chosen`. */
SALTUS_OUTLINE saltus_mask saltus_leaps_finish(const saltus_tables *n, saltus_leaps *b, int chunk,
                                               saltus_mask hit, saltus_i64 chosen)
{
    saltus_mask bad = hit & 0;
    hit &= saltus_leaps_attempt(n, b, chunk);
    for (int i = 0; i < n->n_bending; ++i) {
        const int r = n->bending[i];
        const saltus_mask here = hit & SALTUS_EQ(chosen, saltus_splat_i64(r));
        saltus_mask wrong = hit & 0;
        if (saltus_any(here)) {
            const saltus_f64 end =
                saltus_lanes_propensity(n, saltus_splat(n->rate[r]), b->middle, r, &wrong);
            const saltus_mask accepted =
                here & saltus_tau_accepts(b->word[chunk], b->peak[chunk * n->n_bending + i], end);
            bad |= here & wrong;
            saltus_leaps_let(n, b, chunk, r, accepted);
        }
    }
    return bad;
}

/* saltus_leap_correct. */
SALTUS_FN void saltus_leaps_correct(const saltus_tables *n, uint64_t seed, saltus_leaps *b,
                                    int chunk)
{
    const saltus_mask good = saltus_leaps_attempt(n, b, chunk);
    const saltus_f64 *a = b->a + chunk * n->n_reactions,
                     *second = b->second + chunk * n->n_reactions;
    saltus_f64 sum = saltus_splat(0.0); /* of critical propensities */
    saltus_mask bad = good & 0, among = b->one[chunk] & good, ends = good & 0;
    saltus_i64 chosen = saltus_splat_i64(-1);
    b->fires[chunk] = chosen;
    saltus_u64 w[4];
    if (!saltus_any(good)) {
        return;
    }
    for (int r = 0; r < n->n_reactions; ++r) {
        if (r % 4 == 0) {
            saltus_philox(seed, SALTUS_PURPOSE_LEAP, b->trajectory[chunk], b->block[chunk], w);
            b->block[chunk] -= SALTUS_AS_U64(good);
        }
        const int bending = n->n_bending > 0 ? n->bending_of[r] : -1;
        const saltus_f64 weight = bending >= 0 ? b->peak[chunk * n->n_bending + bending] : -a[r];
        saltus_mask wrong = good & 0;
        saltus_mask fires = good & SALTUS_LT(saltus_splat(0.0), a[r]);
        if (bending >= 0) { /* the law may be 0 before the leap */
            fires = good & SALTUS_LT(weight, saltus_splat(0.0));
        }
        const saltus_f64 middle =
            saltus_lanes_propensity(n, saltus_splat(n->rate[r]), b->middle, r, &wrong);
        if (saltus_any(among)) {
            const saltus_mask critical = SALTUS_LT(saltus_splat(0.0), weight);
            sum = sum + SALTUS_AS_F64(SALTUS_AS_I64(weight) & critical);
            const saltus_mask hit = among & critical & SALTUS_LT(b->goal[chunk], sum);
            among &= ~hit;
            if (bending >= 0) {
                ends |= hit;
                chosen = saltus_select_i64(hit, saltus_splat_i64(r), chosen);
            } else {
                const saltus_mask accepted =
                    hit & saltus_tau_accepts(b->word[chunk], weight, middle + (middle + a[r]));
                bad |= hit & wrong;
                saltus_leaps_let(n, b, chunk, r, accepted);
            }
        }
        saltus_f64 more = saltus_tau_more(b->length[chunk], a[r], middle, second[r]),
                   most = second[r];
        if (bending >= 0) {
            const saltus_f64 first = b->first[chunk * n->n_bending + bending];
            more = saltus_tau_more_bent(more, a[r], middle, first, second[r]);
            most = most + first;
        }
        wrong |= ~SALTUS_LT(more * (double)n->largest_change, saltus_splat(0x1p44));
        bad |= fires & wrong;
        const saltus_f64 k = saltus_tau_whole(more, w[r % 4], second[r], most);
        saltus_leaps_add(n, b, chunk, r, SALTUS_AS_F64(SALTUS_AS_I64(k) & fires));
    }
    bad |= among;
    if (saltus_any(ends)) {
        bad |= saltus_leaps_finish(n, b, chunk, ends, chosen);
    }
    b->bad[chunk] |= bad;
    b->left[chunk] &= ~bad;
}

/* The leap is made where no count becomes negative; where one would, half of it is left. */
SALTUS_FN void saltus_leaps_end(const saltus_tables *n, saltus_leaps *b, int chunk)
{
    saltus_f64 *v = b->v + chunk * n->n_rows;
    const saltus_f64 *change = b->change + chunk * n->n_species;
    const saltus_mask left = b->left[chunk];
    const saltus_f64 step = b->step[chunk], to_stop = b->stop[chunk] - b->t[chunk];
    if (n->idles && saltus_any(left)) {
        saltus_leaps_take_back(n, b, chunk);
    }
    saltus_mask negative = left & 0, bad = left & 0;
    for (int s = 0; s < n->n_species; ++s) {
        const saltus_f64 x = v[s] + change[s];
        negative |= SALTUS_LT(x, saltus_splat(0.0));
        bad |= SALTUS_LT(saltus_splat(saltus_lanes_largest), x);
    }
    if (n->n_flags > 0) { /* clocks that change just after a time must not change back */
        bad |= ~SALTUS_LT(b->t[chunk], b->t_next[chunk]);
    }
    const saltus_mask done = left & ~negative & ~bad;
    for (int s = 0; s < n->n_species; ++s) {
        v[s] = v[s] + SALTUS_AS_F64(SALTUS_AS_I64(change[s]) & done);
    }
    b->t[chunk] = saltus_select(done, b->t_next[chunk], b->t[chunk]);
    b->leaps[chunk] -= done;
    b->fired[chunk] += saltus_leaps_whole(b->sum[chunk]) & done;
    b->step[chunk] = 0.5 * saltus_select(SALTUS_LT(step, to_stop), step, to_stop);
    const saltus_i64 exact = saltus_tau_after_leap(
        b->exact[chunk], SALTUS_LT(b->sum[chunk], saltus_splat(SALTUS_SHORT_LEAP)), b->one[chunk],
        ~SALTUS_LT(b->t_next[chunk], b->stop[chunk]));
    b->exact[chunk] = saltus_select_i64(done, exact, b->exact[chunk]);
    b->brief[chunk] |= done & saltus_tau_gives_up(b->exact[chunk]);
    b->bad[chunk] |= bad & left;
    b->left[chunk] = left & negative & ~bad;
}

/** A leap in each of the first n_slots slots: until then, to its stop, or none where it would be
 * brief. */
SALTUS_FN void saltus_leaps_leap(const saltus_tables *n, const saltus_tau *tau, uint64_t seed,
                                 saltus_leaps *b, int n_slots)
{
    const int n_chunks = (n_slots + SALTUS_LANES - 1) / SALTUS_LANES;
    for (int chunk = 0; chunk < n_chunks; ++chunk) {
        saltus_leaps_bound(n, tau, b, chunk, saltus_leaps_within(chunk, 0, n_slots));
    }
    for (int left = 1; left;) {
        for (int chunk = 0; chunk < n_chunks; ++chunk) {
            saltus_leaps_begin(n, seed, b, chunk);
        }
        for (int r = 0; r < n->n_reactions; ++r) {
            saltus_leaps_fire(n, seed, b, r, n_chunks);
        }
        left = 0;
        for (int chunk = 0; chunk < n_chunks; ++chunk) {
            saltus_leaps_correct(n, seed, b, chunk);
            saltus_leaps_end(n, b, chunk);
            left |= saltus_any(b->left[chunk]);
        }
    }
}

/* saltus_lanes_draw for exact steps of a chunk; words of tau-leaping. */
SALTUS_FN saltus_mask saltus_leaps_wait(uint64_t seed, const saltus_leaps *b, int chunk,
                                        saltus_lanes *e)
{
    saltus_u64 w[4];
    saltus_philox(seed, SALTUS_PURPOSE_LEAP, b->trajectory[chunk], b->block[chunk], w);
    e->wait[0] = saltus_exponential32(w[0]);
    e->word[0] = SALTUS_TO_F64(SALTUS_AS_I64(w[1]));
    return SALTUS_EQ(w[0], w[0] & 0);
}

/** An exact step, or to the stop if that comes first, in those lanes of a chunk that are slots from
 * n_first on. `e` has room for what direct_lanes.h computes. */
SALTUS_FN void saltus_leaps_exact(const saltus_tables *n, uint64_t seed, saltus_leaps *b,
                                  saltus_lanes *e, int chunk, int n_first)
{
    const saltus_mask here = saltus_leaps_within(chunk, n_first, SALTUS_LEAP_SLOTS);
    saltus_mask missed;
    e->v = b->v + chunk * n->n_rows;
    e->t = b->t[chunk];
    saltus_mask bad = saltus_leaps_wait(seed, b, chunk, e);
    const saltus_mask wrong = saltus_lanes_propose(n, e, 0);
    const saltus_mask acts = here & SALTUS_LT(saltus_splat(0.0), e->total);
    const saltus_mask fires = acts & SALTUS_LT(e->t_next, b->stop[chunk]);
    bad = wrong | (acts & bad) | saltus_lanes_fire(n, e, fires & ~wrong, &missed);
    for (int s = 0; s < n->n_species; ++s) {
        const saltus_f64 x = e->v[s];
        bad |= SALTUS_LT(x, saltus_splat(0.0)) | SALTUS_LT(saltus_splat(saltus_lanes_largest), x);
    }
    if (n->n_flags > 0) {
        bad |= fires & ~SALTUS_LT(b->t[chunk], e->t);
    }
    b->block[chunk] -= SALTUS_AS_U64(acts);
    b->t[chunk] = saltus_select(here & ~fires, b->stop[chunk], e->t);
    b->exact[chunk] =
        saltus_select_i64(fires, saltus_tau_after_step(b->exact[chunk]), b->exact[chunk]);
    b->exact_steps[chunk] -= fires;
    b->fired[chunk] -= fires;
    b->bad[chunk] = bad & here;
}

#endif
