#include "statebackend/hash/hash.h"

#include "tests/unit/statebackend/world.h"

static void
run(struct weir_kstate_spec spec, uint64_t key_cnt, int64_t ns_cnt, bool scrambled, uint32_t steps)
{
	struct world w;

	world_init(&w, &spec, 96u << 20, key_cnt + (uint64_t)ns_cnt);
	w.key_cnt = key_cnt;
	w.ns_cnt = ns_cnt;
	w.scrambled = scrambled;
	for (uint32_t i = 0; i < steps; i++) {
		world_step(&w);
		if (i % 100 == 99)
			world_check(&w);
	}
	world_check(&w);
	world_fini(&w);
}

Test(hash, few_dense_numbers_stay_flat)
{
	run(NUMBERS, 500, 1, false, 300);
}

Test(hash, many_dense_numbers)
{
	run(NUMBERS, 60000, 1, false, 1000);
}

Test(hash, many_scrambled_numbers)
{
	run(NUMBERS, 60000, 1, true, 1000);
}

Test(hash, namespaces_come_and_go)
{
	run(NUMBERS, 3000, 40, true, 1000);
}

Test(hash, every_key_width)
{
	for (uint32_t bytes = 1; bytes <= 20; bytes++) {
		struct weir_kstate_spec spec = NUMBERS;

		spec.key_bytes = bytes;
		run(spec, 2000, 2, bytes % 2 == 0, 60);
	}
}

Test(hash, every_kind_of_value)
{
	static const uint32_t sizes[] = { 1, 3, 7, 8, 9, 16, 24, 40, 100, 255, 256, 1000, 1024 };

	for (uint32_t i = 0; i < WEIR_ARRAY_CNT(sizes); i++) {
		struct weir_kstate_spec spec = NUMBERS;

		spec.value_bytes = sizes[i];
		run(spec, 3000, 1, true, 60);
		spec.key_bytes = 256;
		run(spec, 3000, 1, true, 60);
	}
}

Test(hash, byte_strings)
{
	struct weir_kstate_spec spec = NUMBERS;

	spec.key_kind = WEIR_KEY_BYTES;
	run(spec, 300, 1, true, 200);
	run(spec, 20000, 3, true, 400);
	spec.value_bytes = 100;
	run(spec, 5000, 3, true, 100);
}

Test(hash, ranges_of_the_hash_order)
{
	static const uint64_t cuts[] = { 0, 0x5555555555555555u, 0x8000000000000000u,
					 0xc0ffee0000000000u, UINT64_MAX };

	for (uint32_t i = 0; i + 1 < WEIR_ARRAY_CNT(cuts); i++) {
		struct weir_kstate_spec spec = NUMBERS;

		spec.hash_first = cuts[i];
		spec.hash_last = i + 2 == WEIR_ARRAY_CNT(cuts) ? UINT64_MAX : cuts[i + 1] - 1;
		run(spec, 60000, 1, i % 2 == 0, 300);
	}
}

Test(hash, grouped_keys_share_a_group)
{
	struct weir_kstate_spec spec = NUMBERS;
	struct world w;
	uint8_t key[8];
	uint64_t met = 0, cursor = 0;
	struct weir_table_entry out[10];
	struct weir_table_scan scan = WEIR_TABLE_SCAN_READ;
	struct weir_table *t;
	uint32_t n;

	spec.grouped = true;
	world_init(&w, &spec, 32u << 20, 5);
	w.key_cnt = 20000;
	for (uint32_t i = 0; i < 100; i++)
		world_batch(&w);
	t = weir_kstate_table(w.st, -3000, false);
	cr_assert_not_null(t);
	scan.hash_first = weir_mix(7) & ~((1ull << 48) - 1);
	scan.hash_last = scan.hash_first | ((1ull << 48) - 1);
	while ((n = weir_table_next(t, &scan, &cursor, out, 10)) > 0) {
		for (uint32_t i = 0; i < n; i++) {
			memcpy(key, out[i].key, 8);
			cr_assert_eq(key[0], 7);
			met++;
		}
	}
	for (uint32_t i = 0; i < w.m.cnt; i++)
		met -= w.m.e[i].alive && w.m.e[i].key[0] == 7;
	cr_assert_eq(met, 0);
	world_fini(&w);
}

Test(hash, the_two_keys_that_meet_the_marks_are_keys)
{
	struct world w;
	/* key + bias would be EMPTY and TOMB */
	const uint64_t odd[] = { 0 - 0x5bd1e995a7c43b1dull, 1 - 0x5bd1e995a7c43b1dull, 5 };
	struct weir_table_entry out[8];
	uint64_t cursor = 0, seen = 0, v;
	struct weir_table *t;
	uint32_t n;

	world_init(&w, &NUMBERS, 4u << 20, 1);
	cr_assert_eq(weir_kstate_reserve(w.st, 4), WEIR_STATE_ROOM);
	t = weir_kstate_table(w.st, 0, true);
	for (uint64_t i = 0; i < 3; i++) {
		cr_assert_null(weir_table_get(t, &odd[i], 8, 0));
		v = i + 10;
		memcpy(weir_table_put(t, &odd[i], 8, 0), &v, 8);
	}
	cr_assert_eq(weir_table_count(t), 3);
	for (uint64_t i = 0; i < 3; i++) {
		memcpy(&v, weir_table_get(t, &odd[i], 8, 0), 8);
		cr_assert_eq(v, i + 10);
	}
	while ((n = weir_table_next(t, &WEIR_TABLE_SCAN_READ, &cursor, out, 1)) > 0)
		for (uint64_t i = 0; i < 3; i++)
			seen |= (uint64_t)(out[0].key_u64 == odd[i]) << i;
	cr_assert_eq(seen, 7);
	cr_assert(weir_table_remove(t, &odd[0], 8, 0));
	cr_assert(!weir_table_remove(t, &odd[0], 8, 0));
	cr_assert_null(weir_table_get(t, &odd[0], 8, 0));
	cr_assert_not_null(weir_table_get(t, &odd[1], 8, 0));
	weir_table_drop(t);
	cr_assert_null(weir_kstate_table(w.st, 0, false));
	world_fini(&w);
}

Test(hash, a_scan_in_slices_with_removals_meets_each_once)
{
	static const uint64_t sizes[] = { 3, 100, 5000, 200000 };

	for (uint32_t k = 0; k < WEIR_ARRAY_CNT(sizes); k++) {
		struct world w;
		struct weir_table_entry out[7];
		uint64_t cursor = 0, met = 0;
		struct weir_table *t;
		uint32_t n;

		world_init(&w, &NUMBERS, 64u << 20, 9);
		w.key_cnt = sizes[k];
		for (uint64_t i = 0; i < 10 + sizes[k] / 200; i++)
			world_batch(&w);
		t = weir_kstate_table(w.st, -3000, false);
		while ((n = weir_table_next(t, &WEIR_TABLE_SCAN_READ, &cursor, out, 7)) > 0) {
			for (uint32_t i = 0; i < n; i++) {
				const uint64_t key = out[i].key_u64;

				cr_assert(model_remove(&w.m, -3000, &key, 8, out[i].hash));
				cr_assert(weir_table_remove(t, &key, 8, out[i].hash));
				met++;
			}
		}
		cr_assert_eq(w.m.alive, 0);
		cr_assert_eq(weir_table_count(t), 0);
		world_fini(&w);
	}
}

Test(hash, a_scan_by_ranges_meets_each_once)
{
	struct world w;
	uint64_t met = 0;
	struct weir_table *t;

	world_init(&w, &NUMBERS, 64u << 20, 9);
	w.key_cnt = 50000;
	for (uint32_t i = 0; i < 400; i++)
		world_batch(&w);
	t = weir_kstate_table(w.st, -3000, false);
	for (uint64_t kg = 0; kg < 128; kg++) {
		struct weir_table_scan scan = { .hash_first = kg << 57,
						.hash_last = (kg << 57) + (1ull << 57) - 1 };
		struct weir_table_entry out[50];
		uint64_t cursor = 0;
		uint32_t n;

		while ((n = weir_table_next(t, &scan, &cursor, out, 50)) > 0) {
			for (uint32_t i = 0; i < n; i++)
				cr_assert_eq(weir_mulhi(out[i].hash, 128), kg);
			met += n;
		}
	}
	cr_assert_eq(met, w.m.alive);
	world_fini(&w);
}

Test(hash, namespaces_in_order)
{
	struct world w;
	int64_t last = INT64_MIN;
	uint32_t cnt = 0;
	struct weir_table *t;

	world_init(&w, &NUMBERS, 64u << 20, 3);
	for (int64_t i = 0; i < 50000; i++) {
		cr_assert_eq(weir_kstate_reserve(w.st, 1), WEIR_STATE_ROOM);
		cr_assert_not_null(weir_kstate_table(w.st, i * 7919 % 50000, true));
	}
	for (t = weir_kstate_table_from(w.st, INT64_MIN); t != NULL;
	     t = weir_kstate_table_from(w.st, last + 1)) {
		cr_assert(weir_table_ns(t) > last);
		last = weir_table_ns(t);
		cnt++;
		if (last % 3 == 0)
			weir_table_drop(t);
	}
	cr_assert_eq(cnt, 50000);
	cr_assert_null(weir_kstate_table(w.st, 3, false));
	cr_assert_not_null(weir_kstate_table(w.st, 4, false));
	world_fini(&w);
}

Test(hash, memory_comes_back_and_stays_lean)
{
	struct world w;
	struct weir_state_usage before, full, after;

	world_init(&w, &NUMBERS, 64u << 20, 3);
	weir_backend_usage(w.be, &before);
	w.key_cnt = 1000000;
	for (uint32_t i = 0; i < 4000; i++)
		world_batch(&w);
	weir_backend_usage(w.be, &full);
	/* rows of 2 and 3 pages: 1.38 x key + value on average, 1.7 at worst */
	cr_assert_lt(full.used_bytes - before.used_bytes, w.m.alive * 16 * 18 / 10);
	weir_table_drop(weir_kstate_table(w.st, -3000, false));
	weir_backend_usage(w.be, &after);
	cr_assert_eq(after.used_bytes, before.used_bytes);
	world_fini(&w);
}

Test(hash, a_full_region_says_so_and_names_the_key)
{
	struct weir_kstate_spec spec = NUMBERS;
	struct weir_error err;
	struct world w;
	uint64_t rows = 0;
	struct weir_table *t;

	spec.value_bytes = 256;
	world_init(&w, &spec, 2u << 20, 3);
	t = weir_kstate_table(w.st, 0, true);
	while (weir_kstate_reserve(w.st, 1) == WEIR_STATE_ROOM) {
		(void)weir_table_put(t, &rows, 8, 0);
		cr_assert_lt(++rows, 20000);
	}
	cr_assert_eq(weir_kstate_reserve(w.st, 1), WEIR_STATE_FULL);
	cr_assert_gt(rows, 3000);
	cr_assert_eq(weir_kstate_full(w.st, &err), WEIR_ERR_FAILED);
	cr_assert_not_null(strstr(err.text, "state.memory"));
	cr_assert_not_null(strstr(err.text, "numbers"));
	world_fini(&w);
}

Test(hash, refuses_what_is_out_of_limits)
{
	struct weir_kstate_spec spec = NUMBERS;
	struct weir_error err;
	void *region;
	struct weir_backend *be = world_backend(&region, 4u << 20);

	spec.key_bytes = 257;
	cr_assert_null(weir_kstate_open(be, &spec, &err));
	spec = NUMBERS;
	spec.value_bytes = 0;
	cr_assert_null(weir_kstate_open(be, &spec, &err));
	spec = NUMBERS;
	spec.hash_first = 5;
	spec.hash_last = 4;
	cr_assert_null(weir_kstate_open(be, &spec, &err));
	cr_assert_null(weir_backend_hash_open(
		&(struct weir_backend_hash_config){
			.base = region, .bytes = 1000, .budget_key = "state.memory" },
		&err));
	cr_assert_not_null(strstr(err.text, "state.memory"));
	free(region);
}

/* Fill small regions to the brim in many shapes: reserve says no before anything is missing. */
Test(hash, what_reserve_promises_is_there)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct weir_kstate_spec spec = NUMBERS;
		struct weir_rng rng = { seed };
		struct world w;
		uint8_t key[4200];
		uint64_t rows = 0;

		spec.value_bytes = (uint32_t)(1u << weir_rng_below(&rng, 9));
		if (seed % 3 == 0)
			spec.key_kind = WEIR_KEY_BYTES;
		world_init(&w, &spec, (2u + weir_rng_below(&rng, 10)) << 20, seed);
		w.scrambled = seed % 2 == 0;
		w.ns_cnt = (int64_t)(1u << weir_rng_below(&rng, 14));
		while (weir_kstate_reserve(w.st, 64) == WEIR_STATE_ROOM) {
			for (uint32_t i = 0; i < 32; i++) {
				const uint32_t len = world_key(&w, rows++, key);
				struct weir_table *t = weir_kstate_table(w.st, world_ns(&w), true);

				(void)weir_table_put(t, key, len, world_hash(&w, key, len));
			}
			cr_assert_lt(rows, 2000000);
		}
		cr_assert_gt(rows, 0);
		world_fini(&w);
	}
}
