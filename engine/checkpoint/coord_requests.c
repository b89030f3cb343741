#include "engine/checkpoint/coordinator_priv.h"

#include "engine/base/plant.h"
#include "engine/checkpoint/grow.h"

/* C10 */
static int64_t
current_interval(const struct weir_coordinator *c)
{
	if (c->backlog_cnt > 0 && c->cfg.backlog_interval_ms != WEIR_COORD_NO_INTERVAL)
		return c->cfg.backlog_interval_ms;
	return c->cfg.interval_ms;
}

static void
arm(struct weir_coordinator *c, int64_t due)
{
	c->timer_armed = true;
	c->timer_due = due;
	c->timer_seq = ++c->timer_seq_last;
}

void
weir_coord_scheduler_start(struct weir_coordinator *c)
{
	uint64_t span = (uint64_t)(c->cfg.interval_ms - c->cfg.min_pause_ms) + 1;
	uint64_t draw;

	if (c->scheduler_on)
		weir_coord_stop_all(c, WEIR_REASON_CHECKPOINT_COORDINATOR_SUSPEND);
	draw = c->cfg.draw != NULL ? c->cfg.draw(c->cfg.draw_arg) : 0;
	c->scheduler_on = true;
	/* C9: jobs that restart together must not hit the disk together. */
	if (current_interval(c) > 0)
		arm(c, c->now + c->cfg.min_pause_ms + (int64_t)(draw % span));
}

static void
fail_queue(struct weir_coordinator *c, enum weir_reason reason)
{
	struct weir_request request;

	while (weir_decider_take(&c->decider, &request))
		weir_coord_emit_promise(c, &request, reason, 0);
}

void
weir_coord_stop_all(struct weir_coordinator *c, enum weir_reason reason)
{
	c->scheduler_on = false;
	c->timer_armed = false;
	fail_queue(c, reason);
	if (c->prep.active && c->prep.pending == NULL) {
		struct weir_request request = c->prep.request;

		weir_coord_prep_cancel(c);
		weir_coord_emit_promise(c, &request, reason, 0);
	}
	weir_coord_abort_all(c, reason);
}

static void
submit(struct weir_coordinator *c, struct weir_request *request)
{
	struct weir_request victim;

	request->time = c->now;
	if (c->shutdown) {
		weir_coord_emit_promise(c, request, WEIR_REASON_CHECKPOINT_COORDINATOR_SHUTDOWN, 0);
	} else if (c->job_state != WEIR_COORD_JOB_RUNNING) {
		weir_coord_emit_promise(c, request, WEIR_REASON_NOT_ALL_REQUIRED_TASKS_RUNNING, 0);
	} else if (weir_decider_add(&c->decider, request, &victim)) { /* C3 */
		weir_coord_emit_promise(c, &victim, WEIR_REASON_TOO_MANY_CHECKPOINT_REQUESTS, 0);
	}
}

static bool
is_forced(const struct weir_coordinator *c, const struct weir_coord_event *e)
{
	if (e->force != WEIR_FORCE_DEFAULT)
		return e->force == WEIR_FORCE_YES;
	return weir_request_is_savepoint(e->request.kind) && !c->cfg.unaligned; /* C7 */
}

bool
weir_coord_on_request(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	struct weir_request request = e->request;

	request.forced = is_forced(c, e);
	request.from_timer = false;
	request.stop = false;
	submit(c, &request);
	return true;
}

bool
weir_coord_on_stop(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	struct weir_request request = e->request;

	WEIR_ASSERT(weir_request_is_sync(request.kind));
	weir_coord_stop_all(c, WEIR_REASON_CHECKPOINT_COORDINATOR_SUSPEND);
	request.forced = is_forced(c, e);
	request.from_timer = false;
	request.stop = true;
	submit(c, &request);
	return true;
}

static void
fire_periodic(struct weir_coordinator *c)
{
	struct weir_request request = {
		.number = ++c->timer_request_cnt,
		.kind = WEIR_REQUEST_CHECKPOINT,
		.periodic = true,
		.from_timer = true,
	};
	struct weir_coord_update *u = weir_coord_emit(c, WEIR_COORD_DO_TIMER, 0);
	int64_t interval = current_interval(c);

	u->timer.due_ms = c->timer_due;
	u->timer.periodic = true;
	/* C9: from due time to due time, and armed again whatever becomes of the request. */
	if (interval > 0)
		arm(c, c->timer_due + interval);
	else
		c->timer_armed = false;
	submit(c, &request);
}

static void
fire_expiry(struct weir_coordinator *c, struct weir_pending *p)
{
	struct weir_coord_update *u = weir_coord_emit(c, WEIR_COORD_DO_TIMER, p->id);

	u->timer.due_ms = p->due;
	weir_coord_abort(c, p, WEIR_REASON_CHECKPOINT_EXPIRED, NULL); /* C19 */
}

/* The expiry that fires first among those due, NULL if none is. */
static struct weir_pending *
first_expiry(const struct weir_coordinator *c)
{
	struct weir_pending *first = NULL;

	for (uint32_t i = 0; i < c->pending_cnt; i++) {
		struct weir_pending *p = c->pendings[i];

		if (!p->expires || p->due > c->now || WEIR_PLANT(EXPIRY))
			continue;
		if (first == NULL || p->due < first->due ||
		    (p->due == first->due && p->timer_seq < first->timer_seq))
			first = p;
	}
	return first;
}

static bool
periodic_goes_first(const struct weir_coordinator *c, const struct weir_pending *p)
{
	if (p == NULL || c->timer_due != p->due)
		return p == NULL || c->timer_due < p->due;
	return c->timer_seq < p->timer_seq;
}

bool
weir_coord_on_tick(struct weir_coordinator *c)
{
	for (;;) {
		struct weir_pending *p = first_expiry(c);
		bool periodic = c->timer_armed && c->timer_due <= c->now;

		if (periodic && periodic_goes_first(c, p))
			fire_periodic(c);
		else if (p != NULL)
			fire_expiry(c, p);
		else
			return true;
		weir_coord_settle(c); /* each timer is an event of its own */
	}
}

bool
weir_coord_on_backlog(struct weir_coordinator *c, const struct weir_coord_event *e)
{
	uint8_t *flag = &c->backlog[e->backlog.opcoord];
	int64_t interval;

	if (*flag != e->backlog.on) {
		*flag = e->backlog.on;
		c->backlog_cnt += e->backlog.on ? 1U : -1U;
	}
	if (!c->scheduler_on)
		return true;
	interval = current_interval(c);
	if (interval <= 0)
		c->timer_armed = false;
	else if (!c->timer_armed || c->now + interval < c->timer_due)
		arm(c, c->now + interval);
	return true;
}

bool
weir_coord_on_scheduler(struct weir_coordinator *c, bool on)
{
	if (!on) {
		weir_coord_stop_all(c, WEIR_REASON_CHECKPOINT_COORDINATOR_SUSPEND);
		return true;
	}
	if (c->cfg.interval_ms == WEIR_COORD_NO_INTERVAL || c->shutdown)
		return false;
	weir_coord_scheduler_start(c);
	return true;
}

static struct weir_decider_view
view_of(const struct weir_coordinator *c)
{
	return (struct weir_decider_view){
		.now = c->now,
		.last_completion = c->last_completion,
		.pending_cnt = c->pending_cnt,
		.cleaning_cnt = c->deleting_cnt,
		.busy = c->prep.active || c->writing_cnt > 0,
	};
}

static void
drop_early(struct weir_coordinator *c, const struct weir_decision *d)
{
	weir_coord_emit_promise(c, &d->request, WEIR_REASON_MINIMUM_TIME_BETWEEN_CHECKPOINTS, 0);
	if (c->scheduler_on && current_interval(c) > 0)
		arm(c, d->rearm); /* C6 */
}

static void
start_again(struct weir_coordinator *c)
{
	c->scheduler_again = false;
	if (c->cfg.interval_ms != WEIR_COORD_NO_INTERVAL && weir_coord_is_active(c) && !c->shutdown)
		weir_coord_scheduler_start(c);
}

void
weir_coord_settle(struct weir_coordinator *c)
{
	for (;;) {
		struct weir_decider_view view;
		struct weir_decision d;

		if (c->scheduler_again)
			start_again(c);
		view = view_of(c);
		d = weir_decider_next(&c->decider, &view);
		if (d.kind == WEIR_DECISION_NOTHING)
			return;
		if (d.kind == WEIR_DECISION_DROP)
			drop_early(c, &d);
		else
			weir_coord_prepare(c, &d.request);
	}
}
