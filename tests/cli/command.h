/** Running the command as a user does: through a shell, in a directory of its own. */
#ifndef SALTUS_TESTS_COMMAND_H
#define SALTUS_TESTS_COMMAND_H

#include "../support/effort.h"

#include <stdbool.h>
#include <sys/types.h>

/** What a command left behind. */
typedef struct outcome {
    int code;        /**< exit code; 128 + signal when one ended it */
    char *out, *err; /**< what it printed */
} outcome;

/** cmocka's setup and teardown: an empty directory, which becomes the current one. */
int enter_directory(void **state);
int leave_directory(void **state);
/** As setup: the directory holds decay.yaml, and busy.yaml, of whose fast trajectories very many
 * can be asked for. */
int enter_with_models(void **state);
extern const char decay_model[], tiny_lattice[]; /* the latter is no file yet */

/** Run `saltus` with arguments, redirections and pipes as in a shell: "run m.yaml >x" (a leading
 * "saltus" is written as %S elsewhere in the line). The outcome is valid until the next call. */
__attribute__((format(printf, 1, 2))) outcome saltus(const char *format, ...);
/** Tests write one result over another: `run` and `sweep` are given --overwrite, until a test asks
 * for what a user gets without it. */
void keep_results(void);
/** The same, without waiting; finish_saltus waits. Of progress that was shown and erased, as the
 * last line is at the end, nothing is left in the outcome. */
__attribute__((format(printf, 1, 2))) pid_t start_saltus(const char *format, ...);
outcome finish_saltus(pid_t child);
/** Whether what was to be stopped had ended before that. Its file is removed then, for the test to
 * try again: a machine may be faster than a pause. Fails when it happens twenty times on end. */
bool ended_first(const outcome *o, const char *file);

/** Wait until what was started with --progress has finished a trajectory; until a file is there;
 * until its size has been seen to change so many times. However long that takes: the limit of the
 * whole test ends what hangs. */
void wait_for_progress(void);
void wait_for_file(const char *name);
/** Wait until what was started with --progress tells how much is left, and fail if it has not got
 * on: of a single trajectory by its time, which is returned, else by its part. */
double wait_for_estimate(void);
void wait_for_growth(const char *name, int times);

void write_file(const char *name, const char *text);
/** The text of a file, to be freed; NULL when there is none. */
char *read_file(const char *name);
bool file_exists(const char *name);
double seconds_now(void);

int count_lines(const char *text);
/** Write a model: molecules that hop between 17 places at rate k, led by a catalyst; 274 reactions,
 * which are in hubs. */
void write_hops(const char *path);
/** A copy of what `saltus export` prints, to be freed. */
char *exported(const char *file);
/** The trajectories that a run of decay.yaml with these options makes, likewise. */
char *trajectories(const char *options);

/** Fail unless the text is one flat JSON object of texts, numbers, true, false and null. */
void assert_is_json(const char *text);
/** Fail unless stderr is one line "saltus: …" (or "saltus-bench: …") that holds `part`, and perhaps
 * a line with a hint. */
void assert_one_message(const outcome *o, const char *part);
/** Fail unless it ended with `code`, printed nothing on stdout and one message. */
void assert_refused(const outcome *o, int code, const char *part);
/** Fail, with what it printed, unless it ended with 0 and said nothing on stderr. */
void assert_done(const outcome *o);

#endif
