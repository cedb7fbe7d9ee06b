/** What libyaml finds wrong, in words for who writes models. */
#ifndef SALTUS_READ_YAML_PROBLEM_H
#define SALTUS_READ_YAML_PROBLEM_H

#include <stddef.h>

/** A failure as libyaml tells it; lines and columns are from 0. */
typedef struct saltus_yaml_problem {
    const char *what;         /**< libyaml's sentence; never NULL */
    const char *within;       /**< what it was doing, or NULL */
    size_t line, column;      /**< moved to where the cause is, if that is elsewhere */
    size_t start, start_line; /**< column and line where what it was doing began */
} saltus_yaml_problem;

/** Write the sentence into `words`; a hint, or NULL. */
const char *saltus_yaml_explain(saltus_yaml_problem *p, const char *text, size_t size,
                                char words[300]);

#endif
