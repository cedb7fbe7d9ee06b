#include "backend/cpu/cpu.h"

/* What lanes.c, rates.c, leaps.c and nsm.c, compiled for one instruction set, make together; behind
 * its name so many trajectories at a time as the members of saltus_cpu_variant say. */
#define VARIANT(name, ...)                                                             \
    saltus_status saltus_lanes_work_##name(const saltus_task *, const saltus_source *, \
                                           saltus_error *);                            \
    saltus_status saltus_rates_work_##name(const saltus_task *, const saltus_source *, \
                                           saltus_error *);                            \
    saltus_status saltus_leaps_work_##name(const saltus_task *, const saltus_source *, \
                                           saltus_error *);                            \
    saltus_status saltus_nsm_work_##name(const saltus_task *, const saltus_source *,   \
                                         saltus_error *);                              \
    extern const saltus_instruction_set saltus_set_##name;                             \
    static const saltus_cpu_variant variant_##name = {                                 \
        &saltus_set_##name,                                                            \
        __VA_ARGS__,                                                                   \
        saltus_rates_work_##name,                                                      \
        {[SALTUS_METHOD_DIRECT] = saltus_lanes_work_##name,                            \
         [SALTUS_METHOD_TAU] = saltus_leaps_work_##name,                               \
         [SALTUS_METHOD_MPD] = saltus_work_mpd,                                        \
         [SALTUS_METHOD_NSM] = saltus_nsm_work_##name}}

#ifdef SALTUS_HAVE_AVX512
VARIANT(avx512, SALTUS_HAVE_AVX512);
#endif
#ifdef SALTUS_HAVE_AVX2
VARIANT(avx2, SALTUS_HAVE_AVX2);
#endif
VARIANT(generic, SALTUS_HAVE_GENERIC);

const saltus_cpu_variant *const saltus_cpu_variants[] = {
#ifdef SALTUS_HAVE_AVX512
    &variant_avx512,
#endif
#ifdef SALTUS_HAVE_AVX2
    &variant_avx2,
#endif
    &variant_generic,
    NULL,
};
