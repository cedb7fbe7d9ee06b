/* saltus resume: the command that made a result file, once more, for what is missing. */
#include "cli/run.h"

#include <stdlib.h>
#include <string.h>

/* The words of the command that made the file, and behind them those of this one but the file, so
 * that these count. To be freed, the words not. */
static char **join_words(const char *kept, size_t size, int argc, char **argv, int *n)
{
    int n_kept = 0;
    for (size_t at = 0; at < size; at += strlen(kept + at) + 1) {
        ++n_kept;
    }
    char **words = calloc((size_t)n_kept + (size_t)argc, sizeof *words);
    *n = 0;
    for (size_t at = 0; words && at < size; at += strlen(kept + at) + 1) {
        words[(*n)++] = (char *)kept + at;
    }
    for (int i = 1; words && i + 1 < argc; ++i) { /* argp has put the file at the end */
        words[(*n)++] = argv[i];
    }
    return words;
}

/* What is said on the way is this command's matter. */
static void take_talk(saltus_cli_run_arguments *a, const saltus_cli_run_arguments *mine)
{
    a->json = mine->json;
    a->progress = mine->progress;
    a->explain = mine->explain;
    a->quiet = mine->quiet;
    a->trace = mine->trace;
}

/* How the old device was used says nothing about another one. */
static void take_device(saltus_cli_run_arguments *a, const saltus_cli_run_arguments *mine)
{
    a->may_split = !mine->split;
    if (mine->device) {
        a->layout = mine->layout ? mine->layout : "auto";
        a->block = mine->block;
        a->streams = mine->streams;
        a->split = mine->split;
    }
}

static int go_on(const saltus_cli_run_arguments *mine, const saltus_file_state *state, int argc,
                 char **argv, saltus_archive *archive)
{
    size_t size;
    int n;
    saltus_cli_run_arguments a = {0};
    const char *kept = saltus_archive_get(archive, SALTUS_CLI_ARGUMENTS, &size);
    if (!kept || size == 0 || kept[size - 1] != '\0') {
        return saltus_cli_usage(
            "%s: cannot be gone on with: the call of Python or the library that "
            "made it is none of the command's, as with times= that are not equally spaced, or with "
            "by_type=False of several types of sites; make it again",
            mine->output);
    }
    if (state->is_sweep && mine->trace) {
        return saltus_cli_usage("--trace is for saltus run");
    }
    char **words = join_words(kept, size, argc, argv, &n);
    if (!words) {
        return saltus_cli_usage("memory ran out");
    }
    int code = saltus_cli_run_parse(state->is_sweep ? &saltus_cli_sweep_argp : &saltus_cli_run_argp,
                                    n, words, &a);
    if (code < 0) {
        saltus_archive_destroy(a.archive);
        a.archive = archive;
        a.output = mine->output;
        a.format = SALTUS_CLI_HDF5;
        a.overwrite = a.append = false;
        a.extends = true;
        a.n_done = state->n_done;
        a.first = state->first_trajectory;
        a.runs = state->requested;
        a.shard = state->shard;
        a.n_shards = state->n_shards;
        take_talk(&a, mine);
        take_device(&a, mine);
        code = state->is_sweep ? saltus_cli_simulate_sweep(&a) : saltus_cli_simulate(&a);
        a.archive = NULL;
    }
    saltus_cli_run_free(&a);
    free(words);
    return code;
}

/* A process that was killed after the file was whole has left its checkpoint, or those of points.
 */
static void drop_checkpoint(const char *file)
{
    saltus_checkpoint *c = NULL;
    char path[4200];
    const int n = snprintf(path, sizeof path, "%s.checkpoint", file);
    if (n > 0 && (size_t)n < sizeof path &&
        saltus_checkpoint_open(path, "", 60.0, true, &c, NULL) == SALTUS_OK) {
        saltus_checkpoint_close(c, false);
    }
}

/* With --json there is an object in any case: nothing was simulated, by no device. */
static int tell_complete(const saltus_cli_run_arguments *mine, double seconds)
{
    saltus_error err = {0};
    drop_checkpoint(mine->output);
    (void)saltus_cli_write_xdmf(mine->output, NULL); /* that such a process may not have written */
    if (!mine->quiet) {
        fprintf(stderr, "saltus: %s: is complete, there is nothing left to do\n", mine->output);
    }
    if (mine->json) {
        printf("{\"events\": 0, \"trajectories\": 0, \"seconds\": 0, \"seconds_total\": %.6g, "
               "\"device\": null, \"layout\": null, \"method\": null, \"complete\": true, "
               "\"output\": ",
               seconds);
        saltus_cli_print_text(mine->output);
        printf("}\n");
    }
    if (!saltus_cli_flush(&err)) {
        saltus_cli_print_error(&err);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

int saltus_cli_resume(int argc, char **argv)
{
    const double start = saltus_cli_now();
    saltus_cli_run_arguments mine = {0};
    saltus_file_state state;
    saltus_archive *archive = NULL;
    saltus_error err = {0};
    int code = saltus_cli_parse(&saltus_cli_resume_argp, argc, argv, &mine);
    if (code < 0 && !mine.output) {
        code = saltus_cli_usage("a result file is needed: saltus resume FILE.h5");
    }
    if (code >= 0) {
        return code;
    }
    if (saltus_file_state_read(mine.output, &state, &err) != SALTUS_OK) {
        saltus_cli_print_error(&err);
        return EXIT_USAGE;
    }
    if (state.complete) {
        return tell_complete(&mine, saltus_cli_now() - start);
    }
    if (state.n_done < 0) {
        return saltus_cli_usage("%s: an older version wrote it, which kept no state", mine.output);
    }
    if (saltus_archive_open(mine.output, &archive, &err) != SALTUS_OK) {
        saltus_cli_print_error(&err);
        return EXIT_USAGE;
    }
    code = go_on(&mine, &state, argc, argv, archive);
    saltus_archive_destroy(archive);
    return code;
}
