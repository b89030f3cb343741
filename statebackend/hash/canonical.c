/*
 * Snapshot of a kstate as sorted entries (S1): the order is key group, namespace, key, which no
 * walk of the pages gives. So key groups are taken in batches:
 *
 *   TABLES   entries of the batch's places, from blocks that have not changed since the freeze
 *   SHADOWS  the same from copies of those that have: snap_capture() leaves every copy in the
 *            region
 *   WRITE    merged, into chunks; on to the next batch
 *
 * A block that changes while a batch is gathered may be met as itself and as its copy; both hold
 * the entries of the freeze, so the second of two equal keys is left out. A batch holds as many key
 * groups as fit a few MiB, so that many small tables are not walked once per key group.
 */

#include "statebackend/hash/hash_priv.h"

#include <string.h>

#define BATCH_MAX  (4u << 20) /* bytes of sorting after which batches shrink */
#define BATCH_PART 16u	      /* of the region */
#define GROUPS_MAX (1u << 14)
#define SORT_COST  8u /* work per byte gathered or written, against one that is only walked */

static bool
is_odd_entry(const struct weir_record *r)
{
	return (r->flags & WEIR_RECORD_ODD) != 0;
}

static uint32_t
group_of(const struct canonical *c, uint64_t place)
{
	return c->group_bits == 0 ? 0 : (uint32_t)(place >> (64 - c->group_bits));
}

/* From first on, group_cnt key groups; the range's end cuts them off. */
static void
batch_start(struct kstate *st, uint64_t first)
{
	struct canonical *c = &st->snap.canonical;
	const uint64_t next = (uint64_t)group_of(c, first) + c->group_cnt;

	c->first = first;
	c->last = next >= 1ull << c->group_bits ? UINT64_MAX : (next << (64 - c->group_bits)) - 1;
	if (c->last > st->pub.spec.hash_last)
		c->last = st->pub.spec.hash_last;
	c->phase = CANONICAL_TABLES;
	c->done = NULL;
	/* Tables of the freeze stay where they are in the list until it is over. */
	st->snap.at = st->snap.last != NULL ? st->head : NULL;
	st->snap.at_z = place_z(&st->l, first);
}

void
canonical_start(struct kstate *st)
{
	const struct weir_kstate_spec *spec = &st->pub.spec;
	const struct weir_seg_header head = {
		.kind = WEIR_SEGMENT_CANONICAL,
		.operator_idx = spec->operator_idx,
		.subtask = spec->subtask,
		.state_idx = spec->state_idx,
		.hash_first = spec->hash_first,
		.hash_last = spec->hash_last,
		.key_mode = st->l.mode == MODE_BYTES ? 2 : 1,
		.key_bytes = st->l.key_bytes,
		.value_bytes = st->l.value_bytes,
		.grouped = st->l.grouped,
	};
	struct canonical *c = &st->snap.canonical;

	weir_canonical_begin(&c->out, st->snap.writer, &head);
	sorter_init(&c->sorter, &st->be->mem, st->l.value_bytes);
	c->group_bits = (uint32_t)__builtin_ctz(c->out.head.key_groups);
	c->group_cnt = 1;
	batch_start(st, spec->hash_first);
}

void
canonical_stop(struct kstate *st)
{
	struct canonical *c = &st->snap.canonical;

	weir_canonical_drop(&c->out);
	st->be->frozen_bytes -= sorter_bytes(&c->sorter);
	sorter_clear(&c->sorter);
}

/* It is over, with success: what stayed for its sake goes. */
static void
finish(struct kstate *st)
{
	struct table *next;

	while (st->snap.shadows != NULL) {
		struct shadow *s = st->snap.shadows;

		st->snap.shadows = s->next;
		shadow_free(st, s);
	}
	st->snap.active = false;
	for (struct table *t = st->head; t != NULL; t = next) {
		next = t->next;
		if (t->dropped)
			table_destroy(t);
	}
}

/* ---- gathering ---- */

static uint64_t
row_end(uint64_t prefix, uint32_t depth)
{
	return depth == 0 ? UINT64_MAX : ((prefix + 1) << (64 - depth)) - 1;
}

bool
canonical_is_past(const struct kstate *st, const struct table *t, const struct spot *s)
{
	uint64_t at;
	uint32_t depth;

	if (s->word == NULL)
		return false;
	at = (uint64_t)(s->word - t->dir) / ROW_WORDS;
	depth = row_depth(t->dir + at * ROW_WORDS);
	return row_end(at >> (t->order - depth), depth) < place_z(&st->l, st->snap.canonical.first);
}

/* False: no memory. */
static bool
add(struct kstate *st, int64_t ns, uint64_t place, const void *key, uint32_t key_len,
    const void *value, uint64_t *work)
{
	struct canonical *c = &st->snap.canonical;
	const struct sort_item head = {
		.place = place, .ns = ns, .key_group = group_of(c, place), .key_len = key_len
	};
	const uint64_t was = sorter_bytes(&c->sorter);

	if (place < c->first || place > c->last)
		return true;
	if (!sorter_add(&c->sorter, &head, key, value))
		return false;
	st->be->frozen_bytes += sorter_bytes(&c->sorter) - was;
	*work += SORT_COST * (sizeof(head) + key_len + st->l.value_bytes);
	return true;
}

/* A block as it was at the freeze; of a copy, long keys stand in shadows of their own. */
static bool
add_block(struct kstate *st, int64_t ns, uint64_t bias, uint8_t *block, uint32_t slot_cnt,
	  bool is_copy, uint64_t *work)
{
	const struct layout *l = &st->l;

	for (uint32_t slot = 0; slot < slot_cnt; slot++) {
		struct key k;
		uint64_t number;
		bool ok;

		if (*slot_tag(l, block, slot) <= TAG_TOMB)
			continue;
		k = block_key(l, bias, block, slot);
		if (l->mode == MODE_NUMBER) {
			number = k.tag - bias;
			k.bytes = &number;
			k.len = l->key_bytes;
			k.tag = weir_hash_u64(number);
		} else if (l->mode == MODE_BYTES && is_copy && k.len > KEY_INLINE_MAX) {
			continue;
		}
		ok = add(st, ns, k.tag, k.bytes, k.len, slot_payload(l, block, slot) + l->value_at,
			 work);
		if (!ok)
			return false;
	}
	return true;
}

static void
next_table(struct kstate *st)
{
	struct snap *snap = &st->snap;

	snap->at = snap->at == snap->last ? NULL : snap->at->next;
	snap->at_z = place_z(&st->l, snap->canonical.first);
}

/* The row, or flat block, that the walk stands on. */
static bool
tables_step(struct kstate *st, uint64_t *work)
{
	struct snap *snap = &st->snap;
	struct table *t = snap->at;
	const uint64_t z_last = place_z(&st->l, snap->canonical.last);
	uint64_t *row, end;
	bool ok = true;

	*work += WEIR_LINE;
	if (!t->paged) {
		const struct spot s = table_spot(t, 0);

		*work += s.geo->bytes;
		if (s.meta->captured != snap->no)
			ok = add_block(st, t->ns, t->bias, s.block, s.geo->slot_cnt, false, work);
		next_table(st);
		return ok;
	}
	row = table_row(t, snap->at_z);
	for (uint32_t i = 0; ok && i < row_pages(row); i++) {
		const struct spot s = row_spot(t, row, i);

		*work += s.geo->bytes;
		if (s.meta->captured != snap->no)
			ok = add_block(st, t->ns, t->bias, s.block, s.geo->slot_cnt, false, work);
	}
	end = row_end(z_prefix(snap->at_z, row_depth(row)), row_depth(row));
	if (end >= z_last)
		next_table(st);
	else
		snap->at_z = end + 1;
	return ok;
}

static bool
shadows_step(struct kstate *st, uint64_t *work)
{
	struct canonical *c = &st->snap.canonical;
	struct shadow *s = *c->shadow;
	struct weir_record r;
	uint64_t z_end;

	memcpy(&r, s->record, sizeof(r));
	*work += WEIR_LINE + r.image_bytes;
	z_end = r.kind == WEIR_RECORD_ENTRY ? place_z(&st->l, r.prefix)
		: r.pages == 0		    ? UINT64_MAX
					    : row_end(r.prefix, r.depth);
	if (z_end < place_z(&st->l, c->first)) {
		*c->shadow = s->next;
		shadow_free(st, s);
		return true;
	}
	c->shadow = &s->next;
	if (r.kind == WEIR_RECORD_ENTRY)
		return add(st, r.ns, r.prefix, s->image, r.key_len,
			   s->image + weir_align_up(r.key_len, 8), work);
	return add_block(st, r.ns, is_odd_entry(&r) ? TAG_BIAS_ODD : TAG_BIAS, s->image, r.slot_cnt,
			 true, work);
}

/* ---- writing ---- */

/* False: no chunk is free. */
static bool
write_step(struct kstate *st, uint64_t *work)
{
	struct canonical *c = &st->snap.canonical;
	const struct sort_item *i = sorter_top(&c->sorter);
	const struct weir_canonical_entry e = { .place = i->place,
						.ns = i->ns,
						.key = sort_item_key(i),
						.key_len = i->key_len,
						.key_group = i->key_group,
						.value = sort_item_value(i) };

	/* Many runs are more than the caches hold. */
	*work += (c->sorter.run_cnt > 128 ? 5 : 1) * SORT_COST *
		 (sizeof(*i) + i->key_len + st->l.value_bytes);
	if ((c->done == NULL || sort_item_compare(c->done, i) != 0) &&
	    !weir_canonical_put(&c->out, &e))
		return false;
	c->done = i;
	sorter_pop(&c->sorter);
	return true;
}

/* All of the batch is written. */
static void
batch_end(struct kstate *st)
{
	struct canonical *c = &st->snap.canonical;
	const uint64_t region = (uint64_t)st->be->mem.page_cnt << MEM_PAGE_SHIFT;
	const uint64_t most = region / BATCH_PART < BATCH_MAX ? region / BATCH_PART : BATCH_MAX;
	const uint64_t was = sorter_bytes(&c->sorter);

	if (was <= most / 4 && c->group_cnt < GROUPS_MAX)
		c->group_cnt *= 2;
	else if (was > most && c->group_cnt > 1)
		c->group_cnt /= 2;
	st->be->frozen_bytes -= was;
	sorter_clear(&c->sorter);
	batch_start(st, c->last + 1);
}

/* No memory for the batch: a smaller one, if there is. */
static bool
batch_again(struct kstate *st)
{
	struct canonical *c = &st->snap.canonical;

	if (c->group_cnt == 1) {
		snap_give_up(st);
		return false;
	}
	c->group_cnt /= 2;
	st->be->frozen_bytes -= sorter_bytes(&c->sorter);
	sorter_clear(&c->sorter);
	batch_start(st, c->first);
	return true;
}

/* One step. *out_of_chunks: it has to wait. False: memory was short. */
static bool
step(struct kstate *st, uint64_t *work, bool *out_of_chunks)
{
	struct canonical *c = &st->snap.canonical;

	switch (c->phase) {
	case CANONICAL_TABLES:
		if (st->snap.at != NULL)
			return tables_step(st, work);
		c->phase = CANONICAL_SHADOWS;
		c->shadow = &st->snap.shadows;
		return true;
	case CANONICAL_SHADOWS:
		if (*c->shadow != NULL)
			return shadows_step(st, work);
		c->phase = CANONICAL_WRITE;
		return sorter_start(&c->sorter);
	case CANONICAL_WRITE:
		if (sorter_top(&c->sorter) != NULL)
			*out_of_chunks = !write_step(st, work);
		else if (c->last < st->pub.spec.hash_last)
			batch_end(st);
		else
			*out_of_chunks = !weir_canonical_end(&c->out);
		return true;
	}
	return true;
}

static bool
is_through(const struct kstate *st)
{
	const struct canonical *c = &st->snap.canonical;

	return c->phase == CANONICAL_WRITE && sorter_top(&c->sorter) == NULL &&
	       c->last == st->pub.spec.hash_last && c->out.head.part > 0 && c->out.chunk == NULL;
}

bool
canonical_slice(struct kstate *st, uint64_t budget)
{
	uint64_t work = 0;
	bool wait = false;

	while (!is_through(st)) {
		if (work >= budget || wait)
			return false;
		if (!step(st, &work, &wait) && !batch_again(st))
			return true;
	}
	canonical_stop(st);
	finish(st);
	return true;
}
