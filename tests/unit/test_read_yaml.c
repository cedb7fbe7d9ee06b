#include "core/file.h"
#include "model/network/model.h"
#include "../support/same_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Everything that the format has. */
static const char whole[] =
    "# a comment\n"
    "model: whole thing\n"
    "reactions:            # before what they use\n"
    "  decay: S1 -> 0 @ 1.0\n"
    "  dimerise: 2 S1 -> S2 @ k\n"
    "  mm: S1 -> S2 @ Vmax*S1/(Km+S1)\n"
    "  both: S1 + S2 <-> S3 @ kf, min(1, 2)*k\n"
    "  split: S1 <-> S2 @ k*S1 - k*S2\n"
    "  strange: {equation: S1 -> X, law: Alpha}\n"
    "  forced: {equation: S1 -> X, constant: \"min(k, kf)\"}\n"
    "  back: {equation: S1 -> X, law: k, reversible: true}\n"
    "  named: {equation: S1 <-> X, rate: \"k, kf\"}\n"
    "  onto: \"∅ -> `R(a,l!1).L(r!1)` + 3 `a``b @` @ total\"\n"
    "species:\n"
    "  S1: 1000\n"
    "  S2: {initial: 2*k2, boundary: true, compartment: cell, label: \"second \\\"one\\\", "
    "café\"}\n"
    "  S3:\n"
    "  X: {initial: 1e3, constant: true}\n"
    "  'R(a,l!1).L(r!1)': 7\n"
    "  a`b @: 0\n"
    "  seen: {observable: false}\n"
    "parameters: {k: 0.002, k2: k/2, kf: 1e-15, Vmax: 10, Km: 0.1, Alpha: {value: -inf,\n"
    "             constant: true, label: alpha}, open: {observable: true, value: nan}, flag: ~}\n"
    "compartments: {cell: 1, other: {size: 2.5, label: x}}\n"
    "rules:\n"
    "  seen: S1 + S2\n"
    "  k2: 3*cell\n"
    "  total: S1 + 2*S2\n"
    "events:\n"
    "  dose: {at: 25, set: {S1: S1 + 100}}\n"
    "  now: {at: 0, initial: true, set: {flag: 1}}\n"
    "  reset:\n"
    "    when: S2 > 30 && time < 100\n"
    "    set: {S3: 100, S1: 0, \"R(a,l!1).L(r!1)\": 1}\n"
    "    delay: 2\n"
    "    priority: 1\n"
    "    persistent: false\n"
    "    initial: false\n"
    "    values_from: assignment\n"
    "  nothing: {when: S1 == 0, set: {}}\n";

static saltus_model *parse(const char *text)
{
    saltus_model *m = NULL;
    saltus_error err = {0};
    if (saltus_model_parse_yaml(text, strlen(text), "dir/model.v1.yaml", &m, &err) != SALTUS_OK) {
        fail_msg("%s (%s)", err.message, err.hint);
    }
    return m;
}

static const saltus_variable *variable(const saltus_model *m, const char *id)
{
    const int v = saltus_model_find(m, id);
    assert_true(v >= 0);
    return &m->variables[v];
}

static const saltus_reaction *reaction(const saltus_model *m, const char *id)
{
    const int r = saltus_model_find_reaction(m, id);
    assert_true(r >= 0);
    return &m->reactions[r];
}

/* On a terminal what a name holds must not act. */
static void a_models_name_is_one_line(void **state)
{
    (void)state;
    saltus_model *m = parse("model: \"a\\e[31m\\nb\\x7f\"\nspecies: {A: 1}\n");
    assert_string_equal(m->name, "a [31m b ");
    saltus_model_destroy(m);
}

static void everything_is_read(void **state)
{
    (void)state;
    saltus_model *m = parse(whole);
    assert_string_equal(m->name, "whole thing");
    assert_string_equal(m->path, "dir/model.v1.yaml");
    assert_int_equal(strlen(m->sha256), 64);
    assert_int_equal(m->n_reactions, 12);
    assert_int_equal(m->n_events, 4);

    assert_true(variable(m, "S1")->initial->value == 1000);
    assert_int_equal(variable(m, "S1")->line, 15);
    assert_true(variable(m, "S2")->boundary);
    assert_int_equal(variable(m, "S2")->compartment, saltus_model_find(m, "cell"));
    assert_string_equal(variable(m, "S2")->label, "second \"one\", café");
    assert_null(variable(m, "S3")->initial);
    assert_true(variable(m, "X")->constant);
    assert_true(variable(m, "total")->observable && variable(m, "total")->rule);
    assert_int_equal(variable(m, "total")->kind, SALTUS_KIND_PARAMETER);
    assert_true(variable(m, "k2")->initial && variable(m, "k2")->observable);
    assert_false(variable(m, "seen")->observable);
    assert_false(variable(m, "k")->observable);
    assert_true(variable(m, "open")->observable);

    assert_true(reaction(m, "decay")->mass_action);
    assert_int_equal(saltus_whole_molecules(&reaction(m, "dimerise")->reactants[0]), 2);
    assert_false(reaction(m, "mm")->mass_action);
    assert_true(reaction(m, "both.forward")->mass_action);
    assert_int_equal(reaction(m, "both.backward")->n_products, 2);
    assert_true(reaction(m, "split")->reversible);
    assert_false(reaction(m, "strange")->mass_action);
    assert_true(reaction(m, "forced")->mass_action);
    assert_true(reaction(m, "back")->reversible && !reaction(m, "back")->mass_action);
    assert_true(reaction(m, "named.backward")->mass_action);
    assert_false(reaction(m, "onto")->mass_action); /* through a rule, total names species */
    assert_int_equal(saltus_whole_molecules(&reaction(m, "onto")->products[1]), 3);

    assert_false(m->events[0].initial_value);
    assert_true(m->events[1].initial_value);
    assert_int_equal(m->events[2].n_assignments, 3);
    assert_false(m->events[2].persistent || m->events[2].use_trigger_values);
    assert_true(m->events[3].initial_value && m->events[3].persistent);
    saltus_model_destroy(m);
}

static void written_models_read_back_the_same(void **state)
{
    (void)state;
    saltus_model *m = parse(whole);
    char *text = model_to_yaml(m);
    saltus_model *again = parse(text);
    char *text_again = model_to_yaml(again);
    assert_null(model_difference(m, again));
    assert_string_equal(text, text_again);
    free(text);
    free(text_again);
    saltus_model_destroy(m);
    saltus_model_destroy(again);
}

/* Names that YAML or expressions could take for something else. */
static void awkward_names_are_written_safely(void **state)
{
    (void)state;
    static const char *const names[] = {"null",
                                        "~",
                                        "true",
                                        "1",
                                        "-",
                                        "a: b",
                                        "a #b",
                                        " a ",
                                        "'",
                                        "\"",
                                        "\\",
                                        "{}",
                                        "a,b",
                                        "[",
                                        "%a",
                                        "&a",
                                        "*a",
                                        "!a",
                                        "|",
                                        ">",
                                        "?",
                                        "? a",
                                        "-> a",
                                        "@",
                                        "`",
                                        "``",
                                        "time",
                                        "inf",
                                        "exp",
                                        "α",
                                        "\xc2\x85",
                                        "\xe2\x80\xa8",
                                        "\xef\xbb\xbf",
                                        "\xf0\x9f\x90\xb8",
                                        "- a",
                                        "<<",
                                        "=",
                                        "0"};
    saltus_model *m = NULL;
    char long_name[3001] = "";
    assert_int_equal(saltus_model_create("- a: b", &m, NULL), SALTUS_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char id[20], equation[40], rate[40];
        assert_int_equal(saltus_model_add_species(m, names[i], 1, NULL), SALTUS_OK);
        m->variables[i].label = names[i];
        const bool is_quote = names[i][0] == '`';
        (void)snprintf(id, sizeof id, "%s", names[i]);
        (void)snprintf(equation, sizeof equation, "`%s%s` -> 0", names[i],
                       is_quote ? names[i] : "");
        (void)snprintf(rate, sizeof rate, "`%s%s`", names[i], is_quote ? names[i] : "");
        assert_int_equal(saltus_model_add_reaction(m, id, equation, rate, NULL), SALTUS_OK);
    }
    memset(long_name, 'x', sizeof long_name - 1);
    assert_int_equal(saltus_model_add_species(m, long_name, 1, NULL), SALTUS_OK);
    long_name[0] = '(';
    assert_int_equal(saltus_model_add_species(m, long_name, 0.1, NULL), SALTUS_OK);
    char *text = model_to_yaml(m);
    saltus_model *again = parse(text);
    assert_null(model_difference(m, again));
    free(text);
    saltus_model_destroy(m);
    saltus_model_destroy(again);
}

static void errors_tell_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        saltus_status status;
        const char *message, *hint;
    } cases[] = {
        {"", SALTUS_E_SYNTAX, "m.yaml: the file is empty", ""},
        {"# nothing\n", SALTUS_E_SYNTAX, "m.yaml: there is no model in the file", ""},
        {"hello", SALTUS_E_SYNTAX, "m.yaml:1:1: this is no model", "species:"},
        {"- a", SALTUS_E_SYNTAX, "m.yaml:1:1: this is no model", ""},
        {"species: {A: 1\n", SALTUS_E_SYNTAX,
         "m.yaml:2:1: ',' or the end of what '{' begins in line 1 is expected here", ""},
        {"rules: {a: [1, 2}", SALTUS_E_SYNTAX, "m.yaml:1:17: ',' or the end of what '[' begins",
         ""},
        {"species: {A: 1 B: 2}", SALTUS_E_SYNTAX, "m.yaml:1:17: ',' or the end of what '{'", ""},
        {"species: {A: 1}}", SALTUS_E_SYNTAX, "m.yaml:1:16: '}' closes nothing", ""},
        {"species:\n\tA: 1", SALTUS_E_SYNTAX, "m.yaml:2:1: a tab; YAML is indented by blanks alone",
         "blanks in place of tabs"},
        {"species:\n  A: 1\n  \tB: 2", SALTUS_E_SYNTAX, "m.yaml:3:3: a tab", "blanks in place"},
        {"species:\n  A: 1\n   B: 2", SALTUS_E_SYNTAX,
         "m.yaml:3:4: this line is indented deeper than line 2, which has its value already",
         "in the same column"},
        {"species:\n  A: 1\n\n # so\n   B: 2", SALTUS_E_SYNTAX,
         "m.yaml:5:4: this line is indented deeper than line 2", ""},
        {"species:\n  A: 1\n B: 2", SALTUS_E_SYNTAX,
         "m.yaml:3:2: the indentation of this line, 1, is that of no line above", "same column"},
        {" species: {}\nrules: {}", SALTUS_E_SYNTAX,
         "m.yaml:2:1: the indentation of this line, 0, is that of no line above", ""},
        {"species:\n  A 1\n  B: 1", SALTUS_E_SYNTAX, "m.yaml:2:3: a ': ' is missing in this line",
         "'name: value'"},
        {"species:\n  A:1\n  B: 1", SALTUS_E_SYNTAX, "m.yaml:2:3: a ': ' is missing in this line",
         "a blank behind the colon"},
        {"species:\n  A: 1\nrules\nevents: {}", SALTUS_E_SYNTAX, "m.yaml:3:1: a ': ' is missing",
         ""},
        {"model: a: b", SALTUS_E_SYNTAX, "m.yaml:1:9: a second ': ' is in this line",
         "stands in \"quotes\""},
        {"species:\n  - A\n  B: 1", SALTUS_E_SYNTAX, "m.yaml:3:3: this line stands among items",
         ""},
        {"species:\n  A: 1\n  - B", SALTUS_E_SYNTAX,
         "m.yaml:3:3: an item of a list stands where a name is expected", ""},
        {"model: @a", SALTUS_E_SYNTAX, "m.yaml:1:8: a text cannot begin with '@'", "quotes"},
        {"model: \"a\nrules: {}\n", SALTUS_E_SYNTAX, "m.yaml:1:8: the quote that begins here", ""},
        {"model: \"\\q\"", SALTUS_E_SYNTAX, "m.yaml:1:9: there is no such escape", "backslash"},
        {"model: é\trules: {a: `1}", SALTUS_E_SYNTAX, "m.yaml:1:", ""},
        {"species: {A: 1}\nrules: {q: \"hill(A, 1, 2)\"}", SALTUS_E_MODEL,
         "'hill' is not a function", "write x^n/(K^n + x^n); there are if, sqr, "},
        {"species: {A: 1}\nrules: {q: foo(A)}", SALTUS_E_MODEL, "'foo' is not a function",
         "there are if, sqr, "},
        {"species:\n  A: \xff", SALTUS_E_SYNTAX, "m.yaml:2:6: this is no YAML", ""},
        {"specis: {A: 1}", SALTUS_E_SYNTAX, "m.yaml:1:1: model: 'specis' is not known here",
         "did you mean 'species'?"},
        {"zzz: 1", SALTUS_E_SYNTAX, "'zzz' is not known here",
         "known are model, sbml, time, stoichiometry, compartments"},
        {"negative laws: forward", SALTUS_E_SYNTAX,
         "m.yaml:1:16: 'negative laws' must be backward or error, not 'forward'", ""},
        {"lacking reactants: wait", SALTUS_E_SYNTAX,
         "'lacking reactants' must be idle or error, not 'wait'", ""},
        {"lacking reactants: idle\nspecies: {A: 1}\nlattice: {size: [2, 2, 2]}",
         SALTUS_E_UNSUPPORTED, "'lacking reactants' is of models without a lattice", ""},
        {"species: {}\nspecies: {}", SALTUS_E_SYNTAX,
         "m.yaml:2:1: model: 'species' is given twice, first in line 1", ""},
        {"species:\n  A: 1\n  B: 2\n  A: 3", SALTUS_E_MODEL,
         "m.yaml:4:3: 'A' is defined twice, first in line 2", ""},
        {"species: {A: 1}\nparameters: {A: 1}", SALTUS_E_MODEL, "m.yaml:1:11: 'A' is defined twice",
         ""},
        {"species: {A: nan}", SALTUS_E_MODEL, "nan is no number of molecules", ""},
        {"species: {A: inf}", SALTUS_E_MODEL, "inf is no number of molecules", ""},
        {"species: {A: 1.2.3}", SALTUS_E_SYNTAX,
         "m.yaml:1:14: species 'A': '1.2.3' is neither a number nor a name", ""},
        {"species: {A: 10 2}", SALTUS_E_SYNTAX,
         "m.yaml:1:17: species 'A': an operator is missing before '2'", ""},
        {"species: {A: [1]}", SALTUS_E_SYNTAX, "m.yaml:1:14: species 'A': one value is wanted", ""},
        {"species: 5", SALTUS_E_SYNTAX, "m.yaml:1:10: species: 'name: value' pairs", ""},
        {"species: {A: {intial: 1}}", SALTUS_E_SYNTAX,
         "m.yaml:1:15: species 'A': 'intial' is not known here", "'initial'"},
        {"parameters: {A: {boundary: true}}", SALTUS_E_SYNTAX, "'boundary' is not known here", ""},
        {"species: {A: {boundary: yes}}", SALTUS_E_SYNTAX,
         "m.yaml:1:25: species 'A': 'boundary' must be true or false, not 'yes'", ""},
        {"species: {A: {compartment: cel}}\ncompartments: {cell: 1}", SALTUS_E_MODEL,
         "m.yaml:1:28: species 'A': 'cel' is not a compartment", "'cell'"},
        {"species: {S1: 1}\nparameters: {k1: 1}\nreactions:\n  r1: S1 -> 0 @ 2 + k9",
         SALTUS_E_MODEL, "m.yaml:4:21: reaction 'r1': 'k9' is not defined", "'k1'"},
        {"species: {S1: 1}\nreactions:\n  r1: \"S1 -> S2 @ 2\"", SALTUS_E_MODEL,
         "m.yaml:3:14: reaction 'r1': species 'S2' is not defined", "'S1'"},
        {"species: {k34: 1}\nparameters: {k12: 1}\nreactions:\n  r1: k34 -> k13 @ 2",
         SALTUS_E_MODEL, "reaction 'r1': species 'k13' is not defined", "'k34'"},
        {"species: {A: {compartment: cel}}\ncompartments: {cellx: 1}\nparameters: {cel2: 1}",
         SALTUS_E_MODEL, "species 'A': 'cel' is not a compartment", "'cellx'"},
        {"reactions:\n  r1: 0 -> 0 @\n     (1 +\n      x)", SALTUS_E_MODEL,
         "m.yaml:2:7: reaction 'r1': 'x' is not defined (column 6 of '(1 + x)')", ""},
        {"reactions: {r1: 0 -> 0}", SALTUS_E_SYNTAX,
         "m.yaml:1:17: reaction 'r1': the rate is missing", "@ rate"},
        {"reactions: {r1: 0 -> 0 @}", SALTUS_E_SYNTAX,
         "m.yaml:1:25: reaction 'r1': an expression is missing", ""},
        {"reactions: {r1: 0 @ 1}", SALTUS_E_SYNTAX, "m.yaml:1:19: reaction 'r1': the arrow", ""},
        {"reactions:\n  r1: 0 -> 0 @ 1, 2", SALTUS_E_MODEL,
         "m.yaml:2:3: reaction 'r1': two rates need the arrow '<->'", ""},
        {"reactions:\n  r1: 0 <-> 0 @ 1", SALTUS_E_MODEL, "needs two constants",
         "forward, backward"},
        {"reactions:\n  r1: 0 -> 0 @ 1\n  r1: 0 -> 0 @ 1", SALTUS_E_MODEL,
         "m.yaml:3:3: reaction 'r1' is defined twice, first in line 2", ""},
        {"reactions: {r1: {law: 1}}", SALTUS_E_SYNTAX, "'equation' is missing", ""},
        {"reactions: {r1: {equation: ->}}", SALTUS_E_SYNTAX, "one of 'rate', 'constant' and 'law'",
         ""},
        {"reactions: {r1: {equation: ->, law: 1, rate: 2}}", SALTUS_E_SYNTAX, "only one of", ""},
        {"reactions: {r1: {equation: ->, constant: time}}", SALTUS_E_MODEL,
         "m.yaml:1:13: reaction 'r1': the constant names a species", "'law'"},
        {"rules: {x: y}", SALTUS_E_MODEL, "m.yaml:1:12: rule 'x': 'y' is not defined", ""},
        {"parameters: {V1: 1}\nrate rules: {V2: 1}", SALTUS_E_MODEL,
         "m.yaml:2:14: rate rule 'V2': there is no parameter, compartment or species of that name",
         "did you mean 'V1'?"},
        {"parameters: {V: 1}\nrate rules: {V: 1, V: 2}", SALTUS_E_MODEL,
         "m.yaml:2:20: rate rule 'V': there is a second rule", ""},
        {"rules: {V: 1}\nrate rules: {V: 1}", SALTUS_E_MODEL,
         "m.yaml:2:14: rate rule 'V': there is a second rule", ""},
        {"parameters: {V: 1}\nrate rules: {V: x}", SALTUS_E_MODEL,
         "m.yaml:2:17: rate rule 'V': 'x' is not defined", ""},
        {"parameters: {V: 1}\nrate rules: [V]", SALTUS_E_SYNTAX, "rate rules: 'name: value' pairs",
         ""},
        {"rules: {x: 1, x: 2}", SALTUS_E_MODEL, "m.yaml:1:15: rule 'x': there is a second rule",
         ""},
        {"events: {e: {at: 1}}", SALTUS_E_SYNTAX, "m.yaml:1:13: event 'e': 'set' is missing", ""},
        {"events: {e: {set: {}}}", SALTUS_E_SYNTAX, "one of 'at' and 'when' is wanted", ""},
        {"events: {e: {at: 1, when: 1 > 0, set: {}}}", SALTUS_E_SYNTAX, "one of 'at' and 'when'",
         ""},
        {"events: {e: {at: 1, set: {q: 1}}}", SALTUS_E_MODEL,
         "m.yaml:1:27: event 'e': 'q' is not defined", ""},
        {"parameters: {q: 1}\nevents: {e: {at: 1, set: {q: 1, q: 2}}}", SALTUS_E_SYNTAX,
         "m.yaml:2:33: event 'e': 'q' is set twice", ""},
        {"rules: {q: 1}\nevents: {e: {at: 1, set: {q: 1}}}", SALTUS_E_MODEL,
         "'q' cannot be set: a rule determines it", ""},
        {"parameters: {q: {constant: true}}\nevents: {e: {at: 1, set: {q: 1}}}", SALTUS_E_MODEL,
         "'q' cannot be set: it is constant", ""},
        {"events: {e: {at: 1, set: {}, values_from: now}}", SALTUS_E_SYNTAX,
         "must be trigger or assignment, not 'now'", ""},
        {"events: {e: {at: 1, set: {}}, e: {at: 1, set: {}}}", SALTUS_E_MODEL,
         "m.yaml:1:31: event 'e' is defined twice", ""},
        {"events: {e: {when: ! a, set: {}}}", SALTUS_E_SYNTAX, "m.yaml:1:20: YAML's tags",
         "quotes"},
        {"events: {e: {when: &a b, set: {}}}", SALTUS_E_SYNTAX, "m.yaml:1:20: YAML's anchors", ""},
        {"parameters: {a: *b}", SALTUS_E_SYNTAX, "m.yaml:1:17: YAML's aliases", "quotes"},
        {"model: a\n---\nmodel: b", SALTUS_E_SYNTAX, "m.yaml:2:1: a second document", ""},
        {"species: {[a]: 1}", SALTUS_E_SYNTAX, "m.yaml:1:11: a name is wanted before ':'", ""},
        {"model: \"a\\0b\"", SALTUS_E_SYNTAX, "m.yaml:1:8: a text holds the character 0", ""},
        {"species: {\"a\\nb\": 1}", SALTUS_E_SYNTAX, "a name holds a control character", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_error err = {0};
        saltus_model *m = NULL;
        const saltus_status status =
            saltus_model_parse_yaml(cases[i].text, strlen(cases[i].text), "m.yaml", &m, &err);
        if (status != cases[i].status || err.code != status || m ||
            !strstr(err.message, cases[i].message) || !strstr(err.hint, cases[i].hint)) {
            fail_msg("'%s': %d '%s' (%s)", cases[i].text, status, err.message, err.hint);
        }
    }
}

static void names_come_from_the_file(void **state)
{
    (void)state;
    saltus_model *m = parse("species: {A: 1}");
    assert_string_equal(saltus_model_name(m), "model.v1");
    saltus_model_destroy(m);
}

static void a_byte_order_mark_is_no_text(void **state)
{
    (void)state;
    saltus_model *m = parse("\xef\xbb\xbfspecies: {A: 1}\r\nreactions: {r: A -> 0 @ 1}\r\n");
    assert_int_equal(m->n_reactions, 1);
    saltus_model_destroy(m);
}

static void circular_rules_are_left_to_freezing(void **state)
{
    (void)state;
    saltus_model *m = parse("rules: {a: b, b: a}\nreactions: {r: 0 -> 0 @ a}");
    assert_true(m->reactions[0].mass_action);
    saltus_model_destroy(m);
}

static void allocations_may_fail(void **state)
{
    (void)state;
    saltus_status status = SALTUS_E_NO_MEMORY;
    for (int n = 0; status != SALTUS_OK; ++n) {
        saltus_model *m = NULL;
        saltus_error err = {0};
        saltus_fail_allocation(n);
        status = saltus_model_parse_yaml(whole, strlen(whole), "m.yaml", &m, &err);
        saltus_fail_allocation(-1);
        assert_int_equal(status, err.code);
        assert_true(status == SALTUS_OK ? m != NULL : status == SALTUS_E_NO_MEMORY && !m);
        saltus_model_destroy(m);
    }
}

static void put_file(const char *path, const char *text, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* An input beside the model, and every mistake in it with its line. */
static void inputs_are_read(void **state)
{
    static const struct {
        const char *rule, *file, *message; /* "": it is read, and then is that expression */
    } cases[] = {
        {"{input: t.csv}", "0,1\n2,3\n", "linear(time, 0, 1, 2, 3)"},
        {"{input: t.csv, between: held}", "time;x\r\n# so\r\n\r\n0; -1.5\r\ninf\t2e3\r\n",
         "held(time, 0, -1.5, inf, 2000)"},
        {"{input: t.csv, between: linear}", "-1 +4", "linear(time, -1, 4)"},
        {"{input: t.csv, between: spline}", "0,1\n2,3\n4,1\n", "spline(time, 0, 1, 2, 3, 4, 1)"},
        {"{input: t.csv, between: sin}", "0,1\n", "'between' must be linear, held or spline, not"},
        {"{input: t.csv, between: cubic}", "0,1\n", "must be linear, held or spline, not 'cubic'"},
        {"{between: held}", "0,1\n", "'input', a file, is missing"},
        {"{input: t.csv, units: s}", "0,1\n", "'units' is not known here"},
        {"{input: none.csv}", "", "none.csv: cannot be read"},
        {"{input: t.csv}", "", "'t.csv' has no times and values"},
        {"{input: t.csv}", "time,x\n", "'t.csv' has no times and values"},
        {"{input: t.csv}", "a,b\nc,d\n", "t.csv:2: a time and a value are wanted, not 'c,d'"},
        {"{input: t.csv}", "0,1\n1\n", "t.csv:2: a time and a value are wanted, not '1'"},
        {"{input: t.csv}", "0,1\n1,2,3\n", "t.csv:2: two columns are wanted, and there are more"},
        {"{input: t.csv}", "0,1\n1,nan\n", "t.csv:2: a time and a value are wanted"},
        {"{input: t.csv}", "0,1\n2,2\n\n1,3\n", "t.csv:4: time 1 does not come after 2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[200];
        saltus_model *m = NULL;
        saltus_error err = {0};
        (void)snprintf(text, sizeof text, "species: {A: 1}\nrules: {u: %s}\n", cases[i].rule);
        put_file("m.yaml", text, strlen(text));
        put_file("t.csv", cases[i].file, strlen(cases[i].file));
        if (saltus_model_read("m.yaml", &m, &err) == SALTUS_OK) {
            char *written = NULL;
            size_t size = 0;
            FILE *out = open_memstream(&written, &size);
            assert_non_null(out);
            saltus_expr_print(m, m->variables[saltus_model_find(m, "u")].rule, out);
            assert_int_equal(fclose(out), 0);
            assert_string_equal(written, cases[i].message);
            free(written);
        } else if (!strstr(err.message, cases[i].message)) {
            fail_msg("case %zu: %s", i, err.message);
        }
        saltus_model_destroy(m);
    }
    assert_int_equal(unlink("m.yaml"), 0);
    assert_int_equal(unlink("t.csv"), 0);
}

static void formats_are_told_by_content_then_ending(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text;
        size_t size;
        saltus_status status;
        const char *message;
    } cases[] = {
        {"a.txt", "species: {A: 1}", 15, SALTUS_OK, ""},
        {"b.xml", "", 0, SALTUS_E_SYNTAX, "b.xml: the file is empty"},
        {"c.yaml", "\0\1\2\3\4", 5, SALTUS_E_SYNTAX, "c.yaml: this is no text"},
        {"c.h5", "\x89HDF\r\n\x1a\n\0", 9, SALTUS_E_SYNTAX,
         "c.h5: this is a file of HDF5, as results are, and no model"},
        {"d.yaml", "begin species\nbad\n", 18, SALTUS_E_SYNTAX, "d.yaml:1: the block"},
        {"e.yaml", "x", 1, SALTUS_E_SYNTAX, "e.yaml:1:1: this is no model"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char path[100];
        (void)snprintf(path, sizeof path, "test_read_%d_%s", (int)getpid(), cases[i].path);
        put_file(path, cases[i].text, cases[i].size);
        saltus_model *m = NULL;
        saltus_error err = {0};
        const saltus_status status = saltus_model_read(path, &m, &err);
        (void)unlink(path);
        saltus_model_destroy(m);
        if (status != cases[i].status || !strstr(err.message, cases[i].message)) {
            fail_msg("%s: %d %s", path, status, err.message);
        }
    }
    saltus_model *m = NULL;
    saltus_error err = {0};
    assert_int_equal(saltus_model_read("no/such/file", &m, &err), SALTUS_E_IO);
    assert_non_null(strstr(err.message, "no/such/file"));
}

static void examples_of_the_documentation_are_models(void **state)
{
    (void)state;
    char path[1000], *text = NULL;
    size_t size = 0;
    int n = 0;
    const char *source = getenv("SALTUS_SOURCE");
    if (!source) {
        print_message("skipped: SALTUS_SOURCE does not name the source folder\n");
        skip();
    }
    (void)snprintf(path, sizeof path, "%s/docs/yaml-format.md", source);
    assert_int_equal(saltus_read_file(path, &text, &size, NULL), SALTUS_OK);
    for (char *start = text; (start = strstr(start, "```yaml\n")); ++n) {
        start += strlen("```yaml\n");
        char *end = strstr(start, "```\n");
        assert_non_null(end);
        *end = '\0';
        if ((SALTUS_WITH_UDUNITS || !(strstr(start, "lattice:") || strstr(start, "time:"))) &&
            (SALTUS_WITH_SBML || !strstr(start, "sbml:"))) {
            saltus_model *m = NULL;
            saltus_error err = {0};
            (void)snprintf(path, sizeof path, "%s/examples/model.yaml", source);
            if (saltus_model_parse_yaml(start, strlen(start), path, &m, &err) != SALTUS_OK) {
                fail_msg("%s (%s)", err.message, err.hint);
            }
            assert_true(m->n_reactions > 0);
            saltus_model_destroy(m);
        }
        start = end + 1;
    }
    assert_int_equal(n, 11);
    saltus_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(a_models_name_is_one_line),
        cmocka_unit_test(written_models_read_back_the_same),
        cmocka_unit_test(awkward_names_are_written_safely),
        cmocka_unit_test(errors_tell_line_and_column),
        cmocka_unit_test(names_come_from_the_file),
        cmocka_unit_test(a_byte_order_mark_is_no_text),
        cmocka_unit_test(circular_rules_are_left_to_freezing),
        cmocka_unit_test(allocations_may_fail),
        cmocka_unit_test(inputs_are_read),
        cmocka_unit_test(formats_are_told_by_content_then_ending),
        cmocka_unit_test(examples_of_the_documentation_are_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
