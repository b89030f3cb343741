/* Coordinator files: splits them into scenarios, plays each, compares. */

#include "tests/scenarios/coord.h"
#include "tests/scenarios/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
deviation(struct coord_scenario *s, uint32_t number, const char *expected, const char *got)
{
	s->deviations++;
	scn_deviation(s->file, number, s->id, expected, got);
}

static void
check_query(struct coord_scenario *s, const struct scn_line *line,
	    bool (*query)(struct coord_scenario *s, const char *query, struct scn_text *answer))
{
	const char *colon = strstr(line->text, ": ");
	struct scn_text answer = { 0 };
	char *what;

	if (colon == NULL || line->words[0][1] != '\0' || line->word_cnt < 3) {
		coord_nonsense(s, line);
		return;
	}
	what = strndup(line->text + 2, (size_t)(colon - line->text) - 2);
	scn_text_reset(&answer);
	if (!query(s, what, &answer))
		coord_nonsense(s, line);
	else if (strcmp(answer.len > 0 ? answer.at : "-", colon + 2) != 0)
		deviation(s, line->number, colon + 2, answer.len > 0 ? answer.at : "-");
	free(what);
	free(answer.at);
}

/* Take the first line off the updates; NULL at the end. */
static char *
next_update(char **rest)
{
	char *line = *rest;
	char *end;

	if (line == NULL || *line == '\0')
		return NULL;
	end = strchr(line, '\n');
	*end = '\0';
	*rest = end + 1;
	return line;
}

/* Lines i.. up to the next step: updates and queries. Returns the index of the next step. */
static uint32_t
check(struct coord_scenario *s, uint32_t i, uint32_t step_number,
      bool (*query)(struct coord_scenario *s, const char *query, struct scn_text *answer))
{
	char *rest = s->out.at;
	char *got;

	for (; i < s->end; i++) {
		const struct scn_line *line = &s->file->lines[i];

		if (line->text[0] == '?') {
			check_query(s, line, query);
			continue;
		}
		if (line->text[0] != '>')
			break;
		if (line->words[0][1] != '\0' || line->word_cnt < 2) {
			coord_nonsense(s, line);
			continue;
		}
		got = next_update(&rest);
		if (got == NULL)
			deviation(s, line->number, line->text + 2, "nothing");
		else if (strcmp(got, line->text + 2) != 0)
			deviation(s, line->number, line->text + 2, got);
		step_number = line->number;
	}
	while ((got = next_update(&rest)) != NULL)
		deviation(s, step_number, "nothing", got);
	return i;
}

void
coord_play(struct coord_scenario *s,
	   bool (*step)(struct coord_scenario *s, const struct scn_line *line),
	   bool (*query)(struct coord_scenario *s, const char *query, struct scn_text *answer))
{
	uint32_t i;

	scn_text_reset(&s->out);
	i = check(s, s->begin + 1, s->file->lines[s->begin].number, query);
	while (i < s->end) {
		const struct scn_line *line = &s->file->lines[i];

		scn_text_reset(&s->out);
		if (!step(s, line))
			coord_nonsense(s, line);
		i = check(s, i + 1, line->number, query);
	}
}

static void
run_kind(struct coord_scenario *s, const char *kind)
{
	if (strcmp(kind, "decider") == 0) {
		coord_run_decider(s);
	} else if (strcmp(kind, "failures") == 0) {
		coord_run_failures(s);
	} else if (strcmp(kind, "plan") == 0) {
		coord_run_plan(s);
	} else if (strcmp(kind, "remap") == 0) {
		coord_run_remap(s);
	} else if (strcmp(kind, "coordinator") == 0) {
		if (!coord_read_header(s))
			return;
		coord_create(s);
		coord_play(s, coord_step, coord_query);
	} else {
		deviation(s, s->file->lines[s->first].number, "a known kind", kind);
	}
}

static void
run_scenario(const struct scn_file *f, uint32_t first, uint32_t end, struct scenario_counts *counts)
{
	const struct scn_line *head = &f->lines[first];
	struct coord_scenario *s = calloc(1, sizeof(*s));

	WEIR_ASSERT(s != NULL);
	s->file = f;
	s->id = head->word_cnt > 1 ? head->words[1] : "-";
	s->first = first;
	s->begin = first + 1;
	s->end = end;
	while (s->begin < end && strcmp(f->lines[s->begin].text, "begin") != 0)
		s->begin++;
	if (head->word_cnt < 3 || strcmp(head->words[0], "scenario") != 0 || s->begin == end)
		deviation(s, head->number, "scenario ID KIND TITLE ... begin", head->text);
	else
		run_kind(s, head->words[2]);
	if (s->deviations > 0)
		counts->failed++;
	else
		counts->passed++;
	weir_coordinator_destroy(s->c);
	scn_names_fini(&s->names);
	for (uint32_t i = 0; i < s->promise_cnt; i++)
		free(s->promises[i].name);
	free(s->promises);
	free(s->out.at);
	free(s);
}

int
run_coordinator_file(const char *path, struct scenario_counts *counts)
{
	struct scn_file f = { .path = path };
	uint32_t first = 0;

	if (scn_read(&f) != 0) {
		scn_free(&f);
		return -1;
	}
	while (first < f.cnt) {
		uint32_t end = first + 1;

		while (end < f.cnt && strcmp(f.lines[end].words[0], "scenario") != 0)
			end++;
		run_scenario(&f, first, end, counts);
		first = end;
	}
	scn_free(&f);
	return 0;
}
