/* Klingbeil, Erban, Giles, Maini, IEEE TPDS 23 (2012) 280. Their fat threads keep the state of a
 * trajectory in shared memory, their thin ones in global memory. */
#include "bench/bench.h"

#include "core/status.h"

saltus_status saltus_bench_klingbeil_oregonator(saltus_bench *bench, saltus_error *err)
{
    static const char *const layouts[] = {"shared", "global"};
    static const int blocks[] = {64, 96, 128, 160, 192, 256, 288, 320, 384, 512, 640, 768, 1024};
    saltus_status status = SALTUS_OK;
    saltus_bench_case c = {0};
    double us;
    SALTUS_TRY(saltus_bench_open(bench, "oregonator", 0.1, 131072, &c, err));
    for (int l = 0; l < 2; ++l) {
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
            const saltus_bench_gpu how = {layouts[l], blocks[i], 0};
            SALTUS_TRY(saltus_bench_time_gpu(&c, how, &us, err));
        }
    }
done:
    saltus_bench_close(&c);
    return status;
}

/* Time one model in several layouts; us[layout], 0 for what there was not. */
static saltus_status time_layouts(saltus_bench *bench, const char *file, double t_end, int64_t n,
                                  const char *const *layouts, int n_layouts, double *us,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_bench_case c = {0};
    SALTUS_TRY(saltus_bench_open(bench, file, t_end, n, &c, err));
    for (int l = 0; l < n_layouts; ++l) {
        const saltus_bench_gpu how = {layouts[l], 0, 0};
        SALTUS_TRY(saltus_bench_time_gpu(&c, how, &us[l], err));
    }
done:
    saltus_bench_close(&c);
    return status;
}

/* The paper's five and a larger one. Horizons of a few thousand reactions; the lac operon's ends
 * before its event. */
saltus_status saltus_bench_klingbeil_models(saltus_bench *bench, saltus_error *err)
{
    static const struct {
        const char *file;
        double t_end;
    } models[] = {{"dimer-decay", 30.0},  {"oregonator", 0.03},     {"vilar", 1.0},
                  {"lac-operon", 1000.0}, {"fully-connected", 1.0}, {"ras-camp-pka", 1.0}};
    static const char *const layouts[] = {"shared", "global", "registers", "warp"};
    saltus_status status = SALTUS_OK;
    double us[4];
    for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
        SALTUS_TRY(
            time_layouts(bench, models[i].file, models[i].t_end, 131072, layouts, 4, us, err));
    }
done:
    return status;
}

saltus_status saltus_bench_klingbeil_copies(saltus_bench *bench, saltus_error *err)
{
    static const struct {
        const char *file;
        int copies;
    } models[] = {{"dimer-decay", 1},
                  {"dimer-decay-x2", 2},
                  {"dimer-decay-x4", 4},
                  {"dimer-decay-x6", 6},
                  {"dimer-decay-x12", 12}};
    static const char *const layouts[] = {"shared", "global", "registers"};
    saltus_status status = SALTUS_OK;
    double us[3];
    for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
        SALTUS_TRY(time_layouts(bench, models[i].file, 30.0, 131072, layouts, 3, us, err));
        if (us[1] > 0.0 && (us[0] > 0.0 || us[2] > 0.0)) {
            printf("{\"bench\": \"%s\", \"model\": \"%s\", \"copies\": %d", bench->name,
                   models[i].file, models[i].copies);
            if (us[0] > 0.0) {
                printf(", \"shared_over_global\": %.4g", us[0] / us[1]);
            }
            if (us[2] > 0.0) {
                printf(", \"registers_over_global\": %.4g", us[2] / us[1]);
            }
            printf("}\n");
        }
    }
done:
    return status;
}
