#ifndef WEIR_ENGINE_STATE_SEGMENT_H
#define WEIR_ENGINE_STATE_SEGMENT_H

/*
 * weir_segment: what a manifest says about one segment of a data file. Plain values.
 *
 * A data file is written by one core for one checkpoint; each task, operator and state on that core
 * adds segments to it. The bytes: docs/formats.md and statebackend/snapshot/format.h.
 */

#include "engine/base/base.h"

enum weir_segment_kind {
	WEIR_SEGMENT_STATE = 1,	    /* pages of a keyed state */
	WEIR_SEGMENT_BLOB = 2,	    /* a piece of operator state (R5) */
	WEIR_SEGMENT_COUNTER = 3,   /* counters of a task */
	WEIR_SEGMENT_CHANNEL = 4,   /* in-flight frames */
	WEIR_SEGMENT_CANONICAL = 5, /* sorted entries of a keyed state, for any backend (S1) */
};

struct weir_segment {
	uint32_t kind; /* enum weir_segment_kind */
	uint32_t operator_idx;
	uint32_t subtask;
	uint32_t state_idx;  /* keyed state of the operator; blob: operator state of it */
	uint64_t offset;     /* in the file; multiple of 4096 */
	uint64_t length;     /* padded; multiple of 4096 */
	uint64_t used;	     /* bytes before the padding, header included */
	uint32_t crc;	     /* CRC32C over length bytes */
	uint32_t page_cnt;   /* state: page records in it; canonical: runs */
	uint64_t entry_cnt;  /* state, canonical: live entries in it; blob: what its writer says */
	uint64_t hash_first; /* state, canonical: range of the subtask that wrote it, both ends
				included */
	uint64_t hash_last;
};

#define WEIR_SEGMENT_HEADER 128u /* bytes in front of what a segment holds */

/*
 * A segment of an earlier data file of the same core, of kind STATE, some records of which still
 * stand as they are: a later checkpoint names them instead of writing them again.
 */
struct weir_segment_ref {
	uint64_t checkpoint;  /* whose data file it is in */
	uint32_t number;      /* of the segment in its file, from 0 */
	uint32_t record_cnt;  /* of the segment */
	uint64_t live_bytes;  /* of the records that stand */
	const uint64_t *live; /* bit r: record r does; weir_live_words(record_cnt) words */
};

static inline uint32_t
weir_live_words(uint32_t record_cnt)
{
	return (record_cnt + 63) / 64;
}

static inline bool
weir_is_live(const uint64_t *live, uint32_t record)
{
	return live[record / 64] >> (record % 64) & 1;
}

/* Does it hold entries of a keyed state, in whatever format? */
static inline bool
weir_segment_is_state(const struct weir_segment *seg)
{
	return seg->kind == WEIR_SEGMENT_STATE || seg->kind == WEIR_SEGMENT_CANONICAL;
}

#endif /* WEIR_ENGINE_STATE_SEGMENT_H */
