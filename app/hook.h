#ifndef WEIR_APP_HOOK_H
#define WEIR_APP_HOOK_H

/*
 * A command as a master hook (K15), key `checkpoint.hook`: "NAME:COMMAND", run by /bin/sh.
 *
 *   WEIR_HOOK=snapshot   at the trigger of a checkpoint: what it prints is the state
 *   WEIR_HOOK=restore    before the job starts from a checkpoint: the state is on standard input
 *   WEIR_HOOK=reset      before the job starts from the beginning, or from a checkpoint that has
 *                        nothing of it
 *
 * WEIR_JOB is the job's name, WEIR_CHECKPOINT the id. An exit code other than 0 is a failure: of
 * the checkpoint, or of the start. A command that runs when its checkpoint is given up (at the
 * latest after checkpoint.timeout) is killed with all that it has started in its process group;
 * one that runs when the worker is killed goes with it, but not what it has started.
 *
 * Threads:   the control thread. A snapshot never waits; restore and reset do, while nothing runs.
 * Ownership: borrows all texts for its life.
 * Limits:    a state has at most WEIR_HOOK_STATE_MAX bytes.
 */

#include "engine/core/master.h"

#include <sys/types.h>

#define WEIR_HOOK_STATE_MAX (1u << 20)

struct weir_hook {
	const char *command;
	const char *job;
	char name[64];
	pid_t pid; /* 0: none runs */
	int out;
	char *state;
	size_t len;
	struct weir_error failed; /* could not even begin */
};

/* spec: the key's value, checked by the configuration. */
void weir_hook_open(struct weir_hook *hook, const char *spec, const char *job);
void weir_hook_close(struct weir_hook *hook);

/* For the master. */
struct weir_master_hook weir_hook_master(struct weir_hook *hook);

/* Bring it back to its state in the checkpoint *m; NULL, or one without: reset. */
WEIR_MUST_USE int weir_hook_restore(struct weir_hook *hook, const struct weir_manifest *m,
				    int64_t timeout_ns, struct weir_error *err);

#endif /* WEIR_APP_HOOK_H */
