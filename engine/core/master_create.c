/* A master's beginning and end: the coordinator's configuration, and what earlier attempts left. */

#include "engine/core/master_priv.h"

#include <stdlib.h>

static uint64_t
draw(void *arg)
{
	struct weir_master *m = arg;

	return weir_rng_next(&m->rng);
}

static int64_t
to_ms(int64_t ns)
{
	return (ns + WEIR_MASTER_MS - 1) / WEIR_MASTER_MS;
}

static void
create_coordinator(struct weir_master *m)
{
	const struct weir_plan *plan = m->cfg.rt->cfg.plan;
	struct weir_coord_vertex vertex[WEIR_OPERATORS_MAX * 2];
	struct weir_coord_edge edge[WEIR_OPERATORS_MAX * 4];
	uint32_t opcoord[WEIR_OPERATORS_MAX * 2];
	struct weir_coordinator_config cc = {
		.interval_ms = m->cfg.interval_ns > 0 && m->cfg.job_dir != NULL
				       ? to_ms(m->cfg.interval_ns)
				       : WEIR_COORD_NO_INTERVAL,
		.backlog_interval_ms = m->cfg.has_backlog_interval
					       ? to_ms(m->cfg.backlog_interval_ns)
					       : WEIR_COORD_NO_INTERVAL,
		.min_pause_ms = to_ms(m->cfg.min_pause_ns),
		.timeout_ms = to_ms(m->cfg.timeout_ns),
		.max_concurrent = m->cfg.max_concurrent,
		.retained = m->cfg.retained,
		.queue_limit = 1000,
		.tolerable_failures = m->cfg.tolerable_failures,
		.at_least_once = m->cfg.at_least_once,
		.unaligned = m->cfg.unaligned,
		.aligned_timeout_ms = to_ms(m->cfg.aligned_timeout_ns),
		.finished_tasks = !m->cfg.all_tasks_only,
		.retention = m->cfg.retention,
		.asks = WEIR_COORD_STAGE_ID | WEIR_COORD_STAGE_STORAGE | WEIR_COORD_STAGE_OPCOORD |
			WEIR_COORD_STAGE_HOOK | WEIR_COORD_STAGE_FINALIZE | WEIR_COORD_STAGE_DELETE,
		.history_max = 16,
		.draw = draw,
		.draw_arg = m,
	};
	uint32_t edges = 0;

	for (uint32_t i = 0; i < plan->task_cnt; i++)
		vertex[i] =
			(struct weir_coord_vertex){ .parallelism = plan->task[i].parallelism,
						    .union_state = weir_plan_has_union(plan, i) };
	for (uint32_t e = 0; e < plan->edge_cnt; e++)
		if (!plan->edge[e].chained)
			edge[edges++] =
				(struct weir_coord_edge){ .up = plan->op[plan->edge[e].from].task,
							  .down = plan->op[plan->edge[e].to].task,
							  .pointwise = plan->edge[e].partitioner ==
								       WEIR_FORWARD };
	for (uint32_t i = 0; i < m->cfg.enumerator_cnt; i++)
		opcoord[i] = plan->op[m->cfg.enumerators[i].op].task;
	cc.opcoord_vertex = opcoord;
	cc.opcoord_cnt = m->cfg.enumerator_cnt;
	cc.hook_cnt = m->cfg.hook_cnt;
	cc.graph.vertices = vertex;
	cc.graph.vertex_cnt = plan->task_cnt;
	cc.graph.edges = edge;
	cc.graph.edge_cnt = edges;
	m->coord = weir_coordinator_create(&cc);
}

/* Number of a stored file: one, however many checkpoints name it. */
static uint64_t
stored_file(struct weir_master *m, const struct weir_manifest_file *f, const char *dir)
{
	uint64_t number;

	for (number = 0; number < m->file_cnt; number++)
		if (m->file[number].dir == dir && strcmp(m->file[number].name, f->name) == 0)
			return number;
	number = weir_master_add_file(m, f->name, f->length);
	m->file[number].dir = dir;
	return number;
}

/* Does a checkpoint name it that is not this run's? */
static bool
is_others_too(const struct weir_master *m, const char *name)
{
	for (uint32_t i = 0; i < m->cfg.claimed.beside_cnt; i++) {
		const struct weir_manifest *man = m->cfg.claimed.beside[i];

		for (uint32_t f = 0; f < man->file_cnt; f++)
			if (strcmp(man->files[f].name, name) == 0)
				return true;
	}
	return false;
}

static void
name_stored(struct weir_master *m, uint64_t id, const struct weir_part *parts, uint32_t cnt)
{
	uint64_t *files = calloc(cnt + 1, sizeof(*files));

	WEIR_ASSERT(files != NULL);
	for (uint32_t i = 0; i < cnt; i++)
		files[i] = parts[i].file;
	weir_master_names_add(m, id, files, cnt);
	free(files);
}

/* A stored checkpoint as the coordinator knows it; its parts are the caller's to free. */
static struct weir_snapshot
stored_snapshot(struct weir_master *m, const struct weir_manifest *man, const char *data_dir)
{
	struct weir_part *parts = calloc(man->file_cnt + 1, sizeof(*parts));
	uint32_t cnt = 0;

	WEIR_ASSERT(parts != NULL);
	for (uint32_t f = 0; f < man->file_cnt; f++) {
		const uint64_t number = stored_file(m, &man->files[f], data_dir);

		if (data_dir != NULL && is_others_too(m, man->files[f].name))
			continue;
		parts[cnt++] = (struct weir_part){ .kind = weir_manifest_is_savepoint(man->kind)
								   ? WEIR_PART_PRIVATE
								   : WEIR_PART_SHARED,
						   .file = number,
						   .key = number + 1 };
	}
	name_stored(m, man->checkpoint_id, parts, cnt);
	return (struct weir_snapshot){ .id = man->checkpoint_id,
				       .kind = WEIR_REQUEST_CHECKPOINT,
				       .claimed = true,
				       .parts = parts,
				       .part_cnt = cnt };
}

/* Checkpoints that earlier attempts of this run left, and what it has claimed: the coordinator
 * keeps, counts and deletes them (K10, S6). */
static void
recover(struct weir_master *m)
{
	const struct weir_manifest *claimed = m->cfg.claimed.manifest;
	struct weir_snapshot *own = calloc(m->cfg.own_cnt + 1, sizeof(*own));
	struct weir_coord_event ev = { .kind = WEIR_COORD_RECOVER };
	uint32_t cnt = 0;

	WEIR_ASSERT(own != NULL);
	if (claimed != NULL) {
		m->claimed_id = claimed->checkpoint_id;
		m->claimed_whole = weir_manifest_is_savepoint(claimed->kind);
		own[cnt++] = stored_snapshot(m, claimed, m->cfg.claimed.data_dir);
	}
	for (uint32_t i = 0; i < m->cfg.own_cnt; i++)
		own[cnt++] = stored_snapshot(m, m->cfg.own[i], NULL);
	ev.recover.next_id = m->cfg.next_id;
	ev.recover.completed = own;
	ev.recover.completed_cnt = cnt;
	weir_master_event(m, &ev);
	for (uint32_t i = 0; i < cnt; i++)
		free((void *)(uintptr_t)own[i].parts);
	free(own);
}

static void
create_tasks(struct weir_master *m)
{
	const uint32_t cnt = m->cfg.rt->cfg.plan->subtask_cnt;

	m->task = calloc(cnt, sizeof(*m->task));
	WEIR_ASSERT(m->task != NULL);
	for (uint32_t i = 0; i < cnt; i++)
		m->task[i].ack = weir_master_ack_new(m, i);
}

struct weir_master *
weir_master_create(const struct weir_master_config *config, int64_t now_ns, int64_t wall_ns)
{
	struct weir_master *m = calloc(1, sizeof(*m));
	struct weir_coord_event ev = { .kind = WEIR_COORD_JOB_STATE };

	WEIR_ASSERT(m != NULL);
	m->queue.tail = &m->queue.head;
	m->cfg = *config;
	m->now_ns = m->base_ns = now_ns;
	m->wall_ns = wall_ns;
	m->rng.state = config->seed;
	m->reserved_id = 0;
	create_tasks(m);
	m->hook_busy = calloc(config->hook_cnt + 1, sizeof(*m->hook_busy));
	WEIR_ASSERT(m->hook_busy != NULL);
	if (config->io != NULL) {
		create_coordinator(m);
		recover(m);
		ev.job_state = WEIR_COORD_JOB_RUNNING;
		weir_master_event(m, &ev);
	}
	weir_master_start_splits(m);
	return m;
}

void
weir_master_destroy(struct weir_master *m)
{
	if (m == NULL)
		return;
	weir_master_fail_asks(m, WEIR_REASON_CHECKPOINT_COORDINATOR_SHUTDOWN);
	weir_master_stop_hooks(m);
	for (uint32_t i = 0; i < m->cfg.rt->cfg.plan->subtask_cnt; i++)
		weir_master_ack_free(m->task[i].ack);
	free(m->task);
	while (m->checkpoints != NULL)
		weir_master_checkpoint_free(m, m->checkpoints);
	while (m->chains != NULL) {
		struct weir_master_chain *next = m->chains->next;

		if (m->chains->bytes != NULL)
			weir_manifest_bytes_free(m->chains->bytes);
		free(m->chains->step);
		free(m->chains);
		m->chains = next;
	}
	while (m->doubts != NULL) {
		struct weir_master_doubt *next = m->doubts->next;

		free(m->doubts);
		m->doubts = next;
	}
	for (uint64_t i = 0; i < m->file_cnt; i++) {
		free(m->file[i].name);
		free(m->file[i].segments);
	}
	free(m->file);
	free(m->held);
	weir_master_names_free(m);
	weir_master_free_opevents(m);
	free(m->backlogged);
	free(m->hook_busy);
	free(m->backlog);
	free(m->backlog_core);
	weir_coordinator_destroy(m->coord);
	free(m);
}
