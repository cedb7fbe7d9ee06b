#include "backend/cuda/device/upload.h"

#include "core/memory.h"
#include "kernel/base/derive.h"

#include <string.h>

/* Bytes that grow. An array that is added begins at a multiple of 16. */
typedef struct blob {
    char *bytes;
    size_t size;
    cu_pointer base; /* address on the device; 0 while the blob is only measured */
} blob;

/* Add an array; returns its address on the device, or NULL if there is none. */
static void *add(blob *b, const void *array, size_t n, size_t size)
{
    const size_t start = (b->size + 15) & ~(size_t)15, end = start + n * size;
    if (!array) {
        return NULL;
    }
    if (b->base != 0 && n > 0) {
        memcpy(b->bytes + start, array, n * size);
    }
    b->size = end;
    return (void *)(uintptr_t)(b->base + start); // NOLINT(performance-no-int-to-ptr)
}

#define ADD(type, name, n) copy.name = add(b, t->name, (size_t)(n), sizeof(type));
#define LEAVE_OUT(type, name, n) copy.name = NULL;
#define NOTE(type, name, n) hubs->name = copy.name;

/* Add the network's tables, those of a sweep's points excepted. */
static void *add_tables(blob *b, const saltus_tables *t, saltus_hub_arrays *hubs)
{
    saltus_tables copy = *t;
    SALTUS_POINT_ARRAYS(LEAVE_OUT)
    SALTUS_FIXED_ARRAYS(ADD)
    SALTUS_HUB_ARRAYS(NOTE)
    return add(b, &copy, 1, sizeof copy);
}

static saltus_columns add_columns(blob *b, const saltus_columns *columns)
{
    saltus_columns c = *columns;
    c.count_species = add(b, columns->count_species, (size_t)c.n_counts, sizeof(int32_t));
    c.observables = add(b, columns->observables, (size_t)c.n_observables, sizeof *c.observables);
    return c;
}

#define ADD_OF_LATTICE(type, name, n) m.name = add(b, s->name, (size_t)s->n_##name, sizeof(type));

static saltus_mpd add_space(blob *b, const saltus_mpd_tables *s, bool has_sites)
{
    saltus_mpd m = s->m;
    saltus_mpd_source *sources;
    SALTUS_LATTICE_ARRAYS(ADD_OF_LATTICE)
    m.inputs = add(b, s->inputs, (size_t)s->n_inputs, sizeof *m.inputs);
    m.types = add(b, m.types, m.n_types > 1 && has_sites ? (size_t)s->lattice->n_sites : 0,
                  sizeof *m.types);
    m.sources = add(b, s->sources, (size_t)m.n_sources, sizeof *m.sources);
    sources =
        b->base != 0 && m.sources ? (void *)(b->bytes + ((uintptr_t)m.sources - b->base)) : NULL;
    for (int o = 0; o < m.n_sources; ++o) {
        const saltus_mpd_source *source = &s->sources[o];
        const saltus_mpd_sites *sites = &source->sites;
        const uint32_t *list =
            add(b, sites->list, sites->list ? (size_t)sites->n : 0, sizeof *list);
        if (sources && sites->list) {
            sources[o].sites.list = list;
        }
    }
    return m;
}

/* Add everything; returns where each part is. */
static saltus_uploaded add_all(blob *b, const saltus_task *task, const saltus_packed *packed,
                               const saltus_mpd_tables *space)
{
    const saltus_generator *g = task->generator;
    saltus_uploaded u = {.memory = b->base};
    u.tables = (cu_pointer)(uintptr_t)add_tables(b, task->tables, &u.hubs);
    u.columns = add_columns(b, task->columns);
    u.times =
        (cu_pointer)(uintptr_t)add(b, task->times, (size_t)task->n_times, sizeof *task->times);
    u.packed = (cu_pointer)(uintptr_t)add(b, packed->tables, packed->bytes, 1);
    u.jumps = (cu_pointer)(uintptr_t)add(b, g->jumps, g->n_jumps, sizeof *g->jumps);
    if (space) {
        u.space = add_space(b, space, task->n_slabs < 2); /* slabs have types of their own */
        u.rows = (cu_pointer)(uintptr_t)add(b, space->rows, (size_t)space->of->n_rows,
                                            sizeof *space->rows);
        u.column_of =
            (cu_pointer)(uintptr_t)add(b, task->space.column_of, (size_t)space->lattice->n_species,
                                       sizeof *task->space.column_of);
    }
    if (task->reduction && task->reduction->edges) {
        const size_t n = (size_t)task->reduction->n_bins + 1;
        u.edges = (cu_pointer)(uintptr_t)add(b, task->reduction->edges, n, sizeof(double));
    }
    if (task->derivation) {
        const saltus_derivation *d = task->derivation;
        u.wanted = (cu_pointer)(uintptr_t)add(b, d->wanted, (size_t)d->n, sizeof *d->wanted);
    }
    return u;
}

saltus_status saltus_upload(const saltus_driver *cu, const saltus_task *task,
                            const saltus_packed *packed, const saltus_mpd_tables *space,
                            saltus_uploaded *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    blob b = {0};
    *out = (saltus_uploaded){0};
    (void)add_all(&b, task, packed, space);
    b.bytes = saltus_calloc(b.size, 1);
    SALTUS_NEED(b.bytes);
    SALTUS_TRY(saltus_cuda_check(cu, cu->memory_alloc(&out->memory, b.size),
                                 "taking GPU memory for the model", err));
    b.base = out->memory;
    b.size = 0;
    *out = add_all(&b, task, packed, space);
    SALTUS_TRY(saltus_cuda_check(cu, cu->upload(out->memory, b.bytes, b.size, NULL),
                                 "copying the model to the GPU", err));
    SALTUS_TRY(saltus_cuda_check(cu, cu->stream_wait(NULL), "copying the model to the GPU", err));
done:
    saltus_free(b.bytes);
    if (status != SALTUS_OK) {
        saltus_upload_free(cu, out);
    }
    return status;
}

void saltus_upload_free(const saltus_driver *cu, saltus_uploaded *uploaded)
{
    if (uploaded->memory) {
        (void)cu->memory_free(uploaded->memory);
    }
    *uploaded = (saltus_uploaded){0};
}
