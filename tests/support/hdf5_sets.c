#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hdf5_sets.h"

#include <stdlib.h>
#include <string.h>

typedef struct pair {
    hid_t other;
    bool (*is_left_out)(const char *path);
    int n_sets;
} pair;

static herr_t compare(hid_t object, const char *name, const H5O_info_t *info, void *user)
{
    pair *p = user;
    const hid_t files[2] = {object, p->other};
    void *data[2];
    hsize_t bytes[2];
    hid_t types[2];
    if (info->type != H5O_TYPE_DATASET || (p->is_left_out && p->is_left_out(name))) {
        return 0;
    }
    for (int i = 0; i < 2; ++i) {
        const hid_t set = H5Dopen2(files[i], name, H5P_DEFAULT), space = H5Dget_space(set);
        types[i] = H5Dget_type(set);
        bytes[i] = (hsize_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(types[i]);
        data[i] = calloc(bytes[i] + 1, 1);
        assert_true(H5Dread(set, types[i], H5S_ALL, H5S_ALL, H5P_DEFAULT, data[i]) >= 0);
        (void)H5Sclose(space);
        (void)H5Dclose(set);
    }
    if (H5Tequal(types[0], types[1]) <= 0 || bytes[0] != bytes[1] ||
        memcmp(data[0], data[1], bytes[0]) != 0) {
        fail_msg("/%s differs", name);
    }
    for (int i = 0; i < 2; ++i) {
        (void)H5Tclose(types[i]);
        free(data[i]);
    }
    ++p->n_sets;
    return 0;
}

int assert_same_sets(hid_t a, hid_t b, bool (*is_left_out)(const char *path))
{
    pair p = {.other = b, .is_left_out = is_left_out};
    assert_true(H5Ovisit(a, H5_INDEX_NAME, H5_ITER_INC, compare, &p) >= 0);
    return p.n_sets;
}

/* What differs between two runs: the time, and the command with its options. */
static bool may_differ(const char *name)
{
    return strcmp(name, "about") == 0 || strncmp(name, "restart/source", 14) == 0;
}

int64_t result_number(hid_t file, const char *name)
{
    int64_t value = -1;
    const hid_t a = H5Aopen(file, name, H5P_DEFAULT);
    (void)H5Aread(a, H5T_NATIVE_INT64, &value);
    (void)H5Aclose(a);
    return value;
}

void assert_equal_results(const char *a, const char *b, int least_sets)
{
    static const char *const numbers[] = {"requested", "trajectories", "events", "complete",
                                          "first_trajectory"};
    const hid_t file = H5Fopen(a, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t other = H5Fopen(b, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0 && other >= 0);
    assert_true(assert_same_sets(file, other, may_differ) >= least_sets);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        assert_int_equal(result_number(file, numbers[i]), result_number(other, numbers[i]));
    }
    (void)H5Fclose(file);
    (void)H5Fclose(other);
}
