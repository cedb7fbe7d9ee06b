/** The order of whole numbers, for qsort and bsearch. */
#ifndef SALTUS_CORE_ORDER_H
#define SALTUS_CORE_ORDER_H

#include <stdint.h>

/** -1, 0 or 1: a is less than b, equal, greater. */
static inline int saltus_order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/** The same of two int32_t, as qsort asks for it. */
static inline int saltus_order_ints(const void *a, const void *b)
{
    return saltus_order(*(const int32_t *)a, *(const int32_t *)b);
}

#endif
