#ifndef WEIR_ENGINE_CHECKPOINT_VALVE_H
#define WEIR_ENGINE_CHECKPOINT_VALVE_H

/*
 * Valves of one operator coordinator (K14): events it sends after its snapshot for a checkpoint
 * must reach a subtask after that checkpoint's barrier.
 *
 *   coordinator --e3--> [closed for 7: e3] --  barrier 7 passed  --> subtask
 *
 * There is one valve per subtask. It closes for an id when the coordinator takes its snapshot, and
 * opens when the subtask has passed the barrier, or the checkpoint ended. Several ids may be
 * closed at once; an event is held under the highest. And the other way round: what was sent before
 * the snapshot must be with the subtask before the snapshot counts as done, or a failure of
 * the subtask would lose it; so the snapshot waits for these events.
 *
 * Threads:   the coordinator's. Ownership: caller's memory, lists freed by fini.
 */

#include "engine/base/base.h"

struct weir_valve_event {
	uint64_t event;
	uint32_t subtask;
	uint64_t held; /* id it is held under, 0: not held */
	bool ready;    /* released, to be sent by weir_valve_pop */
	bool awaited;  /* the snapshot under way waits for it */
};

struct weir_valve_closed {
	uint64_t *ids; /* ascending */
	uint32_t cnt;
	uint32_t cap;
};

struct weir_valve {
	uint32_t parallelism;
	struct weir_valve_closed *closed; /* per subtask */
	struct weir_valve_event *events;  /* unconfirmed, in the order they were sent */
	uint32_t event_cnt;
	uint32_t event_cap;
	uint64_t asked;	      /* newest checkpoint for which a snapshot was asked */
	uint32_t awaited_cnt; /* events the snapshot waits for */
	bool lost;	      /* one of them was lost: the snapshot has failed */
};

void weir_valve_init(struct weir_valve *v, uint32_t parallelism);
void weir_valve_fini(struct weir_valve *v);

/* The snapshot for id was taken: close all valves, and wait for all unconfirmed events. */
void weir_valve_close(struct weir_valve *v, uint64_t id);

/* The snapshot ended or was given up: wait for nothing. */
void weir_valve_forget_snapshot(struct weir_valve *v);

/* Open for id: what it held becomes ready, or joins the next lower id. */
void weir_valve_open(struct weir_valve *v, uint32_t subtask, uint64_t id);

/* The coordinator sends; ready at once if nothing is closed. */
void weir_valve_send(struct weir_valve *v, uint32_t subtask, uint64_t event);

/* The next ready event; it is on its way from now on. False if there is none. */
bool weir_valve_pop(struct weir_valve *v, struct weir_valve_event *event);

/* The event arrived, or was lost. False if no such event is on its way. */
bool weir_valve_confirm(struct weir_valve *v, uint64_t event);
bool weir_valve_lose(struct weir_valve *v, uint64_t event, uint32_t *subtask);

/* The subtask stopped: everything unconfirmed for it is lost. */
void weir_valve_subtask_stopped(struct weir_valve *v, uint32_t subtask);

/* A new attempt of the subtask: open, nothing held. */
void weir_valve_subtask_reset(struct weir_valve *v, uint32_t subtask);

/* The coordinator went back to checkpoint id (0: none). */
void weir_valve_reset(struct weir_valve *v, uint64_t id);

#endif /* WEIR_ENGINE_CHECKPOINT_VALVE_H */
