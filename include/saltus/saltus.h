/**
 * @file
 * Saltus: exact stochastic simulation of reaction networks. This header includes the others:
 *
 * - saltus_status.h   status values, the record of a failure
 * - saltus_model.h    a model is read or built, and frozen
 * - saltus_plan.h     a frozen model is compiled for a backend: the CPU, or GPUs
 * - saltus_run.h      a plan is run; samples go to a sink
 * - saltus_sweep.h    a model is run at many points of its parameters
 * - saltus_ranks.h    processes that run a plan or a sweep together
 * - saltus_results.h  result files: written from runs and sweeps, read, printed, drawn
 * - saltus_memory.h   results that are kept in memory
 *
 * A trajectory is a function of (model, method, seed, trajectory number) and of nothing else:
 * threads, lanes, instruction sets, output times and the number of runs never change a bit of it.
 * (By tau-leaping the sample times do: a leap ends there.)
 *
 * Every function that can fail returns a saltus_status and, where the caller passed a
 * saltus_error, records there one sentence with the values involved; `err` may be NULL everywhere.
 * So may options, which are the defaults then, unless something must be told, such as sample times.
 * The library never prints, never exits and has no mutable globals but locks; handles may be used
 * by one thread at a time, except frozen models and plans, which are only read.
 *
 * Wrong calls are no crashes. Without a handle, or without what a function needs, it fails with
 * SALTUS_E_INVALID, or its value is 0, "", NaN or NULL, as for an index out of range. To destroy
 * NULL, or a handle for the second time, does nothing.
 */
#ifndef SALTUS_SALTUS_H
#define SALTUS_SALTUS_H

#include <saltus/saltus_memory.h>
#include <saltus/saltus_model.h>
#include <saltus/saltus_plan.h>
#include <saltus/saltus_ranks.h>
#include <saltus/saltus_results.h>
#include <saltus/saltus_run.h>
#include <saltus/saltus_status.h>
#include <saltus/saltus_sweep.h>

#endif
