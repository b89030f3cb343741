#include "engine/exchange/overdraft.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/engine/exchange/mem_lane.h"

enum { KEPT_MAX = 32 };

static struct weir_overdraft out;
static struct mem_lane data, priority;
static struct weir_event events[8];
static uint32_t ord, seq;
static uint32_t kept_cnt, kept[KEPT_MAX];
static uint32_t settled_cnt;
static uint64_t settled_id;
static enum weir_output_capture settled_how;

static void
keep(void *arg, uint64_t checkpoint, const struct weir_item *frame)
{
	(void)arg;
	(void)checkpoint;
	kept[kept_cnt++] = frame->seq;
}

static void
settled(void *arg, uint64_t checkpoint, enum weir_output_capture how)
{
	(void)arg;
	settled_cnt++;
	settled_id = checkpoint;
	settled_how = how;
}

static void
start(uint32_t depth)
{
	mem_lane_init(&data);
	mem_lane_init(&priority);
	data.lane.depth = depth;
	memset(events, 0, sizeof(events));
	ord = 0;
	seq = 0;
	kept_cnt = 0;
	settled_cnt = 0;
	weir_overdraft_init(&out, &data.lane, &priority.lane);
	weir_overdraft_checkpoints(&out, &(struct weir_overdraft_config){ .events = events,
									  .keep = keep,
									  .settled = settled });
}

static void
frames(uint32_t cnt)
{
	while (cnt-- > 0) {
		const struct weir_item item = {
			.ref = seq + 1, .seq = seq + 1, .ord = ord++, .kind = WEIR_ITEM_DATA
		};

		seq++;
		weir_overdraft_send(&out, &item);
	}
}

static void
barrier(uint32_t slot, enum weir_barrier_kind kind)
{
	const struct weir_item item = {
		.ref = slot, .seq = seq, .ord = ord++, .kind = WEIR_ITEM_BARRIER
	};

	events[slot].checkpoint = slot;
	events[slot].barrier = kind;
	events[slot].refs = 1;
	weir_overdraft_send(&out, &item);
}

static struct weir_item
take(struct mem_lane *lane)
{
	struct weir_item item = { 0 };

	cr_assert_eq(weir_lane_pop(&lane->lane, &item, 1), 1);
	return item;
}

Test(overdraft, keeps_order_and_loses_nothing)
{
	start(2);
	frames(5);
	cr_assert_eq(weir_overdraft_cnt(&out), 3);
	cr_assert_not(weir_overdraft_flush(&out));
	for (uint32_t i = 1; i <= 5; i++) {
		cr_assert_eq(take(&data).seq, i);
		weir_overdraft_flush(&out);
	}
	cr_assert_eq(weir_overdraft_cnt(&out), 0);
	cr_assert(weir_overdraft_flush(&out));
}

Test(overdraft, an_unaligned_barrier_names_the_last_frame_in_the_lane_and_keeps_the_rest)
{
	start(2);
	frames(4);
	barrier(1, WEIR_BARRIER_UNALIGNED);
	cr_assert_eq(take(&priority).seq, 2);
	cr_assert_eq(kept_cnt, 2);
	cr_assert_eq(kept[0], 3);
	cr_assert_eq(kept[1], 4);
	cr_assert_eq(settled_cnt, 1);
	cr_assert_eq(settled_how, WEIR_OUTPUT_CAPTURED);
}

Test(overdraft, what_was_overtaken_stays_until_the_barrier_was_taken)
{
	start(2);
	frames(3);
	barrier(1, WEIR_BARRIER_UNALIGNED);
	take(&data);
	take(&data);
	cr_assert_not(weir_overdraft_flush(&out));
	cr_assert_eq(weir_lane_count(&data.lane), 0);
	take(&priority);
	cr_assert(weir_overdraft_flush(&out));
	cr_assert_eq(take(&data).seq, 3);
}

Test(overdraft, regress_nothing_passes_a_barrier_that_the_priority_lane_refused)
{
	start(8);
	priority.lane.depth = 1;
	barrier(1, WEIR_BARRIER_UNALIGNED);
	barrier(2, WEIR_BARRIER_UNALIGNED);
	frames(1);
	cr_assert_eq(weir_lane_count(&data.lane), 0);
	cr_assert_eq(take(&priority).ref, 1);
	cr_assert(weir_overdraft_flush(&out));
	cr_assert_eq(take(&priority).ref, 2);
	cr_assert_eq(take(&data).ord, 2);
	cr_assert_eq(kept_cnt, 0);
}

Test(overdraft, a_barrier_that_may_time_out_is_announced_when_it_enters_the_lane)
{
	start(1);
	frames(1);
	barrier(1, WEIR_BARRIER_TIMEOUTABLE);
	cr_assert_eq(weir_lane_count(&priority.lane), 0);
	cr_assert_eq(settled_cnt, 0);
	take(&data);
	cr_assert(weir_overdraft_flush(&out));
	cr_assert_eq(take(&priority).kind, WEIR_ITEM_ANNOUNCE);
	cr_assert_eq(events[1].refs, 2);
	cr_assert_eq(settled_cnt, 1);
	cr_assert_eq(kept_cnt, 0);
}

Test(overdraft, without_room_the_announcement_is_dropped_with_its_reference)
{
	start(4);
	priority.lane.depth = 0;
	barrier(1, WEIR_BARRIER_TIMEOUTABLE);
	cr_assert_eq(events[1].refs, 1);
	cr_assert_eq(weir_overdraft_cnt(&out), 0);
}

Test(overdraft, its_time_up_a_held_barrier_goes_ahead)
{
	start(1);
	frames(3);
	barrier(1, WEIR_BARRIER_TIMEOUTABLE);
	frames(1);
	weir_overdraft_timeout(&out, 2); /* another one's */
	cr_assert_eq(settled_cnt, 0);
	weir_overdraft_timeout(&out, 1);
	cr_assert_eq(settled_id, 1);
	cr_assert_eq(kept_cnt, 2);
	cr_assert_eq(events[1].refs, 1);
	cr_assert_eq(take(&priority).ord, 3);
	weir_overdraft_timeout(&out, 1); /* once */
	cr_assert_eq(settled_cnt, 1);
	for (uint32_t i = 1; i <= 4; i++) {
		cr_assert_eq(take(&data).seq, i);
		weir_overdraft_flush(&out);
	}
}

Test(overdraft, an_abort_leaves_the_barrier_where_it_is)
{
	start(1);
	frames(2);
	barrier(1, WEIR_BARRIER_TIMEOUTABLE);
	weir_overdraft_abort(&out, 1);
	cr_assert_eq(settled_how, WEIR_OUTPUT_ABORTED);
	weir_overdraft_timeout(&out, 1);
	cr_assert_eq(weir_overdraft_cnt(&out), 2);
	cr_assert_eq(kept_cnt, 0);
}

Test(overdraft, without_checkpoints_everything_keeps_its_order)
{
	start(8);
	weir_overdraft_init(&out, &data.lane, &priority.lane);
	frames(1);
	barrier(1, WEIR_BARRIER_UNALIGNED);
	cr_assert_eq(weir_lane_count(&priority.lane), 0);
	cr_assert_eq(weir_lane_count(&data.lane), 2);
}
