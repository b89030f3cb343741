#ifndef WEIR_ENGINE_EXCHANGE_SCATTER_H
#define WEIR_ENGINE_EXCHANGE_SCATTER_H

/*
 * weir_scatter: the two loops of a hash exchange that every row goes through, for each instruction
 * set; the table for x86-64-v2 is the scalar twin of the others.
 *
 * Threads: pure functions. Cost: hot, one call per batch or per column of it.
 */

#include "engine/base/isa.h"

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
};

const struct weir_scatter *weir_scatter_for(enum weir_isa isa);

extern const struct weir_scatter weir_scatter_v2;
extern const struct weir_scatter weir_scatter_v3;
extern const struct weir_scatter weir_scatter_v4;

#endif /* WEIR_ENGINE_EXCHANGE_SCATTER_H */
