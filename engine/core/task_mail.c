/* Messages of the control thread. */
#include "engine/core/task_priv.h"

#include "engine/core/core.h"

/* A checkpoint that came too late for a task which is through. */
static void
decline_closing(struct weir_task *t, uint64_t id)
{
	weir_core_post(t->core, &(struct weir_mail){ .kind = WEIR_MAIL_DECLINE,
						     .task = t->number,
						     .id = id,
						     .flags = WEIR_MAIL_DECLINE_CLOSING });
}

/* The checkpoint was given up before its snapshot was taken: markers instead of barriers (T20). */
static void
drop_flush(struct weir_task *t)
{
	t->work = WEIR_WORK_NONE;
	weir_task_send_cancel(t, t->trigger.id);
}

void
weir_task_mail(struct weir_task *t, const struct weir_mail *m, int64_t now_ns)
{
	t->host.now_ns = now_ns;
	switch ((enum weir_mail_kind)m->kind) {
	case WEIR_MAIL_TRIGGER:
		if (t->state >= WEIR_TASK_CLOSING) {
			decline_closing(t, m->id);
			break;
		}
		t->asked = true;
		t->asked_mail = *m;
		break;
	case WEIR_MAIL_COMPLETE:
		if (t->sink != NULL)
			weir_text_sink_commit(t->sink, m->id);
		if (t->state == WEIR_TASK_FINAL && t->final_snapshot != 0 &&
		    m->id >= t->final_snapshot)
			t->covered = true;
		break;
	case WEIR_MAIL_ABORT:
		/* T20: whoever waits downstream for this task's barrier gets the marker instead. */
		if (t->asked && t->asked_mail.id == m->id) {
			t->asked = false;
			weir_task_send_cancel(t, m->id);
		}
		if (t->work == WEIR_WORK_FLUSH && t->trigger.id == m->id)
			drop_flush(t);
		if (t->snapshot == m->id)
			weir_task_snapshot_abandon(t);
		weir_input_notice(t->input, m->id, now_ns);
		weir_task_act(t);
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
			t->acks[0].pending_cnt =
				weir_text_sink_snapshot(t->sink, 0, t->acks[0].pending);
		break;
	case WEIR_MAIL_COMMIT:
		if (t->sink != NULL)
			weir_text_sink_commit(t->sink, 0);
		t->covered = true;
		break;
	default:
		WEIR_ASSERT(!"a message that a task knows");
	}
}
