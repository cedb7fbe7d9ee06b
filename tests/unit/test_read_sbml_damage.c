/* SBML documents that are cut or damaged, memory that runs out, processes that fork. */
#include "sbml_text.h"

#include "core/file.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char everything[] = L3V2_MODEL(
    "substanceUnits=\"nmol\" extentUnits=\"nmol\"",
    LIST("FunctionDefinitions",
         "<functionDefinition id=\"f\">" MATH("<lambda><bvar>" CI("x") "</bvar>" APPLY(
             "plus", CI("x") CI("x") CI("x")) "</lambda>") "</functionDefinition>\n")
        UNITS CELL LIST("Species", SPECIES("X", "false", "initialAmount=\"1\" name=\"x\""))
            LIST("Parameters", PARAMETER("p", "false", "value=\"1\"")) LIST(
                "Rules", ASSIGNMENT_RULE("p", "<apply>" CI("f") CI("X") "</apply>"))
                LIST("Constraints", "<constraint>" MATH("<true/>") "</constraint>") LIST(
                    "Reactions",
                    REACTION(
                        "R", REACTANTS(REFERENCE("X", "id=\"n\"")),
                        LAW(APPLY("and",
                                  TIMES("X", "l")
                                      CI("n"))) "<listOfLocalParameters><localParameter "
                                                "id=\"l\" value=\"1\"/></listOfLocalParameters>"))
                    LIST("Events", EVENT("id=\"E\"", "<true/>",
                                         "<listOfEventAssignments>" ASSIGN(
                                             "X", CN("0")) "</listOfEventAssignments>")
                                       EVENT("", "<true/>", "")));

static void each_allocation_may_fail(void **state)
{
    (void)state;
    bool done = false;
    for (int n = 0; !done; ++n) {
        saltus_model *m = NULL;
        saltus_error err = {.code = SALTUS_OK};
        saltus_fail_allocation(n);
        const saltus_status status =
            saltus_model_parse_sbml(everything, sizeof everything - 1, "model.xml", &m, &err);
        saltus_fail_allocation(-1);
        done = status == SALTUS_OK && saltus_model_n_warnings(m) == 2;
        if (status != SALTUS_OK) {
            assert_int_equal(status, SALTUS_E_NO_MEMORY);
            assert_null(m);
        }
        saltus_model_destroy(m);
        assert_true(n < 10000);
    }
}

static void every_cut_is_survived(void **state)
{
    (void)state;
    for (size_t n = 0; n + 8 < sizeof everything; n += 7) {
        saltus_model *m = NULL;
        saltus_error err = {.code = SALTUS_OK};
        assert_int_equal(saltus_model_parse_sbml(everything, n, "model.xml", &m, &err),
                         SALTUS_E_SYNTAX);
        assert_null(m);
        assert_true(err.message[0] && !strchr(err.message, '\n'));
    }
}

/* Change single bytes and drop runs of them: whatever comes, there is a model or a message. */
static void noise_is_survived(void **state)
{
    (void)state;
    uint32_t random = 12345;
    char text[sizeof everything];
    for (int i = 0; i < 2000; ++i) {
        size_t size = sizeof everything - 1;
        memcpy(text, everything, sizeof everything);
        for (int k = 0; k < 1 + i % 3; ++k) {
            random = random * 1664525u + 1013904223u;
            const size_t at = 200 + (random >> 8) % (size - 200);
            random = random * 1664525u + 1013904223u;
            if (i % 2) {
                text[at] = everything[(random >> 8) % (sizeof everything - 1)];
            } else {
                const size_t n = 1 + (random >> 8) % 30;
                const size_t end = at + n < size ? at + n : size;
                memmove(text + at, text + end, size - end);
                size -= end - at;
            }
        }
        saltus_model *m = NULL;
        saltus_error err = {.code = SALTUS_OK};
        const saltus_status status = saltus_model_parse_sbml(text, size, "model.xml", &m, &err);
        assert_true((status == SALTUS_OK) == (m != NULL));
        assert_true((status == SALTUS_OK) == (err.message[0] == '\0'));
        saltus_model_destroy(m);
    }
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IN_ASAN true
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define IN_ASAN true
#endif
#ifndef IN_ASAN
#define IN_ASAN false
#endif

/* A thread reads when its process forks: the child can read too. */
static _Atomic bool is_done;

static void *read_on(void *text)
{
    while (!is_done) {
        saltus_model *m = NULL;
        (void)!saltus_model_parse_sbml(text, strlen(text), "thread", &m, NULL);
        saltus_model_destroy(m);
    }
    return NULL;
}

static void forks_do_not_hang(void **state)
{
    static char text[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><sbml "
        "xmlns=\"http://www.sbml.org/sbml/level3/version1/core\" level=\"3\" version=\"1\"><model "
        "id=\"m\"><listOfParameters><parameter id=\"x\" value=\"1\" constant=\"true\"/>"
        "</listOfParameters></model></sbml>";
    pthread_t thread;
    (void)state;
    if (IN_ASAN) {
        print_message("the allocator of this sanitizer does not survive a fork beside a thread\n");
        skip();
    }
    is_done = false;
    assert_int_equal(pthread_create(&thread, NULL, read_on, text), 0);
    for (int i = 0; i < 50; ++i) {
        int code = -1;
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            saltus_model *m = NULL;
            (void)signal(SIGALRM, SIG_DFL);
            (void)alarm(60);
            _exit(saltus_model_parse_sbml(text, strlen(text), "child", &m, NULL) == SALTUS_OK ? 0
                                                                                              : 1);
        }
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_int_equal(code, 0);
    }
    is_done = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forks_do_not_hang),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(every_cut_is_survived),
        cmocka_unit_test(noise_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
