#include "write/hdf5/read.h"

#include "core/memory.h"

#include <string.h>

enum {
    MOST_PACKED = 1032,   /* deflate makes data smaller by this factor at most */
    MOST_NAMES = 1 << 26, /* as the writer has it */
    MOST_AXES = 5
};

saltus_status saltus_h5_damaged(const saltus_results *r, const char *name, const char *why,
                                saltus_error *err)
{
    const saltus_status status = saltus_error_set(err, SALTUS_E_IO, "%s: %s cannot be read: %s",
                                                  r->path, name, why ? why : saltus_h5_cause());
    saltus_error_hint(err, "the file is damaged or no result file; one that is being written can "
                           "be read a moment later");
    return status;
}

/* Data sets that have the point of a sweep as an axis of their own in front. */
static bool is_swept(const saltus_results *r, const char *name)
{
    static const char *const swept[] = {"stats/", "counts", "observables", "final", "histogram/"};
    bool is = false;
    for (size_t i = 0; r->n_axes > 0 && i < sizeof swept / sizeof *swept; ++i) {
        is |= strncmp(name, swept[i], strlen(swept[i])) == 0;
    }
    return is;
}

bool saltus_h5_has(const saltus_results *r, const char *name)
{
    return H5Lexists(r->file, name, H5P_DEFAULT) > 0;
}

const char *saltus_h5_either(const saltus_results *r, const char *name, const char *old)
{
    return saltus_h5_has(r, name) || !saltus_h5_has(r, old) ? name : old;
}

/* ------------------------------------------------------------------------------------------------
 * Checking
 */

/* a * b, or the largest number. */
static hsize_t times(hsize_t a, hsize_t b)
{
    return b > 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* Bytes of one value; 0 for what is never written. */
static size_t value_size(hid_t set, H5T_class_t class)
{
    const hid_t type = H5Dget_type(set);
    size_t size = 0;
    if (type >= 0 && H5Tget_class(type) == class) {
        const bool fixed = class != H5T_STRING || H5Tis_variable_str(type) == 0;
        size = fixed ? H5Tget_size(type) : 0;
        size = class == H5T_STRING || size <= 8 ? size : 0;
    }
    if (type >= 0) {
        (void)H5Tclose(type);
    }
    return size;
}

/* False when it has another number of axes. Behind the rows that the file says are there, a data
 * set that grows may have room for more, while it is written or if its writer was killed; frames of
 * a lattice come before their trajectory has ended. */
static bool get_shape(const saltus_results *r, const char *name, hid_t set, int rank,
                      hsize_t *shape)
{
    const bool is_ahead = strncmp(name, "space/frames/", 13) == 0;
    const hsize_t rows = (hsize_t)(r->n_axes > 0 ? r->n_swept : r->runs);
    hsize_t most[MOST_AXES];
    const hid_t space = H5Dget_space(set);
    const bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == rank &&
                      H5Sget_simple_extent_dims(space, shape, most) == rank;
    if (good && !is_ahead && rank > 0 && most[0] == H5S_UNLIMITED && shape[0] > rows) {
        shape[0] = rows;
    }
    if (space >= 0) {
        (void)H5Sclose(space);
    }
    return good;
}

/* Find out how long the chunks are; false for a layout that is never written. */
static bool get_chunk(hid_t set, int rank, const hsize_t *shape, hsize_t *chunk, bool *chunked)
{
    const hid_t how = H5Dget_create_plist(set);
    if (how < 0) {
        return false;
    }
    const H5D_layout_t layout = H5Pget_layout(how);
    bool good = H5Pget_external_count(how) == 0;
    *chunked = layout == H5D_CHUNKED;
    if (*chunked) {
        good = good && H5Pget_chunk(how, rank, chunk) == rank;
        for (int i = 0; good && i < rank; ++i) {
            good = chunk[i] > 0;
        }
    } else {
        good = good && (layout == H5D_CONTIGUOUS || layout == H5D_COMPACT);
        memcpy(chunk, shape, (size_t)rank * sizeof *chunk);
    }
    (void)H5Pclose(how);
    return good;
}

/* Whether the file holds as much as the shape promises. Chunks are there whole, packed or not. */
static const char *compare_sizes(const saltus_results *r, hid_t set, size_t size, int rank,
                                 const hsize_t *shape, const hsize_t *chunk, bool chunked)
{
    const hsize_t stored = H5Dget_storage_size(set);
    hsize_t wanted = size;
    for (int i = 0; i < rank; ++i) {
        const hsize_t n = shape[i] == 0 ? 0 : chunked ? (shape[i] - 1) / chunk[i] + 1 : shape[i];
        wanted = times(wanted, n);
        wanted = chunked ? times(wanted, chunk[i]) : wanted;
    }
    if (stored > (hsize_t)r->size) {
        return "it is larger than the file";
    }
    return wanted > (chunked ? times(stored, MOST_PACKED) : stored) ? "part of it is missing"
                                                                    : NULL;
}

static saltus_status check(const saltus_results *r, const char *name, H5T_class_t class, int rank,
                           hsize_t *shape, hsize_t *chunk, bool sparse, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t whole[MOST_AXES] = {0}, whole_chunk[MOST_AXES] = {1, 1, 1, 1, 1};
    bool chunked = false;
    const bool has = saltus_h5_has(r, name);
    const int skip = is_swept(r, name);
    hid_t set = has ? H5Dopen2(r->file, name, H5P_DEFAULT) : H5I_INVALID_HID;

    if (set < 0) {
        SALTUS_TRY(saltus_h5_damaged(r, name, has ? NULL : "it is missing", err));
    }
    const size_t size = value_size(set, class);
    if (size == 0 || !get_shape(r, name, set, rank + skip, whole) ||
        !get_chunk(set, rank + skip, whole, whole_chunk, &chunked)) {
        SALTUS_TRY(saltus_h5_damaged(r, name, "it is of another kind", err));
    }
    const char *problem =
        sparse ? NULL : compare_sizes(r, set, size, rank + skip, whole, whole_chunk, chunked);
    if (problem || (skip && whole[0] < (hsize_t)r->n_swept)) {
        SALTUS_TRY(saltus_h5_damaged(r, name, problem ? problem : "points are missing", err));
    }
    memcpy(shape, whole + skip, (size_t)rank * sizeof *shape);
    if (chunk) {
        memcpy(chunk, whole_chunk + skip, (size_t)rank * sizeof *chunk);
    }
done:
    saltus_h5_close_dataset(&set);
    return status;
}

saltus_status saltus_h5_check(const saltus_results *r, const char *name, H5T_class_t class,
                              int rank, hsize_t *shape, hsize_t *chunk, saltus_error *err)
{
    return check(r, name, class, rank, shape, chunk, false, err);
}

saltus_status saltus_h5_check_sparse(const saltus_results *r, const char *name, H5T_class_t class,
                                     int rank, hsize_t *shape, saltus_error *err)
{
    return check(r, name, class, rank, shape, NULL, true, err);
}

saltus_status saltus_h5_expect(const saltus_results *r, const char *name, H5T_class_t class,
                               int rank, const hsize_t *shape, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t found[MOST_AXES] = {0};
    char why[100];
    SALTUS_TRY(saltus_h5_check(r, name, class, rank, found, NULL, err));
    for (int i = 0; i < rank; ++i) {
        if (found[i] != shape[i]) {
            (void)snprintf(why, sizeof why, "axis %d is %llu long instead of %llu", i + 1,
                           (unsigned long long)found[i], (unsigned long long)shape[i]);
            SALTUS_TRY(saltus_h5_damaged(r, name, why, err));
        }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

saltus_status saltus_h5_read(const saltus_results *r, const char *name, hid_t memory_type, int rank,
                             const hsize_t *start, const hsize_t *count, void *out,
                             saltus_error *err)
{
    herr_t rc = -1;
    saltus_status status = SALTUS_OK;
    hid_t set = H5Dopen2(r->file, name, H5P_DEFAULT);
    const int skip = is_swept(r, name);
    hsize_t at[MOST_AXES] = {(hsize_t)r->at}, n[MOST_AXES] = {1};
    memcpy(at + skip, start, (size_t)rank * sizeof *start);
    memcpy(n + skip, count, (size_t)rank * sizeof *count);
    if (set >= 0) {
        const hid_t from = H5Dget_space(set), to = H5Screate_simple(rank, count, NULL);
        if (H5Sget_simple_extent_ndims(from) == rank + skip &&
            H5Sselect_hyperslab(from, H5S_SELECT_SET, at, NULL, n, NULL) >= 0) {
            rc = H5Dread(set, memory_type, to, from, H5P_DEFAULT, out);
        }
        (void)H5Sclose(from);
        (void)H5Sclose(to);
    }
    if (rc < 0) {
        status = saltus_h5_damaged(r, name, NULL, err);
    }
    saltus_h5_close_dataset(&set);
    return status;
}

saltus_status saltus_h5_read_names(const saltus_results *r, const char *name, int *n, char ***names,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    hsize_t shape[1] = {0};
    const hsize_t start[1] = {0};
    char *text = NULL;
    hid_t type = H5I_INVALID_HID;

    *n = 0;
    if (!saltus_h5_has(r, name)) {
        return SALTUS_OK;
    }
    SALTUS_TRY(saltus_h5_check(r, name, H5T_STRING, 1, shape, NULL, err));
    if (shape[0] == 0) {
        return SALTUS_OK;
    }
    hid_t set = H5Dopen2(r->file, name, H5P_DEFAULT);
    type = H5Dget_type(set);
    saltus_h5_close_dataset(&set);
    const size_t size = H5Tget_size(type);
    if (shape[0] > MOST_NAMES || size == 0) {
        SALTUS_TRY(saltus_h5_damaged(r, name, "there are too many", err));
    }
    *names = saltus_calloc(shape[0], sizeof **names);
    text = saltus_calloc(shape[0], size);
    SALTUS_NEED(*names);
    SALTUS_NEED(text);
    SALTUS_TRY(saltus_h5_read(r, name, type, 1, start, shape, text, err));
    for (size_t i = 0; i < shape[0]; ++i) {
        const size_t length = strnlen(text + i * size, size);
        (*names)[i] = saltus_calloc(length + 1, 1);
        SALTUS_NEED((*names)[i]);
        memcpy((*names)[i], text + i * size, length);
        *n = (int)i + 1;
    }
done:
    if (type >= 0) {
        (void)H5Tclose(type);
    }
    saltus_free(text);
    return status;
}

static hid_t open_attribute(const saltus_results *r, const char *object, const char *name)
{
    return H5Aexists_by_name(r->file, object, name, H5P_DEFAULT) > 0
               ? H5Aopen_by_name(r->file, object, name, H5P_DEFAULT, H5P_DEFAULT)
               : H5I_INVALID_HID;
}

static saltus_status damaged_attribute(const saltus_results *r, const char *name, const char *why,
                                       saltus_error *err)
{
    char what[64];
    (void)snprintf(what, sizeof what, "attribute '%s'", name);
    return saltus_h5_damaged(r, what, why, err);
}

/* Whether it is one value and not an array of them. */
static bool is_single(hid_t attribute)
{
    const hid_t space = H5Aget_space(attribute);
    const bool single = space >= 0 && H5Sget_simple_extent_npoints(space) == 1;
    if (space >= 0) {
        (void)H5Sclose(space);
    }
    return single;
}

saltus_status saltus_h5_read_number(const saltus_results *r, const char *object, const char *name,
                                    hid_t memory_type, void *value, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hid_t attribute = open_attribute(r, object, name);
    if (attribute < 0 || !is_single(attribute)) {
        const char *why = attribute < 0 ? "it is missing" : "it is of another kind";
        SALTUS_TRY(damaged_attribute(r, name, why, err));
    }
    if (H5Aread(attribute, memory_type, value) < 0) {
        SALTUS_TRY(damaged_attribute(r, name, NULL, err));
    }
done:
    if (attribute >= 0) {
        (void)H5Aclose(attribute);
    }
    return status;
}
