/** What method hybrid knows of a model, and its memory: kernel/ode/split.h. */
#ifndef SALTUS_ENGINE_HYBRID_H
#define SALTUS_ENGINE_HYBRID_H

#include "core/status.h"
#include "kernel/ode/split.h"

/** Make a split of a model, in which nothing flows. @param least  as in the struct */
SALTUS_MUST_CHECK saltus_status saltus_hybrid_create(const saltus_tables *tables, double least,
                                                     saltus_hybrid **out, saltus_error *err);
/** NULL is allowed. */
void saltus_hybrid_destroy(saltus_hybrid *hybrid);

/** Go to the beginning of a trajectory. */
void saltus_hybrid_start(saltus_hybrid *hybrid, const saltus_tables *tables);

#endif
