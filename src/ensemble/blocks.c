#include "ensemble/blocks.h"

#include "core/memory.h"
#include "core/tally.h"

#include <string.h>

enum {
    BLOCK_BYTES = 256 << 10,  /* of a block; a sink may wish for up to LARGE_BLOCK */
    LARGE_BLOCK = 1024 << 10, /* unless one trajectory takes more */
    MAX_BLOCK = 1024,
    RING_BYTES = 96 << 20,
    MAX_RING = 4096,
    MAX_POINT_RING = 1 << 19, /* where a block is one point's, because it is reduced */
    /* Every worker fills a block of its own while another is delivered, as long as that takes no
     * more than this, or, on large machines, this much per worker. */
    BUSY_BYTES = 192 << 20,
    BUSY_WORKER_BYTES = 16 << 20,
    /* Blocks that a device reduces: what each holds of its trajectories, and of their sums, at
     * most. */
    REDUCED_BLOCK = 16 << 20,
    REDUCED_BYTES = 16 << 20
};

/* ------------------------------------------------------------------------------------------------
 * Sizes
 */

/* Trajectories of a block that is reduced: so many at most, those of a point, or all, in equal
 * parts; of all equally many for each worker, so that all end together. */
static int64_t even_size(const saltus_blocks *b, int64_t most)
{
    const int64_t n = b->points ? b->points->n_each : b->options->n_trajectories;
    const int64_t n_takers = b->points ? 1 : b->n_workers;
    const int64_t rounds = (n + n_takers * most - 1) / (n_takers * most);
    return (n + rounds * n_takers - 1) / (rounds * n_takers);
}

/* Blocks in the ring. Two of them at least: one is filled while the other is delivered. */
static int64_t ring_length(const saltus_plan *plan, int64_t n_workers, int64_t block_bytes,
                           int64_t most)
{
    const int64_t wish = plan->backend->ops->ahead_bytes;
    const int64_t ahead = wish > 0 ? wish : RING_BYTES;
    const int64_t for_workers = n_workers * (int64_t)BUSY_WORKER_BYTES;
    const int64_t busy = (for_workers > BUSY_BYTES ? for_workers : BUSY_BYTES) / block_bytes;
    int64_t ring = ahead / block_bytes;
    ring = ring < most ? ring : most;
    const int64_t wanted = busy < n_workers + 1 ? busy : n_workers + 1;
    ring = ring > wanted ? ring : wanted;
    return ring > 2 ? ring : 2;
}

/* How often each species is counted at a point. */
static int64_t n_parts(const saltus_plan *plan)
{
    int64_t n = 1;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        n += plan->n_parts[i];
    }
    return n;
}

double saltus_run_memory(const saltus_plan *plan, int64_t n_times, int64_t n_trajectories)
{
    const double columns =
        (double)plan->columns.n_counts * (double)n_parts(plan) + plan->columns.n_observables;
    const double bytes = 8.0 * (double)n_times * columns + 16.0;
    const double all = bytes * (double)n_trajectories;
    const double largest = bytes > LARGE_BLOCK ? bytes : LARGE_BLOCK;
    if (largest > 1e18) { /* more than any machine has */
        return largest;
    }
    const double most =
        largest * (double)ring_length(plan, plan->n_workers, (int64_t)largest, MAX_RING);
    return all < most ? all : most;
}

/* What the sink makes of samples, if the backend can do that where they are. */
static const saltus_reduction *choose_reduction(const saltus_blocks *b,
                                                const saltus_reduction *wanted)
{
    const saltus_columns *columns = &b->plan->columns;
    const int n_columns = columns->n_counts + columns->n_observables;
    if (!wanted || !b->plan->backend->ops->reduces || b->plan->model->network->lattice ||
        n_columns == 0) {
        return NULL;
    }
    const double bytes = saltus_reduced_bytes(wanted, columns, b->options->n_times);
    const double samples = 8.0 * (double)b->options->n_times * n_columns;
    /* of a few trajectories the samples are less than what would be made of them */
    const bool is_less = !b->points || bytes < samples * (double)b->points->n_each;
    return bytes <= REDUCED_BYTES && is_less ? wanted : NULL;
}

/* Blocks of what a worker takes at a time, two for each in the ring; of a point's, as many. */
static void choose_reduced_blocks(saltus_blocks *b)
{
    const int64_t n_workers = b->n_workers, n_runs = b->options->n_trajectories;
    const int64_t bytes = 8 * (b->counts_size + b->observables_size) + 32,
                  share = (n_runs + n_workers - 1) / n_workers;
    b->largest = even_size(b, REDUCED_BLOCK / bytes > 1 ? REDUCED_BLOCK / bytes : 1);
    const int64_t n = share < b->largest ? share : b->largest;
    const double sums = saltus_reduced_bytes(b->reduction, &b->plan->columns, b->options->n_times);
    b->n_ring = ring_length(b->plan, n_workers, bytes * n + (int64_t)sums,
                            b->points ? MAX_POINT_RING : MAX_RING);
    b->n_ring = b->n_ring > 2 * n_workers ? b->n_ring : 2 * n_workers;
}

static void choose_blocks(saltus_blocks *b, int64_t wish)
{
    const int64_t n = b->options->n_trajectories, n_workers = b->n_workers;
    const int64_t bytes = 8 * (b->counts_size * n_parts(b->plan) + b->observables_size) + 16;
    const int64_t fair = (n + 4 * n_workers - 1) / (4 * n_workers);
    int64_t size = BLOCK_BYTES / bytes;
    size = size < MAX_BLOCK ? size : MAX_BLOCK;
    size = size < fair ? size : fair;
    size = size > 1 ? size : 1;
    b->largest = wish > 0 ? wish : size;
    const int64_t ring = ring_length(b->plan, n_workers, bytes * b->largest, MAX_RING);
    const int64_t n_blocks = (n + b->largest - 1) / b->largest;
    b->n_ring = ring < n_blocks ? ring : n_blocks;
}

/* ------------------------------------------------------------------------------------------------
 * Memory
 */

static void free_buffer(saltus_buffer *m)
{
    if (m) {
        saltus_free(m->trajectories);
        saltus_free(m->is_finished);
        saltus_free(m->tallies);
        saltus_free(m->counts);
        for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
            saltus_free(m->splits[i]);
        }
        saltus_free(m->observables);
        saltus_free(m->derived);
        saltus_free(m);
    }
}

static int n_derived(const saltus_blocks *b)
{
    return b->derivation ? b->derivation->n : 0;
}

/* Memory for n trajectories: where blocks are reduced for so many, else for as many as ever. */
static saltus_status take_buffer(saltus_blocks *b, int64_t n, saltus_buffer **out,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t size = (size_t)n;
    saltus_buffer *m = b->free_buffers;
    if (m) {
        b->free_buffers = m->next_free;
        *out = m;
        return SALTUS_OK;
    }
    m = saltus_calloc(1, sizeof *m);
    SALTUS_NEED(m);
    m->trajectories = saltus_calloc(size, sizeof *m->trajectories);
    SALTUS_NEED(m->trajectories);
    m->is_finished = saltus_calloc(size, sizeof *m->is_finished);
    SALTUS_NEED(m->is_finished);
    if (b->options->checkpoint || b->points) {
        m->tallies = saltus_calloc(size, sizeof *m->tallies);
        SALTUS_NEED(m->tallies);
    }
    m->observables = saltus_calloc(size * (size_t)b->observables_size, sizeof(double));
    SALTUS_NEED(m->observables);
    m->derived = saltus_calloc(size * (size_t)n_derived(b), sizeof(double));
    SALTUS_NEED(m->derived);
    m->counts = saltus_calloc(size * (size_t)b->counts_size, sizeof *m->counts);
    SALTUS_NEED(m->counts);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        m->splits[i] = saltus_calloc(size * (size_t)b->splits_size[i], sizeof(int64_t));
        SALTUS_NEED(m->splits[i]);
    }
    *out = m;
    m = NULL;
done:
    free_buffer(m);
    return status;
}

saltus_status saltus_blocks_init(saltus_blocks *b, const saltus_plan *plan, int64_t n_workers,
                                 const saltus_run_options *options, const saltus_run_points *points,
                                 const saltus_sink *sink, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *b =
        (saltus_blocks){.plan = plan, .n_workers = n_workers, .options = options, .points = points};
    b->reduction = choose_reduction(b, sink->reduction);
    b->derivation =
        plan->backend->ops->reduces && !plan->model->network->lattice ? sink->derivation : NULL;
    b->n_points = !b->reduction ? options->n_times : b->reduction->finals ? 1 : 0;
    b->counts_size = b->n_points * plan->columns.n_counts;
    b->observables_size = b->n_points * plan->columns.n_observables;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        b->splits_size[i] = b->counts_size * plan->n_parts[i];
    }
    if (b->reduction) {
        choose_reduced_blocks(b);
    } else {
        choose_blocks(b, sink->block_trajectories);
    }
    b->next = options->n_done;
    b->ring = saltus_calloc((size_t)b->n_ring, sizeof *b->ring);
    SALTUS_NEED(b->ring);
done:
    return status;
}

void saltus_blocks_free(saltus_blocks *b)
{
    for (int64_t i = 0; b->ring && i < b->n_ring; ++i) {
        free_buffer(b->ring[i].memory);
        saltus_reduced_free(b->ring[i].reduced);
    }
    while (b->free_buffers) {
        saltus_buffer *m = b->free_buffers;
        b->free_buffers = m->next_free;
        free_buffer(m);
    }
    saltus_free(b->ring);
}

/* ------------------------------------------------------------------------------------------------
 * The way of a block
 */

static saltus_filling *newest(const saltus_blocks *b)
{
    return &b->ring[(b->n_opened - 1) % b->n_ring];
}

bool saltus_blocks_need_one(const saltus_blocks *b)
{
    return b->n_opened == 0 || b->next == newest(b)->first + newest(b)->n;
}

bool saltus_blocks_are_full(const saltus_blocks *b)
{
    return b->n_opened - b->delivered >= b->n_ring;
}

/* Of a trajectory that is counted from the first of the run. */
static int64_t number_of(const saltus_blocks *b, int64_t i)
{
    const saltus_run_points *p = b->points;
    return p ? i / p->n_each * p->apart + i % p->n_each : i;
}

saltus_status saltus_blocks_open(saltus_blocks *b, int max, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_filling *f = &b->ring[b->n_opened % b->n_ring];
    const saltus_run_points *points = b->reduction ? b->points : NULL;
    const int64_t in_point = points ? b->next % points->n_each : b->next;
    const int64_t n_left = (points ? points->n_each : b->options->n_trajectories) - in_point;
    const int64_t size = b->reduction && max < b->largest ? max : b->largest;
    const int64_t most = b->reduction ? size : size - b->next % size; /* where blocks begin */
    const int64_t n = n_left < most ? n_left : most;
    if (b->reduction) {
        SALTUS_TRY(saltus_reduced_create(b->reduction, &b->plan->columns, b->options->n_times,
                                         &f->reduced, err));
    }
    SALTUS_TRY(take_buffer(b, b->reduction ? n : size, &f->memory, err));
    f->first = b->next;
    f->n = f->n_left = n;
    f->tally = (saltus_tally){0};
    f->is_open = true;
    f->is_ready = false;
    f->prepared = NULL;
    memset(f->memory->is_finished, 0, (size_t)n);
    ++b->n_opened;
done:
    return status;
}

static const double *row_of(const saltus_blocks *b, int64_t trajectory)
{
    const saltus_run_points *p = b->points;
    return p ? p->rows + trajectory / p->n_each * p->size : NULL;
}

static saltus_ticket ticket_of(const saltus_blocks *b, saltus_filling *f, int64_t i)
{
    return (saltus_ticket){.trajectory = f->memory->trajectories[i],
                           .point = row_of(b, f->first + i),
                           .block = f,
                           .place = (int32_t)i};
}

saltus_job saltus_blocks_job(const saltus_blocks *b, const saltus_ticket *ticket)
{
    const int64_t i = ticket->place;
    const saltus_buffer *m = ((saltus_filling *)ticket->block)->memory;
    saltus_job job = saltus_ticket_job(ticket);
    job.counts = m->counts + i * b->counts_size;
    job.observables = m->observables + i * b->observables_size;
    job.derived = b->derivation ? m->derived + i * n_derived(b) : NULL;
    for (int k = 0; k < SALTUS_N_SPLITS; ++k) {
        job.splits[k] = m->splits[k] + i * b->splits_size[k];
    }
    return job;
}

saltus_piece saltus_blocks_reserve(saltus_blocks *b, int max)
{
    saltus_filling *f = newest(b);
    const int64_t n_left = f->first + f->n - b->next;
    const saltus_piece piece = {f, b->next - f->first, n_left < max ? (int)n_left : max};
    b->next += piece.n;
    return piece;
}

void saltus_blocks_write_tickets(const saltus_blocks *b, const saltus_piece *piece,
                                 saltus_ticket *tickets)
{
    saltus_filling *f = piece->block;
    for (int i = 0; i < piece->n; ++i) {
        const int64_t place = piece->first + i;
        f->memory->trajectories[place] =
            b->options->first_trajectory + number_of(b, f->first + place);
        tickets[i] = ticket_of(b, f, place);
    }
}

saltus_filling *saltus_blocks_oldest(const saltus_blocks *b)
{
    return &b->ring[b->delivered % b->n_ring];
}

void saltus_blocks_close_oldest(saltus_blocks *b)
{
    saltus_filling *f = saltus_blocks_oldest(b);
    if (f->reduced) {
        free_buffer(f->memory);
        saltus_reduced_free(f->reduced);
        f->reduced = NULL;
    } else {
        f->memory->next_free = b->free_buffers;
        b->free_buffers = f->memory;
    }
    f->memory = NULL;
    f->is_open = f->is_ready = false;
    ++b->delivered;
}

void saltus_filling_note(const saltus_job *job, saltus_tally *tally)
{
    const saltus_buffer *m = ((saltus_filling *)job->block)->memory;
    m->is_finished[job->place] = true;
    if (m->tallies) {
        m->tallies[job->place] = job->tally;
    }
    saltus_tally_add(tally, &job->tally);
}

int64_t saltus_filling_note_reduced(const saltus_ticket *tickets, int n)
{
    const saltus_buffer *m = ((saltus_filling *)tickets[0].block)->memory;
    int64_t n_reduced = 0;
    for (int i = 0; i < n; ++i) {
        m->is_finished[tickets[i].place] |= tickets[i].is_reduced;
        n_reduced += tickets[i].is_reduced;
    }
    return n_reduced;
}

bool saltus_filling_count(saltus_filling *f, int64_t n, const saltus_tally *tally)
{
    saltus_tally_add(&f->tally, tally);
    f->n_left -= n;
    return n > 0 && f->n_left == 0;
}

void saltus_blocks_keep_ended(const saltus_blocks *b, saltus_checkpoint *checkpoint)
{
    for (int64_t k = 0; k < b->n_ring && !b->reduction; ++k) {
        saltus_filling *f = &b->ring[k];
        for (int64_t i = 0; f->is_open && i < f->n; ++i) {
            if (f->memory->is_finished[i]) {
                const saltus_ticket ticket = ticket_of(b, f, i);
                saltus_job job = saltus_blocks_job(b, &ticket);
                job.tally = f->memory->tallies[i];
                saltus_checkpoint_keep_ended(checkpoint, &job);
            }
        }
    }
}

/* values[trajectory][size]: the i-th takes the place of the n-th. */
static void keep(void *values, int64_t size, int64_t n, int64_t i)
{
    char *bytes = values;
    memmove(bytes + 8 * n * size, bytes + 8 * i * size, 8 * (size_t)size);
}

int64_t saltus_blocks_keep_finished(const saltus_blocks *b, saltus_filling *f)
{
    saltus_buffer *m = f->memory;
    int64_t n = 0;
    for (int64_t i = 0; f->is_open && i < f->n; ++i) {
        if (b->points && !b->reduction && !m->is_finished[i]) {
            break;
        }
        if (m->is_finished[i]) {
            m->trajectories[n] = m->trajectories[i];
            keep(m->counts, b->counts_size, n, i);
            keep(m->observables, b->observables_size, n, i);
            keep(m->derived, n_derived(b), n, i);
            for (int k = 0; k < SALTUS_N_SPLITS; ++k) {
                keep(m->splits[k], b->splits_size[k], n, i);
            }
            ++n;
        }
    }
    f->n = n;
    return n;
}

saltus_block saltus_blocks_view(const saltus_blocks *b, const saltus_filling *f)
{
    saltus_block view = {.trajectories = f->memory->trajectories,
                         .n_trajectories = f->n,
                         .n_points = b->n_points,
                         .n_counts = b->plan->columns.n_counts,
                         .n_observables = b->plan->columns.n_observables,
                         .counts = f->memory->counts,
                         .observables = f->memory->observables,
                         .reduced = f->reduced,
                         .derived = b->derivation ? f->memory->derived : NULL,
                         .events = f->tally.events,
                         .first = f->first};
    for (int k = 0; k < SALTUS_N_SPLITS; ++k) {
        view.n_parts[k] = b->plan->n_parts[k];
        view.splits[k] = view.n_parts[k] > 0 ? f->memory->splits[k] : NULL;
    }
    return view;
}

saltus_block saltus_blocks_view_point(const saltus_blocks *b, const saltus_filling *f, int64_t i)
{
    const int64_t n_each = b->points->n_each, to_end = n_each - (f->first + i) % n_each;
    saltus_block view = saltus_blocks_view(b, f);
    view.trajectories += i;
    view.n_trajectories = to_end < f->n - i ? to_end : f->n - i;
    view.counts += i * b->counts_size;
    view.observables += i * b->observables_size;
    view.derived = view.derived ? view.derived + i * n_derived(b) : NULL;
    view.first += i;
    view.events = 0;
    for (int64_t k = i; k < i + view.n_trajectories; ++k) {
        view.events = saltus_count_sum(view.events, f->memory->tallies[k].events);
    }
    return view;
}
