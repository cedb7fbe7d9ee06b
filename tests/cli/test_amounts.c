/* Sizes and amounts of a model that are changed for a run (--volume, --mole), units of well-mixed
 * models, and what is told of runs that take long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two compartments; A and C are given by concentration, B by amount, D by an assignment. In %s are
 * the unit of substance, a concentration, an amount, and the law's size. */
static const char document[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<sbml xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" level=\"3\" version=\"1\">\n"
    "<model id=\"m\" substanceUnits=\"%s\" extentUnits=\"%s\" volumeUnits=\"litre\">\n"
    "<listOfCompartments>\n"
    "<compartment id=\"cell\" size=\"1\" spatialDimensions=\"3\" constant=\"true\"/>\n"
    "<compartment id=\"core\" size=\"0.25\" spatialDimensions=\"3\" constant=\"true\"/>\n"
    "</listOfCompartments><listOfSpecies>\n"
    "<species id=\"A\" compartment=\"cell\" initialConcentration=\"%s\" "
    "hasOnlySubstanceUnits=\"false\" boundaryCondition=\"false\" constant=\"false\"/>\n"
    "<species id=\"B\" compartment=\"cell\" initialAmount=\"%s\" "
    "hasOnlySubstanceUnits=\"true\" boundaryCondition=\"false\" constant=\"false\"/>\n"
    "<species id=\"C\" compartment=\"core\" initialConcentration=\"%s\" "
    "hasOnlySubstanceUnits=\"false\" boundaryCondition=\"false\" constant=\"false\"/>\n"
    "<species id=\"D\" compartment=\"cell\" "
    "hasOnlySubstanceUnits=\"true\" boundaryCondition=\"false\" constant=\"false\"/>\n"
    "</listOfSpecies><listOfParameters>\n"
    "<parameter id=\"k\" value=\"0.1\" constant=\"true\"/>\n"
    "<parameter id=\"d\" value=\"%s\" constant=\"true\"/>\n"
    "</listOfParameters><listOfInitialAssignments><initialAssignment symbol=\"D\">\n"
    "<math xmlns=\"http://www.w3.org/1998/Math/MathML\"><ci>d</ci></math>\n"
    "</initialAssignment></listOfInitialAssignments><listOfReactions>\n"
    "<reaction id=\"R\" reversible=\"false\" fast=\"false\">\n"
    "<listOfReactants><speciesReference species=\"A\" stoichiometry=\"1\" constant=\"true\"/>\n"
    "</listOfReactants><kineticLaw><math xmlns=\"http://www.w3.org/1998/Math/MathML\">\n"
    "<apply><times/>%s<ci>k</ci><ci>A</ci></apply></math></kineticLaw></reaction>\n"
    "</listOfReactions></model></sbml>\n";

static void write_model(const char *name, const char *unit, const char *amount, const char *size)
{
    char text[4000];
    (void)snprintf(text, sizeof text, document, unit, unit, amount, amount, amount, amount, size);
    write_file(name, text);
}

static int enter_with_amounts(void **state)
{
    const int status = enter_with_models(state);
    if (status == 0) {
        write_model("moles.xml", "mole", "2e-3", "<ci>cell</ci>");
        write_model("items.xml", "item", "2e21", "<ci>cell</ci>");
        write_model("few.xml", "item", "400", "");
    }
    return status;
}

/* The number behind a name in what info prints. */
static double number_of(const outcome *o, const char *name)
{
    char start[40];
    (void)snprintf(start, sizeof start, "\n  %s ", name);
    const char *line = strstr(o->out, start);
    if (!line) {
        print_message("no '%s' in\n%s", name, o->out);
        fail();
    }
    return strtod(line + strlen(start), NULL);
}

static void check_number(const outcome *o, const char *name, double expected)
{
    const double got = number_of(o, name);
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected))) {
        print_message("%s is %.10g, not %.10g\n", name, got, expected);
        fail();
    }
}

static void assert_worked(const outcome *o)
{
    if (o->code != 0) {
        print_message("%s", o->err);
    }
    assert_int_equal(o->code, 0);
}

/* Concentrations stay: amounts follow the size, however they are given. */
static void volumes_keep_concentrations(void **state)
{
    (void)state;
    outcome o = saltus("info items.xml --volume 'cell=1e-18' --volume 'core=2.5e-19'");
    assert_worked(&o);
    check_number(&o, "A", 2000);
    check_number(&o, "B", 2000);
    check_number(&o, "C", 500);
    check_number(&o, "D", 2000);
    check_number(&o, "cell", 1e-18);
    assert_non_null(strstr(o.out, "(was 1; concentrations are kept)"));
    o = saltus("info items.xml --volume 'all=1 aL'");
    assert_worked(&o);
    check_number(&o, "A", 2000);
    check_number(&o, "C", 2000);
    check_number(&o, "core", 1e-18);
    o = saltus("info items.xml --volume all=1e-17L --volume 'core=1e-6 um^3' --set B=7");
    assert_worked(&o);
    check_number(&o, "A", 20000);
    check_number(&o, "B", 7); /* molecules, whatever the volume */
    check_number(&o, "C", 2);
    o = saltus(
        "info few.xml --volume cell=2"); /* its law has no size in it, and grows with A / 2 */
    assert_worked(&o);
    check_number(&o, "A", 800);
    assert_non_null(strstr(o.err, "reaction 'R': with the volume its rate does not change"));
    o = saltus("info items.xml --volume all=1e-18");
    assert_null(strstr(o.err, "with the volume"));
}

static void moles_are_as_many_as_asked(void **state)
{
    (void)state;
    outcome o = saltus("info moles.xml --mole 1e6");
    assert_worked(&o);
    check_number(&o, "A", 2000);
    check_number(&o, "B", 2000);
    check_number(&o, "C", 500);
    assert_non_null(strstr(o.out, "a mole stands for 1000000 molecules"));
    o = saltus("info moles.xml --mole 1e6 --volume cell=0.5");
    assert_worked(&o);
    check_number(&o, "A", 1000);
    o = saltus("info items.xml --mole 1e6");
    assert_refused(&o, 2, "nothing in it is given in mole");
    o = saltus("info decay.yaml --mole 1e6");
    assert_refused(&o, 2, "nothing in it is given in mole");
    write_file("box.yaml",
               "species: {A: }\nlattice:\n  size: [16, 16, 16]\n  spacing: 16 nm\n"
               "  step: 1 us\n  diffusion: {A: 1 um2/s}\n  place: {A: {space: 100 uM}}\n");
    o = saltus("info box.yaml --mole 6.02214076e25"); /* a hundred times as many */
    assert_worked(&o);
    check_number(&o, "A", 101035);
    o = saltus("info box.yaml --volume all=1");
    assert_refused(&o, 2, "has no compartments");
    write_file("around.yaml",
               "sbml: few.xml\nlattice: {size: [4, 4, 4], spacing: 1 um, step: largest, "
               "diffusion: {A: 1 um2/s, B: 0, C: 0, D: 0}}\n");
    o = saltus("info around.yaml --volume cell=1");
    assert_refused(&o, 2, "the model has a lattice");
    o = saltus("run moles.xml --until 1 --mole 6.02214076e23 --volume all=1e-21 --json -q");
    assert_worked(&o);
}

/* Run with the options that a hint names, cut out of it. */
static outcome with_hinted(const char *model, const char *err)
{
    char options[400] = "";
    const char *hint = strstr(err, "hint: "), *end = strstr(err, " makes about 1000 molecules");
    if (!hint || !end) {
        print_message("no option in: %s", err);
        fail();
        return (outcome){0};
    }
    (void)snprintf(options, sizeof options, "%.*s", (int)(end - hint - 6), hint + 6);
    return saltus("info %s %s", model, options);
}

static void what_is_proposed_works(void **state)
{
    static const char *const models[] = {"moles.xml", "items.xml", "one.xml", "alike.xml"};
    (void)state;
    write_model("one.xml", "item", "2e21", "<ci>cell</ci>");
    char *text = read_file("one.xml");
    for (char *at = text; (at = strstr(at, "=\"core\"")) != NULL; ++at) {
        memcpy(at, strncmp(at - 2, "id", 2) == 0 ? "=\"idle\"" : "=\"cell\"", 7);
    }
    write_file("one.xml", text);
    free(text);
    text = read_file("items.xml");
    memcpy(strstr(text, "\"0.25\""), "\"1.00\"", 6);
    write_file("alike.xml", text);
    free(text);
    for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
        outcome o = saltus("run %s --until 1 -o out.h5", models[i]);
        assert_int_equal(o.code, 2);
        assert_non_null(strstr(o.err, "is no number of molecules"));
        assert_false(file_exists("out.h5"));
        char *err = strdup(o.err);
        o = with_hinted(models[i], err);
        free(err);
        assert_worked(&o);
        const double a = number_of(&o, "A"), c = number_of(&o, "C");
        assert_true(fmax(a, c) > 900.0 && fmax(a, c) < 1100.0);
    }
    const outcome o = saltus("run decay.yaml --until 1 --set A=1e30");
    assert_refused(&o, 2, "is no number of molecules"); /* there is nothing to scale */
    assert_non_null(strstr(o.err, "--set"));
}

static void wrong_volumes_are_refused(void **state)
{
    static const struct {
        const char *options, *part;
    } cases[] = {
        {"--volume cell", "--volume 'cell'"},
        {"--volume =1", "--volume '=1'"},
        {"--volume ''", "--volume ''"},
        {"--volume cell=", "is no volume above 0"},
        {"--volume cell=nan", "is no volume above 0"},
        {"--volume cell=-1", "is no volume above 0"},
        {"--volume cell=0", "is no volume above 0"},
        {"--volume cell=1e400", "is no volume above 0"},
        {"--volume 'cell=1 fL x'", "is no unit of volume"},
        {"--volume 'cell=1 um2'", "is no unit of volume"},
        {"--volume 'cell=1 s'", "is no unit of volume"},
        {"--volume A=1", "no compartment of that name"},
        {"--volume cel=1", "no compartment of that name"},
        {"--mole 0", "--mole '0'"},
        {"--mole -1", "--mole '-1'"},
        {"--mole nan", "--mole 'nan'"},
        {"--mole x", "--mole 'x'"},
        {"--mole 1e400", "--mole '1e400'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        outcome o = saltus("info few.xml %s", cases[i].options);
        assert_int_equal(o.code, 2);
        assert_string_equal(o.out, "");
        assert_non_null(strstr(o.err, cases[i].part));
    }
    outcome o = saltus("info decay.yaml --volume all=1");
    assert_refused(&o, 2, "has no compartments");
    write_file("two.yaml", "compartments: {cell: 2, part: }\nrules: {part: cell/2}\n"
                           "species: {A: {initial: 100, compartment: cell}}\n");
    o = saltus("info two.yaml --volume 'cell=1 fL'");
    assert_refused(&o, 2, "does not say in which unit");
    o = saltus("info two.yaml --volume part=1");
    assert_refused(&o, 2, "a rule determines it");
    o = saltus("info two.yaml --volume all=20");
    assert_worked(&o);
    check_number(&o, "A", 1000);
    assert_non_null(strstr(o.err, "the size of 'part' is left alone: a rule determines it"));
    o = saltus("info two.yaml --volume cell=20");
    assert_done(&o);
    check_number(&o, "A", 1000);
}

static bool holds_text(const char *name, const char *text)
{
    static char bytes[1 << 20];
    FILE *f = fopen(name, "rb");
    assert_non_null(f);
    const size_t n = fread(bytes, 1, sizeof bytes, f), m = strlen(text);
    (void)fclose(f);
    for (size_t i = 0; i + m <= n; ++i) {
        if (memcmp(bytes + i, text, m) == 0) {
            return true;
        }
    }
    return false;
}

/* Every verb that takes a model takes them, and a result file says so. */
static void runs_and_sweeps_take_them(void **state)
{
    (void)state;
    outcome o =
        saltus("run moles.xml --until 1 --mole 1e6 --volume cell=0.5 --record final -o a.h5 -q");
    assert_worked(&o);
    o = saltus("stats a.h5 --csv");
    assert_worked(&o);
    assert_non_null(strstr(o.out, "\n0,1000,1000,500,1000,")); /* A, B, C, D at time 0 */
    assert_true(holds_text("a.h5", "cell=0.5 (0.0005 m3)"));
    o = saltus("sweep moles.xml --vary k=list:0,0.2 --until 1 --mole 1e6 --volume all=1 "
               "--runs 3 -o b.h5 -q");
    assert_worked(&o);
    assert_true(holds_text("b.h5", "cell=1 (0.001 m3), core=1 (0.001 m3)"));
    assert_true(holds_text("b.h5", "molecules_per_mole"));
    o = saltus("run few.xml --until 1 -o c.h5 -q");
    assert_worked(&o);
    assert_false(holds_text("c.h5", "volumes"));
    assert_false(holds_text("c.h5", "molecules_per_mole"));
    o = saltus("compile moles.xml --arch sm_90 --mole 0");
    assert_refused(&o, 2, "--mole '0'");
    o = saltus("compile moles.xml --arch sm_90 --mole 1e6 --volume nothing=1");
    assert_refused(&o, 2, "no compartment of that name");
}

/* What stderr says of a run that is interrupted as soon as it has begun. */
static outcome begun(const char *arguments)
{
    const pid_t child = start_saltus("%s -o long.h5", arguments);
    wait_for_file("long.h5");
    assert_int_equal(kill(child, SIGINT), 0);
    const outcome o = finish_saltus(child);
    assert_int_equal(o.code, 130);
    assert_int_equal(remove("long.h5"), 0);
    return o;
}

static void long_runs_are_told_beforehand(void **state)
{
    static const char line[] = "saltus: this is expected to take about ";
    static const struct {
        const char *arguments, *parts[3];
    } cases[] = {
        {"run fast.yaml --until 1000 --runs 300",
         {" years (6e+17 reactions)", "--method tau, --volume cell=1e-06", "fewer trajectories"}},
        {"run fast.yaml --until 1e9 --method tau", {"(2e+21 reactions)", "--volume", ""}},
        {"sweep fast.yaml --vary k=list:1e6,1e6 --until 1000 --runs 150", {"(6e+17 reac", "", ""}},
        {"run moles.xml --until 1e9 --mole 1e18 --runs 1e6", {"--mole 5e+05", "a GPU", ""}},
        {"run box.yaml --until 1e9 --runs 9", {"steps)", "fewer and larger sites", "a GPU"}},
        {"run box.yaml --until 1e9 --method nsm", {"jumps)", "fewer and larger sites", ""}},
        {"run fast.yaml --until 1e100", {" years (2e+112 reactions)", "", ""}},
        {"run swings.yaml --until 1e17", {" years (1 trajectory)", "an earlier end", ""}},
        {"run late.yaml --until 60 --runs 2", {" days (", "", ""}},
    };
    (void)state;
    write_file("fast.yaml", "compartments: {cell: 1}\nparameters: {k: 1e6}\n"
                            "species:\n  A: {initial: 1e9, compartment: cell}\n"
                            "  B: {initial: 0, compartment: cell}\n"
                            "reactions:\n  there: A -> B @ 1000\n  back: B -> A @ k\n");
    write_file("swings.yaml", "species: {x: 0, y: 1}\nrate rules: {x: 10*y, y: -10*x}\n");
    write_file("late.yaml", "species: {A: 0, X: 1}\n" /* much happens before much more does */
                            "reactions: {in: 0 -> A @ 300, out: A -> 0 @ 1, grow: X -> 2 X @ 1}\n");
    write_file("box.yaml", "species: {A: 1000}\nlattice:\n  size: [16, 16, 16]\n"
                           "  spacing: 16 nm\n  step: 1 us\n  diffusion: {A: 1 um2/s}\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        outcome o = begun(cases[i].arguments);
        const char *start = strstr(o.err, line);
        if (!start || strstr(start + 1, line)) {
            print_message("%s: %s", cases[i].arguments, o.err);
            fail();
            return;
        }
        for (int k = 0; k < 3; ++k) {
            if (!strstr(start, cases[i].parts[k])) {
                print_message("no '%s' in: %s", cases[i].parts[k], start);
                fail();
            }
        }
        char quiet[200];
        (void)snprintf(quiet, sizeof quiet, "%s -q", cases[i].arguments);
        o = begun(quiet);
        assert_null(strstr(o.err, "is expected to take"));
    }
    outcome o = saltus("run fast.yaml --until 1e13 --method ode"); /* steps grow with the time */
    assert_done(&o);
    o = saltus("run fast.yaml --until 1e-6 --runs 300"); /* 3e8 reactions */
    assert_done(&o);
    o = saltus("run box.yaml --until 1e-4");
    assert_done(&o);
}

/* Of 5 e^-t and t: they meet at 1.3267. By methods that know counts the time of the switch follows
 * from them. */
static void amounts_are_compared_with_the_time(void **state)
{
    (void)state;
    write_file("meet.yaml", "species: {A: 5}\nparameters: {met: 0}\nreactions: {r: A -> 0 @ 1}\n"
                            "events: {e: {when: A <= time, set: {met: time}}}\n");
    outcome o = saltus("run meet.yaml --until 3 --points 1 --method ode --species met -q -o m.h5");
    assert_done(&o);
    o = saltus("export m.h5");
    assert_non_null(strstr(o.out, "\n0,3,"));
    assert_true(fabs(strtod(strstr(o.out, "\n0,3,") + 5, NULL) - 1.3267246652422002) < 1e-6);
    o = saltus("run meet.yaml --until 3 --method hybrid");
    assert_refused(&o, 2, "a time at which something switches follows counts");
}

/* ---- units of well-mixed models ---- */

static const char with_units[] =
    "model: units\ntime: min\ncompartments: {cell: 1 fL}\n"
    "parameters: {kon: 0.01 1/s, tau: 30 s, K: 10 nM, half: 0.5 /h, x2: 2*kon, s: 4, two: 2 /s}\n"
    "species:\n  A: {initial: 100 nM, compartment: cell}\n"
    "  B: {initial: 1e-21 mol, compartment: cell}\n  C: 7\n"
    "reactions:\n  a: A -> C @ kon\n  b: A + B -> C @ 1e6 1/(M s)\n  c: C -> 0 @ 0.5 1/s\n"
    "  d: {equation: 0 -> A, rate: 1 nM/s}\n  f: A <-> B @ 6 /h, 1 /min\n"
    "  g: A + C -> B @ 2 1/s\n"
    "events:\n  e: {at: 90 s, set: {C: C + 5}, delay: 6 s}\n";
/* The same in minutes, molecules and litres. */
static const char without_units[] =
    "model: units\ncompartments: {cell: 1e-15}\n"
    "parameters: {kon: 0.6, tau: 0.5, K: 6.02214076e15, half: 0.5/60, x2: 2*kon, s: 4, two: 2 /s}\n"
    "species:\n  A: {initial: 6.02214076e16*cell, compartment: cell}\n"
    "  B: {initial: 602.214076, compartment: cell}\n  C: 7\n"
    "reactions:\n  a: A -> C @ kon\n  b: A + B -> C @ 1e6*60/6.02214076e23/cell\n  c: C -> 0 @ 30\n"
    "  d: {equation: 0 -> A, rate: 60*6.02214076e14*cell}\n  f: A <-> B @ 0.1, 1\n"
    "  g: A + C -> B @ 120\n"
    "events:\n  e: {at: 1.5, set: {C: C + 5}, delay: 0.1}\n";

static void units_are_converted(void **state)
{
    static const char *const names[] = {"cell", "kon", "tau", "K", "half", "x2", "two", "A", "B"};
    double plain[sizeof names / sizeof *names];
    (void)state;
    write_file("with.yaml", with_units);
    write_file("without.yaml", without_units);
    outcome o = saltus("info without.yaml");
    assert_int_equal(o.code, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        plain[i] = number_of(&o, names[i]);
    }
    o = saltus("info with.yaml");
    assert_int_equal(o.code, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        check_number(&o, names[i], plain[i]);
    }
    assert_non_null(strstr(o.out, "time in min\n"));
    assert_non_null(strstr(o.out, "0.6   (0.01 1/s)"));
    o = saltus("run with.yaml --until 3 --runs 20 --points 4 --seed 5 -o with.h5 -q");
    assert_int_equal(o.code, 0);
    o = saltus("run without.yaml --until 3 --runs 20 --points 4 --seed 5 -o without.h5 -q");
    assert_int_equal(o.code, 0);
    char *a = exported("with.h5"), *b = exported("without.h5");
    assert_int_equal(strncmp(a, "run,time (min),A,B,C\n", 21), 0);
    assert_int_equal(strncmp(b, "run,time,A,B,C\n", 15), 0);
    assert_string_equal(strchr(a, '\n'), strchr(b, '\n'));
    free(a);
    free(b);
    o = saltus("stats with.h5 --csv");
    assert_int_equal(strncmp(o.out, "time (min),A-mean", 17), 0);
    o = saltus("stats with.h5");
    assert_non_null(strstr(o.out, "at time 3 min:"));
    o = saltus("info with.yaml --as yaml");
    assert_int_equal(o.code, 0);
    write_file("again.yaml", o.out);
    o = saltus("run again.yaml --until 3 --runs 20 --points 4 --seed 5 -o again.h5 -q");
    assert_int_equal(o.code, 0);
    a = exported("with.h5"), b = exported("again.h5");
    assert_string_equal(a, b);
    free(a);
    free(b);
    o = saltus("sweep with.yaml --vary kon=list:0.1,0.2 --until 3 -o sweep.h5 -q");
    assert_int_equal(o.code, 0);
    o = saltus("stats sweep.h5 --csv");
    assert_non_null(strstr(o.out, "time (min),A-mean"));
    o = saltus("info with.yaml --volume 'cell=2 fL' --mole 1e24"); /* both know these units */
    assert_int_equal(o.code, 0);
    check_number(&o, "A", 200);
}

static void wrong_units_are_refused(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"time: 5\n", "1:7: time: '5' is no unit of time"},
        {"time: nM\n", "1:7: time: 'nM' is no unit of time"},
        {"time: 2 min\n", "1:7: time: '2 min' is no unit of time"},
        {"time: s\nlattice: {size: [1, 1, 1]}\n", "'spacing' is missing"},
        {"time: min\nlattice: {size: [1, 1, 1]}\n", "time: 'min' cannot be: a lattice counts in s"},
        {"time: min\nlattice: {size: [1, 1, 1]}\n", "leave 'time' out, or write 'time: s'"},
        {"parameters: {k: 1 foo}\n", "1:17: parameter 'k': '1 foo': its unit is not known"},
        {"parameters: {k: 1 K}\n", "its unit is none of times, amounts and volumes"},
        {"parameters: {k: 1 um}\n", "its unit is none of times, amounts and volumes"},
        {"parameters: {k: 1e300 Ymol}\n", "1e300 Ymol"},
        {"parameters: {k: 2k}\n", "'2k'"},
        {"parameters: {k: 1 2}\n", "an operator is missing before '2'"},
        {"parameters: {k: 1 2 s}\n", "an operator is missing before '2'"},
        {"parameters: {k: 1.2.3}\n", "'1.2.3' is neither a number nor a name"},
        {"parameters: {k: 1/qqq}\n", "its unit is not known"},
        {"compartments: {c: 1 s}\n", "compartment 'c': '1 s' is no volume"},
        {"species: {A: 1 s}\n", "species 'A': '1 s' is no amount"},
        {"species: {A: 1 nM}\n", "is a concentration, and no compartment with a volume is said"},
        {"compartments: {c: 1}\nspecies: {A: {initial: 1 nM, compartment: c}}\n",
         "no compartment with a volume is said"},
        {"species: {A: 1}\nreactions: {r: A -> 0 @ 1 1/(M s)}\n", "is no constant of its order, 1"},
        {"species: {A: 1}\nreactions: {r: 2 A -> 0 @ 1 s}\n", "is no constant of its order, 2"},
        {"species: {A: 1}\nreactions: {r: 2 A -> 0 @ 1 1/(M s)}\n",
         "needs one compartment with a volume"},
        {"species: {A: 1, B: 1}\nparameters: {k: 1 1/(M s)}\nreactions: {r: A + B -> 0 @ k}\n",
         "its rate 'k' is in '1/(M s)': a volume is missing"},
        {"species: {A: 1}\nevents: {e: {at: 1 nM, set: {A: 0}}}\n", "'1 nM' is no time"},
        {"species: {A: 1}\nevents: {e: {at: 1, delay: 1 1/s, set: {A: 0}}}\n", "is no time"},
        {"sbml: moles.xml\ntime: min\n", "'time' cannot stand beside 'sbml'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        write_file("wrong.yaml", cases[i].text);
        const outcome o = saltus("info wrong.yaml");
        if (o.code != 2 || !strstr(o.err, cases[i].part)) {
            print_message("%s%s", cases[i].text, o.err);
            fail();
        }
    }
    /* operators, words of them, and the model's own names are expressions as before */
    write_file("right.yaml",
               "parameters: {s: 4, a: 2 /s, b: 1 and 1, c: 1 or 0, d: 2 /pi, e: 3 * s, "
               "f: -1 min, g: 1e-3}\n");
    const outcome o = saltus("info right.yaml");
    assert_done(&o);
    check_number(&o, "a", 0.5);
    check_number(&o, "b", 1);
    check_number(&o, "e", 12);
    check_number(&o, "f", -60);
    assert_non_null(strstr(o.out, "time in s\n"));
}

/* More digits than a double has: told, as fractions are; as many as it has: not. */
static void digits_that_are_lost_are_told(void **state)
{
    static const struct {
        const char *amount, *nearest; /* NULL: it is that */
    } cases[] = {
        {"9007199254740993", "9007199254740992"},
        {"{initial: +0009007199254740993}", "9007199254740992"},
        {"4611686018427387905", "4611686018427387904"},
        {"9007199254740992", NULL},
        {"4611686018427387904", NULL},
        {"999999999999999", NULL},
        {"9.007199254740993e15", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[200];
        (void)snprintf(text, sizeof text,
                       "parameters: {k: 9007199254740993}\nspecies:\n  X: %s\n"
                       "reactions: {a: X -> 0 @ 0}\n",
                       cases[i].amount);
        write_file("many.yaml", text);
        const outcome o = saltus("run many.yaml --until 1 --points 2 -o t.h5 --overwrite");
        assert_int_equal(o.code, 0);
        if (cases[i].nearest) {
            (void)snprintf(text, sizeof text, "is rounded to %s\n", cases[i].nearest);
            assert_one_message(&o, "many.yaml:3: species 'X': initial amount ");
            assert_non_null(strstr(o.err, text));
        } else {
            assert_string_equal(o.err, "");
        }
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_with_amounts, leave_directory)
    const struct CMUnitTest tests[] = {
        TEST(volumes_keep_concentrations),
        TEST(moles_are_as_many_as_asked),
        TEST(what_is_proposed_works),
        TEST(wrong_volumes_are_refused),
        TEST(units_are_converted),
        TEST(wrong_units_are_refused),
        TEST(runs_and_sweeps_take_them),
        TEST(long_runs_are_told_beforehand),
        TEST(amounts_are_compared_with_the_time),
        TEST(digits_that_are_lost_are_told),
    };
    if (!getenv("SALTUS_COMMAND")) {
        (void)fprintf(stderr, "SALTUS_COMMAND must name the program\n");
        return 77; /* skipped */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
