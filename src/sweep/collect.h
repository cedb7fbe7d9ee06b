/** What is kept of one ensemble in memory: the run of a sweep's point. */
#ifndef SALTUS_SWEEP_COLLECT_H
#define SALTUS_SWEEP_COLLECT_H

#include "ensemble/derive.h"
#include "ensemble/reduction.h"

/** What to keep beside statistics; the same for all points. */
typedef struct saltus_collection {
    int64_t n_runs, n_times;
    const double *times; /**< [n_times] */
    int n_counts, n_observables;
    int n_parts[SALTUS_N_SPLITS]; /**< of a lattice, whose counts by part have statistics too */
    saltus_record record;
    int64_t n_bins; /**< of histograms; 0 for the usual ones */
    double low, high;
    saltus_derivation derivation;             /**< n is 0 when there is none */
    const struct saltus_reduction *reduction; /**< NULL: samples are needed */
} saltus_collection;

typedef struct saltus_collector {
    saltus_sink sink; /**< for the run */
    const saltus_collection *what;
    int64_t n, events; /**< trajectories so far, reactions in them */
    saltus_statistics statistics;
    saltus_real_statistics reals;
    saltus_statistics splits[SALTUS_N_SPLITS]; /**< unless all samples are kept */
    saltus_histogram histogram;                /**< n_bins is 0 when not recorded */
    int64_t *counts;     /**< [run][point][count] or, of final, [run][count]; or NULL */
    double *observables; /**< likewise */
    double *derived;     /**< [quantity][run] */
} saltus_collector;

SALTUS_MUST_CHECK saltus_status saltus_collector_create(const saltus_collection *what,
                                                        saltus_collector **out, saltus_error *err);
/** The collector whose sink it is; NULL: it is another one. */
saltus_collector *saltus_collector_of(const saltus_sink *sink);
void saltus_collector_destroy(saltus_collector *collector);
/** What a collector holds, as if a device had reduced it, until the collector changes. */
saltus_reduced saltus_collector_reduced(const saltus_collector *collector);
/** Whether these can be added: SALTUS_E_NUMERIC: a sum of squares would pass 128 bits. Sums of
 * reals are not looked at. */
SALTUS_MUST_CHECK saltus_status saltus_collector_check_reduced(const saltus_collector *collector,
                                                               const saltus_reduced *from,
                                                               saltus_error *err);
/** Add the statistics and histograms of trajectories that a device has reduced, but not their
 * number. SALTUS_E_NUMERIC: a sum of squares would pass 128 bits; SALTUS_E_NO_MEMORY. The collector
 * is then as it was. */
SALTUS_MUST_CHECK saltus_status saltus_collector_add_reduced(saltus_collector *collector,
                                                             const saltus_reduced *from,
                                                             saltus_error *err);

/* ---- collect_store.c ---- */

/** All that it holds as bytes, to be freed with saltus_free. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_collector_store(const saltus_collector *collector,
                                                       void **bytes, size_t *size,
                                                       saltus_error *err);
/** The most that these can be of a run, whose samples are not kept. */
size_t saltus_collector_most_bytes(const saltus_collector *collector);
/** Take what was stored into a collector that is new and of the same kind; on failure it is good
 * for nothing. SALTUS_E_SYNTAX, SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_collector_load(saltus_collector *collector,
                                                      const void *bytes, size_t size,
                                                      saltus_error *err);
/** The same without samples and quantities, as a collector of a run has it: into `out`, of
 * saltus_collector_most_bytes. How many they are is returned; saltus_collector_load takes them into
 * one whose n_runs is 0. */
size_t saltus_collector_put_state(const saltus_collector *collector, void *out);
/** Add the statistics and histograms of another ensemble of the same kind; samples are not kept.
 * SALTUS_E_NUMERIC, SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_collector_merge(saltus_collector *collector,
                                                       const saltus_collector *from,
                                                       saltus_error *err);

#endif
