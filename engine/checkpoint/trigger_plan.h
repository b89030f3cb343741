#ifndef WEIR_ENGINE_CHECKPOINT_TRIGGER_PLAN_H
#define WEIR_ENGINE_CHECKPOINT_TRIGGER_PLAN_H

/*
 * Trigger plan (C13-C15): whom a checkpoint triggers and waits for, given the tasks' states.
 *
 * Tasks are dense numbers in graph order: vertex 0's subtasks first, then vertex 1's, ...
 * Vertices are in topological order: an edge leads from a lower to a higher one.
 *
 * Threads:   any one. Ownership: a plan owns its arrays until fini.
 * Cost:      proportional to tasks and edges, not to channels.
 */

#include "engine/checkpoint/reasons.h"

enum weir_coord_task_state {
	WEIR_COORD_TASK_NONE, /* not even a first attempt */
	WEIR_COORD_TASK_CREATED,
	WEIR_COORD_TASK_DEPLOYING,
	WEIR_COORD_TASK_INITIALIZING,
	WEIR_COORD_TASK_RUNNING,
	WEIR_COORD_TASK_FINISHED,
	WEIR_COORD_TASK_CANCELING,
	WEIR_COORD_TASK_CANCELED,
	WEIR_COORD_TASK_FAILED,
};

struct weir_coord_vertex {
	uint32_t parallelism;
	bool union_state; /* has union list state: finishes as a whole or not at all (T30) */
};

struct weir_coord_edge {
	uint32_t up;
	uint32_t down;
	bool pointwise; /* else every producer feeds every consumer */
	bool blocking;	/* its data is complete before the consumer starts: cannot be in a cut */
};

struct weir_coord_graph {
	const struct weir_coord_vertex *vertices; /* lent by the caller while the graph is used */
	uint32_t vertex_cnt;
	const struct weir_coord_edge *edges;
	uint32_t edge_cnt;
};

struct weir_trigger_plan {
	uint32_t *trigger; /* inject barriers; ascending */
	uint32_t trigger_cnt;
	uint32_t *wait; /* acknowledge, and hear complete or abort; ascending */
	uint32_t wait_cnt;
	uint32_t *finished; /* count as acknowledged (C14); ascending */
	uint32_t finished_cnt;
};

/* Number of tasks of the graph. */
uint32_t weir_coord_task_cnt(const struct weir_coord_graph *graph);

/*
 * Producers of consumer subtask i over a pointwise edge of m producers and n consumers are
 * *first .. *last, both included.
 */
void weir_coord_pointwise(uint32_t m, uint32_t n, uint32_t i, uint32_t *first, uint32_t *last);

/*
 * Make the plan; states has one enum weir_coord_task_state per task. Returns WEIR_REASON_NONE and
 * fills *plan, or the reason why nothing can be triggered (C15) and leaves *plan alone.
 */
enum weir_reason weir_trigger_plan_make(const struct weir_coord_graph *graph, const uint8_t *states,
					bool finished_allowed,
					struct weir_trigger_plan *plan) WEIR_MUST_USE;

void weir_trigger_plan_fini(struct weir_trigger_plan *plan);

#endif /* WEIR_ENGINE_CHECKPOINT_TRIGGER_PLAN_H */
