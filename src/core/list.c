#include "core/list.h"

#include <stdio.h>

bool saltus_list_next(const char **list, const char **name, size_t *length)
{
    const char *start = *list, *end;
    int depth = 0;
    if (!start) {
        return false;
    }
    while (*start == ' ') {
        ++start;
    }
    for (end = start; *end && (*end != ',' || depth > 0); ++end) {
        depth += *end == '(';
        depth -= *end == ')' && depth > 0;
    }
    *list = *end ? end + 1 : NULL;
    while (end > start && end[-1] == ' ') {
        --end;
    }
    *name = start;
    *length = (size_t)(end - start);
    return true;
}

const char *saltus_list_and(const char *const *names, int n, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < n && used < size; ++i) {
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 i == 0       ? ""
                                 : i + 1 == n ? " and "
                                              : ", ",
                                 names[i]);
    }
    return out;
}
