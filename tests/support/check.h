/** What tests of several engines check alike; a failure ends the test. */
#ifndef SALTUS_TESTS_CHECK_H
#define SALTUS_TESTS_CHECK_H

#include "moments.h"

/** The frozen model of a YAML text. */
saltus_model *parse_frozen(const char *text);
/** Fail unless the mean of n numbers that add up to `sum` is within 5 standard errors. */
void check_mean(double sum, double n, double mean, double variance, const char *what);
/** Fail unless the first n_columns of two ensembles of one size have the same mean and variance. */
void check_alike(const moments *x, const moments *y, int n_columns, const char *what);

#endif
