/* Slices of a window's panes (T26): every key once, merged, in its place of the hash order. */

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/operators/slice.h"
#include "statebackend/hash/hash.h"

#define PANE_NS 10
#define KEYS	20000u

static void *region;
static struct weir_kstate *panes;
static struct weir_slice *slice;
static uint64_t seen[KEYS];
static const struct weir_aggs aggs = { .cnt = 2, .agg = { { WEIR_COUNT, 0 }, { WEIR_SUM, 0 } } };

static void
setup(enum weir_key_kind kind)
{
	const struct weir_backend_hash_config cfg = { .bytes = 64 << 20,
						      .budget_key = "memory.state" };
	const struct weir_kstate_spec spec = {
		.name = "panes",
		.key_kind = kind,
		.key_bytes = kind == WEIR_KEY_FIXED ? 8 : 0,
		.value_bytes = 16,
		.hash_first = 0,
		.hash_last = UINT64_MAX,
	};
	struct weir_backend_hash_config own = cfg;
	struct weir_error err;
	struct weir_backend *be;

	region = malloc(cfg.bytes);
	own.base = region;
	be = weir_backend_hash_open(&own, &err);
	cr_assert_not_null(be);
	panes = weir_kstate_open(be, &spec, &err);
	cr_assert_not_null(panes);
	slice = malloc(weir_slice_bytes(&aggs));
	memset(seen, 0, sizeof(seen));
}

static void
teardown(void)
{
	free(slice);
	free(region);
}

static void
add(int64_t pane, uint64_t key, bool text)
{
	char bytes[32];
	const int len = snprintf(bytes, sizeof(bytes), "key-%llu", (unsigned long long)key);
	const void *at = text ? (const void *)bytes : &key;
	const uint32_t key_len = text ? (uint32_t)len : 8;
	uint64_t *acc;

	cr_assert_eq(weir_kstate_reserve(panes, 2), WEIR_STATE_ROOM);
	acc = weir_table_put(weir_kstate_table(panes, pane, true), at, key_len,
			     weir_key_hash(panes->spec.key_kind, at, key_len));
	acc[0]++;
	acc[1] += key + (uint64_t)pane;
}

/* Key k is in pane p of 5 if k % (p + 1) is 0, and in one that is not the window's. */
static void
fill(bool text)
{
	for (uint64_t k = 0; k < KEYS; k++) {
		for (int64_t p = 0; p < 5; p++)
			if (k % (uint64_t)(p + 1) == 0)
				add(p * PANE_NS, k, text);
		add(5 * PANE_NS, k, text);
	}
}

static void
check_row(const struct weir_slice_row *row, bool text)
{
	const void *at = weir_slice_key(row);
	uint64_t key, cnt = 0, sum = 0;
	char digits[32] = "";

	if (text) {
		memcpy(digits, (const char *)at + 4, row->key_len - 4);
		key = strtoull(digits, NULL, 10);
	} else {
		memcpy(&key, at, sizeof(key));
	}
	for (uint64_t p = 0; p < 5; p++)
		if (key % (p + 1) == 0)
			cnt++, sum += key + p * PANE_NS;
	cr_assert_geq(row->hash, slice->first);
	cr_assert_leq(row->hash, slice->last);
	cr_assert_lt(key, KEYS);
	cr_assert_eq(seen[key]++, 0, "key %llu twice", (unsigned long long)key);
	cr_assert_eq(row->acc[0], cnt);
	cr_assert_eq(row->acc[1], sum);
}

/* Returns the number of slices. */
static uint32_t
go_through(uint32_t want, bool text)
{
	uint32_t slices = 0, rows = 0;

	weir_slice_begin(slice, panes, &aggs, 0, 5 * PANE_NS, want);
	for (;;) {
		uint32_t met;

		cr_assert(weir_slice_gather(slice, &met));
		cr_assert_geq(met, slice->cnt);
		slices++;
		rows += slice->cnt;
		for (uint32_t i = 0; i < slice->cnt; i++)
			check_row(weir_slice_row(slice, i), text);
		if (weir_slice_is_last(slice))
			break;
		weir_slice_advance(slice);
	}
	cr_assert_eq(rows, KEYS);
	return slices;
}

Test(slice, numbers_of_five_panes)
{
	setup(WEIR_KEY_FIXED);
	fill(false);
	cr_assert_gt(go_through(1000, false), 40);
	teardown();
}

Test(slice, byte_strings_of_five_panes)
{
	setup(WEIR_KEY_BYTES);
	fill(true);
	cr_assert_gt(go_through(4096, true), 10);
	teardown();
}

Test(slice, too_wide_ones_are_made_narrower)
{
	setup(WEIR_KEY_FIXED);
	fill(false);
	cr_assert_geq(go_through(UINT32_MAX, false), KEYS / WEIR_SLICE_ROWS + 1);
	teardown();
}

Test(slice, one_pane_needs_no_merge)
{
	uint32_t met, rows = 0;

	setup(WEIR_KEY_FIXED);
	fill(false);
	weir_slice_begin(slice, panes, &aggs, 0, PANE_NS, 512);
	for (;;) {
		cr_assert(weir_slice_gather(slice, &met));
		cr_assert_eq(met, slice->cnt);
		rows += slice->cnt;
		if (weir_slice_is_last(slice))
			break;
		weir_slice_advance(slice);
	}
	cr_assert_eq(rows, KEYS);
	teardown();
}

Test(slice, nothing_is_one_empty_slice)
{
	uint32_t met;

	setup(WEIR_KEY_FIXED);
	weir_slice_begin(slice, panes, &aggs, 0, PANE_NS, 512);
	cr_assert(weir_slice_gather(slice, &met));
	cr_assert_eq(slice->cnt, 0);
	cr_assert(weir_slice_is_last(slice));
	teardown();
}
