#include "engine/checkpoint/coordinator_priv.h"

bool
weir_coord_of_task(const struct weir_coordinator *c, uint32_t which, uint32_t task,
		   uint32_t *subtask)
{
	uint32_t vertex = c->cfg.opcoord_vertex[which];

	if (task >= c->task_cnt || c->task_vertex[task] != vertex)
		return false;
	*subtask = task - c->vertex_first[vertex];
	return true;
}

/* Send what is ready; an automatic confirmation may let a waiting snapshot go on. */
static void
send_ready(struct weir_coordinator *c, uint32_t which)
{
	uint32_t first = c->vertex_first[c->cfg.opcoord_vertex[which]];
	struct weir_valve *v = &c->valves[which];
	struct weir_valve_event event;

	while (weir_valve_pop(v, &event)) {
		struct weir_coord_update *u = weir_coord_emit(c, WEIR_COORD_DO_OPEVENT, 0);
		uint32_t task = first + event.subtask;

		u->which = which;
		u->opevent.event = event.event;
		u->opevent.to = (struct weir_attempt){ task, c->attempts[task] };
		if (weir_coord_asks(c, WEIR_COORD_STAGE_OPEVENT))
			continue;
		(void)weir_valve_confirm(v, event.event);
		/* K14: a task that stopped lost others: first its step aborts what it must. */
		if (!v->lost)
			weir_coord_prep_opcoord_check(c, which);
	}
}

void
weir_coord_open_valves(struct weir_coordinator *c, uint32_t which, uint64_t id)
{
	struct weir_valve *v = &c->valves[which];

	for (uint32_t i = 0; i < v->parallelism; i++) {
		weir_valve_open(v, i, id);
		send_ready(c, which);
	}
}

static bool
send(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	uint32_t which = e->opevent.opcoord;
	uint32_t subtask;

	if (!weir_coord_of_task(c, which, e->opevent.task, &subtask) ||
	    c->states[e->opevent.task] != WEIR_COORD_TASK_RUNNING)
		return false;
	weir_valve_send(&c->valves[which], subtask, e->opevent.event);
	send_ready(c, which);
	return true;
}

static bool
acked(struct weir_coordinator *c, uint64_t event)
{
	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++) {
		if (!weir_valve_confirm(&c->valves[i], event))
			continue;
		weir_coord_prep_opcoord_check(c, i);
		return true;
	}
	return false;
}

/* The subtask would go on without something it had been told: it has to fail. */
static bool
lost(struct weir_coordinator *c, uint64_t event)
{
	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++) {
		struct weir_coord_update *u;
		uint32_t subtask, task;

		if (!weir_valve_lose(&c->valves[i], event, &subtask))
			continue;
		task = c->vertex_first[c->cfg.opcoord_vertex[i]] + subtask;
		u = weir_coord_emit(c, WEIR_COORD_DO_FAIL_TASK, 0);
		u->fail.has_task = true;
		u->fail.task = (struct weir_attempt){ task, c->attempts[task] };
		weir_coord_prep_opcoord_check(c, i);
		return true;
	}
	return false;
}

bool
weir_coord_on_opevent(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	if (e->kind == WEIR_COORD_OPEVENT_SEND)
		return e->opevent.opcoord < c->cfg.opcoord_cnt && send(c, e);
	if (e->kind == WEIR_COORD_OPEVENT_ACKED)
		return acked(c, e->opevent.event);
	return lost(c, e->opevent.event);
}

bool
weir_coord_on_barrier(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	uint32_t task = e->message.from.task;
	uint32_t subtask;
	bool known = false;

	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++) {
		if (weir_coord_of_task(c, i, task, &subtask))
			known |= e->message.id <= c->valves[i].asked;
	}
	for (uint32_t i = 0; known && i < c->cfg.opcoord_cnt; i++) {
		if (!weir_coord_of_task(c, i, task, &subtask))
			continue;
		weir_valve_open(&c->valves[i], subtask, e->message.id);
		send_ready(c, i);
	}
	return known;
}

void
weir_coord_valves_stopped(struct weir_coordinator *c, uint32_t task)
{
	uint32_t subtask;

	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++) {
		if (weir_coord_of_task(c, i, task, &subtask))
			weir_valve_subtask_stopped(&c->valves[i], subtask);
	}
}

void
weir_coord_valves_check(struct weir_coordinator *c)
{
	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++)
		weir_coord_prep_opcoord_check(c, i);
}
