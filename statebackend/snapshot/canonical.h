#ifndef WEIR_STATEBACKEND_SNAPSHOT_CANONICAL_H
#define WEIR_STATEBACKEND_SNAPSHOT_CANONICAL_H

/*
 * Canonical segments (S1): a keyed state as sorted entries, in no backend's own layout. A backend
 * that writes them gives its entries in order; one that reads them gets them back one by one.
 * Bytes and order: format.h.
 *
 * Threads:   the writer's thread; a walk any. Ownership: out and walk are the caller's memory;
 *            keys, values and bytes are borrowed for the call, bytes of a walk for its life.
 * Cost:      a copy per entry; O(bytes) of a segment to read, with one hash per entry.
 * Failure:   writing: false, and nothing happened: no chunk is free, try again after a step.
 *            Reading: WEIR_ERR_DATA, err says what is wrong; the walk must not go on.
 */

#include "engine/base/error.h"
#include "statebackend/snapshot/chunk.h"
#include "statebackend/snapshot/format.h"

struct weir_canonical_entry {
	uint64_t place; /* in the hash order */
	int64_t ns;
	const void *key;
	uint32_t key_len;
	uint32_t key_group;
	const void *value;
};

/* ---- writing ---- */

struct weir_canonical_out {
	struct weir_snap_writer *writer;
	struct weir_seg_header head;
	struct weir_snap_chunk *chunk; /* being filled; NULL: none */
	struct weir_run *run;	       /* open, in the chunk; NULL: none */
};

/* head: kind, whose it is, range, sizes, key mode 1 or 2, grouped; the rest is set here. */
void weir_canonical_begin(struct weir_canonical_out *out, struct weir_snap_writer *w,
			  const struct weir_seg_header *head);

/* The next entry: behind all that were put before, in key group, namespace, key. */
WEIR_MUST_USE bool weir_canonical_put(struct weir_canonical_out *out,
				      const struct weir_canonical_entry *e);

/* No more entries. A state without any leaves one empty segment: restore can tell it from none. */
WEIR_MUST_USE bool weir_canonical_end(struct weir_canonical_out *out);

/* Give up what is open. */
void weir_canonical_drop(struct weir_canonical_out *out);

/* Order of keys: below, equal to or above 0. */
int weir_canonical_compare(const void *a, uint32_t a_len, const void *b, uint32_t b_len);

/* ---- reading ---- */

struct weir_canonical_walk {
	struct weir_seg_header head;
	const uint8_t *bytes;
	uint64_t at;
	uint32_t run_cnt; /* begun so far */
	struct weir_run run;
	uint32_t entry_cnt; /* of the run, so far */
	uint64_t run_at;    /* where its entries begin */
	uint64_t total;
	struct weir_canonical_entry entry; /* the current one */
};

/* Start at a CANONICAL segment that passed weir_segment_check(). */
WEIR_MUST_USE int weir_canonical_walk_start(struct weir_canonical_walk *w, const void *bytes,
					    struct weir_error *err);

/* The next entry in w->entry, proven to be in bounds, in order and in its key group; *more false at
 * the end. */
WEIR_MUST_USE int weir_canonical_walk_next(struct weir_canonical_walk *w, bool *more,
					   struct weir_error *err);

#endif /* WEIR_STATEBACKEND_SNAPSHOT_CANONICAL_H */
