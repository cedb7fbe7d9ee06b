/** A YAML document as a tree whose nodes know their places. */
#ifndef SALTUS_READ_YAML_TREE_H
#define SALTUS_READ_YAML_TREE_H

#include "core/memory.h"
#include "core/status.h"

typedef enum saltus_yaml_kind {
    SALTUS_YAML_SCALAR,
    SALTUS_YAML_MAPPING,
    SALTUS_YAML_SEQUENCE,
} saltus_yaml_kind;

typedef struct saltus_yaml_node {
    saltus_yaml_kind kind;
    int line, column;                /**< of the first character of its text, from 1 */
    bool plain;                      /**< a scalar without quotes */
    bool folded;                     /**< the text is not the one in the file, character by
                                          character: escapes, several lines */
    const char *text;                /**< of a scalar; holds no zero */
    struct saltus_yaml_entry *first; /**< of a mapping or sequence, in the order of
                                          the file */
} saltus_yaml_node;

typedef struct saltus_yaml_entry {
    const saltus_yaml_node *key; /**< always a scalar that is not empty; NULL in a sequence */
    const saltus_yaml_node *value;
    struct saltus_yaml_entry *next;
} saltus_yaml_entry;

/**
 * Read one document. Tags, anchors and aliases are refused: in a model they are mistakes (an
 * expression that starts with ! or *), and without them a tree is no larger than its text.
 *
 * @param arena where the tree is kept
 * @param name  stands for the file in messages
 * @param[out] root NULL for an empty document
 * @retval SALTUS_E_SYNTAX      with line and column
 * @retval SALTUS_E_UNAVAILABLE built without libyaml
 */
SALTUS_MUST_CHECK saltus_status saltus_yaml_load(const char *text, size_t size, const char *name,
                                                 saltus_arena *arena, const saltus_yaml_node **root,
                                                 saltus_error *err);

#endif
