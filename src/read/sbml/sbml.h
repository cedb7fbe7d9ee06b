/**
 * What the parts of the SBML reader share. sbml.c opens the document and holds the entry points,
 * check.c keeps away what libsbml cannot take, submodels.c makes one model of a composed one,
 * meanings.c keeps what names mean in its parts, factors.c refuses what would be mixed up,
 * parts.c (variables and rules), reactions.c and events.c turn the lists of a document into a
 * model, math.c MathML into expressions, vary.c stoichiometries that vary into reactions of
 * molecules, units.c units into molecules.
 *
 * Only these files know libsbml. Its C functions cannot report that memory ran out: libsbml throws,
 * and guard.cpp catches that around everything. So whatever the functions here allocate and
 * keep while they call libsbml hangs on the reader, or is an arena's. What a small input can make
 * large is bounded beforehand all the same.
 */
#ifndef SALTUS_READ_SBML_SBML_H
#define SALTUS_READ_SBML_SBML_H

#include "model/network/model.h"

#include <sbml/SBMLTypes.h>
#include <sbml/conversion/ConversionProperties.h>
#if LIBSBML_HAS_PACKAGE_COMP
#include <sbml/packages/comp/common/compfwd.h>
#endif

/* What an identifier stands for; all kinds share one name space, as in SBML. */
typedef enum sbml_kind {
    NAME_VARIABLE,  /* index into the model's variables and info */
    NAME_FUNCTION,  /* index into the document's function definitions */
    NAME_REACTION,  /* index into the document's reactions and reactions */
    NAME_REFERENCE, /* index into references */
    NAME_EVENT,
} sbml_kind;

typedef struct sbml_symbol {
    sbml_kind kind;
    int index;
} sbml_symbol;

/* What the model's variable does not say. */
typedef struct sbml_info {
    double molecules;   /* species: molecules per unit of substance */
    bool concentration; /* species: its name in formulas means a concentration */
    double factor;      /* species: its conversion factor, substance per extent, or 1 with */
    int open_factor;    /* the variable that has it, where its value is not known, or -1 */
    Species_t *species;
    bool no_size;      /* compartment: a point */
    bool size_assumed; /* compartment without a size: 1, and the first use warns */
    bool initialized;  /* by an initial assignment */
    bool has_rule;     /* an assignment rule, converted or not */
    Rule_t *rate;      /* its rate rule, or NULL */
    bool assigned;     /* by some event */
    bool is_wanted;    /* its possible values are being looked for */
    int event;         /* the last event that assigns it, from 1 */
} sbml_info;

/* A reactant or product with an id, which formulas may use for its stoichiometry. */
typedef struct sbml_reference {
    SpeciesReference_t *of;
} sbml_reference;

/* The values that an expression may have in the course of a trajectory, each once. n is 0 where
 * they are not known, or too many. */
enum { SBML_MOST_VALUES = 32 };
typedef struct sbml_values {
    double value[SBML_MOST_VALUES];
    int n;
} sbml_values;

/* The stoichiometry of a species in a reaction, as the document gives it. */
typedef struct sbml_stoichiometry {
    const char *name; /* its id, or that of the species */
    int species;
    bool is_product;
    const saltus_expr *n;
    sbml_values values;
} sbml_stoichiometry;

/* What a reaction consumes, and what it makes. */
typedef struct sbml_sides {
    saltus_participant *list[2];
    int n[2];
    size_t most[2];
} sbml_sides;

/* Local parameters of a reaction: a run of the model's variables named "R.k". */
typedef struct sbml_locals {
    int first, n;
    bool is_marked; /* in formulas they have a mark before their names, as they are a submodel's */
} sbml_locals;

/* Where a formula stands: "model.xml:31: reaction 'R7': rate law". */
typedef struct sbml_place {
    char what[200];
    const char *role;
    unsigned line;
    int reaction; /* whose local parameters are visible, or -1 */
} sbml_place;

typedef struct sbml_reader {
    saltus_model *model;
    saltus_error *err;
    const char *path;
    SBMLReader_t *reader;
    SBMLDocument_t *document;
    ConversionProperties_t *how; /* it is flattened */
    char *model_ref;             /* of the submodel that is being looked at */
    Model_t *sbml;
    unsigned level, version;
    saltus_map factors; /* of the replacements in a model */
    bool has_factors;   /* some definition has */
    saltus_map names;   /* id -> index into symbols; the ids are the document's */
    sbml_symbol *symbols;
    size_t n_symbols, symbols_capacity;
    sbml_info *info; /* [variable] */
    size_t info_capacity;
    sbml_reference *references;
    size_t n_references, references_capacity;
    sbml_locals *locals;                 /* [reaction] */
    sbml_stoichiometry *stoichiometries; /* of the reaction that is being read */
    size_t n_stoichiometries;
    size_t n_nodes;              /* of all expressions together */
    bool mole_seen, scaled_seen; /* units and factors that are worth a warning */
    bool is_mole_given;          /* by whoever reads: how many molecules stand for a mole */
    bool open_seen;        /* an amount that would be in mole then, and is in molecules else */
    const char *odd_unit;  /* of amounts, that counts no things, or NULL */
    unsigned skipped_line; /* of the first thing in a name space that is skipped; 0: none */
    char skipped_space[160];
} sbml_reader;

/** Record a failure, with file and line (0: none) before the sentence. Returns code. */
__attribute__((format(printf, 4, 5))) saltus_status
sbml_fail(sbml_reader *r, saltus_status code, unsigned line, const char *format, ...);
/** Keep a warning with the same beginning. */
__attribute__((format(printf, 3, 4))) void sbml_warn(sbml_reader *r, unsigned line,
                                                     const char *format, ...);
unsigned sbml_line(const void *element);
/** Note why the mean field alone has a meaning, with the same beginning; the first reason stays. */
__attribute__((format(printf, 3, 4))) SALTUS_MUST_CHECK saltus_status
sbml_note_mean_only(sbml_reader *r, unsigned line, const char *format, ...);

/** The symbol of a name, or NULL. Valid until the next name is defined. */
const sbml_symbol *sbml_find(const sbml_reader *r, const char *id);
/** Add the nearest defined name as a hint. */
void sbml_hint_nearest(sbml_reader *r, const char *id);

/** What stands before the name of a distribution once check.c has made a function of its symbol. */
#define SBML_DISTRIBUTION "distrib:"

/** check.c: refuse a text that would make libsbml run out of stack or expand entities, and
 * blank what libsbml is not to see: notes, annotations, other name spaces. Distributions become
 * functions. The text starts with an XML declaration; lines stay where they are. */
SALTUS_MUST_CHECK saltus_status sbml_check_text(sbml_reader *r, char *text, size_t size);
/** check.c: refuse levels and packages that are not done, and what libsbml complains of. */
SALTUS_MUST_CHECK saltus_status sbml_check_document(sbml_reader *r);

/** check.c: whether a document has been flattened, `done`, and no error has come to the `before`
 * that there were. */
SALTUS_MUST_CHECK saltus_status sbml_check_flattened(sbml_reader *r, bool done, unsigned before);
/** meanings.c: mark in definition number `definition`, before it is flattened, what its names mean:
 * local parameters, calls in functions, and times in functions and rates. */
SALTUS_MUST_CHECK saltus_status sbml_mark_meanings(sbml_reader *r, Model_t *m, unsigned definition);
/** factors.c: note whether something in a definition has a conversion factor. */
SALTUS_MUST_CHECK saltus_status sbml_note_factors(sbml_reader *r, Model_t *m);
/** factors.c: refuse conversion factors of replacements that libsbml would mix up. */
SALTUS_MUST_CHECK saltus_status sbml_check_factors(sbml_reader *r, Model_t *m);
/** meanings.c: the model's functions are no submodel's. */
void sbml_forget_names(Model_t *m);
/** meanings.c: how long the mark before the name of a local parameter is. */
size_t sbml_local_mark(const sbml_reader *r, const char *id);
/** meanings.c: what a function is called in its submodel. */
const char *sbml_function_name(const sbml_reader *r, const FunctionDefinition_t *f);
/** meanings.c: what a function, or, `caller` being NULL, the model means by the name of a function;
 * NULL: the caller's submodel has none. */
const sbml_symbol *sbml_find_callee(const sbml_reader *r, FunctionDefinition_t *caller,
                                    const char *name);
#if LIBSBML_HAS_PACKAGE_COMP
/** submodels.c: what a model has of submodels; NULL: none. */
CompModelPlugin_t *sbml_composition(Model_t *m);
/** submodels.c: the model that a submodel, if it is not NULL, is a copy of; NULL: there is none in
 * the document. */
Model_t *sbml_definition_of(sbml_reader *r, Submodel_t *s);
#endif
/** submodels.c: make one model of a model and its submodels, if it has any. */
SALTUS_MUST_CHECK saltus_status sbml_flatten(sbml_reader *r);

/** parts.c: fill the model in. */
SALTUS_MUST_CHECK saltus_status sbml_read_model(sbml_reader *r);
/** parts.c: a place from the thing's kind ("reaction"), id and line. */
sbml_place sbml_place_at(const char *kind, const char *id, const char *role, unsigned line);
/** parts.c: define a name; refuses one that is taken or empty. */
SALTUS_MUST_CHECK saltus_status sbml_define(sbml_reader *r, sbml_kind kind, int index,
                                            const char *id, const char *what, unsigned line);
/** parts.c: a new variable of the model and its info; element gives line and label. */
SALTUS_MUST_CHECK saltus_status sbml_add_variable(sbml_reader *r, saltus_kind kind, const char *id,
                                                  const SBase_t *element, int *index);
/** parts.c: the variable that something assigns to; refuses constants, what a rule determines
 * and stoichiometries. */
SALTUS_MUST_CHECK saltus_status sbml_target(sbml_reader *r, const sbml_place *place, const char *id,
                                            int *variable);

/** reactions.c: names, local parameters and named stoichiometries of all reactions. */
SALTUS_MUST_CHECK saltus_status sbml_declare_reactions(sbml_reader *r);
/** reactions.c: the reactions themselves, when all names are known and have initial values. */
SALTUS_MUST_CHECK saltus_status sbml_read_reactions(sbml_reader *r);

/** events.c: mark what events assign to. */
SALTUS_MUST_CHECK saltus_status sbml_declare_events(sbml_reader *r);
SALTUS_MUST_CHECK saltus_status sbml_read_events(sbml_reader *r);

/** math.c: an expression from MathML. Names of species become what the document means by them
 * (concentration, moles), in terms of molecules. */
SALTUS_MUST_CHECK saltus_status sbml_convert(sbml_reader *r, const sbml_place *place,
                                             const ASTNode_t *math, const saltus_expr **out);
/** math.c: a value in the units that formulas use for variable v, as molecules; `per_size`: those
 * of a concentration in a compartment of size 1. NULL when memory ran out. */
const saltus_expr *sbml_to_molecules(sbml_reader *r, int v, const saltus_expr *value,
                                     bool per_size);
/** math.c: the rate of change that a rate rule's formula gives variable v, in molecules. */
SALTUS_MUST_CHECK saltus_status sbml_rate_of_molecules(sbml_reader *r, const sbml_place *place,
                                                       int v, const ASTNode_t *math,
                                                       const saltus_expr **out);
/** math.c: the size of a compartment matters: warn once if it had to be assumed. */
void sbml_use_size(sbml_reader *r, int compartment);

/** vary.c: the values that an expression may have, once rules and events are read. Its parameters
 * cannot be set any more. */
SALTUS_MUST_CHECK saltus_status sbml_find_values(const sbml_reader *r, const saltus_expr *e,
                                                 sbml_values *out);
/** vary.c: make a stoichiometry a variable of the model, because something determines it. Nothing
 * happens to what is none. */
SALTUS_MUST_CHECK saltus_status sbml_let_vary(sbml_reader *r, const char *id);
/** vary.c: add a reaction some of whose n stoichiometries vary; `reaction` is without participants.
 */
SALTUS_MUST_CHECK saltus_status sbml_push_varying(sbml_reader *r, const sbml_place *place,
                                                  const saltus_reaction *reaction,
                                                  const sbml_stoichiometry *list, int n,
                                                  double firings);
/** reactions.c: empty sides, with room for any values of n stoichiometries. */
SALTUS_MUST_CHECK saltus_status sbml_make_sides(sbml_reader *r, const sbml_stoichiometry *list,
                                                int n, sbml_sides *sides);
/** reactions.c: put so many molecules of a species on a side. */
void sbml_put_molecules(sbml_sides *sides, int side, int variable, double molecules);
/** reactions.c: molecules that a firing changes of species v, with stoichiometry n. */
double sbml_change(const sbml_reader *r, int v, double n, double firings);
/** reactions.c: whether a firing can change so much. Where it is next to nothing, or more than can
 * be counted, units do not go together, and the mean field alone has a meaning. */
bool sbml_can_count(const sbml_reader *r, const sbml_stoichiometry *s, double n, double firings);
/** reactions.c: put what a firing changes of a species, with stoichiometry n, on its side, or on
 * the other if n is below 0. */
SALTUS_MUST_CHECK saltus_status sbml_put_participant(sbml_reader *r, const sbml_place *place,
                                                     const sbml_stoichiometry *s, double n,
                                                     double firings, sbml_sides *sides);
/** reactions.c: add a reaction to the model, with these sides. */
SALTUS_MUST_CHECK saltus_status sbml_push_with_sides(sbml_reader *r,
                                                     const saltus_reaction *reaction,
                                                     const sbml_sides *sides);
/** reactions.c: the stoichiometry of a reactant or product. */
SALTUS_MUST_CHECK saltus_status sbml_read_stoichiometry(sbml_reader *r, const sbml_place *place,
                                                        SpeciesReference_t *reference,
                                                        const saltus_expr **n);
/** reactions.c: the parameter that is the conversion factor of a species; -1: it has none. */
SALTUS_MUST_CHECK saltus_status sbml_find_factor(sbml_reader *r, int v, int *factor);

/** units.c: molecules per unit of a species' amount. One whose unit is not declared, or counts no
 * things, is a molecule, or a mole where the reader was told of how many molecules. */
SALTUS_MUST_CHECK saltus_status sbml_species_unit(sbml_reader *r, Species_t *species,
                                                  double *molecules);
/** units.c: firings per unit of a reaction's extent; 0 when no unit is declared. */
SALTUS_MUST_CHECK saltus_status sbml_extent_unit(sbml_reader *r, Reaction_t *reaction,
                                                 double *firings);

/** units.c: what `firings`, those per unit of extent, are per unit of a law's own (Level 1, and the
 * first version of Level 2); unchanged where it has none. */
SALTUS_MUST_CHECK saltus_status sbml_law_unit(sbml_reader *r, const KineticLaw_t *law,
                                              const sbml_place *place, double *firings);

/** units.c: the unit of a compartment's size in m^dimensions (1 to 3), that of litres, m2 and
 * m where the document does not say; 0 when it is no unit of such a size. */
double sbml_size_unit(const sbml_reader *r, const Compartment_t *compartment, int dimensions);
/** units.c: the unit of time in s, 1 where the document does not say; 0 when it is none. */
double sbml_time_unit(const sbml_reader *r);
/** units.c: a unit of time that something has of its own, in units of the model's; 1 when `id` is
 * NULL. Refuses what is no unit of time. */
SALTUS_MUST_CHECK saltus_status sbml_unit_of_time(sbml_reader *r, const char *id, const char *what,
                                                  unsigned line, double *time);
/** units.c: refuse a species whose concentrations are per another unit than its compartment's. */
SALTUS_MUST_CHECK saltus_status sbml_check_size_unit(sbml_reader *r, int v,
                                                     Compartment_t *compartment);

#endif
