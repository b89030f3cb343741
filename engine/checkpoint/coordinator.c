#include "engine/checkpoint/coordinator_priv.h"

#include "engine/checkpoint/grow.h"

#include <stdlib.h>

static void
copy_config(struct weir_coordinator *c, const struct weir_coordinator_config *config)
{
	struct weir_coordinator_config *cfg = &c->cfg;

	*cfg = *config;
	WEIR_ASSERT(cfg->interval_ms == WEIR_COORD_NO_INTERVAL || cfg->interval_ms > 0);
	WEIR_ASSERT(cfg->max_concurrent > 0);
	WEIR_ASSERT(!cfg->unaligned || (cfg->max_concurrent == 1 && !cfg->at_least_once)); /* C8 */
	cfg->graph.vertices = weir_grow_copy(config->graph.vertices, config->graph.vertex_cnt,
					     sizeof(struct weir_coord_vertex));
	cfg->graph.edges = weir_grow_copy(config->graph.edges, config->graph.edge_cnt,
					  sizeof(struct weir_coord_edge));
	cfg->opcoord_vertex =
		weir_grow_copy(config->opcoord_vertex, config->opcoord_cnt, sizeof(uint32_t));
	if (cfg->interval_ms != WEIR_COORD_NO_INTERVAL && cfg->interval_ms < cfg->min_pause_ms)
		cfg->interval_ms = cfg->min_pause_ms;
	for (uint32_t i = 0; i < cfg->graph.edge_cnt; i++)
		c->has_blocking_edge |= cfg->graph.edges[i].blocking;
}

static void
number_tasks(struct weir_coordinator *c)
{
	const struct weir_coord_graph *graph = &c->cfg.graph;
	uint32_t task = 0;

	c->task_cnt = weir_coord_task_cnt(graph);
	c->task_vertex = weir_grow_alloc(c->task_cnt, sizeof(uint32_t));
	c->vertex_first = weir_grow_alloc(graph->vertex_cnt, sizeof(uint32_t));
	c->attempts = weir_grow_alloc(c->task_cnt, sizeof(uint32_t));
	c->states = weir_grow_alloc(c->task_cnt, 1);
	for (uint32_t v = 0; v < graph->vertex_cnt; v++) {
		c->vertex_first[v] = task;
		for (uint32_t i = 0; i < graph->vertices[v].parallelism; i++, task++) {
			c->task_vertex[task] = v;
			c->states[task] = WEIR_COORD_TASK_CREATED;
		}
	}
}

struct weir_coordinator *
weir_coordinator_create(const struct weir_coordinator_config *config)
{
	struct weir_coordinator *c = weir_grow_alloc(1, sizeof(*c));

	copy_config(c, config);
	number_tasks(c);
	weir_decider_init(&c->decider, c->cfg.max_concurrent, c->cfg.queue_limit,
			  c->cfg.min_pause_ms);
	weir_failures_init(&c->failures, c->cfg.tolerable_failures);
	weir_registry_init(&c->registry);
	weir_store_init(&c->store, c->cfg.retained);
	weir_coord_stats_init(&c->stats, c->cfg.history_max);
	c->backlog = weir_grow_alloc(c->cfg.opcoord_cnt, 1);
	c->valves = weir_grow_alloc(c->cfg.opcoord_cnt, sizeof(*c->valves));
	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++)
		weir_valve_init(&c->valves[i],
				c->cfg.graph.vertices[c->cfg.opcoord_vertex[i]].parallelism);
	c->next_id = 1; /* C20 */
	c->last_completion = WEIR_DECIDER_NEVER;
	c->now = INT64_MIN;
	return c;
}

static void
free_checkpoints(struct weir_coordinator *c)
{
	for (uint32_t i = 0; i < c->pending_cnt; i++)
		weir_pending_free(c->pendings[i]);
	for (uint32_t i = 0; i < c->writing_cnt; i++)
		weir_pending_free(c->writing[i]);
	free(c->pendings);
	free(c->writing);
	weir_trigger_plan_fini(&c->prep.plan);
	free(c->prep.attempts);
	free(c->prep.answered);
	free(c->swallows);
	free(c->deleting);
}

void
weir_coordinator_destroy(struct weir_coordinator *c)
{
	if (c == NULL)
		return;
	free_checkpoints(c);
	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++)
		weir_valve_fini(&c->valves[i]);
	free(c->valves);
	free(c->backlog);
	weir_coord_stats_fini(&c->stats);
	weir_store_fini(&c->store);
	weir_registry_fini(&c->registry);
	weir_failures_fini(&c->failures);
	weir_decider_fini(&c->decider);
	weir_coord_out_fini(c);
	free(c->task_vertex);
	free(c->vertex_first);
	free(c->attempts);
	free(c->states);
	free((void *)c->cfg.graph.vertices);
	free((void *)c->cfg.graph.edges);
	free((void *)c->cfg.opcoord_vertex);
	free(c);
}

static bool
on_shutdown(struct weir_coordinator *c)
{
	weir_coord_stop_all(c, WEIR_REASON_CHECKPOINT_COORDINATOR_SHUTDOWN);
	c->shutdown = true;
	return true;
}

/* False: the event is impossible now, and nothing was changed. */
static bool
dispatch(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	switch (e->kind) {
	case WEIR_COORD_TICK:
		return weir_coord_on_tick(c);
	case WEIR_COORD_REQUEST:
		return weir_coord_on_request(c, e);
	case WEIR_COORD_STOP:
		return weir_coord_on_stop(c, e);
	case WEIR_COORD_PLAN_ANSWER:
	case WEIR_COORD_ID_ANSWER:
	case WEIR_COORD_STORAGE_ANSWER:
	case WEIR_COORD_OPCOORD_ANSWER:
	case WEIR_COORD_HOOK_ANSWER:
		return weir_coord_on_answer(c, e);
	case WEIR_COORD_FINALIZE_ANSWER:
		return weir_coord_on_finalized(c, e);
	case WEIR_COORD_DELETED:
		return weir_coord_on_deleted(c, e->answer.id);
	case WEIR_COORD_ACK:
		return weir_coord_on_ack(c, e);
	case WEIR_COORD_DECLINE:
		return weir_coord_on_decline(c, e);
	case WEIR_COORD_RPC_FAILED:
		return weir_coord_on_rpc_failed(c, e);
	case WEIR_COORD_BARRIER:
		return weir_coord_on_barrier(c, e);
	case WEIR_COORD_OPEVENT_SEND:
	case WEIR_COORD_OPEVENT_ACKED:
	case WEIR_COORD_OPEVENT_LOST:
		return weir_coord_on_opevent(c, e);
	case WEIR_COORD_BACKLOG:
		return weir_coord_on_backlog(c, e);
	case WEIR_COORD_TASK_STATE:
		return weir_coord_on_task_state(c, e);
	case WEIR_COORD_JOB_STATE:
		return weir_coord_on_job_state(c, e);
	case WEIR_COORD_SCHEDULER_START:
		return weir_coord_on_scheduler(c, true);
	case WEIR_COORD_SCHEDULER_STOP:
		return weir_coord_on_scheduler(c, false);
	case WEIR_COORD_ABORT:
		return weir_coord_on_abort(c, e);
	case WEIR_COORD_SHUTDOWN:
		return on_shutdown(c);
	case WEIR_COORD_RESTART:
		return weir_coord_on_restart(c, e);
	case WEIR_COORD_RESTORE:
		return weir_coord_on_restore(c, e);
	case WEIR_COORD_START_FROM:
		return weir_coord_on_start_from(c, e);
	case WEIR_COORD_RECOVER:
		return weir_coord_on_recover(c, e);
	}
	return false;
}

struct weir_coord_updates
weir_coordinator_step(struct weir_coordinator *c, const struct weir_coord_event *event,
		      int64_t now_ms)
{
	WEIR_ASSERT(now_ms >= c->now);
	weir_coord_out_reset(c);
	c->now = now_ms;
	if (!dispatch(c, event)) {
		WEIR_ASSERT(c->out.cnt == 0);
		return (struct weir_coord_updates){ .illegal = true };
	}
	weir_coord_settle(c);
	return (struct weir_coord_updates){ .list = c->out.list, .cnt = c->out.cnt };
}

int64_t
weir_coordinator_next_due(const struct weir_coordinator *c)
{
	int64_t due = c->timer_armed ? c->timer_due : INT64_MAX;

	for (uint32_t i = 0; i < c->pending_cnt; i++) {
		if (c->pendings[i]->expires && c->pendings[i]->due < due)
			due = c->pendings[i]->due;
	}
	return due;
}

const struct weir_snapshot *
weir_coordinator_snapshot(struct weir_coordinator *c, uint64_t id)
{
	const struct weir_pending *p = weir_coord_find(c, id);
	const struct weir_snapshot *snap;

	if (p != NULL)
		return p->snap;
	snap = weir_snapshot_list_find(&c->store.completed, id);
	return snap != NULL ? snap : weir_snapshot_list_find(&c->store.savepoints, id);
}

uint64_t
weir_coordinator_latest(const struct weir_coordinator *c)
{
	const struct weir_snapshot *latest = weir_store_latest(&c->store);

	return latest != NULL ? latest->id : 0;
}

const struct weir_coord_stats *
weir_coordinator_stats(const struct weir_coordinator *c)
{
	return &c->stats;
}
