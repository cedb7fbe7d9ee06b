/**
 * The laws of BioNetGen's networks, by the formulas of its simulator for whole molecules: X1, X2 …
 * are the reactants in the order of the file; the n-th of one kind right behind the others counts
 * as X - (n-1). p are the law's constants. All return NULL when memory ran out.
 */
#ifndef SALTUS_READ_NET_LAWS_H
#define SALTUS_READ_NET_LAWS_H

#include "model/network/model.h"

/** Reactants or products as the file lists them, one by one. */
typedef struct saltus_net_list {
    int *variables;
    size_t n, capacity;
} saltus_net_list;

/** Sat k K1 K2 …, n constants: k X1/(K1+X1) X2/(K2+X2) … X3 …; k alone is the propensity. */
const saltus_expr *saltus_net_saturation(saltus_arena *arena, const saltus_expr *const *p, size_t n,
                                         const saltus_net_list *list);

/** MM kcat Km with substrate S and enzymes E (the rest), at the total quasi-steady state:
 * kcat E F/(Km + F), where F = (b + sqrt(b² + 4 S Km))/2, b = S - Km - E, is the free substrate. */
const saltus_expr *saltus_net_michaelis_menten(saltus_arena *arena, const saltus_expr *const *p,
                                               const saltus_net_list *list);

/** Hill V K h: V X1^h/(K^h + X1^h) X2 … */
const saltus_expr *saltus_net_hill(saltus_arena *arena, const saltus_expr *const *p,
                                   const saltus_net_list *list);

/** e times the reactants from `first` on. */
const saltus_expr *saltus_net_times_reactants(saltus_arena *arena, const saltus_expr *e,
                                              const saltus_net_list *list, size_t first);

/** The constant of mass action that gives k X …: k times n! for n of a kind. A factor of two
 * and BioNetGen's half cancel without a rounding. */
const saltus_expr *saltus_net_per_combination(saltus_arena *arena, const saltus_expr *k,
                                              const saltus_reaction *x);

#endif
