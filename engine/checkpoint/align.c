/*
 * The exactly-once machine: aligned, alternating and unaligned in one (T1).
 *
 *   IDLE ---first barrier or announcement---> COLLECTING ---last input---> TRIGGER aligned, IDLE
 *                                                |
 *                unaligned barrier, timeout      v
 *                (T7, T8, T9)                 WAITING    until a barrier is in and no forced
 *                                                |       channel is missing (T33)
 *                                                v
 *                                             STARTING   START is out (T14)
 *                                        STARTED |  \ REFUSED ---> ABORT, IDLE
 *                                                v
 *                        TRIGGER unaligned    CAPTURING ---last input---> DONE, IDLE
 *
 * A newer id, a cancel marker or (finished tasks off) an end leads back to IDLE from anywhere. How
 * one id went says nothing about the next.
 */

#include "engine/checkpoint/handler.h"

#include "engine/base/plant.h"
#include "engine/checkpoint/handler_priv.h"

static int64_t
due_at(const struct weir_handler_event *event)
{
	int64_t due_ns;

	if (event->timeout_ns == WEIR_HANDLER_NEVER_NS ||
	    __builtin_add_overflow(event->stamp_ns, event->timeout_ns, &due_ns))
		return WEIR_HANDLER_NEVER_NS;
	return due_ns;
}

/* T8: strictly later than the timeout; exactly at it only the timer switches. */
static bool
is_late(const struct weir_handler *h, int64_t stamp_ns, int64_t timeout_ns)
{
	int64_t due_ns;

	if (timeout_ns == WEIR_HANDLER_NEVER_NS ||
	    __builtin_add_overflow(stamp_ns, timeout_ns, &due_ns))
		return false;
	return h->now_ns > due_ns;
}

/* Back to IDLE with every channel open, except one that the barrier at hand closed just now. */
static void
over(struct weir_handler *h, uint32_t except)
{
	h->align.state = ALIGN_IDLE;
	h->align.due_ns = WEIR_HANDLER_NEVER_NS;
	weir_handler_emit(h, WEIR_UPDATE_OPEN_ALL, h->latest)->channel = except;
}

/* What the pending id kept is given up, if it kept anything. */
static void
discard(struct weir_handler *h)
{
	if (h->align.state != ALIGN_CAPTURING || h->align.dropped)
		return;
	h->align.dropped = true;
	weir_handler_emit(h, WEIR_UPDATE_DISCARD, h->latest);
	weir_handler_emit(h, WEIR_UPDATE_KEEP_STOP, h->latest);
}

static void
abort_pending(struct weir_handler *h, enum weir_handler_reason reason, uint32_t except)
{
	weir_handler_abort(h, h->latest, reason);
	discard(h);
	weir_align_clock_reset(h);
	over(h, except);
}

/* An id above the current one opens; the inputs that are open now will be counted (T2, T4). */
static void
open_id(struct weir_handler *h, const struct weir_handler_event *event)
{
	struct align *a = &h->align;

	if (a->state != ALIGN_IDLE)
		abort_pending(h, WEIR_ABORT_SUBSUMED,
			      event->closed ? event->channel : WEIR_HANDLER_CHANNEL_NONE);
	h->latest = event->id;
	h->has_latest = true;
	weir_align_clock_reset(h);
	*a = (struct align){
		.state = ALIGN_COLLECTING,
		.target_cnt = h->open_cnt,
		.barrier = event->barrier,
		.flags = event->flags,
		.timeoutable = event->barrier == WEIR_BARRIER_TIMEOUTABLE,
		.stamp_ns = event->stamp_ns,
		.timeout_ns = event->timeout_ns,
		.due_ns = WEIR_HANDLER_NEVER_NS,
	};
	if (a->timeoutable)
		a->due_ns = due_at(event);
	for (uint32_t c = 0; c < h->channel_cnt; c++) {
		struct input *in = &h->inputs[c];

		in->state = INPUT_MISSING;
		in->announced = false;
		if (in->forced && !in->ended)
			a->forced_cnt++;
		/* R3: a channel without a producer has delivered every barrier (T31); it says
		 * nothing about when, so no clock starts and no snapshot. */
		if (in->virtual && !in->ended) {
			in->state = INPUT_SYNTHETIC;
			a->counted_cnt++;
		}
	}
}

/* Is the event's id the pending one, opened by it if need be? */
static bool
enter(struct weir_handler *h, const struct weir_handler_event *event)
{
	if (WEIR_PLANT(BARRIER_SUBSUME) && h->align.state != ALIGN_IDLE && event->id > h->latest)
		return false;
	if (!h->has_latest || event->id > h->latest ||
	    (WEIR_PLANT(BARRIER_AGAIN) && event->id == h->latest && h->align.state == ALIGN_IDLE))
		open_id(h, event);
	return event->id == h->latest && h->align.state != ALIGN_IDLE;
}

/* T16: a channel counts once, by its barrier or its end. */
static void
count(struct weir_handler *h, uint32_t channel, enum input_state how, int64_t stamp_ns)
{
	struct input *in = &h->inputs[channel];
	struct align *a = &h->align;

	if (in->state != INPUT_MISSING)
		return;
	in->state = how;
	a->counted_cnt++;
	if (how != INPUT_ENDED)
		a->barrier_cnt++;
	if (in->forced)
		a->forced_cnt--;
	weir_align_clock_start(h, stamp_ns);
}

static struct weir_handler_update
snapshot(const struct weir_handler *h, bool unaligned)
{
	const struct align *a = &h->align;

	return (struct weir_handler_update){
		.id = h->latest,
		.unaligned = unaligned,
		.channel = WEIR_HANDLER_CHANNEL_NONE,
		.barrier = unaligned ? WEIR_BARRIER_UNALIGNED : a->barrier,
		.flags = a->flags,
		.stamp_ns = a->stamp_ns,
		.timeout_ns = a->timeout_ns,
		.metrics = h->clock.metrics,
	};
}

static void
complete_aligned(struct weir_handler *h)
{
	struct weir_handler_update what;

	weir_align_clock_stop(h);
	what = snapshot(h, false);
	weir_handler_trigger(h, &what);
	over(h, WEIR_HANDLER_CHANNEL_NONE);
}

static void
complete_unaligned(struct weir_handler *h)
{
	struct weir_handler_update *update;

	weir_align_clock_stop(h);
	update = weir_handler_emit(h, h->align.dropped ? WEIR_UPDATE_OVER : WEIR_UPDATE_DONE,
				   h->latest);
	update->metrics = h->clock.metrics;
	over(h, WEIR_HANDLER_CHANNEL_NONE);
}

static bool
all_in(const struct weir_handler *h)
{
	const uint32_t early = WEIR_PLANT(BARRIER_EARLY) && h->align.target_cnt > 1;

	return h->align.counted_cnt + early == h->align.target_cnt;
}

/* T33: forced-aligned channels first; what they lack cannot be captured. */
static void
progress(struct weir_handler *h)
{
	struct align *a = &h->align;

	if (a->state == ALIGN_WAITING && a->barrier_cnt > 0 &&
	    (a->forced_cnt == 0 || WEIR_PLANT(FORCED_EARLY))) {
		a->state = ALIGN_STARTING;
		weir_handler_emit(h, WEIR_UPDATE_START, h->latest);
	} else if (a->state == ALIGN_CAPTURING && all_in(h)) {
		complete_unaligned(h);
	}
}

static void
move_announced(struct weir_handler *h)
{
	struct weir_handler_update *update = weir_handler_emit(h, WEIR_UPDATE_MOVE, h->latest);

	update->stamp_ns = h->align.stamp_ns;
	update->timeout_ns = h->align.timeout_ns;
}

/* T7, T8, T9: the id becomes unaligned; announced barriers overtake the data before them. */
static void
switch_to_unaligned(struct weir_handler *h)
{
	h->align.state = ALIGN_WAITING;
	h->align.due_ns = WEIR_HANDLER_NEVER_NS;
	move_announced(h);
}

static void
on_barrier(struct weir_handler *h, const struct weir_handler_event *event)
{
	struct align *a = &h->align;
	const bool unaligned = event->barrier == WEIR_BARRIER_UNALIGNED;

	if (!enter(h, event)) {
		if (event->closed && !WEIR_PLANT(BARRIER_STALE)) /* T3 */
			weir_handler_emit(h, WEIR_UPDATE_OPEN, event->id)->channel = event->channel;
		return;
	}
	h->inputs[event->channel].seq = event->seq;
	if (h->inputs[event->channel].announced_ord == event->ord)
		h->inputs[event->channel].announced = false;
	count(h, event->channel, INPUT_BARRIER, event->stamp_ns);
	if (!unaligned) {
		a->barrier = event->barrier;
		a->flags = event->flags;
	}
	if (a->state == ALIGN_CAPTURING && !a->dropped) {
		struct weir_handler_update *end =
			weir_handler_emit(h, WEIR_UPDATE_KEEP_END, event->id);

		end->channel = event->channel;
		end->seq = event->seq;
	}
	if (a->state == ALIGN_COLLECTING) {
		if (all_in(h) && !unaligned) {
			complete_aligned(h);
			return;
		}
		if (unaligned || (event->barrier == WEIR_BARRIER_TIMEOUTABLE &&
				  is_late(h, event->stamp_ns, event->timeout_ns)))
			switch_to_unaligned(h);
	}
	if (unaligned && a->state == ALIGN_WAITING && a->forced_cnt > 0) {
		struct weir_handler_update *hold =
			weir_handler_emit(h, WEIR_UPDATE_HOLD, event->id);

		hold->channel = event->channel;
		hold->ord = event->ord;
		hold->seq = event->seq;
	}
	progress(h);
}

/* T6: opens an id and arms the timer, counts for nothing. */
static void
on_announce(struct weir_handler *h, const struct weir_handler_event *event)
{
	struct input *in = &h->inputs[event->channel];

	/* Of several of one id the first that is not out goes ahead. */
	if (!enter(h, event) || (in->announced && h->align.state == ALIGN_COLLECTING))
		return;
	in->announced = true;
	in->announced_ord = event->ord;
	in->announced_seq = event->seq;
	if (h->align.state != ALIGN_COLLECTING)
		move_announced(h);
}

/* T15. A lower pending id goes with it, without an abort of its own. */
static void
on_cancel(struct weir_handler *h, const struct weir_handler_event *event)
{
	const bool pending = h->align.state != ALIGN_IDLE;

	if (WEIR_PLANT(BARRIER_CANCEL))
		return;
	if (h->has_latest && (event->id < h->latest || (event->id == h->latest && !pending)))
		return;
	weir_handler_abort(h, event->id, WEIR_ABORT_CANCELLED);
	discard(h);
	weir_align_clock_reset(h);
	h->latest = event->id;
	h->has_latest = true;
	over(h, WEIR_HANDLER_CHANNEL_NONE);
}

/*
 * A trigger counts channel after channel: the last one in is aligned, however late, and one before
 * it may be late, also if its own barrier came before. Is there one before it?
 */
static bool
before_last(const struct weir_handler *h)
{
	const uint32_t missing = h->align.target_cnt - h->align.counted_cnt;

	for (uint32_t c = 0; c < h->channel_cnt; c++) {
		const struct input *in = &h->inputs[c];

		if (!in->ended && !in->virtual)
			return missing > (in->state == INPUT_MISSING);
	}
	return false;
}

/* T31: a synthetic barrier on every open channel; on a forced one it stands behind its data, which
 * is where its end is (T33). */
static void
on_rpc(struct weir_handler *h, const struct weir_handler_event *event)
{
	struct align *a = &h->align;
	const bool unaligned = event->barrier == WEIR_BARRIER_UNALIGNED;
	bool late;

	if (!enter(h, event))
		return;
	if (!unaligned) {
		a->barrier = event->barrier;
		a->flags = event->flags;
	}
	late = event->barrier == WEIR_BARRIER_TIMEOUTABLE && before_last(h) &&
	       is_late(h, event->stamp_ns, event->timeout_ns);
	/* Nobody is left to be counted: all have ended, or are virtual. */
	if (a->target_cnt == a->counted_cnt) {
		weir_align_clock_start(h, event->stamp_ns);
		a->barrier_cnt += a->barrier_cnt == 0;
	}
	for (uint32_t c = 0; c < h->channel_cnt; c++) {
		const struct input *in = &h->inputs[c];

		if (!in->ended && !(in->forced && (unaligned || late)))
			count(h, c, INPUT_SYNTHETIC, event->stamp_ns);
	}
	if (a->state == ALIGN_CAPTURING && !a->dropped)
		weir_handler_emit(h, WEIR_UPDATE_KEEP_QUEUED, event->id);
	if (a->state == ALIGN_COLLECTING) {
		if (unaligned || late)
			switch_to_unaligned(h);
		else if (all_in(h)) {
			complete_aligned(h);
			return;
		}
	}
	progress(h);
}

static void
on_started(struct weir_handler *h)
{
	const struct weir_handler_update what = snapshot(h, true);

	WEIR_ASSERT(h->align.state == ALIGN_STARTING);
	h->align.state = ALIGN_CAPTURING;
	if (weir_handler_trigger(h, &what))
		weir_handler_emit(h, WEIR_UPDATE_KEEP, h->latest);
	else
		h->align.dropped = true;
	weir_handler_emit(h, WEIR_UPDATE_OPEN_HELD, h->latest);
	progress(h);
}

static void
on_refused(struct weir_handler *h)
{
	WEIR_ASSERT(h->align.state == ALIGN_STARTING);
	abort_pending(h, WEIR_ABORT_SUBSUMED_AT_START, WEIR_HANDLER_CHANNEL_NONE);
}

void
weir_align_step(struct weir_handler *h, const struct weir_handler_event *event)
{
	const bool answer =
		event->kind == WEIR_HANDLER_STARTED || event->kind == WEIR_HANDLER_REFUSED;

	/* START is answered before anything else happens. */
	WEIR_ASSERT(answer == (h->align.state == ALIGN_STARTING));
	switch (event->kind) {
	case WEIR_HANDLER_BARRIER:
		on_barrier(h, event);
		break;
	case WEIR_HANDLER_ANNOUNCE:
		on_announce(h, event);
		break;
	case WEIR_HANDLER_CANCEL:
		on_cancel(h, event);
		break;
	case WEIR_HANDLER_RPC:
		on_rpc(h, event);
		break;
	case WEIR_HANDLER_STARTED:
		on_started(h);
		break;
	case WEIR_HANDLER_REFUSED:
		on_refused(h);
		break;
	default:
		WEIR_ASSERT(false);
	}
}

void
weir_align_end(struct weir_handler *h, uint32_t channel)
{
	struct align *a = &h->align;

	if (a->state == ALIGN_IDLE)
		return;
	if (h->finished_tasks_off) {
		abort_pending(h, WEIR_ABORT_INPUT_END, WEIR_HANDLER_CHANNEL_NONE);
		return;
	}
	if (!WEIR_PLANT(BARRIER_END))
		count(h, channel, INPUT_ENDED, a->stamp_ns);
	if (a->state == ALIGN_COLLECTING) {
		if (all_in(h)) {
			complete_aligned(h);
			return;
		}
		if (a->barrier_cnt > 0 && a->timeoutable && is_late(h, a->stamp_ns, a->timeout_ns))
			switch_to_unaligned(h);
	}
	progress(h);
}

void
weir_align_timer(struct weir_handler *h)
{
	WEIR_ASSERT(h->align.state == ALIGN_COLLECTING);
	switch_to_unaligned(h);
	progress(h);
}

void
weir_align_notice(struct weir_handler *h, uint64_t id)
{
	if (h->has_latest && id == h->latest)
		discard(h);
}

void
weir_align_close(struct weir_handler *h)
{
	discard(h);
}

bool
weir_handler_announced(const struct weir_handler *h, uint32_t channel, uint32_t *ord, uint32_t *seq)
{
	const struct input *in = &h->inputs[channel];

	*ord = in->announced_ord;
	*seq = in->announced_seq;
	return in->announced;
}

enum weir_handler_keep
weir_handler_keeps(const struct weir_handler *h, uint32_t channel, uint32_t *seq)
{
	const struct input *in = &h->inputs[channel];

	*seq = in->seq;
	if (in->forced || in->ended)
		return WEIR_KEEP_NOTHING;
	switch (in->state) {
	case INPUT_MISSING:
		return WEIR_KEEP_OPEN;
	case INPUT_BARRIER:
		return WEIR_KEEP_UNTIL;
	case INPUT_SYNTHETIC:
		return WEIR_KEEP_QUEUED;
	case INPUT_ENDED:
		return WEIR_KEEP_NOTHING;
	}
	return WEIR_KEEP_NOTHING;
}
