/*
 * Checkpoints while producers and consumer run at the same time: two producers with an overdraft on
 * short lanes, one consumer with gate and handler. Checkpoint after checkpoint, aligned, timing out
 * and unaligned: what was handed out before the snapshot, kept by the consumer and kept by the
 * producer follow each other without a gap or a repetition up to what was sent before the barrier.
 */

#include <string.h>

#include "drivers/dpdk/ring_lane.h"
#include "engine/checkpoint/input.h"
#include "engine/exchange/overdraft.h"
#include "tests/race/race.h"

#define PRODUCERS 2u
#define IDS	  2000u
#define DEPTH	  6u
#define HELD_MAX  10u

struct producer {
	/* Written by the producer. */
	struct weir_overdraft overdraft;
	struct weir_event events[IDS + 2];
	uint32_t ord, seq;
	uint32_t rounds;
	uint32_t m[IDS + 1];				 /* sent before the barrier */
	uint32_t kept_first[IDS + 1], kept_cnt[IDS + 1]; /* here */
	_Atomic uint64_t settled;			 /* id whose output capture is decided */
};

static struct producer producers[PRODUCERS];
static _Atomic uint64_t requested; /* id of the checkpoint to begin; IDS + 1: end */

/* The consumer's. */
static struct weir_input *in;
static uint32_t handed[PRODUCERS];
static uint32_t k[PRODUCERS], kept_last[PRODUCERS];
static uint64_t done;
static uint32_t ended;

static void
keep_out(void *arg, uint64_t checkpoint, const struct weir_item *frame)
{
	struct producer *p = arg;

	if (p->kept_cnt[checkpoint] == 0)
		p->kept_first[checkpoint] = frame->seq;
	RACE_CHECK(frame->seq == p->kept_first[checkpoint] + p->kept_cnt[checkpoint]);
	p->kept_cnt[checkpoint]++;
}

static void
settled(void *arg, uint64_t checkpoint, enum weir_output_capture how)
{
	struct producer *p = arg;

	RACE_CHECK(how == WEIR_OUTPUT_CAPTURED);
	/* S1: pairs with S2; what was kept can be read. */
	atomic_store_explicit(&p->settled, checkpoint, memory_order_release);
}

static void
send(struct producer *p, uint32_t ref, enum weir_item_kind kind)
{
	struct weir_item item = { .ref = ref, .ord = p->ord++, .kind = kind };

	if (kind == WEIR_ITEM_DATA)
		p->seq++;
	item.seq = p->seq;
	weir_overdraft_send(&p->overdraft, &item);
}

static void
send_barrier(struct producer *p, uint64_t id)
{
	static const enum weir_barrier_kind kinds[] = { WEIR_BARRIER_ALIGNED,
							WEIR_BARRIER_TIMEOUTABLE,
							WEIR_BARRIER_UNALIGNED };
	const enum weir_barrier_kind kind = kinds[id % 3];

	p->events[id] = (struct weir_event){
		.checkpoint = id, .barrier = kind, .timeout_ns = 20, .refs = 1
	};
	p->m[id] = p->seq;
	if (kind == WEIR_BARRIER_ALIGNED)
		settled(p, id, WEIR_OUTPUT_CAPTURED);
	send(p, (uint32_t)id, WEIR_ITEM_BARRIER);
}

static void *
produce(void *arg)
{
	struct producer *p = arg;
	uint64_t id = 0;

	for (;;) {
		/* R1: pairs with R2; the consumer has read the last checkpoint's numbers. */
		const uint64_t wanted = atomic_load_explicit(&requested, memory_order_acquire);

		p->rounds++;
		if (wanted > IDS)
			break;
		if (wanted > id) {
			id = wanted;
			send_barrier(p, id);
		} else if (weir_overdraft_cnt(&p->overdraft) < HELD_MAX) {
			send(p, 0, WEIR_ITEM_DATA);
		} else if (!weir_overdraft_flush(&p->overdraft)) {
			race_wait();
		}
		if (p->rounds % 64 == 0)
			weir_overdraft_timeout(&p->overdraft, id);
	}
	p->events[IDS + 1].refs = 1;
	send(p, IDS + 1, WEIR_ITEM_END);
	while (!weir_overdraft_flush(&p->overdraft))
		race_wait();
	return NULL;
}

static void
keep_in(void *arg, uint64_t checkpoint, uint32_t channel, const struct weir_item *frame)
{
	(void)arg;
	(void)checkpoint;
	RACE_CHECK(frame->seq ==
		   (kept_last[channel] == 0 ? handed[channel] : kept_last[channel]) + 1);
	kept_last[channel] = frame->seq;
}

static void
take_updates(void)
{
	const struct weir_handler_updates updates = weir_input_updates(in);

	for (uint32_t i = 0; i < updates.cnt; i++) {
		const struct weir_handler_update *u = &updates.list[i];

		RACE_CHECK(u->kind == WEIR_UPDATE_TRIGGER || u->kind == WEIR_UPDATE_DONE);
		if (u->kind == WEIR_UPDATE_TRIGGER)
			memcpy(k, handed, sizeof(k));
		if (u->kind == WEIR_UPDATE_DONE || !u->unaligned)
			done = u->id;
	}
}

static void
consume(int64_t now)
{
	struct weir_burst burst;

	while (weir_input_poll_priority(in, &burst, now) > 0)
		take_updates();
	if (weir_input_due(in) <= now) {
		weir_input_timers(in, now);
		take_updates();
	}
	if (weir_input_poll(in, &burst, 1 + (uint32_t)(now % WEIR_GATE_BURST), now) == 0)
		race_wait();
	else if (burst.is_event)
		ended += burst.items[0].kind == WEIR_ITEM_END;
	else
		for (uint32_t i = 0; i < burst.cnt; i++)
			RACE_CHECK(burst.items[i].seq == ++handed[burst.channel]);
	take_updates();
}

static bool
all_settled(uint64_t id)
{
	for (uint32_t c = 0; c < PRODUCERS; c++)
		/* S2: pairs with S1. */
		if (atomic_load_explicit(&producers[c].settled, memory_order_acquire) < id)
			return false;
	return true;
}

static void
check(uint64_t id, uint64_t *kept)
{
	for (uint32_t c = 0; c < PRODUCERS; c++) {
		const struct producer *p = &producers[c];
		const uint32_t last = kept_last[c] == 0 ? k[c] : kept_last[c];

		if (p->kept_cnt[id] > 0)
			RACE_CHECK(p->kept_first[id] == last + 1);
		RACE_CHECK(last + p->kept_cnt[id] == p->m[id]);
		kept[0] += last - k[c];
		kept[1] += p->kept_cnt[id];
		kept_last[c] = 0;
	}
}

static void *
consume_all(void *arg)
{
	uint64_t id = 0;
	uint64_t kept[2] = { 0, 0 };

	(void)arg;
	for (int64_t now = 1; id <= IDS || ended < PRODUCERS; now++) {
		if (id <= IDS && done == id && all_settled(id)) {
			if (id > 0)
				check(id, kept);
			id++;
			/* R2: pairs with R1. */
			atomic_store_explicit(&requested, id, memory_order_release);
		}
		consume(now);
	}
	printf("%u checkpoints, frames kept: %lu by the consumer, %lu by producers\n", IDS,
	       (unsigned long)kept[0], (unsigned long)kept[1]);
	RACE_CHECK(kept[0] > 0);
	return NULL;
}

static struct weir_lane *
lane(uint32_t depth)
{
	void *mem = aligned_alloc(WEIR_LINE_PAIR,
				  weir_align_up(weir_ring_lane_bytes(depth), WEIR_LINE_PAIR));

	RACE_CHECK(mem != NULL);
	return weir_ring_lane_init(mem, depth);
}

int
main(void)
{
	struct weir_gate_channel ends[PRODUCERS];
	const struct weir_input_config config = {
		.gate = { .channel_cnt = PRODUCERS, .channels = ends, .keep = keep_in },
	};
	pthread_t threads[PRODUCERS + 1];
	struct weir_error err;

	for (uint32_t c = 0; c < PRODUCERS; c++) {
		struct producer *p = &producers[c];

		weir_overdraft_init(&p->overdraft, lane(DEPTH), lane(2));
		weir_overdraft_checkpoints(&p->overdraft,
					   &(struct weir_overdraft_config){ .events = p->events,
									    .keep = keep_out,
									    .settled = settled,
									    .arg = p });
		ends[c] = (struct weir_gate_channel){ .data = p->overdraft.data,
						      .priority = p->overdraft.priority,
						      .events = p->events,
						      .next_seq = 1 };
	}
	in = weir_input_create(&config, &err);
	RACE_CHECK(in != NULL);
	RACE_CHECK(pthread_create(&threads[PRODUCERS], NULL, consume_all, NULL) == 0);
	for (uint32_t c = 0; c < PRODUCERS; c++)
		RACE_CHECK(pthread_create(&threads[c], NULL, produce, &producers[c]) == 0);
	for (uint32_t c = 0; c <= PRODUCERS; c++)
		pthread_join(threads[c], NULL);
	weir_input_destroy(in);
	for (uint32_t c = 0; c < PRODUCERS; c++) {
		free(producers[c].overdraft.data);
		free(producers[c].overdraft.priority);
	}
	return 0;
}
