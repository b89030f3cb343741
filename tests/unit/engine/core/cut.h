#ifndef WEIR_TESTS_UNIT_ENGINE_CORE_CUT_H
#define WEIR_TESTS_UNIT_ENGINE_CORE_CUT_H

/*
 * A checkpoint with frames in flight, made by hand: a job source -> middle -> sink at one
 * parallelism, and what its manifest and CHANNEL segments say. Rows are {key, number of the row in
 * its channel, text}; on a keyed edge a channel holds only keys of its consumer.
 */

#include "engine/core/recovery.h"

enum { CUT_KEY, CUT_NUMBER, CUT_TEXT, CUT_FRAME_BYTES = 16384, CUT_SUBTASKS_MAX = 8 };

struct cut_job {
	struct weir_job *job;
	struct weir_plan *plan;
};

/* By edge source -> middle; heads: middle stands alone. */
struct cut_job cut_plan(enum weir_partitioner how, uint32_t sources, uint32_t middles, bool heads);
void cut_plan_fini(struct cut_job *j);

struct cut {
	struct cut_job old;
	struct weir_manifest m;
	struct weir_manifest_operator ops[4];
	struct weir_manifest_edge edge;
	struct weir_manifest_subtask subs[2][CUT_SUBTASKS_MAX];
	struct weir_manifest_segment seg[2][CUT_SUBTASKS_MAX];
	struct weir_manifest_input in[CUT_SUBTASKS_MAX][2 * CUT_SUBTASKS_MAX];
	struct weir_manifest_output out[CUT_SUBTASKS_MAX][CUT_SUBTASKS_MAX];
	struct weir_manifest_frame frames[2][CUT_SUBTASKS_MAX][64];
	char *bytes[2][CUT_SUBTASKS_MAX]; /* the segments: 0 of producers, 1 of consumers */
	uint32_t used[2][CUT_SUBTASKS_MAX];
	uint32_t frame_cnt[2][CUT_SUBTASKS_MAX];
	uint32_t rows; /* all */
};

/* Every channel holds at_input + at_output frames; k is 10 everywhere. */
void cut_make(struct cut *c, enum weir_partitioner how, uint32_t sources, uint32_t middles,
	      uint32_t at_input, uint32_t at_output);
/* One more, virtual, of a consumer. */
void cut_add_virtual(struct cut *c, uint32_t consumer, uint32_t producer, uint32_t stage,
		     uint32_t frames);
void cut_fini(struct cut *c);

struct cut_pool {
	struct weir_frame_source source;
	struct weir_frame_pool pool;
	uint32_t *free;
	uint32_t free_cnt;
};
void cut_pool_make(struct cut_pool *p, uint32_t frames);
void cut_pool_fini(struct cut_pool *p);

/* All segments of the cut. */
int cut_load(struct cut *c, struct weir_recovery *r, struct weir_frame_pool *pool,
	     struct weir_error *err);

#endif /* WEIR_TESTS_UNIT_ENGINE_CORE_CUT_H */
