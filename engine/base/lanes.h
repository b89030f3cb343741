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

typedef uint64_t weir_u64_at __attribute__((aligned(2), may_alias));

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

/* One bit per lane that is not 0. */
WEIR_INLINE uint32_t
weir_lanes_nonzero(weir_lanes v)
{
#if WEIR_LANES == 8
	return _mm512_test_epi64_mask((__m512i)v, (__m512i)v);
#else
	const __m256i zero = _mm256_cmpeq_epi64((__m256i)v, _mm256_setzero_si256());

	return ~(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(zero)) & 15;
#endif
}

/* One bit per lane: its highest. */
WEIR_INLINE uint32_t
weir_lanes_top(weir_lanes v)
{
#if WEIR_LANES == 8
	return _mm512_movepi64_mask((__m512i)v);
#else
	return (uint32_t)_mm256_movemask_pd((__m256d)v);
#endif
}

/* Store base + the numbers of keep's bits, close together; WEIR_LANES numbers are written. */
WEIR_INLINE void
weir_lanes_pick(uint16_t *dst, uint32_t base, uint32_t keep)
{
#if WEIR_LANES == 8
	const weir_lanes num = weir_lanes_count() + base;

	_mm_storeu_si128((__m128i *)(void *)dst, _mm512_cvtepi64_epi16(_mm512_maskz_compress_epi64(
							 (__mmask8)keep, (__m512i)num)));
#else
	/* Four 16-bit numbers in one word, the first lowest. */
#define FOUR(a, b, c, d) (a##ull | b##ull << 16 | c##ull << 32 | d##ull << 48)
	static const uint64_t numbers[16] = {
		FOUR(0, 0, 0, 0), FOUR(0, 0, 0, 0), FOUR(1, 0, 0, 0), FOUR(0, 1, 0, 0),
		FOUR(2, 0, 0, 0), FOUR(0, 2, 0, 0), FOUR(1, 2, 0, 0), FOUR(0, 1, 2, 0),
		FOUR(3, 0, 0, 0), FOUR(0, 3, 0, 0), FOUR(1, 3, 0, 0), FOUR(0, 1, 3, 0),
		FOUR(2, 3, 0, 0), FOUR(0, 2, 3, 0), FOUR(1, 2, 3, 0), FOUR(0, 1, 2, 3),
	};
#undef FOUR
	*(weir_u64_at *)(void *)dst = numbers[keep] + base * 0x0001000100010001ull;
#endif
}

/* Store the lanes of v that keep has a bit for, close together; a whole vector is written. */
WEIR_INLINE void
weir_lanes_pack(void *dst, weir_lanes v, uint32_t keep)
{
#if WEIR_LANES == 8
	_mm512_storeu_si512(dst, _mm512_maskz_compress_epi64((__mmask8)keep, (__m512i)v));
#else
	/* Where each 32-bit half of the result comes from. */
#define HALVES(a, b, c, d)                                                                         \
	{                                                                                          \
		2 * (a), 2 * (a) + 1, 2 * (b), 2 * (b) + 1, 2 * (c), 2 * (c) + 1, 2 * (d),         \
			2 * (d) + 1                                                                \
	}
	static const alignas(WEIR_LINE) uint32_t from[16][8] = {
		HALVES(0, 1, 2, 3), HALVES(0, 1, 2, 3), HALVES(1, 0, 2, 3), HALVES(0, 1, 2, 3),
		HALVES(2, 0, 1, 3), HALVES(0, 2, 1, 3), HALVES(1, 2, 0, 3), HALVES(0, 1, 2, 3),
		HALVES(3, 0, 1, 2), HALVES(0, 3, 1, 2), HALVES(1, 3, 0, 2), HALVES(0, 1, 3, 2),
		HALVES(2, 3, 0, 1), HALVES(0, 2, 3, 1), HALVES(1, 2, 3, 0), HALVES(0, 1, 2, 3),
	};
#undef HALVES
	const __m256i order = _mm256_load_si256((const __m256i *)(const void *)from[keep]);

	_mm256_storeu_si256((__m256i *)dst, _mm256_permutevar8x32_epi32((__m256i)v, order));
#endif
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
