#ifndef WEIR_ENGINE_CHECKPOINT_SNAPSHOT_H
#define WEIR_ENGINE_CHECKPOINT_SNAPSHOT_H

/*
 * Owned copies of struct weir_snapshot, and walks over the files in it.
 *
 * Threads:   the coordinator's. Ownership: a copy owns every list in it until weir_snapshot_free.
 */

#include "engine/checkpoint/coordinator.h"

/* A deep copy on the heap. */
struct weir_snapshot *weir_snapshot_copy(const struct weir_snapshot *snapshot) WEIR_MUST_USE;
void weir_snapshot_free(struct weir_snapshot *snapshot);

/* A walk over all parts: those by task first, then the others. */
struct weir_part_walk {
	const struct weir_snapshot *snapshot;
	uint32_t task;
	uint32_t part;
};

/* The next part, NULL at the end. Start with { .snapshot = s }. */
const struct weir_part *weir_part_next(struct weir_part_walk *walk);

/* True if this attempt's acknowledgement is in it (K1: its repetition is a duplicate). */
bool weir_snapshot_has_ack(const struct weir_snapshot *snapshot, struct weir_attempt from);

#endif /* WEIR_ENGINE_CHECKPOINT_SNAPSHOT_H */
