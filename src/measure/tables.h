/** How large the tables of a model are. */
#ifndef SALTUS_MEASURE_TABLES_H
#define SALTUS_MEASURE_TABLES_H

#include "saltus/saltus.h"

/** Bytes. */
typedef struct saltus_table_sizes {
    size_t dense; /**< two matrices, species × reactions, of 32-bit numbers, and the constants */
    size_t compressed; /**< the same in compressed rows, as the kernels have them */
    size_t all;        /**< everything that a GPU is given: also what an event changes, the tree */
} saltus_table_sizes;

/** Of a frozen model. */
saltus_table_sizes saltus_tables_measure(const saltus_model *model);

#endif
