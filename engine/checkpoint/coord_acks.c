#include "engine/checkpoint/coordinator_priv.h"

#include "engine/base/plant.h"
#include "engine/checkpoint/grow.h"

/* Counted already for a pending, retained or savepoint id (K1). */
static bool
is_duplicate(const struct weir_coordinator *c, uint64_t id, struct weir_attempt from)
{
	const struct weir_pending *p = weir_coord_find(c, id);
	const struct weir_snapshot *s = p != NULL ? p->snap : NULL;

	if (s == NULL)
		s = weir_snapshot_list_find(&c->store.completed, id);
	if (s == NULL)
		s = weir_snapshot_list_find(&c->store.savepoints, id);
	return s != NULL && !WEIR_PLANT(ACK_TWICE) && weir_snapshot_has_ack(s, from);
}

static bool
refers_to_unknown(const struct weir_coordinator *c, const struct weir_coord_event *e)
{
	for (uint32_t i = 0; i < e->ack.part_cnt; i++) {
		const struct weir_part *part = &e->ack.parts[i];

		if (part->kind == WEIR_PART_REF &&
		    weir_registry_find(&c->registry, part->key) == NULL)
			return true;
	}
	return false;
}

static enum weir_ack_outcome
outcome_of(const struct weir_coordinator *c, const struct weir_coord_event *e)
{
	const struct weir_pending *p = weir_coord_find(c, e->ack.id);

	if (c->shutdown)
		return WEIR_ACK_SHUTDOWN;
	if (e->ack.job != c->cfg.job)
		return WEIR_ACK_OTHER_JOB;
	if (is_duplicate(c, e->ack.id, e->ack.from))
		return WEIR_ACK_DUPLICATE;
	if (p == NULL)
		return weir_coord_is_expired(c, e->ack.id) ? WEIR_ACK_EXPIRED : WEIR_ACK_LATE;
	if (!weir_pending_awaits(p, e->ack.from))
		return WEIR_ACK_UNKNOWN;
	return refers_to_unknown(c, e) ? WEIR_ACK_BROKEN : WEIR_ACK_SUCCESS;
}

/* K2: what is uploaded is registered first, whoever sent it; what is used by nobody goes. */
static void
register_parts(struct weir_coordinator *c, const struct weir_coord_event *e, bool expected)
{
	for (uint32_t i = 0; i < e->ack.part_cnt; i++) {
		const struct weir_part *part = &e->ack.parts[i];
		enum weir_registry_upload upload;
		uint64_t unused = part->file;

		if (part->kind == WEIR_PART_PRIVATE)
			continue;
		if (part->kind == WEIR_PART_REF) {
			/* An unexpected reference to a file that is gone says nothing. */
			(void)weir_registry_use(&c->registry, part->key, e->ack.id);
			continue;
		}
		upload = weir_registry_upload(&c->registry, part->key, part->file, e->ack.id,
					      expected, &unused);
		if (upload != WEIR_REGISTRY_KEPT && !weir_registry_in_doubt(&c->registry, unused))
			weir_coord_emit_discard(c, &unused, 1);
	}
}

static void
discard_private(struct weir_coordinator *c, const struct weir_coord_event *e, bool savepoint)
{
	uint64_t *files = weir_coord_alloc(c, e->ack.part_cnt, sizeof(*files));
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < e->ack.part_cnt; i++) {
		const struct weir_part *part = &e->ack.parts[i];

		if (part->kind == WEIR_PART_PRIVATE ||
		    (savepoint && part->kind == WEIR_PART_SHARED &&
		     !weir_registry_in_doubt(&c->registry, part->file))) /* K7 */
			files[cnt++] = part->file;
	}
	weir_coord_emit_discard(c, files, cnt);
}

static void
accept(struct weir_coordinator *c, struct weir_pending *p, const struct weir_coord_event *e)
{
	weir_pending_ack(p, e->ack.from, e->ack.parts, e->ack.part_cnt, e->ack.operators_finished,
			 e->ack.finished_on_restore);
	weir_coord_stats_ack(&c->stats, p->id, e->ack.from, &e->ack.metrics, c->now);
	weir_coord_check_complete(c, p);
}

bool
weir_coord_on_ack(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	struct weir_pending *p = weir_coord_find(c, e->ack.id);
	bool savepoint = p != NULL && weir_request_is_savepoint(p->request.kind);
	enum weir_ack_outcome outcome = outcome_of(c, e);

	weir_coord_emit(c, WEIR_COORD_DO_ACK, e->ack.id)->ack_outcome = outcome;
	c->stats.acks[outcome]++;
	if (outcome <= WEIR_ACK_DUPLICATE)
		return true;
	if (!savepoint && (outcome == WEIR_ACK_SUCCESS || !WEIR_PLANT(ACK_LATE)))
		register_parts(c, e, outcome == WEIR_ACK_SUCCESS);
	if (outcome == WEIR_ACK_SUCCESS) {
		accept(c, p, e);
		return true;
	}
	discard_private(c, e, savepoint);
	if (outcome == WEIR_ACK_BROKEN)
		weir_coord_abort(c, p, WEIR_REASON_CHECKPOINT_ASYNC_EXCEPTION, &e->ack.from);
	return true;
}

bool
weir_coord_on_decline(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	struct weir_pending *p = weir_coord_find(c, e->message.id);

	if (c->shutdown || e->message.job != c->cfg.job || p == NULL || p->finalizing) {
		weir_coord_emit(c, WEIR_COORD_DO_DECLINE_IGNORED, e->message.id);
		c->stats.declines_ignored++;
		return true;
	}
	weir_coord_abort(c, p, e->reason, &e->message.from);
	return true;
}

static bool
was_called(const struct weir_pending *p, struct weir_attempt to)
{
	for (uint32_t i = 0; p->triggered && i < p->plan.trigger_cnt; i++) {
		if (p->plan.trigger[i] == to.task && p->attempts[to.task] == to.attempt)
			return true;
	}
	return false;
}

bool
weir_coord_on_rpc_failed(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	struct weir_pending *p = weir_coord_find(c, e->message.id);

	if (p == NULL || !was_called(p, e->message.from))
		return false;
	if (!p->finalizing)
		weir_coord_abort(c, p, WEIR_REASON_TRIGGER_CHECKPOINT_FAILURE, NULL); /* C21 */
	return true;
}
