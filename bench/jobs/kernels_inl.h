#ifndef WEIR_BENCH_JOBS_KERNELS_INL_H
#define WEIR_BENCH_JOBS_KERNELS_INL_H

/* The vector kernels, compiled once per instruction set: the includer defines WEIR_LANES. */

#include "bench/jobs/kernels.h"
#include "engine/base/hash.h"
#include "engine/base/lanes.h"

static void
generate(const struct bench_rows *out, uint64_t stream, uint64_t first, uint64_t keys, uint32_t cnt)
{
	const struct bench_rows to = *out; /* in registers: the stores might write to *out */
	const weir_lanes many = weir_lanes_all(keys);
	const weir_lanes pad = weir_lanes_all(stream);
	weir_lanes time = weir_lanes_count() + first;
	weir_lanes z = time + (stream << 40) + WEIR_GOLDEN;

	for (uint32_t i = 0; i < cnt; i += WEIR_LANES) {
		const weir_lanes r = weir_lanes_mix(z);
		const weir_lanes key = weir_lanes_mul32(r >> 32, many) >> 32;

		weir_lanes_store(to.key + i, key);
		weir_lanes_store(to.value + i, (key & 7) + 1);
		weir_lanes_store(to.time + i, time);
		weir_lanes_store(to.pad + i, pad);
		time += WEIR_LANES;
		z += WEIR_LANES;
	}
}

static void
map(const int64_t *value, int64_t *out, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		out[i] = value[i] * 3 + 1;
}

static uint32_t
filter(const int64_t *value, uint32_t cnt, uint16_t *sel)
{
	uint32_t kept = 0;
	uint32_t i = 0;

	for (; i + WEIR_LANES <= cnt; i += WEIR_LANES) {
		const uint32_t keep = weir_lanes_nonzero(weir_lanes_load(value + i) & 7);

		weir_lanes_pick(sel + kept, i, keep);
		kept += (uint32_t)__builtin_popcount(keep);
	}
	for (; i < cnt; i++) {
		sel[kept] = (uint16_t)i;
		kept += (value[i] & 7) != 0;
	}
	return kept;
}

#endif /* WEIR_BENCH_JOBS_KERNELS_INL_H */
