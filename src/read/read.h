/** What the readers of model files share. */
#ifndef SALTUS_READ_READ_H
#define SALTUS_READ_READ_H

#include "core/status.h"

/** The saltus_model_parse_… of a format. */
typedef saltus_status saltus_model_parser(const char *text, size_t size, const char *name,
                                          saltus_model **out, saltus_error *err);

/** Call a parser where it has room to recurse (core/stack.h). */
SALTUS_MUST_CHECK saltus_status saltus_model_parse_with(saltus_model_parser *parse,
                                                        const char *text, size_t size,
                                                        const char *name, saltus_model **out,
                                                        saltus_error *err);

/** Read a file, parse it, free its text. */
SALTUS_MUST_CHECK saltus_status saltus_model_read_with(saltus_model_parser *parse, const char *path,
                                                       saltus_model **out, saltus_error *err);

/** Start an empty model that knows its file: its name is that of the file without folder and
 * ending; path and SHA-256 are kept. SALTUS_E_SYNTAX for a file without anything in it. */
SALTUS_MUST_CHECK saltus_status saltus_model_begin(const char *text, size_t size, const char *path,
                                                   saltus_model **out, saltus_error *err);

#endif
