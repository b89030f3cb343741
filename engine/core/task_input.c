/* A task's inputs: bursts of frames, events between them, or a source's readers. */
#include "engine/core/task_priv.h"

#include "engine/base/plant.h"
#include "engine/core/core.h"

#define BURSTS_A_TURN 4u

static void
take_frame(struct weir_task *t, uint32_t channel, uint32_t ref)
{
	struct weir_frame_pool *pool = &t->core->pool;
	struct weir_frame *frame = weir_frame_at(pool, ref);
	struct weir_operator_ctx *head = t->ctx[0];
	struct weir_batch batch;
	bool rose;
	int rc = 0;

	WEIR_ASSERT(frame->magic == WEIR_FRAME_MAGIC);
	WEIR_ASSERT(frame->edge == t->channels[channel].edge);
	weir_frame_batch(t->channels[channel].layout, frame, &batch);
	if (frame->stamp_ns != 0)
		t->host.stamp_ns = frame->stamp_ns;
	if (WEIR_PLANT(FRAME_EARLY))
		weir_frame_release(pool, ref);
	rose = frame->flags & WEIR_FRAME_IDLE
		       ? weir_watermarks_idle(&t->watermarks, channel)
		       : weir_watermarks_advance(&t->watermarks, channel, frame->watermark_ns);
	if (batch.selected > 0) {
		weir_count_add(&head->rows_in, batch.selected);
		if (head->state_cnt > 0)
			rc = weir_ctx_reserve(head, 2 * batch.selected);
		if (rc == 0)
			rc = weir_ctx_process(head, &batch);
		weir_input_count(t->input, weir_frame_bytes(t->channels[channel].layout, frame));
	}
	t->channels[channel].processed++;
	if (!WEIR_PLANT(FRAME_EARLY))
		weir_frame_release(pool, ref);
	if (rc != 0)
		weir_task_fail_chain(t, rc);
	else if (rose)
		weir_task_watermark(t, t->watermarks.current_ns);
}

/* R3: a virtual channel is through; its watermark holds nobody back any more. */
static void
virtual_over(struct weir_task *t, uint32_t channel)
{
	if (weir_watermarks_idle(&t->watermarks, channel) && t->state == WEIR_TASK_RUNNING)
		weir_task_watermark(t, t->watermarks.current_ns);
}

static void
take_event_item(struct weir_task *t)
{
	const struct weir_burst *b = &t->burst;
	struct weir_task_input *in = &t->channels[b->channel];

	weir_task_act(t);
	if (b->items[0].kind == WEIR_ITEM_END)
		t->over_cnt++;
	if (b->items[0].kind != WEIR_ITEM_END_DATA && b->items[0].kind != WEIR_ITEM_END)
		return;
	if (in->ended)
		return;
	in->ended = true;
	t->ended_cnt++;
	if (in->is_virtual)
		virtual_over(t, b->channel);
	if (t->ended_cnt == t->channel_cnt && t->state == WEIR_TASK_RUNNING &&
	    t->work == WEIR_WORK_NONE && !t->triggered)
		weir_task_end(t);
}

static bool
can_take(struct weir_task *t)
{
	return t->work == WEIR_WORK_NONE && !t->host.more && !t->triggered &&
	       t->state != WEIR_TASK_FAILED && !weir_task_full(&t->host);
}

/* The frame behind the one that is taken next comes from another core's cache: a line at a time
 * when the operator asks for it would be a wait each. */
static void
fetch_ahead(const struct weir_task *t)
{
	const struct weir_task_input *in = &t->channels[t->burst.channel];

	if (t->burst_at < t->burst.cnt)
		weir_frame_prefetch(in->layout,
				    weir_frame_at(&t->core->pool, t->burst.items[t->burst_at].ref),
				    in->touched);
}

/* Frames and events of the burst under way; stops when the task has something else to do. */
static void
go_through_burst(struct weir_task *t, uint64_t *rows)
{
	while (t->burst_at < t->burst.cnt && can_take(t)) {
		const uint32_t i = t->burst_at++;

		if (t->burst.is_event) {
			take_event_item(t);
			continue;
		}
		fetch_ahead(t);
		*rows += weir_frame_at(&t->core->pool, t->burst.items[i].ref)->rows;
		take_frame(t, t->burst.channel, t->burst.items[i].ref);
	}
	/* What the task cannot take now is its channel's next again, where a capture sees it (T12).
	 */
	if (t->burst_at < t->burst.cnt && !WEIR_PLANT(BURST_LOST))
		weir_gate_put_back(weir_input_gate(t->input), &t->burst,
				   t->burst.cnt - t->burst_at);
	t->burst.cnt = 0;
	t->burst_at = 0;
}

enum weir_regime
weir_task_poll_channels(struct weir_task *t, uint64_t *rows)
{
	enum weir_regime regime = WEIR_REGIME_IDLE;

	for (uint32_t n = 0; n < BURSTS_A_TURN && !t->capture_full && can_take(t); n++) {
		if (t->burst_at == t->burst.cnt) {
			t->burst_at = 0;
			if (weir_input_poll(t->input, &t->burst, WEIR_GATE_BURST, t->host.now_ns) ==
			    0) {
				t->burst.cnt = 0;
				/* A channel that failed says so without an item. */
				weir_task_act(t);
				break;
			}
		}
		regime = WEIR_REGIME_BUSY;
		go_through_burst(t, rows);
	}
	/* The last end of data may have come while a snapshot's flush was under way. */
	if (t->state == WEIR_TASK_RUNNING && t->channel_cnt > 0 && t->ended_cnt == t->channel_cnt &&
	    t->work == WEIR_WORK_NONE && !t->triggered && t->burst_at == t->burst.cnt)
		weir_task_end(t);
	return regime;
}

static void
want_split(struct weir_task *t)
{
	struct weir_readers *r = t->readers;

	if (r->active > 0 || r->no_more || r->wanted)
		return;
	r->wanted = true;
	weir_core_post(t->core,
		       &(struct weir_mail){ .kind = WEIR_MAIL_WANT_SPLIT, .task = t->number });
}

enum weir_regime
weir_task_poll_source(struct weir_task *t, uint64_t *rows)
{
	enum weir_regime regime = WEIR_REGIME_IDLE;

	if (t->state != WEIR_TASK_RUNNING)
		return regime;
	for (uint32_t n = 0; n < t->host.batches && can_take(t); n++) {
		const int64_t before = t->readers->watermark_ns;
		uint32_t got;
		const int rc = weir_readers_read(t->readers, t->host.now_ns, &got);

		if (rc != 0) {
			weir_task_fail_chain(t, rc);
			return WEIR_REGIME_BUSY;
		}
		if (got == 0) {
			n = t->host.batches;
		} else {
			*rows += got;
			regime = WEIR_REGIME_BUSY;
		}
		if (weir_readers_at_end(t->readers)) {
			weir_task_end(t);
			return WEIR_REGIME_BUSY;
		}
		if (weir_readers_watermark(t->readers) > before)
			weir_task_watermark(t, t->readers->watermark_ns);
	}
	want_split(t);
	return regime;
}
