/* saltus run --trace: a file that a viewer can read, with every kind of span in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/run.h"
#include "command.h"

#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

/* Its lines: heads, events with a comma behind all but the last, the tail. */
enum { MAX_TRACKS = 8 };
typedef struct trace {
    int kernels, reductions, copies, work, set_ups, takes, hand_overs, deliveries;
    int steps, times;    /* values of slabs */
    double planes, step; /* of them all; the last one's */
    double end;          /* of the last span, s */
} trace;

static int *counter_of(trace *t, const char *name, int track)
{
    const struct {
        const char *name;
        int track, *counter;
    } kinds[] = {{"kernel", SALTUS_TRACK_GPU, &t->kernels},
                 {"reduce", SALTUS_TRACK_GPU, &t->reductions},
                 {"copy", SALTUS_TRACK_GPU, &t->copies},
                 {"work", SALTUS_TRACK_WORKER, &t->work},
                 {"set up", SALTUS_TRACK_WORKER, &t->set_ups},
                 {"take", SALTUS_TRACK_WORKER, &t->takes},
                 {"hand over", SALTUS_TRACK_WORKER, &t->hand_overs},
                 {"deliver", SALTUS_TRACK_WRITER, &t->deliveries}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        if (strcmp(kinds[i].name, name) == 0 && kinds[i].track == track) {
            return kinds[i].counter;
        }
    }
    fail_msg("'%s' on track %d", name, track);
    return NULL;
}

/* Spans of a stream, and deliveries, come one after another. */
static void take_span(trace *t, double ends[3][MAX_TRACKS], const char *line)
{
    char name[20];
    int pid = -1, tid = -1, length = 0;
    double start = -1.0, duration = -1.0;
    if (sscanf(line,
               "{\"name\": \"%19[a-z ]\", \"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"ts\": %lf, "
               "\"dur\": %lf}%n",
               name, &pid, &tid, &start, &duration, &length) != 5 ||
        length == 0) {
        fail_msg("%s", line);
    }
    ++*counter_of(t, name, pid);
    assert_true(pid >= 0 && pid < 3 && tid >= 0 && tid < MAX_TRACKS);
    assert_true(start >= 0.0 && duration >= 0.0);
    if (pid != SALTUS_TRACK_WORKER) {
        assert_true(start >= ends[pid][tid] - 50.0); /* us: GPUs' clocks are read in floats of ms */
        ends[pid][tid] = start + duration;
    }
    t->end = start + duration > t->end ? start + duration : t->end;
}

/* A value of a slab. */
static void take_value(trace *t, const char *line)
{
    char name[20], same[20];
    int slab = -1, length = 0;
    double start = -1.0, value = -1.0;
    if (sscanf(line,
               "{\"name\": \"slab %d: %19[a-z ]\", \"ph\": \"C\", \"pid\": 3, \"ts\": %lf, "
               "\"args\": {\"%19[a-z ]\": %lf}}%n",
               &slab, name, &start, same, &value, &length) != 5 ||
        length == 0) {
        fail_msg("%s", line);
    }
    assert_string_equal(name, same);
    assert_true(slab >= 0 && slab < MAX_TRACKS && start >= 0.0 && value >= 0.0);
    if (strcmp(name, "step") == 0) {
        ++t->steps;
        t->step = value;
    } else if (strcmp(name, "planes") == 0) {
        t->planes += value;
    } else {
        assert_string_equal(name, "us per step");
        ++t->times;
    }
}

static trace read_trace(const char *name)
{
    char *text = read_file(name), *rest = NULL;
    double ends[3][MAX_TRACKS] = {{0}};
    trace t = {0};
    assert_non_null(text);
    char *line = strtok_r(text, "\n", &rest);
    assert_string_equal(line, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
    while ((line = strtok_r(NULL, "\n", &rest)) && line[0] == '{') {
        if (strstr(line, "\"ph\": \"C\"")) {
            take_value(&t, line);
        } else if (!strstr(line, "process_name")) {
            take_span(&t, ends, line);
        }
        assert_int_equal(line[strlen(line) - 1] == ',', rest[0] == '{');
    }
    assert_string_equal(line, "], \"otherData\": {\"spans_left_out\": 0}}");
    assert_null(strtok_r(NULL, "\n", &rest));
    free(text);
    t.end *= 1e-6;
    return t;
}

static double number_of(const char *json, const char *name)
{
    const char *at = strstr(json, name);
    assert_non_null(at);
    return strtod(at + strlen(name), NULL);
}

static void check_whole(const trace *t, const outcome *o)
{
    assert_done(o);
    assert_true(t->end <= number_of(o->out, "\"seconds_total\": "));
    assert_true(t->end > 0.0);
}

static void processors_are_traced(void **state)
{
    (void)state;
    const outcome o =
        saltus("run busy.yaml --until 1 --runs 3000 --device cpu --threads 2 --json -o t.h5 "
               "--trace t.json");
    const trace t = read_trace("t.json");
    check_whole(&t, &o);
    assert_int_equal(t.work, 2);
    assert_true(t.deliveries > 1);
    assert_int_equal(t.kernels + t.reductions + t.copies + t.set_ups + t.takes + t.hand_overs, 0);
}

static void gpus_are_traced(void **state)
{
    static const char *const records[] = {"all", "stats"};
    (void)state;
    const outcome devices = saltus("run decay.yaml --until 1 --device cuda --quiet");
    if (devices.code != 0) {
        print_message("SKIP: %s", devices.err);
        skip();
    }
    for (int i = 0; i < 2; ++i) {
        const outcome o =
            saltus("run busy.yaml --until 1 --runs 6000 --device cuda --streams 3 --json -o t.h5 "
                   "--record %s --trace t.json",
                   records[i]);
        const trace t = read_trace("t.json");
        check_whole(&t, &o);
        assert_int_equal(t.work, 3);
        assert_true(t.kernels >= t.copies && t.copies == t.hand_overs && t.copies >= 3);
        assert_true(t.set_ups >= 1 && t.takes == t.hand_overs);
        assert_int_equal(t.reductions, i == 0 ? 0 : t.copies);
        assert_true(t.deliveries > 0);
    }
}

/* Of what a GPU reduces each worker takes equally many, however many fit into a block: else some
 * are at work alone at the end. */
static void workers_take_equal_parts(void **state)
{
    enum { N_SPECIES = 240, N_WORKERS = 3, N_RUNS = 30000 }; /* four blocks of 16 MiB at most */
    char text[4000] = "species: {";
    (void)state;
    for (int i = 0; i < N_SPECIES; ++i) {
        const size_t n = strlen(text);
        (void)snprintf(text + n, sizeof text - n, "S%d: 1%s", i, i + 1 < N_SPECIES ? ", " : "}\n");
    }
    (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                   "reactions: {end: S0 -> 0 @ 1}\n");
    write_file("wide.yaml", text);
    const outcome devices = saltus("run wide.yaml --until 1 --device cuda --quiet");
    if (devices.code != 0) {
        print_message("SKIP: %s", devices.err);
        skip();
    }
    const outcome o = saltus("run wide.yaml --until 1e-9 --points 2 --runs %d --device cuda "
                             "--streams %d --record final --json -o t.h5 --trace t.json",
                             N_RUNS, N_WORKERS);
    const trace t = read_trace("t.json");
    check_whole(&t, &o);
    assert_int_equal(t.work, N_WORKERS);
    assert_true(t.takes > N_WORKERS);
    assert_int_equal(t.takes % N_WORKERS, 0);
}

static const char box_model[] = "species: {A: 300}\nlattice:\n  size: [8, 8, 12]\n"
                                "  spacing: 1 um\n  step: 0.1 s\n  diffusion: {A: 1 um2/s}\n";

/* Two batches of 256 phases in three slabs, of fixed height and levelled. */
static void slabs_are_traced(void **state)
{
    static const char *const splits[] = {"2:1:1", "2:1:1+"};
    (void)state;
    const outcome devices = saltus("run decay.yaml --until 1 --device cuda --quiet");
    if (devices.code != 0) {
        print_message("SKIP: %s", devices.err);
        skip();
    }
    write_file("box.yaml", box_model);
    for (int i = 0; i < 2; ++i) {
        const outcome o = saltus("run box.yaml --until 51 --points 2 --device cuda --layout counts "
                                 "--split %s --json -o t.h5 --trace t.json",
                                 splits[i]);
        const trace t = read_trace("t.json");
        check_whole(&t, &o);
        assert_non_null(strstr(o.out, "\"path\": \"same GPU\", \"halo_bytes_per_step\": 0, "));
        assert_true(t.steps == 3 * 2 && t.times == t.steps);
        assert_true(t.planes == 12.0 * 2 && t.step == 511.0);
    }
}

/* A plane is 64 sites of a byte, a margin has room for rows of 256. */
static void slabs_are_told_of(void **state)
{
    static const struct {
        const char *option, *link, *halo, *path;
    } cases[] = {
        {"", "; the next one: peer memory with atomics, as over NVLink",
         "in each direction: 64 bytes", "\"path\": \"peer\", \"halo_bytes_per_step\": 128, "},
        {"--no-peer", "; the next one: by way of the host", "in each direction: 512 bytes",
         "\"path\": \"host\", \"halo_bytes_per_step\": 1024, "},
    };
    (void)state;
    if (!is_fake()) {
        skip(); /* two GPUs are needed */
    }
    write_file("box.yaml", box_model);
    for (int i = 0; i < 2; ++i) {
        const outcome o = saltus("run box.yaml --until 1 --device cuda:0,1 --split 2:1 --explain "
                                 "--json %s",
                                 cases[i].option);
        assert_int_equal(o.code, 0);
        assert_non_null(strstr(o.err, "cuda:0: planes 0 to 7, "));
        assert_non_null(strstr(o.err, "cuda:1: planes 8 to 11, "));
        assert_non_null(strstr(o.err, cases[i].link));
        assert_non_null(strstr(o.err, cases[i].halo));
        assert_non_null(strstr(o.err, "of the run: a launch was a phase"));
        assert_non_null(strstr(o.out, cases[i].path));
    }
    const outcome o = saltus("devices");
    assert_done(&o);
    assert_non_null(strstr(o.out, "  between them: peer memory with atomics, as over NVLink, "
                                  "performance rank 0\n"));
}

/* Of four GPUs the first does not reach the second, nor the third the last. The way by which
 * particles go is that of a run, not of what is told of it before. */
static void slabs_go_where_links_are_best(void **state)
{
    static const struct {
        const char *split, *gpus[4], *path;
    } cases[] = {
        {"1:1:1:1", {"0", "2", "1", "3"}, "\"path\": \"peer\""},
        {"1:1:1:2", {"0", "1", "2", "3"}, "\"path\": \"host\""},
    };
    (void)state;
    if (!is_fake()) {
        skip(); /* such GPUs are played */
    }
    (void)setenv("FAKE_CUDA_LINKS", "x-0-/-x00/00x-/-0-x", 1);
    write_file("box.yaml", box_model);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const outcome o = saltus("run box.yaml --until 1 --device cuda:0,1,2,3 --split %s "
                                 "--explain --json",
                                 cases[i].split);
        const char *at = o.err;
        assert_int_equal(o.code, 0);
        for (int k = 0; k < 4; ++k) {
            char gpu[20];
            (void)snprintf(gpu, sizeof gpu, "cuda:%s: planes ", cases[i].gpus[k]);
            at = strstr(at, gpu);
            assert_non_null(at);
        }
        assert_non_null(strstr(o.out, cases[i].path));
    }
    const outcome o = saltus("devices");
    assert_done(&o);
    assert_non_null(strstr(o.out, "  cuda:0 and cuda:1: no peer memory: by way of the host\n"));
    assert_non_null(strstr(o.out, "  cuda:0 and cuda:2: peer memory with atomics"));
    (void)unsetenv("FAKE_CUDA_LINKS");
}

static void what_is_refused_leaves_no_trace(void **state)
{
    (void)state;
    outcome o = saltus("run decay.yaml --until 1 --trace nowhere/t.json");
    assert_refused(&o, 2, "nowhere/t.json: cannot be written");
    o = saltus("run decay.yaml --until 1 --trace t.json -o nowhere/t.h5");
    assert_refused(&o, 2, "nowhere/t.h5");
    assert_false(file_exists("t.json"));
    o = saltus("run decay.yaml --until 1 --trace ''");
    assert_refused(&o, 2, "--trace");
    o = saltus("run decay.yaml --until 1 -q --trace /dev/full");
    assert_refused(&o, 2, "/dev/full: exists and is a device");
    o = saltus("run decay.yaml --until 1 -q --trace decay.yaml");
    assert_refused(&o, 2, "decay.yaml: exists, and Saltus has not written it");
}

/* By whatever name, before there is one and after. */
static void the_results_are_no_trace(void **state)
{
    static const char *const lines[] = {
        "-o q.h5 --trace q.h5",
        "-o ./q.h5 --trace q.h5",
        "-o q.h5 --trace far/../q.h5",
        "-o q.h5 --trace link.json",
        "-o link.h5 --trace q.json",
        "-o q.csv --trace q.csv",
        "-o q.h5 --trace q.h5.checkpoint",
        "-o q.h5 --trace ./q.h5.new",
        "-o q.h5 --trace q.xdmf",
        "-o old.json.h5 --trace old.json",
    };
    (void)state;
    keep_results();
    assert_int_equal(system("mkdir far && ln -s q.h5 link.json && ln -s q.json link.h5 && "
                            "ln -s old.json old.json.h5"),
                     0);
    outcome o = saltus("run decay.yaml --until 1 -q --trace old.json");
    assert_done(&o);
    char *before = read_file("old.json");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        o = saltus("run decay.yaml --until 1 -q %s", lines[i]);
        assert_refused(&o, 2, ": that is a file of the results");
        assert_int_equal(system("test -z \"$(ls | grep '^q')\" && test -L link.json"), 0);
    }
    char *after = read_file("old.json");
    assert_string_equal(before, after);
    o = saltus("run decay.yaml --until 1 -q -o q.h5");
    assert_done(&o);
    o = saltus("run decay.yaml --until 1 -q -o q.h5 --append --trace q.h5");
    assert_refused(&o, 2, ": that is a file of the results");
    o = saltus("run decay.yaml --until 1 -q -o q.h5 --append --trace decay.yaml");
    assert_refused(&o, 2, "decay.yaml: exists, and Saltus has not written it");
    o = saltus("stats q.h5");
    assert_done(&o);
    free(before);
    free(after);
}

static void a_full_disk_is_told(void **state)
{
    const saltus_span span = {.name = "kernel", .seconds = 1e-6};
    saltus_error err = {0};
    saltus_cli_trace *t = NULL;
    struct rlimit limit;
    (void)state;
    assert_int_equal(saltus_cli_open_trace("t.json", &t, &err), SALTUS_OK);
    saltus_cli_write_span(t, &span);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {200, limit.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const saltus_status status = saltus_cli_close_trace(t, true, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    (void)signal(SIGXFSZ, before);
    assert_int_equal(status, SALTUS_E_IO);
    assert_non_null(strstr(err.message, "t.json: cannot be written: File too large"));
}

static void the_file_is_bounded(void **state)
{
    const saltus_span span = {.name = "kernel", .seconds = 1e-6};
    saltus_error err = {0};
    saltus_cli_trace *t = NULL;
    (void)state;
    assert_int_equal(saltus_cli_open_trace("t.json", &t, &err), SALTUS_OK);
    for (int i = 0; i < 100007; ++i) {
        saltus_cli_write_span(t, &span);
    }
    assert_int_equal(saltus_cli_close_trace(t, true, &err), SALTUS_OK);
    char *text = read_file("t.json");
    assert_int_equal(count_lines(text), 100006);
    assert_non_null(strstr(text, "{\"spans_left_out\": 7}"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processors_are_traced, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(gpus_are_traced, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(workers_take_equal_parts, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(slabs_are_traced, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(slabs_are_told_of, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(slabs_go_where_links_are_best, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(what_is_refused_leaves_no_trace, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(the_results_are_no_trace, enter_with_models,
                                        leave_directory),
        cmocka_unit_test_setup_teardown(a_full_disk_is_told, enter_with_models, leave_directory),
        cmocka_unit_test_setup_teardown(the_file_is_bounded, enter_with_models, leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
