/* Segments that are handed over whole: blobs, copied in as many parts as it takes, and pieces,
 * which go out from where they lie. */

#include "statebackend/snapshot/writer.h"

#include <errno.h>
#include <string.h>

#include "engine/base/crc32c.h"
#include "statebackend/snapshot/writer_priv.h"

static uint32_t
parts_so_far(const struct weir_snap_writer *w, const struct weir_snap_blob *b)
{
	uint32_t parts = 0;

	for (uint32_t i = w->seg_cnt; i > 0; i--) {
		const struct weir_segment *s = &w->cfg.segs[i - 1];

		parts += s->kind == b->kind && s->operator_idx == b->operator_idx &&
			 s->subtask == b->subtask && s->state_idx == b->state_idx;
	}
	return parts;
}

/* The pieces belong to the segment that the chunk begins: length and checksum. */
static void
pieces_count(struct weir_snap_chunk *c, const struct weir_snap_pieces *list,
	     struct weir_segment *seg)
{
	struct weir_seg_header *h = (struct weir_seg_header *)(void *)c->bytes;

	for (uint32_t i = 0; i < list->cnt; i++) {
		WEIR_ASSERT((uintptr_t)list->piece[i].bytes % WEIR_PAGE == 0);
		WEIR_ASSERT(list->piece[i].len % WEIR_DATA_ALIGN == 0);
		seg->length += list->piece[i].len;
	}
	seg->used = seg->length;
	h->length = seg->length;
	h->used = seg->used;
	seg->crc = weir_crc32c(0, c->bytes, c->used);
	for (uint32_t i = 0; i < list->cnt; i++)
		seg->crc = weir_crc32c(seg->crc, list->piece[i].bytes, list->piece[i].len);
}

bool
weir_snap_writer_append(struct weir_snap_writer *w, const struct weir_snap_blob *blob,
			uint64_t *taken)
{
	struct weir_seg_header head = {
		.kind = (uint16_t)blob->kind,
		.operator_idx = blob->operator_idx,
		.subtask = blob->subtask,
		.state_idx = blob->state_idx,
		.part = parts_so_far(w, blob),
	};

	WEIR_ASSERT(blob->kind != WEIR_SEGMENT_STATE && blob->kind != WEIR_SEGMENT_CANONICAL);
	WEIR_ASSERT(*taken <= blob->len);
	do {
		struct weir_snap_chunk *c = weir_snap_chunk_take(w, &head, false);
		uint64_t part = blob->len - *taken;

		if (c == NULL)
			return false;
		if (part > c->cap - c->used)
			part = c->cap - c->used;
		if (part > 0)
			memcpy(weir_snap_chunk_room(c, part), (const uint8_t *)blob->bytes + *taken,
			       part);
		weir_snap_chunk_count(c, 0, *taken == 0 ? blob->entry_cnt : 0);
		*taken += part;
		head.part++;
		(void)weir_snap_chunk_close(w, c);
	} while (*taken < blob->len);
	return true;
}

bool
weir_snap_writer_pieces(struct weir_snap_writer *w, struct weir_snap_pieces *list)
{
	const struct weir_snap_blob blob = { .kind = WEIR_SEGMENT_CHANNEL,
					     .operator_idx = list->operator_idx,
					     .subtask = list->subtask,
					     .state_idx = list->state_idx };
	const struct weir_seg_header head = { .kind = WEIR_SEGMENT_CHANNEL,
					      .operator_idx = list->operator_idx,
					      .subtask = list->subtask,
					      .state_idx = list->state_idx,
					      .part = parts_so_far(w, &blob) };
	struct weir_snap_chunk *c = weir_snap_chunk_take(w, &head, false);
	struct weir_segment seg;

	if (c == NULL)
		return false;
	WEIR_ASSERT(list->cnt > 0);
	if (!w->dead && w->seg_cnt == w->cfg.seg_max)
		weir_snap_writer_fail(w, "too many segments in", -E2BIG);
	if (w->dead) {
		weir_snap_chunk_drop(w, c);
		list->sent = 0;
		weir_outgoing_release(list);
		return true;
	}
	memset(c->bytes + sizeof(head), 0, WEIR_SNAP_PIECES_AT - sizeof(head));
	c->used = WEIR_SNAP_PIECES_AT;
	seg = weir_snap_chunk_segment(w, c, (struct weir_seg_header *)(void *)c->bytes);
	pieces_count(c, list, &seg);
	weir_snap_chunk_leave(w, c, &seg, list);
	return true;
}
