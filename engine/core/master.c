#include "engine/core/master_priv.h"

#include "engine/core/watchdog.h"

void
weir_master_fail(struct weir_master *m, const struct weir_error *err)
{
	if (m->end != WEIR_END_NOT_YET)
		return;
	m->end = WEIR_END_FAILED;
	m->error = *err;
	weir_master_fail_asks(m, WEIR_REASON_TASK_FAILURE);
	weir_master_stop_hooks(m);
}

static bool
all_ended(const struct weir_master *m)
{
	const uint32_t all = m->cfg.rt->cfg.plan->subtask_cnt;

	return m->running_cnt == all && m->end_cnt == all;
}

/* Some task is between the checkpoint that holds its end and its own. */
static bool
closing(const struct weir_master *m)
{
	for (uint32_t i = 0; i < m->cfg.rt->cfg.plan->subtask_cnt; i++)
		if (m->task[i].covered && !m->task[i].finished)
			return true;
	return false;
}

/* T28: the last checkpoint covers everything; without checkpoints, T35. */
static void
step_end(struct weir_master *m)
{
	const uint32_t all = m->cfg.rt->cfg.plan->subtask_cnt;
	const bool on = m->coord != NULL && m->cfg.job_dir != NULL;
	struct weir_coord_event ev = { .kind = WEIR_COORD_REQUEST };

	/* What stops with a savepoint needs no other end (S4). */
	if (!all_ended(m) || m->end != WEIR_END_NOT_YET || m->stop != WEIR_REQUEST_CHECKPOINT)
		return;
	if (on && !m->final_asked && !m->covered && m->finished_cnt < all && !closing(m)) {
		m->final_asked = true;
		ev.request.number = m->final_request = ++m->request_cnt;
		ev.request.kind = WEIR_REQUEST_CHECKPOINT;
		weir_master_event(m, &ev);
	}
	if (!on && !m->final_asked) {
		m->final_asked = true;
		weir_master_tell_end(m, WEIR_MAIL_PRECOMMIT);
	}
	/* Savepoints that were asked for before come first: tasks that commit close, and would
	 * decline. */
	if (!on && !m->committing && m->precommitted_cnt == all && m->asks == NULL &&
	    m->checkpoints == NULL) {
		m->committing = true;
		weir_master_tell_end(m, WEIR_MAIL_COMMIT);
	}
}

static void
job_over(struct weir_master *m, enum weir_coord_job_state state)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_JOB_STATE };

	if (m->coord == NULL)
		return;
	ev.job_state = state;
	weir_master_event(m, &ev);
	/* Files that were given up before it may still be on their way to the disk. */
	for (uint32_t c = 0; c < m->cfg.rt->cfg.plan->core_cnt; c++)
		weir_master_post(m, c, &(struct weir_mail){ .kind = WEIR_MAIL_SETTLE });
}

/* Nothing of the job's will come to the disk any more, and nothing there waits to be deleted. */
static bool
is_settled(const struct weir_master *m)
{
	return m->chains == NULL &&
	       (m->coord == NULL || m->settled_cnt == m->cfg.rt->cfg.plan->core_cnt);
}

bool
weir_master_step(struct weir_master *m, int64_t now_ns, int64_t wall_ns)
{
	const struct weir_coord_event tick = { .kind = WEIR_COORD_TICK };
	struct weir_error err;
	bool any;

	m->now_ns = now_ns;
	m->wall_ns = wall_ns;
	any = weir_master_flush_backlog(m);
	any |= weir_master_take_mail(m);
	any |= weir_master_step_chains(m);
	any |= weir_master_step_hooks(m);
	if (weir_watchdog_check(m->cfg.rt, now_ns, &err)) /* T23 */
		weir_master_fail(m, &err);
	if (m->coord != NULL && weir_master_due_ns(m) <= now_ns) {
		weir_master_event(m, &tick);
		any = true;
	}
	step_end(m);
	if (m->end == WEIR_END_NOT_YET && m->finished_cnt == m->cfg.rt->cfg.plan->subtask_cnt) {
		m->end = m->stop == WEIR_REQUEST_SUSPEND && m->stop_id != 0 ? WEIR_END_SUSPENDED
									    : WEIR_END_FINISHED;
		job_over(m, WEIR_COORD_JOB_FINISHED);
		any = true;
	}
	return any;
}

int64_t
weir_master_due_ns(const struct weir_master *m)
{
	const int64_t due = m->coord != NULL ? weir_coordinator_next_due(m->coord) : INT64_MAX;

	return due == INT64_MAX ? INT64_MAX : m->base_ns + due * WEIR_MASTER_MS;
}

void
weir_master_cancel(struct weir_master *m)
{
	if (m->end != WEIR_END_NOT_YET)
		return;
	m->end = WEIR_END_CANCELED;
	job_over(m, WEIR_COORD_JOB_CANCELED);
}

enum weir_master_end
weir_master_ended(const struct weir_master *m, struct weir_error *err)
{
	if (m->end == WEIR_END_FAILED)
		*err = m->error;
	if (m->end != WEIR_END_FAILED && !is_settled(m))
		return WEIR_END_NOT_YET;
	return m->end;
}

bool
weir_master_running(const struct weir_master *m)
{
	return m->running_cnt == m->cfg.rt->cfg.plan->subtask_cnt;
}

void
weir_master_counts(const struct weir_master *m, struct weir_master_counts *counts)
{
	*counts = m->counts;
}
