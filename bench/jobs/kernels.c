#include "bench/jobs/kernels.h"

#include "engine/base/hash.h"

static void
generate(const struct bench_rows *out, uint64_t stream, uint64_t first, uint64_t keys, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const uint64_t n = first + i;
		const uint64_t r = weir_mix((stream << 40) + n + WEIR_GOLDEN);
		const uint64_t key = ((r >> 32) * keys) >> 32;

		out->key[i] = key;
		out->value[i] = (int64_t)(key & 7) + 1;
		out->time[i] = (int64_t)n;
		out->pad[i] = stream;
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

	for (uint32_t i = 0; i < cnt; i++) {
		sel[kept] = (uint16_t)i;
		kept += (value[i] & 7) != 0;
	}
	return kept;
}

const struct bench_kernels bench_kernels_v2 = { generate, map, filter };

const struct bench_kernels *
bench_kernels_for(enum weir_isa isa)
{
	switch (isa) {
	case WEIR_ISA_V4:
		return &bench_kernels_v4;
	case WEIR_ISA_V3:
		return &bench_kernels_v3;
	case WEIR_ISA_V2:
		break;
	}
	return &bench_kernels_v2;
}
