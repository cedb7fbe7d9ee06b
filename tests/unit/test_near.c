/* Slabs of a lattice on GPUs, as far as that needs none: neighbours are where links are best, and
 * what passes between them by way of the host is near who reads it. */
#include "backend/cuda/slabs/slabs.h"

#include <setjmp.h>
#include <stdarg.h>

#include <limits.h>
#include <linux/mempolicy.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/moments.h"
#include "../support/random.h"

/* ------------------------------------------------------------------------------------------------
 * On which GPUs
 */

static cu_result name_error(cu_result result, const char **text)
{
    (void)result;
    *text = "made up";
    return CU_SUCCESS;
}
/* Links from each GPU to all: the rank, n if there are no atomics, - if one does not reach the
 * other, ? if the driver does not know. */
static const char *const *links;

static cu_result reaches(int *can, cu_device from, cu_device to)
{
    *can = links[from][to] != '-';
    return links[from][to] == '?' ? CU_ERROR_NO_DEVICE : CU_SUCCESS;
}
static cu_result tell_link(int *value, int attribute, cu_device from, cu_device to)
{
    const char link = links[from][to];
    *value = attribute == CU_PEERS_ATOMICS ? link != 'n' : link == 'n' ? 3 : link - '0';
    return CU_SUCCESS;
}
static const saltus_driver driver = {
    .error_string = name_error, .peers_can = reaches, .peers_tell = tell_link};

static saltus_gpus gpus_numbered(int n)
{
    saltus_gpus gpus = {.cu = &driver, .n = n};
    for (int i = 0; i < n; ++i) {
        gpus.gpu[i].device = i;
    }
    return gpus;
}

static saltus_lattice with_faces(bool is_ring)
{
    saltus_lattice l = {.size = {64, 64, 64}};
    l.faces[SALTUS_FACE_Z_LOW] = l.faces[SALTUS_FACE_Z_HIGH] =
        is_ring ? SALTUS_FACE_PERIODIC : SALTUS_FACE_REFLECTING;
    return l;
}

static void neighbours_are_where_links_are_best(void **state)
{
    static const char *const pairs[] = {"x101", "1x10", "01x1", "101x"},
                             *const alike[] = {"x111", "1x11", "11x1", "111x"},
                             *const none[] = {"x---", "-x--", "--x-", "---x"},
                             *const path[] = {"x-0-", "-x00", "00x-", "-0-x"},
                             *const one_way[] = {"x000", "nx00", "00x0", "000x"},
                             *const unknown[] = {"x?00", "?x00", "00x0", "000x"},
                             *const mesh[] = {"x0000---", "0x00-0--", "00x0--0-", "000x---0",
                                              "0---x000", "-0--0x00", "--0-00x0", "---0000x"};
    static const double equal[] = {2, 2, 2, 2, 2, 2, 2, 2}, unequal[] = {1, 1, 1, 2};
    static const struct {
        const char *const *links;
        const double *heights;
        int n_gpus, n;
        bool is_ring;
        int order[8];
    } cases[] = {
        {pairs, equal, 4, 4, false, {0, 2, 1, 3}},
        {pairs, equal, 4, 4, true, {0, 1, 3, 2}},
        {pairs, NULL, 4, 4, true, {0, 1, 3, 2}},
        {pairs, equal, 4, 2, false, {0, 2, 1, 3}}, /* the others have none */
        {pairs, equal, 4, 8, false, {0, 1, 3, 2}}, /* two each */
        {pairs, unequal, 4, 4, false, {0, 1, 2, 3}},
        {pairs, unequal, 4, 3, false, {0, 1, 3, 2}}, /* those that count are alike */
        {alike, equal, 4, 4, true, {0, 1, 2, 3}},
        {none, equal, 4, 4, true, {0, 1, 2, 3}},
        {path, equal, 4, 4, false, {0, 2, 1, 3}},
        {path, equal, 4, 4, true, {0, 2, 1, 3}}, /* one must go by the host */
        {path, equal, 4, 3, true, {0, 1, 2, 3}},
        {one_way, equal, 4, 4, false, {0, 2, 1, 3}},
        {one_way, equal, 4, 4, true, {0, 2, 1, 3}},
        {unknown, equal, 4, 4, true, {0, 2, 1, 3}},
        {mesh, equal, 8, 8, false, {0, 1, 2, 3, 7, 5, 6, 4}},
        {mesh, equal, 8, 8, true, {0, 1, 2, 3, 7, 5, 6, 4}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const saltus_lattice l = with_faces(cases[i].is_ring);
        const saltus_gpus gpus = gpus_numbered(cases[i].n_gpus);
        int order[SALTUS_MAX_GPUS];
        links = cases[i].links;
        saltus_gpu_slabs_order(&gpus, &l, cases[i].heights, cases[i].n, order);
        for (int k = 0; k < gpus.n; ++k) {
            if (order[k] != cases[i].order[k]) {
                fail_msg("case %zu: place %d has GPU %d", i, k, order[k]);
            }
        }
    }
}

enum { RANDOM_GPUS = 5, WORST_LINK = 4 };

/* How many links between neighbours are of each kind, the worst first. */
static void count_links(const int *order, int n, bool is_ring, int kinds[WORST_LINK + 1])
{
    memset(kinds, 0, (WORST_LINK + 1) * sizeof *kinds);
    for (int i = 0; i < (is_ring ? n : n - 1); ++i) {
        const int here = order[i % RANDOM_GPUS], next = order[(i + 1) % n % RANDOM_GPUS];
        const char both[] = {links[here][next], links[next][here]};
        for (int k = 0; k < 2 && here != next; ++k) {
            const bool is_rank = both[k] >= '0' && both[k] < '0' + WORST_LINK;
            ++kinds[is_rank ? WORST_LINK - (both[k] - '0') : 0];
        }
    }
    kinds[WORST_LINK] = 0; /* the best ones */
}

static bool are_better(const int *kinds, const int *others)
{
    int i = 0;
    while (i < WORST_LINK && kinds[i] == others[i]) {
        ++i;
    }
    return i < WORST_LINK && kinds[i] < others[i];
}

/* Against all orders, by number. */
static void no_order_is_better(void **state)
{
    enum { TRIES = 200, NUMBERS = 3125 };
    uint64_t random = 5;
    int n_other = 0;
    const saltus_gpus gpus = gpus_numbered(RANDOM_GPUS);
    (void)state;
    for (int i = 0; i < TRIES; ++i) {
        char rows[RANDOM_GPUS][RANDOM_GPUS + 1];
        const char *row[RANDOM_GPUS];
        const char *const kinds = i % 2 == 0 ? "0013" : "00123n-?";
        for (int k = 0; k < RANDOM_GPUS * RANDOM_GPUS; ++k) {
            rows[k / RANDOM_GPUS][k % RANDOM_GPUS] = kinds[below(&random, (int)strlen(kinds))];
            row[k / RANDOM_GPUS] = rows[k / RANDOM_GPUS];
        }
        links = row;
        const bool is_ring = below(&random, 2);
        const int n = 2 + below(&random, RANDOM_GPUS - 1);
        const saltus_lattice l = with_faces(is_ring);
        int order[SALTUS_MAX_GPUS], chosen[WORST_LINK + 1], given[WORST_LINK + 1];
        static const int as_given[] = {0, 1, 2, 3, 4};
        saltus_gpu_slabs_order(&gpus, &l, NULL, n, order);
        count_links(order, n, is_ring, chosen);
        count_links(as_given, n, is_ring, given);
        const bool is_given = memcmp(order, as_given, sizeof as_given) == 0;
        n_other += !is_given;
        assert_true(is_given || are_better(chosen, given));
        for (int number = 0; number < NUMBERS; ++number) {
            int other[RANDOM_GPUS], theirs[WORST_LINK + 1], seen = 0;
            for (int k = 0, rest = number; k < RANDOM_GPUS; ++k, rest /= RANDOM_GPUS) {
                other[k] = rest % RANDOM_GPUS;
                seen |= 1 << other[k];
            }
            if (seen == (1 << RANDOM_GPUS) - 1) {
                count_links(other, n, is_ring, theirs);
                assert_false(are_better(theirs, chosen));
            }
        }
    }
    assert_true(n_other > TRIES / 2);
}

/* ------------------------------------------------------------------------------------------------
 * Where on the host
 */

/* What the system is told of this thread's memory: a node, or -1 for no wish. */
static int wish(void)
{
    unsigned long nodes[16] = {0};
    int policy = MPOL_DEFAULT;
    if (syscall(SYS_get_mempolicy, &policy, nodes, 1024UL, NULL, 0UL) != 0 ||
        policy != MPOL_PREFERRED) {
        return -1;
    }
    int node = 0;
    while (node < 1023 && !(nodes[node / 64] >> node % 64 & 1)) {
        ++node;
    }
    return node;
}

static int wished[16], n_wished;

static cu_result use(cu_context context)
{
    (void)context;
    return CU_SUCCESS;
}
static cu_result take_pinned(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    wished[n_wished++ % 16] = wish();
    *out = malloc(bytes);
    return *out ? CU_SUCCESS : CU_ERROR_OUT_OF_MEMORY;
}
static cu_result give_pinned(void *address)
{
    free(address);
    return CU_SUCCESS;
}
static cu_result take_memory(cu_pointer *out, size_t bytes)
{
    *out = (uintptr_t)malloc(bytes);
    return CU_SUCCESS;
}
static cu_result give_memory(cu_pointer address)
{
    free((void *)(uintptr_t)address);
    return CU_SUCCESS;
}
static cu_result fill(cu_pointer to, unsigned char value, size_t bytes, cu_stream stream)
{
    (void)stream;
    memset((void *)(uintptr_t)to, value, bytes);
    return CU_SUCCESS;
}
static const saltus_driver host = {.context_use = use,
                                   .host_alloc = take_pinned,
                                   .host_free = give_pinned,
                                   .memory_alloc = take_memory,
                                   .memory_free = give_memory,
                                   .fill = fill};

/* Whether the system lets a thread wish; containers may forbid it. */
static bool may_wish(void)
{
    const unsigned long first = 1;
    const bool may = syscall(SYS_set_mempolicy, MPOL_PREFERRED, &first, 2UL) == 0 && wish() == 0;
    (void)syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL);
    if (!may) {
        print_message("no policy of memory can be set here\n");
    }
    return may;
}

/* Nodes that are not there are no error, and nothing is left of a wish. */
static void pinned_memory_is_taken_near_a_gpu(void **state)
{
    static const int nodes[] = {0, -1, 700, 1023, 1024, INT_MAX, INT_MIN};
    const int near = may_wish() ? 0 : -1;
    (void)state;
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i) {
        saltus_error err = {0};
        void *memory_taken = NULL;
        n_wished = 0;
        OK(saltus_cuda_host_alloc(&host, nodes[i], &memory_taken, 100, "taking", &err));
        assert_non_null(memory_taken);
        free(memory_taken);
        assert_int_equal(n_wished, 1);
        assert_int_equal(wished[0], nodes[i] == 0 ? near : -1);
        assert_int_equal(wish(), -1);
    }
}

/* Three slabs, of which the GPU of the middle one is near node 0: what its neighbours send to it is
 * there, and nothing else. */
static void who_leaves_waits_near_the_next_gpu(void **state)
{
    const int near = may_wish() ? 0 : -1;
    saltus_gpu gpus[3] = {{.host_node = 700}, {.host_node = 0}, {.host_node = -1}};
    (void)state;
    for (int is_ring = 0; is_ring < 2; ++is_ring) {
        saltus_error err = {0};
        saltus_gpu_slab slab[3] = {0};
        saltus_gpu_slabs s = {.slab = slab, .n = 3, .end = 3, .is_ring = is_ring};
        for (int i = 0; i < 3; ++i) {
            slab[i].c.on.cu = &host;
            slab[i].c.on.gpu = &gpus[i];
            slab[i].c.on.tables.m.n_species = 2;
            slab[i].c.halo = 64;
        }
        n_wished = 0;
        OK(saltus_gpu_slabs_stage(&s, &err));
        assert_int_equal(n_wished, is_ring ? 12 : 8);
        int n_near = 0, n = 0;
        for (int i = 0; i < 3; ++i) {
            for (int side = 0; side < 2; ++side) {
                const saltus_gpu_slab *next = saltus_gpu_slabs_next(&s, i, side);
                for (int odd = 0; odd < 2; ++odd) {
                    assert_true(!next == !slab[i].sent[odd][side]);
                    if (next) {
                        assert_int_equal(wished[n++], next == &slab[1] ? near : -1);
                        n_near += next == &slab[1];
                    }
                }
            }
            saltus_gpu_slab_unstage(&host, &slab[i]);
        }
        assert_int_equal(n_near, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_are_where_links_are_best),
        cmocka_unit_test(no_order_is_better),
        cmocka_unit_test(pinned_memory_is_taken_near_a_gpu),
        cmocka_unit_test(who_leaves_waits_near_the_next_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
