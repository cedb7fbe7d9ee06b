/* Models that are made of submodels, by the SBML package comp: libsbml flattens them, and what
 * submodel A calls k becomes A__k. */
#include "read/sbml/sbml.h"

#if LIBSBML_HAS_PACKAGE_COMP
/* each needs those before it */
#include <sbml/packages/comp/sbml/Submodel.h>
#include <sbml/packages/comp/extension/CompModelPlugin.h>
#include <sbml/packages/comp/extension/CompSBMLDocumentPlugin.h>

#include <stdlib.h>
#include <string.h>

/* A few lines can ask for 2^100 copies of themselves. */
enum { MAX_DEPTH = 100, MAX_PARTS = 1000000 };

static CompSBMLDocumentPlugin_t *definitions(const sbml_reader *r)
{
    return (CompSBMLDocumentPlugin_t *)SBase_getPlugin((SBase_t *)r->document, "comp");
}

CompModelPlugin_t *sbml_composition(Model_t *m)
{
    return (CompModelPlugin_t *)SBase_getPlugin((SBase_t *)m, "comp");
}

static unsigned n_submodels(Model_t *m)
{
    CompModelPlugin_t *own = sbml_composition(m);
    return own ? CompModelPlugin_getNumSubmodels(own) : 0;
}

static const char *or_none(const char *id)
{
    return id ? id : "";
}

/* What the C functions of the package return is the caller's. */
static const char *model_of(sbml_reader *r, Submodel_t *s)
{
    free(r->model_ref);
    r->model_ref = Submodel_getModelRef(s);
    return or_none(r->model_ref);
}

/* The model of that name, by its place among the definitions, which stands in the reader's names;
 * NULL: there is none in the document. */
static Model_t *find_definition(const sbml_reader *r, const char *id)
{
    const int i = saltus_map_get(&r->names, id);
    if (i >= 0) {
        return (Model_t *)CompSBMLDocumentPlugin_getModelDefinition(definitions(r), (unsigned)i);
    }
    return strcmp(or_none(Model_getId(r->sbml)), id) == 0 ? r->sbml : NULL;
}

Model_t *sbml_definition_of(sbml_reader *r, Submodel_t *s)
{
    return s ? find_definition(r, model_of(r, s)) : NULL;
}

static saltus_status refuse_missing(sbml_reader *r, const Submodel_t *s, const char *id,
                                    const char *model)
{
    if (!CompSBMLDocumentPlugin_getExternalModelDefinitionById(definitions(r), model)) {
        return sbml_fail(r, SALTUS_E_MODEL, sbml_line(s),
                         "submodel '%.100s': there is no model '%.100s'", id, model);
    }
    (void)sbml_fail(r, SALTUS_E_UNSUPPORTED, sbml_line(s),
                    "submodel '%.100s': its model '%.100s' is in another file, which is not "
                    "supported",
                    id, model);
    saltus_error_hint(r->err, "flatten the submodels into one file first");
    return SALTUS_E_UNSUPPORTED;
}

/* A law without a formula, at which libsbml crashes where times are converted, is none. */
static void drop_empty_laws(Model_t *m)
{
    for (unsigned i = 0; i < Model_getNumReactions(m); ++i) {
        Reaction_t *reaction = Model_getReaction(m, i);
        if (Reaction_isSetKineticLaw(reaction) &&
            !KineticLaw_isSetMath(Reaction_getKineticLaw(reaction))) {
            Reaction_unsetKineticLaw(reaction);
        }
    }
}

/* What a model says of all its species holds for them alone. */
static void keep_factors(Model_t *m)
{
    for (unsigned i = 0; i < Model_getNumSpecies(m) && Model_isSetConversionFactor(m); ++i) {
        Species_t *s = Model_getSpecies(m, i);
        if (!Species_isSetConversionFactor(s)) {
            Species_setConversionFactor(s, Model_getConversionFactor(m));
        }
    }
    Model_unsetConversionFactor(m);
}

/* The unit of sizes of so many dimensions; NULL: there is none. */
static const char *unit_of_size(const Model_t *m, double dimensions)
{
    return dimensions == 3.0   ? Model_getVolumeUnits(m)
           : dimensions == 2.0 ? Model_getAreaUnits(m)
           : dimensions == 1.0 ? Model_getLengthUnits(m)
                               : NULL;
}

/* Units of a model's amounts and sizes, which libsbml would drop with the model. */
static void keep_units(Model_t *m)
{
    for (unsigned i = 0; i < Model_getNumSpecies(m) && Model_isSetSubstanceUnits(m); ++i) {
        Species_t *s = Model_getSpecies(m, i);
        if (!Species_isSetSubstanceUnits(s)) {
            Species_setSubstanceUnits(s, Model_getSubstanceUnits(m));
        }
    }
    for (unsigned i = 0; i < Model_getNumCompartments(m); ++i) {
        Compartment_t *c = Model_getCompartment(m, i);
        const char *unit = unit_of_size(m, Compartment_getSpatialDimensionsAsDouble(c));
        if (!Compartment_isSetUnits(c) && Compartment_isSetSpatialDimensions(c) && unit && *unit) {
            Compartment_setUnits(c, unit);
        }
    }
}

/* Count what flattening will make of a model that is `depth` submodels down. */
static saltus_status count_parts(sbml_reader *r, Model_t *m, int depth, double *parts)
{
    saltus_status status = SALTUS_OK;
    *parts += 1.0 + Model_getNumCompartments(m) + Model_getNumSpecies(m) +
              Model_getNumParameters(m) + Model_getNumReactions(m) + Model_getNumRules(m) +
              Model_getNumInitialAssignments(m) + Model_getNumEvents(m) +
              Model_getNumFunctionDefinitions(m);
    for (unsigned i = 0; i < n_submodels(m); ++i) {
        Submodel_t *s = CompModelPlugin_getSubmodel(sbml_composition(m), i);
        const char *id = or_none(SBase_getIdAttribute((SBase_t *)s)), *name = model_of(r, s);
        Model_t *of = find_definition(r, name);
        if (!of) {
            return refuse_missing(r, s, id, name);
        }
        if (depth == MAX_DEPTH || *parts > MAX_PARTS) {
            return sbml_fail(r, SALTUS_E_UNSUPPORTED, sbml_line(s),
                             "submodel '%.100s': submodels are nested more than %d deep, contain "
                             "themselves or have more than %d parts",
                             id, MAX_DEPTH, MAX_PARTS);
        }
        SALTUS_TRY(count_parts(r, of, depth + 1, parts));
    }
done:
    return status;
}

static saltus_status check_submodels(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    double parts = 0.0;
    const unsigned n = CompSBMLDocumentPlugin_getNumModelDefinitions(definitions(r));
    for (unsigned i = 0; i < n; ++i) {
        Model_t *m = (Model_t *)CompSBMLDocumentPlugin_getModelDefinition(definitions(r), i);
        const char *id = or_none(Model_getId(m));
        drop_empty_laws(m);
        keep_factors(m);
        keep_units(m);
        SALTUS_TRY(sbml_mark_meanings(r, m, i));
        SALTUS_TRY(sbml_note_factors(r, m));
        if (saltus_map_get(&r->names, id) >= 0) {
            return sbml_fail(r, SALTUS_E_MODEL, sbml_line(m),
                             "model '%.100s': that name is defined twice", id);
        }
        if (saltus_map_put(&r->names, id, (int)i) != 0) {
            SALTUS_FAIL(SALTUS_E_NO_MEMORY, "memory ran out");
        }
    }
    keep_factors(r->sbml);
    sbml_forget_names(r->sbml);
    SALTUS_TRY(count_parts(r, r->sbml, 0, &parts));
    for (unsigned i = 0; i < n; ++i) {
        SALTUS_TRY(sbml_check_factors(
            r, (Model_t *)CompSBMLDocumentPlugin_getModelDefinition(definitions(r), i)));
    }
    SALTUS_TRY(sbml_check_factors(r, r->sbml));
done:
    return status;
}

static int convert(SBMLDocument_t *document, ConversionProperties_t *how)
{
    ConversionProperties_addOptionWithKey(how, "flatten comp");
    ConversionProperties_setBoolValue(how, "flatten comp", 1);
    ConversionProperties_addOptionWithKey(how, "performValidation"); /* by the reader itself */
    ConversionProperties_setBoolValue(how, "performValidation", 0);
    return SBMLDocument_convert(document, how);
}

saltus_status sbml_flatten(sbml_reader *r)
{
    saltus_status status = SALTUS_OK;
    saltus_error *err = r->err;
    if (!definitions(r) || n_submodels(r->sbml) == 0) {
        return SALTUS_OK;
    }
    SALTUS_TRY(check_submodels(r));
    saltus_map_free(&r->names); /* its keys go */
    r->names = (saltus_map){0};
    r->how = ConversionProperties_create();
    SALTUS_NEED(r->how);
    const unsigned before = SBMLDocument_getNumErrors(r->document);
    const int code = convert(r->document, r->how);
    r->sbml = SBMLDocument_getModel(r->document);
    status = sbml_check_flattened(r, code == LIBSBML_OPERATION_SUCCESS, before);
done:
    return status;
}

#else
saltus_status sbml_flatten(sbml_reader *r)
{
    (void)r;
    return SALTUS_OK;
}
#endif
