#include "core/pack.h"

#include "core/memory.h"

#include <string.h>

void saltus_pack_reserve(saltus_packer *k, size_t size)
{
    if (!k->failed && size > k->capacity - k->n) {
        unsigned char *grown = saltus_realloc(k->data, k->n + size, 1);
        k->failed = !grown;
        k->data = grown ? grown : k->data;
        k->capacity = grown ? k->n + size : k->capacity;
    }
}

const void *saltus_pack_view(saltus_packer *k, size_t size)
{
    if (k->failed || size > saltus_pack_left(k)) {
        k->failed = true;
        return NULL;
    }
    k->at += size;
    return k->data + k->at - size;
}

void saltus_pack_bytes(saltus_packer *k, void *data, size_t size)
{
    if (k->failed || size == 0) {
        return;
    }
    if (k->is_taking) {
        const void *there = saltus_pack_view(k, size);
        if (there) {
            memcpy(data, there, size);
        }
        return;
    }
    if (size > k->capacity - k->n) {
        saltus_pack_reserve(k, k->capacity > size ? k->capacity : size + 256);
    }
    if (!k->failed) {
        memcpy(k->data + k->n, data, size);
        k->n += size;
    }
}

void saltus_pack_same(saltus_packer *k, int64_t value)
{
    int64_t there = value;
    SALTUS_PACK(k, there);
    k->failed |= there != value;
}

void saltus_pack_small(saltus_packer *k, int64_t *value)
{
    /* the sign goes to the lowest bit; 7 bits a byte, the highest says that more follow */
    uint64_t left = (uint64_t)*value << 1 ^ (*value < 0 ? UINT64_MAX : 0), all = 0;
    for (unsigned shift = 0; shift < 64 && !k->failed; shift += 7) {
        unsigned char byte = (unsigned char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
        SALTUS_PACK(k, byte);
        all |= (uint64_t)(byte & 0x7f) << shift;
        left >>= 7;
        if (!(byte & 0x80)) {
            break;
        }
    }
    if (k->is_taking) {
        *value = (int64_t)(all >> 1 ^ (all & 1 ? UINT64_MAX : 0));
    }
}

size_t saltus_pack_left(const saltus_packer *k)
{
    return k->n - k->at;
}

void saltus_pack_free(saltus_packer *k)
{
    saltus_free(k->data);
    *k = (saltus_packer){0};
}
