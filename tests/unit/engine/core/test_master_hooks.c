/* Master hooks (K15), and what they leave open between an enumerator's snapshot and the barriers.
 */
#include "tests/unit/engine/core/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define STEPS 400000u

struct fake {
	struct weir_master_hook hook;
	uint32_t rounds; /* it takes so many */
	uint64_t fails;	 /* for this checkpoint; 0: for none */
	uint64_t id;
	uint32_t left, begun, done, abandoned;
	char text[32];
};

static void
begin(void *arg, uint64_t id)
{
	struct fake *f = arg;

	cr_assert_eq(f->id, 0, "one at a time");
	f->id = id;
	f->left = f->rounds;
	f->begun++;
}

static enum weir_hook_step
step(void *arg, struct weir_blob *state, struct weir_error *err)
{
	struct fake *f = arg;
	const bool fails = f->id == f->fails;

	cr_assert_neq(f->id, 0);
	if (f->left-- > 0)
		return WEIR_HOOK_BUSY;
	snprintf(f->text, sizeof(f->text), "state of %lu", f->id);
	*state = (struct weir_blob){ f->text, strlen(f->text) };
	f->id = 0;
	f->done++;
	if (fails)
		weir_fail(err, WEIR_ERR_FAILED, "no state today");
	return fails ? WEIR_HOOK_FAILED : WEIR_HOOK_DONE;
}

static void
abandon(void *arg)
{
	struct fake *f = arg;

	f->id = 0;
	f->abandoned++;
}

static void
with_hook(struct weir_master_config *mc, void *arg)
{
	struct fake *f = arg;

	f->hook = (struct weir_master_hook){
		.name = "offsets", .begin = begin, .step = step, .abandon = abandon, .arg = f
	};
	mc->hooks = &f->hook;
	mc->hook_cnt = 1;
}

/* K14: splits are asked for while a hook takes its time; they belong behind the barrier. */
Test(master_hooks, splits_that_are_handed_out_meanwhile_come_behind_the_barrier)
{
	static struct world w;
	uint32_t checked = 0;

	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct fake f = { .rounds = 20 };

		world_create(&w, &(struct world_options){ .seed = seed,
							  .splits = 2000,
							  .rows = 20,
							  .interval_ns = 1000000,
							  .tune = with_hook,
							  .arg = &f });
		world_begin(&w);
		checked += world_run_checking_splits(&w);
		world_check_output(&w);
		world_destroy(&w);
	}
	cr_assert_gt(checked, 20);
}

Test(master_hooks, the_state_is_in_the_checkpoint_by_name)
{
	static struct world w;
	struct fake f = { .rounds = 3 };
	struct weir_error err = { 0 };
	char want[32];

	world_create(&w, &(struct world_options){ .rows = 4000, .tune = with_hook, .arg = &f });
	world_begin(&w);
	cr_assert_eq(world_run(&w, STEPS, &err), WEIR_END_FINISHED);
	world_end(&w);
	world_begin(&w);
	cr_assert_eq(w.own_cnt, 1);
	cr_assert_eq(w.own[0]->hook_cnt, 1);
	cr_assert_str_eq(w.own[0]->hooks[0].name, "offsets");
	snprintf(want, sizeof(want), "state of %lu", w.own[0]->checkpoint_id);
	cr_assert_eq(w.own[0]->hooks[0].state.len, strlen(want));
	cr_assert_arr_eq(w.own[0]->hooks[0].state.bytes, want, strlen(want));
	world_destroy(&w);
}

/* Its checkpoint fails, the next one does not. */
Test(master_hooks, a_hook_that_fails_fails_its_checkpoint)
{
	static struct world w;
	struct fake f = { .rounds = 2, .fails = 2 };
	struct weir_error err = { 0 };

	world_create(&w, &(struct world_options){ .rows = 8000, .tune = with_hook, .arg = &f });
	world_begin(&w);
	cr_assert_eq(world_run(&w, STEPS, &err), WEIR_END_FINISHED);
	cr_assert_eq(w.done[1].id, 2);
	cr_assert_str_eq(w.done[1].status, "aborted");
	cr_assert_str_eq(w.done[1].reason, "TRIGGER_CHECKPOINT_FAILURE");
	cr_assert_not_null(strstr(w.warning, "hook 'offsets': no state today"), "%s", w.warning);
	cr_assert_gt(world_count(&w, "completed"), 2);
	cr_assert_eq(world_strays(&w), 0);
	world_check_output(&w);
	world_destroy(&w);
}

static void
impatient(struct weir_master_config *mc, void *arg)
{
	with_hook(mc, arg);
	mc->timeout_ns = 5000000;
	mc->tolerable_failures = 1000;
}

/* C19: one that takes too long is stopped when its checkpoint expires, and asked again for the
 * next.
 */
Test(master_hooks, a_slow_hook_is_abandoned)
{
	static struct world w;
	struct fake f = { .rounds = UINT32_MAX };
	struct weir_error err = { 0 };

	world_create(&w, &(struct world_options){ .rows = 20000, .tune = impatient, .arg = &f });
	world_begin(&w);
	cr_assert_eq(world_run(&w, 3000, &err), WEIR_END_NOT_YET);
	cr_assert_gt(f.abandoned, 1);
	cr_assert_str_eq(w.done[0].reason, "CHECKPOINT_EXPIRED");
	f.rounds = 0;
	cr_assert_eq(world_run(&w, STEPS, &err), WEIR_END_FINISHED);
	cr_assert_eq(f.begun, f.done + f.abandoned);
	world_check_output(&w);
	world_destroy(&w);
}

Test(master_hooks, a_cancel_stops_it)
{
	static struct world w;
	struct fake f = { .rounds = UINT32_MAX };
	struct weir_error err = { 0 };

	world_create(&w, &(struct world_options){ .rows = 20000, .tune = with_hook, .arg = &f });
	world_begin(&w);
	cr_assert_eq(world_run(&w, 2000, &err), WEIR_END_NOT_YET);
	cr_assert_eq(f.begun, 1);
	weir_master_cancel(w.master);
	cr_assert_eq(f.abandoned, 1);
	cr_assert_eq(world_run(&w, STEPS, &err), WEIR_END_CANCELED);
	world_destroy(&w);
	cr_assert_eq(f.abandoned, 1);
}
