/* saltus_model_set_volume: sizes of compartments, with units. */
#include "core/number.h"
#include "model/network/volume.h"
#include "read/units.h"

#include <math.h>
#include <string.h>

typedef struct volume {
    double value;
    const char *unit; /* "" without one */
} volume;

static saltus_status parse_volume(const char *text, volume *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    size_t length = 0;
    const char *start = text + strspn(text, " \t");
    if (saltus_number_parse(start, &out->value, &length) != SALTUS_NUMBER_OK ||
        !(out->value > 0.0)) {
        status = saltus_error_set(err, SALTUS_E_INVALID, "'%.80s' is no volume above 0", text);
        saltus_error_hint(err, "write it like '1 fL', '0.5 um^3' or, in the model's own unit, "
                               "'1e-15'");
        goto done;
    }
    out->unit = start + length + strspn(start + length, " \t");
done:
    return status;
}

/* A volume in the compartment's own unit. */
static saltus_status size_in(const saltus_variable *c, const volume *wanted, double *size,
                             saltus_error *err)
{
    static const char *const si[] = {"", "m", "m2", "m3"};
    static const char *const nouns[] = {"", "length", "area", "volume"};
    saltus_status status = SALTUS_OK;
    saltus_unit_fit fit = SALTUS_UNIT_UNKNOWN;
    double factor = 0.0;
    *size = wanted->value;
    if (*wanted->unit == '\0') {
        goto done;
    }
    if (!(c->size_unit > 0.0) || c->dimensions < 1) {
        status =
            saltus_error_set(err, SALTUS_E_INVALID,
                             "the model does not say in which unit the size of '%.100s' is", c->id);
        saltus_error_hint(err, "give it as a number without a unit, in that of the model");
        goto done;
    }
    SALTUS_TRY(saltus_units_factor(wanted->unit, si[c->dimensions], &fit, &factor, err));
    if (fit != SALTUS_UNIT_FITS) {
        status =
            saltus_error_set(err, SALTUS_E_INVALID, "'%.40s' is no unit of %s, as '%.100s' has",
                             wanted->unit, nouns[c->dimensions], c->id);
        saltus_error_hint(err, "write it like '%s'",
                          c->dimensions == 3   ? "1 fL"
                          : c->dimensions == 2 ? "0.5 um^2"
                                               : "2 um");
        goto done;
    }
    *size = wanted->value * factor / c->size_unit;
done:
    return status;
}

static saltus_status no_compartment(const saltus_model *model, const char *name, saltus_error *err)
{
    char list[300] = "";
    size_t used = 0;
    int n_all = 0;
    for (size_t i = 0; i < model->n_variables; ++i) {
        if (model->variables[i].kind == SALTUS_KIND_COMPARTMENT) {
            const int n = snprintf(list + used, sizeof list - used, "%s%.60s", used > 0 ? ", " : "",
                                   model->variables[i].id);
            used += n > 0 && (size_t)n < sizeof list - used ? (size_t)n : 0;
            list[used] = '\0';
            ++n_all;
        }
    }
    if (n_all == 0) {
        saltus_error_set(err, SALTUS_E_INVALID,
                         "the volume of '%.100s' cannot be changed: model '%.100s' has no "
                         "compartments",
                         name, model->name);
        saltus_error_hint(err, "`set` changes amounts and constants one by one");
    } else {
        saltus_error_set(err, SALTUS_E_INVALID,
                         "the volume of '%.100s' cannot be changed: model '%.100s' has no "
                         "compartment of that name",
                         name, model->name);
        saltus_error_hint(err, "there are %s; 'all' stands for every one", list);
    }
    return SALTUS_E_INVALID;
}

/* Compartments that "all" means: not areas, lengths and points. */
static bool is_volume(const saltus_variable *v)
{
    return v->kind == SALTUS_KIND_COMPARTMENT && !v->is_point &&
           (v->dimensions == 0 || v->dimensions == 3);
}

/* Whether "all" leaves a volume alone, because a rule determines its size; unless that is so of
 * all, which is refused. */
static bool is_left_alone(saltus_model *model, const saltus_variable *v)
{
    bool others = false;
    for (size_t i = 0; i < model->n_variables && v->rule; ++i) {
        others |= is_volume(&model->variables[i]) && !model->variables[i].rule;
    }
    if (others) {
        saltus_model_warn(model, "the size of '%s' is left alone: a rule determines it", v->id);
    }
    return others;
}

saltus_status saltus_model_set_volume(saltus_model *model, const char *compartment,
                                      const char *text, saltus_error *err)
{
    if (!model || !compartment || !text) {
        return saltus_no_argument(err, __func__);
    }
    saltus_status status = SALTUS_OK;
    volume wanted = {0};
    double size = 0.0;
    int n = 0;
    const int named = saltus_model_find(model, compartment);
    const bool is_one = named >= 0 && model->variables[named].kind == SALTUS_KIND_COMPARTMENT;
    const bool is_all = !is_one && strcmp(compartment, "all") == 0;
    if (model->network) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "the volume of '%.100s' cannot be changed: the model is "
                    "frozen",
                    compartment);
    }
    SALTUS_TRY(parse_volume(text, &wanted, err));
    for (int i = 0; i < (int)model->n_variables; ++i) {
        const saltus_variable *v = &model->variables[i];
        if (is_one ? i == named : is_all && is_volume(v) && !is_left_alone(model, v)) {
            SALTUS_TRY(size_in(&model->variables[i], &wanted, &size, err));
            SALTUS_TRY(saltus_model_resize(model, i, size, err));
            ++n;
        }
    }
    status = n > 0 ? SALTUS_OK : no_compartment(model, compartment, err);
done:
    return status;
}
