#include "write/numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void saltus_shortest(double x, char *text, size_t size)
{
    for (int digits = 15; digits <= 17; ++digits) {
        (void)snprintf(text, size, "%.*g", digits, x);
        if (isnan(x) || strtod(text, NULL) == x) {
            return;
        }
    }
}

locale_t saltus_plain_numbers(locale_t *saved)
{
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    *saved = plain ? uselocale(plain) : (locale_t)0;
    return plain;
}

void saltus_usual_numbers(locale_t plain, locale_t saved)
{
    if (plain) {
        (void)uselocale(saved);
        freelocale(plain);
    }
}
