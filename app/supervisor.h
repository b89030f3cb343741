#ifndef WEIR_APP_SUPERVISOR_H
#define WEIR_APP_SUPERVISOR_H

/*
 * The supervisor of a run: it starts the worker, watches it, starts it again by the restart
 * strategy (R6) from the run's own newest checkpoint, passes Ctrl-C on, shows progress and writes
 * the report.
 *
 * It holds no data of the job: whatever kills the worker, the supervisor can go on; whatever kills
 * the supervisor, the kernel kills the worker, and the next run restores.
 *
 * Threads:   one, sleeping in poll. Ownership: borrows the session.
 * Failure:   returns the exit code of the run; texts go to standard error.
 */

#include "app/session.h"

/* Run the session's job to its end. report_path may be NULL. */
int weir_supervise(struct weir_session *session, const char *report_path);

#endif /* WEIR_APP_SUPERVISOR_H */
