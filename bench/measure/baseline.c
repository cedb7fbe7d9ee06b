#include "bench/measure/baseline.h"
#include "bench/measure/xoshiro.h"

#include <math.h>
#include <string.h>

int64_t baseline_tables(const baseline_network *m, int n_runs, double t_end, int n_points,
                        uint64_t seed, double *final)
{
    xoshiro g;
    int64_t events = 0, x[512];
    double below[512];
    xoshiro_seed(&g, seed);
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
            t += total > 0.0 ? -log(xoshiro_uniform(&g)) / total : t_end;
            while (point < n_points && t >= t_end * point / (n_points - 1)) {
                ++point;
            }
            if (point == n_points) {
                break;
            }
            const double goal = xoshiro_uniform(&g) * total;
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
    xoshiro g;
    int64_t events = 0;
    xoshiro_seed(&g, seed);
    for (int run = 0; run < n_runs; ++run) {
        int x1 = 1000, x2 = 0, x3 = 0, point = 1;
        double t = 0.0, t_point = t_end / (n_points - 1);
        for (;;) {
            const double a1 = x1;
            const double a2 = a1 + 0.001 * x1 * (x1 - 1.0);
            const double a3 = a2 + 0.5 * x2;
            const double a0 = a3 + 0.04 * x2;
            t += a0 > 0.0 ? -log(xoshiro_uniform(&g)) / a0 : t_end;
            while (point < n_points && t >= t_point) {
                ++point;
                t_point = t_end * point / (n_points - 1);
            }
            if (point == n_points) {
                break;
            }
            const double goal = xoshiro_uniform(&g) * a0;
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
