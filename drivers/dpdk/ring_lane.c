#include "drivers/dpdk/ring_lane.h"

#include <rte_ring.h>
#include <rte_ring_peek.h>

#define ITEM_BYTES ((unsigned int)sizeof(struct weir_item))

/*
 * The lane's own head and the ring share one piece of memory; the ring is aligned by itself.
 *
 * rte_ring's own calls read the other side's tail every time, and take its line away. Here each
 * side remembers the tail it saw last and looks again only when that is not enough. What is seen
 * late is safe: it only says that there is less room, or fewer items, than there is. Everything
 * else is the library's: memory, slots, copies, peeking.
 */
struct ring_lane {
	struct weir_lane lane;
	alignas(WEIR_LINE_PAIR) uint32_t seen_popped; /* producer's: cons.tail */
	alignas(WEIR_LINE_PAIR) uint32_t seen_pushed; /* consumer's: prod.tail */
	alignas(WEIR_LINE_PAIR) struct rte_ring ring;
};
_Static_assert(alignof(struct rte_ring) <= WEIR_LINE_PAIR, "the ring lies aligned in the lane");

static struct ring_lane *
ring_lane_of(struct weir_lane *lane)
{
	return WEIR_CONTAINER(lane, struct ring_lane, lane);
}

static uint32_t
ring_push(struct weir_lane *lane, const struct weir_item *items, uint32_t cnt)
{
	struct ring_lane *rl = ring_lane_of(lane);
	struct rte_ring *ring = &rl->ring;
	const uint32_t head = ring->prod.head;
	uint32_t room = rl->seen_popped + ring->capacity - head;

	if (room < cnt) {
		/* L1: pairs with L4; the consumer has copied what is overwritten below. */
		rl->seen_popped = __atomic_load_n(&ring->cons.tail, __ATOMIC_ACQUIRE);
		room = rl->seen_popped + ring->capacity - head;
		if (room < cnt)
			cnt = room;
		if (cnt == 0)
			return 0;
	}
	__rte_ring_enqueue_elems(ring, head, items, ITEM_BYTES, cnt);
	ring->prod.head = head + cnt;
	/* L2: pairs with L3; publishes the items and what they stand for. */
	__atomic_store_n(&ring->prod.tail, head + cnt, __ATOMIC_RELEASE);
	return cnt;
}

static uint32_t
ring_pop(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	struct ring_lane *rl = ring_lane_of(lane);
	struct rte_ring *ring = &rl->ring;
	const uint32_t head = ring->cons.head;
	uint32_t there = rl->seen_pushed - head;

	if (there < max) {
		/* L3: pairs with L2; the items are there. */
		rl->seen_pushed = __atomic_load_n(&ring->prod.tail, __ATOMIC_ACQUIRE);
		there = rl->seen_pushed - head;
		if (there == 0)
			return 0;
	}
	if (there < max)
		max = there;
	__rte_ring_dequeue_elems(ring, head, items, ITEM_BYTES, max);
	ring->cons.head = head + max;
	/* L4: pairs with L1; the slots may be overwritten. */
	__atomic_store_n(&ring->cons.tail, head + max, __ATOMIC_RELEASE);
	return max;
}

/*
 * Items lie between the consumer's tail and the producer's tail. The other side's tail may be
 * stale, which only makes its items appear, or go, later; relaxed loads are enough for a number
 * that orders nothing.
 */
static uint32_t
ring_count(const struct weir_lane *lane)
{
	const struct rte_ring *ring =
		&((const struct ring_lane *)(const void *)((const char *)lane -
							   offsetof(struct ring_lane, lane)))
			 ->ring;
	const uint32_t prod = __atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED);
	const uint32_t cons = __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
	const uint32_t cnt = prod - cons;

	/* The tails were read one after the other: a producer sees its consumer ahead at most. */
	return cnt <= ring->capacity ? cnt : ring->capacity;
}

/* Start a dequeue and finish it with nothing taken: the items were copied and stay. */
static uint32_t
ring_peek(struct weir_lane *lane, struct weir_item *items, uint32_t max)
{
	struct rte_ring *ring = &ring_lane_of(lane)->ring;
	unsigned int cnt;

	/* Finishing writes the line that the producer reads: leave it alone when there is nothing.
	 */
	if (ring_count(lane) == 0)
		return 0;
	cnt = rte_ring_dequeue_burst_elem_start(ring, items, ITEM_BYTES, max, NULL);
	if (cnt != 0)
		rte_ring_dequeue_elem_finish(ring, 0);
	return cnt;
}

static const struct weir_lane_ops ring_lane_ops = {
	.push = ring_push,
	.pop = ring_pop,
	.peek = ring_peek,
	.count = ring_count,
	.name = "ring",
};

/* The ring's slots: a power of two above depth, because one slot of a full ring stays empty. */
static unsigned int
slots(uint32_t depth)
{
	return 1u << (32 - __builtin_clz(depth));
}

uint64_t
weir_ring_lane_bytes(uint32_t depth)
{
	ssize_t bytes;

	if (depth == 0 || depth > WEIR_RING_LANE_DEPTH_MAX)
		return 0;
	bytes = rte_ring_get_memsize_elem(ITEM_BYTES, slots(depth));
	WEIR_ASSERT(bytes > 0);
	return weir_align_up(offsetof(struct ring_lane, ring) + (uint64_t)bytes, WEIR_LINE_PAIR);
}

struct weir_lane *
weir_ring_lane_init(void *mem, uint32_t depth)
{
	struct ring_lane *rl = mem;
	int rc;

	WEIR_ASSERT(depth >= 1);
	WEIR_ASSERT(depth <= WEIR_RING_LANE_DEPTH_MAX);
	WEIR_ASSERT((uintptr_t)mem % WEIR_LINE_PAIR == 0);
	rl->lane = (struct weir_lane){ .ops = &ring_lane_ops, .depth = depth };
	/* #17: an exact ring holds depth items, not depth - 1. */
	rc = rte_ring_init(&rl->ring, "weir-lane", depth,
			   RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	WEIR_ASSERT(rc == 0);
	rl->seen_popped = 0;
	rl->seen_pushed = 0;
	rl->lane.pushed = (const uint32_t *)&rl->ring.prod.tail;
	rl->lane.popped = (const uint32_t *)&rl->ring.cons.tail;
	return &rl->lane;
}
