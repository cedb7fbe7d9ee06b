/* Sumiyoshi, Hirata, Hiroi, Funahashi, Front. Physiol. 6 (2015) 42: coarse is a thread for each
 * trajectory, hybrid a group of threads. */
#include "bench/bench.h"

#include "core/status.h"

static saltus_status time_layouts(saltus_bench_case *c, const char *const *layouts, int n_layouts,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double us;
    for (int l = 0; l < n_layouts; ++l) {
        const saltus_bench_gpu how = {layouts[l], 0, 0};
        SALTUS_TRY(saltus_bench_time_gpu(c, how, &us, err));
    }
done:
    return status;
}

saltus_status saltus_bench_sumiyoshi_realisations(saltus_bench *bench, saltus_error *err)
{
    static const char *const layouts[] = {"registers", "global", "warp"};
    saltus_status status = SALTUS_OK;
    saltus_bench_case c = {0};
    const int64_t most = bench->quick ? 1000 : 1000000;
    bench->wants_samples = true;
    SALTUS_TRY(saltus_bench_open(bench, "dimer-decay", 30.0, 131072, &c, err));
    for (int64_t n = 10; n <= most; n *= 10) {
        SALTUS_TRY(saltus_bench_take(&c, n, err));
        SALTUS_TRY(time_layouts(&c, layouts, 3, err));
    }
done:
    saltus_bench_close(&c);
    return status;
}

/* Look at seconds_run, in which kernels and transfers of different streams overlap. */
saltus_status saltus_bench_sumiyoshi_overlap(saltus_bench *bench, saltus_error *err)
{
    static const int64_t runs[] = {10240, 1000000};
    saltus_status status = SALTUS_OK;
    saltus_bench_case c = {0};
    double us;
    bench->wants_samples = true;
    SALTUS_TRY(saltus_bench_open(bench, "dimer-decay", 30.0, 131072, &c, err));
    for (int i = 0; i < (bench->quick ? 1 : 2); ++i) {
        SALTUS_TRY(saltus_bench_take(&c, runs[i], err));
        for (int streams = 1; streams <= 4; streams *= 2) {
            const saltus_bench_gpu how = {"auto", 0, streams};
            SALTUS_TRY(saltus_bench_time_gpu(&c, how, &us, err));
        }
    }
done:
    saltus_bench_close(&c);
    return status;
}

saltus_status saltus_bench_sumiyoshi_genes(saltus_bench *bench, saltus_error *err)
{
    static const char *const files[] = {"single-gene-8",  "single-gene-16",  "single-gene-32",
                                        "single-gene-64", "single-gene-128", "single-gene-256"};
    static const char *const layouts[] = {"registers", "shared", "global", "warp"};
    saltus_status status = SALTUS_OK;
    saltus_bench_case c = {0};
    for (int i = 0; i < 6; ++i) {
        SALTUS_TRY(saltus_bench_open(bench, files[i], 50.0, 131072 >> i, &c, err));
        SALTUS_TRY(time_layouts(&c, layouts, 4, err));
        saltus_bench_close(&c);
        c = (saltus_bench_case){0};
    }
done:
    saltus_bench_close(&c);
    return status;
}
