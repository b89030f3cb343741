#ifndef WEIR_ENGINE_CHECKPOINT_COORD_STATS_H
#define WEIR_ENGINE_CHECKPOINT_COORD_STATS_H

/*
 * Statistics of the coordinator (K16): counters, and a history of the newest checkpoints.
 *
 * Threads:   the coordinator's. Ownership: the ring is allocated by init, freed by fini.
 * Cost:      a few additions per acknowledgement.
 */

#include "engine/checkpoint/coordinator.h"

struct weir_coord_history {
	uint64_t id;
	enum weir_request_kind kind;
	enum weir_reason reason; /* NONE: completed */
	int64_t trigger_ms;	 /* timestamp, when its preparation began */
	int64_t triggered_ms;	 /* when the trigger messages were handed out, 0: never */
	int64_t last_ack_ms;	 /* when the last subtask acknowledged */
	int64_t end_ms;
	struct weir_attempt last; /* the subtask that acknowledged last, and what it measured */
	struct weir_ack_metrics last_metrics;
	struct weir_ack_metrics max; /* per field, over the subtasks; bytes are sums */
	uint32_t acked_cnt;
	bool unaligned; /* if and only if bytes were persisted */
};

struct weir_coord_stats {
	uint64_t triggered_cnt; /* got an id */
	uint64_t completed_cnt;
	uint64_t failed_cnt;
	uint64_t restored_cnt;
	uint64_t acks[WEIR_ACK_BROKEN + 1]; /* by outcome */
	uint64_t declines_ignored;
	struct weir_coord_history *open; /* of those pending */
	uint32_t open_cnt;
	uint32_t open_cap;
	struct weir_coord_history *ring;
	uint32_t ring_max;
	uint64_t ring_cnt; /* ever put in; element n is at n % ring_max */
};

void weir_coord_stats_init(struct weir_coord_stats *s, uint32_t history_max);
void weir_coord_stats_fini(struct weir_coord_stats *s);

void weir_coord_stats_begin(struct weir_coord_stats *s, uint64_t id, enum weir_request_kind kind,
			    int64_t trigger_ms);
void weir_coord_stats_triggered(struct weir_coord_stats *s, uint64_t id, int64_t now_ms);
void weir_coord_stats_ack(struct weir_coord_stats *s, uint64_t id, struct weir_attempt from,
			  const struct weir_ack_metrics *m, int64_t now_ms);
/* reason NONE: completed. */
void weir_coord_stats_end(struct weir_coord_stats *s, uint64_t id, enum weir_reason reason,
			  int64_t now_ms);

/* The n-th newest ended checkpoint, n from 0; NULL if there are not so many. */
const struct weir_coord_history *weir_coord_stats_history(const struct weir_coord_stats *s,
							  uint64_t n);

/* The coordinator's statistics; valid until the next step. */
const struct weir_coord_stats *weir_coordinator_stats(const struct weir_coordinator *c);

#endif /* WEIR_ENGINE_CHECKPOINT_COORD_STATS_H */
