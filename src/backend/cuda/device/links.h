/** How one GPU reaches another's memory: what the driver reports, and how long transfers take. */
#ifndef SALTUS_BACKEND_CUDA_DEVICE_LINKS_H
#define SALTUS_BACKEND_CUDA_DEVICE_LINKS_H

#include "backend/backend.h"
#include "backend/cuda/device/gpu.h"

typedef struct saltus_link {
    /** Peer memory: one GPU reads and writes the other's. */
    bool reaches;
    /** Atomics work in the other's memory, as over NVLink. */
    bool atomics;
    /** Rank of performance among the links of the machine, 0 the best; -1: not known. */
    int rank;
} saltus_link;

/** Ask the driver how `from` reaches `to`; a GPU reaches itself. */
SALTUS_MUST_CHECK saltus_status saltus_link_query(const saltus_driver *cu, cu_device from,
                                                  cu_device to, saltus_link *out,
                                                  saltus_error *err);
/** In a few words, such as "peer memory with atomics". */
const char *saltus_link_text(const saltus_link *link);
/** Print how the n GPUs that are here reach each other, in one line if all links are alike. */
void saltus_links_list(const saltus_driver *cu, int n, FILE *out);

/** Ways of bytes from one GPU to another. */
typedef enum saltus_link_way {
    SALTUS_LINK_COPY, /**< the driver copies */
    SALTUS_LINK_LOAD, /**< a kernel of the receiver reads the sender's memory */
    SALTUS_LINK_HOST, /**< by way of pinned memory, which one GPU writes and the other reads */
    SALTUS_LINK_WAYS
} saltus_link_way;

typedef struct saltus_link_time {
    double us_alone;  /**< us of one transfer, the shortest of several */
    double us_in_row; /**< us of each of many in a row */
    bool is_right;    /**< what has arrived is what was sent */
    bool is_left_out; /**< the receiver does not reach the sender's memory */
} saltus_link_time;

/** A pair of a backend's GPUs, or one of them twice. */
typedef struct saltus_link_pair saltus_link_pair;
/** @param most bytes of the largest transfer, a multiple of 16 */
SALTUS_MUST_CHECK saltus_status saltus_link_open(const saltus_backend *backend, int from, int to,
                                                 size_t most, saltus_link_pair **out,
                                                 saltus_error *err);
void saltus_link_close(saltus_link_pair *pair);
/** Time transfers of so many bytes, a multiple of 16, and check the last of them. */
SALTUS_MUST_CHECK saltus_status saltus_link_measure(saltus_link_pair *pair, saltus_link_way way,
                                                    size_t bytes, saltus_link_time *out,
                                                    saltus_error *err);
const saltus_link *saltus_link_of(const saltus_link_pair *pair);

#endif
