/** Tests of several ranks: a script that stands for the command, and starts it by mpirun. */
#ifndef SALTUS_TESTS_CLI_RANKS_H
#define SALTUS_TESTS_CLI_RANKS_H

#include "command.h"

/** Enter a folder with models, lattices among them (lattice, ring, faces, grow, bad), where the
 * command is that script. */
int enter_with_ranks(void **state);
/** From now on the command is started as so many ranks, or (0) alone. */
void use_ranks(int n);
/** Skip the test where there is no mpirun, or no units, which lattices need. */
void need_mpirun(void);
void need_units(void);
/** What a command makes must not depend on how many ranks do it; `more` is said to ranks alone. */
void same_by_all(const char *command, const char *more, const int *counts, int n_counts,
                 int least_sets);
/** Send a signal to one rank of what is running in this folder. */
void signal_rank(int rank, int signal);

#endif
