#ifndef WEIR_ENGINE_EXCHANGE_GATE_PRIV_H
#define WEIR_ENGINE_EXCHANGE_GATE_PRIV_H

/*
 * Layout of a gate, and what its files share:
 *
 *   gate.c           set-up, faults, which channels are open
 *   gate_data.c      the data lanes: the hot path
 *   gate_priority.c  the priority lanes, and barriers taken ahead of their place
 *   gate_event.c     an event's slot and its effect on the channel
 *   gate_keep.c      what an unaligned checkpoint keeps; the check of what is queued
 *
 * Whatever makes a channel differ from an open one with an empty look-ahead is a bit of its state,
 * so that the hot path asks once. Numbers of items and frames wrap: compare by signed difference.
 *
 * Threads: as the gate's. Nothing here allocates but weir_gate_create.
 */

#include "engine/exchange/gate.h"

#define MOVED_MAX 4u /* announced barriers taken ahead and not handed out yet, per channel */

/* Why a channel takes the longer way; none of these: it is open and its look-ahead is empty. */
enum {
	CH_CLOSED = 1u << 0, /* nothing above closed_ord is handed out */
	CH_HELD = 1u << 1,   /* closed by weir_gate_hold */
	CH_FAILED = 1u << 2,
	CH_ENDED = 1u << 3,
	CH_AHEAD = 1u << 4,    /* ahead holds items */
	CH_MARKS = 1u << 5,    /* marks are set */
	CH_KEEP = 1u << 6,     /* a capture runs */
	CH_LIMIT = 1u << 7,    /* keep_last is known */
	CH_RESTORED = 1u << 8, /* closed by END_STATE */
	CH_BEHIND = 1u << 9,   /* CH_RESTORED: a barrier closed it too, at behind_ord */
};

struct moved {
	uint32_t ord;
	uint32_t seq; /* of the last frame before it */
	struct weir_gate_event event;
};

struct channel {
	struct weir_lane *data;
	struct weir_lane *priority;
	struct weir_event *events;
	uint32_t state;	   /* CH_ bits */
	uint32_t next_ord; /* number of the next item of the data lane, marks aside */
	uint32_t next_seq;
	uint32_t closed_ord;
	uint32_t behind_ord;
	uint32_t held_seq; /* CH_HELD: frames above it are not handed out either */
	uint32_t ahead_head;
	uint32_t ahead_cnt;
	uint32_t mark_cnt;
	uint32_t moved_cnt;
	uint32_t keep_next; /* frames below it were kept or handed out */
	uint32_t keep_last; /* CH_LIMIT: frames above it are not kept */
	uint64_t keep_id;
	struct weir_item ahead[WEIR_GATE_BURST];
	struct moved moved[MOVED_MAX];
	uint64_t marks[WEIR_GATE_WINDOW / 64];
	struct weir_gate_fault fault;
};

struct weir_gate {
	struct channel *channels;
	uint32_t channel_cnt;
	uint32_t cursor;	  /* whose turn it is, data lanes */
	uint32_t priority_cursor; /* the same, priority lanes */
	uint32_t fault_cnt;	  /* faults not reported yet */
	bool closing;
	bool complete;
	void (*keep)(void *arg, uint64_t checkpoint, uint32_t channel,
		     const struct weir_item *frame);
	uint64_t (*arrival)(void *arg, uint32_t channel, enum weir_gate_lane lane, uint32_t ord);
	void *arg;
	struct weir_item *scratch;	    /* one data lane, seen from the front */
	struct weir_item *priority_scratch; /* one priority lane */
};

/* Is number a below number b? Of items or of frames. */
static inline bool
below(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* Does the channel's closing keep back an item of this number? */
static inline bool
beyond(const struct channel *ch, uint32_t ord)
{
	return (ch->state & CH_CLOSED) != 0 && below(ch->closed_ord, ord);
}

static inline bool
marked(const struct channel *ch, uint32_t ord)
{
	return (ch->marks[(ord % WEIR_GATE_WINDOW) / 64] >> (ord % 64) & 1u) != 0;
}

/* The data lane has to step over this number: its item was, or will be, handed out ahead of it. */
static inline void
mark_set(struct channel *ch, uint32_t ord)
{
	WEIR_ASSERT(ord - ch->next_ord < WEIR_GATE_WINDOW);
	WEIR_ASSERT(!marked(ch, ord));
	ch->marks[(ord % WEIR_GATE_WINDOW) / 64] |= 1ull << (ord % 64);
	ch->mark_cnt++;
	ch->state |= CH_MARKS;
}

static inline void
mark_clear(struct channel *ch, uint32_t ord)
{
	ch->marks[(ord % WEIR_GATE_WINDOW) / 64] &= ~(1ull << (ord % 64));
	ch->mark_cnt--;
	if (ch->mark_cnt == 0)
		ch->state &= ~(uint32_t)CH_MARKS;
}

/* The channel hands out nothing more; weir_gate_fault tells what was found instead. Idempotent. */
void weir_gate_fail_channel(struct weir_gate *gate, struct channel *ch, uint32_t got_ord,
			    uint32_t got_seq);

/* Copy an event out and give its slot back; all zero if the item has none. Once per item. */
struct weir_gate_event weir_gate_event_take(const struct channel *ch, const struct weir_item *item);

/* Make the event the burst. It closes or ends the channel here, if it is one that does. */
void weir_gate_event_hand(const struct weir_gate *gate, struct channel *ch,
			  struct weir_burst *burst, const struct weir_item *item,
			  const struct weir_gate_event *event);

/* The data lane has reached the barrier's place: it is not offered ahead of it any more. */
void weir_gate_moved_forget(struct channel *ch, uint32_t ord);

/* Let an unaligned barrier that waits in the priority lane bound the running capture. */
void weir_gate_keep_bound(struct weir_gate *gate, struct channel *ch);

/* Pass a frame to the keep function if the running capture wants it. */
void weir_gate_keep_frame(struct weir_gate *gate, struct channel *ch,
			  const struct weir_item *frame);

#endif /* WEIR_ENGINE_EXCHANGE_GATE_PRIV_H */
