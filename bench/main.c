/* saltus bench: the papers' tables and comparisons of our own, by one command each, one JSON line
 * per measurement. */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_QUICK = 256, OPT_PART, OPT_DEVICE, OPT_THREADS, OPT_EXAMPLES };

/* Where there is something to measure. */
typedef enum place { ANYWHERE, ON_GPUS } place;

static const struct {
    const char *name;
    place where;
    saltus_status (*run)(saltus_bench *bench, saltus_error *err);
    const char *what;
} tables[] = {
    {"klingbeil-oregonator", ANYWHERE, saltus_bench_klingbeil_oregonator,
     "time per trajectory against the block size, fat and thin threads, Oregonator"},
    {"klingbeil-models", ANYWHERE, saltus_bench_klingbeil_models,
     "speed-up of every layout over one core: the paper's five models and a larger one"},
    {"klingbeil-copies", ANYWHERE, saltus_bench_klingbeil_copies,
     "fat over thin for 1 to 12 copies of decay-dimerisation"},
    {"sumiyoshi-realisations", ANYWHERE, saltus_bench_sumiyoshi_realisations,
     "10 to 1,000,000 realisations, thread and warp per trajectory"},
    {"sumiyoshi-overlap", ANYWHERE, saltus_bench_sumiyoshi_overlap,
     "1-, 2- and 4-way overlap of kernels and transfers, whole time courses"},
    {"sumiyoshi-genes", ANYWHERE, saltus_bench_sumiyoshi_genes,
     "single-gene models of 8 to 256 reactions"},
    {"sumiyoshi-tables", ANYWHERE, saltus_bench_sumiyoshi_tables,
     "dense against compressed tables: bytes, and reactions that fit in 64 KiB"},
    {"nobile-table1", ANYWHERE, saltus_bench_nobile_table1,
     "2^6 to 2^18 simulations of four models, by the method that auto chooses"},
    {"nobile-table2", ANYWHERE, saltus_bench_nobile_table2,
     "100 random networks a row, of eight kinds, by the method that auto chooses"},
    {"nobile-sweeps", ANYWHERE, saltus_bench_nobile_sweeps,
     "sweeps of Schlögl's network and of Ras, distributions over time, break-even of a GPU"},
    {"hallock-cells", ANYWHERE, saltus_bench_hallock_cells,
     "time of a step of a lattice: the paper's four cells, at two spacings, two kinds of "
     "reactions"},
    {"hallock-scaling", ON_GPUS, saltus_bench_hallock_scaling,
     "the same on 1, 2, 4 and 8 GPUs, a slab on each"},
    {"hallock-particles", ON_GPUS, saltus_bench_hallock_particles,
     "the same against the number of particles: A <-> B in two lattices"},
    {"hallock-reactions", ON_GPUS, saltus_bench_hallock_reactions,
     "the same against the number of reactions of first order, 0 to 10"},
    {"hallock-phases", ON_GPUS, saltus_bench_hallock_phases,
     "what of a step is looking for particles, moving them, reactions and slabs that meet"},
    {"hallock-balance", ON_GPUS, saltus_bench_hallock_balance,
     "slabs as high as each other, and levelled: not alike in particles, nor in GPUs"},
    {"hallock-copy", ON_GPUS, saltus_bench_hallock_copy,
     "from one GPU to another: by copies, by loads and by way of the host, 1 kB to 64 MB"},
    {"lm-lattices", ANYWHERE, saltus_bench_lm_lattices,
     "the same for the lattices on which Lattice Microbes was timed, and denser ones"},
    {"rng", ANYWHERE, saltus_bench_rng,
     "the random generators: words, events of every layout, distributions"},
    {"tau-accuracy", ANYWHERE, saltus_bench_tau_accuracy,
     "distributions by tau-leaping beside exact ones, for four values of epsilon"},
    {"unequal", ANYWHERE, saltus_bench_unequal,
     "one trajectory in a hundred runs a hundred times longer, beside equal ones"},
    {"lm-nsm", ANYWHERE, saltus_bench_lm_nsm,
     "space on one core: the next-subvolume method beside multiparticle diffusion"},
};
enum { N_TABLES = sizeof tables / sizeof *tables, MOST_GPUS = 8 };

typedef struct arguments {
    const char *name, *device, *examples;
    int64_t threads;
    double part;
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
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    arguments *a = state->input;
    switch (key) {
    case OPT_QUICK:
        a->quick = true;
        return 0;
    case OPT_PART:
        if (!saltus_cli_double(text, &a->part) || !(a->part > 0.0 && a->part <= 1.0)) {
            (void)saltus_cli_usage("--part '%s': a number above 0 and up to 1 is needed", text);
            return EINVAL;
        }
        return 0;
    case OPT_DEVICE:
        a->device = text;
        if (strncmp(text, "cuda", 4) != 0 && strcmp(text, "cpu") != 0) {
            (void)saltus_cli_usage("--device '%s': cuda, cuda:N or cpu is needed", text);
            return EINVAL;
        }
        return 0;
    case OPT_THREADS:
        if (!saltus_cli_int(text, 1, 4096, &a->threads)) {
            (void)saltus_cli_usage("--threads '%s': a whole number from 1 to 4096 is needed", text);
            return EINVAL;
        }
        return 0;
    case OPT_EXAMPLES:
        a->examples = text;
        return 0;
    case ARGP_KEY_ARG:
        return saltus_cli_take_argument(&a->name, text, "benchmark");
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
static saltus_status open_devices(saltus_bench *b, const arguments *a, saltus_error *err)
{
    saltus_error no_gpu = {0};
    saltus_status status = saltus_backend_open("cpu", &b->cpu, err);
    if (status != SALTUS_OK) {
        return status;
    }
    if (a->device && strcmp(a->device, "cpu") == 0) {
        (void)snprintf(b->no_gpu, sizeof b->no_gpu, "--device cpu");
        return SALTUS_OK;
    }
    status = saltus_backend_open(a->device ? a->device : "cuda", &b->gpu, &no_gpu);
    if (status != SALTUS_OK && a->device) {
        *err = no_gpu;
        return status;
    }
    (void)snprintf(b->no_gpu, sizeof b->no_gpu, "%.*s", (int)sizeof b->no_gpu - 1, no_gpu.message);
    return SALTUS_OK;
}

/* The line of saltus devices about a GPU, in JSON. */
static void print_gpu(const saltus_bench *b)
{
    char *text = NULL, start[60];
    const char *name = b->gpu ? saltus_backend_name(b->gpu) : "";
    size_t size = 0;
    FILE *list = b->gpu ? open_memstream(&text, &size) : NULL;
    if (list) {
        saltus_backend_list(list);
        (void)fclose(list);
    }
    (void)snprintf(start, sizeof start, "  cuda:%ld ",
                   strncmp(name, "cuda:", 5) == 0 ? strtol(name + 5, NULL, 10) : 0L);
    char *line = text ? strstr(text, start) : NULL;
    if (line) {
        line += strlen(start);
        line += strspn(line, " ");
        line[strcspn(line, "\n")] = '\0';
        saltus_cli_print_text(line);
    } else {
        printf("null");
    }
    free(text);
}

static void print_machine(const saltus_bench *b)
{
    char line[300], *name = NULL;
    FILE *in = fopen("/proc/cpuinfo", "r");
    while (in && !name && fgets(line, sizeof line, in)) {
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            name = strchr(line, ':') + 2;
        }
    }
    if (in) {
        (void)fclose(in);
    }
    printf("{\"bench\": \"%s\", \"version\": \"%s\", \"quick\": %s, \"cores\": %ld, \"cpu\": ",
           b->name, saltus_version(), b->quick ? "true" : "false", sysconf(_SC_NPROCESSORS_ONLN));
    saltus_cli_print_text(name ? name : "");
    printf(", \"gpu\": ");
    print_gpu(b);
    printf("}\n");
}

static int count_gpus(const saltus_bench *b)
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

saltus_status saltus_bench_open_gpus(int n, saltus_backend **out, saltus_error *err)
{
    char name[60] = "cuda:0";
    for (int i = 1; i < n; ++i) {
        (void)snprintf(name + strlen(name), sizeof name - strlen(name), ",%d", i);
    }
    return saltus_backend_open(name, out, err);
}

/* Where a GPU is needed and there is none, a line tells why nothing is measured. */
static saltus_status run_table(saltus_bench *b, int table, saltus_error *err)
{
    print_machine(b);
    b->n_gpus = tables[table].where == ON_GPUS ? count_gpus(b) : 0;
    if (tables[table].where == ON_GPUS && b->n_gpus == 0) {
        printf("{\"bench\": \"%s\", \"skipped\": ", b->name);
        saltus_cli_print_text(b->no_gpu);
        printf("}\n");
        return SALTUS_OK;
    }
    return tables[table].run(b, err);
}

static int measure(const arguments *a, int table)
{
    char folder[1200];
    saltus_error err = {0};
    saltus_bench b = {
        .name = a->name, .quick = a->quick, .part = a->part, .threads = (int)a->threads};
    b.examples = a->examples ? a->examples : find_examples(folder, sizeof folder);
    if (!b.examples) {
        return saltus_cli_usage("the examples are not here: --examples FOLDER is needed");
    }
    saltus_status status = open_devices(&b, a, &err);
    const bool is_open = status == SALTUS_OK;
    if (is_open) {
        status = run_table(&b, table, &err);
    }
    if (status == SALTUS_OK && !saltus_cli_flush(&err)) {
        status = SALTUS_E_IO;
    }
    if (status != SALTUS_OK) {
        saltus_cli_print_error(&err);
    } else if (b.has_failed) {
        fprintf(stderr, "saltus: a check failed: see \"check\" above\n");
    }
    saltus_backend_close(b.gpu);
    saltus_backend_close(b.cpu);
    return !is_open ? EXIT_USAGE : status == SALTUS_OK && !b.has_failed ? EXIT_DONE : EXIT_FAILED;
}

static int list_tables(void)
{
    saltus_error err = {0};
    for (int i = 0; i < N_TABLES; ++i) {
        printf("%-24s%s\n", tables[i].name, tables[i].what);
    }
    if (!saltus_cli_flush(&err)) {
        saltus_cli_print_error(&err);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static int choose(const arguments *a)
{
    if (!a->name) {
        return list_tables();
    }
    for (int i = 0; i < N_TABLES; ++i) {
        if (strcmp(a->name, tables[i].name) == 0) {
            return measure(a, i);
        }
    }
    saltus_error err = {.code = SALTUS_E_INVALID, .hint = "saltus bench lists them"};
    (void)snprintf(err.message, sizeof err.message, "there is no benchmark '%.200s'", a->name);
    saltus_cli_print_error(&err);
    return EXIT_USAGE;
}

int saltus_cli_bench(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "[NAME]",
        "Measure what a paper's table shows, or a case of our own, beside a plain sequential "
        "program, one core and all "
        "cores, and check every result. Without NAME: list what there is.",
        NULL,
        NULL,
        NULL};
    arguments a = {.part = 1.0};
    const int code = saltus_cli_parse(&argp, argc, argv, &a);
    return code >= 0 ? code : choose(&a);
}
