#include "bench/measure/baseline.h"

#include <math.h>
#include <string.h>

/* xoshiro256** (Blackman, Vigna 2018), seeded by splitmix64. */
typedef struct generator {
    uint64_t s[4];
} generator;

static void seed_generator(generator *g, uint64_t seed)
{
    for (int i = 0; i < 4; ++i) {
        uint64_t z = (seed += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        g->s[i] = z ^ (z >> 31);
    }
}

static inline uint64_t rotate(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

static inline uint64_t next(generator *g)
{
    uint64_t *s = g->s;
    const uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

/* In (0, 1]. */
static inline double uniform(generator *g)
{
    return (double)((next(g) >> 11) + 1) * 0x1p-53;
}

int64_t baseline_tables(const baseline_network *m, int n_runs, double t_end, int n_points,
                        uint64_t seed, double *final)
{
    generator g;
    int64_t events = 0, x[512];
    double below[512];
    seed_generator(&g, seed);
    for (int run = 0; run < n_runs; ++run) {
        double t = 0.0;
        int point = 1;
        memcpy(x, m->start, sizeof x);
        for (;;) {
            double total = 0.0;
            for (int r = 0; r < m->n_reactions; ++r) {
                const double a = m->first[r] < 0 ? 1.0 : (double)x[m->first[r]];
                const double b = m->second[r] < 0 ? 1.0 : (double)x[m->second[r]] - m->offset[r];
                total += m->rate[r] * a * b;
                below[r] = total;
            }
            t += total > 0.0 ? -log(uniform(&g)) / total : INFINITY;
            while (point < n_points && t >= t_end * point / (n_points - 1)) {
                ++point;
            }
            if (point == n_points) {
                break;
            }
            const double goal = uniform(&g) * total;
            int r = 0;
            while (r + 1 < m->n_reactions && below[r] < goal) {
                ++r;
            }
            for (int c = m->row[r]; c < m->row[r + 1]; ++c) {
                x[m->species[c]] += m->amount[c];
            }
            ++events;
        }
        for (int s = 0; s < m->n_species; ++s) {
            final[s] += (double)x[s];
        }
    }
    return events;
}

int64_t baseline_dimer_decay(int n_runs, double t_end, int n_points, uint64_t seed, double *final)
{
    generator g;
    int64_t events = 0;
    seed_generator(&g, seed);
    for (int run = 0; run < n_runs; ++run) {
        int x1 = 1000, x2 = 0, x3 = 0, point = 1;
        double t = 0.0, t_point = t_end / (n_points - 1);
        for (;;) {
            const double a1 = x1;
            const double a2 = a1 + 0.001 * x1 * (x1 - 1.0);
            const double a3 = a2 + 0.5 * x2;
            const double a0 = a3 + 0.04 * x2;
            t += a0 > 0.0 ? -log(uniform(&g)) / a0 : INFINITY;
            while (point < n_points && t >= t_point) {
                ++point;
                t_point = t_end * point / (n_points - 1);
            }
            if (point == n_points) {
                break;
            }
            const double goal = uniform(&g) * a0;
            if (goal < a1) {
                --x1;
            } else if (goal < a2) {
                x1 -= 2;
                ++x2;
            } else if (goal < a3) {
                x1 += 2;
                --x2;
            } else {
                --x2;
                ++x3;
            }
            ++events;
        }
        final[0] += x1;
        final[1] += x2;
        final[2] += x3;
    }
    return events;
}
