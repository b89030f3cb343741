/* Lanes in memory, deep enough for any scenario. */

#include "tests/scenarios/barrier.h"

static uint32_t
lane_push(struct weir_lane *lane, const struct weir_item *items, uint32_t cnt)
{
	struct test_lane *l = WEIR_CONTAINER(lane, struct test_lane, lane);
	uint32_t taken = 0;

	while (taken < cnt && l->tail - l->head < lane->depth)
		l->items[l->tail++ % LANE_DEPTH] = items[taken++];
	return taken;
}

static uint32_t
lane_peek(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	struct test_lane *l = WEIR_CONTAINER(lane, struct test_lane, lane);
	uint32_t cnt = 0;

	for (uint32_t i = l->head; i != l->tail && cnt < max; i++)
		items[cnt++] = l->items[i % LANE_DEPTH];
	return cnt;
}

static uint32_t
lane_pop(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	struct test_lane *l = WEIR_CONTAINER(lane, struct test_lane, lane);
	const uint32_t cnt = lane_peek(lane, items, max);

	l->head += cnt;
	return cnt;
}

static uint32_t
lane_count(const struct weir_lane *lane)
{
	const struct test_lane *l =
		(const struct test_lane *)((const char *)lane - offsetof(struct test_lane, lane));

	return l->tail - l->head;
}

static const struct weir_lane_ops lane_ops = {
	.push = lane_push, .pop = lane_pop, .peek = lane_peek, .count = lane_count, .name = "test"
};

void
test_lane_init(struct test_lane *lane)
{
	lane->lane.ops = &lane_ops;
	lane->lane.depth = LANE_DEPTH;
	lane->head = 0;
	lane->tail = 0;
}
