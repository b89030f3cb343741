#ifndef WEIR_STATEBACKEND_VERIFY_VERIFY_PRIV_H
#define WEIR_STATEBACKEND_VERIFY_VERIFY_PRIV_H

/* Reading little-endian bytes, and the parts of the verifier for each other. */

#include "statebackend/verify/verify.h"

static inline uint64_t
bytes_le(const uint8_t *at, uint32_t cnt)
{
	uint64_t v = 0;

	for (uint32_t i = cnt; i > 0; i--)
		v = v << 8 | at[i - 1];
	return v;
}

static inline uint32_t
le32(const uint8_t *at)
{
	return (uint32_t)bytes_le(at, 4);
}

static inline uint64_t
le64(const uint8_t *at)
{
	return bytes_le(at, 8);
}

/* CRC32C by a table, one byte at a time in eight lanes: not the engine's. */
uint32_t verify_crc(const uint8_t *bytes, uint64_t len);

/* What a state segment's header says about its entries. */
struct shape {
	uint32_t mode, key_bytes, value_bytes, group_bytes, payload_bytes, value_at;
	uint64_t first, last;
	uint32_t shift;
	uint64_t scale;
	bool grouped;
};

/* One record at bytes, of at most len. *used: its bytes; *entries: its entries. */
int verify_record(const struct shape *s, const uint8_t *bytes, uint64_t len, uint64_t *used,
		  uint64_t *entries, struct weir_error *err);

#define VERIFY_SEG_HEADER 128u

/* The content of a canonical segment. last: see verify.h; NULL: only within the segment. */
int verify_canonical(const struct weir_segment *seg, const uint8_t *bytes,
		     struct weir_verify_last *last, struct weir_verify_sum *sum,
		     struct weir_error *err);

#endif /* WEIR_STATEBACKEND_VERIFY_VERIFY_PRIV_H */
