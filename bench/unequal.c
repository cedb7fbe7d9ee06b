/* How busy lanes and threads stay when a few trajectories run much longer than the rest. */
#include "bench/bench.h"

#include "core/status.h"

/* U decides at once how P is made: slowly in 99 of 100 trajectories, else fast. Of P, in molecules,
 * as many decay as are made, but for the last few: 2 * 10 s * the rate of making are the events. */
enum { SLOW = 50, FAST = 100 * SLOW, RUNS = 1 << 22 };
static const double T_END = 10.0, MEAN = (99.0 * SLOW + FAST) / 100.0;

static saltus_status time_both(saltus_bench *bench, const char *name, double slow, double fast,
                               saltus_bench_case *c, saltus_error *err)
{
    /* while a stream waits for its last trajectories, another has many */
    static const saltus_bench_gpu how = {"auto", 0, 4};
    saltus_status status = SALTUS_OK;
    char text[400];
    double us;
    (void)snprintf(text, sizeof text,
                   "species: {U: 1, S: 0, L: 0, P: 0}\nreactions:\n"
                   "  short: U -> S @ 99000\n  long: U -> L @ 1000\n"
                   "  make: S -> S + P @ %g\n  make_fast: L -> L + P @ %g\n  decay: P -> 0 @ 5\n",
                   slow, fast);
    SALTUS_TRY(saltus_bench_open_text(bench, name, text, T_END, RUNS, c, err));
    SALTUS_TRY(saltus_bench_time_gpu(c, how, &us, err));
done:
    return status;
}

static void print_rates(const saltus_bench *bench, const char *engine, double equal, double unequal)
{
    if (equal > 0.0 && unequal > 0.0) {
        printf("{\"bench\": \"%s\", \"engine\": \"%s\", \"events_per_second_equal\": %.4g, "
               "\"events_per_second_unequal\": %.4g, \"unequal_over_equal\": %.4g}\n",
               bench->name, engine, equal, unequal, unequal / equal);
    }
}

saltus_status saltus_bench_unequal(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_bench_case equal = {0}, unequal = {0};
    SALTUS_TRY(time_both(bench, "equal", MEAN, MEAN, &equal, err));
    SALTUS_TRY(time_both(bench, "unequal", SLOW, FAST, &unequal, err));
    print_rates(bench, "cores", equal.rate_cores, unequal.rate_cores);
    print_rates(bench, "gpu", equal.rate_gpu, unequal.rate_gpu);
done:
    saltus_bench_close(&equal);
    saltus_bench_close(&unequal);
    return status;
}
