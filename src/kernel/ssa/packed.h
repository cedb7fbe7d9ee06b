/** The tables of a mass-action network, packed into one piece of bytes for the fast memories of a
 * GPU. Positions in lists have 16 bits, or, in wide rows, 32.
 *
 * Example: reaction 0 is A -> B with rate 2, reaction 1 is 2 B -> C with rate 3 (species A 0, B 1,
 * C 2; x[3] is a constant 1). Firing reaction 0 changes two counts, two propensities and, with more
 * than 8 reactions, nodes above them:
 *
 *     row 0     change 0, n_changes 2      dependent 0, n_dependents 2      node, n_nodes
 *                     |                              |
 *     changes   {0, -1} {1, +1} ...        |
 *     dependents                           {2.0, first 0, second 3, reaction 0, offset 0}
 *                                          {1.5, first 1, second 1, reaction 1, offset 1}
 *
 * The second entry says propensity[1] = (1.5 * x[1]) * (x[1] - 1). A law of more than two factors
 * goes on in the next entry; SALTUS_PACKED_MORE is set in `reaction` then. */
#ifndef SALTUS_KERNEL_SSA_PACKED_H
#define SALTUS_KERNEL_SSA_PACKED_H

#include "kernel/base/tables.h"

enum {
    SALTUS_PACKED_MORE =
        0x8000, /**< in `reaction` of a dependent: the next entry goes on multiplying */
    SALTUS_PACKED_LEVEL = 1, /**< in `first` of a node, with wide rows: a new level begins */
    SALTUS_PACKED_LEVELS = 5
};

/** What a reaction changes: so many entries of each list, from the first on. The numbers of changes
 * and of dependents are even. */
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

/** A hub as threads read it (hubs_thread.h). */
typedef struct SALTUS_ALIGNED(16) saltus_packed_hub {
    double alone;
    uint16_t species, kept; /**< kept: the place of what stands for `alone` where there are classes,
                                 or SALTUS_PACKED_ALONE */
    uint32_t n_classes : 4, class_first : 28;
} saltus_packed_hub;
enum { SALTUS_PACKED_ALONE = 0xffff };

typedef struct saltus_packed {
    /** The bytes, at an address of the device. The arrays begin at the offsets below. */
    const char *tables;
    /** Size, a multiple of 16. */
    uint32_t bytes;
    /** [reaction] rows, unless all are equally long. */
    uint32_t rows;
    uint32_t changes, dependents, nodes;
    /** Every propensity and every node, and no change. */
    saltus_packed_wide_row all;
    /** Numbers of entries, where all rows are equally long and row r is the r-th of them; else 0.
     */
    saltus_packed_wide_row equal;
    int32_t n_species, n_reactions;
    /** Propensities and nodes. The last one, the root's, is never read. */
    int32_t n_values;
    int32_t n_levels, n_root_children;
    int32_t level_values[SALTUS_PACKED_LEVELS]; /**< [level] where the children of the level's nodes
                                                   begin */
} saltus_packed;

#endif
