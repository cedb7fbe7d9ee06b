/* The form: a head of numbers of 64 bits, little-endian (magic, form, bytes of all data, number of
 * pieces, bytes of each piece as it is packed, checksum of the packed pieces), the identity, a
 * checksum of the head, and the pieces. Each piece is 4 MiB of the data but the last, packed by
 * zlib by itself, so that cores can share the work. */
#include "ensemble/checkpoint_file.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/parallel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if SALTUS_WITH_ZLIB
#include <zlib.h>
#endif

enum { FORM = 2, PIECE = 4 << 20 };
static const char magic[8] = "saltusCK";

/* ------------------------------------------------------------------------------------------------
 * Tables as bytes
 */

static void pack_one(saltus_packer *k, saltus_kept_table *t, saltus_kept **at)
{
    saltus_kept head = {0};
    uint64_t size = 0;
    uint8_t is_complete = 0;
    if (!k->is_taking) {
        head = **at;
        size = head.size;
        is_complete = head.is_complete;
    }
    SALTUS_PACK(k, head.trajectory);
    SALTUS_PACK(k, head.n_samples);
    SALTUS_PACK(k, size);
    SALTUS_PACK(k, is_complete);
    SALTUS_PACK(k, head.tally);
    if (k->is_taking && !k->failed) {
        k->failed = head.n_samples < 0 || head.n_samples > t->n_times || is_complete > 1 ||
                    size > saltus_pack_left(k);
        *at = k->failed ? NULL : saltus_kept_create(&t->sizes, head.n_samples, (size_t)size);
        k->failed |= !*at;
        if (*at) {
            (*at)->trajectory = head.trajectory;
            (*at)->is_complete = is_complete;
            (*at)->tally = head.tally;
        }
    }
    if (!k->failed && *at) { /* the samples and the state lie behind each other */
        void *rows = (void *)(uintptr_t)(*at)->counts;
        const size_t n = (size_t)((*at)->state - (const unsigned char *)rows);
        saltus_pack_bytes(k, rows, n + (*at)->size);
    }
}

static void pack_had(saltus_packer *k, saltus_kept_table *t)
{
    uint64_t size = t->had_size;
    SALTUS_PACK(k, t->n_had);
    SALTUS_PACK(k, size);
    if (k->is_taking && !k->failed) {
        k->failed = t->n_had < 0 || size > saltus_pack_left(k);
        t->had = k->failed || size == 0 ? NULL : saltus_calloc((size_t)size, 1);
        t->had_size = t->had ? (size_t)size : 0;
        k->failed |= t->had_size != size;
    }
    saltus_pack_bytes(k, t->had, t->had_size);
}

void saltus_kept_pack(saltus_packer *k, saltus_kept_table *t)
{
    int64_t n = (int64_t)t->n;
    SALTUS_PACK(k, t->sizes);
    SALTUS_PACK(k, t->n_times);
    pack_had(k, t);
    SALTUS_PACK(k, n);
    for (size_t i = 0; !k->is_taking && i < t->capacity; ++i) {
        if (t->kept[i]) {
            pack_one(k, t, &t->kept[i]);
        }
    }
    for (int64_t i = 0; k->is_taking && i < n && !k->failed; ++i) {
        saltus_kept *kept = NULL;
        pack_one(k, t, &kept);
        if (kept && (k->failed || !saltus_kept_put(t, kept))) {
            k->failed = true;
            saltus_free(kept);
        }
    }
}

#if SALTUS_WITH_ZLIB

/* ------------------------------------------------------------------------------------------------
 * Pieces
 */

/* Data in pieces: plain, and packed one behind the other's room. */
typedef struct pieces {
    unsigned char *plain, *packed;
    size_t n_plain, room; /* of a piece that is packed */
    int64_t n;
    uint64_t *size; /* [n] packed */
    uint64_t *from; /* [n] where each begins in `packed` */
    int n_failed;   /* atomic */
} pieces;

static size_t plain_size(const pieces *p, int64_t i)
{
    const size_t left = p->n_plain - (size_t)i * PIECE;
    return left < PIECE ? left : PIECE;
}

static void pack_pieces(void *user, int part, int64_t first, int64_t end)
{
    pieces *p = user;
    (void)part;
    for (int64_t i = first; i < end; ++i) {
        uLongf size = (uLongf)p->room;
        if (compress2(p->packed + (size_t)i * p->room, &size, p->plain + (size_t)i * PIECE,
                      (uLong)plain_size(p, i), 1) != Z_OK) {
            (void)__atomic_fetch_add(&p->n_failed, 1, __ATOMIC_RELAXED);
        }
        p->size[i] = size;
    }
}

static void unpack_pieces(void *user, int part, int64_t first, int64_t end)
{
    pieces *p = user;
    (void)part;
    for (int64_t i = first; i < end; ++i) {
        uLongf size = (uLongf)plain_size(p, i);
        if (uncompress(p->plain + (size_t)i * PIECE, &size, p->packed + p->from[i],
                       (uLong)p->size[i]) != Z_OK ||
            size != plain_size(p, i)) {
            (void)__atomic_fetch_add(&p->n_failed, 1, __ATOMIC_RELAXED);
        }
    }
}

static void pack_head(saltus_packer *k, pieces *p, uint64_t *checksum, char identity[65])
{
    uint64_t n_plain = p->n_plain;
    char text[sizeof magic];
    memcpy(text, magic, sizeof text);
    saltus_pack_bytes(k, text, sizeof text);
    k->failed |= memcmp(text, magic, sizeof text) != 0;
    saltus_pack_same(k, FORM);
    SALTUS_PACK(k, n_plain);
    p->n_plain = (size_t)n_plain;
    SALTUS_PACK(k, p->n);
    if (k->is_taking && !k->failed) {
        k->failed = p->n < 0 || (size_t)p->n > saltus_pack_left(k) / 8 ||
                    n_plain > (uint64_t)p->n * PIECE ||
                    (p->n > 0 && n_plain <= (uint64_t)(p->n - 1) * PIECE);
        p->size = k->failed ? NULL : saltus_calloc((size_t)p->n, sizeof *p->size);
        k->failed |= !p->size;
    }
    if (!k->failed) {
        saltus_pack_bytes(k, p->size, (size_t)p->n * sizeof *p->size);
    }
    SALTUS_PACK(k, *checksum);
    saltus_pack_bytes(k, identity, 65);
    uint64_t own = crc32_z(0, k->data, k->is_taking ? k->at : k->n);
    saltus_pack_same(k, (int64_t)own);
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

static bool write_all(int fd, const unsigned char *data, size_t n)
{
    while (n > 0) {
        const ssize_t some = write(fd, data, n);
        if (some < 0 && errno != EINTR) {
            return false;
        }
        data += some > 0 ? some : 0;
        n -= some > 0 ? (size_t)some : 0;
    }
    return true;
}

/* What has the name is forced to the disk, too. */
static void sync_folder(const char *path)
{
    char *folder = saltus_strdup(path);
    if (folder) {
        char *slash = strrchr(folder, '/');
        if (slash) {
            slash[slash == folder] = '\0';
        }
        const int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) {
            (void)fsync(fd);
            (void)close(fd);
        }
    }
    saltus_free(folder);
}

static bool write_pieces(int fd, const saltus_packer *head, const pieces *p)
{
    bool is_written = write_all(fd, head->data, head->n);
    for (int64_t i = 0; i < p->n && is_written; ++i) {
        is_written = write_all(fd, p->packed + (size_t)i * p->room, (size_t)p->size[i]);
    }
    return is_written && fsync(fd) == 0;
}

static saltus_status publish(const char *path, const saltus_packer *head, const pieces *p,
                             saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t size = strlen(path) + sizeof SALTUS_BESIDE;
    bool is_mine = false;
    int fd = -1;
    char *beside = saltus_calloc(size, 1);
    SALTUS_NEED(beside);
    (void)snprintf(beside, size, "%s" SALTUS_BESIDE, path);
    fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    is_mine = fd >= 0;
    const bool is_written = is_mine && write_pieces(fd, head, p);
    const int problem = errno;
    if (fd >= 0 && close(fd) != 0 && is_written) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: %s", beside, strerror(errno));
    }
    if (!is_written) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: %s", beside, strerror(problem));
    }
    if (rename(beside, path) != 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: %s", path, strerror(errno));
    }
    is_mine = false;
    sync_folder(path);
done:
    if (is_mine) {
        (void)unlink(beside);
    }
    saltus_free(beside);
    return status;
}

saltus_status saltus_checkpoint_file_write(const char *path, const char identity[65],
                                           const saltus_packer *data, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_packer head = {0};
    uint64_t checksum = 0;
    char of[65];
    pieces p = {.plain = data->data,
                .n_plain = data->n,
                .room = compressBound(PIECE),
                .n = (int64_t)((data->n + PIECE - 1) / PIECE)};
    p.packed = saltus_calloc((size_t)p.n, p.room);
    p.size = saltus_calloc((size_t)p.n, sizeof *p.size);
    SALTUS_NEED(p.packed && p.size);
    saltus_parallel(p.n, 1, pack_pieces, &p);
    SALTUS_NEED(p.n_failed == 0);
    for (int64_t i = 0; i < p.n; ++i) {
        checksum = crc32_z((uLong)checksum, p.packed + (size_t)i * p.room, (size_t)p.size[i]);
    }
    memcpy(of, identity, sizeof of);
    pack_head(&head, &p, &checksum, of);
    SALTUS_NEED(!head.failed && p.size);
    SALTUS_TRY(publish(path, &head, &p, err));
done:
    saltus_free(p.packed);
    saltus_free(p.size);
    saltus_pack_free(&head);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

/* Take the pieces, behind the head. Returns false for what is damaged. */
static bool unpack(saltus_packer *file, pieces *p, uint64_t checksum, saltus_kept_table *table)
{
    saltus_packer data = {.is_taking = true, .failed = true};
    uint64_t end = 0;
    p->packed = file->data + file->at;
    p->plain = saltus_calloc(p->n_plain + 1, 1);
    p->from = saltus_calloc((size_t)p->n, sizeof *p->from);
    bool is_whole = p->plain && p->from && p->size;
    for (int64_t i = 0; is_whole && i < p->n; ++i) {
        p->from[i] = end;
        end += p->size[i];
        is_whole = p->size[i] <= saltus_pack_left(file) && end <= saltus_pack_left(file);
    }
    if (is_whole && end == saltus_pack_left(file) &&
        crc32_z(0, p->packed, (size_t)end) == checksum) {
        saltus_parallel(p->n, 1, unpack_pieces, p);
        data.data = p->plain;
        data.n = p->n_plain;
        data.failed = p->n_failed > 0;
        saltus_kept_pack(&data, table);
    }
    saltus_free(p->plain);
    saltus_free(p->from);
    return !data.failed && saltus_pack_left(&data) == 0;
}

saltus_status saltus_checkpoint_file_read(const char *path, const char identity[65], bool fresh,
                                          saltus_kept_table *table, char *trouble, size_t size,
                                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *text = NULL, of[65];
    saltus_packer file = {.is_taking = true};
    pieces p = {0};
    uint64_t checksum = 0;
    *table = (saltus_kept_table){.n = 0};
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        return SALTUS_OK;
    }
    SALTUS_TRY(saltus_read_file(path, &text, &file.n, err));
    file.data = (unsigned char *)text;
    if (file.n > 0 && (file.n < sizeof magic || memcmp(text, magic, sizeof magic) != 0)) {
        status = saltus_error_set(err, SALTUS_E_IO, "%s: is in the way: it is no checkpoint", path);
        saltus_error_hint(err, "choose another name for the result, or remove it first");
        goto done;
    }
    if (fresh) {
        goto done;
    }
    pack_head(&file, &p, &checksum, of);
    if (!file.failed && memcmp(of, identity, sizeof of) != 0) {
        (void)snprintf(trouble, size, "%.120s: is of another run; it is not used", path);
    } else if (file.failed || !unpack(&file, &p, checksum, table)) {
        saltus_kept_free(table);
        (void)snprintf(trouble, size, "%.120s: is damaged; what was under way is simulated again",
                       path);
    }
done:
    saltus_free(p.size);
    saltus_free(text);
    return status;
}

#else

saltus_status saltus_checkpoint_file_write(const char *path, const char identity[65],
                                           const saltus_packer *data, saltus_error *err)
{
    (void)identity;
    (void)data;
    return saltus_error_set(err, SALTUS_E_UNAVAILABLE, "%s: built without zlib", path);
}

saltus_status saltus_checkpoint_file_read(const char *path, const char identity[65], bool fresh,
                                          saltus_kept_table *table, char *trouble, size_t size,
                                          saltus_error *err)
{
    (void)identity;
    (void)fresh;
    (void)table;
    (void)trouble;
    (void)size;
    return saltus_error_set(err, SALTUS_E_UNAVAILABLE, "%s: built without zlib", path);
}

#endif
