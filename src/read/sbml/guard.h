/** libsbml throws when memory runs out, and its functions for C let that pass. */
#ifndef SALTUS_READ_SBML_GUARD_H
#define SALTUS_READ_SBML_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Call `work`, and tell whether an exception ended it. Functions of C between here and there are
 * left as by longjmp: what they hold must be where the caller finds it.
 *
 * @param[out] what  of that exception; empty when memory ran out
 */
bool sbml_guard(void (*work)(void *user), void *user, char *what, size_t size);

#ifdef __cplusplus
}
#endif
#endif
