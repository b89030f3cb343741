#ifndef WEIR_STATEBACKEND_HASH_HOME_H
#define WEIR_STATEBACKEND_HASH_HOME_H

/*
 * Homes: where blocks that have not changed since a checkpoint lie in its data file, so that the
 * next checkpoint names them there and writes only the others (S9, S10).
 *
 *   walk of snapshot n captures a block -> its home: (segment of n's file, record)
 *   first write to the block afterwards -> home_leave(): it has none any more
 *   freeze of snapshot n + 1            -> home_list(): segments of completed checkpoints, each
 *                                          with a bit for every record that is still somebody's
 *                                          home
 *   walk of snapshot n + 1              -> blocks whose home is listed are passed over
 *
 * A home of a checkpoint of which nobody has said that it is complete is none: the block is
 * captured again. So is what lies in a file most of which is of no use any more, or in one of the
 * smaller of many files: files stay few, and at least half of what they hold is needed.
 *
 * Threads: one core. Memory: the region's; where it has none left, blocks get no home. Cost: O(1)
 * but home_list(), which is O(segments of the state).
 */

#include "engine/state/segment.h"
#include "statebackend/hash/mem.h"

#define HOME_NONE	  0u
#define HOME_RECORD_BITS  12u
#define HOME_RECORDS_MAX  3328u /* of a segment of 1 MiB; the smallest takes 320 bytes */
#define HOME_SEGMENTS_MAX (1u << (32 - HOME_RECORD_BITS))
#define HOME_FILES_MAX	  64u /* more of them are made fewer */

struct weir_snap_writer;

/* A data file of this core in which blocks have their home. */
struct home_file {
	struct home_file *next;
	uint64_t checkpoint;
	uint64_t bytes;	     /* of the whole file; 0: not durable yet */
	uint64_t live_bytes; /* records that are homes */
	uint32_t segment_cnt;
	bool is_complete;
};

/* A segment of such a file. */
struct home_segment {
	struct home_segment *next, *prev; /* of the same state */
	struct home_segment **list;	  /* where that list begins */
	struct home_file *file;
	uint64_t live_bytes;
	uint32_t slot;
	uint32_t number; /* in its file, or HOME_OPEN (not known yet), HOME_NEVER (it was given up)
			  */
	uint32_t record_cnt;
	uint32_t live_cnt;
	uint32_t listed; /* number of the last snapshot that names it */
	uint32_t pad;
	uint64_t live[HOME_RECORDS_MAX / 64];
};
_Static_assert(sizeof(struct home_segment) <= 512, "a block of its class");
#define HOME_OPEN  UINT32_MAX
#define HOME_NEVER (UINT32_MAX - 1)

/* Of a backend. All zero: no homes. */
struct homes {
	struct home_segment **slot; /* slot 0 is nobody's; NULL: free, or its number << 1 | 1 */
	uint32_t slot_cap, slot_cnt;
	uint32_t free_slot; /* list through the slots; 0: none */
	uint32_t file_cnt;
	struct home_file *files; /* newest first */
};

/* A segment of checkpoint's file is begun, for the state whose list that is. NULL: no memory. */
struct home_segment *home_open(struct homes *h, struct mem *m, struct home_segment **list,
			       uint64_t checkpoint);
/* It has become number number of its file, with so many records; WEIR_SNAP_NO_SEGMENT: it never
 * will. */
void home_close(struct homes *h, struct mem *m, struct home_segment *s, uint32_t number,
		uint32_t record_cnt);

/* The block's record, bytes long, is number record of the segment: its home. */
void home_enter(struct home_segment *s, struct block_meta *meta, uint32_t record, uint32_t bytes);
/* The block has changed, or is gone, or gets another home. bytes: as given to home_enter. */
void home_leave(struct homes *h, struct mem *m, struct block_meta *meta, uint32_t bytes);

/* Does snapshot number snap name the block's home? */
static inline bool
home_is_listed(const struct homes *h, const struct block_meta *meta, uint32_t snap)
{
	return meta->home != HOME_NONE && h->slot[meta->home >> HOME_RECORD_BITS]->listed == snap;
}

/* Name to the writer what snapshot number snap need not write. */
void home_list(struct homes *h, struct home_segment *list, uint32_t snap,
	       struct weir_snap_writer *w);

void home_stored(struct homes *h, uint64_t checkpoint, uint64_t file_bytes);
void home_completed(struct homes *h, uint64_t checkpoint);

#endif /* WEIR_STATEBACKEND_HASH_HOME_H */
