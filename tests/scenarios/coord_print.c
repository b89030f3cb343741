/* Updates as lines of the notation. */

#include "tests/scenarios/coord.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const outcomes[] = {
	[WEIR_ACK_SHUTDOWN] = "shutdown",   [WEIR_ACK_OTHER_JOB] = "other-job",
	[WEIR_ACK_DUPLICATE] = "duplicate", [WEIR_ACK_SUCCESS] = "success",
	[WEIR_ACK_UNKNOWN] = "unknown",	    [WEIR_ACK_EXPIRED] = "expired",
	[WEIR_ACK_LATE] = "late",	    [WEIR_ACK_BROKEN] = "broken",
};

static const char *const kinds[] = {
	[WEIR_REQUEST_CHECKPOINT] = "checkpoint", [WEIR_REQUEST_FULL] = "full",
	[WEIR_REQUEST_SAVEPOINT] = "savepoint",	  [WEIR_REQUEST_SUSPEND] = "suspend",
	[WEIR_REQUEST_DRAIN] = "drain",
};

void
coord_print_task(const struct coord_scenario *s, struct scn_text *t, struct weir_attempt a)
{
	uint32_t v = 0;

	while (v + 1 < s->cfg.graph.vertex_cnt && s->vertex_first[v + 1] <= a.task)
		v++;
	scn_text_add(t, "%s.%u", s->vertex_names[v], a.task - s->vertex_first[v]);
	if (a.attempt > 0)
		scn_text_add(t, "#%u", a.attempt);
}

void
coord_print_request(const struct coord_scenario *s, struct scn_text *t, uint64_t number,
		    bool from_timer)
{
	if (from_timer)
		scn_text_add(t, "p%" PRIu64, s->timer_base + number);
	else
		scn_text_add(t, "%s", scn_name(&s->names, number));
}

struct coord_promise *
coord_promise_find(const struct coord_scenario *s, const char *name)
{
	for (uint32_t i = 0; i < s->promise_cnt; i++) {
		if (strcmp(s->promises[i].name, name) == 0)
			return &s->promises[i];
	}
	return NULL;
}

struct coord_promise *
coord_promise(struct coord_scenario *s, const char *name)
{
	struct coord_promise *p = coord_promise_find(s, name);

	if (p != NULL)
		return p;
	if (s->promise_cnt == s->promise_cap) {
		s->promise_cap = s->promise_cap == 0 ? 32 : 2 * s->promise_cap;
		s->promises = realloc(s->promises, s->promise_cap * sizeof(*s->promises));
		WEIR_ASSERT(s->promises != NULL);
	}
	p = &s->promises[s->promise_cnt++];
	*p = (struct coord_promise){ .name = strdup(name), .open = true };
	WEIR_ASSERT(p->name != NULL);
	snprintf(p->answer, sizeof(p->answer), "open");
	return p;
}

static void
print_tasks(struct coord_scenario *s, const struct weir_coord_attempts *to)
{
	for (uint32_t i = 0; i < to->cnt; i++) {
		scn_text_add(&s->out, " ");
		coord_print_task(s, &s->out, to->list[i]);
	}
}

static void
print_files(struct coord_scenario *s, const struct weir_coord_update *u)
{
	const char **names = calloc(u->files.cnt + 1, sizeof(*names));

	WEIR_ASSERT(names != NULL);
	for (uint32_t i = 0; i < u->files.cnt; i++)
		names[i] = scn_name(&s->names, u->files.list[i]);
	scn_sort(names, u->files.cnt);
	for (uint32_t i = 0; i < u->files.cnt; i++)
		scn_text_add(&s->out, " %s", names[i]);
	free(names);
}

/* A checkpoint that may be none. */
static void
print_id(struct coord_scenario *s, uint64_t id)
{
	if (id == 0)
		scn_text_add(&s->out, "-");
	else
		scn_text_add(&s->out, "%" PRIu64, id);
}

static void
print_promise(struct coord_scenario *s, const struct weir_coord_update *u)
{
	struct scn_text name = { 0 };
	struct coord_promise *p;

	scn_text_reset(&name);
	coord_print_request(s, &name, u->promise.number, u->promise.from_timer);
	p = coord_promise(s, name.at);
	if (u->promise.reason == WEIR_REASON_NONE)
		snprintf(p->answer, sizeof(p->answer), "ok %" PRIu64, u->id);
	else
		snprintf(p->answer, sizeof(p->answer), "fail %s",
			 weir_reason_text(u->promise.reason));
	if (p->open)
		scn_text_add(&s->out, "promise %s %s", name.at, p->answer);
	else
		scn_text_add(&s->out, "promise %s again %s", name.at, p->answer);
	p->open = false;
	free(name.at);
}

static void
print_trigger(struct coord_scenario *s, const struct weir_coord_update *u)
{
	scn_text_add(&s->out, "trigger %" PRIu64 " %s ", u->id, kinds[u->trigger.kind]);
	switch (u->trigger.alignment) {
	case WEIR_ALIGNMENT_ALIGNED:
		scn_text_add(&s->out, "aligned");
		break;
	case WEIR_ALIGNMENT_UNALIGNED:
		scn_text_add(&s->out, "unaligned");
		break;
	case WEIR_ALIGNMENT_TIMEOUT:
		scn_text_add(&s->out, "timeout:%" PRId64, u->trigger.timeout_ms);
		break;
	case WEIR_ALIGNMENT_AT_LEAST_ONCE:
		scn_text_add(&s->out, "at-least-once");
		break;
	}
	scn_text_add(&s->out, " ts=%" PRId64, u->trigger.timestamp_ms);
	print_tasks(s, &u->trigger.to);
}

static void
print_timer(struct coord_scenario *s, const struct weir_coord_update *u)
{
	if (u->timer.periodic) {
		s->timer_cnt++;
		scn_text_add(&s->out, "@%" PRId64 " periodic", s->now);
	} else {
		scn_text_add(&s->out, "@%" PRId64 " timeout %" PRIu64, s->now, u->id);
	}
}

static void
print_fail(struct coord_scenario *s, const char *what, const struct weir_coord_update *u)
{
	scn_text_add(&s->out, "%s", what);
	if (u->kind == WEIR_COORD_DO_FAIL_JOB)
		scn_text_add(&s->out, " %s", weir_reason_text(u->fail.reason));
	if (u->fail.has_task) {
		scn_text_add(&s->out, " ");
		coord_print_task(s, &s->out, u->fail.task);
	}
}

static void
print_storage(struct coord_scenario *s, const struct weir_coord_update *u)
{
	scn_text_add(&s->out, "need storage %" PRIu64 " %s", u->id,
		     u->storage.savepoint ? "savepoint" : "checkpoint");
	if (u->storage.target != 0)
		scn_text_add(&s->out, " %s", scn_name(&s->names, u->storage.target));
}

static void
print_complete(struct coord_scenario *s, const struct weir_coord_update *u)
{
	scn_text_add(&s->out, "complete %" PRIu64 " ts=%" PRId64 " subsumed=", u->id,
		     u->complete.timestamp_ms);
	print_id(s, u->complete.subsumed);
	print_tasks(s, &u->complete.to);
}

static void
print_abort(struct coord_scenario *s, const struct weir_coord_update *u)
{
	scn_text_add(&s->out, "abort %" PRIu64 " latest=", u->id);
	print_id(s, u->abort.latest);
	print_tasks(s, &u->abort.to);
}

/* Lines that are words, the name of a coordinator or hook, and an id. */
static void
print_named(struct coord_scenario *s, const char *what, const char *name, uint64_t id)
{
	scn_text_add(&s->out, "%s %s ", what, name);
	print_id(s, id);
}

static void
print_restores(struct coord_scenario *s, const struct weir_coord_update *u)
{
	const char *opcoord = s->opcoord_names[u->which];

	switch (u->kind) {
	case WEIR_COORD_DO_RESTORE:
		scn_text_add(&s->out, "restore ");
		print_id(s, u->id);
		print_tasks(s, &u->restore.to);
		break;
	case WEIR_COORD_DO_HOOK_RESTORE:
		print_named(s, "hook-restore", s->hook_names[u->which], u->id);
		scn_text_add(&s->out, " %s",
			     u->hook.has_state ? scn_name(&s->names, u->hook.state) : "-");
		break;
	case WEIR_COORD_DO_HOOK_RESET:
		scn_text_add(&s->out, "hook-reset %s", s->hook_names[u->which]);
		break;
	case WEIR_COORD_DO_OPCOORD_RESET:
		print_named(s, "coord-reset", opcoord, u->id);
		break;
	case WEIR_COORD_DO_SUBTASK_RESET:
		scn_text_add(&s->out, "subtask-reset %s ", opcoord);
		coord_print_task(s, &s->out, u->task);
		scn_text_add(&s->out, " ");
		print_id(s, u->id);
		break;
	default:
		scn_text_add(&s->out, "restore-failed");
		break;
	}
}

static void
print_needs(struct coord_scenario *s, const struct weir_coord_update *u)
{
	switch (u->kind) {
	case WEIR_COORD_DO_NEED_PLAN:
		scn_text_add(&s->out, "need plan");
		break;
	case WEIR_COORD_DO_NEED_ID:
		scn_text_add(&s->out, "need id");
		break;
	case WEIR_COORD_DO_NEED_STORAGE:
		print_storage(s, u);
		break;
	case WEIR_COORD_DO_NEED_OPCOORD:
		print_named(s, "need coord", s->opcoord_names[u->which], u->id);
		break;
	case WEIR_COORD_DO_NEED_HOOK:
		print_named(s, "need hook", s->hook_names[u->which], u->id);
		break;
	default:
		scn_text_add(&s->out, "need finalize %" PRIu64, u->id);
		break;
	}
}

static void
print_one(struct coord_scenario *s, const struct weir_coord_update *u)
{
	switch (u->kind) {
	case WEIR_COORD_DO_TIMER:
		print_timer(s, u);
		break;
	case WEIR_COORD_DO_NEED_PLAN:
	case WEIR_COORD_DO_NEED_ID:
	case WEIR_COORD_DO_NEED_STORAGE:
	case WEIR_COORD_DO_NEED_OPCOORD:
	case WEIR_COORD_DO_NEED_HOOK:
	case WEIR_COORD_DO_NEED_FINALIZE:
		print_needs(s, u);
		break;
	case WEIR_COORD_DO_TRIGGER:
		print_trigger(s, u);
		break;
	case WEIR_COORD_DO_PROMISE:
		print_promise(s, u);
		break;
	case WEIR_COORD_DO_ACK:
		scn_text_add(&s->out, "ack %s", outcomes[u->ack_outcome]);
		break;
	case WEIR_COORD_DO_DECLINE_IGNORED:
		scn_text_add(&s->out, "decline ignored");
		break;
	case WEIR_COORD_DO_FAIL_JOB:
		print_fail(s, "fail-job", u);
		break;
	case WEIR_COORD_DO_FAIL_TASK:
		print_fail(s, "fail-task", u);
		break;
	case WEIR_COORD_DO_COMPLETE:
		print_complete(s, u);
		break;
	case WEIR_COORD_DO_ABORT:
		print_abort(s, u);
		break;
	case WEIR_COORD_DO_COMPLETE_OPCOORD:
		print_named(s, "coord-complete", s->opcoord_names[u->which], u->id);
		break;
	case WEIR_COORD_DO_ABORT_OPCOORD:
		print_named(s, "coord-abort", s->opcoord_names[u->which], u->id);
		break;
	case WEIR_COORD_DO_DROP_LOCATION:
		scn_text_add(&s->out, "drop-location %" PRIu64, u->id);
		break;
	case WEIR_COORD_DO_DELETE:
		scn_text_add(&s->out, "delete %" PRIu64, u->id);
		print_files(s, u);
		break;
	case WEIR_COORD_DO_DISCARD:
		scn_text_add(&s->out, "discard");
		print_files(s, u);
		break;
	case WEIR_COORD_DO_OPEVENT:
		scn_text_add(&s->out, "event %s ", s->opcoord_names[u->which]);
		coord_print_task(s, &s->out, u->opevent.to);
		scn_text_add(&s->out, " %s", scn_name(&s->names, u->opevent.event));
		break;
	case WEIR_COORD_DO_RESTORE:
	case WEIR_COORD_DO_HOOK_RESTORE:
	case WEIR_COORD_DO_HOOK_RESET:
	case WEIR_COORD_DO_OPCOORD_RESET:
	case WEIR_COORD_DO_SUBTASK_RESET:
	case WEIR_COORD_DO_RESTORE_FAILED:
		print_restores(s, u);
		break;
	}
	scn_text_add(&s->out, "\n");
}

void
coord_print(struct coord_scenario *s, const struct weir_coord_updates *updates)
{
	if (updates->illegal)
		scn_text_add(&s->out, "illegal\n");
	for (uint32_t i = 0; i < updates->cnt; i++)
		print_one(s, &updates->list[i]);
}
