#ifndef WEIR_ENGINE_EXCHANGE_KEY_H
#define WEIR_ENGINE_EXCHANGE_KEY_H

/*
 * weir_key: the columns that a stream is keyed by, and how rows become keys and hashes.
 *
 * One column, or several fixed ones packed one behind the other in the order given. Keys of up to 8
 * bytes are numbers (zero-extended); see engine/base/hash.h.
 *
 * Cost: hot, one pass over a batch.
 */

#include "engine/base/hash.h"
#include "weir/operator.h"

struct weir_key {
	uint32_t cnt; /* columns; 0: the stream has no key */
	uint8_t column[WEIR_COLUMNS_MAX];
	uint16_t width[WEIR_COLUMNS_MAX];
	uint32_t bytes; /* of a packed key; 0: byte strings of any length */
};

/* Key over columns of type; false if a column does not exist, or several columns are not all fixed,
 * or the key is longer than 256 bytes. */
WEIR_MUST_USE bool weir_key_init(struct weir_key *key, const struct weir_type *type,
				 const uint32_t *columns, uint32_t cnt);

/*
 * Packed fixed keys of all rows of the batch (not only the selected), key->bytes apart: the column
 * itself where there is only one, else packed into scratch (rows * bytes). Not for byte strings.
 */
const void *weir_key_pack(const struct weir_key *key, const struct weir_batch *in, void *scratch);

/* hash[i] of the i-th selected row. scratch as for weir_key_pack. */
void weir_key_hashes(const struct weir_key *key, const struct weir_batch *in, void *scratch,
		     uint64_t *hash);

#endif /* WEIR_ENGINE_EXCHANGE_KEY_H */
