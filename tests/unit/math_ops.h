/* The functions of kernel/math*.h that are tested, and how they are reached in each variant. */
#ifndef SALTUS_TEST_MATH_OPS_H
#define SALTUS_TEST_MATH_OPS_H

#include <stddef.h>

/* X(name, largest error in ulp, hash of the results' bits) */
#define MATH_UNARY(X)                      \
    X(exp, 0.65, 0xe5d40a5f1178c8d1)       \
    X(log, 0.9, 0xcbaceb4faa2b1c35)        \
    X(log2, 0.51, 0xbacfb0d2ec355b03)      \
    X(log10, 0.51, 0x2622df4f561329a3)     \
    X(abs, 0, 0xf4fc9a258d6fea2c)          \
    X(floor, 0, 0x391475660d1b0c24)        \
    X(ceil, 0, 0x2887a75dfcbc661c)         \
    X(trunc, 0, 0x19c9a0cbea8b152f)        \
    X(round_even, 0, 0xd8fb34000c9d9312)   \
    X(sqrt, 0.501, 0x17bac9b120694b75)     \
    X(factorial, 0.54, 0x6fbc9a410457b312) \
    X(sin, 0.85, 0xe68d26fcf7075c38)       \
    X(cos, 0.85, 0x2e0778d4062bcd51)       \
    X(tan, 1.0, 0x48f93e370cc4a127)        \
    X(sec, 0.85, 0x562de9395adaa199)       \
    X(csc, 0.85, 0xe83a82de057994cd)       \
    X(cot, 1.0, 0xa164e1f65245945b)        \
    X(asin, 0.7, 0x76d738574e18dd2b)       \
    X(acos, 0.7, 0xfd3215e831aeccae)       \
    X(atan, 0.7, 0xe6b01b43a7084a14)       \
    X(asec, 0.7, 0x1ecf9d8edbdf3e4e)       \
    X(acsc, 0.7, 0x95491dda440d739f)       \
    X(acot, 0.7, 0xe32874372699560c)       \
    X(sinh, 0.9, 0xe503275fb1ce5e41)       \
    X(cosh, 0.65, 0xeee27e94811d121f)      \
    X(tanh, 0.9, 0x773cd576fc11dd73)       \
    X(sech, 0.65, 0x988609f864470dc8)      \
    X(csch, 0.95, 0xa85ab91f5c21c8a7)      \
    X(coth, 0.9, 0x84c857346773706e)       \
    X(asinh, 0.51, 0xb38743282ee05af3)     \
    X(acosh, 0.51, 0xb7aadbf41b86d1f5)     \
    X(atanh, 0.51, 0xfe1b47c24347e900)     \
    X(asech, 0.51, 0xee144baf4cff7ed7)     \
    X(acsch, 0.52, 0xb5ad1e6162190a9f)     \
    X(acoth, 0.54, 0x889c7c0ebfd549db)

/* The hash of the waiting times. */
#define MATH_WAIT_HASH UINT64_C(0xed6f8a2d3561f237)

#define MATH_BINARY(X)                 \
    X(pow, 0.8, 0x6046e1faea271e4a)    \
    X(power, 9, 0xb7547e38c9a585da)    \
    X(root, 0.7, 0x50d422a43a7a0b4c)   \
    X(rem, 0, 0xdd345b92578a1b73)      \
    X(quotient, 0, 0x5cfda1814a70e342) \
    X(min, 0, 0xd26e1693b729a4c0)      \
    X(max, 0, 0x35f48e20b125ca76)

/* Results y[i] of a[i], and of b[i] for functions of two arguments; a holds 8-byte elements, words
 * for exponential32 and doubles for the others. n is a multiple of 16. */
typedef void math_function(const void *a, const double *b, double *y, size_t n);

/* In the order of MATH_UNARY, then MATH_BINARY. */
typedef struct math_variant {
    const char *name;
    const char *needs; /* the instruction set it was compiled for, "" if any machine has it */
    math_function *exponential32;
    math_function *const *functions;
} math_variant;

#endif
