#ifndef WEIR_ENGINE_CHECKPOINT_COORDINATOR_H
#define WEIR_ENGINE_CHECKPOINT_COORDINATOR_H

/*
 * Checkpoint coordinator: decides when a checkpoint starts, who takes part, when it is complete or
 * has failed, and what may be deleted. One per job.
 *
 * It is a pure state machine. The job master tells it what happened (an event and the time) and
 * does what it answers (an ordered list of updates). It does no I/O, has no clock, no threads and
 * no global state; the same events give the same updates.
 *
 *     event, now  -->  weir_coordinator_step()  -->  updates, in the order in which to do them
 *
 * The life of a checkpoint, with the stages that may be left to the caller (`asks`):
 *
 *     REQUEST or timer -> queue -> plan -> NEED_ID -> NEED_STORAGE -> NEED_OPCOORD (each)
 *       -> NEED_HOOK (each) -> TRIGGER -> ACK (each task) -> NEED_FINALIZE -> PROMISE ok, COMPLETE
 *     anything that goes wrong: PROMISE failed, DELETE, ABORT, ABORT_OPCOORD
 *
 * Words: an *operator coordinator* is the part of an operator that lives beside the coordinator (a
 * split enumerator); it sends *operator events* to its subtasks. A *hook* is external state that is
 * part of the cut. A *part* is a piece of state in a file.
 *
 * Threads:   one at a time (the control thread). Cost: control plane; allocates.
 * Handles:   files, keys, locations, hook states, requests and operator events are 64-bit numbers
 *            of the caller's. The coordinator stores, compares and returns them and never looks
 *            behind them; the caller owns what they stand for, for as long as a file has not been
 *            named in a DELETE or DISCARD update.
 * Tasks:     dense numbers as in trigger_plan.h, and an attempt number that grows with each
 *            restart.
 * Times:     ms, any origin, must not go backwards.
 * Failure:   an event that is impossible now is refused (`illegal`) and changes nothing.
 */

#include "engine/checkpoint/decider.h"
#include "engine/checkpoint/trigger_plan.h"

struct weir_coordinator;

struct weir_attempt {
	uint32_t task;
	uint32_t attempt;
};

enum weir_coord_job_state {
	WEIR_COORD_JOB_CREATED,
	WEIR_COORD_JOB_RUNNING,
	WEIR_COORD_JOB_RESTARTING,
	WEIR_COORD_JOB_FAILING,
	WEIR_COORD_JOB_CANCELLING,
	WEIR_COORD_JOB_FINISHED, /* this and the following are final */
	WEIR_COORD_JOB_CANCELED,
	WEIR_COORD_JOB_FAILED,
	WEIR_COORD_JOB_SUSPENDED, /* the process ends, the job does not: everything is kept */
};

/* S5: what happens to completed checkpoints when the job ends. */
enum weir_retention {
	WEIR_RETENTION_ALWAYS, /* kept whatever ends the job */
	WEIR_RETENTION_NEVER,
	WEIR_RETENTION_ON_FAILURE, /* kept on FAILED */
	WEIR_RETENTION_ON_CANCEL,  /* kept on CANCELED and FAILED */
};

/* Stages that the caller answers with an event; the others answer ok at once and print no NEED. */
enum weir_coord_stage {
	WEIR_COORD_STAGE_PLAN = 1 << 0,
	WEIR_COORD_STAGE_ID = 1 << 1,
	WEIR_COORD_STAGE_STORAGE = 1 << 2,
	WEIR_COORD_STAGE_OPCOORD = 1 << 3,
	WEIR_COORD_STAGE_HOOK = 1 << 4,
	WEIR_COORD_STAGE_FINALIZE = 1 << 5,
	WEIR_COORD_STAGE_DELETE = 1 << 6,  /* DELETE is answered by DELETED */
	WEIR_COORD_STAGE_OPEVENT = 1 << 7, /* OPEVENT is answered by OPEVENT_ACKED or _LOST */
};

#define WEIR_COORD_NO_INTERVAL (-1)
#define WEIR_COORD_EXPIRED_MAX 16 /* C19 */

struct weir_coordinator_config {
	uint64_t job;		     /* messages of another job are ignored */
	int64_t interval_ms;	     /* > 0, or WEIR_COORD_NO_INTERVAL: no periodic checkpoints */
	int64_t backlog_interval_ms; /* C10: NO_INTERVAL: same as interval; 0: none meanwhile */
	int64_t min_pause_ms;
	int64_t timeout_ms;
	int64_t aligned_timeout_ms;
	uint32_t max_concurrent;     /* 1 if unaligned (C8): validated by the configuration */
	uint32_t retained;	     /* >= 1 */
	uint32_t queue_limit;	     /* C3: 1000 */
	uint32_t tolerable_failures; /* WEIR_FAILURES_UNLIMITED */
	bool unaligned;
	bool at_least_once;
	bool finished_tasks; /* checkpoints go on after tasks finished */
	enum weir_retention retention;
	uint32_t asks;	      /* enum weir_coord_stage, ored */
	uint32_t history_max; /* finished checkpoints kept in the statistics */

	struct weir_coord_graph graph;	/* copied */
	const uint32_t *opcoord_vertex; /* per operator coordinator: its vertex; copied */
	uint32_t opcoord_cnt;
	uint32_t hook_cnt;

	/*
	 * C9: number for the n-th start of the periodic timer (n from 0); the first delay is
	 * min_pause + number mod (interval - min_pause + 1). NULL: always 0. Must be a pure
	 * function of arg's own state, e.g. a seeded generator; called within step.
	 */
	uint64_t (*draw)(void *arg);
	void *draw_arg;
};

/* ---- what a checkpoint holds ---------------------------------------------------------------- */

enum weir_part_kind {
	WEIR_PART_PRIVATE, /* used by this checkpoint only */
	WEIR_PART_SHARED,  /* a new file under a key that later checkpoints may refer to */
	WEIR_PART_REF,	   /* the file registered under the key; `file` is not looked at */
};

struct weir_part {
	enum weir_part_kind kind;
	uint64_t file;
	uint64_t key; /* SHARED and REF */
};

/* Measured by the task, ms and bytes; summed and shown by the statistics (K16). */
struct weir_ack_metrics {
	int64_t start_delay_ms;
	int64_t alignment_ms;
	int64_t sync_ms;
	int64_t async_ms;
	uint64_t alignment_bytes; /* processed during alignment */
	uint64_t persisted_bytes; /* captured in-flight data; > 0 means unaligned */
	uint64_t written_bytes;
	uint64_t state_bytes; /* full size */
};

enum weir_task_snapshot_kind {
	WEIR_TASK_SNAPSHOT_MISSING, /* no acknowledgement (yet) */
	WEIR_TASK_SNAPSHOT_ACKED,
	WEIR_TASK_SNAPSHOT_FINISHED, /* the task had finished when the checkpoint was planned */
};

struct weir_task_snapshot {
	enum weir_task_snapshot_kind kind;
	bool operators_finished;  /* end of input is behind it, only "finished" itself is not */
	bool finished_on_restore; /* it was restored as finished and forwards events only (T29) */
	uint32_t attempt;	  /* which acknowledged */
	const struct weir_part *parts; /* REF and SHARED name the resolved file */
	uint32_t part_cnt;
};

struct weir_hook_snapshot {
	bool has_state;
	uint64_t state;
};

/*
 * A checkpoint as the coordinator knows it. As a result (weir_coordinator_snapshot, NEED_FINALIZE)
 * everything belongs to the coordinator and is valid until the next step. As input (START_FROM,
 * RECOVER) it is lent for the step.
 */
struct weir_snapshot {
	uint64_t id;
	int64_t timestamp_ms;
	uint64_t location; /* as given in the storage answer */
	enum weir_request_kind kind;
	bool claimed;  /* false: files belong to the user, nothing of it is ever deleted (S6) */
	bool external; /* came in by START_FROM, not taken by this job run */
	const struct weir_task_snapshot *tasks;
	uint32_t task_cnt;	       /* 0: unknown, e.g. the parallelism was another; see parts */
	const struct weir_part *parts; /* files not listed by task */
	uint32_t part_cnt;
	const struct weir_hook_snapshot *hooks; /* one per hook of the configuration */
	uint32_t hook_cnt;
};

/* ---- events --------------------------------------------------------------------------------- */

enum weir_coord_event_kind {
	WEIR_COORD_TICK,	    /* time passed: fires every timer that is due, one by one */
	WEIR_COORD_REQUEST,	    /* .request: a checkpoint or savepoint is asked for (C1) */
	WEIR_COORD_STOP,	    /* .request SUSPEND or DRAIN: stop with savepoint (S4) */
	WEIR_COORD_PLAN_ANSWER,	    /* .answer */
	WEIR_COORD_ID_ANSWER,	    /* .answer: the counter was made durable beyond next-id */
	WEIR_COORD_STORAGE_ANSWER,  /* .answer.id, .location: directory made */
	WEIR_COORD_OPCOORD_ANSWER,  /* .answer.id, .which: its snapshot is taken now */
	WEIR_COORD_HOOK_ANSWER,	    /* .answer.id, .which, .has_state, .state */
	WEIR_COORD_FINALIZE_ANSWER, /* .answer.id: manifest written, not written, unknown (K7) */
	WEIR_COORD_DELETED,	    /* .answer.id: a DELETE is done, or has failed and was logged */
	WEIR_COORD_ACK,		    /* .ack: a task's snapshot is durable */
	WEIR_COORD_DECLINE,	    /* .message, .reason */
	WEIR_COORD_RPC_FAILED,	    /* .message: the trigger could not be delivered (C21) */
	WEIR_COORD_BARRIER,	    /* .message: the subtask is past the barrier (K14) */
	WEIR_COORD_OPEVENT_SEND,    /* .opevent: a coordinator wants to send to its subtask */
	WEIR_COORD_OPEVENT_ACKED,   /* .opevent.event: the subtask has it */
	WEIR_COORD_OPEVENT_LOST,    /* .opevent.event */
	WEIR_COORD_BACKLOG,	    /* .backlog (C10) */
	WEIR_COORD_TASK_STATE,	    /* .tasks, .tasks.state: these attempts are now in this state */
	WEIR_COORD_JOB_STATE,	    /* .job_state */
	WEIR_COORD_SCHEDULER_START, /* periodic checkpoints on; ends whatever an earlier start made
				     */
	WEIR_COORD_SCHEDULER_STOP,  /* off, and everything pending and waiting is aborted */
	WEIR_COORD_ABORT,	    /* .message.id, .reason */
	WEIR_COORD_SHUTDOWN,	    /* for ever */
	WEIR_COORD_RESTART,	    /* .tasks: these are the new attempts, in state CREATED */
	WEIR_COORD_RESTORE,    /* .tasks: bring these back to the latest completed checkpoint */
	WEIR_COORD_START_FROM, /* .start: the first thing, or not at all */
	WEIR_COORD_RECOVER,    /* .recover: what an earlier process left; before anything else */
};

enum weir_coord_result {
	WEIR_COORD_OK,
	WEIR_COORD_FAILED,    /* not done, for certain */
	WEIR_COORD_FAILED_IO, /* the same, by an I/O error (counts, K12) */
	WEIR_COORD_UNKNOWN,   /* finalize only: may or may not be there */
};

/* C7: savepoints are forced unless unaligned checkpoints are on; nothing else is. */
enum weir_force {
	WEIR_FORCE_DEFAULT,
	WEIR_FORCE_YES,
	WEIR_FORCE_NO,
};

struct weir_coord_event {
	enum weir_coord_event_kind kind;
	enum weir_reason reason; /* DECLINE, ABORT */
	enum weir_force force;	 /* REQUEST */
	union {
		struct weir_request request; /* number, target, kind, periodic are looked at */
		struct {
			enum weir_coord_result result;
			uint64_t id;
			uint32_t which; /* operator coordinator or hook */
			bool has_state;
			uint64_t state;
			uint64_t location;
		} answer;
		struct {
			uint64_t job;
			uint64_t id;
			struct weir_attempt from;
			const struct weir_part *parts; /* lent for the step, copied */
			uint32_t part_cnt;
			bool operators_finished;
			bool finished_on_restore;
			struct weir_ack_metrics metrics;
		} ack;
		struct {
			uint64_t job;
			uint64_t id;
			struct weir_attempt from; /* BARRIER: task only */
		} message;
		struct {
			uint32_t opcoord;
			uint32_t task;
			uint64_t event; /* unique among those on their way */
		} opevent;
		struct {
			uint32_t opcoord;
			bool on;
		} backlog;
		struct {
			const struct weir_attempt *list; /* lent for the step, ascending */
			uint32_t cnt;
			enum weir_coord_task_state state; /* TASK_STATE */
		} tasks;
		enum weir_coord_job_state job_state;
		struct {
			struct weir_snapshot snapshot; /* its claimed and kind are honoured */
			uint32_t unknown_hook_cnt;     /* states whose hook the job does not have */
			bool allow_non_restored;       /* K15: then they are not an error */
		} start;
		struct {
			uint64_t next_id;
			const struct weir_snapshot *completed; /* ascending ids; lent, copied */
			uint32_t completed_cnt;
			const struct weir_snapshot *savepoints; /* the same, for duplicates */
			uint32_t savepoint_cnt;
		} recover;
	};
};

/* ---- updates -------------------------------------------------------------------------------- */

enum weir_coord_update_kind {
	WEIR_COORD_DO_TIMER,	     /* .timer: information: this one fired */
	WEIR_COORD_DO_NEED_PLAN,     /* answer with the event of the same name */
	WEIR_COORD_DO_NEED_ID,	     /* make the id counter durable at .id + 1 (or a block ahead) */
	WEIR_COORD_DO_NEED_STORAGE,  /* .storage */
	WEIR_COORD_DO_NEED_OPCOORD,  /* .id, .which */
	WEIR_COORD_DO_NEED_HOOK,     /* .id, .which */
	WEIR_COORD_DO_NEED_FINALIZE, /* .id: write the manifest of weir_coordinator_snapshot(id) */
	WEIR_COORD_DO_TRIGGER,	     /* .trigger: to these attempts */
	WEIR_COORD_DO_PROMISE,	     /* .promise: outcome of a request, exactly one each */
	WEIR_COORD_DO_ACK,	     /* .ack_outcome: information for log and metrics (K1) */
	WEIR_COORD_DO_DECLINE_IGNORED,	/* information */
	WEIR_COORD_DO_FAIL_JOB,		/* .fail */
	WEIR_COORD_DO_FAIL_TASK,	/* .fail.task: it missed an operator event */
	WEIR_COORD_DO_COMPLETE,		/* .id, .complete: tell these attempts "complete id" (K4) */
	WEIR_COORD_DO_ABORT,		/* .id, .abort: tell these attempts "abort id" (K8) */
	WEIR_COORD_DO_COMPLETE_OPCOORD, /* .id, .which */
	WEIR_COORD_DO_ABORT_OPCOORD,	/* .id, .which */
	WEIR_COORD_DO_DROP_LOCATION,	/* .id: storage that came too late; .storage.location */
	WEIR_COORD_DO_DELETE,		/* .id, .files: remove its location and these files (K10) */
	WEIR_COORD_DO_DISCARD,		/* .files: remove these */
	WEIR_COORD_DO_OPEVENT,		/* .opevent: deliver it now */
	WEIR_COORD_DO_RESTORE,		/* .id (0: nothing to restore, start empty), .restore */
	WEIR_COORD_DO_HOOK_RESTORE,	/* .id, .hook */
	WEIR_COORD_DO_HOOK_RESET,	/* .hook.which: there is nothing to restore */
	WEIR_COORD_DO_OPCOORD_RESET,	/* .id (0: none), .which */
	WEIR_COORD_DO_SUBTASK_RESET,  /* .id (0: none), .which, .task: this coordinator's subtask */
	WEIR_COORD_DO_RESTORE_FAILED, /* K15: hook states nobody takes */
};

enum weir_ack_outcome {
	WEIR_ACK_SHUTDOWN,
	WEIR_ACK_OTHER_JOB,
	WEIR_ACK_DUPLICATE,
	WEIR_ACK_SUCCESS,
	WEIR_ACK_UNKNOWN, /* this attempt is not awaited */
	WEIR_ACK_EXPIRED, /* the checkpoint expired */
	WEIR_ACK_LATE,	  /* no such checkpoint (any more) */
	WEIR_ACK_BROKEN,  /* refers to a file nobody knows */
};

/* C17 */
enum weir_alignment {
	WEIR_ALIGNMENT_ALIGNED,
	WEIR_ALIGNMENT_UNALIGNED,
	WEIR_ALIGNMENT_TIMEOUT, /* aligned, unaligned after timeout_ms since the timestamp */
	WEIR_ALIGNMENT_AT_LEAST_ONCE,
};

/* Lists inside an update belong to the coordinator and live until the next step. */
struct weir_coord_attempts {
	const struct weir_attempt *list; /* in graph order */
	uint32_t cnt;
};

struct weir_coord_update {
	enum weir_coord_update_kind kind;
	uint32_t which; /* operator coordinator or hook */
	uint64_t id;	/* checkpoint */
	union {
		struct weir_request request; /* NEED_ID: what the id is for */
		struct {
			int64_t due_ms;
			bool periodic; /* else the expiry of .id */
		} timer;
		struct {
			bool savepoint;
			uint64_t target;   /* of the request, 0: configured */
			uint64_t location; /* DROP_LOCATION */
		} storage;
		struct {
			enum weir_request_kind kind; /* FULL also if a full one is forced */
			enum weir_alignment alignment;
			int64_t timeout_ms;
			int64_t timestamp_ms;
			uint64_t location;
			struct weir_coord_attempts to;
		} trigger;
		struct {
			uint64_t number;
			bool from_timer;
			enum weir_reason reason; /* NONE: ok, .id is the checkpoint */
		} promise;
		enum weir_ack_outcome ack_outcome;
		struct {
			enum weir_reason reason;
			bool has_task;
			struct weir_attempt task;
		} fail;
		struct {
			int64_t timestamp_ms;
			uint64_t subsumed; /* newest checkpoint dropped by this one, 0: none */
			struct weir_coord_attempts to;
		} complete;
		struct {
			uint64_t latest; /* newest completed checkpoint, 0: none */
			enum weir_reason reason;
			struct weir_coord_attempts to;
		} abort;
		struct {
			const uint64_t *list; /* no particular order; a file occurs once */
			uint32_t cnt;
			uint64_t location; /* DELETE */
		} files;
		struct {
			uint64_t event;
			struct weir_attempt to;
		} opevent;
		struct {
			struct weir_coord_attempts to;
			/* NULL if .id is 0; else weir_coordinator_snapshot(.id) */
			const struct weir_snapshot *snapshot;
		} restore;
		struct weir_hook_snapshot hook;
		struct weir_attempt task;
	};
};

struct weir_coord_updates {
	bool illegal; /* the event is impossible now; nothing changed, list is empty */
	const struct weir_coord_update *list; /* do them in this order; lives until the next step */
	uint32_t cnt;
};

/* ---- functions ------------------------------------------------------------------------------ */

/*
 * A coordinator of a job in state CREATED whose tasks are all CREATED, attempt 0. Everything in
 * *config is copied. Never NULL. The periodic timer starts when the job and all tasks run (C11).
 */
struct weir_coordinator *weir_coordinator_create(const struct weir_coordinator_config *config);
void weir_coordinator_destroy(struct weir_coordinator *c);

/* One event. now must not be earlier than at the step before. */
struct weir_coord_updates weir_coordinator_step(struct weir_coordinator *c,
						const struct weir_coord_event *event,
						int64_t now_ms) WEIR_MUST_USE;

/* When the next timer is due: call step with TICK then. INT64_MAX: none is armed. */
int64_t weir_coordinator_next_due(const struct weir_coordinator *c);

/*
 * What is known of checkpoint id (pending, being finalised, completed, savepoint); NULL: nothing.
 * Valid until the next step.
 */
const struct weir_snapshot *weir_coordinator_snapshot(struct weir_coordinator *c, uint64_t id);

/* Newest completed checkpoint, 0: none. */
uint64_t weir_coordinator_latest(const struct weir_coordinator *c);

#endif /* WEIR_ENGINE_CHECKPOINT_COORDINATOR_H */
