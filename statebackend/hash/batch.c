/* Look-ups by batch, the plain form: any key, row by row. The staged kernels are in kernel_inl.h.
 */

#include "statebackend/hash/kernel.h"

#include <string.h>

static uint64_t
number_at(const void *column, uint32_t key_bytes, uint32_t row)
{
	const uint8_t *at = (const uint8_t *)column + (uint64_t)row * key_bytes;
	uint64_t k = 0;

	if (key_bytes == 8)
		memcpy(&k, at, 8);
	else
		memcpy(&k, at, key_bytes);
	return k;
}

struct key
key_make(const struct table *t, const struct weir_keys *keys, uint32_t row)
{
	const struct kstate *st = (const struct kstate *)(const void *)t->pub.state;
	const struct layout *l = &st->l;
	struct key k = { 0 };
	uint64_t place;

	if (l->mode == MODE_NUMBER) {
		const uint64_t number = number_at(keys->fixed, l->key_bytes, row);

		k.tag = number + TAG_BIAS;
		k.z = place_z(l, weir_hash_u64(number));
		return k;
	}
	if (l->mode == MODE_FIXED) {
		k.bytes = (const uint8_t *)keys->fixed + (uint64_t)row * l->key_bytes;
		k.len = l->key_bytes;
	} else {
		k.bytes = keys->heap + keys->bytes[row].off;
		k.len = keys->bytes[row].len;
		WEIR_ASSERT(k.len <= WEIR_KEY_BYTES_MAX);
	}
	if (l->grouped)
		place = place_grouped(keys->hash[row],
				      weir_key_hash(st->pub.spec.key_kind, k.bytes, k.len));
	else
		place = keys->hash != NULL ? keys->hash[row]
					   : weir_key_hash(st->pub.spec.key_kind, k.bytes, k.len);
	WEIR_ASSERT_HOT(place >= st->pub.spec.hash_first && place <= st->pub.spec.hash_last);
	k.tag = tag_of_place(place);
	k.z = place_z(l, k.tag);
	return k;
}

struct table *
table_of_key(struct table *t, struct key *k, bool make)
{
	struct kstate *st = (struct kstate *)(void *)t->pub.state;

	if (WEIR_LIKELY(k->tag > TAG_TOMB))
		return t;
	k->tag += TAG_BIAS_ODD - TAG_BIAS;
	if (t->odd == NULL && make) {
		t->odd = table_make(st, t->ns, true);
		WEIR_ASSERT(t->odd != NULL); /* weir_kstate_reserve() */
	}
	return t->odd;
}

/* Stage 1: all keys of the batch, their home groups on the way into the cache. */
static void
keys_stage(struct table *t, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
	   struct key *out)
{
	const struct layout *l = &((const struct kstate *)(const void *)t->pub.state)->l;

	for (uint32_t i = 0; i < n; i++) {
		out[i] = key_make(t, keys, sel != NULL ? sel[i] : i);
		if (t->paged) {
			const struct spot s = table_spot(t, out[i].z);
			const uint32_t home = (uint32_t)weir_mulhi(s.frac, s.geo->slot_cnt);

			__builtin_prefetch(slot_tag(l, s.block, home), 1);
			__builtin_prefetch(slot_payload(l, s.block, home), 1);
		}
	}
}

static uint8_t *
upsert(struct table *t, const struct key *of)
{
	struct key k = *of;

	t = table_of_key(t, &k, true);
	return table_upsert(t, &k);
}

void
plain_batch(struct table *t, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
	    void **values)
{
	const struct kstate *st = (const struct kstate *)(const void *)t->pub.state;
	struct key k[WEIR_STATE_BATCH_MAX];
	uint64_t moves;

	keys_stage(t, keys, sel, n, k);
	/* What an insert moved is resolved again; the second time nothing is inserted. */
	do {
		moves = st->moves;
		for (uint32_t i = 0; i < n; i++)
			values[i] = upsert(t, &k[i]) + st->l.value_at;
	} while (moves != st->moves);
}

void
plain_add_u64(struct table *t, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
	      const uint64_t *add, uint64_t *sums)
{
	const struct kstate *st = (const struct kstate *)(const void *)t->pub.state;
	struct key k[WEIR_STATE_BATCH_MAX];

	keys_stage(t, keys, sel, n, k);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *v = (uint64_t *)(void *)(upsert(t, &k[i]) + st->l.value_at);

		const uint32_t row = sel != NULL ? sel[i] : i;

		*v += add[row];
		sums[row] = *v;
	}
}

/* Can a kernel read the keys where they stand? */
static bool
numbers_there(const struct layout *l, const struct weir_keys *keys)
{
	return l->key_bytes == sizeof(uint64_t) && (uintptr_t)keys->fixed % sizeof(uint64_t) == 0;
}

/* Keys of a batch as a dense array of numbers. */
static const uint64_t *
numbers_pick(const struct layout *l, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
	     uint64_t *room)
{
	for (uint32_t i = 0; i < n; i++)
		room[i] = number_at(keys->fixed, l->key_bytes, sel != NULL ? sel[i] : i);
	return room;
}

/* All rows of a batch of number keys: a kernel stops behind a row that moved entries. */
static void
kernel_rows(const struct kstate *st, struct kernel_run run)
{
	const uint32_t n = run.n;

	for (uint32_t done = 0; done < n;) {
		const uint32_t cnt = st->kernel->run(&run);

		done += cnt;
		run.n = n - done;
		if (run.values != NULL)
			run.values += cnt;
		if (run.sel != NULL) {
			run.sel += cnt;
			continue;
		}
		run.numbers += cnt;
		if (run.add != NULL) {
			run.add += cnt;
			run.sums += cnt;
		}
	}
}

void
hash_batch(struct weir_table *pub, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
	   void **values)
{
	struct table *t = (struct table *)(void *)pub;
	const struct kstate *st = (const struct kstate *)(const void *)pub->state;
	struct kernel_run run = { .t = t, .sel = sel, .values = values, .n = n };
	uint64_t room[WEIR_STATE_BATCH_MAX], moves;

	WEIR_ASSERT(n <= WEIR_STATE_BATCH_MAX);
	if (st->l.mode != MODE_NUMBER) {
		plain_batch(t, keys, sel, n, values);
		return;
	}
	run.numbers = keys->fixed;
	if (!numbers_there(&st->l, keys)) {
		run.numbers = numbers_pick(&st->l, keys, sel, n, room);
		run.sel = NULL;
	}
	/* What an insert moved is resolved again; the second time nothing is inserted. */
	do {
		moves = st->moves;
		kernel_rows(st, run);
	} while (moves != st->moves);
}

/* Keys that are not in an array of 64-bit numbers: all columns of the batch made dense first. */
static void
dense_add_u64(struct table *t, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
	      const uint64_t *add, uint64_t *sums)
{
	const struct kstate *st = (const struct kstate *)(const void *)t->pub.state;
	uint64_t numbers[WEIR_STATE_BATCH_MAX], adds[WEIR_STATE_BATCH_MAX];
	uint64_t made[WEIR_STATE_BATCH_MAX];
	struct kernel_run run = {
		.t = t,
		.numbers = numbers_pick(&st->l, keys, sel, n, numbers),
		.add = add,
		.sums = sums,
		.n = n,
	};

	if (sel != NULL) {
		for (uint32_t i = 0; i < n; i++)
			adds[i] = add[sel[i]];
		run.add = adds;
		run.sums = made;
	}
	kernel_rows(st, run);
	for (uint32_t i = 0; i < n && sel != NULL; i++)
		sums[sel[i]] = made[i];
}

/* Nobody reads the sums: they go where the row numbers cannot reach beyond. */
static void
add_unread(struct table *t, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
	   const uint64_t *add)
{
	const struct weir_table *pub = &t->pub;
	void *values[WEIR_STATE_BATCH_MAX];

	pub->ops->batch(&t->pub, keys, sel, n, values);
	for (uint32_t i = 0; i < n; i++)
		*(uint64_t *)values[i] += add[sel != NULL ? sel[i] : i];
}

void
hash_add_u64(struct weir_table *pub, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
	     const uint64_t *add, uint64_t *sums)
{
	struct table *t = (struct table *)(void *)pub;
	const struct kstate *st = (const struct kstate *)(const void *)pub->state;

	WEIR_ASSERT(n <= WEIR_STATE_BATCH_MAX);
	WEIR_ASSERT(pub->state->spec.value_bytes >= sizeof(uint64_t));
	if (sums == NULL)
		add_unread(t, keys, sel, n, add);
	else if (st->l.mode != MODE_NUMBER)
		plain_add_u64(t, keys, sel, n, add, sums);
	else if (!numbers_there(&st->l, keys))
		dense_add_u64(t, keys, sel, n, add, sums);
	else
		kernel_rows(st, (struct kernel_run){ .t = t,
						     .numbers = keys->fixed,
						     .sel = sel,
						     .add = add,
						     .sums = sums,
						     .n = n });
}

void
hash_find(struct weir_table *pub, const struct weir_keys *keys, const uint16_t *sel, uint32_t n,
	  const void **values)
{
	struct table *t = (struct table *)(void *)pub;
	const struct kstate *st = (const struct kstate *)(const void *)pub->state;
	struct key k[WEIR_STATE_BATCH_MAX];

	WEIR_ASSERT(n <= WEIR_STATE_BATCH_MAX);
	keys_stage(t, keys, sel, n, k);
	for (uint32_t i = 0; i < n; i++) {
		struct table *of = table_of_key(t, &k[i], false);
		const uint8_t *payload = of != NULL ? table_lookup(of, &k[i]) : NULL;

		values[i] = payload != NULL ? payload + st->l.value_at : NULL;
	}
}

bool
hash_remove(struct weir_table *pub, const void *key, uint32_t key_len, uint64_t hash)
{
	const struct weir_bytes bytes = { .off = 0, .len = key_len };
	const struct weir_keys keys = { .fixed = key, .bytes = &bytes, .heap = key, .hash = &hash };
	struct table *t = (struct table *)(void *)pub;
	struct key k = key_make(t, &keys, 0);
	struct table *of = table_of_key(t, &k, false);

	return of != NULL && table_delete(of, &k);
}
