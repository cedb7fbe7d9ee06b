/** The halo exchange of a slab that is held as lists: particles that leave it in a phase go to the
 * processes that have the slabs beside it, and theirs come. */
#ifndef SALTUS_BACKEND_CPU_HALO_H
#define SALTUS_BACKEND_CPU_HALO_H

#include "engine/peers.h"
#include "kernel/rdme/particles.h"

/** As many departures go in the first message; the others in a second one. */
enum { SALTUS_HALO_FIRST = 509 };

typedef struct saltus_halo_message {
    int64_t n; /**< departures; -1: the sender has given the batch up, and so does who reads it */
    int64_t gap;
    saltus_mpd_departure first[SALTUS_HALO_FIRST];
} saltus_halo_message;

/** Zero-initialise. */
typedef struct saltus_halo {
    const saltus_peers *peers;
    int beside[2]; /**< [below, above] which process has the slab there; -1: none is there */
    saltus_mpd_departures departures[2]; /**< [below, above] */
    saltus_halo_message out[2], in[2];
    saltus_mpd_departure *rest[2]; /**< [capacity] arrivals behind the first */
    int64_t rest_capacity[2];
} saltus_halo;

SALTUS_MUST_CHECK saltus_status saltus_halo_create(const saltus_peers *peers, bool is_ring,
                                                   saltus_halo *out, saltus_error *err);
void saltus_halo_free(saltus_halo *halo);

/** Exchange the departures of a phase. A process that has given the batch up takes part in what is
 * left of it all the same, so that nobody waits in vain. *is_void: whether it has; it becomes true
 * where a neighbour has, or where more have left than there was room for. */
SALTUS_MUST_CHECK saltus_status saltus_halo_exchange(saltus_halo *halo, bool *is_void,
                                                     saltus_error *err);
/** Particles that have come from a side, after an exchange that is not void. */
int64_t saltus_halo_n_arrivals(const saltus_halo *halo, int side);
const saltus_mpd_departure *saltus_halo_arrival(const saltus_halo *halo, int side, int64_t i);

/** Whether there was too little room for departures since it was last made larger; make it larger,
 * with none in it. SALTUS_E_NO_MEMORY */
bool saltus_halo_is_full(const saltus_halo *halo);
SALTUS_MUST_CHECK saltus_status saltus_halo_grow(saltus_halo *halo, saltus_error *err);

#endif
