#ifndef WEIR_ENGINE_CORE_WATCHDOG_H
#define WEIR_ENGINE_CORE_WATCHDOG_H

/*
 * The watchdog of a snapshot's synchronous part (T23): from the operators' pre-barrier hooks to the
 * freeze, which is all one turn, and part of it is the user's code. A core notes when it begins and
 * looks at the clock when it is over; while it is stuck it cannot, so the control thread looks too.
 *
 * Threads:   begin and end on the core, check on the control thread.
 * Cost:      two looks at the clock per turn that tries to take a snapshot.
 * Limits:    core->sync_timeout_ns; 0: no watchdog.
 */

#include "engine/core/runtime.h"

void weir_watchdog_begin(struct weir_task *task);
/* Fails the task that took too long. */
void weir_watchdog_end(struct weir_task *task, uint64_t checkpoint);

/* Is some core in a synchronous part that has taken too long by now? *err says which. */
WEIR_MUST_USE bool weir_watchdog_check(const struct weir_runtime *rt, int64_t now_ns,
				       struct weir_error *err);

#endif /* WEIR_ENGINE_CORE_WATCHDOG_H */
