#ifndef WEIR_ENGINE_CHECKPOINT_PENDING_H
#define WEIR_ENGINE_CHECKPOINT_PENDING_H

/*
 * A checkpoint on its way (K1, K3): who still has to answer, and what has been answered.
 *
 * Threads:   the coordinator's. Ownership: on the heap, owns its plan and snapshot.
 */

#include "engine/checkpoint/snapshot.h"

struct weir_pending_key {
	uint64_t key;
	uint64_t file; /* as registered when the finalising began */
};

struct weir_pending {
	uint64_t id;
	struct weir_request request;
	struct weir_trigger_plan plan;
	uint32_t *attempts;	    /* per task: the attempt that is waited for */
	struct weir_snapshot *snap; /* tasks and hooks are writable through the next two */
	struct weir_task_snapshot *tasks;
	struct weir_hook_snapshot *hooks;
	uint8_t *hook_done;
	uint8_t *opcoord_done;
	uint32_t ack_left;
	uint32_t hook_left;
	uint32_t opcoord_left;
	bool triggered;	 /* the trigger messages were handed out */
	bool finalizing; /* everything is there, the manifest is being written */
	bool expires;	 /* the timer is armed */
	int64_t due;
	uint64_t timer_seq;
	struct weir_pending_key *keys; /* while finalising: what it names in the registry */
	uint32_t key_cnt;
	uint32_t key_cap;
};

/* Takes the plan over (it is left empty); attempts (one per task) is copied. */
struct weir_pending *weir_pending_create(uint64_t id, const struct weir_request *request,
					 struct weir_trigger_plan *plan, const uint32_t *attempts,
					 uint32_t task_cnt, uint32_t opcoord_cnt,
					 uint32_t hook_cnt) WEIR_MUST_USE;
void weir_pending_free(struct weir_pending *p);

/* It is waited for this attempt, which has not acknowledged. */
bool weir_pending_awaits(const struct weir_pending *p, struct weir_attempt from);

/* The attempt's state is here; parts are copied. */
void weir_pending_ack(struct weir_pending *p, struct weir_attempt from,
		      const struct weir_part *parts, uint32_t part_cnt, bool operators_finished,
		      bool finished_on_restore);

/* K3: tasks, operator coordinators and hooks have all answered. */
bool weir_pending_is_complete(const struct weir_pending *p);

/* T30: a vertex with union state is neither wholly finished nor wholly unfinished. */
bool weir_pending_breaks_union(const struct weir_pending *p, const struct weir_coord_graph *graph);

#endif /* WEIR_ENGINE_CHECKPOINT_PENDING_H */
