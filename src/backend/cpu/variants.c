#include "backend/cpu/cpu.h"

extern const saltus_cpu_variant saltus_cpu_avx512, saltus_cpu_avx2, saltus_cpu_generic;

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
