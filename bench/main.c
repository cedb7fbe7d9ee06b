/* saltus-bench: the papers' tables and comparisons of our own, one JSON line per measurement. */
#include "bench/bench.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    OPT_QUICK = 256,
    OPT_PART,
    OPT_DEVICE,
    OPT_THREADS,
    OPT_EXAMPLES,
    OPT_MODEL,
    OPT_UNTIL
};
enum { MOST_GPUS = 8, MOST_NAMES = 100 };

/* Where there is something to measure. */
typedef enum place { ANYWHERE, ON_GPUS } place;

typedef struct benchmark {
    char name[40];
    place where;
    saltus_status (*run)(bench *b, saltus_error *err);
    const char *what;
} benchmark;

#define ROW(name, where, what) {#name, where, bench_##name, what},
static benchmark list[] = {BENCHMARKS(ROW)};
#undef ROW
enum { N_BENCHMARKS = sizeof list / sizeof *list };

typedef struct arguments {
    const benchmark *chosen[MOST_NAMES];
    int n_chosen, threads;
    const char *device, *examples, *model;
    double part, until;
    bool quick;
} arguments;

static const struct argp_option options[] = {
    {"quick", OPT_QUICK, NULL, 0, "a hundredth of the trajectories, each time once", 0},
    {"part", OPT_PART, "P", 0,
     "this part of the networks of nobile-table2, of the trajectories of nobile-sweeps and "
     "tau-accuracy, and of the time that steps of a lattice are given (1)",
     0},
    {"device", OPT_DEVICE, "NAME", 0, "cuda, cuda:1 …, or cpu for no GPU (the GPU if there is one)",
     0},
    {"threads", OPT_THREADS, "N", 0, "threads of \"all cores\" (one per core)", 0},
    {"examples", OPT_EXAMPLES, "FOLDER", 0, "where the models are (as installed, or built)", 0},
    {"model", OPT_MODEL, "NAME", 0,
     "of the models of scheme this alone; of large-networks this, or any other file .net", 0},
    {"until", OPT_UNTIL, "T", 0,
     "of a file .net to this time, by as many trajectories as it takes (1,000,000 events of one)",
     0},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* A number that fills the whole text and lies between two; else it ends the program. */
static double take_number(const struct argp_state *state, const char *option, const char *text,
                          double low, double high, const char *wanted)
{
    char *end;
    const double x = strtod(text, &end);
    if (end == text || *end || !(x >= low && x <= high)) {
        argp_failure(state, EXIT_USAGE, 0, "%s '%s': %s is needed", option, text, wanted);
    }
    return x;
}

static void take_name(const struct argp_state *state, arguments *a, const char *name)
{
    int i = 0;
    while (i < N_BENCHMARKS && strcmp(list[i].name, name) != 0) {
        ++i;
    }
    if (i == N_BENCHMARKS || a->n_chosen == MOST_NAMES) {
        argp_failure(state, EXIT_USAGE, 0, "there is no benchmark '%.200s'\n  hint: %s lists them",
                     name, state->name);
    }
    a->chosen[a->n_chosen++] = &list[i];
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case OPT_QUICK:
        a->quick = true;
        return 0;
    case OPT_PART:
        a->part = take_number(state, "--part", text, 1e-9, 1.0, "a number above 0 and up to 1");
        return 0;
    case OPT_DEVICE:
        a->device = text;
        if (strncmp(text, "cuda", 4) != 0 && strcmp(text, "cpu") != 0) {
            argp_failure(state, EXIT_USAGE, 0, "--device '%s': cuda, cuda:N or cpu is needed",
                         text);
        }
        return 0;
    case OPT_THREADS:
        a->threads = (int)take_number(state, "--threads", text, 1.0, 4096.0,
                                      "a whole number from 1 to 4096");
        return 0;
    case OPT_EXAMPLES:
        a->examples = text;
        return 0;
    case OPT_MODEL:
        a->model = text;
        return 0;
    case OPT_UNTIL:
        a->until = take_number(state, "--until", text, 1e-300, 1e300, "a number above 0");
        return 0;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case ARGP_KEY_ARG:
        take_name(state, a, text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Beside this program as it is built or packed, or where it was installed. */
static const char *find_examples(char *path, size_t size)
{
    static const char *const places[] = {"../examples", "examples", "../share/saltus/examples"};
    char program[1000];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (!slash) {
        return NULL;
    }
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        const int length = snprintf(path, size, "%s/%s/dimer-decay.yaml", program, places[i]);
        if (length > 0 && (size_t)length < size && access(path, R_OK) == 0) {
            *strrchr(path, '/') = '\0';
            return path;
        }
    }
    return NULL;
}

/* A GPU that was asked for must be there. */
static saltus_status open_devices(bench *b, const char *device, saltus_error *err)
{
    saltus_error no_gpu = {0};
    saltus_status status = saltus_backend_open("cpu", &b->cpu, err);
    if (status != SALTUS_OK) {
        return status;
    }
    if (device && strcmp(device, "cpu") == 0) {
        (void)snprintf(b->no_gpu, sizeof b->no_gpu, "--device cpu");
        return SALTUS_OK;
    }
    status = saltus_backend_open(device ? device : "cuda", &b->gpu, &no_gpu);
    if (status != SALTUS_OK && device) {
        *err = no_gpu;
        return status;
    }
    (void)snprintf(b->no_gpu, sizeof b->no_gpu, "%.*s", (int)sizeof b->no_gpu - 1, no_gpu.message);
    return SALTUS_OK;
}

/* What the library's list of devices says about the GPU; NULL: nothing. */
static const char *gpu_text(const bench *b, char *text)
{
    const char *name = b->gpu ? saltus_backend_name(b->gpu) : "";
    char start[60];
    (void)snprintf(start, sizeof start, "  cuda:%ld ",
                   strncmp(name, "cuda:", 5) == 0 ? strtol(name + 5, NULL, 10) : 0L);
    char *line = text ? strstr(text, start) : NULL;
    if (line) {
        line += strlen(start);
        line += strspn(line, " ");
        line[strcspn(line, "\n")] = '\0';
    }
    return line;
}

static const char *cpu_text(char line[300])
{
    FILE *in = fopen("/proc/cpuinfo", "r");
    const char *name = "";
    while (in && !name[0] && fgets(line, 300, in)) {
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            name = strchr(line, ':') + 2;
        }
    }
    if (in) {
        (void)fclose(in);
    }
    return name;
}

static void print_machine(bench *b)
{
    char line[300], *devices = NULL;
    size_t size = 0;
    FILE *out = b->gpu ? open_memstream(&devices, &size) : NULL;
    if (out) {
        saltus_backend_list(out);
        (void)fclose(out);
    }
    bench_put(b, FIELD("version", saltus_version()), FIELD("quick", b->quick),
              FIELD("cores", sysconf(_SC_NPROCESSORS_ONLN)), FIELD("cpu", cpu_text(line)),
              FIELD("gpu", gpu_text(b, devices)));
    bench_end(b);
    free(devices);
}

static int count_gpus(const bench *b)
{
    char name[20];
    int n = 0;
    for (; b->gpu && n < MOST_GPUS; ++n) {
        saltus_backend *device = NULL;
        saltus_error ignored = {0};
        (void)snprintf(name, sizeof name, "cuda:%d", n);
        if (saltus_backend_open(name, &device, &ignored) != SALTUS_OK) {
            break;
        }
        saltus_backend_close(device);
    }
    return n;
}

saltus_status bench_open_gpus(int n, saltus_backend **out, saltus_error *err)
{
    char name[60] = "cuda:0";
    for (int i = 1; i < n; ++i) {
        (void)snprintf(name + strlen(name), sizeof name - strlen(name), ",%d", i);
    }
    return saltus_backend_open(name, out, err);
}

/* Where a GPU is needed and there is none, a line tells why nothing is measured. */
static saltus_status measure(bench *b, const benchmark *what, saltus_error *err)
{
    b->name = what->name;
    print_machine(b);
    b->n_gpus = what->where == ON_GPUS ? count_gpus(b) : 0;
    if (what->where == ON_GPUS && b->n_gpus == 0) {
        bench_end_skipped(b, b->no_gpu);
        return SALTUS_OK;
    }
    return what->run(b, err);
}

static int print_error(const saltus_error *err, int code)
{
    fprintf(stderr, "saltus-bench: %s\n", err->message);
    if (err->hint[0]) {
        fprintf(stderr, "  hint: %s\n", err->hint);
    }
    return code;
}

static int measure_all(const arguments *a)
{
    char folder[1200];
    saltus_error err = {0};
    bench b = {.quick = a->quick,
               .part = a->part,
               .threads = a->threads,
               .model = a->model,
               .until = a->until};
    int code = 0;
    b.examples = a->examples ? a->examples : find_examples(folder, sizeof folder);
    if (!b.examples) {
        fprintf(stderr, "saltus-bench: the examples are not here: --examples FOLDER is needed\n");
        return EXIT_USAGE;
    }
    if (open_devices(&b, a->device, &err) != SALTUS_OK) {
        code = print_error(&err, EXIT_USAGE);
    }
    for (int i = 0; i < a->n_chosen && code == 0; ++i) {
        if (measure(&b, a->chosen[i], &err) != SALTUS_OK) {
            code = print_error(&err, EXIT_FAILED);
        }
    }
    if (b.has_failed) {
        fprintf(stderr, "saltus-bench: a check failed: see \"check\" above\n");
        code = EXIT_FAILED;
    }
    saltus_backend_close(b.gpu);
    saltus_backend_close(b.cpu);
    return code;
}

static int finish(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "saltus-bench: standard output: writing failed\n");
        return EXIT_FAILED;
    }
    return code;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[NAME…]",
        "Measure what a paper's table shows, or a case of our own, beside a plain sequential "
        "program, one core and all cores, and check every result. Without NAME: list what there "
        "is.",
        NULL,
        NULL,
        NULL};
    char version[60];
    arguments a = {.part = 1.0};
    for (int i = 0; i < N_BENCHMARKS; ++i) {
        for (char *at = list[i].name; (at = strchr(at, '_')) != NULL;) {
            *at = '-';
        }
    }
    (void)snprintf(version, sizeof version, "saltus-bench %s", saltus_version());
    argp_program_version = version;
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0) {
        return EXIT_USAGE;
    }
    if (a.n_chosen > 0) {
        return finish(measure_all(&a));
    }
    for (int i = 0; i < N_BENCHMARKS; ++i) {
        printf("%-24s%s\n", list[i].name, list[i].what);
    }
    return finish(0);
}
