#ifndef WEIR_STATEBACKEND_SNAPSHOT_OUTGOING_H
#define WEIR_STATEBACKEND_SNAPSHOT_OUTGOING_H

/*
 * weir_outgoing: bytes on their way into one file, in the order of the file, gathered from where
 * they lie, one write after the other.
 *
 * One at a time because a file system takes writes that make a file longer one by one anyway: on
 * ext4 those that wait spin for the inode's lock, which cost an eighth of both CPUs.
 *
 * Threads:   one. Ownership: ranges are the caller's until they come back; what they point at is
 *            not touched. Cost: no allocation; a step is O(pieces of one write).
 * Failure:   none of its own; who harvests the request looks at its result.
 */

#include "engine/io.h"
#include "engine/state/snapshot.h"

#define WEIR_OUTGOING_BYTES_MAX (4u << 20)   /* of one write; a single range may be longer */
#define WEIR_OUTGOING_ALONE	(512u << 10) /* a range that is a write of its own */

/* Bytes, then the pieces of a list if there is one, from off on. */
struct weir_outgoing_range {
	struct weir_outgoing_range *next;
	void *bytes;
	uint64_t len;
	uint64_t off;
	struct weir_snap_pieces *list; /* NULL: none */
	bool sent;		       /* bytes are; of the list, list->sent are */
};

/* What is over with one piece of the write under way. */
struct weir_outgoing_part {
	struct weir_outgoing_range *range; /* this was the last of it; NULL: it was not */
	struct weir_snap_pieces *list;	   /* whose piece it is; NULL: bytes of the range itself */
	uint32_t piece;
};

struct weir_outgoing {
	struct weir_io_req req; /* of the write under way */
	bool busy;
	uint32_t part_cnt;
	struct weir_outgoing_range *first, *last; /* not all of it sent */
	struct weir_outgoing_part part[WEIR_IO_PIECES_MAX];
	struct weir_io_piece piece[WEIR_IO_PIECES_MAX];
};

/* Append: off is where the range before ended, or further on. */
void weir_outgoing_add(struct weir_outgoing *o, struct weir_outgoing_range *range);

static inline bool
weir_outgoing_is_empty(const struct weir_outgoing *o)
{
	return o->first == NULL && !o->busy;
}

/* The next write into handle, to be submitted by the caller; NULL: one is under way, or nothing is
 * left. */
struct weir_io_req *weir_outgoing_next(struct weir_outgoing *o, int handle, void *user);

/*
 * The write under way is back, whatever its result: pieces are released, and a range that is
 * through, its list included, is given to gone.
 */
void weir_outgoing_done(struct weir_outgoing *o,
			void (*gone)(void *arg, struct weir_outgoing_range *range), void *arg);

/* Pieces that are not sent will not be: the last release gives the list back. */
void weir_outgoing_release(struct weir_snap_pieces *list);

/* What is not sent yet goes back unwritten. No write is under way. */
void weir_outgoing_drop(struct weir_outgoing *o,
			void (*gone)(void *arg, struct weir_outgoing_range *range), void *arg);

#endif /* WEIR_STATEBACKEND_SNAPSHOT_OUTGOING_H */
