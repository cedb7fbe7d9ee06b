#include "write/hdf5/reserve.h"

#include "core/memory.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Filled with bytes that no file system can compress away. */
static int fill(int fd, int64_t size)
{
    uint64_t page[512], x = 88172645463325252u;
    for (int64_t done = 0; done < size;) {
        for (size_t i = 0; i < sizeof page / sizeof *page; ++i) { /* Marsaglia's xorshift64 */
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            page[i] = x;
        }
        const ssize_t n = write(fd, page, sizeof page);
        if (n <= 0 && errno != EINTR) {
            return n < 0 ? errno : ENOSPC;
        }
        done += n > 0 ? n : 0;
    }
    return 0;
}

/* Whether this process may not write a file of that size; a try would kill it by SIGXFSZ. */
static bool over_limit(int64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           (uint64_t)size > limit.rlim_cur;
}

static int make_ballast(saltus_reserve *r, const char *path)
{
    if (over_limit(r->closing)) {
        return EFBIG;
    }
    const size_t size = strlen(path) + sizeof ".reserve";
    char *name = saltus_calloc(size, 1);
    if (!name) {
        return ENOMEM;
    }
    (void)snprintf(name, size, "%s.reserve", path);
    r->ballast = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int problem = r->ballast < 0 ? errno : 0;
    if (!problem) {
        (void)unlink(name);
        problem = fill(r->ballast, r->closing);
    }
    saltus_free(name);
    return problem;
}

int saltus_reserve_open(saltus_reserve *r, int fd, const char *path, int64_t closing,
                        saltus_reserve_mode mode)
{
    *r = (saltus_reserve){.fd = fd, .ballast = -1, .closing = closing, .mode = mode};
    if (r->mode == SALTUS_RESERVE_AHEAD) {
        const int problem = saltus_reserve_grow(r, 0, 0);
        if (problem != EOPNOTSUPP) {
            return problem;
        }
        r->mode = SALTUS_RESERVE_BALLAST;
    }
    return make_ballast(r, path);
}

void saltus_reserve_cut(saltus_reserve *r, int64_t end)
{
    r->reserved = r->reserved < end ? r->reserved : end;
}

static int allocate(int fd, int64_t from, int64_t to)
{
    int rc;
    do {
        rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, from, to - from);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno == ENOSYS ? EOPNOTSUPP : errno;
}

static int allocate_ahead(saltus_reserve *r, int64_t target)
{
    if (target <= r->reserved) {
        return 0;
    }
    const int64_t step = target / 4 < INT64_C(16) << 20 ? target / 4 : INT64_C(16) << 20;
    int problem = allocate(r->fd, r->reserved, target + step);
    if (problem == 0) {
        r->reserved = target + step;
        return 0;
    }
    problem = problem == EOPNOTSUPP ? problem : allocate(r->fd, r->reserved, target);
    if (problem == 0) {
        r->reserved = target;
    }
    return problem;
}

int saltus_reserve_grow(saltus_reserve *r, int64_t end, int64_t bytes)
{
    const int64_t target = end + bytes + r->closing;
    struct statvfs disk;

    if (r->mode == SALTUS_RESERVE_BLIND) {
        return 0;
    }
    if (over_limit(target)) {
        return EFBIG;
    }
    if (r->mode == SALTUS_RESERVE_AHEAD) {
        return allocate_ahead(r, target);
    }
    if (fstatvfs(r->fd, &disk) == 0 && disk.f_blocks > 0 &&
        (uint64_t)bytes > (uint64_t)disk.f_bavail * disk.f_frsize) {
        return ENOSPC;
    }
    return 0;
}

void saltus_reserve_release(saltus_reserve *r)
{
    if (r->ballast >= 0) {
        (void)close(r->ballast);
        r->ballast = -1;
    }
}

void saltus_reserve_close(saltus_reserve *r)
{
    struct stat st;
    saltus_reserve_release(r);
    if (r->fd >= 0) {
        if (r->reserved > 0 && fstat(r->fd, &st) == 0 && ftruncate(r->fd, st.st_size) != 0) {
            (void)errno; /* the blocks stay allocated behind the end: a waste, not a loss */
        }
        (void)close(r->fd);
        r->fd = -1;
    }
}
