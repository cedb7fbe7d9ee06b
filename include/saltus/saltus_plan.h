/**
 * @file
 * Backends, and plans: a frozen model compiled for a backend and a method. saltus.h includes this
 * header.
 */
#ifndef SALTUS_SALTUS_PLAN_H
#define SALTUS_SALTUS_PLAN_H

#include <saltus/saltus_model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Backends
 */

/** An opened backend. */
typedef struct saltus_backend saltus_backend;

/**
 * Open a backend.
 *
 * @param specification "auto", "cpu", or "cpu:generic", "cpu:avx2", "cpu:avx512" (an instruction
 *                      set; tests use these), "cuda", "cuda:N,M…" (NVIDIA GPUs by number; one that
 *                      is named several times plays as many, each with a part of its
 *                      multiprocessors). "auto" is the CPU here, but see saltus_backend_choose; a
 *                      named one is never replaced by another. "cuda:sm_90" stands for GPUs of that
 *                      compute capability: plans for it can be compiled (saltus_plan_compile),
 *                      without a GPU, but not run
 * @param[out] out      to be closed with saltus_backend_close
 * @param err           see saltus_error
 * @retval SALTUS_OK            it is open
 * @retval SALTUS_E_INVALID     no such specification
 * @retval SALTUS_E_UNAVAILABLE not built, or it cannot run here; the message says why
 * @retval SALTUS_E_DEVICE      a GPU is there and failed
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_backend_open(const char *specification,
                                                               saltus_backend **out,
                                                               saltus_error *err);
/**
 * Close a backend. Its plans must be gone.
 *
 * @param backend may be NULL
 */
SALTUS_API void saltus_backend_close(saltus_backend *backend);
/**
 * Tell the name of a backend.
 *
 * @param backend may be NULL
 * @return such as "cpu:avx512"; valid as long as the backend
 */
SALTUS_API const char *saltus_backend_name(const saltus_backend *backend);
/**
 * Print what is here and what is not, with the reasons.
 *
 * @param out where to; NULL prints nothing
 */
SALTUS_API void saltus_backend_list(FILE *out);

/* ------------------------------------------------------------------------------------------------
 * Methods and layouts
 */

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

/* ------------------------------------------------------------------------------------------------
 * Plans
 */

/** What a plan is made for. Start from saltus_plan_options_default(). */
typedef struct saltus_plan_options {
    const char *method;     /**< "direct" (exact), "tau" (leaps), "hybrid" (flow where there are
                                 many molecules, events where there are few), "ode" (the mean field,
                                 without chance: counts are real values, and recorded as observables) or
                                 "auto" (saltus_method_choose, which takes one of the first two); of a
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
    const struct saltus_ranks *ranks; /**< NULL, or the ranks of the run: with `split` a lattice is
                                         in slabs on these, one each, also on the CPU ("auto": equal
                                           ones; heights: as many as there are ranks) */
    bool no_peer; /**< slabs exchange particles by way of the host, also where GPUs reach each
                       other's memory; changes no bit */
    const char *profile; /**< NULL; on a lattice "x", "y" or "z": count species in each of the
                              planes along this axis as well */
    int n_threads;       /**< 0: one per core */
    const char *layout;  /**< "auto", or a name of saltus_layout_at that the device has; never
                              changes a bit */
    int block;           /**< threads of a block on a GPU: 0 to choose, or 32, 64 … 1024 */
    int n_streams;       /**< of each GPU: 0 for the usual 4 */
    int64_t n_expected;  /**< trajectories that a run is expected to have, of all points that it
                              simulates at once, by which `auto` chooses a layout; 0: very many */
    const char *rng;     /**< random generator: "philox", "xorwow", "mrg32k3a" or "mt19937"; like
                              the seed, it changes every trajectory */
    double epsilon;      /**< of tau-leaping: by how much of itself a propensity may change in a
                              leap, in (0, 1); 0.03 */
    int n_critical; /**< reactions of which fewer firings exhaust a species, or double one that a
                         law reads, fire one by one; 0 … 10^6; 10 */
    int n_exact;    /**< exact steps where leaps are not worth while; 1 … 10^6; 100 */
    int64_t continuous; /**< of method hybrid: molecules from which on a species is continuous, for
                             each that a firing changes it by; 10 … 10^9; 1000 */
    double rtol; /**< of what is integrated (rate rules, methods ode and hybrid): error of a step
                      relative to a value, 1e-12 … 0.1; 1e-6. Changes the trajectories, like the
                    next two */
    double atol; /**< and absolute, in a variable's own unit, a species in molecules; above 0;
                      1e-12 */
    const char *stiff; /**< "auto": a method for stiff systems from where a trajectory has looked
                            stiff; "always"; "never". NULL: auto */
} saltus_plan_options;
/**
 * Give the usual options.
 *
 * @return the exact method of the model at hand, every species and rule target, one thread per core
 */
SALTUS_API saltus_plan_options saltus_plan_options_default(void);

/** A frozen model compiled for a backend and a method; may be shared by threads. */
typedef struct saltus_plan saltus_plan;

/**
 * Compile a frozen model for a backend. GPU kernels are compiled when they are first needed: by
 * saltus_plan_compile, or by a run.
 *
 * @param model    frozen; must outlive the plan
 * @param backend  must outlive the plan
 * @param options  NULL: the usual ones. Texts are copied
 * @param[out] out to be freed with saltus_plan_destroy
 * @param err      see saltus_error; fields of options stand in backquotes in its message
 * @retval SALTUS_OK            the plan is made
 * @retval SALTUS_E_INVALID     an option is out of its range, or the model is not frozen or does
 *                              not go with method or layout
 * @retval SALTUS_E_UNSUPPORTED the backend does not have this method, or cannot record what the
 *                              columns name; or the model has a meaning by method ode alone
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 *
 * Tau-leaping: Cao, Gillespie & Petzold, J. Chem. Phys. 124 (2006) 044109, doi:10.1063/1.2159468.
 * Multiparticle diffusion on a lattice: Hallock et al., Parallel Comput. 40 (2014) 86,
 * doi:10.1016/j.parco.2014.03.009.
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_plan_create(const saltus_model *model,
                                                              const saltus_backend *backend,
                                                              const saltus_plan_options *options,
                                                              saltus_plan **out, saltus_error *err);
/**
 * Free a plan.
 *
 * @param plan may be NULL
 */
SALTUS_API void saltus_plan_destroy(saltus_plan *plan);
/**
 * Print what was chosen and why, one line each.
 *
 * @param plan may be NULL
 * @param out  where to
 */
SALTUS_API void saltus_plan_explain(const saltus_plan *plan, FILE *out);
/**
 * Tell the method that was chosen.
 *
 * @param plan may be NULL
 * @return such as "direct"; a constant text
 */
SALTUS_API const char *saltus_plan_method(const saltus_plan *plan);
/**
 * Tell the version of the method's streams of random numbers. Results go together, as parts of one
 * run or as one that goes on, when their versions are equal.
 *
 * @param plan may be NULL
 * @return from 1 on; 0 without a plan
 */
SALTUS_API int saltus_plan_stream_version(const saltus_plan *plan);
/**
 * Tell the layout that was chosen.
 *
 * @param plan may be NULL
 * @return such as "lanes"; a constant text
 */
SALTUS_API const char *saltus_plan_layout(const saltus_plan *plan);
/**
 * Tell the random generator.
 *
 * @param plan may be NULL
 * @return such as "philox"; a constant text
 */
SALTUS_API const char *saltus_plan_rng(const saltus_plan *plan);
/**
 * Count the slabs that a lattice is cut into.
 *
 * @param plan may be NULL
 * @return their number; 0 or 1: one device has all of the lattice
 */
SALTUS_API int saltus_plan_slabs(const saltus_plan *plan);
/**
 * Give the model that a plan was made of.
 *
 * @param plan may be NULL
 * @return the model; NULL without a plan
 */
SALTUS_API const saltus_model *saltus_plan_model(const saltus_plan *plan);
/**
 * Give the backend that a plan was made for.
 *
 * @param plan may be NULL
 * @return the backend; NULL without a plan
 */
SALTUS_API const saltus_backend *saltus_plan_backend(const saltus_plan *plan);

/** What compiling a plan's kernel gave. */
typedef struct saltus_kernel_report {
    int registers;    /**< registers of a thread */
    int spill_bytes;  /**< bytes that a thread stores elsewhere for want of registers */
    int shared_bytes; /**< shared memory of a block */
    double seconds;   /**< time of compiling; 0 when it came from the cache */
    bool cached;      /**< it came from the cache on disk */
} saltus_kernel_report;

/**
 * Compile the kernel of a plan for GPUs, or fetch it from the cache on disk (SALTUS_CACHE), as a
 * run would. Compiling takes about a second, and grows with the model.
 *
 * @param plan     of a backend with GPUs, or of "cuda:sm_XX"
 * @param[out] out what it gave; may be NULL
 * @param err      see saltus_error
 * @retval SALTUS_OK            the kernel is there
 * @retval SALTUS_E_INVALID     the backend has no kernels to compile, or its compute capability is
 *                              none that NVRTC knows
 * @retval SALTUS_E_UNAVAILABLE there is no NVRTC; the message says what was tried
 * @retval SALTUS_E_DEVICE      compiling or loading failed
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_plan_compile(const saltus_plan *plan,
                                                               saltus_kernel_report *out,
                                                               saltus_error *err);
/**
 * Count the recorded counts, which are species.
 *
 * @param plan may be NULL
 * @return their number
 */
SALTUS_API int saltus_plan_n_counts(const saltus_plan *plan);
/**
 * Tell the name of a recorded count.
 *
 * @param plan may be NULL
 * @param c    0 <= c < saltus_plan_n_counts, in the order of columns
 * @return valid as long as the plan; "" when c is out of its range
 */
SALTUS_API const char *saltus_plan_count_name(const saltus_plan *plan, int c);
/**
 * Count the recorded real values, which are observables.
 *
 * @param plan may be NULL
 * @return their number
 */
SALTUS_API int saltus_plan_n_observables(const saltus_plan *plan);
/**
 * Tell the name of an observable.
 *
 * @param plan may be NULL
 * @param o    0 <= o < saltus_plan_n_observables, in the order of columns
 * @return valid as long as the plan; "" when o is out of its range
 */
SALTUS_API const char *saltus_plan_observable_name(const saltus_plan *plan, int o);

#ifdef __cplusplus
}
#endif

#endif
