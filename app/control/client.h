#ifndef WEIR_APP_CONTROL_CLIENT_H
#define WEIR_APP_CONTROL_CLIENT_H

/*
 * The other end of the socket: find a running job by name, send it a command, wait for the outcome.
 *
 * Threads: one; waits as long as the job takes. Failure: WEIR_ERR_UNAVAILABLE when no such job runs
 * or it ended without an answer, WEIR_ERR_USAGE when several runs have this name.
 */

#include "app/control/command.h"

/* A connection to the running job; *fd is the caller's. job: job.name, or NAME@PROCESS. */
WEIR_MUST_USE int weir_control_connect(const char *checkpoint_dir, const char *job, int *fd,
				       struct weir_error *err);

/* Send the command and wait; the outcome's object is the caller's. fd is closed. */
json_t *weir_control_ask(int fd, const struct weir_control_command *command,
			 struct weir_error *err);

#endif /* WEIR_APP_CONTROL_CLIENT_H */
