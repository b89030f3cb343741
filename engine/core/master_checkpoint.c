/*
 * Checkpoints under way: what the master collects for each, from its trigger to its end, and the
 * entry of the report that is made of it (K16).
 */
#include "engine/core/master_priv.h"

#include <stdlib.h>

struct weir_master_checkpoint *
weir_master_find(struct weir_master *m, uint64_t id)
{
	for (struct weir_master_checkpoint *c = m->checkpoints; c != NULL; c = c->next)
		if (c->id == id)
			return c;
	return NULL;
}

static const char *
kind_text(const struct weir_master_checkpoint *c)
{
	switch (c->kind) {
	case WEIR_REQUEST_SAVEPOINT:
		return "savepoint";
	case WEIR_REQUEST_SUSPEND:
		return "suspend";
	case WEIR_REQUEST_DRAIN:
		return "drain";
	case WEIR_REQUEST_CHECKPOINT:
	case WEIR_REQUEST_FULL:
		break;
	}
	return c->final ? "final" : c->periodic ? "periodic" : "manual";
}

static bool
is_final(const struct weir_master *m, const struct weir_request *request)
{
	return !request->from_timer && request->number == m->final_request;
}

struct weir_master_checkpoint *
weir_master_checkpoint_new(struct weir_master *m, uint64_t id)
{
	const uint32_t cores = m->cfg.rt->cfg.plan->core_cnt;
	struct weir_master_checkpoint *c = calloc(1, sizeof(*c));

	WEIR_ASSERT(c != NULL);
	*c = (struct weir_master_checkpoint){ .next = m->checkpoints,
					      .id = id,
					      .kind = m->preparing.request.kind,
					      .periodic = m->preparing.request.periodic,
					      .final = is_final(m, &m->preparing.request),
					      .trigger_ns = m->preparing.trigger_ns,
					      .trigger_wall_ns = m->preparing.wall_ns,
					      .triggered_ns = m->now_ns };
	if (id > m->newest_id)
		m->newest_id = id;
	c->file = calloc(cores, sizeof(*c->file));
	c->file_told = calloc(cores, sizeof(*c->file_told));
	c->hooks = calloc(m->cfg.hook_cnt + 1, sizeof(*c->hooks));
	c->opcoord = calloc(m->cfg.enumerator_cnt + 1, sizeof(*c->opcoord));
	c->segments = calloc(cores, sizeof(*c->segments));
	c->acks = calloc(m->cfg.rt->cfg.plan->subtask_cnt, sizeof(*c->acks));
	WEIR_ASSERT(c->acks != NULL);
	WEIR_ASSERT(c->file != NULL);
	WEIR_ASSERT(c->opcoord != NULL);
	WEIR_ASSERT(c->hooks != NULL);
	WEIR_ASSERT(c->file_told != NULL);
	WEIR_ASSERT(c->segments != NULL);
	m->checkpoints = c;
	if (c->kind == WEIR_REQUEST_FULL)
		weir_master_order_full(m, id);
	m->counts.triggered++;
	return c;
}

void
weir_master_checkpoint_free(struct weir_master *m, struct weir_master_checkpoint *c)
{
	struct weir_master_checkpoint **at = &m->checkpoints;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	for (uint32_t k = 0; k < m->cfg.rt->cfg.plan->core_cnt; k++)
		weir_master_segments_free(c->segments[k]);
	for (uint32_t i = 0; i < m->cfg.rt->cfg.plan->subtask_cnt; i++)
		weir_master_ack_free(c->acks[i]);
	for (uint32_t i = 0; i < m->cfg.enumerator_cnt; i++)
		free(c->opcoord[i].bytes);
	free(c->opcoord);
	for (uint32_t i = 0; i < m->cfg.hook_cnt; i++)
		free((void *)(uintptr_t)c->hooks[i].bytes);
	free(c->hooks);
	free(c->acks);
	free(c->segments);
	free(c->file);
	free(c->file_told);
	free(c);
}

/* Files that came when none of the core's tasks had acknowledged: the coordinator never heard of
 * them. */
static void
delete_untold(struct weir_master *m, const struct weir_master_checkpoint *c)
{
	for (uint32_t k = 0; k < m->cfg.rt->cfg.plan->core_cnt; k++)
		if (c->file[k] != 0 && !c->file_told[k]) {
			const uint64_t number = c->file[k] - 1;

			weir_master_delete(m, 0, &number, 1, false);
		}
}

/* K16: what the subtask that acknowledged last measured, with what comes before and behind it. */
static void
describe_phases(const struct weir_master *m, const struct weir_master_checkpoint *c,
		struct weir_checkpoint_done *d)
{
	struct weir_subtask_done last = { 0 };

	weir_master_phases(c, &c->last, &last);
	d->frames = c->frames;
	d->persisted_bytes = c->persisted_bytes;
	d->prepare_ns = c->triggered_ns - c->trigger_ns;
	d->start_delay_ns = last.start_delay_ns;
	d->alignment_ns = last.alignment_ns;
	d->sync_ns = last.sync_ns;
	d->async_ns = last.async_ns;
	d->finalize_ns = m->now_ns > c->last.posted_ns ? m->now_ns - c->last.posted_ns : 0;
}

static struct weir_checkpoint_done
describe(const struct weir_master *m, const struct weir_master_checkpoint *c)
{
	return (struct weir_checkpoint_done){ .id = c->id,
					      .kind = kind_text(c),
					      .status = "pending",
					      .reason = "",
					      .trigger_wall_ns = c->trigger_wall_ns,
					      .duration_ns = m->now_ns - c->trigger_ns };
}

void
weir_master_checkpoint_begun(struct weir_master *m, const struct weir_master_checkpoint *c)
{
	const struct weir_checkpoint_done done = describe(m, c);

	if (m->cfg.checkpoint_pending != NULL)
		m->cfg.checkpoint_pending(m->cfg.arg, &done);
}

void
weir_master_checkpoint_acked(struct weir_master *m, const struct weir_master_checkpoint *c)
{
	struct weir_checkpoint_done done = describe(m, c);

	done.bytes = c->bytes;
	done.full_bytes = c->full_bytes;
	describe_phases(m, c, &done);
	if (m->cfg.checkpoint_pending != NULL)
		m->cfg.checkpoint_pending(m->cfg.arg, &done);
}

static void
count_end(struct weir_master *m, const struct weir_checkpoint_done *done, enum weir_reason reason)
{
	if (reason == WEIR_REASON_NONE) {
		m->counts.completed++;
		m->counts.last_id = done->id;
	} else if (weir_reason_counts(reason)) {
		m->counts.failed++;
	} else {
		m->counts.aborted++;
	}
}

void
weir_master_checkpoint_over(struct weir_master *m, uint64_t id, enum weir_reason reason)
{
	struct weir_master_checkpoint *c = weir_master_find(m, id);
	struct weir_checkpoint_done done;
	struct weir_subtask_done *subtasks;

	if (c == NULL)
		return;
	done = describe(m, c);
	done.status = reason == WEIR_REASON_NONE   ? "completed"
		      : weir_reason_counts(reason) ? "failed"
						   : "aborted";
	if (reason == WEIR_REASON_NONE) {
		done.bytes = c->bytes;
		done.full_bytes = c->full_bytes;
		describe_phases(m, c, &done);
	} else {
		done.reason = weir_reason_text(reason);
		delete_untold(m, c);
	}
	count_end(m, &done, reason);
	subtasks = weir_master_subtasks(m, c, &done.subtask_cnt);
	done.subtasks = subtasks;
	if (m->cfg.checkpoint_done != NULL)
		m->cfg.checkpoint_done(m->cfg.arg, &done);
	free(subtasks);
	weir_master_checkpoint_free(m, c);
}
