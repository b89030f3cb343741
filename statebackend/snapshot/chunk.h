#ifndef WEIR_STATEBACKEND_SNAPSHOT_CHUNK_H
#define WEIR_STATEBACKEND_SNAPSHOT_CHUNK_H

/*
 * How a backend fills the staging chunks of a writer: take one, ask for room, close it. A chunk
 * becomes one segment.
 *
 * Threads:   the writer's thread. Ownership: a chunk belongs to who took it until close or drop.
 * Cost:      take and room O(1); close computes the CRC of the chunk (about 0.05 ms per MiB).
 * Failure:   NULL, and nothing happened: no chunk is free, or no room is left in this one.
 */

#include "statebackend/snapshot/format.h"
#include "statebackend/snapshot/writer.h"

/*
 * An empty chunk with a copy of *head as its header (magic, counts, lengths are filled at close).
 * spare: leave one free for others (copy-on-write must not starve the slices that give chunks
 * back).
 */
struct weir_snap_chunk *weir_snap_chunk_take(struct weir_snap_writer *w,
					     const struct weir_seg_header *head, bool spare);

/* Room for bytes in the chunk, behind what was taken before, uncleared. All in multiples of 64 is
 * 64-byte aligned. */
void *weir_snap_chunk_room(struct weir_snap_chunk *c, uint64_t bytes);

/* Bytes of room left. */
uint64_t weir_snap_chunk_left(const struct weir_snap_chunk *c);

/* Count what was put in. */
void weir_snap_chunk_count(struct weir_snap_chunk *c, uint32_t records, uint64_t entries);

/* Records counted so far. */
uint32_t weir_snap_chunk_records(const struct weir_snap_chunk *c);

/* The segment is complete: queue it. Its number in the file, or WEIR_SNAP_NO_SEGMENT if the file is
 * given up. */
uint32_t weir_snap_chunk_close(struct weir_snap_writer *w, struct weir_snap_chunk *c);
#define WEIR_SNAP_NO_SEGMENT UINT32_MAX

/* Give an unfinished chunk back. */
void weir_snap_chunk_drop(struct weir_snap_writer *w, struct weir_snap_chunk *c);

/* Key groups of a canonical file: states write sorted entries, not pages (S1). 0: native. */
uint32_t weir_snap_writer_key_groups(const struct weir_snap_writer *w);

/* What is to be written, and for which checkpoint. */
enum weir_snap_scope weir_snap_writer_scope_of(const struct weir_snap_writer *w);
uint64_t weir_snap_writer_checkpoint(const struct weir_snap_writer *w);

/* The records that *ref names stand (scope CHANGES); the bitmap is copied. False: there is no room
 * for one more, they have to be written again. */
WEIR_MUST_USE bool weir_snap_writer_refer(struct weir_snap_writer *w,
					  const struct weir_segment_ref *ref);

/* A backend cannot go on: the file is given up for this reason, as after a failed request. */
void weir_snap_writer_refuse(struct weir_snap_writer *w, const struct weir_error *why);

/* Failed or aborted: what is still handed over is thrown away. */
bool weir_snap_writer_dead(const struct weir_snap_writer *w);

#endif /* WEIR_STATEBACKEND_SNAPSHOT_CHUNK_H */
