/* What a task does with barriers: it carries out what the handler of its inputs says. */
#include "engine/core/task_priv.h"

#include "engine/core/core.h"

/* R1: all restored frames are through; the producers' lanes need nothing in front any more. */
static void
recovered(struct weir_task *t)
{
	for (uint32_t c = 0; c < t->channel_cnt; c++) {
		struct weir_task_input *in = &t->channels[c];

		if (in->real == NULL || in->recovered == NULL)
			continue;
		WEIR_ASSERT(weir_recovered_is_over(in->recovered));
		weir_gate_replace(weir_input_gate(t->input), c, in->real);
		in->recovered = NULL;
	}
}

/* Do what the barrier handler says (the gate's part is done by weir_input). */
void
weir_task_act(struct weir_task *t)
{
	const struct weir_handler_updates u = weir_input_updates(t->input);
	bool triggered = false;

	for (uint32_t i = 0; i < u.cnt && t->state != WEIR_TASK_FAILED; i++) {
		const struct weir_handler_update *x = &u.list[i];

		switch (x->kind) {
		case WEIR_UPDATE_TRIGGER:
			WEIR_ASSERT(!triggered);
			t->trigger = *x;
			triggered = true;
			break;
		case WEIR_UPDATE_ABORT:
			/* T19: decline, then the marker, so that nobody downstream waits. */
			weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_DECLINE,
								     .task = t->number,
								     .id = x->id,
								     .flags = x->reason });
			weir_task_send_cancel(t, x->id);
			break;
		case WEIR_UPDATE_SUPPRESS:
			weir_task_send_cancel(t, x->id); /* T20 */
			break;
		case WEIR_UPDATE_RECOVERED:
			recovered(t);
			break;
		case WEIR_UPDATE_FAULT:
			weir_task_fail(t, weir_input_fault(t->input));
			break;
		default:
			break;
		}
	}
	if (triggered && t->state != WEIR_TASK_FAILED) {
		t->triggered_ns = t->core->clock();
		weir_task_work_start(t, WEIR_WORK_FLUSH);
	}
}

/* A source, or a task whose upstream has finished (T31): not while something is under way. */
void
weir_task_trigger(struct weir_task *t, const struct weir_mail *m, int64_t now_ns)
{
	const struct weir_input_trigger trigger = { .id = m->id,
						    .barrier = m->flags,
						    .stamp_ns = m->stamp_ns,
						    .timeout_ns = WEIR_HANDLER_NEVER_NS };

	weir_input_trigger(t->input, &trigger, now_ns);
	weir_task_act(t);
}
