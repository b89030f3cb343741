#include "engine/checkpoint/decider.h"

#include <criterion/criterion.h>

static struct weir_decider decider;
static struct weir_decider_view view;

static void
setup(void)
{
	weir_decider_init(&decider, 1, 3, 10);
	view = (struct weir_decider_view){ .now = 100, .last_completion = WEIR_DECIDER_NEVER };
}

static void
teardown(void)
{
	weir_decider_fini(&decider);
}

TestSuite(decider, .init = setup, .fini = teardown);

static uint64_t
add(uint64_t number, enum weir_request_kind kind, bool forced, bool periodic)
{
	struct weir_request r = {
		.number = number,
		.kind = kind,
		.forced = forced,
		.periodic = periodic,
		.time = view.now,
	};
	struct weir_request victim;

	return weir_decider_add(&decider, &r, &victim) ? victim.number : 0;
}

static uint64_t
next_run(void)
{
	struct weir_decision d = weir_decider_next(&decider, &view);

	return d.kind == WEIR_DECISION_RUN ? d.request.number : 0;
}

Test(decider, orders_savepoint_forced_user_then_time) /* C2 */
{
	cr_assert_eq(add(1, WEIR_REQUEST_CHECKPOINT, false, true), 0);
	cr_assert_eq(add(2, WEIR_REQUEST_CHECKPOINT, false, false), 0);
	cr_assert_eq(add(3, WEIR_REQUEST_SAVEPOINT, true, false), 0);
	cr_assert_eq(next_run(), 3);
	cr_assert_eq(next_run(), 2);
	cr_assert_eq(next_run(), 1);
	cr_assert_eq(next_run(), 0);
}

Test(decider, full_set_drops_the_last_unless_a_user_made_it) /* C3 */
{
	for (uint64_t i = 1; i <= 3; i++)
		cr_assert_eq(add(i, WEIR_REQUEST_CHECKPOINT, false, true), 0);
	cr_assert_eq(add(4, WEIR_REQUEST_CHECKPOINT, false, false), 3);
	cr_assert_eq(add(5, WEIR_REQUEST_SAVEPOINT, true, false), 2);
	cr_assert_eq(add(6, WEIR_REQUEST_SAVEPOINT, true, false), 1);
	cr_assert_eq(add(7, WEIR_REQUEST_SAVEPOINT, true, false), 7);
}

Test(decider, nothing_while_busy_or_cleaning) /* C4 */
{
	(void)add(1, WEIR_REQUEST_SAVEPOINT, true, false);
	view.busy = true;
	cr_assert_eq(next_run(), 0);
	view.busy = false;
	view.cleaning_cnt = 2;
	cr_assert_eq(next_run(), 0);
	view.cleaning_cnt = 1;
	cr_assert_eq(next_run(), 1);
}

Test(decider, only_forced_beside_the_maximum) /* C5 */
{
	view.pending_cnt = 1;
	(void)add(1, WEIR_REQUEST_CHECKPOINT, false, false);
	cr_assert_eq(next_run(), 0);
	(void)add(2, WEIR_REQUEST_SAVEPOINT, true, false);
	cr_assert_eq(next_run(), 2);
	cr_assert_eq(next_run(), 0);
}

Test(decider, min_pause_drops_periodic_ones_only) /* C6 */
{
	struct weir_decision d;

	view.last_completion = 95;
	(void)add(1, WEIR_REQUEST_CHECKPOINT, false, true);
	d = weir_decider_next(&decider, &view);
	cr_assert_eq(d.kind, WEIR_DECISION_DROP);
	cr_assert_eq(d.rearm, 105);
	(void)add(2, WEIR_REQUEST_CHECKPOINT, false, false);
	cr_assert_eq(next_run(), 2);
	view.now = 105;
	(void)add(3, WEIR_REQUEST_CHECKPOINT, false, true);
	cr_assert_eq(next_run(), 3);
}
