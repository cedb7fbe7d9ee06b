/**
 * Whether a result can fit on its disk, before it is begun.
 *
 * How much smaller packing makes samples is not known then. Of our examples level 1 makes counts 2
 * to 3 times smaller, of systems that hardly change some 20 times; deflate ends at 1032.
 */
#ifndef SALTUS_WRITE_HDF5_DISK_H
#define SALTUS_WRITE_HDF5_DISK_H

#include "core/status.h"

enum { SALTUS_DOUBT_SIZE = 400 };

/** Bytes that a result takes at least, before they are packed. */
typedef struct saltus_disk_need {
    double plain;  /**< stands in the file as it is */
    double packed; /**< at the level that was asked for */
    double sparse; /**< mostly zeros, or chunks that are not stored */
} saltus_disk_need;

/** Bytes that a file at this path may take, what it replaces included; infinite when the system
 * does not tell. */
double saltus_disk_free(const char *path);

/** SALTUS_E_INVALID, with the numbers and a hint, when it cannot fit. */
SALTUS_MUST_CHECK saltus_status saltus_disk_check(const char *path, const saltus_disk_need *need,
                                                  saltus_compress compress, double free,
                                                  saltus_error *err);
/** Whether it may not fit, in words. */
bool saltus_disk_doubt(const char *path, const saltus_disk_need *need, double free,
                       char text[SALTUS_DOUBT_SIZE]);

#endif
