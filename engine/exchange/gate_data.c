/*
 * The data lanes of a gate: what is at the front of a channel, handed out in bursts, and given
 * back.
 */

#include "engine/exchange/gate_priv.h"

#include <string.h>

#include "engine/base/plant.h"

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
	weir_gate_event_take(ch, item);
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

static void
front_event(const struct weir_gate *gate, struct channel *ch, struct weir_burst *burst,
	    const struct weir_item *front_item)
{
	const struct weir_item item = *front_item;
	const struct weir_gate_event event = weir_gate_event_take(ch, &item);

	weir_gate_moved_forget(ch, item.ord);
	front_consume(ch);
	weir_gate_event_hand(gate, ch, burst, &item, &event);
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
