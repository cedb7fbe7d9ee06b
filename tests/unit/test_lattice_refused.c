/* What of a lattice is refused, with the line where it stands. */
#include "frozen.h"

#include "core/limits.h"

#include <stdio.h>

/* A whole model, of which a case replaces one line. */
static const char *const whole[] = {
    "species: {A: 10, B: 0, n: 2}",                                                 /* 1 */
    "rules: {sum: A + B}",                                                          /* 2 */
    "reactions: {r: A + B -> 0, s: A -> B @ 2, l: A -> 0 @ A/(1 + A)}",             /* 3 */
    "lattice:",                                                                     /* 4 */
    "  size: [8, 8, 8]",                                                            /* 5 */
    "  spacing: 10 nm",                                                             /* 6 */
    "  step: 10 us",                                                                /* 7 */
    "  faces: reflecting",                                                          /* 8 */
    "  sites: {a: , b: {box: {from: [0, 0, 0], to: [4 sites, 4 sites, 4 sites]}}}", /* 9 */
    "  diffusion: {A: 1 um2/s, B: {a: 0}, n: 0}",                                   /* 10 */
    "  place: {A: a}",                                                              /* 11 */
    "  reactions: {r: 1e6 1/(M s)}",                                                /* 12 */
};
enum { N_LINES = sizeof whole / sizeof *whole };

typedef struct refusal {
    int line;
    const char *text, *message, *hint;
} refusal;

static const refusal refusals[] = {
    {5, "  size: [8, 8]", "5:9: size: numbers of sites are wanted here: [x, y, z]", ""},
    {5, "  size: [8, 8, 0]", "5:16: size: '0' is no whole number from 1 to 1073741824", ""},
    {5, "  size: [1000000000, 1000000000, 9]", "5:9: size: there is no memory for 9e+18 sites", ""},
    {5, "", "6:3: lattice: 'size' is missing", ""},
    {6, "  spacing: 10 s", "6:12: spacing: '10 s' is no length: its unit does not fit",
     "write it like '16 nm'"},
    {6, "  spacing: 10 foo", "6:12: spacing: '10 foo' is no length: its unit is not known",
     "write it like '16 nm'"},
    {6, "  spacing: -1 nm", "6:12: spacing: '-1 nm' must be above 0", ""},
    {6, "  spacing: 1e-150 m",
     "6:12: spacing: the volume of a site of '1e-150 m' is no number that can be computed with",
     ""},
    {6, "  spacing: 1e150 m",
     "6:12: spacing: the volume of a site of '1e150 m' is no number that can be computed with", ""},
    {7, "  step: soon", "7:9: step: 'soon' is no time: it does not start with a number",
     "write it like '50 us' or 'largest'"},
    {7, "  step: 10 Hz", "7:9: step: '10 Hz' is no time: its unit does not fit",
     "write it like '50 us' or 'largest'"},
    {7, "  step: 60 us", "10:18: diffusion of 'A': q = D step/spacing^2 = 0.6 is above 1/2",
     "the step can be 5e-05 s at most, or 'largest'"},
    {8, "  faces: open", "8:10: faces: 'open' is no kind of face",
     "known are periodic, reflecting, absorbing, and {species: concentration}"},
    {8, "  faces: {x-: periodic}", "8:10: faces: 'x-' and 'x+' must both be periodic, or neither",
     ""},
    {8, "  faces: {w: periodic}", "8:11: faces: 'w' is not known here", NULL},
    {8, "  faces: {x-: {A: 1 um}}",
     "8:19: face x-: '1 um' is no concentration: its unit does not fit", "write it like '12.3 nM'"},
    {8, "  faces: {x-: {A: 1, B: 2, A: 3}}", "8:28: face x-: 'A' is given twice, first in line 8",
     ""},
    {8, "  faces: {x-: {a: 1}}", "8:16: face x-: 'a' is not a species", NULL},
    {9, "  sites: {a: , b: {box: {from: [9 sites, 0, 0], to: [12 sites, 4 sites, 4 sites]}}}",
     "9:16: site type 'b' has no sites", NULL},
    {9, "  sites: {a: , b: {box: {from: [0, 0, 0], to: [9 sites, 9 sites, 9 sites]}}}",
     "9:11: site type 'a' has no sites", NULL},
    {9, "  sites: {a: , b: {shell: {of: c}}}",
     "9:32: site type 'b': there are no sites of type 'c'", "known are a, b"},
    {9, "  sites: {}", "10:31: diffusion of 'B': there are no sites of type 'a'", ""},
    {9, "  sites: {a: , b: {ball: {radius: 3 sites}}}",
     "9:20: site type 'b': 'ball' is not known here",
     "known are box, sphere, ellipsoid, capsule, cylinder, union, difference, shell, pack, image"},
    {9, "  sites: {a: , b: {sphere: {radius: 3 sites}}}",
     "9:28: site type 'b': 'centre' is missing", ""},
    {9, "  sites: {a: , b: {sphere: {centre: [1 sites, 1 sites, 1 sites], radius: 3 s}}}",
     "9:74: site type 'b': '3 s' is no length: its unit does not fit",
     "write it like '0.5 um' or '16 sites'"},
    {9, "  sites: {a: , b: {sphere: {centre: [0, 0, 0], radius: 3}}}",
     "9:56: site type 'b': '3' is no length: its unit is missing",
     "write it like '0.5 um' or '16 sites'"},
    {9, "  sites: {a: , b: {sphere: {centre: [0, 8, 0], radius: 3 sites}}}",
     "9:41: site type 'b': '8' is no length: its unit is missing",
     "write it like '0.5 um' or '16 sites'"},
    {9,
     "  sites: {a: , b: {cylinder: {from: [40 nm, 0, 0], to: [4 sites, 0, 0], radius: 3 sites}}}",
     "9:56: site type 'b': 'to' is where 'from' is, so the cylinder has no direction", ""},
    {9, "  sites: {a: , b: {box: {from: [0, 0, 0], to: [4 sites, 4 sites, 2 km]}}}",
     "9:66: site type 'b': '2 km' is more than 1e+11 sites", ""},
    {6, "  spacing: 1e-8", "6:12: spacing: '1e-8' is no length: its unit is missing",
     "write it like '16 nm'"},
    {6, "  spacing: 1 sites", "6:12: spacing: '1 sites' is no length: its unit is not known",
     "write it like '16 nm'"},
    {9, "  sites: {a: {box: {}}}",
     "9:14: site type 'a': the first type is all sites and has no shape", ""},
    {9, "  sites: {a: , a-b: {box: {}}}",
     "9:16: site type 'a-b': a name is letters, digits and '_', and does not start with a digit",
     ""},
    {9,
     "  sites: {a: , b: {pack: {in: a, fraction: 1, seed: 1, overlap: true, sphere: {radius: 1 "
     "sites}}}}",
     NULL, "make them smaller, or the fraction"},
    {9, "  sites: {a: , b: {shell: {of: b}}}",
     "9:32: site type 'b': 'b' is this type itself; one of those before it is wanted", ""},
    {9, "  sites: {a: , b: {pack: {in: b, fraction: 0.9, seed: 1, sphere: {radius: 2 sites}}}}",
     "9:31: site type 'b': 'b' is this type itself; one of those before it is wanted", ""},
    {9, "  sites: {a: , b: {pack: {in: a, fraction: 0.9, seed: 1, sphere: {radius: 2 sites}}}}",
     NULL, "make them smaller or let them overlap ('overlap: true')"},
    {9, "  sites: {a: , b: {image: {file: none.tif, value: 1}}}",
     "9:34: site type 'b': none.tif: cannot be read: No such file or directory", ""},
    {9, "  sites: {a: , b: {image: {file: /dev/null, value: 1}}}",
     "9:34: site type 'b': /dev/null: cannot be read: it is a device, not a file", ""},
    {10, "  diffusion: {A: 1 um2/s, B: {a: 0}}", "10:14: species 'n' has no diffusion constant",
     "write 'n: 0' if it never moves"},
    {10, "  diffusion: {A: 1 um/s, B: 0, n: 0}",
     "10:18: diffusion of 'A': '1 um/s' is no diffusion constant: its unit does not fit",
     "write it like '2.5 um2/s'"},
    {10, "  diffusion: {A: -1, B: 0, n: 0}", "10:18: diffusion of 'A': '-1' is negative", ""},
    {10, "  diffusion: {A: {c: 1}, B: 0, n: 0}",
     "10:19: diffusion of 'A': there are no sites of type 'c'", "known are a, b"},
    {10, "  diffusion: {A: {a-c: 1}, B: 0, n: 0}",
     "10:19: diffusion of 'A': there are no sites of type 'c'", "known are a, b"},
    {10, "  diffusion: {A: {a-a: 1}, B: 0, n: 0}",
     "10:19: diffusion of 'A': 'a-a' is no pair of different types", ""},
    {10, "  diffusion: {A: {a: 1, a: 2}, B: 0, n: 0}",
     "10:25: diffusion of 'A': 'a' is given twice, first in line 10", ""},
    {10, "  diffusion: {A: {a-b: 0, b-a: 0}, B: 0, n: 0}",
     "10:27: diffusion of 'A': 'b-a': there is a constant of this way already",
     "'a-b' is both ways, 'a->b' and 'b->a' are one each"},
    {10, "  diffusion: {A: {b->a: 0, a->b: 0, a-b: 0}, B: 0, n: 0}",
     "10:37: diffusion of 'A': 'a-b': there is a constant of this way already",
     "'a-b' is both ways, 'a->b' and 'b->a' are one each"},
    {10, "  diffusion: {C: 1, A: 0}", "10:15: diffusion: 'C' is not a species", NULL},
    {10, "  diffusion: {su: 1, A: 0}", "10:15: diffusion: 'su' is not a species", ""},
    {10, "  diffusion: {sum: 1, A: 0}", "10:15: diffusion: 'sum' is not a species", NULL},
    {11, "  place: {A: c}", "11:14: place of 'A': there are no sites of type 'c'",
     "known are a, b"},
    {11, "  place: {A: {a: 3}}", "11:11: place of 'A': its amount is given already, in line 1",
     "name site types alone, as in 'A: a', or give no amount there ('A:')"},
    {11, "  place: {B: {a: 1.5}}",
     "11:18: place of 'B': '1.5' is no whole number from 0 to 9007199254740992", ""},
    {11, "  place: {B: {b: 1e15}}",
     "11:18: place of 'B': 1.562e+13 particles per site; there can be 2147483648", ""},
    {11, "  place: {B: {b: -1 nM}}", "11:18: place of 'B': '-1 nM' is negative", ""},
    {11, "  place: {B: {b: 1, a: 2, b: 3}}",
     "11:27: place of 'B': 'b' is given twice, first in line 11", ""},
    {11, "  place: {B: {b: 3 um}}",
     "11:18: place of 'B': '3 um' is no concentration: its unit does not fit",
     "write it like '12.3 nM'"},
    {11, "  place: {B: {sites: [[8, 0, 0, 1]]}}",
     "11:24: place of 'B': '8' is no whole number from 0 to 7", ""},
    {12, "  reactions: {r: 1 1/s}",
     "12:18: reaction 'r': '1 1/s' is no constant of order 2: its unit does not fit",
     "write it like '9e6 1/(M s)'"},
    {12, "  reactions: {r: 1, s: 1 1/(M s)}",
     "12:24: reaction 's': '1 1/(M s)' is no constant of order 1: its unit does not fit",
     "write it like '0.5 1/s'"},
    {12, "  reactions: {r: 1, s: 1 s}",
     "12:24: reaction 's': '1 s' is no constant of order 1: its unit does not fit",
     "write it like '0.5 1/s'"},
    {12, "  reactions: {r: {c: 1}}", "12:19: reaction 'r': there are no sites of type 'c'",
     "known are a, b"},
    {12, "  reactions: {r: -1}", "12:18: reaction 'r': '-1' is negative", ""},
    {12, "  reactions: {r: {a: 1, a: 2}}",
     "12:25: reaction 'r': 'a' is given twice, first in line 12", ""},
    {12, "  reactions: {r: {a: -1}}", "12:22: reaction 'r': '-1' is negative", ""},
    {12, "  reactions: {r: {a: }}", "3: reaction 'r': the rate is missing",
     "write 'A + B -> C @ rate', or give its constants in the lattice's 'reactions'"},
    {12, "  reactions: {x: 1}", "12:15: there is no reaction 'x'", ""},
    {12, "  reactions: {r: 1, l: 1}",
     "12:24: reaction 'l': its rate is a law, which has no constant to be given here",
     "name the site types alone: [a, b]"},
    {12, "  nothing: 1", "12:3: lattice: 'nothing' is not known here", NULL},
    {2, "events: {e: {at: 1, set: {A: 1}}}", "2: event 'e': there are no events on a lattice", ""},
};

static void write_case(const refusal *x, char text[4000])
{
    size_t n = 0;
    for (int i = 1; i <= N_LINES; ++i) {
        n += (size_t)snprintf(text + n, 4000 - n, "%s\n", i == x->line ? x->text : whole[i - 1]);
    }
}

static void mistakes_are_refused_with_their_line(void **state)
{
    (void)state;
    const refusal none = {0, NULL, NULL, NULL};
    char text[4000], expected[400];
    int n_wrong = 0;
    write_case(&none, text);
    saltus_model_destroy(freeze_text(text, SALTUS_LAW_LITERAL));
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
        const refusal *x = &refusals[i];
        saltus_error err = {0};
        saltus_model *m = NULL;
        write_case(x, text);
        const saltus_status status =
            saltus_model_parse_yaml(text, strlen(text), "model.yaml", &m, &err);
        (void)snprintf(expected, sizeof expected, "model.yaml:%s", x->message ? x->message : "");
        if (status == SALTUS_OK || status != err.code ||
            (x->message && strcmp(err.message, expected) != 0) ||
            (x->hint && strcmp(err.hint, x->hint) != 0)) {
            print_error("%s\n status %d\n got      %s (%s)\n expected %s (%s)\n", x->text,
                        (int)status, err.message, err.hint, expected, x->hint ? x->hint : "…");
            ++n_wrong;
        }
        saltus_model_destroy(m);
    }
    assert_int_equal(n_wrong, 0);
}

/* The constant of such a law is none, so another cannot stand in its place. */
static void laws_that_move_are_given_no_constant(void **state)
{
    (void)state;
    check_not_frozen("species: {A: 10, B: 0}\nparameters: {p: 1}\nrate rules: {p: -p}\n"
                     "reactions: {r: A -> B @ p}\n"
                     "lattice: {size: [2, 2, 2], spacing: 1 um, step: 1 ms, "
                     "diffusion: {A: 0, B: 0}, reactions: {r: 2 1/s}}\n",
                     SALTUS_E_MODEL,
                     "model.yaml:4: reaction 'r': its rate law is no constant number times numbers "
                     "of molecules, so the lattice can give it no constant, only types of sites");
}

static void what_is_set_may_not_fit(void **state)
{
    (void)state;
    check_not_frozen("species: {A: 1e16}\n"
                     "lattice:\n"
                     "  {size: [2, 2, 2], spacing: 1e-8 m, step: 1, diffusion: {A: 0}}\n",
                     SALTUS_E_MODEL,
                     "model.yaml:1: species 'A': 10000000000000000 particles do not fit into 8 "
                     "sites (2147483648 each at most)");
    check_not_frozen(
        "species: {A: poisson(9)}\n"
        "lattice: {size: [2, 2, 2], spacing: 1 um, step: 1 ms, diffusion: {A: 0}}\n",
        SALTUS_E_UNSUPPORTED,
        "model.yaml:1: species 'A': its value at time 0 is drawn, which a model with a "
        "lattice cannot have");
    check_not_frozen(
        "species: {A: 1, B: 0}\nreactions: {r: A -> 0.5 B @ 1}\nstoichiometry: draw\n"
        "lattice: {size: [2, 2, 2], spacing: 1 um, step: 1 ms, diffusion: {A: 0, B: 0}}\n",
        SALTUS_E_UNSUPPORTED,
        "model.yaml:2: reaction 'r': stoichiometry 0.5 of 'B' is not a whole number of "
        "molecules");
}

static void well_mixed_methods_are_refused(void **state)
{
    (void)state;
    saltus_error err = {0};
    saltus_backend *backend = NULL;
    saltus_plan *plan = NULL;
    saltus_model *m = with_sites("[4, 4, 4]", "reflecting", "");
    assert_int_equal(saltus_backend_open("cpu", &backend, &err), SALTUS_OK);
    saltus_plan_options wanted = saltus_plan_options_default();
    wanted.method = "tau";
    assert_int_equal(saltus_plan_create(m, backend, &wanted, &plan, &err), SALTUS_E_INVALID);
    assert_non_null(strstr(err.message, "a model with a lattice has auto, mpd and nsm"));
    assert_int_equal(saltus_model_write_yaml(m, stdout, NULL), SALTUS_E_UNSUPPORTED);
    saltus_backend_close(backend);
    saltus_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_refused_with_their_line),
        cmocka_unit_test(laws_that_move_are_given_no_constant),
        cmocka_unit_test(what_is_set_may_not_fit),
        cmocka_unit_test(well_mixed_methods_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
