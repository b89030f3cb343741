/*
 * Growth: entries of old blocks into fresh ones.
 *
 * Where an uneven cut would not fit, a row is cut finer (a list of rows still to fill, no
 * recursion). Number keys are most of what grows fast, and their entries have all they need in tag
 * and payload: they have a loop of their own.
 */

#include "statebackend/hash/hash_priv.h"

#include <string.h>

static struct kstate *
state_of(const struct table *t)
{
	return (struct kstate *)(void *)t->pub.state;
}

void
source_add(struct source *src, const struct spot *s)
{
	src->geo = s->geo;
	src->block[src->block_cnt++] = s->block;
}

/* --- number keys --- */

/* The slot of a key that is not there, in a block with a free slot and without removed keys. */
WEIR_INLINE uint32_t
number_slot(const struct layout *l, const struct geometry *g, uint8_t *block, uint64_t frac)
{
	const uint32_t home = (uint32_t)weir_mulhi(frac, g->slot_cnt);
	uint32_t group = home / GROUP;

	if (WEIR_LIKELY(*slot_tag(l, block, home) == TAG_EMPTY))
		return home;
	for (;;) { /* ends: fewer than used_max are in it */
		const uint32_t open = group_match(slot_tag(l, block, group * GROUP), TAG_EMPTY);

		if (open != 0)
			return group * GROUP + (uint32_t)__builtin_ctz(open);
		group = group + 1 == g->group_cnt ? 0 : group + 1;
	}
}

/* Where one block's entries go. */
struct number_cut {
	const struct layout *l;
	const struct geometry *geo;
	uint8_t *pages[ROW_PAGES_MAX];
	uint32_t cnt[ROW_PAGES_MAX]; /* entries in each page */
	uint64_t bias, prefix;
	uint32_t depth, n;
};

/* False: a page is too small for its share. line: 8-byte values, a constant. */
WEIR_INLINE bool
number_block(struct number_cut *c, uint8_t *block, uint32_t slot_cnt, const bool line)
{
	struct layout l = *c->l;
	const struct geometry g = *c->geo;
	const struct number_cut to = *c;

	if (line) {
		l.group_bytes = GROUP * 16;
		l.payload_bytes = 8;
	}
	for (uint32_t slot = 0; slot < slot_cnt; slot++) {
		const uint64_t tag = *slot_tag(&l, block, slot);
		const uint64_t z = place_z(&l, weir_hash_u64(tag - to.bias));
		const weir_u128 f = (weir_u128)(z << to.depth) * to.n;
		const uint32_t sub = (uint32_t)(f >> 64);
		uint32_t at;

		if (tag <= TAG_TOMB || z_prefix(z, to.depth) != to.prefix)
			continue;
		if (WEIR_UNLIKELY(++c->cnt[sub] >= g.used_max))
			return false;
		at = number_slot(&l, &g, to.pages[sub], (uint64_t)f);
		*slot_tag(&l, to.pages[sub], at) = tag;
		memcpy(slot_payload(&l, to.pages[sub], at), slot_payload(&l, block, slot),
		       l.payload_bytes);
	}
	return true;
}

static bool
number_fill(const struct table *t, const struct source *src, const struct row_plan *plan,
	    uint8_t *const *pages)
{
	struct kstate *st = state_of(t);
	struct number_cut c = {
		.l = &st->l,
		.geo = &st->l.page,
		.bias = t->bias,
		.prefix = plan->prefix,
		.depth = plan->depth,
		.n = plan->n,
	};
	bool fits = true;

	memcpy(c.pages, pages, plan->n * sizeof(*pages));
	for (uint32_t b = 0; b < src->block_cnt && fits; b++)
		fits = st->l.payload_bytes == 8
			       ? number_block(&c, src->block[b], src->geo->slot_cnt, true)
			       : number_block(&c, src->block[b], src->geo->slot_cnt, false);
	for (uint32_t i = 0; i < plan->n; i++) {
		struct block_meta *m = mem_meta(&st->be->mem, pages[i]);

		m->used = m->live = (uint16_t)c.cnt[i];
	}
	return fits;
}

/* --- any keys --- */

/* How many entries and heap bytes would each page of the row get? False: too much for one. */
static bool
any_fits(const struct table *t, const struct source *src, const struct row_plan *plan)
{
	const struct layout *l = &state_of(t)->l;
	uint32_t entries[ROW_PAGES_MAX] = { 0 }, heap[ROW_PAGES_MAX] = { 0 };
	bool fits = true;

	for (uint32_t i = 0; i < src->block_cnt * src->geo->slot_cnt; i++) {
		uint8_t *block = src->block[i / src->geo->slot_cnt];
		const uint32_t slot = i % src->geo->slot_cnt;
		struct key k;
		uint32_t sub;

		if (*slot_tag(l, block, slot) <= TAG_TOMB)
			continue;
		k = block_key(l, t->bias, block, slot);
		if (z_prefix(k.z, plan->depth) != plan->prefix)
			continue;
		sub = (uint32_t)weir_mulhi(k.z << plan->depth, plan->n);
		entries[sub]++;
		heap[sub] += block_key_room(l, k.len);
	}
	for (uint32_t i = 0; i < plan->n; i++)
		fits = fits && share_fits(&l->page, entries[i], heap[i], src->need);
	return fits;
}

static void
entry_copy(const struct table *t, uint8_t *from, uint32_t slot, const struct spot *to,
	   const struct key *k)
{
	const struct layout *l = &state_of(t)->l;
	const uint32_t at = block_insert(l, to->geo, to->block, to->meta, to->frac, k);

	memcpy(slot_payload(l, to->block, at) + l->value_at,
	       slot_payload(l, from, slot) + l->value_at, l->value_bytes);
}

static void
any_fill(struct table *t, const struct source *src, const struct row_plan *plan)
{
	const struct layout *l = &state_of(t)->l;

	for (uint32_t i = 0; i < src->block_cnt * src->geo->slot_cnt; i++) {
		uint8_t *block = src->block[i / src->geo->slot_cnt];
		const uint32_t slot = i % src->geo->slot_cnt;
		struct spot s;
		struct key k;

		if (*slot_tag(l, block, slot) <= TAG_TOMB)
			continue;
		k = block_key(l, t->bias, block, slot);
		if (z_prefix(k.z, plan->depth) != plan->prefix)
			continue;
		s = table_spot(t, k.z);
		entry_copy(t, block, slot, &s, &k);
	}
}

/* --- rows --- */

static void
pages_take(struct kstate *st, uint8_t **pages, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		pages[i] = page_take(st);
		WEIR_ASSERT(pages[i] != NULL); /* weir_kstate_reserve() */
	}
}

/* Fill one row; false: its cut is too coarse, and nothing is done. */
static bool
row_refill(struct table *t, const struct source *src, const struct row_plan *plan)
{
	struct kstate *st = state_of(t);
	const bool numbers = st->l.mode == MODE_NUMBER;
	uint8_t *pages[ROW_PAGES_MAX];

	if (!numbers && !any_fits(t, src, plan))
		return false;
	pages_take(st, pages, plan->n);
	if (numbers && !number_fill(t, src, plan, pages)) {
		for (uint32_t i = 0; i < plan->n; i++)
			page_give(st, pages[i]);
		return false;
	}
	row_set(t, plan->prefix, plan->depth, pages, plan->n);
	if (!numbers)
		any_fill(t, src, plan);
	return true;
}

void
rows_refill(struct table *t, const struct source *src, struct row_plan first)
{
	struct row_plan todo[DEPTH_MAX + 2];
	uint32_t todo_cnt = 0;

	todo[todo_cnt++] = first;
	while (todo_cnt > 0) {
		struct row_plan plan = todo[--todo_cnt];

		if (row_refill(t, src, &plan))
			continue;
		if (plan.n < ROW_PAGES_MAX) {
			plan.n++;
			todo[todo_cnt++] = plan;
			continue;
		}
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

void
flat_refill(struct table *t, const struct source *src)
{
	const struct layout *l = &state_of(t)->l;

	block_clear(&l->geo[t->order], t->flat, &t->meta);
	for (uint32_t slot = 0; slot < src->geo->slot_cnt; slot++) {
		struct spot s;
		struct key k;

		if (*slot_tag(l, src->block[0], slot) <= TAG_TOMB)
			continue;
		k = block_key(l, t->bias, src->block[0], slot);
		s = table_spot(t, k.z);
		entry_copy(t, src->block[0], slot, &s, &k);
	}
}
