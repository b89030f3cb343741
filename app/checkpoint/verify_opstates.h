#ifndef WEIR_APP_CHECKPOINT_VERIFY_OPSTATES_H
#define WEIR_APP_CHECKPOINT_VERIFY_OPSTATES_H

/*
 * Operator state of a checkpoint (R5): each piece is one of the state that the manifest declares,
 * and its entries are whole, as long as declared, padded with zeros, and as many as are said.
 * Checksum and header of the segment have been proven before. Own parsing, so that a fault of the
 * engine is not repeated.
 *
 * Failure: WEIR_ERR_DATA, err names operator, state, subtask and entry.
 */

#include "engine/checkpoint/manifest.h"

/* Segment ms, whose bytes are there; those of other kinds hold none. */
WEIR_MUST_USE int weir_checkpoint_verify_opstates(const struct weir_manifest *m,
						  const struct weir_manifest_segment *ms,
						  const uint8_t *bytes, struct weir_error *err);

#endif /* WEIR_APP_CHECKPOINT_VERIFY_OPSTATES_H */
