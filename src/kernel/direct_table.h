/**
 * The direct method of a mass-action network with a thread per trajectory, driven by tables: counts
 * in 32 bits, propensities, and the values of the tree's nodes. They stand in a room of the
 * block's, interleaved by thread: in shared memory (the "fat" thread of Klingbeil et al. 2012,
 * doi:10.1109/TPDS.2011.214) or in global memory (the "thin" one).
 */
#ifndef SALTUS_KERNEL_DIRECT_TABLE_H
#define SALTUS_KERNEL_DIRECT_TABLE_H

#include "kernel/table.h"

#if SALTUS_DEVICE
/* Propensities and nodes that a reaction changes; two at a time, to wait for memory once. */
SALTUS_FN void saltus_table_follow(const saltus_table *s, const saltus_packed_wide_row *row)
{
    double a = 0.0;
    int more = 0;
    const saltus_packed_dependent *dependents = s->dependents + row->dependent;
    for (uint32_t i = 0; i < row->n_dependents; i += 2) {
        const saltus_packed_dependent d = dependents[i], e = dependents[i + 1];
        const double b = saltus_table_law(s, &d, a, more);
        more = d.reaction & SALTUS_PACKED_MORE;
        a = saltus_table_law(s, &e, b, more);
        if (!more) {
            s->values[d.reaction * SALTUS_BLOCK] = b;
        }
        more = e.reaction & SALTUS_PACKED_MORE;
        if (!more) {
            s->values[e.reaction * SALTUS_BLOCK] = a;
        }
    }
    const saltus_packed_node *nodes = s->nodes + row->node;
    for (uint32_t i = 0; i < row->n_nodes; ++i) {
        double sums[8];
        const saltus_packed_node node = nodes[i];
        saltus_table_sums(s, node.first, SALTUS_FANOUT, sums);
        s->values[node.value * SALTUS_BLOCK] = sums[SALTUS_FANOUT - 1];
    }
}

/* Change the counts. Returns 1 when one has become negative or more than 31 bits hold. */
SALTUS_FN int saltus_table_fire(const saltus_table *s, const saltus_packed_wide_row *row)
{
    int bad = 0;
    const saltus_packed_change *changes = s->changes + row->change;
    for (uint32_t i = 0; i < row->n_changes; i += 2) {
        const saltus_packed_change c = changes[i], d = changes[i + 1];
        const int32_t x = (int32_t)((uint32_t)s->x[c.species * SALTUS_BLOCK] + (uint32_t)c.amount),
                      y = (int32_t)((uint32_t)s->x[d.species * SALTUS_BLOCK] + (uint32_t)d.amount);
        s->x[c.species * SALTUS_BLOCK] = x;
        s->x[d.species * SALTUS_BLOCK] = y;
        bad |= (x | y) < 0;
    }
    return bad;
}

/* Where this thread's numbers and the tables are; copies the tables if they are to be shared. */
SALTUS_FN saltus_table saltus_table_open(const saltus_launch *a)
{
    const saltus_packed *t = &a->packed;
    const int in_block = SALTUS_THREAD_IN_BLOCK;
    saltus_table s;
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
    s.rows = (const saltus_row *)(tables + t->rows);
    s.changes = (const saltus_packed_change *)(tables + t->changes);
    s.dependents = (const saltus_packed_dependent *)(tables + t->dependents);
    s.nodes = (const saltus_packed_node *)(tables + t->nodes);
    return s;
}

/** As saltus_registers: anything unusual ends the trajectory, which is rerun on the CPU. */
SALTUS_KERNEL(saltus_by_table, saltus_launch, a)
{
    const int64_t slot = saltus_slot(&a, SALTUS_THREAD);
    const uint32_t n_times = (uint32_t)a.n_times;
    const saltus_packed *t = &a.packed;
    const saltus_table s = saltus_table_open(&a); /* all threads copy the tables */
    if (slot < 0) {
        return;
    }
    saltus_path *p = a.paths + slot;
    saltus_stream stream;
    int32_t job = (int32_t)a.jobs[slot], *saved = a.saved + slot;
    uint32_t sample = (uint32_t)p->sample;
    uint64_t trajectory = p->trajectory, block = p->event >> 1;
    double now = p->t, stop = job >= 0 ? a.times[sample] : 0.0;
    saltus_samples to = saltus_table_samples(&a, job, sample);
    saltus_stream_load(&stream, a.stream + slot);
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
            saltus_stream_start(&stream, a.stream + slot, a.seed, trajectory, a.jumps);
            is_new = 1;
        }
        if (is_new) {
            saltus_table_follow(&s, &t->all);
            is_new = 0;
        }
        saltus_stream_next(&stream, a.keys, trajectory, block, w);
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
                saltus_table_record(&s, &a, stop, 0, 1, &to);
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
            const saltus_packed_wide_row row = saltus_table_row(&s, r);
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
    saltus_stream_save(&stream);
    a.jobs[slot] = job;
    p->sample = sample;
    p->trajectory = trajectory;
    p->event = 2 * block;
    p->t = now;
    saltus_slot_leave(&a, slot, job);
}
#endif

#endif
