/* An allocator without memory, to be preloaded. FAIL_ALLOCATION=N: the N-th allocation fails, and
 * with "N+" all from there on, counted from main() on. COUNT_ALLOCATIONS=FILE: how many there were
 * is written there when the program leaves.
 *
 * How a crash came about is told by the exit code, by the libraries whose functions were at work.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "malloc.h"

/* glibc's own */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_llong n_allocations;
static long long first = -1;
static bool all;

static bool fails(void)
{
    const long long n = atomic_fetch_add_explicit(&n_allocations, 1, memory_order_relaxed);
    const bool now = first >= 0 && (n == first || (all && n > first));
    if (now) {
        errno = ENOMEM;
    }
    return now;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *p = fails() ? NULL : __libc_memalign(alignment, size);
    *out = p ? p : *out;
    return p ? 0 : ENOMEM;
}

static void explain(int number)
{
    enum { DEPTH = 200 };
    void *frames[DEPTH];
    bool hdf5 = false, sbml = false, thrown = false;
    const int n = backtrace(frames, DEPTH);
    for (int i = 0; i < n; ++i) {
        Dl_info about;
        if (dladdr(frames[i], &about) != 0 && about.dli_fname) {
            hdf5 = hdf5 || strstr(about.dli_fname, "libhdf5");
            sbml = sbml || strstr(about.dli_fname, "libsbml") || strstr(about.dli_fname, "libxml2");
            thrown = thrown || strstr(about.dli_fname, "libstdc++");
        }
    }
    (void)number;
    _exit(hdf5 ? IN_HDF5 : number == SIGABRT && thrown ? BY_EXCEPTION : sbml ? IN_SBML : ELSEWHERE);
}

typedef int program(int argc, char **argv, char **environment);

static program *real_main;

static int begin(int argc, char **argv, char **environment)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char space[1 << 18]; /* the stack may be what was used up */
    const stack_t other = {.ss_sp = space, .ss_size = sizeof space};
    const struct sigaction action = {.sa_handler = explain, .sa_flags = SA_ONSTACK};
    const char *text = getenv("FAIL_ALLOCATION");
    void *frame;
    (void)backtrace(&frame, 1); /* loads what it needs */
    (void)sigaltstack(&other, NULL);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; ++i) {
        (void)sigaction(deadly[i], &action, NULL);
    }
    if (text) {
        char *end;
        first = strtoll(text, &end, 10);
        all = *end == '+';
    }
    atomic_store(&n_allocations, 0);
    return real_main(argc, argv, environment);
}

int __libc_start_main(program *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*end)(void), void *stack)
{
    int (*next)(program *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = main;
    return next(begin, argc, argv, init, fini, end, stack);
}

void _exit(int code)
{
    const char *name = getenv("COUNT_ALLOCATIONS");
    const int fd = name ? open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        (void)dprintf(fd, "%lld\n", (long long)atomic_load(&n_allocations));
        (void)close(fd);
    }
    (void)syscall(SYS_exit_group, code);
    __builtin_unreachable();
}
