/* Where every thread of a warp is played: a GPU gives the bits of the CPU. */
#include "cuda_bits.h"

/* Where every thread of a warp is played: all of them have what one has. */
static void warps_have_the_bits_of_the_cpu(void **state)
{
    static const int copies[] = {1, 3, 17, 150};
    (void)state;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; ++i) {
        saltus_model *m = bits_copies(copies[i]);
        const uint64_t expected = bits_hash(m, "cpu:generic", "scalar", 1, 3, 4, grid, N_GRID);
        assert_true(bits_hash(m, "cuda", "warp", 0, 3, 4, grid, N_GRID) == expected);
        saltus_model_destroy(m);
    }
    /* threads of a warp part where something happens to some of them, and write samples together */
    saltus_model *m = bits_parse(bits_alike);
    const uint64_t expected = bits_hash(m, "cpu:generic", "scalar", 1, 3, 70, grid, N_GRID);
    assert_true(bits_hash(m, "cuda", "registers", 0, 3, 70, grid, N_GRID) == expected);
    saltus_model_destroy(m);
}

/* The threads of a warp that are together, whoever these are, leap or take exact steps as most of
 * them say; trajectories end, and others begin. By the direct method they write samples together,
 * of few reactions and of more; some have many samples between two events, or end, while others
 * react. */
static void votes_have_the_bits_of_the_cpu(void **state)
{
    static const char *const both[] = {"registers", "global"};
    saltus_plan_options plan = bits_plan("tau", "philox", "scalar", 0);
    char text[1500];
    (void)state;
    saltus_model *m = bits_parse("species: {A: 900, B: 40}\n"
                                 "reactions: {a: A + B -> 2 A @ 0.2, b: A -> B @ 90, c: 0 -> B @ "
                                 "1e3, d: B -> 0 @ 9}\n");
    plan.n_exact = 9;
    const uint64_t expected = bits_hash_plan(m, "cpu:generic", &plan, 3, 70, grid, N_GRID);
    for (int l = 0; l < 2; ++l) {
        plan.layout = both[l];
        assert_true(bits_hash_plan(m, "cuda", &plan, 3, 70, grid, N_GRID) == expected);
    }
    saltus_model_destroy(m);
    for (int n = 3; n <= 18; n += 15) {
        size_t at = (size_t)snprintf(text, sizeof text,
                                     "species: {A: 9, B: 4, C: 0, D: 2, E: 0}\nreactions:\n"
                                     "  on: C -> A @ 0.4\n");
        for (int i = 0; i < n; ++i) {
            at += (size_t)snprintf(text + at, sizeof text - at, "  r%d: %c + %c -> %c @ 0.0%d\n", i,
                                   'A' + i % 5, 'A' + (i + 3) % 5, 'A' + (i + 2) % 5, 1 + i % 9);
        }
        m = bits_parse(text);
        const uint64_t cpu = bits_hash(m, "cpu:generic", "scalar", 1, 3, 70, grid, N_GRID);
        assert_true(bits_hash(m, "cuda", "registers", 0, 3, 70, grid, N_GRID) == cpu);
        saltus_model_destroy(m);
    }
}

/* With a name, as `votes*`, those tests alone. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warps_have_the_bits_of_the_cpu),
        cmocka_unit_test(votes_have_the_bits_of_the_cpu),
    };
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, set_up, NULL);
}
