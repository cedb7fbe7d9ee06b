/* Tables of jumps. The state after 2^k sub-sequences is a linear function of the state before,
 * which is a matrix; each matrix is the square of the one before. */
#include "engine/generator.h"

#include "core/memory.h"
#include "kernel/base/stream.h"

#include <string.h>

enum { N_POWERS = 64 }; /* bits of a trajectory's number */

static const char *const names[] = {"philox", "xorwow", "mrg32k3a", "mt19937"};
enum { N_NAMES = sizeof names / sizeof *names };
_Static_assert(SALTUS_RNG_PHILOX == 0 && SALTUS_RNG_XORWOW == 1 && SALTUS_RNG_MRG32K3A == 2 &&
                   SALTUS_RNG_MT19937 == 3,
               "the order of names");

/* A row times a matrix is the same row of the square. */
static void square_xorwow(const uint32_t *matrix, uint32_t *square)
{
    memcpy(square, matrix, SALTUS_XORWOW_MATRIX * sizeof *matrix);
    for (int row = 0; row < SALTUS_XORWOW_MATRIX; row += 5) {
        saltus_xorwow_apply(matrix, square + row);
    }
}

static void fill_xorwow(uint32_t *jumps)
{
    uint32_t step[SALTUS_XORWOW_MATRIX] = {0};
    for (int bit = 0; bit < 160; ++bit) {
        uint32_t *row = step + (ptrdiff_t)bit * 5;
        row[bit / 32] = (uint32_t)1 << bit % 32;
        saltus_xorwow_step(row);
    }
    for (int k = 0; k < SALTUS_XORWOW_SPACING; ++k) {
        square_xorwow(step, jumps);
        memcpy(step, jumps, sizeof step);
    }
    for (int k = 1; k < N_POWERS; ++k, jumps += SALTUS_XORWOW_MATRIX) {
        square_xorwow(jumps, jumps + SALTUS_XORWOW_MATRIX);
    }
}

/* A matrix times a column is the same column of the square. */
static void square_mrg32k3a(const uint32_t *matrix, uint32_t *square, uint32_t m)
{
    for (int column = 0; column < 3; ++column) {
        uint32_t v[3] = {matrix[column], matrix[3 + column], matrix[6 + column]};
        saltus_mrg32k3a_apply(matrix, v, m);
        for (int row = 0; row < 3; ++row) {
            square[3 * row + column] = v[row];
        }
    }
}

/* Fill one half of the tables; jumps[k] is 2 k matrices behind the first. */
static void fill_mrg32k3a_half(uint32_t *jumps, void (*take_step)(uint32_t[3]), uint32_t m)
{
    uint32_t step[SALTUS_MRG32K3A_MATRIX];
    for (int column = 0; column < 3; ++column) {
        uint32_t v[3] = {column == 0, column == 1, column == 2};
        take_step(v);
        for (int row = 0; row < 3; ++row) {
            step[3 * row + column] = v[row];
        }
    }
    for (int k = 0; k < SALTUS_MRG32K3A_SPACING; ++k) {
        square_mrg32k3a(step, jumps, m);
        memcpy(step, jumps, sizeof step);
    }
    for (int k = 1; k < N_POWERS; ++k, jumps += (size_t)2 * SALTUS_MRG32K3A_MATRIX) {
        square_mrg32k3a(jumps, jumps + (size_t)2 * SALTUS_MRG32K3A_MATRIX, m);
    }
}

static void step_a(uint32_t v[3])
{
    saltus_mrg32k3a_step_a(v);
}

static void step_b(uint32_t v[3])
{
    saltus_mrg32k3a_step_b(v);
}

saltus_status saltus_generator_create(const char *name, saltus_generator *out, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_generator g = {.rng = 0};
    *out = g;
    while (g.rng < N_NAMES && strcmp(name, names[g.rng]) != 0) {
        ++g.rng;
    }
    if (g.rng == N_NAMES) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "generator '%s': there are philox, xorwow, mrg32k3a and mt19937", name);
    }
    g.name = names[g.rng];
    g.n_jumps = g.rng == SALTUS_RNG_XORWOW     ? (size_t)N_POWERS * SALTUS_XORWOW_MATRIX
                : g.rng == SALTUS_RNG_MRG32K3A ? (size_t)N_POWERS * 2 * SALTUS_MRG32K3A_MATRIX
                                               : 0;
    if (g.n_jumps > 0) {
        g.jumps = saltus_calloc(g.n_jumps, sizeof *g.jumps);
        SALTUS_NEED(g.jumps);
    }
    if (g.rng == SALTUS_RNG_XORWOW) {
        fill_xorwow(g.jumps);
    } else if (g.rng == SALTUS_RNG_MRG32K3A) {
        fill_mrg32k3a_half(g.jumps, step_a, SALTUS_MRG32K3A_M1);
        fill_mrg32k3a_half(g.jumps + SALTUS_MRG32K3A_MATRIX, step_b, SALTUS_MRG32K3A_M2);
    }
    *out = g;
done:
    return status;
}

void saltus_generator_free(saltus_generator *generator)
{
    saltus_free(generator->jumps);
    generator->jumps = NULL;
}

saltus_status saltus_generator_check_seed(const saltus_generator *generator, uint64_t seed,
                                          saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    uint32_t s[SALTUS_MRG32K3A_WORDS];
    saltus_mrg32k3a_seed(s, seed);
    if (generator->rng == SALTUS_RNG_MRG32K3A &&
        ((s[0] | s[1] | s[2]) == 0 || (s[3] | s[4] | s[5]) == 0)) {
        SALTUS_FAIL(SALTUS_E_INVALID,
                    "seed %llu: with it, half of generator mrg32k3a is zero for ever",
                    (unsigned long long)seed);
    }
done:
    return status;
}
