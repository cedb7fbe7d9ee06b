/**
 * The noise of what flows: that of the chemical Langevin equation (Gillespie, J. Chem. Phys. 113
 * (2000) 297, doi:10.1063/1.481811), in the linear noise approximation that begins anew with each
 * step (van Kampen, Stochastic Processes in Physics and Chemistry, chapter X; Fearnhead, Giagos and
 * Sherlock, Biometrics 70 (2014) 457, doi:10.1111/biom.12152).
 *
 * Over a step from a known state the deviations from the mean path are Gaussian, with covariance
 *
 *     V = integral of Phi(end, u) D(u) Phi(end, u)^T du,   D = sum of nu_r a_r nu_r^T
 *
 * where Phi = exp(J (end - u)) with the Jacobian J of the middle, and D follows the mean path. It
 * is computed by Simpson's rule in panels that double from the end backwards, the last one as long
 * as the fastest deviations last: what is faster has been forgotten where panels are long. So the
 * variance of a linear network is right whatever the step's length, stiff or not.
 *
 * A step that was taken gets its deviations at its end, its kick. Those that last longer than the
 * step become part of the path from there on, so that all laws follow them; the others decay beside
 * it, as linear as they are, and steps need not follow what is fast and small. The part that lasts
 * is (1 - h J)^-4 of them. A sample within the step gets deviations that fit both ends: intervals
 * are halved three times, by the same words whatever the samples are, and then there is a draw at
 * the sample's time.
 */
#ifndef SALTUS_KERNEL_ODE_NOISE_H
#define SALTUS_KERNEL_ODE_NOISE_H

#include "kernel/ode/deviations.h"
#include "kernel/ode/steps.h"

/* Deviations of a step beyond this share of a count are too large for what is linear. */
#define SALTUS_KICK_MOST 0.1

/* Matrices of saltus_hybrid.matrix, [component][component] each, and vectors. */
enum {
    SALTUS_NOISE_JACOBIAN,
    SALTUS_NOISE_SOURCE, /* D */
    SALTUS_NOISE_HALF,   /* exp of half a panel, */
    SALTUS_NOISE_WHOLE,  /* of all that is behind a node, */
    SALTUS_NOISE_NODE,   /* and at a node between */
    SALTUS_NOISE_TERM,
    SALTUS_NOISE_PRODUCT,
    SALTUS_NOISE_PHI, /* of the interval */
    SALTUS_NOISE_VAR,
    SALTUS_NOISE_PHI_FIRST, /* of the part before a sample */
    SALTUS_NOISE_VAR_FIRST,
    SALTUS_NOISE_ROOT, /* Cholesky's */
    SALTUS_NOISE_MATRICES,
    SALTUS_NOISE_HALVINGS = 10,
    SALTUS_NOISE_ENDS = 6, /* the first vector of the ends of halves */
    SALTUS_NOISE_VECTORS = SALTUS_NOISE_ENDS + 2 * (SALTUS_NOISE_HALVINGS + 1),
};

SALTUS_FN double *saltus_noise_matrix(const saltus_hybrid *h, int m, int which)
{
    return h->matrix + (int64_t)which * m * m;
}

/* c = a b. */
SALTUS_OUTLINE void saltus_matrix_product(int m, const double *a, const double *b, double *c)
{
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < m; ++j) {
            c[i * m + j] = 0.0;
        }
        for (int k = 0; k < m; ++k) {
            const double x = a[i * m + k];
            for (int j = 0; j < m && x != 0.0; ++j) {
                c[i * m + j] += x * b[k * m + j];
            }
        }
    }
}

/* c += weight a d a^T, d symmetric; `product` is used. */
SALTUS_OUTLINE void saltus_matrix_congruence(int m, double weight, const double *a, const double *d,
                                             double *product, double *c)
{
    saltus_matrix_product(m, a, d, product);
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j <= i; ++j) {
            double sum = 0.0;
            for (int k = 0; k < m; ++k) {
                sum += product[i * m + k] * a[j * m + k];
            }
            c[i * m + j] += weight * sum;
            c[j * m + i] = c[i * m + j];
        }
    }
}

SALTUS_FN void saltus_matrix_add(int m, double weight, const double *a, double *c)
{
    for (int i = 0; i < m * m; ++i) {
        c[i] += weight * a[i];
    }
}

/* The largest sum of sizes in a row. */
SALTUS_FN double saltus_matrix_norm(int m, const double *a)
{
    double largest = 0.0;
    for (int i = 0; i < m; ++i) {
        double sum = 0.0;
        for (int j = 0; j < m; ++j) {
            sum += saltus_abs(a[i * m + j]);
        }
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

/* c = exp(a h), where the norm of a h is not far above 1/2: Taylor's series. */
SALTUS_OUTLINE void saltus_matrix_exp(int m, const double *a, double h, double norm, double *term,
                                      double *product, double *c)
{
    double size = 1.0;
    for (int i = 0; i < m * m; ++i) {
        c[i] = term[i] = i % (m + 1) == 0 ? 1.0 : 0.0;
    }
    for (int k = 1; k < 12 && size > 1e-7; ++k) {
        saltus_matrix_product(m, a, term, product);
        for (int i = 0; i < m * m; ++i) {
            term[i] = product[i] * (h / (double)k);
            c[i] += term[i];
        }
        size *= norm * h / (double)k;
    }
}

/* The lower factor of a covariance; what has no variance but that of others has a column of 0. */
SALTUS_OUTLINE void saltus_matrix_root(int m, const double *a, double *root)
{
    for (int j = 0; j < m; ++j) {
        double d = a[j * m + j];
        for (int k = 0; k < j; ++k) {
            d -= root[j * m + k] * root[j * m + k];
        }
        const double pivot = d > 1e-9 * a[j * m + j] ? saltus_sqrt(d) : 0.0;
        for (int i = 0; i < m; ++i) {
            double sum = i < j ? 0.0 : a[i * m + j];
            for (int k = 0; k < j && i >= j; ++k) {
                sum -= root[i * m + k] * root[j * m + k];
            }
            root[i * m + j] = pivot > 0.0 ? sum / pivot : 0.0;
        }
    }
}

/* Solve root root^T x = b in place, for b that is in the range. */
SALTUS_FN void saltus_matrix_solve(int m, const double *root, double *x)
{
    for (int i = 0; i < m; ++i) {
        double sum = x[i];
        for (int j = 0; j < i; ++j) {
            sum -= root[i * m + j] * x[j];
        }
        x[i] = root[i * m + i] > 0.0 ? sum / root[i * m + i] : 0.0;
    }
    for (int i = m - 1; i >= 0; --i) {
        double sum = x[i];
        for (int j = i + 1; j < m; ++j) {
            sum -= root[j * m + i] * x[j];
        }
        x[i] = root[i * m + i] > 0.0 ? sum / root[i * m + i] : 0.0;
    }
}

/* y += weight a x. */
SALTUS_FN void saltus_matrix_apply(int m, double weight, const double *a, const double *x,
                                   double *y)
{
    for (int i = 0; i < m; ++i) {
        double sum = 0.0;
        for (int j = 0; j < m; ++j) {
            sum += a[i * m + j] * x[j];
        }
        y[i] += weight * sum;
    }
}

/* The same with the transpose. */
SALTUS_FN void saltus_matrix_apply_transposed(int m, const double *a, const double *x, double *y)
{
    for (int j = 0; j < m; ++j) {
        for (int i = 0; i < m && x[j] != 0.0; ++i) {
            y[i] += a[j * m + i] * x[j];
        }
    }
}

/* The Jacobian of what flows, all laws being products: their derivatives by each factor. */
SALTUS_OUTLINE void saltus_noise_factors(saltus_trajectory *p, const saltus_hybrid *h, int m,
                                         double *jacobian)
{
    const saltus_tables *n = p->n;
    for (int i = 0; i < h->n_flowing; ++i) {
        const int r = h->flowing[i];
        for (int f = n->factor_row[r]; f < n->factor_row[r + 1]; ++f) {
            const int j =
                n->factor_species[f] < n->n_species ? h->component[n->factor_species[f]] : -1;
            double slope = n->rate[r];
            for (int g = n->factor_row[r]; g < n->factor_row[r + 1] && j >= 0; ++g) {
                slope *= g == f ? 1.0 : p->v[n->factor_species[g]] - n->factor_offset[g];
            }
            for (int c = n->change_row[r]; c < n->change_row[r + 1] && j >= 0; ++c) {
                jacobian[h->component[n->change_species[c]] * m + j] +=
                    slope * (double)n->change_amount[c];
            }
        }
    }
}

/* The same by differences of slopes at state o->w; o->k[6] and o->derivative are used. */
SALTUS_OUTLINE void saltus_noise_differences(saltus_trajectory *p, saltus_ode *o, double time,
                                             int m, double *jacobian)
{
    const double root_of_epsilon = 0x1p-26, floor = o->wanted.atol / o->wanted.rtol;
    saltus_ode_slope(p, o, time, o->w, o->derivative);
    for (int j = 0; j < m; ++j) {
        const double y = o->w[j], size = saltus_abs(y) > floor ? saltus_abs(y) : floor;
        o->w[j] = y + root_of_epsilon * size;
        const double step = o->w[j] - y;
        saltus_ode_slope(p, o, time, o->w, &SALTUS_K(6, 0));
        for (int i = 0; i < m; ++i) {
            jacobian[i * m + j] = (SALTUS_K(6, i) - o->derivative[i]) / step;
        }
        o->w[j] = y;
    }
}

/* The Jacobian at a share of the step. */
SALTUS_OUTLINE void saltus_noise_jacobian(saltus_trajectory *p, saltus_ode *o, double share)
{
    const int m = saltus_noise_size(p, o);
    const double time = p->t + share * o->size;
    double *jacobian = saltus_noise_matrix(o->hybrid, m, SALTUS_NOISE_JACOBIAN);
    saltus_ode_dense_state(o, share);
    if (o->hybrid->has_factors) {
        for (int i = 0; i < m * m; ++i) {
            jacobian[i] = 0.0;
        }
        saltus_ode_place(p, o, time, o->w);
        saltus_noise_factors(p, o->hybrid, m, jacobian);
    } else {
        saltus_noise_differences(p, o, time, m, jacobian);
    }
}

/* D at a share of the step. */
SALTUS_OUTLINE void saltus_noise_source(saltus_trajectory *p, saltus_ode *o, double share, int m,
                                        double *source)
{
    const saltus_tables *n = p->n;
    const saltus_hybrid *h = o->hybrid;
    saltus_ode_dense_state(o, share);
    saltus_ode_place(p, o, saltus_ode_inside(o, p->t + share * o->size), o->w);
    for (int i = 0; i < m * m; ++i) {
        source[i] = 0.0;
    }
    for (int i = 0; i < h->n_flowing; ++i) {
        const int r = h->flowing[i];
        const double a = saltus_propensity(p, r);
        for (int c = n->change_row[r]; c < n->change_row[r + 1] && a > 0.0; ++c) {
            double *row = source + (int64_t)h->component[n->change_species[c]] * m;
            const double change = a * (double)n->change_amount[c];
            for (int e = n->change_row[r]; e < n->change_row[r + 1]; ++e) {
                row[h->component[n->change_species[e]]] += change * (double)n->change_amount[e];
            }
        }
    }
}

/** Phi and V of the step's shares from `from` to `to`, into matrices phi and var. The step's dense
 * output is known; o->w and the stages behind it are used. */
SALTUS_OUTLINE void saltus_noise_over(saltus_trajectory *p, saltus_ode *o, double from, double to,
                                      double *phi, double *var)
{
    const saltus_hybrid *h = o->hybrid;
    const int m = saltus_noise_size(p, o);
    const double *jacobian = saltus_noise_matrix(h, m, SALTUS_NOISE_JACOBIAN);
    double *source = saltus_noise_matrix(h, m, SALTUS_NOISE_SOURCE);
    double *half = saltus_noise_matrix(h, m, SALTUS_NOISE_HALF);
    double *node = saltus_noise_matrix(h, m, SALTUS_NOISE_NODE);
    double *term = saltus_noise_matrix(h, m, SALTUS_NOISE_TERM);
    double *product = saltus_noise_matrix(h, m, SALTUS_NOISE_PRODUCT);
    double *whole = saltus_noise_matrix(h, m, SALTUS_NOISE_WHOLE);
    const double middle = 0.5 * (from + to);
    for (int i = 0; i < m * m; ++i) {
        var[i] = 0.0;
    }
    saltus_noise_jacobian(p, o, middle);
    const double norm = saltus_matrix_norm(m, jacobian);
    double share = to - from; /* of a panel */
    int doublings = 0;
    while (norm * share * o->size > 1.0 && doublings < 60) {
        share *= 0.5;
        ++doublings;
    }
    saltus_matrix_exp(m, jacobian, 0.5 * share * o->size, norm, term, product, half);
    saltus_matrix_product(m, half, half, whole);
    /* the last panel */
    const double sixth = share * o->size / 6.0;
    saltus_noise_source(p, o, to, m, source);
    saltus_matrix_add(m, sixth, source, var);
    saltus_noise_source(p, o, to - 0.5 * share, m, source);
    saltus_matrix_congruence(m, 4.0 * sixth, half, source, product, var);
    saltus_noise_source(p, o, to - share, m, source);
    double weight = sixth, behind = share;
    for (int k = 0; k < doublings; ++k) { /* as long as all behind it */
        const double own = behind * o->size / 6.0;
        saltus_matrix_congruence(m, weight + own, whole, source, product, var);
        saltus_noise_source(p, o, to - 1.5 * behind, m, source);
        saltus_matrix_product(m, whole, half, node);
        saltus_matrix_congruence(m, 4.0 * own, node, source, product, var);
        for (int i = 0; i < m * m; ++i) {
            half[i] = whole[i];
        }
        saltus_matrix_product(m, half, half, whole);
        behind *= 2.0;
        saltus_noise_source(p, o, to - behind, m, source);
        weight = own;
    }
    saltus_matrix_congruence(m, weight, whole, source, product, var);
    for (int i = 0; i < m * m; ++i) {
        phi[i] = whole[i];
    }
}

/* Add a Gaussian vector of some covariance; `normal` is used. */
SALTUS_OUTLINE void saltus_noise_draw(const saltus_trajectory *p, const saltus_hybrid *h, int m,
                                      const double *var, uint64_t block, double *normal, double *y)
{
    double *root = saltus_noise_matrix(h, m, SALTUS_NOISE_ROOT);
    double u[2];
    saltus_matrix_root(m, var, root);
    for (int i = 0; i < m; i += 2) {
        saltus_kick_words(p, h->kicks, block + (uint64_t)(i / 2), u);
        const double size = saltus_sqrt(-2.0 * saltus_log(u[0]));
        normal[i] = size * saltus_cos(6.28318530717958648 * u[1]);
        if (i + 1 < m) {
            normal[i + 1] = size * saltus_sin(6.28318530717958648 * u[1]);
        }
    }
    saltus_matrix_apply(m, 1.0, root, normal, y);
}

/* Deviations at share `at`, into `deviation`, given those at shares `from` and `to`: a draw over
 * both parts, moved to where it ends as it must. `node` numbers its words. */
SALTUS_OUTLINE void saltus_noise_between(saltus_trajectory *p, saltus_ode *o, double from,
                                         const double *deviation_from, double to,
                                         const double *deviation_to, double at, uint64_t node,
                                         double *deviation)
{
    enum { BLOCKS = 1024 };
    saltus_hybrid *h = o->hybrid;
    const int m = saltus_noise_size(p, o);
    double *phi = saltus_noise_matrix(h, m, SALTUS_NOISE_PHI);
    double *var = saltus_noise_matrix(h, m, SALTUS_NOISE_VAR);
    double *phi_first = saltus_noise_matrix(h, m, SALTUS_NOISE_PHI_FIRST);
    double *var_first = saltus_noise_matrix(h, m, SALTUS_NOISE_VAR_FIRST);
    double *product = saltus_noise_matrix(h, m, SALTUS_NOISE_PRODUCT);
    double *root = saltus_noise_matrix(h, m, SALTUS_NOISE_ROOT);
    double *off = h->vector, *back = off + m, *normal = back + m;
    saltus_noise_over(p, o, from, at, phi_first, var_first);
    saltus_noise_over(p, o, at, to, phi, var);
    for (int i = 0; i < m; ++i) {
        deviation[i] = back[i] = 0.0;
        off[i] = deviation_to[i];
    }
    saltus_matrix_apply(m, 1.0, phi_first, deviation_from, deviation);
    saltus_noise_draw(p, h, m, var_first, node * BLOCKS, normal, deviation);
    saltus_noise_draw(p, h, m, var, node * BLOCKS + BLOCKS / 2, normal, back);
    saltus_matrix_apply(m, -1.0, phi, deviation, off);
    for (int i = 0; i < m; ++i) {
        off[i] -= back[i];
        back[i] = 0.0;
    }
    saltus_matrix_congruence(m, 1.0, phi, var_first, product, var); /* now that of the end */
    saltus_matrix_root(m, var, root);
    saltus_matrix_solve(m, root, off);
    saltus_matrix_apply_transposed(m, phi, off, back);
    saltus_matrix_apply(m, 1.0, var_first, back, deviation);
}

/* The largest of deviations of species, as a share of what o->w has. */
SALTUS_FN double saltus_noise_share(const saltus_ode *o, const double *deviation)
{
    double largest = 0.0;
    for (int j = 0; j < o->hybrid->n_real; ++j) {
        const double share = saltus_abs(deviation[j] / o->w[j]);
        largest = share <= largest ? largest : share;
    }
    return largest;
}

/* Of deviations at the end of a step of length h, whose state is in o->w, move what lasts from
 * `deviation` to there. The Jacobian is that of the step; o->derivative is used. What is too large
 * to be linear, and what grows, is moved as a whole; so is all where triggers watch the state. */
SALTUS_OUTLINE void saltus_noise_settle(const saltus_trajectory *p, saltus_ode *o, double h,
                                        double *deviation)
{
    const int m = saltus_noise_size(p, o);
    const double *jacobian = saltus_noise_matrix(o->hybrid, m, SALTUS_NOISE_JACOBIAN);
    const double share = saltus_noise_share(o, deviation);
    double *lasting = o->derivative;
    int moves_all = p->n->watches_state || !(share < SALTUS_KICK_MOST) || !(h > 0.0);
    if (!moves_all) {
        for (int i = 0; i < o->n * o->n; ++i) {
            const int row = i / o->n, column = i % o->n;
            o->jacobian[i] = row < m && column < m ? jacobian[row * m + column] : 0.0;
        }
        saltus_ode_factor(o, 4.0 * h); /* of 1 / h less the Jacobian */
        for (int i = 0; i < o->n; ++i) {
            lasting[i] = i < m ? deviation[i] : 0.0;
        }
        for (int k = 0; k < 4; ++k) {
            for (int i = 0; i < m; ++i) {
                lasting[i] /= h;
            }
            saltus_ode_solve(o, lasting);
        }
        moves_all = !(saltus_noise_share(o, lasting) <= 1.5 * share);
    }
    for (int i = 0; i < m; ++i) {
        const double moved = moves_all ? deviation[i] : lasting[i];
        o->w[i] += moved;
        deviation[i] -= moved;
    }
}

/** The halves of halves of a step in which a sample was, shares of the step; the next sample begins
 * at the last that it is in, too. Their ends stand in memory of the split. */
typedef struct saltus_noise_path {
    int depth; /* -1: there is none yet */
    double from[SALTUS_NOISE_HALVINGS + 1], to[SALTUS_NOISE_HALVINGS + 1];
    uint64_t node[SALTUS_NOISE_HALVINGS + 1];
} saltus_noise_path;

/** The step's deviations at share `at`, in (0, end), given those at its start, and `last` at `end`:
 * into `deviation`. Within a step shares rise. */
SALTUS_OUTLINE void saltus_noise_within(saltus_trajectory *p, saltus_ode *o, double end,
                                        const double *last, double at, saltus_noise_path *path,
                                        double *deviation)
{
    const int m = saltus_noise_size(p, o);
    double *middle = o->hybrid->vector + (int64_t)3 * m;
    double *low = o->hybrid->vector + (int64_t)SALTUS_NOISE_ENDS * m, *high = low + m;
    int k = path->depth;
    while (k >= 0 && !(at < path->to[k])) {
        --k;
    }
    if (k < 0) {
        k = 0;
        path->from[0] = 0.0;
        path->to[0] = end;
        path->node[0] = 1;
        for (int i = 0; i < m; ++i) {
            low[i] = o->hybrid->deviation[i];
            high[i] = last[i];
        }
    }
    low += (int64_t)2 * k * m;
    for (; k < SALTUS_NOISE_HALVINGS; ++k, low += 2 * m) {
        const double from = path->from[k], to = path->to[k], half = 0.5 * (from + to);
        const int is_late = !(at < half);
        high = low + m;
        saltus_noise_between(p, o, from, low, to, high, half, path->node[k], middle);
        for (int i = 0; i < m; ++i) {
            low[2 * m + i] = is_late ? middle[i] : low[i];
            high[2 * m + i] = is_late ? high[i] : middle[i];
        }
        path->from[k + 1] = is_late ? half : from;
        path->to[k + 1] = is_late ? to : half;
        path->node[k + 1] = 2 * path->node[k] + (uint64_t)is_late;
    }
    path->depth = k;
    const uint64_t bits = (uint64_t)SALTUS_AS_I64(at);
    saltus_noise_between(p, o, path->from[k], low, path->to[k], low + m, at,
                         (1 << SALTUS_NOISE_HALVINGS) + ((bits ^ bits >> 23) & 0xfff), deviation);
}

/* Draw the deviations at the end of the step. Where they are too large for what is linear, the step
 * ends earlier. Returns 0 when nothing flows. */
SALTUS_OUTLINE int saltus_noise_kick(saltus_trajectory *p, saltus_ode *o, double *kick)
{
    const saltus_hybrid *h = o->hybrid;
    const int m = saltus_noise_size(p, o);
    double *phi = saltus_noise_matrix(h, m, SALTUS_NOISE_PHI);
    double *var = saltus_noise_matrix(h, m, SALTUS_NOISE_VAR);
    for (int i = 0; i < m; ++i) {
        kick[i] = 0.0;
    }
    if (h->n_real == 0) {
        return 0;
    }
    for (int tries = 0; tries < 30; ++tries) {
        int too_large = 0;
        double slope;
        saltus_noise_over(p, o, 0.0, o->theta, phi, var);
        for (int j = 0; j < h->n_real; ++j) {
            const double most = SALTUS_KICK_MOST * saltus_ode_at(o, j, o->theta, &slope);
            too_large |= !(var[j * m + j] <= most * most);
        }
        too_large =
            too_large || saltus_noise_bends(p, o, m, var) || saltus_noise_wavers(p, o, m, var);
        if (!too_large) {
            break;
        }
        o->theta *= 0.5;
        o->fires = o->turns = 0;
        p->carried.step = o->theta * o->size;
    }
    saltus_matrix_apply(m, 1.0, phi, h->deviation, kick);
    saltus_noise_draw(p, h, m, var, 0, h->vector + (int64_t)2 * m, kick);
    return 1;
}

#endif
