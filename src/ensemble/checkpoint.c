#include "ensemble/checkpoint.h"

#include "core/file.h"
#include "core/handle.h"
#include "core/memory.h"
#include "ensemble/checkpoint_file.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct saltus_checkpoint {
    saltus_handle handle;
    char *path;
    char identity[65];
    double seconds;
    pthread_mutex_t lock; /* of what follows */
    saltus_kept_table table;
    int64_t n_kept; /* in the table; atomic, so that short trajectories need no lock */
    saltus_saver saver;
    char trouble[200];
    bool has_told;
    bool is_fresh;    /* what the file has is to go when a run begins */
    bool is_of_point; /* else it may have such beside it */
    bool is_written;  /* there is a file, which this one or another run has written */
};

/* ------------------------------------------------------------------------------------------------
 * The table
 */

static size_t row_bytes(const saltus_row_sizes *s, int64_t n_samples)
{
    int64_t n = s->counts + s->observables;
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        n += s->splits[i];
    }
    return 8 * (size_t)n * (size_t)n_samples;
}

saltus_kept *saltus_kept_create(const saltus_row_sizes *s, int64_t n_samples, size_t size)
{
    unsigned char *memory = saltus_calloc(sizeof(saltus_kept) + row_bytes(s, n_samples) + size, 1);
    if (!memory) {
        return NULL;
    }
    saltus_kept *kept = (saltus_kept *)(void *)memory;
    memory += sizeof *kept;
    kept->n_samples = n_samples;
    kept->counts = (const int64_t *)(void *)memory;
    memory += 8 * (size_t)(n_samples * s->counts);
    kept->observables = (const double *)(void *)memory;
    memory += 8 * (size_t)(n_samples * s->observables);
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        kept->splits[i] = (const int64_t *)(void *)memory;
        memory += 8 * (size_t)(n_samples * s->splits[i]);
    }
    kept->state = memory;
    kept->size = size;
    return kept;
}

/* Where a trajectory is in the table, or the gap where it belongs. There is a gap. */
static size_t place_of(const saltus_kept_table *t, int64_t trajectory)
{
    const size_t last = t->capacity - 1;
    size_t i = (size_t)(((uint64_t)trajectory * 0x9E3779B97F4A7C15U) >> 32) & last;
    while (t->kept[i] && t->kept[i]->trajectory != trajectory) {
        i = (i + 1) & last;
    }
    return i;
}

static saltus_kept *find(const saltus_kept_table *t, int64_t trajectory)
{
    return t->n > 0 ? t->kept[place_of(t, trajectory)] : NULL;
}

/* So that half of it stays gaps. */
static bool make_room(saltus_kept_table *t)
{
    saltus_kept_table larger = *t;
    if (2 * (t->n + 1) <= t->capacity) {
        return true;
    }
    larger.capacity = t->capacity > 0 ? 2 * t->capacity : 64;
    larger.kept = saltus_calloc(larger.capacity, sizeof *larger.kept);
    if (!larger.kept) {
        return false;
    }
    for (size_t i = 0; i < t->capacity; ++i) {
        if (t->kept[i]) {
            larger.kept[place_of(&larger, t->kept[i]->trajectory)] = t->kept[i];
        }
    }
    saltus_free(t->kept);
    t->kept = larger.kept; /* who makes a copy reads the other members without the lock */
    t->capacity = larger.capacity;
    return true;
}

bool saltus_kept_put(saltus_kept_table *t, saltus_kept *kept)
{
    if (!make_room(t)) {
        return false;
    }
    const size_t i = place_of(t, kept->trajectory);
    t->n += !t->kept[i];
    saltus_free(t->kept[i]);
    t->kept[i] = kept;
    return true;
}

void saltus_kept_free(saltus_kept_table *t)
{
    for (size_t i = 0; i < t->capacity; ++i) {
        saltus_free(t->kept[i]);
    }
    saltus_free(t->kept);
    saltus_free(t->had);
    *t = (saltus_kept_table){.sizes = t->sizes};
}

/* What stands behind it, up to the next gap, may move up. */
static void drop_one(saltus_kept_table *t, int64_t trajectory)
{
    const size_t last = t->capacity - 1;
    if (!find(t, trajectory)) {
        return;
    }
    size_t i = place_of(t, trajectory);
    saltus_free(t->kept[i]);
    t->kept[i] = NULL;
    --t->n;
    for (i = (i + 1) & last; t->kept[i]; i = (i + 1) & last) {
        saltus_kept *kept = t->kept[i];
        t->kept[i] = NULL;
        t->kept[place_of(t, kept->trajectory)] = kept;
    }
}

/* ------------------------------------------------------------------------------------------------
 * The saver
 */

/* With the lock held. */
static void count(saltus_checkpoint *c)
{
    __atomic_store_n(&c->n_kept, (int64_t)c->table.n, __ATOMIC_RELAXED);
}

/* A worker sees what it has put there itself, and what was there before the run. */
static bool is_empty(const saltus_checkpoint *c)
{
    return __atomic_load_n(&c->n_kept, __ATOMIC_RELAXED) == 0;
}

/* Returns NULL where memory runs out; what was kept before stays. */
static const saltus_kept *put(saltus_checkpoint *c, const saltus_job *job, int64_t n_samples,
                              const void *state, size_t size, bool is_complete)
{
    const saltus_row_sizes *s = &c->table.sizes;
    saltus_kept *kept = saltus_kept_create(s, n_samples, size);
    if (!kept) {
        return NULL;
    }
    kept->trajectory = job->trajectory;
    kept->is_complete = is_complete;
    if (is_complete) {
        kept->tally = job->tally;
    }
    const size_t n = 8 * (size_t)n_samples;
    if (s->counts > 0 && n > 0) {
        memcpy((void *)(uintptr_t)kept->counts, job->counts, n * (size_t)s->counts);
    }
    if (s->observables > 0 && n > 0) {
        memcpy((void *)(uintptr_t)kept->observables, job->observables, n * (size_t)s->observables);
    }
    for (int i = 0; i < SALTUS_N_SPLITS; ++i) {
        if (s->splits[i] > 0 && n > 0) {
            memcpy((void *)(uintptr_t)kept->splits[i], job->splits[i], n * (size_t)s->splits[i]);
        }
    }
    if (state) {
        memcpy(kept->state, state, size);
    }
    (void)pthread_mutex_lock(&c->lock);
    const bool is_put = saltus_kept_put(&c->table, kept);
    count(c);
    (void)pthread_mutex_unlock(&c->lock);
    if (!is_put) {
        saltus_free(kept);
    }
    return is_put ? kept : NULL;
}

static void keep(void *user, saltus_job *job, int64_t n_samples, const void *state, size_t size)
{
    const saltus_kept *kept = put(user, job, n_samples, state, size, !state);
    job->kept = kept ? kept : job->kept;
}

const saltus_kept *saltus_checkpoint_find(saltus_checkpoint *c, int64_t trajectory)
{
    if (is_empty(c)) {
        return NULL;
    }
    (void)pthread_mutex_lock(&c->lock);
    const saltus_kept *kept = find(&c->table, trajectory);
    (void)pthread_mutex_unlock(&c->lock);
    return kept;
}

void saltus_checkpoint_keep_ended(saltus_checkpoint *c, const saltus_job *job)
{
    const saltus_kept *kept = saltus_checkpoint_find(c, job->trajectory);
    if (!kept || !kept->is_complete) {
        (void)put(c, job, c->table.n_times, NULL, 0, true);
    }
}

void saltus_checkpoint_drop(saltus_checkpoint *c, int64_t first, int64_t n)
{
    if (is_empty(c)) {
        return;
    }
    (void)pthread_mutex_lock(&c->lock);
    saltus_kept_table *t = &c->table;
    for (int64_t i = first; i < first + n && n <= (int64_t)t->capacity; ++i) {
        drop_one(t, i);
    }
    for (size_t i = 0; i < t->capacity && n > (int64_t)t->capacity; ++i) {
        while (t->kept[i] && t->kept[i]->trajectory - first >= 0 &&
               t->kept[i]->trajectory - first < n) {
            drop_one(t, t->kept[i]->trajectory);
        }
    }
    count(c);
    (void)pthread_mutex_unlock(&c->lock);
}

void saltus_checkpoint_set_had(saltus_checkpoint *c, int64_t n, void *bytes, size_t size)
{
    (void)pthread_mutex_lock(&c->lock);
    saltus_free(c->table.had);
    c->table.n_had = n;
    c->table.had = bytes;
    c->table.had_size = size;
    (void)pthread_mutex_unlock(&c->lock);
}

const void *saltus_checkpoint_had(const saltus_checkpoint *c, int64_t *n, size_t *size)
{
    *n = c->table.n_had;
    *size = c->table.had_size;
    return c->table.had;
}

bool saltus_checkpoint_is_written(const saltus_checkpoint *c)
{
    return c->is_written;
}

/* Those of a sweep's points that a killed process has left: the points are in the file. */
static void remove_points(const saltus_checkpoint *c)
{
    const char *path = c->path, *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const size_t n_folder = (size_t)(base - path), n_base = strlen(base);
    char *file = saltus_calloc(n_folder + sizeof((struct dirent *)0)->d_name + 2, 1);
    if (!file) {
        return;
    }
    memcpy(file, n_folder > 0 ? path : ".", n_folder > 0 ? n_folder : 1);
    DIR *folder = opendir(file);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        saltus_checkpoint *point = NULL;
        if (strncmp(e->d_name, base, n_base) == 0 && e->d_name[n_base] == '.') {
            char *number = e->d_name + n_base + 1, *behind = number + strspn(number, "0123456789");
            if (behind > number && (!*behind || strcmp(behind, SALTUS_BESIDE) == 0)) {
                *behind = '\0';
                strcpy(file + n_folder, e->d_name);
                if (saltus_checkpoint_open(file, "", c->seconds, true, &point, NULL) == SALTUS_OK) {
                    point->is_of_point = true;
                    saltus_checkpoint_close(point, false);
                }
            }
        }
    }
    if (folder) {
        (void)closedir(folder);
    }
    saltus_free(file);
}

/* The checkpoint, and what is left of one where a process was killed while it wrote it. */
static void remove_files(const saltus_checkpoint *c)
{
    if (!c->is_of_point) {
        remove_points(c);
    }
    const size_t size = strlen(c->path) + sizeof SALTUS_BESIDE;
    char *beside = saltus_calloc(size, 1);
    (void)unlink(c->path);
    if (beside) {
        (void)snprintf(beside, size, "%s" SALTUS_BESIDE, c->path);
        (void)unlink(beside);
    }
    saltus_free(beside);
}

void saltus_checkpoint_begin(saltus_checkpoint *c, const saltus_row_sizes *sizes, int64_t n_times)
{
    if (c->is_fresh) {
        remove_files(c);
        c->is_fresh = false;
    }
    if (memcmp(sizes, &c->table.sizes, sizeof *sizes) != 0 || n_times != c->table.n_times) {
        saltus_kept_free(&c->table);
        c->table.sizes = *sizes;
        c->table.n_times = n_times;
    }
    count(c);
}

double saltus_checkpoint_seconds(const saltus_checkpoint *c)
{
    return c->seconds;
}

const char *saltus_checkpoint_trouble(saltus_checkpoint *c)
{
    const bool is_told = c->has_told;
    c->has_told = true;
    return is_told || !c->trouble[0] ? NULL : c->trouble;
}

const saltus_saver *saltus_checkpoint_saver(saltus_checkpoint *c)
{
    return &c->saver;
}

saltus_status saltus_checkpoint_write(saltus_checkpoint *c, const saltus_sink *sink,
                                      saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_packer all = {0};
    (void)pthread_mutex_lock(&c->lock);
    const bool is_any = c->table.n > 0 || c->table.had;
    if (is_any) {
        saltus_kept_pack(&all, &c->table);
    }
    (void)pthread_mutex_unlock(&c->lock);
    if (!is_any) {
        return SALTUS_OK;
    }
    SALTUS_NEED(!all.failed);
    if (sink->flush) { /* frames that were taken before are in the file before */
        SALTUS_TRY(sink->flush(sink->user, err));
    }
    SALTUS_TRY(saltus_checkpoint_file_write(c->path, c->identity, &all, err));
    c->is_written = true;
done:
    saltus_pack_free(&all);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Opening and closing
 */

static void destroy(saltus_checkpoint *c)
{
    if (c) {
        saltus_kept_free(&c->table);
        (void)pthread_mutex_destroy(&c->lock);
        saltus_free(c->path);
        saltus_free(c);
    }
}

saltus_status saltus_checkpoint_open(const char *path, const char *identity, double seconds,
                                     bool fresh, saltus_checkpoint **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_checkpoint *c = NULL;
    if (!path || !identity || !out) {
        return saltus_no_argument(err, __func__);
    }
    *out = NULL;
    if (!(seconds > 0.0 && isfinite(seconds))) {
        SALTUS_FAIL(SALTUS_E_INVALID, "checkpoints every %g s: it must be above 0", seconds);
    }
    c = saltus_calloc(1, sizeof *c);
    SALTUS_NEED(c);
    (void)pthread_mutex_init(&c->lock, NULL);
    c->path = saltus_strdup(path);
    SALTUS_NEED(c->path);
    c->seconds = seconds;
    c->is_fresh = fresh;
    c->saver = (saltus_saver){c, keep};
    saltus_sha256_hex(identity, strlen(identity), c->identity);
    SALTUS_TRY(saltus_checkpoint_file_read(path, c->identity, fresh, &c->table, c->trouble,
                                           sizeof c->trouble, err));
    c->is_written = c->table.n > 0 || c->table.had;
    saltus_handle_add(&c->handle, SALTUS_HANDLE_CHECKPOINT);
    *out = c;
    c = NULL;
done:
    destroy(c);
    return status;
}

saltus_status saltus_checkpoint_open_point(const saltus_checkpoint *c, int64_t point,
                                           saltus_checkpoint **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char identity[sizeof c->identity + 24];
    const size_t size = strlen(c->path) + 24;
    char *path = saltus_calloc(size, 1);
    SALTUS_NEED(path);
    (void)snprintf(path, size, "%s.%lld", c->path, (long long)point);
    (void)snprintf(identity, sizeof identity, "%s %lld", c->identity, (long long)point);
    SALTUS_TRY(saltus_checkpoint_open(path, identity, c->seconds, c->is_fresh, out, err));
    (*out)->is_of_point = true;
done:
    saltus_free(path);
    return status;
}

void saltus_checkpoint_close(saltus_checkpoint *c, bool is_kept)
{
    if (!c || !saltus_handle_take(&c->handle, SALTUS_HANDLE_CHECKPOINT)) {
        return;
    }
    if (!is_kept) {
        remove_files(c);
    }
    destroy(c);
}
