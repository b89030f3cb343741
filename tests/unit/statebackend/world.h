#ifndef TESTS_UNIT_STATEBACKEND_WORLD_H
#define TESTS_UNIT_STATEBACKEND_WORLD_H

/* A backend, a kstate and its model, and random operations on both. */

#include <criterion/criterion.h>

#include "engine/base/rng.h"
#include "statebackend/backend.h"
#include "statebackend/hash/hash.h"
#include "tests/unit/statebackend/model.h"

static const struct weir_kstate_spec NUMBERS = {
	.name = "numbers",
	.operator_idx = 3,
	.subtask = 1,
	.key_kind = WEIR_KEY_FIXED,
	.key_bytes = 8,
	.value_bytes = 8,
	.hash_last = UINT64_MAX,
};

struct world {
	void *region;
	struct weir_backend *be;
	struct weir_kstate *st;
	struct model m;
	struct weir_rng rng;
	uint64_t key_cnt; /* keys are drawn below this */
	int64_t ns_cnt;
	bool scrambled;
};

static inline struct weir_backend *
world_backend(void **region, uint64_t bytes)
{
	struct weir_error err;
	struct weir_backend *be;

	*region = malloc(bytes);
	memset(*region, 0xa5, bytes);
	be = weir_backend_hash_open(
		&(struct weir_backend_hash_config){
			.base = *region, .bytes = bytes, .budget_key = "state.memory" },
		&err);
	cr_assert(be != NULL, "%s", err.text);
	return be;
}

static inline void
world_init(struct world *w, const struct weir_kstate_spec *spec, uint64_t bytes, uint64_t seed)
{
	struct weir_error err;

	memset(w, 0, sizeof(*w));
	w->be = world_backend(&w->region, bytes);
	w->st = weir_kstate_open(w->be, spec, &err);
	cr_assert(w->st != NULL, "%s", err.text);
	model_init(&w->m);
	w->rng = (struct weir_rng){ seed };
	w->key_cnt = 5000;
	w->ns_cnt = 1;
}

static inline void
world_fini(struct world *w)
{
	model_fini(&w->m);
	free(w->region);
}

/* Key number nr as bytes: dense or scrambled numbers, or strings of 0..200 bytes. Its length. */
static inline uint32_t
world_key(const struct world *w, uint64_t nr, uint8_t *key)
{
	const struct weir_kstate_spec *spec = &w->st->spec;
	uint32_t len = spec->key_bytes;

	if (w->scrambled)
		nr = weir_mix(nr + 1);
	if (spec->key_kind == WEIR_KEY_BYTES) {
		const uint64_t r = weir_mix(nr);

		len = r % 50 == 0 ? (uint32_t)(r >> 20) % 4097 : (uint32_t)(r >> 20) % 40;
		for (uint32_t i = 0; i < len; i++)
			key[i] = (uint8_t)(r >> i % 8 * 8);
		if (len >= 8)
			memcpy(key, &nr, 8);
		return len;
	}
	memset(key, 0, len);
	memcpy(key, &nr, len < 8 ? len : 8);
	return len;
}

static inline uint64_t
world_hash(const struct world *w, const uint8_t *key, uint32_t len)
{
	if (w->st->spec.grouped)
		return weir_mix(len > 0 ? key[0] : 0);
	return weir_key_hash(w->st->spec.key_kind, key, len);
}

/* Place in the hash order, as an iteration gives it. */
static inline uint64_t
world_place(const struct world *w, const uint8_t *key, uint32_t len)
{
	const uint64_t own = weir_key_hash(w->st->spec.key_kind, key, len);

	if (w->st->spec.grouped)
		return (world_hash(w, key, len) & 0xffffull << 48) | (own & ~(0xffffull << 48));
	return own;
}

static inline int64_t
world_ns(struct world *w)
{
	return (int64_t)weir_rng_below(&w->rng, (uint64_t)w->ns_cnt) * 1000 - 3000;
}

/* A batch of up to 256 rows through get-or-make or the fused addition. */
static inline void
world_batch(struct world *w)
{
	enum { ROWS = 256 };
	static uint8_t heap[ROWS * 4100], fixed[ROWS * 256];
	struct weir_bytes bytes[ROWS];
	uint64_t add[ROWS], sums[ROWS], hash[ROWS];
	uint16_t sel[ROWS];
	void *values[ROWS];
	const struct weir_kstate_spec *spec = &w->st->spec;
	const uint32_t width = spec->value_bytes < 8 ? spec->value_bytes : 8;
	const int64_t ns = world_ns(w);
	const bool own_hash = spec->grouped || weir_rng_below(&w->rng, 2) == 0;
	struct weir_keys keys = { .fixed = fixed, .bytes = bytes, .heap = (char *)heap };
	uint32_t n = 0, at = 0;
	struct weir_table *t;

	cr_assert_eq(weir_kstate_reserve(w->st, ROWS + 1), WEIR_STATE_ROOM);
	t = weir_kstate_table(w->st, ns, true);
	for (uint32_t i = 0; i < ROWS; i++) {
		const uint64_t nr = weir_rng_below(&w->rng, w->key_cnt);

		bytes[i].off = at;
		bytes[i].len = world_key(w, nr, heap + at);
		if (spec->key_kind == WEIR_KEY_FIXED)
			memcpy(fixed + i * spec->key_bytes, heap + at, spec->key_bytes);
		hash[i] = world_hash(w, heap + at, bytes[i].len);
		at += bytes[i].len;
		add[i] = nr * 3 + 1;
		if (world_place(w, heap + bytes[i].off, bytes[i].len) >= spec->hash_first &&
		    world_place(w, heap + bytes[i].off, bytes[i].len) <= spec->hash_last &&
		    weir_rng_below(&w->rng, 4) != 0)
			sel[n++] = (uint16_t)i;
	}
	if (own_hash)
		keys.hash = hash;
	if (spec->value_bytes >= 8 && weir_rng_below(&w->rng, 2) == 0) {
		weir_table_add_u64(t, &keys, sel, n, add, sums);
	} else {
		weir_table_batch(t, &keys, sel, n, values);
		for (uint32_t i = 0; i < n; i++) {
			uint64_t v = 0;

			memcpy(&v, values[i], width);
			v += add[sel[i]];
			memcpy(values[i], &v, width);
			sums[sel[i]] = v;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *key = heap + bytes[sel[i]].off;
		const uint32_t len = bytes[sel[i]].len;
		struct model_entry *e = model_put(&w->m, ns, key, len, world_place(w, key, len));

		e->value += add[sel[i]];
		cr_assert(memcmp(&e->value, &sums[sel[i]], width) == 0, "row %u", i);
	}
}

static inline void
world_remove(struct world *w)
{
	uint8_t key[4100];
	const int64_t ns = world_ns(w);
	struct weir_table *t = weir_kstate_table(w->st, ns, false);

	if (t == NULL)
		return;
	cr_assert_eq(weir_kstate_reserve(w->st, 1), WEIR_STATE_ROOM);
	for (uint32_t i = 0; i < 100; i++) {
		const uint32_t len = world_key(w, weir_rng_below(&w->rng, w->key_cnt), key);
		const uint64_t place = world_place(w, key, len);

		if (place < w->st->spec.hash_first || place > w->st->spec.hash_last)
			continue;
		cr_assert_eq(weir_table_remove(t, key, len, world_hash(w, key, len)),
			     model_remove(&w->m, ns, key, len, place));
	}
}

static inline void
world_drop(struct world *w)
{
	const int64_t ns = world_ns(w);
	struct weir_table *t = weir_kstate_table(w->st, ns, false);

	if (t == NULL)
		return;
	weir_table_drop(t);
	model_drop(&w->m, ns);
	cr_assert_null(weir_kstate_table(w->st, ns, false));
}

/* What a snapshot held of the memory is back. */
static inline void
world_nothing_is_frozen(const struct world *w)
{
	struct weir_state_usage usage;

	weir_backend_usage(w->be, &usage);
	cr_assert_eq(usage.frozen_bytes, 0);
}

/* One random step. */
static inline void
world_step(struct world *w)
{
	const uint64_t dice = weir_rng_below(&w->rng, 20);

	if (dice < 14)
		world_batch(w);
	else if (dice < 19 || w->ns_cnt == 1)
		world_remove(w);
	else
		world_drop(w);
}

static inline void
world_steps(struct world *w, uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++)
		world_step(w);
}

static inline void
world_check(struct world *w)
{
	/* The model keeps places as hashes; a look-up by place works unless grouped. */
	const int differs = model_differs(&w->m, w->st, 0, UINT64_MAX);

	cr_assert_eq(differs, 0, "check %d failed", differs);
}

#endif /* TESTS_UNIT_STATEBACKEND_WORLD_H */
