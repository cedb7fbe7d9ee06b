#include "ranks/keep.h"

/* Bytes of n samples. */
static size_t counts_size(const saltus_task *t, int64_t n)
{
    return 8 * (size_t)n * (size_t)t->columns->n_counts;
}

static size_t observables_size(const saltus_task *t, int64_t n)
{
    return 8 * (size_t)n * (size_t)t->columns->n_observables;
}

/* So that what follows is aligned. */
static size_t padding(size_t size)
{
    return (8 - size % 8) % 8;
}

void saltus_message_put_kept(saltus_message *m, const saltus_task *task, const saltus_kept *kept)
{
    static const char zeros[8] = {0};
    const int64_t n = kept->n_samples,
                  head[] = {kept->trajectory, n, (int64_t)kept->size, kept->is_complete};
    saltus_message_put(m, head, sizeof head);
    SALTUS_PUT(m, kept->tally);
    saltus_message_put(m, kept->counts, counts_size(task, n));
    saltus_message_put(m, kept->observables, observables_size(task, n));
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        saltus_message_put(m, kept->splits[i],
                           counts_size(task, n) * (size_t)task->space.n_parts[i]);
    }
    saltus_message_put(m, kept->state, kept->size);
    saltus_message_put(m, zeros, padding(kept->size));
}

bool saltus_message_get_kept(saltus_message *m, const saltus_task *task, saltus_kept *out)
{
    int64_t head[4];
    SALTUS_GET(m, head);
    *out = (saltus_kept){.trajectory = head[0],
                         .n_samples = head[1],
                         .size = (size_t)head[2],
                         .is_complete = head[3] != 0};
    SALTUS_GET(m, out->tally);
    const int64_t n = out->n_samples;
    if (m->data.failed || n < 0 || n > task->n_times || (out->is_complete && n < task->n_times) ||
        out->size > saltus_pack_left(&m->data) || out->is_complete != (out->size == 0)) {
        return false;
    }
    out->counts = saltus_message_view(m, counts_size(task, n));
    out->observables = saltus_message_view(m, observables_size(task, n));
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        out->splits[i] =
            saltus_message_view(m, counts_size(task, n) * (size_t)task->space.n_parts[i]);
    }
    out->state = (unsigned char *)(uintptr_t)saltus_message_view(m, out->size);
    (void)saltus_message_view(m, padding(out->size));
    return !m->data.failed;
}
