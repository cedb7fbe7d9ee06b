/* All blocks of a launch at once, on a host that plays GPUs, for tests of kernels that wait for
 * other blocks and other GPUs: included before a kernel's text (FAKE_NVRTC_CC), and asked for by a
 * cooperative launch of cuda.c. Of each warp the first thread is a coroutine, which goes on until
 * it waits; who launches goes on then, and all others when the host wants an answer. */
#ifndef SALTUS_TESTS_FAKE_TOGETHER_H
#define SALTUS_TESTS_FAKE_TOGETHER_H

#define SALTUS_PLAYED_TOGETHER

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { PLAYED_STACK = 1 << 17, PLAYED_PATIENCE = 100000000 };

typedef struct played_launch {
    int64_t block, stride; /* threads of a block, and of all */
    int64_t *arrived;      /* [block] threads that have come to its barriers, so far */
} played_launch;

typedef struct played_warp {
    ucontext_t context;
    played_launch *launch;
    int64_t thread, n_met; /* its barriers */
    int has_ended;
    struct played_warp *next;
} played_warp;

static int64_t saltus_thread, saltus_stride;
int64_t played_block; /* threads of a block of a cooperative launch; else 0 */
static played_warp *played_warps, *played_now;
static uint64_t played_turns; /* of all coroutines so far: what passes for time */
#define SALTUS_CYCLES() (played_turns)
static ucontext_t played_host;
static void (*played_body)(void);

static void played_entry(void)
{
    played_body();
    played_now->has_ended = 1;
    (void)swapcontext(&played_now->context, &played_host);
}

static void played_go_on(played_warp *w)
{
    played_now = w;
    ++played_turns;
    saltus_thread = w->thread;
    saltus_stride = w->launch->stride;
    (void)swapcontext(&played_host, &w->context);
    played_now = NULL;
}

static void played_wait(void)
{
    (void)swapcontext(&played_now->context, &played_host);
}

static inline void saltus_play(void (*thread)(void), int64_t n_threads)
{
    if (played_block == 0) {
        for (saltus_thread = 0; saltus_thread < n_threads; ++saltus_thread) {
            thread();
        }
        return;
    }
    played_launch *launch = (played_launch *)calloc(1, sizeof *launch);
    launch->block = played_block;
    launch->stride = n_threads;
    launch->arrived = (int64_t *)calloc((size_t)(n_threads / played_block), sizeof(int64_t));
    for (int64_t i = 0; i < n_threads; i += 32) {
        played_warp *w = (played_warp *)calloc(1, sizeof *w);
        w->launch = launch;
        w->thread = i;
        (void)getcontext(&w->context);
        w->context.uc_stack.ss_sp = malloc(PLAYED_STACK);
        w->context.uc_stack.ss_size = PLAYED_STACK;
        makecontext(&w->context, played_entry, 0);
        w->next = played_warps; /* the last of the last launch goes first */
        played_warps = w;
        played_body = thread;
        played_go_on(w); /* it copies its argument */
    }
}

/* Some are late: whether one is at such a time, for a while. */
static int played_is_late(const played_warp *w, int64_t rounds)
{
    const uint64_t x =
        ((uint64_t)(rounds / 16) * 64 + (uint64_t)(w->thread / 32)) * 0x9E3779B97F4A7C15u;
    return (x >> 60) < 6;
}

/* The others go on until all have ended. */
void played_finish(void);
void played_finish(void)
{
    for (int64_t rounds = 0; played_warps; ++rounds) {
        played_warp **at = &played_warps;
        while (*at) {
            played_warp *w = *at;
            if (!w->has_ended && !played_is_late(w, rounds)) {
                played_go_on(w);
            }
            if (w->has_ended) {
                *at = w->next;
                free(w->context.uc_stack.ss_sp);
                free(w);
            } else {
                at = &w->next;
            }
        }
        if (rounds > PLAYED_PATIENCE) {
            (void)fprintf(stderr, "blocks wait for each other for ever\n");
            abort();
        }
    }
}

static inline int64_t played_threads_of_block(int64_t usual)
{
    return played_now ? played_now->launch->block : usual;
}

/* ------------------------------------------------------------------------------------------------
 * What waits, as kernel/base/threads.h has it
 */

static inline int64_t played_block_number(void)
{
    return saltus_thread / played_now->launch->block;
}

static inline void played_block_meets(void)
{
    const played_launch *const launch = played_now->launch;
    int64_t *const arrived = &launch->arrived[played_block_number()];
    const int64_t all = ++played_now->n_met * (launch->block / 32);
    ++*arrived;
    while (*arrived < all) {
        played_wait();
    }
}

static inline void saltus_block_wait(void)
{
    played_block_meets();
}

static inline int played_is_first(void)
{
    return saltus_thread % played_now->launch->block == 0;
}

static inline void saltus_all_blocks_signal(uint64_t *arrived)
{
    played_block_meets();
    *arrived += played_is_first();
}

static inline void saltus_all_blocks_wait(const uint64_t *arrived, uint64_t n)
{
    const uint64_t n_blocks = (uint64_t)(saltus_stride / played_now->launch->block);
    while (played_is_first() && *(const volatile uint64_t *)arrived < n * n_blocks) {
        played_wait();
    }
    played_block_meets();
}

static inline void saltus_near_blocks_signal(uint64_t *ended, uint64_t n)
{
    played_block_meets();
    if (played_is_first()) {
        ended[8 * played_block_number()] = n;
    }
}

static inline void saltus_near_blocks_wait(const uint64_t *ended, int reach, uint64_t n)
{
    const int64_t n_blocks = saltus_stride / played_now->launch->block,
                  in_block = saltus_thread % played_now->launch->block;
    for (int64_t i = in_block; i < in_block + 32 && i < 2 * reach; ++i) {
        const int64_t ahead = i < reach ? i + 1 : n_blocks - (i - reach + 1);
        const volatile uint64_t *const other =
            ended + 8 * ((played_block_number() + ahead) % n_blocks);
        while (*other < n) {
            played_wait();
        }
    }
    played_block_meets();
}

static inline void saltus_gpu_signal(uint64_t *done, uint64_t all, uint64_t *ends, uint64_t n)
{
    if (++*done == all) {
        *ends = n;
    }
}

static inline void saltus_gpu_wait(const uint64_t *ended, uint64_t n, uint64_t *lost)
{
    (void)lost;
    while (*(const volatile uint64_t *)ended < n) {
        played_wait();
    }
}

#endif
