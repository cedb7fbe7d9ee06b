/** Random networks to measure with. */
#ifndef SALTUS_BENCH_RANDOM_NETWORK_H
#define SALTUS_BENCH_RANDOM_NETWORK_H

#include "saltus/saltus.h"

enum { SALTUS_RANDOM_MOST = 512 }; /**< species, and reactions, of one */

/** A kind of random networks. */
typedef struct saltus_random_kind {
    int n_species, n_reactions;
    double amount;    /**< of every species at time 0, molecules */
    bool is_log;      /**< constants are log-uniform, */
    double low, high; /**< between these: of 1/time; of the order 0, 1 or 2 in molecules */
} saltus_random_kind;

/**
 * Make and freeze network `number` of a kind; the same for ever, by Philox with key 0.
 *
 * Every reaction has 0, 1 or 2 reactants and 0, 1 or 2 products, each number equally likely, but
 * not 0 and 0. Species are dealt to these places like cards: each once, the rest at random with
 * replacement, all shuffled; anew as long as the two sides of a reaction are equal. Constants are
 * of stochastic kinetics: c, c A, c A B, c A (A - 1) / 2. The caller destroys the model, also after
 * a failure.
 *
 * @retval SALTUS_E_INVALID more species than the reactions have places for, or too large
 */
SALTUS_MUST_CHECK saltus_status saltus_random_network(const saltus_random_kind *kind,
                                                      uint64_t number, saltus_model **model,
                                                      saltus_error *err);

#endif
