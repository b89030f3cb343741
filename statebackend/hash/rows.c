/* The directory of a paged table: rows of page words. layout.h has the drawing. */

#include "engine/base/plant.h"
#include "statebackend/hash/hash_priv.h"

#include <string.h>

static struct kstate *
state_of(const struct table *t)
{
	return (struct kstate *)(void *)t->pub.state;
}

uint64_t
dir_bytes(uint32_t gd)
{
	return (ROW_WORDS * sizeof(uint64_t)) << gd;
}

struct spot
row_spot(const struct table *t, uint64_t *row, uint32_t sub)
{
	const struct kstate *st = state_of(t);
	struct spot s = {
		.block = (uint8_t *)(uintptr_t)(row[sub] & ADDR_MASK),
		.geo = &st->l.page,
		.word = &row[sub],
	};

	s.meta = mem_meta(&st->be->mem, s.block);
	return s;
}

struct spot
table_spot(const struct table *t, uint64_t z)
{
	const struct kstate *st = state_of(t);
	struct spot s;
	uint64_t *row;
	weir_u128 f;

	if (!t->paged)
		return (struct spot){ .block = t->flat,
				      .meta = (struct block_meta *)&t->meta,
				      .geo = &st->l.geo[t->order],
				      .frac = z };
	row = table_row(t, z);
	f = (weir_u128)(z << row_depth(row)) * row_pages(row);
	s = row_spot(t, row, (uint32_t)(f >> 64));
	s.frac = (uint64_t)f;
	return s;
}

static void
capture_if_frozen(struct table *t, const struct spot *s)
{
	const struct snap *snap = &state_of(t)->snap;

	if (!snap->active || WEIR_PLANT(SNAPSHOT_COPY) || s->meta->captured == snap->no ||
	    t->done == snap->no)
		return;
	if (!home_is_listed(&state_of(t)->be->homes, s->meta, snap->no))
		snap_capture(t, s);
	s->meta->captured = snap->no;
}

void
table_touch(struct table *t, const struct spot *s)
{
	const struct kstate *st = state_of(t);
	uint64_t first, cnt, *w;
	uint32_t depth;

	if (s->word == NULL) {
		if (WEIR_LIKELY(t->epoch == epoch_of(st)))
			return;
		capture_if_frozen(t, s);
		spot_unhome(t, s);
		t->epoch = (uint16_t)epoch_of(st);
		return;
	}
	if (WEIR_LIKELY(((*s->word ^ st->cur) >> EPOCH_SHIFT) == 0))
		return;
	capture_if_frozen(t, s);
	spot_unhome(t, s);
	first = (uint64_t)(s->word - t->dir);
	w = t->dir + first % ROW_WORDS;
	depth = row_depth(t->dir + first / ROW_WORDS * ROW_WORDS);
	cnt = 1ull << (t->order - depth);
	first = first / ROW_WORDS & ~(cnt - 1);
	for (uint64_t i = first; i < first + cnt; i++)
		w[i * ROW_WORDS] = (uint64_t)(uintptr_t)s->block | st->cur;
}

static void
dir_double(struct table *t)
{
	struct kstate *st = state_of(t);
	const uint64_t rows = 1ull << t->order;
	uint64_t *dir = mem_alloc(&st->be->mem, dir_bytes(t->order + 1u));

	WEIR_ASSERT(dir != NULL); /* weir_kstate_reserve() */
	for (uint64_t i = 0; i < rows; i++) {
		memcpy(dir + 2 * i * ROW_WORDS, t->dir + i * ROW_WORDS, ROW_WORDS * 8);
		memcpy(dir + (2 * i + 1) * ROW_WORDS, t->dir + i * ROW_WORDS, ROW_WORDS * 8);
	}
	mem_free(&st->be->mem, t->dir, dir_bytes(t->order));
	t->dir = dir;
	t->order++;
	if (t->order > st->gd_max)
		st->gd_max = t->order;
}

void
row_set(struct table *t, uint64_t prefix, uint32_t depth, uint8_t *const *pages, uint32_t n)
{
	const uint64_t cur = state_of(t)->cur;
	uint64_t row[ROW_WORDS] = { 0 }, first, cnt;

	WEIR_ASSERT(n >= ROW_PAGES_MIN && n <= ROW_PAGES_MAX);
	WEIR_ASSERT(depth <= DEPTH_MAX);
	while (depth > t->order)
		dir_double(t);
	for (uint32_t i = 0; i < n; i++)
		row[i] = (uint64_t)(uintptr_t)pages[i] | cur;
	row[ROW_META] = (uint64_t)n << 8 | depth;
	cnt = 1ull << (t->order - depth);
	first = prefix << (t->order - depth);
	for (uint64_t i = first; i < first + cnt; i++)
		memcpy(t->dir + i * ROW_WORDS, row, sizeof(row));
}
