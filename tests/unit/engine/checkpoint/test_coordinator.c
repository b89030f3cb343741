/*
 * The coordinator through its public interface, as the job master uses it. What the rules say in
 * detail is in the scenario files (tests/scenarios).
 */

#include "engine/checkpoint/coord_stats.h"
#include "engine/checkpoint/failures.h"

#include <criterion/criterion.h>

static const struct weir_coord_vertex vertices[] = { { .parallelism = 1 }, { .parallelism = 2 } };
static const struct weir_coord_edge edges[] = { { .up = 0, .down = 1 } };
static struct weir_coordinator *c;
static struct weir_coord_updates last;
static int64_t now;

static struct weir_coordinator_config
config(void)
{
	return (struct weir_coordinator_config){
		.job = 42,
		.interval_ms = 1000,
		.backlog_interval_ms = WEIR_COORD_NO_INTERVAL,
		.min_pause_ms = 200,
		.timeout_ms = 5000,
		.max_concurrent = 1,
		.retained = 1,
		.queue_limit = 1000,
		.tolerable_failures = 0,
		.finished_tasks = true,
		.retention = WEIR_RETENTION_ALWAYS,
		.asks = WEIR_COORD_STAGE_ID | WEIR_COORD_STAGE_STORAGE | WEIR_COORD_STAGE_FINALIZE |
			WEIR_COORD_STAGE_DELETE,
		.history_max = 4,
		.graph = { vertices, 2, edges, 1 },
	};
}

static void
step(const struct weir_coord_event *e)
{
	last = weir_coordinator_step(c, e, now);
}

/* The first update of this kind in the last step, NULL if there is none. */
static const struct weir_coord_update *
got(enum weir_coord_update_kind kind)
{
	for (uint32_t i = 0; i < last.cnt; i++) {
		if (last.list[i].kind == kind)
			return &last.list[i];
	}
	return NULL;
}

static void
set_tasks(enum weir_coord_task_state state, uint32_t first, uint32_t cnt)
{
	struct weir_attempt list[3];
	struct weir_coord_event e = { .kind = WEIR_COORD_TASK_STATE };

	for (uint32_t i = 0; i < cnt; i++)
		list[i] = (struct weir_attempt){ .task = first + i };
	e.tasks.list = list;
	e.tasks.cnt = cnt;
	e.tasks.state = state;
	step(&e);
}

static void
set_job(enum weir_coord_job_state state)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_JOB_STATE, .job_state = state };

	step(&e);
}

static void
setup(void)
{
	struct weir_coordinator_config cfg = config();

	now = 0;
	c = weir_coordinator_create(&cfg);
	set_job(WEIR_COORD_JOB_RUNNING);
	set_tasks(WEIR_COORD_TASK_RUNNING, 0, 3);
}

static void
teardown(void)
{
	weir_coordinator_destroy(c);
}

TestSuite(coordinator, .init = setup, .fini = teardown);

static void
answer(enum weir_coord_event_kind kind, uint64_t id, enum weir_coord_result result)
{
	struct weir_coord_event e = { .kind = kind };

	e.answer.id = id;
	e.answer.result = result;
	e.answer.location = 900 + id;
	step(&e);
}

static void
ack(uint32_t task, uint64_t id, const struct weir_part *parts, uint32_t part_cnt)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_ACK };

	e.ack.job = 42;
	e.ack.id = id;
	e.ack.from.task = task;
	e.ack.parts = parts;
	e.ack.part_cnt = part_cnt;
	e.ack.metrics.sync_ms = task;
	e.ack.metrics.written_bytes = 10;
	step(&e);
}

/* From the timer to the trigger messages. */
static void
trigger_periodic(uint64_t id)
{
	struct weir_coord_event tick = { .kind = WEIR_COORD_TICK };

	now = weir_coordinator_next_due(c);
	step(&tick);
	cr_assert_eq(got(WEIR_COORD_DO_NEED_ID)->id, id);
	answer(WEIR_COORD_ID_ANSWER, 0, WEIR_COORD_OK);
	cr_assert_eq(got(WEIR_COORD_DO_NEED_STORAGE)->id, id);
	answer(WEIR_COORD_STORAGE_ANSWER, id, WEIR_COORD_OK);
	cr_assert_neq(got(WEIR_COORD_DO_TRIGGER), NULL);
}

static void
complete(uint64_t id)
{
	struct weir_part part = { .kind = WEIR_PART_PRIVATE, .file = 100 + id };

	trigger_periodic(id);
	for (uint32_t t = 0; t < 3; t++)
		ack(t, id, &part, t == 0);
	cr_assert_eq(got(WEIR_COORD_DO_NEED_FINALIZE)->id, id);
	answer(WEIR_COORD_FINALIZE_ANSWER, id, WEIR_COORD_OK);
}

Test(coordinator, waits_until_job_and_tasks_run) /* C11 */
{
	struct weir_coordinator_config cfg = config();

	weir_coordinator_destroy(c);
	c = weir_coordinator_create(&cfg);
	set_job(WEIR_COORD_JOB_RUNNING);
	set_tasks(WEIR_COORD_TASK_RUNNING, 0, 2);
	cr_assert_eq(weir_coordinator_next_due(c), INT64_MAX);
	set_tasks(WEIR_COORD_TASK_RUNNING, 2, 1);
	cr_assert_eq(weir_coordinator_next_due(c), 200, "min-pause without a draw (C9)");
}

Test(coordinator, everyday_path) /* C12, K3, K4 */
{
	const struct weir_coord_update *u;
	const struct weir_snapshot *snap;

	trigger_periodic(1);
	u = got(WEIR_COORD_DO_TRIGGER);
	cr_assert_eq(u->trigger.to.cnt, 1);
	cr_assert_eq(u->trigger.location, 901);
	cr_assert_eq(u->trigger.timestamp_ms, 200);
	ack(0, 1, NULL, 0);
	ack(1, 1, NULL, 0);
	cr_assert_eq(got(WEIR_COORD_DO_NEED_FINALIZE), NULL);
	ack(2, 1, NULL, 0);
	cr_assert_eq(got(WEIR_COORD_DO_NEED_FINALIZE)->id, 1);
	snap = weir_coordinator_snapshot(c, 1);
	cr_assert_eq(snap->task_cnt, 3);
	cr_assert_eq(weir_coordinator_latest(c), 0, "not before the manifest is durable");
	answer(WEIR_COORD_FINALIZE_ANSWER, 1, WEIR_COORD_OK);
	cr_assert_eq(last.list[0].kind, WEIR_COORD_DO_PROMISE);
	cr_assert(last.list[0].promise.from_timer);
	cr_assert_eq(last.list[1].kind, WEIR_COORD_DO_COMPLETE);
	cr_assert_eq(last.list[1].complete.to.cnt, 3);
	cr_assert_eq(weir_coordinator_latest(c), 1);
}

Test(coordinator, oldest_beyond_retained_is_deleted) /* K4, K10 */
{
	const struct weir_coord_update *u;

	complete(1);
	complete(2);
	u = got(WEIR_COORD_DO_DELETE);
	cr_assert_eq(u->id, 1);
	cr_assert_eq(u->files.location, 901);
	cr_assert_eq(u->files.cnt, 1);
	cr_assert_eq(u->files.list[0], 101);
	cr_assert_eq(got(WEIR_COORD_DO_COMPLETE)->complete.subsumed, 1);
}

Test(coordinator, decline_fails_request_and_job) /* K8, K11 */
{
	struct weir_coord_event e = {
		.kind = WEIR_COORD_DECLINE,
		.reason = WEIR_REASON_CHECKPOINT_DECLINED,
	};

	trigger_periodic(1);
	e.message.job = 42;
	e.message.id = 1;
	e.message.from.task = 2;
	step(&e);
	cr_assert_eq(last.list[0].kind, WEIR_COORD_DO_PROMISE);
	cr_assert_eq(last.list[1].kind, WEIR_COORD_DO_DELETE);
	cr_assert_eq(last.list[2].kind, WEIR_COORD_DO_FAIL_JOB);
	cr_assert_eq(last.list[2].fail.task.task, 2);
	cr_assert_eq(last.list[3].kind, WEIR_COORD_DO_ABORT);
	cr_assert_eq(last.list[3].abort.reason, WEIR_REASON_CHECKPOINT_DECLINED);
}

/* Vertex 1 has union state: everybody's next start needs all of its subtasks' lists, or none. */
static void
start_with_union(uint32_t finished)
{
	static const struct weir_coord_vertex with_union[] = {
		{ .parallelism = 1 }, { .parallelism = 2, .union_state = true }
	};
	struct weir_coordinator_config cfg = config();

	cfg.graph.vertices = with_union;
	weir_coordinator_destroy(c);
	c = weir_coordinator_create(&cfg);
	set_job(WEIR_COORD_JOB_RUNNING);
	set_tasks(WEIR_COORD_TASK_RUNNING, 0, 3);
	if (finished > 0)
		set_tasks(WEIR_COORD_TASK_FINISHED, 3 - finished, finished);
	trigger_periodic(1);
}

Test(coordinator, union_state_of_some_finished_subtasks_fails) /* T30 */
{
	struct weir_part part = { .kind = WEIR_PART_PRIVATE, .file = 101 };

	start_with_union(1);
	ack(0, 1, NULL, 0);
	ack(1, 1, &part, 1);
	cr_assert_eq(got(WEIR_COORD_DO_NEED_FINALIZE), NULL);
	cr_assert_eq(got(WEIR_COORD_DO_PROMISE)->promise.reason,
		     WEIR_REASON_CHECKPOINT_DECLINED_TASK_CLOSING);
	cr_assert_eq(got(WEIR_COORD_DO_FAIL_JOB), NULL, "it does not count (K12)");
}

Test(coordinator, union_state_of_all_or_no_finished_subtasks_succeeds) /* T30 */
{
	struct weir_part part = { .kind = WEIR_PART_PRIVATE, .file = 101 };

	start_with_union(0);
	for (uint32_t t = 0; t < 3; t++)
		ack(t, 1, &part, t > 0);
	cr_assert_eq(got(WEIR_COORD_DO_NEED_FINALIZE)->id, 1);
	start_with_union(2);
	ack(0, 1, NULL, 0);
	cr_assert_eq(got(WEIR_COORD_DO_NEED_FINALIZE)->id, 1);
}

Test(coordinator, expires_and_remembers_it) /* C19 */
{
	struct weir_coord_event tick = { .kind = WEIR_COORD_TICK };
	struct weir_coord_event stop = { .kind = WEIR_COORD_SCHEDULER_STOP };

	step(&stop);
	struct weir_coord_event request = { .kind = WEIR_COORD_REQUEST };
	request.request.number = 7;
	step(&request);
	answer(WEIR_COORD_ID_ANSWER, 0, WEIR_COORD_OK);
	answer(WEIR_COORD_STORAGE_ANSWER, 1, WEIR_COORD_OK);
	cr_assert_eq(weir_coordinator_next_due(c), 5000);
	now = 5000;
	step(&tick);
	cr_assert_eq(got(WEIR_COORD_DO_PROMISE)->promise.reason, WEIR_REASON_CHECKPOINT_EXPIRED);
	cr_assert_eq(got(WEIR_COORD_DO_PROMISE)->promise.number, 7);
	ack(0, 1, NULL, 0);
	cr_assert_eq(last.list[0].ack_outcome, WEIR_ACK_EXPIRED);
}

Test(coordinator, messages_of_others_are_ignored) /* K1 */
{
	struct weir_coord_event e = { .kind = WEIR_COORD_ACK };

	trigger_periodic(1);
	e.ack.job = 43;
	e.ack.id = 1;
	step(&e);
	cr_assert_eq(last.list[0].ack_outcome, WEIR_ACK_OTHER_JOB);
	e.ack.job = 42;
	e.ack.from.attempt = 5;
	step(&e);
	cr_assert_eq(last.list[0].ack_outcome, WEIR_ACK_UNKNOWN);
	cr_assert_eq(last.cnt, 1);
}

Test(coordinator, impossible_events_change_nothing)
{
	answer(WEIR_COORD_FINALIZE_ANSWER, 1, WEIR_COORD_OK);
	cr_assert(last.illegal);
	answer(WEIR_COORD_DELETED, 3, WEIR_COORD_OK);
	cr_assert(last.illegal);
	answer(WEIR_COORD_ID_ANSWER, 0, WEIR_COORD_OK);
	cr_assert(last.illegal);
	complete(1);
	cr_assert_eq(weir_coordinator_latest(c), 1);
}

Test(coordinator, stale_attempts_have_no_state)
{
	struct weir_attempt old = { .task = 1, .attempt = 9 };
	struct weir_coord_event e = { .kind = WEIR_COORD_TASK_STATE };

	e.tasks.list = &old;
	e.tasks.cnt = 1;
	e.tasks.state = WEIR_COORD_TASK_FAILED;
	step(&e);
	cr_assert(last.illegal);
	cr_assert_neq(weir_coordinator_next_due(c), INT64_MAX, "still active");
}

/* What awaits an attempt before it cannot complete either. */
Test(coordinator, failing_new_attempt_aborts_what_awaits_an_old_one)
{
	struct weir_attempt next = { .task = 2, .attempt = 1 };
	struct weir_coord_event e = { .kind = WEIR_COORD_REQUEST };

	set_tasks(WEIR_COORD_TASK_DEPLOYING, 1, 2); /* not active: no timer, but requests work */
	e.request.kind = WEIR_REQUEST_CHECKPOINT;
	step(&e);
	answer(WEIR_COORD_ID_ANSWER, 0, WEIR_COORD_OK);
	answer(WEIR_COORD_STORAGE_ANSWER, 1, WEIR_COORD_OK);
	cr_assert_neq(got(WEIR_COORD_DO_TRIGGER), NULL);
	e = (struct weir_coord_event){ .kind = WEIR_COORD_RESTART };
	e.tasks.list = &next;
	e.tasks.cnt = 1;
	step(&e);
	e.kind = WEIR_COORD_TASK_STATE;
	e.tasks.state = WEIR_COORD_TASK_RUNNING;
	step(&e);
	cr_assert_eq(got(WEIR_COORD_DO_ABORT), NULL);
	e.tasks.state = WEIR_COORD_TASK_FAILED;
	step(&e);
	cr_assert_neq(got(WEIR_COORD_DO_ABORT), NULL);
}

Test(coordinator, restart_goes_back_to_the_latest) /* R1 */
{
	struct weir_attempt next[3] = { { 0, 1 }, { 1, 1 }, { 2, 1 } };
	struct weir_coord_event e = { .kind = WEIR_COORD_RESTART };
	const struct weir_coord_update *u;

	complete(1);
	set_job(WEIR_COORD_JOB_RESTARTING);
	cr_assert_eq(weir_coordinator_next_due(c), INT64_MAX);
	e.tasks.list = next;
	e.tasks.cnt = 3;
	step(&e);
	e.kind = WEIR_COORD_RESTORE;
	step(&e);
	u = got(WEIR_COORD_DO_RESTORE);
	cr_assert_eq(u->id, 1);
	cr_assert_eq(u->restore.to.list[2].attempt, 1);
	cr_assert_eq(u->restore.snapshot->tasks[0].parts[0].file, 101);
}

Test(coordinator, new_process_knows_what_is_durable) /* C20, S8 */
{
	struct weir_part parts[] = {
		{ .kind = WEIR_PART_PRIVATE, .file = 5 },
		{ .kind = WEIR_PART_SHARED, .file = 6, .key = 60 },
	};
	struct weir_snapshot snap = { .id = 8, .claimed = true, .parts = parts, .part_cnt = 2 };
	struct weir_coord_event e = { .kind = WEIR_COORD_RECOVER };
	struct weir_part ref = { .kind = WEIR_PART_REF, .key = 60 };

	e.recover.next_id = 12;
	e.recover.completed = &snap;
	e.recover.completed_cnt = 1;
	step(&e);
	cr_assert_not(last.illegal);
	cr_assert_eq(weir_coordinator_latest(c), 8);
	trigger_periodic(12);
	ack(0, 12, &ref, 1);
	cr_assert_eq(last.list[0].ack_outcome, WEIR_ACK_SUCCESS);
	ack(1, 12, NULL, 0);
	ack(2, 12, NULL, 0);
	answer(WEIR_COORD_FINALIZE_ANSWER, 12, WEIR_COORD_OK);
	cr_assert_eq(got(WEIR_COORD_DO_DELETE)->id, 8);
	cr_assert_eq(got(WEIR_COORD_DO_DELETE)->files.cnt, 1, "the shared file lives on");
	step(&e);
	cr_assert(last.illegal, "too late");
}

Test(coordinator, statistics_and_history) /* K16 */
{
	const struct weir_coord_stats *s;
	const struct weir_coord_history *h;

	complete(1);
	trigger_periodic(2);
	set_job(WEIR_COORD_JOB_FAILED);
	s = weir_coordinator_stats(c);
	cr_assert_eq(s->triggered_cnt, 2);
	cr_assert_eq(s->completed_cnt, 1);
	cr_assert_eq(s->failed_cnt, 1);
	cr_assert_eq(s->acks[WEIR_ACK_SUCCESS], 3);
	h = weir_coord_stats_history(s, 0);
	cr_assert_eq(h->reason, WEIR_REASON_CHECKPOINT_COORDINATOR_SUSPEND);
	h = weir_coord_stats_history(s, 1);
	cr_assert_eq(h->id, 1);
	cr_assert_eq(h->last.task, 2);
	cr_assert_eq(h->max.sync_ms, 2);
	cr_assert_eq(h->max.written_bytes, 30);
	cr_assert_not(h->unaligned);
	cr_assert_eq((void *)weir_coord_stats_history(s, 2), NULL);
}
