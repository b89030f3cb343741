#ifndef WEIR_ENGINE_EXCHANGE_SCATTER_INL_H
#define WEIR_ENGINE_EXCHANGE_SCATTER_INL_H

/* The vector kernels, compiled once per instruction set: the includer defines WEIR_LANES. */

#include "engine/base/hash.h"
#include "engine/base/lanes.h"
#include "engine/exchange/scatter.h"

#include <string.h>

/* Their three addresses are all the registers there are. */
#define SPLIT_COLUMNS 4u

static void
scatter_two(const uint64_t *keys, uint32_t cnt, uint16_t *restrict a, uint16_t *restrict b,
	    uint32_t to_cnt[2])
{
	const uint32_t all = (1u << WEIR_LANES) - 1;
	uint32_t na = 0;
	uint32_t nb = 0;
	uint32_t i = 0;

	for (; i + WEIR_LANES <= cnt; i += WEIR_LANES) {
		const weir_lanes hash = weir_lanes_load(keys + i) * WEIR_GOLDEN;
		const uint32_t upper = weir_lanes_top(hash);

		weir_lanes_pick(a + na, i, upper ^ all);
		weir_lanes_pick(b + nb, i, upper);
		nb += (uint32_t)__builtin_popcount(upper);
		na = i + WEIR_LANES - nb;
	}
	for (; i < cnt; i++) {
		const uint32_t d = (uint32_t)(weir_hash_u64(keys[i]) >> 63);

		a[na] = (uint16_t)i;
		b[nb] = (uint16_t)i;
		nb += d;
		na += 1 - d;
	}
	to_cnt[0] = na;
	to_cnt[1] = nb;
}

/* Four row numbers are read at once: half of the loads. */
static void
scatter_gather(uint64_t *restrict to, const uint64_t *from, const uint16_t *rows, uint32_t cnt)
{
	uint32_t i = 0;

	for (; i + 4 <= cnt; i += 4) {
		uint64_t four;

		memcpy(&four, rows + i, sizeof(four));
		to[i] = from[four & 0xffff];
		to[i + 1] = from[four >> 16 & 0xffff];
		to[i + 2] = from[four >> 32 & 0xffff];
		to[i + 3] = from[four >> 48];
	}
	for (; i < cnt; i++)
		to[i] = from[rows[i]];
}

static void
scatter_marks(const uint64_t *keys, uint32_t groups, uint8_t *marks)
{
	for (uint32_t g = 0; g < groups; g++) {
		uint32_t upper = 0;

		for (uint32_t i = 0; i < WEIR_SCATTER_GROUP; i += WEIR_LANES) {
			const weir_lanes key = weir_lanes_load(keys + WEIR_SCATTER_GROUP * g + i);

			upper |= weir_lanes_top(key * WEIR_GOLDEN) << i;
		}
		marks[g] = (uint8_t)upper;
	}
}

/* cnt columns side by side, a constant: what a mark means is worked out once for all of them. */
WEIR_INLINE void
split_columns(const struct weir_split_column *columns, const uint32_t cnt, const uint8_t *marks,
	      uint32_t groups)
{
	const uint32_t all = (1u << WEIR_LANES) - 1;
	struct weir_split_column to[SPLIT_COLUMNS];
	size_t na = 0;
	size_t nb = 0;

	for (uint32_t c = 0; c < cnt; c++)
		to[c] = columns[c];
	for (uint32_t i = 0; i < groups * WEIR_SCATTER_GROUP; i += WEIR_LANES) {
		const uint32_t upper =
			(uint32_t)marks[i / WEIR_SCATTER_GROUP] >> i % WEIR_SCATTER_GROUP & all;
		const uint32_t more = (uint32_t)__builtin_popcount(upper);

		for (uint32_t c = 0; c < cnt; c++) {
			const weir_lanes value = weir_lanes_load(to[c].from + i);

			weir_lanes_pack(to[c].a + na, value, upper ^ all);
			weir_lanes_pack(to[c].b + nb, value, upper);
		}
		na += WEIR_LANES - more;
		nb += more;
	}
}

static void
scatter_split(const struct weir_split_column *columns, uint32_t column_cnt, const uint8_t *marks,
	      uint32_t groups)
{
	for (; column_cnt >= SPLIT_COLUMNS; column_cnt -= SPLIT_COLUMNS, columns += SPLIT_COLUMNS)
		split_columns(columns, SPLIT_COLUMNS, marks, groups);
	switch (column_cnt) {
	case 3:
		split_columns(columns, 3, marks, groups);
		break;
	case 2:
		split_columns(columns, 2, marks, groups);
		break;
	case 1:
		split_columns(columns, 1, marks, groups);
		break;
	}
}

#endif /* WEIR_ENGINE_EXCHANGE_SCATTER_INL_H */
