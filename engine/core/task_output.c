/* A task's outputs: frames that are open, items that lanes had no room for, events. */
#include "engine/core/task_priv.h"

#define EVENTS_OF_ENDS 2u /* slots kept for the end of data and the end of partition */
/* Items that an output may hold while a barrier waits; of WEIR_OVERDRAFT_HELD. */
#define OVERDRAW 64u

bool
weir_task_push_outputs(struct weir_task *t)
{
	bool all = true;

	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		all &= weir_emitter_push(&t->emitters[e]);
	return all;
}

/* Send everything that is open. */
static void
flush(struct weir_task *t)
{
	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		weir_emitter_flush(&t->emitters[e]);
}

/* Slots that no channel holds any more. */
static uint32_t
free_events(const struct weir_task *t)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < WEIR_TASK_EVENTS; i++)
		/* E2: pairs with G1; only counts, the slot is taken by E1. */
		cnt += atomic_load_explicit(&t->events[i].refs, memory_order_relaxed) == 0;
	return cnt;
}

static struct weir_event *
take_event(struct weir_task *t)
{
	for (uint32_t i = 0; i < WEIR_TASK_EVENTS; i++) {
		struct weir_event *e = &t->events[t->event_next];

		t->event_next = (t->event_next + 1) % WEIR_TASK_EVENTS;
		/* E1: pairs with G1 of the consumer that let go last; the slot is not read any
		 * more. */
		if (atomic_load_explicit(&e->refs, memory_order_acquire) == 0)
			return e;
	}
	return NULL;
}

static bool
overtakes(const struct weir_port *port)
{
	return port->overdraft.config.events != NULL;
}

/* Send a slot's event on the ports that are (not) overtaken. */
static void
send_slot(struct weir_task *t, enum weir_item_kind kind, const struct weir_event *event, bool all,
	  bool unaligned)
{
	struct weir_event *slot;
	uint32_t refs = 0;

	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		for (uint32_t p = 0; p < t->emitters[e].port_cnt; p++)
			refs += all || overtakes(&t->emitters[e].ports[p]) == unaligned;
	if (refs == 0)
		return;
	slot = take_event(t);
	/* Barriers wait for room, markers are put off, each end is sent once. */
	WEIR_ASSERT(slot != NULL);
	slot->checkpoint = event->checkpoint;
	slot->stamp_ns = event->stamp_ns;
	slot->timeout_ns = event->timeout_ns;
	slot->barrier = event->barrier;
	slot->flags = event->flags;
	/* The lane's push publishes the slot. */
	atomic_store_explicit(&slot->refs, refs, memory_order_relaxed);
	for (uint32_t e = 0; e < t->emitter_cnt; e++)
		for (uint32_t p = 0; p < t->emitters[e].port_cnt; p++)
			if (all || overtakes(&t->emitters[e].ports[p]) == unaligned)
				weir_port_event(&t->emitters[e].ports[p],
						t->event_base + (uint32_t)(slot - t->events), kind);
}

void
weir_task_send_event(struct weir_task *t, enum weir_item_kind kind, const struct weir_event *event)
{
	struct weir_event forced = { .checkpoint = event->checkpoint,
				     .stamp_ns = event->stamp_ns,
				     .timeout_ns = event->timeout_ns,
				     .barrier = WEIR_BARRIER_ALIGNED,
				     .flags = event->flags | WEIR_EVENT_OVERTAKES };

	if (t->port_cnt == 0)
		return;
	flush(t);
	if (kind != WEIR_ITEM_BARRIER || event->barrier != WEIR_BARRIER_UNALIGNED) {
		send_slot(t, kind, event, true, false);
		return;
	}
	/* T25: forced-aligned edges get it in its place, and say what it is elsewhere. */
	send_slot(t, kind, event, false, true);
	send_slot(t, kind, &forced, false, false);
}

bool
weir_task_full(struct weir_operator_host *host)
{
	struct weir_task *t = (struct weir_task *)host;

	/* T27: a barrier that waits for the work under way gets some room on credit. */
	for (uint32_t e = 0; e < t->emitter_cnt; e++) {
		const uint32_t held = weir_emitter_held(&t->emitters[e]);

		if (held > 0 && (!t->triggered || held > OVERDRAW))
			return true;
	}
	return t->sink != NULL && !weir_two_phase_ready(t->sink, host->now_ns);
}

bool
weir_task_enough(struct weir_operator_host *host)
{
	const struct weir_task *t = (const struct weir_task *)host;

	return (t->work != WEIR_WORK_NONE && t->work != WEIR_WORK_FLUSH &&
		host->emitted >= host->slice_rows) ||
	       weir_task_full(host);
}

bool
weir_task_pay_cancel(struct weir_task *t)
{
	const struct weir_event cancel = { .checkpoint = t->cancel_owed };

	if (t->cancel_owed != 0 && free_events(t) <= EVENTS_OF_ENDS)
		return false;
	if (t->cancel_owed != 0)
		weir_task_send_event(t, WEIR_ITEM_CANCEL, &cancel);
	t->cancel_owed = 0;
	return free_events(t) > EVENTS_OF_ENDS + 1;
}

void
weir_task_send_cancel(struct weir_task *t, uint64_t id)
{
	/* T15: the marker of an id ends every older one too. */
	if (id > t->cancel_owed)
		t->cancel_owed = id;
	(void)weir_task_pay_cancel(t);
}
