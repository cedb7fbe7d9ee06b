/** Room for recursion, whatever thread a caller has. */
#ifndef SALTUS_CORE_STACK_H
#define SALTUS_CORE_STACK_H

#include "core/status.h"

/** Call work(user, err) where there are some MiB of stack: on this thread if it has them, else on
 * one that lives as long as the call. What recurses over expressions is bounded in depth, and a
 * stack of this size holds it. Returns what work returns; SALTUS_E_NO_MEMORY when no thread can be
 * had. */
SALTUS_MUST_CHECK saltus_status saltus_with_stack(saltus_status (*work)(void *user,
                                                                        saltus_error *err),
                                                  void *user, saltus_error *err);

#endif
