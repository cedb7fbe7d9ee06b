/** Locks around libraries that keep state of their own without any: one thread at a time. */
#ifndef SALTUS_CORE_LOCK_H
#define SALTUS_CORE_LOCK_H

typedef enum saltus_foreign {
    SALTUS_LIBSBML, /**< its registries are made and changed */
    SALTUS_UDUNITS, /**< what it parses is in variables of its own */
    SALTUS_N_FOREIGN,
} saltus_foreign;

/** A fork waits until no other thread is inside, so that a child process finds the library whole
 * and the lock free. Whoever holds one lock takes none before it in the list. */
void saltus_lock(saltus_foreign library);
void saltus_unlock(saltus_foreign library);

#endif
