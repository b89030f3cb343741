#include "tests/unit/engine/exchange/mem_lane.h"

#include <string.h>

static uint32_t
push(struct weir_lane *lane, const struct weir_item *items, uint32_t cnt)
{
	struct mem_lane *l = WEIR_CONTAINER(lane, struct mem_lane, lane);
	uint32_t taken = 0;

	while (taken < cnt && l->tail - l->head < lane->depth)
		l->items[l->tail++ % MEM_LANE_ITEMS] = items[taken++];
	return taken;
}

static uint32_t
peek(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	struct mem_lane *l = WEIR_CONTAINER(lane, struct mem_lane, lane);
	void (*before)(void) = l->before_peek;
	uint32_t cnt = 0;

	l->before_peek = NULL;
	if (before != NULL)
		before();
	while (cnt < max && l->head + cnt != l->tail) {
		items[cnt] = l->items[(l->head + cnt) % MEM_LANE_ITEMS];
		cnt++;
	}
	return cnt;
}

static uint32_t
pop(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	const uint32_t cnt = peek(lane, items, max);

	WEIR_CONTAINER(lane, struct mem_lane, lane)->head += cnt;
	return cnt;
}

static uint32_t
count(const struct weir_lane *lane)
{
	const struct mem_lane *l =
		(const struct mem_lane *)((const char *)lane - offsetof(struct mem_lane, lane));

	return l->tail - l->head;
}

static const struct weir_lane_ops ops = {
	.push = push, .pop = pop, .peek = peek, .count = count, .name = "mem"
};

void
mem_lane_init(struct mem_lane *lane)
{
	memset(lane, 0, sizeof(*lane));
	lane->lane.ops = &ops;
	lane->lane.depth = MEM_LANE_ITEMS;
}

void
mem_channel_init(struct mem_channel *ch, uint32_t first_ord)
{
	memset(ch, 0, sizeof(*ch));
	mem_lane_init(&ch->data);
	mem_lane_init(&ch->priority);
	ch->ord = first_ord;
}

static void
put(struct mem_lane *lane, struct weir_item item)
{
	WEIR_ASSERT(weir_lane_push(&lane->lane, &item, 1) == 1);
}

void
mem_push_frame(struct mem_channel *ch)
{
	ch->seq++;
	put(&ch->data,
	    (struct weir_item){
		    .ref = ch->seq, .seq = ch->seq, .ord = ch->ord++, .kind = WEIR_ITEM_DATA });
}

static struct weir_item
event_item(struct mem_channel *ch, enum weir_item_kind kind, const struct weir_event *event)
{
	const struct weir_item item = {
		.ref = ch->event_cnt, .seq = ch->seq, .ord = ch->ord++, .kind = kind
	};

	WEIR_ASSERT(ch->event_cnt < MEM_EVENTS);
	ch->events[ch->event_cnt++] = *event;
	return item;
}

void
mem_push_barrier(struct mem_channel *ch, uint64_t id, enum weir_barrier_kind kind,
		 int64_t timeout_ns)
{
	const bool announced = kind == WEIR_BARRIER_TIMEOUTABLE;
	const struct weir_event event = {
		.checkpoint = id,
		.barrier = kind,
		.timeout_ns = timeout_ns,
		.refs = announced ? 2 : 1,
	};
	struct weir_item item = event_item(ch, WEIR_ITEM_BARRIER, &event);

	if (kind == WEIR_BARRIER_UNALIGNED) {
		put(&ch->priority, item);
		return;
	}
	put(&ch->data, item);
	if (announced) {
		item.kind = WEIR_ITEM_ANNOUNCE;
		put(&ch->priority, item);
	}
}

void
mem_push_event(struct mem_channel *ch, enum weir_item_kind kind, uint64_t id)
{
	const struct weir_event event = { .checkpoint = id, .refs = 1 };

	put(&ch->data, event_item(ch, kind, &event));
}

uint32_t
mem_event_refs(const struct mem_channel *ch)
{
	uint32_t refs = 0;

	for (uint32_t i = 0; i < ch->event_cnt; i++)
		refs += atomic_load_explicit(&ch->events[i].refs, memory_order_relaxed);
	return refs;
}
