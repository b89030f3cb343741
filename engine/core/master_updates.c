/*
 * What the coordinator wants done: each of its updates becomes mail, file work, an answer.
 *
 * Doing one may make the next event (an answer that is known at once, a failure). Events therefore
 * queue: a step does not begin while another's updates are being done.
 */

#include "engine/core/master_priv.h"

#include "engine/base/plant.h"

#include <stdlib.h>
#include <string.h>

#define ID_BLOCK 64u

struct weir_master_event {
	struct weir_master_event *next;
	struct weir_coord_event event;
	struct weir_part *parts; /* of an ACK; owned */
	struct weir_attempt attempt;
};

static void
need_id(struct weir_master *m, const struct weir_coord_update *u)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_ID_ANSWER };
	const uint64_t id = u->id;
	int rc = 0;

	m->preparing = (struct weir_master_preparing){ .request = u->request,
						       .trigger_ns = m->now_ns,
						       .wall_ns = m->wall_ns };
	if (m->covered) {
		/* The final checkpoint is there: nothing of this job is left to be in another. */
		ev.answer.result = WEIR_COORD_FAILED;
	} else if (id + 1 > m->reserved_id && !WEIR_PLANT(ID_AGAIN)) {
		rc = m->cfg.reserve_ids(m->cfg.arg, id + ID_BLOCK);
		if (rc == 0)
			m->reserved_id = id + ID_BLOCK;
		else
			ev.answer.result = WEIR_COORD_FAILED_IO;
	}
	ev.answer.id = id;
	weir_master_event(m, &ev);
}

/* A checkpoint's own folder is made with its manifest. */
static void
need_storage(struct weir_master *m, const struct weir_coord_update *u)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_STORAGE_ANSWER };

	weir_master_checkpoint_begun(m, weir_master_checkpoint_new(m, u->id));
	if (u->storage.savepoint) {
		weir_master_savepoint_storage(m, u->id);
		return;
	}
	ev.answer.id = u->id;
	weir_master_event(m, &ev);
}

/* C17: the coordinator's choice as the barrier that sources inject. */
static enum weir_barrier_kind
barrier_of(const struct weir_coord_update *u)
{
	switch (u->trigger.alignment) {
	case WEIR_ALIGNMENT_UNALIGNED:
		return WEIR_BARRIER_UNALIGNED;
	case WEIR_ALIGNMENT_TIMEOUT:
		return WEIR_BARRIER_TIMEOUTABLE;
	case WEIR_ALIGNMENT_ALIGNED:
	case WEIR_ALIGNMENT_AT_LEAST_ONCE:
		break;
	}
	return weir_request_is_savepoint(u->trigger.kind) ? WEIR_BARRIER_SAVEPOINT
							  : WEIR_BARRIER_ALIGNED;
}

/* Lowest id under way besides ended (0: none ends), which no task may forget; none is: above all.
 */
static uint64_t
over_below(const struct weir_master *m, uint64_t ended)
{
	uint64_t lowest = UINT64_MAX;

	for (const struct weir_master_checkpoint *c = m->checkpoints; c != NULL; c = c->next)
		if (c->id != ended && c->id < lowest)
			lowest = c->id;
	if (lowest == UINT64_MAX)
		lowest = m->newest_id + 1;
	/* S4: who holds for a savepoint that is complete must not take it for one that was given
	 * up. */
	return m->stop_id != 0 && m->stop_id < lowest ? m->stop_id : lowest;
}

static void
trigger(struct weir_master *m, const struct weir_coord_update *u)
{
	struct weir_master_checkpoint *c = weir_master_find(m, u->id);

	c->sent = true;
	c->triggered_ns = m->now_ns;
	for (uint32_t i = 0; i < u->trigger.to.cnt; i++)
		weir_master_post_task(
			m, u->trigger.to.list[i].task,
			(struct weir_mail){ .kind = WEIR_MAIL_TRIGGER,
					    .id = u->id,
					    .stamp_ns = c->trigger_ns,
					    .barrier = barrier_of(u),
					    .over_below = over_below(m, 0),
					    .timeout_ns = m->cfg.aligned_timeout_ns });
}

/* T28: every task was through when it took its snapshot; that is found out, not asked for: the one
 * under way at the end may do it. */
static bool
covers_end(struct weir_master *m, uint64_t id)
{
	const struct weir_master_checkpoint *c = weir_master_find(m, id);

	for (uint32_t i = 0; i < m->cfg.rt->cfg.plan->subtask_cnt; i++)
		if (c->acks[i] != NULL && !c->acks[i]->ended)
			return false;
	return true;
}

/* Tasks whose end is in checkpoint id close, and would decline a later one. */
static void
note_covered(struct weir_master *m, uint64_t id)
{
	const struct weir_master_checkpoint *c = weir_master_find(m, id);

	for (uint32_t i = 0; i < m->cfg.rt->cfg.plan->subtask_cnt; i++)
		m->task[i].covered |= c->acks[i] != NULL && c->acks[i]->ended;
}

static void
tell(struct weir_master *m, const struct weir_coord_attempts *to, enum weir_mail_kind kind,
     uint64_t id)
{
	for (uint32_t i = 0; i < to->cnt; i++)
		weir_master_post_task(m, to->list[i].task,
				      (struct weir_mail){ .kind = kind,
							  .id = id,
							  .over_below = over_below(m, id) });
}

void
weir_master_tell_end(struct weir_master *m, enum weir_mail_kind kind)
{
	for (uint32_t i = 0; i < m->cfg.rt->cfg.plan->subtask_cnt; i++)
		weir_master_post_task(
			m, i, (struct weir_mail){ .kind = kind, .over_below = over_below(m, 0) });
}

static void
fail_job(struct weir_master *m, const struct weir_coord_update *u)
{
	const struct weir_master_checkpoint *c = weir_master_find(m, u->id);
	struct weir_error err;

	if (c != NULL && weir_request_is_sync(c->kind)) /* K13 */
		weir_fail(&err, WEIR_ERR_FAILED, "the savepoint to stop with failed: %s%s%s",
			  weir_reason_text(u->fail.reason), m->decline.code != WEIR_OK ? ": " : "",
			  m->decline.code != WEIR_OK ? m->decline.text : "");
	else
		weir_fail(
			&err, WEIR_ERR_FAILED,
			"checkpoint failures are above checkpoint.tolerable-failures (%u): %s%s%s",
			m->cfg.tolerable_failures, weir_reason_text(u->fail.reason),
			m->decline.code != WEIR_OK ? ": " : "",
			m->decline.code != WEIR_OK ? m->decline.text : "");
	if (m->decline.code != WEIR_OK)
		err.code = m->decline.code;
	weir_master_fail(m, &err);
}

static void
do_update(struct weir_master *m, const struct weir_coord_update *u)
{
	switch (u->kind) {
	case WEIR_COORD_DO_NEED_ID:
		need_id(m, u);
		break;
	case WEIR_COORD_DO_NEED_STORAGE:
		need_storage(m, u);
		break;
	case WEIR_COORD_DO_TRIGGER:
		trigger(m, u);
		break;
	case WEIR_COORD_DO_NEED_OPCOORD:
		weir_master_snapshot_splits(m, u->id, u->which);
		break;
	case WEIR_COORD_DO_NEED_HOOK:
		weir_master_hook_begin(m, u->id, u->which);
		break;
	case WEIR_COORD_DO_OPEVENT:
		weir_master_opevent(m, u->opevent.event, u->opevent.to.task);
		break;
	case WEIR_COORD_DO_NEED_FINALIZE:
		weir_master_find(m, u->id)->final |= covers_end(m, u->id);
		weir_master_checkpoint_acked(m, weir_master_find(m, u->id));
		weir_master_finalize(m, weir_master_find(m, u->id));
		break;
	case WEIR_COORD_DO_PROMISE:
		if (!u->promise.from_timer)
			weir_master_promise(m, u->promise.number, u->id, u->promise.reason);
		break;
	case WEIR_COORD_DO_COMPLETE:
		m->covered |= weir_master_find(m, u->id)->final;
		note_covered(m, u->id);
		tell(m, &u->complete.to, WEIR_MAIL_COMPLETE, u->id);
		weir_master_checkpoint_over(m, u->id, WEIR_REASON_NONE);
		weir_master_settle_doubts(m, u->id);
		break;
	case WEIR_COORD_DO_ABORT:
		tell(m, &u->abort.to, WEIR_MAIL_ABORT, u->id);
		weir_master_abandon_hooks(m, u->id);
		weir_master_checkpoint_over(m, u->id, u->abort.reason);
		break;
	case WEIR_COORD_DO_DELETE:
		weir_master_delete(m, u->id, u->files.list, u->files.cnt, true);
		break;
	case WEIR_COORD_DO_DROP_LOCATION:
		weir_master_delete(m, u->id, NULL, 0, false);
		break;
	case WEIR_COORD_DO_DISCARD:
		weir_master_discard(m, u->files.list, u->files.cnt);
		break;
	case WEIR_COORD_DO_FAIL_JOB:
		fail_job(m, u);
		break;
	default:
		break; /* information, or a stage that this job does not have */
	}
}

static void
run_queue(struct weir_master *m)
{
	struct weir_master_queue *q = &m->queue;

	if (q->running)
		return;
	q->running = true;
	while (q->head != NULL) {
		struct weir_master_event *e = q->head;
		struct weir_coord_updates u;

		q->head = e->next;
		if (q->head == NULL)
			q->tail = &q->head;
		u = weir_coordinator_step(m->coord, &e->event,
					  (m->now_ns - m->base_ns) / WEIR_MASTER_MS);
		for (uint32_t i = 0; i < u.cnt; i++)
			do_update(m, &u.list[i]);
		free(e->parts);
		free(e);
	}
	q->running = false;
}

void
weir_master_event(struct weir_master *m, const struct weir_coord_event *event)
{
	struct weir_master_queue *q = &m->queue;
	struct weir_master_event *e = calloc(1, sizeof(*e));

	WEIR_ASSERT(e != NULL);
	e->event = *event;
	/* What the caller lent lives as long as its call; the queue may hold the event longer. */
	if (event->kind == WEIR_COORD_ACK && event->ack.part_cnt > 0) {
		const size_t bytes = event->ack.part_cnt * sizeof(*e->parts);

		e->parts = malloc(bytes);
		WEIR_ASSERT(e->parts != NULL);
		memcpy(e->parts, event->ack.parts, bytes);
		e->event.ack.parts = e->parts;
	}
	if (event->kind == WEIR_COORD_TASK_STATE) {
		WEIR_ASSERT(event->tasks.cnt == 1);
		e->attempt = event->tasks.list[0];
		e->event.tasks.list = &e->attempt;
	}
	*q->tail = e;
	q->tail = &e->next;
	run_queue(m);
}
