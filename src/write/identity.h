/** What the samples of a run are functions of, in words: results with equal words are parts of one
 * run, and one of them can be extended with trajectories of another. */
#ifndef SALTUS_WRITE_IDENTITY_H
#define SALTUS_WRITE_IDENTITY_H

#include "ensemble/plan.h"
#include "sweep/sweep.h"

enum { SALTUS_MOST_IDENTITY = 32, SALTUS_IDENTITY_SIZE = 400 };

/** Lines "what: value", longer values as SHA-256. */
typedef struct saltus_identity {
    int n;
    char lines[SALTUS_MOST_IDENTITY][SALTUS_IDENTITY_SIZE];
    const char *of[SALTUS_MOST_IDENTITY]; /**< [n] they */
} saltus_identity;

/** Of a run into a file with such options; of a sweep, the plan is that of its first point. The
 * numbers of trajectories are not in it. */
SALTUS_MUST_CHECK saltus_status saltus_identity_make(
    const saltus_plan *plan, const saltus_run_options *run, const saltus_hdf5_options *results,
    const saltus_sweep *sweep, bool common_random_numbers, saltus_identity *out, saltus_error *err);

/** Refuse what differs: "FILE: is of another run: seed is 1 there and 2 here". SALTUS_E_INVALID. */
SALTUS_MUST_CHECK saltus_status saltus_identity_compare(const char *file,
                                                        const saltus_identity *here, int n,
                                                        char *const *there, saltus_error *err);

/** The lines of a file, which must stay. SALTUS_E_INVALID when there are none: an older version
 * wrote it. */
SALTUS_MUST_CHECK saltus_status saltus_identity_take(const char *file, char *const *lines, int n,
                                                     saltus_identity *out, saltus_error *err);
/** What it says of the results: record, bins and their range. */
void saltus_identity_read(const saltus_identity *identity, saltus_hdf5_options *out);

#endif
