#ifndef WEIR_ENGINE_EXCHANGE_GATE_H
#define WEIR_ENGINE_EXCHANGE_GATE_H

/*
 * weir_gate: the consumer's end of all input channels of one task.
 *
 * It hands out what the lanes hold, data in bursts and every event alone, and does with each
 * channel what only the consumer can do: check that nothing is missing and nothing came twice, stop
 * behind a barrier (T5), take an announced barrier ahead of the data before it (T7), and name the
 * frames that an unaligned checkpoint has to keep (T12).
 *
 *   closed behind number 7 (an aligned barrier was handed out):
 *
 *      data lane  | d8 d9 |----- stay in the ring; nothing is copied aside
 *      priority   | u10   |----- waits as well: its number is higher
 *
 *   A barrier taken ahead of its place leaves a mark on its number; when the data lane reaches that
 *   number, the item found there is dropped. The numbers of unaligned barriers, which the data lane
 *   never shows, are marked in the same way.
 *
 * Threads:   the task's core only.
 * Ownership: lanes and event slots are borrowed for the gate's life. A frame handed out belongs to
 *            the caller. Events are copied out and their slots released before a call returns.
 * Cost:      hot: an open channel with data in front costs one pop and one pass over at most
 *            WEIR_GATE_BURST descriptors. Closing, marks and captures take the longer way.
 * Memory:    all taken by weir_gate_create; a channel's look-ahead is WEIR_GATE_BURST descriptors.
 * Failure:   a channel whose numbers do not fit fails: nothing of it is handed out any more, and
 *            weir_gate_fault names it once.
 */

#include "engine/base/error.h"
#include "engine/exchange/lane.h"

#define WEIR_GATE_BURST	   8u
#define WEIR_GATE_WINDOW   1024u /* how far ahead of its place an item may be taken, in numbers */
#define WEIR_GATE_NO_EVENT UINT32_MAX /* ref of an event item without a slot */

struct weir_gate;

enum weir_gate_lane { WEIR_GATE_DATA, WEIR_GATE_PRIORITY, WEIR_GATE_MOVED };

struct weir_gate_channel {
	struct weir_lane *data;
	struct weir_lane *priority; /* NULL: this channel has none */
	struct weir_event *events;  /* what ref of its event items counts from */
	uint32_t next_ord;	    /* number of the first item; 0 for a new channel */
	uint32_t next_seq;	    /* number of the first frame; 1 for a new channel */
};

struct weir_gate_config {
	uint32_t channel_cnt; /* may be 0: a source */
	const struct weir_gate_channel *channels;
	/*
	 * Producers hold nothing back (no overdraft): behind an item of the priority lane
	 * everything before it must be there. Lets weir_gate_look find faults at the end of what is
	 * queued.
	 */
	bool complete;
	bool closing; /* aligned barriers close their channel; false for at-least-once (T18) */
	/*
	 * A frame that the running capture of its channel keeps, in order, each once, before it is
	 * handed out: take a reference. May be NULL if no capture is ever begun.
	 */
	void (*keep)(void *arg, uint64_t checkpoint, uint32_t channel,
		     const struct weir_item *frame);
	/*
	 * Optional order of hand-out: the gate offers the item with the smallest result, one item
	 * per call. NULL: round robin in bursts. For tests and models; ord names the item. It is
	 * asked about a MOVED item for the first time when that is moved.
	 */
	uint64_t (*arrival)(void *arg, uint32_t channel, enum weir_gate_lane lane, uint32_t ord);
	void *arg; /* of both */
};

/* A copy of what the event slot of an item said; all zero for an item without one. */
struct weir_gate_event {
	uint64_t checkpoint;
	int64_t stamp_ns;
	int64_t timeout_ns;
	uint32_t barrier; /* enum weir_barrier_kind */
	uint32_t flags;	  /* WEIR_EVENT_ bits */
};

/*
 * What one call handed out: cnt data frames of one channel, or one event. An event is alone.
 */
struct weir_burst {
	uint32_t channel;
	uint32_t cnt;
	bool is_event;
	bool closed; /* event: this barrier closed its channel */
	struct weir_gate_event event;
	struct weir_item items[WEIR_GATE_BURST];
};

struct weir_gate_fault {
	uint32_t channel;
	uint32_t want_ord, got_ord;
	uint32_t want_seq, got_seq;
};

/* Set-up: NULL and *err if memory is short. The channel array is copied. */
struct weir_gate *weir_gate_create(const struct weir_gate_config *config, struct weir_error *err);
void weir_gate_destroy(struct weir_gate *gate);

/*
 * Hand out up to max (at most WEIR_GATE_BURST) data frames of one channel, or one event of a data
 * lane; channels take turns. Returns burst->cnt, 0 if nothing may be handed out now.
 */
uint32_t weir_gate_poll(struct weir_gate *gate, struct weir_burst *burst, uint32_t max);

/* Hand out one event of a priority lane. Call until it returns 0 at the start of each turn. */
uint32_t weir_gate_poll_priority(struct weir_gate *gate, struct weir_burst *burst);

/*
 * Give back the last cnt frames of the burst that the latest call handed out, which the task could
 * not process; they are the next of their channel. They count as not handed out (T12).
 */
void weir_gate_put_back(struct weir_gate *gate, const struct weir_burst *burst, uint32_t cnt);

/* Open a channel. Idempotent. One that END_STATE closed stays closed until all are restored. */
void weir_gate_open(struct weir_gate *gate, uint32_t channel);

/* Open every channel but one (UINT32_MAX: all). */
void weir_gate_open_all(struct weir_gate *gate, uint32_t except);

/* Open the channels that END_STATE closed (R1), unless a barrier closed them too. */
void weir_gate_open_restored(struct weir_gate *gate);

/*
 * Close an open channel behind number ord and behind frame seq; such a channel opens by
 * weir_gate_open_held too.
 */
void weir_gate_hold(struct weir_gate *gate, uint32_t channel, uint32_t ord, uint32_t seq);
void weir_gate_open_held(struct weir_gate *gate);

/*
 * Take the announced barrier with number ord, behind frame seq, ahead of the data before it: it is
 * handed out by weir_gate_poll_priority. If it is out already or too far ahead, it stays where it
 * is.
 */
void weir_gate_move(struct weir_gate *gate, uint32_t channel, uint32_t ord, uint32_t seq,
		    const struct weir_gate_event *barrier);

/*
 * Begin to keep the frames of a channel that are not handed out yet, with numbers below the first
 * barrier of an id >= checkpoint. Follow with one of the three below: what is queued is kept then.
 */
void weir_gate_keep(struct weir_gate *gate, uint32_t channel, uint64_t checkpoint);

/* The channel's barrier is in: keep up to frame seq, the last one before it, then no more. */
void weir_gate_keep_until(struct weir_gate *gate, uint32_t channel, uint32_t seq);

/* Keep what is queued now, then no more (a trigger by the coordinator, T31). */
void weir_gate_keep_queued(struct weir_gate *gate, uint32_t channel);

/* Keep no more on any channel. */
void weir_gate_keep_stop(struct weir_gate *gate);

/* Check and, where a capture runs, keep what arrived since. Optional: poll does it as well. */
void weir_gate_look(struct weir_gate *gate, uint32_t channel);

/* Could a priority item of a checkpoint above the given one be handed out now? (T14) */
bool weir_gate_sees_newer(struct weir_gate *gate, uint64_t checkpoint);

/* 0, or the code of a channel that failed since the last call, with text and *fault filled. */
int weir_gate_fault(struct weir_gate *gate, struct weir_gate_fault *fault, struct weir_error *err);

/* From now on the channel's data comes from lane: the one before it has nothing left (R1), and
 * lane is not deeper. */
void weir_gate_replace(struct weir_gate *gate, uint32_t channel, struct weir_lane *lane);

/* The three below are for who watches from outside: tests, the simulator. */
bool weir_gate_is_closed(const struct weir_gate *gate, uint32_t channel);

/* Number of the last frame handed out (the k of checkpointing.md §0). */
uint32_t weir_gate_last_seq(const struct weir_gate *gate, uint32_t channel);

/* Items waiting on the data lane of a channel, look-ahead included. */
uint32_t weir_gate_queued(const struct weir_gate *gate, uint32_t channel);

#endif /* WEIR_ENGINE_EXCHANGE_GATE_H */
