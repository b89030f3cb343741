#ifndef WEIR_ENGINE_OPERATORS_TWO_PHASE_H
#define WEIR_ENGINE_OPERATORS_TWO_PHASE_H

/*
 * weir_two_phase: the engine's side of a two-phase sink (include/weir/sink.h; R7, R8, T35): it
 * knows a subtask's transactions, and calls the sink for each in the order of the contract.
 *
 *   write -> OPEN --snapshot(n)--> PREPARING --precommit 0--> READY --commit(>= n)--> gone
 *                                         restore: to commit ---^
 *
 * Those of checkpoints that were given up wait, and would fill the list. From half of it on the two
 * oldest are joined, if the sink can: they will be committed together anyway. A checkpoint under
 * way may name them apart, and be restored from after they were committed as one: so not before it
 * is over.
 *
 * Threads:   one core; counts of rows and latencies may be read by the control thread.
 * Ownership: create takes all memory; borrows sink and ctx for its life.
 * Cost:      no allocation, no system call. step: a call of the sink per transaction that is not
 *            durable, and one for the oldest that is to be committed.
 * Limits:    WEIR_TRANSACTIONS_MAX transactions; what is stuck there fails.
 * Failure:   the sink's error stands in ctx, and comes back from the call or the next _failed.
 */

#include "engine/operators/ctx.h"
#include "weir/sink.h"

struct weir_two_phase_config {
	const struct weir_sink_connector *sink;
	struct weir_operator_ctx *ctx;
	uint64_t rate;			/* rows per second of this subtask, 0: as fast as it goes */
	bool latency;			/* record when stamped rows arrive */
	struct weir_two_phase *sibling; /* of another subtask of the operator; NULL: the first */
};

struct weir_two_phase;

struct weir_two_phase *weir_two_phase_create(const struct weir_two_phase_config *config);
void weir_two_phase_destroy(struct weir_two_phase *tp);

/* Transactions that it can take besides those that it has. */
uint32_t weir_two_phase_room(const struct weir_two_phase *tp);
/* Before anything else: what the checkpoint names is committed at once (R7), no more than there is
 * room for (asserted); of_savepoint: the output may be another one now. */
void weir_two_phase_restore(struct weir_two_phase *tp, const struct weir_transaction *named,
			    uint32_t cnt, bool of_savepoint);
WEIR_MUST_USE int weir_two_phase_open(struct weir_two_phase *tp);
void weir_two_phase_close(struct weir_two_phase *tp);

/* Is there room for a batch, whatever it holds, and does the rate allow it? */
bool weir_two_phase_ready(struct weir_two_phase *tp, int64_t now_ns);
/* Take the selected rows. */
WEIR_MUST_USE int weir_two_phase_write(struct weir_two_phase *tp, const struct weir_batch *in,
				       int64_t now_ns);
/* Input has paused. */
void weir_two_phase_idle(struct weir_two_phase *tp);
/* Once per turn. */
void weir_two_phase_step(struct weir_two_phase *tp);

/* The cut of this checkpoint: all rows so far belong to it. Fills named with what the checkpoint
 * must name. */
uint32_t weir_two_phase_snapshot(struct weir_two_phase *tp, uint64_t checkpoint,
				 struct weir_transaction named[WEIR_TRANSACTIONS_MAX]);
/* T35: the same at the end of a job without checkpoints; nothing names it. A savepoint whose cut
 * was before may still be under way: it must not either. */
void weir_two_phase_end(struct weir_two_phase *tp);
/* Is all that was cut durable? */
bool weir_two_phase_is_durable(const struct weir_two_phase *tp);
/* This checkpoint is complete: everything up to it is committed, in the steps that follow (R7). */
void weir_two_phase_commit(struct weir_two_phase *tp, uint64_t checkpoint);
/* It was given up. */
void weir_two_phase_abort(struct weir_two_phase *tp, uint64_t checkpoint);
/* No checkpoint or savepoint with a lower id is under way any more. */
void weir_two_phase_over(struct weir_two_phase *tp, uint64_t below);
/* Is something to be committed, and not done yet? */
bool weir_two_phase_is_committing(const struct weir_two_phase *tp);
/* Has all that was begun been committed? */
bool weir_two_phase_is_committed(const struct weir_two_phase *tp);
/* Rows that were written and not committed. Any thread. */
uint64_t weir_two_phase_waiting_rows(const struct weir_two_phase *tp);

/* 0, or the code of the first error, with text. */
int weir_two_phase_failed(const struct weir_two_phase *tp, struct weir_error *err);

/* Those that are not committed, oldest first; NULL: there are not so many. */
const struct weir_transaction *weir_two_phase_at(const struct weir_two_phase *tp, uint32_t i);
const struct weir_sink_connector *weir_two_phase_sink(const struct weir_two_phase *tp);
/* The sink's private memory. */
void *weir_two_phase_local(const struct weir_two_phase *tp);

/* Latency of stamped rows: counts per bucket of 2^(b/8) microseconds. */
#define WEIR_LATENCY_BUCKETS 320u
const _Atomic uint64_t *weir_two_phase_latency(const struct weir_two_phase *tp, uint64_t *max_us);

#endif /* WEIR_ENGINE_OPERATORS_TWO_PHASE_H */
