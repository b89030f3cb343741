#ifndef WEIR_ENGINE_OPERATORS_CTX_H
#define WEIR_ENGINE_OPERATORS_CTX_H

/*
 * weir_operator_ctx: one subtask of one operator: what it may touch and where its rows go. Built
 * with its task (engine/core/runtime.c); built-in operators may look inside, users' cannot.
 *
 * Threads:   one core. Counters are written by the core with plain relaxed stores and may be read
 *            by the control thread at any time; a stale value is only late.
 * Ownership: the task's; everything it points to lives as long as the task.
 */

#include "engine/base/error.h"
#include "engine/exchange/emitter.h"
#include "engine/operators/operator_state.h"
#include "engine/operators/passed.h"
#include "engine/state/backend.h"
#include "weir/operator.h"

/* One writer: no read-modify-write is needed. */
WEIR_INLINE void
weir_count_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

WEIR_INLINE uint64_t
weir_count_get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

struct weir_two_phase;

/* What the surroundings do for an operator; functions of the task. */
struct weir_operator_host {
	/* Does anything downstream hold as much as it should? */
	bool (*full)(struct weir_operator_host *host);
	/* A running snapshot holds state memory: write some of it out. */
	void (*relieve)(struct weir_operator_host *host);
	int64_t now_ns; /* of the turn */
	const char *job;
	uint64_t attempt;
	/* T26: rows and entries after which a firing goes on in a later turn; and rows emitted
	 * since the work of this turn began. */
	uint32_t slice_rows;
	uint32_t batches; /* that a source reads in a turn */
	uint32_t emitted;
	bool more; /* T27: some operator has put rows off */
	/* Of the last stamped rows that came in: what an aggregate emits takes it. 0: none. */
	int64_t stamp_ns;
};

struct weir_operator_ctx {
	struct weir_out out; /* first: emit() finds its operator by it */
	const struct weir_operator *op;
	const char *id;
	uint32_t subtask;
	uint32_t parallelism;
	const struct weir_params *params;
	struct weir_operator_host *host;
	void *local;
	struct weir_two_phase *two_phase; /* of a sink, else NULL */

	struct weir_operator_ctx *next; /* chained; NULL: the last one */
	struct weir_emitter *emitters[WEIR_EMITTERS_MAX];
	uint32_t emitter_cnt;

	struct weir_key key; /* of the input */
	const struct weir_type *in_type;
	const struct weir_type *out_type;
	struct weir_kstate *state[WEIR_STATES_MAX];
	uint32_t state_cnt;
	struct weir_opstate *opstate; /* what belongs to no key */
	uint32_t opstate_cnt;
	void *pack;			    /* packed keys of a batch */
	void *values[WEIR_STATE_BATCH_MAX]; /* weir_state_batch */
	uint64_t key_u64;		    /* weir_state_next */

	int64_t watermark_ns;		/* the last that the operator has dealt with */
	struct weir_passed_list passed; /* keys that were ahead of it in the checkpoint restored */
	/* T26: the keys for which the window that is firing has fired; watermark_ns INT64_MIN:
	 * none. Checkpoints keep it as one more of the above. */
	struct weir_passed fired;
	bool more;  /* T27: it has put rows off */
	bool ended; /* it had emitted all it had when the checkpoint restored was taken */
	const char *const *reasons;
	uint32_t reason_cnt;
	struct weir_error error;

	_Atomic uint64_t rows_in;
	_Atomic uint64_t rows_out;
	_Atomic uint64_t truncated;
	_Atomic uint64_t state_bytes; /* keys and values, as of the last look */
	_Atomic uint64_t dropped[WEIR_REASONS_MAX];
};

/* The emit of every operator's out: count, then the next of the chain and the emitters. */
int weir_ctx_emit(struct weir_out *out, const struct weir_batch *batch);

/* Hand a batch to the operator; WEIR_MORE is noted, not returned (T27). */
WEIR_MUST_USE int weir_ctx_process(struct weir_operator_ctx *ctx, const struct weir_batch *in);

/* Room for rows new entries in every state of the operator: 0, or the error that says what to
 * raise. */
WEIR_MUST_USE int weir_ctx_reserve(struct weir_operator_ctx *ctx, uint32_t rows);

/* Keys of a batch as the state backend takes them. */
void weir_ctx_keys(struct weir_operator_ctx *ctx, const struct weir_batch *in,
		   struct weir_keys *keys);

#endif /* WEIR_ENGINE_OPERATORS_CTX_H */
