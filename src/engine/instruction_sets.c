#include "engine/scalar.h"

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

/* What scalar_draws.c and scalar_run.c, compiled for one instruction set, make together. */
#define SET(name, test)                                                                           \
    void saltus_scalar_draw_##name(uint64_t, uint64_t, uint32_t *, saltus_draws *);               \
    void saltus_scalar_fill_##name(uint64_t, uint64_t, uint32_t *, saltus_words *);               \
    saltus_failure saltus_scalar_run_##name(saltus_scalar_engine *, const saltus_task *,          \
                                            saltus_job *);                                        \
    int saltus_scalar_run_in_turn_##name(saltus_scalar_engine *const *, saltus_job *const *, int, \
                                         int, const saltus_task *);                               \
    extern const saltus_instruction_set saltus_set_##name;                                        \
    const saltus_instruction_set saltus_set_##name = {#name,                                      \
                                                      test,                                       \
                                                      saltus_scalar_draw_##name,                  \
                                                      saltus_scalar_fill_##name,                  \
                                                      saltus_scalar_run_##name,                   \
                                                      saltus_scalar_run_in_turn_##name}

#ifdef SALTUS_HAVE_AVX512
SET(avx512, has_avx512);
#endif
#ifdef SALTUS_HAVE_AVX2
SET(avx2, has_avx2);
#endif
SET(generic, always);

/* The widest first. */
static const saltus_instruction_set *const sets[] = {
#ifdef SALTUS_HAVE_AVX512
    &saltus_set_avx512,
#endif
#ifdef SALTUS_HAVE_AVX2
    &saltus_set_avx2,
#endif
    &saltus_set_generic,
    NULL,
};

const saltus_instruction_set *saltus_instruction_set_widest(void)
{
    int i = 0;
    while (sets[i + 1] && !sets[i]->runs_here()) { /* the last runs everywhere */
        ++i;
    }
    return sets[i];
}
