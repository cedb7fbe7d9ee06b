/**
 * The scalar engine: one trajectory at a time, by the functions of kernel/ssa/trajectory.h,
 * direct_tree.h and tau.h, with memory and messages around them. All other ways to simulate a
 * well-mixed model are compared with it; they leave to it what they cannot carry, and each failure,
 * which it finds again and reports.
 */
#ifndef SALTUS_ENGINE_SCALAR_H
#define SALTUS_ENGINE_SCALAR_H

#include "core/pack.h"
#include "engine/task.h"

/* Names of what is compiled once per instruction set, such as saltus_lanes_work_avx2. */
#define SALTUS_SCALAR_JOIN2(name, set) name##_##set
#define SALTUS_SCALAR_JOIN(name, set) SALTUS_SCALAR_JOIN2(name, set)
#define SALTUS_SET_NAME(name) SALTUS_SCALAR_JOIN(name, SALTUS_VARIANT)

enum {
    SALTUS_SCALAR_TURNS = 2,     /**< engines that run in turn, at most */
    SALTUS_SCALAR_ROUNDS = 8192, /**< that they run before they say how far they have come */
};

/** A trajectory with all its memory. There is one per thread, or one per lane. */
typedef struct saltus_scalar_engine {
    saltus_trajectory trajectory;
    saltus_direct direct;
    saltus_leap leap; /**< tau-leaping's state, else empty */
    saltus_ode ode;   /**< of continuous variables, else empty */
    const struct saltus_instruction_set *set;
    const struct saltus_scalar_stream *stream; /**< NULL: Philox, which has no state; else behind
                                                    direct.stream stands a copy, of before the last
                                                    words of leaps were drawn */
    const uint32_t *jumps;
    const double *row;    /**< of the point that it is at; NULL: the task's own numbers */
    saltus_tables tables; /**< those of the task with that row, which uses these */
    int64_t *counts;
    /* Where a solver integrates (ode/cvode.h): the state of the trajectory when its stretch began,
     * from which it can be gone on with, and its samples then. */
    const saltus_task *task;
    saltus_packer beginning;
    int64_t beginning_samples;
} saltus_scalar_engine;

/** What of the engine is compiled for an instruction set: scalar_draws.c and scalar_run.c. */
typedef struct saltus_instruction_set {
    const char *name;
    bool (*runs_here)(void);
    /** Fill a batch of draws of one trajectory from draws->first_block on, by Philox. */
    void (*draw)(uint64_t seed, uint64_t trajectory, uint32_t *stream, saltus_draws *draws);
    /** Fill a batch of blocks of tau-leaping's words from words->first_block on, by Philox. */
    void (*fill)(uint64_t seed, uint64_t trajectory, uint32_t *stream, saltus_words *words);
    /** Run an engine from where it is to the end of its trajectory. */
    saltus_failure (*run)(saltus_scalar_engine *scalar, const saltus_task *task, saltus_job *job);
    /** Run n engines, an event of each in turn, until one has ended or cannot go on; those from
     * n_begun on do not run yet. Returns its number, or, after a while, n: none has. */
    int (*run_in_turn)(saltus_scalar_engine *const *scalars, saltus_job *const *jobs, int n,
                       int n_begun, const saltus_task *task);
} saltus_instruction_set;

/** The widest instruction set that runs here. */
const saltus_instruction_set *saltus_instruction_set_widest(void);

/** A generator whose words come in order: scalar_stream.c, compiled for it. */
typedef struct saltus_scalar_stream {
    void (*start)(uint32_t *stream, uint64_t seed, uint64_t trajectory, const uint32_t *jumps);
    /** Fill a batch of draws with the next blocks. */
    void (*draw)(uint64_t seed, uint64_t trajectory, uint32_t *stream, saltus_draws *draws);
    /** Fill a batch of words with the next blocks, and keep a copy of the state before them behind
     * the state. */
    void (*fill)(uint64_t seed, uint64_t trajectory, uint32_t *stream, saltus_words *words);
    /** Go back to that copy, which stands at this block, and n blocks on from there. */
    void (*go_back)(uint32_t *stream, uint64_t first_block, uint64_t n);
} saltus_scalar_stream;

saltus_status saltus_scalar_create(const saltus_task *task, const saltus_instruction_set *set,
                                   saltus_scalar_engine **out, saltus_error *err);
/** Destroy a scalar engine; what it knows of rounded assignments goes to the task. NULL is allowed.
 */
void saltus_scalar_destroy(saltus_scalar_engine *scalar, const saltus_task *task);

/** Start a job's trajectory at time 0, at its point. */
saltus_failure saltus_scalar_start(saltus_scalar_engine *scalar, const saltus_task *task,
                                   const saltus_job *job);
/** Run a trajectory from where it is to its end; sets job->tally.events. */
saltus_failure saltus_scalar_run(saltus_scalar_engine *scalar, const saltus_task *task,
                                 saltus_job *job);
/** Tell a job whose trajectory has ended, or was stopped, what happened in it. */
void saltus_scalar_count(const saltus_scalar_engine *scalar, saltus_job *job);
/** Run a job from its start, or from what was kept of it. */
saltus_status saltus_scalar_run_job(saltus_scalar_engine *scalar, const saltus_task *task,
                                    saltus_job *job, saltus_error *err);
/** Hand the trajectory, which is between events, to the task's saver. */
void saltus_scalar_keep(saltus_scalar_engine *scalar, const saltus_task *task, saltus_job *job);
/** Note the trajectory, where a stretch of a solver begins: within it, this is what is kept. */
void saltus_scalar_note_beginning(void *scalar);
/** Go to where a job was when it was kept; false: there is nothing of it that can be used, and the
 * trajectory is to be started. */
bool saltus_scalar_take(saltus_scalar_engine *scalar, const saltus_task *task,
                        const saltus_job *job);
saltus_failure saltus_scalar_pass_special(saltus_scalar_engine *scalar);
saltus_failure saltus_scalar_settle(saltus_scalar_engine *scalar);
void saltus_scalar_record(saltus_scalar_engine *scalar, double time, saltus_job *job);
/** Copy the rows, rules excepted, to a lane, v[stride * row]. */
void saltus_scalar_to_lane(const saltus_scalar_engine *scalar, double *v, int stride);
/** Copy the counts from a lane. */
void saltus_scalar_from_lane(saltus_scalar_engine *scalar, const double *v, int stride);
/** Whether a lane can hold the counts exactly; an event may have set any number. */
bool saltus_scalar_fits_lane(const saltus_scalar_engine *scalar);
/** The unit wait of an event whose word is 0. */
double saltus_scalar_wait(const saltus_scalar_engine *scalar, uint64_t event);
/** The reaction that an event chooses, from the running sums of the groups [group][child] and, in
 * sums[SALTUS_FANOUT], of the root. `refined` allows further bits. */
int saltus_scalar_choose(const saltus_scalar_engine *scalar,
                         double sums[SALTUS_FANOUT + 1][SALTUS_FANOUT], int n_levels, double total,
                         double word, uint64_t event, bool refined);

/** Report the failure of a trajectory: trajectory, time, reaction and state, and to the task the
 * row of its point. */
saltus_status saltus_scalar_report(const saltus_scalar_engine *scalar, const saltus_task *task,
                                   saltus_error *err);

/** Run jobs one at a time. */
saltus_status saltus_scalar_work(const saltus_instruction_set *set, const saltus_task *task,
                                 const saltus_source *source, saltus_error *err);

/** Whether a thread is faster with several trajectories in turn: while one waits for memory or for
 * a branch that was not foreseen, the processor is ahead in others. */
bool saltus_scalar_takes_turns(const saltus_task *task);
/** Run jobs, several in turn. */
saltus_status saltus_scalar_work_in_turn(const saltus_instruction_set *set, const saltus_task *task,
                                         const saltus_source *source, saltus_error *err);

#ifdef SALTUS_VARIANT
/* Windows of a lane, backend/cpu/lanes.c; compiled once per instruction set, in scalar_run.c. */
/** Begin a window where the trajectory is, shorter until all laws are bounded. */
saltus_failure SALTUS_SET_NAME(saltus_scalar_open_window)(saltus_scalar_engine *scalar);
/** Intervals of what drifts whatever the counts, ends[drift][end], between two times. The
 * trajectory loses its window. */
void SALTUS_SET_NAME(saltus_scalar_drifts)(saltus_scalar_engine *scalar, double start, double end,
                                           double *ends);
/** One operation on intervals: y[end], from ends[operand][end]. */
void SALTUS_SET_NAME(saltus_scalar_interval)(const saltus_scalar_engine *scalar,
                                             const saltus_instruction *i, double ends[3][2],
                                             double y[2]);
/* One step of a trajectory whose slopes somebody else computes, backend/cpu/rates.c; compiled once
 * per instruction set, in scalar_run.c. */
saltus_failure SALTUS_SET_NAME(saltus_scalar_open_ode)(saltus_scalar_engine *scalar);
bool SALTUS_SET_NAME(saltus_scalar_begin_step)(saltus_scalar_engine *scalar,
                                               const saltus_task *task, saltus_job *job);
saltus_failure SALTUS_SET_NAME(saltus_scalar_aim_step)(saltus_scalar_engine *scalar);
int SALTUS_SET_NAME(saltus_scalar_judge_step)(saltus_scalar_engine *scalar, double error);
bool SALTUS_SET_NAME(saltus_scalar_wants_stages)(const saltus_scalar_engine *scalar,
                                                 const saltus_task *task);
bool SALTUS_SET_NAME(saltus_scalar_end_step)(saltus_scalar_engine *scalar, const saltus_task *task,
                                             saltus_job *job);
bool SALTUS_SET_NAME(saltus_scalar_react)(saltus_scalar_engine *scalar, double end);
/** A reaction has fired in the lane: find the target and the word of the next. */
void SALTUS_SET_NAME(saltus_scalar_pass_event)(saltus_scalar_engine *scalar);
/** Make rules and sums those of counts that come from the lane. A failure is the trajectory's. */
void SALTUS_SET_NAME(saltus_scalar_follow_lane)(saltus_scalar_engine *scalar);
#endif

#endif
