#include "core/handle.h"

#include "core/lock.h"

#include <stddef.h>

static saltus_handle *alive;
static uint64_t n_made;

void saltus_handle_add(saltus_handle *handle, saltus_handle_kind kind)
{
    saltus_lock(SALTUS_HANDLES);
    *handle = (saltus_handle){.next = alive, .kind = kind, .number = ++n_made};
    if (alive) {
        alive->before = handle;
    }
    alive = handle;
    saltus_unlock(SALTUS_HANDLES);
}

bool saltus_handle_take(saltus_handle *handle, saltus_handle_kind kind)
{
    saltus_lock(SALTUS_HANDLES);
    const saltus_handle *h = alive;
    while (h && h != handle) {
        h = h->next;
    }
    const bool found = h && h->kind == kind;
    if (found) {
        *(h->before ? &h->before->next : &alive) = h->next;
        if (h->next) {
            h->next->before = h->before;
        }
    }
    saltus_unlock(SALTUS_HANDLES);
    return found;
}
