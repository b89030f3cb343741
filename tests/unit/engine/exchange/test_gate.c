#include "engine/exchange/gate.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/engine/exchange/mem_lane.h"

enum { CHANNELS = 3, KEPT_MAX = 64 };

struct kept {
	uint32_t cnt;
	uint64_t id[KEPT_MAX];
	uint32_t channel[KEPT_MAX];
	uint32_t seq[KEPT_MAX];
};

static struct mem_channel channels[CHANNELS];
static struct kept kept;
static struct weir_burst burst;
static struct weir_error err;

static void
keep(void *arg, uint64_t checkpoint, uint32_t channel, const struct weir_item *frame)
{
	struct kept *k = arg;

	k->id[k->cnt] = checkpoint;
	k->channel[k->cnt] = channel;
	k->seq[k->cnt++] = frame->seq;
}

static struct weir_gate *
gate_of(uint32_t cnt, uint32_t first_ord, bool complete)
{
	struct weir_gate_channel ends[CHANNELS];
	const struct weir_gate_config config = {
		.channel_cnt = cnt,
		.channels = ends,
		.closing = true,
		.complete = complete,
		.keep = keep,
		.arg = &kept,
	};

	memset(&kept, 0, sizeof(kept));
	for (uint32_t c = 0; c < cnt; c++) {
		mem_channel_init(&channels[c], first_ord);
		ends[c] = (struct weir_gate_channel){
			.data = &channels[c].data.lane,
			.priority = &channels[c].priority.lane,
			.events = channels[c].events,
			.next_ord = first_ord,
			.next_seq = 1,
		};
	}
	return weir_gate_create(&config, &err);
}

static void
frames(uint32_t channel, uint32_t cnt)
{
	while (cnt-- > 0)
		mem_push_frame(&channels[channel]);
}

static void
expect_frames(struct weir_gate *gate, uint32_t channel, uint32_t first_seq, uint32_t cnt)
{
	cr_assert_eq(weir_gate_poll(gate, &burst, WEIR_GATE_BURST), cnt);
	cr_assert_eq(burst.is_event, false);
	cr_assert_eq(burst.channel, channel);
	for (uint32_t i = 0; i < cnt; i++)
		cr_assert_eq(burst.items[i].seq, first_seq + i);
}

static void
expect_event(struct weir_gate *gate, uint32_t channel, enum weir_item_kind kind)
{
	cr_assert_eq(weir_gate_poll(gate, &burst, WEIR_GATE_BURST), 1);
	cr_assert_eq(burst.is_event, true);
	cr_assert_eq(burst.channel, channel);
	cr_assert_eq(burst.items[0].kind, kind);
}

static void
expect_nothing(struct weir_gate *gate)
{
	struct weir_gate_fault fault;

	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 0);
	cr_assert_eq(weir_gate_poll(gate, &burst, WEIR_GATE_BURST), 0);
	cr_assert_eq(weir_gate_fault(gate, &fault, &err), 0);
}

Test(gate, hands_out_bursts_and_takes_turns)
{
	struct weir_gate *gate = gate_of(2, 0, false);

	frames(0, 20);
	frames(1, 3);
	expect_frames(gate, 0, 1, 8);
	expect_frames(gate, 1, 1, 3);
	expect_frames(gate, 0, 9, 8);
	expect_frames(gate, 0, 17, 4);
	expect_nothing(gate);
	cr_assert_eq(weir_gate_last_seq(gate, 0), 20);
	weir_gate_destroy(gate);
}

Test(gate, max_limits_a_burst_and_zero_takes_nothing)
{
	struct weir_gate *gate = gate_of(1, 0, false);

	frames(0, 5);
	cr_assert_eq(weir_gate_poll(gate, &burst, 0), 0);
	cr_assert_eq(weir_gate_poll(gate, &burst, 2), 2);
	expect_frames(gate, 0, 3, 3);
	weir_gate_destroy(gate);
}

Test(gate, an_event_is_alone_and_closes_before_what_is_behind_it)
{
	struct weir_gate *gate = gate_of(1, 0, false);

	frames(0, 2);
	mem_push_barrier(&channels[0], 1, WEIR_BARRIER_ALIGNED, 0);
	frames(0, 20);
	expect_frames(gate, 0, 1, 2);
	expect_event(gate, 0, WEIR_ITEM_BARRIER);
	cr_assert(burst.closed);
	cr_assert_eq(burst.event.checkpoint, 1);
	cr_assert(weir_gate_is_closed(gate, 0));
	expect_nothing(gate);
	/* What is behind the barrier stayed in the ring, but for the one look-ahead. */
	cr_assert_geq(weir_lane_count(&channels[0].data.lane), 20 - WEIR_GATE_BURST);
	cr_assert_eq(weir_gate_queued(gate, 0), 20);
	weir_gate_open(gate, 0);
	expect_frames(gate, 0, 3, 5); /* the look-ahead */
	expect_frames(gate, 0, 8, 8);
	cr_assert_eq(mem_event_refs(&channels[0]), 0);
	weir_gate_destroy(gate);
}

Test(gate, numbers_wrap)
{
	struct weir_gate *gate = gate_of(1, UINT32_MAX - 2, false);

	frames(0, 2);
	mem_push_barrier(&channels[0], 1, WEIR_BARRIER_ALIGNED, 0); /* number UINT32_MAX */
	frames(0, 1);
	mem_push_barrier(&channels[0], 2, WEIR_BARRIER_UNALIGNED, 0);
	frames(0, 1);
	expect_frames(gate, 0, 1, 2);
	expect_event(gate, 0, WEIR_ITEM_BARRIER);
	expect_nothing(gate);
	weir_gate_open(gate, 0);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	expect_frames(gate, 0, 3, 2);
	expect_nothing(gate);
	weir_gate_destroy(gate);
}

Test(gate, nothing_behind_an_unaligned_barrier_before_it)
{
	struct weir_gate *gate = gate_of(1, 0, false);

	frames(0, 1);
	mem_push_barrier(&channels[0], 1, WEIR_BARRIER_UNALIGNED, 0);
	frames(0, 2);
	/* The priority lane was not polled: frame 2 waits all the same. */
	expect_frames(gate, 0, 1, 1);
	cr_assert_eq(weir_gate_poll(gate, &burst, WEIR_GATE_BURST), 0);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	cr_assert_eq(burst.event.barrier, WEIR_BARRIER_UNALIGNED);
	cr_assert_not(burst.closed);
	expect_frames(gate, 0, 2, 2);
	expect_nothing(gate);
	weir_gate_destroy(gate);
}

Test(gate, a_gap_fails_the_channel_by_name_once)
{
	struct weir_gate *gate = gate_of(2, 0, false);
	struct weir_gate_fault fault;

	frames(1, 2);
	channels[1].ord++; /* one is lost */
	frames(1, 3);
	frames(0, 1);
	expect_frames(gate, 0, 1, 1);
	expect_frames(gate, 1, 1, 2);
	cr_assert_eq(weir_gate_poll(gate, &burst, WEIR_GATE_BURST), 0);
	cr_assert_eq(weir_gate_fault(gate, &fault, &err), WEIR_ERR_FAILED);
	cr_assert_eq(fault.channel, 1);
	cr_assert_eq(fault.want_ord, 2);
	cr_assert_eq(fault.got_ord, 3);
	cr_assert_not_null(strstr(err.text, "channel 1"));
	cr_assert_eq(weir_gate_fault(gate, &fault, &err), 0);
	frames(0, 1);
	expect_frames(gate, 0, 2, 1);
	expect_nothing(gate);
	weir_gate_destroy(gate);
}

Test(gate, a_repeated_frame_number_fails_the_channel)
{
	struct weir_gate *gate = gate_of(1, 0, false);
	struct weir_gate_fault fault;

	frames(0, 2);
	channels[0].seq--;
	frames(0, 1);
	expect_frames(gate, 0, 1, 2);
	cr_assert_eq(weir_gate_poll(gate, &burst, WEIR_GATE_BURST), 0);
	cr_assert_eq(weir_gate_fault(gate, &fault, &err), WEIR_ERR_FAILED);
	cr_assert_eq(fault.want_seq, 3);
	cr_assert_eq(fault.got_seq, 2);
	weir_gate_destroy(gate);
}

Test(gate, frames_given_back_come_again_and_in_order)
{
	struct weir_gate *gate = gate_of(1, 0, false);

	frames(0, 2);
	mem_push_barrier(&channels[0], 1, WEIR_BARRIER_UNALIGNED, 0);
	frames(0, 3);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	expect_frames(gate, 0, 1, 5);
	weir_gate_put_back(gate, &burst, 4);
	cr_assert_eq(weir_gate_last_seq(gate, 0), 1);
	cr_assert_eq(weir_gate_poll(gate, &burst, 2), 2);
	cr_assert_eq(burst.items[0].seq, 2);
	weir_gate_put_back(gate, &burst, 1);
	expect_frames(gate, 0, 3, 3);
	frames(0, 1);
	expect_frames(gate, 0, 6, 1);
	expect_nothing(gate);
	weir_gate_destroy(gate);
}

Test(gate, an_announced_barrier_is_taken_ahead_and_dropped_in_its_place)
{
	struct weir_gate *gate = gate_of(1, 0, false);
	struct weir_gate_event barrier;

	frames(0, 3);
	mem_push_barrier(&channels[0], 5, WEIR_BARRIER_TIMEOUTABLE, 10);
	frames(0, 2);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	cr_assert_eq(burst.items[0].kind, WEIR_ITEM_ANNOUNCE);
	barrier = burst.event;
	weir_gate_move(gate, 0, 3, 3, &barrier);
	weir_gate_move(gate, 0, 3, 3, &barrier); /* twice is once */
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	cr_assert_eq(burst.items[0].kind, WEIR_ITEM_BARRIER);
	cr_assert_eq(burst.items[0].ord, 3);
	cr_assert_eq(burst.event.checkpoint, 5);
	cr_assert(burst.closed);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 0);
	/* What it overtook still flows, what is behind it does not. */
	expect_frames(gate, 0, 1, 3);
	expect_nothing(gate);
	weir_gate_open(gate, 0);
	expect_frames(gate, 0, 4, 2);
	expect_nothing(gate);
	cr_assert_eq(mem_event_refs(&channels[0]), 0);
	weir_gate_destroy(gate);
}

/* R1 with T7: each of the two closes the channel, whichever is lifted first. */
Test(gate, the_end_of_restored_frames_closes_before_a_barrier_taken_ahead)
{
	struct weir_gate *gate = gate_of(1, 0, false);
	struct weir_gate_event barrier;

	frames(0, 1);
	mem_push_event(&channels[0], WEIR_ITEM_END_STATE, 0);
	frames(0, 2);
	mem_push_barrier(&channels[0], 5, WEIR_BARRIER_TIMEOUTABLE, 10);
	frames(0, 1);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	barrier = burst.event;
	weir_gate_move(gate, 0, 4, 3, &barrier);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	expect_frames(gate, 0, 1, 1);
	expect_event(gate, 0, WEIR_ITEM_END_STATE);
	expect_nothing(gate);
	weir_gate_open_restored(gate); /* the barrier still closes it */
	cr_assert(weir_gate_is_closed(gate, 0));
	expect_frames(gate, 0, 2, 2);
	expect_nothing(gate);
	weir_gate_open(gate, 0);
	cr_assert(!weir_gate_is_closed(gate, 0));
	expect_frames(gate, 0, 4, 1);
	weir_gate_destroy(gate);
}

Test(gate, a_barrier_met_in_its_place_is_not_taken_ahead_as_well)
{
	struct weir_gate *gate = gate_of(1, 0, false);
	const struct weir_gate_event barrier = { .checkpoint = 5,
						 .barrier = WEIR_BARRIER_TIMEOUTABLE };

	mem_push_barrier(&channels[0], 5, WEIR_BARRIER_TIMEOUTABLE, 10);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	weir_gate_move(gate, 0, 0, 0, &barrier);
	expect_event(gate, 0, WEIR_ITEM_BARRIER);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 0);
	weir_gate_move(gate, 0, 0, 0, &barrier); /* out already */
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 0);
	weir_gate_destroy(gate);
}

static void
expect_kept(uint32_t idx, uint64_t id, uint32_t channel, uint32_t seq)
{
	cr_assert_lt(idx, kept.cnt);
	cr_assert_eq(kept.id[idx], id);
	cr_assert_eq(kept.channel[idx], channel);
	cr_assert_eq(kept.seq[idx], seq);
}

Test(gate, a_capture_keeps_what_is_queued_and_what_comes_each_once)
{
	struct weir_gate *gate = gate_of(1, 0, false);

	frames(0, 3);
	cr_assert_eq(weir_gate_poll(gate, &burst, 1), 1);
	weir_gate_keep(gate, 0, 7);
	weir_gate_look(gate, 0);
	cr_assert_eq(kept.cnt, 2);
	expect_kept(0, 7, 0, 2);
	frames(0, 1);
	expect_frames(gate, 0, 2, 3);
	cr_assert_eq(kept.cnt, 3);
	expect_kept(2, 7, 0, 4);
	/* Given back and handed out again: not kept again. */
	weir_gate_put_back(gate, &burst, 3);
	expect_frames(gate, 0, 2, 3);
	cr_assert_eq(kept.cnt, 3);
	frames(0, 1);
	mem_push_barrier(&channels[0], 7, WEIR_BARRIER_UNALIGNED, 0);
	frames(0, 1);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	weir_gate_keep_until(gate, 0, burst.items[0].seq);
	cr_assert_eq(kept.cnt, 4);
	expect_kept(3, 7, 0, 5);
	expect_frames(gate, 0, 5, 2);
	cr_assert_eq(kept.cnt, 4);
	weir_gate_destroy(gate);
}

/* Take the last cnt frames back from the lane: the producer holds them. */
static void
hold_back(struct mem_channel *ch, struct weir_item *held, uint32_t cnt)
{
	ch->data.tail -= cnt;
	for (uint32_t i = 0; i < cnt; i++)
		held[i] = ch->data.items[(ch->data.tail + i) % MEM_LANE_ITEMS];
	ch->seq -= cnt;
}

Test(gate, a_capture_stops_at_what_the_producer_held)
{
	struct weir_gate *gate = gate_of(1, 0, false);
	struct weir_item held[2];

	/* Frames 2 and 3 have numbers below the barrier, but were not in the lane. */
	frames(0, 3);
	hold_back(&channels[0], held, 2);
	weir_gate_keep(gate, 0, 7);
	weir_gate_look(gate, 0);
	cr_assert_eq(kept.cnt, 1);
	mem_push_barrier(&channels[0], 7, WEIR_BARRIER_UNALIGNED, 0);
	cr_assert_eq(weir_lane_push(&channels[0].data.lane, held, 2), 2);
	expect_frames(gate, 0, 1, 3);
	cr_assert_eq(kept.cnt, 1);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	expect_nothing(gate);
	weir_gate_destroy(gate);
}

Test(gate, a_held_channel_stops_behind_the_barrier_and_at_what_the_producer_held)
{
	struct weir_gate *gate = gate_of(1, 0, false);
	struct weir_item held[1];

	frames(0, 3);
	hold_back(&channels[0], held, 1);
	mem_push_barrier(&channels[0], 7, WEIR_BARRIER_UNALIGNED, 0);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	weir_gate_hold(gate, 0, burst.items[0].ord, burst.items[0].seq);
	cr_assert_eq(weir_lane_push(&channels[0].data.lane, held, 1), 1);
	channels[0].seq = 3;
	frames(0, 1);
	expect_frames(gate, 0, 1, 2);
	expect_nothing(gate);
	weir_gate_open_held(gate);
	expect_frames(gate, 0, 3, 2);
	weir_gate_destroy(gate);
}

Test(gate, a_held_channel_hands_out_nothing_behind_the_barriers_number)
{
	struct weir_gate *gate = gate_of(1, 0, false);

	frames(0, 1);
	mem_push_barrier(&channels[0], 7, WEIR_BARRIER_UNALIGNED, 0);
	mem_push_event(&channels[0], WEIR_ITEM_CANCEL, 8);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	weir_gate_hold(gate, 0, burst.items[0].ord, burst.items[0].seq);
	cr_assert_eq(weir_gate_poll(gate, &burst, 1), 1);
	expect_nothing(gate);
	weir_gate_open_held(gate);
	expect_event(gate, 0, WEIR_ITEM_CANCEL);
	weir_gate_destroy(gate);
}

Test(gate, looking_finds_a_missing_item_before_the_barrier_only_if_nothing_is_held_back)
{
	struct weir_gate_fault fault;
	struct weir_gate *gate = gate_of(1, 0, true);

	channels[0].ord++;
	mem_push_barrier(&channels[0], 7, WEIR_BARRIER_UNALIGNED, 0);
	weir_gate_look(gate, 0);
	cr_assert_eq(weir_gate_fault(gate, &fault, &err), WEIR_ERR_FAILED);
	weir_gate_destroy(gate);

	gate = gate_of(1, 0, false);
	channels[0].ord++;
	mem_push_barrier(&channels[0], 7, WEIR_BARRIER_UNALIGNED, 0);
	weir_gate_look(gate, 0);
	cr_assert_eq(weir_gate_fault(gate, &fault, &err), 0);
	weir_gate_destroy(gate);
}

Test(gate, sees_a_newer_barrier_only_where_it_could_be_handed_out)
{
	struct weir_gate *gate = gate_of(2, 0, false);

	mem_push_barrier(&channels[0], 1, WEIR_BARRIER_ALIGNED, 0);
	mem_push_barrier(&channels[0], 3, WEIR_BARRIER_UNALIGNED, 0);
	expect_event(gate, 0, WEIR_ITEM_BARRIER);
	cr_assert_not(weir_gate_sees_newer(gate, 2));
	weir_gate_open(gate, 0);
	cr_assert(weir_gate_sees_newer(gate, 2));
	cr_assert_not(weir_gate_sees_newer(gate, 3));
	weir_gate_destroy(gate);
}

Test(gate, has_nothing_after_the_end)
{
	struct weir_gate *gate = gate_of(1, 0, false);

	frames(0, 1);
	mem_push_event(&channels[0], WEIR_ITEM_END_DATA, 0);
	mem_push_event(&channels[0], WEIR_ITEM_END, 0);
	expect_frames(gate, 0, 1, 1);
	expect_event(gate, 0, WEIR_ITEM_END_DATA);
	expect_event(gate, 0, WEIR_ITEM_END);
	expect_nothing(gate);
	cr_assert_eq(mem_event_refs(&channels[0]), 0);
	weir_gate_destroy(gate);
}

Test(gate, a_burst_never_takes_more_than_can_be_given_back)
{
	struct weir_gate *gate = gate_of(1, 0, false);

	frames(0, 3);
	mem_push_barrier(&channels[0], 5, WEIR_BARRIER_TIMEOUTABLE, 10);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	weir_gate_move(gate, 0, 3, 3, &burst.event);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	weir_gate_open(gate, 0);
	frames(0, 20);
	/* Behind the third frame the taken barrier is dropped: the lane is not asked again for this
	 * burst, however much room it has. */
	for (uint32_t next = 1; next <= 23;) {
		const uint32_t cnt = weir_gate_poll(gate, &burst, WEIR_GATE_BURST);

		cr_assert_gt(cnt, 0);
		weir_gate_put_back(gate, &burst, cnt);
		cr_assert_eq(weir_gate_poll(gate, &burst, WEIR_GATE_BURST), cnt);
		cr_assert_eq(burst.items[0].seq, next);
		next += cnt;
	}
	expect_nothing(gate);
	weir_gate_destroy(gate);
}

static void
barrier_and_a_frame_come(void)
{
	mem_push_barrier(&channels[0], 7, WEIR_BARRIER_UNALIGNED, 0);
	frames(0, 1);
}

/* The barrier comes between the look at one lane and the look at the other. */
static void
expect_one_kept(struct mem_lane *lane)
{
	struct weir_gate_fault fault;
	struct weir_gate *gate = gate_of(1, 0, false);

	frames(0, 1);
	weir_gate_keep(gate, 0, 7);
	lane->before_peek = barrier_and_a_frame_come;
	weir_gate_look(gate, 0);
	weir_gate_look(gate, 0);
	cr_assert_eq(weir_gate_fault(gate, &fault, &err), 0);
	cr_assert_eq(kept.cnt, 1);
	cr_assert_eq(weir_gate_poll_priority(gate, &burst), 1);
	expect_frames(gate, 0, 1, 2);
	cr_assert_eq(kept.cnt, 1);
	weir_gate_destroy(gate);
}

Test(gate, a_barrier_that_comes_during_a_look_bounds_the_capture)
{
	expect_one_kept(&channels[0].data);
	expect_one_kept(&channels[0].priority);
}
