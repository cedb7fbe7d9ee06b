#include "core/utf8.h"

#include <stdbool.h>

int saltus_utf8_length(const unsigned char *c)
{
    const int n = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; ++i) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool is_bad = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xed && c[1] >= 0xa0) ||
                        (*c == 0xf0 && c[1] < 0x90) || (*c == 0xf4 && c[1] >= 0x90);
    return is_bad ? 0 : n;
}

void saltus_utf8_mend(char *text)
{
    int n;
    for (char *c = text; *c; c += n) {
        n = saltus_utf8_length((const unsigned char *)c);
        if (n == 0) {
            *c = '?';
            n = 1;
        }
    }
}

void saltus_utf8_flatten(char *text)
{
    for (; *text; ++text) {
        *text = (unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text;
    }
}
