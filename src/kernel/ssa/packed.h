/** A mass-action network's tables, packed for the fast memories of a GPU: one stretch of bytes.
 * Places in lists have 16 bits, or, in wide rows, 32. */
#ifndef SALTUS_KERNEL_SSA_PACKED_H
#define SALTUS_KERNEL_SSA_PACKED_H

#include "kernel/base/tables.h"

enum {
    SALTUS_PACKED_MORE =
        0x8000,              /**< of a dependent's reaction: the next entry goes on multiplying */
    SALTUS_PACKED_LEVEL = 1, /**< of a node's first value, with wide rows: begins a new level */
    SALTUS_PACKED_LEVELS = 5
};

/** What a reaction changes: n entries of each list, from the first on. The numbers of changes and
 * of dependents are even. */
typedef struct saltus_packed_row {
    uint16_t change, n_changes, dependent, n_dependents, node, n_nodes, spare[2];
} saltus_packed_row;

typedef struct saltus_packed_wide_row {
    uint32_t change, n_changes, dependent, n_dependents, node, n_nodes, spare[2];
} saltus_packed_wide_row;

typedef struct saltus_packed_change {
    int32_t species, amount;
} saltus_packed_change;

/** propensity[reaction] = (rate * x[first]) * (x[second] - offset) */
typedef struct saltus_packed_dependent {
    double rate;
    uint16_t first, second, reaction, offset;
} saltus_packed_dependent;

/** values[value] = the sum of the eight values from `first` on */
typedef struct saltus_packed_node {
    uint16_t first, value;
} saltus_packed_node;

typedef struct saltus_packed {
    const char *tables; /**< the device's; arrays stand at the offsets below */
    uint32_t bytes;     /**< a multiple of 16 */
    uint32_t rows;      /**< [reaction], unless all rows are equally long */
    uint32_t changes, dependents, nodes;
    saltus_packed_wide_row all;   /**< every propensity and every node, no change */
    saltus_packed_wide_row equal; /**< where all rows are equally long, row r being the r-th of
                                       them: their numbers of entries; else 0 */
    int32_t n_species, n_reactions;
    int32_t n_values; /**< propensities and nodes; nobody reads the last one, the root's */
    int32_t n_levels, n_root_children;
    int32_t
        level_values[SALTUS_PACKED_LEVELS]; /**< where the children of each level's nodes begin */
} saltus_packed;

#endif
