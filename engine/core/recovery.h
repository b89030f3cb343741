#ifndef WEIR_ENGINE_CORE_RECOVERY_H
#define WEIR_ENGINE_CORE_RECOVERY_H

/*
 * weir_recovery: the frames in flight of a checkpoint on their way back into the channels of a plan
 * (R1, R2, R3, S2). Decided from plan and manifest alone, before anything is read:
 *
 *   edge unchanged       frames of channel p -> c stand in front of channel p -> c, undecoded
 *   other parallelism    hash: row by row to the subtask that owns the key now; where one subtask
 *                        owns all keys of the old one, whole frames
 *                        rebalance: whole frames to c modulo the new parallelism
 *                        both into a virtual channel per old one: its consumer is a new subtask,
 *                        its producer nobody (engine/exchange/recovered.h)
 *   edge gone, other     refused, naming edge and operators
 *   layout, other
 *   partitioner
 *
 *   create -> frame_cnt more frames for the pool -> weir_runtime_create lays the lanes in
 *     -> segment, for each CHANNEL segment, bytes proven -> finish: is everything there?
 *
 * Recovered frames are frames of the pool like any others: the pool is made larger by frame_cnt at
 * a restore. So the steady state has what the plan gives it, references, captures and registered
 * memory need no second kind of frame, and what a job had in flight once bounds what it costs.
 *
 * Threads:   set-up; the lanes are then their consumers' cores'.
 * Ownership: create/destroy; borrows plan and manifest until finish. Outlives the runtime.
 * Failure:   create returns NULL and names all misfits in one text (WEIR_ERR_DATA); segment and
 *            finish say what is wrong with the bytes or missing.
 */

#include "engine/checkpoint/manifest.h"
#include "engine/exchange/recovered.h"
#include "engine/graph/plan.h"

struct weir_recovery;

struct weir_recovery *weir_recovery_create(const struct weir_plan *plan,
					   const struct weir_manifest *m, struct weir_error *err);
void weir_recovery_destroy(struct weir_recovery *r);

/* Frames in flight that the checkpoint holds. r may be NULL. */
uint64_t weir_recovery_in_flight(const struct weir_recovery *r);
uint64_t weir_manifest_in_flight(const struct weir_manifest *m);

/* Frames of the pool that they take; a split frame takes one per new consumer. r may be NULL. */
uint32_t weir_recovery_frame_cnt(const struct weir_recovery *r);

/*
 * Ids of the consumers that must head a task of their own, because frames wait in front of them;
 * up to max, for weir_plan_options.heads. Borrowed from the manifest.
 */
uint32_t weir_recovery_heads(const struct weir_manifest *m, const char **ids, uint32_t max);

/* The plan's edge for edge idx of the manifest: same operators, same input; UINT32_MAX: none. */
uint32_t weir_recovery_edge(const struct weir_plan *plan, const struct weir_manifest *m,
			    uint32_t idx);

/* ---- for weir_runtime_create ---- */

/* The lane that stands in front of a channel of the plan, or real itself. r may be NULL. */
struct weir_lane *weir_recovery_lane(struct weir_recovery *r, uint32_t channel,
				     struct weir_lane *real);

/* What the producer of a channel of the plan has sent already. r may be NULL: nothing. */
void weir_recovery_sent(const struct weir_recovery *r, uint32_t channel, uint64_t *seq,
			uint64_t *ord);

struct weir_recovery_virtual {
	uint32_t edge;	   /* of the plan */
	uint32_t producer; /* whose frames they were */
	uint32_t stage;
	uint64_t last_seq;
	int64_t watermark_ns;
	bool idle;
	struct weir_recovered *lane;
};

/* Virtual channel idx of a subtask (its number among all); false: it has no more. r may be NULL. */
bool weir_recovery_virtual(const struct weir_recovery *r, uint32_t task, uint32_t idx,
			   struct weir_recovery_virtual *out);

/* ---- reading ---- */

/* The bytes of segment idx of a subtask of the manifest, header included. */
WEIR_MUST_USE int weir_recovery_segment(struct weir_recovery *r, struct weir_frame_pool *pool,
					uint32_t operator_idx, uint32_t subtask, uint32_t idx,
					const void *bytes, struct weir_error *err);
WEIR_MUST_USE int weir_recovery_finish(struct weir_recovery *r, struct weir_error *err);

/* Frames that nobody took go back to the pool. */
void weir_recovery_drain(struct weir_recovery *r, struct weir_frame_pool *pool);

#endif /* WEIR_ENGINE_CORE_RECOVERY_H */
