#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "drivers/dpdk/ring_lane.h"

static struct weir_lane *
make(uint32_t depth)
{
	void *mem = aligned_alloc(WEIR_LINE_PAIR, weir_ring_lane_bytes(depth));

	cr_assert(mem != NULL);
	return weir_ring_lane_init(mem, depth);
}

static struct weir_item
item(uint32_t ord)
{
	return (struct weir_item){ .ref = ord * 3, .seq = ord, .ord = ord, .kind = WEIR_ITEM_DATA };
}

/* Push cnt items from number first on; how many were taken. */
static uint32_t
push(struct weir_lane *lane, uint32_t first, uint32_t cnt)
{
	struct weir_item items[64];

	for (uint32_t i = 0; i < cnt; i++)
		items[i] = item(first + i);
	return weir_lane_push(lane, items, cnt);
}

static void
assert_items(const struct weir_item *items, uint32_t first, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const struct weir_item want = item(first + i);

		cr_assert_eq(memcmp(&items[i], &want, sizeof(want)), 0, "item %u", first + i);
	}
}

Test(ring_lane, holds_exactly_its_depth)
{
	static const uint32_t depths[] = { 1, 2, 3, 15, 16, 17, 31, 32, 33 };

	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(depths); i++) {
		struct weir_lane *lane = make(depths[i]);

		cr_assert_eq(lane->depth, depths[i]);
		cr_assert_eq(push(lane, 0, 40), depths[i]);
		cr_assert_eq(weir_lane_count(lane), depths[i]);
		free(lane);
	}
}

Test(ring_lane, push_into_full_takes_nothing)
{
	struct weir_lane *lane = make(4);
	struct weir_item got[8];

	cr_assert_eq(push(lane, 0, 3), 3);
	cr_assert_eq(push(lane, 3, 5), 1, "what fits is taken, from the first on");
	cr_assert_eq(push(lane, 4, 5), 0);
	cr_assert_eq(weir_lane_pop(lane, got, 8), 4);
	assert_items(got, 0, 4);
	cr_assert_eq(weir_lane_pop(lane, got, 8), 0);
	free(lane);
}

Test(ring_lane, peek_leaves_items_where_they_lie)
{
	struct weir_lane *lane = make(5);
	struct weir_item got[8];

	cr_assert_eq(weir_lane_peek(lane, got, 8), 0);
	/* All around the ring, so that some peeks cross its end. */
	for (uint32_t first = 0; first < 40; first += 3) {
		cr_assert_eq(push(lane, first, 3), 3);
		cr_assert_eq(weir_lane_peek(lane, got, 2), 2);
		assert_items(got, first, 2);
		cr_assert_eq(weir_lane_peek(lane, got, 8), 3);
		assert_items(got, first, 3);
		cr_assert_eq(weir_lane_count(lane), 3);
		cr_assert_eq(push(lane, first + 3, 3), 2, "peeked at items take up their room");
		cr_assert_eq(weir_lane_pop(lane, got, 8), 5);
		assert_items(got, first, 5);
	}
	free(lane);
}

/* Each side remembers what it saw of the other: no order of calls makes that wrong. */
Test(ring_lane, calls_in_any_order)
{
	for (uint32_t depth = 1; depth < 40; depth += 3) {
		struct weir_lane *lane = make(depth);
		uint32_t pushed = 0, popped = 0, random = depth;
		struct weir_item got[64];

		for (uint32_t step = 0; step < 20000; step++) {
			const uint32_t there = pushed - popped;
			uint32_t cnt, most;

			random = random * 1664525 + 1013904223;
			cnt = random >> 8 & 31;
			most = random >> 30 == 0 ? depth - there : there;
			most = cnt < most ? cnt : most;
			switch (random >> 30) {
			case 0:
				cr_assert_eq(push(lane, pushed, cnt), most);
				pushed += most;
				break;
			case 1:
				cr_assert_eq(weir_lane_peek(lane, got, cnt), most);
				assert_items(got, popped, most);
				break;
			default:
				cr_assert_eq(weir_lane_pop(lane, got, cnt), most);
				assert_items(got, popped, most);
				popped += most;
			}
			cr_assert_eq(weir_lane_count(lane), pushed - popped);
			cr_assert_eq(weir_lane_is_empty(lane), pushed == popped);
		}
		cr_assert_gt(popped, 1000);
		free(lane);
	}
}

Test(ring_lane, impossible_depths_have_no_size)
{
	cr_assert_eq(weir_ring_lane_bytes(0), 0);
	cr_assert_eq(weir_ring_lane_bytes(WEIR_RING_LANE_DEPTH_MAX + 1), 0);
	cr_assert(weir_ring_lane_bytes(WEIR_RING_LANE_DEPTH_MAX) >
		  16ull * WEIR_RING_LANE_DEPTH_MAX);
}

Test(ring_lane, stays_within_its_memory)
{
	for (uint32_t depth = 1; depth < 40; depth++) {
		const uint64_t bytes = weir_ring_lane_bytes(depth);
		char *mem = aligned_alloc(WEIR_LINE_PAIR, bytes + WEIR_LINE_PAIR);
		struct weir_item got[64];
		struct weir_lane *lane;

		memset(mem + bytes, 0x5a, WEIR_LINE_PAIR);
		lane = weir_ring_lane_init(mem, depth);
		for (uint32_t round = 0; round < 5; round++) {
			cr_assert_eq(push(lane, 0, depth), depth);
			cr_assert_eq(weir_lane_pop(lane, got, 64), depth);
		}
		for (uint32_t i = 0; i < WEIR_LINE_PAIR; i++)
			cr_assert_eq(mem[bytes + i], 0x5a);
		free(mem);
	}
}
