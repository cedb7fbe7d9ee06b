/**
 * Methods of simulation, as everything above kernels knows them: what a method is called, which
 * models and options it takes, what its trajectories are counted in. Names are read and written at
 * the border alone (options of a plan, reports, files); inside a method is a saltus_method. What
 * computes is a backend's: backend/cpu/variants.c has an entry for each method.
 */
#ifndef SALTUS_METHOD_METHOD_H
#define SALTUS_METHOD_METHOD_H

#include "core/status.h"
#include "kernel/ssa/state.h"

struct saltus_lattice;

/** The methods: X(enumerator, variable), in the order in which they are named to users. */
#define SALTUS_METHODS(X) \
    X(DIRECT, direct) X(TAU, tau) X(ODE, ode) X(HYBRID, hybrid) X(MPD, mpd) X(NSM, nsm)

#define SALTUS_METHOD_ENUMERATOR(name, variable) SALTUS_METHOD_##name,
/** The choice `auto` is none of them: saltus_method_choose makes one of it. */
typedef enum saltus_method {
    SALTUS_METHODS(SALTUS_METHOD_ENUMERATOR) SALTUS_N_METHODS
} saltus_method;

/** A set of methods has this bit for each. */
#define SALTUS_METHOD_BIT(method) (1U << (method))

/** What steers steps. */
typedef struct saltus_steering {
    const saltus_tau *tau;
    const saltus_tolerance *tolerance;
} saltus_steering;

typedef struct saltus_method_ops {
    const char *name;   /**< in options, reports and files */
    int stream_version; /**< raised whenever the same seed gives other trajectories than before */
    const char *help;   /**< what it does, in words for a list of options */
    bool in_space;      /**< it takes models with a lattice and no others, or else those without */
    bool is_exact;
    bool leaps;             /**< leaps and exact steps are counted, and saltus_tau steers them */
    bool shares_trajectory; /**< all cores work at one trajectory, if there is only one */
    bool is_timed;          /**< what a run takes is found by trying it, not from counts of steps */
    const char *steps;      /**< what a run of it is expected to take so many of */
    /** Why it does not take a frozen model with such options; its models are of the right kind. */
    saltus_status (*check)(const saltus_model *model, const saltus_plan_options *options,
                           saltus_error *err);
    /** Why it does not go on until t_end; NULL: it does. */
    saltus_status (*check_until)(const struct saltus_lattice *lattice, double t_end,
                                 saltus_error *err);
    /** Steps of a trajectory until t_end, roughly; NULL: a pilot has to tell. */
    double (*count_steps)(const struct saltus_lattice *lattice, double t_end);
    /** Nanoseconds of a core for a step, roughly, in vector lanes or not: bench/RESULTS.md. */
    double (*core_ns)(const saltus_tables *tables, const struct saltus_lattice *lattice,
                      bool in_lanes);
    /** Print what saltus_plan_explain says of it; cost: how that of an event grows. */
    void (*explain)(const saltus_model *model, const saltus_steering *steering, const char *cost,
                    FILE *out);
} saltus_method_ops;

#define SALTUS_METHOD_DECLARATION(name, variable) \
    extern const saltus_method_ops saltus_method_##variable;
SALTUS_METHODS(SALTUS_METHOD_DECLARATION)

const saltus_method_ops *saltus_method_of(saltus_method method);

/** The exact one of well-mixed models, and the usual one of a lattice: where none is named. */
saltus_method saltus_method_usual(const saltus_model *model);

/** Whether a name (or NULL) leaves the choice between methods to saltus_method_choose. */
bool saltus_method_is_auto(const char *name);

/** The method of a name; false when there is none, or it is `auto`. */
bool saltus_method_find(const char *name, saltus_method *out);

/** Find the method of a name for a model with a lattice or without; the error lists what there is.
 */
SALTUS_MUST_CHECK saltus_status saltus_method_parse(const char *name, bool in_space,
                                                    saltus_method *out, saltus_error *err);

/** What is common to methods of models without a lattice: the ranges of what steers leaps, which
 * holds for the exact one as well, because `auto` may become either. */
SALTUS_MUST_CHECK saltus_status saltus_method_check_mixed(const saltus_model *model,
                                                          const saltus_plan_options *options,
                                                          saltus_error *err);
/** What methods share that count molecules: they refuse models of which the mean field alone has a
 * meaning. */
SALTUS_MUST_CHECK saltus_status saltus_method_check_counts(const saltus_model *model,
                                                           saltus_error *err);
/** The ranges of tolerances, also where nothing is integrated. */
SALTUS_MUST_CHECK saltus_status saltus_method_check_tolerance(const saltus_plan_options *options,
                                                              saltus_error *err);
/** Whether the method for stiff systems, if it is asked for always, takes as many components as
 * there are; is_mean: counts are among them. */
SALTUS_MUST_CHECK saltus_status saltus_method_check_stiff(const saltus_model *model,
                                                          const saltus_plan_options *options,
                                                          bool is_mean, saltus_error *err);
/** What methods share by which counts move between events (or steps, as `between` says):
 * tolerances, clocks, generator. */
SALTUS_MUST_CHECK saltus_status saltus_method_check_moving(const saltus_model *model,
                                                           const saltus_plan_options *options,
                                                           const char *name, const char *between,
                                                           saltus_error *err);
/** And of a lattice. */
SALTUS_MUST_CHECK saltus_status saltus_method_check_lattice(const saltus_model *model,
                                                            const saltus_plan_options *options,
                                                            saltus_error *err);

#endif
