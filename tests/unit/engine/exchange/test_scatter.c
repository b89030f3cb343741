#include "engine/exchange/scatter.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/rng.h"

#define ROWS 256u

struct lists {
	uint16_t row[2][ROWS + 8];
	uint32_t cnt[2];
};

static void
two(const struct weir_scatter *s, const uint64_t *keys, uint32_t cnt, struct lists *to)
{
	memset(to, 0x5a, sizeof(*to));
	s->two(keys, cnt, to->row[0], to->row[1], to->cnt);
}

/* Nothing behind the room that the contract asks for. */
static void
check_room(const struct lists *l, uint32_t cnt)
{
	for (uint32_t i = cnt; i < ROWS + 8; i++) {
		cr_assert_eq(l->row[0][i], 0x5a5a);
		cr_assert_eq(l->row[1][i], 0x5a5a);
	}
}

Test(scatter, two_lists_by_the_top_bit_of_the_hash)
{
	const struct weir_scatter *best = weir_scatter_for(weir_isa());
	struct weir_rng rng = { 9 };
	uint64_t keys[ROWS];
	struct lists a;
	struct lists b;

	for (uint32_t round = 0; round < 4000; round++) {
		const uint32_t cnt = (uint32_t)weir_rng_below(&rng, ROWS + 1);
		const uint32_t shift = (uint32_t)weir_rng_below(&rng, 64);
		uint32_t at[2] = { 0, 0 };

		for (uint32_t i = 0; i < cnt; i++)
			keys[i] = weir_rng_next(&rng) >> shift;
		two(&weir_scatter_v2, keys, cnt, &a);
		two(best, keys, cnt, &b);
		for (uint32_t i = 0; i < cnt; i++) {
			const uint32_t d = (uint32_t)(weir_hash_u64(keys[i]) >> 63);

			cr_assert_eq(a.row[d][at[d]], i);
			cr_assert_eq(b.row[d][at[d]], i);
			at[d]++;
		}
		cr_assert(a.cnt[0] == at[0] && a.cnt[1] == at[1]);
		cr_assert(b.cnt[0] == at[0] && b.cnt[1] == at[1]);
		check_room(&a, cnt);
		check_room(&b, cnt);
	}
}

Test(scatter, gather_takes_the_rows_asked_for)
{
	const struct weir_scatter *best = weir_scatter_for(weir_isa());
	struct weir_rng rng = { 10 };
	uint64_t from[ROWS];
	uint16_t rows[ROWS];

	for (uint32_t i = 0; i < ROWS; i++)
		from[i] = weir_rng_next(&rng);
	for (uint32_t round = 0; round < 2000; round++) {
		const uint32_t cnt = (uint32_t)weir_rng_below(&rng, ROWS + 1);
		uint64_t to[2][ROWS + 1];

		for (uint32_t i = 0; i < cnt; i++)
			rows[i] = (uint16_t)weir_rng_below(&rng, ROWS);
		memset(to, 0x5a, sizeof(to));
		weir_scatter_v2.gather(to[0], from, rows, cnt);
		best->gather(to[1], from, rows, cnt);
		for (uint32_t i = 0; i < cnt; i++)
			cr_assert_eq(to[0][i], from[rows[i]]);
		cr_assert_eq(memcmp(to[0], to[1], sizeof(to[0])), 0);
	}
}

#define COLUMNS 6u

struct sides {
	uint64_t to[COLUMNS][2][ROWS + WEIR_SCATTER_GROUP + 1];
};

static void
split(const struct weir_scatter *scatter, uint64_t from[COLUMNS][ROWS], uint32_t columns,
      const uint8_t *marks, uint32_t groups, struct sides *sides)
{
	struct weir_split_column column[COLUMNS];

	memset(sides, 0x5a, sizeof(*sides));
	for (uint32_t c = 0; c < columns; c++)
		column[c] = (struct weir_split_column){ from[c], sides->to[c][0], sides->to[c][1] };
	scatter->split(column, columns, marks, groups);
}

/* Of one column: values in order, and behind the room asked for nothing is written. */
static void
check_column(const struct sides *sides, uint32_t c, const uint64_t *keys, const uint64_t *from,
	     uint32_t rows)
{
	uint32_t at[2] = { 0, 0 };

	for (uint32_t i = 0; i < rows; i++) {
		const uint32_t d = (uint32_t)(weir_hash_u64(keys[i]) >> 63);

		cr_assert_eq(sides->to[c][d][at[d]], from[i]);
		at[d]++;
	}
	for (uint32_t d = 0; d < 2; d++)
		for (uint32_t i = at[d] + WEIR_SCATTER_GROUP; i < WEIR_ARRAY_CNT(sides->to[c][d]);
		     i++)
			cr_assert_eq(sides->to[c][d][i], UINT64_C(0x5a5a5a5a5a5a5a5a));
}

/* Any number of columns: both sides get their values in order. */
Test(scatter, split_fills_both_sides_in_order)
{
	const struct weir_scatter *best = weir_scatter_for(weir_isa());
	static uint64_t from[COLUMNS][ROWS];
	static struct sides sides;
	struct weir_rng rng = { 11 };
	uint64_t keys[ROWS];

	for (uint32_t round = 0; round < 4000; round++) {
		const uint32_t groups = (uint32_t)weir_rng_below(&rng, ROWS / WEIR_SCATTER_GROUP);
		const uint32_t shift = (uint32_t)weir_rng_below(&rng, 64);
		const uint32_t columns = round % (COLUMNS + 1);
		uint8_t marks[2][ROWS / WEIR_SCATTER_GROUP] = { { 0 } };

		for (uint32_t i = 0; i < ROWS; i++) {
			keys[i] = weir_rng_next(&rng) >> shift;
			for (uint32_t c = 0; c < columns; c++)
				from[c][i] = weir_rng_next(&rng);
		}
		weir_scatter_v2.marks(keys, groups, marks[0]);
		best->marks(keys, groups, marks[1]);
		cr_assert_eq(memcmp(marks[0], marks[1], sizeof(marks[0])), 0);
		for (uint32_t b = 0; b < 2; b++) {
			split(b == 0 ? &weir_scatter_v2 : best, from, columns, marks[0], groups,
			      &sides);
			for (uint32_t c = 0; c < columns; c++)
				check_column(&sides, c, keys, from[c], groups * WEIR_SCATTER_GROUP);
		}
	}
}
