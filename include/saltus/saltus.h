/**
 * @file
 * Saltus: exact stochastic simulation of reaction networks. Models, plans, runs, sweeps; what is
 * done with result files stands in saltus_results.h, which this header includes.
 *
 * A model is read or built, frozen, planned for a backend, and run; samples go to a sink. A
 * trajectory is a function of (model, method, seed, trajectory number) and of nothing else:
 * threads, lanes, instruction sets, output times and the number of runs never change a bit of it.
 * (By tau-leaping the sample times do: a leap ends there.)
 *
 * Every function that can fail returns a saltus_status and, where the caller passed an
 * saltus_error, records there one sentence with the values involved. The library never prints,
 * never exits and has no mutable globals but locks; handles may be used by one thread at a time,
 * except frozen models and plans, which are only read.
 */
#ifndef SALTUS_SALTUS_H
#define SALTUS_SALTUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** In the shared library and its interface. */
#define SALTUS_API __attribute__((visibility("default")))
/** Its result must be looked at. */
#define SALTUS_MUST_CHECK __attribute__((warn_unused_result))

/* Wrong calls are no crashes. Without a handle, or without what a function needs, it fails with
 * SALTUS_E_INVALID, or its value is 0, "", NaN or NULL, as for an index out of range. To destroy
 * NULL, or a handle for the second time, does nothing. `err` may be NULL everywhere; so may
 * options, which are the defaults then, unless something must be told, such as sample times. */

/** Status values: fixed numbers, with their texts. */
#define SALTUS_STATUS_LIST(X)                                                    \
    X(SALTUS_OK, 0, "success")                                                   \
    X(SALTUS_E_INVALID, 1, "an argument or option is out of its range")          \
    X(SALTUS_E_SYNTAX, 2, "the input is not well formed")                        \
    X(SALTUS_E_MODEL, 3, "the model is not consistent")                          \
    X(SALTUS_E_UNSUPPORTED, 4, "the model uses something that is not supported") \
    X(SALTUS_E_NO_MEMORY, 5, "memory ran out")                                   \
    X(SALTUS_E_IO, 6, "reading or writing failed")                               \
    X(SALTUS_E_DEVICE, 7, "a device failed")                                     \
    X(SALTUS_E_CANCELLED, 8, "the run was stopped on request")                   \
    X(SALTUS_E_NUMERIC, 9, "a trajectory left the range of its numbers")         \
    X(SALTUS_E_UNAVAILABLE, 10, "this part was not built or is not present")     \
    X(SALTUS_E_INTERNAL, 11, "a defect of this library")

/** Result of everything that can fail. */
typedef enum saltus_status {
/** An entry of the list as an enumerator. */
#define SALTUS_STATUS_ENUM(name, value, text) name = value,
    SALTUS_STATUS_LIST(SALTUS_STATUS_ENUM)
#undef SALTUS_STATUS_ENUM
} saltus_status;

/** The caller's record of the first failure. Set code to SALTUS_OK (or zero the whole) before use;
 * a record that holds a failure is not overwritten, because the first is nearest the cause. */
typedef struct saltus_error {
    saltus_status code; /**< SALTUS_OK: nothing has failed */
    char message[600];  /**< one sentence: place, thing, value; no newline. Fields of options and
                           what they may be set to stand in backquotes: `record all` */
    char hint[480];     /**< what would help; empty when there is nothing to say */
} saltus_error;

/** A constant text for a status, never NULL. */
SALTUS_API const char *saltus_status_text(saltus_status status);

/** Version of the library as "major.minor.patch". */
SALTUS_API const char *saltus_version(void);

/* ------------------------------------------------------------------------------------------------
 * Files that a program around the library reads and writes
 */

/**
 * Read a whole file, or with the path "-" what is left of standard input, at most 1 GiB.
 *
 * @param[out] text ended by a zero; to be freed with saltus_text_free
 * @param[out] size bytes, without that zero
 * @retval SALTUS_E_IO         it cannot be read, or the path is that of a pipe or a device
 * @retval SALTUS_E_NO_MEMORY  memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_text_read(const char *path, char **text,
                                                            size_t *size, saltus_error *err);
/** Free a text; NULL is allowed. */
SALTUS_API void saltus_text_free(char *text);

/**
 * Whether a file may be put under this name: there is none, or an empty one, or one with `mark` in
 * its first or last 4 KiB, by which is known that Saltus has written it.
 *
 * @retval SALTUS_E_INVALID it is another file; the hint tells what helps
 * @retval SALTUS_E_IO      it cannot be looked into
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_may_replace(const char *path, const char *mark,
                                                              saltus_error *err);

/* ------------------------------------------------------------------------------------------------
 * Models
 */

/** A network while it is built, then frozen. */
typedef struct saltus_model saltus_model;

/** How a law such as k*A^2, where two A are consumed, is meant. */
typedef enum saltus_law {
    SALTUS_LAW_LITERAL = 0,       /**< as it is written; freezing warns (default) */
    SALTUS_LAW_COMBINATORIAL = 1, /**< k*A*A, with two A consumed, is taken as k*A*(A-1) */
} saltus_law;

/**
 * Read a model file. The format is told by the content, then by the ending: SBML (.xml, .sbml),
 * Saltus YAML (.yaml, .yml), BioNetGen network (.net), each also packed by gzip (.xml.gz). The
 * model still has to be frozen.
 *
 * @retval SALTUS_E_IO          the file cannot be read, or unpacked; either is at most 1 GiB
 * @retval SALTUS_E_SYNTAX      not well formed; the message has file, line (and column for YAML)
 * @retval SALTUS_E_MODEL       inconsistent: an undefined name, a name defined twice
 * @retval SALTUS_E_UNSUPPORTED something that exact simulation cannot mean, or does not do yet
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_read(const char *path, saltus_model **out,
                                                             saltus_error *err);
/** saltus_model_read of a file that is SBML, whatever it is called. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_read_sbml(const char *path,
                                                                  saltus_model **out,
                                                                  saltus_error *err);
/** saltus_model_read of a file that is Saltus YAML, whatever it is called. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_read_yaml(const char *path,
                                                                  saltus_model **out,
                                                                  saltus_error *err);
/** saltus_model_read of a file that is BioNetGen network, whatever it is called. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_read_net(const char *path,
                                                                 saltus_model **out,
                                                                 saltus_error *err);

/** The same from memory; name stands for the path in messages, in the model's name if the text has
 * none, and as the place from which files are seen that the text names: they lie in the current
 * folder when it has no slash. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_parse(const char *text, size_t size,
                                                              const char *name, saltus_model **out,
                                                              saltus_error *err);
/** saltus_model_parse of a text that is SBML. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_parse_sbml(const char *text, size_t size,
                                                                   const char *name,
                                                                   saltus_model **out,
                                                                   saltus_error *err);
/** saltus_model_parse of a text that is Saltus YAML. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_parse_yaml(const char *text, size_t size,
                                                                   const char *name,
                                                                   saltus_model **out,
                                                                   saltus_error *err);
/** saltus_model_parse of a text that is BioNetGen network. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_parse_net(const char *text, size_t size,
                                                                  const char *name,
                                                                  saltus_model **out,
                                                                  saltus_error *err);

/** How a file is read. Start from saltus_read_options_default(). */
typedef struct saltus_read_options {
    double molecules_per_mole; /**< how many molecules stand for a mole, above 0; 0: Avogadro's
                                    number. With fewer, amounts in mole become fewer molecules, and
                                    rates keep to them: concentrations stay, fluctuations grow */
} saltus_read_options;
/** The usual ones. */
SALTUS_API saltus_read_options saltus_read_options_default(void);

/** saltus_model_read, and the same from memory, whose format is told in the same way; name stands
 * for the path. @param options NULL for the defaults. SALTUS_E_INVALID when molecules_per_mole is
 * out of its range, or nothing in the model is given in mole. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_read_with(
    const char *path, const saltus_read_options *options, saltus_model **out, saltus_error *err);
/** saltus_model_read_with of a text in memory, as saltus_model_parse. */
SALTUS_API SALTUS_MUST_CHECK saltus_status
saltus_model_parse_with(const char *text, size_t size, const char *name,
                        const saltus_read_options *options, saltus_model **out, saltus_error *err);

/** Start an empty model. @param name for people and for the output file; copied. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_create(const char *name, saltus_model **out,
                                                               saltus_error *err);
/** Free a model; NULL is allowed. */
SALTUS_API void saltus_model_destroy(saltus_model *model);

/** Add a parameter. Fails with SALTUS_E_MODEL when the name is taken or is no identifier. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_add_parameter(saltus_model *model,
                                                                      const char *id, double value,
                                                                      saltus_error *err);
/** Add a species with its number of molecules at time 0. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_add_species(saltus_model *model,
                                                                    const char *id, double amount,
                                                                    saltus_error *err);
/**
 * Add a reaction.
 *
 * @param equation "2 S1 + E -> S2 + E"; "0" or nothing stands for no species
 * @param rate     an expression. Without any species in it, it is the constant of mass action
 *                 (k A, k A B, k A (A-1)/2 …); else it is the propensity, 1/time.
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_add_reaction(
    saltus_model *model, const char *id, const char *equation, const char *rate, saltus_error *err);

/** Set a parameter's value or a species' initial number of molecules (--set NAME=VALUE). Initial
 * assignments and rules that depend on it follow. Only before freezing. SALTUS_E_INVALID when
 * there is no such name (the hint lists near ones), or it is fixed by a rule. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_set(saltus_model *model, const char *name,
                                                            double value, saltus_error *err);

/**
 * Change the size of a compartment and keep the concentrations in it (--volume NAME=V): initial
 * amounts of its species change in proportion; initial assignments and rules are computed with the
 * new size. Only before freezing, which warns of laws that do not grow with their compartment as
 * amounts do. A later saltus_model_set gives a number of molecules, whatever the volume.
 *
 * @param compartment its name, or "all" for every volume of the model
 * @param volume      "1 fL", "0.5 um^3"; a number without a unit is in the model's own
 * @retval SALTUS_E_INVALID     there is no such compartment or no such unit, a rule determines the
 *                              size, or the model has a lattice, whose sites are its volume
 * @retval SALTUS_E_UNAVAILABLE there is a unit, and the library was built without UDUNITS
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_set_volume(saltus_model *model,
                                                                   const char *compartment,
                                                                   const char *volume,
                                                                   saltus_error *err);

/**
 * Check the model and turn it into flat tables. After this it cannot be changed, until it is
 * thawed.
 *
 * @retval SALTUS_E_MODEL       e.g. a negative or NaN initial amount, rules that form a circle
 * @retval SALTUS_E_UNSUPPORTED e.g. a law that depends on time other than piecewise constantly
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_freeze(saltus_model *model, saltus_law law,
                                                               saltus_error *err);

/** Undo freezing: values may be set again. Plans of the model must be gone. */
SALTUS_API void saltus_model_thaw(saltus_model *model);

/** Name of the model, never NULL. */
SALTUS_API const char *saltus_model_name(const saltus_model *model);
/** Lower-case hexadecimal SHA-256 of the file it was read from; "" when it was built by calls. */
SALTUS_API const char *saltus_model_sha256(const saltus_model *model);

/** Number of species of a frozen model. */
SALTUS_API int saltus_model_n_species(const saltus_model *model);
/** Number of reactions of a frozen model. A reversible reaction whose law was split counts as two.
 */
SALTUS_API int saltus_model_n_reactions(const saltus_model *model);
/** Identifier of species s, 0 <= s < n_species. */
SALTUS_API const char *saltus_model_species(const saltus_model *model, int s);

/** How many sentences the reader and freezing want to say. */
SALTUS_API int saltus_model_n_warnings(const saltus_model *model);
/** Sentence i of them, 0 <= i < n_warnings. */
SALTUS_API const char *saltus_model_warning(const saltus_model *model, int i);

/** Print for people: species, reactions, kinds of rate law, rules, events. Frozen models only. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_print_info(const saltus_model *model,
                                                                   FILE *out, saltus_error *err);
/** Write the model as Saltus YAML; reading that back gives the same trajectories, bit for bit. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_model_write_yaml(const saltus_model *model,
                                                                   FILE *out, saltus_error *err);

/* ------------------------------------------------------------------------------------------------
 * Backends and plans
 */

/** An opened backend. */
typedef struct saltus_backend saltus_backend;

/**
 * Open a backend by its specification: "auto", "cpu", or "cpu:generic", "cpu:avx2", "cpu:avx512"
 * (an instruction set; tests use these), "cuda", "cuda:N,M…" (NVIDIA GPUs by number; one that is
 * named several times plays as many, each with a part of its multiprocessors). "auto" is the CPU
 * here, but see saltus_backend_choose; a named one is never replaced by another. "cuda:sm_90"
 * stands for GPUs of that compute capability: plans for it can be compiled (saltus_plan_compile),
 * without a GPU, but not run.
 *
 * @retval SALTUS_E_INVALID     no such specification
 * @retval SALTUS_E_UNAVAILABLE not built, or it cannot run here; the message says why
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_backend_open(const char *specification,
                                                               saltus_backend **out,
                                                               saltus_error *err);
/** Close it; its plans must be gone. NULL is allowed. */
SALTUS_API void saltus_backend_close(saltus_backend *backend);
/** Its name, such as "cpu:avx512". */
SALTUS_API const char *saltus_backend_name(const saltus_backend *backend);
/** Print what is here and what is not, with the reasons. */
SALTUS_API void saltus_backend_list(FILE *out);

/** A method or a layout that saltus_plan_options can name, for lists of what there is. */
typedef struct saltus_choice {
    const char *name;  /**< NULL: there are no more */
    const char *about; /**< what it is, in a few words */
    bool in_space;     /**< for models with a lattice, else for those without */
    bool on_cpu;       /**< the CPU has it */
    bool on_gpu;       /**< GPUs have it */
    bool leaps;        /**< a method that counts leaps and exact steps, and that epsilon steers */
} saltus_choice;

/**
 * The methods, one by one. Of those without a lattice, and of those with one, the first is the
 * usual one; "auto" is not among them.
 *
 * @param i from 0 on
 * @return its texts are constant; behind the last one its name is NULL
 */
SALTUS_API saltus_choice saltus_method_at(int i);

/**
 * The layouts, one by one; "auto" is not among them.
 *
 * @param i from 0 on
 * @return its texts are constant; behind the last one its name is NULL
 */
SALTUS_API saltus_choice saltus_layout_at(int i);

/** What a plan is made for. Start from saltus_plan_options_default(). */
typedef struct saltus_plan_options {
    const char *method; /**< "direct" (exact), "tau" (leaps) or "auto" (saltus_method_choose); of a
                             model with a lattice "mpd" (steps), "nsm" (exact, on the CPU) or "auto"
                             (mpd). NULL: direct, of a lattice mpd. Changes the trajectories */
    const char *method_why; /**< for saltus_plan_explain; NULL: there is nothing to say */
    const char *columns;    /**< NULL: every species and every rule target. Else names separated by
                                 commas: species, rule targets, parameters, "[S]" for a
                                 concentration */
    bool by_type;      /**< on a lattice of several site types, count species in each as well */
    const char *split; /**< NULL; on a GPU a lattice in slabs of planes along z, on all of the
                            GPUs in turn: relative heights such as "1:1" or "3:1:2", with a "+"
                            behind them if planes may move to slabs that are sooner done; or
                            "auto", equal ones on as many GPUs as pay, or more where that wants more
                            sites or memory, which may; changes no bit. A lattice that is
                            whole has at most 2^32 - 2^24 sites */
    bool no_peer;      /**< slabs exchange particles by way of the host, also where GPUs reach each
                            other's memory; changes no bit */
    const char *profile; /**< NULL; on a lattice "x", "y" or "z": count species in each of the
                              planes along this axis as well */
    int n_threads;       /**< 0: one per core */
    const char *layout;  /**< "auto", or a name of saltus_layout_at that the device has; never
                              changes a bit */
    int block;           /**< threads of a block on a GPU: 0 to choose, or 32, 64 … 1024 */
    int n_streams;       /**< of each GPU: 0 for the usual 4 */
    const char *rng;     /**< random generator: "philox", "xorwow", "mrg32k3a" or "mt19937"; like
                              the seed, it changes every trajectory */
    double epsilon;      /**< of tau-leaping: by how much of itself a propensity may change in a
                              leap, in (0, 1); 0.03 */
    int n_critical; /**< reactions that fewer firings exhaust fire one by one; 0 … 10^6; 10 */
    int n_exact;    /**< exact steps where leaps are not worth while; 1 … 10^6; 100 */
} saltus_plan_options;
/** The usual ones. */
SALTUS_API saltus_plan_options saltus_plan_options_default(void);

/** A frozen model compiled for a backend and a method; may be shared by threads. */
typedef struct saltus_plan saltus_plan;

/** Compile a frozen model for a backend, by options (NULL: the usual ones). The model and the
 * backend must outlive the plan. @retval SALTUS_E_INVALID an option is out of its range, or the
 * model does not go with method, layout or backend */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_plan_create(const saltus_model *model,
                                                              const saltus_backend *backend,
                                                              const saltus_plan_options *options,
                                                              saltus_plan **out, saltus_error *err);
/** Free a plan; NULL is allowed. */
SALTUS_API void saltus_plan_destroy(saltus_plan *plan);
/** What was chosen and why, one line each (--explain). */
SALTUS_API void saltus_plan_explain(const saltus_plan *plan, FILE *out);
/** The method that was chosen, "direct". */
SALTUS_API const char *saltus_plan_method(const saltus_plan *plan);
/** The layout that was chosen, "lanes". */
SALTUS_API const char *saltus_plan_layout(const saltus_plan *plan);
/** The random generator, "philox". */
SALTUS_API const char *saltus_plan_rng(const saltus_plan *plan);
/** Slabs of a lattice; 0 or 1: a device has all of it. */
SALTUS_API int saltus_plan_slabs(const saltus_plan *plan);
/** The model that it was made of. */
SALTUS_API const saltus_model *saltus_plan_model(const saltus_plan *plan);
/** The backend that it was made for. */
SALTUS_API const saltus_backend *saltus_plan_backend(const saltus_plan *plan);

/** What compiling a plan's kernel gave. */
typedef struct saltus_kernel_report {
    int registers;    /**< of a thread */
    int spill_bytes;  /**< that a thread stores elsewhere for want of registers */
    int shared_bytes; /**< of a block */
    double seconds;   /**< of compiling; 0 when it came from the cache */
    bool cached;      /**< it came from the cache on disk */
} saltus_kernel_report;

/**
 * Compile the kernel of a plan for GPUs, or fetch it from the cache on disk (SALTUS_CACHE), as a
 * run would.
 *
 * @retval SALTUS_E_INVALID     the backend has no kernels to compile, or its compute capability is
 *                              none that NVRTC knows
 * @retval SALTUS_E_UNAVAILABLE there is no NVRTC; the message says what was tried
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_plan_compile(const saltus_plan *plan,
                                                               saltus_kernel_report *out,
                                                               saltus_error *err);
/** Number of recorded counts (species). */
SALTUS_API int saltus_plan_n_counts(const saltus_plan *plan);
/** Name of recorded count c, 0 <= c < n_counts, in the order of columns. */
SALTUS_API const char *saltus_plan_count_name(const saltus_plan *plan, int c);
/** Number of recorded real values (observables). */
SALTUS_API int saltus_plan_n_observables(const saltus_plan *plan);
/** Name of observable o, 0 <= o < n_observables, in the order of columns. */
SALTUS_API const char *saltus_plan_observable_name(const saltus_plan *plan, int o);

/* ------------------------------------------------------------------------------------------------
 * Runs
 */

/** How the recorded species of a lattice are counted beside their totals. */
typedef enum saltus_split {
    SALTUS_BY_TYPE,  /**< in each type of sites */
    SALTUS_BY_PLANE, /**< in each plane of the profile's axis */
    SALTUS_N_SPLITS
} saltus_split;

/** What the sites of a lattice hold at one time of one trajectory: entries in any order; a pair of
 * site and species may stand in several, whose counts add up. Valid until the sink returns. */
typedef struct saltus_frame {
    int64_t trajectory;       /**< its number */
    int64_t number;           /**< of saltus_run_options.frame_times */
    int64_t n;                /**< entries */
    const int64_t *site;      /**< [n] x + size_x (y + size_y z) */
    const uint16_t *species;  /**< [n] */
    const int32_t *count;     /**< [n] */
    const int32_t *column_of; /**< [species] its column of counts; -1: it is not recorded */
} saltus_frame;

/** A read-only view of the samples of some trajectories, valid until the sink returns. */
typedef struct saltus_block {
    const int64_t *trajectories; /**< [n_trajectories] their numbers, rising; consecutive except
                                      in the last block of an interrupted run */
    int64_t n_trajectories;      /**< at least 1 */
    int64_t n_points;            /**< samples per trajectory */
    int n_counts;                /**< recorded species */
    int n_observables;           /**< recorded real values */
    const int64_t *counts;       /**< [trajectory][point][count] molecules, C order */
    const double *observables;   /**< [trajectory][point][observable]; NULL when there are none */
    const struct saltus_reduced *reduced; /**< NULL, but for sinks with a reduction: then counts
                                               are the last point's, n_points 1, or none, 0 */
    const double *derived;                /**< NULL, or for sinks with a derivation, what a device
                                               has made: [trajectory][quantity] */
    int64_t first;                        /**< how many trajectories of the run come before */
    /** On a lattice, as the plan's options ask: [trajectory][point][part][count] */
    const int64_t *splits[SALTUS_N_SPLITS];
    int n_parts[SALTUS_N_SPLITS]; /**< types, planes; 0: not recorded, and the pointer is NULL */
} saltus_block;

/**
 * Where samples go. prepare may be NULL; it is called for every block on the thread that finished
 * it, many at once and in any order, and may leave a result in *prepared (compressed chunks,
 * partial sums). deliver is called for every block by rising trajectory number, one call at a
 * time, with what prepare left; it owns that and must free it, also when it fails. If a run ends
 * early, discard (may be NULL when prepare is) frees what was prepared and never delivered.
 * A status other than SALTUS_OK from either stops the run, which returns it.
 *
 * frame may be NULL: then no frames of a lattice are made. It is called on the thread that
 * simulates for every frame as soon as it is there, many at once, also beside prepare and deliver;
 * frames of a trajectory rise, and come before its block. A status other than SALTUS_OK stops the
 * run.
 *
 * A sink may wish for blocks of a certain size: then every block but the last has exactly
 * block_trajectories of them, so that block b starts at first_trajectory + b * block_trajectories.
 */
typedef struct saltus_sink {
    void *user;                                 /**< handed to every function */
    int64_t block_trajectories;                 /**< 0: blocks of any size */
    const struct saltus_reduction *reduction;   /**< NULL: the sink needs every sample; only the
                                                     library's own know how to do without */
    const struct saltus_derivation *derivation; /**< quantities of every trajectory; likewise */
    /** NULL, or called for a block on the thread that finished it; it may set *prepared. */
    saltus_status (*prepare)(void *user, const saltus_block *block, void **prepared,
                             saltus_error *err);
    /** Called for a block in its turn; it owns what was prepared. */
    saltus_status (*deliver)(void *user, const saltus_block *block, void *prepared,
                             saltus_error *err);
    /** Free what was prepared and is not delivered; may be NULL when prepare is. */
    void (*discard)(void *user, void *prepared);
    /** NULL, or called for a frame of a lattice as soon as it is there. */
    saltus_status (*frame)(void *user, const saltus_frame *frame, saltus_error *err);
} saltus_sink;

/** How far a run is; passed to the progress callback. */
typedef struct saltus_progress {
    int64_t trajectories; /**< finished */
    int64_t total;        /**< of the run */
    int64_t events;  /**< also of trajectories under way, where these are told; on GPUs when a batch
                          has ended */
    double seconds;  /**< since the run started */
    double fraction; /**< 0 to 1: the simulated time behind all trajectories, under way or finished,
                          over the whole of it; on a GPU, without a lattice, of finished ones alone.
                          Never falls */
    double until;    /**< the last sample's time; a single trajectory is at fraction * until */
} saltus_progress;

/** Where a span of time belongs: a GPU's stream, a worker on the host, or the sink's deliveries; or
 * whose value it is that is told: a slab's of a lattice. */
typedef enum saltus_track {
    SALTUS_TRACK_GPU = 0,
    SALTUS_TRACK_WORKER,
    SALTUS_TRACK_WRITER,
    SALTUS_TRACK_SLAB
} saltus_track;

/** Something that took its time in a run: "kernel", "reduce" and "copy" on a GPU, "work" and "hand
 * over" of a worker, and within the latter "run again", a trajectory that the GPU gave up;
 * "deliver" of the sink. Of a slab, each time that times are taken: "planes", "us per step" (of
 * these) and "step", the number of the one that was timed. */
typedef struct saltus_span {
    const char *name;   /**< constant */
    saltus_track track; /**< where it belongs */
    int worker;         /**< whose, from 0; a GPU's worker has a stream; 0 for deliveries */
    double start;       /**< seconds since the run started */
    double seconds;     /**< how long it took */
    double value;       /**< of a slab, from `start` on */
} saltus_span;

/** What to simulate. Start from saltus_run_options_default(), so new fields keep their defaults. */
typedef struct saltus_run_options {
    uint64_t seed; /**< any value (mrg32k3a refuses seven); equal seeds give equal samples */
    int64_t
        first_trajectory;   /**< number of the first trajectory, >= 0; > 0 extends an earlier run */
    int64_t n_trajectories; /**< at least 1 */
    const double *times;    /**< [n_times] sample times, rising, >= 0; every run starts at 0 */
    int64_t n_times;        /**< at least 1; the run ends at the last */
    const double *frame_times; /**< [n_frames] of a lattice: when to hand frames to the sink,
                                  rising, between 0 and the last sample's time */
    int64_t n_frames;          /**< of frame_times; 0: no frames */
    const volatile int *stop;  /**< NULL, or set to non-zero (from a signal handler, say) to stop */
    void (*progress)(void *user, const saltus_progress *progress); /**< NULL, or called a few times
                                                                        a second, from one thread */
    void *progress_user;                                           /**< handed to progress */
    void (*warn)(void *user, const char *sentence); /**< NULL, or called at the end of the run, for
                                                         each event whose assignments were rounded
                                                         to whole numbers of molecules */
    void *warn_user;                                /**< handed to warn */
    void (*trace)(void *user, const saltus_span *span); /**< NULL, or called when a span has passed,
                                                             from any thread, one call at a time */
    void *trace_user;                                   /**< handed to trace */
} saltus_run_options;
/** One trajectory of seed 1; times are still to be given. */
SALTUS_API saltus_run_options saltus_run_options_default(void);

/** What a run did. */
typedef struct saltus_run_report {
    int64_t trajectories;  /**< delivered to the sink */
    int64_t events;        /**< reactions that fired in them */
    double seconds;        /**< from the first trajectory's start to the last delivery */
    double kernel_seconds; /**< of kernels on GPUs, summed over streams; 0 on the CPU */
    int64_t leaps;         /**< of tau-leaping in them, */
    int64_t exact_steps;   /**< and exact steps between leaps */
    int64_t planes_moved;  /**< of a lattice in slabs: how far their ends have moved, so that they
                                take as long as each other */
    int64_t halo_bytes;    /**< and what crosses between GPUs in a step, of all slabs, */
    double halo_wait; /**< the part of their time that blocks of threads beside another GPU's slab
                           waited for it, 0 to 1; negative: slabs do not run at once */
    const char
        *halo_path; /**< by "peer" memory or the "host", or on the "same GPU"; NULL: no slabs */
    int64_t moves;  /**< of the next-subvolume method in them: jumps of particles between
                         sites, into and out of the lattice */
} saltus_run_report;

/** Which runs have a counter to report. */
typedef enum saltus_counted {
    SALTUS_IN_ALL,   /**< all have */
    SALTUS_IN_LEAPS, /**< those of a method that leaps */
    SALTUS_IN_SLABS, /**< those of a lattice that is cut into slabs */
    SALTUS_IN_SOME   /**< those in which it is above 0 */
} saltus_counted;

/** The counters among the members of saltus_run_report, as X(name, which runs have it). What adds
 * them up and what prints them goes by this list. */
#define SALTUS_COUNTERS(X)           \
    X(events, SALTUS_IN_ALL)         \
    X(leaps, SALTUS_IN_LEAPS)        \
    X(exact_steps, SALTUS_IN_LEAPS)  \
    X(planes_moved, SALTUS_IN_SLABS) \
    X(moves, SALTUS_IN_SOME)

/**
 * Simulate independent trajectories and hand their samples to a sink.
 *
 * @param plan        compiled model, not changed: several threads may run it at once
 * @param sink        stays the caller's
 * @param[out] report filled also when the run ends early; may be NULL
 * @param[out] err    the first error in full; may be NULL
 * @retval SALTUS_OK          every sample was delivered
 * @retval SALTUS_E_INVALID   an option is out of its range; nothing was delivered
 * @retval SALTUS_E_CANCELLED *stop became non-zero; every finished trajectory was delivered
 * @retval SALTUS_E_NUMERIC   overflow, a negative count, a NaN or negative propensity: the message
 *                            names trajectory, time, reaction and state; all finished
 *                            trajectories were delivered
 * @retval SALTUS_E_NO_MEMORY memory ran out
 *
 * Direct method: Gillespie, J. Phys. Chem. 81 (1977) 2340, doi:10.1021/j100540a008. On a lattice,
 * by the next-subvolume method: Elf & Ehrenberg, Syst. Biol. 1 (2004) 230, doi:10.1049/sb:20045021.
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_run(const saltus_plan *plan,
                                                      const saltus_run_options *options,
                                                      const saltus_sink *sink,
                                                      saltus_run_report *report, saltus_error *err);

/** What a choice of method goes by. */
typedef struct saltus_method_choice {
    const char *method; /**< "direct" or "tau"; of a model with a lattice "mpd" */
    char why[200];      /**< one sentence */
} saltus_method_choice;

/**
 * Choose between the exact method and tau-leaping: leaps where they are several times faster, and
 * no event watches the state. This is what method "auto" means, in a plan and in the command; it is
 * never taken unless it is named. A pilot of two trajectories of fixed numbers and seed leaps from
 * time 0 until it has seen enough; its reactions, leaps and exact steps are compared with
 * constants. No time is measured, and no end, sample times or number of trajectories are looked at,
 * so the choice is the same on every machine and for every run of a model.
 *
 * @param model   frozen
 * @param options the plan's; epsilon and the like are the pilot's too; NULL: the usual ones
 */
SALTUS_API saltus_method_choice saltus_method_choose(const saltus_model *model,
                                                     const saltus_plan_options *options);

/** What a run is expected to take. */
typedef struct saltus_forecast {
    double n;         /**< reactions of all trajectories; by nsm jumps, by mpd steps */
    const char *of;   /**< "reactions", "jumps", "steps" */
    double seconds;   /**< 0: nothing is known */
    char advice[300]; /**< what would help: options, as in saltus_error, separated by commas */
} saltus_forecast;

/**
 * Reckon what a run will take, roughly: from a pilot of at most about half a second, which looks
 * ahead by leaps, or from the steps of a lattice, and constants that were measured. Changes nothing
 * about the run. Of a run whose options are wrong nothing is known.
 */
SALTUS_API saltus_forecast saltus_run_forecast(const saltus_plan *plan,
                                               const saltus_run_options *run);

/**
 * Open the backend that will be done first with a run: the CPU, or all of "cuda" if that is here
 * and the run is long enough. How much there is to simulate is found out by simulating a part of
 * the first trajectory; what that takes on either, from constants that were measured. Nothing but
 * the time that a run takes depends on the choice. saltus_plan_explain tells the reason.
 *
 * @param options of the plan to be made; NULL: the usual ones. A layout, block or number of streams
 *                that one backend alone has decides
 * @param run     of its times the last is looked at
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_backend_choose(const saltus_model *model,
                                                                 const saltus_plan_options *options,
                                                                 const saltus_run_options *run,
                                                                 saltus_backend **out,
                                                                 saltus_error *err);

/* ------------------------------------------------------------------------------------------------
 * Sweeps
 */

/** Which values which parameters and initial amounts take: a grid, a random design, or a table. */
typedef struct saltus_sweep saltus_sweep;
/** Begin a sweep that varies nothing yet. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_create(saltus_sweep **out,
                                                               saltus_error *err);
/** Free a sweep; NULL is allowed. */
SALTUS_API void saltus_sweep_destroy(saltus_sweep *sweep);
/**
 * Vary one name more.
 *
 * @param what "NAME=lin:LOW:HIGH:N", N equally spaced values, bounds included; "log:…", equal
 *             ratios; "list:A,B,C"; for a design "lin:LOW:HIGH" or "log:LOW:HIGH"
 * @retval SALTUS_E_INVALID it says something else, or the name is varied already
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_vary(saltus_sweep *sweep, const char *what,
                                                             saltus_error *err);
/**
 * Make the points: all combinations, the last name's values fastest, or those of a design.
 *
 * @param design NULL: the grid. "lhs:N": a Latin hypercube of N points; "sobol:N": the first N of
 *               Sobol's sequence; "file:POINTS.csv": those of a table, which names in its first
 * line what varies, so that there is no saltus_sweep_vary
 * @param seed   of a Latin hypercube
 * @retval SALTUS_E_INVALID there are no names, values are missing, or more than 2^28 points; the
 *                          table is none, with its line
 * @retval SALTUS_E_IO      the table cannot be read
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_finish(saltus_sweep *sweep,
                                                               const char *design, uint64_t seed,
                                                               saltus_error *err);

/** How many names vary. */
SALTUS_API int saltus_sweep_n_axes(const saltus_sweep *sweep);
/** The name of an axis, 0 <= axis < n_axes. */
SALTUS_API const char *saltus_sweep_name(const saltus_sweep *sweep, int axis);
/** Values of a grid's axis; 0 for a design. */
SALTUS_API int64_t saltus_sweep_axis_length(const saltus_sweep *sweep, int axis);
/** Number of points; 0 before saltus_sweep_finish. */
SALTUS_API int64_t saltus_sweep_n_points(const saltus_sweep *sweep);
/** What an axis is at a point, 0 <= point < n_points. */
SALTUS_API double saltus_sweep_value(const saltus_sweep *sweep, int axis, int64_t point);

/** Thaw the model, set the values of a point and freeze it, as saltus_sweep_run does. */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_freeze(const saltus_sweep *sweep,
                                                               int64_t point, saltus_model *model,
                                                               saltus_law law, saltus_error *err);

/** How a sweep is simulated. Start from saltus_sweep_options_default(). */
typedef struct saltus_sweep_options {
    /** Read the model, not frozen; called once by every thread. NULL: *err has the reason. */
    saltus_model *(*load)(void *user, saltus_error *err);
    void *load_user;            /**< handed to load */
    saltus_law law;             /**< as for saltus_model_freeze */
    const char *device;         /**< "cpu", "cuda" … */
    saltus_plan_options plan;   /**< n_threads: points at a time, or threads when points are few */
    saltus_run_options run;     /**< n_trajectories: at every point; first_trajectory: of the first
                                     point. times, stop, warn and progress as in a run */
    bool common_random_numbers; /**< run i has the same number at every point, else run i at point
                                     g is trajectory g R + i */
} saltus_sweep_options;
/** The usual ones; load and times are still to be given. */
SALTUS_API saltus_sweep_options saltus_sweep_options_default(void);

/** Where the trajectories of points go; functions return other than SALTUS_OK to stop the sweep. */
typedef struct saltus_sweep_sink {
    void *user; /**< handed to every function */
    /** A sink for a point's run. Called by any thread. */
    saltus_status (*open)(void *user, int64_t point, const saltus_plan *plan, saltus_sink **sink,
                          saltus_error *err);
    /** The run is done: take the sink back. By rising points, one call at a time. */
    saltus_status (*deliver)(void *user, int64_t point, saltus_sink *sink, saltus_error *err);
    /** The sink of a point whose run failed, or that came too late. */
    void (*discard)(void *user, saltus_sink *sink);
} saltus_sweep_sink;

/**
 * Simulate every point. The trajectories of a point are, to the bit, those of a run with the same
 * values, numbers and seed.
 *
 * @param[out] report filled also when the sweep ends early; may be NULL
 * @retval as saltus_run; SALTUS_E_CANCELLED: all points before the first that is missing were
 *         delivered
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_sweep_run(const saltus_sweep *sweep,
                                                            const saltus_sweep_options *options,
                                                            const saltus_sweep_sink *sink,
                                                            saltus_run_report *report,
                                                            saltus_error *err);

#ifdef __cplusplus
}
#endif

#include <saltus/saltus_results.h>

#endif
