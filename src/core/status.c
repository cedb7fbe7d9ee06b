#include "core/status.h"

#include "core/utf8.h"

#include <stdarg.h>

const char *saltus_status_text(saltus_status status)
{
    switch (status) {
#define SALTUS_STATUS_TEXT(name, value, text) \
    case name:                                \
        return text;
        SALTUS_STATUS_LIST(SALTUS_STATUS_TEXT)
#undef SALTUS_STATUS_TEXT
    }
    return "unknown status";
}

saltus_status saltus_error_set(saltus_error *err, saltus_status code, const char *format, ...)
{
    if (err && err->code == SALTUS_OK) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        err->code = code;
        err->hint[0] = '\0';
        saltus_utf8_flatten(err->message);
    }
    return code;
}

void saltus_error_hint(saltus_error *err, const char *format, ...)
{
    if (err && err->hint[0] == '\0') {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(err->hint, sizeof err->hint, format, args);
        va_end(args);
        saltus_utf8_flatten(err->hint);
    }
}

saltus_status saltus_error_pass(saltus_error *err, const saltus_error *from)
{
    if (from->code != SALTUS_OK) {
        (void)saltus_error_set(err, from->code, "%s", from->message);
        if (from->hint[0]) {
            saltus_error_hint(err, "%s", from->hint);
        }
    }
    return from->code;
}

saltus_status saltus_no_argument(saltus_error *err, const char *function)
{
    return saltus_error_set(err, SALTUS_E_INVALID, "%s: an argument that it needs is NULL",
                            function);
}
