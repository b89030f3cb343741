#include "app/checkpoint/verify_opstates.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* docs/formats.md: 128 bytes of the segment's header, 32 of the piece's, then entries. */
#define AT_PIECE   128u
#define AT_ENTRIES (AT_PIECE + 32u)
#define MAP	   3u

/* Whose key it is; the key follows, and zeros up to a multiple of 4. */
struct key_head {
	uint32_t file_idx;
	uint32_t operator_idx, state_idx, subtask, len;
};

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

static bool
keep_key(struct weir_verify_keys *keys, const struct weir_manifest_segment *ms,
	 const uint8_t *entry)
{
	const struct key_head head = { .file_idx = ms->file_idx,
				       .operator_idx = ms->seg.operator_idx,
				       .state_idx = ms->seg.state_idx,
				       .subtask = ms->seg.subtask,
				       .len = le32(entry) };
	const uint64_t bytes = sizeof(head) + (head.len + 3u) / 4 * 4;

	if (keys->cap - keys->len < bytes) {
		const uint64_t cap = 2 * keys->cap + bytes + 4096;
		uint8_t *more = realloc(keys->bytes, cap);

		if (more == NULL)
			return false;
		keys->bytes = more;
		keys->cap = cap;
	}
	memset(keys->bytes + keys->len, 0, bytes);
	memcpy(keys->bytes + keys->len, &head, sizeof(head));
	memcpy(keys->bytes + keys->len + sizeof(head), entry + 8, head.len);
	keys->len += bytes;
	keys->cnt++;
	return true;
}

int
weir_checkpoint_verify_opstates(const struct weir_manifest *m,
				const struct weir_manifest_segment *ms, const uint8_t *bytes,
				struct weir_verify_keys *keys, struct weir_error *err)
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
	while (why == NULL && i < seg->entry_cnt) {
		why = misfit_entry(st, bytes + at, seg->used - at, &more);
		if (why != NULL)
			break;
		if (st->kind == MAP && !keep_key(keys, ms, bytes + at))
			return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
		at += more;
		i++;
	}
	if (why == NULL && at != seg->used)
		why = "there is more behind it";
	if (why == NULL)
		return 0;
	return weir_fail(err, WEIR_ERR_DATA,
			 "operator '%s' state '%s' subtask %" PRIu32 " entry %" PRIu64 ": %s",
			 op->id, st->name, seg->subtask, i, why);
}

/* By state, and by key among those of one. */
static int
by_key(const void *pa, const void *pb)
{
	const struct key_head *a = *(const struct key_head *const *)pa;
	const struct key_head *b = *(const struct key_head *const *)pb;
	const int head = memcmp(&a->operator_idx, &b->operator_idx,
				sizeof(*a) - offsetof(struct key_head, operator_idx));

	return head != 0 ? head : memcmp(a + 1, b + 1, a->len);
}

static const struct key_head *
find_twice(const struct key_head **key, uint64_t cnt)
{
	qsort(key, cnt, sizeof(*key), by_key);
	for (uint64_t i = 1; i < cnt; i++)
		if (by_key(&key[i - 1], &key[i]) == 0)
			return key[i];
	return NULL;
}

int
weir_checkpoint_verify_keys(const struct weir_manifest *m, const struct weir_verify_keys *keys,
			    uint32_t *file_idx, struct weir_error *err)
{
	const struct key_head **key = calloc(keys->cnt + 1, sizeof(*key));
	const struct key_head *twice;
	uint64_t at = 0;

	if (key == NULL)
		return weir_fail(err, WEIR_ERR_FAILED, "out of memory");
	for (uint64_t i = 0; i < keys->cnt; i++) {
		key[i] = (const void *)(keys->bytes + at);
		at += sizeof(**key) + (key[i]->len + 3u) / 4 * 4;
	}
	twice = find_twice(key, keys->cnt);
	free(key);
	if (twice == NULL)
		return 0;
	*file_idx = twice->file_idx;
	return weir_fail(err, WEIR_ERR_DATA,
			 "operator '%s' state '%s' subtask %" PRIu32 ": a key of %" PRIu32
			 " bytes is there twice",
			 m->operators[twice->operator_idx].id,
			 m->operators[twice->operator_idx].opstates[twice->state_idx].name,
			 twice->subtask, twice->len);
}
