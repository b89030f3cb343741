/* Staging chunks: taken, filled, closed; each becomes a segment of the file. */

#include "statebackend/snapshot/chunk.h"

#include <errno.h>
#include <string.h>

#include "engine/base/crc32c.h"
#include "statebackend/snapshot/writer_priv.h"

struct weir_snap_chunk *
weir_snap_chunk_take(struct weir_snap_writer *w, const struct weir_seg_header *head, bool spare)
{
	struct weir_snap_chunk *c = w->free;

	WEIR_ASSERT(w->state == WEIR_SNAP_OPEN || w->dead);
	if (c == NULL || (spare && w->free_cnt < 2))
		return NULL;
	w->free = c->next;
	w->free_cnt--;
	c->state = CHUNK_FILLING;
	c->used = sizeof(*head);
	c->entry_cnt = 0;
	c->record_cnt = 0;
	memcpy(c->bytes, head, sizeof(*head));
	return c;
}

void *
weir_snap_chunk_room(struct weir_snap_chunk *c, uint64_t bytes)
{
	uint8_t *at = c->bytes + c->used;

	WEIR_ASSERT(c->state == CHUNK_FILLING);
	if (c->cap - c->used < bytes)
		return NULL;
	c->used += bytes;
	return at;
}

uint64_t
weir_snap_chunk_left(const struct weir_snap_chunk *c)
{
	return c->cap - c->used;
}

void
weir_snap_chunk_count(struct weir_snap_chunk *c, uint32_t records, uint64_t entries)
{
	c->record_cnt += records;
	c->entry_cnt += entries;
}

void
weir_snap_chunk_drop(struct weir_snap_writer *w, struct weir_snap_chunk *c)
{
	WEIR_ASSERT(c->state != CHUNK_FREE);
	c->state = CHUNK_FREE;
	c->next = w->free;
	w->free = c;
	w->free_cnt++;
}

/* All that is known of it goes into its header and into the manifest's list. */
struct weir_segment
weir_snap_chunk_segment(const struct weir_snap_writer *w, const struct weir_snap_chunk *c,
			struct weir_seg_header *h)
{
	const uint64_t length = weir_align_up(c->used, WEIR_DATA_ALIGN);

	h->magic = WEIR_SEG_MAGIC;
	h->version = WEIR_DATA_VERSION;
	h->checkpoint = w->id.checkpoint;
	h->length = length;
	h->used = c->used;
	h->entry_cnt = c->entry_cnt;
	h->record_cnt = c->record_cnt;
	memset(c->bytes + c->used, 0, length - c->used);
	return (struct weir_segment){
		.kind = h->kind,
		.operator_idx = h->operator_idx,
		.subtask = h->subtask,
		.state_idx = h->state_idx,
		.offset = w->file_bytes,
		.length = length,
		.used = c->used,
		.crc = weir_crc32c(0, c->bytes, length),
		.page_cnt = c->record_cnt,
		.entry_cnt = c->entry_cnt,
		.hash_first = h->hash_first,
		.hash_last = h->hash_last,
	};
}

void
weir_snap_chunk_leave(struct weir_snap_writer *w, struct weir_snap_chunk *c,
		      const struct weir_segment *seg, struct weir_snap_pieces *list)
{
	w->cfg.segs[w->seg_cnt++] = *seg;
	w->file_bytes += seg->length;
	c->range = (struct weir_outgoing_range){ .bytes = c->bytes,
						 .len = list != NULL ? c->used : seg->length,
						 .off = seg->offset,
						 .list = list };
	c->state = CHUNK_LEAVING;
	weir_outgoing_add(&w->outgoing, &c->range);
}

uint32_t
weir_snap_chunk_records(const struct weir_snap_chunk *c)
{
	return c->record_cnt;
}

uint32_t
weir_snap_chunk_close(struct weir_snap_writer *w, struct weir_snap_chunk *c)
{
	struct weir_seg_header *h = (struct weir_seg_header *)(void *)c->bytes;
	struct weir_segment seg;

	WEIR_ASSERT(c->state == CHUNK_FILLING);
	if (!w->dead && w->seg_cnt == w->cfg.seg_max)
		weir_snap_writer_fail(w, "too many segments in", -E2BIG);
	if (w->dead) {
		weir_snap_chunk_drop(w, c);
		return WEIR_SNAP_NO_SEGMENT;
	}
	seg = weir_snap_chunk_segment(w, c, h);
	weir_snap_chunk_leave(w, c, &seg, NULL);
	return w->seg_cnt - 1;
}
