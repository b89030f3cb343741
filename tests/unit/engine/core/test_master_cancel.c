/* R7: what a complete checkpoint covers is committed also when the job is cancelled right behind.
 */
#include "tests/unit/engine/core/world.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

/* The last checkpoint, which covers all rows, is complete, and no sink has heard of it. */
static void
last_completes(struct world *w, uint64_t seed)
{
	struct weir_error err = { 0 };

	world_create(w, &(struct world_options){ .seed = seed, .io_delay_ns = 300000 });
	world_begin(w);
	while (w->done_cnt == 0 || strcmp(w->done[w->done_cnt - 1].kind, "final") != 0)
		cr_assert_eq(world_run(w, 1, &err), WEIR_END_NOT_YET, "%s", err.text);
	cr_assert_str_eq(w->done[w->done_cnt - 1].status, "completed");
}

Test(master_cancel, what_a_complete_checkpoint_covers_is_committed)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct weir_error err;
		struct world w;

		last_completes(&w, seed);
		weir_master_cancel(w.master);
		cr_assert_eq(world_run(&w, 400000, &err), WEIR_END_CANCELED);
		world_check_output(&w);
		world_destroy(&w);
	}
}

Test(master_cancel, a_sink_that_fails_does_not_hold_it_up)
{
	struct weir_error err;
	struct world w;

	last_completes(&w, 1);
	weir_master_cancel(w.master);
	w.o.fault = (struct weir_sim_fault){
		.at = 1, .kinds = 1u << WEIR_IO_RENAME, .cnt = 100, .error = EIO
	};
	cr_assert_eq(world_run(&w, 4000, &err), WEIR_END_CANCELED);
	cr_assert(w.fault_of_sink);
	world_destroy(&w);
}

/* A commit that does not come to its end: the restore will see to it. */
Test(master_cancel, a_sink_that_takes_for_ever_is_waited_for_so_long_only)
{
	struct weir_error err;
	struct world w;
	int64_t begin_ns;

	last_completes(&w, 1);
	begin_ns = w.now_ns;
	weir_master_cancel(w.master);
	/* What a core submits is never carried out. */
	while (w.now_ns - begin_ns < 20000000000) {
		w.now_ns += 1000000;
		weir_sim_clock_set(w.now_ns);
		for (uint32_t c = 0; c < WORLD_CORES; c++)
			(void)weir_core_turn(&w.rt->cores[c], w.now_ns);
		weir_sim_io_progress(w.io[WORLD_CORES], w.now_ns);
		(void)weir_master_step(w.master, w.now_ns, w.now_ns);
		if (weir_master_ended(w.master, &err) != WEIR_END_NOT_YET)
			break;
	}
	cr_assert_eq(weir_master_ended(w.master, &err), WEIR_END_CANCELED);
	cr_assert_geq(w.now_ns - begin_ns, 4000000000);
	cr_assert_leq(w.now_ns - begin_ns, 6000000000);
	world_destroy(&w);
}
