/*
 * Rules of the coordinator, seen from outside: by what it says of each checkpoint, and when.
 * Nothing here asks the coordinator what it thinks.
 */

#include "tests/simulator/sim.h"

#include <string.h>

#define MS 1000000

void
sim_rules_begin(struct sim_world *w)
{
	w->rules = (struct sim_rules){ .completed_ns = INT64_MIN,
				       .highest = w->rules.highest,
				       .floor = w->rules.highest };
}

static struct sim_pending *
find(struct sim_rules *r, uint64_t id)
{
	for (uint32_t i = 0; i < r->pending_cnt; i++)
		if (r->pending[i].id == id)
			return &r->pending[i];
	return NULL;
}

static void
moved(struct sim_world *w)
{
	w->rules.moved_ns = w->now_ns;
	w->rules.ends = 0;
}

/* C6: none by the timer within the pause; the coordinator counts in whole milliseconds. */
static void
check_pause(struct sim_world *w, const struct weir_checkpoint_done *d)
{
	const struct sim_rules *r = &w->rules;

	if (strcmp(d->kind, "periodic") != 0 || r->completed_ns == INT64_MIN)
		return;
	if (d->trigger_wall_ns + MS < r->completed_ns + w->s.min_pause_ns)
		sim_finding(w, "checkpoint %llu begins %lld us after a completion (C6)",
			    (unsigned long long)d->id,
			    (long long)((d->trigger_wall_ns - r->completed_ns) / 1000));
}

void
sim_rules_pending(struct sim_world *w, const struct weir_checkpoint_done *d)
{
	struct sim_rules *r = &w->rules;
	struct sim_pending *p = find(r, d->id);

	if (p != NULL) { /* K16: only its manifest is missing now */
		p->acked = true;
		return;
	}
	check_pause(w, d);
	if (d->id <= r->floor) /* C20 */
		sim_finding(w, "checkpoint %llu: an earlier attempt had this id",
			    (unsigned long long)d->id);
	if (d->id > r->highest)
		r->highest = d->id;
	/* C5, C7: savepoints are forced where nothing is unaligned. */
	if (r->pending_cnt >= w->s.max_concurrent &&
	    !(sim_is_save(d->kind) && w->s.mode != SIM_UNALIGNED && w->s.mode != SIM_TIMEOUT))
		sim_finding(w, "checkpoint %llu begins while %u are under way",
			    (unsigned long long)d->id, r->pending_cnt);
	if (r->pending_cnt < SIM_PENDING_MAX)
		r->pending[r->pending_cnt++] = (struct sim_pending){
			.id = d->id,
			.begun_ns = d->trigger_wall_ns,
			.saves = sim_is_save(d->kind),
			.holds = strcmp(d->kind, "suspend") == 0,
		};
}

/* K11, K13: does the end of this one speak against the job? */
static bool
counts(const struct sim_rules *r, const struct weir_checkpoint_done *d)
{
	if (strcmp(d->status, "failed") != 0 || d->id <= r->success)
		return false;
	/* Of savepoints, only what a task says. */
	return !sim_is_save(d->kind) || strstr(d->reason, "DECLINED") != NULL ||
	       strstr(d->reason, "ASYNC") != NULL;
}

void
sim_rules_done(struct sim_world *w, const struct weir_checkpoint_done *d)
{
	struct sim_rules *r = &w->rules;
	struct sim_pending *p = find(r, d->id);

	if (p == NULL)
		sim_finding(w, "checkpoint %llu ends without having begun",
			    (unsigned long long)d->id);
	else
		*p = r->pending[--r->pending_cnt];
	r->ends++;
	if (strcmp(d->status, "completed") == 0) {
		moved(w);
		r->completed_ns = w->now_ns;
		if (strcmp(d->kind, "savepoint") != 0 && d->id > r->completed) /* K5 */
			r->completed = d->id;
		if (d->id > r->success) /* K11 */
			r->failures = 0;
		r->success = d->id > r->success ? d->id : r->success;
	} else if (counts(r, d)) {
		r->failures++;
	}
	if (strcmp(d->status, "completed") != 0)
		r->given_up[r->given_up_cnt++ % SIM_TOLD] =
			(struct sim_pending){ .id = d->id, .begun_ns = w->now_ns };
}

void
sim_rules_step(struct sim_world *w, bool failed, const char *text)
{
	struct sim_rules *r = &w->rules;

	for (uint32_t i = 0; i < r->pending_cnt; i++) {
		const struct sim_pending *p = &r->pending[i];

		if (p->id < r->completed && !p->saves) /* K6 */
			sim_finding(w, "checkpoint %llu is under way, %llu is complete",
				    (unsigned long long)p->id, (unsigned long long)r->completed);
		if (!p->acked && !w->quiet && /* C19 */
		    w->now_ns - p->begun_ns > w->s.timeout_ns + SIM_EXPIRY_SLACK)
			sim_finding(w, "checkpoint %llu does not expire",
				    (unsigned long long)p->id);
	}
	if (failed && strstr(text, "checkpoint failures are above") != NULL &&
	    r->failures <= w->s.tolerable)
		sim_finding(w, "the job fails after %u failed checkpoints in a row (K11)",
			    r->failures);
	if (!failed && r->failures > w->s.tolerable)
		sim_finding(w, "the job goes on after %u failed checkpoints in a row (K11)",
			    r->failures);
}

/* ---- T20: what a task was told to give up ---- */

void
sim_rules_told(struct sim_world *w, const struct weir_mail *mail)
{
	struct sim_told *t = &w->rules.told[mail->task % SIM_TASKS_MAX];

	if (mail->kind == WEIR_MAIL_ABORT)
		t->id[t->cnt++ % SIM_TOLD] = mail->id;
	if (mail->over_below > t->over_below)
		t->over_below = mail->over_below;
	if (mail->kind == WEIR_MAIL_COMPLETE && sim_save_is_plain(w, mail->id)) /* K5 */
		sim_finding(w, "tasks are told that savepoint %llu is complete",
			    (unsigned long long)mail->id);
}

/* ---- T14: barriers that lie in a task's priority lanes ---- */

static uint64_t
newest_of(const struct sim_world *w, const struct weir_task *t, uint32_t channel)
{
	const struct weir_task_input *in = &t->channels[channel];
	const struct weir_plan_edge *e = &w->plan->edge[in->edge];
	struct weir_item items[SIM_PRIORITY_MAX];
	uint64_t newest = 0;
	uint32_t cnt, n;

	if (in->is_virtual || e->partitioner == WEIR_FORWARD ||
	    weir_gate_is_closed(weir_input_gate(t->input), channel))
		return 0;
	n = e->first + in->producer * w->plan->op[e->to].parallelism + t->subtask;
	cnt = weir_lane_peek(w->rt->priority[n], items, SIM_PRIORITY_MAX);
	for (uint32_t i = 0; i < cnt; i++)
		if (items[i].kind == WEIR_ITEM_BARRIER &&
		    w->rt->events[items[i].ref].checkpoint > newest)
			newest = w->rt->events[items[i].ref].checkpoint;
	return newest;
}

void
sim_rules_before_turn(struct sim_world *w, const struct weir_core *core)
{
	for (uint32_t i = 0; i < core->task_cnt; i++) {
		const struct weir_task *t = core->tasks[i];
		struct sim_told *told = &w->rules.told[t->number % SIM_TASKS_MAX];

		told->newest = 0;
		told->begun = t->trigger.id;
		for (uint32_t c = 0; c < t->channel_cnt && t->state < WEIR_TASK_FINISHED; c++) {
			const uint64_t newest = newest_of(w, t, c);

			told->newest = newest > told->newest ? newest : told->newest;
		}
	}
}

static void
check_begun(struct sim_world *w, const struct weir_task *t, const struct sim_told *told)
{
	/* T33: behind a closed channel no barrier has been seen. */
	if (w->s.shape != SIM_MIXED && t->trigger.id != told->begun && t->trigger.unaligned &&
	    t->trigger.id < told->newest)
		sim_finding(w,
			    "subtask %u of task %u begins %llu, a barrier of %llu has come (T14)",
			    t->subtask, t->task_idx, (unsigned long long)t->trigger.id,
			    (unsigned long long)told->newest);
}

/* S4: between its snapshot and the end of the savepoint no row comes to a task. */
static void
check_held(struct sim_world *w, const struct weir_task *t, struct sim_told *told)
{
	const struct sim_pending *p = find(&w->rules, told->held);
	const uint64_t rows = t->readers != NULL ? weir_count_get(&t->readers->rows)
						 : weir_count_get(&t->ctx[0]->rows_in);

	if (p == NULL)
		told->held = 0;
	/* K8: what a lost message leaves behind goes with the next. */
	if (t->hold != 0 && t->hold < told->over_below)
		sim_finding(w, "subtask %u of task %u holds for savepoint %llu, which is over",
			    t->subtask, t->task_idx, (unsigned long long)t->hold);
	if (told->held != 0 && rows != told->held_rows)
		sim_finding(w, "subtask %u of task %u has taken savepoint %llu and goes on (S4)",
			    t->subtask, t->task_idx, (unsigned long long)told->held);
	p = told->held == 0 ? find(&w->rules, t->snapshot != 0 ? t->snapshot : t->through) : NULL;
	if (p == NULL || !p->holds)
		return;
	told->held = p->id;
	told->held_rows = rows;
}

/* K8, T24: what was given up does not hold up what comes after. */
static void
check_given_up(struct sim_world *w, const struct weir_core *core)
{
	const struct sim_rules *r = &w->rules;

	for (uint32_t i = 0; i < SIM_TOLD; i++) {
		const struct sim_pending *p = &r->given_up[i];

		if (p->id != 0 && p->id == core->snap_id &&
		    (core->snap_state == WEIR_CORE_SNAPSHOT_OPEN ||
		     core->snap_state == WEIR_CORE_SNAPSHOT_SEALED) &&
		    w->now_ns - p->begun_ns > SIM_TELL_SLACK)
			sim_finding(w, "core %u still writes %llu, which was given up", core->idx,
				    (unsigned long long)p->id);
	}
}

static bool
rests(struct sim_world *w, const struct weir_task *t, uint32_t *closed)
{
	if (t->triggered || t->snapshot != 0 || t->asked_cnt > 0 || t->cancel_owed != 0 ||
	    t->work != WEIR_WORK_NONE)
		return false;
	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		if (weir_emitter_held(&t->emitters[e]) > 0)
			return false;
	for (uint32_t c = 0; c < t->channel_cnt; c++)
		if (weir_gate_is_closed(weir_input_gate(t->input), c))
			*closed = *closed + 1;
		else if (weir_gate_queued(weir_input_gate(t->input), c) > 0)
			return false;
	for (uint32_t n = 0; n < w->plan->channel_cnt; n++)
		if (!weir_lane_is_empty(w->rt->priority[n]))
			return false;
	return true;
}

/* T3, T15: no checkpoint is under way, all messages and markers have come: nothing is closed. */
static void
check_closed(struct sim_world *w)
{
	uint32_t closed = 0;

	if (w->rules.pending_cnt > 0 || w->rules.ends == 0 || !sim_post_is_empty(w))
		return;
	for (uint32_t i = 0; i < w->plan->subtask_cnt; i++)
		if (!rests(w, &w->rt->tasks[i], &closed))
			return;
	if (closed > 0)
		sim_finding(w, "%u channels are closed, and no checkpoint is under way", closed);
}

/* Liveness: checkpoints may fail one after the other, but not keep rows from going on. */
static void
check_stall(struct sim_world *w)
{
	struct sim_rules *r = &w->rules;
	uint64_t rows = 0;
	uint32_t queued = 0;

	for (uint32_t c = 0; c < w->s.core_cnt; c++)
		rows += weir_count_get(&w->rt->cores[c].rows);
	if (rows != r->moved_rows || !w->calm) {
		r->moved_rows = rows;
		moved(w);
	}
	/* What is given no time to complete may keep a channel closed for most of the time. */
	if (w->s.timeout_ns < SIM_STALL_TIMEOUT || r->ends < SIM_STALL_ENDS ||
	    w->now_ns - r->moved_ns < SIM_STALL_NS)
		return;
	for (uint32_t i = 0; i < w->plan->subtask_cnt; i++)
		for (uint32_t c = 0; c < w->rt->tasks[i].channel_cnt; c++)
			queued += weir_gate_queued(weir_input_gate(w->rt->tasks[i].input), c);
	if (queued > 0)
		sim_finding(w, "no row has moved for %u checkpoints, %u items wait in channels",
			    r->ends, queued);
}

void
sim_rules_turn(struct sim_world *w, const struct weir_core *core)
{
	for (uint32_t i = 0; i < core->task_cnt; i++) {
		const struct weir_task *t = core->tasks[i];
		struct sim_told *told = &w->rules.told[t->number % SIM_TASKS_MAX];

		check_begun(w, t, told);
		check_held(w, t, told);
		for (uint32_t k = 0; t->snapshot != 0 && k < SIM_TOLD; k++)
			if (told->id[k] == t->snapshot)
				sim_finding(w,
					    "subtask %u of task %u takes its snapshot of %llu, "
					    "which it was told to give up",
					    t->subtask, t->task_idx,
					    (unsigned long long)t->snapshot);
	}
	if (w->s.post_pct == 0) {
		check_given_up(w, core);
		check_closed(w);
	}
	check_stall(w);
}
