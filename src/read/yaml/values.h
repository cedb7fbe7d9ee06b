/** Values of a YAML model: texts, expressions, mappings with known keys. For the files of this
 * folder. `what` names a thing in messages: "reaction 'r1'". */
#ifndef SALTUS_READ_YAML_VALUES_H
#define SALTUS_READ_YAML_VALUES_H

#include "model/network/model.h"
#include "read/yaml/tree.h"

typedef struct saltus_yaml_reader {
    saltus_model *model;
    const char *name;        /**< of the file */
    double mole;             /**< molecules per mole that are asked for; 0: none */
    saltus_archive *archive; /**< of files that it names, or NULL */
    saltus_error *err;
    bool has_lattice; /**< reactions may leave their rates to it */
    bool has_sbml;    /**< the model is that of an SBML file */
} saltus_yaml_reader;

/** A key of a mapping and what was found under it. */
typedef struct saltus_yaml_field {
    const char *key;
    const saltus_yaml_entry *entry; /**< NULL: not given */
} saltus_yaml_field;

/** Record a failure at a node. Returns code. */
__attribute__((format(printf, 4, 5))) saltus_status saltus_yaml_fail(const saltus_yaml_reader *r,
                                                                     const saltus_yaml_node *node,
                                                                     saltus_status code,
                                                                     const char *format, ...);

/** Sort the entries of a mapping into n fields whose keys are set. SALTUS_E_SYNTAX for a key that
 * is none of them, with the nearest as a hint, and for one that is there twice. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_fields(const saltus_yaml_reader *r,
                                                   const saltus_yaml_node *node, const char *what,
                                                   saltus_yaml_field *fields, int n);
/** SALTUS_E_SYNTAX when a key of a mapping, which may be any, is there twice. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_no_key_twice(const saltus_yaml_reader *r,
                                                         const saltus_yaml_node *mapping,
                                                         const char *what);
/** SALTUS_E_SYNTAX unless the node is a mapping. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_mapping(const saltus_yaml_reader *r,
                                                    const saltus_yaml_node *node, const char *what);
/** True when there is nothing behind the colon: a value that is not given. */
bool saltus_yaml_is_nothing(const saltus_yaml_node *node);
/** The text of a scalar, which lives as long as the tree. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_text(const saltus_yaml_reader *r,
                                                 const saltus_yaml_node *node, const char *what,
                                                 const char **out);
/** A boolean, if it is given; else *out stays. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_bool(const saltus_yaml_reader *r,
                                                 const saltus_yaml_field *f, const char *what,
                                                 bool *out);
SALTUS_MUST_CHECK saltus_status saltus_yaml_expr(const saltus_yaml_reader *r,
                                                 const saltus_yaml_node *node, const char *what,
                                                 const saltus_expr **out);
/** The context to parse a part of a node's text that starts `offset` bytes into it. */
saltus_parse_context saltus_yaml_context(const saltus_yaml_reader *r, const saltus_yaml_node *node,
                                         size_t offset, const char *what);

/** A rule that is a mapping: `input`, a file with times and values, and what is between them. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_input(const saltus_yaml_reader *r,
                                                  const saltus_yaml_node *node, const char *what,
                                                  const saltus_expr **out);

/** `sbml`: the model is replaced by that of the file. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_sbml(saltus_yaml_reader *r,
                                                 const saltus_yaml_node *node);
/** The sections of reactions and of events, once all names and rules are known; then that of the
 * lattice. */
SALTUS_MUST_CHECK saltus_status saltus_yaml_reactions(const saltus_yaml_reader *r,
                                                      const saltus_yaml_node *node);
SALTUS_MUST_CHECK saltus_status saltus_yaml_events(const saltus_yaml_reader *r,
                                                   const saltus_yaml_node *node);
SALTUS_MUST_CHECK saltus_status saltus_yaml_lattice(const saltus_yaml_reader *r,
                                                    const saltus_yaml_node *node);

#endif
