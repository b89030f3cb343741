/*
 * A table's blocks: insert, remove, and growth.
 *
 * Growth rebuilds one flat block, or one row of pages: its blocks are copied to the backend's
 * scratch pages, given back, and the entries are put into fresh blocks. Where an uneven cut would
 * not fit, the row is cut finer (a list of rows still to fill, no recursion).
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
	block_clear(&st->l.geo[PAGE_ORDER], page, m);
	m->captured = st->snap.no;
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
		long_keys_give(t, &st->l.geo[t->order], t->flat);
		block_give(st, t->flat, t->order);
		return;
	}
	do {
		uint64_t *row = table_row(t, z);

		for (uint32_t i = 0; i < row_pages(row); i++) {
			const struct spot s = row_spot(t, row, i);

			long_keys_give(t, s.geo, s.block);
			page_give(st, s.block);
		}
		step = row_depth(row) == 0 ? 0 : 1ull << (64 - row_depth(row));
		z += step;
	} while (z != 0);
	mem_free(&st->be->mem, t->dir, dir_bytes(t->order));
}

/* Entries on their way from old blocks to new ones. */
struct source {
	const struct geometry *geo;
	uint8_t *blocks;
	uint32_t block_cnt;
	uint32_t need; /* heap bytes / 8 of the key that made it grow */
};

/* One block of a row to be filled. */
struct share {
	uint32_t entries, heap;
};

static uint8_t *
source_block(const struct source *src, uint32_t i)
{
	return src->blocks + (uint64_t)i * src->geo->bytes;
}

static void
source_add(struct hash_backend *be, struct source *src, const struct spot *s)
{
	src->geo = s->geo;
	src->blocks = be->scratch;
	memcpy(source_block(src, src->block_cnt), s->block, s->geo->bytes);
	src->block_cnt++;
}

/* A row that still has to be filled. */
struct row_plan {
	uint64_t prefix;
	uint32_t depth, n;
};

/* How many entries and heap bytes would each page of the row get? */
static void
plan_shares(const struct table *t, const struct source *src, const struct row_plan *plan,
	    struct share *shares)
{
	const struct layout *l = &state_of(t)->l;

	memset(shares, 0, ROW_PAGES_MAX * sizeof(*shares));
	for (uint32_t i = 0; i < src->block_cnt * src->geo->slot_cnt; i++) {
		uint8_t *block = source_block(src, i / src->geo->slot_cnt);
		const uint32_t slot = i % src->geo->slot_cnt;
		struct key k;
		uint32_t sub;

		if (*slot_tag(l, block, slot) <= TAG_TOMB)
			continue;
		k = block_key(l, t->bias, block, slot);
		if (z_prefix(k.z, plan->depth) != plan->prefix)
			continue;
		sub = (uint32_t)weir_mulhi(k.z << plan->depth, plan->n);
		shares[sub].entries++;
		shares[sub].heap += block_key_room(l, k.len);
	}
}

static bool
share_fits(const struct geometry *g, const struct share *s, uint32_t need)
{
	return s->entries < g->used_max && (s->heap + need) * 8 <= g->bytes - g->heap_from;
}

static void
source_copy(const struct table *t, uint8_t *from, uint32_t slot, const struct spot *to,
	    const struct key *k)
{
	const struct layout *l = &state_of(t)->l;
	const uint32_t at = block_insert(l, to->geo, to->block, to->meta, to->frac, k);

	memcpy(slot_payload(l, to->block, at) + l->value_at,
	       slot_payload(l, from, slot) + l->value_at, l->value_bytes);
}

static void
row_fill(struct table *t, const struct source *src, const struct row_plan *plan)
{
	struct kstate *st = state_of(t);
	uint8_t *pages[ROW_PAGES_MAX];

	for (uint32_t i = 0; i < plan->n; i++) {
		pages[i] = page_take(st);
		WEIR_ASSERT(pages[i] != NULL); /* weir_kstate_reserve() */
	}
	row_set(t, plan->prefix, plan->depth, pages, plan->n);
	for (uint32_t i = 0; i < src->block_cnt * src->geo->slot_cnt; i++) {
		uint8_t *block = source_block(src, i / src->geo->slot_cnt);
		const uint32_t slot = i % src->geo->slot_cnt;
		struct spot s;
		struct key k;

		if (*slot_tag(&st->l, block, slot) <= TAG_TOMB)
			continue;
		k = block_key(&st->l, t->bias, block, slot);
		if (z_prefix(k.z, plan->depth) != plan->prefix)
			continue;
		s = table_spot(t, k.z);
		source_copy(t, block, slot, &s, &k);
	}
}

static void
rows_fill(struct table *t, const struct source *src, struct row_plan first)
{
	struct row_plan todo[DEPTH_MAX + 2];
	uint32_t todo_cnt = 0;

	todo[todo_cnt++] = first;
	while (todo_cnt > 0) {
		struct row_plan plan = todo[--todo_cnt];
		struct share shares[ROW_PAGES_MAX];
		bool fits = true;

		plan_shares(t, src, &plan, shares);
		for (uint32_t i = 0; i < plan.n; i++)
			fits = fits &&
			       share_fits(&state_of(t)->l.geo[PAGE_ORDER], &shares[i], src->need);
		if (fits) {
			row_fill(t, src, &plan);
		} else if (plan.n < ROW_PAGES_MAX) {
			plan.n++;
			todo[todo_cnt++] = plan;
		} else {
			/* More keys than a page holds in one 2^-40th of the hash order. */
			WEIR_ASSERT(plan.depth < DEPTH_MAX);
			plan.depth++;
			plan.n = ROW_PAGES_MIN;
			plan.prefix = plan.prefix << 1 | 1;
			todo[todo_cnt++] = plan;
			plan.prefix ^= 1;
			todo[todo_cnt++] = plan;
		}
	}
}

static void
flat_fill(struct table *t, const struct source *src)
{
	const struct layout *l = &state_of(t)->l;

	block_clear(&l->geo[t->order], t->flat, &t->meta);
	for (uint32_t slot = 0; slot < src->geo->slot_cnt; slot++) {
		uint8_t *block = source_block(src, 0);
		struct spot s;
		struct key k;

		if (*slot_tag(l, block, slot) <= TAG_TOMB)
			continue;
		k = block_key(l, t->bias, block, slot);
		s = table_spot(t, k.z);
		source_copy(t, block, slot, &s, &k);
	}
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
	rows_fill(t, src, (struct row_plan){ .prefix = 0, .depth = 0, .n = ROW_PAGES_MIN });
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
	const struct share all = { .entries = t->meta.live, .heap = t->meta.heap_live };
	uint32_t order = t->order;

	source_add(st->be, &src, s);
	block_give(st, t->flat, order);
	if (!worth_a_sweep(s->geo, &t->meta, need))
		order++;
	while (order < BLOCK_ORDERS && !share_fits(&st->l.geo[order], &all, need))
		order++;
	/* A block as large as a page is either well filled, and most look-ups miss their home slot,
	 * or the next size is as good: 2,048 slots for 500 to 1,800 keys cost little. */
	if (order == PAGE_ORDER)
		order++;
	t->flat = order < BLOCK_ORDERS ? block_take(st, order) : NULL;
	/* Two pages in a row may not be there although two pages are. */
	if (order == BLOCK_ORDERS || (t->flat == NULL && order > PAGE_ORDER)) {
		flat_to_pages(t, &src);
		return;
	}
	WEIR_ASSERT(t->flat != NULL); /* weir_kstate_reserve() */
	t->order = (uint8_t)order;
	flat_fill(t, &src);
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
		source_add(st->be, &src, &page);
	}
	for (uint32_t i = 0; i < row_pages(row); i++)
		page_give(st, row_spot(t, row, i).block);
	if (plan.n > ROW_PAGES_MAX) {
		/* Four pages are two rows of two; the list cuts finer what does not fit. */
		struct row_plan half = { .prefix = plan.prefix << 1,
					 .depth = plan.depth + 1,
					 .n = ROW_PAGES_MIN };

		WEIR_ASSERT(half.depth <= DEPTH_MAX);
		rows_fill(t, &src, half);
		half.prefix |= 1;
		rows_fill(t, &src, half);
		return;
	}
	rows_fill(t, &src, plan);
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
