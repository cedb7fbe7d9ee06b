/** Lists of names as the command takes them. */
#ifndef SALTUS_CORE_LIST_H
#define SALTUS_CORE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Step through "A, R(a,l), [C]": commas outside of parentheses separate, because names of .net
 * species hold commas; blanks around a name do not belong to it. A list has one name more than
 * separators, and any may be empty.
 *
 * @param[in,out] list where to go on; NULL behind the last name
 * @param[out] name    the next one, of *length characters
 * @return false when there is none
 */
bool saltus_list_next(const char **list, const char **name, size_t *length);

/** Write "A", "A and B" or "A, B and C" into out and return it; cut off where it does not fit. */
const char *saltus_list_and(const char *const *names, int n, char *out, size_t size);

#endif
