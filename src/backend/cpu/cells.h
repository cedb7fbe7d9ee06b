/* Where laws that drift with time lie, cell by cell of a grid of time: intervals of what drifts
 * whatever the counts, each computed once in a run. Most candidates of kernel/ssa/thinned_lanes.h
 * are outside what their laws can be in their cells, and are decided without them. */
#ifndef SALTUS_BACKEND_CPU_CELLS_H
#define SALTUS_BACKEND_CPU_CELLS_H

#include "kernel/base/tables.h"

#include <stdbool.h>

typedef struct saltus_cells {
    double per_time; /* cells in a unit of time, a power of 2 */
    double *ends;    /* [cell][drift][lower, upper]; NaN where the cell is not known */
    bool *are_known; /* [cell] */
    int64_t n_known;
    /* Where law i lies follows from drift_of[row[i]] to drift_of[row[i + 1] - 1]; none: cells do
     * not tell. */
    int32_t *row, *drift_of;
} saltus_cells;

/* Cells of a run that ends at `until`, the smaller the shorter its windows are. NULL: they tell of
 * no law, or would have to be too large or too many, or there is no memory, which does no harm.
 * Constants must be the tables', not points' own. */
saltus_cells *saltus_cells_create(const saltus_tables *n, double until, double window);
void saltus_cells_destroy(saltus_cells *cells);

#endif
