/* Hallock et al. 2014, figure 4: how long it takes until bytes have come from one GPU to another.
 */
#include "bench/bench.h"

#include "backend/cuda/device/links.h"
#include "core/status.h"

enum { LEAST = 1024, MOST = 64 << 20, QUICK_MOST = 1 << 20 };

static void print_time(bench *b, int n_gpus, const saltus_link_pair *pair, saltus_link_way way,
                       size_t bytes, const saltus_link_time *t)
{
    static const char *const ways[SALTUS_LINK_WAYS] = {"peer copy", "peer load", "host"};
    bench_put(b, FIELD("figure", 4), FIELD("from", 0), FIELD("to", n_gpus - 1),
              FIELD("within_one", (bool)(n_gpus == 1)), FIELD("way", ways[way]),
              FIELD("link", n_gpus == 1 ? "one GPU" : saltus_link_text(saltus_link_of(pair))),
              FIELD("bytes", bytes));
    if (t->is_left_out) {
        bench_end_skipped(b, "GPU 1 does not reach the memory of GPU 0");
        return;
    }
    bench_put(b, FIELD("us", t->us_alone), FIELD("us_in_a_row", t->us_in_row),
              FIELD("gb_per_second", bench_ratio(1e-3 * (double)bytes, t->us_in_row)));
    bench_end_checked(b, t->is_right);
}

saltus_status bench_hallock_copy(bench *b, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_backend *device = NULL;
    saltus_link_pair *pair = NULL;
    const int n_gpus = b->n_gpus > 1 ? 2 : 1;
    const size_t most = b->quick ? QUICK_MOST : MOST;
    SALTUS_TRY(bench_open_gpus(n_gpus, &device, err));
    SALTUS_TRY(saltus_link_open(device, 0, n_gpus - 1, most, &pair, err));
    for (int way = 0; way < SALTUS_LINK_WAYS; ++way) {
        for (size_t bytes = LEAST; bytes <= most; bytes *= 2) {
            saltus_link_time t = {0};
            SALTUS_TRY(saltus_link_measure(pair, (saltus_link_way)way, bytes, &t, err));
            print_time(b, n_gpus, pair, (saltus_link_way)way, bytes, &t);
            bytes = t.is_left_out ? most : bytes;
        }
    }
done:
    saltus_link_close(pair);
    saltus_backend_close(device);
    return status;
}
