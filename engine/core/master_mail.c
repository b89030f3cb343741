#include "engine/core/master_priv.h"

#include "engine/base/plant.h"
#include <stdlib.h>
#include <string.h>

void
weir_master_post(struct weir_master *m, uint32_t core, const struct weir_mail *mail)
{
	struct weir_runtime *rt = m->cfg.rt;

	if (m->backlog_cnt == 0 && weir_mailbox_post(&rt->to_core[core], mail))
		return;
	if (m->backlog_cnt == m->backlog_cap) {
		m->backlog_cap = m->backlog_cap == 0 ? 64 : m->backlog_cap * 2;
		m->backlog = realloc(m->backlog, m->backlog_cap * sizeof(*m->backlog));
		m->backlog_core =
			realloc(m->backlog_core, m->backlog_cap * sizeof(*m->backlog_core));
		WEIR_ASSERT(m->backlog != NULL);
		WEIR_ASSERT(m->backlog_core != NULL);
	}
	m->backlog[m->backlog_cnt] = *mail;
	m->backlog_core[m->backlog_cnt++] = core;
}

void
weir_master_post_task(struct weir_master *m, uint32_t task, struct weir_mail mail)
{
	mail.task = task;
	weir_master_post(m, m->cfg.rt->tasks[task].core->idx, &mail);
}

bool
weir_master_flush_backlog(struct weir_master *m)
{
	uint32_t done = 0;

	while (done < m->backlog_cnt &&
	       weir_mailbox_post(&m->cfg.rt->to_core[m->backlog_core[done]], &m->backlog[done]))
		done++;
	if (done == 0)
		return false;
	m->backlog_cnt -= done;
	memmove(m->backlog, m->backlog + done, m->backlog_cnt * sizeof(*m->backlog));
	memmove(m->backlog_core, m->backlog_core + done, m->backlog_cnt * sizeof(*m->backlog_core));
	return true;
}

/* ---- what cores say ---- */

static void
task_state(struct weir_master *m, uint32_t task, enum weir_coord_task_state state)
{
	const struct weir_attempt attempt = { .task = task };
	struct weir_coord_event ev = { .kind = WEIR_COORD_TASK_STATE };

	if (m->coord == NULL)
		return;
	ev.tasks.list = &attempt;
	ev.tasks.cnt = 1;
	ev.tasks.state = state;
	weir_master_event(m, &ev);
}

static void
take_file(struct weir_master *m, struct weir_core_file *f)
{
	struct weir_master_checkpoint *c = weir_master_find(m, f->checkpoint);
	const uint64_t number = weir_master_add_file(m, f->name, f->bytes);

	m->file[number].dir = weir_master_savepoint_dir(m, f->checkpoint);
	weir_master_hold_file(m, number, f);
	if (c != NULL) {
		c->file[f->core] = number + 1;
		weir_master_segments_free(c->segments[f->core]);
		c->segments[f->core] = weir_master_segments_new(m, f, number);
		/* What a core names was complete: this control thread has told it so. */
		WEIR_ASSERT(c->segments[f->core] != NULL);
		c->bytes += f->bytes;
		c->full_bytes += f->bytes + c->segments[f->core]->live_bytes;
	} else {
		/* Its checkpoint was given up meanwhile: nothing will ever name it. */
		weir_master_delete(m, 0, &number, 1, false);
	}
	/* F2: pairs with F1; the list is copied, the core may begin another file. */
	atomic_store_explicit(&f->busy, false, memory_order_release);
}

/* A file that will never be whole: named by nobody, it would only fill the disk. */
static void
delete_left(struct weir_master *m, uint32_t core, uint64_t id)
{
	const struct weir_data_name name = { .attempt = m->cfg.rt->cfg.attempt,
					     .checkpoint_id = id,
					     .core = core };
	char text[WEIR_DATA_NAME_MAX];
	uint64_t number;

	if (WEIR_PLANT(FILE_LEFT))
		return;
	weir_layout_data_name(text, &name);
	number = weir_master_add_file(m, text, 0);
	m->file[number].dir = weir_master_savepoint_dir(m, id);
	weir_master_delete(m, 0, &number, 1, false);
}

struct weir_task_ack *
weir_master_ack_new(const struct weir_master *m, uint32_t task)
{
	const struct weir_task *t = &m->cfg.rt->tasks[task];
	const uint32_t head = m->cfg.rt->cfg.plan->task[t->task_idx].op[0];
	struct weir_task_ack *a = calloc(1, sizeof(*a));
	uint32_t splits = 0;

	WEIR_ASSERT(a != NULL);
	for (uint32_t e = 0; e < m->cfg.enumerator_cnt; e++)
		if (m->cfg.enumerators[e].op == head)
			splits = m->cfg.enumerators[e].list.cnt;
	a->finished = calloc(splits + 1, sizeof(*a->finished));
	a->current =
		calloc((t->readers != NULL ? t->readers->reader_cnt : 0) + 1u, sizeof(*a->current));
	a->processed = calloc(t->channel_cnt + 1, sizeof(*a->processed));
	a->channel_watermark_ns = calloc(t->channel_cnt + 1, sizeof(int64_t));
	a->channel_idle = calloc(t->channel_cnt + 1, sizeof(bool));
	a->produced = calloc(t->port_cnt + 1, sizeof(*a->produced));
	a->frames = calloc(weir_task_capture_max(t) + 1, sizeof(*a->frames));
	WEIR_ASSERT(a->frames != NULL);
	WEIR_ASSERT(a->finished != NULL);
	WEIR_ASSERT(a->current != NULL);
	WEIR_ASSERT(a->processed != NULL);
	WEIR_ASSERT(a->channel_watermark_ns != NULL);
	WEIR_ASSERT(a->channel_idle != NULL);
	WEIR_ASSERT(a->produced != NULL);
	return a;
}

void
weir_master_ack_free(struct weir_task_ack *a)
{
	if (a == NULL)
		return;
	free(a->finished);
	free(a->current);
	free(a->processed);
	free(a->channel_watermark_ns);
	free(a->channel_idle);
	free(a->produced);
	free(a->frames);
	free(a);
}

static void
copy_ack(struct weir_task_ack *to, const struct weir_task_ack *from, uint32_t channels,
	 uint32_t ports)
{
	uint32_t *finished = to->finished;
	struct weir_ack_split *current = to->current;
	uint64_t *processed = to->processed;
	int64_t *wm = to->channel_watermark_ns;
	bool *idle = to->channel_idle;
	uint64_t *produced = to->produced;
	struct weir_ack_frame *frames = to->frames;

	memcpy(to, from, sizeof(*to));
	to->finished = finished;
	to->current = current;
	to->processed = processed;
	to->channel_watermark_ns = wm;
	to->channel_idle = idle;
	to->produced = produced;
	to->frames = frames;
	if (from->frame_cnt > 0)
		memcpy(frames, from->frames, from->frame_cnt * sizeof(*frames));
	memcpy(finished, from->finished, from->finished_cnt * sizeof(*finished));
	memcpy(current, from->current, from->current_cnt * sizeof(*current));
	memcpy(processed, from->processed, channels * sizeof(*processed));
	memcpy(wm, from->channel_watermark_ns, channels * sizeof(*wm));
	memcpy(idle, from->channel_idle, channels * sizeof(*idle));
	memcpy(produced, from->produced, ports * sizeof(*produced));
}

static void
take_ack(struct weir_master *m, uint32_t task, struct weir_task_ack *a)
{
	struct weir_task *t = &m->cfg.rt->tasks[task];
	struct weir_master_checkpoint *c = weir_master_find(m, a->checkpoint);
	struct weir_coord_event ev = { .kind = WEIR_COORD_ACK };
	struct weir_part *parts = NULL;

	ev.ack.id = a->checkpoint;
	ev.ack.from.task = task;
	ev.ack.operators_finished = a->ended;
	if (c != NULL) {
		/* Each checkpoint has its own, since several may be under way; a task that finishes
		 * leaves its last one to those that come after. */
		if (c->acks[task] == NULL) {
			c->acks[task] = weir_master_ack_new(m, task);
			c->frames += a->frame_cnt;
			c->persisted_bytes += a->persisted_bytes;
		}
		copy_ack(c->acks[task], a, t->channel_cnt, t->port_cnt);
		copy_ack(m->task[task].ack, a, t->channel_cnt, t->port_cnt);
		m->task[task].acked = true;
		c->last = *a;
		if (a->has_file && c->file[t->core->idx] != 0) {
			c->file_told[t->core->idx] = true;
			parts = weir_master_parts(m, c->segments[t->core->idx], &ev.ack.part_cnt);
			ev.ack.parts = parts;
		}
	}
	/* B2: pairs with B1; all is copied, the core may fill the slot again. */
	atomic_store_explicit(&a->busy, false, memory_order_release);
	weir_master_event(m, &ev);
	free(parts);
}

static enum weir_reason
reason_of(uint32_t why)
{
	if (why == WEIR_MAIL_DECLINE_CLOSING)
		return WEIR_REASON_CHECKPOINT_DECLINED_TASK_CLOSING;
	if (why == WEIR_MAIL_DECLINE_CAPTURE)
		return WEIR_REASON_CHECKPOINT_DECLINED;
	switch ((enum weir_handler_reason)why) {
	case WEIR_ABORT_SUBSUMED:
	case WEIR_ABORT_SUBSUMED_AT_START:
		return WEIR_REASON_CHECKPOINT_DECLINED_SUBSUMED;
	case WEIR_ABORT_CANCELLED:
		return WEIR_REASON_CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER;
	case WEIR_ABORT_INPUT_END:
		return WEIR_REASON_CHECKPOINT_DECLINED_INPUT_END_OF_STREAM;
	}
	return WEIR_REASON_CHECKPOINT_DECLINED;
}

static void
decline(struct weir_master *m, const struct weir_mail *mail, enum weir_reason reason)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_DECLINE, .reason = reason };

	ev.message.id = mail->id;
	ev.message.from.task = mail->task;
	weir_master_event(m, &ev);
}

static void
task_failed(struct weir_master *m, const struct weir_mail *mail)
{
	task_state(m, mail->task, WEIR_COORD_TASK_FAILED);
	weir_master_fail(m, mail->ptr);
}

static void
take_one(struct weir_master *m, const struct weir_mail *mail)
{
	struct weir_master_task *t = &m->task[mail->task];

	switch ((enum weir_mail_kind)mail->kind) {
	case WEIR_MAIL_RUNNING:
		t->running = true;
		m->running_cnt++;
		task_state(m, mail->task, WEIR_COORD_TASK_RUNNING);
		break;
	case WEIR_MAIL_WANT_SPLIT:
		weir_master_give_split(m, mail->task);
		break;
	case WEIR_MAIL_FILE:
		take_file(m, mail->ptr);
		break;
	case WEIR_MAIL_BARRIER:
		weir_master_barrier_passed(m, mail->task, mail->id);
		break;
	case WEIR_MAIL_FILE_LEFT:
		delete_left(m, mail->flags, mail->id);
		break;
	case WEIR_MAIL_SETTLED:
		m->settled_cnt++;
		break;
	case WEIR_MAIL_ACK:
		take_ack(m, mail->task, mail->ptr);
		break;
	case WEIR_MAIL_DECLINE:
		decline(m, mail, reason_of(mail->flags));
		break;
	case WEIR_MAIL_SNAPSHOT_FAILED:
		m->decline = *(const struct weir_error *)mail->ptr;
		decline(m, mail, WEIR_REASON_CHECKPOINT_ASYNC_EXCEPTION);
		break;
	case WEIR_MAIL_END_OF_DATA:
		m->end_cnt++;
		break;
	case WEIR_MAIL_PRECOMMITTED:
		m->precommitted_cnt++;
		break;
	case WEIR_MAIL_FINISHED:
		t->finished = true;
		m->finished_cnt++;
		task_state(m, mail->task, WEIR_COORD_TASK_FINISHED);
		break;
	case WEIR_MAIL_FAILED:
		task_failed(m, mail);
		break;
	case WEIR_MAIL_WARNING:
		if (m->cfg.warning != NULL)
			m->cfg.warning(m->cfg.arg, mail->ptr);
		break;
	default:
		WEIR_ASSERT(!"a message that the master knows");
	}
}

bool
weir_master_take_mail(struct weir_master *m)
{
	struct weir_mail mail;
	bool any = false;

	for (uint32_t c = 0; c < m->cfg.rt->cfg.plan->core_cnt; c++)
		while (weir_mailbox_take(&m->cfg.rt->from_core[c], &mail)) {
			take_one(m, &mail);
			any = true;
		}
	return any;
}
