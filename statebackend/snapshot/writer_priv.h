#ifndef WEIR_STATEBACKEND_SNAPSHOT_WRITER_PRIV_H
#define WEIR_STATEBACKEND_SNAPSHOT_WRITER_PRIV_H

/*
 * What the parts of the writer share: writer.c (the file: open, write, sync, close), chunk.c
 * (staging chunks that become segments), blobs.c (segments that are handed over whole).
 */

#include "statebackend/snapshot/chunk.h"
#include "statebackend/snapshot/outgoing.h"

enum chunk_state { CHUNK_FREE, CHUNK_FILLING, CHUNK_LEAVING };

struct weir_snap_chunk {
	struct weir_outgoing_range range; /* first */
	struct weir_snap_chunk *next;	  /* free list */
	uint8_t *bytes;
	uint64_t used, cap;
	uint64_t entry_cnt;
	uint32_t record_cnt;
	enum chunk_state state;
};

struct weir_snap_writer {
	uint32_t magic;
	enum weir_snap_state state;
	struct weir_snap_config cfg;
	struct weir_snap_id id;
	struct weir_error err;
	struct weir_snap_chunk *chunks, *free;
	struct weir_outgoing outgoing;
	struct weir_outgoing_range head; /* the file's header */
	struct weir_io_req ctl, dir;	 /* open, fsync, close; fsync of directory */
	uint8_t *head_bytes;
	uint64_t file_bytes;
	uint32_t chunk_cnt, free_cnt, in_flight;
	uint32_t seg_cnt;
	uint32_t key_groups; /* canonical; 0: native */
	enum weir_snap_scope scope;
	struct weir_segment_ref *refs; /* cfg.seg_max of them */
	uint64_t *words;	       /* their bitmaps: LIVE_WORDS each on average */
	uint32_t ref_cnt, word_cnt;
	int handle;
	bool open_sent, close_sent, dead;
	char path[WEIR_SNAP_PATH_MAX];
	char dir_path[WEIR_SNAP_PATH_MAX];
};

/* The file is given up: what failed, and why (below 0: -errno). */
void weir_snap_writer_fail(struct weir_snap_writer *w, const char *what, int64_t result);

/* The segment that a chunk has become, with its header filled in. */
struct weir_segment weir_snap_chunk_segment(const struct weir_snap_writer *w,
					    const struct weir_snap_chunk *c,
					    struct weir_seg_header *h);

/* The segment is known and has its place: bytes of the chunk go out, then pieces if there are any.
 */
void weir_snap_chunk_leave(struct weir_snap_writer *w, struct weir_snap_chunk *c,
			   const struct weir_segment *seg, struct weir_snap_pieces *list);

#endif /* WEIR_STATEBACKEND_SNAPSHOT_WRITER_PRIV_H */
