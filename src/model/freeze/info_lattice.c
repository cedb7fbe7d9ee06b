/* What a lattice holds, for people. */
#include "model/freeze/freeze.h"
#include "model/lattice/space.h"

#include <math.h>

typedef struct summary {
    const saltus_network *net;
    const saltus_lattice *l;
    double *n; /* [type][species] particles at the start, on average */
    int most;  /* lines of a list */
    FILE *out;
} summary;

/* The chance that a Poisson number is above n: from its terms, which do not cancel. */
static double poisson_above(double mean, int n)
{
    double sum = 0.0;
    for (int k = n + 1; mean > 0.0 && k < n + 2000; ++k) {
        const double term = exp(k * log(mean) - mean - lgamma(k + 1.0));
        sum += term;
        if (k > mean && term < 1e-17 * sum) {
            break;
        }
    }
    return mean > 1000.0 ? 1.0 : fmin(sum, 1.0);
}

static double *n_of(const summary *u, int type, int species)
{
    return &u->n[(int64_t)type * u->l->n_species + species];
}

static void count_particles(const summary *u)
{
    const saltus_lattice *l = u->l;
    for (int i = 0; i < l->n_scatters; ++i) {
        const saltus_scatter *p = &l->scatters[i];
        double n_sites = 0.0;
        for (int type = 0; type < l->n_types; ++type) {
            n_sites += p->in[type] ? (double)l->sites_of[type] : 0.0;
        }
        for (int type = 0; type < l->n_types; ++type) {
            *n_of(u, type, p->species) +=
                p->in[type] ? (double)p->count * ((double)l->sites_of[type] / n_sites) : 0.0;
        }
    }
    for (int64_t i = 0; i < l->n_deposits; ++i) {
        const saltus_deposit *d = &l->deposits[i];
        *n_of(u, saltus_lattice_type(l, d->site), d->species) += (double)d->n;
    }
}

static void print_faces(const summary *u)
{
    static const char *const keys[] = {"x-", "x+", "y-", "y+", "z-", "z+"};
    static const char *const words[] = {"periodic", "reflecting", "absorbing", "constant"};
    const saltus_lattice *l = u->l;
    fprintf(u->out, "  faces  ");
    for (int face = 0; face < SALTUS_N_FACES; ++face) {
        fprintf(u->out, " %s %s%s", keys[face], words[l->faces[face]],
                face + 1 < SALTUS_N_FACES ? "," : "\n");
    }
    for (int i = 0; i < SALTUS_N_FACES * l->n_species; ++i) {
        if (l->face_mean[i] > 0.0) {
            fprintf(u->out, "  beyond %s: %s, %.4g per site\n", keys[i / l->n_species],
                    u->net->species_names[i % l->n_species], l->face_mean[i]);
        }
    }
}

/* Where the compartments of an SBML file are. */
static void print_compartments(const summary *u, const saltus_model *m)
{
    const saltus_space *space = m->space;
    int shown = 0;
    for (size_t i = 0; space->compartments && i < m->n_variables && shown < u->most; ++i) {
        const char *separator = "";
        if (!space->compartments[i]) {
            continue;
        }
        if (shown++ == 0) {
            fprintf(u->out, "\ncompartments: size of a site in their unit, site types\n");
        }
        fprintf(u->out, "  %-24s %12.6g  ", m->variables[i].id, space->site_sizes[i]);
        for (int type = 0; type < space->n_types; ++type) {
            if (space->compartments[i][type]) {
                fprintf(u->out, "%s%s", separator, space->type_names[type]);
                separator = ", ";
            }
        }
        fputc('\n', u->out);
    }
}

static void print_types(const summary *u)
{
    const saltus_lattice *l = u->l;
    fprintf(u->out, "\nsite types (%d)\n  %-20s %12s %14s %14s\n", l->n_types, "", "sites",
            "particles/site", "P(above 16)");
    for (int type = 0; type < l->n_types; ++type) {
        double n = 0.0;
        for (int s = 0; s < l->n_species; ++s) {
            n += *n_of(u, type, s);
        }
        n /= (double)l->sites_of[type];
        fprintf(u->out, "  %-20s %12lld %14.4g %14.3g\n", l->type_names[type],
                (long long)l->sites_of[type], n, poisson_above(n, 16));
    }
}

static void print_particles(const summary *u)
{
    const saltus_lattice *l = u->l;
    fprintf(u->out, "\nparticles at the start, on average\n  %-24s %10s  where\n", "", "largest q");
    for (int s = 0; s < l->n_species && s < u->most; ++s) {
        const char *separator = "";
        fprintf(u->out, "  %-24s %10.4g  ", u->net->species_names[s], l->largest_jump[s]);
        for (int type = 0; type < l->n_types; ++type) {
            if (*n_of(u, type, s) > 0.0) {
                fprintf(u->out, "%s%s %.10g", separator, l->type_names[type], *n_of(u, type, s));
                separator = ", ";
            }
        }
        fputs(*separator ? "\n" : "nowhere\n", u->out);
    }
}

/* The propensity of a product law in a site of a type: of the molecules that it takes, or, with
 * `typical`, of as many as are there on average where that is more. */
static double propensity(const summary *u, int r, int type, bool typical)
{
    const saltus_tables *t = &u->net->tables;
    double a = u->l->rate[(int64_t)type * u->l->n_reactions + r];
    for (int k = t->factor_row[r]; a > 0.0 && k < t->factor_row[r + 1]; ++k) {
        const int s = t->factor_species[k];
        const double mean = *n_of(u, type, s) / (double)u->l->sites_of[type];
        double n = typical ? fmax(mean, 1.0) : 1.0;
        for (int j = t->factor_row[r]; j < t->factor_row[r + 1]; ++j) {
            n = t->factor_species[j] == s ? fmax(n, t->factor_offset[j] + 1.0) : n;
        }
        a *= n - t->factor_offset[k];
    }
    return a;
}

/* Where reactions happen, and how fast: alike everywhere or type by type. */
static void print_rates(const summary *u)
{
    const saltus_lattice *l = u->l;
    fprintf(u->out, "\nreactions in sites: propensity of the molecules that are taken, 1/s\n");
    for (int r = 0; r < l->n_reactions && r < u->most; ++r) {
        const bool is_law = u->net->tables.law_program[r] >= 0;
        const char *separator = "";
        bool alike = true;
        for (int type = 1; type < l->n_types; ++type) {
            alike &= l->rate[(int64_t)type * l->n_reactions + r] == l->rate[r];
        }
        fprintf(u->out, "  %-24s ", saltus_network_reaction(u->net, r));
        for (int type = 0; type < (alike ? 1 : l->n_types); ++type) {
            const double a = propensity(u, r, type, false);
            if (a > 0.0) {
                fprintf(u->out, "%s%s", separator, alike ? "everywhere" : l->type_names[type]);
                if (is_law) {
                    fprintf(u->out, " as written%s",
                            l->drifts[r] != SALTUS_STANDS ? ", at the middle of each step" : "");
                } else {
                    fprintf(u->out, " %.6g", a);
                }
                separator = ", ";
            }
        }
        fputs(*separator ? "\n" : "nowhere\n", u->out);
    }
}

static void print_warnings(const summary *u)
{
    const saltus_lattice *l = u->l;
    const double unit = 0x1p-33; /* of jumps by mpd */
    for (int s = 0; s < l->n_species; ++s) {
        const double q = l->largest_jump[s];
        if (q > 0.0 && q < 50.0 * unit) {
            fprintf(u->out,
                    "  warning: the step is short for '%s': by mpd its q, %.3g, is a whole number "
                    "times %.3g, and 0 below half of that\n",
                    u->net->species_names[s], q, unit);
        }
    }
    for (int r = 0; r < l->n_reactions; ++r) {
        for (int type = 0; u->net->tables.law_program[r] < 0 && type < l->n_types; ++type) {
            const double a = propensity(u, r, type, true);
            if (a * l->step > 0.1) {
                fprintf(u->out,
                        "  warning: the step is long for '%s' in '%s': step times propensity "
                        "(%.4g 1/s) is %.3g, above 0.1\n",
                        saltus_network_reaction(u->net, r), l->type_names[type], a, a * l->step);
            }
        }
    }
}

/* What the two methods have to do: steps, and jumps of what is there at first. */
static void print_methods(const summary *u)
{
    const saltus_lattice *l = u->l;
    double jumps = 0.0;
    for (int type = 0; type < l->n_types; ++type) {
        for (int s = 0; s < l->n_species; ++s) {
            jumps += 6.0 * *n_of(u, type, s) *
                     l->diffusion[((int64_t)type * l->n_types + type) * l->n_species + s];
        }
    }
    fprintf(u->out,
            "\nfor a second of the model\n  mpd                      %.3g steps\n"
            "  nsm (exact)              %.3g jumps at the start\n",
            1.0 / l->step, jumps / (l->spacing * l->spacing));
}

saltus_status saltus_print_lattice(const saltus_model *model, int most, FILE *out,
                                   saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    const saltus_network *net = model->network;
    const saltus_lattice *l = net->lattice;
    summary u = {.net = net, .l = l, .most = most, .out = out};
    u.n = saltus_calloc((size_t)l->n_types * (size_t)l->n_species, sizeof *u.n);
    SALTUS_NEED(u.n);
    count_particles(&u);
    fprintf(out, "\nlattice of %d x %d x %d sites of %.6g m, step %.6g s\n", l->size[0], l->size[1],
            l->size[2], l->spacing, l->step);
    print_faces(&u);
    print_warnings(&u);
    print_compartments(&u, model);
    print_types(&u);
    print_particles(&u);
    print_rates(&u);
    print_methods(&u);
done:
    saltus_free(u.n);
    return status;
}
