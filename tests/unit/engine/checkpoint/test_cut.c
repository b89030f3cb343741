/*
 * Producers with an overdraft, lanes of a few items, a consumer: random runs from a seed. For every
 * checkpoint that completes, on every channel: handed out before the snapshot (k), then kept by the
 * consumer, then kept by the producer, without a gap and without a repetition, up to what was sent
 * before the barrier (m).
 */

#include <criterion/criterion.h>
#include <string.h>

#include "engine/base/rng.h"
#include "engine/checkpoint/input.h"
#include "engine/exchange/overdraft.h"
#include "tests/unit/engine/exchange/mem_lane.h"

enum { CHANNELS = 3, IDS = 40, KEPT_MAX = 64, STEPS = 2000, SLOTS = 4 * IDS };

/* What is known of a checkpoint. */
struct cut {
	bool triggered, done;
	bool forced_out; /* given up by someone */
	bool settled[CHANNELS];
	bool sent[CHANNELS];
	uint32_t m[CHANNELS], k[CHANNELS];
	uint32_t in_cnt[CHANNELS], in[CHANNELS][KEPT_MAX];
	uint32_t out_cnt[CHANNELS], out[CHANNELS][KEPT_MAX];
};

struct producer {
	uint32_t channel;
	struct weir_overdraft overdraft;
	struct mem_lane data, priority;
	uint32_t ord, seq;
	uint64_t id; /* of its last barrier */
};

static struct producer producers[CHANNELS];
static struct weir_event events[SLOTS];
static uint32_t event_cnt;
static struct weir_input *in;
static struct cut cuts[IDS + 1];
static uint32_t handed[CHANNELS];
static struct weir_rng rng;
static uint64_t seed;
static bool forced[CHANNELS];
static int64_t now;

static bool
chance(uint32_t percent)
{
	return weir_rng_below(&rng, 100) < percent;
}

static void
keep_in(void *arg, uint64_t checkpoint, uint32_t channel, const struct weir_item *frame)
{
	struct cut *cut = &cuts[checkpoint];

	(void)arg;
	cr_assert_lt(cut->in_cnt[channel], KEPT_MAX);
	cut->in[channel][cut->in_cnt[channel]++] = frame->seq;
}

static void
keep_out(void *arg, uint64_t checkpoint, const struct weir_item *frame)
{
	const struct producer *p = arg;
	struct cut *cut = &cuts[checkpoint];

	cr_assert_lt(cut->out_cnt[p->channel], KEPT_MAX);
	cut->out[p->channel][cut->out_cnt[p->channel]++] = frame->seq;
}

static void
settle(void *arg, uint64_t checkpoint, enum weir_output_capture how)
{
	const struct producer *p = arg;

	if (how == WEIR_OUTPUT_CAPTURED)
		cuts[checkpoint].settled[p->channel] = true;
	else
		cuts[checkpoint].forced_out = true;
}

static void
start(void)
{
	struct weir_gate_channel ends[CHANNELS];
	const struct weir_input_config config = {
		.gate = { .channel_cnt = CHANNELS, .channels = ends, .keep = keep_in },
		.forced = forced,
	};
	struct weir_error err;

	memset(cuts, 0, sizeof(cuts));
	memset(events, 0, sizeof(events));
	memset(handed, 0, sizeof(handed));
	event_cnt = 0;
	now = 0;
	for (uint32_t c = 0; c < CHANNELS; c++) {
		struct producer *p = &producers[c];

		memset(p, 0, sizeof(*p));
		p->channel = c;
		mem_lane_init(&p->data);
		mem_lane_init(&p->priority);
		p->data.lane.depth = 1 + (uint32_t)weir_rng_below(&rng, 12);
		p->priority.lane.depth = 2;
		weir_overdraft_init(&p->overdraft, &p->data.lane, &p->priority.lane);
		weir_overdraft_checkpoints(
			&p->overdraft,
			&(struct weir_overdraft_config){
				.events = events, .keep = keep_out, .settled = settle, .arg = p });
		ends[c] = (struct weir_gate_channel){ .data = &p->data.lane,
						      .priority = &p->priority.lane,
						      .events = events,
						      .next_seq = 1 };
	}
	in = weir_input_create(&config, &err);
	cr_assert_not_null(in);
}

static void
send_frame(struct producer *p)
{
	const struct weir_item item = { .seq = ++p->seq, .ord = p->ord++, .kind = WEIR_ITEM_DATA };

	if (weir_overdraft_cnt(&p->overdraft) < 10)
		weir_overdraft_send(&p->overdraft, &item);
	else
		p->seq--, p->ord--;
}

static void
send_barrier(struct producer *p, uint64_t id)
{
	const bool may_overtake = !forced[p->channel];
	const struct weir_item item = {
		.ref = event_cnt, .seq = p->seq, .ord = p->ord++, .kind = WEIR_ITEM_BARRIER
	};
	enum weir_barrier_kind kind = WEIR_BARRIER_ALIGNED;

	if (may_overtake)
		kind = id % 3 == 0   ? WEIR_BARRIER_UNALIGNED
		       : id % 3 == 1 ? WEIR_BARRIER_TIMEOUTABLE
				     : WEIR_BARRIER_ALIGNED;
	events[event_cnt++] = (struct weir_event){
		.checkpoint = id, .barrier = kind, .timeout_ns = 30, .stamp_ns = now, .refs = 1
	};
	p->id = id;
	cuts[id].sent[p->channel] = true;
	cuts[id].m[p->channel] = p->seq;
	if (kind == WEIR_BARRIER_ALIGNED)
		cuts[id].settled[p->channel] = true;
	weir_overdraft_send(&p->overdraft, &item);
}

/* The next checkpoint begins when the last one is over at the task and at all producers. */
static bool
over(uint64_t id)
{
	const struct cut *cut = &cuts[id];

	if (id == 0 || cut->forced_out)
		return true;
	if (!cut->done)
		return false;
	for (uint32_t c = 0; c < CHANNELS; c++)
		if (!cut->settled[c])
			return false;
	return true;
}

static void
check(uint64_t id)
{
	const struct cut *cut = &cuts[id];

	for (uint32_t c = 0; c < CHANNELS; c++) {
		uint32_t at = cut->k[c];

		for (uint32_t i = 0; i < cut->in_cnt[c]; i++)
			cr_assert_eq(cut->in[c][i], ++at, "seed %lu id %lu channel %u: in",
				     (unsigned long)seed, (unsigned long)id, c);
		for (uint32_t i = 0; i < cut->out_cnt[c]; i++)
			cr_assert_eq(cut->out[c][i], ++at, "seed %lu id %lu channel %u: out",
				     (unsigned long)seed, (unsigned long)id, c);
		cr_assert_eq(at, cut->m[c], "seed %lu id %lu channel %u: %u of %u",
			     (unsigned long)seed, (unsigned long)id, c, at, cut->m[c]);
	}
}

static void
take_updates(void)
{
	const struct weir_handler_updates updates = weir_input_updates(in);

	for (uint32_t i = 0; i < updates.cnt; i++) {
		const struct weir_handler_update *u = &updates.list[i];

		cr_assert_neq(u->kind, WEIR_UPDATE_FAULT, "seed %lu: %s", (unsigned long)seed,
			      weir_input_fault(in)->text);
		cr_assert_neq(u->kind, WEIR_UPDATE_ABORT, "seed %lu", (unsigned long)seed);
		if (u->kind == WEIR_UPDATE_TRIGGER) {
			cuts[u->id].triggered = true;
			cuts[u->id].done = !u->unaligned;
			memcpy(cuts[u->id].k, handed, sizeof(handed));
		} else if (u->kind == WEIR_UPDATE_DONE) {
			cuts[u->id].done = true;
		}
	}
}

static void
consume(uint32_t max)
{
	struct weir_burst burst;
	uint32_t back = 0;

	if (weir_input_poll(in, &burst, max, now) > 0 && !burst.is_event) {
		back = (uint32_t)weir_rng_below(&rng, burst.cnt + 1) / 2;
		for (uint32_t i = 0; i < burst.cnt - back; i++)
			cr_assert_eq(burst.items[i].seq, ++handed[burst.channel]);
	}
	take_updates();
	if (back > 0)
		weir_gate_put_back(weir_input_gate(in), &burst, back);
}

static void
consume_priority(void)
{
	struct weir_burst burst;

	weir_input_poll_priority(in, &burst, now);
	take_updates();
}

static void
timers(uint64_t id)
{
	if (weir_input_due(in) <= now) {
		weir_input_timers(in, now);
		take_updates();
	}
	/* The producers' output timers, at their own time. */
	for (uint32_t c = 0; c < CHANNELS; c++)
		if (chance(10))
			weir_overdraft_timeout(&producers[c].overdraft, id);
}

static void
step(uint64_t *id)
{
	struct producer *p = &producers[weir_rng_below(&rng, CHANNELS)];
	const uint32_t what = (uint32_t)weir_rng_below(&rng, 100);

	now++;
	if (what < 40)
		send_frame(p);
	else if (what < 50)
		weir_overdraft_flush(&p->overdraft);
	else if (what < 60 && p->id < *id)
		send_barrier(p, *id);
	else if (what < 80)
		consume(1 + (uint32_t)weir_rng_below(&rng, WEIR_GATE_BURST));
	else if (what < 90)
		consume_priority();
	else if (what < 95)
		timers(*id);
	else if (*id < IDS && over(*id))
		(*id)++;
}

static void
run_seed(void)
{
	uint64_t id = 0;

	rng.state = seed;
	start();
	for (uint32_t i = 0; i < STEPS; i++)
		step(&id);
	for (uint32_t i = 0; i < 2000; i++) {
		now++;
		for (uint32_t c = 0; c < CHANNELS; c++) {
			if (producers[c].id < id)
				send_barrier(&producers[c], id);
			weir_overdraft_flush(&producers[c].overdraft);
		}
		consume_priority();
		timers(id);
		consume(WEIR_GATE_BURST);
	}
	cr_assert_gt(id, 2, "seed %lu", (unsigned long)seed);
	for (uint64_t i = 1; i <= id; i++) {
		cr_assert(over(i), "seed %lu: checkpoint %lu hangs", (unsigned long)seed,
			  (unsigned long)i);
		if (!cuts[i].forced_out)
			check(i);
	}
	for (uint32_t c = 0; c < CHANNELS; c++)
		cr_assert_eq(handed[c], producers[c].seq);
	for (uint32_t i = 0; i < event_cnt; i++)
		cr_assert_eq(events[i].refs, 0, "seed %lu", (unsigned long)seed);
	weir_input_destroy(in);
}

Test(cut, nothing_lost_nothing_doubled)
{
	memset(forced, 0, sizeof(forced));
	for (seed = 1; seed <= 300; seed++)
		run_seed();
}

Test(cut, nothing_lost_nothing_doubled_with_a_forced_aligned_channel)
{
	memset(forced, 0, sizeof(forced));
	forced[1] = true;
	for (seed = 1; seed <= 300; seed++)
		run_seed();
}
