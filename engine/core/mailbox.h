#ifndef WEIR_ENGINE_CORE_MAILBOX_H
#define WEIR_ENGINE_CORE_MAILBOX_H

/*
 * weir_mailbox: short messages between the control thread and one core, by value, one direction
 * each.
 *
 * Threads:   one writer, one reader. Cost: a copy of one line; no allocation, no system call.
 * Failure:   post returns false when WEIR_MAIL_DEPTH messages wait; the writer keeps the message
 * and tries again. A core that cannot post waits with the work that the message is about.
 */

#include "engine/base/base.h"

#define WEIR_MAIL_DEPTH 256u /* a power of two */

enum weir_mail_kind {
	/* control to core; task: number of the subtask */
	WEIR_MAIL_TRIGGER,   /* id, stamp_ns, barrier, timeout_ns: inject the barrier (C16) */
	WEIR_MAIL_COMPLETE,  /* id: the checkpoint is durable: commit everything up to it (R7) */
	WEIR_MAIL_ABORT,     /* id: give it up, and remember it (T20) */
	WEIR_MAIL_SPLIT,     /* ptr: struct weir_split_given, owned by the enumerator for the run */
	WEIR_MAIL_HOLD,	     /* stamp_ns: unread splits hold the watermark here */
	WEIR_MAIL_NO_MORE,   /* no further split will come */
	WEIR_MAIL_PRECOMMIT, /* checkpoints off: the job's input has ended (T35) */
	WEIR_MAIL_COMMIT,    /* checkpoints off: all sinks are ready */
	WEIR_MAIL_SETTLE,    /* the job is over: give up the file under way, begin none, finish
				commits that were told of; task is not looked at */
	WEIR_MAIL_STOP, /* the core's turn function reports that it is done; task is not looked at
			 */

	/* core to control */
	WEIR_MAIL_RUNNING,    /* task */
	WEIR_MAIL_WANT_SPLIT, /* task */
	WEIR_MAIL_BARRIER,    /* task (of a source), id: its barrier is out (K14) */
	WEIR_MAIL_FILE,	      /* id, ptr: struct weir_core_file; before the acks that need it */
	WEIR_MAIL_FILE_LEFT,  /* id, flags: number of the core: its file of it was given up, and may
				 be  there in part */
	WEIR_MAIL_SETTLED,    /* no file and no commit of the core is under way, and no file will
				 be */
	WEIR_MAIL_ACK,	      /* task, id, ptr: struct weir_task_ack */
	WEIR_MAIL_DECLINE,    /* task, id, flags: enum weir_handler_reason */
	WEIR_MAIL_SNAPSHOT_FAILED, /* task, id, ptr: struct weir_error, until the next message */
	WEIR_MAIL_END_OF_DATA,	   /* task: all rows are through, it waits for the final checkpoint
				      (T28) */
	WEIR_MAIL_PRECOMMITTED,	   /* task */
	WEIR_MAIL_FINISHED,	   /* task */
	WEIR_MAIL_FAILED,	   /* task, ptr: struct weir_error */
	WEIR_MAIL_WARNING,	   /* ptr: text; stands until the run ends */
};

/* flags of a DECLINE, besides enum weir_handler_reason: the task is through. */
#define WEIR_MAIL_DECLINE_CLOSING UINT32_MAX
/* The same: frames in flight that it had to keep are not all kept. */
#define WEIR_MAIL_DECLINE_CAPTURE (UINT32_MAX - 1)

struct weir_mail {
	uint32_t kind; /* enum weir_mail_kind */
	uint32_t task;
	uint64_t id;
	int64_t stamp_ns;
	void *ptr;
	uint32_t flags;
	uint32_t barrier;   /* TRIGGER: enum weir_barrier_kind */
	int64_t timeout_ns; /* TRIGGER of a TIMEOUTABLE: from the stamp */
	/* TRIGGER, COMPLETE, ABORT, PRECOMMIT, COMMIT: lower ids are over, whatever was said of
	 * them before; what a lost message leaves behind goes with the next. */
	uint64_t over_below;
	uint32_t reserved[2];
};
_Static_assert(sizeof(struct weir_mail) == 64, "a message is one line");

struct weir_mailbox {
	alignas(WEIR_LINE_PAIR) _Atomic uint32_t tail; /* writer's */
	alignas(WEIR_LINE_PAIR) _Atomic uint32_t head; /* reader's */
	alignas(WEIR_LINE_PAIR) struct weir_mail mail[WEIR_MAIL_DEPTH];
};

static inline WEIR_MUST_USE bool
weir_mailbox_post(struct weir_mailbox *box, const struct weir_mail *mail)
{
	const uint32_t tail = atomic_load_explicit(&box->tail, memory_order_relaxed);
	/* P1: pairs with C2; the reader has copied the message that is overwritten below. */
	const uint32_t head = atomic_load_explicit(&box->head, memory_order_acquire);

	if (tail - head == WEIR_MAIL_DEPTH)
		return false;
	box->mail[tail & (WEIR_MAIL_DEPTH - 1)] = *mail;
	/* P2: pairs with C1; publishes the message and what it points to. */
	atomic_store_explicit(&box->tail, tail + 1, memory_order_release);
	return true;
}

static inline WEIR_MUST_USE bool
weir_mailbox_take(struct weir_mailbox *box, struct weir_mail *mail)
{
	const uint32_t head = atomic_load_explicit(&box->head, memory_order_relaxed);
	/* C1: pairs with P2; the message and what it points to are written. */
	const uint32_t tail = atomic_load_explicit(&box->tail, memory_order_acquire);

	if (head == tail)
		return false;
	*mail = box->mail[head & (WEIR_MAIL_DEPTH - 1)];
	/* C2: pairs with P1; the message is copied. */
	atomic_store_explicit(&box->head, head + 1, memory_order_release);
	return true;
}

#endif /* WEIR_ENGINE_CORE_MAILBOX_H */
