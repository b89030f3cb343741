#ifndef WEIR_SINK_H
#define WEIR_SINK_H

/*
 * Two-phase sinks: output that others see exactly once. What a sink writes between two checkpoints
 * is one transaction. It is made durable with the checkpoint, and becomes visible when the
 * checkpoint is complete.
 *
 *   begin -> write ... -> precommit(n) -> commit           checkpoint n is complete
 *                              |      \-> abort(n)         it was given up: see below
 *            open(named) ->  commit of each               a later attempt, restored from n
 *
 * The engine's part: it calls, for the transactions of a subtask in the order of their begin,
 *
 *   begin      when the first row behind a cut comes; without rows there is no transaction
 *   precommit  in the snapshot of checkpoint n: nothing more is written to it. The checkpoint is
 *              not complete before this has returned 0, and names the transaction
 *   commit     when a checkpoint >= n is complete: that may be a later one, for the message that n
 *              is complete can be lost. One transaction at a time, the next when it has returned 0
 *   abort      when checkpoint n is given up after precommit has been called. Its rows are not: the
 *              state of the job goes on from them. So the transaction stays as it is, is named by
 *              the next checkpoint too, and is committed with the first one that completes
 *   join       when many of them wait because checkpoints do not complete: two become one
 *
 * After a failure open is given the transactions that the restored checkpoint names; each is then
 * committed, maybe not for the first time. Everything else that an earlier attempt of the job has
 * begun is not covered by a checkpoint: its rows come again, so it is to be taken back, by whoever
 * finds it (weir_sink_is_named). What is covered must therefore be told by the words alone, also
 * after a kill -9 between any two calls: attempt, subtask and a number of one's own are enough.
 *
 * At the end of bounded input everything is pre-committed with the last checkpoint and committed
 * when it is complete; a job without checkpoints pre-commits when all of it has no more input, and
 * commits when all has pre-committed: if it fails then and is started again, nothing names what was
 * committed, and every row comes once more. Stop with savepoint is the same; another savepoint
 * pre-commits, and its transaction waits for the next checkpoint (or the end). A job that is
 * cancelled goes on with the commits of checkpoints that are complete, for 5 s at most.
 *
 * The sink's part:
 *   - words are complete when precommit has been called once, and name the transaction for good
 *     (join apart);
 *   - what precommit made durable survives any crash, and can be committed by another process, on
 *     another host, by another subtask (after a change of parallelism one may take over several);
 *   - commit is idempotent: a second one of the same words changes nothing and returns 0;
 *   - no call blocks. precommit and commit that take time return WEIR_MORE and are called again,
 *     once per turn of the core. A library that waits does it on a thread of the sink's own.
 *
 * Threads:   open of all subtasks on the control thread, before the cores start, and close behind
 *            their end; all other calls of a subtask on its core, one at a time.
 * Ownership: a transaction is the engine's, in one place from begin (or open) until commit has
 *            returned 0 or close; batches until the call returns.
 * Limits:    WEIR_TRANSACTIONS_MAX of a subtask wait for a checkpoint at most; one more fails it.
 *            A sink with join does not get there, unless so many checkpoints overlap without end.
 * Failure:   0, WEIR_MORE where it says so, or weir_sink_fail's result: the job then restarts from
 *            its last checkpoint.
 */

#include <weir/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_TRANSACTIONS_MAX  256u
#define WEIR_TRANSACTION_WORDS 7u

/* As it stands in checkpoints. */
struct weir_transaction {
	uint64_t checkpoint; /* set before precommit: whose cut it ends at; 0: of none, the end */
	uint64_t word[WEIR_TRANSACTION_WORDS]; /* the sink's own */
};

/* Where a transaction that is to be committed comes from. */
enum weir_transaction_origin {
	WEIR_TRANSACTION_OWN,	     /* this attempt began it */
	WEIR_TRANSACTION_CHECKPOINT, /* the restored checkpoint names it: it may be committed */
	WEIR_TRANSACTION_SAVEPOINT,  /* the same; and the output may be another one now */
};

struct weir_sink_connector {
	const char *name;	  /* what it does: "files" */
	uint32_t reads;		  /* bit c: it reads input column c; WEIR_ALL_COLUMNS */
	size_t local_bytes;	  /* private memory of a subtask, zeroed: weir_operator_local */
	size_t transaction_bytes; /* of each transaction, zeroed: weir_sink_local */
	const void *arg;	  /* borrowed for the life of the job: weir_operator_arg */

	/* Before anything else. named: in the order in which they will be committed. */
	int (*open)(struct weir_operator_ctx *ctx, const struct weir_transaction *named,
		    uint32_t cnt);
	/* May one more batch be written now? While it may not, input waits. */
	bool (*ready)(struct weir_operator_ctx *ctx);
	int (*begin)(struct weir_operator_ctx *ctx, struct weir_transaction *t);
	int (*write)(struct weir_operator_ctx *ctx, struct weir_transaction *t,
		     const struct weir_batch *in);
	int (*precommit)(struct weir_operator_ctx *ctx, struct weir_transaction *t); /* MORE */
	/* NULL: what precommit made durable is visible, and no checkpoint names it (at least once).
	 */
	int (*commit)(struct weir_operator_ctx *ctx, struct weir_transaction *t); /* MORE */
	int (*abort)(struct weir_operator_ctx *ctx, struct weir_transaction *t);
	/*
	 * t takes over the rows of before, the transaction begun just before it, which is gone when
	 * this returns, with its private memory. Both are pre-committed by this attempt, and no
	 * checkpoint under way names them. The words of t may change; they name the rows of both.
	 * NULL: the sink cannot.
	 */
	int (*join)(struct weir_operator_ctx *ctx, struct weir_transaction *t,
		    const struct weir_transaction *before);
	/* Once per turn: go on with what was begun. */
	int (*step)(struct weir_operator_ctx *ctx);
	/* Input has paused: hand on what should not wait. */
	int (*idle)(struct weir_operator_ctx *ctx);
	/* The attempt is over, well; an attempt that fails just stops. A checkpoint may name what
	 * is pre-committed: leave that; what is open may go. */
	void (*close)(struct weir_operator_ctx *ctx);
};
/* begin, write and precommit are mandatory; every other function may be NULL. */

/* Rows to a sink of one's own. */
struct weir_stream;
void weir_sink_to(struct weir_stream *in, const char *id, const struct weir_sink_connector *sink);

/* Private memory of a transaction, transaction_bytes long, 64-byte aligned. */
void *weir_sink_local(struct weir_operator_ctx *ctx, const struct weir_transaction *t);
enum weir_transaction_origin weir_sink_origin(const struct weir_operator_ctx *ctx,
					      const struct weir_transaction *t);
/* In open: does the restored checkpoint name these words, for whichever subtask of the sink? */
bool weir_sink_is_named(const struct weir_operator_ctx *ctx, const struct weir_transaction *t);
/* For words and names: the job's name, the operator's id; the attempt, which never comes twice. */
const char *weir_sink_job(const struct weir_operator_ctx *ctx);
const char *weir_sink_id(const struct weir_operator_ctx *ctx);
uint64_t weir_sink_attempt(const struct weir_operator_ctx *ctx);
/* Record why the sink fails, and return the result from the function. code: an exit code, 74 for
 * what another attempt may find mended. */
int weir_sink_fail(struct weir_operator_ctx *ctx, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif /* WEIR_SINK_H */
