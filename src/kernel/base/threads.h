/**
 * Threads that work together: memory that they share, blocks and warps, and barriers between blocks
 * and between GPUs. kernel/base/target.h includes it.
 */
#ifndef SALTUS_KERNEL_BASE_THREADS_H
#define SALTUS_KERNEL_BASE_THREADS_H

#include "kernel/base/target.h"

/* Operations on memory that many threads share. NEXT_NUMBERS adds n to a number, EXCHANGE puts
 * another into its place, FETCH_OR and FETCH_AND set and keep bits, FETCH_ADD adds; all return the
 * old value. LEAST lowers a number to n. PEEK and POKE read and write what other threads may write
 * and read meanwhile. */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SALTUS_NEXT_NUMBERS(p, n) atomicAdd((unsigned long long *)(p), (unsigned long long)(n))
#define SALTUS_EXCHANGE(p, n) atomicExch((p), (n))
#define SALTUS_FETCH_OR(p, n) atomicOr((p), (n))
#define SALTUS_FETCH_AND(p, n) atomicAnd((p), (n))
#define SALTUS_FETCH_ADD(p, n) atomicAdd((p), (n)) /* of 32 bits */
#define SALTUS_LEAST(p, n) ((void)atomicMin((unsigned long long *)(p), (unsigned long long)(n)))
#define SALTUS_PEEK(p) (*(p))
#define SALTUS_POKE(p, n) ((void)(*(p) = (n)))
#else
#define SALTUS_NEXT_NUMBERS(p, n) __atomic_fetch_add((p), (n), __ATOMIC_RELAXED)
#define SALTUS_EXCHANGE(p, n) __atomic_exchange_n((p), (n), __ATOMIC_RELAXED)
#define SALTUS_FETCH_OR(p, n) __atomic_fetch_or((p), (n), __ATOMIC_RELAXED)
#define SALTUS_FETCH_AND(p, n) __atomic_fetch_and((p), (n), __ATOMIC_RELAXED)
#define SALTUS_FETCH_ADD(p, n) __atomic_fetch_add((p), (n), __ATOMIC_RELAXED)
#define SALTUS_LEAST(p, n) saltus_least((p), (n))
#define SALTUS_PEEK(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define SALTUS_POKE(p, n) __atomic_store_n((p), (n), __ATOMIC_RELAXED)
SALTUS_FN void saltus_least(uint64_t *p, uint64_t n)
{
    uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (n < old &&
           !__atomic_compare_exchange_n(p, &old, n, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}
#endif
#define SALTUS_NEXT_NUMBER(p) SALTUS_NEXT_NUMBERS((p), 1)

/* Distance between the numbers of blocks that others wait for, so that each number is read alone.
 */
enum { SALTUS_APART = 8 };

#if SALTUS_DEVICE
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SALTUS_CYCLES() ((uint64_t)clock64()) /* of a multiprocessor, since any time */
/* Read a number that other blocks have written since this kernel began. */
#define SALTUS_PEEK_NEW(p) (*(const volatile int64_t *)(p))
/* Add 1 to one of a few numbers. Threads of a warp that add to the same one add together. */
SALTUS_FN void saltus_count_one(uint64_t *numbers, int64_t which)
{
    const uint32_t same = __match_any_sync(__activemask(), which);
    if ((int)(threadIdx.x & 31) == __ffs((int)same) - 1) {
        (void)SALTUS_NEXT_NUMBERS(&numbers[which], __popc(same));
    }
}
/* Barrier of a block. */
SALTUS_FN void saltus_block_wait(void)
{
    __syncthreads();
}
/* The value that the first thread of a block passes, in all of its threads. */
SALTUS_FN int64_t saltus_block_same(int64_t x)
{
    __shared__ int64_t said;
    __syncthreads();
    if (threadIdx.x == 0) {
        said = x;
    }
    __syncthreads();
    return said;
}
/* Barriers between blocks that run at the same time, in two parts: a block signals that it has come
 * as far, then waits for the others, so that work may stand between the two. Each part holds for
 * all threads of the block.
 *
 * Barrier of all blocks: they count in one number, which is never reset.
 *
 *     block 0                          arrived                  block 1
 *     barrier of the block                                      barrier of the block
 *     red.release  arrived += 1   ---> 2 n - 1 -> 2 n <-----    red.release  arrived += 1
 *     ld.acquire until arrived >= 2 n                           ld.acquire until arrived >= 2 n
 *     barrier of the block                                      barrier of the block
 *
 * Example: at the third barrier (n = 3) of 264 blocks each waits until `arrived` is 3 * 264 = 792.
 * What any thread wrote before it signalled is seen by every thread that has waited: the barrier of
 * the block orders the writes of its threads before the release. */
SALTUS_FN void saltus_all_blocks_signal(uint64_t *arrived)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("red.release.gpu.global.add.u64 [%0], 1;" ::"l"(arrived) : "memory");
    }
}
SALTUS_FN void saltus_all_blocks_wait(const uint64_t *arrived, uint64_t n)
{
    if (threadIdx.x == 0) {
        uint64_t so_far;
        do {
            asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                         : "=l"(so_far)
                         : "l"(arrived)
                         : "memory");
        } while (so_far < n * gridDim.x);
    }
    __syncthreads();
}
/* Barrier of near blocks, in a ring: block b waits for the blocks b - reach to b + reach alone, so
 * that one that is late does not stop all. Each block writes the number of its barriers into
 * ended[SALTUS_APART * b]. More than 2 * reach blocks are in the ring, and a block has at least 2 *
 * reach threads, each of which reads one number.
 *
 * Example: reach 2, 10 blocks. Threads 0 to 3 of block 9 read the numbers of blocks 0, 1, 8 and 7.
 */
SALTUS_FN void saltus_near_blocks_signal(uint64_t *ended, uint64_t n)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(ended + SALTUS_APART * blockIdx.x),
                     "l"(n)
                     : "memory");
    }
}
SALTUS_FN void saltus_near_blocks_wait(const uint64_t *ended, int reach, uint64_t n)
{
    const int i = (int)threadIdx.x;
    if (i < 2 * reach) {
        const unsigned ahead = i < reach ? i + 1 : gridDim.x - (i - reach + 1);
        const uint64_t *const other = ended + SALTUS_APART * ((blockIdx.x + ahead) % gridDim.x);
        uint64_t so_far;
        do {
            asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                         : "=l"(so_far)
                         : "l"(other)
                         : "memory");
        } while (so_far < n);
    }
    __syncthreads();
}
/* Barrier between some blocks of two GPUs. One thread stands for its block, between two barriers of
 * that block. The last of `all` arrivals in *done writes n into *ends, which lies in the other
 * GPU's memory. kernel/rdme/halo_sync.h draws it, with an example. */
SALTUS_FN void saltus_gpu_signal(uint64_t *done, uint64_t all, uint64_t *ends, uint64_t n)
{
    uint64_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], 1;"
                 : "=l"(before)
                 : "l"(done)
                 : "memory");
    if (before + 1 == all) {
        asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(ends), "l"(n) : "memory");
    }
}
/* Waits until *ended, in this GPU's memory, is n or more. *lost becomes 1 when that takes a minute,
 * or when another block has set it. */
SALTUS_FN void saltus_gpu_wait(const uint64_t *ended, uint64_t n, uint64_t *lost)
{
    const int64_t patience = 60000000000; /* ns; other programs may use that GPU too */
    uint64_t so_far, now, began = 0;
    int is_lost = 0;
    do {
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(so_far) : "l"(ended) : "memory");
        if (so_far < n) {
            asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
            began = began ? began : now;
            is_lost = (int64_t)(now - began) > patience || *(volatile uint64_t *)lost != 0;
        }
    } while (so_far < n && !is_lost);
    if (is_lost) {
        *(volatile uint64_t *)lost = 1;
    }
}
#else
#define SALTUS_PEEK_NEW(p) (*(p))
SALTUS_FN int64_t saltus_block_same(int64_t x)
{
    return x;
}
SALTUS_FN void saltus_count_one(uint64_t *numbers, int64_t which)
{
    ++numbers[which];
}
#ifndef SALTUS_PLAYED_TOGETHER /* else tests/fake/together.h defines them */
#define SALTUS_CYCLES() ((uint64_t)0)
SALTUS_FN void saltus_block_wait(void)
{
}
SALTUS_FN void saltus_all_blocks_signal(uint64_t *arrived)
{
    (void)arrived; /* a host that plays a GPU cannot wait: it runs one phase at a time */
}
SALTUS_FN void saltus_all_blocks_wait(const uint64_t *arrived, uint64_t n)
{
    (void)arrived, (void)n;
}
SALTUS_FN void saltus_near_blocks_signal(uint64_t *ended, uint64_t n)
{
    (void)ended, (void)n;
}
SALTUS_FN void saltus_near_blocks_wait(const uint64_t *ended, int reach, uint64_t n)
{
    (void)ended, (void)reach, (void)n;
}
SALTUS_FN void saltus_gpu_signal(uint64_t *done, uint64_t all, uint64_t *ends, uint64_t n)
{
    (void)done, (void)all, (void)ends, (void)n;
}
SALTUS_FN void saltus_gpu_wait(const uint64_t *ended, uint64_t n, uint64_t *lost)
{
    (void)ended, (void)n, (void)lost;
}
#endif
#endif
#endif

/* A warp: threads that take every step together. A host plays one with its first thread alone and
 * skips the steps of the others; or, for tests (SALTUS_PLAYED_WARPS, tests/fake/warps.h), with all
 * of them. */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SALTUS_LANE_NUMBER ((int)(threadIdx.x & 31))
#define SALTUS_WARP_IN_BLOCK ((int64_t)(threadIdx.x >> 5))
#define SALTUS_BALLOT(here, x) __ballot_sync((here), (x))
#define SALTUS_ANY(here, x) __any_sync((here), (x))
#define SALTUS_SHUFFLE(here, x, from) __shfl_sync((here), (x), (from))
#define SALTUS_SHUFFLE_UP(here, x, by) \
    __shfl_up_sync((here), (x), (by)) /* from the thread that is `by` below */
#define SALTUS_WAIT_FOR(here) __syncwarp(here)
#define SALTUS_HERE() __activemask()
#endif
#if defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(SALTUS_PLAYED_WARPS)
enum { SALTUS_WARP = 32 };
#define SALTUS_ALL 0xffffffffu
#define SALTUS_WARP_NUMBER (SALTUS_THREAD >> 5)
#define SALTUS_WARP_WAIT() SALTUS_WAIT_FOR(SALTUS_ALL)
/* The value of thread `from` of the warp. */
SALTUS_FN double saltus_warp_get(double x, int from)
{
    return SALTUS_SHUFFLE(SALTUS_ALL, x, from);
}
SALTUS_FN uint32_t saltus_warp_get_word(uint32_t x, int from)
{
    return SALTUS_SHUFFLE(SALTUS_ALL, x, from);
}
SALTUS_FN int saltus_warp_any(int x)
{
    return SALTUS_ANY(SALTUS_ALL, x);
}
/* The threads for which x holds, as bits. */
SALTUS_FN uint32_t saltus_warp_bits(int x)
{
    return SALTUS_BALLOT(SALTUS_ALL, x);
}
/* The number of the first thread for which x holds; SALTUS_WARP: it holds for none. */
SALTUS_FN int saltus_warp_first(int x)
{
    const uint32_t mask = SALTUS_BALLOT(SALTUS_ALL, x);
    return mask ? SALTUS_LOWEST(mask) : SALTUS_WARP;
}
/* Threads of the warp that are here at this moment, as bits. The functions below that take `here`
 * are for these threads alone. */
SALTUS_FN uint32_t saltus_warp_here(void)
{
    return SALTUS_HERE();
}
SALTUS_FN uint32_t saltus_warp_ballot(uint32_t here, int x)
{
    return SALTUS_BALLOT(here, x);
}
SALTUS_FN int saltus_warp_size(uint32_t here)
{
    return SALTUS_POPCOUNT(here);
}
/* Whether x holds for half of these threads, or more. */
SALTUS_FN int saltus_warp_mostly(uint32_t here, int x)
{
    return 2 * SALTUS_POPCOUNT(SALTUS_BALLOT(here, x)) >= SALTUS_POPCOUNT(here);
}
SALTUS_FN int saltus_warp_lowest(uint32_t threads)
{
    return SALTUS_LOWEST(threads);
}
/* How many of these threads come before this one. */
SALTUS_FN int saltus_warp_rank(uint32_t here)
{
    return SALTUS_POPCOUNT(here & ((1u << SALTUS_LANE_NUMBER) - 1));
}
SALTUS_FN void *saltus_warp_pointer(uint32_t here, void *p, int from)
{
    return (void *)SALTUS_SHUFFLE(here, (unsigned long long)p, from);
}
SALTUS_FN void saltus_warp_wait_for(uint32_t here)
{
    SALTUS_WAIT_FOR(here);
}
/* Number the `mine` things of each thread of the warp from *n on. *n grows by their sum. Returns
 * the number of this thread's first. */
SALTUS_FN int saltus_warp_number(int *n, int mine)
{
    int until = mine;
    SALTUS_UNROLL
    for (int by = 1; by < SALTUS_WARP; by *= 2) {
        const int below = SALTUS_SHUFFLE_UP(SALTUS_ALL, until, by);
        if (SALTUS_LANE_NUMBER >= by) {
            until += below;
        }
    }
    const int first = *n + until - mine;
    *n += SALTUS_SHUFFLE(SALTUS_ALL, until, SALTUS_WARP - 1);
    return first;
}
/* The sum over the first threads of the warp up to this one; of no use beyond the first n. */
SALTUS_FN int saltus_warp_sum_to(int x, int n)
{
    for (int by = 1; by < n; by *= 2) {
        const int below = SALTUS_SHUFFLE_UP(SALTUS_ALL, x, by);
        x += SALTUS_LANE_NUMBER >= by ? below : 0;
    }
    return x;
}
/* Add the n of each thread of the warp to a number. */
SALTUS_FN void saltus_warp_add(uint64_t *p, uint64_t n)
{
    for (int apart = SALTUS_WARP / 2; apart > 0; apart /= 2) {
        n += SALTUS_SHUFFLE(SALTUS_ALL, n, (SALTUS_LANE_NUMBER + apart) % SALTUS_WARP);
    }
    if (SALTUS_LANE_NUMBER == 0 && n > 0) {
        (void)SALTUS_NEXT_NUMBERS(p, n);
    }
}
/* SALTUS_NEXT_NUMBER for the warp. */
SALTUS_FN uint64_t saltus_warp_take(uint64_t *p)
{
    const uint64_t taken = SALTUS_LANE_NUMBER == 0 ? SALTUS_NEXT_NUMBER(p) : 0;
    return SALTUS_SHUFFLE(SALTUS_ALL, taken, 0);
}
#elif SALTUS_DEVICE
enum { SALTUS_WARP = 1 };
#define SALTUS_LANE_NUMBER ((int)(saltus_thread & 31))
#define SALTUS_WARP_IN_BLOCK ((int64_t)0)
#define SALTUS_WARP_NUMBER (SALTUS_THREAD >> 5)
#define SALTUS_WARP_WAIT() ((void)0)
SALTUS_FN double saltus_warp_get(double x, int from)
{
    (void)from;
    return x;
}
SALTUS_FN uint32_t saltus_warp_get_word(uint32_t x, int from)
{
    (void)from;
    return x;
}
SALTUS_FN int saltus_warp_any(int x)
{
    return x;
}
SALTUS_FN uint32_t saltus_warp_bits(int x)
{
    return x != 0;
}
SALTUS_FN int saltus_warp_first(int x)
{
    return !x;
}
SALTUS_FN uint32_t saltus_warp_here(void)
{
    return 1u << SALTUS_LANE_NUMBER;
}
SALTUS_FN uint32_t saltus_warp_ballot(uint32_t here, int x)
{
    return x ? here : 0;
}
SALTUS_FN int saltus_warp_size(uint32_t here)
{
    (void)here;
    return 1;
}
SALTUS_FN int saltus_warp_mostly(uint32_t here, int x)
{
    (void)here;
    return x;
}
SALTUS_FN int saltus_warp_lowest(uint32_t threads)
{
    return __builtin_ctz(threads);
}
SALTUS_FN int saltus_warp_rank(uint32_t here)
{
    (void)here;
    return 0;
}
SALTUS_FN void *saltus_warp_pointer(uint32_t here, void *p, int from)
{
    (void)here, (void)from;
    return p;
}
SALTUS_FN void saltus_warp_wait_for(uint32_t here)
{
    (void)here;
}
SALTUS_FN int saltus_warp_number(int *n, int mine)
{
    const int first = *n;
    *n += mine;
    return first;
}
SALTUS_FN int saltus_warp_sum_to(int x, int n)
{
    (void)n;
    return x;
}
SALTUS_FN void saltus_warp_add(uint64_t *p, uint64_t n)
{
    *p += n;
}
SALTUS_FN uint64_t saltus_warp_take(uint64_t *p)
{
    return SALTUS_NEXT_NUMBER(p);
}
#endif

#endif
