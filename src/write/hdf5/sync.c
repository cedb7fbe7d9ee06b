#include "write/hdf5/sync.h"

#include <errno.h>
#include <unistd.h>

static void force(void *user, int number)
{
    saltus_sync *s = user;
    (void)number;
    s->problem = fdatasync(s->fd) == 0 || errno == EINVAL || errno == ENOSYS ? 0 : errno;
    __atomic_store_n(&s->is_done, true, __ATOMIC_RELEASE);
}

int saltus_sync_begin(saltus_sync *s, int fd)
{
    if (s->is_under_way && !__atomic_load_n(&s->is_done, __ATOMIC_ACQUIRE)) {
        return 0;
    }
    const int problem = saltus_sync_end(s);
    s->fd = fd;
    s->is_done = false;
    s->is_under_way = saltus_threads_start(&s->thread, 1, 0, force, s) == 1;
    if (!s->is_under_way) {
        force(s, 0);
    }
    return problem;
}

int saltus_sync_end(saltus_sync *s)
{
    if (s->is_under_way) {
        saltus_threads_join(&s->thread, 1);
    }
    s->is_under_way = false;
    const int problem = s->problem;
    s->problem = 0;
    return problem;
}
