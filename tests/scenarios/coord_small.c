/* Kinds `decider`, `failures` and `plan`. */

#include "tests/scenarios/coord.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The playing functions take the scenario; what else these kinds need is one of these at a time. */
static struct weir_decider decider;
static struct weir_decider_view view;
static struct weir_failures failures;
static uint8_t *states;

/* ---- decider -----------------------------------------------------------------------------------
 */

static bool
decider_set(const char *word)
{
	const char *is = strchr(word, '=');
	int64_t number;

	if (is == NULL || !scn_time(is + 1, &number))
		return false;
	if (strncmp(word, "triggering=", 11) == 0)
		view.busy = number > 0;
	else if (strncmp(word, "pending=", 8) == 0)
		return scn_u32(is + 1, 0, UINT32_MAX - 1, &view.pending_cnt);
	else if (strncmp(word, "cleaning=", 9) == 0)
		return scn_u32(is + 1, 0, UINT32_MAX - 1, &view.cleaning_cnt);
	else if (strncmp(word, "now=", 4) == 0)
		view.now = number;
	else if (strncmp(word, "last=", 5) == 0)
		view.last_completion = number;
	else
		return false;
	return true;
}

/* Ask until a request runs or nothing more happens. */
static void
decider_poll(struct coord_scenario *s)
{
	for (;;) {
		struct weir_decision d = weir_decider_next(&decider, &view);
		const char *name = scn_name(&s->names, d.request.number);

		if (d.kind == WEIR_DECISION_NOTHING)
			return;
		if (d.kind == WEIR_DECISION_RUN) {
			scn_text_add(&s->out, "run %s\n", name);
			return;
		}
		scn_text_add(&s->out, "fail %s MINIMUM_TIME_BETWEEN_CHECKPOINTS\n", name);
		scn_text_add(&s->out, "rearm %" PRId64 "\n", d.rearm - view.now);
	}
}

static bool
decider_add(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_request r = { .kind = WEIR_REQUEST_CHECKPOINT, .time = view.now };
	struct weir_request victim;

	if (line->word_cnt < 3)
		return false;
	r.number = scn_number(&s->names, line->words[1]);
	if (strcmp(line->words[2], "savepoint") == 0)
		r.kind = WEIR_REQUEST_SAVEPOINT;
	else if (strcmp(line->words[2], "checkpoint") != 0)
		return false;
	r.forced = weir_request_is_savepoint(r.kind); /* C7 with unaligned off */
	for (uint32_t i = 3; i < line->word_cnt; i++) {
		if (strcmp(line->words[i], "periodic") == 0)
			r.periodic = true;
		else if (strcmp(line->words[i], "forced") == 0)
			r.forced = true;
		else if (strcmp(line->words[i], "unforced") == 0)
			r.forced = false;
		else
			return false;
	}
	if (weir_decider_add(&decider, &r, &victim))
		scn_text_add(&s->out, "fail %s TOO_MANY_CHECKPOINT_REQUESTS\n",
			     scn_name(&s->names, victim.number));
	decider_poll(s);
	return true;
}

static bool
decider_step(struct coord_scenario *s, const struct scn_line *line)
{
	if (strcmp(line->words[0], "add") == 0)
		return decider_add(s, line);
	if (strcmp(line->words[0], "poll") == 0 && line->word_cnt == 1) {
		decider_poll(s);
		return true;
	}
	for (uint32_t i = 1; i < line->word_cnt; i++) {
		if (strcmp(line->words[0], "set") != 0 || !decider_set(line->words[i]))
			return false;
	}
	return line->word_cnt > 1;
}

static bool
decider_query(struct coord_scenario *s, const char *query, struct scn_text *answer)
{
	for (uint32_t i = 0; i < decider.queue_cnt; i++)
		scn_text_add(answer, "%s%s", i > 0 ? " " : "",
			     scn_name(&s->names, decider.queue[i].number));
	return strcmp(query, "queue") == 0;
}

void
coord_run_decider(struct coord_scenario *s)
{
	if (!coord_read_header(s))
		return;
	weir_decider_init(&decider, s->cfg.max_concurrent, s->cfg.queue_limit, s->cfg.min_pause_ms);
	view = (struct weir_decider_view){ .last_completion = WEIR_DECIDER_NEVER };
	coord_play(s, decider_step, decider_query);
	weir_decider_fini(&decider);
}

/* ---- failures ----------------------------------------------------------------------------------
 */

static bool
failures_failed(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_failure f = { 0 };
	enum weir_failure_verdict verdict;
	const char *task = "";

	if (line->word_cnt < 3)
		return false;
	if (strcmp(line->words[1], "-") != 0 && !scn_u64(line->words[1], UINT64_MAX, &f.id))
		return false;
	f.reason = weir_reason_parse(line->words[2]);
	if (f.reason == WEIR_REASON_NONE)
		return false;
	for (uint32_t i = 3; i < line->word_cnt; i++) {
		if (strcmp(line->words[i], "savepoint") == 0)
			f.kind = WEIR_FAILED_SAVEPOINT;
		else if (strcmp(line->words[i], "sync") == 0)
			f.kind = WEIR_FAILED_SYNC_SAVEPOINT;
		else if (strncmp(line->words[i], "task=", 5) == 0)
			task = line->words[i] + 5;
		else
			return false;
	}
	f.has_task = *task != '\0';
	verdict = weir_failures_failed(&failures, &f);
	if (verdict != WEIR_FAILURE_GO_ON)
		scn_text_add(&s->out, "fail-job %s%s%s\n", line->words[2],
			     verdict == WEIR_FAILURE_FAIL_JOB_BY_TASK ? " " : "",
			     verdict == WEIR_FAILURE_FAIL_JOB_BY_TASK ? task : "");
	return true;
}

static bool
failures_step(struct coord_scenario *s, const struct scn_line *line)
{
	uint64_t id;

	if (strcmp(line->words[0], "failed") == 0)
		return failures_failed(s, line);
	if (strcmp(line->words[0], "success") != 0 || line->word_cnt != 2 ||
	    !scn_u64(line->words[1], UINT64_MAX, &id))
		return false;
	weir_failures_succeeded(&failures, id);
	return true;
}

static bool
failures_query(struct coord_scenario *s, const char *query, struct scn_text *answer)
{
	(void)s;
	scn_text_add(answer, "%u", failures.cnt);
	return strcmp(query, "failures") == 0;
}

void
coord_run_failures(struct coord_scenario *s)
{
	if (!coord_read_header(s))
		return;
	weir_failures_init(&failures, s->cfg.tolerable_failures);
	coord_play(s, failures_step, failures_query);
	weir_failures_fini(&failures);
}

/* ---- plan --------------------------------------------------------------------------------------
 */

static bool
plan_step(struct coord_scenario *s, const struct scn_line *line)
{
	int state = coord_task_state(line->words[line->word_cnt - 1]);
	struct weir_attempt *list;
	bool known = true;

	if (strcmp(line->words[0], "state") != 0 || state < 0 || line->word_cnt < 3)
		return false;
	list = calloc(s->task_cnt + 1, sizeof(*list));
	WEIR_ASSERT(list != NULL);
	for (uint32_t i = 1; i + 1 < line->word_cnt; i++) {
		uint32_t cnt = coord_tasks(s, line->words[i], NULL, list);

		known &= cnt > 0;
		for (uint32_t k = 0; k < cnt; k++)
			states[list[k].task] = (uint8_t)state;
	}
	free(list);
	return known;
}

static uint32_t
vertex_of(const struct coord_scenario *s, uint32_t task)
{
	uint32_t v = 0;

	while (v + 1 < s->cfg.graph.vertex_cnt && s->vertex_first[v + 1] <= task)
		v++;
	return v;
}

/* Task numbers as v.2-5,w.0 */
static void
print_ranges(const struct coord_scenario *s, const char *what, const uint32_t *tasks, uint32_t cnt,
	     struct scn_text *t)
{
	scn_text_add(t, "%s=%s", what, cnt == 0 ? "-" : "");
	for (uint32_t i = 0, end; i < cnt; i = end) {
		uint32_t v = vertex_of(s, tasks[i]);
		uint32_t first = tasks[i] - s->vertex_first[v];

		end = i + 1;
		while (end < cnt && tasks[end] == tasks[end - 1] + 1 &&
		       vertex_of(s, tasks[end]) == v)
			end++;
		scn_text_add(t, "%s%s.%u", i > 0 ? "," : "", s->vertex_names[v], first);
		if (end - i > 1)
			scn_text_add(t, "-%u", first + end - i - 1);
	}
}

static void
print_full(const struct coord_scenario *s, struct scn_text *t)
{
	const char *comma = "";

	scn_text_add(t, " full=");
	for (uint32_t v = 0; v < s->cfg.graph.vertex_cnt; v++) {
		bool full = true;

		for (uint32_t i = 0; i < s->vertices[v].parallelism; i++)
			full &= states[s->vertex_first[v] + i] == WEIR_COORD_TASK_FINISHED;
		if (!full)
			continue;
		scn_text_add(t, "%s%s", comma, s->vertex_names[v]);
		comma = ",";
	}
	if (*comma == '\0')
		scn_text_add(t, "-");
}

static bool
plan_query(struct coord_scenario *s, const char *query, struct scn_text *answer)
{
	struct weir_trigger_plan plan;
	enum weir_reason reason;

	if (strcmp(query, "plan") != 0)
		return false;
	reason = weir_trigger_plan_make(&s->cfg.graph, states, s->cfg.finished_tasks, &plan);
	if (reason != WEIR_REASON_NONE) {
		scn_text_add(answer, "reject %s", weir_reason_text(reason));
		return true;
	}
	print_ranges(s, "trigger", plan.trigger, plan.trigger_cnt, answer);
	print_ranges(s, " wait", plan.wait, plan.wait_cnt, answer);
	print_ranges(s, " finished", plan.finished, plan.finished_cnt, answer);
	print_full(s, answer);
	weir_trigger_plan_fini(&plan);
	return true;
}

void
coord_run_plan(struct coord_scenario *s)
{
	if (!coord_read_header(s))
		return;
	states = malloc(s->task_cnt + 1);
	WEIR_ASSERT(states != NULL);
	memset(states, WEIR_COORD_TASK_RUNNING, s->task_cnt + 1);
	coord_play(s, plan_step, plan_query);
	free(states);
}
