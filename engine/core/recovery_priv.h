#ifndef WEIR_ENGINE_CORE_RECOVERY_PRIV_H
#define WEIR_ENGINE_CORE_RECOVERY_PRIV_H

/* State shared by recovery.c (what goes where) and recovery_frames.c (the frames themselves). */

#include "engine/core/recovery.h"

#define RECOVERY_NONE UINT32_MAX

/* A channel of the checkpoint that holds frames: those kept at the input, then at the output. */
struct weir_recovery_old {
	uint32_t manifest_edge;
	uint32_t edge; /* of the plan */
	uint32_t producer, consumer;
	uint32_t stage;
	bool is_virtual;
	const struct weir_manifest_input *in;	/* NULL: none */
	const struct weir_manifest_output *out; /* NULL: none */
	uint32_t frame_cnt;
	uint32_t lane_first, lane_cnt; /* where they go */
	bool split;		       /* row by row */
};

/* A lane of the plan. */
struct weir_recovery_new {
	struct weir_recovered lane;
	uint32_t old;	   /* RECOVERY_NONE: it only waits for the others */
	uint32_t channel;  /* of the plan; RECOVERY_NONE: virtual */
	uint32_t edge;	   /* of the plan */
	uint32_t consumer; /* subtask */
	uint32_t task;	   /* number of the subtask among all */
	uint32_t *frames;  /* room for the lane's */
};

struct weir_recovery {
	const struct weir_plan *plan;
	const struct weir_manifest *m;
	struct weir_recovered_set *set; /* per subtask */
	struct weir_recovery_old *old;
	uint32_t old_cnt, old_cap;
	struct weir_recovery_new **lane; /* apart, because the runtime keeps their addresses */
	uint32_t lane_cnt, lane_cap;
	struct weir_recovery_new **by_channel; /* of the plan; NULL: none */
	uint64_t in_flight;
	uint32_t frame_cnt;
};

#endif /* WEIR_ENGINE_CORE_RECOVERY_PRIV_H */
