#ifndef WEIR_APP_SUPERVISOR_CONTROL_H
#define WEIR_APP_SUPERVISOR_CONTROL_H

/*
 * The supervisor's side of commands: it owns the socket, since it outlives workers; what a command
 * asks is handed to the worker once that is RUNNING, and its outcome back.
 *
 *   cancel      as Ctrl-C; answered when the run is over
 *   stop        the worker's outcome of the savepoint, then, when the run is over, how that went
 *   the others  the worker's outcome; TASK_FAILURE when the worker goes before it
 *
 * Threads: the supervisor's one.
 */

#include "app/control/server.h"

struct weir_supervisor;

/* A command that is not answered yet. */
struct weir_asked {
	uint64_t number;
	struct weir_control_command command;
	bool forwarded; /* the worker has it */
};

struct weir_run_control {
	struct weir_control_server *server; /* NULL: commands are not available */
	struct weir_asked *asked;
	uint32_t asked_cnt;
	bool stopping;		/* a stop is under way */
	json_t *saved;		/* outcome of its savepoint, which is complete; NULL: not yet */
	const char *saved_path; /* in saved */
};

/* Open the socket; without one the run goes on, with a warning. */
void weir_run_open_control(struct weir_supervisor *s);
/* The attempt is RUNNING: hand over what waits. */
void weir_run_control_running(struct weir_supervisor *s);
/* The worker's outcome of a command. */
void weir_run_control_outcome(struct weir_supervisor *s, json_t *message);
/* The attempt is over: what it had not answered has failed. */
void weir_run_control_lost(struct weir_supervisor *s);
/* The run is over with this exit code: answer everybody, take the socket away. */
void weir_run_close_control(struct weir_supervisor *s, int code, const char *state);

#endif /* WEIR_APP_SUPERVISOR_CONTROL_H */
