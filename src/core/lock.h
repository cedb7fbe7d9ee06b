/** Locks of the whole process: around libraries that keep state of their own without any, one
 * thread at a time, and around what the library itself keeps of all threads. */
#ifndef SALTUS_CORE_LOCK_H
#define SALTUS_CORE_LOCK_H

typedef enum saltus_lock_name {
    SALTUS_LIBSBML, /**< its registries are made and changed */
    SALTUS_UDUNITS, /**< what it parses is in variables of its own */
    SALTUS_HANDLES, /**< the list of handles that are alive */
    SALTUS_N_LOCKS,
} saltus_lock_name;

/** A fork waits until no other thread is inside, so that a child process finds the library whole
 * and the lock free. Whoever holds one lock takes none before it in the list. */
void saltus_lock(saltus_lock_name name);
void saltus_unlock(saltus_lock_name name);

#endif
