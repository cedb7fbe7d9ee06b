/** The numbers in a frozen model's tables that change with the values of its parameters and
 * initial amounts: all points of a sweep have the same network, and each has a row of numbers. */
#ifndef SALTUS_MODEL_FREEZE_POINT_H
#define SALTUS_MODEL_FREEZE_POINT_H

#include "core/status.h"
#include "kernel/base/tables.h"

struct saltus_model;

/** What stands where in a row. */
saltus_point saltus_point_of(const saltus_tables *tables);

/** Whether v[row] is one of the constants, which a point gives and nothing in a run changes. */
static inline bool saltus_row_is_constant(const saltus_tables *t, int row)
{
    return row >= t->row_constants && row < t->row_constants + t->n_constants;
}

/** Write a model's row, [saltus_point_of(tables).size]. Where counts are real, by method ode, it
 * has the initial amounts[species] in place of the counts; else amounts is NULL. */
void saltus_point_read(const saltus_tables *tables, const double *amounts, double *row);

/** Tables with the numbers of another row and all else as in `like`. They use the row, and the
 * memory that is given for counts[species]. */
saltus_tables saltus_point_apply(const saltus_tables *like, const double *row, int64_t *counts);

/** Whether two models differ in nothing but rows, so that one kernel serves both: species, laws,
 * programs and events are the same, and what tau-leaping knows of them if it is to be used. */
bool saltus_point_is_like(const saltus_tables *a, const saltus_tables *b, bool leaps);

/** Tau-leaping has to know laws better; by method ode rows have amounts for counts. */
typedef enum saltus_rows_use {
    SALTUS_ROWS_EXACT,
    SALTUS_ROWS_LEAPS,
    SALTUS_ROWS_MEAN,
} saltus_rows_use;

/**
 * Makes the rows of a model whose variables take one set of values after another, without freezing
 * it again: a few hundred nanoseconds for a small network, where freezing takes some microseconds.
 * What was decided at the first values must hold for others (saltus_decision), or there is no row.
 * One thread at a time.
 */
typedef struct saltus_rows saltus_rows;

/**
 * Freeze a model at the values that saltus_model_set gave it. It is to stay frozen.
 *
 * @param use      what the rows are for
 * @param[out] out to be freed with saltus_rows_free; NULL: rows of this model can be made by
 *                 freezing alone
 * @return as saltus_model_freeze
 */
SALTUS_MUST_CHECK saltus_status saltus_rows_create(struct saltus_model *model, saltus_law law,
                                                   saltus_rows_use use, saltus_rows **out,
                                                   saltus_error *err);
void saltus_rows_free(saltus_rows *rows);
/** Give a variable, which saltus_model_set had set, another value. */
void saltus_rows_set(saltus_rows *rows, int variable, double value);
/** Write the row, [saltus_point_of(tables).size], that freezing at these values would give, and
 * give the model's bindings their values. false: there is none, and freezing tells why. */
bool saltus_rows_make(saltus_rows *rows, double *row);

#endif
