/* The runner of barrier scenarios: reads a file, its scenarios' headers, and runs line by line. */

#include <stdlib.h>
#include <string.h>

#include "tests/scenarios/barrier_run.h"
#include "tests/scenarios/scenario.h"
#include "tests/scenarios/scn.h"

#define REMEMBER_MAX 1000000

/* A file in lines. */
struct lines {
	char **line;
	unsigned cnt;
};

/* Header. */

static bool
header_mode(struct run *run)
{
	static const struct {
		const char *word;
		enum scenario_mode mode;
	} modes[] = {
		{ "aligned", MODE_INPUT },   { "alternating", MODE_INPUT },
		{ "unaligned", MODE_INPUT }, { "at-least-once", MODE_TRACKER },
		{ "output", MODE_OUTPUT },
	};

	for (size_t i = 0; i < WEIR_ARRAY_CNT(modes); i++)
		if (strcmp(word_at(run, 1), modes[i].word) == 0) {
			run->header.mode = modes[i].mode;
			return true;
		}
	return false;
}

static bool
header_set(struct run *run, bool *set)
{
	const bool all = strcmp(word_at(run, 1), "all") == 0;

	for (uint32_t c = 0; c < CHANNELS_MAX; c++)
		set[c] = all;
	if (all || strcmp(word_at(run, 1), "none") == 0)
		return run->words.cnt == 2;
	for (unsigned i = 1; i < run->words.cnt; i++) {
		uint32_t c;

		if (!scn_u32(word_at(run, i), 0, CHANNELS_MAX - 1, &c))
			return false;
		set[c] = true;
	}
	return run->words.cnt > 1;
}

static bool
header_option(struct run *run)
{
	const char *name = word_at(run, 1);
	const char *value = word_at(run, 2);
	const bool on = strcmp(value, "on") == 0;
	const bool on_off = on || strcmp(value, "off") == 0;
	struct header *h = &run->header;
	uint64_t ms;

	if (run->words.cnt != 3)
		return false;
	if (strcmp(name, "finished-tasks") == 0) {
		h->finished_tasks_off = !on;
		return on_off;
	}
	if (strcmp(name, "output-timer") == 0) {
		h->output_timer = on;
		return on_off;
	}
	if (strcmp(name, "timeout") == 0) {
		const bool is_number = scn_u64(value, UINT64_MAX, &ms);

		h->timeout_ns =
			is_number && ms <= TIME_MAX_MS ? (int64_t)ms * MS : WEIR_HANDLER_NEVER_NS;
		return is_number || strcmp(value, "none") == 0;
	}
	if (strcmp(name, "size") == 0)
		return scn_u64(value, UINT64_MAX, &h->size);
	return strcmp(name, "remember") == 0 && scn_u32(value, 1, REMEMBER_MAX, &h->remember);
}

/* Is it a header line? *ok tells whether it was a good one. */
static bool
header_line(struct run *run, bool *ok)
{
	const char *word = word_at(run, 0);

	*ok = true;
	if (strcmp(word, "theme") == 0)
		return true;
	if (strcmp(word, "mode") == 0) {
		*ok = run->words.cnt == 2 && header_mode(run);
	} else if (strcmp(word, "channels") == 0) {
		*ok = run->words.cnt == 2 &&
		      scn_u32(word_at(run, 1), 0, CHANNELS_MAX - 1, &run->header.channel_cnt);
	} else if (strcmp(word, "remote") == 0) {
		*ok = header_set(run, run->header.remote);
	} else if (strcmp(word, "forced") == 0) {
		*ok = header_set(run, run->header.forced);
	} else if (strcmp(word, "option") == 0) {
		*ok = header_option(run);
	} else {
		return false;
	}
	return true;
}

/* A scenario. */

/* Events that no line expected. */
static void
leftovers(struct run *run)
{
	const unsigned line = run->place.line;
	const char *event;

	if (run->log == NULL)
		return;
	run->place.line = run->step_line;
	while ((event = event_log_next(run->log)) != NULL) {
		deviate(&run->place, "no further event", event);
		event_log_skip(run->log);
	}
	run->place.line = line;
}

static void
world_ready(struct run *run)
{
	if (run->log != NULL)
		return;
	if (run->header.mode == MODE_OUTPUT) {
		run->out = out_create(&run->header);
		run->log = out_log(run->out);
		return;
	}
	run->world = world_create(&run->header);
	run->log = world_log(run->world);
	if (!run->has_deliver)
		world_skip_deliveries(run->world);
}

static void
run_line(struct run *run)
{
	const struct line_kind *kind;
	bool ok;

	if (run->log == NULL && header_line(run, &ok)) {
		if (!ok)
			malformed(run);
		return;
	}
	world_ready(run);
	kind = step_of(run);
	if (kind != NULL) {
		leftovers(run);
		run->step_line = run->place.line;
	} else {
		kind = expectation_of(run);
	}
	if (kind != NULL)
		kind->act(run);
	else
		malformed(run);
}

static bool
has_word(struct run *run, const struct lines *lines, unsigned first, unsigned last,
	 const char *word)
{
	for (unsigned i = first; i < last; i++) {
		if (words_split(&run->words, lines->line[i]) && strcmp(word_at(run, 0), word) == 0)
			return true;
	}
	return false;
}

static void
run_scenario(struct run *run, const struct lines *lines, unsigned first, unsigned last,
	     struct scenario_counts *counts)
{
	(void)words_split(&run->words, lines->line[first]);
	snprintf(run->place.id, sizeof(run->place.id), "%s", word_at(run, 1));
	run->place.deviations = 0;
	run->header = (struct header){
		.channel_cnt = 1,
		.timeout_ns = WEIR_HANDLER_NEVER_NS,
		.size = 1,
	};
	run->held = false;
	run->world = NULL;
	run->out = NULL;
	run->log = NULL;
	run->has_deliver = has_word(run, lines, first, last, "deliver");
	for (unsigned i = first + 1; i < last; i++) {
		run->place.line = i + 1;
		if (!words_split(&run->words, lines->line[i]))
			deviate(&run->place, "a shorter line", "one without end");
		else if (run->words.cnt > 0)
			run_line(run);
	}
	leftovers(run);
	if (run->header.mode == MODE_NONE)
		deviate(&run->place, "a mode", "none");
	if (run->world != NULL)
		world_destroy(run->world);
	if (run->out != NULL)
		out_destroy(run->out);
	if (run->place.deviations == 0)
		counts->passed++;
	else
		counts->failed++;
}

static void
lines_free(struct lines *lines)
{
	for (unsigned i = 0; i < lines->cnt; i++)
		free(lines->line[i]);
	free(lines->line);
}

static char **
grown_lines(char **line, unsigned *cap)
{
	*cap = *cap == 0 ? 64 : *cap * 2;
	line = realloc(line, *cap * sizeof(*line));
	if (line == NULL)
		abort();
	return line;
}

static bool
lines_read(struct lines *lines, const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	unsigned cap = 0;
	size_t size = 0;
	ssize_t len;
	int failed;

	if (file == NULL) {
		perror(path);
		return false;
	}
	while ((len = getline(&line, &size, file)) >= 0) {
		for (ssize_t i = 0; i < len; i++)
			line[i] = line[i] == '\0' ? '?' : line[i];
		if (lines->cnt == cap)
			lines->line = grown_lines(lines->line, &cap);
		lines->line[lines->cnt++] = line;
		line = NULL;
		size = 0;
	}
	free(line);
	failed = ferror(file);
	if (failed)
		perror(path);
	fclose(file);
	return !failed;
}

static bool
is_scenario(struct run *run, const char *line)
{
	return words_split(&run->words, line) && strcmp(word_at(run, 0), "scenario") == 0;
}

int
run_barrier_file(const char *path, struct scenario_counts *counts)
{
	static struct run run;
	struct lines lines = { 0 };
	unsigned first = 0;

	if (!lines_read(&lines, path)) {
		lines_free(&lines);
		return -1;
	}
	run.place = (struct place){ .path = path, .line = 1, .id = "-" };
	while (first < lines.cnt && !is_scenario(&run, lines.line[first])) {
		run.place.line = ++first;
		if (run.words.cnt > 0)
			deviate(&run.place, "a line `scenario`", word_at(&run, 0));
	}
	if (first == lines.cnt && run.place.deviations == 0)
		deviate(&run.place, "a scenario", "none");
	if (run.place.deviations > 0)
		counts->failed++;
	while (first < lines.cnt) {
		unsigned last = first + 1;

		while (last < lines.cnt && !is_scenario(&run, lines.line[last]))
			last++;
		run_scenario(&run, &lines, first, last, counts);
		first = last;
	}
	lines_free(&lines);
	return 0;
}
