/* That rank 0 has ended is known to a rank whoever takes the message: it would wait for ever else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ranks/ranks.h"

/* One of two ranks, whose messages nobody moves. */
static void begin(saltus_ranks *r, saltus_queue in[2])
{
    *r = (saltus_ranks){.rank = 1, .n = 2, .in = in};
    in[0] = in[1] = (saltus_queue){0};
    (void)pthread_mutex_init(&r->lock, NULL);
    (void)pthread_cond_init(&r->arrived, NULL);
}

static void end(saltus_ranks *r)
{
    (void)pthread_cond_destroy(&r->arrived);
    (void)pthread_mutex_destroy(&r->lock);
}

static void tell_to_leave(saltus_ranks *r, int32_t code)
{
    saltus_message *m = saltus_message_new(SALTUS_TO_LEAVE);
    assert_non_null(m);
    SALTUS_PUT(m, code);
    m->data.is_taking = true;
    m->data.at = 0;
    saltus_ranks_put_back(r, m);
}

static void who_waits_for_another_message_knows(void **state)
{
    saltus_ranks r;
    saltus_queue in[2];
    saltus_error err = {0};
    (void)state;
    begin(&r, in);
    tell_to_leave(&r, 3);
    for (int i = 0; i < 2; ++i) { /* also a second time */
        assert_null(saltus_ranks_await(&r, 0, SALTUS_TO_FILES, SALTUS_TO_FILES, NULL, &err));
        assert_int_equal(err.code, SALTUS_E_CANCELLED);
        err = (saltus_error){0};
    }
    assert_true(r.is_over);
    assert_int_equal(r.end, 3);
    end(&r);
}

static void who_is_in_the_middle_of_work_may_take_it(void **state)
{
    saltus_ranks r;
    saltus_queue in[2];
    (void)state;
    begin(&r, in);
    tell_to_leave(&r, 130);
    saltus_message *m = saltus_ranks_receive(&r, 0, 1);
    assert_non_null(m);
    assert_int_equal(m->kind, SALTUS_TO_LEAVE);
    saltus_message_free(m);
    assert_null(saltus_ranks_await(&r, 0, SALTUS_TO_LEAVE, SALTUS_TO_LEAVE, NULL, NULL));
    assert_int_equal(r.end, 130);
    end(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_for_another_message_knows),
        cmocka_unit_test(who_is_in_the_middle_of_work_may_take_it),
    };
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
