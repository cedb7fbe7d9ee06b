/** Numbers as text with a point, whatever the program's locale is. */
#ifndef SALTUS_WRITE_NUMBERS_H
#define SALTUS_WRITE_NUMBERS_H

#include <locale.h>

/** Use the decimal point on this thread until saltus_usual_numbers. */
locale_t saltus_plain_numbers(locale_t *saved);
void saltus_usual_numbers(locale_t plain, locale_t saved);

#endif
