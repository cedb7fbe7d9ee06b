/**
 * What a backend fills in. The ensemble sees nothing else of it.
 */
#ifndef SALTUS_BACKEND_BACKEND_H
#define SALTUS_BACKEND_BACKEND_H

#include "core/handle.h"
#include "core/status.h"
#include "engine/task.h"

/** Of a lattice. */
enum { SALTUS_MOST_SLABS = 64 };

/** What is to be simulated and how: what a backend goes by when it chooses a layout, compiles, and
 * reckons how long it will take. */
typedef struct saltus_setup {
    saltus_method method;
    const saltus_model *model;   /**< frozen */
    const saltus_tables *tables; /**< the model's, or such with other numbers */
    const saltus_generator *generator;
    const saltus_columns *columns;
    saltus_layout layout; /**< for choose_layout what is wanted */
    int block, n_streams; /**< on a GPU; 0: as is usual */
    int64_t n_expected;   /**< trajectories of a run; 0: very many */
    bool in_slabs;        /**< a lattice is to be cut */
    int n_slabs;          /**< in so many, once they are chosen */
} saltus_setup;

/** Slabs of a lattice as a plan has them. */
typedef struct saltus_slab_plan {
    const double *heights; /**< [n] relative */
    int n;
    bool move;    /**< planes do, to slabs that are soon done */
    bool by_host; /**< particles go, also where devices reach each other's memory */
} saltus_slab_plan;

typedef struct saltus_backend_ops {
    const char *name;
    unsigned kind;    /**< SALTUS_ON_…: whose layouts it has, engine/layout.h */
    unsigned methods; /**< SALTUS_METHOD_BIT of each that it simulates by */
    /** Whether `specification` names this backend; if it cannot run here, `why` says so. */
    bool (*claims)(const char *specification);
    saltus_status (*open)(const char *specification, struct saltus_backend *backend,
                          saltus_error *err);
    void (*close)(struct saltus_backend *backend);
    /** Print what is here, a line each. */
    void (*list)(FILE *out);
    /** Check the layout that is wanted, or choose one, and say why. */
    saltus_status (*choose_layout)(const struct saltus_backend *backend, const saltus_setup *setup,
                                   saltus_layout *layout, char why[200], saltus_error *err);
    /** How many slabs of a lattice are soonest done on all devices; NULL: it takes none. */
    int (*choose_slabs)(const struct saltus_backend *backend, const struct saltus_lattice *lattice);
    /** Print which device has which slab, and how they reach each other. */
    void (*explain_slabs)(const struct saltus_backend *backend,
                          const struct saltus_lattice *lattice, const saltus_slab_plan *slabs,
                          FILE *out);
    /** Bytes of this machine's memory that a trajectory of a lattice takes by method mpd, whoever
     * is in it; NULL: few. */
    double (*lattice_bytes)(const struct saltus_lattice *lattice);
    /** Bytes of samples that may be simulated ahead of their delivery; 0: what is usual. */
    int64_t ahead_bytes;
    /** It takes tasks with a derivation or a reduction. */
    bool reduces;
    /** SALTUS_METHOD_BIT of each method by which it simulates jobs of many points. */
    unsigned point_methods;
    /** 0: nothing here can run. */
    int (*n_workers)(const struct saltus_backend *backend, const saltus_plan_options *wanted);
    /** Seconds that a run takes, roughly, from constants that were measured: of n_trajectories with
     * so many of the method's steps each. Serves to choose between backends and to forecast. */
    double (*estimate)(const struct saltus_backend *backend, const saltus_setup *setup,
                       int n_workers, double n_trajectories, double steps_each);
    /** Compile the kernel and tell what it takes; NULL: there are none. */
    saltus_status (*compile)(const struct saltus_backend *backend, const saltus_setup *setup,
                             saltus_kernel_report *out, saltus_error *err);
    /** Work off jobs on this thread until there are no more. */
    saltus_status (*work)(const struct saltus_backend *backend, const saltus_task *task,
                          const saltus_source *source, saltus_error *err);
} saltus_backend_ops;

struct saltus_backend {
    saltus_handle handle;
    const saltus_backend_ops *ops;
    const void *device; /**< the backend's own */
    int n_cores;        /**< of the CPU, when it was opened: threads of a plan that names none */
    char name[40];
    char why[160]; /**< why it was chosen, or "" */
};

extern const saltus_backend_ops saltus_backend_cpu, saltus_backend_cuda;

#endif
