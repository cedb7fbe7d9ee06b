/**
 * How failures travel: a status, and one sentence in the caller's record.
 *
 * A function that can fail has one `status` and one label `done:`, under which it releases what it
 * still owns. SALTUS_FAIL records the failure and jumps there, SALTUS_TRY jumps on what a callee
 * has recorded.
 */
#ifndef SALTUS_CORE_STATUS_H
#define SALTUS_CORE_STATUS_H

#include "saltus/saltus.h"

/* The status is set here, where an analyser sees it, rather than taken from the function. */
#define SALTUS_FAIL(code_, ...)                           \
    do {                                                  \
        status = (code_);                                 \
        (void)saltus_error_set(err, status, __VA_ARGS__); \
        goto done;                                        \
    } while (0)

#define SALTUS_TRY(call)           \
    do {                           \
        status = (call);           \
        if (status != SALTUS_OK) { \
            goto done;             \
        }                          \
    } while (0)

/* Check an allocation. */
#define SALTUS_NEED(pointer)                                   \
    do {                                                       \
        if (!(pointer)) {                                      \
            SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out"); \
        }                                                      \
    } while (0)

/** Record a failure unless err is NULL or holds an earlier one. Returns code. */
__attribute__((format(printf, 3, 4))) saltus_status
saltus_error_set(saltus_error *err, saltus_status code, const char *format, ...);

/** Record another record's failure in the same way, with its hint. Returns its code. */
saltus_status saltus_error_pass(saltus_error *err, const saltus_error *from);

/** A function of the library was called without something that it needs: SALTUS_E_INVALID. */
saltus_status saltus_no_argument(saltus_error *err, const char *function);

/** Add a hint to the record, unless it has one. */
__attribute__((format(printf, 2, 3))) void saltus_error_hint(saltus_error *err, const char *format,
                                                             ...);

#endif
