/* How busy lanes and threads stay when a few trajectories run much longer than the rest. */
#include "bench/bench.h"

#include "core/status.h"

#include <string.h>

/* U decides at once how P is made: slowly in 99 of 100 trajectories, else fast. Of P, in molecules,
 * as many decay as are made, but for the last few: 2 * 10 s * the rate of making are the events. */
enum { SLOW = 50, FAST = 100 * SLOW, RUNS = 1 << 22 };
static const double T_END = 10.0, MEAN = (99.0 * SLOW + FAST) / 100.0;

static saltus_status time_both(bench_case *c, double slow, double fast, saltus_error *err)
{
    /* while a stream waits for its last trajectories, another has many */
    static const bench_gpu how = {"auto", 0, 4};
    saltus_status status = SALTUS_OK;
    char text[400];
    double us;
    (void)snprintf(text, sizeof text,
                   "species: {U: 1, S: 0, L: 0, P: 0}\nreactions:\n"
                   "  short: U -> S @ 99000\n  long: U -> L @ 1000\n"
                   "  make: S -> S + P @ %g\n  make_fast: L -> L + P @ %g\n  decay: P -> 0 @ 5\n",
                   slow, fast);
    SALTUS_TRY(saltus_model_parse_yaml(text, strlen(text), c->name, &c->model, err));
    SALTUS_TRY(saltus_model_freeze(c->model, SALTUS_LAW_LITERAL, err));
    SALTUS_TRY(bench_case_start(c, T_END, RUNS, err));
    SALTUS_TRY(bench_case_time_gpu(c, how, &us, err));
done:
    return status;
}

static void print_rates(bench *b, const char *engine, double equal, double unequal)
{
    if (equal > 0.0 && unequal > 0.0) {
        bench_put(b, FIELD("engine", engine), FIELD("events_per_second_equal", equal),
                  FIELD("events_per_second_unequal", unequal),
                  FIELD("unequal_over_equal", unequal / equal));
        bench_end(b);
    }
}

saltus_status bench_unequal(bench *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    bench_case equal = {.bench = b, .name = "equal"}, unequal = {.bench = b, .name = "unequal"};
    SALTUS_TRY(time_both(&equal, MEAN, MEAN, err));
    SALTUS_TRY(time_both(&unequal, SLOW, FAST, err));
    print_rates(b, "cores", equal.rate_cores, unequal.rate_cores);
    print_rates(b, "gpu", equal.rate_gpu, unequal.rate_gpu);
done:
    bench_case_end(&equal);
    bench_case_end(&unequal);
    return status;
}
