#include "core/list.h"

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
