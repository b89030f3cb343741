/* The steps of barrier scenarios. */

#include <string.h>

#include "tests/scenarios/barrier_run.h"
#include "tests/scenarios/scn.h"

#define NOTICES_MAX 1000000 /* of one line */

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
	uint64_t n = 1;

	if (strcmp(word, "none") == 0 && run->words.cnt == 2) {
		if (world_hand_out(run->world, name, sizeof(name)))
			deviate(&run->place, "nothing to hand out", name);
		return;
	}
	if (run->words.cnt == 1 || (run->words.cnt == 2 && scn_u64(word, UINT64_MAX, &n))) {
		for (uint64_t i = 0; i < n; i++) {
			if (world_hand_out(run->world, name, sizeof(name)))
				continue;
			deviate(&run->place, "an item", "nothing to hand out");
			break;
		}
		return;
	}
	for (unsigned i = 1; i < run->words.cnt; i++)
		poll_word(run, run->words.word[i]);
}

static void
step_notice(struct run *run)
{
	char *word = run->words.cnt == 2 ? run->words.word[1] : NULL;
	char *dots = word != NULL ? strstr(word, "..") : NULL;
	uint64_t first, last;

	if (dots != NULL)
		*dots = '\0';
	if (word == NULL || !scn_u64(word, UINT64_MAX, &first) ||
	    !scn_u64(dots != NULL ? dots + 2 : word, UINT64_MAX, &last) || last < first ||
	    last - first >= NOTICES_MAX) {
		if (dots != NULL)
			*dots = '.';
		malformed(run);
		return;
	}
	for (uint64_t i = 0; i <= last - first; i++)
		world_notice(run->world, first + i);
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

	if (!time_at(run, 1, &ms))
		return;
	if (ms < 0 || !world_advance(run->world, ms * MS)) {
		malformed(run);
		return;
	}
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

	if (id_at(run, 1, &id) && time_at(run, 2, &ms))
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

static const struct line_kind steps[] = {
	{ "push", step_push, IN_BOTH },		{ "poll", step_poll, IN_INPUT },
	{ "notice", step_notice, IN_INPUT },	{ "rpc", step_rpc, IN_INPUT },
	{ "stamp", step_stamp, IN_INPUT },	{ "fire", step_fire, IN_INPUT },
	{ "hold", step_hold, IN_INPUT },	{ "release", step_release, IN_INPUT },
	{ "drain", step_drain, IN_INPUT },	{ "advance", step_advance, IN_INPUT },
	{ "skip", step_skip, IN_INPUT },	{ "close", step_close, IN_BOTH },
	{ "take", step_take, IN_OUTPUT },	{ "resume", step_resume, IN_OUTPUT },
	{ "timeout", step_timeout, IN_OUTPUT }, { "abort-output", step_abort_output, IN_OUTPUT },
};

const struct line_kind *
step_of(const struct run *run)
{
	return line_kind_of(run, steps, WEIR_ARRAY_CNT(steps));
}
