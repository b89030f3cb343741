#include "engine/checkpoint/valve.h"

#include "engine/base/plant.h"
#include "engine/checkpoint/grow.h"

#include <stdlib.h>

void
weir_valve_init(struct weir_valve *v, uint32_t parallelism)
{
	*v = (struct weir_valve){
		.parallelism = parallelism,
		.closed = weir_grow_alloc(parallelism, sizeof(*v->closed)),
	};
}

void
weir_valve_fini(struct weir_valve *v)
{
	for (uint32_t i = 0; i < v->parallelism; i++)
		free(v->closed[i].ids);
	free(v->closed);
	free(v->events);
	*v = (struct weir_valve){ 0 };
}

void
weir_valve_close(struct weir_valve *v, uint64_t id)
{
	if (WEIR_PLANT(VALVE_OPEN))
		return;
	for (uint32_t i = 0; i < v->parallelism; i++) {
		struct weir_valve_closed *c = &v->closed[i];

		WEIR_ASSERT(c->cnt == 0 || c->ids[c->cnt - 1] < id);
		c->ids = weir_grow(c->ids, &c->cap, c->cnt + 1, sizeof(*c->ids));
		c->ids[c->cnt++] = id;
	}
	v->awaited_cnt = v->event_cnt;
	v->lost = false;
	for (uint32_t i = 0; i < v->event_cnt; i++)
		v->events[i].awaited = true;
}

void
weir_valve_forget_snapshot(struct weir_valve *v)
{
	v->awaited_cnt = 0;
	v->lost = false;
	for (uint32_t i = 0; i < v->event_cnt; i++)
		v->events[i].awaited = false;
}

void
weir_valve_open(struct weir_valve *v, uint32_t subtask, uint64_t id)
{
	struct weir_valve_closed *c = &v->closed[subtask];
	uint64_t lower;
	uint32_t at = 0;

	while (at < c->cnt && c->ids[at] != id)
		at++;
	if (at == c->cnt)
		return;
	lower = at > 0 ? c->ids[at - 1] : 0;
	weir_grow_remove(c->ids, &c->cnt, at, sizeof(*c->ids));
	for (uint32_t i = 0; i < v->event_cnt; i++) {
		struct weir_valve_event *e = &v->events[i];

		if (e->subtask != subtask || e->held != id)
			continue;
		e->held = lower;
		e->ready = lower == 0;
	}
}

void
weir_valve_send(struct weir_valve *v, uint32_t subtask, uint64_t event)
{
	const struct weir_valve_closed *c = &v->closed[subtask];
	uint64_t held = c->cnt > 0 ? c->ids[c->cnt - 1] : 0;

	v->events = weir_grow(v->events, &v->event_cap, v->event_cnt + 1, sizeof(*v->events));
	v->events[v->event_cnt++] = (struct weir_valve_event){
		.event = event,
		.subtask = subtask,
		.held = held,
		.ready = held == 0,
	};
}

bool
weir_valve_pop(struct weir_valve *v, struct weir_valve_event *event)
{
	for (uint32_t i = 0; i < v->event_cnt; i++) {
		if (!v->events[i].ready)
			continue;
		v->events[i].ready = false;
		*event = v->events[i];
		return true;
	}
	return false;
}

static void
drop(struct weir_valve *v, uint32_t i, bool lost)
{
	if (v->events[i].awaited) {
		v->awaited_cnt--;
		v->lost |= lost;
	}
	weir_grow_remove(v->events, &v->event_cnt, i, sizeof(*v->events));
}

/* Index of an event on its way, event_cnt if there is none. */
static uint32_t
on_its_way(const struct weir_valve *v, uint64_t event)
{
	uint32_t i = 0;

	while (i < v->event_cnt && (v->events[i].event != event || v->events[i].held != 0))
		i++;
	return i;
}

bool
weir_valve_confirm(struct weir_valve *v, uint64_t event)
{
	uint32_t i = on_its_way(v, event);

	if (i == v->event_cnt)
		return false;
	drop(v, i, false);
	return true;
}

bool
weir_valve_lose(struct weir_valve *v, uint64_t event, uint32_t *subtask)
{
	uint32_t i = on_its_way(v, event);

	if (i == v->event_cnt)
		return false;
	*subtask = v->events[i].subtask;
	drop(v, i, true);
	return true;
}

void
weir_valve_subtask_stopped(struct weir_valve *v, uint32_t subtask)
{
	for (uint32_t i = v->event_cnt; i-- > 0;) {
		if (v->events[i].subtask == subtask)
			drop(v, i, true);
	}
}

void
weir_valve_subtask_reset(struct weir_valve *v, uint32_t subtask)
{
	weir_valve_subtask_stopped(v, subtask);
	v->closed[subtask].cnt = 0;
}

void
weir_valve_reset(struct weir_valve *v, uint64_t id)
{
	for (uint32_t i = 0; i < v->parallelism; i++)
		v->closed[i].cnt = 0;
	v->event_cnt = 0;
	weir_valve_forget_snapshot(v);
	v->asked = id;
}
