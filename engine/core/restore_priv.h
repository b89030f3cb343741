#ifndef WEIR_ENGINE_CORE_RESTORE_PRIV_H
#define WEIR_ENGINE_CORE_RESTORE_PRIV_H

/* The parts of restore for each other: what of a plan is what of a manifest. */

#include "engine/core/restore.h"
#include "engine/core/subtask_blob.h"

/* By id; NULL: the checkpoint does not know it. */
const struct weir_manifest_operator *weir_restore_operator(const struct weir_manifest *m,
							   const char *id);
/* By id; UINT32_MAX: the plan does not have it. */
uint32_t weir_restore_planned(const struct weir_plan *plan, const char *id);
/* By name; UINT32_MAX: the operator does not declare it. */
uint32_t weir_restore_state(const struct weir_plan_operator_info *o, const char *name);

uint32_t weir_restore_opstate(const struct weir_plan_operator_info *o, const char *name);

/* restore_opstates.c: operator state (R5): before the segments, per segment of kind BLOB, and after
 * all of them. */
void weir_restore_opstates_begin(struct weir_runtime *rt, const struct weir_manifest *m);
WEIR_MUST_USE int weir_restore_opstates_segment(struct weir_runtime *rt, uint32_t file_idx,
						const struct weir_segment *seg, const void *bytes,
						struct weir_error *err);
WEIR_MUST_USE int weir_restore_opstates_end(struct weir_runtime *rt, struct weir_error *err);

/* restore_counts.c: was all of it read? Before the segments, for a segment (by its number in the
 * subtask of the manifest) when it is taken, and after all of them. */
void weir_restore_counts_begin(struct weir_runtime *rt, const struct weir_manifest *m);
WEIR_MUST_USE int weir_restore_counts_read(struct weir_runtime *rt, uint32_t op, uint32_t subtask,
					   uint32_t number, struct weir_error *err);
WEIR_MUST_USE int weir_restore_counts_end(struct weir_runtime *rt, struct weir_error *err);

/* What the engine keeps of the subtask; NULL: nothing, or malformed. */
const struct weir_subtask_blob *weir_restore_blob(const struct weir_manifest_subtask *s);
bool weir_restore_is_kind(const struct weir_plan *plan, uint32_t op, enum weir_vertex_kind kind);

/* restore_ends.c */
/* Does the subtask say that everything of it was through? */
bool weir_restore_ended(const struct weir_manifest_subtask *s);
/* Is that so still, when op, whose subtask it is, goes on from the checkpoint? */
bool weir_restore_had_ended(const struct weir_plan *plan, const struct weir_manifest *m,
			    uint32_t op, const struct weir_manifest_subtask *s);
/* T29: nothing that goes on feeds an operator that had ended. */
void weir_restore_check_ends(const struct weir_plan *plan, const struct weir_manifest *m,
			     struct weir_error *err);

#endif /* WEIR_ENGINE_CORE_RESTORE_PRIV_H */
