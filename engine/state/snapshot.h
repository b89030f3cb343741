#ifndef WEIR_ENGINE_STATE_SNAPSHOT_H
#define WEIR_ENGINE_STATE_SNAPSHOT_H

/*
 * weir_snapshot_ops: how a core writes its data file of a checkpoint, without knowing the format.
 * The functions are those of statebackend/snapshot/writer.h, which has the contract; the program
 * puts them here, because the engine includes nothing of the state backends.
 */

#include "engine/base/error.h"
#include "engine/io.h"
#include "engine/state/segment.h"

struct weir_snap_writer;
struct weir_snap_id;

enum weir_snapshot_step {
	WEIR_SNAPSHOT_BUSY,   /* go on stepping */
	WEIR_SNAPSHOT_DONE,   /* durable */
	WEIR_SNAPSHOT_FAILED, /* nothing in flight any more; error says why */
};

/* Memory that is written as it lies: 4 KiB-aligned, a multiple of 4096 bytes. Does not change
 * meanwhile. */
struct weir_snap_piece {
	void *bytes;
	uint64_t len;
};

/*
 * Pieces that become one segment of kind CHANNEL: a header of WEIR_SNAP_PIECES_AT bytes, then the
 * pieces one behind the other, without a copy.
 */
struct weir_snap_pieces {
	/* The caller's; stands until every piece has been released. */
	const struct weir_snap_piece *piece;
	uint32_t cnt;
	uint32_t operator_idx, subtask, state_idx;
	/* Called once per piece, when it is written or will not be written any more. */
	void (*release)(struct weir_snap_pieces *list, uint32_t piece);

	/* The writer's own. */
	uint32_t sent;
	uint64_t off;
};
#define WEIR_SNAP_PIECES_AT   4096u
#define WEIR_SNAP_SEGMENT_MAX (1u << 20) /* bytes of a segment: what a reader holds at once */

/* Bytes that become segments of kind BLOB, COUNTER or CHANNEL. */
struct weir_snap_blob {
	uint32_t kind; /* enum weir_segment_kind, no state */
	uint32_t operator_idx;
	uint32_t subtask;
	uint32_t state_idx;
	const void *bytes;
	uint64_t len;
	uint64_t entry_cnt; /* of the first segment, for who reads the list; 0: not said */
};

/* What of the states goes into a file. */
enum weir_snap_scope {
	WEIR_SNAP_CHANGES, /* what no earlier file holds; the other files are named */
	WEIR_SNAP_WHOLE,   /* everything; later files may name this one */
	WEIR_SNAP_ALONE,   /* everything, and no later file will name this one: a savepoint (S1) */
};

struct weir_snapshot_ops {
	void (*begin)(struct weir_snap_writer *w, const char *path, uint64_t job_hash,
		      uint64_t attempt, uint64_t checkpoint, uint32_t core);
	/* Right after begin; without it: CHANGES. */
	void (*scope)(struct weir_snap_writer *w, enum weir_snap_scope scope);
	/* Right after begin: states as sorted entries by key group (S1), not as pages. */
	void (*canonical)(struct weir_snap_writer *w, uint32_t key_groups);
	/* False: no room now, try again after a step. *taken: 0 at the first call. */
	bool (*append)(struct weir_snap_writer *w, const struct weir_snap_blob *blob,
		       uint64_t *taken);
	/* False: no room now, try again after a step. */
	bool (*pieces)(struct weir_snap_writer *w, struct weir_snap_pieces *list);
	void (*seal)(struct weir_snap_writer *w);
	void (*abort)(struct weir_snap_writer *w);
	void (*done)(struct weir_snap_writer *w, struct weir_io_req *req);
	enum weir_snapshot_step (*step)(struct weir_snap_writer *w);
	const struct weir_segment *(*segments)(const struct weir_snap_writer *w, uint32_t *cnt,
					       uint64_t *file_bytes);
	/* Valid with the segments: what stands in earlier files. */
	const struct weir_segment_ref *(*refs)(const struct weir_snap_writer *w, uint32_t *cnt);
	const struct weir_error *(*error)(const struct weir_snap_writer *w);
};

#endif /* WEIR_ENGINE_STATE_SNAPSHOT_H */
