#ifndef WEIR_ENGINE_BASE_LANES_H
#define WEIR_ENGINE_BASE_LANES_H

/*
 * Vectors of 64-bit numbers for kernels: an object that includes this defines WEIR_LANES first, 4
 * where it is compiled for x86-64-v3, 8 for x86-64-v4 (weir_isa says which one may run). Sums,
 * shifts and comparisons are the compiler's own vector arithmetic; here is what it does not do by
 * itself.
 */

#include "engine/base/base.h"

#include <immintrin.h>

typedef uint64_t weir_lanes __attribute__((vector_size(WEIR_LANES * 8)));
/* The same at any address. */
typedef uint64_t weir_lanes_at __attribute__((vector_size(WEIR_LANES * 8), aligned(8), may_alias));

WEIR_INLINE weir_lanes
weir_lanes_load(const void *src)
{
	return *(const weir_lanes_at *)src;
}

WEIR_INLINE void
weir_lanes_store(void *dst, weir_lanes v)
{
	*(weir_lanes_at *)dst = v;
}

WEIR_INLINE weir_lanes
weir_lanes_all(uint64_t v)
{
	return (weir_lanes){ 0 } + v;
}

/* 0, 1, 2, ... */
WEIR_INLINE weir_lanes
weir_lanes_count(void)
{
#if WEIR_LANES == 8
	return (weir_lanes){ 0, 1, 2, 3, 4, 5, 6, 7 };
#else
	return (weir_lanes){ 0, 1, 2, 3 };
#endif
}

/* Products of the low 32 bits of each lane: one instruction where a 64-bit product takes several.
 */
WEIR_INLINE weir_lanes
weir_lanes_mul32(weir_lanes a, weir_lanes b)
{
#if WEIR_LANES == 8
	return (weir_lanes)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#else
	return (weir_lanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#endif
}

/* High 64 bits of h * n, n below 2^32. */
WEIR_INLINE weir_lanes
weir_lanes_mulhi32(weir_lanes h, weir_lanes n)
{
	return (weir_lanes_mul32(h >> 32, n) + (weir_lanes_mul32(h, n) >> 32)) >> 32;
}

/* table[i] in every lane. */
WEIR_INLINE weir_lanes
weir_lanes_gather(const uint64_t *table, weir_lanes i)
{
#if WEIR_LANES == 8
	return (weir_lanes)_mm512_i64gather_epi64((__m512i)i, (const long long *)table, 8);
#else
	return (weir_lanes)_mm256_i64gather_epi64((const long long *)table, (__m256i)i, 8);
#endif
}

/* a where the condition holds (all bits of its lane set), else b. */
WEIR_INLINE weir_lanes
weir_lanes_if(weir_lanes cond, weir_lanes a, weir_lanes b)
{
	return (a & cond) | (b & ~cond);
}

/* splitmix64's finaliser, as weir_mix. */
WEIR_INLINE weir_lanes
weir_lanes_mix(weir_lanes z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

#endif /* WEIR_ENGINE_BASE_LANES_H */
