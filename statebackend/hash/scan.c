/*
 * Iteration over one table. The cursor is one word: where the next entry may stand.
 *
 *   bit 63 started | 62 odd table | 18..57 top 40 bits of the row's first z | 16..17 page |
 *      0..15 slot
 */

#include "statebackend/hash/hash_priv.h"

#define SCAN_STARTED (1ull << 63)
#define SCAN_ODD     (1ull << 62)
#define SCAN_END     UINT64_MAX
#define SCAN_Z_SHIFT 18
#define SCAN_Z_MASK  ((1ull << DEPTH_MAX) - 1)

struct place {
	uint64_t z;
	uint32_t sub, slot;
	bool odd;
};

static struct place
place_of(uint64_t cursor)
{
	return (struct place){
		.z = (cursor >> SCAN_Z_SHIFT & SCAN_Z_MASK) << (64 - DEPTH_MAX),
		.sub = (uint32_t)(cursor >> 16) & 3,
		.slot = (uint32_t)cursor & 0xffff,
		.odd = (cursor & SCAN_ODD) != 0,
	};
}

static uint64_t
cursor_of(const struct place *p)
{
	return SCAN_STARTED | (p->odd ? SCAN_ODD : 0) |
	       (p->z >> (64 - DEPTH_MAX) & SCAN_Z_MASK) << SCAN_Z_SHIFT | (uint64_t)p->sub << 16 |
	       p->slot;
}

/* Start of the row that holds z; 0 of a flat table. */
static uint64_t
row_start(const struct table *t, uint64_t z)
{
	if (!t->paged)
		return 0;
	return row_depth(table_row(t, z)) == 0 ? 0
					       : z_prefix(z, row_depth(table_row(t, z)))
							 << (64 - row_depth(table_row(t, z)));
}

/* The block after p's; false: the table has no more. */
static bool
next_block(const struct table *t, struct place *p)
{
	const uint64_t *row;

	p->slot = 0;
	if (!t->paged)
		return false;
	row = table_row(t, p->z);
	if (++p->sub < row_pages(row))
		return true;
	p->sub = 0;
	p->z = row_start(t, p->z);
	if (row_depth(row) == 0)
		return false;
	p->z += 1ull << (64 - row_depth(row));
	return p->z != 0;
}

static void
entry_fill(const struct layout *l, const struct table *t, uint8_t *block, uint32_t slot,
	   struct weir_table_entry *e)
{
	const struct key k = block_key(l, t->bias, block, slot);

	e->value = slot_payload(l, block, slot) + l->value_at;
	e->key_u64 = 0;
	if (l->mode == MODE_NUMBER) {
		e->key_u64 = k.tag - t->bias;
		e->key = &e->key_u64;
		e->key_len = l->key_bytes;
		e->hash = weir_hash_u64(e->key_u64);
		return;
	}
	e->key = k.bytes;
	e->key_len = k.len;
	e->hash = k.tag;
	if (l->mode == MODE_FIXED && k.len <= sizeof(e->key_u64))
		__builtin_memcpy(&e->key_u64, k.bytes, k.len);
}

/* Entries of one block from p->slot on; p->slot is where to go on. */
static uint32_t
scan_block(struct table *t, const struct weir_table_scan *scan, struct place *p,
	   struct weir_table_entry *out, uint32_t max)
{
	const struct layout *l = &((struct kstate *)(void *)t->pub.state)->l;
	struct spot s;
	uint32_t cnt = 0;

	if (t->paged) {
		uint64_t *row = table_row(t, p->z);

		/* A cursor kept over an insert may name a page that its row no longer has. */
		if (p->sub >= row_pages(row))
			p->sub = 0;
		s = row_spot(t, row, p->sub);
	} else {
		s = table_spot(t, 0);
	}
	for (; p->slot < s.geo->slot_cnt && cnt < max; p->slot++) {
		if (*slot_tag(l, s.block, p->slot) <= TAG_TOMB)
			continue;
		entry_fill(l, t, s.block, p->slot, &out[cnt]);
		cnt += out[cnt].hash >= scan->hash_first && out[cnt].hash <= scan->hash_last;
	}
	if (scan->write && cnt > 0)
		table_touch(t, &s);
	return cnt;
}

/* z of the scan's last hash, and of its first: places outside the kstate's range are cut off. */
static uint64_t
clamped_z(const struct kstate *st, uint64_t hash)
{
	if (hash < st->pub.spec.hash_first)
		hash = st->pub.spec.hash_first;
	if (hash > st->pub.spec.hash_last)
		hash = st->pub.spec.hash_last;
	return place_z(&st->l, hash);
}

uint32_t
hash_scan(struct weir_table *pub, const struct weir_table_scan *scan, uint64_t *cursor,
	  struct weir_table_entry *out, uint32_t max)
{
	struct table *main = (struct table *)(void *)pub, *t;
	const struct kstate *st = (const struct kstate *)(const void *)pub->state;
	const uint64_t z_last = clamped_z(st, scan->hash_last);
	struct place p = place_of(*cursor);
	uint32_t cnt = 0;

	if (*cursor == SCAN_END)
		return 0;
	if (*cursor == 0)
		p.z = row_start(main, clamped_z(st, scan->hash_first));
	t = p.odd ? main->odd : main;
	while (cnt < max) {
		const uint32_t got = scan_block(t, scan, &p, out + cnt, max - cnt);

		cnt += got;
		if (cnt == max)
			break;
		if (next_block(t, &p) && p.z <= z_last)
			continue;
		if (p.odd || main->odd == NULL) {
			*cursor = SCAN_END;
			return cnt;
		}
		t = main->odd;
		p = (struct place){ .odd = true };
	}
	*cursor = cursor_of(&p);
	return cnt;
}
