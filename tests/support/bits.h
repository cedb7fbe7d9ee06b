/** For tests of equal bits: models in which everything occurs, and hashes of all their samples. */
#ifndef SALTUS_TESTS_BITS_H
#define SALTUS_TESTS_BITS_H

#include "moments.h"

#include <stdio.h>

/** Models with products of several orders, general laws with every kind of operation, rules,
 * clocks, events with delays, priorities and ties, counts that go to zero; frozen. */
enum { N_BITS_MODELS = 4 };
saltus_model *bits_model(int i);
/** A model whose laws drift with time in every way, with rules and events, as YAML. */
extern const char bits_drifting[];
/** The same, and rate rules that jump and bend in time. */
extern const char bits_bending[];
/** Three groups of eight reactions that are alike, a general law and events. */
extern const char bits_alike[];
/** n independent copies of a dimerising pair: 4 n reactions, to meet every depth of the tree. */
saltus_model *bits_copies(int n);
/** n reactions with random laws, rules that read each other, a species that reactions do not
 * change, and, if asked for, events and rates that switch in time. */
saltus_model *bits_random(int n, bool events, uint64_t seed);
/** n copies of a random motif of n_motif mass-action reactions on four species, with some other
 * rates, and n_extra reactions between them. */
saltus_model *bits_motifs(int n, int n_motif, int n_extra, uint64_t seed);
/** n reactions of up to two molecules on n / 2 species A0 …, all groups different, and `more`,
 * lines of further reactions, after them; species B is theirs. */
saltus_model *bits_mixed(int n, const char *more);
/** Parse and freeze. */
saltus_model *bits_parse(const char *text);
/** The same of what was written to a stream of open_memstream, which ends with it, as its text
 * does. */
saltus_model *bits_parse_stream(FILE *out, char **text);

/** Hash of all samples of trajectories first … first + n - 1 and of what the run counted. The run
 * must take place: a device that is not here, or a layout that does not fit, fails the test. */
uint64_t bits_hash(saltus_model *model, const char *device, const char *layout, int threads,
                   int64_t first, int64_t n, const double *times, int64_t n_times);
/** The same with random generator `rng`. */
uint64_t bits_hash_rng(saltus_model *model, const char *rng, const char *device, const char *layout,
                       int threads, int64_t first, int64_t n, const double *times, int64_t n_times);
/** The same by whatever a plan may ask for. */
uint64_t bits_hash_plan(saltus_model *model, const char *device, const saltus_plan_options *plan,
                        int64_t first, int64_t n, const double *times, int64_t n_times);
/** The same, with what the run counted. */
uint64_t bits_hash_report(saltus_model *model, const char *device, const saltus_plan_options *plan,
                          int64_t first, int64_t n, const double *times, int64_t n_times,
                          saltus_run_report *report);
/** Fail unless the device, which must be here, refuses the plan because of its layout. */
void bits_refused(saltus_model *model, const char *device, const saltus_plan_options *plan);
/** Options of a plan with this method, generator, layout and number of threads. */
saltus_plan_options bits_plan(const char *method, const char *rng, const char *layout, int threads);
/** Instruction sets of the CPU, "cpu:generic" first; and whether one is built and here. */
enum { N_BITS_DEVICES = 3 };
extern const char *const bits_devices[N_BITS_DEVICES];
bool bits_has(const char *device);
extern const char *const bits_generators[];
enum { N_BITS_GENERATORS = 4 };

#endif
