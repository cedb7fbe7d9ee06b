/** Jobs as a rank has them that simulates for rank 0: what comes in one message is a lot. */
#ifndef SALTUS_RANKS_LOTS_H
#define SALTUS_RANKS_LOTS_H

#include "ranks/ranks.h"

struct saltus_lot;

/** Jobs of one block and point with consecutive numbers. */
typedef struct saltus_range {
    struct saltus_lot *lot;
    int64_t first, n;     /**< trajectories */
    int64_t at;           /**< place of the first in the lot */
    int64_t block, point; /**< names that rank 0 gave them */
    const double *row;
} saltus_range;

typedef struct saltus_lot {
    struct saltus_lot *next, *next_queued;
    int64_t name, n, n_left, n_taken;
    int64_t n_asked; /**< jobs that this answers the wish for */
    saltus_range *ranges;
    int64_t n_ranges, range;   /**< the one to be taken from */
    saltus_kept *kept;         /**< what was kept of some of them, in their order */
    int64_t n_kept, next_kept; /**< the one to be taken next */
    size_t record;             /**< bytes of a job's samples */
    char *memory;              /**< [job][record] */
    saltus_message *message;   /**< which holds the rows, and what was kept */
} saltus_lot;

/** Takes the message in any case. SALTUS_E_NO_MEMORY, SALTUS_E_INTERNAL */
SALTUS_MUST_CHECK saltus_status saltus_lot_read(const saltus_task *task, const saltus_sizes *sizes,
                                                saltus_message *m, saltus_lot **out,
                                                saltus_error *err);
/** The next ticket; there is one. Its `block` is its range, its place that in the lot. */
saltus_ticket saltus_lot_take(saltus_lot *lot);
/** Its job. */
saltus_job saltus_lot_job(const saltus_task *task, const saltus_sizes *sizes,
                          const saltus_ticket *ticket);
/** The samples at a place, whose arrays stand one after the other. */
char *saltus_lot_samples(const saltus_lot *lot, int64_t place);
void saltus_lot_free(saltus_lot *lot);

#endif
