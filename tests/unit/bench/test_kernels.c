#include "bench/jobs/kernels.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/base/rng.h"

#define ROWS 264u

struct rows {
	uint64_t key[ROWS];
	int64_t value[ROWS];
	int64_t time[ROWS];
	uint64_t pad[ROWS];
};

static struct bench_rows
columns(struct rows *rows)
{
	memset(rows, 0x5a, sizeof(*rows));
	return (struct bench_rows){ rows->key, rows->value, rows->time, rows->pad };
}

static const struct bench_kernels *
best(void)
{
	return bench_kernels_for(weir_isa());
}

Test(bench_kernels, rows_follow_the_rule)
{
	static struct rows rows;
	const struct bench_rows out = columns(&rows);

	bench_kernels_v2.generate(&out, 3, 77, 1000, 100);
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t z = (3ull << 40) + 77 + i + 0x9e3779b97f4a7c15;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		z ^= z >> 31;
		cr_assert_eq(rows.key[i], (z >> 32) * 1000 >> 32);
		cr_assert_eq(rows.value[i], (int64_t)(rows.key[i] % 8) + 1);
		cr_assert_eq(rows.time[i], 77 + (int64_t)i);
		cr_assert_eq(rows.pad[i], 3);
	}
}

Test(bench_kernels, generate_equals_its_scalar_twin)
{
	static struct rows a;
	static struct rows b;
	struct weir_rng rng = { 3 };

	for (uint32_t i = 0; i < 3000; i++) {
		const struct bench_rows x = columns(&a);
		const struct bench_rows y = columns(&b);
		const uint64_t stream = weir_rng_below(&rng, 1000);
		const uint64_t first = weir_rng_next(&rng) >> 8;
		const uint64_t keys = 1 + weir_rng_below(&rng, UINT32_MAX);
		const uint32_t cnt = (uint32_t)weir_rng_below(&rng, 257);
		const uint32_t padded = (uint32_t)weir_align_up(cnt, BENCH_PAD);

		bench_kernels_v2.generate(&x, stream, first, keys, cnt);
		best()->generate(&y, stream, first, keys, cnt);
		cr_assert_eq(memcmp(a.key, b.key, cnt * 8), 0);
		cr_assert_eq(memcmp(a.value, b.value, cnt * 8), 0);
		cr_assert_eq(memcmp(a.time, b.time, cnt * 8), 0);
		cr_assert_eq(memcmp(a.pad, b.pad, cnt * 8), 0);
		cr_assert_eq(b.pad[padded], 0x5a5a5a5a5a5a5a5a, "written beyond the padding");
		cr_assert_eq(b.key[padded], 0x5a5a5a5a5a5a5a5a);
	}
}

Test(bench_kernels, map_and_filter_equal_their_scalar_twins)
{
	struct weir_rng rng = { 4 };
	int64_t value[256];
	int64_t mapped[2][256];
	uint16_t sel[2][ROWS];

	for (uint32_t i = 0; i < 3000; i++) {
		const uint32_t cnt = (uint32_t)weir_rng_below(&rng, 257);
		uint32_t kept;

		for (uint32_t r = 0; r < 256; r++)
			value[r] = (int64_t)(weir_rng_next(&rng) >> weir_rng_below(&rng, 64));
		bench_kernels_v2.map(value, mapped[0], cnt);
		best()->map(value, mapped[1], cnt);
		cr_assert_eq(memcmp(mapped[0], mapped[1], cnt * 8), 0);
		memset(sel, 0x5a, sizeof(sel));
		kept = bench_kernels_v2.filter(value, cnt, sel[0]);
		cr_assert_eq(best()->filter(value, cnt, sel[1]), kept);
		cr_assert_eq(memcmp(sel[0], sel[1], kept * 2), 0);
		cr_assert_eq(sel[1][weir_align_up(cnt, BENCH_PAD)], 0x5a5a);
		for (uint32_t r = 0, k = 0; r < cnt; r++)
			if (value[r] % 8 != 0)
				cr_assert_eq(sel[0][k++], r);
	}
}
