/*
 * Gate and handler together: every interleaving of what two or three channels send, under several
 * ways of polling. The property is the promise of checkpointing.md, section 0: at a checkpoint,
 * what was handed out and what was kept of a channel is exactly what was sent before its barrier.
 */

#include "engine/checkpoint/input.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/engine/exchange/mem_lane.h"

enum { CHANNELS_MAX = 3, SCRIPT_MAX = 8, KEPT_MAX = 16, IDS = 3 };

/* How the task polls between two items sent. */
enum polling { POLL_ALL, POLL_ONE, POLL_AT_END, POLL_DATA_FIRST, POLL_KINDS };

struct cut {
	uint32_t triggered;
	bool done;
	uint32_t handed[CHANNELS_MAX]; /* at the trigger */
	uint32_t kept_cnt[CHANNELS_MAX];
	uint32_t kept[CHANNELS_MAX][KEPT_MAX];
};

/*
 * One run. A script is what a channel sends: d a frame; b, c aligned barriers 1, 2; t one that may
 * time out, at once; u an unaligned barrier 1; v one of 2; x a cancel marker 1; e the end.
 */
struct run {
	const char *scripts[CHANNELS_MAX];
	uint32_t channel_cnt;
	struct mem_channel channels[CHANNELS_MAX];
	struct weir_input *in;
	struct cut cuts[IDS];
	uint32_t handed[CHANNELS_MAX];
	uint32_t aborts;
	const char *order; /* of this interleaving, for messages */
};

static struct run run;

static void
keep(void *arg, uint64_t checkpoint, uint32_t channel, const struct weir_item *frame)
{
	struct run *r = arg;
	struct cut *cut = &r->cuts[checkpoint];

	cr_assert_lt(cut->kept_cnt[channel], KEPT_MAX);
	cut->kept[channel][cut->kept_cnt[channel]++] = frame->seq;
}

static void
start(void)
{
	struct weir_gate_channel ends[CHANNELS_MAX];
	const struct weir_input_config config = {
		.gate = { .channel_cnt = run.channel_cnt,
			  .channels = ends,
			  .keep = keep,
			  .arg = &run },
	};
	struct weir_error err;

	for (uint32_t c = 0; c < run.channel_cnt; c++) {
		mem_channel_init(&run.channels[c], 0);
		ends[c] = (struct weir_gate_channel){
			.data = &run.channels[c].data.lane,
			.priority = &run.channels[c].priority.lane,
			.events = run.channels[c].events,
			.next_seq = 1,
		};
		run.handed[c] = 0;
	}
	memset(run.cuts, 0, sizeof(run.cuts));
	run.aborts = 0;
	run.in = weir_input_create(&config, &err);
	cr_assert_not_null(run.in);
}

static void
take_updates(void)
{
	const struct weir_handler_updates updates = weir_input_updates(run.in);

	for (uint32_t i = 0; i < updates.cnt; i++) {
		const struct weir_handler_update *u = &updates.list[i];
		struct cut *cut = &run.cuts[u->id % IDS];

		switch (u->kind) {
		case WEIR_UPDATE_TRIGGER:
			cut->triggered++;
			cut->done = !u->unaligned;
			memcpy(cut->handed, run.handed, sizeof(cut->handed));
			break;
		case WEIR_UPDATE_DONE:
			cut->done = true;
			break;
		case WEIR_UPDATE_ABORT:
			run.aborts++;
			break;
		case WEIR_UPDATE_DISCARD:
			break;
		default:
			cr_assert_fail("update %d in order %s", (int)u->kind, run.order);
		}
	}
}

static bool
poll_data(uint32_t max)
{
	struct weir_burst burst;

	if (weir_input_poll(run.in, &burst, max, 1) == 0) {
		take_updates();
		return false;
	}
	if (!burst.is_event)
		for (uint32_t i = 0; i < burst.cnt; i++)
			cr_assert_eq(burst.items[i].seq, ++run.handed[burst.channel]);
	take_updates();
	return true;
}

static bool
poll_priority(void)
{
	struct weir_burst burst;
	const bool any = weir_input_poll_priority(run.in, &burst, 1) > 0;

	take_updates();
	return any;
}

static void
timers(void)
{
	if (weir_input_due(run.in) <= 1) {
		weir_input_timers(run.in, 1);
		take_updates();
	}
}

static void
poll_everything(void)
{
	bool any = true;

	while (any) {
		any = false;
		while (poll_priority())
			any = true;
		timers();
		any |= poll_data(WEIR_GATE_BURST);
	}
}

static void
poll_between(enum polling polling)
{
	switch (polling) {
	case POLL_ALL:
		poll_everything();
		break;
	case POLL_ONE:
		poll_priority();
		poll_data(1);
		break;
	case POLL_DATA_FIRST:
		poll_data(2);
		timers();
		poll_priority();
		break;
	case POLL_AT_END:
	case POLL_KINDS:
		break;
	}
}

static void
send(uint32_t channel, char what)
{
	struct mem_channel *ch = &run.channels[channel];

	switch (what) {
	case 'd':
		mem_push_frame(ch);
		break;
	case 'b':
		mem_push_barrier(ch, 1, WEIR_BARRIER_ALIGNED, 0);
		break;
	case 'c':
		mem_push_barrier(ch, 2, WEIR_BARRIER_ALIGNED, 0);
		break;
	case 't':
		mem_push_barrier(ch, 1, WEIR_BARRIER_TIMEOUTABLE, 0);
		break;
	case 'u':
		mem_push_barrier(ch, 1, WEIR_BARRIER_UNALIGNED, 0);
		break;
	case 'v':
		mem_push_barrier(ch, 2, WEIR_BARRIER_UNALIGNED, 0);
		break;
	case 'x':
		mem_push_event(ch, WEIR_ITEM_CANCEL, 1);
		break;
	case 'e':
		mem_push_event(ch, WEIR_ITEM_END, 0);
		break;
	default:
		cr_assert_fail("no such item");
	}
}

/* Frames before the barrier of id in a script; all of them if it has none. */
static uint32_t
frames_before(const char *script, uint64_t id)
{
	uint32_t cnt = 0;

	for (; *script != '\0'; script++) {
		if (strchr(id == 1 ? "btu" : "cv", *script) != NULL)
			break;
		if (*script == 'd')
			cnt++;
	}
	return cnt;
}

static void
check_cut(uint64_t id)
{
	const struct cut *cut = &run.cuts[id];

	for (uint32_t c = 0; c < run.channel_cnt; c++) {
		const uint32_t m = frames_before(run.scripts[c], id);
		uint32_t k = cut->handed[c];

		cr_assert_leq(k, m, "channel %u, order %s: %u overtook the barrier", c, run.order,
			      k);
		for (uint32_t i = 0; i < cut->kept_cnt[c]; i++)
			cr_assert_eq(cut->kept[c][i], ++k, "channel %u, order %s", c, run.order);
		cr_assert_eq(k, m, "channel %u, order %s: kept up to %u of %u", c, run.order, k, m);
	}
}

static void
check_end(uint64_t last_id, bool may_abort)
{
	for (uint64_t id = 1; id <= last_id; id++) {
		const struct cut *cut = &run.cuts[id];

		if (may_abort && !(cut->triggered == 1 && cut->done))
			continue;
		cr_assert_eq(cut->triggered, 1, "checkpoint %lu, order %s", (unsigned long)id,
			     run.order);
		cr_assert(cut->done, "order %s", run.order);
		check_cut(id);
	}
	if (!may_abort)
		cr_assert_eq(run.aborts, 0);
	for (uint32_t c = 0; c < run.channel_cnt; c++) {
		cr_assert_eq(run.handed[c], run.channels[c].seq, "order %s", run.order);
		cr_assert_eq(mem_event_refs(&run.channels[c]), 0);
		cr_assert_not(weir_gate_is_closed(weir_input_gate(run.in), c));
	}
}

/* The next order of channel digits, as sorted text; false after the last. */
static bool
next_order(char *order, size_t len)
{
	size_t i = len - 1, j = len - 1;

	while (i > 0 && order[i - 1] >= order[i])
		i--;
	if (i == 0)
		return false;
	while (order[j] <= order[i - 1])
		j--;
	for (char swap = order[i - 1];;) {
		order[i - 1] = order[j];
		order[j] = swap;
		break;
	}
	for (j = len - 1; i < j; i++, j--) {
		const char swap = order[i];

		order[i] = order[j];
		order[j] = swap;
	}
	return true;
}

static void
run_order(const char *order, enum polling polling, uint64_t last_id, bool may_abort)
{
	uint32_t at[CHANNELS_MAX] = { 0 };

	run.order = order;
	start();
	for (const char *o = order; *o != '\0'; o++) {
		const uint32_t c = (uint32_t)(*o - '0');

		send(c, run.scripts[c][at[c]++]);
		poll_between(polling);
	}
	poll_everything();
	check_end(last_id, may_abort);
	weir_input_destroy(run.in);
}

static void
every_order(const char *a, const char *b, const char *c, uint64_t last_id, bool may_abort)
{
	const char *scripts[] = { a, b, c };
	char order[CHANNELS_MAX * SCRIPT_MAX] = "";
	size_t len = 0;

	run.channel_cnt = c != NULL ? 3 : 2;
	for (uint32_t i = 0; i < run.channel_cnt; i++) {
		run.scripts[i] = scripts[i];
		for (size_t n = 0; n < strlen(scripts[i]); n++)
			order[len++] = (char)('0' + i);
	}
	do {
		for (uint32_t p = 0; p < POLL_KINDS; p++)
			run_order(order, (enum polling)p, last_id, may_abort);
	} while (next_order(order, len));
}

Test(input, every_interleaving_aligned)
{
	every_order("dbd", "bdd", "ddb", 1, false);
	every_order("dbdc", "bcdd", NULL, 2, false);
	every_order("dbcd", "bdcd", "bcd", 2, false);
}

Test(input, every_interleaving_unaligned)
{
	every_order("dud", "udd", "ddu", 1, false);
	every_order("duvd", "ddud", NULL, 1, true);
	every_order("ddud", "dudd", "uddd", 1, false);
}

Test(input, every_interleaving_with_a_timeout)
{
	every_order("dtd", "tdd", "ddt", 1, false);
	every_order("ddtd", "dtdd", NULL, 1, false);
	every_order("dtdd", "dudd", "ddtd", 1, false);
	every_order("dtd", "ddud", "bdd", 1, false);
}

Test(input, every_interleaving_with_an_end)
{
	every_order("dbd", "de", "dbe", 1, false);
	every_order("dud", "dde", "ddu", 1, false);
	every_order("dtd", "dde", "ddt", 1, false);
}

Test(input, every_interleaving_with_a_cancel_marker)
{
	every_order("dbdc", "xdc", "bddc", 2, true);
	every_order("dudv", "xdv", "dudv", 2, true);
	every_order("dtdv", "dxdv", NULL, 2, true);
}

Test(input, every_interleaving_of_two_ids)
{
	every_order("dudv", "duvd", NULL, 2, true);
	every_order("dtdv", "tdvd", NULL, 2, true);
	every_order("dbdv", "bdvd", "dvd", 2, true);
	every_order("dtdc", "udcd", NULL, 2, true);
}
