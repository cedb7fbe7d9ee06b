/** Which handles are alive, so that to destroy one twice does nothing. */
#ifndef SALTUS_CORE_HANDLE_H
#define SALTUS_CORE_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum saltus_handle_kind {
    SALTUS_HANDLE_MODEL,
    SALTUS_HANDLE_BACKEND,
    SALTUS_HANDLE_PLAN,
    SALTUS_HANDLE_SWEEP,
    SALTUS_HANDLE_SINK,
    SALTUS_HANDLE_SWEEP_FILE,
    SALTUS_HANDLE_RESULTS,
    SALTUS_HANDLE_MEMORY,
    SALTUS_HANDLE_ARCHIVE,
    SALTUS_HANDLE_CHECKPOINT,
    SALTUS_HANDLE_RANKS,
} saltus_handle_kind;

/** A member of what a handle points to: a link of the list of all that are alive. */
typedef struct saltus_handle {
    struct saltus_handle *before, *next;
    saltus_handle_kind kind;
    uint64_t number; /**< no other handle of the process has or had it */
} saltus_handle;

/** From now on alive. Any thread may call. */
void saltus_handle_add(saltus_handle *handle, saltus_handle_kind kind);

/** Take it off the list; false when it is not there: destroyed before, or never made. Its memory is
 * not looked at unless it is there. */
bool saltus_handle_take(saltus_handle *handle, saltus_handle_kind kind);

#endif
