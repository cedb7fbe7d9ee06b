#include "ranks/lots.h"

#include "core/memory.h"
#include "ranks/keep.h"

/* Read a lot's ranges: once to count them, once to keep them. */
static bool read_ranges(saltus_lot *b, size_t row_size, saltus_message *m, saltus_range *out)
{
    const double *row = NULL;
    int64_t at = 0;
    b->n_ranges = 0;
    while (at < b->n && !m->data.failed) {
        int64_t head[5]; /* trajectory, length, block, point, whether its row follows */
        SALTUS_GET(m, head);
        if (head[4]) {
            row = saltus_message_view(m, row_size * sizeof *row);
        }
        if (head[1] < 1 || head[1] > b->n - at || m->data.failed) {
            return false;
        }
        if (out) {
            out[b->n_ranges] = (saltus_range){.lot = b,
                                              .first = head[0],
                                              .n = head[1],
                                              .at = at,
                                              .block = head[2],
                                              .point = head[3],
                                              .row = head[3] ? row : NULL};
        }
        ++b->n_ranges;
        at += head[1];
    }
    return !m->data.failed && at == b->n;
}

static bool read_kept(saltus_lot *b, const saltus_task *task, saltus_message *m)
{
    bool is_good = true;
    for (int64_t i = 0; i < b->n_kept && is_good; ++i) {
        is_good = saltus_message_get_kept(m, task, &b->kept[i]);
    }
    return is_good;
}

saltus_status saltus_lot_read(const saltus_task *task, const saltus_sizes *sizes, saltus_message *m,
                              saltus_lot **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int64_t head[4]; /* name, jobs, what was asked for, jobs of which something was kept */
    saltus_lot *b = saltus_calloc(1, sizeof *b);
    if (!b) {
        saltus_message_free(m);
    }
    SALTUS_NEED(b);
    b->message = m;
    SALTUS_GET(m, head);
    b->name = head[0];
    b->n = b->n_left = head[1];
    b->n_asked = head[2];
    b->n_kept = head[3];
    b->record = 8 * (sizes->counts + sizes->observables + sizes->derived);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        b->record += 8 * sizes->splits[i];
    }
    const size_t at = m->data.at;
    bool is_good =
        b->n > 0 && b->n_kept >= 0 && b->n_kept <= b->n && read_ranges(b, sizes->row, m, NULL);
    if (!is_good) {
        SALTUS_FAIL(SALTUS_E_INTERNAL, "what rank 0 has sent makes no sense");
    }
    b->ranges = saltus_calloc((size_t)b->n_ranges, sizeof *b->ranges);
    b->kept = saltus_calloc((size_t)b->n_kept, sizeof *b->kept);
    b->memory = saltus_realloc(NULL, (size_t)b->n, b->record + 1);
    SALTUS_NEED(b->ranges && b->kept && b->memory);
    m->data.at = at;
    is_good = read_ranges(b, sizes->row, m, b->ranges) && read_kept(b, task, m);
    if (!is_good) {
        SALTUS_FAIL(SALTUS_E_INTERNAL, "what rank 0 has sent makes no sense");
    }
    *out = b;
    b = NULL;
done:
    if (b) {
        saltus_lot_free(b);
    }
    return status;
}

saltus_ticket saltus_lot_take(saltus_lot *b)
{
    saltus_range *r = &b->ranges[b->range];
    saltus_ticket ticket = {.trajectory = r->first + (b->n_taken - r->at),
                            .point = r->row,
                            .block = r,
                            .place = (int32_t)b->n_taken};
    if (b->next_kept < b->n_kept && b->kept[b->next_kept].trajectory == ticket.trajectory) {
        ticket.kept = &b->kept[b->next_kept++];
    }
    ++b->n_taken;
    b->range += b->n_taken == r->at + r->n;
    return ticket;
}

saltus_job saltus_lot_job(const saltus_task *task, const saltus_sizes *sizes,
                          const saltus_ticket *ticket)
{
    char *at = saltus_lot_samples(((const saltus_range *)ticket->block)->lot, ticket->place);
    saltus_job job = saltus_ticket_job(ticket);
    job.counts = (int64_t *)(void *)at;
    at += 8 * sizes->counts;
    job.observables = (double *)(void *)at;
    at += 8 * sizes->observables;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        job.splits[i] = (int64_t *)(void *)at;
        at += 8 * sizes->splits[i];
    }
    job.derived = task->derivation ? (double *)(void *)at : NULL;
    return job;
}

char *saltus_lot_samples(const saltus_lot *b, int64_t place)
{
    return b->memory + (size_t)place * b->record;
}

void saltus_lot_free(saltus_lot *b)
{
    saltus_message_free(b->message);
    saltus_free(b->ranges);
    saltus_free(b->kept);
    saltus_free(b->memory);
    saltus_free(b);
}
