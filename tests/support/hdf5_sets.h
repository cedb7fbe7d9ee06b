/** For tests of result files that have to be equal. */
#ifndef SALTUS_TESTS_HDF5_SETS_H
#define SALTUS_TESTS_HDF5_SETS_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

/** Fail unless every data set of a stands in b with the same type and bytes, but for those whose
 * paths `is_left_out` (may be NULL). Returns how many were compared. */
int assert_same_sets(hid_t a, hid_t b, bool (*is_left_out)(const char *path));

/** An attribute of a result that is a whole number; -1: there is none. */
int64_t result_number(hid_t file, const char *name);
/** Fail unless two results hold the same: all data sets, at least so many, but for what differs
 * from run to run, and what is said of the trajectories. */
void assert_equal_results(const char *a, const char *b, int least_sets);

#endif
