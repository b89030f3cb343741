#ifndef WEIR_ENGINE_CHECKPOINT_STORE_H
#define WEIR_ENGINE_CHECKPOINT_STORE_H

/*
 * Completed store (S5, S8): the retained checkpoints, oldest first, the savepoints taken, and
 * claimed savepoints whose directory outlives them because files in it are still in use (S6).
 *
 * Threads:   the coordinator's. Ownership: owns the snapshots handed to it.
 */

#include "engine/checkpoint/snapshot.h"

struct weir_snapshot_list {
	struct weir_snapshot **list; /* ascending ids */
	uint32_t cnt;
	uint32_t cap;
};

struct weir_store {
	uint32_t retained; /* >= 1 */
	struct weir_snapshot_list completed;
	struct weir_snapshot_list savepoints;
	struct weir_snapshot_list lingering; /* no longer retained, directory not yet deleted */
};

void weir_store_init(struct weir_store *s, uint32_t retained);
void weir_store_fini(struct weir_store *s);

/* Put a snapshot into a list in id order; the list owns it from now on. */
void weir_snapshot_list_add(struct weir_snapshot_list *l, struct weir_snapshot *snapshot);

/* Take element i out; the caller owns it. */
struct weir_snapshot *weir_snapshot_list_take(struct weir_snapshot_list *l,
					      uint32_t i) WEIR_MUST_USE;

/* The one with this id, or NULL. */
struct weir_snapshot *weir_snapshot_list_find(const struct weir_snapshot_list *l, uint64_t id);

/* Newest completed checkpoint, NULL if there is none. */
struct weir_snapshot *weir_store_latest(const struct weir_store *s);

/* K4: the oldest beyond the number retained, now the caller's; NULL if none is. */
struct weir_snapshot *weir_store_subsume(struct weir_store *s) WEIR_MUST_USE;

/* Lowest retained id of those whose files are ours; UINT64_MAX if there is none. */
uint64_t weir_store_lowest_claimed(const struct weir_store *s);

#endif /* WEIR_ENGINE_CHECKPOINT_STORE_H */
