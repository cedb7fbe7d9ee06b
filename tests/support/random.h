/** For tests: numbers that look random and are the same everywhere. */
#ifndef SALTUS_TESTS_RANDOM_H
#define SALTUS_TESTS_RANDOM_H

#include <stdint.h>

/** The next of 0 … n - 1. */
static inline int below(uint64_t *random, int n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (int)((*random >> 33) % (uint64_t)n);
}

#endif
