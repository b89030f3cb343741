/* The file, its list and its segments; records are in record.c. Offsets: docs/formats.md. */

#include "statebackend/verify/verify.h"

#include <string.h>

#include "statebackend/verify/verify_priv.h"

#define FILE_HEADER 4096u
#define SEG_HEADER  VERIFY_SEG_HEADER
#define SEG_ALIGN   4096u

uint32_t
verify_crc(const uint8_t *bytes, uint64_t len)
{
	static uint32_t table[8][256];
	static bool made;
	uint32_t crc = UINT32_MAX;

	/* Two threads that make it at once write the same values. */
	for (uint32_t i = 0; i < 256 && !made; i++) {
		table[0][i] = i;
		for (uint32_t bit = 0; bit < 8; bit++)
			table[0][i] = table[0][i] >> 1 ^ (table[0][i] & 1 ? 0x82f63b78u : 0);
	}
	for (uint32_t i = 0; i < 256 && !made; i++)
		for (uint32_t k = 1; k < 8; k++)
			table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
	made = true;
	for (; len >= 8; len -= 8, bytes += 8) {
		const uint64_t w = le64(bytes) ^ crc;

		crc = table[7][w & 0xff] ^ table[6][w >> 8 & 0xff] ^ table[5][w >> 16 & 0xff] ^
		      table[4][w >> 24 & 0xff] ^ table[3][w >> 32 & 0xff] ^
		      table[2][w >> 40 & 0xff] ^ table[1][w >> 48 & 0xff] ^ table[0][w >> 56];
	}
	for (; len > 0; len--, bytes++)
		crc = crc >> 8 ^ table[0][(crc ^ *bytes) & 0xff];
	return ~crc;
}

int
weir_verify_header(const void *data, const struct weir_verify_id *id, struct weir_error *err)
{
	const uint8_t *bytes = data;
	uint8_t copy[FILE_HEADER];

	if (memcmp(bytes, "WEIRDATA", 8) != 0)
		return weir_fail(err, WEIR_ERR_DATA, "file header: not a data file");
	if (le32(bytes + 8) != 1 || le32(bytes + 12) != FILE_HEADER)
		return weir_fail(err, WEIR_ERR_DATA, "file header: version %u of %u bytes",
				 le32(bytes + 8), le32(bytes + 12));
	memcpy(copy, bytes, sizeof(copy));
	memset(copy + 44, 0, 4);
	if (verify_crc(copy, sizeof(copy)) != le32(bytes + 44))
		return weir_fail(err, WEIR_ERR_DATA, "file header: checksum");
	if (le64(bytes + 16) != id->job_hash || le64(bytes + 24) != id->attempt ||
	    le64(bytes + 32) != id->checkpoint || le32(bytes + 40) != id->core)
		return weir_fail(
			err, WEIR_ERR_DATA,
			"file header: of another job, attempt, checkpoint or core (%llu, %llu, %u)",
			(unsigned long long)le64(bytes + 24), (unsigned long long)le64(bytes + 32),
			le32(bytes + 40));
	for (uint32_t i = 48; i < FILE_HEADER; i++)
		if (bytes[i] != 0)
			return weir_fail(err, WEIR_ERR_DATA, "file header: byte %u is not zero", i);
	return 0;
}

static int
segment_header(const struct weir_segment *seg, const uint8_t *b, struct weir_error *err)
{
	if (memcmp(b, "WSEG", 4) != 0 || bytes_le(b + 4, 2) != 1)
		return weir_fail(err, WEIR_ERR_DATA, "no segment of version 1");
	if (bytes_le(b + 6, 2) != seg->kind || le32(b + 8) != seg->operator_idx ||
	    le32(b + 12) != seg->subtask || le32(b + 16) != seg->state_idx)
		return weir_fail(
			err, WEIR_ERR_DATA, "belongs to kind %u, operator %u, subtask %u, state %u",
			(unsigned)bytes_le(b + 6, 2), le32(b + 8), le32(b + 12), le32(b + 16));
	if (le64(b + 32) != seg->length || le64(b + 40) != seg->used || seg->used < SEG_HEADER ||
	    seg->used > seg->length || seg->length - seg->used >= SEG_ALIGN)
		return weir_fail(err, WEIR_ERR_DATA, "length %llu, of which %llu are used",
				 (unsigned long long)le64(b + 32),
				 (unsigned long long)le64(b + 40));
	if (le64(b + 48) != seg->entry_cnt || le32(b + 72) != seg->page_cnt ||
	    le64(b + 56) != seg->hash_first || le64(b + 64) != seg->hash_last)
		return weir_fail(err, WEIR_ERR_DATA, "entries, records or hash range");
	for (uint64_t i = seg->used; i < seg->length; i++)
		if (b[i] != 0)
			return weir_fail(err, WEIR_ERR_DATA, "padding byte %llu is not zero",
					 (unsigned long long)i);
	return 0;
}

/* How hashes of the range are spread over 64 bits: by a power of two, then by what that lacks. */
static void
shape_spread(struct shape *s)
{
	const weir_u128 width = (weir_u128)(s->last - s->first) + 1;
	const weir_u128 all = (weir_u128)1 << 64;
	weir_u128 w = width;

	s->shift = 0;
	while (w << 1 <= all && s->shift < 63) {
		w <<= 1;
		s->shift++;
	}
	/* 2^64 * (2^64 / w - 1), in two steps: 2^128 does not fit. */
	s->scale = 0;
	if (w < all) {
		const weir_u128 max = ~(weir_u128)0;
		const weir_u128 q = max / w + (max % w == w - 1);

		s->scale = q - all > UINT64_MAX ? UINT64_MAX : (uint64_t)(q - all);
	}
}

static int
shape_read(const uint8_t *b, struct shape *s, struct weir_error *err)
{
	*s = (struct shape){
		.mode = le32(b + 76),
		.key_bytes = le32(b + 80),
		.value_bytes = le32(b + 84),
		.group_bytes = le32(b + 88),
		.payload_bytes = le32(b + 92),
		.value_at = le32(b + 96),
		.grouped = le32(b + 100) != 0,
		.first = le64(b + 56),
		.last = le64(b + 64),
	};
	if (s->mode > 2 || s->value_bytes == 0 || s->value_bytes > 1024 || s->first > s->last ||
	    (s->mode == 0 && (s->key_bytes == 0 || s->key_bytes > 8 || s->grouped)) ||
	    (s->mode == 1 && (s->key_bytes == 0 || s->key_bytes > 256)))
		return weir_fail(err, WEIR_ERR_DATA, "key mode %u, keys of %u, values of %u bytes",
				 s->mode, s->key_bytes, s->value_bytes);
	if (s->value_at != (s->mode == 0   ? 0
			    : s->mode == 1 ? (s->key_bytes + 7) / 8 * 8
					   : 8) ||
	    s->payload_bytes != s->value_at + (s->value_bytes + 7) / 8 * 8 ||
	    s->group_bytes != 32 + 4 * s->payload_bytes)
		return weir_fail(err, WEIR_ERR_DATA, "slot of %u bytes, value at %u",
				 s->payload_bytes, s->value_at);
	shape_spread(s);
	return 0;
}

static int
state_segment(const struct weir_segment *seg, const uint8_t *b, struct weir_verify_sum *sum,
	      struct weir_error *err)
{
	uint64_t at = SEG_HEADER, entries = 0, used = 0, more = 0;
	struct shape shape;
	int rc = shape_read(b, &shape, err);

	for (uint32_t i = 0; rc == 0 && i < seg->page_cnt; i++) {
		rc = verify_record(&shape, b + at, seg->used - at, &used, &more, err);
		if (rc != 0)
			return weir_error_prefix(err, "record %u", i);
		at += used;
		entries += more;
	}
	if (rc == 0 && at != seg->used)
		return weir_fail(err, WEIR_ERR_DATA, "bytes after its %u records", seg->page_cnt);
	if (rc == 0 && entries != seg->entry_cnt)
		return weir_fail(err, WEIR_ERR_DATA, "%llu entries, its header says %llu",
				 (unsigned long long)entries, (unsigned long long)seg->entry_cnt);
	sum->records += seg->page_cnt;
	sum->entries += entries;
	return rc;
}

int
weir_verify_segment(const struct weir_segment *seg, const void *bytes,
		    struct weir_verify_last *last, struct weir_verify_sum *sum,
		    struct weir_error *err)
{
	uint32_t crc;
	int rc;

	if (seg->length < SEG_ALIGN || seg->length % SEG_ALIGN != 0)
		return weir_fail(err, WEIR_ERR_DATA, "segment at %llu: length %llu",
				 (unsigned long long)seg->offset, (unsigned long long)seg->length);
	crc = verify_crc(bytes, seg->length);
	if (crc != seg->crc)
		return weir_fail(
			err, WEIR_ERR_DATA,
			"segment at %llu (operator %u, subtask %u): checksum %08x, should be %08x",
			(unsigned long long)seg->offset, seg->operator_idx, seg->subtask, crc,
			seg->crc);
	rc = segment_header(seg, bytes, err);
	if (rc == 0 && seg->kind == WEIR_SEGMENT_STATE)
		rc = state_segment(seg, bytes, sum, err);
	if (rc == 0 && seg->kind == WEIR_SEGMENT_CANONICAL)
		rc = verify_canonical(seg, bytes, last, sum, err);
	if (rc != 0)
		return weir_error_prefix(err, "segment at %llu (operator %u, subtask %u)",
					 (unsigned long long)seg->offset, seg->operator_idx,
					 seg->subtask);
	sum->segments++;
	return 0;
}

int
weir_verify_list(const struct weir_segment *segs, uint32_t cnt, uint64_t file_bytes,
		 struct weir_error *err)
{
	uint64_t at = FILE_HEADER;

	for (uint32_t i = 0; i < cnt; i++) {
		if (segs[i].offset != at || segs[i].length > file_bytes - at)
			return weir_fail(err, WEIR_ERR_DATA,
					 "segment %u at %llu: expected at %llu, within %llu bytes",
					 i, (unsigned long long)segs[i].offset,
					 (unsigned long long)at, (unsigned long long)file_bytes);
		at += segs[i].length;
	}
	if (at != file_bytes)
		return weir_fail(err, WEIR_ERR_DATA, "%llu bytes, its segments end at %llu",
				 (unsigned long long)file_bytes, (unsigned long long)at);
	return 0;
}

int
weir_verify_file(const void *bytes, uint64_t len, const struct weir_verify_id *id,
		 const struct weir_segment *segs, uint32_t cnt, struct weir_verify_sum *sum,
		 struct weir_error *err)
{
	int rc;

	if (len < FILE_HEADER)
		return weir_fail(err, WEIR_ERR_DATA, "file header: the file has %llu bytes only",
				 (unsigned long long)len);
	rc = weir_verify_header(bytes, id, err);
	if (rc == 0)
		rc = weir_verify_list(segs, cnt, len, err);
	for (uint32_t i = 0; rc == 0 && i < cnt; i++)
		rc = weir_verify_segment(&segs[i], (const uint8_t *)bytes + segs[i].offset, NULL,
					 sum, err);
	return rc;
}
