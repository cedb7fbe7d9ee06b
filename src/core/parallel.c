#include "core/parallel.h"

#include "core/limits.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct stretch {
    pthread_t thread;
    bool has_thread;
    int part;
    int64_t first, end;
    void (*work)(void *user, int part, int64_t first, int64_t end);
    void *user;
} stretch;

static void *carry_out(void *user)
{
    const stretch *s = user;
    s->work(s->user, s->part, s->first, s->end);
    return NULL;
}

void saltus_parallel(int64_t n, int64_t least,
                     void (*work)(void *user, int part, int64_t first, int64_t end), void *user)
{
    stretch parts[SALTUS_MOST_PARTS];
    const int cores = saltus_cores();
    int64_t n_parts = cores < SALTUS_MOST_PARTS ? cores : SALTUS_MOST_PARTS;
    n_parts = least > 0 && n / least < n_parts ? n / least : n_parts;
    n_parts = n_parts > 0 ? n_parts : 1;
    for (int i = 0; i < (int)n_parts; ++i) {
        parts[i] = (stretch){.part = i,
                             .first = n / n_parts * i + (i < n % n_parts ? i : n % n_parts),
                             .work = work,
                             .user = user};
        parts[i].end = parts[i].first + n / n_parts + (i < n % n_parts);
        parts[i].has_thread =
            i + 1 < n_parts && pthread_create(&parts[i].thread, NULL, carry_out, &parts[i]) == 0;
        if (!parts[i].has_thread) {
            (void)carry_out(&parts[i]);
        }
    }
    for (int i = 0; i < (int)n_parts; ++i) {
        if (parts[i].has_thread) {
            (void)pthread_join(parts[i].thread, NULL);
        }
    }
}
