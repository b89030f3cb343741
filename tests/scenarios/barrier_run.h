#ifndef WEIR_TESTS_SCENARIOS_BARRIER_RUN_H
#define WEIR_TESTS_SCENARIOS_BARRIER_RUN_H

/* One scenario under way: what barrier.c, barrier_steps.c and barrier_expect.c share. */

#include "tests/scenarios/barrier.h"

#define TEXT_MAX 262144 /* bytes of a line */
/* Nanoseconds inside: sums and differences of two stay numbers. */
#define TIME_MAX_MS (INT64_MAX / MS / 2)
#define MS	    INT64_C(1000000)

/* A line in words. */

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

/* False if there is no room for all of it. */
bool words_split(struct words *words, const char *line);

/* Words from first on, joined by single blanks; commas are blanks, none inside brackets' edges. */
void words_join(const struct words *words, unsigned first, char *text);

/* The idx-th word of the line, "" behind the last. */
const char *word_at(const struct run *run, unsigned idx);

/* The line is none of the notation. */
void malformed(struct run *run);

/* The idx-th word as a time, an id; false, and reported, if it is none. */
bool time_at(struct run *run, unsigned idx, int64_t *ms);
bool id_at(struct run *run, unsigned idx, uint64_t *id);
bool channel_at(struct run *run, uint32_t *channel); /* the first word behind the name */

void compare(struct run *run, const char *expected, const char *got);

/* A step or an expectation, and where it may stand. */
enum { IN_INPUT = 1, IN_OUTPUT = 2, IN_BOTH = 3 };
struct line_kind {
	const char *word;
	void (*act)(struct run *run);
	unsigned modes;
};

/* What the line is; NULL: nothing of that sort. */
const struct line_kind *step_of(const struct run *run);
const struct line_kind *expectation_of(const struct run *run);
const struct line_kind *line_kind_of(const struct run *run, const struct line_kind *kinds,
				     size_t cnt);

#endif /* WEIR_TESTS_SCENARIOS_BARRIER_RUN_H */
