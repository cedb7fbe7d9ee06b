/**
 * Archives: files as they were when they were read, under the names by which they were asked for. A
 * result file holds one, so that its run can go on without them; see saltus/saltus_model.h.
 */
#ifndef SALTUS_CORE_ARCHIVE_H
#define SALTUS_CORE_ARCHIVE_H

#include "core/status.h"

/** Read a file as saltus_read_file does: from the archive if it is there, else from the disk, and
 * it is there from then on. NULL: from the disk. Any thread may call. SALTUS_E_IO also for what a
 * sealed archive lacks. */
SALTUS_MUST_CHECK saltus_status saltus_archive_read(saltus_archive *archive, const char *path,
                                                    char **text, size_t *size, saltus_error *err);

/**
 * All files in one text, to be freed with saltus_free: of each the length of its name and its size,
 * as unsigned integers of 64 bits, little-endian, then the name and the bytes.
 */
SALTUS_MUST_CHECK saltus_status saltus_archive_pack(const saltus_archive *archive, char **bytes,
                                                    size_t *size, saltus_error *err);
/** The files of such a text, in a sealed archive, which takes no others. SALTUS_E_SYNTAX when it is
 * none. */
SALTUS_MUST_CHECK saltus_status saltus_archive_unpack(const char *bytes, size_t size,
                                                      saltus_archive **out, saltus_error *err);

#endif
