#ifndef WEIR_ENGINE_CORE_MASTER_H
#define WEIR_ENGINE_CORE_MASTER_H

/*
 * weir_master: the control side of a running job: it carries messages between the cores and the
 * pure checkpoint coordinator, hands out splits, makes manifests durable, deletes what no
 * checkpoint names, and knows how the job ends.
 *
 *     cores  <-- mail -->  master_step  <-- events, updates -->  coordinator
 *                              |  requests, completions
 *                           weir_io
 *
 * Threads:   one, the control thread; step never blocks.
 * Ownership: borrows the runtime and all texts of the config for its life.
 * Cost:      allocates (control plane).
 * Failure:   a job that fails ends with weir_master_end FAILED and the error that did it.
 */

#include "engine/base/rng.h"
#include "engine/checkpoint/coordinator.h"
#include "engine/checkpoint/manifest.h"
#include "engine/core/enumerator.h"
#include "engine/core/runtime.h"

enum weir_master_end {
	WEIR_END_NOT_YET,
	WEIR_END_FINISHED,
	WEIR_END_FAILED,
	WEIR_END_CANCELED,
	WEIR_END_SUSPENDED, /* stopped with a savepoint, where its input was (S4) */
};

/* One subtask's part in a checkpoint (K16). */
struct weir_subtask_done {
	uint32_t task; /* of the plan */
	uint32_t subtask;
	int64_t start_delay_ns; /* from the trigger to its first barrier */
	int64_t alignment_ns;	/* from there to the last one */
	int64_t sync_ns, async_ns;
	uint64_t processed_bytes; /* in frames, during the alignment */
	uint64_t persisted_bytes; /* frames in flight; unaligned if and only if more than 0 */
	uint64_t bytes;		  /* that it wrote */
	uint64_t full_bytes;	  /* that its part consists of */
};

/* One checkpoint, for report and progress; texts stand for ever. */
struct weir_checkpoint_done {
	uint64_t id;
	const char *kind;   /* periodic, manual, final, savepoint, suspend, drain */
	const char *status; /* completed, failed, aborted; pending: see checkpoint_pending */
	const char *reason; /* "" when completed */
	int64_t trigger_wall_ns;
	int64_t duration_ns;
	uint64_t bytes; /* written for it; 0 for one that did not complete */
	uint64_t full_bytes;
	uint64_t frames;	  /* in flight, that it holds */
	uint64_t persisted_bytes; /* of them; an unaligned checkpoint has more than 0 (K16) */
	/* Phases of the subtask that acknowledged last; they sum to the duration. */
	int64_t prepare_ns, start_delay_ns, alignment_ns, sync_ns, async_ns, finalize_ns;
	/* Of those that have acknowledged, once it has ended; valid until the call returns. */
	const struct weir_subtask_done *subtasks;
	uint32_t subtask_cnt;
};

/*
 * A master hook (K15): state outside of the job that is part of the cut, taken at the trigger,
 * before the sources inject their barriers. One snapshot of it is under way at a time. All on the
 * control thread, and none of them waits.
 */
enum weir_hook_step { WEIR_HOOK_BUSY, WEIR_HOOK_DONE, WEIR_HOOK_FAILED };

struct weir_master_hook {
	const char *name; /* its state's name in the checkpoint */
	/* Begin to take its state for checkpoint id. */
	void (*begin)(void *arg, uint64_t id);
	/* DONE: *state stands until the next begin. FAILED: *err says why. Neither comes twice. */
	enum weir_hook_step (*step)(void *arg, struct weir_blob *state, struct weir_error *err);
	/* The checkpoint was given up: step is not called until the next begin. */
	void (*abandon)(void *arg);
	void *arg;
};

struct weir_master_config {
	struct weir_runtime *rt;
	struct weir_enumerator *enumerators; /* one per source operator */
	uint32_t enumerator_cnt;
	struct weir_io *io;  /* NULL: neither checkpoints nor savepoints */
	const char *job_dir; /* <dir>/<job>; NULL: checkpoints off, only savepoints */
	const char *job;
	const char *run_id;
	uint64_t next_id; /* C20: first id that may be given */
	int64_t interval_ns, timeout_ns, min_pause_ns;
	bool has_backlog_interval;   /* C10: another interval while splits wait to be read */
	int64_t backlog_interval_ns; /* 0: none meanwhile */
	bool all_tasks_only;	     /* C15: no checkpoint any more when a task has finished */
	uint32_t max_concurrent, tolerable_failures, retained;
	enum weir_retention retention;
	bool at_least_once;
	bool unaligned; /* C17 */
	int64_t aligned_timeout_ns;
	uint64_t seed; /* of the first delay (C9) */

	/* Own checkpoints of earlier attempts of this run, ascending; borrowed for create. */
	const struct weir_manifest *const *own;
	uint32_t own_cnt;

	/* S6: a checkpoint or savepoint from outside that is the run's own now: it is deleted when
	 * newer ones replace it. manifest NULL: none. Texts are borrowed for the master's life. */
	struct {
		const struct weir_manifest *manifest;
		const char *path;
		const char *data_dir;
		/* Other checkpoints in its folder: not this run's, and what they name stays. */
		const struct weir_manifest *const *beside;
		uint32_t beside_cnt;
	} claimed;

	const struct weir_master_hook *hooks;
	uint32_t hook_cnt;

	/* Make the id counter durable at next_id. 0, or an error that fails the checkpoint. */
	int (*reserve_ids)(void *arg, uint64_t next_id);
	/* A checkpoint has its id; again, with phases, when only its manifest is missing. What is
	 * pending when the process ends had its manifest written or not: the folder says. */
	void (*checkpoint_pending)(void *arg, const struct weir_checkpoint_done *so_far);
	/* It has ended. */
	void (*checkpoint_done)(void *arg, const struct weir_checkpoint_done *done);
	void (*warning)(void *arg, const char *text);
	void *arg;
};

/*
 * Requests from outside (C1). Whoever asks for a checkpoint, a savepoint or a stop with savepoint
 * comes through here, and hears of the outcome exactly once.
 */
struct weir_master_outcome {
	enum weir_reason reason; /* NONE: the checkpoint is complete */
	uint64_t id;		 /* of the checkpoint; 0: it had not got so far */
	const char *path;	 /* where the complete one lies; NULL if it failed */
	int code;		 /* WEIR_ERR_ of why, 0: none */
	const char *why;	 /* more about a failure, for people; "" if there is no more */
};

struct weir_master_request {
	/* CHECKPOINT as configured, FULL, SAVEPOINT, or a stop with savepoint (S4): SUSPEND, DRAIN
	 */
	enum weir_request_kind kind;
	bool native; /* savepoints: pages of the state backend, else canonical (S1) */
	/* savepoints: absolute path of the directory in which savepoint-<id>-<random> is made;
	 * copied */
	const char *dir;
	/* Called once, by a call of this header, maybe before weir_master_request returns, at the
	 * latest by destroy. outcome: for the call. It may make further requests. */
	void (*done)(void *arg, const struct weir_master_outcome *outcome);
	void *arg;
};

struct weir_master;

struct weir_master *weir_master_create(const struct weir_master_config *config, int64_t now_ns,
				       int64_t wall_ns);
void weir_master_destroy(struct weir_master *m);

/* One round: mail, completions, timers. True if anything happened. */
bool weir_master_step(struct weir_master *m, int64_t now_ns, int64_t wall_ns);

/* When step has something to do without mail or completions; INT64_MAX: nothing. */
int64_t weir_master_due_ns(const struct weir_master *m);

/*
 * Ask for it. A job without checkpoints (it takes savepoints), and one that is about to end or to
 * stop, refuses. The same request
 * made twice is two requests: who promises to do it once per request id keeps the ids.
 */
void weir_master_request(struct weir_master *m, const struct weir_master_request *request);

/* End the job as cancelled: what is pending is aborted, sinks commit what a complete checkpoint
 * covers. When weir_master_ended says so, the cores are to be stopped. */
void weir_master_cancel(struct weir_master *m);

/* Has the job ended, and is nothing of the master's in flight any more? */
enum weir_master_end weir_master_ended(const struct weir_master *m, struct weir_error *err);

/* All tasks have started. */
bool weir_master_running(const struct weir_master *m);

struct weir_master_counts {
	uint64_t triggered, completed, failed, aborted;
	uint64_t last_id;
};
void weir_master_counts(const struct weir_master *m, struct weir_master_counts *counts);

#endif /* WEIR_ENGINE_CORE_MASTER_H */
