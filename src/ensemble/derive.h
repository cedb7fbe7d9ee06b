/** Quantities of one trajectory by their names; what they are is in kernel/base/derive.h. */
#ifndef SALTUS_ENSEMBLE_DERIVE_H
#define SALTUS_ENSEMBLE_DERIVE_H

#include "core/status.h"
#include "kernel/base/derive.h"

typedef struct saltus_derived {
    int n;
    saltus_derive *wanted; /**< [n] */
    char **names;          /**< [n] as they were asked for */
} saltus_derived;

/**
 * Read "mean:X,period:Y,passage:X:50": quantity, name of a recorded column, threshold.
 *
 * @param[out] out to be freed with saltus_derived_free
 * @retval SALTUS_E_INVALID unknown quantity or column, or a threshold that is missing or too many
 */
SALTUS_MUST_CHECK saltus_status saltus_derived_parse(const char *text, const saltus_plan *plan,
                                                     saltus_derived *out, saltus_error *err);
/** Copy it. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_derived_copy(const saltus_derived *from, saltus_derived *out,
                                                    saltus_error *err);
void saltus_derived_free(saltus_derived *derived);

/**
 * Find out which samples count. What `derived` and `times` hold must stay.
 *
 * @param burn_in samples from this time on do
 * @retval SALTUS_E_INVALID there are none
 */
SALTUS_MUST_CHECK saltus_status saltus_derivation_make(const saltus_derived *derived, int n_counts,
                                                       int n_observables, const double *times,
                                                       int64_t n_times, double burn_in,
                                                       saltus_derivation *out, saltus_error *err);

/** Quantity q of a block's trajectory i: what a device has made, or else from its samples. */
double saltus_derived_of(const saltus_derivation *derivation, const saltus_block *block, int64_t i,
                         int q);

#endif
