/** Groups of reactions that are alike. */
#ifndef SALTUS_BACKEND_CUDA_CODEGEN_REGISTERS_KINDS_H
#define SALTUS_BACKEND_CUDA_CODEGEN_REGISTERS_KINDS_H

#include "backend/cuda/codegen/registers_text.h"

enum { SALTUS_MAX_GROUPS = SALTUS_FANOUT, SALTUS_MAX_LOCALS = 64 };

/** A group's species in order of appearance: factors, then changes, reaction by reaction. */
typedef struct saltus_locals {
    int n, species[SALTUS_MAX_LOCALS];
} saltus_locals;

/** Groups with one code, that of the first: they do the same to their own species. `of` says which
 * those are; n_species stands for none. */
typedef struct saltus_kind {
    int n_groups, groups[SALTUS_MAX_GROUPS];
    saltus_locals of[SALTUS_MAX_GROUPS];
} saltus_kind;

/** The number of a species among the locals; it is added if it is not there. */
int saltus_local_of(saltus_locals *l, int species);
/** Add what reactions first … end - 1 read, in products, and change. */
void saltus_add_locals(const saltus_tables *t, int first, int end, saltus_locals *l);
int saltus_group_reactions(const saltus_tables *t, int g);
/** Whether propensity r is a product of counts. */
bool saltus_is_product(const saltus_tables *t, int r);

/** Sort the groups of a model by kinds; returns their number. */
int saltus_find_kinds(const saltus_tables *t, saltus_kind kinds[SALTUS_MAX_GROUPS]);
/** Whether local species are one stride apart from group to group, so that their places can be
 * computed. */
bool saltus_kind_stride(const saltus_kind *k, int *stride);
/** Whether the rate of reaction i varies in some of the kind's groups. */
bool saltus_kind_varies(const saltus_writer *w, const saltus_kind *k, int i);
/** Whether the kind's groups have one rate for their reaction i. */
bool saltus_kind_same_rate(const saltus_writer *w, const saltus_kind *k, int i);
/** Whether the first four reactions of each group do what the last four do, to species that are
 * `step` before theirs. */
bool saltus_kind_halves(const saltus_writer *w, const saltus_kind *k, int *step);

#endif
