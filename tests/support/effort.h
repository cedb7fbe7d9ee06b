/** How much of a large test is taken: all of it with SALTUS_TEST_LONG (`make check-long`), a part
 * with SALTUS_TEST_DIVISOR (builds beside the first in .ci/run), else most. */
#ifndef SALTUS_TESTS_EFFORT_H
#define SALTUS_TESTS_EFFORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline bool takes_all(void)
{
    return getenv("SALTUS_TEST_LONG") != NULL;
}

static inline bool takes_part(void)
{
    return !takes_all() && getenv("SALTUS_TEST_DIVISOR") != NULL;
}

/** So many of n trajectories; else half of them, or a part, as SALTUS_TEST_DIVISOR says, and a few.
 */
static inline int64_t scaled(int64_t n)
{
    const char *divisor = getenv("SALTUS_TEST_DIVISOR");
    return takes_all() ? n : divisor ? n / atoll(divisor) + 20 : n / 2;
}

/** A driver plays the GPU (tests/fake): slowly, with kernels that a C compiler makes. */
static inline bool is_fake(void)
{
    return getenv("FAKE_CUDA") != NULL;
}

/** Steps through lists of cases. */
static inline size_t stride_of_cases(void)
{
    return !takes_all() && (takes_part() || is_fake()) ? 3 : 1;
}

/** The same of cases with a kernel each. */
static inline size_t stride_of_kernels(void)
{
    return !takes_all() && (takes_part() || is_fake()) ? 8 : 1;
}

#endif
