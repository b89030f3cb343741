#ifndef WEIR_TESTS_UNIT_ENGINE_EXCHANGE_MEM_LANE_H
#define WEIR_TESTS_UNIT_ENGINE_EXCHANGE_MEM_LANE_H

/* A channel in memory, on one thread: two lanes, event slots, and the producer's two counters. */

#include "engine/exchange/lane.h"

#define MEM_LANE_ITEMS 64u
#define MEM_EVENTS     64u

struct mem_lane {
	struct weir_lane lane; /* depth may be lowered: it then takes less */
	uint32_t head, tail;
	/* Called once, before the next peek: what the other side does just then. */
	void (*before_peek)(void);
	struct weir_item items[MEM_LANE_ITEMS];
};

struct mem_channel {
	struct mem_lane data, priority;
	struct weir_event events[MEM_EVENTS];
	uint32_t event_cnt;
	uint32_t ord; /* of the next item */
	uint32_t seq; /* of the last frame */
};

void mem_lane_init(struct mem_lane *lane);
void mem_channel_init(struct mem_channel *ch, uint32_t first_ord);

/* A frame; its ref is its number. */
void mem_push_frame(struct mem_channel *ch);

/* A barrier by its kind: unaligned ones to the priority lane, timeoutable ones announced. */
void mem_push_barrier(struct mem_channel *ch, uint64_t id, enum weir_barrier_kind kind,
		      int64_t timeout_ns);

/* CANCEL, END, END_STATE, END_DATA. */
void mem_push_event(struct mem_channel *ch, enum weir_item_kind kind, uint64_t id);

/* References to event slots that nobody gave back. */
uint32_t mem_event_refs(const struct mem_channel *ch);

#endif /* WEIR_TESTS_UNIT_ENGINE_EXCHANGE_MEM_LANE_H */
