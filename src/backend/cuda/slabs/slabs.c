/* One lattice over several GPUs, or over parts of one: slabs of planes along z, each of which holds
 * counts (rdme/counts.c). A particle that leaves a slab is added to a halo in the neighbour's
 * memory, from where the neighbour adds it to its sites when it loads its first or last plane in
 * the next phase. kernel/rdme/lattice.h (saltus_mpd_slab) draws the memory, kernel/rdme/halo_sync.h
 * the exchange.
 *
 * So a phase of a slab waits for the phase before it of its neighbours, and the host waits for
 * none. There are three ways:
 *
 *     joint    Each slab has a GPU of its own. A launch is many phases, and blocks beside
 *              another slab wait for the blocks beside them there, by flags in GPU memory.
 *     events   Slabs share a GPU. A launch is a phase, and waits for events of the neighbours.
 *     staged   GPUs do not reach each other's memory. As events; halos are copied by way of
 *              the host (staging.c).
 *
 * Example of events, three slabs: `done[0]` of a slab is recorded behind its even launches,
 * `done[1]` behind its odd ones. Launch 7 of slab 1 waits for done[0] of slabs 0 and 2, which is
 * their launch 6. */
#include "backend/cuda/slabs/slabs.h"

#include "core/memory.h"
#include "engine/peers.h"

typedef saltus_gpu_slab slab;
typedef saltus_gpu_slabs slabs;

enum { ENDED_BYTES = 2 * SALTUS_APART * (int)sizeof(uint64_t) };

#define CU(s, call, what) SALTUS_TRY(saltus_cuda_check((s)->c.on.cu, (s)->c.on.cu->call, what, err))

saltus_status saltus_gpu_slab_use(const slab *s, saltus_error *err)
{
    return saltus_cuda_check(s->c.on.cu, s->c.on.cu->context_use(s->c.on.gpu->context),
                             "using a GPU", err);
}

/* ------------------------------------------------------------------------------------------------
 * The engine
 */

/* Whether other processes have the other slabs; these are reached when a batch runs. */
static bool has_peers(const slabs *s)
{
    return s->slab[s->first].c.on.task->peers != NULL;
}

saltus_status saltus_gpu_slabs_widen(slabs *s, int bits, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = s->first; i < s->end; ++i) {
        while (s->slab[i].c.bits < bits) {
            SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
            SALTUS_TRY(saltus_gpu_counts_gather(&s->slab[i].c, err));
            SALTUS_TRY(saltus_gpu_counts_restore(&s->slab[i].c, err));
        }
    }
done:
    return status;
}

/* Give all slabs as many bits as the one that has most. */
static saltus_status level(slabs *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int most = 0;
    for (int i = s->first; i < s->end; ++i) {
        most = s->slab[i].c.bits > most ? s->slab[i].c.bits : most;
    }
    SALTUS_TRY(saltus_gpu_slabs_widen(s, most, err));
    if (!has_peers(s)) {
        saltus_gpu_slabs_connect(s);
    }
done:
    return status;
}

static saltus_status begin(void *user, int64_t trajectory, const saltus_contents *from,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    slabs *s = user;
    if (s->is_connected) {
        SALTUS_TRY(saltus_gpu_slabs_let_go(s, err));
    }
    for (int i = s->first; i < s->end; ++i) {
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(saltus_gpu_counts_start_begin(&s->slab[i].c, trajectory, from, err));
    }
    for (int i = s->first; i < s->end; ++i) {
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(saltus_gpu_counts_end_begin(&s->slab[i].c, err));
    }
    SALTUS_TRY(level(s, err));
    saltus_gpu_slabs_start_balance(s);
done:
    return status;
}

static saltus_status gather(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    slabs *s = user;
    if (s->balances) {
        SALTUS_TRY(saltus_gpu_slabs_balance(s, err));
    }
    for (int i = s->first; i < s->end; ++i) {
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(saltus_gpu_counts_gather(&s->slab[i].c, err));
        CU(&s->slab[i], event_record(s->slab[i].done[s->n_launches % 2], s->slab[i].c.on.stream),
           "running a kernel");
    }
    ++s->n_launches;
done:
    return status;
}

/* The next launch of slab i waits for the launch before it of its neighbours. Staged, it also
 * fetches the arrivals. */
static saltus_status wait_for_neighbours(const slabs *s, int i, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    slab *this = &s->slab[i];
    SALTUS_TRY(saltus_gpu_slab_use(this, err));
    for (int side = 0; side < 2; ++side) {
        const slab *other = saltus_gpu_slabs_next(s, i, side);
        if (other && !other->is_remote) {
            CU(this, stream_wait_event(this->c.on.stream, other->done[(s->n_launches + 1) % 2], 0),
               "running a kernel");
        }
    }
    if (s->is_staged && s->n_ended > s->began) {
        SALTUS_TRY(saltus_gpu_slabs_fetch(s, i, err));
    }
done:
    return status;
}

/* Launch n phases of a batch. */
static saltus_status launch_phases(slabs *s, int i, const saltus_mpd_phase *phases, int n,
                                   bool is_timed, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    slab *this = &s->slab[i];
    saltus_gpu_counts *c = &this->c;
    int launched = 0;
    c->on.a.m.slab.halo_flags.phases = (uint64_t)s->n_ended;
    if (is_timed) {
        CU(this, event_record(this->timed[0], c->on.stream), "running a kernel");
    }
    SALTUS_TRY(saltus_gpu_counts_launch(c, phases, n, &launched, err));
    if (is_timed) {
        CU(this, event_record(this->timed[1], c->on.stream), "running a kernel");
    }
    c->on.a.set = (c->on.a.set + n) & 1;
    if (s->is_staged) {
        SALTUS_TRY(saltus_gpu_slabs_send(s, i, err));
    }
done:
    return status;
}

/* Launch the kernel that adds the arrivals of the last phase to the sites. */
static saltus_status launch_arrival(const slab *this, saltus_error *err)
{
    const saltus_gpu_counts *c = &this->c;
    const int64_t height = saltus_gpu_counts_sites(c), beside = 2 * c->halo;
    return saltus_gpu_lattice_launch(&c->on, c->arrive, c->on.block,
                                     height < beside ? height : beside, err);
}

/* The next launch of each slab: n phases, or (0) the arrivals of the last one. */
static saltus_status launch_all(slabs *s, const saltus_mpd_phase *phases, int n, bool are_timed,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = s->first; i < s->end; ++i) {
        slab *this = &s->slab[i];
        SALTUS_TRY(wait_for_neighbours(s, i, err));
        SALTUS_TRY(n > 0 ? launch_phases(s, i, phases, n, are_timed, err)
                         : launch_arrival(this, err));
        CU(this, event_record(this->done[s->n_launches % 2], this->c.on.stream),
           "running a kernel");
    }
    s->n_ended += n;
    ++s->n_launches;
done:
    return status;
}

/* Take the lock for launches in which slabs wait for each other, until they have ended. Launches of
 * two runs could start on different GPUs in different order, and wait for each other forever. */
static void take_turn(slabs *s)
{
    if (s->is_joint) {
        (void)pthread_mutex_lock(&s->slab[s->first].c.on.gpus->joint);
        s->has_turn = true;
    }
}

static void end_turn(slabs *s)
{
    if (s->slab && s->has_turn) {
        (void)pthread_mutex_unlock(&s->slab[s->first].c.on.gpus->joint);
        s->has_turn = false;
    }
}

/* Make blocks that wait for another slab stop waiting, because it will not come. */
static void give_up(const slabs *s)
{
    const uint64_t lost = 1;
    for (int i = s->first; i < s->end && s->has_turn; ++i) {
        const saltus_gpu_lattice *on = &s->slab[i].c.on;
        (void)on->cu->context_use(on->gpu->context);
        (void)on->cu->upload((uintptr_t)on->a.m.slab.halo_flags.lost, &lost, sizeof lost, NULL);
    }
}

/* Run a batch. Its last launch is timed. */
static saltus_status run(void *user, const saltus_mpd_phase *phases, int n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    slabs *s = user;
    for (int i = s->first; i < s->end; ++i) {
        s->slab[i].c.on.a.m.first_step = phases[0].step;
        s->slab[i].c.on.batch = n;
    }
    if (has_peers(s) && !s->is_connected) {
        SALTUS_TRY(saltus_gpu_slabs_reach_out(s, err));
    }
    s->n_since += n;
    s->began = s->n_ended;
    take_turn(s);
    saltus_status launched = SALTUS_OK;
    for (int p = 0, some = s->is_joint ? n : 1; p < n + some; p += some) {
        const int here = p < n ? some : 0; /* 0: the arrivals of the last one */
        if (p > 0) {
            SALTUS_TRY(saltus_gpu_slabs_pass(s, &launched, err));
        }
        if (launched == SALTUS_OK) {
            launched = launch_all(s, here ? &phases[p] : NULL, here,
                                  s->takes_times && here && p + some == n, err);
        }
    }
    SALTUS_TRY(launched);
    for (int i = s->first; i < s->end; ++i) {
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(saltus_gpu_lattice_end_batch(&s->slab[i].c.on, err));
    }
done:
    return status;
}

/* Fail if a slab has waited for a neighbour in vain. */
static saltus_status check_lost(const slabs *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = s->first; i < s->end; ++i) {
        const saltus_gpu_lattice *on = &s->slab[i].c.on;
        if (on->is_lost) {
            status = saltus_error_set(
                err, SALTUS_E_DEVICE,
                "slab %d of %d, on GPU %d (%s), waited a minute for a slab beside it, in vain",
                i + 1, s->n, on->gpu->ordinal, on->gpu->name);
            saltus_error_hint(err,
                              "is another program at work on these GPUs? `no_peer` does without "
                              "waiting");
            return status;
        }
    }
    return status;
}

/* All slabs have ended a batch, which took as long as the slowest of them. */
static void learn(slabs *s)
{
    double us = 0.0;
    bool can_spread = false;
    for (int i = s->first; i < s->end; ++i) {
        const saltus_gpu_counts *c = &s->slab[i].c;
        us = c->on.batch_us > us ? c->on.batch_us : us;
        can_spread |= saltus_gpu_counts_can_spread(c);
    }
    if (saltus_gpu_schedule_learn(&s->schedule, can_spread, us, s->slab[s->first].c.on.batch)) {
        for (int i = s->first; i < s->end; ++i) {
            saltus_gpu_counts_spread(&s->slab[i].c, !s->slab[i].c.is_spread);
            saltus_gpu_slabs_sync(s, i);
        }
    }
}

/* The work of a batch is that of one GPU, because all GPUs work at the same time. */
static saltus_status poll(void *user, saltus_mpd_batch_status *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    slabs *s = user;
    const int n_gpus = s->slab[s->first].c.on.gpus->n;
    *out = (saltus_mpd_batch_status){0};
    for (int i = s->first; i < s->end; ++i) {
        saltus_mpd_batch_status one = {0};
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(saltus_gpu_lattice_poll(&s->slab[i].c.on, &one, err));
        for (int side = 0; side < 2; ++side) {
            s->slab[i].passed += s->slab[i].c.on.passed[side];
            s->slab[i].waited += s->slab[i].c.on.waited[side];
        }
        out->work += one.work / (s->n < n_gpus ? s->n : n_gpus);
        out->fired += one.fired;
        out->failure = saltus_mpd_first_failure(out->failure, one.failure);
        out->is_full |= one.is_full;
    }
    if (s->takes_times) {
        SALTUS_TRY(saltus_gpu_slabs_take_times(s, err));
    }
    learn(s);
    SALTUS_TRY(check_lost(s, err)); /* only now, because the first failure counts */
    end_turn(s);
done:
    return status;
}

static saltus_status restore(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    slabs *s = user;
    if (s->is_connected) {
        SALTUS_TRY(saltus_gpu_slabs_let_go(s, err));
    }
    for (int i = s->first; i < s->end; ++i) {
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(saltus_gpu_counts_restore(&s->slab[i].c, err));
        CU(&s->slab[i], stream_wait(s->slab[i].c.on.stream), "running a kernel");
    }
    if (!has_peers(s)) {
        saltus_gpu_slabs_connect(s);
    }
    saltus_gpu_slabs_forget_times(s);
    s->schedule = (saltus_gpu_schedule){0};
done:
    return status;
}

/* Sum over the slabs into out[n]: the counts of all species or, if there is `how`, those of the
 * parts of a split. All slabs start before the first one ends. */
static saltus_status sum_slabs(slabs *s, const saltus_split *how, int64_t n, int64_t *out,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = s->first; i < s->end; ++i) {
        saltus_gpu_lattice *on = &s->slab[i].c.on;
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(how ? saltus_gpu_lattice_start_split(on, *how, err)
                       : saltus_gpu_lattice_start_count(on, err));
    }
    for (int i = s->first; i < s->end; ++i) {
        saltus_gpu_counts *c = &s->slab[i].c;
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(how ? saltus_gpu_lattice_end_split(&c->on, *how, s->sums, err)
                       : saltus_gpu_counts_end_count(c, s->sums, err));
        for (int64_t k = 0; k < n; ++k) {
            out[k] = s->sums[k] + (i > s->first ? out[k] : 0);
        }
    }
done:
    return status;
}

static saltus_status count(void *user, int64_t *totals, saltus_error *err)
{
    slabs *s = user;
    return sum_slabs(s, NULL, s->slab[s->first].c.on.a.m.n_species, totals, err);
}

static saltus_status split(void *user, saltus_split how, int64_t *out, saltus_error *err)
{
    slabs *s = user;
    const saltus_gpu_lattice *on = &s->slab[s->first].c.on;
    const int64_t n_parts = on->task->space.n_parts[how];
    return sum_slabs(s, &how, n_parts * on->a.n_counts, out, err);
}

static saltus_status collect(void *user, saltus_contents *contents, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    slabs *s = user;
    for (int i = s->first; i < s->end; ++i) {
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(saltus_gpu_counts_collect(&s->slab[i].c, contents, err));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Work
 */

/* Set up slab i on a GPU, a copy of `start`. */
static saltus_status set_up_one(slabs *s, int i, const saltus_gpu_lattice *start,
                                const saltus_gpu *gpu, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    slab *this = &s->slab[i];
    const double *heights = start->task->slabs;
    const int64_t n_planes = start->tables.lattice->size[2],
                  begin = saltus_slabs_begin(heights, s->n, i, n_planes, s->unit),
                  end = saltus_slabs_begin(heights, s->n, i + 1, n_planes, s->unit);
    this->c.on = *start;
    this->c.on.gpu = gpu;
    SALTUS_TRY(saltus_gpu_slab_use(this, err));
    SALTUS_TRY(saltus_gpu_counts_set_up(&this->c, s->plane * begin, s->plane * end, err));
    this->c.on.watch.worker = i; /* a row of the trace for each slab */
    SALTUS_TRY(saltus_gpu_lattice_alloc(&this->c.on, &this->ended, ENDED_BYTES, err));
    CU(this, fill(this->ended, 0, ENDED_BYTES, this->c.on.stream), "clearing GPU memory");
    CU(this, stream_wait(this->c.on.stream), "clearing GPU memory");
    for (int k = 0; k < 2; ++k) {
        CU(this, event_create(&this->done[k], CU_EVENT_NO_TIMING), "making an event");
        CU(this, event_create(&this->timed[k], 0), "making an event");
    }
done:
    return status;
}

static saltus_status set_up(slabs *s, const saltus_gpu_lattice *start, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_task *task = start->task;
    const saltus_lattice *l = start->tables.lattice;
    int64_t capacity = start->tables.m.n_species;
    int order[SALTUS_MAX_GPUS];
    for (int how = 0; how < SALTUS_N_SPLITS; ++how) {
        const int64_t parts = (int64_t)task->space.n_parts[how] * task->columns->n_counts;
        capacity = parts > capacity ? parts : capacity;
    }
    s->n = task->n_slabs;
    s->first = task->peers ? task->peers->number : 0;
    s->end = task->peers ? s->first + 1 : s->n;
    s->plane = saltus_lattice_plane(l);
    s->unit = saltus_slabs_unit(s->plane, saltus_cuda_n_fields(&start->tables));
    s->balances = task->balances_slabs && s->unit * task->n_slabs <= l->size[2];
    s->unit = s->balances ? s->unit : 1;
    s->takes_times = s->balances || task->tracer;
    s->is_ring = l->faces[SALTUS_FACE_Z_HIGH] == SALTUS_FACE_PERIODIC;
    saltus_gpu_slabs_order(start->gpus, l, task->slabs, s->n, order);
    SALTUS_TRY(saltus_gpu_slabs_check(s, start, order, err));
    s->slab = saltus_calloc((size_t)s->n, sizeof *s->slab);
    s->sums = saltus_calloc((size_t)capacity, sizeof *s->sums);
    SALTUS_NEED(s->slab && s->sums);
    for (int i = s->first; i < s->end; ++i) {
        SALTUS_TRY(set_up_one(s, i, start, &start->gpus->gpu[order[i % start->gpus->n]], err));
    }
    if (task->peers) {
        goto done; /* the neighbours are reached when all are set up */
    }
    s->is_staged = task->avoids_peers;
    SALTUS_TRY(saltus_gpu_slabs_choose_launches(s, err));
    if (s->is_staged) {
        SALTUS_TRY(saltus_gpu_slabs_stage(s, err));
    }
done:
    return status;
}

static void tear_down(slabs *s)
{
    /* no slab frees memory that a kernel of another may still read */
    give_up(s);
    for (int i = s->first; s->slab && i < s->end && s->slab[i].c.on.cu; ++i) {
        const saltus_gpu_lattice *on = &s->slab[i].c.on;
        if (on->stream) {
            (void)on->cu->context_use(on->gpu->context);
            (void)on->cu->stream_wait(on->stream);
        }
    }
    end_turn(s);
    for (int i = s->first; s->slab && i < s->end && s->slab[i].c.on.cu; ++i) {
        slab *this = &s->slab[i];
        (void)this->c.on.cu->context_use(this->c.on.gpu->context);
        saltus_gpu_counts_tear_down(&this->c);
        saltus_gpu_lattice_free(&this->c.on, &this->before);
        saltus_gpu_lattice_free(&this->c.on, &this->ended);
        saltus_gpu_slab_unstage(this->c.on.cu, this);
        for (int k = 0; k < 2; ++k) {
            if (this->done[k]) {
                (void)this->c.on.cu->event_destroy(this->done[k]);
            }
            if (this->timed[k]) {
                (void)this->c.on.cu->event_destroy(this->timed[k]);
            }
        }
    }
    for (int i = 0; s->slab && i < s->n; ++i) {
        if (s->slab[i].is_remote) {
            saltus_gpu_slab_unstage(s->slab[s->first].c.on.cu, &s->slab[i]);
        }
    }
    saltus_free(s->slab);
    saltus_free(s->sums);
}

saltus_status saltus_cuda_work_slabs(const saltus_gpu_lattice *start, const saltus_source *source,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    slabs s = {0};
    const saltus_mpd_engine engine = {&s,    begin, gather,  run,  poll, restore,
                                      count, split, collect, NULL, NULL};
    SALTUS_TRY(set_up(&s, start, err));
    SALTUS_TRY(saltus_mpd_work(&start->tables, start->task, &engine, source, err));
    saltus_gpu_slabs_report(&s);
done:
    tear_down(&s);
    return status;
}
