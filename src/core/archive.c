#include "core/archive.h"

#include "core/file.h"
#include "core/handle.h"
#include "core/memory.h"

#include <pthread.h>
#include <string.h>

typedef struct entry {
    char *name, *bytes; /* ended by a zero that size does not count */
    size_t size;
} entry;

struct saltus_archive {
    saltus_handle handle;
    pthread_mutex_t lock;
    entry *entries;
    size_t n, capacity;
    bool is_sealed;
};

saltus_status saltus_archive_create(saltus_archive **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (!out) {
        return saltus_no_argument(err, __func__);
    }
    saltus_archive *a = saltus_calloc(1, sizeof *a);
    SALTUS_NEED(a);
    (void)pthread_mutex_init(&a->lock, NULL);
    saltus_handle_add(&a->handle, SALTUS_HANDLE_ARCHIVE);
    *out = a;
done:
    return status;
}

void saltus_archive_destroy(saltus_archive *a)
{
    if (!a || !saltus_handle_take(&a->handle, SALTUS_HANDLE_ARCHIVE)) {
        return;
    }
    for (size_t i = 0; i < a->n; ++i) {
        saltus_free(a->entries[i].name);
        saltus_free(a->entries[i].bytes);
    }
    saltus_free(a->entries);
    (void)pthread_mutex_destroy(&a->lock);
    saltus_free(a);
}

static const entry *find(const saltus_archive *a, const char *name)
{
    for (size_t i = 0; i < a->n; ++i) {
        if (strcmp(a->entries[i].name, name) == 0) {
            return &a->entries[i];
        }
    }
    return NULL;
}

static saltus_status copy(const char *bytes, size_t size, char **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    *out = saltus_calloc(size + 1, 1);
    SALTUS_NEED(*out);
    memcpy(*out, bytes, size);
done:
    return status;
}

/* With the lock held. */
static saltus_status add(saltus_archive *a, const char *name, const char *bytes, size_t size,
                         saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    entry new = {.size = size};
    entry *grown = saltus_grow(a->entries, a->n, &a->capacity, sizeof *a->entries);
    SALTUS_NEED(grown);
    a->entries = grown;
    new.name = saltus_strdup(name);
    SALTUS_NEED(new.name);
    SALTUS_TRY(copy(bytes, size, &new.bytes, err));
    grown[a->n++] = new;
    new.name = NULL;
done:
    saltus_free(new.name);
    return status;
}

saltus_status saltus_archive_add(saltus_archive *a, const char *name, const void *bytes,
                                 size_t size, saltus_error *err)
{
    if (!a || !name || (!bytes && size > 0)) {
        return saltus_no_argument(err, __func__);
    }
    (void)pthread_mutex_lock(&a->lock);
    const saltus_status status =
        find(a, name) ? saltus_error_set(err, SALTUS_E_INVALID,
                                         "the archive has a file '%.200s' already", name)
                      : add(a, name, size > 0 ? bytes : "", size, err);
    (void)pthread_mutex_unlock(&a->lock);
    return status;
}

const void *saltus_archive_get(const saltus_archive *a, const char *name, size_t *size)
{
    const entry *e = a && name ? find(a, name) : NULL;
    if (size) {
        *size = e ? e->size : 0;
    }
    return e ? e->bytes : NULL;
}

saltus_status saltus_archive_read(saltus_archive *a, const char *path, char **text, size_t *size,
                                  saltus_error *err)
{
    if (!a) {
        return saltus_read_file(path, text, size, err);
    }
    saltus_status status = SALTUS_OK;
    (void)pthread_mutex_lock(&a->lock);
    const entry *e = find(a, path);
    if (!e && a->is_sealed) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: is not among the files that the result holds", path);
    }
    if (e) {
        SALTUS_TRY(copy(e->bytes, e->size, text, err));
        *size = e->size;
    } else {
        char *read = NULL;
        SALTUS_TRY(saltus_read_file(path, &read, size, err));
        status = add(a, path, read, *size, err);
        if (status == SALTUS_OK) {
            *text = read;
        } else {
            saltus_free(read);
        }
    }
done:
    (void)pthread_mutex_unlock(&a->lock);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * As one text
 */

enum { HEAD_BYTES = 16 }; /* of an entry */

static void put_number(char *at, size_t value)
{
    for (int i = 0; i < 8; ++i) {
        at[i] = (char)(unsigned char)((uint64_t)value >> 8 * i & 0xff);
    }
}

static uint64_t get_number(const char *at)
{
    uint64_t value = 0;
    for (int i = 8; i-- > 0;) {
        value = value << 8 | (unsigned char)at[i];
    }
    return value;
}

saltus_status saltus_archive_pack(const saltus_archive *a, char **bytes, size_t *size,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t n = 0;
    for (size_t i = 0; i < a->n; ++i) {
        n += HEAD_BYTES + strlen(a->entries[i].name) + a->entries[i].size;
    }
    char *at = saltus_calloc(n + 1, 1);
    SALTUS_NEED(at);
    *bytes = at;
    *size = n;
    for (size_t i = 0; i < a->n; ++i) {
        const entry *e = &a->entries[i];
        const size_t length = strlen(e->name);
        put_number(at, length);
        put_number(at + 8, e->size);
        memcpy(at + HEAD_BYTES, e->name, length);
        memcpy(at + HEAD_BYTES + length, e->bytes, e->size);
        at += HEAD_BYTES + length + e->size;
    }
done:
    return status;
}

saltus_status saltus_archive_unpack(const char *bytes, size_t size, saltus_archive **out,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_archive *a = NULL;
    char *name = NULL;
    SALTUS_TRY(saltus_archive_create(&a, err));
    for (size_t at = 0; at < size;) {
        const size_t left = size - at;
        const uint64_t length = left >= HEAD_BYTES ? get_number(bytes + at) : UINT64_MAX;
        const uint64_t n = left >= HEAD_BYTES ? get_number(bytes + at + 8) : UINT64_MAX;
        if (length > left - HEAD_BYTES || n > left - HEAD_BYTES - length) {
            SALTUS_FAIL(SALTUS_E_SYNTAX, "the archive of files is damaged");
        }
        saltus_free(name);
        SALTUS_TRY(copy(bytes + at + HEAD_BYTES, length, &name, err));
        SALTUS_TRY(saltus_archive_add(a, name, bytes + at + HEAD_BYTES + length, n, err));
        at += HEAD_BYTES + length + n;
    }
    a->is_sealed = true;
    *out = a;
    a = NULL;
done:
    saltus_free(name);
    saltus_archive_destroy(a);
    return status;
}
