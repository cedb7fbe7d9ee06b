#include "backend/cuda/device/kernels.h"

#include "backend/cuda/device/driver.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_OPTIONS = 6, PATH_SIZE = 1000, NVRTC_INVALID_OPTION = 5 };

/* Options of the compiler: one rounding per operation, as on the CPU; and a log with the registers
 * of a kernel. */
static const char *const fixed_options[N_OPTIONS - 1] = {
    "--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--ptxas-options=-v"};

void saltus_put_number(FILE *out, double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isfinite(x)) {
        /* whole numbers times powers of two, which no locale changes */
        int exponent;
        const double mantissa = ldexp(frexp(fabs(x), &exponent), 53);
        fprintf(out, "(%s0x%" PRIx64 "p%d)", signbit(x) ? "-" : "", (uint64_t)mantissa,
                exponent - 53);
    } else {
        fprintf(out, "SALTUS_AS_F64((int64_t)0x%" PRIx64 ")", (uint64_t)bits);
    }
}

/* Find the folder for compiled kernels, and make it if need be; false: there is none that this user
 * alone can write to. */
static bool find_cache(char path[PATH_SIZE])
{
    const char *own = getenv("SALTUS_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    struct stat folder;
    int n;
    if (own && *own) {
        n = snprintf(path, PATH_SIZE, "%s", own);
    } else if (xdg && *xdg == '/') {
        n = snprintf(path, PATH_SIZE, "%s/saltus", xdg);
    } else if (home && *home == '/') {
        (void)snprintf(path, PATH_SIZE, "%s/.cache", home);
        (void)mkdir(path, 0700);
        n = snprintf(path, PATH_SIZE, "%s/.cache/saltus", home);
    } else {
        return false;
    }
    return n > 0 && n < PATH_SIZE - 100 && (mkdir(path, 0700) == 0 || errno == EEXIST) &&
           stat(path, &folder) == 0 && S_ISDIR(folder.st_mode) && folder.st_uid == geteuid() &&
           (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(path, W_OK | X_OK) == 0;
}

/* The name of the file for a text: a hash of the text, the kernels, the options and the compiler.
 */
static saltus_status hash_all(const char *text, const char *const *options, const saltus_nvrtc *rtc,
                              char hex[65], saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    SALTUS_NEED(out);
    (void)fprintf(out, "nvrtc %d.%d\n%s\n%s", rtc->major, rtc->minor, saltus_kernel_sha256, text);
    for (int i = 0; i < N_OPTIONS; ++i) {
        (void)fprintf(out, "%s\n", options[i]);
    }
    if (fclose(out) != 0) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
    }
    saltus_sha256_hex(all, size, hex);
done:
    free(all);
    return status;
}

/* What a file of the cache starts with: the length and the SHA-256 of what follows. */
typedef struct header {
    char magic[16];
    uint64_t size; /* of the usage and the image behind it */
    char sha256[65];
    char zeros[7];
} header;
static const char magic[16] = "saltus kernel 1";

/* Header, usage and image in one, to be freed; NULL when memory ran out. */
static char *pack(const saltus_image *image, size_t *size)
{
    header h = {.size = sizeof image->usage + image->size};
    *size = sizeof h + h.size;
    char *all = saltus_calloc(*size, 1);
    if (all) {
        memcpy(h.magic, magic, sizeof h.magic);
        memcpy(all + sizeof h, &image->usage, sizeof image->usage);
        memcpy(all + sizeof h + sizeof image->usage, image->image, image->size);
        saltus_sha256_hex(all + sizeof h, h.size, h.sha256);
        memcpy(all, &h, sizeof h);
    }
    return all;
}

/* Store an image under its name. A cache that fails is no failure. A file that is not whole yet has
 * a name of its own, whatever processes, containers and machines share the folder. */
static void keep(const char *path, const saltus_image *image)
{
    char temporary[PATH_SIZE + 120];
    size_t size;
    char *all = pack(image, &size);
    (void)snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    const int fd = all ? mkstemp(temporary) : -1; /* mode 0600 */
    if (fd >= 0) {
        const bool is_whole = write(fd, all, size) == (ssize_t)size;
        if (close(fd) != 0 || !is_whole || rename(temporary, path) != 0) {
            (void)unlink(temporary);
        }
    }
    saltus_free(all);
}

static bool is_intact(const char *all, size_t size)
{
    header h;
    char sha256[65];
    if (size <= sizeof h + sizeof(saltus_usage)) {
        return false;
    }
    memcpy(&h, all, sizeof h);
    saltus_sha256_hex(all + sizeof h, size - sizeof h, sha256);
    return memcmp(h.magic, magic, sizeof magic) == 0 && h.size == size - sizeof h &&
           memcmp(h.sha256, sha256, sizeof sha256) == 0;
}

/* Load what `keep` has stored: a file of this user's that no other can write to, whole and
 * undamaged. */
static bool fetch(const char *path, saltus_image *out)
{
    struct stat about;
    char *all = NULL;
    size_t size = 0;
    int fd = -1;
    bool found = saltus_open_regular(path, O_NOFOLLOW, &fd, &about, NULL) == SALTUS_OK &&
                 about.st_uid == geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                 saltus_read_all(fd, path, &all, &size, NULL) == SALTUS_OK && is_intact(all, size);
    if (found) {
        const size_t before = sizeof(header) + sizeof out->usage;
        out->size = size - before;
        out->image = saltus_calloc(out->size, 1);
        found = out->image != NULL;
        if (found) {
            memcpy(&out->usage, all + sizeof(header), sizeof out->usage);
            memcpy(out->image, all + before, out->size);
            out->is_cached = true;
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    saltus_free(all);
    return found;
}

/* The compiler's log, to be freed; NULL when memory ran out. */
static char *read_log(const saltus_nvrtc *rtc, nvrtc_program program)
{
    size_t size = 0;
    const bool has_log = rtc->log_size(program, &size) == 0;
    char *log = saltus_calloc(size + 1, 1);
    if (log && has_log && size > 0) {
        (void)rtc->log(program, log);
    }
    return log;
}

/* The first line of the log with an error. */
static void first_error(const char *log, char *line, size_t size)
{
    const char *at = strstr(log, "error");
    while (at && at > log && at[-1] != '\n') {
        --at;
    }
    at = at ? at : *log ? log : "no reason given";
    (void)snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
}

/* The greatest number in front of a word of the log, such as "Used 38 registers"; 0 without one. */
static int number_before(const char *log, const char *word)
{
    int most = 0;
    for (const char *found = log; (found = strstr(found, word)) != NULL; ++found) {
        const char *at = found;
        while (at > log && at[-1] >= '0' && at[-1] <= '9') {
            --at;
        }
        const int number = (int)strtol(at, NULL, 10);
        most = number > most ? number : most;
    }
    return most;
}

static saltus_status compile(const saltus_nvrtc *rtc, const char *text, const char *const *options,
                             saltus_image *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    nvrtc_program program = NULL;
    char line[300], *log = NULL;
    if (rtc->create(&program, text, "model.cu", saltus_n_kernel_texts, saltus_kernel_texts,
                    saltus_kernel_names) != 0) {
        SALTUS_FAIL(SALTUS_E_INTERNAL, "NVRTC takes no program");
    }
    const nvrtc_result result = rtc->compile(program, N_OPTIONS, options);
    if (result == NVRTC_INVALID_OPTION) {
        SALTUS_FAIL(SALTUS_E_INVALID, "NVRTC %d.%d does not know %s", rtc->major, rtc->minor,
                    strchr(options[0], '=') + 1);
    }
    log = read_log(rtc, program);
    SALTUS_NEED(log);
    if (result != 0 || rtc->image_size(program, &out->size) != 0 || out->size == 0) {
        first_error(log, line, sizeof line);
        SALTUS_FAIL(SALTUS_E_INTERNAL, "a kernel does not compile (%s): %s", options[0], line);
    }
    out->image = saltus_calloc(out->size, 1);
    SALTUS_NEED(out->image);
    if (rtc->image(program, out->image) != 0) {
        SALTUS_FAIL(SALTUS_E_INTERNAL, "NVRTC gives no machine code");
    }
    out->usage = (saltus_usage){.registers = number_before(log, " registers"),
                                .spill_bytes = number_before(log, " bytes spill stores"),
                                .shared_bytes = number_before(log, " bytes smem")};
done:
    saltus_free(log);
    if (program) {
        (void)rtc->destroy(&program);
    }
    return status;
}

saltus_status saltus_kernel_compile(const char *text, int major, int minor, saltus_image *out,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_nvrtc *rtc = NULL;
    char architecture[40], folder[PATH_SIZE], path[PATH_SIZE + 80], hex[65];
    const char *options[N_OPTIONS] = {architecture};
    *out = (saltus_image){0};
    SALTUS_TRY(saltus_cuda_nvrtc(&rtc, err));
    (void)snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d", major, minor);
    memcpy(options + 1, fixed_options, sizeof fixed_options);
    SALTUS_TRY(hash_all(text, options, rtc, hex, err));
    const bool has_cache = find_cache(folder);
    (void)snprintf(path, sizeof path, "%s/%s.cubin", folder, hex);
    if (has_cache && fetch(path, out)) {
        goto done;
    }
    const double start = saltus_now();
    SALTUS_TRY(compile(rtc, text, options, out, err));
    out->seconds = saltus_now() - start;
    if (has_cache) {
        keep(path, out);
    }
done:
    if (status != SALTUS_OK) {
        saltus_free(out->image);
        *out = (saltus_image){0};
    }
    return status;
}
