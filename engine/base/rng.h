#ifndef WEIR_ENGINE_BASE_RNG_H
#define WEIR_ENGINE_BASE_RNG_H

/* Seeded random numbers (splitmix64): the same seed gives the same sequence on every machine. */

#include "engine/base/hash.h"

struct weir_rng {
	uint64_t state;
};

WEIR_INLINE uint64_t
weir_rng_next(struct weir_rng *rng)
{
	rng->state += WEIR_GOLDEN;
	return weir_mix(rng->state);
}

/* Uniform in 0..n-1; n > 0. */
WEIR_INLINE uint64_t
weir_rng_below(struct weir_rng *rng, uint64_t n)
{
	WEIR_ASSERT(n > 0);
	return weir_mulhi(weir_rng_next(rng), n);
}

#endif /* WEIR_ENGINE_BASE_RNG_H */
