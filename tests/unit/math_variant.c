/* All functions of kernel/math*.h under one number of lanes and one instruction set; compiled once
 * for each, with VARIANT as its name. */
#include "math_ops.h"

#include "kernel/base/math.h"
#include "kernel/base/math_hyperbolic.h"
#include "kernel/base/math_trig.h"

#define PASTE(a, b) a##b
#define MATH_VARIANT(name) PASTE(math_variant_, name)
#define TEXT(name) #name
#define NAME_OF(name) TEXT(name)

#if defined(__AVX512F__)
#define NEEDS "avx512"
#elif defined(__AVX2__)
#define NEEDS "avx2"
#else
#define NEEDS ""
#endif

#define DEFINE(name, type, call)                                          \
    static void name(const void *a, const double *b, double *y, size_t n) \
    {                                                                     \
        for (size_t i = 0; i < n; i += SALTUS_LANES) {                    \
            type u;                                                       \
            saltus_f64 v, r;                                              \
            memcpy(&u, (const char *)a + 8 * i, sizeof u);                \
            memcpy(&v, b + i, sizeof v);                                  \
            r = call;                                                     \
            memcpy(y + i, &r, sizeof r);                                  \
        }                                                                 \
    }

#define DEFINE_UNARY(name, error, hash) DEFINE(run_##name, saltus_f64, ((void)v, saltus_##name(u)))
#define DEFINE_BINARY(name, error, hash) DEFINE(run_##name, saltus_f64, saltus_##name(u, v))
#define LIST(name, error, hash) run_##name,

DEFINE(run_exponential32, saltus_u64, ((void)v, saltus_exponential32(u)))
MATH_UNARY(DEFINE_UNARY)
MATH_BINARY(DEFINE_BINARY)

static math_function *const functions[] = {MATH_UNARY(LIST) MATH_BINARY(LIST)};

extern const math_variant MATH_VARIANT(VARIANT);
const math_variant MATH_VARIANT(VARIANT) = {NAME_OF(VARIANT), NEEDS, run_exponential32, functions};
