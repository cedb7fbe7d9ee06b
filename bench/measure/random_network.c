#include "bench/measure/random_network.h"

#include "core/status.h"
#include "kernel/base/rng.h"

#include <math.h>
#include <stdio.h>

enum { SIDES = 2, SIDE = 2, PLACES = SIDES * SIDE, MOST_DEALS = 1000 };

/* Random numbers of one network, one after another. */
typedef struct source {
    uint64_t number, block;
} source;

/* In [0, 1). */
static double uniform(source *s)
{
    uint32_t keys[SALTUS_PHILOX_KEYS], w[4];
    saltus_philox_keys(0, keys);
    saltus_philox_keyed(keys, SALTUS_PURPOSE_NETWORK, s->number, s->block++, w);
    return (double)(((uint64_t)w[0] << 32 | w[1]) >> 11) * 0x1p-53;
}

static int below(source *s, int n)
{
    return (int)(uniform(s) * n);
}

/* What stands at the places of each reaction; n[side] of them are used. */
typedef struct reaction {
    int n[SIDES], species[SIDES][SIDE];
} reaction;

static bool sides_are_equal(const reaction *r)
{
    const int *a = r->species[0], *b = r->species[1];
    return r->n[0] == r->n[1] && ((a[0] == b[0] && (r->n[0] < 2 || a[1] == b[1])) ||
                                  (r->n[0] == 2 && a[0] == b[1] && a[1] == b[0]));
}

/* False when there are too few places, or two sides are equal. */
static bool deal(source *s, const saltus_random_kind *kind, reaction *reactions)
{
    int cards[PLACES * SALTUS_RANDOM_MOST] = {0}, n = 0, next = 0;
    bool is_good = true;
    for (int r = 0; r < kind->n_reactions; ++r) {
        const int which = 1 + below(s, 8); /* of the nine pairs of numbers all but 0 and 0 */
        reactions[r].n[0] = which / 3;
        reactions[r].n[1] = which % 3;
        n += which / 3 + which % 3;
    }
    if (n < kind->n_species) {
        return false;
    }
    for (int i = 0; i < n; ++i) { /* Fisher and Yates, inside out */
        const int j = below(s, i + 1);
        cards[i] = cards[j];
        cards[j] = i < kind->n_species ? i : below(s, kind->n_species);
    }
    for (int r = 0; r < kind->n_reactions; ++r) {
        for (int p = 0; p < PLACES; ++p) {
            if (p % SIDE < reactions[r].n[p / SIDE]) {
                reactions[r].species[p / SIDE][p % SIDE] = cards[next++];
            }
        }
        is_good = is_good && !sides_are_equal(&reactions[r]);
    }
    return is_good;
}

static int write_side(char *to, size_t size, const reaction *r, int side)
{
    const int *s = r->species[side];
    return r->n[side] == 0   ? snprintf(to, size, "0")
           : r->n[side] == 1 ? snprintf(to, size, "S%d", s[0])
                             : snprintf(to, size, "S%d + S%d", s[0], s[1]);
}

static saltus_status add_reaction(source *s, const saltus_random_kind *kind, const reaction *r,
                                  int number, saltus_model *model, saltus_error *err)
{
    char id[20], equation[100], rate[40];
    const double u = uniform(s);
    const double c = kind->is_log ? kind->low * pow(kind->high / kind->low, u)
                                  : kind->low + u * (kind->high - kind->low);
    int at = write_side(equation, sizeof equation, r, 0);
    at += snprintf(equation + at, sizeof equation - (size_t)at, " -> ");
    (void)write_side(equation + at, sizeof equation - (size_t)at, r, 1);
    (void)snprintf(id, sizeof id, "R%d", number);
    (void)snprintf(rate, sizeof rate, "%.17g", c);
    return saltus_model_add_reaction(model, id, equation, rate, err);
}

saltus_status saltus_random_network(const saltus_random_kind *kind, uint64_t number,
                                    saltus_model **model, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    source s = {.number = number};
    reaction reactions[SALTUS_RANDOM_MOST];
    char name[40];
    int deals = 0;
    bool is_good = false;
    *model = NULL;
    while (!is_good && deals++ < MOST_DEALS && kind->n_species <= SALTUS_RANDOM_MOST &&
           kind->n_reactions <= SALTUS_RANDOM_MOST) {
        is_good = deal(&s, kind, reactions);
    }
    if (!is_good) {
        SALTUS_FAIL(SALTUS_E_INVALID, "no random network of %d species and %d reactions",
                    kind->n_species, kind->n_reactions);
    }
    (void)snprintf(name, sizeof name, "random %llu", (unsigned long long)number);
    SALTUS_TRY(saltus_model_create(name, model, err));
    for (int i = 0; i < kind->n_species; ++i) {
        (void)snprintf(name, sizeof name, "S%d", i);
        SALTUS_TRY(saltus_model_add_species(*model, name, kind->amount, err));
    }
    for (int r = 0; r < kind->n_reactions; ++r) {
        SALTUS_TRY(add_reaction(&s, kind, &reactions[r], r, *model, err));
    }
    SALTUS_TRY(saltus_model_freeze(*model, SALTUS_LAW_LITERAL, err));
done:
    return status;
}
