/**
 * What the library is measured against: plain sequential programs, one trajectory after the other.
 * They keep none of its promises; they are checked by their means.
 */
#ifndef SALTUS_BENCH_BASELINE_H
#define SALTUS_BENCH_BASELINE_H

#include "saltus/saltus.h"

/** A network of mass action in tables: reaction r changes species by change[row[r] … row[r+1]-1]
 * and has propensity rate * x[first] * (x[second] - offset), where a species of -1 stands for 1. */
typedef struct baseline_network {
    int n_species, n_reactions;
    int64_t start[512];
    double rate[512];
    int first[512], second[512];
    double offset[512];
    int row[513], species[2048], amount[2048];
} baseline_network;

/** The tables of a frozen model, of its reactions alone: events are left out, and of rule targets
 * and other reals nothing is known. SALTUS_E_UNSUPPORTED when a law is no mass action of at most
 * two molecules, or the model is larger than the tables. */
SALTUS_MUST_CHECK saltus_status baseline_from_model(const saltus_model *model,
                                                    baseline_network *out, saltus_error *err);

/** The papers' baseline: the direct method by tables, every propensity recomputed at every event, a
 * linear search, libm's logarithm, xoshiro256**. Adds the final counts of all runs to final[].
 * Returns the number of events. */
int64_t baseline_tables(const baseline_network *network, int n_runs, double t_end, int n_points,
                        uint64_t seed, double *final);

/** Decay-dimerisation (S1 = 1000, four reactions) written out by hand, nothing in tables. */
int64_t baseline_dimer_decay(int n_runs, double t_end, int n_points, uint64_t seed, double *final);

#endif
