/** A result file while it is written. */
#ifndef SALTUS_WRITE_HDF5_SINK_H
#define SALTUS_WRITE_HDF5_SINK_H

#include "core/status.h"
#include "model/lattice/lattice.h"
#include "sweep/sweep.h"
#include "write/hdf5/disk.h"
#include "write/hdf5/reserve.h"
#include "write/identity.h"

/** All that a result file says about a run. Strings and arrays are copied by the sink. */
typedef struct saltus_hdf5_layout {
    const char *model_name, *model_sha256;
    const char *time_unit;     /**< NULL: none is known */
    const char *volumes;       /**< what saltus_print_volumes says, or NULL */
    double molecules_per_mole; /**< 0: nothing to say */
    const char *method, *device, *layout, *rng;
    uint64_t seed;
    int64_t first_trajectory, n_trajectories; /**< of a sweep: at each point */
    const saltus_sweep *sweep;                /**< NULL: a run */
    bool common_random_numbers;
    int64_t first_point, n_swept; /**< of a part of a sweep: the points in its file; n_swept is 0
                                       when it has all, */
    int64_t first_run;            /**< and the number of the first run at each */
    const double *times;          /**< [n_points] */
    int64_t n_points;
    int n_counts, n_observables;
    const char *const *count_names;
    const char *const *observable_names;
    const saltus_lattice *lattice; /**< NULL, or where the species are: size, spacing, faces, types
                                        and their names are looked at while the file is created */
    int n_parts[SALTUS_N_SPLITS];  /**< as in blocks */
    int axis;                      /**< of planes */
    const double *frame_times;     /**< [n_frames] likewise */
    int64_t n_frames;
    const struct saltus_derived *derived; /**< of options.derive; copied */
    saltus_hdf5_options options;
    const struct saltus_identity *identity; /**< NULL: the file cannot go on; looked at while it is
                                                 created, like the sources */
    const char *sources;                    /**< an archive, packed */
    size_t sources_size, state_bytes;       /**< the latter set by the sink */
    int64_t n_done;                         /**< rows in a file that is extended; negative: any */
    const saltus_plan *plan;                /**< NULL: any run may come, else this plan's */
    const saltus_run_options *run;          /**< with these options; looked at likewise */
    bool has_no_readers;         /**< a file that is merged has another name until it is whole */
    saltus_reserve_mode reserve; /**< other than SALTUS_RESERVE_AHEAD in tests */
    int64_t chunk_bytes;         /**< raw size of a chunk aimed at; 0 for the default */
    double disk_free;            /**< bytes; 0 to ask the disk, as all but tests do */
    double flush_seconds;        /**< between two flushes; 0 for the usual, but in tests */
} saltus_hdf5_layout;

/** What the file will take, times excepted. */
struct saltus_disk_need saltus_hdf5_need(const saltus_hdf5_layout *layout);

/** saltus_hdf5_sink_open without a plan. */
SALTUS_MUST_CHECK saltus_status saltus_hdf5_sink_create(const char *path,
                                                        const saltus_hdf5_layout *layout,
                                                        saltus_hdf5_sink **out, saltus_error *err);
/** saltus_sweep_file_open without a plan. */
SALTUS_MUST_CHECK saltus_status saltus_sweep_file_create(const char *path,
                                                         const saltus_hdf5_layout *layout,
                                                         saltus_sweep_file **out,
                                                         saltus_error *err);

#endif
