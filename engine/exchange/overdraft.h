#ifndef WEIR_ENGINE_EXCHANGE_OVERDRAFT_H
#define WEIR_ENGINE_EXCHANGE_OVERDRAFT_H

/*
 * weir_overdraft: what a producer still holds of one channel because its lanes had no room, and the
 * output side of checkpoints (T10, T13).
 *
 *   held      | d4 d5 tb6 d7 |  -> data lane      in order, when there is room
 *   first     | u8           |  -> priority lane  before held
 *
 * Who keeps a frame for an unaligned checkpoint is decided by where it is when the barrier leaves:
 * in the lane it is the consumer's, here it is the producer's, never both's. So an unaligned
 * barrier carries the number of the last frame in the lane, and the frames that it overtook here
 * stay here until the consumer has taken it.
 *
 * An aligned barrier that may time out is announced (T6) when it enters the lane, from where the
 * consumer can take it ahead. While it is held here its output capture is open: entering the lane
 * ends it empty; weir_overdraft_timeout sends the barrier ahead as an unaligned one and keeps the
 * frames before it.
 *
 * Threads:   the producer's core. Ownership: items belong to the producer while they are here.
 * Cost:      hot: with nothing held, one lane push and one look at the item's kind.
 * Limits:    WEIR_OVERDRAFT_HELD data items, WEIR_OVERDRAFT_FIRST priority items (asserted); a
 *            producer that keeps to weir_out_full stays far below. An announcement without room in
 *            the priority lane is dropped: the consumer then only has the passive timeout (T8).
 */

#include "engine/exchange/lane.h"

#define WEIR_OVERDRAFT_HELD  256u /* a power of two */
#define WEIR_OVERDRAFT_FIRST 64u

enum weir_output_capture {
	WEIR_OUTPUT_CAPTURED,	/* what was kept is all, perhaps nothing */
	WEIR_OUTPUT_ABORTED,	/* weir_overdraft_abort */
	WEIR_OUTPUT_RELEASED,	/* weir_overdraft_drop */
	WEIR_OUTPUT_CONCURRENT, /* another barrier that may time out came behind it */
};

struct weir_overdraft_config {
	struct weir_event *events; /* what the ref of an event item counts from; borrowed */
	/* A frame that the output capture of a checkpoint keeps, in order: take a reference. */
	void (*keep)(void *arg, uint64_t checkpoint, const struct weir_item *frame);
	/* The output capture of a checkpoint on this channel is decided. */
	void (*settled)(void *arg, uint64_t checkpoint, enum weir_output_capture how);
	void *arg;
};

struct weir_overdraft {
	struct weir_lane *data;
	struct weir_lane *priority; /* may be NULL: then everything keeps its order */
	struct weir_overdraft_config config;
	uint32_t lane_seq;    /* last frame that entered the data lane */
	bool overtaken;	      /* an unaligned barrier overtook held items */
	bool capturing;	      /* a barrier that may time out is held */
	uint32_t capture_ord; /* its number */
	uint64_t capture_id;
	uint32_t head, tail; /* free-running */
	uint32_t first_cnt;
	struct weir_item held[WEIR_OVERDRAFT_HELD];
	struct weir_item first[WEIR_OVERDRAFT_FIRST];
};

void weir_overdraft_init(struct weir_overdraft *o, struct weir_lane *data,
			 struct weir_lane *priority);

/* Without this, barriers keep their order and nothing is announced. Before anything is sent. */
void weir_overdraft_checkpoints(struct weir_overdraft *o,
				const struct weir_overdraft_config *config);

/* Out of line: something is held, or the item is an event. */
void weir_overdraft_send_slow(struct weir_overdraft *o, const struct weir_item *item);

/*
 * Send an item: seq as in lane.h but for unaligned barriers, where it is set here. The caller holds
 * one reference of an event for it.
 */
static inline void
weir_overdraft_send(struct weir_overdraft *o, const struct weir_item *item)
{
	/* Nothing enters the data lane ahead of a priority item that waits: the consumer would miss
	 * its number (T34). */
	if (WEIR_LIKELY(item->kind == WEIR_ITEM_DATA && ((o->head ^ o->tail) | o->first_cnt) == 0 &&
			weir_lane_push(o->data, item, 1) == 1))
		o->lane_seq = item->seq;
	else
		weir_overdraft_send_slow(o, item);
}

/* Offer held items to the lanes; true if none is left. */
bool weir_overdraft_flush(struct weir_overdraft *o);

/* The output timer of a checkpoint (T10): does nothing if its barrier is not held. */
void weir_overdraft_timeout(struct weir_overdraft *o, uint64_t checkpoint);

/* The checkpoint was aborted: its open output capture fails, its barrier goes on as aligned. */
void weir_overdraft_abort(struct weir_overdraft *o, uint64_t checkpoint);

/* Take back the oldest held item, after the job; false if none is left. */
bool weir_overdraft_drop(struct weir_overdraft *o, struct weir_item *item);

static inline uint32_t
weir_overdraft_cnt(const struct weir_overdraft *o)
{
	return o->tail - o->head + o->first_cnt;
}

/* The idx-th item held, priority items first; for who watches from outside. */
const struct weir_item *weir_overdraft_at(const struct weir_overdraft *o, uint32_t idx);

#endif /* WEIR_ENGINE_EXCHANGE_OVERDRAFT_H */
