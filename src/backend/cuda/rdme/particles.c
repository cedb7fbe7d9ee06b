/* Lattices on a GPU as lists of particles (kernel/rdme/phases.h). */
#include "backend/cuda/rdme/rdme.h"

#include "core/memory.h"
#include "kernel/rdme/phases.h"

enum {
    LEAST_SEGMENT = 2,
    MOST_SEGMENT = 64,  /* bricks that a thread gathers, at most */
    GATHERERS = 1 << 17 /* threads that keep a GPU busy with gathering */
};

typedef struct lists {
    saltus_gpu_lattice on;
    cu_function run_many, run_few, enlist, gather, gather_site_heads, link;
    int64_t used;     /* particle numbers in use, as far as the host knows */
    int64_t most_few; /* blocks of run_few that can run at the same time */
    cu_pointer heads, bits, particles[2], next;
    int now; /* which of the two particle memories is in use */
} lists;

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(s->on.cu, s->on.cu->call, what, err))

/* ------------------------------------------------------------------------------------------------
 * Memory
 */

static size_t bytes_each(void)
{
    return sizeof(uint32_t) + sizeof(uint16_t);
}

int64_t saltus_cuda_bytes_of_lists(const saltus_mpd_tables *tables)
{
    return 320 * saltus_mpd_n_bricks(&tables->m) + 32 * tables->n_start;
}

/* Use particle memory `now`, which holds sites, then species. */
static void choose(lists *s, int now)
{
    saltus_mpd_launch *a = &s->on.a;
    const size_t sites = (size_t)a->m.capacity * sizeof(uint32_t);
    s->now = now;
    a->m.site = (void *)(uintptr_t)s->particles[now];
    a->m.species = (void *)(uintptr_t)(s->particles[now] + sites);
    a->new_site = (void *)(uintptr_t)s->particles[1 - now];
    a->new_species = (void *)(uintptr_t)(s->particles[1 - now] + sites);
}

/* Allocate memory for more particles; those that are there stay in memory `now`. */
static saltus_status grow(lists *s, int64_t capacity, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t had = (size_t)s->on.a.m.capacity, wants = (size_t)capacity;
    cu_pointer old = s->particles[s->now];
    s->particles[s->now] = 0;
    CU(stream_wait(s->on.stream), "running a kernel");
    saltus_gpu_lattice_free(&s->on, &s->particles[1 - s->now]);
    saltus_gpu_lattice_free(&s->on, &s->next);
    SALTUS_TRY(saltus_gpu_lattice_alloc(&s->on, &s->next, wants * sizeof(int32_t), err));
    for (int i = 0; i < 2; ++i) {
        SALTUS_TRY(saltus_gpu_lattice_alloc(&s->on, &s->particles[i], wants * bytes_each(), err));
    }
    CU(fill(s->particles[s->now], 0xff, wants * bytes_each(), s->on.stream), "clearing GPU memory");
    if (old) {
        CU(copy(s->particles[s->now], old, had * sizeof(uint32_t), s->on.stream),
           "copying particles");
        CU(copy(s->particles[s->now] + wants * sizeof(uint32_t), old + had * sizeof(uint32_t),
                had * sizeof(uint16_t), s->on.stream),
           "copying particles");
        CU(stream_wait(s->on.stream), "copying particles");
    }
    s->on.a.m.capacity = capacity;
    s->on.a.m.next = (void *)(uintptr_t)s->next;
    choose(s, s->now);
done:
    saltus_gpu_lattice_free(&s->on, &old);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The engine
 */

static saltus_status launch(const lists *s, cu_function kernel, int64_t n, saltus_error *err)
{
    return saltus_gpu_lattice_launch(&s->on, kernel, SALTUS_MPD_MANY_BLOCK, n, err);
}

/* Set the number of particles that are in use, or may be. */
static void use(lists *s, int64_t used)
{
    s->used = s->on.work = used;
}

/* Make the lists of particles that are in none. */
static saltus_status enlist(lists *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_launch *a = &s->on.a;
    a->set = 0;
    CU(fill(s->heads, 0xff, 64 * (size_t)a->n_bricks * sizeof(int32_t), s->on.stream),
       "clearing GPU memory");
    CU(fill(s->bits, 0, 4 * (size_t)a->n_bricks * sizeof(uint32_t), s->on.stream),
       "clearing GPU memory");
    SALTUS_TRY(launch(s, s->enlist, a->m.capacity, err));
done:
    return status;
}

static saltus_status begin(void *user, int64_t trajectory, const saltus_contents *from,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    lists *s = user;
    const saltus_mpd *m = &s->on.a.m;
    const int64_t n = saltus_mpd_n_placed(&s->on.tables, from);
    const int64_t capacity = saltus_mpd_first_capacity(n);
    if (capacity > m->capacity) {
        SALTUS_TRY(grow(s, capacity, err));
    }
    choose(s, 0);
    CU(fill(s->particles[0], 0xff, (size_t)m->capacity * sizeof *m->site, s->on.stream),
       "clearing GPU memory");
    use(s, n);
    SALTUS_TRY(saltus_gpu_lattice_begin_batch(&s->on, s->used, err));
    SALTUS_TRY(saltus_gpu_lattice_place(&s->on, trajectory, from, err));
    SALTUS_TRY(enlist(s, err));
done:
    return status;
}

static saltus_status gather(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    lists *s = user;
    saltus_mpd_launch *a = &s->on.a;
    const int64_t share = a->n_bricks / GATHERERS;
    a->n_known = s->used;
    a->segment = share < LEAST_SEGMENT  ? LEAST_SEGMENT
                 : share > MOST_SEGMENT ? MOST_SEGMENT
                                        : share;
    SALTUS_TRY(saltus_gpu_lattice_begin_batch(&s->on, 0, err));
    CU(fill((uintptr_t)a->new_site, 0xff, (size_t)a->m.capacity * sizeof(uint32_t), s->on.stream),
       "clearing GPU memory");
    SALTUS_TRY(launch(s, s->gather, (a->n_bricks + a->segment - 1) / a->segment, err));
    SALTUS_TRY(launch(s, s->gather_site_heads, s->used, err));
    choose(s, 1 - s->now);
    SALTUS_TRY(launch(s, s->link, a->m.capacity, err));
done:
    return status;
}

static saltus_status launch_phases(void *user, const saltus_mpd_phase *phases, int n, int *launched,
                                   saltus_error *err)
{
    lists *s = user;
    const int block = SALTUS_MPD_FEW_BLOCK;
    const bool is_small = s->used <= s->most_few * block && s->on.is_cooperative;
    *launched = is_small ? n : 1;
    saltus_gpu_lattice_trace_phases(&s->on, phases, *launched);
    s->on.a.n_known = s->used;
    return is_small
               ? saltus_gpu_lattice_launch_phases(&s->on, s->run_few, block, 0,
                                                  saltus_gpu_lattice_n_blocks(s->used, block), err)
               : launch(s, s->run_many, s->used / SALTUS_MPD_EACH, err);
}

static saltus_status poll(void *user, saltus_mpd_batch_status *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    lists *s = user;
    SALTUS_TRY(saltus_gpu_lattice_poll(&s->on, out, err));
    use(s, s->on.used);
    out->work = s->used;
done:
    return status;
}

static saltus_status restore(void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    lists *s = user;
    int64_t capacity = 0;
    SALTUS_TRY(saltus_mpd_more_capacity(s->used, &capacity, err));
    choose(s, 1 - s->now);
    SALTUS_TRY(grow(s, capacity, err));
    use(s, capacity);
    SALTUS_TRY(enlist(s, err));
    SALTUS_TRY(gather(s, err));
done:
    return status;
}

static saltus_status collect(void *user, saltus_contents *contents, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    lists *s = user;
    const saltus_mpd *m = &s->on.a.m;
    const size_t n = (size_t)s->used;
    uint32_t *site = saltus_calloc(n, sizeof *site);
    uint16_t *species = saltus_calloc(n, sizeof *species);
    SALTUS_NEED(site && species);
    CU(download(site, (uintptr_t)m->site, n * sizeof *site, s->on.stream), "copying particles");
    CU(download(species, (uintptr_t)m->species, n * sizeof *species, s->on.stream),
       "copying particles");
    CU(stream_wait(s->on.stream), "copying particles");
    SALTUS_TRY(saltus_mpd_collect(m, site, species, s->used, contents, err));
done:
    saltus_free(site);
    saltus_free(species);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Work
 */

static saltus_status load_kernels(lists *s, saltus_error *err)
{
    const struct {
        const char *name;
        cu_function *out;
    } kernels[] = {{"saltus_mpd_run_many", &s->run_many},
                   {"saltus_mpd_run_few", &s->run_few},
                   {"saltus_mpd_enlist", &s->enlist},
                   {"saltus_mpd_gather_all", &s->gather},
                   {"saltus_mpd_gather_site_heads", &s->gather_site_heads},
                   {"saltus_mpd_link_all", &s->link}};
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_gpu_lattice_load(&s->on, 0, err));
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
        SALTUS_TRY(saltus_gpu_lattice_function(&s->on, kernels[i].name, kernels[i].out, err));
    }
    SALTUS_TRY(
        saltus_gpu_lattice_blocks(&s->on, s->run_few, SALTUS_MPD_FEW_BLOCK, 0, &s->most_few, err));
done:
    return status;
}

static saltus_status set_up(lists *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_mpd_launch *a = &s->on.a;
    SALTUS_TRY(saltus_gpu_lattice_set_up(&s->on, err));
    SALTUS_TRY(load_kernels(s, err));
    const size_t n = (size_t)saltus_mpd_n_bricks(&s->on.tables.m);
    a->n_bricks = (int64_t)n;
    SALTUS_TRY(saltus_gpu_lattice_alloc(&s->on, &s->heads, 64 * n * sizeof(int32_t), err));
    SALTUS_TRY(saltus_gpu_lattice_alloc(&s->on, &s->bits, 5 * n * sizeof(uint32_t), err));
    for (int set = 0; set < 2; ++set) {
        a->m.head[set] = (int32_t *)(uintptr_t)s->heads + set * 32 * a->n_bricks;
        a->m.held[set] = (uint32_t *)(uintptr_t)s->bits + set * a->n_bricks;
        a->m.crowded[set] = (uint32_t *)(uintptr_t)s->bits + (2 + set) * a->n_bricks;
    }
    a->m.gathered = (uint32_t *)(uintptr_t)s->bits + 4 * a->n_bricks;
done:
    return status;
}

saltus_status saltus_cuda_work_lists(const saltus_gpu_lattice *start, const saltus_source *source,
                                     saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    lists s = {.on = *start};
    const saltus_mpd_engine engine = {&s,
                                      begin,
                                      gather,
                                      saltus_gpu_lattice_run,
                                      poll,
                                      restore,
                                      saltus_gpu_lattice_count,
                                      saltus_gpu_lattice_split,
                                      collect,
                                      NULL,
                                      NULL};
    s.on.launch_phases = launch_phases;
    s.on.block = SALTUS_MPD_MANY_BLOCK;
    saltus_gpus_begin_set_up(start->gpus);
    status = set_up(&s, err);
    saltus_gpus_end_set_up(start->gpus, status);
    SALTUS_TRY(status);
    SALTUS_TRY(saltus_mpd_work(&s.on.tables, s.on.task, &engine, source, err));
done:
    saltus_gpu_note_loss(start->gpu, start->task, status);
    saltus_gpu_lattice_tear_down(&s.on);
    saltus_gpu_lattice_free(&s.on, &s.heads);
    saltus_gpu_lattice_free(&s.on, &s.bits);
    saltus_gpu_lattice_free(&s.on, &s.particles[0]);
    saltus_gpu_lattice_free(&s.on, &s.particles[1]);
    saltus_gpu_lattice_free(&s.on, &s.next);
    return status;
}
