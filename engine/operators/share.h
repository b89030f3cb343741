#ifndef WEIR_ENGINE_OPERATORS_SHARE_H
#define WEIR_ENGINE_OPERATORS_SHARE_H

/*
 * weir_share: which items of which old subtasks a new one gets of an operator's state (R5). A pure
 * function of the kind and of what the old subtasks had.
 *
 *   split list     unchanged parallelism: its own. Else the items of all, old subtask after old
 *                  subtask, are cut into consecutive ranges whose lengths differ by one at most.
 *   union list     all items of all.
 *   broadcast map  the copy of the old subtask whose number is the new one's, modulo the old
 *                  parallelism; of the next that has one, if that had finished.
 *
 * Threads: any. Cost: O(old subtasks).
 */

#include "engine/base/base.h"

#define WEIR_SHARE_NONE UINT64_MAX /* the old subtask had finished: it left nothing */

struct weir_share_old {
	const uint64_t *item_cnt; /* per old subtask; WEIR_SHARE_NONE */
	uint32_t parallelism;	  /* at least 1 */
};

/* Items first .. first + cnt of an old subtask. */
struct weir_share {
	uint64_t first, cnt;
};

/* share: one for each old subtask. kind: enum weir_operator_state_kind. */
void weir_share_of(uint32_t kind, const struct weir_share_old *old, uint32_t subtask,
		   uint32_t parallelism, struct weir_share *share);

#endif /* WEIR_ENGINE_OPERATORS_SHARE_H */
