/** What the sites of a lattice hold, as methods of space hand it over to be recorded. */
#ifndef SALTUS_ENGINE_CONTENTS_H
#define SALTUS_ENGINE_CONTENTS_H

#include "core/status.h"

/** What a lattice holds at one time. Entries are in any order; a pair of site and species may have
 * several, whose counts add up. Zero-initialise. */
typedef struct saltus_contents {
    int64_t n, capacity;
    int64_t *site;     /**< [n] */
    uint16_t *species; /**< [n] a row of counts */
    int32_t *count;    /**< [n] particles */
} saltus_contents;

/** Add an entry, by amortised growth. SALTUS_E_NO_MEMORY: the contents are as before. */
SALTUS_MUST_CHECK saltus_status saltus_contents_add(saltus_contents *contents, int64_t site,
                                                    int species, int32_t count, saltus_error *err);
/** Room for n entries in all, by amortised growth, which whoever asks fills. SALTUS_E_NO_MEMORY: as
 * before. */
SALTUS_MUST_CHECK saltus_status saltus_contents_reserve(saltus_contents *contents, int64_t n,
                                                        saltus_error *err);
/** Remove all entries, but not their memory. */
void saltus_contents_clear(saltus_contents *contents);
void saltus_contents_free(saltus_contents *contents);

#endif
