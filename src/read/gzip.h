/** Texts that gzip packed. */
#ifndef SALTUS_READ_GZIP_H
#define SALTUS_READ_GZIP_H

#include "core/status.h"

bool saltus_is_gzip(const char *text, size_t size);

/** Unpack what saltus_is_gzip, all members of it, into at most 1 GiB, as saltus_read_file reads
 * one; `name` is for messages. SALTUS_E_IO for what is damaged, not whole or larger;
 * SALTUS_E_NO_MEMORY; SALTUS_E_UNAVAILABLE without zlib. */
SALTUS_MUST_CHECK saltus_status saltus_gunzip(const char *packed, size_t packed_size,
                                              const char *name, char **text, size_t *size,
                                              saltus_error *err);

/** Read a file, as saltus_archive_read does, and unpack it if it is packed. */
SALTUS_MUST_CHECK saltus_status saltus_read_text(saltus_archive *archive, const char *path,
                                                 char **text, size_t *size, saltus_error *err);

#endif
