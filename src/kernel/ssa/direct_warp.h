/**
 * The direct method of a large mass-action network with a warp per trajectory (the hybrid of fine
 * and coarse grain of Sumiyoshi et al. 2015, doi:10.1155/2015/506263). The threads of the warp
 * share what an event changes: counts, propensities and sums. Each thread makes the choice itself,
 * so that all have it. The state is in a workspace of the warp, in shared or in global memory.
 *
 * The host defines what table.h needs, SALTUS_BLOCK as 1, because a workspace is not interleaved,
 * and SALTUS_WARPS, the warps of a block. A host simulates a warp of one thread.
 */
#ifndef SALTUS_KERNEL_SSA_DIRECT_WARP_H
#define SALTUS_KERNEL_SSA_DIRECT_WARP_H

#include "kernel/ssa/table.h"

#if SALTUS_DEVICE
/* Blocks that are drawn at a time: one in each thread, where any block can be had at any time. */
enum { SALTUS_WARP_BLOCKS = SALTUS_RNG == SALTUS_RNG_PHILOX ? SALTUS_WARP : 1 };

/* Waits and choice words of the events of those blocks. */
typedef struct saltus_warp_draws {
    uint64_t first_block;
    int valid;
    double wait[2];
    uint32_t word[2];
} saltus_warp_draws;

SALTUS_FN void saltus_warp_draw(const saltus_launch *a, saltus_stream *stream, saltus_warp_draws *d,
                                uint64_t trajectory, uint64_t block)
{
    uint32_t w[4];
    d->first_block = block;
    d->valid = 1;
    block += SALTUS_WARP_BLOCKS > 1 ? (uint64_t)SALTUS_LANE_NUMBER : 0;
    saltus_stream_next(stream, a->keys, trajectory, block, w);
    for (int h = 0; h < 2; ++h) {
        d->wait[h] = w[2 * h] != 0
                         ? saltus_exponential32(w[2 * h])
                         : saltus_wait_refined(a->seed, trajectory, 2 * block + (uint64_t)h);
        d->word[h] = w[2 * h + 1];
    }
}

/* The propensity whose entries begin at `entry`. */
SALTUS_FN void saltus_warp_law(const saltus_table *s, const saltus_packed_dependent *entry)
{
    saltus_packed_dependent d = *entry;
    double a = saltus_table_law(s, &d, 0.0, 0);
    while (d.reaction & SALTUS_PACKED_MORE) {
        d = *++entry;
        a = saltus_table_law(s, &d, a, 1);
    }
    s->values[d.reaction] = a;
}

/* Recompute the propensities and nodes that a reaction changes. */
SALTUS_FN void saltus_warp_follow(const saltus_table *s, const saltus_packed_wide_row *row)
{
    const saltus_packed_dependent *dependents = s->dependents + row->dependent;
    for (int64_t i = SALTUS_LANE_NUMBER; i < row->n_dependents; i += SALTUS_WARP) {
        if (i == 0 || (dependents[i - 1].reaction & SALTUS_PACKED_MORE) == 0) {
            saltus_warp_law(s, dependents + i);
        }
    }
    SALTUS_WARP_WAIT();
    /* as many nodes at a time as belong to one level */
    const saltus_packed_node *nodes = s->nodes + row->node;
    for (int64_t i = 0; i < row->n_nodes;) {
        const int64_t mine = i + SALTUS_LANE_NUMBER;
        saltus_packed_node node = {SALTUS_PACKED_LEVEL, 0};
        if (mine < row->n_nodes) {
            node = nodes[mine];
        }
        const int n = saltus_warp_first(mine > i && (node.first & SALTUS_PACKED_LEVEL) != 0);
        if (SALTUS_LANE_NUMBER < n) {
            double sums[8];
            saltus_table_sums(s, node.first & ~SALTUS_PACKED_LEVEL, SALTUS_FANOUT, sums);
            s->values[node.value] = sums[SALTUS_FANOUT - 1];
        }
        SALTUS_WARP_WAIT();
        i += n;
    }
}

/* Change the counts. Returns 1 if a count became negative or needs more than 31 bits. */
SALTUS_FN int saltus_warp_fire(const saltus_table *s, const saltus_packed_wide_row *row)
{
    int bad = 0;
    for (uint32_t i = (uint32_t)SALTUS_LANE_NUMBER; i < row->n_changes; i += SALTUS_WARP) {
        const saltus_packed_change c = s->changes[row->change + i];
        const int32_t x = (int32_t)((uint32_t)s->x[c.species] + (uint32_t)c.amount);
        s->x[c.species] = x;
        bad |= x < 0;
    }
    bad = saltus_warp_any(bad);
    SALTUS_WARP_WAIT();
    return bad;
}

SALTUS_FN saltus_table saltus_warp_open(const saltus_launch *a)
{
    const saltus_packed *t = &a->packed;
    const int64_t workspace_doubles = a->workspace_doubles / SALTUS_WARPS;
    saltus_table s;
#if SALTUS_WORKSPACE_SHARED
    s.values = saltus_shared + SALTUS_WARP_IN_BLOCK * workspace_doubles;
#else
    s.values = a->workspaces + (SALTUS_WARP_NUMBER * workspace_doubles);
#endif
    s.x = (int32_t *)(s.values + t->n_values);
    s.rows = (const saltus_row *)(t->tables + t->rows);
    s.changes = (const saltus_packed_change *)(t->tables + t->changes);
    s.dependents = (const saltus_packed_dependent *)(t->tables + t->dependents);
    s.nodes = (const saltus_packed_node *)(t->tables + t->nodes);
    return s;
}

/* Write a sample, and go on to the next. */
SALTUS_FN void saltus_warp_record(const saltus_table *s, const saltus_launch *a, double time,
                                  int lane, saltus_samples *to)
{
    for (int c = lane; c < SALTUS_COLUMNS; c += SALTUS_WARP) {
        to->counts[c] = s->x[a->columns.count_species[c] * SALTUS_BLOCK];
    }
    saltus_table_observe(s, a, time, lane, SALTUS_WARP, to);
    saltus_samples_next(to);
}

/** The kernel, as saltus_by_thread. */
SALTUS_KERNEL(saltus_by_warp, saltus_launch, a)
{
    const int64_t slot = saltus_slot(&a, SALTUS_WARP_NUMBER);
    const int lane = SALTUS_LANE_NUMBER;
    if (slot < 0 || lane >= SALTUS_WARP) {
        return;
    }
    const saltus_packed *t = &a.packed;
    saltus_table s = saltus_warp_open(&a);
    saltus_trajectory *p = a.states + slot;
    int64_t job = a.jobs[slot], sample = p->sample;
    s.point = job >= 0 ? saltus_numbers_of(&a, job) : a.points;
    int32_t *saved = a.saved + slot * t->n_species;
    uint64_t trajectory = p->trajectory, event = p->event;
    double now = p->t, stop = job >= 0 ? a.times[sample] : 0.0;
    saltus_samples to = saltus_samples_of(&a, job, sample);
    saltus_stream stream;
    saltus_warp_draws draws;
    saltus_stream_load(&stream, a.stream + slot);
    draws.valid = 0;
    for (int i = lane; i < t->n_values; i += SALTUS_WARP) {
        s.values[i] = 0.0;
    }
    for (int i = lane; i < t->n_species; i += SALTUS_WARP) {
        s.x[i] = saved[i];
    }
    s.x[t->n_species] = 1;
    int is_new = 1;
    /* a launch ends at the end of a block */
    for (uint32_t left = (uint32_t)a.slice; left > 0 || (event & 1) != 0; left -= left > 0) {
        int bad = 0;
        if (job < 0) {
            job = (int64_t)saltus_warp_take(a.next);
            if (job >= a.n_jobs) {
                job = -1;
                break;
            }
            trajectory = a.trajectories[job];
            event = 0;
            sample = 0;
            now = 0.0;
            stop = a.times[0];
            to = saltus_samples_of(&a, job, 0);
            s.point = saltus_numbers_of(&a, job);
            for (int i = lane; i < t->n_species; i += SALTUS_WARP) {
                s.x[i] = (int32_t)s.point[a.at.counts + i];
            }
            saltus_stream_start(&stream, a.stream + slot, a.seed, trajectory, a.jumps);
            is_new = 1;
            draws.valid = 0;
        }
        if (is_new) {
            SALTUS_WARP_WAIT();
            saltus_warp_follow(&s, &t->all);
            is_new = 0;
        }
        if (!draws.valid || (event >> 1) - draws.first_block >= SALTUS_WARP_BLOCKS) {
            saltus_warp_draw(&a, &stream, &draws, trajectory, event >> 1);
        }
        const int from = (int)((event >> 1) - draws.first_block), h = (int)(event & 1);
        const double wait = saltus_warp_get(h ? draws.wait[1] : draws.wait[0], from);
        const uint32_t word = saltus_warp_get_word(h ? draws.word[1] : draws.word[0], from);
        double root[8];
        saltus_table_sums(&s, t->level_values[SALTUS_LEVELS - 1], SALTUS_ROOT_CHILDREN, root);
        const double total = root[SALTUS_ROOT_CHILDREN - 1];
        double t_next = now + saltus_divide(wait, total);
        if (SALTUS_RARE(!saltus_divides(total))) {
            t_next = now + wait / (total + 0.0); /* -0 becomes 0 */
            bad = !(total < SALTUS_INFINITY);
        }
        int ended = 0;
        while (!ended && !(t_next < stop)) {
            saltus_warp_record(&s, &a, stop, lane, &to);
            ended = ++sample == a.n_times;
            stop = ended ? stop : a.times[sample];
        }
        if (!ended) {
            const int r =
                saltus_table_choose(&s, &a, root, total, saltus_from_word(word), trajectory, event);
            const saltus_packed_wide_row row = saltus_table_row(&s, r);
            SALTUS_WARP_WAIT(); /* all threads have read what changes now */
            bad |= saltus_warp_fire(&s, &row);
            saltus_warp_follow(&s, &row);
            now = t_next;
            ended = bad;
            event += !bad;
        }
        if (ended) {
            SALTUS_WARP_WAIT(); /* all threads have read what the next trajectory overwrites */
            if (lane == 0) {
                saltus_job_end(&a, job, event, bad);
            }
            job = -1;
            event = 0;
        }
    }
    SALTUS_WARP_WAIT();
    saltus_stream_save(&stream);
    for (int i = lane; i < t->n_species; i += SALTUS_WARP) {
        saved[i] = s.x[i];
    }
    if (lane == 0) {
        a.jobs[slot] = job;
        p->sample = sample;
        p->trajectory = trajectory;
        p->event = event;
        p->t = now;
        saltus_slot_leave(&a, slot, job);
    }
}
#endif

#endif
