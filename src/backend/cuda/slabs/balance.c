/* Slabs whose phases take long hand planes to others. The time of a plane is not known, only that
 * of a slab: its planes are taken to be alike, and once they have moved times are taken anew. So
 * GPUs that are not equally fast are handled like planes that are not equally full. */
#include "backend/cuda/slabs/slabs.h"

#include "core/clock.h"

#include <stdlib.h>

enum {
    FIRST_WAIT = 2,    /* batches until a move is first considered */
    LONGEST_WAIT = 64, /* batches between two moves: each time twice as many, up to so many */
    MOST_VAIN = 4,     /* moves in vain after which the wait no longer doubles */
    SEE_BATCHES = 5,   /* batches after which a move is judged */
    MOVE_US = 2000     /* assumed time of the first move in us; later, what the last one took */
};
static const double imbalance =
    1.05; /* ratio of the longest time and the mean that is left alone */
static const double later =
    1.02; /* a move whose phases take more than so much longer was in vain */
static const double of_last = 0.25; /* weight of the last batch in the average time of a phase */

#define CU(s, call, what) SALTUS_TRY(saltus_cuda_check((s)->c.on.cu, (s)->c.on.cu->call, what, err))

void saltus_gpu_slabs_forget_times(saltus_gpu_slabs *s)
{
    s->n_timed = 0; /* the averages begin anew */
    s->n_since = 0;
    s->unmoved_us = 0.0;
}

void saltus_gpu_slabs_start_balance(saltus_gpu_slabs *s)
{
    saltus_gpu_slabs_forget_times(s);
    s->wait = FIRST_WAIT;
    s->n_vain = 0;
    s->move_us = s->move_us > 0.0 ? s->move_us : MOVE_US;
}

/* The part of its time that a slab has waited for a neighbour: the longer of both sides. */
static double part_waited(const saltus_gpu_lattice *on)
{
    double most = 0.0;
    for (int side = 0; side < 2; ++side) {
        const double part = on->passed[side] > 0.0 ? on->waited[side] / on->passed[side] : 0.0;
        most = part > most ? part : most;
    }
    return most;
}

/* Take the time of a phase of slab i in the last batch. *all is with waiting; without waiting it is
 * averaged over the batches since a move was last considered. */
static saltus_status take_time(const saltus_gpu_slabs *s, int i, double *all, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_gpu_slab *this = &s->slab[i];
    const saltus_gpu_lattice *on = &this->c.on;
    saltus_tracer *tracer = on->task->tracer;
    float ms = 0.0F;
    CU(this, event_elapsed(&ms, this->timed[0], this->timed[1]), "running a kernel");
    *all = 1e3 * (double)ms / (s->is_joint ? on->batch : 1);
    const double us = *all * (1.0 - part_waited(on));
    if (!s->schedule.is_try) {
        this->us = (this->us * s->n_timed + us) / (s->n_timed + 1);
    }
    saltus_tracer_count(tracer, "step", i, (double)(on->a.m.first_step + on->batch - 1));
    saltus_tracer_count(tracer, "planes", i,
                        (double)saltus_gpu_counts_sites(&this->c) / (double)s->plane);
    saltus_tracer_count(tracer, "us per step", i, us);
done:
    return status;
}

saltus_status saltus_gpu_slabs_take_times(saltus_gpu_slabs *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double longest = 0.0;
    for (int i = 0; i < s->n; ++i) {
        double us = 0.0;
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(take_time(s, i, &us, err));
        longest = us > longest ? us : longest;
    }
    if (!s->schedule.is_try) {
        s->phase_us = s->n_timed > 0 ? (1.0 - of_last) * s->phase_us + of_last * longest : longest;
        ++s->n_timed;
    }
done:
    return status;
}

/* The plane at which slab i should begin, so that all slabs take as long; a multiple of the unit.
 * Example: slabs of 40 and 40 planes take 30 and 10 us. Each should take 20 us, so slab 1 should
 * begin at plane 40 * 20 / 30 = 26.7, which is 27 with a unit of 1. */
static int64_t better_begin(const saltus_gpu_slabs *s, int i)
{
    double all = 0.0, below = 0.0;
    for (int k = 0; k < s->n; ++k) {
        all += s->slab[k].us;
    }
    for (int k = 0; k < s->n; ++k) {
        const saltus_gpu_slab *this = &s->slab[k];
        const double more = all * i / s->n - below;
        if (more < this->us) {
            const int64_t first = saltus_gpu_counts_first(&this->c) / s->plane;
            const double planes = (double)saltus_gpu_counts_sites(&this->c) / (double)s->plane,
                         begin = (double)first + planes * more / this->us;
            return (int64_t)(begin / s->unit + 0.5) * s->unit;
        }
        below += this->us;
    }
    return 0;
}

/* Whether planes should move: by the time it is next considered, that must gain as much as moving
 * takes. begins[n + 1]: where slabs should begin then. */
static bool should_move(const saltus_gpu_slabs *s, int64_t *begins)
{
    const int64_t n_planes = s->slab[0].c.on.tables.lattice->size[2];
    double sum = 0.0, most = 0.0;
    bool moves = false;
    for (int i = 0; i < s->n; ++i) {
        sum += s->slab[i].us;
        most = s->slab[i].us > most ? s->slab[i].us : most;
    }
    if (most <= imbalance * sum / s->n ||
        (most - sum / s->n) * 2.0 * (double)s->n_since < s->move_us) {
        return false;
    }
    begins[0] = 0;
    begins[s->n] = n_planes;
    for (int i = 1; i < s->n; ++i) {
        const int64_t wanted = better_begin(s, i), least = begins[i - 1] + s->unit,
                      last = n_planes / s->unit * s->unit - (int64_t)(s->n - i) * s->unit;
        begins[i] = wanted < least ? least : wanted > last ? last : wanted;
        moves |= begins[i] != saltus_gpu_counts_first(&s->slab[i].c) / s->plane;
    }
    return moves;
}

/* Memory that a slab of so many sites needs beyond what it has: three sets, with a quarter to
 * spare, if the present ones are too small; and types. */
static double more_bytes(const saltus_gpu_slab *this, int64_t sites)
{
    const saltus_gpu_counts *c = &this->c;
    const double word = sizeof(uint32_t) * (double)c->words / c->sharers,
                 set = word * (double)(saltus_mpd_whole(sites) + 2 * c->halo),
                 capacity = (double)c->capacity;
    return (set > capacity ? 3.0 * (1.25 * set - capacity) : 0.0) +
           (c->types ? (double)(sites - saltus_gpu_counts_sites(c)) : 0.0);
}

/* Whether each slab has numbers for its sites, and each GPU memory for what its slabs need more. */
static saltus_status has_room(const saltus_gpu_slabs *s, const int64_t *begins, bool *has,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *has = true;
    for (int i = 0; i < s->n; ++i) {
        const saltus_gpu_slab *this = &s->slab[i];
        size_t available = 0, total = 0;
        double more = 0.0;
        for (int k = 0; k < s->n; ++k) {
            const double bytes = more_bytes(&s->slab[k], (begins[k + 1] - begins[k]) * s->plane);
            more += saltus_gpu_is_same(s->slab[k].c.on.gpu, this->c.on.gpu) && bytes > 0.0 ? bytes
                                                                                           : 0.0;
        }
        *has &= saltus_cuda_slab_has_numbers(s->plane, begins[i + 1] - begins[i]);
        SALTUS_TRY(saltus_gpu_slab_use(this, err));
        CU(this, memory_info(&available, &total), "asking for free GPU memory");
        *has &= more < 0.9 * (double)available;
    }
done:
    return status;
}

/* Copy the counts of those sites of slab `from` that slab `to` has now. */
static saltus_status copy_planes(const saltus_gpu_slab *to, const saltus_gpu_slab *from,
                                 saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_gpu_counts *c = &to->c;
    const int64_t first = saltus_gpu_counts_first(&to->c),
                  end = first + saltus_gpu_counts_sites(&to->c), was_end = from->was + from->was_n,
                  low = first > from->was ? first : from->was, high = end < was_end ? end : was_end;
    if (low < high) {
        const int64_t there = c->halo + low - first, here = c->halo + low - from->was,
                      whole = (high - low + c->sharers - 1) / c->sharers;
        const size_t word = (size_t)c->words * sizeof(uint32_t);
        CU(to,
           copy(c->sets[0] + (size_t)(there / c->sharers) * word,
                from->before + (size_t)(here / c->sharers) * word, (size_t)whole * word,
                c->on.stream),
           "moving planes between GPUs");
    }
done:
    return status;
}

static saltus_status move(saltus_gpu_slabs *s, const int64_t *begins, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int i = 0; i < s->n; ++i) {
        saltus_gpu_slab *this = &s->slab[i];
        this->was = saltus_gpu_counts_first(&this->c);
        this->was_n = saltus_gpu_counts_sites(&this->c);
        SALTUS_TRY(saltus_gpu_slab_use(this, err));
        SALTUS_TRY(saltus_gpu_counts_resize(&this->c, begins[i] * s->plane,
                                            begins[i + 1] * s->plane, &this->before, err));
    }
    for (int i = 0; i < s->n; ++i) {
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        for (int k = 0; k < s->n; ++k) {
            SALTUS_TRY(copy_planes(&s->slab[i], &s->slab[k], err));
        }
        CU(&s->slab[i], stream_wait(s->slab[i].c.on.stream), "moving planes between GPUs");
    }
    for (int i = 0; i < s->n; ++i) {
        SALTUS_TRY(saltus_gpu_slab_use(&s->slab[i], err));
        SALTUS_TRY(saltus_gpu_counts_resized(&s->slab[i].c, &s->slab[i].before, err));
        (void)__atomic_fetch_add(&s->slab[i].c.on.task->report->planes_moved,
                                 i > 0 ? llabs(begins[i] - s->slab[i].was / s->plane) : 0,
                                 __ATOMIC_RELAXED);
    }
    saltus_gpu_slabs_connect(s);
done:
    return status;
}

/* Move planes, if there is memory for it. */
static saltus_status try_to_move(saltus_gpu_slabs *s, const int64_t *begins, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bool has = false;
    SALTUS_TRY(has_room(s, begins, &has, err));
    if (has) {
        const double start = saltus_now();
        SALTUS_TRY(move(s, begins, err));
        s->move_us = 1e6 * (saltus_now() - start);
        s->unmoved_us = s->phase_us;
    }
done:
    return status;
}

/* Judge the last move. Planes are taken to be alike until they turn out not to be: a slab that got
 * crowded ones may take longer than any before. Then the move is taken back. */
static saltus_status see(saltus_gpu_slabs *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int64_t begins[SALTUS_MOST_SLABS + 1];
    const bool was_in_vain = s->phase_us > later * s->unmoved_us;
    if (was_in_vain) {
        for (int i = 0; i < s->n; ++i) {
            begins[i] = s->slab[i].was / s->plane;
        }
        begins[s->n] = s->slab[0].c.on.tables.lattice->size[2];
        SALTUS_TRY(try_to_move(s, begins, err));
        saltus_gpu_slabs_forget_times(s);
        s->n_vain += s->n_vain < MOST_VAIN;
        s->wait = LONGEST_WAIT << s->n_vain;
    } else {
        s->n_vain = 0;
    }
    s->unmoved_us = 0.0;
done:
    return status;
}

saltus_status saltus_gpu_slabs_balance(saltus_gpu_slabs *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int64_t begins[SALTUS_MOST_SLABS + 1];
    if (s->unmoved_us > 0.0 && s->n_timed >= SEE_BATCHES) {
        SALTUS_TRY(see(s, err));
    }
    if (s->unmoved_us > 0.0 || s->n_timed < s->wait || s->schedule.is_try) {
        return status;
    }
    if (should_move(s, begins)) {
        SALTUS_TRY(try_to_move(s, begins, err));
    }
    s->n_timed = 0;
    s->n_since = 0;
    s->wait = 2 * s->wait < LONGEST_WAIT ? 2 * s->wait : LONGEST_WAIT;
done:
    return status;
}
