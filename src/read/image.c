#include "read/image.h"

#include "core/archive.h"
#include "core/file.h"
#include "core/memory.h"

#if SALTUS_WITH_TIFF

#include <sys/mman.h>

#include <errno.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

typedef struct stack {
    TIFF *tiff;
    const char *path;
    const int32_t *size;
    int32_t z; /* the page that is open */
    uint32_t value;
    uint8_t *mask;
    int64_t most; /* bytes at once */
} stack;

/* What a page says of its pixels. */
typedef struct depth {
    uint16_t bits;
    bool is_signed;
} depth;

/* The value of a pixel, or -1 for one below 0, which is never asked for. */
static int64_t pixel(const uint8_t *row, int64_t x, depth d)
{
    uint16_t word;
    uint32_t longer = row[x * d.bits / 8];
    if (d.bits == 16) {
        memcpy(&word, row + 2 * x, 2);
        longer = word;
    } else if (d.bits == 32) {
        memcpy(&longer, row + 4 * x, 4);
    }
    return d.is_signed && longer >> (d.bits - 1) ? -1 : (int64_t)longer;
}

/* Compare n pixels with the value, from column x of a row on. */
static void take_pixels(const stack *s, const uint8_t *pixels, depth d, int64_t x, int64_t y,
                        int64_t n)
{
    uint8_t *out = s->mask + x + s->size[0] * (y + s->size[1] * (int64_t)s->z);
    for (int64_t i = 0; i < n; ++i) {
        out[i] = pixel(pixels, i, d) == (int64_t)s->value;
    }
}

static saltus_status read_rows(const stack *s, depth d, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t bytes = TIFFScanlineSize(s->tiff);
    uint8_t *row = NULL;
    if (bytes < (int64_t)s->size[0] * d.bits / 8 || bytes > s->most ||
        TIFFStripSize(s->tiff) > s->most) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: page %d is damaged", s->path, s->z);
    }
    row = saltus_calloc((size_t)bytes, 1);
    SALTUS_NEED(row);
    for (int32_t y = 0; y < s->size[1]; ++y) {
        if (TIFFReadScanline(s->tiff, row, (uint32_t)y, 0) != 1) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: row %d of page %d cannot be read", s->path, y, s->z);
        }
        take_pixels(s, row, d, 0, y, s->size[0]);
    }
done:
    saltus_free(row);
    return status;
}

static saltus_status read_tiles(const stack *s, depth d, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    uint32_t width = 0, height = 0;
    const int64_t bytes = TIFFTileSize(s->tiff);
    uint8_t *tile = NULL;
    if (bytes <= 0 || bytes > s->most) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: page %d has tiles of %lld bytes", s->path, s->z,
                    (long long)bytes);
    }
    tile = saltus_calloc((size_t)bytes, 1);
    SALTUS_NEED(tile);
    (void)TIFFGetField(s->tiff, TIFFTAG_TILEWIDTH, &width);
    (void)TIFFGetField(s->tiff, TIFFTAG_TILELENGTH, &height);
    if (width == 0 || height == 0 || bytes < (int64_t)width * height * d.bits / 8) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: page %d is damaged", s->path, s->z);
    }
    for (int64_t y = 0; y < s->size[1]; y += height) {
        for (int64_t x = 0; x < s->size[0]; x += width) {
            if (TIFFReadTile(s->tiff, tile, (uint32_t)x, (uint32_t)y, 0, 0) < 0) {
                SALTUS_FAIL(SALTUS_E_IO, "%s: page %d cannot be read", s->path, s->z);
            }
            const int64_t n = s->size[0] - x < width ? s->size[0] - x : width;
            for (int64_t i = 0; i < height && y + i < s->size[1]; ++i) {
                take_pixels(s, tile + i * width * d.bits / 8, d, x, y + i, n);
            }
        }
    }
done:
    saltus_free(tile);
    return status;
}

static saltus_status read_page(const stack *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    uint32_t width = 0, height = 0;
    uint16_t bits = 1, samples = 1, format = SAMPLEFORMAT_UINT;
    (void)TIFFGetField(s->tiff, TIFFTAG_IMAGEWIDTH, &width);
    (void)TIFFGetField(s->tiff, TIFFTAG_IMAGELENGTH, &height);
    (void)TIFFGetFieldDefaulted(s->tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    (void)TIFFGetFieldDefaulted(s->tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    (void)TIFFGetFieldDefaulted(s->tiff, TIFFTAG_SAMPLEFORMAT, &format);
    if ((int64_t)width != s->size[0] || (int64_t)height != s->size[1]) {
        SALTUS_FAIL(SALTUS_E_MODEL, "%s: page %d has %u x %u pixels, not the lattice's %d x %d",
                    s->path, s->z, width, height, s->size[0], s->size[1]);
    }
    if (samples != 1 || (bits != 8 && bits != 16 && bits != 32) ||
        (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_INT)) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                    "%s: page %d: a pixel must be one whole number of 8, 16 or 32 bits", s->path,
                    s->z);
    }
    const depth d = {bits, format == SAMPLEFORMAT_INT};
    status = TIFFIsTiled(s->tiff) ? read_tiles(s, d, err) : read_rows(s, d, err);
done:
    return status;
}

/* libtiff takes no more memory at once than this: a page of the declared size, or the whole file,
 * and something for its tables. */
static int64_t most_memory(const int32_t size[3], int64_t file_size)
{
    const int64_t page = 4 * (int64_t)size[0] * size[1], tables = 16 << 20;
    return (page > file_size ? page : file_size) + tables;
}

/* A copy in memory of what an archive holds: libtiff reads files. */
static saltus_status open_copy(saltus_archive *archive, const char *path, int *fd, int64_t *size,
                               saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *bytes = NULL;
    size_t n = 0;
    SALTUS_TRY(saltus_archive_read(archive, path, &bytes, &n, err));
    *fd = memfd_create("image", MFD_CLOEXEC);
    for (size_t at = 0; at < n && *fd >= 0;) {
        const ssize_t written = write(*fd, bytes + at, n - at);
        if (written < 0 && errno != EINTR) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be copied: %s", path, strerror(errno));
        }
        at += written > 0 ? (size_t)written : 0;
    }
    if (*fd < 0 || lseek(*fd, 0, SEEK_SET) != 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be copied: %s", path, strerror(errno));
    }
    *size = (int64_t)n;
done:
    saltus_free(bytes);
    return status;
}

static saltus_status open_image(saltus_archive *archive, const char *path, int *fd, int64_t *size,
                                saltus_error *err)
{
    struct stat about = {0};
    if (archive) {
        return open_copy(archive, path, fd, size, err);
    }
    const saltus_status status = saltus_open_regular(path, 0, fd, &about, err);
    *size = about.st_size;
    return status;
}

static TIFF *open_tiff(const char *path, int fd, int64_t most)
{
    (void)TIFFSetErrorHandler(NULL); /* it would print */
    (void)TIFFSetWarningHandler(NULL);
#if TIFFLIB_VERSION >= 20221213
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    TIFF *tiff = NULL;
    if (options) {
        TIFFOpenOptionsSetMaxSingleMemAlloc(options, most);
        tiff = TIFFFdOpenExt(fd, path, "rm", options);
        TIFFOpenOptionsFree(options);
    }
    return tiff;
#else
    (void)most;
    return TIFFFdOpen(fd, path, "rm");
#endif
}

saltus_status saltus_image_mask(saltus_archive *archive, const char *path, const int32_t size[3],
                                uint32_t value, uint8_t *mask, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    stack s = {.path = path, .size = size, .value = value, .mask = mask};
    int64_t file_size = 0;
    int fd = -1;
    SALTUS_TRY(open_image(archive, path, &fd, &file_size, err));
    s.most = most_memory(size, file_size);
    s.tiff = open_tiff(path, fd, s.most);
    if (!s.tiff) {
        SALTUS_FAIL(SALTUS_E_IO, "%s cannot be read as TIFF", path);
    }
    fd = -1; /* libtiff closes it */
    do {
        if (s.z < size[2]) {
            SALTUS_TRY(read_page(&s, err));
        }
        ++s.z;
    } while (s.z <= size[2] && TIFFReadDirectory(s.tiff));
    if (s.z != size[2]) {
        SALTUS_FAIL(SALTUS_E_MODEL, "%s: the image has %s%d pages, not the lattice's %d", path,
                    s.z > size[2] ? "more than " : "", s.z > size[2] ? size[2] : s.z, size[2]);
    }
done:
    if (s.tiff) {
        TIFFClose(s.tiff);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

#else

saltus_status saltus_image_mask(saltus_archive *archive, const char *path, const int32_t size[3],
                                uint32_t value, uint8_t *mask, saltus_error *err)
{
    (void)archive, (void)size, (void)value, (void)mask;
    return saltus_error_set(err, SALTUS_E_UNAVAILABLE,
                            "%s: images cannot be read: built without libtiff", path);
}

#endif
