#include "engine/checkpoint/trigger_plan.h"

#include <criterion/criterion.h>

#include <string.h>

static const struct weir_coord_vertex vertices[] = {
	{ .parallelism = 2 },
	{ .parallelism = 4 },
	{ .parallelism = 1 },
};
static const struct weir_coord_edge edges[] = {
	{ .up = 0, .down = 1, .pointwise = true },
	{ .up = 1, .down = 2 },
};
static const struct weir_coord_graph graph = { vertices, 3, edges, 2 };

static uint8_t states[7];
static struct weir_trigger_plan plan;

static void
setup(void)
{
	memset(states, WEIR_COORD_TASK_RUNNING, sizeof(states));
}

TestSuite(trigger_plan, .init = setup);

static enum weir_reason
make(bool finished_allowed)
{
	return weir_trigger_plan_make(&graph, states, finished_allowed, &plan);
}

Test(trigger_plan, all_running_triggers_the_sources) /* C13 */
{
	cr_assert_eq(make(true), WEIR_REASON_NONE);
	cr_assert_eq(plan.trigger_cnt, 2);
	cr_assert_eq(plan.wait_cnt, 7);
	cr_assert_eq(plan.finished_cnt, 0);
	weir_trigger_plan_fini(&plan);
}

Test(trigger_plan, triggers_where_no_producer_runs) /* C14 */
{
	states[0] = WEIR_COORD_TASK_FINISHED;
	cr_assert_eq(make(true), WEIR_REASON_NONE);
	cr_assert_eq(plan.trigger_cnt, 3);
	cr_assert_eq(plan.trigger[0], 1);
	cr_assert_eq(plan.trigger[1], 2);
	cr_assert_eq(plan.trigger[2], 3);
	cr_assert_eq(plan.wait_cnt, 6);
	weir_trigger_plan_fini(&plan);
}

Test(trigger_plan, refusals) /* C15 */
{
	enum weir_reason not_running = WEIR_REASON_NOT_ALL_REQUIRED_TASKS_RUNNING;

	states[0] = WEIR_COORD_TASK_FINISHED;
	cr_assert_eq(make(false), not_running);
	states[0] = WEIR_COORD_TASK_INITIALIZING;
	cr_assert_eq(make(true), not_running);
	states[0] = WEIR_COORD_TASK_RUNNING;
	states[6] = WEIR_COORD_TASK_NONE;
	cr_assert_eq(make(true), not_running);
	memset(states, WEIR_COORD_TASK_FINISHED, sizeof(states));
	cr_assert_eq(make(true), not_running, "nobody left to wait for");
}

Test(trigger_plan, pointwise_covers_each_channel_once)
{
	for (uint32_t m = 1; m < 9; m++) {
		for (uint32_t n = 1; n < 9; n++) {
			uint32_t channels = 0;

			for (uint32_t i = 0; i < n; i++) {
				uint32_t first, last;

				weir_coord_pointwise(m, n, i, &first, &last);
				cr_assert_leq(first, last);
				cr_assert_lt(last, m);
				channels += last - first + 1;
			}
			cr_assert_eq(channels, m > n ? m : n);
		}
	}
}
