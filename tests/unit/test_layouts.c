/* Blocks of the GPU layouts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/bits.h"
#include "backend/cuda/codegen/registers.h"
#include "backend/cuda/ssa/layouts.h"
#include "model/network/network.h"

#include <stdlib.h>
#include <string.h>

/* Klingbeil et al. (2012): the largest blocks of the fat version with 16 kB, for five models of so
 * many species and reactions, 4 bytes each; 512 is the most that their card takes. */
static void blocks_are_those_of_the_paper(void **state)
{
    static const struct {
        int species_and_reactions, block;
    } cases[] = {{3 + 4, 512}, {8 + 5, 288}, {9 + 16, 160}, {11 + 16, 128}, {6 + 36, 96}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_int_equal(
            saltus_largest_block(16 << 10, 0, 4 * (int64_t)cases[i].species_and_reactions, 512),
            cases[i].block);
    }
    /* "at 64 threads at most 63 species and reactions" */
    assert_true(saltus_largest_block(16 << 10, 0, 4 * 63, 512) >= 64);
    assert_true(saltus_largest_block(16 << 10, 256, 4 * 64, 512) < 64);
    assert_int_equal(saltus_largest_block(16 << 10, 0, 1 << 10, 512), 0);
    assert_int_equal(saltus_largest_block(100, 200, 4, 512), 0);
}

/* Every block that a layout makes fits; one that does not fit is refused with the largest. */
static void blocks_fit(void **state)
{
    static const saltus_layout layouts[] = {SALTUS_LAYOUT_REGISTERS, SALTUS_LAYOUT_SHARED,
                                            SALTUS_LAYOUT_WARP, SALTUS_LAYOUT_GLOBAL};
    static const int capabilities[][2] = {{7, 5}, {8, 0}, {8, 6}, {9, 0}, {12, 0}};
    (void)state;
    for (int copies = 1; copies <= 200; copies += copies < 12 ? 1 : 47) {
        saltus_model *m = bits_copies(copies);
        const saltus_tables *t = &m->network->tables;
        for (size_t c = 0; c < sizeof capabilities / sizeof *capabilities; ++c) {
            const saltus_limits limits = saltus_limits_of(capabilities[c][0], capabilities[c][1]);
            for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i) {
                saltus_ssa_layout layout = {0};
                saltus_error err = {0};
                const char *against =
                    saltus_layout_against(layouts[i], t, (saltus_needs){0}, &limits);
                const saltus_status status =
                    saltus_layout_make(layouts[i], t, (saltus_needs){0}, &limits, 0, &layout, &err);
                assert_int_equal(status, against ? SALTUS_E_INVALID : SALTUS_OK);
                if (status == SALTUS_OK) {
                    assert_true(layout.block >= 32 && layout.block <= 1024);
                    assert_true(layout.block % 32 == 0);
                    assert_true((int64_t)layout.shared_bytes <= limits.block_bytes);
                }
                saltus_layout_free(&layout);
            }
        }
        saltus_model_destroy(m);
    }
}

static void too_large_blocks_are_refused_with_the_largest(void **state)
{
    const saltus_limits limits = saltus_limits_of(9, 0);
    saltus_ssa_layout layout = {0};
    saltus_error err = {0};
    int largest = 0;
    (void)state;
    saltus_model *m = bits_copies(12);
    const saltus_tables *t = &m->network->tables;
    assert_int_equal(saltus_layout_make(SALTUS_LAYOUT_SHARED, t, (saltus_needs){0}, &limits, 1024,
                                        &layout, &err),
                     SALTUS_E_INVALID);
    const char *says = strstr(err.message, "the largest block that fits has ");
    assert_non_null(says);
    largest = (int)strtol(says + strlen("the largest block that fits has "), NULL, 10);
    assert_true(largest >= 32 && largest % 32 == 0);
    assert_int_equal(saltus_layout_make(SALTUS_LAYOUT_SHARED, t, (saltus_needs){0}, &limits,
                                        largest, &layout, &err),
                     SALTUS_OK);
    saltus_layout_free(&layout);
    assert_int_equal(saltus_layout_make(SALTUS_LAYOUT_SHARED, t, (saltus_needs){0}, &limits,
                                        largest + 32, &layout, &err),
                     SALTUS_E_INVALID);
    saltus_model_destroy(m);
}

/* Laws that do the same to other numbers are computed when these change, where that pays. */
static void laws_that_are_alike_are_found(void **state)
{
    static const struct {
        const char *laws[3];
        bool found;
    } cases[] = {
        {{"9/(1 + Y^2.3)", "8/(1 + Z^2.3)", "8/(1 + X^2.3)"}, true},
        {{"9/(1 + Y^2.3)", "8/(1 + Z^2.3)", "1"}, true},
        {{"9/(1 + Y^2.3)", "8/(1 + Y^2.3)", "1"}, false}, /* they change together, */
        {{"9/(1 + Y^2.3)", "8/(1 + Z^2.4)", "1"}, false}, /* are different powers, */
        {{"9/(1 + Y^2.3)", "8/(1 - Z^2.3)", "1"}, false}, /* or different laws */
        {{"9/(1 + Y^2.3)", "Z/(1 + Z^2.3)", "1"}, false},
        {{"9 + Y*Z/7", "8 + Y*X/7", "1"}, false}, /* it does not pay */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[400], *kernel = NULL;
        saltus_error err = {0};
        const int32_t species = 0;
        const saltus_columns columns = {.n_counts = 1, .count_species = &species};
        (void)snprintf(text, sizeof text,
                       "species: {X: 1, Y: 2, Z: 3}\nreactions:\n  a: 0 -> X @ %s\n"
                       "  b: 0 -> Y @ %s\n  c: 0 -> Z @ %s\n  d: X -> 0 @ 1\n  e: Y -> 0 @ 1\n",
                       cases[i].laws[0], cases[i].laws[1], cases[i].laws[2]);
        saltus_model *m = bits_parse(text);
        assert_int_equal(
            saltus_registers_text(&m->network->tables, &columns, NULL, 256, false, &kernel, &err),
            SALTUS_OK);
        if ((strstr(kernel, "saltus_shape0") != NULL) != cases[i].found) {
            fail_msg("laws %d, %s:\n%s", (int)i, cases[i].laws[0], kernel);
        }
        free(kernel);
        saltus_model_destroy(m);
    }
}

/* n species hop among each other with the help of E. */
static saltus_model *hops(int n, int molecules)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "species:\n  E: 100\n");
    for (int i = 0; i < n; ++i) {
        fprintf(out, "  X%d: %d\n", i, molecules);
    }
    fprintf(out, "reactions:\n");
    for (int i = 0; i < n; ++i) {
        for (int k = 1; k <= 15; ++k) {
            fprintf(out, "  r%d_%d: E + X%d -> E + X%d @ 0.01\n", i, k, i, (i + k) % n);
        }
    }
    saltus_model *m = bits_parse_stream(out, &text);
    assert_true(m->network->tables.n_hubs > 0);
    return m;
}

/* A large network has a thread for each trajectory where there are enough of these, more with few
 * molecules or a large state, and a warp otherwise. */
static void threads_have_large_networks_where_they_pay(void **state)
{
    static const struct {
        int species, molecules;
        int64_t share;
        saltus_layout layout;
    } cases[] = {
        {20, 1000, 0, SALTUS_LAYOUT_SHARED},    {20, 1000, 1000, SALTUS_LAYOUT_SHARED},
        {20, 1000, 20, SALTUS_LAYOUT_WARP},     {20, 10, 1000, SALTUS_LAYOUT_SHARED},
        {400, 1000, 0, SALTUS_LAYOUT_GLOBAL},   {400, 1000, 1000, SALTUS_LAYOUT_GLOBAL},
        {400, 1000, 80, SALTUS_LAYOUT_WARP},    {400, 1, 1000, SALTUS_LAYOUT_GLOBAL},
        {400, 1, 200, SALTUS_LAYOUT_WARP},      {400, 10, 200, SALTUS_LAYOUT_GLOBAL},
        {2000, 1000, 0, SALTUS_LAYOUT_GLOBAL},  {2000, 1000, 190, SALTUS_LAYOUT_WARP},
        {6500, 1000, 1000, SALTUS_LAYOUT_WARP},
    };
    const saltus_limits limits = saltus_limits_of(9, 0);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_model *m = hops(cases[i].species, cases[i].molecules);
        const saltus_needs needs = {.share = cases[i].share};
        saltus_layout before;
        const char *why_not = NULL;
        const saltus_layout chosen =
            saltus_layout_choose(&m->network->tables, needs, &limits, &before, &why_not);
        if (chosen != cases[i].layout) {
            fail_msg("case %d has layout %d, not %d", (int)i, chosen, cases[i].layout);
        }
        assert_non_null(why_not);
        saltus_model_destroy(m);
    }
}

/* Few trajectories are spread over all multiprocessors. */
static void blocks_are_as_small_as_trajectories_are_few(void **state)
{
    static const struct {
        int64_t share;
        int block;
    } cases[] = {{0, 512}, {1, 64}, {124, 128}, {200, 128}, {303, 256}, {496, 512}, {5000, 512}};
    const saltus_limits limits = saltus_limits_of(9, 0);
    saltus_model *m = hops(400, 1000);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_ssa_layout layout = {0};
        const saltus_needs needs = {.share = cases[i].share};
        assert_int_equal(saltus_layout_make(SALTUS_LAYOUT_GLOBAL, &m->network->tables, needs,
                                            &limits, 0, &layout, NULL),
                         SALTUS_OK);
        assert_int_equal(layout.block, cases[i].block);
        saltus_layout_free(&layout);
    }
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_those_of_the_paper),
        cmocka_unit_test(blocks_fit),
        cmocka_unit_test(laws_that_are_alike_are_found),
        cmocka_unit_test(too_large_blocks_are_refused_with_the_largest),
        cmocka_unit_test(threads_have_large_networks_where_they_pay),
        cmocka_unit_test(blocks_are_as_small_as_trajectories_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
