/** For tests of a GPU's bits: against the CPU's in every layout, and without its help. */
#ifndef SALTUS_TESTS_CUDA_BITS_H
#define SALTUS_TESTS_CUDA_BITS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/bits.h"
#include "../support/gpu.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

/* Layouts that not every model fits into. */
enum { REGISTERS = 1, SHARED = 2, WARP = 4, ALL = REGISTERS | SHARED | WARP };
static const struct {
    const char *name;
    int bit; /* 0: every model fits */
} layouts[] = {
    {"auto", 0}, {"global", 0}, {"registers", REGISTERS}, {"shared", SHARED}, {"warp", WARP}};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

/* The model fits into these, and is refused by the others. */
static inline void check_bits(saltus_model *m, const char *name, int fits, int64_t n)
{
    const uint64_t expected = bits_hash(m, "cpu:generic", "scalar", 1, 3, n, grid, N_GRID);
    for (int l = 0; l < N_LAYOUTS; ++l) {
        const saltus_plan_options plan = bits_plan("direct", "philox", layouts[l].name, 0);
        if ((layouts[l].bit & ~fits) != 0) {
            bits_refused(m, "cuda", &plan);
        } else if (bits_hash_plan(m, "cuda", &plan, 3, n, grid, N_GRID) != expected) {
            fail_msg("%s: other bits with layout %s", name, layouts[l].name);
        }
    }
}

static inline saltus_status forget(void *user, const saltus_block *block, void *prepared,
                                   saltus_error *err)
{
    (void)user, (void)block, (void)prepared, (void)err;
    return SALTUS_OK;
}

static inline void count_again(void *user, const saltus_span *span)
{
    *(int *)user += strcmp(span->name, "run again") == 0;
}

/* A GPU that chooses wrongly may find its sums at odds with each other, and give up: bits would be
 * right all the same. */
static inline void check_that_none_runs_again(saltus_model *m, const char *name, const char *method,
                                              const char *layout, int64_t n)
{
    int again = 0;
    saltus_error err = {0};
    saltus_run_options run = saltus_run_options_default();
    run.times = grid;
    run.n_times = N_GRID;
    run.n_trajectories = n;
    run.trace = count_again;
    run.trace_user = &again;
    saltus_plan_options wanted = saltus_plan_options_default();
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    const saltus_sink sink = {.deliver = forget};
    wanted.method = method;
    wanted.layout = layout;
    OK(saltus_backend_open("cuda", &backend, &err));
    OK(saltus_plan_create(m, backend, &wanted, &plan, &err));
    OK(saltus_run(plan, &run, &sink, NULL, &err));
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    if (again > 0) {
        fail_msg("%s: %d of %d trajectories ran again on the CPU", name, again, (int)n);
    }
}

#endif
