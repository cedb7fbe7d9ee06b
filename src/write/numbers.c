#include "write/numbers.h"

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
