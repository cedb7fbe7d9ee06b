/** The table of a checkpoint as bytes, and the file that holds them: packed, with checksums, and
 * put in place at once. */
#ifndef SALTUS_ENSEMBLE_CHECKPOINT_FILE_H
#define SALTUS_ENSEMBLE_CHECKPOINT_FILE_H

#include "core/pack.h"
#include "ensemble/checkpoint.h"

typedef struct saltus_kept_table {
    saltus_row_sizes sizes;
    int64_t n_times;
    saltus_kept *
        *kept; /**< [capacity] hashed by trajectory, with gaps; each is one piece of memory */
    size_t n, capacity; /**< the latter 0 or a power of 2 */
    int64_t n_had;      /**< trajectories that a sink has had which keeps nothing itself, */
    unsigned char *had; /**< [had_size] and what it makes of them, saltus_sink.store; or NULL */
    size_t had_size;
} saltus_kept_table;

/** With room for the samples, zeros, and a state of so many bytes; NULL: memory ran out. To be
 * freed with saltus_free. */
saltus_kept *saltus_kept_create(const saltus_row_sizes *sizes, int64_t n_samples, size_t size);
/** Put it in its place; what was kept of the same trajectory is freed. false: memory ran out. */
bool saltus_kept_put(saltus_kept_table *table, saltus_kept *kept);
void saltus_kept_free(saltus_kept_table *table);
/** Append the table, or take it into an empty one. */
void saltus_kept_pack(saltus_packer *k, saltus_kept_table *table);

/** A checkpoint has its name with this behind it until it is whole. */
#define SALTUS_BESIDE ".new"

/** Write a file beside it, force it to the disk, and rename it to `path`. SALTUS_E_IO: the file
 * that was there before still is. */
SALTUS_MUST_CHECK saltus_status saltus_checkpoint_file_write(const char *path,
                                                             const char identity[65],
                                                             const saltus_packer *data,
                                                             saltus_error *err);
/** Read a table; of a file that is not there, or with `fresh`, it is empty. What cannot be used is
 * told in `trouble`. SALTUS_E_IO: what is there is no checkpoint. */
SALTUS_MUST_CHECK saltus_status saltus_checkpoint_file_read(const char *path,
                                                            const char identity[65], bool fresh,
                                                            saltus_kept_table *table, char *trouble,
                                                            size_t size, saltus_error *err);

#endif
