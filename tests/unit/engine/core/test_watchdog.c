/* The watchdog of a snapshot's synchronous part (T23). */
#include "tests/unit/engine/core/world.h"

#include <criterion/criterion.h>
#include <string.h>

#define STEPS 400000u

/* A core's clock that runs on between two looks. */
static int64_t ran_ns, step_ns;

static int64_t
hasty_clock(void)
{
	ran_ns += step_ns;
	return ran_ns;
}

static enum weir_master_end
run_with_steps(int64_t ns, int64_t timeout_ns, struct weir_error *err)
{
	static struct world w;
	enum weir_master_end end;

	world_create(&w, &(struct world_options){ .rows = 4000 });
	world_begin(&w);
	step_ns = ns;
	for (uint32_t c = 0; c < WORLD_CORES; c++) {
		w.rt->cores[c].clock = hasty_clock;
		w.rt->cores[c].sync_timeout_ns = timeout_ns;
	}
	end = world_run(&w, STEPS, err);
	world_destroy(&w);
	return end;
}

Test(watchdog, a_long_synchronous_part_fails_the_task_by_name)
{
	struct weir_error err = { 0 };

	cr_assert_eq(run_with_steps(20000000, 10000000, &err), WEIR_END_FAILED);
	cr_assert_not_null(strstr(err.text, "the synchronous part of checkpoint 1 took 0.0"), "%s",
			   err.text);
	cr_assert_not_null(strstr(err.text, "task '"), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "more than checkpoint.sync-timeout (0.010 s)"), "%s",
			   err.text);
}

Test(watchdog, one_that_is_in_time_does_not)
{
	struct weir_error err = { 0 };

	cr_assert_eq(run_with_steps(1000000, 10000000, &err), WEIR_END_FINISHED, "%s", err.text);
	cr_assert_eq(run_with_steps(20000000, 0, &err), WEIR_END_FINISHED, "%s", err.text);
}

/* The core cannot say so itself. */
Test(watchdog, a_stuck_core_is_noticed_by_the_control_thread)
{
	static struct world w;
	struct weir_error err = { 0 };
	struct weir_core *core;

	world_create(&w, &(struct world_options){ .rows = 20000 });
	world_begin(&w);
	cr_assert_eq(world_run(&w, 2000, &err), WEIR_END_NOT_YET);
	core = &w.rt->cores[1];
	core->sync_timeout_ns = 10000000000;
	core->sync_task = core->tasks[0]->number;
	core->sync_checkpoint = 77;
	core->sync_since_ns = w.now_ns;
	(void)weir_master_step(w.master, w.now_ns + core->sync_timeout_ns, 0);
	cr_assert_eq(weir_master_ended(w.master, &err), WEIR_END_NOT_YET);
	(void)weir_master_step(w.master, w.now_ns + core->sync_timeout_ns + 500000000, 0);
	cr_assert_eq(weir_master_ended(w.master, &err), WEIR_END_FAILED);
	cr_assert_not_null(strstr(err.text, "checkpoint 77 goes on for 10.500 s"), "%s", err.text);
	world_destroy(&w);
}
