/**
 * The trajectories of a run, cut into blocks of consecutive numbers that stand in a ring of bounded
 * size. Who uses it holds the run's lock, unless a function says otherwise.
 */
#ifndef SALTUS_ENSEMBLE_BLOCKS_H
#define SALTUS_ENSEMBLE_BLOCKS_H

#include "ensemble/checkpoint.h"
#include "ensemble/plan.h"
#include "ensemble/reduction.h"
#include "kernel/base/derive.h"

/** A run's trajectories may fall into points, which have numbers of their own. */
typedef struct saltus_run_points {
    int64_t n_each;     /**< trajectories of a point, one after the other */
    int64_t apart;      /**< numbers between those of a point and the next; 0: all have the same */
    int64_t size;       /**< of a row */
    const double *rows; /**< [point][size], model/freeze/point.h */
    const uint8_t *varies; /**< [size] whether it is not the same at all points */
    const double *largest; /**< [size] of all points */
    bool together;         /**< blocks that go over the ends of points are delivered as they are;
                                else as one block for each point */
    int64_t failed;        /**< out: the point at which a trajectory failed, or -1 */
} saltus_run_points;

/** saltus_run over points: options->n_trajectories is that of all. A block that is reduced is of
 * one point, others go on over the ends of points. The plan is one of any point, and its backend
 * takes points. */
SALTUS_MUST_CHECK saltus_status saltus_run_at_points(const saltus_plan *plan,
                                                     const saltus_run_options *options,
                                                     saltus_run_points *points,
                                                     const saltus_sink *sink,
                                                     saltus_run_report *report, saltus_error *err);

/** Memory for one block. The one that was freed last is used next, while the caches still hold it.
 */
typedef struct saltus_buffer {
    int64_t *trajectories, *counts;
    int64_t *splits[SALTUS_N_SPLITS];
    double *observables, *derived;
    bool *is_finished;     /**< [trajectory] */
    saltus_tally *tallies; /**< [trajectory] of a finished one; NULL: nobody asks for it */
    struct saltus_buffer *next_free;
} saltus_buffer;

/** A block on its way. */
typedef struct saltus_filling {
    int64_t first, n;   /**< trajectories, counted from the first of the run */
    int64_t n_left;     /**< not finished yet */
    saltus_tally tally; /**< of the finished ones */
    bool is_open;       /**< handed out, not delivered */
    bool is_ready;      /**< prepared */
    void *prepared;
    saltus_buffer *memory;
    saltus_reduced *reduced; /**< NULL when the samples themselves are wanted */
} saltus_filling;

/** Trajectories of a block that a worker has taken. */
typedef struct saltus_piece {
    saltus_filling *block;
    int64_t first; /**< place in the block */
    int n;         /**< 0: none */
} saltus_piece;

typedef struct saltus_blocks {
    const saltus_plan *plan;
    int64_t n_workers; /**< that take trajectories, of all ranks */
    const saltus_run_options *options;
    const saltus_run_points *points;     /**< NULL: there is one */
    const saltus_reduction *reduction;   /**< NULL: blocks hold samples */
    const saltus_derivation *derivation; /**< NULL, or what the backend derives */
    int64_t largest;                     /**< trajectories of a block, at most */
    int64_t n_ring;
    int64_t n_points;                      /**< of which a block has samples */
    int64_t counts_size, observables_size; /**< numbers per trajectory */
    int64_t splits_size[SALTUS_N_SPLITS];
    saltus_filling *ring;
    saltus_buffer *free_buffers;
    int64_t next;                /**< trajectory to hand out next */
    int64_t n_opened, delivered; /**< blocks */
} saltus_blocks;

/** Choose sizes for a run into a sink. If the sink needs no samples and the plan's backend can
 * reduce them, blocks are what a worker takes at a time. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_blocks_init(saltus_blocks *b, const saltus_plan *plan,
                                                   int64_t n_workers,
                                                   const saltus_run_options *options,
                                                   const saltus_run_points *points,
                                                   const saltus_sink *sink, saltus_error *err);
void saltus_blocks_free(saltus_blocks *b);

/** Whether another block must be opened before the next trajectory is handed out. */
bool saltus_blocks_need_one(const saltus_blocks *b);
bool saltus_blocks_are_full(const saltus_blocks *b);
/** Open the next block, for a worker that takes up to max trajectories. SALTUS_E_NO_MEMORY. */
SALTUS_MUST_CHECK saltus_status saltus_blocks_open(saltus_blocks *b, int max, saltus_error *err);
/** The next trajectories of the block that was opened last, max at most. */
saltus_piece saltus_blocks_reserve(saltus_blocks *b, int max);
/** Write their tickets[piece->n]; needs no lock, as little as the job of one. */
void saltus_blocks_write_tickets(const saltus_blocks *b, const saltus_piece *piece,
                                 saltus_ticket *tickets);
saltus_job saltus_blocks_job(const saltus_blocks *b, const saltus_ticket *ticket);
/** The oldest block that is not delivered. */
saltus_filling *saltus_blocks_oldest(const saltus_blocks *b);
/** It was delivered. */
void saltus_blocks_close_oldest(saltus_blocks *b);

/** A job of a block is finished, and adds to a tally. */
void saltus_filling_note(const saltus_job *job, saltus_tally *tally);
/** Those tickets of a block that are marked are reduced; returns their number. Needs no lock, since
 * one worker has taken the block whole. */
int64_t saltus_filling_note_reduced(const saltus_ticket *tickets, int n);
/** So many jobs were noted, with this tally; returns whether they were the last ones. */
bool saltus_filling_count(saltus_filling *f, int64_t n, const saltus_tally *tally);
/** Keep the finished trajectories of all blocks that are not delivered. */
void saltus_blocks_keep_ended(const saltus_blocks *b, saltus_checkpoint *checkpoint);
/** Move the finished trajectories of a block together; returns their number. Of a block that goes
 * over the ends of points those in front of the first that is missing are kept. */
int64_t saltus_blocks_keep_finished(const saltus_blocks *b, saltus_filling *f);
/** As a sink sees it; needs no lock. */
saltus_block saltus_blocks_view(const saltus_blocks *b, const saltus_filling *f);
/** Of a block that goes over the ends of points, its trajectories from number i on that are of the
 * same point. */
saltus_block saltus_blocks_view_point(const saltus_blocks *b, const saltus_filling *f, int64_t i);

#endif
