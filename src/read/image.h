/** Stacks of pictures. */
#ifndef SALTUS_READ_IMAGE_H
#define SALTUS_READ_IMAGE_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * Where the pixels of a TIFF file with many pages have a value: page z, row y, column x.
 *
 * Pages have one whole number of 8, 16 or 32 bits per pixel, with a sign or without, in strips or
 * tiles. A pixel below 0 has no value that can be asked for.
 *
 * @param archive as for saltus_archive_read
 * @param size the pages, rows and columns that there must be: columns, rows, pages
 * @param[out] mask [z][y][x] 1 where the pixel has the value, else 0
 * @retval SALTUS_E_IO          the file cannot be read
 * @retval SALTUS_E_MODEL       it has another size
 * @retval SALTUS_E_UNSUPPORTED another kind of pixel
 * @retval SALTUS_E_UNAVAILABLE built without libtiff
 */
SALTUS_MUST_CHECK saltus_status saltus_image_mask(saltus_archive *archive, const char *path,
                                                  const int32_t size[3], uint32_t value,
                                                  uint8_t *mask, saltus_error *err);

#endif
