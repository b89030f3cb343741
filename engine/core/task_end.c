/* How a task ends (T28). */
#include "engine/core/task_priv.h"

#include "engine/base/plant.h"
#include "engine/core/core.h"

void
weir_task_end(struct weir_task *t)
{
	WEIR_ASSERT(t->state == WEIR_TASK_RUNNING);
	t->state = WEIR_TASK_ENDING;
	weir_task_watermark(t, WEIR_TIME_END);
}

static void
close_task(struct weir_task *t)
{
	const struct weir_event end = { 0 };

	weir_task_send_event(t, WEIR_ITEM_END, &end);
	t->state = WEIR_TASK_CLOSING;
}

/* Has everything sent been taken out of its lane? */
static bool
outputs_taken(const struct weir_task *t)
{
	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		for (uint32_t p = 0; p < t->emitters[e].port_cnt; p++) {
			const struct weir_overdraft *o = &t->emitters[e].ports[p].overdraft;

			if (weir_overdraft_cnt(o) > 0 || weir_lane_count(o->data) > 0)
				return false;
		}
	return true;
}

/*
 * T28: the end of partition is the last thing on a channel, and the last thing a task waits for: a
 * checkpoint that was triggered before the final one completed is on its way, from the control
 * thread to a source, from a source in its channels, and needs this task.
 *
 * An unaligned checkpoint may cover a task whose rows are still on their way. Its end would stand
 * behind them, and every further checkpoint wait for it there; so it stays, and its barriers
 * overtake them (T16 makes an end as good as a barrier, but ends do not overtake, T34).
 */
static bool
may_close(const struct weir_task *t)
{
	return (t->covered || WEIR_PLANT(END_EARLY)) && t->state == WEIR_TASK_FINAL &&
	       t->work == WEIR_WORK_NONE && !t->triggered && t->asked_cnt == 0 &&
	       t->over_cnt == t->channel_cnt && outputs_taken(t);
}

void
weir_task_step_end(struct weir_task *t)
{
	if (may_close(t))
		close_task(t);
	if (t->state == WEIR_TASK_FINAL && !t->end_said) {
		t->end_said = true;
		weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_END_OF_DATA,
							     .task = t->number });
	}
	if (t->precommit && !t->precommit_said && t->state == WEIR_TASK_FINAL &&
	    (t->sink == NULL || weir_two_phase_is_durable(t->sink))) {
		t->precommit_said = true;
		weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_PRECOMMITTED,
							     .task = t->number });
	}
	if (t->state == WEIR_TASK_CLOSING && !t->finished_said && weir_task_push_outputs(t) &&
	    t->snapshot == 0 && (t->sink == NULL || weir_two_phase_is_committed(t->sink))) {
		t->finished_said = true;
		t->state = WEIR_TASK_FINISHED;
		weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_FINISHED,
							     .task = t->number });
		weir_core_snapshot_check(t->core);
	}
}
