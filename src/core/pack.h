/**
 * Values in bytes, and back, by one description for both ways: a function that names each value
 * once either appends them all or takes them back in the same order. Numbers are little-endian, as
 * on every machine that Saltus runs on.
 *
 * Example: static void pack_point(saltus_packer *k, point *p) { SALTUS_PACK(k, p->x);
 * SALTUS_PACK(k, p->y); }
 */
#ifndef SALTUS_CORE_PACK_H
#define SALTUS_CORE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zero-initialise to append. To take back set `data`, `n` and is_taking. */
typedef struct saltus_packer {
    unsigned char *data; /**< to append, own memory; free it with saltus_pack_free */
    size_t n, capacity;
    size_t at;      /**< taken so far */
    bool is_taking; /**< else appending */
    bool failed;    /**< memory ran out, or what is taken is not what it should be: nothing more is
                         appended or taken */
} saltus_packer;

/** Before so many bytes are appended: make room, so that it need not grow. */
void saltus_pack_reserve(saltus_packer *k, size_t size);
/** Take bytes where they are; NULL when there are fewer. */
const void *saltus_pack_view(saltus_packer *k, size_t size);
/** Append or take `size` bytes. */
void saltus_pack_bytes(saltus_packer *k, void *data, size_t size);
/** Append a number, or take one and fail unless it is the same. */
void saltus_pack_same(saltus_packer *k, int64_t value);
/** A number that is mostly small, of up to 10 bytes. */
void saltus_pack_small(saltus_packer *k, int64_t *value);
/** Bytes that are left to be taken. */
size_t saltus_pack_left(const saltus_packer *k);
/** Of a pack that was appended to. */
void saltus_pack_free(saltus_packer *k);

/** Append or take a variable. */
#define SALTUS_PACK(k, variable) saltus_pack_bytes((k), &(variable), sizeof(variable))

#endif
