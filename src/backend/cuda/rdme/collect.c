/* What the sites of counts on a GPU hold, found by all cores of the host: while the GPU waits, or
 * in a copy while it goes on. */
#include "backend/cuda/rdme/counts.h"

#include "core/memory.h"
#include "core/parallel.h"

#include <string.h>

enum {
    MOST_WORDS = 1 << 23, /* that come to the host at a time */
    GROUPS = 1 << 14      /* groups of sites that a thread takes at a time */
};

typedef saltus_gpu_counts counts;
typedef saltus_gpu_words words;

#define CU(call, what) SALTUS_TRY(saltus_cuda_check(on->cu, on->cu->call, what, err))

/* Words of some sites, the first of which begins a word. Sites that share words are a group; parts
 * of GROUPS groups are counted, and then, as each knows its place, collected. */
typedef struct collecting {
    const words *of;
    int n_species;
    const uint32_t *words;
    int64_t first, n; /* sites */
    int64_t n_groups;
    saltus_contents *contents;                /* NULL: they are counted */
    uint32_t fields[SALTUS_CUDA_MOST_FIELDS]; /* of species, by word of a group */
    int64_t at[MOST_WORDS / GROUPS];          /* by part: how many it has; where they go */
} collecting;

/* The bits of the species' fields of the first n sites of a group, by word. */
static void find_fields(const collecting *c, int n, uint32_t *fields)
{
    const words *w = c->of;
    const int per_word = 32 / w->bits, per_site = 32 / w->sharers;
    const uint32_t field = 0xffffffffu >> (32 - w->bits);
    memset(fields, 0, (size_t)w->words * sizeof *fields);
    for (int i = 0; i < n; ++i) {
        for (int x = 0; x < c->n_species && x / per_word < w->words; ++x) {
            fields[x / per_word] |= field << (i * per_site + x % per_word * w->bits);
        }
    }
}

/* The lowest bit of each field that is not 0. */
static uint32_t filled(uint32_t word, int bits)
{
    for (int k = 1; k < bits; k *= 2) {
        word |= word >> k;
    }
    return word & (bits < 32 ? 0xffffffffu / ((1u << bits) - 1) : 1u);
}

/* Put the counts of a group to place `at` of the contents and behind, and return where these end.
 * Most words are empty. */
static int64_t collect_group(const collecting *c, int64_t group, const uint32_t *fields, int64_t at)
{
    const words *w = c->of;
    const int bits = w->bits, per_word = 32 / bits, per_site = 32 / w->sharers;
    for (int k = 0; k < w->words; ++k) {
        const uint32_t word = c->words[group * w->words + k] & fields[k];
        for (uint32_t left = word ? filled(word, bits) : 0; left; left &= left - 1, ++at) {
            const int bit = __builtin_ctz(left);
            c->contents->site[at] = c->first + group * w->sharers + bit / per_site;
            c->contents->species[at] = (uint16_t)(k * per_word + bit % per_site / bits);
            c->contents->count[at] = (int32_t)(word >> bit & 0xffffffffu >> (32 - bits));
        }
    }
    return at;
}

static int64_t count_group(const collecting *c, int64_t group, const uint32_t *fields)
{
    const words *w = c->of;
    int64_t n = 0;
    for (int k = 0; k < w->words; ++k) {
        const uint32_t word = c->words[group * w->words + k] & fields[k];
        if (word) {
            n += __builtin_popcount(filled(word, w->bits));
        }
    }
    return n;
}

/* The last of the groups may share words with sites that are others'. */
static void collect_part(collecting *c, int64_t part)
{
    const int64_t begin = part * GROUPS,
                  end = c->n_groups - begin < GROUPS ? c->n_groups : begin + GROUPS;
    const bool has_last = end == c->n_groups;
    int64_t at = c->contents ? c->at[part] : 0;
    uint32_t last[SALTUS_CUDA_MOST_FIELDS];
    for (int64_t g = begin; g < end - has_last; ++g) {
        at = c->contents ? collect_group(c, g, c->fields, at) : at + count_group(c, g, c->fields);
    }
    if (has_last) {
        find_fields(c, (int)(c->n - (end - 1) * c->of->sharers), last);
        at = c->contents ? collect_group(c, end - 1, last, at) : at + count_group(c, end - 1, last);
    }
    c->at[part] = at;
}

static void collect_parts(void *user, int thread, int64_t first, int64_t end)
{
    (void)thread;
    for (int64_t part = first; part < end; ++part) {
        collect_part(user, part);
    }
}

static saltus_status collect_some(collecting *c, saltus_contents *contents, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int64_t n_parts, at = contents->n;
    c->n_groups = (c->n + c->of->sharers - 1) / c->of->sharers;
    n_parts = (c->n_groups + GROUPS - 1) / GROUPS;
    c->contents = NULL;
    saltus_parallel(n_parts, 1, collect_parts, c);
    for (int64_t part = 0; part < n_parts; ++part) {
        const int64_t here = c->at[part];
        c->at[part] = at;
        at += here;
    }
    SALTUS_TRY(saltus_contents_reserve(contents, at, err));
    c->contents = contents;
    saltus_parallel(n_parts, 1, collect_parts, c);
    contents->n = at;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * From the GPU
 */

/* Words of the present sets, but for where they are. */
static void look(const counts *s, words *w)
{
    w->bits = s->bits;
    w->words = s->words;
    w->sharers = s->sharers;
    w->halo = s->halo;
    w->first = saltus_gpu_counts_first(s);
    w->n_sites = saltus_gpu_counts_sites(s);
}

/* Memory of the host, enough for fields of any number of bits. */
static saltus_status take_memory(const saltus_gpu_lattice *on, words *w, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t widest = w->n_sites * saltus_cuda_n_fields(&on->tables) + 1;
    const size_t most = (size_t)(widest < MOST_WORDS ? widest : MOST_WORDS);
    for (int i = 0; i < 2; ++i) {
        if (!w->read[i]) {
            SALTUS_TRY(saltus_cuda_host_alloc(on->cu, on->gpu->host_node, &w->read[i],
                                              most * sizeof(uint32_t), "taking pinned memory",
                                              err));
        }
    }
done:
    return status;
}

void saltus_gpu_words_free(const saltus_gpu_lattice *on, saltus_gpu_words *w)
{
    for (int i = 0; i < 2; ++i) {
        if (w->read[i]) {
            (void)on->cu->host_free(w->read[i]);
        }
        w->read[i] = NULL;
    }
}

/* Begin to copy the words of n sites from number `first` of the slab on. */
static saltus_status start_reading(const saltus_gpu_lattice *on, const words *w, int which,
                                   int64_t first, int64_t n, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t from = (size_t)((w->halo + first) / w->sharers * w->words),
                 n_words = (size_t)((n + w->sharers - 1) / w->sharers * w->words),
                 bytes = sizeof(uint32_t);
    CU(download(w->read[which], w->set + from * bytes, n_words * bytes, w->stream),
       "copying counts");
done:
    return status;
}

/* While the cores look at some sites, the next ones are copied. */
static saltus_status collect(const saltus_gpu_lattice *on, const words *w,
                             saltus_contents *contents, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t all = w->n_sites,
                  most = (int64_t)MOST_WORDS / w->words * w->sharers; /* a whole number of words */
    collecting *c = saltus_calloc(1, sizeof *c);
    SALTUS_NEED(c);
    c->of = w;
    c->n_species = on->a.m.n_species - 1;
    find_fields(c, w->sharers, c->fields);
    SALTUS_TRY(start_reading(on, w, 0, 0, all < most ? all : most, err));
    for (int64_t first = 0, next, k = 0; first < all; first = next, ++k) {
        next = all - first < most ? all : first + most;
        CU(stream_wait(w->stream), "copying counts");
        if (next < all) {
            SALTUS_TRY(start_reading(on, w, (int)(k + 1) % 2, next,
                                     all - next < most ? all - next : most, err));
        }
        c->words = w->read[k % 2];
        c->first = w->first + first;
        c->n = next - first;
        SALTUS_TRY(collect_some(c, contents, err));
    }
done:
    saltus_free(c);
    return status;
}

saltus_status saltus_gpu_counts_collect(void *user, saltus_contents *contents, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    counts *s = user;
    look(s, &s->now);
    s->now.set = s->sets[s->on.a.set];
    s->now.stream = s->on.stream;
    SALTUS_TRY(take_memory(&s->on, &s->now, err));
    SALTUS_TRY(collect(&s->on, &s->now, contents, err));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Aside
 */

/* GPU memory for a copy, if as much is left as wider fields would need. */
static bool has_aside(counts *s)
{
    size_t available = 0, all = 0;
    saltus_error err = {0};
    words *w = &s->aside;
    if (!w->set &&
        (s->on.cu->memory_info(&available, &all) != CU_SUCCESS || available / 3 < s->capacity ||
         s->on.cu->memory_alloc(&w->set, s->capacity) != CU_SUCCESS)) {
        w->set = 0;
        return false;
    }
    return (w->stream ||
            s->on.cu->stream_create(&w->stream, CU_STREAM_NON_BLOCKING) == CU_SUCCESS) &&
           take_memory(&s->on, w, &err) == SALTUS_OK;
}

saltus_status saltus_gpu_counts_set_aside(void *user, bool *is_aside, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    counts *s = user;
    const saltus_gpu_lattice *on = &s->on;
    look(s, &s->aside);
    *is_aside = has_aside(s);
    if (*is_aside) {
        CU(copy(s->aside.set, s->sets[on->a.set], s->capacity, on->stream), "copying counts");
        CU(stream_wait(on->stream), "copying counts");
    }
done:
    return status;
}

saltus_status saltus_gpu_counts_collect_aside(void *user, saltus_contents *contents,
                                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    counts *s = user;
    const saltus_gpu_lattice *on = &s->on;
    (void)pthread_mutex_lock(&s->aside_lock);
    if (!s->aside.set) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "the copy's memory was wanted for wider counts");
    }
    CU(context_use(on->gpu->context), "using a GPU");
    SALTUS_TRY(collect(on, &s->aside, contents, err));
done:
    (void)pthread_mutex_unlock(&s->aside_lock);
    return status;
}

void saltus_gpu_counts_end_aside(saltus_gpu_counts *s)
{
    (void)pthread_mutex_lock(&s->aside_lock);
    saltus_gpu_lattice_free(&s->on, &s->aside.set);
    if (s->aside.stream) {
        (void)s->on.cu->stream_destroy(s->aside.stream);
    }
    s->aside.stream = NULL;
    saltus_gpu_words_free(&s->on, &s->aside);
    (void)pthread_mutex_unlock(&s->aside_lock);
}
