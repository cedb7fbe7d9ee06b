/* saltus run: the options. */
#include "cli/run.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_UNTIL = 256,
    OPT_POINTS,
    OPT_EVERY,
    OPT_RUNS,
    OPT_FIRST,
    OPT_SEED,
    OPT_METHOD,
    OPT_LAW,
    OPT_STOICHIOMETRY,
    OPT_SPECIES,
    OPT_DEVICE,
    OPT_THREADS,
    OPT_LAYOUT,
    OPT_BLOCK,
    OPT_STREAMS,
    OPT_RECORD,
    OPT_BINS,
    OPT_RANGE,
    OPT_COMPRESS,
    OPT_JSON,
    OPT_PROGRESS,
    OPT_EXPLAIN,
    OPT_RNG,
    OPT_TRACE,
    OPT_EPSILON,
    OPT_NC,
    OPT_EXACT_STEPS,
    OPT_CONTINUOUS,
    OPT_RTOL,
    OPT_ATOL,
    OPT_STIFF,
    OPT_FRAMES,
    OPT_PROFILE,
    OPT_SPLIT,
    OPT_NO_PEER,
    OPT_OVERWRITE,
    OPT_APPEND,
    OPT_SHARD,
    OPT_DERIVE,
    OPT_BURN_IN,
    OPT_CHECKPOINT,
};

/* Rows that several verbs have. */
/* clang-format off */
#define SLAB_OPTIONS \
    {"split", OPT_SPLIT, "A:B", 0, \
     "a lattice in slabs, one GPU after the other: heights relative to each other, or auto; never " \
     "changes a result", \
     2}, \
    {"no-peer", OPT_NO_PEER, NULL, 0, \
     "slabs exchange particles by way of the host, whether or not GPUs reach each other", 2}
#define TALK_OPTIONS \
    {"json", OPT_JSON, NULL, 0, "print one JSON object about the run on stdout", 4}, \
    {"progress", OPT_PROGRESS, NULL, 0, "show progress even when stderr is no terminal", 4}, \
    {"explain", OPT_EXPLAIN, NULL, 0, "print what was chosen and why", 4}, \
    {"quiet", 'q', NULL, 0, "no summary, no warnings, no progress", 4}
#define TRACE_OPTION \
    {"trace", OPT_TRACE, "FILE.json", 0, \
     "write what took how long, for chrome://tracing or Perfetto", 4}
/* clang-format on */

/* Of a run and a sweep. */
static const struct argp_option shared_options[] = {
    {NULL, 0, NULL, 0, "What:", 1},
    {"until", OPT_UNTIL, "T", 0, "simulate from time 0 to T (needed)", 1},
    {"points", OPT_POINTS, "N", 0, "N equally spaced samples, 0 and T included (101)", 1},
    {"every", OPT_EVERY, "DT", 0, "samples at 0, DT, 2 DT … T", 1},
    {"runs", OPT_RUNS, "R", 0, "number of trajectories (1)", 1},
    {"first", OPT_FIRST, "I", 0, "number of the first trajectory (0)", 1},
    {"seed", OPT_SEED, "S", 0, "seed (1)", 1},
    {"rng", OPT_RNG, "NAME", 0, "philox, xorwow, mrg32k3a or mt19937 (philox); changes the samples",
     1},
    {"method", OPT_METHOD, "NAME", 0, "or auto (tells which it takes)", 1},
    SALTUS_CLI_CHANGES(1),
    {"law", OPT_LAW, "MODE", 0,
     "literal (as written; the default) or combinatorial (k*A^2 with two A consumed is k*A*(A-1))",
     1},
    {"stoichiometry", OPT_STOICHIOMETRY, "MODE", 0,
     "refuse (the default) or draw (half a molecule is one, or none, at every firing)", 1},
    {"species", OPT_SPECIES, "A,B", 0,
     "record these alone: species, rule targets, parameters, [A] for a concentration", 1},
    {NULL, 0, NULL, 0, "Where:", 2},
    {"device", OPT_DEVICE, "NAME", 0, "auto (the default), cpu (or cpu:avx2 …), cuda, cuda:0,1", 2},
    {"threads", OPT_THREADS, "N", 0, "threads (one per core)", 2},
    {"layout", OPT_LAYOUT, "NAME", 0, "never changes a result", 2},
    {"block", OPT_BLOCK, "B", 0, "GPU: threads of a block, 32, 64 … 1024 (as the layout needs)", 2},
    SLAB_OPTIONS,
    {"streams", OPT_STREAMS, "N", 0, "GPU: batches under way at once on each (4)", 2},
    {NULL, 0, NULL, 0, "Record:", 3},
    {"output", 'o', "FILE.h5", 0,
     "result file, or as FILE.csv a table of what is recorded (a run without it prints a summary)",
     3},
    {"overwrite", OPT_OVERWRITE, NULL, 0, "replace a result of that name", 3},
    {"shard", OPT_SHARD, "I/N", 0,
     "simulate part I of N of the trajectories, or of a sweep's points, for saltus merge; auto: as "
     "Slurm, MPI or HTCondor number this process",
     3},
    {"checkpoint", OPT_CHECKPOINT, "S", 0,
     "keep long trajectories that are under way every S seconds, in FILE.h5.checkpoint; 0: do not "
     "(60)",
     3},
    {"record", OPT_RECORD, "WHAT", 0, "all, stats, final or histogram (all)", 3},
    {"bins", OPT_BINS, "N", 0, "bins of a histogram", 3},
    {"range", OPT_RANGE, "LO:HI", 0, "range of a histogram", 3},
    {"compress", OPT_COMPRESS, "HOW", 0, "none, fast or small (fast)", 3},
    {"derive", OPT_DERIVE, "LIST", 0,
     "of every run, mean, min, max, tmin, tmax, final, amplitude or period:NAME, passage or "
     "above:NAME:THRESHOLD, separated by commas",
     3},
    {"burn-in", OPT_BURN_IN, "T", 0, "these look at samples from time T on (0)", 3},
    {NULL, 0, NULL, 0, "Leaps of --method tau:", 5},
    {"epsilon", OPT_EPSILON, "E", 0, "a propensity may change by this share in a leap (0.03)", 5},
    {"nc", OPT_NC, "N", 0, "reactions that fewer than N firings exhaust fire one by one (10)", 5},
    {"exact-steps", OPT_EXACT_STEPS, "N", 0, "exact steps where leaps are too short (100)", 5},
    {NULL, 0, NULL, 0, "Integration of rate rules, and of --method hybrid and ode:", 6},
    {"continuous", OPT_CONTINUOUS, "N", 0,
     "by --method hybrid a species is continuous from N molecules on (1000)", 6},
    {"rtol", OPT_RTOL, "R", 0, "error of a step relative to a value (1e-6)", 6},
    {"atol", OPT_ATOL, "A", 0, "and absolute, species in molecules (1e-12)", 6},
    {"stiff", OPT_STIFF, "WHEN", 0, "a method for stiff systems: auto, always or never (auto)", 6},
    {NULL, 0, NULL, 0, "Talk:", 4},
    TALK_OPTIONS,
    {NULL, 0, NULL, 0, NULL, 0},
};

/* Of a run alone. */
static const struct argp_option options[] = {
    {"append", OPT_APPEND, NULL, 0,
     "add the trajectories to a result of that name, made with the same model and options", 3},
    {"frames", OPT_FRAMES, "DT", 0, "of a lattice: what every site holds, at 0, DT, 2 DT … T", 3},
    {"profile", OPT_PROFILE, "AXIS", 0, "of a lattice: counts in every plane along x, y or z", 3},
    TRACE_OPTION,
    {NULL, 0, NULL, 0, NULL, 0},
};

static bool parse_record(const char *text, saltus_record *record)
{
    static const char *const names[] = {"all", "stats", "final", "histogram"};
    for (int i = 0; i < 4; ++i) {
        if (strcmp(text, names[i]) == 0) {
            *record = (saltus_record)i;
            return true;
        }
    }
    return false;
}

static bool parse_compress(const char *text, saltus_compress *compress)
{
    static const char *const names[] = {"none", "fast", "small"};
    for (int i = 0; i < 3; ++i) {
        if (strcmp(text, names[i]) == 0) {
            *compress = (saltus_compress)i;
            return true;
        }
    }
    return false;
}

static bool parse_range(const char *text, double *low, double *high)
{
    char copy[100];
    const char *colon = strchr(text, ':');
    if (!colon || strlen(text) >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, strlen(text) + 1);
    copy[colon - text] = '\0';
    return saltus_cli_double(copy, low) && saltus_cli_double(colon + 1, high) && *low < *high;
}

/* Digits, or hexadecimal ones behind 0x; a leading 0 means nothing. */
static bool parse_seed(const char *text, uint64_t *seed)
{
    const bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, is_hex ? 16 : 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static error_t wrong(const char *option, const char *text, const char *wanted)
{
    (void)saltus_cli_usage("%s '%s': %s is needed", option, text, wanted);
    return EINVAL;
}

/* Options that hold a whole number, and where it goes. */
static const struct {
    int key;
    const char *name;
    int64_t least, most;
    size_t at;
    const char *wanted;
} wholes[] = {
#define AT(member) offsetof(saltus_cli_run_arguments, member)
    {OPT_POINTS, "--points", 1, (int64_t)1 << 40, AT(points),
     "a whole number from 1 to 1099511627776"},
    {OPT_RUNS, "--runs", 1, INT64_MAX, AT(runs), "a whole number from 1 to 2^63 - 1"},
    {OPT_FIRST, "--first", 0, INT64_MAX, AT(first), "a whole number from 0 to 2^63 - 1"},
    {OPT_THREADS, "--threads", 1, 4096, AT(threads), "a whole number from 1 to 4096"},
    {OPT_STREAMS, "--streams", 1, 64, AT(streams), "a whole number from 1 to 64"},
    {OPT_BINS, "--bins", 1, SALTUS_MOST_BINS, AT(bins), "a whole number from 1 to 1048576"},
    {OPT_NC, "--nc", 0, 1000000, AT(n_critical), "a whole number up to 1000000"},
    {OPT_CONTINUOUS, "--continuous", 10, 1000000000, AT(continuous),
     "a whole number from 10 to 1000000000"},
    {OPT_EXACT_STEPS, "--exact-steps", 1, 1000000, AT(n_exact), "a whole number from 1 to 1000000"},
};
/* And a time. */
static const struct {
    int key;
    const char *name;
    size_t at;
} intervals[] = {
    {OPT_UNTIL, "--until", AT(until)},
    {OPT_EVERY, "--every", AT(every)},
    {OPT_FRAMES, "--frames", AT(frames)},
#undef AT
};

/* Options that hold a number. 1: not one of them. */
static error_t parse_number(int key, const char *text, saltus_cli_run_arguments *a)
{
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; ++i) {
        if (key == wholes[i].key) {
            int64_t *const number = (int64_t *)(void *)((char *)a + wholes[i].at);
            a->has_first |= key == OPT_FIRST;
            a->has_continuous |= key == OPT_CONTINUOUS;
            a->of_leaps = key == OPT_NC || key == OPT_EXACT_STEPS ? wholes[i].name : a->of_leaps;
            return saltus_cli_int(text, wholes[i].least, wholes[i].most, number)
                       ? 0
                       : wrong(wholes[i].name, text, wholes[i].wanted);
        }
    }
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; ++i) {
        if (key == intervals[i].key) {
            double *const time = (double *)(void *)((char *)a + intervals[i].at);
            a->has_until |= key == OPT_UNTIL;
            return saltus_cli_double(text, time) && *time > 0.0
                       ? 0
                       : wrong(intervals[i].name, text, "a time above 0");
        }
    }
    switch (key) {
    case OPT_SEED:
        return parse_seed(text, &a->seed) ? 0 : wrong("--seed", text, "a whole number below 2^64");
    case OPT_BLOCK:
        return saltus_cli_int(text, 32, 1024, &a->block) && a->block % 32 == 0
                   ? 0
                   : wrong("--block", text, "a multiple of 32 up to 1024");
    case OPT_EPSILON:
        a->of_leaps = "--epsilon";
        return saltus_cli_double(text, &a->epsilon) && a->epsilon > 0.0 && a->epsilon < 1.0
                   ? 0
                   : wrong("--epsilon", text, "a number above 0 and below 1");
    case OPT_RTOL:
        return saltus_cli_double(text, &a->rtol) && a->rtol >= 1e-12 && a->rtol <= 0.1
                   ? 0
                   : wrong("--rtol", text, "a number from 1e-12 to 0.1");
    case OPT_ATOL:
        return saltus_cli_double(text, &a->atol) && a->atol > 0.0
                   ? 0
                   : wrong("--atol", text, "a number above 0");
    case OPT_CHECKPOINT:
        a->of_files = "--checkpoint";
        return saltus_cli_double(text, &a->checkpoint) && a->checkpoint >= 0.0
                   ? 0
                   : wrong("--checkpoint", text, "seconds, or 0,");
    case OPT_BURN_IN:
        return saltus_cli_double(text, &a->burn_in) && a->burn_in >= 0.0
                   ? 0
                   : wrong("--burn-in", text, "a time from 0");
    case OPT_RANGE:
        return parse_range(text, &a->low, &a->high) ? 0 : wrong("--range", text, "LOW:HIGH");
    default:
        return 1;
    }
}

/* Options that hold a word. 1: not one of them. */
static error_t parse_word(int key, char *text, saltus_cli_run_arguments *a)
{
    switch (key) {
    case OPT_METHOD:
        saltus_cli_take_method(text, &a->method, &a->law);
        return 0;
    case OPT_LAW:
        return saltus_cli_take_law(text, &a->law);
    case OPT_STOICHIOMETRY:
        return saltus_cli_take_stoichiometry(text, &a->law);
    case OPT_SPECIES:
        a->species = text;
        return 0;
    case OPT_DEVICE:
        a->device = text;
        return 0;
    case OPT_LAYOUT:
        a->layout = text;
        return 0;
    case OPT_RNG:
        a->rng = text;
        return 0;
    case OPT_STIFF:
        a->stiff = text;
        return 0;
    case OPT_RECORD:
        a->has_record = true;
        return parse_record(text, &a->record)
                   ? 0
                   : wrong("--record", text, "all, stats, final or histogram");
    case OPT_COMPRESS:
        a->of_files = "--compress";
        return parse_compress(text, &a->compress)
                   ? 0
                   : wrong("--compress", text, "none, fast or small");
    case OPT_NO_PEER:
        a->no_peer = true;
        return 0;
    case OPT_DERIVE:
        a->derive = text;
        return 0;
    case OPT_OVERWRITE:
        a->overwrite = true;
        return 0;
    case OPT_SHARD:
        a->shard_text = text;
        return 0;
    case OPT_APPEND:
        a->append = true;
        return 0;
    case OPT_SPLIT:
        a->split = *text ? text : NULL; /* what rank 0 tells the others when it has none */
        return 0;
    case OPT_PROFILE:
        a->profile = text;
        return text[0] >= 'x' && text[0] <= 'z' && text[1] == '\0'
                   ? 0
                   : wrong("--profile", text, "x, y or z");
    case OPT_TRACE:
        a->trace = text;
        return text[0] ? 0 : wrong("--trace", text, "the name of a file");
    case 'o':
        a->output = text;
        return text[0] && strcmp(text, "-") != 0 ? 0 : wrong("-o", text, "the name of a file");
    default:
        return 1;
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    saltus_cli_run_arguments *a = state->input;
    error_t e = parse_number(key, text, a);
    if (e == 1) {
        e = parse_word(key, text, a);
    }
    if (e == 1) {
        e = saltus_cli_take_change(key, text, &a->changes);
    }
    if (e != 1) {
        return e;
    }
    switch (key) {
    case ARGP_KEY_INIT:
        if (state->child_inputs) {
            state->child_inputs[0] = a;
        }
        return 0;
    case OPT_JSON:
        a->json = true;
        return 0;
    case OPT_PROGRESS:
        a->progress = true;
        return 0;
    case OPT_EXPLAIN:
        a->explain = true;
        return 0;
    case 'q':
        a->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        return saltus_cli_take_argument(&a->model, text, "model");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Names of methods and layouts are the library's. */
static char *complete_help(int key, const char *text, void *input)
{
    (void)input;
    return key == OPT_METHOD   ? saltus_cli_method_help(text, false)
           : key == OPT_LAYOUT ? saltus_cli_layout_help(text, false)
                               : (char *)text;
}

const struct argp saltus_cli_shared_argp = {shared_options, parse,         "MODEL", NULL,
                                            NULL,           complete_help, NULL};

static const struct argp_child children[] = {{&saltus_cli_shared_argp, 0, NULL, 0}, {0}};
const struct argp saltus_cli_run_argp = {
    options,
    parse,
    NULL, /* MODEL, as the shared options say */
    "Simulate an ensemble of trajectories of MODEL (SBML, Saltus YAML, BioNetGen .net or .bngl; - "
    "is standard input), exactly."
    "\vA trajectory depends on the model, the seed and its number alone: threads, devices, sample "
    "times and the number of runs never change it.",
    children,
    NULL,
    NULL};

/* Options of a run that is resumed: those that change no bit. */
static const struct argp_option resume_options[] = {
    {NULL, 0, NULL, 0, "Where:", 2},
    {"device", OPT_DEVICE, "NAME", 0, "auto, cpu (or cpu:avx2 …), cuda, cuda:0,1 (as before)", 2},
    {"threads", OPT_THREADS, "N", 0, "threads (as before)", 2},
    {"layout", OPT_LAYOUT, "NAME", 0, "never changes a result", 2},
    {"block", OPT_BLOCK, "B", 0, "GPU: threads of a block, 32, 64 … 1024", 2},
    SLAB_OPTIONS,
    {"streams", OPT_STREAMS, "N", 0, "GPU: batches under way at once on each", 2},
    {"checkpoint", OPT_CHECKPOINT, "S", 0, "seconds between two checkpoints (as before)", 2},
    {NULL, 0, NULL, 0, "Talk:", 4},
    TALK_OPTIONS,
    TRACE_OPTION,
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_resume(int key, char *text, struct argp_state *state)
{
    saltus_cli_run_arguments *a = state->input;
    return key == ARGP_KEY_ARG ? saltus_cli_take_argument(&a->output, text, "result file")
                               : parse(key, text, state);
}

const struct argp saltus_cli_resume_argp = {
    resume_options,
    parse_resume,
    "FILE.h5",
    "Go on where a run or a sweep was stopped, or killed, with nothing but its result file, which "
    "holds the model and all options."
    "\vThe result has the bits of the run that was never stopped, on whatever device and number of "
    "threads.",
    NULL,
    complete_help,
    NULL};

static char *join(int n, char **words)
{
    size_t size = 1, at = 0;
    for (int i = 0; i < n; ++i) {
        size += strlen(words[i]) + 1;
    }
    char *line = calloc(size, 1);
    for (int i = 0; line && i < n; ++i) {
        at += (size_t)snprintf(line + at, size - at, "%s%s", i > 0 ? " " : "", words[i]);
    }
    return line;
}

/* What the output's name means, and whether it can hold what is asked for. -1: it can. */
static int check_output(saltus_cli_run_arguments *a)
{
    a->format = a->output ? saltus_cli_format_of(a->output) : SALTUS_CLI_HDF5;
    if (a->format == SALTUS_CLI_UNKNOWN) {
        return saltus_cli_usage("-o '%s': results are written as HDF5, FILE.h5, or as a table, "
                                "FILE.csv",
                                a->output);
    }
    if (a->output && saltus_cli_is_stdout(a->output)) {
        return saltus_cli_usage("-o '%s': that is where the summary goes", a->output);
    }
    if (a->append && (!a->output || a->format == SALTUS_CLI_CSV)) {
        return saltus_cli_usage("--append needs a result file, -o FILE.h5");
    }
    if (a->shard_text && (!a->output || a->format == SALTUS_CLI_CSV || a->append)) {
        return saltus_cli_usage("--shard needs a result file of its own, -o FILE.h5");
    }
    if (a->append && a->overwrite) {
        return saltus_cli_usage("--append and --overwrite exclude each other");
    }
    if ((a->frames > 0.0 || a->profile) && (!a->output || a->format == SALTUS_CLI_CSV)) {
        return saltus_cli_usage("--frames and --profile need a result file, -o FILE.h5");
    }
    if (a->derive && a->output && a->format == SALTUS_CLI_CSV) {
        return saltus_cli_usage("--derive needs a result file, -o FILE.h5; saltus export --derived "
                                "makes a table of it");
    }
    return -1;
}

/* Files are read through an archive, which a result file keeps with the words of the command. */
static int begin_archive(saltus_cli_run_arguments *a, int argc, char **argv)
{
    saltus_error err = {0};
    size_t size = 0, at = 0;
    for (int i = 0; i < argc; ++i) {
        size += strlen(argv[i]) + 1;
    }
    char *words = calloc(size + 1, 1);
    for (int i = 0; words && i < argc; ++i) {
        memcpy(words + at, argv[i], strlen(argv[i]) + 1);
        at += strlen(argv[i]) + 1;
    }
    if (!words || saltus_archive_create(&a->archive, &err) != SALTUS_OK ||
        saltus_archive_add(a->archive, SALTUS_CLI_ARGUMENTS, words, size, &err) != SALTUS_OK) {
        free(words);
        return saltus_cli_usage("%s", strerror(ENOMEM));
    }
    a->words = words;
    a->words_size = size;
    return -1;
}

int saltus_cli_run_parse(const struct argp *argp, int argc, char **argv,
                         saltus_cli_run_arguments *a)
{
    *a = (saltus_cli_run_arguments){.device = "auto",
                                    .layout = "auto",
                                    .rng = "philox",
                                    .epsilon = 0.03,
                                    .continuous = 1000,
                                    .rtol = 1e-6,
                                    .atol = 1e-12,
                                    .stiff = "auto",
                                    .checkpoint = 60.0,
                                    .n_critical = 10,
                                    .n_exact = 100,
                                    .runs = 1,
                                    .seed = 1,
                                    .compress = SALTUS_COMPRESS_FAST};
    a->command = join(argc, argv); /* before argp reorders them */
    if (!a->command) {
        return saltus_cli_usage("%s", strerror(ENOMEM));
    }
    int code = begin_archive(a, argc, argv);
    code = code < 0 ? saltus_cli_parse(argp, argc, argv, a) : code;
    if (code >= 0) {
        return code;
    }
    if (!a->model) {
        return saltus_cli_usage("a model file is needed: %s MODEL --until T", argv[0]);
    }
    if (!a->has_until) {
        return saltus_cli_usage("--until T is needed: the time at which to end");
    }
    if (a->points > 0 && a->every > 0.0) {
        return saltus_cli_usage("--points and --every exclude each other");
    }
    if (a->burn_in > 0.0 && !a->derive) {
        return saltus_cli_usage("--burn-in is for --derive, which is not there: statistics are of "
                                "every sample time");
    }
    if (a->first > INT64_MAX - a->runs) {
        return saltus_cli_usage("--first and --runs go beyond trajectory 2^63 - 1");
    }
    return check_output(a);
}

void saltus_cli_run_free(saltus_cli_run_arguments *a)
{
    saltus_cli_free_changes(&a->changes);
    free(a->vary.items);
    free(a->command);
    free(a->words);
    saltus_archive_destroy(a->archive);
}
