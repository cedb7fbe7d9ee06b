/** Threads that take short steps together, for a worker when there are fewer trajectories than
 * cores. A step takes microseconds, too few to start threads for it as core/parallel.h does: the
 * members of a team live as long as the worker, and poll for the next step. */
#ifndef SALTUS_BACKEND_CPU_TEAM_H
#define SALTUS_BACKEND_CPU_TEAM_H

#include "core/status.h"

typedef struct saltus_team saltus_team;

/** A team of n threads, the caller's among them. */
SALTUS_MUST_CHECK saltus_status saltus_team_create(int n, saltus_team **out, saltus_error *err);
void saltus_team_destroy(saltus_team *team);
int saltus_team_size(const saltus_team *team);

/** Call step(user, 0) … step(user, n - 1), each on a thread of its own, and wait for all. */
void saltus_team_step(saltus_team *team, void (*step)(void *user, int member), void *user);

#endif
