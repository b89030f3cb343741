/*
 * Recovered lanes under gate and handler: what comes before what, and that checkpoints go on while
 * restored frames are unconsumed (R1, R2, R3).
 */

#include "engine/checkpoint/input.h"
#include "engine/exchange/recovered.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/engine/exchange/mem_lane.h"

enum { CHANNELS_MAX = 4, FRAMES_MAX = 16, LOG_MAX = 64 };

/* A channel of the test: cnt recovered frames with refs from 100 * (channel + 1) on. */
struct given {
	uint32_t cnt;
	uint32_t stage;
	bool is_virtual;
};

struct world {
	uint32_t channel_cnt;
	struct mem_channel ch[CHANNELS_MAX];
	struct weir_recovered lane[CHANNELS_MAX];
	struct weir_recovered_set set;
	uint32_t frames[CHANNELS_MAX][FRAMES_MAX];
	struct weir_input *in;
	char log[LOG_MAX * 8]; /* "0.1 0.2 S0 1.1 E2 R" */
	char kept[LOG_MAX * 8];
	uint32_t triggered, done;
};

static struct world w;

static void
keep(void *arg, uint64_t checkpoint, uint32_t channel, const struct weir_item *frame)
{
	char *kept = arg;

	(void)checkpoint;
	sprintf(kept + strlen(kept), "%u.%u ", channel, frame->seq);
}

static void
make(const struct given *given, uint32_t cnt)
{
	struct weir_gate_channel ends[CHANNELS_MAX];
	bool virtuals[CHANNELS_MAX] = { false };
	struct weir_input_config config = {
		.gate = { .channel_cnt = cnt, .channels = ends, .keep = keep, .arg = w.kept },
		.virtuals = virtuals,
	};
	struct weir_error err;

	memset(&w, 0, sizeof(w));
	w.channel_cnt = cnt;
	for (uint32_t c = 0; c < cnt; c++) {
		const struct given *g = &given[c];

		virtuals[c] = g->is_virtual;
		/* The producer's numbers go on behind the recovered frames and END_STATE. */
		mem_channel_init(&w.ch[c], g->cnt + 1);
		w.ch[c].seq = g->cnt;
		for (uint32_t i = 0; i < g->cnt; i++)
			w.frames[c][i] = 100 * (c + 1) + i;
		weir_recovered_init(&w.lane[c], &w.set, w.frames[c], g->cnt, g->stage,
				    g->is_virtual ? NULL : &w.ch[c].data.lane);
		ends[c] = (struct weir_gate_channel){
			.data = &w.lane[c].lane,
			.priority = g->is_virtual ? NULL : &w.ch[c].priority.lane,
			.events = g->is_virtual ? NULL : w.ch[c].events,
			.next_seq = 1,
		};
	}
	w.in = weir_input_create(&config, &err);
	cr_assert_not_null(w.in);
}

static void
note_updates(void)
{
	const struct weir_handler_updates u = weir_input_updates(w.in);

	for (uint32_t i = 0; i < u.cnt; i++)
		switch (u.list[i].kind) {
		case WEIR_UPDATE_TRIGGER:
			w.triggered++;
			strcat(w.log, "T ");
			break;
		case WEIR_UPDATE_DONE:
			w.done++;
			strcat(w.log, "D ");
			break;
		case WEIR_UPDATE_RECOVERED:
			strcat(w.log, "R ");
			break;
		default:
			cr_assert_fail("update %d", (int)u.list[i].kind);
		}
}

static void
note(const struct weir_burst *b)
{
	char *end = w.log + strlen(w.log);

	for (uint32_t i = 0; i < b->cnt; i++, end = w.log + strlen(w.log))
		switch (b->items[i].kind) {
		case WEIR_ITEM_DATA:
			sprintf(end, "%u.%u ", b->channel, b->items[i].seq);
			break;
		case WEIR_ITEM_END_STATE:
			sprintf(end, "S%u ", b->channel);
			break;
		case WEIR_ITEM_END:
			sprintf(end, "E%u ", b->channel);
			break;
		default:
			sprintf(end, "b%u ", b->channel);
		}
	note_updates();
}

/* Poll priority lanes, then hand out up to max items one by one; a lane may come free only after
 * its turn, so nothing is left when two rounds found nothing. */
static void
poll(uint32_t max)
{
	struct weir_burst b;

	while (weir_input_poll_priority(w.in, &b, 1) > 0)
		note(&b);
	for (uint32_t empty = 0; max > 0 && empty < 2;) {
		if (weir_input_poll(w.in, &b, 1, 1) == 0) {
			empty++;
			continue;
		}
		note(&b);
		max--;
		empty = 0;
	}
}

static void
over(void)
{
	weir_input_destroy(w.in);
}

Test(recovered, frames_then_end_of_state_then_the_real_lane_with_its_numbers)
{
	make((const struct given[]){ { .cnt = 3 } }, 1);
	mem_push_frame(&w.ch[0]);
	mem_push_event(&w.ch[0], WEIR_ITEM_END, 0);
	cr_assert_eq(weir_gate_queued(weir_input_gate(w.in), 0), 6);
	poll(100);
	cr_assert_str_eq(w.log, "0.1 0.2 0.3 S0 R 0.4 E0 ");
	cr_assert_eq(weir_gate_last_seq(weir_input_gate(w.in), 0), 4);
	over();
}

Test(recovered, new_data_of_one_channel_waits_for_the_recovered_frames_of_all)
{
	make((const struct given[]){ { .cnt = 1 }, { .cnt = 2 }, { .cnt = 0 } }, 3);
	for (uint32_t c = 0; c < 3; c++)
		mem_push_frame(&w.ch[c]);
	poll(100);
	cr_assert_str_eq(w.log, "0.1 1.1 1.2 S1 S2 S0 R 1.3 2.1 0.2 ");
	over();
}

Test(recovered, a_stage_waits_until_the_one_before_is_through)
{
	make((const struct given[]){ { .cnt = 1, .stage = 1 },
				     { .cnt = 2, .stage = 0, .is_virtual = true },
				     { .cnt = 1, .stage = 3, .is_virtual = true } },
	     3);
	mem_push_frame(&w.ch[0]);
	poll(100);
	cr_assert_str_eq(w.log, "1.1 1.2 0.1 2.1 S2 S0 S1 R E2 0.2 E1 ");
	over();
}

Test(recovered, a_frame_put_back_is_not_through)
{
	struct weir_burst b;

	make((const struct given[]){ { .cnt = 1, .stage = 0 }, { .cnt = 1, .stage = 1 } }, 2);
	cr_assert_eq(weir_input_poll(w.in, &b, 8, 1), 1);
	cr_assert_eq(b.channel, 0);
	weir_gate_put_back(weir_input_gate(w.in), &b, 1);
	/* Channel 1 is asked next and must wait; then channel 0's frame comes again. */
	poll(1);
	cr_assert_str_eq(w.log, "0.1 ");
	poll(100);
	cr_assert_str_eq(w.log, "0.1 1.1 S1 S0 R ");
	over();
}

/* R2: the barrier reaches a channel that has nothing recovered, and the checkpoint goes on. */
Test(recovered, a_checkpoint_keeps_what_is_unconsumed)
{
	make((const struct given[]){ { .cnt = 0 }, { .cnt = 3 } }, 2);
	mem_push_frame(&w.ch[0]);
	mem_push_frame(&w.ch[1]);
	poll(1);
	cr_assert_str_eq(w.log, "1.1 ");
	mem_push_barrier(&w.ch[0], 1, WEIR_BARRIER_UNALIGNED, 0);
	poll(0);
	cr_assert_eq(w.triggered, 1);
	cr_assert_eq(w.done, 0);
	mem_push_barrier(&w.ch[1], 1, WEIR_BARRIER_UNALIGNED, 0);
	mem_push_frame(&w.ch[1]);
	poll(100);
	cr_assert_eq(w.done, 1);
	cr_assert_str_eq(w.kept, "0.1 1.2 1.3 1.4 ");
	cr_assert_str_eq(w.log, "1.1 b0 T b1 D 1.2 1.3 S1 S0 R 1.4 0.1 1.5 ");
	over();
}

/* R3: it has no producer, so nobody waits for its barrier, and all that is in it is kept. */
Test(recovered, a_virtual_channel_has_delivered_every_barrier)
{
	make((const struct given[]){ { .cnt = 0 }, { .cnt = 2, .is_virtual = true } }, 2);
	mem_push_barrier(&w.ch[0], 1, WEIR_BARRIER_UNALIGNED, 0);
	poll(0);
	cr_assert_str_eq(w.log, "b0 T D ");
	cr_assert_str_eq(w.kept, "1.1 1.2 ");
	poll(100);
	cr_assert_str_eq(w.log, "b0 T D 1.1 1.2 S1 S0 R E1 ");
	mem_push_barrier(&w.ch[0], 2, WEIR_BARRIER_UNALIGNED, 0);
	poll(0);
	cr_assert_eq(w.done, 2);
	over();
}

/* T31: with every producer gone the coordinator triggers the task itself. */
Test(recovered, a_trigger_with_virtual_channels_only)
{
	const struct weir_input_trigger trigger = { .id = 7, .barrier = WEIR_BARRIER_UNALIGNED };

	make((const struct given[]){ { .cnt = 2, .is_virtual = true } }, 1);
	weir_input_trigger(w.in, &trigger, 1);
	note_updates();
	cr_assert_str_eq(w.log, "T D ");
	cr_assert_str_eq(w.kept, "0.1 0.2 ");
	over();
}

/* An aligned barrier stands behind END_STATE, so all that was recovered has been handed out. */
Test(recovered, an_aligned_barrier_comes_after_everything_recovered)
{
	make((const struct given[]){ { .cnt = 0 }, { .cnt = 2, .is_virtual = true } }, 2);
	mem_push_barrier(&w.ch[0], 1, WEIR_BARRIER_ALIGNED, 0);
	mem_push_frame(&w.ch[0]);
	poll(100);
	cr_assert_str_eq(w.log, "1.1 1.2 S1 S0 R E1 b0 T 0.1 ");
	over();
}

Test(recovered, the_real_lane_takes_its_place)
{
	struct weir_gate *gate;

	make((const struct given[]){ { .cnt = 1 } }, 1);
	gate = weir_input_gate(w.in);
	cr_assert_not(weir_recovered_is_over(&w.lane[0]));
	poll(100);
	cr_assert(weir_recovered_is_over(&w.lane[0]));
	weir_gate_replace(gate, 0, w.lane[0].real);
	mem_push_frame(&w.ch[0]);
	poll(100);
	cr_assert_str_eq(w.log, "0.1 S0 R 0.2 ");
	over();
}

Test(recovered, what_nobody_took_is_given_back)
{
	uint32_t left[FRAMES_MAX];

	make((const struct given[]){ { .cnt = 3 } }, 1);
	poll(1);
	cr_assert_eq(weir_recovered_drain(&w.lane[0], left), 2);
	cr_assert_eq(left[0], 101);
	cr_assert_eq(left[1], 102);
	over();
}
