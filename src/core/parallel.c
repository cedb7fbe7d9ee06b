#include "core/parallel.h"

#include "core/limits.h"

static void *begin(void *user)
{
    const saltus_thread *t = user;
    t->work(t->user, t->number);
    return NULL;
}

int saltus_threads_start(saltus_thread *threads, int n, size_t stack,
                         void (*work)(void *user, int number), void *user)
{
    pthread_attr_t attributes;
    int started = 0;
    if (pthread_attr_init(&attributes) != 0) {
        return 0;
    }
    const int problem = stack > 0 ? pthread_attr_setstacksize(&attributes, stack) : 0;
    for (; started < n && problem == 0; ++started) {
        saltus_thread *t = &threads[started];
        *t = (saltus_thread){.work = work, .user = user, .number = started};
        if (pthread_create(&t->id, &attributes, begin, t) != 0) {
            break;
        }
    }
    (void)pthread_attr_destroy(&attributes);
    return started;
}

void saltus_threads_join(const saltus_thread *threads, int n)
{
    for (int i = 0; i < n; ++i) {
        (void)pthread_join(threads[i].id, NULL);
    }
}

typedef struct share {
    int64_t n;
    int n_parts;
    void (*work)(void *user, int part, int64_t first, int64_t end);
    void *user;
} share;

static void carry_out(void *user, int part)
{
    const share *s = user;
    const int64_t each = s->n / s->n_parts, rest = s->n % s->n_parts;
    const int64_t first = each * part + (part < rest ? part : rest);
    s->work(s->user, part, first, first + each + (part < rest));
}

void saltus_parallel(int64_t n, int64_t least,
                     void (*work)(void *user, int part, int64_t first, int64_t end), void *user)
{
    saltus_thread threads[SALTUS_MOST_PARTS];
    const int cores = saltus_cores();
    const int64_t most = cores < SALTUS_MOST_PARTS ? cores : SALTUS_MOST_PARTS;
    const int64_t parts = least > 0 && n / least < most ? n / least : most;
    share s = {.n = n, .n_parts = parts > 1 ? (int)parts : 1, .work = work, .user = user};
    const int started = saltus_threads_start(threads, s.n_parts - 1, 0, carry_out, &s);
    for (int part = started; part < s.n_parts; ++part) {
        carry_out(&s, part);
    }
    saltus_threads_join(threads, started);
}
