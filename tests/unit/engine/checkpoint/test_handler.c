#include "engine/checkpoint/handler.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct weir_error err;

static struct weir_handler *
handler_of(enum weir_handler_mode mode, uint32_t channel_cnt)
{
	const struct weir_handler_config config = { .mode = mode, .channel_cnt = channel_cnt };

	return weir_handler_create(&config, &err);
}

static struct weir_handler_updates
barrier(struct weir_handler *h, uint32_t channel, uint64_t id, enum weir_barrier_kind kind)
{
	const struct weir_handler_event event = {
		.kind = WEIR_HANDLER_BARRIER,
		.channel = channel,
		.barrier = kind,
		.id = id,
		.closed = kind != WEIR_BARRIER_UNALIGNED,
	};

	return weir_handler_step(h, &event);
}

static struct weir_handler_updates
simple(struct weir_handler *h, enum weir_handler_event_kind kind, uint64_t id)
{
	const struct weir_handler_event event = { .kind = kind, .id = id };

	return weir_handler_step(h, &event);
}

static void
expect_kinds(struct weir_handler_updates updates, const enum weir_handler_update_kind *kinds,
	     uint32_t cnt)
{
	cr_assert_eq(updates.cnt, cnt);
	for (uint32_t i = 0; i < cnt; i++)
		cr_assert_eq(updates.list[i].kind, kinds[i], "update %u is %d", i,
			     (int)updates.list[i].kind);
}

#define EXPECT(updates, ...)                                                                       \
	do {                                                                                       \
		const enum weir_handler_update_kind want[] = { __VA_ARGS__ };                      \
		expect_kinds(updates, want, sizeof(want) / sizeof(want[0]));                       \
	} while (0)

Test(handler, aligned_triggers_then_opens)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_EXACTLY_ONCE, 2);

	cr_assert_eq(barrier(h, 0, 1, WEIR_BARRIER_ALIGNED).cnt, 0);
	EXPECT(barrier(h, 1, 1, WEIR_BARRIER_ALIGNED), WEIR_UPDATE_TRIGGER, WEIR_UPDATE_OPEN_ALL);
	EXPECT(barrier(h, 0, 1, WEIR_BARRIER_ALIGNED), WEIR_UPDATE_OPEN); /* stale */
	weir_handler_destroy(h);
}

Test(handler, a_refused_start_aborts_and_opens)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_EXACTLY_ONCE, 2);
	struct weir_handler_updates updates;

	EXPECT(barrier(h, 0, 1, WEIR_BARRIER_UNALIGNED), WEIR_UPDATE_MOVE, WEIR_UPDATE_START);
	updates = simple(h, WEIR_HANDLER_REFUSED, 0);
	EXPECT(updates, WEIR_UPDATE_ABORT, WEIR_UPDATE_OPEN_ALL);
	cr_assert_eq(updates.list[0].reason, WEIR_ABORT_SUBSUMED_AT_START);
	cr_assert_eq(barrier(h, 1, 1, WEIR_BARRIER_UNALIGNED).cnt, 0);
	weir_handler_destroy(h);
}

Test(handler, an_abort_comes_before_what_it_discards)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_EXACTLY_ONCE, 2);

	barrier(h, 0, 1, WEIR_BARRIER_UNALIGNED);
	EXPECT(simple(h, WEIR_HANDLER_STARTED, 0), WEIR_UPDATE_TRIGGER, WEIR_UPDATE_KEEP,
	       WEIR_UPDATE_OPEN_HELD);
	EXPECT(simple(h, WEIR_HANDLER_CANCEL, 1), WEIR_UPDATE_ABORT, WEIR_UPDATE_DISCARD,
	       WEIR_UPDATE_KEEP_STOP, WEIR_UPDATE_OPEN_ALL);
	weir_handler_destroy(h);
}

Test(handler, a_barrier_that_drops_an_older_id_keeps_its_own_channel_closed)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_EXACTLY_ONCE, 3);
	struct weir_handler_updates updates;

	barrier(h, 0, 1, WEIR_BARRIER_ALIGNED);
	updates = barrier(h, 1, 2, WEIR_BARRIER_ALIGNED);
	EXPECT(updates, WEIR_UPDATE_ABORT, WEIR_UPDATE_OPEN_ALL);
	cr_assert_eq(updates.list[1].channel, 1);
	weir_handler_destroy(h);
}

/* T4: nobody says that 1 was aborted, neither the coordinator nor a marker; the next one does. */
Test(handler, a_lost_abort_is_made_up_for_by_the_next_checkpoint)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_EXACTLY_ONCE, 2);
	struct weir_handler_updates updates;

	cr_assert_eq(barrier(h, 0, 1, WEIR_BARRIER_ALIGNED).cnt, 0);
	updates = barrier(h, 1, 2, WEIR_BARRIER_ALIGNED);
	EXPECT(updates, WEIR_UPDATE_ABORT, WEIR_UPDATE_OPEN_ALL);
	cr_assert_eq(updates.list[0].id, 1);
	cr_assert_eq(updates.list[0].reason, WEIR_ABORT_SUBSUMED);
	updates = barrier(h, 0, 2, WEIR_BARRIER_ALIGNED);
	EXPECT(updates, WEIR_UPDATE_TRIGGER, WEIR_UPDATE_OPEN_ALL);
	cr_assert_eq(updates.list[0].id, 2);
	/* It comes after all, when 3 is under way: that stays. */
	cr_assert_eq(barrier(h, 0, 3, WEIR_BARRIER_ALIGNED).cnt, 0);
	cr_assert_eq(simple(h, WEIR_HANDLER_NOTICE, 1).cnt, 0);
	cr_assert_eq(simple(h, WEIR_HANDLER_CANCEL, 1).cnt, 0);
	updates = barrier(h, 1, 3, WEIR_BARRIER_ALIGNED);
	EXPECT(updates, WEIR_UPDATE_TRIGGER, WEIR_UPDATE_OPEN_ALL);
	cr_assert_eq(updates.list[0].id, 3);
	weir_handler_destroy(h);
}

/* T4, T11: what was kept for it goes, too. */
Test(handler, a_lost_abort_of_an_unaligned_checkpoint_keeps_nothing)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_EXACTLY_ONCE, 2);
	struct weir_handler_updates updates;

	barrier(h, 0, 1, WEIR_BARRIER_UNALIGNED);
	simple(h, WEIR_HANDLER_STARTED, 0);
	updates = barrier(h, 1, 2, WEIR_BARRIER_UNALIGNED);
	EXPECT(updates, WEIR_UPDATE_ABORT, WEIR_UPDATE_DISCARD, WEIR_UPDATE_KEEP_STOP,
	       WEIR_UPDATE_OPEN_ALL, WEIR_UPDATE_MOVE, WEIR_UPDATE_START);
	cr_assert_eq(updates.list[0].id, 1);
	weir_handler_destroy(h);
}

/* T18: at least once, the one that completes drops those before it. */
Test(handler, the_tracker_outlives_a_lost_abort)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_AT_LEAST_ONCE, 2);
	struct weir_handler_updates updates;
	struct weir_handler_view view;

	cr_assert_eq(barrier(h, 0, 1, WEIR_BARRIER_ALIGNED).cnt, 0);
	cr_assert_eq(barrier(h, 0, 2, WEIR_BARRIER_ALIGNED).cnt, 0);
	updates = barrier(h, 1, 2, WEIR_BARRIER_ALIGNED);
	EXPECT(updates, WEIR_UPDATE_TRIGGER);
	cr_assert_eq(updates.list[0].id, 2);
	weir_handler_look(h, &view);
	cr_assert_eq(view.pending_cnt, 0);
	cr_assert_eq(barrier(h, 1, 1, WEIR_BARRIER_ALIGNED).cnt, 0);
	weir_handler_destroy(h);
}

Test(handler, timeouts_beyond_the_end_of_time_never_come)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_EXACTLY_ONCE, 2);
	struct weir_handler_event event = {
		.kind = WEIR_HANDLER_BARRIER,
		.barrier = WEIR_BARRIER_TIMEOUTABLE,
		.id = 1,
		.stamp_ns = INT64_MAX - 5,
		.timeout_ns = 10,
		.now_ns = INT64_MAX,
	};

	weir_handler_step(h, &event);
	cr_assert_eq(weir_handler_due(h), WEIR_HANDLER_NEVER_NS);
	event.id = 2;
	event.stamp_ns = 100;
	event.now_ns = 100;
	weir_handler_step(h, &event);
	cr_assert_eq(weir_handler_due(h), 110);
	weir_handler_destroy(h);
}

Test(handler, a_source_triggers_at_once_and_suppresses_what_was_aborted)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_EXACTLY_ONCE, 0);

	EXPECT(simple(h, WEIR_HANDLER_RPC, 1), WEIR_UPDATE_TRIGGER, WEIR_UPDATE_OPEN_ALL);
	simple(h, WEIR_HANDLER_NOTICE, 2);
	EXPECT(simple(h, WEIR_HANDLER_RPC, 2), WEIR_UPDATE_SUPPRESS, WEIR_UPDATE_OPEN_ALL);
	cr_assert_eq(simple(h, WEIR_HANDLER_RPC, 2).cnt, 0);
	weir_handler_destroy(h);
}

Test(handler, remembers_128_notices_and_distrusts_what_is_far_below)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_EXACTLY_ONCE, 0);
	struct weir_handler_view view;

	for (uint64_t id = 1; id <= 200; id++)
		simple(h, WEIR_HANDLER_NOTICE, id);
	weir_handler_look(h, &view);
	cr_assert_eq(view.remembered_cnt, WEIR_HANDLER_REMEMBER);
	EXPECT(simple(h, WEIR_HANDLER_RPC, 71), WEIR_UPDATE_SUPPRESS, WEIR_UPDATE_OPEN_ALL);
	EXPECT(simple(h, WEIR_HANDLER_RPC, 72), WEIR_UPDATE_TRIGGER, WEIR_UPDATE_OPEN_ALL);
	EXPECT(simple(h, WEIR_HANDLER_RPC, 73), WEIR_UPDATE_SUPPRESS, WEIR_UPDATE_OPEN_ALL);
	weir_handler_destroy(h);
}

Test(handler, the_tracker_aborts_everything_up_to_a_marker_in_one_step)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_AT_LEAST_ONCE, 2);
	struct weir_handler_updates updates;

	for (uint64_t id = 1; id <= WEIR_HANDLER_TRACKED_MAX; id++)
		barrier(h, 0, id, WEIR_BARRIER_ALIGNED);
	updates = simple(h, WEIR_HANDLER_CANCEL, 1000);
	cr_assert_eq(updates.cnt, WEIR_HANDLER_TRACKED_MAX + 1);
	for (uint32_t i = 0; i < WEIR_HANDLER_TRACKED_MAX; i++) {
		cr_assert_eq(updates.list[i].kind, WEIR_UPDATE_ABORT);
		cr_assert_eq(updates.list[i].id, i + 1);
	}
	cr_assert_eq(updates.list[WEIR_HANDLER_TRACKED_MAX].id, 1000);
	weir_handler_destroy(h);
}

Test(handler, a_closed_task_hears_nothing)
{
	struct weir_handler *h = handler_of(WEIR_HANDLER_EXACTLY_ONCE, 1);

	simple(h, WEIR_HANDLER_CLOSE, 0);
	cr_assert_eq(barrier(h, 0, 1, WEIR_BARRIER_ALIGNED).cnt, 0);
	cr_assert_eq(weir_handler_due(h), WEIR_HANDLER_NEVER_NS);
	weir_handler_destroy(h);
}
