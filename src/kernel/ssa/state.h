/** The state of one trajectory: plain data, whatever the number of lanes. */
#ifndef SALTUS_KERNEL_SSA_STATE_H
#define SALTUS_KERNEL_SSA_STATE_H

#include "kernel/base/tables.h"

/** Why a trajectory could not go on. */
typedef enum saltus_failure {
    SALTUS_FINE = 0,
    SALTUS_STOPPED,        /* by request */
    SALTUS_NEGATIVE_COUNT, /* culprit: reaction */
    SALTUS_COUNT_OVERFLOW, /* culprit: reaction */
    SALTUS_BAD_PROPENSITY, /* culprit: reaction; value */
    SALTUS_NO_BOUND,       /* culprit: reaction; its law has no finite bound, however soon after */
    SALTUS_ABOVE_BOUND,    /* culprit: reaction; value; a law is above its bound: a defect here */
    SALTUS_BAD_TOTAL,      /* propensities sum to more than a double holds */
    SALTUS_BAD_ASSIGNMENT, /* culprit: setting; value */
    SALTUS_BAD_DELAY,      /* culprit: trigger; value */
    SALTUS_EVENT_STORM,    /* culprit: trigger; value; events trigger each other for ever */
    SALTUS_BAD_DURATION,   /* culprit: reaction; value */
    SALTUS_BAD_END,        /* culprit: reaction that ends with too few reactants */
    SALTUS_BAD_VARIATE,    /* culprit: variate * 8 + argument, of value; or variates.h's NOTHING */
    SALTUS_ABOVE_CLASSES,  /* culprit: species; more molecules than classes hold; hubs.h */
    SALTUS_OUT_OF_MEMORY,
    SALTUS_NO_STEP,    /* culprit: component; value; errors drive the step to nothing */
    SALTUS_NOT_FINITE, /* culprit: component; value or rate of change */
} saltus_failure;

/* More executions than this at one instant are taken for a circle of events. */
enum { SALTUS_MAX_CASCADE = 100000 };

/* The length of a trajectory's first window, in the unit of time; it adapts. */
#define SALTUS_FIRST_WINDOW 1.0
/* Windows in which laws that drift with time are bounded; thinned.h. */
enum {
    SALTUS_WINDOW_HALVINGS = 60, /* of one window, until its laws are given up */
    /* So many candidates that did not fire end a window, and the next is half as long. To begin a
     * window costs about as much as two of them, and they grow with the square of its length, so it
     * is right where there are about two. */
    SALTUS_WINDOW_MISSES = 4,
};

/** What the upper end of a law's interval tells. */
typedef enum saltus_bounded {
    SALTUS_BOUNDED = 0,
    SALTUS_UNBOUNDED = 1,      /* it has no finite bound in the window */
    SALTUS_BOUNDED_BELOW_0 = 2 /* it is no propensity */
} saltus_bounded;

SALTUS_FN saltus_bounded saltus_bounded_by(double most)
{
    return !(most < SALTUS_INFINITY) ? SALTUS_UNBOUNDED
           : most < 0.0              ? SALTUS_BOUNDED_BELOW_0
                                     : SALTUS_BOUNDED;
}

/** Whether value `a` of a law with such a bound is none of a propensity, beyond what rounding makes
 * of 0. Where the bound is 0 it may be at a pole, 0 / 0, for that moment. */
SALTUS_FN int saltus_is_no_propensity(double a, double bound)
{
    return a < -1e-9 * bound || (a != a && bound > 0.0);
}

/** An event that has been triggered and waits for its time. */
typedef struct saltus_pending {
    double time;
    int32_t trigger;
} saltus_pending;

/** A reaction that has begun and takes a while. */
typedef struct saltus_unfinished {
    double time;     /* of its end */
    uint64_t number; /* among those that have begun */
    int64_t which;   /* of the delayed reactions */
} saltus_unfinished;

/* 1: the kernel is that of method ode, whose counts are real. */
#ifndef SALTUS_MEAN
#define SALTUS_MEAN 0
#endif

#if !SALTUS_DEVICE
/* How far a thread has come with what it simulates, for progress. It is written now and then by
 * that thread alone, and read at any time. */
typedef struct saltus_reached {
    double t;         /* time that its unfinished trajectories have reached, summed */
    uint64_t fired;   /* reactions in them */
    uint64_t written; /* how often these were: more where nothing fires, too */
} saltus_reached;

static inline void saltus_reached_store(saltus_reached *reached, double t, uint64_t fired)
{
    if (reached) {
        __atomic_store(&reached->t, &t, __ATOMIC_RELAXED);
        __atomic_store_n(&reached->fired, fired, __ATOMIC_RELAXED);
        __atomic_store_n(&reached->written, reached->written + 1, __ATOMIC_RELAXED);
    }
}
#define SALTUS_TRAJECTORY_PROGRESS(p) saltus_reached_store((p)->reached, (p)->t, (p)->fired)
#define SALTUS_COUNTS_ARE_REAL(p) ((p)->amounts != 0)
#else
#define SALTUS_TRAJECTORY_PROGRESS(p) ((void)0)
#define SALTUS_COUNTS_ARE_REAL(p) SALTUS_MEAN
#endif

/** What continuous variables carry from step to step; kernel/ode. */
typedef struct saltus_ode_carried {
    double step;      /* size of the next step by the error of those before; 0: there was none */
    double hazard;    /* integral of the propensities since the last event */
    double below;     /* that of propensities below 0, as a positive number */
    double largest;   /* amount that there was, at the starts of steps by method ode */
    int32_t is_stiff; /* the method for stiff systems is in use */
    int32_t n_stiff, n_smooth; /* steps that looked stiff, and those since that did not */
    int32_t n_stalled;         /* turns of triggers in a row at one instant */
} saltus_ode_carried;

/* On a device it ends before `reached`; else it is the same on both sides, and the host reads and
 * writes a device's. */
typedef struct saltus_trajectory {
    const saltus_tables *n;
    const saltus_columns *columns;
    const double *point; /* on a device, its row of numbers; the host has them in the tables */
    saltus_point at;     /* where each number is in that row */
    uint64_t seed, trajectory;
    uint64_t event;              /* number of the next event: of the next wait and choice */
    uint64_t fired;              /* reactions so far */
    uint64_t limit;              /* stop soon after so many reactions */
    uint64_t ties;               /* draws among events so far */
    uint64_t drawn;              /* variates of values so far */
    uint64_t block;              /* tau-leaping: number of the next block of random words; of
                                    continuous variables: steps so far */
    uint64_t leaps, exact_steps; /* leaps and exact steps so far */
    int32_t exact; /* exact steps to come before the next leap; below 0: leaps that did not pay */
    double t;      /* present time */
    int32_t after; /* clocks that change just after t have done so */
    int32_t special_strict;
    double special;   /* next time at which a clock changes or a pending event is due; +inf */
    int64_t sample;   /* number of the next sample */
    int64_t *x;       /* [species] */
    double *v;        /* [row] */
    uint8_t *on;      /* [trigger] its last value */
    uint8_t *rounded; /* [setting] a value was not whole and was rounded */
    saltus_pending *pending;
    double *pending_values; /* [pending][settings of the largest event] */
    int32_t n_pending, pending_capacity;
    /* Allocate memory for one more pending event; 0: there is none. */
    int (*make_room)(struct saltus_trajectory *trajectory);
    /* Of laws that drift with time (thinned.h): the length of the next window, the present window,
     * whose end is -1 where there is none, and how many candidates in it did not fire. */
    double window, window_start, window_end;
    uint32_t window_missed;
    int64_t *least, *most; /* [species] of a network with hubs: bounds of counts (hubs.h), */
    int32_t has_bounds;    /* 0: they are to be made */
    saltus_failure failure;
    int32_t culprit;
    double bad_value;
    saltus_ode_carried carried;
#if !SALTUS_DEVICE
    saltus_reached *reached;       /* NULL: progress is not wanted */
    saltus_unfinished *unfinished; /* a heap: ssa/delayed.h */
    int64_t n_unfinished, unfinished_capacity;
    uint64_t n_begun;
    /* Allocate memory for one more; 0: there is none. */
    int (*make_queue_room)(struct saltus_trajectory *trajectory);
    const double *amounts; /* [species] at time 0, of method ode, where counts are real and stand
                              in the rows alone; else NULL */
#endif
} saltus_trajectory;

/* Unit waits and choice words of consecutive events of one trajectory, drawn many at a time. */
enum { SALTUS_BATCH_BLOCKS = SALTUS_DEVICE ? 1 : 32 };
typedef struct saltus_draws {
    uint64_t first_block;
    int32_t valid;
    double wait[2][SALTUS_BATCH_BLOCKS]; /* [half][block]; -1: the word was 0 */
    double word[2][SALTUS_BATCH_BLOCKS];
} saltus_draws;

/* Beyond the paper, a leap takes at most this times epsilon of the time in which the losses of the
 * species that a reaction changes, together, would exhaust them: where gains and losses balance,
 * the paper's bounds allow steps over which an explicit leap overshoots. Of a state that relaxes by
 * a share h in a step the variance is 1 - h^2 / 4 of what it should be: at epsilon 0.03 a standard
 * deviation is 1.3 % too small at most. */
#define SALTUS_RELAXED 10.0

/* In a leap a state relaxes by this share at most where laws bend: a third of what it may by
 * losses, as jumps would let it go far beyond. */
#define SALTUS_BEND_RELAXED (1.0 / 3.0)
#define SALTUS_BEND_MOST 0.1

/* Of what follows counts, but bends, a leap looks so many standard deviations to both sides, at all
 * of them, a half and a quarter. There a law changes by this share of itself, or makes this many
 * firings more or fewer. */
#define SALTUS_BEND_DEVIATIONS 2.0
#define SALTUS_WAVER_SIDE 1.75 /* of these, for triggers, */
#define SALTUS_WAVER_LOOKS 8   /* and then as for laws */
#define SALTUS_BEND_CHANGE 0.25
#define SALTUS_BEND_LOOKS 6
#define SALTUS_BEND_FIRINGS 0.25

/* In a leap a law that drifts changes by this share of it times epsilon, at most. Its mean over the
 * leap is taken by Simpson's rule, so that what this bounds is the choice of the leap's length, and
 * a twelfth of its product with what the counts change by is the error. */
#define SALTUS_STEADY_SHARE 8.0

/** How tau-leaping chooses its steps; Cao, Gillespie, Petzold 2006. */
typedef struct saltus_tau {
    double epsilon;     /* a propensity may change by this share in a leap; in (0, 1) */
    int32_t n_critical; /* a reaction of which fewer firings exhaust or double a species is */
    int32_t n_exact;    /* exact steps where leaps do not pay */
} saltus_tau;

enum {
    SALTUS_SHORT_LEAP = 10, /* mean waits: a shorter leap does not pay */
    /* Nor do leaps that a candidate of critical reactions ends before so many firings: after this
     * many in a row there are exact steps, and after these one such leap is enough for more. */
    SALTUS_POOR_LEAPS = 6,
};

/* Blocks of random words of one trajectory, drawn many at a time. */
enum { SALTUS_WORD_BLOCKS = 32 };
typedef struct saltus_words {
    uint64_t first_block;
    int32_t valid;
    uint32_t w[4][SALTUS_WORD_BLOCKS];
} saltus_words;

/** What tau-leaping adds to a trajectory, beside what the direct method does. */
typedef struct saltus_leap {
    saltus_tau tau;
    /* [species] mean and variance of its change per time; when the mean has been used, its loss
     * over its bound, per time. */
    double *drift, *spread;
    double *trend; /* [species] that mean, where some law may bend */
    double *sway;  /* [row of directions][species] variance of what moves the laws there, signed */
    double *peak, *trough; /* [bending] as much, and as little, as the law may be in the leap */
    double *first;         /* [bending] firings in the first half of a leap */
    int64_t *change;       /* [species] change by a leap */
    double *second;        /* [reaction] firings that are drawn for the second half of a leap */
    double fired;          /* firings of all reactions in a leap */
    uint8_t *critical;     /* [reaction] */
    uint8_t *holds;        /* [wavering] whether it holds where the leap begins */
#if !SALTUS_DEVICE
    saltus_words words;
    void (*fill)(uint64_t seed, uint64_t trajectory, uint32_t *stream, saltus_words *words);
#endif
} saltus_leap;

/** What the direct method adds to a trajectory. */
typedef struct saltus_direct {
    double *values;    /* propensities, then nodes: see tables.h */
    double *sums;      /* [node][child] running sums of the children */
    double *intervals; /* [slot][2] of programs on intervals */
    double *lower;     /* [thinned] lower bound of a law in the window */
    /* In a network with hubs, where values are those of its tree: [weight] sums of classes and
     * blocks over upper bounds, and nodes that are to be summed: whether one is, and in which
     * order.
     */
    int64_t *weights;
    uint16_t *marks; /* of a type that nothing else has: stores to it change no table */
    int32_t *queue;
    saltus_draws draws;
    uint32_t *stream; /* state of the main stream (stream.h), which stands behind the draws */
    void (*draw)(uint64_t seed, uint64_t trajectory, uint32_t *stream, saltus_draws *draws);
} saltus_direct;

/** When the method for stiff systems is used. */
typedef enum saltus_stiffness {
    SALTUS_STIFF_AUTO, /* from the step on at which the trajectory has looked stiff for a while */
    SALTUS_STIFF_NEVER,
    SALTUS_STIFF_ALWAYS,
} saltus_stiffness;

/** How continuous variables are integrated. */
typedef struct saltus_tolerance {
    double rtol;       /* of a step, relative to the value; in (0, 1) */
    double atol;       /* and absolute, in the variable's own unit; above 0 */
    int32_t stiff;     /* a saltus_stiffness */
    double continuous; /* of method hybrid: molecules from which on a species is continuous */
} saltus_tolerance;

/* More components than this have no dense Jacobian in memory: they are taken for stiff where a
 * solver (ode/solver.h) goes on with them, and else never. */
enum { SALTUS_MOST_STIFF = 1000 };

/* Of more components than this a stiff system goes on by the solver, where there is one: a step of
 * Rodas costs the cube of them. A GPU has no solver, so that it integrates up to as many: its bits
 * are then those of a CPU. */
enum { SALTUS_MOST_DENSE = 200 };

/* Method hybrid has matrices for so many components, at most. */
enum { SALTUS_MOST_NOISY = 300 };

/**
 * The integrator. Its components are variables with a rate rule, and behind them the hazard that
 * has been integrated since the last event; when counts are real (method ode), all species and
 * behind them the variables with a rate rule; or (method hybrid) some species, these variables and
 * the hazard. Between steps the values of components stand in the
 * trajectory's rows, and all else that matters in `carried`.
 */
typedef struct saltus_ode {
    saltus_tolerance wanted;
    int32_t n;            /* components */
    int32_t is_mean;      /* counts are real, and change by all propensities */
    int32_t may_be_stiff; /* there is memory for a Jacobian */
    /* Of the present step. */
    int32_t is_fresh;    /* k[0] is the slope at its start */
    int32_t is_cut;      /* something else than its error made it short */
    int32_t is_rejected; /* a longer one was tried */
    int32_t was_stiff;   /* it was taken by the method for stiff systems */
    int32_t worst;       /* component that drove it to nothing, or -1 */
    int32_t n_amounts;   /* components before this are amounts, */
    double of_amounts;   /* and this is their absolute tolerance */
    int32_t lowest;      /* law that was below 0 in the last slope, */
    double negative;     /* and the sum of those, as a positive number */
    double still;        /* sum of the propensities that do not move */
    double size;
    double target, word; /* the hazard of the next event, and the word of its choice */
    double theta;        /* share of the step after which something ends it: */
    int32_t fires;       /* a reaction, */
    int32_t turns;       /* or a trigger */
#ifdef SALTUS_ODE_SIZE   /* in the thread: base/target.h */
    double y[SALTUS_ODE_SIZE], z[SALTUS_ODE_SIZE], w[SALTUS_ODE_SIZE], k[7 * SALTUS_ODE_SIZE];
    double dense[5 * SALTUS_ODE_SIZE], derivative[SALTUS_ODE_SIZE];
    double laws[SALTUS_N_MOVING + 1]; /* propensities that move, at the last slope */
    double held[SALTUS_N_HELD + 1];   /* what they and rates read and no step changes */
#else
    double *y, *z, *w;  /* [component] at the start, at the end, at a stage */
    double *k;          /* [7][component] slopes of stages */
    double *dense;      /* [5][component] the step as a polynomial */
    double *derivative; /* [component] of the slope with respect to time */
#endif
    double *jacobian; /* [component][component], then its factors */
    int32_t *pivot;   /* [component] */
    double *root;     /* [3][root] of triggers at the last three points looked at */
    double *piece;    /* [kink] the piece at the start of the step */
    double from;      /* stages are at no earlier time */
    double until;     /* the first time of the next piece, if that ends the step, or infinity */
    double before;    /* the last time of this one: stages are at no later time */
#if !SALTUS_DEVICE
    struct saltus_hybrid *hybrid;     /* method hybrid: ode/split.h; else NULL */
    struct saltus_ode_solver *solver; /* of large stiff systems: ode/solver.h; else NULL */
    int32_t was_solved;               /* the step was taken by it */
#endif
} saltus_ode;

#define SALTUS_ODE_IS_MEAN(o) (SALTUS_DEVICE ? SALTUS_MEAN : (o)->is_mean)
/* Whether a reaction ends the step; the mean field has none that does. */
#define SALTUS_ODE_FIRES(o) (!(SALTUS_DEVICE && SALTUS_MEAN) && (o)->fires)

/** How many components there are by method direct, or by method ode. */
SALTUS_FN int32_t saltus_ode_components(const saltus_tables *t, int is_mean)
{
    return t->n_rates + (is_mean ? t->n_species : 1);
}

/* The arrays of a trajectory, above, of tau-leaping and of the integrator: X(type of an element,
 * the part of the state that has it, name, how many elements), where `t` are the network's tables.
 * The members of a launch, the memory of the scalar engine and of a GPU's threads, and the
 * addresses in a thread are made from these lists, so that a new array is a member above and a line
 * here. */
/* clang-format off */
#define SALTUS_TRAJECTORY_ARRAYS(X)                                                                \
    X(double, trajectory, v, t->n_rows)                                                            \
    X(double, direct, values, (int64_t)t->n_leaves + t->level_first[t->n_levels])                  \
    X(double, direct, sums, (int64_t)t->level_first[t->n_levels] * SALTUS_FANOUT)                  \
    X(double, direct, intervals, 2 * (int64_t)t->n_intervals)                                      \
    X(double, direct, lower, t->n_thinned)                                                         \
    X(int64_t, trajectory, least, t->n_hubs > 0 ? t->n_species : 0)                                \
    X(int64_t, trajectory, most, t->n_hubs > 0 ? t->n_species : 0)                                 \
    X(int64_t, direct, weights, t->n_weights)                                                      \
    X(uint16_t, direct, marks, t->n_hubs > 0 ? t->hub_first[t->n_hub_levels] : 0)                  \
    X(int32_t, direct, queue, t->n_hubs > 0 ? t->hub_first[t->n_hub_levels] : 0)                   \
    X(uint8_t, trajectory, on, t->n_triggers)                                                      \
    X(uint8_t, trajectory, rounded, t->n_settings)
#define SALTUS_LEAP_ARRAYS(X)                                                                      \
    X(double, leap, drift, t->n_species)                                                           \
    X(double, leap, spread, t->n_species)                                                          \
    X(double, leap, trend, t->n_bends > 0 ? t->n_species : 0)                                      \
    X(double, leap, sway, (int64_t)t->n_bends * t->n_species)                                      \
    X(double, leap, peak, t->n_bending)                                                            \
    X(double, leap, trough, t->n_bending)                                                          \
    X(double, leap, first, t->n_bending)                                                           \
    X(int64_t, leap, change, t->n_species)                                                         \
    X(double, leap, second, t->n_reactions)                                                        \
    X(uint8_t, leap, critical, t->n_reactions)                                                     \
    X(uint8_t, leap, holds, t->n_wavering)
/* of n components; those of a step first */
#define SALTUS_ODE_STEP_ARRAYS(X)                                                                  \
    X(double, ode, y, n)                                                                           \
    X(double, ode, z, n)                                                                           \
    X(double, ode, w, n)                                                                           \
    X(double, ode, k, 7 * n)                                                                       \
    X(double, ode, dense, 5 * n)                                                                   \
    X(double, ode, derivative, n)
#define SALTUS_ODE_OTHER_ARRAYS(X)                                                                 \
    X(double, ode, jacobian, n <= SALTUS_MOST_STIFF ? n * n : 0)                                   \
    X(int32_t, ode, pivot, n)                                                                      \
    X(double, ode, root, 3 * (int64_t)t->n_roots)                                                  \
    X(double, ode, piece, t->n_kinks)
#define SALTUS_ODE_ARRAYS(X)                                                                       \
    SALTUS_ODE_STEP_ARRAYS(X)                                                                      \
    SALTUS_ODE_OTHER_ARRAYS(X)
/* clang-format on */

#endif
