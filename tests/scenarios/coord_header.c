/* The lines before `begin`, and the names in them. */

#include "tests/scenarios/coord.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const task_states[] = { "NONE",	   "CREATED",  "DEPLOYING",
					   "INITIALIZING", "RUNNING",  "FINISHED",
					   "CANCELING",	   "CANCELED", "FAILED" };
static const char *const job_states[] = { "CREATED",  "RUNNING",    "RESTARTING",
					  "FAILING",  "CANCELLING", "FINISHED",
					  "CANCELED", "FAILED",	    "SUSPENDED" };
static const char *const stages[] = { "plan", "id",	  "storage", "coord",
				      "hook", "finalize", "delete",  "event" };

int
coord_index(const char *const *names, uint32_t cnt, const char *word)
{
	for (uint32_t i = 0; i < cnt; i++) {
		if (strcmp(names[i], word) == 0)
			return (int)i;
	}
	return -1;
}

int
coord_task_state(const char *word)
{
	return coord_index(task_states, WEIR_ARRAY_CNT(task_states), word);
}

int
coord_job_state(const char *word)
{
	return coord_index(job_states, WEIR_ARRAY_CNT(job_states), word);
}

void
coord_nonsense(struct coord_scenario *s, const struct scn_line *line)
{
	s->deviations++;
	scn_deviation(s->file, line->number, s->id, "a line of the notation", line->text);
}

static uint32_t
all_of(const struct coord_scenario *s, uint32_t first, uint32_t last, const uint32_t *attempts,
       struct weir_attempt *list)
{
	uint32_t cnt = 0;

	for (uint32_t t = first; t <= last && t < s->task_cnt; t++)
		list[cnt++] = (struct weir_attempt){ t, attempts != NULL ? attempts[t] : 0 };
	return cnt;
}

struct subtasks {
	uint32_t from, to;
	bool has_attempt;
	uint32_t attempt;
};

/* i, i-j, i#n */
static bool
read_subtasks(const char *word, uint32_t parallelism, struct subtasks *which)
{
	char text[48];
	char *mark;
	char sign;

	if (strlen(word) >= sizeof(text))
		return false;
	strcpy(text, word);
	mark = text + strcspn(text, "-#");
	sign = *mark;
	*mark = '\0';
	*which = (struct subtasks){ .has_attempt = sign == '#' };
	if (!scn_u32(text, 0, parallelism - 1, &which->from))
		return false;
	which->to = which->from;
	if (sign == '-')
		return scn_u32(mark + 1, which->from, parallelism - 1, &which->to);
	return sign == '\0' || scn_u32(mark + 1, 0, UINT32_MAX - 1, &which->attempt);
}

uint32_t
coord_tasks(const struct coord_scenario *s, const char *word, const uint32_t *attempts,
	    struct weir_attempt *list)
{
	const char *dot = strrchr(word, '.');
	struct subtasks which;
	uint32_t cnt, first;
	char *vertex;
	int v;

	if (strcmp(word, "*") == 0)
		return all_of(s, 0, s->task_cnt, attempts, list);
	if (dot == NULL)
		return 0;
	vertex = strndup(word, (size_t)(dot - word));
	WEIR_ASSERT(vertex != NULL);
	v = coord_index(s->vertex_names, s->cfg.graph.vertex_cnt, vertex);
	free(vertex);
	if (v < 0)
		return 0;
	first = s->vertex_first[v];
	if (strcmp(dot, ".*") == 0)
		return all_of(s, first, first + s->vertices[v].parallelism - 1, attempts, list);
	if (!read_subtasks(dot + 1, s->vertices[v].parallelism, &which))
		return 0;
	cnt = all_of(s, first + which.from, first + which.to, attempts, list);
	if (which.has_attempt)
		list[0].attempt = which.attempt;
	return cnt;
}

static bool
on_off(const char *word, bool *value)
{
	*value = strcmp(word, "on") == 0;
	return *value || strcmp(word, "off") == 0;
}

static bool
number_or_none(const char *word, int64_t *value)
{
	*value = WEIR_COORD_NO_INTERVAL;
	return strcmp(word, "none") == 0 || scn_time(word, value);
}

static bool
read_mode(const char *word, bool *at_least_once)
{
	*at_least_once = strcmp(word, "at-least-once") == 0;
	return *at_least_once || strcmp(word, "exactly-once") == 0;
}

static bool
read_retention(struct coord_scenario *s, const char *word)
{
	static const char *const names[] = { "always", "never", "on-failure", "on-cancel" };
	int i = coord_index(names, WEIR_ARRAY_CNT(names), word);

	s->cfg.retention = (enum weir_retention)i;
	return i >= 0;
}

static bool
read_tolerable(const char *word, uint32_t *value)
{
	*value = WEIR_FAILURES_UNLIMITED;
	return strcmp(word, "unlimited") == 0 ||
	       scn_u32(word, 0, WEIR_FAILURES_UNLIMITED - 1, value);
}

/* Header lines of one word and one value. */
static bool
read_value(struct coord_scenario *s, const char *key, const char *value)
{
	struct weir_coordinator_config *cfg = &s->cfg;

	if (strcmp(key, "interval") == 0)
		return number_or_none(value, &cfg->interval_ms) && cfg->interval_ms != 0;
	else if (strcmp(key, "backlog-interval") == 0)
		return number_or_none(value, &cfg->backlog_interval_ms);
	else if (strcmp(key, "min-pause") == 0)
		return scn_time(value, &cfg->min_pause_ms);
	else if (strcmp(key, "timeout") == 0)
		return scn_time(value, &cfg->timeout_ms);
	else if (strcmp(key, "aligned-timeout") == 0)
		return scn_time(value, &cfg->aligned_timeout_ms);
	else if (strcmp(key, "max-concurrent") == 0)
		return scn_u32(value, 1, UINT32_MAX - 1, &cfg->max_concurrent);
	else if (strcmp(key, "retained") == 0)
		return scn_u32(value, 1, UINT32_MAX - 1, &cfg->retained);
	else if (strcmp(key, "queue-limit") == 0)
		return scn_u32(value, 1, UINT32_MAX - 1, &cfg->queue_limit);
	else if (strcmp(key, "tolerable-failures") == 0)
		return read_tolerable(value, &cfg->tolerable_failures);
	else if (strcmp(key, "unaligned") == 0)
		return on_off(value, &cfg->unaligned);
	else if (strcmp(key, "finished-tasks") == 0)
		return on_off(value, &cfg->finished_tasks);
	else if (strcmp(key, "mode") == 0)
		return read_mode(value, &cfg->at_least_once);
	else if (strcmp(key, "retention") == 0)
		return read_retention(s, value);
	return false;
}

static bool
read_vertex(struct coord_scenario *s, const struct scn_line *line)
{
	uint32_t v = s->cfg.graph.vertex_cnt;

	if (line->word_cnt < 3 || line->word_cnt > 4 || v == COORD_VERTICES_MAX ||
	    coord_index(s->vertex_names, v, line->words[1]) >= 0 ||
	    !scn_u32(line->words[2], 1, COORD_TASKS_MAX - s->task_cnt, &s->vertices[v].parallelism))
		return false;
	s->vertex_names[v] = line->words[1];
	s->vertices[v].union_state = line->word_cnt > 3;
	if (line->word_cnt > 3 && strcmp(line->words[3], "union") != 0)
		return false;
	s->vertex_first[v] = s->task_cnt;
	s->task_cnt += s->vertices[v].parallelism;
	s->cfg.graph.vertex_cnt++;
	return true;
}

static bool
read_edge(struct coord_scenario *s, const struct scn_line *line)
{
	struct weir_coord_edge *edge = &s->edges[s->cfg.graph.edge_cnt];
	int up, down;

	if (line->word_cnt < 4 || line->word_cnt > 5 || s->cfg.graph.edge_cnt == COORD_EDGES_MAX)
		return false;
	up = coord_index(s->vertex_names, s->cfg.graph.vertex_cnt, line->words[1]);
	down = coord_index(s->vertex_names, s->cfg.graph.vertex_cnt, line->words[2]);
	if (up < 0 || down <= up) /* topological order */
		return false;
	edge->up = (uint32_t)up;
	edge->down = (uint32_t)down;
	edge->pointwise = strcmp(line->words[3], "point") == 0;
	edge->blocking = line->word_cnt > 4;
	s->cfg.graph.edge_cnt++;
	return (edge->pointwise || strcmp(line->words[3], "all") == 0) &&
	       (line->word_cnt == 4 || strcmp(line->words[4], "blocking") == 0);
}

static bool
read_manual(struct coord_scenario *s, const struct scn_line *line)
{
	for (uint32_t i = 1; i < line->word_cnt; i++) {
		int stage = coord_index(stages, WEIR_ARRAY_CNT(stages), line->words[i]);

		if (stage < 0)
			return false;
		s->cfg.asks |= 1U << stage;
	}
	return true;
}

static bool
read_name(struct coord_scenario *s, const struct scn_line *line)
{
	int v;

	if (strcmp(line->words[0], "hook") == 0) {
		if (s->cfg.hook_cnt == COORD_NAMES_MAX || line->word_cnt > 2 ||
		    coord_index(s->hook_names, s->cfg.hook_cnt, line->words[1]) >= 0)
			return false;
		s->hook_names[s->cfg.hook_cnt++] = line->words[1];
		return true;
	}
	if (s->cfg.opcoord_cnt == COORD_NAMES_MAX ||
	    coord_index(s->opcoord_names, s->cfg.opcoord_cnt, line->words[1]) >= 0)
		return false;
	v = line->word_cnt == 3
		    ? coord_index(s->vertex_names, s->cfg.graph.vertex_cnt, line->words[2])
		    : -1;
	if (v < 0)
		return false;
	s->opcoord_vertices[s->cfg.opcoord_cnt] = (uint32_t)v;
	s->opcoord_names[s->cfg.opcoord_cnt++] = line->words[1];
	return true;
}

static bool
read_draws(struct coord_scenario *s, const struct scn_line *line)
{
	s->draw_cnt = 0;
	for (uint32_t i = 1; i < line->word_cnt; i++) {
		if (s->draw_cnt == COORD_DRAWS_MAX ||
		    !scn_u64(line->words[i], UINT64_MAX, &s->draws[s->draw_cnt++]))
			return false;
	}
	return true;
}

static bool
read_line(struct coord_scenario *s, const struct scn_line *line)
{
	const char *key = line->words[0];

	if (line->word_cnt < 2)
		return false;
	if (strcmp(key, "vertex") == 0)
		return read_vertex(s, line);
	if (strcmp(key, "edge") == 0)
		return read_edge(s, line);
	if (strcmp(key, "manual") == 0)
		return read_manual(s, line);
	if (strcmp(key, "coord") == 0 || strcmp(key, "hook") == 0)
		return read_name(s, line);
	if (strcmp(key, "init-draw") == 0)
		return read_draws(s, line);
	if (strcmp(key, "state") == 0) {
		if (s->state_cnt == COORD_STATES_MAX)
			return false;
		s->states[s->state_cnt++] = line;
		return true;
	}
	if (line->word_cnt > 2)
		return false;
	if (strcmp(key, "job") == 0) {
		s->job_state = (enum weir_coord_job_state)coord_job_state(line->words[1]);
		return coord_job_state(line->words[1]) >= 0;
	}
	return read_value(s, key, line->words[1]);
}

static void
set_defaults(struct coord_scenario *s)
{
	s->cfg = (struct weir_coordinator_config){
		.job = 1,
		.interval_ms = WEIR_COORD_NO_INTERVAL,
		.backlog_interval_ms = WEIR_COORD_NO_INTERVAL,
		.timeout_ms = 600000,
		.max_concurrent = 1,
		.retained = 1,
		.queue_limit = 1000,
		.finished_tasks = true,
		.retention = WEIR_RETENTION_NEVER,
		.history_max = 10,
	};
	s->job_state = WEIR_COORD_JOB_RUNNING;
	s->cfg.graph.vertices = s->vertices;
	s->cfg.graph.edges = s->edges;
	s->cfg.opcoord_vertex = s->opcoord_vertices;
	s->draw_cnt = 1;
}

static bool
check_c8(struct coord_scenario *s)
{
	if (!s->cfg.unaligned || (s->cfg.max_concurrent == 1 && !s->cfg.at_least_once))
		return true;
	s->deviations++;
	scn_deviation(s->file, s->file->lines[s->begin].number, s->id,
		      "unaligned with max-concurrent 1 and exactly-once", "another");
	return false;
}

/* A coordinator may be declared before its vertex. */
static bool
is_late(const struct scn_line *line)
{
	return strcmp(line->words[0], "coord") == 0 || strcmp(line->words[0], "edge") == 0;
}

bool
coord_read_header(struct coord_scenario *s)
{
	set_defaults(s);
	for (int late = 0; late < 2; late++) {
		for (uint32_t i = s->first + 1; i < s->begin; i++) {
			const struct scn_line *line = &s->file->lines[i];

			if (is_late(line) != late)
				continue;
			if (!read_line(s, line)) {
				coord_nonsense(s, line);
				return false;
			}
		}
	}
	return check_c8(s);
}
