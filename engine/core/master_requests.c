/* Requests from outside: their way to the coordinator, and the answer, once each (C1). */
#include "engine/core/master_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tell and forget. */
static void
answer(struct weir_master *m, struct weir_master_ask *ask,
       const struct weir_master_outcome *outcome)
{
	struct weir_master_ask **at = &m->asks;

	while (*at != ask)
		at = &(*at)->next;
	*at = ask->next;
	if (ask->request.done != NULL)
		ask->request.done(ask->request.arg, outcome);
	free((void *)(uintptr_t)ask->request.dir);
	free(ask);
}

static struct weir_master_ask *
find_ask(struct weir_master *m, uint64_t number)
{
	for (struct weir_master_ask *a = m->asks; a != NULL; a = a->next)
		if (a->number == number)
			return a;
	return NULL;
}

void
weir_master_promise(struct weir_master *m, uint64_t number, uint64_t id, enum weir_reason reason)
{
	struct weir_master_ask *ask = find_ask(m, number);
	struct weir_master_outcome outcome = { .reason = reason, .id = id, .why = "" };
	enum weir_request_kind kind;
	char path[WEIR_MASTER_PATH];

	if (number == m->final_request && reason != WEIR_REASON_NONE)
		m->final_asked = false; /* the last checkpoint is asked for again */
	if (ask == NULL)
		return;
	kind = ask->request.kind;
	if (weir_request_is_sync(kind) && reason == WEIR_REASON_NONE)
		m->stop_id = id;
	else if (weir_request_is_sync(kind))
		m->stop = WEIR_REQUEST_CHECKPOINT; /* S4: the job goes on */
	if (reason == WEIR_REASON_NONE && weir_request_is_savepoint(kind)) {
		outcome.path = weir_master_savepoint_dir(m, id);
	} else if (reason == WEIR_REASON_NONE) {
		snprintf(path, sizeof(path), "%s/chk-%llu", m->cfg.job_dir, (unsigned long long)id);
		outcome.path = path;
	} else if (m->decline.code != WEIR_OK &&
		   (weir_reason_counts(reason) || (id != 0 && id == m->hook_failed))) {
		outcome.why = m->decline.text;
		outcome.code = m->decline.code;
	}
	answer(m, ask, &outcome);
	if (weir_request_is_savepoint(kind))
		weir_master_savepoint_over(m, kind, id, reason);
}

void
weir_master_fail_asks(struct weir_master *m, enum weir_reason reason)
{
	const struct weir_master_outcome outcome = { .reason = reason, .why = "" };

	while (m->asks != NULL)
		answer(m, m->asks, &outcome);
}

/* Why it cannot even be asked for; NULL: it can. */
static const char *
refusal(const struct weir_master *m, const struct weir_master_request *request)
{
	if (m->coord == NULL ||
	    (m->cfg.job_dir == NULL && !weir_request_is_savepoint(request->kind)))
		return "checkpoints are off";
	/* T35: tasks that have been told to commit close, and one that declines would fail the job
	 * after its output is there. */
	if (m->end != WEIR_END_NOT_YET || (m->cfg.job_dir == NULL && m->final_asked))
		return "the job is ending";
	if (m->stop != WEIR_REQUEST_CHECKPOINT)
		return "the job is being stopped";
	return NULL;
}

void
weir_master_request(struct weir_master *m, const struct weir_master_request *request)
{
	const char *why = refusal(m, request);
	struct weir_master_ask *ask = calloc(1, sizeof(*ask));
	struct weir_master_ask **at = &m->asks;
	struct weir_coord_event ev = { .kind = weir_request_is_sync(request->kind)
						       ? WEIR_COORD_STOP
						       : WEIR_COORD_REQUEST };

	WEIR_ASSERT(ask != NULL);
	ask->number = ++m->request_cnt;
	ask->request = *request;
	ask->request.dir = request->dir != NULL ? strdup(request->dir) : NULL;
	while (*at != NULL)
		at = &(*at)->next;
	*at = ask;
	if (why != NULL) {
		answer(m, ask,
		       &(struct weir_master_outcome){
			       .reason = WEIR_REASON_NOT_ALL_REQUIRED_TASKS_RUNNING, .why = why });
		return;
	}
	if (weir_request_is_sync(request->kind))
		m->stop = request->kind;
	ev.request.number = ask->number;
	ev.request.kind = request->kind;
	weir_master_event(m, &ev);
}
