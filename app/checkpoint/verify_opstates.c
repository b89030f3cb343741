#include "app/checkpoint/verify_opstates.h"

#include <inttypes.h>
#include <string.h>

/* docs/formats.md: 128 bytes of the segment's header, 32 of the piece's, then entries. */
#define AT_PIECE   128u
#define AT_ENTRIES (AT_PIECE + 32u)
#define MAP	   3u

static uint32_t
le32(const uint8_t *b)
{
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint64_t
le64(const uint8_t *b)
{
	return le32(b) | (uint64_t)le32(b + 4) << 32;
}

/* Bytes of len and the zeros behind it; 0: they are none, or there is no room for them. */
static uint64_t
padded(const uint8_t *at, uint64_t left, uint64_t len)
{
	const uint64_t all = (len + 7) / 8 * 8;

	if (all > left)
		return 0;
	for (uint64_t i = len; i < all; i++)
		if (at[i] != 0)
			return 0;
	return all;
}

static const char *
misfit_entry(const struct weir_manifest_opstate *st, const uint8_t *at, uint64_t left,
	     uint64_t *bytes)
{
	uint64_t key_len, len, key, item;

	if (left < 8)
		return "it is cut off";
	key_len = le32(at);
	len = le32(at + 4);
	if (st->kind == MAP ? key_len == 0 || (st->key_bytes > 0 && key_len != st->key_bytes)
			    : key_len != 0)
		return "its key has another length";
	if (st->item_bytes > 0 && len != st->item_bytes)
		return "it has another length";
	key = padded(at + 8, left - 8, key_len);
	if (key < key_len)
		return "its key leaves the piece, or is not padded with zeros";
	item = padded(at + 8 + key, left - 8 - key, len);
	if (item < len)
		return "it leaves the piece, or is not padded with zeros";
	*bytes = 8 + key + item;
	return NULL;
}

static const char *
misfit_piece(const struct weir_manifest_opstate *st, const struct weir_segment *seg,
	     const uint8_t *piece)
{
	if (seg->used < AT_ENTRIES || memcmp(piece, "WOPS", 4) != 0 || le32(piece + 4) != 1)
		return "no piece of version 1";
	if (le32(piece + 8) != st->kind || le32(piece + 12) != st->item_bytes ||
	    le32(piece + 16) != st->key_bytes)
		return "a piece of another kind of state";
	if (le32(piece + 20) != seg->entry_cnt || le64(piece + 24) != seg->used - AT_ENTRIES)
		return "the piece is of another length";
	return NULL;
}

int
weir_checkpoint_verify_opstates(const struct weir_manifest *m,
				const struct weir_manifest_segment *ms, const uint8_t *bytes,
				struct weir_error *err)
{
	const struct weir_segment *seg = &ms->seg;
	const struct weir_manifest_operator *op = &m->operators[seg->operator_idx];
	const struct weir_manifest_opstate *st;
	const char *why;
	uint64_t at = AT_ENTRIES, more = 0;
	uint64_t i = 0;

	if (seg->kind != WEIR_SEGMENT_BLOB || ms->stale)
		return 0;
	st = &op->opstates[seg->state_idx];
	why = misfit_piece(st, seg, bytes + AT_PIECE);
	for (; why == NULL && i < seg->entry_cnt; i++, at += more)
		why = misfit_entry(st, bytes + at, seg->used - at, &more);
	if (why == NULL && at != seg->used)
		why = "there is more behind it";
	if (why == NULL)
		return 0;
	return weir_fail(err, WEIR_ERR_DATA,
			 "operator '%s' state '%s' subtask %" PRIu32 " entry %" PRIu64 ": %s",
			 op->id, st->name, seg->subtask, i, why);
}
