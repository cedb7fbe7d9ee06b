/* Apart from baseline.c, which is compiled with fast math. */
#include "core/status.h"
#include "bench/measure/baseline.h"
#include "model/network/network.h"

#include <string.h>

enum {
    MAX_REACTIONS = sizeof((baseline_network *)0)->rate / sizeof(double),
    MAX_SPECIES = sizeof((baseline_network *)0)->start / sizeof(int64_t),
    MAX_CHANGES = sizeof((baseline_network *)0)->amount / sizeof(int),
};

/* The species of a factor, -1 for none; false: it is something else. */
static bool find_species(const saltus_tables *t, int row, int *species)
{
    *species = row == t->row_one ? -1 : row;
    return row == t->row_one || (row >= 0 && row < t->n_species);
}

saltus_status baseline_from_model(const saltus_model *model, baseline_network *out,
                                  saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_tables *t = &model->network->tables;
    const int n_changes = t->change_row[t->n_reactions];
    memset(out, 0, sizeof *out);
    if (t->n_species > MAX_SPECIES || t->n_reactions > MAX_REACTIONS || n_changes > MAX_CHANGES) {
        SALTUS_FAIL(SALTUS_E_UNSUPPORTED, "model '%s' is too large for the baseline", model->name);
    }
    out->n_species = t->n_species;
    out->n_reactions = t->n_reactions;
    memcpy(out->start, t->initial_counts, (size_t)t->n_species * sizeof *out->start);
    for (int r = 0; r < t->n_reactions; ++r) {
        const saltus_pair *pair = &t->pairs[r];
        if (!find_species(t, pair->first, &out->first[r]) ||
            !find_species(t, pair->second, &out->second[r])) {
            SALTUS_FAIL(SALTUS_E_UNSUPPORTED,
                        "reaction '%s': the baseline has mass action of two molecules at most",
                        saltus_network_reaction(model->network, r));
        }
        out->rate[r] = t->rate[r];
        out->offset[r] = pair->offset;
        out->row[r + 1] = t->change_row[r + 1];
    }
    for (int c = 0; c < n_changes; ++c) {
        out->species[c] = t->change_species[c];
        out->amount[c] = (int)t->change_amount[c];
    }
done:
    return status;
}
