#ifndef WEIR_ENGINE_CHECKPOINT_DECIDER_H
#define WEIR_ENGINE_CHECKPOINT_DECIDER_H

/*
 * Request decider (C2-C7): the ordered set of waiting requests and the question what happens next.
 *
 * Threads:   the coordinator's. Ownership: caller's memory; the set is allocated, freed by fini.
 * Cost:      insertion moves what stands behind; deciding looks at the head only.
 * Times:     ms.
 */

#include "engine/checkpoint/reasons.h"

enum weir_request_kind {
	WEIR_REQUEST_CHECKPOINT, /* as configured */
	WEIR_REQUEST_FULL,	 /* a checkpoint that refers to no older file */
	WEIR_REQUEST_SAVEPOINT,
	WEIR_REQUEST_SUSPEND, /* synchronous savepoint, S4 */
	WEIR_REQUEST_DRAIN,   /* the same after end of input, S4 */
};

struct weir_request {
	uint64_t number;  /* the caller's name for it, or the ordinal of a timer's request */
	uint64_t target;  /* caller's handle of the directory asked for, 0: the configured one */
	int64_t time;	  /* when it came in */
	uint64_t arrival; /* order within one ms; set by weir_decider_add */
	enum weir_request_kind kind;
	bool forced;	 /* may start beside max-concurrent others (C5) */
	bool periodic;	 /* not made by a user */
	bool from_timer; /* number counts the timer's requests from 1; else it is the caller's */
	bool stop;	 /* part of a stop with savepoint: failure starts the scheduler again */
};

/* Savepoints of all kinds: self-contained, outside the store, never subsumed. */
WEIR_INLINE bool
weir_request_is_savepoint(enum weir_request_kind kind)
{
	return kind >= WEIR_REQUEST_SAVEPOINT;
}

WEIR_INLINE bool
weir_request_is_sync(enum weir_request_kind kind)
{
	return kind >= WEIR_REQUEST_SUSPEND;
}

/* "No completion yet" for weir_decider_view.last_completion. */
#define WEIR_DECIDER_NEVER INT64_MIN

struct weir_decider {
	uint32_t queue_limit;
	uint32_t max_concurrent;
	int64_t min_pause;
	struct weir_request *queue; /* best first */
	uint32_t queue_cnt;
	uint32_t queue_cap;
	uint64_t arrivals;
};

/* What the decider needs to know of the rest. */
struct weir_decider_view {
	int64_t now;
	int64_t last_completion; /* WEIR_DECIDER_NEVER: none yet */
	uint32_t pending_cnt;
	uint32_t cleaning_cnt; /* deletions under way */
	bool busy;	       /* a request is being prepared, or an abandoned manifest written */
};

enum weir_decision_kind {
	WEIR_DECISION_NOTHING,
	WEIR_DECISION_RUN,  /* start the request */
	WEIR_DECISION_DROP, /* C6: it fails, and the periodic timer moves to rearm */
};

struct weir_decision {
	enum weir_decision_kind kind;
	struct weir_request request; /* taken out of the set */
	int64_t rearm;		     /* absolute time, DROP only */
};

void weir_decider_init(struct weir_decider *d, uint32_t max_concurrent, uint32_t queue_limit,
		       int64_t min_pause);
void weir_decider_fini(struct weir_decider *d);

/*
 * Add a request (C2, C3). If the set was full *victim is the one that has to fail with
 * TOO_MANY_CHECKPOINT_REQUESTS, perhaps the newcomer, and the result is true.
 */
bool weir_decider_add(struct weir_decider *d, const struct weir_request *request,
		      struct weir_request *victim) WEIR_MUST_USE;

/* What to do next; ask again until NOTHING (after a RUN with the new view). */
struct weir_decision weir_decider_next(struct weir_decider *d,
				       const struct weir_decider_view *view);

/* Take the best request out unconditionally; false if there is none. */
bool weir_decider_take(struct weir_decider *d, struct weir_request *request) WEIR_MUST_USE;

#endif /* WEIR_ENGINE_CHECKPOINT_DECIDER_H */
