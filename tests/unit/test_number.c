#include "core/number.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void numbers_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        saltus_number_result result;
        double value;
        size_t length;
    } cases[] = {
        {"12", SALTUS_NUMBER_OK, 12, 2},
        {"0.5x", SALTUS_NUMBER_OK, 0.5, 3},
        {".5", SALTUS_NUMBER_OK, 0.5, 2},
        {"5.", SALTUS_NUMBER_OK, 5, 2},
        {"1e-3", SALTUS_NUMBER_OK, 1e-3, 4},
        {"1E+2 ", SALTUS_NUMBER_OK, 100, 4},
        {"2e", SALTUS_NUMBER_OK, 2, 1},
        {"2e+", SALTUS_NUMBER_OK, 2, 1},
        {"0x10", SALTUS_NUMBER_OK, 0, 1},
        {"0e999", SALTUS_NUMBER_OK, 0, 5},
        {"1e999", SALTUS_NUMBER_TOO_LARGE, INFINITY, 5},
        {"1e-999", SALTUS_NUMBER_TOO_SMALL, 0, 6},
        {"5e-324", SALTUS_NUMBER_OK, 5e-324, 6},
        {"", SALTUS_NUMBER_NONE, 0, 0},
        {".", SALTUS_NUMBER_NONE, 0, 0},
        {"-1", SALTUS_NUMBER_NONE, 0, 0},
        {"inf", SALTUS_NUMBER_NONE, 0, 0},
        {"e5", SALTUS_NUMBER_NONE, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        double value = 0;
        size_t length = 99;
        assert_int_equal(saltus_number_parse(cases[i].text, &value, &length), cases[i].result);
        assert_int_equal(length, cases[i].length);
        assert_true(value == cases[i].value);
    }
}

static void written_numbers_have_the_same_bits(void **state)
{
    (void)state;
    uint64_t bits = 1;
    for (int i = 0; i < 100000; ++i) {
        double value, again;
        char text[SALTUS_NUMBER_SIZE];
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        const uint64_t positive = (bits ^ bits >> 29) & ~(UINT64_C(1) << 63);
        memcpy(&value, &positive, sizeof value);
        if (isfinite(value)) {
            (void)saltus_number_format(value, text);
            assert_int_equal(saltus_number_parse(text, &again, NULL), SALTUS_NUMBER_OK);
            assert_memory_equal(&value, &again, sizeof value);
        }
    }
}

static void the_shortest_text_is_written(void **state)
{
    (void)state;
    char text[SALTUS_NUMBER_SIZE];
    assert_string_equal(saltus_number_format(0.1, text), "0.1");
    assert_string_equal(saltus_number_format(0.1 + 0.2, text), "0.30000000000000004");
    assert_string_equal(saltus_number_format(-1e300, text), "-1e+300");
    assert_string_equal(saltus_number_format(-0.0, text), "-0");
    assert_string_equal(saltus_number_format(1000000, text), "1000000");
    assert_string_equal(saltus_number_format((double)-INFINITY, text), "-inf");
    assert_string_equal(saltus_number_format((double)NAN, text), "nan");
}

static void the_locale_does_not_matter(void **state)
{
    (void)state;
    static const char *const with_comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    size_t i = 0;
    while (i < 4 && !setlocale(LC_ALL, with_comma[i])) {
        ++i;
    }
    double value = 0;
    char text[SALTUS_NUMBER_SIZE];
    assert_string_equal(saltus_number_format(1.5, text), "1.5");
    assert_int_equal(saltus_number_parse("1.5", &value, NULL), SALTUS_NUMBER_OK);
    assert_true(value == 1.5);
    (void)setlocale(LC_ALL, "C");
    if (i == 4) {
        print_message("skipped: no locale with a decimal comma is installed\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_parsed),
        cmocka_unit_test(written_numbers_have_the_same_bits),
        cmocka_unit_test(the_shortest_text_is_written),
        cmocka_unit_test(the_locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
