#ifndef WEIR_TESTS_SCENARIOS_BARRIER_H
#define WEIR_TESTS_SCENARIOS_BARRIER_H

/*
 * Runner of barrier scenarios: one task's input (engine/checkpoint/input.h) over lanes in memory.
 * The world stores what the task saw and what it kept; the runner compares.
 */

#include "engine/checkpoint/input.h"

#include <stdio.h>

#define CHANNELS_MAX 1024
#define WORDS_MAX    4096
#define LANE_DEPTH   8192u
#define EVENTS_MAX   4096u
#define NUMBERS_MAX  16384u
#define NAME_MAX_LEN 64
#define TIMES_MAX    NUMBERS_MAX /* of one item word */

/* A file, and where in it we are. */
struct place {
	const char *path;
	unsigned line;
	char id[NAME_MAX_LEN];
	unsigned deviations; /* of this scenario */
};

void deviate(struct place *place, const char *expected, const char *got);

/* Behind what stands in text already; what finds no room is cut off. */
void text_add(char *text, size_t size, const char *fmt, ...) WEIR_PRINTF(3, 4);

/* What happened, in order: "trigger 5 aligned", "deliver a". */
struct event_log {
	char **text;
	uint32_t cnt, cap;
	uint32_t idx; /* the oldest that no line expected */
};
void event_log_add(struct event_log *log, const char *fmt, ...) WEIR_PRINTF(2, 3);
const char *event_log_next(const struct event_log *log); /* NULL: none left */
void event_log_skip(struct event_log *log);
void event_log_free(struct event_log *log);

/* One item word: `tb5@0/100*2#7`. */
struct item_word {
	char kind[8];		  /* d b sp tb ub x a eop eos */
	char label[NAME_MAX_LEN]; /* d only; empty: none given */
	uint64_t id;
	int64_t channel; /* -1: every channel */
	uint64_t size;
	bool has_size;
	uint64_t times;
	bool has_seq;
	uint64_t seq;
};

bool item_word_parse(const char *word, struct item_word *item);

/* What the letters of a word stand for: b sp tb ub x eop eos. */
struct item_kind {
	const char *word;
	enum weir_item_kind item;
	enum weir_barrier_kind barrier; /* BARRIER only */
};
const struct item_kind *item_kind_of(const char *word); /* NULL: none */
/* The other way round; "?" if the notation has none. */
const char *item_kind_word(enum weir_item_kind item, enum weir_barrier_kind barrier);

enum scenario_mode { MODE_NONE, MODE_INPUT, MODE_TRACKER, MODE_OUTPUT };

struct header {
	enum scenario_mode mode;
	uint32_t channel_cnt;
	bool remote[CHANNELS_MAX];
	bool forced[CHANNELS_MAX];
	bool finished_tasks_off;
	bool output_timer;
	int64_t timeout_ns;
	uint64_t size;
	uint32_t remember;
};

struct world;

/* What a test lane is made of. */
struct test_lane {
	struct weir_lane lane;
	uint32_t head, tail; /* free-running */
	struct weir_item items[LANE_DEPTH];
};
void test_lane_init(struct test_lane *lane);

struct world *world_create(const struct header *header);
void world_destroy(struct world *world);

/* Steps. */
bool world_push(struct world *w, const struct item_word *item); /* false: no such channel, full */
void world_drain(struct world *w);
bool world_hand_out(struct world *w, char *name, size_t size); /* name of the item; false: none */
bool world_advance(struct world *w, int64_t ns);	       /* false: too far */
void world_fire(struct world *w);
void world_stamp(struct world *w, uint64_t id, int64_t ns);
void world_notice(struct world *w, uint64_t id);
bool world_rpc(struct world *w, const struct item_word *item);
void world_close(struct world *w);

struct event_log *world_log(struct world *w);
void world_skip_deliveries(struct world *w);

/* State, as the notation writes it. Longest is 64 KiB. */
void world_blocked(const struct world *w, char *text, size_t size);
void world_pending(const struct world *w, char *text, size_t size);
void world_keep(const struct world *w, uint64_t id, char *text, size_t size);
void world_latest(const struct world *w, char *text, size_t size);
uint32_t world_open(const struct world *w);
uint32_t world_remembered(const struct world *w);
bool world_aligning(const struct world *w);
bool world_metrics(const struct world *w, uint64_t id, struct weir_handler_metrics *metrics);

/* Mode output: the producer's side, barrier_output.c. One overdraft a channel, nobody polls. */
struct out_world;
struct out_world *out_create(const struct header *header);
void out_destroy(struct out_world *w);
struct event_log *out_log(struct out_world *w);
bool out_push(struct out_world *w, const struct item_word *item);
/* Let one item enter a lane and take it there; "none" if nothing is there or the queue is closed.
 */
void out_take(struct out_world *w, uint32_t channel, char *name, size_t size);
void out_resume(struct out_world *w, uint32_t channel);
void out_timeout(struct out_world *w, uint64_t id);
void out_abort(struct out_world *w, uint64_t id);
void out_close(struct out_world *w);
void out_queue(const struct out_world *w, uint32_t channel, char *text, size_t size);
void out_blocked(const struct out_world *w, char *text, size_t size);

#endif /* WEIR_TESTS_SCENARIOS_BARRIER_H */
