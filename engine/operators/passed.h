#ifndef WEIR_ENGINE_OPERATORS_PASSED_H
#define WEIR_ENGINE_OPERATORS_PASSED_H

/*
 * weir_passed: keys for which event time is ahead of the operator's watermark.
 *
 * In the cut of an unaligned checkpoint the subtasks of an operator stand at different watermarks.
 * A subtask that takes over keys of several of them (R3) goes on from the slowest; for the keys of
 * the faster ones what lies between has happened: their windows have fired and their rows are late.
 * So each range of the hash order keeps the watermark that it had, until the operator's own has
 * caught up; checkpoints keep what is left (engine/core/subtask_blob.h). The end of time is there
 * for the keys of a subtask that had emitted all it had.
 *
 * Threads: set up before the first turn; read-only afterwards. Cost: one comparison where a restore
 * brought none, or time has caught up; else linear in the ranges, which are as many as old
 * subtasks.
 */

#include "engine/base/base.h"

struct weir_passed {
	uint64_t hash_first; /* both ends included */
	uint64_t hash_last;
	int64_t watermark_ns;
};
_Static_assert(sizeof(struct weir_passed) == 24, "as on disk");

struct weir_passed_list {
	const struct weir_passed *at;
	uint32_t cnt;
	int64_t max_ns; /* none is above it; INT64_MIN if there are none */
};

/* May the time have passed for some keys? */
static inline bool
weir_passed_any(const struct weir_passed_list *list, int64_t time_ns)
{
	return WEIR_UNLIKELY(list->cnt > 0 && time_ns <= list->max_ns);
}

/* Has it passed for the key with this hash? */
static inline bool
weir_passed_has(const struct weir_passed_list *list, uint64_t hash, int64_t time_ns)
{
	for (uint32_t i = 0; i < list->cnt; i++)
		if (hash >= list->at[i].hash_first && hash <= list->at[i].hash_last &&
		    time_ns <= list->at[i].watermark_ns)
			return true;
	return false;
}

#endif /* WEIR_ENGINE_OPERATORS_PASSED_H */
