#include "engine/checkpoint/trigger_plan.h"

#include "engine/checkpoint/grow.h"

#include <stdlib.h>

/* What the planner needs besides the graph: where each vertex starts and who still runs. */
struct planner {
	const struct weir_coord_graph *graph;
	const uint8_t *states;
	uint32_t *first;      /* per vertex: number of its subtask 0 */
	uint32_t *unfinished; /* per vertex: subtasks that are not FINISHED */
	uint8_t *fed;	      /* per task: 1 if an unfinished producer feeds it */
	uint32_t task_cnt;
};

uint32_t
weir_coord_task_cnt(const struct weir_coord_graph *graph)
{
	uint32_t cnt = 0;

	for (uint32_t v = 0; v < graph->vertex_cnt; v++)
		cnt += graph->vertices[v].parallelism;
	return cnt;
}

void
weir_coord_pointwise(uint32_t m, uint32_t n, uint32_t i, uint32_t *first, uint32_t *last)
{
	uint64_t from = (uint64_t)i * m / n;
	uint64_t to = (uint64_t)(i + 1) * m / n;

	*first = (uint32_t)from;
	*last = to > from ? (uint32_t)(to - 1) : (uint32_t)from;
}

static bool
is_finished(const struct planner *p, uint32_t task)
{
	return p->states[task] == WEIR_COORD_TASK_FINISHED;
}

static void
planner_init(struct planner *p, const struct weir_coord_graph *graph, const uint8_t *states)
{
	uint32_t task = 0;

	*p = (struct planner){
		.graph = graph,
		.states = states,
		.first = weir_grow_alloc(graph->vertex_cnt, sizeof(uint32_t)),
		.unfinished = weir_grow_alloc(graph->vertex_cnt, sizeof(uint32_t)),
		.task_cnt = weir_coord_task_cnt(graph),
	};
	p->fed = weir_grow_alloc(p->task_cnt, 1);
	for (uint32_t v = 0; v < graph->vertex_cnt; v++) {
		p->first[v] = task;
		for (uint32_t i = 0; i < graph->vertices[v].parallelism; i++, task++)
			p->unfinished[v] += !is_finished(p, task);
	}
}

static void
planner_fini(struct planner *p)
{
	free(p->first);
	free(p->unfinished);
	free(p->fed);
}

static bool
pointwise_fed(const struct planner *p, const struct weir_coord_edge *edge, uint32_t i)
{
	uint32_t first, last;

	weir_coord_pointwise(p->graph->vertices[edge->up].parallelism,
			     p->graph->vertices[edge->down].parallelism, i, &first, &last);
	for (uint32_t u = first; u <= last; u++) {
		if (!is_finished(p, p->first[edge->up] + u))
			return true;
	}
	return false;
}

static void
mark_fed(struct planner *p, const struct weir_coord_edge *edge)
{
	uint32_t parallelism = p->graph->vertices[edge->down].parallelism;

	if (p->unfinished[edge->up] == 0)
		return;
	for (uint32_t i = 0; i < parallelism; i++) {
		if (!edge->pointwise || pointwise_fed(p, edge, i))
			p->fed[p->first[edge->down] + i] = 1;
	}
}

static bool
feeds_blocking_edge(const struct planner *p)
{
	for (uint32_t e = 0; e < p->graph->edge_cnt; e++) {
		const struct weir_coord_edge *edge = &p->graph->edges[e];
		uint32_t parallelism = p->graph->vertices[edge->up].parallelism;

		for (uint32_t i = 0; edge->blocking && i < parallelism; i++) {
			if (p->states[p->first[edge->up] + i] == WEIR_COORD_TASK_RUNNING)
				return true;
		}
	}
	return false;
}

static enum weir_reason
check(const struct planner *p, bool finished_allowed)
{
	uint32_t wait_cnt = 0;

	if (feeds_blocking_edge(p))
		return WEIR_REASON_BLOCKING_OUTPUT_EXIST;
	for (uint32_t t = 0; t < p->task_cnt; t++) {
		bool finished = is_finished(p, t);

		if (finished && !finished_allowed) /* C15 */
			return WEIR_REASON_NOT_ALL_REQUIRED_TASKS_RUNNING;
		if (p->states[t] == WEIR_COORD_TASK_NONE)
			return WEIR_REASON_NOT_ALL_REQUIRED_TASKS_RUNNING;
		/* C15: a task that would have to inject a barrier must run. */
		if (!finished && !p->fed[t] && p->states[t] != WEIR_COORD_TASK_RUNNING)
			return WEIR_REASON_NOT_ALL_REQUIRED_TASKS_RUNNING;
		wait_cnt += !finished;
	}
	return wait_cnt == 0 ? WEIR_REASON_NOT_ALL_REQUIRED_TASKS_RUNNING : WEIR_REASON_NONE;
}

static void
fill(const struct planner *p, struct weir_trigger_plan *plan)
{
	*plan = (struct weir_trigger_plan){
		.trigger = weir_grow_alloc(p->task_cnt, sizeof(uint32_t)),
		.wait = weir_grow_alloc(p->task_cnt, sizeof(uint32_t)),
		.finished = weir_grow_alloc(p->task_cnt, sizeof(uint32_t)),
	};
	for (uint32_t t = 0; t < p->task_cnt; t++) {
		if (is_finished(p, t)) {
			plan->finished[plan->finished_cnt++] = t;
			continue;
		}
		plan->wait[plan->wait_cnt++] = t;
		if (!p->fed[t]) /* C14 */
			plan->trigger[plan->trigger_cnt++] = t;
	}
}

enum weir_reason
weir_trigger_plan_make(const struct weir_coord_graph *graph, const uint8_t *states,
		       bool finished_allowed, struct weir_trigger_plan *plan)
{
	enum weir_reason reason;
	struct planner p;

	planner_init(&p, graph, states);
	for (uint32_t e = 0; e < graph->edge_cnt; e++)
		mark_fed(&p, &graph->edges[e]);
	reason = check(&p, finished_allowed);
	if (reason == WEIR_REASON_NONE)
		fill(&p, plan);
	planner_fini(&p);
	return reason;
}

void
weir_trigger_plan_fini(struct weir_trigger_plan *plan)
{
	free(plan->trigger);
	free(plan->wait);
	free(plan->finished);
	*plan = (struct weir_trigger_plan){ 0 };
}
