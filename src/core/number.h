/** Numbers as text: the same in every locale, and back to the same bits. */
#ifndef SALTUS_CORE_NUMBER_H
#define SALTUS_CORE_NUMBER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Room for any number that saltus_number_format writes, with the zero at its end. */
enum { SALTUS_NUMBER_SIZE = 32 };

typedef enum saltus_number_result {
    SALTUS_NUMBER_OK,
    SALTUS_NUMBER_NONE,      /**< the text does not start with a number */
    SALTUS_NUMBER_TOO_LARGE, /**< it rounds to infinity */
    SALTUS_NUMBER_TOO_SMALL, /**< it rounds to zero but is none */
} saltus_number_result;

/** Read an unsigned decimal number, "12", "0.5", ".5", "1e-3", at the start of a text: no sign, no
 * blanks, no hexadecimal, no names. *length (may be NULL) is the number of characters read. */
saltus_number_result saltus_number_parse(const char *text, double *value, size_t *length);

/** Read a number, with a sign or without, that fills the whole text and is finite. */
bool saltus_number_read(const char *text, double *value);

/** Write the shortest of 15, 16 or 17 digits that reads back as the same double; "inf", "-inf" and
 * "nan" for what is none. Returns text. */
const char *saltus_number_format(double value, char text[SALTUS_NUMBER_SIZE]);

/** The same in a place that lasts for the expression: "%s", SALTUS_NUMBER(x). */
#define SALTUS_NUMBER(value) saltus_number_format(value, (char[SALTUS_NUMBER_SIZE]){0})

/** A number to be printed: the sign of a NaN is the processor's. */
static inline double saltus_without_nan_sign(double value)
{
    return isnan(value) ? __builtin_nan("") : value;
}

/** The word that stands behind a number: `one` behind 1, else `many`. */
static inline const char *saltus_plural(int64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

#endif
