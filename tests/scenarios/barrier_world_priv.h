#ifndef WEIR_TESTS_SCENARIOS_BARRIER_WORLD_PRIV_H
#define WEIR_TESTS_SCENARIOS_BARRIER_WORLD_PRIV_H

/*
 * The world of a barrier scenario, for the files that make it up: producers (barrier_source.c), the
 * task (barrier_world.c), what can be asked of it (barrier_state.c). It belongs to one thread, and
 * aborts when memory is short.
 */

#include "tests/scenarios/barrier.h"

struct frame {
	uint64_t size;
	char label[NAME_MAX_LEN];
};

struct source {
	struct test_lane data;
	struct test_lane priority;
	struct weir_event events[EVENTS_MAX];
	uint32_t event_cursor;
	uint32_t ord; /* number of the next item */
	uint32_t seq; /* frames pushed */
	uint64_t arrival[3][NUMBERS_MAX];
};

struct kept {
	uint64_t id;
	uint32_t channel;
	uint32_t frame;
	bool gone;
};

struct stamped {
	uint64_t id;
	int64_t ns;
};

struct measured {
	uint64_t id;
	struct weir_handler_metrics metrics;
};

struct world {
	struct header header;
	struct weir_input *input;
	struct source **sources;
	uint64_t arrivals;
	int64_t now_ns;
	bool deliveries_off;
	struct frame *frames;
	uint32_t frames_cnt, frames_cap;
	struct kept *kept;
	uint32_t kept_cnt, kept_cap;
	struct stamped *stamps;
	uint32_t stamps_cnt, stamps_cap;
	struct measured *measured;
	uint32_t measured_cnt, measured_cap;
	struct event_log log;
};

/* Room for one more element of the array *what* of w. */
#define WORLD_GROW(w, what)                                                                        \
	((w)->what = world_grown((w)->what, (w)->what##_cnt, &(w)->what##_cap, sizeof(*(w)->what)))
void *world_grown(void *array, uint32_t cnt, uint32_t *cap, size_t size);

/* Trigger time of an id: the clock at its first barrier, unless it was set. */
int64_t world_stamp_of(struct world *w, uint64_t id);

/* Put what the task says of itself into the log. */
void world_take_notes(struct world *w);

#endif /* WEIR_TESTS_SCENARIOS_BARRIER_WORLD_PRIV_H */
