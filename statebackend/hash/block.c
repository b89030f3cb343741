/* Entries in one block: layout.h has the drawing. */

#include "statebackend/hash/hash_priv.h"

#include <string.h>

static const uint8_t *
long_key(const struct layout *l, uint32_t at)
{
	return l->long_base + ((uint64_t)at << MEM_CLASS_SHIFT);
}

static bool
key_equal(const struct layout *l, const uint8_t *block, const uint8_t *payload, const struct key *k)
{
	uint32_t at, len;

	if (l->mode == MODE_NUMBER)
		return true;
	if (l->mode == MODE_FIXED)
		return memcmp(payload, k->bytes, l->key_bytes) == 0;
	memcpy(&at, payload, 4);
	memcpy(&len, payload + 4, 4);
	if (len != k->len || len == 0)
		return len == k->len;
	return memcmp(len > KEY_INLINE_MAX ? long_key(l, at) : block + at, k->bytes, len) == 0;
}

int32_t
block_find(const struct layout *l, const struct geometry *g, uint8_t *block, uint64_t frac,
	   const struct key *k)
{
	uint32_t group = (uint32_t)weir_mulhi(frac, g->slot_cnt) / GROUP;

	for (uint32_t probes = 0; probes < g->group_cnt; probes++) {
		const uint64_t *tags = slot_tag(l, block, group * GROUP);
		uint32_t hits = group_match(tags, k->tag);

		for (; hits != 0; hits &= hits - 1) {
			const uint32_t slot = group * GROUP + (uint32_t)__builtin_ctz(hits);

			if (key_equal(l, block, slot_payload(l, block, slot), k))
				return (int32_t)slot;
		}
		if (group_match(tags, TAG_EMPTY) != 0)
			return -1;
		group = group + 1 == g->group_cnt ? 0 : group + 1;
	}
	return -1;
}

uint32_t
block_key_room(const struct layout *l, uint32_t len)
{
	return l->mode == MODE_BYTES && len <= KEY_INLINE_MAX ? (len + 7) / 8 : 0;
}

bool
block_fits(const struct layout *l, const struct geometry *g, const struct block_meta *m,
	   uint32_t key_len)
{
	return m->used < g->used_max &&
	       (m->heap_used + block_key_room(l, key_len)) * 8 <= g->bytes - g->heap_from;
}

/* A slot for a key whose chain starts at its home: the home slot, else the first one free. */
static uint32_t
free_slot(const struct layout *l, const struct geometry *g, uint8_t *block, uint64_t frac)
{
	const uint32_t home = (uint32_t)weir_mulhi(frac, g->slot_cnt);
	uint32_t group = home / GROUP;

	if (*slot_tag(l, block, home) == TAG_EMPTY)
		return home;
	for (uint32_t probes = 0;; probes++) {
		const uint64_t *tags = slot_tag(l, block, group * GROUP);
		const uint32_t open = group_match(tags, TAG_EMPTY) | group_match(tags, TAG_TOMB);

		if (open != 0)
			return group * GROUP + (uint32_t)__builtin_ctz(open);
		/* A block that fits one more has a free slot. */
		WEIR_ASSERT(probes < g->group_cnt);
		group = group + 1 == g->group_cnt ? 0 : group + 1;
	}
}

static void
heap_put(const struct geometry *g, uint8_t *block, struct block_meta *m, uint8_t *payload,
	 const struct key *k)
{
	const uint32_t room = (k->len + 7) / 8;
	uint32_t at = k->long_at;

	memcpy(payload + 4, &k->len, 4);
	if (k->len > KEY_INLINE_MAX) {
		memcpy(payload, &at, 4);
		return;
	}
	m->heap_used = (uint16_t)(m->heap_used + room);
	m->heap_live = (uint16_t)(m->heap_live + room);
	at = g->bytes - m->heap_used * 8u;
	if (k->len > 0)
		memcpy(block + at, k->bytes, k->len);
	/* What is written to disk has no bytes of earlier tenants. */
	memset(block + at + k->len, 0, room * 8 - k->len);
	memcpy(payload, &at, 4);
}

uint32_t
block_insert(const struct layout *l, const struct geometry *g, uint8_t *block, struct block_meta *m,
	     uint64_t frac, const struct key *k)
{
	const uint32_t slot = free_slot(l, g, block, frac);
	uint64_t *tag = slot_tag(l, block, slot);
	uint8_t *payload = slot_payload(l, block, slot);

	WEIR_ASSERT_HOT(k->tag > TAG_TOMB);
	m->used = (uint16_t)(m->used + (*tag == TAG_EMPTY));
	m->live++;
	*tag = k->tag;
	memset(payload, 0, l->payload_bytes);
	if (l->mode == MODE_FIXED)
		memcpy(payload, k->bytes, l->key_bytes);
	if (l->mode == MODE_BYTES)
		heap_put(g, block, m, payload, k);
	return slot;
}

void
block_remove(const struct layout *l, const struct geometry *g, uint8_t *block, struct block_meta *m,
	     uint32_t slot)
{
	uint64_t *tag = slot_tag(l, block, slot);
	uint8_t *payload = slot_payload(l, block, slot);
	uint32_t len;

	WEIR_ASSERT(*tag > TAG_TOMB);
	WEIR_ASSERT(slot < g->slot_cnt);
	if (l->mode == MODE_BYTES) {
		memcpy(&len, payload + 4, 4);
		m->heap_live = (uint16_t)(m->heap_live - block_key_room(l, len));
	}
	if (group_match(slot_tag(l, block, slot / GROUP * GROUP), TAG_EMPTY) != 0) {
		*tag = TAG_EMPTY;
		m->used--;
	} else {
		*tag = TAG_TOMB;
	}
	m->live--;
	memset(payload, 0, l->payload_bytes);
}

struct key
block_key(const struct layout *l, uint64_t bias, uint8_t *block, uint32_t slot)
{
	struct key k = { .tag = *slot_tag(l, block, slot) };
	const uint8_t *payload = slot_payload(l, block, slot);
	uint32_t at;

	if (l->mode == MODE_NUMBER) {
		k.z = place_z(l, weir_hash_u64(k.tag - bias));
		return k;
	}
	k.z = place_z(l, k.tag);
	k.bytes = payload;
	k.len = l->key_bytes;
	if (l->mode == MODE_BYTES) {
		memcpy(&at, payload, 4);
		memcpy(&k.len, payload + 4, 4);
		k.long_at = k.len > KEY_INLINE_MAX ? at : 0;
		k.bytes = k.len > KEY_INLINE_MAX ? long_key(l, at) : block + at;
	}
	return k;
}

void
block_clear(const struct geometry *g, uint8_t *block, struct block_meta *m)
{
	memset(block, 0, g->bytes);
	m->used = m->live = m->heap_used = m->heap_live = 0;
}
