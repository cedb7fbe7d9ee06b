/** Sums of species that no reaction changes. */
#ifndef SALTUS_BENCH_CONSERVED_H
#define SALTUS_BENCH_CONSERVED_H

#include "bench/measure/totals.h"

/**
 * Whether an ensemble of every species of a frozen model without events keeps its conserved sums:
 * those at the last sample time are those at the first, but for rounding.
 *
 * @param[out] n how many independent ones there are: species less the rank of the stoichiometry
 */
SALTUS_MUST_CHECK saltus_status saltus_conserved_check(const saltus_model *model,
                                                       const saltus_totals *totals, int *n,
                                                       bool *is_kept, saltus_error *err);

#endif
