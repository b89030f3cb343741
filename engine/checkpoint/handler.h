#ifndef WEIR_ENGINE_CHECKPOINT_HANDLER_H
#define WEIR_ENGINE_CHECKPOINT_HANDLER_H

/*
 * weir_handler: how one task reacts to barriers (checkpointing.md §4, T1 to T21, T31 to T33).
 *
 * A pure state machine: weir_handler_step(handler, event) changes the state and leaves a list of
 * updates. Some updates steer the gate, the others concern the task; engine/checkpoint/input.h
 * carries out the former and hands on the latter, and is what a task uses.
 *
 *   barriers, announcements,           +---------+   OPEN HOLD MOVE KEEP ...      -> gate
 *   cancel markers, ends        -----> | handler | -----------------------------
 *   coordinator's triggers, notices,   +---------+   TRIGGER ABORT SUPPRESS DONE  -> task
 *   timers                                  ^
 *                                           +---- START / event STARTED or REFUSED (T14)
 *
 * Modes: exactly-once is one machine; without unaligned barriers it never leaves the aligned part
 * (T1). The at-least-once tracker is its own.
 *
 * Threads:   the task's core only.
 * Ownership: updates belong to the handler and are valid until the next step.
 * Cost:      warm: per event, at most linear in channels (rule 12) or in tracked ids (T18).
 * Memory:    all taken by weir_handler_create.
 * Units:     checkpoint ids 64 bit, times signed 64-bit ns of one clock (T7).
 */

#include "engine/base/error.h"
#include "engine/exchange/lane.h"

#define WEIR_HANDLER_TRACKED_MAX  50u  /* T18 */
#define WEIR_HANDLER_REMEMBER	  128u /* T20, default */
#define WEIR_HANDLER_UPDATES_MAX  64u
#define WEIR_HANDLER_CHANNEL_NONE UINT32_MAX
#define WEIR_HANDLER_NEVER_NS	  INT64_MAX /* no timer is due; a timeout that never comes */

enum weir_handler_mode { WEIR_HANDLER_EXACTLY_ONCE, WEIR_HANDLER_AT_LEAST_ONCE };

struct weir_handler_config {
	enum weir_handler_mode mode;
	uint32_t channel_cnt;
	const bool *forced;	 /* T33: forced-aligned channels; NULL: none; copied */
	const bool *virtuals;	 /* R3: channels without a producer; NULL: none; copied */
	uint32_t remember_max;	 /* T20: abort notices kept; 0: WEIR_HANDLER_REMEMBER */
	bool finished_tasks_off; /* T16: the end of a channel aborts instead of counting */
	bool output_timer;	 /* T10: report OUTPUT_TIMEOUT */
};

enum weir_handler_event_kind {
	WEIR_HANDLER_BARRIER,	/* handed out by the gate */
	WEIR_HANDLER_ANNOUNCE,	/* the same; id, ord, stamp, timeout */
	WEIR_HANDLER_CANCEL,	/* the same; id */
	WEIR_HANDLER_END,	/* the same */
	WEIR_HANDLER_END_STATE, /* the same */
	WEIR_HANDLER_RPC,	/* coordinator's trigger; as BARRIER, without a channel (T31) */
	WEIR_HANDLER_NOTICE,	/* coordinator aborted id (T20) */
	WEIR_HANDLER_TIMER,	/* weir_handler_due is not above now: run one timer */
	WEIR_HANDLER_STARTED,	/* answers START: the capture may begin */
	WEIR_HANDLER_REFUSED,	/* answers START: an input shows a newer barrier (T14) */
	WEIR_HANDLER_CLOSE,	/* the task closes */
};

struct weir_handler_event {
	enum weir_handler_event_kind kind;
	uint32_t channel;
	uint32_t ord;	  /* number of the item; ANNOUNCE: of the barrier */
	uint32_t seq;	  /* of the last frame before it */
	uint32_t barrier; /* enum weir_barrier_kind */
	uint32_t flags;	  /* WEIR_EVENT_ bits, passed on with TRIGGER */
	bool closed;	  /* BARRIER: it closed its channel */
	uint64_t id;
	int64_t stamp_ns;
	int64_t timeout_ns; /* TIMEOUTABLE; WEIR_HANDLER_NEVER_NS: never */
	int64_t now_ns;
};

enum weir_handler_reason {
	WEIR_ABORT_SUBSUMED,	      /* DECLINED_SUBSUMED: a newer id came (T4) */
	WEIR_ABORT_CANCELLED,	      /* DECLINED_ON_CANCELLATION_BARRIER (T15) */
	WEIR_ABORT_INPUT_END,	      /* DECLINED_INPUT_END_OF_STREAM (T16) */
	WEIR_ABORT_SUBSUMED_AT_START, /* SUBSUMED: T14 */
};

enum weir_handler_update_kind {
	/* For the task. */
	WEIR_UPDATE_TRIGGER,	    /* take the snapshot, forward the barrier, acknowledge (T22) */
	WEIR_UPDATE_DONE,	    /* unaligned: last input in, what was kept is final */
	WEIR_UPDATE_ABORT,	    /* decline with reason, one cancel marker downstream (T19) */
	WEIR_UPDATE_DISCARD,	    /* give up what the id kept; no acknowledgement */
	WEIR_UPDATE_SUPPRESS,	    /* no snapshot; one cancel marker downstream (T20) */
	WEIR_UPDATE_OVER,	    /* a suppressed or discarded unaligned id has run out */
	WEIR_UPDATE_RECOVERED,	    /* all channels handed out their restored frames */
	WEIR_UPDATE_OUTPUT_TIMEOUT, /* T10: overtake in the output queues */
	WEIR_UPDATE_FAULT,	    /* by input.h: the channel failed */
	/* For the gate. */
	WEIR_UPDATE_OPEN,      /* one channel */
	WEIR_UPDATE_OPEN_ALL,  /* every channel but one (CHANNEL_NONE: all) */
	WEIR_UPDATE_OPEN_HELD, /* those closed by HOLD */
	WEIR_UPDATE_HOLD,      /* close the channel behind ord and seq (T33) */
	WEIR_UPDATE_MOVE,      /* take announced barriers ahead: weir_handler_announced */
	WEIR_UPDATE_START,     /* last of a list: answer STARTED or REFUSED before anything else */
	WEIR_UPDATE_KEEP,      /* begin the capture of id on channels: weir_handler_keeps */
	WEIR_UPDATE_KEEP_END,  /* the channel's barrier, behind frame seq, is in */
	WEIR_UPDATE_KEEP_QUEUED, /* synthetic barriers came: weir_handler_keeps */
	WEIR_UPDATE_KEEP_STOP,	 /* on all channels */
};

/* T17, K16: how an alignment went. */
struct weir_handler_metrics {
	bool known;	  /* false while inputs are missing: only delay is set */
	int64_t align_ns; /* first to last input */
	int64_t delay_ns; /* trigger time to first input */
	uint64_t bytes;	  /* data handed out between first and last input */
};

struct weir_handler_update {
	enum weir_handler_update_kind kind;
	enum weir_handler_reason reason; /* ABORT */
	bool unaligned;			 /* TRIGGER: forward on the priority lane */
	uint32_t channel;
	uint32_t ord;	  /* HOLD */
	uint32_t seq;	  /* HOLD, KEEP_END: last frame before the barrier */
	uint32_t barrier; /* TRIGGER: kind to forward; enum weir_barrier_kind */
	uint32_t flags;	  /* TRIGGER: WEIR_EVENT_ bits of the barrier */
	uint64_t id;
	int64_t stamp_ns;		     /* TRIGGER, MOVE */
	int64_t timeout_ns;		     /* TRIGGER, MOVE */
	struct weir_handler_metrics metrics; /* TRIGGER, DONE, OVER */
};

struct weir_handler;

struct weir_handler_updates {
	const struct weir_handler_update *list;
	uint32_t cnt;
};

/* Set-up: NULL and *err if memory is short. */
struct weir_handler *weir_handler_create(const struct weir_handler_config *config,
					 struct weir_error *err);
void weir_handler_destroy(struct weir_handler *handler);

struct weir_handler_updates weir_handler_step(struct weir_handler *handler,
					      const struct weir_handler_event *event);

/* When the next timer is due; WEIR_HANDLER_NEVER_NS if none. Send TIMER from then on. */
int64_t weir_handler_due(const struct weir_handler *handler);

/* Count data handed out; cheap, and nothing while no alignment runs. */
void weir_handler_count(struct weir_handler *handler, uint64_t bytes);

/* Answer to MOVE: is a barrier of the current id announced and not out on this channel? */
bool weir_handler_announced(const struct weir_handler *handler, uint32_t channel, uint32_t *ord,
			    uint32_t *seq);

enum weir_handler_keep {
	WEIR_KEEP_NOTHING, /* forced or ended */
	WEIR_KEEP_OPEN,	   /* until its barrier comes */
	WEIR_KEEP_UNTIL,   /* up to frame *seq: its barrier is in */
	WEIR_KEEP_QUEUED,  /* what is queued now: its barrier is synthetic (T31) */
};

/* Answer to KEEP: what of this channel belongs to the capture? */
enum weir_handler_keep weir_handler_keeps(const struct weir_handler *handler, uint32_t channel,
					  uint32_t *seq);

const char *weir_handler_reason_text(enum weir_handler_reason reason);

/* What a report or a test may look at. */
struct weir_handler_view {
	bool has_latest;
	bool aligning; /* the alignment clock runs */
	bool capturing;
	uint64_t latest;	 /* current id */
	uint32_t open_cnt;	 /* channels without end */
	uint32_t remembered_cnt; /* abort notices */
	uint32_t pending_cnt;
	uint64_t pending[WEIR_HANDLER_TRACKED_MAX]; /* ascending */
	uint32_t missing_cnt; /* inputs that the newest pending id still waits for */
};
void weir_handler_look(const struct weir_handler *handler, struct weir_handler_view *view);

#endif /* WEIR_ENGINE_CHECKPOINT_HANDLER_H */
