#ifndef WEIR_ENGINE_CORE_TASK_H
#define WEIR_ENGINE_CORE_TASK_H

/*
 * weir_task: one subtask of a chain of operators: its inputs, its operators, its outputs, and its
 * side of every checkpoint. A task does one thing at a time, and in pieces where it takes long:
 *
 *   poll -> data -> chain -> emitters
 *        -> rows put off by operators: WORK_MORE, as a watermark (T27)
 *        -> watermark: WORK_WATERMARK, operator by operator, may take several turns, and a snapshot
 *           between two of them (T26)
 *        -> barrier: WORK_FLUSH (operators' pre-barrier hooks), then the snapshot, all in one turn
 *           (T22)
 *        -> all inputs ended: WORK_WATERMARK(end), WORK_END, then it waits for the final checkpoint
 *           (T28)
 *
 * While any work is under way, or an output holds items, or a sink has no room, inputs are not
 * polled.
 *
 * Threads:   its core's thread only; counters may be read by the control thread.
 * Ownership: built by engine/core/runtime.c; everything inside lives as long as the runtime.
 */

#include "engine/checkpoint/input.h"
#include "engine/core/capture.h"
#include "engine/core/mailbox.h"
#include "engine/exchange/recovered.h"
#include "engine/graph/plan.h"
#include "engine/operators/reader.h"
#include "engine/operators/text_sink.h"
#include "engine/time/watermark.h"

#define WEIR_TASK_EVENTS 64u
#define WEIR_TASK_ACKS	 4u
#define WEIR_TASK_ASKED	 8u /* triggers of the control thread that may wait */

struct weir_core;

enum weir_task_state {
	WEIR_TASK_CREATED,
	WEIR_TASK_RUNNING,
	WEIR_TASK_ENDING,  /* input has ended; last rows are on their way */
	WEIR_TASK_FINAL,   /* all rows are through: waits for a checkpoint to cover them */
	WEIR_TASK_CLOSING, /* covered: ends are on their way */
	WEIR_TASK_FINISHED,
	WEIR_TASK_FAILED,
};

enum weir_work {
	WEIR_WORK_NONE,
	WEIR_WORK_MORE,
	WEIR_WORK_WATERMARK,
	WEIR_WORK_FLUSH,
	WEIR_WORK_END
};

/* One channel of the task's input. */
struct weir_task_input {
	uint32_t edge;	   /* of the plan */
	uint32_t producer; /* subtask */
	const struct weir_layout *layout;
	uint32_t touched;  /* bit c: the head looks at column c of its frames */
	bool ended;	   /* end of data has come */
	bool is_virtual;   /* R3: it has no producer, only frames of an old channel */
	uint32_t stage;	   /* virtual: place in the order of restored frames */
	uint64_t last_seq; /* virtual: number of its last frame */
	struct weir_recovered *recovered; /* in front of its lane; NULL: nothing */
	struct weir_lane *real;		  /* recovered: the lane behind it; NULL: virtual */
	uint64_t processed; /* frames: k of the cut; counts from this attempt's start, like m */
};

/* One port of the task's, for what its overdraft says of checkpoints. */
struct weir_task_port {
	struct weir_task *task;
	uint32_t number; /* among all ports of the task */
	uint32_t chain_idx;
	const struct weir_layout *layout;
};

/* A frame in flight that the checkpoint holds. */
struct weir_ack_frame {
	bool output;
	uint32_t end; /* input channel, or port */
	uint32_t length;
	uint64_t seq;
	uint32_t segment; /* which of the subtask's CHANNEL segments of that side */
	uint64_t offset;  /* in it */
};

struct weir_ack_split {
	uint32_t idx;
	struct weir_position position;
};

/* All that a checkpoint keeps of a subtask, apart from its pages. Written by the core, read by the
 * control thread while busy is set, which clears it. */
struct weir_task_ack {
	_Atomic bool busy;
	uint64_t checkpoint;
	bool ended; /* the task had emitted everything */
	int64_t watermark_ns;
	uint32_t op_cnt;
	struct {
		int64_t watermark_ns;
		uint64_t rows_in, rows_out, truncated, dropped[WEIR_REASONS_MAX];
		struct weir_passed fired; /* T26; watermark_ns INT64_MIN: none */
	} op[WEIR_CHAIN_MAX];
	uint64_t source_rows, source_bytes;
	uint32_t *finished; /* splits; room for all */
	uint32_t finished_cnt;
	struct weir_ack_split *current; /* under way; room for one per reader */
	uint32_t current_cnt;
	struct weir_transaction pending[WEIR_TRANSACTIONS_MAX]; /* of the sink */
	uint32_t pending_cnt;
	uint64_t *processed; /* per input channel: k */
	int64_t *channel_watermark_ns;
	bool *channel_idle;
	uint64_t *produced; /* per output channel: m */
	/* Core clock: last barrier in; synchronous part over; durable. Alignment ended at
	 * aligned_ns. */
	int64_t aligned_ns, frozen_ns, posted_ns;
	int64_t alignment_ns;
	int64_t captured_ns; /* unaligned: last barrier in, what was kept is final; else 0 */
	uint64_t alignment_bytes;
	uint64_t persisted_bytes;
	struct weir_ack_frame *frames; /* in flight; each channel's in order */
	uint32_t frame_cnt;
	bool has_file; /* it has something in the core's data file */
};

struct weir_task {
	struct weir_operator_host host; /* first */
	struct weir_core *core;
	uint32_t number; /* among all subtasks of the job */
	uint32_t task_idx;
	uint32_t subtask;
	enum weir_task_state state;

	struct weir_operator_ctx *ctx[WEIR_CHAIN_MAX];
	uint32_t ctx_cnt;
	struct weir_readers *readers; /* NULL: not a source */
	struct weir_two_phase *sink;  /* of the last operator; NULL: it is none */
	struct weir_text_sink *text;  /* NULL: the sink is none of text */

	struct weir_input *input;
	struct weir_task_input *channels;
	uint32_t channel_cnt;
	uint32_t ended_cnt; /* channels whose data has ended */
	uint32_t over_cnt;  /* channels after which nothing comes */
	struct weir_watermarks watermarks;
	struct weir_burst burst; /* under way */
	uint32_t burst_at;

	struct weir_emitter *emitters; /* of all its operators */
	uint32_t emitter_cnt;
	uint32_t port_cnt;	   /* all of them */
	struct weir_event *events; /* WEIR_TASK_EVENTS; shared with all consumers */
	uint32_t event_base;	   /* number of events[0] in the shared table */
	uint32_t event_next;
	uint64_t cancel_owed; /* marker that waits for a slot; 0: none */

	const struct weir_plan_task *plan_task;
	struct weir_task_port *port; /* port_cnt of them; NULL: nothing overtakes */

	enum weir_work work;
	uint32_t work_op;
	int64_t work_watermark_ns;
	enum weir_work put_off; /* WORK_FLUSH: what goes on after it */
	uint32_t put_off_op;
	/* A snapshot is due: nothing is read until it is taken (T22), at once or when the end that
	 * is under way is through (T26). */
	bool triggered;
	struct weir_handler_update trigger;
	uint32_t asked_cnt; /* triggers of the control thread, until the work has ended */
	struct weir_mail asked[WEIR_TASK_ASKED];

	/* Its part of the checkpoint under way. */
	uint64_t snapshot; /* id; 0: none */
	/* Id of the last checkpoint with which it is through: it adds nothing more to the core's
	 * file. */
	uint64_t through;
	bool pages_out;	       /* all pages are handed over */
	bool input_open;       /* barriers are missing, and frames before them are kept (T11) */
	uint32_t outputs_open; /* ports whose capture is not settled (T10) */
	uint64_t done;	       /* id of the last unaligned checkpoint that had all its barriers */
	struct weir_handler_metrics done_metrics;
	int64_t done_ns;
	struct weir_capture capture[WEIR_CAPTURES];
	uint32_t capture_pause; /* frames kept at inputs above which no more are read meanwhile */
	bool capture_full;	/* it is so */
	uint64_t capture_lost;	/* id of a checkpoint that found no capture free */
	uint32_t slice_ctx, slice_state; /* next state to hand over */
	int64_t triggered_ns;		 /* core clock when the last barrier was in */
	struct weir_task_ack *ack;	 /* being filled */
	struct weir_task_ack acks[WEIR_TASK_ACKS];
	uint32_t ack_next;
	uint64_t final_snapshot; /* first snapshot that covers everything; 0: none yet */
	bool covered;		 /* it is complete: the task may close */
	uint64_t hold; /* the savepoint after whose snapshot it waits for its end (S4); 0: none */
	uint64_t over_below; /* lower ids are over, as far as it was told */
	bool precommit;	     /* checkpoints off: asked to make its output durable */
	bool precommit_said;
	bool end_said, finished_said;
	bool restored_ended; /* the snapshot that it came from had all rows through */
	int64_t idle_since_ns;
};

/* What a turn of a task was; the highest of all tasks is the core's. */
enum weir_regime {
	WEIR_REGIME_IDLE,
	WEIR_REGIME_BACK_PRESSURED,
	WEIR_REGIME_HOUSEKEEPING,
	WEIR_REGIME_SNAPSHOT,
	WEIR_REGIME_BUSY,
	WEIR_REGIME_CNT
};

/* Open the operators; the task is RUNNING after it. */
WEIR_MUST_USE int weir_task_start(struct weir_task *task);

/* One turn. rows: read from inputs or source. */
enum weir_regime weir_task_turn(struct weir_task *task, int64_t now_ns, uint64_t *rows);

/* A message of the control thread for this task. */
void weir_task_mail(struct weir_task *task, const struct weir_mail *mail, int64_t now_ns);

/* task_snapshot.c: take the snapshot of task->trigger and forward the barrier. False: not now, ask
 * again. */
bool weir_task_snapshot(struct weir_task *task);
/* task_snapshot.c: go on with the asynchronous part; acknowledges when all is durable. */
enum weir_regime weir_task_snapshot_step(struct weir_task *task);
/* task_snapshot.c: only hand over pages: for who waits for their memory, in the middle of a batch.
 */
void weir_task_snapshot_relieve(struct weir_task *task);
/* task_snapshot.c: give up the snapshot under way, and what it has in the core's file. */
void weir_task_snapshot_abandon(struct weir_task *task);
/* task_snapshot.c: the same, of the task alone; its states are thawed by the core. */
void weir_task_snapshot_drop(struct weir_task *task);

/* Send an event on every channel, behind everything emitted so far; an unaligned barrier overtakes
 * what is held, where the edge allows it. */
void weir_task_send_event(struct weir_task *task, enum weir_item_kind kind,
			  const struct weir_event *event);

/* task_capture.c: set-up, when inputs and outputs are there; arrays come from take. keep and arg of
 * the gate are given before, in weir_task_capture_gate. */
void weir_task_capture_gate(struct weir_task *task, struct weir_gate_config *gate);
void weir_task_capture_init(struct weir_task *task, const struct weir_plan *plan,
			    struct weir_event *events, void *(*take)(void *arg, size_t bytes),
			    void *arg);
void weir_task_capture_fini(struct weir_task *task);
/* Most frames that one checkpoint can hold of it. */
static inline uint32_t
weir_task_capture_max(const struct weir_task *task)
{
	return task->capture[0].cap;
}

/* task_snapshot.c: count what its states hold, for the report. On its core, or when no core runs.
 */
void weir_task_note_state(struct weir_task *task);

void weir_task_fail(struct weir_task *task, const struct weir_error *err);

#endif /* WEIR_ENGINE_CORE_TASK_H */
