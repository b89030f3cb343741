#include "engine/checkpoint/handler.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/plant.h"
#include "engine/checkpoint/handler_priv.h"

/* Set-up. */

static bool
tracker_init(struct tracker *t, uint32_t channel_cnt)
{
	t->word_cnt = (channel_cnt + 63) / 64;
	if (t->word_cnt == 0)
		t->word_cnt = 1;
	t->ring = calloc(WEIR_HANDLER_TRACKED_MAX, sizeof(*t->ring));
	t->words = calloc((size_t)WEIR_HANDLER_TRACKED_MAX * t->word_cnt, sizeof(*t->words));
	if (t->ring == NULL || t->words == NULL)
		return false;
	for (uint32_t i = 0; i < WEIR_HANDLER_TRACKED_MAX; i++)
		t->ring[i].counted = &t->words[(size_t)i * t->word_cnt];
	return true;
}

struct weir_handler *
weir_handler_create(const struct weir_handler_config *config, struct weir_error *err)
{
	const uint32_t cnt = config->channel_cnt;
	struct weir_handler *h = calloc(1, sizeof(*h));

	if (h == NULL)
		goto short_of_memory;
	h->notice_max = config->remember_max > 0 ? config->remember_max : WEIR_HANDLER_REMEMBER;
	h->inputs = calloc(cnt > 0 ? cnt : 1, sizeof(*h->inputs));
	h->notices = calloc(h->notice_max, sizeof(*h->notices));
	if (h->inputs == NULL || h->notices == NULL)
		goto short_of_memory;
	if (config->mode == WEIR_HANDLER_AT_LEAST_ONCE && !tracker_init(&h->tracker, cnt))
		goto short_of_memory;
	h->mode = config->mode;
	h->channel_cnt = cnt;
	h->open_cnt = cnt;
	h->finished_tasks_off = config->finished_tasks_off;
	h->output_timer = config->output_timer;
	h->output_due_ns = WEIR_HANDLER_NEVER_NS;
	h->align.due_ns = WEIR_HANDLER_NEVER_NS;
	for (uint32_t c = 0; c < cnt; c++) {
		h->inputs[c].forced = config->forced != NULL && config->forced[c];
		h->inputs[c].virtual = config->virtuals != NULL && config->virtuals[c];
		WEIR_ASSERT(!h->inputs[c].forced || !h->inputs[c].virtual);
	}
	return h;

short_of_memory:
	weir_handler_destroy(h);
	weir_fail(err, WEIR_ERR_UNAVAILABLE, "no memory for the barriers of %u channels", cnt);
	return NULL;
}

void
weir_handler_destroy(struct weir_handler *h)
{
	if (h == NULL)
		return;
	free(h->tracker.words);
	free(h->tracker.ring);
	free(h->notices);
	free(h->inputs);
	free(h);
}

/* What both machines use. */

struct weir_handler_update *
weir_handler_emit(struct weir_handler *h, enum weir_handler_update_kind kind, uint64_t id)
{
	struct weir_handler_update *update;

	WEIR_ASSERT(h->update_cnt < WEIR_HANDLER_UPDATES_MAX);
	update = &h->updates[h->update_cnt++];
	*update = (struct weir_handler_update){
		.kind = kind,
		.id = id,
		.channel = WEIR_HANDLER_CHANNEL_NONE,
	};
	return update;
}

static void
handled_raise(struct weir_handler *h, uint64_t id)
{
	if (!h->has_handled || id > h->handled)
		h->handled = id;
	h->has_handled = true;
}

void
weir_align_clock_reset(struct weir_handler *h)
{
	h->clock = (struct clock){ 0 };
}

void
weir_align_clock_start(struct weir_handler *h, int64_t stamp_ns)
{
	int64_t delay_ns;

	if (h->clock.running)
		return;
	if (__builtin_sub_overflow(h->now_ns, stamp_ns, &delay_ns) || delay_ns < 0)
		delay_ns = 0;
	h->clock = (struct clock){
		.running = true,
		.start_ns = h->now_ns,
		.metrics = { .delay_ns = delay_ns },
	};
}

void
weir_align_clock_stop(struct weir_handler *h)
{
	if (!h->clock.running)
		return;
	h->clock.running = false;
	h->clock.metrics.known = true;
	h->clock.metrics.align_ns = h->now_ns - h->clock.start_ns;
}

void
weir_handler_count(struct weir_handler *h, uint64_t bytes)
{
	if (WEIR_UNLIKELY(h->clock.running))
		h->clock.metrics.bytes += bytes;
}

/* Abort notices (T20). */

static void
notice_remove(struct weir_handler *h, uint32_t idx)
{
	h->notice_cnt--;
	memmove(&h->notices[idx], &h->notices[idx + 1],
		(h->notice_cnt - idx) * sizeof(*h->notices));
}

static bool
notice_find(const struct weir_handler *h, uint64_t id, uint32_t *idx)
{
	for (uint32_t i = 0; i < h->notice_cnt; i++)
		if (h->notices[i] == id) {
			*idx = i;
			return true;
		}
	return false;
}

static void
notice_remember(struct weir_handler *h, uint64_t id)
{
	uint32_t idx;

	if (h->has_handled && id <= h->handled)
		return;
	if (!h->has_notice || id > h->notice_highest)
		h->notice_highest = id;
	h->has_notice = true;
	if (notice_find(h, id, &idx))
		return;
	if (h->notice_cnt == h->notice_max)
		notice_remove(h, 0);
	h->notices[h->notice_cnt++] = id;
}

/* Was the id aborted? Far below the highest notice, memory may have forgotten that it was. */
static bool
notice_claim(struct weir_handler *h, uint64_t id)
{
	uint32_t idx;

	if (WEIR_PLANT(ABORT_FORGOTTEN))
		return false;
	if (notice_find(h, id, &idx)) {
		notice_remove(h, idx);
		return true;
	}
	return h->has_notice && id < h->notice_highest && h->notice_highest - id > h->notice_max;
}

static void
notice_forget_below(struct weir_handler *h, uint64_t id)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < h->notice_cnt; i++)
		if (h->notices[i] >= id)
			h->notices[kept++] = h->notices[i];
	h->notice_cnt = kept;
}

void
weir_handler_abort(struct weir_handler *h, uint64_t id, enum weir_handler_reason reason)
{
	weir_handler_emit(h, WEIR_UPDATE_ABORT, id)->reason = reason;
	handled_raise(h, id);
	notice_forget_below(h, h->handled);
	if (h->output_id == id)
		h->output_due_ns = WEIR_HANDLER_NEVER_NS;
}

/* When stamp + timeout is, without overflow. */
static int64_t
due_at(int64_t stamp_ns, int64_t timeout_ns)
{
	int64_t due_ns;

	if (timeout_ns == WEIR_HANDLER_NEVER_NS)
		return WEIR_HANDLER_NEVER_NS;
	if (__builtin_add_overflow(stamp_ns, timeout_ns, &due_ns))
		return WEIR_HANDLER_NEVER_NS;
	return due_ns;
}

bool
weir_handler_trigger(struct weir_handler *h, const struct weir_handler_update *what)
{
	struct weir_handler_update *update;

	handled_raise(h, what->id);
	if (notice_claim(h, what->id)) {
		weir_handler_emit(h, WEIR_UPDATE_SUPPRESS, what->id);
		return false;
	}
	update = weir_handler_emit(h, WEIR_UPDATE_TRIGGER, what->id);
	*update = *what;
	update->kind = WEIR_UPDATE_TRIGGER;
	h->output_due_ns = WEIR_HANDLER_NEVER_NS;
	/* T10: the barrier may still be queued at the output when its time is up. */
	if (h->output_timer && !what->unaligned && what->barrier == WEIR_BARRIER_TIMEOUTABLE) {
		h->output_due_ns = due_at(what->stamp_ns, what->timeout_ns);
		h->output_id = what->id;
	}
	return true;
}

/* Events that both machines take alike. */

static void
on_end(struct weir_handler *h, uint32_t channel)
{
	struct input *in = &h->inputs[channel];

	WEIR_ASSERT(!in->ended);
	in->ended = true;
	h->open_cnt--;
	if (h->mode == WEIR_HANDLER_AT_LEAST_ONCE)
		weir_tracker_end(h, channel);
	else
		weir_align_end(h, channel);
}

static void
on_end_state(struct weir_handler *h, uint32_t channel)
{
	struct input *in = &h->inputs[channel];

	if (in->restored)
		return;
	in->restored = true;
	h->restored_cnt++;
	if (h->restored_cnt < h->channel_cnt)
		return;
	weir_handler_emit(h, WEIR_UPDATE_RECOVERED, 0);
	h->restored_cnt = 0;
	for (uint32_t c = 0; c < h->channel_cnt; c++)
		h->inputs[c].restored = false;
}

static void
on_notice(struct weir_handler *h, uint64_t id)
{
	notice_remember(h, id);
	if (h->output_id == id)
		h->output_due_ns = WEIR_HANDLER_NEVER_NS;
	if (h->mode == WEIR_HANDLER_EXACTLY_ONCE)
		weir_align_notice(h, id);
}

/* One timer a step, by due time; the input's first: its snapshot replaces the output's (T10). */
static void
on_timer(struct weir_handler *h)
{
	const int64_t input_ns = h->align.due_ns;

	if (input_ns <= h->now_ns && input_ns <= h->output_due_ns) {
		weir_align_timer(h);
	} else if (h->output_due_ns <= h->now_ns) {
		h->output_due_ns = WEIR_HANDLER_NEVER_NS;
		weir_handler_emit(h, WEIR_UPDATE_OUTPUT_TIMEOUT, h->output_id);
	}
}

static void
on_close(struct weir_handler *h)
{
	h->closed = true;
	h->align.due_ns = WEIR_HANDLER_NEVER_NS;
	h->output_due_ns = WEIR_HANDLER_NEVER_NS;
	if (h->mode == WEIR_HANDLER_EXACTLY_ONCE)
		weir_align_close(h);
}

static void
on_barrier_event(struct weir_handler *h, const struct weir_handler_event *event)
{
	if (h->mode == WEIR_HANDLER_AT_LEAST_ONCE)
		weir_tracker_step(h, event);
	else
		weir_align_step(h, event);
}

struct weir_handler_updates
weir_handler_step(struct weir_handler *h, const struct weir_handler_event *event)
{
	h->update_cnt = 0;
	h->now_ns = event->now_ns;
	if (h->closed)
		return (struct weir_handler_updates){ h->updates, 0 };
	switch (event->kind) {
	case WEIR_HANDLER_BARRIER:
	case WEIR_HANDLER_ANNOUNCE:
	case WEIR_HANDLER_CANCEL:
	case WEIR_HANDLER_RPC:
	case WEIR_HANDLER_STARTED:
	case WEIR_HANDLER_REFUSED:
		on_barrier_event(h, event);
		break;
	case WEIR_HANDLER_END:
		on_end(h, event->channel);
		break;
	case WEIR_HANDLER_END_STATE:
		on_end_state(h, event->channel);
		break;
	case WEIR_HANDLER_NOTICE:
		on_notice(h, event->id);
		break;
	case WEIR_HANDLER_TIMER:
		on_timer(h);
		break;
	case WEIR_HANDLER_CLOSE:
		on_close(h);
		break;
	}
	return (struct weir_handler_updates){ h->updates, h->update_cnt };
}

int64_t
weir_handler_due(const struct weir_handler *h)
{
	return h->align.due_ns < h->output_due_ns ? h->align.due_ns : h->output_due_ns;
}

const char *
weir_handler_reason_text(enum weir_handler_reason reason)
{
	switch (reason) {
	case WEIR_ABORT_SUBSUMED:
		return "DECLINED_SUBSUMED";
	case WEIR_ABORT_CANCELLED:
		return "DECLINED_ON_CANCELLATION_BARRIER";
	case WEIR_ABORT_INPUT_END:
		return "DECLINED_INPUT_END_OF_STREAM";
	case WEIR_ABORT_SUBSUMED_AT_START:
		return "SUBSUMED";
	}
	return "UNKNOWN";
}

void
weir_handler_look(const struct weir_handler *h, struct weir_handler_view *view)
{
	*view = (struct weir_handler_view){
		.has_latest = h->has_latest,
		.aligning = h->clock.running,
		.capturing = h->align.state == ALIGN_CAPTURING && !h->align.dropped,
		.latest = h->latest,
		.open_cnt = h->open_cnt,
		.remembered_cnt = h->notice_cnt,
	};
	if (h->mode == WEIR_HANDLER_EXACTLY_ONCE) {
		if (h->align.state == ALIGN_IDLE)
			return;
		view->pending_cnt = 1;
		view->pending[0] = h->latest;
		view->missing_cnt = h->align.target_cnt - h->align.counted_cnt;
		return;
	}
	view->pending_cnt = h->tracker.cnt;
	for (uint32_t i = 0; i < h->tracker.cnt; i++) {
		const struct tracked *t =
			&h->tracker.ring[(h->tracker.head + i) % WEIR_HANDLER_TRACKED_MAX];

		view->pending[i] = t->id;
		view->missing_cnt = t->target_cnt - t->counted_cnt;
	}
}
