/* Memory on a GPU for what is made of the samples of a batch: what is taken for the largest batch
 * has room for every smaller one, however its jobs lie in segments. */
#include "backend/cuda/ssa/reduce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const int numbers_of_points[] = {1, 2, 21, 1001}, numbers_of_columns[] = {0, 1, 3, 40};

/* Bytes for n jobs in n_segments segments; of these, bytes of results. */
static size_t size_of(const saltus_task *task, int64_t n, int64_t n_segments, size_t *results)
{
    const saltus_uploaded model = {0};
    saltus_reducer reducer;
    size_t at = 0;
    saltus_reducer_place(&reducer, task, &model, n, n_segments, 0, &at, results);
    return at;
}

static void holds_smaller(const saltus_task *task, int64_t n_jobs, int64_t n_segments)
{
    size_t all_results, results;
    const size_t all = size_of(task, n_jobs, n_segments, &all_results);
    for (int64_t n = 1; n <= n_jobs; n += 1 + n_jobs / 40) {
        for (int64_t s = 1; s <= n && s <= n_segments; s += 1 + s / 20) {
            assert_in_range(size_of(task, n, s, &results), 1, all);
            assert_in_range(results, 1, all_results);
        }
    }
}

static void the_largest_batch_has_room_for_all(void **state)
{
    static const int64_t batches[][2] = {{1, 1},     {17, 2},     {75, 5},      {100, 100},
                                         {1000, 24}, {5000, 999}, {70000, 300}, {2000000, 7}};
    (void)state;
    for (int k = 0; k < 64; ++k) {
        const saltus_columns columns = {.n_counts = numbers_of_columns[k % 4],
                                        .n_observables = numbers_of_columns[k / 4 % 4]};
        const saltus_reduction reduction = {.finals = k % 3 == 0, .n_bins = k % 5 == 0 ? 10 : 0};
        const saltus_task task = {
            .columns = &columns, .n_times = numbers_of_points[k / 16], .reduction = &reduction};
        for (size_t i = 0; i < sizeof batches / sizeof *batches; ++i) {
            if (columns.n_counts + columns.n_observables > 0) {
                holds_smaller(&task, batches[i][0], batches[i][1]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_batch_has_room_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
