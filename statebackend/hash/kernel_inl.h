#ifndef WEIR_STATEBACKEND_HASH_KERNEL_INL_H
#define WEIR_STATEBACKEND_HASH_KERNEL_INL_H

/*
 * The body of a kernel, compiled by each kernel_v*.c with its own flags. Variants are constant
 * arguments of always-inlined functions:
 *
 *   add     add and give sums, else give pointers
 *   sel     keys, values to add and sums stand at row numbers
 *   line    8-byte values: a group is one 64-byte line and a block has 2^k slots
 *   pow2    the range is a power of two wide: it is shifted, not stretched
 *   whole   the range is all hashes: the place of a key is its hash
 *   home    look at the home slot first, then at its group; else at the group at once
 *
 * A flat block is near: one pass. Pages are far: rows are staged (directory, then the line of the
 * home group on its way into the cache) STAGE rows ahead of the pass that uses them; more would
 * overrun the CPU's miss queue and the first-level cache, fewer would wait. The loops take what
 * they need in registers: no address of theirs is given away, and all that is rare is in functions
 * that start again from the kernel_run.
 */

#include "statebackend/hash/kernel.h"

/* Rows of 256 that miss their home slot (times 8) above which the group is looked at at once. */
#define MISS_MANY (24u * 8)
/* From this depth on the directory itself is not in cache. */
#define GD_LARGE 13u
#ifndef AHEAD
#define AHEAD 32u
#endif

struct variant {
	bool add, sel, line, pow2, whole, home;
};

/* What a batch keeps in registers. */
struct view {
	uint64_t first, scale, cur;
	uint8_t *flat;
	const uint64_t *dir;
	uint32_t shift, dir_shift;
	uint32_t slot_cnt, group_bytes, payload_bytes;
	uint32_t block_shift; /* line: of frac to 16 bytes per slot */
};

/* Into M or E state at once: the line will be written. CPUs without it take it for a no-op. */
WEIR_INLINE void
prefetch_write(const void *at)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
}

WEIR_INLINE uint64_t
row_number(const struct kernel_run *r, uint32_t i, const bool sel)
{
	return r->numbers[sel ? r->sel[i] : i];
}

WEIR_INLINE uint64_t
number_z(const struct view v, uint64_t number, const struct variant k)
{
	const uint64_t hash = weir_hash_u64(number), z = (hash - v.first) << v.shift;

	if (k.whole)
		return hash;
	return k.pow2 ? z : z + weir_mulhi(z, v.scale);
}

/* The home group of a block. */
WEIR_INLINE uint64_t *
home_group(const struct view v, uint8_t *block, uint64_t frac, const bool line)
{
	uint64_t at;

	if (line) /* byte offset as if entries were 16 bytes in a row */
		at = (frac >> v.block_shift) & ~(uint64_t)(WEIR_LINE - 1);
	else
		at = weir_mulhi(frac, v.slot_cnt) / GROUP * v.group_bytes;
	return (uint64_t *)(void *)(block + at);
}

/* The tag of the home slot. */
WEIR_INLINE uint64_t *
home_slot(const struct view v, uint8_t *block, uint64_t frac, const bool line)
{
	uint64_t at;

	if (line) {
		at = frac >> v.block_shift;
		at = (at & ~(uint64_t)(WEIR_LINE - 1)) + (at >> 1 & 3 * sizeof(uint64_t));
	} else {
		at = weir_mulhi(frac, v.slot_cnt);
		at = at / GROUP * v.group_bytes + at % GROUP * sizeof(uint64_t);
	}
	return (uint64_t *)(void *)(block + at);
}

/* The group that a slot of a line is in. */
WEIR_INLINE uint64_t *
line_of(uint64_t *tag)
{
	return (uint64_t *)((uintptr_t)tag & ~(uintptr_t)(WEIR_LINE - 1));
}

/* Payload of a slot of a group. */
WEIR_INLINE uint64_t *
payload_of(uint64_t *group, uint64_t slot, uint32_t payload_bytes, const bool line)
{
	if (line)
		return group + GROUP + slot;
	return (uint64_t *)(void *)((uint8_t *)(group + GROUP) + slot * payload_bytes);
}

/* Both halves of a product: gcc spills the halves of its own 128-bit type. */
WEIR_INLINE uint64_t
mul_wide(uint64_t a, uint64_t b, uint64_t *low)
{
#ifdef __BMI2__
	unsigned long long high;

	*low = _mulx_u64(a, b, &high);
	return high;
#else
	*low = a * b;
	return weir_mulhi(a, b);
#endif
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

/* --- what is rare --- */

/*
 * The payload of a key that is not in the group: in the groups after it, up to one with an empty
 * slot. NULL: not there.
 */
WEIR_INLINE uint64_t *
near_payload(const struct layout *l, const struct geometry *g, uint64_t *group, uint64_t tag)
{
	const uint64_t at = (uintptr_t)group & (g->bytes - 1);
	uint8_t *block = (uint8_t *)group - at;
	uint32_t idx = (uint32_t)(at / l->group_bytes);

	for (;;) { /* ends: a block always has an empty slot */
		uint64_t *tags = (uint64_t *)(void *)(block + (uint64_t)idx * l->group_bytes);
		const uint32_t hits = group_match(tags, tag);

		if (WEIR_LIKELY(hits != 0))
			return payload_of(tags, (uint64_t)__builtin_ctz(hits), l->payload_bytes,
					  false);
		if (group_match(tags, TAG_EMPTY) != 0)
			return NULL;
		idx = idx + 1 == g->group_cnt ? 0 : idx + 1;
	}
}

/* A key that is not there, into its home group; NULL: the group or the page is full. The page is
 * this epoch's already. */
WEIR_INLINE uint64_t *
near_insert(struct table *t, uint64_t *group, uint64_t tag)
{
	struct kstate *st = (struct kstate *)(void *)t->pub.state;
	struct block_meta *m = mem_meta(&st->be->mem, group);
	const uint32_t open = group_match(group, TAG_EMPTY);
	uint64_t *payload;
	uint32_t slot;

	if (open == 0 || m->used >= st->l.page.used_max)
		return NULL;
	slot = (uint32_t)__builtin_ctz(open);
	m->used++;
	m->live++;
	t->count++;
	st->entry_cnt++;
	group[slot] = tag;
	payload = payload_of(group, slot, st->l.payload_bytes, false);
	__builtin_memset(payload, 0, st->l.payload_bytes);
	return payload;
}

/* Any key, any place; may move entries. */
static __attribute__((noinline)) uint64_t *
slow_row(const struct kernel_run *r, uint32_t i)
{
	const struct layout *l = &((struct kstate *)(void *)r->t->pub.state)->l;
	const uint64_t number = row_number(r, i, r->sel != NULL);
	struct key k = { .tag = number + TAG_BIAS, .z = place_z(l, weir_hash_u64(number)) };

	return (uint64_t *)(void *)table_upsert(table_of_key(r->t, &k, true), &k);
}

/* The payload of row i, whose key is not in its home group; may move entries. */
static __attribute__((noinline)) uint64_t *
far_row(const struct kernel_run *r, uint32_t i, uint64_t *group)
{
	struct table *t = r->t;
	const struct layout *l = &((struct kstate *)(void *)t->pub.state)->l;
	const uint64_t tag = row_number(r, i, r->sel != NULL) + TAG_BIAS;
	uint64_t *payload = NULL;

	if (WEIR_LIKELY(tag > TAG_TOMB)) {
		payload = near_payload(l, t->paged ? &l->page : &l->geo[t->order], group, tag);
		if (payload == NULL && t->paged)
			payload = near_insert(t, group, tag);
	}
	return payload != NULL ? payload : slow_row(r, i);
}

/* The page of row i has not been written in this epoch: capture and mark it. Its address. */
static __attribute__((noinline)) uint64_t
page_touch(const struct kernel_run *r, uint32_t i)
{
	const struct layout *l = &((struct kstate *)(void *)r->t->pub.state)->l;
	const uint64_t number = row_number(r, i, r->sel != NULL);
	const struct spot s = table_spot(r->t, place_z(l, weir_hash_u64(number)));

	table_touch(r->t, &s);
	return (uintptr_t)s.block;
}

/*
 * Rows whose key is not in its home group: they wait for the end of the batch while the next group
 * comes into the cache. All rows of a key wait together, so they still are in their order.
 */
struct far_list {
	uint32_t cnt;
	uint8_t row[WEIR_STATE_BATCH_MAX];
	uint64_t *group[WEIR_STATE_BATCH_MAX];
};

WEIR_INLINE void
far_add(struct far_list *far, uint32_t i, uint64_t *group, uint32_t group_bytes)
{
	far->row[far->cnt] = (uint8_t)i;
	far->group[far->cnt] = group;
	far->cnt++;
	/* Behind the last group of a page it is of no use, and does no harm. */
	prefetch_write((uint8_t *)group + group_bytes);
}

static __attribute__((noinline)) void
far_rows(const struct kernel_run *r, const struct far_list *far)
{
	const struct kstate *st = (const struct kstate *)(const void *)r->t->pub.state;
	const uint64_t moves = st->moves;
	const struct variant k = { .add = r->add != NULL, .sel = r->sel != NULL };

	for (uint32_t j = 0; j < far->cnt; j++) {
		const uint32_t i = far->row[j];

		row_done(r, i,
			 WEIR_LIKELY(st->moves == moves) ? far_row(r, i, far->group[j])
							 : slow_row(r, i),
			 k);
	}
}

static __attribute__((noinline)) void
prefetch_rows(const struct kernel_run *r)
{
	const struct layout *l = &((struct kstate *)(void *)r->t->pub.state)->l;

	for (uint32_t i = 0; i < r->n; i++)
		__builtin_prefetch(table_row(
			r->t, place_z(l, weir_hash_u64(row_number(r, i, r->sel != NULL)))));
}

/* --- the passes --- */

/* NULL: the key is not where it was looked for. */
WEIR_INLINE uint64_t *
group_payload(const struct view v, uint64_t *group, uint64_t tag, const struct variant k)
{
	const uint32_t hits = group_match(group, tag);

	return WEIR_LIKELY(hits != 0 && tag > TAG_TOMB)
		       ? payload_of(group, (uint64_t)__builtin_ctz(hits), v.payload_bytes, k.line)
		       : NULL;
}

WEIR_INLINE uint64_t *
slot_payload_at(const struct view v, uint64_t *home, uint64_t *group, uint64_t tag,
		const struct variant k)
{
	if (WEIR_UNLIKELY(*home != tag || tag <= TAG_TOMB))
		return NULL;
	return k.line ? home + GROUP
		      : payload_of(group, (uint64_t)(home - group), v.payload_bytes, false);
}

/* Rows done; *missed: those not at home. */
WEIR_INLINE uint32_t
run_flat(const struct kernel_run *run, const struct view v, uint32_t *missed,
	 const struct variant k)
{
	const struct kernel_run r = *run;
	const struct kstate *st = (const struct kstate *)(const void *)r.t->pub.state;
	const uint64_t moves = st->moves;
	uint32_t misses = 0;

	for (uint32_t i = 0; i < r.n; i++) {
		const uint64_t number = row_number(&r, i, k.sel), tag = number + TAG_BIAS;
		const uint64_t z = number_z(v, number, k);
		uint64_t *payload, *home = home_slot(v, v.flat, z, k.line);
		uint64_t *group = k.line ? line_of(home) : home_group(v, v.flat, z, k.line);

		payload = k.home ? slot_payload_at(v, home, group, tag, k)
				 : group_payload(v, group, tag, k);
		misses += *home != tag;
		if (WEIR_LIKELY(payload != NULL)) {
			row_done(&r, i, payload, k);
			continue;
		}
		payload = far_row(run, i, group);
		row_done(&r, i, payload, k);
		if (WEIR_UNLIKELY(st->moves != moves)) {
			*missed = misses;
			return i + 1;
		}
	}
	*missed = misses;
	return r.n;
}

/* The home group of row i, on its way into the cache; its page is this epoch's. */
WEIR_INLINE uint64_t *
page_stage(const struct kernel_run *run, const struct kernel_run r, const struct view v, uint32_t i,
	   const struct variant k)
{
	const uint64_t z = number_z(v, row_number(&r, i, k.sel), k);
	const uint64_t *row = v.dir + (z >> v.dir_shift) * ROW_WORDS;
	const uint64_t meta = row[ROW_META];
	uint64_t frac, *group;
	const uint64_t page = mul_wide(z << (meta & 63), meta >> 8, &frac);
	uint64_t word = row[page] ^ v.cur;

	if (WEIR_UNLIKELY(word >> EPOCH_SHIFT != 0))
		word = page_touch(run, i);
	group = home_group(v, (uint8_t *)(uintptr_t)word, frac, k.line);
	prefetch_write(group);
	if (!k.line)
		prefetch_write(payload_of(group, weir_mulhi(frac, v.slot_cnt) % GROUP,
					  v.payload_bytes, false));
	return group;
}

WEIR_INLINE void
page_row(const struct kernel_run r, const struct view v, uint32_t i, uint64_t *group,
	 struct far_list *far, const struct variant k)
{
	const uint64_t tag = row_number(&r, i, k.sel) + TAG_BIAS;
	uint64_t *payload = group_payload(v, group, tag, k);

	if (WEIR_LIKELY(payload != NULL))
		row_done(&r, i, payload, k);
	else
		far_add(far, i, group, k.line ? WEIR_LINE : v.group_bytes);
}

WEIR_INLINE uint32_t
run_pages(const struct kernel_run *run, const struct view v, const struct variant k)
{
	const struct kernel_run r = *run;
	const uint32_t first = r.n < AHEAD ? r.n : AHEAD;
	uint64_t *groups[AHEAD];
	struct far_list far;
	uint32_t i;

	far.cnt = 0;
	for (i = 0; i < first; i++)
		groups[i] = page_stage(run, r, v, i, k);
	for (i = 0; i + AHEAD < r.n; i++) {
		uint64_t *group = groups[i % AHEAD];

		groups[i % AHEAD] = page_stage(run, r, v, i + AHEAD, k);
		page_row(r, v, i, group, &far, k);
	}
	for (; i < r.n; i++)
		page_row(r, v, i, groups[i % AHEAD], &far, k);
	if (far.cnt > 0)
		far_rows(run, &far);
	return r.n;
}

WEIR_INLINE struct view
view_of(const struct kernel_run *r)
{
	const struct kstate *st = (const struct kstate *)(const void *)r->t->pub.state;
	const uint32_t order = r->t->paged ? PAGE_ORDER : r->t->order;

	return (struct view){
		.first = st->l.range_first,
		.scale = st->l.range_scale,
		.cur = st->cur,
		.flat = r->t->flat,
		.dir = r->t->dir,
		.shift = st->l.range_shift,
		.dir_shift = 64 - r->t->order,
		.slot_cnt = st->l.geo[order].slot_cnt,
		.group_bytes = st->l.group_bytes,
		.payload_bytes = st->l.payload_bytes,
		.block_shift = 64 - (BLOCK_SHIFT + order),
	};
}

WEIR_INLINE uint32_t
run_variant(const struct kernel_run *r, struct variant k)
{
	struct kstate *st = (struct kstate *)(void *)r->t->pub.state;
	const struct view v = view_of(r);
	uint32_t missed, done;

	if (r->t->paged) {
		if (WEIR_UNLIKELY(r->t->order >= GD_LARGE))
			prefetch_rows(r);
		return run_pages(r, v, k);
	}
	if (WEIR_UNLIKELY(r->t->epoch != epoch_of(st))) {
		const struct spot s = table_spot(r->t, 0);

		table_touch(r->t, &s);
	}
	if (st->miss_avg > MISS_MANY) {
		done = run_flat(r, v, &missed, k);
	} else {
		k.home = true;
		done = run_flat(r, v, &missed, k);
	}
	/* Average of the rows of 256 that missed, times 8, over about 8 batches. */
	st->miss_avg = st->miss_avg - st->miss_avg / 8 + missed * 256 / r->n;
	return done;
}

/* The common shapes get bodies of their own. */
WEIR_INLINE uint32_t
run_shape(const struct kernel_run *r, struct variant k)
{
	const struct layout *l = &((const struct kstate *)(const void *)r->t->pub.state)->l;

	if (l->payload_bytes != 8)
		return run_variant(r, k);
	k.line = true;
	if (l->range_scale != 0)
		return run_variant(r, k);
	k.pow2 = true;
	if (l->range_first != 0 || l->range_shift != 0)
		return run_variant(r, k);
	k.whole = true;
	return run_variant(r, k);
}

static uint32_t
kernel_run(const struct kernel_run *r)
{
	if (r->n == 0)
		return 0;
	if (r->add != NULL)
		return r->sel != NULL ? run_shape(r, (struct variant){ .add = true, .sel = true })
				      : run_shape(r, (struct variant){ .add = true });
	return r->sel != NULL ? run_shape(r, (struct variant){ .sel = true })
			      : run_shape(r, (struct variant){ 0 });
}

#endif /* WEIR_STATEBACKEND_HASH_KERNEL_INL_H */
