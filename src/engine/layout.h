/**
 * Layouts: how a backend keeps trajectories, and which of its kernels works on them; never changes
 * a bit. Names are read and written at the border alone (options of a plan, reports, files). What a
 * layout takes of memory, what it costs and which models it cannot carry is known where it is made:
 * backend/cpu/cpu.c, backend/cuda/ssa/layouts.c, backend/cuda/rdme/rdme.c.
 */
#ifndef SALTUS_ENGINE_LAYOUT_H
#define SALTUS_ENGINE_LAYOUT_H

#include "method/method.h"

/** Whose layouts they are, as bits: what saltus_backend_ops says of itself. */
enum { SALTUS_ON_CPU = 1, SALTUS_ON_GPU = 2 };

#define SALTUS_LAYOUT_EXACT SALTUS_METHOD_BIT(SALTUS_METHOD_DIRECT)
#define SALTUS_LAYOUT_LEAPS SALTUS_METHOD_BIT(SALTUS_METHOD_TAU)
#define SALTUS_LAYOUT_MIXED (SALTUS_LAYOUT_EXACT | SALTUS_LAYOUT_LEAPS)
#define SALTUS_LAYOUT_MEAN SALTUS_METHOD_BIT(SALTUS_METHOD_ODE)
#define SALTUS_LAYOUT_FLOWS (SALTUS_LAYOUT_MEAN | SALTUS_METHOD_BIT(SALTUS_METHOD_HYBRID))
#define SALTUS_LAYOUT_STEPS SALTUS_METHOD_BIT(SALTUS_METHOD_MPD)
#define SALTUS_LAYOUT_JUMPS SALTUS_METHOD_BIT(SALTUS_METHOD_NSM)

/**
 * The layouts, in the order in which they are named to users:
 * X(enumerator, name, backends, methods, why other methods that could have it do not or NULL,
 *   whether users name it, what it is)
 */
#define SALTUS_LAYOUTS(X)                                                                         \
    X(LANES, "lanes", SALTUS_ON_CPU, SALTUS_LAYOUT_MIXED, NULL, true,                             \
      "many trajectories at a time, in vector lanes")                                             \
    X(SCALAR, "scalar", SALTUS_ON_CPU, SALTUS_LAYOUT_MIXED | SALTUS_LAYOUT_FLOWS, NULL, true,     \
      "one trajectory at a time, or a few in turn")                                               \
    X(REGISTERS, "registers", SALTUS_ON_GPU, SALTUS_LAYOUT_MIXED,                                 \
      "the mean field is integrated in global memory", true,                                      \
      "a thread per trajectory, state in registers")                                              \
    X(SHARED, "shared", SALTUS_ON_GPU, SALTUS_LAYOUT_EXACT, "the direct method alone has such",   \
      true, "a thread per trajectory, state in shared memory")                                    \
    X(WARP, "warp", SALTUS_ON_GPU, SALTUS_LAYOUT_EXACT, "the direct method alone has such", true, \
      "a warp per trajectory")                                                                    \
    X(GLOBAL, "global", SALTUS_ON_GPU, SALTUS_LAYOUT_MIXED | SALTUS_LAYOUT_MEAN, NULL, true,      \
      "a thread per trajectory, state in global memory")                                          \
    X(PARTICLES, "particles", SALTUS_ON_CPU | SALTUS_ON_GPU, SALTUS_LAYOUT_STEPS, NULL, true,     \
      "particle by particle, in bricks of sites")                                                 \
    X(COUNTS, "counts", SALTUS_ON_GPU, SALTUS_LAYOUT_STEPS, NULL, true,                           \
      "counts of species, site by site")                                                          \
    X(SITES, "sites", SALTUS_ON_CPU, SALTUS_LAYOUT_JUMPS, NULL, false,                            \
      "sites with particles, and when what happens next")

#define SALTUS_LAYOUT_ENUMERATOR(id, name, backends, methods, refusal, is_named, about) \
    SALTUS_LAYOUT_##id,
typedef enum saltus_layout {
    SALTUS_LAYOUT_AUTO, /**< a wish alone: the backend chooses */
    SALTUS_LAYOUTS(SALTUS_LAYOUT_ENUMERATOR) SALTUS_N_LAYOUTS
} saltus_layout;

typedef struct saltus_layout_info {
    const char *name;
    unsigned backends; /**< SALTUS_ON_… */
    unsigned methods;  /**< SALTUS_METHOD_BIT */
    const char *refusal;
    bool is_named;
    const char *about;
} saltus_layout_info;

const saltus_layout_info *saltus_layout_of(saltus_layout layout);

/** The first layout that a backend has for a method, SALTUS_LAYOUT_AUTO if there is none. */
saltus_layout saltus_layout_first(unsigned backend, saltus_method method);

/** Find the layout of a name, or `auto`; the error lists what a backend has for a method. A layout
 * that is found may still not fit a model or its method, which the backend says. */
SALTUS_MUST_CHECK saltus_status saltus_layout_parse(const char *name, unsigned backend,
                                                    saltus_method method, saltus_layout *out,
                                                    saltus_error *err);

#endif
