#include "read/gzip.h"

#include "core/archive.h"
#include "core/file.h"
#include "core/memory.h"

#include <string.h>

bool saltus_is_gzip(const char *text, size_t size)
{
    return size >= 2 && memcmp(text, "\x1f\x8b", 2) == 0;
}

#if SALTUS_WITH_ZLIB

#define ZLIB_CONST /* what is unpacked stays as it is */
#include <zlib.h>

enum { GZIP_ONLY = 16 + MAX_WBITS };
static const size_t most_at_once = (size_t)1 << 30;
static const size_t most_text = (size_t)1 << 30;

static void *allocate(void *user, unsigned n, unsigned size)
{
    (void)user;
    return saltus_calloc(n, size);
}

static void release(void *user, void *p)
{
    (void)user;
    saltus_free(p);
}

typedef struct unpacking {
    z_stream z;
    const char *packed, *name;
    size_t left; /* of what is packed and zlib has not got yet */
    char *text;
    size_t capacity, n;
} unpacking;

/* Let zlib have room, and a byte stay for the zero behind the text. */
static saltus_status make_room(unpacking *u, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (u->n > most_text) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: larger than 1 GiB when it is unpacked", u->name);
    }
    if (u->n + 1 == u->capacity) {
        const size_t more = u->capacity < most_text / 2 ? u->capacity * 2 : most_text + 2;
        char *grown = saltus_realloc(u->text, more, 1);
        SALTUS_NEED(grown);
        u->text = grown;
        u->capacity = more;
    }
    const size_t room = u->capacity - 1 - u->n;
    u->z.next_out = (Bytef *)u->text + u->n;
    u->z.avail_out = (uInt)(room < most_at_once ? room : most_at_once);
done:
    return status;
}

static void feed(unpacking *u)
{
    if (u->z.avail_in == 0) {
        const size_t n = u->left < most_at_once ? u->left : most_at_once;
        u->z.next_in = (const Bytef *)u->packed;
        u->z.avail_in = (uInt)n;
        u->packed += n;
        u->left -= n;
    }
}

/* Behind a member comes another one, or nothing, or zeros that fill a block of a tape. */
static saltus_status next_member(unpacking *u, bool *is_done, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (feed(u); u->z.avail_in > 0 && *u->z.next_in == 0; feed(u)) {
        ++u->z.next_in;
        --u->z.avail_in;
    }
    *is_done = u->z.avail_in == 0;
    if (!*is_done && (*u->z.next_in != 0x1f || inflateReset(&u->z) != Z_OK)) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: something that gzip has not packed is behind its end",
                    u->name);
    }
done:
    return status;
}

static saltus_status unpack(unpacking *u, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    for (bool is_done = false; !is_done;) {
        SALTUS_TRY(make_room(u, err));
        feed(u);
        const uInt room = u->z.avail_out;
        const int result = inflate(&u->z, Z_NO_FLUSH);
        u->n += room - u->z.avail_out;
        if (result == Z_MEM_ERROR) {
            SALTUS_FAIL(SALTUS_E_NO_MEMORY, "%s: no memory to unpack it", u->name);
        }
        if (result == Z_BUF_ERROR) { /* there is room, so what lacks is input */
            SALTUS_FAIL(SALTUS_E_IO, "%s: is packed by gzip, and ends too early", u->name);
        }
        if (result == Z_STREAM_END) {
            SALTUS_TRY(next_member(u, &is_done, err));
        } else if (result != Z_OK) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: is packed by gzip, and damaged: %s", u->name,
                        u->z.msg ? u->z.msg : "it does not unpack");
        }
    }
done:
    return status;
}

saltus_status saltus_gunzip(const char *packed, size_t packed_size, const char *name, char **text,
                            size_t *size, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    unpacking u = {.z = {.zalloc = allocate, .zfree = release},
                   .packed = packed,
                   .left = packed_size,
                   .name = name,
                   .capacity = 1 << 16};
    bool is_open = false;
    u.text = saltus_calloc(u.capacity, 1);
    SALTUS_NEED(u.text);
    is_open = inflateInit2(&u.z, GZIP_ONLY) == Z_OK;
    if (!is_open) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "%s: no memory to unpack it", name);
    }
    SALTUS_TRY(unpack(&u, err));
    u.text[u.n] = '\0';
    *text = u.text;
    *size = u.n;
    u.text = NULL;
done:
    if (is_open) {
        (void)inflateEnd(&u.z);
    }
    saltus_free(u.text);
    return status;
}

#else

saltus_status saltus_gunzip(const char *packed, size_t packed_size, const char *name, char **text,
                            size_t *size, saltus_error *err)
{
    (void)packed, (void)packed_size, (void)text, (void)size;
    const saltus_status status = saltus_error_set(
        err, SALTUS_E_UNAVAILABLE, "%s: is packed by gzip: built without zlib", name);
    saltus_error_hint(err, "unpack it with gunzip");
    return status;
}

#endif

saltus_status saltus_read_text(saltus_archive *archive, const char *path, char **text, size_t *size,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *all = NULL;
    size_t n = 0;
    SALTUS_TRY(saltus_archive_read(archive, path, &all, &n, err));
    if (saltus_is_gzip(all, n)) {
        status = saltus_gunzip(all, n, path, text, size, err);
    } else {
        *text = all;
        *size = n;
        all = NULL;
    }
done:
    saltus_free(all);
    return status;
}
