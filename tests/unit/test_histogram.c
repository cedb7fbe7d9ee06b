#include "ensemble/histogram.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { POINTS = 3, COLUMNS = 2, BINS = 10, CELLS = POINTS * COLUMNS };

static int64_t value(int64_t t, size_t cell)
{
    const uint64_t x = (uint64_t)t * 2654435761u + cell * 40503u;
    return (int64_t)((x ^ (x >> 15)) % (7 + 29 * cell)) + (t == 91 && cell == 5 ? 4000000000 : 0);
}

static void fill(int64_t *x, int64_t from, int64_t n)
{
    for (int64_t t = 0; t < n; ++t) {
        for (size_t cell = 0; cell < CELLS; ++cell) {
            x[(size_t)t * CELLS + cell] = value(from + t, cell);
        }
    }
}

static void assert_equal(const saltus_histogram *a, const saltus_histogram *b)
{
    assert_memory_equal(a->shift, b->shift, CELLS);
    assert_memory_equal(a->counts, b->counts, CELLS * BINS * sizeof *a->counts);
}

static void order_does_not_matter(void **state)
{
    enum { n = 100 };
    int64_t x[n * CELLS];
    saltus_histogram forward, backward, merged, part;
    (void)state;
    fill(x, 0, n);
    assert_int_equal(saltus_histogram_init(&forward, POINTS, COLUMNS, BINS, 0, 0, NULL), SALTUS_OK);
    assert_int_equal(saltus_histogram_like(&backward, &forward, NULL), SALTUS_OK);
    assert_int_equal(saltus_histogram_like(&merged, &forward, NULL), SALTUS_OK);
    saltus_histogram_add(&forward, x, n);
    for (int t = n - 1; t >= 0; --t) {
        saltus_histogram_add(&backward, x + t * CELLS, 1);
    }
    for (int t = 75; t >= 0; t -= 25) {
        assert_int_equal(saltus_histogram_like(&part, &forward, NULL), SALTUS_OK);
        saltus_histogram_add(&part, x + t * CELLS, 25);
        saltus_histogram_merge(&merged, &part);
        saltus_histogram_free(&part);
    }
    assert_equal(&forward, &backward);
    assert_equal(&forward, &merged);
    saltus_histogram_free(&forward);
    saltus_histogram_free(&backward);
    saltus_histogram_free(&merged);
}

/* Every value is found in the bin that its column's common edges say. */
static void column_has_common_edges(void **state)
{
    enum { n = 100 };
    int64_t x[n * CELLS];
    double edges[BINS + 1];
    uint64_t counts[POINTS * BINS];
    saltus_histogram h;
    (void)state;
    fill(x, 0, n);
    assert_int_equal(saltus_histogram_init(&h, POINTS, COLUMNS, BINS, 0, 0, NULL), SALTUS_OK);
    saltus_histogram_add(&h, x, n);
    for (int c = 0; c < COLUMNS; ++c) {
        const int64_t bins = saltus_histogram_column(&h, c, edges, counts);
        assert_in_range(bins, 1, BINS);
        bool last_used = false;
        for (int64_t p = 0; p < POINTS; ++p) {
            for (int64_t b = 0; b < bins; ++b) {
                uint64_t expected = 0;
                for (int t = 0; t < n; ++t) {
                    const double v = (double)x[t * CELLS + p * COLUMNS + c];
                    expected += v >= edges[b] && v < edges[b + 1];
                }
                assert_int_equal(counts[p * bins + b], expected);
                last_used |= b == bins - 1 && expected > 0;
            }
        }
        assert_true(last_used);
    }
    saltus_histogram_free(&h);
}

static void bins_are_as_narrow_as_they_can_be(void **state)
{
    const int64_t x[4] = {0, 9, 10, 19};
    double edges[BINS + 1];
    uint64_t counts[BINS];
    saltus_histogram h;
    (void)state;
    assert_int_equal(saltus_histogram_init(&h, 1, 1, BINS, 0, 0, NULL), SALTUS_OK);
    saltus_histogram_add(&h, x, 2);
    assert_int_equal(h.shift[0], 0);
    saltus_histogram_add(&h, x + 2, 2);
    assert_int_equal(h.shift[0], 1);
    assert_int_equal(saltus_histogram_column(&h, 0, edges, counts), 10);
    assert_true(edges[0] == 0.0 && edges[1] == 2.0 && edges[10] == 20.0);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[4], 1);
    assert_int_equal(counts[5], 1);
    assert_int_equal(counts[9], 1);
    const int64_t huge = INT64_MAX;
    saltus_histogram_add(&h, &huge, 1);
    assert_int_equal(h.shift[0], 60);
    assert_int_equal(saltus_histogram_column(&h, 0, edges, counts), 8);
    assert_int_equal(counts[0], 4);
    assert_int_equal(counts[7], 1);
    saltus_histogram_free(&h);
}

static void fixed_range_counts_what_is_outside(void **state)
{
    const int64_t x[7] = {9, 10, 13, 14, 19, 20, 1000};
    double edges[4];
    uint64_t counts[3];
    saltus_histogram h, sum;
    (void)state;
    assert_int_equal(saltus_histogram_init(&h, 1, 1, 3, 10.0, 20.0, NULL), SALTUS_OK);
    assert_int_equal(saltus_histogram_like(&sum, &h, NULL), SALTUS_OK);
    saltus_histogram_add(&h, x, 7);
    saltus_histogram_merge(&sum, &h);
    saltus_histogram_merge(&sum, &h);
    assert_int_equal(saltus_histogram_column(&sum, 0, edges, counts), 3);
    assert_true(edges[0] == 10.0 && edges[3] == 20.0);
    assert_int_equal(counts[0], 4);
    assert_int_equal(counts[1], 2);
    assert_int_equal(counts[2], 2);
    assert_int_equal(sum.below[0], 2);
    assert_int_equal(sum.above[0], 4);
    saltus_histogram_free(&h);
    saltus_histogram_free(&sum);
}

/* The edges of thirds and tenths are no exact numbers; a value on an edge belongs above it. */
static void values_on_edges_are_placed_by_the_edges(void **state)
{
    double edges[1001];
    uint64_t counts[1000];
    saltus_histogram h;
    (void)state;
    for (int bins = 1; bins <= 1000; bins += 37) {
        assert_int_equal(saltus_histogram_init(&h, 1, 1, bins, 0.0, 700.0, NULL), SALTUS_OK);
        for (int64_t v = 0; v < 700; ++v) {
            saltus_histogram_add(&h, &v, 1);
        }
        assert_int_equal(saltus_histogram_column(&h, 0, edges, counts), bins);
        for (int b = 0; b < bins; ++b) {
            uint64_t expected = 0;
            for (int v = 0; v < 700; ++v) {
                expected += v >= edges[b] && v < edges[b + 1];
            }
            assert_int_equal(counts[b], expected);
        }
        saltus_histogram_free(&h);
    }
}

static void bad_options_are_refused(void **state)
{
    saltus_histogram h;
    saltus_error err = {0};
    (void)state;
    assert_int_equal(saltus_histogram_init(&h, 1, 1, -1, 0, 0, &err), SALTUS_E_INVALID);
    assert_int_equal(saltus_histogram_init(&h, 1, 1, SALTUS_MOST_BINS + 1, 0, 0, &err),
                     SALTUS_E_INVALID);
    assert_int_equal(saltus_histogram_init(&h, 1, 1, 0, 5, 1, NULL), SALTUS_E_INVALID);
    assert_int_equal(saltus_histogram_init(&h, INT64_C(1) << 40, 1 << 20, 1 << 20, 0, 0, NULL),
                     SALTUS_E_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(column_has_common_edges),
        cmocka_unit_test(bins_are_as_narrow_as_they_can_be),
        cmocka_unit_test(fixed_range_counts_what_is_outside),
        cmocka_unit_test(values_on_edges_are_placed_by_the_edges),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
