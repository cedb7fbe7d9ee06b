/** Numbers as text: with a point whatever the program's locale is, and no digit more than needed.
 */
#ifndef SALTUS_WRITE_NUMBERS_H
#define SALTUS_WRITE_NUMBERS_H

#include <locale.h>
#include <stddef.h>

/** Use the decimal point on this thread until saltus_usual_numbers. */
locale_t saltus_plain_numbers(locale_t *saved);
void saltus_usual_numbers(locale_t plain, locale_t saved);

/** The shortest decimal number that reads back as x; 32 bytes are enough. */
void saltus_shortest(double x, char *text, size_t size);

#endif
