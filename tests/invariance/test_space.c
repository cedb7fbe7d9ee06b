/* Lattices: the same bits on the CPU, with one thread and with several, and on a GPU, or on a
 * driver that plays one; whether samples are many or few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/gpu.h"
#include "../support/moments.h"

#include "backend/cuda/rdme/rdme.h"
#include "model/network/model.h"
#include "model/network/network.h"

#include <fnmatch.h>
#include <stdio.h>

typedef struct space_case {
    const char *name, *text; /* NULL: an example */
    double step;             /* s */
    int n_steps;             /* on a GPU; a played one takes fewer */
} space_case;

static const space_case cases[] = {
    {"faces",
     "species: {A: 300, B: 200, C: 0}\nreactions: {bind: A + B -> C @ 5, part: C -> A + B @ 1}\n"
     "lattice:\n  size: [7, 1, 5]\n  spacing: 1 m\n  step: 0.1 s\n"
     "  faces: {x: periodic, y: periodic, z-: absorbing, z+: {A: 3, C: 0.5}}\n"
     "  diffusion: {A: 5 m2/s, B: 2 m2/s, C: 1 m2/s}\n",
     0.1, 3000},
    {"types, pairs of types, species that stand still",
     "species: {A: 200, M: 50, B: 0}\nreactions:\n  stick: A -> M\n  off: M -> A @ 0.5\n"
     "  meet: A + M -> B + M\n  back: B -> A @ 1\n  pair: 2 B -> A + B @ 0.3\n"
     "lattice:\n  size: [9, 8, 10]\n  spacing: 1 m\n  step: 0.2 s\n  sites:\n    rest:\n"
     "    core: {sphere: {centre: [4.5 sites, 4 sites, 5 sites], radius: 3.5 sites}}\n"
     "    skin: {shell: {of: core, layers: 1}}\n"
     "  diffusion: {A: {rest: 1 m2/s, core: 2.5 m2/s, skin: 1 m2/s}, M: {skin: 0}, "
     "B: {core: 1 m2/s, skin: 1 m2/s, core->skin: 0}}\n  place: {A: rest, M: skin}\n"
     "  reactions: {stick: {skin: 3}, meet: {skin: 2}}\n",
     0.2, 3000},
    {"laws, also where nothing is; sources, small and large",
     "species: {X: 0, Y: 10, Z: 0}\nreactions:\n  make: 0 -> X @ 2/(1 + X + Y)\n"
     "  turn: X -> Y @ X*X/(3 + X*X)\n  gone: Y -> 0 @ 1\n  come: 0 -> Z\n  go: Z -> 0 @ 3\n"
     "lattice:\n  size: [5, 4, 3]\n  spacing: 1 m\n  step: 0.05 s\n  faces: periodic\n"
     "  sites: {rest: , gene: {box: {from: [1 sites, 1 sites, 1 sites], to: [3 sites, 2 sites, 2 "
     "sites]}}}\n"
     "  diffusion: {X: 2 m2/s, Y: 1 m2/s, Z: 3 m2/s}\n"
     "  reactions: {make: gene, come: {rest: 9, gene: 0.1}}\n",
     0.05, 2000},
    {"many more particles than there were",
     "species: {A: 2000, B: 0, C: 0}\nreactions: {split: A -> 20 B @ 9, join: 2 B -> C @ 0.01}\n"
     "lattice: {size: [10, 10, 10], spacing: 1 m, step: 0.1 s, diffusion: "
     "{A: 1 m2/s, B: 1 m2/s, C: 0.1 m2/s}}\n",
     0.1, 200},
    {"one reaction in a step; one site",
     "species: {A: 300, B: 40}\nreactions: {r: A -> B @ 0.1, s: A + B -> 2 A @ 0.01}\n"
     "lattice: {size: [1, 1, 1], spacing: 1 m, step: 1 s, diffusion: {A: 0.1 m2/s, B: 0}, "
     "reactions_per_step: one}\n",
     1.0, 500},
    {"counts that need more bits",
     "species: {A: 100, B: 0, C: 300}\nreactions: {make: A -> A + B @ 50, gone: B -> 0 @ 0.5}\n"
     "lattice: {size: [2, 1, 1], spacing: 1 m, step: 0.05 s, diffusion: "
     "{A: 1 m2/s, B: 1 m2/s, C: 0}}\n",
     0.05, 300},
    {"six particles in a site",
     "species: {A: 600, B: 600, C: 0, D: 0}\nreactions: {bind: A + B -> C @ 0.05, "
     "part: C -> A + B @ 0.5, three: A + 2 B -> D @ 0.01, out: D -> A + 2 B @ 1}\nlattice: {size: "
     "[10, 5, 4], spacing: 1 m, step: 0.1 s, diffusion: {A: 1 m2/s, B: 1 m2/s, C: 1 m2/s, D: 0}}\n",
     0.1, 2000},
    {"abc-lattice", NULL, 50e-6, 5000},
    {"ab-equilibrium", NULL, 50e-6, 2000},
    {"barrier", NULL, 50e-6, 300},
    {"min-system", NULL, 50e-6, 5000},
    {"particles in types and in sites, and what comes over faces to types",
     "species: {A: , B: 0, C: 40}\nreactions: {go: A -> B @ 1, twice: 2 B -> B @ 0.3, "
     "make: 0 -> A, law: C -> B + C @ 0.2*C*C/(1 + C)}\n"
     "lattice:\n  size: [11, 7, 14]\n  spacing: 1 m\n  step: 0.1 s\n"
     "  faces: {x-: {A: 2, C: 0.1}, y: periodic, z+: {B: 1}, z-: absorbing}\n"
     "  sites: {rest: , core: {box: {from: [3 sites, 2 sites, 4 sites], to: [8 sites, 7 sites, 12 "
     "sites]}}, "
     "lid: {box: {from: [0, 0, 13 sites], to: [11 sites, 3 sites, 14 sites]}}}\n"
     "  diffusion: {A: 2 m2/s, B: 1 m2/s, C: 0.2 m2/s}\n"
     "  place: {A: {core: 300, sites: [[0, 0, 0, 3], [10, 6, 13, 20], [10, 6, 6, 2], [0, 0, 7, "
     "1]]},"
     " C: [rest, lid]}\n  reactions: {make: {core: 0.3, lid: 1}}\n",
     0.1, 2000},
    {"laws that drift with time and a rate rule, also where nothing is",
     "species: {A: 200, B: 0, C: 30}\nparameters: {wave: {observable: false}, day: {observable: "
     "false}, gain: 0.4}\nrules: {wave: 1 + sin(2*time), day: \"rem(time, 2) < 1\"}\n"
     "rate rules: {gain: 3*gain*(1 - gain) + cos(9*time)*day}\n"
     "reactions:\n  turn: A -> B @ A*wave*gain\n  back: B -> A @ B*piecewise(2, time < 3, 0.5)\n"
     "  make: 0 -> C @ 0.3*day\n  meet: A + C -> B @ A*C*exp(-time/10)\n  gone: C -> 0 @ 0.5\n"
     "  pair: 2 B -> A + B @ 0.2\n"
     "lattice:\n  size: [6, 5, 7]\n  spacing: 1 m\n  step: 0.05 s\n  faces: periodic\n"
     "  sites: {rest: , gene: {box: {from: [1 sites, 1 sites, 1 sites], to: [3 sites, 3 sites, 4 "
     "sites]}}}\n"
     "  diffusion: {A: 2 m2/s, B: 1 m2/s, C: 3 m2/s}\n  reactions: {make: gene}\n",
     0.05, 2000},
    {"tables of the time and of counts, in laws, rules and a rate rule",
     "species: {A: 200, B: 0, C: 30}\nparameters: {dose: {observable: false}, gain: 0.4}\n"
     "rules: {dose: \"spline(time, 0, 1, 0.7, 3, 1.1, 0, inf, 2)\"}\n"
     "rate rules: {gain: \"0.1*dose - held(time, 0, 0, 0.3, 1, 0.4, 0, inf, 0)\"}\n"
     "reactions:\n  turn: A -> B @ A*dose*gain\n"
     "  back: \"B -> A @ B*linear(time, 0, 2, 3, 0.5, inf, 0.5)\"\n"
     "  make: \"0 -> C @ held(time, 0, 0, 0.2, 0.3, 2, 0, inf, 0)\"\n"
     "  pair: \"2 B -> A + B @ linear(B, 0, 0, 2, 1, 5, 8, inf, 9)\"\n"
     "lattice:\n  size: [6, 5, 7]\n  spacing: 1 m\n  step: 0.05 s\n  faces: periodic\n"
     "  sites: {rest: , gene: {box: {from: [1 sites, 1 sites, 1 sites], to: [3 sites, 3 sites, 4 "
     "sites]}}}\n"
     "  diffusion: {A: 2 m2/s, B: 1 m2/s, C: 3 m2/s}\n  reactions: {make: gene}\n",
     0.05, 2000},
    {"constants that take what is there",
     "species: {A: 9000, B: 9000, C: 40}\nreactions:\n  turn: {equation: A -> B, law: 5}\n"
     "  back: {equation: B + C -> 2 A + C, law: 2}\n  come: 0 -> C @ 0.2\n  gone: C -> 0 @ 1\n"
     "lattice:\n  size: [5, 4, 3]\n  spacing: 1 m\n  step: 0.05 s\n  faces: periodic\n"
     "  sites: {rest: , half: {box: {from: [0, 0, 0], to: [3 sites, 2 sites, 2 sites]}}}\n"
     "  diffusion: {A: 2 m2/s, B: 1 m2/s, C: 3 m2/s}\n  reactions: {turn: half}\n",
     0.05, 60},
    {"few for the sites: four sites in a word",
     "species: {A: 1500, B: 0}\nreactions: {turn: A -> B @ 2, pair: 2 B -> A + B @ 5}\n"
     "lattice:\n  size: [130, 128, 131]\n  spacing: 1 m\n  step: 0.1 s\n"
     "  faces: {x: periodic, y: reflecting, z-: absorbing, z+: reflecting}\n"
     "  diffusion: {A: 1 m2/s, B: 0.5 m2/s}\n",
     0.1, 2000},
    {"few for the sites: two in a word, then more bits, in one site and in another later",
     "species: {A: , B: 0, C: 9000}\nreactions: {make: A -> A + B @ 3, bind: B + C -> B @ 1, "
     "come: 0 -> C @ 1e-4, meet: 2 C -> C @ 5}\n"
     "lattice:\n  size: [127, 129, 70]\n  spacing: 1 m\n  step: 0.05 s\n  faces: periodic\n"
     "  sites: {rest: , half: {box: {from: [0, 0, 0], to: [60 sites, 129 sites, 70 sites]}}}\n"
     "  diffusion: {A: 0, B: 0.05 m2/s, C: 1 m2/s}\n"
     "  place: {A: {sites: [[126, 128, 69, 3], [0, 0, 0, 9], [63, 64, 1, 14]]}, C: half}\n",
     0.05, 900},
    {"few for the sites: a word for each",
     "species: {A: 2400, B: 1800, C: 0, D: 0, E: 0, F: 1200, G: 600}\nreactions:\n"
     "  a: A -> D + E @ 1\n  b: D + E -> A @ 9\n  c: B -> C @ 1\n  d: C -> D + G @ 1\n"
     "  e: F -> E @ 0.5\n  f: 2 G -> G + B @ 9\n"
     "lattice:\n  size: [103, 101, 105]\n  spacing: 1 m\n  step: 0.1 s\n"
     "  diffusion: {A: 1 m2/s, B: 1 m2/s, C: 1 m2/s, D: 0, E: 1 m2/s, F: 1 m2/s, G: 0.3 m2/s}\n",
     0.1, 2000},
};
enum { GROWS = 3, LARGE = 7, PLACED = 11 };

static saltus_model *read_case(const space_case *c)
{
    saltus_error err = {0};
    saltus_model *m = NULL;
    if (c->text) {
        OK(saltus_model_parse_yaml(c->text, strlen(c->text), "m", &m, &err));
    } else {
        char path[1000];
        const char *examples = getenv("SALTUS_EXAMPLES");
        (void)snprintf(path, sizeof path, "%s/%s.yaml", examples ? examples : "examples", c->name);
        OK(saltus_model_read(path, &m, &err));
    }
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    return m;
}

static const char *split;    /* of the lattice in slabs, or NULL, */
static bool no_peer;         /* which exchange particles by way of the host */
static int64_t planes_moved; /* by all runs so far */
static double halo_wait;     /* of the last run */
static int n_compared;       /* runs, with those of one thread of the CPU */

/* Samples at these steps, or, of many, at the last alone. */
static moments run(const saltus_model *model, const char *device, const char *layout, int threads,
                   double step, const int *steps, int n, int64_t n_trajectories)
{
    saltus_error err = {0};
    double times[8];
    moments m = {.keep_last = true};
    saltus_run_options o = saltus_run_options_default();
    saltus_plan_options p = saltus_plan_options_default();
    for (int i = 0; i < n; ++i) {
        times[i] = step * steps[i];
    }
    o.seed = 11;
    o.times = times;
    o.n_times = n;
    o.n_trajectories = n_trajectories;
    p.n_threads = threads;
    p.layout = layout;
    p.split = strcmp(device, "cpu") == 0 ? NULL : split;
    p.no_peer = no_peer;
    p.by_type = true;
    p.profile = "y";
    OK(run_plan((saltus_model *)(uintptr_t)model, device, &p, &o, &m, &err));
    planes_moved += m.report.planes_moved;
    halo_wait = m.report.halo_wait;
    return m;
}

static const char *const layouts[] = {"particles", "counts"}; /* the CPU has the first alone */
enum { PARTICLES = 1, COUNTS = 2 };

/* In some layouts, as bits. */
static void check_case(const space_case *c, const char *device, int in)
{
    const int last = plays_warps() ? 12 : is_fake() || strcmp(device, "cpu") == 0 ? 70 : c->n_steps;
    const int steps[] = {0, 1, 2, last / 4, last - 4, last};
    saltus_model *m = read_case(c);
    moments one = run(m, "cpu", "auto", 1, c->step, steps, 6, 2);
    bool changes = false;
    assert_true(!strstr(c->name, "few for") || saltus_cuda_is_sparse(m->network->lattice));
    for (int l = 0; l < 2; ++l) {
        if (in >> l & 1) {
            moments some = run(m, device, layouts[l], 3, c->step, steps, 6, 2);
            moments end = run(m, device, layouts[l], 3, c->step, &last, 1, 1);
            if (one.hash != some.hash) {
                fail_msg("%s, %s: other samples", c->name, layouts[l]);
            }
            assert_memory_equal(one.last, end.last, (size_t)one.n_counts * sizeof *one.last);
            n_compared += 2;
            moments_free(&some);
            moments_free(&end);
        }
    }
    for (int64_t i = 0; i < one.n_counts; ++i) {
        changes |= one.sum[i] != one.sum[5 * one.n_counts + i];
    }
    assert_true(changes || strcmp(c->name, "barrier") == 0); /* where nothing reacts */
    moments_free(&one);
    saltus_model_destroy(m);
}

/* Where workers take more than one trajectory, which want more and more room. */
static void check_many(const space_case *c, const char *device, const char *layout)
{
    const int steps[] = {1, 30};
    saltus_model *m = read_case(c);
    moments some = run(m, device, layout, 1, c->step, steps, 2, 6);
    moments one = run(m, "cpu", "auto", 3, c->step, steps, 2, 6);
    if (some.hash != one.hash) {
        fail_msg("%s, %s: other samples of many trajectories", c->name, layout);
    }
    moments_free(&some);
    moments_free(&one);
    saltus_model_destroy(m);
}

/* More in a site than 16 bits hold. */
static void check_most(const char *device, const char *layout)
{
    static const char text[] =
        "species: {A: 100000, B: 0}\nreactions: {turn: A -> B @ 0.7}\nlattice: {size: [2, 1, 1], "
        "spacing: 1 m, step: 0.05 s, diffusion: {A: 0, B: 1 m2/s}}\n";
    const int steps[] = {1, 2};
    saltus_model *m = read_case(&(space_case){"", text, 0.05, 0});
    moments one = run(m, "cpu", "auto", 1, 0.05, steps, 2, 1);
    moments other = run(m, device, layout, 1, 0.05, steps, 2, 1);
    assert_true(one.hash == other.hash);
    moments_free(&one);
    moments_free(&other);
    saltus_model_destroy(m);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    if (is_fake()) {
        skip(); /* no GPU takes part */
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += stride_of_kernels()) {
        check_case(&cases[i], "cpu", PARTICLES);
    }
    check_many(&cases[GROWS], "cpu", "particles");
}

/* Particles that are few are held in registers where all laws are products, else they are counted:
 * a law that is none, and nothing, changes no bit. */
static void laws_that_do_nothing_change_nothing(void **state)
{
    static const char text[] =
        "species: {A: 150, B: 100, C: 0, D: 0}\nreactions:\n  bind: A + B -> C @ 3\n"
        "  part: C -> A + B @ 2\n  pair: 2 A -> B @ 0.5\n  grow: B -> 2 A @ 1\n"
        "  three: 2 B + A -> D @ 1\n  burst: D -> 2 B + A @ 1\n%s"
        "lattice:\n  size: [6, 5, 4]\n  spacing: 1 m\n  step: 0.2 s\n"
        "  diffusion: {A: 2 m2/s, B: 1 m2/s, C: 0.5 m2/s, D: 0}\n%s";
    static const int steps[] = {1, 2, 40, 400};
    static const char *const how_many[] = {"", "  reactions_per_step: one\n"};
    (void)state;
    if (is_fake()) {
        skip(); /* no GPU takes part */
    }
    for (int i = 0; i < 2; ++i) {
        uint64_t hash[2];
        for (int has_law = 0; has_law < 2; ++has_law) {
            char model[2000];
            (void)snprintf(model, sizeof model, text,
                           has_law ? "  never: A -> B @ 0*A/(1 + A)\n" : "", how_many[i]);
            saltus_model *m = read_case(&(space_case){"", model, 0.2, 0});
            moments result = run(m, "cpu", "auto", 2, 0.2, steps, 4, 3);
            hash[has_law] = result.hash;
            assert_true(result.sum[0] != result.sum[3 * result.n_counts]);
            moments_free(&result);
            saltus_model_destroy(m);
        }
        assert_true(hash[0] == hash[1]);
    }
}

/* Layouts in which a case is taken. A played GPU, whose kernels take long to compile, takes the
 * small cases alone, and every second by particles, which the CPU has from the same text. */
static int layouts_for(size_t number)
{
    const space_case *c = &cases[number];
    const bool is_small = c->text || strcmp(c->name, "abc-lattice") == 0;
    return (takes_part() && number % 3 != 0) || (is_fake() && !is_small) ? 0
           : plays_warps()                ? (c->text && number % 2 == 0 ? COUNTS : 0)
           : is_fake() && number % 3 != 0 ? COUNTS
                                          : PARTICLES | COUNTS;
}

static void a_gpu_gives_the_same(void **state)
{
    (void)state;
    need_gpu("cuda");
    n_compared = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        if (layouts_for(i) != 0) {
            check_case(&cases[i], "cuda", layouts_for(i));
        }
    }
    assert_true(n_compared > 0);
    for (int l = 0; l < 2 && !plays_warps(); ++l) {
        check_many(&cases[GROWS], "cuda", layouts[l]);
        check_most("cuda", layouts[l]);
    }
}

/* A + C and B + C, after a million steps in which thousands of reactions happen; in both layouts
 * the same. */
static void a_million_steps_lose_nobody(void **state)
{
    static const int steps[] = {0, 1000000};
    (void)state;
    need_gpu("cuda");
    if (is_fake()) {
        skip(); /* it would take hours */
    }
    saltus_model *m = read_case(&(space_case){"abc-lattice", NULL, 50e-6, 0});
    uint64_t hash[2];
    for (int l = 0; l < 2; ++l) {
        moments some = run(m, "cuda", layouts[l], 1, 50e-6, steps, 2, 1);
        const double *start = some.sum, *end = some.sum + some.n_counts;
        assert_true(end[2] > 0.0);
        assert_true(end[0] + end[2] == start[0] + start[2]);
        assert_true(end[1] + end[2] == start[1] + start[2]);
        hash[l] = some.hash;
        moments_free(&some);
    }
    assert_true(hash[0] == hash[1]);
    saltus_model_destroy(m);
}

/* n GPUs, "cuda:0,1" and so on, of which so many are here, which then play the others. */
static void name_gpus(int n, int here, char name[40])
{
    (void)snprintf(name, 40, "cuda:0");
    for (int i = 1; i < n; ++i) {
        (void)snprintf(name + strlen(name), 40 - strlen(name), ",%d", i % here);
    }
}

/* The first n GPUs; whether there are so many. */
static bool has_gpus(int n, char name[40])
{
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    name_gpus(n, n, name);
    const bool has = saltus_backend_open(name, &backend, &err) == SALTUS_OK;
    if (has) {
        saltus_backend_close(backend);
    } else {
        print_message("%d GPUs: %s\n", n, err.message);
    }
    return has;
}

static bool is_flat(const space_case *c)
{
    return c->text && (strstr(c->text, "size: [1, 1, 1]") || strstr(c->text, "size: [2, 1, 1]"));
}

/* Slabs of a lattice, on several GPUs or on one, also if planes move, or if margins go by way of
 * the host: as one has all of it. */
static void slabs_change_nothing(void **state)
{
    static const char *const splits[] = {"1:1", "3:1:2", "8:1:1+", "1:2:1"};
    char two[40];
    (void)state;
    need_gpu("cuda");
    const bool are_two = has_gpus(2, two);
    assert_true(are_two || !is_fake());
    planes_moved = 0;
    n_compared = 0;
    const int first = plays_warps() ? 1 : 0, end = plays_warps() ? 2 : 4;
    for (int i = first; i < end; ++i) {
        split = splits[i];
        no_peer = i == 3;
        for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
            const bool is_large = !cases[k].text && (plays_warps() || i != 2 || k != LARGE),
                       is_other = k % 3 != (size_t)(i + 2) % 3 && !(k == PLACED && i == 2),
                       has_marks = strstr(cases[k].name, "few for") != NULL, /* but in slabs */
                is_left_out = (is_fake() && (is_large || is_other || has_marks)) ||
                              ((plays_warps() || takes_part()) && k > 2);
            if (!is_flat(&cases[k]) && !is_left_out) {
                char since[20];
                (void)snprintf(since, sizeof since, "%zu", k);
                if (i == 2) { /* played slabs do not take as long as each other then */
                    assert_int_equal(setenv("FAKE_CUDA_SLOWER", since, 1), 0);
                }
                check_case(&cases[k], i > 0 && are_two ? two : "cuda", COUNTS);
                assert_int_equal(unsetenv("FAKE_CUDA_SLOWER"), 0);
            }
        }
    }
    no_peer = false;
    assert_true(n_compared > 0);
    assert_true(!is_fake() || plays_warps() || takes_part() || planes_moved > 0);
    split = NULL;
}

/* Four GPUs of which the first and the third, and the second and the last, are close, in a row or
 * (what "laws" has) a ring; and by way of the host's memory, also if it is told to be on a node
 * that is not there. */
static void close_gpus_change_nothing(void **state)
{
    static const struct {
        const char *links, *split, *node;
        int number;
    } ways[] = {
        {"x101/1x10/01x1/101x", "1:1:1:1", "0", 0}, {"x101/1x10/01x1/101x", "1:1:1", "0", 2},
        {"x-0-/-x00/00x-/-0-x", "1:1:1:1", "0", 0}, {"xn0n/nxn0/0nxn/n0nx", "1:1:1:1", "-1", 0},
        {"x---/-x--/--x-/---x", "1:1:1", "700", 2},
    };
    (void)state;
    if (!is_fake() || plays_warps()) {
        skip(); /* such GPUs are played */
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        assert_int_equal(setenv("FAKE_CUDA_LINKS", ways[i].links, 1), 0);
        assert_int_equal(setenv("FAKE_CUDA_NODE", ways[i].node, 1), 0);
        split = ways[i].split;
        check_case(&cases[ways[i].number], "cuda:0,1,2,3", COUNTS);
    }
    split = NULL;
    assert_int_equal(unsetenv("FAKE_CUDA_LINKS"), 0);
    assert_int_equal(unsetenv("FAKE_CUDA_NODE"), 0);
}

/* A long box, each block of which waits for the blocks near it; and a larger one, for two
 * multiprocessors, whose blocks look several times in a phase, some of them first at what lies
 * beside another slab, and then less often than others. */
static void check_boxes(const char *gpus)
{
    static const space_case near = {
        "a long box",
        "species: {A: 900, B: 900, C: 0}\nreactions: {bind: A + B -> C @ 9, part: C -> A + B @ 1}\n"
        "lattice: {size: [8, 8, 512], spacing: 1 m, step: 0.1 s, diffusion: {A: 5 m2/s, B: 2 m2/s, "
        "C: 1 m2/s}}\n",
        0.1, 3000};
    static const space_case many = {"many looks",
                                    "species: {A: 9000, B: 9000, C: 0}\nreactions: {bind: A + B -> "
                                    "C @ 1, part: C -> A + B @ 1}\n"
                                    "lattice: {size: [64, 64, 80], spacing: 1 m, step: 0.1 s, "
                                    "diffusion: {A: 4 m2/s, B: 2 m2/s, "
                                    "C: 1 m2/s}}\n",
                                    0.1, 3000};
    const char *was = getenv("FAKE_CUDA_TOGETHER");
    char before[20];
    (void)snprintf(before, sizeof before, "%s", was ? was : "");
    assert_int_equal(setenv("FAKE_CUDA_TOGETHER", "2", 1), 0);
    check_case(&many, gpus, COUNTS);
    assert_int_equal(setenv("FAKE_CUDA_TOGETHER", before, 1), 0);
    check_case(&near, gpus, COUNTS);
}

/* As many slabs as GPUs, which go through many phases in a launch and wait for each other's parts:
 * thousands of steps are those of one GPU. */
static void slabs_that_run_at_once_change_nothing(void **state)
{
    static const char *const splits[][2] = {{"1:1", "5:1+"},
                                            {"1:1:1:1", "4:1:2:1+"},
                                            {"1:1:1:1:1:1:1:1", "1:2:1:1:1:2:1:1+"},
                                            {"1:2"}}; /* on one that plays two */
    static const int n_gpus[] = {2, 4, 8, 2};
    static const space_case models[] = {{"abc-lattice", NULL, 50e-6, 0},
                                        {"min-system", NULL, 50e-6, 0},
                                        {"signalling", NULL, 0.5e-3, 0}};
    static const int steps[] = {0, 1, 2500, 10000};
    char gpus[40];
    (void)state;
    need_gpu("cuda");
    if (is_fake() && !getenv("FAKE_CUDA_TOGETHER")) {
        skip(); /* these have a phase a launch */
    }
    for (size_t k = 0; is_fake() && k < sizeof cases / sizeof *cases; k += 3) {
        if (cases[k].text || k == LARGE) { /* where blocks wait for each other on one GPU */
            check_case(&cases[k], "cuda", COUNTS);
        }
    }
    n_compared = 0;
    int here = 8;
    while (here > 1 && !has_gpus(here, gpus)) {
        here /= 2;
    }
    for (int i = 0; i < (is_fake() ? 4 : 3); ++i) {
        if (i < 3 && n_gpus[i] > 4 * here) {
            continue; /* more than four on a GPU do not run at once */
        }
        name_gpus(n_gpus[i], i < 3 ? here : 1, gpus);
        for (int how = 0; how < (is_fake() ? 1 : 2); ++how) { /* no times that differ */
            split = splits[i][how];
            for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
                const bool is_small = cases[k].text && !is_flat(&cases[k]),
                           is_near = is_fake() && strcmp(cases[k].name, "abc-lattice") == 0;
                if (is_near || (is_small && ((i == 0 && k % 2 == 0) || k == 1 || k == GROWS))) {
                    check_case(&cases[k], gpus, COUNTS);
                    assert_true(halo_wait > 0.0 && halo_wait <= 1.0);
                }
            }
            if (is_fake()) {
                check_boxes(gpus);
            }
            for (size_t k = 0; !is_fake() && k < sizeof models / sizeof *models; ++k) {
                saltus_model *m = read_case(&models[k]);
                moments several = run(m, gpus, "counts", 1, models[k].step, steps, 4, 1);
                split = NULL;
                moments one = run(m, "cuda", "counts", 1, models[k].step, steps, 4, 1);
                split = splits[i][how];
                if (one.hash != several.hash) {
                    fail_msg("%s, %s on %s: other samples", models[k].name, split, gpus);
                }
                moments_free(&several);
                moments_free(&one);
                saltus_model_destroy(m);
            }
        }
    }
    split = NULL;
    assert_true(n_compared > 0);
}

/* Planes come to who has been sooner done, and go back when that did not help. */
static void planes_that_moved_in_vain_go_back(void **state)
{
    static const int steps[] = {200, 1800}; /* more batches than until a move is judged */
    (void)state;
    need_gpu("cuda");
    if (!is_fake() || plays_warps()) {
        skip(); /* it is not known beforehand what helps */
    }
    saltus_model *m = read_case(&cases[1]);
    moments one = run(m, "cpu", "auto", 1, 0.2, steps, 2, 1);
    split = "1:1:1+";
    assert_int_equal(setenv("FAKE_CUDA_SLOWER", "in vain", 1), 0);
    planes_moved = 0;
    moments some = run(m, "cuda:0,1", "counts", 1, 0.2, steps, 2, 1);
    assert_int_equal(unsetenv("FAKE_CUDA_SLOWER"), 0);
    split = NULL;
    assert_true(planes_moved > 0);
    assert_int_equal(planes_moved % 2, 0); /* there and back */
    assert_true(one.hash == some.hash);
    moments_free(&one);
    moments_free(&some);
    saltus_model_destroy(m);
}

/* Frames as they come. */
typedef struct film {
    moments m;
    uint64_t hash;
    int64_t n, of_first;   /* frames; particles of the first, */
    int64_t fullest, most; /* of which so many are in one site */
} film;

static saltus_status take_frame(void *user, const saltus_frame *frame, saltus_error *err)
{
    film *f = user;
    (void)err;
    for (int64_t i = 0; i < frame->n; ++i) {
        const uint64_t bits = (uint64_t)frame->site[i] * 1000003 + frame->species[i];
        f->hash = (f->hash ^ (bits * 31 + (uint64_t)frame->count[i])) * 0x9E3779B97F4A7C15u;
        f->hash ^= f->hash >> 29;
        f->of_first += f->n == 0 ? frame->count[i] : 0;
        if (f->n == 0 && frame->count[i] > f->most) {
            f->most = frame->count[i];
            f->fullest = frame->site[i];
        }
    }
    ++f->n;
    return SALTUS_OK;
}

/* Particles scattered, and some in one site, whose number is large; in slabs. */
static saltus_status run_film(const int size[3], int n, const char *how, film *f, saltus_error *out)
{
    static const double times[] = {0.0, 0.5, 2.0};
    saltus_error err = {0};
    char text[1000];
    saltus_model *m = NULL;
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_plan_options p = saltus_plan_options_default();
    saltus_run_options o = saltus_run_options_default();
    saltus_sink sink = moments_sink(&f->m);
    sink.frame = take_frame;
    (void)snprintf(
        text, sizeof text,
        "species: {A: , B: %d}\nreactions: {go: A -> B @ 2, back: B -> A @ 1}\nlattice:\n"
        "  size: [%d, %d, %d]\n  spacing: 1 m\n  step: 0.1 s\n  faces: periodic\n"
        "  diffusion: {A: 4 m2/s, B: 1 m2/s}\n"
        "  place: {A: {space: %d, sites: [[5, 6, %d, 9]]}}\n",
        n, size[0], size[1], size[2], n, size[2] - 1);
    OK(saltus_model_parse_yaml(text, strlen(text), "m", &m, &err));
    OK(saltus_model_freeze(m, SALTUS_LAW_LITERAL, &err));
    p.split = how;
    p.n_threads = 1;
    o.times = o.frame_times = times;
    o.n_times = o.n_frames = 3;
    OK(saltus_backend_open("cuda", &backend, &err));
    OK(saltus_plan_create(m, backend, &p, &plan, &err));
    const saltus_status status = saltus_run(plan, &o, &sink, NULL, out);
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    saltus_model_destroy(m);
    return status;
}

/* A lattice of more than 2^32 sites, in two ways of slabs; a played GPU takes a small one. */
static void a_lattice_may_be_larger_than_32_bits(void **state)
{
    static const int sizes[2][3] = {{2048, 2048, 1040}, {16, 15, 22}}, numbers[] = {500000, 400};
    static const char *const splits[] = {"1:1", "3:1:2"};
    const int *size = sizes[is_fake()], n = numbers[is_fake()];
    const int64_t site = 5 + size[0] * (6 + size[1] * (int64_t)(size[2] - 1));
    film f[2] = {0};
    (void)state;
    need_gpu("cuda");
    if (plays_warps()) {
        skip(); /* no kernel that needs it */
    }
    for (int i = 0; i < 2; ++i) {
        saltus_error err = {0};
        const saltus_status status = run_film(size, n, splits[i], &f[i], &err);
        if (status == SALTUS_E_NO_MEMORY && !is_fake()) {
            print_message("SKIP: %s\n", err.message);
            skip();
        }
        if (status != SALTUS_OK) {
            fail_msg("%s", err.message);
        }
        assert_int_equal(f[i].n, 3);
        assert_int_equal(f[i].of_first, 2 * n + 9);
        assert_true(f[i].fullest == site && f[i].most >= 9);
        for (int k = 0; k < 3; ++k) {
            assert_true(f[i].m.sum[2 * k] + f[i].m.sum[2 * k + 1] == 2 * n + 9);
        }
        assert_true(f[i].m.sum[4] < f[i].m.sum[0]);
    }
    assert_true(f[0].hash == f[1].hash && f[0].m.hash == f[1].m.hash);
    moments_free(&f[0].m);
    moments_free(&f[1].m);
}

/* Nothing runs: long runs with the fixed step go to a GPU, short and exact ones do not. */
static void auto_takes_what_is_sooner_done(void **state)
{
    static const struct {
        double until;
        const char *method, *device;
    } runs[] = {{1.0, "auto", "cpu"}, {1000.0, "auto", "cuda"}, {1000.0, "nsm", "cpu"}};
    saltus_error err = {0};
    (void)state;
    need_gpu("cuda");
    saltus_model *m = read_case(&(space_case){"abc-lattice", NULL, 50e-6, 0});
    for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i) {
        saltus_backend *backend = NULL;
        saltus_plan_options plan = saltus_plan_options_default();
        saltus_run_options run_options = saltus_run_options_default();
        plan.method = runs[i].method;
        plan.n_threads = 2;
        run_options.times = &runs[i].until;
        run_options.n_times = 1;
        OK(saltus_backend_choose(m, &plan, &run_options, &backend, &err));
        if (strncmp(saltus_backend_name(backend), runs[i].device, strlen(runs[i].device)) != 0) {
            fail_msg("until %g by %s: %s", runs[i].until, runs[i].method,
                     saltus_backend_name(backend));
        }
        saltus_backend_close(backend);
    }
    saltus_model_destroy(m);
}

/* In slabs as `split` and `no_peer` say; then every fourth call. */
static void check_failures(const char *layout)
{
    saltus_model *m = read_case(&cases[GROWS]);
    int good = 0;
    for (int call = 1; good == 0 && call < 1000; call += split ? 4 : 1) {
        char text[40];
        saltus_error err = {0};
        moments sums = {0};
        saltus_run_options o = saltus_run_options_default();
        saltus_plan_options p = saltus_plan_options_default();
        const double times[] = {0.4};
        o.times = times;
        o.n_times = 1;
        p.layout = layout;
        p.n_threads = 1;
        p.split = split;
        p.no_peer = no_peer;
        (void)snprintf(text, sizeof text, "%d:700", call);
        assert_int_equal(setenv("FAKE_CUDA_FAIL", text, 1), 0);
        const saltus_status status = run_plan(m, split ? "cuda:0,1" : "cuda", &p, &o, &sums, &err);
        good += status == SALTUS_OK;
        assert_true(status == SALTUS_OK ? sums.n == 1 : sums.n == 0 && err.message[0]);
        moments_free(&sums);
    }
    assert_int_equal(unsetenv("FAKE_CUDA_FAIL"), 0);
    assert_int_equal(good, 1);
    saltus_model_destroy(m);
}

/* Calls of the driver fail, one in a run: an error, no crash, nothing lost. */
static void a_failing_gpu_is_reported(void **state)
{
    (void)state;
    if (!is_fake() || plays_warps()) {
        skip();
    }
    for (int l = takes_part(); l < 2; ++l) {
        check_failures(layouts[l]);
    }
    split = "1:1";
    no_peer = true;
    check_failures("counts");
    no_peer = false;
    split = NULL;
}

/* With a name, as `slabs_*`, those tests alone. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_change_nothing),
                                       cmocka_unit_test(laws_that_do_nothing_change_nothing),
                                       cmocka_unit_test(a_gpu_gives_the_same),
                                       cmocka_unit_test(a_million_steps_lose_nobody),
                                       cmocka_unit_test(slabs_change_nothing),
                                       cmocka_unit_test(close_gpus_change_nothing),
                                       cmocka_unit_test(slabs_that_run_at_once_change_nothing),
                                       cmocka_unit_test(planes_that_moved_in_vain_go_back),
                                       cmocka_unit_test(a_lattice_may_be_larger_than_32_bits),
                                       cmocka_unit_test(auto_takes_what_is_sooner_done),
                                       cmocka_unit_test(a_failing_gpu_is_reported)};
    int n = 0; /* tests of that name */
    for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) {
        n += argc < 2 || fnmatch(argv[1], tests[i].name, 0) == 0;
    }
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return n == 0 ? EXIT_FAILURE : cmocka_run_group_tests(tests, set_up, NULL);
}
