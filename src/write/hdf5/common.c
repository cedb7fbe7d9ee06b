#include "write/hdf5/common.h"

#include "core/memory.h"

#include <string.h>

/* The innermost entry knows most. Where the system reported an error, HDF5 has its text within its
 * own. */
static herr_t keep_innermost(unsigned n, const H5E_error2_t *entry, void *user)
{
    static const char mark[] = "error message = '";
    saltus_h5_quiet *quiet = user;
    const char *system = entry->desc ? strstr(entry->desc, mark) : NULL;
    const char *from = system ? system + sizeof mark - 1 : entry->desc ? entry->desc : "";
    const size_t length = system ? strcspn(from, "'") : strcspn(from, "\n");
    (void)n;
    (void)snprintf(quiet->cause, sizeof quiet->cause, "%.*s", (int)length, from);
    return 1; /* stop */
}

/* HDF5 calls this where it would print. The next call to it would clear its record. */
static herr_t keep_first(hid_t stack, void *user)
{
    saltus_h5_quiet *quiet = user;
    if (quiet->cause[0] == '\0') {
        (void)H5Ewalk2(stack, H5E_WALK_UPWARD, keep_innermost, quiet);
    }
    return 0;
}

/* HDF5 keeps a file that it could not close, and crashes on it when the program ends, unless it is
 * told before its first use to do nothing then. Here every file is closed in any case. */
void saltus_h5_quiet_begin(saltus_h5_quiet *quiet)
{
    (void)H5dont_atexit();
    *quiet = (saltus_h5_quiet){0};
    (void)H5Eget_auto2(H5E_DEFAULT, &quiet->function, &quiet->data);
    (void)H5Eset_auto2(H5E_DEFAULT, keep_first, quiet);
}

void saltus_h5_quiet_end(const saltus_h5_quiet *quiet)
{
    (void)H5Eset_auto2(H5E_DEFAULT, quiet->function, quiet->data);
}

const char *saltus_h5_cause(void)
{
    H5E_auto2_t function;
    void *data;
    if (H5Eget_auto2(H5E_DEFAULT, &function, &data) >= 0 && function == keep_first) {
        const saltus_h5_quiet *quiet = data;
        return quiet->cause[0] ? quiet->cause : "unknown cause";
    }
    return "unknown cause";
}

void saltus_h5_close_dataset(hid_t *id)
{
    if (*id >= 0) {
        (void)H5Dclose(*id);
    }
    *id = H5I_INVALID_HID;
}

void saltus_h5_close_group(hid_t *id)
{
    if (*id >= 0) {
        (void)H5Gclose(*id);
    }
    *id = H5I_INVALID_HID;
}

hid_t saltus_h5_text_type(size_t size)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0) {
        (void)H5Tset_size(type, size > 0 ? size : 1);
        (void)H5Tset_cset(type, H5T_CSET_UTF8);
        (void)H5Tset_strpad(type, H5T_STR_NULLPAD);
    }
    return type;
}

herr_t saltus_h5_set_number(hid_t object, const char *name, hid_t file_type, hid_t memory_type,
                            const void *value)
{
    hid_t attribute;
    if (H5Aexists(object, name) > 0) {
        attribute = H5Aopen(object, name, H5P_DEFAULT);
    } else {
        const hid_t space = H5Screate(H5S_SCALAR);
        attribute = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
        (void)H5Sclose(space);
    }
    if (attribute < 0) {
        return -1;
    }
    const herr_t rc = H5Awrite(attribute, memory_type, value);
    (void)H5Aclose(attribute);
    return rc;
}

herr_t saltus_h5_set_text(hid_t object, const char *name, const char *text)
{
    const hid_t type = saltus_h5_text_type(H5T_VARIABLE);
    const herr_t rc = saltus_h5_set_number(object, name, type, type, &text);
    (void)H5Tclose(type);
    return rc;
}

herr_t saltus_h5_set_fixed(hid_t object, const char *name, const char *text)
{
    const hid_t type = saltus_h5_text_type(strlen(text) + 1);
    (void)H5Tset_strpad(type, H5T_STR_NULLTERM); /* or HDF5 takes no scale for one */
    const herr_t rc = saltus_h5_set_number(object, name, type, type, text);
    (void)H5Tclose(type);
    return rc;
}

herr_t saltus_h5_set_int64(hid_t object, const char *name, int64_t value)
{
    return saltus_h5_set_number(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

herr_t saltus_h5_set_int64_of(hid_t file, const char *path, const char *name, int64_t value)
{
    const hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    const herr_t rc = object < 0 ? -1 : saltus_h5_set_int64(object, name, value);
    (void)H5Oclose(object);
    return rc;
}

size_t saltus_h5_longest(const char *const *names, size_t n)
{
    size_t longest = 1;
    for (size_t i = 0; i < n; ++i) {
        const size_t length = strlen(names[i]);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Many names are packed, because most are shorter than the longest. */
static hid_t names_properties(hsize_t n, size_t size)
{
    enum { PLAIN_BYTES = 64 * 1024, CHUNK_BYTES = 1024 * 1024 };
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    if (n > PLAIN_BYTES / size) {
        const hsize_t fitting = CHUNK_BYTES / size, chunk = fitting < 1   ? 1
                                                            : fitting < n ? fitting
                                                                          : n;
        (void)H5Pset_chunk(how, 1, &chunk);
        (void)H5Pset_deflate(how, 1);
    }
    return how;
}

saltus_status saltus_h5_write_names(hid_t file, const char *path, const char *const *names,
                                    size_t n, hid_t *set, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const hsize_t shape[1] = {n};
    const size_t size = saltus_h5_longest(names, n);
    char *text = saltus_calloc(n, size);
    SALTUS_NEED(text);
    for (size_t i = 0; i < n; ++i) {
        memcpy(text + i * size, names[i], strlen(names[i]));
    }
    const hid_t type = saltus_h5_text_type(size), space = H5Screate_simple(1, shape, NULL);
    const hid_t how = names_properties(n, size), links = H5Pcreate(H5P_LINK_CREATE);
    (void)H5Pset_create_intermediate_group(links, 1);
    *set = H5Dcreate2(file, path, type, space, links, how, H5P_DEFAULT);
    if (*set < 0 || (n > 0 && H5Dwrite(*set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0)) {
        status =
            saltus_error_set(err, SALTUS_E_IO, "%s cannot be written: %s", path, saltus_h5_cause());
    }
    (void)H5Pclose(links);
    (void)H5Pclose(how);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
done:
    saltus_free(text);
    return status;
}

char *saltus_h5_escape(const char *name)
{
    char *escaped = saltus_calloc(3 * strlen(name) + 1, 1);
    char *out = escaped;
    for (const char *c = name; escaped && *c; ++c) {
        if (*c == '%' || *c == '/' || (*c == '.' && c == name)) {
            out += snprintf(out, 4, "%%%02X", (unsigned)(unsigned char)*c);
        } else {
            *out++ = *c;
        }
    }
    return escaped;
}

char *saltus_h5_named(const char *pattern, const char *name)
{
    const char *at = strstr(pattern, "%s");
    char *escaped = saltus_h5_escape(name);
    const size_t size = escaped ? strlen(pattern) + strlen(escaped) + 1 : 0;
    char *path = escaped ? saltus_calloc(size, 1) : NULL;
    if (path) {
        (void)snprintf(path, size, "%.*s%s%s", (int)(at - pattern), pattern, escaped, at + 2);
    }
    saltus_free(escaped);
    return path;
}

char *saltus_h5_frames_name(const char *species)
{
    const bool is_taken = strcmp(species, "time") == 0 || strcmp(species, "there") == 0;
    return saltus_h5_named(is_taken ? "space/frames/%74%s" : "space/frames/%s", species + is_taken);
}
