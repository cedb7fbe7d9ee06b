/* Processes that mpirun or srun has started: one run of all of them. Rank 0 is the command as ever;
 * the others are told by it what to do, print nothing and end as it does. */
#include "cli/run.h"

#include <stdlib.h>
#include <string.h>

/* Where what starts processes says which one this is, and how many there are; a batch script is
 * one, whatever it may start: mpirun(1) of Open MPI, PMI of MPICH and Intel MPI, srun(1). */
static const struct {
    const char *number, *count;
} starters[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

/* Name under which the words of the command are sent. */
#define WORDS "saltus:words"

static saltus_ranks *ranks;

saltus_ranks *saltus_cli_ranks(void)
{
    return ranks;
}

static int64_t count_processes(int64_t *number)
{
    int64_t most = 1;
    *number = 0;
    for (size_t i = 0; i < sizeof starters / sizeof *starters; ++i) {
        const char *count = getenv(starters[i].count), *which = getenv(starters[i].number);
        int64_t n, k;
        if (count && saltus_cli_int(count, 0, INT64_C(1) << 40, &n) && n > most) {
            most = n;
            *number = which && saltus_cli_int(which, 0, INT64_C(1) << 40, &k) ? k : 0;
        }
    }
    return most;
}

int saltus_cli_threads(const saltus_cli_run_arguments *a, const char *device)
{
    const bool is_cpu = strncmp(device, "cpu", 3) == 0;
    return a->threads > 0 || !is_cpu ? (int)a->threads : saltus_ranks_cores(ranks);
}

bool saltus_cli_is_first(void)
{
    int64_t number;
    return count_processes(&number) < 2 || number == 0;
}

/* Each process has a part of its own then. */
static bool has_shard(int argc, char **argv)
{
    bool has = false;
    for (int i = 1; i < argc; ++i) {
        has |= strncmp(argv[i], "--sh", 4) == 0;
    }
    return has;
}

/* ------------------------------------------------------------------------------------------------
 * What rank 0 tells
 */

static bool add_word(char *words, size_t *size, size_t most, const char *word)
{
    const size_t n = strlen(word) + 1;
    if (n > most - *size) {
        return false;
    }
    memcpy(words + *size, word, n);
    *size += n;
    return true;
}

saltus_status saltus_cli_tell_ranks(const saltus_cli_run_arguments *a, const char *device,
                                    const char *method, saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_archive *told = NULL, *files = a->archive;
    /* a part that a batch system or a file has told, and slabs that need not be those of a file */
    char shard[60] = "-q", split[400] = "-q", *words = NULL;
    const size_t most =
        a->words_size + strlen(device) + strlen(method) + sizeof shard + sizeof split + 100;
    size_t size = a->words_size;
    if (!ranks) {
        return SALTUS_OK;
    }
    words = calloc(most, 1);
    SALTUS_CLI_NEED(words);
    memcpy(words, a->words, size);
    if (a->n_shards > 0) {
        (void)snprintf(shard, sizeof shard, "--shard=%lld/%lld", (long long)a->shard,
                       (long long)a->n_shards);
    }
    if (a->may_split) {
        (void)snprintf(split, sizeof split, "--split=%s", a->split ? a->split : "");
    }
    const char *const more[] = {"--device", device, "--method", method, "-q", shard, split};
    for (size_t i = 0; i < sizeof more / sizeof *more; ++i) {
        (void)add_word(words, &size, most, more[i]);
    }
    SALTUS_CLI_TRY(saltus_archive_create(&told, err));
    SALTUS_CLI_TRY(saltus_archive_add(told, WORDS, words, size, err));
    SALTUS_CLI_TRY(saltus_ranks_share(ranks, &told, err));
    SALTUS_CLI_TRY(saltus_ranks_share(ranks, &files, err));
done:
    saltus_archive_destroy(told);
    free(words);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The other ranks
 */

/* Do what rank 0 is told to do, as far as it is for all. */
static int obey(char *words, size_t size, saltus_archive *files)
{
    saltus_cli_run_arguments a = {0};
    int n = 0;
    for (size_t at = 0; at < size; at += strlen(words + at) + 1) {
        ++n;
    }
    char **argv = calloc((size_t)n + 1, sizeof *argv);
    if (!argv) {
        return EXIT_FAILED;
    }
    n = 0;
    for (size_t at = 0; at < size; at += strlen(words + at) + 1) {
        argv[n++] = words + at;
    }
    const bool is_sweep = strcmp(argv[0], "saltus sweep") == 0;
    int code =
        saltus_cli_run_parse(is_sweep ? &saltus_cli_sweep_argp : &saltus_cli_run_argp, n, argv, &a);
    code = code < 0 ? saltus_cli_take_shard(&a) : code;
    if (code < 0) {
        saltus_archive_destroy(a.archive);
        a.archive = files;
        a.json = a.progress = a.explain = false;
        a.trace = NULL;
        code = is_sweep ? saltus_cli_simulate_sweep(&a) : saltus_cli_simulate(&a);
        a.archive = NULL;
    }
    saltus_cli_run_free(&a);
    free(argv);
    return code;
}

static int serve(void)
{
    saltus_archive *told = NULL, *files = NULL;
    saltus_error err = {0};
    size_t size;
    int code = EXIT_FAILED;
    saltus_cli_keep_results(); /* of signals rank 0 speaks */
    (void)saltus_cli_catch_signals();
    if (saltus_ranks_share(ranks, &told, &err) == SALTUS_OK &&
        saltus_ranks_share(ranks, &files, &err) == SALTUS_OK) {
        char *words = (char *)saltus_archive_get(told, WORDS, &size); /* ours */
        code = words && size > 0 ? obey(words, size, files) : EXIT_FAILED;
    } else if (err.code != SALTUS_E_CANCELLED) {
        saltus_ranks_fail(ranks, &err);
    }
    saltus_archive_destroy(told);
    saltus_archive_destroy(files);
    return code;
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

static int refuse(int64_t n, int64_t number, const saltus_error *err)
{
    if (number > 0) {
        return EXIT_USAGE;
    }
    (void)saltus_cli_usage("mpirun or srun has started %lld processes, which cannot work together: "
                           "%s",
                           (long long)n, err->message);
    saltus_cli_say("  hint: ", err->hint[0] ? err->hint
                                            : "or give each a part by --shard auto and a file of "
                                              "its own, and merge these");
    return EXIT_USAGE;
}

int saltus_cli_on_ranks(int (*verb)(int argc, char **argv), int argc, char **argv)
{
    saltus_error err = {0};
    int64_t number;
    const int64_t n = count_processes(&number);
    if (n < 2 || has_shard(argc, argv)) {
        return verb(argc, argv);
    }
    if (saltus_ranks_open(&ranks, &err) != SALTUS_OK) {
        return refuse(n, number, &err);
    }
    int code = EXIT_USAGE;
    if (saltus_ranks_count(ranks) != n) {
        (void)saltus_cli_fail(&err, SALTUS_E_UNAVAILABLE, "MPI knows of %d",
                              saltus_ranks_count(ranks));
        (void)snprintf(err.hint, sizeof err.hint,
                       "mpirun has to be that of the plug-in's MPI; srun needs --mpi=pmix or pmi2");
        code = refuse(n, number, &err);
    } else {
        code = saltus_ranks_number(ranks) == 0 ? verb(argc, argv) : serve();
    }
    saltus_cli_keep_results(); /* nothing is left to be said of a signal */
    saltus_ranks_close(ranks, &code);
    ranks = NULL;
    return code;
}
