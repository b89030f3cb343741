#include "engine/core/task.h"

#include <string.h>

#include "engine/base/plant.h"
#include "engine/core/core.h"

#define BURSTS_A_TURN 4u

void
weir_task_fail(struct weir_task *t, const struct weir_error *err)
{
	if (t->state == WEIR_TASK_FAILED)
		return;
	t->state = WEIR_TASK_FAILED;
	t->ctx[0]->error = *err;
	weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_FAILED,
						     .task = t->number,
						     .ptr = &t->ctx[0]->error });
}

/* An operator's or the sink's error, wherever in the chain it is. */
static void
fail_chain(struct weir_task *t, int code)
{
	struct weir_error err = { .code = code, .text = "failed without a word" };
	const char *id = t->ctx[0]->id;

	for (uint32_t i = 0; i < t->ctx_cnt; i++)
		if (t->ctx[i]->error.code != WEIR_OK) {
			err = t->ctx[i]->error;
			id = t->ctx[i]->id;
			break;
		}
	weir_error_prefix(&err, "operator '%s' subtask %u", id, t->subtask);
	weir_task_fail(t, &err);
}

int
weir_task_start(struct weir_task *t)
{
	for (uint32_t i = 0; i < t->ctx_cnt; i++) {
		struct weir_operator_ctx *c = t->ctx[i];
		int rc;

		if (c->op == NULL || c->op->open == NULL)
			continue;
		rc = c->op->open(c);
		if (rc != 0) {
			fail_chain(t, rc);
			return rc;
		}
	}
	t->state = WEIR_TASK_RUNNING;
	weir_core_post(t->core,
		       &(struct weir_mail){ .kind = WEIR_MAIL_RUNNING, .task = t->number });
	if (t->restored_ended) {
		/* Everything was through: only the ends are left, behind one more checkpoint (T29).
		 */
		const struct weir_event end = { .flags = WEIR_EVENT_DRAIN };

		weir_task_send_event(t, WEIR_ITEM_END_DATA, &end);
		t->state = WEIR_TASK_FINAL;
	}
	return 0;
}

/* ---- outputs ---- */

static bool
push_outputs(struct weir_task *t)
{
	bool all = true;

	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		all &= weir_emitter_push(&t->emitters[e]);
	return all;
}

void
weir_task_flush(struct weir_task *t)
{
	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		weir_emitter_flush(&t->emitters[e]);
}

static struct weir_event *
take_event(struct weir_task *t)
{
	for (uint32_t i = 0; i < WEIR_TASK_EVENTS; i++) {
		struct weir_event *e = &t->events[t->event_next];

		t->event_next = (t->event_next + 1) % WEIR_TASK_EVENTS;
		/* E1: pairs with G1 of the consumer that let go last; the slot is not read any
		 * more. */
		if (atomic_load_explicit(&e->refs, memory_order_acquire) == 0)
			return e;
	}
	return NULL;
}

void
weir_task_send_event(struct weir_task *t, enum weir_item_kind kind, const struct weir_event *event)
{
	struct weir_event *slot;

	if (t->port_cnt == 0)
		return;
	weir_task_flush(t);
	slot = take_event(t);
	/* At most a barrier, a cancel marker and two ends are on their way per checkpoint. */
	WEIR_ASSERT(slot != NULL);
	slot->checkpoint = event->checkpoint;
	slot->stamp_ns = event->stamp_ns;
	slot->timeout_ns = event->timeout_ns;
	slot->barrier = event->barrier;
	slot->flags = event->flags;
	/* The lane's push publishes the slot. */
	atomic_store_explicit(&slot->refs, t->port_cnt, memory_order_relaxed);
	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		for (uint32_t p = 0; p < t->emitters[e].port_cnt; p++)
			weir_port_event(&t->emitters[e].ports[p],
					t->event_base + (uint32_t)(slot - t->events), kind);
}

static bool
outputs_full(struct weir_operator_host *host)
{
	struct weir_task *t = (struct weir_task *)host;

	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		if (weir_emitter_held(&t->emitters[e]) > 0)
			return true;
	return t->sink != NULL && !weir_text_sink_ready(t->sink, host->now_ns);
}

/* ---- work in pieces ---- */

static void
finish_work(struct weir_task *t)
{
	const struct weir_event end = { .flags = WEIR_EVENT_DRAIN };

	switch (t->work) {
	case WEIR_WORK_NONE:
		break;
	case WEIR_WORK_WATERMARK:
		for (uint32_t e = 0; e < t->emitter_cnt; e++)
			weir_emitter_watermark(&t->emitters[e], t->work_watermark_ns,
					       t->host.now_ns);
		t->work = WEIR_WORK_NONE;
		if (t->state == WEIR_TASK_ENDING) {
			t->work = WEIR_WORK_END;
			t->work_op = 0;
		}
		break;
	case WEIR_WORK_FLUSH:
		if (!weir_task_snapshot(t, t->host.now_ns))
			return;
		t->work = WEIR_WORK_NONE;
		break;
	case WEIR_WORK_END:
		t->work = WEIR_WORK_NONE;
		weir_task_send_event(t, WEIR_ITEM_END_DATA, &end);
		t->state = WEIR_TASK_FINAL;
		break;
	}
}

static int
work_of(struct weir_task *t, struct weir_operator_ctx *c)
{
	int rc = 0;

	switch (t->work) {
	case WEIR_WORK_NONE:
		break;
	case WEIR_WORK_WATERMARK:
		if (c->op->watermark != NULL)
			rc = c->op->watermark(c, t->work_watermark_ns, &c->out);
		if (rc == 0)
			c->watermark_ns = t->work_watermark_ns;
		break;
	case WEIR_WORK_FLUSH:
		if (c->op->flush != NULL)
			rc = c->op->flush(c, &c->out);
		break;
	case WEIR_WORK_END:
		if (c->op->end != NULL)
			rc = c->op->end(c, &c->out);
		break;
	}
	return rc;
}

/* Go on until the work is done or an operator has more than fits. */
static void
run_work(struct weir_task *t)
{
	while (t->work != WEIR_WORK_NONE) {
		while (t->work_op < t->ctx_cnt) {
			struct weir_operator_ctx *c = t->ctx[t->work_op];
			const int rc = c->op != NULL ? work_of(t, c) : 0;

			if (rc == WEIR_MORE)
				return;
			if (rc != 0) {
				fail_chain(t, rc);
				t->work = WEIR_WORK_NONE;
				return;
			}
			if (c->op == NULL && t->work == WEIR_WORK_WATERMARK)
				c->watermark_ns = t->work_watermark_ns;
			t->work_op++;
		}
		finish_work(t);
		if (t->work == WEIR_WORK_FLUSH || t->state == WEIR_TASK_FAILED)
			return;
	}
}

static void
start_work(struct weir_task *t, enum weir_work work)
{
	WEIR_ASSERT(t->work == WEIR_WORK_NONE);
	t->work = work;
	t->work_op = 0;
	run_work(t);
}

static void
advance_watermark(struct weir_task *t, int64_t watermark_ns)
{
	t->work_watermark_ns = watermark_ns;
	start_work(t, WEIR_WORK_WATERMARK);
}

static void
begin_end(struct weir_task *t)
{
	WEIR_ASSERT(t->state == WEIR_TASK_RUNNING);
	t->state = WEIR_TASK_ENDING;
	advance_watermark(t, WEIR_TIME_END);
}

/* ---- barriers ---- */

static void
send_cancel(struct weir_task *t, uint64_t id)
{
	const struct weir_event cancel = { .checkpoint = id };

	weir_task_send_event(t, WEIR_ITEM_CANCEL, &cancel);
}

/* Do what the barrier handler says (the gate's part is done by weir_input). */
static void
act(struct weir_task *t)
{
	const struct weir_handler_updates u = weir_input_updates(t->input);
	bool triggered = false;

	for (uint32_t i = 0; i < u.cnt && t->state != WEIR_TASK_FAILED; i++) {
		const struct weir_handler_update *x = &u.list[i];

		switch (x->kind) {
		case WEIR_UPDATE_TRIGGER:
			WEIR_ASSERT(!triggered);
			t->trigger = *x;
			triggered = true;
			break;
		case WEIR_UPDATE_ABORT:
			/* T19: decline, then the marker, so that nobody downstream waits. */
			weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_DECLINE,
								     .task = t->number,
								     .id = x->id,
								     .flags = x->reason });
			send_cancel(t, x->id);
			break;
		case WEIR_UPDATE_SUPPRESS:
			send_cancel(t, x->id); /* T20 */
			break;
		case WEIR_UPDATE_FAULT:
			weir_task_fail(t, weir_input_fault(t->input));
			break;
		default:
			break;
		}
	}
	if (triggered && t->state != WEIR_TASK_FAILED) {
		t->triggered_ns = t->core->clock();
		start_work(t, WEIR_WORK_FLUSH);
	}
}

/* ---- inputs ---- */

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
			rc = head->op->process(head, &batch, &head->out);
		weir_input_count(t->input, (uint64_t)frame->rows * 8 + frame->heap_len);
	}
	t->channels[channel].processed++;
	if (!WEIR_PLANT(FRAME_EARLY))
		weir_frame_release(pool, ref);
	if (rc != 0)
		fail_chain(t, rc);
	else if (rose)
		advance_watermark(t, t->watermarks.current_ns);
}

static void
take_event_item(struct weir_task *t)
{
	const struct weir_burst *b = &t->burst;
	struct weir_task_input *in = &t->channels[b->channel];

	act(t);
	if (b->items[0].kind == WEIR_ITEM_END)
		t->over_cnt++;
	if (b->items[0].kind != WEIR_ITEM_END_DATA && b->items[0].kind != WEIR_ITEM_END)
		return;
	if (in->ended)
		return;
	in->ended = true;
	t->ended_cnt++;
	if (t->ended_cnt == t->channel_cnt && t->state == WEIR_TASK_RUNNING &&
	    t->work == WEIR_WORK_NONE)
		begin_end(t);
}

static bool
can_take(struct weir_task *t)
{
	return t->work == WEIR_WORK_NONE && t->state != WEIR_TASK_FAILED && !outputs_full(&t->host);
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

static enum weir_regime
poll_channels(struct weir_task *t, uint64_t *rows)
{
	enum weir_regime regime = WEIR_REGIME_IDLE;

	while (can_take(t) && weir_input_poll_priority(t->input, &t->burst, t->host.now_ns) > 0) {
		act(t);
		regime = WEIR_REGIME_BUSY;
	}
	if (weir_input_due(t->input) <= t->host.now_ns) {
		weir_input_timers(t->input, t->host.now_ns);
		act(t);
	}
	for (uint32_t n = 0; n < BURSTS_A_TURN && can_take(t); n++) {
		if (t->burst_at == t->burst.cnt) {
			t->burst_at = 0;
			if (weir_input_poll(t->input, &t->burst, WEIR_GATE_BURST, t->host.now_ns) ==
			    0) {
				t->burst.cnt = 0;
				/* A channel that failed says so without an item. */
				act(t);
				break;
			}
		}
		regime = WEIR_REGIME_BUSY;
		go_through_burst(t, rows);
	}
	/* The last end of data may have come while a snapshot's flush was under way. */
	if (t->state == WEIR_TASK_RUNNING && t->channel_cnt > 0 && t->ended_cnt == t->channel_cnt &&
	    t->work == WEIR_WORK_NONE && t->burst_at == t->burst.cnt)
		begin_end(t);
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

static enum weir_regime
poll_source(struct weir_task *t, uint64_t *rows)
{
	enum weir_regime regime = WEIR_REGIME_IDLE;

	if (t->state != WEIR_TASK_RUNNING)
		return regime;
	for (uint32_t n = 0; n < BURSTS_A_TURN && can_take(t); n++) {
		const int64_t before = t->readers->watermark_ns;
		uint32_t got;
		const int rc = weir_readers_read(t->readers, t->host.now_ns, &got);

		if (rc != 0) {
			fail_chain(t, rc);
			return WEIR_REGIME_BUSY;
		}
		if (got == 0) {
			n = BURSTS_A_TURN;
		} else {
			*rows += got;
			regime = WEIR_REGIME_BUSY;
		}
		if (weir_readers_at_end(t->readers)) {
			begin_end(t);
			return WEIR_REGIME_BUSY;
		}
		if (weir_readers_watermark(t->readers) > before)
			advance_watermark(t, t->readers->watermark_ns);
	}
	want_split(t);
	return regime;
}

/* ---- the end ---- */

static void
close_task(struct weir_task *t)
{
	const struct weir_event end = { 0 };

	weir_task_send_event(t, WEIR_ITEM_END, &end);
	t->state = WEIR_TASK_CLOSING;
}

/*
 * T28: the end of partition is the last thing on a channel, and the last thing a task waits for: a
 * checkpoint that was triggered before the final one completed is on its way, from the control
 * thread to a source, from a source in its channels, and needs this task.
 */
static bool
may_close(const struct weir_task *t)
{
	return t->covered && t->state == WEIR_TASK_FINAL && t->work == WEIR_WORK_NONE &&
	       !t->asked && t->over_cnt == t->channel_cnt;
}

static void
step_end(struct weir_task *t)
{
	if (may_close(t))
		close_task(t);
	if (t->state == WEIR_TASK_FINAL && !t->end_said) {
		t->end_said = true;
		weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_END_OF_DATA,
							     .task = t->number });
	}
	if (t->precommit && !t->precommit_said && t->state == WEIR_TASK_FINAL &&
	    (t->sink == NULL || weir_text_sink_is_durable(t->sink))) {
		t->precommit_said = true;
		weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_PRECOMMITTED,
							     .task = t->number });
	}
	if (t->state == WEIR_TASK_CLOSING && !t->finished_said && push_outputs(t) &&
	    t->snapshot == 0 && (t->sink == NULL || weir_text_sink_is_committed(t->sink))) {
		t->finished_said = true;
		t->state = WEIR_TASK_FINISHED;
		weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_FINISHED,
							     .task = t->number });
		weir_core_snapshot_check(t->core);
	}
}

/* ---- mail ---- */

/* A checkpoint that came too late for a task which is through. */
static void
decline_closing(struct weir_task *t, uint64_t id)
{
	weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_DECLINE,
						     .task = t->number,
						     .id = id,
						     .flags = WEIR_MAIL_DECLINE_CLOSING });
}

/* A source, or a task whose upstream has finished (T31): not while something is under way. */
static void
start_trigger(struct weir_task *t, const struct weir_mail *m, int64_t now_ns)
{
	const struct weir_input_trigger trigger = { .id = m->id,
						    .barrier = m->flags,
						    .stamp_ns = m->stamp_ns,
						    .timeout_ns = WEIR_HANDLER_NEVER_NS };

	weir_input_trigger(t->input, &trigger, now_ns);
	act(t);
}

/* The checkpoint was given up before its snapshot was taken: markers instead of barriers (T20). */
static void
drop_flush(struct weir_task *t)
{
	t->work = WEIR_WORK_NONE;
	send_cancel(t, t->trigger.id);
}

void
weir_task_mail(struct weir_task *t, const struct weir_mail *m, int64_t now_ns)
{
	t->host.now_ns = now_ns;
	switch ((enum weir_mail_kind)m->kind) {
	case WEIR_MAIL_TRIGGER:
		if (t->state >= WEIR_TASK_CLOSING) {
			decline_closing(t, m->id);
			break;
		}
		t->asked = true;
		t->asked_mail = *m;
		break;
	case WEIR_MAIL_COMPLETE:
		if (t->sink != NULL)
			weir_text_sink_commit(t->sink, m->id);
		if (t->state == WEIR_TASK_FINAL && t->final_snapshot != 0 &&
		    m->id >= t->final_snapshot)
			t->covered = true;
		break;
	case WEIR_MAIL_ABORT:
		/* T20: whoever waits downstream for this task's barrier gets the marker instead. */
		if (t->asked && t->asked_mail.id == m->id) {
			t->asked = false;
			send_cancel(t, m->id);
		}
		if (t->work == WEIR_WORK_FLUSH && t->trigger.id == m->id)
			drop_flush(t);
		if (t->snapshot == m->id)
			weir_task_snapshot_abandon(t);
		weir_input_notice(t->input, m->id, now_ns);
		act(t);
		break;
	case WEIR_MAIL_SPLIT:
		weir_readers_give(t->readers, m->ptr);
		break;
	case WEIR_MAIL_HOLD:
		if (m->stamp_ns > t->readers->hold_ns)
			t->readers->hold_ns = m->stamp_ns;
		break;
	case WEIR_MAIL_NO_MORE:
		t->readers->no_more = true;
		break;
	case WEIR_MAIL_PRECOMMIT:
		t->precommit = true;
		if (t->sink != NULL)
			t->acks[0].pending_cnt =
				weir_text_sink_snapshot(t->sink, 0, t->acks[0].pending);
		break;
	case WEIR_MAIL_COMMIT:
		if (t->sink != NULL)
			weir_text_sink_commit(t->sink, 0);
		t->covered = true;
		break;
	default:
		WEIR_ASSERT(!"a message that a task knows");
	}
}

/* ---- turn ---- */

/* Adaptive flush: a partly filled frame leaves when its core found nothing to read, or after
 * linger. */
static void
flush_if_due(struct weir_task *t, enum weir_regime regime)
{
	for (uint32_t e = 0; e < t->emitter_cnt; e++) {
		struct weir_emitter *m = &t->emitters[e];

		if (m->oldest_ns != INT64_MAX &&
		    (regime == WEIR_REGIME_IDLE ||
		     t->host.now_ns - m->oldest_ns >= t->core->linger_ns))
			weir_emitter_flush(m);
	}
}

static void
run_idle_hooks(struct weir_task *t, enum weir_regime regime)
{
	if (regime != WEIR_REGIME_IDLE && t->host.now_ns - t->idle_since_ns < t->core->linger_ns)
		return;
	t->idle_since_ns = t->host.now_ns;
	for (uint32_t i = 0; i < t->ctx_cnt; i++) {
		struct weir_operator_ctx *c = t->ctx[i];
		int rc;

		if (c->op == NULL || c->op->idle == NULL)
			continue;
		rc = c->op->idle(c, &c->out);
		if (rc != 0 && rc != WEIR_MORE)
			fail_chain(t, rc);
	}
	if (t->sink != NULL)
		weir_text_sink_idle(t->sink);
}

enum weir_regime
weir_task_turn(struct weir_task *t, int64_t now_ns, uint64_t *rows)
{
	enum weir_regime regime;
	bool blocked;

	if (t->state == WEIR_TASK_FINISHED || t->state == WEIR_TASK_FAILED)
		return WEIR_REGIME_IDLE;
	t->host.now_ns = now_ns;
	t->host.full = outputs_full;
	if (t->sink != NULL) {
		struct weir_error err;

		weir_text_sink_step(t->sink);
		if (weir_text_sink_failed(t->sink, &err) != 0)
			weir_task_fail(t, &err);
	}
	blocked = !push_outputs(t);
	if (t->asked && t->work == WEIR_WORK_NONE && t->burst_at == t->burst.cnt) {
		t->asked = false;
		start_trigger(t, &t->asked_mail, now_ns);
	}
	if (t->work != WEIR_WORK_NONE) {
		if (t->work == WEIR_WORK_FLUSH || !outputs_full(&t->host))
			run_work(t);
		blocked |= outputs_full(&t->host);
		regime = blocked ? WEIR_REGIME_BACK_PRESSURED : WEIR_REGIME_BUSY;
	} else {
		regime = t->readers != NULL ? poll_source(t, rows) : poll_channels(t, rows);
		if (regime == WEIR_REGIME_IDLE && outputs_full(&t->host))
			regime = WEIR_REGIME_BACK_PRESSURED;
	}
	if (t->state == WEIR_TASK_FAILED)
		return WEIR_REGIME_BUSY;
	if (regime != WEIR_REGIME_BACK_PRESSURED && t->work == WEIR_WORK_NONE)
		run_idle_hooks(t, regime);
	if (regime != WEIR_REGIME_BACK_PRESSURED)
		flush_if_due(t, regime);
	step_end(t);
	return regime;
}
