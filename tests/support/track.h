/** For tests: the samples of one trajectory, by name. Fails the test when something goes wrong. */
#ifndef SALTUS_TESTS_TRACK_H
#define SALTUS_TESTS_TRACK_H

#include "saltus/saltus.h"

enum { TRACK_POINTS = 32 };

typedef struct track {
    saltus_model *model;
    saltus_backend *backend;
    saltus_plan *plan;
    double times[TRACK_POINTS];
    int n_points;
    int64_t *counts;     /**< [point][count] */
    double *observables; /**< [point][observable] */
    int n_warnings;      /**< of the run, not of freezing */
    char warning[600];   /**< the last of them */
} track;

/** Run one trajectory of a YAML model and sample it at these times. */
track *track_at(const char *text, const double *times, int n);
/** The same at 0, 1, 2 … n - 1. */
track *track_steps(const char *text, int n);
/** The same for trajectory number `trajectory`. */
track *track_one(const char *text, int64_t trajectory, const double *times, int n);
void track_free(track *t);

/** Value of a species, rule target or parameter at a point. */
double track_value(const track *t, const char *name, int point);

/** Fail, naming `line`, unless the column has these values at the first n points. */
void track_expect(const track *t, const char *name, const double *expected, int n, int line);

/** The first values of a column. */
#define EXPECT(t, name, ...)                             \
    track_expect(t, name, (const double[]){__VA_ARGS__}, \
                 (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)), __LINE__)

/** Run a model, check one column at 0, 1, 2 … */
#define CHECK(text, name, ...)                                                                \
    do {                                                                                      \
        track *t_ =                                                                           \
            track_steps(text, (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double))); \
        EXPECT(t_, name, __VA_ARGS__);                                                        \
        track_free(t_);                                                                       \
    } while (0)

/** A run that fails with this status and message. */
void check_run_fails(const char *text, double t_end, saltus_status status, const char *message);

#endif
