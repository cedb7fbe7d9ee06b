#include "ranks/message.h"

#include "core/memory.h"

#include <string.h>

saltus_message *saltus_message_new(saltus_message_kind kind)
{
    saltus_message *m = saltus_calloc(1, sizeof *m);
    if (m) {
        m->kind = kind;
    }
    return m;
}

void saltus_message_free(saltus_message *m)
{
    if (m) {
        saltus_free(m->bytes);
        saltus_free(m);
    }
}

void saltus_message_reserve(saltus_message *m, size_t size)
{
    if (m && !m->is_bad && size > m->capacity) {
        char *grown = saltus_realloc(m->bytes, size, 1);
        m->is_bad = !grown;
        m->bytes = grown ? grown : m->bytes;
        m->capacity = grown ? size : m->capacity;
    }
}

void saltus_message_put(saltus_message *m, const void *bytes, size_t size)
{
    if (!m || m->is_bad || size == 0) {
        return;
    }
    if (size > m->capacity - m->size) {
        const size_t twice = 2 * m->capacity, least = m->size + size;
        saltus_message_reserve(m, twice > least ? twice : least + 256);
    }
    if (!m->is_bad) {
        memcpy(m->bytes + m->size, bytes, size);
        m->size += size;
    }
}

const void *saltus_message_view(saltus_message *m, size_t size)
{
    if (m->is_bad || size > m->size - m->at) {
        m->is_bad = true;
        return NULL;
    }
    const char *from = m->bytes + m->at;
    m->at += size;
    return from;
}

void saltus_message_get(saltus_message *m, void *bytes, size_t size)
{
    const void *from = saltus_message_view(m, size);
    if (size == 0) {
        return;
    }
    if (from) {
        memcpy(bytes, from, size);
    } else {
        memset(bytes, 0, size);
    }
}
