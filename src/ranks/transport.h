/**
 * What a plug-in for a message-passing library gives: one table of functions, so that nothing else
 * knows the library, and the command starts where there is none.
 *
 * Functions are called by one thread at a time, whichever it is (MPI_THREAD_SERIALIZED).
 * Those that return int return 0, or the library's error code, which `text` explains. A table of a
 * later version may have more members behind these.
 */
#ifndef SALTUS_RANKS_TRANSPORT_H
#define SALTUS_RANKS_TRANSPORT_H

enum { SALTUS_TRANSPORT_VERSION = 2 };

typedef struct saltus_transport {
    int version; /**< SALTUS_TRANSPORT_VERSION of the header it was built with */
    /** Join the others: this process's number, and how many there are. */
    int (*start)(int *rank, int *n);
    /** Give bytes[size] of this rank to all, and take theirs: all[rank][size]. */
    int (*gather)(const void *bytes, void *all, int size);
    /** Begin to send or to receive. The bytes stay in place until `test` or `wait` says that it is
     * done; messages between two ranks with one tag come in the order in which they were sent. They
     * may lie on a GPU where the library takes that. */
    int (*send)(const void *bytes, int size, int to, int tag, void **request);
    int (*receive)(void *bytes, int size, int from, int tag, void **request);
    /** Whether it is done; then the request is gone. */
    int (*test)(void **request, int *is_done);
    int (*wait)(void **request);
    /** Whether a message with a tag has come, and from whom. */
    int (*probe)(int tag, int *is_there, int *from);
    /** Leave. Waits for all others. */
    int (*finish)(void);
    void (*text)(int error, char *text, int size);
} saltus_transport;

/** The plug-in's one symbol, of the type of saltus_transport_find. */
#define SALTUS_TRANSPORT_SYMBOL "saltus_transport_table"
typedef const saltus_transport *saltus_transport_find(void);

#endif
