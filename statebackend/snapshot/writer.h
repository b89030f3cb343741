#ifndef WEIR_STATEBACKEND_SNAPSHOT_WRITER_H
#define WEIR_STATEBACKEND_SNAPSHOT_WRITER_H

/*
 * weir_snap_writer: writes one core's data file of a checkpoint while records keep flowing.
 *
 *   begin(path) -> header                             open -> writes (any order) -> fsync of the
 *     append(...)*  weir_kstate_freeze(state, w)*  slices...     file and its directory -> close
 *   seal -> ... state == DONE: segments are durable, or FAILED: code and text
 *
 * Data are gathered in staging chunks; a full chunk is one segment, 4 KiB-aligned, and goes out as
 * one write. Pages of a frozen state are copied into a chunk at their first write or by a slice.
 *
 * Threads:   one core's thread, the one of its weir_io.
 * Ownership: the writer is the caller's memory; the staging memory (4 KiB-aligned) is lent for the
 *            writer's life; path is copied. The segment list belongs to the writer until the next
 *            begin.
 * Protocol:  the owner of the weir_io harvests; it gives every harvested request whose user pointer
 *            is the writer to weir_snap_writer_done(). weir_snap_writer_step() submits what can go.
 * Cost:      begin, seal, step: O(1) and at most chunk_cnt requests; no allocation after init.
 * Limits:    seg_max segments per file and as many refs; a blob of any size is cut into chunks.
 * Failure:   the first failed request decides (err: -errno of the driver, operation, path). Then no
 *            more is submitted but the close; requests in flight are waited for; state ends as
 *            FAILED. fsync is never retried, a file name never used again.
 */

#include "engine/base/error.h"
#include "engine/io.h"
#include "engine/state/snapshot.h"
#include "statebackend/snapshot/segment.h"

#define WEIR_SNAP_PATH_MAX 1024

struct weir_snap_id {
	uint64_t job_hash;
	uint64_t attempt;
	uint64_t checkpoint;
	uint32_t core;
};

enum weir_snap_state {
	WEIR_SNAP_IDLE,	   /* no file: begin may be called */
	WEIR_SNAP_OPEN,	   /* accepts segments */
	WEIR_SNAP_SEALED,  /* all is handed over; writes run */
	WEIR_SNAP_SYNC,	   /* fsync runs */
	WEIR_SNAP_CLOSING, /* close runs, after success or failure */
	WEIR_SNAP_DONE,	   /* durable; segments valid */
	WEIR_SNAP_FAILED,  /* nothing of ours is in flight; err says why (aborted: WEIR_ERR_IO too)
			    */
};

struct weir_snap_writer;
struct weir_snap_chunk;

struct weir_snap_config {
	struct weir_io *io;
	void *staging; /* 4 KiB-aligned (registered memory of the driver where there is one) */
	uint64_t staging_bytes; /* at least 3 chunks, better 1 per state + 4 */
	uint32_t chunk_bytes;	/* 64 KiB..1 MiB, multiple of 4096; what is left in a chunk is not
				   written */
	struct weir_segment *segs; /* lent: room for the list */
	uint32_t seg_max;
};

/* Set-up only: allocates. NULL and *err when the staging memory is too small. */
struct weir_snap_writer *weir_snap_writer_create(const struct weir_snap_config *cfg,
						 struct weir_error *err);
/* Nothing is under way, or its io is closed already: a cancelled job takes no completions any more.
 */
void weir_snap_writer_destroy(struct weir_snap_writer *w);

/* Start a file at path (created, must not exist; its directory exists). State must be IDLE, DONE or
 * FAILED. */
void weir_snap_writer_begin(struct weir_snap_writer *w, const char *path,
			    const struct weir_snap_id *id);

/*
 * Append len bytes (0 is fine) as segments of kind BLOB, COUNTER or CHANNEL, at once into staging
 * chunks; bytes are borrowed for the call. *taken: 0 at the first call; how many were taken so far.
 * True: all. False: no chunk is free; call again with the same arguments after a step. The parts
 * are segments in order; the reader joins them.
 */
WEIR_MUST_USE bool weir_snap_writer_append(struct weir_snap_writer *w,
					   const struct weir_snap_blob *blob, uint64_t *taken);

/*
 * Write list->cnt pieces as one segment of kind CHANNEL, from where they lie. True: taken, and
 * every piece will be released once, by this call if the file is given up already, else by step or
 * done. False: no chunk is free for the header; nothing happened.
 */
WEIR_MUST_USE bool weir_snap_writer_pieces(struct weir_snap_writer *w,
					   struct weir_snap_pieces *list);

/* Called right after begin, which sets CHANGES. */
void weir_snap_writer_scope(struct weir_snap_writer *w, enum weir_snap_scope scope);

/*
 * Called right after begin: states go into this file as sorted entries by key group (S1).
 * key_groups: the job's max-parallelism, a power of two. The scope is ALONE then.
 */
void weir_snap_writer_canonical(struct weir_snap_writer *w, uint32_t key_groups);

/* Nothing more will be added: every frozen state has returned true from its slice. */
void weir_snap_writer_seal(struct weir_snap_writer *w);

/* Give the file up: no more writes, fsync or segments; ends in FAILED when all is back. The states
 * that were frozen into it must be thawed by their owner before. */
void weir_snap_writer_abort(struct weir_snap_writer *w);

/* A request harvested whose user is w. */
void weir_snap_writer_done(struct weir_snap_writer *w, struct weir_io_req *req);

/* Submit what can go now; call once per turn while a snapshot runs. The state after it. */
enum weir_snap_state weir_snap_writer_step(struct weir_snap_writer *w);

/* Valid in DONE: the segments, in file order, and the file's length in bytes. */
const struct weir_segment *weir_snap_writer_segments(const struct weir_snap_writer *w,
						     uint32_t *cnt, uint64_t *file_bytes);

/* Valid in DONE: what states have named of earlier files. */
const struct weir_segment_ref *weir_snap_writer_refs(const struct weir_snap_writer *w,
						     uint32_t *cnt);

/* Valid in FAILED. */
const struct weir_error *weir_snap_writer_error(const struct weir_snap_writer *w);

#endif /* WEIR_STATEBACKEND_SNAPSHOT_WRITER_H */
