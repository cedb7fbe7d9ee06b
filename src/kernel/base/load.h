/** Memory that is read wherever it lies, on this GPU or on another that it reaches, and written
 * here: what links between GPUs are measured with. */
#ifndef SALTUS_KERNEL_BASE_LOAD_H
#define SALTUS_KERNEL_BASE_LOAD_H

#include "kernel/base/target.h"

/** As much as a thread reads at once. */
typedef struct SALTUS_ALIGNED(16) saltus_load_piece {
    uint32_t words[4];
} saltus_load_piece;

typedef struct saltus_load_launch {
    saltus_load_piece *to;
    const saltus_load_piece *from;
    int64_t n;
} saltus_load_launch;

#if SALTUS_DEVICE

SALTUS_KERNEL(saltus_load, saltus_load_launch, a)
{
    for (int64_t i = SALTUS_THREAD; i < a.n; i += SALTUS_STRIDE) {
        a.to[i] = a.from[i];
    }
}

#endif

#endif
