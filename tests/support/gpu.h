/** For tests of the CUDA backend, on a GPU or on a driver that plays one (tests/fake). */
#ifndef SALTUS_TESTS_GPU_H
#define SALTUS_TESTS_GPU_H

#include "effort.h"

#include <saltus/saltus.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const double grid[] = {0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0};
enum {
    N_GRID = 9,
    MANY_CALLS = 8 /* of a driver: more in a row than a run can do without */
};

/* It plays every thread of a warp (tests/fake/warps.h), which takes long. */
static inline bool plays_warps(void)
{
    return getenv("FAKE_WARPS") != NULL;
}

/* Kernels go to a folder of this test. */
static inline int set_up(void **state)
{
    char path[1000];
    (void)state;
    if (!getcwd(path, sizeof path - 10)) {
        return -1;
    }
    (void)setenv("TMPDIR", path, 1);
    (void)strcat(path, "/cache");
    (void)mkdir(path, 0700);
    return setenv("SALTUS_CACHE", path, 1);
}

/* Skips where there is no GPU; one that is played must be there. */
static inline void need_gpu(const char *device)
{
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    const saltus_status status = saltus_backend_open(device, &backend, &err);
    if (status != SALTUS_OK && (is_fake() || status != SALTUS_E_UNAVAILABLE)) {
        fail_msg("%s: %s", device, err.message);
    }
    if (status != SALTUS_OK) {
        print_message("SKIP: %s\n", err.message);
        skip();
    }
    saltus_backend_close(backend);
}

#endif
