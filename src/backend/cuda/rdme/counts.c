/* Lattices on a GPU as counts (kernel/rdme/sites.h). Fields of 4 bits are widened to 8, 16, then
 * 32, when a count does not fit. */
#include "backend/cuda/rdme/counts.h"

#include "core/memory.h"

enum {
    LEAST_BITS = SALTUS_CUDA_LEAST_BITS,
    MOST_BITS = 32,
    SETS_EACH =
        5, /* sets that a trajectory has memory for: the one kept, and two of twice the bits */
    SITES_EACH = 16, /* sites that take as long as a particle */
};

typedef saltus_gpu_counts counts;

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(s->on.cu, s->on.cu->call, what, err))

/* ------------------------------------------------------------------------------------------------
 * Memory
 */

int64_t saltus_cuda_bytes_of_counts(const saltus_mpd_tables *tables)
{
    const int set = (int)saltus_cuda_site_bytes(saltus_cuda_n_fields(tables)), type = 1;
    return (SETS_EACH * set + type) * tables->lattice->n_sites +
           (saltus_cuda_is_sparse(tables->lattice) ? SETS_EACH * tables->lattice->n_sites / 8 : 0) +
           tables->n_sets * (tables->lattice->n_sites / SALTUS_MPD_SEGMENT) * (int)sizeof(uint32_t);
}

/* Places of a set: its sites, up to a whole number of tiles of any kind, and halos. */
static int64_t n_places(const counts *s)
{
    return saltus_mpd_whole(saltus_gpu_counts_sites(s)) + 2 * s->halo;
}

static size_t marks_bytes(const counts *s)
{
    return (size_t)(n_places(s) / SALTUS_MPD_MARKS) * sizeof(uint64_t);
}

/* A set's counts, and the marks behind them, if there are any. */
static size_t counts_bytes(const counts *s)
{
    return (size_t)(n_places(s) / s->sharers * s->words) * sizeof(uint32_t);
}

static size_t set_bytes(const counts *s)
{
    return counts_bytes(s) + (s->is_marked ? marks_bytes(s) : 0);
}

static void free_sets(counts *s)
{
    saltus_gpu_lattice_free(&s->on, &s->sets[0]);
    saltus_gpu_lattice_free(&s->on, &s->sets[1]);
}

static saltus_status clear_sets(const counts *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (int set = 0; set < 2; ++set) {
        CU(fill(s->sets[set], 0, set_bytes(s), s->on.stream), "clearing GPU memory");
    }
done:
    return status;
}

static void use_set(counts *s, int set, cu_pointer memory)
{
    s->sets[set] = memory;
    s->on.a.m.counts[set] = (void *)(uintptr_t)memory;
    s->on.a.m.marks[set] = (void *)(uintptr_t)(memory + counts_bytes(s));
}

static saltus_status take_set(counts *s, int set, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    cu_pointer memory = 0;
    SALTUS_TRY(saltus_gpu_lattice_alloc(&s->on, &memory, s->capacity, err));
    use_set(s, set, memory);
done:
    return status;
}

/* Load kernels for fields of so many bits, and allocate sets for them. */
static saltus_status use_bits(counts *s, int bits, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_launch *a = &s->on.a;
    SALTUS_TRY(saltus_gpu_lattice_load(&s->on, bits, err));
    if (s->halo > 0) {
        SALTUS_TRY(saltus_gpu_lattice_function(&s->on, "saltus_mpd_arrive", &s->arrive, err));
    }
    SALTUS_TRY(saltus_gpu_lattice_function(&s->on, "saltus_mpd_run_sites", &s->run, err));
    SALTUS_TRY(saltus_gpu_lattice_function(&s->on, "saltus_mpd_scatter", &s->scatter, err));
    SALTUS_TRY(saltus_gpu_lattice_function(&s->on, "saltus_mpd_fill", &s->fill, err));
    SALTUS_TRY(saltus_gpu_lattice_function(&s->on, "saltus_mpd_watch", &s->watch, err));
    SALTUS_TRY(saltus_gpu_lattice_function(&s->on, "saltus_mpd_widen", &s->widen, err));
    s->bits = bits;
    s->is_marked = saltus_cuda_is_marked(&s->on.tables, bits, saltus_gpu_lattice_slabs(&s->on));
    s->words = SALTUS_MPD_WORDS_OF(saltus_cuda_n_fields(&s->on.tables), bits);
    s->sharers = SALTUS_MPD_SHARERS_OF(saltus_cuda_n_fields(&s->on.tables), bits);
    SALTUS_TRY(saltus_gpu_counts_share_out(s, err));
    a->m.capacity = bits < MOST_BITS ? ((int64_t)1 << bits) - 1 : (int64_t)1 << 30;
    s->capacity = set_bytes(s);
    SALTUS_TRY(take_set(s, 0, err));
    SALTUS_TRY(take_set(s, 1, err));
    a->set = 0;
done:
    return status;
}

/* Double the bits. The contents of the sets are undefined then. */
static saltus_status widen(counts *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (s->bits == MOST_BITS) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "more than 2^30 particles of a species in a site");
    }
    CU(stream_wait(s->on.stream), "running a kernel");
    saltus_gpu_counts_end_aside(s);
    free_sets(s);
    SALTUS_TRY(use_bits(s, 2 * s->bits, err));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The engine
 */

/* Put the particles of time 0 into empty sets. */
static saltus_status put(counts *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    s->on.a.set = 0;
    SALTUS_TRY(clear_sets(s, err));
    SALTUS_TRY(saltus_gpu_lattice_begin_batch(&s->on, 0, err));
    SALTUS_TRY(saltus_gpu_counts_place(s, err));
done:
    return status;
}

saltus_status saltus_gpu_counts_start_begin(counts *s, int64_t trajectory,
                                            const saltus_contents *from, saltus_error *err)
{
    s->from = from;
    saltus_mpd_start(&s->on.a.m, s->on.task->seed, (uint64_t)trajectory);
    return put(s, err);
}

/* Widen until the particles of time 0 fit. */
saltus_status saltus_gpu_counts_end_begin(counts *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_gpu_lattice_query(&s->on, err));
    while (s->on.used > s->on.a.m.capacity) {
        saltus_gpu_lattice_free(&s->on, &s->kept);
        SALTUS_TRY(widen(s, err));
        SALTUS_TRY(put(s, err));
        SALTUS_TRY(saltus_gpu_lattice_query(&s->on, err));
    }
done:
    return status;
}

static saltus_status begin(void *user, int64_t trajectory, const saltus_contents *from,
                           saltus_error *err)
{
    saltus_status status = saltus_gpu_counts_start_begin(user, trajectory, from, err);
    return status == SALTUS_OK ? saltus_gpu_counts_end_begin(user, err) : status;
}

saltus_status saltus_gpu_counts_gather(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    counts *s = user;
    SALTUS_TRY(saltus_gpu_lattice_begin_batch(&s->on, 0, err));
    if (!s->kept) {
        SALTUS_TRY(saltus_gpu_lattice_alloc(&s->on, &s->kept, s->capacity, err));
    }
    CU(copy(s->kept, s->sets[s->on.a.set], set_bytes(s), s->on.stream), "copying counts");
done:
    return status;
}

saltus_status saltus_gpu_counts_launch(void *user, const saltus_mpd_phase *phases, int n,
                                       int *launched, saltus_error *err)
{
    counts *s = user;
    *launched = s->on.is_cooperative ? n : 1;
    saltus_gpu_lattice_trace_phases(&s->on, phases, *launched);
    return saltus_gpu_lattice_launch_phases(&s->on, s->run, s->block, s->shared, s->n_blocks, err);
}

saltus_status saltus_gpu_counts_restore(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    counts *s = user;
    saltus_mpd_launch *a = &s->on.a;
    a->narrow = (const uint32_t *)(uintptr_t)s->kept;
    a->bits = s->bits;
    SALTUS_TRY(widen(s, err));
    SALTUS_TRY(clear_sets(s, err));
    SALTUS_TRY(
        saltus_gpu_lattice_launch(&s->on, s->widen, s->on.block, saltus_gpu_counts_sites(s), err));
    CU(stream_wait(s->on.stream), "running a kernel");
    saltus_gpu_lattice_free(&s->on, &s->kept);
    SALTUS_TRY(saltus_gpu_counts_gather(s, err));
done:
    return status;
}

static saltus_status poll(void *user, saltus_mpd_batch_status *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    counts *s = user;
    SALTUS_TRY(saltus_gpu_lattice_poll(&s->on, out, err));
    if (saltus_gpu_schedule_learn(&s->schedule, saltus_gpu_counts_can_spread(s), s->on.batch_us,
                                  s->on.batch)) {
        saltus_gpu_counts_spread(s, !s->is_spread);
    }
done:
    return status;
}

/* Totals, from which the amount of work is estimated too. */
saltus_status saltus_gpu_counts_end_count(counts *s, int64_t *totals, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_gpu_lattice_end_count(&s->on, totals, err));
    s->on.work = saltus_gpu_counts_sites(s) / SITES_EACH;
    for (int x = 0; x < s->on.a.m.n_species; ++x) {
        s->on.work += totals[x];
    }
done:
    return status;
}

static saltus_status count(void *user, int64_t *totals, saltus_error *err)
{
    counts *s = user;
    saltus_status status = saltus_gpu_lattice_start_count(&s->on, err);
    return status == SALTUS_OK ? saltus_gpu_counts_end_count(s, totals, err) : status;
}

/* ------------------------------------------------------------------------------------------------
 * Work
 */

/* Number the sites of a slab. */
static void number(counts *s, int64_t first, int64_t n)
{
    const saltus_lattice *l = s->on.tables.lattice;
    saltus_mpd_slab *slab = &s->on.a.m.slab;
    const int64_t plane = saltus_lattice_plane(l);
    s->halo = saltus_mpd_halo(plane);
    slab->first = (uint32_t)s->halo;
    slab->end = (uint32_t)(s->halo + n);
    slab->zero = first - s->halo;
    slab->plane = (uint32_t)(first / plane);
    s->on.a.first_site = slab->first;
    s->on.a.end_site = slab->end;
}

/* Upload the types of sites `from` to `end`, of a lattice that continues periodically. */
static saltus_status upload_types(const counts *s, cu_pointer to, int64_t from, int64_t end,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->on.tables.lattice;
    for (int64_t next; from < end; to += (uint64_t)(next - from), from = next) {
        const int64_t box = from < 0 ? 0 : from / l->n_sites * l->n_sites + l->n_sites;
        next = box < end ? box : end;
        CU(upload(to, &l->types[(from + l->n_sites) % l->n_sites], (size_t)(next - from),
                  s->on.stream),
           "copying types of sites");
    }
done:
    return status;
}

/* The types of a slab's sites, and of the planes beside it. Those of the sites that it had before,
 * if any (was_n), are copied on the GPU; the rest comes from the host. */
static saltus_status take_types(counts *s, int64_t was, int64_t was_n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = s->on.tables.lattice;
    const int64_t plane = saltus_lattice_plane(l), first = s->on.a.m.slab.zero + s->halo,
                  begin = first - plane, end = first + saltus_gpu_counts_sites(s) + plane,
                  was_begin = was - plane, was_end = was_n > 0 ? was + was_n + plane : was_begin,
                  low = begin > was_begin ? begin : was_begin, high = end < was_end ? end : was_end;
    const bool has_some = low < high;
    cu_pointer before = s->types;
    s->types = 0;
    if (s->on.a.m.n_types > 1) {
        SALTUS_TRY(saltus_gpu_lattice_alloc(&s->on, &s->types, (size_t)(end - begin), err));
        SALTUS_TRY(upload_types(s, s->types, begin, has_some ? low : end, err));
        if (has_some) {
            CU(copy(s->types + (uint64_t)(low - begin), before + (uint64_t)(low - was_begin),
                    (size_t)(high - low), s->on.stream),
               "copying types of sites");
            SALTUS_TRY(upload_types(s, s->types + (uint64_t)(high - begin), high, end, err));
        }
        CU(stream_wait(s->on.stream), "copying types of sites");
        s->on.a.m.types = (const uint8_t *)(uintptr_t)(s->types - (uint64_t)(s->halo - plane));
    }
done:
    saltus_gpu_lattice_free(&s->on, &before);
    return status;
}

/* Sets for other sites. Memory that is large enough stays, and the set without particles is used
 * first. All of a set is empty but for its sites. */
static saltus_status resize_sets(counts *s, cu_pointer *before, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const bool has_room = set_bytes(s) <= s->capacity;
    cu_pointer other = s->sets[1 - s->on.a.set];
    *before = s->sets[s->on.a.set];
    s->sets[0] = s->sets[1] = 0;
    s->on.a.set = 0;
    s->stays = has_room;
    if (has_room) {
        use_set(s, 0, other);
    } else {
        saltus_gpu_lattice_free(&s->on, &other);
        saltus_gpu_lattice_free(&s->on, &s->kept);
        s->capacity = set_bytes(s) / 4 * 5; /* a quarter to spare for the next time */
        SALTUS_TRY(take_set(s, 0, err));
        CU(fill(s->sets[0], 0, s->capacity, s->on.stream), "clearing GPU memory");
    }
done:
    return status;
}

saltus_status saltus_gpu_counts_resize(saltus_gpu_counts *s, int64_t first, int64_t end,
                                       cu_pointer *before, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t was = saltus_gpu_counts_first(s), was_n = saltus_gpu_counts_sites(s);
    number(s, first, end - first);
    SALTUS_TRY(take_types(s, was, was_n, err));
    saltus_gpu_counts_forget(s);
    if (s->on.tables.m.n_sources > 0) {
        SALTUS_TRY(saltus_gpu_counts_find_sites(s, err));
    }
    SALTUS_TRY(saltus_gpu_counts_share_out(s, err));
    SALTUS_TRY(resize_sets(s, before, err));
done:
    return status;
}

saltus_status saltus_gpu_counts_resized(saltus_gpu_counts *s, cu_pointer *before, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (s->stays) {
        use_set(s, 1, *before);
        *before = 0;
    } else {
        CU(stream_wait(s->on.stream), "moving planes between GPUs");
        saltus_gpu_lattice_free(&s->on, before);
        SALTUS_TRY(take_set(s, 1, err));
    }
    CU(fill(s->sets[1], 0, s->capacity, s->on.stream), "clearing GPU memory");
done:
    return status;
}

saltus_status saltus_gpu_counts_set_up(saltus_gpu_counts *s, int64_t first, int64_t end,
                                       saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    (void)pthread_mutex_init(&s->aside_lock, NULL);
    s->on.launch_phases = saltus_gpu_counts_launch;
    s->on.block = SALTUS_MPD_SITES_BLOCK;
    s->on.work = s->on.tables.n_start + (end - first) / SITES_EACH;
    SALTUS_TRY(saltus_gpu_lattice_set_up(&s->on, err));
    s->on.a.first_site = first;
    s->on.a.end_site = end;
    if (end - first < s->on.tables.lattice->n_sites) {
        number(s, first, end - first);
        SALTUS_TRY(take_types(s, 0, 0, err));
    }
    SALTUS_TRY(saltus_gpu_counts_find_sites(s, err));
    SALTUS_TRY(use_bits(s, LEAST_BITS, err));
done:
    return status;
}

void saltus_gpu_counts_tear_down(saltus_gpu_counts *s)
{
    saltus_gpu_lattice_tear_down(&s->on);
    free_sets(s);
    saltus_gpu_lattice_free(&s->on, &s->kept);
    saltus_gpu_lattice_free(&s->on, &s->arrived);
    saltus_gpu_lattice_free(&s->on, &s->types);
    saltus_gpu_counts_end_aside(s);
    (void)pthread_mutex_destroy(&s->aside_lock);
    saltus_gpu_words_free(&s->on, &s->now);
    saltus_gpu_counts_forget(s);
}

saltus_status saltus_cuda_work_counts(const saltus_gpu_lattice *start, const saltus_source *source,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    counts s = {.on = *start};
    const saltus_mpd_engine engine = {&s,
                                      begin,
                                      saltus_gpu_counts_gather,
                                      saltus_gpu_lattice_run,
                                      poll,
                                      saltus_gpu_counts_restore,
                                      count,
                                      saltus_gpu_lattice_split,
                                      saltus_gpu_counts_collect,
                                      saltus_gpu_counts_set_aside,
                                      saltus_gpu_counts_collect_aside};
    saltus_gpus_begin_set_up(start->gpus);
    status = saltus_gpu_counts_set_up(&s, 0, start->tables.lattice->n_sites, err);
    saltus_gpus_end_set_up(start->gpus, status);
    SALTUS_TRY(status);
    SALTUS_TRY(saltus_mpd_work(&s.on.tables, s.on.task, &engine, source, err));
done:
    saltus_gpu_note_loss(start->gpu, start->task, status);
    saltus_gpu_counts_tear_down(&s);
    return status;
}
