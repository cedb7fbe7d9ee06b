/** Texts in tokens, and failures with their places; for parse.c and equation.c. */
#ifndef SALTUS_MODEL_NETWORK_SCAN_H
#define SALTUS_MODEL_NETWORK_SCAN_H

#include "model/network/expr.h"

typedef enum saltus_token {
    SALTUS_TOKEN_END,
    SALTUS_TOKEN_NUMBER,
    SALTUS_TOKEN_NAME,
    SALTUS_TOKEN_QUOTED, /**< a name that is never a word of the language */
    SALTUS_TOKEN_SIGN,
} saltus_token;

/** Where scanning stands: the token that is looked at, and the text behind it. Set the first three
 * members, start and end (to the text), zero the rest, and free `large` at the end. */
typedef struct saltus_scanner {
    const saltus_parse_context *context;
    saltus_error *err;
    const char *text;
    const char *start, *end; /**< of the token */
    saltus_token kind;
    double number;
    char *name; /**< of a name; in `small` unless it is longer */
    char small[64];
    char *large;
    size_t large_size;
    int nesting; /**< of the parser */
} saltus_scanner;

const char *saltus_skip_blanks(const char *c);

/** Step to the next token of an expression. SALTUS_E_SYNTAX, SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_scan_next(saltus_scanner *s);
/** Take the name that starts at s->start, in backquotes or without. */
SALTUS_MUST_CHECK saltus_status saltus_scan_quoted(saltus_scanner *s);
SALTUS_MUST_CHECK saltus_status saltus_scan_name(saltus_scanner *s);
/** Whether the token is this sign, or this word of the language. */
bool saltus_scan_is(const saltus_scanner *s, const char *text);

/** Record a failure at a place in the text. Returns code. */
__attribute__((format(printf, 4, 5))) saltus_status
saltus_scan_fail(saltus_scanner *s, saltus_status code, const char *at, const char *format, ...);
/** The failure that a name, of the thing "species " or "", is not defined. */
saltus_status saltus_scan_undefined(saltus_scanner *s, const char *at, const char *name,
                                    const char *thing);

#endif
