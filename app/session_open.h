#ifndef WEIR_APP_SESSION_OPEN_H
#define WEIR_APP_SESSION_OPEN_H

/*
 * Opens a session as far as a command needs it. The same code serves check, plan, run and the
 * worker, so what check accepts run accepts.
 *
 * Threads: start-up only.
 */

#include "app/cli.h"
#include "app/session_plan.h"

enum weir_session_depth {
	WEIR_SESSION_CONFIG, /* configuration and CPUs */
	WEIR_SESSION_PLAN,   /* and, if a job is named, the job and its plan */
	WEIR_SESSION_CHECK,  /* and directories, files */
	WEIR_SESSION_RUN,    /* and what stands in the way of a start: another run's output */
};

/*
 * Open for cli's job (first argument, if any), --config and --set. Returns 0, or an exit code after
 * all errors were printed to standard error; close is needed in both cases.
 */
int weir_session_open(struct weir_session *s, const struct weir_cli *cli,
		      enum weir_session_depth depth);

/* The worker's way: the configuration's text, already checked by the supervisor. */
int weir_session_open_text(struct weir_session *s, const char *job, const char *text, size_t len);

/* Once more the plan. Returns 0, or an exit code after the errors were printed. */
WEIR_MUST_USE int weir_session_replan(struct weir_session *s, const struct weir_replan *how);

#endif /* WEIR_APP_SESSION_OPEN_H */
