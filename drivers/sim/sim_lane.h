#ifndef WEIR_DRIVERS_SIM_SIM_LANE_H
#define WEIR_DRIVERS_SIM_SIM_LANE_H

/*
 * Parts of the simulator that stand for memory: lanes, the frames, the clock. Everything happens on
 * one thread, in an order that a seed decides.
 *
 * A lane is a bounded array. With stingy_pct it now and then takes fewer items than it has room
 * for, which a real ring does when the consumer's progress is seen late.
 *
 * Frames that lie in the source are filled with a pattern, so that whoever still reads one is
 * noticed; putting one back twice is an assertion.
 *
 * Threads: one. Ownership: create takes memory, destroy gives it back.
 */

#include "engine/base/rng.h"
#include "engine/exchange/lane.h"
#include "engine/memory/frame_source.h"

struct weir_sim_lane {
	struct weir_lane lane; /* first */
	struct weir_rng *rng;  /* borrowed */
	uint32_t stingy_pct;   /* of pushes that take fewer than fit */
	uint32_t head, tail;   /* free-running */
	struct weir_item items[];
};

struct weir_lane *weir_sim_lane_create(uint32_t depth, struct weir_rng *rng, uint32_t stingy_pct);
void weir_sim_lane_destroy(struct weir_lane *lane);

struct weir_sim_frames {
	struct weir_frame_source source; /* first */
	char *base;
	uint32_t frame_bytes;
	uint32_t free_cnt;
	uint32_t *free;	 /* stack */
	bool *in_source; /* per frame */
};

struct weir_sim_frames *weir_sim_frames_create(uint32_t frame_cnt, uint32_t frame_bytes);
void weir_sim_frames_destroy(struct weir_sim_frames *frames);

/* The one clock of the simulation, ns. */
int64_t weir_sim_clock_now(void);
void weir_sim_clock_set(int64_t now_ns);

#endif /* WEIR_DRIVERS_SIM_SIM_LANE_H */
