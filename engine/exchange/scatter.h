#ifndef WEIR_ENGINE_EXCHANGE_SCATTER_H
#define WEIR_ENGINE_EXCHANGE_SCATTER_H

/*
 * weir_scatter: the loops of a hash exchange that every row goes through, for each instruction set;
 * the table for x86-64-v2 is the scalar twin of the others.
 *
 * Rows of any shape go by lists of row numbers (two, gather). Where all columns are 8 bytes wide,
 * as most are, two consumers are filled at once (marks, split): every value is read once and no
 * list is.
 *
 * Threads: pure functions. Cost: hot, one call per batch or per column of it.
 */

#include "engine/base/isa.h"

#define WEIR_SCATTER_GROUP 8u

/* A column of 8-byte values, and where those of the two consumers go. */
struct weir_split_column {
	const uint64_t *from;
	uint64_t *a;
	uint64_t *b;
};

struct weir_scatter {
	/*
	 * Rows 0..cnt-1 of two consumers, by the hash of their keys, of 8 bytes: numbers of the
	 * lower half of the hash order go to a, of the upper to b; to_cnt says how many. Each list
	 * has room for cnt; what stands behind its last entry is undefined.
	 */
	void (*two)(const uint64_t *keys, uint32_t cnt, uint16_t *a, uint16_t *b,
		    uint32_t to_cnt[2]);
	/* to[i] = from[rows[i]] */
	void (*gather)(uint64_t *to, const uint64_t *from, const uint16_t *rows, uint32_t cnt);
	/* One byte per WEIR_SCATTER_GROUP rows: bit i is set if row i belongs to the upper half of
	 * the hash order. */
	void (*marks)(const uint64_t *keys, uint32_t groups, uint8_t *marks);
	/*
	 * Values of the rows that are not marked to a, of the others to b, each in order, of every
	 * column. All must have room for WEIR_SCATTER_GROUP values behind what the groups before
	 * the last bring them; what stands there behind the last value is undefined.
	 */
	void (*split)(const struct weir_split_column *columns, uint32_t column_cnt,
		      const uint8_t *marks, uint32_t groups);
};

const struct weir_scatter *weir_scatter_for(enum weir_isa isa);

extern const struct weir_scatter weir_scatter_v2;
extern const struct weir_scatter weir_scatter_v3;
extern const struct weir_scatter weir_scatter_v4;

#endif /* WEIR_ENGINE_EXCHANGE_SCATTER_H */
