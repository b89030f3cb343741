/*
 * Events on their way out of a gate: copied out of their slot, which goes back to the producer at
 * once, and given their effect on the channel before anybody looks at them.
 */

#include "engine/exchange/gate_priv.h"

#include "engine/base/plant.h"

struct weir_gate_event
weir_gate_event_take(const struct channel *ch, const struct weir_item *item)
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

void
weir_gate_event_hand(const struct weir_gate *gate, struct channel *ch, struct weir_burst *burst,
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
