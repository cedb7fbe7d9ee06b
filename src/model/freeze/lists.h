/** A compressed list of lists while it is built: items of list i are appended after those of i - 1.
 */
#ifndef SALTUS_MODEL_FREEZE_LISTS_H
#define SALTUS_MODEL_FREEZE_LISTS_H

#include "model/freeze/freeze.h"

/** start[list] is where it begins; the caller sets it, and frees both with saltus_free. */
typedef struct saltus_lists {
    int32_t *start, *items;
    size_t n_items, capacity;
} saltus_lists;

SALTUS_MUST_CHECK saltus_status saltus_lists_push(saltus_lists *r, int32_t item, saltus_error *err);

/** A copy of n elements of `size` bytes that lives as long as the network. */
SALTUS_MUST_CHECK saltus_status saltus_keep_copy(saltus_freezer *f, const void *data, size_t n,
                                                 size_t size, const void **out, saltus_error *err);

/** Copies of n lists that live as long as the network. */
SALTUS_MUST_CHECK saltus_status saltus_lists_keep(saltus_freezer *f, const saltus_lists *r, int n,
                                                  const int32_t **start, const int32_t **items,
                                                  saltus_error *err);

void saltus_lists_free(saltus_lists *r);

#endif
