/** The texts of src/kernel/, embedded in the library, and programs for a GPU made from them. */
#ifndef SALTUS_BACKEND_CUDA_DEVICE_KERNELS_H
#define SALTUS_BACKEND_CUDA_DEVICE_KERNELS_H

#include "core/status.h"

#include <stddef.h>
#include <stdio.h>

extern const char *const saltus_kernel_names[];
extern const char *const saltus_kernel_texts[];
extern const int saltus_n_kernel_texts;
extern const char saltus_kernel_sha256[]; /**< of all texts, one behind the other */

/** Write a double into a text, exactly. */
void saltus_put_number(FILE *out, double x);

/** Resources of a kernel, as its compiler reports them. */
typedef struct saltus_usage {
    int registers;    /**< registers of a thread */
    int spill_bytes;  /**< bytes that a thread stores in memory for want of registers */
    int shared_bytes; /**< bytes of a block, without what a launch adds */
} saltus_usage;

/** Machine code for a GPU; the caller frees `image`. */
typedef struct saltus_image {
    char *image;
    size_t size;
    saltus_usage usage;
    double seconds; /**< seconds of compiling; 0 when the image came from the cache */
    bool is_cached;
} saltus_image;

/**
 * Compile a CUDA text, which may include "kernel/…", for compute capability major.minor, or fetch
 * the image from the cache on disk: SALTUS_CACHE, else saltus/ in XDG_CACHE_HOME or ~/.cache. A
 * file there is named by the SHA-256 of all that went into it and appears whole, so any number of
 * processes may use it. Without a folder that can be written nothing is stored.
 *
 * @retval SALTUS_E_UNAVAILABLE there is no NVRTC
 * @retval SALTUS_E_INVALID     this NVRTC does not know the compute capability
 * @retval SALTUS_E_INTERNAL    the text does not compile; the message has the compiler's first line
 */
SALTUS_MUST_CHECK saltus_status saltus_kernel_compile(const char *text, int major, int minor,
                                                      saltus_image *out, saltus_error *err);

#endif
