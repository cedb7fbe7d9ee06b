/* Conversion factors of what submodels have replaced. libsbml writes X/c for each X in a submodel
 * where X stands for an element that is converted by c: it takes no notice whether that X came from
 * this element, from another one, which has it divided twice, or is itself a factor that it has
 * written before. The model is refused then. */
#include "read/sbml/sbml.h"

#if LIBSBML_HAS_PACKAGE_COMP
/* each needs those before it */
#include <sbml/packages/comp/sbml/Submodel.h>
#include <sbml/packages/comp/sbml/SBaseRef.h>
#include <sbml/packages/comp/sbml/ReplacedElement.h>
#include <sbml/packages/comp/extension/CompModelPlugin.h>
#include <sbml/packages/comp/extension/CompSBasePlugin.h>

#include <stdlib.h>
#include <string.h>

/* What is known of one model: "A X" is whether X has a factor in submodel A; "A=X" is that X is a
 * factor there. */
typedef struct factors {
    sbml_reader *r;
    saltus_map *known;
    enum { NOTE, COMPARE, FIND } what;
    CompModelPlugin_t *in; /* the submodels of the model */
    const char *wanted;    /* a factor that is looked for; NULL: any */
    bool is_found;
} factors;

/* What the C functions of the package return is the caller's. */
static saltus_status take(sbml_reader *r, char *text, const char **out)
{
    *out = text && *text ? saltus_arena_strndup(&r->model->arena, text, strlen(text)) : "";
    free(text);
    return *out ? SALTUS_OK : saltus_error_set(r->err, SALTUS_E_NO_MEMORY, "memory ran out");
}

static saltus_status make_key(sbml_reader *r, const char *submodel, const char *between,
                              const char *name, const char **out)
{
    const size_t size = strlen(submodel) + strlen(between) + strlen(name) + 1;
    char *key = saltus_arena_alloc(&r->model->arena, size);
    if (!key) {
        return saltus_error_set(r->err, SALTUS_E_NO_MEMORY, "memory ran out");
    }
    (void)snprintf(key, size, "%s%s%s", submodel, between, name);
    *out = key;
    return SALTUS_OK;
}

static saltus_status put(factors *f, const char *key, int value)
{
    return saltus_map_put(f->known, key, value) == 0
               ? SALTUS_OK
               : saltus_error_set(f->r->err, SALTUS_E_NO_MEMORY, "memory ran out");
}

static saltus_status note_factor(factors *f, const char *submodel, const char *factor)
{
    saltus_status status = SALTUS_OK;
    const char *key = NULL;
    SALTUS_TRY(make_key(f->r, submodel, "=", factor, &key));
    SALTUS_TRY(put(f, key, 1));
done:
    return status;
}

static saltus_status refuse(const factors *f, const void *element, const char *id,
                            const char *submodel, const char *why)
{
    return sbml_fail(f->r, SALTUS_E_UNSUPPORTED, sbml_line(element),
                     "'%.100s' replaces something of submodel '%.100s' by a conversion factor, "
                     "and %s, which is not supported",
                     id, submodel, why);
}

static saltus_status look_at_model(factors *f, Model_t *m);

/* The factors of a submodel's time and extent, or "". */
static saltus_status take_factors(sbml_reader *r, Submodel_t *s, const char *factor[2])
{
    saltus_status status = SALTUS_OK;
    SALTUS_TRY(take(r, Submodel_getTimeConversionFactor(s), &factor[0]));
    SALTUS_TRY(take(r, Submodel_getExtentConversionFactor(s), &factor[1]));
done:
    return status;
}

/* Whether a model uses a name, or NULL for any, as a factor of something. */
static saltus_status find_factor(sbml_reader *r, Model_t *m, const char *name, bool *is_found)
{
    saltus_status status = SALTUS_OK;
    CompModelPlugin_t *own = sbml_composition(m);
    factors f = {.r = r, .what = FIND, .wanted = name};
    const char *factor[2] = {NULL, NULL};
    for (unsigned i = 0; i < Model_getNumSpecies(m); ++i) {
        const char *of = Species_getConversionFactor(Model_getSpecies(m, i));
        f.is_found |= of && *of && (!name || strcmp(of, name) == 0);
    }
    for (unsigned i = 0; own && i < CompModelPlugin_getNumSubmodels(own); ++i) {
        SALTUS_TRY(take_factors(r, CompModelPlugin_getSubmodel(own, i), factor));
        for (int k = 0; k < 2; ++k) {
            f.is_found |= *factor[k] && (!name || strcmp(factor[k], name) == 0);
        }
    }
    SALTUS_TRY(look_at_model(&f, m));
    *is_found = f.is_found;
done:
    return status;
}

static saltus_status follow(sbml_reader *r, Model_t **definition, SBaseRef_t *reference,
                            const char **name);

static saltus_status follow_port(sbml_reader *r, Model_t **definition, SBaseRef_t *reference,
                                 const char **name)
{
    saltus_status status = SALTUS_OK;
    CompModelPlugin_t *own = sbml_composition(*definition);
    const char *id = NULL;
    SALTUS_TRY(take(r, SBaseRef_getPortRef(reference), &id));
    SBaseRef_t *port = own ? (SBaseRef_t *)CompModelPlugin_getPortById(own, id) : NULL;
    if (port && !SBaseRef_isSetPortRef(port)) {
        SALTUS_TRY(follow(r, definition, port, name));
    }
done:
    return status;
}

static saltus_status follow_metaid(sbml_reader *r, Model_t *definition, SBaseRef_t *reference,
                                   const char **name)
{
    saltus_status status = SALTUS_OK;
    const char *metaid = NULL;
    SALTUS_TRY(take(r, SBaseRef_getMetaIdRef(reference), &metaid));
    for (unsigned i = 0; i < Model_getNumParameters(definition); ++i) {
        Parameter_t *p = Model_getParameter(definition, i);
        const char *own = SBase_getMetaId((SBase_t *)p);
        *name = own && strcmp(own, metaid) == 0 ? Parameter_getId(p) : *name;
    }
done:
    return status;
}

/* The parameter that a reference names, and the definition that it is in, which was that of the
 * submodel; NULL: it is not found. */
static saltus_status follow(sbml_reader *r, Model_t **definition, SBaseRef_t *reference,
                            const char **name)
{
    saltus_status status = SALTUS_OK;
    *name = NULL;
    if (SBaseRef_isSetPortRef(reference)) {
        SALTUS_TRY(follow_port(r, definition, reference, name));
    } else if (SBaseRef_isSetIdRef(reference)) {
        SALTUS_TRY(take(r, SBaseRef_getIdRef(reference), name));
    } else if (SBaseRef_isSetMetaIdRef(reference)) {
        SALTUS_TRY(follow_metaid(r, *definition, reference, name));
    }
    if (*name && SBaseRef_isSetSBaseRef(reference)) {
        CompModelPlugin_t *own = sbml_composition(*definition);
        Submodel_t *s = own ? CompModelPlugin_getSubmodelById(own, *name) : NULL;
        *name = NULL;
        Model_t *deeper = sbml_definition_of(r, s);
        if (deeper) {
            *definition = deeper;
            SALTUS_TRY(follow(r, definition, SBaseRef_getSBaseRef(reference), name));
        }
    }
done:
    return status;
}

/* A factor that is converted itself stays what it was. What is not found may be any. */
static saltus_status look_whether_factor(factors *f, const char *submodel,
                                         ReplacedElement_t *replaced, bool *is_factor)
{
    saltus_status status = SALTUS_OK;
    const char *name = NULL;
    Model_t *definition =
        sbml_definition_of(f->r, CompModelPlugin_getSubmodelById(f->in, submodel));
    if (definition) {
        SALTUS_TRY(follow(f->r, &definition, (SBaseRef_t *)replaced, &name));
        SALTUS_TRY(name ? find_factor(f->r, definition, name, is_factor) : SALTUS_OK);
    }
    *is_factor |= !name && f->r->has_factors;
done:
    return status;
}

static saltus_status look_at(factors *f, const char *id, bool is_parameter,
                             ReplacedElement_t *replaced)
{
    saltus_status status = SALTUS_OK;
    const char *submodel = NULL, *factor = NULL, *key = NULL;
    SALTUS_TRY(take(f->r, ReplacedElement_getSubmodelRef(replaced), &submodel));
    SALTUS_TRY(take(f->r, ReplacedElement_getConversionFactor(replaced), &factor));
    if (f->what == FIND) {
        f->is_found |= *factor && (!f->wanted || strcmp(factor, f->wanted) == 0);
        goto done;
    }
    if (f->what == COMPARE) {
        SALTUS_TRY(make_key(f->r, submodel, "=", id, &key));
        if (*factor && saltus_map_get(f->known, key) >= 0) {
            status = refuse(f, replaced, id, submodel, "is one there");
        }
        goto done;
    }
    const int has_factor = *factor ? 1 : 0;
    if (*factor) {
        bool is_factor = false;
        SALTUS_TRY(note_factor(f, submodel, factor));
        if (is_parameter) {
            SALTUS_TRY(look_whether_factor(f, submodel, replaced, &is_factor));
        }
        if (is_factor) {
            status = refuse(f, replaced, id, submodel, "what it replaces is one there");
            goto done;
        }
    }
    SALTUS_TRY(make_key(f->r, submodel, " ", id, &key));
    const int before = saltus_map_get(f->known, key);
    if (before > 0 || (before == 0 && has_factor)) {
        status = refuse(f, replaced, id, submodel, "something else");
        goto done;
    }
    SALTUS_TRY(put(f, key, has_factor));
done:
    return status;
}

static saltus_status look_at_element(factors *f, SBase_t *element, const char *id)
{
    saltus_status status = SALTUS_OK;
    const bool is_parameter = SBase_getTypeCode(element) == SBML_PARAMETER;
    CompSBasePlugin_t *own = (CompSBasePlugin_t *)SBase_getPlugin(element, "comp");
    const unsigned n = own && id ? CompSBasePlugin_getNumReplacedElements(own) : 0;
    for (unsigned i = 0; i < n; ++i) {
        SALTUS_TRY(look_at(f, id, is_parameter, CompSBasePlugin_getReplacedElement(own, i)));
    }
done:
    return status;
}

static saltus_status look_at_side(factors *f, ListOf_t *side)
{
    saltus_status status = SALTUS_OK;
    for (unsigned i = 0; i < ListOf_size(side); ++i) {
        SBase_t *reference = ListOf_get(side, i);
        SALTUS_TRY(
            look_at_element(f, reference, SpeciesReference_getId((SpeciesReference_t *)reference)));
    }
done:
    return status;
}

static saltus_status look_at_model(factors *f, Model_t *m)
{
    saltus_status status = SALTUS_OK;
    for (unsigned i = 0; i < Model_getNumCompartments(m); ++i) {
        Compartment_t *c = Model_getCompartment(m, i);
        SALTUS_TRY(look_at_element(f, (SBase_t *)c, Compartment_getId(c)));
    }
    for (unsigned i = 0; i < Model_getNumSpecies(m); ++i) {
        Species_t *s = Model_getSpecies(m, i);
        SALTUS_TRY(look_at_element(f, (SBase_t *)s, Species_getId(s)));
    }
    for (unsigned i = 0; i < Model_getNumParameters(m); ++i) {
        Parameter_t *p = Model_getParameter(m, i);
        SALTUS_TRY(look_at_element(f, (SBase_t *)p, Parameter_getId(p)));
    }
    for (unsigned i = 0; i < Model_getNumReactions(m); ++i) {
        Reaction_t *reaction = Model_getReaction(m, i);
        SALTUS_TRY(look_at_element(f, (SBase_t *)reaction, Reaction_getId(reaction)));
        SALTUS_TRY(look_at_side(f, Reaction_getListOfReactants(reaction)));
        SALTUS_TRY(look_at_side(f, Reaction_getListOfProducts(reaction)));
    }
done:
    return status;
}

saltus_status sbml_note_factors(sbml_reader *r, Model_t *m)
{
    bool is_found = false;
    const saltus_status status = find_factor(r, m, NULL, &is_found);
    r->has_factors |= is_found;
    return status;
}

saltus_status sbml_check_factors(sbml_reader *r, Model_t *m)
{
    saltus_status status = SALTUS_OK;
    CompModelPlugin_t *own = sbml_composition(m);
    const unsigned n = own ? CompModelPlugin_getNumSubmodels(own) : 0;
    factors f = {.r = r, .known = &r->factors, .in = own};
    for (unsigned i = 0; i < n; ++i) {
        Submodel_t *s = CompModelPlugin_getSubmodel(own, i);
        const char *id = SBase_getIdAttribute((SBase_t *)s), *factor[2] = {NULL, NULL};
        SALTUS_TRY(take_factors(r, s, factor));
        for (int k = 0; k < 2; ++k) {
            SALTUS_TRY(note_factor(&f, id ? id : "", factor[k]));
        }
    }
    if (n > 0) {
        SALTUS_TRY(look_at_model(&f, m));
        f.what = COMPARE;
        SALTUS_TRY(look_at_model(&f, m));
    }
done:
    saltus_map_free(&r->factors);
    r->factors = (saltus_map){0};
    return status;
}
#endif
