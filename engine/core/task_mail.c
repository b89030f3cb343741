/* Messages of the control thread. */
#include "engine/core/task_priv.h"

#include "engine/base/plant.h"
#include "engine/core/core.h"

#include <string.h>

/* A checkpoint that came too late for a task which is through. */
static void
decline_closing(struct weir_task *t, uint64_t id)
{
	weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_DECLINE,
						     .task = t->number,
						     .id = id,
						     .flags = WEIR_MAIL_DECLINE_CLOSING });
}

/* Keep a trigger until nothing is under way. */
static void
ask(struct weir_task *t, const struct weir_mail *m)
{
	if (t->state >= WEIR_TASK_CLOSING || t->asked_cnt == WEIR_TASK_ASKED) {
		decline_closing(t, m->id);
		return;
	}
	t->asked[t->asked_cnt++] = *m;
}

/* T20: whoever waits downstream for this task's barrier gets the marker instead. */
static void
drop_asked(struct weir_task *t, uint64_t id)
{
	for (uint32_t i = 0; i < t->asked_cnt; i++)
		if (t->asked[i].id == id) {
			t->asked_cnt--;
			memmove(&t->asked[i], &t->asked[i + 1],
				(t->asked_cnt - i) * sizeof(t->asked[0]));
			weir_task_send_cancel(t, id);
			return;
		}
}

/* The coordinator has given a checkpoint up (T19, T20, T24). */
static void
abort_id(struct weir_task *t, uint64_t id, int64_t now_ns)
{
	drop_asked(t, id);
	/* Before its snapshot was taken: markers instead of barriers. */
	if (t->triggered && t->trigger.id == id) {
		if (t->work == WEIR_WORK_FLUSH)
			weir_task_flush_over(t);
		t->triggered = false;
		weir_task_send_cancel(t, id);
	}
	if (t->core->snap_id == id)
		weir_core_snapshot_abort(t->core);
	if (t->snapshot == id)
		weir_task_snapshot_abandon(t);
	weir_input_notice(t->input, id, now_ns);
	weir_task_act(t);
	weir_task_capture_end(t, id);
}

/* K8: of these the task was told, or the message was lost: then this one tells. */
static void
forget_below(struct weir_task *t, uint64_t id, int64_t now_ns)
{
	if (id > t->over_below)
		t->over_below = id;
	while (t->asked_cnt > 0 && t->asked[0].id < id)
		abort_id(t, t->asked[0].id, now_ns);
	if (t->triggered && t->trigger.id < id)
		abort_id(t, t->trigger.id, now_ns);
	if (t->snapshot != 0 && t->snapshot < id)
		abort_id(t, t->snapshot, now_ns);
	if (t->core->snap_id < id)
		weir_core_snapshot_abort(t->core);
	/* S4: a stop that was given up; of one that is complete no message says that it is over. */
	if (t->hold != 0 && t->hold < id && !WEIR_PLANT(HOLD_STAYS))
		weir_task_release(t, t->hold);
}

void
weir_task_mail(struct weir_task *t, const struct weir_mail *m, int64_t now_ns)
{
	t->host.now_ns = now_ns;
	if (!WEIR_PLANT(ABORT_LOST))
		forget_below(t, m->over_below, now_ns);
	if (t->sink != NULL)
		weir_two_phase_over(t->sink, m->over_below);
	switch ((enum weir_mail_kind)m->kind) {
	case WEIR_MAIL_TRIGGER:
		ask(t, m);
		break;
	case WEIR_MAIL_COMPLETE:
		if (t->sink != NULL)
			weir_two_phase_commit(t->sink, m->id);
		if (t->core->backend != NULL)
			weir_backend_completed(t->core->backend, m->id);
		if (t->state == WEIR_TASK_FINAL && t->final_snapshot != 0 &&
		    m->id >= t->final_snapshot)
			t->covered = true;
		weir_task_suspend(t, m->id);
		break;
	case WEIR_MAIL_ABORT:
		weir_task_release(t, m->id);
		abort_id(t, m->id, now_ns);
		if (t->sink != NULL)
			weir_two_phase_abort(t->sink, m->id);
		break;
	case WEIR_MAIL_SPLIT:
		weir_readers_give(t->readers, m->ptr);
		break;
	case WEIR_MAIL_HOLD:
		if (m->stamp_ns > t->readers->hold_ns)
			t->readers->hold_ns = m->stamp_ns;
		break;
	case WEIR_MAIL_NO_MORE:
		t->readers->no_more = true;
		break;
	case WEIR_MAIL_PRECOMMIT:
		t->precommit = true;
		if (t->sink != NULL)
			weir_two_phase_end(t->sink);
		break;
	case WEIR_MAIL_COMMIT:
		if (t->sink != NULL)
			weir_two_phase_commit(t->sink, UINT64_MAX); /* those of savepoints too */
		t->covered = true;
		break;
	default:
		WEIR_ASSERT(!"a message that a task knows");
	}
}
