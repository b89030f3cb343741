/* Steps of kind `coordinator`: words become events, which the product answers. */

#include "tests/scenarios/coord.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct step {
	const char *word;
	uint32_t words_min;
	uint32_t words_max; /* 0: any */
	bool (*run)(struct coord_scenario *s, const struct scn_line *line);
};

static uint64_t
draw(void *arg)
{
	struct coord_scenario *s = arg;
	uint64_t number = s->draws[s->draw_next];

	if (s->draw_next + 1 < s->draw_cnt)
		s->draw_next++;
	return number;
}

void
coord_send(struct coord_scenario *s, const struct weir_coord_event *e)
{
	struct weir_coord_updates updates = weir_coordinator_step(s->c, e, s->now);

	coord_print(s, &updates);
}

void
coord_send_tasks(struct coord_scenario *s, enum weir_coord_event_kind kind,
		 struct weir_attempt *list, uint32_t cnt, enum weir_coord_task_state state)
{
	struct weir_coord_event e = { .kind = kind };

	e.tasks.list = list;
	e.tasks.cnt = cnt;
	e.tasks.state = state;
	coord_send(s, &e);
}

void
coord_send_job(struct coord_scenario *s, enum weir_coord_job_state state)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_JOB_STATE };

	e.job_state = state;
	coord_send(s, &e);
}

struct weir_attempt *
coord_task_list(const struct coord_scenario *s)
{
	struct weir_attempt *list = calloc(s->task_cnt + 1, sizeof(*list));

	WEIR_ASSERT(list != NULL);
	return list;
}

static bool
apply_state(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_attempt *list = coord_task_list(s);
	int state = line->word_cnt == 3 ? coord_task_state(line->words[2]) : -1;
	uint32_t cnt = coord_tasks(s, line->words[1], s->c->attempts, list);

	if (state >= 0 && cnt > 0)
		coord_send_tasks(s, WEIR_COORD_TASK_STATE, list, cnt,
				 (enum weir_coord_task_state)state);
	free(list);
	return state >= 0 && cnt > 0;
}

void
coord_create(struct coord_scenario *s)
{
	struct weir_attempt *list = coord_task_list(s);
	uint32_t cnt;

	s->cfg.draw = draw;
	s->cfg.draw_arg = s;
	s->c = weir_coordinator_create(&s->cfg);
	scn_text_reset(&s->out);
	cnt = coord_tasks(s, "*", s->c->attempts, list);
	coord_send_tasks(s, WEIR_COORD_TASK_STATE, list, cnt, WEIR_COORD_TASK_RUNNING);
	free(list);
	for (uint32_t i = 0; i < s->state_cnt; i++) {
		if (!apply_state(s, s->states[i]))
			coord_nonsense(s, s->states[i]);
	}
	coord_send_job(s, s->job_state);
}

/* ---- requests -------------------------------------------------------------------------------- */

bool
coord_kind_of(const char *word, enum weir_request_kind *kind)
{
	static const char *const names[] = { "checkpoint", "full", "savepoint", "suspend",
					     "drain" };
	int i = coord_index(names, WEIR_ARRAY_CNT(names), word);

	*kind = (enum weir_request_kind)i;
	return i >= 0;
}

static bool
request_option(struct coord_scenario *s, struct weir_coord_event *e, const char *word)
{
	if (strcmp(word, "full") == 0)
		e->request.kind = WEIR_REQUEST_FULL;
	else if (strcmp(word, "incremental") == 0)
		return true;
	else if (strcmp(word, "forced") == 0)
		e->force = WEIR_FORCE_YES;
	else if (strcmp(word, "unforced") == 0)
		e->force = WEIR_FORCE_NO;
	else if (strcmp(word, "periodic") == 0)
		e->request.periodic = true;
	else if (strncmp(word, "dir=", 4) == 0)
		e->request.target = scn_number(&s->names, word + 4);
	else
		return false;
	return true;
}

static void
open_promise(struct coord_scenario *s, const char *name)
{
	struct coord_promise *p = coord_promise(s, name);

	p->open = true;
	snprintf(p->answer, sizeof(p->answer), "open");
}

static bool
step_request(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_REQUEST };
	const char *word = line->words[0];

	e.request.number = scn_number(&s->names, line->words[1]);
	e.request.periodic = strcmp(word, "periodic") == 0;
	if (!coord_kind_of(e.request.periodic ? "checkpoint" : word, &e.request.kind))
		return false;
	for (uint32_t i = 2; i < line->word_cnt; i++) {
		if (!request_option(s, &e, line->words[i]))
			return false;
	}
	open_promise(s, line->words[1]);
	coord_send(s, &e);
	return true;
}

static bool
step_stop(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_STOP };

	e.request.number = scn_number(&s->names, line->words[1]);
	if (!coord_kind_of(line->words[2], &e.request.kind) ||
	    !weir_request_is_sync(e.request.kind))
		return false;
	open_promise(s, line->words[1]);
	coord_send(s, &e);
	return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool
read_result(const struct scn_line *line, uint32_t at, enum weir_coord_result *result)
{
	const char *word = line->word_cnt > at ? line->words[at] : "";
	bool more = line->word_cnt > at + 1;

	if (strcmp(word, "ok") == 0)
		*result = WEIR_COORD_OK;
	else if (strcmp(word, "fail") == 0)
		*result = more ? WEIR_COORD_FAILED_IO : WEIR_COORD_FAILED;
	else
		return false;
	return !more || (*result == WEIR_COORD_FAILED_IO && line->word_cnt == at + 2 &&
			 strcmp(line->words[at + 1], "io") == 0);
}

static bool
step_plain_answer(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_PLAN_ANSWER };

	if (strcmp(line->words[0], "id") == 0)
		e.kind = WEIR_COORD_ID_ANSWER;
	if (!read_result(line, 1, &e.answer.result))
		return false;
	coord_send(s, &e);
	return true;
}

static bool
step_id_answer(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_STORAGE_ANSWER };

	if (!scn_u64(line->words[1], UINT64_MAX, &e.answer.id))
		return false;
	if (strcmp(line->words[0], "finalized") == 0)
		e.kind = WEIR_COORD_FINALIZE_ANSWER;
	if (e.kind == WEIR_COORD_FINALIZE_ANSWER && strcmp(line->words[2], "unknown") == 0)
		e.answer.result = WEIR_COORD_UNKNOWN;
	else if (!read_result(line, 2, &e.answer.result))
		return false;
	coord_send(s, &e);
	return true;
}

static bool
step_named_answer(struct coord_scenario *s, const struct scn_line *line)
{
	bool hook = strcmp(line->words[0], "hook") == 0;
	struct weir_coord_event e = {
		.kind = hook ? WEIR_COORD_HOOK_ANSWER : WEIR_COORD_OPCOORD_ANSWER,
	};
	int which = hook ? coord_index(s->hook_names, s->cfg.hook_cnt, line->words[1])
			 : coord_index(s->opcoord_names, s->cfg.opcoord_cnt, line->words[1]);

	if (which < 0)
		return false;
	e.answer.which = (uint32_t)which;
	if (!scn_u64(line->words[2], UINT64_MAX, &e.answer.id))
		return false;
	e.answer.has_state = hook && line->word_cnt == 5 && strcmp(line->words[3], "ok") == 0;
	e.answer.result = WEIR_COORD_OK;
	if (e.answer.has_state)
		e.answer.state = scn_number(&s->names, line->words[4]);
	else if (!(hook && line->word_cnt == 4 && strcmp(line->words[3], "null") == 0) &&
		 (!read_result(line, 3, &e.answer.result) ||
		  (hook && e.answer.result == WEIR_COORD_OK)))
		return false;
	coord_send(s, &e);
	return true;
}

static bool
step_deleted(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_DELETED };

	if (!scn_u64(line->words[1], UINT64_MAX, &e.answer.id))
		return false;
	coord_send(s, &e);
	return true;
}

/* ---- messages of tasks ----------------------------------------------------------------------- */

static bool
one_task(const struct coord_scenario *s, const char *word, struct weir_attempt *task)
{
	struct weir_attempt *list = coord_task_list(s);
	uint32_t cnt = coord_tasks(s, word, s->c->attempts, list);

	*task = list[0];
	free(list);
	return cnt == 1;
}

void
coord_read_part(struct coord_scenario *s, const char *word, struct weir_part *part)
{
	const char *is = strchr(word, '=');
	char *key;

	*part = (struct weir_part){ .kind = WEIR_PART_PRIVATE };
	if (is == NULL) {
		part->file = scn_number(&s->names, word);
		return;
	}
	key = strndup(word, (size_t)(is - word));
	WEIR_ASSERT(key != NULL);
	part->key = scn_number(&s->names, key);
	free(key);
	part->kind = is[1] == '\0' ? WEIR_PART_REF : WEIR_PART_SHARED;
	if (is[1] != '\0')
		part->file = scn_number(&s->names, is + 1);
}

/* Room for what the words of a line say. */
struct weir_part *
coord_part_list(const struct scn_line *line)
{
	struct weir_part *parts = calloc(line->word_cnt, sizeof(*parts));

	WEIR_ASSERT(parts != NULL);
	return parts;
}

static bool
step_ack(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_ACK };
	struct weir_part *parts;

	if (!one_task(s, line->words[1], &e.ack.from) ||
	    !scn_u64(line->words[2], UINT64_MAX, &e.ack.id))
		return false;
	parts = coord_part_list(line);
	e.ack.job = s->cfg.job;
	for (uint32_t i = 3; i < line->word_cnt; i++) {
		if (strcmp(line->words[i], "job=other") == 0)
			e.ack.job = s->cfg.job + 1;
		else if (strcmp(line->words[i], "!finished") == 0)
			e.ack.operators_finished = true;
		else if (strcmp(line->words[i], "!finished-on-restore") == 0)
			e.ack.finished_on_restore = true;
		else
			coord_read_part(s, line->words[i], &parts[e.ack.part_cnt++]);
	}
	e.ack.parts = parts;
	coord_send(s, &e);
	free(parts);
	return true;
}

static bool
step_message(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_BARRIER };
	bool decline = strcmp(line->words[0], "decline") == 0;

	if (!one_task(s, line->words[1], &e.message.from) ||
	    !scn_u64(line->words[2], UINT64_MAX, &e.message.id))
		return false;
	e.message.job = s->cfg.job;
	if (strcmp(line->words[0], "rpc-failed") == 0)
		e.kind = WEIR_COORD_RPC_FAILED;
	if (decline) {
		e.kind = WEIR_COORD_DECLINE;
		e.reason = weir_reason_parse(line->words[3]);
		e.message.job += line->word_cnt > 4;
	}
	if (decline && (e.reason == WEIR_REASON_NONE ||
			(line->word_cnt > 4 && strcmp(line->words[4], "job=other") != 0)))
		return false;
	coord_send(s, &e);
	return true;
}

/* ---- operator coordinators ------------------------------------------------------------------- */

static bool
step_send(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_OPEVENT_SEND };
	int which = coord_index(s->opcoord_names, s->cfg.opcoord_cnt, line->words[1]);
	struct weir_attempt task;

	if (which < 0 || !one_task(s, line->words[2], &task))
		return false;
	e.opevent.opcoord = (uint32_t)which;
	e.opevent.task = task.task;
	e.opevent.event = scn_number(&s->names, line->words[3]);
	coord_send(s, &e);
	return true;
}

static bool
step_event(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_OPEVENT_ACKED };

	if (strcmp(line->words[0], "event-lost") == 0)
		e.kind = WEIR_COORD_OPEVENT_LOST;
	e.opevent.event = scn_number(&s->names, line->words[1]);
	coord_send(s, &e);
	return true;
}

static bool
step_backlog(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_BACKLOG };
	int which = coord_index(s->opcoord_names, s->cfg.opcoord_cnt, line->words[1]);

	if (which < 0)
		return false;
	e.backlog.opcoord = (uint32_t)which;
	e.backlog.on = strcmp(line->words[2], "on") == 0;
	if (!e.backlog.on && strcmp(line->words[2], "off") != 0)
		return false;
	coord_send(s, &e);
	return true;
}

/* ---- states ---------------------------------------------------------------------------------- */

static bool
step_job(struct coord_scenario *s, const struct scn_line *line)
{
	int state = coord_job_state(line->words[1]);

	if (state >= 0)
		coord_send_job(s, (enum weir_coord_job_state)state);
	return state >= 0;
}

static bool
step_scheduler(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_SCHEDULER_STOP };

	if (strcmp(line->words[1], "start") == 0)
		e.kind = WEIR_COORD_SCHEDULER_START;
	else if (strcmp(line->words[1], "stop") != 0)
		return false;
	coord_send(s, &e);
	return true;
}

static bool
step_abort(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_ABORT };

	e.reason = weir_reason_parse(line->words[2]);
	if (e.reason == WEIR_REASON_NONE || !scn_u64(line->words[1], UINT64_MAX, &e.message.id))
		return false;
	coord_send(s, &e);
	return true;
}

static bool
step_shutdown(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_SHUTDOWN };

	(void)line;
	coord_send(s, &e);
	return true;
}

static int
by_task(const void *a, const void *b)
{
	const struct weir_attempt *x = a;
	const struct weir_attempt *y = b;

	return x->task < y->task ? -1 : x->task > y->task;
}

/* The tasks of all words, in graph order, each once; NULL if a word names none. */
static struct weir_attempt *
named_tasks(const struct coord_scenario *s, const struct scn_line *line, uint32_t *cnt)
{
	struct weir_attempt *list =
		calloc((size_t)(s->task_cnt + 1) * line->word_cnt, sizeof(*list));
	uint32_t all = 0;

	WEIR_ASSERT(list != NULL);
	*cnt = 0;
	for (uint32_t i = 1; i < line->word_cnt; i++) {
		uint32_t named = coord_tasks(s, line->words[i], s->c->attempts, &list[all]);

		if (named == 0) {
			free(list);
			return NULL;
		}
		all += named;
	}
	qsort(list, all, sizeof(*list), by_task);
	for (uint32_t i = 0; i < all; i++) {
		if (*cnt == 0 || list[*cnt - 1].task != list[i].task)
			list[(*cnt)++] = list[i];
	}
	return list;
}

static bool
step_restart(struct coord_scenario *s, const struct scn_line *line)
{
	bool restart = strcmp(line->words[0], "restart") == 0;
	uint32_t cnt;
	struct weir_attempt *list = named_tasks(s, line, &cnt);

	if (list == NULL)
		return false;
	for (uint32_t i = 0; restart && i < cnt; i++)
		list[i].attempt++;
	coord_send_tasks(s, restart ? WEIR_COORD_RESTART : WEIR_COORD_RESTORE, list, cnt,
			 WEIR_COORD_TASK_CREATED);
	free(list);
	return true;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void
fire_due(struct coord_scenario *s)
{
	struct weir_coord_event e = { .kind = WEIR_COORD_TICK };

	coord_send(s, &e);
}

static bool
advance(struct coord_scenario *s, int64_t target)
{
	uint32_t firings = 0;
	int64_t due;

	while ((due = weir_coordinator_next_due(s->c)) <= target) {
		if (firings++ == COORD_FIRINGS_MAX)
			return false;
		s->now = due > s->now ? due : s->now;
		fire_due(s);
	}
	s->now = target;
	return true;
}

/* +N and !N */
static bool
step_clock(struct coord_scenario *s, const struct scn_line *line)
{
	int64_t by;

	if (line->word_cnt != 1 || !scn_time(line->words[0] + 1, &by) ||
	    s->now + by > INT64_MAX / 32)
		return false;
	if (line->words[0][0] == '+')
		return advance(s, s->now + by);
	s->now += by;
	return true;
}

static bool
step_fire(struct coord_scenario *s, const struct scn_line *line)
{
	(void)line;
	fire_due(s);
	return true;
}

static const struct step steps[] = {
	{ "checkpoint", 2, 3, step_request },
	{ "periodic", 2, 2, step_request },
	{ "savepoint", 2, 0, step_request },
	{ "suspend", 2, 2, step_request },
	{ "drain", 2, 2, step_request },
	{ "stop", 3, 3, step_stop },
	{ "plan", 2, 3, step_plain_answer },
	{ "id", 2, 3, step_plain_answer },
	{ "storage", 3, 4, step_id_answer },
	{ "finalized", 3, 3, step_id_answer },
	{ "coord", 4, 5, step_named_answer },
	{ "hook", 4, 5, step_named_answer },
	{ "deleted", 2, 2, step_deleted },
	{ "ack", 3, 0, step_ack },
	{ "decline", 4, 5, step_message },
	{ "rpc-failed", 3, 3, step_message },
	{ "barrier", 3, 3, step_message },
	{ "send", 4, 4, step_send },
	{ "event-acked", 2, 2, step_event },
	{ "event-lost", 2, 2, step_event },
	{ "backlog", 3, 3, step_backlog },
	{ "task", 3, 3, apply_state },
	{ "job", 2, 2, step_job },
	{ "scheduler", 2, 2, step_scheduler },
	{ "abort", 3, 3, step_abort },
	{ "shutdown", 1, 1, step_shutdown },
	{ "restart", 2, 0, step_restart },
	{ "restore", 2, 0, step_restart },
	{ "start-from", 4, 0, coord_step_start_from },
	{ "crash", 1, 1, coord_step_crash },
	{ "fire", 1, 1, step_fire },
};

bool
coord_step(struct coord_scenario *s, const struct scn_line *line)
{
	const char *word = line->words[0];

	s->step = line;
	if (word[0] == '+' || word[0] == '!')
		return step_clock(s, line);
	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(steps); i++) {
		if (strcmp(steps[i].word, word) == 0 && line->word_cnt >= steps[i].words_min &&
		    (steps[i].words_max == 0 || line->word_cnt <= steps[i].words_max))
			return steps[i].run(s, line);
	}
	return false;
}
