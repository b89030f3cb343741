#include "statebackend/snapshot/records.h"

#include <string.h>

#include "engine/base/crc32c.h"

int
weir_segment_check(const struct weir_segment *seg, const void *bytes, struct weir_error *err)
{
	struct weir_seg_header h;
	uint32_t crc;

	if (seg->length < WEIR_DATA_ALIGN || seg->length % WEIR_DATA_ALIGN != 0)
		return weir_fail(err, WEIR_ERR_DATA, "segment at %llu: length %llu",
				 (unsigned long long)seg->offset, (unsigned long long)seg->length);
	crc = weir_crc32c(0, bytes, seg->length);
	if (crc != seg->crc)
		return weir_fail(err, WEIR_ERR_DATA,
				 "segment at %llu: checksum %08x, the manifest says %08x",
				 (unsigned long long)seg->offset, crc, seg->crc);
	memcpy(&h, bytes, sizeof(h));
	if (h.magic != WEIR_SEG_MAGIC || h.version != WEIR_DATA_VERSION)
		return weir_fail(err, WEIR_ERR_DATA, "segment at %llu: not a segment of version %u",
				 (unsigned long long)seg->offset, WEIR_DATA_VERSION);
	if (h.kind != seg->kind || h.operator_idx != seg->operator_idx ||
	    h.subtask != seg->subtask || h.state_idx != seg->state_idx)
		return weir_fail(err, WEIR_ERR_DATA, "segment at %llu: belongs to another part",
				 (unsigned long long)seg->offset);
	if (h.length != seg->length || h.used != seg->used || h.used < sizeof(h) ||
	    h.used > h.length)
		return weir_fail(err, WEIR_ERR_DATA, "segment at %llu: lengths do not agree",
				 (unsigned long long)seg->offset);
	return 0;
}

const void *
weir_segment_payload(const void *bytes, uint64_t *len)
{
	struct weir_seg_header h;

	memcpy(&h, bytes, sizeof(h));
	WEIR_ASSERT(h.used >= sizeof(h));
	*len = h.used - sizeof(h);
	return (const uint8_t *)bytes + sizeof(h);
}

/* What a record's slots may look like is decided by key mode and sizes alone. */
static bool
shape_ok(const struct weir_seg_header *h)
{
	const uint32_t value_room = (uint32_t)weir_align_up(h->value_bytes, 8);
	uint32_t value_at = 0;

	if (h->key_mode > 2 || h->value_bytes == 0 || h->value_bytes > 1024)
		return false;
	if (h->key_mode < 2 && (h->key_bytes == 0 || h->key_bytes > 256))
		return false;
	if (h->key_mode == 0 && h->key_bytes > 8)
		return false;
	if (h->key_mode == 1)
		value_at = (uint32_t)weir_align_up(h->key_bytes, 8);
	if (h->key_mode == 2)
		value_at = 8;
	return h->value_at == value_at && h->payload_bytes == value_at + value_room &&
	       h->group_bytes == 4 * (8 + h->payload_bytes) && h->hash_first <= h->hash_last;
}

int
weir_record_walk_start(struct weir_record_walk *w, const void *bytes, struct weir_error *err)
{
	memset(w, 0, sizeof(*w));
	memcpy(&w->head, bytes, sizeof(w->head));
	w->bytes = bytes;
	w->at = sizeof(w->head);
	if (w->head.kind != WEIR_SEGMENT_STATE || !shape_ok(&w->head))
		return weir_fail(err, WEIR_ERR_DATA, "state segment: sizes of key and value");
	return 0;
}

static bool
page_ok(const struct weir_seg_header *h, const struct weir_record *r)
{
	const uint64_t slots_bytes = (uint64_t)r->slot_cnt / 4 * h->group_bytes;

	if (r->image_bytes < 256 || r->image_bytes > 32768 ||
	    (r->image_bytes & (r->image_bytes - 1)) != 0)
		return false;
	if (r->slot_cnt == 0 || r->slot_cnt % 4 != 0 || slots_bytes > r->image_bytes)
		return false;
	if (r->heap_from < slots_bytes || r->heap_from > r->image_bytes ||
	    r->heap_used * 8u > r->image_bytes - r->heap_from)
		return false;
	if (r->pages == 0)
		return r->depth == 0 && r->sub == 0 && r->prefix == 0;
	return r->image_bytes == 16384 && r->pages >= 2 && r->pages <= 3 && r->sub < r->pages &&
	       r->depth <= 40 && (r->prefix >> r->depth) == 0;
}

static bool
entry_ok(const struct weir_seg_header *h, const struct weir_record *r)
{
	return h->key_mode == 2 && r->key_len > WEIR_FORMAT_INLINE && r->key_len <= 4096 &&
	       r->image_bytes == weir_align_up(r->key_len, 8) + (h->payload_bytes - h->value_at);
}

int
weir_record_walk_next(struct weir_record_walk *w, bool *more, struct weir_error *err)
{
	struct weir_record *r = &w->record;
	uint64_t bytes;

	*more = w->done_cnt < w->head.record_cnt;
	if (!*more) {
		if (w->at != w->head.used)
			return weir_fail(err, WEIR_ERR_DATA,
					 "state segment: bytes after %u records", w->done_cnt);
		return 0;
	}
	if (w->head.used - w->at < sizeof(*r))
		return weir_fail(err, WEIR_ERR_DATA, "state segment: ends before record %u",
				 w->done_cnt);
	memcpy(r, w->bytes + w->at, sizeof(*r));
	bytes = weir_align_up(sizeof(*r) + (uint64_t)r->image_bytes, 64);
	if (r->magic != WEIR_RECORD_MAGIC || bytes > w->head.used - w->at)
		return weir_fail(err, WEIR_ERR_DATA, "state segment: record %u is none",
				 w->done_cnt);
	if (!(r->kind == WEIR_RECORD_PAGE ? page_ok(&w->head, r)
					  : r->kind == WEIR_RECORD_ENTRY && entry_ok(&w->head, r)))
		return weir_fail(err, WEIR_ERR_DATA, "state segment: record %u is malformed",
				 w->done_cnt);
	w->image = w->bytes + w->at + sizeof(*r);
	w->at += bytes;
	w->done_cnt++;
	return 0;
}

int
weir_record_slot(const struct weir_record_walk *w, uint32_t slot, bool *there,
		 struct weir_record_entry *e, struct weir_error *err)
{
	const struct weir_seg_header *h = &w->head;
	const struct weir_record *r = &w->record;
	const uint8_t *group = w->image + (uint64_t)(slot / 4) * h->group_bytes, *payload;
	uint32_t at;

	*there = true;
	if (r->kind == WEIR_RECORD_ENTRY) {
		*e = (struct weir_record_entry){ .tag = r->prefix,
						 .key = w->image,
						 .key_len = r->key_len,
						 .value = w->image + weir_align_up(r->key_len, 8) };
		return 0;
	}
	WEIR_ASSERT(slot < r->slot_cnt);
	memset(e, 0, sizeof(*e));
	memcpy(&e->tag, group + slot % 4 * 8, 8);
	*there = e->tag > 1;
	payload = group + 32 + (uint64_t)(slot % 4) * h->payload_bytes;
	e->value = payload + h->value_at;
	e->key = payload;
	e->key_len = h->key_bytes;
	e->key_u64 =
		e->tag - (r->flags & WEIR_RECORD_ODD ? WEIR_FORMAT_BIAS_ODD : WEIR_FORMAT_BIAS);
	if (h->key_mode != 2 || !*there)
		return 0;
	memcpy(&at, payload, 4);
	memcpy(&e->key_len, payload + 4, 4);
	*there = e->key_len <= WEIR_FORMAT_INLINE;
	if (*there &&
	    (at < r->heap_from || at > r->image_bytes || e->key_len > r->image_bytes - at))
		return weir_fail(err, WEIR_ERR_DATA,
				 "state segment: record %u, slot %u: key outside", w->done_cnt - 1,
				 slot);
	e->key = w->image + at;
	return 0;
}
