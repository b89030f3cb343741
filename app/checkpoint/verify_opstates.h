#ifndef WEIR_APP_CHECKPOINT_VERIFY_OPSTATES_H
#define WEIR_APP_CHECKPOINT_VERIFY_OPSTATES_H

/*
 * Operator state of a checkpoint (R5): each piece is one of the state that the manifest declares,
 * and its entries are whole, as long as declared, padded with zeros, and as many as are said. No
 * map has a key twice, in whichever of its pieces. Checksum and header of the segment have been
 * proven before. Own parsing, so that a fault of the engine is not repeated.
 *
 * Failure: WEIR_ERR_DATA, err names operator, state, subtask and entry.
 */

#include "engine/checkpoint/manifest.h"

/* Keys of the maps seen so far, copied: a map's pieces may lie in any order. Zeroed at first. */
struct weir_verify_keys {
	uint8_t *bytes; /* of each struct key_head, and the key */
	uint64_t len, cap;
	uint64_t cnt;
};

/* Segment ms, whose bytes are there; those of other kinds hold none. Adds to keys. */
WEIR_MUST_USE int weir_checkpoint_verify_opstates(const struct weir_manifest *m,
						  const struct weir_manifest_segment *ms,
						  const uint8_t *bytes,
						  struct weir_verify_keys *keys,
						  struct weir_error *err);

/* After all segments: is a key there twice? *file_idx: the file of one of the two. */
WEIR_MUST_USE int weir_checkpoint_verify_keys(const struct weir_manifest *m,
					      const struct weir_verify_keys *keys,
					      uint32_t *file_idx, struct weir_error *err);

#endif /* WEIR_APP_CHECKPOINT_VERIFY_OPSTATES_H */
