#include "master_equation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int n_states(const master_network *m)
{
    int n = 1;
    for (int s = 0; s < m->n_species; ++s) {
        n *= m->most[s] + 1;
    }
    return n;
}

static void state_of(const master_network *m, int index, int *x)
{
    for (int s = m->n_species - 1; s >= 0; --s) {
        x[s] = index % (m->most[s] + 1);
        index /= m->most[s] + 1;
    }
}

static int index_of(const master_network *m, const int *x)
{
    int index = 0;
    for (int s = 0; s < m->n_species; ++s) {
        if (x[s] < 0 || x[s] > m->most[s]) {
            return -1;
        }
        index = index * (m->most[s] + 1) + x[s];
    }
    return index;
}

/* Rates and targets of every state's reactions; a target of -1 is forbidden. Returns the largest
 * total rate. */
static double tabulate(const master_network *m, double *rate, int *target)
{
    double largest = 0.0;
    for (int i = 0; i < n_states(m); ++i) {
        int x[MASTER_MAX_SPECIES], y[MASTER_MAX_SPECIES];
        double total = 0.0;
        state_of(m, i, x);
        for (int r = 0; r < m->n_reactions; ++r) {
            for (int s = 0; s < m->n_species; ++s) {
                y[s] = x[s] + m->change[r][s];
            }
            const int k = i * m->n_reactions + r;
            target[k] = index_of(m, y);
            rate[k] = target[k] < 0 ? 0.0 : m->propensity(r, x);
            total += rate[k];
        }
        largest = total > largest ? total : largest;
    }
    return largest;
}

double *master_solve(const master_network *m, double t)
{
    const int n = n_states(m);
    const size_t n_rates = (size_t)n * (size_t)m->n_reactions;
    double *rate = calloc(n_rates, sizeof *rate);
    int *target = calloc(n_rates, sizeof *target);
    double *p = calloc((size_t)n, sizeof *p), *next = calloc((size_t)n, sizeof *next);
    double *sum = calloc((size_t)n, sizeof *sum);
    const double q = tabulate(m, rate, target) * 1.0001, mean = q * t;
    const int last = (int)(mean + 10.0 * sqrt(mean) + 50.0);

    p[index_of(m, m->start)] = 1.0;
    for (int k = 0; k <= last; ++k) { /* Poisson weight of k jumps of the uniform clock */
        const double weight = exp(k * log(mean) - mean - lgamma(k + 1.0));
        for (int i = 0; i < n; ++i) {
            sum[i] += weight * p[i];
        }
        memcpy(next, p, (size_t)n * sizeof *p);
        for (int i = 0; i < n; ++i) {
            for (int r = 0; r < m->n_reactions && p[i] > 0.0; ++r) {
                const int e = i * m->n_reactions + r;
                if (target[e] >= 0) {
                    const double flow = p[i] * rate[e] / q;
                    next[i] -= flow;
                    next[target[e]] += flow;
                }
            }
        }
        double *swap = p;
        p = next;
        next = swap;
    }
    free(rate);
    free(target);
    free(p);
    free(next);
    return sum;
}

double *master_marginal(const master_network *m, const double *p, int s)
{
    double *marginal = calloc((size_t)m->most[s] + 1, sizeof *marginal);
    for (int i = 0; i < n_states(m); ++i) {
        int x[MASTER_MAX_SPECIES];
        state_of(m, i, x);
        marginal[x[s]] += p[i];
    }
    return marginal;
}

void assert_distribution(const int64_t *x, int64_t n, int stride, const double *p, int most)
{
    double *seen = calloc((size_t)most + 1, sizeof *seen);
    double chi2 = 0.0, expected = 0.0, found = 0.0;
    int n_classes = 0;
    for (int64_t i = 0; i < n; ++i) {
        assert_in_range(x[i * stride], 0, most);
        seen[x[i * stride]] += 1.0;
    }
    for (int k = 0; k <= most; ++k) {
        expected += p[k] * (double)n;
        found += seen[k];
        if (expected >= 20.0 || k == most) {
            chi2 += (found - expected) * (found - expected) / (expected > 1e-9 ? expected : 1e-9);
            expected = found = 0.0;
            ++n_classes;
        }
    }
    free(seen);
    const double freedom = n_classes - 1.0;
    if (chi2 > freedom + 5.0 * sqrt(2.0 * freedom) + 10.0) {
        fail_msg("chi-square %.1f with %.0f degrees of freedom", chi2, freedom);
    }
}

void assert_moments(const int64_t *x, int64_t n, int stride, const double *p, int most)
{
    double mean = 0.0, m2 = 0.0, m4 = 0.0, sum = 0.0, squares = 0.0;
    for (int k = 0; k <= most; ++k) {
        mean += k * p[k];
    }
    for (int k = 0; k <= most; ++k) {
        m2 += pow(k - mean, 2) * p[k];
        m4 += pow(k - mean, 4) * p[k];
    }
    for (int64_t i = 0; i < n; ++i) {
        const double d = (double)x[i * stride] - mean;
        sum += d;
        squares += d * d;
    }
    const double z = sum / sqrt(m2 * (double)n);
    const double y = (squares / (double)n - m2) / sqrt((m4 - m2 * m2) / (double)n);
    if (fabs(z) > 5.0 || fabs(y) > 5.0) {
        fail_msg("mean %g (exact %g, %.1f standard errors), variance %g (exact %g, %.1f)",
                 sum / (double)n + mean, mean, z, squares / (double)n, m2, y);
    }
}
