/* The tables of methods and layouts agree with each other and with what is listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "backend/backend.h"
#include "frozen.h"

#include <stdio.h>
#include <string.h>

static void methods_are_found_by_name(void **state)
{
    saltus_method found;
    (void)state;
    for (int i = 0; i < SALTUS_N_METHODS; ++i) {
        const saltus_choice listed = saltus_method_at(i);
        const saltus_method_ops *m = saltus_method_of((saltus_method)i);
        assert_string_equal(listed.name, m->name);
        assert_true(saltus_method_find(m->name, &found));
        assert_int_equal(found, i);
        assert_non_null(m->help);
        assert_non_null(m->steps);
        assert_non_null(m->check);
        assert_non_null(m->core_ns);
        assert_non_null(m->explain);
        assert_true(m->in_space == (m->count_steps != NULL));
        assert_true(listed.on_cpu);
    }
    assert_null(saltus_method_at(SALTUS_N_METHODS).name);
    assert_null(saltus_method_at(-1).name);
    assert_false(saltus_method_find("auto", &found));
    assert_true(saltus_method_is_auto("auto"));
    assert_false(saltus_method_is_auto(NULL));
}

/* A refusal lists what there is. */
static void methods_are_refused_with_a_list(void **state)
{
    static const struct {
        const char *name;
        bool in_space;
        const char *says;
    } cases[] = {
        {"other", false, "method 'other': this version has auto, direct, tau, ode and hybrid"},
        {"mpd", false, "method 'mpd' is for models with a lattice; this one has none"},
        {"nsm", false, "method 'nsm' is for models with a lattice; this one has none"},
        {"tau", true, "method 'tau': a model with a lattice has auto, mpd and nsm"},
        {"other", true, "method 'other': a model with a lattice has auto, mpd and nsm"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        saltus_method method;
        saltus_error err = {0};
        assert_int_equal(saltus_method_parse(cases[i].name, cases[i].in_space, &method, &err),
                         SALTUS_E_INVALID);
        assert_string_equal(err.message, cases[i].says);
    }
}

/* What hybrid sends to another method because of its size, that method takes. */
static void large_models_are_sent_where_they_run(void **state)
{
    static const struct {
        const char *more;
        saltus_method takes;
    } cases[] = {
        {"reactions: {r: A0 -> A1 @ A0}\n", SALTUS_METHOD_TAU},
        {"parameters: {y: 1}\nrate rules: {y: -y}\nreactions: {r: A0 -> A1 @ y*A0}\n",
         SALTUS_METHOD_DIRECT},
        {"reactions: {r: {equation: A0 -> A1, rate: A0, delay: 1}}\n", SALTUS_METHOD_DIRECT},
    };
    const saltus_plan_options options = saltus_plan_options_default();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[8000] = "species: {A0: 10";
        for (int k = 1; k < 301; ++k) {
            const size_t end = strlen(text);
            (void)snprintf(text + end, sizeof text - end, ", A%d: 10", k);
        }
        const size_t end = strlen(text);
        (void)snprintf(text + end, sizeof text - end, "}\n%s", cases[i].more);
        saltus_model *m = freeze_text(text, SALTUS_LAW_LITERAL);
        saltus_error err = {0};
        assert_int_equal(saltus_method_of(SALTUS_METHOD_HYBRID)->check(m, &options, &err),
                         SALTUS_E_UNSUPPORTED);
        const saltus_method_ops *takes = saltus_method_of(cases[i].takes);
        char says[80];
        (void)snprintf(says, sizeof says, "Method '%s' has no such limit", takes->name);
        if (!strstr(err.message, says)) {
            fail_msg("%s\nexpected: %s", err.message, says);
        }
        assert_int_equal(takes->check(m, &options, &err), SALTUS_OK);
        saltus_model_destroy(m);
    }
}

/* Every method that a backend has, has a layout there; what can be named is found, and listed. */
static void layouts_serve_methods(void **state)
{
    static const saltus_backend_ops *const backends[] = {&saltus_backend_cpu, &saltus_backend_cuda};
    int n_found = 0;
    (void)state;
    for (int i = 0; i < 2 * SALTUS_N_METHODS; ++i) {
        const saltus_backend_ops *b = backends[i % 2];
        const saltus_method method = (saltus_method)(i / 2);
        const bool has = b->methods & SALTUS_METHOD_BIT(method);
        assert_true(has == (saltus_layout_first(b->kind, method) != SALTUS_LAYOUT_AUTO));
        for (int k = 0; saltus_layout_at(k).name && has; ++k) {
            const saltus_choice l = saltus_layout_at(k);
            const bool is_here = b->kind == SALTUS_ON_CPU ? l.on_cpu : l.on_gpu;
            saltus_layout found = SALTUS_LAYOUT_AUTO;
            const saltus_status status = saltus_layout_parse(l.name, b->kind, method, &found, NULL);
            if (status == SALTUS_OK) {
                assert_true(is_here && l.in_space == saltus_method_of(method)->in_space);
                assert_string_equal(saltus_layout_of(found)->name, l.name);
                ++n_found;
            }
        }
    }
    /* lanes and scalar of two methods, scalar of two, four of a GPU of three, particles twice,
     * counts once */
    assert_int_equal(n_found, 2 * 2 + 2 + 4 * 3 + 2 + 1);
}

static void layouts_are_refused_with_a_list(void **state)
{
    static const struct {
        const char *name;
        unsigned kind;
        saltus_method method;
        const char *says;
    } cases[] = {
        {"warp", SALTUS_ON_CPU, SALTUS_METHOD_TAU, "the CPU has auto, lanes and scalar"},
        {"lanes", SALTUS_ON_GPU, SALTUS_METHOD_TAU,
         "a GPU has auto, registers, shared, warp and global"},
        {"counts", SALTUS_ON_CPU, SALTUS_METHOD_MPD, "on a lattice the CPU has auto and particles"},
        {"sites", SALTUS_ON_GPU, SALTUS_METHOD_MPD,
         "on a lattice a GPU has auto, particles and counts"},
        {"sites", SALTUS_ON_CPU, SALTUS_METHOD_NSM, "method nsm has auto alone"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char says[200];
        saltus_layout layout;
        saltus_error err = {0};
        (void)snprintf(says, sizeof says, "layout '%s': %s", cases[i].name, cases[i].says);
        assert_int_equal(
            saltus_layout_parse(cases[i].name, cases[i].kind, cases[i].method, &layout, &err),
            SALTUS_E_INVALID);
        assert_string_equal(err.message, says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_are_found_by_name),
        cmocka_unit_test(methods_are_refused_with_a_list),
        cmocka_unit_test(large_models_are_sent_where_they_run),
        cmocka_unit_test(layouts_serve_methods),
        cmocka_unit_test(layouts_are_refused_with_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
