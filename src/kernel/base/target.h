/**
 * The dialect of src/kernel/: everything in which compilers and targets differ.
 *
 * A kernel is written once in terms of lane values. On a CPU a lane value is one of the compilers'
 * vector types with SALTUS_LANES elements; with SALTUS_LANES equal to 1, and on a GPU thread, it is
 * a plain number. The same operators serve both: + - * / on saltus_f64, + - * & | ^ ~ << >> on the
 * integers. Comparisons go through SALTUS_LT and its neighbours and give a saltus_mask, whose lanes
 * are 0 or -1; choices go through saltus_select. Every operation rounds once (contraction is off),
 * so a lane holds the same bits whatever the target and however many lanes there are.
 */
#ifndef SALTUS_KERNEL_BASE_TARGET_H
#define SALTUS_KERNEL_BASE_TARGET_H

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#endif

#ifndef SALTUS_LANES
#define SALTUS_LANES 1
#endif

/* A GPU thread, or a host that plays one: many trajectories at once, memory interleaved. */
#ifndef SALTUS_DEVICE
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SALTUS_DEVICE 1
#else
#define SALTUS_DEVICE 0
#endif
#endif

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SALTUS_FN static __device__ __forceinline__
#define SALTUS_OUTLINE static __device__ __noinline__
#define SALTUS_OPAQUE(x) asm("" : "+r"(x)) /* the compiler knows nothing of 32 bits */
#define SALTUS_TABLE static __device__ const
#define SALTUS_CONSTANT static __constant__ const
/* Of doubles that instructions of a hot loop take: one load each, where a const becomes two moves.
 */
#define SALTUS_OPERAND static __constant__
#elif defined(__GNUC__)
#define SALTUS_FN static inline __attribute__((always_inline, unused))
#define SALTUS_OUTLINE static __attribute__((noinline, unused))
#define SALTUS_RARE(x) __builtin_expect((x) != 0, 0)
#define SALTUS_OPAQUE(x)
#define SALTUS_TABLE static const
#define SALTUS_CONSTANT static const __attribute__((unused))
#define SALTUS_OPERAND SALTUS_CONSTANT
#else
#define SALTUS_FN static inline
#define SALTUS_OUTLINE static
#define SALTUS_OPAQUE(x)
#define SALTUS_TABLE static const
#define SALTUS_CONSTANT static const
#define SALTUS_OPERAND SALTUS_CONSTANT
#endif

#if defined(__CUDACC_RTC__)
#define SALTUS_RARE(x) __builtin_expect((x) != 0, 0)
#define SALTUS_UNROLL _Pragma("unroll")
#define SALTUS_LOOP _Pragma("unroll 2") /* not all at once */
#define SALTUS_ONE_BY_ONE _Pragma("unroll 1")
#else
#define SALTUS_UNROLL
#define SALTUS_ONE_BY_ONE
#define SALTUS_LOOP
#endif
/* Behind `struct`: it stands at multiples of so many bytes, and is read at once. */
#define SALTUS_ALIGNED(bytes) __attribute__((aligned(bytes)))
#ifndef SALTUS_RARE
#define SALTUS_RARE(x) (x)
#endif
/* Fetch memory into a cache early; keep a compiler from knowing a number; bits of a uint32_t that
 * are set, and the number of the lowest (of one that is not 0, also of 64). */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SALTUS_PREFETCH(p) asm volatile("prefetch.L2 [%0];" : : "l"(p))
#define SALTUS_HIDE(x) ((void)(x))
#define SALTUS_POPCOUNT(x) __popc(x)
#define SALTUS_LOWEST(x) (__ffs((int)(x)) - 1)
#define SALTUS_LOWEST_64(x) (__ffsll((long long)(x)) - 1)
#else
#define SALTUS_PREFETCH(p) __builtin_prefetch(p)
#define SALTUS_HIDE(x) __asm__("" : "+r"(x))
#define SALTUS_POPCOUNT(x) __builtin_popcount(x)
#define SALTUS_LOWEST(x) __builtin_ctz(x)
#define SALTUS_LOWEST_64(x) __builtin_ctzll(x)
#endif

/* A kernel of one argument: SALTUS_KERNEL(name, type, argument) { … }. On a host that plays a GPU
 * it is a function that runs all threads in turn: name(&pointer_to_argument, n_threads). */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SALTUS_THREAD ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define SALTUS_STRIDE ((int64_t)gridDim.x * blockDim.x)
#define SALTUS_THREAD_IN_BLOCK ((int)threadIdx.x)
/* The same, kept in a register: read anew, it costs some 40 cycles. */
SALTUS_FN int saltus_kept_thread_in_block(void)
{
    int i = SALTUS_THREAD_IN_BLOCK;
    SALTUS_OPAQUE(i);
    return i;
}
#define SALTUS_BLOCK_NUMBER ((int64_t)blockIdx.x)
#define SALTUS_THREADS_OF_BLOCK ((int)blockDim.x)
#ifndef SALTUS_LARGEST_BLOCK
#define SALTUS_LARGEST_BLOCK 256
#endif
#ifdef SALTUS_LEAST_BLOCKS /* of a multiprocessor at once: registers must suffice for so many */
#define SALTUS_BOUNDS __launch_bounds__(SALTUS_LARGEST_BLOCK, SALTUS_LEAST_BLOCKS)
#else
#define SALTUS_BOUNDS __launch_bounds__(SALTUS_LARGEST_BLOCK)
#endif
#define SALTUS_KERNEL(name, type, argument) \
    extern "C" __global__ void SALTUS_BOUNDS name(const __grid_constant__ type argument)
/* The same with a largest block of its own, and so many of them at once. */
#define SALTUS_KERNEL_OF(largest, least, name, type, argument)   \
    extern "C" __global__ void __launch_bounds__(largest, least) \
        name(const __grid_constant__ type argument)
extern __shared__ double saltus_shared[]; /* memory that the threads of a block share */
#elif SALTUS_DEVICE
#define SALTUS_THREAD saltus_thread
#define SALTUS_STRIDE saltus_stride
#ifdef SALTUS_PLAYED_TOGETHER /* tests/fake/together.h */
#define SALTUS_THREADS_OF_BLOCK played_threads_of_block(SALTUS_BLOCK)
#else
#define SALTUS_THREADS_OF_BLOCK SALTUS_BLOCK
#endif
#define SALTUS_THREAD_IN_BLOCK ((int)(saltus_thread % SALTUS_THREADS_OF_BLOCK))
#define saltus_kept_thread_in_block() SALTUS_THREAD_IN_BLOCK
#define SALTUS_BLOCK_NUMBER (saltus_thread / SALTUS_THREADS_OF_BLOCK)
static int64_t saltus_thread, saltus_stride;
static double saltus_shared[1 << 15] __attribute__((unused));
#if !defined(SALTUS_PLAYED_WARPS) && !defined(SALTUS_PLAYED_TOGETHER)
static inline void saltus_play(void (*thread)(void), int64_t n_threads)
{
    for (saltus_thread = 0; saltus_thread < n_threads; ++saltus_thread) {
        thread();
    }
}
#endif
#define SALTUS_KERNEL(name, type, argument)                                     \
    static void name##_body(const type argument);                               \
    static const type *name##_argument;                                         \
    static void name##_played(void)                                             \
    {                                                                           \
        name##_body(*name##_argument);                                          \
    }                                                                           \
    void name(void **arguments, int64_t n_threads);                             \
    void name(void **arguments, int64_t n_threads)                              \
    {                                                                           \
        saltus_stride = n_threads;                                              \
        memset(saltus_shared, 0xff, sizeof saltus_shared); /* as it is found */ \
        name##_argument = (const type *)arguments[0];                           \
        saltus_play(name##_played, n_threads);                                  \
    }                                                                           \
    static void name##_body(const type argument)
#define SALTUS_KERNEL_OF(largest, least, name, type, argument) SALTUS_KERNEL(name, type, argument)
#endif

/* Large functions that are called from several places: on a CPU they stand once, on a GPU, where a
 * call would send all that is in registers to memory, inline, but where only what is rare calls
 * them (ode/rate_thread.h), and where events and the like call so many that their compilation would
 * take its time (SALTUS_CALLS, which the host defines). */
#if SALTUS_DEVICE && !SALTUS_RATE_THREADS && !SALTUS_CALLS
#define SALTUS_LARGE_FN SALTUS_FN
#else
#define SALTUS_LARGE_FN SALTUS_OUTLINE
#endif
/* Large functions that few threads call: on a GPU their registers would be every thread's. */
#if SALTUS_DEVICE
#define SALTUS_RARE_FN SALTUS_OUTLINE
#else
#define SALTUS_RARE_FN SALTUS_FN
#endif

#if SALTUS_DEVICE
/* Copy n doubles to memory that the threads of a block share: every thread calls it. */
SALTUS_FN void saltus_block_copy(double *to, const double *from, int n)
{
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        to[i] = from[i];
    }
    __syncthreads();
#else
    memcpy(to, from, (size_t)n * sizeof *to);
#endif
}
#endif

#include "kernel/base/threads.h"

/* Where number i of one trajectory's array stands. Many trajectories' arrays are interleaved on a
 * GPU, so that neighbouring threads read neighbouring numbers; SALTUS_STRIDE is then their number.
 */
#if SALTUS_DEVICE
#ifndef SALTUS_AT_STRIDE
#define SALTUS_AT_STRIDE SALTUS_STRIDE
#endif
#define SALTUS_AT(i) ((int64_t)(i)*SALTUS_AT_STRIDE)
#else
#define SALTUS_AT(i) (i)
#endif

/* The same of a component of what is integrated: a kernel that is made for SALTUS_ODE_SIZE of them
 * has them in the thread. */
#ifdef SALTUS_ODE_SIZE
#define SALTUS_ODE_AT(i) (i)
#define SALTUS_ODE_N(o) SALTUS_ODE_SIZE
#define SALTUS_ODE_FN SALTUS_FN /* of a step, which is in line there */
#else
#define SALTUS_ODE_FN SALTUS_OUTLINE
#define SALTUS_ODE_AT(i) SALTUS_AT(i)
#define SALTUS_ODE_N(o) ((o)->n)
#endif

/* A flag that another thread may set meanwhile. On a GPU nobody does: launches are short. */
#if SALTUS_DEVICE
#define SALTUS_FLAG(p) ((void)(p), 0)
#else
#define SALTUS_FLAG(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#endif

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SALTUS_INFINITY __longlong_as_double(0x7ff0000000000000ll)
#else
#define SALTUS_INFINITY __builtin_inf()
#endif

/* Between doubles and whole numbers, exactly: GPUs convert 64 bits slowly, add fast. A word has 32
 * bits; a double is below 2^52. */
SALTUS_FN double saltus_from_word(uint64_t word)
{
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    return __hiloint2double(0x43300000, (int)(uint32_t)word) - 0x1p52;
#else
    return (double)(int64_t)word;
#endif
}
SALTUS_FN int64_t saltus_whole(double x)
{
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    return __double_as_longlong(x + 0x1p52) & 0xfffffffffffffll;
#else
    return (int64_t)x;
#endif
}

/* Exactly. */
SALTUS_FN double saltus_from_int(int32_t x)
{
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    return __hiloint2double(0x43300000, (int)((uint32_t)x ^ 0x80000000u)) - (0x1p52 + 0x1p31);
#else
    return (double)x;
#endif
}

/* The upper half of a double's bits, as a number: of two doubles >= 0 the greater one's is not
 * less.
 */
SALTUS_FN int32_t saltus_high_word(double x)
{
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    return __double2hiint(x);
#else
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int32_t)(bits >> 32);
#endif
}

/* a / b, correctly rounded, for 0 or 2^-33 <= a < 2^63 and b within saltus_divides: no step leaves
 * the range of normal numbers, so none is looked at. Newton's method for 1 / b from the hardware's
 * 20 bits, then Markstein's correction of the quotient (IBM J. Res. Dev. 34 (1990) 111). */
SALTUS_FN double saltus_divide(double a, double b)
{
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
    y = __hiloint2double(__double2hiint(y), 1);
    const double e = __fma_rn(-b, y, 1.0);
    y = __fma_rn(y, __fma_rn(e, e, e), y);
    y = __fma_rn(y, __fma_rn(-b, y, 1.0), y);
    const double q = a * y;
    return __fma_rn(y, __fma_rn(-b, q, a), q);
#else
    return a / b;
#endif
}
/* Whether 2^-767 <= b < 2^769; not for a NaN. */
SALTUS_FN int saltus_divides(double b)
{
    return (uint32_t)saltus_high_word(b) - 0x10000000u < 0x60000000u;
}

/* x 2^-32, for x within saltus_divides. */
SALTUS_FN double saltus_part_of_word(double x)
{
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    return __hiloint2double(__double2hiint(x) - (32 << 20), __double2loint(x));
#else
    return x * 0x1p-32;
#endif
}

/* *sum = a + b; returns 1 when that does not fit. */
SALTUS_FN int saltus_add_overflows(int64_t a, int64_t b, int64_t *sum)
{
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
    *sum = (int64_t)((uint64_t)a + (uint64_t)b);
    return ((a ^ *sum) & (b ^ *sum)) < 0;
#else
    return __builtin_add_overflow(a, b, sum);
#endif
}

#include "kernel/base/lanes.h"

#endif
