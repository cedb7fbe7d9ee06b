#include "backend/cpu/cpu.h"

#ifdef SALTUS_HAVE_AVX512
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
#endif

#ifdef SALTUS_HAVE_AVX2
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}
#endif

static bool always(void)
{
    return true;
}

/* What lanes.c, leaps.c, single.c and nsm.c, compiled for one instruction set, make together. */
#define VARIANT(set, lanes, test)                                                       \
    saltus_status saltus_lanes_work_##set(const saltus_task *, const saltus_source *,   \
                                          saltus_error *);                              \
    saltus_status saltus_leaps_work_##set(const saltus_task *, const saltus_source *,   \
                                          saltus_error *);                              \
    void saltus_lanes_draw_##set(uint64_t, uint64_t, uint32_t *, saltus_draws *);       \
    void saltus_lanes_fill_##set(uint64_t, uint64_t, uint32_t *, saltus_words *);       \
    saltus_failure saltus_single_run_##set(saltus_scalar_engine *, const saltus_task *, \
                                           saltus_job *);                               \
    saltus_status saltus_nsm_work_##set(const saltus_task *, const saltus_source *,     \
                                        saltus_error *);                                \
    const saltus_cpu_variant saltus_cpu_##set = {                                       \
        #set,                                                                           \
        lanes,                                                                          \
        8 * lanes,                                                                      \
        test,                                                                           \
        saltus_lanes_draw_##set,                                                        \
        saltus_lanes_fill_##set,                                                        \
        {[SALTUS_METHOD_DIRECT] = saltus_lanes_work_##set,                              \
         [SALTUS_METHOD_TAU] = saltus_leaps_work_##set,                                 \
         [SALTUS_METHOD_MPD] = saltus_work_mpd,                                         \
         [SALTUS_METHOD_NSM] = saltus_nsm_work_##set},                                  \
        saltus_single_run_##set}

#ifdef SALTUS_HAVE_AVX512
VARIANT(avx512, SALTUS_HAVE_AVX512, has_avx512);
#endif
#ifdef SALTUS_HAVE_AVX2
VARIANT(avx2, SALTUS_HAVE_AVX2, has_avx2);
#endif
VARIANT(generic, SALTUS_HAVE_GENERIC, always);

const saltus_cpu_variant *const saltus_cpu_variants[] = {
#ifdef SALTUS_HAVE_AVX512
    &saltus_cpu_avx512,
#endif
#ifdef SALTUS_HAVE_AVX2
    &saltus_cpu_avx2,
#endif
    &saltus_cpu_generic,
    NULL,
};
