/* The section `lattice` of a YAML model; docs/yaml-format.md describes it. */
#include "model/lattice/geometry.h"
#include "read/yaml/lattice.h"

#include <math.h>
#include <string.h>

static saltus_status read_size(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    saltus_space *space = l->space;
    const saltus_yaml_node *items[3];
    int n = 0;
    double size = 0.0, n_sites = 1.0;
    SALTUS_TRY(saltus_read_items(l, node, "size", 3, items, &n));
    if (n != 3) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX,
                                  "size: numbers of sites are wanted here: [x, y, z]");
        goto done;
    }
    for (int i = 0; i < 3; ++i) {
        SALTUS_TRY(saltus_read_whole(l, items[i], "size", 1.0, 0x1p30, &size));
        space->size[i] = (int32_t)size;
        n_sites *= size;
    }
    if (n_sites > 0x1p40) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_NO_MEMORY,
                                  "size: there is no memory for %.4g sites", n_sites);
        goto done;
    }
    space->n_sites = (int64_t)n_sites;
done:
    return status;
}

static saltus_status read_spacing(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    static const saltus_quantity length = {"length", "16 nm", {{"m", 1.0}}, 1, 0.0};
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(saltus_read_quantity(l, node, "spacing", &length, &l->space->spacing));
    if (!(l->space->spacing > 0.0)) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL, "spacing: '%.60s' must be above 0",
                                  node->text);
    } else if (!isnormal(pow(l->space->spacing, 3.0))) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL,
                                  "spacing: the volume of a site of '%.60s' is no number that can "
                                  "be computed with",
                                  node->text);
    }
done:
    return status;
}

/* ---- faces ---- */

/* "{species: concentration}": that of the others is 0. */
static saltus_status read_concentrations(saltus_lattice_reader *l, const saltus_yaml_node *node,
                                         const char *what, const double **out)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_model *m = l->yaml->model;
    const saltus_quantity concentration = saltus_concentration(l->space);
    int v = 0;
    double *means = saltus_arena_alloc(&m->arena, (m->n_variables + 1) * sizeof *means);
    SALTUS_NEED(means);
    SALTUS_TRY(saltus_yaml_no_key_twice(l->yaml, node, what));
    for (const saltus_yaml_entry *e = node->first; e; e = e->next) {
        SALTUS_TRY(saltus_read_species(l, e->key, what, &v));
        SALTUS_TRY(saltus_read_quantity(l, e->value, what, &concentration, &means[v]));
        if (!(means[v] >= 0.0 && means[v] <= SALTUS_MOST_PER_SITE)) {
            status = saltus_yaml_fail(l->yaml, e->value, SALTUS_E_MODEL,
                                      "%s: %.4g particles per site; there can be 0 to %.0f", what,
                                      means[v], SALTUS_MOST_PER_SITE);
            goto done;
        }
    }
    *out = means;
done:
    return status;
}

static saltus_status read_face(saltus_lattice_reader *l, const saltus_yaml_node *node,
                               const char *what, int face)
{
    static const char *const words[] = {"periodic", "reflecting", "absorbing"};
    saltus_status status = SALTUS_OK;
    const char *text = "";
    int i = 0;
    if (node->kind == SALTUS_YAML_MAPPING) {
        l->space->faces[face] = SALTUS_FACE_CONSTANT;
        SALTUS_TRY(read_concentrations(l, node, what, &l->space->face_means[face]));
        goto done;
    }
    SALTUS_TRY(saltus_yaml_text(l->yaml, node, what, &text));
    while (i < 3 && strcmp(text, words[i]) != 0) {
        ++i;
    }
    if (i == 3) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX, "%s: '%.40s' is no kind of face",
                                  what, text);
        saltus_error_hint(l->yaml->err, "known are periodic, reflecting, absorbing, and "
                                        "{species: concentration}");
        goto done;
    }
    l->space->faces[face] = (saltus_face)i;
done:
    return status;
}

/* One for all, or per axis (x) or face (x-, x+); those that are not given reflect. */
static saltus_status read_faces(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    enum { N = 9 };
    static const char *const keys[N] = {"x", "y", "z", "x-", "x+", "y-", "y+", "z-", "z+"};
    saltus_status status = SALTUS_OK;
    saltus_yaml_field f[N];
    char what[20];
    if (node->kind != SALTUS_YAML_MAPPING) {
        for (int face = 0; face < SALTUS_N_FACES; ++face) {
            SALTUS_TRY(read_face(l, node, "faces", face));
        }
        goto done;
    }
    for (int i = 0; i < N; ++i) {
        f[i] = (saltus_yaml_field){.key = keys[i]};
    }
    SALTUS_TRY(saltus_yaml_fields(l->yaml, node, "faces", f, N));
    for (int i = 0; i < N; ++i) {
        (void)snprintf(what, sizeof what, "face %s", keys[i]);
        const int first = i < 3 ? 2 * i : i - 3, n = i < 3 ? 2 : 1;
        for (int face = first; f[i].entry && face < first + n; ++face) {
            SALTUS_TRY(read_face(l, f[i].entry->value, what, face));
        }
    }
    for (int axis = 0; axis < 3; ++axis) {
        const saltus_face *pair = &l->space->faces[2 * axis];
        if ((pair[0] == SALTUS_FACE_PERIODIC) != (pair[1] == SALTUS_FACE_PERIODIC)) {
            status = saltus_yaml_fail(l->yaml, node, SALTUS_E_MODEL,
                                      "faces: '%s-' and '%s+' must both be periodic, or neither",
                                      keys[axis], keys[axis]);
            goto done;
        }
    }
done:
    return status;
}

/* ---- the section ---- */

/* All sites alike, where there is no `sites`. */
static saltus_status read_or_make_sites(saltus_lattice_reader *l, const saltus_yaml_field *sites)
{
    if (sites->entry) {
        return saltus_read_sites(l, sites->entry->value);
    }
    l->space->type_names[l->space->n_types++] = "space";
    saltus_count_sites(l->space);
    return SALTUS_OK;
}

static saltus_status make_arrays(saltus_lattice_reader *l)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = l->yaml->err;
    saltus_model *m = l->yaml->model;
    saltus_space *s = l->space;
    const size_t n = m->n_variables + 1;
    s->diffusion = saltus_arena_alloc(&m->arena, n * sizeof *s->diffusion);
    s->has_diffusion = saltus_arena_alloc(&m->arena, n * sizeof *s->has_diffusion);
    s->has_amounts = saltus_arena_alloc(&m->arena, n * sizeof *s->has_amounts);
    s->rates = saltus_arena_alloc(&m->arena, (m->n_reactions + 1) * sizeof *s->rates);
    SALTUS_NEED(s->diffusion && s->has_diffusion && s->has_amounts && s->rates);
    for (int face = 0; face < SALTUS_N_FACES; ++face) {
        s->faces[face] = SALTUS_FACE_REFLECTING;
    }
done:
    return status;
}

/* Events change what is well mixed. */
static saltus_status refuse_events(const saltus_lattice_reader *l)
{
    const saltus_model *m = l->yaml->model;
    return m->n_events == 0 ? SALTUS_OK
                            : saltus_error_set(l->yaml->err, SALTUS_E_UNSUPPORTED,
                                               "%.180s:%d: event '%.120s': there are no events on "
                                               "a lattice",
                                               m->path, m->events[0].line, m->events[0].id);
}

/* "all", or "one" as in the paper of kernel/rdme/mpd.h. */
static saltus_status read_reactions_per_step(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    const char *text = NULL;
    SALTUS_TRY(saltus_yaml_text(l->yaml, node, "reactions_per_step", &text));
    l->space->only_one = strcmp(text, "one") == 0;
    if (!l->space->only_one && strcmp(text, "all") != 0) {
        status = saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX,
                                  "reactions_per_step: 'all' or 'one' is needed");
    }
done:
    return status;
}

static saltus_status read_fields(saltus_lattice_reader *l, const saltus_yaml_node *node)
{
    enum {
        SIZE,
        SPACING,
        STEP,
        DIFFUSION,
        FACES,
        SITES,
        COMPARTMENTS,
        PLACE,
        REACTIONS,
        PER_STEP,
        N
    };
    saltus_status status = SALTUS_OK;
    saltus_yaml_field f[N] = {{.key = "size"},         {.key = "spacing"},
                              {.key = "step"},         {.key = "diffusion"},
                              {.key = "faces"},        {.key = "sites"},
                              {.key = "compartments"}, {.key = "place"},
                              {.key = "reactions"},    {.key = "reactions_per_step"}};
    SALTUS_TRY(saltus_yaml_fields(l->yaml, node, "lattice", f, N));
    for (int i = SIZE; i <= DIFFUSION; ++i) {
        if (!f[i].entry) {
            status = saltus_yaml_fail(l->yaml, node, SALTUS_E_SYNTAX, "lattice: '%s' is missing",
                                      f[i].key);
            goto done;
        }
    }
    SALTUS_TRY(read_size(l, f[SIZE].entry->value));
    SALTUS_TRY(read_spacing(l, f[SPACING].entry->value));
    SALTUS_TRY(saltus_read_step(l, f[STEP].entry->value));
    if (f[FACES].entry) {
        SALTUS_TRY(read_faces(l, f[FACES].entry->value));
    }
    if (f[PER_STEP].entry) {
        SALTUS_TRY(read_reactions_per_step(l, f[PER_STEP].entry->value));
    }
    SALTUS_TRY(read_or_make_sites(l, &f[SITES]));
    SALTUS_TRY(saltus_read_compartments(
        l, f[COMPARTMENTS].entry ? f[COMPARTMENTS].entry->value : NULL, node, f[SITES].entry));
    SALTUS_TRY(saltus_read_diffusion(l, f[DIFFUSION].entry->value));
    if (l->space->step == 0.0) {
        SALTUS_TRY(saltus_largest_step(l, f[STEP].entry->value));
    }
    SALTUS_TRY(saltus_read_place(l, f[PLACE].entry ? f[PLACE].entry->value : NULL));
    SALTUS_TRY(saltus_read_rates(l, f[REACTIONS].entry ? f[REACTIONS].entry->value : NULL));
    SALTUS_TRY(saltus_place_reactions(l, f[REACTIONS].entry ? f[REACTIONS].entry->value : node));
done:
    return status;
}

saltus_status saltus_yaml_lattice(const saltus_yaml_reader *r, const saltus_yaml_node *node)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    saltus_lattice_reader l = {.yaml = r};
    l.space = saltus_arena_alloc(&r->model->arena, sizeof *l.space);
    SALTUS_NEED(l.space);
    r->model->space = l.space;
    l.space->mole = r->model->mole;
    l.space->line = node->line;
    l.space->path = saltus_arena_strndup(&r->model->arena, r->name, strlen(r->name));
    SALTUS_NEED(l.space->path);
    SALTUS_TRY(make_arrays(&l));
    SALTUS_TRY(refuse_events(&l));
    SALTUS_TRY(read_fields(&l, node));
done:
    return status;
}
