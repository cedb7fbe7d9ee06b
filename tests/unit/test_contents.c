/* The list of what a lattice holds: it grows, and memory may run out while it does. */
#include "engine/contents.h"
#include "core/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N = 5000 };

static void entries_stay_while_it_grows(void **state)
{
    (void)state;
    saltus_contents c = {0};
    for (int again = 0; again < 2; ++again) {
        saltus_contents_clear(&c);
        for (int i = 0; i < N; ++i) {
            assert_int_equal(
                saltus_contents_add(&c, (INT64_C(1) << 39) + i, 65535 - i, i + again, NULL),
                SALTUS_OK);
        }
        assert_int_equal(c.n, N);
        for (int i = 0; i < N; ++i) {
            assert_int_equal(c.site[i], (INT64_C(1) << 39) + i);
            assert_int_equal(c.species[i], 65535 - i);
            assert_int_equal(c.count[i], i + again);
        }
    }
    saltus_contents_free(&c);
    assert_int_equal(c.n, 0);
}

/* Each of the three allocations fails in turn; what is there stays, and then it goes on. */
static void memory_may_run_out(void **state)
{
    (void)state;
    saltus_contents c = {0};
    for (int i = 0; i < 1024; ++i) {
        assert_int_equal(saltus_contents_add(&c, i, 1, 2, NULL), SALTUS_OK);
    }
    for (int n = 0; n < 3; ++n) {
        saltus_error err = {0};
        saltus_fail_allocation(n);
        assert_int_equal(saltus_contents_add(&c, 7, 1, 2, &err), SALTUS_E_NO_MEMORY);
        saltus_fail_allocation(-1);
        assert_int_equal(c.n, 1024);
        assert_int_equal(c.site[1023], 1023);
    }
    assert_int_equal(saltus_contents_add(&c, 7, 1, 2, NULL), SALTUS_OK);
    assert_int_equal(c.n, 1025);
    saltus_contents_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_stay_while_it_grows),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
