/* What a task does in pieces: watermarks, flushes before a snapshot, the operators' ends. */
#include "engine/core/task_priv.h"

#include "engine/core/core.h"
#include "engine/core/watchdog.h"

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
		t->triggered = false;
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
		/* T28: behind the end of data nothing comes any more. */
		if (c->op->flush != NULL && t->state < WEIR_TASK_FINAL)
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
go_on(struct weir_task *t)
{
	while (t->work != WEIR_WORK_NONE) {
		while (t->work_op < t->ctx_cnt) {
			struct weir_operator_ctx *c = t->ctx[t->work_op];
			const int rc = c->op != NULL ? work_of(t, c) : 0;

			if (rc == WEIR_MORE)
				return;
			if (rc != 0) {
				weir_task_fail_chain(t, rc);
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

void
weir_task_work(struct weir_task *t)
{
	const uint64_t id = t->trigger.id;

	if (t->work != WEIR_WORK_FLUSH) {
		go_on(t);
		return;
	}
	weir_watchdog_begin(t);
	go_on(t);
	weir_watchdog_end(t, id);
}

void
weir_task_work_start(struct weir_task *t, enum weir_work work)
{
	WEIR_ASSERT(t->work == WEIR_WORK_NONE);
	t->work = work;
	t->work_op = 0;
	weir_task_work(t);
}

void
weir_task_watermark(struct weir_task *t, int64_t watermark_ns)
{
	t->work_watermark_ns = watermark_ns;
	weir_task_work_start(t, WEIR_WORK_WATERMARK);
}
