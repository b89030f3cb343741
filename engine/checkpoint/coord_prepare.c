#include "engine/checkpoint/coordinator_priv.h"

#include "engine/checkpoint/grow.h"

#include <stdlib.h>
#include <string.h>

/*
 * Preparation chain (C12). Each stage either asks the caller, and goes on when the answer comes,
 * or is answered at once:
 *
 *   plan -> id -> storage -> operator coordinators -> hooks -> trigger messages
 *
 * From the id on there is a pending checkpoint, which can be aborted; that ends the
 * preparation. What was asked by then will still be answered, and must be swallowed once.
 */

static void ask_opcoords(struct weir_coordinator *c);
static void ask_hooks(struct weir_coordinator *c);

static void
prep_end(struct weir_coordinator *c)
{
	weir_trigger_plan_fini(&c->prep.plan);
	free(c->prep.attempts);
	free(c->prep.answered);
	c->prep = (struct weir_prep){ 0 };
}

static void
swallow_later(struct weir_coordinator *c, enum weir_coord_stage stage, uint32_t which, uint64_t id)
{
	if (!weir_coord_asks(c, stage))
		return;
	c->swallows =
		weir_grow(c->swallows, &c->swallow_cap, c->swallow_cnt + 1, sizeof(*c->swallows));
	c->swallows[c->swallow_cnt++] =
		(struct weir_swallow){ .stage = stage, .which = which, .id = id };
}

static uint32_t
stage_width(const struct weir_coordinator *c, enum weir_coord_stage stage)
{
	if (stage == WEIR_COORD_STAGE_OPCOORD)
		return c->cfg.opcoord_cnt;
	return stage == WEIR_COORD_STAGE_HOOK ? c->cfg.hook_cnt : 1;
}

void
weir_coord_prep_cancel(struct weir_coordinator *c)
{
	struct weir_prep *prep = &c->prep;
	uint64_t id = prep->pending != NULL ? prep->pending->id : 0;
	uint32_t width = stage_width(c, prep->stage);

	WEIR_ASSERT(prep->active);
	for (uint32_t i = 0; i < width; i++) {
		if (!prep->answered[i])
			swallow_later(c, prep->stage, i, id);
	}
	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++)
		weir_valve_forget_snapshot(&c->valves[i]);
	prep_end(c);
}

bool
weir_coord_preparing(const struct weir_coordinator *c, uint64_t id)
{
	return c->prep.active && c->prep.pending != NULL && c->prep.pending->id == id;
}

/* C9, K9: before there is an id only the request fails. */
static void
fail_request(struct weir_coordinator *c, enum weir_reason reason)
{
	struct weir_request request = c->prep.request;

	prep_end(c);
	weir_coord_emit_promise(c, &request, reason, 0);
	weir_coord_count_failure(c, 0, request.kind, reason, NULL);
}

/* K9: the valves of this id open first, then it is aborted like any other. */
static void
fail_pending(struct weir_coordinator *c, enum weir_reason reason)
{
	uint64_t id = c->prep.pending->id;
	struct weir_pending *p;

	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++)
		weir_coord_open_valves(c, i, id);
	p = weir_coord_find(c, id);
	if (p != NULL)
		weir_coord_abort(c, p, reason, NULL);
}

static enum weir_reason
stage_reason(enum weir_coord_result result)
{
	return result == WEIR_COORD_FAILED_IO ? WEIR_REASON_IO_EXCEPTION
					      : WEIR_REASON_TRIGGER_CHECKPOINT_FAILURE;
}

/* Enter a stage; true if the caller will answer it. */
static bool
enter(struct weir_coordinator *c, enum weir_coord_stage stage)
{
	free(c->prep.answered);
	c->prep.answered = weir_grow_alloc(stage_width(c, stage), 1);
	c->prep.stage = stage;
	return weir_coord_asks(c, stage);
}

/* C17 */
static enum weir_alignment
alignment_of(const struct weir_coordinator *c, enum weir_request_kind kind)
{
	if (c->cfg.at_least_once)
		return WEIR_ALIGNMENT_AT_LEAST_ONCE;
	if (weir_request_is_savepoint(kind) || !c->cfg.unaligned)
		return WEIR_ALIGNMENT_ALIGNED;
	return c->cfg.aligned_timeout_ms == 0 ? WEIR_ALIGNMENT_UNALIGNED : WEIR_ALIGNMENT_TIMEOUT;
}

/* C16 */
static void
send_triggers(struct weir_coordinator *c)
{
	struct weir_pending *p = c->prep.pending;
	uint32_t cnt = p->plan.trigger_cnt;
	struct weir_attempt *to = weir_coord_alloc(c, cnt, sizeof(*to));
	struct weir_coord_update *u = weir_coord_emit(c, WEIR_COORD_DO_TRIGGER, p->id);

	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t task = p->plan.trigger[i];

		to[i] = (struct weir_attempt){ task, p->attempts[task] };
	}
	u->trigger.kind = p->request.kind;
	if (u->trigger.kind == WEIR_REQUEST_CHECKPOINT && c->force_full) /* S6 */
		u->trigger.kind = WEIR_REQUEST_FULL;
	u->trigger.alignment = alignment_of(c, p->request.kind);
	u->trigger.timeout_ms = c->cfg.aligned_timeout_ms;
	u->trigger.timestamp_ms = p->snap->timestamp_ms;
	u->trigger.location = p->snap->location;
	u->trigger.to = (struct weir_coord_attempts){ .list = to, .cnt = cnt };
	p->triggered = true;
	weir_coord_stats_triggered(&c->stats, p->id, c->now);
	prep_end(c);
	weir_coord_check_complete(c, p); /* C18 */
}

static void
hook_ok(struct weir_coordinator *c, uint32_t which, bool has_state, uint64_t state)
{
	struct weir_pending *p = c->prep.pending;

	c->prep.answered[which] = 1;
	p->hook_done[which] = 1;
	p->hooks[which] = (struct weir_hook_snapshot){ .has_state = has_state, .state = state };
	p->hook_left--;
}

static void
ask_hooks(struct weir_coordinator *c)
{
	uint64_t id = c->prep.pending->id;
	bool ask = enter(c, WEIR_COORD_STAGE_HOOK);

	for (uint32_t i = 0; i < c->cfg.hook_cnt; i++) {
		if (ask)
			weir_coord_emit(c, WEIR_COORD_DO_NEED_HOOK, id)->which = i;
		else
			hook_ok(c, i, false, 0);
	}
	if (c->prep.pending->hook_left == 0)
		send_triggers(c);
}

void
weir_coord_prep_opcoord_check(struct weir_coordinator *c, uint32_t which)
{
	struct weir_prep *prep = &c->prep;
	struct weir_valve *v = &c->valves[which];

	if (!prep->active || prep->stage != WEIR_COORD_STAGE_OPCOORD || !prep->answered[which] ||
	    prep->pending->opcoord_done[which])
		return;
	if (v->lost) {
		fail_pending(c, WEIR_REASON_TRIGGER_CHECKPOINT_FAILURE);
		return;
	}
	if (v->awaited_cnt > 0)
		return;
	weir_valve_forget_snapshot(v);
	prep->pending->opcoord_done[which] = 1;
	if (--prep->pending->opcoord_left == 0)
		ask_hooks(c);
}

/* K14: its snapshot is taken: what it sends from now on belongs behind the barrier. */
static void
opcoord_ok(struct weir_coordinator *c, uint32_t which)
{
	c->prep.answered[which] = 1;
	weir_valve_close(&c->valves[which], c->prep.pending->id);
	weir_coord_prep_opcoord_check(c, which);
}

static void
ask_opcoords(struct weir_coordinator *c)
{
	uint64_t id = c->prep.pending->id;
	bool ask = enter(c, WEIR_COORD_STAGE_OPCOORD);

	if (c->cfg.opcoord_cnt == 0) {
		ask_hooks(c);
		return;
	}
	for (uint32_t i = 0; i < c->cfg.opcoord_cnt; i++) {
		c->valves[i].asked = id;
		if (ask)
			weir_coord_emit(c, WEIR_COORD_DO_NEED_OPCOORD, id)->which = i;
	}
	for (uint32_t i = 0; !ask && i < c->cfg.opcoord_cnt; i++)
		opcoord_ok(c, i);
}

static void
ask_storage(struct weir_coordinator *c)
{
	struct weir_pending *p = c->prep.pending;
	struct weir_coord_update *u;

	if (!enter(c, WEIR_COORD_STAGE_STORAGE)) {
		ask_opcoords(c);
		return;
	}
	u = weir_coord_emit(c, WEIR_COORD_DO_NEED_STORAGE, p->id);
	u->storage.savepoint = weir_request_is_savepoint(p->request.kind);
	u->storage.target = p->request.target;
}

static void
id_ok(struct weir_coordinator *c)
{
	struct weir_prep *prep = &c->prep;
	struct weir_pending *p;

	p = weir_pending_create(c->next_id++, &prep->request, &prep->plan, prep->attempts,
				c->task_cnt, c->cfg.opcoord_cnt, c->cfg.hook_cnt);
	p->snap->timestamp_ms = prep->started;
	p->expires = true; /* C19 */
	p->due = c->now + c->cfg.timeout_ms;
	p->timer_seq = ++c->timer_seq_last;
	prep->pending = p;
	c->pendings = weir_grow(c->pendings, &c->pending_cap, c->pending_cnt + 1,
				sizeof(struct weir_pending *));
	c->pendings[c->pending_cnt++] = p;
	weir_coord_stats_begin(&c->stats, p->id, p->request.kind, prep->started);
	ask_storage(c);
}

static void
ask_id(struct weir_coordinator *c)
{
	if (enter(c, WEIR_COORD_STAGE_ID))
		weir_coord_emit(c, WEIR_COORD_DO_NEED_ID, c->next_id)->request = c->prep.request;
	else
		id_ok(c);
}

static void
plan_ok(struct weir_coordinator *c)
{
	enum weir_reason reason = weir_trigger_plan_make(&c->cfg.graph, c->states,
							 c->cfg.finished_tasks, &c->prep.plan);

	if (reason != WEIR_REASON_NONE) {
		fail_request(c, reason);
		return;
	}
	c->prep.attempts = weir_grow_copy(c->attempts, c->task_cnt, sizeof(*c->attempts));
	ask_id(c);
}

void
weir_coord_prepare(struct weir_coordinator *c, const struct weir_request *request)
{
	WEIR_ASSERT(!c->prep.active);
	c->prep = (struct weir_prep){ .active = true, .request = *request, .started = c->now };
	if (request->periodic && !c->scheduler_on) {
		fail_request(c, WEIR_REASON_PERIODIC_SCHEDULER_SHUTDOWN);
		return;
	}
	if (enter(c, WEIR_COORD_STAGE_PLAN))
		weir_coord_emit(c, WEIR_COORD_DO_NEED_PLAN, 0);
	else
		plan_ok(c);
}

static enum weir_coord_stage
stage_of(enum weir_coord_event_kind kind)
{
	switch (kind) {
	case WEIR_COORD_PLAN_ANSWER:
		return WEIR_COORD_STAGE_PLAN;
	case WEIR_COORD_ID_ANSWER:
		return WEIR_COORD_STAGE_ID;
	case WEIR_COORD_STORAGE_ANSWER:
		return WEIR_COORD_STAGE_STORAGE;
	case WEIR_COORD_OPCOORD_ANSWER:
		return WEIR_COORD_STAGE_OPCOORD;
	default:
		WEIR_ASSERT(kind == WEIR_COORD_HOOK_ANSWER);
		return WEIR_COORD_STAGE_HOOK;
	}
}

static bool
has_width(enum weir_coord_stage stage)
{
	return stage == WEIR_COORD_STAGE_OPCOORD || stage == WEIR_COORD_STAGE_HOOK;
}

static bool
has_id(enum weir_coord_stage stage)
{
	return stage != WEIR_COORD_STAGE_PLAN && stage != WEIR_COORD_STAGE_ID;
}

/* An answer for a preparation that is no more: true if it was one. */
static bool
swallow(struct weir_coordinator *c, enum weir_coord_stage stage, const struct weir_coord_event *e)
{
	uint64_t id = has_id(stage) ? e->answer.id : 0;
	uint32_t which = has_width(stage) ? e->answer.which : 0;

	for (uint32_t i = 0; i < c->swallow_cnt; i++) {
		const struct weir_swallow *s = &c->swallows[i];

		if (s->stage != stage || s->which != which || s->id != id)
			continue;
		weir_grow_remove(c->swallows, &c->swallow_cnt, i, sizeof(*c->swallows));
		if (stage == WEIR_COORD_STAGE_ID && e->answer.result == WEIR_COORD_OK)
			c->next_id++; /* C20: the counter has moved, the number is lost */
		if (stage == WEIR_COORD_STAGE_STORAGE && e->answer.result == WEIR_COORD_OK)
			weir_coord_emit(c, WEIR_COORD_DO_DROP_LOCATION, id)->storage.location =
				e->answer.location;
		return true;
	}
	return false;
}

static bool
is_awaited(const struct weir_coordinator *c, enum weir_coord_stage stage,
	   const struct weir_coord_event *e)
{
	const struct weir_prep *prep = &c->prep;
	uint32_t which = has_width(stage) ? e->answer.which : 0;

	if (!prep->active || prep->stage != stage || which >= stage_width(c, stage))
		return false;
	if (has_id(stage) && prep->pending->id != e->answer.id)
		return false;
	return !prep->answered[which];
}

static void
go_on(struct weir_coordinator *c, enum weir_coord_stage stage, const struct weir_coord_event *e)
{
	uint32_t which = e->answer.which;

	switch (stage) {
	case WEIR_COORD_STAGE_PLAN:
		plan_ok(c);
		break;
	case WEIR_COORD_STAGE_ID:
		id_ok(c);
		break;
	case WEIR_COORD_STAGE_STORAGE:
		c->prep.pending->snap->location = e->answer.location;
		ask_opcoords(c);
		break;
	case WEIR_COORD_STAGE_OPCOORD:
		opcoord_ok(c, which);
		break;
	default:
		hook_ok(c, which, e->answer.has_state, e->answer.state);
		if (c->prep.pending->hook_left == 0)
			send_triggers(c);
		break;
	}
}

bool
weir_coord_on_answer(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	enum weir_coord_stage stage = stage_of(e->kind);

	if (!weir_coord_asks(c, stage))
		return false;
	/* Of two plans or ids under way the one that was asked for first answers first. */
	if (swallow(c, stage, e))
		return true;
	if (!is_awaited(c, stage, e))
		return false;
	if (e->answer.result == WEIR_COORD_OK) {
		go_on(c, stage, e);
		return true;
	}
	c->prep.answered[has_width(stage) ? e->answer.which : 0] = 1;
	if (has_id(stage))
		fail_pending(c, stage_reason(e->answer.result));
	else
		fail_request(c, stage_reason(e->answer.result));
	return true;
}
