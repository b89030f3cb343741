#include "engine/checkpoint/snapshot.h"

#include "engine/checkpoint/grow.h"

#include <stdlib.h>

struct weir_snapshot *
weir_snapshot_copy(const struct weir_snapshot *snapshot)
{
	struct weir_snapshot *copy = weir_grow_copy(snapshot, 1, sizeof(*snapshot));
	struct weir_task_snapshot *tasks;

	tasks = weir_grow_copy(snapshot->tasks, snapshot->task_cnt, sizeof(*tasks));
	for (uint32_t i = 0; i < snapshot->task_cnt; i++)
		tasks[i].parts =
			weir_grow_copy(tasks[i].parts, tasks[i].part_cnt, sizeof(struct weir_part));
	copy->tasks = tasks;
	copy->parts = weir_grow_copy(snapshot->parts, snapshot->part_cnt, sizeof(struct weir_part));
	copy->hooks = weir_grow_copy(snapshot->hooks, snapshot->hook_cnt,
				     sizeof(struct weir_hook_snapshot));
	return copy;
}

void
weir_snapshot_free(struct weir_snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	for (uint32_t i = 0; i < snapshot->task_cnt; i++)
		free((void *)snapshot->tasks[i].parts);
	free((void *)snapshot->tasks);
	free((void *)snapshot->parts);
	free((void *)snapshot->hooks);
	free(snapshot);
}

const struct weir_part *
weir_part_next(struct weir_part_walk *walk)
{
	const struct weir_snapshot *s = walk->snapshot;

	for (; walk->task < s->task_cnt; walk->task++, walk->part = 0) {
		if (walk->part < s->tasks[walk->task].part_cnt)
			return &s->tasks[walk->task].parts[walk->part++];
	}
	return walk->part < s->part_cnt ? &s->parts[walk->part++] : NULL;
}

bool
weir_snapshot_has_ack(const struct weir_snapshot *snapshot, struct weir_attempt from)
{
	const struct weir_task_snapshot *task;

	if (from.task >= snapshot->task_cnt)
		return false;
	task = &snapshot->tasks[from.task];
	return task->kind == WEIR_TASK_SNAPSHOT_ACKED && task->attempt == from.attempt;
}
