#ifndef WEIR_STATEBACKEND_HASH_KERNEL_H
#define WEIR_STATEBACKEND_HASH_KERNEL_H

/*
 * Look-ups of a batch of number keys in stages, compiled once per instruction set (kernel_v2.c is
 * the baseline, kernel_v3.c has AVX2 and BMI2); the backend takes one at open. What a kernel cannot
 * do at once (inserts, odd keys, long chains) it gives to table_upsert() row by row.
 */

#include "statebackend/hash/hash_priv.h"

/* One batch on its way through a kernel. */
struct kernel_run {
	struct table *t;
	const uint64_t *numbers; /* keys by row number */
	const uint16_t *sel;	 /* i-th row: where its key, add and sum stand; NULL: i */
	const uint64_t *add;	 /* NULL: give pointers */
	uint64_t *sums;
	void **values; /* of the i-th row */
	uint32_t n;
};

struct hash_kernel {
	const char *name;
	/* Rows done from the front; it stops behind a row that moved entries (pointers given before
	 * are stale then), to go on with a run of the rest. None done means that keys were made. */
	uint32_t (*run)(const struct kernel_run *r);
};

extern const struct hash_kernel kernel_v2;
extern const struct hash_kernel kernel_v3;

#endif /* WEIR_STATEBACKEND_HASH_KERNEL_H */
