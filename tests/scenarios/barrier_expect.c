/* The expectations of barrier scenarios. */

#include <inttypes.h>
#include <string.h>

#include "tests/scenarios/barrier_run.h"

static void
expect_event(struct run *run)
{
	static char text[TEXT_MAX];
	const char *event = event_log_next(run->log);

	words_join(&run->words, 0, text);
	compare(run, text, event != NULL ? event : "nothing");
	event_log_skip(run->log);
}

static void
expect_deliver(struct run *run)
{
	static char text[TEXT_MAX], expected[TEXT_MAX];
	char *save = NULL;

	words_join(&run->words, 1, text);
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

	words_join(&run->words, 1, text);
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

	words_join(&run->words, 0, text);
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
	static char text[TEXT_MAX];
	char full[NAME_MAX_LEN];

	words_join(&run->words, 0, text);
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
	static char text[TEXT_MAX];

	words_join(&run->words, 0, text);
	compare(run, text, world_aligning(run->world) ? "aligning yes" : "aligning no");
}

static void
expect_keep(struct run *run)
{
	static char text[TEXT_MAX], got[TEXT_MAX], full[TEXT_MAX + 64];
	uint64_t id;

	if (!id_at(run, 1, &id))
		return;
	words_join(&run->words, 0, text);
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
	words_join(&run->words, 0, text);
	out_queue(run->out, channel, got, sizeof(got));
	snprintf(full, sizeof(full), "queue %u %s", channel, got);
	compare(run, text, full);
}

static const struct line_kind expectations[] = {
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

const struct line_kind *
expectation_of(const struct run *run)
{
	return line_kind_of(run, expectations, WEIR_ARRAY_CNT(expectations));
}
