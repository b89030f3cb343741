#include "engine/core/task.h"

#include "engine/base/plant.h"
#include "engine/core/core.h"
#include "engine/core/task_priv.h"

#include <string.h>

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
void
weir_task_fail_chain(struct weir_task *t, int code)
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
			weir_task_fail_chain(t, rc);
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
	} else {
		/* T27: the restored state may hold rows that had been put off. */
		for (uint32_t i = 0; i < t->ctx_cnt; i++) {
			t->ctx[i]->more = t->ctx[i]->op != NULL && t->ctx[i]->op->more != NULL &&
					  !WEIR_PLANT(MORE_LOST);
			t->host.more |= t->ctx[i]->more;
		}
		weir_task_watermark_resume(t);
	}
	return 0;
}

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
			weir_task_fail_chain(t, rc);
	}
	if (t->sink != NULL)
		weir_two_phase_idle(t->sink);
}

/*
 * T31: all upstream has finished, but what it sent may still be queued, if an unaligned checkpoint
 * covered it; no one would send it again. An aligned snapshot is taken behind it, where the ends
 * are; an unaligned one keeps it. One that may time out waits as long as it may.
 */
static bool
may_take_asked(struct weir_task *t)
{
	struct weir_mail *m = &t->asked[0];

	if (t->over_cnt == t->channel_cnt || m->barrier == WEIR_BARRIER_UNALIGNED)
		return true;
	if (m->barrier != WEIR_BARRIER_TIMEOUTABLE || t->host.now_ns - m->stamp_ns < m->timeout_ns)
		return false;
	m->barrier = WEIR_BARRIER_UNALIGNED;
	return true;
}

static void
take_asked(struct weir_task *t, int64_t now_ns)
{
	const struct weir_mail m = t->asked[0];

	t->asked_cnt--;
	memmove(&t->asked[0], &t->asked[1], t->asked_cnt * sizeof(t->asked[0]));
	weir_task_trigger(t, &m, now_ns);
}

enum weir_regime
weir_task_turn(struct weir_task *t, int64_t now_ns, uint64_t *rows)
{
	enum weir_regime regime;
	bool blocked, events;

	if (t->state == WEIR_TASK_FINISHED || t->state == WEIR_TASK_FAILED)
		return WEIR_REGIME_IDLE;
	t->host.now_ns = now_ns;
	t->host.full = weir_task_enough;
	if (t->sink != NULL) {
		struct weir_error err;

		weir_two_phase_step(t->sink);
		if (weir_two_phase_failed(t->sink, &err) != 0)
			weir_task_fail(t, &err);
	}
	blocked = !weir_task_push_outputs(t);
	if (WEIR_UNLIKELY(t->cancel_owed != 0))
		(void)weir_task_pay_cancel(t);
	events = weir_task_poll_events(t);
	if (t->asked_cnt > 0 && t->hold == 0 && weir_task_may_flush(t) && !t->triggered &&
	    !weir_task_drains_first(t, t->asked[0].id) && may_take_asked(t))
		take_asked(t, now_ns);
	if (t->triggered && weir_task_may_flush(t))
		weir_task_flush_start(t);
	if (t->hold != 0 && !WEIR_PLANT(HOLD_NOT))
		return blocked ? WEIR_REGIME_BACK_PRESSURED : WEIR_REGIME_IDLE;
	if (WEIR_UNLIKELY(t->host.more) && t->work == WEIR_WORK_NONE && !t->triggered) {
		t->work = WEIR_WORK_MORE;
		t->work_op = 0;
	}
	if (t->work != WEIR_WORK_NONE) {
		if (t->work == WEIR_WORK_FLUSH || !weir_task_full(&t->host))
			weir_task_work(t);
		blocked |= weir_task_full(&t->host);
		regime = blocked ? WEIR_REGIME_BACK_PRESSURED : WEIR_REGIME_BUSY;
	} else {
		regime = t->readers != NULL ? weir_task_poll_source(t, rows)
					    : weir_task_poll_channels(t, rows);
		if (regime == WEIR_REGIME_IDLE && weir_task_full(&t->host))
			regime = WEIR_REGIME_BACK_PRESSURED;
	}
	if (events && regime < WEIR_REGIME_BUSY)
		regime = WEIR_REGIME_BUSY;
	if (t->state == WEIR_TASK_FAILED)
		return WEIR_REGIME_BUSY;
	if (regime != WEIR_REGIME_BACK_PRESSURED && t->work == WEIR_WORK_NONE)
		run_idle_hooks(t, regime);
	if (regime != WEIR_REGIME_BACK_PRESSURED)
		flush_if_due(t, regime);
	weir_task_step_end(t);
	return regime;
}
