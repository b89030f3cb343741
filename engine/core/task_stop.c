/* Stop with savepoint at a task (S4). */
#include "engine/core/task_priv.h"

#include "engine/base/plant.h"
#include "engine/core/core.h"

/*
 *   suspend: barrier -> snapshot -> hold: nothing is read -> complete: the sink commits, FINISHED
 *                                                        -> abort: go on
 *   drain:   a source ends its data, then puts the barrier behind that; everybody's snapshot is
 *            that of a task with all rows through, and complete ends the job as at the end of input
 *            (T28)
 */

bool
weir_task_drains_first(struct weir_task *t, uint64_t id)
{
	const struct weir_savepoint_order *o = weir_savepoint_orders_find(t->core->orders, id);

	if (o == NULL || o->kind != WEIR_REQUEST_DRAIN || t->state >= WEIR_TASK_FINAL ||
	    WEIR_PLANT(DRAIN_LATE))
		return false;
	if (t->state == WEIR_TASK_RUNNING && t->work == WEIR_WORK_NONE)
		weir_task_end(t);
	return t->state < WEIR_TASK_FINAL;
}

void
weir_task_hold(struct weir_task *t, uint64_t id)
{
	const struct weir_savepoint_order *o = weir_savepoint_orders_find(t->core->orders, id);

	/* A barrier may come when its savepoint has been given up: nobody would release the task.
	 */
	if (o != NULL && o->kind == WEIR_REQUEST_SUSPEND && id >= t->over_below)
		t->hold = id;
}

void
weir_task_suspend(struct weir_task *t, uint64_t id)
{
	if (t->hold == 0 || t->hold != id)
		return;
	/* Everybody else is told the same: no ends are sent, nothing is emitted any more. */
	t->hold = 0;
	t->work = WEIR_WORK_NONE;
	t->host.more = false;
	t->state = WEIR_TASK_CLOSING;
}

void
weir_task_release(struct weir_task *t, uint64_t id)
{
	if (t->hold == id)
		t->hold = 0;
}
