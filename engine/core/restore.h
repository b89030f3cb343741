#ifndef WEIR_ENGINE_CORE_RESTORE_H
#define WEIR_ENGINE_CORE_RESTORE_H

/*
 * Restore: a checkpoint's manifest back into a fresh runtime, before its first turn (R1). Operators
 * are matched by id, states by id and name; what does not fit is an error that says what (fails
 * closed), never an empty state.
 *
 *   weir_restore_check    does it fit at all (S2, S7)?
 *   weir_recovery_create  where what it holds in flight goes (engine/core/recovery.h)
 *   weir_restore_splits   per source, before the runtime exists: the splits that it was made with
 *   weir_restore_begin    counters, watermarks, splits under way, transactions of sinks
 *   weir_restore_segment  per segment of its files, in any order, bytes proven by the reader
 *   weir_restore_end      was that all? Shares out operator state (R5)
 *
 * Threads:   set-up.
 * Ownership: borrows all for the call; the manifest from begin until end or, without it, until the
 *            runtime is destroyed.
 * Failure:   WEIR_ERR_DATA, or WEIR_ERR_FAILED where the state has no room; the runtime is then
 *            good for weir_runtime_destroy only.
 */

#include "engine/checkpoint/manifest.h"
#include "engine/core/enumerator.h"
#include "engine/core/runtime.h"

struct weir_restore_options {
	/* S7: state of operators and states that the job no longer has is left out, and said. */
	bool allow_non_restored;
	void (*left_out)(void *arg, const char *text);
	void *arg;
};

/* Operators, states and key groups of the plan against those of the manifest; all misfits in one
 * text. options: NULL: none. */
WEIR_MUST_USE int weir_restore_check(const struct weir_plan *plan, const struct weir_manifest *m,
				     const struct weir_restore_options *options,
				     struct weir_error *err);

/* Does the checkpoint know an operator of this id? */
bool weir_restore_knows(const struct weir_manifest *m, const char *id);

/* The splits of the plan's source operator e->op, and which of them are taken. */
WEIR_MUST_USE int weir_restore_splits(const struct weir_plan *plan, const struct weir_manifest *m,
				      struct weir_enumerator *e, struct weir_error *err);

WEIR_MUST_USE int weir_restore_begin(struct weir_runtime *rt, const struct weir_manifest *m,
				     const struct weir_enumerator *enumerators,
				     uint32_t enumerator_cnt, struct weir_error *err);

/* Any segment of the manifest, each once; what the job has no use for is left out here. file_idx:
 * which of the manifest's files it stands in. */
WEIR_MUST_USE int weir_restore_segment(struct weir_runtime *rt, const struct weir_manifest *m,
				       uint32_t file_idx, const struct weir_segment *seg,
				       const void *bytes, struct weir_error *err);

/* No segment will come any more: have all that the manifest names been read, are all entries of
 * keyed states where they belong, and every frame in flight (§0)? Operator state is shared out. */
WEIR_MUST_USE int weir_restore_end(struct weir_runtime *rt, struct weir_error *err);

#endif /* WEIR_ENGINE_CORE_RESTORE_H */
