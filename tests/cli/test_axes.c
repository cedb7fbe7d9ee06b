/* Axes of result files: their scales and units, and what xarray makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <hdf5.h>
#include <hdf5_hl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char cell_model[] =
    "time: s\n"
    "species: {A: 200, B: 0, time: }\n"
    "reactions:\n"
    "  change: A -> B @ 2\n"
    "lattice:\n"
    "  size: [6, 5, 9]\n"
    "  spacing: 10 nm\n"
    "  step: 0.01\n"
    "  sites:\n"
    "    outside:\n"
    "    inside: {box: {from: [1 sites, 1 sites, 1 sites], to: [5 sites, 4 sites, 8 sites]}}\n"
    "  diffusion: {A: 1e-15 m2/s, B: 1e-15 m2/s, time: 0}\n"
    "  place:\n"
    "    A: inside\n"
    "    time: {sites: [[5, 4, 8, 300], [0, 1, 0, 70000]]}\n"; /* wider than 16 bits */

/* Every kind of file that there is. */
static const struct {
    const char *name, *line;
} files[] = {
    {"all.h5", "run decay.yaml --species A,share --derive mean:A,passage:A:5"},
    {"final.h5", "run decay.yaml --species A,share --record final"},
    {"stats.h5", "run decay.yaml --species A,share --record stats"},
    {"bins.h5", "run decay.yaml --record histogram"},
    {"range.h5", "run decay.yaml --record histogram --range 0:30"},
    {"sweep.h5", "sweep decay.yaml --vary A=lin:10:30:3 --species A,share --derive mean:A"},
    {"sweep-final.h5", "sweep decay.yaml --vary A=lin:10:30:3 --record final"},
    {"sweep-bins.h5", "sweep decay.yaml --vary A=lin:10:30:3 --record histogram --range 0:30"},
    {"cell.h5", "run cell.yaml --frames 0.5 --profile y"},
    {"cell-stats.h5", "run cell.yaml --record stats --profile y"},
};
enum { N_FILES = sizeof files / sizeof *files };

static int enter_with_files(void **state)
{
    const int status = enter_with_models(state);
    write_file("cell.yaml", cell_model);
    for (int i = 0; i < N_FILES; ++i) {
        const outcome o =
            saltus("%s --until 2 --points 3 --runs 4 -q -o %s", files[i].line, files[i].name);
        assert_done(&o);
    }
    return status;
}

/* ---- scales ---- */

struct visit {
    hid_t set;
    int axis;
    hsize_t length;
    int n;
};

/* A scale knows its data set, is as long as the axis, and has a name. */
static herr_t check_scale(hid_t set, unsigned axis, hid_t scale, void *user)
{
    struct visit *v = user;
    hsize_t length = 0;
    char name[100] = "";
    const hid_t space = H5Dget_space(scale);
    (void)H5Sget_simple_extent_dims(space, &length, NULL);
    (void)H5Sclose(space);
    assert_true(H5DSis_scale(scale) > 0);
    assert_true(H5DSis_attached(set, scale, axis) > 0);
    assert_true(H5DSget_scale_name(scale, name, sizeof name) > 0);
    assert_int_equal(length, v->length);
    ++v->n;
    return 0;
}

static herr_t check_set(hid_t file, const char *path, const H5O_info_t *info, void *user)
{
    hsize_t shape[5];
    int *n = user;
    if (info->type != H5O_TYPE_DATASET) {
        return 0;
    }
    ++*n;
    const hid_t set = H5Dopen2(file, path, H5P_DEFAULT), space = H5Dget_space(set);
    const hid_t type = H5Dget_type(set);
    const int rank = H5Sget_simple_extent_dims(space, shape, NULL);
    char name[100] = "";
    const bool is_scale = H5DSis_scale(set) > 0;
    if (is_scale) {
        (void)H5DSget_scale_name(set, name, sizeof name);
    }
    for (int i = 0; i < rank && !is_scale; ++i) {
        struct visit v = {.set = set, .axis = i, .length = shape[i]};
        (void)H5DSiterate_scales(set, (unsigned)i, NULL, check_scale, &v);
        if (v.n != 1) {
            fail_msg("%s, axis %d: %d scales, scale %d", path, i, v.n, is_scale);
        }
    }
    if (H5Tget_class(type) != H5T_STRING && !strstr(name, "not a netCDF variable")) {
        if (H5Aexists(set, "units") <= 0) {
            fail_msg("%s has no units", path);
        }
    }
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    return 0;
}

static void every_axis_has_a_scale(void **state)
{
    (void)state;
    for (int i = 0; i < N_FILES; ++i) {
        int n = 0;
        const hid_t file = H5Fopen(files[i].name, H5F_ACC_RDONLY, H5P_DEFAULT);
        assert_true(file >= 0);
        assert_true(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, check_set, &n) >= 0);
        assert_true(n > 10);
        (void)H5Fclose(file);
    }
}

static herr_t append_name(hid_t set, unsigned axis, hid_t scale, void *user)
{
    char path[100], *names = user;
    (void)set;
    (void)axis;
    assert_true(H5Iget_name(scale, path, sizeof path) > 0);
    (void)strcat(strcat(names, " "), path);
    return 0;
}

static void expect_axes(const char *name, const char *path, const char *expected, const char *unit)
{
    char names[500] = "", found[50] = "";
    const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
    assert_true(set >= 0);
    for (unsigned i = 0; H5DSget_num_scales(set, i) > 0; ++i) {
        (void)H5DSiterate_scales(set, i, NULL, append_name, names);
    }
    assert_string_equal(names, expected);
    assert_true(H5LTget_attribute_string(file, path, "units", found) >= 0);
    assert_string_equal(found, unit);
    (void)H5Dclose(set);
    (void)H5Fclose(file);
}

static void axes_have_names_and_units(void **state)
{
    (void)state;
    expect_axes("all.h5", "counts", " /run /time /species", "count");
    expect_axes("all.h5", "observables", " /run /time /observable", "1");
    expect_axes("all.h5", "derived/mean:A", " /run", "count");
    expect_axes("all.h5", "derived/passage:A:5", " /run", "1"); /* this model names no unit */
    expect_axes("stats.h5", "stats/variance", " /time /species", "count2");
    expect_axes("stats.h5", "stats/sum", " /time /species /word", "count");
    expect_axes("bins.h5", "histogram/A/counts", " /time /histogram/A/bin", "1");
    expect_axes("sweep.h5", "counts", " /grid_point /run /time /species", "count");
    expect_axes("sweep.h5", "sweep/A", " /grid_point", "1");
    expect_axes("sweep-bins.h5", "histogram/A/edges", " /grid_point /histogram/A/edge", "count");
    expect_axes("cell.h5", "space/profile", " /run /time /space/plane /species", "count");
    expect_axes("cell.h5", "space/frames/%74ime",
                " /space/row /space/frame /space/z /space/y /space/x", "count");
    expect_axes("cell.h5", "time", "", "s");
    expect_axes("cell-stats.h5", "space/type_stats/sum_sq",
                " /time /space/site_type /species /word", "count2");
}

/* ---- xarray ---- */

/* A Python with xarray: $SALTUS_PYTHON, or python3. */
static void xarray_names_axes(void **state)
{
    static const char check[] =
        "import sys, xarray\n"
        "def dims(f, name, group=None):\n"
        "    with xarray.open_dataset(f, engine='h5netcdf', phony_dims=None, group=group) as d:\n"
        "        return d[name].dims\n"
        "assert dims('all.h5', 'counts') == ('run', 'time', 'species')\n"
        "assert dims('bins.h5', 'counts', 'histogram/A') == ('time', 'bin')\n"
        "assert dims('sweep.h5', 'counts') == ('grid_point', 'run', 'time', 'species')\n"
        "assert dims('sweep.h5', 'mean', 'stats') == ('grid_point', 'time', 'species')\n"
        "assert dims('cell.h5', 'profile', 'space') == ('run', 'time', 'plane', 'species')\n"
        "for f in sys.argv[1:]:\n"
        "    with xarray.open_datatree(f, engine='h5netcdf', phony_dims=None) as tree:\n"
        "        assert tree['stats/mean'].dims[-2:] == ('time', 'species'), f\n"
        "with xarray.open_dataset('all.h5', engine='h5netcdf') as d:\n"
        "    assert d.species.values.tolist() == ['A'] and d.run.values.tolist() == [0, 1, 2, 3]\n"
        "    assert d.counts.sel(species='A', time=0).values.tolist() == [100] * 4\n";
    const char *python = getenv("SALTUS_PYTHON") ? getenv("SALTUS_PYTHON") : "python3";
    char line[1000];
    (void)state;
    (void)snprintf(line, sizeof line, "%s -c 'import xarray, h5netcdf' 2>none", python);
    if (system(line) != 0) {
        print_message("%s has no xarray with h5netcdf\n", python);
        skip();
    }
    write_file("check.py", check);
    (void)snprintf(line, sizeof line, "%s check.py *.h5", python);
    assert_int_equal(system(line), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_axis_has_a_scale),
        cmocka_unit_test(axes_have_names_and_units),
        cmocka_unit_test(xarray_names_axes),
    };
    return cmocka_run_group_tests(tests, enter_with_files, leave_directory);
}
