#ifndef WEIR_ENGINE_CHECKPOINT_COORDINATOR_PRIV_H
#define WEIR_ENGINE_CHECKPOINT_COORDINATOR_PRIV_H

/*
 * The coordinator's state, for its own files:
 *
 *   coordinator.c       create, destroy, step: which event goes where, queries
 *   coord_updates.c     the list of updates and the memory behind it
 *   coord_requests.c    requests, periodic timer, scheduler, backlog (C1-C11)
 *   coord_prepare.c     preparation chain (C12-C18, C21)
 *   coord_acks.c        acknowledgements, declines (K1, K2)
 *   coord_ends.c        finalising, completion, abort, expiry, deletion (K3-K10)
 *   coord_tasks.c       states of job and tasks, restart, restore, start-from (C11, K15, S6)
 *   coord_valves.c      operator coordinators' events (K14)
 */

#include "engine/checkpoint/coord_stats.h"
#include "engine/checkpoint/coordinator.h"
#include "engine/checkpoint/failures.h"
#include "engine/checkpoint/pending.h"
#include "engine/checkpoint/registry.h"
#include "engine/checkpoint/store.h"
#include "engine/checkpoint/valve.h"

/* The request that is being prepared: at most one (C4). */
struct weir_prep {
	bool active;
	enum weir_coord_stage stage; /* whose answers are waited for */
	struct weir_request request;
	int64_t started;	       /* the checkpoint's timestamp */
	struct weir_trigger_plan plan; /* until it has an id */
	uint32_t *attempts;	       /* per task, as planned */
	struct weir_pending *pending;  /* NULL until it has an id */
	uint8_t *answered;	       /* per operator coordinator or hook of this stage */
};

/* An answer that will still come for a preparation that was ended. */
struct weir_swallow {
	enum weir_coord_stage stage;
	uint32_t which;
	uint64_t id;
};

struct weir_arena_chunk;

struct weir_coord_out {
	struct weir_coord_update *list;
	uint32_t cnt;
	uint32_t cap;
	struct weir_arena_chunk *chunks; /* memory of the lists, freed at the next step */
};

struct weir_coordinator {
	/* set once */
	struct weir_coordinator_config cfg; /* its pointers are our copies */
	uint32_t task_cnt;
	uint32_t *task_vertex;
	uint32_t *vertex_first; /* task number of subtask 0 */
	bool has_blocking_edge;

	/* tasks and job */
	uint8_t *states;
	uint32_t *attempts;
	enum weir_coord_job_state job_state;
	bool shutdown;

	/* periodic scheduler */
	bool scheduler_on;
	bool scheduler_again; /* a stop with savepoint failed within this event */
	bool timer_armed;
	int64_t timer_due;
	uint64_t timer_seq;
	uint64_t timer_seq_last;
	uint64_t timer_request_cnt;
	uint8_t *backlog; /* per operator coordinator */
	uint32_t backlog_cnt;

	/* requests and checkpoints on their way */
	struct weir_decider decider;
	struct weir_prep prep;
	struct weir_swallow *swallows;
	uint32_t swallow_cnt;
	uint32_t swallow_cap;
	struct weir_pending **pendings; /* ascending ids */
	uint32_t pending_cnt;
	uint32_t pending_cap;
	struct weir_pending **writing; /* aborted, manifest still being written */
	uint32_t writing_cnt;
	uint32_t writing_cap;
	uint64_t expired[WEIR_COORD_EXPIRED_MAX]; /* ring, C19 */
	uint32_t expired_cnt;
	uint64_t next_id;
	int64_t last_completion;
	bool force_full; /* S6 */

	/* what is kept */
	struct weir_failures failures;
	struct weir_registry registry;
	struct weir_store store;
	uint64_t *deleting; /* ids of deletions under way */
	uint32_t deleting_cnt;
	uint32_t deleting_cap;
	struct weir_valve *valves; /* per operator coordinator */
	struct weir_coord_stats stats;

	/* this step */
	int64_t now;
	struct weir_coord_out out;
};

/* ---- coord_updates.c ---- */

/* Append an update of this kind, zeroed but for it; valid until the next one is appended. */
struct weir_coord_update *weir_coord_emit(struct weir_coordinator *c,
					  enum weir_coord_update_kind kind, uint64_t id);
/* Memory that lives until the next step. */
void *weir_coord_alloc(struct weir_coordinator *c, uint32_t cnt, size_t size);
void weir_coord_out_reset(struct weir_coordinator *c);
void weir_coord_out_fini(struct weir_coordinator *c);
/* These tasks with their current attempts. */
struct weir_coord_attempts weir_coord_current(struct weir_coordinator *c, const uint32_t *tasks,
					      uint32_t cnt);
void weir_coord_emit_discard(struct weir_coordinator *c, const uint64_t *files, uint32_t cnt);
/* DELETE of a snapshot's location and private files (a savepoint's are all private). */
void weir_coord_emit_delete(struct weir_coordinator *c, const struct weir_snapshot *snap);
void weir_coord_emit_promise(struct weir_coordinator *c, const struct weir_request *request,
			     enum weir_reason reason, uint64_t id);

/* ---- coord_requests.c ---- */

bool weir_coord_on_request(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_stop(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_tick(struct weir_coordinator *c);
bool weir_coord_on_backlog(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_scheduler(struct weir_coordinator *c, bool on);
void weir_coord_scheduler_start(struct weir_coordinator *c);
/* Timer off, and everything waiting, in preparation and pending fails with reason. */
void weir_coord_stop_all(struct weir_coordinator *c, enum weir_reason reason);
/* The event is done: ask the decider until it has nothing more to say. */
void weir_coord_settle(struct weir_coordinator *c);

/* ---- coord_prepare.c ---- */

void weir_coord_prepare(struct weir_coordinator *c, const struct weir_request *request);
bool weir_coord_on_answer(struct weir_coordinator *c, const struct weir_coord_event *e);
/* End the preparation; answers still to come will be swallowed. */
void weir_coord_prep_cancel(struct weir_coordinator *c);
/* An awaited event of operator coordinator `which` arrived or was lost: maybe go on. */
void weir_coord_prep_opcoord_check(struct weir_coordinator *c, uint32_t which);
/* Checkpoint id is the one being prepared. */
bool weir_coord_preparing(const struct weir_coordinator *c, uint64_t id);

/* ---- coord_acks.c ---- */

bool weir_coord_on_ack(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_decline(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_rpc_failed(struct weir_coordinator *c, const struct weir_coord_event *e);

/* ---- coord_ends.c ---- */

struct weir_pending *weir_coord_find(const struct weir_coordinator *c, uint64_t id);
/* The pending one with the lowest id above `after`, NULL if there is none. */
struct weir_pending *weir_coord_next(const struct weir_coordinator *c, uint64_t after);
/* If everything is there, begin to write the manifest. May free p. */
void weir_coord_check_complete(struct weir_coordinator *c, struct weir_pending *p);
/* Fail and free p; by: the task to blame, or NULL. */
void weir_coord_abort(struct weir_coordinator *c, struct weir_pending *p, enum weir_reason reason,
		      const struct weir_attempt *by);
void weir_coord_abort_all(struct weir_coordinator *c, enum weir_reason reason);
bool weir_coord_on_finalized(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_deleted(struct weir_coordinator *c, uint64_t id);
bool weir_coord_on_abort(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_is_expired(const struct weir_coordinator *c, uint64_t id);
/* Tell the failure manager, and the job if it has had enough. */
void weir_coord_count_failure(struct weir_coordinator *c, uint64_t id, enum weir_request_kind kind,
			      enum weir_reason reason, const struct weir_attempt *by);
/* S5: the job is over. */
void weir_coord_end_of_job(struct weir_coordinator *c);
/* Register, pin or unpin the shared files of a retained snapshot. */
void weir_coord_register_snapshot(struct weir_coordinator *c, const struct weir_snapshot *snap);

/* ---- coord_tasks.c ---- */

bool weir_coord_is_active(const struct weir_coordinator *c);
bool weir_coord_on_task_state(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_job_state(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_restart(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_restore(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_start_from(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_recover(struct weir_coordinator *c, const struct weir_coord_event *e);

/* ---- coord_valves.c ---- */

bool weir_coord_on_opevent(struct weir_coordinator *c, const struct weir_coord_event *e);
bool weir_coord_on_barrier(struct weir_coordinator *c, const struct weir_coord_event *e);
/* Open operator coordinator which's valves for id, sending what they held. */
void weir_coord_open_valves(struct weir_coordinator *c, uint32_t which, uint64_t id);
/* Task stopped running: events for it are lost. */
void weir_coord_valves_stopped(struct weir_coordinator *c, uint32_t task);
/* After such losses: a snapshot that waited for a lost event fails its checkpoint. */
void weir_coord_valves_check(struct weir_coordinator *c);

/* Operator coordinator `which` is of this task's vertex; *subtask is its number there. */
bool weir_coord_of_task(const struct weir_coordinator *c, uint32_t which, uint32_t task,
			uint32_t *subtask);

WEIR_INLINE bool
weir_coord_asks(const struct weir_coordinator *c, enum weir_coord_stage stage)
{
	return (c->cfg.asks & (uint32_t)stage) != 0;
}

#endif /* WEIR_ENGINE_CHECKPOINT_COORDINATOR_PRIV_H */
