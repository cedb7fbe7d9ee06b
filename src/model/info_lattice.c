/* What a lattice holds, for people. */
#include "model/info_lattice.h"

#include <math.h>

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
    return fmin(sum, 1.0);
}

/* Particles of a species that a type's sites hold on average, all together. */
static double particles_in(const saltus_lattice *l, int species, int type)
{
    double sum = 0.0;
    for (int i = 0; i < l->n_scatters; ++i) {
        const saltus_scatter *p = &l->scatters[i];
        double n_sites = 0.0;
        for (int t = 0; t < l->n_types; ++t) {
            n_sites += p->in[t] ? (double)l->sites_of[t] : 0.0;
        }
        if (p->species == species && p->in[type]) {
            sum += (double)p->count * (double)l->sites_of[type] / n_sites;
        }
    }
    for (int64_t i = 0; i < l->n_deposits; ++i) {
        const saltus_deposit *d = &l->deposits[i];
        sum += d->species == species && l->types[d->site] == type ? (double)d->n : 0.0;
    }
    return sum;
}

static void print_faces(const saltus_network *net, FILE *out)
{
    static const char *const keys[] = {"x-", "x+", "y-", "y+", "z-", "z+"};
    static const char *const words[] = {"periodic", "reflecting", "absorbing", "constant"};
    const saltus_lattice *l = net->lattice;
    fprintf(out, "  faces  ");
    for (int face = 0; face < SALTUS_N_FACES; ++face) {
        fprintf(out, " %s %s%s", keys[face], words[l->faces[face]],
                face + 1 < SALTUS_N_FACES ? "," : "\n");
    }
    for (int i = 0; i < SALTUS_N_FACES * l->n_species; ++i) {
        if (l->face_mean[i] > 0.0) {
            fprintf(out, "  beyond %s: %s, %.4g per site\n", keys[i / l->n_species],
                    net->species_names[i % l->n_species], l->face_mean[i]);
        }
    }
}

static void print_types(const saltus_lattice *l, FILE *out)
{
    fprintf(out, "\nsite types (%d)%17s %12s %14s\n", l->n_types, "sites", "particles/site",
            "P(more than 16)");
    for (int type = 0; type < l->n_types; ++type) {
        double n = 0.0;
        for (int s = 0; s < l->n_species; ++s) {
            n += particles_in(l, s, type);
        }
        n /= (double)l->sites_of[type];
        fprintf(out, "  %-20s %12lld %14.4g %14.3g\n", l->type_names[type],
                (long long)l->sites_of[type], n, poisson_above(n, 16));
    }
}

static void print_particles(const saltus_network *net, int most, FILE *out)
{
    const saltus_lattice *l = net->lattice;
    fprintf(out, "\nparticles\n  %-24s %10s  on average at the start in\n", "", "largest q");
    for (int s = 0; s < l->n_species && s < most; ++s) {
        const char *separator = "";
        fprintf(out, "  %-24s %10.4g  ", net->species_names[s], l->largest_jump[s]);
        for (int type = 0; type < l->n_types; ++type) {
            const double n = particles_in(l, s, type);
            if (n > 0.0) {
                fprintf(out, "%s%s %.10g", separator, l->type_names[type], n);
                separator = ", ";
            }
        }
        fputs(*separator ? "\n" : "nowhere\n", out);
    }
}

/* The propensity of a product law in a site of a type: of as many molecules as are there on
 * average, and at least of those that it takes. */
static double typical_propensity(const saltus_tables *t, const saltus_lattice *l, int r, int type)
{
    double a = l->rate[(int64_t)type * l->n_reactions + r];
    for (int k = t->factor_row[r]; a > 0.0 && k < t->factor_row[r + 1]; ++k) {
        const int s = t->factor_species[k];
        double least = 1.0;
        for (int j = t->factor_row[r]; j < t->factor_row[r + 1]; ++j) {
            least = t->factor_species[j] == s ? fmax(least, t->factor_offset[j] + 1.0) : least;
        }
        const double mean = particles_in(l, s, type) / (double)l->sites_of[type];
        a *= fmax(mean, least) - t->factor_offset[k];
    }
    return a;
}

static void print_warnings(const saltus_network *net, FILE *out)
{
    const saltus_lattice *l = net->lattice;
    for (int r = 0; r < l->n_reactions; ++r) {
        for (int type = 0; net->tables.law_program[r] < 0 && type < l->n_types; ++type) {
            const double a = typical_propensity(&net->tables, l, r, type);
            if (a * l->step > 0.1) {
                fprintf(out,
                        "  warning: the step is long for '%s' in '%s': step times propensity "
                        "(%.4g 1/s) is %.3g, above 0.1\n",
                        net->reaction_names[r], l->type_names[type], a, a * l->step);
            }
        }
    }
}

void saltus_print_lattice(const saltus_network *net, int most, FILE *out)
{
    const saltus_lattice *l = net->lattice;
    fprintf(out, "\nlattice of %d x %d x %d sites of %.6g m, step %.6g s\n", l->size[0], l->size[1],
            l->size[2], l->spacing, l->step);
    print_faces(net, out);
    print_warnings(net, out);
    print_types(l, out);
    print_particles(net, most, out);
}
