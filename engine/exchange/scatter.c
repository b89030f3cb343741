#include "engine/exchange/scatter.h"

#include "engine/base/hash.h"

/* Both lists are written for every row and one advances: no branch to miss. */
static void
scatter_two(const uint64_t *keys, uint32_t cnt, uint16_t *restrict a, uint16_t *restrict b,
	    uint32_t to_cnt[2])
{
	uint32_t na = 0;
	uint32_t nb = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		const uint32_t d = (uint32_t)(weir_hash_u64(keys[i]) >> 63);

		a[na] = (uint16_t)i;
		b[nb] = (uint16_t)i;
		nb += d;
		na += 1 - d;
	}
	to_cnt[0] = na;
	to_cnt[1] = nb;
}

static void
scatter_gather(uint64_t *restrict to, const uint64_t *from, const uint16_t *rows, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		to[i] = from[rows[i]];
}

static void
scatter_marks(const uint64_t *keys, uint32_t groups, uint8_t *marks)
{
	for (uint32_t g = 0; g < groups; g++) {
		uint32_t upper = 0;

		for (uint32_t i = 0; i < WEIR_SCATTER_GROUP; i++)
			upper |= (uint32_t)(weir_hash_u64(keys[WEIR_SCATTER_GROUP * g + i]) >> 63)
				 << i;
		marks[g] = (uint8_t)upper;
	}
}

/* Every value is written to both and one advances. */
static void
split_column(const struct weir_split_column *column, const uint8_t *marks, uint32_t groups)
{
	const uint64_t *from = column->from;
	uint64_t *a = column->a;
	uint64_t *b = column->b;

	for (uint32_t g = 0; g < groups; g++) {
		uint32_t upper = marks[g];

		for (uint32_t i = 0; i < WEIR_SCATTER_GROUP; i++) {
			const uint64_t value = from[WEIR_SCATTER_GROUP * g + i];

			*a = value;
			*b = value;
			a += 1 - (upper & 1u);
			b += upper & 1u;
			upper >>= 1;
		}
	}
}

static void
scatter_split(const struct weir_split_column *columns, uint32_t column_cnt, const uint8_t *marks,
	      uint32_t groups)
{
	for (uint32_t c = 0; c < column_cnt; c++)
		split_column(&columns[c], marks, groups);
}

const struct weir_scatter weir_scatter_v2 = { scatter_two, scatter_gather, scatter_marks,
					      scatter_split };

const struct weir_scatter *
weir_scatter_for(enum weir_isa isa)
{
	switch (isa) {
	case WEIR_ISA_V4:
		return &weir_scatter_v4;
	case WEIR_ISA_V3:
		return &weir_scatter_v3;
	case WEIR_ISA_V2:
		break;
	}
	return &weir_scatter_v2;
}
