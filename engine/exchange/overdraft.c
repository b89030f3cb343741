#include "engine/exchange/overdraft.h"

#include "engine/base/plant.h"

#include <string.h>

void
weir_overdraft_init(struct weir_overdraft *o, struct weir_lane *data, struct weir_lane *priority)
{
	memset(o, 0, sizeof(*o));
	o->data = data;
	o->priority = priority;
}

void
weir_overdraft_checkpoints(struct weir_overdraft *o, const struct weir_overdraft_config *config)
{
	WEIR_ASSERT(config->events != NULL);
	o->config = *config;
}

static struct weir_item *
held_at(struct weir_overdraft *o, uint32_t pos)
{
	return &o->held[pos & (WEIR_OVERDRAFT_HELD - 1)];
}

/* The event of a barrier that this channel treats by its kind; NULL for anything else. */
static struct weir_event *
barrier_of(const struct weir_overdraft *o, const struct weir_item *item)
{
	if (item->kind != WEIR_ITEM_BARRIER || o->config.events == NULL || o->priority == NULL)
		return NULL;
	return &o->config.events[item->ref];
}

static void
keep(const struct weir_overdraft *o, uint64_t checkpoint, const struct weir_item *item)
{
	if (item->kind == WEIR_ITEM_DATA && o->config.keep != NULL)
		o->config.keep(o->config.arg, checkpoint, item);
}

static void
settled(const struct weir_overdraft *o, uint64_t checkpoint, enum weir_output_capture how)
{
	if (o->config.settled != NULL)
		o->config.settled(o->config.arg, checkpoint, how);
}

static void
capture_end(struct weir_overdraft *o, enum weir_output_capture how)
{
	if (!o->capturing)
		return;
	o->capturing = false;
	settled(o, o->capture_id, how);
}

static void
reference_drop(struct weir_event *event)
{
	/* O1: pairs with E1; this channel lets go of the slot. */
	atomic_fetch_sub_explicit(&event->refs, 1, memory_order_release);
}

/* The item is in the data lane. */
static void
entered(struct weir_overdraft *o, const struct weir_item *item)
{
	struct weir_event *event = barrier_of(o, item);
	struct weir_item announcement = *item;

	if (item->kind == WEIR_ITEM_DATA)
		o->lane_seq = item->seq;
	if (event == NULL || event->barrier != WEIR_BARRIER_TIMEOUTABLE)
		return;
	/* T6. The slot has a reference for the announcement, so it is still this barrier's. */
	announcement.kind = WEIR_ITEM_ANNOUNCE;
	if (o->first_cnt > 0 || weir_lane_push(o->priority, &announcement, 1) == 0)
		reference_drop(event);
	if (o->capturing && o->capture_ord == item->ord)
		capture_end(o, WEIR_OUTPUT_CAPTURED);
}

static void
send_in_order(struct weir_overdraft *o, const struct weir_item *item)
{
	if (o->head == o->tail && o->first_cnt == 0 && weir_lane_push(o->data, item, 1) == 1) {
		entered(o, item);
		return;
	}
	WEIR_ASSERT(o->tail - o->head < WEIR_OVERDRAFT_HELD);
	if (WEIR_PLANT(CHANNEL_DROP))
		return;
	*held_at(o, o->tail++) = *item;
}

static void
send_first(struct weir_overdraft *o, const struct weir_item *item, uint32_t at)
{
	if (o->first_cnt == 0 && weir_lane_push(o->priority, item, 1) == 1)
		return;
	WEIR_ASSERT(o->first_cnt < WEIR_OVERDRAFT_FIRST);
	memmove(&o->first[at + 1], &o->first[at], (o->first_cnt - at) * sizeof(*o->first));
	o->first[at] = *item;
	o->first_cnt++;
}

/* T13: overtakes what is held, which is kept. */
static void
send_unaligned(struct weir_overdraft *o, const struct weir_item *item, uint64_t checkpoint)
{
	struct weir_item barrier = *item;

	for (uint32_t pos = o->head; pos != o->tail; pos++)
		keep(o, checkpoint, held_at(o, pos));
	settled(o, checkpoint, WEIR_OUTPUT_CAPTURED);
	o->overtaken = o->head != o->tail;
	barrier.seq = o->lane_seq;
	send_first(o, &barrier, o->first_cnt);
}

/* T10: while it is held, its output capture is open. */
static void
send_timeoutable(struct weir_overdraft *o, const struct weir_item *item, struct weir_event *event)
{
	capture_end(o, WEIR_OUTPUT_CONCURRENT);
	o->capturing = true;
	o->capture_id = event->checkpoint;
	o->capture_ord = item->ord;
	/* For the announcement. */
	atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
	send_in_order(o, item);
}

void
weir_overdraft_send_slow(struct weir_overdraft *o, const struct weir_item *item)
{
	struct weir_event *event = barrier_of(o, item);

	if (event == NULL)
		send_in_order(o, item);
	else if (event->barrier == WEIR_BARRIER_UNALIGNED)
		send_unaligned(o, item, event->checkpoint);
	else if (event->barrier == WEIR_BARRIER_TIMEOUTABLE)
		send_timeoutable(o, item, event);
	else
		send_in_order(o, item);
}

static bool
flush_first(struct weir_overdraft *o)
{
	uint32_t took;

	if (o->first_cnt == 0)
		return true;
	took = weir_lane_push(o->priority, o->first, o->first_cnt);
	o->first_cnt -= took;
	memmove(o->first, o->first + took, o->first_cnt * sizeof(*o->first));
	return o->first_cnt == 0;
}

/*
 * What an unaligned barrier overtook stays until the consumer has taken it: in the lane it would be
 * taken for the consumer's to keep, or be processed before a snapshot that also finds it kept.
 */
static bool
may_follow(struct weir_overdraft *o)
{
	if (o->overtaken && weir_lane_count(o->priority) > 0)
		return false;
	o->overtaken = false;
	return true;
}

bool
weir_overdraft_flush(struct weir_overdraft *o)
{
	if (!flush_first(o) || !may_follow(o))
		return false;
	while (o->head != o->tail) {
		const uint32_t at = o->head & (WEIR_OVERDRAFT_HELD - 1);
		const uint32_t run = WEIR_OVERDRAFT_HELD - at;
		const uint32_t held = o->tail - o->head;
		const uint32_t cnt = held < run ? held : run;
		const uint32_t took = weir_lane_push(o->data, &o->held[at], cnt);

		o->head += took;
		if (WEIR_PLANT(CHANNEL_TWICE) && took > 0)
			(void)weir_lane_push(o->data, &o->held[at], 1);
		for (uint32_t i = 0; i < took; i++)
			entered(o, &o->held[at + i]);
		if (took < cnt)
			return false;
	}
	return true;
}

void
weir_overdraft_timeout(struct weir_overdraft *o, uint64_t checkpoint)
{
	struct weir_item barrier;
	uint32_t pos = o->head;

	if (!o->capturing || o->capture_id != checkpoint)
		return;
	for (; held_at(o, pos)->ord != o->capture_ord; pos++) {
		WEIR_ASSERT(pos != o->tail);
		keep(o, checkpoint, held_at(o, pos));
	}
	barrier = *held_at(o, pos);
	for (; pos != o->head; pos--)
		*held_at(o, pos) = *held_at(o, pos - 1);
	o->head++;
	o->overtaken = o->head != o->tail;
	reference_drop(&o->config.events[barrier.ref]); /* it will not be announced */
	barrier.seq = o->lane_seq;
	capture_end(o, WEIR_OUTPUT_CAPTURED);
	send_first(o, &barrier, 0);
}

void
weir_overdraft_abort(struct weir_overdraft *o, uint64_t checkpoint)
{
	if (o->capturing && o->capture_id == checkpoint)
		capture_end(o, WEIR_OUTPUT_ABORTED);
}

bool
weir_overdraft_drop(struct weir_overdraft *o, struct weir_item *item)
{
	capture_end(o, WEIR_OUTPUT_RELEASED);
	if (o->first_cnt > 0) {
		*item = o->first[0];
		o->first_cnt--;
		memmove(o->first, o->first + 1, o->first_cnt * sizeof(*o->first));
		return true;
	}
	if (o->head == o->tail)
		return false;
	*item = *held_at(o, o->head++);
	return true;
}

const struct weir_item *
weir_overdraft_at(const struct weir_overdraft *o, uint32_t idx)
{
	WEIR_ASSERT(idx < weir_overdraft_cnt(o));
	if (idx < o->first_cnt)
		return &o->first[idx];
	return &o->held[(o->head + idx - o->first_cnt) & (WEIR_OVERDRAFT_HELD - 1)];
}
