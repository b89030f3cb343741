/* The enumerator of a source as an operator coordinator (K14), and its backlog (C10). */
#include "tests/unit/engine/core/world.h"

#include <criterion/criterion.h>
#include <string.h>

#define STEPS 400000u

/* K14: with many small splits some are always on their way when a checkpoint begins. */
Test(master_splits, every_split_is_on_one_side_of_the_cut)
{
	static struct world w;
	uint32_t checked = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		world_create(&w,
			     &(struct world_options){ .seed = seed,
						      .splits = 500,
						      .rows = 20,
						      .interval_ns = 1000000,
						      .max_concurrent = 1 + (uint32_t)(seed % 3) });
		world_begin(&w);
		checked += world_run_checking_splits(&w);
		world_check_output(&w);
		world_destroy(&w);
	}
	cr_assert_gt(checked, 200);
}

/* What was handed out while the valve was closed comes when the subtask is past the barrier. */
Test(master_splits, a_split_waits_for_the_barrier_and_then_comes)
{
	static struct world w;
	struct weir_error err = { 0 };

	world_create(&w,
		     &(struct world_options){ .splits = 300, .rows = 8, .interval_ns = 1000000 });
	world_begin(&w);
	cr_assert_eq(world_run(&w, STEPS, &err), WEIR_END_FINISHED);
	cr_assert_gt(w.done_cnt, 5);
	world_check_output(&w);
	world_destroy(&w);
}

static void
none_during_backlog(struct weir_master_config *mc, void *arg)
{
	(void)arg;
	mc->has_backlog_interval = true;
	mc->backlog_interval_ns = 0;
}

/* C10: no periodic checkpoint while splits wait; they begin when the last one is handed out. */
Test(master_splits, while_splits_wait_there_is_a_backlog)
{
	static struct world w;
	struct weir_error err = { 0 };
	struct weir_master_counts n;

	world_create(&w, &(struct world_options){ .splits = 20,
						  .rows = 8000,
						  .interval_ns = 1000000,
						  .tune = none_during_backlog });
	world_begin(&w);
	while (weir_enumerator_left(&w.enumerator)) {
		cr_assert_eq(world_run(&w, 1, &err), WEIR_END_NOT_YET);
		weir_master_counts(w.master, &n);
		cr_assert_eq(n.triggered, 0);
	}
	cr_assert_eq(world_run(&w, STEPS, &err), WEIR_END_FINISHED);
	cr_assert_str_eq(w.done[0].kind, "periodic");
	cr_assert_gt(w.done_cnt, 2);
	world_destroy(&w);
}
