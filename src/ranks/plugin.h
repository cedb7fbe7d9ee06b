/** The plug-in with a message-passing library: where it is looked for, and how it is opened. */
#ifndef SALTUS_RANKS_PLUGIN_H
#define SALTUS_RANKS_PLUGIN_H

#include "core/status.h"
#include "ranks/transport.h"

/**
 * Open libsaltus-mpi.so: what SALTUS_MPI names, else the one beside this library or program, else
 * the installed one. It stays open.
 *
 * @retval SALTUS_E_UNAVAILABLE there is none, or it is of another version
 */
SALTUS_MUST_CHECK saltus_status saltus_plugin_open(const saltus_transport **out, saltus_error *err);

#endif
