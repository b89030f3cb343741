#ifndef WEIR_STATEBACKEND_SNAPSHOT_READER_H
#define WEIR_STATEBACKEND_SNAPSHOT_READER_H

/*
 * weir_snap_reader: reads what a manifest names out of data files, proves it, hands it on in order.
 *
 *   begin(files) -> per file: open -> header and segments, several reads in flight -> close -> next
 *                   each segment, checked: part(arg, file, segment, bytes), in the list's order
 *
 * Threads:   one thread, the one of its weir_io.
 * Ownership: files, paths and segment lists are borrowed until DONE or FAILED; the staging memory
 *            (4 KiB-aligned) for the reader's life; bytes given to part only for that call.
 * Protocol:  as the writer: the owner of the weir_io gives every harvested request whose user
 *            pointer is the reader to weir_snap_reader_done(); weir_snap_reader_step() goes on.
 * Cost:      one step hands on at most two segments (each up to 1 MiB).
 * Failure:   the first error decides: a failed request (WEIR_ERR_IO; a missing file WEIR_ERR_DATA),
 *            a damaged or short part (WEIR_ERR_DATA), or what part() returned; err names the file.
 *            What is in flight is waited for, the file is closed, then FAILED. Fails closed:
 *            nothing is ever skipped.
 */

#include "statebackend/snapshot/writer.h"

struct weir_snap_file {
	const char *path;
	struct weir_snap_id id;		 /* what its header must say */
	const struct weir_segment *segs; /* by offset */
	uint32_t seg_cnt;
};

/* 0, or a code with *err: restore fails. Segments that the caller has no use for it returns 0 for.
 */
typedef int (*weir_snap_part_fn)(void *arg, const struct weir_snap_file *file,
				 const struct weir_segment *seg, const void *bytes,
				 struct weir_error *err);

struct weir_snap_reader_config {
	struct weir_io *io;
	void *staging;		/* 4 KiB-aligned */
	uint64_t staging_bytes; /* 4096 + at least one chunk */
	uint32_t chunk_bytes;	/* largest segment that can be read: 1 MiB for any file of ours */
};

enum weir_snap_read_state {
	WEIR_SNAP_READ_IDLE,
	WEIR_SNAP_READ_OPENING,
	WEIR_SNAP_READ_PARTS,
	WEIR_SNAP_READ_CLOSING,
	WEIR_SNAP_READ_DONE,
	WEIR_SNAP_READ_FAILED,
};

struct weir_snap_reader;

/* Set-up only: allocates. NULL and *err when the staging memory is too small. */
struct weir_snap_reader *weir_snap_reader_create(const struct weir_snap_reader_config *cfg,
						 struct weir_error *err);
void weir_snap_reader_destroy(struct weir_snap_reader *r);

/* State must be IDLE, DONE or FAILED. */
void weir_snap_reader_begin(struct weir_snap_reader *r, const struct weir_snap_file *files,
			    uint32_t file_cnt, weir_snap_part_fn part, void *arg);

/* A request harvested whose user is r. */
void weir_snap_reader_done(struct weir_snap_reader *r, struct weir_io_req *req);

/* Go on; the state after it. */
enum weir_snap_read_state weir_snap_reader_step(struct weir_snap_reader *r);

/* Valid in FAILED. */
const struct weir_error *weir_snap_reader_error(const struct weir_snap_reader *r);

#endif /* WEIR_STATEBACKEND_SNAPSHOT_READER_H */
