/** What is kept of trajectories (engine/keep.h) in messages between ranks. */
#ifndef SALTUS_RANKS_KEEP_H
#define SALTUS_RANKS_KEEP_H

#include "engine/task.h"
#include "ranks/message.h"

void saltus_message_put_kept(saltus_message *m, const saltus_task *task, const saltus_kept *kept);
/** Its arrays are those of the message. false: it makes no sense. */
bool saltus_message_get_kept(saltus_message *m, const saltus_task *task, saltus_kept *out);

#endif
