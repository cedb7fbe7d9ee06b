/** Files: reading one whole, publishing one at once, and SHA-256 of what was read. */
#ifndef SALTUS_CORE_FILE_H
#define SALTUS_CORE_FILE_H

#include "core/status.h"

#include <sys/stat.h>

/** "file", "folder", "named pipe", "socket" or "device". */
const char *saltus_file_kind(mode_t mode);

/** Open a file for reading, with further flags of open(2), and tell about it; the caller closes
 * *fd. SALTUS_E_IO also for what is no file: a pipe or a device is not waited for. */
SALTUS_MUST_CHECK saltus_status saltus_open_regular(const char *path, int flags, int *fd,
                                                    struct stat *about, saltus_error *err);

/** Read what is left of an open file or pipe, at most 1 GiB, as saltus_read_file does; `name` is
 * for messages. */
SALTUS_MUST_CHECK saltus_status saltus_read_all(int fd, const char *name, char **text, size_t *size,
                                                saltus_error *err);

/** Read a whole file of at most 1 GiB into *text, ended by a zero that *size does not count. The
 * caller frees *text with saltus_free. SALTUS_E_IO, SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_read_file(const char *path, char **text, size_t *size,
                                                 saltus_error *err);

/** Flush what was printed; SALTUS_E_IO when not all of it could be written. */
SALTUS_MUST_CHECK saltus_status saltus_check_written(FILE *out, saltus_error *err);

/** Lower-case hexadecimal SHA-256 (FIPS 180-4). */
void saltus_sha256_hex(const void *data, size_t size, char hex[65]);

/** The part of a path behind the last slash. */
const char *saltus_base_name(const char *path);

/** A path that stands in a file, which is seen from the file's folder. Freed with saltus_free; NULL
 * when memory ran out. */
char *saltus_path_beside(const char *file, const char *path);

#endif
