/** A run's or a sweep's results in memory, while they are filled and once they are whole. */
#ifndef SALTUS_WRITE_MEMORY_MEMORY_H
#define SALTUS_WRITE_MEMORY_MEMORY_H

#include "saltus/saltus.h"

#include "core/handle.h"
#include "sweep/collect.h"
#include "write/expected.h"

/* One point while it is simulated. */
typedef struct saltus_memory_part {
    saltus_sink sink;
    saltus_memory *memory;
    saltus_collector *collector;
    int64_t point, n;                  /* trajectories so far */
    int64_t n_ordered, events_ordered; /* of blocks before the first gap */
} saltus_memory_part;

struct saltus_memory {
    saltus_handle handle;
    saltus_sweep_sink sweep_sink;
    saltus_memory_part *run; /* NULL: it is a sweep */
    saltus_expected expected;
    bool keeps_all, has_statistics;
    int64_t n_points, n_runs, first, delivered; /* first trajectory; points */
    int n_columns;
    saltus_derived derived;
    saltus_collection what;
    saltus_reduction reduction;
    saltus_histogram bins; /* one cell, for its edges */
    double *times;
    saltus_memory_view view; /* of all that there is room for; its arrays are owned */
};

/** What is made of all trajectories of a point, as it stands, into the arrays of all. */
void saltus_memory_make(const saltus_memory_part *p);

#endif
