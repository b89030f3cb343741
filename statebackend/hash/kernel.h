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
	const uint64_t *numbers; /* i-th key, i < n */
	const uint16_t *sel;	 /* number of the i-th row: where its add and sum stand; NULL: i */
	const uint64_t *add;	 /* NULL: give pointers */
	uint64_t *sums;
	void **values;
	uint32_t n;
};

struct hash_kernel {
	const char *name;
	/* Rows done from the front; the rest must be done by the plain path (entries moved). */
	uint32_t (*run)(const struct kernel_run *r);
};

extern const struct hash_kernel kernel_v2;
extern const struct hash_kernel kernel_v3;

#endif /* WEIR_STATEBACKEND_HASH_KERNEL_H */
