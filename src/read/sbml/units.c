#include "read/sbml/sbml.h"

#include <math.h>
#include <string.h>

/* Multiply by 10^scale; powers of ten up to 22 are exact, so nano is one rounding. */
static double scaled(double value, int scale)
{
    double power = 1.0;
    for (int i = scale < 0 ? -scale : scale; i > 0 && isfinite(power); --i) {
        power *= 10.0;
    }
    return scale < 0 ? value / power : value * power;
}

/* Molecules in one unit of this kind; false when the kind does not count things. */
static bool kind_counts(sbml_reader *r, UnitKind_t kind, double *molecules)
{
    switch (kind) {
    case UNIT_KIND_MOLE:
    case UNIT_KIND_AVOGADRO:
        r->mole_seen = r->model->has_moles = true;
        *molecules = r->model->mole;
        return true;
    case UNIT_KIND_ITEM:
    case UNIT_KIND_DIMENSIONLESS:
        *molecules = 1.0;
        return true;
    default:
        return false;
    }
}

/* Amounts whose unit no file says, or one that counts no things, are molecules; but where the
 * reader was told how many molecules stand for a mole, they are moles, as level 2 has it. */
static void count_own(sbml_reader *r, double *molecules)
{
    *molecules = 1.0;
    r->open_seen = true;
    if (r->is_mole_given) {
        (void)kind_counts(r, UNIT_KIND_MOLE, molecules);
        r->scaled_seen = true;
    }
}

/* A unit of mass, say. How many molecules it is nothing tells, and nothing needs to while all
 * amounts are in the same. */
static saltus_status count_unknown(sbml_reader *r, const char *id, const char *what, unsigned line,
                                   double *molecules)
{
    if (r->odd_unit && strcmp(r->odd_unit, id) != 0) {
        return sbml_fail(r, SALTUS_E_UNSUPPORTED, line,
                         "unit '%s' of %s is not a multiple of mole or item, and neither is '%s'",
                         id, what, r->odd_unit);
    }
    if (!r->odd_unit) {
        sbml_warn(r, line,
                  "unit '%s' of %s is not a multiple of mole or item: an amount of 1 is taken as "
                  "%s",
                  id, what, r->is_mole_given ? "a mole" : "a molecule");
    }
    r->odd_unit = id;
    count_own(r, molecules);
    return SALTUS_OK;
}

static saltus_status definition_counts(sbml_reader *r, UnitDefinition_t *definition,
                                       const char *what, double *molecules)
{
    const char *id = UnitDefinition_getId(definition);
    const unsigned line = sbml_line(definition);
    const bool has_moles = r->mole_seen;
    double value = 1.0;
    int n_counting = 0;
    for (unsigned i = 0; i < UnitDefinition_getNumUnits(definition); ++i) {
        Unit_t *unit = UnitDefinition_getUnit(definition, i);
        const UnitKind_t kind = Unit_getKind(unit);
        const double exponent = Unit_getExponentAsDouble(unit);
        double base = 1.0;
        const bool counts = kind_counts(r, kind, &base);
        n_counting += kind != UNIT_KIND_DIMENSIONLESS;
        if (!counts || n_counting > 1 || (kind != UNIT_KIND_DIMENSIONLESS && exponent != 1.0)) {
            r->mole_seen = has_moles;
            return count_unknown(r, id, what, line, molecules);
        }
        const double one = scaled(Unit_getMultiplier(unit) * base, Unit_getScale(unit));
        value *= exponent == 1.0 ? one : pow(one, exponent);
    }
    if (!(value > 0.0 && isfinite(value))) {
        return sbml_fail(r, SALTUS_E_MODEL, line, "unit '%s' of %s is %g molecules", id, what,
                         value);
    }
    if (n_counting == 0) { /* a number, perhaps of dozens */
        count_own(r, molecules);
        value *= *molecules;
    }
    *molecules = value;
    return SALTUS_OK;
}

/* `line` is where the unit is used, for what is wrong with its name. */
static saltus_status unit_counts(sbml_reader *r, const char *id, const char *what, unsigned line,
                                 double *molecules)
{
    UnitDefinition_t *definition = Model_getUnitDefinitionById(r->sbml, id);
    saltus_status status = SALTUS_OK;
    *molecules = 1.0;
    if (definition) {
        status = definition_counts(r, definition, what, molecules);
    } else if (UnitKind_forName(id) == UNIT_KIND_DIMENSIONLESS ||
               (strcmp(id, "substance") == 0 && r->level < 3)) { /* the latter is undeclared */
        count_own(r, molecules);
    } else if (UnitKind_forName(id) != UNIT_KIND_INVALID) {
        if (!kind_counts(r, UnitKind_forName(id), molecules)) {
            status = count_unknown(r, id, what, line, molecules);
        }
    } else {
        status = sbml_fail(r, SALTUS_E_MODEL, line, "%s: unit '%s' is not defined", what, id);
    }
    r->scaled_seen = r->scaled_seen || *molecules != 1.0;
    return status;
}

/* The unit of amounts that the model declares for all, or NULL. */
static const char *model_substance(sbml_reader *r)
{
    if (r->level > 2) {
        return Model_isSetSubstanceUnits(r->sbml) ? Model_getSubstanceUnits(r->sbml) : NULL;
    }
    return Model_getUnitDefinitionById(r->sbml, "substance") ? "substance" : NULL;
}

saltus_status sbml_species_unit(sbml_reader *r, Species_t *species, double *molecules)
{
    char what[200];
    const char *own =
        Species_isSetSubstanceUnits(species) ? Species_getSubstanceUnits(species) : NULL;
    const char *unit = own ? own : model_substance(r);
    *molecules = 1.0;
    if (!unit) {
        count_own(r, molecules);
        return SALTUS_OK;
    }
    (void)snprintf(what, sizeof what, "species '%.150s'", Species_getId(species));
    return unit_counts(r, unit, what, sbml_line(species), molecules);
}

saltus_status sbml_law_unit(sbml_reader *r, const KineticLaw_t *law, const sbml_place *place,
                            double *firings)
{
    const char *unit = r->level < 3 && KineticLaw_isSetSubstanceUnits(law)
                           ? KineticLaw_getSubstanceUnits(law)
                           : NULL;
    const double extent = *firings;
    const saltus_status status =
        unit ? unit_counts(r, unit, place->what, place->line, firings) : SALTUS_OK;
    return status == SALTUS_OK && *firings != extent && !model_substance(r)
               ? sbml_fail(r, SALTUS_E_UNSUPPORTED, place->line,
                           "%s: its unit of substance '%s' cannot be converted: the model's is not "
                           "declared",
                           place->what, unit)
               : status;
}

saltus_status sbml_extent_unit(sbml_reader *r, Reaction_t *reaction, double *firings)
{
    char what[200];
    const char *unit = r->level > 2 && Model_isSetExtentUnits(r->sbml)
                           ? Model_getExtentUnits(r->sbml)
                           : model_substance(r);
    *firings = 0.0;
    if (!unit) {
        return SALTUS_OK;
    }
    (void)snprintf(what, sizeof what, "reaction '%.150s'", Reaction_getId(reaction));
    return unit_counts(r, unit, what, sbml_line(reaction), firings);
}

/* ---- sizes and times ---- */

/* A unit in powers of metre or of second; 0 when it measures something else. */
static double kind_in(UnitKind_t kind, UnitKind_t base, double *power)
{
    const bool is_litre = kind == UNIT_KIND_LITRE || kind == UNIT_KIND_LITER;
    *power = 0.0;
    if (kind == UNIT_KIND_DIMENSIONLESS) {
        return 1.0;
    }
    if (base == UNIT_KIND_METRE && is_litre) {
        *power = 3.0;
        return 1e-3;
    }
    if (kind == base || (base == UNIT_KIND_METRE && kind == UNIT_KIND_METER)) {
        *power = 1.0;
        return 1.0;
    }
    return 0.0;
}

static double definition_in(UnitDefinition_t *definition, UnitKind_t base, double *power)
{
    double value = 1.0;
    *power = 0.0;
    for (unsigned i = 0; i < UnitDefinition_getNumUnits(definition); ++i) {
        const Unit_t *unit = UnitDefinition_getUnit(definition, i);
        const double exponent = Unit_getExponentAsDouble(unit);
        double own = 0.0;
        const double one = kind_in(Unit_getKind(unit), base, &own);
        value *= pow(scaled(Unit_getMultiplier(unit) * one, Unit_getScale(unit)), exponent);
        *power += own * exponent;
    }
    return value;
}

/* A unit in base^power. Level 2 has names for units that a document need not define, which then are
 * the usual ones; so is a unit that is not named. 0: it is no such unit. */
static double unit_in(const sbml_reader *r, const char *id, const char *name, double usual,
                      UnitKind_t base, double power)
{
    double own = 0.0;
    id = id && *id ? id : r->level < 3 ? name : NULL;
    UnitDefinition_t *definition = id ? Model_getUnitDefinitionById(r->sbml, id) : NULL;
    if (!id || (!definition && r->level < 3 && strcmp(id, name) == 0)) {
        return usual;
    }
    const double value = definition ? definition_in(definition, base, &own)
                                    : kind_in(UnitKind_forName(id), base, &own);
    return own == power && value > 0.0 && isfinite(value) ? value : 0.0;
}

/* A unit in m^dimensions, 1 to 3. */
static double size_in(const sbml_reader *r, const char *id, int dimensions)
{
    static const char *const names[] = {"", "length", "area", "volume"};
    static const double usual[] = {0.0, 1.0, 1.0, 1e-3};
    return unit_in(r, id, names[dimensions], usual[dimensions], UNIT_KIND_METRE, dimensions);
}

double sbml_size_unit(const sbml_reader *r, const Compartment_t *compartment, int dimensions)
{
    const char *id = NULL;
    if (dimensions == 0) {
        return 0.0;
    }
    if (Compartment_isSetUnits(compartment)) {
        id = Compartment_getUnits(compartment);
    } else if (r->level > 2) {
        id = dimensions == 3   ? Model_getVolumeUnits(r->sbml)
             : dimensions == 2 ? Model_getAreaUnits(r->sbml)
                               : Model_getLengthUnits(r->sbml);
    }
    return size_in(r, id, dimensions);
}

double sbml_time_unit(const sbml_reader *r)
{
    const char *id = r->level > 2 ? Model_getTimeUnits(r->sbml) : NULL;
    return unit_in(r, id, "time", 1.0, UNIT_KIND_SECOND, 1.0);
}

/* ---- units that the first levels let something have of its own ---- */

static bool is_same(double a, double b)
{
    return b > 0.0 && fabs(a - b) <= 1e-9 * b;
}

saltus_status sbml_unit_of_time(sbml_reader *r, const char *id, const char *what, unsigned line,
                                double *time)
{
    const double own = unit_in(r, id, "time", 1.0, UNIT_KIND_SECOND, 1.0),
                 usual = r->model->time_unit;
    *time = 1.0;
    if (!id || strcmp(id, "time") == 0 || strcmp(id, "dimensionless") == 0) { /* the model's */
        return SALTUS_OK;
    }
    if (!(own > 0.0 && usual > 0.0)) {
        return sbml_fail(r, SALTUS_E_UNSUPPORTED, line,
                         "%s: its unit of time '%s' cannot be converted to the model's", what, id);
    }
    *time = is_same(own, usual) ? 1.0 : own / usual;
    return SALTUS_OK;
}

saltus_status sbml_check_size_unit(sbml_reader *r, int v, Compartment_t *compartment)
{
    const sbml_info *info = &r->info[v];
    const saltus_variable *in = &r->model->variables[r->model->variables[v].compartment];
    const char *id = Species_getSpatialSizeUnits(info->species),
               *usual = Compartment_getUnits(compartment);
    const bool matters = info->concentration || Species_isSetInitialConcentration(info->species);
    if (!id || !matters || in->dimensions == 0 || (usual && strcmp(id, usual) == 0) ||
        is_same(size_in(r, id, in->dimensions), in->size_unit)) {
        return SALTUS_OK;
    }
    return sbml_fail(r, SALTUS_E_UNSUPPORTED, sbml_line(info->species),
                     "species '%s': its concentrations are per '%s' (spatialSizeUnits), which is "
                     "not the unit of the size of its compartment '%s'",
                     Species_getId(info->species), id, in->id);
}
