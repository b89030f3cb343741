#ifndef WEIR_ENGINE_CORE_RUNTIME_PRIV_H
#define WEIR_ENGINE_CORE_RUNTIME_PRIV_H

/* What the files of weir_runtime_create share. */

#include "engine/core/runtime.h"

/* Set-up memory, zeroed, on line pairs, freed with the runtime. */
void *weir_runtime_take(struct weir_runtime *rt, size_t bytes);

/* runtime_inputs.c: the input channels of a subtask, gate and handler. */
WEIR_MUST_USE int weir_runtime_inputs(struct weir_runtime *rt, struct weir_task *task,
				      struct weir_error *err);

/* restore_opstates.c, restore_counts.c: what a restore that did not come to its end has taken. */
void weir_restore_opstates_fini(struct weir_runtime *rt);
void weir_restore_counts_fini(struct weir_runtime *rt);

#endif /* WEIR_ENGINE_CORE_RUNTIME_PRIV_H */
