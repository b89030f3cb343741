#ifndef WEIR_STATEBACKEND_SNAPSHOT_RECORDS_H
#define WEIR_STATEBACKEND_SNAPSHOT_RECORDS_H

/*
 * Reading a segment that lies in memory: header, then records, every field proven to be in bounds
 * before it is used. Format: format.h.
 *
 * Threads: any. Ownership: bytes are borrowed for the life of the walk. Cost: O(bytes).
 * Failure: WEIR_ERR_DATA, err names the part and what is wrong; the walk must not go on.
 */

#include "engine/base/error.h"
#include "statebackend/snapshot/format.h"
#include "statebackend/snapshot/segment.h"

struct weir_record_walk {
	struct weir_seg_header head;
	const uint8_t *bytes;
	uint64_t at; /* of the next record */
	uint32_t done_cnt;
	struct weir_record record; /* the current one */
	const uint8_t *image;
};

/* One entry of a record. Pointers into the segment's bytes. */
struct weir_record_entry {
	uint64_t tag;
	uint64_t key_u64; /* mode 0 */
	const void *key;  /* modes 1 and 2 */
	uint32_t key_len;
	const void *value;
};

/* Prove that bytes are the segment that the manifest names: CRC, header, lengths. */
WEIR_MUST_USE int weir_segment_check(const struct weir_segment *seg, const void *bytes,
				     struct weir_error *err);

/* The bytes of a BLOB, COUNTER or CHANNEL segment that passed weir_segment_check(). */
const void *weir_segment_payload(const void *bytes, uint64_t *len);

/* Start at a STATE segment that passed weir_segment_check(). */
WEIR_MUST_USE int weir_record_walk_start(struct weir_record_walk *w, const void *bytes,
					 struct weir_error *err);

/* The next record in w->record and w->image; *more false at the end. */
WEIR_MUST_USE int weir_record_walk_next(struct weir_record_walk *w, bool *more,
					struct weir_error *err);

/*
 * Entry in slot of the current record (PAGE: below record.slot_cnt; ENTRY: slot 0). *there false:
 * no entry, or one that stands in a record of its own.
 */
WEIR_MUST_USE int weir_record_slot(const struct weir_record_walk *w, uint32_t slot, bool *there,
				   struct weir_record_entry *e, struct weir_error *err);

#endif /* WEIR_STATEBACKEND_SNAPSHOT_RECORDS_H */
