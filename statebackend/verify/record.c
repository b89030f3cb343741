/* One record of a state segment, entry by entry. Offsets: docs/formats.md. */

#include <string.h>

#include "engine/base/hash.h"
#include "statebackend/verify/verify_priv.h"

#define RECORD_HEADER 64u
#define PAGE_BYTES    16384u
#define FLAT_MAX      32768u
#define INLINE_MAX    256u
#define BIAS	      0x5bd1e995a7c43b1dull

struct page {
	const struct shape *s;
	const uint8_t *image;
	uint32_t image_bytes, slot_cnt, heap_from, heap_used, heap_live, used, live;
	uint32_t depth, pages, sub;
	uint64_t prefix;
	bool odd;
};

static const uint8_t *
slot_tag(const struct page *p, uint32_t slot)
{
	return p->image + slot / 4 * p->s->group_bytes + slot % 4 * 8;
}

static const uint8_t *
slot_payload(const struct page *p, uint32_t slot)
{
	return p->image + slot / 4 * p->s->group_bytes + 32 + slot % 4 * p->s->payload_bytes;
}

/* The hash that the key should have; where a group decides, the key has the low 48 bits. */
static bool
place_ok(const struct shape *s, uint64_t place, const uint8_t *key, uint32_t len)
{
	uint64_t number = 0, own;

	if (s->mode == 1 && len <= 8) {
		memcpy(&number, key, len);
		own = weir_hash_u64(number);
	} else {
		own = weir_hash_bytes(key, len);
	}
	if (s->grouped && own << 16 == place << 16)
		return true;
	/* Places 0 and 1 are stored as 2 and 3. */
	return place == own || (place - own == 2 && own < 2) ||
	       (s->grouped && place >> 48 == 0 && place < 4);
}

static bool
in_range(const struct shape *s, uint64_t place)
{
	return place >= s->first && place <= s->last;
}

static uint64_t
spread(const struct shape *s, uint64_t place)
{
	const uint64_t z = (place - s->first) << s->shift;

	return z + (uint64_t)((weir_u128)z * s->scale >> 64);
}

/* Place of the entry in slot, or a reason why it has none. */
static int
entry_place(const struct page *p, uint32_t slot, uint64_t *place, uint32_t *heap,
	    struct weir_error *err)
{
	const struct shape *s = p->s;
	const uint64_t tag = le64(slot_tag(p, slot));
	const uint8_t *payload = slot_payload(p, slot);
	uint64_t number;
	uint32_t at, len;

	*place = tag;
	*heap = 0;
	if (s->mode == 0) {
		number = tag - BIAS - (p->odd ? 2 : 0);
		*place = weir_hash_u64(number);
		if (p->odd != (number + BIAS < 2))
			return weir_fail(err, WEIR_ERR_DATA, "slot %u: key in the wrong table",
					 slot);
		if (s->key_bytes < 8 && number >> (8 * s->key_bytes) != 0)
			return weir_fail(err, WEIR_ERR_DATA, "slot %u: key wider than %u bytes",
					 slot, s->key_bytes);
		return 0;
	}
	if (s->mode == 1) {
		if (!place_ok(s, tag, payload, s->key_bytes))
			return weir_fail(err, WEIR_ERR_DATA, "slot %u: hash is not the key's",
					 slot);
		return 0;
	}
	at = le32(payload);
	len = le32(payload + 4);
	if (len > 4096)
		return weir_fail(err, WEIR_ERR_DATA, "slot %u: key of %u bytes", slot, len);
	if (len > INLINE_MAX)
		return 0;
	if (at < p->image_bytes - p->heap_used * 8 || at > p->image_bytes ||
	    len > p->image_bytes - at)
		return weir_fail(err, WEIR_ERR_DATA, "slot %u: key outside its page", slot);
	*heap = (len + 7) / 8;
	if (!place_ok(s, tag, p->image + at, len))
		return weir_fail(err, WEIR_ERR_DATA, "slot %u: hash is not the key's", slot);
	return 0;
}

/* Would a look-up that starts at home come by this slot? It stops at a group with an empty slot. */
static bool
reachable(const struct page *p, uint32_t home, uint32_t slot)
{
	const uint32_t groups = p->slot_cnt / 4;
	uint32_t group = home / 4;

	for (uint32_t probes = 0; probes < groups; probes++) {
		if (group == slot / 4)
			return true;
		for (uint32_t i = 0; i < 4; i++)
			if (le64(slot_tag(p, group * 4 + i)) == 0)
				return false;
		group = (group + 1) % groups;
	}
	return false;
}

static int
entry_check(const struct page *p, uint32_t slot, uint64_t place, struct weir_error *err)
{
	uint64_t z;
	weir_u128 f;

	if (!in_range(p->s, place))
		return weir_fail(err, WEIR_ERR_DATA,
				 "slot %u: hash %016llx outside the subtask's range", slot,
				 (unsigned long long)place);
	z = spread(p->s, place);
	if (p->pages == 0) {
		f = z;
	} else {
		if (p->depth > 0 && z >> (64 - p->depth) != p->prefix)
			return weir_fail(err, WEIR_ERR_DATA, "slot %u: entry of another row", slot);
		f = (weir_u128)(z << p->depth) * p->pages;
		if ((uint32_t)(f >> 64) != p->sub)
			return weir_fail(err, WEIR_ERR_DATA, "slot %u: entry of another page",
					 slot);
	}
	if (!reachable(p, (uint32_t)((weir_u128)(uint64_t)f * p->slot_cnt >> 64), slot))
		return weir_fail(err, WEIR_ERR_DATA, "slot %u: no look-up finds it", slot);
	return 0;
}

static int
page_entries(const struct page *p, struct weir_error *err)
{
	uint32_t used = 0, live = 0, heap = 0, more = 0, outside = 0;
	uint64_t place = 0;

	for (uint32_t slot = 0; slot < p->slot_cnt; slot++) {
		const uint64_t tag = le64(slot_tag(p, slot));
		int rc;

		used += tag != 0;
		if (tag < 2)
			continue;
		live++;
		rc = entry_place(p, slot, &place, &more, err);
		if (rc == 0)
			rc = entry_check(p, slot, place, err);
		if (rc != 0)
			return rc;
		heap += more;
		outside += p->s->mode == 2 && le32(slot_payload(p, slot) + 4) > INLINE_MAX;
	}
	if (used != p->used || live - outside != p->live || heap != p->heap_live)
		return weir_fail(
			err, WEIR_ERR_DATA,
			"%u slots used, %u entries, %u key units; its header says %u, %u, %u", used,
			live - outside, heap, p->used, p->live, p->heap_live);
	return 0;
}

static bool
page_shape_ok(const struct page *p)
{
	const uint64_t slots = (uint64_t)p->slot_cnt / 4 * p->s->group_bytes;

	if (p->image_bytes < 256 || p->image_bytes > FLAT_MAX ||
	    __builtin_popcount(p->image_bytes) != 1)
		return false;
	if (p->slot_cnt < 4 || p->slot_cnt % 4 != 0 || slots > p->heap_from ||
	    p->heap_from > p->image_bytes || p->heap_used * 8 > p->image_bytes - p->heap_from)
		return false;
	if (p->pages == 0)
		return p->depth == 0 && p->sub == 0 && p->prefix == 0;
	return p->image_bytes == PAGE_BYTES && (p->pages == 2 || p->pages == 3) &&
	       p->sub < p->pages && p->depth <= 40 && p->prefix >> p->depth == 0;
}

static int
record_page(const struct shape *s, const uint8_t *b, uint64_t *entries, struct weir_error *err)
{
	const struct page p = {
		.s = s,
		.image = b + RECORD_HEADER,
		.odd = b[5] & 1,
		.depth = b[6],
		.pages = b[7],
		.sub = b[8],
		.used = (uint32_t)bytes_le(b + 10, 2),
		.live = (uint32_t)bytes_le(b + 12, 2),
		.heap_used = (uint32_t)bytes_le(b + 14, 2),
		.image_bytes = le32(b + 16),
		.prefix = le64(b + 32),
		.slot_cnt = le32(b + 40),
		.heap_from = le32(b + 44),
		.heap_live = (uint32_t)bytes_le(b + 48, 2),
	};

	if (!page_shape_ok(&p))
		return weir_fail(err, WEIR_ERR_DATA, "page of %u bytes and %u slots: malformed",
				 p.image_bytes, p.slot_cnt);
	*entries = p.live;
	return page_entries(&p, err);
}

static int
record_entry(const struct shape *s, const uint8_t *b, uint64_t *entries, struct weir_error *err)
{
	const uint32_t key_len = le32(b + 20), image_bytes = le32(b + 16);
	const uint64_t place = le64(b + 32);

	if (s->mode != 2 || key_len <= INLINE_MAX || key_len > 4096 ||
	    image_bytes != (key_len + 7) / 8 * 8 + s->payload_bytes - s->value_at)
		return weir_fail(err, WEIR_ERR_DATA, "entry with a key of %u bytes: malformed",
				 key_len);
	if (!place_ok(s, place, b + RECORD_HEADER, key_len) || !in_range(s, place))
		return weir_fail(err, WEIR_ERR_DATA, "hash is not the key's or outside the range");
	*entries = 1;
	return 0;
}

int
verify_record(const struct shape *s, const uint8_t *b, uint64_t len, uint64_t *used,
	      uint64_t *entries, struct weir_error *err)
{
	if (len < RECORD_HEADER || memcmp(b, "WREC", 4) != 0)
		return weir_fail(err, WEIR_ERR_DATA, "no record");
	*used = (RECORD_HEADER + (uint64_t)le32(b + 16) + 63) / 64 * 64;
	if (*used > len)
		return weir_fail(err, WEIR_ERR_DATA, "longer than its segment");
	if (b[4] == 1)
		return record_page(s, b, entries, err);
	if (b[4] == 2)
		return record_entry(s, b, entries, err);
	return weir_fail(err, WEIR_ERR_DATA, "kind %u", b[4]);
}
