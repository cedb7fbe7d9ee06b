/* An arena that is rewound hands out the same memory again, zeroed. An index finds records. */
#include "core/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
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

static void records_are_found_by_their_strings(void **state)
{
    enum { N = 1000 };
    static struct record {
        const char *id;
        double more;
    } records[N];
    static char ids[N][8];
    saltus_index index = {0};
    (void)state;
    assert_int_equal(saltus_index_find(&index, records, sizeof *records, "r0"), -1);
    for (int i = 0; i < N; ++i) {
        (void)snprintf(ids[i], sizeof ids[i], "r%d", i);
        assert_int_equal(saltus_index_find(&index, records, sizeof *records, ids[i]), -1);
        records[i].id = ids[i];
        assert_int_equal(saltus_index_add(&index, records, sizeof *records), 0);
    }
    for (int i = 0; i < N; ++i) {
        char same[8];
        (void)snprintf(same, sizeof same, "r%d", i);
        assert_int_equal(saltus_index_find(&index, records, sizeof *records, same), i);
    }
    assert_int_equal(saltus_index_find(&index, records, sizeof *records, "r1000"), -1);
    saltus_index_free(&index);
    saltus_fail_allocation(0);
    assert_int_equal(saltus_index_add(&index, records, sizeof *records), -1);
    saltus_fail_allocation(-1);
    assert_int_equal(index.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_had_again_and_zero),
        cmocka_unit_test(what_was_before_stays),
        cmocka_unit_test(records_are_found_by_their_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
