#ifndef WEIR_BENCH_JOBS_KERNELS_H
#define WEIR_BENCH_JOBS_KERNELS_H

/*
 * The loops over columns in the operators of the benches' jobs, for each instruction set; chosen
 * once when a job is built. The table for x86-64-v2 is the scalar twin of the others.
 *
 * Threads: pure functions. Cost: hot.
 * Limits:  generate and filter may write up to the next multiple of BENCH_PAD rows, never read
 * there.
 */

#include "engine/base/isa.h"

#define BENCH_PAD 8u

/* Row i of a stream: key = (mix(stream * 2^40 + i + G) >> 32) * keys >> 32, value = (key & 7) + 1,
 * time = i, pad = stream. */
struct bench_rows {
	uint64_t *key;
	int64_t *value;
	int64_t *time;
	uint64_t *pad;
};

struct bench_kernels {
	/* Rows first..first+cnt-1 of a stream; keys below 2^32. */
	void (*generate)(const struct bench_rows *out, uint64_t stream, uint64_t first,
			 uint64_t keys, uint32_t cnt);
	/* value * 3 + 1 */
	void (*map)(const int64_t *value, int64_t *out, uint32_t cnt);
	/* Numbers of the rows whose value is not divisible by 8; returns how many. */
	uint32_t (*filter)(const int64_t *value, uint32_t cnt, uint16_t *sel);
};

const struct bench_kernels *bench_kernels_for(enum weir_isa isa);

extern const struct bench_kernels bench_kernels_v2;
extern const struct bench_kernels bench_kernels_v3;
extern const struct bench_kernels bench_kernels_v4;

#endif /* WEIR_BENCH_JOBS_KERNELS_H */
