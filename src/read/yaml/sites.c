/* `sites` of a lattice: types of sites, painted one over the other. */
#include "core/file.h"
#include "core/limits.h"
#include "model/lattice/geometry.h"
#include "read/image.h"
#include "read/yaml/lattice.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static saltus_status missing(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                             const char *what, const char *key)
{
    return saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX, "%s: '%s' is missing", what, key);
}

/* All fields must be there. */
static saltus_status read_fields(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                                 const char *what, saltus_yaml_field *fields, int n)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_yaml_fields(l->yaml, node, what, fields, n));
    for (int i = 0; i < n; ++i) {
        if (!fields[i].entry) {
            status = missing(l, node, what, fields[i].key);
            goto done;
        }
    }
done:
    return status;
}

/* A length above 0. */
static saltus_status read_radius(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                 const char *what, double *out)
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_read_length(l, node, what, out));
    if (!(*out > 0.0)) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL, "%s: '%.60s' must be above 0",
                                  what, node->text);
    }
done:
    return status;
}

/* ---- shapes ---- */

static saltus_status read_box(saltus_lattice_reader *l, const saltus_yaml_node *node,
                              const char *what, saltus_shape *s)
{
    saltus_status status = SALTUS_OK;
    saltus_yaml_field f[] = {{.key = "from"}, {.key = "to"}};
    SALTUS_TRY(read_fields(l, node, what, f, 2));
    SALTUS_TRY(saltus_read_lengths(l, f[0].entry->value, what, s->a));
    SALTUS_TRY(saltus_read_lengths(l, f[1].entry->value, what, s->b));
    for (int i = 0; i < 3; ++i) {
        if (!(s->a[i] < s->b[i])) {
            status = saltus_yaml_fail(l->yaml, f[1].entry->value, SALTUS_E_MODEL,
                                      "%s: 'to' must be above 'from' in x, y and z", what);
            goto done;
        }
    }
done:
    return status;
}

static saltus_status read_sphere(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                 const char *what, saltus_shape *s)
{
    saltus_status status = SALTUS_OK;
    saltus_yaml_field f[] = {{.key = "centre"}, {.key = "radius"}};
    SALTUS_TRY(read_fields(l, node, what, f, 2));
    SALTUS_TRY(saltus_read_lengths(l, f[0].entry->value, what, s->a));
    SALTUS_TRY(read_radius(l, f[1].entry->value, what, &s->b[0]));
    s->b[1] = s->b[2] = s->b[0];
done:
    return status;
}

static saltus_status read_ellipsoid(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                    const char *what, saltus_shape *s)
{
    saltus_status status = SALTUS_OK;
    saltus_yaml_field f[] = {{.key = "centre"}, {.key = "radii"}};
    SALTUS_TRY(read_fields(l, node, what, f, 2));
    SALTUS_TRY(saltus_read_lengths(l, f[0].entry->value, what, s->a));
    SALTUS_TRY(saltus_read_lengths(l, f[1].entry->value, what, s->b));
    if (!(s->b[0] > 0.0 && s->b[1] > 0.0 && s->b[2] > 0.0)) {
        status = saltus_yaml_fail(l->yaml, f[1].entry->value, SALTUS_E_MODEL,
                                  "%s: radii must be above 0", what);
    }
done:
    return status;
}

/* Whether two points are the same but for rounding, in sites. */
static bool is_one_point(const double a[3], const double b[3])
{
    const double near = SALTUS_SHAPE_NEAR;
    return fabs(a[0] - b[0]) < near && fabs(a[1] - b[1]) < near && fabs(a[2] - b[2]) < near;
}

/* Capsules and cylinders. */
static saltus_status read_rod(saltus_lattice_reader *l, const saltus_yaml_node *node,
                              const char *what, saltus_shape *s)
{
    saltus_status status = SALTUS_OK;
    saltus_yaml_field f[] = {{.key = "from"}, {.key = "to"}, {.key = "radius"}};
    SALTUS_TRY(read_fields(l, node, what, f, 3));
    SALTUS_TRY(saltus_read_lengths(l, f[0].entry->value, what, s->a));
    SALTUS_TRY(saltus_read_lengths(l, f[1].entry->value, what, s->b));
    SALTUS_TRY(read_radius(l, f[2].entry->value, what, &s->radius));
    if (s->kind == SALTUS_SHAPE_CYLINDER && is_one_point(s->a, s->b)) {
        status =
            saltus_yaml_fail(l->yaml, f[1].entry->value, SALTUS_E_MODEL,
                             "%s: 'to' is where 'from' is, so the cylinder has no direction", what);
    }
done:
    return status;
}

static saltus_status read_shape(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                const char *what, saltus_shape *s);

/* Unions and differences: a list of shapes. */
static saltus_status read_parts(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                const char *what, saltus_shape *s)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    const saltus_shape **next = &s->parts;
    if (node->kind != SALTUS_YAML_SEQUENCE || !node->first) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX,
                                  "%s: a list of shapes, [shape, shape], is wanted here", what);
        goto done;
    }
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        saltus_shape *part = saltus_arena_alloc(&l->yaml->model->arena, sizeof *part);
        SALTUS_NEED(part);
        SALTUS_TRY(read_shape(l, e->value, what, part));
        *next = part;
        next = (const saltus_shape **)&part->next;
    }
done:
    return status;
}

typedef saltus_status shape_reader(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                   const char *what, saltus_shape *s);

typedef struct shape_name {
    const char *name;
    saltus_shape_kind kind;
    shape_reader *read;
} shape_name;

static const shape_name shapes[] = {
    {"box", SALTUS_SHAPE_BOX, read_box},
    {"sphere", SALTUS_SHAPE_ELLIPSOID, read_sphere},
    {"ellipsoid", SALTUS_SHAPE_ELLIPSOID, read_ellipsoid},
    {"capsule", SALTUS_SHAPE_CAPSULE, read_rod},
    {"cylinder", SALTUS_SHAPE_CYLINDER, read_rod},
    {"union", SALTUS_SHAPE_UNION, read_parts},
    {"difference", SALTUS_SHAPE_DIFFERENCE, read_parts},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static const shape_name *find_shape(const char *name)
{
    for (int i = 0; i < N_SHAPES; ++i) {
        if (strcmp(shapes[i].name, name) == 0) {
            return &shapes[i];
        }
    }
    return NULL;
}

/* "{sphere: …}" */
static saltus_status read_shape(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                const char *what, saltus_shape *s)
{
    saltus_status status = SALTUS_OK;
    saltus_yaml_field f[N_SHAPES];
    for (int i = 0; i < N_SHAPES; ++i) {
        f[i] = (saltus_yaml_field){.key = shapes[i].name};
    }
    SALTUS_TRY(saltus_yaml_fields(l->yaml, node, what, f, N_SHAPES));
    if (!node->first || node->first->next) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX,
                                  "%s: one shape is wanted here; 'union' joins several", what);
        goto done;
    }
    const shape_name *name = find_shape(node->first->key->text);
    s->kind = name->kind;
    SALTUS_TRY(name->read(l, node->first->value, what, s));
done:
    return status;
}

/* ---- what is painted ---- */

static saltus_status paint_shape(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                 const char *what, int type)
{
    saltus_status status = SALTUS_OK;
    saltus_shape s = {.kind = SALTUS_SHAPE_BOX};
    SALTUS_TRY(read_shape(l, node, what, &s));
    saltus_paint_shape(l->space, &s, type);
done:
    return status;
}

/* A type that stands before the one that is being painted. */
static saltus_status read_other_type(const saltus_lattice_reader *l, const saltus_yaml_node *node,
                                     const char *what, int type, int *out)
{
    const saltus_status status = saltus_read_type(l, node, what, out);
    return status == SALTUS_OK && *out == type
               ? saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL,
                                  "%s: '%s' is this type itself; one of those before it is wanted",
                                  what, node->text)
               : status;
}

static saltus_status paint_shell(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                 const char *what, int type)
{
    saltus_status status = SALTUS_OK;
    int of = 0;
    double layers = 1.0;
    bool is_connected = false;
    saltus_yaml_field f[] = {{.key = "of"}, {.key = "layers"}, {.key = "connected"}};
    SALTUS_TRY(saltus_yaml_fields(l->yaml, node, what, f, 3));
    if (!f[0].entry) {
        status = missing(l, node, what, "of");
        goto done;
    }
    SALTUS_TRY(read_other_type(l, f[0].entry->value, what, type, &of));
    if (f[1].entry) {
        SALTUS_TRY(saltus_read_whole(l, f[1].entry->value, what, 1.0, 1000.0, &layers));
    }
    SALTUS_TRY(saltus_yaml_bool(l->yaml, &f[2], what, &is_connected));
    SALTUS_TRY(saltus_paint_shell(l->space, of, (int)layers, is_connected, type, l->yaml->err));
done:
    return status;
}

/* An obstacle stands around the point 0: its centre is not given. */
static saltus_status read_obstacle(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                   const saltus_yaml_field given[3], const char *what,
                                   saltus_shape *s)
{
    saltus_status status = SALTUS_OK;
    enum { SPHERE, ELLIPSOID, BOX };
    if (!!given[SPHERE].entry + !!given[ELLIPSOID].entry + !!given[BOX].entry != 1) {
        status =
            saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX,
                             "%s: one of 'sphere', 'ellipsoid' and 'box' is wanted here", what);
        goto done;
    }
    const int kind = given[SPHERE].entry ? SPHERE : given[ELLIPSOID].entry ? ELLIPSOID : BOX;
    const saltus_yaml_node *shape = given[kind].entry->value;
    saltus_yaml_field f[] = {{.key = kind == SPHERE      ? "radius"
                                     : kind == ELLIPSOID ? "radii"
                                                         : "size"}};
    SALTUS_TRY(read_fields(l, shape, what, f, 1));
    const saltus_yaml_node *size = f[0].entry->value;
    if (kind == SPHERE) {
        SALTUS_TRY(read_radius(l, size, what, &s->b[0]));
        s->b[1] = s->b[2] = s->b[0];
    } else {
        SALTUS_TRY(saltus_read_lengths(l, size, what, s->b));
    }
    s->kind = kind == BOX ? SALTUS_SHAPE_BOX : SALTUS_SHAPE_ELLIPSOID;
    for (int i = 0; i < 3; ++i) {
        if (!(s->b[i] > 0.0)) {
            status =
                saltus_yaml_fail(l->yaml, size, SALTUS_E_MODEL, "%s: sizes must be above 0", what);
            goto done;
        }
        if (kind == BOX) {
            s->b[i] *= 0.5;
            s->a[i] = -s->b[i];
        }
    }
done:
    return status;
}

static saltus_status paint_pack(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                const char *what, int type)
{
    enum { IN, FRACTION, SEED, OVERLAP, SHAPE, N = SHAPE + 3 };
    saltus_status status = SALTUS_OK;
    saltus_shape shape = {.kind = SALTUS_SHAPE_BOX};
    saltus_packing p = {.shape = &shape};
    static const saltus_quantity number = {"fraction from 0 to 1", "0.3", {{"", 0.0}}, 0, 1.0};
    double seed = 0.0, taken = 0.0;
    saltus_yaml_field f[N] = {{.key = "in"},      {.key = "fraction"}, {.key = "seed"},
                              {.key = "overlap"}, {.key = "sphere"},   {.key = "ellipsoid"},
                              {.key = "box"}};
    SALTUS_TRY(saltus_yaml_fields(l->yaml, node, what, f, N));
    if (!f[IN].entry || !f[FRACTION].entry || !f[SEED].entry) {
        status = missing(l, node, what,
                         !f[IN].entry         ? "in"
                         : !f[FRACTION].entry ? "fraction"
                                              : "seed");
        goto done;
    }
    SALTUS_TRY(read_other_type(l, f[IN].entry->value, what, type, &p.in));
    SALTUS_TRY(saltus_read_quantity(l, f[FRACTION].entry->value, what, &number, &p.fraction));
    SALTUS_TRY(saltus_read_whole(l, f[SEED].entry->value, what, 0.0, 0x1p53, &seed));
    SALTUS_TRY(saltus_yaml_bool(l->yaml, &f[OVERLAP], what, &p.overlap));
    SALTUS_TRY(read_obstacle(l, node, &f[SHAPE], what, &shape));
    if (!(p.fraction > 0.0 && p.fraction <= 1.0)) {
        status = saltus_yaml_fail(l->yaml, f[FRACTION].entry->value, SALTUS_E_MODEL,
                                  "%s: the fraction must be above 0 and at most 1", what);
        goto done;
    }
    p.seed = (uint64_t)seed;
    saltus_paint_pack(l->space, &p, type, &taken);
    if (taken < p.fraction * (1.0 - 1e-12)) {
        status = saltus_yaml_fail(l->yaml, f[FRACTION].entry->value, SALTUS_E_MODEL,
                                  "%s: obstacles found room in %.3g of '%s', not in %.3g", what,
                                  taken, l->space->type_names[p.in], p.fraction);
        saltus_error_hint(l->yaml->err, p.overlap
                                            ? "make them smaller, or the fraction"
                                            : "make them smaller or let them overlap ('overlap: "
                                              "true')");
    }
done:
    return status;
}

static saltus_status paint_image(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                 const char *what, int type)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err, problem = {0};
    const char *file = "";
    char *path = NULL;
    uint8_t *mask = NULL;
    double value = 0.0;
    saltus_yaml_field f[] = {{.key = "file"}, {.key = "value"}};
    SALTUS_TRY(read_fields(l, node, what, f, 2));
    SALTUS_TRY(saltus_yaml_text(l->yaml, f[0].entry->value, what, &file));
    SALTUS_TRY(saltus_read_whole(l, f[1].entry->value, what, 0.0, 4294967295.0, &value));
    path = saltus_path_beside(l->yaml->name, file);
    SALTUS_NEED(path);
    mask = saltus_calloc((size_t)l->space->n_sites, 1);
    SALTUS_NEED(mask);
    status =
        saltus_image_mask(l->yaml->archive, path, l->space->size, (uint32_t)value, mask, &problem);
    if (status != SALTUS_OK) {
        (void)saltus_yaml_fail(l->yaml, f[0].entry->value, status, "%s: %.300s", what,
                               problem.message);
        goto done;
    }
    saltus_paint_mask(l->space, mask, type);
done:
    saltus_free(path);
    saltus_free(mask);
    return status;
}

/* ---- the section ---- */

static saltus_status add_type(const saltus_lattice_reader *l, const saltus_yaml_node *key)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_space *space = l->space;
    const char *name = key->text;
    bool good = !isdigit((unsigned char)name[0]);
    for (const char *c = name; *c; ++c) {
        good &= isalnum((unsigned char)*c) || *c == '_';
    }
    if (!good) {
        status = saltus_yaml_fail(l->yaml, key, SALTUS_E_SYNTAX,
                                  "site type '%.80s': a name is letters, digits and '_', and "
                                  "does not start with a digit",
                                  name);
        goto done;
    }
    if (saltus_find_type(space, name, strlen(name)) >= 0) {
        status = saltus_yaml_fail(l->yaml, key, SALTUS_E_SYNTAX, "site type '%.80s' is given twice",
                                  name);
        goto done;
    }
    if (space->n_types == SALTUS_LATTICE_MOST_TYPES) {
        status = saltus_yaml_fail(l->yaml, key, SALTUS_E_UNSUPPORTED,
                                  "there are more than %d site types", SALTUS_LATTICE_MOST_TYPES);
        goto done;
    }
    space->type_names[space->n_types] =
        saltus_arena_strndup(&l->yaml->model->arena, name, strlen(name));
    SALTUS_NEED(space->type_names[space->n_types]);
    ++space->n_types;
done:
    return status;
}

static saltus_status paint(saltus_lattice_reader *l, const saltus_yaml_node *node, const char *what,
                           int type)
{
    const saltus_yaml_entry *only =
        node->kind == SALTUS_YAML_MAPPING && node->first && !node->first->next ? node->first : NULL;
    const char *kind = only ? only->key->text : "";
    if (strcmp(kind, "shell") == 0) {
        return paint_shell(l, only->value, what, type);
    }
    if (strcmp(kind, "pack") == 0) {
        return paint_pack(l, only->value, what, type);
    }
    if (strcmp(kind, "image") == 0) {
        return paint_image(l, only->value, what, type);
    }
    if (only && !find_shape(kind)) {
        const saltus_status status = saltus_yaml_fail(l->yaml, only->key, SALTUS_E_SYNTAX,
                                                      "%s: '%.80s' is not known here", what, kind);
        saltus_error_hint(l->yaml->err, "known are box, sphere, ellipsoid, capsule, cylinder, "
                                        "union, difference, shell, pack, image");
        return status;
    }
    return paint_shape(l, node, what, type);
}

/* Where there are several: a byte for each site. */
static saltus_status make_types(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_space *space = l->space;
    bool is_limit = false;
    if ((double)space->n_sites > 0.5 * saltus_memory_most(&is_limit)) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_NO_MEMORY,
                                  "sites: there is no memory for the types of %.4g sites",
                                  (double)space->n_sites);
        goto done;
    }
    space->types = saltus_calloc((size_t)space->n_sites, 1);
    SALTUS_NEED(space->types);
done:
    return status;
}

saltus_status saltus_read_sites(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    char what[200];
    SALTUS_TRY(saltus_yaml_mapping(l->yaml, node, "sites"));
    if (node->first && node->first->next) {
        SALTUS_TRY(make_types(l, node));
    }
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        (void)snprintf(what, sizeof what, "site type '%.120s'", e->key->text);
        SALTUS_TRY(add_type(l, e->key));
        if (e == node->first && !saltus_yaml_is_nothing(e->value)) {
            status = saltus_yaml_fail(l->yaml, e->value, SALTUS_E_SYNTAX,
                                      "%s: the first type is all sites and has no shape", what);
            goto done;
        }
        if (e != node->first) {
            SALTUS_TRY(paint(l, e->value, what, l->space->n_types - 1));
        }
    }
    saltus_count_sites(l->space);
    int type = 0;
    for (const saltus_yaml_entry *e = node->first; e; e = e->next, ++type) {
        if (l->space->sites_of[type] == 0) {
            status = saltus_yaml_fail(l->yaml, e->key, SALTUS_E_MODEL,
                                      "site type '%.120s' has no sites", e->key->text);
            saltus_error_hint(l->yaml->err, "its shape holds no centre of a site, or later types "
                                            "are painted over all of it");
            goto done;
        }
    }
done:
    return status;
}
