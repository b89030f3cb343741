#ifndef WEIR_STATEBACKEND_HASH_KERNEL_INL_H
#define WEIR_STATEBACKEND_HASH_KERNEL_INL_H

/*
 * The body of a kernel, compiled by each kernel_v*.c with its own flags. Variants are constant
 * arguments of always-inlined functions:
 *
 *   add     add and give sums, else give pointers
 *   sel     add and sums stand at row numbers
 *   line    8-byte values: a group is one 64-byte line and a block has 2^k slots
 *   scaled  the range of hashes is no power of two
 */

#include "statebackend/hash/kernel.h"

/* Rows of 256 that miss their home slot (times 8) above which the branch-free pass is faster. */
#define MISS_MANY (24u * 8)
/* From this depth on the directory itself is not in cache. */
#define GD_LARGE 13u
#define STAGE	 16u

struct variant {
	bool add, sel, line, scaled;
};

/* What a batch keeps in registers. */
struct view {
	const struct layout *l;
	uint64_t first, scale, bias, cur;
	uint64_t slots_bytes; /* of a page, or of the flat block */
	uint64_t block_mask;
	uint32_t shift, group_bytes, payload_bytes, slot_cnt, block_shift;
	uint64_t *dir;
	uint32_t dir_shift;
};

WEIR_INLINE uint64_t
number_z(const struct view *v, uint64_t number, const bool scaled)
{
	const uint64_t z = (weir_hash_u64(number) - v->first) << v->shift;

	return scaled ? z + weir_mulhi(z, v->scale) : z;
}

/* The home tag word of a block. */
WEIR_INLINE uint64_t *
home_tag(const struct view *v, uint8_t *block, uint64_t frac, const bool line)
{
	uint64_t idx;

	if (line) {
		idx = frac >> v->block_shift; /* byte offset if entries were 16 bytes in a row */
		return (uint64_t *)(void *)(block + ((idx & ~63ull) | (idx >> 1 & 24)));
	}
	idx = weir_mulhi(frac, v->slot_cnt);
	return (uint64_t *)(void *)(block + idx / GROUP * v->group_bytes + idx % GROUP * 8);
}

/* Payload of the slot whose tag is at s: groups start on multiples of 32. */
WEIR_INLINE uint64_t *
payload_of(const struct view *v, uint64_t *s, const bool line)
{
	const uintptr_t at = (uintptr_t)s;

	if (line)
		return s + GROUP;
	return (uint64_t *)((at & ~(uintptr_t)31) + 32 + (at >> 3 & 3) * v->payload_bytes);
}

WEIR_INLINE uint64_t *
group_of(uint64_t *s)
{
	return (uint64_t *)((uintptr_t)s & ~(uintptr_t)31);
}

/*
 * The tag word of a key that is not at home: the home group, then the groups after it, up to one
 * with an empty slot. NULL: not there.
 */
WEIR_INLINE uint64_t *
near_tag(const struct view *v, uint64_t *s, uint64_t tag, const bool line)
{
	const uint64_t step = line ? 64 : v->group_bytes;
	uint8_t *group = (uint8_t *)group_of(s);
	uint64_t at = (uintptr_t)group & v->block_mask;
	uint8_t *block = group - at;

	if (WEIR_UNLIKELY(tag <= TAG_TOMB))
		return NULL;
	for (;;) { /* ends: a block always has an empty slot */
		uint64_t *tags = (uint64_t *)(void *)(block + at);
		const uint32_t hits = group_match(tags, tag);

		if (WEIR_LIKELY(hits != 0))
			return tags + __builtin_ctz(hits);
		if (group_match(tags, TAG_EMPTY) != 0)
			return NULL;
		at += step;
		if (WEIR_UNLIKELY(at >= v->slots_bytes))
			at = 0;
	}
}

WEIR_INLINE void
row_done(const struct kernel_run *r, uint32_t i, uint64_t *payload, const struct variant k)
{
	if (k.add) {
		const uint32_t row = k.sel ? r->sel[i] : i;
		const uint64_t sum = *payload + r->add[row];

		*payload = sum;
		r->sums[row] = sum;
	} else {
		r->values[i] = payload;
	}
}

/* Any key, any place; may move entries. */
static __attribute__((noinline)) uint64_t *
slow_row(const struct kernel_run *r, uint32_t i)
{
	const struct layout *l = &((struct kstate *)(void *)r->t->pub.state)->l;
	struct key k = { .tag = r->numbers[i] + TAG_BIAS,
			 .z = place_z(l, weir_hash_u64(r->numbers[i])) };

	return (uint64_t *)(void *)table_upsert(table_of_key(r->t, &k, true), &k);
}

WEIR_INLINE struct view
view_of(const struct kernel_run *r)
{
	const struct kstate *st = (const struct kstate *)(const void *)r->t->pub.state;
	const uint32_t order = r->t->paged ? PAGE_ORDER : r->t->order;
	const struct geometry *g = &st->l.geo[order];

	return (struct view){
		.l = &st->l,
		.first = st->l.range_first,
		.scale = st->l.range_scale,
		.bias = TAG_BIAS,
		.cur = st->cur,
		.slots_bytes = (uint64_t)g->group_cnt * st->l.group_bytes,
		.block_mask = g->bytes - 1,
		.shift = st->l.range_shift,
		.group_bytes = st->l.group_bytes,
		.payload_bytes = st->l.payload_bytes,
		.slot_cnt = g->slot_cnt,
		.block_shift = 64 - (BLOCK_SHIFT + order),
		.dir = r->t->dir,
		.dir_shift = 64 - r->t->order,
	};
}

/* Stage 2: the tag words are known (and on their way); row by row. */
WEIR_INLINE uint32_t
rows_branchy(const struct kernel_run *run, const struct view *v, uint64_t *const *tags,
	     uint32_t *missed, const struct variant k)
{
	const struct kernel_run here = *run, *const r = &here; /* its fields stay in registers */
	const struct kstate *st = (const struct kstate *)(const void *)r->t->pub.state;
	const uint64_t moves = st->moves;
	uint32_t misses = 0, i;

	for (i = 0; i < r->n; i++) {
		const uint64_t tag = r->numbers[i] + v->bias;
		uint64_t *s = tags[i], *payload;

		if (WEIR_LIKELY(*s == tag && tag > TAG_TOMB)) {
			row_done(r, i, payload_of(v, s, k.line), k);
			continue;
		}
		misses++;
		s = near_tag(v, s, tag, k.line);
		payload = s != NULL ? payload_of(v, s, k.line) : slow_row(r, i);
		row_done(r, i, payload, k);
		if (WEIR_UNLIKELY(st->moves != moves)) {
			i++;
			break;
		}
	}
	*missed = misses;
	return i;
}

/* Stage 2 when many keys miss their home slot: no branch on where a key is, a list of what is left.
 */
WEIR_INLINE uint32_t
rows_branchless(const struct kernel_run *run, const struct view *v, uint64_t **tags,
		uint32_t *missed, const struct variant k)
{
	const struct kernel_run here = *run, *const r = &here;
	const struct kstate *st = (const struct kstate *)(const void *)r->t->pub.state;
	const uint64_t moves = st->moves;
	uint8_t todo[WEIR_STATE_BATCH_MAX];
	uint32_t todo_cnt = 0, home = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		const uint64_t tag = r->numbers[i] + v->bias;
		uint64_t *group = group_of(tags[i]);
		const uint32_t hits = tag > TAG_TOMB ? group_match(group, tag) : 0;

		home += *tags[i] == tag;
		tags[i] = group + __builtin_ctz(hits | 16);
		todo[todo_cnt] = (uint8_t)i;
		todo_cnt += hits == 0;
	}
	*missed = r->n - home;
	for (uint32_t j = 0; j < todo_cnt; j++) {
		const uint32_t i = todo[j];
		const uint64_t tag = r->numbers[i] + v->bias;
		/* Four past its group, or at it if the key is odd: back to the group. */
		uint64_t *s = near_tag(v, tags[i] - GROUP, tag, k.line);

		if (WEIR_UNLIKELY(s == NULL)) {
			(void)slow_row(r, i);
			if (st->moves != moves)
				return 0;
		}
		tags[i] = s;
	}
	for (uint32_t i = 0; i < r->n; i++)
		row_done(r, i,
			 WEIR_LIKELY(tags[i] != NULL) ? payload_of(v, tags[i], k.line)
						      : slow_row(r, i),
			 k);
	return r->n;
}

WEIR_INLINE void
stage_flat(const struct kernel_run *r, const struct view *v, uint64_t **tags,
	   const struct variant k)
{
	for (uint32_t i = 0; i < r->n; i++)
		tags[i] = home_tag(v, r->t->flat, number_z(v, r->numbers[i], k.scaled), k.line);
}

/* A page that this epoch has not written yet: capture it and mark it. */
static __attribute__((noinline)) void
touch_z(struct table *t, uint64_t z)
{
	const struct spot s = table_spot(t, z);

	table_touch(t, &s);
}

WEIR_INLINE void
stage_pages(const struct kernel_run *run, const struct view *view, uint64_t **tags,
	    const struct variant k)
{
	const struct kernel_run here = *run, *const r = &here;
	const struct view seen = *view, *const v = &seen;

	for (uint32_t from = 0; from < r->n; from += STAGE) {
		const uint32_t to = from + STAGE < r->n ? from + STAGE : r->n;
		uint64_t stale = 0;

		for (uint32_t i = from; i < to; i++) {
			const uint64_t z = number_z(v, r->numbers[i], k.scaled);
			const uint64_t *row = v->dir + (z >> v->dir_shift) * ROW_WORDS;
			const weir_u128 f =
				(weir_u128)(z << (row[ROW_META] & 63)) * (row[ROW_META] >> 8);
			const uint64_t word = row[(uint64_t)(f >> 64)] ^ v->cur;

			stale |= word;
			tags[i] = home_tag(v, (uint8_t *)(uintptr_t)(word & ADDR_MASK), (uint64_t)f,
					   k.line);
			__builtin_prefetch(tags[i], 1);
			if (!k.line)
				__builtin_prefetch(payload_of(v, tags[i], false), 1);
		}
		if (WEIR_UNLIKELY(stale >> EPOCH_SHIFT != 0))
			for (uint32_t i = from; i < to; i++)
				touch_z(r->t, number_z(v, r->numbers[i], k.scaled));
	}
}

static __attribute__((noinline)) void
prefetch_rows(const struct kernel_run *r, const struct view *v)
{
	for (uint32_t i = 0; i < r->n; i++)
		__builtin_prefetch(v->dir +
				   (number_z(v, r->numbers[i], true) >> v->dir_shift) * ROW_WORDS);
}

WEIR_INLINE uint32_t
run_variant(const struct kernel_run *r, const struct variant k)
{
	struct kstate *st = (struct kstate *)(void *)r->t->pub.state;
	const struct view v = view_of(r);
	uint64_t *tags[WEIR_STATE_BATCH_MAX];
	uint32_t missed = 0, done;

	if (!r->t->paged) {
		const struct spot s = table_spot(r->t, 0);

		table_touch(r->t, &s);
		stage_flat(r, &v, tags, k);
	} else {
		if (r->t->order >= GD_LARGE)
			prefetch_rows(r, &v);
		stage_pages(r, &v, tags, k);
	}
	if (st->miss_avg > MISS_MANY)
		done = rows_branchless(r, &v, tags, &missed, k);
	else
		done = rows_branchy(r, &v, tags, &missed, k);
	/* Average of the rows of 256 that missed, times 8, over about 8 batches. */
	st->miss_avg = st->miss_avg - st->miss_avg / 8 + missed * 256 / r->n;
	return done;
}

WEIR_INLINE uint32_t
run_add(const struct kernel_run *r, bool line, struct variant k)
{
	const struct layout *l = &((const struct kstate *)(const void *)r->t->pub.state)->l;

	k.line = true;
	if (line && l->range_scale == 0)
		return run_variant(r, k);
	k.scaled = true;
	if (line)
		return run_variant(r, k);
	k.line = false;
	return run_variant(r, k);
}

/* The common shapes get bodies of their own. */
static inline uint32_t
kernel_run(const struct kernel_run *r)
{
	const struct layout *l = &((const struct kstate *)(const void *)r->t->pub.state)->l;
	const bool line = l->payload_bytes == 8;

	if (r->n == 0)
		return 0;
	if (r->add != NULL && r->sel != NULL)
		return run_add(r, line, (struct variant){ .add = true, .sel = true });
	if (r->add != NULL)
		return run_add(r, line, (struct variant){ .add = true });
	if (line)
		return run_variant(r, (struct variant){ .line = true, .scaled = true });
	return run_variant(r, (struct variant){ .scaled = true });
}

#endif /* WEIR_STATEBACKEND_HASH_KERNEL_INL_H */
