/** How large the tables of a model are. */
#ifndef SALTUS_BENCH_TABLES_H
#define SALTUS_BENCH_TABLES_H

#include "saltus/saltus.h"

/** Bytes. */
typedef struct saltus_table_sizes {
    size_t dense; /**< two matrices, species × reactions, of 32-bit numbers, and the constants */
    size_t compressed; /**< the same in compressed rows, as a frozen model has them */
    size_t packed; /**< what layouts `shared` and `global` read: 16-bit rows, and beside reactants
                        and changes also which propensities and sums a reaction changes */
} saltus_table_sizes;

/** Of a frozen model. SALTUS_E_UNSUPPORTED when it cannot be packed. */
SALTUS_MUST_CHECK saltus_status saltus_tables_measure(const saltus_model *model,
                                                      saltus_table_sizes *out, saltus_error *err);

#endif
