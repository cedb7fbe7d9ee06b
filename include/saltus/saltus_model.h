/**
 * @file
 * Models: read from a file or built by calls, changed, frozen, printed. saltus.h includes this
 * header.
 */
#ifndef SALTUS_SALTUS_MODEL_H
#define SALTUS_SALTUS_MODEL_H

#include <saltus/saltus_status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A network while it is built, then frozen. */
typedef struct saltus_model saltus_model;

/** How a law such as k*A^2, where two A are consumed, is meant. */
typedef enum saltus_law {
    SALTUS_LAW_LITERAL = 0,       /**< as it is written; freezing warns (default) */
    SALTUS_LAW_COMBINATORIAL = 1, /**< k*A*A, with two A consumed, is taken as k*A*(A-1) */
    /** To be added to one of them: stoichiometries that are not whole are drawn at every firing, as
     * one of the two whole numbers beside them, so that their mean is right. */
    SALTUS_STOICHIOMETRY_DRAW = 2,
    /** To be added for method ode, which takes amounts as they are: what is computed from them at
     * time 0 is too. Without it, such values come from whole numbers of molecules. Other methods
     * refuse a model that is frozen so unless its amounts are whole. */
    SALTUS_AMOUNTS_REAL = 4,
} saltus_law;

/**
 * Files as they were when they were read, under the names by which they were asked for: a model,
 * the SBML file and the images that it names, a table of points. What reads files through an
 * archive takes those that it holds from there, and adds the others. A result file can hold an
 * archive, so that its run goes on with the same model, whatever has become of the files.
 */
typedef struct saltus_archive saltus_archive;
/**
 * Begin an empty archive.
 *
 * @param[out] out to be freed with saltus_archive_destroy
 * @param err      see saltus_error
 * @retval SALTUS_OK          it is there
 * @retval SALTUS_E_INVALID   out is NULL
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_archive_create(saltus_archive **out,
                                                                 saltus_error *err);
/**
 * Free an archive. Nothing may read through it any more.
 *
 * @param archive may be NULL
 */
SALTUS_API void saltus_archive_destroy(saltus_archive *archive);
/**
 * Add a file of which nothing stands on the disk. Any thread may call.
 *
 * @param archive where to
 * @param name    by which it will be asked for
 * @param bytes   its content; copied
 * @param size    of it, in bytes
 * @param err     see saltus_error
 * @retval SALTUS_OK          it is there
 * @retval SALTUS_E_INVALID   there is one of that name, or an argument is NULL
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_archive_add(saltus_archive *archive,
                                                              const char *name, const void *bytes,
                                                              size_t size, saltus_error *err);
/**
 * Look for a file.
 *
 * @param archive   may be NULL
 * @param name      of the file
 * @param[out] size of it, in bytes; 0 when there is none. May be NULL
 * @return its content, followed by a zero, valid as long as the archive; NULL when there is none
 */
SALTUS_API const void *saltus_archive_get(const saltus_archive *archive, const char *name,
                                          size_t *size);

/** How a file is read. Start from saltus_read_options_default(). */
typedef struct saltus_read_options {
    double molecules_per_mole; /**< how many molecules stand for a mole, above 0; 0: Avogadro's
                                    number. With fewer, amounts in mole become fewer molecules, and
                                    rates keep to them: concentrations stay, fluctuations grow. In
                                    SBML, amounts without a declared unit, which are molecules at 0,
                                    are then in mole too */
    saltus_archive *archive;   /**< NULL, or where all files are read from, and go to */
} saltus_read_options;
/**
 * Give the usual options.
 *
 * @return Avogadro's number of molecules per mole
 */
SALTUS_API saltus_read_options saltus_read_options_default(void);

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

/**
 * Read a model file. The format is told by the content, then by the ending: SBML (.xml, .sbml),
 * Saltus YAML (.yaml, .yml), BioNetGen network (.net), each also packed by gzip (.xml.gz). The
 * model still has to be frozen. The cost grows with the file's size; SBML of 20,000 reactions takes
 * about a second.
 *
 * @param path     the file; images that it names are looked for from its folder
 * @param[out] out the model; to be freed with saltus_model_destroy
 * @param err      see saltus_error; the message has file, line and, for YAML, column
 * @retval SALTUS_OK            the model is read, not yet frozen
 * @retval SALTUS_E_INVALID     path or out is NULL
 * @retval SALTUS_E_IO          the file cannot be read, or unpacked; either is at most 1 GiB
 * @retval SALTUS_E_SYNTAX      it is not well formed
 * @retval SALTUS_E_MODEL       it is inconsistent: an undefined name, a name defined twice
 * @retval SALTUS_E_UNSUPPORTED it holds something that exact simulation cannot mean, or does not do
 *                              yet
 * @retval SALTUS_E_UNAVAILABLE the reader of this format was not built
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 *
 * Formats: SBML Level 3, Hucka et al., J. Integr. Bioinform. 15 (2018) 20170081,
 * doi:10.1515/jib-2017-0081; BioNetGen, Harris et al., Bioinformatics 32 (2016) 3366,
 * doi:10.1093/bioinformatics/btw469; Saltus YAML, docs/yaml-format.md.
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_read(const char *path, saltus_model **out,
                                                             saltus_error *err);
/**
 * Read a file that is SBML, whatever it is called.
 *
 * @param path     as for saltus_model_read
 * @param[out] out as for saltus_model_read
 * @param err      see saltus_error
 * @return as saltus_model_read
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_read_sbml(const char *path,
                                                                  saltus_model **out,
                                                                  saltus_error *err);
/**
 * Read a file that is Saltus YAML, whatever it is called.
 *
 * @param path     as for saltus_model_read
 * @param[out] out as for saltus_model_read
 * @param err      see saltus_error
 * @return as saltus_model_read
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_read_yaml(const char *path,
                                                                  saltus_model **out,
                                                                  saltus_error *err);
/**
 * Read a file that is a BioNetGen network, whatever it is called.
 *
 * @param path     as for saltus_model_read
 * @param[out] out as for saltus_model_read
 * @param err      see saltus_error
 * @return as saltus_model_read
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_read_net(const char *path,
                                                                 saltus_model **out,
                                                                 saltus_error *err);
/**
 * Read a model file with options.
 *
 * @param path     as for saltus_model_read
 * @param options  NULL: the usual ones
 * @param[out] out as for saltus_model_read
 * @param err      see saltus_error
 * @return as saltus_model_read; SALTUS_E_INVALID also when molecules_per_mole is out of its range,
 *         or is set and nothing in the model is given in mole
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_read_with(
    const char *path, const saltus_read_options *options, saltus_model **out, saltus_error *err);

/**
 * Read a model from a text in memory, whose format is told as that of a file.
 *
 * @param text     [size] bytes; not kept
 * @param size     bytes of text
 * @param name     stands for the path in messages, in the model's name if the text has none, and as
 *                 the place from which files are seen that the text names: they lie in the current
 *                 folder when it has no slash
 * @param[out] out as for saltus_model_read
 * @param err      see saltus_error
 * @return as saltus_model_read
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_parse(const char *text, size_t size,
                                                              const char *name, saltus_model **out,
                                                              saltus_error *err);
/**
 * Read a model from a text that is SBML.
 *
 * @param text     as for saltus_model_parse
 * @param size     as for saltus_model_parse
 * @param name     as for saltus_model_parse
 * @param[out] out as for saltus_model_read
 * @param err      see saltus_error
 * @return as saltus_model_read
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_parse_sbml(const char *text, size_t size,
                                                                   const char *name,
                                                                   saltus_model **out,
                                                                   saltus_error *err);
/**
 * Read a model from a text that is Saltus YAML.
 *
 * @param text     as for saltus_model_parse
 * @param size     as for saltus_model_parse
 * @param name     as for saltus_model_parse
 * @param[out] out as for saltus_model_read
 * @param err      see saltus_error
 * @return as saltus_model_read
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_parse_yaml(const char *text, size_t size,
                                                                   const char *name,
                                                                   saltus_model **out,
                                                                   saltus_error *err);
/**
 * Read a model from a text that is a BioNetGen network.
 *
 * @param text     as for saltus_model_parse
 * @param size     as for saltus_model_parse
 * @param name     as for saltus_model_parse
 * @param[out] out as for saltus_model_read
 * @param err      see saltus_error
 * @return as saltus_model_read
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_parse_net(const char *text, size_t size,
                                                                  const char *name,
                                                                  saltus_model **out,
                                                                  saltus_error *err);
/**
 * Read a model from a text in memory with options.
 *
 * @param text     as for saltus_model_parse
 * @param size     as for saltus_model_parse
 * @param name     as for saltus_model_parse
 * @param options  NULL: the usual ones
 * @param[out] out as for saltus_model_read
 * @param err      see saltus_error
 * @return as saltus_model_read_with
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status
saltus_model_parse_with(const char *text, size_t size, const char *name,
                        const saltus_read_options *options, saltus_model **out, saltus_error *err);

/* ------------------------------------------------------------------------------------------------
 * Building
 */

/**
 * Start an empty model.
 *
 * @param name     for people and for the output file; copied, control characters as blanks
 * @param[out] out to be freed with saltus_model_destroy
 * @param err      see saltus_error
 * @retval SALTUS_OK          the model is there
 * @retval SALTUS_E_INVALID   name or out is NULL
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_create(const char *name, saltus_model **out,
                                                               saltus_error *err);
/**
 * Free a model. Plans of it must be gone.
 *
 * @param model may be NULL
 */
SALTUS_API void saltus_model_destroy(saltus_model *model);

/**
 * Add a parameter.
 *
 * @param model not frozen
 * @param id    its name, not empty; copied. In an expression, a name that is no identifier stands
 * in backquotes
 * @param value any finite number; its unit is the model's own
 * @param err   see saltus_error
 * @retval SALTUS_OK          it is added
 * @retval SALTUS_E_INVALID   the model is NULL or frozen, or id is NULL
 * @retval SALTUS_E_MODEL     the name is taken, or empty
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_add_parameter(saltus_model *model,
                                                                      const char *id, double value,
                                                                      saltus_error *err);
/**
 * Add a species.
 *
 * @param model  not frozen
 * @param id     its name in reactions and rates; copied
 * @param amount molecules at time 0, from 0 to below 2^63; freezing rounds it to a whole number
 * @param err    see saltus_error
 * @return as saltus_model_add_parameter; an amount out of its range is found by freezing
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_add_species(saltus_model *model,
                                                                    const char *id, double amount,
                                                                    saltus_error *err);
/**
 * Add a reaction.
 *
 * @param model    not frozen; species and parameters that the reaction names are there already
 * @param id       its name; copied
 * @param equation "2 S1 + E -> S2 + E"; "0" or nothing stands for no species
 * @param rate     an expression. Without any species in it, it is the constant of mass action
 *                 (k A, k A B, k A (A-1)/2 …); else it is the propensity, 1/time.
 * @param err      see saltus_error
 * @retval SALTUS_OK            it is added
 * @retval SALTUS_E_INVALID     the model is NULL or frozen, or a text is NULL
 * @retval SALTUS_E_SYNTAX      equation or rate is not well formed; the message has the place
 * @retval SALTUS_E_MODEL       a name is not defined, or the reaction's is taken
 * @retval SALTUS_E_UNSUPPORTED the rate calls a function that is not supported
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_add_reaction(
    saltus_model *model, const char *id, const char *equation, const char *rate, saltus_error *err);

/**
 * Set a parameter's value or a species' initial number of molecules. Initial assignments and rules
 * that depend on it follow.
 *
 * @param model not frozen
 * @param name  of a parameter or a species
 * @param value in the model's unit, or molecules
 * @param err   see saltus_error
 * @retval SALTUS_OK        it is set
 * @retval SALTUS_E_INVALID the model is frozen, there is no such name (the hint lists near ones), a
 *                          rule determines it, or the value is no finite number
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_set(saltus_model *model, const char *name,
                                                            double value, saltus_error *err);

/**
 * Take back what saltus_model_set has set: every value is again as the model was read or built.
 * Volumes that are changed with saltus_model_set_volume stay so, and are to be changed first.
 *
 * @param model not frozen; may be NULL
 */
SALTUS_API void saltus_model_reset(saltus_model *model);

/**
 * Change the size of a compartment and keep the concentrations in it: initial amounts of its
 * species change in proportion; initial assignments and rules are computed with the new size.
 * Freezing warns of laws that do not grow with their compartment as amounts do. A later
 * saltus_model_set gives a number of molecules, whatever the volume.
 *
 * @param model       not frozen
 * @param compartment its name, or "all" for every volume of the model
 * @param volume      "1 fL", "0.5 um^3"; a number without a unit is in the model's own
 * @param err         see saltus_error
 * @retval SALTUS_OK            the size is changed
 * @retval SALTUS_E_INVALID     the model is frozen, there is no such compartment or no such unit, a
 *                              rule determines the size, or the model has a lattice, whose sites
 *                              are its volume
 * @retval SALTUS_E_UNAVAILABLE there is a unit, and the library was built without UDUNITS
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_set_volume(saltus_model *model,
                                                                   const char *compartment,
                                                                   const char *volume,
                                                                   saltus_error *err);

/* ------------------------------------------------------------------------------------------------
 * Freezing
 */

/**
 * Check the model and turn it into flat tables. After this it cannot be changed, until it is
 * thawed. The cost is linear in species, reactions and what they depend on.
 *
 * @param model not frozen
 * @param law   how k*A^2 is meant where two A are consumed; SALTUS_STOICHIOMETRY_DRAW and
 * SALTUS_AMOUNTS_REAL may be added
 * @param err   see saltus_error
 * @retval SALTUS_OK            it is frozen; saltus_model_warning has what deserves a look
 * @retval SALTUS_E_INVALID     the model is NULL, or frozen already, or there is no such law
 * @retval SALTUS_E_MODEL       e.g. an initial amount that is NaN, rules that form a circle
 * @retval SALTUS_E_UNSUPPORTED e.g. half a molecule in an equation of a model with a lattice;
 * without one it is left to method ode, and a plan of others refuses it
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_freeze(saltus_model *model, saltus_law law,
                                                               saltus_error *err);

/**
 * Undo freezing: values may be set again. Plans of the model must be gone.
 *
 * @param model may be NULL, or not frozen
 */
SALTUS_API void saltus_model_thaw(saltus_model *model);

/* ------------------------------------------------------------------------------------------------
 * What is in a model
 */

/**
 * Tell the name of a model.
 *
 * @param model may be NULL
 * @return valid as long as the model; never NULL
 */
SALTUS_API const char *saltus_model_name(const saltus_model *model);
/**
 * Tell what file a model was read from.
 *
 * @param model may be NULL
 * @return lower-case hexadecimal SHA-256 of the file; "" when it was built by calls
 */
SALTUS_API const char *saltus_model_sha256(const saltus_model *model);
/**
 * Count the species.
 *
 * @param model frozen
 * @return their number; 0 when the model is not frozen
 */
SALTUS_API int saltus_model_n_species(const saltus_model *model);
/**
 * Count the reactions. A reversible reaction whose law was split counts as two.
 *
 * @param model frozen
 * @return their number; 0 when the model is not frozen
 */
SALTUS_API int saltus_model_n_reactions(const saltus_model *model);
/**
 * Tell the identifier of a species.
 *
 * @param model frozen
 * @param s     0 <= s < saltus_model_n_species
 * @return valid as long as the model stays frozen; "" when s is out of its range
 */
SALTUS_API const char *saltus_model_species(const saltus_model *model, int s);
/** What has a name and a value in a model, for lists of what there is. */
typedef struct saltus_model_value {
    const char *name; /**< NULL: there are no more */
    const char *kind; /**< "species", "parameter" or "compartment"; "rule": a rule determines it */
    const char *unit; /**< in which a parameter or the size of a compartment was written; NULL: none
                           is known */
    double value;     /**< at time 0: of a species molecules, else in the model's unit; NaN where a
                           rule determines it anew */
} saltus_model_value;

/**
 * The names with values, one by one, in the model's order.
 *
 * @param model frozen
 * @param i     from 0 on
 * @return its texts are valid as long as the model stays frozen; behind the last one, and when the
 *         model is not frozen, its name is NULL
 */
SALTUS_API saltus_model_value saltus_model_value_at(const saltus_model *model, int i);

/**
 * Tell the identifier of a reaction of the model as it was written: one whose law was split counts
 * once.
 *
 * @param model may be NULL
 * @param r     from 0 on
 * @return valid as long as the model; "" when r is out of its range
 */
SALTUS_API const char *saltus_model_reaction(const saltus_model *model, int r);
/**
 * Print a reaction as "2 A + B -> C @ k*A*B": of mass action the constant stands behind the "@".
 *
 * @param model frozen
 * @param r     as for saltus_model_reaction
 * @param out   where to
 * @param err   see saltus_error
 * @retval SALTUS_OK          it is printed
 * @retval SALTUS_E_INVALID   the model is not frozen, r is out of its range, or out is NULL
 * @retval SALTUS_E_IO        writing failed
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_print_reaction(const saltus_model *model,
                                                                       int r, FILE *out,
                                                                       saltus_error *err);
/**
 * Tell the unit of time.
 *
 * @param model may be NULL
 * @return such as "s", valid as long as the model; "" when the model names none, or is one of
 *         SBML, whose units serve conversions alone
 */
SALTUS_API const char *saltus_model_time_unit(const saltus_model *model);
/**
 * Tell the size of a lattice.
 *
 * @param model     frozen
 * @param[out] size sites along x, y and z; zeros without a lattice. May be NULL
 * @return edge of a site in m; 0 when there is no lattice
 */
SALTUS_API double saltus_model_lattice(const saltus_model *model, int64_t size[3]);
/**
 * Give one of the types that the sites of a lattice have.
 *
 * @param model        frozen
 * @param type         its number, from 0 on
 * @param[out] n_sites how many sites are of it. May be NULL
 * @return its name, valid as long as the model is frozen; NULL behind the last, and without a
 *         lattice
 */
SALTUS_API const char *saltus_model_site_type(const saltus_model *model, int type,
                                              int64_t *n_sites);
/**
 * Give the types of the sites in a box of a lattice.
 *
 * @param model      frozen
 * @param first      the box's first site along x, y and z
 * @param size       how many sites it has along x, y and z
 * @param[out] types [z][y][x] numbers of types
 * @param err        see saltus_error
 * @retval SALTUS_OK        they are there
 * @retval SALTUS_E_INVALID the model has no lattice, or the box is not within it
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_site_types(const saltus_model *model,
                                                                   const int64_t first[3],
                                                                   const int64_t size[3],
                                                                   uint8_t *types,
                                                                   saltus_error *err);

/**
 * Count the sentences that the reader and freezing want to say.
 *
 * @param model may be NULL
 * @return their number
 */
SALTUS_API int saltus_model_n_warnings(const saltus_model *model);
/**
 * Give one of these sentences.
 *
 * @param model may be NULL
 * @param i     0 <= i < saltus_model_n_warnings
 * @return valid until the model is changed; "" when i is out of its range
 */
SALTUS_API const char *saltus_model_warning(const saltus_model *model, int i);
/**
 * Tell whether one of these sentences is about what was done so that molecules are whole, such as
 * an amount that was rounded: it does not concern method ode, which has real amounts.
 *
 * @param model may be NULL
 * @param i     0 <= i < saltus_model_n_warnings
 * @return 1 or 0; 0 when i is out of its range
 */
SALTUS_API int saltus_model_warning_is_of_whole(const saltus_model *model, int i);

/**
 * Print a model for people: species, reactions, kinds of rate law, rules, events.
 *
 * @param model frozen
 * @param out   where to
 * @param err   see saltus_error
 * @retval SALTUS_OK          it is printed
 * @retval SALTUS_E_INVALID   the model is not frozen, or out is NULL
 * @retval SALTUS_E_IO        writing failed
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_print_info(const saltus_model *model,
                                                                   FILE *out, saltus_error *err);
/**
 * Write a model as Saltus YAML; reading that back gives the same trajectories, bit for bit.
 *
 * @param model frozen or not
 * @param out   where to
 * @param err   see saltus_error
 * @retval SALTUS_OK            it is written
 * @retval SALTUS_E_INVALID     model or out is NULL
 * @retval SALTUS_E_UNSUPPORTED it has a lattice
 * @retval SALTUS_E_IO          writing failed
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_write_yaml(const saltus_model *model,
                                                                   FILE *out, saltus_error *err);

#ifdef __cplusplus
}
#endif

#endif
