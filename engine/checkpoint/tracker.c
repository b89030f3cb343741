/*
 * The at-least-once tracker (T18): nothing is ever blocked; a checkpoint is triggered when its
 * barrier came on every input that was open when its id was first seen. Newer ids do not drop older
 * ones; completing an id silently drops those below it. Ids open only upward and leave only from
 * the oldest up, so they are a ring.
 */

#include "engine/checkpoint/handler.h"

#include <string.h>

#include "engine/base/plant.h"
#include "engine/checkpoint/handler_priv.h"

static struct tracked *
at(struct tracker *t, uint32_t idx)
{
	return &t->ring[(t->head + idx) % WEIR_HANDLER_TRACKED_MAX];
}

/* Forget the oldest cnt ids. */
static void
drop(struct tracker *t, uint32_t cnt)
{
	t->head = (t->head + cnt) % WEIR_HANDLER_TRACKED_MAX;
	t->cnt -= cnt;
}

/* Index of the first id that is not below id. */
static uint32_t
lower_bound(struct tracker *t, uint64_t id)
{
	uint32_t idx = 0;

	while (idx < t->cnt && at(t, idx)->id < id)
		idx++;
	return idx;
}

static void
open_id(struct weir_handler *h, const struct weir_handler_event *event)
{
	struct tracker *t = &h->tracker;
	struct tracked *entry;

	if (t->cnt == WEIR_HANDLER_TRACKED_MAX)
		drop(t, 1);
	entry = at(t, t->cnt++);
	memset(entry->counted, 0, t->word_cnt * sizeof(*entry->counted));
	*entry = (struct tracked){
		.id = event->id,
		.target_cnt = h->open_cnt,
		.stamp_ns = event->stamp_ns,
		.timeout_ns = event->timeout_ns,
		.barrier = event->barrier,
		.flags = event->flags,
		.counted = entry->counted,
	};
	h->latest = event->id;
	h->has_latest = true;
	weir_align_clock_reset(h); /* only the newest id is measured */
}

/* Index of the event's id, opened if it is above all seen; false if it is over or was dropped. */
static bool
enter(struct weir_handler *h, const struct weir_handler_event *event, uint32_t *idx)
{
	struct tracker *t = &h->tracker;

	if (!h->has_latest || event->id > h->latest)
		open_id(h, event);
	*idx = lower_bound(t, event->id);
	return *idx < t->cnt && at(t, *idx)->id == event->id;
}

static void
complete(struct weir_handler *h, uint32_t idx)
{
	struct tracker *t = &h->tracker;
	const struct tracked *entry = at(t, idx);
	const bool newest = entry->id == h->latest;
	struct weir_handler_update what = {
		.id = entry->id,
		.channel = WEIR_HANDLER_CHANNEL_NONE,
		.barrier = entry->barrier,
		.flags = entry->flags,
		.stamp_ns = entry->stamp_ns,
		.timeout_ns = entry->timeout_ns,
		.metrics = { .known = true },
	};

	if (newest) {
		weir_align_clock_stop(h);
		what.metrics = h->clock.metrics;
	}
	if (!entry->aborted)
		weir_handler_trigger(h, &what);
	drop(t, idx + 1);
}

/* Count a channel for an id, once; true if that was the last one. */
static bool
count(struct tracked *entry, uint32_t channel)
{
	const uint64_t bit = 1ull << (channel % 64);

	if (!(entry->counted[channel / 64] & bit)) {
		entry->counted[channel / 64] |= bit;
		entry->counted_cnt++;
	}
	return entry->counted_cnt + WEIR_PLANT(TRACKER_EARLY) >= entry->target_cnt;
}

static void
clock_start(struct weir_handler *h, const struct tracked *entry)
{
	if (entry->id == h->latest && !entry->aborted)
		weir_align_clock_start(h, entry->stamp_ns);
}

static void
on_barrier(struct weir_handler *h, const struct weir_handler_event *event)
{
	uint32_t idx;

	if (!enter(h, event, &idx))
		return;
	clock_start(h, at(&h->tracker, idx));
	if (count(at(&h->tracker, idx), event->channel))
		complete(h, idx);
}

static void
abort_entry(struct weir_handler *h, struct tracked *entry, enum weir_handler_reason reason)
{
	if (entry->aborted)
		return;
	entry->aborted = true;
	weir_handler_abort(h, entry->id, reason);
	if (entry->id == h->latest)
		weir_align_clock_reset(h);
}

/* Everything up to the marker's id is aborted, once; the id itself is then counted out. */
static void
on_cancel(struct weir_handler *h, const struct weir_handler_event *event)
{
	struct tracker *t = &h->tracker;
	const uint32_t below = lower_bound(t, event->id);
	uint32_t idx;

	for (uint32_t i = 0; i < below; i++)
		abort_entry(h, at(t, i), WEIR_ABORT_CANCELLED);
	drop(t, below);
	if (!enter(h, event, &idx))
		return;
	WEIR_ASSERT(idx == 0);
	abort_entry(h, at(t, 0), WEIR_ABORT_CANCELLED);
	if (count(at(t, 0), event->channel))
		complete(h, 0);
}

static void
on_rpc(struct weir_handler *h, const struct weir_handler_event *event)
{
	uint32_t idx;
	bool last;

	if (!enter(h, event, &idx))
		return;
	clock_start(h, at(&h->tracker, idx));
	last = at(&h->tracker, idx)->target_cnt == 0;
	for (uint32_t c = 0; c < h->channel_cnt; c++)
		if (!h->inputs[c].ended && count(at(&h->tracker, idx), c))
			last = true;
	if (last)
		complete(h, idx);
}

void
weir_tracker_step(struct weir_handler *h, const struct weir_handler_event *event)
{
	switch (event->kind) {
	case WEIR_HANDLER_BARRIER:
		on_barrier(h, event);
		break;
	case WEIR_HANDLER_CANCEL:
		on_cancel(h, event);
		break;
	case WEIR_HANDLER_RPC:
		on_rpc(h, event);
		break;
	default:
		break; /* announcements concern only exactly-once */
	}
}

void
weir_tracker_end(struct weir_handler *h, uint32_t channel)
{
	struct tracker *t = &h->tracker;

	if (h->finished_tasks_off) {
		for (uint32_t i = 0; i < t->cnt; i++)
			abort_entry(h, at(t, i), WEIR_ABORT_INPUT_END);
		drop(t, t->cnt);
		weir_align_clock_reset(h);
		return;
	}
	for (uint32_t i = t->cnt; i-- > 0;) {
		if (count(at(t, i), channel)) {
			complete(h, i);
			return;
		}
	}
}
