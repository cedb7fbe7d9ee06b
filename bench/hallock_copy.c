/* Hallock et al. 2014, figure 4: how long it takes until bytes have come from one GPU to another.
 */
#include "bench/bench.h"

#include "backend/cuda/device/links.h"
#include "core/status.h"

enum { LEAST = 1024, MOST = 64 << 20, QUICK_MOST = 1 << 20 };

static void print_time(saltus_bench *b, int n_gpus, const saltus_link_pair *pair,
                       saltus_link_way way, size_t bytes, const saltus_link_time *t)
{
    static const char *const ways[SALTUS_LINK_WAYS] = {"peer copy", "peer load", "host"};
    printf("{\"bench\": \"%s\", \"figure\": 4, \"from\": 0, \"to\": %d, \"within_one\": %s, "
           "\"way\": \"%s\", \"link\": \"%s\", \"bytes\": %zu",
           b->name, n_gpus - 1, n_gpus == 1 ? "true" : "false", ways[way],
           n_gpus == 1 ? "one GPU" : saltus_link_text(saltus_link_of(pair)), bytes);
    if (t->is_left_out) {
        printf(", \"skipped\": \"GPU 1 does not reach the memory of GPU 0\"}\n");
        return;
    }
    printf(", \"us\": %.4g, \"us_in_a_row\": %.4g", t->us_alone, t->us_in_row);
    saltus_bench_print_ratio("gb_per_second", 1e-3 * (double)bytes, t->us_in_row);
    printf(", \"check\": \"%s\"}\n", t->is_right ? "ok" : "failed");
    (void)fflush(stdout);
    b->has_failed |= !t->is_right;
}

saltus_status saltus_bench_hallock_copy(saltus_bench *bench, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_backend *device = NULL;
    saltus_link_pair *pair = NULL;
    const int n_gpus = bench->n_gpus > 1 ? 2 : 1;
    const size_t most = bench->quick ? QUICK_MOST : MOST;
    SALTUS_TRY(saltus_bench_open_gpus(n_gpus, &device, err));
    SALTUS_TRY(saltus_link_open(device, 0, n_gpus - 1, most, &pair, err));
    for (int way = 0; way < SALTUS_LINK_WAYS; ++way) {
        for (size_t bytes = LEAST; bytes <= most; bytes *= 2) {
            saltus_link_time t = {0};
            SALTUS_TRY(saltus_link_measure(pair, (saltus_link_way)way, bytes, &t, err));
            print_time(bench, n_gpus, pair, (saltus_link_way)way, bytes, &t);
            bytes = t.is_left_out ? most : bytes;
        }
    }
done:
    saltus_link_close(pair);
    saltus_backend_close(device);
    return status;
}
