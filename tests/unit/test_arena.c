/* An arena that is rewound hands out the same memory again, zeroed. */
#include "core/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void fill(saltus_arena *arena, size_t n, size_t size)
{
    for (size_t i = 0; i < n; ++i) {
        unsigned char *p = saltus_arena_alloc(arena, size);
        assert_non_null(p);
        for (size_t k = 0; k < size; ++k) {
            assert_int_equal(p[k], 0);
        }
        memset(p, 0xa5, size);
    }
}

static void memory_is_had_again_and_zero(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 100, 5000, 40000, 200000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        for (size_t n_before = 0; n_before < 3; ++n_before) {
            saltus_arena arena = {0};
            fill(&arena, n_before, sizes[s]);
            for (size_t n = 1; n < 40; n += 6) {
                const saltus_arena_mark mark = saltus_arena_here(&arena);
                fill(&arena, n, sizes[s]);
                saltus_arena_rewind(&arena, mark);
            }
            fill(&arena, 2, sizes[s]);
            saltus_arena_free(&arena);
        }
    }
}

static void what_was_before_stays(void **state)
{
    (void)state;
    saltus_arena arena = {0};
    char *kept = saltus_arena_strndup(&arena, "kept", 4);
    const saltus_arena_mark mark = saltus_arena_here(&arena);
    void *first = saltus_arena_alloc(&arena, 64);
    for (int i = 0; i < 3; ++i) {
        saltus_arena_rewind(&arena, mark);
        assert_ptr_equal(saltus_arena_alloc(&arena, 64), first);
    }
    fill(&arena, 5, 50000); /* more pages */
    saltus_arena_rewind(&arena, mark);
    assert_string_equal(kept, "kept");
    saltus_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_had_again_and_zero),
        cmocka_unit_test(what_was_before_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
