/**
 * @file
 * What every call of the library shares: status values, the record of a failure, the version, and
 * the files that a program around the library reads and writes. saltus.h includes this header.
 */
#ifndef SALTUS_SALTUS_STATUS_H
#define SALTUS_SALTUS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** In the shared library and its interface. */
#define SALTUS_API __attribute__((visibility("default")))
/** Its result must be looked at. */
#define SALTUS_MUST_CHECK __attribute__((warn_unused_result))

/** Status values: fixed numbers, with their texts. */
#define SALTUS_STATUS_LIST(X)                                                    \
    X(SALTUS_OK, 0, "success")                                                   \
    X(SALTUS_E_INVALID, 1, "an argument or option is out of its range")          \
    X(SALTUS_E_SYNTAX, 2, "the input is not well formed")                        \
    X(SALTUS_E_MODEL, 3, "the model is not consistent")                          \
    X(SALTUS_E_UNSUPPORTED, 4, "the model uses something that is not supported") \
    X(SALTUS_E_NO_MEMORY, 5, "memory ran out")                                   \
    X(SALTUS_E_IO, 6, "reading or writing failed")                               \
    X(SALTUS_E_DEVICE, 7, "a device failed")                                     \
    X(SALTUS_E_CANCELLED, 8, "the run was stopped on request")                   \
    X(SALTUS_E_NUMERIC, 9, "a trajectory left the range of its numbers")         \
    X(SALTUS_E_UNAVAILABLE, 10, "this part was not built or is not present")     \
    X(SALTUS_E_INTERNAL, 11, "a defect of this library")

/** Result of everything that can fail. */
typedef enum saltus_status {
/** An entry of the list as an enumerator. */
#define SALTUS_STATUS_ENUM(name, value, text) name = value,
    SALTUS_STATUS_LIST(SALTUS_STATUS_ENUM)
#undef SALTUS_STATUS_ENUM
} saltus_status;

/** The caller's record of the first failure. Set code to SALTUS_OK (or zero the whole) before use;
 * a record that holds a failure is not overwritten, because the first is nearest the cause. */
typedef struct saltus_error {
    saltus_status code; /**< SALTUS_OK: nothing has failed */
    char message[600];  /**< one sentence: place, thing, value; no newline. Fields of options and
                           what they may be set to stand in backquotes: `record all` */
    char hint[480];     /**< what would help; empty when there is nothing to say */
} saltus_error;

/**
 * Put a status into words.
 *
 * @param status any value, also one that is no status
 * @return a constant text, never NULL
 */
SALTUS_API const char *saltus_status_text(saltus_status status);

/**
 * Tell the version of the library.
 *
 * @return "major.minor.patch", a constant text
 */
SALTUS_API const char *saltus_version(void);

/**
 * Read a whole file, at most 1 GiB.
 *
 * @param path       a file, or "-": what is left of standard input
 * @param[out] text  ended by a zero; to be freed with saltus_text_free
 * @param[out] size  bytes, without that zero
 * @param err        see saltus_error
 * @retval SALTUS_OK          text and size are set
 * @retval SALTUS_E_INVALID   path, text or size is NULL
 * @retval SALTUS_E_IO        it cannot be read, is larger, or is a pipe or a device
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_text_read(const char *path, char **text,
                                                            size_t *size, saltus_error *err);
/**
 * Free a text of saltus_text_read.
 *
 * @param text may be NULL
 */
SALTUS_API void saltus_text_free(char *text);

/**
 * Ask whether a file may be put under a name: there is none, or an empty one, or one by whose mark
 * is known that Saltus has written it.
 *
 * @param path where the file is to be
 * @param mark a text that Saltus writes into the first or last 4 KiB of files of this kind
 * @param err  see saltus_error
 * @retval SALTUS_OK          it may
 * @retval SALTUS_E_INVALID   it is another file; the hint tells what helps
 * @retval SALTUS_E_IO        it cannot be looked into
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_may_replace(const char *path, const char *mark,
                                                              saltus_error *err);

#ifdef __cplusplus
}
#endif

#endif
