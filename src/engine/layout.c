#include "engine/layout.h"

#include "core/list.h"

#include <string.h>

#define ROW(id, name, backends, methods, refusal, is_named, about) \
    [SALTUS_LAYOUT_##id] = {name, backends, methods, refusal, is_named, about},
static const saltus_layout_info layouts[SALTUS_N_LAYOUTS] = {
    [SALTUS_LAYOUT_AUTO] = {"auto", 0, 0, NULL, true, ""}, SALTUS_LAYOUTS(ROW)};

const saltus_layout_info *saltus_layout_of(saltus_layout layout)
{
    return &layouts[layout];
}

saltus_layout saltus_layout_first(unsigned backend, saltus_method method)
{
    int i = 1;
    while (i < SALTUS_N_LAYOUTS &&
           !(layouts[i].backends & backend && layouts[i].methods & SALTUS_METHOD_BIT(method))) {
        ++i;
    }
    return i < SALTUS_N_LAYOUTS ? (saltus_layout)i : SALTUS_LAYOUT_AUTO;
}

/* Whether it can be asked for, if only to be told why not. */
static bool is_known(const saltus_layout_info *l, unsigned backend, saltus_method method)
{
    const unsigned others = l->refusal && !saltus_method_of(method)->in_space
                                ? SALTUS_LAYOUT_MIXED | SALTUS_LAYOUT_MEAN
                                : 0;
    return l->is_named && l->backends & backend &&
           (l->methods | others) & SALTUS_METHOD_BIT(method);
}

saltus_status saltus_layout_parse(const char *name, unsigned backend, saltus_method method,
                                  saltus_layout *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const char *names[SALTUS_N_LAYOUTS] = {layouts[SALTUS_LAYOUT_AUTO].name};
    const saltus_method_ops *m = saltus_method_of(method);
    char list[200];
    int n = 1;
    *out = SALTUS_LAYOUT_AUTO;
    if (strcmp(name, names[0]) == 0) {
        goto done;
    }
    for (int i = 1; i < SALTUS_N_LAYOUTS; ++i) {
        if (!is_known(&layouts[i], backend, method)) {
            continue;
        }
        names[n++] = layouts[i].name;
        if (strcmp(name, layouts[i].name) == 0) {
            *out = (saltus_layout)i;
            goto done;
        }
    }
    if (n == 1) {
        SALTUS_FAIL(SALTUS_E_INVALID, "layout '%s': method %s has auto alone", name, m->name);
    }
    SALTUS_FAIL(SALTUS_E_INVALID, "layout '%s': %s%s has %s", name,
                m->in_space ? "on a lattice " : "", backend == SALTUS_ON_CPU ? "the CPU" : "a GPU",
                saltus_list_and(names, n, list, sizeof list));
done:
    return status;
}
