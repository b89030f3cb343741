#ifndef WEIR_STATEBACKEND_VERIFY_VERIFY_H
#define WEIR_STATEBACKEND_VERIFY_VERIFY_H

/*
 * The offline verifier of data files: own code from the bytes up (own checksum, own parsing), so
 * that a fault of writer or reader is not repeated here. It includes nothing of snapshot/ but the
 * plain list entry that a manifest has.
 *
 * Checked: file header, its checksum and whose file it is; that the segments follow each other from
 * the header to the file's end without a gap; each segment's checksum, header, zero padding; of
 * state segments each record, each entry: counts, key bytes in bounds, its hash in the segment's
 * range, in its page's part of the hash order, and where a look-up finds it; of canonical segments
 * each run and entry: counts, zero padding, its key group, and that all are sorted, also from one
 * segment of a state to the next.
 *
 * Threads: any. Ownership: all borrowed for the call. Cost: O(bytes), about 0.5 GB/s.
 * Failure: WEIR_ERR_DATA; err says part and reason (the caller puts the file's name in front).
 */

#include "engine/base/error.h"
#include "statebackend/snapshot/segment.h"

struct weir_verify_id {
	uint64_t job_hash;
	uint64_t attempt;
	uint64_t checkpoint;
	uint32_t core;
};

struct weir_verify_sum {
	uint64_t segments;
	uint64_t records;
	uint64_t entries;
};

/* The entry with which a canonical segment ended. */
struct weir_verify_last {
	uint32_t operator_idx, subtask, state_idx; /* whose it is */
	uint32_t parts;				   /* segments so far; 0: no entry yet */
	bool any;				   /* there was an entry */
	uint32_t key_group, key_len;
	int64_t ns;
	uint8_t key[4096];
};

/* The first 4096 bytes of a file. */
WEIR_MUST_USE int weir_verify_header(const void *bytes, const struct weir_verify_id *id,
				     struct weir_error *err);

/*
 * One segment: bytes are seg->length. Adds to *sum. last: canonical segments only, of the same
 * state of the same subtask: the entries come behind those of the segment before; brought up to
 * date. NULL: not looked at.
 */
WEIR_MUST_USE int weir_verify_segment(const struct weir_segment *seg, const void *bytes,
				      struct weir_verify_last *last, struct weir_verify_sum *sum,
				      struct weir_error *err);

/* The list itself: from offset 4096 on, gapless, up to file_bytes. */
WEIR_MUST_USE int weir_verify_list(const struct weir_segment *segs, uint32_t cnt,
				   uint64_t file_bytes, struct weir_error *err);

/* All of it, of a file that lies in memory; len is the file's real length. */
WEIR_MUST_USE int weir_verify_file(const void *bytes, uint64_t len, const struct weir_verify_id *id,
				   const struct weir_segment *segs, uint32_t cnt,
				   struct weir_verify_sum *sum, struct weir_error *err);

#endif /* WEIR_STATEBACKEND_VERIFY_VERIFY_H */
