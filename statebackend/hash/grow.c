/*
 * A table's blocks: insert, remove, and growth.
 *
 * Growth rebuilds one flat block, or one row of pages: its entries are put into fresh blocks
 * (refill.c), then the old ones are given back.
 */

#include "statebackend/hash/hash_priv.h"

#include <string.h>

static struct kstate *
state_of(const struct table *t)
{
	return (struct kstate *)(void *)t->pub.state;
}

/* Blocks of 4 KiB and more count as pages: what one growth can take at most. */
static uint64_t *
counter_of(struct hash_backend *be, uint32_t order)
{
	return order + 2 >= PAGE_ORDER ? &be->page_cnt : &be->block_cnt;
}

static uint8_t *
block_take(struct kstate *st, uint32_t order)
{
	uint8_t *block = mem_alloc(&st->be->mem, st->l.geo[order].bytes);

	if (block != NULL) {
		(*counter_of(st->be, order))++;
		st->be->double_cnt += order > PAGE_ORDER;
	}
	return block;
}

static void
block_give(struct kstate *st, uint8_t *block, uint32_t order)
{
	mem_free(&st->be->mem, block, st->l.geo[order].bytes);
	(*counter_of(st->be, order))--;
	st->be->double_cnt -= order > PAGE_ORDER;
}

uint8_t *
page_take(struct kstate *st)
{
	uint8_t *page = block_take(st, PAGE_ORDER);
	struct block_meta *m;

	if (page == NULL)
		return NULL;
	m = mem_meta(&st->be->mem, page);
	block_clear(&st->l.page, page, m);
	m->captured = st->snap.no;
	m->home = HOME_NONE;
	return page;
}

void
page_give(struct kstate *st, uint8_t *page)
{
	block_give(st, page, PAGE_ORDER);
}

static void
long_key_take(struct table *t, struct key *k)
{
	struct kstate *st = state_of(t);
	uint8_t *at = mem_alloc(&st->be->mem, k->len);

	WEIR_ASSERT(at != NULL); /* weir_kstate_reserve() */
	memcpy(at, k->bytes, k->len);
	k->long_at = (uint32_t)((uint64_t)(at - st->l.long_base) >> MEM_CLASS_SHIFT);
	t->long_cnt++;
}

static void
long_key_give(struct table *t, const struct key *k)
{
	struct kstate *st = state_of(t);

	mem_free(&st->be->mem, st->l.long_base + ((uint64_t)k->long_at << MEM_CLASS_SHIFT), k->len);
	t->long_cnt--;
}

bool
table_start(struct table *t)
{
	struct kstate *st = state_of(t);

	t->order = (uint8_t)st->l.order_min;
	t->flat = block_take(st, t->order);
	if (t->flat == NULL)
		return false;
	block_clear(&st->l.geo[t->order], t->flat, &t->meta);
	t->meta.captured = st->snap.no;
	t->meta.home = HOME_NONE;
	t->epoch = (uint16_t)epoch_of(st);
	return true;
}

/* Keys longer than fit in a block, of a block that goes. */
static void
long_keys_give(struct table *t, const struct geometry *g, uint8_t *block)
{
	struct kstate *st = state_of(t);

	for (uint32_t slot = 0; slot < g->slot_cnt && t->long_cnt > 0; slot++) {
		struct key k;

		if (*slot_tag(&st->l, block, slot) <= TAG_TOMB)
			continue;
		k = block_key(&st->l, t->bias, block, slot);
		if (k.len > KEY_INLINE_MAX && st->l.mode == MODE_BYTES)
			long_key_give(t, &k);
	}
}

void
table_clear(struct table *t)
{
	struct kstate *st = state_of(t);
	uint64_t z = 0, step;

	if (!t->paged) {
		const struct spot s = table_spot(t, 0);

		spot_unhome(t, &s);
		long_keys_give(t, &st->l.geo[t->order], t->flat);
		block_give(st, t->flat, t->order);
		return;
	}
	do {
		uint64_t *row = table_row(t, z);

		for (uint32_t i = 0; i < row_pages(row); i++) {
			const struct spot s = row_spot(t, row, i);

			spot_unhome(t, &s);
			long_keys_give(t, s.geo, s.block);
			page_give(st, s.block);
		}
		step = row_depth(row) == 0 ? 0 : 1ull << (64 - row_depth(row));
		z += step;
	} while (z != 0);
	mem_free(&st->be->mem, t->dir, dir_bytes(t->order));
}

static void
flat_to_pages(struct table *t, const struct source *src)
{
	struct kstate *st = state_of(t);

	t->dir = mem_alloc(&st->be->mem, dir_bytes(1));
	WEIR_ASSERT(t->dir != NULL); /* weir_kstate_reserve() */
	memset(t->dir, 0, dir_bytes(1));
	t->paged = true;
	t->order = 1;
	if (st->gd_max == 0)
		st->gd_max = 1;
	rows_refill(t, src, (struct row_plan){ .prefix = 0, .depth = 0, .n = ROW_PAGES_MIN });
}

/* Rebuild in the same size only if that leaves room for many more inserts. */
static bool
worth_a_sweep(const struct geometry *g, const struct block_meta *m, uint32_t need)
{
	return m->live <= g->used_max / 4 * 3 &&
	       (m->heap_live + need) * 8u <= (g->bytes - g->heap_from) / 4 * 3;
}

static void
flat_grow(struct table *t, const struct spot *s, uint32_t need)
{
	struct kstate *st = state_of(t);
	struct source src = { .need = need };
	const uint32_t live = t->meta.live, heap = t->meta.heap_live, old = t->order;
	uint32_t order = old;

	source_add(&src, s);
	if (!worth_a_sweep(s->geo, &t->meta, need))
		order++;
	while (order < BLOCK_ORDERS && !share_fits(&st->l.geo[order], live, heap, need))
		order++;
	t->flat = order < BLOCK_ORDERS ? block_take(st, order) : NULL;
	/* Two pages in a row may not be there although two pages are. */
	if (order == BLOCK_ORDERS || (t->flat == NULL && order > PAGE_ORDER)) {
		flat_to_pages(t, &src);
	} else {
		WEIR_ASSERT(t->flat != NULL); /* weir_kstate_reserve() */
		t->order = (uint8_t)order;
		flat_refill(t, &src);
	}
	block_give(st, src.block[0], old);
}

static void
row_grow(struct table *t, const struct spot *s, uint32_t need)
{
	struct kstate *st = state_of(t);
	struct source src = { .need = need };
	const uint64_t idx = (uint64_t)(s->word - t->dir) / ROW_WORDS;
	uint64_t *row = t->dir + idx * ROW_WORDS;
	struct row_plan plan = {
		.prefix = idx >> (t->order - row_depth(row)),
		.depth = row_depth(row),
		.n = row_pages(row),
	};

	if (!worth_a_sweep(s->geo, s->meta, need))
		plan.n++;
	for (uint32_t i = 0; i < row_pages(row); i++) {
		const struct spot page = row_spot(t, row, i);

		table_touch(t, &page);
		source_add(&src, &page);
	}
	/* Four pages are two rows of two; the list cuts finer what does not fit. */
	if (plan.n > ROW_PAGES_MAX) {
		WEIR_ASSERT(plan.depth < DEPTH_MAX);
		plan.depth++;
		plan.n = ROW_PAGES_MIN;
		plan.prefix = plan.prefix << 1 | 1;
		rows_refill(t, &src, plan);
		plan.prefix ^= 1;
	}
	rows_refill(t, &src, plan);
	for (uint32_t i = 0; i < src.block_cnt; i++)
		page_give(st, src.block[i]);
}

static void
table_grow(struct table *t, const struct spot *s, const struct key *k)
{
	const uint32_t need = block_key_room(&state_of(t)->l, k->len);

	table_touch(t, s);
	state_of(t)->moves++;
	if (s->word == NULL)
		flat_grow(t, s, need);
	else
		row_grow(t, s, need);
}

uint8_t *
table_upsert(struct table *t, const struct key *k)
{
	struct kstate *st = state_of(t);
	struct spot s = table_spot(t, k->z);
	struct key stored = *k;
	int32_t slot = block_find(&st->l, s.geo, s.block, s.frac, k);

	if (slot < 0) {
		while (!block_fits(&st->l, s.geo, s.meta, k->len)) {
			table_grow(t, &s, k);
			s = table_spot(t, k->z);
		}
		table_touch(t, &s);
		if (st->l.mode == MODE_BYTES && k->len > KEY_INLINE_MAX)
			long_key_take(t, &stored);
		slot = (int32_t)block_insert(&st->l, s.geo, s.block, s.meta, s.frac, &stored);
		t->count++;
		st->entry_cnt++;
	} else {
		table_touch(t, &s);
	}
	return slot_payload(&st->l, s.block, (uint32_t)slot);
}

uint8_t *
table_lookup(const struct table *t, const struct key *k)
{
	const struct layout *l = &state_of(t)->l;
	const struct spot s = table_spot(t, k->z);
	const int32_t slot = block_find(l, s.geo, s.block, s.frac, k);

	return slot < 0 ? NULL : slot_payload(l, s.block, (uint32_t)slot);
}

bool
table_delete(struct table *t, const struct key *k)
{
	struct kstate *st = state_of(t);
	const struct spot s = table_spot(t, k->z);
	const int32_t slot = block_find(&st->l, s.geo, s.block, s.frac, k);

	if (slot < 0)
		return false;
	table_touch(t, &s);
	if (t->long_cnt > 0) {
		const struct key stored = block_key(&st->l, t->bias, s.block, (uint32_t)slot);

		if (stored.len > KEY_INLINE_MAX)
			long_key_give(t, &stored);
	}
	block_remove(&st->l, s.geo, s.block, s.meta, (uint32_t)slot);
	t->count--;
	st->entry_cnt--;
	return true;
}
