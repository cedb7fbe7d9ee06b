/**
 * The incomplete factors of I - γJ that have no entries but where J has: what an iteration is
 * preconditioned by (Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. 2003, section
 * 10.3, doi:10.1137/1.9780898718003).
 */
#ifndef SALTUS_ODE_INCOMPLETE_H
#define SALTUS_ODE_INCOMPLETE_H

#include "ode/pattern.h"

typedef struct saltus_incomplete {
    const saltus_columns_of *rows; /**< of J's columns, rising, the diagonal among them */
    int32_t n;
    double *value;     /**< as the rows stand: above and on the diagonal U, below it L */
    int64_t *diagonal; /**< [column] place of that entry */
    double *work;      /**< [row] 0 in between */
    uint8_t *is_there; /**< [row] likewise */
} saltus_incomplete;

/** Memory for a pattern, which stays the caller's. */
saltus_status saltus_incomplete_init(saltus_incomplete *f, const saltus_columns_of *rows, int32_t n,
                                     saltus_error *err);
void saltus_incomplete_free(saltus_incomplete *f);

/** Factor for the values of J; false: a pivot is 0 or no number. */
bool saltus_incomplete_factor(saltus_incomplete *f, const double *jacobian, double gamma);
/** Solve in place. */
void saltus_incomplete_solve(const saltus_incomplete *f, double *x);

#endif
