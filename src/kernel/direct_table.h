/**
 * The direct method of a mass-action network with a thread per trajectory, driven by tables: counts
 * in 32 bits, propensities, and the values of the tree's nodes. They stand in a room of the
 * block's, interleaved by thread: in shared memory (the "fat" thread of Klingbeil et al. 2012,
 * doi:10.1109/TPDS.2011.214) or in global memory (the "thin" one).
 *
 * Tables, sums and choices are those of direct_tree.h, and so are the bits; running sums are made
 * when they are needed instead of kept. Before this header is included, the host defines
 *
 *     SALTUS_BLOCK          threads per block
 *     SALTUS_LEVELS         levels of the tree, 1 or more
 *     SALTUS_ROOT_CHILDREN  children of its root, 1 to 8
 *     SALTUS_ROOM_SHARED    1: the room is in shared memory
 *     SALTUS_TABLES_SHARED  1: a copy of the tables is there too
 */
#ifndef SALTUS_KERNEL_DIRECT_TABLE_H
#define SALTUS_KERNEL_DIRECT_TABLE_H

#include "kernel/direct_tree.h"
#include "kernel/launch.h"

#if SALTUS_DEVICE
/** One thread's numbers: number i stands at i * SALTUS_BLOCK. */
typedef struct saltus_table_thread {
    double *values; /**< propensities, then nodes but the root, as in tables.h */
    int32_t *x;     /**< counts, then a 1 for the factor that is not there */
    const saltus_packed_row *rows;
    const saltus_packed_change *changes;
    const saltus_packed_dependent *dependents;
    const saltus_packed_node *nodes;
} saltus_table_thread;

/* Running sums of n values from number `first` on. */
SALTUS_FN void saltus_table_sums(const saltus_table_thread *s, int first, int n, double sums[8])
{
    const double *c = s->values + first * SALTUS_BLOCK;
    sums[0] = c[0];
    SALTUS_UNROLL
    for (int k = 1; k < n; ++k) {
        sums[k] = sums[k - 1] + c[k * SALTUS_BLOCK];
    }
}

/* The child in whose interval *low lies; *low and *high become relative to it. *near: a boundary
 * lies between them, or may do so as far as the upper halves of their bits tell; `exact` looks at
 * all bits. */
SALTUS_FN int saltus_table_pick(const double sums[8], int n, double *low, double *high, int exact,
                                int *near)
{
    const double last = sums[n - 1];
    *low = *low < last ? *low : saltus_below(last);
    double up = last, base = n > 1 ? sums[n > 1 ? n - 2 : 0] : 0.0;
    int child = n - 1;
    SALTUS_UNROLL
    for (int k = n - 2; k >= 0; --k) {
        const int above = sums[k] > *low;
        up = above ? sums[k] : up;
        base = above ? (k > 0 ? sums[k > 0 ? k - 1 : 0] : 0.0) : base;
        child -= above;
    }
    *near |= exact ? up < *high : saltus_high_word(up) <= saltus_high_word(*high);
    *low -= base;
    *high -= base;
    return child;
}

/* The reaction whose interval holds low; `root` are the root's running sums. */
SALTUS_FN int saltus_table_find(const saltus_table_thread *s, const saltus_packed *t,
                                const double root[8], double low, double high, int exact, int *near)
{
    int node = saltus_table_pick(root, SALTUS_ROOT_CHILDREN, &low, &high, exact, near);
    SALTUS_UNROLL
    for (int level = SALTUS_LEVELS - 2; level >= 0; --level) {
        double sums[8];
        node *= SALTUS_FANOUT;
        saltus_table_sums(s, t->level_values[level] + node, SALTUS_FANOUT, sums);
        node += saltus_table_pick(sums, SALTUS_FANOUT, &low, &high, exact, near);
    }
    return node;
}

SALTUS_FN int saltus_table_choose(const saltus_table_thread *s, const saltus_launch *a,
                                  const double root[8], double total, double word,
                                  uint64_t trajectory, uint64_t event)
{
    const double unit = total * SALTUS_TWO_M32, low = word * unit;
    int near = 0;
    int r = saltus_table_find(s, &a->packed, root, low, low + unit, 0, &near);
    if (SALTUS_RARE(near)) {
        near = 0;
        r = saltus_table_find(s, &a->packed, root, low, low + unit, 1, &near);
        if (near) {
            const double goal = saltus_choice_refined(total, word, a->seed, trajectory, event);
            r = saltus_table_find(s, &a->packed, root, goal, 0.0, 1, &near);
        }
    }
    return r;
}

/* Propensities and nodes that reaction r changes. */
SALTUS_FN void saltus_table_follow(const saltus_table_thread *s, const saltus_packed_row *row)
{
    double a = 0.0;
    int more = 0;
    for (int i = row->dependent; i < row->dependent_end; ++i) {
        const saltus_packed_dependent d = s->dependents[i];
        const double first = saltus_from_int(s->x[d.first * SALTUS_BLOCK]),
                     second = saltus_from_int(s->x[d.second * SALTUS_BLOCK] - d.offset);
        a = (more ? a : d.rate) * first * second;
        more = d.reaction & SALTUS_PACKED_MORE;
        if (!more) {
            s->values[d.reaction * SALTUS_BLOCK] = a;
        }
    }
    for (int i = row->node; i < row->node_end; ++i) {
        double sums[8];
        saltus_table_sums(s, s->nodes[i].first, SALTUS_FANOUT, sums);
        s->values[s->nodes[i].value * SALTUS_BLOCK] = sums[SALTUS_FANOUT - 1];
    }
}

/* Change the counts. Returns 1 when one has become negative or more than 31 bits hold. */
SALTUS_FN int saltus_table_fire(const saltus_table_thread *s, const saltus_packed_row *row)
{
    int bad = 0;
    for (int i = row->change; i < row->change_end; ++i) {
        const saltus_packed_change c = s->changes[i];
        const int32_t x = (int32_t)((uint32_t)s->x[c.species * SALTUS_BLOCK] + (uint32_t)c.amount);
        s->x[c.species * SALTUS_BLOCK] = x;
        bad |= x < 0;
    }
    return bad;
}

SALTUS_FN void saltus_table_record(const saltus_table_thread *s, const saltus_launch *a,
                                   double time, saltus_samples *to)
{
    const saltus_columns *columns = a->columns;
    const saltus_tables *t = a->tables;
    for (int c = 0; c < columns->n_counts; ++c) {
        to->counts[c] = s->x[columns->count_species[c] * SALTUS_BLOCK];
    }
    for (int o = 0; o < columns->n_observables; ++o) {
        const saltus_observable *q = &columns->observables[o];
        double v[2] = {q->value, q->divisor};
        for (int k = 0; k < 2; ++k) {
            const int row = k == 0 ? q->row : q->divisor_row;
            if (row >= 0) {
                v[k] = row < t->n_species   ? (double)s->x[row * SALTUS_BLOCK]
                       : row < t->row_flags ? t->initial_variables[row - t->row_variables]
                       : row == t->row_time ? time
                       : row == t->row_one  ? 1.0
                                            : t->constants[row - t->row_constants];
            }
        }
        to->observables[o] = v[0] / v[1];
    }
    to->counts += columns->n_counts;
    to->observables += columns->n_observables;
}

SALTUS_FN saltus_samples saltus_table_samples(const saltus_launch *a, int64_t job, int64_t sample)
{
    const int64_t record = job * a->n_times + sample;
    saltus_samples to;
    to.counts = a->counts + record * a->columns->n_counts;
    to.observables = a->observables + record * a->columns->n_observables;
    return to;
}

/* Where this thread's numbers and the tables are; copies the tables if they are to be shared. */
SALTUS_FN saltus_table_thread saltus_table_open(const saltus_launch *a)
{
    const saltus_packed *t = &a->packed;
    const int in_block = SALTUS_THREAD_IN_BLOCK;
    saltus_table_thread s;
#if SALTUS_ROOM_SHARED
    double *room = saltus_shared;
    char *copy = (char *)(saltus_shared + a->room_doubles);
#else
    double *room = a->rooms + SALTUS_BLOCK_NUMBER * a->room_doubles;
    char *copy = (char *)saltus_shared;
#endif
#if SALTUS_TABLES_SHARED
    const char *tables = copy;
    saltus_block_copy((double *)copy, (const double *)t->tables, (int)(t->bytes / 8));
#else
    const char *tables = t->tables;
    (void)copy;
#endif
    s.values = room + in_block;
    s.x = (int32_t *)(room + (int64_t)t->n_values * SALTUS_BLOCK) + in_block;
    s.rows = (const saltus_packed_row *)(tables + t->rows);
    s.changes = (const saltus_packed_change *)(tables + t->changes);
    s.dependents = (const saltus_packed_dependent *)(tables + t->dependents);
    s.nodes = (const saltus_packed_node *)(tables + t->nodes);
    return s;
}

/** As saltus_registers: anything unusual ends the trajectory, which is rerun on the CPU. */
SALTUS_KERNEL(saltus_table, saltus_launch, a)
{
    const int64_t slot = saltus_slot(&a, SALTUS_THREAD);
    const uint32_t n_times = (uint32_t)a.n_times;
    const saltus_packed *t = &a.packed;
    const saltus_table_thread s = saltus_table_open(&a); /* all threads copy the tables */
    if (slot < 0) {
        return;
    }
    saltus_path *p = a.paths + slot;
    int32_t job = (int32_t)a.jobs[slot], *saved = a.saved + slot;
    uint32_t sample = (uint32_t)p->sample;
    uint64_t trajectory = p->trajectory, block = p->event >> 1;
    double now = p->t, stop = job >= 0 ? a.times[sample] : 0.0;
    saltus_samples to = saltus_table_samples(&a, job, sample);
    for (int i = 0; i < t->n_values; ++i) {
        s.values[i * SALTUS_BLOCK] = 0.0;
    }
    for (int i = 0; i < t->n_species; ++i) {
        s.x[i * SALTUS_BLOCK] = saved[SALTUS_AT(i)];
    }
    s.x[t->n_species * SALTUS_BLOCK] = 1;
    int is_new = 1;
    for (uint32_t left = (uint32_t)a.slice / 2; left > 0; --left, ++block) {
        uint32_t w[4];
        if (job < 0) {
            const uint64_t next = SALTUS_TAKE_NUMBER(a.next);
            if (next >= (uint64_t)a.n_jobs) {
                break;
            }
            job = (int32_t)next;
            trajectory = a.trajectories[job];
            block = 0;
            sample = 0;
            now = 0.0;
            stop = a.times[0];
            to = saltus_table_samples(&a, job, 0);
            for (int i = 0; i < t->n_species; ++i) {
                s.x[i * SALTUS_BLOCK] = (int32_t)a.tables->initial_counts[i];
            }
            is_new = 1;
        }
        if (is_new) {
            saltus_table_follow(&s, &s.rows[t->n_reactions]);
            is_new = 0;
        }
        saltus_philox_keyed(a.keys, SALTUS_PURPOSE_EVENT, trajectory, block, w);
        for (int h = 0; h < 2; ++h) {
            const uint64_t event = 2 * block + (uint64_t)h;
            const uint32_t wait_word = h == 0 ? w[0] : w[2], choice = h == 0 ? w[1] : w[3];
            int bad = 0;
            double root[8], wait = saltus_exponential32(wait_word);
            if (SALTUS_RARE(wait_word == 0)) {
                wait = saltus_wait_refined(a.seed, trajectory, event);
            }
            saltus_table_sums(&s, t->level_values[SALTUS_LEVELS - 1], SALTUS_ROOT_CHILDREN, root);
            const double total = root[SALTUS_ROOT_CHILDREN - 1];
            double t_next = now + saltus_divide(wait, total);
            if (SALTUS_RARE(!saltus_divides(total))) {
                t_next = now + wait / (total + 0.0); /* -0 becomes 0 */
                bad = !(total < SALTUS_INFINITY);
            }
            while (!(t_next < stop)) {
                saltus_table_record(&s, &a, stop, &to);
                if (++sample == n_times) {
                    saltus_job_end(&a, job, event, bad);
                    job = -1;
                    break;
                }
                stop = a.times[sample];
            }
            if (job < 0) {
                break;
            }
            const int r = saltus_table_choose(&s, &a, root, total, saltus_from_word(choice),
                                              trajectory, event);
            const saltus_packed_row row = s.rows[r];
            bad |= saltus_table_fire(&s, &row);
            saltus_table_follow(&s, &row);
            now = t_next;
            if (SALTUS_RARE(bad)) {
                saltus_job_end(&a, job, event, bad);
                job = -1;
                break;
            }
        }
    }
    for (int i = 0; i < t->n_species; ++i) {
        saved[SALTUS_AT(i)] = s.x[i * SALTUS_BLOCK];
    }
    a.jobs[slot] = job;
    p->sample = sample;
    p->trajectory = trajectory;
    p->event = 2 * block;
    p->t = now;
    saltus_slot_leave(&a, slot, job);
}
#endif

#endif
