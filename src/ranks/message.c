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
        saltus_pack_free(&m->data);
        saltus_free(m);
    }
}

void saltus_message_reserve(saltus_message *m, size_t size)
{
    if (m) {
        saltus_pack_reserve(&m->data, size);
    }
}

void saltus_message_put(saltus_message *m, const void *bytes, size_t size)
{
    if (m) { /* what is appended is only read */
        saltus_pack_bytes(&m->data, (void *)(uintptr_t)bytes, size);
    }
}

const void *saltus_message_view(saltus_message *m, size_t size)
{
    return saltus_pack_view(&m->data, size);
}

void saltus_message_get(saltus_message *m, void *bytes, size_t size)
{
    saltus_pack_bytes(&m->data, bytes, size);
    if (m->data.failed && size > 0) {
        memset(bytes, 0, size);
    }
}
