/* saltus-bench: on the CPU, and where the fakes of tests/fake are found, on a GPU that is played.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXAMPLES "--examples \"$SALTUS_SOURCE/examples\""

/* Kernels go to the test's own folder. */
static int enter(void **state)
{
    char path[1000];
    const int failed = enter_directory(state);
    return failed || !getcwd(path, sizeof path) || setenv("TMPDIR", path, 1) != 0 ||
           setenv("SALTUS_CACHE", path, 1) != 0;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; ++at) {
        ++n;
    }
    return n;
}

/* Every line is an object; the first tells the machine. */
static void assert_lines(const outcome *o, const char *name)
{
    assert_done(o);
    char expected[100];
    (void)snprintf(expected, sizeof expected, "{\"bench\": \"%s\"", name);
    for (const char *line = o->out, *end; *line; line = end) {
        end = line + strcspn(line, "\n") + 1;
        char *copy = strndup(line, (size_t)(end - line));
        assert_non_null(copy);
        assert_is_json(copy);
        assert_int_equal(strncmp(copy, expected, strlen(expected)), 0);
        free(copy);
    }
    assert_non_null(strstr(o->out, "\"quick\": true, \"cores\": "));
}

static void names_are_listed(void **state)
{
    static const char *const names[] = {"klingbeil-oregonator",
                                        "klingbeil-models",
                                        "klingbeil-copies",
                                        "sumiyoshi-realisations",
                                        "sumiyoshi-overlap",
                                        "sumiyoshi-genes",
                                        "sumiyoshi-tables",
                                        "nobile-table1",
                                        "nobile-table2",
                                        "nobile-sweeps",
                                        "hallock-cells",
                                        "hallock-scaling",
                                        "hallock-particles",
                                        "hallock-reactions",
                                        "hallock-balance",
                                        "hallock-phases",
                                        "hallock-copy",
                                        "lm-lattices",
                                        "rng",
                                        "tau-accuracy",
                                        "unequal",
                                        "lm-nsm",
                                        "core-dimer-decay",
                                        "core-schlogl",
                                        "core-tau",
                                        "core-reactions",
                                        "core-networks",
                                        "large-networks",
                                        "scheme  "};
    enum { N_NAMES = sizeof names / sizeof *names };
    (void)state;
    outcome o = saltus("%s", "");
    assert_done(&o);
    assert_int_equal(count_lines(o.out), N_NAMES);
    for (int i = 0; i < N_NAMES; ++i) {
        assert_int_equal(count(o.out, names[i]), 1);
    }
    o = saltus("--version");
    assert_done(&o);
    assert_int_equal(strncmp(o.out, "saltus-bench ", 13), 0);
    o = saltus("-h");
    assert_done(&o);
    assert_non_null(strstr(o.out, "--quick"));
}

static void wrong_usage_is_refused(void **state)
{
    static const struct {
        const char *arguments, *part;
    } cases[] = {
        {"nonsense", "no benchmark 'nonsense'\n  hint: saltus-bench lists them"},
        {"klingbeil-models nothing", "no benchmark 'nothing'"},
        {"klingbeil-models --device tpu", "--device 'tpu'"},
        {"klingbeil-models --device cuda:1000", "cuda:1000"},
        {"klingbeil-models --threads 0", "--threads '0'"},
        {"nobile-table2 --part 0", "--part '0'"},
        {"nobile-table2 --part 1.1", "--part '1.1'"},
        {"large-networks --until 0", "--until '0'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        if (strstr(cases[i].arguments, "1000") && !is_fake()) {
            continue; /* other words without a driver */
        }
        const outcome o = saltus("%s " EXAMPLES, cases[i].arguments);
        assert_refused(&o, 2, cases[i].part);
    }
    const outcome o = saltus("klingbeil-models --device cpu --examples .");
    assert_int_equal(o.code, 1);
    assert_one_message(&o, "./dimer-decay.yaml");
}

static void the_cpu_is_measured_and_checked(void **state)
{
    (void)state;
    if (is_fake()) {
        skip(); /* once is enough */
    }
    outcome o = saltus("klingbeil-oregonator --quick --device cpu --threads 2 " EXAMPLES);
    assert_lines(&o, "klingbeil-oregonator");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 3);
    assert_int_equal(count(o.out, "\"layout\": \"shared\", \"block\": 64, \"skipped\": "
                                  "\"--device cpu\""),
                     1);
    assert_int_equal(count(o.out, "\"skipped\": "), 26);
    o = saltus("sumiyoshi-realisations --quick --device cpu " EXAMPLES);
    assert_lines(&o, "sumiyoshi-realisations");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 6);
    assert_int_equal(count(o.out, "\"trajectories\": 1000,"), 1);
    o = saltus("sumiyoshi-tables --quick --device cpu " EXAMPLES);
    assert_lines(&o, "sumiyoshi-tables");
    assert_non_null(strstr(o.out, "\"tables\": \"dense\", \"bytes\": 65536, \"most_reactions\": "
                                  "112}"));
    o = saltus("unequal --quick --device cpu " EXAMPLES);
    assert_lines(&o, "unequal");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 6);
    assert_int_equal(count(o.out, "\"engine\": \"cores\", \"events_per_second_equal\": "), 1);
    assert_int_equal(count(o.out, "\"unequal_over_equal\": "), 1);
    o = saltus("lm-nsm --quick --device cpu " EXAMPLES);
    assert_lines(&o, "lm-nsm");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 6);
    assert_int_equal(count(o.out, "\"moves\": "), 3);
}

/* Several names in one call; networks are there, or a line says why not. */
static void one_core_is_measured_and_checked(void **state)
{
    (void)state;
    if (is_fake()) {
        skip(); /* once is enough */
    }
    const outcome o = saltus("core-dimer-decay core-schlogl core-tau core-reactions core-networks "
                             "--quick --device cpu " EXAMPLES);
    assert_done(&o);
    assert_int_equal(count(o.out, "\"version\": "), 5);
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 3 + 2);
    assert_int_equal(count(o.out, "\"ratio_by_hand\": "), 1);
    assert_int_equal(count(o.out, "\"bench\": \"core-networks\", \"model\": \""), 3);
}

/* The number of a field in the last line that has it. */
static double field(const char *text, const char *name)
{
    char quoted[60];
    const char *last = NULL;
    (void)snprintf(quoted, sizeof quoted, "\"%s\": ", name);
    for (const char *at = text; (at = strstr(at, quoted)) != NULL; ++at) {
        last = at + strlen(quoted);
    }
    assert_non_null(last);
    return strtod(last, NULL);
}

/* A network that a script writes is like that for which it stands; the others are not there. Of a
 * file of one's own events are counted too. */
static void large_networks_are_measured_and_checked(void **state)
{
    static const char *const like[] = {"dependents", "species_changed", "entropy", "frequent",
                                       "constants"};
    static const char *const wanted[] = {"wanted_dependents", "wanted_species", "wanted_entropy",
                                         "wanted_frequent", "wanted_constants"};
    (void)state;
    if (is_fake()) {
        skip(); /* once is enough */
    }
    assert_int_equal(setenv("BIONETGEN_NETWORKS", ".", 1), 0);
    assert_int_equal(system("python3 -B \"$SALTUS_SOURCE/bench/bcr_network\" >bcr.net"), 0);
    outcome o = saltus("large-networks --quick --device cpu " EXAMPLES);
    assert_lines(&o, "large-networks");
    assert_int_equal(count(o.out, "\"skipped\": \"there is no such file\""), 3);
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 1);
    assert_int_equal((int)field(o.out, "species"), 1106);
    assert_int_equal((int)field(o.out, "reactions"), 22079);
    for (size_t i = 0; i < sizeof like / sizeof *like; ++i) {
        const double ratio = field(o.out, like[i]) / field(o.out, wanted[i]);
        assert_true(ratio > 0.8 && ratio < 1.2);
    }
    FILE *own = fopen("own.net", "w");
    assert_non_null(own);
    assert_true(fputs("begin species\n1 A 50\n2 B 0\nend species\nbegin reactions\n"
                      "1 1 2 1\n2 2 1 2\nend reactions\n",
                      own) > 0);
    assert_int_equal(fclose(own), 0);
    o = saltus("large-networks --quick --device cpu --model own.net " EXAMPLES);
    assert_lines(&o, "large-networks");
    assert_int_equal(count(o.out, "\"model\": \"own.net\", "), 1);
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 1);
    assert_true(field(o.out, "dependents") == 2.0);
    assert_true(field(o.out, "trajectories") == 1.0);
    o = saltus("large-networks --quick --device cpu --model own.net --until 0.5 " EXAMPLES);
    assert_lines(&o, "large-networks");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 1);
    assert_true(field(o.out, "until") == 0.5);
    assert_true(field(o.out, "trajectories") > 1000.0);
}

/* Two lattices, one with two numbers of particles; one cell with three kinds of reactions. */
static void steps_of_lattices_are_timed_and_checked(void **state)
{
    (void)state;
    if (is_fake()) {
        skip(); /* once is enough */
    }
    outcome o = saltus("lm-lattices --quick --device cpu " EXAMPLES);
    assert_lines(&o, "lm-lattices");
    assert_int_equal(count(o.out, "\"engine\": \"cores\""), 3);
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 3);
    o = saltus("hallock-cells --quick --device cpu " EXAMPLES);
    assert_lines(&o, "hallock-cells");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 3);
    static const char *const of_gpus[] = {"hallock-scaling",   "hallock-particles",
                                          "hallock-reactions", "hallock-phases",
                                          "hallock-balance",   "hallock-copy"};
    for (size_t i = 0; i < sizeof of_gpus / sizeof *of_gpus; ++i) {
        o = saltus("%s --quick --device cpu " EXAMPLES, of_gpus[i]);
        assert_lines(&o, of_gpus[i]);
        assert_int_equal(count(o.out, "\"skipped\": \"--device cpu\""), 1);
    }
}

/* Eight kinds of networks, those that take too long left out. */
static void random_networks_are_measured_and_checked(void **state)
{
    (void)state;
    if (is_fake()) {
        skip(); /* once is enough */
    }
    const outcome o = saltus("nobile-table2 --quick --device cpu " EXAMPLES);
    assert_lines(&o, "nobile-table2");
    assert_int_equal(count(o.out, "\"networks\": 2, \"done\": "), 8);
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 8);
}

/* Two distributions, four sweeps; the break-even of four models and three generators needs a GPU.
 */
static void sweeps_are_measured_and_checked(void **state)
{
    (void)state;
    if (is_fake()) {
        skip(); /* a kernel for every point takes its time */
    }
    outcome o = saltus("nobile-sweeps --quick --device cpu " EXAMPLES);
    assert_lines(&o, "nobile-sweeps");
    assert_int_equal(count(o.out, "\"figure\": 9, "), 2);
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 2 + 4);
    assert_int_equal(count(o.out, "\"points\": 27, \"runs\": 20, \"paper_points\": 4096, "), 1);
    assert_int_equal(count(o.out, "\"figure\": 8, "), 12);
    assert_int_equal(count(o.out, "\"skipped\": \"--device cpu\""), 12);
}

/* Four models, four epsilons, two of which are checked. */
static void leaps_are_compared_with_exact_steps(void **state)
{
    (void)state;
    if (is_fake()) {
        skip(); /* once is enough */
    }
    const outcome o = saltus("tau-accuracy --quick --device cpu " EXAMPLES);
    assert_lines(&o, "tau-accuracy");
    assert_int_equal(count(o.out, "\"self_distance\": "), 16);
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 8);
}

/* Words of four, two models with Philox in lanes and all four one by one, six pairs. */
static void generators_are_compared(void **state)
{
    (void)state;
    if (is_fake()) {
        skip(); /* once is enough */
    }
    const outcome o = saltus("rng --quick --device cpu " EXAMPLES);
    assert_lines(&o, "rng");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 4 + 2 * (1 + 4) * 3 + 6);
    assert_int_equal(count(o.out, "\"layout\": \"lanes\""), 4);
    assert_int_equal(count(o.out, "\"engine\": \"cores\", \"rng\": \"mt19937\""), 2);
}

static void a_gpu_is_measured_and_checked(void **state)
{
    (void)state;
    if (!is_fake()) {
        skip();
    }
    outcome o = saltus("sumiyoshi-overlap --quick --device cuda " EXAMPLES);
    assert_lines(&o, "sumiyoshi-overlap");
    assert_non_null(strstr(o.out, "\"gpu\": \"Fake 0, "));
    assert_int_equal(count(o.out, "\"engine\": \"gpu\", \"device\": \"cuda\", \"layout\": "), 3);
    assert_int_equal(count(o.out, "\"streams\": 4, \"registers\": 38, \"trajectories\": 10240"), 1);
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 3 + 1 + 3);
    o = saltus("unequal --quick --device cuda " EXAMPLES);
    assert_lines(&o, "unequal");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 2 * (3 + 1));
    assert_int_equal(count(o.out, "\"engine\": \"gpu\", \"events_per_second_equal\": "), 1);
}

/* Two that are played. What slabs hold is checked by the benchmarks, and that copies arrive. */
static void several_gpus_are_measured_and_checked(void **state)
{
    (void)state;
    if (!is_fake()) {
        skip();
    }
    outcome o = saltus("hallock-particles --quick " EXAMPLES);
    assert_lines(&o, "hallock-particles");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 2 * 2);
    assert_int_equal(count(o.out, "\"gpus\": 2, \"slabs\": 2, "), 2);
    assert_int_equal(count(o.out, "\"efficiency\": "), 2);
    o = saltus("hallock-reactions --quick " EXAMPLES);
    assert_lines(&o, "hallock-reactions");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 2 * 2);
    assert_int_equal(count(o.out, "\"us_per_reaction\": "), 2);
    /* those that cannot react; of the others a slow machine may take too few steps for any to */
    assert_in_range(count(o.out, "\"events\": 0, "), 2, 4);
    o = saltus("hallock-phases --quick " EXAMPLES);
    assert_lines(&o, "hallock-phases");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 2 * 2);
    assert_int_equal(count(o.out, "\"us_looking\": "), 2);
    assert_int_equal(count(o.out, "\"us_meeting\": "), 2);
    o = saltus("hallock-balance --quick " EXAMPLES);
    assert_lines(&o, "hallock-balance");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 2 * 2);
    assert_int_equal(count(o.out, "\"planes_move\": false, \"time\": "), 2 * 3 * 2);
    assert_int_equal(count(o.out, "\"planes\": 32, "), 2 * (3 * 2 + 2 * 2));
    o = saltus("hallock-copy --quick " EXAMPLES);
    assert_lines(&o, "hallock-copy");
    assert_int_equal(count(o.out, "\"check\": \"ok\""), 3 * 11);
    assert_int_equal(count(o.out, "\"bytes\": 1048576, "), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_listed, enter, leave_directory),
        cmocka_unit_test_setup_teardown(wrong_usage_is_refused, enter, leave_directory),
        cmocka_unit_test_setup_teardown(the_cpu_is_measured_and_checked, enter, leave_directory),
        cmocka_unit_test_setup_teardown(one_core_is_measured_and_checked, enter, leave_directory),
        cmocka_unit_test_setup_teardown(large_networks_are_measured_and_checked, enter,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(steps_of_lattices_are_timed_and_checked, enter,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(random_networks_are_measured_and_checked, enter,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(sweeps_are_measured_and_checked, enter, leave_directory),
        cmocka_unit_test_setup_teardown(leaps_are_compared_with_exact_steps, enter,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(generators_are_compared, enter, leave_directory),
        cmocka_unit_test_setup_teardown(a_gpu_is_measured_and_checked, enter, leave_directory),
        cmocka_unit_test_setup_teardown(several_gpus_are_measured_and_checked, enter,
                                        leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
