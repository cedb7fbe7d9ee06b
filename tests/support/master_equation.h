/**
 * The chemical master equation of a small network, solved by uniformisation (Jensen 1953): the
 * distribution over a finite box of states at a time, to about 1e-12. Independent of the library.
 */
#ifndef SALTUS_TESTS_MASTER_EQUATION_H
#define SALTUS_TESTS_MASTER_EQUATION_H

#include <stdint.h>

enum { MASTER_MAX_SPECIES = 3, MASTER_MAX_REACTIONS = 8 };

typedef struct master_network {
    int n_species, n_reactions;
    int start[MASTER_MAX_SPECIES];
    int most[MASTER_MAX_SPECIES]; /* counts 0 … most; leaving the box is forbidden, so it must be
                                     large enough that the probability at its edge does not count */
    int change[MASTER_MAX_REACTIONS][MASTER_MAX_SPECIES];
    double (*propensity)(int reaction, const int *x);
} master_network;

/** Probability of every state at time t; index (x0 * (most1 + 1) + x1) * (most2 + 1) + x2. The
 * caller frees it. */
double *master_solve(const master_network *network, double t);

/** Marginal distribution of species s: [most[s] + 1], freed by the caller. */
double *master_marginal(const master_network *network, const double *p, int s);

/** Pearson's statistic of n counts x[i * stride] against probabilities p[0 … most], neighbouring
 * classes merged until 20 are expected. Fails the test beyond 5 standard deviations. */
void assert_distribution(const int64_t *x, int64_t n, int stride, const double *p, int most);

/** Mean and variance of n counts within 5 standard errors of those of p. */
void assert_moments(const int64_t *x, int64_t n, int stride, const double *p, int most);

#endif
