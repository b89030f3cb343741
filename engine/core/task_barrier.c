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

/* T19: decline, then the marker, so that nobody downstream waits. */
static void
decline(struct weir_task *t, const struct weir_handler_update *x)
{
	weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_DECLINE,
						     .task = t->number,
						     .id = x->id,
						     .flags = x->reason });
	if (t->snapshot == x->id)
		weir_task_snapshot_abandon(t);
	weir_task_send_cancel(t, x->id);
}

/* What was kept of an id is given up, and with it what else the snapshot has. */
static void
discard(struct weir_task *t, uint64_t id)
{
	if (t->snapshot == id)
		weir_task_snapshot_abandon(t);
	weir_task_capture_end(t, id);
}

/* All barriers of an unaligned checkpoint are in. */
static void
captured(struct weir_task *t, const struct weir_handler_update *x)
{
	t->done = x->id;
	t->done_metrics = x->metrics;
	t->done_ns = t->core->clock();
	if (t->snapshot == x->id)
		t->input_open = false;
	t->capture_full = false;
}

static void
one_update(struct weir_task *t, const struct weir_handler_update *x)
{
	switch (x->kind) {
	case WEIR_UPDATE_TRIGGER:
		WEIR_ASSERT(!t->triggered);
		t->trigger = *x;
		t->triggered = true;
		t->triggered_ns = t->core->clock();
		break;
	case WEIR_UPDATE_DONE:
		captured(t, x);
		break;
	case WEIR_UPDATE_ABORT:
		decline(t, x);
		break;
	case WEIR_UPDATE_DISCARD:
		discard(t, x->id);
		break;
	case WEIR_UPDATE_SUPPRESS:
		weir_task_send_cancel(t, x->id); /* T20 */
		break;
	case WEIR_UPDATE_OUTPUT_TIMEOUT:
		weir_task_each_overdraft(t, x->id, weir_overdraft_timeout); /* T10 */
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

/* Do what the barrier handler says (the gate's part is done by weir_input). */
void
weir_task_act(struct weir_task *t)
{
	const struct weir_handler_updates u = weir_input_updates(t->input);

	for (uint32_t i = 0; i < u.cnt && t->state != WEIR_TASK_FAILED; i++)
		one_update(t, &u.list[i]);
	if (t->triggered && weir_task_may_flush(t) && t->state != WEIR_TASK_FAILED)
		weir_task_flush_start(t);
}

/*
 * Barriers that overtake data, announcements and timers, whatever the outputs hold and whatever the
 * task is at (T26, T27); a snapshot that is due is taken between two batches. While one is due,
 * nothing more is looked at.
 */
bool
weir_task_poll_events(struct weir_task *t)
{
	bool any = false;

	WEIR_ASSERT(t->burst_at == t->burst.cnt);
	while (!t->triggered && t->state != WEIR_TASK_FAILED &&
	       weir_input_poll_priority(t->input, &t->burst, t->host.now_ns) > 0) {
		weir_task_act(t);
		any = true;
	}
	t->burst.cnt = 0;
	t->burst_at = 0;
	if (!t->triggered && weir_input_due(t->input) <= t->host.now_ns) {
		weir_input_timers(t->input, t->host.now_ns);
		weir_task_act(t);
	}
	return any;
}

/* A source, or a task whose upstream has finished (T31): not while something is under way. */
void
weir_task_trigger(struct weir_task *t, const struct weir_mail *m, int64_t now_ns)
{
	const struct weir_input_trigger trigger = { .id = m->id,
						    .barrier = m->barrier,
						    .stamp_ns = m->stamp_ns,
						    .timeout_ns = m->timeout_ns };

	weir_input_trigger(t->input, &trigger, now_ns);
	weir_task_act(t);
}
