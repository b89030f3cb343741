/*
 * A channel as the engine uses it: frames from the shared free list, filled with plain stores, over
 * the data lane; now and then an event over the priority lane; the consumer peeks, takes both
 * lanes, reads the frames with plain loads and puts them back.
 */

#include <string.h>

#include "drivers/dpdk/frame_mem.h"
#include "drivers/dpdk/ring_lane.h"
#include "tests/race/race.h"

#define ITEMS	    60000u
#define DATA_DEPTH  16u
#define PRIO_DEPTH  3u
#define PRIO_EVERY  37u
#define FRAMES	    24u
#define FRAME_WORDS 64u
#define BURST	    8u

struct channel {
	struct weir_lane *data, *prio;
	struct weir_frame_mem *mem;
	uint64_t event[ITEMS / PRIO_EVERY + 1]; /* plain, like a frame's bytes */
};

static uint64_t *
frame_at(const struct channel *ch, uint32_t idx)
{
	return weir_frame_mem_at(ch->mem, idx);
}

static void
push_all(struct weir_lane *lane, const struct weir_item *items, uint32_t cnt)
{
	uint32_t done = 0;

	while (done < cnt) {
		done += weir_lane_push(lane, items + done, cnt - done);
		RACE_CHECK(done <= cnt);
		if (done < cnt)
			race_wait();
	}
}

static void *
produce(void *arg)
{
	struct channel *ch = arg;
	struct weir_item items[BURST];
	uint32_t idx[BURST];
	uint32_t ord = 0, events = 0;

	for (uint32_t seq = 0; seq < ITEMS;) {
		const uint32_t cnt = weir_frame_source_get(&ch->mem->source, idx, BURST);

		if (cnt == 0)
			race_wait();
		for (uint32_t i = 0; i < cnt; i++, seq++, ord++) {
			for (uint32_t w = 0; w < FRAME_WORDS; w++)
				frame_at(ch, idx[i])[w] = seq + w;
			items[i] = (struct weir_item){
				.ref = idx[i], .seq = seq, .ord = ord, .kind = WEIR_ITEM_DATA
			};
		}
		push_all(ch->data, items, cnt);
		if (seq / PRIO_EVERY <= events || events >= ITEMS / PRIO_EVERY)
			continue;
		ch->event[events] = seq - 1;
		items[0] = (struct weir_item){
			.ref = events++, .seq = seq - 1, .ord = ord++, .kind = WEIR_ITEM_BARRIER
		};
		push_all(ch->prio, items, 1);
	}
	items[0] = (struct weir_item){ .ord = ord, .kind = WEIR_ITEM_END };
	push_all(ch->data, items, 1);
	return NULL;
}

static void
read_frame(const struct channel *ch, const struct weir_item *item)
{
	const uint64_t *frame = frame_at(ch, item->ref);

	RACE_CHECK(frame[0] == item->seq);
	RACE_CHECK(frame[FRAME_WORDS - 1] == item->seq + FRAME_WORDS - 1);
}

/* What was peeked at comes first when it is taken. */
static uint32_t
take_data(struct channel *ch, struct weir_item *items, bool peek)
{
	struct weir_item seen[BURST];
	const uint32_t peeked = peek ? weir_lane_peek(ch->data, seen, BURST) : 0;
	uint32_t cnt;

	for (uint32_t i = 0; i < peeked; i++)
		if (seen[i].kind == WEIR_ITEM_DATA)
			read_frame(ch, &seen[i]);
	cnt = weir_lane_pop(ch->data, items, BURST);
	RACE_CHECK(cnt >= peeked);
	RACE_CHECK(memcmp(seen, items, peeked * sizeof(seen[0])) == 0);
	return cnt;
}

static bool
consume_data(struct channel *ch, uint32_t turn, uint32_t *seq)
{
	struct weir_item items[BURST];
	uint32_t idx[BURST];
	const uint32_t cnt = take_data(ch, items, turn % 3 == 0);
	uint32_t frames = 0;

	if (cnt == 0)
		race_wait();
	for (uint32_t i = 0; i < cnt && items[i].kind == WEIR_ITEM_DATA; i++) {
		RACE_CHECK(items[i].seq == (*seq)++);
		read_frame(ch, &items[i]);
		idx[frames++] = items[i].ref;
	}
	weir_frame_source_put(&ch->mem->source, idx, frames);
	return frames == cnt;
}

static void
consume_prio(struct channel *ch, uint32_t *events)
{
	struct weir_item item;

	if (weir_lane_is_empty(ch->prio))
		return;
	while (weir_lane_pop(ch->prio, &item, 1) == 1) {
		RACE_CHECK(item.kind == WEIR_ITEM_BARRIER);
		RACE_CHECK(item.ref == (*events)++);
		RACE_CHECK(ch->event[item.ref] == item.seq);
	}
}

static void *
consume(void *arg)
{
	struct channel *ch = arg;
	uint32_t seq = 0, events = 0, turn = 0;

	do {
		consume_prio(ch, &events);
	} while (consume_data(ch, turn++, &seq));
	consume_prio(ch, &events);
	RACE_CHECK(seq >= ITEMS);
	RACE_CHECK(events > ITEMS / PRIO_EVERY / 4);
	return NULL;
}

static struct weir_lane *
make_lane(uint32_t depth)
{
	void *mem = aligned_alloc(WEIR_LINE_PAIR, weir_ring_lane_bytes(depth));

	RACE_CHECK(mem != NULL);
	return weir_ring_lane_init(mem, depth);
}

int
main(void)
{
	static struct channel ch;
	const struct weir_frame_mem_options opt = { .frame_cnt = FRAMES,
						    .frame_bytes = WEIR_PAGE,
						    .node = WEIR_REGION_NODE_ANY,
						    .huge = WEIR_HUGE_OFF };
	struct weir_error err;

	ch.data = make_lane(DATA_DEPTH);
	ch.prio = make_lane(PRIO_DEPTH);
	RACE_CHECK(weir_frame_mem_create(&opt, &ch.mem, &err) == 0);
	race_pair(produce, consume, &ch);
	weir_frame_mem_destroy(ch.mem); /* asserts that every frame is back */
	free(ch.data);
	free(ch.prio);
	return 0;
}
