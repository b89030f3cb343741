#include "engine/exchange/gate.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/plant.h"
#include "engine/exchange/gate_priv.h"

/* Set-up. */

static uint32_t
depth_max(const struct weir_gate_config *config, bool priority)
{
	uint32_t max = 1;

	for (uint32_t c = 0; c < config->channel_cnt; c++) {
		const struct weir_gate_channel *ch = &config->channels[c];
		const struct weir_lane *lane = priority ? ch->priority : ch->data;

		if (lane != NULL && lane->depth > max)
			max = lane->depth;
	}
	return max;
}

static void
channel_init(struct channel *ch, const struct weir_gate_channel *from)
{
	WEIR_ASSERT(from->data != NULL);
	ch->data = from->data;
	ch->priority = from->priority;
	ch->events = from->events;
	ch->next_ord = from->next_ord;
	ch->next_seq = from->next_seq;
}

struct weir_gate *
weir_gate_create(const struct weir_gate_config *config, struct weir_error *err)
{
	const uint32_t cnt = config->channel_cnt;
	struct weir_gate *gate = calloc(1, sizeof(*gate));

	if (gate == NULL)
		goto short_of_memory;
	gate->channels = calloc(cnt > 0 ? cnt : 1, sizeof(*gate->channels));
	gate->scratch = calloc(depth_max(config, false), sizeof(*gate->scratch));
	gate->priority_scratch = calloc(depth_max(config, true), sizeof(*gate->priority_scratch));
	if (gate->channels == NULL || gate->scratch == NULL || gate->priority_scratch == NULL)
		goto short_of_memory;
	for (uint32_t c = 0; c < cnt; c++)
		channel_init(&gate->channels[c], &config->channels[c]);
	gate->channel_cnt = cnt;
	gate->closing = config->closing;
	gate->complete = config->complete;
	gate->keep = config->keep;
	gate->arrival = config->arrival;
	gate->arg = config->arg;
	return gate;

short_of_memory:
	weir_gate_destroy(gate);
	weir_fail(err, WEIR_ERR_UNAVAILABLE, "no memory for a gate of %u channels", cnt);
	return NULL;
}

void
weir_gate_destroy(struct weir_gate *gate)
{
	if (gate == NULL)
		return;
	free(gate->priority_scratch);
	free(gate->scratch);
	free(gate->channels);
	free(gate);
}

/* Numbers: marks and faults. */

static void
mark_set(struct channel *ch, uint32_t ord)
{
	WEIR_ASSERT(ord - ch->next_ord < WEIR_GATE_WINDOW);
	WEIR_ASSERT(!marked(ch, ord));
	ch->marks[(ord % WEIR_GATE_WINDOW) / 64] |= 1ull << (ord % 64);
	ch->mark_cnt++;
	ch->state |= CH_MARKS;
}

static void
mark_clear(struct channel *ch, uint32_t ord)
{
	ch->marks[(ord % WEIR_GATE_WINDOW) / 64] &= ~(1ull << (ord % 64));
	ch->mark_cnt--;
	if (ch->mark_cnt == 0)
		ch->state &= ~(uint32_t)CH_MARKS;
}

void
weir_gate_fail_channel(struct weir_gate *gate, struct channel *ch, uint32_t got_ord,
		       uint32_t got_seq)
{
	if (ch->state & CH_FAILED)
		return;
	ch->state |= CH_FAILED;
	ch->fault = (struct weir_gate_fault){
		.channel = (uint32_t)(ch - gate->channels),
		.want_ord = ch->next_ord,
		.got_ord = got_ord,
		.want_seq = ch->next_seq,
		.got_seq = got_seq,
	};
	gate->fault_cnt++;
}

int
weir_gate_fault(struct weir_gate *gate, struct weir_gate_fault *fault, struct weir_error *err)
{
	if (WEIR_LIKELY(gate->fault_cnt == 0))
		return 0;
	for (uint32_t c = 0; c < gate->channel_cnt; c++) {
		struct weir_gate_fault *f = &gate->channels[c].fault;

		if (!(gate->channels[c].state & CH_FAILED) || f->channel == UINT32_MAX)
			continue;
		*fault = *f;
		f->channel = UINT32_MAX; /* reported */
		gate->fault_cnt--;
		return weir_fail(err, WEIR_ERR_FAILED,
				 "input channel %u: items are missing or came twice: expected item "
				 "%u after frame %u, got item %u with frame number %u",
				 c, fault->want_ord, fault->want_seq - 1, fault->got_ord,
				 fault->got_seq);
	}
	return 0;
}

/* Events: copied out, their slots given back. */

static struct weir_gate_event
event_take(const struct channel *ch, const struct weir_item *item)
{
	struct weir_gate_event copy = { 0 };
	struct weir_event *slot;

	if (item->ref == WEIR_GATE_NO_EVENT || ch->events == NULL)
		return copy;
	slot = &ch->events[item->ref];
	copy.checkpoint = slot->checkpoint;
	copy.stamp_ns = slot->stamp_ns;
	copy.timeout_ns = slot->timeout_ns;
	copy.barrier = slot->barrier;
	copy.flags = slot->flags;
	/* G1: pairs with E1; the slot has been read and may be written again. */
	atomic_fetch_sub_explicit(&slot->refs, 1, memory_order_release);
	return copy;
}

/*
 * R1: what was restored ends here. A barrier that overtook it and closed the channel further behind
 * goes on doing so.
 */
static void
restored_close(struct channel *ch, uint32_t ord)
{
	if (ch->state & CH_CLOSED) {
		ch->state |= CH_BEHIND;
		ch->behind_ord = ch->closed_ord;
	}
	ch->state |= CH_CLOSED | CH_RESTORED;
	ch->closed_ord = ord;
}

/* T5: an aligned barrier closes its channel before anyone looks at it, unless it is closed. */
static void
event_close(const struct weir_gate *gate, struct channel *ch, struct weir_burst *burst)
{
	const struct weir_item *item = &burst->items[0];
	const bool aligned = item->kind == WEIR_ITEM_BARRIER && gate->closing &&
			     burst->event.barrier != WEIR_BARRIER_UNALIGNED;

	burst->closed = false;
	if (item->kind == WEIR_ITEM_END_STATE)
		restored_close(ch, item->ord);
	if (!aligned || (ch->state & CH_CLOSED) || WEIR_PLANT(BARRIER_OPEN))
		return;
	ch->state |= CH_CLOSED;
	ch->closed_ord = item->ord;
	burst->closed = true;
}

static void
hand_event(const struct weir_gate *gate, struct channel *ch, struct weir_burst *burst,
	   const struct weir_item *item, const struct weir_gate_event *event)
{
	burst->channel = (uint32_t)(ch - gate->channels);
	burst->cnt = 1;
	burst->is_event = true;
	burst->items[0] = *item;
	burst->event = *event;
	event_close(gate, ch, burst);
	if (item->kind == WEIR_ITEM_END)
		ch->state |= CH_ENDED;
}

/* The data lane. */

static void
front_consume(struct channel *ch)
{
	ch->next_ord++;
	ch->ahead_head++;
	ch->ahead_cnt--;
	if (ch->ahead_cnt == 0)
		ch->state &= ~(uint32_t)CH_AHEAD;
}

static bool
front_refill(struct channel *ch)
{
	uint32_t max = WEIR_GATE_BURST;

	/* What is behind a barrier stays in the ring. */
	if ((ch->state & CH_CLOSED) && ch->closed_ord - ch->next_ord + 1 < max)
		max = ch->closed_ord - ch->next_ord + 1;
	ch->ahead_head = 0;
	ch->ahead_cnt = weir_lane_pop(ch->data, ch->ahead, max);
	if (ch->ahead_cnt > 0)
		ch->state |= CH_AHEAD;
	return ch->ahead_cnt > 0;
}

/* Is the missing number that of an unaligned barrier still in the priority lane? */
static bool
waits_in_priority(const struct weir_gate *gate, const struct channel *ch, uint32_t ord)
{
	struct weir_item *items = gate->priority_scratch;
	uint32_t cnt;

	if (ch->priority == NULL)
		return false;
	cnt = weir_lane_peek(ch->priority, items, ch->priority->depth);
	for (uint32_t i = 0; i < cnt; i++)
		if (items[i].kind == WEIR_ITEM_BARRIER && items[i].ord == ord)
			return true;
	return false;
}

/* The front item was taken ahead of its place: it may only be a barrier. */
static bool
front_drop_taken(struct weir_gate *gate, struct channel *ch, const struct weir_item *item)
{
	if (item->kind != WEIR_ITEM_BARRIER) {
		weir_gate_fail_channel(gate, ch, item->ord, item->seq);
		return false;
	}
	event_take(ch, item);
	mark_clear(ch, item->ord);
	front_consume(ch);
	return true;
}

static bool
seq_fits(const struct channel *ch, const struct weir_item *item)
{
	return item->seq == (item->kind == WEIR_ITEM_DATA ? ch->next_seq : ch->next_seq - 1);
}

/*
 * The item of the data lane that may be handed out next, in the look-ahead, or NULL; the look-ahead
 * is refilled only if asked to. A number that is neither there nor marked nor waiting in the
 * priority lane fails the channel. (The producer pushed an unaligned barrier before the frames
 * behind it, so whoever sees those sees it too.)
 */
static const struct weir_item *
front(struct weir_gate *gate, struct channel *ch, bool refill)
{
	while (!(ch->state & (CH_FAILED | CH_ENDED)) && !beyond(ch, ch->next_ord) &&
	       (ch->ahead_cnt > 0 || (refill && front_refill(ch)))) {
		const struct weir_item *item = &ch->ahead[ch->ahead_head];

		while (item->ord != ch->next_ord && ch->mark_cnt > 0 && marked(ch, ch->next_ord)) {
			mark_clear(ch, ch->next_ord);
			ch->next_ord++;
		}
		if (beyond(ch, item->ord))
			return NULL;
		if (item->ord != ch->next_ord) {
			if (!waits_in_priority(gate, ch, ch->next_ord))
				weir_gate_fail_channel(gate, ch, item->ord, item->seq);
			return NULL;
		}
		if (ch->mark_cnt > 0 && marked(ch, item->ord)) {
			if (!front_drop_taken(gate, ch, item))
				return NULL;
			continue;
		}
		if (!seq_fits(ch, item)) {
			weir_gate_fail_channel(gate, ch, item->ord, item->seq);
			return NULL;
		}
		/* T33: what the producer held when it sent the barrier, it has kept itself. */
		if ((ch->state & CH_HELD) && item->kind == WEIR_ITEM_DATA &&
		    below(ch->held_seq, item->seq))
			return NULL;
		return item;
	}
	return NULL;
}

/* A barrier reached in its place is no longer waiting to be taken ahead. */
static void
moved_remove(struct channel *ch, uint32_t idx)
{
	ch->moved_cnt--;
	memmove(&ch->moved[idx], &ch->moved[idx + 1], (ch->moved_cnt - idx) * sizeof(*ch->moved));
}

static void
moved_forget(struct channel *ch, uint32_t ord)
{
	for (uint32_t i = 0; i < ch->moved_cnt; i++)
		if (ch->moved[i].ord == ord) {
			moved_remove(ch, i);
			return;
		}
}

static void
front_event(const struct weir_gate *gate, struct channel *ch, struct weir_burst *burst,
	    const struct weir_item *front_item)
{
	const struct weir_item item = *front_item;
	const struct weir_gate_event event = event_take(ch, &item);

	moved_forget(ch, item.ord);
	front_consume(ch);
	hand_event(gate, ch, burst, &item, &event);
}

/* The barrier that bounds the capture may have come since the last look. */
static void
keep_front(struct weir_gate *gate, struct channel *ch, const struct weir_item *frame)
{
	if (!(ch->state & CH_LIMIT))
		weir_gate_keep_bound(gate, ch);
	weir_gate_keep_frame(gate, ch, frame);
}

static uint32_t
poll_slow(struct weir_gate *gate, struct channel *ch, struct weir_burst *burst, uint32_t max)
{
	burst->cnt = 0;
	while (burst->cnt < max) {
		/* A burst ends with the look-ahead, so that there is room to give it back. */
		const struct weir_item *item = front(gate, ch, burst->cnt == 0);

		if (item == NULL)
			break;
		if (item->kind != WEIR_ITEM_DATA) {
			if (burst->cnt == 0)
				front_event(gate, ch, burst, item);
			break;
		}
		if ((ch->state & CH_KEEP) && !WEIR_PLANT(CAPTURE_COMING))
			keep_front(gate, ch, item);
		burst->items[burst->cnt++] = *item;
		ch->next_seq++;
		front_consume(ch);
	}
	return burst->cnt;
}

/* An open channel with nothing special: one pop, one pass. Anything else goes the longer way. */
static uint32_t
poll_fast(struct weir_gate *gate, struct channel *ch, struct weir_burst *burst, uint32_t max)
{
	const uint32_t ord = ch->next_ord;
	const uint32_t seq = ch->next_seq;
	const uint32_t cnt = weir_lane_pop(ch->data, burst->items, max);

	if (WEIR_LIKELY(weir_items_follow(burst->items, cnt, ord, seq))) {
		ch->next_ord = ord + cnt;
		ch->next_seq = seq + cnt;
		return cnt;
	}
	memcpy(ch->ahead, burst->items, cnt * sizeof(*ch->ahead));
	ch->ahead_head = 0;
	ch->ahead_cnt = cnt;
	ch->state |= CH_AHEAD;
	return poll_slow(gate, ch, burst, max);
}

static uint32_t
poll_by_arrival(struct weir_gate *gate, struct weir_burst *burst)
{
	struct channel *best = NULL;
	uint64_t best_arrival = 0;

	for (uint32_t c = 0; c < gate->channel_cnt; c++) {
		struct channel *ch = &gate->channels[c];
		const struct weir_item *item = front(gate, ch, true);
		uint64_t arrival;

		if (item == NULL)
			continue;
		arrival = gate->arrival(gate->arg, c, WEIR_GATE_DATA, item->ord);
		if (best == NULL || arrival < best_arrival) {
			best = ch;
			best_arrival = arrival;
		}
	}
	if (best == NULL)
		return 0;
	burst->channel = (uint32_t)(best - gate->channels);
	return poll_slow(gate, best, burst, 1);
}

uint32_t
weir_gate_poll(struct weir_gate *gate, struct weir_burst *burst, uint32_t max)
{
	WEIR_ASSERT(max <= WEIR_GATE_BURST);
	burst->cnt = 0;
	burst->is_event = false;
	if (max == 0)
		return 0;
	if (gate->arrival != NULL)
		return poll_by_arrival(gate, burst);
	for (uint32_t n = 0; n < gate->channel_cnt; n++) {
		const uint32_t c = gate->cursor;
		struct channel *ch = &gate->channels[c];

		gate->cursor = c + 1 == gate->channel_cnt ? 0 : c + 1;
		burst->channel = c;
		burst->cnt = WEIR_LIKELY(ch->state == 0) ? poll_fast(gate, ch, burst, max)
							 : poll_slow(gate, ch, burst, max);
		if (burst->cnt > 0)
			return burst->cnt;
	}
	return 0;
}

void
weir_gate_put_back(struct weir_gate *gate, const struct weir_burst *burst, uint32_t cnt)
{
	struct channel *ch = &gate->channels[burst->channel];
	const struct weir_item *items = &burst->items[burst->cnt - cnt];
	struct weir_item joined[WEIR_GATE_BURST];
	const uint32_t after = ch->next_ord;

	if (cnt == 0)
		return;
	WEIR_ASSERT(!burst->is_event);
	WEIR_ASSERT(cnt <= burst->cnt);
	WEIR_ASSERT(cnt + ch->ahead_cnt <= WEIR_GATE_BURST);
	memcpy(joined, items, cnt * sizeof(*joined));
	memcpy(joined + cnt, ch->ahead + ch->ahead_head, ch->ahead_cnt * sizeof(*joined));
	ch->next_ord = items[0].ord;
	ch->next_seq = items[0].seq;
	/* Numbers between them that were passed over must be passed over again. */
	for (uint32_t i = 0; i < cnt; i++) {
		const uint32_t until = i + 1 < cnt ? items[i + 1].ord : after;

		for (uint32_t ord = items[i].ord + 1; ord != until; ord++)
			mark_set(ch, ord);
	}
	ch->ahead_head = 0;
	ch->ahead_cnt += cnt;
	memcpy(ch->ahead, joined, ch->ahead_cnt * sizeof(*joined));
	ch->state |= CH_AHEAD;
}

/* The priority lane, and the barriers taken ahead. */

struct offer {
	enum weir_gate_lane lane;
	uint32_t idx; /* MOVED: which */
	struct weir_item item;
};

/* Numbers of unaligned barriers grow, and the data lane has not passed them. */
static bool
unaligned_fits(const struct channel *ch, const struct weir_item *item)
{
	const uint32_t ahead = item->ord - ch->next_ord;

	return (int32_t)ahead >= 0 && (ahead >= WEIR_GATE_WINDOW || !marked(ch, item->ord));
}

static bool
offer_ring(struct weir_gate *gate, struct channel *ch, struct offer *offer)
{
	if (ch->priority == NULL || weir_lane_peek(ch->priority, &offer->item, 1) == 0)
		return false;
	offer->lane = WEIR_GATE_PRIORITY;
	if (beyond(ch, offer->item.ord))
		return false;
	if (offer->item.kind != WEIR_ITEM_BARRIER)
		return true;
	if (!unaligned_fits(ch, &offer->item)) {
		weir_gate_fail_channel(gate, ch, offer->item.ord, offer->item.seq);
		return false;
	}
	/* Too far ahead to be remembered: it waits until the data lane has moved on. */
	return offer->item.ord - ch->next_ord < WEIR_GATE_WINDOW;
}

static bool
offer_moved(const struct channel *ch, struct offer *offer)
{
	for (uint32_t i = 0; i < ch->moved_cnt; i++) {
		if (beyond(ch, ch->moved[i].ord))
			continue;
		*offer = (struct offer){
			.lane = WEIR_GATE_MOVED,
			.idx = i,
			.item = { .ref = WEIR_GATE_NO_EVENT,
				  .seq = ch->moved[i].seq,
				  .ord = ch->moved[i].ord,
				  .kind = WEIR_ITEM_BARRIER },
		};
		return true;
	}
	return false;
}

static uint64_t
offer_arrival(const struct weir_gate *gate, uint32_t c, const struct offer *offer)
{
	return gate->arrival(gate->arg, c, offer->lane, offer->item.ord);
}

static bool
offer_best(struct weir_gate *gate, uint32_t c, struct offer *offer)
{
	struct channel *ch = &gate->channels[c];
	struct offer ring, moved;
	bool has_ring, has_moved;

	if (ch->state & (CH_FAILED | CH_ENDED))
		return false;
	has_moved = ch->moved_cnt > 0 && offer_moved(ch, &moved);
	if (has_moved && gate->arrival == NULL) {
		*offer = moved;
		return true;
	}
	has_ring = offer_ring(gate, ch, &ring);
	if (!has_ring && !has_moved)
		return false;
	if (has_ring && has_moved)
		has_moved = offer_arrival(gate, c, &moved) < offer_arrival(gate, c, &ring);
	*offer = has_moved ? moved : ring;
	return true;
}

static void
offer_take(struct weir_gate *gate, uint32_t c, const struct offer *offer, struct weir_burst *burst)
{
	struct channel *ch = &gate->channels[c];
	struct weir_gate_event event;
	struct weir_item item = offer->item;

	if (offer->lane == WEIR_GATE_MOVED) {
		event = ch->moved[offer->idx].event;
		moved_remove(ch, offer->idx);
		mark_set(ch, item.ord);
	} else {
		WEIR_ASSERT(weir_lane_pop(ch->priority, &item, 1) == 1);
		event = event_take(ch, &item);
		if (item.kind == WEIR_ITEM_BARRIER) {
			/* Its slot may say otherwise: on this channel the producer's output timer
			 * made it unaligned (T10). */
			event.barrier = WEIR_BARRIER_UNALIGNED;
			if (item.ord == ch->next_ord)
				ch->next_ord++;
			else
				mark_set(ch, item.ord);
		}
	}
	hand_event(gate, ch, burst, &item, &event);
}

static uint32_t
priority_by_arrival(struct weir_gate *gate, struct weir_burst *burst)
{
	struct offer best = { 0 };
	uint64_t best_arrival = 0;
	uint32_t best_channel = UINT32_MAX;

	for (uint32_t c = 0; c < gate->channel_cnt; c++) {
		struct offer offer;
		uint64_t arrival;

		if (!offer_best(gate, c, &offer))
			continue;
		arrival = offer_arrival(gate, c, &offer);
		if (best_channel == UINT32_MAX || arrival < best_arrival) {
			best = offer;
			best_arrival = arrival;
			best_channel = c;
		}
	}
	if (best_channel == UINT32_MAX)
		return 0;
	offer_take(gate, best_channel, &best, burst);
	return 1;
}

uint32_t
weir_gate_poll_priority(struct weir_gate *gate, struct weir_burst *burst)
{
	burst->cnt = 0;
	burst->is_event = false;
	if (gate->arrival != NULL)
		return priority_by_arrival(gate, burst);
	for (uint32_t n = 0; n < gate->channel_cnt; n++) {
		const uint32_t c = gate->priority_cursor;
		struct channel *ch = &gate->channels[c];
		struct offer offer;

		if ((ch->moved_cnt > 0 ||
		     (ch->priority != NULL && !weir_lane_is_empty(ch->priority))) &&
		    offer_best(gate, c, &offer)) {
			offer_take(gate, c, &offer, burst);
			return 1;
		}
		gate->priority_cursor = c + 1 == gate->channel_cnt ? 0 : c + 1;
	}
	return 0;
}

void
weir_gate_move(struct weir_gate *gate, uint32_t channel, uint32_t ord, uint32_t seq,
	       const struct weir_gate_event *barrier)
{
	struct channel *ch = &gate->channels[channel];

	if (ord - ch->next_ord >= WEIR_GATE_WINDOW || marked(ch, ord))
		return;
	for (uint32_t i = 0; i < ch->moved_cnt; i++)
		if (ch->moved[i].ord == ord)
			return;
	if (ch->moved_cnt == MOVED_MAX)
		return;
	ch->moved[ch->moved_cnt++] = (struct moved){ .ord = ord, .seq = seq, .event = *barrier };
	if (gate->arrival != NULL)
		gate->arrival(gate->arg, channel, WEIR_GATE_MOVED, ord);
}

bool
weir_gate_sees_newer(struct weir_gate *gate, uint64_t checkpoint)
{
	for (uint32_t c = 0; c < gate->channel_cnt && !WEIR_PLANT(BARRIER_SEEN); c++) {
		const struct channel *ch = &gate->channels[c];
		const struct weir_item *items = gate->priority_scratch;
		uint32_t cnt;

		if (ch->state & (CH_FAILED | CH_ENDED))
			continue;
		for (uint32_t i = 0; i < ch->moved_cnt; i++)
			if (!beyond(ch, ch->moved[i].ord) &&
			    ch->moved[i].event.checkpoint > checkpoint)
				return true;
		if (ch->priority == NULL)
			continue;
		cnt = weir_lane_peek(ch->priority, gate->priority_scratch, ch->priority->depth);
		for (uint32_t i = 0; i < cnt; i++)
			if (!beyond(ch, items[i].ord) && items[i].ref != WEIR_GATE_NO_EVENT &&
			    ch->events[items[i].ref].checkpoint > checkpoint)
				return true;
	}
	return false;
}

/* Opening and closing. */

void
weir_gate_open(struct weir_gate *gate, uint32_t channel)
{
	struct channel *ch = &gate->channels[channel];

	ch->state &= ~(uint32_t)(CH_HELD | CH_BEHIND);
	if (!(ch->state & CH_RESTORED))
		ch->state &= ~(uint32_t)CH_CLOSED;
}

void
weir_gate_open_restored(struct weir_gate *gate)
{
	for (uint32_t c = 0; c < gate->channel_cnt; c++) {
		struct channel *ch = &gate->channels[c];

		if (!(ch->state & CH_RESTORED))
			continue;
		if (ch->state & CH_BEHIND)
			ch->closed_ord = ch->behind_ord;
		else
			ch->state &= ~(uint32_t)CH_CLOSED;
		ch->state &= ~(uint32_t)(CH_RESTORED | CH_BEHIND);
	}
}

void
weir_gate_open_all(struct weir_gate *gate, uint32_t except)
{
	for (uint32_t c = 0; c < gate->channel_cnt; c++)
		if (c != except)
			weir_gate_open(gate, c);
}

void
weir_gate_hold(struct weir_gate *gate, uint32_t channel, uint32_t ord, uint32_t seq)
{
	struct channel *ch = &gate->channels[channel];

	if (ch->state & CH_CLOSED)
		return;
	ch->state |= CH_CLOSED | CH_HELD;
	ch->closed_ord = ord;
	ch->held_seq = seq;
}

void
weir_gate_open_held(struct weir_gate *gate)
{
	for (uint32_t c = 0; c < gate->channel_cnt; c++)
		if (gate->channels[c].state & CH_HELD)
			weir_gate_open(gate, c);
}

bool
weir_gate_is_closed(const struct weir_gate *gate, uint32_t channel)
{
	return (gate->channels[channel].state & CH_CLOSED) != 0;
}

uint32_t
weir_gate_last_seq(const struct weir_gate *gate, uint32_t channel)
{
	return gate->channels[channel].next_seq - 1;
}

uint32_t
weir_gate_queued(const struct weir_gate *gate, uint32_t channel)
{
	const struct channel *ch = &gate->channels[channel];

	return ch->ahead_cnt + weir_lane_count(ch->data);
}

void
weir_gate_replace(struct weir_gate *gate, uint32_t channel, struct weir_lane *lane)
{
	struct channel *ch = &gate->channels[channel];

	WEIR_ASSERT(lane->depth <= ch->data->depth);
	ch->data = lane;
}
