/** Numbers with units outside lattices. A model counts in molecules, litres and its own unit of
 * time, that of `time` or else seconds. */
#ifndef SALTUS_READ_YAML_UNITS_H
#define SALTUS_READ_YAML_UNITS_H

#include "read/yaml/values.h"

/** What a text measures, in units of the model: powers of an amount, a volume, a time. */
typedef struct saltus_yaml_quantity {
    double value, unit_size; /**< value in units of the model; how many of those the unit is */
    int amount, volume, time;
    const char *unit; /**< as it stands there, in the model's arena */
} saltus_yaml_quantity;

/** Whether a text is a number with something behind it that is no operator: "0.5 1/s", also
 * "2 /s" where the model has no name s. *unit points into text. */
bool saltus_yaml_has_unit(const saltus_yaml_reader *r, const char *text, double *value,
                          const char **unit);
/** Read such a text. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_measure(const saltus_yaml_reader *r,
                                                    const saltus_yaml_node *node, const char *what,
                                                    const char *text, saltus_yaml_quantity *out);
/** `time`: the model's unit. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_time_unit(const saltus_yaml_reader *r,
                                                      const saltus_yaml_node *node);
/** A time, with a unit or as an expression. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_time(const saltus_yaml_reader *r,
                                                 const saltus_yaml_node *node, const char *what,
                                                 const saltus_expr **out);
/** The initial value of a variable, with a unit. Its compartment is known. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_initial(const saltus_yaml_reader *r,
                                                    const saltus_yaml_node *node, const char *what,
                                                    saltus_variable *v);
/** The constant of a reaction whose participants are known, with a unit, as its law: per set of
 * molecules. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_constant(const saltus_yaml_reader *r,
                                                     const saltus_yaml_node *node, const char *what,
                                                     const char *text, saltus_reaction *x);

#endif
