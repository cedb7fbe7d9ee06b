/** Work that is shared among threads for as long as a call takes. */
#ifndef SALTUS_CORE_PARALLEL_H
#define SALTUS_CORE_PARALLEL_H

#include <stdint.h>

enum { SALTUS_MOST_PARTS = 64 };

/**
 * Call work(user, part, first, end) for stretches of 0 … n - 1, each once, on as many threads as
 * there are cores, this one among them, and at most SALTUS_MOST_PARTS. Where threads cannot be had
 * this one does their part. `part` numbers the stretches from 0 on, in order.
 *
 * @param least of 0 … n - 1 in a stretch: what is not worth a thread of its own
 */
void saltus_parallel(int64_t n, int64_t least,
                     void (*work)(void *user, int part, int64_t first, int64_t end), void *user);

#endif
