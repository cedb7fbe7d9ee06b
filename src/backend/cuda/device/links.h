/** How one GPU comes by what is in another's memory: what the driver tells of it, and how long it
 * takes. */
#ifndef SALTUS_BACKEND_CUDA_DEVICE_LINKS_H
#define SALTUS_BACKEND_CUDA_DEVICE_LINKS_H

#include "backend/cuda/cuda.h"

typedef struct saltus_link {
    bool reaches; /**< peer memory: one reads and writes the other's */
    bool atomics; /**< in the other's memory, as over NVLink */
    int rank;     /**< among the links of the machine, 0 the best; -1: not told */
} saltus_link;

/** Ask the driver how `from` reaches `to`; itself at once. */
SALTUS_MUST_CHECK saltus_status saltus_link_query(const saltus_driver *cu, cu_device from,
                                                  cu_device to, saltus_link *out,
                                                  saltus_error *err);
/** In a few words, such as "peer memory with atomics". */
const char *saltus_link_text(const saltus_link *link);
/** Print how the n GPUs that are here reach each other, in a line if all do alike. */
void saltus_links_list(const saltus_driver *cu, int n, FILE *out);

/** Ways for bytes to come from one GPU to another. */
typedef enum saltus_link_way {
    SALTUS_LINK_COPY, /**< the driver copies */
    SALTUS_LINK_LOAD, /**< a kernel reads the other's memory */
    SALTUS_LINK_HOST, /**< by way of pinned memory: one copies there, the other from there */
    SALTUS_LINK_WAYS
} saltus_link_way;

typedef struct saltus_link_time {
    double us_alone;  /**< of one transfer, the shortest of several */
    double us_in_row; /**< of each of many that follow each other */
    bool is_right;    /**< what came is what was sent */
    bool is_left_out; /**< the receiver does not reach the other's memory */
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
