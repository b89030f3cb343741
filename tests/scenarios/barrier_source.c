/* Producers of a barrier scenario: they number what they push, and stamp barriers. */

#include "tests/scenarios/barrier_world_priv.h"

#include <string.h>

void
world_stamp(struct world *w, uint64_t id, int64_t ns)
{
	WORLD_GROW(w, stamps);
	w->stamps[w->stamps_cnt++] = (struct stamped){ .id = id, .ns = ns };
}

int64_t
world_stamp_of(struct world *w, uint64_t id)
{
	for (uint32_t i = 0; i < w->stamps_cnt; i++)
		if (w->stamps[i].id == id)
			return w->stamps[i].ns;
	world_stamp(w, id, w->now_ns);
	return w->now_ns;
}

static uint32_t
event_slot(struct source *s)
{
	for (uint32_t n = 0; n < EVENTS_MAX; n++) {
		const uint32_t i = s->event_cursor++ % EVENTS_MAX;

		if (atomic_load_explicit(&s->events[i].refs, memory_order_relaxed) == 0)
			return i;
	}
	return WEIR_GATE_NO_EVENT;
}

static uint32_t
frame_add(struct world *w, uint32_t channel, const struct item_word *item)
{
	struct frame *frame;

	WORLD_GROW(w, frames);
	frame = &w->frames[w->frames_cnt];
	frame->size = item->has_size ? item->size : w->header.size;
	if (item->label[0] != '\0')
		snprintf(frame->label, sizeof(frame->label), "%s", item->label);
	else
		snprintf(frame->label, sizeof(frame->label), "%u.%u", channel,
			 w->sources[channel]->seq);
	return w->frames_cnt++;
}

static bool
lane_put(struct world *w, uint32_t channel, enum weir_gate_lane lane, const struct weir_item *item)
{
	struct source *s = w->sources[channel];
	struct test_lane *to = lane == WEIR_GATE_DATA ? &s->data : &s->priority;

	if (item->ord < NUMBERS_MAX)
		s->arrival[lane][item->ord] = ++w->arrivals;
	return weir_lane_push(&to->lane, item, 1) == 1;
}

static bool
push_event(struct world *w, uint32_t channel, const struct item_word *word, struct weir_item *item)
{
	struct source *s = w->sources[channel];
	const struct item_kind *kind = item_kind_of(word->kind);
	bool unaligned, announced;

	if (kind == NULL)
		return false;
	item->kind = kind->item;
	item->ref = event_slot(s);
	if (item->ref == WEIR_GATE_NO_EVENT)
		return false;
	unaligned = kind->barrier == WEIR_BARRIER_UNALIGNED;
	announced = kind->barrier == WEIR_BARRIER_TIMEOUTABLE && w->header.remote[channel];
	s->events[item->ref] = (struct weir_event){
		.checkpoint = word->id,
		.stamp_ns = item->kind == WEIR_ITEM_BARRIER ? world_stamp_of(w, word->id) : 0,
		.timeout_ns = kind->barrier == WEIR_BARRIER_TIMEOUTABLE ? w->header.timeout_ns : 0,
		.barrier = kind->barrier,
		.refs = announced ? 2 : 1,
	};
	if (announced) {
		struct weir_item announcement = *item;

		announcement.kind = WEIR_ITEM_ANNOUNCE;
		if (!lane_put(w, channel, WEIR_GATE_PRIORITY, &announcement))
			return false;
	}
	return lane_put(w, channel, unaligned ? WEIR_GATE_PRIORITY : WEIR_GATE_DATA, item);
}

bool
world_push(struct world *w, const struct item_word *word)
{
	const uint32_t channel = (uint32_t)word->channel;
	struct weir_item item = { 0 };
	struct source *s;
	bool ok;

	if (word->channel < 0 || channel >= w->header.channel_cnt)
		return false;
	s = w->sources[channel];
	if (s->ord == NUMBERS_MAX)
		return false;
	item.ord = s->ord++;
	if (word->has_seq)
		item.ord = (uint32_t)word->seq;
	if (strcmp(word->kind, "d") == 0) {
		s->seq++;
		item.kind = WEIR_ITEM_DATA;
		item.seq = s->seq;
		item.ref = frame_add(w, channel, word);
		ok = lane_put(w, channel, WEIR_GATE_DATA, &item);
	} else {
		item.seq = s->seq;
		ok = push_event(w, channel, word, &item);
	}
	weir_input_look(w->input, channel);
	world_take_notes(w);
	return ok;
}
