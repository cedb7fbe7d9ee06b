#include "model/freeze/lists.h"

#include <string.h>

saltus_status saltus_lists_push(saltus_lists *r, int32_t item, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int32_t *grown = saltus_grow(r->items, r->n_items, &r->capacity, sizeof *r->items);
    SALTUS_NEED(grown);
    r->items = grown;
    if (r->n_items >= INT32_MAX) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "the network is too large for 2^31 dependencies");
    }
    r->items[r->n_items++] = item;
done:
    return status;
}

saltus_status saltus_keep_copy(saltus_freezer *f, const void *data, size_t n, size_t size,
                               const void **out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    void *copy = saltus_arena_alloc(f->arena, n * size + 1);
    SALTUS_NEED(copy);
    if (data && n > 0) {
        memcpy(copy, data, n * size);
    }
    *out = copy;
done:
    return status;
}

saltus_status saltus_lists_keep(saltus_freezer *f, const saltus_lists *r, int n,
                                const int32_t **start, const int32_t **items, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const void *p = NULL;
    SALTUS_TRY(saltus_keep_copy(f, r->start, (size_t)n + 1, sizeof *r->start, &p, err));
    *start = p;
    SALTUS_TRY(saltus_keep_copy(f, r->items, r->n_items, sizeof *r->items, &p, err));
    *items = p;
done:
    return status;
}

void saltus_lists_free(saltus_lists *r)
{
    saltus_free(r->start);
    saltus_free(r->items);
}
