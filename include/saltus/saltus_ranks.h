/**
 * @file
 * Ranks: the processes that mpirun or srun has started, which do a run or a sweep together. Rank 0
 * leads: it has the sink, and the other ranks simulate for it. All call the same functions in the
 * same order: saltus_ranks_open, then saltus_run or saltus_sweep_run with the ranks in their
 * options, then saltus_ranks_close; what is made of the samples is rank 0's matter alone.
 *
 * The samples are, to the bit, those of one process, whatever the number of ranks.
 */
#ifndef SALTUS_RANKS_H
#define SALTUS_RANKS_H

#include <saltus/saltus_model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The ranks, as one of them sees them. */
typedef struct saltus_ranks saltus_ranks;

/**
 * Join the other ranks, by the plug-in libsaltus-mpi.so: the one that SALTUS_MPI names, else the
 * one beside this library, else the installed one. Once in a process.
 *
 * @param[out] out to be closed with saltus_ranks_close
 * @param err      see saltus_error
 * @retval SALTUS_OK            all are there
 * @retval SALTUS_E_INVALID     out is NULL
 * @retval SALTUS_E_UNAVAILABLE there is no plug-in, MPI failed, or another rank has another version
 *                              of Saltus
 * @retval SALTUS_E_NO_MEMORY   memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_ranks_open(saltus_ranks **out, saltus_error *err);
/**
 * Leave, when all others do. Rank 0 tells the others how all ended; they wait for that.
 *
 * @param ranks        may be NULL
 * @param[in,out] code an exit code: rank 0's, which the other ranks are given
 */
SALTUS_API void saltus_ranks_close(saltus_ranks *ranks, int *code);

/**
 * Count them.
 *
 * @param ranks may be NULL
 * @return their number; 1 for NULL
 */
SALTUS_API int saltus_ranks_count(const saltus_ranks *ranks);
/**
 * Tell which one this process is.
 *
 * @param ranks may be NULL
 * @return 0 for the one that leads, and for NULL
 */
SALTUS_API int saltus_ranks_number(const saltus_ranks *ranks);
/**
 * Tell how many cores this rank may use, so that ranks of one host share its cores.
 *
 * @param ranks may be NULL
 * @return at least 1; 0 for NULL
 */
SALTUS_API int saltus_ranks_cores(const saltus_ranks *ranks);
/**
 * Tell which GPU this rank is to use, so that ranks of one host share its GPUs.
 *
 * @param ranks    may be NULL: the device stays as it is
 * @param device   what all ranks are given: "cuda" or "cuda:0,1"; anything else stays as it is
 * @param[out] out the device of this rank
 * @param size     of `out`, 40 bytes at least
 */
SALTUS_API void saltus_ranks_device(const saltus_ranks *ranks, const char *device, char *out,
                                    size_t size);

/**
 * Give files to all ranks: rank 0 sends an archive, and the others get it, sealed.
 *
 * @param ranks           that are open
 * @param[in,out] archive of rank 0; of another rank, to be freed with saltus_archive_destroy
 * @param err             see saltus_error
 * @retval SALTUS_OK          sent, or received
 * @retval SALTUS_E_CANCELLED rank 0 is leaving
 * @retval SALTUS_E_NO_MEMORY memory ran out
 */
SALTUS_API SALTUS_MUST_CHECK saltus_status saltus_ranks_share(saltus_ranks *ranks,
                                                              saltus_archive **archive,
                                                              saltus_error *err);

/**
 * Tell rank 0 that this rank cannot go on: the run that it is waiting with ends with this failure.
 *
 * @param ranks may be NULL
 * @param err   what has failed
 */
SALTUS_API void saltus_ranks_fail(saltus_ranks *ranks, const saltus_error *err);

#ifdef __cplusplus
}
#endif

#endif
