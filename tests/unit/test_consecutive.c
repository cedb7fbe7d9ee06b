/* What is written for consecutive numbers is what zlib unpacks to their bytes, shuffled. */
#include "write/hdf5/chunk.h"
#include "write/hdf5/consecutive.h"

#include "core/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

static void check(uint64_t first, size_t n, size_t n_full)
{
    uint64_t *values = calloc(n_full, sizeof *values);
    unsigned char *unpacked = calloc(n_full, 8);
    uLongf size = n_full * 8;
    saltus_chunk chunk;
    saltus_error err = {0};
    assert_true(values && unpacked);
    for (size_t i = 0; i < n; ++i) {
        values[i] = first + i;
    }
    assert_int_equal(saltus_chunk_encode(values, n, n_full, 8, 1, &chunk, &err), SALTUS_OK);
    assert_int_equal(chunk.skipped, 0);
    assert_true(chunk.size <= saltus_consecutive_bound(n_full));
    assert_int_equal(uncompress(unpacked, &size, chunk.data, chunk.size), Z_OK);
    assert_int_equal(size, n_full * 8);
    for (size_t i = 0; i < n_full; ++i) {
        for (size_t plane = 0; plane < 8; ++plane) {
            if (unpacked[plane * n_full + i] != (unsigned char)(values[i] >> (8 * plane))) {
                fail_msg("%zu of %zu numbers from %llu: byte %zu of number %zu", n, n_full,
                         (unsigned long long)first, plane, i);
            }
        }
    }
    saltus_free(chunk.data);
    free(values);
    free(unpacked);
}

static void every_chunk_is_unpacked(void **state)
{
    (void)state;
    static const uint64_t firsts[] = {0,
                                      1,
                                      4096,
                                      255,
                                      65535,
                                      1000003,
                                      1 << 24,
                                      (1u << 31) - 7,
                                      UINT64_C(1) << 40,
                                      (UINT64_C(1) << 63) - 5000};
    static const size_t sizes[] = {512, 513, 4096, 4097, 70001};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; ++i) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
            check(firsts[i], sizes[k], sizes[k]);
        }
        for (size_t n = 1; n < 600; n += n < 6 || (n > 250 && n < 266) ? 1 : 37) {
            check(firsts[i], n, 512 > n ? 512 : n);
        }
    }
}

static void only_consecutive_numbers_are_taken(void **state)
{
    (void)state;
    int64_t numbers[600];
    for (int i = 0; i < 600; ++i) {
        numbers[i] = 77 + i;
    }
    assert_true(saltus_is_consecutive(numbers, 600));
    assert_false(saltus_is_consecutive(numbers, 0));
    ++numbers[599];
    assert_false(saltus_is_consecutive(numbers, 600));
    assert_true(saltus_is_consecutive(numbers, 599));
    numbers[0] = 76;
    assert_false(saltus_is_consecutive(numbers, 599));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_is_unpacked),
        cmocka_unit_test(only_consecutive_numbers_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
