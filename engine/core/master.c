#include "engine/core/master_priv.h"

#include "engine/base/plant.h"
#include "engine/core/watchdog.h"

#include <stdlib.h>

#define MS	 1000000
#define ID_BLOCK 64u

/* An event that waits for its turn: a step may not begin while another's updates are being done. */
struct queued {
	struct queued *next;
	struct weir_coord_event event;
	struct weir_part part;
	struct weir_attempt attempt;
};

struct queue {
	struct queued *head, **tail;
	bool running;
};

/* The queue stands in front of the master in one allocation; nobody else sees it. */
struct master_box {
	struct queue queue;
	struct weir_master m;
};

static struct queue *
queue_of(struct weir_master *m)
{
	return &WEIR_CONTAINER(m, struct master_box, m)->queue;
}

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

/* ---- updates of the coordinator ---- */

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

/* Lowest id under way besides ended (0: none ends), which no task may forget. */
static uint64_t
over_below(const struct weir_master *m, uint64_t ended)
{
	uint64_t lowest = UINT64_MAX;

	for (const struct weir_master_checkpoint *c = m->checkpoints; c != NULL; c = c->next)
		if (c->id != ended && c->id < lowest)
			lowest = c->id;
	return lowest != UINT64_MAX ? lowest : ended + 1;
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
		weir_master_delete(m, 0, u->files.list, u->files.cnt, false);
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
	struct queue *q = queue_of(m);

	if (q->running)
		return;
	q->running = true;
	while (q->head != NULL) {
		struct queued *e = q->head;
		struct weir_coord_updates u;

		q->head = e->next;
		if (q->head == NULL)
			q->tail = &q->head;
		u = weir_coordinator_step(m->coord, &e->event, (m->now_ns - m->base_ns) / MS);
		for (uint32_t i = 0; i < u.cnt; i++)
			do_update(m, &u.list[i]);
		free(e);
	}
	q->running = false;
}

void
weir_master_event(struct weir_master *m, const struct weir_coord_event *event)
{
	struct queue *q = queue_of(m);
	struct queued *e = calloc(1, sizeof(*e));

	WEIR_ASSERT(e != NULL);
	e->event = *event;
	/* What the caller lent lives as long as its call; the queue may hold the event longer. */
	if (event->kind == WEIR_COORD_ACK && event->ack.part_cnt > 0) {
		WEIR_ASSERT(event->ack.part_cnt == 1);
		e->part = event->ack.parts[0];
		e->event.ack.parts = &e->part;
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

/* ---- create ---- */

static uint64_t
draw(void *arg)
{
	struct weir_master *m = arg;

	return weir_rng_next(&m->rng);
}

static int64_t
to_ms(int64_t ns)
{
	return (ns + MS - 1) / MS;
}

static void
create_coordinator(struct weir_master *m)
{
	const struct weir_plan *plan = m->cfg.rt->cfg.plan;
	struct weir_coord_vertex vertex[WEIR_OPERATORS_MAX * 2];
	struct weir_coord_edge edge[WEIR_OPERATORS_MAX * 4];
	uint32_t opcoord[WEIR_OPERATORS_MAX * 2];
	struct weir_coordinator_config cc = {
		.interval_ms = m->cfg.interval_ns > 0 && m->cfg.job_dir != NULL
				       ? to_ms(m->cfg.interval_ns)
				       : WEIR_COORD_NO_INTERVAL,
		.backlog_interval_ms = m->cfg.has_backlog_interval
					       ? to_ms(m->cfg.backlog_interval_ns)
					       : WEIR_COORD_NO_INTERVAL,
		.min_pause_ms = to_ms(m->cfg.min_pause_ns),
		.timeout_ms = to_ms(m->cfg.timeout_ns),
		.max_concurrent = m->cfg.max_concurrent,
		.retained = m->cfg.retained,
		.queue_limit = 1000,
		.tolerable_failures = m->cfg.tolerable_failures,
		.at_least_once = m->cfg.at_least_once,
		.unaligned = m->cfg.unaligned,
		.aligned_timeout_ms = to_ms(m->cfg.aligned_timeout_ns),
		.finished_tasks = !m->cfg.all_tasks_only,
		.retention = m->cfg.retention,
		.asks = WEIR_COORD_STAGE_ID | WEIR_COORD_STAGE_STORAGE | WEIR_COORD_STAGE_OPCOORD |
			WEIR_COORD_STAGE_HOOK | WEIR_COORD_STAGE_FINALIZE | WEIR_COORD_STAGE_DELETE,
		.history_max = 16,
		.draw = draw,
		.draw_arg = m,
	};
	uint32_t edges = 0;

	for (uint32_t i = 0; i < plan->task_cnt; i++)
		vertex[i] = (struct weir_coord_vertex){ .parallelism = plan->task[i].parallelism };
	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		if (!plan->edge[e].chained)
			edge[edges++] =
				(struct weir_coord_edge){ .up = plan->op[plan->edge[e].from].task,
							  .down = plan->op[plan->edge[e].to].task,
							  .pointwise = plan->edge[e].partitioner ==
								       WEIR_FORWARD };
	for (uint32_t i = 0; i < m->cfg.enumerator_cnt; i++)
		opcoord[i] = plan->op[m->cfg.enumerators[i].op].task;
	cc.opcoord_vertex = opcoord;
	cc.opcoord_cnt = m->cfg.enumerator_cnt;
	cc.hook_cnt = m->cfg.hook_cnt;
	cc.graph.vertices = vertex;
	cc.graph.vertex_cnt = plan->task_cnt;
	cc.graph.edges = edge;
	cc.graph.edge_cnt = edges;
	m->coord = weir_coordinator_create(&cc);
}

/* A stored checkpoint as the coordinator knows it; its parts are the caller's to free. */
static struct weir_snapshot
stored_snapshot(struct weir_master *m, const struct weir_manifest *man, const char *data_dir)
{
	struct weir_part *parts = calloc(man->file_cnt + 1, sizeof(*parts));

	WEIR_ASSERT(parts != NULL);
	for (uint32_t f = 0; f < man->file_cnt; f++) {
		parts[f].kind = WEIR_PART_PRIVATE;
		parts[f].file = weir_master_add_file(m, man->files[f].name, man->files[f].length);
		m->file[parts[f].file].dir = data_dir;
	}
	return (struct weir_snapshot){ .id = man->checkpoint_id,
				       .kind = WEIR_REQUEST_CHECKPOINT,
				       .claimed = true,
				       .parts = parts,
				       .part_cnt = man->file_cnt };
}

/* Checkpoints that earlier attempts of this run left, and what it has claimed: the coordinator
 * keeps, counts and deletes them (K10, S6). */
static void
recover(struct weir_master *m)
{
	const struct weir_manifest *claimed = m->cfg.claimed.manifest;
	struct weir_snapshot *own = calloc(m->cfg.own_cnt + 1, sizeof(*own));
	struct weir_coord_event ev = { .kind = WEIR_COORD_RECOVER };
	uint32_t cnt = 0;

	WEIR_ASSERT(own != NULL);
	if (claimed != NULL) {
		m->claimed_id = claimed->checkpoint_id;
		m->claimed_whole = weir_manifest_is_savepoint(claimed->kind);
		own[cnt++] = stored_snapshot(m, claimed, m->cfg.claimed.data_dir);
	}
	for (uint32_t i = 0; i < m->cfg.own_cnt; i++)
		own[cnt++] = stored_snapshot(m, m->cfg.own[i], NULL);
	ev.recover.next_id = m->cfg.next_id;
	ev.recover.completed = own;
	ev.recover.completed_cnt = cnt;
	weir_master_event(m, &ev);
	for (uint32_t i = 0; i < cnt; i++)
		free((void *)(uintptr_t)own[i].parts);
	free(own);
}

static void
create_tasks(struct weir_master *m)
{
	const uint32_t cnt = m->cfg.rt->cfg.plan->subtask_cnt;

	m->task = calloc(cnt, sizeof(*m->task));
	WEIR_ASSERT(m->task != NULL);
	for (uint32_t i = 0; i < cnt; i++)
		m->task[i].ack = weir_master_ack_new(m, i);
}

struct weir_master *
weir_master_create(const struct weir_master_config *config, int64_t now_ns, int64_t wall_ns)
{
	struct master_box *box = calloc(1, sizeof(*box));
	struct weir_coord_event ev = { .kind = WEIR_COORD_JOB_STATE };
	struct weir_master *m;

	WEIR_ASSERT(box != NULL);
	box->queue.tail = &box->queue.head;
	m = &box->m;
	m->cfg = *config;
	m->now_ns = m->base_ns = now_ns;
	m->wall_ns = wall_ns;
	m->rng.state = config->seed;
	m->reserved_id = 0;
	create_tasks(m);
	m->hook_busy = calloc(config->hook_cnt + 1, sizeof(*m->hook_busy));
	WEIR_ASSERT(m->hook_busy != NULL);
	if (config->io != NULL) {
		create_coordinator(m);
		recover(m);
		ev.job_state = WEIR_COORD_JOB_RUNNING;
		weir_master_event(m, &ev);
	}
	weir_master_start_splits(m);
	return m;
}

void
weir_master_destroy(struct weir_master *m)
{
	if (m == NULL)
		return;
	weir_master_fail_asks(m, WEIR_REASON_CHECKPOINT_COORDINATOR_SHUTDOWN);
	weir_master_stop_hooks(m);
	for (uint32_t i = 0; i < m->cfg.rt->cfg.plan->subtask_cnt; i++)
		weir_master_ack_free(m->task[i].ack);
	free(m->task);
	while (m->checkpoints != NULL)
		weir_master_checkpoint_free(m, m->checkpoints);
	while (m->chains != NULL) {
		struct weir_master_chain *next = m->chains->next;

		if (m->chains->bytes != NULL)
			weir_manifest_bytes_free(m->chains->bytes);
		free(m->chains->step);
		free(m->chains);
		m->chains = next;
	}
	while (m->doubts != NULL) {
		struct weir_master_doubt *next = m->doubts->next;

		free(m->doubts);
		m->doubts = next;
	}
	for (uint64_t i = 0; i < m->file_cnt; i++)
		free(m->file[i].name);
	free(m->file);
	weir_master_free_opevents(m);
	free(m->backlogged);
	free(m->hook_busy);
	free(m->backlog);
	free(m->backlog_core);
	weir_coordinator_destroy(m->coord);
	free(WEIR_CONTAINER(m, struct master_box, m));
}

/* ---- rounds ---- */

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
		for (uint32_t i = 0; i < all; i++)
			weir_master_post_task(m, i,
					      (struct weir_mail){ .kind = WEIR_MAIL_PRECOMMIT });
	}
	if (!on && !m->committing && m->precommitted_cnt == all) {
		m->committing = true;
		for (uint32_t i = 0; i < all; i++)
			weir_master_post_task(m, i, (struct weir_mail){ .kind = WEIR_MAIL_COMMIT });
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

	return due == INT64_MAX ? INT64_MAX : m->base_ns + due * MS;
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
