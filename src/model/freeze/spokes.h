/** Reactions of a large network before they are put into hubs and classes (hubs.c). */
#ifndef SALTUS_MODEL_FREEZE_SPOKES_H
#define SALTUS_MODEL_FREEZE_SPOKES_H

#include "model/freeze/freeze.h"

/** A reaction of order 1 (partner -1) or 2 of a hub, which is `ways` times the constant. */
typedef struct saltus_spoke {
    double rate;
    int32_t hub, partner, reaction;
    int16_t offset, ways;
} saltus_spoke;

/** Sorted: by hub, order, constant of the class, partner. Zero-initialise. */
typedef struct saltus_spokes {
    saltus_spoke *items;
    int n;
} saltus_spokes;

/** Whether the propensity of reaction r is a product of one count, of two, or of x (x - 1), and
 * what spoke that is, whichever of the two will be the hub. */
bool saltus_spoke_find(const saltus_tables *t, int r, saltus_spoke *out);
/** Collect those of all reactions with a constant above 0. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_spokes_collect(saltus_spokes *m, const saltus_tables *t,
                                                      saltus_error *err);
void saltus_spokes_free(saltus_spokes *m);

#endif
