#include "engine/checkpoint/pending.h"

#include "engine/base/plant.h"
#include "engine/checkpoint/grow.h"

#include <stdlib.h>

static struct weir_snapshot *
empty_snapshot(struct weir_pending *p, uint32_t task_cnt, uint32_t hook_cnt)
{
	struct weir_snapshot *snap = weir_grow_alloc(1, sizeof(*snap));

	p->tasks = weir_grow_alloc(task_cnt, sizeof(*p->tasks));
	p->hooks = weir_grow_alloc(hook_cnt, sizeof(*p->hooks));
	for (uint32_t i = 0; i < p->plan.finished_cnt; i++)
		p->tasks[p->plan.finished[i]].kind = WEIR_TASK_SNAPSHOT_FINISHED;
	*snap = (struct weir_snapshot){
		.id = p->id,
		.kind = p->request.kind,
		.claimed = true,
		.tasks = p->tasks,
		.task_cnt = task_cnt,
		.hooks = p->hooks,
		.hook_cnt = hook_cnt,
	};
	return snap;
}

struct weir_pending *
weir_pending_create(uint64_t id, const struct weir_request *request, struct weir_trigger_plan *plan,
		    const uint32_t *attempts, uint32_t task_cnt, uint32_t opcoord_cnt,
		    uint32_t hook_cnt)
{
	struct weir_pending *p = weir_grow_alloc(1, sizeof(*p));

	p->id = id;
	p->request = *request;
	p->plan = *plan;
	*plan = (struct weir_trigger_plan){ 0 };
	p->attempts = weir_grow_copy(attempts, task_cnt, sizeof(*attempts));
	p->snap = empty_snapshot(p, task_cnt, hook_cnt);
	p->hook_done = weir_grow_alloc(hook_cnt, 1);
	p->opcoord_done = weir_grow_alloc(opcoord_cnt, 1);
	p->ack_left = p->plan.wait_cnt;
	p->hook_left = hook_cnt;
	p->opcoord_left = opcoord_cnt;
	return p;
}

void
weir_pending_free(struct weir_pending *p)
{
	if (p == NULL)
		return;
	weir_trigger_plan_fini(&p->plan);
	weir_snapshot_free(p->snap);
	free(p->attempts);
	free(p->hook_done);
	free(p->opcoord_done);
	free(p->keys);
	free(p);
}

bool
weir_pending_awaits(const struct weir_pending *p, struct weir_attempt from)
{
	return from.task < p->snap->task_cnt &&
	       p->tasks[from.task].kind == WEIR_TASK_SNAPSHOT_MISSING &&
	       p->attempts[from.task] == from.attempt;
}

void
weir_pending_ack(struct weir_pending *p, struct weir_attempt from, const struct weir_part *parts,
		 uint32_t part_cnt, bool operators_finished, bool finished_on_restore)
{
	WEIR_ASSERT(weir_pending_awaits(p, from));
	WEIR_ASSERT(p->ack_left > 0);
	p->tasks[from.task] = (struct weir_task_snapshot){
		.kind = WEIR_TASK_SNAPSHOT_ACKED,
		.operators_finished = operators_finished,
		.finished_on_restore = finished_on_restore,
		.attempt = from.attempt,
		.parts = weir_grow_copy(parts, part_cnt, sizeof(*parts)),
		.part_cnt = part_cnt,
	};
	p->ack_left--;
}

bool
weir_pending_is_complete(const struct weir_pending *p)
{
	return p->ack_left <= (uint32_t)WEIR_PLANT(ACK_MISSING) && p->hook_left == 0 &&
	       p->opcoord_left == 0;
}

static bool
vertex_breaks_union(const struct weir_task_snapshot *tasks, uint32_t parallelism)
{
	uint32_t finished = 0;
	uint32_t ending = 0;
	bool has_state = false;

	for (uint32_t i = 0; i < parallelism; i++) {
		finished += tasks[i].kind == WEIR_TASK_SNAPSHOT_FINISHED;
		ending += tasks[i].operators_finished;
		has_state |= tasks[i].part_cnt > 0;
	}
	if (!has_state)
		return false;
	if (finished > 0)
		return finished < parallelism;
	return ending > 0 && ending < parallelism;
}

bool
weir_pending_breaks_union(const struct weir_pending *p, const struct weir_coord_graph *graph)
{
	uint32_t first = 0;

	for (uint32_t v = 0; v < graph->vertex_cnt; v++) {
		const struct weir_coord_vertex *vertex = &graph->vertices[v];

		if (vertex->union_state &&
		    vertex_breaks_union(&p->tasks[first], vertex->parallelism))
			return true;
		first += vertex->parallelism;
	}
	return false;
}
