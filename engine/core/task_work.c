/*
 * What a task does in pieces: watermarks, flushes before a snapshot, the operators' ends.
 *
 * T26: a watermark that fires much takes many turns, and a snapshot may be taken between two of
 * them: the watermark is put off, the operators are flushed, the snapshot is taken, and the
 * watermark goes on where it was. Rows are read, and the watermark is forwarded, only when it is
 * done. After a restore it is taken up again before anything is read. The same goes for rows that
 * an operator has put off into its state (T27).
 */
#include "engine/core/task_priv.h"

#include "engine/core/core.h"
#include "engine/core/watchdog.h"

/* Does any operator still have rows to emit? */
static bool
any_more(const struct weir_task *t)
{
	for (uint32_t i = 0; i < t->ctx_cnt; i++)
		if (t->ctx[i]->more)
			return true;
	return false;
}

static void
finish_work(struct weir_task *t)
{
	const struct weir_event end = { .flags = WEIR_EVENT_DRAIN };

	switch (t->work) {
	case WEIR_WORK_NONE:
		break;
	case WEIR_WORK_MORE:
		t->work = WEIR_WORK_NONE;
		t->host.more = any_more(t);
		break;
	case WEIR_WORK_WATERMARK:
		t->host.more = any_more(t);
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
		if (!weir_task_snapshot(t))
			return;
		weir_task_flush_over(t);
		t->triggered = false;
		break;
	case WEIR_WORK_END:
		t->work = WEIR_WORK_NONE;
		weir_task_send_event(t, WEIR_ITEM_END_DATA, &end);
		t->state = WEIR_TASK_FINAL;
		break;
	}
}

/* T27: rows that an operator has put off come before anything that follows them; a barrier does not
 * wait for them. */
static int
more_of(struct weir_task *t, struct weir_operator_ctx *c)
{
	int rc;

	if (WEIR_LIKELY(!c->more) || t->work == WEIR_WORK_FLUSH)
		return 0;
	rc = weir_ctx_reserve(c, WEIR_BATCH_ROWS);
	if (rc == 0)
		rc = c->op->more(c, &c->out);
	c->more = rc != 0;
	return rc;
}

static int
work_of(struct weir_task *t, struct weir_operator_ctx *c)
{
	int rc = more_of(t, c);

	if (rc != 0)
		return rc;
	switch (t->work) {
	case WEIR_WORK_NONE:
	case WEIR_WORK_MORE:
		break;
	case WEIR_WORK_WATERMARK:
		if (c->op->watermark != NULL)
			rc = c->op->watermark(c, t->work_watermark_ns, &c->out);
		if (rc == 0)
			c->watermark_ns = t->work_watermark_ns;
		break;
	case WEIR_WORK_FLUSH:
		/* T28: behind the end of data nothing comes any more. */
		if (c->op->flush != NULL && t->state < WEIR_TASK_FINAL && !c->ended)
			rc = c->op->flush(c, &c->out);
		break;
	case WEIR_WORK_END:
		if (c->op->end != NULL && !c->ended)
			rc = c->op->end(c, &c->out);
		break;
	}
	return rc;
}

/* Go on until the work is done or an operator has more than fits. */
static void
go_on(struct weir_task *t)
{
	bool flushed;

	t->host.emitted = 0;
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
		flushed = t->work == WEIR_WORK_FLUSH;
		finish_work(t);
		if (flushed || t->state == WEIR_TASK_FAILED)
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

/* There is none. */
static void
work_start(struct weir_task *t, enum weir_work work)
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
	work_start(t, WEIR_WORK_WATERMARK);
}

bool
weir_task_may_flush(const struct weir_task *t)
{
	return t->work == WEIR_WORK_NONE || t->work == WEIR_WORK_MORE ||
	       t->work == WEIR_WORK_WATERMARK;
}

void
weir_task_flush_start(struct weir_task *t)
{
	WEIR_ASSERT(weir_task_may_flush(t));
	WEIR_ASSERT(t->put_off == WEIR_WORK_NONE);
	t->put_off = t->work;
	t->put_off_op = t->work_op;
	t->work = WEIR_WORK_NONE;
	work_start(t, WEIR_WORK_FLUSH);
}

void
weir_task_flush_over(struct weir_task *t)
{
	WEIR_ASSERT(t->work == WEIR_WORK_FLUSH);
	t->work = t->put_off;
	t->work_op = t->put_off_op;
	t->put_off = WEIR_WORK_NONE;
}

/*
 * The checkpoint was taken while a watermark was being dealt with: go on with it before any row is
 * read. The operators up to the one that was firing have dealt with it, those behind have not.
 */
void
weir_task_watermark_resume(struct weir_task *t)
{
	(void)weir_watermarks_refresh(&t->watermarks);
	for (uint32_t i = 0; i < t->ctx_cnt; i++)
		if (t->ctx[i]->watermark_ns < t->watermarks.current_ns) {
			t->work_watermark_ns = t->watermarks.current_ns;
			t->work = WEIR_WORK_WATERMARK;
			t->work_op = i;
			return;
		}
}
