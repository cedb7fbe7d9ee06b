/** A plan: frozen model, backend, method, layout, columns. */
#ifndef SALTUS_ENSEMBLE_PLAN_H
#define SALTUS_ENSEMBLE_PLAN_H

#include "backend/backend.h"
#include "model/network.h"

struct saltus_plan {
    const saltus_model *model;
    const saltus_backend *backend;
    int n_workers;
    const char *method, *layout;
    char why[200];
    saltus_columns columns;
    int32_t *count_species;
    saltus_observable *observables;
    char **observable_names;
};

#endif
