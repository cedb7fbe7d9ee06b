/** What the readers of model files share. */
#ifndef SALTUS_READ_READ_H
#define SALTUS_READ_READ_H

#include "core/status.h"

/** A text and how it is to be read. */
typedef struct saltus_source_text {
    const char *text;
    size_t size;
    const char *name;        /**< of its file, for messages */
    double mole;             /**< molecules per mole; 0: Avogadro's number */
    saltus_archive *archive; /**< of files that the text names; NULL: they are read from the disk */
} saltus_source_text;

/** Make a model, not frozen, of a text of one format. */
typedef saltus_status saltus_model_parser(const saltus_source_text *source, saltus_model **out,
                                          saltus_error *err);

/** The parsers; each calls itself where it has room to recurse (core/stack.h). */
saltus_model_parser saltus_parse_sbml, saltus_parse_yaml, saltus_parse_net;
/** For them: the call there. */
SALTUS_MUST_CHECK saltus_status saltus_parse_on_stack(saltus_model_parser *parse,
                                                      const saltus_source_text *source,
                                                      saltus_model **out, saltus_error *err);
/** Refuse a number of molecules per mole for a model in which nothing is given in mole. */
SALTUS_MUST_CHECK saltus_status saltus_check_mole(const saltus_source_text *source,
                                                  const saltus_model *model, saltus_error *err);

/** Start an empty model that knows its file: its name is that of the file without folder and
 * ending; path and SHA-256 are kept. SALTUS_E_SYNTAX for a file without anything in it. */
SALTUS_MUST_CHECK saltus_status saltus_model_begin(const saltus_source_text *source,
                                                   saltus_model **out, saltus_error *err);

#endif
