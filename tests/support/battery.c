#include "battery.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The farther of two deviates. */
static double farther(double a, double b)
{
    return fabs(b) > fabs(a) ? b : a;
}

/* A chi-square as a normal deviate (Wilson and Hilferty, 1931). */
static double normal_of_chi2(double chi2, double freedom)
{
    const double c = 2.0 / (9.0 * freedom);
    return (cbrt(chi2 / freedom) - (1.0 - c)) / sqrt(c);
}

/* Pearson's statistic of n classes of one probability. */
static double equal_classes(const uint32_t *count, int n, double expected)
{
    double chi2 = 0.0;
    for (int i = 0; i < n; ++i) {
        chi2 += (count[i] - expected) * (count[i] - expected) / expected;
    }
    return normal_of_chi2(chi2, n - 1.0);
}

static double bits(word_source *next, void *user)
{
    enum { N = 1 << 18 };
    int ones[32] = {0};
    double worst = 0.0;
    for (int i = 0; i < N; ++i) {
        const uint32_t w = next(user);
        for (int b = 0; b < 32; ++b) {
            ones[b] += w >> b & 1;
        }
    }
    for (int b = 0; b < 32; ++b) {
        worst = farther(worst, (ones[b] - N / 2) / sqrt(N / 4.0));
    }
    return worst;
}

static double blocks(word_source *next, void *user)
{
    enum { N = 4096, WORDS = 64 };
    double chi2 = 0.0;
    for (int i = 0; i < N; ++i) {
        int ones = 0;
        for (int k = 0; k < WORDS; ++k) {
            ones += __builtin_popcount(next(user));
        }
        chi2 += pow(ones - WORDS * 16, 2) / (WORDS * 8);
    }
    return normal_of_chi2(chi2, N);
}

/* Put n words in order, by 11, 11 and 10 of their bits; there is room for n more behind them. */
static void sort(uint32_t *w, int n)
{
    uint32_t *from = w, *to = w + n;
    for (int shift = 0; shift < 33; shift += 11) {
        int at[2049] = {0};
        for (int i = 0; i < n; ++i) {
            ++at[(from[i] >> shift & 2047) + 1];
        }
        for (int k = 0; k < 2048; ++k) {
            at[k + 1] += at[k];
        }
        for (int i = 0; i < n; ++i) {
            to[at[from[i] >> shift & 2047]++] = from[i];
        }
        uint32_t *const other = from;
        from = to;
        to = other;
    }
    memcpy(w, from, (size_t)n * sizeof *w);
}

/* The deviate that Kolmogorov's tail 2 exp(-2 n D^2) is about that of. */
static double uniform(word_source *next, void *user)
{
    enum { N = 1 << 16 };
    uint32_t *w = malloc(2 * N * sizeof *w);
    double most = 0.0;
    for (int i = 0; i < N; ++i) {
        w[i] = next(user);
    }
    sort(w, N);
    for (int i = 0; i < N; ++i) {
        const double u = (w[i] + 0.5) * 0x1p-32;
        const double below = u - (double)i / N, above = (i + 1.0) / N - u;
        most = below > most ? below : most; /* fmax here is too much for gcc 12 on aarch64 */
        most = above > most ? above : most;
    }
    free(w);
    return 2.0 * sqrt(N) * most;
}

/* Cells of t words one after the other, by the highest bits of each. */
static double cells(word_source *next, void *user, int t, int n_bits, int n)
{
    const int n_cells = 1 << t * n_bits;
    uint32_t *count = calloc((size_t)n_cells, sizeof *count);
    for (int i = 0; i < n; ++i) {
        uint32_t cell = 0;
        for (int k = 0; k < t; ++k) {
            cell = cell << n_bits | next(user) >> (32 - n_bits);
        }
        ++count[cell];
    }
    const double z = equal_classes(count, n_cells, (double)n / n_cells);
    free(count);
    return z;
}

static double pairs(word_source *next, void *user)
{
    return cells(next, user, 2, 6, 1 << 17);
}

static double triples(word_source *next, void *user)
{
    return cells(next, user, 3, 4, 1 << 17);
}

static double gaps(word_source *next, void *user)
{
    enum { N = 1 << 14, LONGEST = 64 };
    uint32_t count[LONGEST + 1] = {0};
    double chi2 = 0.0, p = 1.0 / 16.0;
    for (int i = 0; i < N; ++i) {
        int gap = 0;
        for (; next(user) >= UINT32_C(1) << 28 && gap < 1 << 20; ++gap) {
        }
        ++count[gap < LONGEST ? gap : LONGEST];
    }
    for (int gap = 0; gap <= LONGEST; ++gap, p *= 15.0 / 16.0) {
        const double expected = N * (gap < LONGEST ? p : 16.0 * p);
        chi2 += (count[gap] - expected) * (count[gap] - expected) / expected;
    }
    return normal_of_chi2(chi2, LONGEST);
}

/* Balls that fall into a cell that is taken: n - cells + cells (1 - 1/cells)^n on average. */
static double collisions(word_source *next, void *user)
{
    enum { N = 1 << 17, CELLS = 1 << 24 };
    uint8_t *taken = calloc(CELLS / 8, 1);
    int found = 0;
    for (int i = 0; i < N; ++i) {
        const uint32_t high = next(user) >> 20, cell = high << 12 | next(user) >> 20;
        found += taken[cell / 8] >> cell % 8 & 1;
        taken[cell / 8] |= (uint8_t)(1 << cell % 8);
    }
    free(taken);
    const double mean = N - CELLS * -expm1(N * log1p(-1.0 / CELLS));
    return (found - mean) / sqrt(mean);
}

/* Spacings that occur again: Poisson, n^3 / (4 * 2^32) on average each time (Marsaglia). */
static double birthdays(word_source *next, void *user)
{
    enum { N = 4096, TIMES = 64 };
    static const double mean = TIMES * 4.0;
    uint32_t day[2 * N], spacing[2 * N];
    int found = 0;
    for (int time = 0; time < TIMES; ++time) {
        for (int i = 0; i < N; ++i) {
            day[i] = next(user);
        }
        sort(day, N);
        for (int i = 0; i < N; ++i) {
            spacing[i] = day[i] - day[i > 0 ? i - 1 : N - 1];
        }
        sort(spacing, N);
        for (int i = 1; i < N; ++i) {
            found += spacing[i] == spacing[i - 1];
        }
    }
    return (found - mean) / sqrt(mean);
}

static int rank_of(uint32_t m[32])
{
    int rank = 0;
    for (int bit = 0; bit < 32; ++bit) {
        for (int i = rank; i < 32; ++i) {
            if (m[i] >> bit & 1) {
                const uint32_t row = m[i];
                m[i] = m[rank];
                m[rank] = row;
                for (int k = rank + 1; k < 32; ++k) {
                    m[k] ^= m[k] >> bit & 1 ? row : 0;
                }
                ++rank;
                break;
            }
        }
    }
    return rank;
}

/* Probabilities of rank 32, of 31, of less. */
static double ranks(word_source *next, void *user)
{
    static const double p[] = {0.2887880952, 0.5775761901, 0.1336357147};
    enum { N = 4096 };
    int count[3] = {0};
    double chi2 = 0.0;
    for (int i = 0; i < N; ++i) {
        uint32_t m[32];
        for (int k = 0; k < 32; ++k) {
            m[k] = next(user);
        }
        const int rank = rank_of(m);
        ++count[rank < 31 ? 2 : 32 - rank];
    }
    for (int k = 0; k < 3; ++k) {
        chi2 += pow(count[k] - N * p[k], 2) / (N * p[k]);
    }
    return normal_of_chi2(chi2, 2.0);
}

/* Length of the shortest linear recurrence (Berlekamp 1968, Massey 1969) that gives n bits. */
static int complexity_of(const uint8_t *s, int n)
{
    uint8_t *c = calloc((size_t)n + 1, 1), *b = calloc((size_t)n + 1, 1),
            *old = malloc((size_t)n + 1);
    int length = 0, since = 1;
    c[0] = b[0] = 1;
    for (int i = 0; i < n; ++i, ++since) {
        uint8_t wrong = 0;
        for (int k = 0; k <= length; ++k) {
            wrong ^= c[k] & s[i - k];
        }
        if (!wrong) {
            continue;
        }
        memcpy(old, c, (size_t)n + 1);
        for (int k = 0; k + since <= n; ++k) {
            c[k + since] ^= b[k];
        }
        if (2 * length <= i) {
            length = i + 1 - length;
            memcpy(b, old, (size_t)n + 1);
            since = 0;
        }
    }
    free(c);
    free(b);
    free(old);
    return length;
}

/* The complexity of n random bits is n/2 + 2/9 and varies by 86/81 (Rueppel 1986), n even. */
static double complexity(word_source *next, void *user, int bit)
{
    enum { N = 1024, TIMES = 32 };
    uint8_t s[N];
    double sum = 0.0;
    for (int time = 0; time < TIMES; ++time) {
        for (int i = 0; i < N; ++i) {
            s[i] = next(user) >> bit & 1;
        }
        sum += complexity_of(s, N) - (N / 2 + 2.0 / 9.0);
    }
    return sum / sqrt(TIMES * 86.0 / 81.0);
}

static double high_complexity(word_source *next, void *user)
{
    return complexity(next, user, 31);
}

static double low_complexity(word_source *next, void *user)
{
    return complexity(next, user, 0);
}

const battery_test battery[N_BATTERY] = {
    {"bits", bits},
    {"blocks", blocks},
    {"uniformity", uniform},
    {"pairs", pairs},
    {"triples", triples},
    {"gaps", gaps},
    {"collisions", collisions},
    {"birthday spacings", birthdays},
    {"ranks", ranks},
    {"linear complexity", high_complexity},
    {"linear complexity of the lowest bit", low_complexity},
};
