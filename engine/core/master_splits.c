/*
 * Operator coordinators: the split enumerators of the sources, one each (K14). What one sends to a
 * subtask goes through the coordinator's valve, so that it stands on the right side of a barrier:
 *
 *   snapshot of the enumerator | trigger to the sources | barrier passed by the subtask
 *   ---- split, hold ----------|XXXXX held XXXXXXXXXXXXXXXXXXXXXXXXX|---- split, hold ---->
 *
 * What was sent before the snapshot is in the mailbox before the trigger; mailboxes lose nothing
 * and keep the order, so it counts as delivered when it is posted.
 */
#include "engine/core/master_priv.h"

#include <stdlib.h>

static uint32_t
enumerator_of(const struct weir_master *m, uint32_t task)
{
	const struct weir_task *t = &m->cfg.rt->tasks[task];
	const uint32_t op = m->cfg.rt->cfg.plan->task[t->task_idx].op[0];
	uint32_t which = 0;

	while (which < m->cfg.enumerator_cnt && m->cfg.enumerators[which].op != op)
		which++;
	WEIR_ASSERT(which < m->cfg.enumerator_cnt);
	return which;
}

/* Before a subtask runs there is no checkpoint, and no valve for it. */
static void
send(struct weir_master *m, uint32_t which, uint32_t task, struct weir_mail mail)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_OPEVENT_SEND };
	struct weir_master_opevent *e;

	if (m->coord == NULL || !m->task[task].running || m->task[task].finished) {
		weir_master_post_task(m, task, mail);
		return;
	}
	e = calloc(1, sizeof(*e));
	WEIR_ASSERT(e != NULL);
	*e = (struct weir_master_opevent){ .next = m->opevents,
					   .number = ++m->opevent_cnt,
					   .mail = mail };
	m->opevents = e;
	ev.opevent.opcoord = which;
	ev.opevent.task = task;
	ev.opevent.event = e->number;
	weir_master_event(m, &ev);
}

void
weir_master_opevent(struct weir_master *m, uint64_t number, uint32_t task)
{
	for (struct weir_master_opevent **at = &m->opevents; *at != NULL; at = &(*at)->next) {
		struct weir_master_opevent *e = *at;

		if (e->number != number)
			continue;
		*at = e->next;
		weir_master_post_task(m, task, e->mail);
		free(e);
		return;
	}
}

void
weir_master_free_opevents(struct weir_master *m)
{
	while (m->opevents != NULL) {
		struct weir_master_opevent *next = m->opevents->next;

		free(m->opevents);
		m->opevents = next;
	}
}

/* C10: splits that nobody reads yet are a backlog. */
static void
say_backlog(struct weir_master *m, uint32_t which)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_BACKLOG };

	if (m->coord == NULL)
		return;
	ev.backlog.opcoord = which;
	ev.backlog.on = weir_enumerator_left(&m->cfg.enumerators[which]);
	if (ev.backlog.on == m->backlogged[which])
		return;
	m->backlogged[which] = ev.backlog.on;
	weir_master_event(m, &ev);
}

static void
send_hold(struct weir_master *m, uint32_t which)
{
	const struct weir_enumerator *e = &m->cfg.enumerators[which];
	const struct weir_plan *plan = m->cfg.rt->cfg.plan;
	const struct weir_plan_task *pt = &plan->task[plan->op[e->op].task];

	for (uint32_t s = 0; s < pt->parallelism; s++)
		send(m, which, pt->first + s,
		     (struct weir_mail){ .kind = WEIR_MAIL_HOLD,
					 .stamp_ns = weir_enumerator_hold(e) });
}

void
weir_master_start_splits(struct weir_master *m)
{
	m->backlogged = calloc(m->cfg.enumerator_cnt + 1, sizeof(*m->backlogged));
	WEIR_ASSERT(m->backlogged != NULL);
	for (uint32_t which = 0; which < m->cfg.enumerator_cnt; which++) {
		send_hold(m, which);
		say_backlog(m, which);
	}
}

void
weir_master_give_split(struct weir_master *m, uint32_t task)
{
	const uint32_t which = enumerator_of(m, task);
	struct weir_split_given *given = weir_enumerator_next(&m->cfg.enumerators[which]);

	if (given == NULL) {
		send(m, which, task, (struct weir_mail){ .kind = WEIR_MAIL_NO_MORE });
		return;
	}
	/* The reader of the split holds its time from now on; then the others may go on to the
	 * next. */
	send(m, which, task, (struct weir_mail){ .kind = WEIR_MAIL_SPLIT, .ptr = given });
	send_hold(m, which);
	say_backlog(m, which);
}

/* Its snapshot for checkpoint id; what it hands out from now on is not in it. */
void
weir_master_snapshot_splits(struct weir_master *m, uint64_t id, uint32_t which)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_OPCOORD_ANSWER };
	struct weir_master_opcoord *o = &weir_master_find(m, id)->opcoord[which];

	o->bytes = weir_enumerator_encode(&m->cfg.enumerators[which], &o->len);
	ev.answer.id = id;
	ev.answer.which = which;
	ev.answer.result = o->bytes != NULL ? WEIR_COORD_OK : WEIR_COORD_FAILED;
	weir_master_event(m, &ev);
}

void
weir_master_barrier_passed(struct weir_master *m, uint32_t task, uint64_t id)
{
	struct weir_coord_event ev = { .kind = WEIR_COORD_BARRIER };

	if (m->coord == NULL)
		return;
	ev.message.id = id;
	ev.message.from.task = task;
	weir_master_event(m, &ev);
}
