/* The runner of barrier scenarios: reads a file, carries out steps, compares expectations. */

#include "tests/scenarios/barrier.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/scenarios/scenario.h"

#define TEXT_MAX 65536
#define MS	 INT64_C(1000000)

/* A file in lines, and a line in words. */

struct lines {
	char **line;
	unsigned cnt;
};

struct words {
	char *word[WORDS_MAX];
	unsigned cnt;
	char text[TEXT_MAX]; /* what the words point into */
};

struct run {
	struct place place;
	struct header header;
	struct world *world;
	struct out_world *out; /* instead of world, in mode output */
	struct event_log *log; /* of either */
	struct words words;
	unsigned step_line;
	bool held;
	bool has_deliver;
};

void
deviate(struct place *place, const char *expected, const char *got)
{
	printf("%s:%u: [%s] expected %s, got %s\n", place->path, place->line, place->id, expected,
	       got);
	place->deviations++;
}

static void
split(struct words *words, const char *line)
{
	char *text = words->text;
	char *save = NULL;

	snprintf(words->text, sizeof(words->text), "%s", line);
	words->cnt = 0;
	for (char *w = strtok_r(text, " \t\r\n", &save); w != NULL;
	     w = strtok_r(NULL, " \t\r\n", &save)) {
		if (w[0] == '#' || words->cnt == WORDS_MAX)
			break;
		words->word[words->cnt++] = w;
	}
}

/* Words from first on, joined by single blanks; commas are blanks, none inside brackets' edges. */
static void
join(const struct words *words, unsigned first, char *text)
{
	size_t len = 0;

	for (unsigned i = first; i < words->cnt; i++) {
		if (len > 0)
			text[len++] = ' ';
		for (const char *c = words->word[i]; *c != '\0'; c++) {
			const char ch = *c == ',' ? ' ' : *c;
			const char last = len > 0 ? text[len - 1] : ' ';

			if (ch == ' ' && (last == ' ' || last == '{' || last == '['))
				continue;
			if ((ch == '}' || ch == ']') && last == ' ' && len > 0)
				len--;
			if (len > 0 && text[len - 1] == ' ' && len > 1 &&
			    (text[len - 2] == '{' || text[len - 2] == '['))
				len--;
			text[len++] = ch;
		}
	}
	while (len > 0 && text[len - 1] == ' ')
		len--;
	text[len] = '\0';
}

static const char *
word_at(const struct run *run, unsigned idx)
{
	return idx < run->words.cnt ? run->words.word[idx] : "";
}

static void
malformed(struct run *run)
{
	char text[TEXT_MAX];

	join(&run->words, 0, text);
	deviate(&run->place, "a line of the notation", text);
}

static bool
number_at(struct run *run, unsigned idx, int64_t *value)
{
	char *end;
	const char *word = word_at(run, idx);

	*value = strtoll(word, &end, 10);
	if (*word != '\0' && *end == '\0')
		return true;
	malformed(run);
	return false;
}

static bool
id_at(struct run *run, unsigned idx, uint64_t *id)
{
	char *end;
	const char *word = word_at(run, idx);

	*id = strtoull(word, &end, 10);
	if (*word >= '0' && *word <= '9' && *end == '\0')
		return true;
	malformed(run);
	return false;
}

static void
compare(struct run *run, const char *expected, const char *got)
{
	if (strcmp(expected, got) != 0)
		deviate(&run->place, expected, got);
}

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
		return true;
	for (unsigned i = 1; i < run->words.cnt; i++) {
		char *end;
		const unsigned long c = strtoul(word_at(run, i), &end, 10);

		if (*end != '\0' || c >= CHANNELS_MAX)
			return false;
		set[c] = true;
	}
	return true;
}

static bool
header_option(struct run *run)
{
	const char *name = word_at(run, 1);
	const char *value = word_at(run, 2);
	struct header *h = &run->header;
	char *end;
	const unsigned long long n = strtoull(value, &end, 10);
	const bool is_number = *value != '\0' && *end == '\0';

	if (strcmp(name, "finished-tasks") == 0) {
		h->finished_tasks_off = strcmp(value, "off") == 0;
		return true;
	}
	if (strcmp(name, "output-timer") == 0) {
		h->output_timer = strcmp(value, "on") == 0;
		return true;
	}
	if (strcmp(name, "timeout") == 0) {
		h->timeout_ns = is_number ? (int64_t)n * MS : WEIR_HANDLER_NEVER_NS;
		return is_number || strcmp(value, "none") == 0;
	}
	if (strcmp(name, "size") == 0)
		h->size = n;
	else if (strcmp(name, "remember") == 0)
		h->remember = (uint32_t)n;
	else
		return false;
	return is_number;
}

/* Is it a header line? *ok tells whether it was a good one. */
static bool
header_line(struct run *run, bool *ok)
{
	const char *word = word_at(run, 0);
	int64_t n;

	*ok = true;
	if (strcmp(word, "theme") == 0)
		return true;
	if (strcmp(word, "mode") == 0) {
		*ok = header_mode(run);
	} else if (strcmp(word, "channels") == 0) {
		n = atoll(word_at(run, 1));
		*ok = n >= 0 && n < CHANNELS_MAX;
		run->header.channel_cnt = (uint32_t)n;
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

/* Steps. */

static void
drain_unless_held(struct run *run)
{
	if (!run->held && run->world != NULL)
		world_drain(run->world);
}

static void
push_times(struct run *run, struct item_word *item)
{
	for (uint64_t n = 0; n < item->times; n++) {
		if (!(run->out != NULL ? out_push(run->out, item) : world_push(run->world, item))) {
			malformed(run);
			return;
		}
		drain_unless_held(run);
	}
}

static void
step_push(struct run *run)
{
	for (unsigned i = 1; i < run->words.cnt; i++) {
		struct item_word item;

		if (!item_word_parse(run->words.word[i], &item) || strcmp(item.kind, "a") == 0) {
			malformed(run);
			return;
		}
		if (item.channel >= 0) {
			push_times(run, &item);
			continue;
		}
		for (uint32_t c = 0; c < run->header.channel_cnt; c++) {
			item.channel = (int64_t)c;
			push_times(run, &item);
		}
	}
}

/* `d@c` stands for any data of c. */
static bool
item_is(const char *word, const char *name)
{
	const char *at = strchr(name, '@');

	if (strcmp(word, name) == 0)
		return true;
	return strncmp(word, "d@", 2) == 0 && strncmp(name, "d:", 2) == 0 && at != NULL &&
	       strcmp(word + 1, at) == 0;
}

static void
poll_item(struct run *run, const char *word)
{
	char name[NAME_MAX_LEN * 2];

	if (!world_hand_out(run->world, name, sizeof(name)))
		deviate(&run->place, word, "nothing to hand out");
	else if (!item_is(word, name))
		deviate(&run->place, word, name);
}

static void
poll_word(struct run *run, const char *word)
{
	struct item_word item;
	char text[NAME_MAX_LEN * 2];

	if (!item_word_parse(word, &item)) {
		malformed(run);
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(word, "*/#"), word);
	for (uint64_t n = 0; n < item.times; n++)
		poll_item(run, text);
}

static void
step_poll(struct run *run)
{
	const char *word = word_at(run, 1);
	char name[NAME_MAX_LEN * 2];
	char *end;
	unsigned long n = strtoul(word, &end, 10);

	if (strcmp(word, "none") == 0) {
		if (world_hand_out(run->world, name, sizeof(name)))
			deviate(&run->place, "nothing to hand out", name);
		return;
	}
	if (run->words.cnt == 1 || *end == '\0') {
		if (run->words.cnt == 1)
			n = 1;
		for (unsigned long i = 0; i < n; i++)
			if (!world_hand_out(run->world, name, sizeof(name)))
				deviate(&run->place, "an item", "nothing to hand out");
		return;
	}
	for (unsigned i = 1; i < run->words.cnt; i++)
		poll_word(run, run->words.word[i]);
}

static void
step_notice(struct run *run)
{
	char *end;
	unsigned long long first = strtoull(word_at(run, 1), &end, 10);
	unsigned long long last = first;

	if (strncmp(end, "..", 2) == 0)
		last = strtoull(end + 2, &end, 10);
	if (*word_at(run, 1) == '\0' || *end != '\0') {
		malformed(run);
		return;
	}
	for (unsigned long long id = first; id <= last; id++)
		world_notice(run->world, id);
}

static void
step_rpc(struct run *run)
{
	struct item_word item;

	if (!item_word_parse(word_at(run, 1), &item) || !world_rpc(run->world, &item)) {
		malformed(run);
		return;
	}
	drain_unless_held(run);
}

static void
step_clock(struct run *run, bool timers)
{
	int64_t ms;

	if (!number_at(run, 1, &ms))
		return;
	world_advance(run->world, ms * MS);
	if (!timers)
		return;
	world_fire(run->world);
	drain_unless_held(run);
}

static void
step_stamp(struct run *run)
{
	uint64_t id;
	int64_t ms;

	if (id_at(run, 1, &id) && number_at(run, 2, &ms))
		world_stamp(run->world, id, ms * MS);
}

static void
step_fire(struct run *run)
{
	world_fire(run->world);
	drain_unless_held(run);
}

static void
step_hold(struct run *run)
{
	run->held = true;
}

static void
step_release(struct run *run)
{
	run->held = false;
	world_drain(run->world);
}

static void
step_drain(struct run *run)
{
	world_drain(run->world);
}

static void
step_advance(struct run *run)
{
	step_clock(run, true);
}

static void
step_skip(struct run *run)
{
	step_clock(run, false);
}

static void
step_close(struct run *run)
{
	if (run->out != NULL)
		out_close(run->out);
	else
		world_close(run->world);
}

static bool
channel_at(struct run *run, uint32_t *channel)
{
	uint64_t c;

	if (!id_at(run, 1, &c))
		return false;
	*channel = (uint32_t)c;
	if (c < run->header.channel_cnt)
		return true;
	malformed(run);
	return false;
}

static void
step_take(struct run *run)
{
	char name[NAME_MAX_LEN * 2];
	uint32_t channel;

	if (!channel_at(run, &channel))
		return;
	out_take(run->out, channel, name, sizeof(name));
	if (run->words.cnt > 2)
		compare(run, word_at(run, 2), name);
}

static void
step_resume(struct run *run)
{
	uint32_t channel;

	if (channel_at(run, &channel))
		out_resume(run->out, channel);
}

static void
step_timeout(struct run *run)
{
	uint64_t id;

	if (id_at(run, 1, &id))
		out_timeout(run->out, id);
}

static void
step_abort_output(struct run *run)
{
	uint64_t id;

	if (id_at(run, 1, &id))
		out_abort(run->out, id);
}

enum { IN_INPUT = 1, IN_OUTPUT = 2, IN_BOTH = 3 };

static const struct {
	const char *word;
	void (*step)(struct run *run);
	unsigned modes;
} steps[] = {
	{ "push", step_push, IN_BOTH },		{ "poll", step_poll, IN_INPUT },
	{ "notice", step_notice, IN_INPUT },	{ "rpc", step_rpc, IN_INPUT },
	{ "stamp", step_stamp, IN_INPUT },	{ "fire", step_fire, IN_INPUT },
	{ "hold", step_hold, IN_INPUT },	{ "release", step_release, IN_INPUT },
	{ "drain", step_drain, IN_INPUT },	{ "advance", step_advance, IN_INPUT },
	{ "skip", step_skip, IN_INPUT },	{ "close", step_close, IN_BOTH },
	{ "take", step_take, IN_OUTPUT },	{ "resume", step_resume, IN_OUTPUT },
	{ "timeout", step_timeout, IN_OUTPUT }, { "abort-output", step_abort_output, IN_OUTPUT },
};

/* Expectations. */

static void
expect_event(struct run *run)
{
	char text[TEXT_MAX];
	const char *event = event_log_next(run->log);

	join(&run->words, 0, text);
	compare(run, text, event != NULL ? event : "nothing");
	event_log_skip(run->log);
}

static void
expect_deliver(struct run *run)
{
	static char text[TEXT_MAX], expected[TEXT_MAX];
	char *save = NULL;

	join(&run->words, 1, text);
	for (char *label = strtok_r(text, "[] ", &save); label != NULL;
	     label = strtok_r(NULL, "[] ", &save)) {
		const char *event = event_log_next(run->log);

		snprintf(expected, sizeof(expected), "deliver %s", label);
		compare(run, expected, event != NULL ? event : "nothing");
		event_log_skip(run->log);
	}
}

static void
expect_blocked(struct run *run)
{
	static char text[TEXT_MAX], got[TEXT_MAX];

	join(&run->words, 1, text);
	if (run->out != NULL)
		out_blocked(run->out, got, sizeof(got));
	else
		world_blocked(run->world, got, sizeof(got));
	if (strcmp(text, got) != 0) {
		char full[2][NAME_MAX_LEN * 8];

		snprintf(full[0], sizeof(full[0]), "blocked %s", text);
		snprintf(full[1], sizeof(full[1]), "blocked %s", got);
		deviate(&run->place, full[0], full[1]);
	}
}

static void
expect_text(struct run *run, void (*state)(const struct world *w, char *text, size_t size))
{
	static char text[TEXT_MAX], got[TEXT_MAX], full[TEXT_MAX + 32];

	join(&run->words, 0, text);
	state(run->world, got, sizeof(got));
	snprintf(full, sizeof(full), "%s %s", word_at(run, 0), got);
	compare(run, text, full);
}

static void
expect_pending(struct run *run)
{
	expect_text(run, world_pending);
}

static void
expect_latest(struct run *run)
{
	expect_text(run, world_latest);
}

static void
expect_number(struct run *run, uint64_t got)
{
	char text[TEXT_MAX], full[NAME_MAX_LEN];

	join(&run->words, 0, text);
	snprintf(full, sizeof(full), "%s %" PRIu64, word_at(run, 0), got);
	compare(run, text, full);
}

static void
expect_open(struct run *run)
{
	expect_number(run, world_open(run->world));
}

static void
expect_remembered(struct run *run)
{
	expect_number(run, world_remembered(run->world));
}

static void
expect_aligning(struct run *run)
{
	char text[TEXT_MAX];

	join(&run->words, 0, text);
	compare(run, text, world_aligning(run->world) ? "aligning yes" : "aligning no");
}

static void
expect_keep(struct run *run)
{
	static char text[TEXT_MAX], got[TEXT_MAX], full[TEXT_MAX + 64];
	uint64_t id;

	if (!id_at(run, 1, &id))
		return;
	join(&run->words, 0, text);
	world_keep(run->world, id, got, sizeof(got));
	snprintf(full, sizeof(full), "keep %s %s", word_at(run, 1), got);
	compare(run, text, full);
}

static void
expect_metric(struct run *run, const char *word, bool known, uint64_t value)
{
	const size_t len = strcspn(word, "=");
	char got[NAME_MAX_LEN * 2];

	if (known)
		snprintf(got, sizeof(got), "%.*s=%" PRIu64, (int)len, word, value);
	else
		snprintf(got, sizeof(got), "%.*s=?", (int)len, word);
	if (strcmp(word, got) != 0) {
		char expected[NAME_MAX_LEN * 2], full[NAME_MAX_LEN * 3];

		snprintf(expected, sizeof(expected), "align %.20s %.60s", word_at(run, 1), word);
		snprintf(full, sizeof(full), "align %.20s %.60s", word_at(run, 1), got);
		deviate(&run->place, expected, full);
	}
}

static void
expect_align(struct run *run)
{
	struct weir_handler_metrics m = { 0 };
	uint64_t id;
	bool triggered;

	if (!id_at(run, 1, &id))
		return;
	triggered = world_metrics(run->world, id, &m);
	for (unsigned i = 2; i < run->words.cnt; i++) {
		const char *word = run->words.word[i];

		if (strncmp(word, "ms=", 3) == 0)
			expect_metric(run, word, m.known, (uint64_t)(m.align_ns / MS));
		else if (strncmp(word, "bytes=", 6) == 0)
			expect_metric(run, word, m.known, m.bytes);
		else if (strncmp(word, "delay=", 6) == 0)
			expect_metric(run, word, triggered, (uint64_t)(m.delay_ns / MS));
		else
			malformed(run);
	}
}

static void
expect_queue(struct run *run)
{
	static char text[TEXT_MAX], got[TEXT_MAX], full[TEXT_MAX + 64];
	uint32_t channel;

	if (!channel_at(run, &channel))
		return;
	join(&run->words, 0, text);
	out_queue(run->out, channel, got, sizeof(got));
	snprintf(full, sizeof(full), "queue %u %s", channel, got);
	compare(run, text, full);
}

static const struct {
	const char *word;
	void (*expect)(struct run *run);
	unsigned modes;
} expectations[] = {
	{ "trigger", expect_event, IN_INPUT },
	{ "done", expect_event, IN_INPUT },
	{ "abort", expect_event, IN_INPUT },
	{ "discard", expect_event, IN_INPUT },
	{ "suppress", expect_event, IN_INPUT },
	{ "recovered", expect_event, IN_INPUT },
	{ "fail", expect_event, IN_INPUT },
	{ "output-timeout", expect_event, IN_INPUT },
	{ "deliver", expect_deliver, IN_INPUT },
	{ "blocked", expect_blocked, IN_BOTH },
	{ "pending", expect_pending, IN_INPUT },
	{ "latest", expect_latest, IN_INPUT },
	{ "open", expect_open, IN_INPUT },
	{ "remembered", expect_remembered, IN_INPUT },
	{ "aligning", expect_aligning, IN_INPUT },
	{ "keep", expect_keep, IN_INPUT },
	{ "align", expect_align, IN_INPUT },
	{ "capture", expect_event, IN_OUTPUT },
	{ "capture-failed", expect_event, IN_OUTPUT },
	{ "priority", expect_event, IN_OUTPUT },
	{ "queue", expect_queue, IN_OUTPUT },
};

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
	const char *word = word_at(run, 0);
	unsigned mode;
	bool ok;

	if (run->log == NULL && header_line(run, &ok)) {
		if (!ok)
			malformed(run);
		return;
	}
	world_ready(run);
	mode = run->out != NULL ? IN_OUTPUT : IN_INPUT;
	for (size_t i = 0; i < WEIR_ARRAY_CNT(steps); i++)
		if (steps[i].modes & mode && strcmp(word, steps[i].word) == 0) {
			leftovers(run);
			run->step_line = run->place.line;
			steps[i].step(run);
			return;
		}
	for (size_t i = 0; i < WEIR_ARRAY_CNT(expectations); i++)
		if (expectations[i].modes & mode && strcmp(word, expectations[i].word) == 0) {
			expectations[i].expect(run);
			return;
		}
	malformed(run);
}

static bool
has_word(struct run *run, const struct lines *lines, unsigned first, unsigned last,
	 const char *word)
{
	for (unsigned i = first; i < last; i++) {
		split(&run->words, lines->line[i]);
		if (strcmp(word_at(run, 0), word) == 0)
			return true;
	}
	return false;
}

static void
run_scenario(struct run *run, const struct lines *lines, unsigned first, unsigned last,
	     struct scenario_counts *counts)
{
	split(&run->words, lines->line[first]);
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
		split(&run->words, lines->line[i]);
		if (run->words.cnt > 0)
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

static bool
lines_read(struct lines *lines, const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;

	if (file == NULL)
		return false;
	while (getline(&line, &size, file) >= 0) {
		lines->line = realloc(lines->line, (lines->cnt + 1) * sizeof(*lines->line));
		if (lines->line == NULL)
			abort();
		lines->line[lines->cnt++] = line;
		line = NULL;
		size = 0;
	}
	free(line);
	fclose(file);
	return true;
}

static bool
is_scenario(struct run *run, const char *line)
{
	split(&run->words, line);
	return strcmp(word_at(run, 0), "scenario") == 0;
}

int
run_barrier_file(const char *path, struct scenario_counts *counts)
{
	static struct run run;
	struct lines lines = { 0 };
	unsigned first = 0;

	if (!lines_read(&lines, path))
		return -1;
	run.place.path = path;
	while (first < lines.cnt && !is_scenario(&run, lines.line[first]))
		first++;
	while (first < lines.cnt) {
		unsigned last = first + 1;

		while (last < lines.cnt && !is_scenario(&run, lines.line[last]))
			last++;
		run_scenario(&run, &lines, first, last, counts);
		first = last;
	}
	for (unsigned i = 0; i < lines.cnt; i++)
		free(lines.line[i]);
	free(lines.line);
	return 0;
}
