/*
 * What the report and the history say of each subtask's part in a checkpoint (K16). A subtask's
 * phases begin at the trigger, come one behind the other, and end with its acknowledgement:
 *
 *   aligned     start delay | alignment | sync | async
 *   unaligned   start delay | sync | alignment (the frames that are kept) | async
 */
#include "engine/core/master_priv.h"

#include <stdlib.h>

static int64_t
since(int64_t from_ns, int64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

void
weir_master_phases(const struct weir_master_checkpoint *c, const struct weir_task_ack *a,
		   struct weir_subtask_done *to)
{
	if (a->captured_ns != 0) {
		/* Unaligned: what there was to wait for lies behind the snapshot. */
		to->start_delay_ns = since(c->triggered_ns, a->aligned_ns);
		to->alignment_ns = since(a->frozen_ns, a->captured_ns);
	} else {
		/* A task counts in turns: the one that saw the first barrier may have begun before
		 * the trigger. */
		to->alignment_ns = since(c->triggered_ns, a->aligned_ns);
		if (a->alignment_ns < to->alignment_ns)
			to->alignment_ns = a->alignment_ns;
		to->start_delay_ns = since(c->triggered_ns, a->aligned_ns - to->alignment_ns);
	}
	to->sync_ns = since(a->aligned_ns, a->frozen_ns);
	to->async_ns = since(a->frozen_ns, a->posted_ns);
	if (a->captured_ns != 0)
		to->async_ns -= to->alignment_ns;
	to->processed_bytes = a->alignment_bytes;
	to->persisted_bytes = a->persisted_bytes;
}

/* Of its records, those that stand; their size is about the same. */
static uint64_t
live_bytes(const struct weir_manifest_segment *ms)
{
	const uint64_t *live = ms->live.bytes;
	uint64_t cnt = 0;

	if (ms->live.len == 0)
		return ms->seg.length;
	for (size_t i = 0; i < ms->live.len / sizeof(*live); i++)
		cnt += (uint64_t)__builtin_popcountll(live[i]);
	return ms->seg.length * cnt / ms->seg.page_cnt;
}

/* What lies in the cores' files, to whom it belongs. */
static void
add_bytes(const struct weir_master *m, const struct weir_master_checkpoint *c,
	  struct weir_subtask_done *list, const uint32_t *at)
{
	const struct weir_plan *plan = m->cfg.rt->cfg.plan;

	for (uint32_t k = 0; k < plan->core_cnt; k++)
		for (uint32_t i = 0; c->segments[k] != NULL && i < c->segments[k]->segment_cnt;
		     i++) {
			const struct weir_manifest_segment *ms = &c->segments[k]->at[i];
			const struct weir_segment *seg = &ms->seg;
			const struct weir_plan_task *t =
				&plan->task[plan->op[seg->operator_idx].task];
			const uint32_t n = at[t->first + seg->subtask];

			if (n == UINT32_MAX || ms->stale)
				continue;
			if (ms->file_idx == 0)
				list[n].bytes += seg->length;
			list[n].full_bytes += live_bytes(ms);
		}
}

struct weir_subtask_done *
weir_master_subtasks(const struct weir_master *m, const struct weir_master_checkpoint *c,
		     uint32_t *cnt)
{
	const struct weir_plan *plan = m->cfg.rt->cfg.plan;
	struct weir_subtask_done *list = calloc(plan->subtask_cnt + 1, sizeof(*list));
	uint32_t *at = calloc(plan->subtask_cnt + 1, sizeof(*at)); /* of the list, by number */

	WEIR_ASSERT(list != NULL);
	WEIR_ASSERT(at != NULL);
	*cnt = 0;
	for (uint32_t i = 0; i < plan->task_cnt; i++)
		for (uint32_t s = 0; s < plan->task[i].parallelism; s++) {
			const uint32_t number = plan->task[i].first + s;

			at[number] = UINT32_MAX;
			if (c->acks[number] == NULL)
				continue;
			at[number] = *cnt;
			list[*cnt] = (struct weir_subtask_done){ .task = i, .subtask = s };
			weir_master_phases(c, c->acks[number], &list[(*cnt)++]);
		}
	add_bytes(m, c, list, at);
	free(at);
	return list;
}
