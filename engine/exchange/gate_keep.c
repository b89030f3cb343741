/*
 * What an unaligned checkpoint keeps of a channel (T11, T12), and the check of what is queued.
 *
 * Both walk over the look-ahead and the ring in place. The data lane is read before the priority
 * lane: the producer pushed an unaligned barrier before the frames behind it, so each such barrier
 * below a frame that was seen is seen too, and no frame behind it is kept by mistake.
 */

#include "engine/exchange/gate.h"

#include "engine/exchange/gate_priv.h"

void
weir_gate_keep_frame(struct weir_gate *gate, struct channel *ch, const struct weir_item *frame)
{
	if (below(frame->seq, ch->keep_next))
		return;
	if ((ch->state & CH_LIMIT) && below(ch->keep_last, frame->seq))
		return;
	ch->keep_next = frame->seq + 1;
	if (gate->keep != NULL)
		gate->keep(gate->arg, ch->keep_id, (uint32_t)(ch - gate->channels), frame);
}

static void
limit_lower(struct channel *ch, uint32_t seq)
{
	if ((ch->state & CH_LIMIT) && below(ch->keep_last, seq))
		return;
	ch->state |= CH_LIMIT;
	ch->keep_last = seq;
}

/*
 * T12: the first barrier of the captured id, or of a later one, bounds the capture: by the last
 * frame before it in the lane. What its producer still held then, the producer keeps (T13).
 */
static void
limit_by_barrier(struct channel *ch, const struct weir_item *item)
{
	if ((ch->state & CH_KEEP) && item->kind == WEIR_ITEM_BARRIER &&
	    item->ref != WEIR_GATE_NO_EVENT && ch->events[item->ref].checkpoint >= ch->keep_id)
		limit_lower(ch, item->seq);
}

struct walk {
	const struct weir_item *unaligned; /* of the priority lane, by number */
	uint32_t unaligned_cnt;
	uint32_t unaligned_idx;
	uint32_t expect; /* number of the next item */
};

/* Step over the numbers that the data lane does not show, up to ord. */
static bool
walk_to(const struct channel *ch, struct walk *w, uint32_t ord)
{
	while (w->expect != ord) {
		if (w->unaligned_idx < w->unaligned_cnt &&
		    w->unaligned[w->unaligned_idx].ord == w->expect)
			w->unaligned_idx++;
		else if (w->expect - ch->next_ord >= WEIR_GATE_WINDOW || !marked(ch, w->expect))
			return false;
		w->expect++;
	}
	/* The same number on both lanes: one of them came twice. */
	return w->unaligned_idx == w->unaligned_cnt || w->unaligned[w->unaligned_idx].ord != ord;
}

static bool
walk_items(struct weir_gate *gate, struct channel *ch, struct walk *w,
	   const struct weir_item *items, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (!walk_to(ch, w, items[i].ord)) {
			weir_gate_fail_channel(gate, ch, items[i].ord, items[i].seq);
			return false;
		}
		w->expect++;
		limit_by_barrier(ch, &items[i]);
		if (items[i].kind == WEIR_ITEM_DATA && (ch->state & CH_KEEP))
			weir_gate_keep_frame(gate, ch, &items[i]);
	}
	return true;
}

/* The unaligned barriers behind the last frame follow without a gap as well, unless the producer
 * still holds what is between. */
static void
walk_tail(struct weir_gate *gate, struct channel *ch, struct walk *w, bool all_seen)
{
	for (; w->unaligned_idx < w->unaligned_cnt; w->unaligned_idx++) {
		const struct weir_item *item = &w->unaligned[w->unaligned_idx];

		while (w->expect != item->ord && w->expect - ch->next_ord < WEIR_GATE_WINDOW &&
		       marked(ch, w->expect))
			w->expect++;
		if (w->expect != item->ord) {
			if (all_seen)
				weir_gate_fail_channel(gate, ch, item->ord, item->seq);
			return;
		}
		w->expect++;
	}
}

/* Leave only the unaligned barriers in the scratch; they bound a capture too. */
static uint32_t
peek_unaligned(struct weir_gate *gate, struct channel *ch)
{
	struct weir_item *items = gate->priority_scratch;
	uint32_t kept = 0;
	uint32_t cnt = 0;

	if (ch->priority != NULL)
		cnt = weir_lane_peek(ch->priority, items, ch->priority->depth);
	for (uint32_t i = 0; i < cnt; i++) {
		limit_by_barrier(ch, &items[i]);
		if (items[i].kind == WEIR_ITEM_BARRIER)
			items[kept++] = items[i];
	}
	return kept;
}

void
weir_gate_keep_bound(struct weir_gate *gate, struct channel *ch)
{
	peek_unaligned(gate, ch);
}

void
weir_gate_look(struct weir_gate *gate, uint32_t channel)
{
	struct channel *ch = &gate->channels[channel];
	struct walk w = { .expect = ch->next_ord };
	uint32_t cnt;

	if (ch->state & (CH_FAILED | CH_ENDED))
		return;
	cnt = weir_lane_peek(ch->data, gate->scratch, ch->data->depth);
	w.unaligned = gate->priority_scratch;
	w.unaligned_cnt = peek_unaligned(gate, ch);
	if (!walk_items(gate, ch, &w, ch->ahead + ch->ahead_head, ch->ahead_cnt) ||
	    !walk_items(gate, ch, &w, gate->scratch, cnt))
		return;
	walk_tail(gate, ch, &w, gate->complete && weir_lane_count(ch->data) == cnt);
}

void
weir_gate_keep(struct weir_gate *gate, uint32_t channel, uint64_t checkpoint)
{
	struct channel *ch = &gate->channels[channel];

	ch->state = (ch->state | CH_KEEP) & ~(uint32_t)CH_LIMIT;
	ch->keep_id = checkpoint;
	ch->keep_next = ch->next_seq;
}

static void
keep_end(struct channel *ch)
{
	ch->state &= ~(uint32_t)(CH_KEEP | CH_LIMIT);
}

void
weir_gate_keep_until(struct weir_gate *gate, uint32_t channel, uint32_t seq)
{
	struct channel *ch = &gate->channels[channel];

	if (!(ch->state & CH_KEEP))
		return;
	limit_lower(ch, seq);
	weir_gate_look(gate, channel);
	keep_end(ch);
}

void
weir_gate_keep_queued(struct weir_gate *gate, uint32_t channel)
{
	struct channel *ch = &gate->channels[channel];

	if (!(ch->state & CH_KEEP))
		return;
	weir_gate_look(gate, channel);
	keep_end(ch);
}

void
weir_gate_keep_stop(struct weir_gate *gate)
{
	for (uint32_t c = 0; c < gate->channel_cnt; c++)
		keep_end(&gate->channels[c]);
}
