/* The plug-in for MPI. It is built with one MPI library and works with that one. */
#include "ranks/transport.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) saltus_transport_find saltus_transport_table;

static int start(int *rank, int *n)
{
    int level = MPI_THREAD_SINGLE, is_up = 0, e = MPI_Initialized(&is_up);
    if (e == MPI_SUCCESS) {
        e = is_up ? MPI_Query_thread(&level)
                  : MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    }
    if (e == MPI_SUCCESS && level < MPI_THREAD_SERIALIZED) {
        e = MPI_ERR_UNSUPPORTED_OPERATION;
    }
    if (e == MPI_SUCCESS) {
        e = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    }
    return e == MPI_SUCCESS ? MPI_Comm_size(MPI_COMM_WORLD, n) : e;
}

static int gather(const void *bytes, void *all, int size)
{
    return MPI_Allgather(bytes, size, MPI_BYTE, all, size, MPI_BYTE, MPI_COMM_WORLD);
}

/* Requests are kept on the heap: what they are differs between libraries. */
static int send(const void *bytes, int size, int to, int tag, void **request)
{
    MPI_Request *r = malloc(sizeof *r);
    *request = r;
    return r ? MPI_Isend(bytes, size, MPI_BYTE, to, tag, MPI_COMM_WORLD, r) : MPI_ERR_NO_MEM;
}

static int receive(void *bytes, int size, int from, int tag, void **request)
{
    MPI_Request *r = malloc(sizeof *r);
    *request = r;
    return r ? MPI_Irecv(bytes, size, MPI_BYTE, from, tag, MPI_COMM_WORLD, r) : MPI_ERR_NO_MEM;
}

static int test(void **request, int *is_done)
{
    const int e = MPI_Test(*request, is_done, MPI_STATUS_IGNORE);
    if (*is_done) {
        free(*request);
        *request = NULL;
    }
    return e;
}

static int wait(void **request)
{
    const int e = MPI_Wait(*request, MPI_STATUS_IGNORE);
    free(*request);
    *request = NULL;
    return e;
}

static int probe(int tag, int *is_there, int *from)
{
    MPI_Status status;
    const int e = MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, is_there, &status);
    *from = *is_there ? status.MPI_SOURCE : -1;
    return e;
}

static int finish(void)
{
    return MPI_Finalize();
}

static void text(int error, char *out, int size)
{
    char all[MPI_MAX_ERROR_STRING] = "unknown";
    int n;
    (void)MPI_Error_string(error, all, &n);
    (void)snprintf(out, (size_t)size, "%s", all);
}

const saltus_transport *saltus_transport_table(void)
{
    static const saltus_transport table = {.version = SALTUS_TRANSPORT_VERSION,
                                           .start = start,
                                           .gather = gather,
                                           .send = send,
                                           .receive = receive,
                                           .test = test,
                                           .wait = wait,
                                           .probe = probe,
                                           .finish = finish,
                                           .text = text};
    return &table;
}
