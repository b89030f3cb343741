#include "engine/checkpoint/valve.h"

#include <criterion/criterion.h>

static struct weir_valve v;

static void
setup(void)
{
	weir_valve_init(&v, 2);
}

static void
teardown(void)
{
	weir_valve_fini(&v);
}

TestSuite(valve, .init = setup, .fini = teardown);

static uint64_t
pop(void)
{
	struct weir_valve_event e;

	return weir_valve_pop(&v, &e) ? e.event : 0;
}

Test(valve, holds_from_the_snapshot_to_the_barrier) /* K14 */
{
	weir_valve_send(&v, 0, 1);
	cr_assert_eq(pop(), 1);
	cr_assert(weir_valve_confirm(&v, 1));
	weir_valve_close(&v, 5);
	weir_valve_send(&v, 0, 2);
	weir_valve_send(&v, 1, 3);
	cr_assert_eq(pop(), 0);
	weir_valve_open(&v, 0, 5);
	cr_assert_eq(pop(), 2);
	cr_assert_eq(pop(), 0, "the other subtask has not passed it");
}

Test(valve, opens_into_the_next_lower_id)
{
	weir_valve_close(&v, 5);
	weir_valve_send(&v, 0, 1);
	weir_valve_close(&v, 6);
	weir_valve_send(&v, 0, 2);
	weir_valve_open(&v, 0, 6);
	cr_assert_eq(pop(), 0);
	weir_valve_open(&v, 0, 5);
	cr_assert_eq(pop(), 1);
	cr_assert_eq(pop(), 2);
}

Test(valve, snapshot_waits_for_what_was_sent_before)
{
	uint32_t subtask;

	weir_valve_send(&v, 0, 1);
	weir_valve_send(&v, 1, 2);
	(void)pop();
	(void)pop();
	weir_valve_close(&v, 5);
	cr_assert_eq(v.awaited_cnt, 2);
	cr_assert(weir_valve_confirm(&v, 1));
	cr_assert_not(weir_valve_confirm(&v, 1));
	cr_assert_eq(v.awaited_cnt, 1);
	cr_assert(weir_valve_lose(&v, 2, &subtask));
	cr_assert_eq(subtask, 1);
	cr_assert(v.lost);
}

Test(valve, stopped_subtask_loses_everything_new_attempt_is_open)
{
	weir_valve_close(&v, 5);
	weir_valve_send(&v, 0, 1);
	weir_valve_subtask_stopped(&v, 0);
	weir_valve_open(&v, 0, 5);
	cr_assert_eq(pop(), 0);
	weir_valve_close(&v, 6);
	weir_valve_subtask_reset(&v, 0);
	weir_valve_send(&v, 0, 2);
	cr_assert_eq(pop(), 2);
}
