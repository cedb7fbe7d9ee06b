/**
 * Which of the components that are integrated make which others change, and by what: the pattern of
 * a Jacobian, of columns. It follows from a network's tables alone, and holds for all their
 * numbers.
 *
 * A flow is a reaction, whose law changes counts, or the rate of a variable. Reactions come first.
 */
#ifndef SALTUS_ODE_PATTERN_H
#define SALTUS_ODE_PATTERN_H

#include "core/status.h"
#include "kernel/base/tables.h"

/** Lists of items, one for each column, rising: those of j are item[first[j]] … item[first[j + 1] -
 * 1]. */
typedef struct saltus_columns_of {
    int64_t *first;
    int32_t *item;
} saltus_columns_of;

typedef struct saltus_pattern {
    int32_t n;          /**< components */
    int32_t first_rate; /**< component of the first variable with a rate rule */
    int32_t n_flows;
    int32_t *row;            /**< [component] where it stands; -1: nowhere, as a hazard */
    saltus_columns_of rows;  /**< components that a column's changes; itself always */
    saltus_columns_of flows; /**< that read it, also through rules */
    saltus_columns_of rules; /**< that read it and that a flow reads, in order */
    int32_t *rules_read;     /**< [n_rules_read] all those, in order */
    int32_t n_rules_read;
} saltus_pattern;

/** Make the pattern of n components: with is_mean species and variables with a rate rule, else the
 * latter and a hazard that nothing adds to. The tables may go. */
saltus_status saltus_pattern_create(const saltus_tables *t, int32_t n, bool is_mean,
                                    saltus_pattern **out, saltus_error *err);
/** NULL is allowed. */
void saltus_pattern_destroy(saltus_pattern *pattern);

#endif
