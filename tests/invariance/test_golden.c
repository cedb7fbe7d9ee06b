/* Every example, by every method, generator and layout, has the bits that it had: those of
 * tests/golden/bits.txt, a line for each example, method and generator. Bits hang on no layout, no
 * instruction set and no device, so that one hash is for all of them. The lines are written anew,
 * instead of compared, when SALTUS_GOLDEN_UPDATE names a file (tools/golden_bits). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/bits.h"
#include "../support/gpu.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>

/* All of them in a few seconds: until then something happens in each. */
typedef struct example {
    const char *name;
    double until;
    int n; /* trajectories */
    /* well mixed; with values that are drawn; with rate rules; with both; on a lattice; one that is
     * too large for a played GPU */
    enum { MIXED, DRAWN, RATES, DRAWN_RATES, LATTICE, LARGE_LATTICE } kind;
} example;

static const example examples[] = {
    {"ab-equilibrium", 1e-3, 2, LATTICE},
    {"abc-lattice", 0.01, 2, LATTICE},
    {"barrier", 3e-4, 1, LARGE_LATTICE},
    {"crowding", 2e-05, 1, LARGE_LATTICE},
    {"dimer-decay", 30.0, 20, MIXED},
    {"dimer-decay-x2", 0.5, 20, MIXED},
    {"dimer-decay-x4", 0.3, 20, MIXED},
    {"dimer-decay-x6", 0.2, 20, MIXED},
    {"dimer-decay-x12", 0.1, 20, MIXED},
    {"division", 60.0, 20, DRAWN},
    {"fast-binding", 2e-4, 10, MIXED},
    {"fully-connected", 0.2, 20, MIXED},
    {"gene-network", 10.0, 40, MIXED},
    {"lac-operon", 20010.0, 1, MIXED}, /* beyond the event */
    {"michaelis-menten", 2.0, 20, MIXED},
    {"min-proteins", 0.01, 1, LARGE_LATTICE},
    {"min-system", 0.01, 1, LARGE_LATTICE},
    {"oregonator", 0.01, 20, MIXED},
    {"ras-camp-pka", 0.2, 40, MIXED},
    {"schlogl", 0.5, 20, MIXED},
    {"seasonal-sir", 10.0, 10, MIXED},
    {"signalling", 2e-3, 2, LATTICE},
    {"single-gene-8", 40.0, 40, MIXED},
    {"single-gene-16", 20.0, 40, MIXED},
    {"single-gene-32", 10.0, 40, MIXED},
    {"single-gene-64", 6.0, 40, MIXED},
    {"single-gene-128", 3.0, 40, MIXED},
    {"single-gene-256", 2.0, 40, MIXED},
    {"switched-gene", 60.0, 20, RATES},
    {"vilar", 0.5, 20, MIXED},
    {"adder", 60.0, 10, DRAWN_RATES},
    {"sizer", 60.0, 10, DRAWN_RATES},
    {"timer", 60.0, 10, DRAWN_RATES},
};
enum { N_EXAMPLES = sizeof examples / sizeof *examples, FIRST = 3, N_TIMES = 5 };

/* The first four of models that are well mixed, the others of lattices. */
static const char *const methods[] = {"direct", "tau", "ode", "hybrid", "mpd", "nsm"};
enum { N_METHODS = 6, N_MIXED = 4 };
/* First those of a CPU, from the third on those of a GPU; nsm has "auto" alone. */
static const char *const layouts[] = {"lanes",  "scalar", "particles", "registers",
                                      "shared", "warp",   "global",    "counts"};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts, N_OF_CPU = 3, FIRST_OF_GPU = 2 };
enum { LINE_SIZE = 300, MOST_LINES = 1000 };
/* Which layouts fit is said of this GPU, which need not be here. */
static const char gpu_of_lines[] = "cuda:sm_90";

/* ---- the lines that are kept ---- */

typedef struct line {
    char text[LINE_SIZE];
    char key[120]; /* "example method generator" */
    char layouts[150];
    uint64_t hash;
    int n_compared; /* runs */
} line;

static const char header[] = "# example method generator events leaps exact-steps hash layouts\n";
static line lines[MOST_LINES];
static int n_lines;
static FILE *update; /* the file that is written anew, or NULL */

static int read_lines(void **state)
{
    char text[LINE_SIZE], parts[3][40];
    const char *path = getenv("SALTUS_GOLDEN_BITS"), *new_path = getenv("SALTUS_GOLDEN_UPDATE");
    if (new_path) {
        update = fopen(new_path, "w");
        return update && fputs(header, update) >= 0 ? set_up(state) : -1;
    }
    FILE *in = path ? fopen(path, "r") : NULL;
    while (in && fgets(text, sizeof text, in)) {
        line *l = &lines[n_lines];
        text[strcspn(text, "\n")] = '\0';
        if (text[0] == '#') {
            continue;
        }
        if (n_lines == MOST_LINES ||
            sscanf(text, "%39s %39s %39s %*s %*s %*s %" SCNx64 " %149[^\n]", parts[0], parts[1],
                   parts[2], &l->hash, l->layouts) != 5) {
            print_error("%s: %s\n", path, text);
            return -1;
        }
        (void)snprintf(l->text, sizeof l->text, "%s", text);
        (void)snprintf(l->key, sizeof l->key, "%s %s %s", parts[0], parts[1], parts[2]);
        ++n_lines;
    }
    if (!in) {
        print_error("SALTUS_GOLDEN_BITS must name tests/golden/bits.txt\n");
        return -1;
    }
    (void)fclose(in);
    return set_up(state);
}

static int close_lines(void **state)
{
    (void)state;
    return update ? fclose(update) : 0;
}

static line *find_line(const char *key)
{
    for (int i = 0; i < n_lines; ++i) {
        if (strcmp(lines[i].key, key) == 0) {
            return &lines[i];
        }
    }
    fail_msg("no line for %s", key);
    abort(); /* not reached */
}

/* ---- runs ---- */

/* A model, and one way to simulate it. */
typedef struct kase {
    const example *x;
    saltus_model *model;
    saltus_plan_options plan;
    char key[120];
} kase;

static saltus_model *read_example(const example *x)
{
    char path[1000];
    saltus_error err = {0};
    saltus_model *m = NULL;
    const char *folder = getenv("SALTUS_EXAMPLES");
    (void)snprintf(path, sizeof path, "%s/%s.yaml", folder ? folder : "examples", x->name);
    OK(saltus_model_read(path, &m, &err));
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    return m;
}

static uint64_t hash_of(const kase *c, const char *device, const char *layout, int threads,
                        saltus_run_report *report)
{
    double times[N_TIMES];
    saltus_plan_options plan = c->plan;
    plan.layout = layout;
    plan.n_threads = threads;
    for (int i = 0; i < N_TIMES; ++i) {
        times[i] = c->x->until * i / (N_TIMES - 1);
    }
    return bits_hash_report(c->model, device, &plan, FIRST, c->x->n, times, N_TIMES, report);
}

static bool fits(const kase *c, const char *device, const char *layout)
{
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_plan_options wanted = c->plan;
    wanted.layout = layout;
    OK(saltus_backend_open(device, &backend, &err));
    const bool fits = saltus_plan_create(c->model, backend, &wanted, &plan, &err) == SALTUS_OK;
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    return fits;
}

/* The line as it should stand: " cpu:lanes cpu:scalar cuda:registers" are the layouts that fit. */
static void write_line(const kase *c, char text[LINE_SIZE])
{
    saltus_run_report report = {0};
    const bool is_nsm = strcmp(c->plan.method, "nsm") == 0;
    const bool is_lattice = is_nsm || strcmp(c->plan.method, "mpd") == 0;
    const uint64_t hash = hash_of(c, "cpu:generic", is_lattice ? "auto" : "scalar", 1, &report);
    /* particles alone move where nothing reacts, and what flows is no event */
    const bool may_flow =
        strcmp(c->plan.method, "ode") == 0 || strcmp(c->plan.method, "hybrid") == 0;
    if (report.events <= 0 && !may_flow && saltus_model_n_reactions(c->model) > 0) {
        fail_msg("%s: nothing happens until %g s", c->key, c->x->until);
    }
    int n = snprintf(text, LINE_SIZE, "%s %" PRId64 " %" PRId64 " %" PRId64 " %016" PRIx64, c->key,
                     report.events, report.leaps, report.exact_steps, hash);
    if (is_nsm) {
        n += snprintf(text + n, (size_t)(LINE_SIZE - n), " cpu:auto");
    }
    for (int d = 0; d < 2 && !is_nsm; ++d) {
        for (int l = d == 0 ? 0 : FIRST_OF_GPU; l < (d == 0 ? N_OF_CPU : N_LAYOUTS); ++l) {
            if (fits(c, d == 0 ? "cpu" : gpu_of_lines, layouts[l])) {
                n += snprintf(text + n, (size_t)(LINE_SIZE - n), " %s:%s", d == 0 ? "cpu" : "cuda",
                              layouts[l]);
            }
        }
    }
}

/* Call for each of a line's layouts on "cpu" or "cuda"; how many there are. */
static int for_each_layout(const kase *c, line *l, const char *device,
                           void (*check)(const kase *, line *, const char *layout))
{
    char names[sizeof l->layouts], *more = NULL;
    int n = 0;
    (void)strcpy(names, l->layouts);
    for (char *name = strtok_r(names, " ", &more); name; name = strtok_r(NULL, " ", &more)) {
        const size_t length = strlen(device);
        if (strncmp(name, device, length) == 0 && name[length] == ':') {
            check(c, l, name + length + 1);
            ++n;
        }
    }
    return n;
}

static void compare(const kase *c, line *l, const char *device, const char *layout, int threads)
{
    const uint64_t hash = hash_of(c, device, layout, threads, NULL);
    if (hash != l->hash) {
        fail_msg("%s, layout %s, %d threads: %016" PRIx64 " is not the hash of\n%s", device, layout,
                 threads, hash, l->text);
    }
    ++l->n_compared;
}

/* Lanes are compiled for each instruction set; the rest there is once. */
static void check_on_cpus(const kase *c, line *l, const char *layout)
{
    const bool lanes = strcmp(layout, "lanes") == 0;
    for (int d = 0; d < (lanes ? N_BITS_DEVICES : 1); ++d) {
        if (bits_has(bits_devices[d])) {
            compare(c, l, bits_devices[d], layout, 3);
        }
    }
}

static void check_cpu(const kase *c)
{
    char text[LINE_SIZE];
    write_line(c, text);
    if (update) {
        (void)fprintf(update, "%s\n", text);
        return;
    }
    line *l = find_line(c->key);
    if (strcmp(text, l->text) != 0) {
        fail_msg("this line\n%s\nis now\n%s", l->text, text);
    }
    assert_true(for_each_layout(c, l, "cpu", check_on_cpus) > 0);
}

/* Of these three on a GPU, numbers of lines that have them, and of those that were compared. */
static int n_of[N_METHODS][N_BITS_GENERATORS][N_LAYOUTS][2];

static int find(const char *name, const char *const *names, int n)
{
    int i = 0;
    while (i < n && strcmp(name, names[i]) != 0) {
        ++i;
    }
    assert_true(i < n);
    return i;
}

/* A GPU with less shared memory than that of the lines may refuse a layout for it. Where layouts
 * are played, and in parts of the tests, each is compared for two examples, other ones each. */
static void check_on_gpu(const kase *c, line *l, const char *layout)
{
    const int rng = find(c->plan.rng, bits_generators, N_BITS_GENERATORS),
              number = find(layout, layouts, N_LAYOUTS);
    int *n = n_of[find(c->plan.method, methods, N_METHODS)][rng][number];
    ++n[0];
    if ((is_fake() || takes_part()) && c->x->kind <= DRAWN &&
        (n[1] == 2 || (c->x - examples + rng + number) % 5 != 0)) {
        return;
    }
    if (strcmp(layout, "shared") != 0 || fits(c, "cuda", layout)) {
        compare(c, l, "cuda", layout, 0);
        ++n[1];
    }
}

static void check_gpu(const kase *c)
{
    line *l = find_line(c->key);
    (void)for_each_layout(c, l, "cuda", check_on_gpu);
}

/* Every method and generator of an example. */
static void for_each_case(const example *x, void (*check)(const kase *))
{
    const bool has_lattice = x->kind == LATTICE || x->kind == LARGE_LATTICE;
    saltus_model *m = read_example(x);
    for (int k = has_lattice ? N_MIXED : 0; k < (has_lattice ? N_METHODS : N_MIXED); ++k) {
        const bool is_ode = strcmp(methods[k], "ode") == 0;
        const bool has_philox_alone =
            x->kind > DRAWN || is_ode || strcmp(methods[k], "hybrid") == 0;
        const bool has_rates = x->kind == RATES || x->kind == DRAWN_RATES;
        const bool is_drawn = x->kind == DRAWN || x->kind == DRAWN_RATES;
        if ((has_rates && strcmp(methods[k], "tau") == 0) || (is_drawn && is_ode)) {
            continue;
        }
        for (int g = 0; g < (has_philox_alone ? 1 : N_BITS_GENERATORS); ++g) {
            kase c = {.x = x, .model = m};
            c.plan = bits_plan(methods[k], bits_generators[g], "auto", 0);
            c.plan.by_type = has_lattice;
            c.plan.profile = has_lattice ? "z" : NULL;
            (void)snprintf(c.key, sizeof c.key, "%s %s %s", x->name, c.plan.method, c.plan.rng);
            check(&c);
        }
    }
    saltus_model_destroy(m);
}

/* ---- tests ---- */

static void cpu_has_the_bits(void **state)
{
    if (is_fake()) {
        skip(); /* no GPU takes part */
    }
    for_each_case(*state, check_cpu);
}

static void gpu_has_the_bits(void **state)
{
    const example *x = *state;
    need_gpu("cuda");
    if (update || (x->kind == LARGE_LATTICE && is_fake())) {
        skip();
    }
    for_each_case(x, check_gpu);
}

/* Each line on the CPU; on a GPU each method, with each generator, in each layout. */
static void everything_was_compared(void **state)
{
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    (void)state;
    for (int i = 0; i < n_lines && !is_fake(); ++i) {
        if (lines[i].n_compared == 0) {
            fail_msg("no test has run this line\n%s", lines[i].text);
        }
    }
    if (update || saltus_backend_open("cuda", &backend, &err) != SALTUS_OK) {
        return;
    }
    saltus_backend_close(backend);
    int n_compared = 0;
    for (int m = 0; m < N_METHODS; ++m) {
        for (int g = 0; g < N_BITS_GENERATORS; ++g) {
            for (int l = 0; l < N_LAYOUTS; ++l) {
                const int *n = n_of[m][g][l];
                if (n[0] > 0 && n[1] == 0) {
                    fail_msg("%s %s %s: not compared", methods[m], bits_generators[g], layouts[l]);
                }
                n_compared += n[1];
            }
        }
    }
    assert_true(n_compared > 0);
}

/* A model that comes to examples/ comes to the table above. */
static void every_example_is_here(void **state)
{
    char pattern[1000];
    glob_t found;
    const char *folder = getenv("SALTUS_EXAMPLES");
    (void)state;
    (void)snprintf(pattern, sizeof pattern, "%s/*.yaml", folder ? folder : "examples");
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; ++i) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1;
        int k = 0;
        while (k < N_EXAMPLES && (strncmp(name, examples[k].name, strlen(examples[k].name)) != 0 ||
                                  strcmp(name + strlen(examples[k].name), ".yaml") != 0)) {
            ++k;
        }
        if (k == N_EXAMPLES) {
            fail_msg("%s has no golden bits", name);
        }
    }
    assert_int_equal(found.gl_pathc, N_EXAMPLES);
    globfree(&found);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[2 * N_EXAMPLES + 2];
    char names[2 * N_EXAMPLES][60];
    for (int i = 0; i < 2 * N_EXAMPLES; ++i) {
        const example *x = &examples[i % N_EXAMPLES];
        const bool on_gpu = i >= N_EXAMPLES;
        (void)snprintf(names[i], sizeof names[i], "%s on a %s", x->name, on_gpu ? "GPU" : "CPU");
        tests[i] = (struct CMUnitTest){.name = names[i],
                                       .test_func = on_gpu ? gpu_has_the_bits : cpu_has_the_bits,
                                       .initial_state = (void *)(uintptr_t)x};
    }
    tests[2 * N_EXAMPLES] = (struct CMUnitTest)cmocka_unit_test(everything_was_compared);
    tests[2 * N_EXAMPLES + 1] = (struct CMUnitTest)cmocka_unit_test(every_example_is_here);
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, read_lines, close_lines);
}
