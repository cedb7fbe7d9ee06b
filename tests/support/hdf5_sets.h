/** For tests of result files that have to be equal. */
#ifndef SALTUS_TESTS_HDF5_SETS_H
#define SALTUS_TESTS_HDF5_SETS_H

#include <hdf5.h>
#include <stdbool.h>

/** Fail unless every data set of a stands in b with the same type and bytes, but for those whose
 * paths `is_left_out` (may be NULL). Returns how many were compared. */
int assert_same_sets(hid_t a, hid_t b, bool (*is_left_out)(const char *path));

#endif
