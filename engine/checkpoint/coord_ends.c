#include "engine/checkpoint/coordinator_priv.h"

#include "engine/base/plant.h"
#include "engine/checkpoint/grow.h"

#include <stdlib.h>

struct weir_pending *
weir_coord_find(const struct weir_coordinator *c, uint64_t id)
{
	for (uint32_t i = 0; i < c->pending_cnt; i++) {
		if (c->pendings[i]->id == id)
			return c->pendings[i];
	}
	return NULL;
}

struct weir_pending *
weir_coord_next(const struct weir_coordinator *c, uint64_t after)
{
	for (uint32_t i = 0; i < c->pending_cnt; i++) {
		if (c->pendings[i]->id > after)
			return c->pendings[i];
	}
	return NULL;
}

static void
detach(struct weir_coordinator *c, const struct weir_pending *p)
{
	for (uint32_t i = 0; i < c->pending_cnt; i++) {
		if (c->pendings[i] != p)
			continue;
		weir_grow_remove(c->pendings, &c->pending_cnt, i, sizeof(struct weir_pending *));
		return;
	}
	WEIR_ASSERT(false);
}

bool
weir_coord_is_expired(const struct weir_coordinator *c, uint64_t id)
{
	uint32_t cnt =
		c->expired_cnt < WEIR_COORD_EXPIRED_MAX ? c->expired_cnt : WEIR_COORD_EXPIRED_MAX;

	for (uint32_t i = 0; i < cnt; i++) {
		if (c->expired[i] == id)
			return true;
	}
	return false;
}

static void
pin(struct weir_coordinator *c, uint64_t key, uint32_t by)
{
	struct weir_registry_entry *e = weir_registry_find(&c->registry, key);

	if (e != NULL)
		e->pin_cnt += by;
}

static void
unpin_keys(struct weir_coordinator *c, const struct weir_pending *p)
{
	for (uint32_t i = 0; i < p->key_cnt; i++)
		pin(c, p->keys[i].key, -1U);
}

/* A claimed snapshot's files are registered and pinned; afterwards only its pins change. */
static void
pin_snapshot(struct weir_coordinator *c, const struct weir_snapshot *snap, uint32_t by)
{
	struct weir_part_walk walk = { .snapshot = snap };
	const struct weir_part *part;

	if (!snap->claimed)
		return;
	while ((part = weir_part_next(&walk)) != NULL) {
		if (part->kind != WEIR_PART_PRIVATE)
			pin(c, part->key, by);
	}
}

void
weir_coord_register_snapshot(struct weir_coordinator *c, const struct weir_snapshot *snap)
{
	struct weir_part_walk walk = { .snapshot = snap };
	const struct weir_part *part;
	uint64_t old;

	if (!snap->claimed)
		return;
	while ((part = weir_part_next(&walk)) != NULL) {
		bool known;

		if (part->kind == WEIR_PART_PRIVATE)
			continue;
		known = weir_registry_find(&c->registry, part->key) != NULL;
		(void)weir_registry_upload(&c->registry, part->key, part->file, snap->id, true,
					   &old);
		if (!known && snap->external && weir_request_is_savepoint(snap->kind))
			weir_registry_find(&c->registry, part->key)->origin = snap->id;
	}
	pin_snapshot(c, snap, 1);
}

void
weir_coord_count_failure(struct weir_coordinator *c, uint64_t id, enum weir_request_kind kind,
			 enum weir_reason reason, const struct weir_attempt *by)
{
	struct weir_failure failure = {
		.id = id,
		.reason = reason,
		.kind = weir_request_is_sync(kind)	  ? WEIR_FAILED_SYNC_SAVEPOINT
			: weir_request_is_savepoint(kind) ? WEIR_FAILED_SAVEPOINT
							  : WEIR_FAILED_CHECKPOINT,
		.has_task = by != NULL,
	};
	enum weir_failure_verdict verdict = weir_failures_failed(&c->failures, &failure);
	struct weir_coord_update *u;

	if (verdict == WEIR_FAILURE_GO_ON)
		return;
	u = weir_coord_emit(c, WEIR_COORD_DO_FAIL_JOB, id);
	u->fail.reason = reason;
	if (verdict == WEIR_FAILURE_FAIL_JOB_BY_TASK) {
		u->fail.has_task = true;
		u->fail.task = *by;
	}
}

static void
tell_abort(struct weir_coordinator *c, const struct weir_pending *p, enum weir_reason reason)
{
	const struct weir_snapshot *latest = weir_store_latest(&c->store);
	struct weir_coord_attempts to = weir_coord_current(c, p->plan.wait, p->plan.wait_cnt);
	struct weir_coord_update *u = weir_coord_emit(c, WEIR_COORD_DO_ABORT, p->id);

	u->abort.latest = latest != NULL ? latest->id : 0;
	u->abort.reason = reason;
	u->abort.to = to;
	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++) {
		if (c->valves[i].asked < p->id)
			continue;
		weir_coord_emit(c, WEIR_COORD_DO_ABORT_OPCOORD, p->id)->which = i;
		weir_coord_open_valves(c, i, p->id);
	}
}

static void
write_later(struct weir_coordinator *c, struct weir_pending *p)
{
	c->writing = weir_grow(c->writing, &c->writing_cap, c->writing_cnt + 1,
			       sizeof(struct weir_pending *));
	c->writing[c->writing_cnt++] = p;
}

/* What becomes of an aborted checkpoint's manifest and files. */
enum leftovers {
	LEFT_DELETE,
	LEFT_WRITING, /* delete when the write has ended */
	LEFT_DOUBT,   /* the manifest may exist: keep all it names */
};

/* K7: the manifest may exist, so nothing it names may go. */
static void
doubt(struct weir_coordinator *c, const struct weir_pending *p)
{
	uint64_t *files = weir_coord_alloc(c, p->key_cnt, sizeof(*files));

	for (uint32_t i = 0; i < p->key_cnt; i++)
		files[i] = p->keys[i].file;
	weir_registry_doubt(&c->registry, p->id, files, p->key_cnt);
}

/* K8: the order of what the others see is part of the contract. */
static void
abort_with(struct weir_coordinator *c, struct weir_pending *p, enum weir_reason reason,
	   const struct weir_attempt *by, enum leftovers left)
{
	detach(c, p);
	if (weir_coord_preparing(c, p->id))
		weir_coord_prep_cancel(c);
	unpin_keys(c, p);
	if (left == LEFT_DOUBT)
		doubt(c, p);
	if (reason == WEIR_REASON_CHECKPOINT_EXPIRED) /* C19 */
		c->expired[c->expired_cnt++ % WEIR_COORD_EXPIRED_MAX] = p->id;
	weir_coord_emit_promise(c, &p->request, reason, p->id);
	if (left == LEFT_DELETE)
		weir_coord_emit_delete(c, p->snap);
	weir_coord_count_failure(c, p->id, p->request.kind, reason, by);
	weir_coord_stats_end(&c->stats, p->id, reason, c->now);
	if (left == LEFT_WRITING)
		write_later(c, p);
	tell_abort(c, p, reason);
	if (left != LEFT_WRITING)
		weir_pending_free(p);
}

void
weir_coord_abort(struct weir_coordinator *c, struct weir_pending *p, enum weir_reason reason,
		 const struct weir_attempt *by)
{
	abort_with(c, p, reason, by, p->finalizing ? LEFT_WRITING : LEFT_DELETE);
}

void
weir_coord_abort_all(struct weir_coordinator *c, enum weir_reason reason)
{
	struct weir_pending *p;
	uint64_t after = 0;

	/* An abort may let another one go on or even complete, so look anew each time. */
	while ((p = weir_coord_next(c, after)) != NULL) {
		after = p->id;
		weir_coord_abort(c, p, reason, NULL);
	}
}

/* ---- completion ------------------------------------------------------------------------------ */

/* A claimed savepoint's directory goes when no registered file is left in it (S6). */
static void
delete_lingering(struct weir_coordinator *c)
{
	struct weir_snapshot_list *l = &c->store.lingering;

	for (uint32_t i = 0; i < l->cnt;) {
		struct weir_snapshot *snap;

		if (weir_registry_uses_origin(&c->registry, l->list[i]->id)) {
			i++;
			continue;
		}
		snap = weir_snapshot_list_take(l, i);
		weir_coord_emit_delete(c, snap);
		weir_snapshot_free(snap);
	}
}

/* No longer retained: it waits among the lingering ones until it may be deleted. */
static void
let_go(struct weir_coordinator *c, struct weir_snapshot *snap)
{
	if (!snap->claimed) {
		weir_snapshot_free(snap);
		return;
	}
	pin_snapshot(c, snap, -1U);
	weir_snapshot_list_add(&c->store.lingering, snap);
}

static void
discard_below(struct weir_coordinator *c, uint64_t id)
{
	uint64_t *files = weir_coord_alloc(c, c->registry.cnt, sizeof(*files));
	uint32_t cnt = weir_registry_sweep_below(&c->registry, id, files);

	weir_coord_emit_discard(c, files, cnt);
}

/* K4, K10. Returns the newest subsumed id, 0 for none. */
static uint64_t
retain(struct weir_coordinator *c, struct weir_snapshot *snap)
{
	struct weir_snapshot *old;
	uint64_t subsumed = 0;

	weir_snapshot_list_add(&c->store.completed, snap);
	while ((old = weir_store_subsume(&c->store)) != NULL) {
		if (old->claimed)
			subsumed = old->id;
		let_go(c, old);
	}
	discard_below(c, weir_store_lowest_claimed(&c->store));
	delete_lingering(c);
	c->force_full = false; /* S6 */
	return subsumed;
}

/* K6: savepoints are never subsumed. */
static void
abort_older(struct weir_coordinator *c, uint64_t id)
{
	struct weir_pending *p;
	uint64_t after = 0;

	while ((p = weir_coord_next(c, after)) != NULL && p->id < id) {
		after = p->id;
		if (!weir_request_is_savepoint(p->request.kind) && !WEIR_PLANT(OLDER_STAYS))
			weir_coord_abort(c, p, WEIR_REASON_CHECKPOINT_SUBSUMED, NULL);
	}
}

static void
tell_complete(struct weir_coordinator *c, const struct weir_pending *p, int64_t timestamp_ms,
	      uint64_t subsumed)
{
	struct weir_coord_attempts to = weir_coord_current(c, p->plan.wait, p->plan.wait_cnt);
	struct weir_coord_update *u = weir_coord_emit(c, WEIR_COORD_DO_COMPLETE, p->id);

	u->complete.timestamp_ms = timestamp_ms;
	u->complete.subsumed = subsumed;
	u->complete.to = to;
	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++) {
		weir_coord_emit(c, WEIR_COORD_DO_COMPLETE_OPCOORD, p->id)->which = i;
		weir_coord_open_valves(c, i, p->id);
	}
}

/* K4 and, for savepoints, K5. */
static void
complete(struct weir_coordinator *c, struct weir_pending *p)
{
	enum weir_request_kind kind = p->request.kind;
	struct weir_snapshot *snap = p->snap;
	uint64_t subsumed = 0;

	detach(c, p);
	p->snap = NULL;
	c->last_completion = c->now;
	weir_failures_succeeded(&c->failures, p->id);
	weir_registry_settle(&c->registry, p->id); /* K7: an older doubtful manifest is of no use */
	weir_coord_stats_end(&c->stats, p->id, WEIR_REASON_NONE, c->now);
	if (weir_request_is_savepoint(kind) && !WEIR_PLANT(SAVEPOINT_STORED))
		weir_snapshot_list_add(&c->store.savepoints, snap);
	else
		subsumed = retain(c, snap);
	weir_coord_emit_promise(c, &p->request, WEIR_REASON_NONE, p->id);
	if (kind != WEIR_REQUEST_SAVEPOINT || WEIR_PLANT(SAVEPOINT_TOLD)) {
		abort_older(c, p->id);
		tell_complete(c, p, snap->timestamp_ms, subsumed);
	}
	weir_pending_free(p);
}

/* Keys become files now: an older checkpoint may get a newer upload of the same key. */
static void
resolve_keys(struct weir_coordinator *c, struct weir_pending *p)
{
	for (uint32_t t = 0; t < p->snap->task_cnt; t++) {
		struct weir_part *parts = (struct weir_part *)p->tasks[t].parts;

		for (uint32_t i = 0; i < p->tasks[t].part_cnt; i++) {
			struct weir_registry_entry *e;

			if (parts[i].kind == WEIR_PART_PRIVATE)
				continue;
			e = weir_registry_find(&c->registry, parts[i].key);
			if (e == NULL)
				continue;
			e->pin_cnt++;
			parts[i].file = e->file;
			p->keys = weir_grow(p->keys, &p->key_cap, p->key_cnt + 1, sizeof(*p->keys));
			p->keys[p->key_cnt++] = (struct weir_pending_key){ e->key, e->file };
		}
	}
}

void
weir_coord_check_complete(struct weir_coordinator *c, struct weir_pending *p)
{
	if (!p->triggered || p->finalizing || !weir_pending_is_complete(p)) /* K3 */
		return;
	p->expires = false;
	if (weir_pending_breaks_union(p, &c->cfg.graph)) { /* T30 */
		weir_coord_abort(c, p, WEIR_REASON_CHECKPOINT_DECLINED_TASK_CLOSING, NULL);
		return;
	}
	p->finalizing = true;
	if (!weir_request_is_savepoint(p->request.kind))
		resolve_keys(c, p);
	if (weir_coord_asks(c, WEIR_COORD_STAGE_FINALIZE))
		weir_coord_emit(c, WEIR_COORD_DO_NEED_FINALIZE, p->id);
	if (WEIR_PLANT(COMPLETE_EARLY) || !weir_coord_asks(c, WEIR_COORD_STAGE_FINALIZE))
		complete(c, p);
}

/* The manifest of a checkpoint that was aborted meanwhile: true if it was one. */
static bool
end_of_aborted_write(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	for (uint32_t i = 0; i < c->writing_cnt; i++) {
		struct weir_pending *p = c->writing[i];

		if (p->id != e->answer.id)
			continue;
		weir_grow_remove(c->writing, &c->writing_cnt, i, sizeof(struct weir_pending *));
		if (e->answer.result == WEIR_COORD_UNKNOWN)
			doubt(c, p);
		else
			weir_coord_emit_delete(c, p->snap);
		weir_pending_free(p);
		return true;
	}
	return false;
}

bool
weir_coord_on_finalized(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	struct weir_pending *p = weir_coord_find(c, e->answer.id);

	if (end_of_aborted_write(c, e))
		return true;
	if (p == NULL || !p->finalizing)
		return false;
	if (e->answer.result == WEIR_COORD_OK)
		complete(c, p);
	else
		abort_with(c, p, WEIR_REASON_FINALIZE_CHECKPOINT_FAILURE, NULL, /* K7 */
			   e->answer.result == WEIR_COORD_UNKNOWN ? LEFT_DOUBT : LEFT_DELETE);
	return true;
}

bool
weir_coord_on_deleted(struct weir_coordinator *c, uint64_t id)
{
	for (uint32_t i = 0; i < c->deleting_cnt; i++) {
		if (c->deleting[i] != id)
			continue;
		weir_grow_remove(c->deleting, &c->deleting_cnt, i, sizeof(*c->deleting));
		return true;
	}
	return false;
}

bool
weir_coord_on_abort(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	struct weir_pending *p = weir_coord_find(c, e->message.id);

	if (p == NULL)
		return false;
	if (weir_request_is_savepoint(p->request.kind) &&
	    e->reason == WEIR_REASON_CHECKPOINT_SUBSUMED)
		return false;
	if (!p->finalizing)
		weir_coord_abort(c, p, e->reason, NULL);
	return true;
}

/* S5 */
static bool
keeps_all(const struct weir_coordinator *c)
{
	switch (c->cfg.retention) {
	case WEIR_RETENTION_ALWAYS:
		return true;
	case WEIR_RETENTION_NEVER:
		return false;
	case WEIR_RETENTION_ON_FAILURE:
		return c->job_state == WEIR_COORD_JOB_FAILED;
	case WEIR_RETENTION_ON_CANCEL:
		return c->job_state == WEIR_COORD_JOB_FAILED ||
		       c->job_state == WEIR_COORD_JOB_CANCELED;
	}
	return true;
}

void
weir_coord_end_of_job(struct weir_coordinator *c)
{
	uint64_t *files = weir_coord_alloc(c, c->registry.cnt, sizeof(*files));
	uint32_t cnt;

	for (uint32_t i = 0; !keeps_all(c) && i < c->store.completed.cnt;) {
		if (!c->store.completed.list[i]->claimed)
			i++; /* S6: never deleted */
		else
			let_go(c, weir_snapshot_list_take(&c->store.completed, i));
	}
	cnt = weir_registry_sweep_unpinned(&c->registry, files);
	weir_coord_emit_discard(c, files, cnt);
	delete_lingering(c);
}
