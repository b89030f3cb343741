#ifndef WEIR_APP_WORKER_H
#define WEIR_APP_WORKER_H

/*
 * The worker: the process that runs one attempt of a job. The supervisor starts it (fork + exec of
 * this program) and is told through a weir_worker_link what happens. It ends by returning its exit
 * code; what it said over the link before decides how the run's report reads.
 *
 * Threads:   weir_worker_main runs on the process's first thread, which is its control thread. Send
 *            functions may be called from any thread, weir_worker_poll_cancel from the control
 *            thread.
 * Ownership: a json_t that is handed over is the link's afterwards.
 * Failure:   a supervisor that is gone takes the worker with it (SIGKILL by the kernel); sends then
 *            have no effect.
 */

#include "app/control/command.h"
#include "app/session.h"
#include "engine/base/error.h"

#include <jansson.h>

struct weir_worker_link;

/* What the supervisor decided about this attempt. */
struct weir_launch {
	uint64_t attempt; /* of the folder checkpoint.dir/job.name: outlives the supervisor; from 1
			   */
	uint32_t run_attempt; /* of this invocation, from 1 */
	char run_id[33];      /* 32 hex digits; the same for all attempts of the invocation */
	const char *restore;  /* the chk-n to restore from, or NULL: from the beginning */
	const char *base;     /* what the run was restored from when it began, or NULL */
	uint64_t newest_id;   /* newest checkpoint in the folder when the run began; ids go on above
				 it */
};

/*
 * One attempt. session: configuration checked, job built, plan made. Returns the exit code; 0 only
 * after weir_worker_finished.
 */
int weir_worker_main(struct weir_session *session, const struct weir_launch *launch,
		     struct weir_worker_link *link);

/*
 * The job is RUNNING (all tasks run). restored: { checkpoint, path, frames_in_flight, bytes } as in
 * the report, NULL when it started from the beginning. Starts wall_s.
 */
void weir_worker_running(struct weir_worker_link *link, json_t *restored);

/* For the progress line; a few times a second at most. */
struct weir_progress {
	uint64_t rows;	       /* sources' rows so far */
	double rows_per_s;     /* lately */
	uint32_t busiest_cpu;  /* of the core with the largest share of busy ticks lately */
	double busiest;	       /* its share, 0..1 */
	double back_pressured; /* the largest share of any core, 0..1 */
};
void weir_worker_progress(struct weir_worker_link *link, const struct weir_progress *progress);

/*
 * An entry of the report's checkpoint list, sent when it is triggered (status "pending") and again
 * when it is over ("completed", "failed", "aborted"): the newest of an id counts. Only id and
 * status are needed while pending; one that is over has `tasks` too, for the history (K16).
 */
void weir_worker_checkpoint(struct weir_worker_link *link, json_t *entry);

/*
 * The parts of the report that the worker knows: any of operators, tasks, edges, cores, sources,
 * latency_us, environment. The newest of each counts; send them at least when RUNNING and at the
 * end, and now and then between, so that a killed attempt's report is not empty.
 */
void weir_worker_statistics(struct weir_worker_link *link, json_t *parts);

/* A line for the terminal and the report's warnings. */
void weir_worker_warning(struct weir_worker_link *link, const char *fmt, ...) WEIR_PRINTF(2, 3);

/* Why the attempt fails; code is the exit code that weir_worker_main is about to return. */
void weir_worker_error(struct weir_worker_link *link, const struct weir_error *err);

/* The last word: "FINISHED", "CANCELED" or "SUSPENDED". */
void weir_worker_finished(struct weir_worker_link *link, const char *state);

/* Has the supervisor asked to cancel? Costs a system call. */
bool weir_worker_poll_cancel(struct weir_worker_link *link);

/* The next command that weir_worker_poll_cancel came across, or NULL. *number is what its outcome
 * is called. Control thread. */
bool weir_worker_take_command(struct weir_worker_link *link, struct weir_control_command *command,
			      uint64_t *number);

/* The outcome of a command, once; outcome as weir_control_outcome makes it. */
void weir_worker_outcome(struct weir_worker_link *link, uint64_t number, json_t *outcome);

/* Readable when weir_worker_poll_cancel has something to say: for a poll() of the control thread.
 */
int weir_worker_link_fd(const struct weir_worker_link *link);

#endif /* WEIR_APP_WORKER_H */
