/*
 * The priority lanes of a gate, and the barriers that were announced there and are taken ahead of
 * the data before them (T7). Each channel offers one item at most: what was taken ahead goes first,
 * unless an order of arrival is given.
 */

#include "engine/exchange/gate_priv.h"

#include <string.h>

#include "engine/base/plant.h"

struct offer {
	enum weir_gate_lane lane;
	uint32_t idx; /* MOVED: which */
	struct weir_item item;
};

static void
moved_remove(struct channel *ch, uint32_t idx)
{
	ch->moved_cnt--;
	memmove(&ch->moved[idx], &ch->moved[idx + 1], (ch->moved_cnt - idx) * sizeof(*ch->moved));
}

void
weir_gate_moved_forget(struct channel *ch, uint32_t ord)
{
	for (uint32_t i = 0; i < ch->moved_cnt; i++)
		if (ch->moved[i].ord == ord) {
			moved_remove(ch, i);
			return;
		}
}

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
		event = weir_gate_event_take(ch, &item);
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
	weir_gate_event_hand(gate, ch, burst, &item, &event);
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
