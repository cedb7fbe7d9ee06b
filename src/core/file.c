#include "core/file.h"

#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const char *saltus_file_kind(mode_t mode)
{
    return S_ISREG(mode)    ? "file"
           : S_ISDIR(mode)  ? "folder"
           : S_ISFIFO(mode) ? "named pipe"
           : S_ISSOCK(mode) ? "socket"
                            : "device";
}

saltus_status saltus_open_regular(const char *path, int flags, int *fd, struct stat *about,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    /* so that a pipe without a writer does not keep this waiting; files do not mind */
    int opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
    if (opened < 0 || fstat(opened, about) != 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: %s", path, strerror(errno));
    }
    if (!S_ISREG(about->st_mode)) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: it is a %s, not a file", path,
                    saltus_file_kind(about->st_mode));
    }
    *fd = opened;
    opened = -1;
done:
    if (opened >= 0) {
        (void)close(opened);
    }
    return status;
}

saltus_status saltus_read_all(int fd, const char *name, char **text, size_t *size,
                              saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const size_t limit = (size_t)1 << 30;
    size_t n = 0, capacity = 1 << 16;
    char *data = saltus_calloc(capacity, 1);
    SALTUS_NEED(data);
    for (;;) {
        const ssize_t got = read(fd, data + n, capacity - 1 - n);
        if (got < 0 && errno != EINTR) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be read: %s", name, strerror(errno));
        }
        if (got == 0) {
            break;
        }
        n += got > 0 ? (size_t)got : 0;
        if (n > limit) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: larger than 1 GiB", name);
        }
        if (n < capacity - 1) {
            continue;
        }
        const size_t more = capacity < limit / 2 ? capacity * 2 : limit + 2;
        char *grown = saltus_realloc(data, more, 1);
        SALTUS_NEED(grown);
        data = grown;
        capacity = more;
    }
    data[n] = '\0';
    *text = data;
    *size = n;
    data = NULL;
done:
    saltus_free(data);
    return status;
}

saltus_status saltus_read_file(const char *path, char **text, size_t *size, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    struct stat about;
    int fd = -1;
    SALTUS_TRY(saltus_open_regular(path, 0, &fd, &about, err));
    SALTUS_TRY(saltus_read_all(fd, path, text, size, err));
done:
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

saltus_status saltus_text_read(const char *path, char **text, size_t *size, saltus_error *err)
{
    if (!path || !text || !size) {
        return saltus_no_argument(err, "saltus_text_read");
    }
    return strcmp(path, "-") == 0 ? saltus_read_all(STDIN_FILENO, "stdin", text, size, err)
                                  : saltus_read_file(path, text, size, err);
}

void saltus_text_free(char *text)
{
    saltus_free(text);
}

saltus_status saltus_may_replace(const char *path, const char *mark, saltus_error *err)
{
    enum { PART = 4096 };
    saltus_status status = SALTUS_OK;
    char bytes[2 * PART];
    struct stat about;
    int fd = -1;
    if (!path || !mark) {
        return saltus_no_argument(err, "saltus_may_replace");
    }
    if (stat(path, &about) != 0 && errno == ENOENT) {
        return SALTUS_OK;
    }
    if (stat(path, &about) != 0 || S_ISDIR(about.st_mode)) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be written: %s", path,
                    strerror(S_ISDIR(about.st_mode) ? EISDIR : errno));
    }
    if (!S_ISREG(about.st_mode)) {
        SALTUS_FAIL(SALTUS_E_INVALID, "%s: exists and is a %s", path,
                    saltus_file_kind(about.st_mode));
    }
    SALTUS_TRY(saltus_open_regular(path, 0, &fd, &about, err));
    const ssize_t first = pread(fd, bytes, PART, 0);
    const off_t tail = about.st_size > 2 * (off_t)PART ? about.st_size - PART : PART;
    const ssize_t last = first == PART ? pread(fd, bytes + PART, PART, tail) : 0;
    const size_t n = first > 0 && last >= 0 ? (size_t)(first + last) : 0;
    if (about.st_size > 0 && !memmem(bytes, n, mark, strlen(mark))) {
        status = saltus_error_set(err, SALTUS_E_INVALID,
                                  "%s: exists, and Saltus has not written it", path);
        saltus_error_hint(err, "choose another name, or remove it first");
    }
done:
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

saltus_status saltus_check_written(FILE *out, saltus_error *err)
{
    errno = 0;
    if (fflush(out) == 0 && !ferror(out)) {
        return SALTUS_OK;
    }
    if (!errno) { /* an earlier failure, whose cause is forgotten: what fails once more tells it */
        clearerr(out);
        (void)fputc('\n', out);
        (void)fflush(out);
    }
    return saltus_error_set(err, SALTUS_E_IO, "%s: writing failed%s%s",
                            out == stdout ? "standard output" : "the output", errno ? ": " : "",
                            errno ? strerror(errno) : "");
}

const char *saltus_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *saltus_path_beside(const char *file, const char *path)
{
    const size_t n = path[0] == '/' ? 0 : (size_t)(saltus_base_name(file) - file);
    char *out = saltus_calloc(n + strlen(path) + 1, 1);
    if (out) {
        memcpy(out, file, n);
        memcpy(out + n, path, strlen(path));
    }
    return out;
}

/* The constants are the fractional parts of the cube roots of the first 64 primes (FIPS 180-4). */
static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n)
{
    return (x >> n) | (x << (32 - n));
}

/* Round i, s[k] being the words a to h as they stand at (k + i) mod 8: no word is moved. */
static inline void sha_round(uint32_t s[8], int i, uint32_t w)
{
    uint32_t *h = &s[(7 - i) & 7];
    const uint32_t a = s[-i & 7], b = s[(1 - i) & 7], c = s[(2 - i) & 7];
    const uint32_t e = s[(4 - i) & 7], f = s[(5 - i) & 7], g = s[(6 - i) & 7];
    *h += (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + sha_k[i] + w;
    s[(3 - i) & 7] += *h;
    *h += (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
}

static void sha_block(uint32_t h[8], const unsigned char *p)
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; ++i) {
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    }
    for (int i = 16; i < 64; ++i) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ (a >> 3)) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ (b >> 10));
    }
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i += 8) { /* places are then known when it is compiled */
        sha_round(s, i, w[i]);
        sha_round(s, i + 1, w[i + 1]);
        sha_round(s, i + 2, w[i + 2]);
        sha_round(s, i + 3, w[i + 3]);
        sha_round(s, i + 4, w[i + 4]);
        sha_round(s, i + 5, w[i + 5]);
        sha_round(s, i + 6, w[i + 6]);
        sha_round(s, i + 7, w[i + 7]);
    }
    for (int i = 0; i < 8; ++i) {
        h[i] += s[i];
    }
}

void saltus_sha256_hex(const void *data, size_t size, char hex[65])
{
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char tail[128] = {0};
    const unsigned char *p = data;
    const size_t whole = size / 64 * 64, rest = size - whole;
    const size_t tail_size = rest < 56 ? 64 : 128;

    for (size_t i = 0; i < whole; i += 64) {
        sha_block(h, p + i);
    }
    if (rest) {
        memcpy(tail, p + whole, rest);
    }
    tail[rest] = 0x80;
    for (int i = 0; i < 8; ++i) {
        tail[tail_size - 1 - (size_t)i] = (unsigned char)((uint64_t)size * 8 >> (8 * i));
    }
    for (size_t i = 0; i < tail_size; i += 64) {
        sha_block(h, tail + i);
    }
    for (int i = 0; i < 8; ++i) {
        (void)snprintf(hex + 8 * i, 9, "%08x", (unsigned)h[i]);
    }
}
