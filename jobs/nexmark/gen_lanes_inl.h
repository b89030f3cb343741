#ifndef WEIR_JOBS_NEXMARK_GEN_LANES_INL_H
#define WEIR_JOBS_NEXMARK_GEN_LANES_INL_H

/*
 * The vector kernel, compiled once per instruction set: the includer defines WEIR_LANES. Draws as
 * in weir_nexmark_kernel_v2, its scalar twin.
 */

#include "engine/base/hash.h"
#include "engine/base/lanes.h"
#include "jobs/nexmark/gen.h"

#define EPOCH_BIDS_MAX 46

WEIR_INLINE weir_lanes
draw_lanes(const uint64_t *base, uint64_t i)
{
	return weir_lanes_mix(weir_lanes_load(base) + (uint64_t)((i + 1) * WEIR_GOLDEN));
}

/* hot where draw choice has one of hot_bits set, else min + U(choice + 1, cnt). */
WEIR_INLINE void
fill_ids(uint64_t *dst, const uint64_t *base, uint32_t i, uint64_t choice, uint64_t hot_bits,
	 uint64_t hot, uint64_t min, uint64_t cnt)
{
	const weir_lanes cold = (draw_lanes(base + i, choice) & hot_bits) == 0;
	const weir_lanes any =
		weir_lanes_mulhi32(draw_lanes(base + i, choice + 1), weir_lanes_all(cnt));

	weir_lanes_store(dst + i, weir_lanes_if(cold, any + min, weir_lanes_all(hot)));
}

WEIR_INLINE void
fill_price(const struct weir_nexmark *gen, uint64_t *dst, const uint64_t *base, uint32_t i)
{
	const weir_lanes x = draw_lanes(base + i, 4);
	const weir_lanes step = weir_lanes_gather(gen->price, x >> 54);
	const weir_lanes part = weir_lanes_mul32(step >> 32, x >> 22) >> 32;

	weir_lanes_store(dst + i, (step & UINT32_MAX) + part);
}

/* Start of the next vector: whole ones, the last one overlapping the one before it. */
WEIR_INLINE uint32_t
next_start(uint32_t i, uint32_t cnt)
{
	i += WEIR_LANES;
	return i < cnt && i + WEIR_LANES > cnt ? cnt - WEIR_LANES : i;
}

WEIR_INLINE void
bids_in_lanes(const struct weir_nexmark *gen, const struct weir_nexmark_epoch *epoch,
	      uint64_t first, uint32_t cnt, const struct weir_nexmark_bids *out)
{
	uint64_t base[EPOCH_BIDS_MAX + WEIR_LANES];
	weir_lanes z = (weir_lanes_count() + first) * WEIR_GOLDEN + gen->params.seed;

	WEIR_ASSERT(cnt <= EPOCH_BIDS_MAX);
	if (cnt < WEIR_LANES) {
		weir_nexmark_kernel_v2(gen, epoch, first, cnt, out);
		return;
	}
	for (uint32_t i = 0; i < cnt; i += WEIR_LANES) {
		weir_lanes_store(base + i, weir_lanes_mix(z));
		z += WEIR_LANES * WEIR_GOLDEN;
	}
	for (uint32_t i = 0; out->auction != NULL && i < cnt; i = next_start(i, cnt))
		fill_ids(out->auction, base, i, 0, 1ull << 63, epoch->auction_hot,
			 epoch->auction_min, epoch->auction_cnt);
	for (uint32_t i = 0; out->bidder != NULL && i < cnt; i = next_start(i, cnt))
		fill_ids(out->bidder, base, i, 2, 3ull << 62, epoch->bidder_hot, epoch->bidder_min,
			 epoch->bidder_cnt);
	for (uint32_t i = 0; out->price != NULL && i < cnt; i = next_start(i, cnt))
		fill_price(gen, out->price, base, i);
}

#endif /* WEIR_JOBS_NEXMARK_GEN_LANES_INL_H */
