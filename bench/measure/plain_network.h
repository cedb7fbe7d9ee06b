/**
 * A plain program for large networks: the direct method with a tree of sums and a list of the
 * reactions that read each species. It shares nothing with the library's methods but the tables of
 * the model, so that their samples can be compared, and counts what events are like.
 */
#ifndef SALTUS_BENCH_PLAIN_NETWORK_H
#define SALTUS_BENCH_PLAIN_NETWORK_H

#include "saltus/saltus.h"

/** Of so many events, means of each. */
typedef struct plain_rows {
    int64_t events;
    double species;    /**< that an event changes */
    double dependents; /**< reactions that read one of these */
    double changes;    /**< of these, whose propensity becomes another */
    double entropy;    /**< of which reaction fires, bits */
    int n_frequent;    /**< the fewest reactions with 99 % of the events */
    int n_constants;   /**< that differ from each other, 0 not counted */
} plain_rows;

typedef struct plain_network plain_network;

/** From a frozen model, which must outlive it. SALTUS_E_UNSUPPORTED where a law is no product of
 * counts, or something happens beside reactions. The caller frees it. */
SALTUS_MUST_CHECK saltus_status plain_network_create(const saltus_model *model, plain_network **out,
                                                     saltus_error *err);
void plain_network_free(plain_network *p);

/** Simulate one trajectory from time 0 to t_end, or up to so many events. *time is when the last of
 * these happened, or t_end. Returns how many there were. */
int64_t plain_network_run(plain_network *p, uint64_t seed, double t_end, int64_t most_events,
                          double *time);
/** [species] where the last run has ended. */
const int64_t *plain_network_counts(const plain_network *p);
/** What the events of all runs so far were like. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status plain_network_rows(const plain_network *p, plain_rows *rows,
                                                   saltus_error *err);

#endif
