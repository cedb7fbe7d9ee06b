/* An NVRTC that compiles kernels for this processor, for tests: the text and its headers go into a
 * folder, the C compiler makes a shared object of them, and the "machine code" is its path, which
 * the other fake, cuda.c, opens. FAKE_NVRTC_CC names the compiler with its options; with
 * FAKE_NVRTC_KEEPS another process may use what this one makes. FAKE_NVRTC_CACHE names a folder
 * that keeps objects: who compiles the same text with the same options once more gets a copy. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct program {
    char folder[200], path[260], log[4000];
    uint64_t hash; /* of all texts, then of the command */
} program;

/* FNV-1a of a text, its end with it, on top of what came before. */
static uint64_t hashed(uint64_t hash, const char *text)
{
    do {
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    } while (*text++ != '\0');
    return hash;
}

/* Names may have folders, which are made. */
static int write_file(program *p, const char *name, const char *text)
{
    const char *folder = p->folder;
    char path[600];
    p->hash = hashed(hashed(p->hash, name), text);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *c = path + strlen(folder) + 1; (c = strchr(c, '/')) != NULL; *c++ = '/') {
        *c = '\0';
        (void)mkdir(path, 0700);
    }
    FILE *out = fopen(path, "w");
    if (!out) {
        return 1;
    }
    const int failed = fputs(text, out) < 0;
    return fclose(out) != 0 || failed;
}

/* What the true one says of a kernel when it is asked for it. */
static const char usage[] =
    "ptxas info    : Compiling entry function 'made_up' for 'sm_90'\n"
    "ptxas         .     320 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads\n"
    "ptxas info    : Used 38 registers, used 1 barriers, 320 bytes cumulative stack size, 1024 "
    "bytes smem\n";

EXPORT int nvrtcVersion(int *major, int *minor)
{
    static int own; /* numbers of processes come again */
    if (own == 0) {
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        own = 1 + (int)(((unsigned)getpid() * 0x9e3779b9 ^ (unsigned)now.tv_nsec) >> 2);
    }
    *major = 0;
    /* nothing that another process made is used, unless a test keeps it */
    *minor = getenv("FAKE_NVRTC_KEEPS") ? 0 : own;
    return 0;
}

EXPORT int nvrtcCreateProgram(program **out, const char *source, const char *name, int n_headers,
                              const char *const *headers, const char *const *header_names)
{
    const char *temporary = getenv("TMPDIR");
    program *p = calloc(1, sizeof *p);
    (void)name;
    if (!p) {
        return 1;
    }
    (void)snprintf(p->folder, sizeof p->folder, "%.150s/fake-nvrtc-XXXXXX",
                   temporary ? temporary : "/tmp");
    if (!mkdtemp(p->folder)) {
        return 1;
    }
    int failed = write_file(p, "kernel.c", source);
    for (int i = 0; i < n_headers; ++i) {
        failed |= write_file(p, header_names[i], headers[i]);
    }
    *out = p;
    return failed;
}

/* A copy, since a module's variables are those of its file. It gets its name when it is whole:
 * others look at the same time. */
static int copy_file(const char *from, const char *to)
{
    char part[300], bytes[65536];
    (void)snprintf(part, sizeof part, "%s.%d", to, (int)getpid());
    FILE *in = fopen(from, "rb");
    FILE *out = in ? fopen(part, "wb") : NULL;
    int failed = !out;
    for (size_t n; !failed && (n = fread(bytes, 1, sizeof bytes, in)) > 0;) {
        failed = fwrite(bytes, 1, n, out) != n;
    }
    failed |= in && (ferror(in) || fclose(in) != 0);
    failed |= out && fclose(out) != 0;
    return failed || rename(part, to) != 0;
}

EXPORT int nvrtcCompileProgram(program *p, int n_options, const char *const *options)
{
    char command[2000];
    const char *cc = getenv("FAKE_NVRTC_CC"), *cache = getenv("FAKE_NVRTC_CACHE");
    char kept[260] = "";
    if (n_options > 0 && strstr(options[0], "sm_99")) {
        return 5; /* as the true one: there is none */
    }
    (void)snprintf(p->path, sizeof p->path, "%s/kernel.so", p->folder);
    if (cache) {
        (void)snprintf(kept, sizeof kept, "%.200s/%016" PRIx64 ".so", cache,
                       hashed(p->hash, cc ? cc : ""));
        if (access(kept, R_OK) == 0) {
            (void)snprintf(p->log, sizeof p->log, "%s", usage);
            return copy_file(kept, p->path) ? 6 : 0;
        }
    }
    (void)snprintf(command, sizeof command,
                   "%s -std=gnu17 -ffp-contract=off -fPIC -shared -DSALTUS_DEVICE=1 -I%s "
                   "%s/kernel.c -o %s >%s/log 2>&1",
                   cc ? cc : "cc", p->folder, p->folder, p->path, p->folder);
    const int failed = system(command) != 0;
    char path[260];
    (void)snprintf(path, sizeof path, "%s/log", p->folder);
    FILE *in = fopen(path, "r");
    size_t n = 0;
    if (in) {
        n = fread(p->log, 1, sizeof p->log - 1, in);
        (void)fclose(in);
    }
    (void)snprintf(p->log + n, sizeof p->log - n, "%s", failed ? "" : usage);
    if (cache && !failed) {
        (void)copy_file(p->path, kept); /* the next one compiles again, else */
    }
    return failed ? 6 : 0;
}

EXPORT int nvrtcGetCUBINSize(program *p, size_t *bytes)
{
    *bytes = strlen(p->path) + 1;
    return 0;
}

EXPORT int nvrtcGetCUBIN(program *p, char *image)
{
    memcpy(image, p->path, strlen(p->path) + 1);
    return 0;
}

EXPORT int nvrtcGetProgramLogSize(program *p, size_t *bytes)
{
    *bytes = strlen(p->log) + 1;
    return 0;
}

EXPORT int nvrtcGetProgramLog(program *p, char *log)
{
    memcpy(log, p->log, strlen(p->log) + 1);
    return 0;
}

EXPORT int nvrtcDestroyProgram(program **p)
{
    free(*p); /* the folder is the test's, which removes it */
    *p = NULL;
    return 0;
}
