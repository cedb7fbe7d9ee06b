#include "core/stack.h"

#include "core/parallel.h"

static const size_t enough = (size_t)6 << 20, large = (size_t)64 << 20;

/* Bytes between here and the end of this thread's stack; 0: unknown. */
static size_t stack_left(void)
{
    /* the lowest address; to find out that of the first thread takes a look at a file */
    static _Thread_local uintptr_t low;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    pthread_attr_t attributes;
    void *start = NULL;
    size_t size = 0;
    if (!low && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        low = pthread_attr_getstack(&attributes, &start, &size) == 0 ? (uintptr_t)start : 0;
        (void)pthread_attr_destroy(&attributes);
    }
    return low && here > low ? here - low : 0;
}

typedef struct call {
    saltus_status (*work)(void *user, saltus_error *err);
    void *user;
    saltus_error *err;
    saltus_status status;
} call;

static void carry_out(void *user, int number)
{
    call *c = user;
    (void)number;
    c->status = c->work(c->user, c->err);
}

saltus_status saltus_with_stack(saltus_status (*work)(void *user, saltus_error *err), void *user,
                                saltus_error *err)
{
    saltus_status status = SALTUS_OK;
    call c = {work, user, err, SALTUS_OK};
    saltus_thread thread;
    if (stack_left() >= enough) {
        return work(user, err);
    }
    if (saltus_threads_start(&thread, 1, large, carry_out, &c) == 0) {
        SALTUS_FAIL(SALTUS_E_NO_MEMORY, "a thread with a stack of %zu MiB could not be started",
                    large >> 20);
    }
    saltus_threads_join(&thread, 1);
    status = c.status;
done:
    return status;
}
