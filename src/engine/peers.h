/**
 * The processes that hold one lattice together, a slab of planes along z each, and how they reach
 * each other. An engine (engine/rdme.h) on each of them holds its slab. Process 0 leads a
 * trajectory: what it asks of its engine it asks of all (engine/rdme_peers.c).
 */
#ifndef SALTUS_ENGINE_PEERS_H
#define SALTUS_ENGINE_PEERS_H

#include "core/status.h"

#include <stdbool.h>

/** What messages between two processes are for. Those of a kind arrive in the order in which they
 * were sent. */
typedef enum saltus_peer_message {
    SALTUS_PEER_ORDER, /**< of process 0 */
    SALTUS_PEER_REPLY, /**< to process 0 */
    SALTUS_PEER_UP,    /**< to the slab above */
    SALTUS_PEER_DOWN   /**< to the slab below */
} saltus_peer_message;

/** Bytes that go to another process, or come from it. */
typedef struct saltus_transfer {
    int peer; /**< which process */
    saltus_peer_message kind;
    bool is_sent;
    void *bytes; /**< [size] only read where they are sent */
    size_t size; /**< the same on both sides */
} saltus_transfer;

typedef struct saltus_peers {
    int number, n;  /**< this process, and how many there are; process i has slab i */
    bool has_ended; /**< out, not of process 0: there is nothing left to follow */
    void *user;
    /** Move n transfers at the same time, and wait for all. One thread of a process calls.
     * SALTUS_E_UNAVAILABLE: the others cannot be reached. */
    saltus_status (*exchange)(void *user, const saltus_transfer *all, int n, saltus_error *err);
} saltus_peers;

/** Process 0: let the others end, as far as they can be reached; to be called once, whatever has
 * failed. */
void saltus_peers_end(const saltus_peers *peers);
/** Another process, whose engine could not be made: answer all orders with this failure. */
void saltus_peers_refuse(saltus_peers *peers, const saltus_error *why);

#endif
