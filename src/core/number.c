#include "core/number.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Length of the number at the start of a text, 0 if there is none. What strtod takes beyond this
 * (signs, hexadecimal, names) is no number here, so the extent is found first. */
static size_t extent(const char *s, bool *is_zero)
{
    size_t i = 0, n_digits = 0;
    *is_zero = true;
    for (; is_digit(s[i]); ++i, ++n_digits) {
        *is_zero &= s[i] == '0';
    }
    if (s[i] == '.') {
        ++i;
        for (; is_digit(s[i]); ++i, ++n_digits) {
            *is_zero &= s[i] == '0';
        }
    }
    if (n_digits == 0) {
        return 0;
    }
    if (s[i] == 'e' || s[i] == 'E') {
        size_t j = i + 1;
        j += s[j] == '+' || s[j] == '-';
        if (is_digit(s[j])) {
            while (is_digit(s[j])) {
                ++j;
            }
            i = j;
        }
    }
    return i;
}

/* The "C" locale is a constant of the C library: neither of the two calls allocates. */
saltus_number_result saltus_number_parse(const char *text, double *value, size_t *length)
{
    bool is_zero;
    const size_t n = extent(text, &is_zero);
    if (length) {
        *length = n;
    }
    if (n == 0) {
        return SALTUS_NUMBER_NONE;
    }
    if (n == 1 && text[0] == '0') { /* "0x1p3" is a 0 here, for strtod it is more */
        *value = 0.0;
        return SALTUS_NUMBER_OK;
    }
    const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    *value = strtod_l(text, NULL, c_locale);
    freelocale(c_locale);
    if (!isfinite(*value)) {
        return SALTUS_NUMBER_TOO_LARGE;
    }
    return *value == 0.0 && !is_zero ? SALTUS_NUMBER_TOO_SMALL : SALTUS_NUMBER_OK;
}

bool saltus_number_read(const char *text, double *value)
{
    const bool minus = *text == '-';
    size_t length = 0;
    text += minus || *text == '+';
    const saltus_number_result result = saltus_number_parse(text, value, &length);
    *value = minus ? -*value : *value;
    return result == SALTUS_NUMBER_OK && text[length] == '\0';
}

const char *saltus_number_format(double value, char text[SALTUS_NUMBER_SIZE])
{
    if (!isfinite(value)) {
        (void)snprintf(text, SALTUS_NUMBER_SIZE, "%s",
                       isnan(value) ? "nan"
                       : value > 0  ? "inf"
                                    : "-inf");
        return text;
    }
    const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t old = uselocale(c_locale);
    for (int digits = 15; digits <= 17; ++digits) {
        (void)snprintf(text, SALTUS_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    (void)uselocale(old);
    freelocale(c_locale);
    return text;
}
