#include "method/inflow.h"

#include "model/network/network.h"

#include <stdio.h>
#include <string.h>

const char *saltus_inflow_text(const saltus_network *net, const saltus_inflow *inflow,
                               char text[SALTUS_INFLOW_TEXT])
{
    static const char *const faces[SALTUS_N_FACES] = {"x-", "x+", "y-", "y+", "z-", "z+"};
    if (inflow->reaction >= 0) {
        (void)snprintf(text, SALTUS_INFLOW_TEXT, "reaction '%.150s' happens",
                       saltus_network_reaction(net, inflow->reaction));
    } else {
        (void)snprintf(text, SALTUS_INFLOW_TEXT, "a particle of '%.150s' comes in over face %s",
                       net->species_names[inflow->species], faces[inflow->face]);
    }
    return text;
}

/* n[type] sites lie at a face. */
static void count_at(const saltus_lattice *l, int face, int64_t n[SALTUS_LATTICE_MOST_TYPES])
{
    const int axis = face / 2;
    int64_t first[3] = {0}, end[3];
    for (int i = 0; i < 3; ++i) {
        end[i] = l->size[i];
    }
    first[axis] = face % 2 == 0 ? 0 : end[axis] - 1;
    end[axis] = first[axis] + 1;
    memset(n, 0, SALTUS_LATTICE_MOST_TYPES * sizeof *n);
    for (int64_t z = first[2]; z < end[2]; ++z) {
        for (int64_t y = first[1]; y < end[1]; ++y) {
            for (int64_t x = first[0]; x < end[0]; ++x) {
                ++n[saltus_lattice_type(l, x + l->size[0] * (y + l->size[1] * z))];
            }
        }
    }
}

saltus_status saltus_inflow_each(const saltus_network *net,
                                 saltus_status (*visit)(void *user, const saltus_inflow *inflow,
                                                        saltus_error *err),
                                 void *user, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_lattice *l = net->lattice;
    const saltus_tables *t = &net->tables;
    int64_t n[SALTUS_LATTICE_MOST_TYPES];
    for (int type = 0; type < l->n_types; ++type) {
        const double sites = (double)l->sites_of[type], step_sites = l->step * sites;
        for (int r = 0; r < t->n_reactions; ++r) {
            const double rate = l->rate[(ptrdiff_t)type * t->n_reactions + r];
            const saltus_inflow inflow = {
                .reaction = r, .rate = rate * sites, .mean = rate * step_sites};
            if (saltus_network_is_source(t, r)) {
                SALTUS_TRY(visit(user, &inflow, err));
            }
        }
    }
    for (int face = 0; face < SALTUS_N_FACES; ++face) {
        if (l->faces[face] != SALTUS_FACE_CONSTANT) {
            continue;
        }
        count_at(l, face, n);
        for (int type = 0; type < l->n_types; ++type) {
            const ptrdiff_t within = ((ptrdiff_t)type * l->n_types + type) * l->n_species;
            for (int s = 0; s < l->n_species; ++s) {
                const double beyond =
                    l->face_mean[(ptrdiff_t)face * l->n_species + s] * (double)n[type];
                const double jumps = l->diffusion[within + s] / (l->spacing * l->spacing);
                const saltus_inflow inflow = {.reaction = -1,
                                              .face = face,
                                              .species = s,
                                              .rate = beyond > 0.0 ? beyond * jumps : 0.0,
                                              .mean = beyond * l->jump[within + s]};
                SALTUS_TRY(visit(user, &inflow, err));
            }
        }
    }
done:
    return status;
}
