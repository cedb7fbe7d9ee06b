/* The data sets of a new file, their attributes and the scales of their axes. */
#include "write/hdf5/file.h"
#include "write/hdf5/space.h"

#include "core/memory.h"

#include <string.h>

enum { REPLACE_BYTES = 64 * 1024 }; /* to put one data set in place of another */

/* ------------------------------------------------------------------------------------------------
 * Attributes
 */

static const char *unit_of_derived(const saltus_derive *d, const char *time)
{
    switch (d->quantity) {
    case SALTUS_DERIVE_TMIN:
    case SALTUS_DERIVE_TMAX:
    case SALTUS_DERIVE_PERIOD:
    case SALTUS_DERIVE_PASSAGE:
        return time;
    case SALTUS_DERIVE_ABOVE:
        return "1";
    default:
        return d->column < 0 ? "1" : "count";
    }
}

static const char *unit_of(const saltus_h5_file *f, const saltus_h5_set *s)
{
    const char *time = f->layout.time_unit ? f->layout.time_unit : "1";
    switch (s->kind->unit) {
    case SALTUS_UNIT_COUNT:
        return "count";
    case SALTUS_UNIT_COUNT2:
        return "count2";
    case SALTUS_UNIT_TIME:
        return time;
    case SALTUS_UNIT_LENGTH:
        return "m";
    case SALTUS_UNIT_DERIVED:
        return unit_of_derived(&f->derived.wanted[s->index], time);
    default:
        return "1";
    }
}

/* What xarray takes for the name of an axis without values; netCDF does so too. */
static herr_t mark_scale(const saltus_h5_set *s)
{
    const char *slash = strrchr(s->path, '/');
    char length[80];
    (void)snprintf(length, sizeof length,
                   "This is a netCDF dimension but not a netCDF variable. %10llu",
                   (unsigned long long)s->shape[0]);
    const char *name = s->kind->type == SALTUS_TYPE_NONE ? length : slash ? slash + 1 : s->path;
    return saltus_h5_set_fixed(s->set, "CLASS", "DIMENSION_SCALE") |
           saltus_h5_set_fixed(s->set, "NAME", name);
}

static hobj_ref_t reference(hid_t set)
{
    hobj_ref_t to = 0;
    (void)H5Rcreate(&to, set, ".", H5R_OBJECT, -1);
    return to;
}

/* DIMENSION_LIST, as H5DSattach_scale writes it: for each axis a list of one scale. */
static herr_t name_scales(const saltus_h5_file *f, const saltus_h5_set *s, hid_t set)
{
    hobj_ref_t to[SALTUS_H5_MOST_AXES];
    hvl_t lists[SALTUS_H5_MOST_AXES];
    const hsize_t rank[1] = {(hsize_t)s->rank};
    if (s->is_scale || s->rank == 0) {
        return 0;
    }
    for (int i = 0; i < s->rank; ++i) {
        to[i] = reference(f->sets[s->scale[i]].set);
        lists[i] = (hvl_t){.len = 1, .p = &to[i]};
    }
    const hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ), space = H5Screate_simple(1, rank, NULL);
    const hid_t a = H5Acreate2(set, "DIMENSION_LIST", type, space, H5P_DEFAULT, H5P_DEFAULT);
    const herr_t rc = a < 0 ? -1 : H5Awrite(a, type, lists);
    (void)H5Aclose(a);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    return rc;
}

/* All attributes of a data set that is no scale; `set` may be one that takes its place. */
static herr_t describe(const saltus_h5_file *f, const saltus_h5_set *s, hid_t set)
{
    const saltus_hdf5_layout *l = &f->layout;
    herr_t rc = 0;
    if (s->kind->unit != SALTUS_UNIT_NONE) {
        rc |= saltus_h5_set_fixed(set, "units", unit_of(f, s));
    }
    if (s->kind->type == SALTUS_TYPE_TEXT) {
        rc |= saltus_h5_set_fixed(set, "_Encoding", "utf-8");
    }
    if (s->kind->each == SALTUS_EACH_FRAMED) {
        rc |= saltus_h5_set_text(set, "name", l->count_names[s->index]);
    }
    if (s->kind->id == SALTUS_SET_PROFILE) {
        rc |= saltus_h5_describe_profile(f, set);
    }
    return rc | name_scales(f, s, set);
}

/* ------------------------------------------------------------------------------------------------
 * Scales know where they are used
 */

/* One use of a scale, as H5DSattach_scale has it in REFERENCE_LIST. */
typedef struct use {
    hobj_ref_t set;
    unsigned axis;
} use;

static hid_t use_type(void)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(use));
    (void)H5Tinsert(type, "dataset", HOFFSET(use, set), H5T_STD_REF_OBJ);
    (void)H5Tinsert(type, "dimension", HOFFSET(use, axis), H5T_NATIVE_INT);
    return type;
}

static herr_t write_uses(hid_t scale, const use *uses, hsize_t n)
{
    const hid_t type = use_type(), space = H5Screate_simple(1, &n, NULL);
    const hid_t a = H5Acreate2(scale, "REFERENCE_LIST", type, space, H5P_DEFAULT, H5P_DEFAULT);
    const herr_t rc = a < 0 ? -1 : H5Awrite(a, type, uses);
    (void)H5Aclose(a);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    return rc;
}

/* The lists of all scales, each written once: H5DSattach_scale would copy a scale's list for every
 * data set, which makes a file of many species hundreds of MiB long. */
static saltus_status list_uses(saltus_h5_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t *start = saltus_calloc(f->n_sets + 1, sizeof *start), n = 0;
    use *uses = NULL;
    SALTUS_NEED(start);
    for (size_t i = 0; i < f->n_sets; ++i) {
        for (int a = 0; a < f->sets[i].rank && !f->sets[i].is_scale; ++a, ++n) {
            ++start[f->sets[i].scale[a] + 1];
        }
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        start[i + 1] += start[i];
    }
    uses = saltus_calloc(n, sizeof *uses);
    SALTUS_NEED(uses);
    for (size_t i = f->n_sets; i-- > 0;) { /* from behind: then each list rises */
        const saltus_h5_set *s = &f->sets[i];
        const hobj_ref_t to = reference(s->set);
        for (int a = s->rank - 1; a >= 0 && !s->is_scale; --a) {
            uses[--start[s->scale[a] + 1]] = (use){.set = to, .axis = (unsigned)a};
        }
    }
    for (size_t i = 0; i < f->n_sets; ++i) { /* start[i + 1] is where the list of i begins now */
        const size_t end = i + 2 <= f->n_sets ? start[i + 2] : n;
        if (end > start[i + 1] &&
            write_uses(f->sets[i].set, uses + start[i + 1], end - start[i + 1]) < 0) {
            SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
        }
    }
done:
    saltus_free(start);
    saltus_free(uses);
    return status;
}

/* In a scale's list, replace one data set by another. */
static saltus_status reuse(saltus_h5_file *f, hid_t scale, hobj_ref_t from, hobj_ref_t to,
                           saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hid_t a = H5Aopen(scale, "REFERENCE_LIST", H5P_DEFAULT);
    const hid_t space = H5Aget_space(a), type = use_type();
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    use *uses = saltus_calloc(n > 0 ? (size_t)n : 0, sizeof *uses);
    SALTUS_NEED(uses);
    herr_t rc = H5Aread(a, type, uses);
    for (hssize_t i = 0; i < n; ++i) {
        uses[i].set = uses[i].set == from ? to : uses[i].set;
    }
    rc = rc < 0 ? rc : H5Awrite(a, type, uses);
    status = rc < 0 ? saltus_h5_fail(f, 0, err) : SALTUS_OK;
done:
    saltus_free(uses);
    (void)H5Tclose(type);
    (void)H5Sclose(space);
    (void)H5Aclose(a);
    return status;
}

/* The wide one has no name until it is whole, so that a reader never finds half of it and nothing
 * has to be taken back when it fails. The flush comes at once, because the space of the narrow one
 * is used again. */
saltus_status saltus_h5_replace(saltus_h5_file *f, saltus_h5_set *s, hid_t wide, int value_size,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_h5_reserve(f, REPLACE_BYTES, err));
    const hobj_ref_t from = reference(s->set), to = reference(wide);
    herr_t rc = describe(f, s, wide);
    if (rc >= 0) {
        SALTUS_TRY(saltus_h5_flush(f, err)); /* a name never leads to what is not on the disk */
    }
    for (int i = 0; i < s->rank && rc >= 0; ++i) {
        SALTUS_TRY(reuse(f, f->sets[s->scale[i]].set, from, to, err));
    }
    rc = rc < 0 ? rc : H5Ldelete(f->file, s->path, H5P_DEFAULT);
    rc = rc < 0 ? rc : H5Olink(wide, f->file, s->path, H5P_DEFAULT, H5P_DEFAULT);
    if (rc < 0) {
        SALTUS_TRY(saltus_h5_fail(f, 0, err));
    }
    (void)H5Dclose(s->set);
    s->set = wide;
    s->value_size = value_size;
    status = saltus_h5_flush(f, err);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * What is known at the beginning
 */

static saltus_status write_texts(saltus_h5_file *f, saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_hdf5_layout *l = &f->layout;
    const size_t n = (size_t)s->shape[0];
    const char *const about[SALTUS_H5_N_ABOUT] = {saltus_version(), l->model_name, l->method,
                                                  l->device, f->started};
    static const char *const words[] = {"low", "high"};
    const char **varied = saltus_calloc(n, sizeof *varied);
    const char *const *texts = varied;
    SALTUS_NEED(varied);
    for (size_t i = 0; i < n && s->kind->id == SALTUS_SET_SWEEP_NAMES; ++i) {
        varied[i] = saltus_sweep_name(l->sweep, (int)i);
    }
    switch (s->kind->id) {
    case SALTUS_SET_ABOUT:
        texts = about;
        break;
    case SALTUS_SET_TIME_UNIT:
        texts = &l->time_unit;
        break;
    case SALTUS_SET_SPECIES:
        texts = l->count_names;
        break;
    case SALTUS_SET_OBSERVABLE:
        texts = l->observable_names;
        break;
    case SALTUS_SET_DERIVED_NAMES:
        texts = (const char *const *)f->derived.names;
        break;
    case SALTUS_SET_WORD:
        texts = words;
        break;
    case SALTUS_SET_IDENTITY:
        texts = l->identity->of;
        break;
    case SALTUS_SET_SITE_TYPE:
        texts = l->lattice->type_names;
        break;
    default:
        break;
    }
    SALTUS_TRY(saltus_h5_write_names(f->file, s->path, texts, n, &s->set, err));
done:
    saltus_free(varied);
    return status;
}

/* The value of a number that is known now, at place i. */
static double head_value(const saltus_h5_file *f, const saltus_h5_set *s, int64_t i)
{
    const saltus_hdf5_layout *l = &f->layout;
    switch (s->kind->id) {
    case SALTUS_SET_TIME:
        return l->times[i];
    case SALTUS_SET_FRAME:
        return l->frame_times[i];
    case SALTUS_SET_SWEEP_VALUE:
        return saltus_sweep_value(l->sweep, s->index, i);
    case SALTUS_SET_SWEEP_SHAPE:
        return (double)saltus_sweep_axis_length(l->sweep, (int)i);
    case SALTUS_SET_PLANE:
    case SALTUS_SET_X:
    case SALTUS_SET_Y:
    case SALTUS_SET_Z:
        return ((double)i + 0.5) * l->lattice->spacing;
    default: /* runs at a grid point */
        return (double)(l->first_run + i);
    }
}

static saltus_status write_numbers(saltus_h5_file *f, saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    double *values = saltus_calloc((size_t)s->shape[0], sizeof *values);
    SALTUS_NEED(values);
    for (hsize_t i = 0; i < s->shape[0]; ++i) {
        values[i] = head_value(f, s, (int64_t)i);
    }
    s->set = saltus_h5_create_set(f->file, s, s->path);
    if (s->set < 0 ||
        H5Dwrite(s->set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
    }
done:
    saltus_free(values);
    return status;
}

static saltus_status write_sources(saltus_h5_file *f, saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    s->set = saltus_h5_create_set(f->file, s, s->path);
    if (s->set < 0 ||
        (f->layout.sources_size > 0 && H5Dwrite(s->set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL,
                                                H5P_DEFAULT, f->layout.sources) < 0)) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
    }
done:
    return status;
}

static saltus_status create(saltus_h5_file *f, saltus_h5_set *s, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_h5_role role = s->kind->role;
    const bool is_known = role == SALTUS_ROLE_HEAD || (role == SALTUS_ROLE_RUNS && !s->grows);
    if (s->kind->type == SALTUS_TYPE_TEXT) {
        SALTUS_TRY(write_texts(f, s, err));
    } else if (s->kind->id == SALTUS_SET_SOURCES) {
        SALTUS_TRY(write_sources(f, s, err));
    } else if (is_known && s->kind->type != SALTUS_TYPE_NONE) {
        SALTUS_TRY(write_numbers(f, s, err));
    } else {
        s->set = saltus_h5_create_set(f->file, s, s->path);
    }
    if (s->set < 0 || (s->is_scale && mark_scale(s) < 0) || describe(f, s, s->set) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
    }
done:
    return status;
}

/* What a group says: of a histogram whose it is, of statistics of planes where these are. */
static saltus_status describe_group(const saltus_h5_file *f, const saltus_h5_set *s,
                                    saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hid_t group = H5I_INVALID_HID;
    char *path = saltus_strdup(s->path);
    SALTUS_NEED(path);
    *strrchr(path, '/') = '\0';
    group = H5Gopen2(f->file, path, H5P_DEFAULT);
    const herr_t rc = group < 0 ? -1
                      : s->kind->id == SALTUS_SET_BIN
                          ? saltus_h5_set_text(group, "name", f->layout.count_names[s->index])
                          : saltus_h5_describe_profile(f, group);
    if (rc < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
    }
done:
    saltus_h5_close_group(&group);
    saltus_free(path);
    return status;
}

saltus_status saltus_h5_create(saltus_h5_file *f, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    if (saltus_h5_describe(f) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
    }
    for (size_t i = 0; i < f->n_sets; ++i) {
        SALTUS_TRY(create(f, &f->sets[i], err));
        if (f->sets[i].kind->id == SALTUS_SET_BIN ||
            f->sets[i].kind->id == SALTUS_SET_PROFILE_MEAN) {
            SALTUS_TRY(describe_group(f, &f->sets[i], err));
        }
    }
    SALTUS_TRY(list_uses(f, err));
    if (f->layout.lattice) {
        SALTUS_TRY(saltus_h5_write_lattice(f, err));
    }
    if (!f->layout.sweep && saltus_h5_set_int64_of(f->file, "stats", "trajectories", 0) < 0) {
        SALTUS_FAIL(SALTUS_E_IO, "%s: cannot be created: %s", f->path, saltus_h5_cause());
    }
    status = saltus_h5_flush(f, err);
done:
    return status;
}
