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

/* What the engine keeps of the subtask; NULL: nothing, or malformed. */
const struct weir_subtask_blob *weir_restore_blob(const struct weir_manifest_subtask *s);
/* Had everything of it been through? */
bool weir_restore_ended(const struct weir_manifest_subtask *s);

#endif /* WEIR_ENGINE_CORE_RESTORE_PRIV_H */
