/** The numbers in a frozen model's tables that change with the values of its parameters and
 * initial amounts: all points of a sweep have the same network, and each has a row of numbers. */
#ifndef SALTUS_MODEL_FREEZE_POINT_H
#define SALTUS_MODEL_FREEZE_POINT_H

#include "core/status.h"
#include "kernel/base/tables.h"

/** What stands where in a row. */
saltus_point saltus_point_of(const saltus_tables *tables);

/** Write a model's row, [saltus_point_of(tables).size]. */
void saltus_point_read(const saltus_tables *tables, double *row);

/** Tables with the numbers of another row and all else as in `like`. They use the row, and the
 * memory that is given for pairs[reaction] and counts[species]. */
saltus_tables saltus_point_apply(const saltus_tables *like, const double *row, saltus_pair *pairs,
                                 int64_t *counts);

/** Whether two models differ in nothing but rows, so that one kernel serves both: species, laws,
 * programs and events are the same, and what tau-leaping knows of them if it is to be used. */
bool saltus_point_is_like(const saltus_tables *a, const saltus_tables *b, bool leaps);

#endif
