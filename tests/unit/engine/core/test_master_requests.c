/* C1: requests from outside, each answered exactly once. */
#include "tests/unit/engine/core/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

struct answer {
	uint32_t cnt;
	enum weir_reason reason;
	uint64_t id;
	char path[128];
	char why[128];
};

static void
answered(void *arg, const struct weir_master_outcome *o)
{
	struct answer *a = arg;

	a->cnt++;
	a->reason = o->reason;
	a->id = o->id;
	snprintf(a->path, sizeof(a->path), "%s", o->path != NULL ? o->path : "");
	snprintf(a->why, sizeof(a->why), "%s", o->why);
}

static void
ask(struct world *w, struct answer *a, enum weir_request_kind kind)
{
	weir_master_request(w->master, &(struct weir_master_request){
					       .kind = kind, .done = answered, .arg = a });
}

static void
run_until(struct world *w, const struct answer *a)
{
	for (uint32_t i = 0; i < 20000 && a->cnt == 0; i++)
		world_step(w);
	cr_assert_eq(a->cnt, 1);
}

static void
run_until_running(struct world *w)
{
	for (uint32_t i = 0; i < 1000 && !weir_master_running(w->master); i++)
		world_step(w);
	cr_assert(weir_master_running(w->master));
}

Test(master_requests, a_manual_checkpoint_says_where_it_lies)
{
	struct world w;
	struct answer a = { 0 }, full = { 0 };
	struct weir_error err;

	world_create(&w, &(struct world_options){ .interval_ns = -1, .rows = 20000 });
	world_begin(&w);
	run_until_running(&w);
	ask(&w, &a, WEIR_REQUEST_CHECKPOINT);
	run_until(&w, &a);
	cr_assert_eq(a.reason, WEIR_REASON_NONE);
	cr_assert_eq(a.id, 1);
	cr_assert_str_eq(a.path, WORLD_JOB_DIR "/chk-1");
	cr_assert_eq(world_newest(&w, NULL), 1);
	ask(&w, &full, WEIR_REQUEST_FULL);
	run_until(&w, &full);
	cr_assert_eq(full.id, 2);
	cr_assert_str_eq(w.done[0].kind, "manual");
	cr_assert_eq(world_run(&w, 200000, &err), WEIR_END_FINISHED);
	cr_assert_str_eq(w.done[w.done_cnt - 1].kind, "final");
	cr_assert_eq(a.cnt, 1);
	world_check_output(&w);
	world_destroy(&w);
}

/* K6: those that were asked for wait for each other, also at max-concurrent 1. */
Test(master_requests, many_at_once_are_all_answered)
{
	struct world w;
	struct answer a[20] = { 0 };

	world_create(&w, &(struct world_options){ .rows = 50000, .max_concurrent = 12 });
	world_begin(&w);
	run_until_running(&w);
	for (uint32_t i = 0; i < 20; i++)
		ask(&w, &a[i], WEIR_REQUEST_CHECKPOINT);
	for (uint32_t i = 0; i < 20; i++)
		run_until(&w, &a[i]);
	world_destroy(&w);
	for (uint32_t i = 0; i < 20; i++)
		cr_assert_eq(a[i].cnt, 1);
}

Test(master_requests, before_all_tasks_run_it_is_refused)
{
	struct world w;
	struct answer a = { 0 };

	world_create(&w, &(struct world_options){ .interval_ns = -1 });
	world_begin(&w);
	ask(&w, &a, WEIR_REQUEST_CHECKPOINT);
	cr_assert_eq(a.cnt, 1);
	cr_assert_eq(a.reason, WEIR_REASON_NOT_ALL_REQUIRED_TASKS_RUNNING);
	cr_assert_eq(a.id, 0);
	world_destroy(&w);
}

/* A checkpoint is asked for, and the disk is slow. */
static void
ask_and_wait(struct world *w, struct answer *a)
{
	world_create(w, &(struct world_options){
				.interval_ns = -1, .rows = 20000, .io_delay_ns = 50000000 });
	world_begin(w);
	run_until_running(w);
	ask(w, a, WEIR_REQUEST_CHECKPOINT);
}

Test(master_requests, a_cancel_answers_what_waits)
{
	struct world w;
	struct answer a = { 0 };

	ask_and_wait(&w, &a);
	for (uint32_t i = 0; i < 200; i++)
		world_step(&w);
	cr_assert_eq(a.cnt, 0);
	weir_master_cancel(w.master);
	cr_assert_eq(a.cnt, 1);
	cr_assert_eq(a.reason, WEIR_REASON_CHECKPOINT_COORDINATOR_SUSPEND);
	world_destroy(&w);
	cr_assert_eq(a.cnt, 1);
}

Test(master_requests, destroy_answers_what_waits)
{
	struct world w;
	struct answer a = { 0 };

	ask_and_wait(&w, &a);
	world_end(&w);
	cr_assert_eq(a.cnt, 1);
	cr_assert_eq(a.reason, WEIR_REASON_CHECKPOINT_COORDINATOR_SHUTDOWN);
	world_destroy(&w);
}

/* C20: without an id there is no checkpoint; the job goes on, however often that happens. */
Test(master_requests, a_failing_id_counter_fails_the_request_only)
{
	struct world w;
	struct weir_error err;

	world_create(&w, &(struct world_options){ .rows = 20000, .tolerable = 1000 });
	w.ids_fail = true;
	world_begin(&w);
	run_until_running(&w);
	for (uint32_t i = 0; i < 30; i++) {
		struct answer a = { 0 };

		ask(&w, &a, WEIR_REQUEST_CHECKPOINT);
		run_until(&w, &a);
		cr_assert_eq(a.reason, WEIR_REASON_IO_EXCEPTION);
		cr_assert_eq(a.id, 0);
	}
	w.ids_fail = false;
	cr_assert_eq(world_run(&w, 400000, &err), WEIR_END_FINISHED);
	world_check_output(&w);
	world_destroy(&w);
}
