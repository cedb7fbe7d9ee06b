/** Messages between ranks: bytes that are written at the end and read from the beginning. */
#ifndef SALTUS_RANKS_MESSAGE_H
#define SALTUS_RANKS_MESSAGE_H

#include "core/pack.h"
#include "core/status.h"

/** What a message is about. "Lead" is rank 0, which others serve. */
typedef enum saltus_message_kind {
    SALTUS_TO_FILES,      /**< lead: an archive */
    SALTUS_TO_LEAVE,      /**< lead: the end of it all, with an exit code */
    SALTUS_TO_BEGIN,      /**< lead: a run begins */
    SALTUS_TO_JOBS,       /**< lead: trajectories to simulate */
    SALTUS_TO_STOP,       /**< lead: give the run up */
    SALTUS_TO_END,        /**< lead: there are no more jobs */
    SALTUS_TO_KEEP,       /**< lead: what is under way is to be kept */
    SALTUS_TO_SWEEP,      /**< lead: points of a sweep begin */
    SALTUS_TO_POINT,      /**< lead: a point to simulate */
    SALTUS_FROM_READY,    /**< a plan is made, and a run may begin */
    SALTUS_FROM_WANT,     /**< so many jobs are wanted */
    SALTUS_FROM_DONE,     /**< trajectories and their samples */
    SALTUS_FROM_REDUCED,  /**< trajectories and what a device has made of their samples */
    SALTUS_FROM_KEPT,     /**< what is to be kept of a trajectory */
    SALTUS_FROM_ANSWERED, /**< that was all */
    SALTUS_FROM_FRAME,    /**< of a lattice */
    SALTUS_FROM_PROGRESS,
    SALTUS_FROM_END,    /**< all workers have ended */
    SALTUS_FROM_POINT,  /**< what was kept of a point */
    SALTUS_FROM_FAILED, /**< something failed outside of a run */
} saltus_message_kind;

typedef struct saltus_message {
    struct saltus_message *next;
    int peer; /**< to whom, or from whom */
    saltus_message_kind kind;
    saltus_packer data; /**< is_taking once it has been received; failed: memory ran out, or more
                             was read than there is */
} saltus_message;

/** NULL: memory ran out, which saltus_message_put and saltus_ranks_send take. */
saltus_message *saltus_message_new(saltus_message_kind kind);
void saltus_message_free(saltus_message *m);

/** Make room, so that it need not grow. */
void saltus_message_reserve(saltus_message *m, size_t size);
void saltus_message_put(saltus_message *m, const void *bytes, size_t size);
/** Zeros when there are fewer. */
void saltus_message_get(saltus_message *m, void *bytes, size_t size);
/** Read them where they are; NULL when there are fewer. */
const void *saltus_message_view(saltus_message *m, size_t size);

#define SALTUS_PUT(m, value) saltus_message_put(m, &(value), sizeof(value))
#define SALTUS_GET(m, value) saltus_message_get(m, &(value), sizeof(value))

#endif
