/* The choice of the next reaction and the wait before it: what 32 bits decide, and what happens
 * where they are not enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/ssa/direct_tree.h"

#include <math.h>
#include <Random123/philox.h>

/* Sums of one node of up to eight propensities. */
static saltus_tree one_node(const double *a, int n, double *sums)
{
    static const int32_t level_first[1] = {0};
    double sum = 0.0;
    for (int k = 0; k < SALTUS_FANOUT; ++k) {
        sum += k < n ? a[k] : 0.0;
        sums[k] = sum;
    }
    return (saltus_tree){1, level_first, sums};
}

static void philox_matches_random123(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; ++i) {
        const uint64_t seed = i * 0x9E3779B97F4A7C15u, trajectory = seed ^ (i << 40), block = i * i;
        const uint32_t purpose = (uint32_t)(i % 256);
        const philox4x32_ctr_t counter = {{(uint32_t)block, (uint32_t)(block >> 32) << 8 | purpose,
                                           (uint32_t)trajectory, (uint32_t)(trajectory >> 32)}};
        const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
        const philox4x32_ctr_t expected = philox4x32(counter, key);
        saltus_u64 w[4];
        saltus_philox(seed, purpose, trajectory, block, w);
        for (int k = 0; k < 4; ++k) {
            assert_true(w[k] == expected.v[k]);
        }
    }
}

/* A reaction 10^9 or 10^12 times rarer than its neighbours lies inside one or two of the 2^32
 * intervals. Of the events with those words it must get its share, and no others. */
static void rarest_reactions_get_their_share(void **state)
{
    (void)state;
    for (double rare = 1e-9; rare > 1e-13; rare *= 1e-3) {
        const double a[3] = {1.0, rare, 1.0};
        double sums[SALTUS_FANOUT], total;
        const saltus_tree tree = one_node(a, 3, sums);
        const int64_t n = 2000000;
        int64_t found = 0;
        double share = 0.0;
        total = sums[SALTUS_FANOUT - 1];
        const double unit = total * SALTUS_TWO_M32;
        for (double word = 2147483600.0; word < 2147483700.0; ++word) {
            const double low = word * unit, high = (word + 1.0) * unit;
            const double from = fmax(low, sums[0]), to = fmin(high, sums[1]);
            int64_t here = 0;
            for (int64_t event = 0; event < n; ++event) {
                here += saltus_tree_choose(&tree, total, word, 7, 3, (uint64_t)event) == 1;
                if (to <= from && event > 1000) {
                    break; /* not in this interval: the choice does not depend on the event */
                }
            }
            assert_true(to > from || here == 0);
            share += to > from ? (to - from) / unit : 0.0;
            found += here;
        }
        const double expected = share * (double)n;
        assert_true(fabs((double)found - expected) <= 5.0 * sqrt(expected));
        assert_true(fabs(share - rare / unit) <= 1e-3 * rare / unit);
    }
}

static void nothing_without_propensity_is_chosen(void **state)
{
    const double a[8] = {0.0, 3.0, 0.0, 0.0, 1e-300, 0.0, 2.0, 0.0};
    double sums[SALTUS_FANOUT];
    const saltus_tree tree = one_node(a, 8, sums);
    (void)state;
    for (uint64_t event = 0; event < 200000; ++event) {
        saltus_u64 w[4];
        saltus_philox(11, SALTUS_PURPOSE_EVENT, 5, event, w);
        const double word = event == 0 ? 0.0 : event == 1 ? 4294967295.0 : (double)w[1];
        const int r = saltus_tree_choose(&tree, sums[7], word, 11, 5, event);
        assert_true(a[r] > 0.0);
    }
}

/* Where the word is 0 the wait is drawn further: -ln U with U below 2^-32. */
static void refined_waits_are_exponential_beyond_32_bits(void **state)
{
    const int n = 200000;
    double sum = 0.0;
    (void)state;
    for (int i = 0; i < n; ++i) {
        const double wait = saltus_wait_refined(3, 9, (uint64_t)i) - SALTUS_LN_2_32;
        assert_true(wait > 0.0);
        sum += wait;
    }
    assert_true(fabs(sum / n - 1.0) <= 5.0 / sqrt(n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_matches_random123),
        cmocka_unit_test(rarest_reactions_get_their_share),
        cmocka_unit_test(nothing_without_propensity_is_chosen),
        cmocka_unit_test(refined_waits_are_exponential_beyond_32_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
