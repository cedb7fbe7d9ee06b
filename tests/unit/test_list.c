#include "core/list.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static void lists_are_cut_at_outer_commas(void **state)
{
    static const struct {
        const char *list, *names[4];
    } cases[] = {
        {"A", {"A"}},
        {"A,B", {"A", "B"}},
        {" A , [B] ", {"A", "[B]"}},
        {"R(a,l),L(r,r!1).R(l!1,a),X", {"R(a,l)", "L(r,r!1).R(l!1,a)", "X"}},
        {"", {""}},
        {"A,", {"A", ""}},
        {",A", {"", "A"}},
        {"),A", {")", "A"}},
        {"(A,B", {"(A,B"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *list = cases[i].list, *name;
        size_t length;
        for (int k = 0; k < 4 && cases[i].names[k]; ++k) {
            assert_true(saltus_list_next(&list, &name, &length));
            assert_int_equal(length, strlen(cases[i].names[k]));
            assert_memory_equal(name, cases[i].names[k], length);
        }
        assert_false(saltus_list_next(&list, &name, &length));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_are_cut_at_outer_commas)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
