/* Queries: what the coordinator knows, read from its private state. */

#include "tests/scenarios/coord.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void
item(struct scn_text *t, const char *separator)
{
	if (t->len > 0)
		scn_text_add(t, "%s", separator);
}

/* ---- lists of checkpoints ----------------------------------------------------------------------
 */

static void
missing(const struct coord_scenario *s, const struct weir_pending *p, struct scn_text *t)
{
	const char *comma = "";

	for (uint32_t i = 0; i < p->plan.wait_cnt; i++) {
		uint32_t task = p->plan.wait[i];

		if (p->tasks[task].kind != WEIR_TASK_SNAPSHOT_MISSING)
			continue;
		scn_text_add(t, "%s", comma);
		coord_print_task(s, t, (struct weir_attempt){ task, p->attempts[task] });
		comma = ",";
	}
	for (uint32_t i = 0; i < s->cfg.opcoord_cnt; i++) {
		if (!p->opcoord_done[i])
			scn_text_add(t, "%scoord:%s", comma, s->opcoord_names[i]);
		comma = p->opcoord_done[i] ? comma : ",";
	}
	for (uint32_t i = 0; i < s->cfg.hook_cnt; i++) {
		if (!p->hook_done[i])
			scn_text_add(t, "%shook:%s", comma, s->hook_names[i]);
		comma = p->hook_done[i] ? comma : ",";
	}
}

static void
query_pending(struct coord_scenario *s, struct scn_text *t)
{
	for (uint32_t i = 0; i < s->c->pending_cnt; i++) {
		const struct weir_pending *p = s->c->pendings[i];

		item(t, " ");
		scn_text_add(t, "%" PRIu64 "(", p->id);
		if (p->finalizing)
			scn_text_add(t, "finalizing");
		else
			missing(s, p, t);
		scn_text_add(t, ")");
	}
}

static void
list_ids(const struct weir_snapshot_list *l, struct scn_text *t)
{
	for (uint32_t i = 0; i < l->cnt; i++) {
		item(t, " ");
		scn_text_add(t, "%" PRIu64 "%s", l->list[i]->id, l->list[i]->claimed ? "" : "u");
	}
}

static void
query_completed(struct coord_scenario *s, struct scn_text *t)
{
	list_ids(&s->c->store.completed, t);
}

static void
query_savepoints(struct coord_scenario *s, struct scn_text *t)
{
	list_ids(&s->c->store.savepoints, t);
}

static void
query_queue(struct coord_scenario *s, struct scn_text *t)
{
	for (uint32_t i = 0; i < s->c->decider.queue_cnt; i++) {
		const struct weir_request *r = &s->c->decider.queue[i];

		item(t, " ");
		coord_print_request(s, t, r->number, r->from_timer);
	}
}

/* ---- registry ----------------------------------------------------------------------------------
 */

static void
query_registry(struct coord_scenario *s, struct scn_text *t)
{
	const struct weir_registry *r = &s->c->registry;
	const char **keys = calloc(r->cnt + 1, sizeof(*keys));

	WEIR_ASSERT(keys != NULL);
	for (uint32_t i = 0; i < r->cnt; i++)
		keys[i] = scn_name(&s->names, r->entries[i].key);
	scn_sort(keys, r->cnt);
	for (uint32_t i = 0; i < r->cnt; i++) {
		const struct weir_registry_entry *e;

		e = weir_registry_find(r, scn_number(&s->names, keys[i]));
		item(t, " ");
		scn_text_add(t, "%s=%s[%" PRIu64 ",%" PRIu64 "]%s", keys[i],
			     scn_name(&s->names, e->file), e->created, e->last,
			     e->pin_cnt > 0 ? "!" : "");
	}
	free(keys);
}

/* ---- timers ------------------------------------------------------------------------------------
 */

/* The armed timer that fires first after (due, seq), written to t; false if there is none. */
static bool
next_timer(const struct coord_scenario *s, int64_t *due, uint64_t *seq, struct scn_text *t)
{
	const struct weir_coordinator *c = s->c;
	const struct weir_pending *first = NULL;
	bool periodic = c->timer_armed &&
			(c->timer_due > *due || (c->timer_due == *due && c->timer_seq > *seq));
	int64_t best = periodic ? c->timer_due : INT64_MAX;
	uint64_t best_seq = periodic ? c->timer_seq : UINT64_MAX;

	for (uint32_t i = 0; i < c->pending_cnt; i++) {
		const struct weir_pending *p = c->pendings[i];

		if (!p->expires || p->due < *due || (p->due == *due && p->timer_seq <= *seq))
			continue;
		if (p->due < best || (p->due == best && p->timer_seq < best_seq)) {
			first = p;
			best = p->due;
			best_seq = p->timer_seq;
		}
	}
	if (first == NULL && !periodic)
		return false;
	*due = best;
	*seq = best_seq;
	item(t, " ");
	if (first != NULL)
		scn_text_add(t, "timeout:%" PRIu64 "=%" PRId64, first->id, best);
	else
		scn_text_add(t, "periodic=%" PRId64, best);
	return true;
}

static void
query_timers(struct coord_scenario *s, struct scn_text *t)
{
	int64_t due = INT64_MIN;
	uint64_t seq = 0;

	while (next_timer(s, &due, &seq, t))
		;
}

/* ---- numbers and flags -------------------------------------------------------------------------
 */

static void
query_triggering(struct coord_scenario *s, struct scn_text *t)
{
	const struct weir_prep *prep = &s->c->prep;

	if (prep->active)
		coord_print_request(s, t, prep->request.number, prep->request.from_timer);
}

static void
query_next_id(struct coord_scenario *s, struct scn_text *t)
{
	scn_text_add(t, "%" PRIu64, s->c->next_id);
}

static void
query_cleaning(struct coord_scenario *s, struct scn_text *t)
{
	scn_text_add(t, "%u", s->c->deleting_cnt);
}

static void
query_failures(struct coord_scenario *s, struct scn_text *t)
{
	scn_text_add(t, "%u", s->c->failures.cnt);
}

static void
query_scheduler(struct coord_scenario *s, struct scn_text *t)
{
	scn_text_add(t, "%s", s->c->scheduler_on ? "on" : "off");
}

static void
query_force_full(struct coord_scenario *s, struct scn_text *t)
{
	scn_text_add(t, "%s", s->c->force_full ? "on" : "off");
}

/* ---- valves ------------------------------------------------------------------------------------
 */

static void
held_events(const struct coord_scenario *s, const struct weir_valve *v, uint32_t subtask,
	    uint64_t id, struct scn_text *t)
{
	const char *comma = "";

	scn_text_add(t, "%" PRIu64 "(", id);
	for (uint32_t i = 0; i < v->event_cnt; i++) {
		const struct weir_valve_event *e = &v->events[i];

		if (e->subtask != subtask || e->held != id)
			continue;
		scn_text_add(t, "%s%s", comma, scn_name(&s->names, e->event));
		comma = ",";
	}
	scn_text_add(t, ")");
}

static bool
query_valve(struct coord_scenario *s, const char *name, struct scn_text *t)
{
	int which = coord_index(s->opcoord_names, s->cfg.opcoord_cnt, name);
	const struct weir_valve *v;

	if (which < 0)
		return false;
	v = &s->c->valves[which];
	for (uint32_t i = 0; i < v->parallelism; i++) {
		const struct weir_valve_closed *closed = &v->closed[i];

		item(t, " ");
		scn_text_add(t, "%s.%u=%s", s->vertex_names[s->opcoord_vertices[which]], i,
			     closed->cnt == 0 ? "open" : "");
		for (uint32_t k = 0; k < closed->cnt; k++) {
			scn_text_add(t, "%s", k > 0 ? "," : "");
			held_events(s, v, i, closed->ids[k], t);
		}
	}
	return true;
}

/* ---- content -----------------------------------------------------------------------------------
 */

static void
print_parts(const struct coord_scenario *s, const struct weir_task_snapshot *task, bool savepoint,
	    struct scn_text *t)
{
	for (uint32_t i = 0; i < task->part_cnt; i++) {
		const struct weir_part *part = &task->parts[i];

		scn_text_add(t, "%s", i > 0 ? "+" : "");
		if (part->kind == WEIR_PART_PRIVATE ||
		    (savepoint && part->kind == WEIR_PART_SHARED))
			scn_text_add(t, "%s", scn_name(&s->names, part->file));
		else
			scn_text_add(t, "%s=", scn_name(&s->names, part->key));
	}
}

static void
print_subtask(const struct coord_scenario *s, const struct weir_task_snapshot *task, bool savepoint,
	      struct scn_text *t)
{
	if (task->kind == WEIR_TASK_SNAPSHOT_MISSING)
		scn_text_add(t, "?");
	else if (task->kind == WEIR_TASK_SNAPSHOT_FINISHED)
		scn_text_add(t, "F");
	else if (task->part_cnt == 0)
		scn_text_add(t, "-");
	else
		print_parts(s, task, savepoint, t);
}

static void
print_vertex(const struct coord_scenario *s, uint32_t v, const struct weir_snapshot *snap,
	     struct scn_text *t)
{
	const struct weir_task_snapshot *tasks = &snap->tasks[s->vertex_first[v]];
	uint32_t parallelism = s->vertices[v].parallelism;
	uint32_t finished = 0, acked = 0;

	for (uint32_t i = 0; i < parallelism; i++) {
		finished += tasks[i].kind == WEIR_TASK_SNAPSHOT_FINISHED ||
			    tasks[i].finished_on_restore;
		acked += tasks[i].kind == WEIR_TASK_SNAPSHOT_ACKED;
	}
	if (acked == 0 && finished < parallelism)
		return;
	item(t, " ");
	scn_text_add(t, "%s(%u)=", s->vertex_names[v], parallelism);
	if (finished == parallelism) {
		scn_text_add(t, "finished");
		return;
	}
	for (uint32_t i = 0; i < parallelism; i++) {
		scn_text_add(t, "%s", i > 0 ? "," : "");
		print_subtask(s, &tasks[i], weir_request_is_savepoint(snap->kind), t);
	}
}

static bool
query_content(struct coord_scenario *s, const char *id, struct scn_text *t)
{
	const struct weir_snapshot *snap;
	uint64_t number;

	if (!scn_u64(id, UINT64_MAX, &number))
		return false;
	snap = weir_coordinator_snapshot(s->c, number);
	if (snap == NULL)
		return true;
	for (uint32_t v = 0; snap->task_cnt > 0 && v < s->cfg.graph.vertex_cnt; v++)
		print_vertex(s, v, snap, t);
	for (uint32_t i = 0; i < snap->hook_cnt; i++) {
		if (!snap->hooks[i].has_state)
			continue;
		item(t, " ");
		scn_text_add(t, "hook:%s=%s", s->hook_names[i],
			     scn_name(&s->names, snap->hooks[i].state));
	}
	return true;
}

static bool
query_promise(struct coord_scenario *s, const char *name, struct scn_text *t)
{
	const struct coord_promise *p = coord_promise_find(s, name);

	if (p != NULL)
		scn_text_add(t, "%s", p->answer);
	return true;
}

struct query {
	const char *word;
	void (*answer)(struct coord_scenario *s, struct scn_text *t);
};

static const struct query queries[] = {
	{ "pending", query_pending },	    { "completed", query_completed },
	{ "savepoints", query_savepoints }, { "queue", query_queue },
	{ "registry", query_registry },	    { "timers", query_timers },
	{ "triggering", query_triggering }, { "next-id", query_next_id },
	{ "cleaning", query_cleaning },	    { "failures", query_failures },
	{ "scheduler", query_scheduler },   { "force-full", query_force_full },
};

bool
coord_query(struct coord_scenario *s, const char *query, struct scn_text *answer)
{
	if (strncmp(query, "promise ", 8) == 0)
		return query_promise(s, query + 8, answer);
	if (strncmp(query, "valve ", 6) == 0)
		return query_valve(s, query + 6, answer);
	if (strncmp(query, "content ", 8) == 0)
		return query_content(s, query + 8, answer);
	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(queries); i++) {
		if (strcmp(queries[i].word, query) == 0) {
			queries[i].answer(s, answer);
			return true;
		}
	}
	return false;
}
