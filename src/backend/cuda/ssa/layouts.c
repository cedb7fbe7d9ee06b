#include "backend/cuda/ssa/layouts.h"

#include "backend/cuda/ssa/packing.h"
#include "backend/cuda/codegen/registers.h"
#include "core/memory.h"
#include "kernel/base/stream.h"

enum {
    LARGEST_BLOCK = 1024,
    FULL = 1024,           /* threads of a multiprocessor; more do not make it faster */
    SMALL = 16,            /* reactions and species of a model whose leaps fit into 128 registers */
    RESERVED_BYTES = 1024, /* shared memory that the driver takes for each block */
    SHARED_TABLES =
        24 << 10, /* largest tables that go there when the workspace is in global memory */
    WARPS = 16, /* warps of a multiprocessor; with fewer, global memory is better for workspaces */
    /* Hubs by threads, one for a trajectory: */
    HUB_THREADS = 96,         /* of a multiprocessor; with fewer, warps are better */
    FEWEST_SHARED = 32,       /* trajectories of a multiprocessor; of fewer, warps are better */
    FEWEST_GLOBAL = 96,       /* the same with state in global memory */
    HUB_BLOCK = 512,          /* there; more share too little of the first cache */
    LARGE_STATE = 16 << 10,   /* bytes there; larger ones need more trajectories, */
    FEWEST_LARGE = 200,       /* so many, */
    LARGEST_STATE = 48 << 10, /* and the largest are changed too widely by an event */
    FEWEST_MOLECULES = 240,   /* there, of a species in all trajectories of a multiprocessor */
    SHARED_HUBS = 72 << 10,   /* what all read of hubs, in shared memory */
};

saltus_limits saltus_limits_of(int major, int minor)
{
    /* CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; kB per
     * multiprocessor. A block may have 1 kB less. */
    static const struct {
        int capability, kb;
    } known[] = {{75, 65}, {80, 164}, {86, 100}, {87, 164}, {89, 100}, {90, 228}, {120, 100}};
    saltus_limits limits = {.major = major, .minor = minor, .bytes = 65 << 10};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (10 * major + minor >= known[i].capability) {
            limits.bytes = known[i].kb << 10;
        }
    }
    limits.block_bytes = limits.bytes - RESERVED_BYTES;
    return limits;
}

int saltus_largest_block(int64_t bytes, int64_t fixed_bytes, int64_t thread_bytes, int limit)
{
    const int64_t threads = bytes < fixed_bytes ? 0 : (bytes - fixed_bytes) / thread_bytes;
    return (int)(threads < limit ? threads : limit) / 32 * 32;
}

/* Bytes of a thread's propensities, nodes and counts. */
static int64_t thread_bytes(const saltus_packed *p)
{
    return 8 * (int64_t)p->n_values + 4 * ((int64_t)p->n_species + 1);
}

/* The block that keeps most threads on a multiprocessor; of equals the one nearest the usual. */
static int best_block(const saltus_limits *limits, int64_t fixed_bytes, int64_t bytes_each)
{
    int best = 0;
    int64_t most = 0;
    for (int block = 32; block <= LARGEST_BLOCK; block += 32) {
        const int64_t bytes = fixed_bytes + block * bytes_each;
        int64_t threads = limits->bytes / (bytes + RESERVED_BYTES) * block;
        threads = threads < FULL ? threads : FULL;
        if (bytes <= limits->block_bytes &&
            (threads > most || (threads == most && block <= SALTUS_USUAL_BLOCK))) {
            best = block;
            most = threads;
        }
    }
    return best;
}

static saltus_status check_block(const char *layout, int block, int64_t fixed_bytes,
                                 int64_t bytes_each, const saltus_limits *limits, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int largest =
        saltus_largest_block(limits->block_bytes, fixed_bytes, bytes_each, LARGEST_BLOCK);
    if (block == 0 || block > largest) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "layout '%s': blocks of %d threads take %lld bytes of shared memory, and there "
                    "are %lld; the largest block that fits has %d threads",
                    layout, block, (long long)(fixed_bytes + block * bytes_each),
                    (long long)limits->block_bytes, largest);
    }
done:
    return status;
}

/* Place the workspace and the tables of a packed model. */
static saltus_status make_table(saltus_ssa_layout *out, bool is_shared, const saltus_tables *tables,
                                const saltus_limits *limits, int block, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_pack(tables, false, &out->packed, err));
    const int64_t each = thread_bytes(&out->packed), fixed = out->packed.bytes;
    out->state = SALTUS_STATE_TABLE;
    out->has_arrays = saltus_has_events(tables);
    out->workspace_is_shared = is_shared;
    out->tables_are_shared = is_shared || fixed <= SHARED_TABLES;
    out->block = block ? block : is_shared ? best_block(limits, fixed, each) : SALTUS_USUAL_BLOCK;
    if (is_shared) {
        SALTUS_TRY(check_block("shared", out->block, fixed, each, limits, err));
    }
    out->workspace_doubles = (out->block * each + 15) / 16 * 2;
    out->shared_bytes = (is_shared ? 8 * (size_t)out->workspace_doubles : 0) +
                        (out->tables_are_shared ? out->packed.bytes : 0);
done:
    return status;
}

/* Bytes of a warp's leaves, nodes, counts with their bounds, and weights; kernel/ssa/hubs_warp.h.
 */
static int64_t hub_bytes(const saltus_tables *t)
{
    return 8 * ((int64_t)t->n_hub_leaves + t->hub_first[t->n_hub_levels] + t->n_species) +
           4 * (int64_t)t->n_weights;
}

/* Bytes of a thread's nodes, counts with their bounds, and weights; kernel/ssa/hubs_thread.h. */
static int64_t hub_thread_bytes(const saltus_tables *t)
{
    return 8 * ((int64_t)t->hub_first[t->n_hub_levels] + saltus_packed_kept(t) + t->n_species) +
           4 * (int64_t)t->n_weights;
}

/* Bytes of what all threads read of hubs. */
static int64_t hubs_bytes(const saltus_tables *t)
{
    return (int64_t)sizeof(saltus_packed_hub) * t->n_hubs;
}

/* The largest block that spreads so many trajectories for each multiprocessor over all of these; 0:
 * of any size. There are few sizes, because each has a kernel. */
static int spreading_block(int64_t share)
{
    int block = 64;
    while (block < HUB_BLOCK && 10 * 2 * block <= 11 * share) {
        block *= 2;
    }
    return share > 0 ? block : HUB_BLOCK;
}

/* Give each thread a workspace with hubs, and a block a copy of the hubs, in shared memory as far
 * as they fit there. */
static saltus_status make_hub_threads(saltus_ssa_layout *out, bool is_shared,
                                      const saltus_tables *tables, const saltus_limits *limits,
                                      int block, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t bytes = hub_thread_bytes(tables), fixed = hubs_bytes(tables);
    const int64_t each = is_shared ? bytes : (bytes + 31) / 32 * 32;
    const int spread = spreading_block(out->needs.share),
              best = is_shared ? best_block(limits, fixed, each) : spread;
    SALTUS_TRY(saltus_pack_hubs(tables, &out->packed, err));
    out->state = SALTUS_STATE_HUBS;
    out->workspace_is_shared = is_shared;
    out->tables_are_shared = is_shared || (fixed <= SHARED_HUBS && fixed <= limits->block_bytes);
    out->block = block ? block : best < spread ? best : spread;
    if (is_shared) {
        SALTUS_TRY(check_block("shared", out->block, fixed, each, limits, err));
    }
    out->workspace_doubles = (out->block * each + 15) / 16 * 2;
    out->shared_bytes = (is_shared ? 8 * (size_t)out->workspace_doubles : 0) +
                        (out->tables_are_shared ? out->packed.bytes : 0);
done:
    return status;
}

/* Give each warp a workspace, in shared memory if enough of them fit. */
static saltus_status make_warp(saltus_ssa_layout *out, const saltus_tables *tables,
                               const saltus_limits *limits, int block, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    int64_t bytes = hub_bytes(tables);
    if (tables->n_hubs == 0) {
        SALTUS_TRY(saltus_pack(tables, true, &out->packed, err));
        bytes = thread_bytes(&out->packed);
    }
    const int64_t each = (bytes + 127) / 128 * 4; /* of a warp, by thread */
    const int best = best_block(limits, 0, each);
    out->state = tables->n_hubs > 0 ? SALTUS_STATE_HUBS : SALTUS_STATE_WARP;
    out->threads_each = 32;
    out->workspace_is_shared =
        best > 0 && limits->bytes / (best * each + RESERVED_BYTES) * best >= 32 * WARPS;
    out->block = block ? block : out->workspace_is_shared ? best : SALTUS_USUAL_BLOCK;
    if (out->workspace_is_shared) {
        SALTUS_TRY(check_block("warp", out->block, 0, each, limits, err));
    }
    out->workspace_doubles = out->block * each / 8;
    out->shared_bytes = out->workspace_is_shared ? 8 * (size_t)out->workspace_doubles : 0;
done:
    return status;
}

/* Keep counts that are not in registers in shared memory. */
static saltus_status make_registers(saltus_ssa_layout *out, const saltus_tables *tables,
                                    const saltus_limits *limits, int block, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const int64_t each = saltus_registers_thread_bytes(tables, out->needs.varies),
                  fixed = saltus_registers_table_bytes(tables);
    out->state = SALTUS_STATE_REGISTERS;
    out->has_arrays = saltus_has_events(tables);
    if (each > 0) {
        out->block = block ? block : best_block(limits, fixed, each);
        SALTUS_TRY(check_block("registers", out->block, fixed, each, limits, err));
        out->shared_bytes = (size_t)(fixed + out->block * each);
    }
done:
    return status;
}

/* Keep the state of tau-leaping, or of method ode, in global memory, where it always fits. */
static saltus_status make_any(saltus_ssa_layout *out, const saltus_tables *tables,
                              const saltus_limits *limits, int block, saltus_error *err)
{
    (void)tables, (void)limits, (void)block, (void)err;
    out->has_arrays = true;
    return SALTUS_OK;
}

static saltus_status make_shared(saltus_ssa_layout *out, const saltus_tables *tables,
                                 const saltus_limits *limits, int block, saltus_error *err)
{
    return tables->n_hubs > 0 ? make_hub_threads(out, true, tables, limits, block, err)
                              : make_table(out, true, tables, limits, block, err);
}

/* Packed tables, where the model has such. */
static saltus_status make_global(saltus_ssa_layout *out, const saltus_tables *tables,
                                 const saltus_limits *limits, int block, saltus_error *err)
{
    if (tables->n_hubs > 0 && !saltus_hubs_against(tables, true)) {
        return make_hub_threads(out, false, tables, limits, block, err);
    }
    if (tables->n_rates > 0 || tables->n_hubs > 0 || saltus_packing_against(tables, false)) {
        out->has_arrays = true;
        return SALTUS_OK;
    }
    return make_table(out, false, tables, limits, block, err);
}

static const char *registers_against(const saltus_tables *t, saltus_needs needs,
                                     const saltus_limits *limits)
{
    (void)needs, (void)limits;
    return saltus_registers_against(t);
}

static const char *shared_against(const saltus_tables *t, saltus_needs needs,
                                  const saltus_limits *limits)
{
    const bool has_hubs = t->n_hubs > 0;
    const char *against =
        has_hubs ? saltus_hubs_against(t, true) : saltus_packing_against(t, false);
    saltus_ssa_layout layout = {.needs = needs};
    if (!against &&
        make_shared(&layout, t, limits, has_hubs ? HUB_THREADS : 32, NULL) != SALTUS_OK) {
        against = has_hubs ? "96 threads take more shared memory than there is"
                           : "32 threads take more shared memory than there is";
    }
    saltus_layout_free(&layout);
    return against;
}

static const char *warp_against(const saltus_tables *t, saltus_needs needs,
                                const saltus_limits *limits)
{
    (void)needs, (void)limits;
    return t->n_hubs > 0 ? saltus_hubs_against(t, false) : saltus_packing_against(t, true);
}

static const char *leaping_registers_against(const saltus_tables *t, saltus_needs needs,
                                             const saltus_limits *limits)
{
    (void)needs, (void)limits;
    return t->n_triggers > 0 || t->n_flags > 0 || t->n_variables > 0
               ? "it has events or rates that switch in time"
           : t->n_starts > 0  ? "its initial values are drawn"
           : t->n_thinned > 0 ? "it has rates that drift with time"
           : t->n_bending > 0 ? "it has laws that may bend within a leap"
                              : saltus_registers_against(t);
}

/* What of a layout depends on the method. */
typedef struct by_method {
    /** Why a model does not fit; NULL: any does. */
    const char *(*against)(const saltus_tables *tables, saltus_needs needs,
                           const saltus_limits *limits);
    /** Fill in what differs from a block of the usual size without shared memory. */
    saltus_status (*make)(saltus_ssa_layout *out, const saltus_tables *tables,
                          const saltus_limits *limits, int block, saltus_error *err);
} by_method;

/* The layouts, the fastest first, with their costs as measured on one H200, bench/RESULTS.md; other
 * GPUs that compute in double are within a factor of a few, the others slower. What always fits
 * ends the search. */
static const struct {
    saltus_layout layout;
    saltus_layout_cost cost;
    bool is_global; /* state is in global memory, where a long one fits */
    by_method of[SALTUS_N_METHODS];
} entries[] = {
    {SALTUS_LAYOUT_REGISTERS,
     {0.015, 300.0},
     false,
     {[SALTUS_METHOD_DIRECT] = {registers_against, make_registers},
      [SALTUS_METHOD_TAU] = {leaping_registers_against, make_registers}}},
    {SALTUS_LAYOUT_SHARED,
     {0.04, 600.0},
     false,
     {
         [SALTUS_METHOD_DIRECT] = {shared_against, make_shared},
     }},
    {SALTUS_LAYOUT_WARP,
     {1.5, 2500.0},
     false,
     {[SALTUS_METHOD_DIRECT] = {warp_against, make_warp}}},
    {SALTUS_LAYOUT_GLOBAL,
     {1.0, 6000.0},
     true,
     {[SALTUS_METHOD_DIRECT] = {NULL, make_global},
      [SALTUS_METHOD_TAU] = {NULL, make_any},
      [SALTUS_METHOD_ODE] = {NULL, make_any}}},
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

/* The entry of a layout that a GPU has for well-mixed models. */
static int find(saltus_layout layout)
{
    int i = 0;
    while (i + 1 < N_ENTRIES && entries[i].layout != layout) {
        ++i;
    }
    return i;
}

saltus_layout_cost saltus_layout_cost_of(saltus_layout layout, const saltus_tables *tables)
{
    static const saltus_layout_cost hubs_shared = {0.25, 5000.0}, hubs_global = {0.5, 20000.0};
    const bool has_hubs = tables->n_hubs > 0;
    return has_hubs && layout == SALTUS_LAYOUT_SHARED   ? hubs_shared
           : has_hubs && layout == SALTUS_LAYOUT_GLOBAL ? hubs_global
                                                        : entries[find(layout)].cost;
}

const char *saltus_layout_against(saltus_layout layout, const saltus_tables *tables,
                                  saltus_needs needs, const saltus_limits *limits)
{
    const int i = find(layout);
    const by_method *of = &entries[i].of[needs.method];
    if (needs.rng == SALTUS_RNG_MT19937 && !entries[i].is_global) {
        return "mt19937 keeps 624 words for every trajectory, in global memory";
    }
    if (!of->make) {
        return saltus_layout_of(layout)->refusal;
    }
    if (tables->n_rates > 0 && layout != SALTUS_LAYOUT_GLOBAL) {
        return "it has rate rules, which layout 'global' alone integrates";
    }
    return of->against ? of->against(tables, needs, limits) : NULL;
}

/* Molecules of a species, on average. The species with most, which others may only be fed by, does
 * not count. */
static double molecules_each(const saltus_tables *t)
{
    int64_t sum = 0, most = 0;
    for (int s = 0; s < t->n_species; ++s) {
        const int64_t x = t->initial_counts[s];
        sum += x;
        most = x > most ? x : most;
    }
    return (double)(sum - most) / t->n_species;
}

/* Whether hubs by threads with state in global memory are faster than by warps. Where molecules are
 * few, most counts are their own bounds: each event then sums much anew, which a warp does at once.
 * Many threads do so while others wait for memory. */
static bool global_pays(const saltus_tables *t, saltus_needs needs)
{
    const int64_t beside = needs.share > 0 && needs.share < FULL ? needs.share : FULL,
                  bytes = hub_thread_bytes(t);
    return bytes <= LARGEST_STATE &&
           beside >= (bytes > LARGE_STATE ? FEWEST_LARGE : FEWEST_GLOBAL) &&
           molecules_each(t) * (double)beside >= FEWEST_MOLECULES;
}

/* Why a layout that fits is not the fastest, where those before it are not taken; or NULL. */
static const char *slower(saltus_layout layout, const saltus_tables *t, saltus_needs needs)
{
    const bool is_warp = layout == SALTUS_LAYOUT_WARP;
    if (t->n_hubs == 0 || (!is_warp && layout != SALTUS_LAYOUT_SHARED)) {
        return NULL;
    }
    if (!is_warp) {
        return needs.share > 0 && needs.share < FEWEST_SHARED ? "there are too few trajectories"
                                                              : NULL;
    }
    return !saltus_hubs_against(t, true) && global_pays(t, needs)
               ? "there are trajectories for a thread each"
               : NULL;
}

saltus_layout saltus_layout_choose(const saltus_tables *tables, saltus_needs needs,
                                   const saltus_limits *limits, saltus_layout *before,
                                   const char **why_not)
{
    *before = SALTUS_LAYOUT_AUTO;
    for (int i = 0; i + 1 < N_ENTRIES; ++i) {
        const saltus_layout layout = entries[i].layout;
        const char *against = saltus_layout_against(layout, tables, needs, limits);
        against = against ? against : slower(layout, tables, needs);
        if (!against) {
            return layout;
        }
        *before = layout;
        *why_not = against;
    }
    return entries[N_ENTRIES - 1].layout;
}

/* How many blocks of a multiprocessor registers should suffice for: as many as use all of it, where
 * they fit into shared memory, or, with state in registers, as many as fit; 0: the compiler
 * chooses. */
static int least_blocks(const saltus_ssa_layout *layout, const saltus_tables *tables,
                        const saltus_limits *limits)
{
    const bool is_global = layout->workspace_doubles > 0 && !layout->workspace_is_shared;
    const int fit = (int)(limits->bytes / ((int64_t)layout->shared_bytes + RESERVED_BYTES)),
              full = FULL / layout->block;
    const bool leaps_in_registers =
        layout->state == SALTUS_STATE_REGISTERS && saltus_method_of(layout->needs.method)->leaps;
    if (leaps_in_registers && tables->n_reactions + tables->n_species <= SMALL) {
        return 2; /* which leaps of few reactions need hardly fewer registers for */
    }
    if ((layout->state == SALTUS_STATE_HUBS && layout->threads_each == 1) || leaps_in_registers) {
        return 1; /* they wait for memory: few without spills are better */
    }
    if (layout->threads_each != 1 || layout->state == SALTUS_STATE_TREE || is_global) {
        return 0;
    }
    if (FULL % layout->block == 0 && fit >= full) {
        return full;
    }
    return layout->state == SALTUS_STATE_REGISTERS ? (fit < full ? fit : full) : 0;
}

saltus_status saltus_layout_make(saltus_layout layout, const saltus_tables *tables,
                                 saltus_needs needs, const saltus_limits *limits, int block,
                                 saltus_ssa_layout *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *against = saltus_layout_against(layout, tables, needs, limits);
    *out = (saltus_ssa_layout){
        .needs = needs, .block = block ? block : SALTUS_USUAL_BLOCK, .threads_each = 1};
    if (against) {
        SALTUS_FAIL(SALTUS_E_INVALID, "layout '%s' does not fit: %s",
                    saltus_layout_of(layout)->name, against);
    }
    SALTUS_TRY(entries[find(layout)].of[needs.method].make(out, tables, limits, block, err));
    out->least_blocks = least_blocks(out, tables, limits);
done:
    if (status != SALTUS_OK) {
        saltus_layout_free(out);
    }
    return status;
}

void saltus_layout_free(saltus_ssa_layout *layout)
{
    saltus_free((char *)layout->packed.tables);
    layout->packed.tables = NULL;
}
