/* Memory that runs out anywhere: the n-th allocation and all later ones fail, for n = 0, 1, 2, …,
 * further on in greater steps, until the work succeeds. Every time the status says so, nothing
 * leaks (ASan) and what had been made before is usable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/moments.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ALLOCATIONS = 200000 };

/* What a path through the library does; its status is the first failure. */
typedef saltus_status path(saltus_error *err);

static bool is_failing; /* the allocator is about to fail or has done so */

static void allocate_again(void)
{
    saltus_fail_allocation(-1);
    is_failing = false;
}

/* Runs `work` until it succeeds; returns how many allocations it makes, at least. Of many, not
 * every one fails, and in builds that take a part of the tests every fifth of those. */
static int fail_everywhere(path *work)
{
    const int step = takes_part() ? 5 : 1;
    for (int n = 0; n < MOST_ALLOCATIONS; n += step * (1 + n / 300)) {
        saltus_error err = {0};
        is_failing = true;
        saltus_fail_allocation(n);
        const saltus_status status = work(&err);
        allocate_again();
        if (status == SALTUS_OK) {
            return n;
        }
        if (status != SALTUS_E_NO_MEMORY || err.code != SALTUS_E_NO_MEMORY || !err.message[0]) {
            fail_msg("allocation %d: status %d, recorded %d: %s", n, (int)status, (int)err.code,
                     err.message);
        }
    }
    fail_msg("no end after %d allocations", MOST_ALLOCATIONS);
    return 0;
}

#define TRY(call)                  \
    do {                           \
        status = (call);           \
        if (status != SALTUS_OK) { \
            goto done;             \
        }                          \
    } while (0)

/* Everything that freezing knows: rules that share parts, clocks, events, a law that is split,
 * powers that warn, fractions that are rounded, constants, a conservation that nothing changes. */
static const char text[] =
    "model: all of it\n"
    "species:\n"
    "  A: 100\n"
    "  B: 20.5\n"
    "  C: {initial: 3, compartment: cell}\n"
    "  D: {initial: 1, boundary: true}\n"
    "compartments: {cell: 2.5}\n"
    "parameters: {k: 0.1, twice: 2*k, seen: 0, wave: 0}\n"
    "rules:\n"
    "  total: A + B + C\n"
    "  share: A/(total + 1)\n"
    "  dose: \"piecewise(2, time > 1, 1)\"\n"
    "  clock: time\n"
    "reactions:\n"
    "  decay: A -> B @ k\n"
    "  pair: 2 A -> C @ 0.001*A^2\n"
    "  both: A <-> C @ 0.2*A - 0.1*C\n"
    "  made: 0 -> A @ dose*3\n"
    "  bound: D + B -> D @ k/10\n"
    "  hill: B -> A @ twice*B/(1 + share)\n"
    "events:\n"
    "  first: {at: 0.5, set: {A: A + 7, seen: seen + 1}}\n"
    "  second: {when: 2*time - 1 >= 2, delay: 0.25, priority: A, set: {C: C/2}}\n"
    "  third: {at: 0.5, priority: 3, persistent: false, set: {wave: wave + 1}}\n";

static saltus_status read_and_freeze(saltus_model **model, saltus_error *err)
{
    saltus_status status = saltus_model_parse_yaml(text, strlen(text), "all.yaml", model, err);
    if (status == SALTUS_OK) {
        status = saltus_model_set(*model, "k", 0.2, err);
    }
    return status == SALTUS_OK ? saltus_model_freeze(*model, SALTUS_LAW_LITERAL, err) : status;
}

static saltus_status build_by_calls(saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    char name[20];
    TRY(saltus_model_create("calls", &m, err));
    TRY(saltus_model_add_parameter(m, "k", 1.5, err));
    for (int i = 0; i < 40; ++i) { /* enough to grow every array and map */
        (void)snprintf(name, sizeof name, "S%d", i);
        TRY(saltus_model_add_species(m, name, i, err));
    }
    for (int i = 0; i < 40; ++i) {
        char equation[60];
        (void)snprintf(name, sizeof name, "R%d", i);
        (void)snprintf(equation, sizeof equation, "S%d + 2 S%d -> S%d", i, (i + 1) % 40,
                       (i + 2) % 40);
        TRY(saltus_model_add_reaction(m, name, equation, i % 2 ? "k" : "k*S1*S2/(1 + S3)", err));
    }
    TRY(saltus_model_set(m, "S3", 5, err));
    TRY(saltus_model_freeze(m, SALTUS_LAW_COMBINATORIAL, err));
done:
    saltus_model_destroy(m);
    return status;
}

static saltus_status build_from_yaml(saltus_error *err)
{
    saltus_model *m = NULL;
    const saltus_status status = read_and_freeze(&m, err);
    saltus_model_destroy(m);
    return status;
}

/* Values that are drawn, parts of molecules, reactions that take a while, in a run as well. */
static saltus_status run_by_chance(saltus_error *err)
{
    static const char chance[] =
        "stoichiometry: draw\n"
        "species: {A: poisson(20), B: 0, C: {initial: 'normal(1, 2)'}}\n"
        "parameters: {k: 'gamma(2, k2)', k2: 2, m: 2*k}\n"
        "rules: {total: A + m}\n"
        "reactions:\n"
        "  part: A -> 0.3 B + 0.7 A @ k\n"
        "  scale: 0 -> 1.5 B @ 2\n"
        "  slow: {equation: B -> A, rate: 9, delay: 'uniform(0, total)'}\n"
        "events:\n"
        "  e: {at: 0.5, delay: 'exponential(2)', set: {A: 'binomial(A, 0.5)', k: 'cauchy(1)^2'}}\n";
    static const double times[] = {0.0, 3.0};
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    moments found = {0};
    saltus_run_options run = saltus_run_options_default();
    run.n_trajectories = 2;
    run.times = times;
    run.n_times = 2;
    TRY(saltus_model_parse_yaml(chance, strlen(chance), "chance.yaml", &m, err));
    TRY(saltus_model_freeze(m, SALTUS_LAW_LITERAL, err));
    TRY(run_model(m, "cpu", "auto", 1, &run, &found, err));
done:
    moments_free(&found);
    saltus_model_destroy(m);
    return status;
}

/* Rate rules, in lanes and one at a time, and the mean field, with triggers that turn in steps. */
static saltus_status run_rates(saltus_error *err)
{
    static const char moving[] = "species: {G: 0, I: 1}\n"
                                 "parameters: {y: 0, z: 1, n: 0}\n"
                                 "rules: {r: y*y + time}\n"
                                 "rate rules: {y: 'piecewise(G, time < 1, 2*G) - y', z: y - r*z}\n"
                                 "reactions: {up: I -> G @ 1 + y, down: G -> I @ 2}\n"
                                 "events: {e: {when: y > 0.3 && z < 0.9, delay: 0.1, "
                                 "set: {n: n + 1, y: 0}}}\n";
    static const double times[] = {0.0, 3.0};
    static const char *const ways[][2] = {
        {"direct", "lanes"}, {"direct", "scalar"}, {"ode", "auto"}, {"hybrid", "auto"}};
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    moments found = {0};
    saltus_run_options run = saltus_run_options_default();
    run.n_trajectories = 10;
    run.times = times;
    run.n_times = 2;
    TRY(saltus_model_parse_yaml(moving, strlen(moving), "moving.yaml", &m, err));
    TRY(saltus_model_freeze(m, SALTUS_LAW_LITERAL, err));
    for (int i = 0; i < 4; ++i) {
        saltus_plan_options plan = saltus_plan_options_default();
        plan.method = ways[i][0];
        plan.layout = ways[i][1];
        plan.n_threads = 1;
        TRY(run_plan(m, "cpu:generic", &plan, &run, &found, err));
        moments_free(&found);
        found = (moments){0};
    }
done:
    moments_free(&found);
    saltus_model_destroy(m);
    return status;
}

static saltus_status build_lattice(saltus_error *err)
{
    static const char lattice[] =
        "species: {A: 10, B: , C: 0}\n"
        "reactions: {r: A + B -> C, s: 'A <-> C @ 1, 2', l: A -> 0 @ A/(1 + A)}\n"
        "lattice:\n"
        "  size: [6, 6, 6]\n"
        "  spacing: 1e-8 m\n"
        "  step: largest\n"
        "  faces: {x: periodic, z+: {B: 0.1}}\n"
        "  sites:\n"
        "    out:\n"
        "    cell: {union: [{box: {from: [1 sites, 1 sites, 1 sites], to: [6 sites, 6 sites, 6 "
        "sites]}}]}\n"
        "    wall: {shell: {of: cell}}\n"
        "    stone: {pack: {in: cell, box: {size: [1 sites, 1 sites, 1 sites]}, fraction: 0.1, "
        "seed: 1}}\n"
        "  diffusion: {A: 1e-12, B: {cell: 1e-12, cell-wall: 0}, C: 0}\n"
        "  place: {A: cell, B: {wall: 3, sites: [[1, 2, 3, 4]]}}\n"
#if SALTUS_WITH_UDUNITS
        "  reactions: {r: {cell: 1e6 1/(M s)}, s: [cell, wall]}\n";
#else
        "  reactions: {r: {cell: 1e6}, s: [cell, wall]}\n";
#endif
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    FILE *out = NULL;
    TRY(saltus_model_parse_yaml(lattice, strlen(lattice), "space.yaml", &m, err));
    TRY(saltus_model_freeze(m, SALTUS_LAW_LITERAL, err));
    out = fopen("/dev/null", "w");
    assert_non_null(out);
    TRY(saltus_model_print_info(m, out, err));
done:
    if (out) {
        (void)fclose(out);
    }
    saltus_model_destroy(m);
    return status;
}

static saltus_status build_from_net(saltus_error *err)
{
    static const char net[] = "begin parameters\n 1 k 0.5\n 2 m 2*k\nend parameters\n"
                              "begin functions\n 1 f() k*Total\nend functions\n"
                              "begin species\n 1 A(b) 100\n 2 B(a) 50+m\n 3 A(b!1).B(a!1) 0\n"
                              "end species\n"
                              "begin reactions\n 1 1,2 3 k #R1\n 2 3 1,2 f() #R2\n"
                              "end reactions\n"
                              "begin groups\n 1 Total 1,2,2*3\nend groups\n";
    saltus_model *m = NULL;
    saltus_status status = saltus_model_parse_net(net, strlen(net), "two.net", &m, err);
    if (status == SALTUS_OK) {
        status = saltus_model_freeze(m, SALTUS_LAW_LITERAL, err);
    }
    saltus_model_destroy(m);
    return status;
}

static saltus_status build_from_sbml(saltus_error *err)
{
    static const char sbml[] =
        "<?xml version='1.0' encoding='UTF-8'?>\n"
        "<sbml xmlns='http://www.sbml.org/sbml/level3/version1/core' level='3' version='1'>\n"
        "<model id='m'><listOfCompartments><compartment id='c' size='2' constant='true'"
        " spatialDimensions='3'/></listOfCompartments><listOfSpecies>"
        "<species id='X' compartment='c' initialAmount='10' hasOnlySubstanceUnits='true'"
        " boundaryCondition='false' constant='false'/>"
        "<species id='Y' compartment='c' initialConcentration='5' hasOnlySubstanceUnits='false'"
        " boundaryCondition='false' constant='false'/></listOfSpecies>"
        "<listOfParameters><parameter id='k' value='0.5' constant='true'/>"
        "<parameter id='r' constant='false'/></listOfParameters>"
        "<listOfRules><assignmentRule variable='r'><math"
        " xmlns='http://www.w3.org/1998/Math/MathML'><apply><times/><ci>k</ci><ci>Y</ci></apply>"
        "</math></assignmentRule></listOfRules>"
        "<listOfReactions><reaction id='R' reversible='false' fast='false'><listOfReactants>"
        "<speciesReference species='X' stoichiometry='1' constant='true'/></listOfReactants>"
        "<kineticLaw><math xmlns='http://www.w3.org/1998/Math/MathML'><apply><times/><ci>k</ci>"
        "<ci>X</ci><ci>r</ci></apply></math></kineticLaw></reaction></listOfReactions>"
        "<listOfEvents><event id='E' useValuesFromTriggerTime='true'><trigger initialValue='true'"
        " persistent='true'><math xmlns='http://www.w3.org/1998/Math/MathML'><apply><lt/>"
        "<ci>X</ci><cn>3</cn></apply></math></trigger><listOfEventAssignments>"
        "<eventAssignment variable='X'><math xmlns='http://www.w3.org/1998/Math/MathML'>"
        "<cn>9</cn></math></eventAssignment></listOfEventAssignments></event></listOfEvents>"
        "</model></sbml>\n";
    saltus_model *m = NULL;
    saltus_status status = saltus_model_parse_sbml(sbml, strlen(sbml), "m.xml", &m, err);
    if (status == SALTUS_E_UNAVAILABLE) { /* not built */
        return SALTUS_OK;
    }
    if (status == SALTUS_OK) {
        status = saltus_model_set_volume(m, "all", "3", err);
    }
    if (status == SALTUS_OK) {
        status = saltus_model_freeze(m, SALTUS_LAW_LITERAL, err);
    }
    saltus_model_destroy(m);
    return status;
}

/* species: {A: 1, B: 0}, reactions: {r: A -> B @ 1}, packed by gzip. */
static saltus_status build_from_packed(saltus_error *err)
{
    static const unsigned char packed[] = {
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x2b, 0x2e, 0x48, 0x4d,
        0xce, 0x4c, 0x2d, 0xb6, 0x52, 0xa8, 0x76, 0xb4, 0x52, 0x30, 0xd4, 0x51, 0x70, 0xb2,
        0x52, 0x30, 0xa8, 0xe5, 0x2a, 0x4a, 0x4d, 0x4c, 0x2e, 0xc9, 0xcc, 0xcf, 0x03, 0x89,
        0x17, 0x59, 0x29, 0x38, 0x2a, 0xe8, 0xda, 0x29, 0x38, 0x29, 0x38, 0x28, 0x18, 0xd6,
        0x72, 0x01, 0x00, 0xe0, 0xe5, 0x25, 0x72, 0x31, 0x00, 0x00, 0x00};
    saltus_model *m = NULL;
    const saltus_status status =
        saltus_model_parse((const char *)packed, sizeof packed, "m.yaml.gz", &m, err);
    saltus_model_destroy(m);
    return status;
}

#if SALTUS_WITH_SBML
/* A lattice around a file: a rule, a unit of time, compartments that are named and that are not. */
static saltus_status build_sbml_lattice(saltus_error *err)
{
    static const char sbml[] =
        "<sbml xmlns='http://www.sbml.org/sbml/level3/version1/core' level='3' version='1'>\n"
        "<model id='m' timeUnits='ms'><listOfUnitDefinitions><unitDefinition id='ms'><listOfUnits>"
        "<unit kind='second' exponent='1' scale='-3' multiplier='1'/></listOfUnits>"
        "</unitDefinition></listOfUnitDefinitions><listOfCompartments>"
        "<compartment id='c' size='2' constant='true' spatialDimensions='3'/>"
        "<compartment id='d' size='2' constant='true' spatialDimensions='2'/></listOfCompartments>"
        "<listOfSpecies><species id='X' compartment='c' initialAmount='10' "
        "hasOnlySubstanceUnits='true' boundaryCondition='false' constant='false'/>"
        "<species id='Y' compartment='d' initialConcentration='5' hasOnlySubstanceUnits='false'"
        " boundaryCondition='false' constant='false'/></listOfSpecies>"
        "<listOfParameters><parameter id='r' constant='false'/></listOfParameters>"
        "<listOfRules><assignmentRule variable='r'><math"
        " xmlns='http://www.w3.org/1998/Math/MathML'><ci>Y</ci></math></assignmentRule>"
        "</listOfRules><listOfReactions><reaction id='R' reversible='false' fast='false'>"
        "<listOfReactants><speciesReference species='X' stoichiometry='1' constant='true'/>"
        "</listOfReactants><kineticLaw><math xmlns='http://www.w3.org/1998/Math/MathML'><apply>"
        "<times/><ci>X</ci><ci>r</ci></apply></math></kineticLaw></reaction></listOfReactions>"
        "</model></sbml>\n";
    static const char lattice[] =
        "sbml: faults.xml\n"
        "lattice: {size: [6, 6, 6], spacing: 1e-8 m, step: largest, sites: {c: , d: {shell: {of: "
        "c}}}, compartments: {c: [c, d]}, diffusion: {X: 1e-12, Y: 0}}\n";
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    FILE *out = fopen("faults.xml", "w");
    assert_non_null(out);
    assert_true(fputs(sbml, out) >= 0);
    assert_int_equal(fclose(out), 0);
    TRY(saltus_model_parse_yaml(lattice, strlen(lattice), "space.yaml", &m, err));
    TRY(saltus_model_freeze(m, SALTUS_LAW_LITERAL, err));
done:
    saltus_model_destroy(m);
    return status;
}
#endif

static void models_from_anywhere(void **state)
{
    (void)state;
    assert_true(fail_everywhere(build_by_calls) > 100);
    assert_true(fail_everywhere(build_from_yaml) > 100);
    assert_true(fail_everywhere(run_by_chance) > 100);
    assert_true(fail_everywhere(run_rates) > 100);
    assert_true(fail_everywhere(build_lattice) > 100);
    assert_true(fail_everywhere(build_from_net) > 20);
    assert_true(fail_everywhere(build_from_packed) > 20);
    (void)fail_everywhere(build_from_sbml);
#if SALTUS_WITH_SBML
    assert_true(fail_everywhere(build_sbml_lattice) > 20);
#endif
}

/* ---- runs ---- */

static const saltus_model *frozen;
static const char *layout, *rng, *method;
static uint64_t hash; /* of the run that succeeded */

static saltus_status plan_and_run(saltus_error *err)
{
    static const double times[] = {0.0, 0.5, 1.0, 3.0};
    saltus_status status = SALTUS_OK;
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    moments m = {0};
    const saltus_sink sink = moments_sink(&m);
    saltus_plan_options options = saltus_plan_options_default();
    saltus_run_options run = saltus_run_options_default();
    options.layout = layout;
    options.rng = rng;
    options.method = method;
    options.n_threads = 1;
    options.columns = "A,C,[C],share,k";
    run.n_trajectories = 70;
    run.times = times;
    run.n_times = 4;
    TRY(saltus_backend_open("cpu", &backend, err));
    TRY(saltus_plan_create(frozen, backend, &options, &plan, err));
    TRY(saltus_run(plan, &run, &sink, NULL, err));
    hash = m.hash;
done:
    moments_free(&m);
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    return status;
}

static void runs(void **state)
{
    static const char *const layouts[] = {"lanes", "scalar", "scalar", "auto"};
    static const char *const generators[] = {"philox", "philox", "xorwow", "philox"};
    static const char *const methods[] = {"direct", "direct", "direct", "tau"};
    saltus_model *model = NULL;
    saltus_error err = {0};
    uint64_t hashes[4];
    (void)state;
    assert_int_equal(read_and_freeze(&model, &err), SALTUS_OK);
    frozen = model;
    for (int l = 0; l < 4; ++l) {
        layout = layouts[l];
        rng = generators[l];
        method = methods[l];
        assert_true(fail_everywhere(plan_and_run) > 10);
        hashes[l] = hash;
    }
    assert_true(hashes[0] == hashes[1] && hashes[1] != hashes[2]);
    assert_true(hashes[3] != hashes[1]);
    saltus_model_destroy(model);
}

/* By the next-subvolume method: with sources, laws of empty sites, room that grows. */
static saltus_status run_in_space(saltus_error *err)
{
    static const char lattice[] =
        "species: {A: 60, B: 40, C: 0}\n"
        "reactions: {r: A + B -> C @ 1, s: 0 -> A @ 1, l: 0 -> B @ 1/(1 + B)}\nlattice:\n"
        "  size: [5, 5, 5]\n  spacing: 1 m\n  step: 0.1\n  faces: {x+: {A: 1}}\n"
        "  diffusion: {A: 1, B: 1, C: 1}\n";
    static const double times[] = {1.0};
    saltus_status status = SALTUS_OK;
    saltus_model *m = NULL;
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    moments sums = {0};
    const saltus_sink sink = moments_sink(&sums);
    saltus_plan_options options = saltus_plan_options_default();
    saltus_run_options run = saltus_run_options_default();
    options.method = "nsm";
    options.n_threads = 1;
    run.times = times;
    run.n_times = 1;
    run.n_trajectories = 2;
    TRY(saltus_model_parse_yaml(lattice, strlen(lattice), "space.yaml", &m, err));
    TRY(saltus_model_freeze(m, SALTUS_LAW_LITERAL, err));
    TRY(saltus_backend_open("cpu", &backend, err));
    TRY(saltus_plan_create(m, backend, &options, &plan, err));
    TRY(saltus_run(plan, &run, &sink, NULL, err));
done:
    moments_free(&sums);
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    saltus_model_destroy(m);
    return status;
}

static void runs_in_space(void **state)
{
    (void)state;
    assert_true(fail_everywhere(run_in_space) > 100);
}

/* ---- result files ---- */

static const char *const file = "faults.h5";
static saltus_record record;
static bool in_space; /* the model is on a lattice */

/* What there is of the file is readable; a sweep's may have no point yet. */
static void check_file(saltus_status status)
{
    if (is_failing && status != SALTUS_OK && access(file, F_OK) == 0) {
        saltus_error err = {0};
        saltus_results *results = NULL;
        allocate_again();
        if (saltus_results_open(file, &results, &err) != SALTUS_OK &&
            !strstr(err.message, "holds no point of the sweep yet")) {
            fail_msg("the file is not readable: %s", err.message);
        }
        saltus_results_close(results);
    }
}

static saltus_status run_into_file(saltus_error *err)
{
    static const double times[] = {0.0, 1.0};
    saltus_status status = SALTUS_OK;
    saltus_error close_err = {0};
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_hdf5_sink *sink = NULL;
    saltus_hdf5_options how = saltus_hdf5_options_default();
    how.overwrite = true;
    saltus_plan_options options = saltus_plan_options_default();
    saltus_run_options run = saltus_run_options_default();
    saltus_run_report report = {0};
    how.record = record;
    options.layout = in_space ? "auto" : "scalar";
    options.by_type = in_space;
    options.profile = in_space ? "y" : NULL;
    options.n_threads = 1;
    run.n_trajectories = 6;
    run.frame_times = times;
    run.n_frames = in_space ? 2 : 0;
    run.times = times;
    run.n_times = 2;
    (void)unlink(file);
    TRY(saltus_backend_open("cpu", &backend, err));
    TRY(saltus_plan_create(frozen, backend, &options, &plan, err));
    TRY(saltus_hdf5_sink_open(file, plan, &run, &how, &sink, err));
    status = saltus_run(plan, &run, saltus_hdf5_sink_get(sink), &report, err);
    const saltus_status closed = saltus_hdf5_sink_close(sink, &report, &close_err);
    if (status == SALTUS_OK && closed != SALTUS_OK) {
        status = closed;
        *err = close_err;
    }
done:
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    check_file(status);
    return status;
}

static saltus_model *load(void *user, saltus_error *err)
{
    saltus_model *model = NULL;
    (void)user;
    if (saltus_model_parse_yaml(text, strlen(text), "all.yaml", &model, err) != SALTUS_OK) {
        saltus_model_destroy(model);
        return NULL;
    }
    return model;
}

/* A grid of four points on one thread. */
static saltus_status sweep_into_file(saltus_error *err)
{
    static const double times[] = {0.0, 1.0};
    saltus_status status = SALTUS_OK;
    saltus_error close_err = {0};
    saltus_sweep *sweep = NULL;
    saltus_sweep_options o = saltus_sweep_options_default();
    saltus_hdf5_options how = saltus_hdf5_options_default();
    how.overwrite = true;
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_sweep_file *results = NULL;
    saltus_run_report report = {0};
    saltus_model *model = NULL;
    how.record = record;
    how.derive = "mean:A,period:share,passage:C:4";
    o.load = load;
    o.plan.n_threads = 1;
    o.run.n_trajectories = 3;
    o.run.times = times;
    o.run.n_times = 2;
    (void)unlink(file);
    TRY(saltus_sweep_create(&sweep, err));
    TRY(saltus_sweep_vary(sweep, "k=lin:0.1:0.3:2", err));
    TRY(saltus_sweep_vary(sweep, "A=list:50,100", err));
    TRY(saltus_sweep_finish(sweep, NULL, 1, err));
    model = load(NULL, err);
    TRY(model ? SALTUS_OK : err->code);
    TRY(saltus_sweep_freeze(sweep, 0, model, SALTUS_LAW_LITERAL, err));
    TRY(saltus_backend_open("cpu", &backend, err));
    TRY(saltus_plan_create(model, backend, &o.plan, &plan, err));
    TRY(saltus_sweep_file_open(file, sweep, &o, plan, &how, &results, err));
    status = saltus_sweep_run(sweep, &o, saltus_sweep_file_sink(results), &report, err);
    const saltus_status closed = saltus_sweep_file_close(results, &report, &close_err);
    if (status == SALTUS_OK && closed != SALTUS_OK) {
        status = closed;
        *err = close_err;
    }
done:
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    saltus_model_destroy(model);
    saltus_sweep_destroy(sweep);
    check_file(status);
    return status;
}

static saltus_status read_file(saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    saltus_results *results = NULL;
    FILE *out = fopen("/dev/null", "w");
    assert_non_null(out);
    TRY(saltus_results_open(file, &results, err));
    TRY(saltus_results_print_stats(results, out, err));
    TRY(saltus_results_print_summary(results, out, err));
    TRY(saltus_results_print_csv(results, out, err));
    if (in_space) {
        TRY(saltus_results_print_split(results, SALTUS_BY_TYPE, out, err));
        TRY(saltus_results_print_split(results, SALTUS_BY_PLANE, out, err));
        TRY(saltus_results_print_frames(results, out, err));
        TRY(saltus_results_write_xdmf(results, err));
    }
done:
    saltus_results_close(results);
    (void)fclose(out);
    return status;
}

static saltus_status write_texts(saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    FILE *out = fopen("/dev/null", "w");
    assert_non_null(out);
    TRY(saltus_model_write_yaml(frozen, out, err));
    TRY(saltus_model_print_info(frozen, out, err));
done:
    (void)fclose(out);
    return status;
}

/* A run and a sweep into memory, with all that is made there. */
static saltus_status keep_in_memory(saltus_error *err)
{
    static const double times[] = {0.0, 0.5, 1.0}, values[] = {0.1, 0.2};
    static const char *const names[] = {"k"};
    saltus_status status = SALTUS_OK;
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_memory *memory = NULL, *points = NULL;
    saltus_sweep *sweep = NULL;
    saltus_plan_options options = saltus_plan_options_default();
    saltus_sweep_options swept = saltus_sweep_options_default();
    saltus_memory_options kept = saltus_memory_options_default();
    options.n_threads = 1;
    swept.load = load;
    swept.plan.n_threads = 1;
    swept.run.n_trajectories = 5;
    swept.run.times = times;
    swept.run.n_times = 3;
    kept.derive = "mean:A,final:share";
    TRY(saltus_backend_open("cpu", &backend, err));
    TRY(saltus_plan_create(frozen, backend, &options, &plan, err));
    TRY(saltus_memory_open(plan, &swept.run, 0, &kept, &memory, err));
    TRY(saltus_run(plan, &swept.run, saltus_memory_sink(memory), NULL, err));
    (void)saltus_memory_get(memory);
    kept.record = SALTUS_RECORD_HISTOGRAM;
    TRY(saltus_sweep_create(&sweep, err));
    TRY(saltus_sweep_table(sweep, names, 1, values, 2, err));
    TRY(saltus_memory_open(plan, &swept.run, 2, &kept, &points, err));
    TRY(saltus_sweep_run(sweep, &swept, saltus_memory_sweep_sink(points), NULL, err));
done:
    saltus_memory_close(memory);
    saltus_memory_close(points);
    saltus_sweep_destroy(sweep);
    saltus_plan_destroy(plan);
    saltus_backend_close(backend);
    return status;
}

static void results_in_memory(void **state)
{
    saltus_model *model = NULL;
    saltus_error err = {0};
    (void)state;
    assert_int_equal(read_and_freeze(&model, &err), SALTUS_OK);
    frozen = model;
    assert_true(fail_everywhere(keep_in_memory) > 50);
    saltus_model_destroy(model);
}

static void result_files(void **state)
{
    static const saltus_record records[] = {SALTUS_RECORD_FINAL, SALTUS_RECORD_HISTOGRAM,
                                            SALTUS_RECORD_STATS, SALTUS_RECORD_ALL};
    saltus_model *model = NULL;
    saltus_error err = {0};
    (void)state;
    assert_int_equal(read_and_freeze(&model, &err), SALTUS_OK);
    frozen = model;
    (void)fail_everywhere(write_texts);
    record = SALTUS_RECORD_ALL;
    const saltus_status status = run_into_file(&err);
    if (status == SALTUS_E_UNAVAILABLE) {
        saltus_model_destroy(model);
        skip();
    }
    assert_int_equal(status, SALTUS_OK);
    for (int r = 0; r < 4; ++r) {
        record = records[r];
        assert_true(fail_everywhere(run_into_file) > 10);
    }
    assert_true(fail_everywhere(read_file) > 3);
    (void)unlink(file);
    saltus_model_destroy(model);
}

/* Frames whose sites hold more and more, so that values become wider. */
static void files_of_lattices(void **state)
{
    static const char lattice[] =
        "species: {A: , B: 0}\n"
        "reactions: {r: A -> 2 B @ 3}\n"
        "lattice:\n"
        "  size: [4, 3, 2]\n"
        "  spacing: 1 m\n"
        "  step: 0.5\n"
        "  sites: {a: , b: {box: {from: [0, 0, 0], to: [2 sites, 3 sites, 2 sites]}}}\n"
        "  diffusion: {A: 0, B: 0}\n"
        "  place: {A: {sites: [[1, 1, 1, 200]]}}\n";
    saltus_model *model = NULL;
    saltus_error err = {0};
    (void)state;
    assert_int_equal(saltus_model_parse_yaml(lattice, strlen(lattice), "space.yaml", &model, &err),
                     SALTUS_OK);
    assert_int_equal(saltus_model_freeze(model, SALTUS_LAW_LITERAL, &err), SALTUS_OK);
    frozen = model;
    in_space = true;
    record = SALTUS_RECORD_STATS;
    const saltus_status status = run_into_file(&err);
    if (status != SALTUS_E_UNAVAILABLE) {
        assert_int_equal(status, SALTUS_OK);
        assert_true(fail_everywhere(run_into_file) > 100);
        record = SALTUS_RECORD_ALL;
        assert_true(fail_everywhere(run_into_file) > 100);
        assert_true(fail_everywhere(read_file) > 10);
    }
    in_space = false;
    (void)unlink(file);
    (void)unlink("faults.xdmf");
    saltus_model_destroy(model);
}

static void sweep_files(void **state)
{
    static const saltus_record records[] = {SALTUS_RECORD_HISTOGRAM, SALTUS_RECORD_ALL};
    saltus_error err = {0};
    (void)state;
    record = SALTUS_RECORD_ALL;
    const saltus_status status = sweep_into_file(&err);
    if (status == SALTUS_E_UNAVAILABLE) {
        skip();
    }
    assert_int_equal(status, SALTUS_OK);
    for (int r = 0; r < 2; ++r) {
        record = records[r];
        assert_true(fail_everywhere(sweep_into_file) > 100);
    }
    assert_true(fail_everywhere(read_file) > 3);
    (void)unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_from_anywhere), cmocka_unit_test(runs),
        cmocka_unit_test(runs_in_space),        cmocka_unit_test(result_files),
        cmocka_unit_test(files_of_lattices),    cmocka_unit_test(sweep_files),
        cmocka_unit_test(results_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
