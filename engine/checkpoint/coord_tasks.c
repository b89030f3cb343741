#include "engine/checkpoint/coordinator_priv.h"

#include "engine/checkpoint/grow.h"

#include <stdlib.h>

/* C11: the job runs, and each of its tasks runs or has finished. */
bool
weir_coord_is_active(const struct weir_coordinator *c)
{
	if (c->job_state != WEIR_COORD_JOB_RUNNING)
		return false;
	for (uint32_t t = 0; t < c->task_cnt; t++) {
		if (c->states[t] != WEIR_COORD_TASK_RUNNING &&
		    c->states[t] != WEIR_COORD_TASK_FINISHED)
			return false;
	}
	return true;
}

static void
activity_changed(struct weir_coordinator *c, bool was)
{
	bool is = weir_coord_is_active(c);

	if (was && !is)
		weir_coord_stop_all(c, WEIR_REASON_CHECKPOINT_COORDINATOR_SUSPEND);
	else if (!was && is && c->cfg.interval_ms != WEIR_COORD_NO_INTERVAL &&
		 !c->has_blocking_edge && !c->shutdown)
		weir_coord_scheduler_start(c);
}

/* What this attempt has not acknowledged it never will, nor will one before it. */
static void
abort_unacked(struct weir_coordinator *c, struct weir_attempt failed)
{
	struct weir_pending *p;
	uint64_t after = 0;

	while ((p = weir_coord_next(c, after)) != NULL) {
		after = p->id;
		if (!p->finalizing && !weir_snapshot_has_ack(p->snap, failed))
			weir_coord_abort(c, p, WEIR_REASON_TASK_FAILURE, NULL);
	}
}

static void
set_state(struct weir_coordinator *c, uint32_t task, enum weir_coord_task_state state)
{
	struct weir_attempt attempt = { task, c->attempts[task] };
	bool left_running =
		c->states[task] == WEIR_COORD_TASK_RUNNING && state != WEIR_COORD_TASK_RUNNING;
	bool was_active = weir_coord_is_active(c);

	c->states[task] = (uint8_t)state;
	if (left_running)
		weir_coord_valves_stopped(c, task);
	activity_changed(c, was_active);
	if (left_running && state != WEIR_COORD_TASK_FINISHED && !was_active)
		abort_unacked(c, attempt);
	weir_coord_valves_check(c);
}

bool
weir_coord_on_task_state(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	for (uint32_t i = 0; i < e->tasks.cnt; i++) {
		if (e->tasks.list[i].task >= c->task_cnt ||
		    e->tasks.list[i].attempt != c->attempts[e->tasks.list[i].task])
			return false;
	}
	for (uint32_t i = 0; i < e->tasks.cnt; i++)
		set_state(c, e->tasks.list[i].task, e->tasks.state);
	return true;
}

static void
shut_down(struct weir_coordinator *c, enum weir_reason reason)
{
	weir_coord_stop_all(c, reason);
	c->shutdown = true;
}

bool
weir_coord_on_job_state(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	bool was_running = c->job_state == WEIR_COORD_JOB_RUNNING;
	bool was_active = weir_coord_is_active(c);

	c->job_state = e->job_state;
	if (e->job_state >= WEIR_COORD_JOB_FINISHED) {
		shut_down(c, WEIR_REASON_CHECKPOINT_COORDINATOR_SUSPEND);
		if (e->job_state != WEIR_COORD_JOB_SUSPENDED)
			weir_coord_end_of_job(c);
	} else if (was_running && e->job_state != WEIR_COORD_JOB_RUNNING) {
		weir_coord_stop_all(c, WEIR_REASON_CHECKPOINT_COORDINATOR_SUSPEND); /* C11 */
	} else {
		activity_changed(c, was_active);
	}
	return true;
}

bool
weir_coord_on_restart(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	if (weir_coord_is_active(c))
		return false;
	for (uint32_t i = 0; i < e->tasks.cnt; i++) {
		struct weir_attempt next = e->tasks.list[i];
		uint32_t subtask;

		set_state(c, next.task, WEIR_COORD_TASK_CREATED);
		c->attempts[next.task] = next.attempt;
		for (uint32_t k = 0; k < c->cfg.opcoord_cnt; k++) {
			if (weir_coord_of_task(c, k, next.task, &subtask))
				weir_valve_subtask_reset(&c->valves[k], subtask);
		}
	}
	return true;
}

static void
restore_hooks(struct weir_coordinator *c, const struct weir_snapshot *snap)
{
	for (uint32_t i = 0; i < c->cfg.hook_cnt; i++) {
		struct weir_coord_update *u;

		if (snap == NULL) {
			u = weir_coord_emit(c, WEIR_COORD_DO_HOOK_RESET, 0);
		} else {
			u = weir_coord_emit(c, WEIR_COORD_DO_HOOK_RESTORE, snap->id);
			if (i < snap->hook_cnt)
				u->hook = snap->hooks[i];
		}
		u->which = i;
	}
}

static void
reset_opcoords(struct weir_coordinator *c, uint64_t id)
{
	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++) {
		weir_coord_emit(c, WEIR_COORD_DO_OPCOORD_RESET, id)->which = i;
		weir_valve_reset(&c->valves[i], id);
	}
}

static void
reset_subtasks(struct weir_coordinator *c, const struct weir_coord_attempts *to, uint64_t id)
{
	uint32_t subtask;

	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++) {
		for (uint32_t t = 0; t < to->cnt; t++) {
			struct weir_coord_update *u;

			if (!weir_coord_of_task(c, i, to->list[t].task, &subtask))
				continue;
			u = weir_coord_emit(c, WEIR_COORD_DO_SUBTASK_RESET, id);
			u->which = i;
			u->task = to->list[t];
		}
	}
}

/* R1, K15: tasks, hooks, operator coordinators. */
static void
restore(struct weir_coordinator *c, const struct weir_coord_attempts *to)
{
	const struct weir_snapshot *snap = weir_store_latest(&c->store);
	uint64_t id = snap != NULL ? snap->id : 0;
	struct weir_coord_update *u = weir_coord_emit(c, WEIR_COORD_DO_RESTORE, id);

	u->restore.to = *to;
	u->restore.snapshot = snap;
	c->stats.restored_cnt += snap != NULL;
	c->force_full = snap != NULL && !snap->claimed; /* S6 */
	restore_hooks(c, snap);
	if (to->cnt == c->task_cnt)
		reset_opcoords(c, id);
	else
		reset_subtasks(c, to, id);
}

static struct weir_coord_attempts
all_tasks(struct weir_coordinator *c)
{
	uint32_t *tasks = weir_coord_alloc(c, c->task_cnt, sizeof(*tasks));

	for (uint32_t t = 0; t < c->task_cnt; t++)
		tasks[t] = t;
	return weir_coord_current(c, tasks, c->task_cnt);
}

bool
weir_coord_on_restore(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	struct weir_coord_attempts to;
	uint32_t *tasks = weir_coord_alloc(c, e->tasks.cnt, sizeof(*tasks));

	for (uint32_t i = 0; i < e->tasks.cnt; i++)
		tasks[i] = e->tasks.list[i].task;
	weir_coord_abort_all(c, WEIR_REASON_JOB_FAILOVER_REGION);
	to = weir_coord_current(c, tasks, e->tasks.cnt);
	restore(c, &to);
	return true;
}

/* Something exists already: too late to begin elsewhere. */
static bool
has_begun(const struct weir_coordinator *c)
{
	return c->next_id > 1 || c->prep.active || c->decider.queue_cnt > 0 ||
	       c->registry.cnt > 0 || c->store.completed.cnt > 0 || c->store.savepoints.cnt > 0;
}

bool
weir_coord_on_start_from(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	struct weir_coord_attempts to;
	struct weir_snapshot *snap;

	if (has_begun(c))
		return false;
	if (e->start.unknown_hook_cnt > 0 && !e->start.allow_non_restored) { /* K15 */
		weir_coord_emit(c, WEIR_COORD_DO_RESTORE_FAILED, e->start.snapshot.id);
		return true;
	}
	snap = weir_snapshot_copy(&e->start.snapshot);
	snap->external = true;
	weir_snapshot_list_add(&c->store.completed, snap);
	weir_coord_register_snapshot(c, snap);
	c->next_id = snap->id + 1; /* C20 */
	to = all_tasks(c);
	restore(c, &to);
	return true;
}

bool
weir_coord_on_recover(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	if (has_begun(c))
		return false;
	c->next_id = e->recover.next_id;
	for (uint32_t i = 0; i < e->recover.completed_cnt; i++) {
		struct weir_snapshot *snap = weir_snapshot_copy(&e->recover.completed[i]);

		weir_snapshot_list_add(&c->store.completed, snap);
		weir_coord_register_snapshot(c, snap); /* K10: from the live set */
	}
	for (uint32_t i = 0; i < e->recover.savepoint_cnt; i++)
		weir_snapshot_list_add(&c->store.savepoints,
				       weir_snapshot_copy(&e->recover.savepoints[i]));
	return true;
}
